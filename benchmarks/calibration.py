"""Whether `p_success` and `p_solved` are true: real attempts are replayed in order, each is predicted
before it is recorded.

Needs a folder (`--data`) with any of these files, one JSON object a line: fix attempts
(debugbench_python_dev.jsonl.gz), SQL by two agents (intercode_sql_dev.jsonl.gz), shell commands
(intercode_bash_dev.jsonl.gz), code and a household in text (mint_dev.jsonl.gz). Everything that was
asked until the memory held 20, 100, 500 and all records is scored. AUC: the chance that what worked
was predicted higher than what did not. Brier score: mean squared error of the probability, smaller
is better; beside it that of somebody who says how often anything worked so far. Calibration error:
in ten bins of the prediction, how far the mean prediction is from the share that worked, weighted by
the bin's size.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from hardwon import Memory

BRIER_MAX = 0.17
CALIBRATION_ERROR_MAX = 0.03
LENGTHS = (20, 100, 500)
FIXES = "fixes"

Row = dict[str, Any]


class Asked(NamedTuple):
    """How likely something was said to be, what worked so far lets expect, and what became of it;
    and how many records there were.
    """

    p: float
    base: float
    worked: bool
    records: int


class Answers:
    """What was asked, with the running share of what worked."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._worked = 0

    def add(self, p: float, worked: bool, records: int) -> None:
        base = (self._worked + 1) / (len(self.asked) + 2)
        self.asked.append(Asked(p, base, worked, records))
        self._worked += worked


# --- the replays ---


def fixes(rows: Sequence[Row], memory: Memory) -> dict[str, Answers]:
    answers = Answers()
    for records, row in enumerate(rows):
        issue = {
            "model": row["language"],
            "issue_type": row["bug_type"],
            "test_prompt": row["problem"],
            "description": row["explanation"].strip(),
            "fixer_type": row["fixer"],
        }
        answers.add(memory.odds(issue).p_success, row["passed"], records)
        memory.record_fix(
            issue, row["passed"], row["passed"], analysis=row["fix"], fixer_type=row["fixer"]
        )
    return {FIXES: answers}


def episodes(name: str, rows: Sequence[Row], memory: Memory) -> dict[str, Answers]:
    """Advice before each step that says whether it worked, and whether it earned the full reward."""
    works, solves = Answers(), Answers()
    for records, row in enumerate(rows):
        steps: list[Row] = []
        for step in filter(lambda step: step["action"].strip(), row["steps"]):
            said = step.get("ok", step.get("valid"))
            reward = float(step.get("reward", bool(said)))
            advice = memory.advise(step["action"], task=row["query"], steps=steps)
            if said is not None:
                works.add(advice.p_success, bool(said), records)
            if "reward" in step:
                solves.add(advice.p_solved, reward >= 1, records)
            steps.append(
                {
                    "action": step["action"],
                    "observation": step["observation"],
                    "reward": reward,
                    "ok": bool(said),
                }
            )
        best = max([0.0, *(step["reward"] for step in steps)])
        earned = float(row["success"]) if "success" in row else best
        memory.record_trajectory(row["query"], steps, min(1.0, earned))
    return {name: works} | ({f"{name}, solved": solves} if solves.asked else {})


Replay = Callable[[Sequence[Row], Memory], dict[str, Answers]]


def replays(data: Path) -> Iterator[tuple[Replay, list[Row]]]:
    """Those whose file is there, each with its rows; SQL by agent."""
    if rows := read(data / "debugbench_python_dev.jsonl.gz"):
        yield fixes, rows
    sql = read(data / "intercode_sql_dev.jsonl.gz")
    for agent in sorted({row["run"] for row in sql}):
        rows = [row for row in sql if row["run"] == agent]
        yield partial(episodes, f"SQL, {agent}"), shuffled(rows, 7)
    if rows := read(data / "intercode_bash_dev.jsonl.gz"):
        yield partial(episodes, "shell"), rows
    if rows := read(data / "mint_dev.jsonl.gz"):
        yield partial(episodes, "code"), shuffled(rows, 7)


def read(path: Path) -> list[Row]:
    if not path.exists():
        return []
    with gzip.open(path, "rt") as lines:
        return [json.loads(line) for line in lines]


def shuffled(rows: Sequence[Row], seed: int) -> list[Row]:
    mine = list(rows)
    random.Random(seed).shuffle(mine)
    return mine


# --- the scores ---


def brier(predictions: Sequence[float], outcomes: Sequence[bool]) -> float:
    return sum((p - passed) ** 2 for p, passed in zip(predictions, outcomes, strict=True)) / len(
        outcomes
    )


def bins_of(asked: Sequence[Asked]) -> list[list[Asked]]:
    bins: dict[int, list[Asked]] = defaultdict(list)
    for each in asked:
        bins[min(9, int(each.p * 10))].append(each)
    return [bins[number] for number in sorted(bins)]


def calibration_error(asked: Sequence[Asked]) -> float:
    return sum(abs(sum(each.p - each.worked for each in bin_)) for bin_ in bins_of(asked)) / len(
        asked
    )


def area_under_curve(predictions: Sequence[float], outcomes: Sequence[bool]) -> float:
    """The chance that an attempt that passed was predicted higher than one that did not."""
    ordered = sorted(zip(predictions, outcomes, strict=True))
    ranks: dict[float, list[int]] = defaultdict(list)
    for rank, (p, _) in enumerate(ordered, 1):
        ranks[p].append(rank)
    passed = sum(outcomes)
    if not 0 < passed < len(outcomes):
        return math.nan
    rank_sum = sum(sum(ranks[p]) / len(ranks[p]) for p, outcome in ordered if outcome)
    return (rank_sum - passed * (passed + 1) / 2) / (passed * (len(ordered) - passed))


def tell(name: str, asked: Sequence[Asked], after: str) -> float:
    """One line of the table. By how much the Brier score is worse than the base rate's."""
    predictions, bases, outcomes = (
        [each.p for each in asked],
        [each.base for each in asked],
        [each.worked for each in asked],
    )
    score, base = brier(predictions, outcomes), brier(bases, outcomes)
    area = area_under_curve(predictions, outcomes)
    print(
        f"{name:24} {after:>5} {len(asked):6}  AUC {area:.3f}  Brier {score:.3f}, base rate "
        f"{base:.3f}  calibration error {calibration_error(asked):.3f}",
        flush=True,
    )
    return score - base


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder with the attempts")
    parser.add_argument("--seed", type=int, help="another order than the usual one")
    parser.add_argument("--limit", type=int, help="only so many records of each")
    options = parser.parse_args()
    told: dict[str, list[Asked]] = {}
    worse: list[str] = []
    print(f"{'':24} after  asked")
    for replay, rows in replays(options.data):
        ordered = rows if options.seed is None else shuffled(rows, options.seed)
        ordered = ordered[: options.limit]
        with tempfile.TemporaryDirectory() as folder, Memory(Path(folder)) as memory:
            found = replay(ordered, memory)
        for name, answers in found.items():
            told[name] = answers.asked
            for length in (*(each for each in LENGTHS if each < len(ordered)), None):
                asked = [each for each in answers.asked if not length or each.records < length]
                if tell(name, asked, str(length or "all")) > 0:
                    worse.append(f"{name} after {length or 'all'}")
    print(
        f"worse than the base rate: {len(worse)} (at most 0){''.join(map(' - {}'.format, worse))}"
    )
    held = not worse
    if asked := told.get(FIXES, []):
        score = brier([each.p for each in asked], [each.worked for each in asked])
        error = calibration_error(asked)
        print(
            f"{FIXES}: Brier {score:.4f} (below {BRIER_MAX}), calibration error {error:.4f} (below "
            f"{CALIBRATION_ERROR_MAX})"
        )
        held = held and score < BRIER_MAX and error < CALIBRATION_ERROR_MAX
    raise SystemExit(0 if held else "a bound was missed")


if __name__ == "__main__":
    main()
