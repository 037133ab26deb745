"""Patterns, word lists and longer texts are data: a TOML file beside each module that needs one,
named as `text/failures`.

Under `[patterns]` stands one regular expression for each name, as a text or as several that are
joined. `{{name}}` stands for another pattern, or for any of the words of that name under `[any]`:
there an underscore is a space, and an apostrophe may be curly. Under `[words]` stand lists of
words. A file is read, and a pattern compiled, when it is used first: most commands need few.
"""

from __future__ import annotations

import re
from functools import cache
from pkgutil import get_data
from typing import Any, Final

_PART: Final = re.compile(r"\{\{(\w+)\}\}")


@cache
def read_tables(file: str) -> dict[str, Any]:
    """Everything in `file`.toml."""
    import tomllib  # most commands need none of it

    return tomllib.loads((get_data("hardwon", f"{file}.toml") or b"").decode())


class Patterns:
    """The patterns of a file, each an attribute."""

    def __init__(self, file: str) -> None:
        self._file = file

    def __getattr__(self, name: str) -> re.Pattern[str]:
        pattern = self.compile(_entry(self._file, "patterns", name))
        setattr(self, name, pattern)
        return pattern

    def compile(self, source: str | list[str]) -> re.Pattern[str]:
        return re.compile(self._join(source))

    def _join(self, source: str | list[str]) -> str:
        return _PART.sub(self._expand, "".join(source))

    def _expand(self, part: re.Match[str]) -> str:
        tables = read_tables(self._file)
        if words := tables.get("any", {}).get(part[1]):
            words = words.replace("'", "['\u2019]").replace("_", r"\s")
            return f"(?:{'|'.join(words.split())})"
        return self._join(tables["patterns"][part[1]])


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
