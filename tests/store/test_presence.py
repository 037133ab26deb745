"""Another SQLite library in the same process does not take our log away."""

from __future__ import annotations

import gc
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from fact_files import note
from faults import Disk, Fault, Process
from hardwon import Memory
from hardwon.errors import StorageError
from hardwon.store.sqlite import presence
from hardwon.store.sqlite.connection import connect


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
