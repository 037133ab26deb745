"""Records from a file or from another memory. A batch is a transaction: other writers get their
turn in between, and what was interrupted is finished by doing it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from datetime import datetime
from typing import TYPE_CHECKING, Final

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.memory.project import batches, really_conflicting, refresh_status, same_content
from hardwon.memory.results import Loaded, Merged
from hardwon.records.fields import new_id
from hardwon.records.kinds import LOCAL_ACTIONS, AnyRecord, Cleaned, Event
from hardwon.store.base import row_of
from hardwon.store.query import original_of, restored
from hardwon.store.types import Progress, Row, Store, Stored, Writer
from hardwon.trust.redact import clean_event, without_secrets

if TYPE_CHECKING:
    from hardwon.tree.mirror import Mirror, Planting

    MirrorOf = Callable[[Writer], Mirror | None]

_OF_ONE_PLACE: Final = ("forgotten", "absent", "stale", "fresh")

Prepare = Callable[[AnyRecord], AnyRecord]
Read = Callable[[], Iterable[AnyRecord]]


def load(
    store: Store,
    project: str,
    read: Read,
    prepare: Prepare,
    clock: Callable[[], datetime],
    by: str,
    dry_run: bool,
    progress: Progress | None,
    mirror_of: MirrorOf,
    at_once: bool = False,
) -> Loaded:
    """All records are checked before the first is written, so they are read twice; new ones land as
    hypotheses. `at_once`: they are read once, all in one transaction, and where one is refused none
    is kept.
    """
    total = 0 if at_once else sum(1 for _ in map(prepare, read()))
    if dry_run:
        return _foresee(store, project, map(prepare, read()))
    incoming = _Incoming(project, mirror_of)
    given = batches(map(prepare, read()), limits.BATCH_ROWS)
    transactions = iter([given]) if at_once else ([batch] for batch in given)
    for transaction in transactions:
        with store.write(project) as writer:
            for batch in transaction:
                added = incoming.append(writer, batch, [_imported_row(record) for record in batch])
                at = clock()
                events = [
                    Event(id=new_id(at), record_id=new, kind="imported", at=at, by=by)
                    for new in added
                ]
                writer.add_events(project, [clean_event(event) for event in events])
                if progress and at_once:
                    progress(incoming.done, incoming.done)
        incoming.put()
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
    """Records that came in so far, and the files that mirror them."""

    def __init__(self, project: str, mirror_of: MirrorOf) -> None:
        self._project, self._mirror_of = project, mirror_of
        self.done = self.added = self.forgotten = 0
        self.conflicts: list[str] = []
        self._mirror: Mirror | None = None
        self._planted: list[Planting] = []

    def append(
        self, writer: Writer, records: Sequence[AnyRecord], rows: Sequence[Row]
    ) -> Sequence[str]:
        """The ids of those that are new here."""
        appended = writer.append(rows)
        self.conflicts += really_conflicting(writer, self._project, appended.conflicting)
        self._mirror = self._mirror_of(writer)
        new = set(appended.added)
        kept = [
            (record, row) for record, row in zip(records, rows, strict=True) if record.id in new
        ]
        self._planted += self._mirror.plant(writer, kept) if self._mirror else []
        self.added += len(appended.added)
        self.forgotten += len(appended.forgotten)
        self.done += len(records)
        return appended.added

    def put(self) -> None:
        """The files of a transaction that is through."""
        if self._mirror:
            self._mirror.put(self._planted)
        self._planted = []

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


def merge(
    source: Store, target: Store, project: str, progress: Progress | None, mirror_of: MirrorOf
) -> Merged:
    """The union of records and events, minus what either side forgot."""
    total = source.counts(project).total if progress else 0
    local = {
        stored.id for undone in (False, True) for stored in _local(source, project, undone=undone)
    }
    incoming = _Incoming(project, mirror_of)
    for batch in batches(
        (stored for stored in source.stream(project) if stored.id not in local), limits.BATCH_ROWS
    ):
        records = [without_secrets(original_of(restored(stored) or stored)) for stored in batch]
        with target.write(project) as writer:
            added = incoming.append(writer, records, [row_of(record) for record in records])
            # an earlier merge may have brought them
            for new in writer.having_events(project, added):
                refresh_status(writer, project, new)
        incoming.put()
        if progress:
            progress(incoming.done, max(total, incoming.done))
    events, erased = _merge_events(
        source, target, project, local, frozenset(incoming.conflicts), mirror_of
    )
    pending = erased > 0 and not target.finish_erasure()
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
    source: Store,
    target: Store,
    project: str,
    local: Set[str],
    conflicts: Set[str],
    mirror_of: MirrorOf,
) -> tuple[int, int]:
    """How many events are new, and how many records they erased."""
    strangers = local | conflicts
    added = erased = 0
    for happened in batches(source.events(project), limits.BATCH_ROWS):
        tombstones = [
            event
            for event in happened
            if event.kind == "forgotten" and event.record_id not in local
        ]
        with target.write(project) as writer:
            mirror = mirror_of(writer)
            if mirror:
                mirror.keep_away(writer, [event.record_id for event in tombstones])
            erased += writer.erase(
                project,
                [event.record_id for event in tombstones],
                list(map(clean_event, tombstones)),
            )
            # What was said of another content under the same id says nothing about ours.
            # That a file is absent there, or another one, says nothing about the files here.
            others = [
                clean_event(event)
                for event in happened
                if event.kind not in _OF_ONE_PLACE and event.record_id not in strangers
            ]
            fresh = writer.add_events(project, others)
            for record_id in dict.fromkeys(event.record_id for event in fresh):
                refresh_status(writer, project, record_id)
        added += len(fresh)
        if mirror:
            mirror.follow(settle=bool(tombstones), restored=True)
    return added, erased


def _local(store: Store, project: str, *, undone: bool) -> list[Stored]:
    return store.decisions(project, LOCAL_ACTIONS, None, limits.DECISIONS_MAX, undone=undone)
