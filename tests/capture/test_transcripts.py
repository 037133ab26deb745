"""Sessions that agents left on disk, brought in: as their documentation shows them, and a thousand
made up in each format; twice, cut off in the middle, with secrets.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from cases import TORTURE
from checkouts import git, new_repository
from command_line import answered, at_once
from hardwon import Memory
from hardwon.capture.transcripts import FORMATS, Format, take_in
from hardwon.errors import PlaceError
from hardwon.records.kinds import Trajectory

SECRET = "ghp_" + "a1B2c3D4e5" * 4
ERROR = "deploy: error: no region is set for the cluster"
FIX = "DEPLOY_REGION=eu make deploy"
SESSIONS = 1_000 if TORTURE else 80


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = new_repository(tmp_path / "shop")
    monkeypatch.chdir(folder)
    monkeypatch.delenv("HARDWON_MEMORY", raising=False)
    Memory(folder / ".hardwon", "shop").close()
    return folder


Done = Sequence[tuple[str, int | None, str]]
"""Commands with exit code and output; an edit is a file, None, and what was put there."""


def claude_code(session: str, folder: str, prompt: str, ran: Done) -> str:
    common = {
        "isSidechain": False,
        "userType": "external",
        "cwd": folder,
        "sessionId": session,
        "version": "2.1.37",
        "gitBranch": "main",
    }
    lines: list[dict[str, Any]] = [
        {"type": "summary", "summary": "A session", "leafUuid": "u9"},
        {
            **common,
            "type": "user",
            "message": {"role": "user", "content": prompt},
            "uuid": "u0",
            "timestamp": "2026-10-01T08:00:00.000Z",
        },
    ]
    for number, (command, code, output) in enumerate(ran):
        use: dict[str, Any] = {
            "type": "tool_use",
            "id": f"toolu_{number}",
            "name": "Bash",
            "input": {"command": command, "description": "Do it"},
        }
        result = {
            "type": "tool_result",
            "tool_use_id": f"toolu_{number}",
            "content": f"Exit code {code}\n{output}" if code else output,
            "is_error": bool(code),
        }
        stored: Any = (
            f"Error: Exit code {code}" if code else {"stdout": output, "interrupted": False}
        )
        if code is None:
            use |= {"name": "Edit", "input": {"file_path": command, "new_string": output}}
            stored = {"filePath": command}
        at = f"2026-10-01T08:00:{number:02}.000Z"
        lines += [
            {
                **common,
                "type": "assistant",
                "message": {"role": "assistant", "content": [{"type": "text", "text": "I"}, use]},
                "timestamp": at,
            },
            {
                **common,
                "type": "user",
                "message": {"role": "user", "content": [result]},
                "toolUseResult": stored,
                "timestamp": at,
            },
        ]
    return "\n".join(map(json.dumps, lines)) + "\n"


def codex(session: str, folder: str, prompt: str, ran: Done) -> str:
    at = "2026-10-01T08:00:00.000Z"

    def line(kind: str, /, **payload: Any) -> dict[str, Any]:
        return {"timestamp": at, "type": kind, "payload": payload}

    about = "<environment_context><cwd>/x</cwd></environment_context>"
    lines = [
        line("session_meta", id=session, cwd=folder, cli_version="0.144.5", git={"branch": "main"}),
        line(
            "response_item",
            type="message",
            role="user",
            content=[{"type": "input_text", "text": about}],
        ),
        line("event_msg", type="user_message", message=prompt, kind="plain"),
        line("turn_context", cwd=folder, model="gpt-5-codex"),
    ]
    for number, (command, code, output) in enumerate(ran):
        if code is None:
            file = Path(command).relative_to(folder)
            patch = f"*** Begin Patch\n*** Update File: {file}\n@@\n+{output}\n*** End Patch"
            call: dict[str, Any] = {"type": "custom_tool_call", "name": "apply_patch"}
            lines += [
                line("response_item", **call, input=patch, call_id=f"call_{number}"),
                line(
                    "response_item",
                    type="custom_tool_call_output",
                    call_id=f"call_{number}",
                    output="Done!",
                ),
            ]
            continue
        arguments: dict[str, Any] = {"command": ["bash", "-lc", command], "workdir": folder}
        told: str = json.dumps({"output": output, "metadata": {"exit_code": code}})
        name = "shell"
        if number % 2:  # as newer versions do
            name, arguments = "exec_command", {"cmd": command, "workdir": folder}
            told = f"Chunk ID: 1\nProcess exited with code {code}\nOutput:\n{output}"
        lines += [
            line(
                "response_item",
                type="function_call",
                name=name,
                arguments=json.dumps(arguments),
                call_id=f"call_{number}",
            ),
            line(
                "response_item", type="function_call_output", call_id=f"call_{number}", output=told
            ),
        ]
    return "\n".join(map(json.dumps, lines)) + "\n"


def otlp(session: str, folder: str, prompt: str, ran: Done) -> str:
    def attributes(**said: str) -> list[dict[str, Any]]:
        return [
            {"key": f"gen_ai.{key.replace('__', '.')}", "value": {"stringValue": value}}
            for key, value in said.items()
        ]

    asked = json.dumps([{"role": "user", "parts": [{"type": "text", "content": prompt}]}])
    spans: list[dict[str, Any]] = [
        {
            "traceId": "5b8e",
            "spanId": "a0",
            "name": "invoke_agent shop",
            "startTimeUnixNano": "1790841600000000000",
            "attributes": attributes(
                operation__name="invoke_agent", conversation__id=session, input__messages=asked
            ),
        }
    ]
    for number, (command, code, output) in enumerate(ran, 1):
        given = json.dumps({"command": command})
        spans.append(
            {
                "traceId": "5b8e",
                "spanId": f"b{number}",
                "name": "execute_tool bash",
                "startTimeUnixNano": str(1790841600000000000 + number),
                "status": {"code": 2, "message": "it failed"} if code else {"code": 1},
                "attributes": attributes(
                    operation__name="execute_tool",
                    conversation__id=session,
                    tool__name="bash",
                    tool__call__arguments=given,
                    tool__call__result=output,
                ),
            }
        )
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop-agent"}}]}
    whole = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]}
    assert folder
    return json.dumps(whole) + "\n"


WRITERS: dict[Format, Callable[[str, str, str, Done], str]] = {
    "claude-code": claude_code,
    "codex": codex,
    "otlp": otlp,
}
RAN: Done = [("make deploy", 2, ERROR), ("ls", 0, "a"), (FIX, 0, f"with the token {SECRET}")]


def written(form: Format, shop: Path, folder: Path, many: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(many):
        text = WRITERS[form](f"s{number}", str(shop), f"Deploy the shop {number} {SECRET}", RAN)
        (folder / f"rollout-{number}.jsonl").write_text(text)
    return folder


@pytest.mark.parametrize("form", FORMATS)
def test_a_session_becomes_what_was_done_and_what_settled_it(
    shop: Path, tmp_path: Path, form: Format
) -> None:
    source = written(form, shop, tmp_path / "sessions", 1)
    foreseen = answered("import", form, str(source), "--dry-run")
    assert (foreseen["added"], foreseen["dry_run"]) == (1, True)
    with Memory() as memory:
        assert list(memory.browse()) == []
    done = answered("import", form, str(source))
    assert (done["files"], done["sessions"], done["read"], done["added"]) == (1, 1, 1, 1)
    with Memory() as memory:
        (work,) = memory.browse()
        assert isinstance(work, Trajectory)
        looked = ["ls"] if form == "otlp" else []  # of other tools nobody knows what teaches
        assert [step.action for step in work.steps] == ["make deploy", *looked, FIX]
        assert (work.final_reward, work.metadata.validation.status) == (None, "hypothesis")
        assert work.task.startswith("Deploy the shop 0 [REDACTED")
        assert work.metadata.source.id == "s0"
        assert work.metadata.context.timestamp.isoformat().startswith("2026-10-01T08:00")
        assert SECRET not in work.to_json()
        assert [event.kind for event in memory.audit(work.id)] == ["created", "imported"]
        assert memory.solutions(ERROR)[0].action == FIX
    again = answered("import", form, str(source))
    assert (again["added"], again["present"], again["changed"]) == (0, 1, 0)


@pytest.mark.parametrize("form", FORMATS)
def test_many_sessions_cut_off_in_the_middle(shop: Path, tmp_path: Path, form: Format) -> None:
    source = written(form, shop, tmp_path / "sessions", SESSIONS)
    slowly = (
        "from hardwon import limits; limits.BATCH_ROWS = 20\n"
        "from hardwon.surfaces.cli.main import main; main()"
    )
    words = [sys.executable, "-c", slowly, "import", form, str(source)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while kept() == 0 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    before = kept()
    assert 0 < before < SESSIONS
    done = answered("import", form, str(source))
    assert (done["sessions"], done["read"]) == (SESSIONS, SESSIONS)
    assert (done["present"], done["added"]) == (before, SESSIONS - before)
    assert answered("import", form, str(source))["present"] == SESSIONS
    with Memory() as memory:
        assert memory.stats().records == SESSIONS
        assert all(each.ok for each in memory.doctor().findings)
        solution = memory.solutions(ERROR)[0]
        assert solution.action == FIX
        assert solution.helped == solution.tried >= 60, "as many of the newest as are read"
    assert SECRET.encode() not in (shop / ".hardwon" / "memory.db").read_bytes()


def kept() -> int:
    with Memory() as memory:
        return memory.stats().records


def test_only_sessions_of_this_repository(shop: Path, tmp_path: Path) -> None:
    side, other = tmp_path / "side", new_repository(tmp_path / "other")
    git(shop, "worktree", "add", "-q", "-b", "side", str(side))
    source = tmp_path / "sessions"
    source.mkdir()
    for number, folder in enumerate((shop / "src", side, other, Path("/nowhere"))):
        text = claude_code(f"s{number}", str(folder), "Deploy", RAN)
        (source / f"{number}.jsonl").write_text(text)
    done = answered("import", "claude-code", str(source))
    assert (done["sessions"], done["elsewhere"], done["added"]) == (4, 2, 2)
    assert answered("import", "claude-code", str(source), "--everywhere")["added"] == 2


def test_what_hooks_recorded_here_is_not_brought_in_again(shop: Path, tmp_path: Path) -> None:
    from hardwon.capture.agents import Manner, respond

    for command, code, output in RAN:
        told = {"event": "after", "session": "s0", "command": command, "exit_code": code}
        respond("other", json.dumps(told | {"output": output}).encode(), {}, Manner())
    respond("other", b'{"event": "end", "session": "s0"}', {}, Manner())
    done = answered("import", "codex", str(written("codex", shop, tmp_path / "s", 2)))
    assert (done["recorded"], done["added"]) == (1, 1)


def test_several_prompts_are_several_pieces_unless_something_is_left_failing(
    shop: Path, tmp_path: Path
) -> None:
    first = claude_code("s", str(shop), "Build it", [("make build", 0, "")])
    second = claude_code("s", str(shop), "Deploy it", RAN[:1]).replace("toolu_", "b_")
    third = claude_code("s", str(shop), "Set the region", RAN[2:]).replace("toolu_", "c_")
    (tmp_path / "one.jsonl").write_text(first + "not json\n[7]\n" + second + third)
    done = answered("import", "claude-code", str(tmp_path / "one.jsonl"))
    assert (done["sessions"], done["read"], done["passed_over"]) == (1, 2, 2)
    with Memory() as memory:
        found = {each.task: each for each in memory.browse() if isinstance(each, Trajectory)}
    assert {task: len(each.steps) for task, each in found.items()} == {
        "Build it": 1,
        "Deploy it": 2,
    }
    # it went on since
    (tmp_path / "one.jsonl").write_text(
        first + second + third + claude_code("s", str(shop), "/x", RAN[2:]).replace("toolu_", "d_")
    )
    again = answered("import", "claude-code", str(tmp_path / "one.jsonl"))
    assert (again["present"], again["changed"], again["added"]) == (1, 1, 0)


def test_whatever_the_file_holds_nothing_breaks(shop: Path, tmp_path: Path) -> None:
    odd: list[Any] = [
        None,
        7,
        "x",
        [],
        {},
        {"type": "user", "message": 7},
        {"payload": {"type": "message"}},
    ]
    odd += [{"type": "response_item", "payload": {"type": "function_call_output", "call_id": 3}}]
    odd += [{"resourceSpans": [{"scopeSpans": [{"spans": [7, {"attributes": [3]}]}]}, 7]}]
    content = [7, {"type": "tool_result"}, {"type": "tool_use", "id": [], "input": 3}]
    odd += [{"type": "user", "message": {"content": content}, "timestamp": 7, "cwd": 7}]
    (tmp_path / "odd.jsonl").write_text("\n".join(map(json.dumps, odd)) + "\n\xff{")
    for form in FORMATS:
        assert answered("import", form, str(tmp_path / "odd.jsonl"))["added"] == 0
    assert at_once("import", "otlp").exit_code == 2
    assert at_once("import", "codex", str(tmp_path / "nowhere")).exit_code == 1
    with Memory() as memory, pytest.raises(PlaceError, match="no sessions"):
        take_in(memory, "codex", shop / "src")
