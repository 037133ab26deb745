"""The classes that the page on Python tells of: records with what is inside of them, and what
methods answer.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from functools import cache
from typing import Any

import hardwon
from generating.markdown import code, fields_table, listed, prose, table
from generating.signatures import call, named_in, returned, words_in, written
from hardwon.first_use import lazy
from hardwon.lessons.fix_odds import Rated
from hardwon.memory import Memory
from hardwon.memory.project import Noun
from hardwon.records import kinds as model
from hardwon.records.fields import Model
from hardwon.records.kinds import Record

# --- records ---


@cache
def records() -> dict[str, type[Model]]:
    """The public models and those inside of them, in the order of the source."""
    public = [
        found
        for name in hardwon.__all__
        if inspect.isclass(found := getattr(hardwon, name)) and issubclass(found, Model)
    ]
    wanted = {
        name
        for each in public
        for name in (each.__name__, *each.model_json_schema().get("$defs", {}))
    }
    return {
        name: found
        for name, found in vars(model).items()
        if name in wanted and found.__name__ == name
    }


def records_section() -> Iterator[str]:
    yield "## Records\n\n[records.md](../records.md) tells what they are for; `AnyRecord` is any of them. Every record has:\n"
    schema = Record.model_json_schema()
    yield fields_table(schema["properties"], schema["required"], link)
    also = [name for name, found in vars(Record).items() if _told(found)] + [
        "to_json",
        "to_json_bytes",
    ]
    yield "and\n\n" + table(
        ("also", ""),
        ((code(call(Record, name)), prose(_told(getattr(Record, name)))) for name in also),
    )
    inner = [name for name in records() if name not in hardwon.__all__]
    yield f"{listed(map(link, inner), 'and')} are parts of others, and are imported from `hardwon.records.kinds`.\n"
    for name, kind in records().items():
        yield from _record(name, kind)
    for name in hardwon.__all__:
        own = getattr(hardwon, name).__name__
        if own != name:
            yield f"### {name}\n\n{link(own)} under the name that it has in the metadata schema: the same class.\n"


def _record(name: str, kind: type[Model]) -> Iterator[str]:
    schema = kind.model_json_schema()
    of_all = Record.model_fields if issubclass(kind, Record) else {}
    own = {each: inner for each, inner in schema["properties"].items() if each not in of_all}
    yield f"### {name}\n\n{prose(kind.__doc__)}\n"
    yield fields_table(own, schema.get("required", ()), link)
    more = [
        each for each, found in vars(kind).items() if isinstance(found, property) and found.__doc__
    ]
    if more:
        yield table(
            ("property", ""), ((code(each), prose(vars(kind)[each].__doc__)) for each in more)
        )


# --- answers ---


@cache
def answers() -> dict[str, type]:
    """The classes that methods of `Memory` give, and those inside of them, by name."""
    wanted: dict[str, type] = {}
    groups: list[type] = [
        found.__get__(None, Memory) for found in vars(Memory).values() if isinstance(found, Noun)
    ]
    waiting = [
        (returned(function), function.__module__)
        for owner in (Memory, *groups)
        for function in _functions_of(owner)
    ]
    while waiting:
        for name, found in named_in(*waiting.pop()):
            if _is_answer(found) and name not in wanted:
                wanted[name] = found
                waiting += [(written(kind), found.__module__) for _, kind in _fields_of(found)]
    return dict(sorted(wanted.items()))


def _functions_of(owner: type) -> Iterator[Any]:
    for name in dir(owner):
        found = inspect.getattr_static(owner, name)
        function = getattr(found, "fget", None) or getattr(found, "__func__", found)
        if not name.startswith("_") and inspect.isfunction(function):
            yield function


def _is_answer(found: Any) -> bool:
    """Whether it holds values, or is made for a `with` block."""
    if (
        not inspect.isclass(found)
        or not found.__module__.startswith("hardwon.")
        or issubclass(found, Memory)
    ):
        return False
    return bool(_fields_of(found)) or hasattr(found, "__exit__")


def _fields_of(kind: type) -> list[tuple[str, Any]]:
    if dataclasses.is_dataclass(kind):
        return [(each.name, each.type) for each in dataclasses.fields(kind)]
    return list(kind.__annotations__.items()) if hasattr(kind, "_fields") else []


def answers_section() -> Iterator[str]:
    yield "## Answers\n\nWhat methods give that is no record. Over HTTP it is an object with the same fields.\n"
    for name, kind in answers().items():
        yield f"### {name}\n\n{prose(kind.__doc__)}\n"
        if rows := [
            (code(field), _typed(written(kind_), kind.__module__))
            for field, kind_ in _fields_of(kind)
        ]:
            yield table(("field", ""), rows)
        more = {
            each: told
            for owner in (Rated, kind)
            if issubclass(kind, owner)
            for each, found in vars(owner).items()
            if not each.startswith("_") and (told := _told(found))
        }
        if more:
            yield table(
                ("also", ""),
                ((code(call(kind, each)), prose(told)) for each, told in more.items()),
            )


def _typed(annotation: str, module: str) -> str:
    more = [link(name) for name, _ in named_in(annotation, module) if is_told(name)]
    more += [words for _, words in words_in(annotation, module)]
    return f"{code(annotation)}: {', '.join(more)}" if more else code(annotation)


def _told(found: Any) -> str:
    """The docstring of what can be called or read."""
    readable = inspect.isfunction(found) or isinstance(found, property | lazy)
    return (inspect.getdoc(found) or "") if readable else ""


# --- both ---


def is_told(name: str) -> bool:
    return name in records() or name in answers()


def link(name: str) -> str:
    """A link to a class of this page, where it is on it."""
    return f"[{code(name)}](#{name.lower()})" if is_told(name) else code(name)
