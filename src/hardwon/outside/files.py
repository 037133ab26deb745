"""Files and folders that are private, appear whole or not at all, and stand on a disk that keeps
its word; one that has a single writer at a time; and which of them are a memory's own, so that
nothing that its user has written somewhere replaces one.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import io
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal

from hardwon import limits
from hardwon.errors import BusyError, FullError, InvalidInputError, PlaceError, Problem
from hardwon.records.fields import check_that

# Of a file or an output, so much is read or passed on at a time: larger pieces are no faster. A
# pipe holds as much where the system allows it.
READ_AT_ONCE_BYTES: Final = 256 * limits.KIB

# --- one record ---
# What a writer left that was killed before its first byte. It holds nothing, and may be new.
_SWEEP_EMPTY_AFTER_S: Final = 60

FILE_MODE: Final = 0o600
GROUP_FILE_MODE: Final = 0o660
FOLDER_MODE: Final = 0o700
_TEMPORARY: Final = re.compile(r"\..+\.[0-9a-f]{12}\.part(?:-(?:wal|shm|journal))?")
DATABASE_SUFFIXES: Final = (".db", ".db-wal", ".db-shm", ".db-journal")
_GITIGNORE: Final = ".gitignore"
_ALL: Final = b"# A memory is of one machine.\n*\n"


def user_folder(sort: Literal["data", "config", "cache"]) -> Path:
    """Where we keep what is the user's own: as XDG_DATA_HOME and the like say, else as usual."""
    usual = {"data": "~/.local/share", "config": "~/.config", "cache": "~/.cache"}
    if sys.platform == "darwin":
        usual = dict.fromkeys(usual, "~/Library/Application Support")
        usual["cache"] = "~/Library/Caches"
    named = os.environ.get(f"XDG_{sort.upper()}_HOME", "").strip()
    return Path(os.path.expanduser(named or usual[sort]), "hardwon")  # noqa: PTH111  # a user may have no home


def repository_root(start: Path) -> Path | None:
    """The folder that holds `.git`, at `start` or above it."""
    return next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), None)


def make_folder(folder: Path, mode: int = FOLDER_MODE) -> None:
    """Makes the folder and its missing parents, each readable by its owner alone where nothing else
    is said. Folders that exist stay as they are.

    What is made is on disk when this returns: a power cut that took the folder would take along
    whatever was synced in it.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        with suppress(FileExistsError):
            path.mkdir(mode=mode)
            sync(path.parent)
    if not folder.is_dir():
        raise PlaceError(f"{folder} is not a folder: choose another place")


def sync(path: Path) -> None:
    """A file is durable once it is on disk, and its name once its folder is."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def choose_mode(folder: Path) -> int:
    """The mode of a new file in a folder: its owner's alone, but in a folder that a group shares
    (its files become the group's, and nobody beyond it may write) the group's as well.
    """
    group_shares = stat.S_ISGID | stat.S_IWGRP
    is_shared = folder.stat().st_mode & (group_shares | stat.S_IWOTH) == group_shares
    return GROUP_FILE_MODE if is_shared else FILE_MODE


def create(path: Path) -> BinaryIO:
    """A new file, open for writing, that only its owner can read, or in a shared folder the group.
    There must be none of that name. While it is open, `sweep` leaves it alone.
    """
    file = os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE), "wb")
    os.fchmod(file.fileno(), choose_mode(path.parent))
    with suppress(OSError):  # a file system without locks
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return file


def is_shared(path: Path) -> bool:
    """Whether somebody let a group write to a file, and nobody beyond it."""
    return path.stat().st_mode & 0o022 == 0o020


def share_like(handle: int, like: Path) -> None:
    """Gives an open file the mode of another, and, as far as the system lets us, its group and
    owner: whoever may use the one may use the other.
    """
    with suppress(OSError):
        wanted, ours = like.stat(), os.fstat(handle)
        for uid, gid in ((-1, wanted.st_gid), (wanted.st_uid, -1)):
            with suppress(OSError):
                if ours.st_gid != gid and ours.st_uid != uid:
                    os.fchown(handle, uid, gid)
        os.fchmod(handle, stat.S_IMODE(wanted.st_mode))


def hide_from_git(folder: Path) -> None:
    """Keeps git from taking in what is in this folder. A .gitignore that is there stays as it
    is.
    """
    path = folder / _GITIGNORE
    with disk_errors(path), suppress(FileExistsError), create(path) as file:
        file.write(_ALL)


def show_to_git(folder: Path, but_for: bytes) -> None:
    """Lets git take in this folder but for what these lines name, also where `hide_from_git` was
    first. Somebody's own .gitignore stays as it is.
    """
    path = folder / _GITIGNORE
    with suppress(OSError, PlaceError):
        if read_regular(path, len(_ALL) + 1) == _ALL:
            path.unlink()
    with suppress(FileExistsError), create(path) as file:
        file.write(but_for)


def exists(path: Path) -> bool:
    """What cannot even be named (too long, say) is not there."""
    return os.path.exists(path)  # noqa: PTH110  # of a Path it raises


def remove(*leftovers: Path) -> None:
    """Takes away what is there of these; what cannot even be named is not there."""
    for leftover in leftovers:
        with suppress(OSError):
            leftover.unlink()


def temporary_beside(path: Path) -> Path:
    """A name for what is to be at a path, that nobody has."""
    return path.with_name(f".{path.name}.{os.urandom(6).hex()}.part")


def sweep(folder: Path) -> list[str]:
    """Takes away what killed writers left in a folder, and nobody writes any more: it may hold what
    was erased since. Their names.
    """
    swept: list[str] = []
    with suppress(OSError):
        # a database before what SQLite keeps beside it, which is nobody's as long as it is there
        every = (entry.name for entry in os.scandir(folder))
        names = sorted(filter(_TEMPORARY.fullmatch, every))
        for left in map(folder.joinpath, names):
            database = left.with_name(left.name[: left.name.rindex(".part") + len(".part")])
            if database != left and database.exists():
                continue
            with suppress(OSError), os.fdopen(os.open(left, os.O_RDONLY | os.O_NOFOLLOW)) as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                status = os.fstat(file.fileno())
                # an empty one may have been made just now, and be locked next
                if status.st_size or time.time() - status.st_mtime > _SWEEP_EMPTY_AFTER_S:
                    left.unlink()
                    swept.append(left.name)
    return swept


def publish(temporary: Path, path: Path) -> None:
    """Gives a finished, synced file its name; raises FileExistsError rather than replace one that
    is there.
    """
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if path.exists():
            raise FileExistsError(str(path)) from None
        temporary.rename(path)
    remove(temporary)
    sync(path.parent)


@contextmanager
def writing_atomically(
    path: Path, mode: int | None = None, temporary: Path | None = None, like: Path | None = None
) -> Iterator[BinaryIO]:
    """A file that replaces `path` when the block ends well, and leaves what was there when it does
    not. `mode` None: as `create` makes it. `temporary` is its name until then; `like` a file whose
    users may use it.

    A link stays one: the file that it leads to is replaced. What is there and no regular file (a
    device, a pipe, a folder) is refused: a file in its place would break whoever uses it.
    """
    path = replaceable(path)
    temporary = temporary or temporary_beside(path)
    with ExitStack() as at_last, disk_errors(path):
        at_last.callback(remove, temporary)
        make_folder(path.parent)
        with create(temporary) as file:
            yield file
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            if like:
                share_like(file.fileno(), like)
            os.fsync(file.fileno())
            temporary.replace(path)
        sync(path.parent)


def replaceable(path: Path) -> Path:
    """The file that a name leads to, through links, where there is none yet or a regular one."""
    try:
        target = path.resolve()
        if not stat.S_ISREG(target.stat().st_mode):
            raise PlaceError(
                f"{path} is there and no regular file: it was left as it is, choose another name"
            )
    except FileNotFoundError:
        pass
    except (OSError, RuntimeError) as error:
        raise PlaceError(
            f"cannot write {path}: {getattr(error, 'strerror', None) or error}"
        ) from error
    return target


def read_regular(path: Path, bytes_max: int) -> bytes:
    """The first bytes of a file. PlaceError where it is no regular one: a pipe would keep us
    waiting for good.
    """
    _refuse_irregular(path, path.stat().st_mode)
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        # somebody may have put another in its place
        _refuse_irregular(path, os.fstat(file.fileno()).st_mode)
        return file.read(bytes_max)


def read_object(
    path: Path, bytes_max: int, what: str, *, allow_inf_nan: bool = False
) -> tuple[dict[str, Any], int]:
    """The JSON object in a file that should be `what`, and when the file was written (microseconds
    since 1970). PlaceError where it cannot be read, InvalidInputError where it is no such thing.
    """
    from pydantic_core import from_json  # most of those who open files need none

    with disk_errors(path, "read"):
        text = read_regular(path, bytes_max + 1)
        written_us = max(0, path.stat().st_mtime_ns // 1000)

    shown: object = f"{len(text)} bytes or more"
    allowed = f"at most {bytes_max} bytes: shorten it in a copy of the file, and adopt that"
    if len(text) <= bytes_max:
        try:
            shown = from_json(text, allow_inf_nan=allow_inf_nan)
            if isinstance(shown, dict):
                return shown, written_us
            allowed = f"an object with the keys of {what}"
        except ValueError as error:
            shown, allowed = text[:40], f"{what} as JSON ({error}); the file was left as it is"
    raise InvalidInputError([Problem("file", shown, allowed)], path.name)


def _refuse_irregular(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise PlaceError(
            f"{path} is no regular file and was left as it is: move it away, or choose another place"
        )


@contextmanager
def disk_errors(path: Path, what: Literal["read", "write"] = "write") -> Iterator[None]:
    """Every error of the system, as one of ours that says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise FullError(
                f"no room to write {path}: {error.strerror}. Free some space and try again"
            ) from error
        raise PlaceError(f"cannot {what} {path}: {error.strerror or error}") from error


def compute_sha256(path: Path) -> str:
    """Never call this on a database that this process has open: closing the file would drop
    SQLite's locks.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def compute_sha1(path: Path) -> str:
    """The SHA-1 of a related file's content; empty where there is no such file. Whatever is named,
    it ends soon.
    """

    def check(holds: bool, wanted: str) -> None:
        check_that(holds, "related_files", str(path), wanted)

    try:
        if not path.exists():
            return ""
        real = os.path.realpath(path)
        check(not is_of_the_system(real), "regular files, and none that the system makes up")
        check(not path.is_dir(), "regular files")
        with open(real, "rb", buffering=0, opener=open_no_link) as file:
            check(stat.S_ISREG(os.fstat(file.fileno()).st_mode), "regular files")
            sha1 = hash_open_file(file.fileno(), limits.FILE_HASH_BYTES_MAX)
    except OSError as error:
        wanted = f"readable files ({error.strerror})"
        raise InvalidInputError.one("related_files", str(path), wanted) from error
    check(sha1 is not None, f"files up to {limits.FILE_HASH_BYTES_MAX} bytes")
    return sha1 or ""


def open_no_link(path: str, flags: int) -> int:
    """An opener: it follows no link, and does not wait for who writes into a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def hash_open_file(handle: int, bytes_max: int) -> str | None:
    """The SHA-1 of an open file; None where it holds more than `bytes_max`. What its size says does
    not count: files that the system makes up say 0 and go on for ever.
    """
    if os.fstat(handle).st_size > bytes_max:
        return None
    sha1 = hashlib.sha1(usedforsecurity=False)
    left = bytes_max
    while block := os.read(handle, READ_AT_ONCE_BYTES):
        left -= len(block)
        if left < 0:
            return None
        sha1.update(block)
    return sha1.hexdigest()


# What is in there looks like files and is none: to read it may wait for ever, or change something.
SYSTEM_FOLDERS: Final = ("/proc/", "/sys/", "/dev/", "/run/")


def is_of_the_system(real: str, root: str = "/") -> bool:
    """Whether a path without links leads to what the system makes up. What lies in the same such
    folder as `root`, a checkout in /dev/shm say, is somebody's own.
    """
    return any(
        real.startswith(folder) and not f"{root}/".startswith(folder) for folder in SYSTEM_FOLDERS
    )


def boot_id() -> str:
    """Changes whenever the machine starts anew: what was written and not synced since is still
    there as long as it has not. Empty where the system does not tell.
    """
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


# --- a file that is read whole, and replaced whole by one writer at a time ---


# Longest pause between two looks at a lock: a save takes a few milliseconds.
_LOCK_PAUSE_MAX_S: Final = 0.005


def _open_or_make(name: str, flags: int) -> int:
    return os.open(name, flags | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)


class LockedFile:
    """A file whose lock this process holds."""

    def __init__(self, path: Path, like: Path | None = None) -> None:
        self.path = path
        # who can use it already, or what it belongs to, can use what is made here
        self.like = like if like and not exists(path) else path
        self._file: io.FileIO | None = None

    @property
    def _lock(self) -> int:
        return self._file.fileno() if self._file else -1

    def take(self) -> None:
        """The file object closes what it opened, wherever an interrupt strikes."""
        lock = self.path.with_name(f".{self.path.name}.lock")
        deadline = time.monotonic() + limits.BUSY_TIMEOUT_MS / 1000
        while True:
            self._file = io.FileIO(lock, "r+", opener=_open_or_make)
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # somebody may have cleared the folder in between
                with suppress(FileNotFoundError):
                    if os.path.samestat(os.lstat(lock), os.fstat(self._lock)):
                        share_like(self._lock, self.like)
                        return
            except BlockingIOError:
                most_s = _LOCK_PAUSE_MAX_S
                time.sleep(most_s * (os.urandom(1)[0] % 10 + 1) / 10)  # not in step with others
            self.close()
            if time.monotonic() > deadline:
                raise BusyError(
                    f"{lock} was held by another process for {limits.BUSY_TIMEOUT_MS // 1000} s; "
                    f"nothing was changed, try again"
                )

    def close(self) -> None:
        """Gives the lock back, also of a process that was forked meanwhile."""
        if self._file is not None and not self._file.closed:
            fcntl.flock(self._lock, fcntl.LOCK_UN)
            self._file.close()

    def read(self) -> bytes | None:
        """What it holds; None where there is none."""
        return read_current(self.path)

    def set_aside(self) -> Path:
        """Gives the file a name of its own, and never one that is taken. Returns it."""
        at = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        aside = self.path.with_name(f"{self.path.name}.unreadable-{at}-{os.urandom(3).hex()}")
        try:
            publish(self.path, aside)
        except OSError as error:
            raise PlaceError(
                f"{self.path} cannot be read as what it should be and could not be moved aside "
                f"({error.strerror or error}). It was left as it is: move it away, or choose another path"
            ) from error
        return aside

    def write(self, content: bytes) -> None:
        """Replaces the file in one step, durably. The lock file holds the name of what is being
        written, so that the next writer clears away what a killed one left.
        """
        temporary = temporary_beside(self.path)
        try:
            with disk_errors(self.path):
                os.pwrite(self._lock, temporary.name.encode(), 0)
                with writing_atomically(self.path, temporary=temporary, like=self.like) as file:
                    file.write(content)
        finally:
            with suppress(OSError):
                os.ftruncate(self._lock, 0)

    def clear_leftovers(self) -> None:
        left = os.pread(self._lock, 4096, 0).decode(errors="replace")
        if left.startswith(f".{self.path.name}.") and left.endswith(".part") and "/" not in left:
            remove(self.path.with_name(left))
        if left:
            os.ftruncate(self._lock, 0)


@contextmanager
def lock_file(path: Path, like: Path | None = None) -> Iterator[LockedFile]:
    """Holds the file's lock, which the kernel takes back from a process that dies. The folder is
    made where it is missing. Where there is no file yet, what is made is for whoever may use `like`.
    """
    held = LockedFile(path, like)
    try:
        with disk_errors(path):
            make_folder(path.parent)
            held.take()
        held.clear_leftovers()
        yield held
    finally:
        held.close()


def read_current(path: Path) -> bytes | None:
    """The file's bytes; None where there is none. It is replaced whole, so that no lock is needed
    to read it.
    """
    try:
        return read_regular(path, limits.TRAINING_FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PlaceError(
            f"{path} cannot be read ({error.strerror or error}): check who owns the file and its folder"
        ) from error


# --- which files are a memory's own ---

# What a memory's own files are counts by the file that a name leads to, through links, `..` and
# linked folders: by the place where it is, or would be, and where it exists also by what it is
# (device and inode), for a second name of the same file.

MARK: Final = ".hardwon-tree"
SUFFIX: Final = ".json"
# In a tree the database has a folder of its own that listings pass over: what is seen are memories.
DATABASE_FOLDER: Final = ".hardwon-memory"


def find_home(memory: Path) -> Path:
    """The folder of a memory, whose file lies in it, or in a folder of its own."""
    return memory.parent.parent if memory.parent.name == DATABASE_FOLDER else memory.parent


def target(
    field: str, path: Path, location: str | Path, such_as: str, also: tuple[str, ...] = ()
) -> Path:
    """Where something may be written that replaces what is there: the file that `given` leads to.
    InvalidInputError where that has a database's name or is one of the own files of the memory at
    `location`; PlaceError where it is no regular file. `also`: how the names begin of what else the
    memory keeps in its folder.
    """
    led = replaceable(path)
    refuse_database(field, led, such_as)
    refuse_own(field, path, location, such_as, also)
    return led


def refuse_database(field: str, path: Path, such_as: str) -> None:
    """InvalidInputError where a file, at the end of all links, has the name of a database."""
    # in small letters: some file systems take both for one
    is_database = path.name.lower().endswith(DATABASE_SUFFIXES)
    check_that(not is_database, field, str(path), f"a name that no database has, such as {such_as}")


def refuse_own(
    field: str, name: Path, location: str | Path, such_as: str, also: tuple[str, ...] = ()
) -> None:
    """InvalidInputError where a name leads to one of the own files of the memory at `location`. One
    that is in a database, or elsewhere, has none here.
    """
    if not Path(location).is_absolute():
        return
    led, home = replaceable(name), Path(location).parent.resolve()
    memory = home / Path(location).name
    tree = find_home(memory)
    if led.parent in (home, tree):
        own = _is_own_name(led.name, memory, also)
    else:  # in a tree, whatever ends so is read as a memory
        inside = led.name.lower().endswith(SUFFIX) and tree in led.parents
        own = inside and (tree / MARK).exists()
    with suppress(FileNotFoundError):  # taken away meanwhile, or the memory's folder is
        # also where an own file is the same one, or a link that leads to it
        ours = [file for file in home.iterdir() if _is_own_name(file.name, memory, also)]
        own = own or any(file.resolve() == led for file in ours)
        own = own or any(led.exists() and file.exists() and file.samefile(led) for file in ours)
    check_that(not own, field, str(name), f"a file that is not the memory's own, such as {such_as}")


def _is_own_name(name: str, memory: Path, also: tuple[str, ...]) -> bool:
    """The database, its log, what restoring and upgrading kept, its tokens, the tree's mark, and what is on its
    way to one of these.
    """
    plain, database = name.lower().removeprefix("."), memory.name.lower()
    tokens = memory.with_suffix(".tokens.db").name.lower()
    if plain in (database, tokens) or name.lower() == MARK:
        return True
    parts = (f".{database}.", f".{tokens}.") if name.startswith(".") else ()
    begins = (f"{database}-", f"{database}.before-", f"{tokens}-", *also)
    return plain.startswith(begins) or name.lower().startswith(parts)
