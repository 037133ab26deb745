"""One key for texts that say the same, whatever their case, spacing or trailing dot."""

from __future__ import annotations

import json
import unicodedata
from hashlib import blake2b
from typing import Final

from hardwon import limits

_AROUND: Final = " \t.,;:!-*•\"'`"


def canonical(text: str) -> str:
    """Case and spacing folded, surrounding punctuation dropped, cut. Spaces are folded before it is cut: however much of
    them somebody puts in between, what comes after is part of what is compared."""
    words = text.split(None, limits.LESSON_CHARS_MAX)[: limits.LESSON_CHARS_MAX]
    folded = " ".join(word[: limits.LESSON_CHARS_MAX] for word in words)
    if not folded.isascii():
        folded = " ".join(unicodedata.normalize("NFKC", folded[: 4 * limits.LESSON_CHARS_MAX]).split())
    return folded.casefold().strip(_AROUND)[: limits.LESSON_CHARS_MAX].strip(_AROUND)


def key_of(*parts: object) -> str:
    """16 hex characters. As JSON, so that no text can pose as two parts or two as one."""
    text = json.dumps(parts, ensure_ascii=True, separators=(",", ":"), default=str)
    return blake2b(text.encode(), digest_size=8).hexdigest()
