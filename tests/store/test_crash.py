"""Killed at any instant, or many at once: all that is acknowledged stays, each gets its turn."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from cases import TORTURE, seed_of_the_run
from engines import ENGINES, Places
from hardwon import Experience, Fact, Memory
from hardwon.errors import BusyError, StorageError
from hardwon.store import base
from hardwon.store.sqlite.connection import check_whole_file
from processes import Child, Tell

KILLS = 1000 if TORTURE else 36
WRITERS = 2


def write_forever(location: Path, seed: int, tell: Tell) -> None:
    rng = random.Random(seed)
    with Memory(location) as memory:
        while True:
            if rng.random() < 0.8:
                text = f"note {rng.random()} " + "word " * rng.randrange(200)
                tell(memory.remember(text, "success", "conversation").id)
            else:
                said: Any = {"outcome": "success", "tool": "file_operation"}
                made = [Experience(content=f"many {n}", **said) for n in range(30)]
                for record_id in memory.add_many(made):
                    tell(record_id)


def test_nothing_acknowledged_is_lost_when_writers_are_killed(tmp_path: Path) -> None:
    seed = seed_of_the_run()
    rng = random.Random(seed)
    print(f"seed {seed}")
    location = tmp_path / "brain"
    total, killed = 0, 0
    while killed < KILLS:
        numbers = [rng.randrange(2**32) for _ in range(WRITERS)]
        children = [Child.start(write_forever, location, number) for number in numbers]
        if killed % (4 * WRITERS):  # one round in four is killed whatever it has done by then
            children[0].hear()
        time.sleep(rng.uniform(0.0, 0.08))
        for child in children:
            child.kill()
            killed += 1
            total += len(child.acknowledged)
        with Memory(location) as memory:
            for child in children:
                for record_id in child.acknowledged:
                    lost = f"seed {seed}: {record_id} was acknowledged and is lost"
                    assert memory.get(record_id) is not None, lost
            if killed % 100 < WRITERS:
                diagnosis = memory.doctor()
                assert diagnosis.ok, f"seed {seed}: {diagnosis}"
    with Memory(location) as memory:
        assert memory.doctor().ok
        assert memory.stats().records >= total
    print(f"{killed} kills, {total} acknowledged records, none lost")
    # else the writers were killed before they wrote, and the test shows nothing
    assert total >= KILLS / WRITERS / 2


def test_killed_while_it_is_created(tmp_path: Path) -> None:
    rng = random.Random(5)
    for turn in range(40):
        location = tmp_path / f"brain{turn}"
        child = Child.start(write_forever, location, 1)
        time.sleep(rng.uniform(0.0, 0.012))
        child.kill()
        with Memory(location) as memory:
            assert memory.stats().records >= len(child.acknowledged)
            assert all(memory.get(record_id) for record_id in child.acknowledged)


def test_a_writer_that_is_interrupted_again_and_again_goes_on(tmp_path: Path) -> None:
    def work(tell: Tell) -> None:
        armed, interrupts, kept = False, 0, 0

        def interrupt(*_: object) -> None:
            nonlocal armed, interrupts
            if armed:  # once for each write: a second one would hit the test itself
                armed, interrupts = False, interrupts + 1
                raise KeyboardInterrupt

        signal.signal(signal.SIGINT, interrupt)
        with Memory(tmp_path) as memory:
            # else only that is interrupted
            memory.record_fact("the first one loads what all of them need", "observation")
            tell("0" * 36)  # from here on it may be interrupted
            while interrupts < 50 or kept < 150:
                armed = True
                try:
                    text = f"interrupted or not, {time.monotonic_ns()}"
                    tell(memory.record_fact(text, "observation").id)
                except KeyboardInterrupt:
                    continue
                armed, kept = False, kept + 1
            assert memory.record_fact("afterwards", "observation").id
            assert memory.doctor().ok

    child = Child.start(work)
    while not child.acknowledged:
        child.listen(0.01)
    rng = random.Random(9)
    while os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        time.sleep(rng.uniform(0.0005, 0.006))
        os.kill(child.pid, signal.SIGINT)
        child.listen()
    assert child.wait() == 0
    with Memory(tmp_path) as memory:
        assert all(memory.get(record_id) for record_id in child.acknowledged[1:])
        assert len(child.acknowledged) > 150


PROCESSES, WRITES = (32, 200) if TORTURE else (8, 100)


def test_many_processes_write_at_once(tmp_path: Path) -> None:
    def work(tell: Tell) -> None:
        with Memory(tmp_path) as memory:
            for number in range(WRITES):
                text = f"process {os.getpid()} write {number}"
                tell(memory.remember(text, "success", "conversation").id)

    children = [Child.start(work) for _ in range(PROCESSES)]
    codes = [child.wait() for child in children]
    assert codes == [0] * PROCESSES, "a process met an error (printed above)"
    acknowledged = {record_id for child in children for record_id in child.acknowledged}
    with Memory(tmp_path) as memory:
        assert memory.stats().records == len(acknowledged) == PROCESSES * WRITES
        assert {record.id for record in memory.browse()} == acknowledged
        assert memory.doctor().ok
    print(f"{PROCESSES} processes x {WRITES} writes: {len(acknowledged)} records, no error")


def test_a_writer_that_never_ends_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardwon.limits.BUSY_TIMEOUT_MS", 200)
    with Memory(tmp_path) as first, Memory(tmp_path) as second:
        refused = pytest.raises(BusyError, match="locked by another writer .* try again")
        with first._project.store.write(first.project), refused:
            second.record_fact("x", "error")
        assert second.record_fact("y", "error").id
        assert second.stats().records == 1


def test_having_forgotten_it_waits_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tries, sleep = list[float](), time.sleep
    with (
        Memory(tmp_path) as first,
        Memory(tmp_path, busy_timeout_ms=50) as hasty,
        ExitStack() as writing,
    ):
        doomed = hasty.record_fact("x", "error")
        assert hasty.forget(doomed.id).erased
        writing.enter_context(first._project.store.write(first.project))

        def pause(seconds: float) -> None:
            sleep(seconds)
            tries.append(seconds)
            if len(tries) > 1_000:  # whoever waits as long as usual gets its turn
                writing.close()

        monkeypatch.setattr("hardwon.store.sqlite.connection.time.sleep", pause)
        with pytest.raises(BusyError, match="locked by another writer .* try again"):
            hasty.record_fact("y", "error")
        assert tries


def test_a_fork_beside_the_first_use_in_a_thread_leaves_no_lock_behind(tmp_path: Path) -> None:
    # Much is read, imported and built at the first use, each under a lock that is not ours: only a
    # new process shows it.
    program = """
import os, signal, sys, threading
from hardwon import Memory
from processes import Child

memory = Memory(sys.argv[1])
stop = threading.Event()
written = set()

def keep_writing():
    while not stop.is_set():
        written.add(memory.record_fact(f"from a thread, {len(written)}", "observation").id)

def write_once(tell):
    signal.alarm(50)  # a child that waits for ever is not waited for
    tell(memory.record_fact(f"from a child, {os.getpid()}", "observation").id)

thread = threading.Thread(target=keep_writing)
thread.start()
children = [Child.start(write_once) for _ in range(20)]
codes = [child.wait() for child in children]
stop.set()
thread.join()
written.update(*(child.acknowledged for child in children))
whole = written == {record.id for record in memory.browse()} and memory.doctor().ok
sys.exit(not whole or codes != [0] * 20)
"""
    for number in range(3 if TORTURE else 1):
        command = [sys.executable, "-c", program, str(tmp_path / str(number))]
        subprocess.run(command, check=True, cwd=Path(__file__).parents[1])
        with Memory(tmp_path / str(number)) as memory:
            told = [record for record in memory.browse() if "from a child" in record.to_json()]
            assert len(told) == 20


def test_no_fork_in_a_transaction(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:

    def work(tell: Tell) -> None:
        with pytest.raises(StorageError, match="forked in the middle of an operation"):
            memory.record_fact("x", "error")
        tell("0" * 36)

    with memory._project.store.write(memory.project):
        child = Child.start(work)
        assert child.wait() == 0
    assert child.acknowledged == ["0" * 36]
    assert memory.record_fact("the parent goes on", "error").id


def test_a_search_index_that_others_made_anew_is_no_damage(tmp_path: Path) -> None:
    with Memory(tmp_path) as here, Memory(tmp_path) as elsewhere:
        texts = [f"Thing number {number}" for number in range(8)]
        kept = [here.remember(text, "success", "conversation").id for text in texts]
        here.forget(kept[0])
        old, _ = (elsewhere.record_fix({"model": "m"}, False, False, "slow") for _ in range(2))
        assert elsewhere.cleanup(0, dry_run=False).failed == 1
        here.recall("thing")
        elsewhere.forget(old.id)  # the index is made anew: the cleanup left words in it
        fresh = here.remember("The last thing", "success", "conversation")
        here.forget(fresh.id)
        with Memory(tmp_path) as later:
            assert later.doctor().ok, str(later.doctor())
            assert len(later.recall("thing", k=10)) == 7


def test_a_file_is_checked_as_it_was_at_one_moment(tmp_path: Path) -> None:
    """Whoever opens a memory checks a small file whole, and others write to it meanwhile."""

    def writes_meanwhile(_: object, sql: str, __: object) -> bool:
        if "integrity_check" in sql:
            memory.remember("the port is taken", "failure", "unknown")
        return True

    with Memory(tmp_path) as memory, closing(apsw.Connection(memory.location)) as connection:
        memory.remember("the disk is full", "failure", "unknown")
        connection.exec_trace = writes_meanwhile
        assert check_whole_file(connection) == []
        assert len(list(memory.browse())) == 2


ISSUE = {"model": "m", "issue_type": "TIMEOUT", "description": "slow"}
FAILED = {"observation": "Error: no rule", "ok": False}
STEPS = [{"action": f"make part{n}", **FAILED} for n in range(60)]
RECORDING: dict[str, Callable[[Memory], Any]] = {
    "remember": lambda memory: memory.remember("a note", "success", "conversation"),
    "a fact": lambda memory: memory.record_fact("Port 80 is open.", "observation"),
    "a run": lambda memory: memory.record_trajectory("build", STEPS, 0.0),
    "an episode": lambda memory: memory.record_episode("build", 0.9, successes=["Read the log."]),
    "a fix": lambda memory: memory.record_fix(ISSUE, True, True, "disk", ["restart"]),
    "add": lambda memory: memory.add(Fact(content="Port 81 is open.", fact_type="error")),
    "several": lambda memory: memory.add_many(
        [Fact(content=f"Port {n} is open.", fact_type="error") for n in range(200, 220)]
    ),
}


@pytest.mark.engines(*ENGINES)
@pytest.mark.parametrize("what", RECORDING)
def test_rows_are_made_before(place: Places, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[bool] = []
    with (
        Memory(place("brain")) as memory,
        Memory(place("brain"), busy_timeout_ms=2_000) as other,
    ):
        store, build_row, is_writing = memory._project.store, base.build_row, False
        write = store.write

        @contextmanager
        def writing(*given: Any, **more: Any) -> Iterator[Any]:
            nonlocal is_writing
            with write(*given, **more) as writer:
                is_writing = True
                yield writer
            is_writing = False

        def make(*given: Any) -> Any:
            made.append(is_writing)
            if len(made) == 1:  # nobody else waits for it
                monkeypatch.setattr(base, "build_row", build_row)
                other.record_fact("Somebody else is quick.", "observation")
                monkeypatch.setattr(base, "build_row", make)
            return build_row(*given)

        monkeypatch.setattr(store, "write", writing)
        monkeypatch.setattr(base, "build_row", make)
        RECORDING[what](memory)
    assert made
    assert not any(made)
