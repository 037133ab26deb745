"""Contexts to be read with one's own eyes: what an agent would be told at places chosen by a seed.

    python benchmarks/contexts.py --data FOLDER [--replay sql,shells,code] [--show 10] [--seed 7]

FOLDER has the episodes (`intercode_sql_dev.jsonl.gz`, `intercode_bash_dev.jsonl.gz`,
`mint_dev.jsonl.gz`; one JSON object a line, with query, steps and how it ended). They are recorded in
an order that the seed shuffles, all agents in one memory; at the chosen places a context is asked
for before the episode is recorded, and printed with what earned everything there, as far as anybody
knows. Harm is the share of all places where the context offers an action that failed on that very
task, while one that worked was known.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hardwon import Memory

FILES = {
    "sql": "intercode_sql_dev.jsonl.gz",
    "shells": "intercode_bash_dev.jsonl.gz",
    "code": "mint_dev.jsonl.gz",
}
FULL = 0.995


@dataclass
class Known:
    """What is known of one task: the best that each action earned."""

    earned: dict[str, float] = field(default_factory=dict)

    @property
    def solving(self) -> list[str]:
        return [action for action, earned in self.earned.items() if earned >= FULL]


def flat(text: str) -> str:
    return " ".join(text.split())


def episodes(path: Path, seed: int) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf8") as file:
        rows = [json.loads(line) for line in file]
    random.Random(seed).shuffle(rows)
    return rows


def steps_of(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for step in row["steps"]:
        reward = step.get("reward")
        yield {
            "action": step["action"],
            "observation": step["observation"],
            "reward": float(bool(step.get("ok"))) if reward is None else reward,
        }


def reward_of(row: dict[str, Any]) -> float:
    given = row.get("max_reward", row.get("reward", row.get("success")))
    return min(1.0, max(0.0, float(given or 0.0)))


def harms(lines: list[str], known: Known) -> bool:
    """Whether an action that failed here is offered, while one that worked is known."""
    failed = [action for action, earned in known.earned.items() if earned < FULL]
    offered = [line for line in lines if "FAILED" not in line and "[worked" in line]
    return bool(known.solving) and any(
        line.rpartition(" [worked")[0].endswith(f"-> {action}")
        for line in offered
        for action in failed
    )


def replay(name: str, folder: Path, seed: int, show: int, budget: int) -> None:
    rows = episodes(folder / FILES[name], seed)
    places = set(random.Random(seed).sample(range(len(rows)), min(show, len(rows))))
    known: dict[str, Known] = {}
    harmed = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home, Memory(home) as memory:
        for place, row in enumerate(rows):
            task = known.setdefault(flat(row["query"]), Known())
            context = memory.context(row["query"], budget_tokens=budget, explain=place in places)
            harmed += harms([flat(line) for line in str(context).splitlines()], task)
            if place in places:
                print(f"\n##### {name} {place}: {row['query']}")
                print(f"SOLVES: {min(task.solving, key=len, default='(nobody has yet)')}")
                print(str(context) or f"(nothing: {context.empty_reason})")
            steps, final = list(steps_of(row)), reward_of(row)
            memory.record_trajectory(
                row["query"], steps, final, author=str(row.get("run") or row.get("model"))
            )
            for step in steps:
                action = flat(step["action"])
                earned = step["reward"] * final if name == "code" else step["reward"]
                task.earned[action] = max(task.earned.get(action, 0.0), earned)
    print(f"\n{name}: harm {harmed / len(rows):.4f} of {len(rows)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--replay", default=",".join(FILES), help="of these (%(default)s)")
    parser.add_argument("--show", type=int, default=10, help="contexts of each (%(default)s)")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--budget", type=int, default=300, metavar="TOKENS")
    given = parser.parse_args()
    for name in given.replay.split(","):
        replay(name, given.data, given.seed, given.show, given.budget)


if __name__ == "__main__":
    main()
