"""Connections to one SQLite file, shared by the threads of one process and given up before a fork.

A SQLite connection must not cross a fork: the child would believe to hold locks that only its parent holds. So all idle
connections are closed right before a fork, and parent and child open their own when they next need one.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import apsw

from hardwon import limits
from hardwon.errors import BusyError, ClosedError, StorageError


class Pool:
    """Lends each connection to one thread at a time."""

    def __init__(self, name: str, connect: Callable[[], apsw.Connection]) -> None:
        self._name = name
        self._connect = connect
        self._change = threading.Condition()
        self._idle: list[apsw.Connection] = []
        # With the thread that has it. Weak: an interrupt can come between any two steps, and a connection that was lost on its
        # way back must be closed, and its locks with it, when nobody holds it any more.
        self._lent: dict[int, tuple[weakref.ref[apsw.Connection], int]] = {}
        self._inherited: list[apsw.Connection] = []
        self._closed = False
        self.write_turn = threading.RLock()
        _POOLS.add(self)

    @contextmanager
    def connection(self) -> Iterator[apsw.Connection]:
        connection = self.borrow()
        try:
            yield connection
        finally:
            self.give_back(connection)

    def borrow(self) -> apsw.Connection:
        deadline = time.monotonic() + limits.BUSY_TIMEOUT_MS / 1000
        with self._change:
            while True:
                if self._closed:
                    raise ClosedError(f"the memory at {self._name} was closed; open it again")
                if self._inherited:
                    raise StorageError(
                        "this process was forked in the middle of an operation on the memory, so it cannot be used here "
                        "safely. Fork between operations, or start processes with 'spawn'"
                    )
                if self._idle or len(self._in_use()) < limits.CONNECTIONS_MAX:
                    break
                if not self._change.wait(deadline - time.monotonic()):
                    raise BusyError(f"all {limits.CONNECTIONS_MAX} connections to {self._name} are in use; try again")
            connection = self._idle.pop() if self._idle else self._connect()
            self._lent[id(connection)] = weakref.ref(connection), threading.get_ident()
            return connection

    def _in_use(self) -> list[tuple[apsw.Connection, int]]:
        """The connections that somebody has, with their threads; those that were lost are struck off."""
        alive = {key: (found, thread) for key, (ref, thread) in self._lent.items() if (found := ref()) is not None}
        self._lent = {key: self._lent[key] for key in alive}
        return list(alive.values())

    def give_back(self, connection: apsw.Connection) -> None:
        # An interrupt may come between the statement that begins a transaction and the one that would end it: a connection
        # that went back with its lock would block every process.
        sound = not connection.in_transaction or _rolled_back(connection)
        with self._change:
            self._lent.pop(id(connection), None)
            if self._closed or not sound:
                connection.close()
            elif len(self._idle) < limits.CONNECTIONS_WARM_MAX:
                self._idle.append(connection)
            else:  # at the other end, where it is taken last
                connection.release_memory()
                self._idle.insert(0, connection)
            self._change.notify()

    def close(self) -> None:
        with self._change:
            self._closed = True
            self._close_idle()
            self._change.notify_all()

    @property
    def is_empty(self) -> bool:
        """Whether no connection is open, or lent to anybody."""
        with self._change:
            return not self._idle and not self._in_use() and not self._inherited

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def before_fork(self) -> None:
        """Keeps the lock until after the fork, so that nobody opens a connection in between."""
        self._change.acquire()
        deadline = time.monotonic() + limits.FORK_WAIT_S
        me = threading.get_ident()
        while any(thread != me for _, thread in self._in_use()):
            if not self._change.wait(deadline - time.monotonic()):
                break
        self._close_idle()

    def after_fork_in_parent(self) -> None:
        self._change.release()

    def after_fork_in_child(self) -> None:
        # What was still in use is kept, never used and never closed: closing would disturb the parent's locks.
        self._inherited.extend(connection for connection, _ in self._in_use())
        self._lent.clear()
        self.write_turn = threading.RLock()
        self._change = threading.Condition()


def _rolled_back(connection: apsw.Connection) -> bool:
    try:
        connection.execute("ROLLBACK")
    except apsw.Error:
        return False
    return True


_POOLS: Final[weakref.WeakSet[Pool]] = weakref.WeakSet()
_frozen: list[Pool] = []


def _before_fork() -> None:
    _frozen.extend(_POOLS)
    for pool in _frozen:
        pool.before_fork()


def _after_fork_in_parent() -> None:
    for pool in _frozen:
        pool.after_fork_in_parent()
    _frozen.clear()


def _after_fork_in_child() -> None:
    for pool in _frozen:
        pool.after_fork_in_child()
    _frozen.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
