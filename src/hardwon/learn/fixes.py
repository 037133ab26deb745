"""What fixes teach: which issues come again, when, on which model, and what was done about them
with what success; which ways of fixing an issue are worth another try, and which are not.

A strategy may have been tried for this very issue (the same signature), for its type on the same
model, and for its type on any model. The probability that it works now goes from the general to the
specific, as everywhere else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any, Final, Literal, NamedTuple

from hardwon import limits
from hardwon.learn.odds import (
    FIRST_GUESS,
    STRATEGY_STRENGTH,
    HasLevels,
    Odds,
    Rated,
    Share,
    seed_confidence,
    shrink,
    usual_share,
)
from hardwon.lessons.chance import UNLIKELY_BELOW, at_least
from hardwon.lessons.counts import HELPED, Tally
from hardwon.lessons.evidence import Evidence
from hardwon.records.fields import Tabular, from_us
from hardwon.records.kinds import Cleaned, Fix

PatternKind = Literal["exact", "model", "type", "hour", "weekday"]

WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_FIRST_WEEKDAY: Final = 3  # 1 January 1970 was a Thursday
_HOURS: Final = 24
TEMPORAL_DAYS_MIN: Final = 5
NOTED_ATTEMPTS_MIN: Final = 5
TEMPORAL_TEST: Final = "exact binomial test, one-sided, Bonferroni-corrected"


@dataclass(frozen=True)
class Strategy(Rated):
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
    sources: tuple[str, ...] = ()
    vouched: int = 0


@dataclass(frozen=True)
class RankedStrategy:
    """A strategy before its texts are looked up."""

    support: Evidence
    share: Share
    p_success: float


def rank_strategies(
    supports: Iterable[Evidence], shares: Mapping[str, Share], usual_p: float
) -> list[RankedStrategy]:
    """What somebody vouches for first, then the likeliest to succeed, then the newest. `usual_p` is
    what can be expected without knowing the strategy.
    """
    ranked = [
        RankedStrategy(each, shares[each.item], _p_success(shares[each.item], usual_p))
        for each in supports
    ]

    def order(each: RankedStrategy) -> tuple[bool, float, int, str]:
        support = each.support
        return not each.share.believed, -each.p_success, -support.last_us, support.item

    return sorted(ranked, key=order)


def _p_success(share: Share, usual_p: float) -> float:
    """What nobody vouches for does not outweigh what somebody does: that has an even chance at
    least.
    """
    p = shrink(share, usual_p, STRATEGY_STRENGTH)
    return max(p, FIRST_GUESS) if share.believed else p


def equally_likely(shares: Mapping[str, Share], usual_p: float) -> Iterator[list[str]]:
    """Strategies as `rank_strategies` has them, those that are equally likely together."""

    unlikely = {
        strategy: (not share.believed, -_p_success(share, usual_p))
        for strategy, share in shares.items()
    }.__getitem__
    return (list(same) for _, same in groupby(sorted(shares, key=unlikely), key=unlikely))


def strategy_from(ranked: RankedStrategy, did: Fix | Cleaned) -> Strategy:
    """`did` is what one that used it says: its words are shown, cut where what they were compared
    by ends.
    """
    share = ranked.share
    return Strategy(
        id=ranked.support.item,
        fix_commands=tuple(did.fix_commands),
        analysis=" ".join(did.analysis.split())[: limits.LESSON_CHARS_MAX],
        attempts=share.attempts,
        applied=share.applied,
        verified=share.verified,
        p_success=ranked.p_success,
        strength=share.weight + STRATEGY_STRENGTH,
        last_used=from_us(ranked.support.last_us),
        evidence=tuple(ranked.support.newest_ids),
        sources=tuple(sorted(ranked.support.authors)),
        vouched=ranked.support.vouched,
    )


@dataclass(frozen=True)
class Pattern(Rated):
    """An issue that came up: `exact` (the same signature), `model` (a model and issue type) or
    `type` (an issue type on any model). A success is applied and verified. `best_fix` is the
    strategy most likely to succeed among those that ever did. `signature` is that of its newest fix,
    by fix history's formula, as its tables have it.
    """

    name: str
    kind: PatternKind
    issue_type: str
    model: str | None
    signature: str
    success_count: int
    failure_count: int
    applied_count: int
    p_success: float
    strength: float
    last_seen: datetime
    best_fix: Strategy | None

    @property
    def confidence(self) -> float:
        """`min(1, attempts / 10)`, as fix history defines it."""
        return seed_confidence(self.success_count + self.failure_count)


def pattern_name(kind: PatternKind, issue_type: str, model: str | None, signature: str) -> str:
    where = f" on {model}" if model else ""
    return (
        f"{issue_type}{where} [{signature}]"
        if kind == "exact"
        else f"{issue_type}{where or ' on any model'}"
    )


# --- when ---


@dataclass(frozen=True)
class TemporalPattern:
    """An hour (UTC) or weekday at which an issue type comes up more often than chance explains: on
    `count` distinct days, of `total` days (or hours of days) on which it came up at all, where a
    share of at most `expected_share` was to be expected. `p_value` is by `test`. Many attempts
    within one hour are one occurrence: they are not independent.
    """

    name: str
    kind: PatternKind
    issue_type: str
    when: str
    count: int
    total: int
    expected_share: float
    p_value: float
    test: str = TEMPORAL_TEST


def temporal_patterns(hours_of_type: Mapping[str, Sequence[HasLevels]]) -> list[TemporalPattern]:
    """From the counts of every issue type by day, whose items are hours of the day."""
    hours, weekdays = {}, {}
    for name, counts in hours_of_type.items():
        when = {(counted.day, int(counted.item)) for counted in counts}
        hours[name] = Counter(hour for _, hour in when)
        weekdays[name] = Counter((day + _FIRST_WEEKDAY) % 7 for day in {day for day, _ in when})
    comparisons = len(hours_of_type) * (_HOURS + len(WEEKDAYS))
    hour_names = [f"{hour:02}:00 to {hour:02}:59 UTC" for hour in range(_HOURS)]
    found = [
        *_unlikely("weekday", weekdays, WEEKDAYS, comparisons),
        *_unlikely("hour", hours, hour_names, comparisons),
    ]
    return sorted(found, key=lambda pattern: (pattern.p_value, pattern.name))


def _unlikely(
    kind: Literal["hour", "weekday"],
    slots_of: Mapping[str, Counter[int]],
    names: Sequence[str],
    comparisons: int,
) -> list[TemporalPattern]:
    """More often than the other issue types at that time (nights are quiet for all), and more often
    than if all times were alike (the others may have a time of their own).
    """
    everything = sum(slots_of.values(), Counter[int]())
    found = []
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
                found.append(
                    TemporalPattern(
                        f"{issue_type} {when}",
                        kind,
                        issue_type,
                        names[slot],
                        count,
                        total,
                        expected,
                        p_value,
                    )
                )
    return found


# --- models ---


@dataclass(frozen=True)
class ModelInsights(Tabular):
    """What is known of a model. `success_rate` is the plain share of attempts that were applied and
    verified; `odds` has the probability of the next one. `common_issues` and `effective_fixes` are
    the most frequent, and the likeliest to work, first.
    """

    model_name: str
    total_tests: int
    success_rate: float
    odds: Odds
    common_issues: tuple[tuple[str, int], ...]
    effective_fixes: tuple[Strategy, ...]
    performance_notes: tuple[str, ...]
    last_updated: datetime | None


@dataclass(frozen=True)
class ModelHistory:
    """How fixes of a model went so far, who says so, and how often somebody vouched for it.
    `issues` are its most frequent ones, `p_success` the probability that the next fix succeeds.
    """

    model_name: str
    attempts: int
    verified: int
    p_success: float
    issues: tuple[tuple[str, int], ...]
    notes: tuple[str, ...]
    sources: tuple[str, ...]
    vouched: int


def performance_notes(
    model: str, here_and_everywhere: Mapping[str, tuple[Share, Share]]
) -> tuple[str, ...]:
    """Which of these issue types go clearly better or worse on this model than elsewhere."""
    notes = []
    for issue_type, (here, whole) in here_and_everywhere.items():
        others, others_verified = whole.attempts - here.attempts, whole.verified - here.verified
        if here.attempts < NOTED_ATTEMPTS_MIN or others < NOTED_ATTEMPTS_MIN:
            continue
        usual = usual_share(Share.plain(others, others_verified))
        better = at_least(here.verified, here.attempts, usual)
        worse = at_least(here.attempts - here.verified, here.attempts, 1 - usual)
        if min(better, worse) < UNLIKELY_BELOW:
            word = "better" if better < worse else "worse"
            notes.append(
                f"{issue_type} is fixed {word} on {model} than on other models: {here.verified} of "
                f"{here.attempts} attempts against {others_verified} of {others}"
            )
    return tuple(notes[: limits.EVIDENCE_SHOWN_MAX])


# --- diagnoses and solutions ---


@dataclass(frozen=True)
class Solution(Tabular):
    """An action that was taken after an error, across trajectories: how often, and how often it
    helped; `diagnosis` is what failed, in the words of one of them; `after` is the action that had
    failed so, empty where others came in between; `vouched` how many of the trajectories somebody
    vouches for.
    """

    diagnosis: str
    failure_hash: str
    action: str
    tried: int
    helped: int
    p_helped: float
    last_tried: datetime
    evidence: tuple[str, ...]
    after: str = ""
    vouched: int = 0


# What an action came to on one day, for one author: the day, the author, how many of the records
# somebody vouches for, and how many are at each level. Of what was counted, then when it was last
# taken, and in which record.
CameTo = tuple[Any, ...]


def rank_solutions(
    tried: Mapping[str, Sequence[CameTo]],
    everything: Iterable[CameTo],
    today: int,
    most: int,
    *,
    alone: bool,
) -> list[RankedStrategy]:
    """What was done after an error, by item: what somebody vouches for first, then the likeliest to
    help, then what was tried most, then the newest. What can be expected of any of it is what
    `everything` came to. `alone`: nobody else ever tried anything.
    """
    if not tried:
        return []
    whole = [_tally("", came_to, times) for came_to, times in Counter(everything).items()]
    usual = usual_share(Share.of(whole, today, good=HELPED, alone=alone))
    # most were tried once, and came to the same
    alike: dict[CameTo, tuple[tuple[bool, float, int], Share]] = {}
    ranked = []
    for item, mine in tried.items():
        came_to = tuple([each[:-2] for each in mine])
        if came_to not in alike:
            tallies = [_tally(item, each) for each in came_to]
            share = Share.of(tallies, today, good=HELPED, alone=alone)
            # one alone is all that there is, and counted already
            p_helped = shrink(share, usual, STRATEGY_STRENGTH) if len(tried) > 1 else usual
            alike[came_to] = (not share.believed, -p_helped, -share.attempts), share
        newest = mine[0][-2] if len(mine) == 1 else max([each[-2] for each in mine])
        ranked.append((alike[came_to][0], -newest, item, alike[came_to][1]))
    return [
        RankedStrategy(
            Evidence(item, [_tally(item, each[:-2], 1, *each[-2:]) for each in tried[item]]),
            share,
            -p_helped,
        )
        for (_, p_helped, _), _, item, share in sorted(ranked)[:most]
    ]


def _tally(
    item: str, came_to: CameTo, times: int = 1, last_us: int = 0, last_id: str = ""
) -> Tally:
    """Of what came to the same so many times."""
    day, author, vouched, *levels = came_to
    counts = tuple([times * count for count in levels])
    return Tally("", "", item, day, author, times * vouched, 0, 0, last_us, last_id, counts)


# --- choosing ---

Scope = Literal["signature", "model", "type"]
TriedIn = Mapping[Scope, Mapping[str, Evidence]]
_ORDER: Final[tuple[Scope, ...]] = ("signature", "model", "type")


@dataclass(frozen=True)
class Choice:
    """A strategy, with the counts of the scope that speaks for it (or against it), and the
    probability that it works for this issue. `failed_here`: for this very issue it was tried, and
    never worked.
    """

    scope: Scope
    ranked: RankedStrategy
    failed_here: bool


class Choices(NamedTuple):
    """What worked: for this very issue first, then on the same model, then anywhere; in each what
    somebody vouches for first, then the likeliest. And what is not to be repeated: for this very
    issue first, then what was tried most.
    """

    worked: list[Choice]
    failed: list[Choice]


def choices(tried: TriedIn, usual_p: float, today: int, *, alone: bool) -> Choices:
    """`tried` is what was done, by strategy: for this very issue, for its type on its model, for its
    type anywhere. `usual_p` is what can be expected without knowing the strategy. A strategy is not to be
    repeated if it never worked and was tried twice, or once for this very issue; or if it never
    worked for this very issue, tried twice, and that is neither one source's word against others
    for whom it works elsewhere, nor anybody's against what somebody vouches for. What was tried
    once, elsewhere, without success is neither. `alone`: nobody else ever fixed anything.
    """
    worked: list[Choice] = []
    failed: list[Choice] = []
    widest_first = [(scope, tried[scope]) for scope in reversed(_ORDER)]
    for item in dict.fromkeys(item for _, supports in widest_first for item in supports):
        found = {scope: supports[item] for scope, supports in widest_first if item in supports}
        shares = {
            scope: Share.of(support.tallies, today, alone=alone) for scope, support in found.items()
        }
        p, before = usual_p, None
        for share in shares.values():
            # one that holds no less than the one before tells nothing new
            if before is None or share.attempts < before.attempts:
                p, before = shrink(share, p, STRATEGY_STRENGTH), share
        here = shares.get("signature", Share())
        failed_here = here.attempts > 0 and not here.verified
        believed = any(share.believed for share in shares.values())
        if believed and (here.believed or not here.vouched):
            p = max(p, FIRST_GUESS)
        good: list[Scope] = [scope for scope, share in shares.items() if share.verified]
        widest: Scope = next(iter(found))
        if good:
            hopeless = failed_here and here.attempts >= limits.PROOFS_MIN
            # unless a single source that nobody vouches for reports the failures here, and others
            # tried the same elsewhere
            if hopeless and (source := found["signature"].only_source) is not None:
                hopeless = all(support.authors == {source} for support in found.values())
            # or nobody vouches for the failures, and somebody for successes elsewhere
            hopeless = hopeless and not (believed and not here.vouched)
            scope: Scope = "signature" if hopeless else good[-1]
            chosen = Choice(scope, RankedStrategy(found[scope], shares[scope], p), failed_here)
            (failed if hopeless else worked).append(chosen)
        elif failed_here or shares[widest].attempts >= limits.PROOFS_MIN:
            failed.append(
                Choice(widest, RankedStrategy(found[widest], shares[widest], p), failed_here)
            )
    worked.sort(
        key=lambda each: (
            _ORDER.index(each.scope),
            not each.ranked.share.believed,
            -each.ranked.p_success,
            *_newest_first(each),
        )
    )
    failed.sort(
        key=lambda each: (not each.failed_here, -each.ranked.share.attempts, *_newest_first(each))
    )
    return Choices(worked, failed)


def _newest_first(choice: Choice) -> tuple[int, str]:
    return -choice.ranked.support.last_us, choice.ranked.support.item
