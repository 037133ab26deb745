"""Child processes that tell what was acknowledged to them; and a free port."""

from __future__ import annotations

import os
import secrets
import select
import signal
import socket
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

ID_BYTES = 36
Tell = Callable[[str], None]


@dataclass
class Child:
    """A forked process. `acknowledged` is what it has told so far."""

    pid: int
    _pipe: int
    acknowledged: list[str] = field(default_factory=list)
    _rest: bytes = b""

    @classmethod
    def start(cls, work: Callable[..., None], *given: Any) -> Child:
        """Runs `work` in a child; what it tells survives its death: a pipe is the kernel's."""
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                os.close(reading)
                work(*given, lambda record_id: _write_all(writing, record_id.encode()))
                code = 0
            except BaseException:  # noqa: BLE001  # the child's edge: its parent reads the exit code
                traceback.print_exc()
            finally:
                os._exit(code)
        os.close(writing)
        return cls(pid, reading)

    def listen(self, seconds: float = 0.0) -> None:
        """Takes in what was told; returns when nothing more is there, or after the time is up."""
        deadline = time.monotonic() + seconds
        while select.select([self._pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
            data = os.read(self._pipe, 65536)
            if not data:
                return
            self._rest += data
            whole = len(self._rest) // ID_BYTES * ID_BYTES
            told = self._rest[:whole].decode()
            self._rest = self._rest[whole:]
            self.acknowledged += [told[at : at + ID_BYTES] for at in range(0, whole, ID_BYTES)]
            if seconds and time.monotonic() > deadline:
                return

    def hear(self, seconds: float = 60.0) -> None:
        """Waits until it has told something: a busy machine starts it late."""
        deadline = time.monotonic() + seconds
        while not self.acknowledged and time.monotonic() < deadline:
            select.select([self._pipe], [], [], 0.1)
            self.listen()

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.listen()
        os.close(self._pipe)

    def wait(self) -> int:
        """Until it ends; its exit code."""
        while True:
            self.listen(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.listen()
                os.close(self._pipe)
                return os.waitstatus_to_exitcode(status)


def _write_all(pipe: int, data: bytes) -> None:
    while data:
        data = data[os.write(pipe, data) :]


def free_port() -> int:
    """Below those that the system hands to connections, and drawn: others look, too."""
    while True:
        port = secrets.randbelow(12_000) + 20_000
        with socket.socket() as asked, suppress(OSError):
            asked.bind(("127.0.0.1", port))
            return port
