"""Which fixes may leave the history, and when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hardwon.model import VOUCHED_STATUSES


@dataclass(frozen=True)
class Aged:
    """What is known of an old fix: how it turned out, what became of it, and what would be lost with it."""

    at_us: int
    succeeded: bool
    status: str
    helped: int
    newest_of_pattern: bool
    newest_success_of_pattern: bool
    speaks_for_proven_strategy: bool


@dataclass(frozen=True)
class Retention:
    """Failed fixes older than the one time, and successful ones older than the other, may go."""

    failed_before_us: int
    succeeded_before_us: int

    def verdict(self, fix: Aged) -> Literal["young", "valuable", "goes"]:
        """`valuable`: old enough to go, and kept all the same."""
        if fix.at_us >= (self.succeeded_before_us if fix.succeeded else self.failed_before_us):
            return "young"
        return "valuable" if is_valuable(fix) else "goes"


def is_valuable(fix: Aged) -> bool:
    """Somebody vouches for it, it helped, or it is the last that tells of a pattern, its solution or a proven strategy."""
    return (
        fix.status in VOUCHED_STATUSES
        or fix.helped > 0
        or fix.newest_of_pattern
        or fix.newest_success_of_pattern
        or fix.speaks_for_proven_strategy
    )
