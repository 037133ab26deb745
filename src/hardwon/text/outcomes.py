"""How something turned out, as the text that tells of it lets one know. No I/O."""

from __future__ import annotations

import re
from typing import Final

from hardwon.text.failures import shows_error

_NOT: Final = r"(?:\bno[tn]?\b|n't\b|\bnever\b|\bcannot\b|\bwithout\b)"
_GOOD: Final = re.compile(
    r"\b(?:fixe[ds]|solve[ds]|resolve[ds]|works?(?: now| again)|worked|passe[ds]|succeed(?:s|ed)|helped)\b",
    re.IGNORECASE,
)
_BAD: Final = re.compile(
    r"\b(?:fail(?:s|ed|ing|ure)?|crash(?:es|ed)?|hangs|broke|broken|timed out|timeout|refused|denied)\b"
    rf"|{_NOT} (?:\w+ ){{0,2}}(?:work|help|fix|pass|found)\w*",
    re.IGNORECASE,
)
_NOT_GOOD: Final = re.compile(rf"{_NOT} (?:\w+ ){{0,2}}{_GOOD.pattern}", re.IGNORECASE)
_EXCEPTION: Final = re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b")
_ERROR_TYPES: Final = {
    "syntax": re.compile(r"\b(?:Syntax|Indentation|Tab)Error\b"),
    "timeout": re.compile(r"\b\w*Timeout\w*\b|\btimed out\b", re.IGNORECASE),
    "logic": re.compile(r"\bAssertionError\b"),
    "runtime": _EXCEPTION,
}


def guess_outcome(text: str) -> str:
    """Success or failure where the text says so, else a learning. What made something go away is a
    success, also where it names the error.
    """
    if _GOOD.search(text) and not _NOT_GOOD.search(text):
        return "success"
    tells = any(each.search(text) for each in (_BAD, _NOT_GOOD, _EXCEPTION))
    return "failure" if tells or shows_error(text) else "learning"


def guess_error_type(text: str) -> str | None:
    """Of a failure that names an exception: what sort of error it was."""
    if not _EXCEPTION.search(text):
        return None
    return next(name for name, pattern in _ERROR_TYPES.items() if pattern.search(text))
