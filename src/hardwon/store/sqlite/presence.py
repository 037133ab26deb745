"""A memory's file as one process has it open: told in a way that another SQLite library in the same
process notices too, until it is closed; whether it is still the file that was opened; and a log
beside it that is another file's.

Nothing here opens a database with plain file functions while this process may have locks on it:
closing such a file would drop the locks that SQLite holds on it for the whole process.

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

A file can go while it is open: it is removed with its folder, another is put in its place, or it is
written over (`cp` keeps the inode). SQLite notices nothing: what it is given goes into a file that
no path leads to, or into the log of what was there before, and later from there into what was put
there. So nothing is answered, and nothing is acknowledged, without a look whether

- the path leads to the same file (device and inode), and beside it to the same log and index of it;
- the file is in the mode of one that has a log (a backup is not);
- its number (`sqlite.log`) is what it was, or that of a later transaction in the log. The first
  transaction that goes into an empty log is folded in at once: so no copy that was made before has
  the number that the file has.

Where anything else is found, nothing of the log is folded in, and `LostFileError` says so until the
memory is opened again. Where the system has no locks that belong to an open file, only the first is
looked at.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import struct
import sys
import threading
import time
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NoReturn

import apsw

from hardwon import limits
from hardwon.errors import ForeignLogWarning, LostFileError, PlaceError, StorageError
from hardwon.outside import files
from hardwon.store.base import Pool
from hardwon.store.sqlite.connection import (
    SqliteSession,
    companions_of,
    last_number,
    refuse_damage,
    size_of,
    storage_errors,
)
from hardwon.store.sqlite.log import (
    ASIDE,
    HEADER_BYTES,
    Log,
    find_foreign_sign,
    has_number,
    is_backup,
    read_number,
)

# How long a file that does not seem to be what it was is looked at again, before it is taken for
# another: somebody may be folding the log into it just now, page by page.
_FOLDING_WAIT_MS: Final = 250
# The slowest clock of a file system, FAT's, ticks every two seconds. A folder that was changed less
# than this ago may be changed once more without its time telling.
_FILE_CLOCK_NS: Final = 2_000_000_000
# How long a process that ends waits for its daemon threads to finish their statements, so that no
# log stays beside a memory. A write takes milliseconds; nobody notices a quarter of a second.
_EXIT_WAIT_S: Final = 0.25

_SHARED_FIRST: Final = 0x40000000 + 2  # where SQLite keeps its locks in every database file
_SHARED_SIZE: Final = 510
_TURN_AT: Final = _SHARED_FIRST + _SHARED_SIZE  # behind them: whose turn it is to look at the log
# -1 where the system has no such locks
_SET: Final[int] = getattr(fcntl, "F_OFD_SETLK", -1)

File = tuple[int, int]  # device and inode

# Held while a memory is closed, so that no other is opened between the last connection and its
# descriptor.
_turn = threading.RLock()
_held: dict[File, Presence] = {}
# descriptors that cannot be closed: some thread may have locks. The next who holds takes it
_spare: dict[File, int] = {}


class Presence:
    """A file that this process has open, for all memories of it that have."""

    def __init__(self, file: File, descriptor: int) -> None:
        self.file = file
        # -1 when everybody has closed it, and in a process that was forked from this one
        self.descriptor = descriptor
        self.holders = 0
        # Another one when what connections remember of the file may no longer be in it.
        self.generation = 0
        # What the file had when somebody looked last; 0: nobody did.
        self.number = 0
        self._lock = threading.Lock()

    def observe(self, before: Presence | None) -> None:
        """Notes what the file has now, unless that is known, be it by whom the process that this
        one was forked from had `before`.
        """
        with self._lock:
            self.number = self.number or (before.number if before else 0) or self._read() or 0

    def close(self) -> None:
        """Of the descriptor, when no connection is left whose locks that could drop."""
        descriptor, self.descriptor = self.descriptor, -1
        os.close(descriptor)

    def _read(self) -> int | None:
        return read_number(self.descriptor)

    @property
    def is_unchanged(self) -> bool:
        """Whether the file has just what it had when somebody looked last."""
        return self._read() == self.number

    @property
    def is_in_use(self) -> bool:
        """Whether the file is a memory in the mode of one that has a log."""
        return self._read() is not None

    def is_as_left(self, log: Path, expected: int | None, *, is_touched: bool) -> bool:
        """Whether the file has what it had, but for what was folded in. `expected`: in a
        transaction, the number of the last that was kept; else None. `is_touched`: somebody wrote
        to the file since the last time, if only to fold in.
        """
        if not self.number or (not is_touched and has_number(self.descriptor, self.number)):
            return True
        with self._lock:
            return self._has_later_state(log, expected)

    def _has_later_state(self, log: Path, expected: int | None) -> bool:
        """Somebody may be folding in just now: what does not fit is looked at again for a while."""
        deadline = time.monotonic() + _FOLDING_WAIT_MS / 1000
        is_last = False
        while True:
            number = self._read()
            if number is None:
                return False
            if expected == number:
                break
            seen = Log.read(log, checked=False)
            if seen and seen.numbers:
                if seen.fits(number, self.number):
                    break
                if seen.is_whole:  # then it does not matter what the file has
                    return True
            elif number == self.number:
                break
            elif expected is None:
                # With nothing in the log there is nothing to mix the file with. But what
                # connections remember may be of another one, and within a transaction they cannot
                # forget it.
                self.generation += 1
                break
            if is_last:
                return False
            # once more: this thread itself may have been stopped between two looks
            is_last = time.monotonic() > deadline
            time.sleep(0.005)
        self.number = number
        return True


def hold(path: Path) -> Presence | None:
    """From now on. None where the system has no such locks, or the file cannot be opened."""
    with _turn, suppress(OSError):
        file = _lockable(path)
        if file not in _held:
            spare = _spare.pop(file, -1)
            descriptor = spare if spare >= 0 else os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            _lock(descriptor, fcntl.F_RDLCK)
            _held[file] = Presence(file, descriptor)
        _held[file].holders += 1
        return _held[file]
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
            file = _lockable(path)
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


def release(presence: Presence | None) -> Presence | None:
    """This memory no longer has it. The presence whose descriptor is to be closed when its
    connections are, where it was the last.
    """
    with _turn:
        # held by the process that this one was forked from, or by none
        if presence is None or _held.get(presence.file) is not presence:
            return None
        presence.holders -= 1
        if presence.holders:
            return None
        _lock(_held.pop(presence.file).descriptor, fcntl.F_UNLCK)
        return presence


def _lockable(path: Path) -> File:
    if _SET < 0:
        raise OSError("this system has no locks that belong to an open file")
    status = path.stat()
    return status.st_dev, status.st_ino


def _lock(
    descriptor: int,
    kind: int,
    first: int = _SHARED_FIRST,
    size: int = _SHARED_SIZE,
    *,
    wait: bool = False,
) -> None:
    what = struct.pack("hhqqi", kind, os.SEEK_SET, first, size, 0)
    fcntl.fcntl(descriptor, getattr(fcntl, "F_OFD_SETLKW", -1) if wait else _SET, what)


def _in_child() -> None:
    """The lock belongs to what parent and child have open together, and is the parent's to take
    back. A child that uses the memory holds it anew (`OpenFile`); one that does not keeps nobody
    from folding the log in. Closing drops no lock here: a child begins without any.
    """
    global _turn
    _turn = threading.RLock()
    for presence in _held.values():
        with suppress(OSError):
            presence.close()
    for descriptor in _spare.values():
        with suppress(OSError):
            os.close(descriptor)
    _held.clear()
    _spare.clear()


os.register_at_fork(after_in_child=_in_child)

# --- a log that is another file's ---


def refuse_foreign_log(path: Path, *, is_new: bool = False) -> None:
    """Moves a log that lies beside the file and is another's aside, and warns. `is_new`: the file
    was made just now, so that any log was there before it.

    Others may have the file open as it was: they keep what they opened, notice that it is no longer
    there, and fold nothing in. This process itself looks before it comes here.
    """
    with _one_at_a_time(path) as (descriptor, is_alone):
        # While somebody has a new file open, its log was looked at by them.
        if descriptor is None or (is_new and not is_alone):
            return
        log, _ = companions_of(path)
        with ExitStack() as staged:
            if is_new:
                sign = "the file that it was begun for is gone"
            elif is_backup(os.pread(descriptor, HEADER_BYTES, 0)):
                sign = "the file is a copy that has no log"
                if not is_alone:
                    staged.enter_context(_copying(path, descriptor))
            else:
                sign = _find_sign(path, descriptor, log, is_alone=is_alone) or ""
                if not sign:
                    return
            name = _set_aside(path)
    if name:
        warnings.warn(
            f"beside {path} lay a log that is not this file's ({sign}). The log was not replayed, "
            f"the memory is what is in the file; the log is kept as {name}",
            ForeignLogWarning,
            stacklevel=5,
        )


def set_older_log_aside(path: Path, since: int) -> str:
    """The name that the log has now, where it is certain that it was not begun on what the file is
    now; else empty. `since`: the number that the file had when it was still what the log belongs
    to.
    """
    with _one_at_a_time(path) as (descriptor, is_alone):
        log, _ = companions_of(path)
        if descriptor is None or not _find_sign(path, descriptor, log, since, is_alone=is_alone):
            return ""
        if not is_alone and is_backup(os.pread(descriptor, HEADER_BYTES, 0)):
            return ""  # whoever opens it next sees that, too, and does what then needs to be done
        return _set_aside(path)


def _set_aside(path: Path) -> str:
    """The name that the log has now; empty where nothing was in it."""
    log, index = companions_of(path)
    aside = log.with_name(f"{log.name}{ASIDE}{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}")
    with files.disk_errors(aside):
        if is_empty := not size_of(log):
            files.remove(log)
        else:
            log.rename(aside)
        files.remove(index)
        files.sync(log.parent)
    return "" if is_empty else aside.name


@contextmanager
def _one_at_a_time(path: Path) -> Iterator[tuple[int | None, bool]]:
    """A descriptor of the file, of which only one has the turn at a time, and whether nobody has it
    open. None where there is nothing beside the file, or where this process has it open: then it
    looks after what is there.
    """
    if not any(map(files.exists, companions_of(path))):
        yield None, False
        return
    with alone(path) as descriptor:
        is_alone, file = descriptor is not None, file_at(str(path))
        if descriptor is None and file:
            descriptor = _spare.get(file)
        if descriptor is None:
            yield None, False
            return
        _lock(descriptor, fcntl.F_WRLCK, _TURN_AT, 1, wait=True)
        try:
            # else somebody was first, and it is another file by now
            is_same = file == file_at(str(path))
            yield (descriptor if is_same else None), is_alone
        finally:
            _lock(descriptor, fcntl.F_UNLCK, _TURN_AT, 1)


@contextmanager
def _copying(path: Path, descriptor: int) -> Iterator[None]:
    """At the end the path leads to a copy of the file. Those who still have it open as it was would
    keep everybody from beginning a log for it. DamagedError where it is not sound: it may be being
    copied to its place just now.
    """
    temporary = files.temporary_beside(path)
    with files.writing_atomically(path, temporary=temporary, like=path) as file:
        at = 0
        while part := os.pread(descriptor, limits.MIB, at):
            file.write(part)
            at += len(part)
        file.flush()
        with (
            storage_errors(path),
            closing(apsw.Connection(str(temporary), apsw.SQLITE_OPEN_READONLY)) as copy,
        ):
            refuse_damage(copy, path)
        yield


def _find_sign(
    path: Path, descriptor: int, log: Path, since: int = 0, *, is_alone: bool
) -> str | None:
    """What tells that the log is another's; None where it is the file's, or may be, or is empty.
    Where others have the file open, they may fold in and write meanwhile: what is seen counts once
    it is seen twice, and nothing has changed in between.
    """
    before = None
    while size_of(log):
        header = os.pread(descriptor, HEADER_BYTES, 0)
        evidence = header, Log.read_start(log)
        sign = find_foreign_sign(path, header, log, since)
        if sign is None or is_alone or evidence == before:
            return sign
        before = evidence
    return None


# --- its connections ---


_Seen = tuple[int, int, int, int]  # of a file: device, inode, size, and when it was written to


def _look_at(name: str) -> _Seen | None:
    """None where the name leads to no file."""
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
        self._log, index = companions_of(path)
        self._log_name, self._index_name = str(self._log), str(index)
        self._folder = str(path.parent)
        self._confirmed: tuple[int, ...] | None = None  # the times of the folder and the file
        self._connect = connect
        self._is_sound = is_sound
        self._file: File | None = None
        self._files_beside: tuple[File | None, File | None] | None = None
        self._seen: _Seen | None = None  # the last time that somebody looked closely
        self._lost = ""  # what happened to the file
        self._written_over_since: int | None = None
        self._may_fold = False
        # Whether the transaction under way is the first in its log, and whether one was before.
        self._log_is_empty = self._begins_log = self._began_log = False
        self._presence: Presence | None = None
        self._holds = False
        self._held_in = -1
        self._left = False
        self.pool = Pool(
            str(path),
            self._session,
            is_sound=self._can_be_lent,
            close=self._close,
            rest=lambda session: session.connection.release_memory(),
            connections_max=limits.CONNECTIONS_MAX,
        )
        _close_forgotten()
        _OPEN.add(self)
        _tell_workers()
        self._at_last = weakref.finalize(owner, self._forget)
        self._at_last.atexit = False  # `_leave_all` does that

    def hold(self, session: SqliteSession) -> None:
        """From now on the file has a log, which nobody else in this process is to take away."""
        before = self._presence
        with _turn:
            self._presence, self._held_in = hold(self.path), os.getpid()
            self._holds = True
        self.observe(session, before)

    def observe(self, session: SqliteSession, before: Presence | None = None) -> None:
        """Notes what the file is now, as far as that is not known."""
        if self._presence:
            last_number(session.connection)  # from the first question on it has a log
            self._presence.observe(before)
            self._files_beside = file_at(self._log_name), file_at(self._index_name)
        session.generation = self._generation

    @property
    def _generation(self) -> int:
        return self._presence.generation if self._presence else 0

    def _session(self) -> SqliteSession:
        before = file_at(self._name)
        if self._file not in (None, before):
            self._lose(_REPLACED if before else _GONE)
        session = SqliteSession(self._connect(), self._generation)
        if file_at(self._name) != before:
            try:
                self._lose(_REPLACED)
            finally:
                self._close(session)
        self._file = before
        # forked since: what the parent holds ends with it
        if self._held_in not in (-1, os.getpid()) and not self._left:
            self.hold(session)
        return session

    # --- whether it is still there ---

    def borrow(self, *, to_write: bool = False) -> SqliteSession:
        """A connection to the file as it is now, which goes back to the pool. LostFileError where
        it is no longer the file that was opened, be it only with `confirm` for whoever is to write.
        """
        while True:
            if self._lost:
                raise LostFileError(self._lost)
            session = self.pool.borrow()
            try:
                if not (to_write and self._is_untouched()):
                    self.look()
            except BaseException:
                self.pool.give_back(session)
                raise
            if session.generation == self._generation:
                return session
            self.pool.give_back(session)

    def look(self, expected: int | None = None, *, closely: bool = False) -> None:
        """LostFileError where it is no longer the file that was opened. `expected`: in a
        transaction, and right after it, the number of the last that was kept. Costs next to nothing
        where nobody wrote to the file, unless it is looked at `closely`.
        """
        if self._lost:
            raise LostFileError(self._lost)
        if self._file is None:  # another thread is about to open it: there is nothing to lose yet
            return
        seen = _look_at(self._name)
        if closely or seen != self._seen:
            if seen is None:
                self._lose(_GONE)
            if seen[:2] != self._file:
                self._lose(_REPLACED)
            presence = self._presence
            if presence and presence.descriptor >= 0 and self._files_beside:
                try:
                    self._look_inside(presence, expected, is_touched=seen != self._seen)
                except OSError as error:
                    raise PlaceError(f"cannot read {self.path}: {error.strerror}") from error
            self._seen = seen

    def _look_inside(self, presence: Presence, expected: int | None, *, is_touched: bool) -> None:
        log, index = _look_at(self._log_name), file_at(self._index_name)
        is_log = (log and log[:2], index) == self._files_beside
        if is_log and presence.is_as_left(self._log, expected, is_touched=is_touched):
            self._log_is_empty = log is not None and not log[2]
        elif is_log or not presence.is_in_use:
            self._written_over_since = presence.number
            self._lose(_WRITTEN_OVER)
        else:
            # Connections still have the log that is gone. Where nobody else has been at the file,
            # they fold it in.
            self._may_fold = log is None and presence.is_unchanged
            self._lose(_LOG_LOST)

    def confirm(self, before: int) -> None:
        """Before a transaction is kept that follows the one of this number: LostFileError where it
        would go into another file.

        As long as nobody changed the folder, each name in it leads to what it led to. To ask for
        the times of the log itself would have the system note a new one with every write to it.
        """
        now = None
        if self._presence:
            with suppress(OSError):
                folder, file = os.stat(self._folder), os.fstat(self._presence.descriptor)  # noqa: PTH116  # as above
                inside = folder.st_dev, folder.st_ino, folder.st_mtime_ns
                now = *inside, file.st_size, file.st_mtime_ns
        if now is None or now != self._confirmed:
            self._confirmed = None
            self.look(before, closely=True)
            self._begins_log = self._log_is_empty and not self._began_log
            if now and now[2] + _FILE_CLOCK_NS < time.time_ns():
                self._confirmed = now

    def _is_untouched(self) -> bool:
        """Whether it is certain that nobody removed or replaced the file, or wrote to it. This costs
        less than to ask by its name.
        """
        if not self._presence or not self._seen or self._presence.descriptor < 0:
            return False
        status = os.fstat(self._presence.descriptor)
        return status.st_nlink > 0 and (status.st_size, status.st_mtime_ns) == self._seen[2:]

    def note_kept(self, session: SqliteSession, number: int) -> None:
        """After the transaction of this number was kept. LostFileError where it went into a file that is no longer there."""
        begins_log = self._begins_log
        self._begins_log, self._began_log = False, True
        if not self._is_untouched():
            self.look(number)
        if begins_log:
            with suppress(apsw.Error):  # it is kept, if only in the log
                session.run("PRAGMA wal_checkpoint(PASSIVE)")
            self.look(number)

    def _lose(self, what: str) -> NoReturn:
        self._lost = self._lost or what.format(self.path)
        raise LostFileError(self._lost)

    def let_go(self) -> LostFileError:
        """Closes what is no longer the file that was opened. Returns what is to be said."""
        with suppress(StorageError):
            self.close()
        return LostFileError(self._lost)

    # --- closing ---

    def _can_be_lent(self, session: SqliteSession) -> bool:
        is_sound = self._is_sound(session)
        return is_sound and not self._lost and session.generation == self._generation

    def _close(self, session: SqliteSession) -> None:
        """The last one folds the log in, unless that would be into another file, or of another."""
        with suppress(LostFileError, PlaceError):
            self.look(closely=True)
        with suppress(apsw.Error):  # it may be closed already
            if self._lost:
                session.connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            if self._lost and self._may_fold:
                self._can_be_lent(session)  # ends its transaction
                session.run("PRAGMA wal_checkpoint(PASSIVE)")
        session.connection.close()

    def _release(self) -> Presence | None:
        mine = self._holds and self._held_in == os.getpid()
        self._holds = False
        return release(self._presence) if mine else None

    def close(self) -> None:
        self._at_last.detach()
        with storage_errors(self.path), _turn:
            last = self._release()
            try:
                self.pool.close()
            finally:
                # else some thread has a connection, and its locks, still
                if last is not None and self.pool.is_empty:
                    last.close()
            self._set_log_aside()

    def _set_log_aside(self) -> None:
        """Where the file was written over: or else the next to open it might take its log for the
        file's.
        """
        since = self._written_over_since
        if since is None or not self.pool.is_empty:
            return
        self._written_over_since = None
        with suppress(StorageError):
            if aside := set_older_log_aside(self.path, since):
                self._lost += f". The log of what was there before is kept as {aside}"

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
                self._set_log_aside()
                self._files_beside = None  # whoever still comes makes a log anew
            finally:
                turn.release()


_OPEN: Final[weakref.WeakSet[OpenFile]] = weakref.WeakSet()
_FORGOTTEN: Final[deque[OpenFile]] = deque()
_workers_told = -1


def look_at_open(path: Path) -> None:
    """Before this process opens a file once more: those who have it open look whether it is still
    the one that they opened, and let go of it if not. LostFileError where some thread is in the
    middle of a call: connections of one process to one file share what they know of the log.
    """
    for file in [each for each in _OPEN if each.path == path]:
        try:
            file.look(closely=True)
        except LostFileError:
            lost = file.let_go()
            if not file.pool.is_empty:
                raise lost from None


def _close_forgotten() -> None:
    while _FORGOTTEN:
        with suppress(Exception, IndexError):  # another thread took the last
            _FORGOTTEN.popleft().close()


def _leave_all() -> None:
    """Of the files that this process has open. In a forked child these are its own: it has no
    connections of its parent's.
    """
    deadline = time.monotonic() + _EXIT_WAIT_S
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
