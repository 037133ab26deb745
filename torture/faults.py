"""A disk that fails when it is told to: the files of SQLite behind a VFS of our own, and the
processes that have them open.

All processes of the crowd live in one. What tells them apart is who was acting when a file was
opened: a fault of one process is met by its files alone, and one that was killed meets an error
with every call from then on, so that not a byte of it reaches the disk any more.

apsw hands on every error that a VFS raises, also one that SQLite would pass over (a checkpoint that
fails after the commit): the crowd is told of more failures than a real disk would cause. What is on
the disk is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, Self

import apsw

NAME: Final = "faulty"
_SYSTEM: Final = "unix"


@dataclass(frozen=True)
class Sort:
    """A sort of fault: the calls that meet it, what SQLite is told, and whether it stays for the
    whole step.
    """

    calls: frozenset[str]
    code: int = 0
    lasting: bool = False


_ALL: Final = frozenset(
    {"read", "write", "sync", "truncate", "size", "lock", "open", "delete", "access"}
)
SORTS: Final = {
    "full disk": Sort(frozenset({"write"}), apsw.SQLITE_FULL, lasting=True),
    "write error": Sort(frozenset({"write"}), apsw.SQLITE_IOERR_WRITE),
    "read error": Sort(frozenset({"read"}), apsw.SQLITE_IOERR_READ),
    "short read": Sort(frozenset({"read"})),
    "sync error": Sort(frozenset({"sync"}), apsw.SQLITE_IOERR_FSYNC),
    "truncate error": Sort(frozenset({"truncate"}), apsw.SQLITE_IOERR_TRUNCATE),
    "size error": Sort(frozenset({"size"}), apsw.SQLITE_IOERR_FSTAT),
    "lock error": Sort(frozenset({"lock"}), apsw.SQLITE_IOERR_LOCK),
    "open error": Sort(frozenset({"open"}), apsw.SQLITE_CANTOPEN),
    "delete error": Sort(frozenset({"delete"}), apsw.SQLITE_IOERR_DELETE),
    "access error": Sort(frozenset({"access"}), apsw.SQLITE_IOERR_ACCESS),
    "disk gone": Sort(_ALL, apsw.SQLITE_IOERR, lasting=True),
    "slow disk": Sort(_ALL, lasting=True),
    "kill": Sort(_ALL, apsw.SQLITE_IOERR),
}


@dataclass
class Fault:
    """One fault that lies in wait: it strikes at the `countdown`-th call that can meet it."""

    name: str
    countdown: int
    fired: int = 0

    @property
    def sort(self) -> Sort:
        return SORTS[self.name]

    def is_met_by(self, call: str) -> bool:
        if call not in self.sort.calls or (self.fired and not self.sort.lasting):
            return False
        self.countdown -= 1
        if self.countdown > 0:
            return False
        self.fired += 1
        return True


@dataclass
class Process:
    """A process of the crowd, as the disk knows it."""

    name: str
    wait: Callable[[], None] = field(default=lambda: None)
    """What a slow disk does to whoever waits for it."""
    fault: Fault | None = None
    dead: bool = False

    def meet(self, call: str) -> bool:
        """Before a call: raises what it meets. Whether it is to read less than it asked for."""
        if self.dead:
            raise _refusal(call, apsw.SQLITE_IOERR)
        fault = self.fault
        if fault is None or not fault.is_met_by(call):
            return False
        if fault.name == "slow disk":
            self.wait()
            return False
        if fault.name == "short read":
            return True
        if fault.name == "kill":
            self.dead = True
        raise _refusal(call, fault.sort.code)


def _refusal(call: str, code: int) -> Exception:
    """That a file cannot be had for itself alone when it is closed, SQLite takes as an answer; apsw
    does for one error only.
    """
    return apsw.exception_for(apsw.SQLITE_BUSY if call == "lock alone" else code)


class Disk(apsw.VFS):
    """The default VFS of this process, as long as it is open."""

    def __init__(self) -> None:
        super().__init__(NAME, _SYSTEM, makedefault=True)
        self.nobody = Process("nobody")
        self.acting = self.nobody

    @contextmanager
    def used_by(self, process: Process) -> Iterator[None]:
        """Whatever is opened in the block belongs to this process."""
        before, self.acting = self.acting, process
        try:
            yield
        finally:
            self.acting = before

    def close(self) -> None:
        """The system's own VFS is the default again."""
        apsw.set_default_vfs(_SYSTEM)
        self.unregister()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> DiskFile:  # noqa: N802  # SQLite's own name
        self.acting.meet("open")
        return DiskFile(name, flags, self.acting)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self.acting.meet("delete")
        super().xDelete(filename, syncdir)

    def xAccess(self, pathname: str, flags: int) -> bool:  # noqa: N802
        self.acting.meet("access")
        return super().xAccess(pathname, flags)


class DiskFile(apsw.VFSFile):
    """A file that is open. A process that is dead lets go of its locks and descriptors, as the
    kernel does for it.
    """

    def __init__(
        self, name: str | apsw.URIFilename | None, flags: list[int], owner: Process
    ) -> None:
        super().__init__(_SYSTEM, name, flags)
        self._owner = owner

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        short = self._owner.meet("read")
        data = super().xRead(amount, offset)
        return data[: amount // 2] if short else data

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._owner.meet("write")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._owner.meet("sync")
        super().xSync(flags)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._owner.meet("truncate")
        super().xTruncate(newsize)

    def xFileSize(self) -> int:  # noqa: N802
        self._owner.meet("size")
        return super().xFileSize()

    def xLock(self, level: int) -> None:  # noqa: N802
        alone = level == apsw.SQLITE_LOCK_EXCLUSIVE
        self._owner.meet("lock alone" if alone else "lock")
        try:
            super().xLock(level)
        except apsw.IOError:
            if not alone:
                raise
            # it was opened to be read, and cannot be had alone
            raise apsw.exception_for(apsw.SQLITE_BUSY) from None
