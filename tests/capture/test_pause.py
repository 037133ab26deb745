"""Hooks that are told to be quiet are, for so long and here alone, and record all the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hardwon import Memory
from hardwon.capture.agents import Manner, respond
from hardwon.capture.pause import find_pause, pause_hooks, resume_hooks
from hardwon.errors import InvalidInputError

UV = "Always use uv, never pip."


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    memory = Memory(tmp_path / ".hardwon", "shop")
    memory.remember(UV, "learning", author="anna")
    return memory


def say(event: str, session: str, **more: Any) -> str:
    told = {"event": event, "session": session, "folder": str(Path.cwd())} | more
    answer, complaint = respond("other", json.dumps(told).encode(), {"project": "shop"}, Manner())
    assert complaint == ""
    return json.loads(answer).get("say", "") if answer else ""


def test_who_pauses_hears_nothing_until_the_end_and_all_is_recorded(shop: Memory) -> None:
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
