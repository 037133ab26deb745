"""What MCP clients are told, and how it gets into their files."""

from __future__ import annotations

import json
import os
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

from command_line import answered, at_once, refused
from hardwon.surfaces.mcp.clients import CLIENTS
from mcp_calls import HELLO, SOURCE
from short import run_program

JSON_CLIENTS = [name for name, client in CLIENTS.items() if not client.is_toml]
OTHER = {"command": "npx", "args": ["-y", "other"], "env": {"KEY": "wörd"}}

pytestmark = pytest.mark.usefixtures("own_folder")


def file_of(name: str, *options: str) -> Path:
    return Path(answered("mcp", "install", name, *options)["file"])


@pytest.mark.parametrize("name", CLIENTS)
def test_what_a_client_needs_is_printed_and_nothing_written(name: str, tmp_path: Path) -> None:
    words = "mcp --scope govern --author me install".split()
    done = at_once("--project", "it's", *words, name)
    assert done.exit_code == 0
    client = CLIENTS[name]
    read: dict[str, Any] = tomllib.loads(done.stdout) if client.is_toml else json.loads(done.stdout)
    entry = read[client.key]["hardwon"]
    brain = str(tmp_path / "brain")
    said = ["--memory", brain, "--project", "it's", "mcp", "--author", "me", "--scope", "govern"]
    assert entry["args"][-len(said) :] == said
    assert entry.get("type") == ("stdio" if client.typed else None)
    assert f"this belongs in {file_of(name)}" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_command_that_is_written_starts_the_server(tmp_path: Path) -> None:
    command = answered("mcp", "install", "claude-desktop")["command"]
    hello, env = json.dumps(HELLO) + "\n", {**os.environ, "PYTHONPATH": SOURCE}
    done = run_program(*command, input=hello, cwd="/", env=env, timeout=60)
    assert json.loads(done.stdout)["result"]["serverInfo"]["name"] == "hardwon"
    assert (tmp_path / "brain" / "memory.db").exists()


def test_the_clients_own_command_is_told_where_it_has_one() -> None:
    said = at_once("mcp", "install", "claude-code", "--name", "my memory").stderr.strip()
    words = shlex.split(said.rpartition("or run: ")[2])
    assert words[:5] == ["claude", "mcp", "add", "my memory", "--"]
    assert words[-1] == "mcp"


@pytest.mark.parametrize("options", [(), ("--user",)])
@pytest.mark.parametrize("name", JSON_CLIENTS)
def test_it_is_written_beside_others(name: str, options: tuple[str, ...], tmp_path: Path) -> None:
    path, key = file_of(name, *options), CLIENTS[name].key
    assert tmp_path in path.parents
    path.parent.mkdir(parents=True, exist_ok=True)
    before = {"theme": "dark", key: {"other": OTHER}, "last": [1, 2.5, None]}
    path.write_text(json.dumps(before))
    path.chmod(0o640)
    assert answered("mcp", "install", name, *options, "--write")["written"] is True
    after = json.loads(path.read_text())
    assert list(after) == ["theme", key, "last"]
    assert after[key].pop("hardwon")["args"][-1] == "mcp"
    assert after == before
    assert "wörd" in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o640
    assert answered("mcp", "install", name, *options, "--write")["written"] is False
    assert [each.name for each in path.parent.iterdir() if each.is_file()] == [path.name]


def test_a_file_that_is_not_there_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    done = at_once("mcp", "install", "cursor", "--write")
    path = tmp_path / ".cursor" / "mcp.json"
    assert done.stdout == f"hardwon is now in {path}; start Cursor anew to use it\n"
    assert json.loads(path.read_text()).keys() == {"mcpServers"}
    assert path.stat().st_mode & 0o777 == 0o600
    again = at_once("mcp", "install", "cursor", "--write").stdout
    assert again.startswith("hardwon is already in ")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"{ // mine\n}", "not plain JSON"),
        (b'{"mcpServers": {},}', "not plain JSON"),
        (b'{"a": 1, "a": 2}', "a key stands twice"),
        (b"[1]", "it holds no object but [1]"),
        (b'{"mcpServers": []}', "its mcpServers is no object but []"),
        (b"\xff\xfe{}", "not plain JSON"),
        (b'{"a": 1e999}', "the number 1e999 is too large"),
        (b'{"a": NaN}', "NaN is no number of JSON"),
        (b"[" * 100_000, "not plain JSON"),
    ],
)
def test_a_file_that_is_not_understood_is_left_alone(text: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / ".mcp.json"
    path.write_bytes(text)
    assert why in refused("mcp", "install", "claude-code", "--write")
    assert path.read_bytes() == text
    assert [each.name for each in tmp_path.iterdir()] == [".mcp.json"]


def test_toml_is_printed_and_never_written(tmp_path: Path) -> None:
    assert "codex" in at_once("mcp", "install", "codex").stderr
    assert "is TOML" in refused("mcp", "install", "codex", "--write")
    assert list(tmp_path.iterdir()) == []


def test_no_server_that_fails_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    for command in (["mcp", "install", "cursor", "--write"], ["mcp"]):
        problem = refused(*command)
        assert "an MCP server needs mcp" in problem
        assert "in a checkout of Hardwon: pip install '.[mcp]'" in problem
    assert list(tmp_path.iterdir()) == []
    assert "hardwon" in answered("mcp", "install", "cursor")["command"][0]
