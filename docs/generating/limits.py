"""docs/reference/limits.md: every bound with its reason, from the source of `hardwon.limits`."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from generating.markdown import MADE, code, number, table
from hardwon import limits

BEGINS: Final = f"""\
# Limits

{MADE}

Every bound of the program, with its reason, from `hardwon.limits`. They are constants: changing one in a running program is
not supported. What goes over a bound is refused with an error that says so, or cut and told.
"""


def page() -> str:
    parts = [BEGINS]
    for title, bounds in _by_section():
        parts.append(f"## {title[0].upper()}{title[1:]}\n")
        parts.append(table(("limit", "", "why"), ((code(name), value, reason) for name, value, reason in bounds)))
    return "\n".join(parts)


def _by_section() -> list[tuple[str, list[tuple[str, str, str]]]]:
    """The sections of limits.py in their order, each with its bounds, their values in words, and their reasons."""
    text = Path(limits.__file__).read_text(encoding="utf-8")
    titles = {n: found[1] for n, line in enumerate(text.splitlines(), 1) if (found := re.match(r"# --- (.+?) -+$", line))}
    sections: dict[str, list[tuple[str, str, str]]] = {title: [] for title in titles.values()}
    body = ast.parse(text).body
    for bound, reason in pairwise(body):
        if isinstance(bound, ast.AnnAssign) and isinstance(bound.target, ast.Name) and isinstance(reason, ast.Expr):
            title = [name for line, name in titles.items() if line < bound.lineno][-1]
            name = bound.target.id
            told = " ".join(str(ast.literal_eval(reason.value)).split())
            sections[title].append((name, _amount(name, getattr(limits, name)), told))
    return [(title, bounds) for title, bounds in sections.items() if bounds]


def _amount(name: str, value: Any) -> str:
    """A bound as somebody reads it: bytes in the largest unit that divides them."""
    if isinstance(value, tuple):
        return ", ".join(_amount("", each) for each in value)
    if "BYTES" in name and isinstance(value, int):
        for unit, size in (("GiB", limits.GIB), ("MiB", limits.MIB), ("KiB", limits.KIB)):
            if value >= size and value % size == 0:
                return f"{value // size:,} {unit}"
    return number(value)
