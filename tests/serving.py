"""A server under test: in this process with real sockets, or as a process of its own."""

from __future__ import annotations

import html
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette

from hardwon import Memory
from hardwon.surfaces.gate import Gate
from hardwon.surfaces.rest import server as rest_server
from hardwon.surfaces.rest.app import build_app
from hardwon.surfaces.rest.options import ServerOptions
from hardwon.trust.access import Caller, Scope

PROJECT = "default"
_PATIENCE_S = 120.0


@dataclass
class Served:
    """A running server, and the memory that it serves."""

    url: str
    app: Starlette
    memory: Memory
    verify: Any = True
    _clients: list[httpx.Client] = field(default_factory=list)

    def token(
        self, scope: Scope = "admin", projects: Sequence[str] | None = None, name: str = "tester"
    ) -> str:
        return self.memory.tokens.create(name, scope, projects).secret

    def client(
        self, scope: Scope | None = "admin", projects: Sequence[str] | None = None, **headers: str
    ) -> httpx.Client:
        """Of somebody with a token; with None, of nobody."""
        if scope is not None:
            headers = {"Authorization": f"Bearer {self.token(scope, projects)}", **headers}
        made = httpx.Client(base_url=self.url, headers=headers, timeout=60, verify=self.verify)
        self._clients.append(made)
        return made

    def at(self, path: str, project: str = PROJECT) -> str:
        return f"/api/v1/projects/{project}{path}"


@contextmanager
def served(
    folder: Path,
    *,
    open_to: Caller | None = None,
    requests_per_s: float = 100_000.0,
    certificate: tuple[Path, Path] | None = None,
    verify: Any = True,
    **settings: Any,
) -> Iterator[Served]:
    listening = rest_server.bind("127.0.0.1", 0)
    ready = threading.Event()
    with Memory(folder / "brain", PROJECT, checkout=False) as memory:
        place = memory.location
        where = ("127.0.0.1", listening.getsockname()[1], PROJECT, Path(place).parent)
        chosen = ServerOptions(*where, certificate is not None, **settings)
        limited: Any = {"open_to": open_to, "requests_per_s": requests_per_s}
        gate = Gate(lambda name: Memory(place, name, checkout=False), memory.tokens, **limited)
        app = build_app(gate, chosen)
        server = rest_server.Server(app, ready.set, *(certificate or ()))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        assert ready.wait(_PATIENCE_S)
        running = Served(chosen.url, app, memory, verify)
        try:
            yield running
        finally:
            for client in running._clients:
                client.close()
            server.should_exit = True
            thread.join(_PATIENCE_S)
            listening.close()
            assert not thread.is_alive()


class Browser:
    """As far as cookies, redirects and forms go."""

    def __init__(self, running: Served) -> None:
        self.http = running.client(None)
        self.http.follow_redirects = True
        self.origin, self.memory = running.url, running.memory

    def get(self, page: str, status: int = 200, **query: Any) -> str:
        answer = self.http.get(f"/ui/{PROJECT}/{page}", params=query or None)
        assert answer.status_code == status, answer.text
        return answer.text

    def post(self, address: str, **fields: str) -> httpx.Response:
        return self.http.post(address, data=fields, headers={"Origin": self.origin})

    def sign_in(self, secret: str, next_: str = "") -> httpx.Response:
        return self.post("/ui/sign-in", token=secret, next=next_)

    def csrf(self) -> str:
        match = re.search(r'name="csrf" value="([^"]+)"', self.get("overview"))
        assert match
        return match[1]


def signed_in(
    running: Served, scope: Scope = "admin", projects: Sequence[str] | None = None
) -> Browser:
    browser = Browser(running)
    assert browser.sign_in(running.token(scope, projects)).status_code == 200
    return browser


def text_of(page: str) -> str:
    """What is read on a page, without its figures."""
    bare = re.sub(r"<script.*?</script>", " ", page, flags=re.DOTALL)
    return html.unescape(" ".join(re.sub(r"<[^>]*>", " ", bare).split()))


class Process:
    """`hardwon serve` itself."""

    def __init__(self, memory: Path | str, *options: str) -> None:
        command = [sys.executable, "-m", "hardwon.surfaces.cli.main", "--memory", str(memory)]
        command += ["--project", PROJECT, "serve", "--port", "0", "--json", *options]
        env, pipe = {**os.environ, "PYTHONWARNINGS": "error"}, subprocess.PIPE
        self._running = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=env)
        assert self._running.stdout is not None
        line = self._running.stdout.readline()
        if not line:
            raise AssertionError(self.end(0)[1])
        self.url: str = json.loads(line)["url"]

    def send(self, number: int) -> None:
        self._running.send_signal(number)

    @property
    def ended(self) -> bool:
        return self._running.poll() is not None

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Its exit code, and what it said on standard error."""
        if number and not self.ended:
            self._running.send_signal(number)
        try:
            _, said = self._running.communicate(timeout=_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._running.kill()
            self._running.communicate()
            raise
        return self._running.returncode, said


def wait_until(true: Any) -> None:
    ends = time.monotonic() + _PATIENCE_S
    while not true():
        assert time.monotonic() < ends, "it never became true"
        time.sleep(0.02)
