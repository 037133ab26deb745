"""Hooks in a repository: put there, taken away again, and never in the way of those that are there
already.

A hook of the user's keeps running: it is kept aside under another name, ours calls it first and
ends with its exit code, and when ours goes it gets its name back. Until ours is there, theirs is:
whatever fails on the way, git never finds none. Lines that somebody adds to ours are theirs: such a
file is neither written over nor deleted. Ours calls `hardwon`, else the Python that installed it,
and is silent where neither is left.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal

from hardwon.errors import PlaceError
from hardwon.outside import files
from hardwon.outside.git import git

NAME: Final = "post-commit"
SAVED: Final = ".before-hardwon"
_MARK: Final = "# Installed by hardwon; `hardwon hooks remove` takes it away."
_SEAL: Final = "# Lines of your own belong into another file; the rest of this one has the SHA-256 "

State = Literal["installed", "absent", "other"]


@dataclass(frozen=True)
class Hook:
    """A hook's file, whether it is ours (`installed`), nobody's (`absent`) or somebody else's
    (`other`), whether a hook of the user's is called by ours, and whether ours was changed since we
    wrote it.
    """

    name: str
    path: Path
    state: State
    chained: bool
    edited: bool = False


def folder_of_hooks(root: Path, *, shared: bool = False) -> Path:
    """Where git looks for this checkout's hooks. A folder that the user's or the system's
    configuration names serves other repositories too, and is refused unless `shared` says that this
    is meant.
    """
    path = git(root, "rev-parse", "--git-path", "hooks")
    if not path or not path.strip():
        raise PlaceError(
            f"{root} is no checkout of a repository, or git is not there: run this inside one"
        )
    scope = (git(root, "config", "--show-scope", "--get", "core.hooksPath") or "").split("\t")[0]
    folder = (root / path.rstrip("\n")).absolute()
    if scope in ("global", "system") and not shared:
        raise PlaceError(
            f"core.hooksPath of the {scope} configuration names {folder}, which serves other "
            f"repositories too: "
            "say --shared if that is meant, or set core.hooksPath for this repository"
        )
    return folder


def status(folder: Path) -> Hook:
    """What is there of ours in a folder of hooks."""
    path = folder / NAME
    # also a link that leads nowhere is the user's
    chained = os.path.lexists(_save(path))
    text = ""
    with suppress(OSError):
        text = "" if path.is_symlink() else path.read_bytes().decode(errors="surrogateescape")
    ours, lines = _MARK in text, text.split("\n", 3)
    edited = lines[:3] != ["#!/bin/sh", _MARK, f"{_SEAL}{_seal(''.join(lines[3:]))}"]
    state: State = "installed" if ours else "other" if os.path.lexists(path) else "absent"
    return Hook(NAME, path, state, chained, ours and edited)


def install(folder: Path, command: Sequence[str] = ()) -> Hook:
    """Puts our hook there; doing it again changes nothing. `command` are options that `hardwon` is
    called with.
    """
    try:
        files.make_folder(folder, 0o777)  # of which the umask takes its part
        hook = status(folder)
        _refuse_changes(hook)
        if hook.state == "other" and hook.chained:
            raise PlaceError(
                f"{hook.path} and {_save(hook.path)} are both not ours: put them together or "
                f"remove one, then try again"
            )
        _put(hook, script(command))
    except OSError as error:
        raise PlaceError(f"cannot install a hook in {folder}: {error.strerror or error}") from error
    return status(folder)


def remove(folder: Path) -> Hook:
    """Takes our hook away and gives the user's its name back. One that is not ours stays as it
    is.
    """
    try:
        hook = status(folder)
        _refuse_changes(hook)
        saved = _save(hook.path)
        if hook.state == "installed" and hook.chained:
            saved.replace(hook.path)
        elif hook.state == "installed":
            hook.path.unlink()
        elif hook.state == "absent" and hook.chained:  # somebody removed ours by hand
            saved.rename(hook.path)
        if folder.is_dir():
            files.sync(folder)
    except OSError as error:
        raise PlaceError(
            f"cannot remove a hook from {folder}: {error.strerror or error}"
        ) from error
    return status(folder)


def script(command: Sequence[str] = ()) -> str:
    """POSIX sh. `-P` keeps Python from importing what lies in the checkout."""
    options = "".join(f" {shlex.quote(word)}" for word in command)
    python = shlex.quote(sys.executable)
    rest = f"""earlier="${{0%/*}}/{NAME}{SAVED}"
code=0
if [ -x "$earlier" ]; then
    "$earlier" "$@"
    code=$?
fi
(
    if command -v hardwon && hardwon{options} hooks run {NAME} >&3; then exit 0; fi
    if [ -x {python} ]; then {python} -P -m hardwon.surfaces.cli.main{options} hooks run {NAME} >&3; fi
) 3>&1 >/dev/null 2>&1 </dev/null
exit $code
"""
    return f"#!/bin/sh\n{_MARK}\n{_SEAL}{_seal(rest)}\n{rest}"


def _seal(rest: str) -> str:
    return sha256(rest.encode(errors="surrogateescape")).hexdigest()


def _refuse_changes(hook: Hook) -> None:
    if hook.edited:
        raise PlaceError(
            f"{hook.path} was changed since hardwon wrote it: put what you added into "
            f"{_save(hook.path)} (executable; it is "
            f"called first), delete {hook.path}, then try again"
        )


def _save(path: Path) -> Path:
    return path.with_name(path.name + SAVED)


def _put(hook: Hook, text: str) -> None:
    """Git must never run half a hook, nor miss the user's: ours is whole before it takes the name,
    and theirs has its other name by then.
    """
    temporary = hook.path.with_name(f".{hook.path.name}.{os.getpid()}.part")
    saved = _save(hook.path) if hook.state == "other" else None
    with ExitStack() as on_failure:
        on_failure.callback(temporary.unlink, missing_ok=True)
        with temporary.open("wb") as file:
            file.write(text.encode(errors="surrogateescape"))
            file.flush()
            os.fchmod(file.fileno(), 0o755)  # nosec B103  # git runs it for whoever commits
            os.fsync(file.fileno())
        if saved:
            on_failure.callback(saved.unlink, missing_ok=True)
            if hook.path.is_symlink():
                saved.symlink_to(hook.path.readlink())
            else:
                try:
                    saved.hardlink_to(hook.path)
                except OSError:  # not every file system has them
                    shutil.copy2(hook.path, saved)
            files.sync(hook.path.parent)  # or a power cut might leave ours without theirs
        temporary.replace(hook.path)
        on_failure.pop_all()
    files.sync(hook.path.parent)
