"""Old fixes leave the history; what was learned stays; it can be undone."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import TORTURE
from engines import ENGINES, Places, everything_in, wrong_with
from hardwon import Fix, Memory
from hardwon.errors import ConflictError, InvalidInputError
from hardwon.memory import cleanup as tidying
from hardwon.records.kinds import Cleaned
from hardwon.store.query import pack, unpack
from logs import knowledge_of
from processes import Child
from strategies import at

pytestmark = pytest.mark.engines(*ENGINES)

NOW = at(0) + timedelta(days=365)
KILLS, KILLED_ROWS = (100, 400) if TORTURE else (12, 150)


def opened(location: str | Path) -> Memory:
    return Memory(location, clock=lambda: NOW)


@pytest.fixture
def memory(place: Places) -> Iterator[Memory]:
    with opened(place("brain")) as made:
        yield made


def ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


def a_fix(memory: Memory, days: float, good: bool = False, **changes: Any) -> Fix:
    issue = {"model": "m", "issue_type": "ERROR", "description": "broken"}
    issue["error_output"] = "Traceback: zanzibar"
    given: dict[str, Any] = {"issue": issue, "fix_success": good, "verification_success": good}
    given |= {"fix_commands": ["retry"], "timestamp": ago(days)}
    return memory.record_fix(**{**given, **changes})


def of_issue(number: int) -> dict[str, Any]:
    issue = {"model": "m", "issue_type": "ERROR", "description": "broken"}
    return {**issue, "test_prompt": f"prompt {number}"}


def known(memory: Memory) -> Any:
    """What the memory says it knows of fixes, but for how it found out."""
    names = ("name", "success_count", "failure_count", "p_success", "last_seen")
    patterns = [[getattr(each, name) for name in names] for each in memory.patterns()]
    total = memory.model_insights("m").total_tests
    return patterns, memory.odds(), total, memory.fixes.temporal_patterns()


def tallies_of(memory: Memory) -> list[Any]:
    return [row for row in knowledge_of(memory) if len(row) > 2]


@pytest.mark.parametrize("good", [True, False])
def test_a_fix_goes_when_it_is_older_than_asked(memory: Memory, good: bool) -> None:
    for days in (31, 30, 29, 1):
        a_fix(memory, days, good=good)
    done = memory.cleanup(30, dry_run=False, successes_days=30)
    assert (done.failed, done.successful, done.kept) == (int(not good), int(good), 0)
    left = sorted((NOW - fix.metadata.context.timestamp).days for fix in memory.browse(kind="fix"))
    assert left == [1, 29, 30]


def test_successes_stay_longer_than_failures(memory: Memory) -> None:
    for days in (100, 50, 20, 1):
        a_fix(memory, days, good=True)
        a_fix(memory, days)
    preview = memory.cleanup(30)
    assert (preview.failed, preview.successful) == (2, 1)
    assert (preview.dry_run, preview.event_id) == (True, None)
    done = memory.cleanup(30, dry_run=False)
    assert (done.failed, done.successful) == (2, 1)
    left = sorted((NOW - fix.metadata.context.timestamp).days for fix in memory.browse(kind="fix"))
    assert left == [1, 1, 20, 20, 50]
    assert memory.cleanup(30, dry_run=False, successes_days=30).successful == 1


def test_the_last_word_on_a_pattern_stays(memory: Memory) -> None:
    only_failure = a_fix(memory, 300, issue=of_issue(1))
    old_success = a_fix(memory, 310, good=True, issue=of_issue(2))
    failed_since = a_fix(memory, 305, issue=of_issue(2))
    vouched = a_fix(memory, 320, issue=of_issue(2))
    memory.verify(vouched.id, "human_approval")
    helpful = a_fix(memory, 320, issue=of_issue(2))
    memory.credit(helpful.id, True)
    useless = a_fix(memory, 330, issue=of_issue(2), fix_commands=["guess"])
    done = memory.cleanup(30, dry_run=False)
    assert done.failed == 1
    assert isinstance(memory.get(useless.id), Cleaned)
    for fix in (only_failure, old_success, failed_since, vouched, helpful):
        assert isinstance(memory.get(fix.id), Fix)
    assert done.kept == 5


def test_a_proven_strategy_stays_in_words(memory: Memory) -> None:
    said: Any = {"good": True, "fix_commands": ["proven"]}
    proven = [a_fix(memory, 300 - n, issue=of_issue(n), **said) for n in range(3)]
    for number in range(3):
        a_fix(memory, 1, good=True, issue=of_issue(number), fix_commands=["new way"])
    memory.cleanup(30, dry_run=False)
    assert isinstance(memory.get(proven[-1].id), Fix)
    assert isinstance(memory.get(proven[0].id), Cleaned)
    assert {each.action for each in memory.fixes.strategies("ERROR")} == {"new way", "proven"}


def filled(memory: Memory, count: int = 60) -> None:
    for number in range(count):
        about = {"issue": of_issue(number % 4), "author": ["ann", "bob"][number % 2]}
        a_fix(memory, 40 + number, good=number % 3 == 0, **about)


def test_nothing_that_was_learned_changes_and_it_can_be_undone(memory: Memory) -> None:
    filled(memory)
    before, tallies = known(memory), tallies_of(memory)
    records = sorted(record.to_json() for record in memory.browse())
    done = memory.cleanup(30, dry_run=False, successes_days=30)
    assert done.failed > 30
    assert done.event_id is not None
    assert memory.stats().records == 60 - done.failed - done.successful
    assert memory.stats().cleaned == done.failed + done.successful
    assert (known(memory), tallies_of(memory)) == (before, tallies)
    assert wrong_with(memory) == []
    assert all(isinstance(hit.record, Fix) for hit in memory.recall("broken prompt", 50))
    memory.undo(done.event_id)
    assert sorted(record.to_json() for record in memory.browse()) == records
    assert sorted(tallies_of(memory)) == sorted(tallies)
    assert memory.stats().cleaned == 0
    assert wrong_with(memory) == []
    with pytest.raises(InvalidInputError):
        memory.undo(done.event_id)


def test_what_was_compacted_stays_away(memory: Memory) -> None:
    filled(memory)
    before = known(memory)
    done = memory.cleanup(30, dry_run=False)
    compacted = memory.compact()
    assert compacted.purged == done.failed + done.successful
    assert known(memory) == before
    assert wrong_with(memory) == []
    assert done.event_id is not None
    with pytest.raises(ConflictError, match="compacted"):
        memory.undo(done.event_id)
    assert memory.compact().purged == 0
    kept = "".join(fix.to_json() for fix in memory.browse(kind="fix"))
    assert b"zanzibar" not in everything_in(memory) or "zanzibar" in kept
    memory.rebuild()
    assert known(memory) == before


def test_forgetting_what_left_the_history_takes_back_what_it_taught(memory: Memory) -> None:
    fixes = [a_fix(memory, 100 - number, issue=of_issue(1)) for number in range(5)]
    memory.cleanup(30, dry_run=False)
    memory.compact()
    memory.forget([fix.id for fix in fixes])
    assert memory.stats().cleaned == 0
    assert memory.odds().attempts == 0
    assert memory.patterns() == []
    assert wrong_with(memory) == []


@pytest.mark.parametrize("days", [-1, float("nan"), float("inf"), True, "30", None, 10**9])
def test_days_are_checked(memory: Memory, days: Any) -> None:
    with pytest.raises(InvalidInputError, match="older_than_days"):
        memory.cleanup(days)


def test_merge_and_export_carry_the_cleaned_up(
    memory: Memory, tmp_path: Path, place: Places
) -> None:
    filled(memory)
    whole = sorted(record.id for record in memory.browse())
    memory.cleanup(30, dry_run=False)
    memory.export(tmp_path / "all.jsonl")
    with opened(place("merged")) as merged, opened(place("loaded")) as loaded:
        merged.merge(memory, trust=True)
        assert sorted(record.id for record in merged.browse(kind="fix")) == whole
        assert tallies_of(merged) == tallies_of(memory)
        assert memory.merge(merged, trust=True).conflicting == []
        loaded.load(tmp_path / "all.jsonl")
        assert sorted(record.id for record in loaded.browse(kind="fix")) == whole
        assert wrong_with(memory) == []
        assert wrong_with(merged) == []


def test_merge_carries_what_the_compacted_ones_taught(memory: Memory, place: Places) -> None:
    filled(memory)
    with opened(place("copy")) as copy, opened(place("new")) as new:
        copy.merge(memory, trust=True)
        memory.cleanup(30, dry_run=False)
        memory.compact()
        new.merge(memory, trust=True)
        assert tallies_of(new) == tallies_of(memory)
        assert new.stats().cleaned == memory.stats().cleaned
        assert wrong_with(new) == []
        assert copy.merge(memory, trust=True).conflicting == []
        assert copy.stats().cleaned == 0
        assert memory.merge(copy, trust=True).conflicting == []
        assert wrong_with(memory) == []
        with pytest.raises(InvalidInputError, match="whole"):
            copy.care.take_in(list(memory.browse(kind="cleaned")))


def test_whoever_ends_a_cleanup_brings_back_what_it_took(memory: Memory, tmp_path: Path) -> None:
    filled(memory)
    whole = memory.stats().records
    for end in (memory.undo, lambda event: memory.archive(event, "no"), memory.forget):
        event = memory.cleanup(30, dry_run=False).event_id
        assert event is not None
        assert memory.stats().records < whole
        end(event)
        assert memory.stats().records == whole
        assert memory.stats().cleaned == 0
        assert wrong_with(memory) == []


@pytest.mark.engines("sqlite")
def test_a_cleanup_is_of_one_file(memory: Memory, tmp_path: Path, place: Places) -> None:
    filled(memory)
    event = memory.cleanup(30, dry_run=False).event_id
    assert event is not None
    memory.backup(tmp_path / "copy.db")
    Memory.restore(tmp_path / "copy.db", tmp_path / "other")
    with opened(place("other")) as other, opened(place("new")) as new:
        memory.undo(event)
        cleaned = other.stats().cleaned
        other.merge(memory, trust=True)
        assert other.stats().cleaned == cleaned > 0
        new.merge(other, trust=True)
        assert new.care.decisions() == []
        other.undo(event)
        assert other.stats().cleaned == 0
        assert wrong_with(other) == []
        memory.export(tmp_path / "all.jsonl")
        assert "cleanup" not in (tmp_path / "all.jsonl").read_text()


def test_what_changed_meanwhile_stays(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    fixes = [a_fix(memory, 100 - number) for number in range(4)]
    picked = tidying._take_out

    def credited_meanwhile(*given: Any) -> Any:
        memory.credit(fixes[0].id, True)
        return picked(*given)

    monkeypatch.setattr(tidying, "_take_out", credited_meanwhile)
    assert memory.cleanup(30, dry_run=False).failed == 2
    assert isinstance(memory.get(fixes[0].id), Fix)
    assert wrong_with(memory) == []


def test_erased_words_leave_the_index_also_after_a_cleanup(memory: Memory) -> None:
    secret = a_fix(memory, 100, issue={**of_issue(1), "description": "quetzalcoatl"})
    a_fix(memory, 1, issue=of_issue(1))
    memory.cleanup(30, dry_run=False)
    assert isinstance(memory.get(secret.id), Cleaned)
    memory.forget(secret.id)
    memory.close()
    assert b"quetzalcoatl" not in everything_in(memory)


@given(st.text())
def test_packing_loses_nothing(text: str) -> None:
    text = text.encode(errors="ignore").decode()
    assert unpack(pack(text)) == text


def test_packed_text_that_was_damaged_is_noticed() -> None:
    packed = pack('{"kind":"fix"}' * 50)
    torn = (packed[:10] + "!" + packed[11:], packed[:3], packed[:9] + "AAAA" + packed[13:])
    for damaged in ("1:" + packed[2:], *torn, "2:", "2:eNo="):
        with pytest.raises(ValueError):  # noqa: PT011  # of several sorts: base64's, zlib's, our own
            unpack(damaged)


@pytest.mark.parametrize("what", ["cleanup", "undo", "compact"])
def test_killed_in_the_middle_it_is_as_before_or_as_after(tmp_path: Path, what: str) -> None:
    location = tmp_path / "brain"
    with opened(location) as memory:
        said: dict[str, Any] = {"fix_success": False, "verification_success": False}
        times = [{"context": {"timestamp": ago(100 + number)}} for number in range(KILLED_ROWS)]
        memory.add_many(
            Fix(issue=of_issue(at % 5), analysis="long " * 100, metadata=metadata, **said)
            for at, metadata in enumerate(times)
        )
        event = memory.cleanup(30, dry_run=False).event_id if what in ("undo", "compact") else None
        old = memory.stats().records, memory.stats().cleaned
    seen = set()
    for attempt in itertools.count():
        child = Child.start(lambda _: work(location, what, event))
        time.sleep(0.02 + 0.03 * (attempt % KILLS))
        child.kill()
        with opened(location) as memory:
            now = memory.stats().records, memory.stats().cleaned
            assert wrong_with(memory) == []
            assert now == old or now in ((KILLED_ROWS, 0), (5, KILLED_ROWS - 5))
            assert sum(row is not None for row in memory.fixes.history.all()) == now[0]
            seen.add(now)
        if attempt >= KILLS or len(seen) > 1:
            break
    work(location, what, event)
    with opened(location) as memory:
        assert wrong_with(memory) == []


def work(location: Path, what: str, event: str | None) -> None:
    with opened(location) as memory:
        if what == "cleanup":
            memory.cleanup(30, dry_run=False)
        elif what == "compact":
            memory.compact()
        elif event and memory.get(event).metadata.validation.status != "archived":  # type: ignore[union-attr]
            memory.undo(event)
