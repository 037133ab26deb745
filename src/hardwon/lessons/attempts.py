"""Earlier attempts at an action, as records tell of them; and which failures still stand against it.
Pure functions of records.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from hardwon.lessons.actions import FULL_REWARD, Judged, judge_run, judge_steps
from hardwon.lessons.issues import generate_issue_signature
from hardwon.lessons.keys import task_key
from hardwon.records.kinds import (
    VOUCHED_STATUSES,
    AnyRecord,
    Experience,
    Fact,
    Fix,
    Step,
    Trajectory,
    judge_record,
)
from hardwon.text.clean import clean_line
from hardwon.text.failures import Failure, error_words, failure_hash, read_failure
from hardwon.text.outcomes import guess_outcome
from hardwon.text.terms import same_action, spelled_alike

_WORDS_CHARS_MAX: Final = 300
# Later than any record: those of the run that asks come after everything that is kept.
_NOW_US: Final = 2**62
_RAN: Final = r"\A\W*(?:(?:i )?(?:ran|running|tried|used|using) \W*)?"


class Attempt(NamedTuple):
    """An attempt at an action. `failure` is a key of how it failed, "" where it did not or where
    nobody knows how; `shown` what it showed then. `source` is who says so, None where somebody vouches
    for it, or where it is the current run's own, which has no `record_id`. `counted`: it is among
    what actions are counted by already. `same_task`: it was for the task that is asked about. `ended`
    is how the run ended that it was part of.
    """

    at_us: int
    record_id: str
    action: str
    failed: bool
    solved: bool
    failure: str
    words: str
    source: str | None
    counted: bool
    same_task: bool
    ended: str = ""
    shown: Failure | None = None


def read_attempts(record: AnyRecord, action: str, task: str | None) -> Iterator[Attempt]:
    """The attempts at an action that a record tells of, in order: steps of a run, a fix, an
    experience that begins with it, a fact that names it.
    """
    if isinstance(record, Trajectory):
        same_task = task is None or task_key(record.task) == task_key(task)
        ended, source = judge_record(record), find_stranger(record)
        last = len(record.steps) - 1
        for place, (step, judged) in enumerate(zip(record.steps, judge_run(record), strict=True)):
            if are_same(step.action, action):
                attempt = _read_step(step, judged, record.at_us, same_task=same_task)
                if attempt.failed and not attempt.failure and place == last:
                    key = record.metadata.validation.failure_hash or ""
                    attempt = attempt._replace(failure=key)
                yield attempt._replace(record_id=record.id, source=source, ended=ended)
    elif isinstance(record, Fix):
        error = record.issue.error_output or ""
        for done in record.fix_commands or [record.analysis]:
            if are_same(done, action):
                # where nobody knows more, the issue was still there
                key = (
                    record.metadata.validation.failure_hash
                    or (failure_hash(error) if error.strip() else "")
                    or generate_issue_signature(record.issue)
                )
                words = error or record.issue.description
                yield _read_record(record, done, key, words, failed=not record.succeeded)
    elif isinstance(record, Experience | Fact):
        failed = _read_note(record, action)
        if failed is not None:
            key = record.metadata.validation.failure_hash or failure_hash(record.content)
            yield _read_record(record, action, key, record.content, failed=failed)


def list_actions(record: AnyRecord) -> set[str]:
    """What a record tells was done, as it is compared."""
    if isinstance(record, Trajectory):
        return {spelled_alike(step.action) for step in record.steps}
    if isinstance(record, Fix):
        return set(map(spelled_alike, record.fix_commands))
    return {spelled_alike(record.content)} if isinstance(record, Experience) else set()


def read_own_attempts(steps: Sequence[Step], action: str) -> Iterator[Attempt]:
    """Those of the current run."""
    for place, (step, judged) in enumerate(zip(steps, judge_steps(steps), strict=True)):
        if are_same(step.action, action):
            yield _read_step(step, judged, _NOW_US + place, same_task=True)


def find_own_place(attempt: Attempt) -> int:
    """At which step of the current run an attempt of it was."""
    return attempt.at_us - _NOW_US


def _read_step(step: Step, judged: Judged, at_us: int, *, same_task: bool) -> Attempt:
    failed, failure = judged.outcome == "failed", judged.failure
    words = ""
    if failed:
        words = failure.words if failure else step.observation
    solved = step.reward >= FULL_REWARD
    return Attempt(
        at_us,
        "",
        step.action,
        failed and not solved,
        solved,
        failure.exact if failed and failure else "",
        clean_line(words, _WORDS_CHARS_MAX),
        None,
        counted=True,
        same_task=same_task,
        shown=failure if failed else None,
    )


def _read_record(record: AnyRecord, action: str, key: str, words: str, *, failed: bool) -> Attempt:
    shown = clean_line(error_words(words) or words, _WORDS_CHARS_MAX) if failed else ""
    return Attempt(
        record.at_us,
        record.id,
        action,
        failed,
        not failed,
        key if failed else "",
        shown,
        find_stranger(record),
        counted=False,
        same_task=True,
        shown=read_failure(words) if failed else None,
    )


def find_stranger(record: AnyRecord) -> str | None:
    """Who says so; None where somebody vouches for it."""
    return None if record.metadata.validation.status in VOUCHED_STATUSES else record.said_by


def are_same(one: str, other: str) -> bool:
    """Whether two actions are the same, but for spaces and the like."""
    return one == other or same_action(one) == same_action(other)


def _read_note(record: Experience | Fact, action: str) -> bool | None:
    """Whether an action failed that a record is about; None where it is about another thing. A note
    that only mentions an action counts neither for nor against it.
    """
    if isinstance(record, Fact):
        is_about = record.fact_type in ("error", "solution") and _names(record.content, action)
        return record.fact_type == "error" if is_about else None
    if record.turned_out_well is None:
        return None
    begins = _names(record.content, action, first=True)
    is_about = are_same(record.content, action) or (
        begins and guess_outcome(record.content) == record.outcome
    )
    return not record.turned_out_well if is_about else None


def _names(sentence: str, action: str, *, first: bool = False) -> bool:
    """Whether a sentence has an action in it, word for word, or begins with it: what comes `first`
    is what it is about. A single word may be any word, and one with another option is another
    action.
    """
    named, text = spelled_alike(action), spelled_alike(sentence)
    if " " not in named or named not in text:
        return False
    before = _RAN if first else r"(?<!\w)"
    return re.search(rf"{before}{re.escape(named)}(?!\w| --?\w)", text) is not None


def find_identical(attempts: Iterable[Attempt]) -> list[Attempt]:
    """The attempts that failed in the same way, in whichever way most did, since the last one that
    did not. What somebody vouches for is undone by one that somebody vouches for, or by the current
    run's own, and by no number of others.
    """
    since: dict[str, list[Attempt]] = {}
    for attempt in sorted(attempts, key=lambda attempt: (attempt.at_us, attempt.record_id)):
        if not attempt.failed:
            since = {
                failure: vouched
                for failure, same in since.items()
                if attempt.source and (vouched := [one for one in same if one.source is None])
            }
        else:
            since.setdefault(attempt.failure, []).append(attempt)
    return max(since.values(), key=lambda same: (len(same), same[-1].at_us), default=[])


def find_standing(attempts: Sequence[Attempt]) -> list[Attempt]:
    """The identical failures that stand against an action; none where it does not fail. No single
    source that is not vouched for speaks against what works for others, and no number of them
    against what somebody vouches for.
    """
    if any(not one.failed and one.source is None for one in attempts):
        return find_identical(one for one in attempts if not one.failed or one.source is None)
    failures = find_identical(attempts)
    sources = {failure.source for failure in failures}
    is_alone = len(sources) == 1 and None not in sources
    others_succeeded = any(not one.failed and one.source not in sources for one in attempts)
    return [] if is_alone and others_succeeded else failures
