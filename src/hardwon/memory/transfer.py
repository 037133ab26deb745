"""Records from a file or from another memory. A batch is a transaction: other writers get their
turn in between, and what was interrupted is finished by doing it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from typing import Final

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.memory.project import (
    Change,
    Project,
    batches,
    really_conflicting,
    refresh_status,
    same_content,
)
from hardwon.memory.results import Loaded, Merged
from hardwon.records.fields import new_id
from hardwon.records.kinds import LOCAL_ACTIONS, AnyRecord, Cleaned, Event
from hardwon.store.base import row_of
from hardwon.store.query import original_of, restored
from hardwon.store.types import Progress, Row, Store
from hardwon.trust.redact import clean_event, without_secrets

_OF_ONE_PLACE: Final = ("forgotten", "absent", "stale", "fresh")

Read = Callable[[], Iterable[AnyRecord]]


def load(
    project: Project,
    read: Read,
    by: str,
    dry_run: bool,
    progress: Progress | None,
    at_once: bool = False,
) -> Loaded:
    """All records are checked before the first is written, so they are read twice; new ones land as
    hypotheses. `at_once`: they are read once, all in one transaction, and where one is refused none
    is kept.
    """
    total = 0 if at_once else sum(1 for _ in map(project.prepare, read()))
    if dry_run:
        return _foresee(project.store, project.name, map(project.prepare, read()))
    incoming = _Incoming()
    given = batches(map(project.prepare, read()), limits.BATCH_ROWS)
    transactions = iter([given]) if at_once else ([batch] for batch in given)
    for transaction in transactions:
        with project.write() as change:
            for batch in transaction:
                added = incoming.append(change, batch, [_imported_row(record) for record in batch])
                at = project.now()
                events = [
                    Event(id=new_id(at), record_id=new, kind="imported", at=at, by=by)
                    for new in added
                ]
                change.writer.add_events(project.name, [clean_event(event) for event in events])
                if progress and at_once:
                    progress(incoming.done, incoming.done)
        if progress and not at_once:
            progress(incoming.done, max(total, incoming.done))
    return Loaded(
        incoming.done,
        incoming.added,
        incoming.present,
        incoming.conflicts,
        incoming.forgotten,
        dry_run=False,
    )


class _Incoming:
    """Records that came in so far."""

    def __init__(self) -> None:
        self.done = self.added = self.forgotten = 0
        self.conflicts: list[str] = []

    def append(
        self, change: Change, records: Sequence[AnyRecord], rows: Sequence[Row]
    ) -> Sequence[str]:
        """The ids of those that are new here."""
        appended = change.writer.append(rows)
        self.conflicts += really_conflicting(
            change.writer, change.project.name, appended.conflicting
        )
        change.tell_appended(records, rows, appended)
        self.added += len(appended.added)
        self.forgotten += len(appended.forgotten)
        self.done += len(records)
        return appended.added

    @property
    def present(self) -> int:
        return self.done - self.added - self.forgotten - len(self.conflicts)


def _imported_row(record: AnyRecord) -> Row:
    if isinstance(record, Cleaned):
        raise InvalidInputError.one(
            "records", record.id, "records that are whole: this is what is left of one"
        )
    return row_of(record, record.metadata.validation.altered(status="hypothesis"))


def _foresee(store: Store, project: str, records: Iterable[AnyRecord]) -> Loaded:
    """What a load would do, without taking the write lock."""
    first_seen: dict[str, bytes] = {}  # what the file says first of an id is what a load would keep
    conflicts: list[str] = []
    present = forgotten = total = 0
    for record in records:
        total += 1
        digest = row_of(record).digest
        stored = store.get(project, record.id)
        if stored:
            same = same_content(original_of(stored), record)
        elif any(event.kind == "forgotten" for event in store.events_of(project, record.id)):
            forgotten += 1
            continue
        else:
            same = first_seen.get(record.id) == digest
        if stored or record.id in first_seen:
            present += same
            conflicts += [] if same else [record.id]
        first_seen.setdefault(record.id, digest)
    return Loaded(
        total,
        total - present - forgotten - len(conflicts),
        present,
        conflicts,
        forgotten,
        dry_run=True,
    )


def merge(source: Store, project: Project, progress: Progress | None) -> Merged:
    """The union of records and events, minus what either side forgot."""
    name = project.name
    total = source.counts(name).total if progress else 0
    local = {
        stored.id
        for undone in (False, True)
        for stored in source.decisions(
            name, LOCAL_ACTIONS, None, limits.DECISIONS_MAX, undone=undone
        )
    }
    incoming = _Incoming()
    for batch in batches(
        (stored for stored in source.stream(name) if stored.id not in local), limits.BATCH_ROWS
    ):
        records = [without_secrets(original_of(restored(stored) or stored)) for stored in batch]
        with project.write() as change:
            added = incoming.append(change, records, [row_of(record) for record in records])
            # an earlier merge may have brought them
            for new in change.writer.having_events(name, added):
                refresh_status(change.writer, name, new)
        if progress:
            progress(incoming.done, max(total, incoming.done))
    events, erased = _merge_events(source, project, local, frozenset(incoming.conflicts))
    pending = erased > 0 and not project.store.finish_erasure()
    return Merged(
        incoming.added,
        incoming.present,
        incoming.conflicts,
        incoming.forgotten,
        events,
        erased,
        pending,
    )


def _merge_events(
    source: Store, project: Project, local: Set[str], conflicts: Set[str]
) -> tuple[int, int]:
    """How many events are new, and how many records they erased."""
    strangers = local | conflicts
    added = erased = 0
    for happened in batches(source.events(project.name), limits.BATCH_ROWS):
        tombstones = [
            event
            for event in happened
            if event.kind == "forgotten" and event.record_id not in local
        ]
        with project.write() as change:
            erased += change.bury([clean_event(event) for event in tombstones])
            # What was said of another content under the same id says nothing about ours.
            # That a file is absent there, or another one, says nothing about the files here.
            others = [
                clean_event(event)
                for event in happened
                if event.kind not in _OF_ONE_PLACE and event.record_id not in strangers
            ]
            fresh = change.writer.add_events(project.name, others)
            for record_id in dict.fromkeys(event.record_id for event in fresh):
                refresh_status(change.writer, project.name, record_id)
            change.follow(erased=bool(tombstones), restored=True)
        added += len(fresh)
    return added, erased
