"""How far a record may be believed now: its envelope, then what happened to it since, in the order of (time, id)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from hardwon.errors import InvalidInputError
from hardwon.model import Event, Status, Validation

NEXT_STATUSES: Final[Mapping[Status, tuple[Status, ...]]] = {
    "hypothesis": ("verified", "archived"),
    "verified": ("verified", "published", "archived"),
    "published": ("archived",),
    "archived": (),
}


BY_TREE: Final = "tree"
"""Who does what files say that people changed."""


def check_transition(now: Status, to: Status) -> None:
    """Raises where a record of status `now` may not become `to`."""
    allowed = NEXT_STATUSES[now]
    if to not in allowed:
        raise InvalidInputError.one("status", to, f"from {now}: {', '.join(allowed) or 'nothing (it is final)'}")


def credits_of(events: Iterable[Event], author: str) -> tuple[int, int]:
    """How often a record that was recalled helped, and how often it did not. Whoever said the same again speaks for it once;
    its own author does not."""
    happened = list(events)
    credited = [event.helped for event in happened if event.kind == "credited"]
    others = {event.by for event in happened if event.kind == "repeated"} - {author}
    return credited.count(True) + len(others), credited.count(False)


def not_undone(events: Iterable[Event]) -> list[Event]:
    """What happened and was not taken back since."""
    happened = list(events)
    taken_back = {event.undoes for event in happened if event.kind == "undone"}
    return [event for event in happened if event.id not in taken_back]


def effective_validation(envelope: Validation, events: Iterable[Event]) -> Validation:
    """What a reader is told. A function of the set of events: the order in which they arrive does not matter. `imported` comes
    first whenever it happened: it takes away what the record claims itself, not what was found out about it elsewhere. A record
    whose file in the tree vanished (`absent`), or gave way to an edit, is again what it was before when the file is `present`
    again; one whose related files changed (`stale`), when it is `fresh` again. A later status stands above both. What was
    `undone` did not happen."""
    standing, held = _standing(envelope, events)
    return standing.altered(status="archived") if held else standing


def standing_beneath(envelope: Validation, events: Iterable[Event]) -> Validation:
    """What the record would be again if nothing kept it in the archive: files that are gone or changed do not keep anybody from
    deciding about it, and what is decided stands."""
    return _standing(envelope, events)[0]


def is_held_as_stale(envelope: Validation, events: Iterable[Event]) -> bool:
    """Whether files that changed keep a record archived: `fresh` would take that back."""
    return "stale" in _standing(envelope, events)[1]


_RELEASED_BY: Final[Mapping[str, str]] = {"present": "absent", "fresh": "stale"}


def _standing(envelope: Validation, events: Iterable[Event]) -> tuple[Validation, set[str]]:
    """What the record would be, and what keeps it in the archive all the same."""
    current = envelope
    held: set[str] = set()
    for event in sorted(not_undone(events), key=lambda event: (event.kind != "imported", event.at_us, event.id)):
        if event.kind == "status" and event.status:
            held.clear()
            current = current.altered(
                status=event.status,
                verified_by=event.verified_by or current.verified_by,
                verification_id=event.verification_id or current.verification_id,
            )
        elif event.kind == "superseded" and event.by != BY_TREE:
            held.clear()
            current = current.altered(status="archived")
        elif event.kind in ("superseded", "absent", "stale"):
            held.add("stale" if event.kind == "stale" else "absent")
        elif event.kind in _RELEASED_BY:
            held.discard(_RELEASED_BY[event.kind])
        elif event.kind == "imported":
            current = current.altered(status="hypothesis")
    return current, held
