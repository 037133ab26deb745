"""What agents' hooks are answered, and what is kept of what they tell. docs/coding-agents.md says
what that is, event by event.

Whatever comes in is somebody else's. Nothing that goes wrong here stops an agent: the person is
told in one line, once a session, where the memory cannot be read.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from hardwon import limits
from hardwon.brief.advice import INSTEAD
from hardwon.brief.fence import fenced
from hardwon.brief.fence import mark_of as fence_mark
from hardwon.capture import run as attempts
from hardwon.capture.process import OutputExcerpt, RunResult
from hardwon.capture.protocols import Agent, HookEvent, Reply, may_say, read_event, written
from hardwon.capture.sessions import TAG, AgentSession, close_abandoned, open_session
from hardwon.errors import BusyError
from hardwon.memory import Memory
from hardwon.memory.places import Settings, current_folder, memory_exists
from hardwon.outside.files import repository_root
from hardwon.outside.git import Repository
from hardwon.records.kinds import Trajectory
from hardwon.text import shell as shell_lines
from hardwon.text.clean import clean_line
from hardwon.text.failures import error_words, exact_message, shows_error
from hardwon.text.shown import describe_failure
from hardwon.text.terms import same_action
from hardwon.trust.redact import redact

# Something to say, and the ids of the records behind it.
Line = tuple[str, Sequence[str]]


@dataclass(frozen=True)
class Manner:
    """How the hooks were installed. `blocked`: what becomes of a command that failed in the same
    way again and again. `prompts`: whether what was asked is kept as the task of what was done.
    """

    blocked: Literal["warn", "ask", "deny"] = "warn"
    make_memory: bool = False
    budget_tokens: int = limits.CONTEXT_TOKENS
    prompts: bool = True


def respond(
    agent: Agent, data: bytes, options: Mapping[str, str | None], manner: Manner
) -> tuple[str, str]:
    """What goes to standard output and to standard error, where anything does. `options`: the
    memory and the project that somebody named.
    """
    event = read_event(agent, data) if len(data) <= limits.AGENT_HOOK_INPUT_BYTES_MAX else None
    if event is None:
        return "", ""
    complaint = ""
    try:
        reply = answer(event, agent, options, manner)
    except Exception as error:  # noqa: BLE001  # who works does not wait for a memory, nor for what is wrong with it
        complaint = f"hardwon: {clean_line(str(error), limits.CONTEXT_LINE_CHARS_MAX)}"
        # who writes just now does not for long
        reply = None if isinstance(error, BusyError) else _notice(event, agent, complaint)
    said = written(agent, data, reply) if reply else {}
    return json.dumps(said) + "\n" if said else "", f"{complaint}\n" if complaint else ""


def _notice(event: HookEvent, agent: Agent, complaint: str) -> Reply | None:
    """Once a session."""
    if not may_say(agent, event, Reply(notice=complaint)):
        return None
    with suppress(Exception), open_session("", "", _id_of(event), "", agent) as session:
        if session.unsaid([(complaint, ())]):
            return Reply(notice=complaint)
    return None


def answer(
    event: HookEvent, agent: Agent, options: Mapping[str, str | None], manner: Manner
) -> Reply | None:
    """What to tell the agent; None where there is nothing to say."""
    if os.path.isabs(event.folder):  # noqa: PTH117
        # everything below is about the folder that the agent is in: memory, project, commit
        with suppress(OSError):
            os.chdir(event.folder)
    event = replace(event, folder=str(current_folder()))
    command = command_of(event) if event.event in ("before", "after") else None
    # what only prints may print into a file
    wrote = (
        shell_lines.files_written(event.command) if event.event == "after" and not command else []
    )
    if event.event in ("before", "after") and not command and not event.file and not wrote:
        return None
    settings = Settings.read(options)
    keeps = manner.make_memory and command is not None and event.event == "after"
    if not keeps and not memory_exists(settings.memory.value):
        return None
    with (
        Memory(
            settings.memory.value,
            settings.project.value,
            busy_timeout_ms=limits.AGENT_HOOK_WAIT_MS,
        ) as memory,
        open_session(
            memory.location, memory.project, _id_of(event), event.subagent, agent
        ) as session,
    ):
        reply = _answered(event, command, memory, session, manner)
        waiting = session.kept.get("waiting", "")
        if waiting or reply:
            said = "\n".join(filter(None, (waiting, reply.say if reply else "")))
            whole = Reply(said, reply.decision if reply else "")
            heard = may_say(agent, event, whole)
            session.kept["waiting"] = "" if heard else said
            return whole if heard else None
    return None


def _id_of(event: HookEvent) -> str:
    """What is no id of a session becomes one of its own."""
    named = re.fullmatch(r"[\w.:-]{1,100}", event.session, flags=re.ASCII)
    return event.session if named else attempts.RunSession.of({}).id


def _answered(
    event: HookEvent, command: Command | None, memory: Memory, session: AgentSession, manner: Manner
) -> Reply | None:
    match event.event:
        case "start":
            if event.forgot:
                session.forget_told()
            return _said(session, _at_start(memory, session, manner))
        case "prompt":
            return _said(session, _at_prompt(event, memory, session, manner))
        case "before" if command:
            return _before_command(command, memory, session, manner)
        case "before":
            return _before_edit(event.file, memory, session, manner)
        case "after" if command:
            return _after_command(event, command, memory, session)
        case "after" if event.file:
            session.edited(_relative(event.file), event.change)
        case "after":
            session.wrote(shell_lines.files_written(event.command))
        case "compact":
            session.close(memory, ended=False)
            session.forget_told()
        case moment:
            session.close(memory, ended=moment != "stop")
    return None


def _said(session: AgentSession, lines: Iterable[Line]) -> Reply | None:
    new = session.unsaid(lines)
    return Reply(_fenced(new)) if new else None


def _fenced(lines: Iterable[str]) -> str:
    rows = [row for text in lines for row in text.split("\n")]
    return fenced(rows, fence_mark(int.from_bytes(os.urandom(8))))


def _context(memory: Memory, query: str, tokens: int) -> list[Line]:
    found = memory.context(query, budget_tokens=tokens, explain=True) if query.strip() else None
    return [(line.text, line.ids) for line in found.lines] if found else []


# --- when work starts ---


def _at_start(memory: Memory, session: AgentSession, manner: Manner) -> list[Line]:
    """Nothing tells yet what it will be about, but the branch may, the tests that fail, and what
    the last session left.
    """
    close_abandoned(memory)
    session.kept["started"] = True
    root = repository_root(Path.cwd())
    branch = Repository(root).head.branch if root else ""
    trunks = ("main", "master", "trunk", "develop", "dev", "HEAD")
    words = [] if branch in trunks else re.findall(r"[^\W_]+", branch)
    query = " ".join([*words, *memory.tests.failing()[:5]])
    fixes = memory.solutions(limit=limits.INSTEAD_MAX) if not words else []
    lines = [*_left_undone(memory), *_context(memory, query, manner.budget_tokens)]
    lines += [
        (f"“{each.diagnosis}” went away here by: {each.action}", each.evidence)
        for each in fixes
        if each.helped
    ]
    return lines


def _left_undone(memory: Memory) -> list[Line]:
    last = next(memory.browse(limit=1, kind="trajectory", tag=TAG), None)
    if not isinstance(last, Trajectory) or last.turned_out_well is not False:
        return []
    failed = next((step for step in reversed(last.steps) if not step.reward), None)
    how = f": {failed.action} failed: {error_words(failed.observation)}" if failed else ""
    return [(f"The last session here left this undone: {last.task}{how}", (last.id,))]


def _at_prompt(
    event: HookEvent, memory: Memory, session: AgentSession, manner: Manner
) -> list[Line]:
    """With what the start would have said, where nobody told of one: the hook that starts the
    background process does not wait for it.
    """
    prompt = event.prompt[: limits.AGENT_PROMPT_CHARS_MAX].strip()
    if not prompt or prompt.startswith("/"):  # "/clear" and the like are no work
        return []
    if manner.prompts and not session.kept.get("task"):
        session.kept["task"] = redact(prompt)[0][: limits.LESSON_CHARS_MAX]
    start = [] if session.kept.get("started") else _at_start(memory, session, manner)
    return [*start, *_context(memory, prompt, manner.budget_tokens)]


# --- files ---


def _relative(file: str) -> str:
    """As it is called in its checkout."""
    path = Path(os.path.normpath(Path.cwd() / file))
    root = repository_root(path.parent) or Path.cwd()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def _before_edit(file: str, memory: Memory, session: AgentSession, manner: Manner) -> Reply | None:
    name = _relative(file)
    tokens = min(manner.budget_tokens, limits.AGENT_ASIDE_TOKENS)
    lines = _context(memory, f"edit {name}", tokens)
    return _said(session, [line for line in lines if name in line[0]])


# --- commands ---


@dataclass(frozen=True)
class Command:
    """A line of a shell that is worth a word: as typed at the checkout's root, what the agent says
    that it is for, whether it runs tests, whether it ends with tests, a build or a linter, and
    whether exit code 0 means that it worked.
    """

    line: str
    purpose: str
    tests: bool
    checks: bool
    exit_code_tells: bool

    def tells_of_check(self, printed: str, *, by_words: bool) -> bool:
        """Whether it is known how the check ended that it ran: by its exit code, or, of tests behind
        a pipe, by what they printed.
        """
        return (
            self.checks
            and not by_words
            and (self.exit_code_tells or (self.tests and bool(printed.strip())))
        )


def command_of(event: HookEvent) -> Command | None:
    """None where nothing is tried."""
    typed = event.command.strip()
    if not typed or len(typed) > limits.AGENT_COMMAND_CHARS_MAX or shell_lines.only_looks(typed):
        return None
    here = Path(event.folder) if os.path.isabs(event.folder) else Path.cwd()  # noqa: PTH117
    line, folder = _placed(typed, here, after=event.event == "after")
    parts = shell_lines.parts_of(line)
    return Command(
        attempts.typed_line(line, folder),
        event.purpose.strip()[: limits.LESSON_CHARS_MAX],
        any(map(shell_lines.runs_tests, parts.commands if parts else [line.split()])),
        shell_lines.ends_with_check(line),
        shell_lines.exit_code_tells(line),
    )


def _placed(typed: str, here: Path, *, after: bool) -> tuple[str, Path]:
    """The line without the change of folder at its beginning, and the folder that it runs in. After
    it ran the agent may be in that folder already, so that the way there no longer leads from here.
    """
    to, line = shell_lines.after_leading_cd(typed)
    if not to:
        return typed, here
    folder = Path(os.path.normpath(here / to))
    names = Path(os.path.normpath(to)).parts
    if after and not folder.is_dir() and here.parts[-len(names) :] == names:
        folder = here
    return line, folder


def _before_command(
    command: Command, memory: Memory, session: AgentSession, manner: Manner
) -> Reply | None:
    """A word where it failed here before, with what made that go away."""
    advice = memory.advise(command.line)
    if not advice.failures:
        return None
    often = f"{advice.verdict} (p = {advice.p_success:.2f}, identical failures: {advice.failures})"
    note = attempts.told_of_tests(advice.failures) if command.tests else often
    lines: list[Line] = []
    last = memory.get(advice.evidence[0]) if advice.evidence else None
    if isinstance(last, Trajectory):
        same = same_action(command.line)
        shown = [step.observation for step in last.steps if same_action(step.action) == same]
        lines += _fixes(memory, shown[-1], command, session, _BEFORE) if shown else []
    if not command.tests:
        # what helped is a line of its own: it is said once in a session, however often it is warned
        message = advice.message.partition(INSTEAD)[0].rstrip() if lines else advice.message
        lines.insert(0, (message, advice.evidence))
    # two commands may have failed in the same way
    new = session.unsaid([(f"{command.line}\n{note}", ())])
    known = _said(session, lines)
    if advice.verdict == "blocked" and manner.blocked != "warn" and not command.tests:
        whole = known or Reply(_fenced([text for text, _ in lines]))
        return Reply(f"{_RECORDED}{note}\n{whole.say}", manner.blocked)
    if not new and not known:
        return None
    return Reply("\n".join(filter(None, (_RECORDED + note, known.say if known else ""))))


_RECORDED: Final = "Hardwon, from what was recorded here: "
_BEFORE: Final = "That went away before by: {} (helped {} of {})"
_AFTER: Final = "This error went away here before by: {} (helped {} of {})"


def _fixes(
    memory: Memory, shown: str, command: Command, session: AgentSession, said: str
) -> list[Line]:
    """What made this very error go away before, other than the command itself. Nothing where the
    command does not say why it failed, nor of another error of its kind: of what nobody knows, a
    guess costs more than silence.
    """
    if not shell_lines.failure_words(shown):
        return []
    message = exact_message(describe_failure(shown))
    known = memory.solutions(
        shown,
        limit=limits.SOLUTIONS_READ_MAX,
        action=command.line,
        task=session.kept.get("task") or command.purpose or None,
    )
    lines: list[Line] = [
        (said.format(each.action, each.helped, each.tried), each.evidence)
        for each in known
        if each.helped
        and exact_message(each.diagnosis) == message
        and same_action(each.action) != same_action(command.line)
    ]
    return lines[: limits.INSTEAD_MAX]


def ended_of(event: HookEvent, command: Command) -> tuple[RunResult, bool] | None:
    """How it ended, and whether what it printed decides; None where nobody knows."""
    output = OutputExcerpt()
    output.add(event.output.encode())
    code = event.exit_code
    doubtful = code == 0 and not command.exit_code_tells and shows_error(attempts.shown_of(output))
    if doubtful and not command.tests:  # who knows: a search that prints errors has worked
        return None
    return RunResult(code or 0, seconds=event.seconds, output=output), doubtful or code is None


def _after_command(
    event: HookEvent, command: Command, memory: Memory, session: AgentSession
) -> Reply | None:
    """Keeps how it went; of a failure, says what made it go away before."""
    ended = ended_of(event, command)
    if ended is None:
        return None
    record = attempts.record(
        memory,
        command.line,
        ended[0],
        attempts.RunSession(session.kept["session"]),
        task=command.purpose or None,
        tests=command.tests,
        author=session.kept["author"],
        by_words=ended[1],
    )
    if not isinstance(record, Trajectory):
        return None
    worked = bool(record.turned_out_well)
    session.did(
        record.id,
        command.line,
        worked=worked,
        tests=command.tests,
        checks=command.tells_of_check(event.output, by_words=ended[1]),
    )
    if worked:
        return None
    return _said(session, _fixes(memory, record.steps[0].observation, command, session, _AFTER))
