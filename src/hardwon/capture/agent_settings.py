"""Settings files of agents: our hooks put into Claude Code's and taken away again, and everything
else left as it is.

Such a file is JSON, and is written back as it was written before. One that is not plain JSON
(comments, a key twice, or a number that no other program could read again) is refused and left
alone: whatever were written in its place would have lost something.

In Claude Code's, `hooks` has a list for each event, each item of it a `matcher` and a list of
commands. Ours are known by what they call, wherever in the file somebody moved them. The command
ends with `|| true`: to Claude Code exit code 2 means that the prompt or the command is not allowed,
and that is what a shell, or another version of ours, may end with.
"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NoReturn

from hardwon import limits
from hardwon.errors import PlaceError
from hardwon.outside import files

_BOM: Final = "\ufeff"

CALLED: Final = "hooks run claude-code"
# The events that are listened to, and of which tool.
EVENTS: Final[Mapping[str, str | None]] = {
    "SessionStart": None,
    "UserPromptSubmit": None,
    "PreToolUse": "Bash",
    "PostToolUse": "Bash",
    "PostToolUseFailure": "Bash",
}
_OURS: Final = re.compile(rf"(?<!\S){CALLED}(?!\S)")
_ASSIGNED: Final = re.compile(r"[A-Za-z_]\w*=")

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
            text.removeprefix(_BOM),
            object_pairs_hook=_without_doubles,
            parse_constant=_finite,
            parse_float=_finite,
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


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(
            f"the number {text[:20]} is too large"
            if text[-1].isdigit()
            else f"{text} is no number of JSON"  # NaN, Infinity
        )
    return number


def write(path: Path, settings: Settings, text: str, new_file_mode: int = 0o666) -> None:
    """All of it or nothing. `text` is what was there: its mode and its manner stay. From the mode of
    what was not there the umask takes its part.
    """
    try:
        files.make_folder(path.parent, 0o777)
        mask = os.umask(0)
        os.umask(mask)
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else new_file_mode & ~mask
    except OSError as error:
        raise files.disk_error(error, path) from error
    with files.writing_atomically(path, mode) as file:
        file.write(rendered(settings, text).encode())


def rendered(settings: Settings, before: str) -> str:
    """As the file was written before: its indentation, its line ends, and whether it ends with
    one.
    """
    indented = re.search(r'\n([ \t]+)"', before)
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


def shown(value: object) -> str:
    return json.dumps(value)[:40]


def refuse(path: Path, why: str) -> NoReturn:
    raise PlaceError(
        f"{path} was left as it is: {why}. Put that right and try again, or edit it yourself"
    )


# Whose settings: those of everybody who works on the project, one's own there, or one's own
# everywhere.
Scope = Literal["project", "local", "user"]


@dataclass(frozen=True)
class AgentHook:
    """An event, and the command of ours that a settings file has for it (empty: none). `found`:
    what it calls is there.
    """

    event: str
    path: Path
    command: str
    found: bool


def settings_file(scope: Scope, root: Path) -> Path:
    name = "settings.local.json" if scope == "local" else "settings.json"
    return (Path.home() if scope == "user" else root) / ".claude" / name


def status(path: Path, root: Path) -> list[AgentHook]:
    """One hook for each event."""
    settings, _ = read(path, limits.AGENT_SETTINGS_BYTES_MAX)
    found = {event: entry["command"] for event, entry in reversed(list(_ours(settings, path)))}
    return [
        AgentHook(event, path, command := found.get(event, ""), _is_there(command, root))
        for event in EVENTS
    ]


def install(path: Path, command: str) -> bool:
    """Puts the command there for every event; False where all of it was there already."""
    settings, text = read(path, limits.AGENT_SETTINGS_BYTES_MAX)
    changed = _add(settings, command, path)
    if changed:
        write(path, settings, text)
    return changed


def planned(path: Path, command: str) -> str:
    """What `install` would make of the file."""
    settings, text = read(path, limits.AGENT_SETTINGS_BYTES_MAX)
    return rendered(settings, text) if _add(settings, command, path) else text


def remove(path: Path) -> bool:
    """Takes ours out, and what it leaves empty; False where there was none. A file of which nothing
    is left goes too.
    """
    settings, text = read(path, limits.AGENT_SETTINGS_BYTES_MAX)
    if not any(_ours(settings, path)):
        return False
    hooks = settings["hooks"]
    for event, group in list(_groups(settings, path)):
        kept = [entry for entry in group["hooks"] if not _is_ours(entry)]
        if group["hooks"] and not kept:
            hooks[event][:] = [other for other in hooks[event] if other is not group]
        group["hooks"][:] = kept
        if not hooks[event]:
            del hooks[event]
    if not hooks:
        del settings["hooks"]
    if settings or path.is_symlink():
        write(path, settings, text)
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


# --- the command ---


def command_for(
    scope: Scope, root: Path, before: Sequence[str] = (), after: Sequence[str] = ()
) -> str:
    """What Claude Code is to run. One's own settings name the program that installs them. Those
    that others share cannot: they name the one on the PATH, or, of an environment inside the
    project, its place in there.
    """
    # a link to Python elsewhere is not followed: this is the environment
    program = Path(sys.executable).with_name("hardwon")
    there = os.access(program, os.X_OK)
    called = shlex.quote(str(program))
    if scope == "project":
        called = "hardwon"
        if there and program.is_relative_to(root):
            inside = shlex.quote(program.relative_to(root).as_posix())
            called = f'"$CLAUDE_PROJECT_DIR"/{inside}'
    elif not there:
        called = f"{shlex.quote(sys.executable)} -P -m hardwon.surfaces.cli.main"
    return f"{called} {shlex.join((*before, *CALLED.split(), *after))} || true"


def _is_there(command: str, root: Path) -> bool:
    try:
        words = shlex.split(command.replace("${CLAUDE_PROJECT_DIR}", "$CLAUDE_PROJECT_DIR"))
    except ValueError:
        return False
    program = next((word for word in words if not _ASSIGNED.match(word)), "").replace(
        "$CLAUDE_PROJECT_DIR", str(root)
    )
    return bool(program) and "\0" not in program and shutil.which(program) is not None


# --- ours in the settings ---


def _groups(settings: Settings, path: Path) -> Iterator[tuple[str, Settings]]:
    """The event and each of its items that has commands. What has another shape than Claude Code's
    is not ours to judge, but where we would have to add something to it.
    """
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict):
        refuse(path, f"its hooks are no object but {shown(hooks)}")
    for event, groups in hooks.items():
        if not isinstance(groups, list):
            if event in EVENTS:
                refuse(path, f"its hooks.{event} is no list but {shown(groups)}")
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
    ours = [(event, entry) for event, entry in _ours(settings, path) if event in EVENTS]
    there = {event for event, _ in ours}
    changed = len(there) < len(EVENTS) or any(entry["command"] != command for _, entry in ours)
    for _, entry in ours:
        entry["command"] = command
    for event, matcher in EVENTS.items():
        if event not in there:
            entry = {"type": "command", "command": command, "timeout": limits.AGENT_HOOK_TIMEOUT_S}
            group = ({"matcher": matcher} if matcher else {}) | {"hooks": [entry]}
            settings.setdefault("hooks", {}).setdefault(event, []).append(group)
    return changed
