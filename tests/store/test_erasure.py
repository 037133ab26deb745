"""What is forgotten cannot be read from the disk any more."""

from __future__ import annotations

import errno
import os
import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from engines import ENGINES, everything_in, wrong_with
from hardwon import Memory


def bytes_of(folder: Path) -> bytes:
    """Only after the memory is closed."""
    return b"".join(file.read_bytes() for file in sorted(folder.iterdir()))


def test_forgotten_text_is_gone_from_every_file(tmp_path: Path) -> None:
    rng = random.Random(3)
    marks: dict[str, str] = {}
    with Memory(tmp_path) as memory:
        for number in range(400):
            mark = f"Mark{rng.getrandbits(64):016x}"
            filler = "filler words here " * rng.choice([0, 5, 60, 400])
            said: Any = {"tags": [mark], "mine": mark, "author": mark}
            record = memory.remember(f"{mark} {filler}", "success", "conversation", **said)
            marks[record.id] = mark
            if number % 5 == 0:
                memory.archive(record.id, f"because of {mark}")
        doomed = rng.sample(sorted(marks), 120)
        report = memory.forget(doomed)
        assert (report.erased, report.pending) == (True, False)
        assert memory.doctor().ok
    left = bytes_of(tmp_path).lower()
    for record_id, mark in marks.items():
        assert (mark.lower().encode() in left) is (record_id not in doomed)
        assert (mark[4:].lower().encode() in left) is (record_id not in doomed)


def test_the_emptied_log_is_on_disk_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a power cut a log that was emptied may be as it was, unless it was synced since."""
    with Memory(tmp_path / "brain") as memory:
        record = memory.remember("nobody shall know", "success", "conversation")
        log = tmp_path / "brain" / "memory.db-wal"
        synced: list[tuple[int, int]] = []
        real = os.fsync

        def fsync(handle: int) -> None:
            real(handle)
            synced.append((os.fstat(handle).st_ino, os.fstat(handle).st_size))

        monkeypatch.setattr(os, "fsync", fsync)
        assert memory.forget(record.id).erased
        assert (log.stat().st_ino, 0) in synced

        def no_disk(_: int) -> None:
            raise OSError(errno.EIO, "the disk does not answer")

        other = memory.remember("nor this", "success", "conversation")
        monkeypatch.setattr(os, "fsync", no_disk)
        assert memory.forget(other.id).pending
        monkeypatch.setattr(os, "fsync", real)


def test_a_reader_makes_it_pending_and_the_bytes_go_when_it_has_finished(tmp_path: Path) -> None:
    with Memory(tmp_path) as memory:
        record = memory.remember("Unforgettable1234 text", "success", "conversation")
        with closing(apsw.Connection(memory.location)) as reader:
            rows = reader.execute("SELECT body FROM record")
            next(rows)
            report = memory.forget(record.id)
            assert (report.erased, report.pending) == (False, True)
            assert memory.get(record.id) is None
        assert memory.recall("Unforgettable1234") == []
    assert b"nforgettable1234" not in bytes_of(tmp_path)


@pytest.mark.engines(*ENGINES)
def test_nothing_that_is_kept_has_a_forgotten_text(memory: Memory) -> None:
    """Also where it was tagged, credited, archived, embedded into tallies and searched for."""

    def record(mark: str) -> list[str]:
        says: Any = {"tags": [mark], "mine": mark, "author": mark}
        card, issue = {"mistake_type": mark, "lesson": mark}, {"model": mark, "issue_type": mark}
        file = f"{mark}.py"
        return [
            memory.remember(f"{mark} text", "success", "conversation", **says).id,
            memory.record_episode(mark, 0.2, mistakes=[mark], mistake_cards=[card]).id,
            memory.record_fix(issue, True, True, mark, [mark], notes=mark).id,
            memory.record_fact(f"{mark} is a fact.", "observation", related_files=[file]).id,
        ]

    gone, left = record("wandering"), record("remaining")
    memory.archive(gone[0], "because of wandering")
    memory.credit(gone[3], True)
    assert b"wandering" in everything_in(memory).lower()
    assert memory.forget(gone).erased
    assert memory.recall("wandering") == []
    assert b"wandering" not in everything_in(memory).lower()
    assert b"remaining" in everything_in(memory).lower()
    assert all(memory.get(record_id) for record_id in left)
    assert wrong_with(memory) == []


@pytest.mark.engines(*ENGINES)
def test_what_two_forget_at_once_is_forgotten_once(memory: Memory) -> None:
    texts = [f"number {number}" for number in range(40)]
    ids = [memory.remember(text, "learning", insight_type="fact").id for text in texts]
    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(lambda _: memory.forget(ids).ids, range(4)))
    assert sorted(found for each in told for found in each) == sorted(ids)
    assert memory.stats().events == len(ids)
