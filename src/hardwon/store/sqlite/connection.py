"""Connections to a SQLite file: what their errors mean, when one can be lent again; and a memory's
file as one process has it open, told in a way that another SQLite library in the same process
notices too.

SQLite's own locks are the process's: a second SQLite library in it (Python's `sqlite3` beside ours)
takes them for its own. When its last connection is closed it believes that nobody else is there and
removes the log, in which we go on writing: what we acknowledge from then on is lost. So we hold a
lock of the sort that belongs to an open file (OFD), on the bytes that every SQLite connection
shares and that only the last one may have for itself. Then the log stays.

Closing any descriptor of a file drops the process's locks on it. So the descriptor is closed only
when no memory of this process has the file open any more.

Both end when the memory is closed. Many callers never do that, and a log that stays beside the file
is missing in a copy of the file, and spoils another database that is copied over it. So both also
end when nobody can use the memory any more, and when the process ends in the ordinary way: whoever
is the last to have the file open then folds the log in and takes it away.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import struct
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import apsw

from hardwon import limits
from hardwon.errors import BusyError, DamagedError, FullError, PlaceError, StorageError
from hardwon.store.base import Pool
from hardwon.store.sqlite.statements import SqliteSession

# --- errors ---

_DISK_REFUSED: Final = frozenset(
    {
        apsw.SQLITE_IOERR_WRITE,
        apsw.SQLITE_IOERR_FSYNC,
        apsw.SQLITE_IOERR_DIR_FSYNC,
        apsw.SQLITE_IOERR_TRUNCATE,
        apsw.SQLITE_IOERR_SHMSIZE,
        apsw.SQLITE_IOERR_SHMMAP,
    }
)

# The file has less in it than it says.
CUT_OFF: Final = frozenset({apsw.SQLITE_IOERR_SHORT_READ, apsw.SQLITE_IOERR_CORRUPTFS})


ERRORS: Final = (apsw.Error, UnicodeDecodeError)


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Every error of SQLite, as one of ours that says what to do."""
    try:
        yield
    except ERRORS as error:
        raise translated(error, path) from error


def translated(error: apsw.Error | UnicodeDecodeError, path: Path) -> StorageError:
    if isinstance(error, apsw.BusyError):
        return BusyError(
            f"{path} was locked by another writer for too long; nothing was changed, try again"
        )
    if isinstance(error, apsw.FullError) or getattr(error, "extendedresult", 0) in _DISK_REFUSED:
        return FullError(
            f"no room to write {path}: the disk, a quota or the bound on the memory's size is "
            f"reached. Nothing was changed "
            "and everything acknowledged before is kept; free some space and try again"
        )
    if isinstance(error, apsw.CorruptError | apsw.NotADBError | UnicodeDecodeError):
        return DamagedError(
            f"{path} is damaged ({error}). It was left as it is: copy it aside, then restore a "
            f"backup"
        )
    if isinstance(
        error, apsw.ReadOnlyError | apsw.CantOpenError | apsw.PermissionsError | apsw.AuthError
    ):
        return PlaceError(
            f"{path} cannot be opened for writing ({error}): check who owns the file and its folder"
        )
    return StorageError(
        f"SQLite refused an operation on {path} ({error}): check the disk, and run doctor"
    )


# --- that it is open ---

_SHARED_FIRST: Final = 0x40000000 + 2  # where SQLite keeps its locks in every database file
_SHARED_SIZE: Final = 510
# -1 where the system has no such locks
_SET: Final[int] = getattr(fcntl, "F_OFD_SETLK", -1)

File = tuple[int, int]  # device and inode

# Held while a memory is closed, so that no other is opened between the last connection and its
# descriptor.
_turn = threading.RLock()
_held: dict[File, list[int]] = {}  # a descriptor, and how many memories hold it
# descriptors that cannot be closed: some thread may have locks. The next who holds takes it
_spare: dict[File, int] = {}


def hold(path: Path) -> File | None:
    """From now on. None where the system has no such locks, or the file cannot be opened."""
    with _turn, suppress(OSError):
        file = _file_at(path)
        if file not in _held:
            spare = _spare.pop(file, -1)
            descriptor = spare if spare >= 0 else os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            _lock(descriptor, fcntl.F_RDLCK)
            _held[file] = [descriptor, 0]
        _held[file][1] += 1
        return file
    return None


@contextmanager
def alone(path: Path) -> Iterator[int | None]:
    """A descriptor of the file. In the block nobody has it open, in whatever process and by
    whatever library, and whoever wants to open it waits. None where somebody has it open, or where
    the system cannot tell.
    """
    with _turn:
        file = descriptor = None
        with suppress(OSError):
            file = _file_at(path)
            if file not in _held:
                if file not in _spare:
                    _spare[file] = os.open(path, os.O_RDWR | os.O_CLOEXEC)
                _lock(_spare[file], fcntl.F_WRLCK)
                descriptor = _spare[file]
        try:
            yield descriptor
        finally:
            if file and descriptor is not None:
                # Not unlocked before: nobody in this process has a lock yet that closing could
                # drop.
                os.close(_spare.pop(file))


def release(file: File | None) -> int | None:
    """This memory no longer has it. The descriptor that is to be closed when its connections are,
    where it was the last.
    """
    with _turn:
        if file not in _held:  # held by the process that this one was forked from, or by none
            return None
        _held[file][1] -= 1
        if _held[file][1]:
            return None
        descriptor, _ = _held.pop(file)
        _lock(descriptor, fcntl.F_UNLCK)
        return descriptor


def _file_at(path: Path) -> File:
    if _SET < 0:
        raise OSError("this system has no locks that belong to an open file")
    status = path.stat()
    return status.st_dev, status.st_ino


def _lock(descriptor: int, kind: int) -> None:
    fcntl.fcntl(
        descriptor, _SET, struct.pack("hhqqi", kind, os.SEEK_SET, _SHARED_FIRST, _SHARED_SIZE, 0)
    )


def _in_child() -> None:
    """The lock belongs to what parent and child have open together, and is the parent's to take
    back. A child that uses the memory holds it anew (`OpenFile`); one that does not keeps nobody
    from folding the log in. Closing drops no lock here: a child begins without any.
    """
    global _turn
    _turn = threading.RLock()
    for descriptor in (*(held[0] for held in _held.values()), *_spare.values()):
        with suppress(OSError):
            os.close(descriptor)
    _held.clear()
    _spare.clear()


os.register_at_fork(after_in_child=_in_child)

# --- its connections ---


class OpenFile:
    """Connections to a file, made as they are needed, until `close`, or until `owner` is gone, or
    the process ends.
    """

    def __init__(
        self,
        path: Path,
        connect: Callable[[], apsw.Connection],
        is_sound: Callable[[SqliteSession], bool],
        owner: object,
    ) -> None:
        self._path = path
        self._connect = connect
        self._presence: File | None = None
        self._held_in = -1
        self._left = False
        self.pool = Pool(
            str(path),
            self._session,
            is_sound=is_sound,
            close=lambda session: session.connection.close(),
            rest=lambda session: session.connection.release_memory(),
            connections_max=limits.CONNECTIONS_MAX,
        )
        _close_forgotten()
        _OPEN.add(self)
        _tell_workers()
        self._at_last = weakref.finalize(owner, self._forget)
        self._at_last.atexit = False  # `_leave_all` does that

    def hold(self) -> None:
        """From now on the file has a log, which nobody else in this process is to take away."""
        with _turn:
            self._presence, self._held_in = hold(self._path), os.getpid()

    def _session(self) -> SqliteSession:
        session = SqliteSession(self._connect())
        with _turn:
            # forked since: what the parent holds ends with it
            if self._held_in not in (-1, os.getpid()) and not self._left:
                self.hold()
        return session

    def _release(self) -> int | None:
        mine = self._held_in == os.getpid()
        held, self._presence = self._presence, None
        return release(held) if mine else None

    def close(self) -> None:
        self._at_last.detach()
        with storage_errors(self._path), _turn:
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
        turn = _turn
        if self._left:
            return
        if turn._is_owned() or not turn.acquire(blocking=False):  # type: ignore[attr-defined]  # the one way to ask; in CPython since RLock exists
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
        turn = _turn
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
