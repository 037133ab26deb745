"""Who is believed how far: a source is an author, and counts at most like one careful colleague
beside others. Whoever has a field alone is believed.
Sources take turns among lines that are about as good.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import count
from typing import Final, NamedTuple, TypeVar

from hardwon import limits
from hardwon.records.kinds import OWN_HISTORY

# After so many it ages no more: nothing newer speaks against what lay still for years, or came in
# with an older history.
HALF_LIVES_MAX: Final = 2

# Of the places of a list of what helps, for a source that nobody vouches for, where others have
# something relevant to say: a planted record must not fill it.
_SOURCE_SHARE_MAX: Final = 0.2

T = TypeVar("T")


@lru_cache(maxsize=8_192)
def age_weight(day: int, today: int) -> float:
    """1 for today (and for clocks that run ahead), half after a half-life, never less than what is
    left after the last one.
    """
    return math.exp2(-min(max(0, today - day) / limits.HALF_LIFE_DAYS, HALF_LIVES_MAX))


class Votes(NamedTuple):
    """What one author says of something: how much it weighs, and how much of that is vouched for."""

    weight: float
    vouched: float


def fair_parts(votes: Mapping[str, Votes], *, alone: bool = True) -> dict[str, float]:
    """The part of each author's word that counts, beside what is vouched for: nobody counts for
    more than the one other who has most to say, or than one careful colleague. Who has a whole
    field `alone` is believed: there is nobody to disagree. So is the owner's history.
    """
    parts = dict.fromkeys(votes, 1.0)
    others_say = {author: vote for author, vote in votes.items() if author != OWN_HISTORY}
    if alone and len(others_say) < 2:
        return parts
    *_, second, first = sorted([0.0, 0.0, *(vote.weight for vote in others_say.values())])
    for author, (weight, vouched) in others_say.items():
        others = second if weight == first else first
        fair = vouched + min(weight - vouched, max(limits.SOURCE_VOTES, others))
        parts[author] = min(1.0, fair / weight) if weight > 0 else 1.0
    return parts


def by_turns(things: Iterable[T], source: Callable[[T], str | None]) -> list[T]:
    """In their order, but each source's first before any one's second, and before both what several
    say, or somebody vouches for: of that, `source` is None.
    """
    before = defaultdict[str, "count[int]"](count)
    turns = [
        (-1 if (name := source(thing)) is None else next(before[name]), place, thing)
        for place, thing in enumerate(things)
    ]
    return [thing for _, _, thing in sorted(turns, key=lambda turn: turn[:2])]


def few_of_each(things: Iterable[T], source: Callable[[T], str | None], most: int) -> Iterator[T]:
    """In their order, without what is more than so many from one source alone."""
    before = defaultdict[str, "count[int]"](count)
    return (
        thing for thing in things if (name := source(thing)) is None or next(before[name]) < most
    )


def share_out(
    things: Iterable[T], source: Callable[[T], str | None], places: int, sources: int
) -> Iterator[T]:
    """In their order, but without what is more from one source alone than its share of the places;
    all of it where no other source has anything to say. `source` is None for what several say, or
    somebody vouches for. Of so many `sources` in all: when each has its share, nothing is looked
    for any longer.
    """
    most = max(1, int(_SOURCE_SHARE_MAX * places))
    counts: dict[str | None, int] = {}
    more: list[T] = []
    served = 0
    for thing in things:
        name = source(thing)
        counts[name] = counts.get(name, 0) + 1
        served += name is not None and counts[name] == most
        if name is None or counts[name] <= most:
            yield thing
        else:
            more.append(thing)
        if served == sources:
            break
    if len(counts) == 1:
        yield from more
