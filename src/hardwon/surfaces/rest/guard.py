"""What every request passes before anything looks at what it asks for: whose name it calls us by,
whose page sends it, whose token it brings, how much it sends. It holds for whatever is mounted
behind it, and for every address. Many slow strangers are kept off by a reverse proxy
(docs/serve.md).
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar, cast
from urllib.parse import unquote

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hardwon import limits
from hardwon.surfaces.gate import Gate
from hardwon.surfaces.rest.metrics import Metrics
from hardwon.surfaces.rest.options import ServerOptions
from hardwon.surfaces.rest.problems import RefusedError, answer_to

# Requests that are carried out at a time; the others wait their turn. SQLite takes one writer, and
# readers are quick.
SERVE_THREADS: Final = 16

# How long a body may make no progress. A connection that is slower than that is gone.
BODY_WAIT_S: Final = 10.0

# How long whoever reads an answer may take nothing of it.
SEND_WAIT_S: Final = 30.0

# One form. The longest has a task or an error in it, or the ids of a page of records.
WEB_FORM_BYTES_MAX: Final = 256 * limits.KIB

LIVENESS: Final = "/healthz"
MCP: Final = "/mcp"  # what answers below it gets a body only once it is whole
WEB: Final = "/ui"  # below it, and at the root, sessions say who asks, not tokens
# Under these names a request's scope has the operation that it asks for, for metrics, and its body.
OPERATION: Final = "hardwon.operation"
BODY: Final = "hardwon.body"
# What the names of the threads begin with in which the memory is asked.
THREADS: Final = "hardwon-serve"
# Counted for a request whose caller left, or that was cut off, before it was answered.
_LEFT_STATUS: Final = 499
# For so long what a caller still sends is taken in before it is refused: one that is cut off in the
# middle never reads its answer.
_DRAIN_S: Final = 2.0
_HEADERS: Final = {
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}
T = TypeVar("T")


class Service:
    """What the parts of one server share: the gate, what was decided when it was started, what is
    counted, and the threads in which the memory is asked.
    """

    def __init__(self, gate: Gate, settings: ServerOptions) -> None:
        self.gate = gate
        self.settings = settings
        self.metrics = Metrics()
        self._threads = ThreadPoolExecutor(SERVE_THREADS, thread_name_prefix=THREADS)

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """What the function gives, which runs in one of the threads."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, partial(function, *arguments))

    def close(self) -> None:
        """Waits for nobody; what has not begun never does."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.gate.close()


class Guard:
    """Stands before an application, which learns who asks from `scope["state"]`."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, metrics = time.perf_counter(), self._service.metrics
        body = Body(scope, receive)
        status = _LEFT_STATUS

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message.setdefault("headers", [])
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if not body.is_over:
                    headers["connection"] = "close"
            try:
                async with asyncio.timeout(SEND_WAIT_S):
                    await send(message)
            except TimeoutError:  # whoever asked takes nothing of the answer: it is cut off
                raise ClientDisconnect from None

        metrics.in_flight.inc()
        try:
            await self._check(scope, body, send_on)
        except ClientDisconnect:
            pass  # there is nobody to answer
        except Exception as error:  # noqa: BLE001  # the edge: whatever goes wrong has an answer, and ends no server
            # an answer that has begun can only be cut off: its reader notices that
            if status == _LEFT_STATUS:
                await body.drain()
                await answer_to(error)(scope, receive, send_on)
        finally:
            metrics.in_flight.dec()
            # unknown: refused before anybody looked what it asks for, or it asks for nothing we have
            metrics.count(scope.get(OPERATION, "unknown"), status, time.perf_counter() - began)

    async def _check(self, scope: Scope, body: Body, send: Send) -> None:
        settings, headers = self._service.settings, Headers(scope=scope)
        if "content-length" in headers and "transfer-encoding" in headers:
            # a proxy before us may have read another end of it
            raise RefusedError(
                "invalid-input", "a body has one length: a size, or chunks", Connection="close"
            )
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not settings.knows_host(hosts[0]):
            raise RefusedError(
                "foreign-host", "call the server by its own name, or start it with --allow-host"
            )
        if origins and not (len(origins) == 1 and settings.knows_origin(origins[0], hosts[0])):
            raise RefusedError(
                "foreign-origin", "pages of this origin may not ask; --allow-origin lets one in"
            )
        path, receive = scope["path"], cast("Receive", body)
        scope[BODY] = body
        if path == "/" or f"{path}/".startswith(f"{WEB}/"):
            # of somebody who may not be signed in: a form, which takes up no room while it comes
            body.bytes_max = WEB_FORM_BYTES_MAX
            receive = await body.read()
        elif path != LIVENESS:
            secret = _read_token(headers)
            caller = await self._service.run(self._service.gate.admit, secret)
            scope.setdefault("state", {})["caller"] = caller
        if f"{path}/".startswith(f"{MCP}/"):
            scope[OPERATION] = "mcp"
            scope["path"] = f"{MCP}/" if path == MCP else path
            receive = await body.read()
        else:
            scope["path"] = _decode_path(scope)
        await self._app(scope, receive, send)


def _read_token(headers: Headers) -> str | None:
    """The token that came with a request; None where none did."""
    sent = headers.getlist("authorization")
    if not sent:
        return None
    match = re.fullmatch(r"bearer +([!-~]+) *", ",".join(sent), flags=re.IGNORECASE)
    # a header that is no such thing is a token that nobody has
    return match[1] if match and len(sent) == 1 else ""


class Body:
    """A request's body, as it comes: no more of it than `bytes_max`, and never nothing for long."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        headers = Headers(scope=scope)
        size = headers.get("content-length", "")
        self._size = int(size) if size.isascii() and size.isdigit() else 0
        self._receive = receive
        self._bytes = 0
        self.bytes_max = limits.BODY_BYTES_MAX
        self.is_over = not self._size and "transfer-encoding" not in headers

    async def __call__(self) -> Message:
        if self.is_over:
            return await self._receive()
        self._check_size(self._size)
        try:
            async with asyncio.timeout(BODY_WAIT_S):
                message = await self._receive_piece()
        except TimeoutError:
            raise RefusedError(
                "too-slow", f"{self._bytes} bytes of the body came, and then nothing"
            ) from None
        self._check_size(self._bytes)
        return message

    async def _receive_piece(self) -> Message:
        message = await self._receive()
        self._bytes += len(message.get("body", b""))
        self.is_over = not message.get("more_body", False)
        return message

    def _check_size(self, size_bytes: int) -> None:
        if size_bytes > self.bytes_max:
            raise RefusedError("too-large", f"a body has at most {self.bytes_max} bytes here")

    async def read(self) -> Receive:
        """Once all of it is here: gives it to whoever asks, as one piece."""
        pieces = [(await self()).get("body", b"")]
        while not self.is_over:
            pieces.append((await self()).get("body", b""))
        first: list[Message] = [{"type": "http.request", "body": b"".join(pieces)}]

        async def receive() -> Message:
            """The whole body at first, then whatever comes."""
            return first.pop() if first else await self._receive()

        return receive

    async def drain(self) -> None:
        """Takes in, for a moment, what a caller still sends."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_S):
                while not self.is_over:
                    await self._receive_piece()


def _decode_path(scope: Scope) -> str:
    """The path by which a route is found: a slash inside a name, and the sign that escapes it, stay
    escaped until then.
    """
    raw: bytes = scope.get("raw_path") or b""
    if b"%" not in raw:
        return str(scope["path"])
    kept = re.sub(r"%(25|2[fF])", r"%25\1", raw.decode("latin-1"))
    try:
        return unquote(kept, errors="strict")
    except UnicodeDecodeError:
        raise RefusedError("not-found", "an address is in UTF-8") from None
