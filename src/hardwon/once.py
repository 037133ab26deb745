"""Requests that are safe to send again: what is asked for under a key is carried out once, whoever dies in between.

The key is kept in the transaction that carries the request out, so there is no moment at which one is kept without the other.
What a lost connection cut off, and certainly kept nothing of, is done again by `done_again`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import wraps
from typing import ParamSpec, TypeVar

from hardwon import limits
from hardwon.errors import InterruptedWriteError, RepeatedError
from hardwon.fields import to_us
from hardwon.store.contract import Request, Store, Writer

_log = logging.getLogger("hardwon")
P = ParamSpec("P")
T = TypeVar("T")


def done_again(work: Callable[P, T]) -> Callable[P, T]:
    """For what writes in one transaction and can be called twice with the same arguments: where the connection was lost and
    nothing was kept, it is done again."""

    @wraps(work)
    def done(*args: P.args, **kwargs: P.kwargs) -> T:
        for _ in range(limits.INTERRUPTED_WRITES_AGAIN_MAX):
            try:
                return work(*args, **kwargs)
            except InterruptedWriteError as error:
                _log.warning("a write was cut off and is done again: %s", error)
        return work(*args, **kwargs)

    return done


@dataclass
class _Asked:
    key: bytes
    said: bytes
    ids: dict[str, None] = field(default_factory=dict)
    kept: bool = False


class Requests:
    """The request that each thread carries out, if it has a key."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._of_thread = threading.local()

    @contextmanager
    def once(self, key: bytes, said: bytes) -> Iterator[None]:
        """Whatever is written first inside the block, by this thread, is written under the key; RepeatedError where
        something was before."""
        self._of_thread.asked = _Asked(key, said)
        try:
            yield
        finally:
            self._of_thread.asked = None

    @property
    def under_way(self) -> bool:
        """Whether this thread carries out a request with a key."""
        return self._asked() is not None

    def concerned(self, record_id: str) -> None:
        """A record that the request is about, or that it made."""
        asked = self._asked()
        if asked and not asked.kept:
            asked.ids[record_id] = None

    @contextmanager
    def write(self, store: Store, project: str, *, alone: bool) -> Iterator[Writer]:
        """A transaction of the store for the request that is under way; the first one keeps its key too."""
        asked = self._asked()
        with store.write(project, alone=alone) as writer:
            if asked is None or asked.kept:
                yield writer
                return
            asked.ids.clear()
            before = writer.request(project, asked.key)
            if before is not None:
                raise RepeatedError(before.said, before.ids)
            yield writer
            at_us = to_us(self._clock())
            since_us = at_us - limits.REQUESTS_REMEMBERED_DAYS * limits.DAY_US
            writer.keep_request(project, asked.key, Request(asked.said, list(asked.ids)), at_us, since_us)
        asked.kept = True

    def _asked(self) -> _Asked | None:
        return getattr(self._of_thread, "asked", None)
