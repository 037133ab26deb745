"""What the fix-history document promises; its own blocks run in base/test_documents.py."""

from __future__ import annotations

import hashlib
import inspect
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cases import each
from hardwon import Memory
from hardwon.fixes.ai_memory import AIMemory

ROOT = Path(__file__).parents[2]
DATABASE = "AIMemory/ai_memory.db"
ISSUE = {"model": "qwen2.5:7b", "issue_type": "TIMEOUT", "description": "Nothing came in time"}
ISSUE |= {"test_prompt": "Count to a million", "actual_response": ""}
# The tables are in the file already, so that their CREATEs cannot run: columns and types are compared.
COLUMNS = {
    "fix_history": """id INTEGER, timestamp TEXT, model_name TEXT, issue_type TEXT,
        issue_signature TEXT, description TEXT, fixer_type TEXT, claude_analysis TEXT,
        fix_commands TEXT, fix_success BOOLEAN, verification_success BOOLEAN,
        execution_time_seconds REAL, system_info TEXT, notes TEXT""",
    "issue_patterns": """id INTEGER, pattern_name TEXT, issue_signature TEXT,
        success_count INTEGER, failure_count INTEGER, best_fix TEXT, last_seen TEXT,
        confidence_score REAL""",
    "model_characteristics": """model_name TEXT, total_tests INTEGER, success_rate REAL,
        common_issues TEXT, effective_fixes TEXT, last_updated TEXT, performance_notes TEXT""",
}
DOCUMENTED = {
    table: [(column.split()[0], column.split()[1]) for column in columns.split(",")]
    for table, columns in COLUMNS.items()
}
INDEXES = {
    "idx_fix_history_timestamp": ["timestamp"],
    "idx_fix_history_model": ["model_name"],
    "idx_fix_history_issue_type": ["issue_type"],
    "idx_fix_history_signature": ["issue_signature"],
    "idx_fix_history_fixer_type": ["fixer_type"],
    "idx_fix_history_success": ["fix_success", "verification_success"],
}
NONE = inspect.Parameter.empty
ASKED = "issue_data ai_response fix_success verification_success execution_time".split()
METHODS: dict[str, dict[str, Any]] = {
    "record_fix_attempt": dict.fromkeys(ASKED, NONE) | {"notes": None, "fixer_type": "claude"},
    "query_similar_issues": {"issue_data": NONE, "limit": 5},
    "get_model_insights": {"model_name": NONE},
    "build_context_for_claude": {"issue_data": NONE},
    "get_memory_stats": {},
    "export_insights": {"output_file": NONE},
    "generate_issue_signature": {"issue_data": NONE},
}


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AIMemory]:
    """A fresh folder with twelve attempts, seen as a script of the document sees it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(ROOT / "drop_in"))
    from Scripts import ai_memory  # type: ignore[import-not-found,unused-ignore]

    with ai_memory.AIMemory() as opened:
        for turn in range(12):
            commands = [f"export TIMEOUT={60 + turn % 3}"]
            reply = {"analysis": "It needs longer", "fix_commands": commands}
            issue = {**ISSUE, "issue_type": ("TIMEOUT", "NO_OUTPUT")[turn % 2]}
            how = (turn / 2, None, ("claude", "qwen", "deepseek")[turn % 3])
            opened.record_fix_attempt(issue, reply, turn % 4 != 0, turn % 4 == 1, *how)
        yield opened


def read(sql: str, *values: Any) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{DATABASE}?mode=ro", uri=True)) as connection:
        return connection.execute(sql, values).fetchall()


@pytest.mark.usefixtures("memory")
def test_a_signature_is_the_formula_s(memory: AIMemory) -> None:
    def formula(issue: dict[str, str]) -> str:
        first = issue.get("issue_type", ""), issue.get("model", "").partition(":")[0]
        last = issue.get("test_prompt", "")[:50], str(len(issue.get("actual_response", "")))
        return hashlib.md5("|".join([*first, *last]).encode()).hexdigest()[:16]  # noqa: S324

    odd = {**ISSUE, "test_prompt": "é" * 80, "actual_response": "x" * 9}
    for issue in (ISSUE, {}, {"issue_type": "A|b", "model": "c"}, odd):
        assert memory.generate_issue_signature(issue) == formula(issue)
    stored = read("SELECT issue_signature FROM fix_history WHERE issue_type = 'TIMEOUT' LIMIT 1")
    assert stored == [(formula(ISSUE),)]


@pytest.mark.usefixtures("memory")
def test_confidence_is_how_much_was_tried() -> None:
    rows = read("SELECT success_count, failure_count, confidence_score FROM issue_patterns")
    assert rows
    assert all(score == min(1.0, (good + bad) / 10.0) for good, bad, score in rows)


@pytest.mark.usefixtures("memory")
def test_an_older_database_is_migrated() -> None:
    from Scripts.ai_memory import migrate_legacy_data  # type: ignore[import-not-found,unused-ignore]

    with closing(sqlite3.connect("legacy.db")) as connection, connection:
        connection.execute(f"CREATE TABLE fix_history ({COLUMNS['fix_history']})")
        row = "2025-01-01T10:00:00 old:7b ERROR abababababababab old claude why [] 1 0".split()
        values = [*row, None, "{}", None]
        connection.execute(f"INSERT INTO fix_history VALUES (1{', ?' * 13})", values)
    migrate_legacy_data("legacy.db")
    assert read("SELECT count(*) FROM fix_history") == [(13,)]


@each("name", METHODS)
def test_methods_take_what_the_document_s_take(name: str) -> None:
    ours = inspect.signature(getattr(AIMemory, name)).parameters
    shared = [one for one in ours.values() if one.kind is not one.KEYWORD_ONLY][1:]
    assert {one.name: one.default for one in shared} == METHODS[name]
    assert list(METHODS[name]) == [one.name for one in shared]


@each("name", ["auto_cleanup", "compress_historical_data", "query_similar_issues_optimized"])
def test_what_the_document_only_sketches_is_there(name: str) -> None:
    assert callable(getattr(AIMemory, name))


WORKED = "fix_success AND verification_success"
RATE = "round(100.0 * sum({}) / count(*), 2) FROM fix_history GROUP BY 1".format
RECENT = "WHERE timestamp > datetime('now', '-30 days') GROUP BY 1, date(timestamp)"


@each(
    ("sql", "rows"),
    [
        (
            f"SELECT fixer_type, count(*), sum({WORKED}), {RATE(WORKED)}",
            [("claude", 4, 1, 25.0), ("deepseek", 4, 1, 25.0), ("qwen", 4, 1, 25.0)],
        ),
        (
            f"SELECT model_name, count(*), avg(fix_success = 1) FROM fix_history {RECENT}",
            [("qwen2.5:7b", 12, 0.75)],
        ),
        (
            f"SELECT issue_type, count(*), {RATE('fix_success')} ORDER BY 1",
            [("NO_OUTPUT", 6, 100.0), ("TIMEOUT", 6, 50.0)],
        ),
        ("SELECT count(*) FROM fix_history WHERE fixer_type = 'qwen'", [(4,)]),
    ],
)
def test_anybody_may_ask_the_tables(memory: AIMemory, sql: str, rows: list[Any]) -> None:
    assert read(sql) == rows
    with closing(sqlite3.connect(DATABASE)) as connection:
        assert connection.execute(sql).fetchall() == rows
    assert memory.memory.doctor().ok


@pytest.mark.usefixtures("memory")
def test_tables_and_indexes_are_those_of_the_document() -> None:
    for table, wanted in DOCUMENTED.items():
        columns = read(f"PRAGMA table_info({table})")
        assert [(column[1], column[2]) for column in columns] == wanted
        assert read(f"SELECT * FROM {table}")
    for index, columns_of_index in INDEXES.items():
        names = [row[2] for row in read(f"PRAGMA index_info({index})")]
        assert names[: len(columns_of_index)] == columns_of_index
    for index, clauses in (
        ("idx_fix_history_signature", "issue_signature = ? ORDER BY timestamp DESC"),
        ("idx_fix_history_", "model_name = ? AND issue_type = ? ORDER BY fix_success DESC"),
        ("idx_fix_history_issue_type", "issue_type = ? ORDER BY fix_success DESC"),
    ):
        sql = f"EXPLAIN QUERY PLAN SELECT * FROM fix_history WHERE {clauses} LIMIT 5"
        assert re.search(index, str(read(sql, *["x"] * clauses.count("?"))))


def test_maintenance_by_sql_harms_nothing(memory: AIMemory) -> None:
    memory.close()
    with closing(sqlite3.connect(DATABASE, isolation_level=None)) as connection:
        for statement in ("VACUUM", "ANALYZE"):
            connection.execute(statement)
        with pytest.raises(sqlite3.OperationalError):  # no statement of SQLite: ANALYZE does it
            connection.execute("UPDATE STATISTICS")
    with Memory("AIMemory") as opened:
        assert opened.doctor().ok
        assert opened.fixes.totals().attempts == 12
