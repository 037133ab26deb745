"""Faults to plant in a data set: each spoils one memory, and says where that must be found."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

from hardwon.records.kinds import ROUTES

Memory = dict[str, Any]
FREE_TOOLS = {"success": ["unknown", "browser", "Code_Interpreter"]}
FREE_TOOLS["failure"] = ["conversation", "browser", "WEB_SEARCH"]
Spoil = Callable[[Memory, Memory, Random], tuple[str, Any] | None]


class Planted(NamedTuple):
    at: int
    field: str
    severity: str


class Kind(NamedTuple):
    """`spoil` returns the field at fault and the spoilt memory, or None where it cannot be."""

    name: str
    spoil: Spoil
    severity: str = "error"


def _set(field: str, *values: Any) -> Callable[[Memory, Memory, Random], tuple[str, Any]]:
    return lambda memory, _other, random: (field, memory | {field: random.choice(values)})


def _drop(field: str) -> Callable[[Memory, Memory, Random], tuple[str, Any]]:
    return lambda memory, _, __: (field, {key: memory[key] for key in memory if key != field})


def _route_of(memory: Memory) -> tuple[str, tuple[str, ...]] | None:
    return ROUTES[memory["outcome"], memory.get("tool")]


def _no_key(memory: Memory, other: Memory, random: Random) -> tuple[str, Any] | None:
    route = _route_of(memory)
    return _drop(route[0])(memory, other, random) if route else None


def _wrong_value(memory: Memory, _other: Memory, random: Random) -> tuple[str, Any] | None:
    route = _route_of(memory)
    if not route:
        return None
    wrong = random.choice([route[1][0].upper(), "other", "", 7, ["write"], {"a": 1}])
    return route[0], memory | {route[0]: wrong}


def _needless_key(memory: Memory, _other: Memory, random: Random) -> tuple[str, Any] | None:
    key = random.choice(["task_type", "error_type", "sentiment"])
    return None if key in memory else (key, memory | {key: "banana"})


def _no_tool(memory: Memory, other: Memory, random: Random) -> tuple[str, Any] | None:
    return _drop("tool")(memory, other, random) if "tool" in memory else None


def _wrong_tool(memory: Memory, _other: Memory, random: Random) -> tuple[str, Any] | None:
    if "tool" not in memory:
        return None
    wrong = random.choice([*FREE_TOOLS[memory["outcome"]], "", 5, ["code_interpreter"]])
    return "tool", memory | {"tool": wrong}


def _needless_tool(memory: Memory, _other: Memory, random: Random) -> tuple[str, Any] | None:
    tool = random.choice(["code_interpreter", "conversation", ""])
    return None if "tool" in memory else ("tool", memory | {"tool": tool})


def _deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


def _not_a_memory(_memory: Memory, _other: Memory, random: Random) -> tuple[str, Any]:
    return "entry", random.choice([None, LOGIN, 7, [], ("content", "outcome"), True])


def _reserved(memory: Memory, _other: Memory, random: Random) -> tuple[str, Any]:
    field = random.choice(["id", "kind", "metadata", "redacted"])
    return field, memory | {field: "experience"}


def _long(memory: Memory, _other: Memory, _random: Random) -> tuple[str, Any]:
    return "content", memory | {"content": (memory["content"] + " ") * 20}


def _near_copy(memory: Memory, other: Memory, random: Random) -> tuple[str, Any]:
    content, number = other["content"], random.randrange(10_000)
    backwards = " ".join(reversed(content.split()))
    altered = random.choice([content, content.upper(), f"{content} #{number}", backwards])
    return "content", memory | {"content": altered}


KINDS: list[Kind] = []


def _kind(name: str, spoil: Spoil, severity: str = "error") -> None:
    KINDS.append(Kind(name, spoil, severity))


LOGIN = "Fixed the login form"
_kind("no content", _drop("content"))
_kind("content is no text", _set("content", 5, [LOGIN], True, LOGIN.encode()))
_kind("content too short", _set("content", "", "Fixed it", "OK", "   Fixed      ", "          "))
_kind("content too long", _long)
_UNKEPT = ("Fixed the login\0form", "Fixed the login \ud800 form")
_kind("content cannot be kept", _set("content", *_UNKEPT))
_kind("no outcome", _drop("outcome"))
_OUTCOMES = ("Success", "failed", "", 3, ["success"], {"success": True})
_kind("outcome unknown", _set("outcome", *_OUTCOMES))
_kind("no tool", _no_tool)
_kind("wrong tool", _wrong_tool)
_kind("needless tool", _needless_tool, "warning")
_kind("no routing key", _no_key)
_kind("wrong routing value", _wrong_value)
_kind("no summary", _drop("summary"), "warning")
_kind("summary is None", _set("summary", None), "warning")
_kind("mistyped key", _set("task_typo", "debug"), "warning")
_kind("key of another tool", _needless_key, "warning")
_SUMMARIES = ("login fix", "Login_Fix", "login/fix", "größe", "a.b", "x" * 51, "", "a\nb")
_kind("summary is no file name", _set("summary", *_SUMMARIES))
_kind("summary is no text", _set("summary", 5, ["login_fix"]))
_kind("summary taken", lambda memory, other, _: ("summary", memory | {"summary": other["summary"]}))
_NO_JSON = (math.nan, math.inf, {1, 2}, b"x", object(), 2**64, (1, 2), _deep(20), {"a": {1: 2}})
_kind("not JSON", _set("ticket", *_NO_JSON, "\ud800"))
_kind("reserved key", _reserved)
_kind("key is no text", lambda memory, _other, _random: ("entry", {**memory, 5: "five"}))
_kind("no memory", _not_a_memory)
_TIMES = ("2026-01-31T12:00:00", "yesterday", -1, "1960-01-01T00:00:00Z")
_kind("time without zone", _set("timestamp", *_TIMES))
_kind("blank author", _set("author", "", "  ", "a\nb"))
_GENERIC = ("Fixed a bug", "Did some research", "Learned something", "Resolved issue 7")
_kind("too generic", _set("content", *_GENERIC), "warning")
_VAGUE = ("Made improvements", "Looked at code", "Talked to user", "Updated login")
_kind("too vague", _set("content", *_VAGUE), "warning")
_kind("near-copy", _near_copy, "warning")


def plant(memories: list[Memory], count: int, seed: int) -> tuple[list[Any], set[Any], set[str]]:
    """A copy with `count` faults, where they must be found, and which kinds there are."""
    random = Random(seed)
    spoilt: list[Any] = list(memories)
    chosen = set(random.sample(range(1, len(memories)), count))
    sound = [index for index in range(len(memories)) if index not in chosen]
    planted: set[Planted] = set()
    kinds: set[str] = set()
    for number, index in enumerate(sorted(chosen)):
        before = memories[sound[random.randrange(bisect_left(sound, index))]]
        kind = KINDS[number % len(KINDS)]
        while not (found := kind.spoil(memories[index], before, random)):
            kind = random.choice(KINDS)
        field, spoilt[index] = found
        planted.add(Planted(index, field, kind.severity))
        kinds.add(kind.name)
    return spoilt, planted, kinds
