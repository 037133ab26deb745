"""What a secret looks like, and what only stands where one would, as `secrets.txt` has it: read by
redact.py.
"""

from __future__ import annotations

import re
from typing import Any, Final

from hardwon.text.tables import list_entries, read_parts

_PARTS: Final = read_parts(__name__, "secrets.txt")
WORDS: Final = dict(list_entries(_PARTS["words"], " "))
PATTERNS: Final = dict(list_entries(_PARTS["patterns"]))
KEY_CHARS_MIN: Final = 20


def _key(line: str, *, begins: bool) -> dict[str, Any]:
    label, *triggers, pattern = line.split()
    beginning = f"(?:{'|'.join(map(re.escape, triggers))})" if begins else ""
    return {"label": label, "triggers": triggers, "pattern": beginning + pattern}


def _rows(table: str) -> list[dict[str, Any]]:
    """A row for each entry of a table."""
    rows = []
    for head, pattern in list_entries(table):
        label, accept, *triggers = head.split()
        triggers = [trigger.replace("~", " ") for trigger in triggers]
        rows.append({"label": label, "accept": accept, "triggers": triggers, "pattern": pattern})
    return rows


KEYS: Final = [
    *(_key(line, begins=True) for line, _ in list_entries(_PARTS["beginnings"])),
    *(_key(line, begins=False) for line, _ in list_entries(_PARTS["inside"])),
]
SECRETS: Final = _rows(_PARTS["secrets"])
NAMED: Final = _rows(_PARTS["named"])
