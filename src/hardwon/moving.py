"""Records from a file or from another memory. A batch is a transaction: other writers get their turn in between, and what was
interrupted is finished by doing it again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

from hardwon import limits
from hardwon.fields import new_id
from hardwon.govern.cleaning import clean_event, without_secrets
from hardwon.model import AnyRecord, Event
from hardwon.reports import Loaded, Merged
from hardwon.store import jsonl
from hardwon.store.contract import Progress, Row, Store
from hardwon.store.rows import original_of, row_of
from hardwon.upkeep import batches, really_conflicting, refresh_status, same_but_for_status

Prepare = Callable[[AnyRecord], AnyRecord]


def load(
    store: Store,
    project: str,
    path: Path,
    prepare: Prepare,
    clock: Callable[[], datetime],
    by: str,
    dry_run: bool,
    progress: Progress | None,
) -> Loaded:
    """The whole file is checked before the first record is written; new records land as hypotheses."""
    total = sum(1 for _ in map(prepare, jsonl.read(path)))
    if dry_run:
        return _foresee(store, project, map(prepare, jsonl.read(path)))
    added, forgotten, done = 0, 0, 0
    conflicts: list[str] = []
    for batch in batches(map(prepare, jsonl.read(path)), limits.BATCH_ROWS):
        with store.write() as writer:
            appended = writer.append([_imported_row(record) for record in batch])
            conflicts += really_conflicting(writer, project, appended.conflicting)
            at = clock()
            events = [Event(id=new_id(at), record_id=new, kind="imported", at=at, by=by) for new in appended.added]
            writer.add_events(project, [clean_event(event) for event in events])
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
            same = same_but_for_status(original_of(stored), record)
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


def merge(source: Store, target: Store, project: str, progress: Progress | None) -> Merged:
    """The union of records and events, minus what either side forgot."""
    added, present, forgotten, events, erased, done = 0, 0, 0, 0, 0, 0
    conflicts: list[str] = []
    counts = source.counts(project) if progress else None
    total = counts.records + counts.decisions if counts else 0
    for batch in batches(source.stream(project), limits.BATCH_ROWS):
        rows = [row_of(without_secrets(original_of(stored))) for stored in batch]
        with target.write() as writer:
            appended = writer.append(rows)
            for new in appended.added:  # an earlier merge may have brought its events
                refresh_status(writer, project, new)
            different = really_conflicting(writer, project, appended.conflicting)
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
            erased += writer.erase(project, [event.record_id for event in tombstones], list(map(clean_event, tombstones)))
            # What was said of another content under the same id says nothing about ours.
            others = [event for event in happened if event.kind != "forgotten" and event.record_id not in strangers]
            fresh = writer.add_events(project, [clean_event(event) for event in others])
            for record_id in dict.fromkeys(event.record_id for event in fresh):
                refresh_status(writer, project, record_id)
        events += len(fresh)
    pending = erased > 0 and not target.finish_erasure()
    return Merged(added, present, conflicts, forgotten, events, erased, pending)
