"""docs/reference/limits.md: every bound with its reason, from the source of `hardwon.limits`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from generating.markdown import MADE, code, number, table
from hardwon import limits

BEGINS: Final = f"""\
# Limits

{MADE}

Every bound that a user can run into, with its reason, from `hardwon.limits`. They are constants: changing one in a running
program is not supported. What goes over a bound is refused with an error that says so, or cut and told.
"""


def page() -> str:
    rows = ((code(name), value, reason) for name, value, reason in _read_bounds())
    return f"{BEGINS}\n{table(('limit', '', 'why'), rows)}"


def _read_bounds() -> list[tuple[str, str, str]]:
    """The bounds of limits.py in their order, each with its value in words and the comment above it."""
    bounds: list[tuple[str, str, str]] = []
    comment: list[str] = []
    for line in Path(limits.__file__).read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            comment.append(line[2:])
            continue
        bound = re.match(r"(\w+): Final = ", line)
        if comment and bound:
            name = bound[1]
            bounds.append((name, _amount(name, getattr(limits, name)), " ".join(comment)))
        comment = []
    return bounds


def _amount(name: str, value: Any) -> str:
    """A bound as somebody reads it: bytes in the largest unit that divides them."""
    if isinstance(value, tuple):
        return ", ".join(_amount("", each) for each in value)
    if "BYTES" in name and isinstance(value, int):
        for unit, size in (("GiB", limits.GIB), ("MiB", limits.MIB), ("KiB", limits.KIB)):
            if value >= size and value % size == 0:
                return f"{value // size:,} {unit}"
    return number(value)
