"""What the fields of a record may hold: times, ids, texts, numbers, free-form JSON; and errors that
say so. No I/O.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import unicodedata
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import blake2b
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn, Self, TypeVar, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetPydanticSchema,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from hardwon import limits
from hardwon.errors import ANY_VALUE, NOT_GIVEN, InvalidInputError, Problem
from hardwon.first_use import making

T = TypeVar("T")


EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# A number of milliseconds below this would be before March 1973, which is nobody's memory: these
# are seconds, as most programs write them.
_SECONDS_BELOW: Final = 100_000_000_000
_MICROSECOND: Final = timedelta(microseconds=1)
_ENCODABLE: Final = "text that UTF-8 can encode (no lone surrogates)"
_WITHOUT_NUL: Final = "text without NUL characters"
_ONE_LINE: Final = "a single line without control characters"


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


def to_us(time: datetime) -> int:
    """Microseconds since 1970, exact."""
    since = time - EPOCH
    # a third of the time of a division
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


# The last moment that a datetime can tell.
TIME_US_MAX: Final = to_us(datetime.max.replace(tzinfo=UTC))


def from_us(at_us: int) -> datetime:
    """The time so many microseconds after 1970."""
    return EPOCH + at_us * _MICROSECOND


def make_digest(body: bytes) -> bytes:
    """Tells a damaged body from a sound one. Not a signature: whoever can write the file can write
    a digest.
    """
    return blake2b(body, digest_size=8).digest()


def new_id(at: datetime | None = None) -> str:
    """A UUIDv7: sorts by time, unique without asking anyone."""
    at_ms = to_us(at or now()) // 1000
    tail = os.urandom(10)
    number = (at_ms & 0xFFFF_FFFF_FFFF) << 80 | int.from_bytes(tail, "big")
    number = number & ~(0xF << 76) & ~(0x3 << 62) | 0x7 << 76 | 0x2 << 62
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def derived_id(*parts: str | bytes) -> str:
    """An id that whoever knows the parts comes to as well (a UUIDv8). Bytes and texts differ by
    nothing but their place, so a caller always gives the same sorts in the same order.
    """
    digest = blake2b(digest_size=16)
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big") + data)
    number = int.from_bytes(digest.digest(), "big")
    return str(uuid.UUID(int=number & ~(0xF << 76) & ~(0x3 << 62) | 0x8 << 76 | 0x2 << 62))


def is_derived(record_id: str) -> bool:
    """Whether an id was made by `derived_id`: its record came from somewhere else."""
    return record_id[14] == "8"


def parse_time(value: object) -> datetime:
    """What a caller may give as a time, as UTC. Times without a zone are refused: their meaning is
    a guess.
    """
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            unit_ms = 1000 if value < _SECONDS_BELOW else 1
            value = EPOCH + timedelta(milliseconds=value * unit_ms)
        if isinstance(value, datetime) and value.utcoffset() is not None:
            time = value if value.tzinfo is UTC else value.astimezone(UTC)
            if time >= EPOCH:
                return time
    except (ValueError, OverflowError, NotImplementedError, TypeError):
        pass
    raise refuse(
        "an ISO 8601 time with a zone (2026-01-31T12:00:00Z), a datetime with tzinfo, or "
        "milliseconds or seconds since 1970 (UTC)"
    )


def refuse(allowed: str, **culprit: object) -> PydanticCustomError:
    """`culprit` is one field with its value, for rules that look at more than one field."""
    return PydanticCustomError(
        "allowed", "{allowed}", {"allowed": allowed, "culprit": _Culprit(culprit)}
    )


class _Culprit(dict[str, object]):
    """Keeps pydantic from writing out the value, which may be endless, whenever it makes a
    message.
    """

    def __str__(self) -> str:
        return ", ".join(self)


def check_name(text: str) -> str:
    """As `Name` does, for texts that are no fields."""
    if not _is_one_line(text):
        raise refuse(_ONE_LINE)
    return text


def _is_one_line(text: str) -> bool:
    return text.isprintable() or not any(
        unicodedata.category(char) in ("Cc", "Zl", "Zp") for char in text
    )


def _native(schema: CoreSchema, allowed: str) -> CoreSchema:
    """A check of pydantic's own, which calls no Python; its error says what is allowed."""
    context: dict[str, str | int | float] = {"allowed": allowed}
    return core_schema.custom_error_schema(
        schema, "allowed", custom_error_message="{allowed}", custom_error_context=context
    )


def _holding(schema: CoreSchema, allowed: str) -> GetPydanticSchema:
    """What a field holds, by such a check."""
    checked = _native(schema, allowed)
    return GetPydanticSchema(lambda _source, _handler: checked)


def _matching(pattern: str, allowed: str) -> GetPydanticSchema:
    """Of a text also this is asked: that the regular expression is found in it."""
    checked = _native(core_schema.str_schema(pattern=pattern), allowed)
    return GetPydanticSchema(
        lambda source, handler: core_schema.chain_schema([handler(source), checked])
    )


def _number(allowed: str, ge: float | None = None, le: float | None = None) -> GetPydanticSchema:
    schema = core_schema.float_schema(strict=True, allow_inf_nan=False, ge=ge, le=le)
    # -0.0 and 0.0 must not be two scores
    return _holding(core_schema.no_info_after_validator_function((0.0).__add__, schema), allowed)


def _check_id(value: object) -> str:
    if isinstance(value, str | uuid.UUID):
        try:
            return str(uuid.UUID(str(value)))
        except ValueError:
            pass
    raise refuse("a UUID")


def read_json(text: str | bytes, otherwise: Any = None) -> Any:
    """What a text says as JSON; something else where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return otherwise


def parse_json(text: str | bytes) -> Any:
    """What a text says as JSON. ValueError, or RecursionError, where it is none, or where a key stands
    in an object twice.
    """
    return json.loads(text, object_pairs_hook=_make_object, parse_constant=_refuse_constant)


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a key is there twice")
    return fields


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def check_json(value: object) -> object:
    """Free-form values must come back from JSON exactly as they went in."""
    level, depth, count = [value], 0, 0
    while level:
        count += len(level)
        if count > limits.JSON_VALUES_MAX:
            raise refuse(f"at most {limits.JSON_VALUES_MAX} values in one object")
        below: list[object] = []
        for item in level:
            if isinstance(item, dict):
                if not all(isinstance(key, str) for key in item):
                    raise refuse("objects whose keys are text")
                below += item.keys()
                below += item.values()
            elif isinstance(item, list):
                below += item
            # nearly all are short texts that can be seen
            elif not (
                type(item) is str and item.isprintable() and len(item) <= limits.NAME_CHARS_MAX
            ):
                _check_json_leaf(item)
        if below and depth >= limits.JSON_DEPTH_MAX:
            raise refuse(f"values nested at most {limits.JSON_DEPTH_MAX} deep")
        level, depth = below, depth + 1
    return value


def _check_json_leaf(value: object) -> None:
    if isinstance(value, str):
        if not value.isascii() and not _is_encodable(value):
            raise refuse(_ENCODABLE)
        if "\0" in value:
            raise refuse(_WITHOUT_NUL)
        if len(value) > limits.TEXT_CHARS_MAX:
            raise refuse(f"text of at most {limits.TEXT_CHARS_MAX} characters")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise refuse("finite numbers")
    elif isinstance(value, int):  # true and false among them
        if abs(value) > limits.JSON_INT_ABS_MAX:
            raise refuse("whole numbers of at most 64 bits")
    elif value is not None:
        raise refuse("JSON values: null, true, false, numbers, text, lists, objects")


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_keys(extra: dict[str, Any]) -> None:
    if len(extra) > limits.EXTRA_KEYS_MAX:
        raise refuse(f"at most {limits.EXTRA_KEYS_MAX} extra keys")
    for key, value in extra.items():
        if not key or len(key) > limits.KEY_CHARS_MAX or not key.isprintable():
            raise refuse(f"extra keys named by 1 to {limits.KEY_CHARS_MAX} printable characters")
        if isinstance(value, str) and value.isprintable() and len(value) <= limits.NAME_CHARS_MAX:
            continue  # as nearly all are
        try:
            check_json(value)
        except PydanticCustomError as error:
            raise refuse(error.message(), **{key: value}) from None


def say(what: str) -> Any:
    """What a field's JSON Schema says of it."""
    return Field(description=what)


def open_set(known: str) -> WithJsonSchema:
    """The JSON Schema of a name, with the known ones as examples."""
    return WithJsonSchema({"type": "string", "minLength": 1, "examples": known.split()})


SEVERAL: Final = Field(max_length=limits.ITEMS_MAX)


# As `str.isspace` has it, which also takes these four for blank.
NotBlank = _matching(r"[^\s\x1c-\x1f]", "text that is not blank")
# A line break or control character in a short name is never meant, and could forge a line where the
# name is shown.
OneLine = _matching(r"^[^\p{Cc}\p{Zl}\p{Zp}]*$", _ONE_LINE)
Text = Annotated[
    str,
    Field(strict=True, max_length=limits.TEXT_CHARS_MAX),
    _matching(r"^[^\x00]*$", _WITHOUT_NUL),
]
Prose = Annotated[Text, NotBlank]
Name = Annotated[str, Field(strict=True, max_length=limits.NAME_CHARS_MAX), OneLine]
RequiredName = Annotated[Name, NotBlank]
Unit = Annotated[float, _number("a finite number from 0 to 1", ge=0, le=1)]
Finite = Annotated[float, _number("a finite number")]
Seconds = Annotated[float, _number("a finite number of seconds, 0 or more", ge=0)]
Count = Annotated[
    int,
    _holding(
        core_schema.int_schema(strict=True, ge=0, le=limits.JSON_INT_ABS_MAX),
        "a whole number, 0 or more",
    ),
    WithJsonSchema({"type": "integer", "minimum": 0}),
]
Flag = Annotated[bool, _holding(core_schema.bool_schema(strict=True), "true or false")]
Scalar = Annotated[str | int | float | bool | None, BeforeValidator(check_json)]
Time = Annotated[
    datetime,
    BeforeValidator(parse_time),
    WithJsonSchema(
        {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "number", "minimum": 0}]}
    ),
]
RecordId = Annotated[
    str,
    # A UUID in any spelling. One in the usual spelling is taken without calling Python.
    _holding(
        core_schema.union_schema(
            [
                core_schema.str_schema(
                    strict=True,
                    pattern="^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$",
                ),
                core_schema.no_info_plain_validator_function(_check_id),
            ],
            mode="left_to_right",
        ),
        "a UUID",
    ),
    WithJsonSchema({"type": "string", "format": "uuid"}),
]
Ids = Annotated[list[RecordId], SEVERAL]
JsonObject = Annotated[dict[str, Any], AfterValidator(check_json)]
Names = Annotated[list[RequiredName], SEVERAL]
Texts = Annotated[list[Text], SEVERAL]


def check_that(holds: object, field: str, value: object, allowed: str) -> None:
    if not holds:
        raise InvalidInputError.one(field, value, allowed)


def check_items(field: str, value: Any) -> list[Any]:
    """A list of whatever the caller gave one after the other. A text is not a list of its
    letters.
    """
    items = list_items(value)
    check_that(isinstance(items, list), field, value, "a list")
    return items  # type: ignore[no-any-return]  # as was checked


def list_items(value: Any) -> Any:
    """The same where something else tells that it is no list."""
    no_list = isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable)
    return value if no_list else list(value)


def check_mapping(field: str, value: Any) -> dict[str, Any]:
    """The value as a dict."""
    check_that(isinstance(value, Mapping), field, value, "an object (a mapping)")
    return dict(value)


def check_whole_number(field: str, value: Any, least: int, most: int) -> int:
    """The value, a whole number within these."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidInputError.one(field, value, f"a whole number from {least} to {most}")
    return value


def check_limit(limit: Any) -> int:
    """How many answers are wanted at most."""
    return check_whole_number("limit", limit, 1, limits.SHOWN_MAX)


def check_signer(field: str, value: Any) -> str:
    """Who does something, as events have it."""
    name = check_prose(field, value)
    fits = len(name) <= limits.NAME_CHARS_MAX and _is_one_line(name)
    check_that(fits, field, value, f"{_ONE_LINE}, of at most {limits.NAME_CHARS_MAX}")
    return name


def check_share(field: str, value: Any) -> float:
    """A number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInputError.one(field, value, "a number from 0 to 1")
    return float(value)


def check_flag(field: str, value: Any) -> bool:
    """The value, true or false."""
    check_that(isinstance(value, bool), field, value, "true or false")
    return bool(value)


def check_text(field: str, value: Any) -> str:
    """The value, a text that can be kept."""
    check_that(isinstance(value, str), field, value, "text")
    text: str = value
    check_that(text.isascii() or _is_encodable(text), field, value, _ENCODABLE)
    return text


def check_prose(field: str, value: Any) -> str:
    """The value, a text that is not blank."""
    text = check_text(field, value)
    check_that(text.strip(), field, value, "text that is not blank")
    return text


# What is no text, or more than one, of those that are called so.
_CALLED: Final[dict[str, Callable[[str, Any], Any]]] = {
    "limit": lambda _, value: check_limit(value),
    "by": check_signer,
    **dict.fromkeys(("dry_run", "strict", "explain", "by_run", "unverified"), check_flag),
    **dict.fromkeys(("trust", "may_retire", "outcome"), check_flag),
    "as_of": lambda name, value: None if value is None else check_time(name, value),
}


def check_all(*checks: Callable[[], Any], **named: Any) -> list[Any]:
    """What each of `checks` gives. Those that are `named` are what `_CALLED` says of the name, else a
    text or not given. Whatever is wrong is one error.
    """
    results, problems, every = [], [], [*checks]
    for name, value in named.items():
        if value is not None or name in _CALLED:
            every.append(partial(_CALLED.get(name, check_text), name, value))
    for check in every:
        try:
            results.append(check())
        except InvalidInputError as error:
            problems += error.problems
    if problems:
        raise InvalidInputError(problems)
    return results


def check_inside(field: str, check: Callable[..., T], value: Any) -> T:
    """What it gives. What it finds wrong is told as of that field."""
    try:
        return check(value)
    except InvalidInputError as error:
        raise InvalidInputError(
            [Problem(f"{field}.{one.field}", one.value, one.allowed) for one in error.problems]
        ) from None


def check_choice(field: str, value: Any, allowed: Sequence[str]) -> None:
    """One of these texts, or none was given."""
    check_that(value is None or value in allowed, field, value, f"one of {', '.join(allowed)}")


def check_time(field: str, value: Any) -> datetime:
    """A time with a zone, as a datetime, as ISO 8601 or in milliseconds."""
    try:
        return parse_time(value)
    except ValueError as error:
        raise InvalidInputError.one(field, value, f"a time with a zone ({error})") from None


def parse_id(value: Any) -> str:
    """As ids are kept. A text that is no UUID is the id of no record, and comes back empty."""
    check_that(isinstance(value, str | uuid.UUID), "id", value, "the id of a record")
    try:
        return str(uuid.UUID(str(value)))
    except ValueError:
        return ""


ABSENT: Final = NOT_GIVEN

_ALLOWED_BY_TYPE: Final[Mapping[str, str]] = {
    "missing": ANY_VALUE,
    "extra_forbidden": "no such field",
    "greater_than_equal": "{ge} or more",
    "less_than_equal": "at most {le}",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_unicode": _ENCODABLE,
    "string_type": "text",
    "string_too_long": "text of at most {max_length} characters",
    "too_long": "at most {max_length} items",
    "literal_error": "{expected}",
    "list_type": "a list",
    "dict_type": "an object",
    "allowed": "{allowed}",
}


def read_problems(error: ValidationError) -> list[Problem]:
    """What pydantic found, as problems that name the field, the value and what is allowed."""
    problems = []
    for item in error.errors(include_url=False):
        context = item.get("ctx", {})
        known = _ALLOWED_BY_TYPE.get(item["type"])
        allowed = known.format(**context) if known else item["msg"]
        path = [str(part) for part in item["loc"]]
        value = ABSENT if item["type"] == "missing" else item["input"]
        for name, culprit in context.get("culprit", {}).items():
            path, value = [*path, name], culprit
        problems.append(Problem(".".join(path) or "record", value, allowed))
    return problems


if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)  # the same class; it has no public name


class _RaisesTypedErrors(ModelMetaclass):
    # Hidden from type checkers, which would otherwise lose the constructor's own signature.
    if not TYPE_CHECKING:

        def __call__(cls, /, *args: Any, **fields: Any) -> Any:  # noqa: N805  # a metaclass
            return _validate(cls, super().__call__, *args, **fields)


def _validate(model: type, make: Callable[..., T], /, *args: Any, **fields: Any) -> T:
    try:
        if model in _used:
            return make(*args, **fields)
        # What pydantic builds at the first use, it builds under locks of its own.
        with making:
            made = make(*args, **fields)
            _used.add(model)
            return made
    except ValidationError as error:
        problems = [_name_choices(model, problem) for problem in read_problems(error)]
        fields_named = {problem.field for problem in problems}
        data: Any = fields or (args[0] if args else None)
        more = model.find_more(data) if isinstance(data, Mapping) else ()  # type: ignore[attr-defined]  # all are Models
        problems += [problem for problem in more if problem.field not in fields_named]
        raise InvalidInputError(problems) from None


def _name_choices(model: Any, problem: Problem) -> Problem:
    """A problem, with the texts that are allowed where one of a few is missing."""
    field = model.model_fields.get(problem.field)
    choices = get_args(field.annotation) if field and problem.value == ABSENT else ()
    if choices and all(isinstance(choice, str) for choice in choices):
        return dataclasses.replace(problem, allowed=f"one of {', '.join(choices)}")
    return problem


_used: Final[set[type]] = set()
_new = object.__new__
_set_fields_set, _set_extra, _set_private = (
    BaseModel.__dict__[slot].__set__
    for slot in ("__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
)


class Tabular:
    """What a notebook shows as a table of names and values."""

    def as_row(self) -> dict[str, Any]:
        """For a line of a data frame."""
        of: Any = self
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(of)}

    def _repr_html_(self) -> str:
        from html import escape  # whom nobody shows a table does not wait for it

        rows = (
            f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>"
            for name, value in self.as_row().items()
        )
        return f"<table>{''.join(rows)}</table>"


class Model(BaseModel, metaclass=_RaisesTypedErrors):
    """What every model here shares: immutable, no unknown fields, errors of our own."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @classmethod
    def find_more(cls, data: Mapping[str, Any]) -> Iterable[Problem]:  # noqa: ARG003  # others need it
        """What is wrong beside what pydantic told: a check of a whole record it runs only where
        every field is right.
        """
        return ()

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """The model of this value; InvalidInputError where it is none."""
        return _validate(cls, super().model_validate, obj, **options)

    @classmethod
    def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> Self:
        """The model of this JSON; InvalidInputError where it is none."""
        return _validate(cls, super().model_validate_json, json_data, **options)

    def copy_with(self, **changes: Any) -> Self:
        """A copy with other values, which must be valid already. `model_copy` at a third of its
        price: writes need it.
        """
        twin = _new(type(self))
        fields = twin.__dict__
        fields.update(self.__dict__)
        fields.update(changes)
        _set_fields_set(twin, self.__pydantic_fields_set__)
        _set_extra(twin, self.__pydantic_extra__)
        _set_private(twin, None)
        return twin

    def to_json(self) -> str:
        """One line of JSON, absent optional fields left out."""
        return self.to_json_bytes().decode()

    def to_json_bytes(self) -> bytes:
        """The same, as UTF-8."""
        return self.__pydantic_serializer__.to_json(self, exclude_none=True)
