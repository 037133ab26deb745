"""What every request passes before anything looks at what it asks for: whose name it calls us by,
whose page sends it, whose token it brings, how much it sends. It holds for whatever is mounted
behind it, and for every address. Many slow strangers are kept off by a reverse proxy
(docs/serve.md).

Beside it: what whoever starts a server decides (where it listens, and which names and pages it
answers); what went wrong, as RFC 9457 has it (`application/problem+json`; docs/serve.md lists the
types); and what a server did, for Prometheus (no label takes a value that a caller makes up).
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import math
import re
import reprlib
import socket
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar, cast
from urllib.parse import parse_qsl, unquote

import prometheus_client
from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hardwon import limits
from hardwon.errors import (
    VALUE_CHARS_SHOWN,
    BusyError,
    ClosedError,
    ConflictError,
    EmbeddingError,
    FileOnlyError,
    ForbiddenError,
    FullError,
    HardwonError,
    InvalidInputError,
    LlmError,
    NotAdmittedError,
    Problem,
    TooManyRequestsError,
    UnknownOutcomeError,
    UnknownRecordError,
    UnreachableError,
)
from hardwon.first_use import lazy
from hardwon.surfaces.gate import Gate
from hardwon.surfaces.operations import Nothing
from hardwon.trust.access import Caller
from hardwon.trust.redact import redact, redact_json

# --- what whoever starts a server decides ---

_HOST: Final = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:(?P<port>[0-9]{1,5}))?")
_ORIGIN: Final = re.compile(r"https?://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?")
_LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class ServerOptions:
    """`port` is the real one. `spool`: a folder for bodies and answers on their way, as private as
    the memory.
    """

    host: str
    port: int
    default_project: str
    spool: Path
    tls: bool = False
    allow_hosts: tuple[str, ...] = ()
    allow_origins: tuple[str, ...] = ()
    btb: bool = False
    every_tool: bool = False

    def __post_init__(self) -> None:
        for field, names, form, allowed in (
            ("host", self.allow_hosts, _HOST, "a name or an address, with or without a port"),
            (
                "origin",
                self.allow_origins,
                _ORIGIN,
                "an origin such as https://tools.example.org",
            ),
        ):
            for name in names:
                if not form.fullmatch(name.lower()):
                    raise InvalidInputError.one(f"allow_{field}", name, allowed)

    @property
    def scheme(self) -> str:
        return "https" if self.tls else "http"

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self._own_name}:{self.port}"

    def knows_host(self, header: str) -> bool:
        """Whether a request that names this host means us. A name that was allowed without a port
        holds for any.
        """
        given = _HOST.fullmatch(header.lower())
        if given is None:
            return False
        name, port = given["name"], given["port"]
        if not {name, f"{name}:{port}"}.isdisjoint(host.lower() for host in self.allow_hosts):
            return True
        return int(port or (443 if self.tls else 80)) == self.port and name in self._own_names

    def knows_origin(self, origin: str, host: str) -> bool:
        """Whether a page of this origin may ask: one of our own, or one that was allowed."""
        known = [f"{self.scheme}://{host}", *self.allow_origins]
        return origin.lower() in {each.lower() for each in known}

    @property
    def _own_name(self) -> str:
        return f"[{self.host.lower()}]" if ":" in self.host else self.host.lower()

    @lazy
    def _own_names(self) -> tuple[str, ...]:
        if is_loopback(self.host):
            return (self._own_name, *_LOOPBACK_NAMES)
        # of every address, only those of this machine are known to be ours
        everywhere = self.host in ("0.0.0.0", "::")  # noqa: S104  # nosec B104
        return _LOOPBACK_NAMES if everywhere else (self._own_name,)


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine reaches it."""
    try:
        found = {str(each[4][0]).partition("%")[0] for each in socket.getaddrinfo(host, None)}
    except OSError:
        return False
    return bool(found) and all(ipaddress.ip_address(address).is_loopback for address in found)


# --- what went wrong ---

MEDIA_TYPE: Final = "application/problem+json"
_log: Final = logging.getLogger("hardwon.surfaces")
# Looked through for secrets before a value is cut: one that is cut in half is not known any more.
_REDACTED_CHARS: Final = 10 * VALUE_CHARS_SHOWN


# Each type of problem, by its name: the status of the answer, and its title.
PROBLEMS: Final[Mapping[str, tuple[int, str]]] = {
    "not-admitted": (401, "No valid token was sent"),
    "forbidden": (403, "The token does not reach that far"),
    "foreign-origin": (403, "Pages of other sites may not ask"),
    "not-found": (404, "There is nothing of that name"),
    "wrong-method": (405, "That is not done there"),
    "too-slow": (408, "The body did not arrive in time"),
    "conflict": (409, "Something else is there already"),
    "too-large": (413, "The body is too large"),
    "wrong-media-type": (415, "The body is of another type than what is read here"),
    "foreign-host": (421, "The server does not go by that name"),
    "invalid-input": (422, "The input breaks a rule"),
    "too-many-requests": (429, "The caller asks too often"),
    "internal": (500, "The server failed"),
    "outside-failed": (502, "A model that the server asks gave no answer that can be used"),
    "busy": (503, "The server is busy"),
    "full": (507, "There is no room"),
}
_NAMES: Final[Mapping[type[HardwonError], str]] = {
    InvalidInputError: "invalid-input",
    FileOnlyError: "invalid-input",
    UnknownRecordError: "not-found",
    ConflictError: "conflict",
    NotAdmittedError: "not-admitted",
    ForbiddenError: "forbidden",
    TooManyRequestsError: "too-many-requests",
    BusyError: "busy",
    ClosedError: "busy",
    UnreachableError: "busy",
    UnknownOutcomeError: "busy",  # under its idempotency key it may be sent again
    FullError: "full",
    LlmError: "outside-failed",
    EmbeddingError: "outside-failed",
}
_HEADERS_WITH: Final[Mapping[str, Mapping[str, str]]] = {
    "not-admitted": {"WWW-Authenticate": "Bearer"},
    "busy": {"Retry-After": str(limits.RETRY_AFTER_S)},
}


class RefusedError(Exception):
    """A request that gets no further; `name` is that of a type of problem."""

    def __init__(self, name: str, detail: str, **headers: str) -> None:
        super().__init__(detail)
        self.name, self.detail, self.headers = name, detail, headers


def answer_to(error: Exception) -> Response:
    """What is answered where something was raised. What only the server's owner should know goes to
    the log.
    """
    name = next((name for known, name in _NAMES.items() if isinstance(error, known)), "internal")
    errors: list[dict[str, Any]] = []
    headers: Mapping[str, str] = _HEADERS_WITH.get(name, {})
    if isinstance(error, RefusedError):
        name, detail = error.name, error.detail
        headers = {**_HEADERS_WITH.get(name, {}), **error.headers}
    elif isinstance(error, InvalidInputError):
        errors = [_show(each) for each in error.problems[: limits.SCREEN_ITEMS]]
        detail = "; ".join(
            f"{each['field']}: {each['value']!r} is not allowed; allowed: {each['allowed']}"
            for each in errors
        )
        detail = f"{error.where}: {detail}" if error.where else detail
    elif name in ("internal", "full") or isinstance(error, UnreachableError | UnknownOutcomeError):
        trace = "".join(traceback.format_exception(error))
        known = isinstance(error, HardwonError)
        _log.error("%s", redact(f"{type(error).__name__}: {error}" if known else trace)[0])
        detail = "what happened is in the server's log"
    else:
        detail = redact(str(error))[0]
    if isinstance(error, TooManyRequestsError):
        headers = {"Retry-After": str(max(1, math.ceil(error.wait_s)))}
    problem = {**problem_of(name, detail), **({"errors": errors} if errors else {})}
    return Response(json.dumps(problem), problem["status"], headers, MEDIA_TYPE)


def problem_of(name: str, detail: str) -> dict[str, Any]:
    status, title = PROBLEMS[name]
    return {
        "type": f"urn:hardwon:problem:{name}",
        "title": title,
        "status": status,
        "detail": detail,
    }


def _show(problem: Problem) -> dict[str, Any]:
    """Short, and without a secret, also one that only its name gives away."""
    value = problem.value
    is_small = isinstance(value, int | float) and abs(value) <= limits.JSON_INT_ABS_MAX
    if value is not None and not is_small:
        text = value if isinstance(value, str) else _bounded.repr(value)
        name = problem.field.rpartition(".")[2]
        value = _cut(str(redact_json(text[:_REDACTED_CHARS], name)[0]))
    return {
        "field": redact(_cut(problem.field))[0],
        "value": value,
        "allowed": redact(problem.allowed)[0],
    }


def _cut(text: str) -> str:
    return text if len(text) <= VALUE_CHARS_SHOWN else text[:VALUE_CHARS_SHOWN] + "…"


_bounded: Final = reprlib.Repr()
_bounded.maxstring = _bounded.maxother = _bounded.maxlong = _REDACTED_CHARS
_bounded.maxlevel = 3


def pairs_of(encoded: bytes, fields_max: int, where: str) -> list[tuple[str, str]]:
    """What a query or a form says, in order."""
    try:
        return parse_qsl(
            encoded.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=fields_max,
        )
    except ValueError:
        raise InvalidInputError.one(
            where, f"{len(encoded)} bytes", f"at most {fields_max} fields, in UTF-8"
        ) from None


# --- what a server did ---

METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counts for one server."""

    def __init__(self, gate: Gate) -> None:
        self._registry = CollectorRegistry()
        self._requests = prometheus_client.Counter(
            "hardwon_requests",
            "Requests that were answered.",
            ["operation", "status"],
            registry=self._registry,
        )
        self._seconds = Histogram(
            "hardwon_request_seconds",
            "How long they took.",
            ["operation"],
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60),
            registry=self._registry,
        )
        self.in_flight = 0
        Gauge(
            "hardwon_requests_in_flight", "Requests under way.", registry=self._registry
        ).set_function(lambda: self.in_flight)
        self._gate = gate
        self._lock = threading.Lock()
        # Of each open project: when it was counted, its records, and the bytes of the file.
        self._sizes: dict[str, tuple[float, int, int]] = {}

    def count(self, operation: str, status: int, seconds: float) -> None:
        self._requests.labels(operation, str(status)).inc()
        self._seconds.labels(operation).observe(seconds)

    def text_for(self, caller: Caller) -> bytes:
        """All of it; of open projects, those that the caller reaches, which are counted now and
        then.
        """
        registry = CollectorRegistry()
        records = Gauge(
            "hardwon_records", "Records of an open project.", ["project"], registry=registry
        )
        size = Gauge(
            "hardwon_memory_bytes", "The memory's file, whatever its projects.", registry=registry
        )
        with self._lock:
            open_now = self._gate.open_projects()
            self._sizes = {name: known for name, known in self._sizes.items() if name in open_now}
            reached = [
                name for name in open_now if caller.projects is None or name in caller.projects
            ]
            for name in reached:
                counted_at, *_ = self._sizes.get(name, (-math.inf, 0, 0))
                if time.monotonic() - counted_at > limits.METRICS_COUNTED_S:
                    stats = self._gate.perform(caller, "stats", name, Nothing())
                    self._sizes[name] = (time.monotonic(), stats.records, stats.size_bytes)
                records.labels(name).set(self._sizes[name][1])
            size.set(max((self._sizes[name][2] for name in reached), default=0))
        return generate_latest(self._registry) + generate_latest(registry)


# --- what every request passes ---

LIVENESS: Final = "/healthz"
MCP: Final = "/mcp"  # what answers below it gets a body only once it is whole
WEB: Final = "/ui"  # below it, and at the root, sessions say who asks, not tokens
# Under these names a request's scope has the operation that it asks for, for metrics, and its body.
OPERATION: Final = "hardwon.operation"
BODY: Final = "hardwon.body"
# And under these, its state has who asks: with a token, or (beside the session) signed in.
CALLER: Final = "caller"
VISIT: Final = "visit"
# What the names of the threads begin with in which the memory is asked.
THREADS: Final = "hardwon-serve"
# Counted for a request whose caller left, or that was cut off, before it was answered.
_LEFT_STATUS: Final = 499
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
        self.metrics = Metrics(gate)
        self._threads = ThreadPoolExecutor(limits.SERVE_THREADS, thread_name_prefix=THREADS)

    async def run(self, function: Callable[..., T], *given: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(
            self._threads, partial(function, *given)
        )

    def close(self) -> None:
        """Waits for nobody; what has not begun never does."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.gate.close()


class Guard:
    """Stands before an application, which finds who asks in `scope["state"]`."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, metrics = time.perf_counter(), self._service.metrics
        body = Body(scope, receive)
        sending = _Sending(send, body)
        metrics.in_flight += 1
        try:
            await self._pass(scope, body, sending)
        except (ClientDisconnect, _StalledError):
            pass  # there is nobody to answer
        except Exception as error:  # noqa: BLE001  # the edge: whatever goes wrong has an answer, and ends no server
            # an answer that has begun can only be cut off: its reader notices that
            if sending.status == _LEFT_STATUS:
                await body.drain()
                with suppress(_StalledError):
                    await answer_to(error)(scope, receive, sending)
        finally:
            metrics.in_flight -= 1
            # unknown: refused before anybody looked what it asks for, or it asks for nothing we have
            metrics.count(
                scope.get(OPERATION, "unknown"), sending.status, time.perf_counter() - began
            )

    async def _pass(self, scope: Scope, body: Body, sending: _Sending) -> None:
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
        if path == LIVENESS:
            await self._app(scope, body, sending)
            return
        if path == "/" or f"{path}/".startswith(f"{WEB}/"):
            # of somebody who may not be signed in: a form, which takes up no room while it comes
            body.bytes_max = limits.WEB_FORM_BYTES_MAX
            receive = await body.whole()
        else:
            given = headers.getlist("authorization")
            alone = given[0] if len(given) == 1 else ""
            match = re.fullmatch(r"bearer +([!-~]+) *", alone, flags=re.IGNORECASE)
            # a header that is no such thing is a token that nobody has
            scope.setdefault("state", {})[CALLER] = await self._service.run(
                self._service.gate.admit, match[1] if match else "" if given else None
            )
        if self._under_way >= limits.REQUESTS_AT_ONCE_MAX:
            raise RefusedError("busy", "too much is under way: try again")
        self._under_way += 1
        try:
            if f"{path}/".startswith(f"{MCP}/"):
                scope[OPERATION] = "mcp"
                scope["path"] = f"{MCP}/" if path == MCP else path
                receive = await body.whole()
            else:
                scope["path"] = _route_path(scope)
            await self._app(scope, receive, sending)
        finally:
            self._under_way -= 1


class Body:
    """A request's body, as it comes: no more of it than `bytes_max`, and never nothing for long."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        headers = Headers(scope=scope)
        declared = headers.get("content-length", "")
        self._declared = int(declared) if declared.isascii() and declared.isdigit() else 0
        self._receive = receive
        self._bytes = 0
        self.bytes_max = limits.BODY_BYTES_MAX
        self.is_over = not self._declared and "transfer-encoding" not in headers

    async def __call__(self) -> Message:
        if self.is_over:
            return await self._receive()
        self._check_size(self._declared)
        try:
            message = await self._next(limits.BODY_WAIT_S)
        except TimeoutError:
            raise RefusedError(
                "too-slow", f"{self._bytes} bytes of the body came, and then nothing"
            ) from None
        self._check_size(self._bytes)
        return message

    async def _next(self, wait_s: float) -> Message:
        async with asyncio.timeout(wait_s):
            message = await self._receive()
        self._bytes += len(message.get("body", b""))
        self.is_over = not message.get("more_body", False)
        return message

    def _check_size(self, size_bytes: int) -> None:
        if size_bytes > self.bytes_max:
            raise RefusedError("too-large", f"a body has at most {self.bytes_max} bytes here")

    async def whole(self) -> Receive:
        """Once all of it is here: gives it to whoever asks, as one piece."""
        pieces = [(await self()).get("body", b"")]
        while not self.is_over:
            pieces.append((await self()).get("body", b""))
        first: list[Message] = [{"type": "http.request", "body": b"".join(pieces)}]

        async def receive() -> Message:
            return first.pop() if first else await self._receive()

        return receive

    async def drain(self) -> None:
        """Takes in, for a moment, what a caller still sends: one that is cut off in the middle
        never reads its answer.
        """
        ends = time.monotonic() + _DRAIN_S
        with suppress(TimeoutError):
            while not self.is_over:
                await self._next(ends - time.monotonic())


class _StalledError(Exception):
    """Whoever asked takes nothing of the answer: it is cut off."""


class _Sending:
    """An answer on its way: with our headers, and to somebody who takes it."""

    def __init__(self, send: Send, body: Body) -> None:
        self._send = send
        self._body = body
        self.status = _LEFT_STATUS

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(raw=list(message.get("headers", ())))
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            if not self._body.is_over:
                headers["connection"] = "close"
            message = {**message, "headers": headers.raw}
        try:
            async with asyncio.timeout(limits.SEND_WAIT_S):
                await self._send(message)
        except TimeoutError:
            raise _StalledError from None


def _route_path(scope: Scope) -> str:
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
