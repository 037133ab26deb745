"""What hooks say before the work: rules that people typed, and what such runs met."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hardwon import Memory
from hardwon.capture.pause import find_pause, pause_hooks, resume_hooks
from hardwon.errors import InvalidInputError
from hook_calls import say

UV = "From now on always use uv, never pip."
TASK = "The suite is red, can you look"
NO_URL = {"action": "make test", "observation": "KeyError: 'DATABASE_URL'", "ok": False}
WITH_URL = {"action": "DATABASE_URL=sqlite:///dev.db make test", "ok": True}
PASSED = {"action": "make test", "ok": True}


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    monkeypatch.chdir(tmp_path)
    return Memory(tmp_path / ".hardwon", "shop")


def test_a_rule_typed_as_a_prompt_is_told_before_what_it_speaks_of(shop: Memory) -> None:
    assert say("prompt", prompt=f"Install httpx please. {UV}") == ""
    assert say("before", "2", command="make test") == ""
    assert UV in say("before", "2", command="pip install requests")
    assert say("before", "2", command="pip install httpx") == "", "told already"
    assert UV in say("prompt", "3", prompt="add the requests library")
    assert say("prompt", "4", prompt="Make the linter happy") == ""


def test_what_a_subagent_is_asked_is_no_persons_word(shop: Memory) -> None:
    say("prompt", prompt=UV, subagent="helper-1")
    assert say("before", "2", command="pip install requests") == ""


def test_the_next_rule_takes_the_last_one_back(shop: Memory) -> None:
    say("prompt", prompt=UV)
    shop.record_trajectory("x", [{"action": "ls"}], author="robot")
    shop.remember("Always use pip, never uv.", "learning", author="robot")
    assert UV in say("before", "2", command="pip install requests"), "a robot's word"
    say("prompt", prompt="We went back: use pip again, not uv.")
    assert say("before", "3", command="pip install requests") == ""
    assert "use pip again" in say("before", "3", command="uv pip install requests")


def test_a_rule_is_a_lesson_that_can_be_called_wrong(shop: Memory) -> None:
    shop.remember("Never edit files under web/api by hand.", "learning", author="anna")
    (rule,) = shop.lessons()
    assert (rule.kind, rule.action) == ("rule", "Never edit files under web/api by hand.")
    assert rule.action in say("before", "2", file="web/api/client.ts")
    shop.wrong(rule.short_id)
    assert shop.lessons() == []
    assert say("before", "3", file="web/api/client.ts") == ""
    assert shop.why(rule.id).lesson.verdict == "wrong"
    shop.right(rule.short_id)
    assert rule.action in say("before", "4", file="web/api/client.ts")


def test_a_strangers_rule_is_told_to_nobody(shop: Memory, tmp_path: Path) -> None:
    with Memory(tmp_path / "elsewhere", "shop") as other:
        other.remember(UV, "learning", author="anna")
        shop.merge(other, dry_run=False)
    assert shop.stats().records == 1
    assert say("before", command="pip install requests") == ""


def test_a_prompt_tells_what_such_runs_met_and_it_is_told_when_met_again(shop: Memory) -> None:
    shop.record_trajectory(TASK, [NO_URL, WITH_URL])
    line = say("prompt", prompt=TASK, budget_tokens=60)
    assert "Such runs met: KeyError: 'DATABASE_URL'; it went away by: DATABASE_URL=" in line
    assert "Such runs met" not in say("prompt", prompt=TASK), "once a session"
    shown: dict[str, Any] = {"exit_code": 2, "output": NO_URL["observation"]}
    assert "DATABASE_URL=sqlite" in say("after", command="make test", **shown)


def test_what_the_same_command_met_at_other_tasks_is_told(shop: Memory) -> None:
    shop.record_trajectory("Check that nothing is broken", [NO_URL, WITH_URL])
    assert "DATABASE_URL" not in say("prompt", prompt=TASK)
    shop.record_trajectory(TASK, [PASSED])
    assert "DATABASE_URL" in say("prompt", "2", prompt=TASK)


@pytest.mark.parametrize("after", [[NO_URL, PASSED], [NO_URL]])
def test_what_passes_by_itself_or_was_never_cured_is_not_told(shop: Memory, after: Any) -> None:
    shop.record_trajectory(TASK, after)
    assert "Such runs met" not in say("prompt", prompt=TASK)


def test_what_newer_runs_no_longer_meet_is_not_told(shop: Memory) -> None:
    shop.record_trajectory(TASK, [NO_URL, WITH_URL])
    for _ in range(20):
        shop.record_trajectory(TASK, [PASSED])
    assert "Such runs met" not in say("prompt", prompt=TASK)


def test_who_pauses_hears_nothing_until_the_end_and_all_is_recorded(shop: Memory) -> None:
    shop.remember(UV, "learning", author="anna")
    assert UV in say("before", "1", command="pip install x")
    until = pause_hooks(shop.location, shop.project, "2h")
    assert find_pause(shop.location, shop.project) == until
    assert find_pause(shop.location, "bar") is None, "of another project nothing was said"
    assert say("before", "2", command="pip install x") == ""
    count = shop.stats().records
    say("after", "2", command="make test", output="1 failed", exit_code=1)
    assert shop.stats().records == count + 1
    assert resume_hooks(shop.location, shop.project)
    assert UV in say("before", "2", command="pip install x"), "nobody had heard it"
    assert not resume_hooks(shop.location, shop.project)


@pytest.mark.parametrize("length", ["", "0m", "soon", "1w", "-1h"])
def test_a_length_that_is_none_is_refused_and_changes_nothing(shop: Memory, length: str) -> None:
    with pytest.raises(InvalidInputError, match="30m or 1d"):
        pause_hooks(shop.location, shop.project, length)
    assert find_pause(shop.location, shop.project) is None
