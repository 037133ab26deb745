"""Whether what a record says of files still holds: what they were then, against what is there now."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from hardwon.model import RelatedFile, StaleFile


def stale_files(
    related: Iterable[RelatedFile], seen: Mapping[str, str | None], renames: Mapping[str, str]
) -> tuple[StaleFile, ...]:
    """What changed. `seen` has the SHA-1 of what is there now by path, None where nothing is; of a path that it does not have
    nobody knows, and nothing is told. `renames` leads from a path that vanished to where its file went."""
    told: dict[StaleFile, None] = {}
    for file in related:
        if file.path in seen:
            found = _change_of(file, seen[file.path], seen, renames)
            if found:
                told[found] = None
    return tuple(told)


def _change_of(
    file: RelatedFile, now: str | None, seen: Mapping[str, str | None], renames: Mapping[str, str]
) -> StaleFile | None:
    if not file.hash:
        return StaleFile(file.path, "appeared", file.path) if now is not None else None
    if now is not None:
        return None if _same(file.hash, now) else StaleFile(file.path, "changed", file.path)
    new = renames.get(file.path)
    there = seen.get(new) if new else None
    if new is None or there is None:
        return StaleFile(file.path, "gone")
    return StaleFile(file.path, "renamed" if _same(file.hash, there) else "changed", new)


_SHA1: Final = re.compile(r"[0-9a-f]{40}", re.IGNORECASE)


def _same(then: str, now: str) -> bool:
    """Whatever is no SHA-1 was made by somebody else's rules, and cannot be compared."""
    return then.lower() == now or not _SHA1.fullmatch(then)
