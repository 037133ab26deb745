"""Both engines, for tests that hold for each: an empty memory of either, as often as one is asked for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

import postgres_server
from hardwon.store.postgres import setup
from hardwon.store.postgres.link import Link
from hardwon.store.postgres.schema import PROJECT_TABLES

ENGINES = ("sqlite", "postgres")
PROJECTS = ("default", "p", "q", "one", "two", "other", "here", "shared")
_EMPTY = "; ".join(f"DELETE FROM hardwon.{table}" for table in (*PROJECT_TABLES, "token"))
_numbers = itertools.count()
_unused: list[str] = []


@contextmanager
def a_database() -> Iterator[str]:
    """The URL of a database that is set up, with nothing in it. Emptying one takes a tenth of what making one takes."""
    url = _unused.pop() if _unused else _new_database()
    yield url
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_EMPTY)
    _unused.append(url)


def _new_database() -> str:
    url = postgres_server.fresh_database()
    link = Link(url)
    setup.initialise(link, PROJECTS)
    link.close()
    return url


@contextmanager
def a_location(engine: str, folder: Path) -> Iterator[str]:
    """Where a memory of this engine can be, with nothing in it yet."""
    if engine == "sqlite":
        yield str(folder / f"memory{next(_numbers)}.db")
    else:
        with a_database() as url:
            yield url
