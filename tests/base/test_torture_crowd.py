"""The simulated crowd of `make torture`: thousands of steps of it, that a seed replays, and that it
finds what is wrong.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import crowd
import crowd_world
import hardwon
import model
from cases import seed_of_the_run
from crowd import Plan, live
from hardwon import Memory
from hardwon.memory import record as recording
from hardwon.memory.project import Project
from hardwon.memory.record import Recording
from hardwon.store.base import add_tallies
from hardwon.store.sqlite.connection import SqliteDialect
from hardwon.store.sqlite.engine import SqliteStore

ROOT = Path(hardwon.__file__).parent.parent.parent
STEPS = 1_500
LIVES_TRIED = 6


def test_thousands_of_steps_under_faults() -> None:
    plan = Plan(seed_of_the_run(), STEPS)
    print(f"seed {plan.seed}")
    found = crowd.Run()
    for lived in map(live, [plan] * plan.lives, range(plan.lives)):
        found.add(lived)
        assert not lived.finding, (
            f"{lived.finding}\nreplay: {crowd.replay_command(plan, lived.number)}"
        )
    print(crowd.report(plan, found, 1.0))
    assert found.steps == STEPS
    never = {*crowd.ACTIONS, "open"} - set(found.tally.steps)
    assert len(never) <= 1, (
        "of so many steps a rare one may be missing once in a thousand runs, and never two"
    )
    assert sum(found.tally.fired.values()) > 30, "hardly any fault struck"
    assert found.tally.counts["acknowledged writes"] > STEPS / 4
    assert found.tally.counts["unacknowledged writes"] > 5


def run_alone(seed: int, hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [
        sys.executable,
        str(ROOT / "torture" / "crowd.py"),
        "--steps",
        "200",
        "--seed",
        str(seed),
    ]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=250, check=True
    )
    assert done.stdout.startswith(f"seed {seed}\n")
    return next(line for line in done.stdout.splitlines() if line.startswith("trace: "))


def test_a_seed_does_the_same_steps_and_meets_the_same_faults() -> None:
    assert run_alone(5, "1") == run_alone(5, "2") != run_alone(6, "1")


def test_a_life_is_lived_again_alone() -> None:
    plan = Plan(11, 520)  # the second life is short
    assert live(plan, 1).digest == live(plan, 1).digest
    assert live(plan, 1).steps == 20


# --- what is wrong is found ---


def lose_an_acknowledged_record(patch: pytest.MonkeyPatch) -> None:
    keep, calls = Recording.record, iter(range(1_000_000))

    def forgetful(self: Memory, record: Any) -> Any:
        return record if next(calls) % 40 == 39 else keep(self, record)

    patch.setattr(Recording, "record", forgetful)


def lose_a_tally(patch: pytest.MonkeyPatch) -> None:
    calls = iter(range(1_000_000))

    def careless(session: Any, dialect: Any, taught: Any) -> None:
        add_tallies(session, dialect, [each for each in taught if next(calls) % 30 != 29])

    patch.setattr("hardwon.store.sqlite.engine.add_tallies", careless)


def bring_back_what_was_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SqliteDialect, "forgotten", "SELECT value FROM json_each(?2) WHERE ?1 IS NULL")


def tear_a_batch(patch: pytest.MonkeyPatch) -> None:
    """Where the second half fails, the first one stays."""
    keep_all = recording.keep_all

    def torn(project: Project, given: list[Any], *, returned: bool) -> Any:
        return [
            *keep_all(project, given[:1], returned=returned),
            *keep_all(project, given[1:], returned=returned),
        ]

    patch.setattr(recording, "keep_all", torn)


def hand_errors_of_sqlite_on(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("hardwon.store.sqlite.connection.translated", lambda error, _path: error)


def leave_the_log_as_it_is(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SqliteStore, "finish_erasure", lambda _self: True)


def believe_whatever_is_read(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("hardwon.store.sqlite.connection.is_whole", lambda _body, _digest: True)
    patch.setattr("hardwon.store.sqlite.file.check_whole_file", lambda _connection: [])
    patch.setattr("hardwon.store.sqlite.connection.check_whole_file", lambda _connection: [])
    patch.setattr(SqliteStore, "rows", lambda _self, _project: iter(()))
    patch.setattr(SqliteStore, "untrue_tallies", lambda _self, _project: 0)
    patch.setitem(crowd.ACTIONS, "rot", (200, crowd.ACTIONS["rot"][1]))


def forget_half(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("hardwon.store.base.take_back", lambda _session, _taught: None)


@pytest.mark.parametrize(
    ("plant", "faults"),
    [
        (lose_an_acknowledged_record, False),
        (lose_a_tally, False),
        (bring_back_what_was_forgotten, False),
        (tear_a_batch, True),
        (hand_errors_of_sqlite_on, True),
        (leave_the_log_as_it_is, False),
        (believe_whatever_is_read, True),
        (forget_half, False),
    ],
)
def test_a_fault_of_the_program_is_found(
    plant: Callable[[pytest.MonkeyPatch], None], faults: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    plan = Plan(3, LIVES_TRIED * crowd.STEPS_OF_A_LIFE, faults)
    found = next(
        (lived for number in range(LIVES_TRIED) if (lived := live(plan, number)).finding), None
    )
    assert found is not None, "the crowd went on as if nothing were wrong"
    print(found.finding)
    assert f"life {found.number}, step {found.steps}" in found.finding
    assert f"--seed {plan.seed}" in crowd.replay_command(plan, found.number)


# --- the model ---


def a_picture(memory: Memory) -> model.Picture:
    place = crowd_world.Place("here", Path(memory.location), memory.project)
    try:
        return place.look()
    finally:
        place.close_eye()


def test_the_model_explains_what_was_done_and_nothing_else(tmp_path: Path) -> None:
    with Memory(tmp_path) as memory:
        empty = a_picture(memory)
        kept = memory.remember("a note", "success", "conversation")
        told = a_picture(memory)
        expected = model.Expected(
            new=[model.New("experience", "note", {"content": "a note"}, kept.id)], acknowledged=True
        )
        model.explain(empty, told, [expected])
        with pytest.raises(model.Finding, match="nobody recorded these"):
            model.explain(empty, told, [])
        with pytest.raises(model.Finding, match="was acknowledged and is not there"):
            model.explain(empty, empty, [expected])
        with pytest.raises(model.Finding, match="lost: nobody forgot these"):
            model.explain(told, empty, [])
        memory.verify(kept.id, "compiler")
        vouched = a_picture(memory)
        model.explain(
            told,
            vouched,
            [
                model.Expected(
                    events=[model.Event(kept.id, "status", "verified")], acknowledged=True
                )
            ],
        )
        with pytest.raises(model.Finding, match="nobody did this"):
            model.explain(told, vouched, [])
        memory.forget(kept.id)
        gone = a_picture(memory)
        model.explain(vouched, gone, [model.Expected(forgets={kept.id}, acknowledged=True)])
        with pytest.raises(model.Finding, match="forgotten, and still there"):
            model.explain(vouched, vouched, [model.Expected(forgets={kept.id}, acknowledged=True)])
        with pytest.raises(model.Finding, match="nobody recorded these|forgotten, and back again"):
            model.explain(gone, vouched, [])
