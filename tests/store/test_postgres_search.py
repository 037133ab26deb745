"""What a search reads where projects of unequal size share a database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import plausible
from engines import own_database, read_schema
from hardwon import Memory
from hardwon.store.postgres.connection import PostgresSession, in_postgres
from hardwon.store.types import Values

SIZES = {"large": 3_000, "middling": 800, "small": 200}
# a statement is planned anew for the first ten: five before it is prepared, and five after
CALLS = 15
LOOKED_UP_MAX = 150
"""Entries of the primary key that one recall reads; about 70 as it is."""


@pytest.fixture(scope="module")
def unequal() -> Iterator[str]:
    """The URL of a database with a project of each size."""
    with own_database(*SIZES) as url:
        for project, count in SIZES.items():
            with Memory(url, project) as memory:
                memory.add_many(list(plausible.records(count, project=project)))
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
        yield url


def entries_read(url: str) -> int:
    """From the primary key of the texts, by all who have left."""
    read = "SELECT sum(idx_tup_read) FROM pg_stat_all_indexes"
    sql = f"{read} WHERE indexrelname = 'record_text_pkey'"
    with psycopg.connect(url) as connection:
        return int((connection.execute(sql.encode()).fetchone() or (0,))[0])


@pytest.mark.parametrize("project", SIZES)
def test_a_search_does_not_read_the_whole_project_for_each_word(unequal: str, project: str) -> None:
    before = entries_read(unequal)
    with Memory(unequal, project) as memory:
        for question in plausible.questions(CALLS):
            assert memory.recall(question)
    assert entries_read(unequal) - before <= CALLS * LOOKED_UP_MAX


@pytest.fixture(params=[10, 100, 1_000])
def unseen(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a memory of so many records that came at once, and that nobody looked at since."""
    with own_database("default") as url:
        with Memory(url, "default") as memory:
            memory.add_many(list(plausible.records(request.param)))
        yield url


def searches(url: str, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[Any]]]:
    """The statements that search for some questions, as the server gets them, and their values."""
    select, sent = PostgresSession.select, list[tuple[str, list[Any]]]()

    def keeping(session: PostgresSession, sql: str, values: Values = (), **how: Any) -> Any:
        if "words(" in sql:
            text, used = in_postgres(sql)
            sent.append((text, [values[place] for place in used]))
        return select(session, sql, values, **how)

    with monkeypatch.context() as patched, Memory(url, "default") as memory:
        patched.setattr(PostgresSession, "select", keeping)
        for question in plausible.questions(5):
            memory.recall(question)
    assert sent
    return sent


def test_a_small_search_goes_by_the_index(unseen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In both kinds of plan: for these values, and (from a sixth call on) for any."""
    schema = f"-c search_path={read_schema(unseen, 'default')}"
    for looked_at in (False, True):
        how: Any = {"options": schema, "cursor_factory": psycopg.RawCursor}
        with psycopg.connect(unseen, autocommit=True, **how) as connection:
            if looked_at:
                connection.execute("VACUUM ANALYZE")
            for sql, values in searches(unseen, monkeypatch):
                plans = [
                    connection.execute(f"EXPLAIN {sql}".encode(), values).fetchall(),
                    connection.execute(f"EXPLAIN (GENERIC_PLAN) {sql}".encode()).fetchall(),
                ]
                for plan in plans:
                    text = "\n".join(line for (line,) in plan)
                    assert "Index Scan on record_text_by_term" in text
                    assert "Filter: (words(" not in text


def test_a_text_is_vouched_for_as_long_as_its_record_is(unequal: str) -> None:
    untrue = (
        "SELECT count(*) FILTER (WHERE t.vouched <> (r.status IN ('verified', 'published'))), "
        "count(*) FILTER (WHERE t.vouched) FROM record_text t JOIN record r ON r.seq = t.seq"
    )

    def counted() -> tuple[int, int]:
        with memory._project.store.read("small") as session:
            wrong, vouched = session.first(untrue) or (-1, -1)
            return int(wrong), int(vouched)

    with Memory(unequal, "small") as memory:
        wrong, before = counted()
        assert wrong == 0
        assert before > 0
        found = next(iter(memory.browse(status="hypothesis")))
        memory.verify(found.id, by="human_approval")
        assert counted() == (0, before + 1)
        memory.archive(found.id, "no longer so")
        assert counted() == (0, before)
