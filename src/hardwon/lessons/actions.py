"""What an action is counted under, from anything at all to this very action at this very task; and what
each step of a run adds there. Counting commutes: any order of records gives the same counts.
A pure function of the run: how each step turned out is read by `runs`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.lessons.keys import task_key
from hardwon.records.kinds import Step, Trajectory
from hardwon.runs.shapes import Outcome
from hardwon.runs.steps import read_steps
from hardwon.text.failures import Failure
from hardwon.text.programs import only_looks
from hardwon.text.terms import TERM_CHARS_MAX, hash_parts, same_action

# What one trajectory teaches about the words, shapes and situations of its actions. A run of ten
# steps has about 60.
ACTION_LESSONS_MAX: Final = 300

# How a step turned out. `DONE`: it worked in a run of which nobody knows whether it solved its task.
# `QUIET`: nobody called it failed, and it shows no known error; `LEFT`: the same in such a run.
FAILED, WORKED, SOLVED, DONE, QUIET, LEFT = range(6)

FULL_REWARD: Final = 1.0
# Distinct words by which one action is judged. A long script has more; its beginning says what it
# is about.
_WORDS_MAX: Final = 60
_LITERAL: Final = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")
_NUMBER: Final = re.compile(r"\d(?<!\w\d)\d*(?:\.\d+)?\b")
_WORD: Final = re.compile(r"[^\W\d]\w*")
_PROGRAM: Final = re.compile(r"<?[\w./~-]+|\S")
_SUBCOMMAND: Final = re.compile(r"[a-z][\w-]*")
# What stands before a program and says only where or how it runs.
_BEFORE: Final = re.compile(
    r"(?:cd\s+\S+\s*(?:&&|;)\s*|(?:sudo|env|time|nohup)\s+(?=[\w./~])"
    r"|[a-z_]\w*=(?:'[^']*'|\"[^\"]*\"|[^\s'\"]*)\s+(?=[\w./~]))+"
)
_SIZES_MAX: Final = 6


class Level(NamedTuple):
    """Something that an action is counted under: what it is (`all`, `kind`, `same` …) and which."""

    what: str
    which: str


EVERYTHING: Final = Level("all", "")
# Each action of a run for itself: how often things usually work.
EACH: Final = Level("each", "")


class Levels(NamedTuple):
    """Everything that an action is counted under at a moment. `named` are single levels by the name
    that the weights know them by; each of the `words` outside of quotes is one of its own.
    """

    named: dict[str, Level]
    words: tuple[Level, ...]

    @property
    def all(self) -> list[Level]:
        """Each once."""
        return list(dict.fromkeys((*self.named.values(), *self.words)))


def find_words(text: str) -> list[str]:
    """The distinct names and words of a text, in lower case."""
    words = dict.fromkeys(_WORD.findall(text[: limits.ACTION_CHARS_MAX].lower()))
    return [word[:TERM_CHARS_MAX] for word in words]


def find_action_words(action: str) -> list[str]:
    """Those outside of quotes: quoted ones are data. All of them where there is nothing else."""
    words = find_words(_LITERAL.sub(" ", action[: limits.ACTION_CHARS_MAX])) or find_words(action)
    return words[:_WORDS_MAX]


def find_shape(action: str) -> str:
    """The same for actions that differ in quoted values and numbers only."""
    cut = action[: limits.ACTION_CHARS_MAX].lower()
    return hash_parts("shape", " ".join(_NUMBER.sub("?", _LITERAL.sub("?", cut)).split()))


def find_kinds(action: str) -> list[str]:
    """What sort of action it is, from general to special: the program, and its subcommand. Several
    lines are a piece of code, whatever their first word is.
    """
    text = action[: limits.ACTION_CHARS_MAX].strip().lower()
    if before := _BEFORE.match(text):
        text = text[before.end() :]
    program = _PROGRAM.match(text)
    if program is None:
        return []
    first = program.group()[:TERM_CHARS_MAX]
    if first.startswith("<"):
        return [first]
    if "\n" in text:
        return ["several lines"]
    rest = text[program.end() :].split(maxsplit=1)
    if rest and _SUBCOMMAND.fullmatch(rest[0]):
        return [first, f"{first} {rest[0][:TERM_CHARS_MAX]}"]
    return [first]


def find_form(action: str) -> str:
    """How an action is written, whatever it says: whether it only looks, how long it is, and whether
    it holds a document or a pipe.
    """
    first_line = action.partition("\n")[0]
    lines = min(_SIZES_MAX, action.count("\n").bit_length())
    size = min(_SIZES_MAX - 1, len(action).bit_length() // 2)
    return f"{only_looks(action):d}{lines}{'<<' in action:d}{'|' in first_line:d}{size}"


class _Described(NamedTuple):
    named: dict[str, Level]
    words: tuple[Level, ...]
    same: str
    program: str


@lru_cache(maxsize=1024)  # agents do the same again and again
def _describe(action: str) -> _Described:
    """What an action is counted under whenever it is taken, `EVERYTHING` among it."""
    kinds = find_kinds(action)
    same = same_action(action)
    named = {"all": EVERYTHING, "form": Level("form", find_form(action))}
    named |= dict(
        zip(("program", "command"), (Level("kind", kind) for kind in kinds), strict=False)
    )
    named |= {"shape": Level("action", find_shape(action)), "exact": Level("exact", same)}
    words = tuple(Level("word", word) for word in find_action_words(action))
    return _Described(named, words, same, kinds[0] if kinds else "")


class Judged(NamedTuple):
    """How a recorded step turned out."""

    outcome: Outcome
    failure: Failure | None


def judge_steps(recorded: Sequence[Step]) -> list[Judged]:
    """How each of these steps turned out, in order."""
    judged = [Judged("unknown", None)] * len(recorded)
    for step in read_steps(recorded):
        if judged[step.place].outcome != "failed":
            judged[step.place] = Judged(step.outcome, step.failure)
    return judged


@dataclass
class Moment:
    """What a run has shown so far. `blamed` are words that errors named and that nothing with them
    has worked since; `ended` is how each action ended when it was taken last.
    """

    task: str = ""
    last_failed: bool | None = None
    blamed: set[str] = field(default_factory=set)
    ended: dict[str, bool] = field(default_factory=dict)
    taken: int = 0
    failed: int = 0

    def take(self, step: Step, judged: Judged) -> set[str]:
        """Takes in the next step. The words of its action that its error names, where it failed."""
        failed = judged.outcome == "failed"
        described = _describe(step.action)
        words = {level.which for level in described.words}
        blamed = set[str]()
        if failed:
            blamed = words.intersection(find_words(step.observation[-limits.ACTION_CHARS_MAX :]))
            self.blamed |= blamed
        else:
            self.blamed -= words
        self.last_failed = failed
        self.ended[described.same] = failed
        self.taken += 1
        self.failed += failed
        return blamed

    def find_own(self, action: str) -> bool | None:
        """Whether the very action failed when this run took it last; None where it did not."""
        return self.ended.get(same_action(action))


def read_moment(steps: Sequence[Step], task: str = "") -> Moment:
    """What the steps of a run have shown."""
    moment = Moment(task)
    for step, judged in zip(steps, judge_steps(steps), strict=True):
        moment.take(step, judged)
    return moment


def find_levels(action: str, moment: Moment) -> Levels:
    """What an action is counted under when it is taken at this moment. Whoever does not say what came
    before may be at the first step, or may just not say.
    """
    described = _describe(action[: limits.ACTION_CHARS_MAX])
    named = dict(described.named)
    task = moment.task.strip()
    if task:
        named["task"] = Level("task", task_key(task))
        named["same"] = same_level(task, action)
    if moment.last_failed is not None:
        before = "error" if moment.last_failed else "success"
        blamed = not moment.blamed.isdisjoint(level.which for level in described.words)
        after = f"after {before}, {'blamed' if blamed else 'clear'}"
        named["after"] = Level("situation", after)
        named["next"] = Level("next", f"{described.program} after {before}")
    return Levels(named, described.words)


def same_level(task: str, action: str) -> Level:
    """What this very action is counted under for this very task."""
    return Level("same", task_key(task, same_action(action)))


def find_solving(trajectory: Trajectory) -> set[int]:
    """The places of the steps that earned the full reward: those whose own reward is as much, or
    where no step has it, the last of a trajectory that ended with it. None of one of which nobody
    knows how it ended.
    """
    steps, ended = trajectory.steps, trajectory.final_reward
    if ended is None or ended < FULL_REWARD or not steps:
        return set()
    earned = {place for place, step in enumerate(steps) if step.reward >= FULL_REWARD}
    return earned or {len(steps) - 1}


def judge_run(trajectory: Trajectory) -> list[Judged]:
    """How its steps turned out. What a run that failed did last has failed, where nobody says that it
    worked: whatever it shows, in whatever language.
    """
    judged = judge_steps(trajectory.steps)
    last = trajectory.steps[-1] if trajectory.steps else None
    if last is None or trajectory.turned_out_well is not False:
        return judged
    did = len(judged) == 1 or not only_looks(last.action)
    if did and judged[-1].outcome == "unknown":
        judged[-1] = Judged("failed", judged[-1].failure)
    return judged


def count_actions(trajectory: Trajectory) -> list[tuple[Level, int]]:
    """What the steps of a trajectory add, each with how it ended (`FAILED`, `SOLVED` …): each thing once
    for each ending, however often it came up. An
    agent that repeats itself proves nothing more. A failure counts against the words that its error
    names, and against all of them only where it names none.
    """
    steps, judged = trajectory.steps, judge_run(trajectory)
    solving = find_solving(trajectory)
    counts: dict[tuple[Level, int], None] = {}
    distinct: set[tuple[str, int]] = set()
    moment = Moment(trajectory.task)
    for place in range(max(0, len(steps) - limits.STEPS_LEARNED_MAX), len(steps)):
        step = steps[place]
        if not step.action.strip():
            continue
        levels = find_levels(step.action, moment)
        outcome = _find_level(trajectory, place in solving, judged[place].outcome)
        blamed = moment.take(step, judged[place])
        words = [word for word in levels.words if not blamed or word.which in blamed]
        counts |= dict.fromkeys((level, outcome) for level in (*levels.named.values(), *words))
        distinct.add((levels.named["exact"].which, outcome))
        if len(counts) >= ACTION_LESSONS_MAX:
            break
    single = [(EACH, outcome) for _, outcome in sorted(distinct)]
    return [*list(counts)[:ACTION_LESSONS_MAX], *single]


def _find_level(trajectory: Trajectory, solves: bool, outcome: Outcome) -> int:
    if outcome == "failed":
        return FAILED
    if solves:
        return SOLVED
    is_open = trajectory.final_reward is None
    if outcome == "unknown":
        return LEFT if is_open else QUIET
    return DONE if is_open else WORKED


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
