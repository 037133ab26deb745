"""Whether an action will work, and whether it will solve the task, from what became of its like.

An action is judged by what is known of everything that it belongs to, from the most general to the
very same: any action, what happened just before, actions of its kind (the program, its subcommand),
the task, its words, its shape, and the very same action for the very same task. What is general says
what to expect; each more special record moves that as far as it has evidence.

An action fails when any one part of it is wrong, so the word with the worst record decides, not the
average. A failure counts against the words that its error names (`Unknown column 'x'`: x), and
against all of them only where it names none.

And what a trajectory teaches: which step earned the reward, and which action helped against which
error.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.lessons.keys import task_key
from hardwon.records.kinds import Step, Trajectory
from hardwon.text.failures import failure_hash
from hardwon.text.outcomes import reported_failure
from hardwon.text.programs import only_looks
from hardwon.text.tables import beyond_ascii
from hardwon.text.terms import Remembered, key_of, same_action

# Distinct words by which one action is judged. A long script has more; its beginning says what it
# is about.
_ACTION_WORDS_MAX: Final = 200

# Levels of a step. `DONE`: it worked in a run of which nobody knows whether it solved its task.
FAILED, WORKED, SOLVED, DONE = 0, 1, 2, 3

# How many attempts of its own weigh as much as what is expected without them.
ALL_STRENGTH: Final = 2.0
SITUATION_STRENGTH: Final = 4.0
KIND_STRENGTH: Final = 4.0
TASK_STRENGTH: Final = 3.0
WORD_STRENGTH: Final = 3.0
SHAPE_STRENGTH: Final = 1.0
SAME_STRENGTH: Final = 0.5
# What this very attempt has shown already is as sure as anything can be.
OWN_STRENGTH: Final = 0.3

FIRST: Final = "first"
# Whoever gives no steps may be at the first one, or may just not say what came before.
_UNSAID_WEIGHT: Final = 0.5

_FIRST_GUESS: Final = 0.5
_FIRST_GUESS_SOLVED: Final = 0.1  # most steps only prepare the one that solves the task
_LITERAL: Final = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")
_NUMBER: Final = re.compile(r"\d(?<!\w\d)\d*(?:\.\d+)?\b")
_WORD: Final = re.compile(r"[^\W\d]\w*")
_ASCII_WORD: Final = re.compile(r"[a-z_]\w*", re.ASCII)  # the same in small letters, in less time
_WORD_SIGN: Final = re.compile(r"\w")
_PROGRAM: Final = re.compile(r"<?[\w./~-]+|\S")
# What stands before a program and says only where or how it runs.
_BEFORE: Final = re.compile(
    r"(?:cd\s+\S+\s*(?:&&|;)\s*|(?:sudo|env|time|nohup)\s+(?=[\w./~])"
    r"|[a-z_]\w*=(?:'[^']*'|\"[^\"]*\"|[^\s'\"]*)\s+(?=[\w./~]))+"
)
_SUBCOMMAND: Final = re.compile(r"[a-z][\w-]*")


def words_of(text: str) -> list[str]:
    """The distinct names and words of a text, in lower case."""
    cut = text[: limits.ACTION_CHARS_MAX].lower()
    words = _WORD if _WORD_SIGN.search(beyond_ascii(cut)) else _ASCII_WORD
    found = dict.fromkeys(words.findall(cut))
    if max(map(len, found), default=0) > limits.TERM_CHARS_MAX:
        found = dict.fromkeys(word[: limits.TERM_CHARS_MAX] for word in found)
    return list(found)[:_ACTION_WORDS_MAX]


def action_words(action: str) -> list[str]:
    """Those outside of quotes: quoted ones are data. All of them where there is nothing else."""
    return words_of(_LITERAL.sub(" ", action[: limits.ACTION_CHARS_MAX])) or words_of(action)


def action_shape(action: str) -> str:
    """The same for actions that differ in quoted values and numbers only."""
    cut = action[: limits.ACTION_CHARS_MAX].lower()
    return key_of("shape", " ".join(_NUMBER.sub("?", _LITERAL.sub("?", cut)).split()))


def action_kinds(action: str) -> list[str]:
    """What sort of action it is, from general to special: the program, and its subcommand. Several
    lines are a piece of code, whatever their first word is.
    """
    text = action[: limits.ACTION_CHARS_MAX].strip().lower()
    if before := _BEFORE.match(text):
        text = text[before.end() :]
    program = _PROGRAM.match(text)
    if program is None:
        return []
    first = program.group()[: limits.TERM_CHARS_MAX]
    if first.startswith("<"):
        return [first]
    if "\n" in text:
        return ["several lines"]
    rest = text[program.end() :].split(maxsplit=1)
    if rest and _SUBCOMMAND.fullmatch(rest[0]):
        return [first, f"{first} {rest[0][: limits.TERM_CHARS_MAX]}"]
    return [first]


@dataclass
class ActionContext:
    """What the current attempt has shown so far."""

    task: str = ""
    last_worked: bool | None = None
    blamed: set[str] = field(default_factory=set)

    @classmethod
    def after(cls, steps: Iterable[Step], task: str = "") -> ActionContext:
        situation = cls(task)
        for step in steps:
            situation.took(step, worked(step))
        return situation

    def name(self, words: Iterable[str]) -> str:
        """Whether something worked before, and whether an action of these words uses what an error
        blamed.
        """
        if self.last_worked is None:
            return FIRST
        blamed = not self.blamed.isdisjoint(words)
        return (
            f"after {'success' if self.last_worked else 'error'}, {'blamed' if blamed else 'clear'}"
        )

    def took(self, step: Step, good: bool, said: Iterable[str] = ()) -> set[str]:
        """The words of the action that its error names, where it failed; all that were `said`, where
        somebody knows them.
        """
        self.last_worked = good
        words = set(said or action_words(step.action))
        named = set[str]() if good else words.intersection(words_of(step.observation))
        self.blamed = self.blamed - words if good else self.blamed | named
        return named


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


FULL_REWARD: Final = 1.0


def solving_steps(trajectory: Trajectory) -> set[int]:
    """The places of the steps that earned the full reward: those whose own reward is as much, or
    where no step has it, the last of a trajectory that ended with it. None of one of which nobody
    knows how it ended.
    """
    steps, ended = trajectory.steps, trajectory.final_reward
    if ended is None or ended < FULL_REWARD or not steps:
        return set()
    earned = {place for place, step in enumerate(steps) if step.reward >= FULL_REWARD}
    return earned or {len(steps) - 1}


class ActionKey(NamedTuple):
    """Something that an action is judged by: what it is (`all`, `situation`, `kind`, `word`, `task`,
    `action`, `same`) and which.
    """

    what: str
    which: str


EVERYTHING: Final = ActionKey("all", "")
ALL_ACTIONS: Final = "all actions"  # as it is called where a probability comes from


def same_key(task: str, action: str) -> ActionKey:
    """What this very action is counted by, for this very task."""
    return ActionKey("same", task_key(task, same_action(action)))


@lru_cache(maxsize=1024)  # agents do the same again and again
def _known_by(action: str) -> tuple[list[ActionKey], dict[str, ActionKey], ActionKey]:
    """The kinds, the words and the shape of an action, whenever it is taken."""
    return (
        [ActionKey("kind", kind) for kind in action_kinds(action)],
        {word: ActionKey("word", word) for word in action_words(action)},
        ActionKey("action", action_shape(action)),
    )


class Judged(NamedTuple):
    """Everything whose record says something about an action."""

    general: ActionKey
    situation: ActionKey
    kinds: list[ActionKey]
    words: dict[str, ActionKey]
    task: ActionKey | None
    shape: ActionKey
    same: ActionKey | None

    @classmethod
    def by(cls, action: str, situation: ActionContext) -> Judged:
        kinds, words, shape = _known_by(action[: limits.ACTION_CHARS_MAX])
        task = situation.task.strip()
        return cls(
            EVERYTHING,
            ActionKey("situation", situation.name(words)),
            [*kinds],
            {**words},
            ActionKey("task", task_key(task)) if task else None,
            shape,
            same_key(task, action) if task else None,
        )

    @property
    def named(self) -> dict[str, ActionKey]:
        """What is said of where a probability comes from, the most special first."""
        found = {
            "this action for this task": self.same,
            "this action with other values": self.shape,
            "this task": self.task,
            "actions of this kind": self.kinds[-1] if self.kinds else None,
            ALL_ACTIONS: self.general,
        }
        return {name: key for name, key in found.items() if key}

    @property
    def keys(self) -> list[ActionKey]:
        own = [self.general, self.situation, *self.kinds, self.task, self.shape, self.same]
        return [*(key for key in own if key), *self.words.values()]


def outcomes_of(trajectory: Trajectory) -> list[tuple[ActionKey, int]]:
    """What the steps of a trajectory teach about actions: each thing once at each level, however
    often it came up. An agent that repeats itself proves nothing more.
    """
    steps, outcomes = trajectory.steps, judge_steps(trajectory.steps)
    solved = solving_steps(trajectory)
    works = DONE if trajectory.final_reward is None else WORKED
    found: dict[tuple[ActionKey, int], None] = {}
    situation = ActionContext(trajectory.task)
    for place in range(max(0, len(steps) - limits.STEPS_LEARNED_MAX), len(steps)):
        step, good = steps[place], outcomes[place].worked
        if not step.action.strip():
            continue
        level = (SOLVED if place in solved else works) if good else FAILED
        judged = Judged.by(step.action, situation)
        guilty = situation.took(step, good, judged.words) or judged.words
        for counted in judged.keys:
            if counted.what != "word" or counted.which in guilty:
                found[counted, level] = None
        if len(found) >= limits.ACTION_LESSONS_MAX:
            break
    return list(found)[: limits.ACTION_LESSONS_MAX]


class Outcomes(NamedTuple):
    """How much evidence there is of something, and how much of it worked and solved its task; of how
    much that worked nobody knows whether it solved its task (`unknown`).
    """

    tried: float = 0.0
    worked: float = 0.0
    solved: float = 0.0
    unknown: float = 0.0

    @classmethod
    def of(cls, attempts: Iterable[tuple[bool, bool]]) -> Outcomes:
        """Of attempts that worked or not, and solved their task or not."""
        given = list(attempts)
        return cls(
            float(len(given)),
            float(sum(good for good, _ in given)),
            float(sum(solved for _, solved in given)),
        )

    def plus(self, other: Outcomes) -> Outcomes:
        return Outcomes(*(one + two for one, two in zip(self, other, strict=True)))


def log_odds(p: float) -> float:
    p = min(max(p, _EDGE), 1 - _EDGE)
    return math.log(p / (1 - p))


_EDGE: Final = 1e-6  # log odds of a certainty would be infinite


def forecast(
    judged: Judged, records: Mapping[ActionKey, Outcomes], itself: Outcomes, own: Outcomes
) -> tuple[float, float, str | None, float]:
    """How likely an action is to work, and to solve the task; the word that speaks against it most,
    where one does; and how much of the evidence is of this action, or its like, rather than of
    anything: from the records of everything the action is judged by. `itself` is what became of the
    very same action elsewhere than in trajectories, `own` what became of it in this very attempt.
    """

    def of(key: ActionKey | None) -> Outcomes:
        return records.get(key, _NOTHING) if key else _NOTHING

    everything, task, shape = of(judged.general), of(judged.task), of(judged.shape)
    same, kinds = of(judged.same).plus(itself), [of(kind) for kind in judged.kinds]
    # What holds all that there is tells nothing new; counting it twice would feign certainty.
    said = _UNSAID_WEIGHT if judged.situation.which == FIRST else 1.0
    around = [
        (record, strength, weight)
        for record, strength, weight in (
            (of(judged.situation), SITUATION_STRENGTH, said),
            (task, TASK_STRENGTH, 1.0),
        )
        if record.tried < everything.tried
    ]
    words = [
        (word, record)
        for word, key in judged.words.items()
        if (record := of(key)).tried < everything.tried
    ]
    evidence = max(
        [own.tried, task.tried, shape.tried, same.tried, *(each.tried for each in kinds)]
    )
    if not evidence:
        worded = max((record.tried for _, record in words), default=0.0)
        evidence = worded if worded >= WORD_STRENGTH else 0.0

    def estimate(good: int, guess: float) -> tuple[float, str | None]:
        def shrunk(record: Outcomes, prior: float, strength: float) -> float:
            tried = record.tried - (record.unknown if good == SOLVED else 0.0)
            return (record[good] + strength * prior) / (tried + strength)

        usual = of_kind = shrunk(everything, guess, ALL_STRENGTH)
        if not evidence:  # of what nobody knows, what is usual, and no more
            return usual, None
        held = everything.tried
        for kind in kinds:
            if kind.tried < held:
                of_kind, held = shrunk(kind, of_kind, KIND_STRENGTH), kind.tried
        usual_odds, kind_odds = log_odds(usual), log_odds(of_kind)
        moved = [
            weight * (log_odds(shrunk(record, usual, strength)) - usual_odds)
            for record, strength, weight in around
        ]
        by_word = (
            (log_odds(shrunk(record, of_kind, WORD_STRENGTH)) - kind_odds, word)
            for word, record in words
        )
        worst, word = min(by_word, default=(0.0, None))
        p = 1 / (1 + math.exp(-sum([kind_odds, *moved, worst])))
        p = shrunk(shape, p, SHAPE_STRENGTH)
        p = shrunk(same, p, SAME_STRENGTH)
        return shrunk(own, p, OWN_STRENGTH), word if worst < 0 else None

    p_works, against = estimate(WORKED, _FIRST_GUESS)
    return p_works, estimate(SOLVED, _FIRST_GUESS_SOLVED)[0], against, evidence


_NOTHING: Final = Outcomes()


# --- trajectories ---

DISCOUNT: Final = 0.9


def step_credit(trajectory: Trajectory, discount: float = DISCOUNT) -> list[float]:
    """What each step is worth: its own reward, and what came after it discounted once per step, the
    final reward included as if it followed the last step's. So the last step gets `reward +
    final_reward`, the one before `reward + discount ·` that.
    """
    if not isinstance(trajectory, Trajectory):
        raise InvalidInputError.one("trajectory", trajectory, "a Trajectory")
    earned: list[float] = []
    following = trajectory.final_reward or 0.0
    for step in reversed(trajectory.steps):
        credit = max(-sys.float_info.max, min(sys.float_info.max, step.reward + following))
        earned.append(credit)
        following = discount * credit
    return earned[::-1]


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
