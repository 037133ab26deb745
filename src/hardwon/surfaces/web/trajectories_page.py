"""Trajectories: what was done step by step, what it earned, and what helped against which error."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from hardwon.errors import InvalidInputError, UnknownRecordError
from hardwon.learn.actions import errors_of, pairs_of
from hardwon.records.kinds import Step, Trajectory
from hardwon.surfaces.web import look as charts
from hardwon.surfaces.web.pages import Ask, PageRequest, WebPage

_LISTED: Final = 50
_SOLUTIONS_SHOWN: Final = 20
_STEPS_SHOWN: Final = 100
_STEPS_DRAWN: Final = 1_000
_STEPS_TICKED: Final = 20
_FOLDED_FROM: Final = 300
_TEXT_CHARS: Final = 6_000
_ERROR_CHARS: Final = 300
_LARGEST: Final = sys.float_info.max


class StepView(NamedTuple):
    """A text as a page shows it: its beginning, and the rest to unfold where it is long. `cut`: not
    even there is all of it.
    """

    line: str
    text: str
    folded: bool
    cut: bool


class TrajectoryView(NamedTuple):
    """A step of the timeline. `share` is its reward's part of the largest of them; `helped` names
    the steps whose error it got rid of, `failed` those whose error it did not.
    """

    number: int
    action: StepView
    observation: StepView
    reward: float
    cumulative: float
    share: float
    error: str
    helped: list[int]
    failed: list[int]


def view(ask: Ask, request: PageRequest) -> WebPage:
    return _one(ask, request) if request.item else _list(ask, request)


def _list(ask: Ask, request: PageRequest) -> WebPage:
    cursor = request.query.get("cursor") or None
    found = ask(
        "care.page",
        kind="trajectory",
        since=request.since,
        until=request.until,
        limit=_LISTED,
        cursor=cursor,
    )
    error = request.query.get("error", "").strip()
    solutions = ask("solutions", error=error or None, limit=_SOLUTIONS_SHOWN)
    if not (
        found.records
        or solutions
        or cursor
        or error
        or ask("care.page", kind="trajectory", limit=1).records
    ):
        return WebPage("trajectories_empty.html", {}, "Trajectories")
    context = {
        "trajectories": [(each, _total(each.steps)) for each in found.records],
        "older": request.here(cursor=found.next) if found.next else None,
        "cursor": cursor,
        "solutions": solutions,
        "error": error,
    }
    return WebPage("trajectories.html", context, "Trajectories")


# --- one ---


def _one(ask: Ask, request: PageRequest) -> WebPage:
    found = ask("get", record_id=request.item)
    if not isinstance(found, Trajectory):
        raise UnknownRecordError(
            f"record {request.item} is no trajectory but {found.kind}: its page tells of it"
        )
    first = _first_step(request, len(found.steps))
    steps = _timeline(found)
    context = {
        "trajectory": found,
        "steps": steps[first : first + _STEPS_SHOWN],
        "first": first,
        "count": len(steps),
        "before": request.here(**{"from": max(1, first + 1 - _STEPS_SHOWN)}) if first else None,
        "after": request.here(**{"from": first + 1 + _STEPS_SHOWN})
        if first + _STEPS_SHOWN < len(steps)
        else None,
        "total": _total(found.steps),
        "errors": sum(bool(step.error) for step in steps),
        "reward_figure": _reward_figure(steps),
    }
    return WebPage("trajectory.html", context, "Trajectory")


def _first_step(request: PageRequest, count: int) -> int:
    """From which step on, counted from 0; `from` in the address counts from 1."""
    said = request.query.get("from") or "1"
    if not (
        said.isascii() and said.isdigit() and len(said) < 10 and 1 <= int(said) <= max(count, 1)
    ):
        raise InvalidInputError.one("from", said, f"the number of a step, 1 to {max(count, 1)}")
    return int(said) - 1


def _timeline(trajectory: Trajectory) -> list[TrajectoryView]:
    errors = errors_of(trajectory.steps)
    answers = _answers(trajectory, errors)
    largest = max((abs(step.reward) for step in trajectory.steps), default=0.0)
    steps, cumulative = [], 0.0
    for number, (step, error) in enumerate(zip(trajectory.steps, errors, strict=True)):
        cumulative = _bounded(cumulative + step.reward)
        helped, failed = answers.get(number, ([], []))
        share = abs(step.reward) / largest if largest else 0.0
        said = step.observation.strip()[:_ERROR_CHARS] if error else ""
        told = told_of(step.action), told_of(step.observation)
        steps.append(
            TrajectoryView(number + 1, *told, step.reward, cumulative, share, said, helped, failed)
        )
    return steps


def _answers(trajectory: Trajectory, errors: list[str]) -> dict[int, tuple[list[int], list[int]]]:
    """Of each step that tried something against an error: the steps whose error it got rid of, and
    those where it did not.
    """
    found: dict[int, tuple[list[int], list[int]]] = {}
    for pair, number in pairs_of(trajectory):
        seen_at = next(
            (each for each in range(number - 1, -1, -1) if errors[each] == pair.diagnosis), None
        )
        if seen_at is not None:
            found.setdefault(number, ([], []))[0 if pair.helped else 1].append(seen_at + 1)
    return found


def told_of(text: str) -> StepView:
    shown = text.strip()[:_TEXT_CHARS]
    line = shown.partition("\n")[0][:_FOLDED_FROM]
    folded = len(shown) > _FOLDED_FROM or "\n" in shown
    return StepView(line, shown, folded, len(text.strip()) > _TEXT_CHARS)


def _total(steps: Iterable[Step]) -> float:
    total = 0.0
    for step in steps:
        total = _bounded(total + step.reward)
    return total


def _bounded(value: float) -> float:
    """Rewards may be as large as numbers go; their sum is one that can still be written."""
    return max(-_LARGEST, min(_LARGEST, value))


def _reward_figure(steps: list[TrajectoryView]) -> charts.Figure:
    """Each step's reward as a bar, and what it all comes to as a line; of very many steps, evenly
    chosen ones.
    """
    every = (len(steps) - 1) // _STEPS_DRAWN + 1
    drawn = steps[::every]
    x = [step.number for step in drawn]
    bars: dict[str, Any] = charts.bars(
        x, [step.reward for step in drawn], "reward", showlegend=False
    )
    bars["marker"] = {"color": [charts.GOOD if step.reward > 0 else charts.BAD for step in drawn]}
    stairs = {"color": charts.ACCENT, "shape": "hv", "width": 2}
    line = charts.line(
        x,
        [step.cumulative for step in drawn],
        "sum so far",
        charts.ACCENT,
        showlegend=True,
        line=stairs,
    )
    x_axis = {
        "title": {"text": "step"},
        "tickformat": "d",
        **({"dtick": 1} if len(steps) <= _STEPS_TICKED else {}),
    }
    y_axis = {"title": {"text": "reward"}}
    return charts.figure(
        [bars, line], xaxis=x_axis, yaxis=y_axis, bargap=0.6, **charts.LEGEND_ABOVE
    )
