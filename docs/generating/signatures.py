"""How callables and their types are written down, and what the names in annotations stand for."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import typing
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from generating.markdown import code, fence, listed

LINE_CHARS_MAX: Final = 110


def signature(name: str, function: Any, mark: str = "") -> str:
    """As a block of its own; `mark` stands above it."""
    given = inspect.signature(function).parameters.values()
    params = [_parameter(each) for each in given if each.name not in ("self", "cls")]
    keyword_only = [each.name for each in given if each.kind is inspect.Parameter.KEYWORD_ONLY]
    if keyword_only:
        params.insert([each.split(":")[0] for each in params].index(keyword_only[0]), "*")
    arrow = "" if function.__name__ == "__init__" else f" -> {returned(function)}"
    line = f"{name}({', '.join(params)}){arrow}"
    if len(line) > LINE_CHARS_MAX:
        line = f"{name}(\n" + "".join(f"    {each},\n" for each in params) + f"){arrow}"
    return fence(mark + line)


def _parameter(given: inspect.Parameter) -> str:
    if given.kind is inspect.Parameter.VAR_KEYWORD:
        return f"**{given.name}"
    kind = _spelled(given.annotation)
    if given.default is inspect.Parameter.empty:
        return f"{given.name}: {kind}"
    default = given.default.__name__ if callable(given.default) else repr(given.default)
    return f"{given.name}: {kind} = {default}"


def call(kind: type, name: str) -> str:
    """A method as it is called, a property as it is read."""
    found = getattr(kind, name)
    if not callable(found):
        return name
    params = [each for each in inspect.signature(found).parameters.values() if each.name != "self"]
    return f"{name}({', '.join(str(each).split(':')[0].split('=')[0] for each in params)})"


def returned(function: Any) -> str:
    return _spelled(function.__annotations__.get("return", ""))


def _spelled(annotation: Any) -> str:
    """A type as a reader knows it. `R` stands for any of the records, the same at both places."""
    return re.sub(r"\bR\b", "AnyRecord", written(annotation))


def written(annotation: Any) -> str:
    plain = getattr(annotation, "__forward_arg__", annotation)
    return plain if isinstance(plain, str) else inspect.formatannotation(plain)


# --- names ---


def named_in(annotation: str, module: str) -> Iterator[tuple[str, Any]]:
    """The names in an annotation of a module, each with what it stands for."""
    known = _namespace(module)
    for name in dict.fromkeys(re.findall(r"\w+", annotation)):
        if name in known:
            yield name, known[name]


@cache
def _namespace(module: str) -> Mapping[str, Any]:
    """What annotations of a module can name: also what it imports for type checkers alone."""
    found = dict(vars(importlib.import_module(module)))
    for node in ast.walk(ast.parse(Path(found["__file__"]).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hardwon."):
            source = vars(importlib.import_module(node.module or ""))
            found |= {each.name: source[each.name] for each in node.names if each.name in source}
    return found


def words_in(annotation: str, module: str) -> Iterator[tuple[str, str]]:
    """The types in it that are one of a few words, each with those words."""
    for name, found in named_in(annotation, module):
        if typing.get_origin(found) is typing.Literal:
            yield name, listed(map(code, typing.get_args(found)))
