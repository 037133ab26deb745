"""Which lines are said: as many as there is room for, each once, sources taking turns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from hardwon.tell.lines import Draft

# Of the best line's relevance: who is less relevant displaces nobody.
_RELEVANT_FROM: Final = 0.6


@dataclass
class Budget:
    """The tokens that are `left`, the lines that were taken with their places, how often each source
    spoke, and what was left out and why. `about` are the keys of what the lines are about.
    """

    left: int
    count: Callable[[str], int]
    lines: list[tuple[int, Draft]] = field(default_factory=list)
    left_out: list[tuple[Draft, str]] = field(default_factory=list)
    about: set[str] = field(default_factory=set)
    turns: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # lines are weighed again and again, and a caller's counter may be slow
        self.cost_of = cache(self.count)

    def cost(self, line: str) -> int:
        """What a line costs as an item of a list."""
        return self.cost_of(f"- {line}\n")

    def fit(self, draft: Draft, allowed: int) -> str:
        """The text of the line, or a shorter one, of at most so many tokens; "" where there is none."""
        most = allowed if draft.tokens_max is None else min(allowed, draft.tokens_max)
        if self.cost(draft.text) <= most:
            return draft.text
        shorter = draft.shorter(most) if draft.shorter else ""
        return shorter if shorter and self.cost(shorter) <= allowed else ""

    def take(self, place: int, draft: Draft) -> int:
        """Takes a line; what it costs."""
        cost = self.cost(draft.text)
        self.lines.append((place, draft))
        self.left -= cost
        self.about |= draft.about
        if draft.only_source is not None:
            self.turns[draft.only_source] = self.turns.get(draft.only_source, 0) + 1
        return cost


def choose_lines(
    drafts: Sequence[Draft],
    first: Collection[Draft],
    places: Mapping[str, int],
    pools: Mapping[str, int],
    budget: Budget,
) -> list[Draft]:
    """As many of the lines as there is room for, in their order, each source's first before any one's
    second among those that are about as relevant. `first` are looked at before the others; what was
    only claimed comes after everything that was recorded. `places` is how many of a sort are said,
    `pools` how many tokens those of a pool may have together.
    """
    free, left = dict(places), dict(pools)
    floor = _RELEVANT_FROM * max((draft.relevance or 0.0 for draft in drafts), default=0.0)
    rounds: list[list[tuple[int, Draft]]] = [[], [], []]
    for place, draft in sorted(enumerate(drafts), key=lambda pair: pair[1] not in first):
        is_less = draft.relevance is not None and draft.relevance < floor
        rounds[2 if draft.only_claimed else int(is_less)].append((place, draft))
    for number, order in enumerate(rounds):
        # who speaks alone waits for nobody
        takes_turns = number != 1 and len({draft.only_source for _, draft in order}) > 1
        turn = 0
        while order:
            waiting = []
            for place, draft in order:
                spoke = budget.turns.get(draft.only_source or "", 0)
                if takes_turns and draft.only_source and spoke > turn:
                    waiting.append((place, draft))
                else:
                    _consider(place, draft, free, left, budget)
            order, turn = waiting, turn + 1
    return [draft for _, draft in sorted(budget.lines, key=lambda pair: pair[0])]


def _consider(
    place: int, draft: Draft, free: dict[str, int], left: dict[str, int], budget: Budget
) -> None:
    """Takes a line if it says something new, its sort has a place left, and there is room for it."""
    reason = "no room"
    if not budget.about.isdisjoint(draft.about):
        reason = "said already"
    elif free.get(draft.sort, 1) <= 0:
        reason = "enough of its sort"
    elif text := budget.fit(draft, min(budget.left, left.get(draft.pool, budget.left))):
        cost = budget.take(place, draft if text == draft.text else draft._replace(text=text))
        if draft.sort in free:
            free[draft.sort] -= 1
        if draft.pool in left:
            left[draft.pool] -= cost
        return
    budget.left_out.append((draft, reason))
