"""Figures about fixes: held against a plain count over the records that count."""

from __future__ import annotations

import random
import tempfile
from datetime import UTC, date, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import examples
from clocks import START
from hardwon import Fix, Memory, limits
from hardwon.errors import InvalidInputError
from hardwon.fixes.reports import FixDay, days_between, issue_trends
from logs import fixes
from strategies import at

pytestmark = pytest.mark.clocked

NOW = at(0) + timedelta(days=4, hours=3)
TODAY = NOW.astimezone(UTC).date()


def counted(found: list[Fix]) -> tuple[int, int, int]:
    return len(found), sum(fix.fix_success for fix in found), sum(fix.succeeded for fix in found)


def day_of(fix: Fix) -> date:
    return fix.metadata.context.timestamp.astimezone(UTC).date()


def check(memory: Memory, counting: list[Fix], days: int) -> None:
    """Every figure against the records that count."""
    totals = memory.fixes.totals()
    assert (totals.attempts, totals.applied, totals.verified) == counted(counting)
    assert totals.models == len({fix.issue.model for fix in counting})
    assert totals.issue_types == len({fix.issue.issue_type for fix in counting})

    inside = [fix for fix in counting if TODAY - timedelta(days=days) < day_of(fix) <= TODAY]
    charted = memory.fixes.days(days)
    first = min(map(day_of, inside), default=TODAY + timedelta(days=1))
    every_day = [first + timedelta(days=n) for n in range((TODAY - first).days + 1)]
    assert [each.day for each in charted] == every_day
    for each in charted:
        of_day = [fix for fix in inside if day_of(fix) == each.day]
        assert (each.attempts, each.applied, each.verified) == counted(of_day)

    by_cell = {(cell.model, cell.issue_type): cell for cell in memory.fixes.matrix()}
    places = [(fix.issue.model, fix.issue.issue_type) for fix in counting]
    assert by_cell.keys() == set(places)
    for place, cell in by_cell.items():
        own = [fix for fix, its in zip(counting, places, strict=True) if its == place]
        assert (cell.attempts, cell.applied, cell.verified) == counted(own)
        odds = memory.odds(model=place[0], issue_type=place[1])
        assert cell.p_success == pytest.approx(odds.p_success)

    trends = {trend.issue_type: trend for trend in memory.fixes.trends(days)}
    assert trends.keys() == {fix.issue.issue_type for fix in inside}
    for name, trend in trends.items():
        own = [fix for fix in inside if fix.issue.issue_type == name]
        assert trend.attempts == len(own) == sum(each.attempts for each in trend.days)
        assert [each.day for each in trend.days] == [each.day for each in charted]

    for record in memory.fixes.fixers():
        own = [fix for fix in counting if fix.fixer_type == record.fixer]
        assert (record.attempts, record.applied, record.verified) == counted(own)
        assert record.interval[0] <= record.p_success <= record.interval[1]
    assert len(memory.fixes.fixers()) == len({fix.fixer_type for fix in counting})


@settings(max_examples=examples(50))
@given(st.lists(fixes, max_size=14, unique_by=lambda fix: fix.id), st.integers(1, 6), st.data())
def test_figures_are_what_records_add_up(made: list[Fix], days: int, data: st.DataObject) -> None:
    counting = [fix for fix in made if fix.metadata.validation.status != "archived"]
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(Path(folder), clock=lambda: NOW) as memory,
    ):
        memory.add_many(made)
        check(memory, counting, days)
        for change in data.draw(st.permutations(["forget", "archive", "rollback"])):
            if not counting:
                break
            victim = data.draw(st.sampled_from(counting))
            if change == "rollback":
                author = victim.metadata.source.author
                decision = memory.rollback(author)
                kept = [fix for fix in counting if fix.metadata.source.author != author]
                check(memory, kept, days)
                memory.undo(decision.id)
            else:
                if change == "forget":
                    memory.forget(victim.id)
                else:
                    memory.archive(victim.id, "stale")
                counting = [fix for fix in counting if fix.id != victim.id]
            check(memory, counting, days)


def test_the_window_ends_where_it_says(memory: Memory) -> None:
    for days in (29, 30, 2, 0):
        memory.record_fix({"model": "m"}, True, False, timestamp=START - timedelta(days=days))
    assert len(memory.fixes.days()) == 30
    assert [len(memory.fixes.days(number)) for number in (31, 3, 2)] == [31, 3, 1]
    assert [day.attempts for day in memory.fixes.days(3)] == [1, 0, 1], "a chart wants every day"
    assert memory.fixes.days(3)[1].success_rate == memory.fixes.days(3)[1].applied_rate == 0.0
    result = (memory.fixes.days(1)[0].applied_rate, memory.fixes.days(1)[0].success_rate)
    assert result == (1.0, 0.0)
    memory.record_fix({"model": "m"}, True, True, timestamp=START + timedelta(days=2))
    assert memory.fixes.totals().attempts == 5
    assert memory.fixes.days(1)[0].attempts == 2, "what a wrong clock dated later counts today"


def test_of_many_cells_the_most_attempted(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        for fixer in ["claude", "qwen"] * (number + 1):
            memory.record_fix({"model": f"m{number}"}, True, True, fixer_type=fixer)
    monkeypatch.setattr("hardwon.fixes.reports.FIX_CELLS_MAX", 2)
    monkeypatch.setattr("hardwon.fixes.reports.FIX_PAIRS_MAX", 3)
    monkeypatch.setattr("hardwon.fixes.reports.FIXERS_SHOWN_MAX", 1)
    result = [(cell.model, cell.attempts) for cell in memory.fixes.matrix()]
    assert result == [("m5", 12), ("m4", 10)], "counted in full"
    assert [record.attempts for record in memory.fixes.fixers()] == [21]


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "7", None, True, limits.FIX_DAYS_MAX + 1])
def test_days_that_are_none_are_refused(memory: Memory, wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match="days"):
        memory.fixes.days(wrong)
    with pytest.raises(InvalidInputError, match="days"):
        memory.fixes.trends(wrong)


def days(*attempts: int) -> tuple[FixDay, ...]:
    counts = {number: (count, 0, 0) for number, count in enumerate(attempts)}
    return days_between(counts, 0, len(attempts) - 1)


def test_what_rises_what_falls_and_what_only_seems_to() -> None:
    types = {
        "more": days(0, *[2] * 10, 99, *[9] * 10, 0),
        "less": days(0, *[9] * 10, 0, *[2] * 10, 0),
        "same": days(*[50] * 23),
        "burst": days(0, *[0] * 10, 0, *[60, *[0] * 9], 0),
        "cut off": days(1, *[400] * 20, 3),
    }
    found = {trend.issue_type: trend for trend in issue_trends(types)}
    result: Any = (found["more"].direction, found["more"].earlier, found["more"].later)
    assert result == ("rising", 20, 90)
    result = (found["less"].direction, found["less"].earlier, found["less"].later)
    assert result == ("falling", 90, 20)
    assert (found["same"].direction, found["same"].p_value) == ("steady", 1.0)
    assert found["burst"].direction == "steady", "sixty of one day are one occurrence"
    assert found["cut off"].direction == "steady", "today is not over yet"
    assert all(0 <= trend.p_value <= 1 for trend in found.values())


def test_steady_issues_are_seldom_called_anything_else() -> None:
    rng = random.Random(7)
    false_alarms = 0
    for _ in range(200):
        drawn = [[rng.choice((0, 0, 1, 3, 12)) for _ in range(30)] for _ in range(5)]
        types = {f"T{number}": days(*each) for number, each in enumerate(drawn)}
        false_alarms += any(trend.direction != "steady" for trend in issue_trends(types))
    assert false_alarms <= 10
