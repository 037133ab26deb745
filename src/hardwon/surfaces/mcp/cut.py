"""What is too long for a model to read, cut: long texts, long lists, deep trees. It is said what was
left out.
"""

from __future__ import annotations

import json
from collections import Counter
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
        if len(json.dumps(shorter, ensure_ascii=False, separators=(",", ":"))) <= chars_max:
            break
        cut = Counter[str]()
        shorter = _shorten(value, bounds, cut)
        parts = [f"{cut['items']} {'entry' if cut['items'] == 1 else 'entries'}"]
        parts.append(f"the end of {cut['texts']} long {'text' if cut['texts'] == 1 else 'texts'}")
        both = zip(("items", "texts"), parts, strict=True)
        note = " and ".join(part for what, part in both if cut[what])
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


def cut_lines(text: str) -> str:
    """Whole lines of the text, as many as fit, and how many are missing."""
    if len(text) <= limits.TOOL_TEXT_CHARS_MAX:
        return text
    lines = text.splitlines()
    kept = sum(
        end <= limits.TOOL_TEXT_CHARS_MAX for end in accumulate(len(line) + 1 for line in lines)
    )
    return "\n".join([*lines[:kept], f"{CUT} {len(lines) - kept} more lines were left out"])


def _shorten(value: Any, bounds: tuple[int, int, int], cut: Counter[str], level: int = 0) -> Any:
    """The value within these bounds; what was cut to keep them is counted."""
    text_chars, items, levels = bounds
    if isinstance(value, str) and len(value) > text_chars:
        cut["texts"] += 1
        return value[: text_chars - 1] + CUT
    if isinstance(value, list):
        # a list of plain values may be a pair, which has its length; one of objects may be empty
        has_objects = bool(value) and isinstance(value[0], dict)
        most = 0 if level > levels and has_objects else items
        cut["items"] += max(0, len(value) - most)
        return [_shorten(inner, bounds, cut, level + 1) for inner in value[:most]]
    if isinstance(value, dict):
        # what every record has stands first, and is less
        most = max(items, ENTRIES_KEPT)
        cut["items"] += max(0, len(value) - most)
        shorter = {}
        for name, inner in list(value.items())[:most]:
            # these hold whatever JSON their author liked, as deep as they liked: at last, nothing
            # of it
            if name in ("system_info", "other", "data") and inner and levels <= 1:
                cut["items"] += len(inner)
                inner = {}
            shorter[_shorten(name, bounds, cut)] = _shorten(inner, bounds, cut, level + 1)
        return shorter
    return value
