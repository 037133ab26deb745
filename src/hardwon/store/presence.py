"""That this process has a memory's file open, told in a way that another SQLite library in the same process notices too.

SQLite's own locks are the process's: a second SQLite library in it (Python's `sqlite3` beside ours) takes them for its own.
When its last connection is closed it believes that nobody else is there and removes the log, in which we go on writing: what
we acknowledge from then on is lost. So we hold a lock of the sort that belongs to an open file (OFD), on the bytes that every
SQLite connection shares and that only the last one may have for itself. Then the log stays.

Closing any descriptor of a file drops the process's locks on it. So the descriptor is closed only when no memory of this
process has the file open any more.
"""

from __future__ import annotations

import fcntl
import os
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

_SHARED_FIRST: Final = 0x40000000 + 2  # where SQLite keeps its locks in every database file
_SHARED_SIZE: Final = 510
_SET: Final[int | None] = getattr(fcntl, "F_OFD_SETLK", None)

File = tuple[int, int]
"""Device and inode."""

_turn = threading.RLock()
_held: dict[File, list[int]] = {}  # a descriptor, and how many memories hold it
_spare: dict[File, int] = {}  # descriptors that cannot be closed: some thread may have locks. The next who holds takes it


def hold(path: Path) -> File | None:
    """From now on. None where the system has no such locks, or the file cannot be opened."""
    if _SET is None:
        return None
    with _turn:
        try:
            status = path.stat()
            file = status.st_dev, status.st_ino
            if file not in _held:
                _held[file] = [_locked(path, file), 0]
        except OSError:
            return None
        _held[file][1] += 1
        return file


def _locked(path: Path, file: File) -> int:
    descriptor = _spare.pop(file, -1)
    if descriptor < 0:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    _lock(descriptor, fcntl.F_RDLCK)
    return descriptor


@contextmanager
def alone(path: Path) -> Iterator[int | None]:
    """A descriptor of the file. In the block nobody has it open, in whatever process and by whatever library, and whoever wants
    to open it waits. None where somebody has it open, or where the system cannot tell."""
    with _turn:
        file = descriptor = None
        try:
            status = path.stat()
            file = status.st_dev, status.st_ino
            if _SET is not None and file not in _held:
                if file not in _spare:
                    _spare[file] = os.open(path, os.O_RDWR | os.O_CLOEXEC)
                _lock(_spare[file], fcntl.F_WRLCK)
                descriptor = _spare[file]
        except OSError:
            pass
        try:
            yield descriptor
        finally:
            if file and descriptor is not None:
                # Not unlocked before: nobody in this process has a lock yet that closing could drop.
                os.close(_spare.pop(file))


def release(file: File | None) -> int | None:
    """This memory no longer has it. The descriptor that is to be closed when its connections are, where it was the last."""
    if file is None:
        return None
    with _turn:
        if file not in _held:  # held by the process that this one was forked from
            return None
        _held[file][1] -= 1
        if _held[file][1]:
            return None
        descriptor, _ = _held.pop(file)
        _lock(descriptor, fcntl.F_UNLCK)
        return descriptor


def _lock(descriptor: int, kind: int) -> None:
    assert _SET is not None  # noqa: S101  # for type checkers: nobody holds anything without
    fcntl.fcntl(descriptor, _SET, struct.pack("hhqqi", kind, os.SEEK_SET, _SHARED_FIRST, _SHARED_SIZE, 0))


def changing() -> threading.RLock:
    """Held while a memory is closed, so that no other is opened between the last connection and its descriptor."""
    return _turn


def _in_child() -> None:
    """The lock belongs to what parent and child have open together, and is the parent's to take back. A child that uses the
    memory holds it anew (`sqlite_open`); one that does not keeps nobody from folding the log in. Closing drops no lock
    here: a child begins without any."""
    global _turn
    _turn = threading.RLock()
    for descriptor in (*(held[0] for held in _held.values()), *_spare.values()):
        with suppress(OSError):
            os.close(descriptor)
    _held.clear()
    _spare.clear()


os.register_at_fork(after_in_child=_in_child)
