"""Data sets written as Python: `memories = [{…}, {…}]`. They are parsed and never run, so a file from anywhere can be read.

Understood are assignments of list literals, lists put together with `+` and from names assigned above, `+=`, and a list that
stands by itself. The data set is the list called `memories`, or else the last one. Everything that would have to be computed is
refused with the line it is on.
"""

from __future__ import annotations

import ast
from typing import Final, NamedTuple, NoReturn

from hardwon import limits
from hardwon.errors import InvalidInputError, Problem

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


def read(text: str) -> list[Item]:
    """The data set in a Python source. InvalidInputError names the line of what cannot be read."""
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        _refuse(error.lineno or 1, error.msg, "valid Python: a list of dictionaries, or its assignment to memories")
    except (RecursionError, MemoryError):  # how the parser says that its stack is full
        _refuse(1, "nested too deeply", _TOO_DEEP)
    except ValueError as error:
        _refuse(1, str(error), "plain text")
    names: dict[str, list[Item]] = {}
    last = ""
    for statement in tree.body:
        last = _follow(statement, names) or last
    if not names:
        _refuse(1, "no list", "a list of dictionaries, or its assignment to memories")
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
    names[name] = _bounded([*before, *_items(value, names)], statement)
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
        _bounded(items, part)
    return items


def _value(node: ast.expr, depth: int = 0) -> object:
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | None):
        return node.value
    if depth > _DEPTH_MAX:
        _refuse(node.lineno, "nested too deeply", _TOO_DEEP)
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
    return _refuse(parent.lineno, ast.dump(node)[:40] if node else "**", "dictionaries whose keys are text")


def _bounded(items: list[Item], node: ast.AST) -> list[Item]:
    if len(items) > limits.DATASET_MEMORIES_MAX:  # doubling a list by its own name takes a few lines only
        _refuse(getattr(node, "lineno", 1), f"{len(items)} memories", f"at most {limits.DATASET_MEMORIES_MAX} memories")
    return items


def _refuse_node(node: ast.AST) -> NoReturn:
    kind = type(node).__name__
    _refuse(getattr(node, "lineno", 1), kind, _REMEDY_OF.get(kind, _ALLOWED))


def _refuse(line: int, what: str, allowed: str) -> NoReturn:
    raise InvalidInputError([Problem("data set", what, allowed)], f"line {line}")
