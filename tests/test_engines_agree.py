"""A memory in a file and one in a database answer the same, whatever they are asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from math import fmod
from typing import Any

import apsw
import psycopg
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic_core import to_json

import postgres_server
from engines import ENGINES, memories
from hardwon import Experience, Memory, Metadata
from hardwon.learn.lessons import DAY_US, KIND_OF_SCOPE
from hardwon.model import ROUTES, STATUSES, AnyRecord, Kind, Moment
from hardwon.recall.filters import Filters
from hardwon.recall.terms import query_terms
from hardwon.store.contract import Store
from hardwon.store.postgres.words import POSTGRES
from hardwon.store.postgres.writer import as_text
from hardwon.store.sqlite_sql import SQLITE
from logs import records as recurring
from strategies import at, json_values, kept_records

SIGNS = st.sampled_from([*"ab-]c/.\\*?[!^é", "😀", "\n"])
globs = st.text(SIGNS, max_size=8)
paths = st.text(st.sampled_from([*"ab-]c/.\\*?[!^é", "😀", "\n"]), max_size=6)


@pytest.fixture(scope="module")
def ask_postgres() -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(postgres_server.server().url, autocommit=True) as connection:
        yield connection


@settings(max_examples=500)
@given(globs, st.lists(paths, min_size=1, max_size=20))
@example("[]-a]", ["]", "^", "-", "a", "_"])
@example("[b-a]", ["a", "b", "-"])
def test_a_glob_matches_the_same_paths(ask_postgres: psycopg.Connection[Any], glob: str, tried: list[str]) -> None:
    tried = [*tried, glob, glob.replace("*", ""), glob.strip("[]^!")]
    with closing(apsw.Connection(":memory:")) as connection:
        matches = SQLITE.matches_glob("value", "?2")
        sql = f"SELECT value FROM json_each(?1) WHERE {matches} ORDER BY key"
        in_file = [path for (path,) in connection.execute(sql, (json.dumps(tried), SQLITE.glob(glob)))]
    sql = f"SELECT path FROM unnest(%s::text[]) WITH ORDINALITY AS u (path, place) WHERE {POSTGRES.matches_glob('path', '%s')} ORDER BY place"
    asked = ask_postgres.execute(sql.encode(), (tried, POSTGRES.glob(glob)))
    assert [path for (path,) in asked] == in_file


@contextmanager
def one_of_each() -> Iterator[tuple[Memory, Memory]]:
    with memories("sqlite", "", clock=lambda: at(10**7)) as (one,), memories("postgres", "", clock=lambda: at(10**7)) as (other,):
        yield one, other


def metadata_at(seconds: int) -> Metadata:
    return Metadata(project_id="default", context=Moment(timestamp=at(seconds)))


def both(one: Store, other: Store, ask: str, *asked: Any, **how: Any) -> Any:
    """What both answer, after it turned out to be the same."""
    answer, again = getattr(one, ask)("default", *asked, **how), getattr(other, ask)("default", *asked, **how)
    assert again == answer, (ask, asked, how)
    return answer


def in_sqlite(values: list[Any]) -> list[str]:
    """How SQLite words values that it takes out of JSON."""
    with closing(apsw.Connection(":memory:")) as connection:
        found = connection.execute("SELECT CAST(value AS TEXT) FROM json_each(?1)", (to_json(values),))
        return [text for (text,) in found]


def short(value: Any) -> Any:
    """Of many digits each version of SQLite makes something else."""
    return round(fmod(value, 1e9), 6) if isinstance(value, float) else value


given_values = json_values.filter(lambda value: value is not None).map(short)


@settings(max_examples=200)
@given(st.lists(given_values | st.floats(-1e9, 1e9).map(short), min_size=1))
def test_a_value_is_worded_alike(values: list[Any]) -> None:
    assert [as_text(value) for value in values] == in_sqlite(values)


@settings(max_examples=20)
@given(st.lists(given_values, min_size=1, max_size=15))
@example([True, False, 0, -0.0, 1.0, 1e15, 1e20, 1.5e300, 1e-5, 0.1, 2**62, "", "1", [1e16, "é"], {"a": [None, True]}])
def test_a_key_has_the_same_values(values: list[Any]) -> None:
    made = [
        Experience(content="x", outcome="success", tool="conversation", metadata=metadata_at(number), ticket=value)
        for number, value in enumerate(values)
    ]
    words = [*in_sqlite(values), *(form for value in values for form in (str(value), json.dumps(value)))]
    askable = {word for word in words if 0 < len(word) < 150 and word.isprintable() and word == word.strip()}
    with one_of_each() as (one, other):
        one.add_many(made)
        other.add_many(made)

        def asked(key: str) -> int:
            return len(both(one._store, other._store, "page", Filters(key=key), None, 99))

        found = [asked(f"ticket={word}") for word in askable]
        assert any(found) or askable.isdisjoint(in_sqlite(values))
        assert (asked("kind=experience"), asked("content=x"), asked("outcome=success")) == (len(made),) * 3
        assert (asked(f"id={made[0].id}"), asked("content=y"), asked("metadata=x")) == (1, 0, 0)
