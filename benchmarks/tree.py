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

BULK_RATIO_MAX = 1.0
SINGLE_RATIO_MAX = 4.0
FEW_SPEEDUP_MIN = 20.0
MANY_SPEEDUP_MIN = 3.0
REFLECT_SPEEDUP_MIN = 50.0

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
    ) -> str:
        at = datetime.now(UTC)
        parts = [f"outcome={outcome}"] + ([f"tool={tool}"] if tool else [])
        route = ROUTES[outcome, tool]
        if route:
            parts.append(f"{route[0]}={metadata[route[0]]}")
        folder = os.path.join(self.root, *parts)
        os.makedirs(folder, exist_ok=True)
        self.count += 1
        path = os.path.join(folder, f"{at:%Y%m%d_%H%M%S}_{summary[:50]}_{self.count:012x}.json")
        memory = {
            "timestamp": at.isoformat(),
            "outcome": outcome,
            "tool": tool,
            "summary": summary,
            "content": content,
            "metadata": metadata,
            "_path": path,
        }
        with open(path, "w", encoding="utf-8") as file:
            json.dump(memory, file, indent=2)
        return path

    def recall(self, **intent: Any) -> list[dict[str, Any]]:
        parts = [f"{key}={intent[key]}" for key in KEYS if key in intent]
        known = [part for part in parts if part.partition("=")[0] in ("outcome", "tool")] == parts[
            :2
        ]
        between = (
            parts
            if known and len(parts) == 3
            else [part for each in parts for part in (each, "**")]
        )
        head = [] if parts and parts[0].startswith("outcome=") else ["**"]
        found = []
        for path in glob.glob(os.path.join(self.root, *head, *between, "*.json"), recursive=True):
            with open(path, encoding="utf-8") as file:
                found.append(json.load(file))
        return sorted(found, key=lambda memory: memory["timestamp"], reverse=True)

    def reflect(self) -> dict[str, Any]:
        memories = self.recall()
        areas: dict[str, Counter[str]] = {"success": Counter(), "failure": Counter()}
        for memory in memories:
            if memory["outcome"] in areas:
                areas[memory["outcome"]][
                    f"{memory['tool']}/{next(iter(memory['metadata'].values()), '')}"
                ] += 1
        return {
            "total_memories": len(memories),
            "by_outcome": Counter(memory["outcome"] for memory in memories),
            "by_tool": Counter(memory["tool"] for memory in memories if memory["tool"]),
            "failure_hotspots": areas["failure"].most_common(5),
            "success_patterns": areas["success"].most_common(5),
            "recent": memories[:5],
        }


def medians(
    rounds: int, ours: Callable[[], object], plain: Callable[[], object]
) -> tuple[float, float]:
    took: tuple[list[float], list[float]] = ([], [])
    for turn in range(rounds):
        for side, work in ((0, ours), (1, plain)) if turn % 2 else ((1, plain), (0, ours)):
            took[side].append(timed(work))
    return statistics.median(took[0]), statistics.median(took[1])


def report(
    name: str,
    ours: float,
    plain: float,
    *,
    at_most: float | None = None,
    at_least: float | None = None,
) -> bool:
    ratio = ours / plain if at_most is not None else plain / ours
    said = (
        f"{ratio:.2f} times its time (at most {at_most})"
        if at_most is not None
        else f"{ratio:.1f} times as fast"
    )
    if at_least is not None:
        said += f" (at least {at_least:g})"
    print(f"{name:46} ours {ours * 1e3:9.3f} ms   plain {plain * 1e3:9.3f} ms   {said}")
    return ratio <= at_most if at_most is not None else at_least is None or ratio >= at_least


def remember_all(side: Any, memories: list[dict[str, Any]]) -> None:
    for memory in memories:
        side.remember(**memory)


def store_in_bulk(engine: MemoryEngine, memories: list[dict[str, Any]]) -> None:
    engine.remember_many(memories)
    engine.memory.tree.mirror.settle()  # type: ignore[union-attr]  # until every file is on disk


def measure_writes(
    root: Path, memories: list[dict[str, Any]], singles: int, rounds: int
) -> list[bool]:
    bulk: tuple[list[float], list[float]] = ([], [])
    single: tuple[list[float], list[float]] = ([], [])
    for turn in range(rounds):
        with MemoryEngine(root / f"bulk{turn}") as engine:
            plain = Plain(root / f"plainbulk{turn}")

            works = [
                (0, partial(store_in_bulk, engine, memories)),
                (1, partial(remember_all, plain, memories)),
            ]
            for side, work in works if turn % 2 else works[::-1]:
                bulk[side].append(timed(work))
        with MemoryEngine(root / f"single{turn}") as engine:
            plain = Plain(root / f"plainsingle{turn}")
            for side, store in ((0, engine), (1, plain)) if turn % 2 else ((1, plain), (0, engine)):
                single[side].append(timed(partial(remember_all, store, memories[:singles])))
    a, b = (statistics.median(side) / len(memories) for side in bulk)
    c, d = (statistics.median(side) / singles for side in single)
    return [
        report("store in bulk, each", a, b, at_most=BULK_RATIO_MAX),
        report("store one by one, each (ours durable)", c, d, at_most=SINGLE_RATIO_MAX),
    ]


def measure_reads(root: Path, memories: list[dict[str, Any]], rounds: int) -> list[bool]:
    rare = [
        {
            "content": f"Rare case {number} of nothing else",
            "outcome": "failure",
            "tool": "unknown",
            "summary": f"rare_{number}",
        }
        for number in range(10)
    ]
    memories = [memory for memory in memories if memory.get("tool") != "unknown"] + rare
    plain = Plain(root / "plainreads")
    remember_all(plain, memories)
    held = []
    with MemoryEngine(root / "reads") as engine:
        engine.remember_many(memories)
    time.sleep(2.1)  # younger folders are listed anew with every question
    with MemoryEngine(root / "reads") as engine:
        intents: list[tuple[dict[str, Any], float | None]] = [
            ({"tool": "unknown"}, FEW_SPEEDUP_MIN),
            ({"outcome": "failure", "tool": "unknown"}, None),
        ]
        sizes = Counter((memory["outcome"], memory.get("tool")) for memory in memories)
        large = min(sizes, key=lambda pair: abs(sizes[pair] - 10_000))
        intents.append(({"outcome": "failure"}, MANY_SPEEDUP_MIN))
        intents.append(
            ({"outcome": large[0], **({"tool": large[1]} if large[1] else {})}, MANY_SPEEDUP_MIN)
        )
        intents.append(({"task_type": "debug"}, MANY_SPEEDUP_MIN))
        for intent, bound in intents:
            assert {memory["summary"] for memory in engine.recall(**intent)} == {
                memory["summary"] for memory in plain.recall(**intent)
            }
            found = len(plain.recall(**intent))
            took = medians(
                rounds if found > 100 else 10 * rounds,
                partial(engine.recall, **intent),
                partial(plain.recall, **intent),
            )
            said = ", ".join(f"{key}={value}" for key, value in intent.items())
            held.append(report(f"recall {said}: {found}", *took, at_least=bound))
            if bound == MANY_SPEEDUP_MIN:
                with MemoryEngine(root / "reads") as other:
                    report(
                        "  the first time a process asks",
                        timed(partial(other.recall, **intent)),
                        took[1],
                    )
        ours, theirs = engine.reflect(), plain.reflect()
        assert ours["total_memories"] == theirs["total_memories"]
        assert ours["by_outcome"] == dict(theirs["by_outcome"])
        held.append(
            report(
                "reflect",
                *medians(rounds, engine.reflect, plain.reflect),
                at_least=REFLECT_SPEEDUP_MIN,
            )
        )
    print(
        f"opening, with a look at every file: "
        f"{timed(lambda: MemoryEngine(root / 'reads').close()) * 1e3:.0f} ms"
    )
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
        held += measure_reads(Path(folder), memories, options.rounds)
    raise SystemExit(0 if all(held) else "a bound was missed")


if __name__ == "__main__":
    main()
