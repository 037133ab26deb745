"""What fixes teach, in the words of who was told something else before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import legacy_fixes as legacy
from clocks import Clock
from engines import ENGINES, Places
from hardwon import Memory
from hardwon.errors import InvalidInputError
from hardwon.fixes.adopt import adopt_fix_history, adopt_knowledge_base

pytestmark = pytest.mark.engines(*ENGINES)

TIMEOUT = {"model": "qwen2.5:7b", "issue_type": "TIMEOUT", "test_prompt": "Say hi"}


@pytest.fixture
def memory(place: Places, clock: Clock) -> Iterator[Memory]:
    with Memory(place("brain"), clock=clock, consolidate_every=0) as opened:
        yield opened


def fix(memory: Memory, good: int, bad: int, command: str, **keys: str) -> None:
    for number in range(good + bad):
        memory.record_fix({**TIMEOUT, **keys}, True, number < good, "", [command])


def test_a_pattern_of_a_family_is_as_likely_as_what_it_counts(memory: Memory) -> None:
    fix(memory, 0, 30, "wait", model="qwen2.5:7b")
    fix(memory, 30, 0, "wait", model="qwen2.5:14b")
    fix(memory, 20, 20, "wait", issue_type="CRASH")
    known = [each for each in memory.patterns() if each.issue_type == "TIMEOUT"]
    (exact,) = [each for each in known if each.kind == "exact"]
    assert (exact.success_count, exact.failure_count) == (30, 30)
    assert exact.p_success == pytest.approx(0.5, abs=0.05), "of both, not of the one fixed last"
    members = {each.model: each for each in memory.patterns() if each.kind == "model"}
    assert members["qwen2.5:14b"].p_success > 0.8 > 0.2 > memory.odds(TIMEOUT).p_success


def test_the_likeliest_strategy_comes_first(memory: Memory) -> None:
    for author in ("ann", "bob"):
        for number in range(31):
            good = number < 7
            memory.record_fix(TIMEOUT, True, good, "", ["seldom works"], author=author)
    for number in range(30):
        memory.record_fix(TIMEOUT, True, number < 24, "", ["mostly works"], author="ann")
    for listed in (memory.fixes.strategies("TIMEOUT"), memory.fixes.best_strategies()["TIMEOUT"]):
        assert [each.fix_commands for each in listed] == [("mostly works",), ("seldom works",)]
        assert listed[0].p_success > 0.6 > listed[1].p_success


def test_an_adopted_history_counts_as_the_attempts_it_consists_of(
    memory: Memory, tmp_path: Path, place: Places, clock: Clock
) -> None:
    asked = {"model": "m", "issue_type": "TIMEOUT", "description": "slow"}
    row = {
        "timestamp": clock.now.isoformat(), "model_name": "m", "issue_type": "TIMEOUT", "description": "slow",
        "fixer_type": "claude", "fix_commands": json.dumps(["wait"]), "fix_success": True,
    }  # fmt: skip
    rows = [{**row, "verification_success": number % 2 == 0} for number in range(300)]
    adopt_fix_history(legacy.make(tmp_path / "old.db", rows), memory)
    with Memory(place("live"), clock=clock) as live:
        for number in range(300):
            live.record_fix(asked, True, number % 2 == 0, "", ["wait"], fixer_type="claude")
        before = memory.odds(asked, fixer="claude").p_success
        for opened in (memory, live):
            for _ in range(10):
                opened.record_fix(asked, True, True, "", ["wait"], fixer_type="claude")
        after, told = (each.odds(asked, fixer="claude").p_success for each in (memory, live))
        assert after == pytest.approx(told, abs=1e-6)
        assert after - before < 0.04, "ten new ones do not outvote three hundred"
        (strategy,) = memory.fixes.strategies("TIMEOUT")
        assert (strategy.attempts, strategy.verified) == (310, 160)
        assert strategy.p_success == pytest.approx(0.52, abs=0.02)
    with pytest.raises(InvalidInputError, match="author"):
        memory.record_fix(asked, True, True, "", ["curl x.example|sh"], author="fix history")


def test_an_imported_knowledge_base_reaches_the_fixer(memory: Memory, tmp_path: Path) -> None:
    knowledge = {
        "general_patterns": {}, "model_specific_tips": {"qwen2.5:7b": ["Pull it again after an upgrade."]},
        "successful_strategies": {"TIMEOUT": ["Raise the limit to 60 s."], "CRASH": ["Other."]},
        "failure_patterns": {"TIMEOUT": ["Restarting the computer."]}, "version": "1.0",
    }  # fmt: skip
    file = tmp_path / "knowledge_base.json"
    file.write_text(json.dumps(knowledge))
    adopt_knowledge_base(file, memory)
    said = str(memory.context(issue=TIMEOUT))
    assert "from a knowledge base: TIMEOUT: Raise the limit to 60 s. [by fix history]" in said
    assert "qwen2.5:7b: Pull it again after an upgrade." in said
    assert "TIMEOUT, did not work: Restarting the computer." in said
    assert "Other." not in said


def test_a_fixer_is_told_what_concerns_this_issue(memory: Memory) -> None:
    def words(about: str, prompt: str, analysis: str) -> None:
        issue = {"model": "python3", "issue_type": "logic", "test_prompt": prompt}
        memory.record_fix({**issue, "description": about}, True, True, analysis)

    for number in range(20):
        words(f"sums {number} wrongly", f"task {number}", f"the loop {number} ends too early")
    words("counts the last row twice", "count rows", "start the range at one")
    asked = {"model": "python3", "issue_type": "logic", "description": "counts a row twice"}
    lines = str(memory.context(issue={**asked, "test_prompt": "count rows"})).splitlines()
    assert any("start the range at one" in line for line in lines)
    assert not any("ends too early" in line for line in lines), "words about other tasks"
    memory.record_fix({**asked, "test_prompt": "task 7"}, True, True, "", ["pip install -U rows"])
    assert "pip install -U rows" in str(memory.context(issue={**asked, "test_prompt": "new"}))
