"""Files that are not what they should be are refused, unchanged; full disks lose nothing."""

from __future__ import annotations

import random
import resource
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw
import pytest

from cases import each
from engines import go_past, wrong_with
from faults import Disk, Fault, Process
from hardwon import Memory, errors
from hardwon.store.sqlite.connection import find_file_system, refuse_network_file_system
from hardwon.store.types import FORMAT
from processes import Child, Tell


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    """A closed memory of some forty records."""
    with Memory(tmp_path / "memory.db") as memory:
        for number in range(40):
            text = f"note {number} about module_{number}.py"
            memory.remember(text, "success", "conversation", tags=[f"t{number}"])
        memory.verify(next(memory.browse()).id, "compiler")
    return tmp_path / "memory.db"


def all_of(path: Path) -> list[str]:
    with Memory(path) as memory:
        return [record.to_json() for record in memory.browse()]


@pytest.mark.parametrize("size", [0, 15, 100, 512, 4095, 4096, 20000, -4096, -1])
def test_a_truncated_file_is_refused_and_untouched(sound: Path, size: int) -> None:
    whole = sound.read_bytes()
    cut = whole[:size]
    sound.write_bytes(cut)
    told = r"memory\.db is (empty|damaged|not a Hardwon memory)"
    with pytest.raises((errors.DamagedError, errors.ForeignFileError), match=told):
        Memory(sound)
    assert sound.read_bytes() == cut


def test_a_page_that_is_cut_off_and_whole_in_the_log_is_no_damage(tmp_path: Path) -> None:
    """So it is where the power goes while the log is folded in."""
    with Memory(tmp_path / "memory.db") as memory:
        memory.remember("known before", "success", "conversation")
        (tmp_path / "after").mkdir()
        with closing(apsw.Connection(str(tmp_path / "memory.db"))) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        memory.remember("in the log " * 2000, "success", "conversation")
        for name in ("memory.db", "memory.db-wal"):
            (tmp_path / "after" / name).write_bytes((tmp_path / name).read_bytes())
        truth = [record.to_json() for record in memory.browse()]
    torn = tmp_path / "after" / "memory.db"
    with torn.open("ab") as file:
        file.write(b"\r" + bytes(511))
    assert all_of(torn) == truth
    assert torn.stat().st_size % 4096 == 0


def test_a_page_that_is_cut_off_and_not_in_the_log_is_damage(sound: Path) -> None:
    with Memory(sound) as memory:
        memory.remember("in the log", "success", "conversation")
        log, whole = sound.with_name("memory.db-wal").read_bytes(), sound.read_bytes()
    (sound.parent / "after").mkdir()
    torn = sound.parent / "after" / "memory.db"
    torn.write_bytes(whole[: len(whole) // 2 + 512])
    torn.with_name("memory.db-wal").write_bytes(log)
    with pytest.raises(errors.DamagedError, match=r"memory\.db is damaged"):
        Memory(torn)


def test_bit_flips_are_refused_or_harmless_and_never_believed(sound: Path) -> None:
    whole, truth = sound.read_bytes(), all_of(sound)
    rng = random.Random(11)
    refused = 0
    for _ in range(400):
        flipped = bytearray(whole)
        flipped[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        sound.write_bytes(flipped)
        try:
            assert all_of(sound) == truth
        except errors.StorageError:
            refused += 1
            assert sound.read_bytes() == flipped
    assert refused > 50, "hardly any flip was noticed"  # most of an empty table's page is unused


def test_flips_in_a_large_file_are_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardwon.store.sqlite.connection.OPEN_CHECK_BYTES_MAX", 0)
    path = tmp_path / "memory.db"
    with Memory(path) as memory:
        truth = {}
        for number in range(60):
            record = memory.record_fact(f"fact {number} " + "text " * 200, "observation")
            truth[record.id] = record
    whole = path.read_bytes()
    rng = random.Random(12)
    noticed = 0
    for _ in range(60):
        flipped = bytearray(whole)
        for _ in range(20):
            flipped[rng.randrange(4096, len(whole))] ^= 1 << rng.randrange(8)
        path.write_bytes(flipped)
        try:
            with Memory(path) as memory:
                for record_id, record in truth.items():
                    try:
                        assert memory.get(record_id) in (record, None)
                    except errors.DamagedError:
                        noticed += 1
                found = [record.id for record in memory.browse()]
                assert not memory.doctor().ok or found == list(truth)[::-1]
        except errors.StorageError:
            noticed += 1
    assert noticed > 60


def test_a_damaged_status_is_told_as_damage_by_whoever_recalls_it(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory:
        record = memory.remember("a note about module_1.py", "success", "conversation")
        go_past(memory, "UPDATE record SET status = char(0, 0, 0)")
        told = f"record {record.id} is not what was written"
        with pytest.raises(errors.DamagedError, match=told):
            memory.recall("note")


def test_a_damaged_event_is_told_by_the_doctor_and_whoever_reads_it(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db") as memory:
        record = memory.remember("a note about module_1.py", "success", "conversation")
        memory.verify(record.id, "compiler")
        for change in ("replace(body, 'at\":\"2', 'at\":\"x')", "substr(body, 5)"):
            go_past(memory, f"UPDATE event SET body = {change}")
            assert {finding.check for finding in wrong_with(memory)} == {"events", "records"}
            with pytest.raises(errors.DamagedError, match="an event is not what was written"):
                memory.audit(record.id)
            with pytest.raises(errors.DamagedError, match="an event is not what was written"):
                memory.archive(record.id, "no longer true")


def test_a_foreign_file_is_refused_and_untouched(tmp_path: Path) -> None:
    text = tmp_path / "notes.db"
    text.write_text("dear diary\n" * 500)
    theirs = tmp_path / "theirs.db"
    with closing(sqlite3.connect(theirs)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t AS SELECT 1 AS x")
        connection.commit()
    for path, message in ((text, "not a Hardwon memory"), (theirs, "database of another program")):
        before = path.read_bytes()
        with pytest.raises(errors.ForeignFileError, match=message):
            Memory(path)
        assert path.read_bytes() == before
    (tmp_path / "folder.db").mkdir()
    with Memory(tmp_path / "folder.db") as memory:  # a folder is one, whatever its name
        assert memory.location.endswith("folder.db/memory.db")
    (tmp_path / "file").write_text("x")
    with pytest.raises(errors.PlaceError, match="is not a folder"):
        Memory(tmp_path / "file")


@pytest.mark.parametrize(("found", "kind", "message"), [
    (FORMAT + 1, errors.NewerFileError, rf"format {FORMAT + 1}.*install that one"),
    (12, errors.OlderFileError, r"Hardwon 0\.x \(format 12.*with Hardwon 0\.12\.0.*hardwon load FILE"),
])  # fmt: skip
def test_another_format_is_refused_untouched(
    sound: Path, found: int, kind: Any, message: str
) -> None:
    connection = apsw.Connection(str(sound))
    if found < FORMAT:
        connection.pragma("user_version", found)
    else:
        connection.execute("UPDATE state SET value = ? WHERE name = 'format'", (found,))
    connection.close()
    before = sound.read_bytes()
    backup = sound.with_name("backup.db")
    backup.write_bytes(before)
    with pytest.raises(kind, match=message):
        Memory.restore(backup, sound.with_name("other.db"))
    with pytest.raises(kind, match=message):
        Memory(sound)
    assert sound.read_bytes() == before
    assert not sound.with_name("other.db").exists()


def test_a_full_disk_loses_nothing_and_writing_goes_on_when_there_is_room(tmp_path: Path) -> None:
    def work(tell: Tell) -> None:
        memory = Memory(tmp_path / "brain")
        tell(memory.record_fact("before", "observation").id)
        log = Path(memory.location + "-wal")
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size + 250_000, hard))
        told = "no room to write .* everything acknowledged before is kept"
        with pytest.raises(errors.FullError, match=told):
            for number in range(10_000):
                tell(memory.record_fact(f"fact {number} " + "x" * 500, "observation").id)
        with pytest.raises(errors.FullError):
            memory.record_fact("y" * 150_000, "observation")
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
        with pytest.raises(errors.FullError, match="out.jsonl"):
            memory.export(tmp_path / "out.jsonl")
        with pytest.raises(errors.FullError):
            memory.backup(tmp_path / "b.db")
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        tell(memory.record_fact("after", "observation").id)
        assert memory.doctor().ok
        memory.close()

    child = Child.start(work)
    assert child.wait() == 0
    assert len(child.acknowledged) > 5
    with Memory(tmp_path / "brain") as memory:
        assert {record.id for record in memory.browse()} == set(child.acknowledged)
        assert memory.doctor().ok
    # no half of an export or backup is left behind
    assert [file.name for file in tmp_path.iterdir()] == ["brain"]


def test_network_file_systems_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = (
        "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
        "40 22 0:50 / /mnt/team\\040share rw - nfs4 server:/export rw\n"
        "41 22 0:51 / /mnt/team\\040share/local rw - tmpfs tmpfs rw\n"
        "42 22 0:52 / /mnt/größe\\134x rw - nfs4 server:/more rw\n"
        "garbage\n"
    )
    assert find_file_system(Path("/home/x"), mounts) == "ext4"
    assert find_file_system(Path("/mnt/team share/brain"), mounts) == "nfs4"
    assert find_file_system(Path("/mnt/team share/local/x"), mounts) == "tmpfs"
    assert find_file_system(Path("/mnt/team share2"), mounts) == "ext4"
    assert find_file_system(Path("/mnt/größe\\x/brain"), mounts) == "nfs4"
    assert find_file_system(Path("/x"), "") == ""
    refuse_network_file_system(tmp_path)
    monkeypatch.setattr("hardwon.store.sqlite.connection.find_file_system", lambda *_: "nfs4")
    told = r"network file system \(nfs4\).* local disk, or use PostgreSQL"
    with pytest.raises(errors.PlaceError, match=told):
        Memory(tmp_path / "brain")
    assert not (tmp_path / "brain" / "memory.db").exists()


@pytest.mark.parametrize("sort", ["read error", "write error", "full disk", "sync error"])
def test_a_disk_that_fails_once_spoils_nothing_written_later(tmp_path: Path, sort: str) -> None:
    failed = 0
    with Disk() as disk, disk.used_by(process := Process("the one")):
        for countdown in range(1, 16):
            place = tmp_path / str(countdown)
            with Memory(place) as here, Memory(place) as elsewhere:
                here.remember("the first of all notes", "success", "conversation")
                unseen = "another note, which the other one has not seen"
                elsewhere.remember(unseen, "success", "conversation")
                process.fault = fault = Fault(sort, countdown)
                with suppress(errors.StorageError):
                    here.remember("a note that may be lost", "success", "conversation")
                process.fault = None
                failed += fault.fired
                kept = here.remember("a note that is kept", "success", "conversation")
            with Memory(place) as later:
                assert later.doctor().ok, f"after the {countdown}th call failed: {later.doctor()}"
                assert kept.id in {hit.record.id for hit in later.recall("note")}
    assert failed, "no write met the fault"


@each("statement", [
    "CREATE TRIGGER mine AFTER INSERT ON record BEGIN DELETE FROM record WHERE seq = NEW.seq; END",
    "CREATE TRIGGER mine BEFORE INSERT ON event BEGIN SELECT RAISE(IGNORE); END", "DROP TRIGGER tree_record_erased",
])  # fmt: skip
def test_a_memory_that_would_do_something_else_is_refused(statement: str) -> None:
    with TemporaryDirectory() as folder:
        with Memory(folder) as memory:
            memory.record_fact("The port is 5433.", "observation")
        before = Path(folder, "memory.db")
        with closing(apsw.Connection(str(before))) as connection:
            connection.execute(statement).fetchall()
        name = statement.split()[2]
        with pytest.raises(errors.ForeignFileError, match=rf"\({name}\).*restore a backup"):
            Memory(folder)
