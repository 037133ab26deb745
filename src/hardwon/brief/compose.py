"""Which lines are said: as many as there is room for, each once, sources taking turns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from hardwon.brief.lines import Line

# Of the best line's relevance: who is less relevant displaces nobody.
RELEVANT_FROM: Final = 0.6


@dataclass
class Budget:
    """The tokens that are left, what was said, how often each source spoke, and what was left out
    and why.
    """

    left: int
    count: Callable[[str], int]
    lines: list[tuple[int, Line]] = field(default_factory=list)
    left_out: list[tuple[Line, str]] = field(default_factory=list)
    said: set[str] = field(default_factory=set)
    turns: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # lines are weighed again and again, and a caller's counter may be slow
        self.cost_of = cache(self.count)

    def cost(self, line: str) -> int:
        return self.cost_of(f"- {line}\n")

    def turn_of(self, source: str | None) -> int:
        """How often it spoke already; who is vouched for never waits."""
        return 0 if source is None else self.turns.get(source, 0)

    def fits(self, line: Line, allowed: int) -> str:
        """The text of the line, or a shorter one, of at most so many tokens; empty where there is
        none.
        """
        most = allowed if line.tokens_max is None else min(allowed, line.tokens_max)
        if self.cost(line.text) <= most:
            return line.text
        shorter = line.shorter(most) if line.shorter else ""
        return shorter if shorter and self.cost(shorter) <= allowed else ""

    def add(self, place: int, line: Line) -> int:
        cost = self.cost(line.text)
        self.lines.append((place, line))
        self.left -= cost
        self.said |= line.about
        source = line.only_source
        if source is not None:
            self.turns[source] = self.turns.get(source, 0) + 1
        return cost

    def complete(self) -> None:
        """Lines are said whole as far as there is room left, those first that came first."""
        for number, (place, line) in enumerate(self.lines):
            more = self.cost(line.whole) - self.cost(line.text) if line.whole else 0
            if 0 < more <= self.left:
                self.lines[number] = place, line._replace(text=line.whole)
                self.left -= more


def add_by_turns(
    lines: Sequence[Line],
    first: Collection[Line],
    places: Mapping[str, int],
    pools: Mapping[str, int],
    budget: Budget,
) -> list[Line]:
    """As many of the lines as there is room for, in their order, each source's first before any one's
    second among those that are about as relevant. `first` are looked at before the others; what was
    only claimed comes after everything that was recorded. `places` is how many of a sort are said,
    `pools` how many tokens those of a pool may have together.
    """
    free, left = dict(places), dict(pools)
    floor = RELEVANT_FROM * max((line.relevance or 0.0 for line in lines), default=0.0)
    ordered = sorted(enumerate(lines), key=lambda pair: pair[1] not in first)
    rounds: list[list[tuple[int, Line, str | None]]] = [[], [], []]
    for place, line in ordered:
        less = line.relevance is not None and line.relevance < floor
        rounds[2 if line.only_claimed else int(less)].append((place, line, line.only_source))
    for number, order in enumerate(rounds):
        # who speaks alone waits for nobody
        turns = number != 1 and len({source for *_, source in order}) > 1
        turn = 0
        while order:
            waiting = []
            for place, line, source in order:
                if turns and budget.turn_of(source) > turn:
                    waiting.append((place, line, source))
                    continue
                reason = "" if budget.said.isdisjoint(line.about) else "said already"
                if not reason and free.get(line.sort, 1) <= 0:
                    reason = "enough of its sort"
                if not reason:
                    text = budget.fits(line, min(budget.left, left.get(line.pool, budget.left)))
                    if text:
                        cut = line if text == line.text else line._replace(text=text)
                        cost = budget.add(place, cut)
                        free |= {line.sort: free[line.sort] - 1} if line.sort in free else {}
                        left |= {line.pool: left[line.pool] - cost} if line.pool in left else {}
                        continue
                    reason = "no room"
                budget.left_out.append((line, reason))
            order = waiting
            turn += 1
    budget.complete()
    return [line for _, line in sorted(budget.lines, key=lambda pair: pair[0])]
