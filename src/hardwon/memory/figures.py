"""What people ask of the work that was recorded: what goes wrong and what fixed it, whether it gets
better, and how tools do in which areas.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from hardwon import limits
from hardwon.lessons.actions import FAILED
from hardwon.lessons.issues import generate_issue_signature
from hardwon.lessons.lesson import EVIDENCE_SHOWN_MAX
from hardwon.lessons.order import find_near_duplicates
from hardwon.lessons.teaching import ANY_RUN
from hardwon.memory.lessons import LessonFinder
from hardwon.memory.project import Project
from hardwon.memory.results import DayRate, Failure, Rates
from hardwon.memory.tallies import CONSIDERED_MAX
from hardwon.records.fields import from_us, to_us
from hardwon.records.kinds import Episode, Fix, Trajectory, headline
from hardwon.search.terms import Filters
from hardwon.store.query import readable
from hardwon.text.clean import clean_action
from hardwon.text.failures import error_words
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
    by_name: dict[str, list[DayRate]] = defaultdict(list)
    for day, name, good, bad in _days(project, per, since):
        if good or bad:
            by_name[name].append(DayRate(from_us(day * limits.DAY_US).date(), good, bad))
    rates = [Rates(name, tuple(days)) for name, days in by_name.items()]
    ranked = sorted(rates, key=lambda rate: (-rate.tried, rate.name))
    if per == "command":
        # an action that was told in words: its second word is no subcommand
        worded = [rate.name.partition(" ") for rate in ranked]
        prose = {first for first, _, second in worded if second in stop_words(ENGLISH)}
        ranked = [rate for rate in ranked if rate.name.partition(" ")[0] not in prose]
        # a program that was run with one subcommand alone, which is listed as well
        again = {(rate.name.partition(" ")[0], rate.days) for rate in ranked if " " in rate.name}
        ranked = [rate for rate in ranked if (rate.name, rate.days) not in again]
    return ranked[:limit]


def _days(
    project: Project, per: str, since: datetime | None
) -> Iterator[tuple[int, str, int, int]]:
    """Of each day that counts, its number, a name, and how often that turned out well and badly; `per`
    author, task or command.
    """
    first = 0 if since is None else to_us(since) // limits.DAY_US
    store, name, most = project.store, project.name, CONSIDERED_MAX
    if per == "command":
        for key, day, levels in store.day_totals(name, "act.kind", most, first):
            yield day, key, sum(levels) - levels[FAILED], levels[FAILED]
        return
    for day, key, _, good, bad in store.activity(name, first, project.today + 1, _COLUMNS[per]):
        yield day, key, good, bad


@dataclass
class _Group:
    """The newest record that tells of a failure, and how often it was met, by record."""

    text: str
    action: str = ""
    exact: str = ""
    met: dict[str, tuple[int, str]] = field(default_factory=dict)


def failures(project: Project, since: datetime | None, limit: int) -> list[Failure]:
    """What failed, those first that came up in the last days for the first time, then those that
    came up most; with what made them go away.
    """
    start_us, now = 0 if since is None else to_us(since), project.now()
    groups: dict[str, _Group] = {}
    rows = project.store.teachings(project.name, [ANY_RUN], _FAILURES_READ_MAX)
    for row in rows:
        for met in row.teaching.met if start_us <= row.at_us <= to_us(now) else ():
            group = _Group(met.words, clean_action(met.check), met.exact)
            group = groups.setdefault(f"failure:{met.family}", group)
            group.met[row.record_id] = row.at_us, row.author
    known = {record_id for group in groups.values() for record_id in group.met}
    groups |= _group_others(project, since, known)
    first_us = project.store.find_times(project.name, [key for key in groups if ":" in key])
    new_from = now - timedelta(days=_NEW_FAILURE_DAYS)
    listed = [
        _make_failure(key, group, first_us.get(key), new_from) for key, group in groups.items()
    ]
    listed.sort(key=lambda one: (not one.is_new, -one.seen, -one.last_seen.timestamp()))
    return [_add_fix(project, one, groups) for one in listed[:limit]]


def _group_others(
    project: Project, since: datetime | None, known: Collection[str]
) -> dict[str, _Group]:
    """Failures of which no words are known that tell of them: fixes by their issue, others by what
    they say, under the id of the newest.
    """
    asked = Filters(outcome="failure", since=since, until=project.now() + timedelta(seconds=1))
    stored = project.store.page(project.name, asked, None, _FAILURES_WORDED_MAX, trusted=True)
    groups: dict[str, _Group] = {}
    for record in readable(stored):
        if record.id in known or isinstance(record, Episode):
            continue
        key, text = record.id, headline(record)
        if isinstance(record, Fix):
            issue = record.issue
            key, text = f"signature:{generate_issue_signature(issue)}", issue.description
            text = f"{issue.issue_type}: {text or error_words(issue.error_output or '')}"
        elif isinstance(record, Trajectory):
            text = record.task
        group = groups.setdefault(key, _Group(text))
        group.met[record.id] = record.at_us, record.said_by
    texts = {key: group.text for key, group in groups.items() if ":" not in key}
    for first, same in find_near_duplicates(texts):
        groups[first].met |= groups.pop(same).met
    return groups


def _make_failure(key: str, group: _Group, first_us: int | None, new_from: datetime) -> Failure:
    times_us = [at_us for at_us, _ in group.met.values()]
    first = from_us(min(times_us if first_us is None else [first_us, *times_us]))
    newest = sorted(group.met, key=lambda record_id: group.met[record_id], reverse=True)
    return Failure(
        text=group.text,
        action=group.action,
        key=key if ":" in key else "",
        seen=len(group.met),
        first_seen=first,
        last_seen=from_us(max(times_us)),
        is_new=first >= new_from,
        authors=tuple(sorted({author for _, author in group.met.values()})),
        evidence=tuple(newest[:EVIDENCE_SHOWN_MAX]),
    )


def _add_fix(project: Project, failure: Failure, groups: Mapping[str, _Group]) -> Failure:
    """With what made this very failure go away, where that is known."""
    sort, _, which = failure.key.partition(":")
    exact = groups[failure.key].exact if failure.key else ""
    if sort == "signature":
        for fix in project.knowledge.strategies("signature", which, 0.5, 1, successful=True):
            return replace(failure, fix=fix.as_lesson(failure.text))
    cures = LessonFinder(project).find_cures(exact)[:1] if exact else []
    return replace(failure, fix=cures[0]) if cures and cures[0].helped else failure
