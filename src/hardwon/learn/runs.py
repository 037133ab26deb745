"""How a command that was run is told as an observation: its first line says how it ended, the rest is what it printed.

What other tools answer is judged by its words. Of a run the exit code is known, and it decides: a search that prints errors
has worked, and a check that ends with 1 and prints nothing has not.
"""

from __future__ import annotations

import re
from typing import Final

from hardwon.learn.failures import shows_error

_FIRST_LINE: Final = re.compile(
    r"(?:exit code (?P<code>\d{1,3})|killed by (?P<signal>SIG[A-Z0-9]+|signal \d+)) after \d+\.\d s(?:\n|\Z)"
)


def told(exit_code: int, signal: str, seconds: float, output: str) -> str:
    """The observation. `signal` is the name of the one that killed the command, empty where it ended by itself."""
    ended = f"killed by {signal}" if signal else f"exit code {exit_code}"
    return f"{ended} after {seconds:.1f} s\n{output}".rstrip("\n")


def reported(observation: str) -> str:
    """The part of an observation that tells what failed; empty where nothing did."""
    run = _FIRST_LINE.match(observation)
    if run is None:
        return observation if shows_error(observation) else ""
    if run["code"] and not int(run["code"]):
        return ""
    output = observation[run.end() :]
    tells = shows_error(output) if run["signal"] else output.strip()  # what was killed had its say on something else
    return output if tells else run.group().rstrip("\n")
