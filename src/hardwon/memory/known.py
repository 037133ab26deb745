"""Which of the memories that can be *found*, by looking upward or by a checkout's settings, are this
user's own. A clone or an archive may bring one along, and what it says would be told to an agent
before anybody looked: it is not used until `hardwon trust`.

What was made or restored here is noted in the user's data folder: a file for each path, with the
inode of the memory there. Who puts another file in its place, or the same one elsewhere, is asked
again. Git replaces a file that it ignored without a word, so one in a repository's index is trusted
only as that very version.
"""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from hardwon import limits
from hardwon.errors import PlaceError, UntrustedMemoryError
from hardwon.outside.files import read_regular, writing_atomically
from hardwon.outside.git import in_index


def note(path: Path) -> None:
    """The memory at this path is this user's own. PlaceError where that cannot be kept."""
    with writing_atomically(_note_of(path)) as file:
        file.write(_identity(path))


def refuse_unknown(path: Path) -> None:
    """UntrustedMemoryError where there is a memory that was not made here, and nobody trusted."""
    if not path.exists():
        return
    noted = b""
    with suppress(OSError, PlaceError):
        noted = read_regular(_note_of(path), limits.SETTINGS_BYTES_MAX)
    if noted != _identity(path):
        came = "came with the repository" if in_index(path.resolve()) else "was not made here"
        raise UntrustedMemoryError(
            f"the memory at {path} {came}, and is not used: what it says may be anybody's. If it is "
            f"yours, or you trust who made it, run hardwon trust there, once; --memory and "
            f"HARDWON_MEMORY name another"
        )


def _note_of(path: Path) -> Path:
    from platformdirs import user_data_path  # most memories are named

    name = sha256(str(path).encode(errors="surrogateescape")).hexdigest()
    return user_data_path("hardwon", appauthor=False) / "known" / name


def _identity(path: Path) -> bytes:
    return f"{path.stat().st_ino} {in_index(path.resolve()) or ''}\n".encode()
