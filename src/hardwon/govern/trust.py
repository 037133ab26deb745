"""Who may claim what when a record is written, and what it takes to be published."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from hardwon.errors import InvalidInputError
from hardwon.govern.lifecycle import not_undone
from hardwon.model import Event, Metadata, SourceType, Status, Verifier

MAY_CLAIM_VERIFIED: Final[Mapping[SourceType, Verifier]] = {
    "test_result": "test_runner",
    "user_interaction": "human_approval",
    "file_analysis": "compiler",
}
"""Sources whose record may be verified from the start, and by whom it then says that it was. What an agent did is its own word
until somebody else confirms it."""

ORDER: Final[tuple[Status, ...]] = ("archived", "hypothesis", "verified", "published")
"""From what is believed least to what is believed most."""


def check_claim(metadata: Metadata) -> None:
    """Raises where a record claims more than its source may. `hypothesis` and `archived` claim nothing; `published` is what a
    record becomes, never what it begins as."""
    validation = metadata.validation
    if validation.status in ("hypothesis", "archived"):
        return
    may = MAY_CLAIM_VERIFIED.get(metadata.source.type)
    if validation.status != "verified" or validation.verified_by is None or validation.verified_by != may:
        allowed = "; ".join(f"verified by {by} from {source}" for source, by in MAY_CLAIM_VERIFIED.items())
        raise InvalidInputError.one(
            "metadata.validation.status",
            validation.status,
            f"when a record is written: hypothesis or archived; {allowed}. Later verify() and publish() change it",
        )


def was_confirmed(events: Iterable[Event]) -> bool:
    """Whether somebody, or a test, vouched for a record after it was written."""
    return any(event.kind == "status" and event.status == "verified" for event in not_undone(events))


def credits_of_others(events: Iterable[Event], author: str) -> tuple[int, int]:
    """How often a record helped, and did not, as others than its own author say."""
    said = [event.helped for event in events if event.kind == "credited" and event.by != author]
    return said.count(True), said.count(False)


def proved_itself(status: Status, helped: int, hindered: int, needed: int) -> bool:
    """Whether a record is to be published: verified, credited so often, and more often as a help than not. 0: never."""
    return status == "verified" and 0 < needed <= helped and helped > hindered


def least(statuses: Iterable[Status]) -> Status:
    """What follows from several records is believed as far as the least believed of them; from none, not at all yet."""
    return min(statuses, key=ORDER.index, default="hypothesis")
