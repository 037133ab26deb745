"""What was decided about a record can be taken back: it is again what it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engines import ENGINES, Places, wrong_with
from hardwon import Memory
from hardwon.errors import InvalidInputError, UnknownRecordError
from short import status_of

pytestmark = pytest.mark.engines(*ENGINES)


@pytest.fixture
def memory(place: Places) -> Iterator[Memory]:
    with Memory(place("brain"), checkout=False) as opened:
        yield opened


def learned(memory: Memory, content: str = "Retry after a minute.") -> str:
    return memory.remember(content, "learning", insight_type="fact").id


def last_event(memory: Memory, record_id: str) -> str:
    event = memory.audit(record_id)[-1].event
    assert event
    return event.id


def test_an_archived_record_comes_back_as_what_it_was(memory: Memory) -> None:
    record = learned(memory)
    memory.verify(record, "human_approval")
    memory.archive(record, "by mistake")
    assert memory.recall("retry") == []
    again = memory.undo(last_event(memory, record), by="maria")
    assert (again.id, again.metadata.validation.status) == (record, "verified")
    assert [hit.record.id for hit in memory.recall("retry")] == [record]
    assert [each.kind for each in memory.audit(record)] == ["created", "status", "status", "undone"]
    assert memory.audit(record)[-1].by == "maria"
    assert wrong_with(memory) == []


def test_a_verification_is_taken_back_beneath_what_came_later(memory: Memory) -> None:
    record = learned(memory)
    memory.verify(record, "compiler")
    verified = last_event(memory, record)
    memory.publish(record)
    memory.undo(verified)
    assert status_of(memory, record) == "published"
    events = [entry.event for entry in memory.audit(record) if entry.event]
    memory.undo(next(event.id for event in events if event.status == "published"))
    assert status_of(memory, record) == "hypothesis"
    memory.verify(record, "compiler")
    assert status_of(memory, record) == "verified"


def test_a_replacement_is_taken_back_with_its_links(memory: Memory) -> None:
    old, new = learned(memory), learned(memory, "Retry after two minutes.")
    memory.supersede(old, new, "measured")
    assert memory.care.links(old).replaced_by == new
    memory.undo(last_event(memory, old))
    assert status_of(memory, old) == "hypothesis"
    assert (memory.care.links(old).replaced_by, memory.care.links(new).replaces) == (None, ())


def test_what_it_taught_counts_again(memory: Memory) -> None:
    issue = {"model": "m", "issue_type": "TIMEOUT", "description": "slow"}
    fix = memory.record_fix(issue, True, True, fix_commands=["raise the timeout"])
    before = memory.fixes.totals()
    memory.archive(fix.id, "by mistake")
    assert memory.fixes.totals() != before
    memory.undo(last_event(memory, fix.id))
    assert memory.fixes.totals() == before
    assert wrong_with(memory) == []


def test_the_file_in_the_tree_comes_back(tmp_path: Path) -> None:
    with Memory(tmp_path / "brain", checkout=False) as memory:
        memory.tree.make()
        record = memory.remember("Retry after a minute.", "learning", insight_type="fact")
        assert record.path
        memory.archive(record.id, "by mistake")
        assert not Path(record.path).exists()
        memory.undo(last_event(memory, record.id))
        assert [hit.record.id for hit in memory.recall("retry")] == [record.id]
        assert list((tmp_path / "brain").rglob("*.json")) != []
        assert wrong_with(memory) == []


def test_two_memories_agree_about_it_in_any_order(place: Places, memory: Memory) -> None:
    record = learned(memory)
    with Memory(place("other"), checkout=False) as other:
        other.merge(memory, trust=True)
        memory.archive(record, "by mistake")
        other.merge(memory, trust=True)
        memory.undo(last_event(memory, record))
        other.merge(memory, trust=True)
        memory.merge(other, trust=True)
        assert status_of(other, record) == status_of(memory, record) == "hypothesis"


def test_a_confirmation_that_was_taken_back_publishes_nothing(memory: Memory) -> None:
    record = learned(memory)
    memory.verify(record, "compiler")
    memory.undo(last_event(memory, record))
    for name in ("a", "b", "c", "d"):
        memory.credit(record, True, by=name)
    assert status_of(memory, record) == "hypothesis"


def test_what_cannot_be_taken_back_is_told(memory: Memory) -> None:
    record = learned(memory)
    memory.archive(record, "by mistake")
    archived = last_event(memory, record)
    memory.undo(archived)
    with pytest.raises(InvalidInputError, match="not taken back already"):
        memory.undo(archived)
    with pytest.raises(InvalidInputError, match="verified, published, archived or replaced"):
        memory.undo(last_event(memory, record))
    memory.credit(record, True)
    with pytest.raises(InvalidInputError, match="verified, published, archived or replaced"):
        memory.undo(last_event(memory, record))
    for unknown in (record, "0198c0de-0000-7000-8000-000000000001", "nonsense"):
        with pytest.raises(UnknownRecordError):
            memory.undo(unknown)
    decision = memory.rollback("nobody")
    memory.undo(decision.id)
    with pytest.raises(InvalidInputError, match="made anew"):
        memory.undo(last_event(memory, decision.id))
