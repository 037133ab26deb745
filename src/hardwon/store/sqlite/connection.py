"""Connections to a SQLite file: how statements are run and worded on one, what their errors mean;
the index of words; and how a file is created whole, or looked at before it is trusted.

Nothing here or in `file.py` opens a database with plain file functions while it may be in use:
closing such a file would drop the locks that SQLite holds on it for the whole process.

The words of a project's records are indexed by FTS5: a table for each project of a file. So nothing
that one project holds shows in what another one finds, and a small project is searched quickly
beside a large one. The index keeps no texts of its own: it reads them from a view of `record_text`.
Three columns are searched: the terms, the forms of words as they were written, which count less, and
the marks, which count nothing: whose a record is (`@a…`), and whether somebody vouches for it (`@v`)
or not (`@u`).
"""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import Path
from pkgutil import get_data
from typing import Any, Final
from urllib.parse import quote

import apsw

from hardwon import errors, limits
from hardwon.outside import files
from hardwon.records.kinds import VOUCHED_STATUSES
from hardwon.search.rank import FORM_WEIGHT
from hardwon.store.query import is_whole, plain_body
from hardwon.store.types import Dialect, Session, Values, refuse_other_format
from hardwon.text.terms import TERM_PUNCTUATION

APPLICATION_ID: Final = 0x48415244  # "HARD": tells our files from every other SQLite database
# In the table `state`, of no project.
FORMAT_NAME: Final = "format"
SCHEMA: Final = (get_data(__name__, "schema.sql") or b"").decode()

# A file up to this size is checked whole whenever it is opened: a few milliseconds. Larger ones are
# checked where they are read, and whole by `doctor`.
OPEN_CHECK_BYTES_MAX: Final = 1 * limits.MIB

# Pages that a connection keeps in memory. A day's tallies fit: each write touches as many of their
# pages as it has lessons. Each recall reads forty or more.
_PAGE_CACHE_BYTES: Final = 32 * limits.MIB
# Statements that a connection keeps ready: what was not used among the last so many is made ready
# anew, which for one of many joins takes longer than to run it. A context has a dozen.
_STATEMENTS_KEPT: Final = 1_000
# The log's file is cut back to this after a large transaction; an everyday one leaves some
# megabytes.
_LOG_KEPT_BYTES: Final = 64 * limits.MIB

# --- statements ---


@dataclass(eq=False)
class SqliteSession(Session):
    """A connection that somebody has borrowed."""

    connection: apsw.Connection

    def begin_anew(self) -> None:
        """Where the disk fails in the middle of a transaction, SQLite takes it back, but FTS5 may
        go on to remember what it was about to write, and would write it with the next one: words of
        records that nobody has. So the connection reads the schema anew, which has FTS5 begin anew.
        It stays open: on a full disk there may be no room to open another.
        """
        try:
            self.run("PRAGMA writable_schema = RESET")
        except apsw.Error:
            self.connection.close()

    def select(
        self,
        sql: str,
        values: Values = (),
        *,
        often: bool = False,  # noqa: ARG002  # the driver keeps what it prepared by itself
    ) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql, values).fetchall()

    def run(self, sql: str, values: Values = ()) -> int:
        self.connection.execute(sql, values)
        return self.connection.changes()

    def stream(self, sql: str, values: Values = ()) -> Iterator[tuple[Any, ...]]:
        yield from self.connection.execute(sql, values)


def _make_fresh_tallies(session: Session) -> None:
    session.run("DROP TABLE IF EXISTS temp.fresh")
    for (definition,) in session.select("SELECT sql FROM sqlite_schema WHERE name = 'tally'"):
        session.run(definition.replace("CREATE TABLE tally", "CREATE TABLE temp.fresh", 1))


@cache  # every append says it
def _write_insert(table: str, columns: tuple[str, ...], also: str) -> str:
    marks = ", ".join("?" * len(columns))
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}) {also}"


def _insert_many(
    session: Session, table: str, columns: Sequence[str], rows: Iterable[Values], also: str
) -> None:
    session.connection.executemany(_write_insert(table, tuple(columns), also), rows)


# Row numbers are those of the whole file, so they tell the project too. A CASE around what reads
# JSON: it refuses what is none, and conditions come in any order.
SQLITE: Final = Dialect(
    least="min",
    greatest="max",
    join="CROSS JOIN",
    forgotten=(
        "SELECT value FROM json_each(?2) WHERE EXISTS (SELECT 1 FROM event WHERE project_id = ?1 "
        "AND record_id = value AND kind = 'forgotten') "
        "OR EXISTS (SELECT 1 FROM tree_forgotten WHERE project_id = ?1 AND id = value)"
    ),
    glob_operator="GLOB",
    names_entity=(
        "CASE WHEN json_valid(r.body) THEN EXISTS (SELECT 1 FROM json_tree(r.body, '$.entities') "
        "WHERE type = 'text' AND value = {}) ELSE 0 END"
    ),
    hint=" INDEXED BY {}".format,
    within="{} IN (SELECT value FROM json_each({}))".format,
    gather="json_group_array({} ORDER BY {})".format,
    event_says="{}.body ->> '{}'".format,
    experience_says=(
        "CASE WHEN json_valid(r.body) THEN (SELECT CASE WHEN g.type IN ('true', 'false') THEN g.type "
        "ELSE CAST(g.value AS TEXT) END FROM json_each(r.body) AS g WHERE g.key = {}) END"
    ).format,
    body_says=lambda *names: (
        f"CASE WHEN json_valid(r.body) THEN hardwon_plain(r.body) ->> '$.{'.'.join(names)}' END"
    ),
    list_values=lambda values: json.dumps(list(values)),
    glob=str,
    make_fresh_tallies=_make_fresh_tallies,
    insert_many=_insert_many,
)

# The number of a transaction, by which `sqlite.log` tells which log is which file's: what it drew,
# and in the lower half what the one before it had drawn. It is the `user_version` in the first page
# of the file; those of 0.x had the number of their format there.
_DRAWN_BITS: Final = 15  # and a sign
_NUMBER_MIN: Final = 1 << 16


def drawn_in(number: int) -> int:
    """What the transaction of a number drew."""
    return number >> 16


def drawn_before(number: int) -> int:
    """What the transaction before that of a number drew."""
    return number & 0xFFFF


def draw_number(connection: apsw.Connection) -> None:
    """In a transaction, before it is kept, and only once: a second one would follow a number that
    no file ever had.
    """
    before = last_number(connection)
    drawn = secrets.randbelow((1 << _DRAWN_BITS) - 1) + 1
    own = drawn << 16 | (drawn_in(before) if before >= _NUMBER_MIN else 0)
    connection.execute(f"PRAGMA user_version = {own}", can_cache=False).fetchall()


def last_number(connection: apsw.Connection) -> int:
    """Another one after every transaction."""
    number: int = connection.pragma("user_version")
    return number


# --- errors ---

_REFUSED: Final = "WRITE FSYNC DIR_FSYNC TRUNCATE SHMSIZE SHMMAP".split()
_DISK_REFUSED: Final = {getattr(apsw, f"SQLITE_IOERR_{name}") for name in _REFUSED}

# The file has less in it than it says.
CUT_OFF: Final = frozenset({apsw.SQLITE_IOERR_SHORT_READ, apsw.SQLITE_IOERR_CORRUPTFS})


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Every error of SQLite, as one of ours that says what to do."""
    try:
        yield
    except (apsw.Error, UnicodeDecodeError) as error:
        raise _translate(error, path) from error


def _translate(error: apsw.Error | UnicodeDecodeError, path: Path) -> errors.StorageError:
    code = getattr(error, "extendedresult", 0)
    if isinstance(error, apsw.BusyError):
        return errors.BusyError(
            f"{path} was locked by another writer for too long; nothing was changed, try again"
        )
    if isinstance(error, apsw.FullError) or code in _DISK_REFUSED:
        return errors.FullError(
            f"no room to write {path}: the disk, a quota or the bound on the memory's size is "
            "reached. Nothing was changed and everything acknowledged before is kept; free some "
            "space and try again"
        )
    if code == apsw.SQLITE_READONLY_DBMOVED:
        return errors.LostFileError(
            f"{path} was removed or replaced just now; nothing was changed, try again"
        )
    if isinstance(error, apsw.CorruptError | apsw.NotADBError | UnicodeDecodeError):
        return _damage(path, error)
    if isinstance(
        error, apsw.ReadOnlyError | apsw.CantOpenError | apsw.PermissionsError | apsw.AuthError
    ):
        return errors.PlaceError(
            f"{path} cannot be opened for writing ({error}): check who owns the file and its folder"
        )
    return errors.StorageError(
        f"SQLite refused an operation on {path} ({error}): check the disk, and run doctor"
    )


def _damage(path: Path, what: object) -> errors.DamagedError:
    return errors.DamagedError(
        f"{path} is damaged ({what}). It was left as it is: copy it aside, then restore a backup"
    )


# --- words ---

NAME: Final = "words_"
VOUCHED: Final = "@v"
_SOURCE: Final = "@a"


def make_source_mark(author: str) -> str:
    """The word by which a source's texts are found."""
    return _SOURCE + author.encode(errors="surrogatepass").hex()


@lru_cache(maxsize=1024)
def make_marks(author: str, status: str) -> str:
    """The words by which a text is found, besides its own: its source, and whether it is vouched for."""
    return f"{make_source_mark(author)} {VOUCHED if status in VOUCHED_STATUSES else '@u'}"


@lru_cache
def index_name(project: str) -> str:
    """Of its table; that of its vocabulary and its view begin with it. Names of tables are the same
    in capital letters, those of projects are not.
    """
    return NAME + blake2b(project.encode(errors="surrogatepass"), digest_size=8).hexdigest()


class WordIndex:
    """The index of one project, for one session."""

    def __init__(self, session: SqliteSession, project: str) -> None:
        self._session, self.project, self.name = session, project, index_name(project)

    @property
    def exists(self) -> bool:
        # asked of the file, not of the connection, which may not know yet what others made
        sql = "SELECT 1 FROM sqlite_schema WHERE name = ?"
        return self._session.first(sql, (self.name,)) is not None

    def set(self, name: str, value: object) -> None:
        """One of FTS5's settings."""
        self._session.run(
            f"INSERT INTO {self.name} ({self.name}, rank) VALUES (?, ?)", (name, value)
        )

    # --- writing ---

    def make(self) -> None:
        """The view of the project's texts, and the index of them."""
        quoted = self.project.replace("'", "''")
        split = "instr(t.terms || char(10), char(10))"
        self._session.run(
            f"CREATE VIEW {self.name}_texts AS SELECT t.seq, substr(t.terms, 1, {split} - 1) AS terms, "
            f"substr(t.terms, {split} + 1) AS forms, t.marks FROM record r JOIN record_text t ON t.seq = "
            f"r.seq WHERE r.project_id = '{quoted}'"
        )
        self._session.run(
            f"CREATE VIRTUAL TABLE {self.name} USING fts5 (terms, forms, marks, "
            f"content = '{self.name}_texts', content_rowid = 'seq', "
            f"tokenize = \"ascii tokenchars '{TERM_PUNCTUATION}'\")"
        )
        self.set("secure-delete", 1)
        self.set("rank", f"bm25(1.0, {FORM_WEIGHT}, 0.0)")

    def remove(self, seq: int) -> None:
        sql = "SELECT terms, marks FROM record_text WHERE seq = ?"
        for terms, marks in self._session.select(sql, (seq,)):
            # what the index says of a text, it must be told to take it back
            columns = f"{self.name}, rowid, terms, forms, marks"
            take_back = f"INSERT INTO {self.name} ({columns}) VALUES ('delete', ?, ?, ?, ?)"
            self._session.run(take_back, (seq, *terms.partition("\n")[::2], marks))
            self._session.run("DELETE FROM record_text WHERE seq = ?", (seq,))

    def mark(self, seq: int, marks: str) -> None:
        """Where its marks are others by now."""
        sql = "SELECT terms FROM record_text WHERE seq = ? AND marks <> ?"
        for (terms,) in self._session.select(sql, (seq, marks)):
            self.remove(seq)
            add_texts(self._session, self.project, [(seq, terms, marks)])

    def rebuild(self) -> None:
        """The index without a trace of what is no longer in it."""
        self._session.run(f"INSERT INTO {self.name} ({self.name}) VALUES ('rebuild')")
        # A new index is of the older format until something is deleted from it. FTS5 says so in the
        # file, but does not tell the other connections: one that remembers the newer format would
        # write it without saying so, and to whoever opens the file next it would be damaged. A
        # setting, whatever its value, has them all look again.
        self.set("secure-delete", 1)

    def remembers_erasure(self) -> bool:
        """FTS5 removes erased terms from its leaves, but keeps some as signposts between leaves.
        Whether there is a signpost to which no living term leads any more.
        """
        vocabulary = self._vocabulary()
        sql = f"SELECT term FROM {vocabulary} WHERE term >= ? LIMIT 1"
        for signpost in self._session.column(f"SELECT term FROM main.{self.name}_idx"):
            # Its first byte names the index; a signpost may end within a character, so it is
            # compared as bytes.
            beginning = bytes(signpost)[1:]
            terms = self._session.column(sql, (beginning.decode(errors="ignore"),))
            if beginning and not any(term.encode().startswith(beginning) for term in terms):
                return True
        return False

    # --- asking ---

    def _vocabulary(self) -> str:
        """Every term with how many records have it (`doc`), for this connection."""
        name = f"temp.{self.name}_terms"
        self._session.run(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS {name} USING fts5vocab ('main', '{self.name}', 'row')"
        )
        return name

    def has(self, term: str) -> bool:
        """Whether any text has it."""
        sql = f"SELECT 1 FROM {self.name} WHERE {self.name} MATCH ? LIMIT 1"
        return self._session.first(sql, (f'"{term}"',)) is not None

    def having(self, term: str) -> int:
        """How many texts have it."""
        sql = f"SELECT doc FROM {self._vocabulary()} WHERE term = ?"
        return self._session.value(sql, (term,)) or 0

    def sources(self) -> dict[str, int]:
        """The marks of all sources, with how many texts each has."""
        sql = f"SELECT term, doc FROM {self._vocabulary()} WHERE term >= ? AND term < ?"
        return dict(self._session.select(sql, (_SOURCE, "@b")))


def add_texts(session: SqliteSession, project: str, texts: Sequence[tuple[int, str, str]]) -> None:
    """Numbers of records that have no text yet, with their terms and marks. The project's index is
    made with its first record.
    """
    session.connection.executemany("INSERT INTO record_text VALUES (?, ?, ?)", texts)
    rows = [(seq, *terms.partition("\n")[::2], marks) for seq, terms, marks in texts]
    sql = f"INSERT INTO {index_name(project)} (rowid, terms, forms, marks) VALUES (?, ?, ?, ?)"
    try:
        session.connection.executemany(sql, rows)
    except apsw.SQLError:
        index = WordIndex(session, project)
        if index.exists:
            raise
        index.make()
        session.connection.executemany(sql, rows)


# From one to the next by the index: going through all records takes a second for each million.
PROJECTS: Final = (
    "WITH RECURSIVE next (name) AS (SELECT min(project_id) FROM record UNION ALL "
    "SELECT (SELECT min(project_id) FROM record WHERE project_id > name) FROM next WHERE "
    "name IS NOT NULL) SELECT name FROM next WHERE name IS NOT NULL"
)


def indexes_in(session: SqliteSession) -> list[WordIndex]:
    """Of all projects that have records."""
    return [WordIndex(session, str(project)) for project in session.column(PROJECTS)]


# --- before it is open ---

_PAGE_BYTES: Final = 4096
_UNREAD: Final = r"unable to get the page\. error code=(\d+)"


def connect(
    path: Path, bytes_max: int = limits.MEMORY_BYTES_MAX, busy_timeout_ms: int | None = None
) -> apsw.Connection:
    """A connection as every reader and writer uses it. The file must exist."""
    connection = _open(path, apsw.SQLITE_OPEN_READWRITE)
    connection.create_scalar_function("hardwon_plain", _read_body, 1, deterministic=True)
    be_patient(connection, busy_timeout_ms)
    # A plan does not depend on what is bound. Or else a statement that an index of some rows only
    # might serve is planned anew each time, which takes longer than most of them do.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    for setting in (
        "synchronous = FULL",
        "secure_delete = ON",
        "trusted_schema = OFF",
        "cell_size_check = ON",
        "temp_store = MEMORY",
        f"cache_size = -{_PAGE_CACHE_BYTES // limits.KIB}",
        f"journal_size_limit = {_LOG_KEPT_BYTES}",
        f"max_page_count = {bytes_max // _PAGE_BYTES}",
    ):
        connection.execute(f"PRAGMA {setting}").fetchall()
    if files.is_shared(path):  # SQLite makes a log for its maker's own group
        for log in list_companions(path):
            with suppress(OSError):
                os.chown(log, -1, path.stat().st_gid)
    return connection


def is_alone_to_read(path: Path) -> bool:
    """Whether this process may only read a file that nobody has open to write. Without its log and
    the log's index, which it may not make, SQLite reads such a file only as one that never changes.
    """
    may_write = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    return not may_write and not all(map(files.exists, list_companions(path)))


def _open(path: Path, flags: int) -> apsw.Connection:
    name = str(path)
    if is_alone_to_read(path):
        name, flags = f"file:{quote(name)}?mode=ro&immutable=1", apsw.SQLITE_OPEN_READONLY
        flags |= apsw.SQLITE_OPEN_URI
    return apsw.Connection(name, flags, statementcachesize=_STATEMENTS_KEPT)


def _read_body(*values: Any) -> str:
    return plain_body(str(values[0]))


def be_patient(connection: apsw.Connection, busy_timeout_ms: int | None = None) -> None:
    """Waits for a lock up to the busy timeout (None: the usual one), trying about every
    millisecond.

    SQLite's own timeout tries ever more rarely, at last ten times a second: beside a writer that
    hardly pauses it then waits for minutes.
    """
    deadline = 0.0
    most_s = (limits.BUSY_TIMEOUT_MS if busy_timeout_ms is None else busy_timeout_ms) / 1000

    def try_again(attempts: int) -> bool:
        """Whether a statement that found the file busy is tried once more."""
        nonlocal deadline
        if attempts == 0:
            deadline = time.monotonic() + most_s
        if time.monotonic() > deadline:
            return False
        time.sleep((os.urandom(1)[0] % 100 + 50) / 100_000)  # not in step with others who wait
        return True

    connection.set_busy_handler(try_again)


@contextmanager
def temporary_file(target: Path) -> Iterator[Path]:
    """A name beside what is to be made. What is left under it goes."""
    temporary = files.temporary_beside(target)
    try:
        with files.disk_errors(target):
            yield temporary
    finally:
        files.remove(temporary, *list_companions(temporary))


def create_if_missing(path: Path, fill: Callable[[apsw.Connection], object]) -> bool:
    """Makes a database, complete from its first visible moment. False when there is a file already."""
    with files.disk_errors(path):
        if path.exists():
            return False
    with temporary_file(path) as temporary:
        files.make_folder(path.parent)
        refuse_network_file_system(path.parent)
        with files.create(temporary):  # nobody sweeps what is open
            with storage_errors(path), closing(connect(temporary)) as connection:
                fill(connection)
            try:
                files.publish(temporary, path)
            except FileExistsError:
                return False  # another process was first, and its file is as good as ours
    return True


def find_log(path: Path) -> Path:
    """The log of a memory's file."""
    return path.with_name(path.name + "-wal")


def list_companions(path: Path) -> tuple[Path, Path]:
    """The log of a memory's file, and the log's index."""
    return find_log(path), path.with_name(path.name + "-shm")


def inspect_before_opening(path: Path, busy_timeout_ms: int | None = None) -> None:
    """Refuses what is not a sound memory, read-only, so that not a byte of it changes."""
    refuse_network_file_system(path.parent)
    if not path.is_file():
        raise errors.PlaceError(f"{path} is not a file: choose another place for the memory")
    size = path.stat().st_size
    if size < _PAGE_BYTES:
        raise errors.ForeignFileError(
            f"{path} is empty or cut off, which a memory never is: restore a backup, or remove the "
            "file to start anew"
        )
    with storage_errors(path):
        try:
            with closing(_open(path, apsw.SQLITE_OPEN_READONLY)) as connection:
                be_patient(connection, busy_timeout_ms)
                refuse_unless_ours(connection, path)
                cut_off = size % _PAGE_BYTES > 0
                if cut_off and not measure_size(find_log(path)):
                    raise apsw.CorruptError("its last page is cut off")
                # The power may have gone just when the log was folded in: then the log has the page
                # that is cut off.
                if cut_off or size <= OPEN_CHECK_BYTES_MAX:
                    refuse_damage(connection, path)
        except apsw.NotADBError as error:
            raise errors.ForeignFileError(
                f"{path} is not a Hardwon memory, or its beginning is destroyed. It was left as it "
                "is: choose another place, or restore a backup"
            ) from error


def measure_size(path: Path) -> int:
    """0 where there is nothing that could be looked at."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


class OtherProgramError(errors.ForeignFileError):
    """A database that we have no business with, rather than the ruins of a memory."""


_FORMAT_OF: Final = f"SELECT value FROM state WHERE project_id = '' AND name = '{FORMAT_NAME}'"


def refuse_unless_ours(connection: apsw.Connection, path: Path) -> None:
    """Raises where the file is another program's, or of another version's format."""
    if connection.pragma("application_id") != APPLICATION_ID:
        raise OtherProgramError(
            f"{path} is a SQLite database of another program. It was left as it is: choose another "
            "place; a database of fix history is taken over by opening its folder with AIMemory"
        )
    number = last_number(connection)
    if number >= _NUMBER_MIN:  # or else it is the format, as files of 0.x had it
        number = connection.execute(_FORMAT_OF).get or 0
    refuse_other_format(str(path), number)


def refuse_damage(connection: apsw.Connection, path: Path) -> None:
    if damage := check_whole_file(connection):
        raise _damage(path, damage[0])


def check_whole_file(connection: apsw.Connection) -> list[str]:
    """What is wrong with pages, indexes and record bodies; empty when all is well. A disk that does
    not read what it has is an error, and no damage: it may read it the next time.
    """
    begun = not connection.in_transaction  # of one moment, whatever others write meanwhile
    try:
        if begun:
            connection.execute("BEGIN")
        # FTS5 compares what it remembers of its index with what is there now. Only a query has it
        # look whether another process changed the index since: without one, a sound index that
        # others wrote to seems damaged.
        for index in indexes_in(SqliteSession(connection)):
            if index.exists:
                connection.execute(f"SELECT 1 FROM {index.name} LIMIT 1").fetchall()
        checked = connection.execute("PRAGMA integrity_check(20)")
        damage = [line for (line,) in checked if line != "ok"]
        # A check of SQLite's tells of a page that the disk did not read as of one that is wrong.
        for code in map(int, re.findall(_UNREAD, "\n".join(damage))):
            if code & 0xFF == apsw.SQLITE_IOERR and code not in CUT_OFF:
                raise apsw.exception_for(code)
        kept = connection.execute("SELECT id, body, digest FROM record")
        wrong = "record {} is not what was written".format
        return damage or [wrong(name) for name, body, digest in kept if not is_whole(body, digest)]
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError, UnicodeDecodeError) as error:
        return [str(error)]
    except apsw.IOError as error:
        if getattr(error, "extendedresult", 0) not in CUT_OFF:
            raise
        return [str(error)]
    finally:
        if begun and connection.in_transaction:  # where the disk fails, SQLite ends it by itself
            connection.execute("ROLLBACK")


_TRIGGER: Final = re.compile(r"^CREATE TRIGGER (\w+).*?^END(?=;)", re.MULTILINE | re.DOTALL)
# The name and the text of each trigger of ours. Another would run with every write, in our name.
_TRIGGERS: Final = {match[1]: match[0] for match in _TRIGGER.finditer(SCHEMA)}


def refuse_strange_triggers(session: SqliteSession, path: Path) -> None:
    """Refuses a memory that would do something else than it is told."""
    triggers = dict(session.select("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"))
    if triggers != _TRIGGERS:
        wrong = ", ".join(sorted({name for name, _ in triggers.items() ^ _TRIGGERS.items()}))
        raise errors.ForeignFileError(
            f"{path} has triggers that Hardwon did not make, or lacks some that it did ({wrong}): "
            "what is written could be changed or lost. It was left as it is: restore a backup"
        )


# --- where it may lie ---

NETWORK_FILE_SYSTEMS: Final = frozenset(
    """nfs nfs4 cifs smb smb2 smb3 smbfs ncpfs 9p afs ceph glusterfs lustre beegfs gpfs orangefs davfs ocfs2 gfs2 fuse.sshfs
    fuse.s3fs fuse.rclone fuse.glusterfs fuse.davfs2 fuse.gcsfuse fuse.juicefs fuse.ceph""".split()
)
# a line of the list of mounts: where it is mounted, and its type
_MOUNTED: Final = re.compile(r"^(?:\S+ ){4}(\S+) .*? - (\S+)", re.MULTILINE)
# how the list writes blanks and backslashes
_ESCAPED: Final = re.compile(r"\\([0-7]{3})")


def find_file_system(path: Path, mounts: str) -> str:
    """The type of the file system that `path` is on, from the text of /proc/self/mountinfo; empty
    when unknown.
    """
    mounted = [
        (_ESCAPED.sub(lambda escape: chr(int(escape[1], 8)), point), kind)
        for point, kind in _MOUNTED.findall(mounts)
    ]
    # of two at the same place, the one that was mounted last
    above = [mount for mount in mounted if f"{path}/".startswith(f"{mount[0].rstrip('/')}/")]
    return max(reversed(above), key=lambda mount: len(mount[0]), default=("", ""))[1]


def refuse_network_file_system(folder: Path) -> None:
    """SQLite's write-ahead log needs shared memory and honest locks, which network file systems do
    not give.
    """
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:  # not Linux: there is no list to look at
        return
    kind = find_file_system(folder.resolve(), mounts)
    if kind in NETWORK_FILE_SYSTEMS:
        raise errors.PlaceError(
            f"{folder} is on a network file system ({kind}), where SQLite cannot keep a shared memory "
            "safe. Choose a folder on a local disk, or use PostgreSQL to share one memory between "
            "machines"
        )
