"""The REST surface: one route for every operation, made from the table of them.

What a request says becomes the arguments of its operation; whatever is wrong with it is an
InvalidInputError. Exports, imports and backups go by way of a file, so that a slow reader holds up
no writer, and a large one no memory. The file has no name any more while it is sent. What a server
that is killed leaves of one that is still made, the next removes.

At the end, the server as a process: its socket, its certificate, the signals that end it. uvicorn
does the rest.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import socket
import ssl
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeVar, cast
from urllib.parse import unquote

import anyio
import anyio.abc
import uvicorn
from pydantic_core import from_json, to_json
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send

from hardwon import limits
from hardwon.errors import InvalidInputError, PlaceError
from hardwon.records.fields import check_that
from hardwon.surfaces.gate import Ask, Gate, check_access
from hardwon.surfaces.operations import (
    OPERATIONS,
    Arguments,
    Operation,
    json_bytes,
    schema_of,
)
from hardwon.surfaces.rest.guard import (
    BODY,
    LIVENESS,
    MCP,
    METRICS_TYPE,
    OPERATION,
    THREADS,
    Guard,
    RefusedError,
    ServerOptions,
    Service,
    pairs_of,
)
from hardwon.surfaces.rest.openapi import (
    API,
    CHECKSUM,
    DATABASE,
    IDEMPOTENCY_KEY,
    JSON,
    KEY_FORM,
    METRICS,
    NDJSON,
    PROJECTS,
    READINESS,
    document_bytes,
    path_of,
)
from hardwon.surfaces.web.site import Site
from hardwon.trust.access import Caller

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

A = TypeVar("A", bound=Arguments)
Endpoint = Callable[[Request], Awaitable[Response]]
_NUMBER: Final = re.compile(r"-?[0-9]{1,19}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?")
_PREFIX: Final = ".hardwon-serving-"
PROJECT_HEADER: Final = "Hardwon-Project"
_ASK: Final = "hardwon.ask"

# --- what a request says ---


def from_query(takes: type[A], in_path: Mapping[str, str], query: bytes) -> A:
    """Texts become what the operation's schema says they are; what they cannot become stays text,
    and is refused as such.
    """
    given: dict[str, Any] = dict(in_path)
    for name, text in pairs_of(query, limits.QUERY_FIELDS_MAX, "query"):
        check_that(name not in given, name, text, "a value in one place: it was given before")
        check_that(
            len(text) <= limits.QUERY_TEXT_CHARS_MAX,
            name,
            text,
            f"text of at most {limits.QUERY_TEXT_CHARS_MAX} characters in a query",
        )
        wanted = _types_of(takes).get(name, frozenset())
        if "integer" in wanted and re.fullmatch(r"-?[0-9]{1,19}", text):
            given[name] = int(text)
        elif "number" in wanted and _NUMBER.fullmatch(text):
            given[name] = float(text)
        else:
            given[name] = (
                {"true": True, "false": False}.get(text, text) if "boolean" in wanted else text
            )
    return takes.model_validate(given, strict=True)


@cache
def _types_of(takes: type[Arguments]) -> Mapping[str, frozenset[str]]:
    return {
        name: frozenset(
            inner["type"] for inner in (prop, *prop.get("anyOf", ())) if "type" in inner
        )
        for name, prop in schema_of(takes).get("properties", {}).items()
    }


def from_body(takes: type[A], in_path: Mapping[str, str], body: bytes) -> A:
    """A body that is empty says nothing."""
    body = body or b"{}"
    try:
        given = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise InvalidInputError.one("body", f"{len(body)} bytes", f"JSON: {error}") from None
    if not isinstance(given, dict):
        raise InvalidInputError.one("body", given, "a JSON object")
    _check_bounds(body, given)
    for name in in_path.keys() & given.keys():
        raise InvalidInputError.one(name, given[name], "no such field: it is part of the address")
    body = to_json({**given, **in_path}) if in_path else body
    return takes.model_validate_json(body, strict=True)


def _check_bounds(body: bytes, given: object) -> None:
    """Most bodies are so small that their brackets and commas tell, without a walk through them."""
    opened = body.count(b"{") + body.count(b"[")
    if (
        opened <= limits.BODY_DEPTH_MAX
        and opened + 2 * body.count(b",") + body.count(b":") < limits.BODY_VALUES_MAX
    ):
        return
    level, depth, count = [given], 0, 0
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
        lists = [value for value in level if isinstance(value, list)]
        lists += [list(value.values()) for value in level if isinstance(value, dict)]
        level, depth = [value for some in lists for value in some], depth + 1


def _check_media_type(request: Request, wanted: str) -> None:
    """A page of another site can send a form or a plain text unasked; it cannot send these."""
    given, _, parameters = request.headers.get("content-type", "").lower().partition(";")
    if given.strip() != wanted or parameters.strip().replace('"', "") not in ("", "charset=utf-8"):
        raise RefusedError("wrong-media-type", f"send Content-Type: {wanted}, in UTF-8")


def _check_no_query(request: Request) -> None:
    if query := request.scope["query_string"]:
        raise InvalidInputError.one(
            "query", f"{len(query)} bytes", "no query here: what there is to say goes into the body"
        )


# --- routes ---


class ApiRoute(Route):
    """An address of the API: one method, and no HEAD, which would do all of the work and send
    nothing of it.
    """

    def __init__(self, path: str, name: str, endpoint: Endpoint, method: str = "GET") -> None:
        async def answer(request: Request) -> Response:
            request.scope[OPERATION] = name
            return await endpoint(request)

        super().__init__(path, answer, methods=[method], name=name)
        self.methods = {method}


def build_app(gate: Gate, settings: ServerOptions) -> Starlette:
    """The whole service behind one guard. Closing it closes the gate's memories."""
    service = Service(gate, settings)
    mcp = McpApp(service)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        try:
            async with mcp.run():
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
    if isinstance(error, HTTPException) and error.status_code == 405:
        methods = {
            method
            for route in request.app.routes
            if isinstance(route, ApiRoute) and route.path_regex.match(request.scope["path"])
            for method in route.methods or ()
        }
        raise RefusedError(
            "wrong-method",
            f"{request.method} is not done there",
            Allow=", ".join(sorted(methods)),
        )
    raise RefusedError(
        "not-found", f"nothing is at this address: {API}/openapi.json tells what is where"
    )


class McpApp:
    """The MCP server over HTTP, for callers whom the guard let in. Every request is answered by
    itself: there are no sessions, so that none can be taken over, and a server that is started anew
    goes on where it was. While `run` is entered, it answers. What it needs is loaded for the first
    request: that takes nearly as long as everything else that a server starts with.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._loading = anyio.Lock()
        self._manager: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as self._tasks:
            yield
            self._tasks.cancel_scope.cancel()

    async def _start(self, *, task_status: anyio.abc.TaskStatus[Any]) -> None:
        manager = await self._service.run(self._load)
        async with manager.run():
            task_status.started(manager)
            await anyio.sleep_forever()

    def _load(self) -> StreamableHTTPSessionManager:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from hardwon.surfaces.mcp.server import make_server

        return StreamableHTTPSessionManager(
            make_server(
                lambda ctx: cast("Request", ctx.request).scope[_ASK],
                every=self._service.settings.every_tool,
                btb=self._service.settings.btb,
            ),
            json_response=True,
            stateless=True,
            max_request_body_size=limits.MCP_BODY_BYTES_MAX,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        caller: Caller = request.state.caller
        named = request.headers.getlist(PROJECT_HEADER)
        # A token for one project means that one.
        only = caller.projects if caller.projects and len(caller.projects) == 1 else ()
        project = next(iter(only), self._service.settings.default_project)
        if named:
            try:
                (project,) = [name.encode("latin-1").decode() for name in named]
            except ValueError:
                raise InvalidInputError.one(PROJECT_HEADER, named, "one name, in UTF-8") from None
        check_access(caller, "read", project)
        if request.method != "POST":  # nothing is ever sent unasked, and there is no session to end
            raise RefusedError(
                "wrong-method",
                "send a POST: there are no sessions here, and no stream of events",
                Allow="POST",
            )
        scope[_ASK] = Ask(self._service.gate, caller, project)
        if self._manager is None:
            async with self._loading:
                self._manager = self._manager or await self._tasks.start(self._start)
        await self._manager.handle_request(scope, receive, send)


class Endpoints:
    """What the addresses of operations answer, and those that are of no project."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._gate = service.gate
        self._streams = 0  # under way, counted in the server's own thread

    def routes(self) -> Iterator[ApiRoute]:
        streams = {"in": self._load, "out": self._send, None: self._perform}
        for each in OPERATIONS.values():
            # Only what looks like an id is one: other addresses below records are left to others.
            path = re.sub(r"\{(?!project)(\w+)\}", r"{\1:uuid}", path_of(each))
            yield ApiRoute(path, each.name, partial(streams[each.streams], each), each.method)
        for address, name, endpoint in (
            (PROJECTS, "projects", self._projects),
            (f"{API}/openapi.json", "openapi", self._openapi),
            (READINESS, "ready", self._ready),
            (METRICS, "metrics", self._metrics),
            (LIVENESS, "health", self._health),
        ):
            yield ApiRoute(address, name, endpoint)

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
                _check_media_type(request, JSON)
            body = await request.body()

        def perform() -> Response:
            if operation.method == "GET":
                given = from_query(operation.takes, in_path, request.scope["query_string"])
            else:
                _check_no_query(request)
                given = from_body(operation.takes, in_path, body)
            key = _key(request) if operation.again is not None else None
            return _json(self._gate.perform(caller, operation.name, project, given, key))

        return await self._service.run(perform)

    # --- what goes by way of a file ---

    @contextmanager
    def _one_more_stream(self) -> Iterator[None]:
        if self._streams >= limits.STREAMS_AT_ONCE_MAX:
            raise RefusedError(
                "busy", "too many exports, imports and backups are under way: try again"
            )
        self._streams += 1
        try:
            yield
        finally:
            self._streams -= 1

    def _folder(self) -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory(prefix=_PREFIX, dir=self._service.settings.spool)

    async def _send(self, operation: Operation, request: Request) -> Response:
        """Every record of a project, one a line; or the memory's whole file, whatever its
        projects.
        """
        caller, project, _ = self._check(operation, request)
        from_query(operation.takes, {}, request.scope["query_string"])

        def make() -> tuple[BinaryIO, dict[str, str]]:
            with (
                self._folder() as folder,
                self._gate.memory(caller, operation, project) as memory,
            ):
                path = Path(folder) / "answer"
                if operation.name == "export":
                    memory.export(path)
                    headers = {"Content-Type": NDJSON}
                else:
                    headers = {
                        CHECKSUM: memory.backup(path).sha256,
                        "Content-Type": DATABASE,
                        "Content-Disposition": 'attachment; filename="memory.db"',
                    }
                return path.open("rb"), {**headers, "Content-Length": str(path.stat().st_size)}

        async def pieces() -> AsyncIterator[bytes]:
            while piece := await self._service.run(file.read, limits.READ_AT_ONCE_BYTES):
                yield piece

        with ExitStack() as while_sent:
            while_sent.enter_context(self._one_more_stream())
            file, headers = await self._service.run(make)
            while_sent.enter_context(file)
            return _FileAnswer(pieces(), headers, while_sent.pop_all())

    async def _load(self, operation: Operation, request: Request) -> Response:
        """Takes in a body of records, one a line, once all of it is here."""
        caller, project, _ = self._check(operation, request)
        _check_media_type(request, NDJSON)
        given = from_query(operation.takes, {}, request.scope["query_string"]).given()
        request.scope[BODY].bytes_max = limits.IMPORT_BYTES_MAX

        def load() -> Response:
            with self._gate.memory(caller, operation, project) as memory:
                return _json(memory.load(target, **given, by=caller.name))

        with self._one_more_stream(), self._folder() as folder:
            target = Path(folder) / "body"
            with target.open("wb") as file:
                async for piece in request.stream():
                    await self._service.run(file.write, piece)
            return await self._service.run(load)

    # --- what is of no project ---

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
        return Response(await self._service.run(document_bytes), media_type=JSON)

    async def _health(self, _: Request) -> Response:
        return _json({"status": "alive"})

    async def _metrics(self, request: Request) -> Response:
        text = await self._service.run(self._service.metrics.text_for, request.state.caller)
        return Response(text, headers={"Content-Type": METRICS_TYPE})


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


def _json(value: Any) -> Response:
    return Response(json_bytes(value), media_type=JSON)


def _key(request: Request) -> str | None:
    given = request.headers.getlist(IDEMPOTENCY_KEY)
    if len(given) > 1 or (given and not KEY_FORM.fullmatch(given[0])):
        raise InvalidInputError.one(
            IDEMPOTENCY_KEY,
            given[0],
            f"one key of 1 to {limits.IDEMPOTENCY_KEY_CHARS_MAX} characters of ASCII, without "
            "blanks, such as a UUID",
        )
    return given[0] if given else None


def remove_left_over(spool: Path) -> None:
    """What a server left that was killed while it took something in. Another may be at work beside
    us: no request of one takes so long.
    """
    since = time.time() - limits.SPOOLED_S_MAX
    for folder in spool.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if folder.is_dir() and not folder.is_symlink() and folder.stat().st_mtime < since:
                shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Certificate:
    """A certificate with its chain, and its key, each in PEM."""

    chain: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(self.chain, self.key)
        except (ssl.SSLError, OSError) as error:
            raise PlaceError(
                f"cannot use {self.chain} with the key {self.key}: {error.strerror or error}"
            ) from None
        return context


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens to nobody yet, so that its port is known before anything is said
    of it.
    """
    made: socket.socket | None = None
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # With the protocol named, asyncio sends small answers at once instead of waiting for the
        # last one's receipt.
        made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
    except (OSError, UnicodeError) as error:
        if made is not None:
            made.close()
        reason = error.strerror if isinstance(error, OSError) else "no such name"
        raise PlaceError(
            f"cannot listen at {host}, port {port}: {reason}; choose another --host or --port"
        ) from None
    return made


def server_of(app: Starlette, certificate: Certificate | None, ready: Callable[[], None]) -> Server:
    """`ready` is called when it listens."""
    # what strangers send that is no HTTP is not worth a line
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    tls: dict[str, Any] = {}
    if certificate is not None:
        context = certificate.context()
        tls = {
            "ssl_certfile": certificate.chain,
            "ssl_keyfile": certificate.key,
            "ssl_context_factory": lambda *_: context,
        }
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=limits.SHUTDOWN_S_MAX,
        limit_concurrency=limits.SERVED_CONNECTIONS_MAX,
        h11_max_incomplete_event_size=limits.REQUEST_HEAD_BYTES_MAX,
        **tls,
    )
    return Server(config, ready)


class Server(uvicorn.Server):
    """Ends with what it has taken on finished, and without an error; a second signal ends it at
    once.
    """

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002  # what it overrides has it
        if self.should_exit:
            os._exit(128 + sig)  # whatever is under way is then as if it had never begun
        self.should_exit = True


def run(server: Server, listening: socket.socket) -> None:
    """Until a signal ends it."""
    with suppress(ImportError, OSError, ValueError):  # Windows has no such bound
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        # connections whose TLS has not begun are in no count of ours
        wanted = max(soft, min(hard, limits.SERVED_FILES_MAX) if hard > 0 else 0)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    server.run(sockets=[listening])
    for thread in threading.enumerate():
        if thread.name.startswith(THREADS):
            thread.join(2.0)  # its request was given up, and its memory is closed by then
            # it would keep the process; a memory survives that it is cut off, as it does a power
            # cut
            if thread.is_alive():
                os._exit(0)
