"""What writing through Memory costs, against bare apsw that writes the same rows with the same durability.

The bare side gets its rows ready-made and has what it cannot do without: one table with a unique id, one FTS5 table, WAL,
synchronous FULL, the same tokenizer. Memory validates, looks for secrets, makes the terms, keeps its indexes and checks for
known and forgotten ids. Models are built before the clock starts. Runs alternate, so that a noisy machine is noisy for both.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import apsw

from hardwon import Experience, Memory, Metadata
from hardwon.recall.terms import TERM_PUNCTUATION
from hardwon.store.contract import Row
from hardwon.store.rows import row_of

BULK_RATIO_MAX = 3.0
SINGLE_RATIO_MAX = 1.5

COMPONENTS = ["payment processor", "session cache", "auth middleware", "CSV importer", "job scheduler", "GraphQL gateway"]
CAUSES = ["a missing lock", "an unchecked None", "a stale index", "a wrong time zone", "an off-by-one", "a leaked connection"]
FILES = ["src/billing/charge.py", "lib/auth/login.ts", "pkg/cache/lru.go", "app/models/user.rb", "core/queue.rs"]
ERRORS = ["TypeError", "KeyError: 'id'", "E0382", "ECONNRESET", "TimeoutError", "psycopg.errors.DeadlockDetected"]


def experiences(count: int, seed: int) -> list[Experience]:
    rng = random.Random(seed)
    made = []
    for number in range(count):
        content = (
            f"{rng.choice(ERRORS)} in the {rng.choice(COMPONENTS)} ({rng.choice(FILES)}:{rng.randrange(900)}): caused by "
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
        metadata = Metadata(project_id="default")
        made.append(Experience(content=content, summary=f"issue_{number}", metadata=metadata, **keys))
    return made


class Bare:
    """apsw and nothing else."""

    def __init__(self, folder: Path) -> None:
        self.connection = apsw.Connection(str(folder / "bare.db"))
        self.connection.execute("PRAGMA journal_mode = WAL").fetchall()
        self.connection.execute("PRAGMA synchronous = FULL").fetchall()
        self.connection.execute(
            "CREATE TABLE record (seq INTEGER PRIMARY KEY, project_id, id TEXT UNIQUE, kind, at_us, author, outcome, tool, "
            "task_id, model, issue_type, body, digest, status, validation)"
        )
        self.connection.execute(
            f"CREATE VIRTUAL TABLE record_text USING fts5 (terms, tokenize = \"ascii tokenchars '{TERM_PUNCTUATION}'\")"
        )
        self.seq = 0

    def add_many(self, rows: list[Row]) -> None:
        numbered = list(enumerate(rows, self.seq + 1))
        self.seq += len(rows)
        with self.connection:
            self.connection.executemany(
                f"INSERT INTO record VALUES ({', '.join('?' * 15)})", ((seq, *row[:14]) for seq, row in numbered)
            )
            self.connection.executemany(
                "INSERT INTO record_text (rowid, terms) VALUES (?, ?)", ((seq, row.terms) for seq, row in numbered)
            )


@contextmanager
def both(root: Path, name: str) -> Iterator[tuple[Memory, Bare]]:
    folder = root / name
    folder.mkdir()
    bare = Bare(folder)
    with Memory(folder) as memory, closing(bare.connection):
        yield memory, bare


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure_bulk(root: Path, count: int, rounds: int) -> list[tuple[float, float]]:
    pairs = []
    for number in range(rounds):
        records = experiences(count, seed=number)
        rows = [row_of(record) for record in records]
        with both(root, f"bulk{number}") as (memory, bare):
            if number % 2:
                ours, other = timed(partial(memory.add_many, records)), timed(partial(bare.add_many, rows))
            else:
                other, ours = timed(partial(bare.add_many, rows)), timed(partial(memory.add_many, records))
            pairs.append((ours, other))
    return pairs


def measure_single(root: Path, count: int) -> list[tuple[float, float]]:
    records = experiences(count, seed=99)
    rows = [row_of(record) for record in records]
    with both(root, "single") as (memory, bare):
        return [
            (timed(partial(memory.add, record)), timed(partial(bare.add_many, [row])))
            for record, row in zip(records, rows, strict=True)
        ]


def report(name: str, pairs: list[tuple[float, float]], per: int, bound: float) -> bool:
    ours, bare = (statistics.median(side) for side in zip(*pairs, strict=True))
    ratio = statistics.median(mine / other for mine, other in pairs) if per > 1 else ours / bare
    print(
        f"{name:28} {ours / per * 1e6:9.1f} µs a record  bare {bare / per * 1e6:9.1f} µs  ratio {ratio:.2f} (at most {bound})"
    )
    return ratio <= bound


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=100_000, help="records of one bulk write")
    parser.add_argument("--rounds", type=int, default=3, help="bulk writes of each side")
    parser.add_argument("--singles", type=int, default=2_000, help="single acknowledged writes of each side")
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
