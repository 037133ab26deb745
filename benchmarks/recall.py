"""How long recall, context and advice take, against bare FTS5 that looks up the same terms in the same
table, in turn.

Needs no data: experiences as in write.py; every twentieth record is a trajectory. Bare: the same
query against the memory's own FTS5 table through apsw, joined with the record rows, 20 of them
fetched. Memory: pruning, the search, ranking 20 records, reading five; context adds composing and
counting. Advice is asked on a command, for a task and with the error before it, against recall of
the same words.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import apsw

from hardwon import Memory, Step, Trajectory
from hardwon.search.rank import rare_enough
from hardwon.store.sqlite.connection import index_name
from hardwon.text.terms import query_terms
from write import CAUSES, COMPONENTS, ERRORS, FILES, experiences

RECALL_RATIO_MAX = 1.6
GROWTH_MAX = 5.0
CONTEXT_RATIO_MAX = 3.0
ADVICE_RATIO_MAX = 2.0
BATCH = 50_000


def questions(count: int) -> list[str]:
    rng = random.Random(1)
    return [
        f"{rng.choice(ERRORS)} in the {rng.choice(COMPONENTS)}, file "
        f"{rng.choice(FILES)}:{rng.randrange(900)} "
        f"{rng.choice(CAUSES)} issue #{rng.randrange(100_000)}"
        for _ in range(count)
    ]


def trajectories(count: int, seed: int) -> list[Trajectory]:
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        file, error = f"{rng.choice(FILES)}", f"{rng.choice(ERRORS)}: {rng.choice(CAUSES)}"
        steps = [
            Step(action=f"pytest {file} -k {rng.randrange(900)}", observation=error, ok=False),
            Step(action=f"patch {file} {rng.randrange(900)}", observation="1 passed", ok=True),
        ]
        task = f"mend the {rng.choice(COMPONENTS)}, issue #{rng.randrange(1_000)}"
        found.append(Trajectory(task=task, steps=steps, final_reward=float(rng.random() < 0.7)))
    return found


def timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return (time.perf_counter() - begin) * 1e3


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def measure(folder: Path, records: int, asked: list[str]) -> tuple[float, float, float, float]:
    """Median milliseconds of bare FTS5 and of recall, the 95th percentile of context, and how many
    times as long as recall of the same words advice takes.
    """
    with Memory(folder / f"{records}.db") as memory:
        for start in range(0, records, BATCH):
            count = min(BATCH, records - start)
            memory.add_many(experiences(count - count // 20, seed=start))
            memory.add_many(trajectories(count // 20, seed=start))
        connection = apsw.Connection(memory.location)
        name = index_name("default")
        sql = (
            f"SELECT r.id, r.body, -{name}.rank AS score FROM {name} JOIN record r ON "
            f"r.seq = {name}.rowid "
            f"WHERE {name} MATCH ? AND r.project_id = 'default' ORDER BY score DESC LIMIT 20"
        )

        def bare(question: str) -> None:
            asked = query_terms(question)
            counted = memory._project.store.frequencies("default", asked)
            terms = rare_enough(counted.having, counted.texts) or asked
            match = " OR ".join(f'"{term}"' for term in terms)
            took["bare"].append(timed(lambda: connection.execute(sql, (match,)).fetchall()))

        took: dict[str, list[float]] = defaultdict(list)
        for question, met in zip(asked, trajectories(len(asked), seed=7), strict=True):
            bare(question)
            took["recall"].append(timed(lambda: memory.recall(question)))  # noqa: B023  # called at once
            took["context"].append(timed(lambda: memory.context(question)))  # noqa: B023
            action, error = met.steps[0].action, met.steps[0].observation
            took["advice"].append(
                timed(lambda: memory.advise(action, task=met.task, error=error))  # noqa: B023
            )
            took["of the like"].append(
                timed(lambda: memory.recall(f"{met.task} {action} {error}"))  # noqa: B023
            )
        connection.close()
    warm = {name: values[len(values) // 5 :] for name, values in took.items()}
    figures = (
        statistics.median(warm["bare"]),
        statistics.median(warm["recall"]),
        percentile(warm["context"], 0.95),
        statistics.median(warm["advice"]) / statistics.median(warm["of the like"]),
    )
    print(
        f"{records:>9,} records: bare FTS5 p50 {figures[0]:.2f} ms; recall p50 {figures[1]:.2f} "
        f"ms, p95 {percentile(warm['recall'], 0.95):.2f} ms; context p50 "
        f"{statistics.median(warm['context']):.2f} ms, "
        f"p95 {figures[2]:.2f} ms; advice p50 {statistics.median(warm['advice']):.2f} ms, {figures[3]:.2f} times "
        f"recall of the same words"
    )
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--small", type=int, default=100_000)
    parser.add_argument("--large", type=int, default=1_000_000)
    parser.add_argument("--questions", type=int, default=1_000, help="enough for a 95th percentile")
    options = parser.parse_args()
    asked = questions(options.questions)
    with tempfile.TemporaryDirectory() as folder:
        bare, recall, context, advice = measure(Path(folder), options.small, asked)
        _, recall_large, *_ = measure(Path(folder), options.large, asked)
    print(
        f"recall is {recall / bare:.2f} times bare (at most {RECALL_RATIO_MAX}), context p95 "
        f"{context / recall:.2f} times "
        f"recall p50 (at most {CONTEXT_RATIO_MAX}), advice p50 {advice:.2f} times recall of the same words "
        f"(at most {ADVICE_RATIO_MAX}), the large memory {recall_large / recall:.2f} "
        f"times the small (at most {GROWTH_MAX})"
    )
    held = (
        recall <= RECALL_RATIO_MAX * bare
        and context <= CONTEXT_RATIO_MAX * recall
        and advice <= ADVICE_RATIO_MAX
        and recall_large <= GROWTH_MAX * recall
    )
    raise SystemExit(0 if held else "a bound was missed")


if __name__ == "__main__":
    main()
