"""A simulated crowd at work on shared memories, under faults, checked against a model after every
step.

`python torture/crowd.py --steps 10000 --seed 7` runs twenty lives of five hundred steps. The same
seed does the same steps and meets the same faults; `--life K` runs one of the lives alone, which is
how a finding is looked into.
"""

from __future__ import annotations

import argparse
import logging
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Final

import crowd_rot  # noqa: F401  # its actions join the others
from amounts import one_or_more
from crowd_care import check_health, open_memory
from crowd_reading import check_counts, check_fixes, check_record, check_scores
from crowd_words import CARE, READS, TASKS, WRITES
from crowd_world import FULL_CHECK_EVERY, Actor, Life, Tally
from model import Finding, check_all_statuses

STEPS_OF_A_LIFE: Final = 500
_RAM: Final = Path("/dev/shm")  # noqa: S108  # where there is such a folder nobody waits for a disk
_OFTEN: Final = 3
"""How much more often than their weights say people write and read: care takes the most time, and
is rare in life, too.
"""
ACTIONS: Final = {
    **{name: (_OFTEN * weight, work) for name, (weight, work) in (WRITES | READS).items()},
    **CARE,
}


@dataclass(frozen=True)
class Plan:
    """What every life of a run is made from."""

    seed: int
    steps: int
    faults: bool = True

    def life_seed(self, number: int) -> int:
        return int.from_bytes(
            blake2b(f"{self.seed} {number}".encode(), digest_size=8).digest(), "big"
        )

    def steps_of(self, number: int) -> int:
        return min(STEPS_OF_A_LIFE, self.steps - number * STEPS_OF_A_LIFE)

    @property
    def lives(self) -> int:
        return -(-self.steps // STEPS_OF_A_LIFE)


@dataclass
class Lived:
    """What came of a life."""

    number: int
    steps: int
    digest: str
    finding: str
    tally: Tally


@dataclass
class Run:
    """What came of all of them."""

    tally: Tally = field(default_factory=Tally)
    steps: int = 0
    lives: int = 0
    digests: list[str] = field(default_factory=list)
    findings: list[Lived] = field(default_factory=list)

    def add(self, lived: Lived) -> None:
        self.tally.add(lived.tally)
        self.steps += lived.steps
        self.lives += 1
        self.digests.append(lived.digest)
        self.findings += [lived] if lived.finding else []


def live(plan: Plan, number: int) -> Lived:
    """One life in a folder of its own, which is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="crowd-", dir=_RAM if os.access(_RAM, os.W_OK) else None))
    life = Life(plan.life_seed(number), folder, faults=plan.faults)
    finding = _lived(plan, number, life)
    shutil.rmtree(folder, ignore_errors=True)
    return Lived(number, life.number, life.trace.hexdigest(), finding, life.tally)


def _lived(plan: Plan, number: int, life: Life) -> str:
    """All steps of a life; what was found, if anything was."""
    finding = ""
    try:
        for _ in range(plan.steps_of(number)):
            life.step(ACTIONS, READS, open_memory)
            if life.number % FULL_CHECK_EVERY == 0 or life.number == plan.steps_of(number):
                check_everything(life)
    except Finding as error:
        where = f"life {number}, step {life.number}, {life.action}, {life.faults_told()}"
        finding = f"{where}: {error}\n{_cause(error)}"
    except Exception:  # noqa: BLE001  # the edge of a life: a fault of the simulator is told with its seed, too
        finding = f"life {number}, step {life.number}, {life.action}: {traceback.format_exc()}"
    finally:
        life.close()
    return finding


def _cause(error: Finding) -> str:
    return "".join(traceback.format_tb(error.__traceback__)[-3:])


def check_everything(life: Life) -> None:
    """Every record, every count and everything that is derived, of every place."""
    for place in life.places:
        if not place.exists:
            continue
        actor = Actor("auditor", place, {}, life.disk.nobody)
        with life.disk.used_by(actor.process):
            open_memory(life, actor)
            with actor.at_work as memory:
                for record_id, row in place.picture.records.items():
                    check_record(memory, record_id, row)
                check_counts(actor)
                check_fixes(actor)
                for task in TASKS:
                    check_scores(actor, task)
                check_health(actor)
        life.check_place(place, [])
        check_all_statuses(place.picture)
        life.tally.counts["full checks"] += 1


def report(plan: Plan, found: Run, seconds: float) -> str:
    tally = found.tally
    struck = (
        f"{name} {count} ({tally.surfaced[name]})" for name, count in sorted(tally.fired.items())
    )
    lines = [
        f"{found.steps} steps in {found.lives} lives, seed {plan.seed}, {seconds:.0f} s",
        "steps: " + _listed(tally.steps),
        "faults that struck (of those, told to the caller as an error): " + ", ".join(struck),
        "errors told: " + _listed(tally.errors),
        *(f"{name}: {count}" for name, count in sorted(tally.counts.items())),
        f"trace: {trace_of(found)}",
        f"findings: {len(found.findings)}",
    ]
    return "\n".join(lines)


def trace_of(found: Run) -> str:
    """The same for two runs that did, and met, the same."""
    return blake2b(" ".join(found.digests).encode(), digest_size=16).hexdigest()


def _listed(counter: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counter.items()))


def replay_command(plan: Plan, number: int) -> str:
    options = "" if plan.faults else " --no-faults"
    return (
        f"python torture/crowd.py --steps {plan.steps} --seed {plan.seed}{options} --life {number}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description="A simulated crowd under faults, checked against a model after every step."
    )
    parser.add_argument("--steps", type=one_or_more, default=10_000)
    parser.add_argument("--seed", type=int, help="any whole number; drawn where none is given")
    parser.add_argument("--life", type=int, help="only this life of the run")
    parser.add_argument("--no-faults", action="store_true", help="on a disk that works")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    plan = Plan(seed, options.steps, not options.no_faults)
    print(f"seed {seed}", flush=True)
    # that something is put off because the disk failed is no news here
    logging.getLogger("hardwon").setLevel(logging.ERROR)
    began = time.monotonic()
    found = Run()
    for number in range(plan.lives) if options.life is None else [options.life]:
        lived = live(plan, number)
        found.add(lived)
        if lived.finding:
            command = replay_command(plan, lived.number)
            print(f"FINDING {lived.finding}\nreplay: {command}", flush=True)
    print(report(plan, found, time.monotonic() - began), flush=True)
    return 1 if found.findings else 0


if __name__ == "__main__":
    sys.exit(main())
