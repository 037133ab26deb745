"""Patterns, word lists and longer texts are data: a TOML file beside each module that needs one,
named as `text/failures`.

Under `[patterns]` stands one regular expression for each name, as a text or as several that are
joined. `{{name}}` stands for another pattern, or for any of the words of that name under `[any]`:
there an underscore is a space, and an apostrophe may be curly. Under `[words]` stand lists of
words. A file is read, and a pattern compiled, when it is used first: most commands need few.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pkgutil import get_data
from typing import Any, Final

from hardwon.first_use import lazy, making

_PART: Final = re.compile(r"\{\{(\w+)\}\}")


@cache
def read_tables(file: str) -> dict[str, Any]:
    """Everything in `file`.toml."""
    with making:  # a fork in the middle of an import would leave the module's lock behind
        import tomllib  # most commands need none of it

    return tomllib.loads((get_data("hardwon", f"{file}.toml") or b"").decode())


class Patterns:
    """The patterns of a file, each an attribute."""

    def __init__(self, file: str) -> None:
        self._file = file

    def __getattr__(self, name: str) -> re.Pattern[str]:
        pattern = _compile(self._file, _entry(self._file, "patterns", name))
        setattr(self, name, pattern)
        return pattern


class WordLists:
    """The word lists of a file, each an attribute."""

    def __init__(self, file: str) -> None:
        self._file = file

    def __getattr__(self, name: str) -> frozenset[str]:
        words = frozenset(_entry(self._file, "words", name).split())
        setattr(self, name, words)
        return words


def _entry(file: str, table: str, name: str) -> Any:
    try:
        return read_tables(file)[table][name]
    except KeyError:
        raise AttributeError(f"{file}.toml has no {name!r} under [{table}]") from None


def _compile(file: str, source: str | list[str]) -> re.Pattern[str]:
    tables = read_tables(file)

    def expand(part: re.Match[str]) -> str:
        if words := tables.get("any", {}).get(part[1]):
            words = words.replace("'", "['\u2019]").replace("_", r"\s")
            return f"(?:{'|'.join(words.split())})"
        return join(tables["patterns"][part[1]])

    def join(source: str | list[str]) -> str:
        return _PART.sub(expand, "".join(source))

    return re.compile(join(source))


@dataclass(frozen=True)
class Form:
    """One form that something takes in a text: a row of a table. Its pattern runs only where one of
    its triggers occurs; small letters stand for both cases.
    """

    file: str
    row: Mapping[str, Any]

    @lazy
    def pattern(self) -> re.Pattern[str]:
        return _compile(self.file, self.row["pattern"])


class Forms:
    """The rows of one table of a file."""

    def __init__(self, file: str, table: str) -> None:
        self._file, self._table = file, table

    @lazy
    def all(self) -> list[Form]:
        return [Form(self._file, row) for row in read_tables(self._file)[self._table]]

    @lazy
    def _places(self) -> Mapping[tuple[bool, str], set[int]]:
        places: defaultdict[tuple[bool, str], set[int]] = defaultdict(set)
        for place, form in enumerate(self.all):
            for trigger in form.row["triggers"]:
                places[trigger.islower(), trigger].add(place)
        return places

    def possible(self, text: str) -> list[Form]:
        """Those that a text may hold, in the order of the table."""
        texts = text, text.lower()
        hits = [
            places for (folded, trigger), places in self._places.items() if trigger in texts[folded]
        ]
        return [self.all[place] for place in sorted(set[int]().union(*hits))]
