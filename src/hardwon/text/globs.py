"""Globs over relative paths, matched without touching a disk.

A pattern means what it means to `glob.glob(pattern, recursive=True)`: `*`, `?`, `[seq]` and
`[!seq]` stay within one name, a segment that is exactly `**` stands for any number of folders (at
the end: for every file below), and a name that begins with a dot is taken only by a pattern that
does. Paths are those of files, with `/` between the names.

A hostile pattern cannot make this slow: names are matched by expressions that never try a `*`
twice, and folders by a set of positions in the pattern, so that the work is bounded by the length
of the pattern times that of the path.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable

from hardwon import limits
from hardwon.errors import InvalidInputError

Matcher = Callable[[str], bool]

_MAGIC = re.compile(r"[*?[]")


class Glob:
    """A pattern for files below a folder. Raises InvalidInputError where it leads out of the tree
    or is too long.
    """

    __slots__ = ("_folder", "_name", "pattern")

    def __init__(self, pattern: str) -> None:
        if not isinstance(pattern, str) or len(pattern) > limits.GLOB_CHARS_MAX:
            raise InvalidInputError.one(
                "pattern", pattern, f"a glob of at most {limits.GLOB_CHARS_MAX} characters"
            )
        *folders, name = pattern.split("/")
        if pattern.startswith("/") or ".." in folders or name == "..":
            raise InvalidInputError.one(
                "pattern", pattern, "a glob that begins below the tree's root and has no '..'"
            )
        if name == "**":
            folders.append(name)
        folders = [part for part in folders if part not in ("", ".")]
        folders = [
            part
            for part, before in zip(folders, ["", *folders], strict=False)
            if (part, before) != ("**", "**")
        ]
        self.pattern = pattern
        self._folder = [_any_folder if part == "**" else _name_matcher(part) for part in folders]
        # `a/` and `a/.` name folders, never a file
        self._name = None if name in ("", ".") else _name_matcher(name)

    def __repr__(self) -> str:
        return f"Glob({self.pattern!r})"

    def matches(self, path: str) -> bool:
        """Whether glob.glob would give the file at this path."""
        folder, _, name = path.rpartition("/")
        return self.matches_name(name) and self.matches_folder(folder)

    def matches_name(self, name: str) -> bool:
        """Whether a file of this name can match, in some folder."""
        return self._name is not None and self._name(name)

    def matches_folder(self, folder: str) -> bool:
        """Whether files right in this folder can match (the tree's root is the empty text)."""
        if self._name is None:
            return False
        parts = self._folder
        at = _after_any_depth(parts, {0})
        for name in folder.split("/") if folder else ():
            reached = {
                place if parts[place] is _any_folder else place + 1
                for place in at
                if place < len(parts) and parts[place](name)
            }
            at = _after_any_depth(parts, reached)
        return len(parts) in at


def _any_folder(name: str) -> bool:
    """The segment `**`."""
    return not name.startswith(".")


def _after_any_depth(parts: list[Matcher], at: set[int]) -> set[int]:
    """The places themselves, and those behind a `**`, which may stand for no folder at all (two
    never follow each other).
    """
    return at | {place + 1 for place in at if place < len(parts) and parts[place] is _any_folder}


def _name_matcher(pattern: str) -> Matcher:
    if not _MAGIC.search(pattern):
        return pattern.__eq__
    # each `*` but the last in an atomic group: never tried twice
    match = re.compile(fnmatch.translate(pattern)).match
    if pattern.startswith("."):
        return lambda name: match(name) is not None
    return lambda name: not name.startswith(".") and match(name) is not None
