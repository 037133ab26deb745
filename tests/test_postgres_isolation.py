"""The database keeps projects apart, whatever SQL is sent to it: by real logins, and by a superuser
who acts as a role.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest

import postgres_server
from hardwon import Fact, Memory, Metadata
from hardwon.errors import ForbiddenError, PlaceError
from hardwon.records.fields import new_id
from hardwon.records.kinds import Event, Moment, Source
from hardwon.search.terms import Filters
from hardwon.store.base import row_of
from hardwon.store.postgres import projects as setup
from hardwon.store.postgres.connection import Link, quoted
from hardwon.store.postgres.engine import PostgresStore
from hardwon.store.postgres.schema import (
    ACCESS,
    GOVERNOR,
    KEEPER,
    OWNER,
    PROJECT_TABLES,
    READER,
    VIEWS,
    WRITER,
)
from hardwon.store.postgres.search import as_queries
from hardwon.store.types import Cursor, Request, Row, Store, TokenRow, Writer
from strategies import at

A, B = "alpha", "beta"
SECRET = "xylophone"
"""Nobody but B says it."""
EVERYTHING = Filters()
ISSUE = {"model": "m-beta", "issue_type": "oom", "description": SECRET}


@dataclass
class Place:
    """A database with two projects that hold the same kinds of things, and logins by what they may
    do.
    """

    url: str
    roles: dict[tuple[str, str], str]
    logins: dict[str, str]
    of_b: dict[str, str] = field(default_factory=dict)
    of_a: dict[str, str] = field(default_factory=dict)

    def as_login(self, name: str) -> str:
        return self.url.replace("postgres@", f"{self.logins[name]}@")

    def role(self, project: str, access: str) -> str:
        return self.roles[project, access]

    def dump(self) -> dict[str, list[Any]]:
        """Every row but those of A, and how the database is set up."""
        with psycopg.connect(self.url) as connection:

            def run(sql: str) -> list[Any]:
                return connection.execute(sql.encode()).fetchall()

            said = {
                t: run(f"SELECT t::text FROM hardwon.{t} t WHERE project_id <> '{A}' ORDER BY 1")
                for t in PROJECT_TABLES
            }
            said |= {
                t: run(f"SELECT t::text FROM hardwon.{t} t ORDER BY 1")
                for t in ("granted", "token", "migrated")
            }
            said["policies"] = run(
                "SELECT p::text FROM pg_policies p WHERE schemaname = 'hardwon' ORDER BY 1"
            )
            said["objects"] = run(
                "SELECT relname, relkind, relrowsecurity, relforcerowsecurity, relacl::text, "
                "relowner::regrole::text "
                "FROM pg_class WHERE relnamespace = 'hardwon'::regnamespace ORDER BY 1"
            )
            said["functions"] = run(
                "SELECT p::text FROM pg_proc p WHERE pronamespace = 'hardwon'::regnamespace ORDER "
                "BY 1"
            )
            said["members"] = run(
                "SELECT roleid::regrole::text, member::regrole::text FROM pg_auth_members ORDER BY "
                "1, 2"
            )
            said["roles"] = run(
                "SELECT rolname, rolsuper, rolbypassrls, rolconfig::text FROM pg_roles ORDER BY 1"
            )
        return said


def fill(url: str, project: str, word: str) -> dict[str, str]:
    """Something in every table."""
    with Memory(url, project) as memory:
        fact = memory.record_fact(
            f"The {word} is loud.",
            "observation",
            tags=[word],
            related_files=[{"path": f"{word}.py"}],
        )
        fix = memory.record_fix(ISSUE | {"description": word}, True, True, word, [f"fix {word}"])
        episode = memory.record_episode(word, 1.0, mistakes=[word], successes=[word])
        doomed = memory.record_fact("to be forgotten", "error")
        memory.verify(fact.id, "human_approval")
        memory.forget(doomed.id)
        with memory.care.once(word.encode(), b"said"):
            asked = memory.record_fact(f"asked for {word}", "error")
        with memory._store.write(project) as writer:
            writer.set_embedder(project, word, 2)
            writer.keep_vectors(project, [(fact.id, bytes(8))])
            writer.set_state(project, word, 7)
        (verified,) = [
            event for event in memory._store.events_of(project, fact.id) if event.kind == "status"
        ]
    return {
        "fact": fact.id,
        "fix": fix.id,
        "episode": episode.id,
        "asked": asked.id,
        "event": verified.id,
    }


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    url = postgres_server.fresh_database()
    link = Link(url)
    setup.initialise(link, [A, B])
    with psycopg.connect(url, autocommit=True) as connection:
        found = connection.execute("SELECT project_id, level, role FROM hardwon.granted").fetchall()
        logins = {}
        for name in (*ACCESS, "both", "nobody", "keeper"):
            logins[name] = f"login_{name}_{secrets.token_hex(4)}"
            connection.execute(f"CREATE ROLE {logins[name]} LOGIN")
    for access in ACCESS:
        setup.grant(link, logins[access], A, access)
    setup.grant(link, logins["both"], A, GOVERNOR)
    setup.grant(link, logins["both"], B, GOVERNOR)
    setup.grant(link, logins["keeper"], None, "server")
    link.close()
    made = Place(url, {(project, level): role for project, level, role in found}, logins)
    made.of_a, made.of_b = fill(url, A, "trumpet"), fill(url, B, SECRET)
    with Memory(url, B) as memory:
        memory.tokens.create("beta's", "read")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ANALYZE")
        empty = [
            t
            for t in PROJECT_TABLES
            if connection.execute(f"SELECT 1 FROM hardwon.{t} WHERE project_id = '{B}'").fetchone()
            is None
        ]
    assert empty == [], "nothing there that could be seen"
    yield made
    postgres_server.drop(url)
    for login in logins.values():
        postgres_server.server().run(f"DROP ROLE {login}")


@pytest.fixture(scope="class", autouse=True)
def _nothing_of_b_changed(place: Place) -> Iterator[None]:
    before = place.dump()
    yield
    assert place.dump() == before


@dataclass
class Acting:
    """A connection in the middle of a transaction, in the name of a role of A."""

    connection: psycopg.Connection[Any]
    access: str
    place: Place

    def ask(self, sql: str, values: Any = None) -> list[tuple[Any, ...]]:
        with self.connection.transaction(force_rollback=True):
            return self.connection.execute(sql.encode(), values).fetchall()

    def change(self, sql: str, values: Any = None) -> int:
        with self.connection.transaction(force_rollback=True):
            return self.connection.execute(sql.encode(), values).rowcount

    def refused(self, sql: str, *errors: type[psycopg.Error]) -> str:
        with pytest.raises(errors or (psycopg.errors.InsufficientPrivilege,)) as caught:
            self.change(sql)
        assert SECRET not in str(caught.value)
        return str(caught.value)

    def without_effect(self, sql: str) -> None:
        """Refused, or of no row."""
        with suppress(psycopg.errors.InsufficientPrivilege):
            assert self.change(sql) <= 0


@pytest.fixture(
    params=[(who, access) for who in ("superuser", "own login", "both") for access in ACCESS],
    ids="-".join,
)
def acting(place: Place, request: pytest.FixtureRequest) -> Iterator[Acting]:
    """Each role of A: taken on by a superuser, by a login that has it, and by one that may act for
    B too.
    """
    who, access = request.param
    url = place.url if who == "superuser" else place.as_login("both" if who == "both" else access)
    with psycopg.connect(url, options="-c search_path=hardwon,pg_catalog,pg_temp") as connection:
        connection.execute(f"SET LOCAL ROLE {quoted(place.role(A, access))}".encode())
        yield Acting(connection, access, place)
        connection.rollback()


def columns_of(acting: Acting, table: str) -> list[str]:
    sql = "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
    return [name for (name,) in acting.ask(sql, [f"hardwon.{table}"])]


class TestReading:
    def test_no_row_of_another_project(self, acting: Acting) -> None:
        for relation in (*PROJECT_TABLES, *VIEWS):
            rows = acting.ask(f"SELECT * FROM hardwon.{relation}")
            assert rows != [] or relation in VIEWS, f"{relation}: its own are not there either"
            assert {
                project
                for (project,) in acting.ask(f"SELECT DISTINCT project_id FROM hardwon.{relation}")
            } <= {A}
            assert SECRET not in repr(rows)
            assert acting.ask(
                f"SELECT count(*) FROM hardwon.{relation} WHERE project_id = '{B}'"
            ) == [(0,)]
            assert acting.ask(
                f"SELECT count(*) FROM ONLY hardwon.{relation} x WHERE x.project_id <> '{A}'"
            ) == [(0,)]
            assert acting.ask(
                f"SELECT count(*) FROM hardwon.{relation} WHERE NOT (project_id = '{A}') OR true "
                f"AND project_id = '{B}'"
            ) == [(0,)]
            with acting.connection.cursor().copy(
                f"COPY (SELECT * FROM hardwon.{relation}) TO STDOUT".encode()
            ) as copied:
                assert SECRET not in b"".join(bytes(part) for part in copied).decode()
        for table in PROJECT_TABLES:  # a COPY of the table itself obeys policies too
            with acting.connection.cursor().copy(
                f"COPY hardwon.{table} TO STDOUT".encode()
            ) as copied:
                assert SECRET not in b"".join(bytes(part) for part in copied).decode()

    def test_what_is_there_is_known_to_nobody_else(self, acting: Acting) -> None:
        assert {row[1] for row in acting.ask("SELECT * FROM hardwon.granted")} == {A}
        acting.refused("SELECT * FROM hardwon.token")
        acting.refused("SELECT last_value FROM hardwon.record_seq")
        assert (
            acting.ask(
                "SELECT * FROM pg_stats WHERE schemaname = 'hardwon' AND tablename <> 'migrated'"
            )
            == []
        )
        acting.refused("SELECT * FROM pg_statistic")

    def test_the_search_function_asks_who_asks(self, acting: Acting) -> None:
        def found(project: str, word: str, length: float = 10.0) -> list[tuple[Any, ...]]:
            (_, term, times), *_ = as_queries(project, [word])
            sql = "SELECT * FROM hardwon.matching(%s, ARRAY[%s::tsquery], ARRAY[%s], ARRAY[1.0], %s, 100)"
            return acting.ask(sql, [project, term, float(times), length])

        assert found(A, "trumpet")
        assert found(B, SECRET) == found(A, SECRET) == []
        assert found(B, SECRET, 0.0) == [], (
            "not one row was looked at: it would have been divided by"
        )
        acting.without_effect(
            f"SELECT 1 FROM hardwon.matching('{B}', '{{}}', '{{}}', '{{}}', 0, NULL)"
        )

    def test_conditions_that_tell_what_they_see_do_not_see_others(self, acting: Acting) -> None:
        said = f"SELECT 1 FROM hardwon.record WHERE 1 / (CASE WHEN body LIKE '%{SECRET}%' THEN 0 ELSE 1 END) = 1"
        assert acting.ask(said)
        cast = f"SELECT 1 FROM hardwon.record_text WHERE (CASE WHEN terms LIKE '%{SECRET}%' THEN terms ELSE '1' END)::int = 1"
        assert acting.ask(cast)
        acting.connection.execute(
            b"CREATE FUNCTION pg_temp.tell(text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS "
            b"$$ BEGIN RAISE NOTICE 'saw %', $1; RETURN true; END $$"
        )
        heard: list[str] = []
        acting.connection.add_notice_handler(
            lambda notice: heard.append(str(notice.message_primary))
        )
        for table, column in (
            ("record", "body"),
            ("event", "body"),
            ("record_key", "key"),
            ("tally", "item"),
            ("fix", "description"),
        ):
            acting.ask(
                f"SELECT 1 FROM hardwon.{table} WHERE pg_temp.tell({column}) AND project_id = '{B}'"
            )
            acting.ask(f"SELECT 1 FROM hardwon.{table} WHERE pg_temp.tell({column})")
        for view, column in zip(
            VIEWS, ("description", "pattern_name", "common_issues"), strict=True
        ):
            acting.ask(f"SELECT 1 FROM hardwon.{view} WHERE pg_temp.tell({column}::text)")
        assert heard
        assert SECRET not in repr(heard)
        plan = acting.ask(
            f"EXPLAIN (ANALYZE, VERBOSE) SELECT * FROM hardwon.record WHERE project_id = '{B}' OR "
            f"pg_temp.tell(body)"
        )
        assert SECRET not in repr(plan)
        assert SECRET not in repr(heard)


class TestWriting:
    def test_nothing_of_another_project_is_changed(self, acting: Acting) -> None:
        for table in PROJECT_TABLES:
            (column, *_) = [name for name in columns_of(acting, table) if name != "project_id"]
            acting.without_effect(
                f"UPDATE hardwon.{table} SET {column} = {column} WHERE project_id = '{B}'"
            )
            acting.without_effect(f"DELETE FROM hardwon.{table} WHERE project_id = '{B}'")
            acting.without_effect(f"DELETE FROM hardwon.{table} WHERE project_id <> '{A}'")
            acting.without_effect(
                f"MERGE INTO hardwon.{table} t USING (SELECT '{B}' AS project_id) s ON "
                f"t.project_id = s.project_id "
                "WHEN MATCHED THEN DELETE"
            )
            acting.refused(f"TRUNCATE hardwon.{table}")
            acting.without_effect(
                f"SELECT 1 FROM hardwon.{table} WHERE project_id = '{B}' FOR UPDATE"
            )
            if acting.access == READER:
                acting.refused(f"LOCK TABLE hardwon.{table} IN ACCESS EXCLUSIVE MODE")
        for view in VIEWS:
            acting.refused(f"DELETE FROM hardwon.{view}", psycopg.Error)
            acting.refused(f"UPDATE hardwon.{view} SET project_id = '{A}'", psycopg.Error)

    def test_nothing_is_put_into_another_project(self, acting: Acting) -> None:
        for table in PROJECT_TABLES:
            names = [name for name in columns_of(acting, table) if name != "project_id"]
            listed = ", ".join(names)
            row = f"SELECT '{B}', {listed} FROM hardwon.{table} WHERE project_id = '{A}' LIMIT 1"
            acting.refused(f"INSERT INTO hardwon.{table} (project_id, {listed}) {row}")
            acting.refused(
                f"INSERT INTO hardwon.{table} (project_id, {listed}) {row} ON CONFLICT DO NOTHING"
            )
            acting.refused(
                f"MERGE INTO hardwon.{table} t USING ({row}) s ON false WHEN NOT MATCHED THEN "
                f"INSERT (project_id, {listed}) VALUES ('{B}', "
                f"{', '.join('s.' + name for name in names)})"
            )
            with (
                pytest.raises(psycopg.errors.InsufficientPrivilege),
                acting.connection.transaction(),
            ):
                acting.connection.execute(f"COPY hardwon.{table} FROM PROGRAM 'echo'".encode())
            with pytest.raises(psycopg.Error) as caught, acting.connection.transaction():
                (line,) = acting.ask(f"SELECT t::text FROM hardwon.{table} t LIMIT 1")
                copy = f"COPY hardwon.{table} FROM STDIN (FORMAT csv)".encode()
                with acting.connection.cursor().copy(copy) as copying:
                    copying.write(line[0][1:-1].replace(A, B, 1) + "\n")
            assert isinstance(
                caught.value,
                psycopg.errors.InsufficientPrivilege | psycopg.errors.FeatureNotSupported,
            ), table

    def test_a_row_is_not_moved_to_another_project(self, acting: Acting) -> None:
        for table in PROJECT_TABLES:
            acting.refused(
                f"UPDATE hardwon.{table} SET project_id = '{B}' WHERE project_id = '{A}'"
            )

    def test_ids_of_another_project_are_not_found_out_by_using_them(self, acting: Acting) -> None:
        if acting.access == READER:
            acting.refused("INSERT INTO hardwon.record SELECT * FROM hardwon.record")
            return
        columns = ", ".join(
            name
            for name in columns_of(acting, "record")
            if name not in ("id", "seq", "status", "validation", "helped", "hindered")
        )
        taken = acting.place.of_b["fact"]
        row = (
            f"SELECT '{taken}', nextval('hardwon.record_seq'), 'hypothesis', 0, 0, {columns} FROM "
            f"hardwon.record WHERE id = %s"
        )
        sql = f"INSERT INTO hardwon.record (id, seq, status, helped, hindered, {columns}) {row}"
        assert acting.change(sql, [acting.place.of_a["asked"]]) == 1, (
            "as if there were no such id anywhere"
        )


ESCAPES = (
    "SET row_security = off",
    "SET session_replication_role = replica",
    "ALTER TABLE hardwon.record DISABLE ROW LEVEL SECURITY",
    "ALTER TABLE hardwon.record NO FORCE ROW LEVEL SECURITY",
    "ALTER TABLE hardwon.record OWNER TO CURRENT_USER",
    "DROP POLICY granted_projects ON hardwon.record",
    "CREATE POLICY mine ON hardwon.record USING (true)",
    "ALTER POLICY granted_projects ON hardwon.record USING (true)",
    "CREATE TABLE hardwon.mine (x int)",
    "CREATE FUNCTION hardwon.sum(float8) RETURNS float8 LANGUAGE sql AS 'SELECT 1.0'",
    "CREATE VIEW hardwon.mine AS SELECT * FROM hardwon.record",
    "CREATE TRIGGER mine AFTER INSERT ON hardwon.record EXECUTE FUNCTION "
    "suppress_redundant_updates_trigger()",
    "CREATE RULE mine AS ON SELECT TO hardwon.tally DO INSTEAD SELECT 1",
    "DROP TABLE hardwon.record",
    "DROP SCHEMA hardwon CASCADE",
    "ALTER FUNCTION hardwon.matching RESET ALL",
    "ALTER SEQUENCE hardwon.record_seq RESTART",
    "SELECT setval('hardwon.record_seq', 1)",
    "INSERT INTO hardwon.migrated VALUES (99)",
    "DELETE FROM hardwon.migrated",
    "DELETE FROM hardwon.granted",
    f"UPDATE hardwon.granted SET project_id = '{B}'",
    "DELETE FROM hardwon.token",
    "UPDATE hardwon.token SET scope = 'admin'",
    "INSERT INTO hardwon.token VALUES ('x', 'x', '', 'admin', NULL, 0, NULL, NULL)",
    "ALTER DATABASE {database} SET row_security = off",
    "GRANT {b_reader} TO CURRENT_USER",
    "INSERT INTO hardwon.granted VALUES (current_user, 'beta', 'x')",
    "INSERT INTO hardwon.granted VALUES (current_user, 'beta', 'x') ON CONFLICT DO NOTHING",
    "ALTER ROLE CURRENT_USER BYPASSRLS",
    "ALTER ROLE CURRENT_USER SUPERUSER",
    "CREATE ROLE another SUPERUSER",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT lo_import('/etc/passwd')",
)


class TestWaysOut:
    def test_are_closed(self, acting: Acting) -> None:
        place = acting.place
        database = quoted(str(psycopg.conninfo.conninfo_to_dict(place.url)["dbname"]))
        names = {"database": database, "b_reader": quoted(place.role(B, READER))}
        for escape in ESCAPES:
            with acting.connection.transaction(force_rollback=True):
                try:
                    with acting.connection.transaction():
                        acting.connection.execute(escape.format(**names).encode())
                except psycopg.errors.InsufficientPrivilege:
                    pass
                else:
                    # Whoever wants no policies may say so, and gets an error instead of fewer rows.
                    assert (
                        escape.startswith("SET row_security")
                        or acting.connection.info.user == "postgres"
                    ), escape
                try:
                    rows = acting.ask("SELECT * FROM hardwon.record")
                except psycopg.errors.InsufficientPrivilege:
                    rows = []
                assert SECRET not in repr(rows)
                assert acting.ask("SELECT 1 WHERE to_regclass('hardwon.mine') IS NULL") == [(1,)]

    def test_other_roles_are_out_of_reach(self, place: Place) -> None:
        forbidden = [
            *(place.role(B, access) for access in ACCESS),
            OWNER,
            KEEPER,
            "postgres",
            place.logins["both"],
        ]
        for access in ACCESS:
            with psycopg.connect(place.as_login(access), autocommit=True) as connection:
                above = [place.role(A, each) for each in ACCESS[ACCESS.index(access) + 1 :]]
                for role in (*forbidden, *above):
                    for statement in (
                        f"SET ROLE {quoted(role)}",
                        f"SET SESSION AUTHORIZATION {quoted(role)}",
                        f"SELECT set_config('role', '{role}', false)",
                        "ALTER SYSTEM SET row_security = off",
                        f"GRANT {quoted(role)} TO CURRENT_USER",
                    ):
                        with pytest.raises(psycopg.Error) as caught:
                            connection.execute(statement.encode())
                        assert caught.value.sqlstate in ("42501", "22023", "0LP01"), statement
                assert connection.execute(
                    "SELECT current_user, current_setting('role')"
                ).fetchall() == [(place.logins[access], "none")]

    def test_a_role_for_every_login_has_to_be_ones_own(self, place: Place) -> None:
        login = place.logins[READER]
        with psycopg.connect(place.as_login(READER), autocommit=True) as connection:
            for role in (place.role(B, READER), place.role(A, GOVERNOR), OWNER, "postgres"):
                connection.execute(f"ALTER ROLE CURRENT_USER SET role TO {quoted(role)}".encode())
                with psycopg.connect(place.as_login(READER)) as later:
                    assert later.execute("SELECT current_user").fetchall() == [(login,)]
            connection.execute("ALTER ROLE CURRENT_USER RESET role")

    def test_settings_of_ones_own_decide_nothing(self, acting: Acting) -> None:
        for name in (
            "hardwon.project",
            "hardwon.project_id",
            "hardwon.role",
            "app.role",
            "hardwon.current_project",
        ):
            acting.connection.execute("SELECT set_config(%s, %s, true)", [name, B])
        assert {project for (project,) in acting.ask("SELECT project_id FROM hardwon.record")} == {
            A
        }

    def test_names_that_hide_ours_are_not_taken_for_them(self, acting: Acting) -> None:
        run = acting.connection.execute
        run("CREATE TEMP TABLE granted (role name, project_id text, level text)")
        run(
            f"INSERT INTO pg_temp.granted VALUES (current_user, '{B}', 'reader'), (current_user, '{B}', 'governor')".encode()
        )
        run("CREATE TEMP TABLE record_text AS SELECT * FROM hardwon.record_text WITH NO DATA")
        run("CREATE FUNCTION pg_temp.sum(float8) RETURNS float8 LANGUAGE sql AS 'SELECT 1.0'")
        run(
            "CREATE FUNCTION pg_temp.current_setting(text) RETURNS text LANGUAGE sql AS $$ SELECT "
            "'postgres' $$"
        )
        run(
            "CREATE FUNCTION pg_temp.nameeq(name, name) RETURNS boolean LANGUAGE sql AS 'SELECT "
            "true'"
        )
        run(
            "CREATE OPERATOR pg_temp.= (LEFTARG = name, RIGHTARG = name, FUNCTION = pg_temp.nameeq)"
        )
        run("SET LOCAL search_path = pg_temp, hardwon, pg_catalog")
        assert {project for (project,) in acting.ask("SELECT project_id FROM hardwon.record")} == {
            A
        }
        sql = (
            "SELECT * FROM hardwon.matching(%s, ARRAY[%s::tsquery], ARRAY[1.0], ARRAY[1.0], 9.0, 9)"
        )
        (_, theirs, _), *_ = as_queries(B, [SECRET])
        (_, ours, _), *_ = as_queries(A, ["trumpet"])
        assert acting.ask(sql, [B, theirs]) == []
        assert len(acting.ask(sql, [A, ours])) > 0

    def test_without_a_role_a_login_reaches_nothing(self, place: Place) -> None:
        for name in place.logins:
            with psycopg.connect(place.as_login(name), autocommit=True) as connection:
                for table in PROJECT_TABLES:
                    try:
                        assert (
                            connection.execute(f"SELECT 1 FROM hardwon.{table}".encode()).fetchall()
                            == []
                        )
                    except psycopg.errors.InsufficientPrivilege:
                        assert name in ("nobody", "keeper")
                if name in ACCESS:
                    sql = f"SELECT * FROM hardwon.matching('{A}', '{{x}}', '{{1}}', '{{1}}', 1, 9)"
                    assert connection.execute(sql.encode()).fetchall() == []

    def test_the_keeper_of_tokens_reaches_no_project(self, place: Place) -> None:
        with psycopg.connect(place.as_login("keeper")) as connection:
            connection.execute(f"SET LOCAL ROLE {KEEPER}")
            assert connection.execute("SELECT count(*) FROM hardwon.token").fetchall() == [(1,)]
            for table in PROJECT_TABLES:
                with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
                    connection.execute(f"SELECT 1 FROM hardwon.{table}".encode())


class TestLevels:
    def test_a_reader_writes_nothing(self, acting: Acting) -> None:
        if acting.access != READER:
            assert (
                acting.change(f"UPDATE hardwon.state SET value = value WHERE project_id = '{A}'")
                > 0
            )
            return
        for table in (*PROJECT_TABLES, "granted", "migrated", "token"):
            for sql in (
                f"INSERT INTO hardwon.{table} DEFAULT VALUES",
                f"DELETE FROM hardwon.{table}",
            ):
                acting.refused(sql)
            (column, *_) = columns_of(acting, table)
            acting.refused(f"UPDATE hardwon.{table} SET {column} = {column}")
        acting.refused("SELECT nextval('hardwon.record_seq')")

    @pytest.mark.parametrize(
        "kind",
        ["status", "superseded", "absent", "present", "stale", "fresh", "undone", "forgotten"],
    )
    def test_only_a_governor_says_what_decides(self, acting: Acting, kind: str) -> None:
        fact = acting.place.of_a["fact"]
        event = Event(
            record_id=fact, kind=kind, by="mallory", status="archived" if kind == "status" else None
        )
        plain = (
            "INSERT INTO hardwon.event VALUES ('{}', '{}', '{}', '{}', 1, '{}', 'mallory')".format
        )
        honest = plain(A, event.id, fact, kind, event.to_json())
        if acting.access == GOVERNOR:
            assert acting.change(honest) == 1
            return
        acting.refused(honest)
        acting.refused(plain(A, event.id, fact, "credited", event.to_json()))

    def test_a_writer_says_what_is_ordinary(self, acting: Acting) -> None:
        for kind, record, allowed in (
            ("credited", "fact", True),
            ("repeated", "fact", True),
            ("imported", "fact", False),
            ("imported", "asked", True),
        ):
            event = Event(record_id=acting.place.of_a[record], kind=kind, by="ann")
            said = (
                f"'{A}', '{event.id}', '{event.record_id}', '{kind}', 1, '{event.to_json()}', 'ann'"
            )
            sql = f"INSERT INTO hardwon.event VALUES ({said})"
            if acting.access == READER or (acting.access == WRITER and not allowed):
                acting.refused(sql)
            else:
                assert acting.change(sql) == 1

    def test_a_writer_claims_no_more_than_a_record_may(self, acting: Acting) -> None:
        kept = {
            "status": "'hypothesis'",
            "validation": "NULL",
            "helped": "0",
            "hindered": "0",
            "kind": "kind",
            "body": "body",
        }
        published = "replace(body, '\"hypothesis\"', '\"published\"')"
        claims: tuple[dict[str, str], ...] = (
            {"status": "'published'"},
            {"status": "'published'", "body": published},
            {"body": published},
            {"validation": '\'{"status": "published"}\''},
            {
                "kind": "'decision'",
                "status": "'verified'",
                "validation": '\'{"status": "verified"}\'',
            },
            {"helped": "1000"},
            {"hindered": "1"},
        )
        columns = [name for name in columns_of(acting, "record") if name not in ("id", "seq")]
        for claim in ({}, *claims):
            values = ", ".join((kept | claim).get(name, name) for name in columns)
            sql = (
                f"INSERT INTO hardwon.record (id, seq, {', '.join(columns)}) "
                f"SELECT '{new_id()}', nextval('hardwon.record_seq'), {values} "
                f"FROM hardwon.record WHERE id = '{acting.place.of_a['asked']}'"
            )
            if acting.access == READER or (acting.access == WRITER and claim):
                acting.refused(sql)
            else:
                assert acting.change(sql) == 1, claim

    def test_only_a_governor_changes_and_deletes(self, acting: Acting) -> None:
        changes = [
            f"UPDATE hardwon.record SET {name} = {name}"
            for name in columns_of(acting, "record")
            if name not in ("helped", "hindered")
        ]
        changes += [
            f"UPDATE hardwon.{table} SET project_id = project_id"
            for table in ("event", "fix", "record_text", "record_tag", "request")
        ]
        kept = [table for table in PROJECT_TABLES if table not in ("request", "record_vector")]
        changes += [f"DELETE FROM hardwon.{table}" for table in kept]
        for sql in changes:
            if acting.access == GOVERNOR:
                assert acting.change(sql) > 0
            else:
                acting.refused(sql)


# --- through the store ---


def a_row(project: str, content: str = "A fact.") -> Row:
    metadata = Metadata(
        project_id=project, context=Moment(timestamp=at(5)), source=Source(author="ann")
    )
    return row_of(Fact(id=new_id(at(5)), content=content, fact_type="error", metadata=metadata))


def deciding(record_id: str) -> Event:
    return Event(record_id=record_id, kind="status", by="mallory", status="archived")


Ids = dict[str, str]
StoreCase = Callable[[Store, str, Ids], Any]
WriterCase = Callable[[Writer, str, Ids], Any]

READS: dict[str, StoreCase] = {
    "get": lambda store, project, ids: store.get(project, ids["fact"]),
    "page": lambda store, project, _: store.page(project, EVERYTHING, None, 9),
    "marked": lambda store, project, _: store.marked(project, EVERYTHING, "user", "verified", 9),
    "most_helpful": lambda store, project, _: store.most_helpful(project, "verified", 9),
    "held_as_stale": lambda store, project, _: store.held_as_stale(project, 9),
    "newest_of_others": lambda store, project, _: store.newest_of_others(project, "", 2**62),
    "last_arrived": lambda store, project, _: store.last_arrived(project, 9),
    "search": lambda store, project, _: store.search(project, [SECRET], EVERYTHING, 9),
    "stream": lambda store, project, _: list(store.stream(project)),
    "rows": lambda store, project, _: list(store.rows(project)),
    "events": lambda store, project, _: list(store.events(project)),
    "events_of": lambda store, project, ids: store.events_of(project, ids["fact"]),
    "counts": lambda store, project, _: store.counts(project),
    "activity": lambda store, project, _: store.activity(project, 0, 99999),
    "change_mark": lambda store, project, _: store.change_mark(project),
    "count": lambda store, project, _: store.count(project, EVERYTHING),
    "routes": lambda store, project, _: store.routes(project, ["error_type"]),
    "embedder": lambda store, project, _: store.embedder(project),
    "nearest": lambda store, project, _: store.nearest(project, [1.0, 0.0], EVERYTHING, 9),
    "without_vector": lambda store, project, _: store.without_vector(project, 9),
    "daily": lambda store, project, _: store.daily(project, "episode", ""),
    "newest_taught": lambda store, project, _: store.newest_taught(project, "episode", "", "", 9),
    "shares": lambda store, project, _: store.shares(project, "episode", "", 20000),
    "tallies": lambda store, project, _: store.tallies(project, "episode", "", 9),
    "tallies_of_item": lambda store, project, _: store.tallies_of_item(project, "episode", "", ""),
    "vouched_items": lambda store, project, _: store.vouched_items(project),
    "most_counted": lambda store, project, _: store.most_counted(project, "episode", 9),
    "totals": lambda store, project, _: store.totals(project, "episode", 9),
    "day_totals": lambda store, project, _: store.day_totals(project, "episode", 9, 0),
    "distinct_keys": lambda store, project, _: store.distinct_keys(project, "episode"),
    "by_key": lambda store, project, _: store.by_key(project, [SECRET], EVERYTHING, 9),
    "with_files": lambda store, project, _: store.with_files(project, "", 9),
    "fixes_before": lambda store, project, _: store.fixes_before(project, 2**62, Cursor(0, ""), 9),
    "newest_fixes": lambda store, project, _: store.newest_fixes(project, SECRET),
    "decisions": lambda store, project, _: store.decisions(project, ["rule", "rollback"], None, 9),
    "tags": lambda store, project, _: store.tags(project, SECRET),
    "superseded_by": lambda store, project, ids: store.superseded_by(project, ids["fact"]),
    "rolled_back": lambda store, project, _: store.rolled_back(project),
    "untrue_tallies": lambda store, project, _: store.untrue_tallies(project),
    "check": lambda store, project, _: list(store.check(project)),
}
OF_NO_PROJECT = (
    "location",
    "projects",
    "size_bytes",
    "finish_erasure",
    "shrink",
    "backup",
    "tokens",
    "close",
    "write",
)

WRITER_READS: dict[str, WriterCase] = {
    "get": lambda writer, project, ids: writer.get(project, ids["fact"]),
    "page": lambda writer, project, _: writer.page(project, EVERYTHING, None, 9),
    "events_of": lambda writer, project, ids: writer.events_of(project, ids["fact"]),
    "event": lambda writer, project, ids: writer.event(project, ids["event"]),
    "votes": lambda writer, project, ids: sum(writer.votes(project, ids["fact"], "")),
    "embedder": lambda writer, project, _: writer.embedder(project),
    "known_keys": lambda writer, project, _: writer.known_keys(project, [SECRET], ["hypothesis"]),
    "having_events": lambda writer, project, ids: writer.having_events(project, [ids["fact"]]),
    "number_of": lambda writer, project, ids: writer.number_of(project, ids["fix"]),
    "with_key": lambda writer, project, _: writer.with_key(project, SECRET),
    "facts_with_key": lambda writer, project, _: writer.facts_with_key(project, SECRET, 9),
    "is_rolled_back": lambda writer, project, _: writer.is_rolled_back(project, "user"),
    "cleaned": lambda writer, project, _: writer.cleaned(project, "", 9),
    "state": lambda writer, project, _: writer.state(project, SECRET),
    "request": lambda writer, project, _: writer.request(project, SECRET.encode()),
}
APPENDS: dict[str, WriterCase] = {
    "append": lambda writer, project, _: writer.append([a_row(project)]),
    "add_events": lambda writer, project, ids: writer.add_events(
        project, [Event(record_id=ids["fact"], kind="credited", by="x", helped=True)]
    ),
    "set_embedder": lambda writer, project, _: writer.set_embedder(project, "mine", 3),
    "set_state": lambda writer, project, _: writer.set_state(project, "mine", 1),
    "keep_request": lambda writer, project, _: writer.keep_request(
        project, b"key", Request(b"", []), 1, 2**62
    ),
}
DECIDES: dict[str, WriterCase] = {
    "add_events, deciding": lambda writer, project, ids: writer.add_events(
        project, [deciding(ids["fact"])]
    ),
    "set_standing": lambda writer, project, ids: writer.set_standing(
        project, ids["fact"], "archived", None, (0, 0)
    ),
    "rewrite": lambda writer, project, ids: writer.rewrite(a_row(project)._replace(id=ids["fact"])),
    "replace": lambda writer, project, ids: writer.replace(a_row(project)._replace(id=ids["fact"])),
    "erase": lambda writer, project, ids: writer.erase(
        project, [ids["fact"]], [Event(record_id=ids["fact"], kind="forgotten", by="x")]
    ),
    "recount": lambda writer, project, _: writer.recount(project),
}
VECTORS: dict[str, WriterCase] = {
    "keep_vectors": lambda writer, project, ids: writer.keep_vectors(
        project, [(ids["fact"], bytes(8))]
    ),
}
OF_THE_TRANSACTION = ("may_govern", "on_failure")


def test_every_method_has_a_case() -> None:
    assert {*READS, *OF_NO_PROJECT} == set(Store.__abstractmethods__)
    cases = {
        *WRITER_READS,
        *APPENDS,
        *VECTORS,
        *OF_THE_TRANSACTION,
        *(name.partition(",")[0] for name in DECIDES),
    }
    assert cases == set(Writer.__abstractmethods__)


@pytest.fixture(params=ACCESS)
def access(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def store(place: Place, access: str) -> Iterator[PostgresStore]:
    opened = PostgresStore(place.as_login(access))
    yield opened
    opened.close()


class TestStore:
    def test_reads_nothing_of_another_project(self, store: PostgresStore, place: Place) -> None:
        for read in READS.values():
            read(store, A, place.of_a)
            with pytest.raises(ForbiddenError, match=f"does not reach project '{B}'"):
                read(store, B, place.of_b)

    def test_writes_nothing_to_another_project(self, store: PostgresStore) -> None:
        for alone in (True, False):
            with (
                pytest.raises(ForbiddenError, match=f"does not reach project '{B}'"),
                store.write(B, alone=alone),
            ):
                raise AssertionError("it began")

    def test_what_is_about_the_whole_database(self, store: PostgresStore, tmp_path: Path) -> None:
        assert store.projects() == [A]
        assert SECRET not in store.location
        assert store.size_bytes() > 0
        assert store.finish_erasure() is False, "whoever does not own the tables cannot vacuum them"
        store.shrink()
        with pytest.raises(PlaceError):
            store.backup(tmp_path / "backup", None)
        keep = store.tokens()
        row = TokenRow("a" * 12, "mallory", bytes(32), "admin", None, 0, None, None)
        for use in (
            keep.all,
            lambda: keep.get("x"),
            lambda: keep.add(row, 2**62),
            lambda: keep.revoke([row.id], 0),
        ):
            with pytest.raises(ForbiddenError):
                use()

    def test_a_transaction_does_nothing_to_another_project(
        self, store: PostgresStore, place: Place, access: str
    ) -> None:
        if access == READER:
            with (
                pytest.raises(ForbiddenError, match="may read project .* and write nothing"),
                store.write(A),
            ):
                raise AssertionError("it began")
            return
        with store.write(A) as writer:
            for name, ask in WRITER_READS.items():
                assert not ask(writer, B, place.of_b), name
        for name, case in (APPENDS | DECIDES | VECTORS).items():
            try:
                with store.write(A) as writer:
                    case(writer, B, place.of_b)
            except ForbiddenError:
                continue
            assert name in DECIDES or name in VECTORS, (
                f"{name}: nothing was found to change, which is said of no other"
            )

    def test_each_level_does_what_it_may(
        self, store: PostgresStore, place: Place, access: str
    ) -> None:
        for name, case in (APPENDS | DECIDES | VECTORS).items():
            wanted: type[Exception] = ZeroDivisionError
            if access == READER or (access == WRITER and name in DECIDES):
                wanted = ForbiddenError
            with pytest.raises(wanted), store.write(A) as writer:
                assert writer.may_govern(A) == (access == GOVERNOR)
                case(writer, A, place.of_a)
                raise ZeroDivisionError


def test_a_memory_does_as_much_as_its_login_may(place: Place) -> None:
    with Memory(place.as_login(READER), A) as memory:
        assert memory.recall("trumpet")
        assert memory.recall(SECRET) == []
        assert memory.doctor().ok or [
            each.check for each in memory.doctor().findings if not each.ok
        ] == ["durability"]
        with pytest.raises(ForbiddenError, match="as writer"):
            memory.record_fact("x", "error")
    with Memory(place.as_login(WRITER), A) as memory:
        kept = memory.record_fact("a writer records", "error")
        memory.credit(kept.id, True, by="bob")
        for number in range(4):
            memory.record_episode("task", number / 4, mistakes=["a mistake"])
        for decide in (
            lambda: memory.verify(kept.id, "human_approval"),
            lambda: memory.forget(kept.id),
            lambda: memory.archive(kept.id, "because"),
            lambda: memory.rollback("user"),
        ):
            with pytest.raises(ForbiddenError, match="decide nothing"):
                decide()
        assert [decision.action for decision in memory.care.decisions()] == []
    with Memory(place.as_login(GOVERNOR), A) as memory:
        memory.verify(kept.id, "human_approval")
        assert memory.forget(kept.id).ids == [kept.id]
        assert memory.get(kept.id) is None
    with (
        Memory(place.as_login("nobody"), A) as memory,
        pytest.raises(ForbiddenError, match="does not reach"),
    ):
        memory.stats()


def test_a_grant_that_is_taken_back_is_gone_at_once(place: Place) -> None:
    link = Link(place.url)
    with Memory(place.as_login("nobody"), A) as memory:
        setup.grant(link, place.logins["nobody"], A, WRITER)
        memory.record_fact("while it may", "error")
        assert setup.revoke(link, place.logins["nobody"], A) == [
            place.role(A, READER),
            place.role(A, WRITER),
        ]
        with pytest.raises(ForbiddenError, match="grant"):
            memory.record_fact("no longer", "error")
        with pytest.raises(ForbiddenError, match="grant"):
            memory.stats()
    link.close()
