"""Killed at any instant, the memory keeps all it acknowledged; `make torture` kills more."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

from cases import TORTURE, seed_of_the_run
from hardwon import Experience, Memory
from processes import Child, Tell

KILLS = 1000 if TORTURE else 36
WRITERS = 2


def write_forever(location: Path, seed: int, tell: Tell) -> None:
    rng = random.Random(seed)
    with Memory(location) as memory:
        while True:
            if rng.random() < 0.8:
                text = f"note {rng.random()} " + "word " * rng.randrange(200)
                tell(memory.remember(text, "success", "conversation").id)
            else:
                said: Any = {"outcome": "success", "tool": "file_operation"}
                made = [Experience(content=f"many {n}", **said) for n in range(30)]
                for record_id in memory.add_many(made):
                    tell(record_id)


def test_nothing_acknowledged_is_lost_when_writers_are_killed(tmp_path: Path) -> None:
    seed = seed_of_the_run()
    rng = random.Random(seed)
    print(f"seed {seed}")
    location = tmp_path / "brain"
    total, killed = 0, 0
    while killed < KILLS:
        numbers = [rng.randrange(2**32) for _ in range(WRITERS)]
        children = [Child.start(write_forever, location, number) for number in numbers]
        if killed % (4 * WRITERS):  # one round in four is killed whatever it has done by then
            children[0].hear()
        time.sleep(rng.uniform(0.0, 0.08))
        for child in children:
            child.kill()
            killed += 1
            total += len(child.acknowledged)
        with Memory(location) as memory:
            for child in children:
                for record_id in child.acknowledged:
                    lost = f"seed {seed}: {record_id} was acknowledged and is lost"
                    assert memory.get(record_id) is not None, lost
            if killed % 100 < WRITERS:
                diagnosis = memory.doctor()
                assert diagnosis.ok, f"seed {seed}: {diagnosis}"
    with Memory(location) as memory:
        assert memory.doctor().ok
        assert memory.stats().records >= total
    print(f"{killed} kills, {total} acknowledged records, none lost")
    # else the writers were killed before they wrote, and the test shows nothing
    assert total >= KILLS / WRITERS / 2


def test_killed_while_it_is_created(tmp_path: Path) -> None:
    rng = random.Random(5)
    for turn in range(40):
        location = tmp_path / f"brain{turn}"
        child = Child.start(write_forever, location, 1)
        time.sleep(rng.uniform(0.0, 0.012))
        child.kill()
        with Memory(location) as memory:
            assert memory.stats().records >= len(child.acknowledged)
            assert all(memory.get(record_id) for record_id in child.acknowledged)


def test_a_writer_that_is_interrupted_again_and_again_goes_on(tmp_path: Path) -> None:
    def work(tell: Tell) -> None:
        armed, interrupts, kept = False, 0, 0

        def interrupt(*_: object) -> None:
            nonlocal armed, interrupts
            if armed:  # once for each write: a second one would hit the test itself
                armed, interrupts = False, interrupts + 1
                raise KeyboardInterrupt

        signal.signal(signal.SIGINT, interrupt)
        with Memory(tmp_path) as memory:
            # else only that is interrupted
            memory.record_fact("the first one loads what all of them need", "observation")
            tell("0" * 36)  # from here on it may be interrupted
            while interrupts < 50 or kept < 150:
                armed = True
                try:
                    text = f"interrupted or not, {time.monotonic_ns()}"
                    tell(memory.record_fact(text, "observation").id)
                except KeyboardInterrupt:
                    continue
                armed, kept = False, kept + 1
            assert memory.record_fact("afterwards", "observation").id
            assert memory.doctor().ok

    child = Child.start(work)
    while not child.acknowledged:
        child.listen(0.01)
    rng = random.Random(9)
    while os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        time.sleep(rng.uniform(0.0005, 0.006))
        os.kill(child.pid, signal.SIGINT)
        child.listen()
    assert child.wait() == 0
    with Memory(tmp_path) as memory:
        assert all(memory.get(record_id) for record_id in child.acknowledged[1:])
        assert len(child.acknowledged) > 150
