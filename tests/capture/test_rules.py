"""A rule that a person types: kept from a prompt, told before what it speaks of, and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hardwon import Memory
from hardwon.capture.agents import Manner, respond

UV = "From now on always use uv, never pip."


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    monkeypatch.chdir(tmp_path)
    return Memory(tmp_path / ".hardwon", "shop")


def say(event: str, session: str = "s", **more: Any) -> str:
    event_told = {"event": event, "session": session, "folder": str(Path.cwd())} | more
    options = {"project": "shop"}
    answered, complaint = respond("other", json.dumps(event_told).encode(), options, Manner())
    assert complaint == ""
    return json.loads(answered).get("say", "") if answered else ""


def test_a_rule_typed_as_a_prompt_is_told_before_what_it_speaks_of(shop: Memory) -> None:
    assert say("prompt", prompt=f"Install httpx please. {UV}") == ""
    assert say("before", session="2", command="make test") == ""
    assert UV in say("before", session="2", command="pip install requests")
    assert say("before", session="2", command="pip install httpx") == "", "told already"
    assert UV in say("prompt", session="3", prompt="add the requests library")
    assert say("prompt", session="4", prompt="Make the linter happy") == ""


def test_what_a_subagent_is_asked_is_no_persons_word(shop: Memory) -> None:
    say("prompt", prompt=UV, subagent="helper-1")
    assert say("before", session="2", command="pip install requests") == ""


def test_the_next_rule_takes_the_last_one_back(shop: Memory) -> None:
    say("prompt", prompt=UV)
    shop.record_trajectory("x", [{"action": "ls"}], author="robot")
    shop.remember("Always use pip, never uv.", "learning", author="robot")
    assert UV in say("before", session="2", command="pip install requests"), "a robot's word"
    say("prompt", prompt="We went back: use pip again, not uv.")
    assert say("before", session="3", command="pip install requests") == ""
    assert "use pip again" in say("before", session="3", command="uv pip install requests")


def test_a_rule_is_a_lesson_that_can_be_called_wrong(shop: Memory) -> None:
    shop.remember("Never edit files under web/api by hand.", "learning", author="anna")
    (rule,) = shop.lessons()
    assert (rule.kind, rule.action) == ("rule", "Never edit files under web/api by hand.")
    assert rule.action in say("before", session="2", file="web/api/client.ts")
    shop.wrong(rule.short_id)
    assert shop.lessons() == []
    assert say("before", session="3", file="web/api/client.ts") == ""
    assert shop.why(rule.id).lesson.verdict == "wrong"
    shop.right(rule.short_id)
    assert rule.action in say("before", session="4", file="web/api/client.ts")


def test_a_strangers_rule_is_told_to_nobody(shop: Memory, tmp_path: Path) -> None:
    with Memory(tmp_path / "elsewhere", "shop") as other:
        other.remember(UV, "learning", author="anna")
        shop.merge(other, dry_run=False)
    assert shop.stats().records == 1
    assert say("before", command="pip install requests") == ""
