"""What a lost connection cut off is done again: once, whole, and not for ever."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest

from hardwon import Memory
from hardwon.capture.tests import RanTest
from hardwon.errors import InterruptedWriteError, InvalidInputError
from hardwon.memory.project import INTERRUPTED_WRITES_AGAIN_MAX
from hardwon.records.kinds import Fact
from hardwon.store.sqlite.engine import SqliteStore, SqliteWriter
from short import fix


class CutOff(SqliteStore):
    """Its writes are carried out and, as often as `cuts` says, rolled back."""

    cuts: ClassVar[int] = 0
    begun: ClassVar[int] = 0

    @contextmanager
    def write(self, *args: Any, **options: Any) -> Iterator[SqliteWriter]:
        with super().write(*args, **options) as writer:
            CutOff.begun += 1
            yield writer
            if CutOff.cuts:
                CutOff.cuts -= 1
                raise InterruptedWriteError("the server closed the connection: nothing was kept")


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.setattr("hardwon.memory.places.SqliteStore", CutOff)
    monkeypatch.setattr(CutOff, "cuts", 0)
    monkeypatch.setattr(CutOff, "begun", 0)
    with Memory(tmp_path / "brain") as opened:
        yield opened


def known(memory: Memory) -> list[str]:
    texts = [f"port {number} is open" for number in (80, 81)]
    return [memory.remember(text, "failure", "unknown").id for text in texts]


def fact() -> Fact:
    return Fact(content="Port 80 is open.", fact_type="solution", confidence=0.5)


WRITES: dict[str, Callable[[Memory, list[str]], object]] = {
    "keep": lambda memory, _: memory.record(fact()),
    "add_many": lambda memory, _: memory.add_many(fact() for _ in range(3)),
    "record_fact": lambda memory, _: memory.record_fact("Port 80 is open.", "solution"),
    "record_many": lambda memory, _: memory.care.record_many(
        "episode", ({"task_id": "t", "score": 0.5} for _ in range(2))
    ),
    "credit": lambda memory, ids: memory.credit(iter(ids), True),
    "verify": lambda memory, ids: memory.verify(ids[0], "human_approval"),
    "archive": lambda memory, ids: memory.archive(ids[0], "it is wrong"),
    "supersede": lambda memory, ids: memory.supersede(ids[0], ids[1], "it is better"),
    "rollback": lambda memory, _: memory.rollback("mallory"),
    "forget": lambda memory, ids: memory.forget(iter(ids)),
    "record_tests": lambda memory, _: memory.tests.record(
        [RanTest("test_a.py::test_b", True, "E   boom")]
    ),
}


def state(memory: Memory) -> tuple[int, ...]:
    stats = memory.stats()
    return stats.total, stats.events, stats.forgotten


@pytest.mark.parametrize("name", WRITES)
def test_what_was_cut_off_is_done_again_once(name: str, memory: Memory, tmp_path: Path) -> None:
    with Memory(tmp_path / "uncut") as other:
        WRITES[name](other, known(other))
        expected = state(other)
    ids = known(memory)
    CutOff.cuts, CutOff.begun = 2, 0
    WRITES[name](memory, ids)
    assert (CutOff.cuts, CutOff.begun) == (0, 3)
    assert state(memory) == expected
    assert memory.doctor().ok


@pytest.mark.parametrize("name", WRITES)
def test_who_is_cut_off_again_and_again_is_told(name: str, memory: Memory) -> None:
    ids = known(memory)
    before = state(memory)
    CutOff.cuts, CutOff.begun = 1_000, 0
    with pytest.raises(InterruptedWriteError, match="nothing was kept"):
        WRITES[name](memory, ids)
    assert CutOff.begun == 1 + INTERRUPTED_WRITES_AGAIN_MAX
    assert state(memory) == before


def test_what_is_taken_back_is_so_once(memory: Memory) -> None:
    ids = known(memory)
    memory.archive(ids[0], "it is wrong")
    event = memory.audit(ids[0])[-1].event
    assert event is not None
    CutOff.cuts = 1
    assert memory.undo(event.id).metadata.validation.status == "hypothesis"
    with pytest.raises(InvalidInputError, match="not taken back already"):
        memory.undo(event.id)


def test_a_cleanup_is_done_again(memory: Memory) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=400)
    for number in range(3):
        fix(memory, False, applied=False, timestamp=long_ago, author=f"a{number}")
    CutOff.cuts, CutOff.begun = 1, 0
    done = memory.cleanup(30, dry_run=False)
    assert (CutOff.begun, memory.stats().cleaned) == (2, done.failed)
    assert done.failed > 0


def test_a_request_with_a_key_is_carried_out_once(memory: Memory) -> None:
    CutOff.cuts = 1
    with memory.care.once(b"k" * 16, b"said"):
        memory.record(fact())
    assert memory.stats().records == 1
