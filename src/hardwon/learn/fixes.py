"""What was done after an error, and whether it helped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hardwon.lessons.counts import Tally
from hardwon.lessons.evidence import Evidence
from hardwon.lessons.fix_odds import FIRST_GUESS, Attempts, add_up, count_tally, hear_fairly
from hardwon.lessons.fixes import RankedStrategy
from hardwon.records.fields import Tabular


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
    usual = _count(whole, today, alone).shrink(FIRST_GUESS, "all")
    # most were tried once, and came to the same
    alike: dict[CameTo, tuple[tuple[bool, float, int], Attempts]] = {}
    ranked = []
    for item, mine in tried.items():
        came_to = tuple([each[:-2] for each in mine])
        if came_to not in alike:
            tallies = [_tally(item, each) for each in came_to]
            share = _count(tallies, today, alone)
            # one alone is all that there is, and counted already
            p_helped = share.shrink(usual, "strategy") if len(tried) > 1 else usual
            alike[came_to] = (not share.is_believed, -p_helped, -share.attempts), share
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


def _count(tallies: Sequence[Tally], today: int, alone: bool) -> Attempts:
    by_author: dict[str, list[Attempts]] = {}
    for tally in tallies:
        failed, helped, *_ = tally.levels
        shown = tally._replace(levels=(failed, 0, helped))
        by_author.setdefault(tally.author, []).append(count_tally(shown, today))
    return hear_fairly({name: add_up(said) for name, said in by_author.items()}, alone=alone)
