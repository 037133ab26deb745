"""What writing through Memory costs, against bare apsw that writes the same rows with the same
durability.

The bare side gets the very same rows ready-made and inserts them into the same tables and indexes
(FTS5 included), in WAL mode with synchronous FULL. Memory fills in the envelope, looks for secrets,
writes JSON, makes search terms and digests, and checks for known and forgotten ids. Models are
built before the clock starts. Runs alternate, so that a noisy machine is noisy for both.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import apsw

from hardwon import Experience, Memory, Metadata
from hardwon.store.base import build_row
from hardwon.store.types import Row

BULK_RATIO_MAX = 3.0
SINGLE_RATIO_MAX = 1.5

COMPONENTS = (
    "payment processor,session cache,auth middleware,CSV importer,job scheduler,GraphQL gateway"
).split(",")
CAUSES = (
    "a missing lock,an unchecked None,a stale index,a wrong time zone,an off-by-one,"
    "a leaked connection"
).split(",")
FILES = (
    "src/billing/charge.py lib/auth/login.ts pkg/cache/lru.go app/models/user.rb core/queue.rs"
).split()
ERRORS = "TypeError,KeyError: 'id',E0382,ECONNRESET,TimeoutError,DeadlockDetected".split(",")


def keywords(rng: random.Random, number: int) -> dict[str, str]:
    """What an agent would say about one attempt."""
    content = (
        f"{rng.choice(ERRORS)} in the {rng.choice(COMPONENTS)} "
        f"({rng.choice(FILES)}:{rng.randrange(900)}): caused by "
        f"{rng.choice(CAUSES)}; issue #{number} closed after retry {rng.randrange(9)}"
    )
    keys = rng.choice(
        (
            {"outcome": "success", "tool": "code_interpreter", "task_type": "debug"},
            {"outcome": "failure", "tool": "code_interpreter", "error_type": "runtime"},
            {"outcome": "success", "tool": "file_operation"},
            {"outcome": "learning", "insight_type": "correction"},
        )
    )
    return {"content": content, "summary": f"issue_{number}", **keys}


def experiences(count: int, seed: int) -> list[Experience]:
    rng = random.Random(seed)
    return [
        Experience(metadata=Metadata(project_id="default"), **keywords(rng, number))
        for number in range(count)
    ]


# What a plain store of records would have: a row, its columns to filter by, and a full-text index.
_TABLES: Final = """
CREATE TABLE record (
    seq INTEGER PRIMARY KEY, project_id TEXT NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL,
    at_us INTEGER NOT NULL, author TEXT NOT NULL, outcome TEXT, tool TEXT, task_id TEXT, model TEXT,
    issue_type TEXT, body TEXT NOT NULL, digest BLOB NOT NULL, status TEXT NOT NULL, validation TEXT
) STRICT;
CREATE UNIQUE INDEX record_by_id ON record (project_id, id);
CREATE INDEX record_by_time ON record (project_id, at_us);
CREATE VIRTUAL TABLE record_text USING fts5 (terms, tokenize = "ascii tokenchars '_.-/:@#+$'");
"""


class Bare:
    """apsw and nothing else."""

    def __init__(self, path: Path) -> None:
        self.connection = apsw.Connection(str(path))
        self.connection.execute("PRAGMA journal_mode = WAL").fetchall()
        self.connection.execute("PRAGMA synchronous = FULL").fetchall()
        self.connection.execute(_TABLES).fetchall()
        self.seq = 0

    def add_many(self, rows: list[Row]) -> None:
        numbered = list(enumerate(rows, self.seq + 1))
        self.seq += len(rows)
        with self.connection:
            self.connection.executemany(
                f"INSERT INTO record VALUES ({', '.join('?' * 15)})",
                ((seq, *row[:14]) for seq, row in numbered),
            )
            self.connection.executemany(
                "INSERT INTO record_text (rowid, terms) VALUES (?, ?)",
                ((seq, row.terms) for seq, row in numbered),
            )


@contextmanager
def sides(folder: Path) -> Iterator[tuple[Memory, Bare]]:
    folder.mkdir()
    bare = Bare(folder / "bare.db")
    with Memory(folder) as memory, closing(bare.connection):
        yield memory, bare


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def in_turn(turn: int, ours: Callable[[], object], bare: Callable[[], object]) -> tuple[float, ...]:
    """Seconds of both, each first as often as the other: whoever follows finds a busier disk."""
    if turn % 2:
        theirs = timed(bare)
        return timed(ours), theirs
    return timed(ours), timed(bare)


def make_rows(memory: Memory, records: list[Experience]) -> list[Row]:
    """The very rows that the memory will write, made ready for the other side."""
    head = memory._project.head
    return [build_row(memory._project.prepare(record, head)) for record in records]


def measure_bulk(root: Path, count: int, rounds: int) -> Iterator[tuple[float, ...]]:
    for turn in range(rounds):
        records = experiences(count, seed=turn)
        with sides(root / f"bulk{turn}") as (memory, bare):
            rows = make_rows(memory, records)
            yield in_turn(turn, partial(memory.add_many, records), partial(bare.add_many, rows))


def measure_single(root: Path, count: int) -> Iterator[tuple[float, ...]]:
    records = experiences(count, seed=99)
    with sides(root / "single") as (memory, bare):
        rows = make_rows(memory, records)
        for turn, (record, row) in enumerate(zip(records, rows, strict=True)):
            yield in_turn(turn, partial(memory.add, record), partial(bare.add_many, [row]))


def report(name: str, rounds: Iterable[tuple[float, ...]], per: int, bound: float) -> bool:
    ours, bare = (statistics.median(side) / per * 1e6 for side in zip(*rounds, strict=True))
    print(
        f"{name:20} {ours:7.1f} µs a record; bare {bare:7.1f} µs, ratio {ours / bare:.2f} (at most "
        f"{bound})"
    )
    return bool(ours / bare <= bound)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=100_000, help="records of one bulk write")
    parser.add_argument("--rounds", type=int, default=9, help="bulk writes of each side")
    parser.add_argument("--singles", type=int, default=2_000, help="single writes of each side")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bulk = measure_bulk(Path(folder), options.records, options.rounds)
        single = measure_single(Path(folder), options.singles)
        held = [
            report(f"add_many of {options.records}", bulk, options.records, BULK_RATIO_MAX),
            report("add, one by one", single, 1, SINGLE_RATIO_MAX),
        ]
    raise SystemExit(0 if all(held) else "a bound was missed")


if __name__ == "__main__":
    main()
