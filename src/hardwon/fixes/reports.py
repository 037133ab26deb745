"""Figures about fixes for people who look after them: per day, per model and issue type, per fixer,
and what becomes more or less frequent. All of it is counted from tallies; nothing here reads a
record.

Applied is what fix history calls `fix_success`; a success is applied and verified. Each has a name
of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final, Literal

from hardwon.learn import odds
from hardwon.learn.tallies import APPLIED, SUCCEEDED

Direction = Literal["rising", "falling", "steady"]

TREND_TEST: Final = (
    "exact binomial test, two-sided, counts divided by their dispersion, Bonferroni-corrected"
)
_HALF_DAYS_MIN: Final = 2  # fewer days say nothing about how much days differ
_FIRST_DAY: Final = date(1970, 1, 1)


@dataclass(frozen=True)
class FixTotals:
    """All attempts, and on how many models and issue types they were."""

    attempts: int
    applied: int
    verified: int
    models: int
    issue_types: int


@dataclass(frozen=True)
class FixDay:
    """The attempts of one day (UTC)."""

    day: date
    attempts: int
    applied: int
    verified: int

    @property
    def applied_rate(self) -> float:
        """The share that was applied; 0 on a day without attempts."""
        return self.applied / self.attempts if self.attempts else 0.0

    @property
    def success_rate(self) -> float:
        """The share that was applied and verified; 0 on a day without attempts."""
        return self.verified / self.attempts if self.attempts else 0.0


@dataclass(frozen=True)
class FixCell:
    """Attempts at one issue type on one model; `p_success` is the probability that the next one
    succeeds.
    """

    model: str
    issue_type: str
    attempts: int
    applied: int
    verified: int
    p_success: float


@dataclass(frozen=True)
class IssueTypeRecord:
    """How attempts at one issue type turned out."""

    issue_type: str
    attempts: int
    applied: int
    verified: int


@dataclass(frozen=True)
class FixerRecord:
    """How a fixer did; `p_success` is the probability that its next attempt succeeds, with its 90 %
    interval.
    """

    fixer: str
    attempts: int
    applied: int
    verified: int
    p_success: float
    interval: tuple[float, float]


@dataclass(frozen=True)
class IssueTrend:
    """How often an issue type was attempted, day by day, and whether that changes: `later` is the
    second half of the days, `earlier` the first. The first and the last day, which may both be cut
    off, are in neither, nor is the middle one of an odd number. `rising` or `falling` where
    `p_value`, by `test`, says that chance hardly explains the difference. Attempts come in bursts,
    so they count for less where days differ more than chance lets them.
    """

    issue_type: str
    days: tuple[FixDay, ...]
    attempts: int
    earlier: int
    later: int
    direction: Direction
    p_value: float
    test: str = TREND_TEST


def outcomes(levels: Sequence[int]) -> tuple[int, int, int]:
    """Attempts, how many of them were applied, and how many were applied and verified."""
    return sum(levels), levels[APPLIED] + levels[SUCCEEDED], levels[SUCCEEDED]


def days_between(counts: Mapping[int, Sequence[int]], first: int, last: int) -> tuple[FixDay, ...]:
    """Every day from the first to the last (days since 1970), those without attempts included."""
    return tuple(
        FixDay(
            _FIRST_DAY + timedelta(days=day),
            *(outcomes(counts[day]) if day in counts else (0, 0, 0)),
        )
        for day in range(first, last + 1)
    )


def issue_trends(days_of_type: Mapping[str, tuple[FixDay, ...]]) -> list[IssueTrend]:
    """Of issue types over the same days; those that change least by chance first, then the most
    frequent.
    """
    found: list[IssueTrend] = []
    for name, days in days_of_type.items():
        whole = [day.attempts for day in days[1:-1]]
        half = len(whole) // 2
        before, after = whole[:half], whole[len(whole) - half :]
        p_value = min(1.0, _by_chance(before, after) * len(days_of_type))
        changed: Direction = "rising" if sum(after) > sum(before) else "falling"
        direction: Direction = changed if p_value < odds.UNLIKELY_BELOW else "steady"
        attempts = sum(day.attempts for day in days)
        found.append(IssueTrend(name, days, attempts, sum(before), sum(after), direction, p_value))
    return sorted(found, key=lambda trend: (trend.p_value, -trend.attempts, trend.issue_type))


def _by_chance(before: Sequence[int], after: Sequence[int]) -> float:
    """How likely a difference as large as this is, in either direction, if both halves are
    alike.
    """
    if len(before) < _HALF_DAYS_MIN:
        return 1.0
    # How much more the days of a half differ than independent attempts would: Pearson's statistic
    # by its degrees of freedom.
    statistic, freedom = 0.0, 0
    for counts in (before, after):
        mean = sum(counts) / len(counts)
        freedom += len(counts) - 1
        statistic += sum((count - mean) ** 2 for count in counts) / mean if mean else 0.0
    dispersion = max(1.0, statistic / freedom)
    more, less = (
        int(count / dispersion) for count in sorted((sum(before), sum(after)), reverse=True)
    )
    return min(1.0, 2 * odds.at_least(more, more + less, 0.5))
