"""Which memory is meant, which project in it, and who writes: by what a caller said, or by the settings;
and opening the store there. An option says it, else the environment (`HARDWON_MEMORY`,
`HARDWON_PROJECT`, `HARDWON_AUTHOR`), else the user's `config.toml`, else it is as `Memory` finds it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal, NamedTuple

from hardwon import limits
from hardwon.errors import FullError, InvalidInputError, PlaceError, Problem, UntrustedMemoryError
from hardwon.outside.files import (
    DATABASE_FOLDER,
    MARK,
    exists,
    read_regular,
    repository_root,
    user_folder,
    writing_atomically,
)
from hardwon.outside.git import Repository, in_index
from hardwon.outside.locations import (
    DATABASE_URL,
    DEFAULT_PROJECT,
    FOLDER_NAME,
    UNCLEAR,
    without_password,
)
from hardwon.records.fields import check_that
from hardwon.store.base import Store
from hardwon.store.sqlite.engine import SqliteStore

# A file of settings: three keys and as many comments as anybody writes. One may come with a
# checkout.
SETTINGS_BYTES_MAX: Final = 16 * limits.KIB

FILE_NAME: Final = "memory.db"
FIX_HISTORY_FILE_NAME: Final = "ai_memory.db"
_ALLOWED: Final = (
    "a folder, a file whose name ends in .db, postgresql://user@host/database, or nothing"
)


class Place(NamedTuple):
    """A file of this machine, or a database by its url: of `path` and `url`, one is there. `discovered`:
    nobody named it.
    """

    path: Path | None
    project: str
    url: str | None = None
    discovered: bool = False

    @property
    def location(self) -> str:
        """As an open memory tells it: without the password."""
        return str(self.path) if self.url is None else without_password(self.url)


def find_place(location: str | Path | None, start: Path | None = None) -> Place:
    """A folder keeps its memory in memory.db, one of fix history in ai_memory.db, a tree in a hidden
    folder; a url is that of a database. Nothing said: the nearest .hardwon folder upward, else the user's data folder, and
    the project is named after the git repository we are in. A linked worktree has the memory and
    the name of its repository.
    """
    start = start or current_folder()
    if location is None:
        return _discover(start)
    check_that(isinstance(location, str | Path), "location", location, _ALLOWED)
    text = str(location)
    if DATABASE_URL.match(text):
        shown = without_password(text)
        allowed = "an address on one line, other characters written as %20 and the like"
        check_that(text.isprintable() and " " not in text, "location", shown, allowed)
        allowed = (
            "postgresql://user@host:5432/database; inside its parts, @ is written %40, / is "
            "%2F, : is %3A and ? is %3F"
        )
        check_that(not shown.endswith(UNCLEAR), "location", shown, allowed)
        return Place(None, DEFAULT_PROJECT, text)
    if text.lower().startswith(("postgresql:/", "postgres:/")):  # a Path makes one slash of two
        allowed = "the url of a database as text, in small letters: postgresql://…"
        raise InvalidInputError.one("location", "postgresql:/…", allowed)
    is_path = text.strip() and "\0" not in text and text != ":memory:"
    check_that(is_path, "location", location, _ALLOWED)
    try:
        text.encode()
        path = start / Path(text).expanduser()
        if path.suffix != ".db" or path.is_dir():
            path = _file_in(path)
        # Through a link, SQLite would look for the log beside the link's target, and we beside the
        # link.
        path = path.resolve()
    except (UnicodeEncodeError, RuntimeError, OSError) as error:
        raise InvalidInputError.one("location", location, f"{_ALLOWED} ({error})") from None
    return Place(path, DEFAULT_PROJECT)


def _file_in(folder: Path) -> Path:
    """The memory of a folder: where it is, else where it would be."""
    hidden = file_in_tree(folder)
    # a folder of fix history has its memory under the name that it always had
    known = [folder / FILE_NAME, folder / FIX_HISTORY_FILE_NAME, hidden]
    known.append(folder / FOLDER_NAME / FILE_NAME)  # of a checkout, which people name
    is_tree = (folder / MARK).is_file() or any(folder.glob("outcome=*"))
    return next(filter(Path.exists, known), hidden if is_tree else known[0])


def file_in_tree(folder: Path) -> Path:
    """Where the memory of a new tree is."""
    return folder / DATABASE_FOLDER / FILE_NAME


def _discover(start: Path) -> Place:
    root = repository_root(start)
    project = (Repository(root).name if root else "") or DEFAULT_PROJECT
    for folder in folders_for(start):
        if (folder / FOLDER_NAME).is_dir():
            return Place(folder / FOLDER_NAME / FILE_NAME, project, discovered=True)
    return Place(user_folder("data") / FILE_NAME, project)


def folders_for(start: Path) -> list[Path]:
    """Where something may be kept for whoever is at `start`, nearest first: the folders up to the
    root of the checkout, then the home of the repository, and whatever is above either.
    """
    above = [start, *start.parents]
    root = repository_root(start)
    home = Repository(root).home if root else None
    if root is None or home is None or home == root:
        return above
    inside = above.index(root) + 1
    return list(dict.fromkeys((*above[:inside], home, *home.parents, *above[inside:])))


def memory_exists(location: str | Path | None = None) -> bool:
    """Whether `Memory(location)` opens something that is there. A database is taken to be: opening
    it tells.
    """
    path = find_place(location).path
    return path is None or os.path.exists(path)  # noqa: PTH110  # False, too, of what cannot even be named


def current_folder() -> Path:
    """The folder that we are in; the root where it was deleted."""
    try:
        return Path.cwd()
    except OSError:  # it was deleted under us; an absolute location still works
        return Path("/")


def open_store(place: Place, busy_timeout_ms: int | None = None) -> Store:
    """Opens what is there; a file that is not there yet is made. One of another version's format is
    refused, and so is one that was found, and is a stranger's: UntrustedMemoryError.
    """
    if place.path is not None:
        if place.discovered:
            _refuse_unknown(place.path)
        # only such a one is ever discovered
        may_be = place.discovered or place.path.parent.name == FOLDER_NAME
        is_new = may_be and not exists(place.path)
        before = _inode(place.path)
        store = SqliteStore(place.path, busy_timeout_ms=busy_timeout_ms)
        # A file that was written over while others had it open is given a copy's inode.
        if is_new or (before != _inode(place.path) and _read_note(place.path).startswith(before)):
            with suppress(PlaceError, FullError):  # it is used all the same, by its name
                note(place.path)
        return store
    assert place.url is not None  # noqa: S101  # for type checkers: a place is one of the two
    from hardwon.store.postgres.engine import PostgresStore  # says what to install without psycopg

    return PostgresStore(place.url, busy_timeout_ms=busy_timeout_ms)


# A clone or an archive may bring one along, and what it says would be told to an agent before
# anybody looked: it is not used until `hardwon trust`. What was made or restored here is noted in
# the user's data folder: a file for each path, with the inode of the memory there. Who puts another
# file in its place, or the same one elsewhere, is asked again. Git replaces a file that it ignored
# without a word, so one in a repository's index is trusted only as that very version.


def note(path: Path) -> None:
    """The memory at this path is this user's own. PlaceError where that cannot be kept."""
    with writing_atomically(_find_note(path)) as file:
        file.write(_identity(path))


def _refuse_unknown(path: Path) -> None:
    """UntrustedMemoryError where there is a memory that was not made here, and nobody trusted."""
    if not path.exists():
        return
    if _read_note(path) != _identity(path):
        came = "came with the repository" if in_index(path.resolve()) else "was not made here"
        raise UntrustedMemoryError(
            f"the memory at {path} {came}, and is not used: what it says may be anybody's. If it is "
            f"yours, or you trust who made it, run hardwon trust there, once; --memory and "
            f"HARDWON_MEMORY name another"
        )


def _read_note(path: Path) -> bytes:
    """What was noted of the memory at this path; nothing where nobody did."""
    noted = b""
    with suppress(OSError, PlaceError):
        noted = read_regular(_find_note(path), SETTINGS_BYTES_MAX)
    return noted


def _find_note(path: Path, about: str = "known") -> Path:
    name = sha256(str(path).encode(errors="surrogateescape")).hexdigest()
    return Path(user_folder("data"), about, name)


def is_new_here(place: Place) -> bool:
    """Whether what nobody named, and no folder above has, is used from this folder for the first
    time. Then it is no more.
    """
    note_file = _find_note(current_folder(), "told")
    if place.discovered or exists(note_file):
        return False
    with suppress(PlaceError, FullError), writing_atomically(note_file):  # else it is told again
        return True
    return True


def _identity(path: Path) -> bytes:
    return _inode(path) + f"{in_index(path.resolve()) or ''}\n".encode()


def _inode(path: Path) -> bytes:
    """As what is noted begins; that of no file is one that none has."""
    try:
        return f"{path.stat().st_ino} ".encode()
    except OSError:
        return b"none "


NAMES: Final = ("memory", "project", "author")
VARIABLES: Final = {name: f"HARDWON_{name.upper()}" for name in NAMES}
SETTINGS_NAME: Final = "config.toml"
_KEYS: Final = f"{', '.join(NAMES)}, each with a text"

Origin = Literal["option", "environment", "user file", "default"]


class Setting(NamedTuple):
    """A setting, who set it, and where: the option, the variable or the file. Without a value it is
    as `Memory` finds it.
    """

    name: str
    value: str | None
    origin: Origin
    where: str | None


class Settings(NamedTuple):
    """What holds here, and the user's file, which may not be there."""

    memory: Setting
    project: Setting
    author: Setting
    user_file: Path

    @classmethod
    def read(cls, options: Mapping[str, str | None]) -> Settings:
        """Raises where the file cannot be read, or says what it may not; the error names it."""
        file = user_folder("config") / SETTINGS_NAME
        kept = _values(file)
        memory = kept.get("memory", "~")
        # a relative one would be another memory in every folder
        if "://" not in memory and not memory.startswith(("/", "~")):
            allowed = "a path from the root (/…) or from a home folder (~/…)"
            raise _make_refusal(file, "memory", memory, allowed)

        def find(name: str) -> Setting:
            """The first of the layers that says it."""
            variable = VARIABLES[name]
            layers = (
                Setting(name, options.get(name), "option", f"--{name}"),
                Setting(name, os.environ.get(variable) or None, "environment", variable),
                Setting(name, kept.get(name), "user file", str(file)),
            )
            unset = Setting(name, None, "default", None)
            return next((one for one in layers if one.value is not None), unset)

        return cls(find("memory"), find("project"), find("author"), file)


def _values(file: Path) -> dict[str, str]:
    try:
        data = read_regular(file, SETTINGS_BYTES_MAX + 1)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except PlaceError:
        none = f"cannot read the settings in {file}: it is not a file; remove it, or write one"
        raise PlaceError(none) from None
    except OSError as error:
        why = error.strerror or error
        raise PlaceError(f"cannot read the settings in {file}: {why}") from error
    if len(data) > SETTINGS_BYTES_MAX:
        raise _make_refusal(file, "size", "more bytes", f"at most {SETTINGS_BYTES_MAX} bytes")
    import tomllib  # most have no such file

    try:
        kept = tomllib.loads(data.decode())
    except UnicodeDecodeError:
        raise _make_refusal(file, "encoding", "something else", "UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise _make_refusal(file, "syntax", "something else", f"TOML: {_KEYS} ({error})") from None
    for key, value in kept.items():
        if key not in NAMES:  # what it is set to is not told: it may be a secret
            raise _make_refusal(file, "key", key, _KEYS)
        most = limits.PATH_CHARS_MAX if key == "memory" else limits.NAME_CHARS_MAX
        is_line = isinstance(value, str) and value.isprintable() and bool(value.strip())
        if not is_line or len(value) > most:
            raise _make_refusal(file, key, value, f"a text of 1 to {most} characters on one line")
    return kept


def _make_refusal(file: Path, field: str, value: object, allowed: str) -> InvalidInputError:
    from hardwon.trust.redact import redact_json

    return InvalidInputError([Problem(field, redact_json(value)[0], allowed)], str(file))
