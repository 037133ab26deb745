"""Reading a data set: a list, or a file of JSON, JSON Lines or Python source.

Of Python nothing is run. Its lists are worked out as far as that takes texts, numbers, loops over
them and comprehensions (`_Script`); whatever else a script does (it imports, prints, stores) is
passed over. A list that depends on anything else is refused, with the line.
"""

from __future__ import annotations

import ast
import operator
import os
import re
from collections.abc import Callable, Iterable
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
    "lists of dictionaries made of text, numbers, True, False, None, f-strings and range; run the "
    "script yourself and save its list with json.dump"
)
_TOO_DEEP: Final = (
    f"values nested at most {limits.JSON_DEPTH_MAX} deep, and lists that are not put together from "
    f"thousands of others"
)
_DEPTH_MAX: Final = limits.JSON_DEPTH_MAX + 4
_SHOWN_CHARS: Final = 200
_PLAIN: Final = str | int | float | None
_COMPUTE: Final[dict[type[ast.AST], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.USub: operator.sub,
    ast.UAdd: operator.add,
}


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


# --- Python ---


def read_python(text: str) -> DatasetEntries:
    """The data set in a Python source: the list called `memories`, else the one that was made last.
    InvalidInputError names the line of what cannot be read.
    """
    if len(text) > limits.DATASET_LITERAL_BYTES_MAX:
        most = f"at most {limits.DATASET_LITERAL_BYTES_MAX} characters of Python; save the list with json.dump instead"
        _refuse(f"{len(text)} characters", most)
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        expected = "valid Python: a list of dictionaries, or its assignment to memories"
        _refuse(error.msg, expected, f"line {error.lineno or 1}")
    except (RecursionError, MemoryError):  # how the parser says that its stack is full
        _refuse("nested too deeply", _TOO_DEEP, "line 1")
    except ValueError as error:
        _refuse(str(error), "plain text", "line 1")
    script = _Script()
    script.follow(tree.body)
    found = script.names.get(_NAME, script.names.get(script.last))
    if isinstance(found, InvalidInputError):
        raise found
    if not isinstance(found, list):
        if script.passed_over:
            raise script.passed_over
        _refuse("no list", "a list of dictionaries, or its assignment to memories", "line 1")
    return DatasetEntries(found, [script.lines.get(id(value)) for value in found])


class _Script(ast.NodeVisitor):
    """What the names of a script stand for; of one that could not be worked out, why. `lines` are
    where its dictionaries are written. Visiting an expression gives its value.
    """

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self.lines: dict[int, int] = {}
        self.last = ""  # the list that was made last
        self.passed_over: InvalidInputError | None = None
        self._steps, self._depth = limits.DATASET_STEPS_MAX, 0

    def follow(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            try:
                self.visit(statement)
            except InvalidInputError as error:
                if self._steps < 0:
                    raise
                self.passed_over = error
                # whatever it would have changed, or called a method of, is not known any more
                for node in ast.walk(statement):
                    named = node.value if isinstance(node, ast.Attribute) else node
                    if isinstance(named, ast.Name) and (
                        named is not node or isinstance(named.ctx, ast.Store)
                    ):
                        self.names[named.id] = error

    def visit(self, node: ast.AST) -> Any:
        self._steps -= 1
        if self._steps < 0 or self._depth > _DEPTH_MAX:
            _refuse("too deep or too much", _TOO_DEEP, _line(node))
        self._depth += isinstance(node, ast.expr)
        try:
            return super().visit(node)
        finally:
            self._depth -= isinstance(node, ast.expr)

    def generic_visit(self, node: ast.AST) -> NoReturn:
        _refuse(type(node).__name__, _ALLOWED, _line(node))

    # --- statements ---

    def visit_Assign(self, node: ast.Assign) -> None:
        value = self.visit(node.value)
        for target in node.targets:
            self._bind(target, value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value:
            self._bind(node.target, self.visit(node.value))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        found, more = self.visit(node.target), self.visit(node.value)
        if isinstance(found, list) and isinstance(node.op, ast.Add):
            self._extend(found, more, node)
        else:
            self._bind(node.target, self._compute(node.op, found, more, node))

    def visit_For(self, node: ast.For) -> None:
        for item in self._items(node.iter):
            self._bind(node.target, item)
            self.follow(node.body)

    def visit_Expr(self, node: ast.Expr) -> None:
        """Memories by themselves are (a part of) the data set; a text is a docstring."""
        match node.value:
            case ast.Constant():
                return
            case ast.Call(func=ast.Attribute(target, "append" | "extend" as how), args=[item]):
                found, more = self.visit(target), self.visit(item)
                more = [more] if how == "append" else more
            case value:
                more = self.visit(value)
                more = more if isinstance(more, list) else [more]
                if not all(isinstance(each, dict) for each in more):
                    self.generic_visit(value)
                found = self.names.setdefault(_NAME, [])
        self._extend(found, more, node)

    def _bind(self, target: ast.expr, value: Any) -> None:
        if not isinstance(target, ast.Name):
            self.generic_visit(target)
        self.names[target.id] = value
        self.last = target.id if isinstance(value, list) else self.last

    def _extend(self, found: Any, more: Any, statement: ast.stmt) -> None:
        if not isinstance(found, list) or not isinstance(more, list):
            self.generic_visit(statement)
        _bounded(found, _line(statement), len(more)).extend(more)

    # --- expressions ---

    def visit_Constant(self, node: ast.Constant) -> Any:
        return node.value if isinstance(node.value, _PLAIN) else self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id not in self.names:
            self.generic_visit(node)
        if isinstance(found := self.names[node.id], InvalidInputError):
            raise found
        return found

    def visit_List(self, node: ast.List | ast.Tuple) -> list[Any]:
        return list(map(self.visit, node.elts))

    # JSON knows only lists, and so would json.dumps write it
    visit_Tuple = visit_List  # noqa: N815  # so the visitor is asked for

    def visit_Dict(self, node: ast.Dict) -> dict[Any, Any]:
        # ** has no key, and one that is no text is refused where memories are checked
        keys = [self.visit(key) if key else self.generic_visit(node) for key in node.keys]
        if not all(isinstance(key, _PLAIN) for key in keys):
            self.generic_visit(node)
        found = dict(zip(keys, map(self.visit, node.values), strict=True))
        self.lines[id(found)] = node.lineno
        return found

    def visit_JoinedStr(self, node: ast.JoinedStr) -> str:
        return "".join(map(self.visit, node.values))

    def visit_FormattedValue(self, node: ast.FormattedValue) -> str:
        value = self.visit(node.value)
        if not isinstance(value, _PLAIN) or node.format_spec or node.conversion != -1:
            self.generic_visit(node)
        return str(value)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        terms: list[ast.BinOp] = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp):  # a chain of a thousand + is a tree a thousand deep
            terms.append(left)
            left = left.left
        found = self.visit(left)
        for term in reversed(terms):
            found = self._compute(term.op, found, self.visit(term.right), term)
        return found

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        return self._compute(node.op, 0, self.visit(node.operand), node)

    def visit_ListComp(self, node: ast.ListComp) -> list[Any]:
        made: list[Any] = []
        [over, *more] = node.generators
        if more or over.ifs:
            self.generic_visit(node)
        for item in self._items(over.iter):
            self._bind(over.target, item)
            _bounded(made, _line(node), 1).append(self.visit(node.elt))
        return made

    def _items(self, node: ast.expr) -> list[Any] | range:
        """What a loop goes over: a list, or a range of numbers."""
        match node:
            case ast.Call(func=ast.Name("range"), args=args, keywords=[]):
                with suppress(TypeError, ValueError):
                    return range(*map(self.visit, args))
        found = self.visit(node)
        return found if isinstance(found, list) else self.generic_visit(node)

    def _compute(self, op: ast.AST, one: Any, other: Any, node: ast.AST) -> Any:
        kinds = {type(one), type(other)}
        if kinds == {list} and isinstance(op, ast.Add):
            return [*_bounded(one, _line(node), len(other)), *other]
        compute = _COMPUTE.get(type(op)) if kinds <= {int, float} else None
        if kinds == {str} and len(one) + len(other) <= limits.TEXT_CHARS_MAX:
            compute = operator.add if isinstance(op, ast.Add) else None
        found = compute(one, other) if compute else self.generic_visit(node)
        # a number that grows without end is none that JSON can hold
        return found if kinds == {str} or abs(found) < 2**63 else self.generic_visit(node)


def _line(node: ast.AST) -> str:
    return f"line {getattr(node, 'lineno', 1)}"
