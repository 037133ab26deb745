"""Fits the weights of `hardwon.lessons.odds`: by how much each level that is counted moves the chance
that an action works, and that it solves its task.

Needs a folder (`--data`) with the replays: terminal runs (terminal_dev.jsonl.gz), shell commands
(intercode_bash_dev.jsonl.gz), SQL by two agents (intercode_sql_dev.jsonl.gz), code
(mint_dev.jsonl.gz). Runs are gone through in order: before each step its features are noted, then
the run is counted. A logistic regression over all replays, each of the same weight, whose weights
are drawn towards 1 for what is usual and 0 for the rest, gives the weights. Held out: the same
without the replay that is scored. `gains`: how much worse the log loss gets without the level, in
thousandths.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardwon import Trajectory
from hardwon.lessons.actions import (
    Level,
    Moment,
    count_actions,
    find_levels,
    judge_steps,
)
from hardwon.lessons.odds import SPECIAL, Counts, Features, find_features

PENALTY = 5.0
ROUNDS = 60
REPLAY_WEIGHT = 1_500.0
ENDS = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"  # the last step of every terminal run

Numbers = NDArray[np.float64]
Row = dict[str, Any]


class Run(NamedTuple):
    """A run, what was said of each step, and whether the steps before are told when it is asked."""

    record: Trajectory
    worked: list[bool]


class Asked(NamedTuple):
    """What is known before every step of a replay, in three tables (see `Features`), and what became
    of it.
    """

    general: Numbers
    special: Numbers
    own: Numbers
    good: Numbers


def read_rows(path: Path) -> list[Row]:
    with gzip.open(path, "rt") as lines:
        return [json.loads(line) for line in lines]


def make_run(task: str, steps: Sequence[Row], reward: float | None) -> Run:
    told = [
        {
            "action": step["action"],
            "observation": step["observation"],
            "ok": bool(step.get("ok", step.get("valid"))),
            "reward": float(step.get("reward", 0.0)),
        }
        for step in steps
        if step["action"].strip() and ENDS not in step["action"]
    ]
    ended = None if reward is None else min(1.0, max(0.0, float(reward)))
    record = Trajectory.model_validate({"task": task, "steps": told, "final_reward": ended})
    return Run(record, [step["ok"] for step in told])


def read_replays(data: Path) -> dict[str, list[Run]]:
    """The runs of each replay, in the order in which they are gone through."""
    replays: dict[str, list[Run]] = {}
    rows = read_rows(data / "terminal_dev.jsonl.gz")
    for seed in (7, 8, 9):
        replays[f"terminal {seed}"] = [
            make_run(row["instruction"], row["steps"], row["resolved"])
            for row in shuffle(rows, seed)
        ]
    rows = read_rows(data / "intercode_sql_dev.jsonl.gz")
    for agent in sorted({row["run"] for row in rows}):
        replays[f"SQL {agent}"] = [
            make_run(row["query"], row["steps"], row["max_reward"])
            for row in shuffle([row for row in rows if row["run"] == agent], 7)
        ]
    replays["shell"] = [
        make_run(row["query"], row["steps"], row["reward"])
        for row in read_rows(data / "intercode_bash_dev.jsonl.gz")
    ]
    replays["code"] = [
        make_run(
            row["query"],
            [{**step, "reward": step["ok"]} for step in row["steps"]],
            row["success"],
        )
        for row in shuffle(read_rows(data / "mint_dev.jsonl.gz"), 7)
    ]
    return replays


def shuffle(rows: Sequence[Row], seed: int) -> list[Row]:
    mine = list(rows)
    random.Random(seed).shuffle(mine)
    return mine


def go_through(runs: Sequence[Run], *, solving: bool, with_steps: bool) -> tuple[list[str], Asked]:
    """The names of the weights, and what is known before each step; of whether it solves, before each
    that works. `with_steps`: the steps before are told.
    """
    counts: Mapping[Level, list[float]] = defaultdict(lambda: [0.0] * len(Counts._fields))
    known: list[Features] = []
    good: list[bool] = []
    for run in runs:
        steps, moment = run.record.steps, Moment(run.record.task)
        for place, judged in enumerate(judge_steps(steps)):
            now = moment if with_steps else Moment(run.record.task)
            action = steps[place].action
            if not solving or run.worked[place]:
                levels = find_levels(action, now)
                counted = {level: Counts(*counts[level]) for level in levels.all if level in counts}
                known.append(find_features(levels, counted, now, action, solving=solving))
                good.append(steps[place].reward >= 1 if solving else run.worked[place])
            moment.take(steps[place], judged)
        for level, outcome in count_actions(run.record):
            counts[level][outcome] += 1
    names = [*known[0].general, *known[0].special, *known[0].own]
    return names, Asked(
        np.array([list(one.general.values()) for one in known]),
        np.array([list(one.special.values()) for one in known]),
        np.array([list(one.own.values()) for one in known]),
        np.array(good, float),
    )


def make_table(asked: Asked, weights: Numbers) -> Numbers:
    """A row for each step: what each weight is multiplied with, as the weights before it have it."""
    odds = asked.general @ weights[: asked.general.shape[1]]
    columns = []
    for place, strength in enumerate(SPECIAL.values()):
        good, tried = asked.special[:, place, 0], asked.special[:, place, 1]
        share = (good + strength * to_share(odds)) / (tried + strength)
        share = np.clip(share, 1e-6, 1 - 1e-6)
        moved = np.log(share / (1 - share)) - odds
        columns.append(moved)
        odds = odds + weights[asked.general.shape[1] + place] * moved
    return np.column_stack([asked.general, *columns, asked.own])


def to_share(odds: Numbers) -> Numbers:
    likely: Numbers = 1 / (1 + np.exp(-np.clip(odds, -30, 30)))
    return likely


def predict(asked: Asked, weights: Numbers) -> Numbers:
    odds: Numbers = make_table(asked, weights) @ weights
    return to_share(odds)


def fit(replays: Sequence[Asked], names: Sequence[str], unused: Set[str] = frozenset()) -> Numbers:
    """The weights, by steps of Newton's method, without those that are `unused`. What is counted may
    not speak against itself: a level whose weight would be below zero has none.
    """
    free = ("always", "unseen", "own worked", "own failed")
    prior = np.array([float(name == "usual" or name in SPECIAL) for name in names])
    used = np.array([name not in unused for name in names], float)
    good = np.concatenate([asked.good for asked in replays])
    share = np.concatenate(
        [np.full(len(asked.good), REPLAY_WEIGHT / len(asked.good)) for asked in replays]
    )
    weights = prior * used
    for _ in range(ROUNDS):
        table = np.vstack([make_table(asked, weights) for asked in replays]) * used
        likely = to_share(table @ weights)
        slope = table.T @ (share * (likely - good)) + PENALTY * (weights - prior) * used
        curve = (table * (share * likely * (1 - likely))[:, None]).T @ table
        weights = weights - np.linalg.solve(curve + PENALTY * np.eye(len(weights)), slope) / 2
        low = [0.0 if name not in free else -np.inf for name in names]
        weights = np.maximum(weights, low) * used
    final: Numbers = weights
    return final


def measure_loss(replays: Sequence[Asked], weights: Numbers) -> float:
    """The mean log loss, each replay of the same weight."""
    losses = []
    for asked in replays:
        likely = np.clip(predict(asked, weights), 1e-9, 1 - 1e-9)
        losses.append(-np.mean(asked.good * np.log(likely) + (1 - asked.good) * np.log(1 - likely)))
    return float(np.mean(losses))


def measure_area(likely: Numbers, good: Numbers) -> float:
    """The chance that what went well was predicted higher than what did not."""
    bad = np.sort(likely[good == 0])
    higher = np.searchsorted(bad, likely[good == 1], "left") + np.searchsorted(
        bad, likely[good == 1], "right"
    )
    return float(np.mean(higher) / 2 / len(bad))


def score(name: str, asked: Asked, weights: Numbers) -> str:
    likely, good = predict(asked, weights), asked.good
    usual = float(np.mean(good))
    return (
        f"{name:22} AUC {measure_area(likely, good):.3f}  Brier {np.mean((likely - good) ** 2):.4f}"
        f"  base {usual * (1 - usual):.4f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder with the replays")
    options = parser.parse_args()
    runs = read_replays(options.data)
    for solving in (False, True):
        names: list[str] = []
        asked: dict[str, Asked] = {}
        for name, replay in runs.items():
            if solving and (name.startswith("terminal") or name == "code"):
                continue  # nobody tells which of their steps solved the task
            names, asked[name] = go_through(replay, solving=solving, with_steps=True)
            if name.startswith("SQL"):
                _, asked[f"{name}, alone"] = go_through(replay, solving=solving, with_steps=False)
        weights = fit(list(asked.values()), names)
        print("SOLVES" if solving else "WORKS")
        for name, weight in zip(names, weights, strict=True):
            print(f'    "{name}": {weight:.2f},')
        for name, one in asked.items():
            held = [other for key, other in asked.items() if key.split()[0] != name.split()[0]]
            print(
                score(name, one, weights),
                "| held out:",
                score("", one, fit(held, names)).strip(),
            )
        whole = measure_loss(list(asked.values()), weights)
        print(f"log loss {whole:.4f}; gains:", end="")
        for name in names:
            if name != "usual":
                without = measure_loss(
                    list(asked.values()), fit(list(asked.values()), names, {name})
                )
                print(f"  {name} {1000 * (without - whole):.1f}", end="")
        print()


if __name__ == "__main__":
    main()
