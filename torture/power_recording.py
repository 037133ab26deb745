"""Everything that this process does to the files of one folder, recorded in its order.

The database's operations are seen where SQLite hands them to the system, by a VFS. All others are
seen at the functions of `os` and `io` that change files. Whoever changes a file in another way is
found out: the recorded operations, carried out again, must give the folder as it is, byte by byte
(`Recording.differences`).
"""

from __future__ import annotations

import builtins
import io
import os
import random
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final
from unittest import mock

import apsw

from hardwon.tree import files as tree_files
from power_disk import (
    ROOT,
    Cut,
    History,
    Named,
    Operation,
    Removed,
    Renamed,
    Synced,
    SyncedAll,
    Write,
    whole,
)

_VFS_NAME: Final = "recorded"
_REAL_VFS: Final = "unix"
_VOLATILE: Final = ("-shm",)  # shared memory, which SQLite makes anew after a restart
_JOURNALS: Final = ("-wal", "-journal")


class Recording:
    """What happened in `root` so far."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = str(root)
        self.history = History()
        self._rng = random.Random(seed)
        self._names: dict[int, dict[str, int]] = {ROOT: {}}
        self._last = ROOT
        self._open: dict[int, int] = {}  # descriptors of files and folders in the root

    def settled(self) -> None:
        """Everything up to now has long been on disk."""
        self._note(SyncedAll())

    def _note(self, operation: Operation) -> None:
        self.history.operations.append(operation)

    def differences(self) -> list[str]:
        """Where the recorded operations do not give what is in the folder: somebody changed a file
        unseen.
        """
        state = whole(self.history.operations)
        told = {
            path: file
            for path, file in state.tree(self.history.folders)
            if not path.endswith(_VOLATILE)
        }
        found = [path for path in _paths_in(Path(self.root)) if not path.endswith(_VOLATILE)]
        wrong = [f"{path} is not recorded" for path in found if path not in told]
        wrong += [f"{path} is recorded and not there" for path in told.keys() - set(found)]
        for path in told.keys() & set(found):
            if told[path] not in self.history.folders:
                data = Path(self.root, path).read_bytes()
                if data != state.contents.get(told[path], b""):
                    wrong.append(f"{path} holds other bytes than were recorded")
        return wrong

    # --- names ---

    def _parts(self, path: Any, folder: int | None = None) -> list[str] | None:
        """The names that lead to a path; None where it is not in the root."""
        text = os.fsdecode(path)
        if folder is not None and not text.startswith("/"):
            return [*self._way_to(self._open[folder]), text] if folder in self._open else None
        text = os.path.abspath(text)  # noqa: PTH100  # called for every file operation
        if text == self.root:
            return []
        return text[len(self.root) + 1 :].split("/") if text.startswith(self.root + "/") else None

    def _way_to(self, folder: int) -> list[str]:
        for above, names in self._names.items():
            for name, file in names.items():
                if file == folder:
                    return [*self._way_to(above), name]
        return []

    def place(self, path: Any, folder: int | None = None) -> tuple[int, str] | None:
        """The folder that a path is in, and its name there; None where that is not in the root."""
        parts = self._parts(path, folder)
        if not parts:
            return None
        inner = ROOT
        for part in parts[:-1]:
            if part not in self._names.get(inner, {}):
                return None
            inner = self._names[inner][part]
        return inner, parts[-1]

    def known(self, path: Any, folder: int | None = None) -> int | None:
        """The file or folder at a path."""
        if self._parts(path, folder) == []:
            return ROOT
        found = self.place(path, folder)
        return self._names.get(found[0], {}).get(found[1]) if found else None

    def made(
        self, path: Any, folder: int | None, mode: int, *, is_folder: bool = False
    ) -> int | None:
        found = self.place(path, folder)
        if found is None:
            return None
        self._last += 1
        self.history.modes[self._last] = mode
        if is_folder:
            self.history.folders.add(self._last)
            self._names[self._last] = {}
        self._give(found, self._last)
        return self._last

    def _give(self, at: tuple[int, str], file: int) -> None:
        self._names.setdefault(at[0], {})[at[1]] = file
        self._note(Named(*at, file))

    def linked(self, file: int | None, at: tuple[int, str] | None) -> None:
        if file is not None and at:
            self._give(at, file)

    def removed(self, at: tuple[int, str] | None) -> None:
        if at and self._names.get(at[0], {}).pop(at[1], None) is not None:
            self._note(Removed(*at))

    def renamed(self, at: tuple[int, str] | None, to: tuple[int, str] | None) -> None:
        if not at or at[1] not in self._names.get(at[0], {}):
            return
        assert to is not None
        assert to[0] == at[0], (
            "no rename of ours leads from one folder to another: the disk model knows none"
        )
        self._names[to[0]][to[1]] = self._names[at[0]].pop(at[1])
        self._note(Renamed(*at, *to))

    # --- bytes ---

    def opened(self, handle: int, file: int | None) -> None:
        if file is None:
            self._open.pop(handle, None)
        else:
            self._open[handle] = file

    def file_of(self, handle: int) -> int | None:
        return self._open.get(handle)

    def wrote(self, file: int, offset: int, data: bytes, mtime_ns: int = 0) -> None:
        if data:
            self._note(Write(file, offset, data, mtime_ns))

    def cut(self, file: int, size: int) -> None:
        self._note(Cut(file, size))

    def synced(self, file: int) -> None:
        self._note(Synced(file))

    def bytes_at_random(self, count: int) -> bytes:
        return self._rng.randbytes(count)


def _paths_in(root: Path) -> Iterator[str]:
    return (str(path.relative_to(root)) for path in root.rglob("*"))


@contextmanager
def recording(root: Path, seed: int) -> Iterator[Recording]:
    """Records in the block, in which what is made at random is the same for the same seed."""
    record = Recording(root, seed)
    vfs = _RecordingVfs(record)
    apsw.set_default_vfs(_VFS_NAME)
    apsw.randomness(0)  # from here on SQLite draws what our VFS gives it
    try:
        with ExitStack() as patches:
            for patch in _patches(record):
                patches.enter_context(patch)
            yield record
    finally:
        apsw.set_default_vfs(_REAL_VFS)
        vfs.unregister()
        apsw.randomness(0)


# --- SQLite ---


class _RecordingVfs(apsw.VFS):
    def __init__(self, record: Recording) -> None:
        self.record = record
        super().__init__(_VFS_NAME, _REAL_VFS)

    def xOpen(self, name: Any, flags: list[int]) -> Any:  # noqa: N802
        return _RecordingFile(self.record, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        super().xDelete(filename, syncdir)
        at = self.record.place(filename)
        self.record.removed(at)
        if syncdir and at:
            self.record.synced(at[0])

    def xRandomness(self, numbytes: int) -> bytes:  # noqa: N802
        return self.record.bytes_at_random(numbytes)


class _RecordingFile(apsw.VFSFile):
    def __init__(self, record: Recording, name: Any, flags: list[int]) -> None:
        self._record = record
        self._folder_unsynced: int | None = None
        super().__init__(_REAL_VFS, name, flags)
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._file = record.known(path) if path else None
        if path and flags[0] & apsw.SQLITE_OPEN_CREATE:
            if self._file is None:
                self._file = record.made(path, None, 0o600)
            at = record.place(path)
            if at and path.endswith(_JOURNALS):
                self._folder_unsynced = at[0]

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        super().xWrite(data, offset)
        if self._file is not None:
            self._record.wrote(self._file, offset, bytes(data))

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        super().xTruncate(newsize)
        if self._file is not None:
            self._record.cut(self._file, newsize)

    def xLock(self, level: int) -> None:  # noqa: N802
        """A connection that only reads cannot have the file for itself when it is closed. SQLite
        passes that over; an error of any other sort than this would reach the caller.
        """
        try:
            super().xLock(level)
        except apsw.IOError as error:
            raise apsw.BusyError(str(error)) from error

    def xSync(self, flags: int) -> None:  # noqa: N802
        super().xSync(flags)
        if self._file is not None:
            self._record.synced(self._file)
        # with the first sync of a journal or log that it opened, SQLite syncs its folder
        if self._folder_unsynced is not None:
            self._record.synced(self._folder_unsynced)
            self._folder_unsynced = None


# --- everything else ---


class _RecordedRaw(io.FileIO):
    """A file that somebody opened to write to."""

    record: Recording

    def write(self, data: Any) -> int:
        return os.write(self.fileno(), data)

    def truncate(self, size: int | None = None) -> int:
        size = self.tell() if size is None else size
        os.ftruncate(self.fileno(), size)
        return size


_REAL_OPEN: Final = io.open


def _patches(record: Recording) -> Iterator[Any]:
    calls = _Calls(record)
    for name in (
        "open",
        "write",
        "pwrite",
        "ftruncate",
        "fsync",
        "unlink",
        "mkdir",
        "rmdir",
        "rename",
        "link",
        "fchmod",
        "chmod",
    ):
        yield mock.patch.object(os, name, getattr(calls, name))
    yield mock.patch.object(os, "remove", calls.unlink)
    yield mock.patch.object(os, "replace", calls.rename)
    yield mock.patch.object(os, "fdatasync", calls.fsync)
    yield mock.patch.object(os, "sync", calls.sync)
    yield mock.patch.object(os, "urandom", record.bytes_at_random)
    yield mock.patch.object(random, "_urandom", record.bytes_at_random)  # what `secrets` draws from
    yield mock.patch.object(io, "open", calls.file)
    yield mock.patch.object(builtins, "open", calls.file)
    yield mock.patch.object(tree_files, "_syncfs", return_value=calls.syncfs)


class _Calls:
    """The system's functions, which note what they did."""

    def __init__(self, record: Recording) -> None:
        self._record = record
        self._real: dict[str, Callable[..., Any]] = {
            name: getattr(os, name) for name in dir(os) if callable(getattr(os, name))
        }

    def open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        before = self._record.known(path, dir_fd)
        handle: int = self._real["open"](path, flags, mode, dir_fd=dir_fd)
        file = before
        if before is None and flags & os.O_CREAT:
            file = self._record.made(path, dir_fd, stat.S_IMODE(os.fstat(handle).st_mode))
        elif before is not None and flags & os.O_TRUNC:
            self._record.cut(before, 0)
        self._record.opened(handle, file)
        return handle

    def write(self, handle: int, data: Any) -> int:
        return self._noted(handle, data, self._real["write"](handle, data), None)

    def pwrite(self, handle: int, data: Any, offset: int) -> int:
        return self._noted(handle, data, self._real["pwrite"](handle, data, offset), offset)

    def _noted(self, handle: int, data: Any, written: int, offset: int | None) -> int:
        file = self._record.file_of(handle)
        if file is not None:
            at = os.lseek(handle, 0, os.SEEK_CUR) - written if offset is None else offset
            self._record.wrote(file, at, bytes(data)[:written], os.fstat(handle).st_mtime_ns)
        return written

    def ftruncate(self, handle: int, length: int) -> None:
        self._real["ftruncate"](handle, length)
        file = self._record.file_of(handle)
        if file is not None:
            self._record.cut(file, length)

    def fsync(self, handle: int) -> None:
        self._real["fsync"](handle)
        file = self._record.file_of(handle)
        if file is not None:
            self._record.synced(file)

    def sync(self) -> None:
        self._record.settled()

    def syncfs(self, _: int) -> int:
        self._record.settled()
        return 0

    def unlink(self, path: Any, *, dir_fd: int | None = None) -> None:
        at = self._record.place(path, dir_fd)
        self._real["unlink"](path, dir_fd=dir_fd)
        self._record.removed(at)

    def rmdir(self, path: Any, *, dir_fd: int | None = None) -> None:
        at = self._record.place(path, dir_fd)
        self._real["rmdir"](path, dir_fd=dir_fd)
        self._record.removed(at)

    def mkdir(self, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        self._real["mkdir"](path, mode, dir_fd=dir_fd)
        self._record.made(path, dir_fd, mode, is_folder=True)

    def rename(
        self, old: Any, new: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
    ) -> None:
        at, to = self._record.place(old, src_dir_fd), self._record.place(new, dst_dir_fd)
        self._real["replace"](old, new, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
        self._record.renamed(at, to)

    def link(self, old: Any, new: Any, *, follow_symlinks: bool = True) -> None:
        file, to = self._record.known(old), self._record.place(new)
        self._real["link"](old, new, follow_symlinks=follow_symlinks)
        self._record.linked(file, to)

    def fchmod(self, handle: int, mode: int) -> None:
        self._real["fchmod"](handle, mode)
        file = self._record.file_of(handle)
        if file is not None:
            self._record.history.modes[file] = mode

    def chmod(self, path: Any, mode: int, **options: Any) -> None:
        self._real["chmod"](path, mode, **options)
        file = self._record.known(path)
        if file is not None:
            self._record.history.modes[file] = mode

    def file(
        self, name: Any, mode: str = "r", buffering: int = -1, *text: Any, **options: Any
    ) -> Any:
        """`open`. To be written to, a file of the root is opened in a manner in which its writes
        are seen.
        """
        inside = (
            self._record.file_of(name) is not None
            if isinstance(name, int)
            else self._record._parts(name) is not None
        )
        if not inside or not set(mode) & set("wax+"):
            return _REAL_OPEN(name, mode, buffering, *text, **options)
        opener = (
            None if isinstance(name, int) else lambda path, flags: self.open(path, flags, 0o666)
        )
        raw = _RecordedRaw(
            name,
            mode.replace("b", "").replace("t", ""),
            closefd=options.get("closefd", True),
            opener=opener,
        )
        if buffering == 0:
            return raw
        buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, *text, **options)
