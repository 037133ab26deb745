"""What keeps everything derived in line with records and events, whoever wrote them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from hardwon.errors import ConflictError
from hardwon.fields import TIME_US_MAX, from_us
from hardwon.govern.cleaning import clean_event
from hardwon.govern.lifecycle import credits_of, effective_validation
from hardwon.learn.lessons import tidied_key
from hardwon.model import Cleaned, Event, Fix, Record, Validation
from hardwon.store.contract import Row, Writer
from hardwon.store.rows import kept_row, original_of, record_of, restored, row_of

T = TypeVar("T")


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    source = iter(items)
    while batch := list(islice(source, size)):
        yield batch


def happen(writer: Writer, project: str, event: Event) -> None:
    """Something happens to a record now: the event is kept, and the record's standing follows."""
    writer.add_events(project, [clean_event(in_order(event, writer.events_of(project, event.record_id)))])
    refresh_status(writer, project, event.record_id)
    stored = writer.get(project, event.record_id)
    if stored and stored.kind == "decision":
        decision = record_of(stored)
        if decision.metadata.validation.status == "archived":
            bring_back(writer, project, [decision.id])


def bring_back(writer: Writer, project: str, decision_ids: Iterable[str]) -> None:
    """Everything that these cleanups and compressions packed away."""
    for decision_id in decision_ids:
        for stored in writer.with_key(project, tidied_key(decision_id)):
            whole = restored(stored)
            if whole is None:
                raise ConflictError(
                    f"decision {decision_id} cannot be undone: the memory was compacted since, and what it took out of the "
                    "history is gone for good. A backup from before that has it"
                )
            fix = original_of(whole)
            row = row_of(fix, *standing_of(fix, writer.events_of(project, fix.id)))
            writer.replace(row._replace(body=whole.body, digest=whole.digest))


def in_order(event: Event, earlier: Sequence[Event]) -> Event:
    """A clock that stands still or was set back must not make what happens now count as having happened before."""
    if earlier and event.at_us <= earlier[-1].at_us:
        return event.altered(at=from_us(min(earlier[-1].at_us + 1, TIME_US_MAX)))
    return event


def refresh_status(writer: Writer, project: str, record_id: str) -> None:
    """Brings what is kept of a record's status in line with its events."""
    stored = writer.get(project, record_id)
    if stored:
        record = original_of(stored)
        effective, credited = standing_of(record, writer.events_of(project, record_id))
        changed = None if effective == record.metadata.validation else effective.to_json()
        writer.set_standing(project, record_id, effective.status, changed, credited)


def derive_again(row: Row, events: Iterable[Event]) -> Row:
    """The row as it should be."""
    record = original_of(row)
    return kept_row(row, record, *standing_of(record, list(events)))._replace(lessons=(), fix=None)


def standing_of(record: Record, events: Sequence[Event]) -> tuple[Validation, tuple[int, int]]:
    """What a record's events add up to: how far it may be believed, and how often it helped and did not."""
    metadata = record.metadata
    return effective_validation(metadata.validation, events), credits_of(events, metadata.source.author)


def really_conflicting(writer: Writer, project: str, suspects: Iterable[Row]) -> list[str]:
    """Of rows whose id is kept with another body, the ids of those that say something else. Another status is not
    something else (a record that is read carries the one it has by then), nor is JSON of an older version."""
    conflicts = []
    for row in suspects:
        stored = writer.get(project, row.id)
        if stored and not same_content(original_of(stored), original_of(row)):
            conflicts.append(row.id)
    return conflicts


def same_content(one: Record, other: Record) -> bool:
    """But for the status. What left the history in one memory may be whole in the other."""
    if isinstance(one, Cleaned) or isinstance(other, Cleaned):
        return isinstance(one, Cleaned | Fix) and isinstance(other, Cleaned | Fix)
    return _without_validation(one) == _without_validation(other)


def _without_validation(record: Record) -> Record:
    return record.altered(metadata=record.metadata.altered(validation=Validation()))
