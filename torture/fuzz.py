"""Feeds every parser inputs that are nearly right, and looks that nothing but a refusal of ours
comes of them.

    python torture/fuzz.py --runs 2000 --seed 1
    python torture/fuzz.py --runs 50000 --seed 1 --of redaction

Each input is a valid one with a few changes (`fuzz_mutations`). Now and then the lines that an
input reaches are looked at: one that reaches new lines is changed further. A parser must return, or
raise an error of ours, within a few seconds of the processor's time; what it reads back must be
what it wrote; and a memory must be as it was where an input was refused.
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
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any, Final

from amounts import one_or_more
from fuzz_memories import MEMORY_TARGETS
from fuzz_mutations import mutated_bytes, mutated_json, mutated_text, mutated_value
from fuzz_targets import TARGETS as PURE_TARGETS
from fuzz_targets import Run, Target

TARGETS: Final = (*PURE_TARGETS, *MEMORY_TARGETS)
CPU_S_MAX: Final = 5.0
"""Of the processor's time, for one input: what takes so long with so little to read would take for
ever with more.
"""
_TRACED_SHARE: Final = 0.1
_CORPUS_MAX: Final = 2_000
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
    reached: int = 0
    slowest_s: float = 0.0
    findings: dict[str, str] = field(default_factory=dict)


def fuzz(target: Target, runs: int, seed: int, folder: Path) -> Found:
    """So many inputs for one parser: the same for the same seed."""
    found = Found(target.name)
    rng = random.Random(f"{seed}/{target.name}")
    corpus = list(target.corpus())
    lines = _Lines(target.covers)
    with target.begun(folder) as run:
        for number in range(runs):
            given = _changed(target, corpus, rng)
            traced = rng.random() < _TRACED_SHARE
            with lines.watched(traced):
                _try(target, run, given, number, found)
            if traced and lines.grew and len(corpus) < _CORPUS_MAX:
                corpus.append(given)
    found.reached = len(lines.met)
    return found


def _changed(target: Target, corpus: Sequence[Any], rng: random.Random) -> Any:
    chosen = rng.choice(corpus)
    if target.kind == "text":
        return mutated_text(chosen, corpus, rng)
    if target.kind == "bytes":
        return mutated_bytes(chosen, corpus, rng)
    if target.kind == "json":
        return mutated_json(chosen, corpus, rng)
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        chosen = mutated_value(chosen, corpus, rng)
    return chosen


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
        each
        for each in traceback.extract_tb(error.__traceback__)
        if "/hardwon/" in each.filename or "torture" in each.filename
    ]
    frames = [each for each in frames if each.name not in ("fuzz", "_try", "_stop")]
    last = frames[-1] if frames else None
    return (
        f"{Path(last.filename).name}:{last.lineno} ({last.name}) {type(error).__name__}"
        if last
        else type(error).__name__
    )


def _shown(given: Any) -> str:
    shown = ascii(given)
    return (
        shown
        if len(shown) <= _SHOWN_CHARS
        else f"{shown[:_SHOWN_CHARS]}… ({len(shown)} characters)"
    )


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


class _Lines:
    """Which lines of some modules were reached."""

    def __init__(self, modules: Sequence[str]) -> None:
        specs = [find_spec(name) for name in modules]
        self._files = {spec.origin for spec in specs if spec}
        self.met: set[tuple[str, int]] = set()
        self.grew = False

    @contextmanager
    def watched(self, really: bool) -> Iterator[None]:
        before, self.grew = len(self.met), False
        if not really or not self._files:
            yield
            return
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(None)
            self.grew = len(self.met) > before

    def _enter(self, frame: FrameType, _: str, __: Any) -> Any:
        return self._line if frame.f_code.co_filename in self._files else None

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self.met.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line


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
        f"{found.reached:>5,} lines reached, slowest {found.slowest_s * 1000:.0f} ms, {took_s:.0f} "
        f"s, findings: {len(found.findings)}"
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
    parser.add_argument(
        "--of",
        choices=[target.name for target in TARGETS],
        action="append",
        help="only these parsers",
    )
    given = parser.parse_args()
    seed = random.SystemRandom().getrandbits(32) if given.seed is None else given.seed
    print(f"seed {seed}", flush=True)
    chosen = [target for target in TARGETS if given.of is None or target.name in given.of]
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
