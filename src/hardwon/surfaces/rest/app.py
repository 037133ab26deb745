"""The REST surface: one route for every operation, made from the table of them.

What a request says becomes the arguments of its operation; whatever is wrong with it is an
InvalidInputError. Exports, imports and backups go by way of a file, so that a slow reader holds up
no writer, and a large one no memory. The file has no name any more while it is sent.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar, cast
from urllib.parse import unquote

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from pydantic import ValidationError
from pydantic_core import from_json, to_json
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.outside.files import READ_AT_ONCE_BYTES
from hardwon.records.fields import check_that, read_problems
from hardwon.surfaces.arguments import Arguments
from hardwon.surfaces.gate import Ask, Gate, check_access
from hardwon.surfaces.mcp.server import make_server
from hardwon.surfaces.operations import OPERATIONS, Operation
from hardwon.surfaces.rest import openapi
from hardwon.surfaces.rest.guard import BODY, LIVENESS, MCP, OPERATION, Guard, Service
from hardwon.surfaces.rest.metrics import METRICS_TYPE
from hardwon.surfaces.rest.options import ServerOptions
from hardwon.surfaces.rest.problems import RefusedError, parse_pairs
from hardwon.surfaces.shapes import json_bytes
from hardwon.surfaces.web.site import Site
from hardwon.trust.access import Caller

A = TypeVar("A", bound=Arguments)
Endpoint = Callable[[Request], Awaitable[Response]]
PROJECT_HEADER: Final = "Hardwon-Project"
_ASK: Final = "hardwon.ask"


def build_app(gate: Gate, settings: ServerOptions) -> Starlette:
    """The whole service behind one guard. Closing it closes the gate's memories."""
    service = Service(gate, settings)
    mcp = McpApp(service)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        """Runs while the service does."""
        try:
            async with mcp.manager.run():
                yield
        finally:
            service.close()

    app = Starlette(
        routes=[*Endpoints(service).routes(), Mount(MCP, mcp), *Site(service).routes()],
        middleware=[Middleware(Guard, service=service)],
        exception_handlers={HTTPException: _refuse},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return app


async def _refuse(request: Request, error: Exception) -> Response:
    """Raised again as ours: the guard answers everything that goes wrong."""
    if not isinstance(error, HTTPException) or error.status_code != 405:
        raise RefusedError(
            "not-found",
            f"nothing is at this address: {openapi.API}/openapi.json tells what is where",
        )
    methods: set[str] = set()
    for route in request.app.routes:
        if isinstance(route, ApiRoute) and route.path_regex.match(request.scope["path"]):
            methods |= route.methods or set()
    allowed = ", ".join(sorted(methods))
    raise RefusedError("wrong-method", f"{request.method} is not done there", Allow=allowed)


class ApiRoute(Route):
    """An address of the API: one method, and no HEAD, which would do all of the work and send
    nothing of it.
    """

    def __init__(self, path: str, name: str, endpoint: Endpoint, method: str = "GET") -> None:
        async def answer(request: Request) -> Response:
            """What the address answers."""
            request.scope[OPERATION] = name
            return await endpoint(request)

        super().__init__(path, answer, methods=[method], name=name)
        self.methods = {method}


class McpApp:
    """The MCP server over HTTP, for callers whom the guard let in. Every request is answered by
    itself: there are no sessions, so that none can be taken over, and a server that is started anew
    goes on where it was. It answers while its manager runs.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        settings = service.settings
        self.manager = StreamableHTTPSessionManager(
            make_server(
                lambda context: cast("Request", context.request).scope[_ASK],
                every=settings.every_tool,
                btb=settings.btb,
            ),
            json_response=True,
            stateless=True,
            max_request_body_size=limits.MCP_BODY_BYTES_MAX,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        caller: Caller = request.state.caller
        # A token for one project means that one.
        only = caller.projects if caller.projects and len(caller.projects) == 1 else ()
        project = next(iter(only), self._service.settings.default_project)
        if names := request.headers.getlist(PROJECT_HEADER):
            try:
                (project,) = [name.encode("latin-1").decode() for name in names]
            except ValueError:
                raise InvalidInputError.one(PROJECT_HEADER, names, "one name, in UTF-8") from None
        check_access(caller, "read", project)
        if request.method != "POST":  # nothing is ever sent unasked, and there is no session to end
            raise RefusedError(
                "wrong-method",
                "send a POST: there are no sessions here, and no stream of events",
                Allow="POST",
            )
        scope[_ASK] = Ask(self._service.gate, caller, project)
        await self.manager.handle_request(scope, receive, send)


def read_query(takes: type[A], in_path: Mapping[str, str], query: bytes) -> A:
    """The arguments that an address says."""
    texts = dict(in_path)
    for name, text in parse_pairs(query):
        check_that(name not in texts, name, text, "a value in one place: it was given before")
        longest = limits.QUERY_TEXT_CHARS_MAX
        allowed = f"text of at most {longest} characters in a query"
        check_that(len(text) <= longest, name, text, allowed)
        texts[name] = text
    try:
        return takes.model_validate_strings(texts, strict=True)
    except ValidationError as error:
        raise InvalidInputError(read_problems(error)) from None


def read_body(takes: type[A], in_path: Mapping[str, str], body: bytes) -> A:
    """The arguments that a body says. One that is empty says nothing."""
    body = body or b"{}"
    try:
        content = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise InvalidInputError.one("body", f"{len(body)} bytes", f"JSON: {error}") from None
    if not isinstance(content, dict):
        raise InvalidInputError.one("body", content, "a JSON object")
    for name in in_path.keys() & content.keys():
        raise InvalidInputError.one(name, content[name], "no such field: it is part of the address")
    whole = to_json({**content, **in_path}) if in_path else body
    return takes.model_validate_json(whole, strict=True)


def _check_media_type(request: Request, wanted: str) -> None:
    """A page of another site can send a form or a plain text unasked; it cannot send these."""
    sent, _, parameters = request.headers.get("content-type", "").lower().partition(";")
    if sent.strip() != wanted or parameters.strip().replace('"', "") not in ("", "charset=utf-8"):
        raise RefusedError("wrong-media-type", f"send Content-Type: {wanted}, in UTF-8")


def _check_no_query(request: Request) -> None:
    if query := request.scope["query_string"]:
        raise InvalidInputError.one(
            "query", f"{len(query)} bytes", "no query here: what there is to say goes into the body"
        )


def _read_key(request: Request) -> str | None:
    """The idempotency key that came with a request; None where none did."""
    keys = request.headers.getlist(openapi.IDEMPOTENCY_KEY)
    if len(keys) > 1 or (keys and not openapi.KEY_FORM.fullmatch(keys[0])):
        raise InvalidInputError.one(
            openapi.IDEMPOTENCY_KEY,
            keys[0],
            f"one key of 1 to {limits.IDEMPOTENCY_KEY_CHARS_MAX} characters of ASCII, without blanks, such as a UUID",
        )
    return keys[0] if keys else None


def _json(value: Any) -> Response:
    return Response(json_bytes(value), media_type=openapi.JSON)


class Endpoints:
    """What the addresses of operations answer, and those that are of no project."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._gate = service.gate
        self._streams = 0  # under way, counted in the server's own thread

    def routes(self) -> Iterator[ApiRoute]:
        """One for each operation, and those that are of no project."""
        streams = {"in": self._load, "out": self._send, None: self._perform}
        for operation in OPERATIONS.values():
            # Only what looks like an id is one: other addresses below records are left to others.
            path = re.sub(r"\{((?!lesson)\w+_id)\}", r"{\1:uuid}", openapi.make_path(operation))
            endpoint = partial(streams[operation.streams], operation)
            yield ApiRoute(path, operation.name, endpoint, operation.method)
        yield ApiRoute(openapi.PROJECTS, "projects", self._projects)
        yield ApiRoute(f"{openapi.API}/openapi.json", "openapi", self._openapi)
        yield ApiRoute(openapi.READINESS, "ready", self._ready)
        yield ApiRoute(openapi.METRICS, "metrics", self._metrics)
        yield ApiRoute(LIVENESS, "health", self._health)

    def _check(self, operation: Operation, request: Request) -> tuple[Caller, str, dict[str, str]]:
        """Who asks, about which project, and what else the address says; raises where they may
        not.
        """
        caller: Caller = request.state.caller
        address = {name: unquote(str(value)) for name, value in request.path_params.items()}
        project = address.pop("project")
        # the gate checks whatever it carries out; here it is asked before a body is read
        check_access(caller, operation.scope, project, whole=operation.whole)
        return caller, project, address

    async def _perform(self, operation: Operation, request: Request) -> Response:
        caller, project, in_path = self._check(operation, request)
        body = b""
        if operation.method == "POST":
            headers = request.headers
            if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
                _check_media_type(request, openapi.JSON)
            body = await request.body()

        def perform() -> Response:
            """What the operation gives, as JSON."""
            if operation.method == "GET":
                query = request.scope["query_string"]
                arguments = read_query(operation.takes, in_path, query)
            else:
                _check_no_query(request)
                arguments = read_body(operation.takes, in_path, body)
            key = _read_key(request) if operation.again is not None else None
            return _json(self._gate.perform(caller, operation.name, project, arguments, key))

        return await self._service.run(perform)

    @contextmanager
    def _open_folder(self) -> Iterator[Path]:
        """A folder for one more stream. Raises where too many are under way."""
        if self._streams >= limits.STREAMS_AT_ONCE_MAX:
            raise RefusedError(
                "busy", "too many exports, imports and backups are under way: try again"
            )
        self._streams += 1
        spool = self._service.settings.spool
        try:
            with tempfile.TemporaryDirectory(dir=spool) as folder:
                yield Path(folder)
        finally:
            self._streams -= 1

    async def _send(self, operation: Operation, request: Request) -> Response:
        """Every record of a project, one a line; or the memory's whole file, whatever its
        projects.
        """
        caller, project, _ = self._check(operation, request)
        asked = read_query(operation.takes, {}, request.scope["query_string"])

        def write(path: Path) -> tuple[BinaryIO, dict[str, str]]:
            """The file, and the headers of its answer."""
            with self._gate.memory(caller, operation, project) as memory:
                if operation.name == "export":
                    memory.export(path, **asked.keywords())
                    headers = {"Content-Type": openapi.NDJSON}
                else:
                    headers = {
                        openapi.CHECKSUM: memory.backup(path).sha256,
                        "Content-Type": openapi.DATABASE,
                        "Content-Disposition": 'attachment; filename="memory.db"',
                    }
                file = path.open("rb")
                path.unlink()
                size = os.fstat(file.fileno()).st_size
                return file, {**headers, "Content-Length": str(size)}

        async def read() -> AsyncIterator[bytes]:
            """The file, piece by piece."""
            while piece := await self._service.run(file.read, READ_AT_ONCE_BYTES):
                yield piece

        with ExitStack() as while_sent:
            folder = while_sent.enter_context(self._open_folder())
            file, headers = await self._service.run(write, folder / "answer")
            while_sent.enter_context(file)
            return _FileAnswer(read(), headers, while_sent.pop_all())

    async def _load(self, operation: Operation, request: Request) -> Response:
        """Takes in a body of records, one a line, once all of it is here."""
        caller, project, _ = self._check(operation, request)
        _check_media_type(request, openapi.NDJSON)
        arguments = read_query(operation.takes, {}, request.scope["query_string"])
        request.scope[BODY].bytes_max = limits.IMPORT_BYTES_MAX

        def load() -> Response:
            """What came of it, as JSON."""
            with self._gate.memory(caller, operation, project) as memory:
                return _json(memory.load(target, **arguments.keywords(), by=caller.name))

        with self._open_folder() as folder:
            target = folder / "body"
            with target.open("wb") as file:
                async for piece in request.stream():
                    await self._service.run(file.write, piece)
            return await self._service.run(load)

    async def _projects(self, request: Request) -> Response:
        _check_no_query(request)
        return _json(await self._open_memory(request))

    async def _ready(self, request: Request) -> Response:
        """Ready is who can open the memory and get an answer from it."""
        await self._open_memory(request)
        return _json({"status": "ready"})

    async def _open_memory(self, request: Request) -> list[str]:
        usual = self._service.settings.default_project
        return await self._service.run(self._gate.projects, request.state.caller, usual)

    async def _openapi(self, _: Request) -> Response:
        return Response(await self._service.run(openapi.document_bytes), media_type=openapi.JSON)

    async def _health(self, _: Request) -> Response:
        return _json({"status": "alive"})

    async def _metrics(self, request: Request) -> Response:
        check_access(request.state.caller, "read", None, whole=True)
        return Response(self._service.metrics.write(), headers={"Content-Type": METRICS_TYPE})


class _FileAnswer(StreamingResponse):
    """A file, piece by piece. `while_sent` is closed at its end, also where nobody reads it."""

    def __init__(
        self, pieces: AsyncIterator[bytes], headers: dict[str, str], while_sent: ExitStack
    ) -> None:
        super().__init__(pieces, headers=headers)
        self._while_sent = while_sent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  # what it overrides has them
        with self._while_sent:
            await self.stream_response(send)
