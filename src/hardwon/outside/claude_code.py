"""Claude Code's settings files: our hooks put there and taken away again, and everything else left as it is.

A settings file is JSON: `hooks` has a list for each event, each item of it a `matcher` and a list of commands. Ours are known
by what they call, wherever in the file somebody moved them. A file that we do not understand is refused and left alone. The
command ends with `|| true`: to Claude Code exit code 2 means that the prompt or the command is not allowed, and that is
what a shell, or another version of ours, may end with.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from hardwon import limits
from hardwon.outside import json_settings
from hardwon.outside.json_settings import Settings
from hardwon.store import files

CALLED: Final = "hooks run claude-code"
EVENTS: Final[Mapping[str, str | None]] = {
    "SessionStart": None,
    "UserPromptSubmit": None,
    "PreToolUse": "Bash",
    "PostToolUse": "Bash",
    "PostToolUseFailure": "Bash",
}
"""The events that are listened to, and of which tool."""

_OURS: Final = re.compile(rf"(?<!\S){CALLED}(?!\S)")
_PROJECT_FOLDER: Final = '"$CLAUDE_PROJECT_DIR"'
_ASSIGNED: Final = re.compile(r"[A-Za-z_]\w*=")


class Scope(StrEnum):
    """Whose settings: those of everybody who works on the project, one's own there, or one's own everywhere."""

    PROJECT = "project"
    LOCAL = "local"
    USER = "user"


@dataclass(frozen=True)
class Hook:
    """An event, and the command of ours that a settings file has for it (empty: none). `found`: what it calls is there."""

    event: str
    path: Path
    command: str
    found: bool

    @property
    def state(self) -> str:
        return "installed" if self.command else "absent"


def settings_file(scope: Scope, root: Path) -> Path:
    if scope is Scope.USER:
        return Path.home() / ".claude" / "settings.json"
    return root / ".claude" / ("settings.json" if scope is Scope.PROJECT else "settings.local.json")


def status(path: Path, root: Path) -> list[Hook]:
    """One hook for each event."""
    settings, _ = json_settings.read(path, limits.AGENT_SETTINGS_BYTES_MAX)
    found = {event: entry["command"] for event, entry in reversed(list(_ours(settings, path)))}
    return [Hook(event, path, command := found.get(event, ""), _is_there(command, root)) for event in EVENTS]


def install(path: Path, command: str) -> bool:
    """Puts the command there for every event; False where all of it was there already."""
    settings, text = json_settings.read(path, limits.AGENT_SETTINGS_BYTES_MAX)
    if not _add(settings, command, path):
        return False
    json_settings.write(path, settings, text)
    return True


def planned(path: Path, command: str) -> str:
    """What `install` would make of the file."""
    settings, text = json_settings.read(path, limits.AGENT_SETTINGS_BYTES_MAX)
    return json_settings.rendered(settings, text) if _add(settings, command, path) else text


def remove(path: Path) -> bool:
    """Takes ours out, and what it leaves empty; False where there was none. A file of which nothing is left goes too."""
    settings, text = json_settings.read(path, limits.AGENT_SETTINGS_BYTES_MAX)
    if not any(_ours(settings, path)):
        return False
    _take_out(settings)
    if settings or path.is_symlink():
        json_settings.write(path, settings, text)
        return True
    try:
        path.unlink()
        files.sync(path.parent)
        if not any(path.parent.iterdir()):
            path.parent.rmdir()
            files.sync(path.parent.parent)
    except OSError as error:
        raise files.disk_error(error, path) from error
    return True


# --- the command ------------------------------------------------------------------------------------------------------


def command_for(scope: Scope, root: Path, before: Sequence[str] = (), after: Sequence[str] = ()) -> str:
    """What Claude Code is to run. One's own settings name the program that installs them. Those that others share cannot: they
    name the one on the PATH, or, of an environment inside the project, its place in there."""
    words = [shlex.quote(each) for each in (*before, *CALLED.split(), *after)]
    return " ".join([*_program(scope, root), *words, "||", "true"])


def _program(scope: Scope, root: Path) -> list[str]:
    program = Path(sys.executable).with_name("hardwon")  # a link to Python elsewhere is not followed: this is the environment
    if scope is Scope.PROJECT:
        if program.is_relative_to(root) and os.access(program, os.X_OK):
            return [f"{_PROJECT_FOLDER}/{shlex.quote(program.relative_to(root).as_posix())}"]
        return ["hardwon"]
    if os.access(program, os.X_OK):
        return [shlex.quote(str(program))]
    return [shlex.quote(sys.executable), "-P", "-m", "hardwon.serve.cli"]


def _is_there(command: str, root: Path) -> bool:
    try:
        words = shlex.split(command.replace("${CLAUDE_PROJECT_DIR}", "$CLAUDE_PROJECT_DIR"))
    except ValueError:
        return False
    program = next((word for word in words if not _ASSIGNED.match(word)), "").replace("$CLAUDE_PROJECT_DIR", str(root))
    return bool(program) and "\0" not in program and shutil.which(program) is not None


# --- ours in the settings ---------------------------------------------------------------------------------------------


def _groups(settings: Settings, path: Path) -> Iterator[tuple[str, Settings]]:
    """The event and each of its items that has commands. What has another shape than Claude Code's is not ours to judge, but
    where we would have to add something to it."""
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict):
        json_settings.refuse(path, f"its hooks are no object but {json_settings.shown(hooks)}")
    for event, groups in hooks.items():
        if not isinstance(groups, list):
            if event in EVENTS:
                json_settings.refuse(path, f"its hooks.{event} is no list but {json_settings.shown(groups)}")
            continue
        for group in groups:
            if isinstance(group, dict) and isinstance(group.get("hooks"), list):
                yield event, group


def _ours(settings: Settings, path: Path) -> Iterator[tuple[str, Settings]]:
    for event, group in _groups(settings, path):
        yield from ((event, entry) for entry in group["hooks"] if _is_ours(entry))


def _is_ours(entry: object) -> bool:
    command = entry.get("command") if isinstance(entry, dict) else None
    return isinstance(command, str) and bool(_OURS.search(command))


def _add(settings: Settings, command: str, path: Path) -> bool:
    """Whether anything had to change. Where ours is already, it stays in its place."""
    there: dict[str, list[Settings]] = {}
    for event, entry in _ours(settings, path):
        there.setdefault(event, []).append(entry)
    changed = False
    for event, matcher in EVENTS.items():
        for entry in there.get(event, ()):
            changed |= entry["command"] != command
            entry["command"] = command
        if event not in there:
            entry = {"type": "command", "command": command, "timeout": limits.AGENT_HOOK_TIMEOUT_S}
            group = ({"matcher": matcher} if matcher else {}) | {"hooks": [entry]}
            settings.setdefault("hooks", {}).setdefault(event, []).append(group)
            changed = True
    return changed


def _take_out(settings: Settings) -> None:
    hooks = settings["hooks"]
    for event, groups in list(hooks.items()):
        if not isinstance(groups, list):
            continue
        kept = [group for group in groups if not _is_left_empty(group)]
        if len(kept) == len(groups):
            continue
        if kept:
            groups[:] = kept
        else:
            del hooks[event]
    if not hooks:
        del settings["hooks"]


def _is_left_empty(group: Any) -> bool:
    """Takes ours out of a group; whether nothing else was in it."""
    if not isinstance(group, dict) or not isinstance(group.get("hooks"), list):
        return False
    kept = [entry for entry in group["hooks"] if not _is_ours(entry)]
    had_some = bool(group["hooks"])
    group["hooks"][:] = kept
    return had_some and not kept
