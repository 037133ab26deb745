"""The command line of fixes: what it says of models, days, strategies and patterns, and that
nothing in them is obeyed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import (
    answered,
    as_http_answers,
    at_once,
    hardwon_does,
    keys_of,
    keys_told_of,
    on_a_terminal,
    refused,
)
from hardwon import Fix, Memory
from hardwon.errors import InvalidInputError
from hardwon.records.kinds import Issue, Metadata, Moment
from hardwon.surfaces.cli.views import Screen, count_cells, fixes_text

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
    assert done.stdout.startswith(
        "qwen2.5:7b\n  attempts 11  applied 8  verified 6\n  success rate 55%  p_success 0."
    )
    assert re.search(r"^      10  TIMEOUT$", done.stdout, re.MULTILINE)
    assert re.search(
        r"^  worked 6 of 10  p_success 0\.\d\d  applied 8  last [\d-]{10}\n    sleep 60$",
        done.stdout,
        re.MULTILINE,
    )
    found = answered("fixes", "model", "qwen2.5:7b")
    assert (found["total_tests"], found["odds"]["applied"], found["odds"]["verified"]) == (11, 8, 6)
    assert found["success_rate"] == pytest.approx(6 / 11)
    assert 0.3 < found["odds"]["p_success"] < 0.7
    assert found["common_issues"] == [["TIMEOUT", 10], ["NO_OUTPUT", 1]]
    assert [fix["fix_commands"] for fix in found["effective_fixes"]] == [["sleep 60"]]


def test_a_model_that_nobody_fixed() -> None:
    fill()
    assert at_once("fixes", "model", "gpt").stdout == "No fix of gpt is recorded here.\n"
    assert "\\x1b[2J" in at_once("fixes", "model", "gpt\x1b[2J").stdout
    found = as_http_answers("fixes model", "gpt")
    assert (found["total_tests"], found["last_updated"]) == (0, None)












def test_what_keeps_coming_up() -> None:
    fill()
    done = hardwon_does("fixes", "patterns")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(
        r"^TIMEOUT on any model  [\d-]{10}\n  success 6 of 11 \(55%\)  applied 8  confidence 1\.00 "
        r" p_success 0\.\d\d\n"
        r"  best fix: sleep 60$",
        done.stdout,
        re.MULTILINE,
    ), done.stdout
    assert "NO_OUTPUT" not in done.stdout
    every = at_once("fixes", "patterns", "--all").stdout
    assert re.search(
        r"^NO_OUTPUT on any model  [\d-]{10}\n  success 0 of 1 .*\n  best fix: none worked so far$",
        every,
        re.MULTILINE,
    )
    found = {pattern["name"]: pattern for pattern in as_http_answers("fixes patterns", "--all")}
    timeouts = found["TIMEOUT on qwen2.5:7b"]
    assert (timeouts["kind"], timeouts["model"]) == ("model", "qwen2.5:7b")
    assert (timeouts["success_count"], timeouts["failure_count"], timeouts["applied_count"]) == (
        6,
        4,
        8,
    )
    assert timeouts["best_fix"]["fix_commands"] == ["sleep 60"]
    assert found["NO_OUTPUT on any model"]["best_fix"] is None
    assert len(answered("fixes", "patterns", "--limit", "1")) == 1






@pytest.mark.parametrize(
    "command",
    ["fixes model qwen2.5:7b", "fixes recent 30", "fixes strategies", "fixes patterns --all"],
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










def test_what_mostly_failed_is_told_where_it_is_asked_for() -> None:
    fill()
    (failed,) = answered("fixes", "strategies", "NO_OUTPUT", "--failed")
    assert failed["fix_commands"] == ["rm -rf cache"]
    assert at_once("fixes", "strategies", "--failed").exit_code == 2






