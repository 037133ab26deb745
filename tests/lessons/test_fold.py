"""Knowledge commutes: any order, split, merge or rebuild gives the very same tallies."""

from __future__ import annotations

import random
from contextlib import AbstractContextManager

import pytest
from hypothesis import strategies as st

import engines
from engines import ENGINES, everything_in, go_past, holds_in_every_engine, wrong_with
from hardwon import Memory
from hardwon.records.kinds import AnyRecord
from logs import knowledge_of, logs
from strategies import at

pytestmark = pytest.mark.engines(*ENGINES)


def memories(engine: str, number: int) -> AbstractContextManager[list[Memory]]:
    return engines.memories(engine, number, clock=lambda: at(10**7))


def keep(memory: Memory, log: list[AnyRecord]) -> None:
    """As whoever has it brings it: what was adopted comes in by a door of its own."""
    memory.add_many([record for record in log if record.kind != "adopted"])
    memory.care.take_in([record for record in log if record.kind == "adopted"])


@holds_in_every_engine(60, logs, st.randoms(use_true_random=False))
def test_any_order_teaches_the_same(engine: str, log: list[AnyRecord], rng: random.Random) -> None:
    with memories(engine, 2) as (one, other):
        keep(one, log)
        shuffled = list(log)
        rng.shuffle(shuffled)
        for record in shuffled:
            keep(other, [record])
        assert knowledge_of(one) == knowledge_of(other)
        assert wrong_with(one) == []


@holds_in_every_engine(40, logs, st.integers(0, 14), st.data())
def test_split_and_merged_logs_teach_the_same(
    engine: str, log: list[AnyRecord], cut: int, data: st.DataObject
) -> None:
    with memories(engine, 3) as (whole, left, right):
        keep(whole, log)
        keep(left, log[:cut])
        keep(right, log[cut // 2 :])
        change = data.draw(st.sampled_from(["none", "forget", "verify", "archive"]))
        victim = data.draw(st.sampled_from(log))
        if change == "forget":
            whole.forget(victim.id)
            (right if right.get(victim.id) else left).forget(victim.id)
        elif change != "none" and victim.metadata.validation.status in ("hypothesis", "verified"):
            for memory in (whole, right if right.get(victim.id) else left):
                if change == "verify":
                    memory.verify(victim.id, "test_runner")
                else:
                    memory.archive(victim.id, "stale")
        left.merge(right, trust=True)
        right.merge(left, trust=True)
        assert knowledge_of(left) == knowledge_of(right) == knowledge_of(whole)
        assert wrong_with(left) == []


@holds_in_every_engine(60, logs, st.data())
def test_undoing_leaves_no_trace(engine: str, log: list[AnyRecord], data: st.DataObject) -> None:
    gone = data.draw(st.lists(st.sampled_from(log), unique_by=lambda record: record.id))
    archived = data.draw(st.lists(st.sampled_from(log), unique_by=lambda record: record.id))
    forgotten = {record.id for record in gone}
    silent = {record.id for record in archived}
    with memories(engine, 2) as (had, never):
        keep(had, log)
        for record in archived:
            if record.metadata.validation.status != "archived":
                had.archive(record.id, "stale")
        had.forget(forgotten) if forgotten else None
        keep(never, [record for record in log if record.id not in forgotten | silent])
        tallies = [row for row in knowledge_of(had) if len(row) > 2]
        assert tallies == [row for row in knowledge_of(never) if len(row) > 2]
        assert wrong_with(had) == []


@holds_in_every_engine(25, logs, st.data())
def test_rebuild_and_doctor(engine: str, log: list[AnyRecord], data: st.DataObject) -> None:
    with memories(engine, 1) as (memory,):
        keep(memory, log)
        sound = knowledge_of(memory)
        set_to = ("level0 = level0 + 1", "day = day + 9")
        damages = [f"UPDATE tally SET {change}" for change in set_to]
        damages += ["DELETE FROM tally", "DELETE FROM record_key"]
        go_past(memory, data.draw(st.sampled_from(damages)))
        assert (wrong_with(memory) == []) == (knowledge_of(memory) == sound)
        memory.rebuild()
        assert knowledge_of(memory) == sound
        assert wrong_with(memory) == []


@pytest.mark.parametrize("text", ["TypeError: x", "ordinary"])
def test_a_forgotten_text_is_in_no_tally(memory: Memory, text: str) -> None:
    secretive = f"{text} zebra-crossing-7"
    cards = [{"mistake_type": secretive}]
    episode = memory.record_episode(secretive, 0.2, mistakes=[secretive], mistake_cards=cards)
    issue = {"model": secretive, "issue_type": secretive}
    fix = memory.record_fix(issue, True, True, fix_commands=[secretive])
    assert any(secretive in str(row) for row in knowledge_of(memory))
    assert memory.forget([episode.id, fix.id]).erased
    assert knowledge_of(memory) == []
    assert b"zebra-crossing-7" not in everything_in(memory)
