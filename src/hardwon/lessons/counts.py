"""What one record teaches, as things to count.

Knowledge is kept as tallies: how often something was seen, per UTC day and author, at each level of outcome. Counting
commutes, so any order of arrival, any merge and any rebuild give the same knowledge, and whatever is shown (shares, decay,
thresholds, the best, the latest) is worked out when it is read.

scope            key                item        level                        asked by
tool             tool               task or ""  outcome                      odds(tool=…, task=…)
fix              ""                 fixer       outcome                      odds(), odds(fixer=…)
fix.type         issue type         fixer       outcome                      odds, patterns
fix.model        model              type, fixer outcome                      odds, patterns, model_insights
fix.subject      subject            type, fixer outcome                      odds
fix.signature    signature          fixer       outcome                      odds, patterns
fix.words        issue type         degree      outcome                      advise
fix.hour         issue type         hour (UTC)  outcome                      temporal patterns
strategy.type    issue type         strategy    outcome                      strategies, best fix
strategy.model   model              type, strategy  outcome                  model_insights, best fix
strategy.signature  signature       strategy    outcome                      best fix
episode          task or ""         ""          0                            tasks, how many sources there are
act.all          ""                 ""          how a step ended             advise
act.each         ""                 ""          how a step ended             advise: once for each action
act.situation    situation          ""          how a step ended             advise
act.next         program, last end  ""          how a step ended             advise
act.kind         kind of action     ""          how a step ended             advise
act.form         form               ""          how a step ended             advise
act.task         task               ""          how a step ended             advise
act.action       shape              ""          how a step ended             advise
act.exact        action             ""          how a step ended             advise
act.same         task, action       ""          how a step ended             advise
act.word         word               ""          how a step ended             advise
credit           recalled record    ""          HELPED or NOT_HELPED         recall; taught by any kind

Beside what it counts for, a record has keys by which it is found exactly (`lessons.keys`).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC
from functools import lru_cache
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.lessons.issues import (
    degree_of_words,
    generate_issue_signature,
    issue_subject,
    strategy_key,
)
from hardwon.lessons.keys import BETWEEN_NAMES, make_episode_rule_id, rule_key
from hardwon.records.kinds import (
    VOUCHED_STATUSES,
    Episode,
    Experience,
    Fix,
    Record,
    Status,
)

FAILED, APPLIED, SUCCEEDED = 0, 1, 2  # levels of an outcome
NOT_HELPED, HELPED = 0, 1
# Nothing is counted at more levels: those of actions (`lessons.actions`).
LEVELS: Final = 6

TEACHING_STATUSES: Final[tuple[Status, ...]] = ("hypothesis", "verified", "published")

# How every context begins (`brief.fence`). What repeats one teaches nothing: recalled text that
# comes back is no new evidence.
OUR_FENCE: Final = "<hardwon-memory"


class Increment(NamedTuple):
    """One thing to count."""

    scope: str
    key: str
    item: str
    level: int


_SCOPES: Final = {
    "experience": "tool",
    "trajectory": "act.all act.each act.situation act.next act.kind act.form act.task act.action "
    "act.exact act.same act.word",
    "episode": "episode",
    "fix": "fix fix.type fix.model fix.subject fix.signature fix.words fix.hour strategy.type "
    "strategy.model strategy.signature",
}
# Which kind of record teaches in a scope; each scope is taught by one kind.
KIND_OF_SCOPE: Final = {scope: kind for kind, all_of in _SCOPES.items() for scope in all_of.split()}


def level_of_fix(fix: Fix) -> int:
    """Whether it failed, was applied, or was applied and verified."""
    return SUCCEEDED if fix.succeeded else APPLIED if fix.fix_success else FAILED


def count_experience(record: Experience) -> tuple[Increment, ...]:
    """How its tool did; nothing of one that neither succeeded nor failed."""
    well, extra = record.turned_out_well, record.__pydantic_extra__
    if well is None or OUR_FENCE in record.content:
        return ()
    task = extra.get("task_id") or extra.get("task_type")
    return _count_tool(record.tool or "", task if isinstance(task, str) else "", well)


@lru_cache(maxsize=1024)  # few tools and tasks come again and again
def _count_tool(tool: str, task: str, succeeded: bool) -> tuple[Increment, ...]:
    task = " ".join(task.split())[: limits.NAME_CHARS_MAX]
    level = SUCCEEDED if succeeded else FAILED
    return tuple(Increment("tool", tool, item, level) for item in dict.fromkeys(("", task)))


def count_fix(fix: Fix) -> tuple[Increment, ...]:
    """How it went, for its fixer, its issue and what was done."""
    issue, fixer = fix.issue, fix.fixer_type
    hour = fix.metadata.context.timestamp.astimezone(UTC).hour
    signature = generate_issue_signature(issue)
    counted = [
        ("fix", "", fixer),
        ("fix.type", issue.issue_type, fixer),
        ("fix.model", issue.model, issue.issue_type + BETWEEN_NAMES + fixer),
        ("fix.signature", signature, fixer),
        ("fix.hour", issue.issue_type, f"{hour:02}"),
    ]
    if subject := issue_subject(issue):
        counted.append(("fix.subject", subject, issue.issue_type + BETWEEN_NAMES + fixer))
    if degree := degree_of_words("\n".join(fix.fix_commands).strip() or fix.analysis, issue):
        counted.append(("fix.words", issue.issue_type, degree))
    if strategy := strategy_key(fix):
        counted += [
            ("strategy.type", issue.issue_type, strategy),
            ("strategy.model", issue.model, issue.issue_type + BETWEEN_NAMES + strategy),
            ("strategy.signature", signature, strategy),
        ]
    level = level_of_fix(fix)
    return tuple(Increment(scope, key, item, level) for scope, key, item in counted)


def count_episode(episode: Episode) -> tuple[Increment, ...]:
    """That there was one, at its task; nothing of one that repeats what was recalled."""
    if is_echo(episode):
        return ()
    return Increment("episode", "", "", 0), Increment("episode", episode.task_id, "", 0)


def is_echo(episode: Episode) -> bool:
    """Whether recalled text comes back in it."""
    cards = (text for card in episode.mistake_cards for text in (card.lesson, card.evidence))
    texts = (episode.trajectory_summary, *episode.successes, *episode.mistakes, *cards)
    return any(OUR_FENCE in text for text in texts)


def find_reported_rules(episode: Episode, kind: str) -> dict[str, str]:
    """The keys of what an episode reports, as what works or as what to avoid, each with its words."""
    texts = episode.successes if kind == "works" else episode.mistakes
    reported: dict[str, str] = {}
    for text in () if is_echo(episode) else texts[: limits.LESSONS_PER_RECORD_MAX]:
        if item := rule_key(text, kind):
            reported.setdefault(item, cut_rule(text))
    return reported


def list_rule_ids(episode: Episode) -> list[str]:
    """The ids of all rules that an episode reports."""
    return [
        make_episode_rule_id(kind, item)
        for kind in ("works", "avoid")
        for item in find_reported_rules(episode, kind)
    ]


def cut_rule(text: str) -> str:
    """A rule on one line, as much of it as is shown."""
    return " ".join(text.split())[: limits.LESSON_CHARS_MAX]


def count_credit(record: Record) -> tuple[Increment, ...]:
    """What was recalled before an attempt helped, or did not, as the attempt turned out; nothing
    where nobody knows how it did.
    """
    if not record.recalled or record.turned_out_well is None:
        return ()
    recalled = [name for name in dict.fromkeys(record.recalled) if name != record.id]
    level = HELPED if record.turned_out_well else NOT_HELPED
    return tuple(
        Increment("credit", name, "", level) for name in recalled[: limits.LESSONS_PER_RECORD_MAX]
    )


class RecordCounts(NamedTuple):
    """What a record adds to the tallies, with what it is counted under."""

    project_id: str
    author: str
    at_us: int
    status: str
    increments: tuple[Increment, ...]


# project, scope, key, item, day, author
TallyKey = tuple[str, str, str, str, int, str]


def sum_counts(taught: Iterable[RecordCounts]) -> dict[TallyKey, list[int]]:
    """The tallies of some records: under each key [vouched, times at level 0, at level 1 …]."""
    tallies: dict[TallyKey, list[int]] = {}
    for project, author, at_us, status, increments in taught:
        if status not in TEACHING_STATUSES:
            continue
        vouched, day = int(status in VOUCHED_STATUSES), at_us // limits.DAY_US
        for scope, key, item, level in increments:
            figures = tallies.setdefault(
                (project, scope, key, item, day, author), [0] * (LEVELS + 1)
            )
            figures[0] += vouched
            figures[1 + level] += 1
    return tallies
