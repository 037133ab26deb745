"""The MCP server over HTTP: every request brings its token, and is answered by itself. There are no
sessions, so that none can be taken over, and a server that is started anew goes on where it was.

`app = McpApp(gate, "default")`, routed with `starlette.routing.Route("/mcp", app)`, while
`app.run()` is entered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import anyio.to_thread
from mcp.server.context import ServerRequestContext
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
from hardwon.surfaces.gate import Gate, check_access
from hardwon.surfaces.mcp.server import make_server
from hardwon.surfaces.mcp.views import Visitor
from hardwon.trust.access import Caller

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
        settings = security_settings(hosts, origins)
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
            caller = _let_in_before(request)
            if caller is None:
                caller = await anyio.to_thread.run_sync(self._gate.admit, _token(request))
            project = self._project(request, caller)
            check_access(caller, "read", project)
        except NotAdmittedError as error:
            return _problem(401, str(error), {"WWW-Authenticate": 'Bearer realm="hardwon"'})
        except ForbiddenError as error:
            return _problem(403, str(error))
        except TooManyRequestsError as error:
            return _problem(429, str(error), {"Retry-After": str(math.ceil(error.wait_s))})
        except InvalidInputError as error:
            return _problem(400, str(error))
        except HardwonError as error:
            return _problem(503, str(error))
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
        return (
            caller.projects[0]
            if caller.projects and len(caller.projects) == 1
            else self._default_project
        )


def security_settings(
    hosts: Sequence[str], origins: Sequence[str] = ()
) -> TransportSecuritySettings:
    """Other names, and pages of other places, are refused: a browser must not be talked into asking
    for them.
    """
    names = [name for host in hosts for name in (host, f"{host}:*")]
    own = [f"{scheme}://{name}" for scheme in ("http", "https") for name in names]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=names, allowed_origins=[*own, *origins]
    )


def _visitor(ctx: ServerRequestContext[Any, Any]) -> Visitor:
    assert isinstance(ctx.request, Request)  # noqa: S101  # for type checkers: each message came with one
    visitor: Visitor = ctx.request.scope[_VISITOR]
    return visitor


def _let_in_before(request: Request) -> Caller | None:
    """Whom a guard that stands before this application has let in, as it says in the request's
    state.
    """
    found = request.scope.get("state", {}).get(CALLER)
    return found if isinstance(found, Caller) else None


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
    said = {
        "type": "about:blank",
        "title": _TITLES.get(status, "Error"),
        "status": status,
        "detail": detail,
    }
    return JSONResponse(said, status, headers, media_type="application/problem+json")
