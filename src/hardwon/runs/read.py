"""A record of something tried, or several of one run, read as a run; and how a run ended."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from hardwon.records.kinds import SOLVED_FROM, Trajectory, judge_reward
from hardwon.records.kinds import Step as Recorded
from hardwon.runs.lasting import file_name, find_lasting
from hardwon.runs.problems import add_corrections, find_problems, mark_corrections
from hardwon.runs.shapes import Run, RunOutcome, Step
from hardwon.runs.steps import read_steps

_ENDED: Final[Mapping[str, RunOutcome]] = {
    "success": "solved",
    "failure": "failed",
    "partial": "partial",
    "unknown": "unknown",
}
_NAME: Final = re.compile(r"[\w.@+-]+")


def read_run(record: Trajectory, solved_from: float = SOLVED_FROM) -> Run:
    """The run that a trajectory tells of."""
    return read_steps_as_run(record.steps, record.task, record.final_reward, solved_from)


def read_records(records: Sequence[Trajectory], solved_from: float = SOLVED_FROM) -> Run:
    """The run that the records of one run id are, in the order of their time. What each of several
    said of its own end says nothing of the whole: unless the last of them is a failure or a success
    of more than a command, its last checks do.
    """
    if len(records) == 1:
        return read_run(records[0], solved_from)
    records = sorted(records, key=lambda record: (record.at_us, record.id))
    tasks = [record.task for record in records if record.task not in _actions_in(record)]
    last_reward = records[-1].final_reward if records and len(records[-1].steps) > 1 else None
    return read_steps_as_run(
        [step for record in records for step in record.steps],
        (tasks or [record.task for record in records] or [""])[0],
        last_reward,
        solved_from,
    )


def _actions_in(record: Trajectory) -> set[str]:
    return {step.action for step in record.steps}


def read_steps_as_run(
    recorded: Sequence[Recorded],
    task: str = "",
    final_reward: float | None = None,
    solved_from: float = SOLVED_FROM,
) -> Run:
    """The run that these steps are. Nobody needs to know how it ended."""
    plain = read_steps(recorded)
    steps = mark_corrections(plain)
    outcome = read_ending(steps, final_reward, solved_from)
    # to look in the right way leaves no more behind than to look
    looks = [step if step.kind == "look" else None for step in plain]
    lasting = find_lasting(
        [look or step for look, step in zip(looks, steps, strict=True)], task, outcome
    )
    # another check that passed may be why the run counts as solved
    is_told = outcome == "solved" and not any(
        step.tests and step.outcome == "worked" for step in steps
    )
    problems = find_problems(steps, lasting if is_told else ())
    lasting = add_corrections(lasting, problems)
    return Run(task, tuple(steps), outcome, tuple(problems), tuple(lasting))


def read_ending(
    steps: Sequence[Step],
    final_reward: float | None = None,
    solved_from: float = SOLVED_FROM,
    own_files: Collection[str] = (),
) -> RunOutcome:
    """How a run ended: as its caller says; else solved where a check that the run did not write
    itself passed after the last change, and none failed there. Else nobody knows. `own_files` were
    written before these steps.
    """
    if final_reward is not None:
        return _ENDED[judge_reward(final_reward, solved_from)]
    own = {*own_files, *list_files(steps)}
    passed: set[str] = set()
    for step in reversed(steps):
        if step.kind == "change" and step.outcome != "failed":
            break
        if not step.tests:
            continue
        if step.outcome == "failed" and step.key not in passed:
            return "unknown"
        if step.outcome == "worked" and own.isdisjoint(_NAME.findall(step.action)):
            passed.add(step.key)
    return "solved" if passed else "unknown"


def read_session_reward(
    recorded: Sequence[Recorded], own_files: Collection[str] = ()
) -> float | None:
    """What the steps of a session, of whose end nobody tells, have earned: 1.0 where they solved
    their task, 0.0 where the last check failed, or the last command did, else None.
    """
    steps = [step for step in read_steps(recorded) if step.kind not in ("look", "hand-in")]
    if read_ending(steps, own_files=own_files) == "solved":
        return 1.0
    checks = [step for step in steps if step.kind == "check"]
    commands = [step for step in steps if not step.key.startswith("edit\n")]
    left = [*checks[-1:], *commands[-1:]]
    return 0.0 if any(step.outcome == "failed" for step in left) else None


def list_files(steps: Sequence[Step]) -> list[str]:
    """The names of the files that steps wrote or removed, without their folders."""
    return [file_name(touch.name) for step in steps for touch in step.touches]
