"""How SQLite runs and words the statements that engines share, what its errors mean, when a
connection can be lent again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import apsw

from hardwon.errors import BusyError, DamagedError, FullError, PlaceError, StorageError
from hardwon.records.kinds import SOLVED_FROM
from hardwon.store.types import Dialect, Session, Values


class SqliteSession(Session):
    """A connection that somebody has borrowed."""

    connection: apsw.Connection

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection

    def select(self, sql: str, values: Values = ()) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql, values).fetchall()

    def first(self, sql: str, values: Values = ()) -> tuple[Any, ...] | None:
        return self.connection.execute(sql, values).fetchone()

    def run(self, sql: str, values: Values = ()) -> int:
        self.connection.execute(sql, values)
        return self.connection.changes()

    def run_many(self, sql: str, rows: Iterable[Values]) -> None:
        self.connection.executemany(sql, rows)

    def each(self, sql: str, values: Values = ()) -> Iterator[tuple[Any, ...]]:
        yield from self.connection.execute(sql, values)


class SqliteDialect(Dialect):
    """Row numbers are those of the whole file, so they tell the project too."""

    least = "min"
    greatest = "max"
    join = "CROSS JOIN"
    solved = (
        "CASE WHEN r.kind = 'experience' THEN CASE r.outcome WHEN 'success' THEN 1 WHEN 'failure' "
        "THEN 0 END WHEN json_valid(r.body) THEN CASE r.kind "
        "WHEN 'fix' THEN (r.body ->> '$.fix_success') AND (r.body ->> '$.verification_success') "
        f"WHEN 'episode' THEN (r.body ->> '$.score') >= {SOLVED_FROM} "
        f"WHEN 'trajectory' THEN (r.body ->> '$.final_reward') >= {SOLVED_FROM} END END"
    )

    forgotten = (
        "SELECT value FROM json_each(?2) WHERE EXISTS (SELECT 1 FROM event WHERE project_id = ?1 "
        "AND record_id = value AND kind = 'forgotten') "
        "OR EXISTS (SELECT 1 FROM tree_forgotten WHERE project_id = ?1 AND id = value)"
    )
    glob_operator = "GLOB"
    hint = " INDEXED BY {}".format
    within = "{} IN (SELECT value FROM json_each({}))".format
    same_text = "record_text.seq = {}.seq".format
    gathered = "json_group_array({} ORDER BY {})".format
    said = "{}.body ->> '{}'".format
    given = "CASE WHEN json_valid(r.body) THEN r.body ->> {} END".format
    # A CASE, because json_each refuses what is no JSON, and conditions come in any order.
    has_key = (
        "CASE WHEN r.kind = 'experience' AND json_valid(r.body) THEN EXISTS (SELECT 1 FROM "
        "json_each(r.body) AS given WHERE given.key = {} AND CAST(given.value AS TEXT) = {}) "
        "ELSE 0 END"
    ).format

    names_entity = (
        "CASE WHEN json_valid(r.body) THEN EXISTS (SELECT 1 FROM json_tree(r.body, '$.entities') "
        "WHERE type = 'text' AND value = {}) ELSE 0 END"
    )

    def inside(self, *names: str) -> str:
        return f"CASE WHEN json_valid(r.body) THEN r.body ->> '$.{'.'.join(names)}' END"

    def listed(self, values: Iterable[Any]) -> str:
        return json.dumps(list(values))

    def glob(self, pattern: str) -> str:
        return pattern

    def make_fresh_tallies(self, session: Session) -> None:
        session.run("DROP TABLE IF EXISTS temp.fresh")
        for (definition,) in session.select("SELECT sql FROM sqlite_schema WHERE name = 'tally'"):
            session.run(definition.replace("CREATE TABLE tally", "CREATE TABLE temp.fresh", 1))

    def insert_many(
        self,
        session: Session,
        table: str,
        columns: Mapping[str, str],
        rows: Iterable[Values],
        also: str,
    ) -> None:
        marks = ", ".join(f"?{number}" for number in range(1, len(columns) + 1))
        session.connection.executemany(
            f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}) {also}", rows
        )


SQLITE: Final = SqliteDialect()

# In the table `state`, of no project: what a transaction drew, in the lower half, and what the one
# before it had drawn.
NUMBER_NAME: Final = "number of the last transaction"
NUMBER_MAX: Final = 2**30 - 1
_EIGHT_BYTES: Final = 2**62  # always so many, so that the row stays where it is on its page


def draw_number(connection: apsw.Connection) -> None:
    """By which `sqlite.log` tells which log is which file's. In a transaction, before it is kept,
    and only once: a second one would follow a number that no file ever had.
    """
    number = int.from_bytes(os.urandom(4), "big") % NUMBER_MAX + 1
    connection.execute(
        "INSERT INTO state (project_id, name, value) VALUES ('', ?1, ?2) "
        f"ON CONFLICT DO UPDATE SET value = excluded.value | ((value & {NUMBER_MAX}) << 32)",
        (NUMBER_NAME, _EIGHT_BYTES | number),
    )


# --- errors ---

_DISK_REFUSED: Final = frozenset(
    {
        apsw.SQLITE_IOERR_WRITE,
        apsw.SQLITE_IOERR_FSYNC,
        apsw.SQLITE_IOERR_DIR_FSYNC,
        apsw.SQLITE_IOERR_TRUNCATE,
        apsw.SQLITE_IOERR_SHMSIZE,
        apsw.SQLITE_IOERR_SHMMAP,
    }
)

# The file has less in it than it says.
CUT_OFF: Final = frozenset({apsw.SQLITE_IOERR_SHORT_READ, apsw.SQLITE_IOERR_CORRUPTFS})


def is_cut_off(error: apsw.IOError) -> bool:
    return getattr(error, "extendedresult", 0) in CUT_OFF


ERRORS: Final = (apsw.Error, UnicodeDecodeError)


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Every error of SQLite, as one of ours that says what to do."""
    try:
        yield
    except ERRORS as error:
        raise translated(error, path) from error


def translated(error: apsw.Error | UnicodeDecodeError, path: Path) -> StorageError:
    if isinstance(error, apsw.BusyError):
        return BusyError(
            f"{path} was locked by another writer for too long; nothing was changed, try again"
        )
    if isinstance(error, apsw.FullError) or getattr(error, "extendedresult", 0) in _DISK_REFUSED:
        return FullError(
            f"no room to write {path}: the disk, a quota or the bound on the memory's size is "
            f"reached. Nothing was changed "
            "and everything acknowledged before is kept; free some space and try again"
        )
    if isinstance(error, apsw.CorruptError | apsw.NotADBError | UnicodeDecodeError):
        return DamagedError(
            f"{path} is damaged ({error}). It was left as it is: copy it aside, then restore a "
            f"backup"
        )
    if isinstance(
        error, apsw.ReadOnlyError | apsw.CantOpenError | apsw.PermissionsError | apsw.AuthError
    ):
        return PlaceError(
            f"{path} cannot be opened for writing ({error}): check who owns the file and its folder"
        )
    return StorageError(
        f"SQLite refused an operation on {path} ({error}): check the disk, and run doctor"
    )


def is_sound(connection: apsw.Connection) -> bool:
    """Whether a connection can be lent again; what it was in the middle of is taken back."""
    try:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    except apsw.Error:  # it may be closed already
        return False
    return True


def clear_after(error: BaseException | None, connection: apsw.Connection) -> None:
    """Where the disk fails in the middle of a transaction, SQLite takes it back, but FTS5 may go on
    to remember what it was about to write, and would write it with the next one: words of records
    that nobody has. So the connection reads the schema anew, which has FTS5 begin anew. It stays
    open: on a full disk there may be no room to open another.
    """
    if isinstance(error, apsw.Error) and not isinstance(error, apsw.BusyError):
        try:
            connection.execute("PRAGMA writable_schema = RESET").fetchall()
        except apsw.Error:
            connection.close()
