"""What the crowd was told is kept, as plain dictionaries, and whether a memory is still just that.

A `Picture` is everything that is true in a memory: its records and its events. After a step a new
picture is taken, past the program under test, and every difference to the last one must be
explained by what the step was `Expected` to do: all of it where the step was acknowledged; where it
failed, all or nothing, or, of what takes several transactions, any part.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, NamedTuple

from hardwon.records.fields import from_us
from hardwon.records.kinds import INTERNAL_KINDS, MODEL_OF_KIND, AnyRecord
from hardwon.store.query import plain_body

OF_ONE_PLACE: Final = ("forgotten", "absent", "stale", "fresh")
NEXT: Final[Mapping[str, tuple[str, ...]]] = {
    "hypothesis": ("verified", "archived"),
    "verified": ("verified", "published", "archived"),
    "published": ("archived",),
    "archived": (),
}
BY_MEMORY: Final = "hardwon"


class Finding(Exception):  # noqa: N818  # what is found is wrong with the memory, not with the simulator
    """The memory is not what it was said to be, or does what it must not."""


class Misquoted(Finding):
    """A record comes back as something else than was written."""


ELSEWHERE: Final = " via import"
"""What is added to the name of whoever said something in another memory."""


class Kept(NamedTuple):
    """A record's row."""

    kind: str
    at_us: int
    author: str
    outcome: str | None
    tool: str | None
    body: str
    status: str


class Happened(NamedTuple):
    """An event's row."""

    record_id: str
    kind: str
    at_us: int
    body: str


@dataclass(frozen=True)
class Picture:
    """All records and events of a project, by their ids."""

    records: Mapping[str, Kept]
    events: Mapping[str, Happened]

    @property
    def forgotten(self) -> set[str]:
        return {event.record_id for event in self.events.values() if event.kind == "forgotten"}

    def list_events(self, record_ids: Iterable[str]) -> dict[str, dict[str, Happened]]:
        found: dict[str, dict[str, Happened]] = {record_id: {} for record_id in record_ids}
        for event_id, event in self.events.items():
            if event.record_id in found:
                found[event.record_id][event_id] = event
        return found

    def status_of(self, record_id: str) -> str:
        """What its events add up to."""
        return status_of(self.records[record_id], self.list_events([record_id])[record_id])

    @property
    def distrusted(self) -> set[str]:
        """The authors that somebody rolled back, whether they said it here or elsewhere."""
        rollbacks = [
            row
            for row in self.records.values()
            if row.kind == "decision" and row.outcome == "rollback"
        ]
        named = [
            said(row.body)["target"] for row in rollbacks if row.status in ("verified", "published")
        ]
        return {*named, *(name + ELSEWHERE for name in named)}


EMPTY: Final = Picture({}, {})


@lru_cache(maxsize=20_000)
def said(body: str) -> dict[str, Any]:
    """The JSON of a body, also of one that is packed."""
    parsed: dict[str, Any] = json.loads(plain_body(body))
    return parsed


def parsed(row: Kept) -> AnyRecord:
    """As the program reads it."""
    fields = said(row.body)
    return MODEL_OF_KIND[fields["kind"]].model_validate(fields)


def says_the_same(one: Kept, other: Kept) -> bool:
    """But for the status, and the time of what was dated ahead."""
    return one.body == other.body or _unjudged(one) == _unjudged(other)


def _unjudged(row: Kept) -> AnyRecord:
    record = parsed(row)
    metadata = record.metadata
    moment = metadata.context.copy_with(timestamp=from_us(0))
    validation = type(metadata.validation)()
    return record.copy_with(metadata=metadata.copy_with(validation=validation, context=moment))


def status_of(row: Kept, events: Mapping[str, Happened]) -> str:
    """By our own reading of the rules: what was undone did not happen, `imported` comes first (and what
    was retired there is archived), the last word stands.
    """
    told = {event_id: said(event.body) for event_id, event in events.items()}
    taken_back = {each["undoes"] for each in told.values() if each["kind"] == "undone"}
    status: str = said(row.body)["metadata"]["validation"]["status"]
    left = [
        (event.at_us, event_id) for event_id, event in events.items() if event_id not in taken_back
    ]
    if is_from_elsewhere(events):
        arrived = [told[event_id] for _, event_id in left if told[event_id]["kind"] == "imported"]
        is_retired = any(one.get("status") == "archived" for one in arrived)
        status = "archived" if is_retired else "hypothesis"
    for _, event_id in sorted(left):
        match events[event_id].kind:
            case "status":
                status = told[event_id]["status"]
            case "superseded":
                status = "archived"
    return status


def is_from_elsewhere(events: Mapping[str, Happened]) -> bool:
    """It arrived, and nobody took that back."""
    taken_back = {said(each.body)["undoes"] for each in events.values() if each.kind == "undone"}
    arrivals = {key for key, event in events.items() if event.kind == "imported"}
    return bool(arrivals - taken_back)


# --- what a step is expected to do ---


@dataclass
class New:
    """A record that is to be added. `record_id` is empty until the memory has told it; `tells` are
    fields as they were given, and `marker` is a word that no other record has.
    """

    kind: str
    marker: str
    tells: Mapping[str, Any]
    record_id: str = ""
    row: Kept | None = None
    """Where it comes from another memory: as it was there."""

    def is_it(self, record_id: str, row: Kept) -> bool:
        if self.record_id:
            return record_id == self.record_id
        return row.kind == self.kind and self.marker in row.body

    def check(self, record_id: str, row: Kept) -> None:
        if self.row is not None:
            # what was dated later than it arrives has the time of that
            if not says_the_same(self.row, row) or row.at_us > self.row.at_us:
                raise Finding(
                    f"record {record_id} arrived as something else than it was: {row.body} for "
                    f"{self.row.body}"
                )
            return
        told = said(row.body)
        for name, value in self.tells.items():
            if told.get(name) != value:
                raise Finding(
                    f"record {record_id} was told {name}={value!r} and says {told.get(name)!r}"
                )


class Event(NamedTuple):
    """An event that is to be added; what is empty may be anything."""

    record_id: str
    kind: str
    status: str = ""
    event_id: str = ""

    def is_it(self, event_id: str, event: Happened) -> bool:
        same = event.record_id == self.record_id and event.kind == self.kind
        return (
            same
            and self.event_id in ("", event_id)
            and self.status in ("", said(event.body).get("status"))
        )


@dataclass
class Expected:
    """What a step does where it is acknowledged."""

    new: list[New] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    forgets: set[str] = field(default_factory=set)
    publishes: bool = False
    """What was verified may be published by the memory."""
    imports: bool = False
    """Every new record comes with an event that says so."""
    in_effect: bool = False
    """Every new decision comes with the event that puts it in effect."""
    repeats: bool = False
    """A fact that somebody said before may be told to have been said again."""
    maybe: bool = False
    """What is expected may also not be: that depends on more than the model knows."""
    piecemeal: bool = False
    """It takes several transactions: where it fails, any part of it may be done."""
    acknowledged: bool = False

    @property
    def is_nothing(self) -> bool:
        return not (self.new or self.events or self.forgets or self.publishes or self.repeats)


@dataclass
class _Difference:
    """What is different, and not explained yet."""

    before: Picture
    after: Picture
    added: dict[str, Kept]
    gone: set[str]
    rewritten: set[str]
    events: dict[str, Happened]
    lost: set[str]

    @classmethod
    def between(cls, before: Picture, after: Picture) -> _Difference:
        added = {key: row for key, row in after.records.items() if key not in before.records}
        common = [
            (key, row, after.records[key])
            for key, row in before.records.items()
            if key in after.records
        ]
        rewritten = {key for key, row, now in common if row != now and not _is_kept(row, now)}
        events = {key: event for key, event in after.events.items() if key not in before.events}
        for key, event in before.events.items():
            if after.events.get(key, event) != event:
                raise Finding(f"event {key} was {event} and is {after.events[key]}")
        lost = before.events.keys() - after.events.keys()
        return cls(
            before,
            after,
            added,
            before.records.keys() - after.records.keys(),
            rewritten,
            events,
            lost,
        )


def _is_kept(before: Kept, now: Kept) -> bool:
    """But for what its events say, and for an outcome that an older version did not write
    down.
    """
    outcome = before.outcome or now.outcome
    return before._replace(status=now.status, author=now.author, outcome=outcome) == now


def explain(before: Picture, after: Picture, steps: Sequence[Expected]) -> None:
    """Raises a Finding where the memory is not what it was, changed as the steps were expected to
    change it.
    """
    if (before is after or before == after) and all(
        step.is_nothing or not step.acknowledged or step.maybe for step in steps
    ):
        return
    left = _Difference.between(before, after)
    touched = {*left.added, *(event.record_id for event in left.events.values())}
    moved = {
        key
        for key in before.records.keys() & after.records.keys()
        if before.records[key].status != after.records[key].status
        or before.records[key].author != after.records[key].author
    }
    for step in steps:
        _explain_records(left, step)
        _explain_forgotten(left, step)
        _explain_events(left, step)
    _refuse_unexplained(left)
    _check_statuses(after, touched | moved)


def _explain_records(left: _Difference, step: Expected) -> None:
    found = 0
    for new in step.new:
        match = next((key for key, row in left.added.items() if new.is_it(key, row)), None)
        if match is None:
            if step.acknowledged and not step.maybe:
                raise Finding(f"a {new.kind} was acknowledged and is not there: {new}")
            continue
        found += 1
        row = left.added.pop(match)
        new.check(match, row)
        for comes_along, event in (
            (step.imports, Event(match, "imported")),
            (step.in_effect, Event(match, "status", "verified")),
        ):
            if comes_along:
                _take_event(left, event, "a record is there without the event that came with it")
    if not step.piecemeal and 0 < found < len(step.new):
        raise Finding(
            f"{found} of {len(step.new)} records of one transaction are there: {step.new}"
        )


def _take_event(left: _Difference, wanted: Event, problem: str) -> None:
    match = next((key for key, event in left.events.items() if wanted.is_it(key, event)), None)
    if match is None:
        raise Finding(f"{problem}: {wanted}")
    del left.events[match]


def _explain_forgotten(left: _Difference, step: Expected) -> None:
    gone = step.forgets & left.gone
    there = step.forgets & left.after.records.keys()
    if step.acknowledged and there:
        raise Finding(f"forgotten, and still there: {sorted(there)}")
    if gone and there and not step.piecemeal:
        raise Finding(f"half forgotten: {sorted(gone)} are gone, {sorted(there)} are not")
    tombs = {event.record_id for event in left.after.events.values() if event.kind == "forgotten"}
    if gone - tombs:
        raise Finding(f"gone without a tombstone: {sorted(gone - tombs)}")
    left.gone -= gone
    left.lost = {key for key in left.lost if left.before.events[key].record_id not in gone}
    for key, event in list(left.events.items()):
        if event.kind == "forgotten" and event.record_id in gone:
            del left.events[key]


def _explain_events(left: _Difference, step: Expected) -> None:
    found = 0
    for wanted in step.events:
        match = next((key for key, event in left.events.items() if wanted.is_it(key, event)), None)
        if match is None:
            if step.acknowledged and not step.maybe:
                raise Finding(f"an event was acknowledged and is not there: {wanted}")
            continue
        found += 1
        del left.events[match]
    if not step.piecemeal and not step.maybe and 0 < found < len(step.events):
        raise Finding(
            f"{found} of {len(step.events)} events of one transaction are there: {step.events}"
        )
    for key, event in list(left.events.items()):
        told = said(event.body)
        if step.repeats and event.kind == "repeated":
            del left.events[key]
        elif step.publishes and told["by"] == BY_MEMORY and told.get("status") == "published":
            if left.before.records[event.record_id].status != "verified":
                raise Finding(
                    f"record {event.record_id} was published without having been verified"
                )
            del left.events[key]


def _refuse_unexplained(left: _Difference) -> None:
    for problem, found in (
        ("nobody recorded these, and they are there", sorted(left.added)),
        ("lost: nobody forgot these", sorted(left.gone)),
        ("nobody wrote these again, and they are others", sorted(left.rewritten)),
        ("nobody did this", sorted(map(str, left.events.values()))),
        ("these happened, and are lost", sorted(str(left.before.events[key]) for key in left.lost)),
    ):
        if found:
            raise Finding(f"{problem}: {', '.join(found[:5])}")
    back = left.before.forgotten & left.after.records.keys()
    if back:
        raise Finding(f"forgotten, and back again: {sorted(back)[:5]}")
    if left.before.forgotten - left.after.forgotten:
        raise Finding(
            f"tombstones are lost: {sorted(left.before.forgotten - left.after.forgotten)[:5]}"
        )


def _check_statuses(picture: Picture, record_ids: Iterable[str]) -> None:
    there = [key for key in record_ids if key in picture.records]
    events = picture.list_events(there)
    for key in there:
        row = picture.records[key]
        expected = status_of(row, events[key])
        if row.status != expected:
            raise Finding(
                f"record {key} is {row.status}, and its events add up to {expected}: "
                f"{list(events[key].values())}"
            )
        author = said(row.body).get("metadata", {}).get("source", {}).get("author")
        if author and row.author != author + ELSEWHERE * is_from_elsewhere(events[key]):
            raise Finding(f"record {key} is of {author}, and is kept as of {row.author}")


def check_all_statuses(picture: Picture) -> None:
    _check_statuses(picture, picture.records)


# --- moving ---


def merged(source: Picture, target: Picture) -> Expected:
    """What a merge of one into the other brings."""
    tombs = {key: event for key, event in source.events.items() if event.kind == "forgotten"}
    gone = {event.record_id for event in tombs.values()} | target.forgotten
    strangers = {
        key
        for key, row in source.records.items()
        if key in target.records and not says_the_same(row, target.records[key])
    }
    forgets = {event.record_id for event in tombs.values()} & target.records.keys()
    events = [
        Event(event.record_id, event.kind, "", key)
        for key, event in source.events.items()
        if key not in target.events
        and (
            event.record_id not in forgets
            if key in tombs
            else event.kind not in OF_ONE_PLACE and event.record_id not in strangers | gone
        )
    ]
    return Expected(new=_new(source, target, gone), events=events, forgets=forgets, piecemeal=True)


def _new(source: Picture, target: Picture, gone: set[str]) -> list[New]:
    return [
        New(row.kind, "", {}, key, row)
        for key, row in source.records.items()
        if key not in target.records and key not in gone
    ]


def loaded(source: Picture, target: Picture) -> Expected:
    """What loading an export of one into the other brings."""
    return Expected(new=_new(source, target, target.forgotten), imports=True, piecemeal=True)


# --- what follows from a picture ---


@dataclass(frozen=True)
class Counted:
    """As `Memory.stats` tells it."""

    records: int
    decisions: int
    adopted: int
    events: int
    forgotten: int
    by_kind: Mapping[str, int]
    by_outcome: Mapping[str, int]
    by_tool: Mapping[str, int]
    by_status: Mapping[str, int]
    by_author: Mapping[str, int]


def counted(picture: Picture) -> Counted:
    rows = picture.records.values()
    ordinary = [row for row in rows if row.kind not in INTERNAL_KINDS]
    internal = Counter(row.kind for row in rows if row.kind in INTERNAL_KINDS)

    def by(column: Callable[[Kept], str | None]) -> dict[str, int]:
        return dict(Counter(value for row in ordinary if (value := column(row)) is not None))

    return Counted(
        records=len(ordinary),
        decisions=internal["decision"],
        adopted=internal["adopted"],
        events=len(picture.events),
        forgotten=len(picture.forgotten),
        by_kind=by(lambda row: row.kind),
        by_outcome=by(lambda row: row.outcome),
        by_tool=by(lambda row: row.tool),
        by_status=by(lambda row: row.status),
        by_author=by(lambda row: row.author),
    )


def believed(picture: Picture) -> dict[str, Kept]:
    """The records that knowledge is drawn from."""
    distrusted = picture.distrusted
    return {
        key: row
        for key, row in picture.records.items()
        if row.status != "archived" and row.author not in distrusted
    }


def fixes_counted(picture: Picture) -> tuple[int, int, int]:
    """Attempts, those that were applied, and those that were verified."""
    fixes = [said(row.body) for row in believed(picture).values() if row.kind == "fix"]
    applied = [fix["verification_success"] for fix in fixes if fix["fix_success"]]
    return len(fixes), len(applied), sum(applied)


def scored(picture: Picture, task_id: str) -> list[float]:
    """The scores of a task's episodes."""
    rows = [said(row.body) for row in believed(picture).values() if row.kind == "episode"]
    return [row["score"] for row in rows if row["task_id"] == task_id]
