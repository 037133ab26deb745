"""Whether the memory helps: scores of attempts that had it against scores of attempts that had not.

Tasks differ in how hard they are, so the difference is taken within each task and the tasks are
averaged, each weighing as much as its episodes can tell. With a single task that is Welch's
interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.learn import odds as beta

_SURE: Final = 0.95
_NORMAL: Final = 1.959963984540054  # what Student's distribution comes to
_DEGREES_MAX: Final = 1e6
# Of dealing the scores out to both sides: each of fewer comes about by chance more than once in 20,
# two-sided.
_WAYS_MIN: Final = 40


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
class Comparison:
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

    def __str__(self) -> str:
        arms = [f"{name} memory: {arm}" for name, arm in (("with", self.on), ("without", self.off))]
        if self.difference is None or self.interval is None:
            return "; ".join([*arms, "too few to compare"])
        low, high = self.interval
        return "; ".join(
            [*arms, f"difference {self.difference:+.3f}, 95 % interval {low:+.3f} to {high:+.3f}"]
        )


def compare(scored: Sequence[Scored], *, by_run: bool = False) -> Comparison:
    """From scores in the order of time. `by_run`: a run counts as one observation, its mean."""
    curves = observed = _by_task(scored)
    if by_run:
        runs: dict[tuple[str, bool, str], list[float]] = {}
        for number, each in enumerate(scored):
            # no run's name has a \n
            runs.setdefault((each.task_id, each.on, each.run or f"\n{number}"), []).append(
                each.score
            )
        observed = _by_task(
            Scored(task, _mean(scores), on, run) for (task, on, run), scores in runs.items()
        )
    gained, interval = difference(observed[task] for task in sorted(observed)) or (None, None)
    most = sorted(curves, key=lambda task: (-len(curves[task][0]) - len(curves[task][1]), task))[
        : limits.TASKS_CONSIDERED_MAX
    ]
    newest = limits.CURVE_SCORES_MAX
    return Comparison(
        _arm(each.score for each in scored if each.on),
        _arm(each.score for each in scored if not each.on),
        gained,
        interval,
        {
            task: Curve(tuple(curves[task][0][-newest:]), tuple(curves[task][1][-newest:]))
            for task in most
        },
    )


def _arm(scores: Iterable[float]) -> Arm:
    listed = list(scores)
    return Arm(len(listed), _mean(listed) if listed else None)


def _by_task(scored: Iterable[Scored]) -> dict[str, tuple[list[float], list[float]]]:
    """The scores of each task with the memory, and without."""
    tasks: dict[str, tuple[list[float], list[float]]] = {}
    for each in scored:
        tasks.setdefault(each.task_id, ([], []))[not each.on].append(each.score)
    return tasks


def difference(
    tasks: Iterable[tuple[Sequence[float], Sequence[float]]],
) -> tuple[float, tuple[float, float]] | None:
    """How much higher the first scores of each pair are than the second, on average over the tasks,
    and the interval around it. Tasks without two scores on both sides tell nothing about the noise,
    and are left out.

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
    gained, variance, degrees, fewness, unseen, ways = 0.0, 0.0, 0.0, 0.0, 0.0, 1
    for (one, other), weight in zip(pairs, weights, strict=True):
        share = weight / total
        gained += share * (_mean(one) - _mean(other))
        spreads = _spread(one), _spread(other)
        for scores, spread in zip((one, other), spreads, strict=True):
            # a side that is all alike is not beyond all noise
            part = share * share * (spread or max(spreads)) / len(scores)
            variance += part
            degrees += part * part / (len(scores) - 1)
            fewness += share * share / len(scores)
            unseen += share * (1 - (1 - _SURE) ** (1 / len(scores)))
        ways *= math.comb(len(one) + len(other), len(one)) if ways < _WAYS_MIN else 1
    # Hoeffding: all that is known is that scores are from 0 to 1
    bounded = math.sqrt(math.log(2 / (1 - _SURE)) / 2 * fewness)
    if variance <= 0 or degrees <= 0:  # all alike, or so nearly that no number tells them apart
        reach = min(unseen, bounded)
    else:
        reach = student(variance * variance / degrees) * math.sqrt(variance)
    if ways < _WAYS_MIN:
        reach = max(reach, bounded)
    return gained, (max(gained - reach, -1.0), min(gained + reach, 1.0))


def student(degrees: float) -> float:
    """How many standard errors around a mean hold the truth with 95 % confidence (Student's
    distribution, two-sided).
    """
    if degrees > _DEGREES_MAX:
        return _NORMAL
    x = beta.quantile(degrees / 2, 0.5, 1 - _SURE)
    return math.sqrt(degrees * (1 - x) / x)


def _mean(scores: Sequence[float]) -> float:
    return math.fsum(scores) / len(scores)


def _spread(scores: Sequence[float]) -> float:
    mean = _mean(scores)
    return math.fsum((score - mean) ** 2 for score in scores) / (len(scores) - 1)
