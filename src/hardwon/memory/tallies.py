"""What the store counted and keeps, read once for one answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from hardwon.lessons.counts import Tally
from hardwon.lessons.evidence import Evidence, gather
from hardwon.memory.project import Project
from hardwon.records.kinds import R
from hardwon.search.terms import Filters
from hardwon.store.query import readable
from hardwon.store.types import Found, Stored

# Earlier fixes that are compared with an issue, the newest: the time grows with them.
COMPARED_MAX: Final = 200

# Cards, strategies, areas or records of one sort that are weighed for one answer: the ones seen most
# often, or the newest.
CONSIDERED_MAX: Final = 500

# Rules, tasks, strategies, facts, adopted stores, sessions … of one sort that are looked into one by
# one while somebody waits, the likeliest or the newest: some milliseconds each, and more change
# nothing of the answer.
LOOKED_INTO_MAX: Final = 20

S = TypeVar("S", bound="TallyReading")
P = ParamSpec("P")
T = TypeVar("T")


def read_once(read: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """What was read for one part of an answer is not read again for another."""

    @wraps(read)
    def read_anew(self: S, /, *args: P.args, **options: P.kwargs) -> T:
        """What was read, now or before."""
        key = (read, *args)
        if key not in self._kept:
            self._kept[key] = read(self, *args, **options)
        answer: T = self._kept[key]
        return answer

    return read_anew


class TallyReading:
    """The counts and the records of one project. Made anew for every question."""

    def __init__(self, project: Project) -> None:
        self._opened, self._store, self.project = project, project.store, project.name
        self.today = project.today
        self._kept: dict[tuple[Any, ...], Any] = {}

    @read_once
    def has_one_source(self, scope: str) -> bool:
        """Whether no more than one source taught anything in a scope."""
        return self._store.has_one_source(self.project, scope)

    def _all(self, scope: str, key: str) -> list[Tally]:
        return self._store.tallies(self.project, scope, key, CONSIDERED_MAX)

    def supports(self, scope: str, key: str) -> dict[str, Evidence]:
        """What speaks for each item under a key; nothing where nothing was counted."""
        return gather(self._all(scope, key))

    def _newest(self, filters: Filters, kind: type[R], limit: int = COMPARED_MAX) -> list[R]:
        return keep_kind(kind, self._store.page(self.project, filters, None, limit, trusted=True))


def keep_kind(kind: type[R], stored: Iterable[Stored | Found]) -> list[R]:
    """Of the records that can be read, those of one kind."""
    return [record for record in readable(stored) if isinstance(record, kind)]
