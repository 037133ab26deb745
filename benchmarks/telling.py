"""How long contexts and advice take, on real runs that are multiplied.

Needs a folder of episodes (`--data`): queries and shell tasks of agents, one JSON object a line with
query and steps (action, observation, reward). Each is recorded again and again, with other names: a
number behind each word that is a name, the same one throughout a copy. So texts are as long, and
words as common, as in reality. Then each question is one of the tasks with names of its own, and
with the failure of one of its steps where one failed. Times are of this process alone (CPU). Beside
them in the same run: a search by FTS5 for the same words, over the same texts.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import apsw

from calibration import read
from hardwon import Memory, Trajectory
from hardwon.text.terms import TERM_PUNCTUATION, index_text, query_terms
from recall import percentile

FILES = ("intercode_sql_dev.jsonl.gz", "intercode_bash_dev.jsonl.gz")
BATCH = 5_000
CONTEXT_MS = {100_000: (12.0, 30.0), 1_000_000: (24.0, 60.0)}
ADVICE_MS = {100_000: 10.0, 1_000_000: 20.0}

Item = dict[str, Any]


def rename(text: str, number: int) -> str:
    """The text with other names: of words with a sign, a digit or a capital within."""
    return re.sub(r"\b[A-Za-z]\w*[_A-Z0-9]\w*|\b\w+(?=\.\w)", rf"\g<0>_{number}", text)


def copy(item: Item, number: int) -> Item:
    """A run like this one, of another case."""
    steps = [
        {
            "action": rename(step["action"], number),
            "observation": rename(str(step["observation"]), number),
            "reward": float(step["reward"]),
        }
        for step in item["steps"]
    ]
    return {"task": rename(item["query"], number), "steps": steps}


def multiply(items: Sequence[Item], first: int, count: int) -> Iterator[Item]:
    """So many runs from the first on, each with the names of its own copy."""
    for place in range(first, first + count):
        yield copy(items[place % len(items)], place // len(items))


class Fts:
    """Bare FTS5 over the whole texts."""

    def __init__(self) -> None:
        self.connection = apsw.Connection(":memory:")
        self.connection.execute(
            "CREATE VIRTUAL TABLE texts USING fts5 (terms, content='', "
            f"tokenize = \"ascii tokenchars '{TERM_PUNCTUATION}'\")"
        ).fetchall()

    def add(self, items: Sequence[Item]) -> None:
        rows = []
        for item in items:
            done = (f"{step['action']} {step['observation']}" for step in item["steps"])
            rows.append((index_text(" ".join((item["task"], *done))),))
        with self.connection:
            self.connection.executemany("INSERT INTO texts (terms) VALUES (?)", rows)

    def search(self, text: str) -> None:
        asked = " OR ".join(f'"{term}"' for term in query_terms(text))
        sql = "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT 20"
        self.connection.execute(sql, (asked,)).fetchall()


def load(memory: Memory, fts: Fts, items: Sequence[Item], count: int) -> float:
    """Seconds that the memory took for recording so many."""
    took = 0.0
    for first in range(0, count, BATCH):
        batch = list(multiply(items, first, min(BATCH, count - first)))
        records = [
            Trajectory(
                task=one["task"], steps=one["steps"], final_reward=one["steps"][-1]["reward"]
            )
            for one in batch
        ]
        began = time.perf_counter()
        memory.add_many(records)
        took += time.perf_counter() - began
        fts.add(batch)
    return took


def measure(memory: Memory, fts: Fts, asked: Sequence[Item]) -> dict[str, list[float]]:
    """Milliseconds of each question, by what answered."""
    took: dict[str, list[float]] = {"FTS5": [], "context": [], "advice": []}

    def note(who: str, began: float) -> None:
        took[who].append((time.process_time() - began) * 1e3)

    for item in asked:
        failed = [step for step in item["steps"] if step["reward"] <= 0]
        step = failed[0] if failed else item["steps"][0]
        error = step["observation"][:2_000] if failed else ""
        question = f"{item['task']}\n{error}".strip()
        began = time.process_time()
        fts.search(question)
        note("FTS5", began)
        began = time.process_time()
        memory.context(question, budget_tokens=300)
        note("context", began)
        began = time.process_time()
        memory.advise(step["action"], task=item["task"], error=error or None)
        note("advice", began)
    return took


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder of the episodes")
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=300)
    options = parser.parse_args()
    items = [item for name in FILES for item in read(options.data / name) if item["steps"]]
    random.Random(7).shuffle(items)
    copies = options.records // len(items)
    asked = [copy(item, copies + 1 + place) for place, item in enumerate(items)]
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(folder, checkout=False) as memory,
    ):
        fts = Fts()
        took = load(memory, fts, items, options.records)
        print(f"{options.records:,} runs recorded, {took / options.records * 1e6:.0f} µs each")
        measure(memory, fts, asked[-20:])
        times = measure(memory, fts, asked[: options.questions])
    searched = percentile(times["FTS5"], 0.5)
    for who, values in times.items():
        p50, p95 = percentile(values, 0.5), percentile(values, 0.95)
        print(
            f"  {who:8} p50 {p50:7.2f} ms, p95 {p95:7.2f} ms, {p50 / searched:.2f} times a search by FTS5"
        )
    context, advice = CONTEXT_MS.get(options.records), ADVICE_MS.get(options.records)
    if context and advice:
        p50, p95 = (percentile(times["context"], share) for share in (0.5, 0.95))
        if p50 > context[0] or p95 > context[1] or percentile(times["advice"], 0.5) > advice:
            raise SystemExit(f"a bound was missed: context {context} ms, advice {advice} ms")


if __name__ == "__main__":
    main()
