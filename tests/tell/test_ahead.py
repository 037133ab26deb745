"""What runs like the one that begins met is told at its prompt: by the task, and by what is run for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hardwon import Memory
from hardwon.capture.agents import Manner, respond

NO_URL = {"action": "make test", "observation": "KeyError: 'DATABASE_URL'", "ok": False}
WITH_URL = {"action": "DATABASE_URL=sqlite:///dev.db make test", "ok": True}
PASSED = {"action": "make test", "ok": True}
TASK = "The suite is red, can you look"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    monkeypatch.chdir(tmp_path)
    return Memory(tmp_path / ".hardwon", "shop")


def say(event: str, session: str = "s", **more: Any) -> str:
    told = {"event": event, "session": session, "folder": str(Path.cwd())} | more
    answer, complaint = respond(
        "other", json.dumps(told).encode(), {"project": "shop"}, Manner(budget_tokens=60)
    )
    assert complaint == ""
    return json.loads(answer).get("say", "") if answer else ""


def test_a_prompt_tells_what_such_runs_met_and_it_is_told_again_when_it_is_met(
    shop: Memory,
) -> None:
    shop.record_trajectory(TASK, [NO_URL, WITH_URL])
    line = say("prompt", prompt=TASK)
    assert "Such runs met: KeyError: 'DATABASE_URL'; it went away by: DATABASE_URL=" in line
    assert "Such runs met" not in say("prompt", prompt=TASK), "once a session"
    shown: dict[str, Any] = {"exit_code": 2, "output": NO_URL["observation"]}
    assert "DATABASE_URL=sqlite" in say("after", command="make test", **shown)


def test_what_the_same_command_met_at_other_tasks_is_told(shop: Memory) -> None:
    shop.record_trajectory("Check that nothing is broken", [NO_URL, WITH_URL])
    assert "DATABASE_URL" not in say("prompt", prompt=TASK)
    shop.record_trajectory(TASK, [PASSED])
    assert "DATABASE_URL" in say("prompt", session="2", prompt=TASK)


@pytest.mark.parametrize("after", [[NO_URL, PASSED], [NO_URL]])
def test_what_passes_by_itself_or_was_never_cured_is_not_told(
    shop: Memory, after: list[dict[str, Any]]
) -> None:
    shop.record_trajectory(TASK, after)
    assert "Such runs met" not in say("prompt", prompt=TASK)


def test_what_newer_runs_no_longer_meet_is_not_told(shop: Memory) -> None:
    shop.record_trajectory(TASK, [NO_URL, WITH_URL])
    for _ in range(20):
        shop.record_trajectory(TASK, [PASSED])
    assert "Such runs met" not in say("prompt", prompt=TASK)
