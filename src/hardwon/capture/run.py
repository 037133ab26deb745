"""A command that was run, as a record: what it was about, how it ended, what it printed.

A run that ended by itself, or was killed, is a trajectory of one step. One that somebody stopped
says nothing about the command: it is a fact, which counts neither for it nor against it.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from hardwon import limits
from hardwon.capture.process import OutputExcerpt, RunResult
from hardwon.errors import BusyError, PlaceError, T
from hardwon.memory import Memory
from hardwon.memory.record import make_metadata
from hardwon.outside import files
from hardwon.outside.files import repository_root, user_folder
from hardwon.records.fields import new_id
from hardwon.records.kinds import AnyRecord, Step, Trajectory
from hardwon.runs.steps import read_action
from hardwon.text.failures import failure_hash
from hardwon.text.outcomes import reported_failure, run_observation
from hardwon.text.terms import same_action
from hardwon.trust.redact import redact

# Commands inside one another that a run knows of, the innermost. It goes through the environment,
# which has little room.
RUNS_UNDER_WAY_MAX: Final = 64

# The environment variable by which a run inside a run knows: the session's id, then a key of each
# command under way.
RUNNING: Final = "HARDWON_RUN"
# Commands in one terminal and folder are one run until nothing was run for so long.
_PAUSE_S: Final = 1_800
_FORGOTTEN_S: Final = 86_400


def command_line(command: Sequence[str], folder: Path | None = None) -> str:
    """The command as one would type it, without secrets. In a folder of a git checkout other than
    its root that is part of it: `npm test` there is another command than here.
    """
    return typed_line(shlex.join(command), folder)


def typed_line(line: str, folder: Path | None = None) -> str:
    """The same of a line that was typed into a shell."""
    root = repository_root(folder) if folder else None
    if folder and root and folder != root:
        line = f"cd {shlex.quote(folder.relative_to(root).as_posix())} && {line}"
    # no half characters
    line = line.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "")
    # in this order: half a secret would not be recognised
    return redact(line)[0][: limits.ACTION_CHARS_MAX]


def runs_tests(line: str) -> bool:
    """Whether the last thing that a line does is to run tests, or to check in another way."""
    return read_action(0, Step(action=line))[-1].tests


def describe_tests(failures: int) -> str:
    """Tests are run again after every change: that is no circle."""
    times = "once" if failures == 1 else f"{failures} times in the same way"
    return f"These tests failed here before, {times} since they last passed."


@dataclass(frozen=True)
class RunSession:
    """`id` is the same for a run and all that it starts; `under_way` are their commands."""

    id: str
    under_way: tuple[str, ...] = ()

    @classmethod
    def of(cls, environment: Mapping[str, str], folder: Path | None = None) -> RunSession:
        """The one that the environment names, else that of this terminal and folder, else a new
        one.
        """
        named = environment.get(RUNNING, "")
        if not re.fullmatch(
            rf"[0-9a-f-]{{36}}(?: [0-9a-f]{{16,64}}){{0,{RUNS_UNDER_WAY_MAX}}}", named
        ):
            return cls(_find_run_here(folder) if folder else new_id())
        run_id, *under_way = named.split(" ")
        return cls(run_id, tuple(under_way))

    def holds(self, line: str) -> bool:
        """Whether this very command is under way already: then whoever runs it tells of it."""
        return same_action(line) in self.under_way

    def environment(self, line: str) -> dict[str, str]:
        """What the command is given, so that runs inside it know."""
        under_way = tuple(dict.fromkeys((*self.under_way, same_action(line))))[-RUNS_UNDER_WAY_MAX:]
        return {RUNNING: " ".join((self.id, *under_way))}


def _find_run_here(folder: Path) -> str:
    """The id of the run that this terminal and folder are in: a new one where nothing was run here
    for a while. It is kept in a file of the user's, which is as old as the last command; where that
    cannot be written, each command is a run.
    """
    place = f"{_name_terminal()}\0{folder}"
    path = user_folder("data") / "runs" / sha256(os.fsencode(place)).hexdigest()[:32]
    run_id, now = new_id(), time.time()
    with suppress(OSError, PlaceError):
        files.make_folder(path.parent)
        for other in path.parent.iterdir():
            if other.stat().st_mtime < now - _FORGOTTEN_S:
                other.unlink(missing_ok=True)
        with suppress(FileNotFoundError, ValueError):
            known = path.read_text(encoding="ascii")
            if path.stat().st_mtime > now - _PAUSE_S and re.fullmatch("[0-9a-f-]{36}", known):
                os.utime(path)
                return known
        path.write_text(run_id, encoding="ascii")
    return run_id


def _name_terminal() -> str:
    """The terminal that we are in, or where there is none, what we were started with."""
    for number in (0, 1, 2):
        with suppress(OSError):
            return f"{os.ttyname(number)} {os.getsid(0)}"
    return str(os.getsid(0))


_ESCAPES: Final = re.compile(
    r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|[\]PX^_][^\x07\x1b\n]*+(?:\x07|\x1b\\)?|[ "
    r"-/]*+[0-~])?|\x9b[0-?]*+[ -/]*+[@-~]"
)


def plain(data: bytes) -> str:
    """As a person would have read it in the end: no colours, and of a line that was written over
    and over its last state.
    """
    text = _ESCAPES.sub("", data.decode(errors="replace"))
    # too many characters that no text has
    if text.count("\ufffd") + text.count("\0") > len(text) * 0.1:
        return f"({len(data)} bytes that are no text)"
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "", "\n".join(lines))


def read_excerpt(output: OutputExcerpt) -> str:
    """The beginning and the end of the output, without secrets, as far as failures are told by
    them.
    """
    if not output.left_out:
        return _cut(redact(plain(output.head + output.tail))[0])
    # What the cut went through is left out: half a secret would not be recognised, nor one whose
    # name went with the other half. That is a line; of a single line, two words; and the rest of a
    # private key.
    head, newline, _ = output.head.rpartition(b"\n")
    if not newline:
        head = b" ".join(output.head.rsplit(None, 2)[:-2])
    _, newline, tail = output.tail.partition(b"\n")
    if not newline:
        tail = b" ".join(output.tail.split(None, 2)[2:])
    end = re.search(rb"-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----", tail)
    if end and b"-----BEGIN " not in tail[: end.start()]:
        tail = tail[end.end() :]
    return _cut(
        redact(plain(head))[0], redact(plain(tail))[0], output.total - len(head) - len(tail)
    )


def _cut(head: str, tail: str = "", left_out: int = 0) -> str:
    if not left_out:
        if len(head) <= limits.FAILURE_HEAD_CHARS + limits.FAILURE_TAIL_CHARS:
            return head
        tail = head
    head, tail = head[: limits.FAILURE_HEAD_CHARS], tail[-limits.FAILURE_TAIL_CHARS :]
    much = f"{left_out} bytes" if left_out else "some"
    return f"{head.rpartition(chr(10))[0] or head}\n[{much} left out]\n{tail.partition(chr(10))[2] or tail}"


def make_step(
    line: str, exit_code: int | None, printed: str, seconds: float = 0.0, signal_name: str = ""
) -> Step:
    """What was done and what came of it. `ok` is what the exit code says; None where that says
    nothing: nobody knows it (`exit_code` is None), or it is that of something else, such as `tail`.
    """
    if exit_code is None:
        return Step(action=line, observation=printed)
    header = Step(action=line, observation=run_observation(exit_code, signal_name, seconds, ""))
    outcome = read_action(0, header)[-1].outcome
    return Step(
        action=line,
        observation=run_observation(exit_code, signal_name, seconds, printed),
        ok=None if outcome == "unknown" else outcome == "worked",
    )


def record(
    memory: Memory,
    line: str,
    ran: RunResult,
    session: RunSession,
    *,
    task: str | None = None,
    tests: bool = False,
    author: str | None = None,
    tags: Sequence[str] = (),
) -> AnyRecord:
    """Keeps the attempt. `tests`: the command is one that runs tests."""
    if ran.stopped:
        about = redact(task)[0] if task else ""
        stopped = f"The command `{line}` was stopped from outside after {ran.seconds:.1f} s."
        return memory.record_fact(
            f"{stopped} Task: {about}" if task else stopped,
            "observation",
            1.0,
            **_envelope(session, tests, author, tags),
        )
    try:
        signal_name = signal.Signals(ran.signal).name if ran.signal else ""
    except ValueError:
        signal_name = f"signal {ran.signal}"
    printed = ran.refusal or read_excerpt(ran.output)
    # it is that of the command, whatever is inside: whoever runs it so wants to know
    step = make_step(line, ran.exit_code, printed, ran.seconds, signal_name).copy_with(
        ok=ran.exit_code == 0
    )
    return record_step(memory, step, session, task=task, tests=tests, author=author, tags=tags)


def record_step(
    memory: Memory,
    step: Step,
    session: RunSession,
    *,
    task: str | None = None,
    tests: bool = False,
    author: str | None = None,
    tags: Sequence[str] = (),
) -> Trajectory:
    """Keeps a command that ended, as a trajectory of its own: whether it worked is its outcome, as
    far as that is known.
    """
    envelope = _envelope(session, tests, author, tags)
    done = read_action(0, step)[-1]
    if done.outcome == "failed":
        envelope["failure_hash"] = failure_hash(reported_failure(step.observation) or done.output)
    rewards = {"worked": 1.0, "failed": 0.0, "unknown": None}
    about = redact(task)[0] if task else step.action
    return memory.record_trajectory(about, [step], rewards[done.outcome], **envelope)


def check(task: str | None, author: str | None, tags: Sequence[str]) -> None:
    """InvalidInputError for what could not be recorded: better told before the command is run."""
    make_metadata(_envelope(RunSession(""), False, author, tags), datetime.now(UTC), None)
    Trajectory(task=task or "", steps=[], final_reward=0.0)


def _envelope(
    session: RunSession, tests: bool, author: str | None, tags: Sequence[str]
) -> dict[str, Any]:
    source = {"type": "test_result" if tests else "agent_execution", "id": session.id}
    if author is not None:
        source["author"] = author
    return {"source": source, "tags": list(dict.fromkeys(("run", *tags)))}


def within(seconds: float, ask: Callable[[], T]) -> T:
    """What `ask` returns or raises; BusyError where it takes longer. A memory that somebody has
    locked must not hold up a command for as long as a write may wait.
    """
    answer = Future[T]()

    def ask_it() -> None:
        try:
            answer.set_result(ask())
        except BaseException as error:  # noqa: BLE001  # it is raised where it was asked
            answer.set_exception(error)

    threading.Thread(target=ask_it, daemon=True).start()
    if wait([answer], seconds).not_done:
        raise BusyError(
            f"the memory did not answer within {seconds:g} s; somebody else may be writing to it "
            f"for long"
        )
    return answer.result()
