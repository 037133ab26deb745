"""What stands in the place of older modules, and memory.sh beside them."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import legacy_fixes
import warm
from command_line import (
    ROOT,
    answered,
    at_once,
    hardwon_does,
    install_command,
    keys_of,
    keys_told_of,
    on_a_terminal,
    refused,
)
from hardwon import Memory
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
    # as cron runs it, which knows no PATH, and where the Python that installed it went
    cron = {"PATH": "/usr/bin:/bin"}
    run_program(project / "memory.sh", "stats", cwd=tmp_path, env=cron)
    install_command(tmp_path / "bin", monkeypatch)
    script = project / "memory.sh"
    script.write_text(script.read_text().replace(sys.executable, "/nowhere/python"))
    for script in (project / "memory.sh", project / "Scripts/memory_cli.sh"):
        shown = run_program(script, "stats", cwd=tmp_path).stdout
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
    installed, kept = drop_in.write_module("memory.sh").decode(), (ROOT / "drop_in" / "memory.sh")
    assert installed.replace(shlex.quote(sys.executable), "") == kept.read_text()
    assert AGENT_SETTINGS_BYTES_MAX > 20_000


SCRIPT = ROOT / "drop_in" / "memory.sh"
ISSUE = {"model": "qwen2.5:7b", "issue_type": "TIMEOUT"}
ISSUE["description"] = "no answer \x1b[2J after 30 s"
REPLY = {"analysis": "needs more time", "fix_commands": ["touch ran"], "confidence": 0.8}

STATISTICS = (
    "total_fixes_attempted successful_fixes success_rate models_encountered issue_types_seen "
    "recent_activity_7days knowledge_base_size memory_directory"
).split()
INSIGHTS: dict[str, Any] = {"model_name": "qwen2.5:7b", "total_tests": 4, "success_rate": 0.5}
INSIGHTS |= {"common_issues": ["TIMEOUT"], "effective_fixes": ["touch ran"], "recent_history": []}
LINES = ["stats", "recent 30", 'export "$BACKUP_DIR/all of $DATE.json"', "cleanup 90"]


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """memory.sh, and `hardwon` as an installed command of the code under test."""
    install_command(tmp_path / "installed here", monkeypatch)
    return Path(shutil.copy(SCRIPT, tmp_path / "memory.sh"))


def fill(folder: str = "AIMemory") -> None:
    with AIMemory(folder) as history:
        for applied, verified in ((True, True), (True, True), (True, False), (False, False)):
            history.record_fix_attempt(ISSUE, REPLY, applied, verified, 1.5, fixer_type="qwen")
        other = {**ISSUE, "model": "llama3", "issue_type": "NO_OUTPUT"}
        history.record_fix_attempt(other, REPLY, False, False, None)


def fill_with_old_ones() -> None:
    at = datetime.now(UTC) - timedelta(days=500)
    times = iter(at + timedelta(minutes=number) for number in range(1000))
    with AIMemory("AIMemory", clock=lambda: next(times)) as history:
        for number in range(8):
            history.record_fix_attempt(ISSUE, REPLY, number % 2 == 0, number % 2 == 0, 1.5)


def runs(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return run_program(*arguments, status=None, env={**os.environ, **environment})


def said(*arguments: str | Path) -> str:
    done = runs(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_stats_has_the_documented_shape(script: Path) -> None:
    fill()
    heading, *lines = said(script, "stats").splitlines()
    assert heading == "🧠 Claude Memory Statistics:"
    values = dict(line.removeprefix("  ").split(": ", 1) for line in lines)
    assert list(values) == STATISTICS
    assert list(values.values())[:6] == ["5", "2", "0.4", "2", "2", "5"]
    assert int(values["knowledge_base_size"]) > 0
    assert Path(values["memory_directory"]) == Path("AIMemory").absolute()
    found = answered("fix-history", "stats")
    assert list(map(str, found.values())) == list(values.values())


def test_model_has_the_documented_keys(script: Path) -> None:
    fill()
    found = json.loads(said(script, "model", "qwen2.5:7b"))
    assert list(found)[: len(INSIGHTS)] == list(INSIGHTS)
    assert len(found["recent_history"]) == 4
    assert {**found, "recent_history": []}.items() >= INSIGHTS.items()
    assert answered("fix-history", "model", "qwen2.5:7b") == found


def test_the_insights_are_exported(script: Path) -> None:
    fill()
    assert said(script, "export", "my insights.json") == "Insights exported to my insights.json\n"
    report = json.loads(Path("my insights.json").read_text())
    assert {"generated_at", "statistics", "model_insights", "knowledge_base"} <= report.keys()
    assert report["statistics"]["total_fixes_attempted"] == 5
    said(script, "export", "my insights.json")  # as monthly scripts do, which run again
    named = said(script, "export")
    found = re.fullmatch(r"Insights exported to (ai_insights_\d{8}_\d{6}\.json)\n", named)
    assert found
    assert json.loads(Path(found.group(1)).read_text()).keys() == report.keys()
    assert answered("fix-history", "export", "other.json") == {"file": "other.json"}


def test_recent_activity(script: Path) -> None:
    fill()
    _, *lines, total = said(script, "recent", "7").splitlines()
    assert total == "5 in the last 7 days: 2 verified, 1 applied, 2 failed"
    result = sorted(line.split()[2] for line in lines)
    assert result == ["applied", "failed", "failed", "verified", "verified"]
    assert said(script, "recent") == said(script, "recent", "7")
    assert len(answered("fix-history", "recent", "--limit", "2")) == 2


def test_recent_totals_the_whole_period_and_cuts_nothing_where_it_is_no_terminal() -> None:
    at = datetime.now(UTC) - timedelta(days=20)
    times = iter(at + timedelta(minutes=number) for number in range(1000))
    long = {**ISSUE, "model": "a-model-with-a-long-name/" * 4 + ":70b", "description": "d " * 300}
    with AIMemory("AIMemory", clock=lambda: next(times)) as history:
        for number in range(60):
            history.record_fix_attempt(long, REPLY, number % 2 == 0, number % 4 == 0, 1.5)
    _, *lines, total = on_one_page("recent", "30")
    assert total == "60 in the last 30 days: 15 verified, 15 applied, 30 failed"
    assert len(lines) == 60
    whole = (long["model"], " ".join(long["description"].split()))
    assert all(text in line for line in lines for text in whole)
    _, *some, cut = on_one_page("recent", "30", "--limit", "7")
    assert (len(some), cut) == (7, f"{total}; the newest 7 are listed")
    shown = on_a_terminal("fix-history", "recent", "30")
    assert "60 in the last 30 days: 15 verified" in shown


def on_one_page(*arguments: str) -> list[str]:
    return at_once("fix-history", *arguments).stdout.splitlines()


def test_patterns_tell_when_issues_come_and_have_the_signatures_of_the_table() -> None:
    monday = datetime(2026, 1, 5, 3, 10, tzinfo=UTC)
    at, long = monday, {**ISSUE, "test_prompt": "x" * 80}
    other = {"model": "m", "issue_type": "ERROR"}
    with AIMemory("AIMemory", clock=lambda: at) as history:
        for week in range(12):
            at = monday + timedelta(days=7 * week)
            history.record_fix_attempt(long, REPLY, True, False, 1.0)
            at = monday + timedelta(days=week, hours=week)
            history.record_fix_attempt(other, REPLY, True, False, 1.0)
        rows = {row.issue_signature for row in history.memory.fixes.history.all()}
    found = answered("fix-history", "patterns")
    signatures = {each["signature"] for each in found if each["kind"] in ("exact", "model", "type")}
    assert signatures == rows
    exact = [each for each in found if each["kind"] == "exact"]
    assert all(f"[{each['signature']}]" in each["name"] for each in exact)
    shown = on_one_page("patterns")
    assert any(line.startswith("TIMEOUT at 03:00 to 03:59 UTC ") for line in shown)
    assert any(f"[{signature}]" in line for line in shown for signature in rows)


def test_successful_strategies_and_patterns(script: Path) -> None:
    fill()
    table = r"attempts  applied  verified .*\n +4 +3 +2 +0\.\d+ .* touch ran +needs more time\n"
    assert re.fullmatch(rf"TIMEOUT\n{table}", said(script, "successful"))
    shown = said(script, "patterns")
    assert re.search(r"^TIMEOUT on any model +2 +2 +3 +0\.\d+ ", shown, re.MULTILINE)
    assert list(answered("fix-history", "successful")) == ["TIMEOUT"]
    result = {each["issue_type"] for each in answered("fix-history", "patterns", "--all")}
    assert result == {"TIMEOUT", "NO_OUTPUT"}
    assert not Path("ran").exists()


def test_cleanup_runs_at_once_says_what_went_and_can_be_undone(script: Path) -> None:
    fill_with_old_ones()
    before = answered("fix-history", "stats")
    line, hint, room = said(script, "cleanup", "30").splitlines()
    numbers = re.findall(r"\d+", line)
    told = "{} fixes older than {} days taken out: {} that failed, {} that worked; {} as old stay"
    assert line == told.format(*numbers)
    gone, _, failed, worked, kept = map(int, numbers)
    assert (gone, gone + kept) == (failed + worked, 8)
    assert (gone, kept) == (8, 0), "by age: what is kept longer is said"
    assert left() == kept
    recent = said(script, "recent", "600")
    assert recent == (
        "0 in the last 600 days: 0 verified, 0 applied, 0 failed; with those that were cleaned up, "
        "4 of 8 were verified\n"
    )
    assert answered("fix-history", "stats")["success_rate"] == 0.5, "of all that was tried"
    command = shlex.split(room.removeprefix("to give the room back, for good: "))
    assert command[-2:] == ["care", "compact"]
    # as the table says; what it taught stays
    assert answered("fix-history", "stats")["total_fixes_attempted"] == kept
    assert before["total_fixes_attempted"] == 8
    undo = shlex.split(hint.removeprefix("to take it back: "))
    assert said(*undo) == "undone: cleanup\n"
    assert left() == 8
    again = answered("fix-history", "cleanup")
    result = (again["failed"] + again["successful"], again["dry_run"], len(again["event_ids"]))
    assert result == (gone, False, 1)
    assert said(script, "cleanup", "90").startswith("0 fixes older than 90 days taken out")


def left() -> int:
    with Memory("AIMemory") as memory:
        return len(list(memory.browse(kind="fix")))


@pytest.mark.parametrize("line", LINES)
@pytest.mark.usefixtures("script")
def test_the_lines_of_scripts_run_word_for_word(line: str) -> None:
    fill()
    Path("my backups").mkdir()
    command = f"./memory.sh {line}"
    done = runs("bash", "-c", command, BACKUP_DIR="my backups", DATE="20260115_030000")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
    written = list(Path("my backups").glob("*.json"))
    assert len(written) == int("export" in line)
    for path in written:
        assert json.loads(path.read_text())["statistics"]["total_fixes_attempted"] == 5


def test_it_works_where_it_is_called_through_a_link_with_blanks_in_paths(script: Path) -> None:
    place = Path("my project")
    place.mkdir()
    (place / "memory.sh").symlink_to(script)
    fill("my project/AIMemory")
    done = run_program("./memory.sh", "stats", cwd=place)
    assert done.stderr == ""
    assert f"  memory_directory: {place.absolute() / 'AIMemory'}\n" in done.stdout
    assert len(list(place.iterdir())) == 2


@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_the_environment_names_the_folder(shell: str, script: Path) -> None:
    fill("some where/fixes")
    done = runs(shell, script, "stats", HARDWON_AIMEMORY="some where/fixes")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1] == "  total_fixes_attempted: 5"
    found = answered("fix-history", "--memory-dir", "some where/fixes", "stats")
    assert found["total_fixes_attempted"] == 5


def test_without_the_command_python_does(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill()
    only_python(monkeypatch, f'exec {shlex.quote(sys.executable)} "$@"')
    Path("typer.py").write_text("raise SystemExit('what lies here is not imported')")
    assert said(script, "stats").splitlines()[1] == "  total_fixes_attempted: 5"
    assert json.loads(said(script, "model", "a model that nobody has"))["total_tests"] == 0


@pytest.mark.parametrize("python", ["exit 1", None])
def test_without_both(python: str | None, script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only_python(monkeypatch, python)
    done = runs(script, "stats")
    assert (done.returncode, done.stdout) == (127, "")
    told = "memory.sh: there is no hardwon on the PATH, and no python3 that has it: pip install . "
    assert done.stderr == f"{told}in a checkout of Hardwon\n"


def only_python(monkeypatch: pytest.MonkeyPatch, body: str | None) -> None:
    """A PATH with nothing but a shell, and a python3 where there is a body for it."""
    folder = Path("bare").absolute()
    folder.mkdir()
    shell = shutil.which("sh")
    assert shell
    (folder / "sh").symlink_to(shell)
    if body:
        (folder / "python3").write_text(f"#!{shell}\n{body}\n")
        (folder / "python3").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def test_an_older_database_is_adopted_once_and_told_in_two_lines(script: Path) -> None:
    """Of every shape: test_fix_adoption.py."""
    Path("AIMemory").mkdir()
    failed = {"fix_success": 0, "verification_success": 0}
    legacy_fixes.make(Path("AIMemory/ai_memory.db"), [{}, {}, failed])
    first = runs(script, "stats")
    assert first.returncode == 0
    assert first.stdout.splitlines()[1:3] == ["  total_fixes_attempted: 3", "  successful_fixes: 2"]
    assert re.fullmatch(
        r"hardwon: an older fix history in .*AIMemory was adopted: 3 read, 3 added, .*\n"
        r"hardwon: to go back: .* mv ai_memory\.before-hardwon\.db ai_memory\.db\n",
        first.stderr,
    )
    assert said(script, "stats") == first.stdout
    recent = answered("fix-history", "recent", "36500")
    assert [each["fix_success"] for each in recent].count(False) == 1


@pytest.mark.parametrize(
    "arguments", [("forget",), ("--what",), ("model",), ("recent", "soon"), ("cleanup", "-1")]
)
def test_wrong_usage_shows_the_usage_with_2(arguments: tuple[str, ...], script: Path) -> None:
    fill()
    done = runs(script, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Usage: hardwon fix-history ")


def test_a_memory_that_is_named_for_the_other_commands_is_not_mistaken_for_it() -> None:
    fill()
    done = at_once("--memory", "other", "fix-history", "cleanup")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "a folder of its own, not other: --memory-dir names it" in done.stderr
    # while HARDWON_MEMORY names one
    assert answered("fix-history", "stats")["total_fixes_attempted"] == 5


@pytest.mark.parametrize(
    "command", ["model m", "export", "recent", "successful", "patterns", "cleanup"]
)
def test_no_folder_is_made_where_there_is_none(command: str) -> None:
    message = refused("fix-history", *command.split())
    told = "there is no fix history at AIMemory: go to the folder that has it, or name it with"
    assert message.startswith(f"{told} --memory-dir")
    assert not list(Path().glob("*AIMemory*"))


def test_a_fresh_project_has_zeros_and_the_bare_script_tells_its_commands(script: Path) -> None:
    lines = said(script, "stats").splitlines()
    assert lines[0] == "🧠 Claude Memory Statistics:"
    assert [line.rpartition(" ")[2] for line in lines[1:]] == ["0"] * 7 + ["AIMemory"]
    assert "there is no fix history" in refused("fix-history", "--memory-dir", "typo", "stats")
    names = ["stats", "model", "export", "recent", "successful", "patterns", "cleanup"]
    for told in (said(script), said(script, "help")):
        assert all(re.search(rf"^  {name} ", told, re.MULTILINE) for name in names)
    assert not list(Path().glob("*AIMemory*"))


def test_an_output_without_emoji_gets_them_written_out() -> None:
    fill()
    done = hardwon_does("fix-history", "stats", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()
    assert done.stdout.splitlines()[1] == "  total_fixes_attempted: 5"


@pytest.mark.parametrize("command", ["stats", "model qwen2.5:7b", "export r.json", "cleanup"])
def test_every_key_of_the_json_is_documented(command: str) -> None:
    fill()
    found: Any = answered("fix-history", *command.split())
    assert keys_of(found)
    assert keys_of(found) <= keys_told_of(f"fix-history {command.split()[0]}")
