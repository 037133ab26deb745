"""Sessions that agents left on disk, as experience: what Claude Code and Codex keep of each, and
traces by OpenTelemetry's conventions for generative AI.

Each piece of work becomes one trajectory, as it would have through hooks (`sessions`): the prompt,
the commands and edits, the outcome. Ids are derived from the session, so bringing in twice adds
nothing, and what was cut off is brought in by doing it again. Sessions that hooks recorded here are
left out, and so are those of other repositories. Whatever is not understood is passed over.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal, get_args

from hardwon import limits
from hardwon.capture.agents import name_file, read_command
from hardwon.capture.protocols import HookEvent, Json, read_hook
from hardwon.capture.sessions import AGENT_SESSION_ITEMS_MAX, TAG, edit_step
from hardwon.errors import PlaceError
from hardwon.memory import Memory
from hardwon.memory.record import make
from hardwon.memory.transfer import load
from hardwon.outside.files import repository_root
from hardwon.outside.git import Repository
from hardwon.records.fields import derived_id, is_derived, parse_time, read_json
from hardwon.records.kinds import Step, Trajectory
from hardwon.runs.read import list_files, read_session_reward
from hardwon.runs.steps import read_steps
from hardwon.store.types import Progress

# A file of traces that is one JSON object: it is read at once. Larger ones have an object a line.
TRACE_BYTES_MAX: Final = 256 * limits.MIB

Format = Literal["claude-code", "codex", "otlp"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
# Where these agents keep their sessions.
HOMES: Final[Mapping[str, str]] = {
    "claude-code": "~/.claude/projects",
    "codex": "~/.codex/sessions",
}


@dataclass
class Imported:
    """What was found, and what came of it. `elsewhere`: sessions of other repositories; `recorded`:
    those that hooks recorded here; `passed_over`: lines that are none. Of the pieces of work `read`,
    so many were `added`, `present` already, or `changed` since: those stay as they are here; and so
    many are `solved`, `failed`, or done without anybody knowing which (`unknown`).
    """

    files: int = 0
    sessions: int = 0
    elsewhere: int = 0
    recorded: int = 0
    passed_over: int = 0
    read: int = 0
    added: int = 0
    present: int = 0
    changed: int = 0
    forgotten: int = 0
    solved: int = 0
    failed: int = 0
    unknown: int = 0
    dry_run: bool = False


@dataclass
class _Work:
    """A session that is being read, and its pieces so far. Of what was done since the last one, each
    step stands with the id of its call, an edit with none; `_wrote` are the files that were written
    before.
    """

    author: str
    session: str
    folder: str = ""
    branch: str = ""
    pieces: list[Json] = field(default_factory=list)
    _task: str = ""
    _done: list[tuple[str, Step]] = field(default_factory=list)
    _wrote: list[str] = field(default_factory=list)
    _at: str | datetime = ""

    def prompt(self, text: str) -> None:
        text = text.strip()
        # what a program put there
        if text and not text.startswith(("<", "Caveat:", "[Request interrupted", "/")):
            if self._done and self._reward != 0:
                self.close()
            self._task = self._task or text[: limits.LESSON_CHARS_MAX]

    def tool(self, event: HookEvent | None, call_id: str, at: str) -> None:
        """A command or an edit that ended, as hooks record it."""
        if event is None:
            return
        command = read_command(event)
        if event.file:
            self.step(edit_step(name_file(event), event.change), "", at)
        elif command and command.step:
            self.step(command.step, call_id, at)

    def step(self, step: Step, call_id: str, at: str | datetime) -> None:
        self._done.append((call_id, step))
        self._at = at or self._at
        if len(self._done) >= AGENT_SESSION_ITEMS_MAX:
            self.close()

    @property
    def _steps(self) -> list[Step]:
        return [step for _, step in self._done]

    @property
    def _reward(self) -> float | None:
        return read_session_reward(self._steps, self._wrote)

    def close(self) -> None:
        """What was done so far is a piece of work."""
        first_id, first = next((done for done in self._done if done[0]), ("", None))
        if first is not None:
            own = {
                "task": self._task or first.action,
                "steps": self._steps,
                "final_reward": self._reward,
            }
            piece_id = derived_id("session", self.author, self.session, first_id)
            self.pieces.append({"id": piece_id, "own": own, "at": self._at})
        self._wrote += list_files(read_steps(self._steps))
        self._task, self._done = "", []


def take_in(
    memory: Memory,
    form: Format,
    path: Path,
    *,
    everywhere: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Imported:
    """Brings in the sessions of a file, or of all files below a folder. `everywhere`: also those of
    other repositories than the one that we are in.
    """
    suffixes = (".json", ".jsonl") if form == "otlp" else (".jsonl",)
    named = sorted(path.rglob("*")) if path.is_dir() else [path]
    sources = [
        file for file in named if file.is_file() and (file == path or file.suffix in suffixes)
    ]
    if not sources:
        raise PlaceError(
            f"there are no sessions at {path}: a file, or a folder of {suffixes[-1]} files"
        )
    live = {
        record.metadata.source.id
        for record in memory.browse(kind="trajectory", tag=TAG)
        if not is_derived(record.id)
    }
    seen = Imported()

    def read() -> Iterator[Trajectory]:
        """Twice: all are checked before the first is written."""
        nonlocal seen
        seen = Imported(files=len(sources))
        for file in sources:
            for work in _READERS[form](file, _lines(file, seen)):
                seen.sessions += 1
                if work.session in live:
                    seen.recorded += 1
                elif work.folder and not everywhere and not _is_here(work.folder):
                    seen.elsewhere += 1
                else:
                    for piece in work.pieces:
                        record = _record(memory, work, piece)
                        seen.solved += record.turned_out_well is True
                        seen.failed += record.turned_out_well is False
                        seen.unknown += record.turned_out_well is None
                        yield record

    done = load(memory._project, read, form, dry_run, progress)
    seen.read, seen.added, seen.present = done.read, done.added, done.present
    seen.changed, seen.forgotten, seen.dry_run = len(done.conflicting), done.forgotten, dry_run
    return seen


def _record(memory: Memory, work: _Work, piece: Json) -> Trajectory:
    envelope: dict[str, Any] = {
        "source": {"type": "agent_execution", "id": work.session, "author": work.author},
        "tags": [TAG],
    }
    with suppress(ValueError):
        envelope["timestamp"] = parse_time(piece["at"])
    if work.branch.isprintable():
        envelope["git_branch"] = work.branch[: limits.NAME_CHARS_MAX]
    return make(memory._project, Trajectory, piece["own"], envelope).copy_with(id=piece["id"])


def _is_here(folder: str) -> bool:
    """Whether a session's folder belongs to the repository that we are in; where we are in none,
    whether it is below.
    """
    here, there = Path.cwd(), Path(folder)
    root, other = repository_root(here), repository_root(there)
    if root and other:
        return Repository(root).home == Repository(other).home
    return there.is_relative_to(root or here)


def _lines(file: Path, seen: Imported) -> Iterator[Json]:
    """The JSON objects of a file, a line each."""
    with file.open("rb") as lines:
        while line := lines.readline(limits.AGENT_HOOK_INPUT_BYTES_MAX):
            entry = read_json(line) if line.strip() else {}
            if isinstance(entry, dict):
                yield entry
            else:
                seen.passed_over += 1


def _text(value: object) -> str:
    """Of a text, or of a list of blocks that have some."""
    if isinstance(value, list):
        return "\n".join(filter(None, (_text(_at(block, "text")) for block in value)))
    return (
        value.replace("\0", "").encode(errors="replace").decode() if isinstance(value, str) else ""
    )


def _at(value: object, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


# --- Claude Code ---


def _claude_code(file: Path, lines: Iterable[Json]) -> Iterator[_Work]:
    """A file is a session; what subagents did in it is work of their own."""
    works: dict[str, _Work] = {}
    calls: dict[str, Json] = {}
    for entry in lines:
        subagent = _text(entry.get("agentId")) if entry.get("isSidechain") is True else ""
        session = _text(entry.get("sessionId")) or file.stem
        name = f"{session}:{subagent}" if subagent else session
        work = works.setdefault(name, _Work("claude-code", name))
        work.folder = _text(entry.get("cwd")) or work.folder
        work.branch = _text(entry.get("gitBranch")) or work.branch
        content = _at(entry, "message", "content")
        if entry.get("type") == "user" and entry.get("isMeta") is not True:
            work.prompt(_text(content))
        for block in content if isinstance(content, list) else []:
            if _at(block, "type") == "tool_use":
                calls[_text(_at(block, "id"))] = block
            elif _at(block, "type") == "tool_result":
                call_id = _text(_at(block, "tool_use_id"))
                call = calls.pop(call_id, None)
                failed = _at(block, "is_error") is True
                result, printed = entry.get("toolUseResult"), _text(_at(block, "content"))
                event = {
                    "hook_event_name": "PostToolUseFailure" if failed else "PostToolUse",
                    "cwd": work.folder,
                    "tool_name": _at(call, "name"),
                    "tool_input": _at(call, "input"),
                    "tool_response": result if isinstance(result, dict) else {"stdout": printed},
                    "error": printed,
                }
                work.tool(read_hook(event), call_id, _text(entry.get("timestamp")))
    yield from _close_all(works)


def _close_all(works: Mapping[str, _Work]) -> Iterator[_Work]:
    for work in works.values():
        work.close()
        if work.pieces:
            yield work


# --- Codex ---

_SHELLS: Final = ("shell", "exec_command", "shell_command", "local_shell", "container.exec")


def _codex(file: Path, lines: Iterable[Json]) -> Iterator[_Work]:
    work = _Work("codex", file.stem)
    calls: dict[str, Json] = {}
    for entry in lines:
        payload, kind = entry.get("payload"), _at(entry, "payload", "type")
        if entry.get("type") in ("session_meta", "turn_context"):
            if entry["type"] == "session_meta":
                work.session = _text(_at(payload, "id")) or work.session
            work.folder = _text(_at(payload, "cwd")) or work.folder
            work.branch = _text(_at(payload, "git", "branch")) or work.branch
        elif kind == "user_message":
            work.prompt(_text(_at(payload, "message")))
        elif kind == "message" and _at(payload, "role") == "user":
            work.prompt(_text(_at(payload, "content")))
        elif kind in ("function_call", "custom_tool_call"):
            calls[_text(_at(payload, "call_id"))] = payload or {}
        elif kind in ("function_call_output", "custom_tool_call_output"):
            call_id = _text(_at(payload, "call_id"))
            call = calls.pop(call_id, None)
            if call is not None:
                event = _codex_event(call, _at(payload, "output"), work.folder)
                work.tool(read_hook(event), call_id, _text(entry.get("timestamp")))
    yield from _close_all({work.session: work})


def _codex_event(call: Json, output: object, folder: str) -> Json:
    """As a hook would have been told of it."""
    arguments = read_json(_text(call.get("arguments"))) or {}
    words = _at(arguments, "command") or _at(arguments, "cmd")
    if isinstance(words, list):  # ["bash", "-lc", "make"]
        texts = [_text(word) for word in words]
        words = texts[-1] if texts[1:2] in (["-lc"], ["-c"]) else shlex.join(texts)
    parsed = read_json(_text(output)) if isinstance(output, str) else output
    response: object = _text(output)
    if isinstance(parsed, dict):
        response = {
            "stdout": _text(_at(parsed, "output") or _at(parsed, "content")),
            "exitCode": _at(parsed, "metadata", "exit_code"),
        }
    shell = call.get("name") in _SHELLS
    return {
        "hook_event_name": "PostToolUse",
        "cwd": _text(_at(arguments, "workdir")) or folder,
        "tool_name": "Bash" if shell else call.get("name"),
        "tool_input": {"command": _text(words)} if shell else {"input": _text(call.get("input"))},
        "tool_response": response,
    }


# --- OpenTelemetry ---


def _value(attribute: object) -> Any:
    """An attribute's value, of OTLP's JSON."""
    for sort, value in attribute.items() if isinstance(attribute, dict) else ():
        if sort == "arrayValue":
            return [_value(item) for item in _at(value, "values") or []]
        if sort == "kvlistValue":
            return _attributes(_at(value, "values"))
        return value
    return None


def _attributes(listing: object) -> dict[str, Any]:
    listed = listing if isinstance(listing, list) else []
    return {str(_at(pair, "key")): _value(_at(pair, "value")) for pair in listed}


def _otlp(file: Path, lines: Iterable[Json]) -> Iterator[_Work]:
    """A file of OTLP's JSON: all of it one object, or one in each line. A conversation is a session,
    and where none is named a trace is.
    """
    works: dict[str, _Work] = {}
    whole = read_json(file.read_bytes()) if file.stat().st_size < TRACE_BYTES_MAX else None
    spans = [
        (_attributes(_at(resource, "resource", "attributes")), span)
        for entry in ([whole] if isinstance(whole, dict) else lines)
        for resource in _at(entry, "resourceSpans") or []
        for scope in _at(resource, "scopeSpans") or []
        for span in _at(scope, "spans") or []
        if isinstance(span, dict)
    ]
    for resource, span in sorted(spans, key=lambda item: _started_ns(item[1])):
        attributes = _attributes(span.get("attributes"))
        name = _text(attributes.get("gen_ai.conversation.id")) or _text(span.get("traceId"))
        author = _text(attributes.get("gen_ai.agent.name")) or _text(resource.get("service.name"))
        work = works.setdefault(name, _Work(author or "otlp", name))
        if attributes.get("gen_ai.operation.name") == "execute_tool":
            _take_tool_span(work, span, attributes)
        elif question := _find_question(attributes.get("gen_ai.input.messages")):
            work.prompt(question)
    yield from _close_all(works)


def _started_ns(span: Json) -> int:
    at = str(span.get("startTimeUnixNano"))
    return int(at) if at.isdecimal() else 0


def _find_question(messages: object) -> str:
    """What the user said first, of messages by the conventions."""
    listed = read_json(messages) if isinstance(messages, str) else messages
    for message in listed if isinstance(listed, list) else []:
        if _at(message, "role") == "user":
            return _text([{"text": _at(part, "content")} for part in _at(message, "parts") or []])
    return ""


def _take_tool_span(work: _Work, span: Json, attributes: Json) -> None:
    arguments, result = (
        attributes.get(f"gen_ai.tool.call.{name}") for name in ("arguments", "result")
    )
    arguments = (read_json(arguments) or arguments) if isinstance(arguments, str) else arguments
    command = _text(_at(arguments, "command") or _at(arguments, "cmd"))
    shown = (
        arguments
        if isinstance(arguments, str)
        else json.dumps(arguments, ensure_ascii=False)
        if arguments
        else ""
    )
    action = command or f"{_text(attributes.get('gen_ai.tool.name'))} {shown}".strip()
    code = _at(span, "status", "code")
    failed = code in (2, "STATUS_CODE_ERROR") or bool(attributes.get("error.type"))
    words = (
        [_text(attributes.get("error.type")), _text(_at(span, "status", "message"))]
        if failed
        else []
    )
    words.append(_text(result) if isinstance(result, str) else json.dumps(result) if result else "")
    step = Step(
        action=action[: limits.ACTION_CHARS_MAX],
        observation="\n".join(filter(None, words)),
        # many leave out that something went well, whatever became of it
        ok=False if failed else True if code in (1, "STATUS_CODE_OK") else None,
    )
    at = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=_started_ns(span) // 1000)
    work.step(step, _text(span.get("spanId")) or action, at)


_READERS: Final[Mapping[Format, Callable[[Path, Iterable[Json]], Iterator[_Work]]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "otlp": _otlp,
}
