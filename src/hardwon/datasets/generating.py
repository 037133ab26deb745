"""`generate`: a data set of any size that looks like an agent's real history, the same for the same seed."""

from __future__ import annotations

from datetime import date, datetime
from random import Random
from typing import Any, Final

from hardwon import limits
from hardwon.datasets.plan import Sort, plan
from hardwon.datasets.sessions import arrange
from hardwon.datasets.writing import Writer
from hardwon.errors import InvalidInputError

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
