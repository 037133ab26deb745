"""What Claude Code's hooks are answered: a context when work starts, a word before a command that
failed here before, and a record of commands that were run. docs/coding-agents.md says what that is.

Whatever comes in is somebody else's: what has another shape than expected is ignored.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Literal

from hardwon import limits
from hardwon.capture import run as attempts
from hardwon.capture.process import OutputExcerpt, RunResult
from hardwon.memory import Memory
from hardwon.memory.ask import advice_text
from hardwon.memory.places import memory_exists
from hardwon.outside.git import Repository, repository_root
from hardwon.records.fields import read_json
from hardwon.text import shell as shell_lines
from hardwon.text.failures import shows_error

if TYPE_CHECKING:
    from hardwon.surfaces.cli.main import Target

AUTHOR: Final = "claude-code"

Event = Mapping[str, Any]
Answer = dict[str, Any]


@dataclass(frozen=True)
class Manner:
    """How the hooks were installed. `blocked`: what becomes of a command that failed in the same
    way again and again.
    """

    blocked: Literal["warn", "ask", "deny"] = "warn"
    make_memory: bool = False
    budget_tokens: int = limits.CONTEXT_TOKENS


def read_event(stream: BinaryIO) -> Event:
    """What Claude Code says; empty where it is not what we know. All of it is read: who writes to
    what nobody reads fails.
    """
    data = stream.read(limits.AGENT_HOOK_INPUT_BYTES_MAX + 1)
    if len(data) > limits.AGENT_HOOK_INPUT_BYTES_MAX:
        while stream.read(limits.RUN_READ_BYTES):
            pass
        return {}
    event = read_json(data)
    return event if isinstance(event, dict) else {}


def answer(event: Event, chosen: Target, manner: Manner) -> Answer | None:
    """What to tell Claude Code; None where there is nothing to say."""
    name = event.get("hook_event_name")
    folder = _text(event, "cwd")
    if os.path.isabs(folder):  # noqa: PTH117
        # everything below is about the folder that Claude Code is in: memory, project, commit
        with suppress(OSError):
            os.chdir(folder)
    if name in ("SessionStart", "UserPromptSubmit"):
        return _context(event, chosen, manner)
    if name == "PreToolUse":
        return _warning(event, chosen, manner)
    if name in ("PostToolUse", "PostToolUseFailure"):
        _keep(event, chosen, manner)
    return None


def _text(event: Event, key: str) -> str:
    """A text, without half characters and zero bytes: JSON can express them, and no command can."""
    value = event.get(key)
    return (
        value.replace("\0", "").encode(errors="replace").decode() if isinstance(value, str) else ""
    )


def _opened(chosen: Target) -> Memory:
    return Memory(
        chosen.memory, chosen.project, busy_timeout_ms=limits.AGENT_HOOK_WAIT_MS, upgrade=False
    )


def _answer(event: Event, output: Answer) -> Answer:
    return {"hookSpecificOutput": {"hookEventName": event["hook_event_name"]} | output}


# --- when work starts ---


def _context(event: Event, chosen: Target, manner: Manner) -> Answer | None:
    prompt = _text(event, "prompt")[: limits.AGENT_PROMPT_CHARS_MAX]
    starts = event["hook_event_name"] == "SessionStart"
    # "/clear" and the like are no work
    is_work = starts or (prompt.strip() and not prompt.lstrip().startswith("/"))
    if not is_work or not memory_exists(chosen.memory):
        return None
    with _opened(chosen) as memory:
        query = prompt
        # nothing tells yet what it will be about, but the branch may, and the tests that fail
        if starts:
            root = repository_root(Path.cwd())
            branch = Repository(root).head.branch if root else ""
            trunks = ("main", "master", "trunk", "develop", "dev", "HEAD")
            words = [] if branch in trunks else re.findall(r"[^\W_]+", branch)
            query = " ".join([*words, *memory.tests.failing()[:5]])
        context = str(memory.context(query, budget_tokens=manner.budget_tokens)) if query else ""
    return _answer(event, {"additionalContext": context}) if context else None


# --- commands ---


@dataclass(frozen=True)
class _Command:
    """A line of a shell that is worth a word: as typed at the checkout's root, what Claude says
    that it is for, whether it runs tests, and whether exit code 0 means that it worked.
    """

    line: str
    purpose: str
    tests: bool
    exit_code_tells: bool


def _command(event: Event) -> _Command | None:
    """None where nothing is tried, or where nobody will know how it ends."""
    given = event.get("tool_input")
    if (
        event.get("tool_name") != "Bash"
        or not isinstance(given, dict)
        or given.get("run_in_background") is True
    ):
        return None
    typed = _text(given, "command").strip()
    if not typed or len(typed) > limits.AGENT_COMMAND_CHARS_MAX or shell_lines.only_looks(typed):
        return None
    line, folder = _placed(typed, Path.cwd(), after=event["hook_event_name"] != "PreToolUse")
    parts = shell_lines.parts_of(line)
    return _Command(
        attempts.typed_line(line, folder),
        _text(given, "description").strip()[: limits.AGENT_PURPOSE_CHARS_MAX],
        any(map(attempts.runs_tests, parts.commands if parts else [line.split()])),
        shell_lines.exit_code_tells(line),
    )


def _placed(typed: str, here: Path, *, after: bool) -> tuple[str, Path]:
    """The line without the change of folder at its beginning, and the folder that it runs in. After
    it ran Claude Code may be in that folder already, so that the way there no longer leads from
    here.
    """
    to, line = shell_lines.after_leading_cd(typed)
    if not to:
        return typed, here
    folder = Path(os.path.normpath(here / to))
    names = Path(os.path.normpath(to)).parts
    if after and not folder.is_dir() and here.parts[-len(names) :] == names:
        folder = here
    return line, folder


def _warning(event: Event, chosen: Target, manner: Manner) -> Answer | None:
    command = _command(event)
    if command is None or not memory_exists(chosen.memory):
        return None
    with _opened(chosen) as memory:
        advice = memory.advise(command.line)
    if not advice.failures:
        return None
    note = "Hardwon, from what was recorded here: " + (
        attempts.told_of_tests(advice.failures) if command.tests else advice_text(advice)
    )
    output = {"additionalContext": note}
    if not command.tests and advice.verdict == "blocked" and manner.blocked != "warn":
        output |= {"permissionDecision": manner.blocked, "permissionDecisionReason": note}
    return _answer(event, output)


def _keep(event: Event, chosen: Target, manner: Manner) -> None:
    command, ran = _command(event), _ran(event)
    if not command or not ran or not (manner.make_memory or memory_exists(chosen.memory)):
        return
    by_words = (
        not ran.exit_code
        and not command.exit_code_tells
        and shows_error(attempts.shown_of(ran.output))
    )
    if by_words and not command.tests:  # who knows: a search that prints errors has worked
        return
    session_id = _text(event, "session_id")
    session = attempts.RunSession.of({})
    if re.fullmatch(r"[\w.:-]{1,100}", session_id, flags=re.ASCII):
        session = attempts.RunSession(session_id)
    with _opened(chosen) as memory:
        attempts.record(
            memory,
            command.line,
            ran,
            session,
            task=command.purpose or None,
            tests=command.tests,
            author=AUTHOR,
            by_words=by_words,
        )


def _ran(event: Event) -> RunResult | None:
    """How the command ended; None where it did not, or nobody knows: it was interrupted, refused,
    or sent to the background.
    """
    exit_code, response = 0, event.get("tool_response")
    if event["hook_event_name"] == "PostToolUseFailure":
        first, _, printed = _text(event, "error").partition("\n")
        found = re.search(r"\b(?:exit|status) code (\d{1,3})\b", first[:200], flags=re.IGNORECASE)
        exit_code = int(found[1]) if found and event.get("is_interrupt") is not True else 0
        if not exit_code:
            return None
    elif isinstance(response, dict):
        if response.get("interrupted") is True or any(
            map(response.get, ("backgroundTaskId", "returnCodeInterpretation"))
        ):
            return None
        printed = "\n".join(filter(None, (_text(response, "stdout"), _text(response, "stderr"))))
    elif isinstance(response, str):
        printed = _text(event, "tool_response")
    else:
        return None
    output, seconds, took = OutputExcerpt(), 0.0, event.get("duration_ms")
    output.add(printed.encode())
    if isinstance(took, int | float) and not isinstance(took, bool):
        seconds = took / 1000 if 0 <= took < limits.JSON_INT_ABS_MAX else 0.0
    return RunResult(exit_code, seconds=seconds, output=output)
