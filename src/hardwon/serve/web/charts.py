"""Figures as plotly's script takes them: plain dictionaries. The script in the browser gives them the theme's colours: a colour
is one of the names below, as `$good`. Plotly's own Python objects would take a second to import."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any, Final

from hardwon import limits
from hardwon.serve.web.look import shortened

Figure = dict[str, Any]
GOOD, BAD, INFO, ACCENT, QUIET = "$good", "$bad", "$info", "$accent", "$quiet"
SECOND: Final = "$series2"
"""Beside the accent, for a series that is neither good nor bad."""
_TICK_CHARS: Final = 22
_FEW_DAYS: Final = 6
DAY_MS: Final = 86_400_000
"""Plotly counts times in milliseconds."""
LEGEND_ABOVE: Final[Figure] = {
    "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom"},
    "margin": {"l": 48, "r": 12, "t": 32, "b": 40},
}
"""Layout of a chart whose axis has a title where the legend would be."""


def label(name: object) -> str:
    """A name as a chart shows it. Plotly reads some markup in texts; a name has none."""
    text = shortened(name, limits.WEB_CHART_LABEL_CHARS).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"&#36;{text[1:]}" if text.startswith("$") else text  # it names no colour


def names_axis(names: Sequence[object]) -> dict[str, Any]:
    """An axis of names, cut to what leaves room for the chart. Their places are numbers: two may look alike once they are cut,
    or look like dates."""
    shown = [label(shortened(name, _TICK_CHARS)) for name in names]
    return {"type": "linear", "tickvals": list(range(len(shown))), "ticktext": shown, "zeroline": False}


def days_axis(days: Sequence[date]) -> dict[str, Any]:
    """An axis of days. Of few days it is told where to begin and end: plotly would cut a single one into milliseconds."""
    if not days or (max(days) - min(days)).days >= _FEW_DAYS:
        return {"type": "date"}
    around = [(day + timedelta(days=away)).isoformat() for day, away in ((min(days), -1), (max(days), 1))]
    return {"type": "date", "range": around, "dtick": DAY_MS, "tickformat": "%b %-d\n%Y"}


def thinned(points: Sequence[Any]) -> list[Any]:
    """No more points than a chart may have: the newest."""
    return list(points)[-limits.WEB_CHART_POINTS_MAX :]


def figure(data: list[dict[str, Any]], **layout: Any) -> Figure:
    return {"data": data, "layout": layout}


def bars(x: Sequence[Any], y: Sequence[float], name: str, colour: str = ACCENT, **more: Any) -> dict[str, Any]:
    return {
        "type": "bar",
        "x": thinned(x),
        "y": thinned(y),
        "name": label(name),
        "marker": {"color": colour},
        **more,
    }


def line(x: Sequence[Any], y: Sequence[float | None], name: str, colour: str = ACCENT, **more: Any) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "x": thinned(x),
        "y": thinned(y),
        "name": label(name),
        "line": {"color": colour, "width": 2},
        "marker": {"color": colour, "size": 5},
        **more,
    }


def band(
    x: Sequence[Any], low: Sequence[float | None], high: Sequence[float | None], name: str, colour: str
) -> list[dict[str, Any]]:
    """An interval around a line: goes before the line that it belongs to."""
    edge = {"type": "scatter", "mode": "lines", "x": thinned(x), "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    filled = {**edge, "y": thinned(high), "fill": "tonexty", "fillcolor": f"{colour}/0.18", "name": label(name)}
    return [{**edge, "y": thinned(low)}, filled]
