"""How tasks went, and whether the memory helps: scores of attempts that had it against scores of
attempts that had not. Tasks differ in how hard they are, so the difference is taken within each task
and the tasks are averaged, each weighing as much as its episodes can tell: Welch's interval.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import chain
from statistics import fmean
from typing import Any, Final, Literal, NamedTuple

from hardwon.lessons.chance import quantile
from hardwon.records.fields import Tabular
from hardwon.records.kinds import Episode

# The newest scores of a task that its history lists, and its trend is computed from.
_SCORES_SHOWN_MAX: Final = 100

# Tasks whose curves one comparison shows, those with the most episodes.
_TASKS_SHOWN_MAX: Final = 50

# Scores of a task, with the memory and without, in one answer, the newest: as many points as a plot
# has pixels.
CURVE_SCORES_MAX: Final = 1_000

_SURE: Final = 0.95
_NORMAL: Final = 1.959963984540054  # what Student's distribution comes to
_DEGREES_MAX: Final = 1e6
# Of dealing the scores out to both sides: each of fewer comes about by chance more than once in 20,
# two-sided.
_WAYS_MIN: Final = 40


@dataclass(frozen=True)
class ScoreHistory(Tabular):
    """How a task went. `trend` is how much better the newer half of `recent` (oldest first) is than
    the older half; `direction` says `flat` where the scores' own noise explains it.
    """

    task_id: str
    episodes: int
    mean: float | None
    best: float | None
    trend: float
    direction: Literal["rising", "falling", "flat"]
    recent: tuple[float, ...]


@dataclass(frozen=True)
class TaskScores(Tabular):
    """How a task went, as far as counts tell: `change` is how much better its episodes of the later
    days were than those of the earlier ones, both halves of the days with an episode; None where
    there is only one such day.
    """

    task_id: str
    episodes: int
    mean: float
    best: float
    change: float | None
    first_seen: date
    last_seen: datetime


def add_up_task(task_id: str, count: int, episodes: Sequence[Episode]) -> TaskScores:
    """How a task went that so many episodes were at, by the newest of them, oldest first."""
    by_day: dict[date, list[float]] = defaultdict(list)
    for episode in episodes:
        by_day[episode.metadata.context.timestamp.date()].append(episode.score)
    half, days = len(by_day) // 2, list(by_day.values())
    change = fmean(chain(*days[-half:])) - fmean(chain(*days[:half])) if half else None
    scores = list(chain(*days))
    last = episodes[-1].metadata.context.timestamp
    return TaskScores(task_id, count, fmean(scores), max(scores), change, min(by_day), last)


def make_history(task_id: str, count: int, episodes: Sequence[Episode]) -> ScoreHistory:
    """The same, with the last scores and their trend."""
    scores = [episode.score for episode in episodes]
    recent = scores[-_SCORES_SHOWN_MAX:]
    half = len(recent) // 2
    trend = noise = 0.0
    if half > 1:  # two scores make the smallest half that has a spread
        older, newer = recent[:half], recent[-half:]
        trend = fmean(newer) - fmean(older)
        noise = math.sqrt((_spread(older) + _spread(newer)) / half)  # its standard error
    direction: Literal["rising", "falling", "flat"] = "flat"
    if abs(trend) > 2 * noise:
        direction = "rising" if trend > 0 else "falling"
    mean, best = (fmean(scores), max(scores)) if scores else (None, None)
    return ScoreHistory(task_id, count, mean, best, trend, direction, tuple(recent))


class Scored(NamedTuple):
    """One episode as it is compared: whether it had the memory, and the run it belongs to (empty:
    none).
    """

    task_id: str
    score: float
    on: bool
    run: str = ""


class Arm(NamedTuple):
    """One side of a comparison: how many episodes, and their mean score (None: there are none)."""

    episodes: int
    mean: float | None

    def __str__(self) -> str:
        if self.mean is None:
            return "no episodes"
        return f"mean {self.mean:.3f} of {self.episodes} episode{'s' if self.episodes > 1 else ''}"


class Curve(NamedTuple):
    """The scores of a task in the order of time: with the memory, and without."""

    on: tuple[float, ...]
    off: tuple[float, ...]


@dataclass(frozen=True)
class Comparison(Tabular):
    """Episodes that had the memory (`on`) against those that had not (`off`). `difference` is how
    much better a task went with it, and lies in `interval` with 95 % confidence; None where no task
    has two scores on either side. It need not be the difference of the two means: those also tell
    which side had the easier tasks. `curves` has the newest scores of each task.
    """

    on: Arm
    off: Arm
    difference: float | None
    interval: tuple[float, float] | None
    curves: Mapping[str, Curve] = field(default_factory=dict)

    @property
    def helps(self) -> bool:
        """Whether attempts with the memory went better, beyond what chance explains."""
        return self.interval is not None and self.interval[0] > 0

    def as_row(self) -> dict[str, Any]:
        """For a line of a data frame."""
        low, high = self.interval or (None, None)
        arms = {"with_memory": str(self.on), "without": str(self.off)}
        return {**arms, "difference": self.difference, "low": low, "high": high}

    def __repr__(self) -> str:
        return f"<Comparison {self}>"

    def __str__(self) -> str:
        arms = f"with memory: {self.on}; without memory: {self.off}"
        if self.difference is None or self.interval is None:
            return f"{arms}; too few to compare"
        low, high = self.interval
        return f"{arms}; difference {self.difference:+.3f}, 95 % interval {low:+.3f} to {high:+.3f}"


def compare(scored: Sequence[Scored], *, by_run: bool = False) -> Comparison:
    """From scores in the order of time. `by_run`: a run counts as one observation, its mean."""
    curves = observed = _group_by_task(scored)
    if by_run:
        runs: dict[tuple[str, bool, str], list[float]] = {}
        for number, episode in enumerate(scored):
            # no run's name has a \n
            run = (episode.task_id, episode.on, episode.run or f"\n{number}")
            runs.setdefault(run, []).append(episode.score)
        observed = _group_by_task(
            Scored(task, fmean(scores), on) for (task, on, _), scores in runs.items()
        )
    gained, interval = find_difference(observed[task] for task in sorted(observed)) or (None, None)
    most = sorted(curves, key=lambda task: (-sum(map(len, curves[task])), task))
    newest = slice(-CURVE_SCORES_MAX, None)
    return Comparison(
        _make_arm(episode.score for episode in scored if episode.on),
        _make_arm(episode.score for episode in scored if not episode.on),
        gained,
        interval,
        {
            task: Curve(*(tuple(scores[newest]) for scores in curves[task]))
            for task in most[:_TASKS_SHOWN_MAX]
        },
    )


def _make_arm(scores: Iterable[float]) -> Arm:
    listed = list(scores)
    return Arm(len(listed), fmean(listed) if listed else None)


def _group_by_task(scored: Iterable[Scored]) -> dict[str, tuple[list[float], list[float]]]:
    """The scores of each task with the memory, and without."""
    tasks: dict[str, tuple[list[float], list[float]]] = {}
    for episode in scored:
        tasks.setdefault(episode.task_id, ([], []))[not episode.on].append(episode.score)
    return tasks


def find_difference(
    tasks: Iterable[tuple[Sequence[float], Sequence[float]]],
) -> tuple[float, tuple[float, float]] | None:
    """How much higher the first scores of each pair are than the second, on average over the tasks,
    and the interval around it. Tasks without two scores on both sides tell nothing about the noise,
    and are left out; None where there are no others.

    The spread of a few scores says little of the noise: where chance alone deals out any split of
    them too often, the interval is no narrower than what holds for whatever scores from 0 to 1; and
    where all are alike, no narrower than outcomes allow that so many attempts may well not have
    met.
    """
    pairs = [(one, other) for one, other in tasks if len(one) > 1 and len(other) > 1]
    if not pairs:
        return None
    weights = [len(one) * len(other) / (len(one) + len(other)) for one, other in pairs]
    total = math.fsum(weights)
    gained, noise, degrees, fewness, unseen, ways = 0.0, 0.0, 0.0, 0.0, 0.0, 1
    for (one, other), weight in zip(pairs, weights, strict=True):
        share = weight / total
        gained += share * (fmean(one) - fmean(other))
        spreads = _spread(one), _spread(other)
        for scores, spread in zip((one, other), spreads, strict=True):
            # a side that is all alike is not beyond all noise
            part = share * share * (spread or max(spreads)) / len(scores)
            noise += part
            degrees += part * part / (len(scores) - 1)
            fewness += share * share / len(scores)
            unseen += share * (1 - (1 - _SURE) ** (1 / len(scores)))
        ways *= math.comb(len(one) + len(other), len(one)) if ways < _WAYS_MIN else 1
    # Hoeffding: all that is known is that scores are from 0 to 1
    bounded = math.sqrt(math.log(2 / (1 - _SURE)) / 2 * fewness)
    reach = min(unseen, bounded)
    if noise > 0 and degrees > 0:  # else all alike, or so nearly that no number tells them apart
        reach = student(noise * noise / degrees) * math.sqrt(noise)
    if ways < _WAYS_MIN:
        reach = max(reach, bounded)
    return gained, (max(gained - reach, -1.0), min(gained + reach, 1.0))


def student(degrees: float) -> float:
    """How many standard errors around a mean hold the truth with 95 % confidence (Student's
    distribution, two-sided).
    """
    if degrees > _DEGREES_MAX:
        return _NORMAL
    x = quantile(degrees / 2, 0.5, 1 - _SURE)
    return math.sqrt(degrees * (1 - x) / x)


def _spread(scores: Sequence[float]) -> float:
    mean = fmean(scores)
    return math.fsum((score - mean) ** 2 for score in scores) / (len(scores) - 1)
