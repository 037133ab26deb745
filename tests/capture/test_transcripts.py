"""Sessions that agents left on disk, brought in: twice, cut off in the middle, with secrets."""

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
from hook_calls import say

SECRET = "ghp_" + "a1B2c3D4e5" * 4
ERROR = "deploy: error: no region is set for the cluster"
FIX = "DEPLOY_REGION=eu make deploy"
SESSIONS = 1_000 if TORTURE else 80


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = new_repository(tmp_path / "shop")
    monkeypatch.chdir(folder)
    Memory(folder / ".hardwon", "shop").close()
    return folder


Done = Sequence[tuple[str, int | None, str]]
"""Commands with exit code and output; an edit is a file, None, and what was put there."""


def claude_code(session: str, folder: str, prompt: str, ran: Done) -> str:
    common = {"isSidechain": False, "userType": "external", "cwd": folder, "sessionId": session}
    common |= {"version": "2.1.37", "gitBranch": "main"}
    asked = {"role": "user", "content": prompt}
    begun = {"type": "user", "uuid": "u0", "timestamp": "2026-10-01T08:00:00.000Z"}
    lines: list[dict[str, Any]] = [
        {"type": "summary", "summary": "A session", "leafUuid": "u9"},
        {**common, **begun, "message": asked},
    ]
    for number, (command, code, output) in enumerate(ran):
        use: dict[str, Any] = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash"}
        use["input"] = {"command": command, "description": "Do it"}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "is_error": bool(code)}
        result["content"] = f"Exit code {code}\n{output}" if code else output
        stored: Any = {"stdout": output, "interrupted": False}
        if code:
            stored = f"Error: Exit code {code}"
        elif code is None:
            use |= {"name": "Edit", "input": {"file_path": command, "new_string": output}}
            stored = {"filePath": command}
        at = {**common, "timestamp": f"2026-10-01T08:00:{number:02}.000Z"}
        said = {"role": "assistant", "content": [{"type": "text", "text": "I"}, use]}
        answer = {"type": "user", "message": {"role": "user", "content": [result]}}
        lines += [
            {**at, "type": "assistant", "message": said},
            {**at, **answer, "toolUseResult": stored},
        ]
    return "\n".join(map(json.dumps, lines)) + "\n"


def codex(session: str, folder: str, prompt: str, ran: Done) -> str:
    def line(kind: str, /, **payload: Any) -> dict[str, Any]:
        return {"timestamp": "2026-10-01T08:00:00.000Z", "type": kind, "payload": payload}

    def item(kind: str, **payload: Any) -> dict[str, Any]:
        return line("response_item", type=kind, **payload)

    about = [
        {"type": "input_text", "text": "<environment_context><cwd>/x</cwd></environment_context>"}
    ]
    lines = [
        line("session_meta", id=session, cwd=folder, cli_version="0.144.5", git={"branch": "main"}),
        item("message", role="user", content=about),
        line("event_msg", type="user_message", message=prompt, kind="plain"),
        line("turn_context", cwd=folder, model="gpt-5-codex"),
    ]
    for number, (command, code, output) in enumerate(ran):
        call = {"call_id": f"call_{number}"}
        if code is None:
            file = Path(command).relative_to(folder)
            patch = f"*** Begin Patch\n*** Update File: {file}\n@@\n+{output}\n*** End Patch"
            lines.append(item("custom_tool_call", name="apply_patch", input=patch, **call))
            lines.append(item("custom_tool_call_output", output="Done!", **call))
            continue
        arguments: dict[str, Any] = {"command": ["bash", "-lc", command], "workdir": folder}
        told: str = json.dumps({"output": output, "metadata": {"exit_code": code}})
        name = "shell"
        if number % 2:  # as newer versions do
            name, arguments = "exec_command", {"cmd": command, "workdir": folder}
            told = f"Chunk ID: 1\nProcess exited with code {code}\nOutput:\n{output}"
        lines.append(item("function_call", name=name, arguments=json.dumps(arguments), **call))
        lines.append(item("function_call_output", output=told, **call))
    return "\n".join(map(json.dumps, lines)) + "\n"


def otlp(session: str, folder: str, prompt: str, ran: Done) -> str:
    def span(number: int, name: str, **said: str) -> dict[str, Any]:
        attributes = [
            {"key": f"gen_ai.{key.replace('__', '.')}", "value": {"stringValue": value}}
            for key, value in said.items()
        ]
        at = {"traceId": "5b8e", "spanId": f"b{number}", "name": name, "attributes": attributes}
        return {**at, "startTimeUnixNano": str(1790841600000000000 + number)}

    about = {"conversation__id": session}
    asked = json.dumps([{"role": "user", "parts": [{"type": "text", "content": prompt}]}])
    invoke = {"operation__name": "invoke_agent", "input__messages": asked}
    spans = [span(0, "invoke_agent shop", **about, **invoke)]
    for number, (command, code, output) in enumerate(ran, 1):
        given = json.dumps({"command": command})
        call = {"operation__name": "execute_tool", "tool__name": "bash"}
        call |= {"tool__call__arguments": given, "tool__call__result": output}
        status = {"code": 2, "message": "it failed"} if code else {"code": 1}
        spans.append(span(number, "execute_tool bash", **about, **call) | {"status": status})
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop-agent"}}]}
    whole = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]}
    assert folder
    return json.dumps(whole) + "\n"


WRITERS: dict[Format, Callable[[str, str, str, Done], str]] = {
    "claude-code": claude_code, "codex": codex, "otlp": otlp,
}  # fmt: skip
RAN: Done = [("make deploy", 2, ERROR), ("ls", 0, "a"), (FIX, 0, f"with the token {SECRET}")]


def written(form: Format, shop: Path, folder: Path, many: int) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(many):
        text = WRITERS[form](f"s{number}", str(shop), f"Deploy the shop {number} {SECRET}", RAN)
        (folder / f"rollout-{number}.jsonl").write_text(text)
    return folder


@pytest.mark.parametrize("form", FORMATS)
def test_a_session_becomes_what_was_done_in_it(shop: Path, tmp_path: Path, form: Format) -> None:
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
    for command, code, output in RAN:
        say("after", "s0", command=command, exit_code=code, output=output)
    say("end", "s0")
    done = answered("import", "codex", str(written("codex", shop, tmp_path / "s", 2)))
    assert (done["recorded"], done["added"]) == (1, 1)


def test_several_prompts_are_several_pieces_unless_one_fails(shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"

    def part(prompt: str, ran: Done, name: str) -> str:
        return claude_code("s", str(shop), prompt, ran).replace("toolu_", name)

    first = part("Build it", [("make build", 0, "")], "a_")
    rest = part("Deploy it", RAN[:1], "b_") + part("Set the region", RAN[2:], "c_")
    file.write_text(first + "not json\n[7]\n" + rest)
    done = answered("import", "claude-code", str(file))
    assert (done["sessions"], done["read"], done["passed_over"]) == (1, 2, 2)
    with Memory() as memory:
        found = {each.task: each for each in memory.browse() if isinstance(each, Trajectory)}
    counts = {task: len(each.steps) for task, each in found.items()}
    assert counts == {"Build it": 1, "Deploy it": 2}
    file.write_text(first + rest + part("/x", RAN[2:], "d_"))  # it went on since
    again = answered("import", "claude-code", str(file))
    assert (again["present"], again["changed"], again["added"]) == (1, 1, 0)


def test_whatever_the_file_holds_nothing_breaks(shop: Path, tmp_path: Path) -> None:
    odd: list[Any] = [None, 7, "x", [], {}, {"type": "user", "message": 7}]
    odd += [{"payload": {"type": "message"}}]
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
