"""Charts that the server draws: what is read off them as HTML, what lies between as SVG. Places are
per cent of the room that there is, so that a chart fits any screen. Colours are the names of the
style sheet's variables, so that it follows the theme. None of it needs a script, and every name
stands in a template, which escapes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import pairwise
from typing import Any, Final, Literal, NamedTuple

# Points of one chart: more than a screen has columns.
WEB_CHART_POINTS_MAX: Final = 1_000

Shape = Literal["line", "bars", "area"]
GOOD, BAD, INFO, ACCENT, QUIET = "good", "bad", "info", "accent", "quiet"
_TICKS: Final = 5
_BAR: Final = 0.8  # of the room that a bar has
_ALONE: Final = 20  # per cent, the room of a bar that is the only one
_DAYS_PER_YEAR: Final = 365
# Per cent of a colour at most: pale enough for the numbers in it, in either theme.
_HEAT: Final = 38


class Axis(NamedTuple):
    """From where to where it goes, and which places on it are named."""

    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    title: str = ""

    def place(self, value: float) -> float:
        """In per cent of its length."""
        return round(100 * (value - self.low) / (self.high - self.low), 2)

    @property
    def marks(self) -> list[tuple[float, str]]:
        return [(self.place(value), text) for value, text in self.ticks]


SHARES: Final = Axis(-0.02, 1.03, [(part / 4, f"{25 * part} %") for part in range(5)])


def counts_axis(low: int, high: int, title: str) -> Axis:
    """Whole numbers, with round ones named."""
    step = max(1, _round_up((high - low) / _TICKS))
    first = -(-low // step) * step
    room = 0.04 * max(1, high - low)
    ticks = [(value, f"{value:,}") for value in range(first, high + 1, step)]
    return Axis(low - (room if low else 0), max(high, low + 1) + room, ticks, title)


def _round_up(value: float) -> int:
    if value <= 1:
        return 1
    size: int = 10 ** math.floor(math.log10(value))
    return next(part * size for part in (1, 2, 5, 10) if part * size >= value)


def days_axis(days: Sequence[date]) -> Axis:
    """With room at its ends for half a bar. Days are told as numbers, by `day_number`."""
    if not days:
        return Axis(0, 1, [])
    numbers = sorted({day.toordinal() for day in days})
    first, last = numbers[0], numbers[-1]
    room = min((after - before for before, after in pairwise(numbers)), default=1) / 2
    step = -(-(last - first + 1) // _TICKS)
    form = "%b %Y" if last - first > _DAYS_PER_YEAR else "%b %-d"
    ticks = [(day, f"{date.fromordinal(day):{form}}") for day in range(first, last + 1, step)]
    return Axis(first - room, last + room, ticks)


def day_number(at: date | datetime) -> float:
    """Where a day, or a time, is on an axis of days."""
    whole = float(at.toordinal())
    if not isinstance(at, datetime):
        return whole
    return whole - 0.5 + (at.hour + at.minute / 60) / 24


@dataclass(frozen=True)
class Series:
    """`points`: where they are, and what is told of each. An area has two of each place: its lower
    edge, then its upper edge.
    """

    name: str
    colour: str
    points: Sequence[tuple[float, float, str]]
    shape: Shape = "line"


@dataclass(frozen=True)
class Plot:
    """Series over an axis of times or numbers."""

    series: Sequence[Series]
    x: Axis
    y: Axis
    legend: bool = True
    height_px: int = 320
    sort: str = "plot"

    def _place_points(self, series: Series) -> list[tuple[float, float, str]]:
        """From the left and from above, the newest."""
        newest = series.points[-WEB_CHART_POINTS_MAX:]
        return [(self.x.place(x), 100 - self.y.place(y), words) for x, y, words in newest]

    def lines(self) -> Iterator[tuple[Series, str]]:
        """Those that are drawn as a line, or as what lies between two, with the SVG of it."""
        for series in self.series:
            placed = [f"{x:g},{y:g}" for x, y, _ in self._place_points(series)]
            if series.shape == "area":
                placed = placed[: len(placed) // 2] + placed[len(placed) // 2 :][::-1]
            if series.shape in ("line", "area"):
                yield series, " ".join(placed)

    @property
    def names(self) -> list[tuple[str, str, Shape]]:
        return [(series.name, series.colour, series.shape) for series in self.series]

    def bars(self) -> Iterator[tuple[Series, list[tuple[float, float, float, float, str]]]]:
        """Each with its place, its width and height, and what is told of it."""
        zero = 100 - self.y.place(0)
        for series in (one for one in self.series if one.shape == "bars"):
            placed = self._place_points(series)
            steps = (after[0] - before[0] for before, after in pairwise(placed))
            width = round(_BAR * min(steps, default=_ALONE), 2)
            yield (
                series,
                [
                    (round(x - width / 2, 2), y, width, round(zero - y, 2), words)
                    for x, y, words in placed
                ],
            )

    def dots(self) -> Iterator[tuple[Series, list[tuple[float, float, str]]]]:
        """Of each line, where its points are."""
        for series in self.series:
            if series.shape == "line":
                yield series, self._place_points(series)


class Cell(NamedTuple):
    """A share as a colour, a number in it, where it leads to, and what is told of it."""

    share: float
    text: str
    url: str
    words: str

    @property
    def ground(self) -> str:
        """From bad to good, with what is plain in the middle."""
        colour = GOOD if self.share >= 0.5 else BAD
        return f"color-mix(in srgb, var(--{colour}) {_HEAT * abs(2 * self.share - 1):.0f}%, var(--plain-ground))"


@dataclass(frozen=True)
class Heat:
    """Shares of rows by columns; None where there is nothing."""

    rows: Sequence[str]
    columns: Sequence[str]
    cells: list[list[Cell | None]] = field(default_factory=list)
    sort: str = "heat"


def heat(
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[Sequence[Any]],
    show: Callable[[Any], Cell],
) -> Heat:
    """A chart of these cells, each as `show` has it."""
    return Heat(rows, columns, [[show(cell) if cell else None for cell in row] for row in cells])
