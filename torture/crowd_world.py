"""One life of the crowd: its places, its processes, its clock and its disk. Everything that happens
is drawn from one seed.
"""

from __future__ import annotations

import hashlib
import os
import random
import traceback
from collections import Counter
from collections.abc import Callable, Container, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final
from unittest import mock

import apsw

import model
from faults import SORTS, Disk, Fault, Process
from hardwon import HardwonError, Memory
from hardwon.errors import StorageError
from model import EMPTY, Expected, Finding, Happened, Kept, Misquoted, Picture

START: Final = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
EARLIEST: Final = datetime(1995, 1, 1, tzinfo=UTC)
LATEST: Final = datetime(2150, 1, 1, tzinfo=UTC)
FULL_CHECK_EVERY: Final = 500
FAULT_SHARE: Final = 0.08
OPENING_FAULT_SHARE: Final = 0.2  # a file is made, brought to the current format, or recovered then
# of the disk: a write makes some dozens, a restore some hundreds
CALLS_UNTIL_FAULT: Final = (40, 40, 800)
BUSY_MS: Final = 20
PROJECTS: Final = ("default", "shop")
_RECORDS: Final = (
    "SELECT id, kind, at_us, author, outcome, tool, body, status FROM record WHERE project_id = ?"
)
_EVENTS: Final = "SELECT id, record_id, kind, at_us, body FROM event WHERE project_id = ?"


class Time:
    """The clock on the wall, which jumps, and the one that only goes forward. Nobody really
    waits.
    """

    def __init__(self) -> None:
        self.wall = START
        self._monotonic = 0.0

    def __call__(self) -> datetime:
        self.go(0.001)
        return self.wall

    def go(self, seconds: float) -> None:
        self._monotonic += max(seconds, 0.0)
        self.wall = min(max(self.wall + timedelta(seconds=seconds), EARLIEST), LATEST)

    def monotonic(self) -> float:
        return self._monotonic

    def sleep(self, seconds: float) -> None:
        """Whoever waits for a lock waits for somebody who will not let go before: so the time is
        soon up.
        """
        self._monotonic += 1000 * seconds


@dataclass
class Saved:
    """A backup or an export, and what the memory was when it was made."""

    path: Path
    picture: Picture
    requests: dict[bytes, str]


@dataclass
class Place:
    """Where a memory is, and what it is known to hold."""

    name: str
    file: Path
    project: str
    picture: Picture = EMPTY
    limbo: list[Expected] = field(default_factory=list)
    """Writes that failed since the last one that did not. SQLite may find a failed commit in the
    log after all, if everybody dies before somebody writes over it.
    """
    backups: list[Saved] = field(default_factory=list)
    requests: dict[bytes, str] = field(default_factory=dict)
    observer: Process = field(default_factory=lambda: Process("observer"))
    _eye: apsw.Connection | None = None
    _seen: tuple[int, Picture] = (-1, EMPTY)
    _descriptors: dict[int, int] = field(default_factory=dict)

    @property
    def exists(self) -> bool:
        return self.file.exists()

    def look(self) -> Picture:
        """All that is there, read past the memory."""
        if not self.exists:
            return EMPTY
        if self._eye is None:
            self._eye = apsw.Connection(str(self.file), flags=apsw.SQLITE_OPEN_READWRITE)
        version: int = self._eye.execute("PRAGMA data_version").get
        if version == self._seen[0]:  # nobody has written since
            return self._seen[1]
        with self._eye:
            records = {
                key: Kept._make(row) for key, *row in self._eye.execute(_RECORDS, (self.project,))
            }
            events = {
                key: Happened._make(row)
                for key, *row in self._eye.execute(_EVENTS, (self.project,))
            }
        picture = Picture(records, events)
        self._seen = version, picture
        return picture

    def close_eye(self) -> None:
        eye, self._eye = self._eye, None
        self._seen = -1, EMPTY
        if eye is not None:
            eye.close()

    def bytes_kept(self) -> bytes:
        """What the files hold. The database stays open: to close it would drop the locks of the
        whole process.
        """
        number = self.file.stat().st_ino
        if number not in self._descriptors:
            self._descriptors[number] = os.open(self.file, os.O_RDONLY)
        descriptor = self._descriptors[number]
        log = self.file.with_name(f"{self.file.name}-wal")
        kept = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
        return kept + (log.read_bytes() if log.exists() else b"")

    def let_go(self) -> None:
        """When nobody else has it open any more."""
        self.close_eye()
        for descriptor in self._descriptors.values():
            os.close(descriptor)
        self._descriptors.clear()


@dataclass
class Actor:
    """Somebody with a process of their own and, unless it ended, a memory open."""

    name: str
    place: Place
    options: dict[str, Any]
    process: Process
    memory: Memory | None = None

    @property
    def at_work(self) -> Memory:
        assert self.memory is not None, f"{self.name} has no memory open"
        return self.memory


@dataclass
class Tally:
    """What was done, met and checked."""

    steps: Counter[str] = field(default_factory=Counter)
    fired: Counter[str] = field(default_factory=Counter)
    surfaced: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        for name, counter in vars(other).items():
            getattr(self, name).update(counter)


Action = Callable[["Life", Actor], None]


class Life:
    """A crowd from its first step to its last, in a folder of its own."""

    def __init__(self, seed: int, folder: Path, *, faults: bool = True) -> None:
        self.seed = seed
        self.rng = random.Random(seed)
        self.folder = folder
        self.time = Time()
        self.tally = Tally()
        self.trace = hashlib.blake2b(digest_size=16)
        self.number = 0
        self.action = "begin"
        self.error: Exception | None = None
        self.exports: list[Saved] = []
        self.forgotten_words: dict[str, str] = {}
        """The markers of what was forgotten, by record, as far as no place can have them back."""
        self.words = 0
        self._faults = faults
        self._stack = ExitStack()
        self._settling: list[tuple[Place, list[Expected]]] = []
        self.disk = self._stack.enter_context(Disk())
        for patch in self._world():
            self._stack.enter_context(patch)
        project = self.rng.choice(PROJECTS)
        self.places = [
            Place(name, folder / name / "memory.db", project) for name in ("here", "there")
        ]
        self.actors = [self._actor(name, self.places[0]) for name in ("ann", "bob", "cid")]
        self.actors.append(self._actor("dee", self.places[1]))

    # --- the world ---

    def _world(self) -> list[AbstractContextManager[object]]:
        """Ids and waiting are the simulator's; everything else is the program's own."""
        random.seed(self.rng.random())  # how long somebody waits for a lock
        ids = random.Random(self.rng.random())
        return [
            mock.patch("hardwon.records.fields.os", SimpleNamespace(urandom=ids.randbytes)),
            mock.patch("hardwon.store.sqlite.connection.time", self.time),
        ]

    def _actor(self, name: str, place: Place) -> Actor:
        options = {"busy_timeout_ms": BUSY_MS}
        return Actor(name, place, options, self._process(name))

    def _process(self, name: str) -> Process:
        return Process(name, lambda: self.time.go(0.5))

    def close(self) -> None:
        for actor in self.actors:
            self.bury(actor)
        for place in self.places:
            self.let_go(place)
        self._stack.close()

    # --- a step ---

    def step(
        self, actions: dict[str, tuple[int, Action]], readers: Container[str], open_memory: Action
    ) -> None:
        self.number += 1
        self._let_time_pass()
        actor = self.rng.choice(self.actors)
        weights = [weight for weight, _ in actions.values()]
        drawn = self.rng.choices(list(actions), weights)[0]
        self.action = "open" if actor.memory is None else drawn
        fault = actor.process.fault = self._fault(reading=self.action in readers)
        self.error = None
        work = open_memory if self.action == "open" else actions[self.action][1]
        with self.disk.used_by(actor.process):
            work(self, actor)
        actor.process.fault = None
        self.tally.steps[self.action] += 1
        self._settle()
        if fault:
            self._count_fault(fault)
        if actor.process.dead or _was_read_short(fault):
            # a page that was read short may be remembered: such a process is not trusted to write
            self.bury(actor)
        error = type(self.error).__name__ if self.error else ""
        told = f"{self.number} {actor.name} {self.action} {fault} {error} {self._sizes()} {self.time.wall}"
        self.trace.update(told.encode())

    def _sizes(self) -> list[tuple[int, int]]:
        return [(len(place.picture.records), len(place.picture.events)) for place in self.places]

    def _let_time_pass(self) -> None:
        """Mostly a little; now and then the clock is set, by minutes or by years, in either
        direction.
        """
        if self.rng.random() < 0.98:
            self.time.go(self.rng.uniform(0.0, 100.0))
            return
        jump = self.rng.choice([-1, 1]) * 10 ** self.rng.uniform(0, 8.5)
        self.time.go(jump)
        self.tally.counts["jumps of the clock"] += 1
        for place in self.places:  # a request is remembered for some days only
            place.requests.clear()
            for saved in place.backups:
                saved.requests.clear()

    def _fault(self, *, reading: bool) -> Fault | None:
        """A disk that reads less than it was asked for, and does not say so, SQLite takes for a
        page of zeros. Whoever writes after that writes nonsense, which no program can help: only
        readers meet it, and must not believe what they read.
        """
        share = OPENING_FAULT_SHARE if self.action == "open" else FAULT_SHARE
        if not self._faults or self.rng.random() >= share:
            return None
        name = self.rng.choice([each for each in SORTS if reading or each != "short read"])
        most = self.rng.choice(CALLS_UNTIL_FAULT)
        return Fault(name, int(most ** self.rng.random()))

    def _count_fault(self, fault: Fault) -> None:
        if fault.fired:
            self.tally.fired[fault.name] += 1
            self.tally.surfaced[fault.name] += self.error is not None

    @contextmanager
    def doing(
        self, actor: Actor, *expected: Expected, refused: type[HardwonError] | None = None
    ) -> Iterator[None]:
        """What an action asks of the memory. An error must be one of ours, and one that can be: the
        one that the model says, or one of the storage where the disk failed.
        """
        self._settling.append((actor.place, list(expected)))
        try:
            yield
        except HardwonError as error:
            self._take_refusal(error, actor, refused)
            self.tally.counts["unacknowledged writes"] += any(
                not each.is_nothing for each in expected
            )
        except Misquoted:
            raise
        except Finding:
            if not _was_read_short(actor.process.fault):
                raise
            self.tally.counts["answers that lacked something after a short read"] += 1
        except Exception as error:  # whatever else a caller could meet is a finding
            if _is_of_apsw(error, actor.process.fault):
                self.error = error
                self.tally.counts["errors that only a VFS in Python can cause"] += 1
                return
            raise Finding(
                f"an error of no sort that a caller is told of: {_told(error)}"
            ) from error
        else:
            if refused:
                raise Finding(f"it was to be refused with {refused.__name__}, and was done")
            for each in expected:
                each.acknowledged = True
            self.tally.counts["acknowledged writes"] += any(
                not each.is_nothing for each in expected
            )

    def _take_refusal(
        self, error: HardwonError, actor: Actor, refused: type[HardwonError] | None
    ) -> None:
        self.error = error
        self.tally.errors[type(error).__name__] += 1
        fault = actor.process.fault
        failed = fault is not None and fault.fired > 0 and isinstance(error, StorageError)
        if not failed and not (refused and isinstance(error, refused)):
            raise Finding(f"nothing was wrong, and it was refused: {_told(error)}") from error

    def _settle(self) -> None:
        """After a step: whatever differs is explained, or it is a finding."""
        settling, self._settling = self._settling, []
        for place in {id(place): place for place, _ in settling}.values():
            steps = [each for at, expected in settling if at is place for each in expected]
            self.check_place(place, steps)

    def check_place(self, place: Place, steps: list[Expected]) -> None:
        after = self.look(place)
        model.explain(place.picture, after, steps)
        if after != place.picture:
            place.limbo.clear()
        place.limbo += [each for each in steps if not each.acknowledged and not each.is_nothing]
        place.picture = after
        self.tally.counts["comparisons with the model"] += 1

    def look(self, place: Place) -> Picture:
        with self.disk.used_by(place.observer):
            return place.look()

    def let_go(self, place: Place) -> None:
        with self.disk.used_by(place.observer):
            place.let_go()

    # --- processes end and begin ---

    def bury(self, actor: Actor) -> None:
        """Its process ended in the middle of something: nothing of it reaches the disk any more,
        and its locks are gone.
        """
        actor.process.dead = True
        memory, actor.memory = actor.memory, None
        if memory is not None:
            with suppress(HardwonError), self.disk.used_by(actor.process):
                memory.close()
            self.tally.counts["processes killed"] += 1
        actor.process = self._process(actor.name)

    def everybody_leaves(self, place: Place) -> None:
        """Properly: the last one takes the log away."""
        for actor in self.actors:
            if actor.place is place and actor.memory is not None:
                memory, actor.memory = actor.memory, None
                with self.disk.used_by(actor.process):
                    memory.close()
        self.let_go(place)

    def everybody_dies(self, place: Place) -> None:
        """Of what failed before, SQLite may now find a commit in the log."""
        for actor in self.actors:
            if actor.place is place:
                self.bury(actor)
        place.observer.dead = True
        self.let_go(place)
        place.observer = Process("observer")
        doubtful, place.limbo = place.limbo, []
        model.explain(place.picture, picture := self.look(place), doubtful)
        place.picture = picture

    def faults_told(self) -> str:
        armed = [
            f"{actor.name}: {actor.process.fault}" for actor in self.actors if actor.process.fault
        ]
        return ", ".join(armed) or "no fault"

    # --- what words are there ---

    def marker(self) -> str:
        """A word that no other record has."""
        self.words += 1
        return f"mk{self.words:05d}q{self.rng.randrange(16**4):04x}"


def _was_read_short(fault: Fault | None) -> bool:
    """The second half of a page was zeros: columns and counts may seem empty, and nobody can tell.
    A record's body must not be another one even then: it has a digest.
    """
    return fault is not None and fault.name == "short read" and fault.fired > 0


def _is_of_apsw(error: Exception, fault: Fault | None) -> bool:
    """Where a VFS raises while a backup of SQLite's is ended, apsw returns a result and an
    exception at once.
    """
    return (
        fault is not None
        and fault.fired > 0
        and isinstance(error, SystemError)
        and "exception set" in str(error)
    )


def _told(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)[-6:])
