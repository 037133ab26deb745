"""What recall hands back."""

from __future__ import annotations

from dataclasses import dataclass, field

from hardwon.model import AnyRecord, StaleFile


@dataclass(frozen=True)
class Hit:
    """A record that answers a query. `score` is the sum of the named parts in `why`; higher is better. `stale`: a file that it
    is about is no longer what it was; `changed` tells which, and also of files that only got another name."""

    record: AnyRecord
    score: float
    why: dict[str, float] = field(default_factory=dict)
    stale: bool = False
    changed: tuple[StaleFile, ...] = ()
