"""docs/architecture.md, from its mark on: every module with the first sentence of its docstring."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Final

import hardwon
from generating.markdown import MADE, code, table

ARCHITECTURE: Final = Path(__file__).parent.parent / "architecture.md"
SOURCE: Final = Path(hardwon.__file__).parent
VALUES: Final = "Values"
FOLDERS: Final = (
    "records text runs search lessons trust tell outside store store/sqlite store/postgres memory tree "
    "tree/datasets training fixes "
    "capture adapters surfaces surfaces/cli surfaces/rest surfaces/mcp surfaces/web"
).split()


def page() -> str:
    """What is written by hand stays; behind the mark stands every module with the first sentence of
    its docstring.
    """
    parts = [f"{ARCHITECTURE.read_text(encoding='utf-8').partition(MADE)[0]}{MADE}\n"]
    parts.append(_room(VALUES, _modules_in(SOURCE)))
    for name in FOLDERS:
        folder = SOURCE / name
        parts.append(
            _room(name, _modules_in(folder), f"{_first_sentence(folder / '__init__.py')}\n\n")
        )
    return "\n".join(parts)


def _modules_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.py") if path.stem != "__init__")


def _room(title: str, modules: list[Path], about: str = "") -> str:
    return f"### {title}\n\n{about}" + table(
        ("module", ""), ((code(path.stem), _first_sentence(path)) for path in modules)
    )


def _first_sentence(path: Path) -> str:
    told = " ".join(
        (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "")
        .split("\n\n")[0]
        .split()
    )
    return re.split(r"(?<=[^.]\.) (?=[A-Z`])", told)[0]
