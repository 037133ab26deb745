"""A month of an auto-fix loop and of training, by four processes that are killed, in one project.

    python torture/month.py --days 30 --attempts 10 --episodes 500 --seed 1

Every day four processes ask, fix and record through `AIMemory`, and play and save episodes through
`training.memory`, as scripts of the designs' documents do. Each tells what was acknowledged to it.
Some are killed at any instant and started again. In the evening the folder is backed up as the
document does it (an export, then `cp`), and every figure is compared with a plain model: what an
attempt or an episode is follows from its number alone. Once a week a backup is put back by `cp`, in
the middle of what killed processes left; then the model is what it was that evening.

What is acknowledged must be there, once; of what was begun by a process that was killed, one
attempt and one episode may be there. Whatever else differs is a finding.
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import random
import shutil
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, NamedTuple

from amounts import one_or_more
from hardwon.doors.ai_memory import AIMemory
from hardwon.doors.training_memory import (
    load_agent_memory,
    memory_summary,
    record_episode,
    save_agent_memory,
)

PROCESSES: Final = 4
START: Final = datetime(2026, 9, 1, 6, tzinfo=UTC)
TASKS: Final = ("triage", "root_cause", "rollout")
_DATABASE, _FILE = "AIMemory/ai_memory.db", "outputs/agent_memory.json"
_FORK: Final = multiprocessing.get_context("fork")


class Attempt(NamedTuple):
    """What the attempt with a number is: nothing else has to be remembered of it."""

    model: str
    issue_type: str
    fixer: str
    command: str
    applied: bool
    verified: bool

    @classmethod
    def of(cls, seed: int, number: int) -> Attempt:
        draw = random.Random(f"{seed} {number}")
        applied = draw.random() < 0.7
        return cls(
            draw.choice(("qwen2.5:7b", "llama3", "mistral:7b")),
            draw.choice(("TIMEOUT", "ERROR", "NO_OUTPUT", "MODEL_NOT_AVAILABLE")),
            draw.choice(("claude", "qwen", "deepseek")),
            f"step {draw.randrange(9)}",
            applied,
            applied and draw.random() < 0.6,
        )


def score_of(number: int) -> float:
    """Every episode has its own, so that it is known by it."""
    return round((number * 7919 % 10_000) / 10_000, 4)


class Share(NamedTuple):
    """What one process is to do on a day."""

    folder: Path
    seed: int
    day: int
    attempts: list[int]
    episodes: list[int]


def work(share: Share, tell: Connection) -> None:
    """In a process of its own: attempts and episodes by turns."""
    logging.disable()
    times = (START + timedelta(days=share.day, seconds=turn) for turn in range(10**6))

    def clock() -> datetime:
        return next(times)

    memory = AIMemory(share.folder / "AIMemory", clock=clock)
    file = share.folder / _FILE
    for turn in range(max(len(share.attempts), len(share.episodes))):
        for number in share.attempts[turn : turn + 1]:
            it = Attempt.of(share.seed, number)
            issue = {"model": it.model, "issue_type": it.issue_type, "description": "no answer"}
            memory.query_similar_issues(issue)
            memory.build_context_for_claude(issue)
            memory.record_fix_attempt(
                issue,
                {"analysis": "by its log", "fix_commands": [it.command]},
                it.applied,
                it.verified,
                1.5,
                notes=str(number),
                fixer_type=it.fixer,
            )
            tell.send(("attempt", number))
        for number in share.episodes[turn : turn + 1]:
            task, score = TASKS[number % len(TASKS)], score_of(number)
            card = {"mistake_type": f"kind {number % 4}", "lesson": "Read the log."}
            episode = {"task_id": task, "score": score, "steps": 3, "mistake_cards": [card]}
            save_agent_memory(record_episode(load_agent_memory(file), episode, clock=clock), file)
            tell.send(("episode", number))


@dataclass
class Known:
    """What the model knows: of each sort, what was begun, acknowledged and found."""

    begun: set[int] = field(default_factory=set)
    acknowledged: set[int] = field(default_factory=set)
    found: set[int] = field(default_factory=set)

    def copy(self) -> Known:
        return Known(set(self.begun), set(self.acknowledged), set(self.found))


@dataclass
class Month:
    folder: Path
    seed: int
    kills: int = 0
    restores: int = 0
    compared: int = 0
    cleaned: int = 0
    findings: list[str] = field(default_factory=list)
    attempts: Known = field(default_factory=Known)
    episodes: Known = field(default_factory=Known)

    def same(self, what: str, ours: Any, wanted: Any) -> None:
        self.compared += 1
        if ours != wanted:
            self.findings.append(f"{what}: {ours!r} where {wanted!r} was to be expected"[:400])

    # --- a day ---

    def work_a_day(self, day: int, attempts: list[int], episodes: list[int]) -> None:
        draw = random.Random(f"{self.seed} day {day}")
        running = [
            Worker.start(
                Share(self.folder, self.seed, day, attempts[n::PROCESSES], episodes[n::PROCESSES])
            )
            for n in range(PROCESSES)
        ]
        for worker in draw.sample(running, draw.randrange(PROCESSES)):
            time.sleep(draw.random() * 0.08 * len(worker.share.attempts))
            if worker.process.is_alive():
                self.kills += 1
                worker.process.kill()
        while running:
            worker = running.pop()
            worker.process.join()
            left = self.take_in(worker)
            if worker.process.exitcode == 0:
                self.same("left over by a process that ended well", left.attempts, [])
            elif worker.process.exitcode != -9:
                self.findings.append(f"a process ended with {worker.process.exitcode}")
            elif left.attempts or left.episodes:
                running.append(Worker.start(left))  # and goes on behind what it may have begun

    def take_in(self, worker: Worker) -> Share:
        """What it told. Returns what it had not begun."""
        told = worker.told()
        share = worker.share
        left: dict[str, list[int]] = {}
        for sort, known, asked in (
            ("attempt", self.attempts, share.attempts),
            ("episode", self.episodes, share.episodes),
        ):
            done = [number for kind, number in told if kind == sort]
            known.begun |= set(asked[: len(done) + 1])
            known.acknowledged |= set(done)
            left[sort] = asked[len(done) + 1 :] if worker.process.exitcode else asked[len(done) :]
        return share._replace(attempts=left["attempt"], episodes=left["episode"])

    # --- an evening ---

    def look(self, day: int) -> None:
        self.look_at_attempts(day)
        self.look_at_episodes()

    def hold(self, what: str, known: Known, there: list[int]) -> None:
        """What is there against what was told."""
        known.found |= set(there)
        lost = known.acknowledged - known.found
        self.same(f"{what} that were acknowledged and are lost", lost, set())
        self.same(f"{what} that nobody made", known.found - known.begun, set())
        self.same(f"{what} twice", [n for n, times in Counter(there).items() if times > 1], [])

    def look_at_attempts(self, day: int) -> None:
        now = START + timedelta(days=day, hours=12)
        with AIMemory(self.folder / "AIMemory", clock=lambda: now) as memory:
            with closing(sqlite3.connect(memory.db_path)) as table:
                rows = [int(n) for (n,) in table.execute("SELECT notes FROM fix_history")]
            self.hold("attempts", self.attempts, rows)
            every = [Attempt.of(self.seed, number) for number in self.attempts.found]
            stats, verified = memory.get_memory_stats(), sum(each.verified for each in every)
            self.same("rows", stats["total_fixes_attempted"], len(every) - self.cleaned)
            self.same("rows that stats tells", stats["total_fixes_attempted"], len(rows))
            totals = memory.memory.fixes.totals()
            self.same("attempts", totals.attempts, len(every))
            self.same("applied", totals.applied, sum(each.applied for each in every))
            self.same("verified", totals.verified, verified)
            days = memory.get_daily_statistics(days=400)
            self.same("of all days", sum(each["total_attempts"] for each in days), len(every))
            fixers = Counter(each.fixer for each in every)
            told = memory.get_fixer_effectiveness()
            self.same("by fixer", {name: it["total_attempts"] for name, it in told.items()}, fixers)
            for name, count in Counter(each.model for each in every).items():
                insights = memory.get_model_insights(name)
                self.same(f"tests of {name}", insights["total_tests"], count)
                good = sum(each.verified for each in every if each.model == name)
                self.same(f"rate of {name}", insights["success_rate"], round(good / count, 3))
            cells = Counter((each.model, each.issue_type) for each in every)
            matrix = {
                (model, issue): cell["total_attempts"]
                for model, row in memory.get_model_performance_matrix().items()
                for issue, cell in row.items()
            }
            self.same("by model and issue type", matrix, cells)
            memory._save_knowledge_base()
            written = json.loads(memory.knowledge_base_path.read_text())
            patterns = written["general_patterns"].values()
            self.same("successes of patterns", sum(p["success_count"] for p in patterns), verified)
            if day % 7 == 6:
                self.same("doctor", memory.memory.doctor().ok, True)
            if day == 21:
                done = memory.auto_cleanup(14)
                self.cleaned = done["failed"] + done["successful"]

    def look_at_episodes(self) -> None:
        memory = load_agent_memory(self.folder / _FILE)
        numbers = {score_of(number): number for number in range(10_000)}
        scores = [score for task in memory["score_history"].values() for score in task]
        self.hold("episodes", self.episodes, [numbers[score] for score in scores])
        found = self.episodes.found
        summary = memory_summary(memory)
        self.same("episodes", summary["total_episodes"], len(found))
        means = {}
        for at, task in enumerate(TASKS):
            if own := [score_of(number) for number in sorted(found) if number % len(TASKS) == at]:
                means[task] = round(sum(own) / len(own), 3)
        # what is added up in another order may be rounded the other way
        far = {
            task: abs(mean - means[task]) > 0.0011
            for task, mean in summary["scores_by_task"].items()
        }
        self.same("means that differ", far, dict.fromkeys(means, False))
        cards = sum(card["seen_count"] for card in memory["mistake_cards"])
        self.same("cards", cards, len(found))

    # --- backups ---

    def back_up(self) -> tuple[Known, Known]:
        backup = self.folder / "backup"
        backup.mkdir(exist_ok=True)
        with AIMemory(self.folder / "AIMemory") as memory:
            memory.export_insights(backup / "insights.json")
        for name in (_DATABASE, _FILE):
            shutil.copy(self.folder / name, backup)
        return self.attempts.copy(), self.episodes.copy()

    def restore(self, evening: tuple[Known, Known]) -> None:
        """By cp, whatever lies beside it."""
        self.restores += 1
        for name in (_DATABASE, _FILE):
            shutil.copy(self.folder / "backup" / Path(name).name, self.folder / name)
        self.attempts, self.episodes = evening[0].copy(), evening[1].copy()


@dataclass
class Worker:
    share: Share
    process: Any
    _pipe: Connection

    @classmethod
    def start(cls, share: Share) -> Worker:
        reading, writing = _FORK.Pipe(duplex=False)
        process = _FORK.Process(target=work, args=(share, writing))
        process.start()
        writing.close()
        return cls(share, process, reading)

    def told(self) -> list[tuple[str, int]]:
        """Whatever it told before its end: a pipe is the kernel's. A last word may be cut off."""
        said: list[tuple[str, int]] = []
        try:
            while True:
                said.append(self._pipe.recv())
        except (EOFError, OSError):
            self._pipe.close()
            return said


def run(folder: Path, days: int, attempts: int, episodes: int, seed: int) -> Month:
    """`attempts` of a process and day, `episodes` in all."""
    month = Month(folder, seed)
    numbers, played = iter(range(10**9)), iter(range(episodes))
    evening: tuple[Known, Known] | None = None
    for day in range(days):
        today = [next(numbers) for _ in range(attempts * PROCESSES)]
        due = episodes * (day + 1) // days - episodes * day // days
        month.work_a_day(day, today, [next(played) for _ in range(due)])
        if evening and day % 7 == 3 and day < 21:  # later, the cleanup would be undone
            month.restore(evening)
        month.look(day)
        evening = month.back_up()
    return month


def told(month: Month) -> Iterable[str]:
    for name, known in (("attempts", month.attempts), ("episodes", month.episodes)):
        begun = len(known.found - known.acknowledged)
        yield (
            f"{name}: {len(known.acknowledged)} acknowledged, {len(known.found)} there "
            f"({begun} of them of a killed process)"
        )
    yield f"{month.kills} kills, {month.restores} restores by cp, {month.cleaned} cleaned up"
    yield f"{month.compared} figures compared, {len(month.findings)} findings"
    yield from month.findings[:50]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--days", type=one_or_more, default=30)
    parser.add_argument("--attempts", type=one_or_more, default=10, help="of a process and day")
    parser.add_argument("--episodes", type=one_or_more, default=500, help="in all, below 10,000")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    logging.disable()
    with tempfile.TemporaryDirectory() as folder:
        month = run(Path(folder), given.days, given.attempts, given.episodes, given.seed)
    print("\n".join(told(month)))
    return bool(month.findings)


if __name__ == "__main__":
    sys.exit(main())
