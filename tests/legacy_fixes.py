"""Older fix histories as the old programs made them, awkward rows included."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

_ANALYSIS = {"claude": ["claude_analysis"], "ai": ["ai_analysis"]}
_ANALYSIS["both"] = _ANALYSIS["claude"] + _ANALYSIS["ai"]
SHAPES = tuple(_ANALYSIS)
AT = "2025-01-15T10:00:00+00:00"

ORDINARY: dict[str, Any] = {
    "timestamp": AT,
    "model_name": "qwen2.5:7b",
    "issue_type": "TIMEOUT",
    "issue_signature": "0123456789abcdef",
    "description": "no answer within 30 seconds",
    "fixer_type": "qwen",
    "fix_commands": json.dumps(["ollama stop qwen2.5:7b", "ollama run qwen2.5:7b"]),
    "fix_success": 1,
    "verification_success": 1,
    "execution_time_seconds": 45.2,
    "system_info": json.dumps({"os": "Linux", "ram_gb": 16}),
    "notes": "worked at once",
}


def columns_of(shape: str) -> list[str]:
    names = list(ORDINARY)
    return [*names[:6], *_ANALYSIS[shape], *names[6:]]


def create(
    path: Path,
    shape: str = "claude",
    extra: Sequence[str] = (),
    loose: bool = False,
    page_size: int = 4096,
    encoding: str = "UTF-8",
) -> None:
    """`loose`: without the rules of the columns, and with an id that is no key."""
    types = {"fix_success": "BOOLEAN", "verification_success": "BOOLEAN"}
    types["execution_time_seconds"] = "REAL"
    free = ("notes", "execution_time_seconds")
    columns = ["id" if loose else "id INTEGER PRIMARY KEY AUTOINCREMENT"]
    for name in columns_of(shape):
        rule = "" if loose else f" {types.get(name, 'TEXT')}{'' if name in free else ' NOT NULL'}"
        columns.append(name + rule)
    columns += [f'"{name}"' for name in extra]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"PRAGMA page_size = {page_size}")
        connection.execute(f"PRAGMA encoding = '{encoding}'")
        connection.execute(f"CREATE TABLE fix_history ({', '.join(columns)})")
        if not loose:
            for name in ("timestamp", "model_name", "issue_type", "issue_signature", "fixer_type"):
                connection.execute(f"CREATE INDEX idx_fix_history_{name} ON fix_history({name})")


def add(path: Path, rows: Iterable[Mapping[str, Any]], shape: str = "claude") -> None:
    """Each row is an ordinary one but for what is said."""
    ordinary = ORDINARY | dict.fromkeys(_ANALYSIS[shape], "it needs more time")
    with closing(sqlite3.connect(path)) as connection, connection:
        for row in rows:
            values = ordinary | dict(row)
            names = ", ".join(f'"{name}"' for name in values)
            marks = ", ".join("?" * len(values))
            insert = f"INSERT INTO fix_history ({names}) VALUES ({marks})"
            connection.execute(insert, list(values.values()))


def make(path: Path, rows: Iterable[Any] = ({},), shape: str = "claude", **options: Any) -> Path:
    create(path, shape, **options)
    add(path, rows, shape)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    return path


def many(path: Path, number: int) -> Path:
    create(path)
    add(path, ({"description": f"case {at}", "fix_success": at % 3 > 0} for at in range(number)))
    return path


def count(path: Path) -> int:
    """As an old program would ask."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return int(connection.execute("SELECT count(*) FROM fix_history").fetchone()[0])


_EMPTY = dict.fromkeys("issue_type model_name description issue_signature system_info".split(), "")
_KEY = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
AWKWARD: list[dict[str, Any]] = [
    {},
    {"fix_success": 0, "verification_success": 0, "notes": "did not help"},
    {"issue_type": "AUDIO_FRAMEWORK_MISSING", "fixer_type": "deepseek"},
    {**_EMPTY, "fixer_type": " "},
    {"fix_commands": "not [json", "system_info": "{broken"},
    {"fix_commands": '{"a": 1}', "system_info": "[1, 2]"},
    {"fix_commands": '["a", 5, {"b": null}]', "system_info": '"text"'},
    {"fix_commands": '"one command"', "system_info": '{"n": NaN, "s": "\\ud800"}'},
    *({"timestamp": at} for at in (AT[:19], "2025-01-15 10:00:00", "yesterday", 1_736_935_200)),
    {"fix_success": "true", "verification_success": "True"},
    {"fix_success": "maybe", "verification_success": b"\x01"},
    *({"execution_time_seconds": seconds} for seconds in (-1.0, "fast", 1e999)),
    {"description": b"\xff\xfe", "notes": 5, "model_name": 3.5},
    {"model_name": "two\nlines\x00", "description": "nul \x00 inside"},
    {"description": "long " * 50_000, "issue_type": "T" * 300},
    {"fix_commands": json.dumps(["x"] * 1_500)},
    {"system_info": "[" * 100_000},
    {"notes": None, "execution_time_seconds": None},
    {"notes": f"export OPENAI_API_KEY={_KEY}"},
]
