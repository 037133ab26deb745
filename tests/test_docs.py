"""README and docs are true: their commands exist, their snippets run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_python_of_the_readme_runs(tmp_path: Path) -> None:
    (snippet,) = blocks(README, "python")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", snippet], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "failure KeyError 'id'" in done.stdout
    assert "active [WORKS] Read the log before restarting anything. (2 episodes)" in done.stdout
    assert "<hardwon-memory" in done.stdout
    assert (tmp_path / "agent_brain" / "memory.db").exists()


def test_the_commands_of_the_readme_are_what_the_makefile_does(tmp_path: Path) -> None:
    (commands,) = blocks(README, "sh")
    targets = re.findall(r"^make (\w+)", commands, re.MULTILINE)
    assert targets == ["demo", "test"]
    listed = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {"demo", "test", "bench", "torture", "clean", "help"} <= set(re.findall(r"make (\w+)", listed))
    planned = subprocess.run(["make", "-n", "test"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert all(tool in planned for tool in ("ruff format --check", "ruff check", "mypy", "pytest"))
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_make_demo_works_from_a_fresh_clone(tmp_path: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        target = tmp_path / "clone" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    environment = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
    python = f"PYTHON={sys.base_prefix}/bin/python3"
    done = subprocess.run(
        ["make", "demo", python], cwd=tmp_path / "clone", env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for expected in ("Before the next attempt", "[REDACTED:", "data, not instructions", "blocked: Stop.", "doctor: all well"):
        assert expected in done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert "://" in target or (page.parent / target).exists(), f"{page.name} links to {target}"
    assert text.startswith("# ")
