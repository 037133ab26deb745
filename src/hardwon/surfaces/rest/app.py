"""What a request says, as the arguments of an operation. Whatever is wrong with it is told as
InvalidInputError.

The REST surface: one route for every operation, made from the table of them.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import cache, partial
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

from pydantic_core import from_json, to_json
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.surfaces.arguments import Arguments, Load
from hardwon.surfaces.gate import Gate
from hardwon.surfaces.mcp import http as mcp_http
from hardwon.surfaces.operations import ALIASES, OPERATIONS, Operation, json_bytes, schema_of
from hardwon.surfaces.rest import streams as rest_streams
from hardwon.surfaces.rest.guard import (
    LIVENESS,
    NOT_FOUND,
    OPERATION,
    WRONG_MEDIA_TYPE,
    WRONG_METHOD,
    Guard,
    Metrics,
    RefusedError,
    ServerOptions,
    Workers,
)
from hardwon.surfaces.rest.guard import METRICS_TYPE as METRICS_TYPE
from hardwon.surfaces.rest.openapi import (
    API,
    IDEMPOTENCY_KEY,
    KEY_FORM,
    METRICS,
    PROJECTS,
    READINESS,
    path_of,
    written,
)
from hardwon.surfaces.rest.streams import FileAnswer, Streams
from hardwon.surfaces.web.site import Site
from hardwon.trust.access import Caller

# --- rest input ---

_WHOLE: Final = re.compile(r"-?[0-9]{1,19}")
_NUMBER: Final = re.compile(r"-?[0-9]{1,19}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?")
_TRUTH: Final = {"true": True, "false": False}


def from_query(takes: type[Arguments], in_path: Mapping[str, str], query: bytes) -> Arguments:
    """Texts become what the operation's schema says they are; what they cannot become stays text,
    and is refused as such.
    """
    try:
        pairs = parse_qsl(
            query.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=limits.QUERY_FIELDS_MAX,
        )
    except ValueError:
        allowed = f"at most {limits.QUERY_FIELDS_MAX} parameters, in UTF-8"
        raise InvalidInputError.one("query", f"{len(query)} bytes", allowed) from None
    said: dict[str, Any] = dict(in_path)
    types = _types_of(takes)
    for name, text in pairs:
        if name in said:
            raise InvalidInputError.one(name, text, "a value in one place: it was given before")
        if len(text) > limits.QUERY_TEXT_CHARS_MAX:
            raise InvalidInputError.one(
                name, text, f"text of at most {limits.QUERY_TEXT_CHARS_MAX} characters in a query"
            )
        said[name] = _meant(text, types.get(name, frozenset()))
    return takes.model_validate(said, strict=True)


def from_body(takes: type[Arguments], in_path: Mapping[str, str], body: bytes) -> Arguments:
    """A body that is empty says nothing."""
    body = body or b"{}"
    try:
        said = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise InvalidInputError.one("body", f"{len(body)} bytes", f"JSON: {error}") from None
    if not isinstance(said, dict):
        raise InvalidInputError.one("body", said, "a JSON object")
    _check_bounds(body, said)
    if not in_path:
        return takes.model_validate_json(body, strict=True)
    for name in in_path:
        if name in said:
            raise InvalidInputError.one(
                name, said[name], "no such field: it is part of the address"
            )
    return takes.model_validate_json(to_json({**said, **in_path}), strict=True)


def _check_bounds(body: bytes, said: object) -> None:
    """Most bodies are so small that their brackets and commas tell, without a walk through them."""
    opened = body.count(b"{") + body.count(b"[")
    if (
        opened <= limits.BODY_DEPTH_MAX
        and opened + 2 * body.count(b",") + body.count(b":") < limits.BODY_VALUES_MAX
    ):
        return
    level, depth, count = [said], 0, 0
    while level:
        count += len(level)
        if depth > limits.BODY_DEPTH_MAX:
            raise InvalidInputError.one(
                "body", f"{depth} levels", f"values nested at most {limits.BODY_DEPTH_MAX} deep"
            )
        if count > limits.BODY_VALUES_MAX:
            raise InvalidInputError.one(
                "body", f"{count} values", f"at most {limits.BODY_VALUES_MAX} values"
            )
        level, depth = list(_inside(level)), depth + 1


def _inside(values: list[object]) -> Iterator[object]:
    for value in values:
        if isinstance(value, dict):
            yield from value.values()
        elif isinstance(value, list):
            yield from value


def _meant(text: str, types: frozenset[str]) -> Any:
    if "integer" in types and _WHOLE.fullmatch(text):
        return int(text)
    if "number" in types and _NUMBER.fullmatch(text):
        return float(text)
    return _TRUTH.get(text, text) if "boolean" in types else text


@cache
def _types_of(takes: type[Arguments]) -> Mapping[str, frozenset[str]]:
    return {
        name: frozenset(_types(schema))
        for name, schema in schema_of(takes).get("properties", {}).items()
    }


def _types(schema: Mapping[str, Any]) -> Iterator[str]:
    if "type" in schema:
        yield schema["type"]
    for inner in schema.get("anyOf", ()):
        yield from _types(inner)


# --- rest ---

JSON: Final = "application/json"
MCP: Final = "/mcp"
WEB: Final = ("/", "/ui")
Endpoint = Callable[[Request], Awaitable[Response]]


class ApiRoute(Route):
    """An address of the API: one method, and no HEAD, which would do all of the work and send
    nothing of it.
    """

    def __init__(self, path: str, name: str, endpoint: Endpoint, method: str) -> None:
        async def answer(request: Request) -> Response:
            request.scope[OPERATION] = name
            return await endpoint(request)

        super().__init__(path, answer, methods=[method], name=name)
        self.methods = {method}


class _Mounted:
    """The MCP server at its address, with and without a slash after it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope[OPERATION] = "mcp"
        if scope["path"] == MCP:
            scope = {**scope, "path": MCP + "/", "root_path": MCP}
        await self._app(scope, receive, send)


def build_app(gate: Gate, settings: ServerOptions) -> Starlette:
    """The whole service behind one guard. Closing it closes the gate's memories."""
    surface = _Surface(gate, settings)
    mcp = mcp_http.http_app(
        gate,
        settings.default_project,
        btb=settings.btb,
        hosts=settings.names,
        origins=settings.allow_origins,
    )
    app = Starlette(lifespan=_lifespan_of(surface, mcp))
    app.router.redirect_slashes = False
    app.router.routes += [
        *(
            ApiRoute(_route_of(each), each.name, surface.endpoint(each), each.method)
            for each in (*OPERATIONS.values(), *ALIASES)
        ),
        ApiRoute(PROJECTS, "projects", surface.projects, "GET"),
        ApiRoute(f"{API}/openapi.json", "openapi", surface.openapi, "GET"),
        ApiRoute(READINESS, "ready", surface.ready, "GET"),
        ApiRoute(METRICS, "metrics", surface.metrics_text, "GET"),
        ApiRoute(LIVENESS, "health", _alive, "GET"),
    ]
    app.router.routes += [Route(MCP, _Mounted(mcp)), Mount(MCP, _Mounted(mcp))]
    app.router.routes += Site(gate, settings, surface.workers).routes()
    app.add_exception_handler(HTTPException, _no_such_place)
    app.add_middleware(
        Guard,
        gate=gate,
        settings=settings,
        workers=surface.workers,
        metrics=surface.metrics,
        mounted=(MCP,),
        signed_in=WEB,
    )
    return app


def _route_of(operation: Operation) -> str:
    """Only what looks like an id is one: other addresses below records are left to others."""
    path = path_of(operation)
    for name in operation.in_path:
        path = path.replace(f"{{{name}}}", f"{{{name}:uuid}}")
    return path


def _lifespan_of(
    surface: _Surface, mcp: mcp_http.McpApp
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as running:
            running.callback(surface.close)
            await running.enter_async_context(mcp_http.lifespan(mcp))
            yield

    return lifespan


async def _no_such_place(request: Request, error: Exception) -> Response:
    """Raised again as ours: the guard answers everything that goes wrong."""
    if isinstance(error, HTTPException) and error.status_code == WRONG_METHOD.status:
        done = [
            route
            for route in request.app.routes
            if isinstance(route, ApiRoute) and route.path_regex.match(request.scope["path"])
        ]
        methods = sorted({method for route in done for method in route.methods or ()})
        raise RefusedError(
            WRONG_METHOD, f"{request.method} is not done there", {"Allow": ", ".join(methods)}
        )
    raise RefusedError(
        NOT_FOUND, f"nothing is at this address: {API}/openapi.json tells what is where"
    )


async def _alive(_: Request) -> Response:
    return Response(b'{"status":"alive"}', media_type=JSON)


class _Surface:
    """What the routes share."""

    def __init__(self, gate: Gate, settings: ServerOptions) -> None:
        self._gate = gate
        self._settings = settings
        self.workers = Workers()
        self.metrics = Metrics(gate)
        self._streams = Streams()

    def close(self) -> None:
        self.workers.close()
        self._gate.close()

    def endpoint(self, operation: Operation) -> Endpoint:
        streaming: dict[str, Endpoint] = {
            "export": self._export,
            "backup": self._backup,
            "load": self._load,
        }
        if operation.streams:
            return streaming[operation.name]
        return partial(self._perform, operation)

    async def _perform(self, operation: Operation, request: Request) -> Response:
        project, in_path = _addressed(operation, request)
        caller = self._checked(operation, request, project)
        body = b""
        if operation.method == "POST":
            body = await _read(request)
        return await self.workers.run(
            self._performed, operation, caller, project, in_path, request, body
        )

    def _performed(
        self,
        operation: Operation,
        caller: Caller,
        project: str,
        in_path: dict[str, str],
        request: Request,
        body: bytes,
    ) -> Response:
        if operation.method == "GET":
            said = from_query(operation.takes, in_path, request.scope["query_string"])
        else:
            _check_no_query(request)
            said = from_body(operation.takes, in_path, body)
        key = _key(request) if operation.again is not None else None
        return _json(self._gate.perform(caller, operation.name, project, said, key))

    async def _export(self, request: Request) -> Response:
        return await self._file(OPERATIONS["export"], rest_streams.export, request)

    async def _backup(self, request: Request) -> Response:
        return await self._file(OPERATIONS["backup"], rest_streams.backup, request)

    async def _file(
        self, operation: Operation, make: Callable[..., FileAnswer], request: Request
    ) -> Response:
        project, _ = _addressed(operation, request)
        caller = self._checked(operation, request, project)
        from_query(operation.takes, {}, request.scope["query_string"])
        with self._streams.one_more() as at_the_end:
            answer = await self.workers.run(
                make, self._gate, self._settings, self.workers, caller, project
            )
            answer.at_the_end = at_the_end.pop_all()
        return answer

    async def _load(self, request: Request) -> Response:
        operation = OPERATIONS["load"]
        project, _ = _addressed(operation, request)
        self._checked(operation, request, project)
        _check_media_type(request, rest_streams.NDJSON)
        said: Arguments = from_query(operation.takes, {}, request.scope["query_string"])
        assert isinstance(said, Load)  # noqa: S101  # for type checkers: the table says so
        with self._streams.one_more():
            told = await rest_streams.take_in(
                self._gate, self._settings, self.workers, request, project, said
            )
        return Response(told, media_type=JSON)

    def _checked(self, operation: Operation, request: Request, project: str) -> Caller:
        caller: Caller = request.state.caller
        self._gate.check(caller, operation, project)
        return caller

    async def projects(self, request: Request) -> Response:
        _check_no_query(request)
        found = await self.workers.run(
            self._gate.projects, request.state.caller, self._settings.default_project
        )
        return _json(found)

    async def openapi(self, _: Request) -> Response:
        return Response(await self.workers.run(written), media_type=JSON)

    async def ready(self, request: Request) -> Response:
        """Ready is who can open the memory and get an answer from it."""
        await self.workers.run(
            self._gate.projects, request.state.caller, self._settings.default_project
        )
        return _json({"status": "ready"})

    async def metrics_text(self, request: Request) -> Response:
        text = await self.workers.run(self.metrics.text_for, request.state.caller)
        return Response(text, headers={"Content-Type": METRICS_TYPE})


def _json(value: Any) -> Response:
    return Response(json_bytes(value), media_type=JSON)


def _addressed(operation: Operation, request: Request) -> tuple[str, dict[str, str]]:
    """The project, and what else the address says."""
    said = {name: unquote(str(value)) for name, value in request.path_params.items()}
    return said["project"], {name: said[name] for name in operation.in_path}


def _key(request: Request) -> str | None:
    given = request.headers.getlist(IDEMPOTENCY_KEY)
    if len(given) > 1 or (given and not KEY_FORM.fullmatch(given[0])):
        allowed = f"one key of 1 to {limits.IDEMPOTENCY_KEY_CHARS_MAX} characters of ASCII, without blanks, such as a UUID"
        raise InvalidInputError.one(IDEMPOTENCY_KEY, given[0], allowed)
    return given[0] if given else None


async def _read(request: Request) -> bytes:
    if request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers:
        _check_media_type(request, JSON)
    return await request.body()


def _check_media_type(request: Request, wanted: str) -> None:
    """A page of another site can send a form or a plain text unasked; it cannot send these."""
    given, _, parameters = request.headers.get("content-type", "").lower().partition(";")
    if given.strip() != wanted or parameters.strip().replace('"', "") not in ("", "charset=utf-8"):
        raise RefusedError(WRONG_MEDIA_TYPE, f"send Content-Type: {wanted}, in UTF-8")


def _check_no_query(request: Request) -> None:
    if query := request.scope["query_string"]:
        raise InvalidInputError.one(
            "query", f"{len(query)} bytes", "no query here: what there is to say goes into the body"
        )
