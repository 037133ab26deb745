"""Two days of the month in each run of the tests, and that it would notice what it is for."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import month


def test_two_days_of_four_processes_lose_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.root.manager, "disable", logging.CRITICAL)
    seen = month.run(tmp_path, days=2, attempts=3, episodes=12, seed=20261117)
    evening = seen.back_up()
    day = 2
    seen.work_a_day(day, list(range(100, 112)), list(range(100, 104)))
    seen.restore(evening)
    seen.look(day)
    assert seen.findings == []
    assert (seen.restores, len(seen.attempts.begun), len(seen.episodes.begun)) == (1, 24, 12)
    assert seen.compared > 60
    # an evening that is put back without a word is noticed
    seen.work_a_day(day, list(range(200, 212)), list(range(200, 204)))
    before = seen.attempts, seen.episodes
    seen.restore(evening)
    seen.attempts, seen.episodes = before
    seen.look(day)
    assert "attempts that were acknowledged and are lost" in seen.findings[0]
    assert any("episodes that were acknowledged" in finding for finding in seen.findings)
    assert list(month.told(seen))[-1] in seen.findings
