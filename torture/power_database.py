"""A memory's database when the power goes: records of every kind, decided about, cleaned up,
erased, backed up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import apsw

from hardwon import Memory
from hardwon.errors import InvalidInputError
from power_workloads import (
    MEMORY,
    PLACES,
    WORDS,
    Seen,
    Step,
    Ticking,
    Workload,
    files_in,
    health_of,
    records_in,
    writes,
)

Do = tuple[Callable[[], object], bool]
"""What a step does, and whether that is one transaction."""


class OfRecords(Workload):
    """Steps in any order; the log is folded in at any time."""

    target = "database"

    def begin(self) -> None:
        released = sorted(Path(__file__).parents[1].glob("tests/released/*.db"))
        if self.rng.random() < 0.15:
            (self.root / MEMORY).mkdir()
            (self.root / MEMORY / "memory.db").write_bytes(self.rng.choice(released).read_bytes())
            (self.root / MEMORY / "memory.db").chmod(0o600)

    def _open(self) -> None:
        self.memory = Memory(self.root / MEMORY, "default", clock=self.clock, checkout=False)

    def end(self) -> None:
        self.memory.close()

    def seen(self) -> Seen:
        return records_in(self.memory, self.outside) | files_in(self.root, ".bak", ".sha256")

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
            "compress": (lambda: self.memory.fixes.compress(0, dry_run=False), True),
            "compact": (lambda: self.memory.compact(), False),
            "fold the log in": (self._checkpoint, True),
            "close and open": (self._reopen, True),
            "back up": (self._backup, False),
            "restore": (self._restore, False),
            "rebuild": (lambda: self.memory.rebuild(), True),
        }

    def _remember(self, words: int = 8) -> None:
        self.memory.remember(self.text(words), **self.rng.choice(PLACES))

    def _episode(self) -> None:
        self.memory.record_episode(
            self.rng.choice(WORDS),
            score=self.rng.random(),
            successes=[self.text()],
            mistakes=[self.text()],
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
        chosen = self._some_id()
        if chosen:
            text = records_in(self.memory, self.outside)[f"record {chosen}"]
            if self.memory.forget(chosen).erased:
                self.erased += [
                    word for word in _marks(text) if word not in self._elsewhere(chosen)
                ]

    def _elsewhere(self, gone: str) -> set[str]:
        """Marks that other records, backups and files may have."""
        others = records_in(self.memory, self.outside)
        others.pop(f"record {gone}", None)
        return {mark for text in others.values() for mark in _marks(text)}

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
        backups = (
            sorted((self.root / "backups").glob("*.bak"))
            if (self.root / "backups").exists()
            else []
        )
        if backups:
            self.erased.clear()  # what was forgotten since the backup is back
            Memory.restore(self.rng.choice(backups), self.root / MEMORY)

    @classmethod
    def look(cls, root: Path, outside: Path) -> tuple[Seen, list[str]]:
        with Memory(root / MEMORY, "default", clock=Ticking(), checkout=False) as memory:
            seen = records_in(memory, outside) | files_in(root, ".bak", ".sha256")
            return seen, [*health_of(memory), *writes(memory)]


def _marks(text: str) -> list[str]:
    return [
        word
        for word in text.replace('"', " ").split()
        if word.startswith("mark") and len(word) == 20
    ]
