"""The patterns and word lists beside modules: each is asked for, and each is there."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

from cases import each
from hardwon.text import failures
from hardwon.text.tables import Patterns
from hardwon.trust import redact


@each("module", [failures, redact])
def test_every_entry_is_used_and_every_one_used_is_there(module: ModuleType) -> None:
    path = Path(str(module.__file__))
    asked: dict[str, set[str]] = {"RE": set(), "WORDS": set()}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            asked.get(node.value.id, set()).add(node.attr)
    tables = import_module(f"{module.__name__}_tables")
    inside = set(re.findall(r"\{\{(\w+)\}\}", Path(str(tables.__file__)).read_text()))
    any_of = getattr(tables, "ANY_OF", {})
    assert asked["WORDS"] == getattr(tables, "WORDS", {}).keys()
    assert asked["RE"] <= tables.PATTERNS.keys()
    assert tables.PATTERNS.keys() | any_of.keys() == (asked["RE"] | inside)
    patterns = Patterns(tables.PATTERNS, any_of)
    assert all(isinstance(getattr(patterns, name), re.Pattern) for name in tables.PATTERNS)
