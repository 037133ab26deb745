"""The views of fix history in PostgreSQL say what the tables of that name say in SQLite, whatever
happened to the fixes.
"""

from __future__ import annotations

import json
import random
import tempfile
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest
from hypothesis import given, settings

import legacy_fixes as legacy
from cases import examples
from clocks import Clock
from engines import a_database, schema_of, schemas_of, wrong_with
from hardwon import Fix, Memory
from hardwon.fixes.adopt import adopt_fix_history
from hardwon.store.postgres import projects as setup
from hardwon.store.postgres.connection import quoted
from hardwon.store.postgres.schema import READER
from strategies import at
from test_fix_tables import COLUMNS, _do, steps

TEXTS_IN_JSON = {"fix_commands", "system_info", "best_fix", "common_issues", "effective_fixes"}
FLAGS = {"fix_success", "verification_success"}


def comparable(name: str, value: Any) -> Any:
    if name in TEXTS_IN_JSON and value is not None:
        return json.dumps(json.loads(value), sort_keys=True)
    return bool(value) if name in FLAGS else value


def rows_of(url: str, project: str = "default") -> dict[str, list[tuple[Any, ...]]]:
    path = f"-c search_path={schema_of(url, project)}"
    with psycopg.connect(url, options=path) as connection:
        return {
            view: _asked(lambda sql: connection.execute(sql.encode()).fetchall(), view)
            for view in COLUMNS
        }


def rows_in(location: str) -> dict[str, list[tuple[Any, ...]]]:
    connection = apsw.Connection(location)
    try:
        return {
            table: _asked(lambda sql: connection.execute(sql).fetchall(), table)
            for table in COLUMNS
        }
    finally:
        connection.close()


def _asked(ask: Any, table: str) -> list[tuple[Any, ...]]:
    names = [name for name in COLUMNS[table] if name != "id"]
    found = ask(f"SELECT {', '.join(names)} FROM {table}")
    return sorted((tuple(map(comparable, names, row)) for row in found), key=repr)


def assert_same(
    one: dict[str, list[tuple[Any, ...]]], other: dict[str, list[tuple[Any, ...]]]
) -> None:
    for table, rows in one.items():
        assert len(rows) == len(other[table]), table
        for mine, its in zip(rows, other[table], strict=True):
            for name, this, that in zip(
                [name for name in COLUMNS[table] if name != "id"], mine, its, strict=True
            ):
                assert this == (
                    pytest.approx(that, abs=1e-9) if isinstance(that, float) else that
                ), (table, name)


@settings(max_examples=examples(15), deadline=None)
@given(steps)
def test_whatever_happens_both_say_the_same(done: list[tuple[str, int, Fix]]) -> None:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        url = opened.enter_context(a_database())
        places: list[tuple[str | Path, str]] = [
            (Path(folder) / "one.db", "other.db"),
            (url, "another.db"),
        ]
        memories = []
        for place, beside in places:
            clock = Clock()  # which of two decisions is the newer must not be left to chance
            clock.now = at(0) + timedelta(days=3)
            one = opened.enter_context(Memory(place, "default", clock=clock))
            memories.append(
                (one, opened.enter_context(Memory(Path(folder) / beside, "default", clock=clock)))
            )
        for what, number, fix in done:
            for memory, other in memories:
                _do(memory, other, what, number, fix)
            assert_same(rows_of(url), rows_in(memories[0][0].location))
        assert wrong_with(memories[1][0]) == []


def many_fixes(memory: Memory) -> None:
    """More strategies, types and models than are listed, and texts of every sort."""
    rng = random.Random(7)
    for number in range(150):
        issue = {
            "model": rng.choice(["llama:7b", "llama:13b", 'qwen\'s "2.5"', "π"]),
            "issue_type": f"type {rng.randrange(14)}",
            "description": f"said ?1 $1 %s 'quoted' \\ {number % 9}",
        }
        applied = rng.random() < 0.7
        memory.record_fix(
            issue,
            applied,
            applied and rng.random() < 0.7,
            rng.choice(["", f"because of {rng.randrange(9)} — “x”"]),
            [f"step {n} --flag='{rng.randrange(13)}'" for n in range(rng.randrange(3))],
            execution_time_seconds=rng.choice([None, 0.1, 1 / 3]),
            author=rng.choice(["ann", "bob", "eve"]),
            timestamp=at(60 * number),
        )


def test_many_fixes_and_all_that_is_decided_about_them(tmp_path: Path) -> None:
    clock = lambda: at(0) + timedelta(days=3)  # noqa: E731
    with (
        a_database() as url,
        Memory(tmp_path / "one.db", "default", clock=clock) as here,
        Memory(url, "default", clock=clock) as there,
    ):

        def same() -> None:
            assert_same(rows_of(url), rows_in(here.location))

        for memory in (here, there):
            many_fixes(memory)
        same()
        assert len(rows_of(url)["model_characteristics"]) == 4
        undone = [memory.rollback("bob") for memory in (here, there)]
        same()
        for memory in (here, there):
            ids = [fix.id for fix in memory.browse(kind="fix", author="ann")]
            for record_id in ids[:9]:
                memory.archive(record_id, "old")
            memory.forget(ids[9:20])
        same()
        for memory in (here, there):
            memory.fixes.compress(2.93, dry_run=False)
        same()
        for memory in (here, there):
            memory.cleanup(2.95, dry_run=False, successes_days=2.96)
        same()
        for memory, decision in zip((here, there), undone, strict=True):
            memory.undo(decision.id)
        same()
        before = rows_of(url)
        for memory in (here, there):
            memory.rebuild()
        same()
        assert rows_of(url) == before


def test_fixes_that_are_adopted(tmp_path: Path) -> None:
    history = legacy.many(tmp_path / "history.db", 60)
    with (
        a_database() as url,
        Memory(tmp_path / "one.db", "default") as here,
        Memory(url, "default") as there,
    ):
        for memory in (here, there):
            assert adopt_fix_history(history, memory).added == 60
        assert len(rows_of(url)["fix_history"]) == 60
        assert_same(rows_of(url), rows_in(here.location))


def test_another_project_is_shown_to_those_who_reach_it() -> None:
    with a_database() as url:
        issue = {"model": "m:7b", "issue_type": "oom", "description": "out of memory"}
        for project, times in (("p", 3), ("default", 2)):
            with Memory(url, project) as memory:
                for number in range(times):
                    memory.record_fix(issue, True, number > 0, "less", ["use less"])
        with psycopg.connect(url) as connection:
            for project, times in (("p", 3), ("default", 2), ("q", 0)):
                schema = schemas_of(connection)[project]
                role = quoted(setup.role_name(schema, READER))
                connection.execute(f"SET LOCAL ROLE {role}".encode())
                connection.execute(f"SET LOCAL search_path = {schema}".encode())
                asked = {
                    "SELECT count(*) FROM fix_history": [(times,)],
                    "SELECT total_tests, success_rate FROM model_characteristics": [
                        (times, (times - 1) / times)
                    ]
                    if times
                    else [],
                    "SELECT success_count, failure_count FROM issue_patterns": [(times - 1, 1)]
                    if times
                    else [],
                }
                for sql, rows in asked.items():
                    assert connection.execute(sql.encode()).fetchall() == rows
                connection.rollback()
