"""Pages of the whole memory: the overview (what goes wrong and what fixed it, whether it gets
better, what was learned), and the context lab (what an agent would be told before an attempt, word
for word, and why).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from itertools import groupby
from typing import Any, Final, NamedTuple

from hardwon import limits
from hardwon.capture.tests import PYTEST
from hardwon.memory.context import Context
from hardwon.memory.results import Activity, DayRate, Failure
from hardwon.records.kinds import AnyRecord, headline
from hardwon.surfaces.arguments import ISSUE_FIELDS
from hardwon.surfaces.gate import Ask
from hardwon.surfaces.web import charts
from hardwon.surfaces.web.pages import KINDS, PageRequest, WebPage
from hardwon.tell.advice import Advice

_BUCKETS_MAX: Final = 60
_NORMAL_90: Final = 1.6448536269514722


class Rate(NamedTuple):
    """How much went well of what went well or badly."""

    good: int
    bad: int

    @classmethod
    def of(cls, days: Iterable[Activity | DayRate]) -> Rate:
        """The sum of these days."""
        counts = [(day.good, day.bad) for day in days]
        return cls(sum(good for good, _ in counts), sum(bad for _, bad in counts))

    @property
    def tried(self) -> int:
        return self.good + self.bad

    @property
    def p(self) -> float | None:
        return self.good / self.tried if self.tried else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Wilson's 90 % interval: as good as any for a share, and a chart has sixty of them."""
        if self.p is None:
            return None
        spread = _NORMAL_90 * _NORMAL_90 / self.tried
        middle = (self.p + spread / 2) / (1 + spread)
        half = math.sqrt(spread * (self.p * (1 - self.p) + spread / 4)) / (1 + spread)
        return max(0.0, middle - half), min(1.0, middle + half)


def in_buckets(
    days: Sequence[Activity | DayRate], most: int = _BUCKETS_MAX
) -> Iterator[tuple[date, date, Rate]]:
    """As many days together as makes a chart that can be read: the first and the last, and how
    they went. Those on which nothing turned out well or badly are left out.
    """
    if not days:
        return
    first = days[0].day
    width = (days[-1].day - first).days // most + 1
    for place, inside in groupby(days, lambda day: (day.day - first).days // width):
        if (rate := Rate.of(inside)).tried:
            begins = first + timedelta(days=place * width)
            yield begins, begins + timedelta(days=width - 1), rate


_SHOWN: Final = 8


def is_empty(ask: Ask) -> bool:
    """Whether there are no records: to count them all takes longer."""
    return not ask("care.page", limit=1).records


def view_overview(ask: Ask, request: PageRequest) -> WebPage:
    """What goes wrong, what helped, and what was learned."""
    stats = ask("stats")
    if not stats.records:
        return WebPage("empty.html", "Overview", {"about": "overview"})
    days: list[Activity] = ask("care.activity", since=request.since, until=request.now)
    buckets = list(in_buckets(days))
    counts = {
        kind: [sum(getattr(day, name) for day in some) for name in ("records", "good", "bad")]
        for kind in KINDS
        if (some := [day for day in days if day.kind == kind])
    }
    failures: list[Failure] = ask("care.failures", since=request.since, limit=_SHOWN)
    return WebPage(
        "overview.html",
        "Overview",
        {
            "stats": stats,
            "rate": Rate.of(days),
            "counts": counts,
            "kinds": KINDS,
            "buckets": buckets,
            "success_figure": charts.Plot(
                [draw_rates("success", "accent", buckets, band=True)], 260
            )
            if buckets
            else None,
            "failures": [(failure, failure_url(request, failure)) for failure in failures],
            "failing_tests": ask("tests.failing") if PYTEST in stats.by_author else [],
            "rules": ask("rules", state="active", limit=_SHOWN),
            "map": ask("topology"),
            "lessons": ask("lessons", limit=_SHOWN),
            "newest": ask("care.page", limit=_SHOWN).records,
        },
    )


def failure_url(request: PageRequest, failure: Failure) -> str:
    """The records that tell of it, or one of them where only their words are alike."""
    sort, _, which = failure.key.partition(":")
    if sort == "failure":
        return request.url("search", failure_hash=which)
    if sort == "signature":
        return request.url("search", q=which, kind="fix", outcome="failure")
    return request.url("search", q=failure.text[:300], outcome="failure")


def draw_rates(
    name: str, colour: str, buckets: Iterable[tuple[date, date, Rate]], *, band: bool = False
) -> charts.Line:
    """A line through these rates; `band`: with the intervals in which they lie."""
    rates = [(day, rate) for day, _, rate in buckets]
    points = [
        (day, rate.p or 0.0, f"{day:%b %-d}: {rate.good} of {rate.tried}") for day, rate in rates
    ]
    around = [rate.interval or (0.0, 1.0) for _, rate in rates] if band else []
    return charts.Line(name, colour, points, around)


def view_lab(ask: Ask, request: PageRequest) -> WebPage:
    """What an agent would be told."""
    form = {
        name: request.query.get(name, "").replace("\r\n", "\n").strip()
        for name in ("q", "task_id", *ISSUE_FIELDS, "budget", "action")
    }
    usual, most = limits.CONTEXT_TOKENS, limits.CONTEXT_TOKENS_MAX
    budget = request.whole_number("budget", "a whole number of tokens", usual, most)
    issue = {name: form[name] for name in ISSUE_FIELDS if form[name]} or None
    about = {"query": form["q"] or None, "task_id": form["task_id"] or None, "issue": issue}
    context: Context | None = (
        ask("context", **about, budget_tokens=budget, explain=True) if any(about.values()) else None
    )
    advice: Advice | None = (
        ask(
            "advise",
            action=form["action"],
            task=about["query"],
            error=form["error_output"] or None,
            issue=issue,
        )
        if form["action"]
        else None
    )

    hits = context.hits if context else []
    known: dict[str, AnyRecord | None] = {hit.record.id: hit.record for hit in hits}

    def sources(ids: Sequence[str]) -> list[tuple[str, list[str]]]:
        """What records are called, each with those that are called so."""
        named: dict[str, list[str]] = defaultdict(list)
        for record_id in ids:
            record = known[record_id] = known.get(record_id) or ask.record(record_id)
            named[headline(record) if record else record_id].append(record_id)
        return list(named.items())

    shown: dict[str, Any] = {
        "given": form,
        "budget": budget,
        "issue": issue,
        "context": context,
        # Each line with what is behind it.
        "lines": [(line, sources(line.ids)) for line in (context.lines if context else ())],
        "hits": [
            (next(hit for hit in hits if hit.record.id == first), others)
            for _, (first, *others) in sources([hit.record.id for hit in hits])
        ],
        "advice": advice,
        "evidence": sources(advice.evidence) if advice else [],
        "is_empty": is_empty(ask),
    }
    return WebPage("lab.html", "What would an agent be told?", shown)
