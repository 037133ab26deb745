"""Cuts the power of a machine that uses Hardwon, at any instant and in tens of thousands of ways,
and looks what is left.

    python torture/power_loss.py --states 50000 --seed 1
    python torture/power_loss.py --states 2000 --seed 1 --of tree
    python torture/power_loss.py --seed 1 --only 1234       one state again

A workload is carried out once for real, and every file operation is recorded. For each state an
instant is chosen, and what became of everything that was not synced by then (`power_disk`). The
state is put into a folder and opened as a user would.
"""

from __future__ import annotations

import argparse
import logging
import random
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple
from unittest import mock

from amounts import one_or_more
from hardwon.errors import HardwonError
from hardwon.outside import files
from hardwon.store.sqlite.log import ASIDE
from power_disk import DAMAGES, Damage, History, State, after_power_loss
from power_recording import recording
from power_workloads import (
    OfRecords,
    OfTokens,
    OfTrainingMemory,
    OfTree,
    Seen,
    Step,
    Workload,
)

WORKLOADS: Final[tuple[type[Workload], ...]] = (
    OfRecords,
    OfTree,
    OfRecords,
    OfTokens,
    OfRecords,
    OfTree,
    OfTrainingMemory,
)
STATES_OF_ONE_WORKLOAD: Final = 125
_SHOWN: Final = 5
_FINDINGS_SHOWN: Final = 20
TARGETS: Final = tuple(dict.fromkeys(workload.target for workload in WORKLOADS))


class Played(NamedTuple):
    """A step that was carried out: between which operations, what was seen before and after, and
    what was erased by then.
    """

    step: Step
    start: int
    end: int
    before: Seen
    after: Seen
    erased: tuple[str, ...]


@dataclass
class Tape:
    """A workload that was carried out, and everything that happened on the disk meanwhile."""

    workload: Workload
    history: History
    played: list[Played]
    unseen: list[str]

    def moments(self, cut: int) -> tuple[Played | None, Played | None]:
        """The last step that was acknowledged when the power went, and the one under way."""
        done = [each for each in self.played if each.end <= cut]
        now = next((each for each in self.played if each.start < cut < each.end), None)
        return (done[-1] if done else None), now


@dataclass
class Tally:
    """What was done, and what was found."""

    states: int = 0
    acknowledged: int = 0
    by_target: Counter[str] = field(default_factory=Counter)
    workloads: int = 0
    steps: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)


# --- carrying out ---


def play(kind: type[Workload], seed: str, root: Path, outside: Path) -> Tape:
    """Carries a workload out in `root`, which is an empty folder."""
    rng = random.Random(seed)
    with recording(root, rng.getrandbits(64)) as record:
        workload = kind(root, outside, rng)
        workload.begin()
        record.settled()
        played: list[Played] = []
        seen: Seen | None = None
        for step in workload.steps():
            before = workload.seen() if seen is None and not step.opens else seen
            start = len(record.history)
            step.do()
            end = len(record.history)
            seen = workload.seen()
            erased = tuple(workload.erased)
            played.append(
                Played(step, start, end, seen if before is None else before, seen, erased)
            )
        workload.end()
        unseen = record.differences()
    return Tape(workload, record.history, played, unseen)


def cut_and_look(
    tape: Tape, rng: random.Random, root: Path, outside: Path
) -> tuple[list[str], str, int]:
    """Cuts the power somewhere on the tape, and opens what is then on the disk: what is wrong with
    it, when that was, and how many pieces had been acknowledged.
    """
    cut, of_bytes, of_names = _chosen(tape, rng)
    state = after_power_loss(tape.history.operations[:cut], of_bytes, of_names, rng)
    done, now = tape.moments(cut)
    problems = _erased_again(tape, state, done, now)
    state.put(root, tape.history)
    try:
        with mock.patch.object(files, "boot_id", return_value="started again"):
            seen, wrong = tape.workload.look(root, outside)
        problems += [*wrong, *_missing(tape, seen, done, now)]
    except HardwonError as error:
        problems.append(f"cannot be opened: {type(error).__name__}: {error}")
    when = f"power cut after operation {cut} of {len(tape.history)} ({_told(done, now)}); bytes: {of_bytes}, names: {of_names}"
    return problems, when, len(done.after) if done else 0


def _chosen(tape: Tape, rng: random.Random) -> tuple[int, Damage, Damage]:
    """Often just when something was acknowledged: then the most depends on what was synced."""
    acknowledged = [each.end for each in tape.played]
    first = tape.played[0].start
    cut = rng.choice(acknowledged) if rng.random() < 0.3 else rng.randint(first, len(tape.history))
    return cut, rng.choice(DAMAGES), rng.choice(DAMAGES[:4])


def _told(done: Played | None, now: Played | None) -> str:
    if now:
        return f"during {now.step.name!r}"
    return f"after {done.step.name!r}" if done else "before anything was done"


def _missing(tape: Tape, seen: Seen, done: Played | None, now: Played | None) -> list[str]:
    """Where what is seen is neither what was there before the step under way nor what comes after
    it.
    """
    before = done.after if done else tape.played[0].before
    after = now.after if now else before
    if seen in (before, after):
        return []
    wrong, excused = [], False
    for name in sorted({**before, **after, **seen}):
        value, known = seen.get(name), name in before or name in after
        if value in (before.get(name), after.get(name)):
            continue
        if value is not None and name not in before and tape.workload.excused(name, value, after):
            excused = True
            continue
        wrong.append(
            f"{name} {'is gone' if value is None else 'is not what was kept' if known else 'was never kept'}"
        )
    if not wrong and now and now.step.at_once and not excused:
        wrong.append(f"only a part of {now.step.name!r} was done")
    return wrong


def _erased_again(tape: Tape, state: State, done: Played | None, now: Played | None) -> list[str]:
    """What was acknowledged as erased, and is on the disk again."""
    kept = set(done.erased if done else ()) & set(
        now.erased if now else done.erased if done else ()
    )
    if not kept:
        return []
    own = [
        state.contents.get(file, b"")
        for path, file in state.tree(tape.history.folders)
        if tape.workload.is_own(path)
    ]
    back = (mark for mark in sorted(kept) if any(mark.encode() in content for content in own))
    return [f"{mark} was erased and is there again" for mark in back]


# --- a run ---


@contextmanager
def quiet() -> Iterator[None]:
    """Without what a memory says of files that it left alone: there are thousands."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)


@contextmanager
def room() -> Iterator[Path]:
    """A folder in memory where the machine has one: a disk would be worn out by this."""
    in_memory = Path("/dev/shm")  # noqa: S108
    with tempfile.TemporaryDirectory(
        prefix="power-loss-", dir=in_memory if in_memory.is_dir() else None
    ) as folder:
        yield Path(folder)


def run(seed: int, states: Sequence[int], targets: Sequence[str] = TARGETS) -> Tally:
    """Looks at these states of a seed, one workload after the other."""
    tally = Tally()
    chosen = [workload for workload in WORKLOADS if workload.target in targets]
    with quiet(), room() as folder:
        for number, group in groupby(states, lambda state: state // STATES_OF_ONE_WORKLOAD):
            kind = chosen[number % len(chosen)]
            tape = play(
                kind, f"{seed}/{number}", _emptied(folder / "root"), _emptied(folder / "outside")
            )
            tally.workloads += 1
            tally.steps.update(played.step.name for played in tape.played)
            tally.findings += [f"{kind.__name__} of {seed}/{number}: {it}" for it in tape.unseen]
            for state in group:
                _look_at(tape, seed, state, folder, tally)
    return tally


def _look_at(tape: Tape, seed: int, state: int, folder: Path, tally: Tally) -> None:
    rng = random.Random(f"{seed}/{state}")
    problems, when, acknowledged = cut_and_look(
        tape, rng, _emptied(folder / "after"), _emptied(folder / "looked")
    )
    tally.states += 1
    tally.by_target[tape.workload.target] += 1
    tally.acknowledged += acknowledged
    for log in (folder / "after").rglob(f"*{ASIDE}*"):
        problems.insert(0, f"its own log was taken for another's: {log.name}")
    if problems:
        shown = "; ".join(problems[:_SHOWN])
        tally.findings.append(
            f"--seed {seed} --only {state}: {type(tape.workload).__name__}: {when}: {shown}"
        )


def _emptied(folder: Path) -> Path:
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir()
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--states", type=one_or_more, default=2000, help="how many states of the disk are looked at"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=None,
        help="the same again for the same seed; one is chosen where none is given",
    )
    parser.add_argument(
        "--of", choices=TARGETS, action="append", help="only these; all of them where none is named"
    )
    parser.add_argument("--only", type=int, help="the one state of this number")
    options = parser.parse_args()
    seed = random.SystemRandom().getrandbits(32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    started = time.monotonic()
    states = range(options.states) if options.only is None else [options.only]
    tally = run(seed, states, options.of or TARGETS)
    counted = ", ".join(f"{name} {count:,}" for name, count in tally.steps.most_common())
    print(
        f"{tally.states:,} states of {tally.workloads:,} workloads, "
        f"{time.monotonic() - started:.0f} s\nsteps: {counted}\n"
        f"acknowledged pieces looked for: {tally.acknowledged:,}\nfindings: {len(tally.findings):,}"
    )
    for finding in tally.findings[:_FINDINGS_SHOWN]:
        print(finding)
    return 1 if tally.findings else 0


if __name__ == "__main__":
    sys.exit(main())
