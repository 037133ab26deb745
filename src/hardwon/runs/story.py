"""A run as a person would tell it: what was wanted, looked at, changed and checked, what went wrong
and what made that go away, what lasted, and how it ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from hardwon.runs.shapes import Problem, Run, Step

_NAME_CHARS_MAX: Final = 100


def fold_looks(steps: Sequence[Step]) -> list[list[Step]]:
    """The steps in order, those in a row that only look together, each other one alone."""
    scenes: list[list[Step]] = []
    for step in steps:
        if step.kind == "look" and scenes and scenes[-1][0].kind == "look":
            scenes[-1].append(step)
        else:
            scenes.append([step])
    return scenes


def tell_ending(run: Run, final_reward: float | None) -> str:
    """How a run ended and how that is known, in a sentence."""
    waiting = [problem for problem in run.problems if problem.gone is None]
    left = f"; left failing: {name_check(waiting[-1])}" if waiting else ""
    if run.outcome == "solved":
        left = ""
    if final_reward is not None:
        return f"{run.outcome}, as was recorded ({final_reward:g}){left}"
    if run.outcome == "solved":
        check = next(step for step in reversed(run.steps) if step.tests)
        return f"solved: {check.action} passed after the last change"
    return f"nobody knows whether it solved the task{left}"


def tell_cure(problem: Problem) -> str:
    """The words that stand before a cure: whether it was one or several changes, and checked again."""
    if not problem.checked:
        return "then, and it was not checked again:"
    return "went away by one or all of:" if len(problem.cure) > 1 else "went away by:"


def name_check(problem: Problem) -> str:
    """What showed a problem, as it was run first, as far as that fits into a sentence."""
    return problem.check.action.split("\n")[0][:_NAME_CHARS_MAX]


def outline_run(run: Run, final_reward: float | None = None) -> dict[str, Any]:
    """A run as JSON. A step's `place` is that of the recorded step that it is a part of, from 0."""
    return {
        "task": run.task,
        "outcome": run.outcome,
        "ended": tell_ending(run, final_reward),
        "steps": [
            {
                "place": step.place,
                "kind": step.kind,
                "action": step.action,
                "outcome": step.outcome,
                "failure": step.failure.words if step.failure else None,
            }
            for step in run.steps
        ],
        "problems": [
            {
                "failure": problem.failure.words,
                "check": problem.check.action,
                "opened": problem.opened,
                "shown": problem.shown,
                "gone": problem.gone,
                "cure": [step.action for step in problem.cure],
                "in_vain": [step.action for step in problem.in_vain],
            }
            for problem in run.problems
        ],
        "lasting": [step.action for step in run.lasting],
    }
