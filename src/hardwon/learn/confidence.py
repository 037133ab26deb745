"""How likely something is to work, and how sure that is.

A share of successes is a Beta posterior whose prior is the next more general share: a scope with few attempts says what its
parent says, one with many speaks for itself. Attempts count less as they age.

    all fixes → issue type → with this fixer, moved by the model and by the subject
              → this model, type and fixer → signature → with this fixer
    all tools → tool → tool and task

A model, or a subject, cuts across issue types and fixers: neither contains the other. So it moves the estimate, in log-odds, by
as much as its own share differs from what its mix of issue types and fixers lets expect. A model that only ever met hard
issues is not blamed for them twice.

The strengths below are pseudo-counts: so many attempts of its own weigh as much as the parent. They are the round numbers
around the best ones on replayed fix attempts, where `benchmarks/calibration.py` measures them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, Protocol

from hardwon import limits
from hardwon.learn import beta
from hardwon.learn.lessons import BETWEEN_NAMES, SUCCEEDED

ALL_STRENGTH: Final = 2.0
NAMED_STRENGTH: Final = 10.0  # issue type, fixer within it, tool, task
MODEL_STRENGTH: Final = 3.0
MODEL_TYPE_STRENGTH: Final = 20.0
SUBJECT_STRENGTH: Final = 3.0
SIGNATURE_STRENGTH: Final = 10.0
STRATEGY_STRENGTH: Final = 4.0

FIRST_GUESS: Final = 0.5
ATTEMPTS_OF_FULL_CONFIDENCE: Final = 10
_EDGE: Final = 1e-6  # log-odds of a certainty would be infinite


class Counted(Protocol):
    """Anything that says how often something turned out at each level on one day."""

    @property
    def item(self) -> str: ...
    @property
    def day(self) -> int: ...
    @property
    def levels(self) -> tuple[int, ...]: ...


def seed_confidence(attempts: int) -> float:
    """The fix-history document's `confidence`: how much was tried, not how well it went."""
    return min(1.0, attempts / ATTEMPTS_OF_FULL_CONFIDENCE)


class Basis(NamedTuple):
    """One scope that went into an estimate."""

    scope: str
    attempts: int
    verified: int


@dataclass(frozen=True)
class Odds:
    """How something turned out so far, and how likely it is to work. `attempts`, `applied` and `verified` are of the scope
    that was asked for; `p_success` also draws on the more general ones, listed in `basis`."""

    attempts: int
    applied: int
    verified: int
    p_success: float
    strength: float
    basis: tuple[Basis, ...] = ()

    @property
    def confidence(self) -> float:
        """`min(1, attempts / 10)`, as fix history defines it. Not a probability: that is `p_success`."""
        return seed_confidence(self.attempts)

    @cached_property
    def interval(self) -> tuple[float, float]:
        """Where the true rate lies with 90 % probability."""
        return interval_around(self.p_success, self.strength)


def interval_around(p: float, strength: float) -> tuple[float, float]:
    """The central 90 % of a Beta distribution of so many pseudo-counts around p. Half a success and half a failure are added:
    next to 0 and 1 the plain distribution would put nearly everything beyond p itself."""
    low, high = beta.interval(p * strength + 0.5, (1 - p) * strength + 0.5)
    return min(low, p), max(high, p)


# --- counting ---------------------------------------------------------------------------------------------------


def age_weight(day: int, today: int) -> float:
    """1 for today (and for clocks that run ahead), half after a half-life."""
    return math.exp2(-max(0, today - day) / limits.HALF_LIFE_DAYS)


@dataclass
class Share:
    """Attempts at something, as they are and as they weigh today."""

    attempts: int = 0
    applied: int = 0
    verified: int = 0
    weight: float = 0.0
    weight_verified: float = 0.0

    @classmethod
    def of(cls, counts: Iterable[Counted], today: int, item: str | None = None) -> Share:
        """All of the counts, or those of one item."""
        share = cls()
        for counted in counts:
            if item is None or counted.item == item:
                share.add(counted, today)
        return share

    def add(self, counted: Counted, today: int) -> None:
        failed, applied, verified = counted.levels[: SUCCEEDED + 1]
        weight = age_weight(counted.day, today)
        attempts = failed + applied + verified
        self.attempts += attempts
        self.applied += applied + verified
        self.verified += verified
        self.weight += weight * attempts
        self.weight_verified += weight * verified


def shrink(share: Share, prior: float, strength: float) -> float:
    return (share.weight_verified + strength * prior) / (share.weight + strength)


def _log_odds(p: float) -> float:
    p = min(max(p, _EDGE), 1 - _EDGE)
    return math.log(p / (1 - p))


def _probability(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds))


def shifted(p: float, by: float, from_: float) -> float:
    """`p`, moved by as much as `by` differs from `from_`, in log-odds."""
    return _probability(_log_odds(p) + _log_odds(by) - _log_odds(from_))


class _Estimate:
    """A probability on its way from general to specific."""

    def __init__(self, share: Share) -> None:
        self.p = shrink(share, FIRST_GUESS, ALL_STRENGTH)
        self.everything = self.share = share
        self.strength = ALL_STRENGTH
        self.basis = [Basis("all", share.attempts, share.verified)]

    def narrow(self, scope: str, share: Share, strength: float) -> None:
        # A scope that holds just what the one before holds tells nothing new; counting it twice would feign certainty.
        if share.attempts < self.share.attempts:
            self.p = shrink(share, self.p, strength)
            self.strength = strength
        self.share = share
        self.basis.append(Basis(scope, share.attempts, share.verified))

    def move(self, scope: str, share: Share, expected: float, strength: float) -> None:
        """By how the share differs from what was to be expected of it."""
        self.p = shifted(self.p, shrink(share, expected, strength), expected)
        self.basis.append(Basis(scope, share.attempts, share.verified))

    def odds(self) -> Odds:
        share = self.share
        strength = self.strength + share.weight
        return Odds(share.attempts, share.applied, share.verified, self.p, strength, tuple(self.basis))


# --- the chains -------------------------------------------------------------------------------------------------


class FixCounts(NamedTuple):
    """The counts that a question about fixes rests on; None for what it does not name. The items of `model` and `subject` are
    an issue type and a fixer each; `types` has the counts of every issue type among them."""

    everything: Sequence[Counted]
    types: Mapping[str, Sequence[Counted]]
    issue_type: str | None = None
    model: Sequence[Counted] | None = None
    subject: Sequence[Counted] | None = None
    signature: Sequence[Counted] | None = None


def fix_odds(counts: FixCounts, fixer: str | None, today: int) -> Odds:
    """How likely a fix is to be applied and verified."""
    estimate = _Estimate(Share.of(counts.everything, today))
    rates = _Rates(estimate.p, counts.types, today)
    of_type = counts.everything if counts.issue_type is None else counts.types[counts.issue_type]
    if counts.issue_type is not None:
        estimate.narrow("issue type", Share.of(of_type, today), NAMED_STRENGTH)
    if fixer is not None:
        estimate.narrow("fixer", Share.of(of_type, today, fixer), NAMED_STRENGTH)
    moved, of_model = 0.0, estimate.share
    if counts.model is not None:
        of_model = Share.of(counts.model, today)
        # The only model there is, or the only one with this issue type, tells nothing that was not counted already.
        if of_model.attempts not in (estimate.everything.attempts, Share.of(of_type, today).attempts):
            expected = rates.expected(counts.model)
            estimate.move("model", of_model, expected, MODEL_STRENGTH)
            moved = _log_odds(shrink(of_model, expected, MODEL_STRENGTH)) - _log_odds(expected)
        if counts.issue_type is None:
            estimate.share, estimate.strength = of_model, MODEL_STRENGTH
        else:
            estimate.narrow("model and issue type", _of_type(counts, fixer, today), MODEL_TYPE_STRENGTH)
    of_subject = Share.of(counts.subject or (), today)
    if counts.subject and of_subject.attempts < of_model.attempts:  # else it is all there is of the model, and counted above
        estimate.move("subject", of_subject, rates.expected(counts.subject, moved), SUBJECT_STRENGTH)
    _narrow_to_signature(estimate, counts, of_subject, fixer, today)
    return estimate.odds()


def _of_type(counts: FixCounts, fixer: str | None, today: int) -> Share:
    """Of the model's attempts those of the issue type, by any fixer or by one."""
    wanted = f"{counts.issue_type}{BETWEEN_NAMES}{fixer or ''}"
    model = counts.model or ()
    if fixer is not None:
        return Share.of(model, today, wanted)
    return Share.of((counted for counted in model if counted.item.startswith(wanted)), today)


def _narrow_to_signature(estimate: _Estimate, counts: FixCounts, of_subject: Share, fixer: str | None, today: int) -> None:
    if counts.signature is None:
        return
    share, of_fixer = Share.of(counts.signature, today), Share.of(counts.signature, today, fixer)
    # An issue without a prompt has the signature of its model and type, and a subject that came up with one issue type only
    # has its signature: what they say was taken into account before.
    known = [_of_type(counts, None, today).attempts, *([of_subject.attempts] if counts.subject else [])]
    if share.attempts < min(known):
        estimate.narrow("signature", share, SIGNATURE_STRENGTH)
        if fixer is not None:
            estimate.narrow("signature and fixer", of_fixer, SIGNATURE_STRENGTH)
    estimate.share = of_fixer


class _Rates:
    """What an issue type and a fixer let expect."""

    def __init__(self, overall: float, types: Mapping[str, Sequence[Counted]], today: int) -> None:
        self._overall, self._types, self._today = overall, types, today
        self._known: dict[str, float] = {}

    def expected(self, counts: Sequence[Counted], moved: float = 0.0) -> float:
        """The mean over some attempts, each moved by so much."""
        weights: dict[str, float] = {}
        for counted in counts:
            weight = sum(counted.levels) * age_weight(counted.day, self._today)
            weights[counted.item] = weights.get(counted.item, 0.0) + weight
        total = sum(weights.values())
        if not total:
            return _probability(_log_odds(self._overall) + moved)
        rates = {item: _probability(_log_odds(self._of(item)) + moved) for item in weights}
        return sum(weight * rates[item] for item, weight in weights.items()) / total

    def _of(self, item: str) -> float:
        if item not in self._known:
            issue_type, _, fixer = item.partition(BETWEEN_NAMES)
            counts = self._types.get(issue_type, ())
            of_type, of_fixer = Share.of(counts, self._today), Share.of(counts, self._today, fixer)
            p = shrink(of_type, self._overall, NAMED_STRENGTH)
            self._known[item] = shrink(of_fixer, p, NAMED_STRENGTH) if of_fixer.attempts < of_type.attempts else p
        return self._known[item]


def tool_odds(counts: Mapping[str, Sequence[Counted]], tool: str, task: str | None, today: int) -> Odds:
    """From the counts of every tool: those under the empty item are of all tasks."""
    estimate = _Estimate(Share.of((counted for each in counts.values() for counted in each), today, ""))
    estimate.narrow("tool", Share.of(counts.get(tool, ()), today, ""), NAMED_STRENGTH)
    if task:
        estimate.narrow("tool and task", Share.of(counts.get(tool, ()), today, task), NAMED_STRENGTH)
    return estimate.odds()
