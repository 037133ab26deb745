"""What agents install Hardwon by: built as `make release` does, checked and started."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from command_line import answered, at_once
from hardwon.surfaces.mcp.clients import AGENTS_SECTION
from hardwon.surfaces.mcp.tools import USUAL
from mcp_calls import run
from short import run_program
from test_release import ROOT, module
from test_skills import check

packages = module("packages")
PLUGIN = "plugins/hardwon"
PATH = f"{Path(sys.executable).parent}:{os.environ['PATH']}"


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    (out / "again").mkdir()
    command = [sys.executable, str(ROOT / "release" / "packages.py"), str(out)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1700000000")
        subprocess.run(command, check=True)
        packages.main(out / "again")
    return out


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def one(folder: Path, ending: str) -> Path:
    (found,) = folder.glob(f"hardwon-*{ending}")
    return found


def test_the_same_source_makes_the_same_bytes(dist: Path) -> None:
    for ending in ("-plugins.zip", ".mcpb"):
        assert one(dist, ending).read_bytes() == one(dist / "again", ending).read_bytes()
    with zipfile.ZipFile(one(dist, "-plugins.zip")) as archive:
        folder = dist / "plugins"
        inside = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
        assert set(archive.namelist()) == inside
        assert {entry.date_time for entry in archive.infolist()} == {(2023, 11, 14, 22, 13, 20)}


def test_each_file_is_what_its_format_says(dist: Path) -> None:
    files = [path for path in (dist / "plugins").rglob("*.json") if path.parent.name != "hooks"]
    for path in files:
        (name,) = [each for each in packages.FORMATS if path.as_posix().endswith(f"/{each}")]
        packages.checked(name, read(path))
    assert len(files) == 5
    # whatever a manifest points at is there
    codex = read(dist / PLUGIN / ".codex-plugin/plugin.json")
    for name in ("skills", "mcpServers", "hooks"):
        assert (dist / PLUGIN / codex[name]).exists()
    for market in ("claude-plugin", "agents/plugins"):
        (entry,) = read(dist / "plugins" / f".{market}/marketplace.json")["plugins"]
        source = entry["source"] if isinstance(entry["source"], str) else entry["source"]["path"]
        assert (dist / "plugins" / source).is_dir()
    text = (dist / PLUGIN / "skills/hardwon/SKILL.md").read_text()
    assert check(text, "hardwon").description
    assert text.endswith(AGENTS_SECTION)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (".claude-plugin/plugin.json", {"name": "Hard Won"}), (".claude-plugin/plugin.json", {"mcpServer": "./x"}),
        (".codex-plugin/plugin.json", {"skills": "./../skills"}), (".codex-plugin/plugin.json", {"version": "latest"}),
        ("manifest.json", {"manifest_version": "0.1"}),
    ],
)  # fmt: skip
def test_what_a_reader_would_refuse_is_not_released(name: str, change: dict[str, Any]) -> None:
    about = packages.about_us()
    made = {"manifest.json": packages.manifest(about)}
    made |= {each.removeprefix("hardwon/"): said for each, said in packages.plugins(about).items()}
    said = json.loads(made[name])
    packages.checked(name, said)
    with pytest.raises(jsonschema.ValidationError):
        packages.checked(name, {**said, **change})


def test_the_plugins_server_starts_and_has_the_usual_tools(dist: Path, tmp_path: Path) -> None:
    (server,) = read(dist / PLUGIN / ".mcp.json")["mcpServers"].values()

    async def work() -> None:
        env = {**os.environ, "PATH": PATH}
        started = StdioServerParameters(**server, env=env, cwd=str(tmp_path))
        async with Client(stdio_client(started)) as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            assert listed == [name for name, tool in USUAL.items() if tool.scope != "govern"]

    run(work)


@pytest.mark.parametrize(("file", "agent"), [("hooks", "claude-code"), ("codex", "codex")])
def test_the_plugins_hooks(dist: Path, file: str, agent: str, tmp_path: Path) -> None:
    hooks = read(dist / PLUGIN / f"hooks/{file}.json")["hooks"]
    assert {"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"} <= hooks.keys()
    entries = [entry for items in hooks.values() for item in items for entry in item["hooks"]]
    commands = {entry["command"] for entry in entries}
    assert commands == {f"hardwon hooks run {agent} || true"}
    command = commands.pop().removesuffix(" || true")
    event = json.dumps({"hook_event_name": "SessionStart", "cwd": str(tmp_path)})
    env = {**os.environ, "PATH": PATH, "HARDWON_BACKGROUND": "0"}
    assert run_program("sh", "-c", command, input=event, env=env, cwd=tmp_path).stderr == ""


def test_the_bundle_holds_all_that_it_is_built_from(dist: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    with zipfile.ZipFile(one(dist, ".mcpb")) as archive:
        archive.extractall(bundle)
    manifest = read(bundle / "manifest.json")
    packages.checked("manifest.json", manifest)
    assert (bundle / manifest["server"]["entry_point"]).is_file()
    assert [tool["name"] for tool in manifest["tools"]] == list(USUAL)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "out")]
    run_program(*build, cwd=bundle)
    with zipfile.ZipFile(one(tmp_path / "out", ".whl")) as wheel:
        assert "hardwon/surfaces/mcp/server.py" in wheel.namelist()


@pytest.mark.usefixtures("own_folder")
def test_agents_are_told_in_a_section_of_their_file(tmp_path: Path) -> None:
    path = tmp_path / "AGENTS.md"
    at_once("init")
    assert not path.exists()
    assert at_once("init", "--agents").exit_code == 0
    text = path.read_text()
    assert AGENTS_SECTION in text
    own = "# Ours\n\nBe kind.\n"
    path.write_text(own)
    path.chmod(0o600)
    answered("init", "--agents")
    assert path.read_text() == f"{own}\n{text}"
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text(path.read_text().replace("experience memory", "old words") + "More.\n")
    for _ in range(2):
        answered("init", "--agents")
        assert path.read_text() == f"{own}\n{text}More.\n"
