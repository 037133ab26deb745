"""One key for texts that say the same, whatever their case, spacing or trailing dot."""

from __future__ import annotations

import json
import re
import unicodedata
from hashlib import blake2b
from typing import Final

from hardwon import limits

_MARK: Final = re.compile(r"^(?:\[(?:works|avoid|consolidated|high score[^\]]*)\]|avoid:)\s*")
_AROUND: Final = " \t.,;:!-*•\"'`"


def canonical(text: str) -> str:
    """Case and spacing folded, cut, and without the marks under which a memory itself hands a lesson out: one that comes
    back as somebody's own observation is the same lesson."""
    cut = text[: 4 * limits.LESSON_CHARS_MAX]
    if not cut.isascii():
        cut = unicodedata.normalize("NFKC", cut)
    folded = " ".join(cut.casefold().split())
    while unmarked := _MARK.match(folded):
        folded = folded[unmarked.end() :]
    return folded.strip(_AROUND)[: limits.LESSON_CHARS_MAX]


def key_of(*parts: object) -> str:
    """16 hex characters. As JSON, so that no text can pose as two parts or two as one."""
    text = json.dumps(parts, ensure_ascii=True, separators=(",", ":"), default=str)
    return blake2b(text.encode(), digest_size=8).hexdigest()
