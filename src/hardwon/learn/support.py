"""What speaks for an item: its tallies, added up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hardwon import limits
from hardwon.learn.confidence import age_weight
from hardwon.learn.lessons import LEVELS, MILLIONTHS, Tally


@dataclass
class Support:
    """Every tally of one item. A record counts once per item, so `records` are distinct ones."""

    item: str
    records: int = 0
    vouched: int = 0
    total: int = 0
    best: int = 0
    levels: list[int] = field(default_factory=lambda: [0] * LEVELS)
    authors: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)
    first_day: int = 0
    newest: list[tuple[int, str]] = field(default_factory=list)
    tallies: list[Tally] = field(default_factory=list)

    def add(self, tally: Tally) -> None:
        self.first_day = min(self.first_day, tally.day) if self.records else tally.day
        times = tally.times
        self.records += times
        self.vouched += tally.vouched
        self.total += tally.total
        self.best = max(self.best, tally.best)
        self.levels = [mine + more for mine, more in zip(self.levels, tally.levels, strict=True)]
        self.authors.add(tally.author)
        self.keys.add(tally.key)
        self.newest.append((tally.last_us, tally.last_id))
        self.tallies.append(tally)

    @property
    def mean(self) -> float:
        return self.total / self.records / MILLIONTHS if self.records else 0.0

    @property
    def last_us(self) -> int:
        return max(self.newest)[0]

    @property
    def evidence(self) -> list[str]:
        """The newest records of different days, authors and outcomes; the same ones whatever the order of arrival."""
        newest = sorted(set(self.newest), reverse=True)
        return [record_id for _, record_id in newest[: limits.EVIDENCE_SHOWN_MAX]]

    @property
    def spokesmen(self) -> list[str]:
        """Whose words are shown: first of records on days with a vouched one, then of the author who taught it most, then
        the newest. A single newcomer never puts other words into what others taught."""
        taught: dict[str, int] = {}
        for tally in self.tallies:
            taught[tally.author] = taught.get(tally.author, 0) + tally.times
        ordered = sorted(
            self.tallies, key=lambda tally: (tally.vouched > 0, taught[tally.author], tally.last_us, tally.last_id)
        )
        return list(dict.fromkeys(tally.last_id for tally in reversed(ordered)))[: limits.EVIDENCE_SHOWN_MAX]

    def weight(self, today: int) -> float:
        """Records, each counting less as it ages."""
        return sum(tally.times * age_weight(tally.day, today) for tally in self.tallies)


def gather(tallies: Iterable[Tally], same: Mapping[str, str] | None = None) -> dict[str, Support]:
    """The support of each item. `same` names, for items that were merged, the one that stands for all of them."""
    supports: dict[str, Support] = {}
    for tally in tallies:
        item = same.get(tally.item, tally.item) if same else tally.item
        supports.setdefault(item, Support(item)).add(tally)
    return supports
