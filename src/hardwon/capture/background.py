"""The process that answers agents' hooks while one is at work, so that none of them waits for Python
to load a memory: `hardwon_cli.hook` asks it, and without it answers by itself, through `call` here.

It is started by the first hook, ends when nobody asked for a while or another version is installed,
and is the user's own: a socket of mode 0600 in a folder of mode 0700. Each question is answered by
a child, which takes over the asker's folder and environment, opens the memory (a found one that is
not trusted is refused, as ever), and is gone: nothing stays open in between.
"""

from __future__ import annotations

import fcntl
import gc
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Final, NoReturn

import hardwon
from hardwon import limits
from hardwon.capture.agents import Manner, respond
from hardwon.capture.protocols import AGENTS, Agent
from hardwon.outside.files import READ_AT_ONCE_BYTES
from hardwon.text.tables import Forms, Patterns

# The process that answers hooks ends when it was asked nothing for so long: a coffee break does not
# end it, an evening does.
AGENT_BACKGROUND_IDLE_S: Final = 1_800

# How often it looks whether its socket is still there: who removes it wants it to end.
AGENT_BACKGROUND_LOOK_S: Final = 30

_VALUES: Final = ("--memory", "--project", "--budget")
_FLAGS: Final = ("--ask-blocked", "--deny-blocked", "--make-memory", "--no-prompts")

Call = tuple[Agent, Mapping[str, str | None], Manner]


def parse(words: Sequence[str]) -> Call | None:
    """What `hardwon … hooks run AGENT …` asks for, without the command line, which takes as long to
    load as the memory; None where the command line is to say what is wrong with it.
    """
    named, flags, rest = dict[str, str | None](), set[str](), list[str]()
    left = iter(words)
    for word in left:
        if word in _VALUES:
            named[word.lstrip("-")] = next(left, None)
        elif word in _FLAGS:
            flags.add(word)
        else:
            rest.append(word)
    agent = next((name for name in AGENTS if rest == ["hooks", "run", name]), None)
    budget = named.pop("budget", None) or str(limits.AGENT_CONTEXT_TOKENS)
    if agent is None or not budget.isdecimal() or not 0 < int(budget) <= limits.CONTEXT_TOKENS_MAX:
        return None
    blocked: Final = (
        "deny" if "--deny-blocked" in flags else "ask" if "--ask-blocked" in flags else "warn"
    )
    manner = Manner(
        blocked, "--make-memory" in flags, int(budget), prompts="--no-prompts" not in flags
    )
    return agent, named, manner


def call(words: Sequence[str], data: bytes) -> tuple[str, str] | None:
    """What the hook writes to standard output and standard error; None where the words are not
    understood. Whatever takes too long is then as if it had never begun.
    """
    asked = parse(words)
    if asked is None:
        return None
    alarm = threading.Timer(limits.AGENT_HOOK_S_MAX, os._exit, (0,))
    alarm.daemon = True
    alarm.start()
    try:
        agent, options, manner = asked
        return respond(agent, data, options, manner)
    finally:
        alarm.cancel()


# --- the process ---

# What is loaded when it is first needed, and would be loaded by every child.
_LATE: Final = (
    "hardwon.memory.advise",
    "hardwon.memory.context",
    "hardwon.memory.staleness",
    "hardwon.capture.tests",
    "hardwon.tree.mirror",
    "hardwon.tree.watch",
    "tomllib",
)


def serve(at: str) -> None:
    """Answers at this socket until nobody asks any more. Where another one does already, nothing."""
    with open(f"{at}.lock", "a", opener=_private) as lock:  # a Path takes no opener
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        lock.truncate(0)
        lock.write(f"{os.getpid()}\n")
        lock.flush()
        os.chdir("/")  # whoever started it may want to remove the folder
        for name in _LATE:
            import_module(name)
        _warm_up()
        gc.collect()
        gc.freeze()
        Path(at).unlink(missing_ok=True)  # of one that was killed
        with socket.socket(socket.AF_UNIX) as listening:
            os.umask(0o177)
            listening.bind(at)
            listening.listen(64)
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
            try:
                _answer_all(listening)
            finally:
                Path(at).unlink(missing_ok=True)


def _private(name: str, flags: int) -> int:
    return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _answer_all(listening: socket.socket) -> None:
    code, at = Path(hardwon.__file__), listening.getsockname()
    version = code.stat().st_mtime_ns
    idle_until_s = time.monotonic() + AGENT_BACKGROUND_IDLE_S
    # nobody can ask any more where the socket is gone
    while time.monotonic() < idle_until_s and Path(at).exists():
        look_s = min(AGENT_BACKGROUND_IDLE_S, AGENT_BACKGROUND_LOOK_S)
        if not select.select([listening], [], [], look_s)[0]:
            continue
        idle_until_s = time.monotonic() + AGENT_BACKGROUND_IDLE_S
        connection, _ = listening.accept()
        with connection:
            try:
                current = code.stat().st_mtime_ns == version
            except OSError:
                current = False
            if not current:  # the asker has the new one, and starts it
                return
            if os.fork() == 0:
                listening.close()
                _answer(connection)


def _answer(connection: socket.socket) -> NoReturn:
    """In a child."""
    with suppress(BaseException):
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        connection.settimeout(limits.AGENT_HOOK_S_MAX)
        asked = b"".join(iter(lambda: connection.recv(READ_AT_ONCE_BYTES), b""))
        size, _, rest = asked.partition(b"\n")
        head, data = rest[: int(size)], rest[int(size) :]
        folder, count, *words = head.split(b"\0")
        variables = words[int(count) :]
        os.chdir(folder)
        os.umask(0o077)
        os.environb.clear()
        os.environb.update(variable.partition(b"=")[::2] for variable in variables)
        reply = call([os.fsdecode(word) for word in words[: int(count)]], data)
        if reply is not None:
            connection.sendall(b"\0".join([b"", *(part.encode() for part in reply), b""]))
    os._exit(0)


def _warm_up() -> None:
    """Whatever is worked out at its first use (patterns, models, tables) is worked out once, in a
    memory that goes.
    """
    from tempfile import TemporaryDirectory

    here, environment = Path.cwd(), dict(os.environ)
    with TemporaryDirectory(prefix="hardwon-") as folder:
        os.environ.update(XDG_DATA_HOME=folder, XDG_CONFIG_HOME=folder)
        options = {"memory": f"{folder}/memory.db", "project": "none"}
        about = f'"session": "warm", "folder": "{folder}", "command": "make it"'
        for event in (
            f'{{"event": "after", "exit_code": 2, "output": "error: no rule", {about}}}',
            f'{{"event": "after", "exit_code": 2, "output": "error: no rule", {about}}}',
            f'{{"event": "before", {about}}}',
            f'{{"event": "after", "exit_code": 0, {about.replace("make it", "A=1 make it")}}}',
            f'{{"event": "stop", {about}}}',
            f'{{"event": "start", {about}}}',
            f'{{"event": "prompt", "prompt": "make it", {about}}}',
        ):
            respond("other", event.encode(), options, Manner(make_memory=True))
        os.chdir(here)
    for value in gc.get_objects():
        if isinstance(value, Patterns | Forms):
            value.compile_all()
    os.environ.clear()
    os.environ.update(environment)


if __name__ == "__main__":
    serve(sys.argv[1])
