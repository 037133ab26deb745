"""Hooks that are to be quiet for a while: of one memory and project, as their user said. What is done
meanwhile is recorded as always.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Final

from hardwon.errors import InvalidInputError
from hardwon.outside import files

_LENGTH: Final = re.compile(r"(\d{1,4})\s*(m|h|d)")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days"}


def pause_hooks(location: str, project: str, length: str) -> datetime:
    """Keeps the hooks quiet for `30m`, `2h` or `1d`; until when."""
    match = _LENGTH.fullmatch(length.strip())
    if match is None or not int(match[1]):
        raise InvalidInputError.one("length", length, "a number with m, h or d, such as 30m or 1d")
    until = datetime.now(UTC) + timedelta(**{_UNITS[match[2]]: int(match[1])})
    path = _find_file(location, project)
    with files.writing_atomically(path) as file:
        file.write(until.isoformat().encode())
    return until


def resume_hooks(location: str, project: str) -> bool:
    """Lets the hooks speak again; whether they were quiet."""
    was_quiet = find_pause(location, project) is not None
    _find_file(location, project).unlink(missing_ok=True)
    return was_quiet


def find_pause(location: str, project: str) -> datetime | None:
    """Until when the hooks are quiet; None where they speak."""
    try:
        until = datetime.fromisoformat(_find_file(location, project).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return until if until.tzinfo and until > datetime.now(UTC) else None


def _find_file(location: str, project: str) -> Path:
    name = sha256("\0".join((location, project)).encode()).hexdigest()[:32]
    return files.user_folder("data") / "sessions" / f"{name}.pause"
