"""What recall hands back."""

from __future__ import annotations

from dataclasses import dataclass, field

from hardwon import limits
from hardwon.model import AnyRecord, StaleFile
from hardwon.recall.fence import clean_line
from hardwon.recall.headline import headline, outcome_of


@dataclass(frozen=True)
class Hit:
    """A record that answers a query. `score` is the sum of the named parts in `why`; higher is better. `stale`: a file that it
    is about is no longer what it was; `changed` tells which, and also of files that only got another name. `str(hit)` is one
    line, of whatever kind the record is: the score, how it turned out (else its kind), and what it is about."""

    record: AnyRecord
    score: float
    why: dict[str, float] = field(default_factory=dict)
    stale: bool = False
    changed: tuple[StaleFile, ...] = ()

    def __str__(self) -> str:
        stale = ", stale" if self.stale else ""
        line = f"{self.score:.2f} {outcome_of(self.record) or self.record.kind}{stale}: {headline(self.record)}"
        return clean_line(line, limits.CONTEXT_LINE_CHARS_MAX)
