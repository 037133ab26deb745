"""Records to a file, and from a file or another memory. A batch that comes in is a transaction: other writers get their
turn in between, and what was interrupted is finished by doing it again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence, Set
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hardwon import limits
from hardwon.errors import ForbiddenError, InvalidInputError, Problem, T
from hardwon.memory.project import Change, Project, batches
from hardwon.memory.results import Loaded, Merged
from hardwon.memory.standing import ARRIVED_WITH, put_in_effect, refresh_status, same_content
from hardwon.outside import files
from hardwon.records.fields import ABSENT, read_json
from hardwon.records.kinds import (
    LOCAL_ACTIONS,
    VIA_IMPORT,
    VOUCHED_STATUSES,
    AnyRecord,
    Cleaned,
    Decision,
    Event,
    EventKind,
    History,
    Validation,
)
from hardwon.records.reading import parse_record, read_record
from hardwon.store.base import Store, build_row
from hardwon.store.query import read_current, read_original, restore_body, sound_body
from hardwon.store.types import Progress, Row, Stored
from hardwon.text.clean import shorten
from hardwon.trust.lifecycle import (
    derive_standing_elsewhere,
    effective_validation,
    find_successor,
    is_from_elsewhere,
    judge_arrival,
    not_undone,
)
from hardwon.trust.redact import clean_event, without_secrets

if TYPE_CHECKING:
    from hardwon.store.query import Reader

_LINE_BYTES_MAX: Final = 2 * limits.RECORD_BYTES_MAX  # other programs escape what we write plainly
_OF_ONE_PLACE: Final = ("forgotten", "absent", "stale", "fresh")

Read = Callable[[], Iterable[AnyRecord]]


def load(
    project: Project,
    read: Read,
    by: str,
    dry_run: bool,
    progress: Progress | None,
    at_once: bool = False,
    reason: str | None = None,
    *,
    trust: bool = False,
    may_retire: bool = True,
    of_others: bool = False,
) -> Loaded:
    """All records are checked before the first is written, so they are read twice; new ones land as
    hypotheses, or archived, where they are that there; with `trust` as what they are there.
    `at_once`: they are read once, all in one transaction, and where one is refused none is kept.
    `reason`: what is told of where they came from. `of_others`: records of other projects are
    counted, and left where they are; one of them alone is refused. `may_retire`: whether a record that is here
    already, from elsewhere too, is archived where it is archived there.
    """
    loaded = Loaded(dry_run=dry_run)
    arrivals = partial(_read_arrivals, project, read, loaded, of_others=of_others)
    incoming = _Incoming(loaded, trust, by, reason, may_retire=may_retire, has_lives=True)
    if dry_run:
        incoming.foresee(project, report(arrivals(), progress))
        return loaded
    total = 0 if at_once else sum(1 for _ in report(arrivals(), progress))
    coming = batches(arrivals(), limits.BATCH_ROWS, lambda one: len(one.record.to_json_bytes()))
    for transaction in iter([coming]) if at_once else ([batch] for batch in coming):
        with project.write() as change:
            if trust and not change.writer.may_govern(project.name):
                incoming.trust = False
                if not at_once:
                    raise ForbiddenError(
                        f"this database user may record in project {project.name!r} and decide "
                        "nothing in it: load it without trust, or have a governor do it"
                    )
            for batch in transaction:
                if left := next((one for one in batch if isinstance(one.record, Cleaned)), None):
                    allowed = "records that are whole: this is what is left of one"
                    raise InvalidInputError.one("records", left.record.id, allowed)
                incoming.take(change, batch)
                change.concern(one.record.id for one in batch)
                if progress and at_once:
                    progress(loaded.read, loaded.read)
        if progress and not at_once:
            progress(loaded.read, max(total, loaded.read))
    return loaded


class _Arrival(NamedTuple):
    """A record that comes from elsewhere, as it was written, and what happened to it there."""

    record: AnyRecord
    events: Sequence[Event]

    @property
    def standing(self) -> Validation:
        """What it is there."""
        written = self.record.metadata.validation
        return derive_standing_elsewhere(written, self.events) if self.events else written

    @property
    def is_retired(self) -> bool:
        return self.standing.status == "archived"


def _read_arrivals(
    project: Project, read: Read, loaded: Loaded, *, of_others: bool
) -> Iterator[_Arrival]:
    """The records, one by one; counts what is beside their fields, and those of other projects."""
    mine, came = {"", project.name}, False
    loaded.aside = 0
    loaded.elsewhere.clear()
    for record in read():
        if of_others and (other := record.metadata.project_id) not in mine:
            loaded.elsewhere[other] = loaded.elsewhere.get(other, 0) + 1
            continue
        came = True
        arrival = _read_arrival(project, record)
        loaded.aside += len(arrival.record.aside or ())
        yield arrival
    if loaded.elsewhere and not came:
        _read_arrival(project, record)  # which says what project it is of


def _read_arrival(project: Project, record: AnyRecord) -> _Arrival:
    """A record from a file, which may tell of its life."""
    prepared = project.prepare(record)
    history = record.history
    if history is None:
        return _Arrival(prepared, ())
    written = prepared.metadata.copy_with(validation=history.written)
    return _Arrival(project.prepare(prepared.copy_with(metadata=written)), history.events)


def report(items: Iterable[T], progress: Progress | None, total: int = 0) -> Iterator[T]:
    """These, while somebody is told how many they are so far, now and then and at the end. Nobody
    knows the total where it is 0.
    """
    for done, item in enumerate(items, 1):
        yield item
        if progress and (done % limits.BATCH_ROWS == 0 or done == total):
            progress(done, max(total, done) if total else 0)


@dataclass
class _Incoming:
    """Records that came in so far, which `result` counts; `by` whom, and what is told of where they
    came from. `has_lives`: what happened to them there comes with them, and is taken over with
    trust. `out_of_use` has the ids of those that are archived here now because they are there, and
    of those that were archived here before.
    """

    result: Loaded
    trust: bool
    by: str
    reason: str | None = None
    may_retire: bool = True
    has_lives: bool = False
    out_of_use: set[str] = field(default_factory=set)

    def take(self, change: Change, batch: Sequence[_Arrival]) -> bool:
        """Keeps the records that are new, and retires those that are here where they are retired
        there; whether any was new.
        """
        writer, name = change.writer, change.project.name
        self.may_retire = self.may_retire and writer.may_govern(name)
        dated = change.project.date([one.record for one in batch])
        coming = [one._replace(record=record) for one, record in zip(batch, dated, strict=True)]
        rows = [build_row(one.record) if self.trust else _strange_row(one) for one in coming]
        appended = writer.append(rows)
        differing = [row.id for row in appended.conflicting if change.conflicts(row)]
        added, conflicts = set(appended.added), set(differing)
        change.tell_listener(dated, rows, added)
        result, forgotten = self.result, len(appended.forgotten)
        result.conflicting += differing
        result.added += len(added)
        result.forgotten += forgotten
        result.read += len(coming)
        result.present += len(coming) - len(added) - forgotten - len(differing)
        new: dict[str, _Arrival] = {}
        again: list[_Arrival] = []  # also what a file says twice
        for one in coming:
            if one.record.id in added and one.record.id not in new:
                new[one.record.id] = one
                self._count(one)
            elif one.is_retired and one.record.id not in conflicts:
                again.append(one)
        if not self.trust:
            writer.add_events(name, [self._tell_arrival(change, one) for one in new.values()])
        for one in again:
            if self._retires(writer, name, one) and not (self.trust and one.events):
                self._retire(change, one)
        if self.has_lives and self.trust:
            same = [one for one in coming if one.record.id not in conflicts]
            self._take_events(change, same, new.keys())
        return bool(new)

    def _take_events(
        self, change: Change, coming: Sequence[_Arrival], new: Collection[str]
    ) -> None:
        """Takes over what happened to these records elsewhere. One that was recorded here or there
        is no stranger's in either, whichever is asked first.
        """
        writer, name = change.writer, change.project.name
        own_there, events = set[str](), list[Event]()
        for one in coming:
            record_id, happened = one.record.id, one.events
            here = [] if record_id in new else writer.list_events(name, record_id)
            if not is_from_elsewhere(happened):
                own_there.add(record_id)
            elif record_id not in new and not is_from_elsewhere(here):
                happened = [event for event in happened if event.kind != "imported"]
            events += map(clean_event, happened)
        self.result.events += len(writer.add_events(name, events))
        for record_id in writer.having_events(name, [one.record.id for one in coming]):
            if record_id in own_there:
                _believe_now(change, record_id, self.by, lambda _: True)
            refresh_status(writer, name, record_id)
        change.follow(restored=True)

    def foresee(self, project: Project, coming: Iterable[_Arrival]) -> None:
        """Counts what would be done, without taking the write lock."""
        with_events = self.has_lives and self.trust
        first_seen: dict[str, bytes] = {}  # what is said first of an id is what would be kept
        store, name, result = project.store, project.name, self.result
        for one in coming:
            result.read += 1
            record = one.record
            stored = store.get(name, record.id)
            events = store.list_events(name, record.id) if with_events or not stored else []
            if any(event.kind == "forgotten" for event in events):
                result.forgotten += 1
                continue
            is_new = stored is None and record.id not in first_seen
            digest = build_row(record).digest
            known = first_seen.setdefault(record.id, digest)
            if not (same_content(read_original(stored), record) if stored else known == digest):
                result.conflicting.append(record.id)
                continue
            if is_new:
                result.added += 1
                self._count(one)
            else:
                result.present += 1
            if with_events:
                here = {event.id for event in events}
                result.events += sum(event.id not in here for event in one.events)
            if stored and one.is_retired:
                self._retires(store, name, one)

    def _count(self, one: _Arrival) -> None:
        """Counts a record that is new."""
        status = one.standing.status
        if status == "archived":
            self.result.retired += 1
            self.out_of_use.add(one.record.id)
        elif status in VOUCHED_STATUSES:
            counts = self.result.believed if self.trust else self.result.lowered
            counts[status] = counts.get(status, 0) + 1

    def _retires(self, reader: Reader, name: str, one: _Arrival) -> bool:
        """Whether what is here is archived because it is retired there; counts it. A stranger
        retires what is a stranger's here, too, as long as nobody here vouches for it.
        """
        stored = reader.get(name, one.record.id)
        if stored is None:
            return False
        here = read_current(stored)
        status = here.metadata.validation.status
        if status == "archived":
            retires = False
        elif not self.trust:
            came = here.said_by.endswith(VIA_IMPORT)
            retires = self.may_retire and came and status == "hypothesis"
        elif one.events:
            events = [*reader.list_events(name, here.id), *one.events]
            written = read_original(stored).metadata.validation
            retires = effective_validation(written, events).status == "archived"
        else:
            retires = True
        if retires or status == "archived":
            self.out_of_use.add(here.id)
        self.result.retired += retires
        return retires

    def _tell_arrival(self, change: Change, one: _Arrival) -> Event:
        """That a record came from elsewhere, who vouched for it there, and that it was retired
        there.
        """
        written, there = one.record.metadata.validation, one.standing
        details: dict[str, Any] = {
            "reason": self.reason,
            "verified_by": there.verified_by or written.verified_by,
            "verification_id": there.verification_id or written.verification_id,
        }
        if one.is_retired:
            details |= {"status": "archived", "replaced_by": find_successor(one.events)}
        return clean_event(change.event(one.record.id, "imported", self.by, **details))

    def _retire(self, change: Change, one: _Arrival) -> None:
        """Archives what is here because it is retired where it came from."""
        successor, reason = find_successor(one.events), "retired where it came from"
        kind: EventKind = "superseded" if successor else "status"
        what = {"replaced_by": successor} if successor else {"status": "archived"}
        change.happen(one.record.id, kind, self.by, reason=reason, **what)
        change.follow()


def merge(
    source: Store,
    project: Project,
    trust: bool,
    by: str,
    *,
    dry_run: bool,
    progress: Progress | None,
) -> Merged:
    """The union of records, and, with `trust`, of the events, minus what either side forgot."""
    name = project.name
    total = source.counts(name).total if progress else 0
    local = {stored.id for stored in source.decisions(name, LOCAL_ACTIONS, undone=None)}
    merged = Merged(dry_run=dry_run)
    comes_along = partial(_comes_along, trust=trust, local=local, merged=merged)
    coming = filter(comes_along, source.stream(name))
    arrived_from = shorten(source.location, _TARGET_CHARS_MAX)
    decision = project.decision("arrival", by, target=arrived_from)
    incoming = _Incoming(merged, trust, by, ARRIVED_WITH + decision.id)
    if dry_run:
        incoming.foresee(project, report(map(_make_arrival, coming), progress, total))
    else:
        for batch in batches(coming, limits.BATCH_ROWS, lambda pair: len(pair[0].body)):
            if _merge_batch(project, batch, incoming, decision, is_new=merged.decision is None):
                merged.decision = decision.id
            if progress:
                progress(merged.read, max(total, merged.read))
    if trust:
        passed_over = local | set(merged.conflicting)
        merged.events, merged.erased = _merge_events(source, project, passed_over, local, dry_run)
    else:
        for event in source.events(name):
            _note_left_out(merged, event, incoming.out_of_use)
    merged.pending = merged.erased > 0 and not dry_run and not project.store.finish_erasure()
    return merged


def _make_arrival(coming: tuple[Stored, Sequence[Event]]) -> _Arrival:
    """What left the history is whole again, as far as it can be."""
    stored, events = coming
    return _Arrival(without_secrets(read_original(restore_body(stored) or stored)), events)


def _merge_batch(
    project: Project,
    batch: Sequence[tuple[Stored, Sequence[Event]]],
    incoming: _Incoming,
    arrival: Decision,
    *,
    is_new: bool,
) -> bool:
    """Whether anything came that is not believed; the first of it comes with the decision that
    undoes its `arrival`.
    """
    name, coming = project.name, list(map(_make_arrival, batch))
    with project.write() as change:
        strangers = incoming.take(change, coming) and not incoming.trust
        if strangers and is_new:
            change.append([arrival])
            if change.writer.may_govern(name):
                put_in_effect(change.writer, name, [arrival])
        # an earlier merge may have brought events of the others, or these before they were
        # trusted; and what a stranger's file said to be retired is what it is there
        known = {event.id for one in coming for event in one.events}

        def is_void(came: Event) -> bool:
            """Whether trust makes such an arrival as if it had not happened."""
            by_merge = (came.reason or "").startswith(ARRIVED_WITH)
            return by_merge or (came.status == "archived" and came.id not in known)

        for record_id in change.writer.having_events(name, [one.record.id for one in coming]):
            if incoming.trust:
                _believe_now(change, record_id, incoming.by, is_void)
            refresh_status(change.writer, name, record_id)
    return strangers


_TARGET_CHARS_MAX: Final = 200


def _leave(merged: Merged, what: str) -> None:
    """What was decided elsewhere, and is not taken over."""
    merged.left_total += 1
    if len(merged.left) < limits.ITEMS_MAX:
        merged.left.append(what)


def _note_left_out(merged: Merged, event: Event, retired: Set[str]) -> None:
    """Adds to what a merge did not take over an event that says something of its record; not that it
    was archived there, where it is archived here too.
    """
    what = "archived" if event.kind == "superseded" else event.status or event.kind
    is_done = what == "archived" and event.record_id in retired
    if event.kind in ("status", "superseded", "forgotten", "undone") and not is_done:
        _leave(merged, f"{what} by {event.by}: {event.record_id}")


def _comes_along(
    coming: tuple[Stored, Sequence[Event]], trust: bool, local: Set[str], merged: Merged
) -> bool:
    """Whether a row comes along. A decision that is not believed would only look like one."""
    stored, _ = coming
    if stored.id in local:
        return False
    if trust:
        return True
    record = read_current(stored)
    author = record.metadata.source.author
    if isinstance(record, Decision):
        _leave(merged, f"{record.action} {record.target or record.text} by {author}: {record.id}")
        return False
    if (status := read_original(stored).metadata.validation.status) in VOUCHED_STATUSES:
        _leave(merged, f"{status} by {author}, who recorded it so: {record.id}")
    return True


def _believe_now(change: Change, record_id: str, by: str, is_void: Callable[[Event], bool]) -> None:
    """Takes back that a record came from somebody whom nobody trusted, as told by such an event."""
    writer, name = change.writer, change.project.name
    void = [
        change.event(record_id, "undone", by, undoes=event.id)
        for event in not_undone(writer.list_events(name, record_id))
        if event.kind == "imported" and is_void(event)
    ]
    writer.add_events(name, void)


def _strange_row(one: _Arrival) -> Row:
    """Of what somebody said elsewhere."""
    record, metadata = one.record, one.record.metadata
    standing = judge_arrival(metadata.validation, one.standing.status)
    return build_row(record, standing, source=metadata.source.author + VIA_IMPORT)


def _merge_events(
    source: Store, project: Project, strangers: Set[str], local: Set[str], dry_run: bool
) -> tuple[int, int]:
    """How many events are new, and how many records they erased, or would."""
    store, name, added, erased = project.store, project.name, 0, 0
    for taken in batches(source.events(project.name), limits.BATCH_ROWS):
        tombstones = [event for event in taken if event.kind == "forgotten"]
        tombstones = [event for event in tombstones if event.record_id not in local]
        # What was said of another content under the same id says nothing about ours.
        # That a file is absent there, or another one, says nothing about the files here.
        others = [event for event in taken if event.kind not in _OF_ONE_PLACE]
        others = [clean_event(event) for event in others if event.record_id not in strangers]
        if dry_run:
            erased += sum(bool(store.get(name, event.record_id)) for event in tombstones)
            added += sum(
                all(known.id != event.id for known in store.list_events(name, event.record_id))
                for event in others
            )
        if dry_run or not (tombstones or others):
            continue
        with project.write() as change:
            erased += change.bury([clean_event(event) for event in tombstones])
            fresh = change.writer.add_events(project.name, others)
            for record_id in dict.fromkeys(event.record_id for event in fresh):
                refresh_status(change.writer, project.name, record_id)
            change.follow(erased=bool(tombstones), restored=True)
        added += len(fresh)
    return added, erased


def export(
    project: Project, path: Path, progress: Progress | None, *, as_schema: bool = False
) -> int:
    """Writes every record of the project, as of one instant, to a file, whole or not at all;
    returns how many it holds. Each has the standing that it has, and its life, if it had one.
    `as_schema`: as the metadata schema writes them, without decisions, which it does not know.
    """
    done = 0
    with files.writing_atomically(path) as file:
        for line in write_lines(project, progress):
            if as_schema and (record := parse_record(line)).kind == "decision":
                continue
            text = (
                json.dumps(record.to_agentdb(), ensure_ascii=False).encode() if as_schema else line
            )
            file.write(text + b"\n")
            done += 1
    return done


def write_lines(project: Project, progress: Progress | None = None) -> Iterator[bytes]:
    """Every record of the project as JSON on one line, as of one instant, oldest first."""
    total = project.store.counts(project.name).total if progress else 0
    with closing(project.store.stream(project.name)) as records:
        for line in report(filter(None, starmap(_write_line, records)), progress, total):
            yield line.encode()


def _write_line(stored: Stored, events: Sequence[Event]) -> str | None:
    """The line of a file; None for what is of no use elsewhere: what was decided about this file
    alone, and fixes of which a compaction left only what they taught.
    """
    whole = restore_body(stored)
    if whole is None:
        return None
    record = read_original(whole) if events or stored.kind == "decision" else None
    if isinstance(record, Decision) and record.action in LOCAL_ACTIONS:
        return None
    if record is None or not events:
        return sound_body(whole)
    written = record.metadata.validation
    standing = derive_standing_elsewhere(written, events)
    as_seen = record.copy_with(metadata=record.metadata.copy_with(validation=standing))
    line = as_seen.model_dump(mode="json", exclude_none=True)
    history = History(written=written, events=list(events))
    line["metadata"]["history"] = history.model_dump(mode="json", exclude_none=True)
    return json.dumps(line, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def read_file(path: Path, *, strict: bool = False) -> Iterator[AnyRecord]:
    """Every record of the file: one a line, blank lines passed over, or all in one JSON value. One
    that is invalid raises and names itself.
    """
    with files.disk_errors(path, "read"), path.open("rb") as file:
        lines = iter(partial(file.readline, _LINE_BYTES_MAX + 1), b"")
        for number, line in enumerate(lines, 1):
            where = f"{path.name}, line {number}"
            if len(line) > _LINE_BYTES_MAX:
                allowed = f"lines of at most {_LINE_BYTES_MAX} bytes"
                raise InvalidInputError([Problem("line", f"{len(line)} bytes", allowed)], where)
            if number == 1 and (whole := _whole(path, line)) is not None:
                yield from _read_list(whole, path.name, strict=strict)
                return
            if line.strip():
                with _naming(where):
                    yield parse_record(line, strict=strict, lenient=True)


def _whole(path: Path, line: bytes) -> list[object] | None:
    """The items of a file that is one JSON value over several lines, or a list; None where its
    first line stands for itself.
    """
    if not line.strip().startswith(b"[") and read_json(line, ABSENT) is not ABSENT:
        return None
    value = read_json(files.read_regular(path, limits.DATASET_BYTES_MAX), ABSENT)
    if value is ABSENT:
        return None
    return value if isinstance(value, list) else [value]


def _read_list(items: list[object], name: str, *, strict: bool) -> Iterator[AnyRecord]:
    for number, item in enumerate(items, 1):
        with _naming(f"{name}, record {number}"):
            yield read_record(item, strict=strict, lenient=True)


@contextmanager
def _naming(where: str) -> Iterator[None]:
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(error.problems, where) from None
