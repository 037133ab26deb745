"""What a training memory costs after 100,000 episodes, against what it cost after 100.

Memories with few and with many episodes behind them take the same next episodes in turn: each is
recorded, a context is built, and the memory is saved (as in a careful run; most save after ten).
Everything that a memory keeps is bounded, so that neither the steps nor the file may grow with the
number of episodes ever recorded. Lists that are still filling up after 100 episodes are why the
bound is not 1: the file is smaller then, and a save writes all of it. Once they are full nothing
grows.

The texts are those of a real run in kind: a few dozen distinct mistakes and successes, scores of
five tasks.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hardwon.training.functions import (
    build_memory_context,
    new_agent_memory,
    record_episode,
    save_agent_memory,
)

STEP_RATIO_MAX = 2.0
GROWTH_MAX = 1.2
TASKS = ["root_cause_analysis", "triage", "rollback", "capacity", "postmortem"]
PARTS = [
    "auth-service",
    "the session cache",
    "the CSV importer",
    "the job scheduler",
    "the gateway",
]
DEEDS = [
    "Restarted {} before reading its log",
    "Escalated {} without a cause",
    "Found the cause in {} on step 3",
    "Rolled {} back first",
]


def episodes(seed: int) -> Iterator[dict[str, Any]]:
    rng = random.Random(seed)
    lessons = [deed.format(part) for deed in DEEDS for part in PARTS]
    while True:
        yield {
            "task_id": rng.choice(TASKS),
            "score": round(rng.random(), 3),
            "steps": rng.randrange(3, 30),
            "trajectory_summary": f"Looked at {rng.choice(PARTS)} and {rng.choice(PARTS)}, run "
            f"{rng.randrange(10**6)}",
            "mistakes": rng.sample(lessons, 3),
            "successes": rng.sample(lessons, 3),
            "mistake_cards": [
                {
                    "mistake_type": f"low_score_{rng.randrange(40)}",
                    "lesson": rng.choice(lessons),
                    "evidence": "step 2",
                }
                for _ in range(2)
            ],
        }


class Run:
    """A memory that has a number of episodes behind it, and the times of what is done to it."""

    def __init__(self, folder: Path, before: int) -> None:
        self.path = folder / f"{before}.json"
        self.before = before
        self.memory = new_agent_memory()
        for number, episode in zip(range(before), episodes(before), strict=False):
            record_episode(self.memory, episode)
            if number % 1000 == 999:
                save_agent_memory(self.memory, self.path)
        save_agent_memory(self.memory, self.path)
        self.bytes = self.path.stat().st_size
        self.took_us: dict[str, list[float]] = {"record": [], "context": [], "save": []}

    def step(self, episode: dict[str, Any]) -> None:
        steps: dict[str, Callable[[], object]] = {
            "record": lambda: record_episode(self.memory, episode),
            "context": lambda: build_memory_context(self.memory, episode["task_id"]),
            "save": lambda: save_agent_memory(self.memory, self.path),
        }
        for name, work in steps.items():
            start = time.perf_counter()
            work()
            self.took_us[name].append((time.perf_counter() - start) * 1e6)

    def median_us(self, *names: str) -> float:
        return sum(statistics.median(self.took_us[name]) for name in names)


def report(name: str, few: float, many: float, unit: str, bound: float) -> bool:
    print(
        f"{name:24} {few:9.1f} {unit} → {many:9.1f} {unit}, ratio {many / few:.2f} (at most "
        f"{bound})"
    )
    return many / few <= bound


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--few", type=int, default=100, help="episodes behind the first memory")
    parser.add_argument("--many", type=int, default=100_000, help="episodes behind the second")
    parser.add_argument(
        "--full", type=int, default=10_000, help="episodes after which the lists are full"
    )
    parser.add_argument("--steps", type=int, default=300, help="episodes that are measured")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        few, full, many = (
            Run(Path(folder), before) for before in (options.few, options.full, options.many)
        )
        for number, episode in zip(range(options.steps), episodes(-1), strict=False):
            runs = [few, full, many]
            for run in runs[number % 3 :] + runs[: number % 3]:
                run.step(episode)
        sizes = [run.path.stat().st_size / 1024 for run in (few, full, many)]
    everything = ("record", "context", "save")
    print(f"after {few.before} episodes → after {many.before}")
    held = [
        report(
            "record + context",
            few.median_us(*everything[:2]),
            many.median_us(*everything[:2]),
            "µs",
            STEP_RATIO_MAX,
        ),
        report(
            "record + context + save",
            few.median_us(*everything),
            many.median_us(*everything),
            "µs",
            STEP_RATIO_MAX,
        ),
    ]
    print(f"after {full.before} episodes → after {many.before}")
    held += [
        report("save", full.median_us("save"), many.median_us("save"), "µs", GROWTH_MAX),
        report("file", sizes[1], sizes[2], "KiB", GROWTH_MAX),
    ]
    raise SystemExit(0 if all(held) else "a bound was missed")


if __name__ == "__main__":
    main()
