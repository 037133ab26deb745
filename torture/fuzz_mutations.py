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
    *"null true NaN Infinity -0 1e999 1e-999 0x1F -1 ../ /etc/passwd file:// ${HOME} $(id) `id`".split(),
    *"%00 %ff%fe \\u0000 \\ud800 ``` ```json\n <!-- ]]> {{ }} --json = **/**/** [! key=value".split(" "),
    *"kind id metadata content password= Bearer -----BEGIN".split(),
    "9" * 25, "9" * 5000, "postgresql://u:p@h/d", "http://[::1]:99999/", "'; DROP TABLE record; --",
    "\x1b[2J", "ghp_" + "a" * 36, "AKIA" + "A" * 16, "Traceback (most recent call last):\n",
    "E   AssertionError: ", "9999-12-31T23:59:59.999999+23:59", "2026-02-30", "r/(a+)+$/",
    "[[:alpha:]]", "\r\n\r\n", "\n" * 3, " " * 300,
)  # fmt: skip
_NUMBERS: Final = (0, -0.0, 1, -1, 0.5, 2**31, 2**53 + 1, -(2**63), 2**63, 10**30, 1e308, 5e-324)
_RAW: Final = (
    "NaN", "1e999", "9" * 5000, '"\\ud800"', '"\\u0000"', "01", "'a'", '{"a":1,"a":2}', "[" * 50 + "]" * 50
)  # fmt: skip


def mutate(kind: str, data: Any, others: Sequence[Any], rng: random.Random) -> Any:
    """An input of that kind with a few changes; now and then none."""
    if kind == "json":
        return mutate_json(data, others, rng)
    if kind == "value":
        for _ in range(rng.choice((1, 1, 2, 3, 6))):
            data = mutate_value(data, others, rng)
        return data
    changes = _OF_TEXT if kind == "text" else _OF_BYTES
    for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3, 5, 8))):
        data = rng.choice(changes)(data, rng)[:TEXT_CHARS_MAX]
    return data


def mutate_json(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """JSON of which values and keys are others; often still JSON, sometimes not."""
    value = _load(data)
    changed = json.dumps(mutate("value", value, [_load(rng.choice(others))], rng))
    if rng.random() < 0.2:
        changed = _put_raw(changed, rng)
    text = changed.encode("utf-8", "surrogatepass")[:TEXT_CHARS_MAX]
    return mutate("bytes", text, others, rng) if rng.random() < 0.15 else text


def mutate_value(value: Any, others: Sequence[Any], rng: random.Random) -> Any:
    """A JSON value with one change somewhere in it."""
    value = _copy(value)
    places = list(_places(value))
    if not places or rng.random() < 0.1:
        return _odd(value, others, rng)
    holder, key = rng.choice(places)
    how = rng.randrange(6)
    if how == 0:
        del holder[key]
    elif how == 1 and isinstance(holder, dict):
        holder[mutate("text", str(key), (), rng)] = holder.pop(key)
    elif how == 2 and isinstance(holder, list):
        holder[key : key + 1] = [holder[key]] * rng.choice((2, 3, 300))
    elif how == 3 and isinstance(holder[key], str):
        holder[key] = mutate("text", holder[key], (), rng)
    elif how == 4:
        other = rng.choice(places)
        holder[key] = _copy(other[0][other[1]])
    else:
        holder[key] = _odd(holder[key], others, rng)
    return value


def _copy(value: Any) -> Any:
    """Nothing of what is too deep to be copied, or has grown too large."""
    try:
        text = json.dumps(value)
        return json.loads(text) if len(text) <= TEXT_CHARS_MAX else None
    except RecursionError:
        return None


def _load(data: bytes) -> Any:
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
    how = rng.randrange(6)
    if how == 0:
        return rng.choice(_NUMBERS)
    if how == 1:
        return rng.choice(_PIECES)
    if how == 2:
        return rng.choice((None, True, False, "", [], {}, [[]], {"": None}, [value], {"a": value}))
    if how == 3:
        return "x" * rng.choice((300, 5_000, 120_000))
    if how == 4:
        for _ in range(rng.choice((5, 60, 300))):
            value = [value] if rng.random() < 0.5 else {"a": value}
        return value
    return rng.choice([*others, "".join(rng.choices(_CHARS, k=rng.randint(1, 30)))])


def _put_raw(text: str, rng: random.Random) -> str:
    """Something that no encoder writes, in the place of a value."""
    places = [place for place, char in enumerate(text) if char in ":,["] or [0]
    at, depth = rng.choice(places) + 1, rng.choice((5, 60, 300, 3000))
    raw = rng.choice((*_RAW, "[" * depth, "[" * depth + "]" * depth))
    return text[:at] + raw + rng.choice((",", "", " ")) + text[at:]


def _span(length: int, rng: random.Random) -> tuple[int, int]:
    first = rng.randint(0, length)
    return first, min(length, first + rng.choice((1, 2, 8, 40, length)))


def _cut_out(data: Any, rng: random.Random) -> Any:
    first, last = _span(len(data), rng)
    return data[:first] + data[last:]


def _end_early(data: Any, rng: random.Random) -> Any:
    return data[: rng.randint(0, len(data))]


def _repeat(data: Any, rng: random.Random) -> Any:
    first, last = _span(len(data), rng)
    times = min(rng.choice((2, 3, 20, 400)), 1 + TEXT_CHARS_MAX // max(1, last - first))
    return data[:first] + data[first:last] * times + data[last:]


def _move(data: Any, rng: random.Random) -> Any:
    first, last = _span(len(data), rng)
    rest, at = data[:first] + data[last:], rng.randint(0, len(data))
    return rest[:at] + data[first:last] + rest[at:]


def _put(text: str, rng: random.Random) -> str:
    at, often = rng.randint(0, len(text)), rng.choice((1, 1, 1, 2, 30, 5000))
    piece = rng.choice(_CHARS) * often if rng.random() < 0.5 else rng.choice(_PIECES)
    return text[:at] + piece + text[at + rng.randint(0, 1) :]


def _change_case(text: str, rng: random.Random) -> str:
    return rng.choice((str.upper, str.lower, str.title, str.swapcase))(text)


def _flip_bits(data: bytes, rng: random.Random) -> bytes:
    flipped = bytearray(data)
    for _ in range(rng.choice((1, 1, 4, 32)) if data else 0):
        flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
    return bytes(flipped)


def _put_bytes(data: bytes, rng: random.Random) -> bytes:
    at = rng.randint(0, len(data))
    pieces = (bytes(1), bytes(600), b"\xff\xfe", b"\xef\xbb\xbf", b"\xc0\xaf", rng.randbytes(9))
    text = rng.choice(_PIECES).encode("utf-8", "surrogatepass")
    return data[:at] + (text if rng.random() < 0.5 else rng.choice(pieces)) + data[at:]


_Change = Callable[[Any, random.Random], Any]
_BOTH: Final[tuple[_Change, ...]] = (_cut_out, _end_early, _repeat, _move)
_OF_TEXT: Final[tuple[_Change, ...]] = (*_BOTH, _put, _put, _put, _change_case)
_OF_BYTES: Final[tuple[_Change, ...]] = (*_BOTH, _flip_bits, _flip_bits, _put_bytes)
