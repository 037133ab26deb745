"""Figures about fixes for people who look after them: per day, per model and issue type, per fixer,
and what becomes more or less frequent. All of it is counted from tallies; nothing here reads a
record.

Applied is what fix history calls `fix_success`; a success is applied and verified. Each has a name
of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Final, Literal

from hardwon import limits
from hardwon.errors import FileOnlyError
from hardwon.lessons.chance import UNLIKELY_BELOW, at_least
from hardwon.lessons.counts import APPLIED, SUCCEEDED
from hardwon.lessons.fix_odds import add_up
from hardwon.lessons.keys import BETWEEN_NAMES
from hardwon.memory.fix_lessons import ISSUE_TYPES_TESTED_MAX
from hardwon.memory.project import Group
from hardwon.outside.locations import DEFAULT_PROJECT
from hardwon.records.fields import check_all, check_limit, check_text, check_whole_number

if TYPE_CHECKING:
    from hardwon.fixes.tables import FixHistory
    from hardwon.memory.fix_lessons import FixReading, Strategy
    from hardwon.store.types import Daily

# Days of a chart or trend of fixes where the caller names none: a month, as fix history always
# showed.
FIX_DAYS: Final = 30

# Models and issue types together, those attempted most, whose fixes are set out against each other:
# two hundred models with ten issue types each. Every one of them gets a probability of its own, in
# a fraction of a millisecond.
FIX_CELLS_MAX: Final = 2_000

# Sums per model, issue type and fixer that such a table is put together from: ten fixers for each
# of its cells.
FIX_PAIRS_MAX: Final = 20_000

# Fixers that are compared, those with the most attempts. Each has an interval, which takes a few
# milliseconds.
FIXERS_SHOWN_MAX: Final = 50

Direction = Literal["rising", "falling", "steady"]
Slot = Literal["hour", "weekday"]

TREND_TEST: Final = (
    "exact binomial test, two-sided, counts divided by their dispersion, Bonferroni-corrected"
)

WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_FIRST_DAY: Final = date(1970, 1, 1).toordinal()
_FIRST_WEEKDAY: Final = 3  # 1 January 1970 was a Thursday
_NOTHING: Final = (0,) * (SUCCEEDED + 1)
_HOURS: Final = 24
TEMPORAL_DAYS_MIN: Final = 5
TEMPORAL_TEST: Final = "exact binomial test, one-sided, Bonferroni-corrected"


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

    @property
    def applied(self) -> int:
        """How many of them were applied."""
        return sum(day.applied for day in self.days)

    @property
    def verified(self) -> int:
        """How many of them were applied and verified."""
        return sum(day.verified for day in self.days)


def outcomes(levels: Sequence[int]) -> tuple[int, int, int]:
    """Attempts, how many of them were applied, and how many were applied and verified."""
    return sum(levels), levels[APPLIED] + levels[SUCCEEDED], levels[SUCCEEDED]


def days_between(counts: Mapping[int, Sequence[int]], first: int, last: int) -> tuple[FixDay, ...]:
    """Every day from the first to the last (days since 1970), those without attempts included."""
    return tuple(
        FixDay(date.fromordinal(_FIRST_DAY + day), *outcomes(counts.get(day, _NOTHING)))
        for day in range(first, last + 1)
    )


def issue_trends(days_of_type: Mapping[str, tuple[FixDay, ...]]) -> list[IssueTrend]:
    """Of issue types over the same days; those that change least by chance first, then the most
    frequent.
    """
    trends: list[IssueTrend] = []
    for name, days in days_of_type.items():
        whole = [day.attempts for day in days[1:-1]]
        half = len(whole) // 2
        before, after = whole[:half], whole[len(whole) - half :]
        p_value = 1.0
        if half >= 2:  # fewer days say nothing about how much days differ
            # How much more the days of a half differ than independent attempts would: Pearson's
            # statistic by its degrees of freedom.
            statistic = 0.0
            for counts in (before, after):
                mean = sum(counts) / half
                statistic += sum((count - mean) ** 2 for count in counts) / mean if mean else 0.0
            dispersion = max(1.0, statistic / (2 * half - 2))
            less, more = sorted(int(sum(counts) / dispersion) for counts in (before, after))
            p_value = min(1.0, 2 * at_least(more, more + less, 0.5) * len(days_of_type))
        changed: Direction = "rising" if sum(after) > sum(before) else "falling"
        direction: Direction = changed if p_value < UNLIKELY_BELOW else "steady"
        attempts, earlier, later = sum(day.attempts for day in days), sum(before), sum(after)
        trends.append(IssueTrend(name, days, attempts, earlier, later, direction, p_value))
    return sorted(trends, key=lambda trend: (trend.p_value, -trend.attempts, trend.issue_type))


@dataclass(frozen=True)
class TemporalPattern:
    """An hour (UTC) or weekday at which an issue type comes up more often than chance explains: on
    `count` distinct days, of `total` days (or hours of days) on which it came up at all, where a
    share of at most `expected_share` was to be expected. `p_value` is by `test`. Many attempts
    within one hour are one occurrence: they are not independent.
    """

    name: str
    kind: Slot
    issue_type: str
    when: str
    count: int
    total: int
    expected_share: float
    p_value: float
    test: str = TEMPORAL_TEST


def temporal_patterns(hours_of_type: Mapping[str, Sequence[Daily]]) -> list[TemporalPattern]:
    """From the counts of every issue type by day, whose items are hours of the day."""
    hours, weekdays = {}, {}
    for name, counts in hours_of_type.items():
        when = {(counted.day, int(counted.item)) for counted in counts}
        hours[name] = Counter(hour for _, hour in when)
        weekdays[name] = Counter((day + _FIRST_WEEKDAY) % 7 for day in {day for day, _ in when})
    comparisons = len(hours_of_type) * (_HOURS + len(WEEKDAYS))
    hour_names = [f"{hour:02}:00 to {hour:02}:59 UTC" for hour in range(_HOURS)]
    patterns = _unlikely("weekday", weekdays, WEEKDAYS, comparisons)
    patterns += _unlikely("hour", hours, hour_names, comparisons)
    return sorted(patterns, key=lambda pattern: (pattern.p_value, pattern.name))


def _unlikely(
    kind: Slot, slots_of: Mapping[str, Counter[int]], names: Sequence[str], comparisons: int
) -> list[TemporalPattern]:
    """More often than the other issue types at that time (nights are quiet for all), and more often
    than if all times were alike (the others may have a time of their own).
    """
    everything = sum(slots_of.values(), Counter[int]())
    patterns = []
    for issue_type, slots in slots_of.items():
        total = slots.total()
        others = everything.total() - total
        for slot, count in slots.items():
            if count < TEMPORAL_DAYS_MIN:
                continue
            expected = max((everything[slot] - count + 1) / (others + len(names)), 1 / len(names))
            p_value = min(1.0, at_least(count, total, expected) * comparisons)
            if p_value < UNLIKELY_BELOW:
                when = f"at {names[slot]}" if kind == "hour" else f"on {names[slot]}s"
                shares = (count, total, expected, p_value)
                pattern = (f"{issue_type} {when}", kind, issue_type, names[slot], *shares)
                patterns.append(TemporalPattern(*pattern))
    return patterns


class Fixes(Group):
    """Figures and reports about attempts to fix something: `memory.fixes`."""

    def temporal_patterns(self) -> list[TemporalPattern]:
        """Hours and weekdays at which an issue type comes up more often than chance explains; the
        least likely first.
        """
        store, project = self._project.store, self._project.name
        types = store.list_frequent(project, "fix.type", ISSUE_TYPES_TESTED_MAX)
        return temporal_patterns({name: store.daily(project, "fix.hour", name) for name in types})

    def strategies(self, issue_type: str, limit: int = 10) -> list[Strategy]:
        """What was done about an `issue_type`, the likeliest to succeed first."""
        known, usual = self._read_knowledge(issue_type, limit)
        return known.strategies("type", issue_type, usual, limit)

    def failed_strategies(self, issue_type: str, limit: int = 10) -> list[Strategy]:
        """What was done about an `issue_type` and failed more often than it succeeded, what failed
        most first.
        """
        known, usual = self._read_knowledge(issue_type, limit)
        return known.failed_strategies(issue_type, usual, limit)

    def _read_knowledge(self, issue_type: str, limit: int) -> tuple[FixReading, float]:
        """What is known, and how likely a fix of this type is to succeed, whatever is done."""
        check_all(lambda: check_text("issue_type", issue_type), limit=limit)
        known = self._project.knowledge
        return known, known.fix_odds(issue_type=issue_type).p_success

    def best_strategies(self, limit: int = 5) -> dict[str, list[Strategy]]:
        """What succeeded, by issue type: the most frequent type first, and of each, up to `limit`,
        the likeliest to succeed again.
        """
        return self._project.knowledge.best_strategies(check_limit(limit))

    def totals(self) -> FixTotals:
        """How many attempts to fix something there were, how they turned out, on how many models
        and issue types.
        """
        store, project = self._project.store, self._project.name
        whole = add_up(self._project.knowledge.read_counts("fix", "").values())
        models, types = (store.distinct_keys(project, scope) for scope in ("fix.model", "fix.type"))
        return FixTotals(whole.attempts, whole.applied, whole.verified, models, types)

    def days(self, days: int = FIX_DAYS) -> list[FixDay]:
        """Attempts per day (UTC): every day from the first with an attempt, among the last `days`
        with today, up to today.
        """
        today = self._project.today
        counts = self._list_days("fix", 1, days, today).get("", {})
        return list(days_between(counts, min(counts), today)) if counts else []

    def trends(self, days: int = FIX_DAYS) -> list[IssueTrend]:
        """Which issue types come up more often, or less often, than at the beginning of the last
        `days`; the surest first.
        """
        today = self._project.today
        by_type = self._list_days("fix.type", ISSUE_TYPES_TESTED_MAX, days, today)
        all_days = self._list_days("fix", 1, days, today).values()
        first = min((min(counts) for counts in all_days), default=today)
        days_of = {name: days_between(counts, first, today) for name, counts in by_type.items()}
        return issue_trends(days_of)

    def _list_days(
        self, scope: str, keys_max: int, days: int, today: int
    ) -> dict[str, dict[int, tuple[int, ...]]]:
        """The counts of each key per day, of so many days up to today; what a wrong clock dated
        later is in none of them.
        """
        check_whole_number("days", days, 1, limits.FIX_DAYS_MAX)
        levels_by_key: dict[str, dict[int, tuple[int, ...]]] = {}
        store, since = self._project.store, today - days + 1
        for key, day, levels in store.day_totals(self._project.name, scope, keys_max, since):
            if day <= today:
                levels_by_key.setdefault(key, {})[day] = levels
        return levels_by_key

    def matrix(self) -> list[FixCell]:
        """Attempts by model and issue type, and how likely the next one is to succeed; the most
        frequent first.
        """
        attempts: Counter[tuple[str, str]] = Counter()
        totals = self._project.store.totals(self._project.name, "fix.model", FIX_PAIRS_MAX)
        for model, item, levels in totals:
            attempts[model, item.partition(BETWEEN_NAMES)[0]] += sum(levels)
        most = sorted(attempts, key=lambda cell: (-attempts[cell], cell))[:FIX_CELLS_MAX]
        known = self._project.knowledge
        odds_of = ((cell, known.fix_odds(model=cell[0], issue_type=cell[1])) for cell in most)
        return [
            FixCell(*cell, odds.attempts, odds.applied, odds.verified, odds.p_success)
            for cell, odds in odds_of
        ]

    def fixers(self) -> list[FixerRecord]:
        """How every fixer did, and how likely its next attempt is to succeed; the busiest first."""
        store, project = self._project.store, self._project.name
        known = self._project.knowledge
        totals = store.totals(project, "fix", FIXERS_SHOWN_MAX)
        odds_of = ((fixer, known.fix_odds(fixer=fixer)) for _, fixer, _ in totals)
        return [
            FixerRecord(fixer, its.attempts, its.applied, its.verified, its.p_success, its.interval)
            for fixer, its in odds_of
        ]

    @property
    def history(self) -> FixHistory:
        """The tables of fix history in this memory's file, to read."""
        if self._project.place.path is None or self._project.name != DEFAULT_PROJECT:
            raise FileOnlyError(
                f"the tables of fix history are of the project {DEFAULT_PROJECT!r} of a memory in "
                "a local file: of a database, hardwon --memory copy.db merge URL makes one; "
                "fixes.totals, patterns and fixes.strategies need no tables"
            )
        from hardwon.fixes.tables import FixHistory

        return FixHistory(self._project.store)
