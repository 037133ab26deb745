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


def test_what_was_tried_lately_and_how_it_turned_out() -> None:
    fill()
    done = hardwon_does("fixes", "recent")
    assert (done.returncode, done.stderr) == (0, "")
    *lines, total = done.stdout.splitlines()
    assert total == "11 in the last 7 days: 6 verified, 2 applied, 3 failed"
    outcomes = [
        re.fullmatch(r"[\d-]{10} [\d:]{5}  (\w+) +(\S+) +(\S+) +qwen  no answer .*", line)
        for line in lines
    ]
    found = [each.groups() for each in outcomes if each]
    assert found[:6] == [("verified", "qwen2.5:7b", "TIMEOUT")] * 6
    assert [outcome for outcome, _, _ in found[6:]] == [
        "applied",
        "applied",
        "failed",
        "failed",
        "failed",
    ]
    assert found[-1][1] == "llama3"
    assert "12 in the last 30 days" in at_once("fixes", "recent", "30").stdout
    assert "12 in the last 36500 days" in at_once("fixes", "recent", "36500").stdout
    few = at_once("fixes", "recent", "--limit", "2").stdout.splitlines()
    assert len(few) == 3
    assert few[-1] == f"{total}; the newest 2 are listed"
    first = answered("fixes", "recent", "1")[0]
    assert (first["fix_success"], first["verification_success"]) == (True, True)
    assert (first["issue"]["model"], first["issue"]["description"]) == ("qwen2.5:7b", HOSTILE)
    assert datetime.fromisoformat(
        first["metadata"]["context"]["timestamp"]
    ).utcoffset() == timedelta(0)


def test_nothing_lately() -> None:
    with Memory("brain"):
        assert at_once("fixes", "recent", "1").stdout == "No fix was attempted in the last day.\n"
        assert at_once("fixes", "strategies").stdout == "No fix was verified to work yet.\n"
        assert at_once("fixes", "patterns").stdout == "No issue came up more than once yet.\n"
        assert [answered("fixes", name) for name in ("recent", "strategies", "patterns")] == [
            [],
            {},
            [],
        ]


def test_what_worked_best_by_issue_type() -> None:
    fill()
    done = hardwon_does("fixes", "strategies")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(
        r"TIMEOUT\n  worked 6 of 10  p_success 0\.\d\d  applied 8  last [\d-]{10}\n    sleep 60\n",
        done.stdout,
    ), done.stdout
    found = answered("fixes", "strategies")
    assert found.keys() == {"TIMEOUT"}
    (strategy,) = found["TIMEOUT"]
    assert (strategy["attempts"], strategy["applied"], strategy["verified"]) == (10, 8, 6)
    assert 0.3 < strategy["p_success"] < 0.7


def test_the_best_of_several_comes_first_and_no_more_than_asked_for() -> None:
    with Memory("brain") as memory:
        for number in range(12):
            well = number % 3 != 0
            command = "restart" if well else "reinstall"
            memory.record_fix(
                {"model": "m", "issue_type": "ERROR"},
                True,
                well or number == 0,
                fix_commands=[command],
            )
    (both,) = answered("fixes", "strategies").values()
    assert [each["fix_commands"] for each in both] == [["restart"], ["reinstall"]]
    (one,) = answered("fixes", "strategies", "--limit", "1").values()
    assert [each["fix_commands"] for each in one] == [["restart"]]


def test_the_same_in_python(memory: Memory) -> None:
    memory.record_fix({"model": "m", "issue_type": "ERROR"}, True, True, fix_commands=["restart"])
    memory.record_fix({"model": "m", "issue_type": "TIMEOUT"}, True, False, fix_commands=["wait"])
    best = memory.fixes.best_strategies()
    assert {
        issue_type: [each.fix_commands for each in found] for issue_type, found in best.items()
    } == {"ERROR": [("restart",)]}
    with pytest.raises(InvalidInputError, match="limit"):
        memory.fixes.best_strategies(0)


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


NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=60
) | st.just("TIMEOUT")


@given(
    st.lists(st.tuples(NAMES, NAMES, NAMES, st.text(max_size=300)), min_size=1, max_size=5),
    st.integers(70, 160),
    st.booleans(),
)
def test_whatever_was_recorded_fits_and_stays_on_its_line(
    rows: list[tuple[str, str, str, str]], width: int, ascii_only: bool
) -> None:
    fixes = [
        Fix.model_construct(
            issue=Issue.model_construct(model=model, issue_type=issue_type, description=text),
            fixer_type=fixer,
            fix_success=True,
            verification_success=False,
            metadata=Metadata(),
        )
        for model, issue_type, fixer, text in rows
    ]
    lines = fixes_text(Screen(width, ascii_only), fixes).splitlines()
    assert all(line.isprintable() and count_cells(line) <= width for line in lines)
    assert [line[18:26] for line in lines if line[:2] == "20"] == ["applied "] * len(fixes)


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


@pytest.mark.parametrize(
    "command", ["fixes model qwen2.5:7b", "fixes recent", "fixes strategies", "fixes patterns"]
)
def test_every_key_of_the_json_is_documented(command: str) -> None:
    fill()
    found = answered(*command.split())
    assert keys_of(found)
    # its own keys are issue types
    within = found.values() if command == "fixes strategies" else [found]
    name = " ".join(command.split()[:2])
    assert set().union(*map(keys_of, within)) <= keys_told_of(name)


@pytest.mark.parametrize(
    "command", ["fixes model m", "fixes recent", "fixes strategies", "fixes patterns"]
)
def test_reading_makes_no_memory(command: str) -> None:
    assert refused("--memory", "nowhere", *command.split()).startswith(
        "there is no memory at nowhere: check --memory"
    )
    assert not Path("nowhere").exists()


@pytest.mark.parametrize(
    "command",
    [
        "fixes recent 0",
        "fixes recent many",
        "fixes recent 36501",
        "fixes recent --limit 0",
        "fixes strategies --limit 1001",
        "fixes model",
    ],
)
def test_wrong_usage(command: str) -> None:
    done = at_once(*command.split())
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Error: " in done.stderr


def test_everything_that_is_counted_is_told_at_once() -> None:
    fill()
    told = at_once("fixes", "stats").stdout
    assert re.search(r"^ +12 +8 +6 +2 +2$", told, re.MULTILINE)
    assert re.search(r"^llama3 +TIMEOUT +1 +0 +0 ", told, re.MULTILINE)
    assert re.search(r"^qwen +12 +8 +6 ", told, re.MULTILINE)
    counts = answered("fixes", "stats", "--days", "90")
    assert counts.keys() == {"totals", "types", "matrix", "fixers", "trends"}
    assert (counts["totals"]["attempts"], counts["fixers"][0]["fixer"]) == (12, "qwen")


def test_what_mostly_failed_is_told_where_it_is_asked_for() -> None:
    fill()
    (failed,) = answered("fixes", "strategies", "NO_OUTPUT", "--failed")
    assert failed["fix_commands"] == ["rm -rf cache"]
    assert at_once("fixes", "strategies", "--failed").exit_code == 2


def test_colours_are_for_terminals() -> None:
    fill()
    seen = on_a_terminal("fixes", "recent")
    assert "\x1b[32mverified" in seen
    assert "\x1b[33mapplied" in seen
    assert "\x1b[31mfailed" in seen
    assert "\\x1b[2J" in seen  # what was recorded stays written out
    assert "\x1b" not in on_a_terminal("fixes", "patterns", NO_COLOR="1")


def test_a_reader_that_leaves_ends_it_quietly() -> None:
    with Memory("brain") as memory:
        memory.add_many(
            Fix(
                issue=Issue(model="m", description="x" * 200),
                fix_success=True,
                verification_success=True,
            )
            for _ in range(900)
        )
    command = [
        sys.executable,
        "-m",
        "hardwon.surfaces.cli.main",
        "fixes",
        "recent",
        "--limit",
        "1000",
        "--json",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert (process.wait(timeout=60), process.stderr.read()) == (141, b"")


def test_a_folder_of_fix_history_is_a_memory() -> None:
    """What it is depends on its file, not on the file's name."""
    Path("AIMemory").mkdir()
    fill("AIMemory/ai_memory.db")
    found = json.loads(hardwon_does("--memory", "AIMemory", "fixes", "recent", "--json").stdout)
    assert len(found) == 11
