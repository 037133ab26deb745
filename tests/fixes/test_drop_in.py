"""`hardwon drop-in`: a project with modules beside its scripts changes over and back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import warm
from command_line import ROOT, answered, at_once, install_command, refused
from hardwon.capture.agent_settings import AGENT_SETTINGS_BYTES_MAX
from hardwon.fixes.ai_memory import AIMemory
from hardwon.surfaces.cli import drop_in
from short import run_program

# What an older project holds, as far as anybody can tell it by: none of it is to be run.
OLDER = {
    "training/memory.py": "def load_agent_memory(path): raise SystemExit('the older one')",
    "Scripts/ai_memory.py": "class AIMemory: raise SystemExit('the older one')",
    "memory.py": "class MemoryEngine: raise SystemExit('the older one')",
    "memory.sh": '#!/bin/bash\nexec "$(dirname "$0")/Scripts/memory_cli.sh" "$@"',
    "Scripts/memory_cli.sh": '#!/bin/bash\npython3 "$HERE/ai_memory.py" stats',
}
PACKAGES = {"training/__init__.py": "", "Scripts/__init__.py": ""}
SCRIPTS = {
    # at the top of the project, as modules of a package, and beside the module
    "train.py": """
import training.memory
from training.memory import load_agent_memory, record_episode, save_agent_memory
from training.rewards import SCALE
memory = record_episode(load_agent_memory(), {"task_id": "t", "score": SCALE / 4, "steps": 1})
save_agent_memory(memory)
training.memory.CONSOLIDATION_EVERY = 1
print(training.memory.maybe_consolidate_memory(memory)["last_consolidated_at"])
""",
    "fix.py": """
from Scripts.ai_memory import AIMemory
print(AIMemory().record_fix_attempt({"model": "m", "issue_type": "ERROR"}, {}, True, True, 1.0))
""",
    "Scripts/fix_again.py": """
from ai_memory import AIMemory
print(AIMemory().get_memory_stats()["total_fixes_attempted"])
""",
    "remember.py": """
from memory import MemoryEngine
print(MemoryEngine("brain").remember("It works", "success", tool="code_interpreter", task_type="write") != "")
""",
}

pytestmark = pytest.mark.usefixtures("own_folder")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "a project"
    for name, text in {**OLDER, **SCRIPTS, "training/rewards.py": "SCALE = 3", **PACKAGES}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for name in ("memory.sh", "Scripts/memory_cli.sh"):
        (folder / name).chmod(0o750)
    return folder


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """With the drop-ins on the path as well, which is of no use here: one's own folder is first."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "drop_in")}
    return run_program(*command, status=None, cwd=cwd, env=environment)


def test_scripts_both_ways(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = warm.python()
    assert "the older one" in run(python, "fix.py", cwd=project).stderr
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "drop_in"))
    done = answered("drop-in", "install", str(project))
    assert done == {"installed": list(OLDER), "already": [], "left": []}

    assert run(python, "train.py", cwd=project).stdout == "1\n"
    # wherever it is called from, the memory is the project's
    assert run(python, project / "fix.py", cwd=tmp_path).stdout == "1\n"
    assert run(python, project / "Scripts/fix_again.py", cwd=tmp_path).stdout == "1\n"
    assert run(python, "remember.py", cwd=project).stdout == "True\n"
    assert (project / "AIMemory" / "ai_memory.db").exists()
    module = project / "Scripts" / "ai_memory.py"
    stats = run(python, module, "stats", cwd=tmp_path)
    assert (stats.returncode, stats.stdout.splitlines()[1]) == (0, "  total_fixes_attempted: 1")
    model = run(python, module, "model", "m", cwd=tmp_path)
    assert json.loads(model.stdout)["total_tests"] == 1
    assert run(python, module, "export", "all.json", cwd=tmp_path).returncode == 0
    statistics = json.loads((tmp_path / "all.json").read_text())["statistics"]
    assert statistics["total_fixes_attempted"] == 1
    for wrong in ((), ("forget",), ("model",)):
        told = run(python, module, *wrong, cwd=tmp_path)
        assert (told.returncode, told.stdout) == (1, "")
        assert "Usage:" in told.stderr

    names = ("memory.sh", "training/memory.py", "train.py")
    mode, *others = ((project / name).stat().st_mode & 0o777 for name in names)
    assert (mode, len(set(others))) == (0o750, 1)
    assert answered("drop-in", "install", str(project))["already"] == list(OLDER)
    assert answered("drop-in", "remove", str(project)) == {"restored": list(OLDER), "removed": []}
    assert {name: (project / name).read_text() for name in OLDER} == OLDER
    assert not list(project.rglob("*.before-hardwon"))
    assert "none of Hardwon's modules" in at_once("drop-in", "remove", str(project)).stdout


def test_memory_sh_is_there(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once("drop-in", "install", str(project))
    with AIMemory(project / "AIMemory") as history:
        history.record_fix_attempt({"model": "m"}, {}, True, True, 1.0)
    install_command(tmp_path / "bin", monkeypatch)
    for script in ("memory.sh", "Scripts/memory_cli.sh"):
        shown = run_program(project / script, "stats", cwd=tmp_path).stdout
        assert shown.splitlines()[1] == "  total_fixes_attempted: 1"


def test_only_older_modules_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "memory.py").write_text("import psutil  # how much of it is free")
    assert "there is nothing to replace in" in refused("drop-in", "install", str(tmp_path))
    done = answered("drop-in", "install", str(tmp_path), "--module", "ai_memory")
    assert done == {"installed": ["ai_memory.py"], "already": [], "left": ["memory.py"]}
    assert "psutil" in (tmp_path / "memory.py").read_text()
    result = answered("drop-in", "remove", str(tmp_path))
    assert result == {"restored": [], "removed": ["ai_memory.py"]}
    assert [each.name for each in tmp_path.iterdir() if each.suffix == ".py"] == ["memory.py"]
    said = refused("drop-in", "install", str(tmp_path), "--module", "nobody")
    assert "'nobody' is not allowed; allowed: training/memory.py" in said
    assert "is not a folder" in refused("drop-in", "install", str(tmp_path / "no"))


def test_what_is_kept_aside_is_never_replaced(project: Path) -> None:
    aside = project / "memory.py.before-hardwon"
    aside.write_text("somebody's own")
    assert "is there already and says something else" in refused("drop-in", "install", str(project))
    assert aside.read_text() == "somebody's own"
    assert (project / "memory.py").read_text() == OLDER["memory.py"]
    aside.write_text(OLDER["memory.py"])  # as an interrupted run leaves it
    assert "memory.py" in answered("drop-in", "install", str(project))["installed"]
    link = project / "ai_memory.py"
    link.symlink_to(project / "Scripts" / "ai_memory.py.before-hardwon")
    assert "is a link: install where it leads" in refused("drop-in", "install", str(project))


def test_the_folder_for_pythonpath_has_the_same(tmp_path: Path) -> None:
    """Where a script's own folder holds none, it is found there."""
    check = "from ai_memory import AIMemory as same\nassert same is AIMemory"
    (tmp_path / "fix.py").write_text(SCRIPTS["fix.py"] + check)
    done = run(sys.executable, "-W", "error", "fix.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
    assert drop_in.write_module("memory.sh") == (ROOT / "drop_in" / "memory.sh").read_bytes()
    assert AGENT_SETTINGS_BYTES_MAX > 20_000
