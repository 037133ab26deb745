"""A file of an older version is backed up before its format changes, and never changed in a hook."""

from __future__ import annotations

import hashlib
import logging
import os
import resource
import shutil
import signal
from contextlib import closing
from pathlib import Path

import apsw
import pytest

import hardwon
from hardwon import Memory
from hardwon.errors import FullError, OlderFileError
from hardwon.store.sqlite import file
from hardwon.store.sqlite.migrations import SCHEMA_VERSION
from processes import Child, Tell

RELEASED = Path(__file__).parents[1] / "released"


def old_memory(folder: Path, version: str = "0.10.0") -> Path:
    path = folder / "memory.db"
    shutil.copy(RELEASED / f"{version}.db", path)
    path.chmod(0o600)
    return path


def format_of(path: Path) -> int:
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        version: int = connection.pragma("user_version")
        return version


def backups(path: Path) -> list[str]:
    names = [each.name for each in path.parent.iterdir()]
    return sorted(name for name in names if name.startswith(f"{path.name}.before-"))


NAMES = [f"memory.db.before-{SCHEMA_VERSION}", f"memory.db.before-{SCHEMA_VERSION}.sha256"]


def test_what_the_file_was_before_is_kept_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = old_memory(tmp_path)
    before, told = format_of(path), list[tuple[int, int]]()
    with (
        caplog.at_level(logging.WARNING, "hardwon"),
        Memory(path, "released", progress=lambda done, total: told.append((done, total))) as memory,
    ):
        kept = list(memory.browse())
        findings = {finding.check: finding for finding in memory.doctor().findings}
    assert (format_of(path), before < SCHEMA_VERSION) == (SCHEMA_VERSION, True)
    assert backups(path) == NAMES
    assert caplog.messages == [
        f"{path} was brought to format {SCHEMA_VERSION}; what it was before is kept as {NAMES[0]}"
    ]
    assert told[-1][0] == told[-1][1] > 0
    assert findings["backups"].ok
    assert findings["backups"].detail.endswith(f": {NAMES[0]}")
    backup = tmp_path / NAMES[0]
    assert format_of(backup) == before
    assert backup.with_name(NAMES[1]).read_text().split() == [
        hashlib.sha256(backup.read_bytes()).hexdigest(),
        NAMES[0],
    ]
    # the way back, and forth again
    way_back = tmp_path / "again" / "memory.db"
    way_back.parent.mkdir()
    shutil.copy(backup, way_back)
    with Memory(way_back, "released") as memory:
        assert list(memory.browse()) == kept


def test_a_file_of_this_format_is_not_copied(tmp_path: Path) -> None:
    for _ in range(2):
        Memory(tmp_path).close()
    assert backups(tmp_path / "memory.db") == []


def test_a_copy_that_is_there_already_is_kept(tmp_path: Path) -> None:
    path = old_memory(tmp_path)
    Memory(path).close()
    first = (tmp_path / NAMES[0]).read_bytes()
    path.unlink()
    Memory(old_memory(tmp_path)).close()
    assert backups(path) == NAMES  # it is of the very same memory
    path.unlink()
    with closing(apsw.Connection(str(old_memory(tmp_path)))) as other:
        other.execute("UPDATE state SET value = value + 1")
        other.execute("INSERT INTO state VALUES ('', 'something else', 1)")
    Memory(path).close()
    assert backups(path) == [
        NAMES[0],
        f"{NAMES[0]}-2",
        f"{NAMES[0]}-2.sha256",
        NAMES[1],
    ]
    assert (tmp_path / NAMES[0]).read_bytes() == first


def test_a_kill_between_the_copy_and_the_change_leaves_both_sound(tmp_path: Path) -> None:
    path = old_memory(tmp_path)
    before = format_of(path)

    def die(_: Tell) -> None:
        setattr(file, "_derive_knowledge", lambda _: os.kill(os.getpid(), signal.SIGKILL))  # noqa: B010  # mypy
        Memory(path)

    Child.start(die).wait()
    assert backups(path) == NAMES
    assert format_of(path) == format_of(tmp_path / NAMES[0]) == before
    with Memory(path, "released") as memory:
        assert memory.doctor().ok
    assert backups(path) == NAMES


def test_a_change_that_fails_leaves_no_copy_and_no_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = old_memory(tmp_path)
    before = path.read_bytes()

    def fail(_: object) -> None:
        raise apsw.SQLError("made to fail")

    monkeypatch.setattr(file, "_derive_knowledge", fail)
    with pytest.raises(hardwon.HardwonError, match="made to fail"):
        Memory(path)
    assert backups(path) == []
    assert path.read_bytes() == before


@pytest.mark.parametrize("for_the_copy", [False, True])
def test_a_full_disk_changes_nothing_and_says_so(tmp_path: Path, for_the_copy: bool) -> None:
    path = old_memory(tmp_path, "0.1.0")  # to which most is added
    before = format_of(path)

    def work(_: Tell) -> None:
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        room = path.stat().st_size if for_the_copy else 40_000
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
        with pytest.raises(FullError, match="no room to write"):
            Memory(path)

    assert Child.start(work).wait() == 0
    assert backups(path) == []
    assert format_of(path) == before
    with Memory(path, "released") as memory:
        assert memory.doctor().ok
        assert len(list(memory.browse())) == 5


def test_in_a_hook_it_is_left_as_it_is(tmp_path: Path) -> None:
    path = old_memory(tmp_path)
    before = path.read_bytes()
    with pytest.raises(OlderFileError, match=rf"Run hardwon --memory {path} stats once"):
        Memory(path, upgrade=False)
    assert path.read_bytes() == before
    assert backups(path) == []
    Memory(path).close()
    Memory(path, upgrade=False).close()
