"""What a memory hands an agent before each attempt, on real episodes, without an LLM.

Needs a file of episodes, one JSON object a line with run, db, query, gold (the right SQL),
gold_tables, gold_columns and steps (action, observation, reward, valid): `--data` names the folder
that holds intercode_sql_dev.jsonl.gz. The episodes of an agent come in a shuffled order. Context:
before each is recorded, one is asked for with the question alone. `solved` says that it shows a
SELECT which earned the full reward where the same SQL was right; beside it, whether all gold tables
and which share of the gold columns appear in it or in the question, which a mere list of names
could do as well. Each word counts as its characters divided by four, rounded up, and what is over
the budget is cut. Advice: before each action, the probability that it works; the memory knows the
episodes before and is told the steps so far. In the same run: FTS5 over whole trajectories, FTS5
over winning actions, and the most that earlier records could tell.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import apsw

from calibration import area_under_curve, brier, read, shuffled
from hardwon import Memory
from hardwon.text.terms import TERM_PUNCTUATION, index_text, query_terms

FILE = "intercode_sql_dev.jsonl.gz"
AUC_MIN = 0.85
FIRST_ORDER = 11
PARTS = ("solved", "tables", "columns")

Item = dict[str, Any]


def words_tokens(text: str) -> int:
    return sum(-(-len(word) // 4) for word in text.split())


def cut(text: str, budget: int) -> str:
    kept = []
    for word in text.split():
        budget -= -(-len(word) // 4)
        if budget < 0:
            break
        kept.append(word)
    return " ".join(kept)


def names_in(text: str) -> set[str]:
    return {name.lower() for name in re.findall(r"\w+", text)}


def whole_text(item: Item) -> str:
    return " ".join(
        [item["query"], *(f"{step['action']} {step['observation']}" for step in item["steps"])]
    )


class Fts:
    """Bare FTS5: the texts of the best matches, one after the other."""

    def __init__(self, text_of: Callable[[Item], str]) -> None:
        self.text_of = text_of
        self.connection = apsw.Connection(":memory:")
        self.connection.execute(
            "CREATE VIRTUAL TABLE texts USING fts5 (terms, body UNINDEXED, "
            f"tokenize = \"ascii tokenchars '{TERM_PUNCTUATION}'\")"
        ).fetchall()

    def record(self, item: Item) -> None:
        text = self.text_of(item)
        if text:
            self.connection.execute(
                "INSERT INTO texts VALUES (?, ?)", (index_text(f"{item['query']} {text}"), text)
            )

    def ask(self, query: str, budget: int) -> str:
        terms = query_terms(query)
        match = " OR ".join(f'"{term}"' for term in terms)
        sql = "SELECT body FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT 10"
        return (
            cut(" ".join(body for (body,) in self.connection.execute(sql, (match,))), budget)
            if terms
            else ""
        )


def winning_actions(item: Item) -> str:
    won = [step["action"] for step in item["steps"] if step["reward"] >= 1]
    return f"{item['query']} {won[-1]}" if won else ""


def trajectory(item: Item) -> Item:
    """What `Memory.record_trajectory` is told."""
    steps = [
        {name: step[name] for name in ("action", "observation", "reward")} for step in item["steps"]
    ]
    return {
        "task": item["query"],
        "steps": steps,
        "final_reward": max([0.0, *(step["reward"] for step in steps)]),
    }


def episodes(data: Path) -> dict[str, list[Item]]:
    """The episodes of each agent, in the order of the file."""
    items = read(data / FILE)
    runs = sorted({item["run"] for item in items})
    return {run: [item for item in items if item["run"] == run] for run in runs}


def plain(sql: str) -> str:
    return " ".join(sql.lower().replace(";", " ").split())


class Earlier:
    """What earlier episodes held: it scores what a memory hands out, and is the most that any can
    hand out.
    """

    def __init__(self) -> None:
        self.names: dict[str, set[str]] = defaultdict(set)
        self.solving: dict[str, set[str]] = defaultdict(set)

    def record(self, item: Item) -> None:
        self.names[item["db"]] |= names_in(whole_text(item))
        self.solving[plain(item["gold"])] |= {
            action
            for step in item["steps"]
            if step["reward"] >= 1 and (action := plain(step["action"])).startswith("select")
        }

    def score(self, item: Item, text: str) -> tuple[float, ...]:
        """The PARTS of a text that was handed out before this episode."""
        shown = plain(text)
        solved = any(action in shown for action in self.solving[plain(item["gold"])])
        return (float(solved), *cover(item, names_in(text)))

    def ceiling(self, item: Item) -> tuple[float, ...]:
        solvable = bool(self.solving[plain(item["gold"])])
        return (float(solvable), *cover(item, self.names[item["db"]]))


def cover(item: Item, names: set[str]) -> tuple[float, float]:
    """Whether all tables and which share of the columns are among these names or in the question."""
    names = names | names_in(item["query"])
    columns = item["gold_columns"]
    found = sum(column.lower() in names for column in columns) / len(columns) if columns else 1.0
    return float(all(table.lower() in names for table in item["gold_tables"])), found


def replay(items: Sequence[Item], budgets: Sequence[int], location: Path) -> None:
    sums: dict[tuple[str, int], list[float]] = defaultdict(lambda: [0.0] * len(PARTS))
    predictions: list[float] = []
    outcomes: list[bool] = []
    whole, winners, earlier = Fts(whole_text), Fts(winning_actions), Earlier()
    with Memory(location) as memory:
        for item in items:
            query = item["query"]
            for budget in budgets:
                context = memory.context(query, budget_tokens=budget, count_tokens=words_tokens)
                answers = {
                    "hardwon": cut(str(context), budget),
                    "FTS5, whole trajectories": whole.ask(query, budget),
                    "FTS5, winning actions": winners.ask(query, budget),
                    "no memory": "",
                }
                for name, text in answers.items():
                    add(sums[name, budget], earlier.score(item, text))
                add(sums["ceiling", budget], earlier.ceiling(item))
            attempt = trajectory(item)
            for number, step in enumerate(item["steps"]):
                advice = memory.advise(
                    step["action"] or "-", task=query, steps=attempt["steps"][:number]
                )
                predictions.append(advice.p_success)
                outcomes.append(bool(step["valid"]))
            memory.record_trajectory(**attempt)
            for side in (whole, winners, earlier):
                side.record(item)
    for budget in budgets:
        for name in (
            "no memory",
            "FTS5, whole trajectories",
            "FTS5, winning actions",
            "hardwon",
            "ceiling",
        ):
            said = zip(PARTS, sums[name, budget], strict=True)
            shares = "  ".join(f"{part} {total / len(items):.3f}" for part, total in said)
            print(f"  {budget:4} tokens  {name:26} {shares}")
    area, error = area_under_curve(predictions, outcomes), brier(predictions, outcomes)
    print(
        f"  advice on {len(outcomes)} actions: AUC {area:.3f} (at least {AUC_MIN}), Brier "
        f"{error:.4f}"
    )


def add(sums: list[float], scored: Sequence[float]) -> None:
    sums[:] = [total + part for total, part in zip(sums, scored, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help=f"the folder that holds {FILE}")
    parser.add_argument("--seeds", type=int, default=1, help="so many orders")
    parser.add_argument(
        "--limit", type=int, default=None, help="only so many episodes of each agent"
    )
    options = parser.parse_args()
    for run, items in episodes(options.data).items():
        for seed in range(FIRST_ORDER, FIRST_ORDER + options.seeds):
            mine = shuffled(items, seed)
            print(f"{run}, order {seed}, {len(mine)} episodes")
            with tempfile.TemporaryDirectory() as folder:
                replay(mine[: options.limit], (300, 120), Path(folder))


if __name__ == "__main__":
    main()
