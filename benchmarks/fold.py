"""What learning costs per record as a memory grows, and what it keeps.

Fixes, episodes, trajectories and experiences about a fixed number of situations (issues, tasks,
lessons, ways to fix) are written into a small and a large memory. Then the same batches go into
both in turn, so that a noisy machine is noisy for both, and the time of the fold alone (what a
record teaches, added up and counted into the tallies) is compared: the ratio says whether folding
gets dearer. Then, on two new memories, add_many with and without the fold. Printed too: how many
tallies there are as the large memory grows, and how long questions take on it.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hardwon import Episode, Experience, Fix, Issue, Memory, Metadata, Step, Trajectory
from hardwon.learn.tallies import tallies_of
from hardwon.records.kinds import AnyRecord, Moment, Source
from hardwon.store.base import add_tallies, row_of
from hardwon.store.sqlite import engine as any_engine
from hardwon.store.types import Row

RATIO_MAX = 1.5
BATCH = 1_000
START = datetime(2026, 1, 1, tzinfo=UTC)
DAYS = 30

MODELS = [f"model-{number}" for number in range(10)]
TYPES = ["TIMEOUT", "ERROR", "NO_OUTPUT", "UNEXPECTED_RESPONSE", "MODEL_NOT_AVAILABLE"]
TASKS = [f"task-{number}" for number in range(20)]
AUTHORS = ["ann", "bob", "ci"]
LESSONS = [f"lesson number {number} about the log and the cache" for number in range(60)]
COMMANDS = [f"fix --variant {number}" for number in range(40)]
ISSUES = 200  # each of one model, type and prompt, fixed in one of three ways
ERRORS = [
    "ValueError: invalid literal",
    "bash: make: command not found",
    "ERROR: relation users does not exist",
]


def records(count: int, seed: int, day: float = 0.0) -> Iterator[AnyRecord]:
    rng = random.Random(seed)
    for _ in range(count):
        moment = Moment(timestamp=START + timedelta(days=day, seconds=rng.randrange(3_600)))
        metadata = Metadata(
            project_id="default", context=moment, source=Source(author=rng.choice(AUTHORS))
        )
        kind = rng.randrange(4)
        if kind == 0:
            number = rng.randrange(ISSUES)
            yield Fix(
                metadata=metadata,
                issue=Issue(
                    model=MODELS[number % 10],
                    issue_type=TYPES[number % 5],
                    test_prompt=f"prompt {number}",
                ),
                fix_success=True,
                verification_success=rng.random() < 0.5,
                fix_commands=[COMMANDS[(number + rng.randrange(3)) % 40]],
            )
        elif kind == 1:
            yield Episode(
                metadata=metadata,
                task_id=rng.choice(TASKS),
                score=rng.random(),
                mistakes=rng.sample(LESSONS, 2),
                successes=rng.sample(LESSONS, 2),
            )
        elif kind == 2:
            steps = [
                Step(action="pytest", observation=rng.choice(ERRORS)),
                Step(action=rng.choice(COMMANDS), observation="3 passed", reward=1.0),
            ]
            yield Trajectory(
                metadata=metadata, task=rng.choice(TASKS), steps=steps, final_reward=1.0
            )
        else:
            yield Experience(
                metadata=metadata,
                content="The cache was stale",
                outcome="success",
                tool="code_interpreter",
                task_type=rng.choice(["debug", "write"]),
            )


def fold_seconds(memory: Memory, batch: list[Row]) -> float:
    """Writes a batch; the time that its fold took."""
    taught = [row.taught for row in batch if row.taught]
    with memory._project.store.write(memory.project) as writer:
        writer.append([row._replace(taught=None) for row in batch])
        begin = time.perf_counter()
        add_tallies(writer.session, writer.dialect, taught)
        return time.perf_counter() - begin


def derive_seconds(batch: list[AnyRecord]) -> float:
    begin = time.perf_counter()
    for record in batch:
        tallies_of(record)
    return time.perf_counter() - begin


def whole_seconds(memory: Memory, batch: list[AnyRecord]) -> float:
    begin = time.perf_counter()
    memory.add_many(batch)
    return time.perf_counter() - begin


def batches(count: int, seed: int) -> Iterator[list[AnyRecord]]:
    for start in range(0, count, BATCH):
        yield list(records(min(BATCH, count - start), seed + start, DAYS * start / count))


def tally_count(memory: Memory) -> int:
    with memory._project.store._connected() as session:  # type: ignore[attr-defined]
        return int(session.value("SELECT count(*) FROM tally"))


def fill(memory: Memory, count: int) -> None:
    for number, batch in enumerate(batches(count, 1), 1):
        fold_seconds(memory, [row_of(record) for record in batch])
        if number * BATCH in (10_000, count // 2, count):
            print(f"tallies after {number * BATCH:>9,} records: {tally_count(memory):,}")


def per_record(memory: Memory, batch: list[AnyRecord]) -> float:
    derive = derive_seconds(batch)
    return (derive + fold_seconds(memory, [row_of(record) for record in batch])) / len(batch) * 1e6


def after_the_last_record() -> datetime:
    return START + timedelta(days=DAYS)


def measure(folder: Path, count: int, early: int, rounds: int) -> None:
    with (
        Memory(folder / "large.db", consolidate_every=0, clock=after_the_last_record) as large,
        Memory(folder / "small.db", consolidate_every=0, clock=after_the_last_record) as small,
    ):
        fill(large, count)
        fill(small, early)
        sides: dict[str, list[float]] = {"small": [], "large": []}
        for number in range(rounds):
            # alike, but for their ids
            batch, same = (list(records(BATCH, -number - 1, DAYS - 0.5)) for _ in range(2))
            turns = [("small", small, batch), ("large", large, same)]
            for name, memory, part in turns if number % 2 else reversed(turns):
                sides[name].append(per_record(memory, part))
        first, last = statistics.median(sides["small"]), statistics.median(sides["large"])
        print(
            f"fold of a record into {early:,} records {first:.1f} µs, into {count:,} records "
            f"{last:.1f} µs: ratio {last / first:.2f} (at most {RATIO_MAX})"
        )
        questions(large)
    share(folder, count)
    raise SystemExit(0 if last / first <= RATIO_MAX else "the bound was missed")


def share(folder: Path, seed: int) -> None:
    """The same batches through add_many, with and without learning, in turn on two new memories."""
    with_fold, without = [], []
    engine: Any = any_engine
    with (
        Memory(folder / "learning.db", consolidate_every=0) as learning,
        Memory(folder / "counting_nothing.db", consolidate_every=0) as other,
    ):
        for batch in batches(20 * BATCH, seed + 7):
            with_fold.append(whole_seconds(learning, batch))
            engine.add_tallies = lambda *_: None
            try:
                without.append(whole_seconds(other, batch))
            finally:
                engine.add_tallies = add_tallies
    ours, bare = (
        statistics.median(with_fold) / BATCH * 1e6,
        statistics.median(without) / BATCH * 1e6,
    )
    print(
        f"add_many of such records {ours:.1f} µs each, {bare:.1f} µs where nothing is counted: "
        f"ratio {ours / bare:.2f}"
    )


def questions(memory: Memory) -> None:
    asked: dict[str, Callable[[], object]] = {
        "odds of an issue": lambda: memory.odds(
            {"model": MODELS[0], "issue_type": TYPES[0], "test_prompt": "prompt 1"}
        ),
        "rules of a task": lambda: memory.rules(TASKS[0]),
        "patterns": memory.patterns,
        "model insights": lambda: memory.model_insights(MODELS[0]),
        "solutions": lambda: memory.solutions(ERRORS[0]),
        "consolidate": memory.consolidate,
    }
    for name, ask in asked.items():
        begin = time.perf_counter()
        ask()
        print(f"{name:18} {(time.perf_counter() - begin) * 1e3:8.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--early", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), options.records, options.early, options.rounds)


if __name__ == "__main__":
    main()
