"""What a run teaches, as plain values that are kept beside its record: the failures it met with what
made them go away, how each command ended last, what lasted, and what sorts of things were done.
A pure function of the run: the same records give the same digest on every machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from hardwon.records.kinds import Fix, Record, Trajectory
from hardwon.records.kinds import Step as Recorded
from hardwon.runs.read import read_run, read_steps_as_run
from hardwon.runs.shapes import Outcome, Problem, Run, RunOutcome, Step
from hardwon.runs.steps import sort_of_step
from hardwon.text.failure_keys import make_key, read_failure

# The key of every run.
ANY_RUN: Final = "run"
# Of a longer run the first ones are kept: a digest is read whenever one of its failures is met.
_PROBLEMS_MAX: Final = 100
_TRIED_MAX: Final = 200
_CHANGES_MAX: Final = 12
_WORDS_CHARS_MAX: Final = 300
_ACTION_CHARS_MAX: Final = 2_000


@dataclass(frozen=True)
class Met:
    """A failure that a run met. `cure` is what was changed before it was gone: None where it never
    was, nothing where it passed by itself. `in_vain` is what did not help. `checked`: the check was
    run again, and no longer showed it. `tells`: its words say what failed.
    """

    exact: str
    family: str
    words: str
    check: str
    cure: tuple[str, ...] | None
    in_vain: tuple[str, ...] = ()
    checked: bool = True
    tells: bool = True

    @property
    def passed(self) -> bool:
        """Whether it went away although nothing was changed."""
        return self.cure == ()


@dataclass(frozen=True)
class Tried:
    """How an action ended when the run took it last, and what failed then."""

    action: str
    outcome: Outcome
    exact: str = ""
    words: str = ""


@dataclass(frozen=True)
class Digest:
    """All that a run teaches. `sorts` are what sorts of changes it made."""

    task: str
    outcome: RunOutcome
    met: tuple[Met, ...]
    tried: tuple[Tried, ...]
    lasting: tuple[str, ...]
    sorts: tuple[str, ...]

    def to_json(self) -> str:
        """For the column that keeps it."""
        return json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Digest:
        """What `to_json` wrote."""
        kept: dict[str, Any] = json.loads(text)
        return cls(
            kept["task"],
            kept["outcome"],
            tuple(_read_met(met) for met in kept["met"]),
            tuple(Tried(**tried) for tried in kept["tried"]),
            tuple(kept["lasting"]),
            tuple(kept["sorts"]),
        )


def _read_met(kept: dict[str, Any]) -> Met:
    cure = kept.pop("cure")
    in_vain = tuple(kept.pop("in_vain"))
    return Met(**kept, cure=None if cure is None else tuple(cure), in_vain=in_vain)


def digest_record(record: Record) -> Digest | None:
    """What one record teaches as a run of its own; None where it tells of none."""
    if isinstance(record, Trajectory):
        return digest_run(read_run(record)) if record.steps else None
    if isinstance(record, Fix):
        return _digest_fix(record)
    return None


def digest_together(records: Iterable[Trajectory]) -> Digest:
    """What records teach that are one run, in the order in which they happened."""
    steps: list[Recorded] = []
    task, reward = "", None
    for record in sorted(records, key=lambda record: (record.at_us, record.id)):
        steps += record.steps
        task, reward = record.task or task, record.final_reward
    return digest_run(read_steps_as_run(steps, task, reward))


def digest_run(run: Run) -> Digest:
    """What a run teaches."""
    tried: dict[str, Tried] = {}
    for step in run.steps:
        if step.kind != "look" and step.action.strip():
            tried.pop(step.action, None)  # where it stands now is where it came last
            tried[step.action] = _make_tried(step)
    sorts = {sort_of_step(step) for step in run.steps if step.kind != "look"} - {""}
    return Digest(
        run.task,
        run.outcome,
        tuple(_make_met(problem) for problem in run.problems[:_PROBLEMS_MAX]),
        tuple(tried.values())[-_TRIED_MAX:],
        tuple(_shorten(step.action) for step in run.lasting[-_CHANGES_MAX:]),
        tuple(sorted(sorts)[:_TRIED_MAX]),
    )


def _make_met(problem: Problem) -> Met:
    failure = problem.failure
    cure = [_shorten(step.action) for step in problem.cure[-_CHANGES_MAX:]]
    in_vain = [_shorten(step.action) for step in problem.in_vain[-_CHANGES_MAX:]]
    return Met(
        failure.exact,
        failure.family,
        failure.words[:_WORDS_CHARS_MAX],
        _shorten(problem.check.action),
        None if problem.gone is None else tuple(dict.fromkeys(cure)),
        tuple(dict.fromkeys(in_vain)),
        problem.checked,
        failure.tells,
    )


def _make_tried(step: Step) -> Tried:
    failure = step.failure
    return Tried(
        _shorten(step.action),
        step.outcome,
        failure.exact if failure else "",
        failure.words[:_WORDS_CHARS_MAX] if failure else "",
    )


def _shorten(action: str) -> str:
    return action[:_ACTION_CHARS_MAX]


def _digest_fix(fix: Fix) -> Digest | None:
    """A fix is a run of its commands: they cured what the issue's error shows, or were in vain."""
    failure = read_failure(fix.issue.error_output or "")
    commands = tuple(map(_shorten, fix.fix_commands[:_CHANGES_MAX]))
    if failure is None or not commands:
        return None
    met = Met(
        failure.exact,
        failure.family,
        failure.words[:_WORDS_CHARS_MAX],
        "",
        commands if fix.succeeded else None,
        () if fix.succeeded else commands,
    )
    outcome: RunOutcome = "solved" if fix.succeeded else "failed"
    lasting = commands if fix.succeeded else ()
    return Digest(fix.issue.description, outcome, (met,), (), lasting, ())


def find_keys(digest: Digest) -> Iterator[str]:
    """What a digest is found by: its failures, and the sorts of its changes."""
    for met in digest.met:
        yield f"exact:{met.exact}"
        yield f"family:{met.family}"
    for sort in digest.sorts:
        yield sort_key(sort)
    yield ANY_RUN


def sort_key(sort: str) -> str:
    """The key of runs that made a change of a sort."""
    return f"sort:{make_key('sort', sort)}"
