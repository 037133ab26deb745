"""The OpenAPI document of the REST surface, made from the table of operations."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any, Final

import hardwon
from hardwon import limits
from hardwon.surfaces.arguments import EXAMPLE_ID
from hardwon.surfaces.operations import OPERATIONS, Operation
from hardwon.surfaces.rest.guard import LIVENESS
from hardwon.surfaces.rest.problems import MEDIA_TYPE, ProblemAnswer, make_problem
from hardwon.surfaces.shapes import make_schemas

API: Final = "/api/v1"
PROJECTS: Final = f"{API}/projects"
READINESS: Final = "/readyz"
METRICS: Final = "/metrics"
IDEMPOTENCY_KEY: Final = "Idempotency-Key"
KEY_FORM: Final = re.compile(f"[!-~]{{1,{limits.IDEMPOTENCY_KEY_CHARS_MAX}}}")
JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
DATABASE: Final = "application/vnd.sqlite3"
CHECKSUM: Final = "Hardwon-SHA256"
_REF: Final = "#/components/schemas/{model}"
_PROJECT: Final[dict[str, Any]] = {
    "name": "project",
    "in": "path",
    "required": True,
    "description": "The project whose memory it is about.",
    "schema": {"type": "string", "minLength": 1, "maxLength": limits.NAME_CHARS_MAX},
    "example": "default",
}
_KEY: Final[dict[str, Any]] = {
    "name": IDEMPOTENCY_KEY,
    "in": "header",
    "required": False,
    "description": "Any text of your own, such as a UUID. The same request under the same key is "
    "carried out once.",
    "schema": {
        "type": "string",
        "minLength": 1,
        "maxLength": limits.IDEMPOTENCY_KEY_CHARS_MAX,
        "pattern": "^[!-~]+$",
    },
}
_NULL: Final = {"type": "null"}
_PROBLEM: Final = {"$ref": "#/components/responses/Problem"}
_EXAMPLE_LINE: Final = {
    "kind": "fact",
    "id": EXAMPLE_ID,
    "content": "Uploads over 2 GB fail with HTTP 413.",
    "fact_type": "error",
}
_STATUS: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["status"],
    "properties": {"status": {"type": "string"}},
}


def make_path(operation: Operation) -> str:
    """The operation's address, with what it takes in braces."""
    return f"{PROJECTS}/{{project}}{operation.path}"


@cache
def document_bytes() -> bytes:
    """The document as it is sent."""
    return json.dumps(document()).encode()


@cache
def document() -> dict[str, Any]:
    """The whole document."""
    shapes: dict[str, Any] = {"problem": ProblemAnswer}
    for operation in OPERATIONS.values():
        shapes[f"{operation.name} takes"] = operation.takes
        shapes[f"{operation.name} gives"] = operation.gives
    made, shared = make_schemas(shapes, _REF)
    # an issue may say of each of its fields that there is none: programs that write them do
    issue = shared["Issue"]["properties"]
    for name, field in issue.items():
        about = {"description": field.get("description", "")}
        issue[name] = (
            {"anyOf": [field, _NULL], **about} if _NULL not in field.get("anyOf", ()) else field
        )
    paths: dict[str, dict[str, Any]] = _describe_server()
    for operation in OPERATIONS.values():
        # What an operation takes is described where it is taken, not among the definitions.
        reference = made[f"{operation.name} takes"].get("$ref", "")
        takes = shared.get(reference.rpartition("/")[2]) or made[f"{operation.name} takes"]
        described = _describe(operation, takes, made[f"{operation.name} gives"])
        paths.setdefault(make_path(operation), {})[operation.method.lower()] = described
    for operation in OPERATIONS.values():
        shared.pop(operation.takes.__name__, None)
    token = {
        "type": "http",
        "scheme": "bearer",
        "description": "What `hardwon tokens create` prints.",
    }
    problem = {
        "description": "What went wrong; with 429 and 503 the header Retry-After says when to try again.",
        "content": {
            MEDIA_TYPE: {
                "schema": made["problem"],
                "example": make_problem("busy", "…").model_dump(exclude_defaults=True),
            }
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Hardwon",
            "version": hardwon.__version__,
            "description": "An experience memory for AI agents: what was tried, how it turned out, "
            "and what to do next time.",
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": token},
            "schemas": shared,
            "responses": {"Problem": problem},
        },
    }


def _describe_server() -> dict[str, Any]:
    """What is of no project."""
    names = {"type": "array", "items": {"type": "string"}}
    reached = "The projects that have records and that the token reaches."
    alive = _get("health", "Whether the server runs. Needs no token.", _STATUS)
    described = {
        PROJECTS: _get("projects", reached, names),
        f"{API}/openapi.json": _get("openapi", "This document.", {"type": "object"}),
        READINESS: _get("ready", "Whether the memory answers.", _STATUS),
        METRICS: _get("metrics", "Figures for Prometheus.", {"type": "string"}, "text/plain"),
        LIVENESS: {**alive, "security": []},
    }
    return {path: {"get": about} for path, about in described.items()}


def _get(name: str, summary: str, gives: dict[str, Any], media_type: str = JSON) -> dict[str, Any]:
    answer = {"description": "What was asked for.", "content": {media_type: {"schema": gives}}}
    return {
        "operationId": name,
        "summary": summary,
        "tags": ["server"],
        "responses": {"200": answer, "default": _PROBLEM},
    }


def _describe(operation: Operation, takes: dict[str, Any], gives: dict[str, Any]) -> dict[str, Any]:
    fields, required = dict(takes.get("properties", {})), set(takes.get("required", ()))
    parameters = [_PROJECT]
    parameters += [_parameter(name, fields.pop(name), "path", True) for name in operation.in_path]
    if operation.method == "GET" or operation.streams == "in":
        parameters += [
            _parameter(name, schema, "query", name in required) for name, schema in fields.items()
        ]
    if operation.again is not None:
        parameters.append(_KEY)
    reach = " that reaches all projects" if operation.whole else ""
    described = {
        "operationId": operation.name,
        "summary": operation.description.partition(". ")[0].rstrip(".") + ".",
        "description": f"{operation.description}\n\nTakes a token with the scope "
        f"`{operation.scope}`{reach}.",
        "tags": [operation.scope],
        "x-scope": operation.scope,
        "parameters": parameters,
        "responses": {"200": _describe_answer(operation, gives), "default": _PROBLEM},
    }
    if operation.streams == "in":
        text = "One record a line, with its id, as an export has them."
        schema: dict[str, Any] = {"type": "string", "description": text}
        example = json.dumps(_EXAMPLE_LINE) + "\n"
        content = {NDJSON: {"schema": schema, "example": example}}
        described["requestBody"] = {"required": True, "content": content}
    elif operation.method == "POST":
        needed = [name for name in fields if name in required]
        about = " ".join((operation.takes.__doc__ or "").split())
        schema = {**takes, "properties": fields, "required": needed, "description": about}
        schema.pop("title", None)
        examples = {
            name: field["examples"][0] for name, field in fields.items() if field.get("examples")
        }
        content = {JSON: {"schema": schema, "example": examples}}
        described["requestBody"] = {"required": bool(needed), "content": content}
    return described


def _describe_answer(operation: Operation, gives: dict[str, Any]) -> dict[str, Any]:
    if operation.name == "export":
        lines = {"type": "string", "description": "One record a line, as JSON."}
        return {"description": "Every record.", "content": {NDJSON: {"schema": lines}}}
    if operation.name == "backup":
        digest = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
        header = {"description": "The SHA-256 of the file, in hex.", "schema": digest}
        return {
            "description": "The memory's file.",
            "headers": {CHECKSUM: header},
            "content": {DATABASE: {"schema": {"type": "string", "contentEncoding": "binary"}}},
        }
    return {"description": "What was asked for, or made.", "content": {JSON: {"schema": gives}}}


def _parameter(name: str, field: dict[str, Any], place: str, required: bool) -> dict[str, Any]:
    schema = _leave_out_null(field)
    parameter = {"name": name, "in": place, "required": required, "schema": schema}
    if place == "query" and schema.get("maxLength", 0) > limits.QUERY_TEXT_CHARS_MAX:
        schema["maxLength"] = limits.QUERY_TEXT_CHARS_MAX
    if "description" in schema:
        parameter["description"] = schema.pop("description")
    if "examples" in schema:
        parameter["example"] = schema.pop("examples")[0]
    return parameter


def _leave_out_null(field: dict[str, Any]) -> dict[str, Any]:
    """A parameter that says nothing is left out; an address has no null."""
    rest = {name: value for name, value in field.items() if name not in ("anyOf", "title")}
    if rest.get("default", "") is None:
        del rest["default"]
    choices = [_leave_out_null(choice) for choice in field.get("anyOf", ()) if choice != _NULL]
    if len(choices) > 1:
        return {**rest, "anyOf": choices}
    return {**choices[0], **rest} if choices else rest
