"""Working days for generated memories: each has a morning, an afternoon and an evening with a theme of its own."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from random import Random
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.datasets.plan import Sort
from hardwon.datasets.shares import split
from hardwon.errors import InvalidInputError

FIRST_DAY: Final = date(2023, 1, 2)
"""Where a caller names none. Always the same, so that the same call gives the same data set; a Monday, and long enough ago for
the largest named size to lie in the past."""

_SATURDAY: Final = 5


class Part(NamedTuple):
    """A session of the day, in UTC."""

    name: str
    begins: time
    ends: time


PARTS: Final = (
    Part("morning", time(8, 30), time(12, 15)),
    Part("afternoon", time(13, 0), time(17, 45)),
    Part("evening", time(18, 30), time(21, 30)),
)

# How the memories of a sort divide between the three, and how late in its session each comes (0 first, 1 last). In the morning
# something new is written and shows its first bugs; in the afternoon it is debugged, more fails and corrections are learned; in
# the evening it is cleaned up and explained, users answer, and the day is looked back on.
_THEMES: Final[dict[str, tuple[tuple[int, int, int], tuple[float, float, float]]]] = {
    "write": ((70, 20, 10), (0.1, 0.5, 0.2)),
    "debug": ((25, 60, 15), (0.8, 0.5, 0.2)),
    "refactor": ((5, 15, 80), (0.6, 0.8, 0.1)),
    "explain": ((5, 15, 80), (0.5, 0.9, 0.4)),
    "web_search": ((45, 40, 15), (0.2, 0.3, 0.3)),
    "file_operation": ((50, 20, 30), (0.1, 0.5, 0.2)),
    "conversation": ((15, 20, 65), (0.5, 0.8, 0.5)),
    "failure": ((25, 60, 15), (0.8, 0.3, 0.1)),
    "correction": ((10, 65, 25), (0.9, 0.9, 0.8)),
    "learning": ((15, 25, 60), (0.6, 0.8, 0.9)),
    "interaction": ((10, 20, 70), (0.7, 0.8, 0.6)),
}
_SPREAD: Final = 0.6  # how far chance moves a memory within its session


class Slot(NamedTuple):
    """When the memory at this place happened, and in which session."""

    place: int
    timestamp: str
    session: str


def arrange(random: Random, sorts: list[Sort], start: date | None) -> list[Slot]:
    """One slot for each sort of memory, in the order of time; no two at the same second."""
    pools = _pools(random, sorts)
    slots: list[Slot] = []
    days = -(-len(sorts) // limits.DATASET_DAY_MEMORIES)
    for number, day in enumerate(_working_days(start or FIRST_DAY, days)):
        for part, pool in zip(PARTS, pools, strict=True):
            chosen = pool[number * len(pool) // days : (number + 1) * len(pool) // days]
            ordered = sorted(chosen)  # by lateness; the index settles ties
            moments = _moments(random, day, part, len(ordered))
            name = f"day{number + 1:02d}_{part.name}"
            slots += [Slot(index, moment, name) for (_late, index), moment in zip(ordered, moments, strict=True)]
    return slots


def _theme(sort: Sort) -> str:
    return next(name for name in (sort.value, sort.outcome, sort.tool) if name in _THEMES)


def _pools(random: Random, sorts: list[Sort]) -> list[list[tuple[float, int]]]:
    """For each part of the day, what happens in it: (how late, index), shuffled."""
    by_theme: dict[str, list[int]] = {}
    for index, sort in enumerate(sorts):
        by_theme.setdefault(_theme(sort), []).append(index)
    pools: list[list[tuple[float, int]]] = [[] for _ in PARTS]
    for theme, indexes in by_theme.items():
        weights, lateness = _THEMES[theme]
        counts = split(len(indexes), {str(number): weight for number, weight in enumerate(weights)})
        shuffled = [index for _, index in sorted((random.random(), index) for index in indexes)]
        for number, count in enumerate(counts.values()):
            pools[number] += [(lateness[number] + _SPREAD * random.random(), index) for index in shuffled[:count]]
            del shuffled[:count]
    return [[item for _, item in sorted((random.random(), item) for item in pool)] for pool in pools]


def _working_days(start: date, count: int) -> list[date]:
    """The start, whatever day it is, and the working days after it."""
    days, day = [start], start
    try:
        while len(days) < count:
            day += timedelta(days=1)
            if day.weekday() < _SATURDAY:
                days.append(day)
    except OverflowError:
        raise InvalidInputError.one("start", start.isoformat(), f"a day with {count} working days after it") from None
    return days


def _moments(random: Random, day: date, part: Part, count: int) -> list[str]:
    """Whole seconds between the session's beginning and end, each later than the one before."""
    begins = datetime.combine(day, part.begins, UTC)
    span_s = int((datetime.combine(day, part.ends, UTC) - begins).total_seconds())
    offsets = sorted(int(random.random() * (span_s - count)) for _ in range(count))
    return [(begins + timedelta(seconds=offset + place)).isoformat() for place, offset in enumerate(offsets)]
