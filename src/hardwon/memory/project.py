"""Requests that are safe to send again: what is asked for under a key is carried out once, whoever dies in between.

The key is kept in the transaction that carries the request out, so there is no moment at which one is kept without the other.
What a lost connection cut off, and certainly kept nothing of, is done again by `done_again`.

What keeps everything derived in line with records and events, whoever wrote them.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import wraps
from itertools import islice
from typing import ParamSpec, TypeVar

from hardwon import limits
from hardwon.errors import ConflictError, InterruptedWriteError, RepeatedError
from hardwon.learn.tallies import tidied_key
from hardwon.records.fields import TIME_US_MAX, from_us, to_us
from hardwon.records.kinds import Cleaned, Event, Fix, Record, Validation
from hardwon.store.rows import kept_row, original_of, record_of, restored, row_of
from hardwon.store.types import Request, Row, Store, Writer
from hardwon.trust.lifecycle import credits_of, effective_validation
from hardwon.trust.redact import clean_event

# ---- once ------------------------------------------------------------

_log = logging.getLogger("hardwon")
P = ParamSpec("P")
T = TypeVar("T")


def done_again(work: Callable[P, T]) -> Callable[P, T]:
    """For what writes in one transaction and can be called twice with the same arguments: where the connection was lost and
    nothing was kept, it is done again."""

    @wraps(work)
    def done(*args: P.args, **kwargs: P.kwargs) -> T:
        for _ in range(limits.INTERRUPTED_WRITES_AGAIN_MAX):
            try:
                return work(*args, **kwargs)
            except InterruptedWriteError as error:
                _log.warning("a write was cut off and is done again: %s", error)
        return work(*args, **kwargs)

    return done


@dataclass
class _Asked:
    key: bytes
    said: bytes
    ids: dict[str, None] = field(default_factory=dict)
    kept: bool = False


class Requests:
    """The request that each thread carries out, if it has a key."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._of_thread = threading.local()

    @contextmanager
    def once(self, key: bytes, said: bytes) -> Iterator[None]:
        """Whatever is written first inside the block, by this thread, is written under the key; RepeatedError where
        something was before."""
        self._of_thread.asked = _Asked(key, said)
        try:
            yield
        finally:
            self._of_thread.asked = None

    @property
    def under_way(self) -> bool:
        """Whether this thread carries out a request with a key."""
        return self._asked() is not None

    def concerned(self, record_id: str) -> None:
        """A record that the request is about, or that it made."""
        asked = self._asked()
        if asked and not asked.kept:
            asked.ids[record_id] = None

    @contextmanager
    def write(self, store: Store, project: str, *, alone: bool) -> Iterator[Writer]:
        """A transaction of the store for the request that is under way; the first one keeps its key too."""
        asked = self._asked()
        with store.write(project, alone=alone) as writer:
            if asked is None or asked.kept:
                yield writer
                return
            asked.ids.clear()
            before = writer.request(project, asked.key)
            if before is not None:
                raise RepeatedError(before.said, before.ids)
            yield writer
            at_us = to_us(self._clock())
            since_us = at_us - limits.REQUESTS_REMEMBERED_DAYS * limits.DAY_US
            writer.keep_request(project, asked.key, Request(asked.said, list(asked.ids)), at_us, since_us)
        asked.kept = True

    def _asked(self) -> _Asked | None:
        return getattr(self._of_thread, "asked", None)


# ---- upkeep ------------------------------------------------------------


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
