"""What makes the command line pleasant by hand: ids by their beginning, values that a shell offers,
exports into a pipe, rules of all tasks, and what is said where somebody interrupts.
"""

from __future__ import annotations

import json
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from command_line import answered, at_once, refused
from hardwon import Memory
from hardwon.surfaces.cli import main, output

pytestmark = pytest.mark.usefixtures("own_folder")


def remember(*texts: str) -> list[str]:
    with Memory("brain") as memory:
        return [memory.remember(text, "learning").id for text in texts]


def test_an_id_is_known_by_its_beginning() -> None:
    one, other = remember("Port 80 is open.", "Port 81 is shut.")
    pairs = zip(one, other, strict=True)
    shared = "".join(each for each, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    begins = one[: len(shared) + 1]
    assert answered("show", begins)["id"] == one
    assert answered("care", "audit", begins.upper())["id"] == one
    assert answered("credit", begins, "--helped") == [one]
    assert answered("verify", begins, "--by", "human_approval")["id"] == one
    said = refused("show", shared)
    assert said.startswith(f"id: '{shared}' is not allowed; allowed: more of it: ")
    assert one in said
    assert other in said
    assert answered("forget", begins, "--yes")["ids"] == [one]
    assert refused("show", "ffffffff").endswith(
        "an id that hardwon browse prints, or its beginning"
    )
    assert refused("show", "fff").endswith("an id, or 4 characters of its beginning")


def test_the_memory_that_is_used_outside_of_any_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HARDWON_MEMORY")
    said = at_once("recall", "ports").stderr
    assert f"your own, {tmp_path}/user-data/hardwon/memory.db, project default" in said
    assert "your own" not in at_once("remember", "Port 80 is open.").stderr
    Path("other").mkdir()
    monkeypatch.chdir("other")
    assert "your own" in at_once("recall", "ports").stderr
    at_once("init")
    Path("below").mkdir()
    monkeypatch.chdir("below")
    assert at_once("recall", "ports").stderr == ""


def test_all_that_is_wrong_with_a_record_is_told_at_once() -> None:
    said = refused("record", "fix", "--model", "m")
    assert said.startswith("fix_success is missing; verification_success is missing")
    assert refused("record", "episode") == "task_id is missing; score is missing"
    assert "issue is missing" in refused("record", "fix")
    assert refused("forget", "aa", "bb").count("4 characters of its beginning") == 2
    for line in ("rules --limit 0", "rules --state odd", "care supersede a b", "stats --memory"):
        assert at_once(*line.split()).exit_code == 2


def test_a_checkout_is_named_by_its_folder() -> None:
    """What it knows of other projects is not merged without a word."""
    with Memory("ben/.hardwon") as memory, memory.care.in_project("shop") as shop:
        memory.record_fact("Port 80 is open.", "observation")
        shop.record_fact("Port 81 is shut.", "observation")
    assert answered("merge", "ben", "--trust")["added"] == 1
    said = at_once("merge", "ben").stdout.splitlines()[-1]
    assert said.endswith("the other memory also has shop: --project names one")
    assert (
        "which has default, shop: --project"
        in at_once("--memory=ben", "stats", "--project=x").stderr
    )
    (fact,) = answered("browse")["records"]
    assert "entities" not in at_once("show", fact["id"]).stdout


def test_an_export_goes_into_a_pipe() -> None:
    ids = remember("Port 80 is open.", "Port 81 is shut.")
    lines = at_once("export", "-").stdout.splitlines()
    assert sorted(json.loads(line)["id"] for line in lines) == sorted(ids)
    assert len(json.loads(at_once("export", "-", "--format", "json").stdout)) == 2
    assert sorted(each.name for each in Path().iterdir()) == ["brain"]


def test_rules_of_every_task_are_listed() -> None:
    with Memory("brain") as memory:
        for task, said in (("easy", "read the logs first"), ("hard", "ask somebody")):
            for author in ("ann", "ben", "cem"):
                memory.record_episode(task, 0.9, successes=[said], author=author)
    listed = at_once("rules").stdout.splitlines()
    assert [line.split()[0] for line in listed[1:]] == ["easy", "hard"]
    assert [rule["text"] for rule in answered("rules", "easy")] == ["read the logs first"]
    assert [each["task_id"] for each in answered("episodes", "tasks")] == ["easy", "hard"]


def completed(words: str, shell: str = "bash") -> list[str]:
    asked = {
        "_HARDWON_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
        "_TYPER_COMPLETE_ARGS": words,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = CliRunner().invoke(main.app, env=asked, prog_name="hardwon")
    assert done.stderr == ""
    return done.stdout.split()


def test_a_shell_offers_values() -> None:
    assert completed("hardwon remember x --outcome f") == ["failure"]
    assert not Path("brain").exists()
    (kept,) = remember("Port 80 is open.")
    with Memory("brain") as memory:
        memory.record_episode("easy", 0.5)
        memory.record_fix({"model": "qwen", "issue_type": "TIMEOUT"}, True, True)
    with Memory("brain", "website") as memory:
        memory.record_fact("Port 81 is shut.", "observation")
    for command in ("show", "forget", "credit", "care audit", "remember x --recalled"):
        assert completed(f"hardwon {command} {kept[:6]}")[-1] == kept
    for command in ("rules", "episodes cards", "advise x --task", "recall x --task-id"):
        assert completed(f"hardwon {command} e") == ["easy"]
    assert completed("hardwon recall x --model q") == ["qwen"]
    assert completed("hardwon recall x --issue-type T") == ["TIMEOUT"]
    assert completed("hardwon --project w") == ["website"]
    assert completed("hardwon --project website show 0") != [kept]
    assert completed("hardwon remember x --outcome=f") == ["failure"]
    assert completed("hardwon adopt x --kind fix") == ["fix-history"]


def test_an_interrupt_says_what_was_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(KeyboardInterrupt), output.progress("merging", "what arrived stays"):
        raise KeyboardInterrupt
    with (
        pytest.raises(KeyboardInterrupt),
        output.progress("loading", "what was loaded stays") as bar,
    ):
        bar(3_000, 20_000)
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt), output.progress("loading", "it stays") as bar:
        bar(3_000, 0)
        raise KeyboardInterrupt
    assert capsys.readouterr().err.splitlines() == [
        "hardwon: interrupted while merging: what arrived stays",
        "hardwon: interrupted while loading at 3,000 of 20,000: what was loaded stays",
        "hardwon: interrupted while loading: it stays",
    ]
    remember("x")

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Memory, "rebuild", interrupted)
    done = at_once("care", "rebuild")
    assert done.exit_code == 130
    assert "what was corrected stays so; rebuild again corrects the rest" in done.stderr
