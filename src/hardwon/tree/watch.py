"""What happens in the folders of a tree, as the kernel tells it.

A folder's own time tells of files that come and go, not of edits in place: to find those, every
file has to be looked at before each question. Linux tells of both (inotify), where a file system
is this machine's own: of one that is shared with others, it knows only what was done here.
"""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path
from struct import Struct
from typing import Any, Final

from hardwon.tree.files import names_folder, names_memory

_EVENT: Final = Struct(
    "iIII"
)  # the watch, what happened, a cookie, the length of the name after it
_READ_BYTES: Final = 1 << 18
_INSTANCE_FLAGS: Final = os.O_NONBLOCK | os.O_CLOEXEC
# written, closed after writing, moved from or to, made, removed; and the same for the folder itself
_WATCHED: Final = 0x2 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800
# the folder itself went, was moved or unmounted, too much happened at once, the watch is over
_LOST: Final = 0x400 | 0x800 | 0x2000 | 0x4000 | 0x8000
_GONE: Final = 0x40 | 0x200
_OF_A_FOLDER: Final = 0x40000000
# ext, XFS, Btrfs, F2FS, ZFS, tmpfs and overlays of these
_OWN_FILE_SYSTEMS: Final = frozenset(
    {0xEF53, 0x58465342, 0x9123683E, 0xF2F52010, 0x2FC12FC1, 0x01021994, 0x794C7630}
)


class Watch:
    """Watches the folders that are added to it. All of a tree have to be, from the root on:
    otherwise one of them could be moved away unseen. Raises OSError where there is no watching.
    """

    def __init__(self) -> None:
        self._handle = -1
        self._process = os.getpid()
        self._library: Any = ctypes.CDLL(None, use_errno=True)
        try:
            self._handle = self._checked(self._library.inotify_init1(_INSTANCE_FLAGS))
        except AttributeError:
            raise OSError(errno.ENOSYS, "no inotify here") from None
        self._folders: dict[int, str] = {}
        self._added: dict[str, tuple[int, int]] = {}

    def __del__(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)

    def add(self, folder: str, handle: int) -> None:
        """Watches a folder, which is open, from now on."""
        if folder in self._added:
            return
        of_its_system = ctypes.create_string_buffer(1 << 10)
        self._checked(self._library.fstatfs(handle, of_its_system))
        if ctypes.c_long.from_buffer(of_its_system).value not in _OWN_FILE_SYSTEMS:
            raise OSError(errno.EIO, "the file system may be changed from elsewhere")
        path = f"/proc/self/fd/{handle}".encode()
        number = self._checked(self._library.inotify_add_watch(self._handle, path, _WATCHED))
        self._folders[number] = folder
        self._added[folder] = _identity(os.fstat(handle))

    def read(self, root: Path) -> tuple[set[tuple[str, str]], set[str]] | None:
        """Folders and names of files to which something happened since this was last asked, and the
        folders that have new ones inside. None where that cannot be told, not any more: the watch
        is over.
        """
        files, folders = set[tuple[str, str]](), set[str]()
        if self._process != os.getpid() or self._added[""] != _identity(root.stat()):
            return None
        while True:
            try:
                data = os.read(self._handle, _READ_BYTES)
            except BlockingIOError:
                return files, folders
            at = 0
            while at < len(data):
                number, happened, _, length = _EVENT.unpack_from(data, at)
                at += _EVENT.size + length
                if happened & _LOST:
                    return None
                folder = self._folders[number]
                name = os.fsdecode(data[at - length : at].rstrip(b"\0"))
                if not happened & _OF_A_FOLDER:
                    if names_memory(folder, name):
                        files.add((folder, name))
                elif names_folder(folder, name):
                    if happened & _GONE:
                        return None
                    folders.add(folder)

    @staticmethod
    def _checked(result: int) -> int:
        """Never raises what would say that a folder is missing."""
        if result < 0:
            raise OSError(errno.EIO, os.strerror(ctypes.get_errno()))
        return result


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
