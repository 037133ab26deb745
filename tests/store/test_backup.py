"""Backups while others write, and restoring while others look."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import time
from pathlib import Path

import pytest

from cases import TORTURE
from faults import Disk, Fault, Process
from hardwon import Memory
from hardwon.errors import DamagedError, ForeignFileError, PlaceError, StorageError
from hardwon.outside import files
from processes import Child, Tell

BACKUPS = 50 if TORTURE else 12
WRITTEN_EACH = 40


def test_backups_under_a_busy_writer_are_whole(tmp_path: Path) -> None:
    location = tmp_path / "brain"

    def write_forever(tell: Tell) -> None:
        written = 0
        with Memory(location) as writer:
            while True:
                # As much for every backup, however busy the machine, so that the memory stays small
                # enough to be checked.
                if written < WRITTEN_EACH * len(list(tmp_path.glob("turn*"))):
                    tell(writer.remember("busy " + "word " * 50, "success", "conversation").id)
                    written += 1
                else:
                    time.sleep(0.001)

    with Memory(location) as memory:
        children = [Child.start(write_forever) for _ in range(2)]
        try:
            for number in range(BACKUPS):
                (tmp_path / f"turn{number}").touch()
                for child in children:
                    child.listen(0.002)
                acknowledged = [record_id for child in children for record_id in child.acknowledged]
                path = tmp_path / f"backup{number}.db"
                memory.backup(path)
                assert Memory.restore(path, tmp_path / f"restored{number}") is None
                with Memory(tmp_path / f"restored{number}") as restored:
                    assert [name for name in acknowledged if restored.get(name) is None] == []
                    assert restored.doctor().ok
            while len(children[0].acknowledged) <= BACKUPS:  # it was busy, if only late
                children[0].listen(0.05)
        finally:
            for child in children:
                child.kill()


def test_a_backup_is_one_private_file_with_a_checksum(memory: Memory, tmp_path: Path) -> None:
    memory.record_fact("x", "error")
    steps: list[tuple[int, int]] = []
    report = memory.backup(tmp_path / "safe" / "b.db", progress=lambda *step: steps.append(step))
    assert report.sha256 == hashlib.sha256(report.path.read_bytes()).hexdigest()
    assert report.size_bytes == report.path.stat().st_size
    assert sorted(file.name for file in report.path.parent.iterdir()) == ["b.db", "b.db.sha256"]
    assert stat.S_IMODE(report.path.stat().st_mode) == 0o600
    assert steps[-1][0] == steps[-1][1] > 0
    checking = ["sha256sum", "--check", "b.db.sha256"]
    subprocess.run(checking, cwd=report.path.parent, check=True, capture_output=True)
    with pytest.raises(PlaceError, match="exists already and is kept"):
        memory.backup(report.path)
    (tmp_path / "c.db.sha256").mkdir()  # a backup is there with its checksum, or not at all
    with pytest.raises(PlaceError, match=r"c\.db\.sha256 is there and no regular file"):
        memory.backup(tmp_path / "c.db")
    assert not (tmp_path / "c.db").exists()


def test_restore_replaces_a_memory_that_is_open_and_keeps_the_old_one(tmp_path: Path) -> None:
    location = tmp_path / "brain"
    with Memory(location) as memory, Memory(location) as other:
        old = memory.record_fact("old", "observation")
        memory.backup(tmp_path / "b.db")
        late = memory.record_fact("late", "observation")
        assert other.get(late.id) == late
        kept = Memory.restore(tmp_path / "b.db", location)
        assert kept is not None
        for open_one in (memory, other):
            assert open_one.get(old.id) == old
            assert open_one.get(late.id) is None
            assert open_one.recall("late") == []
            assert open_one.doctor().ok
        fresh = other.record_fact("fresh", "observation")
        assert memory.get(fresh.id) == fresh
    with Memory(kept.rename(tmp_path / "kept.db")) as before:
        assert {record.id for record in before.browse()} == {old.id, late.id}


def test_restore_under_a_busy_writer_loses_nothing(tmp_path: Path) -> None:
    """What came before the switch is in the copy that is kept, what came after in the memory."""
    location = tmp_path / "brain"

    def write_forever(tell: Tell) -> None:
        with Memory(location) as writer:
            while True:
                tell(writer.record_fact("busy", "observation").id)

    with Memory(location) as memory:
        memory.record_fact("seed", "observation")
        memory.backup(tmp_path / "b.db")
        child = Child.start(write_forever)
        copies = []
        for _ in range(10):
            child.listen(0.01)
            copies.append(Memory.restore(tmp_path / "b.db", location))
        while len(child.acknowledged) <= 20:
            child.listen(0.05)
        child.kill()
        found = {record.id for record in memory.browse()}
        assert memory.doctor().ok
    for number, copy in enumerate(copies):
        assert copy is not None
        with Memory(copy.rename(tmp_path / f"kept{number}.db")) as kept:
            found |= {record.id for record in kept.browse()}
    assert set(child.acknowledged) <= found


def test_restore_over_a_damaged_memory_moves_it_aside(tmp_path: Path) -> None:
    location = tmp_path / "memory.db"
    with Memory(location) as memory:
        record = memory.record_fact("x", "error")
        memory.backup(tmp_path / "b.db")
    whole = location.read_bytes()
    for ruin in (whole[:5000], b"garbage" * 999, b"", whole[:100] + b"\xff" * 2000 + whole[2100:]):
        location.write_bytes(ruin)
        location.with_name("memory.db-wal").write_bytes(b"a log that belongs to nothing")
        kept = Memory.restore(tmp_path / "b.db", location)
        assert kept is not None
        assert kept.read_bytes() == ruin
        with Memory(location) as memory:
            assert memory.get(record.id) == record
            assert memory.doctor().ok


def test_a_disk_that_fails_once_does_not_make_restore_take_a_memory_away(tmp_path: Path) -> None:
    refused = 0
    with Disk() as disk:
        here, elsewhere = Process("here"), Process("elsewhere")
        for countdown in range(1, 200, 4 if TORTURE else 12):
            place = tmp_path / str(countdown)
            with disk.used_by(elsewhere), Memory(place) as other:
                other.record_fact("Port 80 is open.", "observation")
                other.backup(place / "backup")
                with disk.used_by(here):
                    here.fault = Fault("read error", countdown)
                    try:
                        Memory.restore(place / "backup", place)
                    except StorageError:
                        refused += here.fault.fired
                    here.fault = None
                late = other.record_fact("Port 81 is open.", "observation")
                with disk.used_by(here), Memory(place) as memory:
                    assert memory.get(late.id), f"lost after the {countdown}th read failed"
    assert refused > 5


def test_what_cannot_be_restored_changes_nothing(memory: Memory, tmp_path: Path) -> None:
    record = memory.record_fact("x", "error")
    good = memory.backup(tmp_path / "good.db").path
    flipped = bytearray(good.read_bytes())
    flipped[-3000] ^= 255
    (tmp_path / "flipped.db").write_bytes(flipped)
    (tmp_path / "flipped.db.sha256").write_text((tmp_path / "good.db.sha256").read_text())
    (tmp_path / "cut.db").write_bytes(good.read_bytes()[:9000])
    (tmp_path / "text.db").write_text("hello")
    for name, error, message in (
        ("flipped.db", DamagedError, "does not match its checksum"),
        ("cut.db", DamagedError, "damaged"),
        ("text.db", ForeignFileError, "not a backup of a Hardwon memory"),
        ("absent.db", PlaceError, "there is no backup"),
    ):
        with pytest.raises(error, match=message):
            Memory.restore(tmp_path / name, tmp_path / "brain")
    assert memory.get(record.id) == record
    names = [file.name for file in (tmp_path / "brain").iterdir()]
    assert [name for name in names if "-" not in name] == ["memory.db"]


def test_a_backup_that_is_opened_stays_as_it_is_until_somebody_writes(tmp_path: Path) -> None:
    with Memory(tmp_path / "brain") as memory:
        memory.remember("Retry after a minute.", "learning", insight_type="fact")
        memory.backup(tmp_path / "copy.db")
    before = (tmp_path / "copy.db").read_bytes()
    with Memory(tmp_path / "copy.db", busy_timeout_ms=2_000) as copy:
        assert copy.recall("retry")
    assert (tmp_path / "copy.db").read_bytes() == before
    with Memory(tmp_path / "copy.db") as copy, Memory(tmp_path / "copy.db") as beside:
        assert beside.stats().records == 1
        copy.remember("Never retry.", "learning", insight_type="fact")
        beside.remember("Ask first.", "learning", insight_type="fact")
        assert copy.stats().records == beside.stats().records == 3
        assert copy.doctor().ok


def test_what_a_killed_backup_left_is_taken_away(tmp_path: Path) -> None:
    """It may hold what was erased since: on opening, by forget, compact and doctor."""
    with Memory(tmp_path) as memory:
        fact = memory.record_fact("The harbour opens at six.", "observation")

    def leave(name: str) -> Path:
        left = tmp_path / f".{name}.0123456789ab.part"
        left.write_bytes((tmp_path / "memory.db").read_bytes())
        left.with_name(left.name + "-journal").write_text("x")
        return left

    mine, own = tmp_path / ".my.part", tmp_path / "notes.0123456789ab.part"
    for ordinary in (mine, own):
        ordinary.write_text("somebody's own")
    left = leave("copy.db")
    with Memory(tmp_path) as memory:
        assert not left.exists()
        left = leave("copy.db")
        assert left.name in str(memory.doctor())
        assert not left.exists()
        for sweep in (lambda: memory.forget(fact.id), memory.compact):
            left = leave("other.db")
            sweep()
            assert not left.exists()
        leave("copy.db")
        memory.backup(tmp_path / "whole.db")
    names = {each.name for each in tmp_path.iterdir() if "part" in each.name}
    assert names == {mine.name, own.name}


def test_what_is_being_written_is_left_alone(tmp_path: Path) -> None:
    with Memory(tmp_path) as memory:
        memory.record_fact("The harbour opens at six.", "observation")
        temporary = files.temporary_beside(tmp_path / "copy.db")
        with files.create(temporary) as file:
            file.write(b"half of it")
            file.flush()
            assert files.sweep(tmp_path) == []
            assert temporary.exists()
        empty = files.temporary_beside(tmp_path / "copy.db")
        empty.touch()
        assert files.sweep(tmp_path) == [temporary.name]
        assert empty.exists(), "it may have been made just now"
        os.utime(empty, (0, 0))
        assert files.sweep(tmp_path) == [empty.name]
