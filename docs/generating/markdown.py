"""What all pages are written with: tables, lists in words, docstrings as prose, and JSON Schemas as
sentences.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

Schema = Mapping[str, Any]
Link = Callable[[str], str]

MADE: Final = "<!-- Made by docs/generate.py from the code itself: `make docs` writes it anew. -->"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    columns = list(head)
    lines = [columns, ["---"] * len(columns), *(list(row) for row in rows)]
    return "\n".join(f"| {' | '.join(_in_cell(cell) for cell in line)} |" for line in lines) + "\n"


def _in_cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split()))


def code(text: object) -> str:
    return f"`{text}`"


def fence(text: str) -> str:
    return f"```text\n{text}\n```\n"


def listed(words: Iterable[str], last: str = "or") -> str:
    *before, end = words
    return f"{', '.join(before)} {last} {end}" if before else end


def number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def prose(text: str | None) -> str:
    """A docstring as paragraphs; lines that are a word and its meaning, in columns, become a
    list.
    """
    parts = []
    for paragraph in inspect.cleandoc(text or "").split("\n\n"):
        columns = [re.fullmatch(r"(\w+) {2,}(.+)", line) for line in paragraph.splitlines()]
        if all(columns):
            parts.append("\n".join(f"- {code(found[1])}: {found[2]}" for found in columns if found))
        else:
            parts.append(" ".join(paragraph.split()))
    return "\n\n".join(parts)


# --- JSON Schemas ---


def fields_table(
    properties: Mapping[str, Schema], required: Iterable[str], link: Link = code
) -> str:
    """What each field takes and means. `link` says how a definition is shown that a field names."""
    rows = [
        (
            code(name),
            allowed(schema, link),
            _default(schema, name in required),
            schema.get("description") or "",
        )
        for name, schema in properties.items()
    ]
    return table(("field", "what it takes", "default", ""), rows)


def allowed(schema: Schema, link: Link = code) -> str:
    """What a JSON Schema takes, in words."""
    if "$ref" in schema:
        return link(schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return listed(map(code, schema["enum"]))
    if "const" in schema:
        return code(schema["const"])
    choices = [choice for choice in schema.get("anyOf", ()) if choice.get("type") != "null"]
    if any(choice.get("format") == "date-time" for choice in choices):
        return "a time with a zone (ISO 8601), or milliseconds since 1970"
    return (
        listed(dict.fromkeys(allowed(choice, link) for choice in choices))
        if choices
        else _plainly(schema, link)
    )


def _plainly(schema: Schema, link: Link) -> str:
    kind = schema.get("type")
    if kind == "string":
        if schema.get("format") == "uuid":
            return "an id (UUID)"
        known = schema.get("examples", ())
        if len(known) > 1:
            return f"text, such as {listed(map(code, known))}"
        return (
            f"text, at most {number(schema['maxLength'])} characters"
            if "maxLength" in schema
            else "text"
        )
    if kind in ("integer", "number"):
        return f"{'whole number' if kind == 'integer' else 'number'}{_range(schema)}"
    if kind == "boolean":
        return "true or false"
    if kind == "array":
        most = f" (at most {number(schema['maxItems'])})" if "maxItems" in schema else ""
        return f"list{most} of {allowed(schema.get('items', {}), link)}"
    inner = schema.get("additionalProperties")
    return (
        f"object of {allowed(inner, link)}"
        if isinstance(inner, dict)
        else "object"
        if kind
        else "any JSON value"
    )


def _range(schema: Schema) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f" from {number(low)} to {number(high)}"
    return "" if low is None else f", {number(low)} or more"


def _default(schema: Schema, required: bool) -> str:
    if required:
        return "required"
    value = schema.get("default", {"made": "when it is needed"})
    if value is None:
        return "none"
    if value in ("", [], {}):
        return "empty"
    return "its own" if isinstance(value, dict) else code(json.dumps(value, ensure_ascii=False))
