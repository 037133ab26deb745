"""What may be believed: what happens to a record after it was kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack
from uuid import UUID

from hardwon import limits
from hardwon.errors import InvalidInputError, UnknownRecordError
from hardwon.memory.later import results, staleness
from hardwon.memory.project import Change, Group, batches, find_checkout
from hardwon.memory.standing import refresh_status
from hardwon.outside.files import repository_root
from hardwon.outside.git import Repository
from hardwon.outside.locations import check_path
from hardwon.records.fields import (
    ABSENT,
    check_all,
    check_items,
    check_signer,
    check_that,
    parse_id,
)
from hardwon.records.kinds import INTERNAL_KINDS, AnyRecord, Decision, Event, Status, Verifier
from hardwon.search.terms import FilterKeywords, Filters
from hardwon.store.query import read_current, read_original
from hardwon.store.types import Progress
from hardwon.trust.lifecycle import check_transition, standing_beneath
from hardwon.trust.redact import clean_event

if TYPE_CHECKING:
    from hardwon.memory.context import Context
    from hardwon.memory.results import Forgotten, StaleReport


class Deciding(Group):
    """Decides what is believed, and forgets."""

    def credit(
        self,
        context_or_ids: Context | str | UUID | Iterable[str | UUID],
        outcome: bool,
        by: str = "user",
    ) -> list[str]:
        """What was recalled helped (`outcome` True) or did not (False): it stands higher, or lower,
        in what is recalled later, and one that is verified and helped often enough is published.
        `context_or_ids`: the context, an id or several. Returns the ids that were credited; ids of no
        record are left out.
        """
        ids_or_id = getattr(context_or_ids, "ids", context_or_ids)
        read_ids = partial(_check_ids, "context_or_ids", ids_or_id)
        listed, *_ = check_all(read_ids, outcome=outcome, by=by)
        ids = list(dict.fromkeys(filter(None, listed.values())))
        project = self._project

        def work(change: Change) -> list[str]:
            """Those that are records."""
            stored = filter(None, map(partial(change.writer.get, project.name), ids))
            known = [one.id for one in stored if one.kind not in INTERNAL_KINDS]
            for record_id in known:
                event = clean_event(change.event(record_id, "credited", by, helped=outcome))
                change.writer.add_events(project.name, [event])
                refresh_status(change.writer, project.name, record_id)
            change.concern(known)
            change.publish_proven(known)
            return known

        return project.carry_out(work)

    def verify(
        self,
        record_id: str,
        by: Verifier,
        verification_id: str | None = None,
        author: str | None = None,
    ) -> AnyRecord:
        """Marks a record as verified: a test, a person or a compiler confirmed it. `by` is which of them,
        `verification_id` the run or approval, `author` who says so (`by` where nobody is named).
        `UnknownRecordError` where no record has that `record_id`.
        """
        who, how = by if author is None else author, {"verification_id": verification_id}
        return self._change_status(record_id, "verified", who, verified_by=by, **how)

    def publish(self, record_id: str, by: str = "user") -> AnyRecord:
        """Marks a verified record as one that proved itself. `UnknownRecordError` where no record
        has that `record_id`.
        """
        return self._change_status(record_id, "published", by)

    def archive(self, record_id: str, reason: str, by: str = "user") -> AnyRecord:
        """Takes a record out of recall, and says for what `reason`. It stays readable.
        `UnknownRecordError` where no record has that `record_id`.
        """
        return self._change_status(record_id, "archived", by, reason=reason)

    def _change_status(self, record_id: str, to: Status, by: str, **details: Any) -> AnyRecord:
        project = self._project
        details |= {"kind": "status", "at": project.now(), "by": by, "status": to}
        event = Event(record_id=record_id, **details)

        def work(change: Change) -> AnyRecord:
            """The record, as it stands then."""
            envelope = read_original(change.must_find(event.record_id)).metadata.validation
            events = change.writer.list_events(project.name, event.record_id)
            check_transition(standing_beneath(envelope, events).status, to)
            return change.add_event(event)

        return project.carry_out(work)

    def supersede(self, old_id: str, new_id: str, reason: str, by: str = "user") -> AnyRecord:
        """Archives the record `old_id` in favour of `new_id`, which replaces it for that `reason`;
        returns the old one as it stands now. `UnknownRecordError` where either is none.
        """
        happened = {"kind": "superseded", "at": self._project.now(), "by": by, "reason": reason}
        event = Event(record_id=old_id, replaced_by=new_id, **happened)
        is_other = event.record_id != event.replaced_by
        check_that(is_other, "new_id", new_id, "the id of another record")

        def work(change: Change) -> AnyRecord:
            """The record, as it stands then."""
            new = change.must_get(str(event.replaced_by))
            is_used = new.metadata.validation.status != "archived"
            check_that(is_used, "new_id", new_id, "a record that is not archived itself")
            change.must_get(event.record_id)
            return change.add_event(event)

        return self._project.carry_out(work)

    def rollback(self, source: str, reason: str = "", by: str = "user") -> Decision:
        """Undoes what a `source` (an author) taught, for a `reason`: no knowledge counts its
        records, recall leaves them out unless it is asked for that author, and so it stays for what
        the source records from now on. `undo` takes it back.
        """
        check_all(lambda: check_signer("source", source), reason=reason, by=by)
        decision = self._project.decision("rollback", by, target=source, reason=reason)
        return self._project.carry_out(lambda change: change.decide(decision))

    def undo(self, decision_id: str | UUID, by: str = "user") -> AnyRecord:
        """Takes back a decision (a rollback, a merge, a promotion, a cleanup …), and gives it; or
        that a record was verified, published, archived or replaced, and gives the record as it is
        again. `decision_id` is the decision's id, or that of the event in `audit`. What was taken
        back stays in the log.
        """
        project = self._project
        wanted, _ = check_all(lambda: parse_id(decision_id), by=by)

        def work(change: Change) -> AnyRecord:
            """The record, as it stands then."""
            stored = change.writer.get(project.name, wanted)
            decision = read_current(stored) if stored else None
            if isinstance(decision, Decision):
                check_transition(decision.metadata.validation.status, "archived")
                event = change.event(wanted, "status", by, status="archived", reason="undone")
            else:
                event = _taking_back(change, wanted, by)
            return change.add_event(event, restored=True)

        return project.carry_out(work)

    def forget(
        self,
        ids_or_filters: str | UUID | Iterable[str | UUID] | Mapping[str, Any] = (),
        *,
        dry_run: bool = False,
        by: str = "user",
        **filters: Unpack[FilterKeywords],
    ) -> Forgotten:
        """Erases records for good: `forget(id)`, `forget([ids])`, or by filters,
        `forget(author="x")`; one or the other must be said as `ids_or_filters` or keywords. A
        tombstone without content stays, so that a merge or a load does not bring them back.
        """
        named: dict[str, Any] = {**filters}
        if isinstance(ids_or_filters, Mapping):
            named = {**ids_or_filters, **named}
            ids_or_filters = ()
        project = self._project
        # Elsewhere None means "any", and here it would mean "all".
        allowed = "a value: what is to be forgotten must be said"
        unsaid = [name for name, value in named.items() if value is None]
        ids_by_word, asked, *_ = check_all(
            lambda: _check_ids("ids_or_filters", ids_or_filters),
            lambda: Filters.of(project.name, named),
            *(partial(check_that, False, name, None, allowed) for name in unsaid),
            dry_run=dry_run,
            by=by,
        )
        narrowing, words = named.keys() - {"project"}, list(ids_by_word) or ABSENT
        allowed = "ids or at least one filter, not both"
        check_that(bool(ids_by_word) != bool(narrowing), "ids_or_filters", words, allowed)
        if narrowing:
            # what was adopted tells of what was tried as well
            both = [asked] if asked.kind else [asked, asked.copy_with(kind="adopted")]
            ids = [stored.id for filters in both for stored in project.pages(filters)]
        else:
            distinct = dict.fromkeys(ids_by_word.values())
            ids = [one for one in distinct if project.store.get(project.name, one)]
        known = set(ids)
        unknown = [word for word, record_id in ids_by_word.items() if record_id not in known]
        if dry_run:
            return results.Forgotten(ids, unknown, dry_run, erased=False, pending=False)
        forgotten: list[str] = []
        for batch in batches(ids, limits.BATCH_ROWS):
            forgotten += project.carry_out(partial(Change.erase, record_ids=batch, by=by))
        erased = project.store.finish_erasure()
        return results.Forgotten(forgotten, unknown, dry_run, erased=erased, pending=not erased)

    def check_stale(
        self,
        repo: str | Path = ".",
        dry_run: bool = False,
        by: str = "check_stale",
        progress: Progress | None = None,
    ) -> StaleReport:
        """Archives records whose related files are no longer what they were in the checkout that
        `repo` lies in, and brings back those whose files are again, as what they were. Doing it
        twice changes nothing more. Other checkouts are not concerned: what is archived here is not
        archived in a memory that this one is merged into.
        """
        asked, *_ = check_all(lambda: check_path("repo", repo), dry_run=dry_run, by=by)
        root, project = repository_root(asked), self._project
        checkout = find_checkout(Repository(root), asked, project.place.path) if root else None
        if checkout is None:
            raise InvalidInputError.one("repo", str(repo), "a folder inside a git checkout")
        watch = staleness.Watch(checkout, thorough=True)
        return staleness.check_stale(project, watch, by, dry_run, progress)


def _check_ids(field: str, ids: Any) -> dict[str, str]:
    """Ids, as they were said and as they are kept: empty where no record has such a one."""
    listed = [ids] if isinstance(ids, str | UUID) else check_items(field, ids)
    return {str(record_id): parse_id(record_id) for record_id in listed}


def _taking_back(change: Change, event_id: str, by: str) -> Event:
    """What makes an event as if it had not happened."""
    writer, project = change.writer, change.project
    event = writer.event(project.name, event_id)
    if event is None:
        none = f"there is no decision and no event {event_id} in project {project.name!r}"
        raise UnknownRecordError(none)
    record = change.must_get(event.record_id)
    is_undone = isinstance(record, Decision) and event.status == "archived"
    sorts = "that a record was verified, published, archived or replaced"
    allowed = f"{sorts}; a decision that was taken back is made anew"
    may_be = event.kind in ("status", "superseded") and not is_undone
    check_that(may_be, "decision_id", f"{event.kind} {event_id}", allowed)
    undone = {other.undoes for other in writer.list_events(project.name, event.record_id)}
    check_that(event_id not in undone, "decision_id", event_id, "what was not taken back already")
    return change.event(event.record_id, "undone", by, undoes=event_id)
