"""What a trajectory teaches: which step earned the reward, and which action helped against which error."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.learn.canonical import canonical, key_of
from hardwon.learn.failures import failure_hash
from hardwon.learn.runs import reported
from hardwon.model import Step, Trajectory

DISCOUNT: Final = 0.9
_REMEMBERED_CHARS_MAX: Final = 2_000


def step_credit(trajectory: Trajectory, discount: float = DISCOUNT) -> list[float]:
    """What each step is worth: its own reward, and what came after it discounted once per step, the final reward included as
    if it followed the last step's. So the last step gets `reward + final_reward`, the one before `reward + discount ·` that."""
    if not isinstance(trajectory, Trajectory):
        raise InvalidInputError.one("trajectory", trajectory, "a Trajectory")
    earned: list[float] = []
    following = trajectory.final_reward
    for step in reversed(trajectory.steps):
        credit = max(-sys.float_info.max, min(sys.float_info.max, step.reward + following))
        earned.append(credit)
        following = discount * credit
    return earned[::-1]


class Pair(NamedTuple):
    """After this error (`diagnosis`, a failure hash) that action was taken; whether it got rid of it."""

    diagnosis: str
    action: str
    helped: bool


def action_key(action: str) -> str:
    return key_of("action", canonical(action))


def pairs_of(trajectory: Trajectory) -> list[tuple[Pair, int]]:
    """Every diagnosis with what was tried against it, and the number of the step that tried it. An action helped when it
    earned a reward, or when nothing was wrong after it and the trajectory ended well; then the error is settled. It did not
    when an error came after it, or a reward below zero. Whatever lies in between says nothing."""
    steps = trajectory.steps[-limits.STEPS_LEARNED_MAX :]
    offset = len(trajectory.steps) - len(steps)
    errors = errors_of(steps)
    ended_well = trajectory.turned_out_well
    found: dict[tuple[str, str], tuple[Pair, int]] = {}
    open_errors: dict[str, None] = {}
    for number, (step, error) in enumerate(zip(steps, errors, strict=True)):
        failed = bool(error) or step.reward < 0
        helped = step.reward > 0 or (not failed and ended_well)
        action = action_key(step.action) if step.action.strip() else ""
        if action and open_errors and (helped or failed):
            for diagnosis in open_errors:
                known = found.get((diagnosis, action))
                if known is None or (helped and not known[0].helped):
                    found[diagnosis, action] = Pair(diagnosis, action, helped), number + offset
        if helped:
            open_errors = {}
        if error:
            open_errors[error] = None
        if len(found) >= limits.LESSONS_PER_RECORD_MAX:
            break
    return list(found.values())[: limits.LESSONS_PER_RECORD_MAX]


def errors_of(steps: Sequence[Step]) -> list[str]:
    """The failure hash of each step's observation, empty where it reports no error."""
    return [error_in(step.observation) for step in steps]


def error_in(observation: str) -> str:
    """The failure hash of what an observation reports; empty where it reports no error."""
    look = _remembered if len(observation) <= _REMEMBERED_CHARS_MAX else _remembered.__wrapped__
    return look(observation)


@lru_cache(maxsize=512)  # a trajectory is asked twice, for its pairs and for its keys; and agents see the same again and again
def _remembered(observation: str) -> str:
    said = reported(observation)
    return failure_hash(said) if said else ""
