"""From a file into a database and back: what arrives, and what an interruption leaves."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import legacy_fixes
from command_line import answered
from engines import a_location, wrong_with
from hardwon import Memory
from hardwon.surfaces import adopt as adoption

MANY = 3_000
LONG_AGO = datetime(2025, 1, 1, tzinfo=UTC)

pytestmark = pytest.mark.usefixtures("own_folder")


def everything(location: str) -> None:
    """Records of every kind in every state."""

    def fix(memory: Memory, number: int, issue_type: str, command: str) -> None:
        issue = {"model": f"m{number % 3}", "issue_type": issue_type, "description": f"at {number}"}
        memory.record_fix(issue, True, number % 2 == 0, command, [f"{command} {number % 4}"])

    with Memory(location, clock=lambda: LONG_AGO) as memory:
        for number in range(24):
            fix(memory, number, "TIMEOUT", "raise it to")
    with Memory(location, clock=lambda: LONG_AGO + timedelta(days=100)) as memory:
        memory.cleanup(30, dry_run=False)
        memory.compact()
        for number in range(24):
            fix(memory, number, "OOM", "halve it, times")
    with Memory(location) as memory:
        memory.cleanup(30, dry_run=False)
        failed = memory.remember("upload failed", "failure", tool="unknown", tags=["x"], author="a")
        says: Any = {"author": "b", "recalled": [failed.id]}
        memory.remember("upload works in parts", "learning", insight_type="fact", **says)
        texts = [f"Port {number} is open." for number in range(8)]
        facts = [memory.record_fact(text, "observation", author="c") for text in texts]
        memory.verify(facts[0].id, "compiler")
        memory.publish(facts[0].id, "everybody needs it")
        memory.verify(facts[1].id, "compiler")
        memory.archive(facts[2].id, "it was shut")
        memory.supersede(facts[3].id, facts[4].id, "it moved")
        memory.credit([facts[5].id, failed.id], True, "d")
        memory.credit([facts[6].id], False, "d")
        memory.forget(facts[7].id)
        for score in (0.2, 0.9, 0.95):
            says = {"mistakes": ["forgot zones"], "successes": ["looked first"]}
            memory.record_episode("t", score, recalled=[failed.id], **says)
        step = {"action": "a", "observation": "Error: x", "reward": 0.1}
        memory.record_trajectory("t", [step], 0.9)
        memory.rollback("b", reason="it made things up")
        undone = memory.rollback("c", reason="by mistake")
        memory.undo(undone.id)
        Path("old").mkdir(exist_ok=True)
        if not Path("old/ai_memory.db").exists():
            legacy_fixes.make(Path("old/ai_memory.db"), [{}, {"issue_type": "GPU"}])
        adoption.adopt("old/ai_memory.db", memory)


def known(location: str) -> dict[str, Any]:
    """Everything that is kept and answered, but for where."""
    with Memory(location, checkout=False) as memory:
        store = memory._project.store
        assert wrong_with(memory) == []
        stats = memory.stats()
        issue = {"model": "m1", "issue_type": "OOM", "description": "at 4"}
        hits = memory.recall("upload port open halve", 20)
        return {
            "rows": [row for row, _ in store.rows(memory.project)],
            "events": list(store.events(memory.project)),
            "untrue": store.untrue_tallies(memory.project),
            "records": (stats.records, stats.total),
            "recalled": [(hit.record, round(hit.score, 6)) for hit in hits],
            "context": memory.context("upload failed", task_id="t", issue=issue).ids,
            "rules": memory.rules(),
            "strategies": memory.fixes.strategies("OOM"),
            "similar": memory.similar_issues(issue),
            "patterns": memory.patterns(),
            "totals": memory.fixes.totals(),
            "decisions": memory.care.decisions(),
            "fixes": [memory.get(fix.id) for fix in memory.browse(kind="fix")],
        }


def test_a_file_goes_into_a_database_and_back_unchanged(url: str) -> None:
    everything("brain.db")
    with Memory(url) as there:
        first = there.merge("brain.db", trust=True)
        assert (first.conflicting, first.forgotten) == ([], 0)
        again = there.merge("brain.db", trust=True)
        assert (again.added, again.events, again.erased) == (0, 0, 0)
    here = known("brain.db")
    assert here["untrue"] == 0
    with Memory("back.db") as back:
        assert back.merge(url, trust=True).added == first.added
    moved, returned = known(url), known("back.db")
    for name, value in moved.items():
        assert value == returned[name], name
    # What was decided about the file alone, as a cleanup is, stays with it; what it took out of the
    # history arrives whole.
    assert {row.id for row in here["rows"]} >= {row.id for row in moved["rows"]}
    for name in ("totals", "patterns", "strategies", "rules"):
        assert moved[name] == here[name], name


def many(location: str) -> None:
    chance = random.Random(1)
    with Memory(location) as memory:
        ids: list[str] = []
        for start in range(0, MANY // 2, 500):
            facts = [
                {"content": f"Host {chance.random()} listens on {start + n}.", "fact_type": "error"}
                for n in range(500)
            ]
            ids += [record.id for record in memory.care.record_many("fact", facts)]
            tries = [
                {"task_id": f"t{n % 9}", "score": chance.random(), "mistakes": [f"forgot {n % 30}"]}
                for n in range(500)
            ]
            memory.care.record_many("episode", tries)
        memory.credit(ids[::3], True, "somebody")
        for record_id in ids[:60]:
            memory.verify(record_id, "compiler")
        memory.forget(ids[-20:])


def records_in(location: str) -> int:
    with Memory(location) as memory:
        return memory.stats().total


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_a_merge_that_was_killed_goes_on_when_it_is_done_again(engine: str, tmp_path: Path) -> None:
    """`engine` is that of the memory that is merged into."""
    other = {"sqlite": "postgres", "postgres": "sqlite"}[engine]
    with a_location(engine, tmp_path) as target, a_location(other, tmp_path) as source:
        many(source)
        with Memory(target) as made:  # so that it can be looked at from the beginning
            assert made.stats().total == 0
        words = ("--memory", target, "merge", source, "--trust")
        command = [sys.executable, "-m", "hardwon.surfaces.cli.main", *words]
        nowhere = subprocess.DEVNULL
        running = subprocess.Popen(command, stdout=nowhere, stderr=nowhere)
        ends = time.monotonic() + 120
        while not records_in(target):
            assert running.poll() is None
            assert time.monotonic() < ends
            time.sleep(0.02)  # looking takes from it what it needs to get on
        running.send_signal(signal.SIGKILL)
        running.wait(60)
        assert 0 < records_in(target) < records_in(source)
        answered("--memory", target, "merge", source, "--trust")
        assert known(target) == known(source)
