"""The way to a real PostgreSQL server, and what is certain when a connection dies."""

from __future__ import annotations

import os
import signal
import ssl
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import psycopg
import pytest
import trustme

import postgres_server
from cases import each
from hardwon import errors, limits
from hardwon.store.postgres.connection import ConnectionLostError, Link, PostgresSession
from postgres_proxy import Proxy
from postgres_server import Server
from processes import Child, Tell, free_port
from serving import wait_until

LOCK = 4711
SECRET = "Gr8heim#/@nis"
ENCODED = "Gr8heim%23%2F%40nis"


@pytest.fixture
def link(database: str) -> Iterator[Link]:
    """To a database with one table."""
    link = Link(database)
    with alone(link) as session:
        session.run("CREATE SCHEMA hardwon")
        session.run("CREATE TABLE note (id bigint PRIMARY KEY, text text NOT NULL DEFAULT '')")
    yield link
    link.close()


@pytest.fixture
def own_server() -> Iterator[Server]:
    """One that may be killed."""
    server = Server()
    columns = "id bigint PRIMARY KEY, text text NOT NULL DEFAULT ''"
    server.run(f"CREATE SCHEMA hardwon; CREATE TABLE hardwon.note ({columns})")
    yield server
    server.remove()


@pytest.fixture
def guarded_server() -> Iterator[Server]:
    """One that asks ann for her password."""
    server = Server(password=True, careful=False)
    server.run(f"CREATE ROLE ann LOGIN PASSWORD '{SECRET}'")
    yield server
    server.remove()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "POSTGRES_RETRY_S", 0.4)
    monkeypatch.setattr("hardwon.store.postgres.connection.POSTGRES_FIRST_S", 0.4)
    monkeypatch.setattr("hardwon.store.postgres.connection.POSTGRES_CONNECT_S", 2)


def process_of(session: PostgresSession) -> int:
    """That of the server that it talks to."""
    return session._connection.info.backend_pid


def name_of(url: str) -> str:
    return str(psycopg.conninfo.conninfo_to_dict(url)["dbname"])


def socket_of(server: Server) -> Path:
    return server.folder / f".s.PGSQL.{server.port}"


def alone(link: Link) -> AbstractContextManager[PostgresSession]:
    """A write that nobody else writes beside."""
    return link.writing("hardwon", LOCK, True)


def insert(link: Link, *ids: int) -> None:
    with alone(link) as session:
        for number in ids:
            session.run("INSERT INTO note (id) VALUES (?)", [number])


def ids(link: Link) -> list[int]:
    with link.reading() as session:
        return [row[0] for row in session.select("SELECT id FROM note ORDER BY id")]


@pytest.fixture
def _interruptible() -> Iterator[None]:
    """Also where whoever started the tests has them ignore interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@contextmanager
def later(seconds: float, work: Callable[[], object]) -> Iterator[None]:
    """Does something meanwhile, and waits for it to end."""
    timer = threading.Timer(seconds, work)
    timer.start()
    try:
        yield
    finally:
        timer.join()


def interrupt_asleep(database: str) -> None:
    """This process, as soon as a statement of its sleeps."""
    asleep = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"
    with psycopg.connect(database, autocommit=True) as own:
        wait_until(lambda: own.execute(asleep).fetchone())
    os.kill(os.getpid(), signal.SIGINT)


@each("url", [
    "", "brain.db", f"mysql://ann:{SECRET}@db/team", f"ann:{SECRET}@db/team",
    f"postgresql://ann:x{SECRET}@db:5432/team?sslmode=require", "postgresql://ann:Gr8heim/nis@db/team",
    "postgresql://ann:Gr8heim@nis@db/team", "postgresql://ann:Gr8heim%zznis@db/team",
    "postgresql://ann:Gr8heim://@nis@db/team", "postgresql://ann:Gr8heim",
    "postgresql://db/team?password=Gr8heim&unheard_of=1", "postgresql://db/team?p%61ssword=Gr8heim&unheard_of=1",
    "postgresql://db/te\0am",
])  # fmt: skip
def test_an_address_that_is_none_is_refused_without_showing_a_password(url: str) -> None:
    with pytest.raises(errors.InvalidInputError) as refused:
        Link(url)
    assert refused.value.field == "location"
    everything = "".join(traceback.format_exception(refused.value)) + repr(refused.value.value)
    assert "Gr8heim" not in everything
    assert "nis" not in everything.replace("psycopg", "")


def test_no_message_tells_the_password(impatient: None, guarded_server: Server) -> None:
    server = guarded_server
    right = server.tcp_url_of("postgres", "ann", ENCODED)
    with Link(right).reading() as session:
        assert session.first("SELECT current_user") == ("ann",)
    away = [server.tcp_url_of("postgres", "ann", ENCODED, free_port())]
    away += [f"postgresql://ann:{ENCODED}@nowhere.invalid/postgres"]
    wrong = [
        server.tcp_url_of("postgres", "ann", ENCODED + "x"),
        server.tcp_url_of("postgres", "bob", ENCODED),
        server.tcp_url_of("elsewhere", "ann", ENCODED),
        *(f"{right}?{said}" for said in ("sslmode=require", "sslmode=nonsense", "service=nobody")),
    ]
    kinds = dict.fromkeys(away, errors.UnreachableError) | dict.fromkeys(wrong, errors.PlaceError)
    for url, kind in kinds.items():
        with pytest.raises(errors.HardwonError) as failed, Link(url).reading():
            pass
        assert type(failed.value) is kind, failed.value
        everything = "".join(traceback.format_exception(failed.value)) + repr(failed.value)
        assert SECRET not in everything
        assert ENCODED not in everything
        assert Link(url).location in str(failed.value)
    with pytest.raises(errors.HardwonError) as failed, alone(Link(right)) as session:
        session.run(f"CREATE ROLE eve PASSWORD '{SECRET}' NONSENSE")
    assert SECRET not in "".join(traceback.format_exception(failed.value))


def test_tls_is_wanted_where_the_url_says_so(database: str, tmp_path: Path) -> None:
    ours, others = trustme.CA(), trustme.CA()
    ours.cert_pem.write_to_path(str(tmp_path / "ours.pem"))
    others.cert_pem.write_to_path(str(tmp_path / "others.pem"))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ours.issue_cert("localhost").configure_cert(tls)
    with Proxy(socket_of(postgres_server.server()), tls=tls) as proxy:
        url = f"postgresql://postgres@localhost:{proxy.port}/{name_of(database)}?hostaddr=127.0.0.1&sslmode=verify-full"
        link = Link(f"{url}&sslrootcert={tmp_path}/ours.pem")
        with link.reading() as session:
            assert session._connection.pgconn.ssl_in_use
            assert session.first("SELECT 1") == (1,)
        link.close()
        elsewhere = f"{url.replace('localhost', '127.0.0.1')}&sslrootcert={tmp_path}/ours.pem"
        for refused in (f"{url}&sslrootcert={tmp_path}/others.pem", elsewhere):
            with pytest.raises(errors.PlaceError, match="certificate"), Link(refused).reading():
                pass
    with Proxy(socket_of(postgres_server.server())) as plain:
        url = f"postgresql://postgres@localhost:{plain.port}/{name_of(database)}?hostaddr=127.0.0.1&sslmode=require"
        with pytest.raises(errors.PlaceError, match="does not support SSL"), Link(url).reading():
            pass


def test_reads_cannot_write_and_snapshots_stand_still(link: Link) -> None:
    for opened in (link.reading, link.snapshot):
        with pytest.raises(errors.StorageError, match="read-only"), opened("hardwon") as session:
            session.run("INSERT INTO note (id) VALUES (1)")
    with link.reading() as moving, link.snapshot("hardwon") as still:
        assert moving.select("SELECT id FROM note") == still.select("SELECT id FROM note") == []
        insert(link, 1)
        assert moving.select("SELECT id FROM note") == [(1,)]
        assert still.select("SELECT id FROM note") == []


def test_those_who_append_write_together_one_who_is_alone_waits(link: Link, database: str) -> None:
    hasty = Link(database, busy_timeout_ms=100)
    with link.writing("hardwon", LOCK, False) as one, link.writing("hardwon", LOCK, False) as other:
        one.run("INSERT INTO note (id) VALUES (1)")
        other.run("INSERT INTO note (id) VALUES (2)")
        with pytest.raises(errors.BusyError, match="try again"), alone(hasty):
            pass
        with hasty.writing("hardwon", LOCK + 1, True) as elsewhere:
            elsewhere.run("INSERT INTO note (id) VALUES (3)")
    with alone(link):
        for by_itself in (True, False):
            with pytest.raises(errors.BusyError), hasty.writing("hardwon", LOCK, by_itself):
                pass
    with alone(hasty) as session:
        assert session.select("SELECT id FROM note ORDER BY id") == [(1,), (2,), (3,)]
    hasty.close()


@pytest.mark.parametrize(("code", "kind", "says"), [
    *((code, errors.BusyError, "try again") for code in ("55P03", "40P01", "40001")),
    *((code, errors.FullError, "free some space") for code in ("53100", "53200")),
    ("42501", errors.ForbiddenError, "hardwon postgres grant"), ("42P01", errors.PlaceError, "hardwon postgres init"),
    ("3F000", errors.PlaceError, "hardwon postgres init"), ("XX001", errors.DamagedError, "restore a backup"),
    ("57014", errors.StorageError, "POSTGRES_STATEMENT_S"), ("22000", errors.StorageError, "run doctor"),
    ("08006", errors.InterruptedWriteError, "do it again"),
])  # fmt: skip
def test_errors_are_ours(link: Link, code: str, kind: type[errors.HardwonError], says: str) -> None:
    with pytest.raises(errors.HardwonError, match=says) as failed, alone(link) as session:
        session.run("INSERT INTO note (id) VALUES (1)")
        session.run(f"DO $$ BEGIN RAISE EXCEPTION 'because' USING ERRCODE = '{code}'; END $$")
    assert type(failed.value) is kind
    assert "because" in str(failed.value)
    assert link.location in str(failed.value)
    assert isinstance(failed.value.__cause__, psycopg.Error)
    assert ids(link) == []


def test_an_error_that_was_passed_over_is_not_taken_for_success(link: Link) -> None:
    with pytest.raises(errors.StorageError, match="nothing was kept"), alone(link) as session:
        session.run("INSERT INTO note (id) VALUES (1)")
        with pytest.raises(errors.StorageError):
            session.run("INSERT INTO note (id) VALUES (1)")
    assert ids(link) == []


def test_what_was_done_outside_is_undone_where_nothing_is_kept(link: Link) -> None:
    def refuse_when_it_is_kept(session: PostgresSession) -> None:
        session.run("CREATE TEMP TABLE once (id bigint UNIQUE DEFERRABLE INITIALLY DEFERRED)")
        session.run("INSERT INTO once VALUES (1), (1)")

    def fail(_: PostgresSession) -> None:
        raise KeyError

    for work, error in ((fail, KeyError), (refuse_when_it_is_kept, errors.StorageError)):
        undone: list[int] = []
        with pytest.raises(error), alone(link) as session:
            assert session.undos == []
            session.undos.append(lambda undone=undone: undone.append(1))  # type: ignore[misc]
            work(session)
        assert undone == [1]


def test_a_connection_that_died_meanwhile_is_replaced(link: Link) -> None:
    with link.reading() as one, link.reading() as other:
        backends = [process_of(one), process_of(other)]
    for backend in backends:
        postgres_server.server().run(f"SELECT pg_terminate_backend({backend}, 10000)")
    insert(link, 1)
    assert ids(link) == [1]
    with link.reading() as session:
        assert process_of(session) not in backends


def test_a_server_that_comes_back_is_found_again(own_server: Server) -> None:
    link = Link(own_server.url)
    insert(link, 1)
    own_server.kill()
    with later(0.5, own_server.start):
        insert(link, 2)
    own_server.stop()
    with later(0.5, own_server.start):
        assert ids(link) == [1, 2]
    with link.reading() as session:
        backend = process_of(session)
    own_server.kill_backend(backend)
    insert(link, 3)
    assert ids(link) == [1, 2, 3]
    link.close()


def test_what_is_certain_when_the_connection_is_lost_in_the_middle(own_server: Server) -> None:
    link = Link(own_server.url)
    undone: list[int] = []
    with pytest.raises(ConnectionLostError, match="try again"), link.snapshot("hardwon") as session:
        own_server.run(f"SELECT pg_terminate_backend({process_of(session)}, 10000)")
        session.select("SELECT id FROM note")
    with pytest.raises(ConnectionLostError, match="try again"), link.reading() as session:
        own_server.run(f"SELECT pg_terminate_backend({process_of(session)}, 10000)")
        # of a read, a statement is repeated once
        assert session.select("SELECT id FROM note") == []
        assert session.first("SHOW search_path") == ("hardwon, pg_catalog, pg_temp",)
        own_server.run(f"SELECT pg_terminate_backend({process_of(session)}, 10000)")
        session.select("SELECT id FROM note")

    def restart(_: int) -> None:
        own_server.kill()
        own_server.start()

    for end in (
        lambda backend: own_server.run(f"SELECT pg_terminate_backend({backend}, 10000)"),
        own_server.kill_backend,
        restart,
    ):
        refused = pytest.raises(errors.InterruptedWriteError, match="nothing was kept")
        with refused, alone(link) as session:
            session.undos.append(lambda: undone.append(1))
            session.run("INSERT INTO note (id) VALUES (1)")
            end(process_of(session))
            session.run("INSERT INTO note (id) VALUES (2)")
    assert ids(link) == []
    assert undone == [1, 1, 1]
    link.close()


def test_a_server_that_stays_away_is_given_up_in_time(own_server: Server, impatient: None) -> None:
    link = Link(own_server.url)
    insert(link, 1)
    own_server.kill()
    for opened in (link.reading(), link.snapshot("hardwon"), alone(link)):
        began = time.monotonic()
        said = r"tried for \d+\.\d seconds; nothing was changed. Check"
        with pytest.raises(errors.UnreachableError, match=said) as away, opened:
            pass
        assert 0.3 < time.monotonic() - began < 60
        assert link.location in str(away.value)
    own_server.start()
    assert ids(link) == [1]
    link.close()


def test_a_write_waits_for_the_server_that_takes_over(own_server: Server) -> None:
    link = Link(own_server.url)
    own_server.stop()
    (own_server.folder / "data/standby.signal").touch()
    own_server.start()
    assert ids(link) == []
    with link.reading() as session:
        assert session.outcome("3") == ""
    with later(0.5, lambda: own_server.run("SELECT pg_promote()")):
        insert(link, 1)
    assert ids(link) == [1]
    link.close()


@contextmanager
def cutting(database: str, cut: str, *, stays_cut: bool = False) -> Iterator[tuple[Link, Proxy]]:
    with Proxy(socket_of(postgres_server.server()), stays_cut=stays_cut) as proxy:
        link = Link(f"postgresql://postgres@127.0.0.1:{proxy.port}/{name_of(database)}")
        insert(link, 0)
        proxy.cut = cut
        yield link, proxy
        assert proxy.cuts == 1
        link.close()


def keep_one(session: PostgresSession, number: int, undone: list[int]) -> None:
    session.undos.append(lambda: undone.append(number))
    session.run("INSERT INTO note (id) VALUES (?)", [number])
    session.witness = "SELECT 1 FROM note WHERE id = ?1", [number]


@pytest.mark.parametrize(
    ("cut", "witness", "error"),
    [
        ("after", 1, None),
        ("after", None, None),
        ("before", 1, errors.InterruptedWriteError),
        ("before", None, errors.InterruptedWriteError),
        # the server calls lost what is there: it has another history
        ("before", 0, errors.UnknownOutcomeError),
        # or it gave the number again of what was lost
        ("after", 2, errors.InterruptedWriteError),
    ],
)
def test_a_write_whose_commit_got_no_answer_is_looked_for(
    link: Link,
    database: str,
    cut: str,
    witness: int | None,
    error: type[errors.StorageError] | None,
) -> None:
    undone: list[int] = []
    refused = pytest.raises(error) if error else nullcontext()
    found = ("SELECT 1 FROM note WHERE id = ?1", [witness]) if witness is not None else None
    with cutting(database, cut) as (cutter, _), refused, alone(cutter) as session:
        keep_one(session, 1, undone)
        session.witness = found
    assert ids(link) == ([0, 1] if cut == "after" else [0])
    assert undone == ([1] if error is errors.InterruptedWriteError else [])


@pytest.mark.parametrize("cut", ["before", "after"])
def test_nobody_knows_what_was_kept(link: Link, database: str, cut: str, impatient: None) -> None:
    undone: list[int] = []
    with cutting(database, cut, stays_cut=True) as (cutter, _):
        began = time.monotonic()
        failing = pytest.raises(errors.UnknownOutcomeError, match="look before you do it again")
        with failing, alone(cutter) as session:
            keep_one(session, 1, undone)
        assert time.monotonic() - began < 60
    assert undone == []
    assert ids(link) == ([0] if cut == "before" else [0, 1])


def test_a_link_works_on_both_sides_of_a_fork(link: Link) -> None:
    insert(link, 1)
    assert Child.start(lambda _: insert(link, 2)).wait() == 0
    insert(link, 3)
    assert ids(link) == [1, 2, 3]


def test_a_fork_in_the_middle_leaves_the_parent_its_transaction(link: Link) -> None:
    with alone(link) as session:
        session.run("INSERT INTO note (id) VALUES (1)")

        def misuse(_: Tell) -> None:
            for work in (
                lambda: insert(link, 2),
                lambda: session.run("INSERT INTO note (id) VALUES (3)"),
                session.commit,
            ):
                with pytest.raises(errors.StorageError, match="forked in the middle"):
                    work()
            link._pool.give_back(session)
            session.close()

        assert Child.start(misuse).wait() == 0
        session.run("INSERT INTO note (id) VALUES (4)")
    assert ids(link) == [1, 4]


@pytest.mark.usefixtures("_interruptible")
def test_an_interrupt_ends_the_statement_and_the_transaction(link: Link, database: str) -> None:
    undone: list[int] = []
    with later(0, lambda: interrupt_asleep(database)):
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt), alone(link) as session:
            session.undos.append(lambda: undone.append(1))
            session.run("INSERT INTO note (id) VALUES (1)")
            session.run("SELECT pg_sleep(60)")
        assert time.monotonic() - began < 50
    assert undone == [1]
    insert(link, 2)
    assert ids(link) == [2]


@pytest.mark.usefixtures("_interruptible")
@pytest.mark.parametrize("is_too_late", [False, True])
def test_an_interrupt_while_a_write_is_kept(link: Link, database: str, is_too_late: bool) -> None:
    undone: list[int] = []
    with alone(link) as session:
        then = "RETURN NULL" if is_too_late else "RAISE"
        sleeps = f"PERFORM pg_sleep(60); RETURN NULL; EXCEPTION WHEN query_canceled THEN {then};"
        function = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
        session.run(f"{function} $$ BEGIN {sleeps} END $$")
        how = "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()"
        session.run(f"CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON note {how}")
    interrupting = later(0, lambda: interrupt_asleep(database))
    with interrupting, pytest.raises(KeyboardInterrupt), alone(link) as session:
        keep_one(session, 1, undone)
    assert (ids(link), undone) == (([1], []) if is_too_late else ([], [1]))
    with alone(Link(database, busy_timeout_ms=100)) as other:
        assert other.first("SELECT 1") == (1,)


class Interrupted(BaseException):
    """Comes from a clock, between any two steps."""


def test_interrupts_free_locks(database: str, link: Link, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds, interrupted, kept = 150, 0, 0
    session: PostgresSession | None = None
    while_clearing_away: list[object] = []  # there Python can only tell of an interrupt
    keep = while_clearing_away.append
    monkeypatch.setattr(sys, "unraisablehook", lambda told: keep(told.exc_type))

    def interrupt(*_: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for number in range(rounds):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0001 + number % 50 * 0.00004)
                with alone(link) as session:
                    session.run("INSERT INTO note (id) VALUES (?)", [number])
                    session.run("UPDATE note SET text = 'both' WHERE id = ?", [number])
                kept += 1
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Interrupted:
                interrupted += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert interrupted > 10
    assert set(while_clearing_away) <= {Interrupted}
    session = None
    with alone(Link(database, busy_timeout_ms=3000)) as other:
        assert other.select("SELECT id FROM note WHERE text <> 'both'") == []
        assert len(other.select("SELECT id FROM note")) >= kept
    insert(link, rounds + 1)
    assert link._pool._in_use() == []
