"""How far a record may be believed: what it may claim when it is written, what happened to it
since, in the order of (time, id), what it takes to be published, and whether what it says of files
still holds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.records.kinds import (
    VIA_IMPORT,
    Event,
    Metadata,
    RelatedFile,
    SourceType,
    StaleFile,
    Status,
    Validation,
    Verifier,
    name_sources,
)

NEXT_STATUSES: Final[Mapping[Status, tuple[Status, ...]]] = {
    "hypothesis": ("verified", "archived"),
    "verified": ("verified", "published", "archived"),
    "published": ("archived",),
    "archived": (),
}


# Who does what files say that people changed.
BY_TREE: Final = "tree"


def check_transition(now: Status, to: Status) -> None:
    """Raises where a record of status `now` may not become `to`."""
    allowed = NEXT_STATUSES[now]
    if to not in allowed:
        following = f"from {now}: {', '.join(allowed) or 'nothing (it is final)'}"
        raise InvalidInputError.one("status", to, following)


# How often a record helped, and did not, by who says so.
Credits = dict[str, tuple[int, int]]


def credits_by_source(events: Iterable[Event], more: Mapping[str, tuple[int, int]] = {}) -> Credits:
    """What was credited, beside `more`. However often somebody says so, it counts a few times."""
    votes = Counter((event.by, bool(event.helped)) for event in events if event.kind == "credited")
    most, none = limits.VOTES_OF_AUTHOR_MAX, (0, 0)
    return {
        by: (
            min(votes[by, True] + more.get(by, none)[0], most),
            min(votes[by, False] + more.get(by, none)[1], most),
        )
        for by in {by for by, _ in votes}.union(more)
    }


def count_credits(events: Iterable[Event], author: str) -> tuple[int, int]:
    """How often a record that was recalled helped, and how often it did not. Whoever said the same
    again speaks for it once; its own author does not count.
    """
    happened = [event for event in events if event.by not in name_sources(author)]
    if not happened:
        return 0, 0
    credited = credits_by_source(happened).values()
    others = {event.by for event in happened if event.kind == "repeated"}
    return sum(helped for helped, _ in credited) + len(others), sum(bad for _, bad in credited)


def not_undone(events: Iterable[Event]) -> list[Event]:
    """What happened and was not taken back since."""
    happened = list(events)
    taken_back = {event.undoes for event in happened if event.kind == "undone"}
    return [event for event in happened if event.id not in taken_back]


def find_source(author: str, events: Iterable[Event]) -> str:
    """Who says what was recorded under an author's name."""
    return author + VIA_IMPORT if is_from_elsewhere(events) else author


def is_from_elsewhere(events: Iterable[Event]) -> bool:
    """Whether a record was not recorded here, nor by anybody who was trusted since."""
    return any(event.kind == "imported" for event in not_undone(events))


def effective_validation(envelope: Validation, events: Iterable[Event]) -> Validation:
    """What a reader sees. A function of the set of events: the order in which they arrive does not
    matter. `imported` comes first whenever it happened: it takes away what the record claims
    itself, not what was found out about it here. One that arrived archived stays so, however often
    it arrived otherwise. A record whose file in the tree vanished
    (`absent`), or gave way to an edit, is again what it was before when the file is `present`
    again; one whose related files changed (`stale`), when it is `fresh` again. A later status
    stands above both. What was `undone` did not happen.
    """
    standing, held = _standing(envelope, events)
    return standing.copy_with(status="archived") if held else standing


def standing_beneath(envelope: Validation, events: Iterable[Event]) -> Validation:
    """What the record would be again if nothing kept it in the archive: files that are gone or
    changed do not keep anybody from deciding about it, and what is decided stands.
    """
    return _standing(envelope, events)[0]


def derive_standing_elsewhere(envelope: Validation, events: Iterable[Event]) -> Validation:
    """What a record is to another memory. That its files are gone or changed here is no news
    there; that somebody replaced it by editing its file is.
    """
    standing, held = _standing(envelope, events)
    return standing.copy_with(status="archived") if "superseded" in held else standing


def find_successor(events: Iterable[Event]) -> str | None:
    """The id of the record that this one gave way to last; None where it did not."""
    happened = sorted(not_undone(events), key=lambda event: (event.at_us, event.id))
    return next((event.replaced_by for event in reversed(happened) if event.replaced_by), None)


def is_held_as_stale(envelope: Validation, events: Iterable[Event]) -> bool:
    """Whether files that changed keep a record archived: `fresh` would take that back."""
    return "stale" in _standing(envelope, events)[1]


_RELEASED_BY: Final[Mapping[str, frozenset[str]]] = {
    "present": frozenset({"absent", "superseded"}),
    "fresh": frozenset({"stale"}),
}


def _order_event(event: Event) -> tuple[bool, bool, int, str]:
    came = event.kind == "imported"
    return not came, came and event.status == "archived", event.at_us, event.id


def _standing(envelope: Validation, events: Iterable[Event]) -> tuple[Validation, set[str]]:
    """What the record would be, and what keeps it in the archive all the same."""
    current = envelope
    held: set[str] = set()
    for event in sorted(not_undone(events), key=_order_event):
        if event.kind == "status" and event.status:
            held.clear()
            current = current.copy_with(
                status=event.status,
                verified_by=event.verified_by or current.verified_by,
                verification_id=event.verification_id or current.verification_id,
            )
        elif event.kind == "superseded" and event.by != BY_TREE:
            held.clear()
            current = current.copy_with(status="archived")
        elif event.kind in ("superseded", "absent", "stale"):
            held.add(event.kind)
        elif event.kind in _RELEASED_BY:
            held -= _RELEASED_BY[event.kind]
        elif event.kind == "imported":
            # one that does not say who vouched for it elsewhere is of an earlier version
            vouched = event.verified_by or event.verification_id
            current = judge_arrival(current) if vouched else current.copy_with(status="hypothesis")
            if event.status == "archived":
                current = current.copy_with(status="archived")
    return current, held


def judge_arrival(claimed: Validation, status: Status = "hypothesis") -> Validation:
    """What comes from elsewhere is a hypothesis, whatever it claims; or archived, if it was
    retired there, since that takes influence away. Who vouched for it there is told by the event
    of its arrival.
    """
    return claimed.copy_with(
        status="archived" if status == "archived" else "hypothesis",
        verified_by=None,
        verification_id=None,
    )


# Sources whose record may be verified from the start, and by whom it then says that it was. What an
# agent did is its own word until somebody else confirms it.
MAY_CLAIM_VERIFIED: Final[Mapping[SourceType, Verifier]] = {
    "test_result": "test_runner",
    "user_interaction": "human_approval",
    "file_analysis": "compiler",
}

# From what is believed least to what is believed most.
ORDER: Final[tuple[Status, ...]] = ("archived", "hypothesis", "verified", "published")


def check_claim(metadata: Metadata) -> None:
    """Raises where a record claims more than its source may. `hypothesis` and `archived` claim
    nothing; `published` is what a record becomes, never what it begins as.
    """
    validation = metadata.validation
    if validation.status in ("hypothesis", "archived"):
        return
    may = MAY_CLAIM_VERIFIED.get(metadata.source.type)
    if (
        validation.status != "verified"
        or validation.verified_by is None
        or validation.verified_by != may
    ):
        allowed = "; ".join(
            f"verified by {by} from {source}" for source, by in MAY_CLAIM_VERIFIED.items()
        )
        raise InvalidInputError.one(
            "metadata.validation.status",
            validation.status,
            f"when a record is written: hypothesis or archived; {allowed}. Later verify() and "
            f"publish() change it",
        )


def was_confirmed(events: Iterable[Event]) -> bool:
    """Whether somebody, or a test, vouched for a record after it was written."""
    return any(
        event.kind == "status" and event.status == "verified" for event in not_undone(events)
    )


def proved_itself(status: Status, credited: Credits) -> bool:
    """Whether a record is to be published: verified, credited three times by several sources, and
    more often as a help than not.
    """
    helped = [good for good, _ in credited.values() if good]
    hindered = sum(bad for _, bad in credited.values())
    several = len(helped) >= limits.PROOFS_MIN
    return status == "verified" and several and _CREDITS_TO_PUBLISH <= sum(helped) > hindered


_CREDITS_TO_PUBLISH: Final = 3


def least(statuses: Iterable[Status]) -> Status:
    """What follows from several records is believed as far as the least believed of them; from
    none, not at all yet.
    """
    return min(statuses, key=ORDER.index, default="hypothesis")


def stale_files(
    related: Iterable[RelatedFile], seen: Mapping[str, str | None], renames: Mapping[str, str]
) -> tuple[StaleFile, ...]:
    """What changed. `seen` has the SHA-1 of what is there now by path, None where nothing is; of a
    path that it does not have nothing is known, and nothing is said. `renames` leads from a path
    that vanished to where its file went.
    """
    changes = (
        _find_change(file, seen[file.path], seen, renames) for file in related if file.path in seen
    )
    return tuple(dict.fromkeys(filter(None, changes)))


def _find_change(
    file: RelatedFile, now: str | None, seen: Mapping[str, str | None], renames: Mapping[str, str]
) -> StaleFile | None:
    if not file.hash:
        return StaleFile(file.path, "appeared", file.path) if now is not None else None
    if now is not None:
        return None if _same(file.hash, now) else StaleFile(file.path, "changed", file.path)
    new = renames.get(file.path)
    there = seen.get(new) if new else None
    if new is None or there is None:
        return StaleFile(file.path, "gone")
    return StaleFile(file.path, "renamed" if _same(file.hash, there) else "changed", new)


def _same(then: str, now: str) -> bool:
    """Whatever is no SHA-1 was made by somebody else's rules, and cannot be compared."""
    return then.lower() == now or not re.fullmatch(r"[0-9a-f]{40}", then, flags=re.IGNORECASE)
