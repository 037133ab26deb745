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

from hardwon.lessons.sources import Votes, fair_parts

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
# From here on what several say is told before what one alone does.
_LIKELY_FROM: Final = 0.5
# What nobody has tried yet: a third of an attempt that failed.
_DOUBT: Final = 0.3


@dataclass(frozen=True)
class Evidence:
    """One time that a failure was met: what stood between it and its going away, in order (None: it
    did not go away), and what was tried in vain. `source` is who tells it, `record_id` where;
    `checked`: it was seen that the failure was gone. `vouched`: somebody vouches for it.
    """

    cure: tuple[str, ...] | None
    in_vain: tuple[str, ...]
    at_us: int
    source: str
    record_id: str
    checked: bool = True
    vouched: bool = False


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
    sources: frozenset[str]


def weigh_cures(
    met: Sequence[Evidence],
    how_common: Callable[[str], float],
    is_about: Callable[[str], bool] = lambda _: False,
    *,
    alone: bool = True,
) -> list[Cure]:
    """What helped against a failure, the likeliest first and, of what is as likely, the last one;
    nothing where nothing ever did. `how_common` tells of an action in how many of the other runs the
    like of it is done, `is_about` whether it names what the failure names. `alone`: nobody but who tells of this did
    anything here at all.
    """
    parts = _find_parts(met, alone=alone)
    in_vain = _weigh_in_vain(met, parts)
    gone = [time for time in met if time.cure is not None]
    passes = sum(not time.cure for time in gone) / max(1, len(gone))
    shares = [_weigh_candidates(time.cure or (), how_common, is_about, passes) for time in gone]
    worth = [parts[time.source] * (1.0 if time.checked else _UNCHECKED_WORTH) for time in gone]
    present: dict[str, float] = {}
    for weights, much in zip(shares, worth, strict=True):
        for action in weights:
            present[action] = present.get(action, 0.0) + much
    credit, helped = _share_credit(shares, worth, present, in_vain)
    seen: dict[str, list[Evidence]] = defaultdict(list)
    for time, weights in zip(gone, shares, strict=True):
        for action in weights:
            seen[action].append(time)
    vain_times = Counter(action for time in met for action in set(time.in_vain))
    cures = [
        Cure(
            action,
            helped[action],
            len(times) + vain_times[action],
            credit[action] / (present[action] + in_vain[action] + _DOUBT),
            max(time.at_us for time in times),
            tuple(dict.fromkeys(time.record_id for time in reversed(times))),
            frozenset(time.source for time in times),
        )
        for action, times in seen.items()
        if action != _BY_ITSELF
    ]
    cures += _tried_in_vain(met, {cure.action for cure in cures})
    vouched = {action for action, times in seen.items() if any(time.vouched for time in times)}

    def get_place(cure: Cure) -> tuple[bool, bool, float, int, str]:
        """Where it stands: what somebody vouches for first, then what several say."""
        is_first = cure.action in vouched and cure.helped > 0
        is_shared = len(cure.sources) > 1 and cure.p_helps >= _LIKELY_FROM
        return not is_first, not is_shared, -round(cure.p_helps, 1), -cure.last_us, cure.action

    return sorted(cures, key=get_place)


def _find_parts(met: Sequence[Evidence], *, alone: bool) -> dict[str, float]:
    """The part of each source's word that counts: however much it writes, it cannot outweigh others."""
    times = Counter(time.source for time in met)
    vouched = Counter(time.source for time in met if time.vouched)
    votes = {name: Votes(times[name], vouched[name]) for name in sorted(times)}
    return fair_parts(votes, alone=alone)


def _weigh_in_vain(met: Sequence[Evidence], parts: Mapping[str, float]) -> dict[str, float]:
    """How much speaks against each action that was tried in vain."""
    in_vain: dict[str, float] = defaultdict(float)
    for time in met:
        for action in set(time.in_vain):
            in_vain[action] += parts[time.source]
    return in_vain


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
            frozenset(time.source for time in times),
        )
        for action, times in tried.items()
    ]


def _weigh_candidates(
    actions: Sequence[str],
    how_common: Callable[[str], float],
    is_about: Callable[[str], bool],
    passes: float,
) -> dict[str, float]:
    """How well each of the changes explains that the failure went, before anything else is known, the
    last one best; and how well nothing does, under `_BY_ITSELF`. `passes` is the share of times that
    it went by itself. They need not add up to one.
    """
    weights = {_BY_ITSELF: _BY_ITSELF_WEIGHT + passes}
    for action in actions:
        place = 1.0 if action == actions[-1] else _EARLIER_WEIGHT
        # however common its like is: what names this is done because of it
        weight = _ABOUT_WEIGHT if is_about(action) else 1 / (1 + _COMMON * how_common(action))
        weights[action] = place * weight
    return weights


def _share_credit(
    shares: Sequence[dict[str, float]],
    worth: Sequence[float],
    present: Mapping[str, float],
    in_vain: Mapping[str, float],
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
