"""Reading a data set: a list, or a file of JSON, JSON Lines, or a Python list (or one dictionary) of
literals.

Of Python nothing is run: a list that is made (by a loop, a comprehension, f-strings) is refused, with
the line. Whoever has one runs it, and saves its list with json.dump.
"""

from __future__ import annotations

import ast
import json
import os
import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

from pydantic_core import from_json

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


def read(source: Any) -> DatasetEntries:
    """The entries of a list, or of the file at a path (a text is a path)."""
    if not isinstance(source, str | os.PathLike):
        return DatasetEntries(_bounded(check_items("source", source)))
    path = check_path("source", os.fspath(source))
    text = _text_of(path)
    try:
        suffix = path.suffix.lower()
        if suffix in (".jsonl", ".ndjson"):
            return _json_lines(text)
        if suffix != ".py" and text.lstrip().startswith(("[", "{")):
            try:
                return _json(text)
            except _NotJsonError:  # where the name does not tell, it may be Python: single quotes, comments or True are no JSON
                if suffix == ".json":
                    raise
        return read_python(text)
    except InvalidInputError as error:
        where = f"{path.name}, {error.where}" if error.where else path.name
        raise InvalidInputError(error.problems, where) from None


def _text_of(path: Path) -> str:
    try:
        data = files.read_regular(path, limits.DATASET_BYTES_MAX + 1)
    except PlaceError:
        raise PlaceError(
            f"cannot read {path}: it is not a file; name a file, or give the list itself"
        ) from None
    except OSError as error:
        raise PlaceError(f"cannot read {path}: {error.strerror or error}") from error
    if len(data) > limits.DATASET_BYTES_MAX:
        most = f"at most {limits.DATASET_BYTES_MAX} bytes; divide it into several files"
        _refuse("more bytes", most, path.name)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        _refuse(f"byte {data[error.start]:#04x}", "text as UTF-8", f"{path.name}, line {line}")


class _NotJsonError(InvalidInputError):
    """Not even the beginning of something else."""


def _json(text: str) -> DatasetEntries:
    try:
        data = from_json(text, allow_inf_nan=False)
    except ValueError as error:
        with suppress(ValueError):
            if isinstance(from_json(text.lstrip().partition("\n")[0]), dict):
                return _json_lines(text)
        place = re.search(r"line (\d+)", str(error))
        problem = Problem("data set", text[:_SHOWN_CHARS], f"valid JSON ({error})")
        raise _NotJsonError([problem], f"line {place[1] if place else 1}") from None
    if isinstance(data, dict):
        if "memories" not in data and ("content" in data or "outcome" in data):
            return DatasetEntries([data])  # a single line of JSON Lines
        data = data.get("memories")
    if not isinstance(data, list):
        allowed = "a list of memories, an object with a list under memories, or one memory a line"
        _refuse(text[:_SHOWN_CHARS], allowed)
    return DatasetEntries(_bounded(data))


def _json_lines(text: str) -> DatasetEntries:
    """Line by line: one that cannot be read is reported, and the others are read all the same."""
    found = DatasetEntries([])
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = from_json(line, allow_inf_nan=False)
        except ValueError as error:
            found.unreadable[len(found.values)] = str(error).replace(" at line 1 ", " at ")
            value = line
        _bounded(found.values, f"line {number}", more=1).append(value)
        found.lines.append(number)
    return found


def _bounded(values: list[Any], where: str = "", more: int = 0) -> list[Any]:
    if (count := len(values) + more) > limits.DATASET_MEMORIES_MAX:
        most = f"at most {limits.DATASET_MEMORIES_MAX} memories; divide it"
        _refuse(f"{count} memories", most, where)
    return values


def _refuse(what: str, allowed: str, where: str = "") -> NoReturn:
    raise InvalidInputError([Problem("data set", what, allowed)], where)


def read_python(text: str) -> DatasetEntries:
    """The data set in a Python source that is a list of literals, alone or assigned to a name, or one
    memory. InvalidInputError names the line of what is something else.
    """
    if len(text) > DATASET_LITERAL_BYTES_MAX:
        most = f"at most {DATASET_LITERAL_BYTES_MAX} characters of Python; save the list with json.dump instead"
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
        case [
            ast.Expr(ast.List() as node)
            | ast.Assign([ast.Name()], ast.List() as node)
            | ast.AnnAssign(ast.Name(), _, ast.List() as node)
        ]:
            nodes = node.elts
        case [ast.Expr(ast.Dict() as memory)]:
            nodes = [memory]
        case _:
            others = [line for line in statements if not isinstance(line, ast.Assign)]
            place = f"line {others[0].lineno}" if others else "line 1"
            _refuse("no list, or more than one", _LITERALS, place)
    values = []
    for item in _bounded(nodes):
        try:
            value = json.dumps(ast.literal_eval(item), allow_nan=False)
            values.append(json.loads(value))  # JSON knows only lists, and no sets
        except (ValueError, TypeError, RecursionError, MemoryError):
            _refuse(type(item).__name__, _LITERALS, f"line {item.lineno}")
    return DatasetEntries(values, [item.lineno for item in nodes])
