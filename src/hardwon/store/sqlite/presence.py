"""A memory's file as one process has it open: held so that its log stays; whether it is still the
file that was opened; and a log beside it that is another file's.

Nothing here opens a database with plain file functions and closes it while this process may have
locks on it: closing such a file drops the locks that SQLite holds on it for the whole process. So a
descriptor is closed only where nobody has a lock on the file.

SQLite's own locks are the process's: a second SQLite library in it (Python's `sqlite3` beside ours)
takes them for its own, and removes the log, in which we go on writing, when its last connection is
closed. So we hold a lock of the sort that belongs to an open file (OFD), on the bytes that every
SQLite connection shares and that only the last one may have for itself. Then the log stays.

Both end when the memory is closed, when nobody can use it any more, and when the process ends in the
ordinary way: whoever is the last to have the file open then folds the log in and takes it away.

A file can go while it is open: it is removed with its folder, another is put in its place, or it is
written over (`cp` keeps the inode). SQLite notices nothing. So nothing is answered, and nothing is
acknowledged, without a look whether

- the path leads to the same file (device and inode), and beside it to the same log and index;
- the file was not written to by anybody but SQLite. That writes to it only to fold the log in, and
  notes in the index what it is about to fold in, and what it has folded in. So where the file's
  header is another one (each of our transactions has its number there), and the index says that
  nothing was folded in, it was written over. Where something was, the log tells whether it is the
  file's (`sqlite.log`).

What cannot be decided is no reason to refuse anybody. Where something else was found, nothing of the
log is folded in, and `LostFileError` says so until the memory is opened again. Where the system has
no locks that belong to an open file, only what is at the path is looked at.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import struct
import sys
import threading
import warnings
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

import apsw

from hardwon.errors import ForeignLogWarning, LostFileError, PlaceError, StorageError, on_failure
from hardwon.outside import files
from hardwon.store.pool import Pool
from hardwon.store.sqlite.connection import (
    SqliteSession,
    is_alone_to_read,
    list_companions,
    measure_size,
    storage_errors,
)
from hardwon.store.sqlite.log import ASIDE, COPY, HEADER_BYTES, find_foreign_sign, is_backup

# Open connections per memory and process. Threads beyond this wait for one another; SQLite has one
# writer anyway.
CONNECTIONS_MAX: Final = 8

_SHARED_FIRST: Final = 0x40000000 + 2  # where SQLite keeps its locks in every database file
_SHARED_SIZE: Final = 510
_TURN_AT: Final = _SHARED_FIRST + _SHARED_SIZE  # behind them: whose turn it is to look at the log
# -1 where the system has no such locks
_SET: Final[int] = getattr(fcntl, "F_OFD_SETLK", -1)
_INDEX_BYTES: Final = 136

File = tuple[int, int]  # device and inode


class Index(NamedTuple):
    """What the index of a log says of folding in."""

    salt: bytes  # another one for each log
    frames: int  # in the log
    folded: int  # so many of them are in the file, but for pages that are in later ones as well
    attempted: int  # so many may be; as many as `folded` where nobody writes to the file just now

    @property
    def is_settled(self) -> bool:
        """Whether nobody is folding in, or was killed while doing so."""
        return self.folded == self.attempted

    @property
    def folding(self) -> tuple[bytes, int, int]:
        """What is compared to learn whether any of the log was folded into the file meanwhile: another
        value after it was, as long as somebody has the file open.
        """
        return self.salt, self.folded, self.attempted


class Presence:
    """A file that is open, beside SQLite, to hold it and to look at it."""

    def __init__(self, path: Path) -> None:
        self.file = file_at(str(path))
        # Of the file, and of its indexes. None in a process that was forked from this one.
        self.descriptors = [os.open(path, os.O_RDWR | os.O_CLOEXEC)]
        self.beside: tuple[File | None, File | None] = None, None  # its log and index
        self._seen: tuple[int, int] | None = None  # size and time, when somebody looked last
        # and what the index said, and how the file began
        self._known: tuple[tuple[bytes, int, int], bytes] | None = None
        self._lock = threading.Lock()

    def lock(
        self, kind: int, first: int = _SHARED_FIRST, size: int = _SHARED_SIZE, *, wait: bool = False
    ) -> None:
        command = getattr(fcntl, "F_OFD_SETLKW", -1) if wait else _SET
        what = struct.pack("hhqqi", kind, os.SEEK_SET, first, size, 0)
        fcntl.fcntl(self.descriptors[0], command, what)

    def watch(self, path: Path) -> None:
        """The log and the index that are at the path now, from now on."""
        log, index = list_companions(path)
        self.forget()
        self.descriptors.append(os.open(index, os.O_RDONLY | os.O_CLOEXEC))
        self.beside = file_at(str(log)), file_at(str(index))

    def close(self) -> None:
        while self.descriptors:
            os.close(self.descriptors.pop())

    def end(self) -> None:
        """Closes it, unless somebody has a lock on the file that this would drop, be it some thread
        of this process: then the next who opens the file takes it. Who holds the file otherwise
        needs no such lock.
        """
        if not self.descriptors:
            return
        try:
            self.lock(fcntl.F_UNLCK)
            if not _is_held(self.file):
                self.lock(fcntl.F_WRLCK)
        except OSError:
            _UNCLOSED.append(self)
        else:
            self.close()

    def forget(self) -> None:
        """What was seen: when no connection is left, the index may be begun anew."""
        self._seen = self._known = None

    def read_index(self) -> Index:
        """The index of the log as it is now."""
        before, data = None, b""
        while data != before:  # somebody may be writing to it
            before, data = data, os.pread(self.descriptors[-1], _INDEX_BYTES, 0)
        data = data.ljust(_INDEX_BYTES, b"\0")
        numbers = (int.from_bytes(data[at : at + 4], sys.byteorder) for at in (16, 96, 128))
        return Index(data[32:40], *numbers)

    def find_foreign_sign(self, path: Path) -> str:
        """What tells for certain that the log is another file's; empty where nothing does."""
        index = self.read_index()
        if not index.is_settled:
            return ""
        folded = index.folded if index.folded == index.frames else 0
        sign = find_foreign_sign(path, self.descriptors[0], folded)
        return sign if self.read_index().folding == index.folding else ""

    def find_sign_before_opening(self, path: Path, *, is_new: bool) -> str:
        """As above, where this process has no connection yet."""
        try:
            self.lock(fcntl.F_WRLCK)
        except OSError:  # others have it open, and their index says how much is folded in
            with suppress(OSError):
                self.watch(path)
                return self._begin_log() or self.find_foreign_sign(path)
            return ""
        if is_new:
            return "the file that it was begun for is gone"
        return find_foreign_sign(path, self.descriptors[0])

    def _begin_log(self) -> str:
        """Puts a backup, which is in the mode of a file that has no log, into that of one that has.
        SQLite does not while others still have the file open as it was. Returns a sign of that.
        """
        header = os.pread(self.descriptors[0], HEADER_BYTES, 0)
        if not is_backup(header):
            return ""
        changes = int.from_bytes(header[24:28], "big") + 1  # or else a reader would not notice
        os.pwrite(self.descriptors[0], b"\2\2", 18)
        os.pwrite(self.descriptors[0], changes.to_bytes(4, "big"), 24)
        os.fsync(self.descriptors[0])
        return COPY

    def is_as_left(self, path: Path, seen: tuple[int, int]) -> bool:
        """Whether the file has what it had when somebody looked last, but for what was folded in.
        `seen`: its size, and when it was written to.
        """
        if seen == self._seen:
            return True
        with self._lock:
            index, known = self.read_index(), self._known
            if not index.is_settled:  # looked at again the next time
                return True
            header = os.pread(self.descriptors[0], HEADER_BYTES, 0)
            is_same = True
            if known and known[0] == index.folding:
                is_same = known[1] == header
            elif known:
                is_same = not self.find_foreign_sign(path)
            if self.read_index().folding != index.folding:
                return True
            if is_same:
                self._seen, self._known = seen, (index.folding, header)
            return is_same


_UNCLOSED: Final[deque[Presence]] = deque()


def take(path: Path) -> Presence:
    """One that could not be closed, or a new one. OSError where the system has no such locks, or
    the file cannot be opened.
    """
    if _SET < 0:
        raise OSError("this system has no locks that belong to an open file")
    file = file_at(str(path))
    for _ in range(len(_UNCLOSED)):
        with suppress(IndexError):  # another thread was first
            unclosed = _UNCLOSED.popleft()
            if unclosed.file == file:
                return unclosed
            unclosed.end()
    return Presence(path)


# --- a log that is another file's ---


def refuse_foreign_log(path: Path, *, is_new: bool = False) -> None:
    """Moves a log that lies beside the file and is another's aside, and warns. `is_new`: the file
    was made just now, so that any log was there before it.

    Others may have the file open as it was: they notice that their log is no longer there, and fold
    nothing in. Those of this process look before it comes here.
    """
    log, index = list_companions(path)
    if not files.exists(log) or _is_held(file_at(str(path))):
        return
    try:
        presence = take(path)
    except OSError:
        return
    presence.lock(fcntl.F_WRLCK, _TURN_AT, 1, wait=True)
    try:
        sign = presence.find_sign_before_opening(path, is_new=is_new)
        if not sign or file_at(str(path)) != presence.file:
            return
        aside = log.with_name(f"{log.name}{ASIDE}{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}")
        is_empty = not measure_size(log)
        with files.disk_errors(aside):
            log.rename(aside)
            files.remove(index, *([aside] if is_empty else []))
            files.sync(path.parent)
    finally:
        presence.lock(fcntl.F_UNLCK, _TURN_AT, 1)
        presence.end()
    if not is_empty:
        warnings.warn(
            f"beside {path} lay a log that is not this file's ({sign}). The log was not replayed, "
            f"the memory is what is in the file; the log is kept as {aside.name}",
            ForeignLogWarning,
            stacklevel=4,
        )


# --- its connections ---


def _look_at(name: str) -> tuple[int, int, int, int] | None:
    """Device, inode, size, and when it was written to; None where the name leads to no file."""
    try:
        status = os.stat(name)  # noqa: PTH116  # every call looks, and a Path takes longer
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def file_at(name: str) -> File | None:
    """None where the name leads to no file."""
    seen = _look_at(name)
    return seen and seen[:2]


_NOT_DONE: Final = "Nothing was recorded or answered"
_GONE: Final = (
    "{} is gone: somebody removed it, or moved it away, while this memory was open. "
    f"{_NOT_DONE}. Put it or a backup back in its place, then close this memory and open it again; "
    "where there is no file, an empty memory is made"
)
_REPLACED: Final = (
    "{} is another file than the one that was opened: somebody put it in its place while this "
    f"memory was open. {_NOT_DONE}, and what is there now was left as it is. Close this memory and "
    "open it again to go on with it"
)
_WRITTEN_OVER: Final = (
    "{} was written over, as cp does it, while this memory was open. "
    f"{_NOT_DONE}, and what is there now was left as it is. Close this memory and open it again to "
    "go on with it; hardwon restore puts a backup in place while others have it open"
)
_WRITTEN_TO: Final = (
    "{} was written to while this memory, which may only read it, was open. "
    f"{_NOT_DONE}. Close this memory and open it again to go on with what is there now"
)
_LOG_LOST: Final = (
    "the log beside {} is no longer the one that was opened: somebody removed it, or wrote the file "
    f"over, while this memory was open. {_NOT_DONE}; what was recorded last may be gone with the log. "
    "Close this memory and open it again to go on with what is there now"
)


class OpenFile:
    """Connections to a file, made as they are needed, until `close`, or until `owner` is gone, or
    the process ends; none any more once it is not the file that was opened.
    """

    def __init__(
        self,
        path: Path,
        connect: Callable[[], apsw.Connection],
        is_sound: Callable[[SqliteSession], bool],
        owner: object,
    ) -> None:
        self.path, self._name = path, str(path)
        self._log_name, self._index_name = map(str, list_companions(path))
        self._connect = connect
        self._is_sound = is_sound
        self._file: File | None = None
        self._presence: Presence | None = None
        self._is_closed = self._may_fold = False
        # Where nothing keeps others from writing while we read: its size and time. What was read
        # counts only as long as they are the same.
        self._unguarded = (_look_at(self._name) or ())[2:] if is_alone_to_read(path) else None
        self._lost = ""  # what happened to the file
        self.pool = Pool(
            str(path),
            self._session,
            is_sound=lambda session: self._is_sound(session) and not self._lost,
            close=self._close,
            rest=lambda session: session.connection.release_memory(),
            connections_max=CONNECTIONS_MAX,
        )
        _OPEN.add(self)
        _tell_workers()
        self._at_last = weakref.finalize(owner, self._forget)
        self._at_last.atexit = False  # `_leave_all` does that

    def hold(self, session: SqliteSession) -> None:
        """From now on the file has a log, which nobody else in this process is to take away."""
        session.select("SELECT count(*) FROM sqlite_schema")  # now the log and its index are open
        presence = None
        try:
            presence = take(self.path)
            presence.lock(fcntl.F_RDLCK)
            presence.watch(self.path)
        except OSError:  # then only what is at the path is looked at
            if presence:
                presence.end()
            presence = None
        self._presence = presence
        self._settle(session)
        self.look()

    def _settle(self, session: SqliteSession) -> None:
        """Folds in what somebody who was killed may have begun to: until that is done nobody could
        tell whether the file is written over.
        """
        presence = self._presence
        if presence and presence.descriptors and not presence.read_index().is_settled:
            with suppress(apsw.Error):
                session.run("PRAGMA wal_checkpoint(PASSIVE)")

    def _session(self) -> SqliteSession:
        before = file_at(self._name)
        if self._file not in (None, before):
            self._lose(_REPLACED if before else _GONE)
        session = SqliteSession(self._connect())
        if file_at(self._name) != before:
            try:
                self._lose(_REPLACED)
            finally:
                self._close(session)
        self._file = before
        if self._presence and not self._presence.descriptors:  # this process was forked
            self.hold(session)
        self._settle(session)
        return session

    # --- whether it is still there ---

    def borrow(self) -> SqliteSession:
        """A connection to the file as it is now, which goes back to the pool. LostFileError where
        it is no longer the file that was opened.
        """
        if self._lost:
            raise LostFileError(self._lost)
        session = self.pool.borrow()
        with on_failure(partial(self.pool.give_back, session)):
            self.look()
        return session

    def look(self) -> None:
        """LostFileError where it is no longer the file that was opened."""
        if self._lost:
            raise LostFileError(self._lost)
        if self._file is None:  # nobody has a connection to it yet
            return
        seen = _look_at(self._name)
        if seen is None:
            self._lose(_GONE)
        if seen[:2] != self._file:
            self._lose(_REPLACED)
        if self._unguarded is not None and seen[2:] != self._unguarded:
            self._lose(_WRITTEN_TO)
        presence = self._presence
        if presence is None or not presence.descriptors:
            return
        try:
            is_as_left = presence.is_as_left(self.path, seen[2:])
        except OSError as error:
            raise PlaceError(f"cannot read {self.path}: {error.strerror}") from error
        if not is_as_left:
            self._lose(_WRITTEN_OVER)
        log = file_at(self._log_name)
        if (log, file_at(self._index_name)) != presence.beside:
            # Connections still have the log that is gone. Where nobody else has begun one, they
            # fold it in.
            self._may_fold = log is None
            self._lose(_LOG_LOST)

    def _lose(self, what: str) -> NoReturn:
        self._lost = self._lost or what.format(self.path)
        raise LostFileError(self._lost)

    def let_go(self) -> LostFileError:
        """Closes what is no longer the file that was opened. Returns what is to be said."""
        with suppress(StorageError):
            self.close()
        return LostFileError(self._lost)

    # --- closing ---

    def _close(self, session: SqliteSession) -> None:
        """The last one folds the log in, unless that would be into another file, or of another."""
        with suppress(LostFileError, PlaceError):
            self.look()
        with suppress(apsw.Error):  # it may be closed already
            if self._lost:
                session.connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            if self._lost and self._may_fold:
                self._is_sound(session)  # ends its transaction
                session.run("PRAGMA wal_checkpoint(PASSIVE)")
        session.connection.close()
        self._end_after_use()

    def _end_after_use(self) -> None:
        """When no connection is left, whoever comes next may begin the index anew."""
        if self._presence and self.pool.is_empty:
            self._presence.forget()
            if self._is_closed:
                presence, self._presence = self._presence, None
                presence.end()

    def _let_fold(self) -> None:
        """From now on, the last who closes the file may fold the log in."""
        if self._presence and self._presence.descriptors:
            self._presence.lock(fcntl.F_UNLCK)

    def close(self) -> None:
        self._at_last.detach()
        self._is_closed = True
        with storage_errors(self.path):
            self._let_fold()
            try:
                self.pool.close()
            finally:
                self._end_after_use()

    def _forget(self) -> None:
        """Nobody has the memory any more."""
        with suppress(Exception):  # there is nobody to tell; what is in the log stays there
            self.close()

    def leave(self) -> None:
        """The process ends. Whoever still comes, a handler of somebody else's say, is served: its
        connection is closed when it comes back. The descriptor is the system's to close: some
        thread may have a connection, and its locks, still.
        """
        self._let_fold()
        self.pool.leave()
        self._presence = None  # whoever still comes makes a log anew


_OPEN: Final[weakref.WeakSet[OpenFile]] = weakref.WeakSet()
_workers_told = -1


def _is_held(file: File | None) -> bool:
    """Whether this process holds this file open, so that its log stays. Not where none is."""
    return any(one._presence and one._presence.file == file for one in list(_OPEN))


def look_at_open(path: Path) -> None:
    """Before this process opens a file once more: those who have it open look whether it is still
    the one that they opened, and let go of it if not. LostFileError where some thread is in the
    middle of a call: connections of one process to one file share what they know of the log.
    """
    for file in [file for file in _OPEN if file.path == path]:
        try:
            file.look()
        except LostFileError:
            lost = file.let_go()
            if not file.pool.is_empty:
                raise lost from None


def _in_child() -> None:
    """The locks belong to what parent and child have open together, and are the parent's to take
    back. A child that uses a memory holds it anew; one that does not keeps nobody from folding the
    log in. Closing drops no lock here: a child begins without any.
    """
    for presence in (*(file._presence for file in _OPEN), *_UNCLOSED):
        if presence:
            presence.close()
    _UNCLOSED.clear()


os.register_at_fork(after_in_child=_in_child)


def _leave_all() -> None:
    """Of the files that this process has open. In a forked child these are its own: it has no
    connections of its parent's.
    """
    for file in list(_OPEN):
        # the edge of the process: the log keeps what could not be folded in
        with suppress(Exception):
            file.leave()


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
