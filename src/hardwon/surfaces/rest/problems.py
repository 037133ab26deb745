"""What went wrong, as RFC 9457 has it (`application/problem+json`; docs/serve.md lists the types)."""

from __future__ import annotations

import logging
import math
import reprlib
import traceback
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl

from pydantic import BaseModel, Field
from starlette.responses import Response

from hardwon import errors, limits
from hardwon.errors import VALUE_CHARS_SHOWN, HardwonError, InvalidInputError, Problem
from hardwon.trust.redact import redact, redact_json

# Parameters in a query; no operation has half as many.
QUERY_FIELDS_MAX: Final = 64

MEDIA_TYPE: Final = "application/problem+json"
_log: Final = logging.getLogger("hardwon.surfaces")
# Looked through for secrets before a value is cut: one that is cut in half is not known any more.
_REDACTED_CHARS: Final = 10 * VALUE_CHARS_SHOWN
_SECONDS_TO_WAIT: Final = "1"

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
    errors.FileOnlyError: "invalid-input",
    errors.UnknownRecordError: "not-found",
    errors.UnknownLessonError: "not-found",
    errors.ConflictError: "conflict",
    errors.NotAdmittedError: "not-admitted",
    errors.ForbiddenError: "forbidden",
    errors.TooManyRequestsError: "too-many-requests",
    errors.BusyError: "busy",
    errors.ClosedError: "busy",
    errors.UnreachableError: "busy",
    errors.UnknownOutcomeError: "busy",  # under its idempotency key it may be sent again
    errors.FullError: "full",
    errors.LlmError: "outside-failed",
    errors.EmbeddingError: "outside-failed",
}


class FieldProblem(BaseModel):
    """One rule that an input breaks."""

    field: str
    value: Any = Field(description="What was given, cut short, without secrets.")
    allowed: str


class ProblemAnswer(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str = Field(description="Stays the same for the same sort of problem.")
    title: str
    status: int
    detail: str = Field(description="What is wrong, and what to do about it.")
    errors: list[FieldProblem] = Field(
        default=[], description="Of an input that breaks rules: what is wrong with it."
    )


class RefusedError(Exception):
    """A request that gets no further; `name` is that of a type of problem."""

    def __init__(self, name: str, detail: str, **headers: str) -> None:
        super().__init__(detail)
        self.name, self.detail, self.headers = name, detail, headers


def answer_to(error: Exception) -> Response:
    """What is answered where something was raised. What only the server's owner should know goes to
    the log.
    """
    name = next((name for kind, name in _NAMES.items() if isinstance(error, kind)), "internal")
    wrong: list[FieldProblem] = []
    headers: dict[str, str] = {}
    if isinstance(error, RefusedError):
        name, detail, headers = error.name, error.detail, dict(error.headers)
    elif isinstance(error, InvalidInputError):
        wrong = [_show(problem) for problem in error.problems[: limits.SCREEN_ITEMS]]
        detail = "; ".join(
            f"{problem.field}: {problem.value!r} is not allowed; allowed: {problem.allowed}"
            for problem in wrong
        )
        detail = f"{error.where}: {detail}" if error.where else detail
    elif name in ("internal", "full") or isinstance(
        error, errors.UnreachableError | errors.UnknownOutcomeError
    ):
        known = isinstance(error, HardwonError)
        text = f"{type(error).__name__}: {error}" if known else traceback.format_exception(error)
        _log.error("%s", redact("".join(text))[0])
        detail = "what happened is in the server's log"
    else:
        detail = redact(str(error))[0]
    if isinstance(error, errors.TooManyRequestsError):
        headers["Retry-After"] = str(max(1, math.ceil(error.wait_s)))
    elif name == "busy":
        headers["Retry-After"] = _SECONDS_TO_WAIT
    elif name == "not-admitted":
        headers["WWW-Authenticate"] = "Bearer"
    status, title = PROBLEMS[name]
    problem = ProblemAnswer(
        type=f"urn:hardwon:problem:{name}", title=title, status=status, detail=detail, errors=wrong
    )
    return Response(problem.model_dump_json(exclude_defaults=True), status, headers, MEDIA_TYPE)


def _show(problem: Problem) -> FieldProblem:
    """Short, and without a secret, also one that only its name gives away."""
    value = problem.value
    is_small = isinstance(value, int | float) and abs(value) <= limits.JSON_INT_ABS_MAX
    if value is not None and not is_small:
        text = value if isinstance(value, str) else _bounded.repr(value)
        name = problem.field.rpartition(".")[2]
        value = _cut(str(redact_json(text[:_REDACTED_CHARS], name)[0]))
    return FieldProblem(
        field=redact(_cut(problem.field))[0], value=value, allowed=redact(problem.allowed)[0]
    )


def _cut(text: str) -> str:
    return text if len(text) <= VALUE_CHARS_SHOWN else text[:VALUE_CHARS_SHOWN] + "…"


_bounded: Final = reprlib.Repr()
_bounded.maxstring = _bounded.maxother = _bounded.maxlong = _REDACTED_CHARS
_bounded.maxlevel = 3


def parse_pairs(
    encoded: bytes, fields_max: int = QUERY_FIELDS_MAX, where: str = "query"
) -> list[tuple[str, str]]:
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
