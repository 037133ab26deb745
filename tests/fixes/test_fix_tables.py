"""The tables of fix history: current, readable by any client, written by nobody else."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import examples
from hardwon import Fix, Memory
from hardwon.errors import PlaceError
from hardwon.fixes.rows import FixRow
from hardwon.lessons.issues import fix_history_signature
from hardwon.records.kinds import Cleaned
from logs import fixes
from strategies import at

TABLES = ("fix_history", "issue_patterns", "model_characteristics")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "ai_memory.db", clock=lambda: at(10**6)) as opened:
        yield opened


def asked(memory: Memory, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """By the SQLite that Python brings along, as anybody else's program would."""
    with closing(sqlite3.connect(f"file:{memory.location}?mode=ro", uri=True)) as other:
        return other.execute(sql, values).fetchall()


def a_fix(memory: Memory, **changes: Any) -> Fix:
    issue = {"model": "qwen2.5:7b", "issue_type": "TIMEOUT", "description": "no answer"}
    given: dict[str, Any] = {"fix_commands": ["ollama pull  qwen2.5:7b"], "author": "claude"}
    given |= {"analysis": "needs more time", "system_info": {"os": "Linux"}}
    return memory.record_fix(issue, True, True, execution_time_seconds=2.5, **given | changes)


def test_a_fix_is_a_row_at_once(memory: Memory) -> None:
    fix = a_fix(memory, notes="fine")
    (row,) = asked(memory, "SELECT * FROM fix_history")
    assert FixRow(*row) == FixRow(
        id=1,
        timestamp=fix.metadata.context.timestamp.isoformat(timespec="microseconds"),
        model_name="qwen2.5:7b",
        issue_type="TIMEOUT",
        issue_signature=fix_history_signature(fix.issue),
        description="no answer",
        fixer_type="claude",
        claude_analysis="needs more time",
        fix_commands='["ollama pull  qwen2.5:7b"]',
        fix_success=1,
        verification_success=1,
        execution_time_seconds=2.5,
        system_info='{"os": "Linux"}',
        notes="fine",
    )
    columns = "pattern_name, issue_signature, success_count, failure_count, best_fix"
    sql = f"SELECT {columns}, confidence_score FROM issue_patterns"
    ((name, signature, good, bad, best, confidence),) = asked(memory, sql)
    result: Any = (name, signature, good, bad, confidence)
    assert result == (f"TIMEOUT on qwen2.5 [{signature}]", row[4], 1, 0, 0.1)
    result = json.loads(best)
    best_told = {"fix_commands": ["ollama pull qwen2.5:7b"], "analysis": "needs more time"}
    assert result == {**best_told, "verified": 1}
    (row,) = asked(memory, "SELECT * FROM model_characteristics")
    model, tests, rate, issues, effective, _, _ = row
    assert (model, tests, rate) == ("qwen2.5:7b", 1, 1.0)
    assert json.loads(issues) == ["TIMEOUT"]
    assert json.loads(effective) == ["ollama pull qwen2.5:7b"]


def test_the_best_fix_is_the_one_that_worked_most_often(memory: Memory) -> None:
    for command in ("a", "b", "b", "c"):
        a_fix(memory, fix_commands=[command])
    ((best,),) = asked(memory, "SELECT best_fix FROM issue_patterns")
    assert json.loads(best)["fix_commands"] == ["b"]
    ((effective,),) = asked(memory, "SELECT effective_fixes FROM model_characteristics")
    assert json.loads(effective)[0] == "b"


def test_what_is_forgotten_stands_in_no_row_of_another(memory: Memory) -> None:
    for model, analysis in (("a", "kept"), ("b", "kept too"), ("a", "forgotten")):
        issue = {"model": model, "issue_type": "T", "description": "d"}
        fix = memory.record_fix(issue, True, True, fix_commands=["x"], analysis=analysis)
    memory.forget(fix.id)
    told = asked(memory, "SELECT best_fix FROM issue_patterns")
    assert [json.loads(best)["analysis"] for (best,) in told] == ["kept too"] * 2
    assert memory.doctor().ok


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    "change", ["INSERT INTO {} DEFAULT VALUES", "UPDATE {} SET rowid = rowid", "DELETE FROM {}"]
)
def test_nobody_else_writes_them(memory: Memory, table: str, change: str) -> None:
    a_fix(memory)
    with closing(sqlite3.connect(memory.location)) as other:
        before = other.execute(f"SELECT * FROM {table}").fetchall()
        with pytest.raises(sqlite3.Error, match=f"{table} is kept by Hardwon"):
            other.execute(change.format(table))
        other.rollback()
        assert other.execute(f"SELECT * FROM {table}").fetchall() == before
    a_fix(memory)
    assert memory.doctor().ok


def test_a_write_that_fails_leaves_them_locked(memory: Memory) -> None:
    fix = a_fix(memory)
    fails = pytest.raises(ValueError, match="in the middle")
    with fails, memory._project.store.write(memory.project) as writer:
        writer.erase("default", [fix.id], [])
        raise ValueError("in the middle")
    assert asked(memory, "SELECT open FROM fix_guard") == [(0,)]
    assert asked(memory, "SELECT count(*) FROM fix_history") == [(1,)]


def test_other_projects_are_not_shown(tmp_path: Path) -> None:
    with Memory(tmp_path / "ai_memory.db", project="other") as other:
        a_fix(other)
        assert asked(other, "SELECT count(*) FROM fix_history") == [(0,)]
        with pytest.raises(PlaceError, match="'default'"):
            _ = other.fixes.history


def test_no_id_is_given_out_twice(memory: Memory) -> None:
    first, last = a_fix(memory), a_fix(memory)
    memory.forget(last.id)
    memory.record_fact("something else", "error")
    first_number, number, third = (fix.number or 0 for fix in (first, last, a_fix(memory)))
    assert 0 < first_number < number < third
    assert memory.fixes.history.row(number) is None


def test_the_guard_cannot_be_taken_away(memory: Memory) -> None:
    a_fix(memory)
    with closing(sqlite3.connect(memory.location)) as other:
        other.execute("DELETE FROM fix_guard")
        other.commit()
        with pytest.raises(sqlite3.Error, match="is kept by Hardwon"):
            other.execute("DELETE FROM fix_history")
    assert not memory.doctor().ok
    memory.rebuild()
    assert memory.doctor().ok
    a_fix(memory)
    assert asked(memory, "SELECT count(*) FROM fix_history") == [(2,)]


def test_common_questions_are_answered_by_an_index_alone(memory: Memory) -> None:
    a_fix(memory)
    for sql in (
        "SELECT fixer_type, count(*), sum(fix_success = 1 AND verification_success = 1) FROM "
        "fix_history GROUP BY fixer_type",
        "SELECT model_name, date(timestamp), count(*), avg(fix_success) FROM fix_history "
        "WHERE timestamp > datetime('now', '-30 days') GROUP BY model_name, date(timestamp)",
        "SELECT issue_type, count(*), avg(execution_time_seconds), sum(fix_success) FROM "
        "fix_history GROUP BY issue_type",
        "SELECT count(*) FROM fix_history WHERE fixer_type = 'qwen'",
    ):
        plan = " ".join(str(step[3]) for step in asked(memory, f"EXPLAIN QUERY PLAN {sql}"))
        assert "COVERING INDEX idx_fix_history" in plan, plan


def test_damaged_tables_are_noticed_and_mended(memory: Memory) -> None:
    for number in range(3):
        a_fix(memory, fix_commands=[f"try {number}"])
    told = "pattern_name, issue_signature, success_count, failure_count, best_fix, last_seen"
    every_row = [f"SELECT {told}, confidence_score FROM issue_patterns"]
    every_row += [f"SELECT * FROM {table}" for table in TABLES if table != "issue_patterns"]
    untouched = [asked(memory, sql) for sql in every_row]
    with closing(apsw.Connection(memory.location)) as other:
        other.execute("UPDATE fix_guard SET open = 1")
        other.execute("DELETE FROM fix_history WHERE id = 2")
        other.execute("UPDATE issue_patterns SET success_count = 9")
        other.execute("UPDATE fix_guard SET open = 0")
    assert not memory.doctor().ok
    memory.rebuild()
    assert memory.doctor().ok
    assert [asked(memory, sql) for sql in every_row] == untouched


WHAT = "add add forget archive verify rollback undo cleanup compact credit merge".split()
STEP = st.tuples(st.sampled_from(WHAT), st.integers(0, 30), fixes)


@settings(max_examples=examples(80))
@given(st.lists(STEP, min_size=4, max_size=25))
def test_whatever_happens_tables_say_what_records_say(done: list[tuple[str, int, Fix]]) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(Path(folder) / "one.db", clock=lambda: at(0) + timedelta(days=3)) as memory,
        Memory(Path(folder) / "other.db", clock=lambda: at(0) + timedelta(days=3)) as other,
    ):
        for what, number, fix in done:
            _do(memory, other, what, number, fix)
            _check_against_records(memory)
        diagnosis = memory.doctor()
        assert diagnosis.ok, str(diagnosis)


def _do(memory: Memory, other: Memory, what: str, number: int, fix: Fix) -> None:
    kept = sorted(record.id for record in memory.browse(kind="fix", limit=1000))
    if what == "add":
        memory.add(fix)
    elif what == "merge":
        if memory.get(fix.id) is None:
            other.add(fix)
        memory.merge(other, trust=True)
    elif what == "undo":
        _undo_one(memory, number)
    elif what in ("forget", "archive", "verify", "credit"):
        if kept:
            _happen_to(memory, kept[number % len(kept)], what)
    else:
        tidy: dict[str, Callable[[], object]] = {
            "rollback": lambda: memory.rollback(["ann", "bob", "eve"][number % 3]),
            "cleanup": lambda: memory.cleanup(number % 4, dry_run=False, successes_days=number % 5),
            "compact": memory.compact,
        }
        tidy[what]()


def _undo_one(memory: Memory, number: int) -> None:
    undone = ("rollback", "cleanup")
    decisions = [each for each in memory.care.decisions() if each.action in undone]
    cleaned = [each for each in memory.browse(kind="cleaned") if isinstance(each, Cleaned)]
    purged = any(each.packed is None for each in cleaned)
    if decisions and not (purged and decisions[number % len(decisions)].action == "cleanup"):
        memory.undo(decisions[number % len(decisions)].id)


def _happen_to(memory: Memory, record_id: str, what: str) -> None:
    record = memory.get(record_id)
    assert record is not None
    status = record.metadata.validation.status
    if what == "forget":
        memory.forget(record_id)
    elif what == "credit":
        memory.credit(record_id, True)
    elif what == "archive" and status != "archived":
        memory.archive(record_id, "old")
    elif what == "verify" and status == "hypothesis":
        memory.verify(record_id, "test_runner")


def _check_against_records(memory: Memory) -> None:
    rolled_back = {each.target for each in memory.care.decisions("rollback")}
    shown, models, patterns = [], Counter[str](), Counter[str]()
    for record in (record for kind in ("fix", "cleaned") for record in memory.browse(kind=kind)):
        metadata = record.metadata
        if metadata.validation.status == "archived" or metadata.source.author in rolled_back:
            continue
        if isinstance(record, Fix):
            at_once = metadata.context.timestamp.isoformat(timespec="microseconds")
            shown.append((at_once, record.issue.model))
            models[record.issue.model] += 1
            patterns[fix_history_signature(record.issue)] += 1
        elif isinstance(record, Cleaned):
            models[record.model] += 1
            patterns[record.signature] += 1
    assert sorted(asked(memory, "SELECT timestamp, model_name FROM fix_history")) == sorted(shown)
    told = dict(asked(memory, "SELECT model_name, total_tests FROM model_characteristics"))
    assert told == models
    tried = "sum(success_count + failure_count)"
    sql = f"SELECT issue_signature, {tried} FROM issue_patterns GROUP BY 1"
    assert dict(asked(memory, sql)) == patterns
