"""A memory in a file and one in a database answer the same, whatever they are asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import apsw
import psycopg
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import postgres_server
from cases import examples
from engines import memories
from hardwon import Memory
from hardwon.lessons.counts import KIND_OF_SCOPE
from hardwon.limits import DAY_US
from hardwon.records.kinds import STATUSES, AnyRecord
from hardwon.search.terms import Filters
from hardwon.store.base import Store
from hardwon.store.postgres.search import POSTGRES
from hardwon.store.sqlite.connection import SQLITE
from hardwon.text.terms import query_terms
from logs import records as recurring
from strategies import at, kept_records

SIGNS = st.sampled_from([*"ab-]c/.\\*?[!^é", "😀", "\n"])
globs = st.text(SIGNS, max_size=8)
paths = st.text(st.sampled_from([*"ab-]c/.\\*?[!^é", "😀", "\n"]), max_size=6)


@pytest.fixture(scope="module")
def ask_postgres() -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(postgres_server.server().url, autocommit=True) as connection:
        yield connection


@settings(max_examples=examples(500))
@given(globs, st.lists(paths, min_size=1, max_size=20))
@example("[]-a]", ["]", "^", "-", "a", "_"])
@example("[b-a]", ["a", "b", "-"])
def test_globs_agree(ask_postgres: psycopg.Connection[Any], glob: str, tried: list[str]) -> None:
    tried = [*tried, glob, glob.replace("*", ""), glob.strip("[]^!")]
    with closing(apsw.Connection(":memory:")) as connection:
        matches = f"value {SQLITE.glob_operator} ?2"
        sql = f"SELECT value FROM json_each(?1) WHERE {matches} ORDER BY key"
        found = connection.execute(sql, (json.dumps(tried), SQLITE.glob(glob)))
        in_file = [path for (path,) in found]
    matches = f"path {POSTGRES.glob_operator} %s"
    sql = f"SELECT path FROM unnest(%s::text[]) WITH ORDINALITY AS u (path, place) WHERE {matches} ORDER BY place"
    asked = ask_postgres.execute(sql.encode(), (tried, POSTGRES.glob(glob)))
    assert [path for (path,) in asked] == in_file


@contextmanager
def one_of_each() -> Iterator[tuple[Memory, Memory]]:
    late: Any = {"clock": lambda: at(10**7)}
    with memories("sqlite", 1, **late) as (one,), memories("postgres", 1, **late) as (other,):
        yield one, other


def both(one: Store, other: Store, ask: str, *asked: Any, **how: Any) -> Any:
    """What both answer, after it turned out to be the same."""
    answer = getattr(one, ask)("default", *asked, **how)
    again = getattr(other, ask)("default", *asked, **how)
    assert again == answer, (ask, asked, how)
    return answer


each = st.one_of(kept_records, recurring)
kept = st.lists(each, min_size=1, max_size=10, unique_by=lambda record: record.id)
ways = st.sampled_from(["archive", "verify", "forget", "distrust"])
changes = st.lists(st.tuples(st.integers(0, 9), ways), max_size=4)


def change(memory: Memory, record: AnyRecord, how: str) -> None:
    if how == "distrust":
        memory.rollback(record.metadata.source.author)
    elif how == "forget":
        memory.forget(record.id)
    elif (found := memory.get(record.id)) is None:
        return
    elif how == "archive" and found.metadata.validation.status != "archived":
        memory.archive(record.id, "stale")
    elif how == "verify" and found.metadata.validation.status == "hypothesis":
        memory.verify(record.id, "test_runner")


def glob_of(path: str, place: int) -> str:
    return path[:place] + "*" + path[place + 1 :]


@st.composite
def filters_for(draw: st.DrawFn, log: list[AnyRecord]) -> Filters:
    """Some that a record of the log passes, or nearly."""
    record = draw(st.sampled_from(log))
    own = {name: getattr(record, name, None) for name in ("kind", "outcome", "tool", "task_id")}
    issue = getattr(record, "issue", None)
    own |= {"model": issue and issue.model, "issue_type": issue and issue.issue_type}
    own |= {"author": record.metadata.source.author, "status": draw(st.sampled_from(STATUSES))}
    own["since"] = record.metadata.context.timestamp
    own["until"] = draw(st.sampled_from(log)).metadata.context.timestamp
    own |= {"tag": next(iter(record.metadata.tags), None), "any_standing": draw(st.booleans())}
    files = record.metadata.context.related_files
    own |= {"path": glob_of(files[0].path, draw(st.integers(0, 20))) if files else None}
    wanted = draw(st.sets(st.sampled_from(sorted(own)), max_size=3))
    return Filters.model_validate(
        {name: value for name, value in own.items() if name in wanted and value is not None}
    )


@settings(max_examples=examples(12))
@given(kept, changes, st.data())
def test_whatever_is_asked(log: list[AnyRecord], changed: list[Any], data: st.DataObject) -> None:
    with one_of_each() as (one, other):
        for memory in (one, other):
            memory.add_many([record for record in log if record.kind != "adopted"])
            memory.care.take_in([record for record in log if record.kind == "adopted"])
            for number, how in changed:
                change(memory, log[number % len(log)], how)
        stores = one._project.store, other._project.store
        asked = [Filters(), *(data.draw(filters_for(log)) for _ in range(6))]
        keys = sorted({key for row, _ in stores[0].rows("default") for key in row.keys})
        terms = query_terms(" ".join(row.terms for row, _ in stores[0].rows("default")))[:40]
        for filters in asked:
            same_records(stores, filters, keys, terms)
        same_figures(stores)


def same_records(
    stores: tuple[Store, Store], filters: Filters, keys: list[str], terms: list[str]
) -> None:
    def ids(ask: str, *given: Any, **how: Any) -> list[list[str]]:
        found = [getattr(store, ask)("default", *given, **how) for store in stores]
        return [[getattr(each, "id", None) or each[0].id for each in rows] for rows in found]

    for trusted in (False, True):
        in_file, in_database = ids("page", filters, None, 99, trusted=trusted)
        assert in_database == in_file, (filters, trusted)
        assert trusted or both(*stores, "count", filters) == len(in_file)
    in_file, in_database = ids("by_key", keys, filters, 99)
    assert in_database == in_file, (filters, keys)
    in_file, in_database = ids("search", terms, filters, 99)
    assert set(in_database) == set(in_file), (filters, terms)


def same_figures(stores: tuple[Store, Store]) -> None:
    counts = both(*stores, "counts")
    if counts.first_us is not None:
        span = counts.first_us // DAY_US, counts.last_us // DAY_US + 1
        for by in ("kind", "author", "task_id"):
            both(*stores, "activity", *span, by)
    names = ["error_type", "task_type", "größe"]
    routes = [sorted(store.routes("default", names), key=repr) for store in stores]
    assert routes[1] == routes[0]
    both(*stores, "rolled_back")
    both(*stores, "vouched_episodes", 50)
    for scope in KIND_OF_SCOPE:
        both(*stores, "distinct_keys", scope)
        both(*stores, "totals", scope, 50)
        both(*stores, "day_totals", scope, 50, 0)
        keys = both(*stores, "list_frequent", scope, 5)
        for key in keys:
            both(*stores, "daily", scope, key)
            place = scope, key
            sums = [store.sums("default", [place], 21_000).get(place, {}) for store in stores]
            mine, its = ({(i, a): s for i, b in one.items() for a, s in b.items()} for one in sums)
            assert mine.keys() == its.keys()
            assert all(its[item] == pytest.approx(mine[item], abs=1e-9) for item in mine)
