"""The OpenAPI document of the REST surface: what `openapi.json` has of it, and what is made of the
table of operations.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any, Final

import hardwon
from hardwon import limits
from hardwon.surfaces.operations import OPERATIONS, Operation
from hardwon.surfaces.rest.problems import MEDIA_TYPE, ProblemAnswer
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
_NULL: Final = {"type": "null"}


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
    whole: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_bytes())
    whole["info"]["version"] = hardwon.__version__
    shapes: dict[str, Any] = {"problem": ProblemAnswer}
    for operation in OPERATIONS.values():
        shapes[f"{operation.name} takes"] = operation.takes
        shapes[f"{operation.name} gives"] = operation.gives
    made, shared = make_schemas(shapes, "#/components/schemas/{model}")
    # an issue may say of each of its fields that there is none: programs that write them do
    issue = shared["Issue"]["properties"]
    for name, field in issue.items():
        if _NULL not in field.get("anyOf", ()):
            issue[name] = {"anyOf": [field, _NULL], "description": field.get("description", "")}
    components = whole["components"]
    components["responses"]["Problem"]["content"][MEDIA_TYPE]["schema"] = made["problem"]
    # what is written where it is used
    known = {sort: components.pop(sort) for sort in ("parameters", "requestBodies")}
    known["answers"] = {name: components["responses"].pop(name) for name in ("export", "backup")}
    for operation in OPERATIONS.values():
        # What an operation takes is described where it is taken, not among the definitions.
        reference = made[f"{operation.name} takes"].get("$ref", "")
        takes = shared.get(reference.rpartition("/")[2]) or made[f"{operation.name} takes"]
        described = _describe(operation, takes, made[f"{operation.name} gives"], known)
        whole["paths"].setdefault(make_path(operation), {})[operation.method.lower()] = described
    for operation in OPERATIONS.values():
        shared.pop(operation.takes.__name__, None)
    components["schemas"] = shared
    return whole


def _describe(
    operation: Operation, takes: dict[str, Any], gives: dict[str, Any], known: dict[str, Any]
) -> dict[str, Any]:
    fields, required = dict(takes.get("properties", {})), set(takes.get("required", ()))
    parameters = [known["parameters"]["project"]]
    parameters += [_parameter(name, fields.pop(name), "path", True) for name in operation.in_path]
    if operation.method == "GET" or operation.streams == "in":
        parameters += [
            _parameter(name, schema, "query", name in required) for name, schema in fields.items()
        ]
    if operation.again is not None:
        parameters.append(known["parameters"]["key"])
    reach = " that reaches all projects" if operation.whole else ""
    usual = {"description": "What was asked for, or made.", "content": {JSON: {"schema": gives}}}
    answer = known["answers"].get(operation.name, usual)
    described = {
        "operationId": operation.name,
        "summary": operation.description.partition(". ")[0].rstrip(".") + ".",
        "description": f"{operation.description}\n\nTakes a token with the scope "
        f"`{operation.scope}`{reach}.",
        "tags": [operation.scope],
        "x-scope": operation.scope,
        "parameters": parameters,
        "responses": {"200": answer, "default": {"$ref": "#/components/responses/Problem"}},
    }
    if operation.streams == "in":
        described["requestBody"] = known["requestBodies"][operation.name]
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
