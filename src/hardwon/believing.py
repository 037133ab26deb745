"""What was believed at some time, and what became of a record since. Reads only."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from hardwon import limits
from hardwon.errors import DamagedError
from hardwon.fields import to_us
from hardwon.govern.lifecycle import credits_of, effective_validation, not_undone
from hardwon.model import VOUCHED_STATUSES, Decision, Event, Status, Validation
from hardwon.reports import Links
from hardwon.store.contract import Found, Store, Stored
from hardwon.store.rows import original_of, record_of, restored


class Then:
    """A project as it was at a time. Records carry the time at which something was found out; one that was loaded later was
    not here yet. What was forgotten since is gone from then as well, and fixes that left the history since are not searched."""

    def __init__(self, store: Store, project: str, at: datetime) -> None:
        self._store, self._project = store, project
        self.at_us = to_us(at)
        self._left_out: set[str] | None = None

    def seen(self, found: Found, status: Status | None, author: str | None) -> Found | None:
        """A record as it stood then; None where a reader would not have been given it."""
        try:
            stored, validation = self._stored(found.stored)
        except DamagedError:
            return None
        if stored is None or validation is None:
            return None
        asked_for = validation.status == status if status else validation.status != "archived"
        if not asked_for or (author is None and found.author in self._rolled_back()):
            return None
        return found._replace(stored=stored, status=validation.status, helped=stored.helped, hindered=stored.hindered)

    def record(self, stored: Stored) -> Stored | None:
        """The same for a record that was asked for by its id, whatever its status. A fix that left the history since is whole,
        as long as it can be brought back."""
        return self._stored(restored(stored) or stored)[0]

    def _stored(self, stored: Stored) -> tuple[Stored | None, Validation | None]:
        events = self._store.events_of(self._project, stored.id)
        if stored.at_us > self.at_us or any(event.kind == "imported" and event.at_us > self.at_us for event in events):
            return None, None
        validation, helped, hindered = self._standing(stored, events)
        envelope = original_of(stored).metadata.validation
        changed = None if validation == envelope else validation.to_json()
        return stored._replace(validation=changed, helped=helped, hindered=hindered), validation

    def _standing(self, stored: Stored, events: Sequence[Event]) -> tuple[Validation, int, int]:
        before = [event for event in events if event.at_us <= self.at_us]
        metadata = original_of(stored).metadata
        return effective_validation(metadata.validation, before), *credits_of(before, metadata.source.author)

    def _rolled_back(self) -> set[str]:
        if self._left_out is None:
            found = [
                stored
                for undone in (False, True)
                for stored in self._store.decisions(self._project, ["rollback"], None, limits.DECISIONS_MAX, undone=undone)
            ]
            self._left_out = {target for stored in found if (target := self._rolled_back_by(stored))}
        return self._left_out

    def _rolled_back_by(self, stored: Stored) -> str | None:
        decision = original_of(stored)
        if not isinstance(decision, Decision) or stored.at_us > self.at_us:
            return None
        validation, _, _ = self._standing(stored, self._store.events_of(self._project, stored.id))
        return decision.target if validation.status in VOUCHED_STATUSES else None


def links_of(store: Store, project: str, record_id: str) -> Links:
    """What replaced a record, what it replaced, and what contradicts it."""
    superseded = [event for event in not_undone(store.events_of(project, record_id)) if event.kind == "superseded"]
    contradictions = store.decisions(project, ["contradiction"], None, limits.DECISIONS_MAX)
    others = [
        other
        for decision in map(record_of, contradictions)
        if isinstance(decision, Decision) and record_id in decision.evidence
        for other in decision.evidence
        if other != record_id
    ]
    return Links(
        replaced_by=superseded[-1].replaced_by if superseded else None,
        replaces=tuple(store.superseded_by(project, record_id)),
        contradicts=tuple(dict.fromkeys(others)),
    )
