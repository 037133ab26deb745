"""What fixes teach: which issues come again, when, on which model, and what was done about them with what success."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final, Literal

from hardwon import limits
from hardwon.fields import from_us
from hardwon.learn import beta
from hardwon.learn.confidence import STRATEGY_STRENGTH, Counted, Odds, Share, seed_confidence, shrink
from hardwon.learn.lessons import BETWEEN_NAMES
from hardwon.learn.support import Support
from hardwon.model import Fix

PatternKind = Literal["exact", "model", "type", "hour", "weekday"]

WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_FIRST_WEEKDAY: Final = 3  # 1 January 1970 was a Thursday
_HOURS: Final = 24
TEMPORAL_COUNT_MIN: Final = 5
TEMPORAL_CHANCE_MAX: Final = 0.01
TEMPORAL_TEST: Final = "exact binomial test, one-sided, Bonferroni-corrected"


@dataclass(frozen=True)
class Strategy:
    """One way of fixing something, and how it went. Commands are data: nothing here runs them."""

    id: str
    fix_commands: tuple[str, ...]
    analysis: str
    attempts: int
    applied: int
    verified: int
    p_success: float
    strength: float
    last_used: datetime
    evidence: tuple[str, ...]

    @cached_property
    def interval(self) -> tuple[float, float]:
        """Where the true rate lies with 90 % probability."""
        return beta.interval(self.p_success * self.strength, (1 - self.p_success) * self.strength)


@dataclass(frozen=True)
class RankedStrategy:
    """A strategy before its texts are looked up."""

    support: Support
    share: Share
    p_success: float


def rank_strategies(supports: Iterable[Support], usual_p: float, today: int) -> list[RankedStrategy]:
    """The likeliest to succeed first, then the newest. `usual_p` is what can be expected without knowing the strategy."""
    ranked = []
    for support in supports:
        share = Share.of(support.tallies, today)
        ranked.append(RankedStrategy(support, share, shrink(share, usual_p, STRATEGY_STRENGTH)))
    return sorted(ranked, key=lambda each: (-each.p_success, -each.support.last_us, each.support.item))


def strategy_from(ranked: RankedStrategy, fix: Fix) -> Strategy:
    """`fix` is the newest that used it: its words are shown."""
    share = ranked.share
    return Strategy(
        id=ranked.support.item,
        fix_commands=tuple(fix.fix_commands),
        analysis=fix.analysis,
        attempts=share.attempts,
        applied=share.applied,
        verified=share.verified,
        p_success=ranked.p_success,
        strength=share.weight + STRATEGY_STRENGTH,
        last_used=from_us(ranked.support.last_us),
        evidence=tuple(ranked.support.evidence),
    )


@dataclass(frozen=True)
class Pattern:
    """An issue that came up: `exact` (the same signature), `model` (a model and issue type) or `type` (an issue type on any
    model). A success is applied and verified. `best_fix` is the strategy most likely to succeed among those that ever did."""

    name: str
    kind: PatternKind
    issue_type: str
    model: str | None
    signature: str
    success_count: int
    failure_count: int
    applied_count: int
    p_success: float
    interval: tuple[float, float]
    last_seen: datetime
    best_fix: Strategy | None

    @property
    def confidence(self) -> float:
        """`min(1, attempts / 10)`, as fix history defines it."""
        return seed_confidence(self.success_count + self.failure_count)


def pattern_name(kind: PatternKind, issue_type: str, model: str | None, signature: str) -> str:
    where = f" on {model}" if model else ""
    return f"{issue_type}{where} [{signature}]" if kind == "exact" else f"{issue_type}{where or ' on any model'}"


# --- when -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TemporalPattern:
    """An hour (UTC) or weekday at which an issue type comes up more often than chance explains: `count` of its `attempts`,
    where a share of at most `expected_share` was to be expected. `p_value` is by `test`."""

    name: str
    kind: PatternKind
    issue_type: str
    when: str
    count: int
    attempts: int
    expected_share: float
    p_value: float
    test: str = TEMPORAL_TEST


def temporal_patterns(
    by_type: Mapping[str, Sequence[Counted]], hours_of_type: Mapping[str, Sequence[Counted]]
) -> list[TemporalPattern]:
    """`by_type` has the daily counts of every issue type, `hours_of_type` those by hour of the day."""
    weekdays = {
        name: _slots(7, (((counted.day + _FIRST_WEEKDAY) % 7, sum(counted.levels)) for counted in counts))
        for name, counts in by_type.items()
    }
    hours = {
        name: _slots(_HOURS, ((int(counted.item), sum(counted.levels)) for counted in counts))
        for name, counts in hours_of_type.items()
    }
    found = [
        *_unlikely("weekday", weekdays, WEEKDAYS),
        *_unlikely("hour", hours, [f"{hour:02}:00 to {hour:02}:59 UTC" for hour in range(_HOURS)]),
    ]
    return sorted(found, key=lambda pattern: (pattern.p_value, pattern.name))


def _slots(size: int, counts: Iterable[tuple[int, int]]) -> list[int]:
    slots = [0] * size
    for slot, count in counts:
        slots[slot] += count
    return slots


def _unlikely(
    kind: Literal["hour", "weekday"], slots_of: Mapping[str, list[int]], names: Sequence[str]
) -> list[TemporalPattern]:
    """More often than the other issue types at that time (nights are quiet for all), and more often than if all times were
    alike (the others may have a time of their own)."""
    comparisons = len(slots_of) * len(names)
    everything = [sum(slots) for slots in zip(*slots_of.values(), strict=True)]
    found = []
    for issue_type, slots in slots_of.items():
        attempts = sum(slots)
        others = sum(everything) - attempts
        for slot, count in enumerate(slots):
            if count < TEMPORAL_COUNT_MIN:
                continue
            expected = max((everything[slot] - count + 1) / (others + len(names)), 1 / len(names))
            p_value = min(1.0, beta.at_least(count, attempts, expected) * comparisons)
            if p_value < TEMPORAL_CHANCE_MAX:
                name = f"{issue_type} at {names[slot]}" if kind == "hour" else f"{issue_type} on {names[slot]}s"
                found.append(TemporalPattern(name, kind, issue_type, names[slot], count, attempts, expected, p_value))
    return found


# --- models -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModelInsights:
    """What is known of a model. `success_rate` is the plain share of attempts that were applied and verified; `odds` has
    the probability of the next one. `common_issues` and `effective_fixes` are the most frequent, and the likeliest to work,
    first."""

    model_name: str
    total_tests: int
    success_rate: float
    odds: Odds
    common_issues: tuple[tuple[str, int], ...]
    effective_fixes: tuple[Strategy, ...]
    performance_notes: tuple[str, ...]
    last_updated: datetime | None


def common_issues(counts: Iterable[Counted]) -> list[tuple[str, int]]:
    """Issue types by how often they came up; an item is a type and a fixer."""
    totals: dict[str, int] = {}
    for counted in counts:
        issue_type = counted.item.partition(BETWEEN_NAMES)[0]
        totals[issue_type] = totals.get(issue_type, 0) + sum(counted.levels)
    return sorted(totals.items(), key=lambda pair: (-pair[1], pair[0]))


def performance_notes(model: str, counts: Sequence[Counted], everywhere: Mapping[str, Share], today: int) -> list[str]:
    """Which of these issue types go clearly better or worse on this model than elsewhere."""
    notes = []
    for issue_type, whole in everywhere.items():
        mine = (counted for counted in counts if counted.item.partition(BETWEEN_NAMES)[0] == issue_type)
        here = Share.of(mine, today)
        others, others_verified = whole.attempts - here.attempts, whole.verified - here.verified
        if here.attempts < TEMPORAL_COUNT_MIN or others < TEMPORAL_COUNT_MIN:
            continue
        usual = (others_verified + 1) / (others + 2)
        better = beta.at_least(here.verified, here.attempts, usual)
        worse = beta.at_least(here.attempts - here.verified, here.attempts, 1 - usual)
        if min(better, worse) < TEMPORAL_CHANCE_MAX:
            word = "better" if better < worse else "worse"
            notes.append(
                f"{issue_type} is fixed {word} on {model} than on other models: {here.verified} of {here.attempts} attempts "
                f"against {others_verified} of {others}"
            )
    return notes[: limits.EVIDENCE_SHOWN_MAX]


# --- diagnoses and solutions ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Solution:
    """An action that was taken after an error, across trajectories: how often, and how often it helped."""

    diagnosis: str
    failure_hash: str
    action: str
    tried: int
    helped: int
    p_helped: float
    last_tried: datetime
    evidence: tuple[str, ...]
