"""Real git repositories for tests."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_IDENTITY = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
_HERE = ["-c", "protocol.file.allow=always", "-c", "commit.gpgsign=false"]


def git(folder: Path, *arguments: str) -> str:
    free = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", *_IDENTITY, *_HERE, *arguments]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, env=free)
    return done.stdout.strip()


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def commit(folder: Path, message: str = "work") -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def body(name: str) -> str:
    """Long enough that git knows it again after a small change."""
    return "".join(f"{name} = {line}  # what line {line} of {name} says\n" for line in range(40))


def new_repository(folder: Path) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    for name in ("src/app.py", "src/login.py", "README.md"):
        write(folder, name, body(name))
    commit(folder, "first")
    return folder
