"""Which ways of fixing an issue are worth another try, and which are not.

A strategy may have been tried for this very issue (the same signature), for its type on the same model, and for its type on
any model. The probability that it works now goes from the general to the specific, as everywhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from hardwon import limits
from hardwon.learn.confidence import STRATEGY_STRENGTH, Share, shrink
from hardwon.learn.patterns import RankedStrategy
from hardwon.learn.support import Support

Scope = Literal["signature", "model", "type"]
_ORDER: Final[Mapping[Scope, int]] = {"signature": 0, "model": 1, "type": 2}


class TriedIn(NamedTuple):
    """What was done, by strategy: for this very issue, for its type on its model, for its type anywhere."""

    signature: Mapping[str, Support]
    model: Mapping[str, Support]
    type: Mapping[str, Support]


@dataclass(frozen=True)
class Choice:
    """A strategy, with the counts of the scope that speaks for it (or against it), and the probability that it works for this
    issue. `failed_here`: for this very issue it was tried, and never worked."""

    scope: Scope
    ranked: RankedStrategy
    failed_here: bool


class Choices(NamedTuple):
    """What worked: for this very issue first, then on the same model, then anywhere; in each the likeliest first. And what is
    not to be repeated: for this very issue first, then what was tried most."""

    worked: list[Choice]
    failed: list[Choice]


def choices(tried: TriedIn, usual_p: float, today: int) -> Choices:
    """`usual_p` is what can be expected without knowing the strategy. A strategy is not to be repeated if it never worked and
    was tried twice, or once for this very issue; or if it never worked for this very issue, tried twice, and that is not one
    source's word against others for whom it works elsewhere. What was tried once, elsewhere, without success is neither."""
    worked: list[Choice] = []
    failed: list[Choice] = []
    for item in {**tried.type, **tried.model, **tried.signature}:
        found = {scope: supports[item] for scope, supports in _widest_first(tried).items() if item in supports}
        shares = {scope: Share.of(support.tallies, today) for scope, support in found.items()}
        p = _narrowed(list(shares.values()), usual_p)
        here = shares.get("signature", Share())
        failed_here = here.attempts > 0 and not here.verified
        good: list[Scope] = [scope for scope, share in shares.items() if share.verified]
        widest: Scope = next(iter(found))
        if good:
            hopeless = failed_here and here.attempts >= limits.FAILED_TRIES_MIN and not _one_against_others(found)
            scope: Scope = "signature" if hopeless else good[-1]
            chosen = Choice(scope, RankedStrategy(found[scope], shares[scope], p), failed_here)
            (failed if hopeless else worked).append(chosen)
        elif failed_here or shares[widest].attempts >= limits.FAILED_TRIES_MIN:
            failed.append(Choice(widest, RankedStrategy(found[widest], shares[widest], p), failed_here))
    worked.sort(key=lambda each: (_ORDER[each.scope], -each.ranked.p_success, *_newest_first(each)))
    failed.sort(key=lambda each: (not each.failed_here, -each.ranked.share.attempts, *_newest_first(each)))
    return Choices(worked, failed)


def _widest_first(tried: TriedIn) -> dict[Scope, Mapping[str, Support]]:
    return {"type": tried.type, "model": tried.model, "signature": tried.signature}


def _narrowed(shares: list[Share], usual_p: float) -> float:
    """From the widest scope to the narrowest. One that holds no less than the one before tells nothing new."""
    p, before = usual_p, None
    for share in shares:
        if before is None or share.attempts < before.attempts:
            p, before = shrink(share, p, STRATEGY_STRENGTH), share
    return p


def _one_against_others(found: Mapping[Scope, Support]) -> bool:
    """Whether a single source that nobody vouches for reports the failures here, and others tried the same elsewhere."""
    source = found["signature"].only_source
    return source is not None and any(support.authors != {source} for support in found.values())


def _newest_first(choice: Choice) -> tuple[int, str]:
    return -choice.ranked.support.last_us, choice.ranked.support.item
