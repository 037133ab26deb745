"""Both engines, for tests that hold for each: empty memories of either."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw
import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import postgres_server
from cases import examples
from hardwon import Memory
from hardwon.outside.locations import is_url
from hardwon.store.postgres import projects as setup
from hardwon.store.postgres.connection import Link
from hardwon.store.postgres.schema import PROJECT_TABLES
from hardwon.store.types import Finding

Places = Callable[[str], str]
"""The fixture `place`: where memories can be, by names."""

ENGINES = ("sqlite", "postgres")
PROJECTS = ("default", "p", "q", "one", "two", "other", "here", "shared")
FEWER_IN_POSTGRES = 3
"""One in so many generated examples: there it costs round trips to a server."""

_TIDIED_EVERY = 10
_EMPTYING_S = 120
_WRITTEN = (
    "SELECT nspname, relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE relkind = 'r' AND pg_relation_size(c.oid) > 0"
)
_numbers = itertools.count()
_emptied = itertools.count(1)
_unused: list[str] = []


@contextmanager
def a_database() -> Iterator[str]:
    """The URL of a database that is set up, and empty; emptying is quicker than making one."""
    url = _unused.pop() if _unused else _new_database(*PROJECTS)
    try:
        yield url
    finally:
        _empty(url)


def _new_database(*projects: str) -> str:
    url = postgres_server.fresh_database()
    with closing(Link(url)) as link:
        setup.initialise(link, projects)
    return url


@contextmanager
def own_database(*projects: str) -> Iterator[str]:
    """The URL of a database that is set up for these projects, and goes at the end."""
    url = _new_database(*projects)
    yield url
    postgres_server.drop(url)


@contextmanager
def own_login(url: str, project: str, access: str) -> Iterator[str]:
    """The same place, as a login of one's own that reaches a project so far."""
    login = f"login_{access}_{secrets.token_hex(4)}"
    postgres_server.server().run(f"CREATE ROLE {login} LOGIN")
    with closing(Link(url)) as link:
        setup.grant(link, login, project, access)
        yield url.replace("postgres@", f"{login}@")
        setup.revoke(link, login, project)
    postgres_server.server().run(f"DROP ROLE {login}")


def _empty(url: str) -> None:
    """For the next one; where a test left it so that it cannot be emptied, it goes."""
    try:
        timeout = f"-c statement_timeout={_EMPTYING_S}s"
        with psycopg.connect(url, autocommit=True, options=timeout) as connection:
            # Most were never written to: their files are empty, which is seen without opening them.
            written = set(connection.execute(_WRITTEN).fetchall())
            there = itertools.product(schemas_of(connection).values(), PROJECT_TABLES)
            tables = [f'"{each[0]}".{each[1]}' for each in there if each in written]
            deletes = "; ".join(f"DELETE FROM {table}" for table in (*tables, "hardwon.token"))
            connection.execute(deletes.encode())
            # Rows that are gone stay in the indexes until then, and whoever writes the same keys
            # again goes past all of them.
            if tables and next(_emptied) % _TIDIED_EVERY == 0:
                connection.execute(f"VACUUM (INDEX_CLEANUP ON) {', '.join(tables)}".encode())
    except psycopg.Error:
        postgres_server.drop(url)
    else:
        _unused.append(url)


def schemas_of(connection: psycopg.Connection[Any]) -> dict[str, str]:
    """The schema of each project."""
    return dict(connection.execute("SELECT name, schema FROM hardwon.project").fetchall())


def read_schema(url: str, project: str) -> str:
    with psycopg.connect(url) as connection:
        return schemas_of(connection)[project]


@contextmanager
def a_location(engine: str, folder: Path) -> Iterator[str]:
    """Where a memory of this engine can be, with nothing in it yet."""
    if engine == "sqlite":
        yield str(folder / f"memory{next(_numbers)}.db")
    else:
        with a_database() as url:
            yield url


@contextmanager
def databases() -> Iterator[Callable[[str], str]]:
    """As many as are asked for, by names: the same name is the same one."""
    with ExitStack() as until_then:
        known: dict[str, str] = {}

        def named(name: str) -> str:
            if name not in known:
                known[name] = until_then.enter_context(a_database())
            return known[name]

        yield named


@contextmanager
def memories(engine: str, number: int, **options: Any) -> Iterator[list[Memory]]:
    """Several empty ones, all opened with the same options."""
    with ExitStack() as until_then:
        folder = Path(until_then.enter_context(TemporaryDirectory()))
        places = [until_then.enter_context(a_location(engine, folder)) for _ in range(number)]
        yield [until_then.enter_context(Memory(location, **options)) for location in places]


def wrong_with(memory: Memory) -> list[Finding]:
    """What the doctor finds, but that the tests' server does not wait for its disk."""
    findings = memory.doctor().findings
    return [one for one in findings if not one.ok and one.check != "durability"]


def go_past(memory: Memory, sql: str) -> None:
    """Runs a statement as somebody who does not ask the memory."""
    if is_url(memory.location):
        path = f"-c search_path={read_schema(memory.location, memory.project)},hardwon"
        with psycopg.connect(memory.location, autocommit=True, options=path) as database:
            database.execute(sql.encode())
    else:
        with closing(apsw.Connection(memory.location)) as file:
            file.execute(sql).fetchall()


def everything_in(memory: Memory) -> bytes:
    """All that its files hold, or the tables of its database."""
    if not is_url(memory.location):
        file = Path(memory.location)
        return b"".join(part.read_bytes() for part in sorted(file.parent.glob(f"{file.name}*")))
    with psycopg.connect(memory.location) as database:
        tables = itertools.product(schemas_of(database).values(), PROJECT_TABLES)
        asked = [f'SELECT t::text FROM "{schema}".{table} t' for schema, table in tables]
        rows = [row for sql in asked for row in database.execute(sql.encode())]
    return "\n".join(text for (text,) in rows).encode()


def holds_in_every_engine(
    number: int, *drawn: st.SearchStrategy[Any]
) -> Callable[[Callable[..., None]], Callable[[str], None]]:
    """A test of what is drawn, whose first argument is the engine."""

    def of(test: Callable[..., None]) -> Callable[[str], None]:
        def tried(engine: str) -> None:
            def example(values: tuple[Any, ...]) -> None:
                test(engine, *values)

            # by which Hypothesis remembers what failed
            example.__name__ = example.__qualname__ = test.__name__
            most = examples(number if engine == "sqlite" else number // FEWER_IN_POSTGRES)
            settings(max_examples=most)(given(st.tuples(*drawn))(example))()

        for name in ("__name__", "__doc__", "__module__"):
            setattr(tried, name, getattr(test, name))
        return pytest.mark.hypothesis(pytest.mark.engines(*ENGINES)(tried))

    return of
