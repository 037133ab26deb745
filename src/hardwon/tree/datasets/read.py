"""Reading a data set: a list, or a file of JSON, JSON Lines or Python source, of which nothing is
run.
"""

from __future__ import annotations

import ast
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

_NAME: Final = "memories"
_ALLOWED: Final = (
    "lists of dictionaries written out: text, numbers, True, False, None, lists, dictionaries"
)
_REMEDY_OF: Final = {
    "Call": "a list without calls; run the script yourself and save its list with json.dump",
    "ListComp": "a list without comprehensions; run the script yourself and save its list with "
    "json.dump",
    "GeneratorExp": "a list without comprehensions; run the script yourself and save its list with "
    "json.dump",
    "For": "a list without loops; run the script yourself and save its list with json.dump",
    "JoinedStr": "text without placeholders; write each text out",
}
_TOO_DEEP: Final = (
    f"values nested at most {limits.JSON_DEPTH_MAX} deep, and lists that are not put together from "
    f"thousands of others"
)
_Item = tuple[object, int]  # a value of the list, and the line it begins on
_DEPTH_MAX: Final = limits.JSON_DEPTH_MAX + 4
_SHOWN_CHARS: Final = 200
_LINES: Final = (".jsonl", ".ndjson")
_PYTHON: Final = (".py",)
_JSON_ALLOWED: Final = (
    "a list of memories, an object with a list under memories, or one memory a line"
)


@dataclass(frozen=True)
class DatasetEntries:
    """What a source holds, before it is checked. `lines` are where the entries begin, as far as
    that is known; `unreadable` are those that could not even be read, with the reason, and their
    values the lines as they are.
    """

    values: list[Any]
    lines: list[int] = field(default_factory=list)
    unreadable: dict[int, str] = field(default_factory=dict)


def read(source: Any) -> DatasetEntries:
    """The entries of a list, or of the file at a path (a text is a path)."""
    if not isinstance(source, str | os.PathLike):
        values = check_items("source", source)
        _check_count(len(values), "")
        return DatasetEntries(values)
    path = check_path("source", os.fspath(source))
    text = _text_of(path)
    try:
        if path.suffix.lower() in _LINES:
            return _json_lines(text)
        if path.suffix.lower() in _PYTHON or not text.lstrip().startswith(("[", "{")):
            return _python(text)
        try:
            return _json(text)
        except _NotJsonError:  # where the name does not tell, it may be Python: single quotes, comments or True are no JSON
            if path.suffix.lower() == ".json":
                raise
            return _python(text)
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
        _refuse(
            "more bytes",
            f"at most {limits.DATASET_BYTES_MAX} bytes; divide it into several files",
            path.name,
        )
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
        _refuse(text[:_SHOWN_CHARS], _JSON_ALLOWED)
    _check_count(len(data), "")
    return DatasetEntries(data)


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
        found.values.append(value)
        found.lines.append(number)
        _check_count(len(found.values), f"line {number}")
    return found


def _python(text: str) -> DatasetEntries:
    if len(text) > limits.DATASET_LITERAL_BYTES_MAX:
        most = f"at most {limits.DATASET_LITERAL_BYTES_MAX} characters of Python; save the list with json.dump instead"
        _refuse(f"{len(text)} characters", most)
    items = read_literal(text)
    return DatasetEntries([value for value, _line in items], [line for _value, line in items])


def read_literal(text: str) -> list[_Item]:
    """The data set in a Python source. InvalidInputError names the line of what cannot be read."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        _refuse(
            error.msg,
            "valid Python: a list of dictionaries, or its assignment to memories",
            f"line {error.lineno or 1}",
        )
    except (RecursionError, MemoryError):  # how the parser says that its stack is full
        _refuse("nested too deeply", _TOO_DEEP, "line 1")
    except ValueError as error:
        _refuse(str(error), "plain text", "line 1")
    names: dict[str, list[_Item]] = {}
    last = ""
    for statement in tree.body:
        last = _follow(statement, names) or last
    if not names:
        _refuse("no list", "a list of dictionaries, or its assignment to memories", "line 1")
    return names[_NAME] if _NAME in names else names[last]


def _follow(statement: ast.stmt, names: dict[str, list[_Item]]) -> str | None:
    """Notes the list that a statement assigns, and returns its name. A list by itself is the data
    set.
    """
    if isinstance(statement, ast.Pass | ast.Import | ast.ImportFrom):
        return None  # nothing is run, so nothing is imported
    value = getattr(statement, "value", None)
    if isinstance(value, ast.Constant):
        return None  # a docstring, or a setting
    before: list[_Item] = []
    if isinstance(statement, ast.Expr):
        name = _NAME
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        name = _name_of(statement.targets[0])
    elif isinstance(statement, ast.AnnAssign):
        name = _name_of(statement.target)
    elif isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        name = _name_of(statement.target)
        before = names.get(name, [])
    else:
        _refuse_node(statement)
    if value is None:
        return None  # a name with a type and nothing else
    items = [*before, *_items(value, names)]
    # doubling a list by its own name takes a few lines only
    _check_count(len(items), f"line {statement.lineno}")
    names[name] = items
    return name


def _name_of(target: ast.expr) -> str:
    return target.id if isinstance(target, ast.Name) else _refuse_node(target)


def _items(node: ast.expr, names: dict[str, list[_Item]]) -> list[_Item]:
    """The items of a list, of a name that holds one, or of several put together."""
    items: list[_Item] = []
    waiting = [node]
    while waiting:  # a chain of a thousand + is a tree a thousand deep
        part = waiting.pop()
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add):
            waiting += [part.right, part.left]
        elif isinstance(part, ast.List | ast.Tuple):
            items += [(_value(element), element.lineno) for element in part.elts]
        elif isinstance(part, ast.Name) and part.id in names:
            items += names[part.id]
        else:
            _refuse_node(part)
        _check_count(len(items), f"line {part.lineno}")
    return items


def _value(node: ast.expr, depth: int = 0) -> object:
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | None):
        return node.value
    if depth > _DEPTH_MAX:
        _refuse("nested too deeply", _TOO_DEEP, f"line {node.lineno}")
    if isinstance(node, ast.Dict):
        keys: list[Any] = node.keys
        for key in keys:  # one that is no text is refused where memories are checked
            if not (
                isinstance(key, ast.Constant) and isinstance(key.value, str | int | float | None)
            ):
                _refuse(
                    ast.dump(key)[:40] if key else "**",
                    "dictionaries whose keys are text",
                    f"line {node.lineno}",
                )
        return {
            key.value: _value(value, depth + 1)
            for key, value in zip(keys, node.values, strict=True)
        }
    # JSON knows only lists, and so would json.dumps write it
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(element, depth + 1) for element in node.elts]
    if (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub | ast.UAdd)
        and isinstance(node.operand, ast.Constant)
    ):
        number = node.operand.value
        if isinstance(number, int | float) and not isinstance(number, bool):
            return -number if isinstance(node.op, ast.USub) else number
    return _refuse_node(node)


def _check_count(count: int, where: str) -> None:
    if count > limits.DATASET_MEMORIES_MAX:
        _refuse(
            f"{count} memories", f"at most {limits.DATASET_MEMORIES_MAX} memories; divide it", where
        )


def _refuse_node(node: ast.AST) -> NoReturn:
    kind = type(node).__name__
    _refuse(kind, _REMEDY_OF.get(kind, _ALLOWED), f"line {getattr(node, 'lineno', 1)}")


def _refuse(what: str, allowed: str, where: str = "") -> NoReturn:
    raise InvalidInputError([Problem("data set", what, allowed)], where)
