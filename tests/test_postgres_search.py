"""What a search reads, where projects of unequal size share a database: of the planner's doings,
not of times.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

import plausible
import postgres_server
from hardwon import Memory
from hardwon.store.postgres import projects as setup
from hardwon.store.postgres.connection import Link, PostgresSession

SIZES = {"large": 3_000, "middling": 800, "small": 200}
# a statement is planned anew for the first ten: five before it is prepared, and five after
CALLS = 15
LOOKED_UP_MAX = 150
"""Entries of the primary key that one recall reads: of texts that were found, each by its number.
About 70 as it is.
"""


@pytest.fixture(scope="module")
def unequal() -> Iterator[str]:
    """The URL of a database with a project of each size."""
    url = postgres_server.fresh_database()
    link = Link(url)
    setup.initialise(link, list(SIZES))
    link.close()
    for project, count in SIZES.items():
        with Memory(url, project, consolidate_every=0) as memory:
            memory.add_many(list(plausible.records(count, project=project)))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
    yield url
    postgres_server.drop(url)


def entries_read(url: str) -> int:
    """From the primary key of the texts, by all who have left."""
    link = Link(url)
    try:
        with link.reading() as session:
            sql = "SELECT sum(idx_tup_read) FROM pg_stat_all_indexes WHERE indexrelname = 'record_text_pkey'"
            return int((session.first(sql) or (0,))[0])
    finally:
        link.close()


@pytest.mark.parametrize("project", SIZES)
def test_a_search_does_not_read_the_whole_project_for_each_word_of_a_question(
    unequal: str, project: str
) -> None:
    before = entries_read(unequal)
    with Memory(unequal, project) as memory:
        for question in plausible.questions(CALLS):
            assert memory.recall(question)
    assert entries_read(unequal) - before <= CALLS * LOOKED_UP_MAX


def test_a_context_an_advice_and_patterns_are_one_transaction_each(
    unequal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, begun = PostgresSession.begin, list[str]()

    def counting(session: PostgresSession, opening: str, *, is_writing: bool) -> None:
        begun.append(opening)
        begin(session, opening, is_writing=is_writing)

    (question,) = plausible.questions(1)
    with Memory(unequal, "small") as memory:
        memory.recall(question)
        monkeypatch.setattr(PostgresSession, "begin", counting)
        for ask in (
            lambda: memory.context(question, task_id="triage"),
            lambda: memory.advise("pytest -x"),
            memory.patterns,
        ):
            begun.clear()
            assert ask()
            assert len(begun) == 1
        store = memory._project.store
        with ThreadPoolExecutor(1) as threads, store.together("small"):
            begun.clear()
            store.change_mark("small")
            assert begun == []
            threads.submit(store.change_mark, "small").result()  # another thread has its own
            assert len(begun) == 1


def test_the_rows_that_a_search_reads_are_short(unequal: str) -> None:
    with Memory(unequal, "large") as memory, memory._project.store.read("large") as session:
        rows, size = session.first(
            "SELECT count(*), pg_relation_size('record_text') FROM record_text"
        ) or (0, 0)
    assert rows == SIZES["large"]
    assert size / rows < 150


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
