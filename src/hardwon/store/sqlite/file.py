"""The SQLite file itself: its format, backed up and restored; what it can say about its
own health; and the file of tokens beside it.

Nothing here opens a database with plain file functions while it may be in use: closing such a file
would drop the locks that SQLite holds on it for the whole process.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from pkgutil import get_data
from typing import BinaryIO, Final

import apsw

from hardwon import limits
from hardwon.errors import DamagedError, ForeignFileError, HardwonError, PlaceError
from hardwon.outside import files
from hardwon.store.base import check_rows
from hardwon.store.sqlite import connection as database
from hardwon.store.sqlite.connection import SqliteSession, storage_errors
from hardwon.store.sqlite.presence import File, file_at, refuse_foreign_log
from hardwon.store.types import FORMAT, Finding, Progress, TokenKeep, TokenRow

# --- health ---

WAL_FIXED_IN: Final = (3, 51, 3)
_SIDE_TABLES: Final = ("record_text", "record_tag", "record_file", "record_key", "record_vector")


def check_contents(session: SqliteSession) -> Iterator[Finding]:
    """Whether this SQLite keeps what it is given, and what is in the file: inside of one read
    transaction.
    """
    connection = session.connection
    version = apsw.sqlite_lib_version()
    fixed = tuple(map(int, version.split("."))) >= WAL_FIXED_IN
    wanted = f"{'.'.join(map(str, WAL_FIXED_IN))} or newer cannot corrupt a log checkpointed twice"
    yield Finding("sqlite", fixed, f"SQLite {version}; {wanted}")
    mode, *others = (
        connection.pragma(name) for name in ("journal_mode", "synchronous", "secure_delete")
    )
    # A backup has no log until somebody writes to it.
    durable = mode in ("wal", "delete") and others == [2, 1]
    shown = "journal_mode {}, synchronous {}, secure_delete {}".format(mode, *others)
    yield Finding("durability", durable, shown)
    yield Finding("schema", read_schema(connection) == expected_schema(), f"format {FORMAT}")
    try:
        damage = database.check_whole_file(connection)
    except apsw.IOError as error:
        damage = [f"the disk does not read it ({error})"]
    yield Finding("integrity", not damage, "; ".join(damage[:5]) or "every page and index is sound")
    if not damage:
        yield from check_rows(session, _SIDE_TABLES)


# --- schema ---

_BACKUP_STEP_PAGES: Final = 4096


def make_memory(connection: apsw.Connection) -> None:
    """In a file that is empty, in one transaction."""
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    with connection:
        connection.execute(database.SCHEMA).fetchall()
        connection.pragma("application_id", database.APPLICATION_ID)
        sql = "INSERT INTO state (project_id, name, value) VALUES ('', ?, ?)"
        connection.execute(sql, (database.FORMAT_NAME, FORMAT)).fetchall()
        database.draw_number(connection)


def read_schema(connection: apsw.Connection) -> list[tuple[str, str]]:
    """Every table and index with its definition, white space folded; without the search indexes of
    projects.
    """
    sql = (
        "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' "
        f"AND name NOT GLOB '{database.NAME}*' ORDER BY name"
    )
    # A history that was adopted may have had a second name for its analyses, and keeps it.
    return [
        (name, " ".join(definition.split()).replace(", ai_analysis TEXT)", ")"))
        for name, definition in connection.execute(sql)
    ]


@cache
def expected_schema() -> list[tuple[str, str]]:
    """The kind and text of everything in a new memory."""
    with closing(apsw.Connection(":memory:")) as connection:
        make_memory(connection)
        return read_schema(connection)


# --- backup and restore ---


def back_up(source: Path, target: Path, progress: Progress | None = None) -> str:
    """Copies the memory as of one instant, while others write; checks the copy; returns its
    SHA-256.

    The checksum is also kept beside the copy, in the form `sha256sum --check` reads.
    """
    taken = PlaceError(f"{target} exists already and is kept: choose another name for the backup")
    with database.temporary_file(target) as temporary:
        if target.exists():
            raise taken
        files.make_folder(target.parent)
        files.sweep(target.parent)
        with files.create(temporary), storage_errors(source):
            _copy_snapshot(source, temporary, progress)
            checksum = files.compute_sha256(temporary)
            files.sync(temporary)
            try:
                files.publish(temporary, target)
            except FileExistsError:
                raise taken from None
    try:
        with files.writing_atomically(checksum_file(target)) as file:
            file.write(f"{checksum}  {target.name}\n".encode())
    except HardwonError:
        files.remove(target)
        raise
    return checksum


def _copy_snapshot(source: Path, target: Path, progress: Progress | None) -> None:
    with closing(database.connect(source)) as origin, closing(apsw.Connection(str(target))) as copy:
        # the finished file is synced once, before it gets its name
        copy.execute("PRAGMA synchronous = OFF").fetchall()
        # An open read transaction pins the instant: without it every commit of another process
        # restarts the copy.
        origin.execute("BEGIN")
        origin.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        with copy.backup("main", origin, "main") as backup:
            while not backup.done:
                backup.step(_BACKUP_STEP_PAGES)
                if progress:
                    progress(backup.page_count - backup.remaining, backup.page_count)
        # a backup is one file, without a log beside it
        copy.execute("PRAGMA journal_mode = DELETE").fetchall()
        database.refuse_damage(copy, source)


def checksum_file(backup: Path) -> Path:
    """Where the checksum of a backup lies."""
    return backup.with_name(backup.name + ".sha256")


def restore(
    backup: Path, target: Path, kept_suffix: str, progress: Progress | None = None
) -> Path | None:
    """Puts a backup where the memory is. Returns where the memory that was there is kept now, or
    None.

    The backup is copied and verified first. A sound memory at the target is replaced in one
    transaction under its write lock: other processes may have it open and see either the old or the
    new one. A damaged one is moved aside.
    """
    with database.temporary_file(target) as staged:
        if not backup.is_file():
            raise PlaceError(f"there is no backup at {backup}")
        if any(companion.exists() for companion in database.list_companions(backup)):
            raise PlaceError(
                f"{backup} is a memory in use, not a backup of one (it has a log beside it): use "
                "backup to make one"
            )
        files.make_folder(target.parent)
        database.refuse_network_file_system(target.parent)
        with files.create(staged) as copy:  # until it is in place: nobody sweeps what is open
            _stage(backup, staged, copy)
            if not target.exists():
                _begin_log(staged, target)
                files.publish(staged, target)
                refuse_foreign_log(target, is_new=True)
                return None
            kept = target.with_name(f"{target.name}.{kept_suffix}")
            if kept.exists():
                raise PlaceError(f"{kept} exists already and is kept: move it away and try again")
            try:
                database.inspect_before_opening(target)
            except database.OtherProgramError:
                raise
            except (DamagedError, ForeignFileError):
                # before the name is free: whoever comes next would find nothing, and begin anew
                _begin_log(staged, target)
                # The log goes first: a log left beside a database that it does not belong to would
                # destroy the new one.
                for name in (*database.list_companions(target), target):
                    if name.exists():
                        name.rename(kept.with_name(kept.name + name.name[len(target.name) :]))
                files.sync(target.parent)
                files.publish(staged, target)
                return kept
            with storage_errors(target):
                _replace_pages(staged, target, kept, progress)
            return kept


def _stage(backup: Path, staged: Path, copy: BinaryIO) -> None:
    """A verified copy of the backup, which is only read."""
    with backup.open("rb") as origin:
        while part := origin.read(limits.MIB):
            copy.write(part)
    copy.flush()
    with suppress(FileNotFoundError):
        expected = checksum_file(backup).read_text(encoding="ascii", errors="replace").split()
        if expected[:1] != [files.compute_sha256(staged)]:
            raise DamagedError(
                f"{backup} does not match its checksum in {checksum_file(backup)}: use another backup"
            )
    with storage_errors(backup):
        try:
            with closing(apsw.Connection(str(staged), apsw.SQLITE_OPEN_READWRITE)) as connection:
                database.refuse_unless_ours(connection, backup)
                database.refuse_damage(connection, backup)
        except apsw.NotADBError as error:
            raise ForeignFileError(f"{backup} is not a backup of a Hardwon memory") from error


def _begin_log(staged: Path, target: Path) -> None:
    """Makes a copy ready to be the memory."""
    with storage_errors(target), closing(database.connect(staged)) as connection:
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
    files.sync(staged)


def _replace_pages(staged: Path, target: Path, kept: Path, progress: Progress | None) -> None:
    with (
        closing(apsw.Connection(str(staged), apsw.SQLITE_OPEN_READONLY)) as origin,
        closing(database.connect(target)) as live,
    ):
        # The first page takes the target's write lock and keeps it until the end. Only then is the
        # old content set aside: nothing can be acknowledged between the copy that is kept and the
        # switch.
        with live.backup("main", origin, "main") as switch:
            switch.step(1)
            back_up(target, kept)
            while not switch.done:
                switch.step(_BACKUP_STEP_PAGES)
                if progress:
                    progress(switch.page_count - switch.remaining, switch.page_count)
        live.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


# --- tokens ---

_TOKENS_ID: Final = 0x48574E54  # "HWNT"
_TOKENS: Final = (
    get_data(__name__, "tokens.sql") or b""
).decode() + f"PRAGMA application_id = {_TOKENS_ID};"


class TokenFile(TokenKeep):
    """The tokens of one memory, in a file of their own beside it, made with the first of them: a
    backup of the memory does not hold them, and restoring one brings no revoked token back. Never a
    token itself, only its digest.
    """

    def __init__(self, memory_file: Path) -> None:
        self._path = memory_file.with_suffix(".tokens.db")
        self._lock = threading.Lock()
        self._connection: apsw.Connection | None = None
        self._file: File | None = None

    def close(self) -> None:
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def add(self, token: TokenRow, ended_before_us: int) -> int:
        database.create_if_missing(
            self._path, lambda new: new.execute(f"BEGIN; {_TOKENS} COMMIT").fetchall()
        )
        return super().add(token, ended_before_us)

    @contextmanager
    def _transaction(self, *, writing: bool = False) -> Iterator[SqliteSession]:  # noqa: ARG002  # both are a savepoint
        """On the connection, which one thread uses at a time. Where there is no file yet, or none
        any more, it is as if there were an empty one.
        """
        with self._lock, storage_errors(self._path):
            if self._file != file_at(str(self._path)):
                self._forget()
            if self._connection is None and self._path.exists():
                self._open()
            connection = self._connection or apsw.Connection(":memory:")
            if self._connection is None:
                connection.execute(_TOKENS).fetchall()
            with connection:
                yield SqliteSession(connection)

    def _open(self) -> None:
        self._file = file_at(str(self._path))
        connection = database.connect(self._path)
        # There is no log: a commit takes its journal's name away. Were that not synced, a power cut
        # would bring the journal back, and with it the token that was revoked.
        connection.execute("PRAGMA synchronous = EXTRA").fetchall()
        if connection.pragma("application_id") != _TOKENS_ID:
            connection.close()
            raise ForeignFileError(
                f"{self._path} does not hold tokens: move it elsewhere, its name is taken"
            )
        self._connection = connection
