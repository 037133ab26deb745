"""Fits the weights of `hardwon.lessons.fix_odds`: how many attempts of its own weigh, at each level
that is counted, as much as what is expected without them.

Needs a folder (`--data`) with fix attempts (debugbench_python_dev.jsonl.gz). They are gone through in
order: each is predicted, then counted; twice, from the issue and the fixer, and from what was done as
well. One level after the other is given the weight that makes the Brier score smallest, as long as
that gains something. `without`: how much worse the score gets, in thousandths, where the level says
nothing.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from hardwon import Fix, Issue
from hardwon.lessons.counts import count_fix
from hardwon.lessons.fix_odds import NOTHING, WEIGHTS, Attempts, FixCounts, estimate_fix
from hardwon.lessons.keys import BETWEEN_NAMES

FILE = "debugbench_python_dev.jsonl.gz"
SILENT = 1e9  # so many attempts outweigh whatever is counted
STEPS = (0.5, 0.7, 1.5, 2.0)
FITTED = [level for level in WEIGHTS if level not in ("all", "tool", "tool and task", "strategy")]

Counted = dict[tuple[str, str], dict[str, Attempts]]


class Attempt(NamedTuple):
    """What one attempt is counted under, key and item by scope, and whether it succeeded."""

    places: dict[str, tuple[str, str]]
    worked: bool


def read(path: Path) -> list[Attempt]:
    attempts = []
    with gzip.open(path, "rt") as lines:
        for row in map(json.loads, lines):
            issue = Issue(
                model=row["language"],
                issue_type=row["bug_type"],
                test_prompt=row["problem"],
                description=row["explanation"].strip(),
            )
            fix = Fix(
                issue=issue,
                analysis=row["fix"],
                fix_success=row["passed"],
                verification_success=row["passed"],
                fixer_type=row["fixer"],
            )
            places = {one.scope: (one.key, one.item) for one in count_fix(fix)}
            attempts.append(Attempt(places, row["passed"]))
    return attempts


def predict(counted: Counted, places: dict[str, tuple[str, str]], *, words: bool) -> float:
    def items(scope: str) -> dict[str, Attempts]:
        return counted[scope, places[scope][0]] if scope in places else {}

    issue_type, fixer = places["fix.type"]
    model, subject = items("fix.model"), items("fix.subject")
    types = {issue_type, *(item.partition(BETWEEN_NAMES)[0] for item in (*model, *subject))}
    degree = places["fix.words"][1] if words and "fix.words" in places else ""
    known = FixCounts(
        items("fix"),
        {name: counted["fix.type", name] for name in types},
        issue_type,
        model,
        subject,
        items("fix.signature"),
        items("fix.words").get(degree, NOTHING),
    )
    return estimate_fix(known, fixer).p_success


def score(attempts: Sequence[Attempt]) -> float:
    """The Brier score, the mean of both questions."""
    counted: Counted = defaultdict(dict)
    total = 0.0
    for places, worked in attempts:
        for words in (False, True):
            total += (predict(counted, places, words=words) - worked) ** 2 / 2
        for scope, (key, item) in places.items():
            before = counted[scope, key].get(item, NOTHING)
            one = Attempts(1, worked, worked, 1.0, float(worked))
            together = (mine + its for mine, its in zip(before, one, strict=True))
            counted[scope, key][item] = Attempts(*together)  # type: ignore[arg-type]
    return total / len(attempts)


@contextmanager
def weight(level: str, value: float) -> Iterator[None]:
    before = WEIGHTS[level]
    WEIGHTS[level] = value
    yield
    WEIGHTS[level] = before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a folder with the attempts")
    parser.add_argument("--rounds", type=int, default=0, help="how often each level is fitted anew")
    arguments = parser.parse_args()
    attempts = read(arguments.data / FILE)
    best = score(attempts)
    print(f"{len(attempts)} attempts: Brier score {best:.4f}")
    for _ in range(arguments.rounds):
        for level in FITTED:
            for value in [WEIGHTS[level] * step for step in STEPS]:
                with weight(level, value):
                    found = score(attempts)
                if found < best:
                    best, WEIGHTS[level] = found, value
        print(f"fitted: Brier score {best:.4f}", flush=True)
    for level in FITTED:
        with weight(level, SILENT):
            lost = 1_000 * (score(attempts) - best)
        print(f"{level:30} {WEIGHTS[level]:6.1f}  without {lost:+.2f}", flush=True)


if __name__ == "__main__":
    main()
