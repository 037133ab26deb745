"""The way to a PostgreSQL server: its address, connections, transactions in a schema, and what if
it is gone.

A transaction begins in one round trip. Where the connection turns out dead at that moment, another
one is made, for a bounded time. Where it is lost later, a statement of a read is sent once more on
another connection; of a snapshot or a write nothing is repeated, and the error says what is
certain: `ConnectionLostError` (a read), `InterruptedWriteError` (a write of which nothing was
kept). A write whose COMMIT got no answer is looked for: the server remembers how the transaction
with our number ended.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, Final
from urllib.parse import quote

from hardwon import errors, limits
from hardwon.errors import how_to_install, on_failure
from hardwon.outside.locations import is_url, without_password
from hardwon.records.fields import check_that
from hardwon.store.pool import Pool, forked_midway
from hardwon.store.postgres.schema import SCHEMA
from hardwon.store.types import PAGE_ROWS, Session, Values, Witness

# How long one host may take to answer, unless the URL says otherwise. A server that is up answers
# within a fraction.
POSTGRES_CONNECT_S: Final = 10

# The same for one that this memory has never reached: more often than not its address is wrong.
POSTGRES_FIRST_S: Final = 5.0

# How long a transaction may stay open while its process does something else. A process that hangs,
# or whose machine is gone, must not keep others waiting for its locks for ever.
POSTGRES_IDLE_S: Final = 5 * 60

try:
    import psycopg
    from psycopg.adapt import Loader
    from psycopg.conninfo import conninfo_to_dict
    from psycopg.pq import TransactionStatus
except ImportError as missing:
    raise errors.MissingExtraError(
        f"psycopg cannot be imported ({type(missing).__name__}: {missing}); {how_to_install('postgres')}"
    ) from missing

# The first pause between two tries; each is twice as long as the one before.
_PAUSE_S: Final = 0.05
# The longest pause between two tries, so that a server that is back is found soon.
_PAUSE_S_MAX: Final = 2.0
# How long what was sent may stay unconfirmed by the other machine before the connection counts as
# lost, and how long a connection without traffic stays unquestioned. Unless the URL says otherwise.
_SILENCE_S: Final = 30
# How long a statement that nobody waits for any more is given to end, before its connection is
# closed.
_CANCEL_S: Final = 2.0


class ConnectionLostError(errors.UnreachableError):
    """The connection was lost in the middle of a read: done again, it may succeed at once."""


_ALLOWED: Final = "postgresql://user@host:port/database?parameters as libpq has them; %40 for an @ in a password, %2F for a /"
_SECRET: Final = frozenset(
    {"password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key"}
)
_PORTS: Final = re.compile(r"[0-9,]*")

# A server says why it lets nobody in as text only: a failed connection has no code. What is not
# among these may pass.
_REFUSED: Final = re.compile(
    r"authentication failed|no password supplied|no pg_hba\.conf entry|role \".*\" does not exist|"
    r"permission denied|is not permitted to log in|certificate|private key|does not support SSL|"
    r"SCRAM|invalid \w+ value|definition of service|service file",
    re.IGNORECASE,
)
_NO_DATABASE: Final = re.compile(r"database \".*\" does not exist", re.IGNORECASE)

# what a server says that follows another one
_ONLY_READS: Final = psycopg.errors.ReadOnlySqlTransaction, psycopg.errors.FeatureNotSupported
_GONE: Final = frozenset({"57P01", "57P02", "57P03", "57P05", "25P03", "25P04", "53300"})
_NOT_THERE: Final = frozenset({"3D000", "3F000", "42P01", "42883"})
# What the server says by its codes, as our errors.
_LOCKED: Final = "was locked by another writer for too long; nothing was changed, try again"
_FULL: Final = "has no room: nothing was changed and everything acknowledged before is kept; free some space and try again"
_SLOW: Final = (
    f"ended a statement: it took more than {limits.POSTGRES_STATEMENT_S} seconds "
    "(limits.POSTGRES_STATEMENT_S), or somebody cancelled it"
)
_REFUSALS: Final = (
    ({"55P03", "40P01", "40001"}, errors.BusyError, _LOCKED),
    ({"53000", "53100", "53200"}, errors.FullError, _FULL),
    ({"57014"}, errors.StorageError, _SLOW),
    (_NOT_THERE, errors.PlaceError, "has no memory in it: `hardwon postgres init` makes one"),
    ({"XX001", "XX002"}, errors.DamagedError, "is damaged: restore a backup"),
)

_PARAMETER: Final = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\?(\d*)""")


# How statements that engines share tell the project, which parameter 1 is, from others.
_THIS_PROJECT: Final = re.compile(r"(?:\w+\.)?project_id = (?:\?1(?!\d)|\w+\.project_id)")


@lru_cache(maxsize=1024)
def in_postgres(sql: str) -> tuple[str, tuple[int, ...]]:
    """A statement with ?1, ?2 … as PostgreSQL wants it, with $1, $2 …, and which of its values that
    are. A bare ? follows the highest number before it.

    Statements that engines share say `project_id = ?1`, and name that column first in a list. Here
    a schema holds one project: there is no such column, nor a value for it.
    """
    sql = _THIS_PROJECT.sub("true", sql)
    if "project_id, " in sql:
        sql = sql.replace("project_id, ", "").replace("VALUES (?1, ", "VALUES (")
    used: list[int] = []

    def number_parameter(parameter: re.Match[str]) -> str:
        """The parameter with its number in a statement of the server."""
        if parameter[1] is None:
            return parameter[0]
        number = int(parameter[1] or max(used, default=0) + 1)
        if number not in used:
            used.append(number)
        return f"${used.index(number) + 1}"

    return _PARAMETER.sub(number_parameter, sql), tuple(number - 1 for number in used)


def quote_name(name: str) -> str:
    """A name (of a role, a table …) as a statement takes it."""
    return '"' + name.replace('"', '""') + '"'


# --- the address ---


@dataclass(frozen=True)
class Address:
    """Where the server is. `location` is for people and has no password."""

    url: str = field(repr=False)
    location: str
    defaults: dict[str, Any]
    secrets: tuple[str, ...] = field(repr=False)

    @classmethod
    def of(cls, url: str) -> Address:
        """Raises InvalidInputError, in which no password is to be seen either."""
        shown = without_password(url) if is_url(url) else "…"
        check_that(is_url(url) and "\0" not in url, "location", shown, _ALLOWED)
        try:
            parts = conninfo_to_dict(url)
        except psycopg.Error:
            raise errors.InvalidInputError.one("location", shown, _ALLOWED) from None
        values = {name: str(value) for name, value in parts.items() if value is not None}
        # An @ or / that was not encoded cuts a password in two, and its rest would be shown as a
        # host or a port.
        is_whole = "@" not in values.get("host", "") and _PORTS.fullmatch(values.get("port", ""))
        check_that(is_whole, "location", shown, _ALLOWED)
        secrets = {values[name] for name in _SECRET if values.get(name)}
        secrets |= {quote(secret, safe="") for secret in secrets}
        # What we say where neither the URL nor, as far as we see, the environment or a service does.
        ours: dict[str, Any] = {"fallback_application_name": "hardwon", "client_encoding": "UTF8"}
        if "service" not in values and "PGSERVICE" not in os.environ:
            if "PGCONNECT_TIMEOUT" not in os.environ:
                ours["connect_timeout"] = POSTGRES_CONNECT_S
            ours |= {"keepalives_idle": _SILENCE_S, "keepalives_interval": _SILENCE_S // 3}
            ours |= {"keepalives_count": 3, "tcp_user_timeout": _SILENCE_S * 1000}
        defaults = {name: value for name, value in ours.items() if name not in values}
        return cls(url, shown, defaults, tuple(sorted(secrets, key=len, reverse=True)))

    def mask_password(self, text: str) -> str:
        """A text of the driver, without what nobody may read."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return " ".join(text.split())

    def cause(self, error: Exception) -> Exception | None:
        """The driver's error, to be shown below ours, unless it tells a secret."""
        return None if any(secret in str(error) for secret in self.secrets) else error


# --- one connection ---


class _NumberLoader(Loader):
    """Sums of bigint are numeric in PostgreSQL, and whole numbers everywhere else."""

    def load(self, data: Any) -> int | float:
        """A whole number as one, another as a float."""
        text = bytes(data)
        try:
            return int(text)
        except ValueError:
            return float(text)


class PostgresSession(Session):
    """One connection, inside of a transaction of `Link`."""

    _process = 0  # of a session that an interrupt kept from being made whole

    def __init__(self, connection: psycopg.Connection[Any], address: Address) -> None:
        self._opened = connection
        self._address = address
        self._process = os.getpid()
        self._streams = 0
        self.schema = SCHEMA
        self._forget_transaction()

    def _forget_transaction(self) -> None:
        self._is_writing = False
        # Begins the transaction anew on another connection: once, and where a statement may be
        # repeated.
        self.reconnect: Callable[[], object] | None = None
        # The number of this transaction on the server, where it writes.
        self.transaction = ""
        self.undos: list[Callable[[], object]] = []
        self.witness = None
        self.known = None

    @property
    def _connection(self) -> psycopg.Connection[Any]:
        if os.getpid() != self._process:
            raise forked_midway()
        return self._opened

    # --- statements ---

    def select(
        self, sql: str, values: Values = (), *, often: bool = False
    ) -> list[tuple[Any, ...]]:
        return self._execute(sql, values, often).fetchall()

    def run(self, sql: str, values: Values = ()) -> int:
        return max(0, self._execute(sql, values).rowcount)

    def stream(self, sql: str, values: Values = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a large select, some at a time; other statements may run in between. For a
        snapshot, or a write.
        """
        self._streams += 1
        name = f"stream_{self._streams}"
        self._execute(f"DECLARE {name} NO SCROLL CURSOR FOR {sql}", values)
        while rows := self.select(f"FETCH {PAGE_ROWS} FROM {name}"):
            yield from rows
        self._execute(f"CLOSE {name}")  # one that is left halfway ends with the transaction

    def _execute(self, sql: str, values: Values = (), often: bool = False) -> psycopg.Cursor[Any]:
        text, used = in_postgres(sql)
        parameters = [values[place] for place in used] or None
        try:
            return self._connection.execute(text, parameters, prepare=often or None)
        except psycopg.Error as error:
            failure = self._translate(error)
            reconnect, self.reconnect = self.reconnect, None
            if reconnect is None or not isinstance(failure, ConnectionLostError):
                raise failure from self._address.cause(error)
        reconnect()
        return self._execute(sql, values, often)

    # --- transactions ---

    def begin(self, opening: str, *, is_writing: bool) -> None:
        """Runs the statements of `opening` in one round trip. The last one of a write tells the
        transaction's number.
        """
        self._forget_transaction()
        with self._own_errors():
            try:
                cursor = self._connection.execute(opening, prepare=False)
                if is_writing:
                    while cursor.nextset():
                        pass
                    ((self.transaction,),) = cursor.fetchall()
            except _ONLY_READS as error:
                if not is_writing:
                    raise
                # a server that follows another one: the one to write to is elsewhere, or to come
                self.close()
                what = "only reads, as a server in recovery or a standby does"
                raise errors.UnreachableError(self._word(error, what)) from None
        self._is_writing = is_writing

    def commit(self) -> None:
        """Raises InterruptedWriteError where no answer came; then nothing is certain yet."""
        with self._own_errors():
            answer = self._connection.execute("COMMIT", prepare=False).statusmessage
        if answer != "COMMIT":  # an error in between was passed over
            raise errors.StorageError(
                f"nothing was kept of a write to {self._address.location}: one of its statements had "
                "failed before; do it again"
            )

    def outcome(self, transaction: str) -> str:
        """How another transaction of this server ended: "committed", "aborted", "in progress"; ""
        where that is unknown.
        """
        if self._execute("SELECT pg_is_in_recovery()").fetchall() == [(True,)]:
            return ""  # a standby may not know yet
        with self._own_errors(), suppress(psycopg.errors.InvalidParameterValue):
            sql = "SELECT pg_xact_status(CAST($1 AS xid8))"
            return str(self._connection.execute(sql, [transaction]).fetchall()[0][0] or "")
        # a number that this server has not come to: it took over before ours had reached it
        return "aborted"

    def may_stand(self) -> bool:
        """Where an interrupt came in the moment of COMMIT."""
        status = self._connection.info.transaction_status
        if status == TransactionStatus.IDLE and self.transaction:
            with suppress(errors.HardwonError):
                return self.outcome(self.transaction) != "aborted"
        return status not in (TransactionStatus.INTRANS, TransactionStatus.INERROR)

    def is_sound(self) -> bool:
        """Whether the connection can be lent again; what it was in the middle of is taken back."""
        if os.getpid() != self._process:
            return False
        self._forget_transaction()
        info = self._connection.info
        if info.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
            with suppress(psycopg.Error):
                self._connection.execute("ROLLBACK", prepare=False)
        return info.transaction_status == TransactionStatus.IDLE

    def close(self) -> None:
        if os.getpid() != self._process:
            # after a fork the connection is still the parent's, and goodbye would be said in its
            # name
            return
        if self._connection.info.transaction_status == TransactionStatus.ACTIVE:
            # the server would only notice when the statement is through, and keep its locks
            with suppress(psycopg.Error):
                self._connection.cancel_safe(timeout=_CANCEL_S)
        self._connection.close()

    def __del__(self) -> None:
        self.close()

    # --- errors ---

    @contextmanager
    def _own_errors(self) -> Iterator[None]:
        """Every error of the driver, as one of ours that says what to do."""
        try:
            yield
        except psycopg.Error as error:
            raise self._translate(error) from self._address.cause(error)

    def _translate(self, error: psycopg.Error) -> errors.HardwonError:
        code = error.sqlstate
        # What has no code the server did not say: it is the driver that cannot go on.
        cannot_go_on = not code and isinstance(error, psycopg.OperationalError)
        ended = cannot_go_on or code in _GONE or str(code).startswith("08")
        if self._connection.closed or ended:
            self.close()
            if self._is_writing:
                what = "was lost during a write, of which nothing was kept: do it again"
                return errors.InterruptedWriteError(self._word(error, what))
            return ConnectionLostError(self._word(error, "was lost: try again"))
        # Whoever reaches a schema no longer, to whom it was known, finds nothing in it.
        if code == "42501" or (code in _NOT_THERE and self.schema != SCHEMA):
            user = self._connection.info.user
            what = (
                f"does not let the database user {user} do that: `hardwon postgres grant {user} "
                "--project NAME` gives access, and `--as governor` lets it decide"
            )
            return errors.ForbiddenError(self._word(error, what))
        for codes, kind, text in _REFUSALS:
            if code in codes:
                return kind(self._word(error, text))
        return errors.StorageError(self._word(error, "refused an operation: run doctor"))

    def _word(self, error: psycopg.Error, what: str) -> str:
        message = self._address.mask_password(error.diag.message_primary or str(error))
        return f"the database at {self._address.location} {what} ({message})"


def _in_transaction(settings: Mapping[str, object]) -> str:
    return "; ".join(f"SET LOCAL {name} TO {value}" for name, value in settings.items())


class _Connection(psycopg.Connection[Any]):
    def __del__(self, *_: object) -> None:
        """Says nothing: what an interrupt left behind is closed by its session, in whatever order
        the two are cleared away.
        """


def _connect(address: Address) -> PostgresSession:
    try:
        connection = _Connection.connect(
            address.url, autocommit=True, cursor_factory=psycopg.RawCursor, **address.defaults
        )
    except psycopg.Error as error:
        message = address.mask_password(
            str(error)
        )  # shown without its cause, which may hold secrets
        if _NO_DATABASE.search(message):
            raise errors.PlaceError(
                f"there is no database at {address.location} ({message}): create it, then run "
                "`hardwon postgres init`"
            ) from None
        if _REFUSED.search(message) or not isinstance(error, psycopg.OperationalError):
            raise errors.PlaceError(
                f"the server of {address.location} lets nobody in this way ({message}): check user, "
                "password, the server's pg_hba.conf, and sslmode and certificates where the URL "
                "names some"
            ) from None
        raise errors.UnreachableError(
            f"the database at {address.location} cannot be reached ({message})"
        ) from None
    session = PostgresSession(connection, address)
    connection.adapters.register_loader("numeric", _NumberLoader)
    return session


# --- the link ---


def _pauses(most_s: float) -> Iterator[None]:
    """Growing pauses, until the time is up."""
    end = time.monotonic() + most_s
    pause = _PAUSE_S
    while (left := end - time.monotonic()) > 0:
        # not in step with the others who wait
        time.sleep(min(left, pause * random.uniform(0.5, 1.0)))
        pause = min(2 * pause, _PAUSE_S_MAX)
        yield


class Link:
    """Transactions on one PostgreSQL database, for all threads of a process. Nothing is connected
    before the first one.
    """

    def __init__(self, url: str, busy_timeout_ms: int | None = None) -> None:
        self._address = Address.of(url)
        self._pool = Pool(
            self.location,
            partial(_connect, self._address),
            is_sound=PostgresSession.is_sound,
            close=PostgresSession.close,
            connections_max=limits.POSTGRES_CONNECTIONS_MAX,
        )
        busy_ms = limits.BUSY_TIMEOUT_MS if busy_timeout_ms is None else busy_timeout_ms
        settings = {
            "lock_timeout": max(1, busy_ms),  # 0: for ever
            "statement_timeout": int(limits.POSTGRES_STATEMENT_S * 1000),
            "idle_in_transaction_session_timeout": int(POSTGRES_IDLE_S * 1000),
            "jit": "off",
        }
        # Of each transaction, not of the connection: a pooler between us and the server gives that
        # to others.
        self.settings = _in_transaction(settings)
        self._was_reached = False

    @property
    def location(self) -> str:
        """The URL for people: without a password, wherever it was."""
        return self._address.location

    def reading(
        self, schema: str = SCHEMA, settings: Mapping[str, object] | None = None
    ) -> AbstractContextManager[PostgresSession]:
        """Each statement sees what was kept when it began, and is repeated once where the
        connection is lost. `settings` hold for this transaction alone.
        """
        return self._transaction("READ COMMITTED READ ONLY", schema, settings, repeats=True)

    def snapshot(
        self, schema: str, scratch: bool = False
    ) -> AbstractContextManager[PostgresSession]:
        """All statements see the same instant; `scratch`: with temporary tables of its own, of which
        nothing is kept.
        """
        return self._transaction(f"REPEATABLE READ READ {'WRITE' if scratch else 'ONLY'}", schema)

    def maintain(self, statement: str) -> None:
        """Runs a statement that cannot be part of a transaction, such as VACUUM."""
        session = self.begin("SELECT 1", is_writing=False)
        try:
            session.run(statement)
        finally:
            self._pool.give_back(session)

    def _opening(self, kind: str, schema: str, settings: Mapping[str, object] | None = None) -> str:
        # pg_temp is named last, else temporary tables would be looked at first
        path = {"search_path": f"{quote_name(schema)}, pg_catalog, pg_temp"}
        own = _in_transaction({**path, **(settings or {})})
        return f"BEGIN ISOLATION LEVEL {kind}; {self.settings}; {own}"

    @contextmanager
    def _transaction(
        self,
        kind: str,
        schema: str,
        settings: Mapping[str, object] | None = None,
        *,
        repeats: bool = False,
    ) -> Iterator[PostgresSession]:
        """A read. An interrupt (KeyboardInterrupt) can come between any two steps: what was
        borrowed is given back at the end, or when this generator is cleared away.
        """
        opening = self._opening(kind, schema, settings)
        session = None
        try:
            session = self.begin(opening, is_writing=False)
            session.schema = schema
            if repeats:
                session.reconnect = partial(self._reconnect, session, opening)
            yield session
        finally:
            if session is not None:
                self._pool.give_back(session)

    @contextmanager
    def writing(self, schema: str, lock: int, alone: bool) -> Iterator[PostgresSession]:
        """A write that is kept when the block ends without an error. Where `alone`, nobody else
        writes under the same lock meanwhile; otherwise only those who want to be alone are kept
        out.
        """
        # The number is taken last: a transaction that waits for its turn has none, and so keeps no
        # old rows alive.
        opening = (
            f"{self._opening('READ COMMITTED READ WRITE', schema)}; "
            f"SELECT pg_advisory_xact_lock{'' if alone else '_shared'}({lock:d}); "
            "SELECT CAST(pg_current_xact_id() AS text)"
        )
        session = None
        asked = False
        undos: list[Callable[[], object]] = []
        try:
            session = self.begin(opening, is_writing=True)
            session.schema = schema
            undos = session.undos
            yield session
            transaction, witness = session.transaction, session.witness
            asked = True
            try:
                session.commit()
            except errors.InterruptedWriteError:
                lost, session = session, None
                self._pool.give_back(lost)
                if not self.was_kept(schema, transaction, witness):
                    raise
            undos = []
        except errors.UnknownOutcomeError:
            undos = []  # it may have been kept, and must not lose what it refers to
            raise
        finally:
            try:
                if undos and asked and session is not None and session.may_stand():
                    undos = []  # an interrupt came in the moment of COMMIT
                for undo in undos:  # before others get their turn, where the connection lives
                    with suppress(OSError):
                        undo()
            finally:
                if session is not None:
                    self._pool.give_back(session)

    def close(self) -> None:
        self._pool.close()

    def begin(self, opening: str, *, is_writing: bool) -> PostgresSession:
        """A connection on which these statements were run; others are tried for a while where one
        is dead.
        """
        started = time.monotonic()
        pauses = _pauses(limits.POSTGRES_RETRY_S if self._was_reached else POSTGRES_FIRST_S)
        while True:
            try:
                session = self._pool.borrow()
                with on_failure(partial(self._pool.give_back, session)):
                    session.begin(opening, is_writing=is_writing)
                    self._was_reached = True
                    return session
            except errors.UnreachableError as error:
                self._pool.close_idle()
                if next(pauses, self) is self:
                    waited_s = time.monotonic() - started
                    raise errors.UnreachableError(
                        f"{error}. It was tried for {waited_s:.1f} seconds; nothing was changed. "
                        "Check that the server runs and takes connections, and that host, port and "
                        "network are right"
                    ) from None

    def _reconnect(self, session: PostgresSession, opening: str) -> None:
        """Has a session go on with another connection; the one that was lost is given back."""
        other = self.begin(opening, is_writing=False)
        session._opened, other._opened = other._opened, session._opened
        self._pool.give_back(other)

    def was_kept(self, schema: str, transaction: str, witness: Witness | None) -> bool:
        """Whether a transaction was kept whose COMMIT got no answer."""
        outcome = ""
        pauses = _pauses(limits.POSTGRES_RETRY_S)
        while True:
            with suppress(errors.UnreachableError), self.reading(schema) as session:
                outcome = session.outcome(transaction)
            if outcome in ("committed", "aborted"):
                break
            if next(pauses, self) is self:
                raise self._unknown("the server did not tell")
        kept = outcome == "committed"
        if witness is not None:
            try:
                with self.reading(schema) as session:
                    is_there = session.first(*witness) is not None
            except errors.UnreachableError:
                raise self._unknown("the server went away again") from None
            if is_there and not kept:
                raise self._unknown("the server that answers now has another history")
            # a server that crashed gives numbers again of which nothing had reached its disk
            kept = is_there
        return kept

    def _unknown(self, why: str) -> errors.UnknownOutcomeError:
        return errors.UnknownOutcomeError(
            f"the connection to {self.location} was lost while a write was being kept, and nobody "
            f"can tell whether it was ({why}): look before you do it again"
        )
