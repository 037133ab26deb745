"""What helped against which error, as pairs of a step and what came after it: for the context that
is being written anew, and gone with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.lessons.actions import FULL_REWARD as FULL_REWARD
from hardwon.lessons.actions import find_solving as solving_steps
from hardwon.records.kinds import Step, Trajectory
from hardwon.text.failures import failure_hash
from hardwon.text.outcomes import reported_failure
from hardwon.text.programs import only_looks
from hardwon.text.terms import Remembered, same_action

__all__ = ["FULL_REWARD", "solving_steps"]


def worked(step: Step) -> bool:
    """What the caller said is believed: whether it was `ok`, and that a reward below zero is a
    failure, whatever the observation looks like. Where nothing was said, an action that shows no
    error did what it was meant to do.
    """
    return bool(step.ok) or StepOutcome.of(step).worked


class StepOutcome(NamedTuple):
    """Whether a step worked; and the failure hash of how it did not, with the one that older
    versions gave it, from the error that its observation reports, or where only its caller knows
    that it failed, from all of it. None where it worked, and where nothing was observed.
    """

    worked: bool
    failures: tuple[str, ...]

    @classmethod
    def of(cls, step: Step) -> StepOutcome:
        if step.ok:
            return cls(True, ())
        shown, said_so = step.observation, step.ok is False or step.reward < 0
        _, failures = errors_in(shown)
        if not failures and not said_so:
            return cls(True, ())
        return cls(False, failures or ((failure_hash(shown),) if shown.strip() else ()))

    @property
    def failure(self) -> str:
        """Empty where there is none."""
        return self.failures[0] if self.failures else ""


def judge_steps(steps: Sequence[Step]) -> list[StepOutcome]:
    """How each of them turned out. A trajectory is asked several times while it is recorded, and its
    observations may be long: so what was found of the last one is kept.
    """
    global _last_judged
    known, outcomes = _last_judged
    if known is not steps:
        outcomes = list(map(StepOutcome.of, steps))
        _last_judged = (steps, outcomes)  # one assignment: other threads record too
    return outcomes


_last_judged: tuple[Sequence[Step], list[StepOutcome]] = ((), [])

_REMEMBERED_CHARS_MAX: Final = 2_000


def error_in(observation: str) -> str:
    """The failure hash of what an observation reports; empty where it reports no error."""
    return next(iter(errors_in(observation)[1]), "")


def _find_errors(observation: str) -> tuple[str, tuple[str, ...]]:
    said = reported_failure(observation)
    return said, (failure_hash(said),) if said else ()


# What is reported, and its hash. Agents see the same again and again.
errors_in = Remembered(
    _find_errors, lambda observation, _: len(observation) <= _REMEMBERED_CHARS_MAX
).__getitem__


# Whatever went wrong before.
ANY_FAILURE: Final = ""


class TriedAction(NamedTuple):
    """After this error (`diagnosis`, a failure hash) that action was taken; whether it got rid of
    it.
    """

    diagnosis: str
    action: str
    helped: bool


def looks_on_the_way(steps: Sequence[Step], outcomes: Sequence[StepOutcome]) -> set[int]:
    """The steps that only looked at something, before the last that did something: they worked, and
    made nothing work.
    """
    looks, done = set[int](), False
    for place in reversed(range(len(steps))):
        step = steps[place]
        if outcomes[place].worked and step.reward <= 0 and only_looks(step.action):
            looks |= {place} if done else set()
        else:
            done = done or outcomes[place].worked
    return looks


def _worked_again(steps: Sequence[Step], outcomes: Sequence[StepOutcome]) -> dict[str, int]:
    """By action, the place of the last step at which one worked that had failed before."""
    failed, places = set[str](), dict[str, int]()
    for place, (step, outcome) in enumerate(zip(steps, outcomes, strict=True)):
        action = same_action(step.action)
        if not outcome.worked:
            failed.add(action)
        elif action in failed:
            places[action] = place
    return places


def pairs_of(trajectory: Trajectory) -> list[tuple[TriedAction, int]]:
    """Every diagnosis with what was tried against it, and the number of the step that tried it. An
    action helped when it worked, and earned a reward, was said to be ok, or belongs to a trajectory
    that ended well; where nobody knows how it ended, when what had failed worked later. Then the
    errors before it are settled. It did not when it failed. Whatever lies in between says nothing,
    and so does a look at something before the last that was done.
    """
    steps, outcomes = trajectory.steps, judge_steps(trajectory.steps)
    if not any(each.failure for each in outcomes):
        return []
    ended_well, looks = trajectory.turned_out_well, looks_on_the_way(steps, outcomes)
    again = _worked_again(steps, outcomes) if ended_well is None else {}
    found: dict[tuple[str, str], tuple[TriedAction, int]] = {}
    open_errors: dict[str, str] = {}  # with the action that showed each
    for number in range(max(0, len(steps) - limits.STEPS_LEARNED_MAX), len(steps)):
        step, good, failure = steps[number], outcomes[number].worked, outcomes[number].failure
        if number in looks:
            continue
        action, worth = same_action(step.action), step.reward > 0 or step.ok is True or ended_well
        settled = [
            error
            for error, failed in open_errors.items()
            if good and (worth or again.get(failed, -1) > number)
        ]
        for error in settled if good else open_errors:
            tried = TriedAction(error, action, good)
            known = found.get(tried[:2])
            if step.action.strip() and (known is None or (good and not known[0].helped)):
                found[tried[:2]] = (tried, number)
        for error in settled:
            del open_errors[error]
        if failure:
            open_errors[failure] = action
        if len(found) >= limits.LESSONS_PER_RECORD_MAX:
            break
    return list(found.values())[: limits.LESSONS_PER_RECORD_MAX]
