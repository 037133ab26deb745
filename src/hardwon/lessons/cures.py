"""Which of the changes that stood between a failure and its going away was the cure.

A run tells only what was changed in between. Where that were several things, other runs tell them
apart: what was there whenever the failure went is likelier the cure than what was there once; what
was there and did not help is none; what is done all the time, whatever fails, explains little; and
a failure that goes away by itself needs no cure. Each time a failure went away, its credit is
shared among what could have been the cause, by how believable each is; and how believable each is
follows from the credit it got. A few rounds of that settle.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final

# What could be the cause besides everything that was changed: nothing. It needs little credit.
_BY_ITSELF: Final = ""
_BY_ITSELF_WEIGHT: Final = 0.1
# A change before the last one is half as likely the cause: whoever thought that
# it was mended would have looked.
_EARLIER_WEIGHT: Final = 0.5
# A change that names what the failure names is that much likelier the cause.
_ABOUT_WEIGHT: Final = 3.0
# What is done in every thirtieth run explains half as much as what is never done otherwise.
_COMMON: Final = 30
_ROUNDS: Final = 6
# What was done next and worked, where nobody looked whether the failure was gone, counts for half.
_LARGER_PART: Final = 0.5
_UNCHECKED_WORTH: Final = 0.5
# What nobody has tried yet: a third of an attempt that failed.
_DOUBT: Final = 0.3


@dataclass(frozen=True)
class Evidence:
    """One time that a failure was met: what stood between it and its going away, in order (None: it
    did not go away), and what was tried in vain. `source` is who tells it, `record_id` where;
    `checked`: it was seen that the failure was gone.
    """

    cure: tuple[str, ...] | None
    in_vain: tuple[str, ...]
    at_us: int
    source: str
    record_id: str
    checked: bool = True


@dataclass(frozen=True)
class Cure:
    """An action that may make a failure go away: how often it was `tried`, how many of these times
    it is likely what `helped`, and how likely it is to help.
    """

    action: str
    helped: int
    tried: int
    p_helps: float
    last_us: int
    evidence: tuple[str, ...]
    sources: int


def weigh_cures(
    met: Sequence[Evidence],
    how_common: Callable[[str], float],
    is_about: Callable[[str], bool] = lambda _: False,
) -> list[Cure]:
    """What helped against a failure, the likeliest first and, of what is as likely, the last one;
    nothing where nothing ever did. `how_common` tells of an action in how many of the other runs the
    like of it is done, `is_about` whether it names what the failure names.
    """
    in_vain = Counter(action for time in met for action in set(time.in_vain))
    gone = [time for time in met if time.cure is not None]
    passes = sum(not time.cure for time in gone) / max(1, len(gone))
    shares = [_weigh_candidates(time.cure or (), how_common, is_about, passes) for time in gone]
    worth = [1.0 if time.checked else _UNCHECKED_WORTH for time in gone]
    present: dict[str, float] = {}
    for weights, much in zip(shares, worth, strict=True):
        for action in weights:
            present[action] = present.get(action, 0.0) + much
    credit, helped = _share_credit(shares, worth, present, in_vain)
    seen: dict[str, list[Evidence]] = defaultdict(list)
    for time, weights in zip(gone, shares, strict=True):
        for action in weights:
            seen[action].append(time)
    cures = [
        Cure(
            action,
            helped[action],
            len(times) + in_vain[action],
            credit[action] / (present[action] + in_vain[action] + _DOUBT),
            max(time.at_us for time in times),
            tuple(dict.fromkeys(time.record_id for time in reversed(times))),
            len({time.source for time in times}),
        )
        for action, times in seen.items()
        if action != _BY_ITSELF
    ]
    cures += _tried_in_vain(met, {cure.action for cure in cures})
    return sorted(cures, key=lambda cure: (-round(cure.p_helps, 1), -cure.last_us, cure.action))


def _tried_in_vain(met: Sequence[Evidence], others: Set[str]) -> list[Cure]:
    """What was tried and never helped, as far as it is not among others."""
    tried: dict[str, list[Evidence]] = defaultdict(list)
    for time in met:
        for action in set(time.in_vain) - others:
            tried[action].append(time)
    return [
        Cure(
            action,
            0,
            len(times),
            0.0,
            max(time.at_us for time in times),
            tuple(dict.fromkeys(time.record_id for time in times)),
            len({time.source for time in times}),
        )
        for action, times in tried.items()
    ]


def _weigh_candidates(
    actions: Sequence[str],
    how_common: Callable[[str], float],
    is_about: Callable[[str], bool],
    passes: float,
) -> dict[str, float]:
    """How well each of the changes explains that the failure went, before anything else is known.
    `passes` is the share of times that it went by itself.
    """
    weights = {_BY_ITSELF: _BY_ITSELF_WEIGHT + passes}
    for action in actions:
        place = 1.0 if action == actions[-1] else _EARLIER_WEIGHT
        about = _ABOUT_WEIGHT if is_about(action) else 1.0
        weights[action] = about * place / (1 + _COMMON * how_common(action))
    return weights


def _share_credit(
    shares: Sequence[dict[str, float]],
    worth: Sequence[float],
    present: Mapping[str, float],
    in_vain: Counter[str],
) -> tuple[dict[str, float], Counter[str]]:
    """How much of each action's credit for the times that the failure went is left when it is shared,
    and how many of these times it has the larger part of it.
    """
    belief: dict[str, float] = dict.fromkeys(present, 1.0)
    credit: dict[str, float] = {}
    helped: Counter[str] = Counter()
    for _ in range(_ROUNDS):
        credit = dict.fromkeys(present, 0.0)
        helped.clear()
        for weights, much in zip(shares, worth, strict=True):
            whole = sum(weight * belief[action] for action, weight in weights.items())
            for action, weight in weights.items():
                share = weight * belief[action] / whole
                credit[action] += much * share
                helped[action] += share > _LARGER_PART
        belief = {
            action: (credit[action] + 0.1) / (times + in_vain[action] + 0.2)
            for action, times in present.items()
        }
    return credit, helped
