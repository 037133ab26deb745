"""How likely an action is to work, and to solve its task: what is counted at each level becomes
log-odds, and these are added with fixed weights. Pure numbers; nothing is learned at run time.
`benchmarks/fit_odds.py` fits the weights and tells what each level gains.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, NamedTuple

from hardwon.lessons.actions import EACH, EVERYTHING, Level, Levels, Moment
from hardwon.lessons.chance import log_odds, to_share


class Counts(NamedTuple):
    """How often steps turned out so: failed, worked, solved the task, worked in a run of which nobody
    knows the end; and those that nobody called failed, in runs of known and of unknown end.
    """

    failed: float = 0.0
    worked: float = 0.0
    solved: float = 0.0
    done: float = 0.0
    quiet: float = 0.0
    left: float = 0.0

    def plus(self, other: Counts) -> Counts:
        """Both together."""
        return Counts(*(one + two for one, two in zip(self, other, strict=True)))

    @property
    def tried(self) -> float:
        """How much is known of whether it works."""
        return self.failed + self.worked + self.solved + self.done + _QUIET * self._quiet

    @property
    def good(self) -> float:
        """In how much of that it worked."""
        return self.worked + self.solved + self.done + _QUIET * self._quiet

    @property
    def ended(self) -> float:
        """In how much of it, where it worked, it is known whether it solved its task."""
        return self.worked + self.solved + self.quiet

    @property
    def unknown(self) -> float:  # for the context that is being rewritten
        return self.tried - self.failed - self.ended

    @property
    def _quiet(self) -> float:
        return self.quiet + self.left


# A step that nobody called failed counts as this much of one that worked.
_QUIET: Final = 0.5
_NO_COUNTS: Final = Counts()
_NOTHING: Final = Level("", "")

# What is expected of anything before anything is known, and how many attempts that weighs.
_GUESS: Final = 0.5
_GUESS_SOLVED: Final = 0.1
_GUESS_STRENGTH: Final = 2.0


class _Rung(NamedTuple):
    """A level that is compared with a more general one, the first of `above` that there is; so many
    attempts of its own weigh as much as what that lets expect.
    """

    above: tuple[str, ...]
    strength: float


_RUNGS: Final[Mapping[str, _Rung]] = {
    "program": _Rung((), 4),
    "command": _Rung(("program",), 4),
    "form": _Rung((), 6),
    "after": _Rung((), 6),
    "next": _Rung(("program",), 6),
    "task": _Rung((), 4),
}
# What is known of the action itself is weighed against all that the general levels let expect.
SPECIAL: Final[Mapping[str, float]] = {"shape": 1.0, "exact": 1.0, "same": 0.5}
_WORD_STRENGTH: Final = 0.6
_RUN_STRENGTH: Final = 4.0
_WORD_KNOWN_FROM: Final = 3.0
# Words are known by so many attempts.
_MANY: Final = 20.0

Weights = Mapping[str, float]

# Fitted by benchmarks/fit_odds.py on runs in terminals and shells, SQL and code, each replay of the
# same weight.
WORKS: Final[Weights] = {
    "always": 0.65,
    "usual": 0.82,
    "program": 0.99,
    "command": 0.57,
    "form": 0.40,
    "after": 0.47,
    "next": 0.71,
    "task": 0.00,
    "word": 0.96,
    "unseen": -2.67,
    "run": 0.86,
    "shape": 1.33,
    "exact": 1.30,
    "same": 0.54,
    "own worked": 2.38,
    "own failed": -2.04,
}
# Of what works: whether it solves its task.
SOLVES: Final[Weights] = {
    "always": -0.29,
    "usual": 0.41,
    "program": 0.65,
    "command": 1.20,
    "form": 0.17,
    "after": 0.05,
    "next": 0.53,
    "task": 1.19,
    "word": 0.74,
    "unseen": -1.30,
    "run": 0.00,
    "shape": 1.74,
    "exact": 0.64,
    "same": 1.00,
    "own worked": -2.48,
    "own failed": -0.04,
}


class Chances(NamedTuple):
    """How likely an action is to work, and to solve its task; how much is known of it or of its like;
    and the word that speaks against it most, "" where none does.
    """

    p_success: float
    p_solved: float
    evidence: float
    against: str
    usual: float


def forecast(
    levels: Levels, counts: Mapping[Level, Counts], moment: Moment, action: str
) -> Chances:
    """How likely an action is to work. Of what nobody knows, what is usual, and no more."""
    works = find_features(levels, counts, moment, action, solving=False)
    solves = find_features(levels, counts, moment, action, solving=True)
    usual = _share(counts.get(EACH, _NO_COUNTS), _GUESS, _GUESS_STRENGTH, solving=False)
    evidence = measure_evidence(levels, counts, moment, action)
    if not evidence:
        return Chances(usual, usual * to_share(solves.general["usual"]), 0.0, "", usual)
    p_success = to_share(combine(works, WORKS))
    p_solved = p_success * to_share(combine(solves, SOLVES))
    return Chances(p_success, p_solved, evidence, works.against, usual)


def combine(features: Features, weights: Weights) -> float:
    """The log-odds that all levels come to: the general ones are added up, and each special one moves
    that as far as it has evidence.
    """
    odds = math.fsum(weights[name] * value for name, value in features.general.items())
    for name, strength in SPECIAL.items():
        good, tried = features.special[name]
        moved = log_odds((good + strength * to_share(odds)) / (tried + strength)) - odds
        odds += weights[name] * moved
    return odds + math.fsum(weights[name] * value for name, value in features.own.items())


def measure_evidence(
    levels: Levels, counts: Mapping[Level, Counts], moment: Moment, action: str
) -> float:
    """How many attempts at an action or its like are known, and not only at anything."""
    if moment.find_own(action) is not None:
        return 1.0
    special = ("program", "command", "task", "shape", "exact", "same")
    named = [levels.named[name] for name in special if name in levels.named]
    known = [counts[level] for level in named if level in counts]
    evidence = max((one.failed + one.good for one in known), default=0.0)
    if not evidence:
        by_word = max((counts[word].tried for word in levels.words if word in counts), default=0.0)
        evidence = by_word if by_word >= _WORD_KNOWN_FROM else 0.0
    return evidence


class Features(NamedTuple):
    """What the weights are multiplied with. `general`: by how much, in log-odds, each level moves what
    a more general one lets expect, 0 where it is not known. `special`: in how much of the evidence on
    the action itself it went well, and of how much. `own`: what this run saw of it. `against` is the
    word that speaks against the action most, "" where none does.
    """

    general: dict[str, float]
    special: dict[str, tuple[float, float]]
    own: dict[str, float]
    against: str


def find_features(
    levels: Levels, counts: Mapping[Level, Counts], moment: Moment, action: str, *, solving: bool
) -> Features:
    """Of whether an action works, or of whether it solves its task where it works."""
    everything = counts.get(EVERYTHING, _NO_COUNTS)
    guess = _GUESS_SOLVED if solving else _GUESS
    shares = {"all": _share(everything, guess, _GUESS_STRENGTH, solving=solving)}
    usual = log_odds(shares["all"])
    general = {"always": 1.0, "usual": usual}
    for name, rung in _RUNGS.items():
        above = next(shares[more] for more in (*rung.above, "all") if more in shares)
        general[name] = 0.0
        if name in levels.named:
            known = counts.get(levels.named[name], _NO_COUNTS)
            shares[name] = _share(known, above, rung.strength, solving=solving)
            if known != everything:  # what holds all that there is tells nothing new
                general[name] = log_odds(shares[name]) - log_odds(above)
    kind = next(shares[name] for name in ("command", "program", "all") if name in shares)
    general["word"], against = _find_worst(levels, counts, kind, solving=solving)
    # a line whose words nobody has used here may name what there is not
    unseen = sum(word not in counts for word in levels.words) / max(1, len(levels.words))
    sure = everything.tried / (everything.tried + _MANY)
    general["unseen"] = 0.0 if "\n" in action.strip() else unseen * sure
    rate = (moment.taken - moment.failed + _RUN_STRENGTH * shares["all"]) / (
        moment.taken + _RUN_STRENGTH
    )
    general["run"] = 0.0 if solving else log_odds(rate) - usual
    special: dict[str, tuple[float, float]] = {}
    before = (0.0, 0.0)
    for name in SPECIAL:
        counted = _count(counts.get(levels.named.get(name, _NOTHING), _NO_COUNTS), solving=solving)
        # the same evidence twice would feign certainty
        special[name] = (0.0, 0.0) if counted == before else counted
        before = counted
    failed = moment.find_own(action)
    own = {"own worked": float(failed is False), "own failed": float(failed is True)}
    return Features(general, special, own, against)


def _find_worst(
    levels: Levels, counts: Mapping[Level, Counts], expected: float, *, solving: bool
) -> tuple[float, str]:
    """By how much the word with the worst record moves what is expected, and which one that is; 0 and
    "" where none speaks against it. An action fails when any one part of it is wrong.
    """
    worst, against = 0.0, ""
    for word in levels.words:
        known = counts.get(word, _NO_COUNTS)
        if _count(known, solving=solving)[1] and known != counts.get(EVERYTHING):
            share = _share(known, expected, _WORD_STRENGTH, solving=solving)
            moved = log_odds(share) - log_odds(expected)
            if moved < worst:
                worst, against = moved, word.which
    return worst, against


def _count(counts: Counts, *, solving: bool) -> tuple[float, float]:
    """How much went well, or solved of what worked, and of how much."""
    return (counts.solved, counts.ended) if solving else (counts.good, counts.tried)


def _share(counts: Counts, expected: float, strength: float, *, solving: bool) -> float:
    """The share of it, where so many attempts went as expected."""
    good, tried = _count(counts, solving=solving)
    return (good + strength * expected) / (tried + strength)
