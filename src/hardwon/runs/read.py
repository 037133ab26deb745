"""A record of something tried, read as a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from hardwon.records.kinds import SOLVED_FROM, Trajectory, judge_reward
from hardwon.records.kinds import Step as Recorded
from hardwon.runs.lasting import file_name, find_lasting
from hardwon.runs.problems import find_problems
from hardwon.runs.shapes import Run, RunOutcome, Step
from hardwon.runs.steps import read_steps

_ENDED: Final[Mapping[str, RunOutcome]] = {
    "success": "solved",
    "failure": "failed",
    "partial": "partial",
    "unknown": "unknown",
}


def read_run(record: Trajectory, solved_from: float = SOLVED_FROM) -> Run:
    """The run that a trajectory tells of."""
    return read_steps_as_run(record.steps, record.task, record.final_reward, solved_from)


def read_steps_as_run(
    recorded: Sequence[Recorded],
    task: str = "",
    final_reward: float | None = None,
    solved_from: float = SOLVED_FROM,
) -> Run:
    """The run that these steps are. Nobody needs to know how it ended."""
    steps = read_steps(recorded)
    return Run(
        task,
        tuple(steps),
        read_ending(steps, final_reward, solved_from),
        tuple(find_problems(steps)),
        tuple(find_lasting(steps, task)),
    )


def read_ending(
    steps: Sequence[Step], final_reward: float | None, solved_from: float
) -> RunOutcome:
    """How a run ended: as its caller says; else solved where the last thing that checks passed after
    the last change, if the run did not write that check itself. Else nobody knows.
    """
    if final_reward is not None:
        return _ENDED[judge_reward(final_reward, solved_from)]
    own = {
        file_name(touch.name) for step in steps for touch in step.touches if touch.thing == "file"
    }
    for step in reversed(steps):
        if step.tests:
            foreign = not any(name in step.action for name in own)
            return "solved" if step.outcome == "worked" and foreign else "unknown"
        if step.kind == "change" and step.outcome != "failed":
            return "unknown"
    return "unknown"
