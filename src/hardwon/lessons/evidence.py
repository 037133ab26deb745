"""What speaks for an item (a way of fixing an issue, an issue type, a task): its tallies,
added up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from hardwon.lessons.counts import Tally
from hardwon.records.kinds import OWN_HISTORY

# Ids of evidence that a rule, card, pattern or strategy names, or a tool tells for credit: enough to
# look it up, too few to bury it.
EVIDENCE_SHOWN_MAX: Final = 5


@dataclass
class Evidence:
    """Every tally of one item. A record counts once per item, so `records` are distinct ones. `last_us` is
    when the last of them was kept, where that matters.
    """

    item: str
    tallies: list[Tally] = field(default_factory=list)
    last_us: int = 0

    @property
    def records(self) -> int:
        return sum(tally.times for tally in self.tallies)

    @property
    def vouched(self) -> int:
        return sum(tally.vouched for tally in self.tallies)

    @property
    def authors(self) -> set[str]:
        return {tally.author for tally in self.tallies}

    @property
    def only_source(self) -> str | None:
        """None where there are several, or somebody vouches for it, or it is the owner's history."""
        if len(self.authors) != 1 or self.vouched or OWN_HISTORY in self.authors:
            return None
        return next(iter(self.authors))


def gather(tallies: Iterable[Tally]) -> dict[str, Evidence]:
    """The evidence of each item; nothing where there are no tallies."""
    evidence: dict[str, Evidence] = {}
    for tally in tallies:
        evidence.setdefault(tally.item, Evidence(tally.item)).tallies.append(tally)
    return evidence
