"""Pages of what was learned from work: fixes (how many were tried, applied and successful, where, by
whom and when; what works against what), episodes (how tasks go, whether the memory helps, rules and
mistakes), and trajectories (what was done step by step, what it earned, what helped against which
error).
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice
from statistics import fmean, linear_regression
from typing import Any, Final, NamedTuple

from hardwon import limits
from hardwon.errors import UnknownRecordError
from hardwon.fixes.reports import FixCell, FixDay, FixerRecord
from hardwon.learn.actions import judge_steps, pairs_of
from hardwon.learn.rules import Comparison, Curve
from hardwon.records.kinds import Episode, Step, Trajectory
from hardwon.surfaces.gate import Ask
from hardwon.surfaces.web import pages as charts
from hardwon.surfaces.web.pages import RANGES, PageRequest, WebPage

_ROW_PX: Final = 34

# --- fixes ---

_FIXERS_DRAWN: Final = 15
_BUCKETS_MAX: Final = 60
NO_MODEL: Final = "(no model)"
# What is counted of a day, as it is shown, as `FixDay` has it, and its colour.
_COUNTS: Final = {
    "attempts": ("attempts", f"{charts.QUIET}/0.35"),
    "applied": ("applied", charts.INFO),
    "success": ("verified", charts.GOOD),
}


def view_fixes(ask: Ask, request: PageRequest) -> WebPage:
    totals = ask("fixes.totals")
    if not totals.attempts:
        return WebPage("fixes_empty.html", "Fixes")
    span = RANGES[request.range] or limits.FIX_DAYS_MAX
    days: list[FixDay] = ask("fixes.days", days=span)
    cells: list[FixCell] = ask("fixes.matrix")
    fixers: list[FixerRecord] = ask("fixes.fixers")
    models, types = (_most_tried(cells, name) for name in ("model", "issue_type"))
    issue_type = request.query.get("issue_type") or next(iter(types), "")
    model = request.query.get("model", "")
    buckets = list(in_buckets(days))
    drawn_models, drawn_types = models[:15], types[:12]
    of_type = {"issue_type": issue_type, "limit": 15}
    tried = ask("fixes.strategies", **of_type) if issue_type else []
    return WebPage(
        "fixes.html",
        "Fixes",
        {
            "totals": totals,
            "in_range": _sum(days) if days else None,
            "buckets": buckets,
            "days_figure": _days_figure(buckets),
            "trends": ask("fixes.trends", days=span)[:20],
            "cells": cells,
            "models": models,
            "types": types,
            "left_out": (len(models) - len(drawn_models), len(types) - len(drawn_types)),
            "matrix_figure": _matrix_figure(request, cells, drawn_models, drawn_types),
            "matrix_px": 150 + _ROW_PX * len(drawn_models),
            "fixers": fixers,
            "fixers_figure": _fixers_figure(fixers[:_FIXERS_DRAWN]),
            "fixers_px": 70 + _ROW_PX * min(len(fixers), _FIXERS_DRAWN),
            "patterns": ask("patterns", limit=30),
            "issue_type": issue_type,
            # What worked at least every second time, and what failed more often than that.
            "worked": [each for each in tried if 2 * each.verified >= each.attempts],
            "failed": ask("fixes.failed_strategies", **of_type) if issue_type else [],
            "model": model,
            "insights": ask("model_insights", name=model) if model else None,
            "no_model": NO_MODEL,
        },
    )


def _most_tried(cells: Iterable[FixCell], name: str) -> list[str]:
    attempts: Counter[str] = Counter()
    for cell in cells:
        attempts[getattr(cell, name)] += cell.attempts
    return sorted(attempts, key=lambda each: (-attempts[each], each))


def _sum(days: Sequence[FixDay]) -> FixDay:
    """All of these days as if they were the first of them."""
    return FixDay(
        days[0].day, *(sum(getattr(day, name) for day in days) for name, *_ in _COUNTS.values())
    )


def in_buckets(days: Sequence[FixDay]) -> Iterator[FixDay]:
    """As many days together as makes a chart that can be read."""
    width = max(1, -(-len(days) // _BUCKETS_MAX))
    return (_sum(days[start : start + width]) for start in range(0, len(days), width))


def _days_figure(buckets: list[FixDay]) -> charts.Figure:
    x = [bucket.day.isoformat() for bucket in buckets]
    wide = {"width": 0.8 * charts.DAY_MS} if len(x) == 1 else {}
    return charts.figure(
        [
            charts.bars(x, [getattr(bucket, name) for bucket in buckets], shown, colour, **wide)
            for shown, (name, colour) in _COUNTS.items()
        ],
        barmode="overlay",
        xaxis=charts.days_axis([bucket.day for bucket in buckets]),
        yaxis={"title": {"text": "fixes"}},
    )


def _matrix_figure(
    request: PageRequest, cells: Iterable[FixCell], models: list[str], types: list[str]
) -> charts.Figure:
    """How likely the next fix is to succeed, as a colour; how often it was tried, as a number in
    it.
    """
    at = {(cell.model, cell.issue_type): cell for cell in cells}
    rows = [[at.get((model, name)) for name in types] for model in models]

    def link(cell: FixCell) -> str:
        return request.url("search", kind="fix", model=cell.model, issue_type=cell.issue_type)

    def words(cell: FixCell) -> str:
        where = f"{charts.label(cell.issue_type)} on {charts.label(cell.model or NO_MODEL)}"
        counts = (
            f"{cell.attempts:,} attempts, {cell.applied:,} applied, {cell.verified:,} successful"
        )
        return f"{where}<br>{counts}<br>next one succeeds: {cell.p_success:.0%}"

    drawn = {
        "type": "heatmap",
        "x": list(range(len(types))),
        "y": list(range(len(models))),
        "z": [[cell.p_success if cell else None for cell in row] for row in rows],
        "text": [[f"{cell.attempts:,}" if cell else "" for cell in row] for row in rows],
        "customdata": [[link(cell) if cell else "" for cell in row] for row in rows],
        "hovertext": [[words(cell) if cell else "never tried" for cell in row] for row in rows],
        "hoverinfo": "text",
        "texttemplate": "%{text}",
        "zmin": 0,
        "zmax": 1,
        "xgap": 2,
        "ygap": 2,
        "textfont": {"color": "$ink"},
        # Pale enough for the numbers in it, in either theme.
        "colorscale": [
            [0, f"{charts.BAD}/0.45"],
            [0.5, "$plain-ground"],
            [1, f"{charts.GOOD}/0.45"],
        ],
        "colorbar": {"tickformat": ".0%", "thickness": 12, "outlinewidth": 0},
    }
    names = charts.names_axis([model or NO_MODEL for model in models])
    return charts.figure(
        [drawn],
        xaxis={
            **charts.names_axis(types),
            "showgrid": False,
            "side": "bottom",
            "tickangle": -30,
        },
        yaxis={**names, "showgrid": False, "autorange": "reversed"},
    )


def _fixers_figure(fixers: list[FixerRecord]) -> charts.Figure:
    drawn = {
        "type": "scatter",
        "mode": "markers",
        "x": [fixer.p_success for fixer in fixers],
        "y": list(range(len(fixers))),
        "marker": {"color": charts.ACCENT, "size": 11},
        "error_x": {
            "type": "data",
            "symmetric": False,
            "array": [max(0.0, fixer.interval[1] - fixer.p_success) for fixer in fixers],
            "arrayminus": [max(0.0, fixer.p_success - fixer.interval[0]) for fixer in fixers],
            "color": charts.ACCENT,
            "thickness": 2,
            "width": 6,
        },
        "hovertext": [
            f"{charts.label(fixer.fixer)}: {fixer.p_success:.0%} "
            f"({fixer.interval[0]:.0%}\u2013{fixer.interval[1]:.0%}), {fixer.attempts:,} attempts"
            for fixer in fixers
        ],
        "hoverinfo": "text",
    }
    names = charts.names_axis([fixer.fixer for fixer in fixers])
    return charts.figure(
        [drawn],
        xaxis={"range": [0, 1.03], "tickformat": ".0%"},
        yaxis={**names, "range": [len(fixers) - 0.5, -0.5]},
        showlegend=False,
    )


# --- episodes ---

_TASKS_SHOWN: Final = 50
_WITH: Final = ("with memory", charts.ACCENT, "circle")
_WITHOUT: Final = ("without", charts.SECOND, "diamond")
_SCORES: Final = [0, 1.02]


def view_episodes(ask: Ask, request: PageRequest) -> WebPage:
    task_id, state, tag = (request.query.get(name, "") for name in ("task_id", "state", "tag"))
    by_run = request.query.get("by_run") == "1"
    in_time = {"task_id": task_id or None, "since": request.since, "until": request.now}
    tasks = ask("episodes.tasks", limit=_TASKS_SHOWN + 1)
    rules = ask("rules", task_id=task_id or None, state=state or None, limit=50)
    if not tasks and not rules:
        return WebPage("episodes_empty.html", "Episodes")
    comparison: Comparison = ask("episodes.compare", tag=tag or None, by_run=by_run, **in_time)
    context: dict[str, Any] = {
        "tasks": tasks[:_TASKS_SHOWN],
        "more_tasks": len(tasks) > _TASKS_SHOWN,
        "task_id": task_id,
        "by_run": by_run,
        "tag": tag,
        "comparison": comparison,
        **_compare_sides(comparison, task_id),
        "rules": rules,
        "state": state,
        "states": ("active", "candidate", "retired"),
        "cards": ask("cards", task_id=task_id or None, limit=24),
    }
    if task_id:
        found = ask("care.page", kind="episode", limit=min(300, limits.PAGE_RECORDS_MAX), **in_time)
        # The newest of this time, oldest first.
        episodes = [
            each
            for each in reversed(found.records)
            if each.metadata.validation.status != "archived"
        ]
        context |= {
            "history": ask("episodes.scores", task_id=task_id),
            "episodes": episodes,
            "more_episodes": found.next is not None,
            "curve_figure": _curve_figure(request, episodes),
        }
    return WebPage("episodes.html", "Episodes", context)


def _curve_figure(request: PageRequest, episodes: list[Episode]) -> charts.Figure:
    data = []
    for (name, colour, symbol), had in ((_WITH, True), (_WITHOUT, False)):
        some = [each for each in episodes if (each.recalled is not None) is had]
        if some:
            more = {
                "mode": "markers",
                "customdata": [request.url("record", each.id) for each in some],
                "marker": {"color": colour, "size": 8, "symbol": symbol},
            }
            scores = [each.score for each in some]
            data.append(charts.line(_times(some), scores, name, colour, **more))
    seconds = [each.metadata.context.timestamp.timestamp() for each in episodes]
    if trend := trend_line(seconds, [each.score for each in episodes]):
        style = {"mode": "lines", "line": {"color": charts.QUIET, "width": 2, "dash": "dash"}}
        ends = _times([episodes[0], episodes[-1]])
        data.append(charts.line(ends, trend, "trend", charts.QUIET, **style))
    return charts.figure(
        data, xaxis={"type": "date"}, yaxis={"range": [-0.03, 1.05], "title": {"text": "score"}}
    )


def _times(episodes: Sequence[Episode]) -> list[str]:
    return [each.metadata.context.timestamp.isoformat() for each in episodes]


def trend_line(x: Sequence[float], y: Sequence[float]) -> tuple[float, float] | None:
    """Where the straight line that fits best begins and ends; None where there is none to draw."""
    if len(x) < 2 or x[0] == x[-1]:
        return None
    slope, start = linear_regression([each - x[0] for each in x], y)
    return start, start + slope * (x[-1] - x[0])


def _compare_sides(comparison: Comparison, task_id: str) -> dict[str, Any]:
    """With and without memory, task by task: how many, and their means; of one task, as its scores
    went on.
    """
    sides = {
        name: [(len(scores), fmean(scores) if scores else None) for scores in curve]
        for name, curve in comparison.curves.items()
    }
    if curve := comparison.curves.get(task_id):
        return {"sides": sides, "sides_figure": _running_figure(curve), "sides_px": 320}
    means = {name: [mean for _, mean in side] for name, side in sides.items()}
    drawn = dict(islice((each for each in means.items() if None not in each[1]), 15))
    return {
        "sides": sides,
        "sides_figure": _sides_figure(drawn) if drawn else None,
        "sides_px": 90 + _ROW_PX * len(drawn),
    }


def _sides_figure(means: dict[str, list[float | None]]) -> charts.Figure:
    """Each task as two dots, with memory and without, and what lies between them."""
    places = list(range(len(means)))
    between: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines",
        "x": [x for on, off in means.values() for x in (off, on, None)],
        "y": [y for place in places for y in (place, place, None)],
        "line": {"color": charts.QUIET, "width": 2},
        "showlegend": False,
        "hoverinfo": "skip",
    }
    dots = [
        {
            "type": "scatter",
            "mode": "markers",
            "x": [each[side] for each in means.values()],
            "y": places,
            "name": name,
            "marker": {"color": colour, "size": 11, "symbol": symbol},
        }
        for side, (name, colour, symbol) in ((1, _WITHOUT), (0, _WITH))
    ]
    return charts.figure(
        [between, *dots],
        xaxis={"range": _SCORES, "title": {"text": "mean score"}},
        yaxis={**charts.names_axis(list(means)), "range": [len(means) - 0.5, -0.5]},
        hovermode="closest",
        **charts.LEGEND_ABOVE,
    )


def _running_figure(curve: Curve) -> charts.Figure:
    """The mean of a task's scores so far, attempt by attempt, on either side."""
    return charts.figure(
        [
            charts.line(
                range(1, len(scores) + 1),
                [total / n for n, total in enumerate(accumulate(scores), 1)],
                name,
                colour,
            )
            for (name, colour, _), scores in ((_WITH, curve.on), (_WITHOUT, curve.off))
            if scores
        ],
        xaxis={"title": {"text": "attempt"}},
        yaxis={"range": _SCORES, "title": {"text": "mean so far"}},
        **charts.LEGEND_ABOVE,
    )


# --- trajectories ---

_STEPS_SHOWN: Final = 100
_FOLDED_FROM: Final = 300
_TEXT_CHARS: Final = 6_000
_LARGEST: Final = sys.float_info.max


class FoldedText(NamedTuple):
    """A text as a page shows it: its beginning, and the rest to unfold where it is long. `cut`: not
    even there is all of it.
    """

    line: str
    text: str
    folded: bool
    cut: bool


def view_trajectories(ask: Ask, request: PageRequest) -> WebPage:
    if request.item:
        return _view_trajectory(ask, request)
    cursor = request.query.get("cursor") or None
    span = {"since": request.since, "until": request.now}
    found = ask("care.page", kind="trajectory", limit=50, cursor=cursor, **span)
    error = request.query.get("error", "").strip()
    solutions = ask("solutions", error=error or None, limit=20)
    if not (
        found.records
        or solutions
        or cursor
        or error
        or ask("care.page", kind="trajectory", limit=1).records
    ):
        return WebPage("trajectories_empty.html", "Trajectories")
    return WebPage(
        "trajectories.html",
        "Trajectories",
        {
            "trajectories": [(each, _add_up(each.steps)[-1]) for each in found.records],
            "older": request.here(cursor=found.next) if found.next else None,
            "cursor": cursor,
            "solutions": solutions,
            "error": error,
        },
    )


def _view_trajectory(ask: Ask, request: PageRequest) -> WebPage:
    found = ask("get", record_id=request.item)
    if not isinstance(found, Trajectory):
        raise UnknownRecordError(
            f"record {request.item} is no trajectory but {found.kind}: its page tells of it"
        )
    count = len(found.steps)
    first = request.whole_number("from", "the number of a step", 1, max(count, 1)) - 1
    after = first + _STEPS_SHOWN
    steps, sums = _timeline(found), _add_up(found.steps)
    return WebPage(
        "trajectory.html",
        "Trajectory",
        {
            "trajectory": found,
            "steps": steps[first:after],
            "first": first,
            "count": count,
            "before": request.here(**{"from": max(1, first + 1 - _STEPS_SHOWN)}) if first else None,
            "after": request.here(**{"from": after + 1}) if after < count else None,
            "total": sums[-1],
            "errors": sum(bool(step["error"]) for step in steps),
            "reward_figure": _reward_figure(found.steps, sums),
        },
    )


def _timeline(trajectory: Trajectory) -> list[dict[str, Any]]:
    """What the page shows of each step. `share` is its reward's part of the largest of them; `helped`
    names the steps whose error it got rid of, `failed` those whose error it did not.
    """
    errors = [outcome.failure for outcome in judge_steps(trajectory.steps)]
    # By whether it helped, and the number of the step: the last ones before it with that error.
    met: dict[tuple[bool, int], list[int]] = defaultdict(list)
    for pair, number in pairs_of(trajectory):
        seen = [each + 1 for each in range(number) if errors[each] == pair.diagnosis]
        met[pair.helped, number] += seen[-1:]
    largest = max((abs(step.reward) for step in trajectory.steps), default=0.0)
    sums = _add_up(trajectory.steps)
    return [
        {
            "number": number + 1,
            "action": fold(step.action),
            "observation": fold(step.observation),
            "reward": step.reward,
            "cumulative": sums[number + 1],
            "share": abs(step.reward) / largest if largest else 0.0,
            "error": step.observation.strip()[:300] if errors[number] else "",
            "helped": met[True, number],
            "failed": met[False, number],
        }
        for number, step in enumerate(trajectory.steps)
    ]


def fold(text: str) -> FoldedText:
    shown = text.strip()[:_TEXT_CHARS]
    line = shown.partition("\n")[0][:_FOLDED_FROM]
    return FoldedText(line, shown, line != shown, len(text.strip()) > _TEXT_CHARS)


def _add_up(steps: Iterable[Step]) -> list[float]:
    """The rewards before the first step, and after each. They may be as large as numbers go; a sum
    is one that can still be written.
    """

    def add(total: float, step: Step) -> float:
        return max(-_LARGEST, min(_LARGEST, total + step.reward))

    return list(accumulate(steps, add, initial=0.0))


def _reward_figure(steps: Sequence[Step], sums: list[float]) -> charts.Figure:
    """Each step's reward as a bar, and what it all comes to as a line; of very many steps, evenly
    chosen ones.
    """
    x = list(range(1, len(steps) + 1, (len(steps) - 1) // 1_000 + 1))
    rewards = [steps[number - 1].reward for number in x]
    colours = [charts.GOOD if each > 0 else charts.BAD for each in rewards]
    bars = charts.bars(x, rewards, "reward", marker={"color": colours}, showlegend=False)
    line = charts.line(
        x,
        [sums[number] for number in x],
        "sum so far",
        line={"color": charts.ACCENT, "shape": "hv", "width": 2},
        showlegend=True,
    )
    ticks = {"dtick": 1} if len(steps) <= 20 else {}
    return charts.figure(
        [bars, line],
        xaxis={"title": {"text": "step"}, "tickformat": "d", **ticks},
        yaxis={"title": {"text": "reward"}},
        bargap=0.6,
        **charts.LEGEND_ABOVE,
    )
