"""What a store and a write transaction promise, with the statements that engines share. A record
becomes a row and what is derived from it, in the same words in every engine; `doctor` derives
everything again.

Knowledge is tallies that are added to when a record comes in, and taken from when it goes. Both
commute.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Final, NamedTuple

from hardwon import limits
from hardwon.errors import DamagedError, InvalidInputError
from hardwon.first_use import lazy
from hardwon.lessons import counts
from hardwon.lessons.counts import RecordCounts, sum_counts
from hardwon.lessons.tallies import list_keys, list_tallies
from hardwon.lessons.teaching import find_keys, teach_record
from hardwon.records import kinds
from hardwon.records.fields import make_digest, to_us
from hardwon.records.kinds import AnyRecord, Event, EventKind, Record, Validation
from hardwon.search.rank import Frequencies, rare_enough
from hardwon.search.terms import Filters
from hardwon.store import query, types
from hardwon.store.knowledge import LEVEL_NAMES, TallyReader
from hardwon.store.query import ORDINARY, STORED, TRUSTED_RECORD, Among, Reader, Scored
from hardwon.store.types import Appended, Dialect, Request, Row, Session, Stored, Values
from hardwon.text.terms import index_text, searchable_text

# Old idempotency keys that go with each new one: more than come, and few enough to cost nothing.
REQUESTS_DROPPED_AT_ONCE: Final = 100

# Rows that are looked through for what came in last to one project, where others write into the
# same file.
_ARRIVALS_LOOKED_THROUGH_MAX: Final = 100_000

# --- rows ---


def build_row(
    record: Record,
    effective: Validation | None = None,
    credited: tuple[int, int] = (0, 0),
    source: str | None = None,
) -> Row:
    """The row of a record whose events add up to `effective` (None: it has no events), to these
    credits and to this `source` (None: its author).
    """
    try:
        body = record.to_json_bytes()
    except ValueError as error:  # something put into the record after it was checked
        wanted = f"values that JSON can hold ({error})"
        raise InvalidInputError.one("record", record.id, wanted) from None
    # it holds one that was small enough
    if len(body) > limits.RECORD_BYTES_MAX and not isinstance(record, kinds.Cleaned):
        wanted = f"at most {limits.RECORD_BYTES_MAX} bytes"
        raise InvalidInputError.one("record", f"{len(body)} bytes", wanted)
    tool = task_id = model = issue_type = None
    outcome = kinds.judge_record(record) or None
    if isinstance(record, kinds.Experience):
        tool = None if record.unrouted else record.tool
        task_id = record.__pydantic_extra__.get("task_id")
    elif isinstance(record, kinds.Decision):
        outcome, task_id = record.action, record.task_id  # a decision is looked up by what it does
    elif isinstance(record, kinds.Episode):
        task_id = record.task_id
    elif isinstance(record, kinds.Fix):
        model, issue_type = record.issue.model, record.issue.issue_type
    elif isinstance(record, kinds.Cleaned):
        model, issue_type = record.model, record.issue_type
    about = outcome, tool, task_id if isinstance(task_id, str) else None, model, issue_type
    metadata = record.metadata
    envelope, at_us = metadata.validation, to_us(metadata.context.timestamp)
    status = (effective or envelope).status
    project, author = metadata.project_id, source or metadata.source.author
    lessons, teaching = list_tallies(record), teach_record(record)
    keys = {*list_keys(record), *(find_keys(teaching) if teaching else ())}
    paths = {file.path for file in metadata.context.related_files}
    return Row(
        *(project, record.id, record.kind, at_us, author, *about, body.decode(), make_digest(body)),
        status,
        effective.to_json() if effective and effective != envelope else None,
        teaching.to_json() if teaching else None,
        index_text(searchable_text(record)),
        tuple(sorted(set(metadata.tags))),
        tuple(sorted(paths)),
        tuple(sorted(keys)),
        *credited,
        RecordCounts(project, author, at_us, status, lessons) if lessons else None,
        record if record.kind in DESIGNS else None,
    )


def kept_row(
    stored: Stored | Row,
    record: AnyRecord,
    effective: Validation | None = None,
    credited: tuple[int, int] = (0, 0),
    source: str | None = None,
) -> Row:
    """The row that a record is kept in. Another version may write the same record as other JSON:
    what was written stays.
    """
    row = build_row(record, effective, credited, source)
    return row._replace(body=query.sound_body(stored), digest=stored.digest)


# --- tallies ---


_PLACE: Final = "project_id, scope, key, item, day, author"
_SUMS: Final = ["vouched", *LEVEL_NAMES]
_COLUMNS: Final = (*_PLACE.split(", "), *_SUMS)
_TIMES: Final = f"({' + '.join(LEVEL_NAMES)})"
_WHERE_PLACE: Final = " AND ".join(
    f"{name} = ?{number}" for number, name in enumerate(_PLACE.split(", "), 1)
)


@cache  # every append says it
def adding_tallies(table: str) -> str:
    """What counting a tally that is there already does."""
    sums = ", ".join(f"{name} = {table}.{name} + excluded.{name}" for name in _SUMS)
    return f"ON CONFLICT ({_PLACE}) DO UPDATE SET {sums}"


def change_tallies(
    session: Session,
    dialect: Dialect,
    taught: Iterable[RecordCounts],
    gone: Iterable[RecordCounts] = (),
    table: str = "tally",
) -> None:
    """Counts what these records teach, and takes back what others taught that are `gone`, or that teach
    something else by now.
    """
    counted, lost = sum_counts(taught), sum_counts(gone)
    for place, figures in lost.items():
        before = counted.get(place, [0] * len(figures))
        counted[place] = [one - less for one, less in zip(before, figures, strict=True)]
    # In the order of the table, so that neighbours are found on the same page.
    rows = [(*place, *figures) for place, figures in sorted(counted.items()) if any(figures)]
    if rows:
        dialect.insert_many(session, table, _COLUMNS, rows, adding_tallies(table))
    for place in lost:
        if sum(counted[place][1:]) < 0:
            session.run(f"DELETE FROM {table} WHERE {_WHERE_PLACE} AND {_TIMES} <= 0", place)


def taught_where(session: Session, where: str, values: Values) -> Iterator[RecordCounts]:
    """What the records that pass a condition teach, as far as they can be read. Value 1 is the
    project.
    """
    teaching = ", ".join(f"'{status}'" for status in counts.TEACHING_STATUSES)
    sql = (
        f"SELECT author, status, id, kind, at_us, body, digest, validation FROM record WHERE {where} AND "
        f"status IN ({teaching})"
    )
    for author, status, *columns in session.stream(sql, values):
        stored = Stored(*columns)
        try:
            record = query.read_original(stored)
        except DamagedError:  # doctor names it
            continue
        yield RecordCounts(values[0], author, stored.at_us, status, list_tallies(record))


# --- counting everything again ---


def _count_afresh(session: Session, dialect: Dialect, project: str) -> None:
    """Fills a table of this session, `fresh`, with what the project's records teach."""
    dialect.make_fresh_tallies(session)
    counted = taught_where(session, "project_id = ?1", (project,))
    while batch := list(islice(counted, limits.BATCH_ROWS)):
        change_tallies(session, dialect, batch, table="fresh")


def count_differing(session: Session, dialect: Dialect, project: str) -> int:
    """How many tallies are not what the records add up to."""
    _count_afresh(session, dialect, project)
    kept, fresh = (
        f"SELECT {', '.join(_COLUMNS)} FROM tally WHERE project_id = ?1",
        f"SELECT {', '.join(_COLUMNS)} FROM fresh",
    )
    sql = f"SELECT 1 FROM ({kept} EXCEPT {fresh}) AS kept_only UNION ALL SELECT 1 FROM ({fresh} EXCEPT {kept}) AS fresh_only"
    differing = int(session.value(f"SELECT count(*) FROM ({sql}) AS differing", (project,)))
    session.run("DROP TABLE fresh")
    return differing


def recount(session: Session, dialect: Dialect, project: str) -> None:
    """Makes the project's tallies what its records add up to."""
    _count_afresh(session, dialect, project)
    session.run("DELETE FROM tally WHERE project_id = ?1", (project,))
    columns = ", ".join(_COLUMNS)
    session.run(f"INSERT INTO tally ({columns}) SELECT {columns} FROM fresh")
    session.run("DROP TABLE fresh")


# --- the writer ---


# A new row is written into columns that have the names of so many first fields of a Row.
ROW_FIELDS: Final = Row._fields.index("terms")
ROW: Final = ", ".join(Row._fields[:ROW_FIELDS])


class Kept(NamedTuple):
    """A record with what its row says of it."""

    seq: int
    taught: RecordCounts
    record: AnyRecord


class Listener:
    """What a design keeps in tables of its own, in the transaction that changes records, on the
    connection that does so. Every method does nothing unless a design says otherwise.
    """

    def __init__(self, session: Session) -> None:
        self.session = session

    def on_append(self, added: Sequence[tuple[int, Row]]) -> None:
        """New rows, with their numbers."""

    def on_replace(self, seq: int, row: Row) -> None:
        """A row was replaced by another that teaches the same."""

    def on_standing(self, kept: Kept, now: RecordCounts) -> None:
        """A record has another status, or another source, than it had."""

    def on_erase(self, gone: Sequence[Kept]) -> None:
        """Records are gone, as far as they could be read."""

    def rebuild(self, project: str | None) -> None:
        """Derives everything again, of a project or (None) of all."""

    def count_differing(self, project: str) -> int:  # noqa: ARG002
        """How many rows of a project are not what its records say."""
        return 0


# The listener, "module:class", of the design that keeps tables beside records of a kind: imported
# when one of them changes. Those that are registered (`memory/project.py`).
DESIGNS: Final[dict[str, str]] = {}


_design = cache(resolve_name)  # every fix that is recorded asks for it


def listeners(session: Session, of_kinds: Iterable[str] | None = None) -> list[Listener]:
    """Of every design, or of those that keep something of records of these kinds."""
    wanted = DESIGNS if of_kinds is None else of_kinds
    names = [DESIGNS[kind] for kind in wanted if kind in DESIGNS]
    return [_design(name)(session) for name in dict.fromkeys(names)]


def has_tree(session: Session, project: str) -> bool:
    """Whether a tree of files mirrors a project of this file."""
    return session.first("SELECT 1 FROM tree WHERE project_id = ?1", (project,)) is not None


@dataclass(eq=False)
class Writer(Reader):
    """One write transaction. Everything done through it is kept together or not at all."""

    session: Session
    undos: list[Callable[[], object]] = field(default_factory=list, init=False)

    def read(self, project: str) -> AbstractContextManager[Session]:  # noqa: ARG002
        """Its own session."""
        return nullcontext(self.session)

    def on_failure(self, undo: Callable[[], object]) -> None:
        """Called where the transaction is not kept, before anybody else can write: for what was
        done outside of the store.
        """
        self.undos.append(undo)

    # --- what each engine does in its own way ---

    def may_govern(self, project: str) -> bool:  # noqa: ARG002
        """Whether this transaction may decide: change what a record counts for, or remove it."""
        return True

    @abstractmethod
    def append(self, rows: Sequence[Row]) -> Appended:
        """Adds the rows whose ids are new, and counts their lessons. An id that is kept with the
        same content is `present`, with other content `conflicting`, and one that was forgotten
        stays so; none of these changes anything. Called with a batch at a time.
        """

    def set_embedder(self, project: str, name: str, dimension: int) -> bool:
        """From now on vectors are of this embedder; those of another go. Whether they were of
        another, or there were none.
        """
        before = self.embedder(project)
        if before is not None and before != (name, dimension):
            for table in ("record_vector", "embedder"):
                self.session.run(f"DELETE FROM {table} WHERE project_id = ?1", (project,))
        sql = "INSERT INTO embedder (project_id, name, dimension) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING"
        return before != (name, dimension) and self.session.run(sql, (project, name, dimension)) > 0

    @abstractmethod
    def keep_vectors(self, project: str, vectors_of: Iterable[tuple[str, bytes]]) -> None:
        """Keeps vectors (32-bit little-endian floats) by record id. Ids of no record are left
        out.
        """

    def find_number(self, project: str, record_id: str) -> int | None:  # noqa: ARG002
        """The number under which a fix is in the tables of fix history; None where there are none,
        or they are not about its project.
        """
        return None

    @abstractmethod
    def _rewrite(self, seq: int, row: Row) -> None:
        """Replaces everything derived of the row with this number."""

    @staticmethod
    def _shrink(row: Row) -> Row:
        """The row as the engine keeps it."""
        return row

    @abstractmethod
    def _drop_derivatives(self, project: str, seq: int) -> None:
        """Removes what is kept of a record beside its row and its vector: search terms, tags, files
        and keys.
        """

    def _drop_vector(self, seq: int) -> None:
        """Removes the vector of a record, where it has one."""
        self.session.run("DELETE FROM record_vector WHERE seq = ?1", (seq,))

    def _listeners(self, of_kinds: Iterable[str] | None = None) -> list[Listener]:  # noqa: ARG002
        """Of the designs that keep tables of their own in this engine: none, unless an engine says
        otherwise.
        """
        return []

    # --- records ---

    def _tell_apart(self, rows: Sequence[Row], result: Appended) -> None:
        """Of rows that were not added, which are some: why."""
        within = self.dialect.within("id", "?2")
        asked = rows[0].project_id, self.dialect.list_values(row.id for row in rows)
        gone = set(self.session.column(self.dialect.forgotten, asked))
        sql = f"SELECT id, digest FROM record WHERE project_id = ?1 AND {within}"
        kept = dict(self.session.select(sql, asked))
        for row in rows:
            if row.id in gone:
                result.forgotten.append(row.id)
            elif kept.get(row.id) == row.digest:
                result.present.append(row.id)
            else:
                result.conflicting.append(row)

    def _find_seq(self, project: str, record_id: str) -> int | None:
        sql = "SELECT seq FROM record WHERE project_id = ?1 AND id = ?2"
        seq: int | None = self.session.value(sql, (project, record_id))
        return seq

    def list_arrivals(self, project: str, reason: str) -> list[str]:
        """Ids of the records that came from elsewhere with this reason."""
        sql = "SELECT record_id, body FROM event WHERE project_id = ?1 AND kind = 'imported'"
        rows = self.session.stream(sql, (project,))
        return [record_id for record_id, body in rows if query.parse_event(body).reason == reason]

    def _read_row(self, project: str, record_id: str) -> Kept | None:
        sql = f"SELECT r.seq, r.author, r.status, {STORED} FROM record r WHERE r.project_id = ?1 AND r.id = ?2"
        for seq, author, status, *columns in self.session.select(sql, (project, record_id)):
            kept = Stored._make(columns)
            record, at_us = query.read_original(kept), kept.at_us
            taught = RecordCounts(project, author, at_us, status, list_tallies(record))
            return Kept(seq, taught, record)
        return None

    def set_standing(
        self,
        project: str,
        record_id: str,
        status: str,
        validation: str | None,
        credited: tuple[int, int],
        source: str | None = None,
    ) -> None:
        """Keeps the status, how often it helped and did not, and the source (None: as it is) that
        the record's events add up to. What the record teaches counts accordingly: archived, not at
        all; verified or published, as vouched for.
        """
        place = project, record_id
        sql = "SELECT status, author FROM record WHERE project_id = ?1 AND id = ?2"
        before = self.session.first(sql, place)
        if before is None:
            return
        if self._only_credits(record_id, status, validation, source):
            return
        standing = status, source or before[1]
        changed = self._read_row(*place) if before != standing else None
        self.session.run(
            "UPDATE record SET status = ?3, author = ?4, validation = ?5, helped = ?6, "
            "hindered = ?7 WHERE project_id = ?1 AND id = ?2",
            (*place, *standing, validation, *credited),
        )
        self._follow_standing(project, record_id, *standing)
        if changed:
            now = changed.taught._replace(status=status, author=standing[1])
            change_tallies(self.session, self.dialect, [now], [changed.taught])
            for listener in self._listeners([changed.record.kind]):
                listener.on_standing(changed, now)

    def _only_credits(self, record_id: str, *standing: str | None) -> bool:  # noqa: ARG002
        """Whether nothing else is another than before, and the engine kept it in its own way."""
        return False

    def _follow_standing(self, project: str, record_id: str, status: str, author: str) -> None:
        """What is indexed of a record follows its status and its source."""

    def rewrite(self, row: Row) -> None:
        """Replaces everything derived of a row that is kept."""
        seq = self._find_seq(row.project_id, row.id)
        if seq is not None:
            self._rewrite(seq, row)

    def replace(self, row: Row) -> None:
        """Replaces a row that is kept by another that teaches the same: the fix left the history,
        or came back.
        """
        seq = self._find_seq(row.project_id, row.id)
        if seq is not None:
            sql = "UPDATE record SET body = ?2, digest = ?3 WHERE seq = ?1"
            self.session.run(sql, (seq, self._shrink(row).body, row.digest))
            self._rewrite(seq, row)
            self._drop_vector(seq)  # its text is another
            for listener in self._listeners([row.kind]):
                listener.on_replace(seq, row)

    def erase(self, project: str, record_ids: Sequence[str], tombstones: Sequence[Event]) -> int:
        """Removes the records, what is indexed of them, what they taught and their events, keeps
        the tombstones; how many there were.
        """
        run, erased, gone = self.session.run, 0, list[Kept]()
        events = (
            "DELETE FROM event WHERE project_id = ?1 AND record_id = ?2 AND kind <> 'forgotten'"
        )
        for record_id in record_ids:
            seq = self._find_seq(project, record_id)
            if seq is not None:
                # One that cannot be read must still be possible to forget; doctor finds what it
                # taught, and rebuild corrects it.
                with suppress(DamagedError):
                    gone += filter(None, [self._read_row(project, record_id)])
                self._drop_derivatives(project, seq)
                self._drop_vector(seq)
                run("DELETE FROM record WHERE project_id = ?1 AND seq = ?2", (project, seq))
                erased += 1
            run(events, (project, record_id))
        change_tallies(self.session, self.dialect, (), [kept.taught for kept in gone])
        for listener in self._listeners({kept.record.kind for kept in gone}):
            listener.on_erase(gone)
        self.add_events(project, tombstones)
        return erased

    # --- events ---

    def add_events(self, project: str, events: Sequence[Event]) -> list[Event]:
        """Adds the events that are not there yet and returns them. Events of a forgotten record are
        dropped.
        """
        sql = (
            "INSERT INTO event (project_id, id, record_id, kind, at_us, body) SELECT ?1, ?2, ?3, ?4, ?5, "
            "?6 WHERE ?4 = 'forgotten' OR NOT EXISTS (SELECT 1 FROM event WHERE project_id = ?1 AND "
            "record_id = ?3 AND kind = 'forgotten') ON CONFLICT DO NOTHING"
        )
        kept = []
        for event in events:
            columns = event.id, event.record_id, event.kind, event.at_us, event.to_json()
            if self.session.run(sql, (project, *columns)):
                kept.append(event)
        return kept

    def having_events(self, project: str, record_ids: Sequence[str]) -> list[str]:
        """Those of these records that something happened to, in any order."""
        within = self.dialect.within("record_id", "?2")
        sql = f"SELECT DISTINCT record_id FROM event WHERE project_id = ?1 AND {within}"
        return self._column(sql, project, self.dialect.list_values(record_ids))

    def event(self, project: str, event_id: str) -> Event | None:
        """One event by its id; None where there is none."""
        sql = "SELECT body FROM event WHERE project_id = ?1 AND id = ?2"
        body = self.session.value(sql, (project, event_id))
        return None if body is None else query.parse_event(body)

    # --- knowledge ---

    def votes(self, project: str, record_id: str) -> dict[str, tuple[int, int]]:
        """How many attempts that recalled a record turned out well, and badly, by author."""
        sql = (
            "SELECT author, sum(level1), sum(level0) FROM tally WHERE project_id = ?1 AND "
            f"scope = 'credit' AND key = ?2 AND {query.TRUSTED_AUTHORS} GROUP BY author"
        )
        rows = self.session.select(sql, (project, record_id))
        return {author: (int(good), int(bad)) for author, good, bad in rows}

    def recount(self, project: str) -> None:
        """Makes the tallies what the records add up to."""
        recount(self.session, self.dialect, project)
        for listener in self._listeners():
            listener.rebuild(project)

    def known_keys(self, project: str, keys: Iterable[str], statuses: Sequence[str]) -> set[str]:
        """Those of the exact keys that some record of these statuses has."""
        within, listed = self.dialect.within, map(self.dialect.list_values, (keys, statuses))
        sql = (
            "SELECT DISTINCT k.key FROM record_key k JOIN record r ON r.seq = k.seq "
            f"WHERE k.project_id = ?1 AND {within('k.key', '?2')} AND {within('r.status', '?3')}"
        )
        return set(self._column(sql, project, *listed))

    def with_key(self, project: str, key: str) -> list[Stored]:
        """Every record with an exact key, of whatever kind and status."""
        having = f"record_key k {self.dialect.join} record r ON r.seq = k.seq"
        source = f"{having} WHERE k.project_id = ?1 AND k.key = ?2 ORDER BY k.seq"
        return self._read_rows(source, (project, key))

    def facts_with_key(self, project: str, key: str, limit: int) -> list[Stored]:
        """The facts that have an exact key, those that came in first. Archived ones and sources
        that were rolled back are left out.
        """
        return self._read_rows(
            f"record_key k {self.dialect.join} record r ON r.seq = k.seq WHERE k.project_id = ?1 AND "
            f"k.key = ?2 AND r.kind = 'fact' AND {TRUSTED_RECORD} ORDER BY k.seq LIMIT ?3",
            (project, key, limit),
        )

    # --- what is kept beside records ---

    def state(self, project: str, name: str) -> int:
        """A number that only this store needs; 0 where it was never set."""
        sql = "SELECT value FROM state WHERE project_id = ?1 AND name = ?2"
        return int(self.session.value(sql, (project, name)) or 0)

    def set_state(self, project: str, name: str, value: int) -> None:
        """Keeps such a number."""
        self.session.run(
            "INSERT INTO state (project_id, name, value) VALUES (?1, ?2, ?3) "
            "ON CONFLICT (project_id, name) DO UPDATE SET value = excluded.value",
            (project, name, value),
        )

    def request(self, project: str, key: bytes) -> Request | None:
        """The request that was carried out under this key; None where none was."""
        row = self.session.first(
            "SELECT said, ids FROM request WHERE project_id = ?1 AND key = ?2", (project, key)
        )
        return Request(row[0], json.loads(row[1])) if row else None

    def keep_request(
        self, project: str, key: bytes, request: Request, at_us: int, kept_since_us: int
    ) -> None:
        """Keeps it with everything else that this transaction writes; some that are older than a
        time go.
        """
        self._drop_requests(kept_since_us)
        self.session.run(
            "INSERT INTO request (project_id, key, said, ids, at_us) VALUES (?1, ?2, ?3, ?4, ?5)",
            (project, key, request.fingerprint, json.dumps(request.ids), at_us),
        )

    def _drop_requests(self, kept_since_us: int) -> None:
        """Some of those that are older."""
        older = f"FROM request WHERE at_us < ?1 LIMIT {REQUESTS_DROPPED_AT_ONCE}"
        sql = f"DELETE FROM request WHERE (project_id, key) IN (SELECT project_id, key {older})"
        self.session.run(sql, (kept_since_us,))


# --- the store ---


class Store(TallyReader):
    """A place that keeps records. Safe to use from several threads and processes at once.

    A store keeps rows and events, and finds them again. It never embeds, ranks or reads the clock:
    values come in, values go out. Everything is kept per project; no call sees two projects. The
    tests in `tests/store/test_store_contract.py` hold for every store.
    """

    @property
    @abstractmethod
    def location(self) -> str:
        """Where it is, for people to read."""

    @abstractmethod
    def write(self, project: str, *, alone: bool = True) -> AbstractContextManager[Writer]:
        """One transaction on one project, durable when the block ends, rolled back when it raises.
        Waits its turn among writers; BusyError when that takes longer than the busy timeout.
        `alone`: nobody else writes to the project meanwhile. False only where the transaction does
        nothing but append (`append`, `keep_vectors`, `find_number`, `get`, `request`, `keep_request`,
        `on_failure`): others may then append at the same time, where the store can do that.
        """

    def make_rows(self, project: str, records: Sequence[Record]) -> list[Row]:  # noqa: ARG002
        """What these records of a project are kept as: made before a transaction begins, so that
        nobody waits for it.
        """
        return list(map(build_row, records))

    # What this thread reads of the project in the block is read in one transaction, where beginning
    # one costs a way to a server. Each reading sees what was kept when it began.
    together: Callable[[str], AbstractContextManager[object]] = nullcontext

    def search(
        self,
        project: str,
        terms: Sequence[str],
        filters: Filters,
        limit: int,
        *,
        whole: bool = False,
    ) -> list[Scored]:
        """Records that contain any of the terms, with a text score (higher is better), best first;
        `whole`: only those that contain both of the query.rarest two, which is soon known; where they are
        few, all of them, and the scores say nothing.
        Archived records are left out unless the filters ask for them. No terms, no hits.
        """
        wanted = tuple(dict.fromkeys(terms))
        with self._searching(project) as session:
            known = self._know(session, project, wanted)
            having, texts = known.frequencies.having, known.frequencies.texts
            # Without terms that very many records have, which cost the most and tell the least; all
            # of them, if need be.
            few = query.rarest(having) if whole else rare_enough(having, texts)
            for chosen in dict.fromkeys((few, few if whole else wanted)) if having else ():
                best = self._match(session, project, chosen, known, filters, limit, whole)
                if hits := query.from_everybody(best, known.sources, known.vouched, limit):
                    return hits
        return []

    def frequencies(self, project: str, terms: Sequence[str]) -> Frequencies:
        """How many records are searched, and how many of them have each term, as last counted."""
        with self._searching(project) as session:
            return self._know(session, project, tuple(dict.fromkeys(terms))).frequencies

    @abstractmethod
    def _searching(self, project: str) -> AbstractContextManager[Any]:
        """A session for one search."""

    @abstractmethod
    def _know(self, session: Any, project: str, terms: Sequence[str]) -> query.Known:
        """What is known of a project before it is searched for these terms; no frequencies where
        there is nothing to search.
        """

    @abstractmethod
    def _match(
        self,
        session: Any,
        project: str,
        terms: Sequence[str],
        known: Any,
        filters: Filters,
        limit: int,
        whole: bool,
    ) -> Callable[[Among], list[Scored]]:
        """What finds the best of some sources that have any of the terms (`whole`: all of them)."""

    @abstractmethod
    def nearest(
        self, project: str, vector: Sequence[float], filters: Filters, limit: int
    ) -> list[Scored]:
        """Records by the cosine of their vector to this one, best first, as far as they pass the
        filters; archived ones and rolled-back sources as in `search`.
        """

    def list_last_arrivals(self, project: str, limit: int) -> list[Stored]:
        """The trusted records that came in last, whatever their time, the last first. Looks back
        over a bounded number of rows of all projects.
        """
        return self._read_rows(
            f"record r WHERE r.project_id = ?1 AND r.{ORDINARY} AND {TRUSTED_RECORD} AND r.seq > (SELECT "
            f"max(seq) FROM record) - {_ARRIVALS_LOOKED_THROUGH_MAX} ORDER BY r.seq DESC LIMIT ?2",
            (project, limit),
        )

    def without_vector(self, project: str, limit: int) -> list[Stored]:
        """Records that have no vector, those that came in first first."""
        by_project = self.dialect.hint("record_vector_by_project")  # narrower than the vectors
        return self._read_rows(
            f"record r WHERE r.seq IN (SELECT n.seq FROM record n WHERE n.project_id = ?1 AND NOT "
            f"EXISTS (SELECT 1 FROM record_vector v{by_project} WHERE v.project_id = ?1 AND "
            f"v.seq = n.seq) AND n.{ORDINARY} ORDER BY n.seq LIMIT ?2) ORDER BY r.seq",
            (project, limit),
        )

    def count_without_vector(self, project: str) -> int:
        """How many those are; none where no embedder was ever used."""
        with self.snapshot(project) as session:
            return query.count_without_vector(session, project)

    # --- everything of a project ---

    def stream(self, project: str) -> Generator[tuple[Stored, list[Event]]]:
        """Every record with what happened to it that is so elsewhere too (`TRAVELLING`), oldest
        first, as of one instant. Holds a read transaction until it is exhausted or closed.
        """
        sql = (
            f"SELECT {STORED}, {self._gather_events(kinds.TRAVELLING)} FROM record r "
            "WHERE r.project_id = ?1 ORDER BY r.at_us, r.id"
        )
        with self.snapshot(project) as session:
            for *columns, events in session.stream(sql, (project,)):
                yield (
                    Stored._make(columns),
                    [query.parse_event(event) for event in json.loads(events)],
                )

    def _gather_events(self, of_kinds: Iterable[EventKind] = ()) -> str:
        """The column with the events of the record `r`, of these kinds or of all, as a JSON list."""
        listed = ", ".join(f"'{kind}'" for kind in of_kinds)
        return (
            f"(SELECT {self.dialect.gather('body', 'at_us, id')} FROM event"
            f"{self.dialect.hint('event_by_record')} WHERE project_id = r.project_id AND record_id = r.id"
            f"{f' AND kind IN ({listed})' if listed else ''})"
        )

    def rows(self, project: str) -> Generator[tuple[Row, list[Event]]]:
        """Every row with all that is derived, and the record's events, oldest first, as of one
        instant.
        """
        beside = {"record_tag": "tag", "record_file": "path", "record_key": "key"}
        own = [f"r.{name}" for name in Row._fields[1:ROW_FIELDS]]
        names = [
            f"(SELECT {self.dialect.gather(name, name)} FROM {table} WHERE seq = r.seq)"
            for table, name in beside.items()
        ]
        columns = [*own, "coalesce(record_text.terms, '')", *names, "r.helped, r.hindered"]
        columns.append(self._gather_events())
        sql = (
            f"SELECT {', '.join(columns)} FROM record r LEFT JOIN record_text "
            "ON record_text.seq = r.seq WHERE r.project_id = ?1 ORDER BY r.at_us, r.id"
        )
        with self.snapshot(project) as session:
            for *plain, tags, files, keys, helped, hindered, events in session.stream(
                sql, (project,)
            ):
                side = (tuple(json.loads(names)) for names in (tags, files, keys))
                row = Row._make((project, *plain, *side, helped, hindered, None, None, None))
                yield (
                    query.unshrink_row(row),
                    [query.parse_event(event) for event in json.loads(events)],
                )

    def events(self, project: str) -> Generator[Event]:
        """Every event by (time, id), tombstones included, as of one instant."""
        sql = "SELECT body FROM event WHERE project_id = ?1 ORDER BY at_us, id"
        with self.snapshot(project) as session:
            for (body,) in session.stream(sql, (project,)):
                yield query.parse_event(body)

    # Of projects that were asked about: the last number of the store that was looked at, and the
    # last of the project.
    _marks: lazy[dict[str, tuple[int, int]]] = lazy(lambda _: {})

    def change_mark(self, project: str) -> tuple[int, int]:
        """Two numbers, of which one is another after anything was recorded, decided or forgotten in
        the project. Costs next to nothing: only what is new in the store is looked at.
        """
        seen, own = self._marks.get(project, (0, 0))
        ((last, own, events),) = self._select(
            "SELECT coalesce((SELECT max(seq) FROM record), 0), "
            # not among the conditions: by an index of projects, all of its records were looked at
            "coalesce((SELECT max(CASE WHEN project_id = ?1 THEN seq END) FROM record WHERE seq > ?2), "
            "?3), coalesce((SELECT max(at_us) FROM event WHERE project_id = ?1), 0)",
            (project, seen, own),
        )
        self._marks[project] = int(last), int(own)
        return int(own), int(events)

    # --- the place ---

    @abstractmethod
    def projects(self) -> list[str]:
        """The projects that have records, by name."""

    @abstractmethod
    def untrue_tallies(self, project: str) -> int:
        """How many tallies are not what the records add up to."""

    @abstractmethod
    def size_bytes(self, project: str | None = None) -> int:
        """What it takes up on disk, its log included; of one project of several, what its records do."""

    @abstractmethod
    def finish_erasure(self) -> bool:
        """Makes what was erased unreadable in every file of the store. False: a reader still needs
        the old log; what was erased is gone for queries, and its bytes go with the first write of
        this store after the reader has finished, with the next `finish_erasure`, or when the last
        process closes the store.
        """

    @abstractmethod
    def shrink(self) -> None:
        """Gives back the room that nothing takes up any more."""

    @abstractmethod
    def backup(self, target: Path, progress: types.Progress | None) -> str:
        """Copies everything, all projects, as of one instant, into a new file; verified; returns
        its SHA-256.
        """

    @abstractmethod
    def check(self, project: str) -> Iterator[types.Finding]:
        """What the store can say about its own health, a finding at a time: of this project, or of
        everything, where all projects lie together.
        """

    @abstractmethod
    def tokens(self) -> types.TokenKeep:
        """Where the tokens of this memory are kept. Whoever asked closes it."""

    @abstractmethod
    def close(self) -> None:
        """Closes it for every thread. Closing twice is allowed."""


def check_rows(session: Session, side_tables: Iterable[str]) -> Iterator[types.Finding]:
    """Whether what is kept beside records fits to them. `side_tables` have the number of a record
    as `seq`.
    """
    forgotten = (
        "SELECT count(*) FROM record r JOIN event e ON e.project_id = r.project_id "
        "AND e.record_id = r.id WHERE e.kind = 'forgotten'"
    )
    orphans = (
        "SELECT count(*) FROM {} s WHERE NOT EXISTS (SELECT 1 FROM record r WHERE r.seq = s.seq)"
    )
    strays = sum(map(session.value, (forgotten, *map(orphans.format, side_tables))))
    yield types.Finding("side tables", strays == 0, f"{strays} rows that belong to no record")
    misfits = session.value(
        "SELECT count(*) FROM record_vector v LEFT JOIN embedder e ON e.project_id = v.project_id "
        "WHERE e.dimension IS NULL OR length(v.vector) <> 4 * e.dimension"
    )
    yield types.Finding(
        "vectors", misfits == 0, f"{misfits} that are not of the embedder they are kept for"
    )
    wrong = 0
    for *columns, body in session.stream("SELECT id, record_id, kind, at_us, body FROM event"):
        try:
            event = query.parse_event(body)
            wrong += columns != [event.id, event.record_id, event.kind, event.at_us]
        except DamagedError:
            wrong += 1
    yield types.Finding("events", not wrong, f"{wrong} that do not say what their columns say")
