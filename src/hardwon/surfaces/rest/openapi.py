"""The OpenAPI document of the REST surface, made from the table of operations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

import hardwon
from hardwon import limits
from hardwon.surfaces.operations import (
    EXAMPLE_ID,
    OPERATIONS,
    REF,
    Arguments,
    Operation,
    schemas_of,
)
from hardwon.surfaces.rest.guard import LIVENESS, MEDIA_TYPE, PROBLEMS, problem_of

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
_EVERYWHERE: Final = (
    "not-admitted",
    "forbidden",
    "foreign-host",
    "too-many-requests",
    "internal",
    "busy",
)
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


_RECORDS: Final[dict[str, Any]] = {
    "required": True,
    "content": {
        NDJSON: {
            "schema": {
                "type": "string",
                "description": "One record a line, with its id, as an export has them.",
            },
            "example": json.dumps(
                {
                    "kind": "fact",
                    "id": EXAMPLE_ID,
                    "content": "Uploads over 2 GB fail with HTTP 413.",
                    "fact_type": "error",
                }
            )
            + "\n",
        }
    },
}


_STREAMED: Final[Mapping[str, dict[str, Any]]] = {
    "export": {
        "description": "Every record.",
        "content": {
            NDJSON: {"schema": {"type": "string", "description": "One record a line, as JSON."}}
        },
    },
    "backup": {
        "description": "The memory's file.",
        "headers": {
            CHECKSUM: {
                "description": "The SHA-256 of the file, in hex.",
                "schema": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            }
        },
        "content": {DATABASE: {"schema": {"type": "string", "contentEncoding": "binary"}}},
    },
}


def path_of(operation: Operation) -> str:
    return f"{PROJECTS}/{{project}}{operation.path}"


@cache
def document_bytes() -> bytes:
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
        takes = made[f"{operation.name} takes"]
        # What an operation takes is described where it is taken, not among the definitions.
        if "$ref" in takes:
            takes = shared[takes["$ref"].rpartition("/")[2]]
        described = _describe(operation, takes, made[f"{operation.name} gives"])
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
        "paths": {**_server_paths(), **paths},
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
            "responses": {name: _problem(name) for name in PROBLEMS},
        },
    }


def _server_paths() -> dict[str, Any]:
    """What is of no project."""
    status = {
        "type": "object",
        "required": ["status"],
        "properties": {"status": {"type": "string"}},
    }
    found: dict[str, Any] = {
        path: {
            "get": {
                "operationId": name,
                "summary": summary,
                "tags": ["server"],
                "responses": {
                    "200": {
                        "description": "What was asked for.",
                        "content": {media_type: {"schema": schema}},
                    },
                    **_problems(problems),
                },
            }
        }
        for path, name, summary, media_type, schema, problems in (
            (
                PROJECTS,
                "projects",
                "The projects that have records and that the token reaches.",
                JSON,
                {"type": "array", "items": {"type": "string"}},
                (*_EVERYWHERE, "invalid-input"),
            ),
            (
                f"{API}/openapi.json",
                "openapi",
                "This document.",
                JSON,
                {"type": "object"},
                _EVERYWHERE,
            ),
            (READINESS, "ready", "Whether the memory answers.", JSON, status, _EVERYWHERE),
            (
                METRICS,
                "metrics",
                "Figures for Prometheus.",
                "text/plain",
                {"type": "string"},
                _EVERYWHERE,
            ),
            (
                LIVENESS,
                "health",
                "Whether the server runs. Needs no token.",
                JSON,
                status,
                ("foreign-host", "forbidden"),
            ),
        )
    }
    found[LIVENESS]["get"]["security"] = []
    return found


def _describe(operation: Operation, takes: dict[str, Any], gives: dict[str, Any]) -> dict[str, Any]:
    in_path, required = operation.in_path, set(takes.get("required", ()))
    properties = takes.get("properties", {})
    elsewhere = {name: schema for name, schema in properties.items() if name not in in_path}
    parameters = [_PROJECT, *(_parameter(name, properties[name], "path", True) for name in in_path)]
    if operation.method == "GET" or operation.streams == "in":
        parameters += [
            _parameter(name, schema, "query", name in required)
            for name, schema in elsewhere.items()
        ]
    if operation.again is not None:
        parameters.append(_KEY)
    reach = " that reaches all projects" if operation.whole else ""
    problems = [*_EVERYWHERE, "invalid-input", "not-found"]
    problems += ["too-slow", "too-large", "wrong-media-type"] if operation.method == "POST" else []
    problems += [] if operation.reads else ["conflict", "full"]
    problems += ["full"] if operation.streams else []
    problems += ["outside-failed"] if operation.name in ("record_fact", "consolidate") else []
    described = {
        "operationId": operation.name,
        "summary": operation.description.partition(". ")[0].rstrip(".") + ".",
        "description": f"{operation.description}\n\nTakes a token with the scope "
        f"`{operation.scope}`{reach}.",
        "tags": [operation.scope],
        "x-scope": operation.scope,
        "parameters": parameters,
        "responses": {
            "200": _STREAMED.get(operation.name)
            or {
                "description": "What was asked for, or made.",
                "content": {JSON: {"schema": gives}},
            },
            **_problems(problems),
        },
    }
    if operation.streams == "in":
        described["requestBody"] = _RECORDS
    elif operation.method == "POST":
        described["requestBody"] = _body(operation.takes, takes, elsewhere, required)
    return described


def _problems(names: Iterable[str]) -> dict[str, Any]:
    return {
        str(status): {"$ref": f"#/components/responses/{name}"}
        for status, name in sorted((PROBLEMS[name][0], name) for name in set(names))
    }


def _problem(name: str) -> dict[str, Any]:
    example = problem_of(name, "…")
    schema = {"$ref": REF.format(model="Problem")}
    found: dict[str, Any] = {
        "description": example["title"] + ".",
        "content": {MEDIA_TYPE: {"schema": schema, "example": example}},
    }
    if name in ("too-many-requests", "busy"):
        seconds = {"description": "When to try again.", "schema": {"type": "integer", "minimum": 1}}
        found["headers"] = {"Retry-After": seconds}
    return found


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
        **({"required": needed} if needed else {}),
        **({"description": " ".join(takes.__doc__.split())} if takes.__doc__ else {}),
    }
    example = {
        name: prop["examples"][0] for name, prop in elsewhere.items() if prop.get("examples")
    }
    about = {"description": schema["description"]} if "description" in schema else {}
    content = {JSON: {"schema": inner, "example": example}}
    return {"required": bool(needed), "content": content, **about}


def _parameter(name: str, schema: dict[str, Any], place: str, required: bool) -> dict[str, Any]:
    inner = _without_null(schema)
    found: dict[str, Any] = {"name": name, "in": place, "required": required, "schema": inner}
    if place == "query" and inner.get("maxLength", 0) > limits.QUERY_TEXT_CHARS_MAX:
        inner["maxLength"] = limits.QUERY_TEXT_CHARS_MAX
    if "description" in inner:
        found["description"] = inner.pop("description")
    if inner.get("examples"):
        found["example"] = inner.pop("examples")[0]
    return found


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
    about = ("title", "default", "description")
    kept = {key: value for key, value in schema.items() if key in about}
    choices = schema.get("anyOf") or [
        {key: value for key, value in schema.items() if key not in about}
    ]
    return {
        **kept,
        "anyOf": [*(each for each in choices if each.get("type") != "null"), {"type": "null"}],
    }
