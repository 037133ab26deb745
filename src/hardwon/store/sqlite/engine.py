"""One write transaction on a SQLite file.

A memory in one SQLite file that several processes share.

WAL with synchronous FULL: a commit returns when the disk has it. Writers take their turn with BEGIN
IMMEDIATE, which never fails half-way the way a read that turns into a write does. `secure_delete`,
FTS5's `secure-delete` and an emptied log make erased text unreadable. Opening, creating, backing up
and restoring files is in `file.py`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import apsw

from hardwon import limits
from hardwon.errors import BusyError, NearlyFullWarning
from hardwon.outside import files, own_files
from hardwon.outside.locations import DEFAULT_PROJECT
from hardwon.records.kinds import Event
from hardwon.search.terms import Filters
from hardwon.store.base import (
    ROW,
    ROW_FIELDS,
    Listener,
    Store,
    Writer,
    add_tallies,
    count_differing,
    listeners,
    taught_by,
)
from hardwon.store.query import (
    embedder_of,
    found_columns,
    found_of,
    search_condition_of,
)
from hardwon.store.sqlite import search as vectors
from hardwon.store.sqlite.connection import (
    MAKE_VOCABULARY,
    SQLITE,
    OpenFile,
    SqliteSession,
    clear_after,
    draw_number,
    storage_errors,
)
from hardwon.store.sqlite.file import (
    BEFORE_UPGRADE,
    back_up,
    be_patient,
    check_contents,
    check_library,
    checksum_file,
    connect,
    create_if_missing,
    inspect_before_opening,
    log_of,
    make_memory,
    size_of,
    upgrade,
)
from hardwon.store.sqlite.log import ASIDE, refuse_foreign_log
from hardwon.store.sqlite.migrations import SCHEMA_VERSION
from hardwon.store.types import Appended, Finding, Found, Progress, Row, TokenKeep

# --- sqlite writer ---

_RELAXED: Final = "the index has words of what was packed away"
# The columns that are derived from a record and its events.
_DERIVED: Final = (
    *(name for name in ROW.split(", ") if name not in ("project_id", "id", "body", "digest")),
    "helped",
    "hindered",
)


class SqliteWriter(Writer):
    """What only SQLite does so: full text, and tables of designs. Rows are added on the bare
    connection, because every record passes there.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        super().__init__(SqliteSession(connection), SQLITE)
        self._connection = connection
        self._relaxed = False
        self._changes_before = connection.total_changes()

    def append(self, rows: Sequence[Row]) -> Appended:
        first, something_forgotten, has_tree = self._connection.execute(
            # The number of a fix is its id in the tables of fix history, and no id is given out
            # twice.
            "SELECT max(coalesce(max(seq), 0), coalesce((SELECT seq FROM sqlite_sequence WHERE "
            "name = 'fix_history'), 0)) + 1, "
            "EXISTS (SELECT 1 FROM event INDEXED BY event_forgotten WHERE kind = 'forgotten') "
            "OR EXISTS (SELECT 1 FROM tree_forgotten), EXISTS (SELECT 1 FROM tree) FROM record"
        ).get
        result = Appended([], [], [], [], bool(has_tree))
        others: list[Row] = []
        if something_forgotten and rows:
            given = rows[0].project_id, SQLITE.listed(row.id for row in rows)
            gone = {found for (found,) in self._connection.execute(SQLITE.forgotten, given)}
            others = [row for row in rows if row.id in gone]
            rows = [row for row in rows if row.id not in gone]
        numbered = list(enumerate(rows, first))
        before = self._connection.total_changes()
        self._connection.executemany(
            f"INSERT INTO record (seq, {ROW}) VALUES (?{', ?' * ROW_FIELDS}) "
            "ON CONFLICT (project_id, id) DO NOTHING",
            [(seq, *row[:ROW_FIELDS]) for seq, row in numbered],
        )
        # some id was there already, or twice among these
        if self._connection.total_changes() - before < len(rows):
            sql = "SELECT seq FROM record WHERE seq >= ?"
            new = {seq for (seq,) in self._connection.execute(sql, (first,))}
            others += [row for seq, row in numbered if seq not in new]
            numbered = [(seq, row) for seq, row in numbered if seq in new]
        if others:
            self._tell_apart(others, result)
        self._connection.executemany(
            "INSERT INTO record_text (rowid, terms) VALUES (?, ?)",
            [(seq, row.terms) for seq, row in numbered],
        )
        named = [(seq, row) for seq, row in numbered if row.tags or row.files or row.keys]
        if named:
            self._insert_names(named)
        add_tallies(self.session, self.dialect, taught_by([row for _, row in numbered]))
        for listener in listeners(self.session, {row.kind for _, row in numbered}):
            listener.on_append(numbered)
        result.added.extend([row.id for _, row in numbered])
        return result

    def _insert_names(self, rows: Sequence[tuple[int, Row]]) -> None:
        for table, names in (
            ("record_tag", "tags"),
            ("record_file", "files"),
            ("record_key", "keys"),
        ):
            self._connection.executemany(
                f"INSERT INTO {table} VALUES (?, ?, ?)",
                [(seq, name, row.project_id) for seq, row in rows for name in getattr(row, names)],
            )

    def _listeners(self, kinds: Iterable[str]) -> list[Listener]:
        return listeners(self.session, kinds)

    def _rewrite(self, seq: int, row: Row) -> None:
        changes = ", ".join(f"{name} = ?" for name in _DERIVED)
        self._connection.execute(
            f"UPDATE record SET {changes} WHERE seq = ?",
            (*(getattr(row, name) for name in _DERIVED), seq),
        )
        self._drop_derived(seq)
        self._connection.execute(
            "INSERT INTO record_text (rowid, terms) VALUES (?, ?)", (seq, row.terms)
        )
        self._insert_names([(seq, row)])

    def replace(self, row: Row) -> None:
        # To take words out of the index for good costs a hundred times as much as to mark them as
        # gone. What is packed away stays in the file anyway; where something is erased later, the
        # whole index is made anew.
        if not self._relaxed:
            self._relaxed = True
            self._delete_securely(0)
            self.set_state("", _RELAXED, 1)
        super().replace(row)

    def _delete_securely(self, value: int) -> None:
        self._connection.execute(
            "INSERT INTO record_text (record_text, rank) VALUES ('secure-delete', ?)", (value,)
        )

    def _drop_derived(self, seq: int) -> None:
        self._connection.execute("DELETE FROM record_text WHERE rowid = ?", (seq,))
        for table in ("record_tag", "record_file", "record_key"):
            self._connection.execute(f"DELETE FROM {table} WHERE seq = ?", (seq,))

    def _drop_vector(self, project: str, seq: int) -> None:
        vectors.drop(self.session, project, seq)

    def erase(self, project: str, record_ids: Sequence[str], tombstones: Sequence[Event]) -> int:
        erased = super().erase(project, record_ids, tombstones)
        if erased and not self.clean_index() and self._index_remembers():
            self._rebuild_index()
        return erased

    def clean_index(self) -> bool:
        """Makes the search index anew where it has words of what was packed away; whether it
        had.
        """
        relaxed = bool(self.state("", _RELAXED))
        if relaxed:
            self._rebuild_index()
        return relaxed

    def _rebuild_index(self) -> None:
        """The search index without a trace of what is no longer in it."""
        self._connection.execute("INSERT INTO record_text (record_text) VALUES ('rebuild')")
        # A new index is of the older format until something is deleted from it. FTS5 says so in the
        # file, but does not tell the other connections: one that remembers the newer format would
        # write it without saying so, and to whoever opens the file next it would be damaged. A
        # setting, whatever its value, has them all look again.
        self._delete_securely(1)
        self.set_state("", _RELAXED, 0)

    def finish(self) -> None:
        """Before it is kept."""
        if self._relaxed:
            self._delete_securely(1)
        if self._connection.total_changes() != self._changes_before:
            draw_number(self._connection)

    def count_as_changed(self) -> None:
        """Draws a number in any case, for what changes the file after this transaction without
        one.
        """
        self._changes_before = -1

    def set_embedder(self, project: str, name: str, dimension: int) -> None:
        vectors.set_embedder(self.session, project, name, dimension)

    def keep_vectors(self, project: str, vectors_of: Iterable[tuple[str, bytes]]) -> None:
        vectors.keep(self.session, project, vectors_of)

    def recount(self, project: str) -> None:
        super().recount(project)
        for listener in listeners(self.session):
            listener.rebuild(project)

    def number_of(self, project: str, record_id: str) -> int | None:
        return self._seq_of(project, record_id) if project == DEFAULT_PROJECT else None

    def _index_remembers(self) -> bool:
        """FTS5 removes erased terms from its leaves, but keeps some as signposts between leaves.
        Whether there is a signpost to which no living term leads any more.
        """
        run = self._connection.execute
        run(MAKE_VOCABULARY)
        for (signpost,) in run("SELECT term FROM main.record_text_idx"):
            # Its first byte names the index; a signpost may end within a character, so it is
            # compared as bytes.
            beginning = bytes(signpost)[1:]
            lower = beginning.decode(errors="ignore")
            terms = run("SELECT term FROM temp.vocabulary WHERE term >= ? LIMIT 1", (lower,))
            if beginning and not any(term.encode().startswith(beginning) for (term,) in terms):
                return True
        return False


# --- sqlite ---

_WRITES_BETWEEN_SIZE_CHECKS: Final = 64
_NEAREST_SPARE: Final = 5  # so many times as many as are wanted, in case some are archived or gone
_FIRST_SPARE: Final = 5
_FIRST_MIN: Final = 100


class SqliteStore(Store):
    """Everything the contract promises, on one file."""

    dialect = SQLITE

    def __init__(
        self,
        path: Path,
        *,
        bytes_max: int = limits.MEMORY_BYTES_MAX,
        busy_timeout_ms: int | None = None,
        may_upgrade: bool = True,
        progress: Progress | None = None,
    ) -> None:
        self._path = path
        self._bytes_max = bytes_max
        self._busy_timeout_ms = busy_timeout_ms
        self._warned = False
        self._writes = 0
        self._erasure_pending = False
        self._frequency: tuple[int, dict[str, int]] = (0, {})
        self._vectors: dict[str, tuple[tuple[str, int], vectors.Vectors]] = {}
        if not create_if_missing(path, make_memory):
            if size_of(log_of(path)):
                refuse_foreign_log(path)
            inspect_before_opening(path, busy_timeout_ms, may_upgrade=may_upgrade)
        self._file = OpenFile(path, lambda: connect(path, bytes_max, busy_timeout_ms), self)
        self._pool = self._file.pool
        with ExitStack() as on_failure:
            # nobody else can: or else this process would seem to have it open for good
            on_failure.callback(self.close)
            with self._connected() as connection:
                self._has_log = connection.pragma("journal_mode") == "wal"
                if self._has_log:
                    self._file.hold()
                if connection.pragma("user_version") < SCHEMA_VERSION:
                    upgrade(connection, path, progress)
                self._warn_when_nearly_full(connection)
            on_failure.pop_all()

    @property
    def location(self) -> str:
        return str(self._path)

    @contextmanager
    def _connected(self) -> Iterator[apsw.Connection]:
        with storage_errors(self._path):
            connection = self._pool.borrow()
            try:
                yield connection
            except apsw.Error as error:
                clear_after(error, connection)
                raise
            finally:
                self._pool.give_back(connection)

    @contextmanager
    def read(self, project: str) -> Iterator[SqliteSession]:  # noqa: ARG002  # whoever may read the file may read all
        with self._connected() as connection:
            yield SqliteSession(connection)

    @contextmanager
    def snapshot(self, project: str) -> Iterator[SqliteSession]:
        with self.read(project) as session:
            session.run("BEGIN")
            yield session  # giving it back ends the transaction

    @contextmanager
    def write(self, project: str, *, alone: bool = True) -> Iterator[SqliteWriter]:  # noqa: ARG002  # SQLite has one writer at a time, of whatever project
        # An interrupt (KeyboardInterrupt) can come between any two steps, also while leaving. What
        # was taken by then is given back at the end, or when this generator is cleared away.
        turn = self._pool.write_turn
        try:
            # Threads of this process queue on a lock, which wakes at once; processes try again and
            # again.
            if not turn.acquire(timeout=limits.BUSY_TIMEOUT_MS / 1000):
                raise BusyError(
                    f"another thread of this process was writing to {self._path} for too long; "
                    "try again"
                )
            with self._connected() as connection:
                if not self._has_log:
                    # a backup that was opened as it is stays one file, byte for byte, until now
                    connection.execute("PRAGMA journal_mode = WAL").fetchall()
                    self._file.hold()
                    self._has_log = True
                connection.execute("BEGIN IMMEDIATE")
                writer = SqliteWriter(connection)
                undos = writer.undos
                try:
                    yield writer
                    writer.finish()
                    connection.execute("COMMIT")
                    undos = []
                finally:
                    if undos and connection.in_transaction:
                        connection.execute("ROLLBACK")
                    for undo in undos:
                        with suppress(OSError):
                            undo()
                self._warn_when_nearly_full(connection)
        finally:
            # Nothing is called before: an interrupt could come in between, and the turn would be
            # this thread's for good.
            try:  # noqa: SIM105
                turn.release()
            except RuntimeError:  # it was another's all the time
                pass
        if self._erasure_pending:
            self.finish_erasure()

    def tokens(self) -> TokenKeep:
        from hardwon.store.tokens import TokenFile

        return TokenFile(self._path)

    def _warn_when_nearly_full(self, connection: apsw.Connection) -> None:
        self._writes += 1
        if self._warned or self._writes % _WRITES_BETWEEN_SIZE_CHECKS != 1:
            return
        used = connection.pragma("page_count") * connection.pragma("page_size")
        if used >= self._bytes_max * limits.MEMORY_WARN_SHARE:
            self._warned = True
            warnings.warn(
                f"the memory at {self._path} takes {used} of at most {self._bytes_max} bytes. "
                f"Forget what is no longer "
                "needed, or move to PostgreSQL, before writing is refused",
                NearlyFullWarning,
                stacklevel=5,
            )

    # --- reading ---

    def search(
        self, project: str, terms: Sequence[str], filters: Filters, limit: int
    ) -> list[tuple[Found, float]]:
        if not terms:
            return []
        where, values = search_condition_of(SQLITE, project, filters)
        match, most, first = len(values) + 1, len(values) + 2, len(values) + 3
        scored = f"SELECT rowid AS seq, -bm25(record_text) AS score FROM record_text WHERE record_text MATCH ?{match}"
        # The best by their words alone, which nearly always pass; only where too few do, all that
        # match are asked.
        sources = [f"{scored} ORDER BY bm25(record_text), rowid DESC LIMIT ?{first}", scored]
        with self._connected() as connection:
            # Who voted for a hit is read only where anybody ever did.
            voted = "SELECT EXISTS (SELECT 1 FROM tally WHERE project_id = ? AND scope = 'credit')"
            columns = found_columns(SQLITE, votes=bool(connection.execute(voted, (project,)).get))
            few = (
                connection.execute("SELECT coalesce(max(seq), 0) FROM record").get
                < limits.FIRST_BY_WORDS_FROM_RECORDS
            )
            # all of them, if need be
            for chosen in dict.fromkeys((self._rare_enough(connection, terms), tuple(terms))):
                words = " OR ".join(f'"{term}"' for term in chosen)
                for source in sources[few:]:
                    # MATERIALIZED: or else the planner would go through all records and ask each
                    # for its words. Only of the best is more read than what they are chosen by.
                    sql = (
                        f"WITH b AS MATERIALIZED ({source}), best AS MATERIALIZED (SELECT b.seq, "
                        f"b.score FROM b CROSS JOIN record r ON r.seq = b.seq WHERE {where} "
                        f"ORDER BY b.score DESC, r.at_us DESC, r.id DESC LIMIT ?{most}) "
                        f"SELECT {columns}, best.score FROM best CROSS JOIN record r ON r.seq = "
                        f"best.seq "
                        "CROSS JOIN record_text ON record_text.rowid = best.seq "
                        "ORDER BY best.score DESC, r.at_us DESC, r.id DESC"
                    )
                    given = (*values, words, limit, max(_FIRST_MIN, _FIRST_SPARE * limit))
                    rows: list[Any] = connection.execute(
                        sql, given[: most if source == scored else first]
                    ).fetchall()
                    if len(rows) >= limit:
                        break
                if rows:
                    return [(found_of(row[:-1]), row[-1]) for row in rows]
        return []

    def _rare_enough(self, connection: apsw.Connection, terms: Sequence[str]) -> tuple[str, ...]:
        """Without terms that a tenth of all records have: they cost the most and tell the least.
        How many have a term is remembered until the memory has grown, or shrunk, by a tenth.
        """
        total: int = connection.execute("SELECT coalesce(max(seq), 0) FROM record").get
        if total < limits.PRUNED_FROM_RECORDS or len(terms) <= 1:
            return tuple(terms)
        counted_at, frequency = self._frequency  # one assignment: other threads look things up too
        if (
            not 0.9 * total <= counted_at <= 1.1 * total
            or len(frequency) > limits.TERMS_REMEMBERED_MAX
        ):
            frequency = {}
            self._frequency = total, frequency
        unknown = [term for term in terms if term not in frequency]
        if unknown:
            connection.execute(MAKE_VOCABULARY).fetchall()
            for term in unknown:
                found = connection.execute(
                    "SELECT doc FROM temp.vocabulary WHERE term = ?", (term,)
                ).get
                frequency[term] = found or 0
        known = [term for term in terms if frequency.get(term)]
        rare = [term for term in known if frequency[term] <= limits.FREQUENT_SHARE * total]
        return tuple(rare or sorted(known, key=lambda term: (frequency[term], term))[:1] or terms)

    def projects(self) -> list[str]:
        # From one to the next by the index: going through all records takes a second for each
        # million.
        sql = (
            "WITH RECURSIVE next (name) AS (SELECT min(project_id) FROM record UNION ALL "
            "SELECT (SELECT min(project_id) FROM record WHERE project_id > name) FROM next WHERE "
            "name IS NOT NULL) SELECT name FROM next WHERE name IS NOT NULL"
        )
        with self._connected() as connection:
            return [str(name) for (name,) in connection.execute(sql)]

    def nearest(
        self, project: str, vector: Sequence[float], filters: Filters, limit: int
    ) -> list[tuple[Found, float]]:
        with self._connected() as connection:
            kept = embedder_of(SqliteSession(connection), project)
            if kept is None:
                return []
            known = self._vectors.get(project)
            if known is None or known[0] != kept:
                known = self._vectors[project] = kept, vectors.Vectors(project, kept[1])
            wanted = limit * _NEAREST_SPARE if filters == Filters() else None
            best = known[1].nearest(connection, vector, wanted)
            cosines = dict(best)
            where, values = search_condition_of(SQLITE, project, filters)
            within = SQLITE.within("r.seq", values.add(SQLITE.listed(cosines)))
            # NOT INDEXED: by the row numbers, not through all records of the project.
            sql = (
                f"SELECT {found_columns(SQLITE)}, r.seq FROM record r NOT INDEXED JOIN record_text "
                f"ON record_text.rowid = r.seq JOIN record_vector v ON v.seq = r.seq WHERE {where} "
                f"AND {within}"
            )
            rows: list[Any] = connection.execute(sql, values).fetchall()
        found = [(found_of(row[:-1]), cosines[row[-1]]) for row in rows]
        return sorted(found, key=lambda pair: (-pair[1], pair[0].id))[:limit]

    def untrue_tallies(self, project: str) -> int:
        with self.snapshot(project) as session:
            return count_differing(session, SQLITE, project) + sum(
                each.count_differing(project) for each in listeners(session)
            )

    # --- the file ---

    def size_bytes(self) -> int:
        with self._connected() as connection:
            pages: int = connection.pragma("page_count") * connection.pragma("page_size")
        return pages + size_of(log_of(self._path))

    def finish_erasure(self) -> bool:
        with self._connected() as connection:
            connection.set_busy_timeout(limits.ERASURE_WAIT_MS)
            try:
                busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").get
            finally:
                be_patient(connection, self._busy_timeout_ms)
        # SQLite empties the log and leaves it to the system when the disk learns of that: after a
        # power cut, what was erased would stand in it again. The log is no file that SQLite locks,
        # so that we may open it beside it.
        try:
            with suppress(FileNotFoundError):  # a backup that nobody wrote to has none
                files.sync(log_of(self._path))
        except OSError:
            busy = True
        self._erasure_pending = bool(busy)
        return not busy

    def shrink(self) -> None:
        with self.write("") as writer:
            writer.clean_index()
            writer.count_as_changed()  # VACUUM draws no number
        with self._connected() as connection:
            connection.execute("VACUUM").fetchall()
        self.finish_erasure()

    def backup(self, target: Path, progress: Progress | None) -> str:
        for written in (target, checksum_file(target)):
            own_files.refuse("path", written, self._path, "copy.db")
        return back_up(self._path, target, progress)

    def check(self, project: str) -> Iterator[Finding]:
        yield check_library()
        with self.snapshot(project) as session:
            yield from check_contents(session)
        used = self.size_bytes()
        roomy = used < self._bytes_max * limits.MEMORY_WARN_SHARE
        for name, mark, what in (
            ("logs", f"-wal{ASIDE}", "of another database, moved aside and not replayed"),
            (
                "backups",
                BEFORE_UPGRADE,
                "what it was before an upgrade or a restore, yours to remove",
            ),
        ):
            beside = sorted(each.name for each in self._path.parent.iterdir())
            begin = self._path.name + mark
            kept = [each for each in beside if each.startswith(begin)]
            if kept := [each for each in kept if not each.endswith(".sha256")]:
                yield Finding(name, True, f"{what}: {', '.join(kept)}")
        yield Finding("size", roomy, f"{used} of at most {self._bytes_max} bytes")
        mode = self._path.stat().st_mode & 0o777
        yield Finding(
            "permissions", mode & 0o077 == 0, f"{mode:o}; 600 keeps other users of the machine out"
        )

    def close(self) -> None:
        self._file.close()
