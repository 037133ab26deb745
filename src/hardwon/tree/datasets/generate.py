"""`generate`: a data set of any size that looks like an agent's real history, the same for the same
seed.

Two descriptions of a realistic data set have to hold at once. One gives ranges over all memories
(`RANGES`). The other gives counts for 1,000 of them: outcomes
600/200/120/80, tools of the successes 300/120/90/90 (`_PAIRS`), and error types 80/50/50/20. The
last four add up to all 200 failures, while only those of the code interpreter have an error type
and those of other tools must be there as well: so these are the shares that its error types have.

Coverage comes before shares: from 10 memories on every pair of outcome and tool occurs, from 50 on
every value of every key.

The words are in `areas.json` (made-up programs, each with names that belong together) and
`words.json`: `groups` are bugs with their causes and cures, errors with their reasons, facts,
wishes; what stands in one entry hangs together, so that none fixes a deadlock by adding an index.
`numbers` may be named, from the least to the most. `wordings` are, by outcome, tool and value of
the routing key, contents with slots in braces, each with what its summary is made of and a slot
that tells two such summaries apart.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import permutations
from random import Random
from typing import Any, Final

from hardwon import limits
from hardwon.errors import T
from hardwon.records.fields import check_that, check_whole_number
from hardwon.records.kinds import ROUTES
from hardwon.tree.datasets.check import (
    RANGES,
    SHARES,
    MemorySort,
    Range,
    fingerprint,
    measure_shares,
)

# Memories that are made up at once. Beyond this the words run out, and contents would begin to
# resemble one another.
DATASET_GENERATED_MAX: Final = 100_000

SIZES: Final = {"small": 100, "medium": 1_000, "large": 10_000, "vast": 50_000}
PAIRS_FROM: Final = len(ROUTES)
VALUES_FROM: Final = 50

# Of 1,000 memories: how many of each outcome and tool, and the weights of what routes them.
_PAIRS: Final = {(outcome, tool): count for outcome, tool, count in SHARES["pairs"]}
_WEIGHTS: Final[Mapping[str, Mapping[str, int]]] = SHARES["values"]

_TRIES: Final = 200
_COUNTER_CHARS: Final = 6
_TELLING: Final = ("component", "function", "noun", "feature")
_SMALL_WORDS: Final = frozenset(
    "a an the and or of in on at to for from by with so that it its is was are be as".split()
)


def generate(size: int | str = "medium", seed: int = 0) -> list[dict[str, Any]]:
    """Memories as `remember(**memory)` takes them: content, outcome, tool, the key that routes it,
    summary.

    `size` is small (100), medium (1,000), large (10,000), vast (50,000) or a number. Contents are
    about made-up programs, no two alike; summaries are unique. How many there are of what is told
    at the top of this module.
    """
    count = SIZES.get(size, 0) if isinstance(size, str) else size
    is_size = isinstance(count, int) and 1 <= count <= DATASET_GENERATED_MAX
    allowed = f"{', '.join(SIZES)}, or a whole number from 1 to {DATASET_GENERATED_MAX}"
    check_that(is_size and not isinstance(count, bool), "size", size, allowed)
    check_whole_number("seed", seed, 0, limits.JSON_INT_ABS_MAX)
    random = Random(seed)
    writer = MemoryWriter(random)
    memories: list[dict[str, Any]] = []
    for sort in [sort for sort, number in plan(count).items() for _ in range(number)]:
        content, summary = writer.write(
            " ".join(filter(None, (sort.outcome, sort.tool, sort.value)))
        )
        memory = {"content": content, "outcome": sort.outcome, "tool": sort.tool}
        memory |= {sort.key: sort.value} if sort.key else {}
        memory["summary"] = summary
        memories.append({key: value for key, value in memory.items() if value})
    # by `random()` alone: it is the one method whose results Python promises to keep
    order = [(random.random(), number) for number in range(count)]
    return [memories[number] for _, number in sorted(order)]


def plan(size: int) -> dict[MemorySort, int]:
    """The sorts of memory in a data set of this size, with how many there are of each (at least
    one): as in the table, but where a memory more or less puts a share into its range.
    """
    has_values = size >= VALUES_FROM
    least = {
        pair: len(route[1]) if route and has_values else int(size >= PAIRS_FROM)
        for pair, route in ROUTES.items()
    }
    counts = split(size, _PAIRS, least)
    sorts = _divide(counts, has_values)
    while has_values and (missed := _count_misses(sorts)):
        moves = [
            {**counts, fewer: counts[fewer] - 1, more: counts[more] + 1}
            for fewer, more in permutations(counts, 2)
            if counts[fewer] > least[fewer]
        ]
        better = min(moves, key=lambda moved: _count_misses(_divide(moved, has_values)))
        divided = _divide(better, has_values)
        if _count_misses(divided) >= missed:
            break
        counts, sorts = better, divided
    return sorts


def _divide(counts: Mapping[tuple[str, str | None], int], every: bool) -> dict[MemorySort, int]:
    """So many of each pair of outcome and tool, by the values of its key; `every` one occurs."""
    sorts: dict[MemorySort, int] = {}
    for pair, route in ROUTES.items():
        if route is None:
            sorts[MemorySort(*pair)] = counts[pair]
            continue
        key, weights = route[0], _WEIGHTS[route[0]]
        by_value = split(counts[pair], weights, dict.fromkeys(weights, int(every)), RANGES.get(key))
        sorts |= {MemorySort(*pair, key, value): count for value, count in by_value.items()}
    return {sort: count for sort, count in sorts.items() if count}


def _count_misses(sorts: Mapping[MemorySort, int]) -> int:
    return sum(share.within is False for share in measure_shares(sorts))


def split(
    total: int,
    weights: Mapping[T, int],
    least: Mapping[T, int] | None = None,
    ranges: Mapping[T, Range] | None = None,
) -> dict[T, int]:
    """Whole numbers that add up to the total: none below its `least`, as many as possible within
    their ranges, and as close to the weights as that allows. The sum of `least` must not exceed the
    total.
    """
    least = {name: (least or {}).get(name, 0) for name in weights}
    shares = {name: weight * total / sum(weights.values()) for name, weight in weights.items()}
    low, high = dict(least), dict.fromkeys(weights, total)
    for name, (lowest, highest) in (ranges or {}).items():
        low[name] = max(least[name], -(-lowest * total // 100))
        high[name] = max(low[name], highest * total // 100)
    counts = {name: min(max(low[name], int(shares[name])), high[name]) for name in weights}
    while missing := total - sum(counts.values()):
        step = 1 if missing > 0 else -1
        # one that stays in its range, else any
        able = [name for name in counts if low[name] <= counts[name] + step <= high[name]]
        able = able or [name for name in counts if counts[name] + step >= least[name]]
        counts[max(able, key=lambda name: step * (shares[name] - counts[name]))] += step
    return counts


@cache
def _words() -> tuple[
    dict[str, list[dict[str, list[str]]]], dict[str, tuple[int, int]], dict[str, list[list[str]]]
]:
    """The group of entries that each slot is filled from, the numbers, and the wordings."""
    areas, words = (
        json.loads((files(__package__) / f"{name}.json").read_text("utf-8"))
        for name in ("areas", "words")
    )
    groups = {slot: group for group in [areas, *words["groups"].values()] for slot in group[0]}
    return groups, words["numbers"], words["wordings"]


def _pick(random: Random, items: Sequence[T]) -> T:
    return items[int(random.random() * len(items))]


@dataclass
class Scene:
    """What one memory is about. A slot that is named twice is filled alike, and slots of one entry
    come from the same.
    """

    random: Random
    entries: dict[int, dict[str, list[str]]] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)

    def fill(self, text: str, *, again: bool = False) -> str:
        """`again`: with nothing that is not part of the content already."""
        value = (lambda slot: self.values.get(slot, "")) if again else self._value
        return re.sub(r"\{(\w+)\}", lambda slot: value(slot[1]), text)

    def _value(self, slot: str) -> str:
        groups, numbers, _wordings = _words()
        if slot not in self.values:
            if slot in numbers:
                least, most = numbers[slot]
                value = str(least + int(self.random.random() * (most - least + 1)))
            else:
                group = groups[slot]
                if id(group) not in self.entries:
                    self.entries[id(group)] = _pick(self.random, group)
                value = self.fill(_pick(self.random, self.entries[id(group)][slot]))
            self.values[slot] = value
        return self.values[slot]


@dataclass
class MemoryWriter:
    """Writes one memory after the other, none like another."""

    random: Random
    contents: set[str] = field(default_factory=set)
    summaries: Counter[str] = field(default_factory=Counter)

    def write(self, route: str) -> tuple[str, str]:
        """A content for the outcome, tool and routing value, and its summary."""
        wordings = _words()[2][route]
        for _ in range(_TRIES):
            text, summary, apart = _pick(self.random, wordings)
            scene = Scene(self.random)
            content = scene.fill(text)
            words = fingerprint(content)
            if words not in self.contents:
                break
        self.contents.add(words)
        return content, self._summary(summary, apart, scene)

    def _summary(self, text: str, apart: str, scene: Scene) -> str:
        """From words of the content. Where that says too little to be the only one, more of them;
        then a counter.
        """
        name = _slug(scene.fill(text, again=True))
        for slot in (apart, *_TELLING):
            if name not in self.summaries:
                break
            name = _slug(f"{name} {scene.fill('{' + slot + '}', again=True)}")
        self.summaries[name] += 1
        # no other name ends in a number
        return name if self.summaries[name] == 1 else f"{name}_{self.summaries[name]}"


def _slug(text: str) -> str:
    """Lowercase words joined by underscores, the last of them no number, short enough for a counter
    to follow.
    """
    words = dict.fromkeys(
        word for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in _SMALL_WORDS
    )
    room = limits.SUMMARY_CHARS_MAX - _COUNTER_CHARS
    name = "_".join(words)
    if len(name) > room:
        name = name[: room + 1].rpartition("_")[0]
    return re.sub(r"(_\d+)+$", "", name)
