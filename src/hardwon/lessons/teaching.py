"""What a run teaches, as plain values that are kept beside its record: the failures it met with what
made them go away, what lasted, and what sorts of things were done.
A pure function of the run: the same records give the same teaching on every machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from hardwon.lessons.laying_down import find_rule_text
from hardwon.lessons.lesson import make_lesson_id
from hardwon.records.kinds import Experience, Fact, Fix, Record, Trajectory
from hardwon.records.kinds import Step as Recorded
from hardwon.runs.account import NO_ACCOUNT, Account, find_whole_actions, give_account
from hardwon.runs.read import read_run, read_steps_as_run
from hardwon.runs.shapes import Problem, Run, RunOutcome
from hardwon.runs.steps import sort_of_step
from hardwon.text.failures import make_key, read_failure
from hardwon.text.terms import same_action

# The key of every run.
ANY_RUN: Final = "run"
# The key of everything that lays something down.
ANY_RULE: Final = "rule"
# Of a longer run the first ones are kept: a teaching is read whenever one of its failures is met.
_PROBLEMS_MAX: Final = 100
_SORTS_MAX: Final = 50
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
class Teaching:
    """All that a run teaches. `sorts` are what sorts of changes it made; `run_id` is shared by
    records that are one run. `rule` is what a record that is no run lays down for good, `by_person`
    that somebody typed it. `earned` is the final reward, None where nobody knows. `cites_files`: the
    record names files that may have changed since.
    """

    task: str
    outcome: RunOutcome
    met: tuple[Met, ...]
    lasting: tuple[str, ...]
    sorts: tuple[str, ...]
    run_id: str = ""
    rule: str = ""
    by_person: bool = False
    earned: float | None = None
    account: Account = NO_ACCOUNT
    cites_files: bool = False

    def to_json(self) -> str:
        """For the column that keeps it."""
        return json.dumps(vars(self), ensure_ascii=False, separators=(",", ":"), default=vars)

    @classmethod
    def from_json(cls, text: str) -> Teaching:
        """What `to_json` wrote."""
        kept: dict[str, Any] = json.loads(text)
        return cls(
            kept["task"],
            kept["outcome"],
            tuple(_read_met(met) for met in kept["met"]),
            tuple(kept["lasting"]),
            tuple(kept["sorts"]),
            kept["run_id"],
            kept["rule"],
            kept["by_person"],
            kept["earned"],
            _read_account(kept["account"]),
            kept["cites_files"],
        )


# Of a record that is no run.
NO_TEACHING: Final = Teaching("", "unknown", (), (), ())


def _read_account(kept: dict[str, Any]) -> Account:
    findings = tuple((action, tuple(names)) for action, names in kept.pop("findings"))
    return Account(**{**kept, "findings": findings, "files": tuple(kept["files"])})


def _read_met(kept: dict[str, Any]) -> Met:
    cure = kept.pop("cure")
    in_vain = tuple(kept.pop("in_vain"))
    return Met(**kept, cure=None if cure is None else tuple(cure), in_vain=in_vain)


def teach_record(record: Record) -> Teaching | None:
    """What one record teaches as a run of its own; None where it tells of none."""
    teaching = _teach(record)
    cites_files = bool(record.metadata.context.related_files)
    return replace(teaching, cites_files=True) if teaching and cites_files else teaching


def _teach(record: Record) -> Teaching | None:
    if isinstance(record, Trajectory) and record.steps:
        teaching = teach_run(read_run(record), record.steps, record.final_reward)
        return replace(teaching, run_id=record.metadata.source.id)
    if isinstance(record, Fix):
        return _teach_fix(record)
    if isinstance(record, Fact) and (solution := _teach_solution(record)):
        return solution
    if rule := find_rule_text(record):
        by_person = record.metadata.source.type == "user_interaction"
        return Teaching("", "unknown", (), (), (), rule=rule, by_person=by_person)
    return None


def teach_together(records: Iterable[Trajectory]) -> Teaching:
    """What records teach that are one run, in the order in which they happened."""
    steps: list[Recorded] = []
    task, reward = "", None
    for record in sorted(records, key=lambda record: (record.at_us, record.id)):
        steps += record.steps
        task, reward = record.task or task, record.final_reward
    return teach_run(read_steps_as_run(steps, task, reward), steps, reward)


def teach_run(run: Run, recorded: Sequence[Recorded], earned: float | None = None) -> Teaching:
    """What a run of these recorded steps teaches, which earned so much in the end."""
    met: dict[tuple[str, tuple[str, ...] | None], Met] = {}
    for problem in run.problems[:_PROBLEMS_MAX]:
        one = _make_met(problem)
        met.setdefault((one.exact, one.cure), one)  # two checks that showed it are one time
    sorts = {sort_of_step(step) for step in run.steps if step.kind != "look"} - {""}
    return Teaching(
        run.task,
        run.outcome,
        tuple(met.values()),
        tuple(map(_shorten, find_whole_actions(run.lasting, recorded)[-_CHANGES_MAX:])),
        tuple(sorted(sorts)[:_SORTS_MAX]),
        earned=earned,
        account=_shorten_account(give_account(run, recorded)),
    )


def _shorten_account(account: Account) -> Account:
    return replace(account, attempt=_shorten(account.attempt))


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


def _shorten(action: str) -> str:
    return action[:_ACTION_CHARS_MAX]


def _teach_fix(fix: Fix) -> Teaching | None:
    """A fix is a run of its commands: they cured what the issue's error shows, or were in vain."""
    failure = read_failure(fix.issue.error_output or "")
    commands = tuple(map(_shorten, fix.fix_commands[:_CHANGES_MAX]))
    if not commands:
        return None
    met: list[Met] = []
    if failure:
        met = [
            Met(
                failure.exact,
                failure.family,
                failure.words[:_WORDS_CHARS_MAX],
                "",
                commands if fix.succeeded else None,
                () if fix.succeeded else commands,
            )
        ]
    return Teaching(
        fix.issue.description,
        "solved" if fix.succeeded else "failed",
        tuple(met),
        commands if fix.succeeded else (),
        (),
        earned=float(fix.succeeded),
        account=Account(" && ".join(commands)),
    )


def _teach_solution(fact: Fact) -> Teaching | None:
    """What somebody wrote down against a failure cured it. None for a fact that is no solution, or
    does not say of which failure.
    """
    family = fact.metadata.validation.failure_hash
    if fact.fact_type != "solution" or not family:
        return None
    met = Met(family, family, f"failure {family}", "", (_shorten(fact.content),))
    return Teaching("", "unknown", (met,), (), ())


def find_keys(teaching: Teaching) -> Iterator[str]:
    """What a teaching is found by: its failures, and the sorts of its changes; that it is a rule."""
    if teaching.rule:
        yield ANY_RULE
        yield lesson_key(make_rule_id(teaching.rule))
        return
    for met in teaching.met:
        yield f"exact:{met.exact}"
        yield f"family:{met.family}"
        for action in met.cure or ():
            yield lesson_key(make_lesson_id("cure", met.exact, same_action(action)))
        yield lesson_key(make_lesson_id("dead end", met.exact, same_action(met.check)))
    if teaching.lasting:
        yield lesson_key(make_way_id(teaching.task, teaching.lasting))
    if teaching.account.attempt:
        yield lesson_key(make_lost_id(teaching.task, teaching.account.attempt))
    for sort in teaching.sorts:
        yield sort_key(sort)
    yield ANY_RUN


def make_rule_id(rule: str) -> str:
    """The id of the lesson that a rule is."""
    return make_lesson_id("rule", "", same_action(rule))


def make_fact_id(content: str) -> str:
    """The id of the lesson that a sentence is which somebody wrote down."""
    return make_lesson_id("fact", "", same_action(content))


def name_lesson(record: Experience | Fact) -> str:
    """The id of the lesson that is told with what a record says: the rule that it lays down, the cure
    that it is, or the sentence itself.
    """
    teaching = _teach(record)
    if teaching and teaching.rule:
        return make_rule_id(teaching.rule)
    if teaching and teaching.met and (cure := teaching.met[0].cure):
        return make_lesson_id("cure", teaching.met[0].exact, same_action(cure[0]))
    return make_fact_id(record.content)


def make_way_id(task: str, actions: Sequence[str]) -> str:
    """The id of the lesson that a task is done by these actions."""
    content = "\0".join(map(same_action, actions))
    return make_lesson_id("way", make_key("task", same_action(task)), content)


def make_lost_id(task: str, attempt: str) -> str:
    """The id of the lesson that this did not solve a task."""
    return make_lesson_id("dead end", make_key("task", same_action(task)), same_action(attempt))


def lesson_key(lesson_id: str) -> str:
    """The key of runs that taught a lesson; the beginning of an id makes that of a key."""
    return f"lesson:{lesson_id}"


def sort_key(sort: str) -> str:
    """The key of runs that made a change of a sort."""
    return f"sort:{make_key('sort', sort)}"
