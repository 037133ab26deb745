"""What callers hand in, checked before anything else happens: a wrong type gets the same kind of
error as a wrong value.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from hardwon.errors import InvalidInputError, PlaceError
from hardwon.outside.locations import is_url, without_password
from hardwon.records.fields import TIME_US_MAX, parse_time
from hardwon.records.kinds import Issue
from hardwon.store.types import Cursor


def items(field: str, value: Any) -> list[Any]:
    """A list of whatever the caller gave one after the other. A text is not a list of its
    letters.
    """
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise InvalidInputError.one(field, value, "a list")
    return list(value)


def mapping(field: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInputError.one(field, value, "an object (a mapping)")
    return dict(value)


def whole_number(field: str, value: Any, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InvalidInputError.one(field, value, f"a whole number from {least} to {most}")
    return value


def text(field: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidInputError.one(field, value, "text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidInputError.one(
            field, value, "text that UTF-8 can encode (no lone surrogates)"
        ) from None
    return value


def moment(field: str, value: Any) -> datetime:
    """A time with a zone, as a datetime, as ISO 8601 or in milliseconds."""
    try:
        return parse_time(value)
    except ValueError as error:
        raise InvalidInputError.one(field, value, f"a time with a zone ({error})") from None


def optional_text(field: str, value: Any) -> None:
    if value is not None:
        text(field, value)


def issue(given: Issue | Mapping[str, Any]) -> tuple[Issue, str | None]:
    """The issue, and the fixer that it names under `fixer_type`."""
    checked = given if isinstance(given, Issue) else Issue.model_validate(mapping("issue", given))
    fixer = (checked.__pydantic_extra__ or {}).get("fixer_type")
    optional_text("issue.fixer_type", fixer)
    return checked, fixer


def local(field: str, value: Any) -> None:
    """Raises where the url of a database stands for a file or folder."""
    if is_url(value):
        raise PlaceError(
            f"{field}: {without_password(value)} is a database, and here a file or folder of this "
            f"machine is wanted; "
            "Memory(url), or hardwon --memory URL, opens a database"
        )


def path(field: str, value: Any) -> Path:
    local(field, value)
    if not isinstance(value, str | Path) or not str(value) or "\0" in str(value):
        raise InvalidInputError.one(field, value, "a path")
    try:
        str(value).encode()
        return Path(value).expanduser().absolute()
    except (UnicodeEncodeError, RuntimeError, OSError) as error:
        raise InvalidInputError.one(field, value, f"a path ({error})") from None


def record_id(value: Any) -> str:
    """As ids are kept. A text that is no UUID is the id of no record, and comes back empty."""
    if not isinstance(value, str | uuid.UUID):
        raise InvalidInputError.one("id", value, "the id of a record")
    try:
        return str(uuid.UUID(str(value)))
    except ValueError:
        return ""


def cursor(value: Any) -> Cursor:
    """A place among records, as `written_cursor` wrote it."""
    try:
        at_us, record = base64.urlsafe_b64decode(text("cursor", value).encode()).decode().split("|")
        if not 0 <= int(at_us) <= TIME_US_MAX:
            raise ValueError(at_us)
        return Cursor(int(at_us), str(uuid.UUID(record)))
    except ValueError:
        raise InvalidInputError.one("cursor", value, "what a page gave as its next") from None


def written_cursor(place: Cursor) -> str:
    return base64.urlsafe_b64encode(f"{place.at_us}|{place.id}".encode()).decode()
