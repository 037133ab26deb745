"""One voice: whoever is asked about a moment names the same lesson, by the same id."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import at_once
from hardwon import Memory
from hardwon.capture.agents import Manner, respond
from mcp_calls import over_stdio, parameters, run, text_of

TASK, COMMAND = "make the tests pass", "make test"
CURE = "DATABASE_URL=sqlite:///dev.db make test"
ERROR = "exit code 2 after 0.4 s\nKeyError: 'DATABASE_URL'\nmake: *** [test] Error 1"
STEPS = [
    {"action": COMMAND, "observation": ERROR},
    {"action": CURE, "observation": "exit code 0 after 1.0 s\n12 passed"},
]


def ask_hook(folder: Path, moment: str, **more: object) -> str:
    """What a hook says at a moment of a session of its own."""
    event = {"hook_event_name": moment, "session_id": moment, "cwd": str(folder), **more}
    return respond("claude-code", json.dumps(event).encode(), {}, Manner())[0]


def ask_mcp(folder: Path, **asked: str) -> str:
    """What `before` answers."""
    answers: list[str] = []

    async def work() -> None:
        async with over_stdio(parameters(folder / ".hardwon"), "auto", folder / "errors") as client:
            answers.append(text_of(await client.call_tool("before", asked)))

    run(work)
    return answers[0]


def test_all_who_speak_name_the_same_lesson(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Memory(".hardwon", "default") as memory:
        memory.record_trajectory(TASK, STEPS, 1.0)
        moment = {"task": TASK, "action": COMMAND, "error": ERROR}
        (lesson, *_) = memory.solutions(ERROR, action=COMMAND, task=TASK)
        asked = f"{TASK}\n{COMMAND}\n{ERROR}"
        bash = {"tool_name": "Bash", "tool_input": {"command": COMMAND}}
        answers = {
            "context": str(memory.context(asked)),
            "advise": memory.advise(COMMAND, task=TASK, error=ERROR).message,
            "lessons": str(memory.lessons("cure")),
            "before a command": ask_hook(tmp_path, "PreToolUse", **bash),
            "after a failure": ask_hook(tmp_path, "PostToolUseFailure", **bash, error=ERROR),
            "prompt": ask_hook(tmp_path, "UserPromptSubmit", prompt=TASK),
            "MCP": ask_mcp(tmp_path, **moment),
            "command line": at_once("context", asked).stdout,
        }
        for who, answer in answers.items():
            assert lesson.short_id in answer, who
            assert CURE in answer, who
        memory.wrong(lesson.id)
        assert lesson.short_id not in str(memory.context(asked))
        known = memory.solutions(ERROR, action=COMMAND, task=TASK)
        assert lesson.id not in [one.id for one in known]
        assert lesson.short_id not in ask_mcp(tmp_path, **moment)
