"""The files of a tree: written whole, never outside of the root, never through a link; and what one
says.

Every folder on the way is opened by its own name, relative to the one above and without following
links: whatever somebody put in the tree, nothing is read or written elsewhere. Temporary names
never end in `.json`.

One memory is a file of JSON that people read and change:

{"timestamp": …, "outcome": …, "tool": …, "summary": …, "content": …, "metadata": {the other keys},
"_path": …}

`_reason` says, in the folder of what could not be routed, why. Keys that begin with `_` are ours
and are not read back.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic_core import PydanticCustomError, from_json

from hardwon import limits
from hardwon.errors import on_failure
from hardwon.lessons.keys import OWN_KEYS
from hardwon.outside import files
from hardwon.outside.files import MARK, SUFFIX
from hardwon.records.fields import TIME_US_MAX, check_that, from_us, parse_time
from hardwon.records.kinds import INTAKE, Experience, Record, Source
from hardwon.text.terms import spell
from hardwon.tree.tables import NOTHING_THERE, FileContent, Seen, digest_of_file

if TYPE_CHECKING:
    from hardwon.tree.watch import FolderWatch

# Folders below one another in a tree of files. The standard tree has three; a mistake must not lead
# us on forever.
TREE_DEPTH_MAX: Final = 16

_NOT_FOR_GIT: Final = (
    "# Databases of this memory, their logs and copies, and files on their way in.\n"
    f"/*.db*\n*.part\n{MARK}\n{files.DATABASE_FOLDER}/\n"
)

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_NEW: Final = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW
_NO_FOLDER: Final = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)  # there, or a link in its place
_NO_TEXT: Final = re.compile("[\ud800-\udfff]")
_TIME_NS_MAX: Final = 2**63 - 1

_TAKEN: Final = frozenset(Experience.model_fields) | {OWN_KEYS}
_STAMP: Final = re.compile(r"(\d{8})_(\d{6})(?!\d)")
_DEFAULT_AUTHOR: Final = Source().author
_quoted: Final = json.JSONEncoder(ensure_ascii=False).encode


def _read_look(status: os.stat_result) -> Seen:
    """Times that no row can hold are as good as the last that it can."""
    return Seen(min(max(status.st_mtime_ns, -_TIME_NS_MAX), _TIME_NS_MAX), status.st_size)


class Listing(NamedTuple):
    """What a folder holds: memory files with their looks, the paths of folders, and what is neither
    though it is named like a memory (a link, say), with the reason.
    """

    files: dict[str, Seen]
    folders: list[str]
    odd: dict[str, str]

    def add(self, entry: os.DirEntry[str], folder: str) -> None:
        name = entry.name
        if entry.is_dir(follow_symlinks=False):
            if names_folder(folder, name):
                self.folders.append(f"{folder}/{name}" if folder else name)
        elif names_memory(folder, name):
            if entry.is_file(follow_symlinks=False):
                with suppress(FileNotFoundError):
                    self.files[name] = _read_look(entry.stat(follow_symlinks=False))
            else:
                self.odd[name] = "is a link, or no regular file"


def _is_text(name: str) -> bool:
    """Hidden ones are not ours. What is no text is no name that a memory has, or that could be
    told.
    """
    return name[0] != "." and (name.isascii() or _NO_TEXT.search(name) is None)


def names_memory(folder: str, name: str) -> bool:
    """Whether a file of this name in the folder is a memory's."""
    return bool(folder) and name.endswith(SUFFIX) and _is_text(name)


def names_folder(folder: str, name: str) -> bool:
    """Whether a folder of this name is one of the tree. The root may be somebody's project: only
    what looks like a folder of ours is one.
    """
    is_ours = folder or "=" in name or name == INTAKE
    return bool(is_ours) and folder.count("/") < TREE_DEPTH_MAX and _is_text(name)


@dataclass(frozen=True)
class TreeFiles:
    """The folder of a tree."""

    root: Path

    @contextmanager
    def _open_folder(self, folder: str, *, make: bool = False) -> Iterator[int]:
        """A descriptor of a folder of the tree. Raises NotADirectoryError or OSError (ELOOP) at a
        link.
        """
        handle = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for part in folder.split("/") if folder else ():
                if part in ("", ".", ".."):
                    raise NotADirectoryError(errno.ENOTDIR, "not a folder of the tree", folder)
                try:
                    inner = os.open(part, _FOLDER, dir_fd=handle)
                except FileNotFoundError:
                    if not make:
                        raise
                    with suppress(FileExistsError):
                        os.mkdir(part, files.FOLDER_MODE, dir_fd=handle)
                    inner = os.open(part, _FOLDER, dir_fd=handle)
                os.close(handle)
                handle = inner
            yield handle
        finally:
            os.close(handle)

    def write_new(self, file: FileContent) -> FileContent:
        """Writes a file that is not there yet; how it looks then. Raises FileExistsError where one
        is there and says something else: it is not ours to replace.
        """
        with self._open_folder(file.folder, make=True) as handle:
            try:
                seen = _write(handle, file.name, file.data)
            except FileExistsError:
                there = None
                with suppress(ValueError, OSError):
                    there, seen = _read(handle, file.name)
                if there != file.data:
                    raise
            return file._replace(seen=seen)

    def read(self, folder: str, name: str) -> tuple[bytes, Seen]:
        """A file's bytes. Raises FileNotFoundError where it is gone, ValueError where it is none
        that we read.
        """
        with self._open_folder(folder) as handle:
            return _read(handle, name)

    def remove(self, folder: str, name: str, digest: bytes) -> bool:
        """Takes away a file as long as it says what we know of it. False: somebody put something
        else there.
        """
        try:
            with self._open_folder(folder) as handle:
                ours = digest_of_file(_read(handle, name)[0]) == digest
                if ours:
                    os.unlink(name, dir_fd=handle)
                return ours
        except (FileNotFoundError, NotADirectoryError):
            return True
        except ValueError:
            return False

    def unlink(self, folder: str, name: str) -> None:
        """Takes away a file that was just written."""
        with suppress(OSError), self._open_folder(folder) as handle:
            _unlink(handle, name)

    def look(self, folder: str, name: str) -> Seen | None:
        """What a file looks like now; None where there is none, or a link or folder in its place.
        One that cannot be looked at is there.
        """
        try:
            with self._open_folder(folder) as handle:
                status = os.stat(name, dir_fd=handle, follow_symlinks=False)
        except OSError as error:
            return None if error.errno in _NO_FOLDER else Seen(NOTHING_THERE, 0)
        return _read_look(status) if stat.S_ISREG(status.st_mode) else None

    def list_folder(self, folder: str, watch: FolderWatch | None = None) -> Listing:
        """What a folder holds, watched from before it was looked at. Nothing where there is no such
        folder.
        """
        listing = Listing({}, [], {})
        try:
            with self._open_folder(folder) as handle:
                if watch:
                    watch.add(folder, handle)
                with os.scandir(handle) as entries:
                    for entry in entries:
                        listing.add(entry, folder)
        except OSError as error:
            if error.errno not in _NO_FOLDER:
                raise
        return listing

    def sync(self) -> None:
        """Everything that was written to this file system so far is on disk when this returns."""
        with self._open_folder("") as handle:
            if _syncfs()(handle):
                raise OSError(errno.EIO, "the file system could not be synced")

    def is_marked(self, tree_id: str) -> bool:
        """Whether these are the folders of this tree: a database that was restored elsewhere finds
        others, or none.
        """
        with suppress(OSError):
            return (self.root / MARK).read_bytes().strip() == tree_id.encode()
        return False

    def mark(self, tree_id: str) -> None:
        files.show_to_git(self.root, but_for=_NOT_FOR_GIT.encode())
        with files.writing_atomically(self.root / MARK) as file:
            file.write(tree_id.encode() + b"\n")


def _read(handle: int, name: str) -> tuple[bytes, Seen]:
    try:
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=handle)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EACCES, errno.EPERM, errno.ENXIO, errno.EISDIR):
            raise ValueError(f"cannot be opened ({error.strerror})") from None
        raise
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("is no regular file")
        if status.st_size > limits.RECORD_BYTES_MAX:
            raise ValueError(f"is larger than {limits.RECORD_BYTES_MAX} bytes")
        data = b""
        while chunk := os.read(file, limits.RECORD_BYTES_MAX + 1 - len(data)):
            data += chunk
        return data, _read_look(status)
    finally:
        os.close(file)


def _write(handle: int, name: str, data: bytes) -> Seen:
    """Writes a file that is not there yet, whole or not at all."""
    file = os.open(name, _NEW, files.FILE_MODE, dir_fd=handle)
    with on_failure(lambda: _unlink(handle, name)):
        try:
            while data:
                data = data[os.write(file, data) :]
            return _read_look(os.fstat(file))
        finally:
            os.close(file)


def _unlink(handle: int, name: str) -> None:
    with suppress(OSError):
        os.unlink(name, dir_fd=handle)


@cache
def _syncfs() -> Any:
    """Linux's call for one file system. A sync of each file by itself takes as long as the record's
    own write.
    """
    import ctypes  # only whoever has a tree needs it

    return getattr(ctypes.CDLL(None), "syncfs", lambda _: os.sync())


class UnreadableError(Exception):
    """A file of the tree that is no memory; the message says why."""


def make_payload(body: str, path: str) -> dict[str, Any]:
    """What a file says, and `recall` of the tree answers, from a record's JSON as it is kept."""
    rest = from_json(body)
    envelope = rest.pop("metadata")
    reason = rest.pop("unrouted", None)
    for name in ("kind", "id", "redacted", "recalled", "own_schema"):
        rest.pop(name, None)
    payload = {"timestamp": envelope["context"]["timestamp"]}
    payload |= {name: rest.pop(name, None) for name in ("outcome", "tool", "summary", "content")}
    payload |= {"metadata": rest, "_path": path}
    rest |= rest.pop(OWN_KEYS, {})
    payload["content"] = rest.pop("content", payload["content"])  # an object, or a list
    if reason:
        payload["_reason"] = reason
    if envelope["source"]["author"] != _DEFAULT_AUTHOR:
        rest["author"] = envelope["source"]["author"]
    if envelope["tags"]:
        rest["tags"] = envelope["tags"]
    return payload


def file_text(body: str, path: str) -> bytes:
    """The file of a record: what `json.dumps(payload, indent=2)` would write, but that values
    inside of values stay on one line.
    """
    lines = []
    for key, value in make_payload(body, path).items():
        if type(value) is dict and value:
            inner = [f"    {_quoted(name)}: {_quoted(item)}" for name, item in value.items()]
            text = "{\n" + ",\n".join(inner) + "\n  }"
        else:
            text = _quoted(value)
        lines.append(f'  "{key}": {text}')
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def read_back(data: bytes, name: str, mtime_ns: int) -> tuple[dict[str, Any], datetime, bool]:
    """The keys of a memory file as `remember` takes them, its time, and whether the file itself or
    its name tells that. Files written by hand may have all keys side by side. A time without a zone
    is one of this machine's, as programs that write such times mean it.
    """
    try:
        fields = from_json(data.removeprefix(b"\xef\xbb\xbf"), allow_inf_nan=False)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"is not JSON ({error})") from None
    if not isinstance(fields, dict):
        raise UnreadableError("is not one JSON object")
    content = fields.get("content")
    if not isinstance(content, str | dict | list) or not str(content).strip(" \t\n\r{}[]"):
        raise UnreadableError("has no content")
    inner = fields.pop("metadata", None)
    named = {key: value for key, value in fields.items() if not key.startswith("_")}
    both = [*(inner.items() if isinstance(inner, dict) else ()), *named.items()]
    keys = {key: value for key, value in both if value is not None}
    known = _read_time(keys.get("timestamp"), name)
    if known:
        keys.pop("timestamp", None)
    return keys, known or from_us(min(max(mtime_ns // 1000, 0), TIME_US_MAX)), known is not None


def _read_time(stated: object, name: str) -> datetime | None:
    stamp = _STAMP.match(name)
    with suppress(ValueError, OverflowError, OSError, PydanticCustomError):
        if isinstance(stated, str):
            return parse_time(datetime.fromisoformat(stated).astimezone())
        if isinstance(stated, int):
            return parse_time(stated)
        if stamp:
            at = datetime.strptime("".join(stamp.groups()), "%Y%m%d%H%M%S")  # noqa: DTZ007
            return parse_time(at.replace(tzinfo=UTC))
    return None


def given_keys(keys: Mapping[str, Any]) -> dict[str, Any]:
    """A caller's keys as an experience keeps them: those that every record has a meaning of its own
    for go to one side.
    """
    plain, own = dict[str, Any](), dict[str, Any]()
    for name, value in keys.items():
        check_that(isinstance(name, str), str(name), value, "keys that are text")
        fits = 0 < len(name) <= limits.KEY_CHARS_MAX and name.isprintable()
        (plain if fits and name not in _TAKEN else own)[name] = value
    return plain | {OWN_KEYS: own} if own else plain


def says(payload: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a memory has these keys with these values."""
    kept = {**payload.get("metadata", {}), **payload}
    for name, value in wanted.items():
        is_spelled = spell(value) is not None and spell(value) == spell(kept.get(name))
        if name not in kept or not (kept[name] == value or is_spelled):
            return False
    return True


def same_memory(one: Record, other: Experience, same_time: bool) -> bool:
    """Whether two say the same, under whatever id; and of the same time, where that matters."""
    return isinstance(one, Experience) and _gist(one, same_time) == _gist(other, same_time)


def _gist(record: Experience, with_time: bool) -> tuple[object, ...]:
    own = {name: value for name, value in record.extra.items() if value is not None}
    content = record.model_dump(include={"content", "outcome", "tool", "summary"})
    metadata = record.metadata
    at = with_time and metadata.context.timestamp
    return content, own, metadata.source.author, sorted(metadata.tags), at
