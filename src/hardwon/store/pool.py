"""Connections that the threads of one process share, each lent to one thread at a time.

They are given up before a fork, which a connection must not cross: the child of a process with a
SQLite file would believe to hold locks that only its parent holds, and two processes that talk to a
server through one socket would read each other's answers. So all idle connections are closed right
before a fork, and parent and child open their own when they next need one.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Generic, TypeVar

from hardwon import limits
from hardwon.errors import BusyError, ClosedError, StorageError

# Connections that keep their pages while nobody uses them. What many threads at once read would
# otherwise stay in memory for each of them, in every project that a server has open.
_CONNECTIONS_WARM_MAX: Final = 2
# How long a process that ends waits for its daemon threads to finish their statements, so that no
# log stays beside a memory. A write takes milliseconds; nobody notices a quarter of a second.
_EXIT_WAIT_S: Final = 0.25
# How long a fork waits for other threads of the process to finish their statements.
FORK_WAIT_S: Final = 10.0

C = TypeVar("C")


class _Place:
    """Held in the pool by whoever is making a connection."""


class Pool(Generic[C]):
    """Lends each connection to one thread at a time.

    `is_sound` ends the transaction that a connection may come back with, and tells whether it can
    be lent again; `rest` lets a connection that will hardly be needed soon give its memory back.
    """

    def __init__(
        self,
        name: str,
        connect: Callable[[], C],
        *,
        is_sound: Callable[[C], bool],
        close: Callable[[C], object],
        rest: Callable[[C], object] | None = None,
        connections_max: int,
    ) -> None:
        self._name = name
        self._connect = connect
        self._is_sound = is_sound
        self._close_one = close
        self._rest = rest
        self._connections_max = connections_max
        self._change = threading.Condition()
        self._idle: list[C] = []
        # With the thread that has it. Weak: an interrupt can come between any two steps, and a
        # connection that was lost on its way back must be closed, and its locks with it, when
        # nobody holds it any more.
        self._lent: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._inherited: list[C | _Place] = []
        self._closed = self._left = False
        self.write_turn = threading.RLock()
        _POOLS.add(self)

    def borrow(self) -> C:
        me = threading.get_ident()
        deadline = time.monotonic() + limits.BUSY_TIMEOUT_MS / 1000
        with self._change:
            while not (self._closed or self._idle or len(self._in_use()) < self._connections_max):
                if not self._change.wait(deadline - time.monotonic()):
                    raise BusyError(
                        f"all {self._connections_max} connections to {self._name} are in use; try again"
                    )
            if self._closed or self._inherited:
                raise self._refusal()
            if self._idle:
                connection = self._idle.pop()
                self._lent[id(connection)] = weakref.ref(connection), me
                return connection
            place = _Place()
            self._lent[id(place)] = weakref.ref(place), me
        # A server may take its time to answer, and nobody else is to wait for that.
        try:
            connection = self._connect()
            with self._change:
                self._lent[id(connection)] = weakref.ref(connection), me
                if not self._closed and not self._inherited:
                    return connection
            self.give_back(connection)
            raise self._refusal()
        finally:
            with self._change:
                self._lent.pop(id(place), None)
                self._change.notify()

    def _refusal(self) -> StorageError:
        if self._closed:
            return ClosedError(f"the memory at {self._name} was closed; open it again")
        return forked_midway()

    def _in_use(self) -> list[tuple[C | _Place, int]]:
        """The connections that somebody has or makes, with their threads; those that were lost are
        struck off.
        """
        alive = [(ref(), ref, thread) for ref, thread in self._lent.values()]
        self._lent = {id(lent): (ref, thread) for lent, ref, thread in alive if lent is not None}
        return [(lent, thread) for lent, _, thread in alive if lent is not None]

    def give_back(self, connection: C) -> None:
        # An interrupt may come between the statement that begins a transaction and the one that
        # would end it: a connection that went back with its lock would block every process.
        sound = self._is_sound(connection)
        with self._change:
            self._lent.pop(id(connection), None)
            if self._closed or self._left or not sound:
                self._close_one(connection)
            elif len(self._idle) < _CONNECTIONS_WARM_MAX:
                self._idle.append(connection)
            else:  # at the other end, where it is taken last
                if self._rest:
                    self._rest(connection)
                self._idle.insert(0, connection)
            self._change.notify()

    def close_idle(self) -> None:
        """Gives up what nobody uses: where one connection turned out dead, the others may be as
        well.
        """
        with self._change:
            while self._idle:
                self._close_one(self._idle.pop())

    def close(self) -> None:
        with self._change:
            self._closed = True
            self.close_idle()
            self._change.notify_all()

    def leave(self) -> None:
        """The process ends, and this is its last thread that counts. Others (daemons) finish what
        they do; whoever comes later is still served, as long as the process lives.
        """
        with self._change:
            self._left = True
            self._close_after_others(time.monotonic() + _EXIT_WAIT_S)

    def _close_after_others(self, deadline: float) -> None:
        me = threading.get_ident()
        while any(thread != me for _, thread in self._in_use()):
            if not self._change.wait(deadline - time.monotonic()):
                break
        self.close_idle()

    @property
    def is_empty(self) -> bool:
        """Whether no connection is open, or lent to anybody."""
        with self._change:
            return not self._idle and not self._in_use() and not self._inherited

    def before_fork(self) -> None:
        """Keeps the lock until after the fork, so that nobody opens a connection in between."""
        self._change.acquire()
        self._close_after_others(time.monotonic() + FORK_WAIT_S)

    def after_fork_in_parent(self) -> None:
        self._change.release()

    def after_fork_in_child(self) -> None:
        # What was still in use is kept, never used and never closed: closing would disturb the
        # parent's locks.
        self._inherited.extend(connection for connection, _ in self._in_use())
        self._lent.clear()
        self.write_turn = threading.RLock()
        self._change = threading.Condition()


def forked_midway() -> StorageError:
    """What a process is told that has its parent's connections, in the middle of what the parent
    does with them.
    """
    return StorageError(
        "this process was forked in the middle of an operation on the memory, so it cannot be used "
        "here safely. Fork between operations, or start processes with 'spawn'"
    )


_POOLS: Final[weakref.WeakSet[Pool[Any]]] = weakref.WeakSet()
_frozen: list[Pool[Any]] = []


def _before_fork() -> None:
    _frozen.extend(_POOLS)
    for pool in _frozen:
        pool.before_fork()


def _after_fork(what: Callable[[Pool[Any]], None]) -> None:
    while _frozen:
        what(_frozen.pop())


os.register_at_fork(
    before=_before_fork,
    after_in_parent=partial(_after_fork, Pool.after_fork_in_parent),
    after_in_child=partial(_after_fork, Pool.after_fork_in_child),
)
