"""What a record is kept as is made before its transaction begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from engines import ENGINES, Places
from hardwon import Fact, Memory
from hardwon.store import base

ISSUE = {"model": "m", "issue_type": "TIMEOUT", "description": "slow"}
FAILED = {"observation": "Error: no rule", "ok": False}
STEPS = [{"action": f"make part{n}", **FAILED} for n in range(60)]
RECORDING: dict[str, Callable[[Memory], Any]] = {
    "remember": lambda memory: memory.remember("a note", "success", "conversation"),
    "a fact": lambda memory: memory.record_fact("Port 80 is open.", "observation"),
    "a run": lambda memory: memory.record_trajectory("build", STEPS, 0.0),
    "an episode": lambda memory: memory.record_episode("build", 0.9, successes=["Read the log."]),
    "a fix": lambda memory: memory.record_fix(ISSUE, True, True, "disk", ["restart"]),
    "add": lambda memory: memory.add(Fact(content="Port 81 is open.", fact_type="error")),
    "several": lambda memory: memory.add_many(
        [Fact(content=f"Port {n} is open.", fact_type="error") for n in range(200, 220)]
    ),
}


@pytest.mark.engines(*ENGINES)
@pytest.mark.parametrize("what", RECORDING)
def test_rows_are_made_before(place: Places, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[bool] = []
    with (
        Memory(place("brain"), consolidate_every=0) as memory,
        Memory(place("brain"), busy_timeout_ms=2_000, consolidate_every=0) as other,
    ):
        store, build_row, is_writing = memory._project.store, base.build_row, False
        write = store.write

        @contextmanager
        def writing(*given: Any, **more: Any) -> Iterator[Any]:
            nonlocal is_writing
            with write(*given, **more) as writer:
                is_writing = True
                yield writer
            is_writing = False

        def make(*given: Any) -> Any:
            made.append(is_writing)
            if len(made) == 1:  # nobody else waits for it
                monkeypatch.setattr(base, "build_row", build_row)
                other.record_fact("Somebody else is quick.", "observation")
                monkeypatch.setattr(base, "build_row", make)
            return build_row(*given)

        monkeypatch.setattr(store, "write", writing)
        monkeypatch.setattr(base, "build_row", make)
        RECORDING[what](memory)
    assert made
    assert not any(made)
