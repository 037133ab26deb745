"""What a memory answers, as JSON and back, and the JSON Schemas of it: one shape for every surface.

A record is as `to_json` writes it, absent optional fields left out; every other answer is an object
with all of its fields. Times are ISO 8601 in UTC.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, date, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.records.fields import read_problems
from hardwon.records.kinds import Record


def jsonable(value: Any, *, origins: bool = False) -> Any:
    """The value as JSON has it. `origins`: authors of records with where they came from, for a
    model that reads it; whoever makes records of it again has them as they were kept.
    """
    inside = partial(jsonable, origins=origins)
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, BaseModel):
        model = _name_origin(value) if origins and isinstance(value, Record) else value
        return model.model_dump(mode="json", exclude_none=True)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if is_dataclass(value):
        return {field.name: inside(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: inside(inner) for name, inner in value._asdict().items()}
    if isinstance(value, Mapping):
        return {str(name): inside(inner) for name, inner in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [inside(inner) for inner in value]
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} is nothing that goes over a wire")


def _name_origin(record: Record) -> Record:
    # a longer name would not be one: what is behind it counts
    author = record.said_by[-limits.NAME_CHARS_MAX :]
    source = record.metadata.source.copy_with(author=author)
    return record.copy_with(metadata=record.metadata.copy_with(source=source))


def json_bytes(value: Any) -> bytes:
    """The value as one line of JSON."""
    plain = jsonable(value)
    return json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


@cache
def make_adapter(shape: Any) -> TypeAdapter[Any]:
    """pydantic's adapter for a type."""
    return TypeAdapter(shape)


def parse(shape: Any, data: Any) -> Any:
    """What `jsonable` made of it, as what it was."""
    try:
        return make_adapter(shape).validate_python(data)
    except ValidationError as error:
        raise InvalidInputError(read_problems(error)) from None


def make_schema(shape: Any) -> dict[str, Any]:
    """The JSON Schema of what `jsonable` makes of it."""
    return make_adapter(shape).json_schema(schema_generator=_SchemaGenerator)


def make_schemas(
    shapes: Mapping[str, Any], ref: str
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """The schemas of several at once, by their names, and the definitions that they share."""
    made, shared = TypeAdapter.json_schemas(
        [(name, "validation", make_adapter(shape)) for name, shape in shapes.items()],
        ref_template=ref,
        schema_generator=_SchemaGenerator,
    )
    return {name: schema for (name, _), schema in made.items()}, shared.get("$defs", {})


class _SchemaGenerator(GenerateJsonSchema):
    """Named tuples are objects, as `jsonable` writes them."""

    def named_tuple_schema(self, schema: Any) -> JsonSchemaValue:
        """An object with the fields of the tuple."""
        inner = {field["name"]: self.generate_inner(field["schema"]) for field in schema["fields"]}
        required = [
            field["name"] for field in schema["fields"] if field["schema"]["type"] != "default"
        ]
        return {"type": "object", "properties": inner, "required": required}

    def arguments_schema(self, schema: Any) -> JsonSchemaValue:
        """As pydantic saw named tuples before it had a schema of their own."""
        return self.kw_arguments_schema(schema["arguments_schema"], schema.get("var_kwargs_schema"))
