"""Runs a command as if nobody stood between it and whoever started it, and keeps the beginning and
the end of its output.

It stays in our process group and reads what we would read, so that the kernel does the rest:
Ctrl-C, Ctrl-Z and `fg` reach it and us alike. Only its output passes through here: by a pipe, or,
where ours is a terminal, by a terminal of the same size, so that it shows its colours. Output that
goes to one place comes through one of them: then its order is kept.

Only the main thread can do this, for signals are its business.
"""

from __future__ import annotations

import fcntl
import os
import pty
import selectors
import shutil
import signal
import subprocess
import termios
import time
import tty
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from hardwon import limits
from hardwon.outside.files import READ_AT_ONCE_BYTES

# What is kept of a command's output from its beginning until it ended: FAILURE_HEAD_CHARS of text,
# in any script and with the colours that a terminal gets, several times over.
RUN_HEAD_BYTES: Final = 32 * limits.KIB

# The same of its end, for FAILURE_TAIL_CHARS.
RUN_TAIL_BYTES: Final = 64 * limits.KIB

NOT_FOUND: Final = 127
NOT_EXECUTABLE: Final = 126
KILLED_BY: Final = 128  # what a shell adds to the number of the signal that killed a command
STDIN, STDOUT, STDERR = 0, 1, 2
_TO_FORWARD: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
# How long to wait for more output once a command is gone, where something that it started holds its
# output open.
_LINGER_S: Final = 0.3
_LOOK_S: Final = 0.1  # how soon the end of a command is noticed whose output somebody keeps open


@dataclass
class OutputExcerpt:
    """The beginning and the end of what passes through."""

    total: int = 0
    head: bytes = b""
    _tail: bytearray = field(default_factory=bytearray)

    def add(self, data: bytes) -> None:
        self.total += len(data)
        room = RUN_HEAD_BYTES - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        self._tail += data[-RUN_TAIL_BYTES:]
        if len(self._tail) > 4 * RUN_TAIL_BYTES:
            del self._tail[:-RUN_TAIL_BYTES]

    @property
    def tail(self) -> bytes:
        """What comes after `head`, or the end of it."""
        return bytes(self._tail[-RUN_TAIL_BYTES:])

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
    relay = _Relay()
    try:
        with relay.forward_signals():
            childs = relay.open_outputs()
            process = _start(command, environment, childs)
            for number in set(childs):
                os.close(number)
            if isinstance(process, RunResult):
                return process
            relay.follow(process)
    finally:
        relay.close()
    killed = max(0, -process.returncode)
    exit_code = KILLED_BY + killed if killed else process.returncode
    stopped = exit_code == KILLED_BY + signal.SIGINT or (bool(exit_code) and relay.told_to_stop)
    return RunResult(exit_code, killed, time.monotonic() - began, stopped, "", relay.output)


def _start(
    command: Sequence[str], environment: Mapping[str, str] | None, outputs: tuple[int, int]
) -> subprocess.Popen[bytes] | RunResult:
    """The process, or a result that tells, in the words of a shell, why there is none."""
    name = command[0]
    try:
        return subprocess.Popen(  # noqa: S603  # nosec B603  # it is what the user asks for, and no shell sees it
            list(command),
            stdout=outputs[0],
            stderr=outputs[1],
            env=environment,
            # a make's job server, or a shell's <(…), has numbers of its own; all of ours close by
            # themselves
            close_fds=False,
        )
    except ValueError:  # a zero byte, which only a caller in Python can have put there
        return RunResult(NOT_FOUND, refusal=f"{name}: command not found")
    except OSError as error:
        there = os.path.lexists(name) if "/" in name else shutil.which(name, os.F_OK)
        if not there:
            why = "No such file or directory" if "/" in name else "command not found"
            return RunResult(NOT_FOUND, refusal=f"{name}: {why}")
        why = error.strerror or str(error)
        if isinstance(error, FileNotFoundError):
            why = "bad interpreter: No such file or directory"
        return RunResult(NOT_EXECUTABLE, refusal=f"{name}: {why}")


@dataclass
class _Relay:
    """Passes the command's output on, and signals to the command."""

    output: OutputExcerpt = field(default_factory=OutputExcerpt)
    told_to_stop: bool = False  # or whoever read its output left
    _process: subprocess.Popen[bytes] | None = None
    _came_early: int = 0  # the signal that came before there was a process
    _shown_on: dict[int, int] = field(
        default_factory=dict
    )  # our end of each output, and where it goes

    def open_outputs(self) -> tuple[int, int]:
        """The command's ends of its standard output and standard error."""
        out, err = os.fstat(STDOUT), os.fstat(STDERR)
        same_place = (out.st_dev, out.st_ino, out.st_rdev) == (err.st_dev, err.st_ino, err.st_rdev)
        both = same_place or (os.isatty(STDOUT) and os.isatty(STDERR))
        childs = self._open_output(STDOUT)
        return childs, childs if both else self._open_output(STDERR)

    def _open_output(self, number: int) -> int:
        if os.isatty(number):
            with suppress(OSError):  # the system has no more terminals
                ours, childs = pty.openpty()
                modes = termios.tcgetattr(number)
                modes[
                    tty.OFLAG
                ] &= ~termios.OPOST  # ours makes of line ends what they are on a screen
                termios.tcsetattr(childs, termios.TCSANOW, modes)
                self._shown_on[ours] = number
                self._resize()
                return childs
        ours, childs = os.pipe()
        self._shown_on[ours] = number
        return childs

    def _resize(self) -> None:
        """The command's terminal becomes as large as ours."""
        for ours, number in self._shown_on.items():
            with suppress(OSError):
                fcntl.ioctl(
                    ours, termios.TIOCSWINSZ, fcntl.ioctl(number, termios.TIOCGWINSZ, bytes(8))
                )

    def follow(self, process: subprocess.Popen[bytes]) -> None:
        """Until the command has ended and nothing more comes. What it wrote before it ended may
        still be on its way, however long our own reader takes; but who floods its output afterwards
        is not waited for.
        """
        self._process = process
        if self._came_early:
            process.send_signal(self._came_early)
        ended_at, since_end = 0.0, 0
        with selectors.DefaultSelector() as selector:
            for ours in self._shown_on:
                selector.register(ours, selectors.EVENT_READ)
            while self._shown_on:
                if not ended_at and process.poll() is not None:
                    ended_at = time.monotonic()
                ready = selector.select(_LINGER_S if ended_at else _LOOK_S)
                late = ended_at and time.monotonic() > ended_at + _LINGER_S
                if late and (not ready or since_end >= READ_AT_ONCE_BYTES):
                    break
                for key, _ in ready:
                    passed = self._pass_on(key.fd)
                    since_end += passed if ended_at else 0
                    if not passed:
                        selector.unregister(key.fd)
                        del self._shown_on[key.fd]
                        os.close(key.fd)
        process.wait()

    def _pass_on(self, ours: int) -> int:
        """How many bytes; 0 where no more will come, or nobody takes them any more."""
        try:
            data = os.read(ours, READ_AT_ONCE_BYTES)
        except OSError:  # a terminal that nobody has open any more
            return 0
        self.output.add(data)
        try:
            write_all(self._shown_on[ours], data)
        except OSError:
            self.told_to_stop = True
            return 0  # the command's next write fails as it would without us
        return len(data)

    def close(self) -> None:
        for ours in self._shown_on:
            os.close(ours)

    @contextmanager
    def forward_signals(self) -> Iterator[None]:
        """Within the block, what is sent to us goes to the command."""
        # what we ignore (nohup, or a job in the background) the command ignores too
        handlers = {
            number: signal.signal(number, self._forward)
            for number in _TO_FORWARD
            if signal.getsignal(number) is not signal.SIG_IGN
        }
        handlers[signal.SIGWINCH] = signal.signal(signal.SIGWINCH, self._forward)
        try:
            yield
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler or signal.SIG_DFL)

    def _forward(self, number: int, _: object) -> None:
        if number == signal.SIGWINCH:
            self._resize()
        else:
            self.told_to_stop = True
        if self._process is None:
            self._came_early = number
        elif not _can_come_from_keys(
            number
        ):  # else the whole group gets it, and the command with it
            self._process.send_signal(number)


def _can_come_from_keys(number: int) -> bool:
    if number not in (signal.SIGINT, signal.SIGQUIT):
        return False
    try:
        with open("/dev/tty", "rb") as terminal:  # noqa: PTH123
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


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
