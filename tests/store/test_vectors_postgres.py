"""Vectors in PostgreSQL, with pgvector and without, as in a file."""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator
from contextlib import ExitStack
from heapq import nlargest
from math import hypot
from operator import mul
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import postgres_server
from cases import TORTURE, examples
from engines import memories
from hardwon import Fact, Memory, Metadata, Source
from hardwon.records.kinds import Moment
from hardwon.search.terms import Filters
from hardwon.store.base import Store
from hardwon.store.postgres import projects as setup
from hardwon.store.postgres.connection import Link, PostgresSession
from strategies import at

DIMENSION = 8
MANY = 12_000 if TORTURE else 4_000
ONE_IN = 200


def a_vector(rng: random.Random) -> list[float]:
    numbers = [rng.gauss(0, 1) for _ in range(DIMENSION)]
    length = hypot(*numbers)
    return [number / length for number in numbers]


def keep(memory: Memory, vectors: dict[str, list[float]]) -> None:
    with memory._project.store.write("default") as writer:
        writer.set_embedder("default", "made up", DIMENSION)
        made = [(name, array("f", vector).tobytes()) for name, vector in vectors.items()]
        writer.keep_vectors("default", made)


def facts(number: int) -> list[Fact]:
    """One in so many is by ann."""
    made = []
    for place in range(number):
        source = Source(author="bob" if place % ONE_IN else "ann")
        moment = Moment(timestamp=at(place))
        metadata = Metadata(project_id="default", source=source, context=moment)
        made.append(Fact(content=f"Fact {place}.", fact_type="observation", metadata=metadata))
    return made


def nearest(store: Store, vector: list[float], limit: int, **filters: str) -> dict[str, float]:
    found = store.nearest("default", vector, Filters(**filters), limit)
    return {one.id: cosine for one, cosine in found}


Many = tuple[Memory, dict[str, list[float]]]


@pytest.fixture(scope="module")
def many() -> Iterator[Many]:
    """Some thousand of them, in a database that has its statistics."""
    rng = random.Random(5)
    with memories("postgres", 1) as (memory,):
        made = facts(MANY)
        memory.add_many(made)
        vectors = {fact.id: a_vector(rng) for fact in made}
        keep(memory, vectors)
        memory.compact()
        yield memory, vectors


def test_the_index_finds_the_nearest(many: Many, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, vectors = many
    rng = random.Random(6)
    plans: list[str] = []
    select = PostgresSession.select

    def explained(session: PostgresSession, sql: str, values: Any = ()) -> list[tuple[Any, ...]]:
        if "<=>" in sql:
            plans.extend(str(line) for (line,) in select(session, f"EXPLAIN {sql}", values))
        return select(session, sql, values)

    monkeypatch.setattr(PostgresSession, "select", explained)
    right = 0
    for _ in range(20):
        asked = a_vector(rng)
        found = nearest(memory._project.store, asked, 10)
        cosines = {name: sum(map(mul, vector, asked)) for name, vector in vectors.items()}
        right += len(found.keys() & set(nlargest(10, cosines, cosines.__getitem__)))
    assert any("record_vector_near_8" in line for line in plans), "\n".join(plans)
    assert right >= 190, "of 200: the index is not exact, but nearly"


def test_a_filter_that_few_pass_gives_as_many(many: Many) -> None:
    memory, _ = many
    rng = random.Random(7)
    for _ in range(10):
        found = nearest(memory._project.store, a_vector(rng), 5, author="ann")
        passing = {record.id for record in memory.browse(author="ann", limit=100)}
        assert len(passing) == MANY // ONE_IN
        assert len(found) == 5
        assert found.keys() <= passing


@settings(max_examples=examples(12))
@given(st.integers(0, 2**32), st.integers(1, 40), st.integers(1, 12))
def test_with_and_without_pgvector_it_is_as_in_a_file(seed: int, number: int, limit: int) -> None:
    rng = random.Random(seed)
    made = facts(number)
    vectors = {fact.id: a_vector(rng) for fact in made}
    asked = [a_vector(rng) for _ in range(3)]
    with ExitStack() as until_then:
        (file,) = until_then.enter_context(memories("sqlite", 1))
        (indexed,) = until_then.enter_context(memories("postgres", 1))
        plain = until_then.enter_context(Memory(without_extension()))
        for memory in (file, indexed, plain):
            memory.add_many(made)
            keep(memory, vectors)
        assert "no pgvector" in str(plain.doctor())
        assert "no pgvector" not in str(indexed.doctor())
        for vector in asked:
            for filters in ({}, {"author": "ann"}):
                exact = nearest(file._project.store, vector, limit, **filters)
                for memory in (indexed, plain):
                    found = nearest(memory._project.store, vector, limit, **filters)
                    assert list(found) == list(exact)
                    assert found == pytest.approx(exact, abs=1e-6)
        plain.forget([fact.id for fact in made])
        assert plain.stats().records == 0


_plain: list[str] = []


def without_extension() -> str:
    """A database as it is where the server has no pgvector: without the column of that type."""
    if not _plain:
        url = postgres_server.fresh_database()
        link = Link(url)
        setup.initialise(link, ["default"])
        link.close()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("DROP EXTENSION vector CASCADE")
        _plain.append(url)
    return _plain[0]
