"""What coding agents tell their hooks, each in its own words, as one `HookEvent`; and a `Reply` as
each of them understands it. docs/coding-agents.md has both as JSON, for any other agent.

Claude Code and Codex speak the same protocol, but Codex does not say how a command ended. Cursor's
is another, and takes in words only when a session starts and after a tool was used. What comes in
has any shape: whatever is not as expected is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, get_args

from hardwon import limits
from hardwon.records.fields import read_json
from hardwon.tell.situation import Aside, Line

Moment = Literal["start", "prompt", "before", "after", "compact", "subagent", "stop", "end"]
Agent = Literal["claude-code", "codex", "cursor", "other"]
MOMENTS: Final[tuple[Moment, ...]] = get_args(Moment)
AGENTS: Final[tuple[Agent, ...]] = get_args(Agent)

Json = Mapping[str, Any]


@dataclass(frozen=True)
class HookEvent:
    """Something that an agent does: `start` or `end` of a session, a `prompt`, `before` and `after`
    a command or the edit of a file, `compact`, and the `stop` of a turn or of a `subagent`.
    `forgot`: at a start, the model no longer has what it was told. `exit_code` is None where nobody
    says how a command ended.
    """

    event: Moment
    session: str = ""
    subagent: str = ""
    folder: str = ""
    prompt: str = ""
    command: str = ""
    purpose: str = ""
    file: str = ""
    change: str = ""
    output: str = ""
    exit_code: int | None = None
    seconds: float = 0.0
    forgot: bool = False


@dataclass(frozen=True)
class Reply:
    """What is told to the model (`say`, which has these `lines`), decided about a command, and shown
    to the person.
    """

    say: str = ""
    decision: Literal["", "ask", "deny"] = ""
    notice: str = ""
    lines: tuple[Line | Aside, ...] = ()


def read_event(agent: Agent, data: bytes) -> HookEvent | None:
    """None of what is nothing that we listen to: another event or tool, a command that was
    interrupted, refused or sent to the background.
    """
    message = read_json(data)
    if not isinstance(message, dict):
        return None
    if agent == "other":
        return _read_plain(message)
    return read_hook(_as_claude(message) if agent == "cursor" else message)


def read_name(data: bytes) -> str:
    """What the agent calls an event; "" where it gives no name."""
    message = read_json(data)
    return _text(message, "hook_event_name") if isinstance(message, dict) else ""


def write_reply(agent: Agent, message: bytes, reply: Reply) -> Json:
    """The reply in the agent's words; empty where it takes none at this event."""
    if agent == "other":
        own = {"say": reply.say, "decision": reply.decision, "notice": reply.notice}
        return {name: value for name, value in own.items() if value}
    name = read_name(message)
    if agent == "cursor":
        if reply.decision:
            return {"permission": reply.decision, "agent_message": reply.say}
        words = "\n".join(filter(None, (reply.notice, reply.say)))
        return {"additional_context": words} if words and name in _CURSOR_LISTENS else {}
    output = {"additionalContext": reply.say} if reply.say else {}
    if reply.decision == "deny" or (reply.decision and agent == "claude-code"):
        output |= {"permissionDecision": reply.decision, "permissionDecisionReason": reply.say}
    specific = {"hookSpecificOutput": {"hookEventName": name} | output} if output else {}
    return specific | ({"systemMessage": reply.notice} if reply.notice else {})


def may_say(agent: Agent, event: HookEvent, reply: Reply) -> bool:
    """Whether the agent takes in words at this event."""
    return agent != "cursor" or event.event in ("start", "after") or bool(reply.decision)


# --- what comes in ---


def _text(message: Json, *keys: str) -> str:
    """The first text, without half characters and zero bytes: JSON can express them, and no command
    can.
    """
    for value in map(message.get, keys):
        if isinstance(value, str) and value:
            return value.replace("\0", "").encode(errors="replace").decode()
    return ""


def _number(value: object, most: float = limits.JSON_INT_ABS_MAX) -> float:
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < most
    return float(value) if good else 0.0  # type: ignore[arg-type]  # it is one


def _inner(message: Json, key: str) -> Json:
    value = message.get(key)
    return value if isinstance(value, dict) else {}


def _read_plain(message: Json) -> HookEvent | None:
    """Our own protocol: the fields of an event."""
    if message.get("event") not in MOMENTS:
        return None
    texts: dict[str, Any] = {
        field.name: _text(message, field.name) for field in fields(HookEvent) if field.type == "str"
    }
    code = message.get("exit_code")
    return HookEvent(
        event=message["event"],
        **texts,
        exit_code=code if isinstance(code, int) and not isinstance(code, bool) else None,
        seconds=_number(message.get("seconds")),
        forgot=message.get("forgot") is True,
    )


_MOMENT_OF: Final[Mapping[str, Moment]] = {
    "SessionStart": "start",
    "UserPromptSubmit": "prompt",
    "PreToolUse": "before",
    "PostToolUse": "after",
    "PostToolUseFailure": "after",
    "PreCompact": "compact",
    "SubagentStop": "subagent",
    "Stop": "stop",
    "SessionEnd": "end",
}
_EDITS: Final = ("Edit", "Write", "MultiEdit", "NotebookEdit", "StrReplace", "apply_patch")


def read_hook(message: Json) -> HookEvent | None:
    """An event in Claude Code's words; None of what is nothing that we listen to."""
    name = _text(message, "hook_event_name")
    moment = _MOMENT_OF.get(name)
    if moment is None:
        return None
    common: dict[str, Any] = {
        "session": _text(message, "session_id"),
        "subagent": _text(message, "agent_id"),
        "folder": _text(message, "cwd"),
    }
    if moment not in ("before", "after"):
        forgot = message.get("source") in ("clear", "compact")
        return HookEvent(moment, **common, prompt=_text(message, "prompt"), forgot=forgot)
    tool, tool_input = message.get("tool_name"), _inner(message, "tool_input")
    if tool in _EDITS:
        patch = _text(tool_input, "command", "input", "patch")
        match = re.search(r"^\*\*\* (?:Update|Add) File: (.+)$", patch, flags=re.MULTILINE)
        file = (
            match[1].strip() if match else _text(tool_input, "file_path", "notebook_path", "path")
        )
        added = "\n".join(re.findall(r"^\+(.*)$", patch, flags=re.MULTILINE))
        change = added or _text(tool_input, "new_string", "content", "new_source")
        failed = name == "PostToolUseFailure"
        return HookEvent(moment, **common, file=file, change=change) if not failed else None
    if tool not in ("Bash", "Shell") or tool_input.get("run_in_background") is True:
        return None
    common |= {"command": _text(tool_input, "command"), "purpose": _text(tool_input, "description")}
    if moment == "before":
        return HookEvent(moment, **common)
    ended = _read_end(message, name == "PostToolUseFailure")
    if ended is None:
        return None
    code, output = ended
    seconds = _number(message.get("duration_ms")) / 1000
    return HookEvent(moment, **common, exit_code=code, output=output, seconds=seconds)


# How tools of these agents write down that a command ended.
_EXIT_CODE: Final = re.compile(
    r"\b(?:exit(?:ed with)? (?:status )?code|status code)\b:? ?(\d{1,3})\b", flags=re.IGNORECASE
)
# Of an output: whatever says how the command ended stands in front of what it printed.
_HEAD_CHARS: Final = 300


def _read_end(message: Json, failed: bool) -> tuple[int | None, str] | None:
    """The exit code and what was printed; None where it did not end, or nobody knows: it was
    interrupted, refused, or sent to the background.
    """
    if failed:
        first, _, printed = _text(message, "error").partition("\n")
        match = _EXIT_CODE.search(first[:_HEAD_CHARS])
        code = int(match[1]) if match and message.get("is_interrupt") is not True else 0
        return (code, printed) if code else None
    response = message.get("tool_response")
    if isinstance(response, str):
        text = _text(message, "tool_response")
        match = _EXIT_CODE.search(text[:_HEAD_CHARS])
        printed = re.split(r"output:\n", text, maxsplit=1, flags=re.IGNORECASE)[-1]
        return (int(match[1]), printed) if match else (None, text)
    if not isinstance(response, dict) or response.get("interrupted") is True:
        return None
    if any(map(response.get, ("backgroundTaskId", "returnCodeInterpretation"))):
        return None
    printed = "\n".join(
        filter(None, (_text(response, "stdout", "output"), _text(response, "stderr")))
    )
    return int(_number(response.get("exitCode"), 256)), printed


# --- Cursor ---

_CURSOR: Final[Mapping[str, str]] = {
    "sessionStart": "SessionStart",
    "beforeSubmitPrompt": "UserPromptSubmit",
    "beforeShellExecution": "PreToolUse",
    "preToolUse": "PreToolUse",
    "postToolUse": "PostToolUse",
    "postToolUseFailure": "PostToolUseFailure",
    "preCompact": "PreCompact",
    "subagentStop": "SubagentStop",
    "stop": "Stop",
    "sessionEnd": "SessionEnd",
}
_CURSOR_LISTENS: Final = ("sessionStart", "postToolUse")


def _as_claude(message: Json) -> Json:
    """An event of Cursor's in the words of the others."""
    name, tool_input = _text(message, "hook_event_name"), _inner(message, "tool_input")
    roots = message.get("workspace_roots")
    root = next(filter(None, roots), "") if isinstance(roots, list) else ""
    command = _text(message, "command")
    folder = _text(message, "cwd") or _text(tool_input, "working_directory") or root
    return {
        **message,
        "hook_event_name": _CURSOR.get(name, ""),
        "session_id": _text(message, "conversation_id", "session_id"),
        "cwd": folder,
        "tool_name": "Bash" if command else message.get("tool_name"),
        "tool_input": {"command": command} if command else tool_input,
        "tool_response": read_json(_text(message, "tool_output")) or message.get("tool_output"),
        "error": _text(message, "error_message"),
        "duration_ms": message.get("duration"),
    }
