"""What the tree costs, and saves, against a plain implementation that keeps the very same files.

The plain side is what one would write in an afternoon: a memory is a JSON file in a folder named by
its keys, written with open and json.dump and never synced; a question is a glob, a json.load of
every match, and a sort. Ours keeps a database beside the files, syncs it before it answers, and
takes in first whatever somebody did to the files. Both hold the same memories; runs alternate.
"""

# The plain side uses the functions that people use who write such a thing.
# ruff: noqa: PTH103, PTH118, PTH123, PTH207

from __future__ import annotations

import argparse
import glob
import json
import os
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from hardwon.records.kinds import ROUTES
from hardwon.tree.datasets import generate
from hardwon.tree.engine import MemoryEngine
from write import timed

# So many times as fast as the plain side.
BULK_SPEED_MIN = 1.0
SINGLE_SPEED_MIN = 0.25
FEW_SPEED_MIN = 20.0
MANY_SPEED_MIN = 3.0
REFLECT_SPEED_MIN = 50.0

KEYS = ("outcome", "tool", *sorted({route[0] for route in ROUTES.values() if route}))


class Plain:
    """Files and nothing else."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.count = 0

    def remember(
        self,
        content: str,
        outcome: str,
        tool: str | None = None,
        summary: str = "",
        **metadata: Any,
    ) -> None:
        at = datetime.now(UTC)
        parts = [f"outcome={outcome}"] + ([f"tool={tool}"] if tool else [])
        if route := ROUTES[outcome, tool]:
            parts.append(f"{route[0]}={metadata[route[0]]}")
        folder = os.path.join(self.root, *parts)
        os.makedirs(folder, exist_ok=True)
        self.count += 1
        path = os.path.join(folder, f"{at:%Y%m%d_%H%M%S}_{summary[:50]}_{self.count:012x}.json")
        memory = {"timestamp": at.isoformat(), "outcome": outcome, "tool": tool, "_path": path}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(
                {**memory, "summary": summary, "content": content, "metadata": metadata},
                file,
                indent=2,
            )

    def recall(self, **intent: Any) -> list[dict[str, Any]]:
        steps = [step for key in KEYS if key in intent for step in (f"{key}={intent[key]}", "**")]
        memories = []
        for path in glob.glob(os.path.join(self.root, "**", *steps, "*.json"), recursive=True):
            with open(path, encoding="utf-8") as file:
                memories.append(json.load(file))
        return sorted(memories, key=lambda memory: memory["timestamp"], reverse=True)

    def reflect(self) -> dict[str, Any]:
        memories = self.recall()
        areas: dict[str, Counter[str]] = {"success": Counter(), "failure": Counter()}
        for memory in memories:
            if memory["outcome"] in areas:
                key = next(iter(memory["metadata"].values()), "")
                areas[memory["outcome"]][f"{memory['tool']}/{key}"] += 1
        return {
            "total_memories": len(memories),
            "by_outcome": Counter(memory["outcome"] for memory in memories),
            "by_tool": Counter(memory["tool"] for memory in memories if memory["tool"]),
            "failure_hotspots": areas["failure"].most_common(5),
            "success_patterns": areas["success"].most_common(5),
            "recent": memories[:5],
        }


def medians(
    rounds: int, ours: Callable[[int], object], plain: Callable[[int], object]
) -> tuple[float, float]:
    """Seconds of each side, which take turns in going first."""
    took: tuple[list[float], list[float]] = ([], [])
    for turn in range(rounds):
        for side, work in ((0, ours), (1, plain))[:: 1 if turn % 2 else -1]:
            took[side].append(timed(partial(work, turn)))
    return statistics.median(took[0]), statistics.median(took[1])


def report(name: str, ours: float, plain: float, bound: float = 0.0) -> bool:
    """Whether ours is at least so many times as fast. Without a bound it is."""
    shown = f" (at least {bound:g})" if bound else ""
    print(
        f"{name:46} ours {ours * 1e3:9.3f} ms   plain {plain * 1e3:9.3f} ms   "
        f"{plain / ours:.2f} times as fast{shown}"
    )
    return plain / ours >= bound


def measure_writes(root: Path, memories: list[dict[str, Any]], singles: int, rounds: int) -> bool:
    def in_bulk(turn: int) -> None:
        with MemoryEngine(root / f"bulk{turn}") as engine:
            engine.remember_many(memories)

    def one_by_one(turn: int) -> None:
        with MemoryEngine(root / f"single{turn}") as engine:
            for memory in memories[:singles]:
                engine.remember(**memory)

    def plainly(count: int, turn: int) -> None:
        plain = Plain(root / f"plain{count}-{turn}")
        for memory in memories[:count]:
            plain.remember(**memory)

    bulk = medians(rounds, in_bulk, partial(plainly, len(memories)))
    single = medians(rounds, one_by_one, partial(plainly, singles))
    held = report("store in bulk", *bulk, BULK_SPEED_MIN)
    return report("store one by one (ours durable)", *single, SINGLE_SPEED_MIN) and held


def measure_reads(root: Path, memories: list[dict[str, Any]], rounds: int) -> bool:
    rare = {"content": "A rare case", "outcome": "failure", "tool": "unknown"}
    memories = [memory for memory in memories if memory.get("tool") != "unknown"]
    memories += [{**rare, "summary": f"rare_{number}"} for number in range(10)]
    plain = Plain(root / "plainreads")
    for memory in memories:
        plain.remember(**memory)
    with MemoryEngine(root / "reads") as engine:
        engine.remember_many(memories)
    time.sleep(2.1)  # younger folders are listed anew with every question
    intents: list[tuple[dict[str, Any], float]] = [
        ({"tool": "unknown"}, FEW_SPEED_MIN),
        ({"outcome": "failure"}, MANY_SPEED_MIN),
        ({"outcome": "failure", "tool": "code_interpreter"}, MANY_SPEED_MIN),
        ({"task_type": "debug"}, MANY_SPEED_MIN),
    ]
    held = True
    with MemoryEngine(root / "reads") as engine:
        for intent, bound in intents:
            count = len(plain.recall(**intent))
            assert len(engine.recall(**intent)) == count
            took = medians(
                rounds if count > 100 else 10 * rounds,
                lambda _: engine.recall(**intent),  # noqa: B023  # called at once
                lambda _: plain.recall(**intent),  # noqa: B023
            )
            shown = ", ".join(f"{key}={value}" for key, value in intent.items())
            held &= report(f"recall {shown}: {count}", *took, bound)
        assert engine.reflect()["by_outcome"] == dict(plain.reflect()["by_outcome"])
        took = medians(rounds, lambda _: engine.reflect(), lambda _: plain.reflect())
        held &= report("reflect", *took, REFLECT_SPEED_MIN)
    opening = timed(lambda: MemoryEngine(root / "reads").close())
    print(f"opening, with a look at every file: {opening * 1e3:.0f} ms")
    return held


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--memories", type=int, default=50_000)
    parser.add_argument("--singles", type=int, default=5_000, help="memories stored one by one")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    memories = generate(options.memories, seed=7)
    with tempfile.TemporaryDirectory() as folder:
        held = measure_writes(Path(folder), memories, options.singles, options.rounds)
        held &= measure_reads(Path(folder), memories, options.rounds)
    raise SystemExit(0 if held else "a bound was missed")


if __name__ == "__main__":
    main()
