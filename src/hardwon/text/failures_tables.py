"""How programs report failures, and what differs between two runs of one, as `failures.txt` has it:
read by failures.py.
"""

from __future__ import annotations

from typing import Any, Final

from hardwon.text.tables import list_entries, read_parts

_PARTS: Final = read_parts(__name__, "failures.txt")
PATTERNS: Final = dict(list_entries(_PARTS["patterns"]))


def _read_report(lines: list[str]) -> dict[str, Any]:
    """A way in which programs report failures: what stands behind `@`, and the pattern."""
    row: dict[str, Any] = {"pattern": "".join(line for line in lines if line[0] != "@")}
    triggers: list[str] = []
    for line in lines:
        name, _, value = line.partition(" ")
        if name == "@triggers":
            triggers += value.replace("\\n", "\n").split(" ")
        elif line.startswith("@"):
            row[name[1:]] = value
    row["triggers"] = [trigger.replace("~", " ") for trigger in triggers] or [""]
    return row


REPORTS: Final = [
    _read_report(inside.split("\n")) for _, inside in list_entries(_PARTS["reports"], "\n")
]
