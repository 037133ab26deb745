"""What people ask of the work that was recorded: what goes wrong and what fixed it, whether it gets
better, and how tools do in which areas.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import Final

from hardwon import limits
from hardwon.learn.actions import FAILED, judge_steps
from hardwon.lessons.issues import generate_issue_signature
from hardwon.memory.knowledge import Knowledge
from hardwon.memory.lessons import LessonFinder, read_shown_failure
from hardwon.memory.project import Project
from hardwon.memory.results import DayRate, Failure, Rates, Remedy
from hardwon.records.fields import from_us, to_us
from hardwon.records.kinds import AnyRecord, Fix, Trajectory, headline
from hardwon.store.types import Failed
from hardwon.text.clean import clean_action
from hardwon.text.failures import error_words, failure_hash
from hardwon.text.likeness import group_alike
from hardwon.text.outcomes import describe_failure
from hardwon.text.terms import ENGLISH, stop_words

# What came up for the first time in so many days is a new failure: a week, as people count.
_NEW_FAILURE_DAYS: Final = 7

# Failures among them that have no hash, and are put together by their words: each is compared with
# all before it.
_FAILURES_WORDED_MAX: Final = 60

# Records that are read to tell what goes wrong, the newest that failed: some 10 ms.
_FAILURES_READ_MAX: Final = 1_500

_COLUMNS: Final = {"author": "author", "task": "task_id"}


def progress(project: Project, per: str, since: datetime | None, limit: int) -> list[Rates]:
    """How it went day by day, for those with the most that turned out well or badly."""
    found: dict[str, list[DayRate]] = defaultdict(list)
    for day, name, good, bad in _days(project, per, since):
        if good or bad:
            found[name].append(DayRate(from_us(day * limits.DAY_US).date(), good, bad))
    ranked = sorted(
        (Rates(name, tuple(days)) for name, days in found.items()),
        key=lambda each: (-each.tried, each.name),
    )
    if per == "command":
        prose = {each.name.partition(" ")[0] for each in ranked if _is_prose(each.name)}
        ranked = [
            each
            for each in ranked
            if each.name.partition(" ")[0] not in prose and not _says_no_more(each, ranked)
        ]
    return ranked[:limit]


def _days(
    project: Project, per: str, since: datetime | None
) -> Iterator[tuple[int, str, int, int]]:
    first = 0 if since is None else to_us(since) // limits.DAY_US
    if per == "command":
        most = limits.CONSIDERED_MAX
        for key, day, levels in project.store.day_totals(project.name, "act.kind", most, first):
            yield day, key, sum(levels) - levels[FAILED], levels[FAILED]
        return
    last = to_us(project.now()) // limits.DAY_US
    for day, name, _, good, bad in project.store.activity(
        project.name, first, last + 1, _COLUMNS[per]
    ):
        yield day, name, good, bad


def _says_no_more(program: Rates, ranked: Iterable[Rates]) -> bool:
    """Whether it was run with one subcommand alone, which is listed as well."""
    return any(
        each.days == program.days and each.name.startswith(f"{program.name} ") for each in ranked
    )


def _is_prose(kind: str) -> bool:
    """Whether an action was told in words, so that its second word is no subcommand."""
    return kind.partition(" ")[2] in stop_words(ENGLISH)


# --- what goes wrong ---


@dataclass
class _Group:
    """Records that tell of the same failure, the newest first; `key` is empty where nothing but
    their words says so. `first_us`: when the first of all was kept.
    """

    key: str
    seen: list[Failed] = field(default_factory=list)
    text: str = ""
    action: str = ""
    first_us: int = 2**62  # later than any record


def failures(project: Project, since: datetime | None, limit: int) -> list[Failure]:
    """What failed, those first that came up in the last days for the first time, then those that
    came up most; with what made them go away.
    """
    start_us, now_us = (0 if since is None else to_us(since)), to_us(project.now())
    found = project.store.failed(project.name, start_us, now_us + 1, _FAILURES_READ_MAX)
    keyed, others = _gather(found)
    newest = sorted(keyed, key=lambda each: -each.seen[0].at_us)[: 2 * limit]
    keyed = sorted(keyed, key=lambda each: (-len(each.seen), each.key))[: 4 * limit]
    keyed += [each for each in newest if each not in keyed]
    first_us = project.store.first_seen(project.name, [each.key for each in keyed])
    new_us = now_us - _NEW_FAILURE_DAYS * limits.DAY_US
    for each in keyed:
        each.first_us = first_us.get(each.key, each.first_us)
    keyed.sort(key=lambda each: (each.first_us < new_us, -len(each.seen)))
    # twice as many as are told: some cannot be put into words
    considered = keyed[: 2 * limit] + others[:_FAILURES_WORDED_MAX]
    known = project.knowledge
    known.read_ahead(each.seen[0].id for each in considered)
    groups = [each for each in considered if _word(each, known.record(each.seen[0].id))]
    alike = group_alike([each for each in groups if not each.key], lambda each: each.text)
    groups = [each for each in groups if each.key] + [
        _Group("", [one for each in same for one in each.seen], same[0].text) for same in alike
    ]
    told = [_failure(each, from_us(new_us)) for each in groups]
    told.sort(key=lambda each: (not each.is_new, -each.seen, -each.last_seen.timestamp()))
    return [_with_fix(project, known, each) for each in told[:limit]]


def _gather(found: Iterable[Failed]) -> tuple[list[_Group], list[_Group]]:
    """By the key of their failure, and those that have none. Of a fix that has a failure's, its
    issue is of no account; of an issue's two signatures, one is enough.
    """
    groups: dict[str, _Group] = {}
    for _, rows in groupby(found, attrgetter("id")):
        told = list(rows)
        if len(told) > 1:
            errors = [each for each in told if (each.key or "").startswith("failure:")]
            told = errors or told[:1]
        for each in told:
            key = each.key or each.id
            groups.setdefault(key, _Group(each.key or "")).seen.append(each)
    return (
        [each for each in groups.values() if each.key],
        [each for each in groups.values() if not each.key],
    )


def _word(group: _Group, record: AnyRecord | None) -> bool:
    """Puts a failure into the words of a record; False where that is not there any more, or the
    failure has another hash by now.
    """
    wanted = group.key.removeprefix("failure:")
    if isinstance(record, Trajectory):
        for step, outcome in zip(record.steps, judge_steps(record.steps), strict=True):
            if outcome.failure == wanted or (not wanted and not outcome.worked):
                group.text = describe_failure(step.observation) or record.task
                group.action = clean_action(step.action)
                return True
        group.text = "" if wanted else record.task
    elif isinstance(record, Fix):
        issue, error = record.issue, record.issue.error_output or ""
        group.text = f"{issue.issue_type}: {issue.description or error_words(error)}"
        if group.key.startswith("failure:"):
            return failure_hash(error) == wanted
        group.key = f"signature:{generate_issue_signature(issue)}"
    elif record:
        group.text = headline(record)
    return bool(group.text)


def _failure(group: _Group, new_from: datetime) -> Failure:
    times_us = [each.at_us for each in group.seen]
    first = from_us(min(group.first_us, *times_us))
    return Failure(
        text=group.text,
        action=group.action,
        key=group.key,
        seen=len({each.id for each in group.seen}),
        first_seen=first,
        last_seen=from_us(max(times_us)),
        is_new=first >= new_from,
        authors=tuple(sorted({each.author for each in group.seen})),
        evidence=tuple(each.id for each in group.seen)[: limits.EVIDENCE_SHOWN_MAX],
    )


def _with_fix(project: Project, known: Knowledge, failure: Failure) -> Failure:
    """With what made this very failure go away, where that is known."""
    sort, _, which = failure.key.partition(":")
    done: tuple[str, int, int, tuple[str, ...]] | None = None
    if sort == "signature":
        for fix in known.strategies("signature", which, 0.5, 1, successful=True):
            action = "; ".join(fix.fix_commands) or fix.analysis
            done = (action, fix.verified, fix.attempts, fix.evidence)
    elif shown := read_shown_failure(failure.text, failure.action):
        for cure in LessonFinder(project).find_cures(shown.exact)[:1]:
            if cure.helped:
                done = (cure.action, cure.helped, cure.tried, cure.evidence)
    return replace(failure, fix=Remedy(*done)) if done else failure
