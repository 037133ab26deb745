"""Settings files of agents: our hooks put in and taken away again, and everything else left as it
is.

Such a file is JSON, and is written back as it was written before. One that is not plain JSON
(comments, a key twice, or a number that no other program could read again) is refused and left
alone: whatever were written in its place would have lost something.

In Claude Code's and Codex's, `hooks` has a list for each event, each item of it a `matcher` and a
list of commands; in Cursor's each item is a command. Ours are known by what they call, wherever in
the file somebody moved them. The command ends with `|| true`: to these agents exit code 2 means that
the prompt or the command is not allowed, and that is what a shell, or another version of ours, may
end with.
"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import get_data
from typing import Any, Final, Literal, NamedTuple, NoReturn

from hardwon import limits
from hardwon.errors import PlaceError
from hardwon.outside import files
from hardwon.store.types import Finding

# An agent's settings file, or a script that may be an older design's. Those that people write have
# some kilobytes.
AGENT_SETTINGS_BYTES_MAX: Final = limits.MIB

# After so long the agent ends the hook: longer than the hook takes to end itself, on a machine that
# is busy.
AGENT_HOOK_TIMEOUT_S: Final = 10

_BOM: Final = "\ufeff"

# Whose settings: those of everybody who works on the project, one's own there, or one's own
# everywhere.
Scope = Literal["project", "local", "user"]


class Layout(NamedTuple):
    """Where an agent has its hooks: the folder, the file of each scope, the events that are listened
    to, each with what is to match, the variable that names the project, and whether an item is the
    command itself.
    """

    folder: str
    files: Mapping[Scope, str]
    events: Mapping[str, str | None]
    root_variable: str = ""
    flat: bool = False


LAYOUTS: Final[Mapping[str, Layout]] = {
    agent: Layout(**layout)
    for agent, layout in json.loads(get_data(__name__, "agent_layouts.json") or b"").items()
}
_ASSIGNED: Final = re.compile(r"[A-Za-z_]\w*=")

Settings = dict[str, Any]


def read(path: Path, bytes_max: int) -> tuple[Settings, str]:
    """What is in the file, and its text; nothing of a file that is not there, or empty."""
    with files.disk_errors(path, "read"):
        if path.is_symlink() and not path.exists():
            refuse(path, "it is a link that leads nowhere")
        data = files.read_regular(path, bytes_max + 1) if path.exists() else b""
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
        refuse(path, f"it holds no object but {shorten(settings)}")
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
    with files.disk_errors(path):
        files.make_folder(path.parent, 0o777)
        mask = os.umask(0)
        os.umask(mask)
        mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else new_file_mode & ~mask
    with files.writing_atomically(path, mode) as file:
        file.write(render(settings, text).encode())


def render(settings: Settings, before: str) -> str:
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


def shorten(value: object) -> str:
    """A value as an error shows it."""
    return json.dumps(value)[:40]


def refuse(path: Path, why: str) -> NoReturn:
    raise PlaceError(
        f"{path} was left as it is: {why}. Put that right and try again, or edit it yourself"
    )


@dataclass(frozen=True)
class AgentHook:
    """An event, and the command of ours that a settings file has for it (empty: none). `is_there`:
    what it calls is there.
    """

    event: str
    path: Path
    command: str
    is_there: bool


class AgentSettings:
    """One settings file of an agent's."""

    def __init__(self, agent: str, scope: Scope, root: Path) -> None:
        self.layout = LAYOUTS[agent]
        self.agent, self.scope, self.root = agent, scope, root
        base = Path.home() if scope == "user" else root
        self.path = base / self.layout.folder / self.layout.files[scope]
        self._called = re.compile(rf"(?<!\S)hooks run {agent}(?!\S)")

    def status(self) -> list[AgentHook]:
        """One hook for each event."""
        settings, _ = read(self.path, AGENT_SETTINGS_BYTES_MAX)
        commands = {
            event: entry["command"] for event, entry in reversed(list(self._ours(settings)))
        }
        return [
            AgentHook(event, self.path, command := commands.get(event, ""), self._is_there(command))
            for event in self.layout.events
        ]

    def install(self, command: str) -> bool:
        """Puts the command there for every event; False where all of it was there already."""
        settings, text = read(self.path, AGENT_SETTINGS_BYTES_MAX)
        changed = self._add(settings, command)
        if changed:
            write(self.path, settings, text)
        return changed

    def plan(self, command: str) -> str:
        """What `install` would make of the file."""
        settings, text = read(self.path, AGENT_SETTINGS_BYTES_MAX)
        return render(settings, text) if self._add(settings, command) else text

    def remove(self) -> bool:
        """Takes ours out, and what it leaves empty; False where there was none. A file of which
        nothing is left goes too.
        """
        path = self.path
        settings, text = read(path, AGENT_SETTINGS_BYTES_MAX)
        if not any(self._ours(settings)):
            return False
        hooks = settings["hooks"]
        for event, group in list(self._groups(settings)):
            kept = [entry for entry in group["hooks"] if not self._is_ours(entry)]
            had = bool(group["hooks"])
            if had and not kept:
                hooks[event][:] = [other for other in hooks[event] if other is not group]
            group["hooks"][:] = kept
            if had and not hooks[event]:
                del hooks[event]
        if not hooks:
            del settings["hooks"]
        if self.layout.flat and settings == {"version": 1}:
            settings = {}
        if settings or path.is_symlink():
            write(path, settings, text)
            return True
        with files.disk_errors(path):
            path.unlink()
            files.sync(path.parent)
            if not any(path.parent.iterdir()):
                path.parent.rmdir()
                files.sync(path.parent.parent)
        return True

    # --- the command ---

    def command(self, before: Sequence[str] = (), after: Sequence[str] = ()) -> str:
        """What the agent is to run. One's own settings name the program that installs them. Those
        that others share cannot: they name the one on the PATH, or, of an environment inside the
        project, its place in there.
        """
        # a link to Python elsewhere is not followed: this is the environment
        program = Path(sys.executable).with_name("hardwon")
        there, variable = os.access(program, os.X_OK), self.layout.root_variable
        called = shlex.quote(str(program))
        if self.scope == "project":
            called = "hardwon"
            if there and variable and program.is_relative_to(self.root):
                inside = shlex.quote(program.relative_to(self.root).as_posix())
                called = f'"${variable}"/{inside}'
        elif not there:
            called = f"{shlex.quote(sys.executable)} -P -m hardwon.surfaces.cli.main"
        words = (*before, "hooks", "run", self.agent, *after)
        return f"{called} {shlex.join(words)} || true"

    def find_trouble(self, command: str) -> str:
        """What a shell says when it cannot start the command; empty where it can. It is asked about
        an event that nobody listens to.
        """
        variable = self.layout.root_variable or "HARDWON_NO_ROOT"
        try:
            done = subprocess.run(  # noqa: S603  # nosec B603  # the command that is about to be installed
                ["/bin/sh", "-c", command.removesuffix(" || true")],
                input=b"{}",
                cwd=self.root,
                env={**os.environ, variable: str(self.root), "HARDWON_BACKGROUND": "0"},
                capture_output=True,
                timeout=AGENT_HOOK_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.SubprocessError) as error:
            return str(error)
        words = " ".join(done.stderr.decode(errors="replace").split())
        return words[-200:] or f"exit code {done.returncode}" if done.returncode else ""

    def _is_there(self, command: str) -> bool:
        variable = self.layout.root_variable
        try:
            words = shlex.split(command.replace(f"${{{variable}}}", f"${variable}"))
        except ValueError:
            return False
        program = next((word for word in words if not _ASSIGNED.match(word)), "")
        if variable:
            program = program.replace(f"${variable}", str(self.root))
        return bool(program) and "\0" not in program and shutil.which(program) is not None

    # --- ours in the settings ---

    def _groups(self, settings: Settings) -> Iterator[tuple[str, Settings]]:
        """The event and each of its items that has commands. What has another shape than the
        agent's is not ours to judge, but where we would have to add something to it.
        """
        hooks = settings.get("hooks", {})
        if not isinstance(hooks, dict):
            refuse(self.path, f"its hooks are no object but {shorten(hooks)}")
        for event, groups in hooks.items():
            if not isinstance(groups, list):
                if event in self.layout.events:
                    refuse(self.path, f"its hooks.{event} is no list but {shorten(groups)}")
            elif self.layout.flat:
                yield event, {"hooks": groups}
            else:
                for group in groups:
                    if isinstance(group, dict) and isinstance(group.get("hooks"), list):
                        yield event, group

    def _ours(self, settings: Settings) -> Iterator[tuple[str, Settings]]:
        for event, group in self._groups(settings):
            yield from ((event, entry) for entry in group["hooks"] if self._is_ours(entry))

    def _is_ours(self, entry: object) -> bool:
        command = entry.get("command") if isinstance(entry, dict) else None
        return isinstance(command, str) and bool(self._called.search(command))

    def _add(self, settings: Settings, command: str) -> bool:
        """Whether anything had to change. Where ours is already, it stays in its place."""
        events = self.layout.events
        ours = [(event, entry) for event, entry in self._ours(settings) if event in events]
        there = {event for event, _ in ours}
        changed = len(there) < len(events) or any(entry["command"] != command for _, entry in ours)
        for _, entry in ours:
            entry["command"] = command
        for event, group in self._groups(settings):
            wanted, entries = events.get(event), group["hooks"]
            only_ours = bool(entries) and all(map(self._is_ours, entries))
            if wanted and only_ours and group.get("matcher") == "Bash" != wanted:
                group["matcher"], changed = wanted, True  # of an earlier version
        if self.layout.flat:
            settings.setdefault("version", 1)
        for event in (name for name in events if name not in there):
            matched = {"matcher": events[event]} if events[event] else {}
            own = {"command": command, "timeout": AGENT_HOOK_TIMEOUT_S}
            item = (
                own | matched
                if self.layout.flat
                else {**matched, "hooks": [{"type": "command", **own}]}
            )
            settings.setdefault("hooks", {}).setdefault(event, []).append(item)
        return changed


def try_hooks(root: Path) -> Iterator[Finding]:
    """Starts each command that the agents' settings files of a repository and of the user have for our
    hooks, once; nothing where there is none.
    """
    for agent, layout in LAYOUTS.items():
        for scope in layout.files:
            settings = AgentSettings(agent, scope, root)
            check = f"hooks of {agent}"
            try:
                commands = {hook.command for hook in settings.status() if hook.command}
            except PlaceError as error:
                yield Finding(check, ok=False, detail=str(error))
                continue
            for command in sorted(commands):
                began = time.perf_counter()
                trouble = settings.find_trouble(command)
                ms = (time.perf_counter() - began) * 1_000
                answer = f"it cannot run: {trouble}" if trouble else f"started in {ms:.0f} ms"
                yield Finding(check, not trouble, f"{settings.path}: {command}: {answer}")
