"""`Client`: a memory behind a server, with `Memory`'s methods.

What a method takes and gives is what `Memory`'s takes and gives; the table of operations says how
it goes over the wire. The token's name is the author of what is written, and the token says which
projects it reaches.
"""

from __future__ import annotations

import inspect
import json
import secrets
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import update_wrapper
from http.client import HTTPConnection, HTTPException, HTTPResponse
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack, cast
from urllib.parse import quote, urlencode, urlsplit
from weakref import finalize

from hardwon import errors, limits
from hardwon.errors import HardwonError, InvalidInputError, Problem, ServerError
from hardwon.memory import Memory
from hardwon.memory.context import Context
from hardwon.memory.record import related_files
from hardwon.memory.results import LifeEvent
from hardwon.outside.files import repository_root
from hardwon.outside.git import Repository
from hardwon.outside.http import connect_to
from hardwon.outside.locations import DEFAULT_PROJECT
from hardwon.records.fields import check_items, check_text, check_that, check_whole_number
from hardwon.records.kinds import AnyRecord, Record
from hardwon.search.terms import FilterKeywords
from hardwon.surfaces.arguments import NOT_SENT, Enveloped, Remember
from hardwon.surfaces.operations import OPERATIONS, Operation
from hardwon.surfaces.shapes import json_bytes, jsonable, parse

# The longest pause, whatever a server asks for.
CLIENT_WAIT_S_MAX: Final = 10.0

# Pauses before a client sends a request again: together as long as a server takes to be started
# anew on a busy machine.
CLIENT_WAITS_S: Final = (0.1, 0.5, 2.0, 5.0, 10.0)

if TYPE_CHECKING:
    _Methods = Memory
else:
    _Methods = object

# How long a client waits for one answer: longer than a server waits for other writers.
CLIENT_TIMEOUT_S: Final = 30.0

# What a client reads of one answer: a page of the largest records fits in, and an endless one does
# not fill the memory.
CLIENT_ANSWER_BYTES_MAX: Final = 256 * limits.MIB


class Client(_Methods):
    """A memory at a URL. Safe to use from several threads. Close it, or use it as a context
    manager.

    A request whose answer does not arrive is sent again, a few times, under the same idempotency
    key: it is carried out once. Files (export, load, backup) go by HTTP itself: see docs/serve.md.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        project: str = DEFAULT_PROJECT,
        *,
        timeout_s: float = CLIENT_TIMEOUT_S,
        ca_file: str | Path | None = None,
        plain_http: bool = False,
    ) -> None:
        """`ca_file`: the certificates to trust instead of the system's. `plain_http`: send the
        token unencrypted to another machine, where the network is your own.
        """
        self._server = _Server(url, token, timeout_s, _make_tls(url, ca_file, plain_http))
        self.project = project
        root = repository_root(Path.cwd())
        self._repository = Repository(root) if root else None

    @property
    def location(self) -> str:
        """The server's address."""
        return self._server.origin

    def __repr__(self) -> str:
        return f"Client({self.location!r}, project={self.project!r})"

    if not TYPE_CHECKING:  # which know them from `Memory`
        __enter__, __exit__ = Memory.__enter__, Memory.__exit__
        trajectory = Memory.trajectory

    def close(self) -> None:
        """Closes the connections; closing twice is allowed."""
        self._server.close()

    def browse(
        self, limit: int | None = None, **filters: Unpack[FilterKeywords]
    ) -> Iterator[AnyRecord]:
        """Records that pass all filters, newest first, a page at a time."""
        if limit is not None:
            check_whole_number("limit", limit, 0, limits.JSON_INT_ABS_MAX)
        size = min(limits.PAGE_RECORDS_MAX, limits.PAGE_RECORDS if limit is None else max(limit, 1))

        def records(page: Any) -> Iterator[AnyRecord]:
            """The records of this page, and of those after it."""
            yield from page.records
            while page.next is not None:
                page = self.care.page(size, page.next, **filters)
                yield from page.records

        # the first page is asked for now: wrong filters are refused before anybody iterates
        return islice(records(self.care.page(size, **filters)), limit)

    def get(self, record_id: Any, as_of: datetime | str | None = None) -> AnyRecord | None:
        """The record as it stands now, or as it stood then; None where there is, or was, no such
        record.
        """
        with suppress(errors.UnknownRecordError):
            asked = {"record_id": str(record_id), "as_of": as_of}
            return cast("AnyRecord", self._ask("get", asked))
        return None

    def audit(self, record_id: Any) -> list[LifeEvent]:
        """The record's whole life; empty where there never was one."""
        with suppress(errors.UnknownRecordError):
            return cast("list[LifeEvent]", self._ask("audit", {"record_id": str(record_id)}))
        return []

    def add_many(self, records: Iterable[Any]) -> list[str]:
        """Keeps all of the records or, when one is refused, none; returns their ids."""
        shapes = [_record_json(record) for record in check_items("records", records)]
        return cast("list[str]", self._ask("add_many", {"records": shapes})) if shapes else []

    def record(self, record: Any) -> Any:
        """As `add`, and returns the record as it was kept."""
        return self.get(self.add(record))

    def _path(self, path: str, query: Mapping[str, Any] | None = None) -> str:
        whole = f"/api/v1/projects/{quote(self.project, safe='')}{path}"
        return f"{whole}?{urlencode(query)}" if query else whole

    def _ask(self, name: str, keywords: Mapping[str, Any]) -> Any:
        operation = OPERATIONS[name]
        named = {name: value for name, value in keywords.items() if value is not None}
        checked = operation.takes.model_validate(named)
        kept = checked.model_fields_set
        sent = {name: jsonable(value) for name, value in checked if name in kept}
        in_path = {name: quote(str(sent.pop(name)), safe="") for name in operation.in_path}
        path = operation.path.format(**in_path)
        if operation.method == "GET":
            query = {
                name: str(value).lower() if isinstance(value, bool) else value
                for name, value in sent.items()
            }
            answer = self._server.answer("GET", self._path(path, query))
        else:
            answer = self._server.answer("POST", self._path(path), json_bytes(sent))
        try:
            return parse(operation.gives, answer)
        except InvalidInputError as error:
            raise ServerError(
                f"{self.location} sent something else than {name} gives ({error})"
            ) from None


def _to_send(operation: Operation, sent: dict[str, Any], client: Client) -> dict[str, Any]:
    """The arguments of a call, under the names that go over the wire."""
    usual = inspect.signature(operation.find_method(Memory)).parameters
    for name in sent.keys() & NOT_SENT - operation.takes.model_fields.keys():
        value = sent.pop(name)
        allowed = "nothing: the token says who asks, and a server tells no progress"
        check_that(name in usual and value == usual[name].default, name, value, allowed)
    project = sent.pop("project", None)
    allowed = f"{client.project!r}, the project this client was made for"
    check_that(project in (None, client.project), "project", project, allowed)
    if issubclass(operation.takes, Enveloped):
        # what is known here of what is recorded: the commit, and the hashes of files
        repository = client._repository
        if repository and "git_commit" not in sent and "git_branch" not in sent:
            commit, branch = repository.head
            sent |= {"git_commit": commit, "git_branch": branch}
        if "related_files" in sent:
            files = related_files(sent["related_files"], repository.root if repository else None)
            sent["related_files"] = [file.model_dump() for file in files]
        if sent.get("recalled") is not None:
            sent["recalled"] = _ids(sent["recalled"])
    if operation.takes is Remember:
        known = Remember.model_fields.keys() - {"keys"}
        own = {name: sent.pop(name) for name in list(sent) if name not in known}
        return {**sent, "keys": own} if own else sent
    match operation.name:
        case "credit":
            sent["ids"] = _ids(sent.pop("context_or_ids"))
        case "forget":
            wanted = sent.pop("ids_or_filters", ())
            sent |= wanted if isinstance(wanted, Mapping) else {"ids": _ids(wanted) or None}
        case "add":
            sent["record"] = _record_json(sent["record"])
    return {name: jsonable(value) if name == "issue" else value for name, value in sent.items()}


def _ids(named: Any) -> list[str]:
    if isinstance(named, Context):
        return named.ids
    several = isinstance(named, Iterable) and not isinstance(named, str)
    return [str(one) for one in (named if several else [named])]


def _record_json(record: Any) -> Any:
    check_that(isinstance(record, Record), "record", record, "a record")
    return jsonable(record)


@dataclass(frozen=True)
class _ClientGroup:
    """The operations that hang on a noun, as they do on a memory."""

    _client: Client


class _ClientCare(_ClientGroup):
    def projects(self) -> list[str]:
        """The projects that have records, as far as the token reaches."""
        return cast("list[str]", self._client._server.answer("GET", "/api/v1/projects"))

    def keep_many(self, records: Iterable[Any]) -> list[Any]:
        """As `add_many`, and returns the records as they were kept."""
        return [self._client.get(kept) for kept in self._client.add_many(records)]


def _method(operation: Operation) -> Callable[..., Any]:
    """A method like `Memory`'s that asks the server."""
    original = operation.find_method(Memory)
    signature = inspect.signature(original)
    kinds = {parameter.kind: name for name, parameter in signature.parameters.items()}
    rest = kinds.get(inspect.Parameter.VAR_KEYWORD, "")

    def ask(self: Client | _ClientGroup, /, *positional: Any, **keywords: Any) -> Any:
        """What the server gives."""
        client = self._client if isinstance(self, _ClientGroup) else self
        asked = signature.bind(self, *positional, **keywords).arguments
        del asked["self"]
        asked |= asked.pop(rest, {})
        return client._ask(operation.name, _to_send(operation, asked, client))

    ask.__qualname__ = f"Client.{operation.name}"
    ask.__signature__ = signature  # type: ignore[attr-defined]
    return update_wrapper(ask, original, ("__name__", "__doc__"), ())


_groups: dict[str, type[_ClientGroup]] = {"care": _ClientCare}
for _operation in OPERATIONS.values():
    if _operation.streams:
        continue
    _noun, _, _name = _operation.name.rpartition(".")
    _owner = _groups.setdefault(_noun, type(_noun, (_ClientGroup,), {})) if _noun else Client
    if _name not in vars(_owner):
        setattr(_owner, _name, _method(_operation))
for _noun, _group in _groups.items():
    setattr(Client, _noun, property(_group))


class _Server:
    """HTTP to one server, by connections that threads take turns with."""

    def __init__(
        self, url: str, token: str | None, timeout_s: float, tls: ssl.SSLContext | None
    ) -> None:
        self.origin = url.rstrip("/")
        is_text = isinstance(token, str) and token.isascii() and token.isprintable() and token
        allowed = "a token as hardwon tokens create printed it"
        check_that(token is None or is_text, "token", "(not shown)", allowed)
        # what was compressed could be larger than its bound
        self._headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        self._headers |= {} if token is None else {"Authorization": f"Bearer {token}"}
        self._timeout_s, self._tls = timeout_s, tls
        self._free: list[HTTPConnection] = []
        self.close = finalize(self, _close_all, self._free)

    def answer(self, method: str, path: str, body: bytes | None = None) -> Any:
        """The JSON that comes back. Sent again where no answer came, or where the server says that
        it has no time.
        """
        headers = dict(self._headers)
        if body:
            key = secrets.token_hex(16)
            headers |= {"Content-Type": "application/json", "Idempotency-Key": key}
        for wait_s in (*CLIENT_WAITS_S, None):
            try:
                return self._exchange(method, path, body, headers)
            except (errors.TooManyRequestsError, errors.BusyError, _UnansweredError) as error:
                if wait_s is None:
                    raise
                asked_s = error.wait_s if isinstance(error, errors.TooManyRequestsError) else 0.0
                time.sleep(min(max(wait_s, asked_s), CLIENT_WAIT_S_MAX))
        raise AssertionError("the last attempt answers or raises")

    def _exchange(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Any:
        if not self.close.alive:
            raise errors.ClosedError(f"the client of {self.origin} was closed")
        connection, most = self._take(), CLIENT_ANSWER_BYTES_MAX
        try:
            with suppress(BrokenPipeError, ConnectionResetError):
                # a server that wants no more of it may have said why
                connection.request(method, path, body, headers)
            response = connection.getresponse()
            data = response.read(most + 1)
            if response.length and len(data) <= most:
                raise HTTPException("the answer was cut off")
        except (HTTPException, OSError) as error:
            connection.close()
            if isinstance(error, ssl.SSLCertVerificationError):
                raise ServerError(
                    f"{self.origin} has a certificate that is not trusted ({error.verify_message})"
                ) from None
            raise _UnansweredError(
                f"{self.origin} did not answer ({_words(error)}): is `hardwon serve` running there?"
            ) from None
        if response.isclosed() and not response.will_close and self.close.alive:
            self._free.append(connection)
        else:
            connection.close()
        if len(data) > most:
            raise ServerError(f"{self.origin} sent more than {most} bytes: ask for less at a time")
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            raise ServerError(
                f"{self.origin} sent no JSON (HTTP {response.status}): is it a Hardwon server?"
            ) from None
        if response.status == 200:
            return value
        raise _make_error(response, value if isinstance(value, dict) else {})

    def _take(self) -> HTTPConnection:
        """A connection that is free, or a new one."""
        with suppress(IndexError):
            return self._free.pop()
        return connect_to(self.origin, self._timeout_s, self._tls)


def _close_all(free: list[HTTPConnection]) -> None:
    while free:
        free.pop().close()


class _UnansweredError(ServerError):
    """No answer arrived; whether the request was carried out is not known."""


_ERROR_OF_STATUS: Final[Mapping[int, type[HardwonError]]] = {
    401: errors.NotAdmittedError,
    403: errors.ForbiddenError,
    404: errors.UnknownRecordError,
    409: errors.ConflictError,
    503: errors.BusyError,
    507: errors.FullError,
}


def _make_error(response: HTTPResponse, problem: Mapping[str, Any]) -> HardwonError:
    status = response.status
    detail = str(problem.get("detail") or problem.get("title") or f"HTTP {status}")
    if status == 429:
        wait = response.headers.get("Retry-After", "1")
        return errors.TooManyRequestsError(detail, float(wait) if wait.isdecimal() else 1.0)
    listed = problem.get("errors")
    problems = [
        Problem(str(one.get("field")), one.get("value"), str(one.get("allowed")))
        for one in (listed if isinstance(listed, list) else ())
        if isinstance(one, dict)
    ]
    if status in (400, 413, 422) and problems:
        return InvalidInputError(problems)
    return _ERROR_OF_STATUS.get(status, ServerError)(detail)


def _words(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _make_tls(url: str, ca_file: str | Path | None, plain_http: bool) -> ssl.SSLContext | None:
    """The certificates that the server at this address must have; None for http. Raises where the
    address is none, or would carry the token in the open.
    """
    allowed = "an address such as https://memory.example.org or http://127.0.0.1:7433"
    try:
        parts = urlsplit(check_text("url", url))
        more = parts.path.strip("/") or parts.query or "@" in parts.netloc or parts.port == 0
        is_address = parts.scheme in ("http", "https") and parts.hostname and not more
    except ValueError:
        is_address = False
    check_that(is_address, "url", url, allowed)
    if parts.scheme == "http":
        is_safe = plain_http or parts.hostname in ("127.0.0.1", "::1", "localhost")
        allowed = "https, or http to this machine; plain_http=True sends the token unencrypted to another one"
        check_that(is_safe, "url", url, allowed)
        return None
    try:
        context = ssl.create_default_context(cafile=None if ca_file is None else str(ca_file))
    except OSError as error:  # SSLError is one
        allowed = f"a file of certificates in PEM ({_words(error)})"
        raise InvalidInputError.one("ca_file", str(ca_file), allowed) from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
