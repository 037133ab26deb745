"""What agents' hooks are answered, and what is kept of what they tell. docs/coding-agents.md says
what that is, event by event.

Whatever comes in is somebody else's. Nothing that goes wrong here stops an agent: the person is
told in one line, once a session, where the memory cannot be read.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from hardwon import limits
from hardwon.capture import run as attempts
from hardwon.capture.hook_log import HookRun, note_run
from hardwon.capture.pause import find_pause
from hardwon.capture.process import OutputExcerpt
from hardwon.capture.protocols import (
    Agent,
    HookEvent,
    Reply,
    may_say,
    read_event,
    read_name,
    write_reply,
)
from hardwon.capture.sessions import TAG, AgentSession, edit_step, end_idle_sessions, open_session
from hardwon.capture.speaking import STOP_AFTER, count_repeats, keep_rule, speak_after, speak_before
from hardwon.errors import BusyError
from hardwon.memory import Memory
from hardwon.memory.lessons import LessonFinder
from hardwon.memory.places import Settings, current_folder, memory_exists
from hardwon.outside.files import repository_root
from hardwon.outside.git import Repository
from hardwon.records.kinds import Step, Trajectory
from hardwon.runs.read import read_run
from hardwon.runs.steps import read_action
from hardwon.tell.fence import fence_lines
from hardwon.tell.fence import make_fence_mark as fence_mark
from hardwon.tell.situation import Aside, Situation
from hardwon.tell.situation import Line as TellLine
from hardwon.text.clean import clean_line
from hardwon.text.failures import error_words
from hardwon.text.lines import read_line, split_cd
from hardwon.text.programs import looks, only_shows
from hardwon.text.tokens import count_tokens
from hardwon.trust.redact import redact

# How long such a hook waits for other writers. They take milliseconds; who takes longer does not
# hold up an agent.
AGENT_HOOK_WAIT_MS: Final = 1_000

# A command that an agent runs and that is longer is ignored: it is a file that is being written,
# and nobody runs it twice.
AGENT_COMMAND_CHARS_MAX: Final = 16_000

# How much of what a user asks an agent is recalled by. The question itself stands in it; what
# follows is pasted.
AGENT_PROMPT_CHARS_MAX: Final = 8_000

# Of a context that may have less than this there is nothing worth a line.
_CONTEXT_TOKENS_MIN: Final = 30

# What is told of a file before it is edited: a few lines.
AGENT_ASIDE_TOKENS: Final = 200

# Something to say, and the ids of the records behind it.
Line = tuple[str, Sequence[str]]


@dataclass(frozen=True)
class Manner:
    """How the hooks were installed. `blocked`: what becomes of a command that failed in the same
    way again and again. `prompts`: whether what was asked is kept as the task of what was done.
    """

    blocked: Literal["warn", "ask", "deny"] = "warn"
    make_memory: bool = False
    budget_tokens: int = limits.AGENT_CONTEXT_TOKENS
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
    complaint, began = "", time.perf_counter()
    try:
        reply = answer(event, agent, options, manner)
    except Exception as error:  # noqa: BLE001  # who works does not wait for a memory, nor for what is wrong with it
        complaint = f"hardwon: {clean_line(str(error), limits.CONTEXT_LINE_CHARS_MAX)}"
        # who writes just now does not for long
        reply = None if isinstance(error, BusyError) else _notice(event, agent, complaint)
    output = write_reply(agent, data, reply) if reply else {}
    lines = reply.say.strip().splitlines() if reply else []
    told_line = next((line[2:] for line in lines if line.startswith("- ")), "".join(lines[:1]))
    ms = round((time.perf_counter() - began) * 1_000, 1)
    at = datetime.now(UTC).isoformat(timespec="seconds")
    note_run(
        agent,
        event.folder or str(current_folder()),
        HookRun(read_name(data), at, ms, told_line, complaint),
    )
    return json.dumps(output) + "\n" if output else "", f"{complaint}\n" if complaint else ""


def _notice(event: HookEvent, agent: Agent, complaint: str) -> Reply | None:
    """Once a session."""
    if not may_say(agent, event, Reply(notice=complaint)):
        return None
    with suppress(Exception), open_session("", "", _name_session(event), "", agent) as session:
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
    command = read_command(event) if event.event in ("before", "after") else None
    if event.event in ("before", "after") and not command and not event.file:
        return None
    settings = Settings.read(options)
    keeps = manner.make_memory and command is not None and event.event == "after"
    if not keeps and not memory_exists(settings.memory.value):
        return None
    with (
        Memory(
            settings.memory.value, settings.project.value, busy_timeout_ms=AGENT_HOOK_WAIT_MS
        ) as memory,
        open_session(
            memory.location, memory.project, _name_session(event), event.subagent, agent
        ) as session,
    ):
        reply = _answer_event(event, command, memory, session, manner)
        if session.is_full:
            session.close(memory, ended=False)
        if find_pause(memory.location, memory.project):
            session.forget_lines()  # nobody heard them
            return None
        waiting = session.kept.get("waiting", "")
        if waiting or reply:
            words = "\n".join(filter(None, (waiting, reply.say if reply else "")))
            whole = replace(reply, say=words) if reply else Reply(words)
            heard = may_say(agent, event, whole)
            session.kept["waiting"] = "" if heard else words
            return whole if heard else None
    return None


def _name_session(event: HookEvent) -> str:
    """What is no id of a session becomes one of its own."""
    named = re.fullmatch(r"[\w.:-]{1,100}", event.session, flags=re.ASCII)
    return event.session if named else attempts.RunSession.of({}).id


def _answer_event(
    event: HookEvent, command: Command | None, memory: Memory, session: AgentSession, manner: Manner
) -> Reply | None:
    match event.event:
        case "start":
            if event.forgot:
                session.forget_lines()
            return _say_new(session, _at_start(memory, session, manner))
        case "prompt":
            return _at_prompt(event, memory, session, manner)
        case "before" if command:
            return _before_command(command, memory, session, manner)
        case "before":
            return _before_edit(name_file(event), memory, session, manner)
        case "after" if command and command.step:
            return _after_command(command.step, command, memory, session)
        case "after":
            session.add_edit(edit_step(name_file(event), event.change))
        case "compact":
            session.close(memory, ended=False)
            session.forget_lines()
        case moment:
            session.close(memory, ended=moment != "stop")
    return None


def _say_new(session: AgentSession, lines: Iterable[Line]) -> Reply | None:
    new = session.unsaid(lines)
    return Reply(_fence(new)) if new else None


def _fence(lines: Iterable[str]) -> str:
    rows = [row for text in lines for row in text.split("\n")]
    return fence_lines(rows, fence_mark(int.from_bytes(os.urandom(8))))


def _context(memory: Memory, query: str, tokens: int) -> list[Line]:
    if not query.strip() or tokens < _CONTEXT_TOKENS_MIN:
        return []
    context = memory.context(query, budget_tokens=tokens, explain=True)
    return [(line.text, line.ids) for line in context.lines]


def _at_start(memory: Memory, session: AgentSession, manner: Manner) -> list[Line]:
    """Nothing tells yet what it will be about, but the branch may, the tests that fail, and what
    the last session left.
    """
    end_idle_sessions(memory)
    session.kept["started"] = True
    root = repository_root(Path.cwd())
    branch = Repository(root).head.branch if root else ""
    trunks = ("main", "master", "trunk", "develop", "dev", "HEAD")
    words = [] if branch in trunks else re.findall(r"[^\W_]+", branch)
    query = " ".join([*words, *memory.tests.failing()[:5]])
    return [*_left_undone(memory), *_context(memory, query, manner.budget_tokens)]


def _left_undone(memory: Memory) -> list[Line]:
    last = next(memory.browse(limit=1, kind="trajectory", tag=TAG), None)
    if not isinstance(last, Trajectory) or last.turned_out_well is not False:
        return []
    failed = next(
        (step for step in reversed(read_run(last).steps) if step.outcome == "failed"), None
    )
    how = f": {failed.action} failed: {error_words(failed.output)}" if failed else ""
    return [(f"The last session here left this undone: {last.task}{how}", (last.id,))]


def _at_prompt(
    event: HookEvent, memory: Memory, session: AgentSession, manner: Manner
) -> Reply | None:
    """What was laid down about it comes first. With what the start would have said, where nobody
    told of one: the hook that starts the background process does not wait for it.
    """
    prompt = event.prompt[:AGENT_PROMPT_CHARS_MAX].strip()
    if not prompt or prompt.startswith("/"):  # "/clear" and the like are no work
        return None
    if manner.prompts and not session.kept.get("task"):
        session.kept["task"] = redact(prompt)[0][: limits.LESSON_CHARS_MAX]
    finder = LessonFinder(memory._project)
    rules = finder.rules.tell_rules(Situation(prompt))
    ahead = finder.tell_ahead(Situation(prompt))
    new = [line for line in ahead if session.unsaid([(f"ahead {line.lesson.id}", line.ids)])]
    start = [] if session.kept.get("started") else _at_start(memory, session, manner)
    left = manner.budget_tokens - sum(count_tokens(line.text) for line in (*rules, *new))
    context = [*start, *_context(memory, prompt, left)]
    # a rule is told where it is about what is asked, and nowhere else
    others = [line for line in context if not finder.rules.record_ids.issuperset(line[1] or [""])]
    if manner.prompts and not event.subagent:
        keep_rule(prompt, memory, session)
    return _tell(session, rules, session.unsaid(others), new)


def name_file(event: HookEvent) -> str:
    """The file of an event, as it is called in its checkout."""
    folder = Path(event.folder) if os.path.isabs(event.folder) else Path.cwd()  # noqa: PTH117
    path = Path(os.path.normpath(folder / event.file))
    root = repository_root(path.parent) or folder
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def _before_edit(name: str, memory: Memory, session: AgentSession, manner: Manner) -> Reply | None:
    tokens = min(manner.budget_tokens, AGENT_ASIDE_TOKENS)
    finder = LessonFinder(memory._project)
    rules = finder.rules.tell_rules(Situation(file=name))
    lines = [
        line
        for line in _context(memory, f"edit {name}", tokens)
        # one of many things that were done for something else tells nothing of the file
        if name in line[0].partition("\n")[0]
        and not finder.rules.record_ids.issuperset(line[1] or [""])
    ]
    return _tell(session, rules, session.unsaid(lines))


@dataclass(frozen=True)
class Command:
    """A line of a shell that is worth a word: as typed at the checkout's root, what the agent says
    that it is for, whether it only checks or looks, and, once it ended, what is to be kept of it.
    """

    line: str
    purpose: str
    tests: bool
    is_look: bool
    step: Step | None = None


def read_command(event: HookEvent) -> Command | None:
    """What is tried, and how it ended; None for what only looked, unless it could not even look, for
    what shows something whatever it is asked, and for what records itself.
    """
    typed = event.command.strip()
    is_long = len(typed) > AGENT_COMMAND_CHARS_MAX  # it writes a file
    if not typed or (is_long and event.event == "before"):
        return None
    line = _place_line(typed[:AGENT_COMMAND_CHARS_MAX], event)
    doing = [command.program for command in read_line(line) if not looks(command)]
    if doing and set(doing) == {"hardwon"}:
        return None
    step = None
    if event.event == "after":
        output = OutputExcerpt()
        output.add(event.output.encode())
        printed = attempts.read_excerpt(output)
        step = attempts.make_step(line, event.exit_code, printed, event.seconds)
    parts = read_action(0, step or Step(action=line))
    is_look = all(part.kind == "look" for part in parts)
    if is_look and (step or all(only_shows(command.program) for command in read_line(line))):
        return None
    purpose = event.purpose.strip()[: limits.LESSON_CHARS_MAX]
    return Command(line, purpose, parts[-1].tests, is_look, step)


def _place_line(typed: str, event: HookEvent) -> str:
    """The line as one would type it at the root of the checkout."""
    here = Path(event.folder) if os.path.isabs(event.folder) else Path.cwd()  # noqa: PTH117
    line, folder = _find_place(typed, here, after=event.event == "after")
    return (
        attempts.typed_line(line, folder) if repository_root(folder) else attempts.typed_line(typed)
    )


def _find_place(typed: str, here: Path, *, after: bool) -> tuple[str, Path]:
    """The line without the change of folder at its beginning, and the folder that it runs in. After
    it ran the agent may be in that folder already, so that the way there no longer leads from here.
    """
    to, line = split_cd(typed)
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
    """A word where it failed here before, with what made that go away. What failed again and again
    in this session, with nothing changed since, is stopped as the hooks were installed to.
    """
    repeats = count_repeats(command.line, memory, session)
    if repeats >= STOP_AFTER and not command.tests:
        text = f"Stop. This failed {repeats} times in this session, and nothing was changed since."
        decision = "" if manner.blocked == "warn" else manner.blocked
        return Reply(_fence([text]), decision)
    rules = LessonFinder(memory._project).rules.tell_rules(Situation(action=command.line))
    warnings = [] if command.is_look else speak_before(command.line, memory, session)
    return _tell(session, [*rules, *warnings])


def _tell(
    session: AgentSession,
    lines: Sequence[TellLine],
    more: Sequence[str] = (),
    ahead: Sequence[TellLine] = (),
) -> Reply | None:
    """What this session was not told yet, and `ahead` and `more`, which are new already."""
    new = [line for line in lines if session.unsaid([(line.lesson.id, line.ids)])]
    whole: tuple[TellLine | Aside, ...] = (*new, *ahead, *map(Aside, more))
    return Reply(_fence([line.text for line in whole]), lines=whole) if whole else None


def _after_command(
    step: Step, command: Command, memory: Memory, session: AgentSession
) -> Reply | None:
    """Keeps how it went; of a failure, says what made it go away before."""
    record = attempts.record_step(
        memory,
        step,
        attempts.RunSession(session.kept["session"]),
        task=command.purpose or None,
        tests=command.tests,
        author=session.kept["author"],
    )
    session.add_command(record.id, command.line, failed=record.turned_out_well is False)
    if record.turned_out_well is not False:
        return None
    return _tell(session, speak_after(record.steps[0].observation, command.line, memory, session))
