"""The map: where experiences lie, by outcome, tool and key, how large each branch is and how well
it goes there; and where they pile up. It is of all time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from hardwon import limits
from hardwon.learn.topology import Branch, FolderCount, hotspots_of, topology_of
from hardwon.records.kinds import INTAKE, OUTCOMES
from hardwon.surfaces.web import look as charts
from hardwon.surfaces.web.pages import Ask, PageRequest, WebPage

SHAPES: Final = ("treemap", "sunburst")
ORDERS: Final = ("outcome", "tool")
_HEAT: Final = ("heat1", "heat2", "heat3", "heat4", "heat5")
"""Colours of the style sheet, from what always fails to what always succeeds; with `on-`, of the
text on each.
"""
_NO_HEAT: Final = "heat0"
_SPOTS: Final = 9
_TOP: Final = "all experiences"
_STANDARD: Final = "abcdefghijklmnopqrstuvwxyz0123456789_.-"


class MapNode(NamedTuple):
    """A branch with the names above it; `good` and `bad` are what succeeded and failed in it."""

    parts: tuple[str, ...]
    branch: Branch
    share: float
    good: int
    bad: int

    @property
    def success(self) -> float | None:
        return self.good / (self.good + self.bad) if self.good + self.bad else None

    @property
    def name(self) -> str:
        return self.parts[-1].partition("=")[2] or self.parts[-1] if self.parts else _TOP

    @property
    def path(self) -> str:
        return " \u203a ".join(part.partition("=")[2] or part for part in self.parts) or _TOP

    @property
    def colour(self) -> str:
        return (
            _NO_HEAT
            if self.success is None
            else _HEAT[min(int(self.success * len(_HEAT)), len(_HEAT) - 1)]
        )


def view(ask: Ask, request: PageRequest) -> WebPage:
    shape = request.query.get("shape", "")
    first = request.query.get("first", "")
    shape = shape if shape in SHAPES else SHAPES[0]
    first = first if first in ORDERS else ORDERS[0]
    found: Branch = ask("topology")
    tree = found if first == "outcome" else topology_of(_with_tools_first(found), found.name)
    places = list(_places(tree))
    spots = [
        (spot, behind(request, tuple(spot.path.split("/"))))
        for spot in hotspots_of(tree, limit=_SPOTS)
    ]
    context = {
        "shape": shape,
        "first": first,
        "branches": [(place, behind(request, place.parts)) for place in places],
        "spots": spots,
        "figure": _figure(places, shape, request),
        "total": tree.count,
    }
    return WebPage("map.html", context, "Map")


def behind(request: PageRequest, parts: tuple[str, ...]) -> str:
    """The address of the memories of a branch; empty where no filter tells them from others."""
    said: dict[str, str] = {}
    for part in parts:
        key, _, value = part.partition("=")
        known = key == "tool" or (key == "outcome" and value in OUTCOMES)
        name, wanted = (key, value) if known else ("key", part)
        if (
            name in said or not value or value.strip(_STANDARD)
        ):  # made by hand, or a name with a hash; or more than can be asked
            return ""
        said[name] = wanted
    return request.url("search", kind="experience", range="all", **said)


def _with_tools_first(tree: Branch) -> list[FolderCount]:
    """What lies in each folder, as if the tool had been asked for before the outcome."""
    return [
        FolderCount(
            "/".join(sorted(parts, key=lambda part: not part.startswith("tool="))), count, size
        )
        for parts, count, size in _directly(tree, ())
    ]


def _directly(branch: Branch, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], int, int]]:
    count = branch.count - sum(each.count for each in branch.branches)
    if count:
        yield above, count, branch.bytes - sum(each.bytes for each in branch.branches)
    for each in branch.branches:
        yield from _directly(each, (*above, each.name))


def _places(tree: Branch) -> Iterator[MapNode]:
    """The branches that are drawn: level by level, the largest of each first."""
    good, bad = _judged(tree, "")
    waiting = deque([(MapNode((), tree, 1.0, good, bad), "")])
    for _ in range(limits.WEB_MAP_BRANCHES_MAX):
        if not waiting:
            return
        place, outcome = waiting.popleft()
        yield place
        for each in place.branch.branches:
            inner = _outcome_in(each.name) or outcome
            share = each.count / place.branch.count if place.branch.count else 0.0
            waiting.append(
                (MapNode((*place.parts, each.name), each, share, *_judged(each, inner)), inner)
            )


def _judged(branch: Branch, outcome: str) -> tuple[int, int]:
    """Successes and failures in a branch that lies in the folder of this outcome."""
    if outcome:
        return (branch.count if outcome == "success" else 0), (
            branch.count if outcome == "failure" else 0
        )
    below = [
        _judged(each, _outcome_in(each.name)) for each in branch.branches if each.name != INTAKE
    ]
    return sum(good for good, _ in below), sum(bad for _, bad in below)


def _outcome_in(name: str) -> str:
    key, _, value = name.partition("=")
    return value if key == "outcome" else ""


def _figure(places: list[MapNode], shape: str, request: PageRequest) -> charts.Figure:
    trace: dict[str, Any] = {
        "type": shape,
        "ids": ["/" + "/".join(place.parts) for place in places],
        "parents": ["/" + "/".join(place.parts[:-1]) if place.parts else "" for place in places],
        "labels": [charts.label(place.name) for place in places],
        "values": [place.branch.count for place in places],
        "text": [
            "nothing judged" if place.success is None else f"{place.success:.0%} success"
            for place in places
        ],
        "customdata": [
            None if place.branch.branches else behind(request, place.parts) or None
            for place in places
        ],
        "marker": {
            "colors": [f"${place.colour}" for place in places],
            "line": {"color": "$card", "width": 2},
        },
        "textfont": {"color": [f"$on-{place.colour}" for place in places]},
        "branchvalues": "total",
        "texttemplate": "%{label}<br>%{value}",
        "hovertemplate": "<b>%{label}</b><br>%{value} records<br>%{text}<extra></extra>",
    }
    if shape == "treemap":
        trace |= {"tiling": {"pad": 3}, "pathbar": {"visible": True, "thickness": 26}}
    else:
        trace |= {"insidetextorientation": "auto", "leaf": {"opacity": 1}}
    return charts.figure(
        [trace], margin={"l": 0, "r": 0, "t": 30 if shape == "treemap" else 6, "b": 6}
    )
