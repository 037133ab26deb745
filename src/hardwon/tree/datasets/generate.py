"""`generate`: a data set of any size that looks like agents' real history, the same for the same
seed.

It is made of sessions. A session is an agent at work on one part of one project: it looks something
up, builds, fails at a fault that this part has, repairs it, learns from it, tidies up, explains, and
hears what people say. `worlds.json` has a dozen projects with their stack, people, customers and
parts, each part with its file, features, faults (what happened, the cause, the cure, the lesson) and
what is told of it; and `wordings`, by outcome, tool and value of the routing key, in the order in
which a session has them: first what the summary is made of, then contents with slots in braces.

Two descriptions of a realistic data set have to hold at once. One gives ranges over all memories
(`RANGES`). The other gives counts for 1,000 of them: outcomes 600/200/120/80, tools of the successes
300/120/90/90 (`_PAIRS`), and error types 80/50/50/20. The last four add up to all 200 failures, while
only those of the code interpreter have an error type and those of other tools must be there as well:
so these are the shares that its error types have.

Coverage comes before shares: from 10 memories on every pair of outcome and tool occurs, from 50 on
every value of every key.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
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

_SESSION_MEMORIES: Final = 10
_TRIES: Final = 200
_COUNTER_CHARS: Final = 6
# What has no fault of its own in the files: any of a part's.
_FAULTS: Final = ("runtime", "logic", "timeout")
_SMALL_WORDS: Final = frozenset(
    "a an the and or of in on at to for from by with so that it its is was are be as".split()
)


def generate(size: int | str = "medium", seed: int = 0) -> list[dict[str, Any]]:
    """Memories as `remember(**memory)` takes them: content, outcome, tool, the key that routes it,
    summary. Those of a session follow one another.

    `size` is small (100), medium (1,000), large (10,000), vast (50,000) or a number. No two contents
    are alike; summaries are unique. How many there are of what is told at the top of this module.
    """
    count = SIZES.get(size, 0) if isinstance(size, str) else size
    is_size = isinstance(count, int) and 1 <= count <= DATASET_GENERATED_MAX
    allowed = f"{', '.join(SIZES)}, or a whole number from 1 to {DATASET_GENERATED_MAX}"
    check_that(is_size and not isinstance(count, bool), "size", size, allowed)
    check_whole_number("seed", seed, 0, limits.JSON_INT_ABS_MAX)
    writer = _Writer(Random(seed))
    sorts = [sort for sort, number in plan(count).items() for _ in range(number)]
    sessions = -(-count // _SESSION_MEMORIES)
    # every session has its share of each sort
    return [memory for at in range(sessions) for memory in writer.write(sorts[at::sessions])]


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
    for pair, (key, _) in ((pair, route or (None, ())) for pair, route in ROUTES.items()):
        weights: Mapping[Any, int] = _WEIGHTS[key] if key else {None: 1}
        least = dict.fromkeys(weights, int(every and key is not None))
        for value, count in split(counts[pair], weights, least, RANGES.get(key or "")).items():
            sorts[MemorySort(*pair, key, value)] = count
    return {sort: count for sort, count in sorts.items() if count}


def _count_misses(sorts: Mapping[MemorySort, int]) -> int:
    return sum(share.within is False for share in measure_shares(sorts))


def split(
    total: int,
    weights: Mapping[T, int],
    least: Mapping[T, int],
    ranges: Mapping[T, Range] | None = None,
) -> dict[T, int]:
    """Whole numbers that add up to the total: none below its `least`, as many as possible within
    their ranges, and as close to the weights as that allows. The sum of `least` must not exceed the
    total.
    """
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
def _worlds() -> dict[str, Any]:
    """What `worlds.json` holds, with the wordings by their routes and these in the order of a story."""
    worlds: dict[str, Any] = json.loads((files(__package__) / "worlds.json").read_text("utf-8"))
    return worlds | {"story": {route: at for at, route in enumerate(worlds["wordings"])}}


class _Writer:
    """Writes one session after the other, no memory like another."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._contents: set[str] = set()
        self._summaries: Counter[str] = Counter()

    def _pick(self, items: Sequence[T]) -> T:
        # by `random()` alone: it is the one method whose results Python promises to keep
        return items[int(self._random.random() * len(items))]

    def write(self, sorts: Sequence[MemorySort]) -> list[dict[str, Any]]:
        """The memories of one session, of these sorts."""
        worlds = _worlds()
        project = self._pick(worlds["projects"])
        part = self._pick(project["parts"])
        scene = {**worlds["words"], **project, **part}
        values: dict[str, str] = {}  # what was chosen stays for the session
        failed: list[str] = []
        memories = []
        routes = {sort: " ".join(filter(None, (sort[0], sort[1], sort[3]))) for sort in sorts}
        for sort in sorted(sorts, key=lambda sort: worlds["story"][routes[sort]]):
            fault = sort.value if sort.value in _FAULTS else None
            if fault:
                failed.append(fault)
            fault = fault or (failed[0] if failed else self._pick(_FAULTS))
            if sort.value == "debug" and len(failed) > 1:
                failed.append(failed.pop(0))  # the next of those that failed
            scene |= dict(zip(("what", "cause", "fix", "lesson"), part[fault], strict=True))
            content, summary = self._write_one(routes[sort], scene, values)
            memory = {"content": content, "outcome": sort.outcome, "tool": sort.tool}
            memory |= {sort.key: sort.value} if sort.key else {}
            memory["summary"] = summary
            memories.append({key: value for key, value in memory.items() if value})
        return memories

    def _write_one(
        self, route: str, scene: Mapping[str, Any], values: dict[str, str]
    ) -> tuple[str, str]:
        """A content that is not there yet, and its summary."""
        about, *wordings = _worlds()["wordings"][route]
        for attempt in range(_TRIES):
            chosen = values if attempt < len(wordings) else {}  # else of another day
            content = self._fill(self._pick(wordings), scene, chosen)
            words = fingerprint(content)
            if words not in self._contents:
                break
        self._contents.add(words)
        if re.match("[a-z]+[ ']", content):  # but not the name of a function
            content = content[0].upper() + content[1:]
        name = _slug(self._fill(about, scene, chosen))
        self._summaries[name] += 1
        # no other name ends in a number
        count = self._summaries[name]
        return content, name if count == 1 else f"{name}_{count}"

    def _fill(self, text: str, scene: Mapping[str, Any], values: dict[str, str]) -> str:
        """A text without slots: what is several in the scene is chosen once."""

        def fill(slot: re.Match[str]) -> str:
            """What stands in the place of a slot."""
            name = slot[1]
            if name not in values and name in ("trouble", "reason"):
                values["trouble"], values["reason"] = self._pick(scene["trouble"])
            elif name not in values and not isinstance(scene[name], str):
                values[name] = self._pick(scene[name])
            return values[name] if name in values else str(scene[name])

        return re.sub(r"\{(\w+)\}", fill, text)


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
