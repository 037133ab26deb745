"""How often what should occur in a realistic data set, and the whole numbers that come closest to it.

Ranges are in percent. Outcomes and tools are shares of all memories; error types are shares of the failures that name one, task
types of what the code interpreter did well. Memories without a tool (learning, interaction) count in the shares of tools too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

Range = tuple[int, int]
Ranges = Mapping[str, Range]

OUTCOME_RANGES: Final[Ranges] = {"success": (55, 65), "failure": (15, 25), "learning": (10, 15), "interaction": (5, 10)}
TOOL_RANGES: Final[Ranges] = {
    "code_interpreter": (40, 50),
    "web_search": (15, 20),
    "file_operation": (10, 15),
    "conversation": (5, 10),
}
ERROR_RANGES: Final[Ranges] = {"runtime": (35, 45), "syntax": (20, 30), "logic": (20, 30), "timeout": (5, 10)}
TASK_RANGES: Final[Ranges] = {"debug": (35, 45), "write": (25, 35), "refactor": (15, 25), "explain": (5, 10)}

Counts = dict[str, int]


def is_within(count: int, base: int, target: Range) -> bool:
    """Whether the share is in its range, as far as whole numbers can be: 5 to 10 % of 50 are 2 to 5."""
    least, most = target
    return least * base // 100 <= count <= -(-most * base // 100)


def split(
    total: int,
    weights: Mapping[str, int],
    ranges: Ranges | None = None,
    base: int | None = None,
    least: Mapping[str, int] | None = None,
) -> Counts:
    """Whole numbers that add up to the total: none below its `least`, as many as possible within their ranges (of `base`, or
    of the total), and as close to the weights as that allows. The sum of `least` must not exceed the total."""
    ranges, least = ranges or {}, least or {}
    base = total if base is None else base
    whole = sum(weights.values())

    def cost(name: str, count: int) -> tuple[int, int]:
        low, high = ranges.get(name, (0, 0))
        outside = max(0, low * base - 100 * count, 100 * count - high * base) if name in ranges else 0
        return outside, (count * whole - weights[name] * total) ** 2

    def change(name: str, step: int) -> tuple[int, int]:
        after, before = cost(name, counts[name] + step), cost(name, counts[name])
        return after[0] - before[0], after[1] - before[1]

    counts = {name: max(least.get(name, 0), weight * total // whole) for name, weight in weights.items()}
    while sum(counts.values()) < total:
        counts[min(counts, key=lambda name: change(name, 1))] += 1
    while sum(counts.values()) > total:
        spare = [name for name in counts if counts[name] > least.get(name, 0)]
        counts[min(spare, key=lambda name: change(name, -1))] -= 1
    while True:  # each turn makes the sum of costs smaller, so it ends
        spare = [name for name in counts if counts[name] > least.get(name, 0)]
        giver = min(spare, key=lambda name: change(name, -1), default=None)
        taker = min((name for name in counts if name != giver), key=lambda name: change(name, 1), default=None)
        if giver is None or taker is None:
            return counts
        gives, takes = change(giver, -1), change(taker, 1)
        if (gives[0] + takes[0], gives[1] + takes[1]) >= (0, 0):
            return counts
        counts[giver] -= 1
        counts[taker] += 1
