"""Fix history at a million attempts: Hardwon's `AIMemory` beside a plain class on Python's sqlite3
that has the same tables and indexes, learns nothing, and answers by SQL over all rows.

Both get the same attempts. Then they record, and answer the same questions. Printed are the times
and how many times as fast ours is; last the document's three questions in SQL, asked of both files
by Python's own sqlite3.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sqlite3
import statistics
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from hardwon import Fix, Issue, Metadata
from hardwon.fixes.ai_memory import AIMemory
from hardwon.lessons.issues import fix_history_signature
from hardwon.records.kinds import Moment, Source
from write import timed

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
            f"CREATE TABLE fix_history (id INTEGER PRIMARY KEY AUTOINCREMENT, {COLUMNS})"
        )
        columns = "timestamp model_name issue_type issue_signature fixer_type fix_success".split()
        for column in columns:
            self.db.execute(f"CREATE INDEX plain_{column} ON fix_history ({column})")

    def fill(self, rows: list[tuple[Any, ...]]) -> None:
        self.db.executemany(
            f"INSERT INTO fix_history ({COLUMNS}) VALUES ({', '.join('?' * 13)})", rows
        )
        self.db.commit()

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
        wanted = (
            "COUNT(*)",
            f"COUNT(*), {GOOD}",
            "COUNT(DISTINCT model_name)",
            "COUNT(DISTINCT issue_type)",
        )
        return [self.db.execute(f"SELECT {what} FROM fix_history").fetchone() for what in wanted]

    def patterns(self) -> list[Any]:
        return self.db.execute(
            f"SELECT issue_type, issue_signature, COUNT(*) AS n, {GOOD}, MAX(timestamp) FROM "
            "fix_history GROUP BY issue_type, issue_signature ORDER BY n DESC LIMIT 20"
        ).fetchall()

    def daily(self) -> list[Any]:
        return self.db.execute(
            f"SELECT DATE(timestamp), COUNT(*), SUM(fix_success), {GOOD} FROM fix_history "
            "WHERE timestamp > datetime('now', '-30 days') GROUP BY DATE(timestamp)"
        ).fetchall()


Attempt = tuple[dict[str, Any], dict[str, Any], bool, bool, datetime, str]


def attempts(count: int, seed: int, newest: datetime) -> Iterator[Attempt]:
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


def plain_row(attempt: Attempt) -> tuple[Any, ...]:
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


def our_fix(attempt: Attempt) -> Fix:
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
        rows, fixes = [plain_row(attempt) for attempt in batch], list(map(our_fix, batch))
        spent[0] += timed(partial(plain.fill, rows))
        spent[1] += timed(partial(ours.memory.add_many, fixes))
    theirs, mine = (seconds / count * 1e6 for seconds in spent)
    print(f"{count:,} attempts in bulk: plain {theirs:.1f} µs each, ours {mine:.1f} µs")


def weigh(folder: Path) -> None:
    """What both take on disk, when the log is folded in."""
    size = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
    plain, ours = (
        sqlite3.connect(folder / name).execute(size).fetchone()[0]
        for name in ("plain.db", "AIMemory/ai_memory.db")
    )
    print(
        f"on disk: plain {plain / 1e6:.1f} MB, ours {ours / 1e6:.1f} MB: {ours / plain:.1f} times"
    )


def adopt(folder: Path, rows: int) -> None:
    """The plain database becomes a memory."""
    (folder / "adopted").mkdir()
    shutil.copyfile(folder / "plain.db", folder / "adopted" / "ai_memory.db")
    seconds = timed(lambda: AIMemory(folder / "adopted").close())
    print(f"adoption: {rows / seconds:,.0f} rows a second")


def compare(plain: Plain, ours: AIMemory, folder: Path, *, judged: bool) -> bool:
    more = list(attempts(2_000, 10**9, datetime.now(UTC)))
    issues = [attempt[0] for attempt in more]
    other = sqlite3.connect(f"file:{folder / 'AIMemory' / 'ai_memory.db'}?mode=ro", uri=True)

    def record(number: int) -> object:
        issue, reply, applied, verified, _, fixer = more[number]
        return ours.record_fix_attempt(
            {**issue, "test_environment": SYSTEM}, reply, applied, verified, 3.5, None, fixer
        )

    def ask(database: sqlite3.Connection, sql: str, _: int) -> object:
        return database.execute(sql).fetchall()

    works: list[tuple[str, Callable[[int], object], Callable[[int], object], int, float]] = [
        ("record_fix_attempt", lambda n: plain.fill([plain_row(more[n])]), record, 500, 0.5),
        ("query_similar_issues", lambda n: plain.similar(issues[n]),
         lambda n: ours.query_similar_issues(issues[n]), 15, 1),
        ("build_context", lambda n: plain.context(issues[n]),
         lambda n: ours.build_context_for_ai(issues[n]), 15, 1),
        ("stats", lambda _: plain.stats(), lambda _: ours.get_memory_stats(), 5, 20),
        ("patterns", lambda _: plain.patterns(), lambda _: ours.memory.patterns(), 5, 20),
        ("daily statistics", lambda _: plain.daily(), lambda _: ours.get_daily_statistics(), 5, 20),
        *((f"SQL: {name}", partial(ask, plain.db, sql), partial(ask, other, sql), 3, 0)
          for name, sql in QUESTIONS.items()),
    ]  # fmt: skip
    held = True
    for name, theirs, mine, times, bound in works:
        slow, fast = (
            statistics.median(timed(partial(work, number)) for number in range(times)) * 1e3
            for work in (theirs, mine)
        )
        shown = f" (at least {bound:g})" if bound and judged else ""
        print(
            f"{name:22} plain {slow:9.3f} ms   ours {fast:9.3f} ms   {slow / fast:9.2f} times as "
            f"fast{shown}"
        )
        held &= not judged or slow / fast >= bound
    return held


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--attempts", type=int, default=1_000_000)
    options = parser.parse_args()
    judged = options.attempts >= JUDGED_ATTEMPTS
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        plain = Plain(folder / "plain.db")
        with AIMemory(folder / "AIMemory") as ours:
            fill(plain, ours, options.attempts)
            weigh(folder)
            if not judged:
                print(f"bounds are for {JUDGED_ATTEMPTS:,} attempts: nothing is judged")
            held = compare(plain, ours, folder, judged=judged)
        if not judged:
            plain.db.close()
            adopt(folder, options.attempts)
    raise SystemExit(0 if held else "a bound was missed")


if __name__ == "__main__":
    main()
