"""A run of which nobody knows whether it solved its task is told as done, and no more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import answered, at_once
from engines import ENGINES, Places
from hardwon import Memory, Step, Trajectory
from hardwon.capture.tests import RanTest
from hardwon.capture.transcripts import FORMATS, Format, take_in
from hardwon.errors import InvalidInputError
from hardwon.records.kinds import json_schema
from hardwon.records.reading import parse_record, read_record
from hook_calls import say
from test_transcripts import WRITERS

TASK = "Deploy the shop"
ERROR = "exit code 2 after 0.1 s\nerror: no region is set for the cluster"
GOOD = "exit code 0 after 0.1 s\ndeployed"
FIX = "DEPLOY_REGION=eu make deploy"
UNKNOWN = "unknown whether it solved the task"


def way(action: str = FIX) -> list[Step]:
    """As hooks record it: whatever ended with exit code 0 has a reward."""
    return [
        Step(action="make deploy", observation=ERROR, reward=0.0),
        Step(action=action, observation=GOOD, reward=1.0),
    ]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    monkeypatch.chdir(tmp_path)
    return Memory(tmp_path / ".hardwon", "shop")


def session(*commands: tuple[str, int], prompt: str = TASK, name: str = "s") -> None:
    say("prompt", name, prompt=prompt)
    for line, code in commands:
        output = "error: no region is set" if code else "fine"
        say("after", name, command=line, exit_code=code, output=output)
    say("end", name)


def test_a_session_that_left_nothing_failing_is_not_solved_for_that(shop: Memory) -> None:
    session(("make deploy", 2), (FIX, 0), ("python status.py", 0))
    (work,) = shop.browse(kind="trajectory", tag="session")
    assert isinstance(work, Trajectory)
    assert (work.final_reward, work.turned_out_well) == (None, None)
    assert "undone" not in say("start", "next"), "nor was it left undone"
    told = say("prompt", "next", prompt=TASK)
    assert f"{UNKNOWN}; " in told
    assert "worked" not in told
    failed: Any = {"exit_code": 2, "output": "error: no region is set"}
    assert FIX in say("after", "next", command="make deploy", **failed)


def test_a_session_is_solved_by_tests_that_it_did_not_write(shop: Memory) -> None:
    say("after", file="src/tax.py", change="tax = 1")
    session(("pytest", 0))
    say("after", "t", file="src/tax.py", change="tax = 2")
    say("after", "t", command="cat > test_mine.py <<END\nassert 1\nEND", exit_code=0)
    session(("pytest test_mine.py", 0), name="t")
    works = shop.browse(kind="trajectory", tag="session")
    assert [getattr(work, "final_reward", 7) for work in works] == [None, 1.0]


@pytest.mark.parametrize("form", FORMATS)
def test_an_import_takes_no_failure_as_solved(shop: Memory, tmp_path: Path, form: Format) -> None:
    failed = ("python solve.py", 1, "error: no")
    ran_so = [failed, ("python solve.py --slow", 0, "ok"), ("echo DONE > state", 0, "")]
    tested = [*ran_so, ("pytest", 0, "3 passed")]
    ends = ((ran_so, (0, 0, 1)), (tested, (1, 0, 0)), ([("pytest", 1, "1 failed")], (0, 1, 0)))
    for number, (ran, end) in enumerate(ends):
        file = tmp_path / f"s{number}.jsonl"
        file.write_text(WRITERS[form](f"s{number}", str(tmp_path), TASK, ran))
        done = take_in(shop, form, file, everywhere=True)
        assert (done.solved, done.failed, done.unknown) == end
    rewards = {getattr(work, "final_reward", 7) for work in shop.browse()}
    assert rewards == {None, 1.0, 0.0}
    said = at_once("import", form, str(tmp_path / "s0.jsonl"), "--everywhere").stdout
    assert "0 solved, 0 left failing, 1 done: nobody knows whether that solved it" in said


def test_it_is_told_as_done_after_what_worked(memory: Memory) -> None:
    memory.record_trajectory(TASK, way(), author="anna")
    memory.record_trajectory(TASK, way(), author="bob")
    told = memory.context(TASK).text
    assert f"- this task -> {FIX} [done 2 times, last today, {UNKNOWN}, 2 sources; " in told
    memory.record_trajectory(TASK, way("DEPLOY_REGION=us make deploy"), 1.0)
    first, second = [line for line in memory.context(TASK).text.splitlines() if " -> " in line][:2]
    assert first.startswith("- this task -> DEPLOY_REGION=us make deploy [worked today, by agent; ")
    assert UNKNOWN in second
    memory.record_trajectory(TASK, way(), 0.0)
    told = memory.context(TASK).text
    assert f"{FIX} [done" not in told, "it is known to have failed"


def test_it_is_neither_a_success_nor_a_failure(memory: Memory) -> None:
    done = memory.record_trajectory(TASK, way())
    assert [hit.record.id for hit in memory.recall(TASK)] == [done.id]
    assert memory.recall(TASK, outcome="success") == []
    assert memory.recall(TASK, outcome="failure") == []
    assert list(memory.browse(outcome="success")) == []
    (hit,) = memory.recall(TASK)
    assert (hit.outcome, hit.as_row()["outcome"]) == ("unknown", "unknown")
    assert "(done, outcome unknown)" in hit.text
    recalled = memory.record_fact("The region is eu.", "solution")
    memory.record_trajectory(TASK, way(), recalled=[recalled.id])
    assert memory.care.helpful() == [], "it credits nothing"
    assert memory.advise("deploy by hand", task=TASK).worked_instead == ()


def test_no_test_vouches_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    test = "tests/test_login.py::test_session_expires"
    with Memory("brain") as here:
        here.tests.record([RanTest(test, True, "E   KeyError: 'session'")])
        here.record_trajectory(f"make {test} pass", way(), author="anna")
        solved = here.record_trajectory(f"make {test} pass", way(), 1.0)
        assert here.tests.record([RanTest(test, False)]).verified == [solved.id]


@pytest.mark.engines(*ENGINES)
def test_it_changes_no_odds_of_solving_a_task_with_what_works(memory: Memory) -> None:
    for _ in range(3):
        memory.record_trajectory(TASK, way(), 1.0)
    before = memory.advise(FIX, task=TASK)
    for _ in range(20):
        memory.record_trajectory(TASK, way())
    after = memory.advise(FIX, task=TASK)
    assert after.p_success > before.p_success, "that the command worked is known"
    solves = before.p_solved / before.p_success
    assert after.p_solved / after.p_success == pytest.approx(solves, abs=1e-9), "where it works"
    for _ in range(20):
        memory.record_trajectory(TASK, way(), 0.4)
    assert memory.advise(FIX, task=TASK).p_solved < after.p_solved - 0.1, "what is known counts"
    (knowledge,) = (found for found in memory.doctor().findings if found.check == "knowledge")
    assert knowledge.ok, knowledge.detail
    assert memory.rebuild() == 0


@pytest.mark.engines(*ENGINES)
def test_it_stays_unknown_wherever_it_goes(memory: Memory, place: Places, tmp_path: Path) -> None:
    done = memory.record_trajectory(TASK, way())
    kept = memory.get(done.id)
    assert isinstance(kept, Trajectory)
    assert kept.final_reward is None
    assert "final_reward" not in json.loads(kept.to_json())
    assert parse_record(kept.to_json()) == kept
    memory.export(tmp_path / "all.jsonl")
    with Memory(place("other")) as other, Memory(place("third")) as third:
        assert other.load(tmp_path / "all.jsonl").added == 1
        third.merge(memory, trust=True)
        for elsewhere in (*other.browse(), *third.browse()):
            assert isinstance(elsewhere, Trajectory)
            assert elsewhere.final_reward is None
    assert memory.add(done) == done.id, "the same record again changes nothing"


def test_the_metadata_schema_has_a_number_and_says_so() -> None:
    done = Trajectory(task=TASK, steps=way())
    written = json.loads(json.dumps(done.to_agentdb()))
    assert written["final_reward"] is None, "any number would claim something"
    back = read_record(written)
    assert isinstance(back, Trajectory)
    assert (back.final_reward, back.steps) == (None, done.steps)
    whole = {**written, "metadata": {**written["metadata"], "project_id": "p"}}
    assert read_record(whole, strict=True).to_agentdb() == whole, "what it wrote goes back in"
    del whole["final_reward"]
    with pytest.raises(InvalidInputError, match="final_reward is missing"):
        read_record({"kind": "trajectory", **whole}, strict=True)
    for number in (0, 0.0, 0.25, 1):
        known = read_record({**written, "final_reward": number})
        assert isinstance(known, Trajectory)
        assert known.to_agentdb()["final_reward"] == number
    assert "final_reward" not in json_schema("trajectory")["required"]


@pytest.mark.usefixtures("own_folder")
def test_it_is_recorded_and_shown_in_a_terminal() -> None:
    run = json.dumps({"task": TASK, "steps": [{"action": "make deploy"}]})
    done = at_once("record", "trajectory", stdin=run)
    record_id = done.stdout.strip()
    shown = at_once("show", record_id).stdout
    assert "How it ended: nobody knows whether it solved the task" in shown
    assert "final_reward: nobody knows" in at_once("show", record_id, "--fields").stdout
    assert "(done, outcome unknown)" in at_once("recall", TASK).stdout
    assert "final_reward" not in answered("show", record_id)
