"""Patterns and word lists are data: a module beside each one that needs them, named as
`failures_tables`.

`PATTERNS` has one regular expression for each name, as a text or as several that are joined.
`{{name}}` stands for another pattern, or for any of the words of that name in `ANY_OF`: there an
underscore is a space, and an apostrophe may be curly. `WORDS` are lists of words. A pattern is
compiled when it is used first: most commands need few.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from hardwon.first_use import lazy

_PART: Final = re.compile(r"\{\{(\w+)\}\}")
_NO_WORDS: Final[Mapping[str, str]] = {}


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
        return re.compile(self._join(source))

    def _join(self, source: str | list[str]) -> str:
        return _PART.sub(self._expand, "".join(source))

    def _expand(self, part: re.Match[str]) -> str:
        if words := self._any_of.get(part[1]):
            words = words.replace("'", "['\u2019]").replace("_", r"\s")
            return f"(?:{'|'.join(words.split())})"
        return self._join(self._sources[part[1]])


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


_COMMON: Final = "vbygwpfmucdlhrsnioate "  # the rarest first; whatever else is rarer


def by_rarest(triggers: Iterable[str]) -> dict[str, list[str]]:
    """Triggers by the letter or sign in each that texts have least: where it is missing, which is
    known at a third of the price, none of them occurs.
    """
    found = defaultdict[str, list[str]](list)
    for trigger in triggers:
        rarest = min(trigger, key=lambda sign: _COMMON.find(sign.lower()), default="")
        found[rarest].append(trigger)
    return found


_Triggers = Mapping[str, Sequence[tuple[str, set[int]]]]  # those of a sign, with what they lead to


class Form:
    """One form that something takes in a text: a row of a table. Its pattern runs only where one of
    its triggers occurs; small letters stand for both cases.
    """

    def __init__(self, row: Mapping[str, Any], patterns: Patterns) -> None:
        self.row, self._patterns = row, patterns

    @lazy
    def pattern(self) -> re.Pattern[str]:
        return self._patterns.compile(self.row["pattern"])


class Forms:
    """The rows of one table, whose patterns may name others."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], patterns: Patterns) -> None:
        self._rows, self._patterns = rows, patterns

    @lazy
    def all(self) -> list[Form]:
        return [Form(row, self._patterns) for row in self._rows]

    @lazy
    def _places(self) -> tuple[_Triggers, _Triggers]:
        """Where a trigger leads to: of those that are looked for as they are, and of those in small
        letters.
        """
        places = defaultdict[str, set[int]](set)
        for place, form in enumerate(self.all):
            for trigger in form.row["triggers"]:
                places[trigger].add(place)
        as_written, folded = (
            {
                sign: [(trigger, places[trigger]) for trigger in few]
                for sign, few in by_rarest(
                    each for each in places if each.islower() == small
                ).items()
            }
            for small in (False, True)
        )
        return as_written, folded

    def compile_all(self) -> None:
        for form in self.all:
            assert form.pattern  # noqa: S101  # made when it is asked for

    def possible(self, text: str) -> list[Form]:
        """Those that a text may hold, in the order of the table."""
        hits = [
            places
            for where, triggers in zip((text, text.lower()), self._places, strict=True)
            for sign, few in triggers.items()
            if sign in where
            for trigger, places in few
            if trigger in where
        ]
        return [self.all[place] for place in sorted(set[int]().union(*hits))]
