"""docs/reference/rest.md: what the server offers over HTTP, from its own OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from generating.markdown import MADE, Schema, allowed, code, fields_table, prose, table
from generating.takes import SHARED, own_fields, shared_fields
from hardwon.records.kinds import Record
from hardwon.surfaces.operations import OPERATIONS
from hardwon.surfaces.rest.openapi import document
from hardwon.surfaces.rest.problems import PROBLEMS

BEGINS: Final = f"""\
# HTTP

{MADE}

What `hardwon serve` offers, from its own OpenAPI document (`GET /api/v1/openapi.json`). [serve.md](../serve.md) tells how to
start it, who may do what, and how requests are sent again. Every request but `GET /healthz` carries a token:

```text
Authorization: Bearer hwt_…
Content-Type: application/json
```

From [Recording](#recording) on, addresses are about one project and stand behind `/api/v1/projects/{{project}}`, where a `/` in
its name is written `%2F`. A GET takes its fields in the query, a POST as one JSON object; a field in braces stands in the
address. A field that is not listed is refused. The name before a description is that of the same method in
[Python](python.md).
"""
SCOPES: Final = {
    "write": "Recording",
    "read": "Asking",
    "govern": "Deciding",
    "admin": "Looking after it",
}


def page() -> str:
    told = document()
    parts = [BEGINS, "## The server\n"]
    for path, methods in told["paths"].items():
        for method, operation in methods.items():
            if operation["tags"] == ["server"]:
                parts.append(f"- `{method.upper()} {path}`: {operation['summary']}")
    parts += ["", "## Fields that many take\n"]
    parts += shared_fields(
        {name: prose(takes.__doc__) for name, takes in SHARED.items()}, _to_definition
    )
    parts += _problems()
    for scope, title in SCOPES.items():
        parts.append(f"## {title}\n\nA token with the scope `{scope}`.\n")
        for path, methods in told["paths"].items():
            for method, operation in methods.items():
                if operation.get("x-scope") == scope:
                    parts += _address(method.upper(), path, operation)
    parts += _definitions(told)
    return "\n".join(parts)


def _problems() -> Iterator[str]:
    yield "## What goes wrong\n"
    yield "Answers are `application/problem+json`: `type` (`urn:hardwon:problem:` and the name), `title`, `status`, `detail`,"
    yield "and of invalid input `errors`, each with `field`, `value` and `allowed`.\n"
    rows = [(str(status), code(name), title) for name, (status, title) in PROBLEMS.items()]
    yield table(("status", "name", ""), sorted(rows))


def _address(method: str, path: str, operation: Schema) -> Iterator[str]:
    name = operation["operationId"]
    short = path.removeprefix("/api/v1/projects/{project}")
    yield f"### `{method} {short}`\n\n{code(name)}. {operation['description'].partition(chr(10))[0]}\n"
    if OPERATIONS[name].whole:
        yield "The token must reach all projects.\n"
    body = operation.get("requestBody", {}).get("content", {})
    schema = body.get("application/json", {}).get("schema", {})
    properties = dict(schema.get("properties", {}))
    required = list(schema.get("required", ()))
    for parameter in operation["parameters"]:
        if parameter["name"] not in ("project", "Idempotency-Key"):
            properties[parameter["name"]] = {
                **parameter["schema"],
                "description": parameter.get("description", ""),
            }
            required += [parameter["name"]] if parameter["required"] else []
    yield from own_fields(OPERATIONS[name].takes, properties, required, _to_definition)
    if "application/x-ndjson" in body:
        yield "The body is one record a line, as `export` gives them (`Content-Type: application/x-ndjson`).\n"
    if example := body.get("application/json", {}).get("example"):
        yield f"```json\n{json.dumps(example, indent=2, ensure_ascii=False)}\n```\n"
    yield f"Gives {_answer(operation)}.{_once(operation)}\n"


def _once(operation: Schema) -> str:
    keyed = any(parameter["name"] == "Idempotency-Key" for parameter in operation["parameters"])
    return " Takes an `Idempotency-Key`." if keyed else ""


def _answer(operation: Schema) -> str:
    (kind, content), *_ = operation["responses"]["200"]["content"].items()
    if kind != "application/json":
        return f"{operation['responses']['200']['description'].lower().rstrip('.')} ({code(kind)})"
    return allowed(content["schema"], _to_definition)


def _to_definition(name: str) -> str:
    return f"[{code(name)}](#{name.lower()})"


def _definitions(told: Schema) -> Iterator[str]:
    yield "## Objects\n\nAn answer has all of its fields; of a record, optional ones that are absent are left out.\n"
    for name, schema in sorted(told["components"]["schemas"].items()):
        if "properties" in schema:
            yield f"### {name}\n\n{prose(schema.get('description'))}\n"
            of_all = (
                {"kind": Record.model_fields["kind"].description}
                if "metadata" in schema["properties"]
                else {}
            )
            properties = {
                field: {"description": of_all.get(field), **said}
                for field, said in schema["properties"].items()
            }
            yield fields_table(properties, schema.get("required", ()), _to_definition)
