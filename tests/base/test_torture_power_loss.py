"""A few states of every workload after a power loss, and that the replay finds what is wrong."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from unittest import mock

import apsw
import pytest

from hardwon.outside import files
from hardwon.tree.files import TreeFiles
from power_loss import STATES_OF_ONE_WORKLOAD, WORKLOADS, run
from power_workloads import OfRecords, OfTrainingMemory, OfTree, Workload

SEED = 20261116
STATES = 15  # of each workload


def states_of(number: int, count: int) -> list[int]:
    return [number * STATES_OF_ONE_WORKLOAD + state for state in range(count)]


def first_findings_in(workload: type[Workload], first: int = 0, most: int = 60) -> list[str]:
    """What is found in the first workload of a kind in which anything is."""
    turns = (first, *range(most))
    numbers = (WORKLOADS.index(workload) + turn * len(WORKLOADS) for turn in turns)
    found = (run(SEED, states_of(number, 50)).findings for number in numbers)
    return next(filter(None, found), [])


def test_nothing_acknowledged_is_lost_in_any_state() -> None:
    states = [states_of(number, STATES) for number in range(len(WORKLOADS))]
    tally = run(SEED, [state for some in states for state in some])
    assert tally.findings == []
    assert tally.states == STATES * len(WORKLOADS)
    assert tally.acknowledged > tally.states
    assert set(tally.by_target) == {"database", "tree", "files"}


class _Without:
    """The module `os` without one of its functions."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return (lambda *_: None) if name == self._name else getattr(os, name)


def _in_a_hurry(path: Path, *_: Any) -> apsw.Connection:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    connection.execute("PRAGMA synchronous = OFF; PRAGMA secure_delete = ON").fetchall()
    return connection


OF_SQLITE = "hardwon.store.sqlite"
BUGS: dict[str, tuple[type[Workload], Any]] = {
    "a folder's own name is not synced": (OfRecords, mock.patch.object(files, "sync")),
    "commits are not synced": (
        OfRecords,
        mock.patch(f"{OF_SQLITE}.connection.connect", _in_a_hurry),
    ),
    "the emptied log is not synced": (OfRecords, mock.patch(f"{OF_SQLITE}.engine.files")),
    "a page in the log counts as cut off": (
        OfRecords,
        mock.patch(f"{OF_SQLITE}.connection.measure_size", return_value=0),
    ),
    "a log is taken for another's": (
        OfRecords,
        mock.patch(f"{OF_SQLITE}.log.Log.fits", return_value=False),
    ),
    "a file is renamed before it is synced": (
        OfTrainingMemory,
        mock.patch.object(files, "os", _Without("fsync")),
    ),
    "files of the tree are believed to be synced": (OfTree, mock.patch.object(TreeFiles, "sync")),
    "a torn file of the tree is taken for somebody's": (
        OfTree,
        mock.patch("hardwon.tree.mirror._is_part_of", return_value=False),
    ),
}

SHOWS_FIRST = {"the emptied log is not synced": 7, "a page in the log counts as cut off": 7}
"""In which turn the rare ones show themselves, with this seed."""


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(bug: str) -> None:
    workload, planted = BUGS[bug]
    with planted:
        found = first_findings_in(workload, SHOWS_FIRST.get(bug, 0))
        assert found, f"the replay finds nothing where {bug}"
