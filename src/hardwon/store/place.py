"""Where a memory is, from what the caller said."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from hardwon.errors import InvalidInputError
from hardwon.outside.git import repository_root

FOLDER_NAME: Final = ".hardwon"
FILE_NAME: Final = "memory.db"
FIX_HISTORY_FILE_NAME: Final = "ai_memory.db"
DEFAULT_PROJECT: Final = "default"
_ALLOWED: Final = "a folder, a file whose name ends in .db, or nothing"


class Place(NamedTuple):
    path: Path
    project: str


def find(location: str | Path | None, start: Path) -> Place:
    """A folder keeps its memory in memory.db, one of fix history in ai_memory.db. Nothing said: the nearest .hardwon folder
    upward, else the user's data folder, and the project is named after the git checkout we are in."""
    if location is None:
        return _discover(start)
    if not isinstance(location, str | Path):
        raise InvalidInputError.one("location", location, _ALLOWED)
    text = str(location)
    if not text.strip() or "\0" in text or text == ":memory:":
        raise InvalidInputError.one("location", location, _ALLOWED)
    if text.startswith(("postgresql://", "postgres://")):
        raise InvalidInputError.one("location", "postgresql://…", f"{_ALLOWED} (this version keeps memories in SQLite)")
    try:
        text.encode()
        path = start / Path(text).expanduser()
        # Through a link, SQLite would look for the log beside the link's target, and we beside the link.
        path = (path if path.suffix == ".db" and not path.is_dir() else _file_in(path)).resolve()
    except (UnicodeEncodeError, RuntimeError, OSError) as error:
        raise InvalidInputError.one("location", location, f"{_ALLOWED} ({error})") from None
    return Place(path, DEFAULT_PROJECT)


def _file_in(folder: Path) -> Path:
    """A folder of fix history has its memory under the name that it always had."""
    older = folder / FIX_HISTORY_FILE_NAME
    return older if older.exists() and not (folder / FILE_NAME).exists() else folder / FILE_NAME


def _discover(start: Path) -> Place:
    root = repository_root(start)
    project = root.name if root and root.name else DEFAULT_PROJECT
    for folder in (start, *start.parents):
        if (folder / FOLDER_NAME).is_dir():
            return Place(folder / FOLDER_NAME / FILE_NAME, project)
    from platformdirs import user_data_path  # only this branch needs it

    return Place(user_data_path("hardwon", appauthor=False) / FILE_NAME, project)
