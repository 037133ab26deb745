"""The command line of care: nothing goes unasked, and what goes can come back."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from command_line import (
    ROOT,
    answered,
    at_once,
    hardwon_does,
    healthy,
    install_command,
    on_a_terminal,
    ran,
    refused,
)
from hardwon import Memory
from short import run_program

SCRIPT = ROOT / "examples" / "backup.sh"

pytestmark = pytest.mark.usefixtures("own_folder")


def fill() -> None:
    """Failures and successes of 40, 100 and 400 days ago, and new ones."""
    with Memory("brain") as memory:
        for days, failures, successes in ((40, 6, 4), (100, 6, 4), (400, 6, 4), (1, 3, 2)):
            at = datetime.now(UTC) - timedelta(days=days)
            for number in range(failures + successes):
                works = number >= failures
                sort = "NO_OUTPUT" if works else "TIMEOUT"
                issue = {"model": "m", "issue_type": sort, "description": f"{number} " * 200}
                when = at + timedelta(minutes=number)
                memory.record_fix(issue, works, works, "because " * 200, timestamp=when)


def fixes() -> int:
    return int(answered("stats")["by_kind"].get("fix", 0))


def learned_patterns() -> list[tuple[str, int, int]]:
    with Memory("brain") as memory:
        return [(one.name, one.success_count, one.failure_count) for one in memory.patterns()]


def test_a_script_must_say_yes() -> None:
    fill()
    before = fixes()
    done = hardwon_does("care", "cleanup")
    assert done.returncode == 1
    told = r"\d+ fixes older than 30 days would be taken out: \d+ that failed, \d+ that worked"
    assert re.match(told, done.stdout)
    assert done.stderr == "hardwon: nothing was changed: add --yes to do it\n"
    assert fixes() == before


def test_cleanup_keeps_successes_longer_and_is_undone() -> None:
    fill()
    before, learned = fixes(), learned_patterns()
    preview = answered("care", "cleanup", "30", "--dry-run")
    assert preview["dry_run"] is True
    assert preview["event_id"] is None
    said, hint = ran("care", "cleanup", "30", "--yes").splitlines()
    gone = preview["failed"] + preview["successful"]
    assert said.startswith(f"{gone} fixes older than 30 days taken out")
    assert preview["failed"] > preview["successful"] > 0
    assert fixes() == before - gone
    assert learned_patterns() == learned
    words = shlex.split(hint.removeprefix("to take it back: "))
    assert words[:2] == ["hardwon", "--memory"]
    assert ran(*words[1:]) == "undone: cleanup\n"
    assert fixes() == before
    assert healthy()


@pytest.mark.parametrize("answer", ["n\n", "yes please\n", "\x04"])
def test_on_a_terminal_it_asks_and_no_means_no(answer: str) -> None:
    fill()
    before = fixes()
    shown = on_a_terminal("care", "cleanup", answer=answer, code=1)
    assert "Take them out? [y/N]" in shown
    assert "hardwon: nothing was changed" in shown
    assert fixes() == before


def test_compacting_ends_undo_and_says_so_first() -> None:
    fill()
    event = answered("care", "cleanup", "--yes")["event_id"]
    assert refused("care", "compact") == "nothing was changed: add --yes to do it"
    shown = on_a_terminal("care", "compact", answer="n\n", code=1)
    assert "no earlier cleanup can be undone. Compact? [y/N]" in shown
    size = r"[\d.]+ \w+"
    told = rf"{size} before, {size} now; the texts of \d+ records are gone for good\n"
    assert re.fullmatch(told, ran("care", "compact", "--yes"))
    assert "compacted" in refused("undo", event)
    again = answered("care", "compact", "--yes")
    assert (again["purged"], again["before_bytes"] > 0, again["after_bytes"] > 0) == (0, True, True)


def test_exports_overwrite_nothing_unless_forced() -> None:
    fill()
    Path("mine.json").write_text("mine")
    answer = refused("export", "mine.json")
    assert answer == "mine.json exists already: choose another name, or add --force"
    assert Path("mine.json").read_text() == "mine"
    done = at_once("export", "mine.json", "--force")
    assert done.stdout == "35 records written to mine.json\n"
    lines = Path("mine.json").read_text().splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["fix"] * 35
    assert "database" in refused("export", "brain/memory.db", "--force")
    assert fixes() == 35


def test_a_backup_is_restored() -> None:
    fill()
    lines = ran("care", "backup", "copies/one.db").splitlines()
    checksum = hashlib.sha256(Path("copies/one.db").read_bytes()).hexdigest()
    assert lines[1] == f"sha256 {checksum}"
    assert "exists already and is kept" in refused("care", "backup", "copies/one.db")
    at_once("care", "cleanup", "--yes")
    assert fixes() < 35
    assert refused("care", "restore", "copies/one.db") == "nothing was changed: add --yes to do it"
    shown = on_a_terminal("care", "restore", "copies/one.db", answer="n\n", code=1)
    assert "Replace the memory brain by copies/one.db? [y/N]" in shown
    assert fixes() < 35
    back = ran("care", "restore", "copies/one.db", "--yes")
    told, _, kept = back.strip().partition("; what was there is kept at ")
    assert told == "copies/one.db is the memory now"
    assert Path(kept).exists()
    assert fixes() == 35


def test_the_doctor_tells_by_its_exit_code() -> None:
    fill()
    assert all(line.startswith("ok   ") for line in ran("doctor").splitlines())
    Path("brain/memory.db").chmod(0o644)
    sick = hardwon_does("doctor")
    assert (sick.returncode, sick.stderr) == (1, "")
    assert "BAD  permissions: 644" in sick.stdout
    told = at_once("doctor", "--json")
    assert told.exit_code == 1
    findings = json.loads(told.stdout)["findings"]
    assert [each["check"] for each in findings if not each["ok"]] == ["permissions"]
    assert "\x1b[32mok" in on_a_terminal("doctor", code=1)


def test_the_doctor_starts_the_hooks_that_are_installed() -> None:
    fill()
    settings = Path(".claude/settings.local.json")
    ran("hooks", "install", "claude-code", "--local")
    (line,) = (line for line in ran("doctor").splitlines() if "hooks of claude-code" in line)
    assert line.startswith("ok   ")
    assert "started in" in line
    settings.write_text(settings.read_text().replace('"command": "', '"command": "/gone'))
    broken = hardwon_does("doctor")
    assert broken.returncode == 1
    assert "BAD  hooks of claude-code" in broken.stdout
    settings.write_text("{")
    assert "BAD  hooks of claude-code" in hardwon_does("doctor").stdout


def test_what_is_wrong_is_told_without_secrets() -> None:
    fill()
    secret = "gh" + "p_" + "a1B2c3D4e5F6" * 3
    for words in (
        ("record", "fact", "x is y", "--fact-type", secret),
        ("why", secret),
        ("lessons", "--kind", secret),
        ("advise", "x", f"--{secret}"),
        (secret,),
        ("--memory", f"/nowhere/{secret}", "recall", "x"),
    ):
        told = hardwon_does(*words)
        assert told.returncode, words
        assert "[REDACTED:github-token]" in told.stderr, words
        assert secret not in told.stderr, words


def a_fact(content: str = "Port 80 is open.") -> str:
    with Memory("brain") as memory:
        return memory.record_fact(content, "observation", author="ann").id


def test_a_whole_life_is_shown() -> None:
    old, new = a_fact(), a_fact("Port 80 is \x1b[31mshut.")
    answer = ran("verify", old, "--by", "test_runner", "--verification-id", "ci-7")
    assert answer == f"{old} is verified\n"
    assert ran("care", "publish", old, "--by", "bob") == f"{old} is published\n"
    with Memory("brain") as memory:
        memory.credit(old, False)
        memory.supersede(old, new, "measured \x1b[31magain")
    lines = ran("care", "audit", old).splitlines()
    happened = [line.split()[2] for line in lines[:-1]]
    assert happened == "created status status credited superseded".split()
    assert lines[0].endswith("ann")
    assert "test_runner, test_runner, ci-7" in lines[1]
    assert "it did not help" in lines[3]
    assert f"replaced by {new}" in lines[4]
    assert lines[-1] == f"replaced by: {new}"
    assert "\x1b" not in "".join(lines)
    assert f"replaces: {old}" in ran("care", "audit", new)


def test_a_forgotten_record_has_its_tombstone_left() -> None:
    record = a_fact()
    with Memory("brain") as memory:
        memory.forget(record)
    assert answered("care", "audit", record)["record"] is None
    assert "forgotten" in at_once("care", "audit", record).stdout


@pytest.fixture
def _on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_command(tmp_path / "bin", monkeypatch)


@pytest.mark.usefixtures("_on_the_path")
def test_scheduled_backups_are_checked_and_the_newest_kept() -> None:
    fill()
    folder = Path("my backups")
    folder.mkdir()
    old = [folder / f"memory-2020010{day}T030000Z.db" for day in range(1, 5)]
    for path in old:
        path.write_text("an older one")
        path.with_name(path.name + ".sha256").write_text("its checksum")
    (folder / "memory-notes.db").write_text("not one of ours")
    assert run_program(SCRIPT, "my backups", "3").stderr == ""
    kept = sorted(path.name for path in folder.iterdir())
    made = [name for name in kept if name > "memory-2021" and name.endswith("Z.db")]
    assert len(made) == 1
    names = [*made, *(path.name for path in old[2:])]
    assert kept == sorted([*names, *(f"{name}.sha256" for name in names), "memory-notes.db"])
    assert answered("--memory", "new", "care", "restore", str(folder / made[0]))["kept"] is None
    assert answered("--memory", "new", "stats")["records"] == 35
