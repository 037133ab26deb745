"""Runs a command as if nobody stood between it and whoever started it, and keeps the beginning and
the end of its output.

Where standard input and output are a terminal, the command gets a terminal of its own, with a
session of its own, and ours is raw while it runs: every key goes to it, and its terminal makes
signals of them. Elsewhere it stays in our process group, so that it can read from the terminal, is
stopped and continued with us, and gets what is sent to the whole group; an output of ours that is a
terminal is one for the command too. Output that goes to two places comes through two pipes, and
through one where both are the same place: then its order is kept.

Only the main thread can do this, for signals are its business.
"""

from __future__ import annotations

import errno
import fcntl
import os
import selectors
import shutil
import signal
import struct
import subprocess
import termios
import threading
import time
import tty
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Self

from hardwon import limits

NOT_FOUND: Final = 127
NOT_EXECUTABLE: Final = 126
KILLED_BY: Final = 128  # what a shell adds to the number of the signal that killed a command
STDIN, STDOUT, STDERR = 0, 1, 2
_TO_FORWARD: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_TO_NOTICE: Final = (signal.SIGCHLD, signal.SIGWINCH, signal.SIGCONT)


@dataclass
class OutputExcerpt:
    """The beginning and the end of what passes through."""

    total: int = 0
    head: bytes = b""
    _tail: bytearray = field(default_factory=bytearray)

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = limits.RUN_HEAD_BYTES - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        self._tail += data[-limits.RUN_TAIL_BYTES :]
        if len(self._tail) > 4 * limits.RUN_TAIL_BYTES:
            del self._tail[: -limits.RUN_TAIL_BYTES]

    @property
    def tail(self) -> bytes:
        """What comes after `head`, or the end of it."""
        return bytes(self._tail[-limits.RUN_TAIL_BYTES :])

    @property
    def left_out(self) -> int:
        """Bytes between the two."""
        return self.total - len(self.head) - len(self.tail)


@dataclass(frozen=True)
class RunResult:
    """How a command ended: `exit_code` as a shell reports it; `signal` the number of what killed
    it, else 0; `stopped` whether it ended because it was interrupted, told to end, or its reader
    left; `refusal` why it could not be started, else empty.
    """

    exit_code: int
    signal: int = 0
    seconds: float = 0.0
    stopped: bool = False
    refusal: str = ""
    output: OutputExcerpt = field(default_factory=OutputExcerpt)


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> RunResult:
    """Runs it until it ends. Whatever goes wrong on the way is the command's own, or told by
    `refusal`.
    """
    for number in (STDIN, STDOUT, STDERR):
        try:
            os.fstat(number)
        except OSError:
            # a closed one would else be the number of the next file that somebody opens
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    began = time.monotonic()
    streams = _Streams.joined()
    try:
        with _Signals() as signals:
            process = _start(command, environment, streams)
            if isinstance(process, RunResult):
                return process
            streams.close_pipes_of_child()
            relay = _Relay(_Child(process), streams, signals)
            relay.run()
    finally:
        streams.close()
    return relay.result(time.monotonic() - began)


# --- the command ---


def _start(
    command: Sequence[str], environment: Mapping[str, str] | None, streams: _Streams
) -> subprocess.Popen[bytes] | RunResult:
    """The process, or a result that tells, in the words of a shell, why there is none."""
    own = streams.terminal is not None

    def start(words: Sequence[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603  # nosec B603  # it is what the user asks for, and no shell sees it
            list(words),
            stdin=streams.child_in,
            stdout=streams.child_out,
            stderr=streams.child_err,
            env=environment,
            # a make's job server, or a shell's <(…), has numbers of its own; all of ours close by
            # themselves
            close_fds=False,
            start_new_session=own,
            # No other thread of ours runs yet.
            preexec_fn=(lambda: fcntl.ioctl(STDIN, termios.TIOCSCTTY, 0)) if own else None,
        )

    name = command[0]
    try:
        return start(command)
    except ValueError:  # a zero byte, which only a caller in Python can have put there
        return RunResult(NOT_FOUND, refusal=f"{name}: command not found")
    except OSError as error:
        there = os.path.lexists(name) if "/" in name else shutil.which(name, os.F_OK)
        if not there:
            why = "No such file or directory" if "/" in name else "command not found"
            return RunResult(NOT_FOUND, refusal=f"{name}: {why}")
        found = name if there is True else str(there)
        why = error.strerror or str(error)
        if os.path.isdir(found):  # noqa: PTH112
            why = "Is a directory"
        elif isinstance(error, FileNotFoundError):
            why = "bad interpreter: No such file or directory"
        elif error.errno == errno.ENOEXEC:
            with suppress(OSError), open(found, "rb") as file:  # noqa: PTH123
                # a script without #! line; every shell runs it itself, and takes a file for one
                # that has no zero byte at its beginning
                if b"\0" not in file.read(80):
                    return start(["/bin/sh", found, *command[1:]])
            why = "cannot execute binary file: Exec format error"
        return RunResult(NOT_EXECUTABLE, refusal=f"{name}: {why}")


@dataclass(frozen=True)
class _Child:
    """The process. Signals are sent from another thread than the one that waits for it, so a lock
    keeps them apart: once it was waited for, its number may be somebody else's.
    """

    process: subprocess.Popen[bytes]
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def is_stopped(self) -> bool:
        """Also notes, in `process.returncode`, whether it has ended."""
        with self._lock:
            if self.process.returncode is not None:
                return False
            try:
                pid, status = os.waitpid(self.process.pid, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                # somebody ignores SIGCHLD for us: nobody knows any more how it ended
                pid, status = self.process.pid, 0
            stopped = os.WIFSTOPPED(status)
            if pid and not stopped:
                self.process.returncode = os.waitstatus_to_exitcode(status)
        return stopped

    def send(self, number: int, *, to_group: bool = False) -> None:
        with self._lock, suppress(ProcessLookupError, PermissionError):
            if self.process.returncode is None:
                (os.killpg if to_group else os.kill)(self.process.pid, number)


# --- its streams ---


@dataclass
class _Streams:
    """What the child reads and writes (`pipes` are its ends of pipes), our ends of it with where
    their bytes go, and the terminals among them, with the child's end of each.
    """

    child_in: int | None = None
    child_out: int = -1
    child_err: int = -1
    pipes: list[int] = field(default_factory=list)
    passed_on: dict[int, int] = field(default_factory=dict)
    terminal: int | None = None
    screens: dict[int, int] = field(default_factory=dict)

    @classmethod
    def joined(cls) -> Self:
        streams = cls()
        if os.isatty(STDIN) and os.isatty(STDOUT) and in_foreground():
            with suppress(OSError):  # the system has no more terminals
                streams.terminal, streams.child_in = streams._screen(
                    STDOUT, termios.tcgetattr(STDIN)
                )
        streams.child_out = (
            streams._output(STDOUT) if streams.child_in is None else streams.child_in
        )
        out, err = os.fstat(STDOUT), os.fstat(STDERR)
        same_place = (out.st_dev, out.st_ino, out.st_rdev) == (err.st_dev, err.st_ino, err.st_rdev)
        both = same_place or (os.isatty(STDOUT) and os.isatty(STDERR))
        streams.child_err = streams.child_out if both else streams._output(STDERR)
        return streams

    def _screen(self, shown_on: int, attributes: list[Any] | None) -> tuple[int, int]:
        """A terminal. Without attributes it is one for output alone: ours turns line ends into what
        they are on a screen.
        """
        ours, childs = os.openpty()
        if attributes is None:
            attributes = termios.tcgetattr(childs)
            attributes[tty.OFLAG] &= ~termios.OPOST
            attributes[tty.LFLAG] &= ~(termios.ECHO | termios.ICANON | termios.ISIG)
        termios.tcsetattr(childs, termios.TCSANOW, attributes)
        os.set_blocking(ours, False)
        self.screens[ours] = childs
        self.passed_on[ours] = shown_on
        self.resize()
        return ours, childs

    def _output(self, number: int) -> int:
        if os.isatty(number):
            with suppress(OSError):
                return self._screen(number, None)[1]
        ours, childs = os.pipe()
        # F_SETPIPE_SZ is Linux's, and the user's share of it may be used up
        with suppress(OSError, AttributeError):
            fcntl.fcntl(ours, fcntl.F_SETPIPE_SZ, limits.READ_AT_ONCE_BYTES)
        self.passed_on[ours] = number
        self.pipes.append(childs)
        return childs

    def resize(self) -> None:
        """As large as the terminal that they are shown on."""
        for ours in self.screens:
            with suppress(OSError):
                size = fcntl.ioctl(self.passed_on.get(ours, STDOUT), termios.TIOCGWINSZ, bytes(8))
                if struct.unpack("HHHH", size)[0]:
                    fcntl.ioctl(ours, termios.TIOCSWINSZ, size)

    def close_pipes_of_child(self) -> None:
        """Its ends of terminals stay open until it ends: one that nobody has open ends at once, and
        the child may close all of its own and come back by /dev/tty.
        """
        while self.pipes:
            os.close(self.pipes.pop())

    def close_screens(self) -> None:
        while self.screens:
            os.close(self.screens.popitem()[1])

    def close(self) -> None:
        self.close_pipes_of_child()
        self.close_screens()
        for ours in self.passed_on:
            os.close(ours)


def in_foreground() -> bool:
    """Whether we may use the terminal. Where it controls nobody there is no background."""
    try:
        return os.tcgetpgrp(STDIN) in (os.getpgrp(), 0)
    except OSError:
        return True


# --- signals ---


class _Signals:
    """Brings signals to where they can be waited for together with everything else. While the
    command is being started, their handlers do it; then a thread, which also learns where they come
    from, and sends them on even while we wait to write.
    """

    def __init__(self) -> None:
        self.came, self._came = os.pipe()
        self._thread: threading.Thread | None = None
        self._over = False

    def __enter__(self) -> Self:
        os.set_blocking(self.came, False)
        os.set_blocking(self._came, False)
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        self._wakeup = signal.set_wakeup_fd(self._came, warn_on_full_buffer=False)
        # A handler that does nothing: its being there makes Python write the number to the pipe.
        # What we ignore (nohup, or a job in the background) the command ignores too.
        self._before = {
            number: signal.signal(number, lambda _number, _frame: None) or signal.SIG_DFL
            for number in (*_TO_NOTICE, *_TO_FORWARD)
            if number in _TO_NOTICE or signal.getsignal(number) is not signal.SIG_IGN
        }
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread:
            self._over = True
            signal.pthread_kill(self._thread.ident or 0, signal.SIGWINCH)
            self._thread.join()
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        signal.set_wakeup_fd(self._wakeup)
        os.close(self.came)
        os.close(self._came)

    def watch(self, take: Callable[[int, bool], None]) -> None:
        """From now on `take` gets those that are to be sent on, in a thread of their own."""
        signal.pthread_sigmask(signal.SIG_BLOCK, self._before)
        self._thread = threading.Thread(target=self._wait, args=(take,), daemon=True)
        self._thread.start()

    def _wait(self, take: Callable[[int, bool], None]) -> None:
        while True:
            if hasattr(signal, "sigwaitinfo"):
                found = signal.sigwaitinfo(self._before)
                # 128: a terminal sent it, to the whole group, so the command has it as well
                number, from_terminal = found.si_signo, found.si_code == 128
            else:
                number = signal.sigwait(self._before)
                from_terminal = _may_be_typed(number)
            if self._over:
                return
            if number in _TO_FORWARD:
                take(number, from_terminal)
            else:
                with suppress(BlockingIOError):  # full: it will be read
                    os.write(self._came, bytes((number,)))


def _may_be_typed(number: int) -> bool:
    return number in (signal.SIGINT, signal.SIGQUIT) and os.isatty(STDIN) and in_foreground()


# --- between the two ---


@dataclass
class _Relay:
    """Passes on what comes until the command has ended and nothing more comes."""

    _child: _Child
    _streams: _Streams
    _signals: _Signals
    _output: OutputExcerpt = field(default_factory=OutputExcerpt)
    _told_to_stop: bool = False  # or whoever read its output left
    _ended_at: float | None = None
    _since_end: int = 0
    _suspend_at: float | None = None
    _typed: bytes = b""
    _raw: bool = False  # our own terminal: while the command has one
    _attributes: list[Any] = field(default_factory=list)  # what it was before
    _selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)

    def run(self) -> None:
        with self._selector as selector:
            selector.register(self._signals.came, selectors.EVENT_READ, self._signalled)
            for ours in self._streams.passed_on:
                selector.register(ours, selectors.EVENT_READ, partial(self._pass_on, ours))
            self._signals.watch(self._forward)
            if self._streams.terminal is not None:
                self._attributes = termios.tcgetattr(STDIN)
                self._make_raw()
            try:
                self._child_changed()
                while not self._is_over():
                    self._type()
                    due = (
                        self._suspend_at
                        if self._ended_at is None
                        else self._ended_at + limits.RUN_LINGER_S
                    )
                    wait = None if due is None else max(0.0, due - time.monotonic())
                    for key, _ in selector.select(wait):
                        key.data()
                    if self._suspend_at is not None and time.monotonic() >= self._suspend_at:
                        self._suspend_at = None
                        self._child.send(signal.SIGSTOP, to_group=True)
            finally:
                self._give_back_terminal()

    def result(self, seconds: float) -> RunResult:
        code = self._child.process.returncode
        killed = max(0, -code)
        exit_code = KILLED_BY + killed if killed else code
        stopped = exit_code == KILLED_BY + signal.SIGINT or (bool(exit_code) and self._told_to_stop)
        return RunResult(exit_code, killed, seconds, stopped, "", self._output)

    # --- output ---

    def _is_over(self) -> bool:
        if self._ended_at is None or not self._streams.passed_on:
            return self._ended_at is not None
        # What it wrote before it ended may still be on its way, however long our own reader takes.
        late = time.monotonic() > self._ended_at + limits.RUN_LINGER_S
        return late and (
            self._since_end >= limits.READ_AT_ONCE_BYTES or not self._selector.select(0)
        )

    def _pass_on(self, ours: int) -> None:
        if ours not in self._streams.passed_on:  # closed by another of the same round
            return
        try:
            data = os.read(ours, limits.READ_AT_ONCE_BYTES)
        except BlockingIOError:  # only the terminal's other direction is ready
            return
        except OSError:  # a terminal that nobody has open any more
            data = b""
        if not data:
            self._close(ours)
            return
        self._output.add(data)
        self._since_end += len(data) if self._ended_at is not None else 0
        try:
            write_all(self._streams.passed_on[ours], data)
        except OSError:
            self._told_to_stop = True
            self._close(ours)  # the command's next write fails as it would without us

    def _close(self, ours: int) -> None:
        self._selector.unregister(ours)
        if ours == self._streams.terminal:
            self._streams.terminal = None
        if childs := self._streams.screens.pop(ours, None):
            os.close(childs)
        del self._streams.passed_on[ours]
        os.close(ours)

    # --- input, where the command has a terminal of its own ---

    def _type(self) -> None:
        """Hands on the keys that the command takes for now. More are read while there is a command
        to take them, the terminal is ours, and it takes them.
        """
        terminal = self._streams.terminal
        if terminal is not None:
            if self._typed:
                with suppress(OSError):  # it takes no more for now, or has gone
                    self._typed = self._typed[os.write(terminal, self._typed) :]
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._typed else 0)
            if self._selector.get_key(terminal).events != events:
                self._selector.modify(terminal, events, partial(self._pass_on, terminal))
        wanted = (
            terminal is not None
            and self._raw
            and len(self._typed) < limits.RUN_TYPED_BYTES_MAX
            and self._ended_at is None
        )
        watched = STDIN in self._selector.get_map()
        if wanted and not watched:
            self._selector.register(STDIN, selectors.EVENT_READ, self._key)
        elif watched and not wanted:
            self._selector.unregister(STDIN)

    def _key(self) -> None:
        try:
            data = os.read(STDIN, 4096)
        except OSError:
            data = b""
        if not data:  # it hung up
            self._give_back_terminal()
        self._typed += data
        terminal = self._streams.terminal
        if terminal in self._streams.screens:  # it has not just ended
            self._note_signal_keys(terminal, data)

    def _note_signal_keys(self, terminal: int, data: bytes) -> None:
        attributes = termios.tcgetattr(self._streams.screens[terminal])
        if not attributes[tty.LFLAG] & termios.ISIG:  # an editor: they are keys like others
            return
        keys = attributes[tty.CC]
        self._told_to_stop |= keys[termios.VINTR] in data or keys[termios.VQUIT] in data
        if keys[termios.VSUSP] in data and os.tcgetpgrp(terminal) == self._child.process.pid:
            # Nobody in its session could continue it, so the kernel does not stop it: we do. A
            # shell in there has jobs of its own, which it stops itself.
            self._suspend_at = time.monotonic() + limits.RUN_SUSPEND_S

    # --- signals ---

    def _forward(self, number: int, from_terminal: bool) -> None:
        """Called in the thread that waits for signals."""
        self._told_to_stop = True
        apart = self._streams.terminal is not None
        if apart or not from_terminal:
            self._child.send(number, to_group=apart)

    def _signalled(self) -> None:
        for number in os.read(self._signals.came, 1024):
            if number == signal.SIGCHLD:
                self._child_changed()
            elif number == signal.SIGWINCH:
                self._streams.resize()
            elif number == signal.SIGCONT:
                self._go_on()
            else:  # it came before its thread waited for it
                self._forward(number, _may_be_typed(number))

    def _child_changed(self) -> None:
        stopped = self._child.is_stopped()
        if self._child.process.returncode is not None and self._ended_at is None:
            self._ended_at = time.monotonic()
            self._streams.close_screens()
        elif stopped and self._streams.terminal is not None:
            # So are we, and whoever started us has the terminal.
            self._suspend_at = None
            self._give_back_terminal()
            os.killpg(0, signal.SIGTSTP)
            self._go_on()

    def _go_on(self) -> None:
        if self._streams.terminal is None or self._ended_at is not None:
            return
        if in_foreground():
            self._make_raw()
            self._streams.resize()
        self._child.send(signal.SIGCONT, to_group=True)

    def _make_raw(self) -> None:
        with suppress(termios.error):
            tty.setraw(STDIN, termios.TCSADRAIN)
            self._raw = True

    def _give_back_terminal(self) -> None:
        """As it was: whenever we do not have it, and at the end in any case."""
        if self._raw and in_foreground():
            with suppress(termios.error):
                termios.tcsetattr(STDIN, termios.TCSADRAIN, self._attributes)
        self._raw = False


def write_all(number: int, data: bytes) -> None:
    """All of it, also where somebody made the file non-blocking."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(number, rest) :]
        except BlockingIOError:
            with selectors.DefaultSelector() as selector:
                selector.register(number, selectors.EVENT_WRITE)
                selector.select()
