"""`hardwon audit`, `verify`, `publish`, `archive`, as a shell sees them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from command_line import (
    answered,
    at_once,
    hardwon_does,
    refused,
)
from hardwon import Memory

pytestmark = pytest.mark.usefixtures("own_folder")


def a_fact(content: str = "Port 80 is open.") -> str:
    with Memory("brain") as memory:
        return memory.record_fact(content, "observation", author="ann").id


def test_a_whole_life_is_shown() -> None:
    old, new = a_fact(), a_fact("Port 80 is \x1b[31mshut.")
    assert (
        hardwon_does("verify", old, "--by", "test_runner", "--verification-id", "ci-7").stdout
        == f"{old} is verified\n"
    )
    assert hardwon_does("care", "publish", old, "--by", "bob").stdout == f"{old} is published\n"
    with Memory("brain") as memory:
        memory.credit(old, False)
        memory.supersede(old, new, "measured \x1b[31magain")
    lines = hardwon_does("care", "audit", old).stdout.splitlines()
    assert [line.split()[2] for line in lines[:-1]] == [
        "created",
        "status",
        "status",
        "credited",
        "superseded",
    ]
    assert lines[0].endswith("ann")
    assert "test_runner, test_runner, ci-7" in lines[1]
    assert "it did not help" in lines[3]
    assert f"replaced by {new}" in lines[4]
    assert lines[-1] == f"replaced by: {new}"
    assert "\x1b" not in "".join(lines)
    assert f"replaces: {old}" in hardwon_does("care", "audit", new).stdout


def test_what_may_not_happen_is_told_in_one_line() -> None:
    record = a_fact()
    assert "from hypothesis: verified, archived" in refused("care", "publish", record)
    assert "human_approval" in refused("verify", record, "--by", "me")
    assert "a UUID" in refused("care", "archive", "nonsense", "--reason", "x")
    assert "there is no record" in refused(
        "care", "archive", "0198c0de-0000-7000-8000-000000000001", "--reason", "x"
    )
    assert "never was one" in refused("care", "audit", "nonsense")
    assert at_once("care", "archive", record).exit_code == 2


def test_a_forgotten_record_has_its_tombstone_left() -> None:
    record = a_fact()
    with Memory("brain") as memory:
        memory.forget(record)
    assert answered("care", "audit", record)["record"] is None
    assert "forgotten" in at_once("care", "audit", record).stdout


def test_stale_records_are_archived_and_come_back(tmp_path: Path) -> None:
    git = (
        "git",
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@example.com",
        "-c",
        "commit.gpgsign=false",
    )
    subprocess.run([*git, "init", "-q"], check=True)
    Path("app.py").write_text("one")
    subprocess.run([*git, "add", "app.py"], check=True)
    subprocess.run([*git, "commit", "-qm", "first"], check=True)
    assert (
        at_once(
            "remember", "app.py has no tests", "--outcome", "failure", "--tool", "unknown"
        ).exit_code
        == 0
    )
    assert (
        at_once("care", "check-stale").stdout
        == "1 record checked, 0 stale\n0 archived, 0 brought back\n"
    )
    Path("app.py").write_text("two")
    told = answered("care", "check-stale", "--dry-run")
    assert {name: told[name] for name in ("checked", "stale", "archived", "dry_run")} == {
        "checked": 1,
        "stale": 1,
        "archived": 1,
        "dry_run": True,
    }
    assert "app.py: changed" in at_once("care", "check-stale").stdout
    assert answered("recall", "app.py tests") == []
    Path("app.py").write_text("one")
    assert answered("care", "check-stale")["restored"] == 1
    assert len(answered("recall", "app.py tests")) == 1
    assert "inside a git checkout" in refused("care", "check-stale", "--repo", "/")
