"""The first page: what the agents are good at, where they keep failing, what they learned, and what
waits for a decision.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from datetime import date, timedelta
from typing import Final, NamedTuple

from hardwon.learn.fixes import Strategy
from hardwon.memory.results import Activity
from hardwon.records.kinds import AnyRecord, Decision
from hardwon.surfaces.web import look as charts
from hardwon.surfaces.web.pages import KINDS, RANGES, Ask, PageRequest, WebPage

_BUCKETS_MAX: Final = 60
_SHOWN: Final = 8
_WEEK: Final = timedelta(days=7)
_AREA_ATTEMPTS_MIN: Final = 2
_NORMAL_90: Final = 1.6448536269514722


class Rate(NamedTuple):
    """How much went well of what went well or badly; with its 90 % interval."""

    good: int
    bad: int

    @property
    def tried(self) -> int:
        return self.good + self.bad

    @property
    def p(self) -> float | None:
        return self.good / self.tried if self.tried else None

    @property
    def interval(self) -> tuple[float, float] | None:
        return None if self.p is None else _wilson(self.p, self.tried)


class Area(NamedTuple):
    """Something that is tried, and how that goes."""

    name: str
    rate: Rate


class Best(NamedTuple):
    """What helps best with an issue type."""

    issue_type: str
    strategy: Strategy


class DecisionView(NamedTuple):
    """A decision, and the record that says what it is about where it does not say so itself."""

    decision: Decision
    about: AnyRecord | None


class Bucket(NamedTuple):
    """Some days, of which the first is told."""

    day: date
    records: int
    rate: Rate


def view(ask: Ask, request: PageRequest) -> WebPage:
    stats = ask("stats")
    if not stats.records:
        return WebPage("overview_empty.html", {"project": request.project}, "Overview")
    days: list[Activity] = ask("care.activity", since=request.since, until=request.until)
    buckets = list(_bucketed(days))
    week = [day for day in days if day.day > (request.now - _WEEK).date()]
    context = {
        "stats": stats,
        "rate": _rate(days),
        "recorded": sum(day.records for day in days),
        "recorded_by_kind": _by_kind(days),
        "buckets": buckets,
        "kinds_figure": _kinds_figure(days),
        "success_figure": _success_figure(buckets),
        "week": _by_kind(week),
        "decisions": [
            DecisionView(each, _about(ask, each)) for each in ask("care.decisions", limit=_SHOWN)
        ],
        "newest": ask("care.page", limit=_SHOWN).records,
        "rules": ask("rules", limit=_SHOWN),
        "failing": _failing(ask, request),
        "strategies": _strategies(ask),
        "failing_tests": ask("tests.failing"),
    }
    return WebPage("overview.html", context, "Overview")


def _about(ask: Ask, decision: Decision) -> AnyRecord | None:
    """Of a contradiction, the first of those that contradict each other: the others are about the
    same.
    """
    if decision.action != "contradiction" or not decision.evidence:
        return None
    return ask.record(decision.evidence[0])


def _wilson(p: float, tried: int) -> tuple[float, float]:
    """Wilson's interval: as good as any for a share, and a chart has sixty of them."""
    spread = _NORMAL_90 * _NORMAL_90 / tried
    middle = (p + spread / 2) / (1 + spread)
    half = math.sqrt(spread * (p * (1 - p) + spread / 4)) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


def _rate(days: Iterable[Activity]) -> Rate:
    given = list(days)
    return Rate(sum(day.good for day in given), sum(day.bad for day in given))


def _by_kind(days: Iterable[Activity]) -> dict[str, list[int]]:
    """Records, good and bad of each kind that has any."""
    found: dict[str, list[int]] = {}
    for day in days:
        counts = found.setdefault(day.kind, [0, 0, 0])
        for place, count in enumerate((day.records, day.good, day.bad)):
            counts[place] += count
    return {kind: found[kind] for kind in KINDS if kind in found}


def _bucketed(days: list[Activity]) -> Iterable[Bucket]:
    """As many days together as makes a chart that can be read."""
    if not days:
        return
    first, last = days[0].day, days[-1].day
    width = (last - first).days // _BUCKETS_MAX + 1
    inside: dict[int, list[Activity]] = defaultdict(list)
    for day in days:
        inside[(day.day - first).days // width].append(day)
    for place, some in sorted(inside.items()):
        yield Bucket(
            first + timedelta(days=place * width), sum(day.records for day in some), _rate(some)
        )


def _kinds_figure(days: list[Activity]) -> charts.Figure:
    counts = _by_kind(days)
    names = [kind.capitalize() for kind in counts]
    columns = {
        "good": ([each[1] for each in counts.values()], charts.GOOD),
        "bad": ([each[2] for each in counts.values()], charts.BAD),
        "neither": ([each[0] - each[1] - each[2] for each in counts.values()], charts.QUIET),
    }
    data = [charts.bars(names, values, name, colour) for name, (values, colour) in columns.items()]
    return charts.figure(data, barmode="stack", yaxis={"title": {"text": "records"}})


def _success_figure(buckets: list[Bucket]) -> charts.Figure:
    judged = [bucket for bucket in buckets if bucket.rate.tried]
    x = [bucket.day.isoformat() for bucket in judged]
    intervals = [bucket.rate.interval or (0.0, 1.0) for bucket in judged]
    data = [
        *charts.band(
            x,
            [low for low, _ in intervals],
            [high for _, high in intervals],
            "90 % interval",
            charts.ACCENT,
        ),
        charts.line(x, [bucket.rate.p for bucket in judged], "success", charts.ACCENT),
    ]
    axis = charts.days_axis([bucket.day for bucket in judged])
    return charts.figure(
        data, yaxis={"range": [0, 1.02], "tickformat": ".0%"}, xaxis=axis, showlegend=False
    )


def _failing(ask: Ask, request: PageRequest) -> list[Area]:
    """Issue types whose fixes failed most often, of those that were tried more than once."""
    tried = ask("fixes.types", days=RANGES[request.range])
    areas = [
        Area(each.issue_type, Rate(each.verified, each.attempts - each.verified)) for each in tried
    ]
    return [area for area in areas if area.rate.tried >= _AREA_ATTEMPTS_MIN and area.rate.bad][
        :_SHOWN
    ]


def _strategies(ask: Ask) -> list[Best]:
    """The surest first: those whose interval begins highest."""
    found = [
        Best(name, each[0]) for name, each in ask("fixes.best_strategies", limit=1).items() if each
    ]
    return sorted(found, key=lambda best: -best.strategy.interval[0])[:_SHOWN]
