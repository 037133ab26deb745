"""Older fix-history databases: plain SQLite files with a table `fix_history`, written by other
programs.

Reading never changes a byte of the file. `claim` is for the one case where a memory takes the
file's place: the new content is copied over the old in one transaction of SQLite's own. A file that
is renamed into place would not do: whoever still has the old one open finds the new one's log under
the name that it knows, and writes its own pages into it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import apsw

from hardwon import limits
from hardwon.errors import BusyError, DamagedError, ForeignFileError, PlaceError, StorageError
from hardwon.outside import files
from hardwon.records.fields import read_json
from hardwon.store.sqlite import connection as store
from hardwon.store.sqlite.connection import APPLICATION_ID, measure_size

# Columns of an older fix history's table. The documents have 14; each one more may hold a text that
# its record must hold.
FIX_HISTORY_COLUMNS_MAX: Final = 200

# One row as it lies in the file, of which a record keeps RECORD_BYTES_MAX at most. Decoded and
# looked through it takes ten times as much memory.
FIX_HISTORY_ROW_BYTES_MAX: Final = 16 * limits.MIB

FIX_TABLE: Final = "fix_history"
_READ: Final = (FIX_TABLE, "issue_patterns", "model_characteristics")
# Patterns, and models, of which what was added up is kept: a knowledge base shows no more.
_ADDED_UP_MAX: Final = 1_000

_NEEDED_COLUMNS: Final = frozenset(
    {"id", "timestamp", "model_name", "issue_type", "description", "fix_commands", "fix_success"}
)
_HEADER_BYTES: Final = 100
# where in the header it says whether there are logs, how often it was changed, and whose it is
_FORMAT, _CHANGES, _OWNER = slice(19, 20), slice(24, 28), slice(68, 72)
# What SQLite's check says of values that break a rule of their table: such rows are odd, not
# damaged.
_HARMLESS: Final = ("NULL value in", "NUMERIC value in", "TEXT value in", "CHECK", "non-")


class LegacyRow(dict[str, Any]):
    """A row by its columns' names in lower case. `undecoded`: columns whose text was not what the
    file's encoding allows, and has replacement characters now. `too_large`: so many bytes, of which
    nothing was read but the id.
    """

    def __init__(self) -> None:
        self.undecoded: list[str] = []
        self.too_large = 0


def read_header(path: Path) -> bytes:
    """The first bytes of a database; none of what is no database. Read through SQLite: closing a
    file of our own would drop locks on it.
    """
    flags = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY
    try:
        file = apsw.VFSFile("", str(path), [flags, 0])
        try:  # a shorter file is none of SQLite's, and reading beyond its end an error
            start = file.xRead(_HEADER_BYTES, 0) if file.xFileSize() >= _HEADER_BYTES else b""
        finally:
            file.xClose()
    except apsw.Error as error:
        reason = f"cannot read {path} ({error}): check who owns the file and its folder"
        raise PlaceError(reason) from error
    return start if start.startswith(b"SQLite format 3\0") else b""


# --- reading ---


class LegacyDatabase:
    """An older database, open, as of one instant. `written_us` is when its file was last written.
    `unlocked` is the file's state when it was opened, where no lock keeps others from writing to
    it: whatever was read then counts only if the state is still the same at the end.
    """

    def __init__(
        self, path: Path, database: apsw.Connection, written_us: int, unlocked: Any = None
    ) -> None:
        self.path, self.written_us, self._unlocked = path, written_us, unlocked
        self._connection = connection = database
        self._encoding = {"UTF-16le": "utf-16-le", "UTF-16be": "utf-16-be"}.get(
            str(connection.pragma("encoding")), "utf-8"
        )

    def count(self) -> int:
        """How many attempts it has."""
        number: int = self._connection.execute(f"SELECT count(*) FROM {FIX_TABLE} NOT INDEXED").get
        self._refuse_if_written_to()
        return number

    def has_column(self, name: str) -> bool:
        """Whether the table of fixes has a column."""
        return name in map(str.lower, self._columns(FIX_TABLE))

    def read_knowledge(self) -> dict[str, Any]:
        """What it has added up of its own, as far as it can be read: patterns, and what is noted of
        models, in the shape of a knowledge base.
        """
        patterns: dict[str, Any] = {}
        for name, row in self._read_by_name("issue_patterns", "pattern_name"):
            row["best_fix"] = read_json(str(row.get("best_fix") or "null"))
            patterns[name] = {key: value for key, value in row.items() if value is not None}
        tips: dict[str, Any] = {}
        for name, row in self._read_by_name("model_characteristics", "model_name"):
            effective = read_json(str(row.get("effective_fixes") or "[]"))
            noted = [
                row.get("performance_notes"),
                *(effective if isinstance(effective, list) else []),
            ]
            tips[name] = [tip for tip in noted if isinstance(tip, str) and tip.strip()]
        both = {"general_patterns": patterns, "model_specific_tips": tips}
        return {section: part for section, part in both.items() if any(part.values())}

    def _read_by_name(self, table: str, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
        columns = [column for column in self._columns(table) if column.lower() != "id"]
        if name not in columns:
            return
        selected = ", ".join(map(_quote, columns))
        sql = f"SELECT {selected} FROM {table} LIMIT {_ADDED_UP_MAX}"
        with suppress(UnicodeDecodeError):
            for values in self._connection.execute(sql):
                row = dict(zip(columns, values, strict=True))
                plain = {key: value for key, value in row.items() if not isinstance(value, bytes)}
                yield str(plain.pop(name, "")), plain

    def other_tables(self) -> list[str]:
        """Tables with rows that are not read."""
        sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
        names = [name for (name,) in self._connection.execute(sql) if name.lower() not in _READ]
        ask, has_rows = self._connection.execute, "SELECT EXISTS (SELECT 1 FROM {})"
        return [name for name in names if ask(has_rows.format(_quote(name))).get]

    def refuse_what_it_is_not(self) -> None:
        """Nothing is read from a file of something else, or one that is not sound."""
        columns = [name.lower() for name in self._columns(FIX_TABLE)]
        if not _NEEDED_COLUMNS.issubset(columns):
            raise ForeignFileError(
                f"{self.path} is a SQLite database without a fix history in it (no table {FIX_TABLE} that has the "
                f"columns {', '.join(sorted(_NEEDED_COLUMNS))}). It was left as it is"
            )
        if len(columns) > FIX_HISTORY_COLUMNS_MAX:
            most = f"more than {FIX_HISTORY_COLUMNS_MAX} columns"
            raise ForeignFileError(f"{self.path}: {FIX_TABLE} has {most}")
        for (line,) in self._connection.execute(f"PRAGMA quick_check({2**31 - 1})"):
            if line != "ok" and not line.startswith(_HARMLESS):
                raise DamagedError(_word_damage(self.path, line.splitlines()[-1]))

    def _columns(self, table: str) -> list[str]:
        rows = self._connection.execute(
            "SELECT c.name FROM sqlite_schema t JOIN pragma_table_xinfo(t.name) c "
            "WHERE t.type = 'table' AND lower(t.name) = ? AND t.sql NOT LIKE 'CREATE VIRTUAL%' "
            # what is computed (2) says nothing of its own, and may be of any size
            "AND c.hidden <> 2 ORDER BY c.cid",
            (table,),
        )
        return [name for (name,) in rows]

    def rows(self, after: int = 0) -> Iterator[LegacyRow]:
        """Every attempt after so many, by id. Texts come as the bytes that they are: not all of them
        can be decoded.
        """
        names = self._columns(FIX_TABLE)
        quoted = list(map(_quote, names))
        # SQLite knows the length of a value without reading it
        size = " + ".join(f"ifnull(octet_length({name}), 0)" for name in quoted)
        most = FIX_HISTORY_ROW_BYTES_MAX
        selected = ", ".join(
            f"typeof({name}) = 'text', CASE WHEN {size} > {most} AND "
            f"ifnull(octet_length({name}), 0) > {limits.NAME_CHARS_MAX} THEN NULL "
            f"WHEN typeof({name}) = 'text' THEN CAST({name} AS BLOB) ELSE {name} END"
            for name in quoted
        )
        for size_bytes, *values in self._connection.execute(
            f"SELECT {size}, {selected} FROM {FIX_TABLE} NOT INDEXED ORDER BY id LIMIT -1 OFFSET ?",
            (after,),
        ):
            row = LegacyRow()
            row.too_large = size_bytes if size_bytes > most else 0
            for name, is_text, value in zip(names, values[::2], values[1::2], strict=True):
                column = name.lower()
                is_read = is_text and value is not None
                row[column] = value.decode(self._encoding, "replace") if is_read else value
                if is_read and row[column].encode(self._encoding) != value:
                    row.undecoded.append(column)
            yield row
        self._refuse_if_written_to()

    def _refuse_if_written_to(self) -> None:
        log = _beside(self.path, "-wal")
        if self._unlocked and (_state(self.path) != self._unlocked or measure_size(log)):
            reason = "was written to while it was read; nothing was changed, try again"
            raise BusyError(f"{self.path} {reason}")


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def is_ours(path: Path) -> bool:
    """Whether the file says that it is a Hardwon memory."""
    return read_header(path)[_OWNER] == APPLICATION_ID.to_bytes(4, "big")


@contextmanager
def open_database(path: Path) -> Iterator[LegacyDatabase]:
    """An older fix history, to be read. What is none, or is not sound, is refused."""
    _refuse_no_database(path)
    # A database that has logs, and none at present, is read without making one beside it. Nothing
    # locks it then.
    alone = read_header(path)[_FORMAT] == b"\2" and not measure_size(_beside(path, "-wal"))
    before = _state(path)
    how = "mode=ro&immutable=1" if alone else "mode=ro"
    with _legacy_errors(path), closing(_connect(path, how)) as connection:
        connection.execute("BEGIN")
        history = LegacyDatabase(path, connection, before[0] // 1000, before if alone else None)
        history.refuse_what_it_is_not()
        yield history


def _connect(path: Path, how: str) -> apsw.Connection:
    """`how` is what SQLite's names of files allow: mode=ro, mode=rw."""
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(f"file:{quote(str(path))}?{how}", flags=flags)
    store.be_patient(connection)
    # a table without a key is sorted by id, and may be larger than the memory
    for setting in ("trusted_schema = OFF", "cell_size_check = ON", "temp_store = FILE"):
        connection.execute(f"PRAGMA {setting}").fetchall()
    return connection


def _refuse_no_database(path: Path) -> None:
    if not path.is_file():
        name_it = "name the older database, which was called ai_memory.db"
        raise PlaceError(f"there is no file {path}: {name_it}")
    if not read_header(path):
        what = "no SQLite database, or it is encrypted, cut off, or its beginning is destroyed"
        raise ForeignFileError(f"{path} is {what}. It was left as it is")
    if is_ours(path):
        raise ForeignFileError(
            f"{path} is a Hardwon memory already, no older database: open it, or merge it into another"
        )


@contextmanager
def _legacy_errors(path: Path) -> Iterator[None]:
    try:
        with store.storage_errors(path):
            yield
    except DamagedError as error:
        if isinstance(error.__cause__, apsw.Error | UnicodeDecodeError):
            raise DamagedError(_word_damage(path, error.__cause__)) from error
        raise
    except PlaceError as error:
        if not isinstance(error.__cause__, apsw.Error):
            raise
        if isinstance(error.__cause__, apsw.ReadOnlyError):
            raise PlaceError(
                f"whoever wrote {path} was interrupted, and left a journal beside it that must be played back first: "
                "open it once with the program that it belongs to, then try again. It was left as it is"
            ) from error
        raise PlaceError(
            f"cannot read {path} ({error.__cause__}): check who owns it and its folder; a database with a log (-wal) "
            "beside it is best copied, with its log, to a folder of your own"
        ) from error


def _word_damage(path: Path, why: object) -> str:
    return (
        f"{path} is damaged ({why}). It was left as it is: use a backup of it, or let SQLite's own shell save what "
        "can be read (sqlite3 FILE .recover) and adopt that"
    )


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def companions(path: Path) -> tuple[Path, Path, Path]:
    """What SQLite may have put beside a database."""
    return _beside(path, "-journal"), _beside(path, "-wal"), _beside(path, "-shm")


def _state(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size, status.st_ino


# --- taking its place ---


class ClaimedDatabase(LegacyDatabase):
    """An older database that nobody else can write to."""

    @property
    def identity(self) -> int:
        """Another number for another database, or another state of it; never 0."""
        return hash(_state(self.path)) or 1

    def copy_to(self, target: Path) -> None:
        """A complete copy, on disk when this returns, checked. There must be no such file."""
        files.create(target).close()
        # A connection that holds the write lock cannot be copied from; beside it, others may read.
        with (
            closing(_connect(self.path, "mode=ro")) as origin,
            closing(apsw.Connection(str(target))) as copy,
        ):
            copy.execute("PRAGMA synchronous = OFF").fetchall()  # the finished file is synced once
            with copy.backup("main", origin, "main") as backup:
                backup.step(-1)
            LegacyDatabase(target, copy, self.written_us).refuse_what_it_is_not()
        handle = os.open(target, os.O_RDONLY)
        files.share_like(handle, self.path)
        os.close(handle)
        os.utime(target, ns=(self.written_us * 1000, self.written_us * 1000))
        files.sync(target)

    def become(self, staged: Path) -> None:
        """Takes over the content of a finished memory, in one transaction: a kill leaves the old
        content or the new.
        """
        changes = read_header(self.path)[_CHANGES]
        self._connection.execute("COMMIT")  # a copy begins a transaction of its own
        with (
            closing(store.connect(staged)) as origin,
            self._connection.backup("main", origin, "main") as switch,
        ):
            switch.step(1)  # from here on the file is locked again
            if read_header(self.path)[_CHANGES] != changes or measure_size(
                _beside(self.path, "-wal")
            ):
                reason = "was written to by another program; nothing was changed, try again"
                raise BusyError(f"{self.path} {reason}")
            # Before it is a memory, which is its owner's alone, unless a group shared it. It may be
            # somebody else's.
            if not files.is_shared(self.path):
                with suppress(OSError):
                    self.path.chmod(files.FILE_MODE)
            switch.step(-1)


@contextmanager
def claim(path: Path) -> Iterator[ClaimedDatabase]:
    """Holds the write lock of an older fix history. A log is folded into the file first."""
    _refuse_no_database(path)
    written_us = path.stat().st_mtime_ns // 1000
    with _legacy_errors(path), closing(_connect(path, "mode=rw")) as connection:
        connection.execute("PRAGMA synchronous = FULL").fetchall()
        # Folding its log in, SQLite allows only where nobody else has the file open. In a file
        # without a log nobody needs that: whoever has it open sees what it became.
        in_use = "is in use by another program: close it, then try again. Nothing was changed"
        try:
            if connection.pragma("journal_mode") == "wal":
                connection.pragma("journal_mode", "delete")
        except apsw.BusyError as error:
            raise BusyError(f"{path} {in_use}") from error
        connection.execute("BEGIN IMMEDIATE")
        if connection.pragma("journal_mode") == "wal":
            raise BusyError(f"{path} {in_use}")
        if connection.pragma("application_id") == APPLICATION_ID:
            raise ForeignFileError(f"{path} has become a Hardwon memory meanwhile: open it")
        claimed = ClaimedDatabase(path, connection, written_us)
        claimed.refuse_what_it_is_not()
        yield claimed


def remove_empty(path: Path) -> None:
    """Takes away a regular file of 0 bytes without a log or journal beside it. Its lock is held
    meanwhile, so that nobody is just beginning to write to it.
    """
    if not _is_empty(path) or any(map(files.exists, companions(path)[:2])):
        return
    with _legacy_errors(path), closing(_connect(path, "mode=rw")) as connection:
        connection.execute("BEGIN EXCLUSIVE")  # the journal that is there now is ours
        if _is_empty(path) and not files.exists(_beside(path, "-wal")):
            path.unlink()


def _is_empty(path: Path) -> bool:
    """Whether there is a file of no bytes; False where nothing is there, or what is no file."""
    try:
        status = path.stat(follow_symlinks=False)
    except FileNotFoundError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size == 0


def play_back(path: Path) -> None:
    """Where an interrupted writer left its journal: what it had begun is undone, as whoever opens
    the file next would do.
    """
    if files.exists(_beside(path, "-journal")) and read_header(path):
        with _legacy_errors(path), closing(_connect(path, "mode=rw")) as connection:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()


def refuse_open_log(staged: Path) -> None:
    """A closed memory is one file; with a log beside it, it is not finished."""
    for left in companions(staged):
        if measure_size(left):
            reason = f"was not closed properly: {left.name} is left; nothing was changed, try again"
            raise StorageError(f"{staged} {reason}")
