"""A chat-completions endpoint on this machine that answers as a test tells it to, well or badly."""

from __future__ import annotations

import gzip
import json
import ssl
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

PATH = "/v1/chat/completions"


@dataclass(frozen=True)
class Asked:
    """One request as it came in."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes = field(repr=False)

    @property
    def body(self) -> Any:
        return json.loads(self.raw)

    @property
    def system(self) -> str:
        return str(self.body["messages"][0]["content"])

    @property
    def user(self) -> str:
        return str(self.body["messages"][1]["content"])


def completion(content: object, model: str = "fake") -> dict[str, Any]:
    """What a real endpoint sends around its answer."""
    message = {"role": "assistant", "content": content}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1_767_225_600}
    return {**head, "model": model, "choices": choices, "usage": usage}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 5  # seconds; a client that neither speaks nor goes must not hold up the tests
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.fake = self.server.fake

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.fake.asked.append(Asked(self.command, self.path, dict(self.headers), raw))
        self.close_connection = True
        with suppress(OSError):  # the client gave up, as many tests want it to
            self.fake.behaviour(self)

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name that http.server gave it
        pass

    def send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        # A connection ends with its answer, and the answer says so: a client that kept it would
        # lose the race between its next request and the end.
        ours = {"Content-Length": str(len(body)), "Connection": "close"}
        for name, value in (ours | dict(headers)).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status: int, why: str) -> None:
        self.send(status, json.dumps({"error": {"message": why}}).encode(), {})


class _Server(ThreadingHTTPServer):
    # so that closing waits for them, and no test runs into the one before it
    daemon_threads = False
    fake: FakeLlm

    def get_request(self) -> tuple[Any, Any]:
        self.fake.connections += 1
        return super().get_request()

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # a TLS handshake that the client broke off, for one


Behaviour = Callable[[_Handler], object]


class FakeLlm:
    """Use as a context manager; `url` is the base URL. It answers a well-formed question with
    "fine" until told otherwise.

    `asked` holds every request, `connections` counts those that came in, also without a request.
    With a `key`, a request without it gets 401. `certificate` is the path of a PEM file with
    certificate and key, and makes it speak TLS.
    """

    def __init__(self, *, key: str = "", certificate: str = "") -> None:
        self.asked: list[Asked] = []
        self.connections = 0
        self._key = key
        self._over = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.fake = self
        self.port: int = self._server.server_address[1]
        scheme = "http"
        if certificate:
            scheme = "https"
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            # The handshake happens in the thread of the request, with its first read.
            later: Any = {"server_side": True, "do_handshake_on_connect": False}
            self._server.socket = context.wrap_socket(self._server.socket, **later)
        self.url = f"{scheme}://127.0.0.1:{self.port}/v1"
        serve = partial(self._server.serve_forever, poll_interval=0.01)
        self._thread = threading.Thread(target=serve, daemon=True)
        self.reply("fine")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def reply(self, *contents: object) -> None:
        """As a real endpoint does; of several contents the last one for ever."""
        left = list(contents)

        def behave(handler: _Handler) -> None:
            if problem := self._problem():
                return handler.refuse(*problem)
            content = left.pop(0) if len(left) > 1 else left[0]
            body = json.dumps(completion(content, self.asked[-1].body["model"])).encode()
            return handler.send(200, body, {"Content-Type": "application/json"})

        self.behaviour: Behaviour = behave

    def _problem(self) -> tuple[int, str] | None:
        """What a real endpoint would have against the last request."""
        asked = self.asked[-1]
        if (asked.method, asked.path) != ("POST", PATH):
            return 404, "unknown address"
        if self._key and asked.headers.get("Authorization") != f"Bearer {self._key}":
            return 401, "invalid API key"
        if asked.headers.get("Content-Type") != "application/json":
            return 415, "send JSON"
        roles = [message["role"] for message in asked.body["messages"]]
        well = roles == ["system", "user"] and asked.body["model"]
        return None if well else (400, "wrong messages")

    def status(self, code: int, headers: Any = None, body: str | bytes = "") -> None:
        raw = body.encode() if isinstance(body, str) else body
        self.behaviour = lambda handler: handler.send(code, raw, headers or {})

    def redirect(self, url: str, code: int = 302) -> None:
        self.status(code, {"Location": url})

    def json(self, value: object) -> None:
        """Any JSON with status 200."""
        self.status(200, {"Content-Type": "application/json"}, json.dumps(value))

    def drip(
        self, every_s: float = 0.05, *, head: bytes = b"HTTP/1.1 200 OK\r\n\r\n", byte: bytes = b" "
    ) -> None:
        """A head, and then a byte now and again, for as long as anybody listens."""

        def behave(handler: _Handler) -> None:
            handler.wfile.write(head)
            while not self._over.wait(every_s):
                handler.wfile.write(byte)

        self.behaviour = behave

    def hang(self) -> None:
        """Nothing at all, until the test is over."""
        self.behaviour = lambda _handler: self._over.wait()

    def huge(self, size_bytes: int) -> None:
        self.status(200, {"Content-Type": "application/json"}, b'"' + b"x" * size_bytes + b'"')

    def gzip(self, *, say_so: bool = True) -> None:
        headers = {"Content-Encoding": "gzip"} if say_so else {}
        self.status(200, headers, gzip.compress(json.dumps(completion("fine")).encode()))

    def garbage(self) -> None:
        """Something that is no HTTP."""
        self.raw(b"\x00\xff\r\nnot the protocol you are looking for\r\n\r\n")

    def raw(self, answer: bytes) -> None:
        """These bytes, and then the end of the connection."""
        self.behaviour = lambda handler: handler.wfile.write(answer)
