"""Fixes: how many were tried, applied and successful, where, by whom and when; what works against
what, and what does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from hardwon import limits
from hardwon.fixes.reports import FixCell, FixDay, FixerRecord
from hardwon.surfaces.web import look as charts
from hardwon.surfaces.web.pages import RANGES, Ask, PageRequest, WebPage

_MODELS_DRAWN: Final = 15
_TYPES_DRAWN: Final = 12
_FIXERS_DRAWN: Final = 15
_BUCKETS_MAX: Final = 60
_PATTERNS_SHOWN: Final = 30
_STRATEGIES_SHOWN: Final = 15
_TRENDS_SHOWN: Final = 20
_ROW_PX: Final = 34
NO_MODEL: Final = "(no model)"


def view(ask: Ask, request: PageRequest) -> WebPage:
    totals = ask("fixes.totals")
    if not totals.attempts:
        return WebPage("fixes_empty.html", {}, "Fixes")
    span = RANGES[request.range] or limits.FIX_DAYS_MAX
    days: list[FixDay] = ask("fixes.days", days=span)
    cells: list[FixCell] = ask("fixes.matrix")
    fixers: list[FixerRecord] = ask("fixes.fixers")
    models, types = (_most_tried(cells, name) for name in ("model", "issue_type"))
    issue_type = request.query.get("issue_type") or next(iter(types), "")
    model = request.query.get("model", "")
    buckets = list(bucketed(days))
    drawn_models, drawn_types = models[:_MODELS_DRAWN], types[:_TYPES_DRAWN]
    context = {
        "totals": totals,
        "in_range": _added_up(days),
        "buckets": buckets,
        "days_figure": _days_figure(buckets),
        "trends": ask("fixes.trends", days=span)[:_TRENDS_SHOWN],
        "cells": cells,
        "models": models,
        "types": types,
        "left_out": (len(models) - len(drawn_models), len(types) - len(drawn_types)),
        "matrix_figure": _matrix_figure(request, cells, drawn_models, drawn_types),
        "matrix_px": 150 + _ROW_PX * len(drawn_models),
        "fixers": fixers,
        "fixers_figure": _fixers_figure(fixers[:_FIXERS_DRAWN]),
        "fixers_px": 70 + _ROW_PX * min(len(fixers), _FIXERS_DRAWN),
        "patterns": ask("patterns", limit=_PATTERNS_SHOWN),
        "issue_type": issue_type,
        **_strategies(ask, issue_type),
        "model": model,
        "insights": ask("model_insights", name=model) if model else None,
        "no_model": NO_MODEL,
    }
    return WebPage("fixes.html", context, "Fixes")


def _strategies(ask: Ask, issue_type: str) -> dict[str, Any]:
    """Of an issue type: what worked at least every second time, and what failed more often than
    that.
    """
    tried = (
        ask("fixes.strategies", issue_type=issue_type, limit=_STRATEGIES_SHOWN)
        if issue_type
        else []
    )
    failed = (
        ask("fixes.failed_strategies", issue_type=issue_type, limit=_STRATEGIES_SHOWN)
        if issue_type
        else []
    )
    return {
        "worked": [each for each in tried if 2 * each.verified >= each.attempts],
        "failed": failed,
    }


def _most_tried(cells: Iterable[FixCell], name: str) -> list[str]:
    attempts: dict[str, int] = {}
    for cell in cells:
        attempts[getattr(cell, name)] = attempts.get(getattr(cell, name), 0) + cell.attempts
    return sorted(attempts, key=lambda each: (-attempts[each], each))


def _added_up(days: Sequence[FixDay]) -> FixDay | None:
    """All of these days as if they were the first of them."""
    if not days:
        return None
    return FixDay(
        days[0].day,
        *(sum(getattr(day, name) for day in days) for name in ("attempts", "applied", "verified")),
    )


def bucketed(days: Sequence[FixDay]) -> Iterator[FixDay]:
    """As many days together as makes a chart that can be read; each is told by its first day."""
    width = max(1, -(-len(days) // _BUCKETS_MAX))
    for start in range(0, len(days), width):
        if together := _added_up(days[start : start + width]):
            yield together


def _days_figure(buckets: list[FixDay]) -> charts.Figure:
    x = [bucket.day.isoformat() for bucket in buckets]
    wide = {"width": 0.8 * charts.DAY_MS} if len(x) == 1 else {}
    data = [
        charts.bars(
            x, [bucket.attempts for bucket in buckets], "attempts", f"{charts.QUIET}/0.35", **wide
        ),
        charts.bars(x, [bucket.applied for bucket in buckets], "applied", charts.INFO, **wide),
        charts.bars(x, [bucket.verified for bucket in buckets], "success", charts.GOOD, **wide),
    ]
    axis = charts.days_axis([bucket.day for bucket in buckets])
    return charts.figure(data, barmode="overlay", xaxis=axis, yaxis={"title": {"text": "fixes"}})


def _matrix_figure(
    request: PageRequest, cells: Iterable[FixCell], models: list[str], types: list[str]
) -> charts.Figure:
    """How likely the next fix is to succeed, as a colour; how often it was tried, as a number in
    it.
    """
    at = {(cell.model, cell.issue_type): cell for cell in cells}
    rows = [[at.get((model, name)) for name in types] for model in models]
    drawn = {
        "type": "heatmap",
        "x": list(range(len(types))),
        "y": list(range(len(models))),
        "z": [[cell.p_success if cell else None for cell in row] for row in rows],
        "text": [[f"{cell.attempts:,}" if cell else "" for cell in row] for row in rows],
        "customdata": [
            [
                request.url("search", kind="fix", model=cell.model, issue_type=cell.issue_type)
                if cell
                else ""
                for cell in row
            ]
            for row in rows
        ],
        "hovertext": [[_told(cell) if cell else "never tried" for cell in row] for row in rows],
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
    flat = {"showgrid": False}
    return charts.figure(
        [drawn],
        xaxis={**charts.names_axis(types), **flat, "side": "bottom", "tickangle": -30},
        yaxis={
            **charts.names_axis([model or NO_MODEL for model in models]),
            **flat,
            "autorange": "reversed",
        },
    )


def _told(cell: FixCell) -> str:
    where = f"{charts.label(cell.issue_type)} on {charts.label(cell.model or NO_MODEL)}"
    counts = f"{cell.attempts:,} attempts, {cell.applied:,} applied, {cell.verified:,} successful"
    return f"{where}<br>{counts}<br>next one succeeds: {cell.p_success:.0%}"


def _fixers_figure(fixers: list[FixerRecord]) -> charts.Figure:
    p = [fixer.p_success for fixer in fixers]
    drawn = {
        "type": "scatter",
        "mode": "markers",
        "x": p,
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
    return charts.figure(
        [drawn],
        xaxis={"range": [0, 1.03], "tickformat": ".0%"},
        yaxis={
            **charts.names_axis([fixer.fixer for fixer in fixers]),
            "range": [len(fixers) - 0.5, -0.5],
        },
        showlegend=False,
    )
