"""What was measured as rows that can be compared, and the rows in which Hardwon does not lead, with
why.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from peers.driver import KINDS, OURS
from replay import PARTS

LEVEL: Final = 1.15
"""Two figures that differ by less are level: so much one of them differs from itself in another
run.
"""
FOOTPRINT_SIZE_MAX: Final = 100_000
"""Disk, memory and cold start are compared at the largest size up to this one; the tables have the
others.
"""
NO_REASON: Final = "no reason written yet"

Told = dict[str, Any]


@dataclass(frozen=True)
class Results:
    stores: dict[str, Told]
    programs: list[Told]
    replay_bounds: dict[str, Told]
    run: Told

    @classmethod
    def read(cls, folder: Path) -> Results:
        def told(pattern: str) -> list[Told]:
            return [json.loads(path.read_text()) for path in sorted(folder.glob(pattern))]

        by_name = {one["name"]: one for one in told("peer-*.json")}
        bounds, run = told("replay-bounds.json"), told("run.json")
        return cls(
            {kind.name: by_name[kind.name] for kind in KINDS if kind.name in by_name},
            told("program-*.json"),
            bounds[0] if bounds else {},
            run[0] if run else {},
        )

    @property
    def parts(self) -> list[Told]:
        return [*self.stores.values(), *self.programs]

    @property
    def sizes(self) -> list[int]:
        return sorted({int(size) for told in self.stores.values() for size in told["sizes"]})

    @property
    def footprint_size(self) -> int:
        return max((size for size in self.sizes if size <= FOOTPRINT_SIZE_MAX), default=0)

    def at(self, name: str, size: int) -> Told:
        found: Told = self.stores[name]["sizes"].get(str(size), {})
        return found

    @property
    def agents(self) -> list[str]:
        return sorted({agent for told in self.stores.values() for agent in told.get("replay", {})})


@dataclass(frozen=True)
class Row:
    """One thing that was measured for several stores."""

    measure: str
    where: str
    values: dict[str, float]
    more_is_better: bool = False

    def times_better(self, theirs: str, ours: str) -> float:
        a, b = self.values[theirs], self.values[ours]
        better, worse = (a, b) if self.more_is_better else (b, a)
        if better == worse:
            return 1.0
        return better / worse if worse else math.inf


def value(told: Told, *path: str) -> float | None:
    for name in path:
        told = told.get(name, {})
    return float(told) if isinstance(told, int | float) else None


def row(
    results: Results, measure: str, where: str, path: tuple[str, ...], *, more: bool = False
) -> Row:
    found = {name: value(told, *path) for name, told in results.stores.items()}
    return Row(
        measure, where, {name: number for name, number in found.items() if number is not None}, more
    )


def best_form(told: Told, agent: str, part: str) -> float | None:
    forms = [form[part] for form in told.get("replay", {}).get(agent, {}).values() if part in form]
    return max(forms, default=None)


def rows(results: Results) -> Iterator[Row]:
    for size in results.sizes:
        at, where = ("sizes", str(size)), f"{size:,} records"
        yield row(results, "bulk write", where, (*at, "records_per_second"), more=True)
        yield row(results, "recall p50", where, (*at, "recall", "p50_ms"))
        yield row(results, "recall p95", where, (*at, "recall", "p95_ms"))
        yield row(results, "found", where, (*at, "found"), more=True)
    yield row(results, "single write p50", "", ("single", "p50_ms"))
    at, where = ("sizes", str(results.footprint_size)), f"{results.footprint_size:,} records"
    yield row(results, "disk", where, (*at, "disk_bytes"))
    yield row(results, "memory of a writer", where, (*at, "writer_memory_mb"))
    yield row(results, "memory of a reader", where, (*at, "reader_memory_mb"))
    yield row(results, "cold start", where, (*at, "cold_start", "s"))
    yield row(results, "writing at once", "", ("crowd", "records_per_second"), more=True)
    for part in ("errors", "refused", "lost"):
        yield row(results, f"{part} at once", "", ("crowd", part))
    yield row(results, "lost when killed", "", ("killed", "lost"))
    for agent in results.agents:
        for part in PARTS:
            forms = {name: best_form(told, agent, part) for name, told in results.stores.items()}
            known = {name: share for name, share in forms.items() if share is not None}
            yield Row(f"replay, {part}", agent, known, more_is_better=True)


def compared(results: Results) -> Iterator[tuple[Row, str, str]]:
    """Which figures stand against each other: ours against everybody's, and ours with vectors
    against those with vectors.
    """
    others = [kind for kind in KINDS if kind not in OURS and kind.name in results.stores]
    for each in rows(results):
        for ours in OURS:
            for theirs in others:
                both = ours.name in each.values and theirs.name in each.values
                if both and (theirs.by_meaning or not ours.by_meaning):
                    yield each, ours.name, theirs.name


@dataclass(frozen=True)
class Behind:
    measure: str
    ours: str
    theirs: str
    times: list[tuple[str, float]]

    @property
    def reason(self) -> str:
        return REASONS.get(self.measure, {}).get((self.ours, self.theirs), NO_REASON)


def level(row: Row) -> float:
    """Counts and shares do not differ from run to run as times do."""
    return (
        1.0 if row.measure.startswith(("errors", "refused", "lost", "found", "replay")) else LEVEL
    )


def behind(results: Results) -> list[Behind]:
    found: dict[tuple[str, str, str], list[tuple[str, float]]] = defaultdict(list)
    for each, ours, theirs in compared(results):
        times = each.times_better(theirs, ours)
        if times > level(each):
            found[each.measure, ours, theirs].append((each.where, times))
    return [Behind(*who, times) for who, times in found.items()]


BOUND: Final = re.compile(
    r"(?P<value>[\d.,]+)\D*\((?P<side>at most|at least|below) (?P<bound>[\d.,]+)"
)


def bound_lines(output: str) -> tuple[list[str], list[str]]:
    """The lines that name a bound, and those of them whose figure before it is beyond it."""
    named, beyond = [], []
    for line in output.splitlines():
        for found in BOUND.finditer(line):
            value, bound = (
                float(found[name].replace(",", "").rstrip(".")) for name in ("value", "bound")
            )
            named.append(line.strip())
            if value < bound if found["side"] == "at least" else value > bound:
                beyond.append(line.strip())
    return list(dict.fromkeys(named)), list(dict.fromkeys(beyond))


def missed_bounds(results: Results) -> list[tuple[str, list[str]]]:
    """The programs that say that a bound was missed, with the lines that show it."""
    missed = []
    for told in results.programs:
        named, beyond = bound_lines(told["output"])
        if told["code"] or beyond:
            missed.append((told["name"], beyond or named or told["output"].splitlines()[-3:]))
    return missed


H, V = "Hardwon", "Hardwon, vectors"
FTS, FILES, STORE, STORE_V, CHROMA, MEM0 = (kind.name for kind in KINDS if kind not in OURS)

LEARNS: Final = (
    "a record of Hardwon's is checked, searched for secrets, given its envelope and digest, "
    "indexed for filters as well as for "
    "search, and counted into what the memory has learned, in the same transaction"
)
PYTHON_ALONE: Final = "it needs Python alone; Hardwon loads pydantic, an SQLite of its own, its records and its recall"
BESIDE_VECTORS: Final = "the vectors take the same; the rest is the envelope, the filters and the text index beside them"
BATCHES: Final = "its batches are a thousand records, Hardwon's five thousand, all made ready before the transaction begins"
SHORT_TURNS: Final = (
    "both let one writer at a time; most of the store's work is done beside the others', and its "
    "turn writes one row of JSON"
)
EXACT: Final = (
    "Hardwon compares the question with the code of every vector and looks for its words as well; Chroma walks "
    "an approximate index of vectors alone, and finds fewer of these records"
)

ONLY_WINNERS: Final = (
    "where only queries that won are kept, all 300 tokens are filled with them; Hardwon shows the "
    "nearest, and beside them what failed and the tables with their columns"
)

REASONS: Final[dict[str, dict[tuple[str, str], str]]] = {
    "bulk write": {
        (H, FTS): f"one row and its words; {LEARNS}.",
        (H, FILES): f"the files are not synced; {LEARNS}.",
        (H, STORE): f"one row of JSON without any search; {LEARNS}.",
        (H, STORE_V): f"one row of JSON and its vector; {LEARNS}.",
        (V, STORE_V): f"both make the same vectors; beyond that {LEARNS}.",
    },
    "single write p50": {
        (H, FTS): "both wait for one sync of the disk; Hardwon's has more pages in it (filters, "
        "digests, what was learned).",
        (H, FILES): "a new file is synced without a log and without an index; the search pays for "
        "that.",
        (V, STORE_V): f"both make the vector and wait for the disk; beyond that {LEARNS}.",
    },
    "writing at once": {
        (H, FTS): "both let one writer at a time; each of Hardwon's writes carries more (filters, "
        "digests, what was learned).",
        (H, FILES): "files of different names need no turn; nothing keeps two of them consistent "
        "with each other.",
        (H, STORE): f"{SHORT_TURNS}.",
        (V, STORE_V): f"{SHORT_TURNS}, and its vector.",
    },
    "recall p50": {
        (H, CHROMA): "it looks for the question's words among all records and ranks them by what "
        "came of them; Chroma walks an "
        "approximate index of vectors, which misses more of the records that are asked for.",
        (V, CHROMA): f"{EXACT}.",
    },
    "recall p95": {
        (H, CHROMA): "text search takes longer where the question's words are frequent; a walk "
        "through vectors does not.",
        (V, CHROMA): f"{EXACT}.",
    },
    "replay, solved": {
        **{(H, theirs): f"{ONLY_WINNERS}." for theirs in (FTS, FILES, STORE_V, CHROMA, MEM0)},
        **{(V, theirs): f"{ONLY_WINNERS}." for theirs in (STORE_V, CHROMA, MEM0)},
    },
    "disk": {
        (
            H,
            FTS,
        ): "the record as JSON with its envelope, filter columns and their indexes, a digest, and "
        "terms whole and in parts, against the text and its words.",
        (H, STORE): "the store keeps the JSON alone and has nothing to search it by.",
        (V, STORE_V): f"{BESIDE_VECTORS}.",
        (V, CHROMA): f"{BESIDE_VECTORS}.",
    },
    "memory of a writer": {
        (H, FTS): f"{PYTHON_ALONE}.",
        (H, FILES): f"{PYTHON_ALONE}.",
        (H, STORE): f"{BATCHES}.",
        (V, STORE_V): f"{BATCHES}.",
    },
    "memory of a reader": {
        (H, FTS): f"{PYTHON_ALONE}.",
        (H, FILES): f"{PYTHON_ALONE}.",
        (V, STORE_V): "Hardwon keeps a code of each vector in memory between questions; the store "
        "reads the vectors from the file each time.",
        (
            V,
            CHROMA,
        ): "Chroma holds an index of the vectors in memory, Hardwon a code of each; Hardwon's text search, records and their "
        "envelope come on top.",
    },
    "cold start": {
        (H, FTS): f"{PYTHON_ALONE}.",
        (H, FILES): f"{PYTHON_ALONE}.",
        (V, CHROMA): "Hardwon reads all vectors into memory for the first question; Chroma opens "
        "an index that is on disk.",
        (V, STORE_V): "Hardwon reads all vectors into memory for the first question, and is faster "
        "from the second on.",
    },
}

WHY_MISSED: Final = {
    "write": "the bound is of a time when a record was only kept. Now it is also counted into what "
    "is known, and in a git "
    "checkout, as here, it gets commit and branch, and its text is searched for files: outside of "
    "one, bulk takes a "
    "quarter less. One by one, a sync of this disk is so short that the work of Python shows "
    "beside it.",
    "recall": "a context looks for runs, rules, facts and files, reads some twenty records and asks "
    "of what it offers whether advice would warn of it; recall became faster than that.",
    "staleness": "at the edge of its bound: recall itself became faster, and looking at the files of "
    "its hits takes as long as before.",
    "tree": "the plain side writes a file and nothing else, without a sync; ours keeps the record, "
    "its file and what they teach consistent through a crash. Of thousands of results, each is read "
    "and checked before it is handed out.",
    "serve": "while agents write, each recall counts anew how many records have its words, and the "
    "server's caches were not yet full when its memory was first measured.",
}
"""Why a program misses a bound of its own, where that is known."""
