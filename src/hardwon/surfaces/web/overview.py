"""Pages of the whole memory: the overview (what agents are good at, where they keep failing, what
was learned, what waits for a decision), the map (where experiences lie, of all time), and the
context lab (what an agent would read before an attempt, word for word).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from functools import cache
from itertools import groupby
from typing import Any, Final, NamedTuple

from hardwon import limits
from hardwon.brief.advice import Advice
from hardwon.errors import InvalidInputError
from hardwon.learn.topology import Branch, FolderCount, hotspots_of, topology_of
from hardwon.memory.context import Context
from hardwon.memory.results import Activity
from hardwon.records.kinds import INTAKE, OUTCOMES, headline
from hardwon.surfaces.gate import Ask
from hardwon.surfaces.web import pages as charts
from hardwon.surfaces.web.pages import KINDS, RANGES, PageRequest, WebPage

# --- overview ---

_BUCKETS_MAX: Final = 60
_SHOWN: Final = 8
_NORMAL_90: Final = 1.6448536269514722


class Rate(NamedTuple):
    """How much went well of what went well or badly."""

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
        """Wilson's 90 % interval: as good as any for a share, and a chart has sixty of them."""
        if self.p is None:
            return None
        spread = _NORMAL_90 * _NORMAL_90 / self.tried
        middle = (self.p + spread / 2) / (1 + spread)
        half = math.sqrt(spread * (self.p * (1 - self.p) + spread / 4)) / (1 + spread)
        return max(0.0, middle - half), min(1.0, middle + half)


def view_overview(ask: Ask, request: PageRequest) -> WebPage:
    stats = ask("stats")
    if not stats.records:
        return WebPage("overview_empty.html", "Overview", {"project": request.project})
    days: list[Activity] = ask("care.activity", since=request.since, until=request.now)
    buckets = list(_in_buckets(days))
    by_kind = _by_kind(days)
    fixed = {
        each.issue_type: Rate(each.verified, each.attempts - each.verified)
        for each in ask("fixes.types", days=RANGES[request.range])
    }
    best = [(name, each[0]) for name, each in ask("fixes.best_strategies", limit=1).items() if each]
    return WebPage(
        "overview.html",
        "Overview",
        {
            "stats": stats,
            "rate": _rate(days),
            "recorded": sum(day.records for day in days),
            "recorded_by_kind": by_kind,
            "buckets": buckets,
            "kinds_figure": _kinds_figure(by_kind),
            "success_figure": _success_figure(buckets),
            "week": _by_kind(
                [day for day in days if day.day > (request.now - timedelta(days=7)).date()]
            ),
            # Of a contradiction, with the first of those that contradict each other: the others are
            # about the same. Other decisions say themselves what they are about.
            "decisions": [
                (each, ask.record(each.evidence[0]))
                if each.action == "contradiction" and each.evidence
                else (each, None)
                for each in ask("care.decisions", limit=_SHOWN)
            ],
            "newest": ask("care.page", limit=_SHOWN).records,
            "rules": ask("rules", limit=_SHOWN),
            # Issue types whose fixes failed most often, of those that were tried more than once.
            "failing": [
                (name, rate) for name, rate in fixed.items() if rate.tried >= 2 and rate.bad
            ][:_SHOWN],
            # The surest first: those whose interval begins highest.
            "strategies": sorted(best, key=lambda each: -each[1].interval[0])[:_SHOWN],
            "failing_tests": ask("tests.failing"),
        },
    )


def _rate(days: Sequence[Activity]) -> Rate:
    return Rate(sum(day.good for day in days), sum(day.bad for day in days))


def _by_kind(days: Sequence[Activity]) -> dict[str, list[int]]:
    """Records, good and bad of each kind that has any."""
    return {
        kind: [sum(getattr(day, name) for day in some) for name in ("records", "good", "bad")]
        for kind in KINDS
        if (some := [day for day in days if day.kind == kind])
    }


def _in_buckets(days: Sequence[Activity]) -> Iterator[tuple[date, int, Rate]]:
    """As many days together as makes a chart that can be read: the first, records, and rate."""
    if not days:
        return
    first = days[0].day
    width = (days[-1].day - first).days // _BUCKETS_MAX + 1
    for place, inside in groupby(days, lambda day: (day.day - first).days // width):
        some = list(inside)
        yield first + timedelta(days=place * width), sum(day.records for day in some), _rate(some)


def _kinds_figure(counts: dict[str, list[int]]) -> charts.Figure:
    names = [kind.capitalize() for kind in counts]
    drawn = {
        ("good", charts.GOOD): [good for _, good, _ in counts.values()],
        ("bad", charts.BAD): [bad for _, _, bad in counts.values()],
        ("neither", charts.QUIET): [every - good - bad for every, good, bad in counts.values()],
    }
    data = [charts.bars(names, shown, *look) for look, shown in drawn.items()]
    return charts.figure(data, barmode="stack", yaxis={"title": {"text": "records"}})


def _success_figure(buckets: list[tuple[date, int, Rate]]) -> charts.Figure:
    judged = {day: rate for day, _, rate in buckets if rate.tried}
    x = [day.isoformat() for day in judged]
    intervals = [rate.interval or (0.0, 1.0) for rate in judged.values()]
    return charts.figure(
        [
            *charts.band(x, intervals, "90 % interval", charts.ACCENT),
            charts.line(x, [rate.p for rate in judged.values()], "success", charts.ACCENT),
        ],
        yaxis={"range": [0, 1.02], "tickformat": ".0%"},
        xaxis=charts.days_axis(list(judged)),
        showlegend=False,
    )


# --- map ---

SHAPES: Final = ("treemap", "sunburst")
ORDERS: Final = ("outcome", "tool")


class MapNode(NamedTuple):
    """A branch with the names above it; `good` and `bad` are what succeeded and failed in it."""

    parts: tuple[str, ...]
    branch: Branch
    share: float
    good: int
    bad: int

    @property
    def success(self) -> float | None:
        return Rate(self.good, self.bad).p

    @property
    def names(self) -> list[str]:
        """As they are shown: of `tool=pytest`, the tool."""
        return [part.partition("=")[2] or part for part in self.parts] or ["all experiences"]

    @property
    def colour(self) -> str:
        """One of the style sheet's, from what always fails to what always succeeds; with `on-`, of
        the text on it.
        """
        success = self.success
        return "heat0" if success is None else f"heat{min(int(success * 5), 4) + 1}"


def view_map(ask: Ask, request: PageRequest) -> WebPage:
    shape, first = request.choose("shape", SHAPES), request.choose("first", ORDERS)
    tree: Branch = ask("topology")
    if first == "tool":
        folders = [
            FolderCount(
                "/".join(sorted(parts, key=lambda part: not part.startswith("tool="))), *size
            )
            for parts, *size in _folders(tree, ())
        ]
        tree = topology_of(folders, tree.name)
    nodes = list(nodes_of(tree))
    spots = hotspots_of(tree, limit=9)
    return WebPage(
        "map.html",
        "Map",
        {
            "shape": shape,
            "first": first,
            "branches": [(node, search_url(request, node.parts)) for node in nodes],
            "spots": [(spot, search_url(request, tuple(spot.path.split("/")))) for spot in spots],
            "figure": map_figure(nodes, shape, request),
            "total": tree.count,
        },
    )


def search_url(request: PageRequest, parts: tuple[str, ...]) -> str:
    """The address of the memories of a branch; empty where no filter tells them from others."""
    filters: dict[str, str] = {}
    for part in parts:
        key, _, value = part.partition("=")
        known = key == "tool" or (key == "outcome" and value in OUTCOMES)
        name, wanted = (key, value) if known else ("key", part)
        # Made by hand, or a name with a hash; or more than can be asked.
        if name in filters or not value or value.strip("abcdefghijklmnopqrstuvwxyz0123456789_.-"):
            return ""
        filters[name] = wanted
    return request.url("search", kind="experience", range="all", **filters)


def _folders(branch: Branch, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int, int]]:
    """What lies directly in each folder: its names, count and bytes."""
    count = branch.count - sum(each.count for each in branch.branches)
    if count:
        yield above, count, branch.bytes - sum(each.bytes for each in branch.branches)
    for each in branch.branches:
        yield from _folders(each, (*above, each.name))


def nodes_of(tree: Branch) -> Iterator[MapNode]:
    """The branches that are drawn: level by level, the largest of each first."""
    waiting: deque[tuple[tuple[str, ...], Branch, float]] = deque([((), tree, 1.0)])
    for _ in range(limits.WEB_MAP_BRANCHES_MAX):
        if not waiting:
            return
        parts, branch, share = waiting.popleft()
        yield MapNode(parts, branch, share, *_judge(parts, branch))
        waiting += [
            ((*parts, each.name), each, each.count / (branch.count or 1))
            for each in branch.branches
        ]


def _judge(parts: tuple[str, ...], branch: Branch) -> Rate:
    """What succeeded and failed in a branch: the folder that it lies in tells, or those in it."""
    outcomes = [part.removeprefix("outcome=") for part in parts if part.startswith("outcome=")]
    if outcomes:
        return Rate(*(branch.count * (outcomes[-1] == each) for each in ("success", "failure")))
    inside = [_judge((*parts, each.name), each) for each in branch.branches if each.name != INTAKE]
    return Rate(sum(each.good for each in inside), sum(each.bad for each in inside))


def map_figure(nodes: list[MapNode], shape: str, request: PageRequest) -> charts.Figure:
    successes = [node.success for node in nodes]
    flat = shape == "treemap"
    trace: dict[str, Any] = {
        "type": shape,
        "ids": ["/" + "/".join(node.parts) for node in nodes],
        "parents": ["/" + "/".join(node.parts[:-1]) if node.parts else "" for node in nodes],
        "labels": [charts.label(node.names[-1]) for node in nodes],
        "values": [node.branch.count for node in nodes],
        "text": ["nothing judged" if p is None else f"{p:.0%} success" for p in successes],
        "customdata": [
            None if node.branch.branches else search_url(request, node.parts) or None
            for node in nodes
        ],
        "marker": {
            "colors": [f"${node.colour}" for node in nodes],
            "line": {"color": "$card", "width": 2},
        },
        "textfont": {"color": [f"$on-{node.colour}" for node in nodes]},
        "branchvalues": "total",
        "texttemplate": "%{label}<br>%{value}",
        "hovertemplate": "<b>%{label}</b><br>%{value} records<br>%{text}<extra></extra>",
    }
    own = (
        {"tiling": {"pad": 3}, "pathbar": {"visible": True, "thickness": 26}}
        if flat
        else {"insidetextorientation": "auto", "leaf": {"opacity": 1}}
    )
    return charts.figure(
        [{**trace, **own}], margin={"l": 0, "r": 0, "t": 30 if flat else 6, "b": 6}
    )


# --- context lab ---

ISSUE_FIELDS: Final = ("model", "issue_type", "description", "error_output")
_SOURCES_SHOWN: Final = 5


def view_lab(ask: Ask, request: PageRequest) -> WebPage:
    given = {
        name: request.query.get(name, "").replace("\r\n", "\n").strip()
        for name in ("q", "task_id", *ISSUE_FIELDS, "budget", "action")
    }
    for name, text in given.items():
        if len(text) > limits.WEB_LAB_CHARS_MAX:
            raise InvalidInputError.one(
                name, f"{len(text)} characters", f"at most {limits.WEB_LAB_CHARS_MAX} characters"
            )
    usual, most = limits.CONTEXT_TOKENS, limits.CONTEXT_TOKENS_MAX
    budget = request.whole_number("budget", "a whole number of tokens", usual, most)
    issue = {name: given[name] for name in ISSUE_FIELDS if given[name]} or None
    task_id, query = given["task_id"] or None, given["q"] or None
    context: Context | None = (
        ask(
            "context",
            query=query,
            task_id=task_id,
            issue=issue,
            budget_tokens=budget,
            explain=True,
        )
        if query or task_id or issue
        else None
    )
    error = given["error_output"] or None
    advice: Advice | None = (
        ask("advise", action=given["action"], task=query, error=error, issue=issue)
        if given["action"]
        else None
    )

    @cache
    def title(record_id: str) -> str:
        record = ask.record(record_id)
        return headline(record) if record else record_id

    def sources(ids: Sequence[str]) -> list[tuple[str, str]]:
        return [(each, title(each)) for each in ids[:_SOURCES_SHOWN]]

    return WebPage(
        "lab.html",
        "Context lab",
        {
            "given": given,
            "budget": budget,
            "budget_usual": usual,
            "budget_max": most,
            "chars_max": limits.WEB_LAB_CHARS_MAX,
            "issue_open": bool(issue),
            "context": context,
            # Each line with what is behind it, and how many records more.
            "lines": [
                (line, sources(line.ids), max(0, len(line.ids) - _SOURCES_SHOWN))
                for line in (context.lines if context else ())
            ],
            "advice": advice,
            "verdict_look": {"ok": "good", "caution": "warn", "blocked": "bad"}.get(
                advice.verdict, "plain"
            )
            if advice
            else "",
            "evidence": sources(advice.evidence) if advice else [],
            "is_empty": not ask("stats").records,
        },
    )
