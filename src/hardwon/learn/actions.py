"""Whether an action will work, from what became of its like.

An action fails when any one part of it is wrong, so the word with the worst record decides, not the
average. A failure counts against the words that its error names (`Unknown column 'x'`: x), and
against all of them only where it names none. What happened just before, and what became of the very
same action, are added to that.

And what a trajectory teaches: which step earned the reward, and which action helped against which
error.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.records.kinds import Step, Trajectory
from hardwon.text.failures import failure_hashes
from hardwon.text.shell import reported_failure
from hardwon.text.terms import Remembered
from hardwon.text.words import canonical, key_of

ALL_STRENGTH: Final = 2.0
WORD_STRENGTH: Final = 1.0
SITUATION_STRENGTH: Final = 4.0
# How many attempts of its own weigh as much as what is expected without them.
SAME_ACTION_STRENGTH: Final = 1.0

_LITERAL: Final = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")
_NUMBER: Final = re.compile(r"\b\d+(?:\.\d+)?\b")
_WORD: Final = re.compile(r"[^\W\d]\w*")


def words_of(text: str) -> list[str]:
    """The distinct names and words of a text, in lower case."""
    found = _WORD.findall(text[: limits.ACTION_CHARS_MAX].lower())
    return list(dict.fromkeys(word[: limits.TERM_CHARS_MAX] for word in found))[
        : limits.ACTION_WORDS_MAX
    ]


def action_words(action: str) -> list[str]:
    """Those outside of quotes: quoted ones are data. All of them where there is nothing else."""
    return words_of(_LITERAL.sub(" ", action[: limits.ACTION_CHARS_MAX])) or words_of(action)


def action_shape(action: str) -> str:
    """The same for actions that differ in quoted values and numbers only."""
    cut = action[: limits.ACTION_CHARS_MAX].lower()
    return key_of("shape", " ".join(_NUMBER.sub("?", _LITERAL.sub("?", cut)).split()))


@dataclass
class ActionContext:
    """What the current attempt has shown so far."""

    last_worked: bool | None = None
    blamed: set[str] = field(default_factory=set)

    @classmethod
    def after(cls, steps: Iterable[Step]) -> ActionContext:
        situation = cls()
        for step in steps:
            situation.took(step)
        return situation

    def name(self, action: str) -> str:
        """Whether something worked before, and whether the action uses what an error blamed."""
        if self.last_worked is None:
            return "first"
        blamed = not self.blamed.isdisjoint(action_words(action))
        return (
            f"after {'success' if self.last_worked else 'error'}, {'blamed' if blamed else 'clear'}"
        )

    def took(self, step: Step) -> None:
        self.last_worked = worked(step)
        words = set(action_words(step.action))
        if self.last_worked:
            self.blamed -= words
        else:
            self.blamed |= words & set(words_of(step.observation))


def worked(step: Step) -> bool:
    """What the caller said is believed: a reward below zero is a failure, whatever the observation
    looks like. Where nothing was said, an action that shows no error did what it was meant to do.
    """
    return step.reward >= 0 and not error_in(step.observation)


class ActionKey(NamedTuple):
    """Something that an action is judged by: what it is (`all`, `situation`, `action`, `word`) and
    which.
    """

    what: str
    which: str


def judged_by(action: str, situation: ActionContext) -> list[ActionKey]:
    """Everything whose record says something about an action."""
    words = [ActionKey("word", word) for word in action_words(action)]
    return [
        ActionKey("all", ""),
        ActionKey("situation", situation.name(action)),
        ActionKey("action", action_shape(action)),
        *words,
    ]


def outcomes_of(steps: Sequence[Step]) -> list[tuple[ActionKey, bool]]:
    """What the steps of a trajectory teach about actions: each thing once as what worked and once
    as what failed, however often it came up. An agent that repeats itself proves nothing more.
    """
    found: dict[tuple[ActionKey, bool], None] = {}
    situation = ActionContext()
    for step in steps:
        good = worked(step)
        words = set(action_words(step.action))
        guilty = words if good else words & set(words_of(step.observation)) or words
        for counted in judged_by(step.action, situation):
            if counted.what != "word" or counted.which in guilty:
                found[counted, good] = None
        situation.took(step)
        if len(found) >= limits.ACTION_LESSONS_MAX:
            break
    return list(found)[: limits.ACTION_LESSONS_MAX]


class Outcomes(NamedTuple):
    """How often something worked and failed."""

    worked: float = 0.0
    failed: float = 0.0


def _log_odds(p: float) -> float:
    return math.log(p / (1 - p))


def _shrunk(record: Outcomes, prior: float, strength: float) -> float:
    return (record.worked + strength * prior) / (record.worked + record.failed + strength)


def forecast(
    action: str, situation: ActionContext, records: Mapping[ActionKey, Outcomes], itself: Outcomes
) -> tuple[float, str | None]:
    """How likely an action is to work, and the word that speaks against it most, None where none
    does: from the records of everything the action is judged by. `itself` is what became of the very
    same action elsewhere than in trajectories.
    """

    def of(what: str, which: str) -> Outcomes:
        return records.get(ActionKey(what, which), Outcomes())

    usual = _shrunk(of("all", ""), 0.5, ALL_STRENGTH)
    base = _log_odds(usual)
    against = {
        word: _log_odds(_shrunk(of("word", word), usual, WORD_STRENGTH)) - base
        for word in action_words(action)
    }
    worst = min(against, key=lambda word: (against[word], word), default=None)
    sum_ = base + (against[worst] if worst else 0.0)
    sum_ += (
        _log_odds(_shrunk(of("situation", situation.name(action)), usual, SITUATION_STRENGTH))
        - base
    )
    tried = of("action", action_shape(action))
    known = Outcomes(tried.worked + itself.worked, tried.failed + itself.failed)
    p = _shrunk(known, 1 / (1 + math.exp(-sum_)), SAME_ACTION_STRENGTH)
    return p, worst if worst and against[worst] < 0 else None


# --- trajectories ---

DISCOUNT: Final = 0.9
_REMEMBERED_CHARS_MAX: Final = 2_000


def step_credit(trajectory: Trajectory, discount: float = DISCOUNT) -> list[float]:
    """What each step is worth: its own reward, and what came after it discounted once per step, the
    final reward included as if it followed the last step's. So the last step gets `reward +
    final_reward`, the one before `reward + discount ·` that.
    """
    if not isinstance(trajectory, Trajectory):
        raise InvalidInputError.one("trajectory", trajectory, "a Trajectory")
    earned: list[float] = []
    following = trajectory.final_reward
    for step in reversed(trajectory.steps):
        credit = max(-sys.float_info.max, min(sys.float_info.max, step.reward + following))
        earned.append(credit)
        following = discount * credit
    return earned[::-1]


class TriedAction(NamedTuple):
    """After this error (`diagnosis`, a failure hash) that action was taken; whether it got rid of
    it.
    """

    diagnosis: str
    action: str
    helped: bool


def action_key(action: str) -> str:
    return key_of("action", canonical(action))


def pairs_of(trajectory: Trajectory) -> list[tuple[TriedAction, int]]:
    """Every diagnosis with what was tried against it, and the number of the step that tried it. An
    action helped when it earned a reward, or when nothing was wrong after it and the trajectory
    ended well; then the error is settled. It did not when an error came after it, or a reward below
    zero. Whatever lies in between says nothing.
    """
    steps = trajectory.steps[-limits.STEPS_LEARNED_MAX :]
    offset = len(trajectory.steps) - len(steps)
    errors = errors_of(steps)
    ended_well = trajectory.turned_out_well
    found: dict[tuple[str, str], tuple[TriedAction, int]] = {}
    open_errors: dict[str, None] = {}
    for number, (step, error) in enumerate(zip(steps, errors, strict=True)):
        failed = bool(error) or step.reward < 0
        helped = step.reward > 0 or (not failed and ended_well)
        action = action_key(step.action) if step.action.strip() else ""
        if action and open_errors and (helped or failed):
            for diagnosis in open_errors:
                known = found.get((diagnosis, action))
                if known is None or (helped and not known[0].helped):
                    found[diagnosis, action] = (
                        TriedAction(diagnosis, action, helped),
                        number + offset,
                    )
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
    hashes = errors_in(observation)
    return hashes[0] if hashes else ""


def _find_errors(observation: str) -> tuple[str, ...]:
    said = reported_failure(observation)
    return failure_hashes(said) if said else ()


# The same with the hash that older versions gave it.
# a trajectory is asked twice, for its pairs and for its keys; and agents see the same again and
# again
errors_in = Remembered(
    _find_errors, lambda observation, _: len(observation) <= _REMEMBERED_CHARS_MAX
).__getitem__
