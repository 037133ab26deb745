"""Lines of sixteen systems' logs are grouped as they were made: `benchmarks/failures.py` on fewer of
them.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(
    str(Path(__file__).parents[1] / "benchmarks")
)  # last: its modules have everyday names

import failures


def test_lines_of_logs_are_grouped_as_they_were_made() -> None:
    group = failures.WAYS["failure_hash"]
    overall, errors = failures.mean_of_both([
        failures.score_both(list(failures.make_lines(system, 200, seed)), group)
        for system in failures.SYSTEMS.values()
        for seed in range(1, 4)
    ])  # fmt: skip
    assert overall.f1 >= 0.95
    assert errors.f1 >= 0.95
    assert min(overall.precision, errors.precision) >= 0.99


def test_pairs_are_scored() -> None:
    assert failures.score("aabb", "aabb") == (1, 1, 1)
    assert failures.score("abcd", "aabb") == (0, 1, 0)
    assert failures.score("aaaa", "aabb") == (0.5, 1 / 3, 1)
