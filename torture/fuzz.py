"""Feeds every parser inputs that are nearly right, and looks that nothing but a refusal of ours
comes of them.

    python torture/fuzz.py --runs 2000 --seed 1
    python torture/fuzz.py --runs 50000 --seed 1 --of redaction

Each input is a valid one with a few changes (`fuzz_mutations`). A parser must return, or raise an
error of ours, within a few seconds of the processor's time; what it reads back must be what it
wrote; and a memory must be as it was where an input was refused.
"""

from __future__ import annotations

import argparse
import logging
import random
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Final

from amounts import one_or_more
from fuzz_mutations import mutate
from fuzz_targets import TARGETS, Run, Target

CPU_S_MAX: Final = 5.0
"""Of the processor's time, for one input: what takes so long with so little to read would take for
ever with more.
"""
_SHOWN_CHARS: Final = 300


class TookTooLongError(BaseException):
    """No `except Exception` stops it."""


@dataclass
class Found:
    """What came of the inputs for one parser. `findings`: one for each place in the code where
    something else than a refusal came up, with the run in which it did first.
    """

    target: str
    runs: int = 0
    accepted: int = 0
    refused: int = 0
    slowest_s: float = 0.0
    findings: dict[str, str] = field(default_factory=dict)


def fuzz(target: Target, runs: int, seed: int, folder: Path) -> Found:
    """So many inputs for one parser: the same for the same seed."""
    found = Found(target.name)
    rng = random.Random(f"{seed}/{target.name}")
    corpus = list(target.corpus())
    with target.begin(folder) as run:
        for number in range(runs):
            _try(target, run, mutate(target.kind, rng.choice(corpus), corpus, rng), number, found)
    return found


def _try(target: Target, run: Run, given: Any, number: int, found: Found) -> None:
    found.runs += 1
    started = time.process_time()
    try:
        with _watchdog():
            run(given)
        found.accepted += 1
    except target.refusals:
        found.refused += 1
    except (Exception, TookTooLongError) as error:  # noqa: BLE001  # that is what is looked for
        where = _where(error)
        found.findings.setdefault(
            where,
            f"run {number + 1}: {type(error).__name__}: {str(error)[:200]} at {where}; "
            f"input {_shown(given)}",
        )
    found.slowest_s = max(found.slowest_s, time.process_time() - started)


def _where(error: BaseException) -> str:
    """The innermost line of ours, and what came up there."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if ("/hardwon/" in frame.filename or "torture" in frame.filename)
        and frame.name not in ("fuzz", "_try", "_stop")
    ]
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno} " if frames else ""
    return f"{place}{type(error).__name__}"


def _shown(given: Any) -> str:
    shown = ascii(given)
    more = f"… ({len(shown)} characters)" if len(shown) > _SHOWN_CHARS else ""
    return shown[:_SHOWN_CHARS] + more


@contextmanager
def _watchdog() -> Iterator[None]:
    """Stops what takes too long, also in the middle of a regular expression."""
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_S_MAX)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _stop(_: int, __: FrameType | None) -> None:
    raise TookTooLongError(f"more than {CPU_S_MAX:g} s of the processor's time")


def run_all(targets: Sequence[Target], runs: int, seed: int, tell: bool = False) -> list[Found]:
    """Every one of these parsers, one after the other."""
    signal.signal(signal.SIGVTALRM, _stop)
    done = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)
        try:
            for target in targets:
                with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
                    started = time.monotonic()
                    done.append(fuzz(target, runs, seed, Path(folder)))
                if tell:
                    print(_line_of(done[-1], time.monotonic() - started), flush=True)
                    for finding in done[-1].findings.values():
                        print(f"    {finding}", flush=True)
        finally:
            logging.disable(logging.NOTSET)
    return done


def _line_of(found: Found, took_s: float) -> str:
    return (
        f"{found.target:24} {found.runs:>9,} runs, {found.accepted:>9,} accepted, "
        f"{found.refused:>9,} refused, "
        f"slowest {found.slowest_s * 1000:.0f} ms, {took_s:.0f} s, findings: {len(found.findings)}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--runs", type=one_or_more, default=1000, help="how many inputs each parser gets"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=None,
        help="the same again for the same seed; one is chosen where none is given",
    )
    parser.add_argument("--of", choices=list(TARGETS), action="append", help="only these parsers")
    given = parser.parse_args()
    seed = random.SystemRandom().getrandbits(32) if given.seed is None else given.seed
    print(f"seed {seed}", flush=True)
    chosen = [TARGETS[name] for name in given.of or TARGETS]
    started = time.monotonic()
    done = run_all(chosen, given.runs, seed, tell=True)
    runs, findings = sum(each.runs for each in done), sum(len(each.findings) for each in done)
    print(
        f"{runs:,} inputs for {len(done)} parsers in {time.monotonic() - started:.0f} s; findings: "
        f"{findings}"
    )
    if findings:
        print(f'one of them again: python torture/fuzz.py --seed {seed} --of "NAME" --runs RUN')
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
