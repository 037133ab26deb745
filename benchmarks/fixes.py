"""Fix history at a million attempts: Hardwon's `AIMemory` beside a plain class on Python's sqlite3
that has the same tables and indexes, learns nothing, and answers by SQL over all rows.

Both get the same attempts. Then they record, and answer the same questions, in turn. Printed are
the times and how many times as fast ours is; last the document's three questions in SQL, asked of
both files by Python's own sqlite3.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from hardwon import Fix, Issue, Metadata
from hardwon.fixes.ai_memory import AIMemory
from hardwon.learn.tallies import fix_history_signature
from hardwon.records.kinds import Moment, Source

BATCH = 10_000
JUDGED_ATTEMPTS = 1_000_000
ISSUES = 2_000
MODELS = [f"model-{number}:7b" for number in range(20)]
TYPES = ["TIMEOUT", "ERROR", "NO_OUTPUT", "UNEXPECTED_RESPONSE", "MODEL_NOT_AVAILABLE"]
FIXERS = ["claude", "qwen", "gpt"]
DAYS = 60
SYSTEM = {"os": "Linux", "ram_gb": 16, "gpu_available": True}
COLUMNS = (
    "timestamp, model_name, issue_type, issue_signature, description, fixer_type, claude_analysis, "
    "fix_commands, fix_success, verification_success, execution_time_seconds, system_info, notes"
)
GOOD = "SUM(CASE WHEN fix_success = 1 AND verification_success = 1 THEN 1 ELSE 0 END)"
APPLIED = "AVG(CASE WHEN fix_success = 1 THEN 1.0 ELSE 0.0 END)"
QUESTIONS = {
    "success by fixer": f"SELECT fixer_type, COUNT(*), {GOOD} FROM fix_history GROUP BY fixer_type",
    "trends of 30 days": f"SELECT model_name, DATE(timestamp) AS day, COUNT(*), {APPLIED} FROM "
    f"fix_history "
    "WHERE timestamp > datetime('now', '-30 days') GROUP BY model_name, DATE(timestamp) ORDER BY "
    "day DESC",
    "issue distribution": "SELECT issue_type, COUNT(*) AS n, AVG(execution_time_seconds), "
    "SUM(fix_success) FROM fix_history GROUP BY issue_type ORDER BY n DESC",
}


class Plain:
    """What the document's class does: one table, six indexes, SQL."""

    def __init__(self, path: Path) -> None:
        self.db = sqlite3.connect(path)
        self.db.execute(
            "CREATE TABLE IF NOT EXISTS fix_history (id INTEGER PRIMARY KEY AUTOINCREMENT, "
            "timestamp TEXT NOT NULL, "
            "model_name TEXT NOT NULL, issue_type TEXT NOT NULL, issue_signature TEXT NOT NULL, "
            "description TEXT NOT NULL, "
            "fixer_type TEXT NOT NULL, claude_analysis TEXT NOT NULL, fix_commands TEXT NOT NULL, "
            "fix_success BOOLEAN NOT "
            "NULL, verification_success BOOLEAN NOT NULL, execution_time_seconds REAL, system_info "
            "TEXT NOT NULL, notes TEXT)"
        )
        for columns in (
            "timestamp",
            "model_name",
            "issue_type",
            "issue_signature",
            "fixer_type",
            "fix_success, verification_success",
        ):
            name = columns.split(",")[0]
            self.db.execute(f"CREATE INDEX IF NOT EXISTS plain_{name} ON fix_history ({columns})")

    def fill(self, rows: list[tuple[Any, ...]]) -> None:
        self.db.executemany(
            f"INSERT INTO fix_history ({COLUMNS}) VALUES ({', '.join('?' * 13)})", rows
        )
        self.db.commit()

    def record(self, row: tuple[Any, ...]) -> None:
        self.fill([row])

    def similar(self, issue: dict[str, Any], limit: int = 5) -> list[list[Any]]:
        ask = "SELECT * FROM fix_history WHERE "
        asked = [
            (
                ask + "issue_signature = ? ORDER BY timestamp DESC LIMIT ?",
                (fix_history_signature(issue),),
            ),
            (
                ask + "model_name = ? AND issue_type = ? ORDER BY fix_success DESC LIMIT ?",
                (issue["model"], issue["issue_type"]),
            ),
            (ask + "issue_type = ? ORDER BY fix_success DESC LIMIT ?", (issue["issue_type"],)),
        ]
        return [self.db.execute(sql, (*values, limit)).fetchall() for sql, values in asked]

    def context(self, issue: dict[str, Any]) -> str:
        lines = ["history"]
        total = "SELECT COUNT(*), SUM(fix_success AND verification_success) FROM fix_history WHERE model_name = ?"
        lines.append(str(self.db.execute(total, (issue["model"],)).fetchone()))
        lines += [str(row) for rows in self.similar(issue) for row in rows]
        return "\n".join(lines)

    def stats(self) -> list[Any]:
        return [
            self.db.execute(f"SELECT {what} FROM fix_history {where}").fetchone()
            for what, where in (
                ("COUNT(*)", ""),
                ("COUNT(*)", "WHERE fix_success = 1 AND verification_success = 1"),
                ("COUNT(DISTINCT model_name)", ""),
                ("COUNT(DISTINCT issue_type)", ""),
                ("COUNT(*)", "WHERE timestamp > datetime('now', '-7 days')"),
            )
        ]

    def patterns(self) -> list[Any]:
        sql = (
            "SELECT issue_type, issue_signature, COUNT(*) AS n, SUM(fix_success AND "
            "verification_success), MAX(timestamp) "
            "FROM fix_history GROUP BY issue_type, issue_signature ORDER BY n DESC LIMIT 20"
        )
        return self.db.execute(sql).fetchall()

    def daily(self) -> list[Any]:
        sql = (
            "SELECT DATE(timestamp), COUNT(*), SUM(fix_success), SUM(fix_success AND "
            "verification_success) FROM fix_history "
            "WHERE timestamp > datetime('now', '-30 days') GROUP BY DATE(timestamp)"
        )
        return self.db.execute(sql).fetchall()


def attempts(
    count: int, seed: int, newest: datetime
) -> Iterator[tuple[dict[str, Any], dict[str, Any], bool, bool, datetime, str]]:
    rng = random.Random(seed)
    for _ in range(count):
        number = rng.randrange(ISSUES)
        model = MODELS[number % len(MODELS)]
        issue = {
            "model": model,
            "issue_type": TYPES[number % len(TYPES)],
            "description": f"Issue {number}: the service gave no answer in time",
            "test_prompt": f"prompt {number}: say hello",
            "error_output": f"Error: request {number} timed out",
        }
        reply = {
            "analysis": f"The model needs more time for prompt {number}",
            "fix_commands": [f"ollama pull {model}", f"set --timeout {rng.randrange(8)}"],
        }
        at = newest - timedelta(seconds=rng.randrange(DAYS * 86_400))
        yield issue, reply, rng.random() < 0.7, rng.random() < 0.6, at, FIXERS[number % len(FIXERS)]


def plain_row(attempt: tuple[Any, ...]) -> tuple[Any, ...]:
    issue, reply, applied, verified, at, fixer = attempt
    return (
        at.isoformat(timespec="microseconds"),
        issue["model"],
        issue["issue_type"],
        fix_history_signature(issue),
        issue["description"],
        fixer,
        reply["analysis"],
        json.dumps(reply["fix_commands"]),
        applied,
        verified,
        3.5,
        json.dumps(SYSTEM),
        None,
    )


def our_fix(attempt: tuple[Any, ...]) -> Fix:
    issue, reply, applied, verified, at, fixer = attempt
    return Fix(
        issue=Issue(**issue),
        **reply,
        fix_success=applied,
        verification_success=verified,
        execution_time_seconds=3.5,
        system_info=SYSTEM,
        fixer_type=fixer,
        metadata=Metadata(context=Moment(timestamp=at), source=Source(author=fixer)),
    )


def fill(plain: Plain, ours: AIMemory, count: int) -> None:
    newest = datetime.now(UTC)
    spent = [0.0, 0.0]
    for done in range(0, count, BATCH):
        batch = list(attempts(min(BATCH, count - done), done, newest))
        rows, fixes = [plain_row(each) for each in batch], [our_fix(each) for each in batch]
        works: list[Callable[[], object]] = [
            partial(plain.fill, rows),
            partial(ours.memory.add_many, fixes),
        ]
        for place, work in enumerate(works):
            started = time.perf_counter()
            work()
            spent[place] += time.perf_counter() - started
        if (done + BATCH) % (10 * BATCH) == 0:
            print(
                f"  {done + BATCH:,} attempts, {spent[1] / (done + BATCH) * 1e6:.0f} µs each of "
                f"ours",
                flush=True,
            )
    print(
        f"filled in bulk: plain {spent[0] / count * 1e6:.1f} µs, ours {spent[1] / count * 1e6:.1f} "
        f"µs an attempt"
    )


def measure(
    name: str,
    plain: Callable[[int], object],
    ours: Callable[[int], object],
    times: int,
    at_least: float,
) -> bool:
    """In turn, so that a noisy machine is noisy for both; the medians are compared. Without a bound
    it is nought.
    """
    plain(-1)
    ours(-1)
    took: list[list[float]] = [[], []]
    for number in range(times):
        for place, work in enumerate((plain, ours)):
            started = time.perf_counter()
            work(number)
            took[place].append((time.perf_counter() - started) * 1e3)
    theirs, mine = (statistics.median(each) for each in took)
    bound = f" (at least {at_least:g})" if at_least else ""
    print(
        f"{name:22} plain {theirs:9.3f} ms   ours {mine:9.3f} ms   {theirs / mine:9.2f} times as "
        f"fast{bound}"
    )
    return theirs / mine >= at_least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attempts", type=int, default=1_000_000)
    parser.add_argument(
        "--folder",
        type=Path,
        help="keep both databases there, and use them if they are there already",
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder: Path = given.folder or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        is_new = not (folder / "plain.db").exists()
        plain = Plain(folder / "plain.db")
        with AIMemory(folder / "AIMemory") as ours:
            if is_new:
                fill(plain, ours, given.attempts)
            held = compare(plain, ours, folder, judged=given.attempts >= JUDGED_ATTEMPTS)
    raise SystemExit(0 if held else "a bound was missed")


def compare(plain: Plain, ours: AIMemory, folder: Path, *, judged: bool) -> bool:
    more = list(attempts(2_000, 10**9, datetime.now(UTC)))
    issues = [each[0] for each in more]
    other = sqlite3.connect(f"file:{folder / 'AIMemory' / 'ai_memory.db'}?mode=ro", uri=True)

    def record(number: int) -> object:
        issue, reply, applied, verified, _, fixer = more[number]
        return ours.record_fix_attempt(
            {**issue, "test_environment": SYSTEM}, reply, applied, verified, 3.5, None, fixer
        )

    works: list[tuple[str, Callable[[int], object], Callable[[int], object], int, float]] = [
        ("record_fix_attempt", lambda n: plain.record(plain_row(more[n])), record, 500, 0.5),
        (
            "query_similar_issues",
            lambda n: plain.similar(issues[n]),
            lambda n: ours.query_similar_issues(issues[n]),
            15,
            1,
        ),
        (
            "build_context",
            lambda n: plain.context(issues[n]),
            lambda n: ours.build_context_for_ai(issues[n]),
            15,
            1,
        ),
        ("stats", lambda _: plain.stats(), lambda _: ours.get_memory_stats(), 5, 20),
        ("patterns", lambda _: plain.patterns(), lambda _: ours.memory.patterns(), 5, 20),
        ("daily statistics", lambda _: plain.daily(), lambda _: ours.get_daily_statistics(), 5, 20),
        *(
            (f"SQL: {name}", partial(_ask, plain.db, sql), partial(_ask, other, sql), 3, 0)
            for name, sql in QUESTIONS.items()
        ),
    ]
    if not judged:
        print(
            f"bounds are for {JUDGED_ATTEMPTS:,} attempts, what the plain side takes grows with "
            f"them: nothing is judged"
        )
    held = [measure(*work[:-1], work[-1] if judged else 0) for work in works]
    return all(held)


def _ask(database: sqlite3.Connection, sql: str, _: int) -> list[Any]:
    return database.execute(sql).fetchall()


if __name__ == "__main__":
    main()
