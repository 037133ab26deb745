"""What went wrong, as RFC 9457 has it (`application/problem+json`). docs/serve.md lists the types."""

from __future__ import annotations

import json
import logging
import math
import reprlib
import traceback
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from starlette.responses import Response

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
from hardwon.govern.redaction import redact, redact_json

MEDIA_TYPE: Final = "application/problem+json"
_log: Final = logging.getLogger("hardwon.serve")
_REDACTED_CHARS: Final = 10 * VALUE_CHARS_SHOWN
"""Looked through for secrets before a value is cut: one that is cut in half is not known any more."""


class Sort(NamedTuple):
    """A type of problem: `urn:hardwon:problem:` and its name."""

    status: int
    name: str
    title: str

    @property
    def type(self) -> str:
        return f"urn:hardwon:problem:{self.name}"


NOT_ADMITTED: Final = Sort(401, "not-admitted", "No valid token was sent")
FORBIDDEN: Final = Sort(403, "forbidden", "The token does not reach that far")
FOREIGN_ORIGIN: Final = Sort(403, "foreign-origin", "Pages of other sites may not ask")
NOT_FOUND: Final = Sort(404, "not-found", "There is nothing of that name")
WRONG_METHOD: Final = Sort(405, "wrong-method", "That is not done there")
TOO_SLOW: Final = Sort(408, "too-slow", "The body did not arrive in time")
CONFLICT: Final = Sort(409, "conflict", "Something else is there already")
TOO_LARGE: Final = Sort(413, "too-large", "The body is too large")
ADDRESS_TOO_LONG: Final = Sort(414, "address-too-long", "The address is too long")
WRONG_MEDIA_TYPE: Final = Sort(415, "wrong-media-type", "The body is of another type than what is read here")
FOREIGN_HOST: Final = Sort(421, "foreign-host", "The server does not go by that name")
INVALID_INPUT: Final = Sort(422, "invalid-input", "The input breaks a rule")
TOO_MANY: Final = Sort(429, "too-many-requests", "The caller asks too often")
HEADERS_TOO_LARGE: Final = Sort(431, "headers-too-large", "The headers are too large")
INTERNAL: Final = Sort(500, "internal", "The server failed")
OUTSIDE: Final = Sort(502, "outside-failed", "A model that the server asks gave no answer that can be used")
BUSY: Final = Sort(503, "busy", "The server is busy")
FULL: Final = Sort(507, "full", "There is no room")

SORTS: Final = (
    NOT_ADMITTED,
    FORBIDDEN,
    FOREIGN_ORIGIN,
    NOT_FOUND,
    WRONG_METHOD,
    TOO_SLOW,
    CONFLICT,
    TOO_LARGE,
    ADDRESS_TOO_LONG,
    WRONG_MEDIA_TYPE,
    FOREIGN_HOST,
    INVALID_INPUT,
    TOO_MANY,
    HEADERS_TOO_LARGE,
    INTERNAL,
    OUTSIDE,
    BUSY,
    FULL,
)

_SORT_OF: Final[tuple[tuple[type[HardwonError], Sort], ...]] = (
    (InvalidInputError, INVALID_INPUT),
    (FileOnlyError, INVALID_INPUT),
    (UnknownRecordError, NOT_FOUND),
    (ConflictError, CONFLICT),
    (NotAdmittedError, NOT_ADMITTED),
    (ForbiddenError, FORBIDDEN),
    (TooManyRequestsError, TOO_MANY),
    (BusyError, BUSY),
    (ClosedError, BUSY),
    (UnreachableError, BUSY),
    (UnknownOutcomeError, BUSY),  # under its idempotency key it may be sent again
    (FullError, FULL),
    (LlmError, OUTSIDE),
    (EmbeddingError, OUTSIDE),
)
_UNTOLD: Final = "what happened is in the server's log"


class RefusedError(Exception):
    """A request that gets no further; `sort` says why."""

    def __init__(self, sort: Sort, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.sort, self.detail, self.headers = sort, detail, dict(headers or {})


def answer_to(error: Exception) -> Response:
    """What is answered where something was raised. What only the server's owner should know goes to the log."""
    if isinstance(error, RefusedError):
        return _answer(error.sort, error.detail, headers=error.headers)
    sort = next((sort for known, sort in _SORT_OF if isinstance(error, known)), INTERNAL)
    if isinstance(error, InvalidInputError):
        shown = [_shown(problem) for problem in error.problems[: limits.PROBLEMS_SHOWN_MAX]]
        said = "; ".join(f"{each['field']}: {each['value']!r} is not allowed; allowed: {each['allowed']}" for each in shown)
        return _answer(sort, f"{error.where}: {said}" if error.where else said, shown)
    if sort in (INTERNAL, FULL) or isinstance(error, UnreachableError | UnknownOutcomeError):
        known = isinstance(error, HardwonError)
        said = f"{type(error).__name__}: {error}" if known else "".join(traceback.format_exception(error))
        _log.error("%s", redact(said)[0])
        return _answer(sort, _UNTOLD, headers=_headers_of(error, sort))
    return _answer(sort, redact(str(error))[0], headers=_headers_of(error, sort))


def _headers_of(error: Exception, sort: Sort) -> dict[str, str]:
    if sort is NOT_ADMITTED:
        return {"WWW-Authenticate": "Bearer"}
    if isinstance(error, TooManyRequestsError):
        return {"Retry-After": str(max(1, math.ceil(error.wait_s)))}
    return {"Retry-After": str(limits.RETRY_AFTER_S)} if sort is BUSY else {}


def _answer(
    sort: Sort, detail: str, errors: Sequence[Mapping[str, Any]] = (), headers: Mapping[str, str] | None = None
) -> Response:
    told = {"type": sort.type, "title": sort.title, "status": sort.status, "detail": detail}
    if errors:
        told["errors"] = list(errors)
    return Response(json.dumps(told, ensure_ascii=True), sort.status, headers, MEDIA_TYPE)


def _shown(problem: Problem) -> dict[str, Any]:
    name = problem.field.rpartition(".")[2]
    return {
        "field": redact(_cut(problem.field))[0],
        "value": _shown_value(problem.value, name),
        "allowed": redact(problem.allowed)[0],
    }


def _shown_value(value: object, name: str) -> Any:
    """Short, and without a secret, also one that only its name gives away."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float) and abs(value) <= limits.JSON_INT_ABS_MAX:
        return value
    text = value if isinstance(value, str) else _bounded.repr(value)
    cleaned = str(redact_json(text[:_REDACTED_CHARS], name)[0])
    return _cut(cleaned)


def _cut(text: str) -> str:
    return text if len(text) <= VALUE_CHARS_SHOWN else text[:VALUE_CHARS_SHOWN] + "…"


_bounded: Final = reprlib.Repr()
_bounded.maxstring = _bounded.maxother = _bounded.maxlong = _REDACTED_CHARS
_bounded.maxlevel = 3
