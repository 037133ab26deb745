"""Charts that the server draws: what is read off them as HTML, what lies between as SVG. Places are
per cent of the room that there is, so that a chart fits any screen. Colours are the names of the
style sheet's variables, so that it follows the theme. None of it needs a script, and every name
stands in a template, which escapes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Final, NamedTuple

_TICKS: Final = 5
_DAYS_PER_YEAR: Final = 365
# Where shares from 0 to 1 lie: a line along an edge would be cut in half.
_LOWEST, _HIGHEST = -0.02, 1.03


class Line(NamedTuple):
    """Shares on some days, with what is told of each. `band`: from where to where each may lie."""

    name: str
    colour: str
    points: Sequence[tuple[date, float, str]]
    band: Sequence[tuple[float, float]] = ()


class Drawing(NamedTuple):
    """A line as it is drawn: its points with what is told of them, and the SVG of it and its band."""

    name: str
    colour: str
    dots: list[tuple[float, float, str]]
    path: str
    band: str


@dataclass(frozen=True)
class Plot:
    """Lines over the days that they have."""

    lines: Sequence[Line]
    height_px: int = 320

    @property
    def days(self) -> list[int]:
        """As numbers, in order."""
        return sorted({day.toordinal() for line in self.lines for day, _, _ in line.points})

    def _place_day(self, day: int) -> float:
        """From the left, with room for half a day at the ends."""
        days = self.days
        room = min((after - before for before, after in pairwise(days)), default=1) / 2
        return round(100 * (day - days[0] + room) / (days[-1] - days[0] + 2 * room), 2)

    def _place_share(self, share: float) -> float:
        """From above."""
        return round(100 * (_HIGHEST - share) / (_HIGHEST - _LOWEST), 2)

    @property
    def x_marks(self) -> list[tuple[float, str]]:
        """The days that are named, and where."""
        first, last = self.days[0], self.days[-1]
        form = "%b %Y" if last - first > _DAYS_PER_YEAR else "%b %-d"
        named = range(first, last + 1, -(-(last - first + 1) // _TICKS))
        return [(self._place_day(day), f"{date.fromordinal(day):{form}}") for day in named]

    @property
    def y_marks(self) -> list[tuple[float, str]]:
        """The shares that are named, and where."""
        return [(self._place_share(part / 4), f"{25 * part} %") for part in range(5)]

    def draw(self) -> Iterator[Drawing]:
        """Every line, as the template writes it."""
        for line in self.lines:
            dots = [
                (self._place_day(day.toordinal()), self._place_share(share), words)
                for day, share, words in line.points
            ]
            band = [
                (dot[0], self._place_share(low), self._place_share(high))
                for dot, (low, high) in zip(dots, line.band, strict=False)  # or there is no band
            ]
            edges = [(x, low) for x, low, _ in band] + [(x, high) for x, _, high in band[::-1]]
            path, around = (" ".join(f"{x:g},{y:g}" for x, y, *_ in some) for some in (dots, edges))
            yield Drawing(line.name, line.colour, dots, path, around)
