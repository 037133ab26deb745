"""What follows for a record from the events that happened to it: how far it is believed, what comes back
or goes with a decision, and the row that is kept of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from hardwon.errors import ConflictError
from hardwon.lessons.keys import exact_key
from hardwon.records.fields import TIME_US_MAX, from_us, new_id
from hardwon.records.kinds import (
    VIA_IMPORT,
    VOUCHED_STATUSES,
    Cleaned,
    Decision,
    Event,
    Fix,
    Record,
    Validation,
)
from hardwon.store.base import Writer, kept_row
from hardwon.store.query import read_current, read_original, restore_body
from hardwon.store.types import Row
from hardwon.trust.lifecycle import count_credits, effective_validation, find_source
from hardwon.trust.redact import clean_event


def happen(writer: Writer, project: str, event: Event) -> None:
    """Something happens to a record now: the event is kept, and the record's standing follows."""
    _add_in_order(writer, project, clean_event(event))
    stored = writer.get(project, event.record_id)
    decision = read_current(stored) if stored and stored.kind == "decision" else None
    if decision and decision.metadata.validation.status == "archived":
        bring_back(writer, project, [decision.id])
        if isinstance(decision, Decision) and decision.action == "arrival":
            send_back(writer, project, decision.id, event)


# The reason of an `imported` event, before the id of the arrival.
ARRIVED_WITH: Final = "arrived with "


def send_back(writer: Writer, project: str, decision_id: str, undone: Event) -> None:
    """Archives what arrived with a decision that is undone, but for what somebody here vouches
    for, or trusts who said it, since.
    """
    reason = f"{decision_id} was undone"
    back = {"at": undone.at, "by": undone.by, "status": "archived", "reason": reason}
    for record_id in writer.list_arrivals(project, ARRIVED_WITH + decision_id):
        stored = writer.get(project, record_id)
        if stored is None:
            continue
        record = read_current(stored)
        is_vouched = record.metadata.validation.status in VOUCHED_STATUSES
        if record.said_by.endswith(VIA_IMPORT) and not is_vouched:
            _add_in_order(writer, project, Event(record_id=record_id, kind="status", **back))


def bring_back(writer: Writer, project: str, decision_ids: Iterable[str]) -> None:
    """Everything that these cleanups took out of the history."""
    for decision_id in decision_ids:
        for stored in writer.with_key(project, exact_key("tidied", decision_id)):
            whole = restore_body(stored)
            if whole is None:
                raise ConflictError(
                    f"decision {decision_id} cannot be undone: the memory was compacted since, and "
                    "what it took out of the history is gone for good. A backup from before that "
                    "has it"
                )
            fix = read_original(whole)
            standing = derive_standing(fix, writer.list_events(project, fix.id))
            writer.replace(kept_row(whole, fix, *standing))


def put_in_effect(writer: Writer, project: str, decisions: Iterable[Decision]) -> None:
    """Verifies decisions of this memory's own. By an event, so that no other memory's `imported`
    takes it away again.
    """
    for decision in decisions:
        at, by = decision.metadata.context.timestamp, decision.metadata.source.author
        now = {"id": new_id(at), "at": at, "by": by, "status": "verified"}
        writer.add_events(project, [Event(record_id=decision.id, kind="status", **now)])
        refresh_status(writer, project, decision.id)


def _add_in_order(writer: Writer, project: str, event: Event) -> None:
    """Keeps an event as the last of its record, whose standing follows."""
    earlier = writer.list_events(project, event.record_id)
    writer.add_events(project, [in_order(event, earlier)])
    refresh_status(writer, project, event.record_id)


def in_order(event: Event, earlier: Sequence[Event]) -> Event:
    """A clock that stands still or was set back must not make what happens now count as having
    happened before.
    """
    if earlier and event.at_us <= earlier[-1].at_us:
        return event.copy_with(at=from_us(min(earlier[-1].at_us + 1, TIME_US_MAX)))
    return event


def refresh_status(writer: Writer, project: str, record_id: str) -> None:
    """Brings what is kept of a record's status in line with its events."""
    stored = writer.get(project, record_id)
    if stored:
        record = read_original(stored)
        effective, credited, source = derive_standing(
            record, writer.list_events(project, record_id)
        )
        changed = None if effective == record.metadata.validation else effective.to_json()
        writer.set_standing(project, record_id, effective.status, changed, credited, source)


def derive_again(row: Row, events: Iterable[Event]) -> Row:
    """The row as it should be."""
    record = read_original(row)
    derived = kept_row(row, record, *derive_standing(record, list(events)))
    return derived._replace(taught=None, record=None)


# How far a record may be believed, how often it helped and did not, and who says so.
Standing = tuple[Validation, tuple[int, int], str]


def derive_standing(record: Record, events: Sequence[Event]) -> Standing:
    """What a record's events add up to."""
    credited = count_credits(events, record.metadata.source.author)
    source = find_source(record.metadata.source.author, events)
    return effective_validation(record.metadata.validation, events), credited, source


def same_content(one: Record, other: Record) -> bool:
    """But for the status, and for the time: what is dated ahead has, in each memory, that of its
    arrival. What left the history in one memory may be whole in the other.
    """
    if isinstance(one, Cleaned) or isinstance(other, Cleaned):
        return isinstance(one, Cleaned | Fix) and isinstance(other, Cleaned | Fix)
    then = other.metadata.context.copy_with(timestamp=one.metadata.context.timestamp)
    metadata = other.metadata.copy_with(validation=one.metadata.validation, context=then)
    return one == other.copy_with(metadata=metadata)
