"""The command line of fixes: what it says of models, days, strategies and patterns, and that
nothing in them is obeyed.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from command_line import (
    answered,
    as_http_answers,
    at_once,
    hardwon_does,
)
from hardwon import Fix, Memory
from hardwon.records.kinds import Issue, Metadata, Moment

HOSTILE = "no answer \x1b[2J\u202e after\n30 s"

pytestmark = pytest.mark.usefixtures("own_folder")


def fill(location: str = "brain") -> None:
    """Ten timeouts of one model, of which six were verified and two only applied; an old one; one
    of another model.
    """
    now = datetime.now(UTC)

    def fix(
        model: str, issue_type: str, hours: int, applied: bool, verified: bool, command: str
    ) -> Fix:
        return Fix(
            issue=Issue(model=model, issue_type=issue_type, description=HOSTILE),
            analysis="needs more time",
            fix_commands=[command],
            fix_success=applied,
            verification_success=verified,
            execution_time_seconds=2.5,
            fixer_type="qwen",
            metadata=Metadata(context=Moment(timestamp=now - timedelta(hours=hours))),
        )

    outcomes = [(True, True)] * 6 + [(True, False)] * 2 + [(False, False), (False, True)]
    fixes = [
        fix("qwen2.5:7b", "TIMEOUT", 1 + number, *each, "sleep 60")
        for number, each in enumerate(outcomes)
    ]
    fixes.append(fix("qwen2.5:7b", "NO_OUTPUT", 24 * 20, False, False, "rm -rf cache"))
    fixes.append(fix("llama3", "TIMEOUT", 30, False, False, "touch ran"))
    with Memory(location) as memory:
        memory.add_many(fixes)


def test_a_model() -> None:
    fill()
    done = hardwon_does("fixes", "model", "qwen2.5:7b")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[:2] == ["model_name: qwen2.5:7b", "total_tests: 11"]
    assert "success_rate: 0.545" in lines
    assert "fix_commands: sleep 60" in done.stdout
    model = answered("fixes", "model", "qwen2.5:7b")
    assert (model["total_tests"], model["odds"]["applied"], model["odds"]["verified"]) == (11, 8, 6)
    assert [fix["fix_commands"] for fix in model["effective_fixes"]] == [["sleep 60"]]
    assert "\\x1b[2J" in at_once("fixes", "model", "gpt\x1b[2J").stdout


def test_what_keeps_coming_up() -> None:
    fill()
    shown = at_once("fixes", "patterns").stdout
    assert re.search(r"^TIMEOUT on any model +6 +5 +8 .*sleep 60 ", shown, re.MULTILINE), shown
    assert "NO_OUTPUT" not in shown
    patterns = {one["name"]: one for one in as_http_answers("fixes patterns", "--all")}
    timeouts = patterns["TIMEOUT on qwen2.5:7b"]
    counts = ("success_count", "failure_count", "applied_count")
    assert [timeouts[name] for name in counts] == [6, 4, 8]
    assert timeouts["best_fix"]["fix_commands"] == ["sleep 60"]
    assert patterns["NO_OUTPUT on any model"]["best_fix"] is None
    assert len(answered("fixes", "patterns", "--limit", "1")) == 1


def test_strategies() -> None:
    fill()
    (failed,) = answered("fixes", "strategies", "NO_OUTPUT", "--failed")
    assert failed["fix_commands"] == ["rm -rf cache"]
    assert at_once("fixes", "strategies", "--failed").exit_code == 2
    assert at_once("fixes", "strategies").stdout.startswith("TIMEOUT\n")
    (best,) = answered("fixes", "strategies")["TIMEOUT"]
    assert (best["attempts"], best["applied"], best["verified"]) == (10, 8, 6)


@pytest.mark.parametrize(
    "command", ["fixes model qwen2.5:7b", "fixes strategies", "fixes patterns --all"]
)
def test_recorded_text_is_shown_and_neither_obeyed_nor_run(command: str) -> None:
    fill()
    text = at_once(*command.split()).stdout
    assert all(line.isprintable() for line in text.splitlines())
    assert at_once(*command.split(), "--json").stdout.isascii()
    assert not Path("ran").exists()
    narrow = hardwon_does(*command.split(), COLUMNS="20", PYTHONIOENCODING="ascii")
    assert (narrow.returncode, narrow.stderr) == (0, "")
    assert narrow.stdout.isascii()
