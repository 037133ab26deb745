"""Databases that released versions made, with the tables of all projects together: each project
gets a schema of its own, and nothing is lost, however often that is interrupted.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import postgres_server
from cases import TORTURE
from engines import schemas_of, wrong_with
from hardwon import Experience, Fix, Memory
from hardwon.errors import (
    ForbiddenError,
    InterruptedWriteError,
    OlderFileError,
    PlaceError,
    UnreachableError,
)
from hardwon.store.postgres import projects as setup
from hardwon.store.postgres.connection import Link, PostgresSession
from hardwon.store.postgres.schema import ACCESS, BEFORE, OLD_TABLES, PROJECT_TABLES, SCHEMA_VERSION
from hardwon.store.types import Values

RELEASED = [
    Path(__file__).parents[1] / "released" / f"{version}.sql"
    for version in ("0.10.0", "0.11.0", "0.11.1")
]
PROJECTS = ("it's another", "released")
ROLE = "hardwon_released_74d6360d3c8203e1"


def restored(released: Path) -> str:
    """The URL of a database as the released version left it."""
    url = postgres_server.fresh_database()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(released.read_bytes())
        name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
        connection.execute(f'GRANT CREATE ON DATABASE "{name}" TO hardwon_owner'.encode())
    return url


@pytest.fixture
def old(request: pytest.FixtureRequest) -> Iterator[str]:
    url = restored(getattr(request, "param", RELEASED[-1]))
    yield url
    postgres_server.drop(url)


@pytest.fixture
def login() -> Iterator[str]:
    name = f"login_{secrets.token_hex(4)}"
    postgres_server.server().run(f"CREATE ROLE {name} LOGIN")
    yield name
    postgres_server.server().run(f"DROP ROLE {name}")


def rows_before(url: str) -> dict[tuple[str, str], list[Any]]:
    """Of the truth, by project and table."""
    with psycopg.connect(url) as connection:
        return {
            (project, table): connection.execute(
                f"SELECT id, body FROM hardwon.{table} WHERE project_id = %s ORDER BY 1".encode(),
                [project],
            ).fetchall()
            for project in PROJECTS
            for table in ("record", "event")
        }


def rows_after(url: str) -> dict[tuple[str, str], list[Any]]:
    with psycopg.connect(url) as connection:
        return {
            (project, table): connection.execute(
                f'SELECT id, body FROM "{schema}".{table} ORDER BY 1'.encode()
            ).fetchall()
            for project, schema in schemas_of(connection).items()
            for table in ("record", "event")
        }


def assert_carried_over(url: str, before: dict[tuple[str, str], list[Any]]) -> None:
    assert rows_after(url) == before
    with psycopg.connect(url) as connection:
        sql = "SELECT relname FROM pg_class WHERE relnamespace = 'hardwon'::regnamespace"
        there = {name for (name,) in connection.execute(sql)}
        assert there & set(OLD_TABLES) == set()
        # what was there is the backup, which only its owner reaches
        records_kept = connection.execute(f"SELECT count(*) FROM {BEFORE}.record").fetchone()
        assert records_kept == (
            sum(len(rows) for key, rows in before.items() if key[1] == "record"),
        )
        sql = f"SELECT has_schema_privilege('public', '{BEFORE}', 'USAGE')"
        assert connection.execute(sql).fetchone() == (False,)
    for project in PROJECTS:
        with Memory(url, project=project) as memory:
            assert wrong_with(memory) == []
            records = {record.kind: record for record in memory.browse()}
            assert list(records) == ["fix", "episode", "trajectory", "fact", "experience"]
            experience, fix = records["experience"], records["fix"]
            assert isinstance(experience, Experience)
            assert isinstance(fix, Fix)
            assert experience.metadata.validation.status == "verified"
            assert (fix.issue.model, fix.succeeded) == ("qwen2.5:7b", False)
            assert memory.recall("flaky test_io.py")[0].record.id == experience.id
            assert memory.stats().forgotten == 1
            assert memory.advise("pytest").p_success < 0.5
            assert memory._project.store.nearest(project, [1.0, 0.0, 0.0], memory_filters(), 5)
            kept = memory.record_fact(f"Kept in {project}.", "observation")
            memory.verify(kept.id, "human_approval")
            assert memory.rebuild() == 0
            memory.forget(kept.id)
    with Memory(url, project="released") as memory:
        assert [token.name for token in memory.tokens.all()] == ["ci"]


def memory_filters() -> Any:
    from hardwon.search.terms import Filters

    return Filters()


@pytest.mark.parametrize("old", RELEASED, indirect=True, ids=lambda path: path.stem)
def test_a_released_database_is_carried_over_when_it_is_opened(old: str, login: str) -> None:
    before = rows_before(old)
    assert all(before.values())
    postgres_server.server().run(f"GRANT {ROLE}_reader, {ROLE}_writer TO {login}")
    as_login = old.replace("postgres@", f"{login}@")
    # who does not own it is told who has to do what
    with pytest.raises(PlaceError, match="whoever set it up, .*`hardwon postgres init URL`"):
        Memory(as_login, project="released")
    assert rows_before(old) == before
    with Memory(old, project="released") as memory:
        assert memory.stats().records == 5
    assert_carried_over(old, before)
    with Memory(as_login, project="released") as memory:  # as far as before
        kept = memory.record_fact("by a writer", "observation")
        with pytest.raises(ForbiddenError, match="decide nothing"):
            memory.verify(kept.id, "human_approval")
    with Memory(as_login, project="it's another") as memory, pytest.raises(ForbiddenError):
        memory.stats()


def test_a_hook_leaves_it_to_whoever_has_the_time(old: str) -> None:
    with pytest.raises(OlderFileError, match="Run `hardwon postgres init URL` once"):
        Memory(old, "released", upgrade=False)
    with Link(old).reading() as session:
        assert setup.version_of(session) < SCHEMA_VERSION
    told: list[tuple[int, int]] = []
    Memory(old, "released", progress=lambda *figures: told.append(figures)).close()
    assert told == [(1, 2), (2, 2)]
    with Memory(old, "released", upgrade=False) as memory:
        assert memory.stats().records


def test_init_carries_over_too_and_new_schemas_are_like_carried_ones(old: str) -> None:
    before = rows_before(old)
    link = Link(old)
    setup.initialise(link, ["new", "released"])
    found = setup.describe(link)
    assert (found.version, found.projects) == (SCHEMA_VERSION, ["it's another", "new", "released"])
    link.close()
    with psycopg.connect(old) as connection:
        schemas = schemas_of(connection)
        shapes = {project: shape(connection, schemas[project]) for project in ("new", "released")}
    assert shapes["new"] == shapes["released"]
    with psycopg.connect(old, autocommit=True) as connection:
        connection.execute(f'DROP SCHEMA "{schemas["new"]}" CASCADE'.encode())
        connection.execute("DELETE FROM hardwon.project WHERE name = 'new'")
    assert_carried_over(old, before)


def shape(connection: psycopg.Connection[Any], schema: str) -> list[Any]:
    """Everything in a schema but rows, and but the index for the vectors that are there."""
    asked = (
        "SELECT c.relname, c.relkind, c.relowner::regrole::text, c.relacl::text, "
        "pg_get_indexdef(c.oid), pg_get_viewdef(c.oid), c.relrowsecurity FROM pg_class c "
        "WHERE relnamespace = %s::regnamespace AND relname !~ '_near_' ORDER BY 1",
        "SELECT attrelid::regclass::text, attname, atttypid::regtype::text, attnotnull "
        "FROM pg_attribute JOIN pg_class c ON c.oid = attrelid "
        "WHERE relnamespace = %s::regnamespace AND relname !~ '_near_' ORDER BY 1, attnum",
        "SELECT proname, prosrc, proacl::text, prosecdef, proconfig::text FROM pg_proc "
        "WHERE pronamespace = %s::regnamespace ORDER BY 1",
    )
    connection.execute(f'SET search_path = "{schema}"'.encode())
    return [
        [
            tuple(str(value).replace(schema, "S") for value in row)
            for row in connection.execute(sql.encode(), [schema]).fetchall()
        ]
        for sql in asked
    ]


def test_whoever_has_an_older_version_open_can_do_nothing_more(
    old: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in the middle of it."""

    def stop(*_: object) -> None:
        raise ZeroDivisionError

    before = rows_before(old)
    with monkeypatch.context() as patched:
        patched.setattr(setup, "_carry_project", stop)
        with pytest.raises(ZeroDivisionError):
            Memory(old)
    with psycopg.connect(old) as connection:
        for access in ACCESS:
            connection.execute(f"SET LOCAL ROLE {ROLE}_{access}".encode())
            for table in OLD_TABLES:
                for sql in (f"SELECT * FROM hardwon.{table}", f"DELETE FROM hardwon.{table}"):
                    with (
                        pytest.raises(psycopg.errors.InsufficientPrivilege),
                        connection.transaction(),
                    ):
                        connection.execute(sql.encode())
            connection.rollback()
        # which is how it finds out that it is too old
        assert connection.execute("SELECT max(version) FROM hardwon.migrated").fetchall() == [(3,)]
    Memory(old).close()
    assert_carried_over(old, before)


def test_killed_after_every_statement_it_goes_on(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After every third, from another one on in each run; after every single one in `make
    torture`. Every table is made and filled by several statements.
    """
    step = 1 if TORTURE else 3
    begins = random.randint(1, step)
    print(f"killed after statement {begins} and every {step} from there")
    before = rows_before(old)
    execute, left = PostgresSession._execute, 0

    def dying(
        session: PostgresSession, sql: str, values: Values = (), *, often: bool = False
    ) -> psycopg.Cursor[Any]:
        nonlocal left
        done = execute(session, sql, values, often=often)
        left -= 1
        if left == 0:
            postgres_server.server().run(f"SELECT pg_terminate_backend({session.backend}, 5000)")
        return done

    kills = 0
    while True:
        left = begins + step * kills
        with monkeypatch.context() as patched:
            patched.setattr(PostgresSession, "_execute", dying)
            link = Link(old)
            try:
                setup.carry_over(link)
                break
            except (InterruptedWriteError, UnreachableError):
                kills += 1
            finally:
                link.close()
    assert begins + step * kills > len(PROJECT_TABLES) * 4
    assert_carried_over(old, before)


def test_what_does_not_arrive_whole_is_not_carried_over(
    old: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = rows_before(old)
    run = PostgresSession.run

    def losing(session: PostgresSession, sql: str, values: Values = ()) -> int:
        changed = run(session, sql, values)
        if sql.startswith("INSERT INTO") and ".event " in sql:
            run(session, 'DELETE FROM "hardwon_it_s_another_f5fb226674017adc".event')
        return changed

    with monkeypatch.context() as patched:
        patched.setattr(PostgresSession, "run", losing)
        with pytest.raises(Exception, match="the table event could not be carried over whole"):
            Memory(old)
    assert rows_before(old) == before
    Memory(old).close()
    assert_carried_over(old, before)
