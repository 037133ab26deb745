"""One memory as a file of the tree: the JSON that people read and change, and back.

{"timestamp": …, "outcome": …, "tool": …, "summary": …, "content": …, "metadata": {the other keys},
"_path": …}

`_reason` says, in the folder of what could not be routed, why. Keys that begin with `_` are ours
and are not read back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from pydantic_core import PydanticCustomError, from_json

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.learn.tallies import OWN_KEYS
from hardwon.records.fields import TIME_US_MAX, from_us, parse_time
from hardwon.records.kinds import Experience, Record, Source
from hardwon.text.words import spelled

_TAKEN: Final = frozenset(Experience.model_fields) | {OWN_KEYS}
_STAMP: Final = re.compile(r"(\d{8})_(\d{6})(?!\d)")
_DEFAULT_AUTHOR: Final = Source().author
_quoted: Final = json.JSONEncoder(ensure_ascii=False).encode


class UnreadableError(Exception):
    """A file of the tree that is no memory; the message says why."""


def payload_of(body: str, path: str) -> dict[str, Any]:
    """What a file says, and `recall` of the tree answers, from a record's JSON as it is kept."""
    rest = from_json(body)
    envelope = rest.pop("metadata")
    reason = rest.pop("unrouted", None)
    for name in ("kind", "id", "redacted", "recalled", "own_schema"):
        rest.pop(name, None)
    payload = {
        "timestamp": envelope["context"]["timestamp"],
        "outcome": rest.pop("outcome"),
        "tool": rest.pop("tool", None),
        "summary": rest.pop("summary"),
        "content": rest.pop("content"),
        "metadata": rest,
        "_path": path,
    }
    rest |= rest.pop(OWN_KEYS, {})
    if reason:
        payload["_reason"] = reason
    if envelope["source"]["author"] != _DEFAULT_AUTHOR:
        rest["author"] = envelope["source"]["author"]
    if envelope["tags"]:
        rest["tags"] = envelope["tags"]
    return payload


def file_text(body: str, path: str) -> bytes:
    """The file of a record: what `json.dumps(payload, indent=2)` would write, but that values
    inside of values stay on one line.
    """
    lines = []
    for key, value in payload_of(body, path).items():
        text = _quoted(value)
        if type(value) is dict and value:
            inner = [f"    {_quoted(name)}: {_quoted(item)}" for name, item in value.items()]
            text = "{\n" + ",\n".join(inner) + "\n  }"
        lines.append(f'  "{key}": {text}')
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def read_back(data: bytes, name: str, mtime_ns: int) -> tuple[dict[str, Any], datetime, bool]:
    """The keys of a memory file as `remember` takes them, its time, and whether the file itself or
    its name tells that. Files written by hand may have all keys side by side. A time without a zone
    is one of this machine's, as programs that write such times mean it.
    """
    try:
        found = from_json(data.removeprefix(b"\xef\xbb\xbf"), allow_inf_nan=False)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"is not JSON ({error})") from None
    if not isinstance(found, dict):
        raise UnreadableError("is not one JSON object")
    content = found.get("content")
    if not isinstance(content, str) or not content.strip():
        raise UnreadableError("has no content")
    inner = found.pop("metadata", None)
    named = {key: value for key, value in found.items() if not key.startswith("_")}
    both = [*(inner.items() if isinstance(inner, dict) else ()), *named.items()]
    keys = {key: value for key, value in both if value is not None}
    known = _time_of(keys.get("timestamp"), name)
    if known:
        keys.pop("timestamp", None)
    return keys, known or from_us(min(max(mtime_ns // 1000, 0), TIME_US_MAX)), known is not None


def _time_of(given: object, name: str) -> datetime | None:
    try:
        if isinstance(given, str):
            return parse_time(datetime.fromisoformat(given).astimezone())
        if isinstance(given, int):
            return parse_time(given)
        stamp = _STAMP.match(name)
        if stamp:
            return parse_time(
                datetime.strptime("".join(stamp.groups()), "%Y%m%d%H%M%S").replace(tzinfo=UTC)
            )
    except (ValueError, OverflowError, OSError, PydanticCustomError):
        pass
    return None


def given_keys(keys: Mapping[str, Any]) -> dict[str, Any]:
    """A caller's keys as an experience keeps them: those that every record has a meaning of its own
    for go to one side.
    """
    plain, own = dict[str, Any](), dict[str, Any]()
    for name, value in keys.items():
        if not isinstance(name, str):
            raise InvalidInputError.one(str(name), value, "keys that are text")
        fits = 0 < len(name) <= limits.KEY_CHARS_MAX and name.isprintable()
        (plain if fits and name not in _TAKEN else own)[name] = value
    return plain | {OWN_KEYS: own} if own else plain


def says(payload: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a memory has these keys with these values."""
    kept = {**payload.get("metadata", {}), **payload}
    for name, value in wanted.items():
        spelling = spelled(kept.get(name))
        if name not in kept or (
            kept[name] != value and (spelling is None or spelling != spelled(value))
        ):
            return False
    return True


def is_flat(payload: Mapping[str, Any]) -> bool:
    """Whether a copy of it and of its metadata shares nothing that a caller could change."""
    return not any(type(value) in (list, dict) for value in payload["metadata"].values())


def fragment(name: str, value: object) -> str | None:
    """What a record's JSON has in it if this key of every record has this value; None where that
    cannot be told.
    """
    if name not in ("content", "summary", "author") or not isinstance(value, str):
        return None
    return f'"{name}":{_quoted(value)}' if value.isprintable() else None


def same_memory(one: Record, other: Experience, *, same_time: bool) -> bool:
    """Whether two say the same, under whatever id; and of the same time, where that matters."""
    if not isinstance(one, Experience) or _content_of(one) != _content_of(other):
        return False
    return not same_time or one.metadata.context.timestamp == other.metadata.context.timestamp


def _content_of(record: Experience) -> tuple[Any, ...]:
    kept = {name: value for name, value in record.extra.items() if value is not None}
    envelope = record.metadata.source.author, sorted(record.metadata.tags)
    return record.content, record.outcome, record.tool, record.summary, kept, envelope
