"""Records to a file, and from a file or another memory. A batch that comes in is a transaction: other writers get their
turn in between, and what was interrupted is finished by doing it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from hardwon import limits
from hardwon.errors import InvalidInputError, Problem, T
from hardwon.memory.project import (
    ARRIVED_WITH,
    BY_MEMORY,
    Change,
    Project,
    batches,
    put_in_effect,
    refresh_status,
    same_content,
)
from hardwon.memory.results import Loaded, Merged
from hardwon.outside import files
from hardwon.records.fields import ABSENT, check_items, check_text, check_that, read_json
from hardwon.records.kinds import (
    LOCAL_ACTIONS,
    VIA_IMPORT,
    VOUCHED_STATUSES,
    AnyRecord,
    Cleaned,
    Decision,
    Event,
)
from hardwon.records.reading import parse_record, read_record
from hardwon.store.base import Store, row_of
from hardwon.store.query import original_of, record_of, restored, sound_body
from hardwon.store.types import Progress, Row, Stored
from hardwon.text.clean import shortened
from hardwon.trust.lifecycle import as_arrived, not_undone
from hardwon.trust.redact import clean_event, without_secrets

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
) -> Loaded:
    """All records are checked before the first is written, so they are read twice; new ones land as
    hypotheses. `at_once`: they are read once, all in one transaction, and where one is refused none
    is kept. `reason`: what is told of where they came from.
    """
    if dry_run:
        incoming = _foresee(project, told(map(project.prepare, read()), progress))
        return incoming.loaded(dry_run=True)
    total = 0 if at_once else sum(1 for _ in told(map(project.prepare, read()), progress))
    incoming = _Incoming()
    records = map(project.prepare, read())
    given = batches(records, limits.BATCH_ROWS, lambda each: len(each.to_json_bytes()))
    for transaction in iter([given]) if at_once else ([batch] for batch in given):
        with project.write() as change:
            for batch in transaction:
                if left := next((each for each in batch if isinstance(each, Cleaned)), None):
                    allowed = "records that are whole: this is what is left of one"
                    raise InvalidInputError.one("records", left.id, allowed)
                arrived = project.date(batch)
                rows = list(map(_strange_row, arrived))
                new = set(incoming.append(change, arrived, rows))
                added = list({each.id: each for each in arrived if each.id in new}.values())
                incoming.lower(added)
                change.writer.add_events(
                    project.name, [_arrival(change, each, by, reason) for each in added]
                )
                change.concern(each.id for each in arrived)
                if progress and at_once:
                    progress(incoming.done, incoming.done)
        if progress and not at_once:
            progress(incoming.done, max(total, incoming.done))
    return incoming.loaded(dry_run=False)


def _arrival(change: Change, record: AnyRecord, by: str, reason: str | None = None) -> Event:
    """That a record came from elsewhere, and who vouched for it there."""
    claimed = record.metadata.validation
    vouched = {"verified_by": claimed.verified_by, "verification_id": claimed.verification_id}
    return clean_event(change.event(record.id, "imported", by, reason=reason, **vouched))


def told(items: Iterable[T], progress: Progress | None, total: int = 0) -> Iterator[T]:
    """These, while somebody is told how many they are so far, now and then and at the end. Nobody
    knows the total where it is 0.
    """
    for done, item in enumerate(items, 1):
        yield item
        if progress and (done % limits.BATCH_ROWS == 0 or done == total):
            progress(done, max(total, done) if total else 0)


@dataclass
class _Incoming:
    """Records that came in so far."""

    done: int = 0
    added: int = 0
    forgotten: int = 0
    conflicts: list[str] = field(default_factory=list)
    lowered: dict[str, int] = field(default_factory=dict)

    def lower(self, records: Iterable[AnyRecord]) -> None:
        """Counts those that claim to be more than hypotheses."""
        for record in records:
            status = record.metadata.validation.status
            if status in VOUCHED_STATUSES:
                self.lowered[status] = self.lowered.get(status, 0) + 1

    def append(
        self, change: Change, records: Sequence[AnyRecord], rows: Sequence[Row]
    ) -> Sequence[str]:
        """The ids of those that are new here."""
        appended = change.writer.append(rows)
        self.conflicts += [row.id for row in appended.conflicting if change.conflicts(row)]
        change.tell_appended(records, rows, set(appended.added))
        self.added += len(appended.added)
        self.forgotten += len(appended.forgotten)
        self.done += len(records)
        return appended.added

    @property
    def counts(self) -> tuple[int, int, list[str], int]:
        """How many were added, how many were here already, which say something else, and how many
        were forgotten.
        """
        present = self.done - self.added - self.forgotten - len(self.conflicts)
        return self.added, present, self.conflicts, self.forgotten

    def loaded(self, *, dry_run: bool) -> Loaded:
        return Loaded(self.done, *self.counts, dry_run=dry_run, lowered=self.lowered)


def _foresee(project: Project, records: Iterable[AnyRecord]) -> _Incoming:
    """What a load, or a merge, would do, without taking the write lock."""
    first_seen: dict[str, bytes] = {}  # what the file says first of an id is what a load would keep
    incoming = _Incoming()
    store, name = project.store, project.name
    for record in records:
        incoming.done += 1
        stored = store.get(name, record.id)
        events = () if stored else store.events_of(name, record.id)
        if any(event.kind == "forgotten" for event in events):
            incoming.forgotten += 1
            continue
        if stored is None and record.id not in first_seen:
            incoming.added += 1
            incoming.lower([record])
        digest = row_of(record).digest
        known = first_seen.setdefault(record.id, digest)
        same = same_content(original_of(stored), record) if stored else known == digest
        incoming.conflicts += [] if same else [record.id]
    return incoming


class Belief:
    """Whose decisions are taken over, by a caller's word."""

    def __init__(self, trust: bool | Iterable[str]) -> None:
        self._all = trust is True
        given = () if isinstance(trust, bool) else check_items("trust", trust)
        self._names = frozenset(check_text("trust", name) for name in given)
        allowed = "True, False, or names of authors"
        check_that(all(map(str.strip, self._names)), "trust", sorted(self._names), allowed)
        self._met: set[str] = set()

    def __call__(self, name: str) -> bool:
        trusted = name in self._names
        if trusted:
            self._met.add(name)
        return self._all or trusted

    @property
    def unknown(self) -> list[str]:
        """Those who are trusted, and whom nobody met."""
        return sorted(self._names - self._met)


def merge(
    source: Store,
    project: Project,
    believed: Belief,
    by: str,
    *,
    dry_run: bool,
    progress: Progress | None,
) -> Merged:
    """The union of records, and of the events of those who are believed, minus what either side
    forgot.
    """
    name = project.name
    total = source.counts(name).total if progress else 0
    local = {
        stored.id
        for undone in (False, True)
        for stored in source.decisions(
            name, LOCAL_ACTIONS, None, limits.DECISIONS_MAX, undone=undone
        )
    }
    left = _Left()
    wanted = partial(_wanted, believed=believed, local=local, left=left)
    coming, arrival = filter(wanted, source.stream(name)), None
    if dry_run:
        records = (without_secrets(record_of(stored)) for stored in coming)
        incoming = _foresee(project, told(records, progress, total))
    else:
        arrived_from = shortened(source.location, _TARGET_CHARS_MAX)
        decision = project.decision("arrival", by, target=arrived_from)
        incoming = _Incoming()
        for batch in batches(coming, limits.BATCH_ROWS, lambda each: len(each.body)):
            if _merge_batch(project, batch, incoming, believed, decision, is_new=arrival is None):
                arrival = decision.id
            if progress:
                progress(incoming.done, max(total, incoming.done))
    passed_over = local | set(incoming.conflicts)
    events, erased = _merge_events(source, project, passed_over, believed, left, local, dry_run)
    pending = erased > 0 and not dry_run and not project.store.finish_erasure()
    return Merged(
        *incoming.counts,
        events,
        erased,
        pending,
        left.told,
        left.total,
        arrival,
        believed.unknown,
        dry_run=dry_run,
    )


def _merge_batch(
    project: Project,
    batch: Sequence[Stored],
    incoming: _Incoming,
    believed: Belief,
    arrival: Decision,
    *,
    is_new: bool,
) -> bool:
    """Whether anything came that is not believed; the first of it comes with the decision that
    undoes its `arrival`.
    """
    name, by = project.name, arrival.metadata.source.author
    records = [without_secrets(original_of(restored(stored) or stored)) for stored in batch]
    strange = {each.id for each in records if not believed(each.metadata.source.author)}
    with project.write() as change:
        dated = project.date(records)
        rows = [(_strange_row if each.id in strange else row_of)(each) for each in dated]
        added = incoming.append(change, dated, rows)
        new = [each for each in dated if each.id in strange.intersection(added)]
        if new and is_new:
            change.append([arrival])
            if change.writer.may_govern(name):
                put_in_effect(change.writer, name, [arrival])
        reason = ARRIVED_WITH + arrival.id
        came = [_arrival(change, each, by, reason) for each in new]
        change.writer.add_events(name, came)
        # an earlier merge may have brought events of the others, or these before they were
        # trusted
        for each in change.writer.having_events(name, [each.id for each in records]):
            if each not in strange:
                change.writer.add_events(name, _trusted_since(change, each, by))
            refresh_status(change.writer, name, each)
    return bool(new)


_TARGET_CHARS_MAX: Final = 200


@dataclass
class _Left:
    """What was decided elsewhere, and is not taken over."""

    told: list[str] = field(default_factory=list)
    total: int = 0
    # Ids of decisions that are taken over: a memory puts its own in effect, in its own name.
    decisions: set[str] = field(default_factory=set)

    def note(self, what: str) -> None:
        self.total += 1
        if len(self.told) < limits.ITEMS_MAX:
            self.told.append(what)

    def note_event(self, event: Event, believed: Belief) -> bool:
        """Whether it is left, and told of if it says anything about its record."""
        if believed(event.by) or (event.by == BY_MEMORY and event.record_id in self.decisions):
            return False
        what = "archived" if event.kind == "superseded" else event.status or event.kind
        if event.kind in ("status", "superseded", "forgotten", "undone"):
            self.note(f"{what} by {event.by}: {event.record_id}")
        return True


def _wanted(stored: Stored, believed: Belief, local: Set[str], left: _Left) -> bool:
    """Whether a row comes along. A decision that is not believed would only look like one."""
    if stored.id in local:
        return False
    record = record_of(stored)
    author = record.metadata.source.author
    if believed(author):
        if isinstance(record, Decision):
            left.decisions.add(record.id)
        return True
    if isinstance(record, Decision):
        left.note(f"{record.action} {record.target or record.text} by {author}: {record.id}")
        return False
    status = original_of(stored).metadata.validation.status
    if status in VOUCHED_STATUSES:
        left.note(f"{status} by {author}, who recorded it so: {record.id}")
    return True


def _trusted_since(change: Change, record_id: str, by: str) -> list[Event]:
    """What takes back that a record came from a memory that nobody trusted."""
    happened = not_undone(change.writer.events_of(change.project.name, record_id))
    return [
        change.event(record_id, "undone", by, undoes=event.id)
        for event in happened
        if event.kind == "imported" and (event.reason or "").startswith(ARRIVED_WITH)
    ]


def _strange_row(record: AnyRecord) -> Row:
    """Of what somebody said elsewhere."""
    believed = as_arrived(record.metadata.validation)
    return row_of(record, believed, source=record.metadata.source.author + VIA_IMPORT)


def _merge_events(
    source: Store,
    project: Project,
    strangers: Set[str],
    believed: Belief,
    left: _Left,
    local: Set[str],
    dry_run: bool,
) -> tuple[int, int]:
    """How many events are new, and how many records they erased, or would."""
    store, name, added, erased = project.store, project.name, 0, 0
    for happened in batches(source.events(project.name), limits.BATCH_ROWS):
        taken = [event for event in happened if not left.note_event(event, believed)]
        tombstones = [
            event for event in taken if event.kind == "forgotten" and event.record_id not in local
        ]
        # What was said of another content under the same id says nothing about ours.
        # That a file is absent there, or another one, says nothing about the files here.
        others = [
            clean_event(event)
            for event in taken
            if event.kind not in _OF_ONE_PLACE and event.record_id not in strangers
        ]
        if dry_run:
            erased += sum(bool(store.get(name, each.record_id)) for each in tombstones)
            added += sum(
                all(known.id != each.id for known in store.events_of(name, each.record_id))
                for each in others
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


# --- JSON Lines: one record a line, in UTF-8; or one JSON list ---


def export(project: Project, path: Path, as_list: bool, progress: Progress | None) -> int:
    """Writes every record of the project, as of one instant, to a file, whole or not at all;
    returns how many it holds.
    """
    total = project.store.counts(project.name).total if progress else 0
    before, between, after = (b"[\n", b",\n", b"\n]\n") if as_list else (b"", b"\n", b"\n")
    done = 0
    with (
        closing(project.store.stream(project.name)) as records,
        files.writing_atomically(path) as file,
    ):
        file.write(before)
        exported = told(filter(None, map(_exported, records)), progress, total)
        for done, stored in enumerate(exported, 1):
            # A body whose record had no events since is already as a reader sees it.
            same = stored.validation is None
            line = sound_body(stored) if same else record_of(stored).to_json()
            file.write((between if done > 1 else b"") + line.encode())
        if done or as_list:
            file.write(after)
    return done


def _exported(stored: Stored) -> Stored | None:
    """As it is written to a file; None for what is of no use elsewhere: what was decided about this
    file alone, and fixes of which a compaction left only what they taught.
    """
    if stored.kind != "decision":
        return restored(stored)
    decision = original_of(stored)
    return None if isinstance(decision, Decision) and decision.action in LOCAL_ACTIONS else stored


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
                    yield parse_record(line, strict=strict)


def _whole(path: Path, line: bytes) -> list[object] | None:
    """The items of a file that is one JSON value over several lines, or a list; None where its
    first line stands for itself.
    """
    if not line.strip().startswith(b"[") and read_json(line, ABSENT) is not ABSENT:
        return None
    found = read_json(files.read_regular(path, limits.DATASET_BYTES_MAX), ABSENT)
    if found is ABSENT:
        return None
    return found if isinstance(found, list) else [found]


def _read_list(items: list[object], name: str, *, strict: bool) -> Iterator[AnyRecord]:
    for number, item in enumerate(items, 1):
        with _naming(f"{name}, record {number}"):
            yield read_record(item, strict=strict)


@contextmanager
def _naming(where: str) -> Iterator[None]:
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(error.problems, where) from None
