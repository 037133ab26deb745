"""A memory's file as one process has it open: its connections, and that others of the process see
it is there (`presence`).

Both end when the memory is closed. Many callers never do that, and a log that stays beside the file
is missing in a copy of the file, and spoils another database that is copied over it. So both also
end when nobody can use the memory any more, and when the process ends in the ordinary way: whoever
is the last to have the file open then folds the log in and takes it away.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import apsw

from hardwon import limits
from hardwon.store.pool import Pool
from hardwon.store.sqlite import file as presence
from hardwon.store.sqlite.session import is_sound, storage_errors


class OpenFile:
    """Connections to a file, made as they are needed, until `close`, or until `owner` is gone, or
    the process ends.
    """

    def __init__(self, path: Path, connect: Callable[[], apsw.Connection], owner: object) -> None:
        self._path = path
        self._connect = connect
        self._presence: presence.File | None = None
        self._held_in = -1
        self._left = False
        self.pool = Pool(
            str(path),
            self._connection,
            is_sound=is_sound,
            close=apsw.Connection.close,
            rest=apsw.Connection.release_memory,
            connections_max=limits.CONNECTIONS_MAX,
        )
        _close_forgotten()
        _OPEN.add(self)
        _tell_workers()
        self._at_last = weakref.finalize(owner, self._forget)
        self._at_last.atexit = False  # `_leave_all` does that

    def hold(self) -> None:
        """From now on the file has a log, which nobody else in this process is to take away."""
        with presence.changing():
            self._presence, self._held_in = presence.hold(self._path), os.getpid()

    def _connection(self) -> apsw.Connection:
        connection = self._connect()
        with presence.changing():
            # forked since: what the parent holds ends with it
            if self._held_in not in (-1, os.getpid()) and not self._left:
                self.hold()
        return connection

    def _release(self) -> int | None:
        mine = self._held_in == os.getpid()
        held, self._presence = self._presence, None
        return presence.release(held) if mine else None

    def close(self) -> None:
        self._at_last.detach()
        with storage_errors(self._path), presence.changing():
            descriptor = self._release()
            try:
                self.pool.close()
            finally:
                # else some thread has a connection, and its locks, still
                if descriptor is not None and self.pool.is_empty:
                    os.close(descriptor)

    def _forget(self) -> None:
        """Nobody has the memory any more. The garbage collector finds that in the middle of
        anything: so this waits for nobody, and what cannot be done now is done when the next memory
        is opened.
        """
        turn = presence.changing()
        if self._left:
            return
        if turn._is_owned() or not turn.acquire(blocking=False):  # type: ignore[attr-defined]  # as in `_WriteTransaction`
            _FORGOTTEN.append(self)
            return
        try:
            with suppress(Exception):  # there is nobody to tell; what is in the log stays there
                self.close()
        finally:
            turn.release()

    def leave(self, deadline: float) -> None:
        """The process ends. Whoever still comes, a handler of somebody else's say, is served: its
        connection is closed when it comes back. The descriptor is the system's to close: some
        thread may have a connection, and its locks, still.
        """
        self._left = True
        turn = presence.changing()
        if turn.acquire(timeout=max(0.0, deadline - time.monotonic())):
            try:
                self._release()
                self.pool.leave(deadline)
            finally:
                turn.release()


_OPEN: Final[weakref.WeakSet[OpenFile]] = weakref.WeakSet()
_FORGOTTEN: Final[deque[OpenFile]] = deque()
_workers_told = -1


def _close_forgotten() -> None:
    while _FORGOTTEN:
        with suppress(Exception, IndexError):  # another thread took the last
            _FORGOTTEN.popleft().close()


def _leave_all() -> None:
    """Of the files that this process has open. In a forked child these are its own: it has no
    connections of its parent's.
    """
    deadline = time.monotonic() + limits.EXIT_WAIT_S
    _close_forgotten()
    for file in list(_OPEN):
        # the edge of the process: the log keeps what could not be folded in
        with suppress(Exception):
            file.leave(deadline)


def _tell_workers() -> None:
    """A forked process of `multiprocessing` ends without `atexit`; it has a list of its own."""
    global _workers_told
    process, util = (sys.modules.get(f"multiprocessing.{name}") for name in ("process", "util"))
    if process and util and process.parent_process() is not None and _workers_told != os.getpid():
        _workers_told = os.getpid()
        util.Finalize(None, _leave_all, exitpriority=0)


# Those who were here first are asked last: what a program registers after it imported us may still
# use its memory.
atexit.register(_leave_all)
