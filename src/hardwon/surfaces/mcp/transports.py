"""What carries the MCP server: HTTP, and standard input and output.

Over HTTP every request brings its token, and is answered by itself. There are no sessions, so that
none can be taken over, and a server that is started anew goes on where it was. `app = McpApp(gate,
"default")`, routed with `starlette.routing.Route("/mcp", app)`, while `app.run()` is entered.

On standard input and output there is one client, which started this process and is trusted as far
as `scope` says. Standard output belongs to the protocol alone; the transport puts whatever else is
printed onto standard error.
"""

from __future__ import annotations

import math
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import anyio
import anyio.abc
import anyio.to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from hardwon import limits
from hardwon.errors import (
    ForbiddenError,
    HardwonError,
    InvalidInputError,
    NotAdmittedError,
    TooManyRequestsError,
)
from hardwon.memory import Memory
from hardwon.memory.tokens import author_name
from hardwon.surfaces.gate import Gate, check_access
from hardwon.surfaces.mcp.server import make_server
from hardwon.surfaces.mcp.tools import Visitor
from hardwon.trust.access import Caller, Scope

# --- HTTP ---

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
PROJECT_HEADER: Final = "hardwon-project"
CALLER: Final = "caller"
_VISITOR: Final = "hardwon.visitor"
_TITLES: Final = {
    401: "Unauthorized",
    403: "Forbidden",
    405: "Method Not Allowed",
    429: "Too Many Requests",
}
# What a caller gets where it is not let in; of several, the first that fits.
_STATUSES: Final[tuple[tuple[type[HardwonError], int], ...]] = (
    (NotAdmittedError, 401),
    (ForbiddenError, 403),
    (TooManyRequestsError, 429),
    (InvalidInputError, 400),
    (HardwonError, 503),
)


class McpApp:
    """An ASGI application. Host and Origin are looked at first, then the token, then the project;
    the rest is the SDK's.
    """

    def __init__(
        self,
        gate: Gate,
        default_project: str,
        *,
        btb: bool = False,
        hosts: Sequence[str] = LOOPBACK,
        origins: Sequence[str] = (),
    ) -> None:
        """`default_project` is asked about where neither the request nor its token names one.
        `hosts`: the names under which it is reached, with a port or with any. `origins`: pages
        elsewhere that may ask.
        """
        # Other names, and pages of other places, are refused: a browser must not be talked into
        # asking for them.
        names = [name for host in hosts for name in (host, f"{host}:*")]
        own = [f"{scheme}://{name}" for scheme in ("http", "https") for name in names]
        settings = TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=names,
            allowed_origins=[*own, *origins],
        )
        self._origins = frozenset(origins)
        self._gate = gate
        self._default_project = default_project
        self._security = TransportSecurityMiddleware(settings)
        self._manager = StreamableHTTPSessionManager(
            make_server(_visitor, btb=btb),
            json_response=True,
            stateless=True,
            security_settings=settings,
            max_request_body_size=limits.MCP_BODY_BYTES_MAX,
        )

    def run(self) -> AbstractAsyncContextManager[None]:
        """While it is entered, the application answers."""
        return self._manager.run()

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"MCP is served over HTTP, not over {scope['type']}")
        request = Request(scope)
        refused = (
            await self._security.validate_request(request)
            or self._foreign_page(request)
            or await self._let_in(request)
        )
        if refused is not None:
            await refused(scope, receive, send)
            return
        await self._manager.handle_request(scope, receive, send)

    def _foreign_page(self, request: Request) -> Response | None:
        """Pages of this very host and port may ask, and those that were allowed; not those of
        another port of it.
        """
        origin, host = request.headers.get("origin"), request.headers["host"]
        if (
            origin is None
            or origin in (f"http://{host}", f"https://{host}")
            or origin in self._origins
        ):
            return None
        return _problem(403, "pages of this origin may not ask")

    async def _let_in(self, request: Request) -> Response | None:
        """None where the caller is let in, and stands in the request's scope; otherwise the
        answer.
        """
        try:
            # A guard that stands before this application may have let somebody in.
            caller = request.scope.get("state", {}).get(CALLER)
            if not isinstance(caller, Caller):
                caller = await anyio.to_thread.run_sync(self._gate.admit, _token(request))
            project = self._project(request, caller)
            check_access(caller, "read", project)
        except HardwonError as error:
            status = next(status for known, status in _STATUSES if isinstance(error, known))
            headers = {"WWW-Authenticate": 'Bearer realm="hardwon"'} if status == 401 else {}
            if isinstance(error, TooManyRequestsError):
                headers = {"Retry-After": str(math.ceil(error.wait_s))}
            return _problem(status, str(error), headers)
        if request.method != "POST":  # nothing is ever sent unasked, and there is no session to end
            return _problem(
                405,
                "send a POST: there are no sessions here, and no stream of events",
                {"Allow": "POST"},
            )
        request.scope[_VISITOR] = Visitor(self._gate, caller, project)
        return None

    def _project(self, request: Request, caller: Caller) -> str:
        named = request.headers.getlist(PROJECT_HEADER)
        if len(named) > 1:
            raise InvalidInputError.one("Hardwon-Project", named, "one header")
        if named:
            try:
                return named[0].encode("latin-1").decode()
            except UnicodeDecodeError:
                raise InvalidInputError.one(
                    "Hardwon-Project", named[0], "a name in UTF-8"
                ) from None
        only_one = caller.projects if caller.projects and len(caller.projects) == 1 else None
        return only_one[0] if only_one else self._default_project


def _visitor(ctx: ServerRequestContext[Any, Any]) -> Visitor:
    assert isinstance(ctx.request, Request)  # noqa: S101  # for type checkers: each message came with one
    visitor: Visitor = ctx.request.scope[_VISITOR]
    return visitor


def _token(request: Request) -> str | None:
    """What stands in the one Authorization header; the empty text, which is nobody's, where that is
    no bearer token.
    """
    sent = request.headers.getlist("authorization")
    if not sent:
        return None
    kind, _, secret = sent[0].partition(" ")
    return secret.strip() if len(sent) == 1 and kind.lower() == "bearer" else ""


def _problem(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """As RFC 9457 has it."""
    problem = {
        "type": "about:blank",
        "title": _TITLES.get(status, "Error"),
        "status": status,
        "detail": detail,
    }
    return JSONResponse(problem, status, headers, media_type="application/problem+json")


# --- standard input and output ---

# The author of what a client records that does not say who it is.
NO_NAME: Final = "agent"
INTERRUPTED: Final = 130
_FLUSH_S: Final = 0.2  # for the last answers to get out; nothing tells when a pipe was written to


def serve_stdio(memory: Memory, author: str | None, scope: Scope, *, btb: bool = False) -> None:
    """Serves until the client closes its end, or a signal says so. `author`: who is named in what
    is recorded; where nobody is given, the client by the name it introduces itself with.
    """
    gate = Gate(lambda _: memory, None)

    def visitor(ctx: ServerRequestContext[Any, Any]) -> Visitor:
        client = ctx.session.client_params
        name = author or client_name(client.client_info.name if client else "")
        return Visitor(gate, Caller(name, scope), memory.project)

    server = make_server(visitor, btb=btb)
    under_way = _UnderWay()
    server.middleware.append(under_way)
    try:
        anyio.run(_serve, server, under_way, memory)
    except BaseExceptionGroup as several:
        # a client left without a word
        failed = [error for error in _each(several) if not isinstance(error, BrokenPipeError)]
        if failed:
            raise failed[0] from None


def _each(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _each(inner)
    else:
        yield error


def client_name(given: str) -> str:
    """A client's own name as an author's; `agent` where it has none that could be one."""
    plain = " ".join("".join(char if char.isprintable() else " " for char in given).split())
    try:
        return author_name("client", plain[: limits.NAME_CHARS_MAX])
    except HardwonError:
        return NO_NAME


class _UnderWay:
    """Counts what was begun and has not ended."""

    def __init__(self) -> None:
        self.count = 0

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: Any) -> Any:
        self.count += 1
        try:
            return await call_next(ctx)
        finally:
            self.count -= 1


async def _serve(server: Server[Any], under_way: _UnderWay, memory: Memory) -> None:
    async with anyio.create_task_group() as tasks:
        await tasks.start(_end_on_signal, under_way, memory)
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _end_on_signal(
    under_way: _UnderWay,
    memory: Memory,
    *,
    task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Finishes what was begun, then ends the process at once: a thread waits for a line of input
    that may never come.
    """
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for which in signals:
            with anyio.move_on_after(limits.STDIO_SHUTDOWN_S_MAX):
                while under_way.count:
                    await anyio.sleep(_FLUSH_S / 10)
                await anyio.sleep(_FLUSH_S)
            memory.close()
            sys.stderr.flush()
            os._exit(INTERRUPTED if which == signal.SIGINT else 0)
