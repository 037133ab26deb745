"""What the parts of one answer read, once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from hardwon.records.kinds import R
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

S = TypeVar("S")
P = ParamSpec("P")
T = TypeVar("T")


def read_once(read: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """What was read for one part of an answer is not read again for another."""

    @wraps(read)
    def read_anew(self: S, /, *args: P.args, **options: P.kwargs) -> T:
        """What was read, now or before."""
        kept: dict[tuple[Any, ...], T] = self.__dict__.setdefault("_kept", {})
        key = (read, *args)
        if key not in kept:
            kept[key] = read(self, *args, **options)
        return kept[key]

    return read_anew


def keep_kind(kind: type[R], stored: Iterable[Stored | Found]) -> list[R]:
    """Of the records that can be read, those of one kind."""
    return [record for record in readable(stored) if isinstance(record, kind)]
