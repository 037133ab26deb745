"""Writes the database of the current release into this folder: `python tests/released/make.py`.
Done once per release; what was released is never written again.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import hardwon
from hardwon import Memory


def main() -> None:
    target = Path(__file__).parent / f"{hardwon.__version__}.db"
    if target.exists():
        raise SystemExit(f"{target.name} was released already")
    ticks = count()
    with Memory(
        target,
        project="released",
        clock=lambda: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=next(ticks)),
    ) as m:
        kept = m.remember(
            "Fixed the flaky test in tests/test_io.py",
            "success",
            "code_interpreter",
            task_type="debug",
            ticket=7,
        )
        m.record_fact(
            "Python 3.11 has no itertools.batched.",
            "observation",
            0.9,
            {"libraries": ["itertools"]},
            tags=["py"],
        )
        m.record_trajectory(
            "make it pass", [{"action": "pytest", "observation": "1 failed", "reward": -1.0}], 0.0
        )
        m.record_episode(
            "triage",
            0.4,
            3,
            "went wrong",
            ["guessed"],
            ["read the log"],
            [{"mistake_type": "guess", "worker_id": 2}],
        )
        m.record_fix(
            {"model": "qwen2.5:7b", "issue_type": "TIMEOUT"},
            True,
            False,
            "slow",
            ["sleep 1"],
            2.5,
            {"os": "Linux"},
        )
        gone = m.remember("to be forgotten", "failure", "unknown")
        m.verify(kept.id, "test_runner", "ci-1")
        m.forget(gone.id)
        m.rollback("nobody", "an example of a decision")


if __name__ == "__main__":
    main()
