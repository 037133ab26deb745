"""A log that is another file's is kept aside, never replayed; the file's own is replayed."""

from __future__ import annotations

import os
import random
import shutil
import signal
import textwrap
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

import warm
from fact_files import contents, facts_in, sh, write
from hardwon import Memory
from hardwon.errors import ForeignLogWarning
from hardwon.store.sqlite import log as sqlite_log
from hardwon.store.sqlite import presence
from hardwon.store.sqlite.connection import drawn_before, drawn_in
from processes import Child, Tell
from short import run_program


def killed(folder: Path, script: str) -> None:
    """Runs the script in a process that is killed at its end."""
    lines = f"import os\nfrom hardwon import Memory\n{textwrap.dedent(script)}\nos.kill(os.getpid(), {int(signal.SIGKILL)})"
    run_program(warm.python(), "-c", lines, cwd=folder, status=-signal.SIGKILL)


def write_and_be_killed(folder: Path, name: str, *facts: str) -> None:
    writes = f"for fact in {facts!r}: m.record_fact(fact, 'observation')"
    killed(folder, f"m = Memory({name!r})\n{writes}")
    assert (folder / name / "memory.db-wal").stat().st_size > 0


def facts_after_a_warning(place: Path) -> list[str]:
    """As they are after the log was put aside, and again when it is opened the next time."""
    log = Path(f"{place}/memory.db-wal")
    before = log.read_bytes()
    told = r"not replayed.*kept as memory\.db-wal\.foreign-"
    with pytest.warns(ForeignLogWarning, match=told), Memory(place) as memory:
        found = contents(memory)
        diagnosis = memory.doctor()
        assert diagnosis.ok
        assert "memory.db-wal.foreign-" in str(diagnosis)
    kept = list(place.glob("memory.db-wal.foreign-*"))
    assert before in [each.read_bytes() for each in kept]
    assert facts_in(place) == found
    return found


def test_another_database_that_is_copied_over_it(tmp_path: Path) -> None:
    write(tmp_path / "other", "Port 1 is open.")
    write(tmp_path / "x", "Port 2 is open.")
    write_and_be_killed(tmp_path, "x", "Port 3 is open.", "Port 4 is open.")
    sh(tmp_path, "cp other/memory.db x/memory.db")
    assert facts_after_a_warning(tmp_path / "x") == ["Port 1 is open."]


def test_many_older_states(tmp_path: Path) -> None:
    """As in the hazard: 32 of 40 were corrupt."""
    for turn in range(12):
        write(tmp_path / "x", *(f"Port {turn}.{n} is open." for n in range(3)))
        sh(tmp_path, f"cp x/memory.db copy{turn}.db")
    kept = facts_in(tmp_path / "x")
    write_and_be_killed(tmp_path, "x", "Port 99 is open.")
    log, file = (tmp_path / "x" / name for name in ("memory.db-wal", "memory.db"))
    saved = log.read_bytes()
    for turn in range(11):
        sh(tmp_path, f"cp copy{turn}.db x/memory.db")
        log.write_bytes(saved)
        assert len(facts_after_a_warning(tmp_path / "x")) == 3 * (turn + 1)
    # The state in which the log was begun is the file itself: nothing that was acknowledged is
    # lost.
    sh(tmp_path, "cp copy11.db x/memory.db")
    log.write_bytes(saved)
    assert facts_in(tmp_path / "x") == sorted([*kept, "Port 99 is open."])
    assert file.exists()


@pytest.mark.parametrize("moment", ["before", "while the log is written"])
def test_a_backup_that_is_copied_over_it(tmp_path: Path, moment: str) -> None:
    write(tmp_path / "x", "Port 1 is open.")
    made = "m.backup('copy.db')\nm.record_fact('Port 3 is open.', 'observation')"
    if moment == "before":
        with Memory(tmp_path / "x") as memory:
            memory.backup(tmp_path / "copy.db")
        made = "m.record_fact('Port 3 is open.', 'observation')"
    killed(tmp_path, f"m = Memory('x')\nm.record_fact('Port 2 is open.', 'observation')\n{made}")
    sh(tmp_path, "cp copy.db x/memory.db")
    expected = ["Port 1 is open.", "Port 2 is open."] if moment != "before" else ["Port 1 is open."]
    assert facts_after_a_warning(tmp_path / "x") == expected


def test_the_log_of_another_memory_that_is_put_beside(tmp_path: Path) -> None:
    write(tmp_path / "x", "Port 1 is open.")
    write(tmp_path / "other", "Port 2 is open.")
    write_and_be_killed(tmp_path, "other", "Port 3 is open.")
    sh(tmp_path, "cp other/memory.db-wal x/memory.db-wal")
    assert facts_after_a_warning(tmp_path / "x") == ["Port 1 is open."]
    assert facts_in(tmp_path / "other") == ["Port 2 is open.", "Port 3 is open."]


@pytest.mark.parametrize("page_bytes", [4096, 1024])
def test_the_log_of_another_program(tmp_path: Path, page_bytes: int) -> None:
    write(tmp_path / "x", "Port 1 is open.")
    program = f"""
        import apsw
        c = apsw.Connection("other.db")
        c.execute("PRAGMA page_size = {page_bytes}; PRAGMA journal_mode = WAL; CREATE TABLE t (a)").fetchall()
    """
    killed(tmp_path, program)
    sh(tmp_path, "cp other.db-wal x/memory.db-wal")
    assert facts_after_a_warning(tmp_path / "x") == ["Port 1 is open."]


def test_restoring_over_a_foreign_log(tmp_path: Path) -> None:
    write(tmp_path / "other", "Port 1 is open.")
    with Memory(tmp_path / "other") as memory:
        memory.backup(tmp_path / "copy.db")
    write_and_be_killed(tmp_path, "x", "Port 2 is open.")
    sh(tmp_path, "cp other/memory.db x/memory.db")
    with pytest.warns(ForeignLogWarning):
        Memory.restore(tmp_path / "copy.db", tmp_path / "x")
    assert facts_in(tmp_path / "x") == ["Port 1 is open."]


def test_two_that_open_it_at_once(tmp_path: Path) -> None:
    write(tmp_path / "other", "Port 1 is open.")
    for _ in range(5):
        shutil.rmtree(tmp_path / "x", ignore_errors=True)
        write(tmp_path / "x", "Port 2 is open.")
        write_and_be_killed(tmp_path, "x", "Port 3 is open.")
        sh(tmp_path, "cp other/memory.db x/memory.db")

        def look(tell: Tell) -> None:
            warnings.simplefilter("ignore")
            with Memory(tmp_path / "x") as memory:
                tell(memory.record_fact(f"Port {os.getpid()} is open.", "observation").id)
                assert "Port 3 is open." not in contents(memory)

        children = [Child.start(look) for _ in range(4)]
        assert [child.wait() for child in children] == [0] * 4
        with Memory(tmp_path / "x") as memory:
            assert all(memory.get(child.acknowledged[0]) for child in children)
            assert memory.doctor().ok
        assert len(list((tmp_path / "x").glob("memory.db-wal.foreign-*"))) == 1


def test_the_log_of_whoever_was_killed_is_replayed(tmp_path: Path) -> None:
    for turn in range(4):
        write_and_be_killed(tmp_path, "x", f"Port {turn} is open.")
    assert facts_in(tmp_path / "x") == [f"Port {turn} is open." for turn in range(4)]


def folded_in(path: Path, pages: int | None) -> None:
    """The log's newest whole pages into the file: all of them, or the first few."""
    log = path.with_name("memory.db-wal").read_bytes()
    newest: dict[int, bytes] = {}
    for at in range(32, len(log) - 4119, 4120):
        newest[int.from_bytes(log[at : at + 4], "big")] = log[at + 24 : at + 4120]
    with path.open("r+b") as file:
        for number in sorted(newest)[:pages]:
            file.seek((number - 1) * 4096)
            file.write(newest[number])


@pytest.mark.parametrize("pages", [0, 1, 3, 7, 12, 20, None])
def test_a_file_into_which_the_log_was_being_folded(tmp_path: Path, pages: int | None) -> None:
    write(tmp_path / "x", "Port 1 is open.")
    write_and_be_killed(tmp_path, "x", *(f"Port {n} is open." for n in range(2, 9)))
    folded_in(tmp_path / "x" / "memory.db", pages)
    assert len(facts_in(tmp_path / "x")) == 8


@pytest.mark.parametrize("moment", ["alone", "after others", "before others"])
def test_a_restore_that_was_killed_before_its_log_was_folded(tmp_path: Path, moment: str) -> None:
    write(tmp_path / "other", "Port 1 is open.", "Port 2 is open.")
    with Memory(tmp_path / "other") as memory:
        memory.backup(tmp_path / "copy.db")
    write(tmp_path / "x", "Port 3 is open.")

    def other(when: str, port: int) -> str:
        write_one = f"n = Memory('x'); n.record_fact('Port {port} is open.', 'observation')"
        return write_one if moment == when else ""

    script = f"""
        import apsw
        from hardwon import limits
        limits.BUSY_TIMEOUT_MS = 200  # nobody gives way here
        {other("after others", 4)}
        reader = apsw.Connection("x/memory.db")  # keeps the log from being folded in
        reader.execute("BEGIN; SELECT count(*) FROM record").fetchall()
        Memory.restore("copy.db", "x")
        {other("before others", 5)}
    """
    killed(tmp_path, script)
    ports = (1, 2, 5) if moment == "before others" else (1, 2)
    assert facts_in(tmp_path / "x") == [f"Port {port} is open." for port in ports]


def test_each_transaction_draws_one_number_that_follows_the_one_before(tmp_path: Path) -> None:
    write(tmp_path / "x", "Port 1 is open.")
    script = """
        m = Memory("x")
        m.record_fact("Port 2 is open.", "observation")
        m.record_fact("Port 3 is open.", "observation")
        with m._project.store.write("default") as writer:
            pass  # which changes nothing
        m.archive(m.record_fact("Port 4 is open.", "observation").id, "of no use")
        m.rebuild()
        with m._project.store.write("default") as writer:  # as before the file is compacted
            writer.has_changed = True
        m.record_fact("Port 5 is open.", "observation")
    """
    killed(tmp_path, script)
    path = tmp_path / "x" / "memory.db"
    log = sqlite_log.Log.read(path.with_name("memory.db-wal"))
    assert log is not None
    drawn = list(dict.fromkeys(log.numbers))
    assert len(drawn) > 5
    assert [drawn_before(number) for number in drawn] == [
        drawn_in(sqlite_log.number_in(path.read_bytes())),
        *(drawn_in(number) for number in drawn[:-1]),
    ]
    assert len(facts_in(tmp_path / "x")) == 5


def test_the_log_is_left_alone_while_somebody_has_the_file_open(tmp_path: Path) -> None:
    """Whoever is the last to have it open, of whatever library, takes the log away."""
    write(tmp_path / "x", "Port 1 is open.")
    path = tmp_path / "x" / "memory.db"
    with closing(apsw.Connection(str(path))) as other:
        other.execute("SELECT count(*) FROM record").fetchall()
        presence.refuse_foreign_log(path)
        assert presence._UNCLOSED  # closing it now would drop the locks of `other`
        with Memory(tmp_path / "x") as memory:
            assert not presence._UNCLOSED
            memory.record_fact("Port 2 is open.", "observation")
        assert other.execute("SELECT count(*) FROM record").get == 2
    assert facts_in(tmp_path / "x") == ["Port 1 is open.", "Port 2 is open."]
    Memory(tmp_path / "y").close()
    assert not presence._UNCLOSED


def put(data: bytes, at: int, other: bytes) -> bytes:
    return data[:at] + other + data[at + len(other) :]


def test_a_log_that_is_cut_or_changed_anywhere_is_no_other_files(tmp_path: Path) -> None:
    """SQLite replays what is whole before the change. None of it is a reason to refuse the rest."""
    write(tmp_path / "x", "Port 1 is open.")
    write_and_be_killed(tmp_path, "x", "Port 2 is open.", "Port 3 is open.")
    log, rng = tmp_path / "x" / "memory.db-wal", random.Random(4)
    whole, file = log.read_bytes(), (tmp_path / "x" / "memory.db").read_bytes()
    changes: list[Callable[[bytes], bytes]] = [
        lambda data: data[: rng.randrange(len(data))],
        lambda data: put(
            data, at := rng.randrange(len(data)), bytes([data[at] ^ 1 << rng.randrange(8)])
        ),
        lambda data: put(data, rng.randrange(len(data) // 512) * 512, bytes(512)),
    ]
    for turn in range(60):
        (tmp_path / "x" / "memory.db").write_bytes(file)
        log.write_bytes(changes[turn % 3](whole))
        presence.refuse_foreign_log(tmp_path / "x" / "memory.db")
        assert log.exists()
