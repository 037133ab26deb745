"""What an agent's session did and was told so far, from one hook to the next; and what becomes of
it: one trajectory, whose steps stand in the order in which they were done, with the outcome that
`runs` reads in them.

Each command is recorded when it ends, as a trajectory of one step, so that nothing is lost and
everybody is warned at once. Where a turn ends and nothing is left failing, or the session ends,
these become one, and are superseded by it: counted once. What was told before is credited, or not,
by how that ended (`recalled`).

Between hooks a session is a small file of the user's own, under a lock. It holds ids, the edits and
the task, without secrets, and goes when the session ends.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from hardwon import limits
from hardwon.capture.agent_settings import AGENT_SETTINGS_BYTES_MAX
from hardwon.memory import Memory
from hardwon.memory.project import Change
from hardwon.memory.record import make
from hardwon.outside import files
from hardwon.outside.files import user_folder
from hardwon.records.fields import read_json
from hardwon.records.kinds import Step, Trajectory
from hardwon.runs.read import list_files, read_session_reward
from hardwon.runs.steps import read_steps
from hardwon.trust.redact import redact

# Commands and edits of one piece of work, the newest. Who needs more to settle something has
# forgotten how it began.
AGENT_SESSION_ITEMS_MAX: Final = 200

# Lines that a session remembers it was told, and records that these rest on.
AGENT_SESSION_TOLD_MAX: Final = 500

# What is left of a session whose memory nobody opens any more goes after so long.
AGENT_SESSION_KEPT_S: Final = 30 * 86_400

# Sessions that are looked into, to end them, while somebody waits.
_SESSIONS_AT_ONCE_MAX: Final = 20

TAG: Final = "session"


@dataclass
class AgentSession:
    """One session, of one agent or subagent, with one memory. Of what is kept, `items` are the ids
    of recorded commands and, as actions, edits, in order; `wrote` are the files that were written
    before those.
    """

    kept: dict[str, Any]
    ended: bool = False

    def add_command(self, record_id: str, line: str, *, failed: bool) -> None:
        """A command ended, and is kept as this record."""
        self.kept.setdefault("items", []).append({"id": record_id})
        self._note_action(redact(line)[0], failed=failed)

    def add_edit(self, step: Step) -> None:
        """A file was edited."""
        self.kept.setdefault("items", []).append({"action": step.action})
        self._note_action(step.action, failed=False)

    def _note_action(self, action: str, *, failed: bool) -> None:
        done = self.kept.setdefault("done", [])
        done.append([action, failed])
        del done[:-AGENT_SESSION_TOLD_MAX]

    @property
    def done(self) -> list[tuple[str, bool]]:
        """What was done last in the session, in order, each with whether it failed."""
        return [(action, failed) for action, failed in self.kept.get("done", [])]

    @property
    def is_full(self) -> bool:
        """Whether so much was done that it is a piece of work whatever comes."""
        return len(self.kept.get("items", [])) >= AGENT_SESSION_ITEMS_MAX

    def unsaid(self, lines: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
        """Those that this session was not told yet. They count as told from now on, and the records
        behind them as recalled.
        """
        keys, recalled = self.kept.setdefault("told", []), self.kept.setdefault("recalled", [])
        new = []
        for text, ids in lines:
            key = sha256(text.encode()).hexdigest()[:16]
            if key not in keys:
                keys.append(key)
                recalled.extend(line_id for line_id in ids if line_id not in recalled)
                new.append(text)
        del keys[:-AGENT_SESSION_TOLD_MAX], recalled[:-AGENT_SESSION_TOLD_MAX]
        return new

    def forget_lines(self) -> None:
        """The model no longer has it."""
        self.kept["told"] = []

    def close(self, memory: Memory, *, ended: bool) -> Trajectory | None:
        """What was done so far, as one trajectory; None where that is nothing. Where something is
        left failing it stays open, unless the session `ended`: the next turn may find out.
        """
        ids, steps = self._read_items(memory)
        wrote = self.kept.get("wrote", [])
        reward = read_session_reward(steps, wrote)
        if ended:
            self.ended = True
        elif reward == 0 and not self.is_full:
            return None
        commands = (step.action for step in steps if not step.action.startswith("edit "))
        task = self.kept.get("task") or next(commands, "")
        recalled = [line_id for line_id in self.kept.get("recalled", []) if line_id not in ids]
        wrote = dict.fromkeys((*wrote, *list_files(read_steps(steps))))
        self.kept.update(
            items=[], recalled=[], task="", wrote=list(wrote)[-AGENT_SESSION_TOLD_MAX:]
        )
        if not ids:
            return None
        source = {"id": self.kept["session"], "author": self.kept["author"]}
        own = {"task": task, "steps": steps, "final_reward": reward}
        return _join(memory, ids, own, {"source": source, "tags": [TAG], "recalled": recalled})

    def _read_items(self, memory: Memory) -> tuple[list[str], list[Step]]:
        """The ids of the commands and the steps, in order. What somebody confirmed, or took out,
        stands, or lies, for itself.
        """
        ids: list[str] = []
        steps: list[Step] = []
        for item in self.kept.get("items", []):
            record = memory.get(item["id"]) if "id" in item else None
            if isinstance(record, Trajectory) and record.metadata.validation.status == "hypothesis":
                ids.append(record.id)
                steps += record.steps
            elif "action" in item:
                steps.append(Step(action=item["action"], ok=True))
        return ids, steps


def _join(
    memory: Memory, ids: Sequence[str], own: dict[str, Any], envelope: dict[str, Any]
) -> Trajectory:
    """The one in place of the others, or nothing."""
    project = memory._project
    author = envelope["source"]["author"]
    whole = project.prepare(make(project, Trajectory, own, envelope), project.head)

    def work(change: Change) -> Trajectory:
        """The whole, which takes the place of its parts."""
        (kept,) = change.append([whole], made_here=True)
        for part_id in ids:
            change.happen(
                part_id, "superseded", author, replaced_by=kept.id, reason="a part of that session"
            )
        change.follow()
        return kept

    return project.carry_out(work)


def edit_step(file: str, change: str) -> Step:
    """The edit of a file, as a step that worked: the file, and the beginning of what was put there."""
    shown = " ".join(redact(change)[0].split())[: limits.BEGINNING_CHARS]
    return Step(action=f"edit {file}: {shown}" if shown else f"edit {file}", ok=True)


@contextmanager
def open_session(
    location: str, project: str, session: str, subagent: str, author: str
) -> Iterator[AgentSession]:
    """What is known of the session, and kept when the block ends. Another hook of the same session
    waits.
    """
    name = sha256("\0".join((location, project, session, subagent)).encode()).hexdigest()[:32]
    path = _folder() / f"{name}.json"
    files.make_folder(path.parent)
    with _lock(path) as (file, kept):
        kept.update(location=location, project=project, session=session, author=author)
        opened = AgentSession(kept)
        try:
            yield opened
        finally:
            if opened.ended:
                path.unlink(missing_ok=True)
            else:
                file.seek(0)
                file.truncate()
                file.write(json.dumps(kept).encode())


def end_idle_sessions(memory: Memory) -> None:
    """Sessions with this memory that nobody told the end of: the agent was killed, or does not tell."""
    waiting = sorted(_folder().glob("*.json"), key=lambda path: path.stat().st_mtime)
    for path in waiting[:_SESSIONS_AT_ONCE_MAX]:
        with suppress(FileNotFoundError):
            idle_s = time.time() - path.stat().st_mtime
            if idle_s < limits.AGENT_SESSION_IDLE_S:
                return
            with _lock(path) as (_, kept):
                ours = (kept.get("location"), kept.get("project")) == (
                    memory.location,
                    memory.project,
                )
                if ours:
                    AgentSession(kept).close(memory, ended=True)
                if ours or idle_s > AGENT_SESSION_KEPT_S:
                    path.unlink(missing_ok=True)


def _folder() -> Path:
    return user_folder("data") / "sessions"


@contextmanager
def _lock(path: Path) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The file, and what it holds; nothing where that cannot be read. Not synced: after a power cut
    a session begins anew.
    """

    def opener(name: str, flags: int) -> int:
        """The file, which only its user may read, and which is no link."""
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, files.FILE_MODE)

    with open(path, "a+b", buffering=0, opener=opener) as file:  # a Path takes no opener
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        kept = read_json(file.read(AGENT_SETTINGS_BYTES_MAX))
        yield file, kept if isinstance(kept, dict) else {}
