"""Whether a run solved its task means the same wherever it is asked."""

from __future__ import annotations

from typing import Any

import pytest

from hardwon import Episode, Fix, Issue, Memory, Trajectory
from hardwon.records.kinds import judge_record
from hardwon.runs.read import read_run

TASK, ACTION = "make the report faster", "python report.py --cache"
# What a run earned: what it is called, what a context and advice say, and whether it turned out well.
MEANINGS: dict[float | None, tuple[str, str, str, bool | None]] = {
    1.0: ("success", "[worked today", "Nothing speaks against it", True),
    2.5: ("success", "[worked today", "Nothing speaks against it", True),
    0.7: ("partial", "did not solve it (0.70 of 1): ", "solved the task only in part", None),
    0.0: ("failure", "FAILED: ", "This failed here before", False),
    -1.0: ("failure", "FAILED: ", "This failed here before", False),
    None: ("unknown", "unknown whether it solved", "Nothing speaks against it", None),
}


@pytest.mark.parametrize("reward", MEANINGS)
def test_a_run_is_called_the_same_by_whoever_is_asked(memory: Memory, reward: float | None) -> None:
    outcome, told, advised, well = MEANINGS[reward]
    step = {"action": ACTION, "observation": "3 s", "reward": max(0.0, reward or 0.0)}
    run = memory.record_trajectory(TASK, [step], reward)
    assert run.turned_out_well is well
    (hit,) = memory.recall(TASK)
    assert hit.outcome == run.as_row()["outcome"] == outcome
    for name in ("success", "failure", "partial", "unknown"):
        asked: Any = {"outcome": name}
        assert bool(memory.recall(TASK, **asked)) == (name == outcome), name
        assert bool(list(memory.browse(**asked))) == (name == outcome), name
    assert told in str(memory.context(TASK))
    assert memory.advise(ACTION, task=TASK).message.count(advised) == 1
    assert memory.stats().by_outcome == {outcome: 1}
    day = memory.care.activity()[0]
    assert (day.good, day.bad) == (int(well is True), int(well is False))
    assert (read_run(run).outcome == "solved") == (well is True)


def test_what_a_run_helped_with_is_credited_where_it_is_known_how_it_ended(memory: Memory) -> None:
    fact = memory.record_fact("Cached reports are in /var/cache/reports.", "observation")
    for reward in (0.7, None, 1.0, 0.0):
        memory.record_trajectory(TASK, [{"action": ACTION}], reward, recalled=[fact.id])
    (helpful,) = memory.care.helpful()
    assert (helpful.helped, helpful.hindered) == (1, 1)


def test_episodes_and_fixes_keep_the_thresholds_of_their_documents() -> None:
    scores = {0.85: "success", 0.84: "partial", 0.5: "partial", 0.49: "failure"}
    for score, outcome in scores.items():
        assert judge_record(Episode(task_id="t", score=score)) == outcome
    for applied, verified in ((True, True), (True, False), (False, True), (False, False)):
        fix = Fix(issue=Issue(), fix_success=applied, verification_success=verified)
        assert judge_record(fix) == ("success" if applied and verified else "failure")


def test_a_caller_may_say_from_which_reward_on_a_task_is_solved(memory: Memory) -> None:
    run = memory.record_trajectory(TASK, [{"action": ACTION, "reward": 0.7}], 0.7)
    assert isinstance(run, Trajectory)
    assert judge_record(run, solved_from=0.6) == "success"
    assert "[worked today" in str(memory.context(TASK, solved_from=0.6))
