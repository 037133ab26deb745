"""What speaks for an item (a way of fixing an issue, an issue type, the scores of a task): its tallies,
added up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from hardwon.lessons.counts import LEVELS, MILLIONTHS, Tally
from hardwon.records.kinds import OWN_HISTORY

# Ids of evidence that a rule, card, pattern or strategy names, or a tool tells for credit: enough to
# look it up, too few to bury it.
EVIDENCE_SHOWN_MAX: Final = 5


@dataclass
class Evidence:
    """Every tally of one item. A record counts once per item, so `records` are distinct ones."""

    item: str
    tallies: list[Tally] = field(default_factory=list)

    @property
    def records(self) -> int:
        return sum(tally.times for tally in self.tallies)

    @property
    def vouched(self) -> int:
        return sum(tally.vouched for tally in self.tallies)

    @property
    def best(self) -> int:
        return max((tally.best for tally in self.tallies), default=0)

    @property
    def authors(self) -> set[str]:
        return {tally.author for tally in self.tallies}

    @property
    def first_day(self) -> int:
        return min((tally.day for tally in self.tallies), default=0)

    @property
    def newest(self) -> list[tuple[int, str]]:
        """When each was reported last, and by which record."""
        return [(tally.last_us, tally.last_id) for tally in self.tallies]

    @property
    def levels(self) -> list[int]:
        """How often it was seen at each level."""
        if len(self.tallies) == 1:  # as most have
            return list(self.tallies[0].levels)
        return [
            sum(times) for times in zip(*(tally.levels for tally in self.tallies), strict=True)
        ] or [0] * LEVELS

    @property
    def mean(self) -> float:
        total = sum(tally.total for tally in self.tallies)
        return total / self.records / MILLIONTHS if self.records else 0.0

    @property
    def only_source(self) -> str | None:
        """None where there are several, or somebody vouches for it, or it is the owner's history."""
        if len(self.authors) != 1 or self.vouched or OWN_HISTORY in self.authors:
            return None
        return next(iter(self.authors))

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
        who taught it most, then the newest. A single newcomer never puts other words into what others
        taught.
        """
        taught = Counter[str]()
        for tally in self.tallies:
            taught[tally.author] += tally.times
        best_first = sorted(
            self.tallies,
            key=lambda one: (one.vouched > 0, taught[one.author], one.last_us, one.last_id),
            reverse=True,
        )
        return list(dict.fromkeys(tally.last_id for tally in best_first))[:EVIDENCE_SHOWN_MAX]


def gather(tallies: Iterable[Tally]) -> dict[str, Evidence]:
    """The evidence of each item; nothing where there are no tallies."""
    evidence: dict[str, Evidence] = {}
    for tally in tallies:
        evidence.setdefault(tally.item, Evidence(tally.item)).tallies.append(tally)
    return evidence
