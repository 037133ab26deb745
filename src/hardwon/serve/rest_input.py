"""What a request says, as the arguments of an operation. Whatever is wrong with it is told as InvalidInputError."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final
from urllib.parse import parse_qsl

from pydantic_core import from_json, to_json

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.serve.arguments import Arguments
from hardwon.serve.shapes import schema_of

_WHOLE: Final = re.compile(r"-?[0-9]{1,19}")
_NUMBER: Final = re.compile(r"-?[0-9]{1,19}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?")
_TRUTH: Final = {"true": True, "false": False}


def from_query(takes: type[Arguments], in_path: Mapping[str, str], query: bytes) -> Arguments:
    """Texts become what the operation's schema says they are; what they cannot become stays text, and is refused as such."""
    try:
        pairs = parse_qsl(
            query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=limits.QUERY_FIELDS_MAX
        )
    except ValueError:
        allowed = f"at most {limits.QUERY_FIELDS_MAX} parameters, in UTF-8"
        raise InvalidInputError.one("query", f"{len(query)} bytes", allowed) from None
    said: dict[str, Any] = dict(in_path)
    types = _types_of(takes)
    for name, text in pairs:
        if name in said:
            raise InvalidInputError.one(name, text, "a value in one place: it was given before")
        if len(text) > limits.QUERY_TEXT_CHARS_MAX:
            raise InvalidInputError.one(name, text, f"text of at most {limits.QUERY_TEXT_CHARS_MAX} characters in a query")
        said[name] = _meant(text, types.get(name, frozenset()))
    return takes.model_validate(said, strict=True)


def from_body(takes: type[Arguments], in_path: Mapping[str, str], body: bytes) -> Arguments:
    """A body that is empty says nothing."""
    body = body or b"{}"
    try:
        said = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise InvalidInputError.one("body", f"{len(body)} bytes", f"JSON: {error}") from None
    if not isinstance(said, dict):
        raise InvalidInputError.one("body", said, "a JSON object")
    _check_bounds(body, said)
    if not in_path:
        return takes.model_validate_json(body, strict=True)
    for name in in_path:
        if name in said:
            raise InvalidInputError.one(name, said[name], "no such field: it is part of the address")
    return takes.model_validate_json(to_json({**said, **in_path}), strict=True)


def _check_bounds(body: bytes, said: object) -> None:
    """Most bodies are so small that their brackets and commas tell, without a walk through them."""
    opened = body.count(b"{") + body.count(b"[")
    if opened <= limits.BODY_DEPTH_MAX and opened + 2 * body.count(b",") + body.count(b":") < limits.BODY_VALUES_MAX:
        return
    level, depth, count = [said], 0, 0
    while level:
        count += len(level)
        if depth > limits.BODY_DEPTH_MAX:
            raise InvalidInputError.one("body", f"{depth} levels", f"values nested at most {limits.BODY_DEPTH_MAX} deep")
        if count > limits.BODY_VALUES_MAX:
            raise InvalidInputError.one("body", f"{count} values", f"at most {limits.BODY_VALUES_MAX} values")
        level, depth = list(_inside(level)), depth + 1


def _inside(values: list[object]) -> Iterator[object]:
    for value in values:
        if isinstance(value, dict):
            yield from value.values()
        elif isinstance(value, list):
            yield from value


def _meant(text: str, types: frozenset[str]) -> Any:
    if "integer" in types and _WHOLE.fullmatch(text):
        return int(text)
    if "number" in types and _NUMBER.fullmatch(text):
        return float(text)
    return _TRUTH.get(text, text) if "boolean" in types else text


@cache
def _types_of(takes: type[Arguments]) -> Mapping[str, frozenset[str]]:
    return {name: frozenset(_types(schema)) for name, schema in schema_of(takes).get("properties", {}).items()}


def _types(schema: Mapping[str, Any]) -> Iterator[str]:
    if "type" in schema:
        yield schema["type"]
    for inner in schema.get("anyOf", ()):
        yield from _types(inner)
