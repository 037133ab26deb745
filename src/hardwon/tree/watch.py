"""What happens in the folders of a tree, as the kernel tells it.

A folder's own time tells of files that come and go, not of edits in place: to find those, every
file has to be looked at before each question. Linux tells of both (inotify), where a file system
is this machine's own: of one that is shared with others, it knows only what was done here.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from struct import Struct
from typing import Any, Final

from hardwon.tree.files import names_folder, names_memory

# an event: the watch, what happened, a cookie, and the length of the name after it
_EVENT: Final = Struct("iIII")
_READ_BYTES: Final = 1 << 18
# written, made readable or not, closed after writing, moved from or to, made, removed; and the
# folder itself removed or moved
_WATCHED: Final = 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800
# the folder itself went, was moved or unmounted, too much happened at once, the watch is over
_LOST: Final = 0x400 | 0x800 | 0x2000 | 0x4000 | 0x8000
_GONE: Final = 0x40 | 0x200
_OF_A_FOLDER: Final = 0x40000000
# ext, XFS, Btrfs, F2FS, ZFS, tmpfs and overlays of these
_OWN_FILE_SYSTEMS: Final = frozenset(
    {0xEF53, 0x58465342, 0x9123683E, 0xF2F52010, 0x2FC12FC1, 0x01021994, 0x794C7630}
)


class FolderWatch:
    """Watches the folders that are added to it: all of a tree, from the root on, otherwise one could
    be moved away unseen. Where one of them cannot be watched, it is over.
    """

    def __init__(self) -> None:
        self.folders: dict[str, os.stat_result] = {}
        self._by_number: dict[int, str] = {}
        self._process = os.getpid()
        self._library: Any = ctypes.CDLL(None)
        begin = getattr(self._library, "inotify_init1", lambda _: -1)
        self._handle: int = begin(os.O_NONBLOCK | os.O_CLOEXEC)
        self._is_over = self._handle < 0

    def __del__(self) -> None:
        if self._handle >= 0:
            os.close(self._handle)

    def add(self, folder: str, handle: int) -> None:
        """Watches a folder, which is open, from now on."""
        if self._is_over or folder in self.folders:
            return
        about = ctypes.create_string_buffer(1 << 10)  # larger than what is told of a file system
        result = self._library.fstatfs(handle, about)
        is_own = result == 0 and ctypes.c_long.from_buffer(about).value in _OWN_FILE_SYSTEMS
        path = f"/proc/self/fd/{handle}".encode()
        number = self._library.inotify_add_watch(self._handle, path, _WATCHED) if is_own else -1
        self._is_over = number < 0
        self._by_number[number] = folder
        self.folders[folder] = os.fstat(handle)

    def read(self, root: Path) -> tuple[set[tuple[str, str]], set[str]] | None:
        """Folders and names of files to which something happened since this was last asked, and the
        folders that have new ones inside. None where that cannot be told, not any more: the watch
        is over.
        """
        files, folders = set[tuple[str, str]](), set[str]()
        try:
            is_same = os.path.samestat(self.folders[""], root.stat())
        except (OSError, KeyError):  # there is no root, or was none
            is_same = False
        if not is_same or self._is_over or self._process != os.getpid():
            return None
        for happened, folder, name in self._events():
            is_folder = happened & _OF_A_FOLDER
            if happened & _LOST or (is_folder and happened & _GONE and names_folder(folder, name)):
                return None
            if is_folder:
                folders.add(folder)
            elif names_memory(folder, name):
                files.add((folder, name))
        return files, folders

    def _events(self) -> Iterator[tuple[int, str, str]]:
        with suppress(BlockingIOError):  # there are no more
            while data := os.read(self._handle, _READ_BYTES):
                at = 0
                while at < len(data):
                    number, happened, _, length = _EVENT.unpack_from(data, at)
                    at += _EVENT.size + length
                    name = os.fsdecode(data[at - length : at].rstrip(b"\0"))
                    yield happened, self._by_number.get(number, ""), name
