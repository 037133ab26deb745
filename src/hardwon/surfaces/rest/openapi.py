"""The OpenAPI document of the REST surface, made from the table of operations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

import hardwon
from hardwon import limits
from hardwon.surfaces.arguments import EXAMPLE_ID, Arguments
from hardwon.surfaces.operations import OPERATIONS, REF, Operation, schemas_of
from hardwon.surfaces.rest.guard import (
    ADDRESS_TOO_LONG,
    BUSY,
    CONFLICT,
    FORBIDDEN,
    FOREIGN_HOST,
    FULL,
    HEADERS_TOO_LARGE,
    INTERNAL,
    INVALID_INPUT,
    LIVENESS,
    MEDIA_TYPE,
    NOT_ADMITTED,
    NOT_FOUND,
    OUTSIDE,
    SORTS,
    TOO_LARGE,
    TOO_MANY,
    TOO_SLOW,
    WRONG_MEDIA_TYPE,
    ProblemType,
)
from hardwon.surfaces.rest.streams import CHECKSUM, DATABASE, NDJSON

API: Final = "/api/v1"
PROJECTS: Final = f"{API}/projects"
READINESS: Final = "/readyz"
METRICS: Final = "/metrics"
IDEMPOTENCY_KEY: Final = "Idempotency-Key"
KEY_FORM: Final = re.compile(f"[!-~]{{1,{limits.IDEMPOTENCY_KEY_CHARS_MAX}}}")

_JSON: Final = "application/json"
_EVERYWHERE: Final = (
    NOT_ADMITTED,
    FORBIDDEN,
    ADDRESS_TOO_LONG,
    FOREIGN_HOST,
    TOO_MANY,
    HEADERS_TOO_LARGE,
    INTERNAL,
    BUSY,
)
_WITH_BODY: Final = (TOO_SLOW, TOO_LARGE, WRONG_MEDIA_TYPE)
_ASKING_MODELS: Final = ("record_fact", "consolidate")
_WAITING: Final = {TOO_MANY.status, BUSY.status}
_PROBLEM: Final[dict[str, Any]] = {
    "type": "object",
    "description": "What went wrong (RFC 9457).",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "description": "Stays the same for the same sort of problem."},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong, and what to do about it."},
        "errors": {
            "type": "array",
            "description": "Of an input that breaks rules: what is wrong with it.",
            "items": {
                "type": "object",
                "required": ["field", "value", "allowed"],
                "properties": {
                    "field": {"type": "string"},
                    "value": {"description": "What was given, cut short, without secrets."},
                    "allowed": {"type": "string"},
                },
            },
        },
    },
}
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


def path_of(operation: Operation) -> str:
    return f"{PROJECTS}/{{project}}{operation.path}"


@cache
def written() -> bytes:
    """The document, as it is sent."""
    return json.dumps(document()).encode()


@cache
def document() -> dict[str, Any]:
    shapes = {f"{each.name} takes": each.takes for each in OPERATIONS.values()}
    shapes |= {f"{each.name} gives": each.gives for each in OPERATIONS.values()}
    made, shared = schemas_of(shapes, REF)
    shared["Issue"]["properties"] = {
        name: _or_null(prop) for name, prop in shared["Issue"]["properties"].items()
    }
    described_there = {each.takes.__name__ for each in OPERATIONS.values()}
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS.values():
        takes = _resolved(made[f"{operation.name} takes"], shared)
        described = _described(operation, takes, made[f"{operation.name} gives"])
        paths.setdefault(path_of(operation), {})[operation.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Hardwon",
            "version": hardwon.__version__,
            "description": "An experience memory for AI agents: what was tried, how it turned out, "
            "and what to do next time.",
        },
        "security": [{"token": []}],
        "paths": {**_around(), **paths},
        "components": {
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "What `hardwon tokens create` prints.",
                }
            },
            "schemas": {
                **{name: schema for name, schema in shared.items() if name not in described_there},
                "Problem": _PROBLEM,
            },
            "responses": {sort.name: _problem(sort) for sort in SORTS},
        },
    }


def _around() -> dict[str, Any]:
    """What is of no project."""
    named = {"type": "array", "items": {"type": "string"}}
    status = {
        "type": "object",
        "required": ["status"],
        "properties": {"status": {"type": "string"}},
    }
    sorts = (*_EVERYWHERE, INVALID_INPUT)
    alive = _plain(
        "health",
        "Whether the server runs. Needs no token.",
        {_JSON: {"schema": status}},
        (FOREIGN_HOST, FORBIDDEN),
    )
    anything = {_JSON: {"schema": {"type": "object"}}}
    return {
        PROJECTS: {
            "get": _plain(
                "projects",
                "The projects that have records and that the token reaches.",
                {_JSON: {"schema": named}},
                sorts,
            )
        },
        f"{API}/openapi.json": {"get": _plain("openapi", "This document.", anything, _EVERYWHERE)},
        READINESS: {
            "get": _plain(
                "ready", "Whether the memory answers.", {_JSON: {"schema": status}}, _EVERYWHERE
            )
        },
        METRICS: {
            "get": _plain(
                "metrics",
                "Figures for Prometheus.",
                {"text/plain": {"schema": {"type": "string"}}},
                _EVERYWHERE,
            )
        },
        LIVENESS: {"get": {**alive, "security": []}},
    }


def _plain(
    name: str, summary: str, content: Mapping[str, Any], sorts: Iterable[ProblemType]
) -> dict[str, Any]:
    return {
        "operationId": name,
        "summary": summary,
        "tags": ["server"],
        "responses": {
            "200": {"description": "What was asked for.", "content": dict(content)},
            **_problems(sorts),
        },
    }


def _described(
    operation: Operation, takes: dict[str, Any], gives: dict[str, Any]
) -> dict[str, Any]:
    in_query = operation.method == "GET" or operation.streams == "in"
    elsewhere = {
        name: schema
        for name, schema in takes.get("properties", {}).items()
        if name not in operation.in_path
    }
    required = set(takes.get("required", ()))
    parameters = [
        _PROJECT,
        *(_parameter(name, takes["properties"][name], "path", True) for name in operation.in_path),
    ]
    if in_query:
        parameters += [
            _parameter(name, schema, "query", name in required)
            for name, schema in elsewhere.items()
        ]
    if operation.again is not None:
        parameters.append(_KEY)
    told = {
        "operationId": operation.name,
        "summary": operation.description.partition(". ")[0].rstrip(".") + ".",
        "description": f"{operation.description}\n\nTakes a token with the scope "
        f"`{operation.scope}`{_reach(operation)}.",
        "tags": [operation.scope],
        "x-scope": operation.scope,
        "parameters": parameters,
        "responses": {"200": _answer(operation, gives), **_problems(_sorts(operation))},
    }
    if operation.method == "POST":
        told["requestBody"] = (
            _records() if operation.streams else _body(operation.takes, takes, elsewhere, required)
        )
    return told


def _reach(operation: Operation) -> str:
    return " that reaches all projects" if operation.whole else ""


def _sorts(operation: Operation) -> Iterable[ProblemType]:
    yield from (*_EVERYWHERE, INVALID_INPUT, NOT_FOUND)
    if operation.method == "POST":
        yield from _WITH_BODY
    if not operation.reads:
        yield from (CONFLICT, FULL)
    if operation.streams:
        yield FULL
    if operation.name in _ASKING_MODELS:
        yield OUTSIDE


def _problems(sorts: Iterable[ProblemType]) -> dict[str, Any]:
    return {
        str(sort.status): {"$ref": f"#/components/responses/{sort.name}"}
        for sort in sorted(set(sorts))
    }


def _problem(sort: ProblemType) -> dict[str, Any]:
    example = {"type": sort.type, "title": sort.title, "status": sort.status, "detail": "…"}
    told: dict[str, Any] = {
        "description": sort.title + ".",
        "content": {
            MEDIA_TYPE: {"schema": {"$ref": REF.format(model="Problem")}, "example": example}
        },
    }
    if sort.status in _WAITING:
        seconds = {"description": "When to try again.", "schema": {"type": "integer", "minimum": 1}}
        told["headers"] = {"Retry-After": seconds}
    return told


def _answer(operation: Operation, gives: dict[str, Any]) -> dict[str, Any]:
    if operation.name == "export":
        lines = {"type": "string", "description": "One record a line, as JSON."}
        return {"description": "Every record.", "content": {NDJSON: {"schema": lines}}}
    if operation.name == "backup":
        checksum = {
            "description": "The SHA-256 of the file, in hex.",
            "schema": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        }
        content = {DATABASE: {"schema": {"type": "string", "contentEncoding": "binary"}}}
        return {
            "description": "The memory's file.",
            "headers": {CHECKSUM: checksum},
            "content": content,
        }
    return {"description": "What was asked for, or made.", "content": {_JSON: {"schema": gives}}}


def _records() -> dict[str, Any]:
    line = {
        "kind": "fact",
        "id": EXAMPLE_ID,
        "content": "Uploads over 2 GB fail with HTTP 413.",
        "fact_type": "error",
    }
    schema = {
        "type": "string",
        "description": "One record a line, with its id, as an export has them.",
    }
    return {
        "required": True,
        "content": {NDJSON: {"schema": schema, "example": json.dumps(line) + "\n"}},
    }


def _body(
    takes: type[Arguments],
    schema: Mapping[str, Any],
    elsewhere: Mapping[str, Any],
    required: set[str],
) -> dict[str, Any]:
    needed = [name for name in elsewhere if name in required]
    inner: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": dict(elsewhere),
    }
    if needed:
        inner["required"] = needed
    if takes.__doc__:
        inner["description"] = " ".join(takes.__doc__.split())
    example = {
        name: prop["examples"][0] for name, prop in elsewhere.items() if prop.get("examples")
    }
    return {
        "required": bool(needed),
        "content": {_JSON: {"schema": inner, "example": example}},
    } | _about(schema)


def _about(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": schema["description"]} if "description" in schema else {}


def _parameter(name: str, schema: dict[str, Any], place: str, required: bool) -> dict[str, Any]:
    inner = _without_null(schema)
    told: dict[str, Any] = {"name": name, "in": place, "required": required, "schema": inner}
    if place == "query" and inner.get("maxLength", 0) > limits.QUERY_TEXT_CHARS_MAX:
        inner["maxLength"] = limits.QUERY_TEXT_CHARS_MAX
    if "description" in inner:
        told["description"] = inner.pop("description")
    if inner.get("examples"):
        told["example"] = inner.pop("examples")[0]
    return told


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter that says nothing is left out; an address has no null."""
    kept = {
        key: value
        for key, value in schema.items()
        if key not in ("anyOf", "title") and not (key == "default" and value is None)
    }
    choices = [choice for choice in schema.get("anyOf", ()) if choice.get("type") != "null"]
    if len(choices) == 1:
        return {**_without_null(choices[0]), **kept}
    return {**kept, "anyOf": [_without_null(choice) for choice in choices]} if choices else kept


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """An issue may say of each of its fields that there is none: programs that write them do."""
    kept = {
        key: value for key, value in schema.items() if key in ("title", "default", "description")
    }
    choices = schema.get("anyOf") or [
        {key: value for key, value in schema.items() if key not in kept}
    ]
    return {
        **kept,
        "anyOf": [*(each for each in choices if each.get("type") != "null"), {"type": "null"}],
    }


def _resolved(schema: dict[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
    """What an operation takes is described where it is taken, not among the definitions."""
    ref = schema.get("$ref")
    found: dict[str, Any] = shared[ref.rpartition("/")[2]] if ref else schema
    return found
