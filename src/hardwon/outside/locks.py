"""A file that is read whole, replaced whole, by one writer at a time, and never overwritten where
it cannot be read.
"""

from __future__ import annotations

import fcntl
import io
import os
import random
import secrets
import stat
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from hardwon import limits
from hardwon.errors import BusyError, PlaceError
from hardwon.outside import files


class LockedFile:
    """A file whose lock this process holds."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: io.FileIO | None = None
        _held.add(self)

    @property
    def _lock(self) -> int:
        return self._file.fileno() if self._file else -1

    def take(self) -> None:
        """The file object closes what it opened, wherever an interrupt strikes."""
        lock = self.path.with_name(f".{self.path.name}.lock")
        deadline = time.monotonic() + limits.BUSY_TIMEOUT_MS / 1000
        while True:
            self._file = io.FileIO(
                lock,
                "r+",
                opener=lambda name, flags: os.open(
                    name, flags | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, files.FILE_MODE
                ),
            )
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _leads_to(lock, self._lock):
                    return
            except BlockingIOError:
                most_s = limits.TRAINING_LOCK_WAIT_MAX_S
                time.sleep(random.uniform(most_s / 10, most_s))
            self.close()
            if time.monotonic() > deadline:
                raise BusyError(
                    f"{lock} was held by another process for {limits.BUSY_TIMEOUT_MS // 1000} s; "
                    f"nothing was changed, try again"
                )

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def read(self) -> bytes | None:
        return read(self.path)

    def set_aside(self) -> Path:
        """Gives the file a name of its own, and never one that is taken. Returns it."""
        at = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        aside = self.path.with_name(f"{self.path.name}.unreadable-{at}-{secrets.token_hex(3)}")
        try:
            files.publish(self.path, aside)
        except OSError as error:
            raise PlaceError(
                f"{self.path} cannot be read as what it should be and could not be moved aside "
                f"({error.strerror or error}). "
                "It was left as it is: move it away, or choose another path"
            ) from error
        return aside

    def write(self, content: bytes) -> None:
        """Replaces the file in one step, durably. The lock file holds the name of what is being
        written, so that the next writer clears away what a killed one left.
        """
        temporary = files.temporary_beside(self.path)
        try:
            os.pwrite(self._lock, temporary.name.encode(), 0)
            # who could read it before still can
            there = self.path.exists()
            mode = stat.S_IMODE(self.path.stat().st_mode) if there else files.FILE_MODE
            with files.writing_atomically(self.path, mode, temporary) as file:
                file.write(content)
        except OSError as error:
            raise files.disk_error(error, self.path) from error
        finally:
            with suppress(OSError):
                os.ftruncate(self._lock, 0)

    def clear_leftovers(self) -> None:
        left = os.pread(self._lock, 4096, 0).decode(errors="replace")
        if left.startswith(f".{self.path.name}.") and left.endswith(".part") and "/" not in left:
            files.remove(self.path.with_name(left))
        if left:
            os.ftruncate(self._lock, 0)


@contextmanager
def lock_file(path: Path) -> Iterator[LockedFile]:
    """Holds the file's lock, which the kernel takes back from a process that dies. The folder is
    made where it is missing.
    """
    held = LockedFile(path)
    try:
        try:
            files.make_folder(path.parent)
            held.take()
        except OSError as error:
            raise files.disk_error(error, path) from error
        held.clear_leftovers()
        yield held
    finally:
        held.close()


_held: weakref.WeakSet[LockedFile] = weakref.WeakSet()


def close_all() -> None:
    """In a child that was forked in the middle of another thread's save: the lock is that thread's
    alone.
    """
    for held in list(_held):
        held.close()


def _leads_to(lock: Path, handle: int) -> bool:
    """Whether the name still leads to what was locked: somebody may have cleared the folder in
    between.
    """
    try:
        found = lock.stat(follow_symlinks=False)
    except FileNotFoundError:
        return False
    ours = os.fstat(handle)
    return (found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino)


def read(path: Path) -> bytes | None:
    """The file's bytes; None where there is none. It is replaced whole, so that no lock is needed
    to read it.
    """
    try:
        return files.read_regular(path, limits.TRAINING_FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PlaceError(
            f"{path} cannot be read ({error.strerror or error}): check who owns the file and its "
            f"folder"
        ) from error
