"""Where a memory is, from what the caller said.

The store for a place: a file, or a database.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from hardwon.errors import InvalidInputError, MissingExtraError
from hardwon.outside.git import repository_root
from hardwon.outside.locations import (
    DATABASE_URL,
    DEFAULT_PROJECT,
    FOLDER_NAME,
    UNCLEAR,
    without_password,
)
from hardwon.store.base import Store
from hardwon.store.sqlite.engine import SqliteStore
from hardwon.store.types import Progress

# --- place ---

FILE_NAME: Final = "memory.db"
FIX_HISTORY_FILE_NAME: Final = "ai_memory.db"
_ALLOWED: Final = (
    "a folder, a file whose name ends in .db, postgresql://user@host/database, or nothing"
)
# How a database is backed up.
COPIES: Final = (
    "pg_dump copies it whole, and pg_restore puts it back; hardwon --memory copy.db merge URL "
    "copies a project of it into a file, and hardwon --memory URL merge copy.db brings that in"
)


class Place(NamedTuple):
    """A file of this machine, or a database by its url: of `path` and `url`, one is there."""

    path: Path | None
    project: str
    url: str | None = None

    @property
    def location(self) -> str:
        """As an open memory tells it: without the password."""
        return str(self.path) if self.url is None else without_password(self.url)


def find(location: str | Path | None, start: Path) -> Place:
    """A folder keeps its memory in memory.db, one of fix history in ai_memory.db; a url is that of
    a database. Nothing said: the nearest .hardwon folder upward, else the user's data folder, and
    the project is named after the git checkout we are in.
    """
    if location is None:
        return _discover(start)
    if not isinstance(location, str | Path):
        raise InvalidInputError.one("location", location, _ALLOWED)
    text = str(location)
    if DATABASE_URL.match(text):
        return _database(text)
    if text.lower().startswith(("postgresql:/", "postgres:/")):  # a Path makes one slash of two
        raise InvalidInputError.one(
            "location",
            "postgresql:/…",
            "the url of a database as text, in small letters: postgresql://…",
        )
    if not text.strip() or "\0" in text or text == ":memory:":
        raise InvalidInputError.one("location", location, _ALLOWED)
    try:
        text.encode()
        path = start / Path(text).expanduser()
        if path.suffix != ".db" or path.is_dir():
            # a folder of fix history has its memory under the name that it always had
            older = path / FIX_HISTORY_FILE_NAME
            path /= FILE_NAME
            path = older if older.exists() and not path.exists() else path
        # Through a link, SQLite would look for the log beside the link's target, and we beside the
        # link.
        path = path.resolve()
    except (UnicodeEncodeError, RuntimeError, OSError) as error:
        raise InvalidInputError.one("location", location, f"{_ALLOWED} ({error})") from None
    return Place(path, DEFAULT_PROJECT)


def _database(url: str) -> Place:
    shown = without_password(url)
    if not url.isprintable() or " " in url:
        raise InvalidInputError.one(
            "location",
            shown,
            "an address on one line, other characters written as %20 and the like",
        )
    if shown.endswith(UNCLEAR):
        allowed = "postgresql://user@host:5432/database; inside its parts, @ is written %40, / is %2F, : is %3A and ? is %3F"
        raise InvalidInputError.one("location", shown, allowed)
    return Place(None, DEFAULT_PROJECT, url)


def _discover(start: Path) -> Place:
    root = repository_root(start)
    project = root.name if root and root.name else DEFAULT_PROJECT
    for folder in (start, *start.parents):
        if (folder / FOLDER_NAME).is_dir():
            return Place(folder / FOLDER_NAME / FILE_NAME, project)
    from platformdirs import user_data_path  # only this branch needs it

    return Place(user_data_path("hardwon", appauthor=False) / FILE_NAME, project)


# --- opening ---


def open_store(
    found: Place,
    busy_timeout_ms: int | None = None,
    *,
    may_upgrade: bool = True,
    progress: Progress | None = None,
) -> Store:
    """Opens what is there; a file that is not there yet is made. One of an older version is brought
    to this one's format, after a backup whose `progress` is told, or refused: OlderFileError.
    """
    if found.path is not None:
        return SqliteStore(
            found.path,
            busy_timeout_ms=busy_timeout_ms,
            may_upgrade=may_upgrade,
            progress=progress,
        )
    assert found.url is not None  # noqa: S101  # for type checkers: a place is one of the two
    try:
        import psycopg  # noqa: F401  # told here: what is missing of our own is another error
    except ImportError as error:
        said = f"{type(error).__name__}: {error}"
        raise MissingExtraError(
            f"psycopg cannot be imported ({said}); install it with: pip install 'hardwon[postgres]'"
        ) from None
    from hardwon.store.postgres.engine import PostgresStore

    return PostgresStore(found.url, busy_timeout_ms=busy_timeout_ms)
