"""A few campaigns of the poisoner in each run of the tests, and that it would notice what it is for."""

from __future__ import annotations

from pathlib import Path

import pytest

import poison
from hardwon import Memory
from hardwon.surfaces.gate import Ask, Gate
from hardwon.trust.access import Caller

SEED = 20261117


def test_a_few_campaigns_win_no_more_than_they_may(tmp_path: Path) -> None:
    all_won = poison.run(9, SEED, tmp_path)
    assert [won.findings for won in all_won] == [[], [], []]
    assert [won.campaigns for won in all_won] == [3, 3, 3]
    assert "| hits: at most" in poison.table(all_won)


def test_what_is_won_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a token that may decide, an attacker wins."""
    poison.honest_history(tmp_path / "honest.db")
    with Memory(tmp_path / "honest.db", poison.PROJECT, checkout=False) as memory:
        before = poison.statuses(memory)
        ask = Ask(Gate(lambda _: memory, None), Caller("agent 7", "govern"), poison.PROJECT)
        for each in memory.browse(status="verified"):
            ask("archive", record_id=each.id, reason="wrong")
        found = poison.measure(memory, ("agent 7",), before)
        won = poison.Won(1)
        won.add("governor", found)
        assert found["statuses"] > 0
        assert any("statuses" in finding for finding in won.findings)
        assert any("answer" in finding for finding in won.findings)
        monkeypatch.setitem(poison.BOUNDS, "works", ("at least", (1.0, 1.0, 1.0)))
        won.add("again", found)
        assert any("works" in finding for finding in won.findings)
