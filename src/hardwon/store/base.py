"""Writing what is kept: a record becomes a row and what is derived from it, and every writer that
speaks SQL does the same in the same words. `doctor` derives everything again.

Knowledge is tallies that are added to when a record comes in, and taken from when it goes. Adding
commutes. Taking back subtracts; only where the record that goes was the newest or the best of its
tally, that tally is counted again from the records of its day and author.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from pkgutil import resolve_name
from typing import Any, Final, NamedTuple

from hardwon import limits
from hardwon.errors import DamagedError, InvalidInputError
from hardwon.learn.tallies import (
    KIND_OF_SCOPE,
    LEVELS,
    TEACHING_STATUSES,
    RecordCounts,
    TallyKey,
    has_keys,
    keys_of,
    sum_counts,
    summary_of,
    tallies_of,
    tidied_key,
)
from hardwon.records.kinds import (
    VOUCHED_STATUSES,
    AnyRecord,
    Cleaned,
    Decision,
    Episode,
    Event,
    Experience,
    Fix,
    Record,
    Validation,
)
from hardwon.search.terms import Filters
from hardwon.store.query import (
    STORED,
    TRUSTED_AUTHORS,
    TRUSTED_RECORD,
    digest_of,
    embedder_of,
    event_of,
    events_of,
    is_packed,
    original_of,
    packed_body,
    packed_by,
    page,
    rolled_back_authors,
    sound_body,
    stored_of,
)
from hardwon.store.types import (
    Bound,
    Cursor,
    Dialect,
    Request,
    Row,
    Session,
    Stored,
    Values,
    Writer,
)
from hardwon.text.terms import index_text, searchable_text

# --- rows ---


def row_of(
    record: Record, effective: Validation | None = None, credited: tuple[int, int] = (0, 0)
) -> Row:
    """The row of a record whose events add up to `effective` (None: it has no events) and to these
    credits.
    """
    try:
        body = record.to_json_bytes()
    except ValueError as error:  # something put into the record after it was checked
        raise InvalidInputError.one(
            "record", record.id, f"values that JSON can hold ({error})"
        ) from None
    # it holds one that was small enough
    if len(body) > limits.RECORD_BYTES_MAX and not isinstance(record, Cleaned):
        raise InvalidInputError.one(
            "record", f"{len(body)} bytes", f"at most {limits.RECORD_BYTES_MAX} bytes"
        )
    outcome: str | None = None
    tool = task_id = model = issue_type = None
    if isinstance(record, Experience):
        if not record.unrouted:
            outcome, tool = record.outcome, record.tool
        task_id = record.extra.get("task_id")
    elif isinstance(record, Episode):
        task_id = record.task_id
    elif isinstance(record, Decision):
        outcome, task_id = record.action, record.task_id  # a decision is looked up by what it does
    elif isinstance(record, Fix):
        model, issue_type = record.issue.model, record.issue.issue_type
    elif isinstance(record, Cleaned):
        model, issue_type = record.model, record.issue_type
    metadata = record.metadata
    envelope = metadata.validation
    return Row(
        metadata.project_id,
        record.id,
        record.kind,
        record.at_us,
        metadata.source.author,
        outcome,
        tool,
        task_id if isinstance(task_id, str) else None,
        model,
        issue_type,
        body.decode(),
        digest_of(body),
        (effective or envelope).status,
        effective.to_json() if effective and effective != envelope else None,
        index_text(searchable_text(record)),
        tuple(sorted(set(metadata.tags))) if metadata.tags else (),
        tuple(sorted({file.path for file in metadata.context.related_files}))
        if metadata.context.related_files
        else (),
        keys_of(record) if has_keys(record) else (),
        *credited,
        tallies_of(record),
        record if any(record.kind in design.kinds for design in DESIGNS) else None,
    )


def packed_row(row: Row, fix: Fix, decision_id: str) -> Row:
    """The row of a fix whose details are packed away: found by its summary."""
    return row._replace(
        body=packed_body(row.body, decision_id),
        terms=index_text(summary_of(fix)),
        keys=tuple(sorted({*row.keys, tidied_key(decision_id)})),
    )


def kept_row(
    stored: Stored | Row, record: AnyRecord, effective: Validation | None, credited: tuple[int, int]
) -> Row:
    """The row that a record is kept in. Another version may write the same record as other JSON:
    what was written stays, and what was packed stays packed.
    """
    row = row_of(record, effective, credited)._replace(
        body=sound_body(stored), digest=stored.digest
    )
    if is_packed(stored.body) and isinstance(record, Fix):
        return packed_row(row, record, packed_by(stored.body))._replace(body=stored.body)
    return row


# --- tallies ---


_LEVELS: Final = [f"level{level}" for level in range(LEVELS)]
_PLACE: Final = "project_id, scope, key, item, day, author"
_FIGURES: Final = ", ".join(["vouched", "total", "best", "last_us", "last_id", *_LEVELS])
_TEXTS: Final = ("project_id", "scope", "key", "item", "author", "last_id")
_COLUMNS: Final = {
    name: "text" if name in _TEXTS else "bigint" for name in f"{_PLACE}, {_FIGURES}".split(", ")
}
_SUMS: Final = ["vouched", "total", *_LEVELS]
_TIMES: Final = f"({' + '.join(_LEVELS)})"
_WHERE_PLACE: Final = " AND ".join(
    f"{name} = ?{number}" for number, name in enumerate(_PLACE.split(", "), 1)
)
# taught by episodes whose task is the key
_TASK_SCOPES: Final = ("score", "works", "avoid", "card")


@cache
def _adding(dialect: Dialect, table: str) -> str:
    sums = "".join(f"{name} = {table}.{name} + excluded.{name}, " for name in _SUMS)
    return (
        f"ON CONFLICT ({_PLACE}) DO UPDATE SET {sums}best = {dialect.greatest}({table}.best, "
        f"excluded.best), "
        f"last_us = {dialect.greatest}({table}.last_us, excluded.last_us), last_id = CASE WHEN "
        f"(excluded.last_us, "
        f"excluded.last_id) > ({table}.last_us, {table}.last_id) THEN excluded.last_id ELSE "
        f"{table}.last_id END"
    )


def add_tallies(
    session: Session, dialect: Dialect, taught: Iterable[RecordCounts], table: str = "tally"
) -> None:
    """Counts what these records teach."""
    counted = sum_counts(taught)
    if counted:
        # In the order of the table, so that neighbours are found on the same page.
        rows = [(*place, *figures) for place, figures in sorted(counted.items())]
        dialect.insert_many(session, table, _COLUMNS, rows, _adding(dialect, table))


def change_status(session: Session, dialect: Dialect, taught: RecordCounts, status: str) -> None:
    """Counts a record as its new status says; its row has it already."""
    if taught.status in TEACHING_STATUSES and status in TEACHING_STATUSES:
        more = (status in VOUCHED_STATUSES) - (taught.status in VOUCHED_STATUSES)
        for place, (_, _, _, _, _, *levels) in sum_counts([taught]).items() if more else ():
            # A record may teach one thing at two levels: of its actions some worked and some
            # failed.
            bound = Bound(place)
            session.run(
                f"UPDATE tally SET vouched = vouched + {bound.add(more * sum(levels))} WHERE "
                f"{_WHERE_PLACE}",
                bound,
            )
    else:
        add_tallies(session, dialect, [taught._replace(status=status)])
        take_back(session, [taught])


def take_back(session: Session, taught: Iterable[RecordCounts]) -> None:
    """Uncounts what records taught that are gone, or that have another status by now."""
    lost_last: list[TallyKey] = []
    lost_best: list[TallyKey] = []
    for place, figures in sum_counts(taught).items():
        vouched, total, best, _, last_id, *levels = figures
        kept = session.first(
            f"SELECT {_TIMES}, best, last_id FROM tally WHERE {_WHERE_PLACE}", place
        )
        if kept is None:
            # a memory whose tallies were damaged: doctor says so, and rebuild counts again
            continue
        times, kept_best, kept_last_id = kept
        if times <= sum(levels):
            session.run(f"DELETE FROM tally WHERE {_WHERE_PLACE}", place)
            continue
        bound = Bound(place)
        taken = zip(_SUMS, (vouched, total, *levels), strict=True)
        less = ", ".join(f"{name} = {name} - {bound.add(figure)}" for name, figure in taken)
        session.run(f"UPDATE tally SET {less} WHERE {_WHERE_PLACE}", bound)
        if best and kept_best == best:
            lost_best.append(place)
        elif last_id and kept_last_id == last_id:
            lost_last.append(place)
    for places, until_found in ((lost_last, True), (lost_best, False)):
        _find_again(session, places, until_found)


def _find_again(session: Session, places: Iterable[TallyKey], until_found: bool) -> None:
    """The newest record of each tally, and its best value, from the records of its day and author,
    newest first. Where only the newest is missing, the search ends as soon as it is found.
    """
    groups: dict[tuple[str, str, int, str, str | None], set[TallyKey]] = {}
    for place in places:
        project, scope, key, _, day, author = place
        task = key if scope in _TASK_SCOPES else None
        groups.setdefault((project, KIND_OF_SCOPE[scope], day, author, task), set()).add(place)
    for (project, kind, day, author, task), wanted in groups.items():
        where = "project_id = ?1 AND kind IN (?2, 'cleaned') AND author = ?3 AND at_us >= ?4 AND at_us < ?5"
        bound = Bound([project, kind, author, day * limits.DAY_US, (day + 1) * limits.DAY_US])
        if task is not None:
            where += f" AND task_id = {bound.add(task)}"
        found: dict[TallyKey, list[Any]] = {}  # best, last_us, last_id
        for taught in taught_where(session, where, bound, newest_first=True):
            for lesson in taught.increments:
                place = _place(taught, lesson)
                if place in wanted:
                    figures = found.setdefault(place, [0, taught.at_us, taught.id])
                    figures[0] = max(figures[0], lesson.value)
            if until_found and len(found) == len(wanted):
                break
        for place, (best, last_us, last_id) in found.items():
            bound = Bound(place)
            changes = f"last_us = {bound.add(last_us)}, last_id = {bound.add(last_id)}"
            if not until_found:
                changes += f", best = {bound.add(best)}"
            session.run(f"UPDATE tally SET {changes} WHERE {_WHERE_PLACE}", bound)


def _place(taught: RecordCounts, lesson: Any) -> TallyKey:
    day = taught.at_us // limits.DAY_US
    return taught.project_id, lesson.scope, lesson.key, lesson.item, day, taught.author


def taught_where(
    session: Session, where: str, values: Values, *, newest_first: bool = False
) -> Iterator[RecordCounts]:
    """What the records that pass a condition teach, as far as they can be read. Value 1 is the
    project.
    """
    teaching = ", ".join(f"'{status}'" for status in TEACHING_STATUSES)
    sql = (
        "SELECT author, status, id, kind, at_us, body, digest, validation FROM record "
        f"WHERE {where} AND status IN "
        f"({teaching}){' ORDER BY at_us DESC, id DESC' if newest_first else ''}"
    )
    for author, status, *stored in session.each(sql, values):
        try:
            record = original_of(Stored(*stored))
        except DamagedError:  # doctor names it
            continue
        yield RecordCounts(values[0], author, record.at_us, record.id, status, tallies_of(record))


# --- counting everything again ---


def _count_afresh(session: Session, dialect: Dialect, project: str) -> None:
    """Fills a table of this session, `fresh`, with what the project's records teach."""
    dialect.make_fresh_tallies(session)
    found = taught_where(session, "project_id = ?1", (project,))
    while batch := list(islice(found, limits.BATCH_ROWS)):
        add_tallies(session, dialect, batch, "fresh")


def count_differing(session: Session, dialect: Dialect, project: str) -> int:
    """How many tallies are not what the records add up to."""
    _count_afresh(session, dialect, project)
    kept, fresh = (
        f"SELECT {_PLACE}, {_FIGURES} FROM tally WHERE project_id = ?1",
        f"SELECT {_PLACE}, {_FIGURES} FROM fresh",
    )
    sql = f"SELECT 1 FROM ({kept} EXCEPT {fresh}) AS kept_only UNION ALL SELECT 1 FROM ({fresh} EXCEPT {kept}) AS fresh_only"
    (differing,) = session.first(f"SELECT count(*) FROM ({sql}) AS differing", (project,)) or (0,)
    session.run("DROP TABLE fresh")
    return int(differing)


def recount(session: Session, dialect: Dialect, project: str) -> None:
    """Makes the project's tallies what its records add up to."""
    _count_afresh(session, dialect, project)
    session.run("DELETE FROM tally WHERE project_id = ?1", (project,))
    session.run(f"INSERT INTO tally ({_PLACE}, {_FIGURES}) SELECT {_PLACE}, {_FIGURES} FROM fresh")
    session.run("DROP TABLE fresh")


# --- the writer ---


ROW: Final = "project_id, id, kind, at_us, author, outcome, tool, task_id, model, issue_type, body, digest, status, validation"
ROW_FIELDS: Final = 14
"""The columns that a new row is written into, which are as many as the first fields of a Row."""

DERIVED: Final = (
    "kind",
    "at_us",
    "author",
    "outcome",
    "tool",
    "task_id",
    "model",
    "issue_type",
    "status",
    "validation",
    "helped",
    "hindered",
)
"""The columns that are derived from a record and its events."""


class Kept(NamedTuple):
    """A record with what its row says of it."""

    seq: int
    taught: RecordCounts
    body: str
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

    def on_status(self, kept: Kept, status: str) -> None:
        """A record has another status than it had."""

    def on_erase(self, gone: Sequence[Kept]) -> None:
        """Records are gone, as far as they could be read."""

    def rebuild(self, project: str | None) -> None:
        """Derives everything again, of a project or (None) of all."""

    def count_differing(self, project: str) -> int:  # noqa: ARG002
        """How many rows of a project are not what its records say."""
        return 0


class Design(NamedTuple):
    """A design that keeps tables beside the records of these kinds. Its listener, "module:class",
    is imported when one of them changes.
    """

    kinds: frozenset[str]
    listener: str


DESIGNS: Final[list[Design]] = []
"""Those that are registered (`memory/designs.py`)."""


def listeners(session: Session, kinds: Iterable[str] | None = None) -> list[Listener]:
    """Of every design, or of those that keep something of records of these kinds."""
    concerned = (
        DESIGNS
        if kinds is None
        else [design for design in DESIGNS if not design.kinds.isdisjoint(kinds)]
    )
    return [resolve_name(design.listener)(session) for design in concerned]


class SqlWriter(Writer):
    """The statements that engines share, of one transaction."""

    def __init__(self, session: Session, dialect: Dialect) -> None:
        self.session = session
        self._dialect = dialect
        self.undos: list[Callable[[], object]] = []

    def on_failure(self, undo: Callable[[], object]) -> None:
        self.undos.append(undo)

    @abstractmethod
    def _drop_derived(self, project: str, seq: int) -> None:
        """Removes what is kept of a record beside its row and its vector: search terms, tags, files
        and keys.
        """

    @abstractmethod
    def _drop_vector(self, project: str, seq: int) -> None:
        """Removes the vector of a record, where it has one."""

    def _listeners(self, kinds: Iterable[str]) -> list[Listener]:  # noqa: ARG002
        """Of the designs that keep tables of their own in this engine: none, unless an engine says
        otherwise.
        """
        return []

    # --- records ---

    def get(self, project: str, record_id: str) -> Stored | None:
        return stored_of(self.session, project, record_id)

    def page(
        self,
        project: str,
        filters: Filters,
        before: Cursor | None,
        limit: int,
        *,
        trusted: bool = False,
    ) -> list[Stored]:
        return page(
            self.session, self._dialect, project, filters, before, limit, only_trusted=trusted
        )

    def _seq_of(self, project: str, record_id: str) -> int | None:
        row = self.session.first(
            "SELECT seq FROM record WHERE project_id = ?1 AND id = ?2", (project, record_id)
        )
        return int(row[0]) if row else None

    def _kept(self, project: str, record_id: str) -> Kept | None:
        sql = f"SELECT r.seq, r.author, r.status, {STORED} FROM record r WHERE r.project_id = ?1 AND r.id = ?2"
        row = self.session.first(sql, (project, record_id))
        if row is None:
            return None
        seq, author, status, *stored = row
        kept = Stored._make(stored)
        record = original_of(kept)
        taught = RecordCounts(project, author, record.at_us, record.id, status, tallies_of(record))
        return Kept(seq, taught, kept.body, record)

    def _kept_if_readable(self, project: str, record_id: str) -> Kept | None:
        try:
            return self._kept(project, record_id)
        except DamagedError:  # it must still be possible to forget it; doctor finds what it taught, and rebuild corrects it
            return None

    def set_standing(
        self,
        project: str,
        record_id: str,
        status: str,
        validation: str | None,
        credited: tuple[int, int],
    ) -> None:
        kept = self._kept(project, record_id)
        self.session.run(
            "UPDATE record SET status = ?3, validation = ?4, helped = ?5, hindered = ?6 WHERE "
            "project_id = ?1 AND id = ?2",
            (project, record_id, status, validation, *credited),
        )
        if kept and kept.taught.status != status:
            if kept.taught.increments:
                change_status(self.session, self._dialect, kept.taught, status)
            for listener in self._listeners([kept.record.kind]):
                listener.on_status(kept, status)

    def _rewrite_columns(self, seq: int, row: Row) -> None:
        changes = ", ".join(f"{name} = ?{number}" for number, name in enumerate(DERIVED, 3))
        derived = [getattr(row, name) for name in DERIVED]
        self.session.run(
            f"UPDATE record SET {changes} WHERE project_id = ?1 AND seq = ?2",
            (row.project_id, seq, *derived),
        )

    def erase(self, project: str, record_ids: Sequence[str], tombstones: Sequence[Event]) -> int:
        run = self.session.run
        erased = 0
        gone: list[Kept] = []
        for record_id in record_ids:
            seq = self._seq_of(project, record_id)
            if seq is not None:
                kept = self._kept_if_readable(project, record_id)
                self._drop_derived(project, seq)
                self._drop_vector(project, seq)
                run("DELETE FROM record WHERE project_id = ?1 AND seq = ?2", (project, seq))
                erased += 1
                gone += [kept] if kept else []
            run(
                "DELETE FROM event WHERE project_id = ?1 AND record_id = ?2 AND kind <> 'forgotten'",
                (project, record_id),
            )
        take_back(self.session, [kept.taught for kept in gone])
        for listener in self._listeners({kept.record.kind for kept in gone}):
            listener.on_erase(gone)
        self.add_events(project, tombstones)
        return erased

    def cleaned(self, project: str, after_id: str, limit: int) -> list[Stored]:
        sql = (
            f"SELECT {STORED} FROM record r WHERE r.project_id = ?1 AND r.id > ?2 AND r.kind = "
            f"'cleaned' ORDER BY r.id LIMIT ?3"
        )
        return [Stored._make(row) for row in self.session.select(sql, (project, after_id, limit))]

    # --- events ---

    def add_events(self, project: str, events: Sequence[Event]) -> list[Event]:
        sql = (
            "INSERT INTO event (project_id, id, record_id, kind, at_us, body) SELECT ?1, ?2, ?3, "
            "?4, ?5, ?6 WHERE ?4 = 'forgotten' OR NOT EXISTS "
            "(SELECT 1 FROM event WHERE project_id = ?1 AND record_id = ?3 AND kind = 'forgotten') "
            "ON CONFLICT DO NOTHING"
        )
        return [
            event
            for event in events
            if self.session.run(
                sql, (project, event.id, event.record_id, event.kind, event.at_us, event.to_json())
            )
        ]

    def events_of(self, project: str, record_id: str) -> list[Event]:
        return events_of(self.session, project, record_id)

    def having_events(self, project: str, record_ids: Sequence[str]) -> list[str]:
        sql = f"SELECT DISTINCT record_id FROM event WHERE project_id = ?1 AND {self._dialect.within('record_id', '?2')}"
        return [
            str(found)
            for (found,) in self.session.select(sql, (project, self._dialect.listed(record_ids)))
        ]

    def event(self, project: str, event_id: str) -> Event | None:
        found = self.session.first(
            "SELECT body FROM event WHERE project_id = ?1 AND id = ?2", (project, event_id)
        )
        return event_of(found[0]) if found else None

    # --- knowledge ---

    def votes(self, project: str, record_id: str, besides: str) -> tuple[int, int]:
        at_most = f"{self._dialect.least}({{}}, {limits.VOTES_OF_AUTHOR_MAX})"
        sql = (
            f"SELECT coalesce(sum({at_most.format('v.good')}), 0), "
            f"coalesce(sum({at_most.format('v.bad')}), 0) FROM ("
            "SELECT sum(level1) AS good, sum(level0) AS bad FROM tally WHERE project_id = ?1 AND "
            "scope = 'credit' AND key = ?2 "
            f"AND author <> ?3 AND {TRUSTED_AUTHORS} GROUP BY author) v"
        )
        good, bad = self.session.first(sql, (project, record_id, besides)) or (0, 0)
        return good, bad

    def recount(self, project: str) -> None:
        recount(self.session, self._dialect, project)

    def known_keys(self, project: str, keys: Iterable[str], statuses: Sequence[str]) -> set[str]:
        within = self._dialect.within
        sql = (
            f"SELECT DISTINCT k.key FROM record_key k JOIN record r ON r.seq = k.seq "
            f"WHERE k.project_id = ?1 AND {within('k.key', '?2')} AND {within('r.status', '?3')}"
        )
        found = self.session.select(
            sql, (project, self._dialect.listed(keys), self._dialect.listed(statuses))
        )
        return {key for (key,) in found}

    def with_key(self, project: str, key: str) -> list[Stored]:
        sql = (
            f"SELECT {STORED} FROM record_key k {self._dialect.join} record r ON r.seq = k.seq "
            "WHERE k.project_id = ?1 AND k.key = ?2 ORDER BY k.seq"
        )
        return [Stored._make(row) for row in self.session.select(sql, (project, key))]

    def facts_with_key(self, project: str, key: str, limit: int) -> list[Stored]:
        sql = (
            f"SELECT {STORED} FROM record_key k {self._dialect.join} record r ON r.seq = k.seq "
            f"WHERE k.project_id = ?1 AND k.key = ?2 AND r.kind = 'fact' AND {TRUSTED_RECORD} "
            "ORDER BY k.seq LIMIT ?3"
        )
        return [Stored._make(row) for row in self.session.select(sql, (project, key, limit))]

    def is_rolled_back(self, project: str, author: str) -> bool:
        return author in rolled_back_authors(self.session, project)

    def embedder(self, project: str) -> tuple[str, int] | None:
        return embedder_of(self.session, project)

    # --- what is kept beside records ---

    def state(self, project: str, name: str) -> int:
        row = self.session.first(
            "SELECT value FROM state WHERE project_id = ?1 AND name = ?2", (project, name)
        )
        return int(row[0]) if row else 0

    def set_state(self, project: str, name: str, value: int) -> None:
        sql = (
            "INSERT INTO state (project_id, name, value) VALUES (?1, ?2, ?3) "
            "ON CONFLICT (project_id, name) DO UPDATE SET value = excluded.value"
        )
        self.session.run(sql, (project, name, value))

    def request(self, project: str, key: bytes) -> Request | None:
        row = self.session.first(
            "SELECT said, ids FROM request WHERE project_id = ?1 AND key = ?2", (project, key)
        )
        return Request(row[0], json.loads(row[1])) if row else None

    def keep_request(
        self, project: str, key: bytes, request: Request, at_us: int, kept_since_us: int
    ) -> None:
        self._drop_requests(kept_since_us)
        self.session.run(
            "INSERT INTO request (project_id, key, said, ids, at_us) VALUES (?1, ?2, ?3, ?4, ?5)",
            (project, key, request.said, json.dumps(request.ids), at_us),
        )

    def _drop_requests(self, kept_since_us: int) -> None:
        """Some of those that are older."""
        self.session.run(
            "DELETE FROM request WHERE (project_id, key) IN "
            f"(SELECT project_id, key FROM request WHERE at_us < ?1 LIMIT "
            f"{limits.REQUESTS_DROPPED_AT_ONCE})",
            (kept_since_us,),
        )


def taught_by(rows: Iterable[Row]) -> list[RecordCounts]:
    """What new rows teach."""
    return [
        RecordCounts(row.project_id, row.author, row.at_us, row.id, row.status, row.lessons)
        for row in rows
        if row.lessons
    ]
