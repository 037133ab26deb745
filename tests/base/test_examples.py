"""The notebook in examples/, and that an extra brings all that its example imports."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import sys
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def extras() -> Any:
    spec = importlib.util.spec_from_file_location("extras", ROOT / "tools" / "extras.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.name)
def test_every_cell_of_a_notebook_runs(file: Path) -> None:
    names: dict[str, Any] = {}
    shown = []
    for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs")  # what one machine showed is not for all
        if cell["cell_type"] != "code":
            continue
        *before, last = ast.parse("".join(cell["source"])).body
        whole = [last] if not isinstance(last, ast.Expr) else []
        exec(compile(ast.Module([*before, *whole], []), file.name, "exec"), names)  # noqa: S102
        if isinstance(last, ast.Expr):
            shown.append(eval(compile(ast.Expression(last.value), file.name, "eval"), names))  # noqa: S307
    tables = [each._repr_html_() for each in shown if hasattr(each, "_repr_html_")]
    assert len(tables) >= 5
    assert all(each.startswith(("<table>", "<pre>")) for each in tables)


def brought_by(requirements: list[str]) -> set[str]:
    """The packages that come with these, by their names in small letters."""
    found: set[str] = set()
    waiting = list(requirements)
    while waiting:
        named = re.match(r"[\w.-]+", waiting.pop())
        assert named
        name = re.sub(r"[-_.]+", "-", named.group()).lower()
        if name not in found:
            found.add(name)
            try:
                waiting += [each for each in requires(name) or () if "extra ==" not in each]
            except ModuleNotFoundError:  # for another system or version than this one
                continue
    return found


def find_imported(source: str) -> set[str]:
    """The packages that a program imports."""
    nodes = list(ast.walk(ast.parse(source)))
    names = [node.names[0].name for node in nodes if isinstance(node, ast.Import)]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.partition(".")[0] for name in names}


def test_every_extra_is_tried_and_brings_what_its_example_imports() -> None:
    tools = extras()
    assert list(tools.TRIALS) == tools.extras()
    project = tools.tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    owners = packages_distributions()
    for extra, trial in tools.TRIALS.items():
        source = (ROOT / trial).read_text() if trial.startswith("examples/") else trial
        imported = find_imported(source) - {"hardwon", *sys.stdlib_module_names}
        brought = brought_by([*project["dependencies"], *project["optional-dependencies"][extra]])
        for name in imported:
            given = {re.sub(r"[-_.]+", "-", each).lower() for each in owners[name]}
            assert given & brought, f"{extra} does not bring {name}"
