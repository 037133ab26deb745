"""`Client`: a memory behind a server, with `Memory`'s methods. The standard library alone.

What a method takes and gives is what `Memory`'s takes and gives; the table of operations says how
it goes over the wire. The token's name is the author of what is written, and the token says which
projects it reaches.
"""

from __future__ import annotations

import inspect
import json
import secrets
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from hashlib import sha256
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Self
from urllib.parse import quote, urlencode, urlsplit
from weakref import WeakSet, finalize

from hardwon import limits
from hardwon.errors import (
    BusyError,
    ClosedError,
    ConflictError,
    ForbiddenError,
    FullError,
    HardwonError,
    InvalidInputError,
    NotAdmittedError,
    PlaceError,
    Problem,
    ServerError,
    TooManyRequestsError,
    UnknownRecordError,
)
from hardwon.memory import Memory, intake, renamed
from hardwon.memory.context import Context
from hardwon.memory.record import related_files
from hardwon.memory.recorders import EpisodeRecorder, TrajectoryRecorder
from hardwon.memory.results import Backup, LifeEvent, Loaded
from hardwon.outside import files, own_files
from hardwon.outside.git import Repository, repository_root
from hardwon.outside.locations import DEFAULT_PROJECT
from hardwon.records.kinds import AnyRecord, Record
from hardwon.surfaces.arguments import Enveloped, Remember
from hardwon.surfaces.operations import OPERATIONS, Operation, json_bytes, jsonable, parsed

_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
_NOT_SAID: Final = ("author", "by", "progress", "count_tokens")
"""Keywords of `Memory` that a caller elsewhere has no say in, or that do not go over a wire."""

if TYPE_CHECKING:
    _Methods = Memory
else:
    _Methods = object


class Client(_Methods):
    """A memory at a URL. Safe to use from several threads. Close it, or use it as a context
    manager.

    A request whose answer does not arrive is sent again, a few times, under the same idempotency
    key: it is carried out once.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        project: str = DEFAULT_PROJECT,
        *,
        timeout_s: float = limits.CLIENT_TIMEOUT_S,
        ca_file: str | Path | None = None,
        plain_http: bool = False,
    ) -> None:
        """`ca_file`: the certificates to trust instead of the system's. `plain_http`: send the
        token unencrypted to another machine, where the network is your own.
        """
        self._wire = _Connections(url, token, timeout_s, ca_file, plain_http)
        self.project = project
        root = repository_root(Path.cwd())
        self._repository = Repository(root) if root else None

    @property
    def location(self) -> str:
        """The server's address."""
        return self._wire.origin

    def __repr__(self) -> str:
        return f"Client({self.location!r}, project={self.project!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return renamed(self, name)

    def close(self) -> None:
        """Closes the connections; closing twice is allowed."""
        self._wire.close()

    # --- what is more than one request, or none ---

    def browse(self, limit: int | None = None, **filters: Any) -> Iterator[AnyRecord]:
        """Records that pass all filters, newest first, a page at a time."""
        if limit is not None:
            intake.whole_number("limit", limit, 0, limits.JSON_INT_ABS_MAX)
        size = min(limits.PAGE_RECORDS_MAX, limits.PAGE_RECORDS if limit is None else max(limit, 1))
        # what is wrong with the filters is told before anybody iterates
        first = self.care.page(size, **filters)
        return self._browsed(first, limit, size, filters)

    def _browsed(
        self, page: Any, limit: int | None, size: int, filters: dict[str, Any]
    ) -> Iterator[AnyRecord]:
        given = 0
        while True:
            for record in page.records:
                if limit is not None and given >= limit:
                    return
                given += 1
                yield record
            if page.next is None or given == limit:
                return
            page = self.care.page(size, page.next, **filters)

    def get(self, record_id: Any, as_of: datetime | str | None = None) -> AnyRecord | None:
        """The record as it stands now, or as it stood then; None where there is, or was, no such
        record.
        """
        with suppress(UnknownRecordError):
            found: AnyRecord = self._ask(
                OPERATIONS["get"], {"record_id": str(record_id), "as_of": as_of}
            )
            return found
        return None

    def audit(self, record_id: Any) -> list[LifeEvent]:
        """The record's whole life; empty where there never was one."""
        with suppress(UnknownRecordError):
            life: list[LifeEvent] = self._ask(OPERATIONS["audit"], {"record_id": str(record_id)})
            return life
        return []

    def add_many(self, records: Iterable[Any]) -> list[str]:
        """Keeps all of the records or, when one is refused, none; returns their ids."""
        given = [_as_json(record) for record in intake.items("records", records)]
        added: list[str] = self._ask(OPERATIONS["add_many"], {"records": given}) if given else []
        return added

    def record(self, record: Any) -> Any:
        """As `add`, and returns the record as it was kept."""
        return self.get(self.add(record))

    def trajectory(self, task: str, **envelope: Any) -> TrajectoryRecorder:
        """`with client.trajectory(task) as t: t.step(action, observation, reward)`: recorded
        whatever happens in the block.
        """
        return TrajectoryRecorder(self, task, envelope)  # type: ignore[arg-type]  # an envelope is a dictionary

    def episode(self, task_id: str, **envelope: Any) -> EpisodeRecorder:
        """`with client.episode(task_id) as ep: ep.score = 0.4`: recorded whatever happens in the
        block.
        """
        return EpisodeRecorder(self, task_id, envelope)  # type: ignore[arg-type]

    # --- streams ---

    def export(
        self,
        path: str | Path,
        format: Literal["jsonl", "json"] = "jsonl",  # noqa: A002
        progress: Any = None,
    ) -> int:
        """Writes every record of the project to a file of this machine, one JSON object a line;
        returns how many.
        """
        if format != "jsonl":
            raise InvalidInputError.one("format", format, "jsonl")
        if progress is not None:
            raise InvalidInputError.one("progress", progress, "None: a server does not tell")
        count = 0
        target = own_files.target("path", intake.path("path", path), self.location, "records.jsonl")
        with (
            files.writing_atomically(target) as file,
            self._stream(OPERATIONS["export"]) as response,
        ):
            for line in self._wire.lines(response):
                file.write(line)
                count += 1
        return count

    def load(
        self, path: str | Path, dry_run: bool = False, by: str = "user", progress: Any = None
    ) -> Loaded:
        """Adds the records of an exported file of this machine; needs a token with the scope
        admin.
        """
        said = {"dry_run": dry_run, "by": by, "progress": progress}
        _refuse_unsendable("load", said)
        query = {"dry_run": "true"} if dry_run else {}
        answer = self._wire.upload(self._path("/import", query), intake.path("path", path))
        loaded: Loaded = parsed(Loaded, answer)
        return loaded

    def backup(self, path: str | Path, progress: Any = None) -> Backup:
        """Copies the whole memory to a file of this machine, verified; needs a token with the scope
        admin.
        """
        if progress is not None:
            raise InvalidInputError.one("progress", progress, "None: a server does not tell")
        target = intake.path("path", path)
        if files.exists(target):  # as where the memory is of this machine
            raise PlaceError(
                f"{target} exists already and is kept: choose another name for the backup"
            )
        with (
            files.writing_atomically(target) as file,
            self._stream(OPERATIONS["backup"]) as response,
        ):
            told, digest = response.getheader("Hardwon-SHA256", ""), sha256()
            for data in self._wire.pieces(response):
                file.write(data)
                digest.update(data)
            found = digest.hexdigest()
            if found != told:
                raise ServerError(f"the backup arrived damaged from {self.location}: try again")
        return Backup(target, found, target.stat().st_size)

    def _stream(self, operation: Operation) -> Any:
        return self._wire.stream(self._path(operation.path))

    # --- one request ---

    def _path(self, path: str, query: Mapping[str, Any] | None = None) -> str:
        whole = f"/api/v1/projects/{quote(self.project, safe='')}{path}"
        return f"{whole}?{urlencode(query)}" if query else whole

    def _ask(self, operation: Operation, said: Mapping[str, Any]) -> Any:
        checked = operation.takes.model_validate(
            {name: value for name, value in said.items() if value is not None}
        )
        sent = {
            name: jsonable(value) for name, value in checked if name in checked.model_fields_set
        }
        path = operation.path.format(
            **{name: quote(str(sent.pop(name)), safe="") for name in operation.in_path}
        )
        if operation.method == "GET":
            answer = self._wire.answer(
                "GET", self._path(path, {name: _in_query(value) for name, value in sent.items()})
            )
        else:
            answer = self._wire.answer(
                "POST", self._path(path), json_bytes(sent), secrets.token_hex(16)
            )
        try:
            return parsed(operation.gives, answer)
        except InvalidInputError as error:
            raise ServerError(
                f"{self.location} sent something else than {operation.name} gives ({error})"
            ) from None

    def _here(self, said: dict[str, Any]) -> dict[str, Any]:
        """With what is known here of what is recorded: the commit, and the hashes of files."""
        root = self._repository.root if self._repository else None
        if self._repository and "git_commit" not in said and "git_branch" not in said:
            head = self._repository.head
            said |= {"git_commit": head.commit, "git_branch": head.branch}
        if "related_files" in said:
            said["related_files"] = [
                file.model_dump() for file in related_files(said["related_files"], root)
            ]
        recalled = said.get("recalled")
        if recalled is not None:
            said["recalled"] = (
                recalled.ids if isinstance(recalled, Context) else [str(each) for each in recalled]
            )
        return said


def _in_query(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _refuse_unsendable(name: str, said: dict[str, Any]) -> None:
    """Takes out what a caller elsewhere has no say in, and refuses it where it was said all the
    same.
    """
    usual = inspect.signature(OPERATIONS[name].method_of(Memory)).parameters
    for unsendable in _NOT_SAID:
        if unsendable not in said or (name == "verify" and unsendable == "by"):
            continue
        value = said.pop(unsendable)
        if unsendable not in usual or value != usual[unsendable].default:
            raise InvalidInputError.one(
                unsendable,
                value,
                "nothing: the token says who asks, and a server tells no progress",
            )


def _said(operation: Operation, arguments: inspect.BoundArguments) -> dict[str, Any]:
    """The arguments of a call by name, those behind `**` among the others."""
    said: dict[str, Any] = {}
    for name, value in arguments.arguments.items():
        kind = arguments.signature.parameters[name].kind
        said |= value if kind is inspect.Parameter.VAR_KEYWORD else {name: value}
    _refuse_unsendable(operation.name, said)
    return said


def _wired(operation: Operation, said: dict[str, Any], client: Client) -> dict[str, Any]:
    """What a caller said, under the names that go over the wire."""
    asked = said.pop("project", None)
    if asked not in (None, client.project):
        raise InvalidInputError.one(
            "project", asked, f"{client.project!r}, the project this client was made for"
        )
    if issubclass(operation.takes, Enveloped):
        said = client._here(said)
    if operation.takes is Remember:
        known = Remember.model_fields.keys() - {"keys"}
        own = {name: said.pop(name) for name in list(said) if name not in known}
        return {**said, "keys": own} if own else said
    match operation.name:
        case "credit":
            said["ids"] = _ids(said.pop("context_or_ids"))
        case "forget":
            given = said.pop("ids_or_filters", ())
            said |= given if isinstance(given, Mapping) else {"ids": _ids(given)} if given else {}
        case "add":
            said["record"] = _as_json(said["record"])
    return {name: jsonable(value) if name == "issue" else value for name, value in said.items()}


def _ids(given: Any) -> list[str]:
    if isinstance(given, Context):
        return given.ids
    return (
        [str(given)]
        if isinstance(given, str) or not isinstance(given, Iterable)
        else [str(each) for each in given]
    )


def _as_json(record: Any) -> Any:
    if not isinstance(record, Record):
        raise InvalidInputError.one("record", record, "a record")
    return jsonable(record)


class _Group:
    """The operations that hang on a noun, as they do on a memory."""

    def __init__(self, client: Client) -> None:
        self._client = client


class _ClientCare(_Group):
    def projects(self) -> list[str]:
        """The projects that have records, as far as the token reaches."""
        found: list[str] = self._client._wire.answer("GET", "/api/v1/projects")
        return found

    def keep_many(self, records: Iterable[Any]) -> list[Any]:
        """As `add_many`, and returns the records as they were kept."""
        return [self._client.get(kept) for kept in self._client.add_many(records)]


def _method(operation: Operation) -> Callable[..., Any]:
    """A method like `Memory`'s that asks the server."""
    original = operation.method_of(Memory)
    signature = inspect.signature(original)

    def ask(self: Client | _Group, /, *positional: Any, **keywords: Any) -> Any:
        client = self._client if isinstance(self, _Group) else self
        said = _said(operation, signature.bind(self, *positional, **keywords))
        said.pop("self")
        return client._ask(operation, _wired(operation, said, client))

    ask.__name__ = original.__name__
    ask.__qualname__ = f"Client.{operation.name}"
    ask.__doc__ = original.__doc__
    ask.__signature__ = signature  # type: ignore[attr-defined]
    return ask


_groups: dict[str, type[_Group]] = {"care": _ClientCare}
for _operation in OPERATIONS.values():
    _noun, _, _name = _operation.name.rpartition(".")
    _owner = _groups.setdefault(_noun, type(_noun, (_Group,), {})) if _noun else Client
    if _name not in vars(_owner):
        setattr(_owner, _name, _method(_operation))
for _noun, _group in _groups.items():
    setattr(Client, _noun, property(_group))


# --- the wire ---


class _Address(NamedTuple):
    host: str
    port: int
    tls: ssl.SSLContext | None


class _Held:
    """A thread's connection: closed when the thread is no more."""

    def __init__(self, connection: HTTPConnection) -> None:
        self.connection = connection
        finalize(self, connection.close)


class _Connections:
    """HTTP to one server: a connection for each thread, kept open between requests."""

    def __init__(
        self,
        url: str,
        token: str | None,
        timeout_s: float,
        ca_file: str | Path | None,
        plain_http: bool,
    ) -> None:
        self._place = _place_of(url, ca_file, plain_http)
        self.origin = url.rstrip("/")
        if token is not None and not (
            isinstance(token, str) and token.isascii() and token.isprintable() and token
        ):
            raise InvalidInputError.one(
                "token", "(not shown)", "a token as hardwon tokens create printed it"
            )
        self._authorization = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._timeout_s = timeout_s
        self._of_thread = threading.local()
        self._all: WeakSet[HTTPConnection] = WeakSet()
        self._lock = threading.Lock()
        self._closed = False

    def close(self) -> None:
        with self._lock:
            connections, self._closed = list(self._all), True
        for connection in connections:
            connection.close()

    def answer(
        self, method: str, path: str, body: bytes | None = None, key: str | None = None
    ) -> Any:
        """The JSON that comes back. Sent again where no answer came, or where the server says that
        it has no time.
        """
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if key is not None:
            headers["Idempotency-Key"] = key
        for wait_s in (*limits.CLIENT_WAITS_S, None):
            try:
                return self._json(self._send(method, path, body, headers))
            except (TooManyRequestsError, BusyError, _UnansweredError) as error:
                if wait_s is None:
                    raise
                asked_s = error.wait_s if isinstance(error, TooManyRequestsError) else 0.0
                time.sleep(min(max(wait_s, asked_s), limits.CLIENT_WAIT_S_MAX))
        raise AssertionError("the last attempt answers or raises")

    @contextmanager
    def stream(self, path: str) -> Iterator[HTTPResponse]:
        """An answer to be read in pieces, on a connection of its own."""
        with closing(self._connect()) as connection:
            try:
                connection.request(
                    "GET", path, headers={**self._authorization, "Connection": "close"}
                )
                response = connection.getresponse()
            except (OSError, HTTPException) as error:
                raise self._unanswered(error) from None
            with closing(response):
                if response.status != 200:
                    self._json(response)
                yield response

    def lines(self, response: HTTPResponse) -> Iterator[bytes]:
        """Every line of an answer. One that was cut off is an error, also where it was cut off
        between two lines.
        """
        rest = b""
        for piece in self.pieces(response):
            *whole, rest = (rest + piece).split(b"\n")
            yield from (line + b"\n" for line in whole)
            if len(rest) > limits.RECORD_BYTES_MAX:
                raise ServerError(
                    f"{self.origin} sent a line that is longer than any record: is it a Hardwon "
                    f"server?"
                )
        if rest:
            raise ServerError(
                f"the answer of {self.origin} ends in the middle of a record: try again"
            )

    def pieces(self, response: HTTPResponse) -> Iterator[bytes]:
        try:
            while data := response.read(limits.HASHED_AT_ONCE_BYTES):
                yield data
        except (OSError, HTTPException) as error:
            raise self._unanswered(error) from None
        self._check_all_came(response)

    def _check_all_came(self, response: HTTPResponse) -> None:
        """`read` says nothing where an answer ends before its length is reached."""
        if response.length:
            raise _UnansweredError(
                f"the answer of {self.origin} was cut off, {response.length} bytes before its end: "
                f"try again"
            )

    def upload(self, path: str, source: Path) -> Any:
        headers = {
            **self._authorization,
            "Content-Type": "application/x-ndjson",
            "Content-Length": str(source.stat().st_size),
        }
        try:
            with source.open("rb") as file, closing(self._connect()) as connection:
                connection.request("POST", path, file, headers)
                return self._json(connection.getresponse())
        except (OSError, HTTPException) as error:
            raise ServerError(f"cannot send {source} to {self.origin} ({_words(error)})") from None

    def _connect(self) -> HTTPConnection:
        if self._closed:
            raise ClosedError(f"the client of {self.origin} was closed")
        host, port, tls = self._place
        if tls is None:
            return HTTPConnection(host, port, timeout=self._timeout_s)
        return HTTPSConnection(host, port, timeout=self._timeout_s, context=tls)

    def _send(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> HTTPResponse:
        connection = self._of_this_thread()
        try:
            connection.request(method, path, body, {**headers, **self._authorization})
            response: HTTPResponse = connection.getresponse()
            return response
        except (OSError, HTTPException) as error:
            connection.close()  # the next request opens it anew
            if isinstance(error, ssl.SSLCertVerificationError):
                raise ServerError(
                    f"{self.origin} has a certificate that is not trusted ({error.verify_message})"
                ) from None
            raise self._unanswered(error) from None

    def _of_this_thread(self) -> HTTPConnection:
        held: _Held | None = getattr(self._of_thread, "held", None)
        if held is None or self._closed:
            held = self._of_thread.held = _Held(self._connect())
            with self._lock:
                self._all.add(held.connection)
        return held.connection

    def _unanswered(self, error: Exception) -> ServerError:
        return _UnansweredError(
            f"{self.origin} did not answer ({_words(error)}): is `hardwon serve` running there?"
        )

    def _json(self, response: HTTPResponse) -> Any:
        try:
            data = response.read(limits.CLIENT_ANSWER_BYTES_MAX + 1)
        except (OSError, HTTPException) as error:
            self._of_thread.held = None
            raise self._unanswered(error) from None
        if len(data) > limits.CLIENT_ANSWER_BYTES_MAX:
            self._of_thread.held = None
            raise ServerError(
                f"{self.origin} sent more than {limits.CLIENT_ANSWER_BYTES_MAX} bytes: ask for "
                f"less at a time"
            )
        self._check_all_came(response)
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            raise ServerError(
                f"{self.origin} sent no JSON (HTTP {response.status}): is it a Hardwon server?"
            ) from None
        if response.status == 200:
            return value
        raise _error_of(response, value if isinstance(value, dict) else {})


class _UnansweredError(ServerError):
    """No answer arrived; whether the request was carried out is not known."""


_ERROR_OF_STATUS: Final[Mapping[int, type[HardwonError]]] = {
    401: NotAdmittedError,
    403: ForbiddenError,
    404: UnknownRecordError,
    409: ConflictError,
    503: BusyError,
    507: FullError,
}


def _error_of(response: HTTPResponse, problem: Mapping[str, Any]) -> HardwonError:
    said = str(problem.get("detail") or problem.get("title") or f"HTTP {response.status}")
    if response.status == 429:
        wait = response.getheader("Retry-After", "1")
        return TooManyRequestsError(said, float(wait) if wait.isdecimal() else 1.0)
    listed = problem.get("errors")
    if response.status in (400, 413, 422) and isinstance(listed, list) and listed:
        told = [
            Problem(str(one.get("field")), one.get("value"), str(one.get("allowed")))
            for one in listed
            if isinstance(one, dict)
        ]
        return InvalidInputError(told) if told else ServerError(said)
    return _ERROR_OF_STATUS.get(response.status, ServerError)(said)


def _words(error: Exception) -> str:
    return (
        error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    ) or type(error).__name__


def _place_of(url: str, ca_file: str | Path | None, plain_http: bool) -> _Address:
    allowed = "an address such as https://memory.example.org or http://127.0.0.1:7433"
    try:
        parts = urlsplit(intake.text("url", url))
        port = parts.port
    except ValueError:
        raise InvalidInputError.one("url", url, allowed) from None
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or parts.path.strip("/")
        or parts.query
        or "@" in parts.netloc
    ):
        raise InvalidInputError.one("url", url, allowed)
    if parts.scheme == "https":
        try:
            context = ssl.create_default_context(cafile=None if ca_file is None else str(ca_file))
        except OSError as error:  # SSLError is one
            raise InvalidInputError.one(
                "ca_file", str(ca_file), f"a file of certificates in PEM ({_words(error)})"
            ) from None
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        return _Address(parts.hostname, port or 443, context)
    if parts.hostname not in _LOOPBACK and not plain_http:
        raise InvalidInputError.one(
            "url",
            url,
            "https, or http to this machine; plain_http=True sends the token "
            "unencrypted to another one",
        )
    return _Address(parts.hostname, port or 80, None)
