"""The crowd of `make torture`, replayed by seed, and campaigns of the poisoner: they find what is wrong."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import crowd
import poison
from cases import seed_of_the_run
from crowd import Plan, live
from hardwon import Memory
from hardwon.memory import record as recording
from hardwon.memory.project import Project
from hardwon.memory.record import Recording
from hardwon.store.base import change_tallies
from hardwon.store.sqlite.connection import SQLITE
from hardwon.surfaces.gate import Ask, Gate
from hardwon.trust.access import Caller
from short import run_program

STEPS = 1_500
LIVES_TRIED = 6


def test_thousands_of_steps_under_faults() -> None:
    plan = Plan(seed_of_the_run(), STEPS)
    print(f"seed {plan.seed}")
    found = crowd.Run()
    for lived in map(live, [plan] * plan.lives, range(plan.lives)):
        found.add(lived)
        again = crowd.replay_command(plan, lived.number)
        assert not lived.finding, f"{lived.finding}\nreplay: {again}"
    print(crowd.report(plan, found, 1.0))
    assert found.steps == STEPS
    # of so many steps a rare one may be missing once in a thousand runs, and never two
    assert len({*crowd.ACTIONS, "open"} - set(found.tally.steps)) <= 1
    assert sum(found.tally.fired.values()) > 30, "hardly any fault struck"
    assert found.tally.counts["acknowledged writes"] > STEPS / 4
    assert found.tally.counts["unacknowledged writes"] > 5


def run_alone(seed: int, hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = (sys.executable, crowd.__file__, "--steps", "200", "--seed", str(seed))
    done = run_program(*command, env=environment, timeout=250)
    assert done.stdout.startswith(f"seed {seed}\n")
    return next(line for line in done.stdout.splitlines() if line.startswith("trace: "))


def test_a_seed_does_the_same_steps_and_meets_the_same_faults() -> None:
    assert run_alone(5, "1") == run_alone(5, "2") != run_alone(6, "1")


def lose_an_acknowledged_record(patch: pytest.MonkeyPatch) -> None:
    keep, calls = Recording.record, iter(range(1_000_000))

    def forgetful(self: Memory, record: Any) -> Any:
        return record if next(calls) % 40 == 39 else keep(self, record)

    patch.setattr(Recording, "record", forgetful)


def lose_a_tally(patch: pytest.MonkeyPatch) -> None:
    calls = iter(range(1_000_000))

    def careless(session: Any, dialect: Any, taught: Any) -> None:
        change_tallies(session, dialect, [each for each in taught if next(calls) % 30 != 29])

    patch.setattr("hardwon.store.sqlite.engine.change_tallies", careless)


def bring_back_what_was_forgotten(patch: pytest.MonkeyPatch) -> None:
    careless = replace(SQLITE, forgotten="SELECT value FROM json_each(?2) WHERE ?1 IS NULL")
    patch.setattr("hardwon.store.sqlite.engine.SQLITE", careless)


def tear_a_batch(patch: pytest.MonkeyPatch) -> None:
    """Where the second half fails, the first one stays."""
    keep_all = recording.keep_all

    def torn(project: Project, given: list[Any], *, returned: bool) -> Any:
        halves = (given[:1], given[1:])
        return [one for half in halves for one in keep_all(project, half, returned=returned)]

    patch.setattr(recording, "keep_all", torn)


def forget_half(patch: pytest.MonkeyPatch) -> None:
    def careless(session: Any, dialect: Any, taught: Any, gone: Any = (), **more: Any) -> None:
        change_tallies(session, dialect, taught, (), **more)

    patch.setattr("hardwon.store.base.change_tallies", careless)


PLANTED = [lose_an_acknowledged_record, lose_a_tally, bring_back_what_was_forgotten]
PLANTED += [tear_a_batch, forget_half]


@pytest.mark.parametrize("plant", PLANTED)
def test_a_fault_of_the_program_is_found(plant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    plan = Plan(3, LIVES_TRIED * crowd.STEPS_OF_A_LIFE, plant is tear_a_batch)
    lives = (live(plan, number) for number in range(LIVES_TRIED))
    found = next((lived for lived in lives if lived.finding), None)
    assert found is not None, "the crowd went on as if nothing were wrong"
    print(found.finding)
    assert f"life {found.number}, step {found.steps}" in found.finding
    assert f"--seed {plan.seed}" in crowd.replay_command(plan, found.number)


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
