"""The fix-history document: every Python and SQL block of it runs word for word, or is named here
with the reason why not.

Where the document is not at hand (HARDWON_SEEDS is not set), the same calls in our own words run in
its place.
"""

from __future__ import annotations

import csv
import hashlib
import inspect
import json
import os
import re
import sqlite3
import textwrap
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hardwon import Memory
from hardwon.fixes.ai_memory import AIMemory

ROOT = Path(__file__).parents[2]
DOCUMENTS = os.environ.get("HARDWON_SEEDS")
ISSUE = {
    "model": "qwen2.5:7b",
    "issue_type": "TIMEOUT",
    "description": "Nothing came within 30 seconds",
    "test_prompt": "Count to a million",
    "actual_response": "",
}
World = dict[str, Any]
"""The names that a block finds, and those that it leaves behind."""


class Case(NamedTuple):
    """A block: what it is known by, the same in our own words, and what must be true when it has
    run.
    """

    name: str
    known_by: str
    own_words: str
    check: Callable[[World], None]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A fresh folder with a few attempts, seen as a script of the document sees it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(ROOT / "drop_in"))
    from Scripts import ai_memory  # type: ignore[import-not-found,unused-ignore]

    made: list[AIMemory] = []

    class Closing(AIMemory):
        """Scripts never close theirs; a test has to."""

        def __init__(self, *arguments: Any, **keywords: Any) -> None:
            super().__init__(*arguments, **keywords)
            made.append(self)

    monkeypatch.setattr(ai_memory, "AIMemory", Closing)
    memory = Closing()
    for turn in range(12):
        reply = {"analysis": "It needs longer", "fix_commands": [f"export TIMEOUT={60 + turn % 3}"]}
        fixer = ("claude", "qwen", "deepseek")[turn % 3]
        issue = {**ISSUE, "issue_type": ("TIMEOUT", "NO_OUTPUT")[turn % 2]}
        memory.record_fix_attempt(issue, reply, turn % 4 != 0, turn % 4 == 1, turn / 2, None, fixer)
    names = {
        "memory": memory,
        "issue_data": dict(ISSUE),
        "json": json,
        "sqlite3": sqlite3,
        "hashlib": hashlib,
    }
    functions = {
        name: getattr(ai_memory, name) for name in ("AIMemory", "build_context_for_claude")
    }
    yield {**names, **functions, "Dict": dict, "folder": tmp_path}
    for each in made:
        each.close()


def rows_of(table: str = "fix_history") -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect("file:AIMemory/ai_memory.db?mode=ro", uri=True)) as connection:
        return connection.execute(f"SELECT * FROM {table}").fetchall()


# --- what must be true when a Python block has run ---


def signature(world: World) -> None:
    formula, ours = world["generate_issue_signature"], world["memory"].generate_issue_signature
    for issue in (
        ISSUE,
        {},
        {"issue_type": "A|b", "model": "c"},
        {**ISSUE, "test_prompt": "é" * 80, "actual_response": "x" * 9},
    ):
        assert ours(issue) == formula(issue)
    stored = {row[3]: row[4] for row in rows_of()}
    assert stored["TIMEOUT"] == formula(ISSUE)


def rates(world: World) -> None:
    assert (world["success_rate"], world["confidence"]) == (0.75, 0.8)
    for _, _, _, success, failure, _, _, confidence in rows_of("issue_patterns"):
        assert confidence == min(1.0, (success + failure) / 10.0)


def context(world: World) -> None:
    assert world["context"].startswith("=== HISTORICAL CONTEXT FROM AI MEMORY ===\n")
    assert "export TIMEOUT=" in world["context"]
    assert world["context"].endswith("\n=== END HISTORICAL CONTEXT ===")


def recorded(world: World) -> None:
    number, model, fixer, applied, verified, seconds, notes = (
        rows_of()[-1][place] for place in (0, 2, 6, 9, 10, 11, 13)
    )
    assert (number, model, fixer, applied, verified) == (
        world["fix_id"],
        "qwen2.5:7b",
        "qwen",
        1,
        1,
    )
    assert (seconds, bool(notes)) == (45.2, True)


def similar(world: World) -> None:
    found = world["similar_issues"]
    assert list(found) == ["exact_matches", "model_matches", "type_matches"]
    for matches in found.values():
        assert 0 < len(matches) <= 5
        applied = [match["fix_success"] for match in matches]
        assert applied == sorted(applied, reverse=True)


def insights(world: World) -> None:
    told = world["insights"]
    assert (told["model_name"], told["total_tests"], told["success_rate"]) == (
        "qwen2.5:7b",
        12,
        0.25,
    )
    assert set(told["common_issues"]) == {"TIMEOUT", "NO_OUTPUT"}


def exported_csv(world: World) -> None:
    if "conn" in world:
        world["conn"].close()
    with (world["folder"] / "fix_history.csv").open(newline="") as file:
        found = list(csv.reader(file))
    assert len(found) == 13
    assert found[0] == [column for column, _ in DOCUMENTED["fix_history"]]


def analytics(world: World) -> None:
    world["export_analytics_data"]("analytics.json")
    told = json.loads((world["folder"] / "analytics.json").read_text())
    assert list(told) == ["daily_stats", "model_performance", "issue_trends", "fixer_comparison"]
    world["memory"].export_analytics_data("ours.json")
    assert json.loads((world["folder"] / "ours.json").read_text()) == told


def imported(world: World) -> None:
    (world["folder"] / "theirs.json").write_text(
        json.dumps({"successful_strategies": {"ERROR": ["read the log"]}})
    )
    world["import_knowledge_base"]("theirs.json")
    for memory in (world["memory"], AIMemory()):
        strategies = memory.knowledge_base["successful_strategies"]
        assert strategies["ERROR"] == ["read the log"]
        assert sorted(strategies["NO_OUTPUT"]) == [
            "export TIMEOUT=60",
            "export TIMEOUT=61",
            "export TIMEOUT=62",
        ]
        memory.close()


def migrated(world: World) -> None:
    with closing(sqlite3.connect("legacy.db")) as connection:
        columns = ", ".join(f"{name} {kind}" for name, kind in DOCUMENTED["fix_history"])
        connection.execute(f"CREATE TABLE fix_history ({columns})")
        row = (
            "2025-01-01T10:00:00",
            "old:7b",
            "ERROR",
            "ab" * 8,
            "old",
            "claude",
            "why",
            "[]",
            1,
            0,
            None,
            "{}",
            None,
        )
        connection.execute(f"INSERT INTO fix_history VALUES (1{', ?' * 13})", row)
        connection.commit()
    world["migrate_legacy_data"]("legacy.db")  # the document's has no logic of its own
    from Scripts.ai_memory import migrate_legacy_data  # type: ignore[import-not-found,unused-ignore]

    migrate_legacy_data("legacy.db")
    assert len(rows_of()) == 13


def optimized(world: World) -> None:
    assert world["query_similar_issues_optimized"](world["memory"], ISSUE) is None
    with closing(sqlite3.connect("file:AIMemory/ai_memory.db?mode=ro", uri=True)) as connection:
        for index, clauses in (
            (
                "idx_fix_history_signature",
                "WHERE issue_signature = ? ORDER BY timestamp DESC LIMIT ?",
            ),
            (
                "idx_fix_history_",
                "WHERE model_name = ? AND issue_type = ? ORDER BY fix_success DESC LIMIT ?",
            ),
            (
                "idx_fix_history_issue_type",
                "WHERE issue_type = ? ORDER BY fix_success DESC LIMIT ?",
            ),
        ):
            values = ["x"] * (clauses.count("?") - 1) + [5]
            plan = connection.execute(
                f"EXPLAIN QUERY PLAN SELECT * FROM fix_history {clauses}", values
            ).fetchall()
            assert index in str(plan)


def opened(world: World) -> None:
    assert str(world["memory"].memory_dir) == str(world["folder"] / "custom")
    assert (world["folder"] / "custom" / "ai_memory.db").exists()


def counted(world: World) -> None:
    assert world["qwen_attempts"] == 4


def same_signature(name: str) -> Callable[[World], None]:
    """The document's method has no body: ours takes what it takes, under the same names and with
    the same defaults.
    """

    def check(world: World) -> None:
        wanted = inspect.signature(world[name]).parameters
        ours = inspect.signature(getattr(AIMemory, name)).parameters
        shared = [
            parameter for parameter in ours.values() if parameter.kind is not parameter.KEYWORD_ONLY
        ]
        assert [(each.name, each.default) for each in shared] == [
            (each.name, each.default) for each in wanted.values()
        ]

    return check


def method(name: str, parameters: str, known_by: str = "") -> Case:
    return Case(
        name,
        known_by or f"def {name}(",
        f"def {name}(self, {parameters}): ...",
        same_signature(name),
    )


PYTHON = [
    Case(
        "the formula of a signature",
        "def generate_issue_signature(issue_data)",
        """
        def generate_issue_signature(issue):
            first = issue.get("issue_type", ""), issue.get("model", "").partition(":")[0], issue.get("test_prompt", "")[:50]
            joined = "|".join([*first, str(len(issue.get("actual_response", "")))])
            return hashlib.md5(joined.encode()).hexdigest()[:16]
        """,
        signature,
    ),
    Case(
        "rates",
        "success_rate = ",
        "success_rate, confidence = successful_fixes / total_attempts, 8 / 10",
        rates,
    ),
    Case(
        "context",
        "context = build_context",
        "context = build_context_for_claude(issue_data)",
        context,
    ),
    Case(
        "recording",
        "fix_id = memory",
        """
        issue = {"model": "qwen2.5:7b", "issue_type": "TIMEOUT", "description": "No answer"}
        reply = {"analysis": "It needs longer", "fix_commands": ["# wait longer"], "confidence": 0.85}
        fix_id = memory.record_fix_attempt(
            issue_data=issue, ai_response=reply, fix_success=True, verification_success=True, execution_time=45.2,
            notes="went well", fixer_type="qwen",
        )
        """,
        recorded,
    ),
    Case(
        "similar issues",
        "similar_issues = ",
        "similar_issues = memory.query_similar_issues(issue_data, limit=5)",
        similar,
    ),
    Case(
        "insights",
        "insights = memory",
        "insights = memory.get_model_insights('qwen2.5:7b')",
        insights,
    ),
    Case(
        "CSV",
        "import csv",
        """
        import csv
        conn = sqlite3.connect("AIMemory/ai_memory.db")
        found = conn.execute("SELECT * FROM fix_history")
        with open("fix_history.csv", "w", newline="") as file:
            csv.writer(file).writerows([[column[0] for column in found.description], *found])
        """,
        exported_csv,
    ),
    Case(
        "analytics",
        "def export_analytics_data(",
        """
        def export_analytics_data(target):
            memory = AIMemory()
            told = {"daily_stats": memory.get_daily_statistics(), "model_performance": memory.get_model_performance_matrix()}
            told |= {"issue_trends": memory.get_issue_trend_analysis(), "fixer_comparison": memory.get_fixer_effectiveness()}
            with open(target, "w") as file:
                json.dump(told, file)
        """,
        analytics,
    ),
    Case(
        "a knowledge base of others",
        "def import_knowledge_base(",
        """
        def import_knowledge_base(source):
            memory = AIMemory()
            with open(source) as file:
                memory.knowledge_base.update(json.load(file))
            memory._save_knowledge_base()
        """,
        imported,
    ),
    Case(
        "an older database",
        "def migrate_legacy_data(",
        """
        def migrate_legacy_data(path):
            legacy, memory = sqlite3.connect(path), AIMemory()
        """,
        migrated,
    ),
    Case(
        "the three questions",
        "def query_similar_issues_optimized(",
        """
        def query_similar_issues_optimized(memory, issue, limit=5):
            signature = memory.generate_issue_signature(issue)
        """,
        optimized,
    ),
    Case(
        "opening",
        "from Scripts.ai_memory import AIMemory",
        """
        from Scripts.ai_memory import AIMemory
        memory = AIMemory()
        memory = AIMemory(memory_dir="/custom/path")
        """,
        opened,
    ),
    method(
        "record_fix_attempt",
        "issue_data, ai_response, fix_success, verification_success, execution_time, notes=None, "
        "fixer_type='claude'",
    ),
    method("query_similar_issues", "issue_data, limit=5", "def query_similar_issues(\n"),
    method("get_model_insights", "model_name"),
    method("build_context_for_claude", "issue_data", "def build_context_for_claude(self"),
    Case(
        "get_memory_stats",
        "def get_memory_stats(",
        "def get_memory_stats(self): ...",
        same_signature("get_memory_stats"),
    ),
    method("export_insights", "output_file"),
    method("generate_issue_signature", "issue_data", "def generate_issue_signature(self"),
    Case(
        "the tables, directly",
        "qwen_attempts = ",
        """
        connection = sqlite3.connect("AIMemory/ai_memory.db")
        query = "SELECT count(*) FROM fix_history WHERE fixer_type = ?"
        qwen_attempts = connection.execute(query, ("qwen",)).fetchone()[0]
        connection.close()
        """,
        counted,
    ),
]
ONLY_COMMENTS = {
    "def auto_cleanup()": "its body is comments, which is no Python; AIMemory.auto_cleanup does "
    "what they say",
    "def compress_historical_data()": "its body is comments, which is no Python; "
    "AIMemory.compress_historical_data does it",
}
ELSEWHERE = {"/custom/path": "custom"}
"""Paths of the document that a test must not write to, and what stands in their place."""

# --- what must be true when an SQL block has run ---


def by_fixer(rows: list[tuple[Any, ...]]) -> None:
    assert sorted(rows) == [("claude", 4, 1, 25.0), ("deepseek", 4, 1, 25.0), ("qwen", 4, 1, 25.0)]


def trends(rows: list[tuple[Any, ...]]) -> None:
    assert [(row[0], row[2], row[3]) for row in rows] == [("qwen2.5:7b", 12, 0.75)]


def by_type(rows: list[tuple[Any, ...]]) -> None:
    assert sorted((row[0], row[1], row[3]) for row in rows) == [
        ("NO_OUTPUT", 6, 100.0),
        ("TIMEOUT", 6, 50.0),
    ]


class Query(NamedTuple):
    name: str
    known_by: str
    own_words: str
    check: Callable[[list[tuple[Any, ...]]], None]


QUERIES = [
    Query(
        "success by fixer",
        "GROUP BY fixer_type",
        """SELECT fixer_type, count(*), sum(fix_success AND verification_success),
           round(100.0 * sum(fix_success AND verification_success) / count(*), 2) FROM fix_history GROUP BY 1""",
        by_fixer,
    ),
    Query(
        "trends of thirty days",
        "daily_success_rate",
        """SELECT model_name, date(timestamp), count(*), avg(fix_success = 1) FROM fix_history
           WHERE timestamp > datetime('now', '-30 days') GROUP BY 1, 2""",
        trends,
    ),
    Query(
        "issue types",
        "avg_fix_time",
        """SELECT issue_type, count(*) AS times, avg(execution_time_seconds), round(100.0 * sum(fix_success) / count(*), 2)
           FROM fix_history GROUP BY 1 ORDER BY times DESC""",
        by_type,
    ),
]
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
"""The tables are in the file already, so that their CREATEs cannot run: their columns and types are
compared instead.
"""

INDEXES = {
    "idx_fix_history_timestamp": ["timestamp"],
    "idx_fix_history_model": ["model_name"],
    "idx_fix_history_issue_type": ["issue_type"],
    "idx_fix_history_signature": ["issue_signature"],
    "idx_fix_history_fixer_type": ["fixer_type"],
    "idx_fix_history_success": ["fix_success", "verification_success"],
}
"""Likewise; ours begin with these columns."""

CANNOT_RUN = {
    "UPDATE STATISTICS": "no statement of SQLite; ANALYZE, which is there as well, does it"
}


# --- the document ---


def blocks(language: str) -> list[str]:
    """Of the document; none where it is not at hand."""
    if not DOCUMENTS:
        return []
    (path,) = (ROOT / DOCUMENTS).glob("004*")
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(), re.DOTALL)


def block(language: str, known_by: str) -> str | None:
    found = [text for text in blocks(language) if known_by in text]
    assert len(found) == bool(DOCUMENTS), f"{len(found)} blocks with {known_by!r}"
    return found[0] if found else None


def with_our_places(text: str) -> str:
    for theirs, ours in ELSEWHERE.items():
        text = text.replace(theirs, ours)
    return text


def run(text: str, world: World) -> None:
    exec(compile(textwrap.dedent(with_our_places(text)), "the document", "exec"), world)  # noqa: S102


def test_every_block_of_the_document_is_here() -> None:
    python = [case.known_by for case in PYTHON] + list(ONLY_COMMENTS)
    sql = [query.known_by for query in QUERIES] + [f"CREATE TABLE {name} (" for name in DOCUMENTED]
    sql += ["CREATE INDEX", "UPDATE STATISTICS"]
    for language, marks in (("python", python), ("sql", sql)):
        for text in blocks(language):
            assert sum(mark in text for mark in marks) == 1, text
        assert len(blocks(language)) in (0, len(marks))


@pytest.mark.parametrize("source", ["own words", "document"])
@pytest.mark.parametrize("case", PYTHON, ids=lambda case: case.name)
def test_python(case: Case, source: str, world: World) -> None:
    text = case.own_words if source == "own words" else block("python", case.known_by)
    if text is None:
        assert DOCUMENTS is None  # the same call in our own words runs beside this
        return
    world.update(successful_fixes=6, total_attempts=8)
    run(text, world)
    case.check(world)


def test_blocks_of_comments_are_no_python() -> None:
    for mark, reason in ONLY_COMMENTS.items():
        text = block("python", mark)
        if text is not None:
            with pytest.raises(SyntaxError):
                compile(text, "the document", "exec")
        assert hasattr(AIMemory, mark.removeprefix("def ").removesuffix("()")), reason


@pytest.mark.parametrize("source", ["own words", "document"])
@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_sql(query: Query, source: str, world: World) -> None:
    text = query.own_words if source == "own words" else block("sql", query.known_by)
    if text is None:
        assert DOCUMENTS is None
        return
    for target in ("AIMemory/ai_memory.db", "file:AIMemory/ai_memory.db?mode=ro"):
        with closing(sqlite3.connect(target, uri=target.startswith("file:"))) as connection:
            query.check(connection.execute(text).fetchall())
    assert world["memory"].memory.doctor().ok


def test_the_tables_are_those_of_the_document(world: World) -> None:
    with closing(sqlite3.connect("AIMemory/ai_memory.db")) as connection:
        for table, wanted in DOCUMENTED.items():
            columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
            assert [(column[1], column[2]) for column in columns] == wanted
            text = block("sql", f"CREATE TABLE {table} (")
            if text is not None:
                with closing(sqlite3.connect(":memory:")) as theirs:
                    theirs.execute(text)
                    assert theirs.execute(f"PRAGMA table_info({table})").fetchall() == columns
            assert rows_of(table)


def test_the_indexes_are_those_of_the_document(world: World) -> None:
    with closing(sqlite3.connect("AIMemory/ai_memory.db")) as connection:
        for index, wanted in INDEXES.items():
            columns = [row[2] for row in connection.execute(f"PRAGMA index_info({index})")]
            assert columns[: len(wanted)] == wanted
    text = block("sql", "CREATE INDEX")
    if text is not None:
        found = re.findall(r"CREATE INDEX (\w+) ON fix_history\((.*?)\)", text)
        assert {name: columns.split(", ") for name, columns in found} == INDEXES


def test_maintenance(world: World) -> None:
    world["memory"].close()
    text = block("sql", "UPDATE STATISTICS") or "VACUUM; ANALYZE; UPDATE STATISTICS;"
    statements = [
        line for line in (re.sub(r"--.*", "", text)).replace("\n", " ").split(";") if line.strip()
    ]
    with closing(sqlite3.connect("AIMemory/ai_memory.db", isolation_level=None)) as connection:
        for statement in map(str.strip, statements):
            if statement in CANNOT_RUN:
                with pytest.raises(sqlite3.OperationalError):
                    connection.execute(statement)
            else:
                connection.execute(statement)
    with Memory("AIMemory") as memory:
        assert memory.doctor().ok
        assert memory.fixes.totals().attempts == 12
    assert len(statements) == 3
