"""Which files are a memory's own, so that nothing that its user has written somewhere replaces one
of them.

What counts is the file that a name leads to, through links, `..` and linked folders: by the place
where it is, or would be, and where it exists also by what it is (device and inode), for a second
name of the same file.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

from hardwon.errors import InvalidInputError
from hardwon.outside import files

MARK: Final = ".hardwon-tree"
SUFFIX: Final = ".json"


def target(
    field: str, given: Path, location: str | Path, such_as: str, also: tuple[str, ...] = ()
) -> Path:
    """Where something may be written that replaces what is there: the file that `given` leads to.
    InvalidInputError where that has a database's name or is one of the own files of the memory at
    `location`; PlaceError where it is no regular file. `also`: how the names begin of what else the
    memory keeps in its folder.
    """
    found = files.replaceable(given)
    refuse_database(field, found, such_as)
    refuse(field, given, location, such_as, also)
    return found


def refuse_database(field: str, found: Path, such_as: str) -> None:
    """InvalidInputError where a file, at the end of all links, has the name of a database."""
    # in small letters: some file systems take both for one
    if found.name.lower().endswith((".db", ".db-wal", ".db-shm", ".db-journal")):
        raise InvalidInputError.one(
            field, str(found), f"a name that no database has, such as {such_as}"
        )


def refuse(
    field: str, given: Path, location: str | Path, such_as: str, also: tuple[str, ...] = ()
) -> None:
    """InvalidInputError where a name leads to one of the own files of the memory at `location`. One
    that is in a database, or elsewhere, has none here.
    """
    if not Path(location).is_absolute():
        return
    found, home = files.replaceable(given), Path(location).parent.resolve()
    memory = home / Path(location).name
    if found.parent == home:
        own = _is_own_name(found.name, memory, also)
    else:  # in a tree, whatever ends so is read as a memory
        inside = found.name.lower().endswith(SUFFIX) and home in found.parents
        own = inside and (home / MARK).exists()
    with suppress(FileNotFoundError):  # taken away meanwhile, or the memory's folder is
        # also where an own file is the same one, or a link that leads to it
        own = own or any(
            each.resolve() == found or (found.exists() and each.exists() and each.samefile(found))
            for each in home.iterdir()
            if _is_own_name(each.name, memory, also)
        )
    if own:
        raise InvalidInputError.one(
            field, str(given), f"a file that is not the memory's own, such as {such_as}"
        )


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
