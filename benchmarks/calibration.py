"""Whether `p_success` is true: real fix attempts are replayed in order, each is predicted before it
is recorded.

Needs a file of attempts, one JSON object a line with fixer, language, bug_type, problem and passed
(`--data` names the folder that holds debugbench_python_dev.jsonl.gz). Brier score: mean squared
error of the probability, smaller is better. Calibration error: in ten bins of the prediction, how
far the mean prediction is from the share that passed, weighted by the bin's size. In the same run:
a smoothed mean per fixer, language and bug type.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hardwon import Memory

BRIER_MAX = 0.205
CALIBRATION_ERROR_MAX = 0.025
FILE = "debugbench_python_dev.jsonl.gz"

Attempt = dict[str, Any]


def issue_of(attempt: Attempt) -> dict[str, Any]:
    return {
        "model": attempt["language"],
        "issue_type": attempt["bug_type"],
        "test_prompt": attempt["problem"],
        "description": attempt["explanation"].strip(),
        "fixer_type": attempt["fixer"],
    }


def replay(attempts: Sequence[Attempt]) -> list[float]:
    predictions = []
    with tempfile.TemporaryDirectory() as folder, Memory(Path(folder) / "memory.db") as memory:
        for attempt in attempts:
            issue = issue_of(attempt)
            predictions.append(memory.odds(issue).p_success)
            memory.record_fix(
                issue,
                attempt["passed"],
                attempt["passed"],
                analysis=attempt["fix"],
                fixer_type=attempt["fixer"],
            )
    return predictions


def smoothed_mean(attempts: Sequence[Attempt]) -> list[float]:
    tried: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0, 0])
    predictions = []
    for attempt in attempts:
        seen = tried[attempt["fixer"], attempt["language"], attempt["bug_type"]]
        predictions.append((seen[1] + 1) / (seen[0] + 2))
        seen[0] += 1
        seen[1] += attempt["passed"]
    return predictions


def brier(predictions: Sequence[float], outcomes: Sequence[bool]) -> float:
    return sum((p - passed) ** 2 for p, passed in zip(predictions, outcomes, strict=True)) / len(
        outcomes
    )


def calibration_error(predictions: Sequence[float], outcomes: Sequence[bool]) -> float:
    bins: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for p, passed in zip(predictions, outcomes, strict=True):
        sums = bins[min(9, int(p * 10))]
        sums[0] += p
        sums[1] += passed
    return sum(abs(predicted - passed) for predicted, passed in bins.values()) / len(outcomes)


def area_under_curve(predictions: Sequence[float], outcomes: Sequence[bool]) -> float:
    """The chance that an attempt that passed was predicted higher than one that did not."""
    ordered = sorted(zip(predictions, outcomes, strict=True))
    ranks: dict[float, list[int]] = defaultdict(list)
    for rank, (p, _) in enumerate(ordered, 1):
        ranks[p].append(rank)
    passed = sum(outcomes)
    rank_sum = sum(sum(ranks[p]) / len(ranks[p]) for p, outcome in ordered if outcome)
    return (rank_sum - passed * (passed + 1) / 2) / (passed * (len(ordered) - passed))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help=f"the folder that holds {FILE}")
    parser.add_argument(
        "--orders", type=int, default=3, help="the file's own order, and so many less one shuffled"
    )
    options = parser.parse_args()
    with gzip.open(options.data / FILE, "rt") as lines:
        attempts = [json.loads(line) for line in lines]
    scores, errors = [], []
    for order in range(options.orders):
        stream = list(attempts)
        if order:
            random.Random(order).shuffle(stream)
        outcomes = [attempt["passed"] for attempt in stream]
        sides: dict[str, Callable[[Sequence[Attempt]], list[float]]] = {
            "smoothed mean": smoothed_mean,
            "hardwon": replay,
        }
        for name, predict in sides.items():
            predictions = predict(stream)
            score, error = brier(predictions, outcomes), calibration_error(predictions, outcomes)
            area = area_under_curve(predictions, outcomes)
            print(
                f"{'shuffled ' + str(order) if order else 'as it is':10} {name:14} Brier "
                f"{score:.4f} calibration error {error:.4f} AUC {area:.3f} ({len(stream)} attempts)"
            )
        scores.append(score)
        errors.append(error)
    mean_score, mean_error = sum(scores) / len(scores), sum(errors) / len(errors)
    print(
        f"in the file's order Brier {scores[0]:.4f} (below {BRIER_MAX}), calibration error "
        f"{errors[0]:.4f} (below "
        f"{CALIBRATION_ERROR_MAX}); mean of {len(scores)} orders {mean_score:.4f}, {mean_error:.4f}"
    )
    held = (
        max(scores[0], mean_score) < BRIER_MAX
        and max(errors[0], mean_error) < CALIBRATION_ERROR_MAX
    )
    raise SystemExit(0 if held else "a bound was missed")


if __name__ == "__main__":
    main()
