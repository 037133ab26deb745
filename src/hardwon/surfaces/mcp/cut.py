"""What is too long for a model to read, cut: long texts, long lists, deep trees. It is said what was
left out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

from hardwon import limits
from hardwon.text.clean import CUT, clean_text

# How a result that is too long is cut, tried in this order until it fits: characters of each text,
# items of each list, and levels below which lists of objects are empty. Whoever reads the beginning
# of all is better off than with all of a few. Ids and times, which have up to 40 characters, and
# pairs stay whole.
_CUTS: Final = (
    (4_000, 200, 8),
    (1_000, 50, 6),
    (400, 20, 5),
    (200, 10, 4),
    (100, 5, 4),
    (60, 2, 3),
    (60, 2, 1),
)
# Entries of an object that are never cut: the fields that a record or an answer has of itself are
# fewer, and stay whole.
ENTRIES_KEPT: Final = 20


def fit(value: Any, chars_max: int, whole: frozenset[str] = frozenset()) -> tuple[Any, str]:
    """A JSON value that takes at most about so many characters, and what was cut; the latter is
    empty where nothing was. `whole`: keys at the top whose values stay as they are, and do not
    count.
    """
    if isinstance(value, dict) and whole & value.keys():
        rest = {name: inner for name, inner in value.items() if name not in whole}
        shorter, note = fit(rest, chars_max)
        return {name: shorter.get(name, inner) for name, inner in value.items()}, note
    shorter, note = value, ""
    for bounds in _CUTS:
        if _count_chars(shorter) <= chars_max:
            break
        cut = _Cut(*bounds)
        shorter = cut.shorten(value, 0)
        note = cut.describe()
    return shorter, note


def clean_json(value: Any, whole: frozenset[str] = frozenset()) -> Any:
    """The value with every text and every name clean: a model reads it, whatever else does.
    `whole`: keys at the top whose values are fenced already.
    """
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return list(map(clean_json, value))
    if isinstance(value, dict):
        return {
            clean_text(name): inner if name in whole else clean_json(inner)
            for name, inner in value.items()
        }
    return value


def cut_lines(text: str, chars_max: int = limits.TOOL_TEXT_CHARS_MAX) -> str:
    """Whole lines of the text, as many as fit, and how many are missing."""
    if len(text) <= chars_max:
        return text
    lines = text.splitlines()
    kept = sum(end <= chars_max for end in accumulate(len(line) + 1 for line in lines))
    return "\n".join([*lines[:kept], f"{CUT} {len(lines) - kept} more lines were left out"])


def _count_chars(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


@dataclass
class _Cut:
    """Bounds of texts, lists and depth, and what was cut to keep them."""

    text_chars: int
    items: int
    levels: int
    texts_cut: int = 0
    items_left_out: int = 0

    def shorten(self, value: Any, level: int) -> Any:
        """The value within these bounds."""
        if isinstance(value, str) and len(value) > self.text_chars:
            self.texts_cut += 1
            return value[: self.text_chars - 1] + CUT
        if isinstance(value, list):
            # A list of plain values may be a pair, which has its length; a list of objects may be
            # empty.
            has_objects = bool(value) and isinstance(value[0], dict)
            most = 0 if level > self.levels and has_objects else self.items
            self.items_left_out += max(0, len(value) - most)
            return [self.shorten(inner, level + 1) for inner in value[:most]]
        if isinstance(value, dict):
            # what every record has stands first, and is less
            most = max(self.items, ENTRIES_KEPT)
            self.items_left_out += max(0, len(value) - most)
            return {
                self.shorten(name, level): self._shorten_field(name, inner, level + 1)
                for name, inner in list(value.items())[:most]
            }
        return value

    def _shorten_field(self, name: str, value: Any, level: int) -> Any:
        # these hold whatever JSON their author liked, as deep as they liked: at last, nothing of it
        if name in ("system_info", "other", "data") and value and self.levels <= 1:
            self.items_left_out += len(value)
            return {}
        return self.shorten(value, level)

    def describe(self) -> str:
        """What was cut, in words; nothing where nothing was."""
        items, texts = self.items_left_out, self.texts_cut
        parts = [f"{items} {'entry' if items == 1 else 'entries'}"] if items else []
        if texts:
            parts.append(f"the end of {texts} long {'text' if texts == 1 else 'texts'}")
        return " and ".join(parts)
