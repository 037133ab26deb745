"""What agents install Hardwon by, made from pyproject.toml and the program itself,
and checked against what each of them says of its format:

    plugins/                      a marketplace of plugins for Claude Code and Codex, as a folder
    hardwon-VERSION-plugins.zip   the same
    hardwon-VERSION.mcpb          a bundle for desktop apps (MCPB 0.4, run by uv)

The same source makes the same bytes: the time inside of archives is `SOURCE_DATE_EPOCH`.
"""

import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import jsonschema

from hardwon.capture.agent_settings import AgentSettings
from hardwon.surfaces.mcp.clients import AGENTS_SECTION
from hardwon.surfaces.mcp.reading import PROMPTS
from hardwon.surfaces.mcp.tools import USUAL

ROOT: Final = Path(__file__).resolve().parent.parent
SERVER: Final = {"hardwon": {"command": "hardwon", "args": ["mcp"]}}

# --- what the formats allow ---


def _shape(optional: Sequence[str] = (), /, **fields: Any) -> dict[str, Any]:
    """An object with these fields and no others: a reader would skip them without a word."""
    return {
        "type": "object",
        "properties": fields,
        "required": [name for name in fields if name not in optional],
        "additionalProperties": False,
    }


def _text(pattern: str = "", most: int = 10_000) -> dict[str, Any]:
    said = {"type": "string", "minLength": 1, "maxLength": most}
    return {**said, "pattern": pattern} if pattern else said


def _list(of: Any, least: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": of, "minItems": least}


_WORDS: Final = _list(_text())
_KEBAB: Final = _text("^[a-z0-9]+(-[a-z0-9]+)*$", 64)
_VERSION: Final = _text(r"^\d+\.\d+\.\d+([-+.][0-9A-Za-z.-]+)?$", 255)
_INSIDE: Final = _text(r"^\./(?!.*\.\.)")  # a path below the file's own folder
_PERSON: Final = _shape(("email", "url"), name=_text(), email=_text(), url=_text())
_STARTED: Final = _shape(
    ("args", "env"),
    command=_text(),
    args=_WORDS,
    env={"type": "object", "additionalProperties": _text()},
)
_ABOUT: Final = {
    "name": _KEBAB,
    "version": _VERSION,
    "description": _text(),
    "author": _PERSON,
    "license": _text(),
    "keywords": _WORDS,
}
_CODEX_INTERFACE: Final = _shape(
    displayName=_text(),
    shortDescription=_text(),
    longDescription=_text(),
    developerName=_text(),
    category=_text(),
    capabilities=_list({"enum": ["Interactive", "Read", "Write"]}),
)
_CODEX_ENTRY: Final = _shape(
    name=_KEBAB,
    source=_shape(source={"const": "local"}, path=_INSIDE),
    policy=_shape(
        installation={"enum": ["AVAILABLE", "INSTALLED_BY_DEFAULT", "NOT_AVAILABLE"]},
        authentication={"enum": ["ON_INSTALL", "ON_USE"]},
    ),
    category=_text(),
)
_SETTING: Final = _shape(
    type={"enum": ["string", "number", "boolean", "directory", "file"]},
    title=_text(),
    description=_text(),
    required={"type": "boolean"},
    default=_text(),
)
# What each format says of its file, in our words, as far as we use it.
FORMATS: Final[Mapping[str, Mapping[str, Any]]] = {
    ".claude-plugin/plugin.json": _shape(**_ABOUT),
    ".claude-plugin/marketplace.json": _shape(
        name=_KEBAB,
        owner=_PERSON,
        plugins=_list(_shape(name=_KEBAB, source=_INSIDE, description=_text()), 1),
    ),
    ".codex-plugin/plugin.json": _shape(
        **_ABOUT, skills=_INSIDE, mcpServers=_INSIDE, hooks=_INSIDE, interface=_CODEX_INTERFACE
    ),
    ".agents/plugins/marketplace.json": _shape(
        name=_KEBAB, interface=_shape(displayName=_text()), plugins=_list(_CODEX_ENTRY, 1)
    ),
    ".mcp.json": _shape(mcpServers={"type": "object", "additionalProperties": _STARTED}),
    "manifest.json": _shape(
        manifest_version={"const": "0.4"},
        **_ABOUT,
        display_name=_text(),
        server=_shape(type={"const": "uv"}, entry_point=_text(), mcp_config=_STARTED),
        tools=_list(_shape(name=_text(), description=_text())),
        prompts_generated={"type": "boolean"},
        compatibility=_shape(
            platforms=_list({"enum": ["darwin", "win32", "linux"]}),
            runtimes=_shape(python=_text()),
        ),
        user_config={"type": "object", "additionalProperties": _SETTING},
    ),
}


def checked(name: str, said: Mapping[str, Any]) -> str:
    """A file of this name as JSON, once it is what the format says."""
    jsonschema.validate(said, FORMATS[name])
    return json.dumps(said, indent=2, ensure_ascii=False) + "\n"


# --- what is in them ---


def plugins(about: Mapping[str, Any]) -> dict[str, str]:
    """A marketplace with one plugin, which both agents read: each file and its text."""
    entry = {"name": "hardwon", "description": about["description"]}
    local = {"source": "local", "path": "./hardwon"}
    policy = {"installation": "AVAILABLE", "authentication": "ON_INSTALL"}
    shown = {
        "displayName": "Hardwon",
        "shortDescription": "What was tried here, and how it turned out",
        "longDescription": about["description"],
        "developerName": about["author"]["name"],
        "category": "Productivity",
        "capabilities": ["Read", "Write"],
    }
    codex = {
        **about,
        "skills": "./skills/",
        "mcpServers": "./.mcp.json",
        "hooks": "./hooks/codex.json",
        "interface": shown,
    }
    head = (
        "---\nname: hardwon\ndescription: Ask this project's experience memory before a task, an "
        "error or a risky command, and tell it how things turned out.\n---\n\n"
    )
    return {
        ".claude-plugin/marketplace.json": checked(
            ".claude-plugin/marketplace.json",
            {
                "name": "hardwon",
                "owner": about["author"],
                "plugins": [{**entry, "source": "./hardwon"}],
            },
        ),
        ".agents/plugins/marketplace.json": checked(
            ".agents/plugins/marketplace.json",
            {
                "name": "hardwon",
                "interface": {"displayName": "Hardwon"},
                "plugins": [
                    {
                        "name": "hardwon",
                        "source": local,
                        "policy": policy,
                        "category": "Productivity",
                    }
                ],
            },
        ),
        "hardwon/.claude-plugin/plugin.json": checked(".claude-plugin/plugin.json", about),
        "hardwon/.codex-plugin/plugin.json": checked(".codex-plugin/plugin.json", codex),
        "hardwon/.mcp.json": checked(".mcp.json", {"mcpServers": SERVER}),
        "hardwon/hooks/hooks.json": _hooks("claude-code"),
        "hardwon/hooks/codex.json": _hooks("codex"),
        "hardwon/skills/hardwon/SKILL.md": head + AGENTS_SECTION,
    }


def _hooks(agent: str) -> str:
    nowhere = AgentSettings(agent, "project", ROOT / "nowhere")
    return nowhere.plan(f"hardwon hooks run {agent} || true")


def manifest(about: Mapping[str, Any]) -> str:
    run = ["run", "--project", "${__dirname}", "--extra", "mcp", "hardwon", "mcp"]
    memory = {
        "type": "directory",
        "title": "Where the memory is kept",
        "description": "A folder of its own. Each project that you work on may have another.",
        "required": False,
        "default": "${HOME}/hardwon-memory",
    }
    return checked(
        "manifest.json",
        {
            "manifest_version": "0.4",
            **about,
            "display_name": "Hardwon",
            "server": {
                "type": "uv",
                "entry_point": "src/hardwon_cli/__init__.py",
                "mcp_config": {
                    "command": "uv",
                    "args": run,
                    "env": {"HARDWON_MEMORY": "${user_config.memory}"},
                },
            },
            "tools": [{"name": name, "description": tool.title} for name, tool in USUAL.items()],
            "prompts_generated": bool(PROMPTS),
            "compatibility": {
                "platforms": ["darwin", "linux"],
                "runtimes": {"python": ">=3.11"},
            },
            "user_config": {"memory": memory},
        },
    )


def about_us() -> dict[str, Any]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {
        "name": project["name"],
        "version": project["version"],
        "description": project["description"],
        "author": project["authors"][0],
        "license": project["license"],
        "keywords": project["keywords"],
    }


def write_zip(path: Path, files: Mapping[str, bytes]) -> None:
    at = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", "315532800")))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(name, at)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)


def main(out: Path) -> None:
    about = about_us()
    folder, start = out / "plugins", f"hardwon-{about['version']}"
    shutil.rmtree(folder, ignore_errors=True)
    files = {name: text.encode() for name, text in plugins(about).items()}
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    write_zip(out / f"{start}-plugins.zip", files)
    listed = subprocess.run(  # our own command
        ["git", "ls-files", "-co", "--exclude-standard", "-z", "src"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    names = ["pyproject.toml", "README.md", "LICENSE", *filter(None, listed)]
    bundled = {name: (ROOT / name).read_bytes() for name in names if (ROOT / name).is_file()}
    write_zip(out / f"{start}.mcpb", {"manifest.json": manifest(about).encode(), **bundled})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
