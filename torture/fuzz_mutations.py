"""Inputs that are nearly right: texts, bytes and JSON, changed where parsers go wrong."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any, Final

TEXT_CHARS_MAX: Final = 200_000
"""Far beyond what anybody writes, and small enough that what takes seconds is a finding."""

_CHARS: Final = (
    "\0 \t \r \n \x0b \x1b \x7f \x85 \u00a0 \u0130 \u0301 \u0660 \u200b \u200d \u202e \u2028 "
    "\u2066 \ud800 \udfff \ufeff "
    "\ufffd \uff11 \uff1d \U0001f600 \U0010ffff / \\ . .. * ? [ ] { } ( ) < > | & ; ' \" ` $ # % = "
    ": , @ ~ ^ ! + - _ 0 9 a Z"
).split(" ")
_PIECES: Final = (
    "null",
    "true",
    "NaN",
    "Infinity",
    "-0",
    "1e999",
    "1e-999",
    "9" * 25,
    "9" * 5000,
    "0x1F",
    "-1",
    "../",
    "/etc/passwd",
    "file://",
    "postgresql://u:p@h/d",
    "http://[::1]:99999/",
    "${HOME}",
    "$(id)",
    "`id`",
    "%00",
    "%ff%fe",
    "\\u0000",
    "\\ud800",
    "\\x1b[31m",
    "```",
    "```json\n",
    "<!--",
    "]]>",
    "{{",
    "}}",
    "'; DROP TABLE record; --",
    "\x1b[2J",
    "ghp_" + "a" * 36,
    "AKIA" + "A" * 16,
    "-----BEGIN RSA PRIVATE KEY-----\n",
    "password=",
    "Bearer ",
    "Traceback (most recent call last):\n",
    '  File "a.py", line 3, in f\n',
    "E   AssertionError: ",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999+23:59",
    "2026-02-30",
    "e.g. ",
    "kind",
    "id",
    "metadata",
    "content",
    "--",
    "-",
    "--json",
    "=",
    "r/(a+)+$/",
    "[[:alpha:]]",
    "**/**/**",
    "[!",
    "key=value",
    "\r\n\r\n",
    "\n" * 3,
    " " * 300,
)
_NUMBERS: Final = (
    0,
    -0.0,
    1,
    -1,
    0.5,
    2**31,
    2**53 + 1,
    -(2**63),
    2**63,
    2**64,
    10**30,
    1e308,
    5e-324,
    -1e308,
)
_RAW: Final = (
    "NaN",
    "-Infinity",
    "1e999",
    "9" * 5000,
    '"\\ud800"',
    '"\\u0000"',
    "01",
    "+1",
    "'a'",
    '{"a":1,"a":2}',
    "[" * 50 + "]" * 50,
)
_DEPTHS: Final = (5, 60, 300, 3000)


def mutated_text(text: str, others: Sequence[str], rng: random.Random) -> str:
    """A text with a few changes; now and then none."""
    for _ in range(_how_many(rng)):
        text = rng.choice(_OF_TEXT)(text, others, rng)[:TEXT_CHARS_MAX]
    return text


def mutated_bytes(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    for _ in range(_how_many(rng)):
        data = rng.choice(_OF_BYTES)(data, others, rng)[:TEXT_CHARS_MAX]
    return data


def mutated_json(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """JSON of which values and keys are others; often still JSON, sometimes not."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return mutated_bytes(data, others, rng)
    foreign = [_loaded(rng.choice(others))] if others else []
    for _ in range(_how_many(rng)):
        value = mutated_value(value, foreign, rng)
    try:
        text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
    except (RecursionError, ValueError):
        return data
    if rng.random() < 0.2:
        text = _with_raw(text, rng)
    found = text.encode("utf-8", "surrogatepass")
    if len(found) > TEXT_CHARS_MAX:
        return data
    return mutated_bytes(found, others, rng) if rng.random() < 0.15 else found


def mutated_value(value: Any, others: Sequence[Any], rng: random.Random) -> Any:
    """A JSON value with one change somewhere in it."""
    if rng.random() < 0.1:
        return _odd(value, others, rng)
    value = _copied(value)
    places = list(_places(value))
    if not places:
        return _odd(value, others, rng)
    holder, key = rng.choice(places)
    how = rng.randrange(7)
    if how == 0:
        del holder[key]
    elif how == 1 and isinstance(holder, dict):
        holder[mutated_text(str(key), (), rng)] = holder.pop(key)
    elif how == 2 and isinstance(holder, dict):
        holder[rng.choice(_PIECES)] = _odd(holder[key], others, rng)
    elif how == 3 and isinstance(holder, list):
        holder[key : key + 1] = [holder[key]] * rng.choice((2, 3, 300))
    elif how == 4 and isinstance(holder[key], str):
        holder[key] = mutated_text(
            holder[key], [text for text in others if isinstance(text, str)], rng
        )
    elif how == 5:
        other = rng.choice(places)
        holder[key] = _copied(other[0][other[1]])
    else:
        holder[key] = _odd(holder[key], others, rng)
    return value


def _copied(value: Any) -> Any:
    """Nothing of what is too deep to be copied, or has grown too large."""
    try:
        text = json.dumps(value)
        return json.loads(text) if len(text) <= TEXT_CHARS_MAX else None
    except RecursionError:
        return None


def _how_many(rng: random.Random) -> int:
    return rng.choice((0, 1, 1, 1, 2, 2, 3, 5, 8))


def _loaded(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting and len(found) < 2000:
        holder = waiting.pop()
        items = (
            holder.items()
            if isinstance(holder, dict)
            else enumerate(holder)
            if isinstance(holder, list)
            else ()
        )
        for key, inner in items:
            found.append((holder, key))
            if isinstance(inner, dict | list):
                waiting.append(inner)
    return found


def _odd(value: Any, others: Sequence[Any], rng: random.Random) -> Any:
    how = rng.randrange(9)
    if how == 0:
        return rng.choice(_NUMBERS)
    if how == 1:
        return rng.choice(_PIECES)
    if how == 2:
        return rng.choice((None, True, False, "", [], {}, [[]], {"": None}))
    if how == 3:
        return "x" * rng.choice((300, 5_000, 120_000))
    if how == 4:
        return _nested(value, rng.choice(_DEPTHS[:3]), rng)
    if how == 5:
        return [value]
    if how == 6:
        return {"a": value}
    if how == 7 and others:
        return rng.choice(others)
    return "".join(rng.choices(_CHARS, k=rng.randint(1, 30)))


def _nested(value: Any, depth: int, rng: random.Random) -> Any:
    for _ in range(depth):
        value = [value] if rng.random() < 0.5 else {"a": value}
    return value


def _with_raw(text: str, rng: random.Random) -> str:
    """Something that no encoder writes, in the place of a value."""
    places = [place for place, char in enumerate(text) if char in ":,["]
    if not places:
        return rng.choice(_RAW)
    at = rng.choice(places) + 1
    depth = rng.choice(_DEPTHS)
    return (
        text[:at]
        + rng.choice((*_RAW, "[" * depth, "[" * depth + "]" * depth))
        + rng.choice((",", "", " "))
        + text[at:]
    )


def _span(length: int, rng: random.Random) -> tuple[int, int]:
    first = rng.randint(0, length)
    return first, min(length, first + rng.choice((1, 2, 8, 40, length)))


def _cut_out(data: Any, _: Sequence[Any], rng: random.Random) -> Any:
    first, last = _span(len(data), rng)
    return data[:first] + data[last:]


def _end_early(data: Any, _: Sequence[Any], rng: random.Random) -> Any:
    return data[: rng.randint(0, len(data))]


def _say_again(data: Any, _: Sequence[Any], rng: random.Random) -> Any:
    first, last = _span(len(data), rng)
    times = rng.choice((2, 3, 20, 400))
    return (
        data[:first]
        + data[first:last] * min(times, 1 + TEXT_CHARS_MAX // max(1, last - first))
        + data[last:]
    )


def _move(data: Any, _: Sequence[Any], rng: random.Random) -> Any:
    first, last = _span(len(data), rng)
    rest, at = data[:first] + data[last:], rng.randint(0, len(data))
    return rest[:at] + data[first:last] + rest[at:]


def _splice(data: Any, others: Sequence[Any], rng: random.Random) -> Any:
    other = rng.choice(others) if others else data
    return data[: rng.randint(0, len(data))] + other[rng.randint(0, len(other)) :]


def _put_char(text: str, _: Sequence[str], rng: random.Random) -> str:
    at = rng.randint(0, len(text))
    return (
        text[:at]
        + rng.choice(_CHARS) * rng.choice((1, 1, 1, 2, 30, 5000))
        + text[at + rng.randint(0, 1) :]
    )


def _put_piece(text: str, _: Sequence[str], rng: random.Random) -> str:
    at = rng.randint(0, len(text))
    return text[:at] + rng.choice(_PIECES) * rng.choice((1, 1, 1, 2, 200)) + text[at:]


def _change_case(text: str, _: Sequence[str], rng: random.Random) -> str:
    return rng.choice((str.upper, str.lower, str.title, str.swapcase))(text)


def _flip_bits(data: bytes, _: Sequence[bytes], rng: random.Random) -> bytes:
    found = bytearray(data)
    for _number in range(rng.choice((1, 1, 4, 32))):
        if found:
            found[rng.randrange(len(found))] ^= 1 << rng.randrange(8)
    return bytes(found)


def _put_bytes(data: bytes, _: Sequence[bytes], rng: random.Random) -> bytes:
    at = rng.randint(0, len(data))
    piece = rng.choice(
        (bytes(1), bytes(600), b"\xff\xfe", b"\xef\xbb\xbf", b"\xc0\xaf", rng.randbytes(9))
    )
    return (
        data[:at]
        + (rng.choice(_PIECES).encode("utf-8", "surrogatepass") if rng.random() < 0.5 else piece)
        + data[at:]
    )


_Change = Callable[[Any, Sequence[Any], random.Random], Any]
_BOTH: Final[tuple[_Change, ...]] = (_cut_out, _end_early, _say_again, _move, _splice)
_OF_TEXT: Final[tuple[_Change, ...]] = (
    *_BOTH,
    _put_char,
    _put_char,
    _put_piece,
    _put_piece,
    _change_case,
)
_OF_BYTES: Final[tuple[_Change, ...]] = (*_BOTH, _flip_bits, _flip_bits, _put_bytes)
