"""Records from a file or from another memory. A batch is a transaction: other writers get their turn in between, and what was
interrupted is finished by doing it again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Final

from hardwon import limits
from hardwon.fields import new_id
from hardwon.govern.cleaning import clean_event, without_secrets
from hardwon.model import AnyRecord, Event
from hardwon.reports import Loaded, Merged
from hardwon.store.contract import Progress, Row, Store, Writer
from hardwon.store.rows import original_of, restored, row_of
from hardwon.upkeep import batches, really_conflicting, refresh_status, same_content

if TYPE_CHECKING:
    from hardwon.mirroring import Mirror

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
) -> Loaded:
    """All records are checked before the first is written, so they are read twice; new ones land as hypotheses."""
    total = sum(1 for _ in map(prepare, read()))
    if dry_run:
        return _foresee(store, project, map(prepare, read()))
    added, forgotten, done = 0, 0, 0
    conflicts: list[str] = []
    for batch in batches(map(prepare, read()), limits.BATCH_ROWS):
        with store.write() as writer:
            rows = [_imported_row(record) for record in batch]
            appended = writer.append(rows)
            conflicts += really_conflicting(writer, project, appended.conflicting)
            at = clock()
            events = [Event(id=new_id(at), record_id=new, kind="imported", at=at, by=by) for new in appended.added]
            writer.add_events(project, [clean_event(event) for event in events])
            mirror = mirror_of(writer)
            new = set(appended.added)
            kept = [(record, row) for record, row in zip(batch, rows, strict=True) if record.id in new]
            planted = mirror.plant(writer, kept) if mirror else []
        if mirror:
            mirror.put(planted)
        added += len(appended.added)
        forgotten += len(appended.forgotten)
        done += len(batch)
        if progress:
            progress(done, max(total, done))
    return Loaded(done, added, done - added - forgotten - len(conflicts), conflicts, forgotten, dry_run)


def _imported_row(record: AnyRecord) -> Row:
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
    return Loaded(total, total - present - forgotten - len(conflicts), present, conflicts, forgotten, dry_run=True)


def merge(source: Store, target: Store, project: str, progress: Progress | None, mirror_of: MirrorOf) -> Merged:
    """The union of records and events, minus what either side forgot."""
    added, present, forgotten, events, erased, done = 0, 0, 0, 0, 0, 0
    conflicts: list[str] = []
    counts = source.counts(project) if progress else None
    total = counts.total if counts else 0
    for batch in batches(source.stream(project), limits.BATCH_ROWS):
        records = [without_secrets(original_of(restored(stored) or stored)) for stored in batch]
        with target.write() as writer:
            rows = [row_of(record) for record in records]
            appended = writer.append(rows)
            mirror = mirror_of(writer)
            new_ids = set(appended.added)
            kept = [(record, row) for record, row in zip(records, rows, strict=True) if record.id in new_ids]
            planted = mirror.plant(writer, kept) if mirror else []
            for new in appended.added:  # an earlier merge may have brought its events
                refresh_status(writer, project, new)
            different = really_conflicting(writer, project, appended.conflicting)
        if mirror:
            mirror.put(planted)
        added += len(appended.added)
        forgotten += len(appended.forgotten)
        present += len(batch) - len(appended.added) - len(appended.forgotten) - len(different)
        conflicts += different
        done += len(batch)
        if progress:
            progress(done, max(total, done))
    strangers = frozenset(conflicts)
    for happened in batches(source.events(project), limits.BATCH_ROWS):
        tombstones = [event for event in happened if event.kind == "forgotten"]
        with target.write() as writer:
            mirror = mirror_of(writer)
            if mirror:
                mirror.keep_away(writer, [event.record_id for event in tombstones])
            erased += writer.erase(project, [event.record_id for event in tombstones], list(map(clean_event, tombstones)))
            # What was said of another content under the same id says nothing about ours.
            # That a file is absent there, or another one, says nothing about the files here.
            others = [event for event in happened if event.kind not in _OF_ONE_PLACE and event.record_id not in strangers]
            fresh = writer.add_events(project, [clean_event(event) for event in others])
            for record_id in dict.fromkeys(event.record_id for event in fresh):
                refresh_status(writer, project, record_id)
        events += len(fresh)
        if mirror:
            mirror.follow(settle=bool(tombstones), restored=True)
    pending = erased > 0 and not target.finish_erasure()
    return Merged(added, present, conflicts, forgotten, events, erased, pending)
