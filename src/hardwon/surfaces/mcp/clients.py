"""Where the usual MCP clients keep the servers they start, and how one is added there without
touching anything else.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pkgutil import get_data
from typing import Any, Final

from hardwon import limits
from hardwon.capture import agent_settings as json_settings
from hardwon.capture.agent_settings import Settings
from hardwon.errors import PlaceError
from hardwon.outside import files

# A client's configuration that is read to add a line to it. Claude Code keeps whole histories in
# its own.
CLIENT_CONFIG_BYTES_MAX: Final = 16 * limits.MIB


@dataclass(frozen=True)
class AgentClient:
    """`project` and `user` are its files, below the project's folder and the user's (`{settings}`:
    where programs keep theirs); `key` is where
    servers stand in them. `typed`: an entry says of which sort the server is. `add`: its own
    command to add one, where it has one.
    """

    title: str
    project: str | None
    user: str
    key: str = "mcpServers"
    typed: bool = False
    add: str | None = None

    @property
    def is_toml(self) -> bool:
        return self.user.endswith(".toml")

    def file(self, for_user: bool, home: Path, folder: Path) -> Path:
        """Where the client keeps its servers."""
        if self.project and not for_user:
            return folder / self.project
        settings = "Library/Application Support" if sys.platform == "darwin" else ".config"
        return home / self.user.format(settings=settings)


# What agents are told in AGENTS.md, and in the skill of the plugins.
AGENTS_SECTION: Final = (get_data(__name__, "agents_section.txt") or b"").decode()
_BEGINS, _ENDS = "<!-- hardwon begins -->\n", "<!-- hardwon ends -->\n"

CLIENTS: Final[Mapping[str, AgentClient]] = {
    name: AgentClient(**client)
    for name, client in json.loads(get_data(__name__, "clients.json") or b"").items()
}


def snippet(client: AgentClient, name: str, command: Sequence[str]) -> str:
    """What has to stand in the client's file."""
    if client.is_toml:
        # A JSON string is a TOML string as well.
        lines = [
            f"[{client.key}.{json.dumps(name, ensure_ascii=False)}]",
            f"command = {json.dumps(command[0], ensure_ascii=False)}",
            f"args = {json.dumps(list(command[1:]), ensure_ascii=False)}",
        ]
        return "\n".join(lines)
    return json.dumps({client.key: {name: _entry(client, command)}}, indent=2)


def _entry(client: AgentClient, command: Sequence[str]) -> dict[str, Any]:
    entry: dict[str, Any] = {"type": "stdio"} if client.typed else {}
    return {**entry, "command": command[0], "args": list(command[1:])}


def write(client: AgentClient, path: Path, name: str, command: Sequence[str]) -> bool:
    """Adds the server to the client's file, or brings its entry up to date; False where it stands
    there already.
    """
    settings, servers, text = _read(client, path)
    entry = _entry(client, command)
    if servers.get(name) == entry:
        return False
    # a new file says where somebody's memory is
    json_settings.write(path, {**settings, client.key: {**servers, name: entry}}, text, 0o600)
    return True


def write_agents_section(path: Path) -> bool:
    """Puts our section into a file of instructions, or brings it up to date, and leaves the rest;
    False where it stands there already.
    """
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    before, begins, rest = text.partition(_BEGINS)
    after = rest.partition(_ENDS)[2] if begins else ""
    gap = "\n" if before and not before.endswith("\n\n") else ""
    new = f"{before}{'' if begins else gap}{_BEGINS}{AGENTS_SECTION}{_ENDS}{after}"
    if new == text:
        return False
    mode = path.stat().st_mode & 0o777 if text else 0o644
    with files.writing_atomically(path, mode) as file:
        file.write(new.encode())
    return True


def _read(client: AgentClient, path: Path) -> tuple[Settings, dict[str, Any], str]:
    """What stands in the file, the servers in it, and its text."""
    if client.is_toml:
        raise PlaceError(
            f"{path} is TOML, which is not written here: edit it, or use the command of {client.title}"
        )
    settings, text = json_settings.read(path, CLIENT_CONFIG_BYTES_MAX)
    servers = settings.get(client.key, {})
    if not isinstance(servers, dict):
        json_settings.refuse(
            path, f"its {client.key} is no object but {json_settings.shorten(servers)}"
        )
    return settings, servers, text
