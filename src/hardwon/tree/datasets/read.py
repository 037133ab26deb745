"""Reading a data set: a list, or a file of JSON, JSON Lines, or a Python list (or one dictionary) of
literals.

Of Python nothing is run: a list that is made (by a loop, a comprehension, f-strings) is refused, with
the line. Whoever has one runs it, and saves its list with json.dump.
"""

from __future__ import annotations

import ast
import json
import os
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from hardwon import limits
from hardwon.errors import InvalidInputError, PlaceError, Problem
from hardwon.outside import files
from hardwon.outside.locations import check_path
from hardwon.records.fields import check_items

# A data set as Python source. Its syntax tree takes sixty times the room: a gigabyte, for some
# 70,000 memories.
DATASET_LITERAL_BYTES_MAX: Final = 16 * limits.MIB

_LITERALS: Final = (
    "a list of dictionaries made of texts, numbers, True, False and None, alone or assigned to "
    "a name; where a script makes the list, run it yourself and save the list with json.dump"
)
_SHOWN_CHARS: Final = 200


@dataclass(frozen=True)
class DatasetEntries:
    """What a source holds, before it is checked. `lines` are where the entries begin, as far as
    that is known; `unreadable` are those that could not even be read, with the reason, and their
    values the lines as they are.
    """

    values: list[Any]
    lines: list[int | None] = field(default_factory=list)
    unreadable: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.values) > limits.DATASET_MEMORIES_MAX:
            most = f"at most {limits.DATASET_MEMORIES_MAX} memories; divide it"
            _refuse(f"{len(self.values)} memories", most)
        for index, value in enumerate(self.values):
            if isinstance(value, _Doubled):
                self.unreadable[index] = "a key is there twice"


class _Doubled(dict[str, Any]):
    """An object of JSON in which a key is there twice: nobody knows which one is meant."""


def read(source: Any) -> DatasetEntries:
    """The entries of a list, or of the file at a path (a text is a path)."""
    if not isinstance(source, str | os.PathLike):
        return DatasetEntries(check_items("source", source))
    path = check_path("source", os.fspath(source))
    try:
        data = files.read_regular(path, limits.DATASET_BYTES_MAX + 1)
    except (PlaceError, OSError) as error:
        reason = getattr(error, "strerror", None) or "it is not a file; name one, or give the list"
        raise PlaceError(f"cannot read {path}: {reason}") from None
    try:
        return _parse(data, path.suffix.lower())
    except InvalidInputError as error:
        where = f"{path.name}, {error.where}" if error.where else path.name
        raise InvalidInputError(error.problems, where) from None


def _parse(data: bytes, suffix: str) -> DatasetEntries:
    """The entries of a file, by what its name ends in. What is no JSON may be JSON Lines or, where the
    name does not tell, Python: single quotes, comments or True are no JSON.
    """
    if len(data) > limits.DATASET_BYTES_MAX:
        most = f"at most {limits.DATASET_BYTES_MAX} bytes; divide it into several files"
        _refuse("more bytes", most)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        _refuse(f"byte {data[error.start]:#04x}", "text as UTF-8", f"line {line}")
    if suffix == ".py":
        return _read_python(text)
    if suffix in (".jsonl", ".ndjson"):
        return _read_lines(text)
    try:
        return _list_memories(_decode(text))
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidInputError):
            raise
        with suppress(ValueError, RecursionError):
            if isinstance(_decode(text.lstrip().partition("\n")[0]), dict):
                return _read_lines(text)
        if suffix != ".json":
            return _read_python(text)
        line = getattr(error, "lineno", 1)
        _refuse(text[:_SHOWN_CHARS], f"valid JSON ({error})", f"line {line}")


def _list_memories(data: Any) -> DatasetEntries:
    """A list, an object that has one under `memories`, or a single memory."""
    if isinstance(data, dict):
        is_memory = "memories" not in data and ("content" in data or "outcome" in data)
        data = [data] if is_memory else data.get("memories")
    if not isinstance(data, list):
        allowed = "a list of memories, an object with a list under memories, or one memory a line"
        _refuse(str(data)[:_SHOWN_CHARS], allowed)
    return DatasetEntries(data)


def _read_lines(text: str) -> DatasetEntries:
    """Line by line: one that cannot be read is reported, and the others are read all the same."""
    values: list[Any] = []
    lines: list[int | None] = []
    unreadable: dict[int, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            values.append(_decode(line))
        except (ValueError, RecursionError) as error:
            unreadable[len(values)] = f"is not valid JSON ({error})"
            values.append(line)
        lines.append(number)
    return DatasetEntries(values, lines, unreadable)


def _decode(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_make_object, parse_constant=_refuse_constant)


def _make_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    return fields if len(fields) == len(pairs) else _Doubled(fields)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _refuse(what: str, allowed: str, where: str = "") -> NoReturn:
    raise InvalidInputError([Problem("data set", what, allowed)], where)


def _read_python(text: str) -> DatasetEntries:
    """The data set in a Python source that is a list of literals, alone or assigned to a name, or one
    memory. InvalidInputError names the line of what is something else.
    """
    if len(text) > DATASET_LITERAL_BYTES_MAX:
        most = f"at most {DATASET_LITERAL_BYTES_MAX} characters of Python; {_LITERALS}"
        _refuse(f"{len(text)} characters", most)
    try:
        statements = ast.parse(text).body
    except SyntaxError as error:
        _refuse(error.msg, f"valid Python: {_LITERALS}", f"line {error.lineno or 1}")
    except (RecursionError, MemoryError, ValueError) as error:  # nested too deeply, or NUL
        _refuse(str(error) or "nested too deeply", _LITERALS, "line 1")
    match statements:
        case [ast.Expr(ast.Constant(str())), *rest]:  # a docstring
            statements = rest
    match statements:
        case (
            [ast.Expr(ast.List(nodes))]
            | [ast.Assign([ast.Name()], ast.List(nodes))]
            | [ast.AnnAssign(ast.Name(), _, ast.List(nodes))]
        ):
            pass
        case [ast.Expr(ast.Dict() as memory)]:
            nodes = [memory]
        case _:
            others = [line for line in statements if not isinstance(line, ast.Assign)]
            place = f"line {others[0].lineno}" if others else "line 1"
            _refuse("no list, or more than one", _LITERALS, place)
    values = []
    for item in nodes:
        try:
            value = json.dumps(ast.literal_eval(item), allow_nan=False)
            values.append(json.loads(value))  # JSON knows only lists, and no sets
        except (ValueError, TypeError, RecursionError, MemoryError):
            _refuse(type(item).__name__, _LITERALS, f"line {item.lineno}")
    return DatasetEntries(values, [item.lineno for item in nodes])
