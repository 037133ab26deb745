"""The command line under test: as a process, in this one, on a terminal; and its page."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import subprocess
import sys
import termios
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

import warm
from hardwon.surfaces.cli.main import app
from hardwon.surfaces.operations import OPERATIONS
from hardwon.surfaces.shapes import jsonable, make_schema, parse
from short import run_program

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "docs"))
PAGE = __import__("generating.cli").cli.page()


def _flat(group: Any, before: str = "") -> dict[str, Any]:
    """By name; those that have a word before them, with that word."""
    flat: dict[str, Any] = {}
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "commands"):
            flat |= _flat(command, f"{name} ")
        elif not command.hidden:
            flat[before + name] = command
    return flat


BUILT = _flat(typer.main.get_group(app))
COMMANDS = list(BUILT)
OPERATION_OF = {
    each.command: each
    for each in OPERATIONS.values()
    if each.command and "\n\nJSON" not in BUILT[each.command].help
}
"""Of a command that prints what HTTP answers: of the others, the help tells the keys."""
EXAMPLES = [
    (name, line.strip())
    for name, command in ((name, BUILT[name]) for name in COMMANDS)
    for line in str(command.help).partition("Examples:")[2].splitlines()
    if line.strip().startswith("hardwon ")
]


def settle(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In this folder, its memory in `brain`, and nothing around that changes what is printed."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HARDWON_MEMORY", "brain")
    ours = "HARDWON_PROJECT HARDWON_AUTHOR HARDWON_AIMEMORY NO_COLOR COLUMNS"
    for name in f"{ours} GROQ_API_KEY API_BASE_URL EMBEDDING_API_KEY".split():
        monkeypatch.delenv(name, raising=False)


def hardwon_does(
    *arguments: str, stdin: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    command = (warm.python(), "-m", warm.MAIN, *arguments)
    return run_program(*command, status=None, input=stdin, env={**os.environ, **environment})


def ran(*arguments: str) -> str:
    """What a command printed that ends well and complains of nothing."""
    done = hardwon_does(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def install_command(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`hardwon` as an installed command, of the code under test."""
    folder.mkdir()
    (folder / "hardwon").write_text(f'#!/bin/sh\nexec {warm.python()} -m {warm.MAIN} "$@"\n')
    (folder / "hardwon").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def at_once(*arguments: str, stdin: str | None = None) -> Result:
    """The same without a process of its own."""
    return CliRunner().invoke(app, arguments, input=stdin, prog_name="hardwon")


def answered(*arguments: str, complaints: bool = False) -> Any:
    done = at_once(*arguments, "--json")
    assert done.exit_code == 0, done.output
    assert complaints or done.stderr == ""
    return json.loads(done.stdout)


def refused(*arguments: str, code: int = 1) -> str:
    """What is said about it, in one line."""
    done = at_once(*arguments)
    assert (done.exit_code, done.stdout) == (code, ""), done.output
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("hardwon: ")
    return done.stderr.removeprefix("hardwon: ").rstrip("\n")


def on_a_terminal(
    *arguments: str, answer: str | None = None, code: int = 0, **environment: str
) -> str:
    """What is shown on a terminal of 100 columns; an `answer` is typed once it asks."""
    ours, theirs = pty.openpty()
    shown = bytearray()

    def read() -> None:
        typed = answer is None
        try:
            while data := os.read(ours, 65536):
                shown.extend(data)
                if not typed and b"[y/N] " in shown:
                    os.write(ours, str(answer).encode())
                    typed = True
        except OSError:  # the other side is closed
            pass

    reader = threading.Thread(target=read)
    reader.start()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", **environment}
    told = subprocess.DEVNULL if answer is None else theirs
    sides: Any = {"stdin": told, "stdout": theirs, "stderr": theirs, "env": env, "timeout": 120}
    done = subprocess.run(
        [sys.executable, "-m", "hardwon.surfaces.cli.main", *arguments],
        **sides,
        check=False,
        start_new_session=True,
        # what is typed there, Ctrl-C as well, is for it
        preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0),
    )
    os.close(theirs)
    reader.join(timeout=30)
    os.close(ours)
    assert done.returncode == code, shown.decode()
    return shown.decode()


def keys_of(value: Any) -> set[str]:
    """Its own, and those of a list's items; of a record those that every one has."""
    if isinstance(value, list):
        return set().union(*map(keys_of, value))
    if isinstance(value, Mapping) and {"id", "kind", "metadata"} <= value.keys():
        return {"id", "kind", "metadata"}
    return set(value) if isinstance(value, Mapping) else set()


def section_of(command: str) -> str:
    """What the page says of a command; of a word before others, with all of those."""
    heading = "####" if " " in command else "###"
    section = rf"^{heading} {command}\n(.*?)(?=^#{{2,{len(heading)}}} |\Z)"
    found = re.search(section, PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"docs/reference/cli.md has no section on {command}"
    return found.group(1)


def keys_told_of(command: str) -> set[str]:
    """The keys of its JSON that the page names."""
    said = re.findall(r"^JSON.*?(?=^$|\Z)", section_of(command), re.MULTILINE | re.DOTALL)
    assert said, f"docs/reference/cli.md does not tell what {command} --json prints"
    text = " ".join(" ".join(said).split())
    elsewhere = re.findall(r"as `hardwon ([\w -]+)` prints it", text)
    meant = [each for each in OPERATIONS.values() if f"[`{each.method} {each.path}`]" in text]
    of_http = [_properties(make_schema(each.gives)) for each in meant]
    return set(re.findall(r"`(\w+)`", text)).union(*map(keys_told_of, elsewhere), *of_http)


def _properties(schema: Any) -> set[str]:
    """The names of fields, however deep."""
    if isinstance(schema, dict):
        own = set(schema.get("properties", {}))
        return own.union(*map(_properties, schema.values()))
    return set[str]().union(*map(_properties, schema)) if isinstance(schema, list) else set()


def healthy() -> bool:
    """Whether doctor finds nothing wrong with the memory."""
    return all(finding["ok"] for finding in answered("doctor")["findings"])


def check_json(command: str, found: Any) -> None:
    """It is what HTTP gives for the same operation; otherwise its page tells every key."""
    words = command.split()
    command = next(name for n in (2, 1) if (name := " ".join(words[:n])) in BUILT)
    if operation := OPERATION_OF.get(command):
        assert jsonable(parse(operation.gives, found)) == found
    else:
        # its own keys are issue types
        by_type = command == "fix-history successful"
        keys = set().union(*map(keys_of, found.values())) if by_type else keys_of(found)
        assert keys <= keys_told_of(command), command


def as_http_answers(words: str, *arguments: str, complaints: bool = False) -> Any:
    """What a command prints as JSON, which is what HTTP gives for the same operation."""
    found = answered(*words.split(), *arguments, complaints=complaints)
    assert jsonable(parse(OPERATION_OF[words].gives, found)) == found
    return found
