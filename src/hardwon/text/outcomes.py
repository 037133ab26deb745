"""How something turned out, as the text that tells of it lets one know: an observation of a command
that was run, whose first line says how it ended, or a note in words. No I/O.
"""

from __future__ import annotations

import re
from typing import Final

from hardwon.text.failures import shows_error

# How an observation begins that we wrote ourselves.
HEADER: Final = re.compile(
    r"(?:exit code (?P<code>\d{1,3})|killed by (?P<signal>SIG[A-Z0-9]+|signal \d+)) after \d+\.\d s(?:\n|\Z)"
)
_NOT: Final = r"(?:\bno[tn]?\b|n't\b|\bnever\b|\bcannot\b|\bwithout\b)"
_GOOD: Final = re.compile(
    r"(?i)\b(?:fixe[ds]|solve[ds]|works?(?: now| again)|worked|passe[ds]|succeed(?:s|ed)|helped)\b"
)
_BAD: Final = re.compile(
    r"(?i)\b(?:fail(?:s|ed|ing|ure)?|crash(?:es|ed)?|hangs|broke|broken|timed out|timeout|refused|denied)\b"
    rf"|{_NOT} (?:\w+ ){{0,2}}(?:work|help|fix|pass|found)\w*"
)
_NOT_GOOD: Final = re.compile(rf"(?i){_NOT} (?:\w+ ){{0,2}}(?:fixe[ds]|solve[ds]|passe[ds])")
_EXCEPTION: Final = re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b")
_ERROR_TYPES: Final = {
    "syntax": re.compile(r"\b(?:Syntax|Indentation|Tab)Error\b"),
    "timeout": re.compile(r"(?i)\b\w*Timeout\w*\b|\btimed out\b"),
    "logic": re.compile(r"\bAssertionError\b"),
    "runtime": _EXCEPTION,
}


def run_observation(exit_code: int, signal: str, seconds: float, output: str) -> str:
    """The observation of a command that was run. `signal` is the name of the one that killed it, ""
    where it ended by itself.
    """
    ended = f"killed by {signal}" if signal else f"exit code {exit_code}"
    return f"{ended} after {seconds:.1f} s\n{output}".rstrip("\n")


def strip_ending(observation: str) -> str:
    """An observation without the line of ours that tells how a command ended; all of it where there
    is none.
    """
    header = HEADER.match(observation)
    return observation[header.end() :] if header else observation


def reported_failure(observation: str) -> str:
    """The part of an observation that tells what failed; "" where nothing did. Where an exit code is
    known it decides: a search that prints errors has worked, and a check that ends with 1 and prints
    nothing has not.
    """
    header = HEADER.match(observation)
    if header is None:
        return observation if shows_error(observation) else ""
    if header["code"] and not int(header["code"]):
        return ""
    output = observation[header.end() :]
    # what was killed had its say on something else
    tells = shows_error(output) if header["signal"] else output.strip()
    return output if tells else header.group().rstrip("\n")


def guess_outcome(text: str) -> str:
    """Success or failure where a note says so, else a learning. What made something go away is a
    success, also where it names the error.
    """
    if _GOOD.search(text) and not _NOT_GOOD.search(text):
        return "success"
    tells = any(pattern.search(text) for pattern in (_BAD, _NOT_GOOD, _EXCEPTION))
    return "failure" if tells or shows_error(text) else "learning"


def guess_error_type(text: str) -> str | None:
    """Of a failure that names an exception: what sort of error it was; None where it names none."""
    if not _EXCEPTION.search(text):
        return None
    return next(name for name, pattern in _ERROR_TYPES.items() if pattern.search(text))
