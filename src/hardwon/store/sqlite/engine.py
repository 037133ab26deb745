"""A memory in one SQLite file that several processes share.

WAL with synchronous FULL: a commit returns when the disk has it. Writers take their turn with BEGIN
IMMEDIATE, which never fails half-way the way a read that turns into a write does. `secure_delete`,
FTS5's `secure-delete` and an emptied log make erased text unreadable. Opening, creating, backing up
and restoring files is in `file.py`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

import apsw

from hardwon import limits
from hardwon.errors import BusyError, DamagedError, LostFileError, NearlyFullWarning, on_failure
from hardwon.outside import files
from hardwon.outside.git import IN_INDEX, in_index
from hardwon.outside.locations import DEFAULT_PROJECT
from hardwon.records.kinds import VOUCHED_STATUSES, Event
from hardwon.search.rank import SEARCHED_TEXTS, Frequencies
from hardwon.search.terms import Filters
from hardwon.store import base, query, vectors
from hardwon.store.base import ROW, ROW_FIELDS, Listener, Store, Writer, change_tallies
from hardwon.store.query import Among, Known, Scored
from hardwon.store.sqlite import connection as database
from hardwon.store.sqlite.connection import SQLITE, SqliteSession, WordIndex
from hardwon.store.sqlite.file import TokenFile, back_up, check_contents, checksum_file, make_memory
from hardwon.store.sqlite.log import ASIDE
from hardwon.store.sqlite.presence import OpenFile, look_at_open, refuse_foreign_log
from hardwon.store.types import Appended, Finding, Found, Progress, Row, TokenKeep

# From this share of MEMORY_BYTES_MAX on, opening or writing warns.
MEMORY_WARN_SHARE: Final = 0.8

# Up to so many texts, words are counted anew after anything was written: it costs little, and the
# same records always give the same order. In a larger memory, when there are a twentieth more
# records: a word's worth is a logarithm, which moves by 0.05 at most.
_COUNTED_ANEW_BELOW_TEXTS: Final = 20_000
_COUNTED_ANEW_GROWN: Final = 1.05
# From so many records on, a search with filters takes the best by their words before it asks whether
# they pass: in a smaller memory looking at all that match takes no longer.
_FIRST_BY_WORDS_FROM_RECORDS: Final = 200_000
# Terms whose frequency is remembered between searches, and as many records whose source is.
_TERMS_REMEMBERED_MAX: Final = 50_000
# How long whoever forgets something waits for readers of the old log; one that takes longer is
# reported as pending.
_ERASURE_WAIT_MS: Final = 250

# --- sqlite writer ---

_RELAXED: Final = "the index has words of what was packed away"
# The columns that are derived from a record and its events.
_KEPT: Final = ("project_id", "id", "body", "digest")
_DERIVED: Final = (*(name for name in ROW.split(", ") if name not in _KEPT), "helped", "hindered")
_ADD_RECORD: Final = f"INSERT INTO record (seq, {ROW}) VALUES (?{', ?' * ROW_FIELDS}) ON CONFLICT (project_id, id) DO NOTHING"
# Where the names of a record are kept, by the field of its row.
_NAMES: Final = {"record_tag": "tags", "record_file": "files", "record_key": "keys"}


class SqliteWriter(Writer):
    """What only SQLite does so: full text, and tables of designs. Rows are added on the bare
    connection, because every record passes there.
    """

    dialect = SQLITE
    session: SqliteSession
    relaxed: str | None = None  # the project
    has_changed = False
    _shrink = staticmethod(query.shrink_row)

    def append(self, rows: Sequence[Row]) -> Appended:
        connection = self.session.connection
        first, something_forgotten, has_tree = connection.execute(
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
            asked = rows[0].project_id, SQLITE.list_values(row.id for row in rows)
            gone = set(self.session.column(SQLITE.forgotten, asked))
            others = [row for row in rows if row.id in gone]
            rows = [row for row in rows if row.id not in gone]
        numbered = list(enumerate(rows, first))
        before = connection.total_changes()
        connection.executemany(
            _ADD_RECORD, [(seq, *self._shrink(row)[:ROW_FIELDS]) for seq, row in numbered]
        )
        # some id was there already, or twice among these
        if connection.total_changes() - before < len(rows):
            sql = "SELECT seq FROM record WHERE seq >= ?"
            new = {seq for (seq,) in connection.execute(sql, (first,))}
            others += [row for seq, row in numbered if seq not in new]
            numbered = [(seq, row) for seq, row in numbered if seq in new]
        if others:
            self._tell_apart(others, result)
        if numbered:
            self._index(numbered)
            change_tallies(self.session, SQLITE, [row.taught for _, row in numbered if row.taught])
        for listener in self._listeners({row.kind for _, row in numbered if row.record}):
            listener.on_append(numbered)
        result.added.extend([row.id for _, row in numbered])
        return result

    def _index(self, rows: Sequence[tuple[int, Row]]) -> None:
        """The words and the names that rows, with their numbers, are found by."""
        texts = [(seq, row.terms, database.make_marks(row.author, row.status)) for seq, row in rows]
        database.add_texts(self.session, rows[0][1].project_id, texts)
        named = [(seq, row) for seq, row in rows if row.tags or row.files or row.keys]
        for table, names in _NAMES.items() if named else ():
            kept = [(seq, one, row.project_id) for seq, row in named for one in getattr(row, names)]
            self.session.connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", kept)

    def _listeners(self, of_kinds: Iterable[str] | None = None) -> list[Listener]:
        return base.listeners(self.session, of_kinds)

    def _rewrite(self, seq: int, row: Row) -> None:
        self._drop_derivatives(row.project_id, seq)
        changes = ", ".join(f"{name} = ?" for name in _DERIVED)
        small = self._shrink(row)
        derived = (getattr(small, name) for name in _DERIVED)
        self.session.run(f"UPDATE record SET {changes} WHERE seq = ?", (*derived, seq))
        self._index([(seq, row)])

    def replace(self, row: Row) -> None:
        # To take words out of the index for good costs a hundred times as much as to mark them as
        # gone. What left the history stays in the file anyway; where something is erased later, the
        # whole index is made anew.
        if self.relaxed is None:
            self.relaxed = row.project_id
            WordIndex(self.session, row.project_id).set("secure-delete", 0)
            self.set_state(row.project_id, _RELAXED, 1)
        super().replace(row)

    def _follow_standing(self, project: str, record_id: str, status: str, author: str) -> None:
        seq = self._find_seq(project, record_id)
        if seq is not None:
            WordIndex(self.session, project).mark(seq, database.make_marks(author, status))

    def _drop_derivatives(self, project: str, seq: int) -> None:
        WordIndex(self.session, project).remove(seq)
        for table in _NAMES:
            self.session.run(f"DELETE FROM {table} WHERE seq = ?", (seq,))

    def erase(self, project: str, record_ids: Sequence[str], tombstones: Sequence[Event]) -> int:
        erased = super().erase(project, record_ids, tombstones)
        if erased:
            self.clean_index(WordIndex(self.session, project))
        return erased

    def clean_index(self, index: WordIndex) -> None:
        """Makes a search index anew that has words of what left the history or was erased."""
        if self.state(index.project, _RELAXED) or index.remembers_erasure():
            index.rebuild()
            self.set_state(index.project, _RELAXED, 0)

    def keep_vectors(self, project: str, vectors_of: Iterable[tuple[str, bytes]]) -> None:
        self.session.connection.executemany(
            "INSERT INTO record_vector (seq, project_id, vector) SELECT seq, project_id, ?3 FROM record "
            "WHERE project_id = ?1 AND id = ?2 ON CONFLICT (seq) DO UPDATE SET vector = excluded.vector",
            [(project, record_id, vector) for record_id, vector in vectors_of],
        )

    def find_number(self, project: str, record_id: str) -> int | None:
        return self._find_seq(project, record_id) if project == DEFAULT_PROJECT else None


# --- sqlite ---

_WRITES_BETWEEN_SIZE_CHECKS: Final = 64
_FIRST_SPARE: Final = 2
_FIRST_MIN: Final = 40
_FILTERED_SPARE: Final = 4
_NEAREST_SPARE: Final = 3
_VECTORS_KEPT_BYTES: Final = 64 * limits.MIB
_VECTORS: Final = "SELECT seq, vector FROM record_vector WHERE project_id = ?"


class _Counted(NamedTuple):
    """What is known of a project, as of the transaction of that number; how many texts have each term
    that was ever asked for, as of the last count, when the newest record had the other number.
    """

    number: int
    newest: int
    known: Known
    times: dict[str, int]


_VOTED: Final = "SELECT 1 FROM tally WHERE project_id = ? AND scope = 'credit' LIMIT 1"
_HAS_SESSIONS: Final = (
    f"SELECT 1 FROM record_key WHERE project_id = ? AND {query.SESSION_KEYS} LIMIT 1"
)


class _Matches:
    """The texts of a project that match, best first; read is what somebody asks for. `whole`: they
    have all terms. Marks of texts count nothing: so whoever is asked, the scores are the same, and
    the index is searched once.
    """

    def __init__(
        self,
        session: SqliteSession,
        project: str,
        terms: Sequence[str],
        known: Known,
        filters: Filters,
        limit: int,
        whole: bool,
    ) -> None:
        self._session, self._limit, self._standing = session, limit, known.standing
        # so many are read first: of those that filters leave out, more
        self._page = limit * (_FILTERED_SPARE if filters.model_fields_set else 1)
        self._name = database.index_name(project)
        any_or_all = " AND " if whole else " OR "
        self._match = "(" + any_or_all.join([f'"{term}"' for term in terms]) + ")"
        asked = SQLITE, project, filters
        where, self._values = query.write_search_condition(*asked, rolled_back=known.rolled_back)
        self._reading = (
            f"SELECT {known.columns} FROM json_each(?{len(self._values) + 1}) b CROSS JOIN record r ON "
            f"r.seq = b.value CROSS JOIN record_text ON record_text.seq = b.value WHERE {where}"
        )
        # The best by their words alone, which nearly always pass; only where too few do, all that
        # match are asked. That is done at once where they are few, and in a small memory where the
        # filters leave out some.
        most, few = max(_FIRST_MIN, _FIRST_SPARE * limit), SEARCHED_TEXTS
        if known.sources > 1 or known.vouched:  # several may be asked, one after the other
            most, few = max(most, few), few * query.SEARCH_ROUNDS_MAX
        matching = sum(known.frequencies.having[term] for term in terms)
        small = filters.model_fields_set and known.frequencies.texts < _FIRST_BY_WORDS_FROM_RECORDS
        self._most = None if matching <= few or small else most
        self._read: dict[int, Found] = {}
        # To rank costs a look at every text that has any of the terms, and of few nobody is left out.
        self._first = self._matching("", limit + 1, ranked=False) if whole else []
        if whole and len(self._first) <= limit:
            self._most = None
        else:
            self._first = self._matching("", self._most)

    def best(self, among: Among) -> list[Scored]:
        """Of these, those that pass the filters."""
        hits = self._passing(self._first, among)
        if self._most is not None and len(hits) < self._limit and len(self._first) == self._most:
            marked = f' AND "{database.VOUCHED}"' if among.vouched else ""
            if among.without:
                marks = [f'"{database.make_source_mark(author)}"' for author in among.without]
                marked += f" NOT ({' OR '.join(marks)})"
            for most in (self._most, None) if marked else (None,):
                matched = self._matching(marked, most)
                hits = self._passing(matched, among)
                if len(hits) >= self._limit or len(matched) != most:
                    break
        hits.sort(key=lambda pair: (pair[1], pair[0].at_us, pair[0].id), reverse=True)
        return hits[: self._limit]

    def _matching(
        self, marked: str, most: int | None, *, ranked: bool = True
    ) -> list[tuple[int, float]]:
        """Their numbers and scores, the newest first among those that are as good; any of them, all
        as good, where they are not `ranked`.
        """
        score, order = ("-rank", "ORDER BY rank, rowid DESC ") if ranked else ("0.0", "")
        matching = f"SELECT rowid, {score} FROM {self._name} WHERE {self._name} MATCH ?"
        if most is not None:
            matching += f" {order}LIMIT {most}"
        rows: list[Any] = self._session.connection.execute(
            matching, (self._match + marked,)
        ).fetchall()
        if most is None:
            rows.reverse()
            rows.sort(key=itemgetter(1), reverse=True)
        return rows

    def _passing(self, matched: Sequence[tuple[int, float]], among: Among) -> list[Scored]:
        """As many as are wanted, with whatever is as good as the last of them, be it a flood of the
        same.
        """
        if among != Among():
            matched = self._of(matched, among)
        hits: list[Scored] = []
        start, size = 0, self._page
        while start < len(matched) and len(hits) < self._limit:
            end = start + size
            last = min(len(matched), end + SEARCHED_TEXTS)
            while end < last and matched[end][1] == matched[end - 1][1]:
                end += 1
            page = matched[start:end]
            # in the order in which they lie in the file
            if unread := sorted(seq for seq, _ in page if seq not in self._read):
                values = (*self._values, f"[{','.join(map(str, unread))}]")
                for row in self._session.connection.execute(self._reading, values):
                    hit = query.read_hit(row)
                    self._read[hit.seq] = hit
            read = [(self._read.get(seq), score) for seq, score in page]
            hits += [(hit, score) for hit, score in read if hit]
            start, size = end, 4 * size
        return hits

    def _of(self, matched: Sequence[tuple[int, float]], among: Among) -> list[tuple[int, float]]:
        """Those of the sources that are asked."""
        standing = self._standing
        if unknown := [str(seq) for seq, _ in matched if seq not in standing]:
            sql = "SELECT seq, author, status FROM json_each(?) CROSS JOIN record ON seq = value"
            rows: Any = self._session.connection.execute(sql, (f"[{','.join(unknown)}]",))
            standing.update([(seq, (author, status)) for seq, author, status in rows])
        nobody = "", ""  # it went meanwhile
        asked = [(pair, *standing.get(pair[0], nobody)) for pair in matched]
        if among.vouched:
            return [pair for pair, _, status in asked if status in VOUCHED_STATUSES]
        return [pair for pair, author, _ in asked if author not in among.without]


def _is_sound(session: SqliteSession) -> bool:
    """Whether it can be lent again; what it was in the middle of is taken back."""
    try:
        if session.connection.in_transaction:
            session.connection.execute("ROLLBACK")
    except apsw.Error:  # it may be closed already
        return False
    return True


class SqliteStore(Store):
    """Everything the contract promises, on one file."""

    dialect = SQLITE

    def __init__(
        self,
        path: Path,
        *,
        bytes_max: int = limits.MEMORY_BYTES_MAX,
        busy_timeout_ms: int | None = None,
    ) -> None:
        self._path = path
        self._bytes_max = bytes_max
        self._busy_timeout_ms = busy_timeout_ms
        self._warned = False
        self._writes = 0
        self._erasure_pending = False
        self._words: dict[str, _Counted] = {}
        self._vectors: tuple[str, int, list[vectors.Chunk]] | None = None
        look_at_open(path)
        is_new = database.create_if_missing(path, make_memory)
        refuse_foreign_log(path, is_new=is_new)
        if not is_new:
            database.inspect_before_opening(path, busy_timeout_ms)
            files.sweep(path.parent)
        opening = partial(database.connect, path, bytes_max, busy_timeout_ms)
        self._file = OpenFile(path, opening, _is_sound, self)
        self._pool = self._file.pool
        # nobody else can close it: or else this process would seem to have it open for good
        with on_failure(self.close), self._open_session() as session:
            self._has_log = session.connection.pragma("journal_mode") == "wal"
            if self._has_log:
                self._file.hold(session)
            database.refuse_strange_triggers(session, path)
            self._warn_when_nearly_full(session.connection)

    @property
    def location(self) -> str:
        return str(self._path)

    @contextmanager
    def _open_session(self) -> Iterator[SqliteSession]:
        with database.storage_errors(self._path):
            try:
                session = self._file.borrow()
                try:
                    yield session
                    self._file.look()
                except apsw.BusyError:
                    raise
                except (apsw.Error, DamagedError) as error:
                    self._file.look()  # which may be the reason
                    if isinstance(error, apsw.Error):
                        session.begin_anew()
                    raise
                finally:
                    self._pool.give_back(session)
            except LostFileError:
                raise self._file.let_go() from None

    def read(self, project: str) -> AbstractContextManager[SqliteSession]:  # noqa: ARG002  # whoever may read the file may read all
        return self._open_session()

    @contextmanager
    def snapshot(self, project: str) -> Iterator[SqliteSession]:  # noqa: ARG002  # as above
        with self._open_session() as session:
            session.connection.execute("BEGIN")
            yield session
            # not taken back, which would take the connection's own tables with it
            session.connection.execute("COMMIT")

    @contextmanager
    def write(self, project: str, *, alone: bool = True) -> Iterator[SqliteWriter]:  # noqa: ARG002  # SQLite has one writer at a time, of whatever project
        # An interrupt (KeyboardInterrupt) can come between any two steps, also while leaving. What
        # was taken by then is given back at the end, or when this generator is cleared away.
        turn = self._pool.write_turn
        try:
            # Threads of this process queue on a lock, which wakes at once; processes try again and
            # again.
            if not turn.acquire(timeout=limits.BUSY_TIMEOUT_MS / 1000):
                whose = "another thread of this process was writing to"
                raise BusyError(f"{whose} {self._path} for too long; try again")
            with self._open_session() as session:
                connection = session.connection
                if not self._has_log:
                    # a backup that was opened as it is stays one file, byte for byte, until now
                    connection.execute("PRAGMA journal_mode = WAL").fetchall()
                    self._file.hold(session)
                    self._has_log = True
                connection.execute("BEGIN IMMEDIATE")
                writer = SqliteWriter(session)
                undos, before = writer.undos, connection.total_changes()
                try:
                    yield writer
                    if writer.relaxed is not None:
                        WordIndex(session, writer.relaxed).set("secure-delete", 1)
                    if writer.has_changed or connection.total_changes() != before:
                        database.draw_number(connection)
                        self._file.look()
                    connection.execute("COMMIT")
                    undos = []
                finally:
                    if undos and connection.in_transaction:
                        connection.execute("ROLLBACK")
                    for undo in undos:
                        with suppress(OSError):
                            undo()
                self._writes += 1
                if self._writes % _WRITES_BETWEEN_SIZE_CHECKS == 0:
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
        return TokenFile(self._path)

    def _warn_when_nearly_full(self, connection: apsw.Connection) -> None:
        used = connection.pragma("page_count") * connection.pragma("page_size")
        if not self._warned and used >= self._bytes_max * MEMORY_WARN_SHARE:
            self._warned = True
            warnings.warn(
                f"the memory at {self._path} takes {used} of at most {self._bytes_max} bytes. Forget "
                "what is no longer needed, or move to PostgreSQL, before writing is refused",
                NearlyFullWarning,
                stacklevel=5,
            )

    # --- reading ---

    def _searching(self, project: str) -> AbstractContextManager[SqliteSession]:
        return self.snapshot(project)

    def _know(self, session: SqliteSession, project: str, terms: Sequence[str]) -> Known:
        """All of it as of one moment: what is added later is counted on from there."""
        counted = self._words.get(project)
        number = database.last_number(session.connection)
        index = WordIndex(session, project)
        if counted is None or counted.number != number:
            newest = session.value("SELECT max(seq) FROM record") or 0
            if (
                counted
                and counted.known.frequencies.texts >= _COUNTED_ANEW_BELOW_TEXTS
                and counted.newest <= newest <= _COUNTED_ANEW_GROWN * counted.newest
            ):
                newest, times = counted.newest, counted.times
                texts, sources = counted.known.frequencies.texts, counted.known.sources
            else:
                texts_by_source = index.sources() if index.exists else {}
                texts, sources = sum(texts_by_source.values()), len(texts_by_source)
                times = {}
            votes, sessions = (
                bool(session.first(sql, (project,))) for sql in (_VOTED, _HAS_SESSIONS)
            )
            alone = sources <= 1
            columns = query.found_columns(SQLITE, votes=votes, sessions=sessions, alone=alone)
            rolled_back = bool(query.rolled_back_authors(session, project))
            vouched = texts > 0 and index.has(database.VOUCHED)
            frequencies = Frequencies(texts, 0, {})
            known = Known(frequencies, sources, vouched, rolled_back, columns, {})
            # one assignment: other threads look things up too
            self._words[project] = counted = _Counted(number, newest, known, times)
        for remembered in (counted.times, counted.known.standing):
            if len(remembered) > _TERMS_REMEMBERED_MAX:
                remembered.clear()
        having = {}
        for term in terms if counted.known.sources else ():
            count = counted.times.get(term)  # in one step: another thread may clear it
            having[term] = index.having(term) if count is None else count
        counted.times.update(having)
        texts = counted.known.frequencies.texts
        return counted.known._replace(frequencies=Frequencies(texts, 0, having))

    def _match(self, *asked: Any) -> Callable[[Among], list[Scored]]:
        return _Matches(*asked).best

    def projects(self) -> list[str]:
        with self._open_session() as session:
            return session.column(database.PROJECTS)

    def nearest(
        self, project: str, vector: Sequence[float], filters: Filters, limit: int
    ) -> list[Scored]:
        with self.snapshot(project) as session:
            kept = query.read_embedder(session, project)
            if kept is None:
                return []
            known = self._know(session, project, ())
            chunks = partial(self._read_vectors, session, project, kept[1])
            where, values = query.write_search_condition(
                SQLITE, project, filters, rolled_back=known.rolled_back
            )
            within = SQLITE.within("r.seq", f"?{len(values) + 1}")
            # NOT INDEXED: by the row numbers, not through all records of the project.
            reading = (
                f"SELECT {known.columns} FROM record r NOT INDEXED "
                f"JOIN record_text ON record_text.seq = r.seq WHERE {where} AND {within}"
            )
            # nearly always, enough of the nearest pass
            cosines = dict(vectors.find_nearest(chunks(), vector, _NEAREST_SPARE * limit))
            rows = session.select(reading, (*values, SQLITE.list_values(cosines)))
            if len(rows) < limit and len(cosines) == _NEAREST_SPARE * limit:
                among = session.column(f"SELECT r.seq FROM record r WHERE {where}", values)
                cosines = dict(vectors.find_nearest(chunks(), vector, limit, among))
                rows = session.select(reading, (*values, SQLITE.list_values(cosines)))
        hits = [(hit, cosines[hit.seq]) for hit in map(query.read_hit, rows)]
        return sorted(hits, key=lambda pair: (-pair[1], pair[0].id))[:limit]

    def _read_vectors(
        self, session: SqliteSession, project: str, dimension: int
    ) -> Iterable[vectors.Chunk]:
        """A project's vectors. Those of the last project that was asked about stay in memory until
        anything is written, where they are not too many.
        """
        known, number = self._vectors, database.last_number(session.connection)
        if known and known[:2] == (project, number):
            return known[2]
        chunks = vectors.read_chunks(session.stream(_VECTORS, (project,)), dimension)
        count = session.value("SELECT count(*) FROM record_vector WHERE project_id = ?", (project,))
        if count * dimension * vectors.NUMBER_BYTES > _VECTORS_KEPT_BYTES:
            return chunks
        kept = list(chunks)
        self._vectors = project, number, kept  # one assignment: other threads read it too
        return kept

    def untrue_tallies(self, project: str) -> int:
        with self.snapshot(project) as session:
            return base.count_differing(session, SQLITE, project) + sum(
                listener.count_differing(project) for listener in base.listeners(session)
            )

    # --- the file ---

    def size_bytes(self, project: str | None = None) -> int:
        own = "SELECT coalesce(sum(octet_length(body)), 0) FROM record WHERE project_id = ?"
        with self._open_session() as session:
            if project is not None and set(self.projects()) - {project}:
                return int(session.value(own, (project,)))
            pragma = session.connection.pragma
            pages: int = pragma("page_count") * pragma("page_size")
        return pages + database.measure_size(database.find_log(self._path))

    def finish_erasure(self) -> bool:
        files.sweep(self._path.parent)
        with self._open_session() as session:
            connection = session.connection
            connection.set_busy_timeout(_ERASURE_WAIT_MS)
            try:
                busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").get
            finally:
                database.be_patient(connection, self._busy_timeout_ms)
        # SQLite empties the log and leaves it to the system when the disk learns of that: after a
        # power cut, what was erased would stand in it again. The log is no file that SQLite locks,
        # so that we may open it beside it.
        try:
            with suppress(FileNotFoundError):  # a backup that nobody wrote to has none
                files.sync(database.find_log(self._path))
        except OSError:
            busy = True
        self._erasure_pending = bool(busy)
        return not busy

    def shrink(self) -> None:
        with self.write("") as writer:
            for index in database.indexes_in(writer.session):
                writer.clean_index(index)
            writer.has_changed = True  # VACUUM draws no number
        with self._open_session() as session:
            session.run("VACUUM")
        self.finish_erasure()

    def backup(self, target: Path, progress: Progress | None) -> str:
        for written in (target, checksum_file(target)):
            files.refuse_own("path", written, self._path, "copy.db")
        with self._open_session():  # what is copied is what is at the path
            pass
        return back_up(self._path, target, progress)

    def check(self, project: str) -> Iterator[Finding]:
        with self.snapshot(project) as session:
            yield from check_contents(session)
        if in_index(self._path):
            yield Finding("repository", False, IN_INDEX.format(self._path))
        if swept := files.sweep(self._path.parent):
            yield Finding("leftovers", True, f"of killed writers, taken away: {', '.join(swept)}")
        used = self.size_bytes()
        roomy = used < self._bytes_max * MEMORY_WARN_SHARE
        beside = sorted(path.name for path in self._path.parent.iterdir())
        for name, mark, what in (
            ("logs", f"-wal{ASIDE}", "of another database, moved aside and not replayed"),
            ("backups", ".before-", "what it was before a restore, yours to remove"),
        ):
            kept = [one for one in beside if one.startswith(self._path.name + mark)]
            if kept := [one for one in kept if not one.endswith(".sha256")]:
                yield Finding(name, True, f"{what}: {', '.join(kept)}")
        yield Finding("size", roomy, f"{used} of at most {self._bytes_max} bytes")
        mode, shared = self._path.stat().st_mode & 0o777, files.is_shared(self._path)
        who = "shared with its group" if shared else "600 keeps other users of the machine out"
        yield Finding("permissions", shared or mode & 0o077 == 0, f"{mode:o}; {who}")

    def close(self) -> None:
        self._file.close()
