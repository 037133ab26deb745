"""What speaks for an item (a rule, a card, a way of fixing an issue): its tallies, added up, and what
was adopted and claims it without records.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from hardwon import limits
from hardwon.lessons.counts import LEVELS, MILLIONTHS, Tally
from hardwon.lessons.sources import Votes, age_weight, fair_parts
from hardwon.records.kinds import OWN_HISTORY

# Ids of evidence that a rule, card, pattern or strategy names, or a tool tells for credit: enough to
# look it up, too few to bury it.
EVIDENCE_SHOWN_MAX: Final = 5

N = TypeVar("N", int, float)


@dataclass
class Evidence:
    """Every tally of one item. A record counts once per item, so `records` are distinct ones.
    `claims` are tallies of what was adopted: no records, and in none of the counts but `vouched`.
    """

    item: str
    tallies: list[Tally] = field(default_factory=list)
    claims: list[Tally] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)

    def add(self, *tallies: Tally) -> None:
        """Takes in tallies of records."""
        self.tallies += tallies
        self.keys.update(tally.key for tally in tallies)

    def claim(self, *claims: Tally) -> None:
        """Takes in tallies of claims."""
        self.claims += claims
        self.keys.update(claim.key for claim in claims if claim.key)

    @property
    def records(self) -> int:
        return sum(tally.times for tally in self.tallies)

    @property
    def vouched(self) -> int:
        return sum(tally.vouched for tally in (*self.tallies, *self.claims))

    @property
    def best(self) -> int:
        return max((tally.best for tally in self.tallies), default=0)

    @property
    def authors(self) -> set[str]:
        return {tally.author for tally in (*self.tallies, *self.claims)}

    @property
    def first_day(self) -> int:
        return min((tally.day for tally in (*self.tallies, *self.claims)), default=0)

    @property
    def newest(self) -> list[tuple[int, str]]:
        """When each was reported last, and by which record."""
        return [(tally.last_us, tally.last_id) for tally in (*self.tallies, *self.claims)]

    @property
    def levels(self) -> list[int]:
        """How often it was seen at each level."""
        if len(self.tallies) == 1:  # as most have
            return list(self.tallies[0].levels)
        return [
            sum(times) for times in zip(*(tally.levels for tally in self.tallies), strict=True)
        ] or [0] * LEVELS

    @property
    def fair_levels(self) -> list[int]:
        """The same with a fair part of what each author reports."""
        by_author = defaultdict[str, list[Tally]](list)
        for tally in self.tallies:
            by_author[tally.author].append(tally)
        votes = {
            author: Votes(sum(one.times for one in mine), sum(one.vouched for one in mine))
            for author, mine in by_author.items()
        }
        parts = fair_parts(votes)
        if min(parts.values(), default=1.0) == 1.0:
            return self.levels
        return [
            round(sum(parts[tally.author] * tally.levels[level] for tally in self.tallies))
            for level in range(LEVELS)
        ]

    @property
    def mean(self) -> float:
        total = sum(tally.total for tally in self.tallies)
        return total / self.records / MILLIONTHS if self.records else 0.0

    @property
    def seen_before(self) -> int:
        """How often it was seen before it was adopted, as whoever counted it reports."""
        return sum(self._greatest(lambda claim: claim.best))

    @property
    def only_claimed(self) -> bool:
        """Whether it was adopted, without a record that reports it and without anybody who vouches
        for it.
        """
        return not self.records and not self.vouched

    @property
    def only_source(self) -> str | None:
        """None where there are several, or somebody vouches for it, or it is the owner's history."""
        if len(self.authors) != 1 or self.vouched or OWN_HISTORY in self.authors:
            return None
        return next(iter(self.authors))

    @property
    def claimants(self) -> int:
        """How many claim it without records: one that does so in several files is still one."""
        return len({claim.author for claim in self.claims})

    @property
    def last_us(self) -> int:
        return max(self.newest)[0]

    @property
    def newest_ids(self) -> list[str]:
        """The newest records of different days, authors and outcomes; the same ones whatever the
        order of arrival.
        """
        newest = sorted(set(self.newest), reverse=True)
        return [record_id for _, record_id in newest[:EVIDENCE_SHOWN_MAX]]

    @property
    def sample_ids(self) -> list[str]:
        """Whose words are shown: first of records on days with a vouched one, then of the author
        who taught it most, then the newest; what was only claimed comes last. A single newcomer
        never puts other words into what others taught.
        """
        taught = defaultdict[str, int](int)
        for tally in self.tallies:
            taught[tally.author] += tally.times

        best_first = sorted(
            self.tallies,
            key=lambda one: (one.vouched > 0, taught[one.author], one.last_us, one.last_id),
            reverse=True,
        )
        records = list(dict.fromkeys(tally.last_id for tally in best_first))
        claims = sorted(self.claims, key=lambda claim: (claim.last_us, claim.last_id), reverse=True)
        return [*records[:EVIDENCE_SHOWN_MAX], *(claim.last_id for claim in claims)]

    def weight(self, today: int) -> float:
        """Records, and whoever claims it for one, all counting less as they age."""
        recorded = (tally.times * age_weight(tally.day, today) for tally in self.tallies)
        return self._claimed_weight(today) + sum(recorded)

    def fair_weight(self, today: int) -> float:
        """The same, where nobody counts for more than a careful colleague beside what somebody
        vouches for.
        """
        unchecked, vouched = defaultdict[str, float](float), 0.0
        for tally in self.tallies:
            weight = age_weight(tally.day, today)
            unchecked[tally.author] += (tally.times - tally.vouched) * weight
            vouched += tally.vouched * weight
        fair = (min(weight, limits.SOURCE_VOTES) for weight in unchecked.values())
        return self._claimed_weight(today) + vouched + sum(fair)

    def _claimed_weight(self, today: int) -> float:
        return sum(self._greatest(lambda claim: age_weight(claim.day, today)))

    def _greatest(self, figure: Callable[[Tally], N]) -> Iterable[N]:
        """Of each who claims it, the greatest figure."""
        return {claim.author: figure(claim) for claim in sorted(self.claims, key=figure)}.values()


def gather(tallies: Iterable[Tally], same: Mapping[str, str] | None = None) -> dict[str, Evidence]:
    """The evidence of each item; nothing where there are no tallies. `same` names, for items that
    were merged, the one that stands for all of them.
    """
    evidence: dict[str, Evidence] = {}
    for tally in tallies:
        item = same.get(tally.item, tally.item) if same else tally.item
        if item not in evidence:
            evidence[item] = Evidence(item)
        evidence[item].add(tally)
    return evidence
