"""Every line about a task or a failure ends with an id, by which one asks why, and takes it out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from clocks import Clock
from hardwon import Memory

TASK = "ship the shop"
STEPS = [
    {"action": "make ship", "observation": "STAGING_HOST is not set", "ok": False},
    {"action": "export STAGING_HOST=web1", "observation": "", "ok": True},
    {"action": "make ship", "observation": "shipped", "ok": True},
]
LOST = [{"action": "make ship --fast", "observation": "KeyError: 'fast'", "ok": False}]


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    with Memory(tmp_path / "brain", clock=clock, consolidate_every=0) as opened:
        yield opened


def read_id(memory: Memory, asked: str, words: str) -> str:
    """The id at the end of the line that has these words."""
    (line,) = [line for line in str(memory.context(asked)).splitlines() if words in line]
    match = re.search(r"; (\w{5})\]$", line)
    assert match, line
    return match[1]


def test_why_names_the_runs_behind_a_way_a_failed_attempt_and_a_cure(memory: Memory) -> None:
    solved = memory.record_trajectory(TASK, STEPS, 1.0)
    lost = memory.record_trajectory(TASK, LOST, 0.0)
    way = memory.why(read_id(memory, TASK, "this task -> one after"))
    assert (way.lesson.kind, way.lesson.situation) == ("way", TASK)
    assert [row.record_id for row in way.runs] == [solved.id]
    failed = memory.why(read_id(memory, TASK, "FAILED"))
    assert (failed.lesson.kind, failed.lesson.action) == ("dead end", "make ship --fast")
    assert [row.record_id for row in failed.runs] == [lost.id]
    cure = memory.why(read_id(memory, "STAGING_HOST is not set", "went away by"))
    assert (cure.lesson.kind, cure.lesson.action) == ("cure", "export STAGING_HOST=web1")


def test_what_is_called_wrong_is_never_told_again_and_right_takes_it_back(memory: Memory) -> None:
    memory.record_trajectory(TASK, STEPS, 1.0)
    lesson_id = read_id(memory, TASK, "this task -> one after")
    memory.wrong(lesson_id, reason="the host is set by the deployment now")
    assert "this task -> one after" not in str(memory.context(TASK))
    memory.right(lesson_id)
    assert "this task -> one after" in str(memory.context(TASK))
