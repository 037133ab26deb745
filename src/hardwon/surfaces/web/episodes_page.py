"""Episodes: how tasks go, whether the memory helps, and the rules and mistakes that were learned
from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from hardwon import limits
from hardwon.learn.compare import Comparison, Curve
from hardwon.learn.rules import RuleState
from hardwon.records.kinds import Episode
from hardwon.surfaces.web import look as charts
from hardwon.surfaces.web.pages import Ask, PageRequest, WebPage

_TASKS_SHOWN: Final = 50
_TASKS_DRAWN: Final = 15
_EPISODES_DRAWN: Final = 300
_RULES_SHOWN: Final = 50
_CARDS_SHOWN: Final = 24
_ROW_PX: Final = 34
_STATES: Final[tuple[RuleState, ...]] = ("active", "candidate", "retired")
_WITH, _WITHOUT = charts.ACCENT, charts.SECOND


class Sides(NamedTuple):
    """A task with the memory and without: how often, and the mean score."""

    task_id: str
    on: int
    off: int
    mean_on: float | None
    mean_off: float | None


def view(ask: Ask, request: PageRequest) -> WebPage:
    tasks = ask("episodes.tasks", limit=_TASKS_SHOWN + 1)
    rules = _rules(ask, request)
    if not tasks and not rules:
        return WebPage("episodes_empty.html", {}, "Episodes")
    task_id = request.query.get("task_id", "")
    by_run = request.query.get("by_run") == "1"
    tag = request.query.get("tag") or None
    comparison: Comparison = ask(
        "episodes.compare",
        task_id=task_id or None,
        tag=tag,
        by_run=by_run,
        since=request.since,
        until=request.until,
    )
    context = {
        "tasks": tasks[:_TASKS_SHOWN],
        "more_tasks": len(tasks) > _TASKS_SHOWN,
        "task_id": task_id,
        "by_run": by_run,
        "tag": tag or "",
        "comparison": comparison,
        **_compared(comparison, task_id),
        **(_curve(ask, request, task_id) if task_id else {}),
        "rules": rules,
        "state": request.query.get("state", ""),
        "states": _STATES,
        "cards": ask("cards", task_id=task_id or None, limit=_CARDS_SHOWN),
    }
    return WebPage("episodes.html", context, "Episodes")


def _rules(ask: Ask, request: PageRequest) -> list[Any]:
    found: list[Any] = ask(
        "rules",
        task_id=request.query.get("task_id") or None,
        state=request.query.get("state") or None,
        limit=_RULES_SHOWN,
    )
    return found


# --- one task ---


def _curve(ask: Ask, request: PageRequest, task_id: str) -> dict[str, Any]:
    """The task's newest episodes in this time, oldest first."""
    size = min(_EPISODES_DRAWN, limits.PAGE_RECORDS_MAX)
    found = ask(
        "care.page",
        kind="episode",
        task_id=task_id,
        since=request.since,
        until=request.until,
        limit=size,
    )
    episodes = [
        each for each in reversed(found.records) if each.metadata.validation.status != "archived"
    ]
    return {
        "history": ask("episodes.scores", task_id=task_id),
        "episodes": episodes,
        "more_episodes": found.next is not None,
        "curve_figure": _curve_figure(request, episodes),
    }


def _curve_figure(request: PageRequest, episodes: list[Episode]) -> charts.Figure:
    data = []
    for name, colour, had in (("with memory", _WITH, True), ("without", _WITHOUT, False)):
        some = [each for each in episodes if (each.recalled is not None) is had]
        if some:
            points = {
                "mode": "markers",
                "customdata": [request.url("record", each.id) for each in some],
            }
            marker = {"color": colour, "size": 8, "symbol": "circle" if had else "diamond"}
            data.append(
                charts.line(
                    _times(some),
                    [each.score for each in some],
                    name,
                    colour,
                    marker=marker,
                    **points,
                )
            )
    if line := trend_line(
        [each.metadata.context.timestamp.timestamp() for each in episodes],
        [each.score for each in episodes],
    ):
        style = {"mode": "lines", "line": {"color": charts.QUIET, "width": 2, "dash": "dash"}}
        data.append(
            charts.line(
                _times([episodes[0], episodes[-1]]), list(line), "trend", charts.QUIET, **style
            )
        )
    return charts.figure(
        data, xaxis={"type": "date"}, yaxis={"range": [-0.03, 1.05], "title": {"text": "score"}}
    )


def _times(episodes: Sequence[Episode]) -> list[str]:
    return [each.metadata.context.timestamp.isoformat() for each in episodes]


def trend_line(x: Sequence[float], y: Sequence[float]) -> tuple[float, float] | None:
    """Where the straight line that fits best begins and ends; None where there is none to draw."""
    if len(x) < 2 or x[0] == x[-1]:
        return None
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((each - mean_x) ** 2 for each in x)
    slope = (
        sum((left - mean_x) * (right - mean_y) for left, right in zip(x, y, strict=True)) / spread
    )
    return mean_y + slope * (x[0] - mean_x), mean_y + slope * (x[-1] - mean_x)


# --- with and without memory ---


def _compared(comparison: Comparison, task_id: str) -> dict[str, Any]:
    sides = [_sides(name, curve) for name, curve in comparison.curves.items()]
    curve = comparison.curves.get(task_id)
    drawn = [side for side in sides if side.mean_on is not None and side.mean_off is not None][
        :_TASKS_DRAWN
    ]
    return {
        "sides": sides,
        "sides_figure": _running_figure(curve)
        if curve
        else _sides_figure(drawn)
        if drawn
        else None,
        "sides_px": 320 if curve else 90 + _ROW_PX * len(drawn),
    }


def _sides(name: str, curve: Curve) -> Sides:
    on, off = (sum(scores) / len(scores) if scores else None for scores in curve)
    return Sides(name, len(curve.on), len(curve.off), on, off)


def _sides_figure(sides: list[Sides]) -> charts.Figure:
    """Each task as two dots and what lies between them."""
    places = list(range(len(sides)))
    between: dict[str, list[Any]] = {"x": [], "y": []}
    for place, side in zip(places, sides, strict=True):
        between["x"] += [side.mean_off, side.mean_on, None]
        between["y"] += [place, place, None]
    data: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            **between,
            "line": {"color": charts.QUIET, "width": 2},
            "showlegend": False,
        }
        | {"hoverinfo": "skip"}
    ]
    for name, colour, means in (
        ("without", _WITHOUT, [side.mean_off for side in sides]),
        ("with memory", _WITH, [side.mean_on for side in sides]),
    ):
        marker = {"color": colour, "size": 11, "symbol": "circle" if colour == _WITH else "diamond"}
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": means,
                "y": places,
                "name": name,
                "marker": marker,
            }
        )
    axis = {
        **charts.names_axis([side.task_id for side in sides]),
        "range": [len(sides) - 0.5, -0.5],
    }
    x = {"range": [0, 1.02], "title": {"text": "mean score"}}
    return charts.figure(data, xaxis=x, yaxis=axis, hovermode="closest", **charts.LEGEND_ABOVE)


def _running_figure(curve: Curve) -> charts.Figure:
    """The mean of a task's scores so far, attempt by attempt, on either side."""
    data = []
    for name, colour, scores in (
        ("with memory", _WITH, curve.on),
        ("without", _WITHOUT, curve.off),
    ):
        if scores:
            x, total, means = list(range(1, len(scores) + 1)), 0.0, []
            for number, score in enumerate(scores, 1):
                total += score
                means.append(total / number)
            data.append(charts.line(x, means, name, colour))
    y = {"range": [0, 1.02], "title": {"text": "mean so far"}}
    return charts.figure(data, xaxis={"title": {"text": "attempt"}}, yaxis=y, **charts.LEGEND_ABOVE)
