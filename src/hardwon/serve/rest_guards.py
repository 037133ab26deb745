"""What every request passes before anything looks at what it asks for: whose name it calls us by, whose page sends it, whose
token it brings, how much it sends and how slowly. It holds for whatever is mounted behind it, and for every address."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar
from urllib.parse import unquote

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hardwon import limits
from hardwon.serve.gate import Gate
from hardwon.serve.rest_metrics import UNKNOWN, Metrics
from hardwon.serve.rest_problems import (
    ADDRESS_TOO_LONG,
    BUSY,
    FOREIGN_HOST,
    FOREIGN_ORIGIN,
    HEADERS_TOO_LARGE,
    NOT_FOUND,
    TOO_LARGE,
    TOO_SLOW,
    RefusedError,
    answer_to,
)
from hardwon.serve.rest_settings import Settings

LIVENESS: Final = "/healthz"
OPERATION: Final = "hardwon.operation"
"""Under this name a request's scope has the operation that it asks for, for metrics."""
BODY: Final = "hardwon.body"
THREADS: Final = "hardwon-serve"
"""What the names of the threads begin with in which the memory is asked."""

_LEFT_STATUS: Final = 499
"""Counted for a request whose caller left, or that was cut off, before it was answered."""
_LINGER_S: Final = 2.0
_BEARER: Final = re.compile(r"bearer +([!-~]+) *", re.IGNORECASE)
_HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
T = TypeVar("T")


class Workers:
    """The threads in which the memory is asked."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(limits.SERVE_THREADS, thread_name_prefix=THREADS)

    async def run(self, function: Callable[..., T], *given: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, partial(function, *given))

    def close(self) -> None:
        """Waits for nobody; what has not begun never does."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class Guard:
    """Stands before an application, which finds who asks in `scope["state"]["caller"]`. `mounted`: paths below which others
    answer, who get a body only once it is whole. `signed_in`: paths below which sessions say who asks, not tokens."""

    def __init__(
        self,
        app: ASGIApp,
        gate: Gate,
        settings: Settings,
        workers: Workers,
        metrics: Metrics,
        mounted: tuple[str, ...] = (),
        signed_in: tuple[str, ...] = (),
    ) -> None:
        self._app = app
        self._gate = gate
        self._settings = settings
        self._workers = workers
        self._metrics = metrics
        self._mounted = mounted
        self._signed_in = signed_in
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)
        else:  # web sockets: nothing here speaks with them
            await send({"type": "websocket.close", "code": 1008})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        body = Body(scope, receive)
        sending = _Sending(send, body)
        self._metrics.begun()
        self._under_way += 1
        try:
            await self._pass(scope, body, sending)
        except (ClientDisconnect, _StalledError):
            pass  # there is nobody to answer
        except Exception as error:  # noqa: BLE001  # the edge: whatever goes wrong has an answer, and ends no server
            with suppress(_StalledError):
                await sending.instead(answer_to(error), scope)
        finally:
            self._under_way -= 1
            self._metrics.ended(scope.get(OPERATION, UNKNOWN), sending.status, time.perf_counter() - began)

    async def _pass(self, scope: Scope, body: Body, sending: _Sending) -> None:
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > limits.ADDRESS_BYTES_MAX:
            raise RefusedError(ADDRESS_TOO_LONG, f"an address has at most {limits.ADDRESS_BYTES_MAX} bytes with its query")
        if sum(len(name) + len(value) for name, value in scope["headers"]) > limits.HEADERS_BYTES_MAX:
            raise RefusedError(HEADERS_TOO_LARGE, f"headers have at most {limits.HEADERS_BYTES_MAX} bytes together")
        self._check_host_and_origin(scope)
        if scope["path"] != LIVENESS:
            if self._under_way > limits.REQUESTS_AT_ONCE_MAX:
                raise RefusedError(BUSY, "too much is under way: try again", {"Retry-After": str(limits.RETRY_AFTER_S)})
            if not _is_below(scope, self._signed_in):
                caller = await self._workers.run(self._gate.admit, _secret(scope))
                scope.setdefault("state", {})["caller"] = caller
        scope[BODY] = body
        if _is_below(scope, self._mounted):
            await self._app(scope, await body.whole(), sending)
        else:
            scope["path"] = _routed(scope)
            await self._app(scope, body, sending)

    def _check_host_and_origin(self, scope: Scope) -> None:
        hosts, origins = _values(scope, b"host"), _values(scope, b"origin")
        if len(hosts) != 1 or not self._settings.knows_host(hosts[0]):
            raise RefusedError(FOREIGN_HOST, "call the server by its own name, or start it with --allow-host")
        if origins and not (len(origins) == 1 and self._settings.knows_origin(origins[0], hosts[0])):
            raise RefusedError(FOREIGN_ORIGIN, "pages of this origin may not ask; --allow-origin lets one in")


class Body:
    """A request's body, as it comes: no more of it than is allowed, and no slower."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        declared = _values(scope, b"content-length")
        self._declared = int(declared[0]) if declared and declared[0].isascii() and declared[0].isdigit() else 0
        self._receive = receive
        self._bytes = 0
        self._bytes_max = limits.BODY_BYTES_MAX
        self._began: float | None = None
        self.is_over = not self._declared and not _values(scope, b"transfer-encoding")

    def allow(self, bytes_max: int) -> None:
        """For a body that goes to disk."""
        self._bytes_max = bytes_max

    async def __call__(self) -> Message:
        if self.is_over and self._began is not None:
            return await self._receive()  # nothing comes but that the caller leaves
        if max(self._declared, self._bytes) > self._bytes_max:
            raise self._too_large()
        self._began = self._began or time.monotonic()
        allowed_s = limits.BODY_S + self._bytes / limits.BODY_BYTES_PER_S_MIN
        left_s = self._began + allowed_s - time.monotonic()
        try:
            async with asyncio.timeout(min(limits.BODY_WAIT_S, max(left_s, 0.0))):
                message = await self._receive()
        except TimeoutError:
            raise RefusedError(TOO_SLOW, f"{self._bytes} bytes of the body came, and then too little") from None
        self._bytes += len(message.get("body", b""))
        self.is_over = not message.get("more_body", False)
        if self._bytes > self._bytes_max:
            raise self._too_large()
        return message

    async def whole(self) -> Receive:
        """Once all of it is here: gives it to whoever asks, as one piece."""
        pieces = [b""]
        while True:
            message = await self()
            pieces.append(message.get("body", b""))
            if self.is_over:
                break
        first: list[Message] = [{"type": "http.request", "body": b"".join(pieces), "more_body": False}]

        async def receive() -> Message:
            return first.pop() if first else await self._receive()

        return receive

    async def linger(self) -> None:
        """Takes in, for a moment, what a caller still sends: one that is cut off in the middle never reads its answer."""
        try:
            async with asyncio.timeout(_LINGER_S):
                while not self.is_over and self._bytes < 2 * limits.IMPORT_BYTES_MAX:
                    message = await self._receive()
                    self._bytes += len(message.get("body", b""))
                    self.is_over = not message.get("more_body", False)
        except TimeoutError:
            pass

    def _too_large(self) -> RefusedError:
        return RefusedError(TOO_LARGE, f"a body has at most {self._bytes_max} bytes here")


class _StalledError(Exception):
    """Whoever asked takes nothing of the answer: it is cut off."""


class _Sending:
    """An answer on its way: with our headers, and to somebody who takes it."""

    def __init__(self, send: Send, body: Body) -> None:
        self._send = send
        self._body = body
        self.status = _LEFT_STATUS
        self._begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._begun, self.status = True, message["status"]
            present = {name.lower() for name, _ in message.get("headers", ())}
            ours = [(name, value) for name, value in _HEADERS if name not in present]
            close = [] if self._body.is_over else [(b"connection", b"close")]
            message = {**message, "headers": [*message.get("headers", ()), *ours, *close]}
        try:
            async with asyncio.timeout(limits.SEND_WAIT_S):
                await self._send(message)
        except TimeoutError:
            raise _StalledError from None

    async def instead(self, answer: Any, scope: Scope) -> None:
        """An answer in place of the one that failed. One that has begun can only be cut off: its reader notices that."""
        if self._begun:
            return
        headers = [*answer.raw_headers]
        await self({"type": "http.response.start", "status": answer.status_code, "headers": headers})
        content = b"" if scope["method"] == "HEAD" else answer.body
        await self({"type": "http.response.body", "body": content, "more_body": True})
        await self._body.linger()
        await self({"type": "http.response.body", "body": b""})


def _is_below(scope: Scope, paths: tuple[str, ...]) -> bool:
    return any(scope["path"] == path or (path != "/" and scope["path"].startswith(path + "/")) for path in paths)


def _secret(scope: Scope) -> str | None:
    """What a caller sent as a token; a header that is no such thing is a token that nobody has."""
    given = _values(scope, b"authorization")
    if not given:
        return None
    match = _BEARER.fullmatch(given[0])
    return match[1] if match and len(given) == 1 else ""


def _values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def _routed(scope: Scope) -> str:
    """The path by which a route is found: a slash inside a name, and the sign that escapes it, stay escaped until then."""
    raw: bytes = scope.get("raw_path") or b""
    if b"%" not in raw:
        return str(scope["path"])
    kept = re.sub(r"%(25|2[fF])", r"%25\1", raw.decode("latin-1"))
    try:
        return unquote(kept, errors="strict")
    except UnicodeDecodeError:
        raise RefusedError(NOT_FOUND, "an address is in UTF-8") from None
