"""How the hooks of an agent ran in a repository: when, how long it took, what came of it. For
`hooks status`; nothing is learned from it. It lies with the user's own data, and is bounded.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from hardwon.outside.files import repository_root, user_folder
from hardwon.records.fields import read_json
from hardwon.text.clean import clean_line

_BYTES_MAX: Final = 200_000
_SAID_CHARS_MAX: Final = 160


class HookRun(NamedTuple):
    """One call of a hook. `line` is what it told, "" where it told nothing; `error` what kept
    it from its work.
    """

    event: str
    at: str
    ms: float
    line: str
    error: str


class HookSummary(NamedTuple):
    """How a hook ran lately: its last run, None where it never did; of the last seven days, how often
    it ran and spoke, and the `line` that it told last.
    """

    last: HookRun | None
    runs: int
    spoke: int
    line: str


def note_run(agent: str, folder: str, run: HookRun) -> None:
    """Adds a run to those of the repository that the folder is in. What cannot be written is left."""
    entry = run._replace(
        line=clean_line(run.line, _SAID_CHARS_MAX), error=clean_line(run.error, _SAID_CHARS_MAX)
    )
    path = _find_file(agent, repository_root(Path(folder)) or Path(folder))
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        with open(os.open(path, flags, 0o600), "ab") as file:  # noqa: PTH123  # with its mode from the start
            file.write(json.dumps(entry).encode() + b"\n")
            size = file.tell()
        if size > _BYTES_MAX:
            path.write_bytes(path.read_bytes()[-_BYTES_MAX // 2 :].partition(b"\n")[2])


def sum_up_runs(agent: str, root: Path, events: Iterable[str]) -> dict[str, HookSummary]:
    """How each of these events' hooks ran in a repository."""
    week_ago = (datetime.now(UTC) - timedelta(days=7)).isoformat()
    runs = _read_runs(_find_file(agent, root))
    summaries = {}
    for event in events:
        own = [run for run in runs if run.event == event]
        recent = [run for run in own if run.at >= week_ago]
        spoken = [run.line for run in recent if run.line]
        last = own[-1] if own else None
        summaries[event] = HookSummary(last, len(recent), len(spoken), spoken[-1] if spoken else "")
    return summaries


def _read_runs(path: Path) -> list[HookRun]:
    """Oldest first; none where none was noted, and none of what is cut off."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return []
    rows = (read_json(line) for line in lines)
    return [
        HookRun(*row) for row in rows if isinstance(row, list) and len(row) == len(HookRun._fields)
    ]


def _find_file(agent: str, root: Path) -> Path:
    name = sha256(f"{agent}\0{root.resolve()}".encode(errors="surrogateescape")).hexdigest()[:32]
    return user_folder("data") / "sessions" / f"{name}.hooks"
