"""Little projects with tests of their own, in real repositories, and runs of pytest there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import hardwon
import warm
from hardwon import Memory
from short import run_program

SOURCE = Path(hardwon.__file__).parent.parent
LOADED = ("pytest", "apsw", "pydantic")
"""Not hardwon itself: whether it is loaded is what some ask for."""

WRONG = "def add(one, other):\n    return one - other\n"
RIGHT = "def add(one, other):\n    return one + other\n"
TESTS = "from calc import add\n\n\ndef test_addition():\n    assert add(1, 2) == 3\n"


def git(folder: Path, *arguments: str, **more: str) -> str:
    return run_program("git", *arguments, cwd=folder, env=environment(**more)).stdout.strip()


def environment(**more: str) -> dict[str, str]:
    """Without what whoever runs these tests has set, and with an identity to commit under."""
    theirs = ("PYTEST", "HARDWON", "GIT_", "PYTHON")
    kept = {name: os.environ[name] for name in os.environ if not name.startswith(theirs)}
    roles = ("GIT_AUTHOR", "GIT_COMMITTER")
    who = {f"{role}_NAME": "t" for role in roles}
    who |= {f"{role}_EMAIL": "t@example.org" for role in roles}
    return kept | who | {"GIT_CONFIG_NOSYSTEM": "1", "PYTHONDONTWRITEBYTECODE": "1"} | more


class Project:
    """A checkout with calc.py, which is wrong, its test, and a memory beside it."""

    def __init__(self, folder: Path) -> None:
        names = ("project", "brain", "installed")
        self.folder, self.brain, self._installed = (folder / name for name in names)
        self.folder.mkdir()
        git(self.folder, "init", "-q", "-b", "main")
        self.write("pytest.ini", "[pytest]\n")
        self.write(".gitignore", ".pytest_cache\n__pycache__\n")
        self.write("calc.py", WRONG)
        self.write("tests/test_calc.py", TESTS)
        self.write("conftest.py", "")
        self.commit("first")
        self._register()

    def _register(self) -> None:
        """As an installer would: the entry point is in a distribution's metadata."""
        metadata = self._installed / "hardwon_entry-1.dist-info"
        metadata.mkdir(parents=True)
        told = "Metadata-Version: 2.1\nName: hardwon-entry\nVersion: 1\n"
        (metadata / "METADATA").write_text(told)
        (metadata / "entry_points.txt").write_text("[pytest11]\nhardwon = hardwon_pytest\n")

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def commit(self, message: str, *options: str) -> str:
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-q", "-m", message, *options, **self.environment)
        return git(self.folder, "rev-parse", "HEAD")

    @property
    def environment(self) -> dict[str, str]:
        path = f"{SOURCE}{os.pathsep}{self._installed}"
        return environment(PYTHONPATH=path, HARDWON_MEMORY=str(self.brain))

    def pytest(
        self, *arguments: str, before: Any = None, more: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        # what is done before it starts is done to a Python that starts
        python = sys.executable if before else warm.python(*LOADED)
        command = (python, "-m", "pytest", "-q", *without_our_plugins(), *arguments)
        started: dict[str, Any] = {"cwd": self.folder, "env": self.environment | dict(more or {})}
        return run_program(*command, status=None, preexec_fn=before, **started)

    def memory(self) -> Memory:
        """As an agent in the checkout opens it (the caller is in its folder)."""
        return Memory(self.brain)


def without_our_plugins() -> list[str]:
    """Options of pytest: what these tests have installed a little project has not."""
    names = {plugin.name for plugin in entry_points(group="pytest11")}
    return [f"-pno:{name}" for name in sorted(names - {"hardwon", "xdist", "xdist.looponfail"})]


def said(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Our lines of a run's output."""
    return [line for line in done.stdout.splitlines() if "hardwon" in line]
