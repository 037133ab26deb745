"""The file of an open memory is removed, replaced or written over: nothing is lost or mixed."""

from __future__ import annotations

import gc
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw
import pytest

import warm
from checkouts import new_repository
from fact_files import contents, facts_for_a_newcomer, note, sh, write
from faults import Disk, Fault, Process
from hardwon import Memory
from hardwon.errors import ForeignLogWarning, LostFileError, StorageError
from hardwon.store.sqlite import presence
from hardwon.store.sqlite.connection import connect
from hardwon.surfaces.gate import Gate
from hardwon.trust.access import Caller
from processes import Child, Tell

REFUSED = "LostFileError"
SCRIPT = """
import json, os, sys, warnings
from hardwon import Memory
warnings.simplefilter("ignore")
memory = Memory(*sys.argv[1:])
print(os.getpid(), flush=True)
for line in sys.stdin:
    do, _, rest = line.rstrip().partition(" ")
    try:
        if do == "write":
            answer = memory.record_fact(rest, "observation").id
        elif do == "read":
            answer = sorted(fact.content for fact in memory.browse(1000, kind="fact"))
        elif do == "recall":
            answer = [hit.record.content for hit in memory.recall(rest)]
        elif do == "forget":
            answer = memory.forget(next(memory.browse(1, kind="fact")).id).erased
        elif do == "reopen":
            memory.close()
            memory = Memory(*sys.argv[1:])
            answer = "open"
    except Exception as error:
        answer = f"{type(error).__name__}: {error}"
    print(json.dumps(answer, default=str), flush=True)
"""


class Other:
    """A process of its own that has the memory open and does what it is told."""

    def __init__(self, *place: object, cwd: Path | None = None) -> None:
        command, pipe = [warm.python(), "-c", SCRIPT, *map(str, place)], subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=cwd)
        self._pid = self._answer()

    def __call__(self, order: str) -> Any:
        assert self._process.stdin
        self._process.stdin.write(f"{order}\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout
        return json.loads(self._process.stdout.readline())

    def leave(self) -> None:
        """It ends in the ordinary way."""
        self._process.communicate()
        assert self._process.returncode == 0

    def kill(self) -> None:
        os.kill(self._pid, signal.SIGKILL)  # and not the one that only stands for it
        self._process.communicate()


Start = Callable[..., Other]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts processes, which end with the test."""
    others: list[Other] = []

    def start_one(*place: object, cwd: Path | None = None) -> Other:
        others.append(Other(*place, cwd=cwd))
        return others[-1]

    yield start_one
    for other in others:
        with suppress(OSError, ValueError):
            other.kill()


@pytest.mark.parametrize("command", ["rm x/memory.db", "git clean -fdxq", "mv x y"])
def test_nothing_is_kept_in_a_file_that_is_gone(tmp_path: Path, start: Start, command: str) -> None:
    folder = new_repository(tmp_path / "checkout")
    write(folder / "x", "Port 1 is open.")
    holder = start(folder / "x")
    holder("write Port 2 is open.")
    sh(folder, command)
    for n in range(5):
        assert holder(f"write Port {n} is shut.").startswith(f"{REFUSED}: {folder}/x/memory.db is")
    for question in ("read", "recall port", "forget"):
        assert re.match(f"{REFUSED}.* is gone.*open it again", holder(question))
    assert holder("reopen") == "open"
    assert holder("read") == []
    holder("write Port 3 is open.")
    holder.leave()
    assert facts_for_a_newcomer(folder / "x") == ["Port 3 is open."]
    if command.startswith("mv"):
        assert facts_for_a_newcomer(folder / "y") == ["Port 1 is open.", "Port 2 is open."]


def test_it_is_removed_while_a_write_is_being_kept(tmp_path: Path) -> None:
    """After the last look before the commit."""
    write(tmp_path / "x", "Port 1 is open.")
    memory = Memory(tmp_path / "x")
    store: Any = memory._project.store

    looks = 0

    def look_and_remove(real: Any = store._file.look) -> None:
        nonlocal looks
        looks += 1
        real()
        if looks == 2:  # when it was borrowed, and before it is kept
            (tmp_path / "x" / "memory.db").unlink()

    store._file.look = look_and_remove
    with pytest.raises(LostFileError, match="is gone"):
        note(memory, "Port 2 is open.")
    memory.close()


@pytest.mark.parametrize("first", ["the holder", "a newcomer"])
def test_another_memory_that_is_moved_over_it(tmp_path: Path, start: Start, first: str) -> None:
    write(tmp_path / "x", "Port 1 is open.")
    write(tmp_path / "other", "Port 9 is open.")
    holder = start(tmp_path / "x")
    holder("write Port 2 is open.")
    sh(tmp_path, "mv other/memory.db x/memory.db")
    expected = ["Port 9 is open."]
    if first == "a newcomer":
        newcomer = start(tmp_path / "x")
        assert newcomer("read") == expected
        newcomer("write Port 8 is open.")
        expected = ["Port 8 is open.", *expected]
    for n in range(5):
        told = f"{REFUSED}.*another file than the one that was opened"
        assert re.match(told, holder(f"write Port {n} is shut."))
    assert holder("read").startswith(REFUSED)
    assert facts_for_a_newcomer(tmp_path / "x") == expected
    holder("reopen")
    assert holder("read") == expected
    holder.leave()
    assert facts_for_a_newcomer(tmp_path / "x") == expected


@pytest.mark.parametrize("what", ["the file", "the folder"])
@pytest.mark.parametrize("holder_is", ["alive", "killed"])
def test_another_makes_a_new_one(tmp_path: Path, start: Start, what: str, holder_is: str) -> None:
    """The log of the one that is gone is kept aside, and never replayed into the new one."""
    write(tmp_path / "x", "Port 1 is open.")
    holder = start(tmp_path / "x")
    holder("write Port 2 is open.")
    holder("write Port 3 is open.")
    if holder_is == "killed":
        holder.kill()
    sh(tmp_path, "rm x/memory.db" if what == "the file" else "rm -r x")
    newcomer = start(tmp_path / "x")
    newcomer("write Port 4 is open.")
    assert newcomer("read") == ["Port 4 is open."]
    if holder_is == "alive":
        assert holder("write Port 5 is open.").startswith(REFUSED)
        assert holder("read").startswith(REFUSED)
        holder.leave()
    newcomer("write Port 6 is open.")
    newcomer.kill()
    assert facts_for_a_newcomer(tmp_path / "x") == ["Port 4 is open.", "Port 6 is open."]
    aside = list((tmp_path / "x").glob("memory.db-wal.foreign-*"))
    assert len(aside) == (what == "the file")


def back_up(folder: Path, how: str) -> str:
    """The name of a copy of what is in x now."""
    if how == "a backup":
        with Memory(folder / "x") as memory:
            memory.backup(folder / "copy.db")
    else:
        sh(folder, "cp x/memory.db copy.db")
    return "copy.db"


@pytest.mark.parametrize("how", ["a backup", "a copy"])
@pytest.mark.parametrize("acknowledged", [0, 1, 3])
@pytest.mark.parametrize("first", ["write Port 8 is open.", "read", "recall port"])
def test_a_copy_that_is_put_back_while_somebody_has_it_open(
    tmp_path: Path, start: Start, how: str, acknowledged: int, first: str
) -> None:
    write(tmp_path / "x", "Port 1 is open.")
    copy = back_up(tmp_path, how)
    write(tmp_path / "x", "Port 2 is open.")
    holder = start(tmp_path / "x")
    assert holder("read") == ["Port 1 is open.", "Port 2 is open."]
    for n in range(acknowledged):
        holder(f"write Port {n} is shut.")
    sh(tmp_path, f"cp {copy} x/memory.db")
    assert re.match(f"{REFUSED}.*was written over", holder(first))
    assert holder("write Port 9 is open.").startswith(REFUSED)
    assert facts_for_a_newcomer(tmp_path / "x") == ["Port 1 is open."]
    holder("reopen")
    assert holder("read") == ["Port 1 is open."]
    holder("write Port 3 is open.")
    holder.leave()
    assert facts_for_a_newcomer(tmp_path / "x") == ["Port 1 is open.", "Port 3 is open."]


@pytest.mark.parametrize("how", ["a backup", "a copy"])
@pytest.mark.parametrize("acknowledged", [1, 3])
def test_the_holder_ends_unaware(tmp_path: Path, start: Start, how: str, acknowledged: int) -> None:
    """As the last to have it open it would fold its log into what was put there."""
    write(tmp_path / "x", "Port 1 is open.")
    copy = back_up(tmp_path, how)
    write(tmp_path / "x", "Port 2 is open.")
    holder = start(tmp_path / "x")
    for n in range(acknowledged):
        holder(f"write Port {n} is shut.")
    sh(tmp_path, f"cp {copy} x/memory.db")
    before = (tmp_path / "x" / "memory.db").read_bytes()
    holder.leave()
    assert (tmp_path / "x" / "memory.db").read_bytes() == before
    assert facts_for_a_newcomer(tmp_path / "x") == ["Port 1 is open."]


@pytest.mark.parametrize("how", ["a backup", "a copy"])
@pytest.mark.parametrize("empties", [False, True])
def test_others_write_after_a_copy(tmp_path: Path, start: Start, how: str, empties: bool) -> None:
    """Those who had it open are refused; who comes new is not, though others still have it open."""
    write(tmp_path / "x", "Port 1 is open.")
    copy = back_up(tmp_path, how)
    write(tmp_path / "x", "Port 0 is open.")
    idle, busy = start(tmp_path / "x"), start(tmp_path / "x")
    idle("write Port 2 is open.")
    if empties:
        idle("forget")  # which empties the log
        assert busy("read") == ["Port 0 is open.", "Port 1 is open."]
    busy("write Port 3 is open.")
    sh(tmp_path, f"cp {copy} x/memory.db")
    assert busy("write Port 4 is open.").startswith(REFUSED)
    newcomer = start(tmp_path / "x")
    assert newcomer("read") == ["Port 1 is open."]
    newcomer("write Port 5 is open.")
    assert idle("write Port 6 is open.").startswith(REFUSED)
    assert idle("read").startswith(REFUSED)
    newcomer("write Port 7 is open.")
    idle.leave()
    busy.leave()
    newcomer.kill()
    assert facts_for_a_newcomer(tmp_path / "x") == [f"Port {n} is open." for n in (1, 5, 7)]


@pytest.mark.parametrize("acknowledged", [1, 3])
def test_the_log_alone_is_removed(tmp_path: Path, start: Start, acknowledged: int) -> None:
    """Whoever has it open folds in what it still has of it."""
    write(tmp_path / "x", "Port 0 is open.")
    holder = start(tmp_path / "x")
    for n in range(acknowledged):
        holder(f"write Port {n + 1} is open.")
    sh(tmp_path, "rm x/memory.db-wal x/memory.db-shm")
    answer = holder("write Port 9 is open.")
    assert answer.startswith(f"{REFUSED}: the log beside")
    holder.kill()
    ports = range(acknowledged + 1)
    assert facts_for_a_newcomer(tmp_path / "x") == [f"Port {n} is open." for n in ports]


def test_a_second_memory_of_the_same_process_has_what_was_put_there(tmp_path: Path) -> None:
    write(tmp_path / "x", "Port 1 is open.")
    copy = back_up(tmp_path, "a backup")
    first = Memory(tmp_path / "x")
    note(first, "Port 2 is open.")
    shutil.copyfile(tmp_path / copy, tmp_path / "x" / "memory.db")
    assert facts_for_a_newcomer(tmp_path / "x") == ["Port 1 is open."]
    with pytest.raises(LostFileError):
        note(first, "Port 3 is open.")
    first.close()
    assert facts_for_a_newcomer(tmp_path / "x") == ["Port 1 is open."]


def test_while_a_thread_is_in_the_middle_of_a_call_no_second_one_is_opened(tmp_path: Path) -> None:
    """They would share what SQLite knows of the log that is gone."""
    write(tmp_path / "x", "Port 1 is open.")
    copy = back_up(tmp_path, "a backup")
    first = Memory(tmp_path / "x")
    note(first, "Port 2 is open.")
    with suppress(LostFileError), first._project.store.read(first.project):
        shutil.copyfile(tmp_path / copy, tmp_path / "x" / "memory.db")
        with pytest.raises(LostFileError, match="was written over"):
            Memory(tmp_path / "x")
    first.close()
    assert facts_for_a_newcomer(tmp_path / "x") == ["Port 1 is open."]


def test_a_forked_child_notices_as_well(tmp_path: Path) -> None:
    write(tmp_path / "x", "Port 1 is open.")
    with Memory(tmp_path / "x") as memory:
        note(memory, "Port 2 is open.")
        (tmp_path / "x" / "memory.db").unlink()

        def notice(_: Tell) -> None:
            with pytest.raises(LostFileError):
                note(memory, "Port 3 is open.")

        assert Child.start(notice).wait() == 0
        with pytest.raises(LostFileError):
            memory.stats()


def test_what_is_no_change_of_the_content_is_none(tmp_path: Path, start: Start) -> None:
    holder = start(tmp_path / "x")
    holder("write Port 1 is open.")
    sh(tmp_path, "touch x/memory.db; chmod 640 x/memory.db; touch x/memory.db-wal; touch x/y")
    holder("write Port 2 is open.")
    sh(tmp_path, "cp x/memory.db z; cat x/memory.db > /dev/null; rm x/y")
    assert holder("read") == ["Port 1 is open.", "Port 2 is open."]
    holder.leave()


def test_nobody_is_refused_where_others_empty_the_log(tmp_path: Path, start: Start) -> None:
    write(tmp_path / "x", "Port 1 is open.")
    reader, writer = start(tmp_path / "x"), start(tmp_path / "x")
    with Memory(tmp_path / "x") as memory:
        memory.backup(tmp_path / "copy.db")
        for n in range(4):
            writer(f"write Port {n} is shut.")
            note(memory, f"Port {n} is closed.")
            memory.compact()  # moves every table of the file
            assert REFUSED not in str(reader("recall port"))
            writer(f"write Port {n} is ajar.")
            memory.forget(next(memory.browse(1, kind="fact")).id)
            assert REFUSED not in str(reader("read"))
            reader("write Port 7 is open.")
            note(memory, f"Port {n} is locked.")
            with apsw.Connection(memory.location) as another:
                another.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()
            assert REFUSED not in str(writer("read"))
            Memory.restore(tmp_path / "copy.db", tmp_path / "x")
            for other in (reader, writer):
                assert other("read") == ["Port 1 is open."]
        assert len(writer("write Port 2 is open.")) == 36
        assert reader("read") == contents(memory) == ["Port 1 is open.", "Port 2 is open."]


def test_a_file_is_missed_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "_SET", -1)
    with Memory(tmp_path / "x") as memory:
        note(memory, "Port 1 is open.")
        (tmp_path / "x" / "memory.db").unlink()
        with pytest.raises(LostFileError):
            note(memory, "Port 2 is open.")


def test_a_restored_memory_takes_no_log_of_the_one_before(tmp_path: Path, start: Start) -> None:
    write(tmp_path / "x", "Port 1 is open.")
    copy = back_up(tmp_path, "a backup")
    holder = start(tmp_path / "x")
    holder("write Port 2 is open.")
    holder("write Port 3 is open.")
    holder.kill()
    (tmp_path / "x" / "memory.db").unlink()
    with pytest.warns(ForeignLogWarning):
        Memory.restore(tmp_path / copy, tmp_path / "x")
    assert facts_for_a_newcomer(tmp_path / "x") == ["Port 1 is open."]


def test_a_server_goes_on_with_what_is_there_and_says_so_once(tmp_path: Path) -> None:
    gate = Gate(lambda project: Memory(tmp_path / "x", project), None)
    me = Caller("tester", "write")

    @contextmanager
    def used() -> Iterator[Memory]:
        with gate._use("default") as memory:
            yield memory

    with used() as memory:
        note(memory, "Port 1 is open.")
        memory.backup(tmp_path / "copy.db")
        note(memory, "Port 2 is open.")
    shutil.copyfile(tmp_path / "copy.db", tmp_path / "x" / "memory.db")
    with pytest.raises(LostFileError, match="was written over"):
        gate.projects(me, "default")
    with pytest.warns(ForeignLogWarning), used() as memory:
        assert contents(memory) == ["Port 1 is open."]
        note(memory, "Port 3 is open.")
    gate.close()
    assert facts_for_a_newcomer(tmp_path / "x") == ["Port 1 is open.", "Port 3 is open."]


def test_tokens_of_a_file_that_is_gone_let_nobody_in(tmp_path: Path) -> None:
    with Memory(tmp_path / "x") as memory, Memory(tmp_path / "x") as beside:
        secret = memory.tokens.create("ann", "write").secret
        assert beside.tokens.caller(secret) is not None
        (file,) = (tmp_path / "x").glob("*tokens.db")
        file.unlink()
        assert beside.tokens.caller(secret) is None
        other = memory.tokens.create("ben", "read").secret
        assert beside.tokens.caller(other) is not None


def held_files() -> int:
    return len({file._file for file in presence._OPEN if file._presence})


def test_the_log_stays_when_another_library_closes_the_file(tmp_path: Path) -> None:
    with Memory(tmp_path) as memory:
        note(memory, "Port 80 is open.")
        for _ in range(3):
            with closing(sqlite3.connect(memory.location)) as other:
                assert other.execute("SELECT count(*) FROM record").fetchone() is not None
        late = memory.record_fact("Port 81 is open.", "observation")
        assert Path(memory.location + "-wal").exists()
        found = "hardwon.Memory(sys.argv[1]).get(sys.argv[2]) is not None"
        seen = f"import hardwon, sys; print({found})"
        command = [sys.executable, "-c", seen, str(tmp_path), late.id]
        assert subprocess.check_output(command) == b"True\n"
    with Memory(tmp_path) as memory:
        assert memory.get(late.id) is not None
        assert memory.doctor().ok


def test_nothing_is_held_when_the_last_memory_is_closed(tmp_path: Path) -> None:
    gc.collect()  # what other tests left is closed now, and not in between
    before, open_files = held_files(), len(list(Path("/proc/self/fd").iterdir()))
    first, second = Memory(tmp_path), Memory(tmp_path)
    assert held_files() == before + 1
    first.close()
    assert held_files() == before + 1
    note(second, "Port 80 is open.")
    second.close()
    second.close()
    assert held_files() == before
    assert len(list(Path("/proc/self/fd").iterdir())) == open_files
    assert not Path(second.location + "-wal").exists(), "the last one clears the log away"


@pytest.mark.parametrize("sort", ["size error", "lock error"])
def test_a_memory_that_could_not_be_opened_is_not_held(tmp_path: Path, sort: str) -> None:
    gc.collect()
    before, refused = held_files(), 0
    with Disk() as disk, disk.used_by(process := Process("the one")):
        with Memory(tmp_path) as memory:
            note(memory, "Port 80 is open.")
        for countdown in range(1, 60):
            process.fault = fault = Fault(sort, countdown)
            try:
                Memory(tmp_path).close()
            except StorageError:
                refused += 1
            process.fault = None
            assert held_files() == before, f"after the {countdown}th call failed"
            if not fault.fired:
                break
        with Memory(tmp_path) as memory:
            note(memory, "Port 81 is open.")
        assert not Path(memory.location + "-wal").exists(), "the last one clears the log away"
    assert refused


def test_threads_open_and_use_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is still being opened has nothing yet that could have been replaced."""
    Memory(tmp_path).close()

    def connect_slowly(*arguments: Any) -> apsw.Connection:
        time.sleep(0.05)
        return connect(*arguments)

    monkeypatch.setattr("hardwon.store.sqlite.connection.connect", connect_slowly)

    def work(number: int) -> str:
        time.sleep(number / 100)
        with Memory(tmp_path) as memory:
            return memory.remember(f"note {number}", "success", "file_operation").id

    with ThreadPoolExecutor(6) as threads:
        ids = list(threads.map(work, range(6)))
    with Memory(tmp_path) as memory:
        assert {record.id for record in memory.browse()} == set(ids)
