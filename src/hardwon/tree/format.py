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
from typing import Any, Final, NamedTuple

from pydantic_core import PydanticCustomError, from_json

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.learn.tallies import OWN_KEYS
from hardwon.records.fields import TIME_US_MAX, from_us, parse_time
from hardwon.records.kinds import OUTCOMES, ROUTES, Experience, Record, Source
from hardwon.text.words import spelled

_TAKEN: Final = frozenset(
    {"id", "kind", "metadata", "redacted", "recalled", "unrouted", "own_schema", OWN_KEYS}
)
_FIELDS: Final = frozenset({"content", "outcome", "tool", "summary"})
_TOOLS: Final = frozenset(tool for _, tool in ROUTES if tool)
_STAMP: Final = re.compile(r"(\d{8})_(\d{6})(?!\d)")
_DEFAULT_AUTHOR: Final = Source().author
_quoted: Final = json.JSONEncoder(ensure_ascii=False).encode


class UnreadableError(Exception):
    """A file of the tree that is no memory; the message says why."""


def payload_of(body: Mapping[str, Any], path: str) -> dict[str, Any]:
    """What a file says, and `recall` of the tree answers, from a record's JSON."""
    rest = dict(body)
    envelope = rest.pop("metadata")
    del rest["kind"], rest["id"]
    payload = {
        "timestamp": envelope["context"]["timestamp"],
        "outcome": rest.pop("outcome"),
        "tool": rest.pop("tool", None),
        "summary": rest.pop("summary"),
        "content": rest.pop("content"),
        "metadata": rest,
        "_path": path,
    }
    if len(rest) > 1 or not rest.keys().isdisjoint(_TAKEN):
        reason = rest.pop("unrouted", None)
        for name in ("redacted", "recalled", "own_schema"):
            rest.pop(name, None)
        rest |= rest.pop(OWN_KEYS, {})
        if reason:
            payload["_reason"] = reason
    if envelope["source"]["author"] != _DEFAULT_AUTHOR:
        rest["author"] = envelope["source"]["author"]
    if envelope["tags"]:
        rest["tags"] = envelope["tags"]
    return payload


class _RecordParts(NamedTuple):
    """What a file tells of a record whose envelope adds nothing to it, cut out of the record's
    JSON. `content` is JSON without its last quotation mark, `own` are the other keys as JSON.
    """

    stamp: str
    outcome: str
    tool: str | None
    summary: str
    content: str
    own: str


_PLAIN_AUTHOR: Final = f'"author":"{_DEFAULT_AUTHOR}"'
_ONE_KEY: Final = re.compile(r',"([a-z_]+)":"([a-z_]+)"}')
_SPECIAL: Final = re.compile(rf'"(?:redacted|recalled|unrouted|own_schema|{OWN_KEYS})":')


def _parts_of(body: str) -> _RecordParts | None:
    """Cuts instead of parsing, which takes a third of the time; None where that would not do. A
    quotation mark inside a JSON text is escaped, so what is looked for, which has bare ones, is
    found only where it is a key.
    """
    head, _, rest = body.partition(',"content":')
    content, _, rest = rest.partition('","outcome":"')
    outcome, _, rest = rest.partition('"')
    tool = None
    if rest.startswith(',"tool":"'):
        tool, _, rest = rest[9:].partition('"')
    before, _, rest = rest.partition('"summary":"')
    summary, _, own = rest.partition('"')
    at = head.find('"timestamp":"') + 13
    plain = before == "," and at > 13 and outcome in OUTCOMES and (tool is None or tool in _TOOLS)
    if (
        not plain
        or _PLAIN_AUTHOR not in head
        or '"tags":[]' not in head
        or _SPECIAL.search(own)
        or _SPECIAL.search(head)
    ):
        return None
    return _RecordParts(head[at : head.index('"', at)], outcome, tool, summary, content, own)


def quick_payload(body: str, path: str) -> dict[str, Any]:
    """`payload_of`, from a record's JSON as it is kept."""
    parts = _parts_of(body)
    if parts is None:
        return payload_of(from_json(body), path)
    content = parts.content
    one = _ONE_KEY.fullmatch(parts.own)
    return {
        "timestamp": parts.stamp,
        "outcome": parts.outcome,
        "tool": parts.tool,
        "summary": parts.summary,
        "content": from_json(f'{content}"') if "\\" in content else content[1:],
        "metadata": {one[1]: one[2]} if one else from_json(f"{{{parts.own.lstrip(',')}"),
        "_path": path,
    }


def file_text(body: str, path: str) -> bytes:
    """The file of a record: what `json.dumps(payload, indent=2)` would write, but that values
    inside of values stay on one line.
    """
    parts = _parts_of(body)
    one = _ONE_KEY.fullmatch(parts.own) if parts else None
    if parts is None or (one is None and parts.own != "}"):
        lines = []
        for key, value in quick_payload(body, path).items():
            if type(value) is dict and value:
                inner = ",\n".join(
                    f"    {_quoted(name)}: {_quoted(item)}" for name, item in value.items()
                )
                lines.append(f'  "{key}": {{\n{inner}\n  }}')
            else:
                lines.append(f'  "{key}": {_quoted(value)}')
        return ("{\n" + ",\n".join(lines) + "\n}\n").encode()
    tool = f'"{parts.tool}"' if parts.tool else "null"
    own = f'{{\n    "{one[1]}": "{one[2]}"\n  }}' if one else "{}"
    return (
        f'{{\n  "timestamp": "{parts.stamp}",\n  "outcome": "{parts.outcome}",\n  "tool": {tool},\n'
        f'  "summary": "{parts.summary}",\n  "content": {parts.content}",\n  "metadata": {own},\n  '
        f'"_path": "{path}"\n}}\n'
    ).encode()


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
    keys = {
        key: value for key, value in found.items() if not key.startswith("_") and value is not None
    }
    if isinstance(inner, dict):
        keys = {**{key: value for key, value in inner.items() if value is not None}, **keys}
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
    for name, value in keys.items():
        if not isinstance(name, str):
            raise InvalidInputError.one(str(name), value, "keys that are text")
    own = {
        name: value
        for name, value in keys.items()
        if name in _TAKEN
        or name in _FIELDS
        or not 0 < len(name) <= limits.KEY_CHARS_MAX
        or not name.isprintable()
    }
    if not own:
        return dict(keys)
    return {name: value for name, value in keys.items() if name not in own} | {OWN_KEYS: own}


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
