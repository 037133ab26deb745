"""Hooks in a repository: put there, taken away again, and never in the way of those that are there already.

A hook of the user's keeps running: it is moved aside under another name, ours calls it first and ends with its exit code, and
when ours goes it gets its name back. Ours calls `hardwon`, else the Python that installed it, and is silent where neither is
left.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from hardwon.errors import PlaceError
from hardwon.outside.git import git

HOOKS: Final = ("post-commit",)
SAVED: Final = ".before-hardwon"
_MARK: Final = "# Installed by hardwon; `hardwon hooks remove` takes it away."
_EXECUTABLE: Final = 0o755
_SHARED_SCOPES: Final = ("global", "system")

State = Literal["installed", "absent", "other"]


@dataclass(frozen=True)
class Hook:
    """A hook's file, whether it is ours (`installed`), nobody's (`absent`) or somebody else's (`other`), and whether a hook of
    the user's is called by ours."""

    name: str
    path: Path
    state: State
    chained: bool


def folder_of_hooks(root: Path, *, shared: bool = False) -> Path:
    """Where git looks for this checkout's hooks. A folder that the user's or the system's configuration names serves other
    repositories too, and is refused unless `shared` says that this is meant."""
    found = git(root, "rev-parse", "--git-path", "hooks")
    if not found or not found.strip():
        raise PlaceError(f"{root} is no checkout of a repository, or git is not there: run this inside one")
    scope = (git(root, "config", "--show-scope", "--get", "core.hooksPath") or "").split("\t")[0]
    folder = (root / found.rstrip("\n")).absolute()
    if scope in _SHARED_SCOPES and not shared:
        raise PlaceError(
            f"core.hooksPath of the {scope} configuration names {folder}, which serves other repositories too: "
            "say --shared if that is meant, or set core.hooksPath for this repository"
        )
    return folder


def status(folder: Path) -> list[Hook]:
    return [_hook(folder, name) for name in HOOKS]


def install(folder: Path, command: Sequence[str] = ()) -> list[Hook]:
    """Puts our hooks there; doing it again changes nothing. `command` are options that `hardwon` is called with."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for hook in status(folder):
            saved = _saved(hook.path)
            if hook.state == "other":
                if _is_there(saved):
                    raise PlaceError(
                        f"{hook.path} and {saved} are both not ours: put them together or remove one, then try again"
                    )
                hook.path.rename(saved)
            _write_whole(hook.path, script(hook.name, command))
    except OSError as error:
        raise PlaceError(f"cannot install a hook in {folder}: {error.strerror or error}") from error
    return status(folder)


def remove(folder: Path) -> list[Hook]:
    """Takes our hooks away and gives the user's their names back. Hooks that are not ours stay as they are."""
    try:
        for hook in status(folder):
            saved = _saved(hook.path)
            if hook.state == "installed" and hook.chained:
                saved.replace(hook.path)
            elif hook.state == "installed":
                hook.path.unlink()
            elif hook.state == "absent" and hook.chained:  # somebody removed ours by hand
                saved.rename(hook.path)
    except OSError as error:
        raise PlaceError(f"cannot remove a hook from {folder}: {error.strerror or error}") from error
    return status(folder)


def script(name: str, command: Sequence[str] = ()) -> str:
    """POSIX sh. `-P` keeps Python from importing what lies in the checkout."""
    options = "".join(f" {shlex.quote(each)}" for each in command)
    python = shlex.quote(sys.executable)
    return f"""#!/bin/sh
{_MARK}
earlier="${{0%/*}}/{name}{SAVED}"
code=0
if [ -x "$earlier" ]; then
    "$earlier" "$@"
    code=$?
fi
(
    if command -v hardwon && hardwon{options} hooks run {name} >&3; then exit 0; fi
    if [ -x {python} ]; then {python} -P -m hardwon.serve.cli{options} hooks run {name} >&3; fi
) 3>&1 >/dev/null 2>&1 </dev/null
exit $code
"""


def _hook(folder: Path, name: str) -> Hook:
    path = folder / name
    return Hook(name, path, _state(path), _is_there(_saved(path)))


def _state(path: Path) -> State:
    if not _is_there(path):
        return "absent"
    try:
        ours = not path.is_symlink() and _MARK in path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        ours = False
    return "installed" if ours else "other"


def _saved(path: Path) -> Path:
    return path.with_name(path.name + SAVED)


def _is_there(path: Path) -> bool:
    return os.path.lexists(path)  # also a link that leads nowhere is the user's


def _write_whole(path: Path, text: str) -> None:
    """Git must never run half a hook."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.chmod(_EXECUTABLE)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
