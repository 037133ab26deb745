"""How likely something is to work, and how sure that is.

A share of successes is a Beta posterior whose prior is the next more general share: a scope with
few attempts says what its parent says, one with many speaks for itself. Attempts count less as they
age.

    all fixes → issue type, moved by the fixer → with this fixer, moved by the model and the subject
              → this model, type and fixer → signature → with this fixer, moved by how much the fix
              and the issue speak of the same
    all tools → tool → tool and task

A fixer, a model or a subject cuts across issue types: neither contains the other. So it moves the
estimate, in log-odds, by as much as its own share differs from what its mix of issue types (and of
fixers) lets expect. Who only ever met hard issues is not blamed for them twice.

The strengths below are pseudo-counts: so many attempts of its own weigh as much as the parent. They
are the round numbers around the best ones on replayed fix attempts, where
`benchmarks/calibration.py` measures them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final, NamedTuple, Protocol

from hardwon.learn.actions import log_odds
from hardwon.lessons.chance import interval
from hardwon.lessons.counts import SUCCEEDED
from hardwon.lessons.keys import BETWEEN_NAMES
from hardwon.lessons.sources import Votes, age_weight, fair_parts
from hardwon.records.fields import Tabular

ALL_STRENGTH: Final = 2.0
NAMED_STRENGTH: Final = 10.0  # issue type, fixer within it, tool, task
TYPE_FIXER_STRENGTH: Final = 20.0  # where it is known how the fixer does at other issue types
MODEL_STRENGTH: Final = 3.0
MODEL_TYPE_STRENGTH: Final = 20.0
SUBJECT_STRENGTH: Final = 2.5
SIGNATURE_STRENGTH: Final = 20.0
STRATEGY_STRENGTH: Final = 4.0

FIRST_GUESS: Final = 0.5
ATTEMPTS_OF_FULL_CONFIDENCE: Final = 10


class HasLevels(Protocol):
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


class Rated(Tabular):
    """Something that works with a probability, which rests on so many attempts and pseudo-counts."""

    p_success: float
    strength: float

    @property
    def interval(self) -> tuple[float, float]:
        """Where the true rate lies with 90 % probability."""
        p, strength = self.p_success, self.strength
        # Half a success and half a failure are added: next to 0 and 1 the plain distribution would
        # put nearly everything beyond p itself.
        low, high = interval(p * strength + 0.5, (1 - p) * strength + 0.5)
        return min(low, p), max(high, p)


@dataclass(frozen=True)
class Odds(Rated):
    """How something turned out so far, and how likely it is to work. `attempts`, `applied` and
    `verified` are of the scope that was asked for; `p_success` also draws on the more general ones,
    listed in `basis`.
    """

    attempts: int
    applied: int
    verified: int
    p_success: float
    strength: float
    basis: tuple[Basis, ...] = ()

    @property
    def confidence(self) -> float:
        """`min(1, attempts / 10)`, as fix history defines it. Not a probability: that is
        `p_success`.
        """
        return seed_confidence(self.attempts)


# --- counting ---


@dataclass
class Share:
    """Attempts at something, as they are, and as they weigh today: by days, and by authors. Somebody
    vouches for `vouched` of them, and at least `vouched_verified` of these were verified.
    """

    attempts: int = 0
    applied: int = 0
    verified: int = 0
    weight: float = 0.0
    weight_verified: float = 0.0
    vouched: float = 0.0
    vouched_verified: float = 0.0

    @property
    def believed(self) -> bool:
        """Whether it mostly works in what somebody vouches for."""
        return self.vouched_verified > self.vouched / 2

    @classmethod
    def of(
        cls,
        counts: Iterable[HasLevels],
        today: int,
        item: str | None = None,
        good: int = SUCCEEDED,
        *,
        alone: bool = True,
    ) -> Share:
        """All of the counts, or those of one item; from the level `good` on it went well. `alone`
        as in `fair_parts`.
        """
        by_author: dict[str, Share] = {}
        for counted in counts:
            if item is None or counted.item == item:
                author = getattr(counted, "author", "")
                if author not in by_author:
                    by_author[author] = cls()
                by_author[author].add(counted, today, good)
        return cls.fair(by_author, alone=alone)

    @classmethod
    def plain(cls, attempts: int, verified: int) -> Share:
        """So many attempts, each at its full weight."""
        return cls(attempts, verified, verified, float(attempts), float(verified))

    @classmethod
    def fair(cls, by_author: Mapping[str, Share], *, alone: bool = True) -> Share:
        """What several say, each with a fair part."""
        if alone and len(by_author) == 1:
            return next(iter(by_author.values()))
        votes = {author: Votes(each.weight, each.vouched) for author, each in by_author.items()}
        parts, share = fair_parts(votes, alone=alone), cls()
        for author, each in by_author.items():
            part = parts[author]
            each.weight, each.weight_verified = each.weight * part, each.weight_verified * part
            share.include(each)
        return share

    @classmethod
    def be_fair(cls, items: Iterable[Mapping[str, Share]]) -> None:
        """Gives each author a fair part of all items together."""
        said = [pair for item in items for pair in sorted(item.items(), key=itemgetter(0))]
        whole: dict[str, Share] = {}
        for author, each in said:
            whole.setdefault(author, cls()).include(each)
        if len(whole) < 2:
            return
        parts = fair_parts({name: Votes(each.weight, each.vouched) for name, each in whole.items()})
        for author, each in said:
            each.weight *= parts[author]
            each.weight_verified *= parts[author]

    def add(self, counted: HasLevels, today: int, good: int = SUCCEEDED) -> None:
        levels, weight = counted.levels[: SUCCEEDED + 1], age_weight(counted.day, today)
        attempts, verified = sum(levels), sum(levels[good:])
        self.attempts += attempts
        self.applied += attempts - levels[0]
        self.verified += verified
        self.weight += weight * attempts
        self.weight_verified += weight * verified
        if vouched := getattr(counted, "vouched", 0):
            self.vouched += weight * vouched
            self.vouched_verified += weight * max(0, vouched - (attempts - verified))

    def include(self, other: Share) -> None:
        self.attempts += other.attempts
        self.applied += other.applied
        self.verified += other.verified
        self.weight += other.weight
        self.weight_verified += other.weight_verified
        self.vouched += other.vouched
        self.vouched_verified += other.vouched_verified


@dataclass
class Shares:
    """What is under one key: of every item, and of all of them."""

    items: Mapping[str, Share] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.whole = self.beginning("")

    def item(self, item: str | None) -> Share:
        """Of one item; None: of all."""
        return self.whole if item is None else self.items.get(item, Share())

    def beginning(self, start: str) -> Share:
        """Of the items that begin so."""
        share = Share()
        for item, other in self.items.items():
            if item.startswith(start):
                share.include(other)
        return share


def shrink(share: Share, prior: float, strength: float) -> float:
    return (share.weight_verified + strength * prior) / (share.weight + strength)


def usual_share(share: Share) -> float:
    """Of what nothing more general is known."""
    return shrink(share, FIRST_GUESS, ALL_STRENGTH)


def _moved(p: float, by: float) -> float:
    """A probability, its log odds moved by so much."""
    return 1 / (1 + math.exp(-log_odds(p) - by))


class _Estimate:
    """A probability on its way from general to specific."""

    def __init__(self, share: Share) -> None:
        self.p = usual_share(share)
        self.everything = self.share = share
        self.strength = ALL_STRENGTH
        self.basis = [Basis("all", share.attempts, share.verified)]

    def narrow(self, scope: str, share: Share, strength: float) -> None:
        # A scope that holds just what the one before holds tells nothing new; counting it twice
        # would feign certainty.
        if share.attempts < self.share.attempts:
            self.p = shrink(share, self.p, strength)
            self.strength = strength
        self.share = share
        self.basis.append(Basis(scope, share.attempts, share.verified))

    def move(self, scope: str, share: Share, expected: float, strength: float) -> float:
        """By how the share differs, in log-odds, from what was to be expected of it; by how much."""
        moved = log_odds(shrink(share, expected, strength)) - log_odds(expected)
        self.shift(scope, share, moved)
        return moved

    def shift(self, scope: str, share: Share, moved: float) -> None:
        self.p = _moved(self.p, moved)
        self.basis.append(Basis(scope, share.attempts, share.verified))

    def odds(self) -> Odds:
        share = self.share
        strength = self.strength + share.weight
        return Odds(
            share.attempts, share.applied, share.verified, self.p, strength, tuple(self.basis)
        )


# --- the chains ---


@dataclass
class FixCounts:
    """What a question about fixes rests on; None for what it does not name. The items of `model`
    and `subject` are an issue type and a fixer each; `types` has the shares of every issue type
    among them. `words` are the fixes of the issue type that speak of their issues as much as the
    one that is asked about.
    """

    everything: Shares
    types: Mapping[str, Shares]
    issue_type: str | None = None
    model: Shares | None = None
    subject: Shares | None = None
    signature: Shares | None = None
    words: Share = field(default_factory=Share)
    _by_fixer: dict[str, tuple[Share, float]] = field(default_factory=dict)

    @property
    def of_type(self) -> Shares:
        return self.everything if self.issue_type is None else self.types[self.issue_type]

    def of_model_and_type(self, fixer: str | None) -> Share:
        """Of the model's attempts those of the issue type, by any fixer or by one."""
        model = self.model or Shares()
        wanted = f"{self.issue_type}{BETWEEN_NAMES}{fixer or ''}"
        return model.beginning(wanted) if fixer is None else model.item(wanted)

    def expected(self, shares: Shares, moved: float = 0.0) -> float:
        """The mean over some attempts of what their issue types and fixers let expect, each moved
        by so much.
        """
        total = shares.whole.weight
        if not total:
            return _moved(self.p_of_type(""), moved)
        sum_ = 0.0
        for item, share in shares.items.items():
            issue_type, _, fixer = item.partition(BETWEEN_NAMES)
            known = self.types.get(issue_type, Shares())
            p, of_fixer = self.p_of_type(issue_type), known.item(fixer)
            if of_fixer.attempts < known.whole.attempts:
                p = shrink(of_fixer, _moved(p, self.by_fixer(fixer)[1]), TYPE_FIXER_STRENGTH)
            sum_ += share.weight * _moved(p, moved)
        return sum_ / total

    def p_of_type(self, issue_type: str) -> float:
        of_type = self.types.get(issue_type, Shares()).whole
        return shrink(of_type, usual_share(self.everything.whole), NAMED_STRENGTH)

    def by_fixer(self, fixer: str) -> tuple[Share, float]:
        """What a fixer did, of the issue types that are looked at, and by how much, in log-odds, that
        differs from what was to be expected of them; by nothing where it was at one of them only, or
        nobody else was.
        """
        if fixer not in self._by_fixer:
            whole, expected = Share(), 0.0
            at = {name: known.item(fixer) for name, known in self.types.items()}
            for name, share in at.items():
                whole.include(share)
                expected += share.weight * self.p_of_type(name)
            everybody = sum(known.whole.attempts for known in self.types.values())
            moved = 0.0
            if sum(share.attempts > 0 for share in at.values()) > 1 and whole.attempts < everybody:
                expected /= whole.weight
                moved = log_odds(shrink(whole, expected, NAMED_STRENGTH)) - log_odds(expected)
            self._by_fixer[fixer] = whole, moved
        return self._by_fixer[fixer]


def fix_odds(counts: FixCounts, fixer: str | None) -> Odds:
    """How likely a fix is to be applied and verified."""
    of_type, model, subject = counts.of_type, counts.model, counts.subject or Shares()
    estimate = _Estimate(counts.everything.whole)
    if counts.issue_type is not None:
        estimate.narrow("issue type", of_type.whole, NAMED_STRENGTH)
    if fixer is not None:
        _narrow_by_fixer(estimate, counts, fixer)
    moved, of_model = 0.0, estimate.share
    if model is not None:
        of_model = model.whole
        # The only model there is, or the only one with this issue type, tells nothing that was not
        # counted already.
        if of_model.attempts not in (estimate.everything.attempts, of_type.whole.attempts):
            moved = estimate.move("model", of_model, counts.expected(model), MODEL_STRENGTH)
        if counts.issue_type is None:
            estimate.share, estimate.strength = of_model, MODEL_STRENGTH
        else:
            of_both = counts.of_model_and_type(fixer)
            estimate.narrow("model and issue type", of_both, MODEL_TYPE_STRENGTH)
    # else it is all there is of the model, counted above
    if 0 < subject.whole.attempts < of_model.attempts:
        expected = counts.expected(subject, moved)
        estimate.move("subject", subject.whole, expected, SUBJECT_STRENGTH)
    if counts.signature is not None:
        share, of_fixer = counts.signature.whole, counts.signature.item(fixer)
        # An issue without a prompt has the signature of its model and type, and a subject that came
        # up with one issue type only has its signature: what they say was taken into account
        # before.
        known = [counts.of_model_and_type(None).attempts, subject.whole.attempts or math.inf]
        if share.attempts < min(known):
            estimate.narrow("signature", share, SIGNATURE_STRENGTH)
            if fixer is not None:
                estimate.narrow("signature and fixer", of_fixer, SIGNATURE_STRENGTH)
        estimate.share = of_fixer
    _move_by_words(estimate, counts)
    return estimate.odds()


def _move_by_words(estimate: _Estimate, counts: FixCounts) -> None:
    """Where fixes of the issue type differ in how much they speak of their issues."""
    if 0 < counts.words.attempts < counts.of_type.whole.attempts:
        expected = counts.p_of_type(counts.issue_type or "")
        estimate.move("words shared with the issue", counts.words, expected, NAMED_STRENGTH)


def _narrow_by_fixer(estimate: _Estimate, counts: FixCounts, fixer: str) -> None:
    of_type, (everywhere, moved) = counts.of_type, counts.by_fixer(fixer)
    if moved and of_type.item(fixer).attempts < of_type.whole.attempts:
        estimate.shift("fixer at any issue type", everywhere, moved)
    strength = TYPE_FIXER_STRENGTH if moved else NAMED_STRENGTH
    estimate.narrow("fixer", of_type.item(fixer), strength)


def tool_odds(
    counts: Mapping[str, Sequence[HasLevels]], tool: str, task: str | None, today: int
) -> Odds:
    """From the counts of every tool: those under the empty item are of all tasks."""
    estimate = _Estimate(
        Share.of((counted for each in counts.values() for counted in each), today, "")
    )
    estimate.narrow("tool", Share.of(counts.get(tool, ()), today, ""), NAMED_STRENGTH)
    if task:
        estimate.narrow(
            "tool and task", Share.of(counts.get(tool, ()), today, task), NAMED_STRENGTH
        )
    return estimate.odds()
