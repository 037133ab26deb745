"""The patterns and word lists beside modules: each is asked for by the module that they belong
to, and each that is asked for is there.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from hardwon.learn import prompts
from hardwon.text import entities, failures, sentences, shell
from hardwon.text.tables import Patterns, read_tables
from hardwon.trust import redact


@pytest.mark.parametrize("module", [entities, failures, prompts, redact, sentences, shell])
def test_every_entry_is_used_and_every_one_used_is_there(module: object) -> None:
    path = Path(str(getattr(module, "__file__", "")))
    asked: dict[str, set[str]] = {"RE": set(), "WORDS": set()}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            asked.get(node.value.id, set()).add(node.attr)
    name = f"{path.parent.name}/{path.stem}"
    tables = read_tables(name)
    inside = set(re.findall(r"\{\{(\w+)\}\}", path.with_suffix(".toml").read_text()))
    assert asked["WORDS"] == tables["words"].keys()
    assert asked["RE"] <= tables["patterns"].keys()
    assert tables["patterns"].keys() | tables.get("any", {}).keys() == (asked["RE"] | inside)
    patterns = Patterns(name)
    assert all(isinstance(getattr(patterns, name), re.Pattern) for name in tables["patterns"])


def test_a_name_that_is_not_there_is_named() -> None:
    with pytest.raises(
        AttributeError, match=r"text/failures\.toml has no 'nonsense' under \[patterns\]"
    ):
        _ = Patterns("text/failures").nonsense
