"""What `Memory.stats` answers: apart from the other reports, because it is asked by itself, and
often.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hardwon.records.fields import from_us
from hardwon.store.types import Counts


@dataclass(frozen=True)
class Stats(Counts):
    """What there is, and where. Events do not count creations, which are the records themselves."""

    location: str
    project: str
    size_bytes: int

    @property
    def first(self) -> datetime | None:
        """The time of the oldest record; None where there is none."""
        return None if self.first_us is None else from_us(self.first_us)

    @property
    def last(self) -> datetime | None:
        """The time of the newest record; None where there is none."""
        return None if self.last_us is None else from_us(self.last_us)
