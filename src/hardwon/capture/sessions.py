"""What an agent's session did and was told so far, from one hook to the next; and what becomes of
it: one trajectory, with the outcome that its commands, tests and commits have. It failed where
something was left failing, and solved its task where a check that it did not write itself passed
after all that it changed. Else nobody knows.

Each command is recorded when it ends, as a trajectory of one step, so that nothing is lost and
everybody is warned at once. Where a turn ends and nothing is left failing, or the session ends,
these become one, and are superseded by it: counted once, and what failed stands before what settled
it. What was told before is credited, or not, by how that ended (`recalled`).

Between hooks a session is a small file of the user's own, under a lock. It holds ids, the lines of
commands and the task, without secrets, and goes when the session ends.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from hardwon import limits
from hardwon.memory import Memory
from hardwon.memory.project import Change
from hardwon.memory.record import make
from hardwon.outside import files
from hardwon.outside.files import user_folder
from hardwon.records.fields import read_json
from hardwon.records.kinds import Step, Trajectory
from hardwon.text.shell import changes_nothing, files_written, hands_in, parts_of
from hardwon.trust.redact import redact

TAG: Final = "session"

# A command, by the id of its record, or an edit; with what decides how the work ended.
Item = dict[str, Any]


@dataclass
class AgentSession:
    """One session, of one agent or subagent, with one memory."""

    kept: dict[str, Any]
    ended: bool = False

    # --- what was done ---

    def did(
        self, record_id: str, line: str, *, worked: bool, tests: bool, checks: bool = False
    ) -> None:
        """A command ended, and is kept as this record."""
        self._add(command_item(record_id, line, worked=worked, tests=tests, checks=checks))

    def edited(self, file: str, change: str) -> None:
        self._add(edit_item(file, change))

    def wrote(self, files: Sequence[str]) -> None:
        """A command that is no record wrote these files."""
        self._add(write_item(files))

    def _add(self, item: Item) -> None:
        items = add_item(self.kept.setdefault("items", []), item)
        first = max(0, len(items) - limits.AGENT_SESSION_ITEMS_MAX)
        self.kept["wrote"] = wrote_before(self.kept.get("wrote", []), items[:first])
        del items[:first]

    # --- what was told ---

    def unsaid(self, lines: Iterable[tuple[str, Sequence[str]]]) -> list[str]:
        """Those that this session was not told yet. They count as told from now on, and the records
        behind them as recalled.
        """
        told, recalled = self.kept.setdefault("told", []), self.kept.setdefault("recalled", [])
        new = []
        for text, ids in lines:
            key = sha256(text.encode()).hexdigest()[:16]
            if key not in told:
                told.append(key)
                recalled.extend(each for each in ids if each not in recalled)
                new.append(text)
        del told[: -limits.AGENT_SESSION_TOLD_MAX], recalled[: -limits.AGENT_SESSION_TOLD_MAX]
        return new

    def forget_told(self) -> None:
        """The model no longer has it."""
        self.kept["told"] = []

    # --- what becomes of it ---

    def close(self, memory: Memory, *, ended: bool) -> Trajectory | None:
        """What was done so far, as one trajectory. Where something is left failing it stays open,
        unless the session `ended`: the next turn may find out.
        """
        items = self.kept.get("items", [])
        reward = final_reward(items, self.kept.get("wrote", []))
        if ended:
            self.ended = True
        elif reward == 0:
            return None
        ids, steps = [], []
        for item in arranged(items):
            record = memory.get(item["id"]) if "id" in item else None
            # what somebody confirmed, or took out, stands, or lies, for itself
            if isinstance(record, Trajectory) and record.metadata.validation.status == "hypothesis":
                ids.append(record.id)
                steps += record.steps
            elif "id" not in item:
                steps.append(Step(action=item["line"]))
        commands = (item["line"] for item in items if "id" in item)
        task = self.kept.get("task") or next(commands, "")
        recalled = [each for each in self.kept.get("recalled", []) if each not in ids]
        wrote = wrote_before(self.kept.get("wrote", []), items)
        self.kept.update(items=[], recalled=[], task="", wrote=wrote)
        if not ids:
            return None
        source = {"id": self.kept["session"], "author": self.kept["author"]}
        own = {"task": task, "steps": steps, "final_reward": reward}
        return _join(memory, ids, own, {"source": source, "tags": [TAG], "recalled": recalled})


def _join(
    memory: Memory, ids: Sequence[str], own: dict[str, Any], envelope: dict[str, Any]
) -> Trajectory:
    """The one in place of the others, or nothing."""
    project = memory._project
    author = envelope["source"]["author"]
    whole = project.prepare(make(project, Trajectory, own, envelope), project.head)

    def work(change: Change) -> Trajectory:
        (kept,) = change.append([whole], made_here=True)
        for each in ids:
            change.happen(
                each, "superseded", author, replaced_by=kept.id, reason="a part of that session"
            )
        change.follow()
        return kept

    return project.carry_out(work)


def command_item(
    record_id: str, line: str, *, worked: bool, tests: bool, checks: bool = False
) -> Item:
    """`checks`: it ran tests, built or linted, and how that ended is known."""
    parts = parts_of(line)
    commits = any(words[:2] == ["git", "commit"] for words in (parts.commands if parts else []))
    told = {"id": record_id, "line": line, "worked": worked, "tests": tests, "commits": commits}
    return told | {"checks": checks}


def edit_item(file: str, change: str) -> Item:
    shown = " ".join(redact(change)[0].split())[: limits.BEGINNING_CHARS]
    line = f"edit {file}: {shown}" if shown else f"edit {file}"
    return {"line": line, "worked": True, "wrote": [file]}


def write_item(files: Sequence[str]) -> Item:
    """Of a command that is told by nothing else than the files that it wrote."""
    shown = [redact(file)[0][-limits.BEGINNING_CHARS :] for file in files[: limits.FILES_NAMED_MAX]]
    return {"line": "", "worked": True, "wrote": shown}


def _sort_of(item: Item) -> str:
    """What a command is about, whatever variables and options it has: those that only differ there
    are tries at the same.
    """
    parts = parts_of(item["line"])
    found = [
        " ".join([word for word in words if not word.startswith("-")][:2])
        for words in (parts.commands if parts else [item["line"].split()])
        if words[0] != "cd"
    ]
    return "\n".join(found)


def left_failing(items: Sequence[Item]) -> bool:
    """Tests decide where some ran. Else something is left failing that did not work since: unless
    it was tried once and let be, or a commit came after it.
    """
    commands = [item for item in items if "id" in item]
    tests = [item["worked"] for item in commands if item["tests"]]
    if tests:
        return not tests[-1]
    after = max((at for at, item in enumerate(commands, 1) if item["commits"]), default=0)
    tries: dict[str, list[int]] = {}
    for at, item in enumerate(commands[after:]):
        sort = _sort_of(item)
        tries[sort] = [] if item["worked"] else [*tries.get(sort, []), at]
    recent = len(commands) - after - limits.AGENT_LET_BE_AFTER
    return any(len(failed) > 1 or (failed and failed[0] >= recent) for failed in tries.values())


def add_item(items: list[Item], item: Item) -> list[Item]:
    """The items, with one more; files that are written one after the other are one item."""
    if items and not items[-1]["line"] and not item["line"]:
        items[-1]["wrote"] = [*items[-1]["wrote"], *item["wrote"]][
            -limits.AGENT_SESSION_ITEMS_MAX :
        ]
    else:
        items.append(item)
    return items


def final_reward(items: Sequence[Item], wrote_earlier: Sequence[str] = ()) -> float | None:
    """How a session, or a part of one, ended: 0.0 where something was left failing, 1.0 where a check
    that the session did not write passed after all that it changed, None where nobody knows. What
    a check names must not have been written in the session; one that names no file says something
    where more than tests was changed.
    """
    if left_failing(items):
        return 0.0
    for item in reversed(items):
        if item.get("checks"):
            if not item["worked"]:
                return None
            if not _wrote_itself(item, items, wrote_earlier):
                return 1.0
        elif _changes(item):
            return None
    return None


def _changes(item: Item) -> bool:
    """Whether what was done may have changed something."""
    if "id" not in item:
        return True
    line = item["line"]
    return not (item["tests"] or item.get("checks") or hands_in(line) or changes_nothing(line))


def _wrote_itself(check: Item, items: Sequence[Item], wrote_earlier: Sequence[str]) -> bool:
    """Whether what a check tells is what the session made it tell."""
    wrote = [*wrote_before(wrote_earlier, items), *files_written(check["line"])]
    others = [item["line"] for item in items if "id" in item and _changes(item)]
    if named := _files_named(check["line"]):
        changed = named.intersection(map(_name_of_file, wrote))
        return bool(changed) or any(named & _files_named(line) for line in others)
    return bool(wrote) and not others and all(map(_TEST_FILE.search, wrote))


def wrote_before(wrote: Sequence[str], items: Sequence[Item]) -> list[str]:
    """The files that a session wrote, with those of these items."""
    more = (file for item in items for file in item.get("wrote", ()))
    return list(dict.fromkeys((*wrote, *more)))[-limits.AGENT_SESSION_TOLD_MAX :]


def _files_named(line: str) -> frozenset[str]:
    """The names of the files that a command line names, without their folders."""
    parts = parts_of(line)
    commands = parts.commands if parts else [line.split()]
    paths = (word.partition("::")[0] for words in commands for word in words[1:])
    return frozenset(_name_of_file(path) for path in paths if _FILE.search(path))


def _name_of_file(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


_FILE: Final = re.compile(r"\w\.[A-Za-z]\w*$")
_TEST_FILE: Final = re.compile(r"(?i)(?:^|[/\\_.-])(?:tests?|specs?|conftest)(?:[/\\_.-]|$)")


def arranged(items: Sequence[Item]) -> list[Item]:
    """In an order in which a failure stands right before what settled it: another line of the same
    sort, or, where the same line worked later, what was done in between. Other edits settled
    nothing, and come before everything: of each file the last, as many as are told of a run.
    """
    done: list[Item] = []
    for item in items:
        if not item["line"]:
            continue
        sort = _sort_of(item) if "id" in item else ""
        first = next(
            (
                at
                for at, other in enumerate(done)
                if sort
                and not other["worked"]
                and not other.get("settled")
                and _sort_of(other) == sort
            ),
            None,
        )
        if item["worked"] and first is not None:
            since = [("id" in other and _sort_of(other) == sort, other) for other in done[first:]]
            same = [other for is_same, other in since if is_same]
            between = [other for is_same, other in since if not is_same]
            for other in same:
                other["settled"] = True
            if item["line"] == same[-1]["line"]:
                for other in between:
                    other["settles"] = True
                done[first:] = same + between
            else:
                done[first:] = between + same
        done.append(dict(item))
    kept = [item for item in done if "id" in item or item.get("settles")]
    edits = {item["line"].partition(":")[0]: item for item in done if "id" not in item}
    for item in kept:
        edits.pop(item["line"].partition(":")[0], None)
    return [*list(edits.values())[-limits.WAY_STEPS_MAX :], *kept]


# --- between two hooks ---


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
    with _locked(path) as (file, kept):
        kept.update(location=location, project=project, session=session, author=author)
        found = AgentSession(kept)
        try:
            yield found
        finally:
            if found.ended:
                path.unlink(missing_ok=True)
            else:
                file.seek(0)
                file.truncate()
                file.write(json.dumps(kept).encode())


def close_abandoned(memory: Memory) -> None:
    """Sessions with this memory that nobody told the end of: the agent was killed, or does not tell."""
    waiting = sorted(_folder().glob("*.json"), key=lambda path: path.stat().st_mtime)
    for path in waiting[: limits.LOOKED_INTO_MAX]:
        with suppress(FileNotFoundError):
            idle_s = time.time() - path.stat().st_mtime
            if idle_s < limits.AGENT_SESSION_IDLE_S:
                return
            with _locked(path) as (_, kept):
                ours = (kept.get("location"), kept.get("project")) == (
                    memory.location,
                    memory.project,
                )
                if ours:
                    AgentSession(kept).close(memory, ended=True)
                if ours or idle_s > limits.AGENT_SESSION_KEPT_S:
                    path.unlink(missing_ok=True)


def _folder() -> Path:
    return user_folder("data") / "sessions"


@contextmanager
def _locked(path: Path) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The file, and what it holds; nothing where that cannot be read. Not synced: after a power cut
    a session begins anew.
    """

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, files.FILE_MODE)

    with open(path, "a+b", buffering=0, opener=opener) as file:  # a Path takes no opener
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        kept = read_json(file.read(limits.AGENT_SETTINGS_BYTES_MAX))
        yield file, kept if isinstance(kept, dict) else {}
