"""Patterns and word lists are data: a module, or a text file, beside each one that needs them, named as
`failures_tables`.

`PATTERNS` has one regular expression for each name, as a text or as several that are joined.
`{{name}}` stands for another pattern, or for any of the words of that name in `ANY_OF`: there an
underscore is a space, and an apostrophe may be curly. `WORDS` are lists of words. A pattern is
compiled when it is used first: most commands need few.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pkgutil import get_data
from typing import Any, Final

from hardwon.first_use import lazy

_PART: Final = re.compile(r"\{\{(\w+)\}\}")
_NO_WORDS: Final[Mapping[str, str]] = {}


def read_parts(module: str, name: str) -> dict[str, str]:
    """The parts of a text file beside a module, by what stands above each of them, behind `##`."""
    parts = (get_data(module, name) or b"").decode().split("\n## ")[1:]
    return {title: text for title, _, text in (part.partition("\n") for part in parts)}


def list_entries(table: str, between: str = "") -> list[tuple[str, str]]:
    """The lines of a table, each with those below it that are further in, joined. Comments begin with
    #.
    """
    entries: list[tuple[str, list[str]]] = []
    for line in table.splitlines():
        if line.startswith("    ") and entries:
            entries[-1][1].append(line[4:])
        elif line and not line.startswith("#"):
            entries.append((line, []))
    return [(head, between.join(inside)) for head, inside in entries]


class Patterns:
    """Patterns by their names, each an attribute."""

    def __init__(
        self, sources: Mapping[str, str | list[str]], any_of: Mapping[str, str] = _NO_WORDS
    ) -> None:
        self._sources, self._any_of = sources, any_of

    def __getattr__(self, name: str) -> re.Pattern[str]:
        if name not in self._sources:
            raise AttributeError(f"there is no pattern {name!r}")
        pattern = self.compile(self._sources[name])
        setattr(self, name, pattern)
        return pattern

    def compile_all(self) -> None:
        """For whoever runs for long, and forks."""
        for name in self._sources:
            with suppress(re.error):  # a part of others, and no pattern by itself
                getattr(self, name)

    def compile(self, source: str | list[str]) -> re.Pattern[str]:
        """A pattern with those that it names in it."""
        return re.compile(self._join(source))

    def _join(self, source: str | list[str]) -> str:
        return _PART.sub(self._expand, "".join(source))

    def _expand(self, part: re.Match[str]) -> str:
        if words := self._any_of.get(part[1]):
            words = words.replace("'", "['\u2019]").replace("_", r"\s")
            return f"(?:{'|'.join(words.split())})"
        return self._join(self._sources[part[1]])


def read_patterns(table: str) -> Patterns:
    """The patterns of a table, by their names."""
    return Patterns(dict(list_entries(table)))


class WordLists:
    """Word lists by their names, each an attribute."""

    def __init__(self, lists: Mapping[str, str]) -> None:
        self._lists = lists

    def __getattr__(self, name: str) -> frozenset[str]:
        if name not in self._lists:
            raise AttributeError(f"there is no word list {name!r}")
        words = frozenset(self._lists[name].split())
        setattr(self, name, words)
        return words


# the rarest first, in what programs print; whatever else is rarer
_COMMON: Final = "v\"_()wk0xgb'y.,m:fh/1pu\n-dclsianrote "


def find_any(triggers: Collection[str]) -> re.Pattern[str]:
    """What finds any of the triggers, each at a letter that it matches alone. Few letters, and rare
    ones, do for all of the triggers: whatever else a text has is passed over.
    """
    signs = set("".join(triggers))
    for common in sorted(signs, key=_COMMON.find, reverse=True):
        if all((signs - {common}) & set(trigger) for trigger in triggers):
            signs.remove(common)
    endings = defaultdict[str, list[str]](list)
    for trigger in triggers:
        at = next(place for place, sign in enumerate(trigger) if sign in signs)
        after, whole = re.escape(trigger[at + 1 :]), re.escape(trigger)
        endings[trigger[at]].append(f"{after}(?<={whole})" if at else after)
    return re.compile(
        "|".join(f"{re.escape(sign)}(?:{'|'.join(few)})" for sign, few in endings.items())
    )


def in_small_letters(text: str) -> str:
    """In which everything stands at its place: one letter becomes two when it becomes small."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text.replace("\u0130", "i").lower()


_ASCII: Final = bytes(range(128))


def beyond_ascii(text: str) -> str:
    """The signs of a text that are not ASCII: as a rule few, or none."""
    return (
        text.encode(errors="surrogatepass").translate(None, _ASCII).decode(errors="surrogatepass")
    )


class Form:
    """One form that something takes in a text: a row of a table. Its pattern runs only where one of
    its triggers occurs; small letters stand for both cases.
    """

    def __init__(self, row: Mapping[str, Any], patterns: Patterns) -> None:
        self.row, self._patterns = row, patterns

    @lazy
    def pattern(self) -> re.Pattern[str]:
        """What finds it."""
        return self._patterns.compile(self.row["pattern"])


class Forms:
    """The rows of one table, whose patterns may name others."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], patterns: Patterns) -> None:
        self._rows, self._patterns = rows, patterns

    @lazy
    def all(self) -> list[Form]:
        """The forms in the order of the table."""
        return [Form(row, self._patterns) for row in self._rows]

    def compile_all(self) -> None:
        for form in self.all:
            assert form.pattern  # noqa: S101  # made when it is asked for

    def possible(self, text: str) -> Iterator[Form]:
        """Those that a text may hold, in the order of the table: whoever stops at one pays for no
        other.
        """
        lower, known = text.lower(), dict[str, bool]()
        for form in self.all:
            for trigger in form.row["triggers"]:
                if trigger not in known:
                    known[trigger] = trigger in (lower if trigger.islower() else text)
                if known[trigger]:
                    yield form
                    break
