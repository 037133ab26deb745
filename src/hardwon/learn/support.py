"""What speaks for an item: its tallies, added up, and what was claimed for it without records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from hardwon import limits
from hardwon.learn.adopted import Claim
from hardwon.learn.confidence import age_weight
from hardwon.learn.lessons import DAY_US, LEVELS, MILLIONTHS, Tally

T = TypeVar("T")


@dataclass
class Support:
    """Every tally of one item. A record counts once per item, so `records` are distinct ones. `claims` are no records, and in
    none of the counts but `vouched`."""

    item: str
    records: int = 0
    vouched: int = 0
    total: int = 0
    best: int = 0
    authors: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)
    first_day: int = 0
    newest: list[tuple[int, str]] = field(default_factory=list)
    tallies: list[Tally] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)

    def add(self, tally: Tally) -> None:
        self._seen_on(tally.day)
        times = tally.times
        self.records += times
        self.vouched += tally.vouched
        self.total += tally.total
        self.best = max(self.best, tally.best)
        self.authors.add(tally.author)
        self.keys.add(tally.key)
        self.newest.append((tally.last_us, tally.last_id))
        self.tallies.append(tally)

    def claim(self, claim: Claim) -> None:
        self._seen_on(claim.at_us // DAY_US)
        self.vouched += claim.vouched
        self.authors.add(claim.author)
        self.newest.append((claim.at_us, claim.record_id))
        self.claims.append(claim)

    def _seen_on(self, day: int) -> None:
        self.first_day = min(self.first_day, day) if self.newest else day

    @property
    def levels(self) -> list[int]:
        """How often it was seen at each level."""
        return [sum(times) for times in zip(*(tally.levels for tally in self.tallies), strict=True)] or [0] * LEVELS

    @property
    def mean(self) -> float:
        return self.total / self.records / MILLIONTHS if self.records else 0.0

    @property
    def seen_before(self) -> int:
        """How often it was seen before it was adopted, as whoever counted it says."""
        most: dict[str, int] = {}
        for claim in self.claims:
            most[claim.author] = max(most.get(claim.author, 0), claim.seen)
        return sum(most.values())

    @property
    def only_claimed(self) -> bool:
        """Whether it was adopted, without a record that says so and without anybody who vouches for it."""
        return not self.records and not self.vouched

    @property
    def only_source(self) -> str | None:
        """None where there are several, or somebody vouches for it."""
        return next(iter(self.authors)) if len(self.authors) == 1 and not self.vouched else None

    @property
    def claimants(self) -> int:
        """How many say so without records: one that says it in several files is still one."""
        return len({claim.author for claim in self.claims})

    @property
    def last_us(self) -> int:
        return max(self.newest)[0]

    @property
    def last_recorded_us(self) -> int:
        """When a record said so last; where none did, a claim."""
        return max((tally.last_us for tally in self.tallies), default=self.last_us)

    @property
    def evidence(self) -> list[str]:
        """The newest records of different days, authors and outcomes; the same ones whatever the order of arrival."""
        newest = sorted(set(self.newest), reverse=True)
        return [record_id for _, record_id in newest[: limits.EVIDENCE_SHOWN_MAX]]

    @property
    def spokesmen(self) -> list[str]:
        """Whose words are shown: first of records on days with a vouched one, then of the author who taught it most, then
        the newest; what was only claimed comes last. A single newcomer never puts other words into what others taught."""
        taught: dict[str, int] = {}
        for tally in self.tallies:
            taught[tally.author] = taught.get(tally.author, 0) + tally.times
        ordered = sorted(
            self.tallies, key=lambda tally: (tally.vouched > 0, taught[tally.author], tally.last_us, tally.last_id)
        )
        records = list(dict.fromkeys(tally.last_id for tally in reversed(ordered)))[: limits.EVIDENCE_SHOWN_MAX]
        claimed = sorted(self.claims, key=lambda claim: (claim.at_us, claim.record_id), reverse=True)
        return [*records, *(claim.record_id for claim in claimed)]

    def weight(self, today: int) -> float:
        """Records, and whoever claims it for one, all counting less as they age."""
        claimed: dict[str, float] = {}
        for claim in self.claims:
            weight = age_weight(claim.at_us // DAY_US, today)
            claimed[claim.author] = max(claimed.get(claim.author, 0.0), weight)
        return sum(claimed.values()) + sum(tally.times * age_weight(tally.day, today) for tally in self.tallies)


def shared_out(things: Iterable[T], source: Callable[[T], str | None], places: int, sources: int) -> Iterator[T]:
    """In their order, but without what is more from one source alone than its share of the places; all of it where no other
    source has anything to say. `source` is None for what several say, or somebody vouches for. Of so many `sources` in all:
    when each has its share, nothing is looked for any longer."""
    most = max(1, int(limits.SOURCE_SHARE_MAX * places))
    told: dict[str | None, int] = {}
    more: list[T] = []
    served = 0
    for each in things:
        name = source(each)
        told[name] = told.get(name, 0) + 1
        served += name is not None and told[name] == most
        if name is None or told[name] <= most:
            yield each
        else:
            more.append(each)
        if served == sources:
            break
    if len(told) == 1:
        yield from more


def gather(tallies: Iterable[Tally], same: Mapping[str, str] | None = None) -> dict[str, Support]:
    """The support of each item. `same` names, for items that were merged, the one that stands for all of them."""
    supports: dict[str, Support] = {}
    for tally in tallies:
        item = same.get(tally.item, tally.item) if same else tally.item
        support = supports.get(item)
        if support is None:
            support = supports[item] = Support(item)
        support.add(tally)
    return supports
