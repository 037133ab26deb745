"""What every writer that speaks SQL does in the same words."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.errors import DamagedError
from hardwon.learn.tallies import RecordCounts, tallies_of
from hardwon.records.kinds import AnyRecord, Event
from hardwon.search.terms import Filters
from hardwon.store import knowledge as tallies
from hardwon.store import phrases
from hardwon.store.phrases import STORED
from hardwon.store.rows import event_of, original_of
from hardwon.store.types import Cursor, Dialect, Request, Row, Session, Stored, Writer

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


class SqlWriter(Writer):
    """The statements that engines share, of one transaction."""

    def __init__(self, session: Session, dialect: Dialect) -> None:
        self._session = session
        self._dialect = dialect
        self.undos: list[Callable[[], object]] = []

    def on_failure(self, undo: Callable[[], object]) -> None:
        self.undos.append(undo)

    @abstractmethod
    def _drop_derived(self, project: str, seq: int) -> None:
        """Removes what is kept of a record beside its row and its vector: search terms, tags, files and keys."""

    @abstractmethod
    def _drop_vector(self, project: str, seq: int) -> None:
        """Removes the vector of a record, where it has one."""

    def _status_changed(self, kept: Kept, status: str) -> None:
        """A record has another status than it had: for what an engine derives beside the tallies."""

    def _were_erased(self, gone: Sequence[Kept]) -> None:
        """Records are gone, as far as they could be read: for what an engine derives beside the tallies."""

    # --- records ---

    def get(self, project: str, record_id: str) -> Stored | None:
        return phrases.stored_of(self._session, project, record_id)

    def page(self, project: str, filters: Filters, before: Cursor | None, limit: int, *, trusted: bool = False) -> list[Stored]:
        return phrases.page(self._session, self._dialect, project, filters, before, limit, only_trusted=trusted)

    def _seq_of(self, project: str, record_id: str) -> int | None:
        row = self._session.first("SELECT seq FROM record WHERE project_id = ?1 AND id = ?2", (project, record_id))
        return int(row[0]) if row else None

    def _kept(self, project: str, record_id: str) -> Kept | None:
        sql = f"SELECT r.seq, r.author, r.status, {STORED} FROM record r WHERE r.project_id = ?1 AND r.id = ?2"
        row = self._session.first(sql, (project, record_id))
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
        self, project: str, record_id: str, status: str, validation: str | None, credited: tuple[int, int]
    ) -> None:
        kept = self._kept(project, record_id)
        self._session.run(
            "UPDATE record SET status = ?3, validation = ?4, helped = ?5, hindered = ?6 WHERE project_id = ?1 AND id = ?2",
            (project, record_id, status, validation, *credited),
        )
        if kept and kept.taught.status != status:
            if kept.taught.increments:
                tallies.change_status(self._session, self._dialect, kept.taught, status)
            self._status_changed(kept, status)

    def _rewrite_columns(self, seq: int, row: Row) -> None:
        changes = ", ".join(f"{name} = ?{number}" for number, name in enumerate(DERIVED, 3))
        derived = [getattr(row, name) for name in DERIVED]
        self._session.run(f"UPDATE record SET {changes} WHERE project_id = ?1 AND seq = ?2", (row.project_id, seq, *derived))

    def erase(self, project: str, record_ids: Sequence[str], tombstones: Sequence[Event]) -> int:
        run = self._session.run
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
            run("DELETE FROM event WHERE project_id = ?1 AND record_id = ?2 AND kind <> 'forgotten'", (project, record_id))
        tallies.take_back(self._session, [kept.taught for kept in gone])
        self._were_erased(gone)
        self.add_events(project, tombstones)
        return erased

    def cleaned(self, project: str, after_id: str, limit: int) -> list[Stored]:
        sql = (
            f"SELECT {STORED} FROM record r WHERE r.project_id = ?1 AND r.id > ?2 AND r.kind = 'cleaned' ORDER BY r.id LIMIT ?3"
        )
        return [Stored._make(row) for row in self._session.select(sql, (project, after_id, limit))]

    # --- events ---

    def add_events(self, project: str, events: Sequence[Event]) -> list[Event]:
        sql = (
            "INSERT INTO event (project_id, id, record_id, kind, at_us, body) SELECT ?1, ?2, ?3, ?4, ?5, ?6 "
            "WHERE ?4 = 'forgotten' OR NOT EXISTS "
            "(SELECT 1 FROM event WHERE project_id = ?1 AND record_id = ?3 AND kind = 'forgotten') ON CONFLICT DO NOTHING"
        )
        return [
            event
            for event in events
            if self._session.run(sql, (project, event.id, event.record_id, event.kind, event.at_us, event.to_json()))
        ]

    def events_of(self, project: str, record_id: str) -> list[Event]:
        return phrases.events_of(self._session, project, record_id)

    def having_events(self, project: str, record_ids: Sequence[str]) -> list[str]:
        sql = f"SELECT DISTINCT record_id FROM event WHERE project_id = ?1 AND {self._dialect.within('record_id', '?2')}"
        return [str(found) for (found,) in self._session.select(sql, (project, self._dialect.listed(record_ids)))]

    def event(self, project: str, event_id: str) -> Event | None:
        found = self._session.first("SELECT body FROM event WHERE project_id = ?1 AND id = ?2", (project, event_id))
        return event_of(found[0]) if found else None

    # --- knowledge ---

    def votes(self, project: str, record_id: str, besides: str) -> tuple[int, int]:
        at_most = f"{self._dialect.least}({{}}, {limits.VOTES_OF_AUTHOR_MAX})"
        sql = (
            f"SELECT coalesce(sum({at_most.format('v.good')}), 0), coalesce(sum({at_most.format('v.bad')}), 0) FROM ("
            "SELECT sum(level1) AS good, sum(level0) AS bad FROM tally WHERE project_id = ?1 AND scope = 'credit' AND key = ?2 "
            f"AND author <> ?3 AND {phrases.trusted_authors(self._dialect)} GROUP BY author) v"
        )
        good, bad = self._session.first(sql, (project, record_id, besides)) or (0, 0)
        return good, bad

    def recount(self, project: str) -> None:
        tallies.recount(self._session, self._dialect, project)

    def known_keys(self, project: str, keys: Iterable[str], statuses: Sequence[str]) -> set[str]:
        within = self._dialect.within
        sql = (
            f"SELECT DISTINCT k.key FROM record_key k JOIN record r ON {self._dialect.same_row('r', 'k')} "
            f"WHERE k.project_id = ?1 AND {within('k.key', '?2')} AND {within('r.status', '?3')}"
        )
        found = self._session.select(sql, (project, self._dialect.listed(keys), self._dialect.listed(statuses)))
        return {key for (key,) in found}

    def with_key(self, project: str, key: str) -> list[Stored]:
        sql = (
            f"SELECT {STORED} FROM record_key k {self._dialect.join} record r ON {self._dialect.same_row('r', 'k')} "
            "WHERE k.project_id = ?1 AND k.key = ?2 ORDER BY k.seq"
        )
        return [Stored._make(row) for row in self._session.select(sql, (project, key))]

    def facts_with_key(self, project: str, key: str, limit: int) -> list[Stored]:
        sql = (
            f"SELECT {STORED} FROM record_key k {self._dialect.join} record r ON {self._dialect.same_row('r', 'k')} "
            f"WHERE k.project_id = ?1 AND k.key = ?2 AND r.kind = 'fact' AND {phrases.trusted(self._dialect)} "
            "ORDER BY k.seq LIMIT ?3"
        )
        return [Stored._make(row) for row in self._session.select(sql, (project, key, limit))]

    def is_rolled_back(self, project: str, author: str) -> bool:
        return author in tallies.rolled_back_authors(self._session, self._dialect, project)

    def embedder(self, project: str) -> tuple[str, int] | None:
        return phrases.embedder_of(self._session, project)

    # --- what is kept beside records ---

    def state(self, project: str, name: str) -> int:
        row = self._session.first("SELECT value FROM state WHERE project_id = ?1 AND name = ?2", (project, name))
        return int(row[0]) if row else 0

    def set_state(self, project: str, name: str, value: int) -> None:
        sql = (
            "INSERT INTO state (project_id, name, value) VALUES (?1, ?2, ?3) "
            "ON CONFLICT (project_id, name) DO UPDATE SET value = excluded.value"
        )
        self._session.run(sql, (project, name, value))

    def request(self, project: str, key: bytes) -> Request | None:
        row = self._session.first("SELECT said, ids FROM request WHERE project_id = ?1 AND key = ?2", (project, key))
        return Request(row[0], json.loads(row[1])) if row else None

    def keep_request(self, project: str, key: bytes, request: Request, at_us: int, kept_since_us: int) -> None:
        self._drop_requests(kept_since_us)
        self._session.run(
            "INSERT INTO request (project_id, key, said, ids, at_us) VALUES (?1, ?2, ?3, ?4, ?5)",
            (project, key, request.said, json.dumps(request.ids), at_us),
        )

    def _drop_requests(self, kept_since_us: int) -> None:
        """Some of those that are older."""
        self._session.run(
            "DELETE FROM request WHERE (project_id, key) IN "
            f"(SELECT project_id, key FROM request WHERE at_us < ?1 LIMIT {limits.REQUESTS_DROPPED_AT_ONCE})",
            (kept_since_us,),
        )


def taught_by(row: Row) -> RecordCounts:
    """What a new row teaches."""
    return RecordCounts(row.project_id, row.author, row.at_us, row.id, row.status, row.lessons)
