"""Memories of a few facts in files, for tests of what becomes of the files."""

from __future__ import annotations

import subprocess
import warnings
from pathlib import Path

from hardwon import Fact, Memory
from hardwon.errors import ForeignLogWarning


def note(memory: Memory, *texts: str) -> None:
    for text in texts:
        memory.record_fact(text, "observation")


def write(place: Path, *texts: str) -> None:
    """Into a memory that is closed again."""
    with Memory(place) as memory:
        note(memory, *texts)


def contents(memory: Memory) -> list[str]:
    found = memory.browse(1000, kind="fact")
    return sorted(record.content for record in found if isinstance(record, Fact))


def facts_in(place: Path) -> list[str]:
    """Of a sound memory, beside which no log of another lies."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ForeignLogWarning)
        with Memory(place) as memory:
            assert memory.doctor().ok
            return contents(memory)


def facts_for_a_newcomer(place: Path) -> list[str]:
    """Of whoever opens it next, whatever log lies beside it; it is sound, and can be written to."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ForeignLogWarning)
        with Memory(place) as memory:
            before = contents(memory)
            assert memory.doctor().ok
            memory.forget(memory.record_fact("Whoever comes next can write.", "observation").id)
            assert contents(memory) == before
    return before


def sh(folder: Path, command: str) -> None:
    subprocess.run(command, shell=True, cwd=folder, check=True)  # noqa: S602  # as people type it
