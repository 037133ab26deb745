"""What a machine was doing when its power went: small workloads, made from a seed, and how each
looks from outside.

A workload is a row of steps. What a user sees is taken down before and after each of them. After a
power cut the same must be seen as after the last step that was acknowledged, or, of the step under
way, what was before it or what comes after it.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

import apsw

from hardwon import Memory
from hardwon.errors import InvalidInputError
from hardwon.records.fields import is_derived
from hardwon.records.kinds import Experience
from hardwon.training import functions as episodes

Seen = dict[str, str]
"""What is there, by a name for each piece of it."""

MEMORY: Final = "brain"
_COPIES: Final = (".jsonl", ".bak", ".sha256")
WORDS: Final = "timeout parser login retry cache schema deploy index token stream queue lock worker price session route".split()
PLACES: Final[tuple[dict[str, Any], ...]] = (
    {"outcome": "failure", "tool": "code_interpreter", "error_type": "runtime"},
    {"outcome": "success", "tool": "code_interpreter", "task_type": "debug"},
    {"outcome": "success", "tool": "web_search", "domain": "technical"},
)


class Ticking:
    """A clock of which a second passes whenever somebody looks."""

    def __init__(self) -> None:
        self._now = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self._now += timedelta(seconds=1)
        return self._now


class Step(NamedTuple):
    """`at_once`: after a power cut it happened or did not. Others consist of several writes, each
    of which does. `opens`: it only shows what was there.
    """

    name: str
    do: Callable[[], object]
    at_once: bool = True
    opens: bool = False


class Workload:
    """What happens in `root`. `outside` is a folder of another disk, for what is not looked at."""

    target = ""

    def __init__(self, root: Path, outside: Path, rng: random.Random) -> None:
        self.root, self.outside, self.rng = root, outside, rng
        self.clock = Ticking()
        self.erased: list[str] = []

    def begin(self) -> None:
        """What was there long before."""

    def steps(self) -> Iterator[Step]:
        """One after the other; each is asked for when those before it are done."""
        raise NotImplementedError

    def seen(self) -> Seen:
        """What a user sees now."""
        raise NotImplementedError

    def end(self) -> None:
        """Closes what is open."""

    @classmethod
    def look(cls, root: Path, outside: Path) -> tuple[Seen, list[str]]:
        """What a user sees who comes back after the power cut, and what is wrong with it whatever
        was acknowledged.
        """
        raise NotImplementedError

    def is_own(self, path: str) -> bool:
        """Whether a file is the memory's own, in which nothing may be left of what was erased.
        Copies are the user's.
        """
        return path in (f"{MEMORY}/memory.db", f"{MEMORY}/memory.db-wal") or path.endswith(".json")

    def excused(self, name: str, value: str, after: Seen) -> bool:  # noqa: ARG002
        """Whether something that was never kept is nevertheless as promised. `after`: what the step
        under way would give.
        """
        return False

    def text(self, words: int = 8) -> str:
        """Some words, of which one comes nowhere else."""
        unique = f"mark{self.rng.getrandbits(64):016x}"
        return " ".join([*self.rng.choices(WORDS, k=words), unique])


# --- looking ---


def records_in(memory: Memory, outside: Path) -> Seen:
    """Every record with its status, as an export tells them. When it was adopted is another time
    where that had to be done again.
    """
    target = outside / "seen.jsonl"
    memory.export(target)
    records = [json.loads(line) for line in target.read_text().splitlines()]
    for record in records:
        record["metadata"].pop("history", None)
    return {f"record {record['id']}": json.dumps(record) for record in records}


def files_in(root: Path, *suffixes: str) -> Seen:
    """The files with these endings, byte by byte. What is on its way (`.part`) does not count."""
    found = (
        path
        for path in sorted(root.rglob("*"))
        if path.name.endswith(suffixes) and not path.name.startswith(".")
    )
    return {
        f"file {path.relative_to(root)}": path.read_bytes().decode("latin-1")
        for path in found
        if path.is_file()
    }


def health_of(memory: Memory) -> list[str]:
    return [
        f"doctor: {finding.check}: {finding.detail}"
        for finding in memory.doctor().findings
        if not finding.ok
    ]


def writes(memory: Memory) -> list[str]:
    """A new record is kept and found."""
    text = "written after the power came back"
    kept = memory.remember(text, **PLACES[0])
    found = memory.get(kept.id)
    return (
        []
        if found and getattr(found, "content", "") == text
        else ["a new record is not found again"]
    )


# --- a memory's database ---

Do = tuple[Callable[[], object], bool]
"""What a step does, and whether that is one transaction."""


class OfRecords(Workload):
    """Steps in any order; the log is folded in at any time."""

    target = "database"

    def _open(self) -> None:
        self.memory = Memory(self.root / MEMORY, "default", clock=self.clock, checkout=False)

    def end(self) -> None:
        self.memory.close()

    def seen(self) -> Seen:
        return records_in(self.memory, self.outside) | files_in(self.root, *_COPIES)

    def steps(self) -> Iterator[Step]:
        yield Step("open", self._open, opens=True)
        choices = self._choices()
        for _ in range(self.rng.randint(5, 12)):
            name = self.rng.choice(sorted(choices))
            do, at_once = choices[name]
            yield Step(name, do, at_once)

    def _choices(self) -> dict[str, Do]:
        return {
            "remember": (self._remember, True),
            "remember long": (lambda: self._remember(words=self.rng.randint(200, 2000)), True),
            "record a fact": (lambda: self.memory.record_fact(self.text(), "observation"), True),
            "record an episode": (self._episode, False),
            "record a fix": (self._fix, True),
            "record many": (self._many, True),
            "decide": (self._decide, False),
            "forget": (self._forget, False),
            "clean up": (lambda: self.memory.cleanup(0, dry_run=False), True),
            "compact": (lambda: self.memory.compact(), False),
            "fold the log in": (self._checkpoint, True),
            "close and open": (self._reopen, True),
            "back up": (self._backup, False),
            "export": (lambda: self.memory.export(self.root / "records.jsonl"), True),
            "restore": (self._restore, False),
            "rebuild": (lambda: self.memory.rebuild(), True),
        }

    def _remember(self, words: int = 8) -> None:
        self.memory.remember(self.text(words), **self.rng.choice(PLACES))

    def _episode(self) -> None:
        successes, mistakes = [self.text()], [self.text()]
        self.memory.record_episode(
            self.rng.choice(WORDS), self.rng.random(), successes=successes, mistakes=mistakes
        )

    def _fix(self) -> None:
        issue = {"model": "m", "issue_type": "TIMEOUT", "description": self.text()}
        worked = self.rng.random() < 0.5
        self.memory.record_fix(
            issue, worked, worked, self.text(), [f"restart {self.rng.choice(WORDS)}"]
        )

    def _many(self) -> None:
        count = self.rng.randint(2, 6)
        self.memory.care.record_many(
            "trajectory",
            [{"task": self.text(), "steps": [], "final_reward": 1.0} for _ in range(count)],
        )

    def _some_id(self) -> str | None:
        ids = sorted(records_in(self.memory, self.outside))
        return self.rng.choice(ids).removeprefix("record ") if ids else None

    def _decide(self) -> None:
        chosen = self._some_id()
        how = self.rng.randrange(4)
        with suppress(InvalidInputError):  # what is archived already stays so
            if chosen and how == 0:
                self.memory.archive(chosen, "of no use")
            elif chosen and how == 1:
                self.memory.credit(chosen, outcome=True, by=self.rng.choice(WORDS))
            elif chosen and how == 2:
                self.memory.verify(chosen, "human_approval")
            elif chosen:
                self.memory.rollback(self.rng.choice(WORDS))

    def _forget(self) -> None:
        if chosen := self._some_id():
            marks = _marks(records_in(self.memory, self.outside)[f"record {chosen}"])
            if self.memory.forget(chosen).erased:
                others = "".join(records_in(self.memory, self.outside).values())
                self.erased += [mark for mark in marks if mark not in others]

    def _checkpoint(self) -> None:
        """As another process does it."""
        mode = self.rng.choice(("PASSIVE", "FULL", "RESTART", "TRUNCATE"))
        with closing(apsw.Connection(str(self.root / MEMORY / "memory.db"))) as connection:
            connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()

    def _reopen(self) -> None:
        self.memory.close()
        self._open()

    def _backup(self) -> None:
        self.memory.backup(self.root / "backups" / f"{self.rng.getrandbits(24):06x}.bak")

    def _restore(self) -> None:
        if backups := sorted(self.root.glob("backups/*.bak")):
            self.erased.clear()  # what was forgotten since the backup is back
            Memory.restore(self.rng.choice(backups), self.root / MEMORY)

    @classmethod
    def look(cls, root: Path, outside: Path) -> tuple[Seen, list[str]]:
        with Memory(root / MEMORY, "default", clock=Ticking(), checkout=False) as memory:
            seen = records_in(memory, outside) | files_in(root, *_COPIES)
            return seen, [*health_of(memory), *writes(memory)]


def _marks(text: str) -> list[str]:
    return re.findall(r"\bmark[0-9a-f]{16}\b", text)


# --- a tree of files beside it ---


class OfTree(OfRecords):
    """Every experience has its file, and it says what the record says."""

    target = "tree"

    def _open(self) -> None:
        super()._open()
        self.memory.tree.make()

    def seen(self) -> Seen:
        return records_in(self.memory, self.outside) | files_in(self.root / MEMORY, ".json")

    def _choices(self) -> dict[str, Do]:
        kept = (
            "remember,remember long,record an episode,decide,forget,compact,fold the log in,"
            "close and open"
        )
        choices = super()._choices()
        return {name: choices[name] for name in kept.split(",")} | {
            "remember many": (self._remember_many, False),
            "edit a file": (self._edit, False),
            "sync": (lambda: self.memory.tree.sync(), False),
        }

    def _some_id(self) -> str | None:
        """None that is archived: whoever vouches for such a one has it back, with a file when the
        memory is next opened.
        """
        live = [
            name.removeprefix("record ")
            for name, line in records_in(self.memory, self.outside).items()
            if json.loads(line)["metadata"]["validation"]["status"] != "archived"
        ]
        return self.rng.choice(sorted(live)) if live else None

    def _remember_many(self) -> None:
        words = self.rng.choices((8, 400), k=self.rng.randint(2, 6))
        self.memory.care.keep_many(
            [Experience(content=self.text(count), **self.rng.choice(PLACES)) for count in words]
        )

    def _edit(self) -> None:
        """As an editor does that saves durably; then the memory takes it in."""
        paths = sorted((self.root / MEMORY).rglob("*=*/*.json"))
        if not paths:
            return
        chosen = self.rng.choice(paths)
        saved = chosen.with_suffix(".saved")
        with saved.open("w") as file:
            json.dump({**json.loads(chosen.read_text()), "content": self.text()}, file)
            file.flush()
            os.fsync(file.fileno())
        saved.replace(chosen)
        handle = os.open(chosen.parent, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)
        self.memory.tree.sync()

    @classmethod
    def look(cls, root: Path, outside: Path) -> tuple[Seen, list[str]]:
        with Memory(root / MEMORY, "default", clock=Ticking(), checkout=False) as memory:
            if memory.tree.mirror is None:
                memory.tree.make()  # the power went before there was one
            seen = records_in(memory, outside) | files_in(root / MEMORY, ".json")
            return seen, [*health_of(memory), *writes(memory)]

    def excused(self, name: str, value: str, after: Seen) -> bool:
        """A file that was written before its record was kept is taken in as if somebody had put it
        there, where it is whole; else it is left alone, and told.
        """
        kind, _, record_id = name.partition(" ")
        if kind == "file":
            return name in after and not _is_json(value)
        if not is_derived(record_id):
            return False
        records = [json.loads(line) for key, line in after.items() if key.startswith("record ")]
        return json.loads(value)["content"] in {record.get("content") for record in records}


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


# --- files beside a memory, or instead of one ---

_TRAINING_FILE: Final = "runs/agent_memory.json"


class OfTrainingMemory(Workload):
    """A training memory's file, which every save replaces whole."""

    target = "files"

    def steps(self) -> Iterator[Step]:
        self.memory = episodes.load_agent_memory(self.root / _TRAINING_FILE)
        for _ in range(self.rng.randint(2, 8)):
            for _ in range(self.rng.randint(1, 20)):
                task, score = self.rng.choice(WORDS), self.rng.random()
                episode = {"task_id": task, "score": score, "mistakes": [self.text()]}
                episodes.record_episode(self.memory, episode, clock=self.clock)
            yield Step("save a training memory", self._save)

    def _save(self) -> None:
        episodes.save_agent_memory(self.memory, self.root / _TRAINING_FILE)

    def seen(self) -> Seen:
        return files_in(self.root, ".json")

    @classmethod
    def look(cls, root: Path, outside: Path) -> tuple[Seen, list[str]]:  # noqa: ARG003
        seen = files_in(root, ".json")
        memory = episodes.load_agent_memory(root / _TRAINING_FILE)
        aside = [f"{path.name} was kept aside" for path in root.rglob("*unreadable*")]
        episodes.record_episode(memory, {"task_id": "after", "score": 1.0}, clock=Ticking())
        episodes.save_agent_memory(memory, root / _TRAINING_FILE)
        kept = json.loads((root / _TRAINING_FILE).read_text())["episode_log"]
        return seen, aside + (
            [] if kept and kept[-1]["task_id"] == "after" else ["a new episode was not saved"]
        )


class OfTokens(Workload):
    """Tokens that let somebody in from when they were made until they were revoked, and never
    again.
    """

    target = "files"

    def begin(self) -> None:
        self.memory = Memory(self.root / MEMORY, "default", clock=self.clock, checkout=False)
        self.secrets: list[str] = []
        # what people were told is on no disk of the machine
        self.known = self.outside.parent / "secrets.json"
        self.known.write_text("[]")

    def steps(self) -> Iterator[Step]:
        for _ in range(self.rng.randint(4, 10)):
            if self.secrets and self.rng.random() < 0.4:
                yield Step("revoke a token", self._revoke)
            else:
                yield Step("make a token", self._make)

    def _make(self) -> None:
        self.secrets.append(self.memory.tokens.create(self.rng.choice(WORDS), "write").secret)
        self.known.write_text(json.dumps(self.secrets))

    def _revoke(self) -> None:
        active = [secret for secret in self.secrets if self.memory.tokens.caller(secret)]
        if active:
            self.memory.tokens.revoke(self.rng.choice(active).split("_")[1])

    def seen(self) -> Seen:
        return _let_in(self.memory, self.secrets)

    def end(self) -> None:
        self.memory.close()

    @classmethod
    def look(cls, root: Path, outside: Path) -> tuple[Seen, list[str]]:
        secrets = json.loads((outside.parent / "secrets.json").read_text())
        with Memory(root / MEMORY, "default", clock=Ticking(), checkout=False) as memory:
            seen = _let_in(memory, secrets)
            new = memory.tokens.create("after").secret
            return seen, [] if memory.tokens.caller(new) else ["a new token lets nobody in"]


def _let_in(memory: Memory, secrets: list[str]) -> Seen:
    callers = {secret: memory.tokens.caller(secret) for secret in secrets}
    return {f"token {secret[:16]}": caller.name for secret, caller in callers.items() if caller}
