"""The database keeps projects apart, whatever SQL is sent: by real logins, in one table."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import psycopg
import pytest

import postgres_server
from engines import schemas_of, wrong_with
from hardwon import Fact, Memory, Metadata
from hardwon.errors import ForbiddenError, PlaceError
from hardwon.records.fields import new_id
from hardwon.records.kinds import Event, Moment, Source
from hardwon.search.terms import Filters
from hardwon.store.base import Store, build_row
from hardwon.store.postgres import projects as setup
from hardwon.store.postgres.connection import Link, quote_name
from hardwon.store.postgres.engine import PostgresStore, event_columns
from hardwon.store.postgres.schema import (
    ACCESS,
    GOVERNOR,
    KEEPER,
    OWNER,
    PROJECT_TABLES,
    READER,
    WRITER,
)
from hardwon.store.types import TokenRow
from strategies import at

A, B = "alpha", "beta"
SECRET = "xylophone"
"""Nobody but B says it."""
EVERYTHING = Filters()
ISSUE = {"model": "m-beta", "issue_type": "oom", "description": SECRET}


SET_UP = (
    "SELECT relnamespace, relname, relkind, relacl::text, relowner::regrole::text FROM pg_class "
    "WHERE relnamespace::regnamespace::text LIKE 'hardwon%' AND relkind <> 'i' ORDER BY 1, 2",
    "SELECT p::text FROM pg_proc p WHERE pronamespace::regnamespace::text LIKE 'hardwon%' ORDER BY 1",
    "SELECT nspname, nspacl::text FROM pg_namespace WHERE nspname LIKE 'hardwon%' ORDER BY 1",
    "SELECT roleid::regrole::text, member::regrole::text FROM pg_auth_members ORDER BY 1, 2",
    "SELECT rolname, rolsuper, rolbypassrls, rolconfig::text FROM pg_roles ORDER BY 1",
)


@dataclass
class Place:
    """A database with two projects and logins: three levels in A, "both", "nobody", "keeper"."""

    url: str
    schemas: dict[str, str]
    logins: dict[str, str]
    of_b: dict[str, str] = field(default_factory=dict)
    of_a: dict[str, str] = field(default_factory=dict)

    def as_login(self, name: str) -> str:
        return self.url.replace("postgres@", f"{self.logins[name]}@")

    def role(self, project: str, access: str) -> str:
        return setup.role_name(self.schemas[project], access)

    def dump(self) -> dict[str, list[Any]]:
        """Every row but those of A, and how the database is set up."""
        with psycopg.connect(self.url) as connection:

            def run(sql: str) -> list[Any]:
                return connection.execute(sql.encode()).fetchall()

            tables = [f'"{self.schemas[B]}".{table}' for table in PROJECT_TABLES]
            tables += ["hardwon.project", "hardwon.token", "hardwon.migrated"]
            found = {table: run(f"SELECT t::text FROM {table} t ORDER BY 1") for table in tables}
            return found | {sql: run(sql) for sql in SET_UP}


def fill(url: str, project: str, word: str) -> dict[str, str]:
    """Something in every table."""
    with Memory(url, project) as memory:
        about: Any = {"tags": [word], "related_files": [{"path": f"{word}.py"}]}
        fact = memory.record_fact(f"The {word} is loud.", "observation", **about)
        fix = memory.record_fix(ISSUE | {"description": word}, True, True, word, [f"fix {word}"])
        episode = memory.record_episode(word, 1.0, mistakes=[word], successes=[word])
        doomed = memory.record_fact("to be forgotten", "error")
        memory.verify(fact.id, "human_approval")
        memory.forget(doomed.id)
        with memory.care.once(word.encode(), b"said"):
            asked = memory.record_fact(f"asked for {word}", "error")
        came = Fact(content=f"{word} came from elsewhere", fact_type="error")
        memory.care.take_in([came])
        with memory._project.store.write(project) as writer:
            writer.set_embedder(project, word, 2)
            writer.keep_vectors(project, [(fact.id, bytes(8))])
            writer.set_state(project, word, 7)
        events = memory._project.store.list_events(project, fact.id)
        (verified,) = [event for event in events if event.kind == "status"]
    made = {"fact": fact, "fix": fix, "episode": episode, "asked": asked, "came": came}
    return {name: one.id for name, one in made.items()} | {"event": verified.id}


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    url = postgres_server.fresh_database()
    link = Link(url)
    setup.initialise(link, [A, B])
    with psycopg.connect(url, autocommit=True) as connection:
        schemas = schemas_of(connection)
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
    made = Place(url, schemas, logins)
    made.of_a, made.of_b = fill(url, A, "trumpet"), fill(url, B, SECRET)
    with Memory(url, B) as memory:
        memory.tokens.create("beta's", "read")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ANALYZE")
        for table in PROJECT_TABLES:
            rows = connection.execute(f'SELECT 1 FROM "{schemas[B]}".{table}'.encode()).fetchall()
            assert rows, f"nothing in {table} that could be seen"
    yield made
    postgres_server.drop(url)
    for login in logins.values():
        postgres_server.server().run(f"DROP ROLE {login}")


@pytest.fixture(scope="module", autouse=True)
def _nothing_of_b_changed(place: Place) -> Iterator[None]:
    before = place.dump()
    yield
    assert place.dump() == before


NOBODY = "nobody"
"""Neither a level of A may, nor anybody else."""

INSERTED_BY_WRITERS = ("embedder", "record_vector", "request")
DECIDING = ("status", "superseded", "absent", "present", "stale", "fresh", "undone", "forgotten")


def copied(schema: str, table: str) -> str:
    """Some columns are the server's own."""
    own = {"record_text": "seq, length, vouched, terms, often"}
    own |= {"event": "id, record_id, kind, at_us, body"}
    into = f"{table} ({own[table]})" if table in own else table
    chosen = f"SELECT {own.get(table, '*')} FROM {{a}}.{table}"
    return f"INSERT INTO {schema}.{into} {chosen} ON CONFLICT DO NOTHING"


def on_tables() -> Iterator[tuple[str, str]]:
    """Statement, and from which level on it is allowed: `{a}` and `{b}` are the schemas."""
    for table in PROJECT_TABLES:
        yield f"SELECT * FROM {{a}}.{table}", READER
        yield f"COPY (SELECT * FROM {{a}}.{table}) TO STDOUT", READER
    for table in PROJECT_TABLES:
        inserted = WRITER if table in INSERTED_BY_WRITERS else GOVERNOR
        yield copied("{a}", table), inserted
        yield f"UPDATE {{a}}.{table} SET {{first of {table}}} = {{first of {table}}}", GOVERNOR
        yield f"DELETE FROM {{a}}.{table}", GOVERNOR
        yield f"TRUNCATE {{a}}.{table}", NOBODY
        yield f"ALTER TABLE {{a}}.{table} OWNER TO CURRENT_USER", NOBODY
        yield f"DROP TABLE {{a}}.{table}", NOBODY
        yield f"COPY {{a}}.{table} FROM PROGRAM 'echo'", NOBODY
        for of_b in (
            "SELECT * FROM {b}.%s", "INSERT INTO {b}.%s DEFAULT VALUES", copied("{b}", table), "DELETE FROM {b}.%s",
            "MERGE INTO {b}.%s t USING (SELECT 1) s ON true WHEN MATCHED THEN DELETE", "TRUNCATE {b}.%s",
        ):  # fmt: skip
            yield of_b.replace("%s", table), NOBODY


def on_functions(place: Place) -> Iterator[tuple[str, str]]:
    """What a writer may say only so far."""
    fact, asked = place.of_a["fact"], place.of_a["asked"]

    def called(name: str, row: dict[str, Any]) -> str:
        return f"SELECT * FROM {{a}}.{name}({psycopg.sql.quote(json.dumps([row]))})"

    for kind in DECIDING:
        status = "archived" if kind == "status" else None
        honest = event_columns(Event(record_id=fact, kind=kind, by="mallory", status=status))
        yield called("add_events", honest), NOBODY
        yield called("add_events", {**honest, "kind": "credited"}), NOBODY
        values = ", ".join(psycopg.sql.quote(value) for value in honest.values())
        yield f"INSERT INTO {{a}}.event ({', '.join(honest)}) VALUES ({values})", GOVERNOR
    came = place.of_a["came"]
    for kind, record_id, allowed in (
        ("credited", fact, WRITER),
        ("repeated", fact, WRITER),
        ("imported", fact, NOBODY),  # it is verified
        ("imported", asked, NOBODY),  # it was recorded here
        ("imported", came, WRITER),
    ):
        helped = True if kind == "credited" else None
        event = Event(record_id=record_id, kind=kind, by="ann", helped=helped)
        yield called("add_events", event_columns(event)), allowed
    retires = Event(record_id=came, kind="imported", by="ann", status="archived")
    yield called("add_events", event_columns(retires)), NOBODY

    row = build_row(a_fact(A))
    body = row.body
    plain = {"id": row.id, "kind": "fact", "at_us": row.at_us, "author": "ann", "body": body}
    plain |= {"digest": "00", "status": "hypothesis", "validation": None, "helped": 0}
    plain |= {"hindered": 0, "terms": "", "length": 0, "often": "", "tags": [], "files": []}
    published = body.replace('"hypothesis"', '"published"')
    verified = json.dumps({"status": "verified"})
    yield called("add_records", plain), WRITER
    for claim in (
        {"status": "verified", "validation": verified},
        {"status": "verified", "body": body.replace('"hypothesis"', '"verified"')}, {"status": "published"},
        {"status": "published", "body": published}, {"body": published}, {"status": None},
        {"validation": json.dumps({"status": "published"})},
        {"kind": "decision", "status": "verified", "validation": verified}, {"helped": 1000}, {"hindered": 1},
        {"helped": None}, {"author": "bob"}, {"id": new_id()}, {"at_us": row.at_us + 1}, {"kind": "fix"},
        {"lessons": [["tool", "pytest", "", 2, 0]]},
    ):  # fmt: skip
        yield called("add_records", {**plain, **claim}), NOBODY
    harmless = ("follow_growth()", "count_terms()", "set_state('mine', 1)", "drop_requests()")
    for call in (f"credit('{fact}')", *harmless):
        yield f"SELECT {{a}}.{call}", WRITER
    yield "SELECT nextval('{a}.record_seq_seq')", GOVERNOR
    yield "SELECT {a}.drop_derived(1)", GOVERNOR
    yield called("insert_records", plain), GOVERNOR
    fresh = event_columns(Event(record_id=fact, kind="fresh", by="x"))
    yield called("insert_events", fresh), GOVERNOR
    yield f"SELECT {{a}}.rewrite_record(1, {psycopg.sql.quote(json.dumps([plain]))})", GOVERNOR
    for call in ("add_records('[]')", "add_events('[]')", "credit('')", *harmless):
        yield f"SELECT * FROM {{b}}.{call}", NOBODY
    yield "SELECT nextval('{b}.record_seq_seq')", NOBODY
    yield "SELECT last_value FROM {b}.record_seq_seq", NOBODY


WAYS_OUT = (
    "SET session_replication_role = replica", "CREATE TABLE {a}.mine (x int)", "CREATE SCHEMA mine",
    "CREATE FUNCTION {a}.sum(float8) RETURNS float8 LANGUAGE sql AS 'SELECT 1.0'",
    "CREATE OR REPLACE FUNCTION {a}.credit(text) RETURNS void LANGUAGE sql AS ''",
    "ALTER FUNCTION {a}.add_records SECURITY INVOKER",
    "CREATE TRIGGER mine AFTER INSERT ON {a}.record EXECUTE FUNCTION " "suppress_redundant_updates_trigger()",
    "CREATE RULE mine AS ON SELECT TO {a}.tally DO INSTEAD SELECT 1", "DROP SCHEMA {a} CASCADE",
    "ALTER SCHEMA {a} OWNER TO CURRENT_USER", "ALTER SEQUENCE {a}.record_seq_seq RESTART",
    "SELECT setval('{a}.record_seq_seq', 1)", "GRANT ALL ON SCHEMA {b} TO CURRENT_USER",
    "GRANT {b_reader} TO CURRENT_USER", "SET ROLE {b_reader}", "SELECT * FROM hardwon.project",
    "UPDATE hardwon.project SET schema = '{b}'", "INSERT INTO hardwon.migrated VALUES (99)",
    "SELECT * FROM hardwon.token", "INSERT INTO hardwon.token VALUES ('x', 'x', '', 'admin', NULL, 0, NULL, NULL)",
    "ALTER DATABASE {database} SET search_path = ''", "ALTER ROLE CURRENT_USER SUPERUSER",
    "SELECT * FROM pg_statistic", "SELECT pg_read_file('/etc/passwd')",
)  # fmt: skip


@pytest.mark.parametrize("who", [*ACCESS, "nobody"])
def test_each_level_may_do_what_the_table_says_and_no_more(place: Place, who: str) -> None:
    names = {"a": place.schemas[A], "b": place.schemas[B], "b_reader": place.role(B, READER)}
    names["database"] = quote_name(str(psycopg.conninfo.conninfo_to_dict(place.url)["dbname"]))
    with psycopg.connect(place.url) as connection:
        for table in PROJECT_TABLES:
            sql = "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum = 1"
            found = connection.execute(sql, [f"{place.schemas[A]}.{table}"]).fetchall()
            names[f"first of {table}"] = quote_name(found[0][0])
    cases = [*on_tables(), *on_functions(place), *((sql, NOBODY) for sql in WAYS_OUT)]
    reached = [] if who == "nobody" else list(ACCESS[: ACCESS.index(who) + 1])
    wrong = []
    with psycopg.connect(place.as_login(who)) as connection:
        for sql, level in cases:
            for name, value in names.items():
                sql = sql.replace(f"{{{name}}}", value)
            allowed, seen = tried(connection, sql)
            assert SECRET not in seen
            if allowed != (level in reached):
                wrong.append(f"{sql}: {seen}")
    assert wrong == []


def tried(connection: psycopg.Connection[Any], sql: str) -> tuple[bool, str]:
    """Whether a statement is allowed, and all that it shows."""
    try:
        with connection.transaction(force_rollback=True):
            if sql.endswith("TO STDOUT"):
                with connection.cursor().copy(sql.encode()) as copied:
                    return True, repr([bytes(part) for part in copied])
            cursor = connection.execute(sql.encode())
            return True, repr(cursor.fetchall() if cursor.description else [])
    except psycopg.errors.InsufficientPrivilege as error:
        return False, str(error)


WAYS_TO_A_ROLE = ["SET ROLE {}", "SET SESSION AUTHORIZATION {}", "GRANT {} TO CURRENT_USER"]
WAYS_TO_A_ROLE += ["SELECT set_config('role', '{1}', false)"]


def test_other_roles_are_out_of_reach(place: Place) -> None:
    forbidden = [place.role(B, access) for access in ACCESS]
    forbidden += [OWNER, KEEPER, "postgres", place.logins["both"]]
    for access in ACCESS:
        with psycopg.connect(place.as_login(access), autocommit=True) as connection:
            above = [place.role(A, level) for level in ACCESS[ACCESS.index(access) + 1 :]]
            for role, way in product((*forbidden, *above), WAYS_TO_A_ROLE):
                statement = way.format(quote_name(role), role)
                with pytest.raises(psycopg.Error) as caught:
                    connection.execute(statement.encode())
                assert caught.value.sqlstate in ("42501", "22023", "0LP01"), statement
            # a role for every login has to be one's own
            for role in (place.role(B, READER), OWNER, "postgres"):
                connection.execute(
                    f"ALTER ROLE CURRENT_USER SET role TO {quote_name(role)}".encode()
                )
                with psycopg.connect(place.as_login(access)) as later:
                    found = later.execute("SELECT current_user").fetchall()
                    assert found == [(place.logins[access],)]
            connection.execute("ALTER ROLE CURRENT_USER RESET role")


@pytest.mark.parametrize("who", ACCESS)
def test_statistics_and_names_of_another_project_are_not_shown(place: Place, who: str) -> None:
    with psycopg.connect(place.as_login(who)) as connection:
        reached = connection.execute("SELECT name, schema, level FROM hardwon.reachable").fetchall()
        assert {name for name, _, _ in reached} == {A}
        assert {level for _, _, level in reached} == set(ACCESS[: ACCESS.index(who) + 1])
        shown = connection.execute("SELECT schemaname, s::text FROM pg_stats s").fetchall()
        assert {schema for schema, _ in shown} & {place.schemas[B], "hardwon"} <= {"hardwon"}
        assert SECRET not in repr(shown)
        # A condition that tells what it sees is not asked about rows of others.
        tells = "$$ BEGIN RAISE NOTICE 'saw %', $1; RETURN true; END $$"
        made = f"RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS {tells}"
        connection.execute(f"CREATE FUNCTION pg_temp.tell(text) {made}".encode())
        heard: list[str] = []
        connection.add_notice_handler(lambda notice: heard.append(str(notice.message_primary)))
        connection.execute("SELECT 1 FROM hardwon.reachable WHERE pg_temp.tell(name)")
        assert heard
        assert not any(B in text for text in heard)


def test_names_that_hide_ours_are_not_taken_for_them(place: Place) -> None:
    """A function with the owner's rights finds the tables of its schema."""
    a = place.schemas[A]
    with psycopg.connect(place.as_login(WRITER)) as connection:
        run = connection.execute
        run(f"CREATE TEMP TABLE record AS SELECT * FROM {a}.record WITH NO DATA".encode())
        run("CREATE FUNCTION pg_temp.has(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true'")
        run("CREATE OPERATOR pg_temp.= (LEFTARG = text, RIGHTARG = text, FUNCTION = pg_temp.has)")
        run(f"SET LOCAL search_path = pg_temp, {a}, pg_catalog".encode())
        row = event_columns(deciding(place.of_a["fact"]))
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            run("SELECT * FROM add_events(%s)", [json.dumps([row])])


def test_the_keeper_of_tokens_reaches_no_project(place: Place) -> None:
    with psycopg.connect(place.as_login("keeper"), autocommit=True) as connection:
        assert connection.execute("SELECT count(*) FROM hardwon.token").fetchall() == [(1,)]
        for schema in place.schemas.values():
            for table in PROJECT_TABLES:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(f"SELECT 1 FROM {schema}.{table}".encode())


def test_a_key_of_ones_own_rolls_nobody_back(place: Place) -> None:
    """What is believed is asked of decisions alone, which a writer cannot make."""
    with Memory(place.as_login(WRITER), A) as memory:
        row = build_row(a_fact(A))
        claimed = row._replace(keys=("rollback:user",))
        with memory._project.store.write(A) as writer:
            writer.append([claimed])
        assert memory._project.store.rolled_back(A) == set()
        assert memory.recall("trumpet")
    with Memory(place.as_login(GOVERNOR), A) as memory:
        memory.forget(row.id)


def a_fact(project: str) -> Fact:
    moment = Moment(timestamp=at(5))
    metadata = Metadata(project_id=project, context=moment, source=Source(author="ann"))
    return Fact(id=new_id(at(5)), content="A fact.", fact_type="error", metadata=metadata)


def deciding(record_id: str) -> Event:
    return Event(record_id=record_id, kind="status", by="mallory", status="archived")


Ids = dict[str, str]
StoreCase = Callable[[Store, str, Ids], Any]

# Every reading goes through one of these ways to a project.
READS: dict[str, StoreCase] = {
    "get": lambda store, project, ids: store.get(project, ids["fact"]),
    "page": lambda store, project, _: store.page(project, EVERYTHING, None, 9),
    "search": lambda store, project, _: store.search(project, [SECRET], EVERYTHING, 9),
    "nearest": lambda store, project, _: store.nearest(project, [1.0, 0.0], EVERYTHING, 9),
    "stream": lambda store, project, _: list(store.stream(project)),
    "counts": lambda store, project, _: store.counts(project),
    "untrue_tallies": lambda store, project, _: store.untrue_tallies(project),
    "check": lambda store, project, _: list(store.check(project)),
}


@pytest.fixture(params=ACCESS)
def store(place: Place, request: pytest.FixtureRequest) -> Iterator[PostgresStore]:
    opened = PostgresStore(place.as_login(request.param))
    yield opened
    opened.close()


class TestStore:
    def test_neither_reads_nor_writes_another(self, store: PostgresStore, place: Place) -> None:
        for read in READS.values():
            read(store, A, place.of_a)
            with pytest.raises(ForbiddenError, match=f"does not reach project '{B}'"):
                read(store, B, place.of_b)
        for alone in (True, False):
            refused = pytest.raises(ForbiddenError, match=f"does not reach project '{B}'")
            with refused, store.write(B, alone=alone):
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
        uses = (keep.all, lambda: keep.get("x"), lambda: keep.add(row, 2**62))
        for use in (*uses, lambda: keep.revoke([row.id], 0)):
            with pytest.raises(ForbiddenError):
                use()


def test_a_memory_does_as_much_as_its_login_may(place: Place) -> None:
    with Memory(place.as_login(READER), A) as memory:
        assert memory.recall("trumpet")
        assert memory.recall(SECRET) == []
        assert wrong_with(memory) == []
        with pytest.raises(ForbiddenError, match="as writer"):
            memory.record_fact("x", "error")
    with Memory(place.as_login(WRITER), A) as memory:
        kept = memory.record_fact("a writer records", "error")
        memory.credit(kept.id, True, by="bob")
        for number in range(4):
            memory.record_episode("task", number / 4, mistakes=["a mistake"])
        for name, *words in (
            ("verify", kept.id, "human_approval"),
            ("forget", kept.id),
            ("archive", kept.id, "because"),
            ("rollback", "user"),
        ):
            with pytest.raises(ForbiddenError, match="--as governor"):
                getattr(memory, name)(*words)
        assert memory.care.decisions() == []
    with Memory(place.as_login(GOVERNOR), A) as memory:
        memory.verify(kept.id, "human_approval")
        assert memory.forget(kept.id).ids == [kept.id]
        assert memory.get(kept.id) is None
    refused = pytest.raises(ForbiddenError, match="does not reach")
    with Memory(place.as_login("nobody"), A) as memory, refused:
        memory.stats()


def test_a_grant_that_is_taken_back_is_gone_at_once(place: Place) -> None:
    link = Link(place.url)
    with Memory(place.as_login("nobody"), A) as memory:
        setup.grant(link, place.logins["nobody"], A, WRITER)
        memory.record_fact("while it may", "error")
        roles = [place.role(A, access) for access in (READER, WRITER)]
        assert setup.revoke(link, place.logins["nobody"], A) == roles
        for use in (lambda: memory.record_fact("no longer", "error"), memory.stats):
            with pytest.raises(ForbiddenError, match="grant"):
                use()
    link.close()
