"""What is too long for a model to read is cut: long texts, long lists, deep trees; and it is said what was left out."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

from hardwon import limits
from hardwon.recall.fence import CUT

_CALLERS_OWN: Final = frozenset({"system_info", "other", "data"})
"""Fields of records that hold whatever JSON their author liked, as deep as they liked: at last, nothing of it is shown."""


class Fitted(NamedTuple):
    """`left_out` says what was cut, and is empty where nothing was."""

    value: Any
    left_out: str


def fitted(value: Any, chars_max: int, whole: frozenset[str] = frozenset()) -> Fitted:
    """A JSON value that takes at most about so many characters. `whole`: keys at the top whose values stay as they are, and do
    not count."""
    kept = {name: value[name] for name in whole if name in value} if isinstance(value, dict) else {}
    rest = {name: inner for name, inner in value.items() if name not in kept} if kept else value
    if _size(rest) <= chars_max:
        return Fitted(value, "")
    for cut in (_Cut(*bounds) for bounds in limits.RESULT_CUTS):
        shorter = cut.value(rest, 0)
        if _size(shorter) <= chars_max:
            break
    if kept:
        shorter = {name: kept.get(name, shorter.get(name)) for name in value}
    return Fitted(shorter, cut.said())


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


class _Cut:
    def __init__(self, text_chars: int, items: int, levels: int) -> None:
        self._text_chars = text_chars
        self._items = items
        self._levels = levels
        self._texts_cut = 0
        self._items_left_out = 0

    def value(self, given: Any, level: int) -> Any:
        if isinstance(given, str):
            return self._text(given)
        if isinstance(given, list):
            return self._list(given, level)
        if isinstance(given, dict):
            return {self._text(name): self._field(name, inner, level + 1) for name, inner in self._entries(given)}
        return given

    def _text(self, given: str) -> str:
        if len(given) <= self._text_chars:
            return given
        self._texts_cut += 1
        return given[: self._text_chars - 1] + CUT

    def _field(self, name: str, given: Any, level: int) -> Any:
        if name in _CALLERS_OWN and given and self._levels <= 1:
            self._items_left_out += len(given)
            return {}
        return self.value(given, level)

    def _list(self, given: list[Any], level: int) -> list[Any]:
        # A list of plain values may be a pair, which has its length; a list of objects may be empty.
        some = 0 if level > self._levels and given and isinstance(given[0], dict) else self._items
        self._items_left_out += max(0, len(given) - some)
        return [self.value(inner, level + 1) for inner in given[:some]]

    def _entries(self, given: dict[str, Any]) -> list[tuple[str, Any]]:
        entries = list(given.items())
        most = max(self._items, limits.COUNTS_SHOWN_MIN)
        if len(entries) <= most:
            return entries
        self._items_left_out += len(entries) - most
        if not all(isinstance(inner, int | float) for inner in given.values()):
            return entries[:most]  # what every record has stands first, and is less
        return sorted(entries, key=lambda entry: (-entry[1], entry[0]))[:most]

    def said(self) -> str:
        parts = [
            f"{self._items_left_out} {'entry' if self._items_left_out == 1 else 'entries'}" if self._items_left_out else "",
            f"the end of {self._texts_cut} long {'text' if self._texts_cut == 1 else 'texts'}" if self._texts_cut else "",
        ]
        return " and ".join(filter(None, parts))


def bounded_text(text: str, chars_max: int = limits.TOOL_TEXT_CHARS_MAX) -> str:
    """Whole lines of it, as many as fit, and how many are missing."""
    if len(text) <= chars_max:
        return text
    lines = text.splitlines()
    kept: list[str] = []
    room = chars_max
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join([*kept, f"{CUT} {len(lines) - len(kept)} more lines were left out"])
