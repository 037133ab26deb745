"""What a memory answers, as JSON and back, and the JSON Schemas of both: one shape for every surface.

A record is as `to_json` writes it, absent optional fields left out; every other answer is an object with all of its fields.
Times are ISO 8601 in UTC.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from hardwon.errors import InvalidInputError
from hardwon.fields import problems_of

REF: Final = "#/components/schemas/{model}"


def jsonable(value: Any) -> Any:
    """A value as JSON has it."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_none=True)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if is_dataclass(value):
        return {field.name: jsonable(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: jsonable(inner) for name, inner in value._asdict().items()}
    if isinstance(value, Mapping):
        return {str(name): jsonable(inner) for name, inner in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [jsonable(inner) for inner in value]
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} is nothing that goes over a wire")


def json_bytes(value: Any) -> bytes:
    """One line of JSON."""
    return json.dumps(jsonable(value), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


@cache
def adapter_of(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


def parsed(shape: Any, data: Any) -> Any:
    """What `jsonable` made, as what it was."""
    try:
        return adapter_of(shape).validate_python(data)
    except ValidationError as error:
        raise InvalidInputError(problems_of(error)) from None


def schema_of(shape: Any) -> dict[str, Any]:
    """The JSON Schema of what `jsonable` makes of it."""
    return adapter_of(shape).json_schema(schema_generator=_NamedTuplesAreObjects)


def schemas_of(shapes: Mapping[str, Any], ref: str) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """The schemas of several at once, by their names, and the definitions that they share."""
    given = [(name, "validation", adapter_of(shape)) for name, shape in shapes.items()]
    made, shared = TypeAdapter.json_schemas(given, ref_template=ref, schema_generator=_NamedTuplesAreObjects)  # type: ignore[arg-type]
    return {name: schema for (name, _), schema in made.items()}, shared.get("$defs", {})


class _NamedTuplesAreObjects(GenerateJsonSchema):
    def named_tuple_schema(self, schema: Any) -> JsonSchemaValue:
        inner = {field["name"]: self.generate_inner(field["schema"]) for field in schema["fields"]}
        required = [field["name"] for field in schema["fields"] if field["schema"]["type"] != "default"]
        return {"type": "object", "properties": inner, "required": required}

    def arguments_schema(self, schema: Any) -> JsonSchemaValue:
        """As pydantic saw named tuples before it had a schema of their own."""
        return self.kw_arguments_schema(schema["arguments_schema"], schema.get("var_kwargs_schema"))
