"""How likely a fix, or a tool, is to succeed.

Attempts at a few levels, from any fix to this very issue, become log-odds that fixed weights combine. What is special
moves the estimate as far as it has evidence; who only met hard issues is not blamed for them twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from hardwon.lessons.chance import interval, log_odds, to_share
from hardwon.lessons.keys import BETWEEN_NAMES
from hardwon.lessons.sources import Votes, fair_parts
from hardwon.records.fields import Tabular

FIRST_GUESS: Final = 0.5
ATTEMPTS_OF_FULL_CONFIDENCE: Final = 10

# How many attempts of its own weigh, at each level, as much as what is expected without them. Fitted
# by `benchmarks/fit_fixes.py`.
WEIGHTS: Final[dict[str, float]] = {
    "all": 2.0,
    "issue type": 10.0,
    "fixer at any issue type": 10.0,
    "fixer": 20.0,
    "model": 3.0,
    "model and issue type": 20.0,
    "subject": 2.5,
    "signature": 20.0,
    "signature and fixer": 20.0,
    "words shared with the issue": 10.0,
    "tool": 10.0,
    "tool and task": 10.0,
    "strategy": 4.0,
}


class Attempts(NamedTuple):
    """Attempts at something, as they are, and as they weigh today. Somebody vouches for `vouched` of
    them, as they weigh (which are `checked` records), and at least `vouched_verified` of these were
    verified.
    """

    attempts: int = 0
    applied: int = 0
    verified: int = 0
    weight: float = 0.0
    weight_verified: float = 0.0
    vouched: float = 0.0
    vouched_verified: float = 0.0
    checked: int = 0

    @property
    def is_believed(self) -> bool:
        """Whether it mostly works in what somebody vouches for."""
        return self.vouched_verified > self.vouched / 2

    def shrink(self, expected: float, level: str) -> float:
        """The share that was verified, drawn to what is expected as the weight of the level says."""
        strength = WEIGHTS[level]
        return (self.weight_verified + strength * expected) / (self.weight + strength)


NOTHING: Final = Attempts()
Items = Mapping[str, Attempts]  # what was counted under one key, by item


def add_up(counts: Iterable[Attempts]) -> Attempts:
    """All of them together; zeros where there are none."""
    counts = list(counts)
    if len(counts) == 1:  # as most are
        return counts[0]
    return Attempts(*(sum(figures) for figures in zip(*counts, strict=True)))


def hear_fairly(by_author: Mapping[str, Attempts], *, alone: bool = True) -> Attempts:
    """What several say, each with a fair part; `alone` as in `fair_parts`."""
    if alone and len(by_author) == 1:
        return next(iter(by_author.values()))
    votes = {author: Votes(counts.weight, counts.vouched) for author, counts in by_author.items()}
    parts = fair_parts(votes, alone=alone)
    return add_up(_weaken(counts, parts[author]) for author, counts in sorted(by_author.items()))


def hear_items(items: Mapping[str, Mapping[str, Attempts]]) -> dict[str, Attempts]:
    """The same of every item, where nobody has more than a fair part of all of them together:
    anybody may make up another item.
    """
    whole: dict[str, list[Attempts]] = {}
    for by_author in items.values():
        for author, counts in by_author.items():
            whole.setdefault(author, []).append(counts)
    sums = {author: add_up(counts) for author, counts in whole.items()}
    votes = {author: Votes(counts.weight, counts.vouched) for author, counts in sums.items()}
    parts = fair_parts(votes)
    return {
        item: hear_fairly({author: _weaken(one, parts[author]) for author, one in said_by.items()})
        for item, said_by in items.items()
    }


def _weaken(counts: Attempts, part: float) -> Attempts:
    weight, verified = counts.weight * part, counts.weight_verified * part
    return counts._replace(weight=weight, weight_verified=verified)


def get_confidence(attempts: int) -> float:
    """The fix-history document's `confidence`: how much was tried, not how well it went."""
    return min(1.0, attempts / ATTEMPTS_OF_FULL_CONFIDENCE)


class Basis(NamedTuple):
    """One level that went into an estimate."""

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
        return get_confidence(self.attempts)


class _Estimate:
    """A probability on its way from the general to the special; `counts` are of the last level."""

    def __init__(self, counts: Attempts) -> None:
        self.p = counts.shrink(FIRST_GUESS, "all")
        self.counts, self.strength = counts, WEIGHTS["all"]
        self.basis = [Basis("all", counts.attempts, counts.verified)]

    def narrow(self, level: str, counts: Attempts, wider: int | None = None) -> None:
        """To a part of what was counted before. One that holds as much, or as much as the `wider` one
        of so many attempts, tells nothing new.
        """
        if counts.attempts < (self.counts.attempts if wider is None else wider):
            self.p, self.strength = counts.shrink(self.p, level), WEIGHTS[level]
        self.counts = counts
        self.basis.append(Basis(level, counts.attempts, counts.verified))

    def move(self, level: str, counts: Attempts, expected: float) -> None:
        """By how the counts differ, in log-odds, from what was to be expected of them."""
        by = log_odds(counts.shrink(expected, level)) - log_odds(expected)
        self.p = to_share(log_odds(self.p) + by)
        self.basis.append(Basis(level, counts.attempts, counts.verified))

    def make_odds(self) -> Odds:
        """What came of it."""
        counts, strength = self.counts, self.strength + self.counts.weight
        basis = tuple(self.basis)
        return Odds(counts.attempts, counts.applied, counts.verified, self.p, strength, basis)


@dataclass
class FixCounts:
    """What a question about fixes rests on; None for what it does not name. The items of
    `everything`, of each of the `types` and of `signature` are fixers, those of `model` and
    `subject` an issue type and a fixer each; `types` has every issue type among them. `words` are
    the fixes of the issue type that speak of their issues as much as the one that is asked about.
    """

    everything: Items
    types: Mapping[str, Items] = field(default_factory=dict)
    issue_type: str | None = None
    model: Items | None = None
    subject: Items | None = None
    signature: Items | None = None
    words: Attempts = NOTHING
    _totals: dict[str | None, Attempts] = field(default_factory=dict)

    def total(self, issue_type: str | None) -> Attempts:
        """All attempts at an issue type; None: at any."""
        if issue_type not in self._totals:
            items = self.everything if issue_type is None else self.types.get(issue_type, {})
            self._totals[issue_type] = add_up(items.values())
        return self._totals[issue_type]

    def estimate(self, issue_type: str | None, fixer: str | None) -> _Estimate:
        """Of an issue type and a fixer, as far as they are named."""
        estimate = _Estimate(self.total(None))
        usual, whole = estimate.p, estimate.counts.attempts
        items = self.everything
        if issue_type is not None:
            items = self.types.get(issue_type, {})
            estimate.narrow("issue type", self.total(issue_type))
        if fixer is not None:
            here, anywhere = items.get(fixer, NOTHING), self.everything.get(fixer, NOTHING)
            if here.attempts < anywhere.attempts < whole:
                estimate.move("fixer at any issue type", anywhere, usual)
            estimate.narrow("fixer", here)
        return estimate

    def expect(self, items: Items) -> float:
        """The mean of what the issue types and fixers of some attempts let expect of them."""
        total = sum(counts.weight for counts in items.values())
        if not total:
            return FIRST_GUESS
        expected = 0.0
        for item, counts in items.items():
            issue_type, _, fixer = item.partition(BETWEEN_NAMES)
            expected += self.estimate(issue_type, fixer).p * counts.weight / total
        return expected

    def count_model_at_type(self, fixer: str | None) -> Attempts:
        """The model's attempts at the issue type, by any fixer or by one."""
        start = f"{self.issue_type}{BETWEEN_NAMES}"
        items = self.model or {}
        if fixer is not None:
            return items.get(start + fixer, NOTHING)
        return add_up(counts for item, counts in items.items() if item.startswith(start))


def estimate_fix(known: FixCounts, fixer: str | None) -> Odds:
    """How likely a fix is to be applied and verified."""
    estimate = known.estimate(known.issue_type, fixer)
    whole, of_type = known.total(None), known.total(known.issue_type)
    around = of_type
    if known.model is not None:
        of_model = add_up(known.model.values())
        # the only model there is, or the only one with this issue type, tells nothing new
        if of_model.attempts not in (whole.attempts, of_type.attempts):
            estimate.move("model", of_model, known.expect(known.model))
        if known.issue_type is None:
            estimate.counts, estimate.strength = of_model, WEIGHTS["model"]
        else:
            estimate.narrow("model and issue type", known.count_model_at_type(fixer))
            around = known.count_model_at_type(None)
    subject = add_up((known.subject or {}).values())
    if known.subject and 0 < subject.attempts < add_up((known.model or {}).values()).attempts:
        estimate.move("subject", subject, known.expect(known.subject))
    if known.signature is not None:
        counts = add_up(known.signature.values())
        of_fixer = counts if fixer is None else known.signature.get(fixer, NOTHING)
        # an issue without a prompt has the signature of its model and type, and a subject that came
        # up with one issue type only has its signature
        if counts.attempts < min(around.attempts, subject.attempts or math.inf):
            estimate.narrow("signature", counts, around.attempts)
            if fixer is not None:
                estimate.narrow("signature and fixer", of_fixer)
        estimate.counts = of_fixer
    if 0 < known.words.attempts < of_type.attempts:
        expected = known.estimate(known.issue_type, None).p
        estimate.move("words shared with the issue", known.words, expected)
    return estimate.make_odds()


def estimate_tool(tools: Mapping[str, Items], tool: str, task: str | None) -> Odds:
    """How likely a tool is to work, at a task or at any, from the counts of every tool by task; those
    under the empty item are of all tasks.
    """
    estimate = _Estimate(add_up(items.get("", NOTHING) for items in tools.values()))
    items = tools.get(tool, {})
    estimate.narrow("tool", items.get("", NOTHING))
    if task:
        estimate.narrow("tool and task", items.get(task, NOTHING))
    return estimate.make_odds()
