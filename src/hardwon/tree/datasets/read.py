"""Reading a data set: Python literals without running anything, JSON, JSON lines and trees of files."""

from __future__ import annotations

import ast
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from pydantic_core import from_json

from hardwon import limits
from hardwon.errors import InvalidInputError, PlaceError, Problem
from hardwon.memory import intake
from hardwon.outside import files
from hardwon.tree.datasets.report import Fault, shown

# ---- literal ------------------------------------------------------------

_NAME: Final = "memories"
_ALLOWED: Final = "lists of dictionaries written out: text, numbers, True, False, None, lists, dictionaries"
_REMEDY_OF: Final = {
    "Call": "a list without calls; run the script yourself and save its list with json.dump",
    "ListComp": "a list without comprehensions; run the script yourself and save its list with json.dump",
    "GeneratorExp": "a list without comprehensions; run the script yourself and save its list with json.dump",
    "For": "a list without loops; run the script yourself and save its list with json.dump",
    "JoinedStr": "text without placeholders; write each text out",
}
_TOO_DEEP: Final = (
    f"values nested at most {limits.JSON_DEPTH_MAX} deep, and lists that are not put together from thousands of others"
)
_DEPTH_MAX: Final = limits.JSON_DEPTH_MAX + 4


class Item(NamedTuple):
    """A value of the list, and the line it begins on."""

    value: object
    line: int


def read_literal(text: str) -> list[Item]:
    """The data set in a Python source. InvalidInputError names the line of what cannot be read_literal."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        _refuse_line(error.lineno or 1, error.msg, "valid Python: a list of dictionaries, or its assignment to memories")
    except (RecursionError, MemoryError):  # how the parser says that its stack is full
        _refuse_line(1, "nested too deeply", _TOO_DEEP)
    except ValueError as error:
        _refuse_line(1, str(error), "plain text")
    names: dict[str, list[Item]] = {}
    last = ""
    for statement in tree.body:
        last = _follow(statement, names) or last
    if not names:
        _refuse_line(1, "no list", "a list of dictionaries, or its assignment to memories")
    return names[_NAME] if _NAME in names else names[last]


def _follow(statement: ast.stmt, names: dict[str, list[Item]]) -> str | None:
    """Notes the list that a statement assigns, and returns its name. A list by itself is the data set."""
    if isinstance(statement, ast.Pass | ast.Import | ast.ImportFrom):
        return None  # nothing is run, so nothing is imported
    value = getattr(statement, "value", None)
    if isinstance(value, ast.Constant):
        return None  # a docstring, or a setting
    before: list[Item] = []
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
    names[name] = _bounded_items([*before, *_items(value, names)], statement)
    return name


def _name_of(target: ast.expr) -> str:
    return target.id if isinstance(target, ast.Name) else _refuse_node(target)


def _items(node: ast.expr, names: dict[str, list[Item]]) -> list[Item]:
    """The items of a list, of a name that holds one, or of several put together."""
    items: list[Item] = []
    waiting = [node]
    while waiting:  # a chain of a thousand + is a tree a thousand deep
        part = waiting.pop()
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add):
            waiting += [part.right, part.left]
        elif isinstance(part, ast.List | ast.Tuple):
            items += [Item(_value(element), element.lineno) for element in part.elts]
        elif isinstance(part, ast.Name) and part.id in names:
            items += names[part.id]
        else:
            _refuse_node(part)
        _bounded_items(items, part)
    return items


def _value(node: ast.expr, depth: int = 0) -> object:
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | None):
        return node.value
    if depth > _DEPTH_MAX:
        _refuse_line(node.lineno, "nested too deeply", _TOO_DEEP)
    if isinstance(node, ast.Dict):
        return {_key(key, node): _value(value, depth + 1) for key, value in zip(node.keys, node.values, strict=True)}
    if isinstance(node, ast.List | ast.Tuple):  # JSON knows only lists, and so would json.dumps write it
        return [_value(element, depth + 1) for element in node.elts]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd) and isinstance(node.operand, ast.Constant):
        number = node.operand.value
        if isinstance(number, int | float) and not isinstance(number, bool):
            return -number if isinstance(node.op, ast.USub) else number
    return _refuse_node(node)


def _key(node: ast.expr | None, parent: ast.Dict) -> object:
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | None):
        return node.value  # a key that is no text is told apart, and refused, where memories are checked
    return _refuse_line(parent.lineno, ast.dump(node)[:40] if node else "**", "dictionaries whose keys are text")


def _bounded_items(items: list[Item], node: ast.AST) -> list[Item]:
    if len(items) > limits.DATASET_MEMORIES_MAX:  # doubling a list by its own name takes a few lines only
        _refuse_line(getattr(node, "lineno", 1), f"{len(items)} memories", f"at most {limits.DATASET_MEMORIES_MAX} memories")
    return items


def _refuse_node(node: ast.AST) -> NoReturn:
    kind = type(node).__name__
    _refuse_line(getattr(node, "lineno", 1), kind, _REMEDY_OF.get(kind, _ALLOWED))


def _refuse_line(line: int, what: str, allowed: str) -> NoReturn:
    raise InvalidInputError([Problem("data set", what, allowed)], f"line {line}")


# ---- reading ------------------------------------------------------------

_LINES: Final = (".jsonl", ".ndjson")
_PYTHON: Final = (".py",)
_JSON_ALLOWED: Final = "a list of memories, an object with a list under memories, or one memory a line"


@dataclass(frozen=True)
class Entries:
    """What a source holds, before it is checked. `lines` are where the entries begin, as far as that is known; `unreadable` are
    entries that could not even be read."""

    values: list[Any]
    lines: list[int] = field(default_factory=list)
    unreadable: dict[int, Fault] = field(default_factory=dict)

    def line(self, index: int) -> int | None:
        return self.lines[index] if self.lines else None


def read(source: Any) -> Entries:
    """The entries of a list, or of the file at a path (a text is a path)."""
    if not isinstance(source, str | os.PathLike):
        values = intake.items("source", source)
        return Entries(_bounded(values, ""))
    path = intake.path("source", os.fspath(source))
    text = _text_of(path)
    try:
        if path.suffix.lower() in _LINES:
            return _json_lines(text)
        if path.suffix.lower() in _PYTHON or not text.lstrip().startswith(("[", "{")):
            return _python(text)
        return _json(text) if path.suffix.lower() == ".json" else _json_or_python(text)
    except InvalidInputError as error:
        where = f"{path.name}, {error.where}" if error.where else path.name
        raise InvalidInputError(error.problems, where) from None


def _text_of(path: Path) -> str:
    try:
        data = files.read_regular(path, limits.DATASET_BYTES_MAX + 1)
    except PlaceError:
        raise PlaceError(f"cannot read {path}: it is not a file; name a file, or give the list itself") from None
    except OSError as error:
        raise PlaceError(f"cannot read {path}: {error.strerror or error}") from error
    if len(data) > limits.DATASET_BYTES_MAX:
        _refuse("more bytes", f"at most {limits.DATASET_BYTES_MAX} bytes; divide it into several files", path.name)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        _refuse(f"byte {data[error.start]:#04x}", "text as UTF-8", f"{path.name}, line {line}")


def _json_or_python(text: str) -> Entries:
    """Where the name does not tell: what is not JSON has single quotes, comments or True in it."""
    try:
        return _json(text)
    except _NotJsonError:
        return _python(text)


class _NotJsonError(InvalidInputError):
    """Not even the beginning of something else."""


def _json(text: str) -> Entries:
    try:
        data = from_json(text, allow_inf_nan=False)
    except ValueError as error:
        if _is_json(text.lstrip().partition("\n")[0]):
            return _json_lines(text)
        place = re.search(r"line (\d+)", str(error))
        problem = Problem("data set", _beginning(text), f"valid JSON ({error})")
        raise _NotJsonError([problem], f"line {place[1] if place else 1}") from None
    if isinstance(data, dict):
        if "memories" not in data and ("content" in data or "outcome" in data):
            return Entries([data])  # a single line of JSON Lines
        data = data.get("memories")
    if not isinstance(data, list):
        _refuse(_beginning(text), _JSON_ALLOWED)
    return Entries(_bounded(data, ""))


def _is_json(line: str) -> bool:
    try:
        return isinstance(from_json(line), dict)
    except ValueError:
        return False


def _json_lines(text: str) -> Entries:
    """Line by line: one that cannot be read is reported, and the others are read all the same."""
    found = Entries([])
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = from_json(line, allow_inf_nan=False)
        except ValueError as error:
            index, why = len(found.values), re.sub(r" at line 1 ", " at ", str(error))
            remedy = "write one JSON object per line"
            found.unreadable[index] = Fault(index, "entry", shown(line), f"is not valid JSON ({why})", remedy, line=number)
            value = None
        found.values.append(value)
        found.lines.append(number)
        _bounded(found.values, f"line {number}")
    return found


def _python(text: str) -> Entries:
    if len(text) > limits.DATASET_LITERAL_BYTES_MAX:
        most = f"at most {limits.DATASET_LITERAL_BYTES_MAX} characters of Python; save the list with json.dump instead"
        _refuse(f"{len(text)} characters", most)
    items = read_literal(text)
    return Entries([item.value for item in items], [item.line for item in items])


def _bounded(values: list[Any], where: str) -> list[Any]:
    if len(values) > limits.DATASET_MEMORIES_MAX:
        _refuse(f"{len(values)} memories", f"at most {limits.DATASET_MEMORIES_MAX} memories; divide it", where)
    return values


def _beginning(text: str) -> str:
    return text[:200]


def _refuse(what: str, allowed: str, where: str = "") -> NoReturn:
    raise InvalidInputError([Problem("data set", what, allowed)], where)
