"""The settings file of another program, which is JSON: read, changed, and written back as it was written before.

A file that is not plain JSON (comments, a key that stands twice, a number that no other program could read again) is refused
and left alone: whatever were written in its place would have lost something.
"""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path
from typing import Any, Final, NoReturn

from hardwon.errors import PlaceError
from hardwon.store import files

NEW_FILE_MODE: Final = 0o666
NEW_FOLDER_MODE: Final = 0o777
"""Of what was not there; the umask takes its part from it."""

_INDENTED: Final = re.compile(r'\n([ \t]+)"')
_BOM: Final = "\ufeff"

Settings = dict[str, Any]


def read(path: Path, bytes_max: int) -> tuple[Settings, str]:
    """What is in the file, and its text; nothing of a file that is not there, or empty."""
    try:
        if path.is_symlink() and not path.exists():
            refuse(path, "it is a link that leads nowhere")
        data = files.read_regular(path, bytes_max + 1) if path.exists() else b""
    except OSError as error:
        raise PlaceError(f"cannot read {path}: {error.strerror or error}") from error
    if len(data) > bytes_max:
        refuse(path, f"it is larger than {bytes_max} bytes")
    try:
        text = data.decode()
        if not text.removeprefix(_BOM).strip():
            return {}, text
        settings = json.loads(
            text.removeprefix(_BOM), object_pairs_hook=_without_doubles, parse_constant=_no_constant, parse_float=_finite
        )
    except (ValueError, RecursionError) as error:
        refuse(path, f"it is not plain JSON ({' '.join(str(error).split())})")
    if not isinstance(settings, dict):
        refuse(path, f"it holds no object but {shown(settings)}")
    return settings, text


def _without_doubles(pairs: list[tuple[str, Any]]) -> Settings:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key stands twice in one object, and only one of the two would be kept")
    return made


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"the number {text[:20]} is too large")
    return number


def write(path: Path, settings: Settings, text: str, new_file_mode: int = NEW_FILE_MODE) -> None:
    """All of it or nothing. `text` is what was there: its mode and its manner stay."""
    try:
        files.make_folder(path.parent, NEW_FOLDER_MODE)
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else new_file_mode & ~_umask()
    except OSError as error:
        raise files.disk_error(error, path) from error
    with files.writing_atomically(path, mode) as file:
        file.write(rendered(settings, text).encode())


def rendered(settings: Settings, before: str) -> str:
    """As the file was written before: its indentation, its line ends, and whether it ends with one."""
    indented = _INDENTED.search(before)
    on_one_line = "\n" not in before.strip() and before.removeprefix(_BOM).strip() not in ("", "{}")
    indent = indented[1] if indented else None if on_one_line else 2
    try:
        text = json.dumps(settings, indent=indent, ensure_ascii=False)
        text.encode()
    except UnicodeEncodeError:  # half a character, which only an escape can express
        text = json.dumps(settings, indent=indent)
    if not before.strip() or before.endswith("\n"):
        text += "\n"
    if "\r\n" in before:
        text = text.replace("\n", "\r\n")
    return (_BOM if before.startswith(_BOM) else "") + text


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def shown(value: object) -> str:
    return json.dumps(value)[:40]


def refuse(path: Path, why: str) -> NoReturn:
    raise PlaceError(f"{path} was left as it is: {why}. Put that right and try again, or edit it yourself")
