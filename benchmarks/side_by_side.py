"""Hardwon beside what one would take instead: the same records, the same questions, the same
machine, one run.

Each store runs in a process of its own, the foreign ones in environments that are made here from
benchmarks/peers/requirements. The time is what the store's own calls take; a cold start is that of
a whole process. Records are experiences as in write.py. A question names the error, the part, the
file and the number of one record; `found` says how often that record was among the five that came
back. Loading stops after a while, and a million records are only tried by those whose pace says
that they fit. With `--data` the episodes of replay.py are replayed too. What a store cannot do is
said in its own words.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from calibration import shuffled
from peers.driver import OURS, Answer, Kind, Worker, make_environment
from recall import percentile
from replay import (
    FILE,
    FIRST_ORDER,
    PARTS,
    Earlier,
    Item,
    add,
    cut,
    episodes,
    trajectory,
    whole_text,
    winning_actions,
)
from write import keywords

ROOT: Final = Path(__file__).parent.parent
ENVIRONMENTS: Final = Path(__file__).parent / ".peers"
RESULTS: Final = Path(__file__).parent / ".results"

BATCH: Final = 5_000
LOAD_SECONDS_MAX: Final = 200.0
PROJECTED_FROM: Final = 1_000_000
"""From this size on, only those load whose pace so far says that they will be done in time."""
K: Final = 5
RECALL_SECONDS_MAX: Final = 20.0
QUESTIONS_MIN: Final = 2
COLD_STARTS: Final = 3
COLD_SECONDS_MAX: Final = 10.0
WRITERS: Final = 4
TURNS: Final = 10
STREAM_SECONDS_MAX: Final = 60.0
BUDGET_TOKENS: Final = 300

PLACES: Final = re.compile(
    r"(?P<error>.+) in the (?P<part>.+) \((?P<place>.+)\): caused by .+; issue #(?P<number>\d+) "
    r"closed"
)


@dataclass(frozen=True)
class Plan:
    sizes: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    questions: int = 120
    singles: int = 500
    each: int = 250
    kills: int = 5


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def plain_record(number: int) -> dict[str, Any]:
    given = keywords(random.Random(number), number)
    return {"key": f"k{number}", "text": given.pop("content"), **given}


def question_about(record: dict[str, Any]) -> str:
    parts = PLACES.match(record["text"])
    assert parts is not None
    return (
        f"{parts['error']} in the {parts['part']}, file {parts['place']}, issue #{parts['number']}"
    )


@dataclass
class Records:
    """Records by their numbers, in files that every store reads: made once, never twice."""

    folder: Path
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def file(self, first: int, count: int) -> Path:
        path = self.folder / f"{first}-{count}.json"
        with self._lock:
            if not path.exists():
                path.write_text(
                    json.dumps([plain_record(number) for number in range(first, first + count)])
                )
        return path


@dataclass
class Bench:
    """One store, measured."""

    kind: Kind
    environments: Path
    folder: Path
    records: Records
    plan: Plan

    def worker(self, name: str) -> Worker:
        return Worker(self.kind, self.environments, self.folder / name)

    def opened(self, name: str) -> Worker:
        worker = self.worker(name)
        if "error" in worker.opened:
            raise RuntimeError(f"{self.kind.name} did not open: {worker.opened['error']}")
        return worker

    # --- as it grows ---

    def growth(self) -> dict[str, Answer]:
        """For each size what was measured there; after the first that does not fit no larger one is
        tried.
        """
        measured: dict[str, Answer] = {}
        kept, pace = 0, 0.0
        for size in self.plan.sizes:
            if size >= PROJECTED_FROM and pace and (size - kept) / pace > LOAD_SECONDS_MAX:
                seconds = (size - kept) / pace
                measured[str(size)] = {
                    "stopped": f"not tried: at the pace so far {seconds:,.0f} s, of "
                    f"{LOAD_SECONDS_MAX:,.0f}"
                }
                break
            loaded = self.load(kept, size)
            if "stopped" in loaded:
                measured[str(size)] = loaded
                break
            measured[str(size)] = loaded | self.footprint(size) | self.asked(size)
            kept, pace = size, loaded["records_per_second"]
            say(f"  {size:,} records: {json.dumps(measured[str(size)])}")
        return measured

    def load(self, kept: int, size: int) -> Answer:
        spent = 0.0
        with self.opened("growing") as worker:
            for first in range(kept, size, BATCH):
                spent += worker.must(
                    "bulk", file=str(self.records.file(first, min(BATCH, size - first)))
                )["seconds"]
                done = min(first + BATCH, size)
                if spent > LOAD_SECONDS_MAX and done < size:
                    return {
                        "stopped": f"stopped after {LOAD_SECONDS_MAX:,.0f} s at {done:,} records"
                    }
            peak = worker.close()["peak_memory_mb"]
        return {"records_per_second": (size - kept) / spent, "writer_memory_mb": peak}

    def footprint(self, size: int) -> Answer:
        files = (path.lstat() for path in (self.folder / "growing").rglob("*"))
        return {"disk_bytes": sum(file.st_blocks * 512 for file in files) / size}

    def asked(self, size: int) -> Answer:
        rng = random.Random(size)
        targets = [plain_record(rng.randrange(size)) for _ in range(self.plan.questions)]
        starts: list[float] = []
        while True:
            with self.opened("growing") as worker:
                first = worker.must("recall", query=question_about(targets[0]), k=K)
                if "cannot" in first:
                    return {"recall": first, "cold_start": first}
                starts.append(time.perf_counter() - worker.started)
                if len(starts) == COLD_STARTS or starts[-1] > COLD_SECONDS_MAX:
                    answers = self.recalls(worker, targets)
                    cold = {"cold_start": {"s": statistics.median(starts)}}
                    peak = worker.close()["peak_memory_mb"]
                    return answers | cold | {"reader_memory_mb": peak}

    def recalls(self, worker: Worker, targets: Sequence[dict[str, Any]]) -> Answer:
        took: list[float] = []
        found = 0
        for target in targets:
            answer = worker.must("recall", query=question_about(target), k=K)
            took.append(answer["seconds"] * 1e3)
            found += target["text"] in answer["value"]
            if sum(took) > RECALL_SECONDS_MAX * 1e3 and len(took) >= QUESTIONS_MIN:
                break
        warm = took[len(took) // 5 :]
        return {
            "recall": {
                "p50_ms": statistics.median(warm),
                "p95_ms": percentile(warm, 0.95),
                "questions": len(took),
            },
            "found": found / len(took),
        }

    # --- one by one, at once, killed ---

    def about(self) -> Answer:
        with self.opened("about") as worker:
            about: Answer = worker.must("about")["value"]
            worker.close()
        return about

    def kept(self, name: str) -> Answer:
        """What a new process finds. A store that does not open any more has kept nothing, and says
        why.
        """
        with self.worker(name) as worker:
            return worker.opened if "error" in worker.opened else worker.ask("keys")

    def crowd(self) -> Answer:
        """Several processes write single records into one store at once."""
        self.opened("crowd").close()
        with ThreadPoolExecutor(WRITERS) as threads:
            begin = time.perf_counter()
            told = list(threads.map(self.one_of_a_crowd, range(WRITERS)))
            took = time.perf_counter() - begin
        refused = [one["refused"] for one in told if "refused" in one]
        answers = [answer for one in told for answer in one.get("answers", ())]
        return self.held_to(answers, self.kept("crowd")) | {
            "records_per_second": sum("seconds" in answer for answer in answers)
            / max(one.get("took", took) for one in told),
            "writers": WRITERS,
            "refused": len(refused),
            "why_refused": refused[0] if refused else "",
        }

    def one_of_a_crowd(self, number: int) -> Answer:
        with self.worker("crowd") as worker:
            if "error" in worker.opened:
                return {"refused": worker.opened["error"]}
            limit = threading.Timer(STREAM_SECONDS_MAX, worker.process.kill)
            limit.start()
            begin = time.perf_counter()
            answers = list(
                worker.stream(self.records.file(number * self.plan.each, self.plan.each))
            )
            limit.cancel()
            return {"answers": answers, "took": time.perf_counter() - begin}

    def killed(self) -> Answer:
        """A process that writes is killed at some instant, again and again; what it had
        acknowledged must be there.
        """
        rng = random.Random(9)
        answers: list[Answer] = []
        for number in range(self.plan.kills):
            with self.opened("killed") as worker:
                stream = worker.stream(self.records.file(number * BATCH, BATCH))
                answers.append(next(stream))
                threading.Timer(rng.uniform(0.2, 0.8), worker.process.kill).start()
                answers += stream
        return self.held_to(answers, self.kept("killed")) | {"kills": self.plan.kills}

    @staticmethod
    def held_to(answers: Iterable[Answer], found: Answer) -> Answer:
        told = list(answers)
        acknowledged = {answer["key"] for answer in told if "seconds" in answer}
        errors = [answer["error"] for answer in told if "error" in answer]
        return {
            "acknowledged": len(acknowledged),
            "errors": len(errors),
            "an_error": errors[0] if errors else "",
            "lost": len(acknowledged - set(found.get("value", ()))),
            "unreadable": found.get("error", ""),
        }

    # --- the replay ---

    def replayed(self, runs: dict[str, list[Item]]) -> dict[str, Answer]:
        """For each agent what is handed out before each attempt, where whole attempts are kept and
        where only what won is.
        """
        forms = {"whole attempts": whole_text, "winning actions": winning_actions}
        if self.kind in OURS:  # which keeps attempts step by step
            del forms["winning actions"]
        return {
            run: {form: self.replay(run, items, text) for form, text in forms.items()}
            for run, items in runs.items()
        }

    def replay(self, run: str, items: Sequence[Item], text_of: Callable[[Item], str]) -> Answer:
        sums, earlier = [0.0] * len(PARTS), Earlier()
        with self.opened(f"replay {run} {text_of.__name__}") as worker:
            for number, item in enumerate(items):
                answer = worker.must("hand_out", query=item["query"], budget_tokens=BUDGET_TOKENS)
                if "cannot" in answer:
                    return answer
                add(sums, earlier.score(item, cut(answer["value"], BUDGET_TOKENS)))
                earlier.record(item)
                if text := text_of(item):
                    worker.must(
                        "episode",
                        record={"key": f"e{number}", "text": text},
                        episode=trajectory(item),
                    )
            worker.close()
        shares = (total / len(items) for total in sums)
        return {**dict(zip(PARTS, shares, strict=True)), "episodes": len(items)}


def bounds_of_replay(runs: dict[str, list[Item]]) -> dict[str, Answer]:
    """Without any memory, and with everything that earlier episodes contained."""
    told: dict[str, Answer] = {}
    for run, items in runs.items():
        earlier, nothing, everything = Earlier(), [0.0] * len(PARTS), [0.0] * len(PARTS)
        for item in items:
            add(nothing, earlier.score(item, ""))
            add(everything, earlier.ceiling(item))
            earlier.record(item)
        told[run] = {
            bound: [total / len(items) for total in sums]
            for bound, sums in (("no memory", nothing), ("ceiling", everything))
        }
    return told


def stamp() -> str:
    """When and of what this is measured: parts may be of different days."""
    command = [shutil.which("git") or "git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    described = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"{datetime.now(UTC):%Y-%m-%d}, commit {described.stdout.strip() or 'unknown'}"


def singles_in_turn(benches: Sequence[Bench]) -> dict[str, Answer]:
    """Single acknowledged writes wait for the disk, and whatever else the disk does must fall on
    all of them.
    """
    took: dict[str, list[float]] = {bench.kind.name: [] for bench in benches}
    with ExitStack() as open_workers:
        pairs = [(bench, open_workers.enter_context(bench.opened("singles"))) for bench in benches]
        for turn in range(TURNS):
            for offset in range(len(pairs)):
                bench, worker = pairs[(turn + offset) % len(pairs)]
                mine, share = took[bench.kind.name], bench.plan.singles // TURNS
                if sum(mine) < STREAM_SECONDS_MAX:
                    mine += [
                        answer["seconds"]
                        for answer in worker.stream(bench.records.file(turn * share, share))
                    ]
    return {
        name: {
            "records_per_second": len(one) / sum(one),
            "p50_ms": statistics.median(one) * 1e3,
            "written": len(one),
        }
        for name, one in took.items()
    }


def measure(bench: Bench, runs: dict[str, list[Item]]) -> Answer:
    name = bench.kind.name
    begin = time.perf_counter()
    say(f"{name}: {WRITERS} at once, killed")
    told: Answer = {
        "name": name,
        "about": bench.about(),
        "crowd": bench.crowd(),
        "killed": bench.killed(),
    }
    say(f"  {json.dumps(told)}")
    if runs:
        say(f"{name}: replay")
        told["replay"] = bench.replayed(runs)
        say(f"  {json.dumps(told['replay'])}")
    say(f"{name}: as it grows")
    told["sizes"] = bench.growth()
    return told | {"seconds": time.perf_counter() - begin, "measured": stamp()}


def run(
    kinds: Sequence[Kind], plan: Plan, environments: Path, results: Path, data: Path | None
) -> None:
    """Measures each and keeps what came out, one file a store."""
    results.mkdir(parents=True, exist_ok=True)
    runs = (
        {run: shuffled(items, FIRST_ORDER) for run, items in episodes(data).items()} if data else {}
    )
    for kind in kinds:
        make_environment(kind, environments)
    with tempfile.TemporaryDirectory() as folder:
        records = Records(Path(folder))
        benches = [
            Bench(kind, environments, Path(folder) / kind.slug, records, plan) for kind in kinds
        ]
        for bench in benches:
            bench.folder.mkdir()
        say("one by one, in turn")
        singles = singles_in_turn(benches)
        say(f"  {json.dumps(singles)}")
        for bench in benches:
            told = measure(bench, runs) | {"single": singles[bench.kind.name]}
            (results / f"peer-{bench.kind.slug}.json").write_text(json.dumps(told, indent=1))
            shutil.rmtree(bench.folder)  # now: the next one needs the room
    if runs:
        (results / "replay-bounds.json").write_text(json.dumps(bounds_of_replay(runs), indent=1))


def sizes_of(text: str) -> tuple[int, ...]:
    """For argparse."""
    sizes = text.replace("_", "").split(",")
    if not all(size.isdecimal() and int(size) for size in sizes):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not allowed; allowed: numbers of records, such as 10000,100000"
        )
    return tuple(sorted(map(int, sizes)))


def data_folder(text: str) -> Path:
    """For argparse."""
    if not (Path(text) / FILE).is_file():
        raise argparse.ArgumentTypeError(
            f"{text!r} is not allowed; allowed: a folder that holds {FILE}"
        )
    return Path(text)
