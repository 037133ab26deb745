"""Pages of how work went, and of what it taught: whether it gets better (by agent, task and command,
with the memory and without); fixes (how many were tried, applied and successful, where, by whom and
when; what works against what); and lessons, with a button that calls each true or false, beside the
rules and mistakes that episodes teach.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final, get_args

from hardwon import limits
from hardwon.errors import InvalidInputError, UnknownLessonError
from hardwon.fixes.reports import FixCell, FixDay
from hardwon.lessons.actions import find_kinds
from hardwon.lessons.lesson import Lesson
from hardwon.lessons.scores import Comparison
from hardwon.memory.care import Per
from hardwon.memory.results import DayRate, Failure, Rates
from hardwon.surfaces.gate import Ask
from hardwon.surfaces.web import charts
from hardwon.surfaces.web.overview import Rate, draw_rates, failure_url, in_buckets, is_empty
from hardwon.surfaces.web.pages import RANGES, Form, PageRequest, WebPage

_LINES: Final = 6
_LINE_POINTS: Final = 12
_TASKS_SHOWN: Final = 50
_NAMES_SHOWN: Final = 50
_FAILURES_READ: Final = 15
BY: Final[tuple[str, ...]] = get_args(Per)
# What of each is searched for: of a command, its words.
_FILTER: Final[Mapping[str, str]] = {"author": "author", "task": "task_id", "command": "q"}


def view_progress(ask: Ask, request: PageRequest) -> WebPage:
    """Whether it gets better, by agent, task or command."""
    way = {"tag": request.query.get("tag") or None, "by_run": request.query.get("by_run") == "1"}
    by = request.choose("by", BY)
    since, until, in_time = _read_time(request)
    rates = ask("care.progress", per=by, since=since, limit=_NAMES_SHOWN)
    shown = [
        replace(one, days=days)
        for one in rates
        if (days := tuple(day for day in one.days if until is None or day.day <= until))
    ]
    if by == "command":  # people ask which fails most
        shown.sort(key=lambda one: -Rate.of(one.days).bad)
    tasks = ask("episodes.tasks", limit=_TASKS_SHOWN + 1)
    if not tasks and not rates and is_empty(ask):
        return WebPage("empty.html", "Is it getting better?", {"about": "progress"})
    comparison: Comparison = ask("episodes.compare", **way, **in_time)
    context: dict[str, Any] = {
        "by": by,
        "rows": [_row(request, by, one) for one in shown],
        "failing": _failing(ask, request, since) if by == "command" else {},
        "progress_figure": _progress_figure(shown[:_LINES]) if shown else None,
        "tasks": tasks[:_TASKS_SHOWN],
        "more_tasks": len(tasks) > _TASKS_SHOWN,
        "comparison": comparison,
    }
    return WebPage("progress.html", "Is it getting better?", context)


def _read_time(request: PageRequest) -> tuple[datetime | None, date | None, dict[str, Any]]:
    """Since when, to which day, and both as filters: days of the page's own go before the range."""
    first, last = request.day("since"), request.day("until")
    since = datetime.combine(first, time.min, UTC) if first else None
    if not first and not last:
        since = request.since
    end = datetime.combine(last, time.min, UTC) + timedelta(days=1) if last else request.now
    return since, last, {"since": since, "until": end}


def _row(
    request: PageRequest, by: str, rates: Rates
) -> tuple[Rates, Callable[..., str], list[Any]]:
    """Somebody's attempts, the address of those that turned out in one way, and all of them, the
    earlier and the later half of its days: how they went, and where they are.
    """
    kind = {"kind": "trajectory"} if by == "command" else {}
    days, middle = rates.days, len(rates.days) // 2

    def url(some: Sequence[DayRate] = days, **more: str) -> str:
        """The search for these days."""
        ends: dict[str, Any] = {"since": some[0].day, "until": some[-1].day} if some else {}
        return request.url("search", **{_FILTER[by]: rates.name}, **kind, **ends, **more)

    halves = (days, days[:middle], days[middle:])
    return rates, url, [(Rate.of(some), url(some)) for some in halves]


def _failing(
    ask: Ask, request: PageRequest, since: datetime | None
) -> dict[str, tuple[Failure, str]]:
    """What each command fails with most often, and the address of that."""
    failures: list[Failure] = ask("care.failures", since=since, limit=_FAILURES_READ)
    return {
        kind: (failure, failure_url(request, failure))
        for failure in sorted(failures, key=lambda failure: failure.seen)
        for kind in find_kinds(failure.action)
    }


def _progress_figure(shown: Sequence[Rates]) -> charts.Plot:
    return charts.Plot(
        [
            draw_rates(rates.name, f"series{number}", in_buckets(rates.days, _LINE_POINTS))
            for number, rates in enumerate(shown, 1)
        ]
    )


_BUCKETS_MAX: Final = 14
NO_MODEL: Final = "(no model)"


def view_fixes(ask: Ask, request: PageRequest) -> WebPage:
    """What was tried about issues, and how it went."""
    totals = ask("fixes.totals")
    if not totals.attempts:
        return WebPage("empty.html", "Fixes", {"about": "fixes"})
    span = RANGES[request.range] or limits.FIX_DAYS_MAX
    days: list[FixDay] = ask("fixes.days", days=span)
    cells: list[FixCell] = ask("fixes.matrix")
    models, types = _most(cells, "model"), _most(cells, "issue_type")
    issue_type = request.query.get("issue_type") or next(iter(types), "")
    model = request.query.get("model", "")
    half = len(days) // 2
    tried = ask("fixes.strategies", issue_type=issue_type, limit=50) if issue_type else []
    failed = [strategy for strategy in tried if strategy.attempts > strategy.verified]
    failed.sort(key=lambda strategy: strategy.verified - strategy.attempts)
    return WebPage(
        "fixes.html",
        "Fixes",
        {
            "totals": totals,
            "in_range": _sum(days) if days else None,
            "buckets": list(fix_buckets(days)),
            # The first and the last day of the earlier half, and of the later.
            "halves": [
                {"since": some[0].day, "until": some[-1].day} if some else {}
                for some in (days[:half], days[len(days) - half :])
            ],
            "trends": ask("fixes.trends", days=span)[:20],
            "cells": cells,
            "models": models,
            "types": types,
            "matrix": {(cell.model, cell.issue_type): cell for cell in cells},
            "rows_max": 15,
            "columns_max": 12,
            "fixers": ask("fixes.fixers"),
            "patterns": ask("patterns", limit=12),
            "issue_type": issue_type,
            # What worked sometimes and failed sometimes is in both, with its counts.
            "worked": [strategy for strategy in tried if strategy.verified][:_STRATEGIES],
            "failed": failed[:_STRATEGIES],
            "model": model,
            "insights": ask("model_insights", name=model) if model else None,
            "no_model": NO_MODEL,
        },
    )


_STRATEGIES: Final = 15


def _most(cells: Iterable[FixCell], name: str) -> list[str]:
    """The models, or issue types, that were tried most first."""
    attempts: Counter[str] = Counter()
    for cell in cells:
        attempts[getattr(cell, name)] += cell.attempts
    return sorted(attempts, key=lambda value: (-attempts[value], value))


def _sum(days: Sequence[FixDay]) -> FixDay:
    """All of these days as if they were the first of them."""
    counts = ("attempts", "applied", "verified")
    return FixDay(days[0].day, *(sum(getattr(day, name) for day in days) for name in counts))


def fix_buckets(days: Sequence[FixDay]) -> Iterator[tuple[FixDay, date]]:
    """As many days together as makes a table that can be read, each with its last day."""
    width = max(1, -(-len(days) // _BUCKETS_MAX))
    for start in range(0, len(days), width):
        some = days[start : start + width]
        yield _sum(some), some[-1].day


ORDERS: Final = ("newest", "strongest")
_LESSONS_SHOWN: Final = 50
_RULES_SHOWN: Final = 25
_CARDS_SHOWN: Final = 12
_TASKS_READ: Final = 5


def view_lessons(ask: Ask, request: PageRequest) -> WebPage:
    """What is known: about a failure, of a task, or all of it."""
    if is_empty(ask):
        return WebPage("empty.html", "What was learned?", {"about": "lessons"})
    about, task_id = (request.query.get(name, "").strip() for name in ("about", "task_id"))
    order = request.choose("order", ORDERS)
    lessons: list[Lesson] = ask("lessons", about=about or None, limit=_LESSONS_SHOWN)
    if order == "strongest":
        lessons.sort(key=lambda lesson: (lesson.verdict != "right", -lesson.p_helps))
    judged: Lesson | None = None
    if lesson_id := request.query.get("judged"):
        with suppress(UnknownLessonError):
            judged = ask("why", lesson_id=lesson_id).lesson
    tasks = (
        [task_id]
        if task_id
        else [task.task_id for task in ask("episodes.tasks", limit=_TASKS_READ)]
    )
    rules = {
        rule.id: rule
        for task in tasks or [None]
        for rule in ask("rules", task_id=task, state="active", limit=_RULES_SHOWN)
    }
    context = {
        "about": about,
        "task_id": task_id,
        "lessons": lessons,
        "order": order,
        "orders": ORDERS,
        "judged": judged,
        "may_decide": ask.may("govern"),
        "rules": list(rules.values())[:_RULES_SHOWN],
        "cards": ask("cards", task_id=task_id or None, limit=_CARDS_SHOWN),
    }
    return WebPage("lessons.html", "What was learned?", context)


def judge_lesson(ask: Ask, request: PageRequest, form: Form) -> str:
    """Calls the lesson true or false, as the form says; returns the page's own address."""
    verdict, lesson_id = form.get("verdict", ""), form.get("id", "")
    if verdict not in ("right", "wrong"):
        raise InvalidInputError.one("verdict", verdict, "right, wrong")
    lesson: Lesson = ask(verdict, lesson_id=lesson_id)
    return request.here(judged=lesson.id)
