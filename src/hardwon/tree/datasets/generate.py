"""How many memories of each sort a generated data set has.

Two descriptions of a realistic data set have to hold at once. One gives ranges over all memories (`shares`). The other gives
counts for 1,000 of them: outcomes 600/200/120/80, tools of the successes 300/120/90/90, and error types of the failures
80/50/50/20. The last four add up to *all* 200 failures, while only those of the code interpreter are routed by an error type
and the failures of other tools must be there as well. Both are true when every failure names its error type and, where another
key routes it, carries it as a key of its own: a blocked search or a missing permission is an error at run time, a search that
found nothing, or the wrong thing, is a fault in what was asked for. So that is what is generated, for every size; and a count
of error types looks at every failure that names one.

Coverage comes before shares: from 10 memories on every pair of outcome and tool occurs, from 50 on every value of every key.

Working days for generated memories: each has a morning, an afternoon and an evening with a theme of its own.

Contents and summaries of generated memories, none like another.

`generate`: a data set of any size that looks like an agent's real history, the same for the same seed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from random import Random
from typing import Any, Final, NamedTuple, TypeVar

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.records.kinds import ROUTES
from hardwon.tree.datasets.areas import Entry
from hardwon.tree.datasets.realism import fingerprint
from hardwon.tree.datasets.shares import ERROR_RANGES, OUTCOME_RANGES, SHAPES, TASK_RANGES, TOOL_RANGES, Counts, Shape, split
from hardwon.tree.datasets.words import GROUPS, NUMBERS

# ---- plan ------------------------------------------------------------

PAIRS_FROM: Final = len(ROUTES)
VALUES_FROM: Final = 50

_OUTCOMES: Final = {"success": 600, "failure": 200, "learning": 120, "interaction": 80}
_TOOLS: Final = {"code_interpreter": 430, "web_search": 160, "file_operation": 110, "conversation": 90}
_TOOLS_OF_FAILURES: Final = {"code_interpreter": 130, "web_search": 40, "file_operation": 20}
_ERRORS: Final = {"runtime": 41, "syntax": 26, "logic": 25, "timeout": 8}
_ERRORS_OF_THE_TABLE: Final = {"runtime": 80, "syntax": 50, "logic": 50, "timeout": 20}
_TASKS: Final = {"debug": 41, "write": 31, "refactor": 20, "explain": 8}
_WEIGHTS: Final[Mapping[str, Mapping[str, int]]] = {
    "task_type": _TASKS,
    "domain": {"technical": 60, "research": 25, "general": 15},
    "reason": {"no_results": 40, "blocked": 30, "irrelevant": 30},
    "insight_type": {"pattern": 30, "correction": 30, "preference": 20, "fact": 20},
    "sentiment": {"positive": 45, "neutral": 25, "negative": 30},
}
_TABLE_SIZE: Final = 1_000

# What goes wrong where another key than the error type says how it is routed.
_ERROR_OF_REASON: Final = {"no_results": "logic", "irrelevant": "logic", "blocked": "runtime"}
_ERROR_OF_TOOL: Final = {"file_operation": "runtime", "unknown": "runtime"}


class Sort(NamedTuple):
    """One row of the reference card with one value of its key. `error_type` is set for every failure."""

    outcome: str
    tool: str | None = None
    key: str | None = None
    value: str | None = None
    error_type: str | None = None


def plan(size: int) -> dict[Sort, int]:
    """The sorts of memory in a data set of this size, with how many there are of each (at least one)."""
    pairs, values = size >= PAIRS_FROM, size >= VALUES_FROM
    outcomes = split(size, _OUTCOMES, OUTCOME_RANGES, least=_least_outcomes(pairs))
    failures = outcomes["failure"]
    unknown = max(int(pairs), size // 100)
    tools = _tools(size, outcomes["success"] + failures - unknown, pairs, values)
    failed = split(failures - unknown, _TOOLS_OF_FAILURES, least=_least_tools(pairs, values))
    sorts = _successes({tool: count - failed.get(tool, 0) for tool, count in tools.items()}, values)
    sorts |= _failures(size, failed | {"unknown": unknown}, values)
    for outcome, key in (("learning", "insight_type"), ("interaction", "sentiment")):
        sorts |= _by_value(outcome, None, key, outcomes[outcome], values)
    return {sort: count for sort, count in sorts.items() if count}


def _least_outcomes(pairs: bool) -> Counts:
    """So many that each pair can occur. Where each value must, the ranges leave room for it."""
    least = dict.fromkeys(_OUTCOMES, 0)
    for outcome, _tool in ROUTES:
        least[outcome] += int(pairs)
    return least


def _least_tools(pairs: bool, values: bool) -> Counts:
    return (
        {"code_interpreter": 4, "web_search": 3, "file_operation": 1}
        if values
        else dict.fromkeys(_TOOLS_OF_FAILURES, int(pairs))
    )


def _tools(size: int, used: int, pairs: bool, values: bool) -> Counts:
    """How often each tool is used, whatever came of it."""
    least = {tool: 2 * count for tool, count in _least_tools(pairs, values).items()} | {"conversation": int(pairs)}
    return split(used, _TOOLS, TOOL_RANGES, base=size, least=least)


def _by_value(outcome: str, tool: str | None, key: str, count: int, values: bool) -> dict[Sort, int]:
    weights = _WEIGHTS[key]
    ranges = TASK_RANGES if key == "task_type" else None
    counts = split(count, weights, ranges, least=dict.fromkeys(weights, int(values)))
    return {Sort(outcome, tool, key, value, _ERROR_OF_REASON.get(value)): counts[value] for value in weights}


def _successes(tools: Counts, values: bool) -> dict[Sort, int]:
    sorts = _by_value("success", "code_interpreter", "task_type", tools["code_interpreter"], values)
    sorts |= _by_value("success", "web_search", "domain", tools["web_search"], values)
    return sorts | {Sort("success", tool): tools[tool] for tool in ("file_operation", "conversation")}


def _failures(size: int, tools: Counts, values: bool) -> dict[Sort, int]:
    """The code interpreter's error types are what the others leave of the counts over all failures."""
    others = _by_value("failure", "web_search", "reason", tools["web_search"], values)
    others |= {Sort("failure", tool, error_type=error): tools[tool] for tool, error in _ERROR_OF_TOOL.items()}
    taken = dict.fromkeys(_ERRORS, 0)
    for sort, count in others.items():
        taken[str(sort.error_type)] += count
    weights = _ERRORS_OF_THE_TABLE if size == _TABLE_SIZE else _ERRORS
    least = {error: count + values for error, count in taken.items()}
    errors = split(sum(tools.values()), weights, ERROR_RANGES, least=least)
    code = {Sort("failure", "code_interpreter", "error_type", error, error): errors[error] - taken[error] for error in weights}
    return code | others


# ---- sessions ------------------------------------------------------------

FIRST_DAY: Final = date(2023, 1, 2)
"""Where a caller names none. Always the same, so that the same call gives the same data set; a Monday, and long enough ago for
the largest named size to lie in the past."""

_SATURDAY: Final = 5


class Part(NamedTuple):
    """A session of the day, in UTC."""

    name: str
    begins: time
    ends: time


PARTS: Final = (
    Part("morning", time(8, 30), time(12, 15)),
    Part("afternoon", time(13, 0), time(17, 45)),
    Part("evening", time(18, 30), time(21, 30)),
)

# How the memories of a sort divide between the three, and how late in its session each comes (0 first, 1 last). In the morning
# something new is written and shows its first bugs; in the afternoon it is debugged, more fails and corrections are learned; in
# the evening it is cleaned up and explained, users answer, and the day is looked back on.
_THEMES: Final[dict[str, tuple[tuple[int, int, int], tuple[float, float, float]]]] = {
    "write": ((70, 20, 10), (0.1, 0.5, 0.2)),
    "debug": ((25, 60, 15), (0.8, 0.5, 0.2)),
    "refactor": ((5, 15, 80), (0.6, 0.8, 0.1)),
    "explain": ((5, 15, 80), (0.5, 0.9, 0.4)),
    "web_search": ((45, 40, 15), (0.2, 0.3, 0.3)),
    "file_operation": ((50, 20, 30), (0.1, 0.5, 0.2)),
    "conversation": ((15, 20, 65), (0.5, 0.8, 0.5)),
    "failure": ((25, 60, 15), (0.8, 0.3, 0.1)),
    "correction": ((10, 65, 25), (0.9, 0.9, 0.8)),
    "learning": ((15, 25, 60), (0.6, 0.8, 0.9)),
    "interaction": ((10, 20, 70), (0.7, 0.8, 0.6)),
}
_SPREAD: Final = 0.6  # how far chance moves a memory within its session


class Slot(NamedTuple):
    """When the memory at this place happened, and in which session."""

    place: int
    timestamp: str
    session: str


def arrange(random: Random, sorts: list[Sort], start: date | None) -> list[Slot]:
    """One slot for each sort of memory, in the order of time; no two at the same second."""
    pools = _pools(random, sorts)
    slots: list[Slot] = []
    days = -(-len(sorts) // limits.DATASET_DAY_MEMORIES)
    for number, day in enumerate(_working_days(start or FIRST_DAY, days)):
        for part, pool in zip(PARTS, pools, strict=True):
            chosen = pool[number * len(pool) // days : (number + 1) * len(pool) // days]
            ordered = sorted(chosen)  # by lateness; the index settles ties
            moments = _moments(random, day, part, len(ordered))
            name = f"day{number + 1:02d}_{part.name}"
            slots += [Slot(index, moment, name) for (_late, index), moment in zip(ordered, moments, strict=True)]
    return slots


def _theme(sort: Sort) -> str:
    return next(name for name in (sort.value, sort.outcome, sort.tool) if name in _THEMES)


def _pools(random: Random, sorts: list[Sort]) -> list[list[tuple[float, int]]]:
    """For each part of the day, what happens in it: (how late, index), shuffled."""
    by_theme: dict[str, list[int]] = {}
    for index, sort in enumerate(sorts):
        by_theme.setdefault(_theme(sort), []).append(index)
    pools: list[list[tuple[float, int]]] = [[] for _ in PARTS]
    for theme, indexes in by_theme.items():
        weights, lateness = _THEMES[theme]
        counts = split(len(indexes), {str(number): weight for number, weight in enumerate(weights)})
        shuffled = [index for _, index in sorted((random.random(), index) for index in indexes)]
        for number, count in enumerate(counts.values()):
            pools[number] += [(lateness[number] + _SPREAD * random.random(), index) for index in shuffled[:count]]
            del shuffled[:count]
    return [[item for _, item in sorted((random.random(), item) for item in pool)] for pool in pools]


def _working_days(start: date, count: int) -> list[date]:
    """The start, whatever day it is, and the working days after it."""
    days, day = [start], start
    try:
        while len(days) < count:
            day += timedelta(days=1)
            if day.weekday() < _SATURDAY:
                days.append(day)
    except OverflowError:
        raise InvalidInputError.one("start", start.isoformat(), f"a day with {count} working days after it") from None
    return days


def _moments(random: Random, day: date, part: Part, count: int) -> list[str]:
    """Whole seconds between the session's beginning and end, each later than the one before."""
    begins = datetime.combine(day, part.begins, UTC)
    span_s = int((datetime.combine(day, part.ends, UTC) - begins).total_seconds())
    offsets = sorted(int(random.random() * (span_s - count)) for _ in range(count))
    return [(begins + timedelta(seconds=offset + place)).isoformat() for place, offset in enumerate(offsets)]


# ---- writing ------------------------------------------------------------

T = TypeVar("T")

_SLOT: Final = re.compile(r"\{(\w+)\}")
_GROUP_OF_SLOT: Final = {slot: number for number, group in enumerate(GROUPS) for slot in group[0]}
_TRIES: Final = 200
_COUNTER_CHARS: Final = 6
_TELLING: Final = ("component", "function", "noun", "feature")
_SMALL_WORDS: Final = frozenset("a an the and or of in on at to for from by with so that it its is was are be as".split())


def pick(random: Random, items: Sequence[T]) -> T:
    """By `random()` alone: it is the one method whose results Python promises to keep."""
    return items[int(random.random() * len(items))]


class Scene:
    """What one memory is about. A slot that is named twice is filled alike, and slots of one entry come from the same."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._entries: dict[int, Entry] = {}
        self._values: dict[str, str] = {}

    def fill(self, text: str) -> str:
        parts = _parts(text)
        return "".join([part if index % 2 == 0 else self.value(part) for index, part in enumerate(parts)])

    def told(self, text: str) -> str:
        """Like `fill`, with nothing that is not part of the content already."""
        parts = _parts(text)
        return "".join([part if index % 2 == 0 else self._values.get(part, "") for index, part in enumerate(parts)])

    def value(self, slot: str) -> str:
        if slot not in self._values:
            self._values[slot] = self._draw(slot)
        return self._values[slot]

    def _draw(self, slot: str) -> str:
        if slot in NUMBERS:
            least, most = NUMBERS[slot]
            return str(least + int(self._random.random() * (most - least + 1)))
        group = _GROUP_OF_SLOT[slot]
        if group not in self._entries:
            self._entries[group] = pick(self._random, GROUPS[group])
        return self.fill(pick(self._random, self._entries[group][slot]))


@cache
def _parts(text: str) -> tuple[str, ...]:
    """Literal text and names of slots in turn."""
    return tuple(_SLOT.split(text))


class Writer:
    """Writes one memory after the other and remembers what was said."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._said: set[str] = set()
        self._summaries: set[str] = set()
        self._counters: dict[str, int] = {}

    def write(self, route: tuple[str, ...]) -> tuple[str, str]:
        """A content for the outcome, tool and routing value, and its summary."""
        for _ in range(_TRIES):
            shape = pick(self._random, SHAPES[route])
            scene = Scene(self._random)
            content = scene.fill(shape.text)
            said = fingerprint(content)
            if said not in self._said:
                self._said.add(said)
                break
        return content, self._summary(shape, scene)

    def _summary(self, shape: Shape, scene: Scene) -> str:
        """From words of the content. Where that says too little to be the only one, more of them; then a counter."""
        name = _slug(scene.told(shape.summary))
        for slot in (shape.apart, *_TELLING):
            if name not in self._summaries:
                break
            name = _slug(f"{name} {scene.told('{' + slot + '}')}")
        if name in self._summaries:
            self._counters[name] = self._counters.get(name, 1) + 1
            return f"{name}_{self._counters[name]}"  # no other name ends in a number
        self._summaries.add(name)
        return name


def _slug(text: str) -> str:
    """Lowercase words joined by underscores, the last of them no number, short enough for a counter to follow."""
    words = dict.fromkeys(word for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in _SMALL_WORDS)
    room = limits.SUMMARY_CHARS_MAX - _COUNTER_CHARS
    name = ""
    for word in words:
        longer = f"{name}_{word}" if name else word
        if len(longer) > room:
            break
        name = longer
    return re.sub(r"(_\d+)+$", "", name)


# ---- generating ------------------------------------------------------------

SIZES: Final = {"small": 100, "medium": 1_000, "large": 10_000, "vast": 50_000}
_FIRST_POSSIBLE: Final = date(1970, 1, 1)  # no record is older


def generate(
    size: int | str = "medium", seed: int = 0, *, sessions: bool = False, start: date | str | None = None
) -> list[dict[str, Any]]:
    """Memories as `remember(**memory)` takes them: content, outcome, tool, the key that routes it, summary.

    `size` is small (100), medium (1,000), large (10,000), vast (50,000) or a number. Contents are about made-up programs, no
    two alike; summaries are unique. How many there are of what, and why failures of every tool name an `error_type`, is told
    in `plan`. With `sessions` they come in the order of working days from `start` on (a date, or its ISO text), each with the
    `timestamp` and `session` that it belongs to; otherwise shuffled.
    """
    count = _size(size)
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= limits.JSON_INT_ABS_MAX:
        raise InvalidInputError.one("seed", seed, f"a whole number from 0 to {limits.JSON_INT_ABS_MAX}")
    if start is not None and not sessions:
        raise InvalidInputError.one("start", start, "nothing, unless sessions=True: without them no memory has a time")
    random = Random(seed)
    writer = Writer(random)
    sorts = [sort for sort, number in plan(count).items() for _ in range(number)]
    memories = [_memory(sort, writer) for sort in sorts]
    if not sessions:
        return [memory for _, _, memory in sorted((random.random(), index, memory) for index, memory in enumerate(memories))]
    slots = arrange(random, sorts, _day(start))
    return [memories[slot.place] | {"timestamp": slot.timestamp, "session": slot.session} for slot in slots]


def _memory(sort: Sort, writer: Writer) -> dict[str, Any]:
    content, summary = writer.write(tuple(part for part in (sort.outcome, sort.tool, sort.value) if part))
    memory = {"content": content, "outcome": sort.outcome}
    if sort.tool:
        memory["tool"] = sort.tool
    if sort.key and sort.value:
        memory[sort.key] = sort.value
    if sort.error_type:
        memory["error_type"] = sort.error_type
    memory["summary"] = summary
    return memory


def _size(size: int | str) -> int:
    if isinstance(size, str) and size in SIZES:
        return SIZES[size]
    if isinstance(size, int) and not isinstance(size, bool) and 1 <= size <= limits.DATASET_GENERATED_MAX:
        return size
    raise InvalidInputError.one("size", size, f"{', '.join(SIZES)}, or a whole number from 1 to {limits.DATASET_GENERATED_MAX}")


def _day(start: date | str | None) -> date | None:
    day: object = start
    if isinstance(start, str):
        try:
            day = date.fromisoformat(start)
        except ValueError:
            day = ""
    if day is None or (isinstance(day, date) and not isinstance(day, datetime) and day >= _FIRST_POSSIBLE):
        return day
    raise InvalidInputError.one("start", start, "a date from 1970 on, or its ISO text (2026-01-31)")
