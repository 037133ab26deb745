"""The words of the house, and its size: what a room may take, in lines of code."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import hardwon

SOURCE = Path(hardwon.__file__).parent
ROOT = SOURCE.parent.parent

CODE_LINES_MAX = {
    "base": 583, "records": 1_179, "text": 1_514, "runs": 902, "search": 563, "trust": 579,
    "lessons": 2_850, "tell": 1_686, "outside": 1_333, "store": 4_756, "memory": 6_448, "capture": 2_509,
    "adapters": 576, "tree": 2_661, "training": 972, "fixes": 2_420, "surfaces": 6_791,
}  # fmt: skip
"""Without blank lines, comments and docstrings. A room that got smaller does not grow again."""

TEST_LINES_MAX = 45_000

VAGUE = {"each", "said", "told", "found", "given"}
PARTICIPLE = re.compile(
    r"(?:^|_)(?:[a-z]{3,}ed|said|told|spoken|found|given|taken|known|shown|kept|made|read_by|done|seen|"
    r"written|sent|left|held|begun|chosen|drawn|built|bound|brought|thought|meant|put_by)$"
)
NO_PARTICIPLES = {"embed", "feed", "need", "seed", "speed", "exceed", "proceed", "unneeded"}
NO_PARTICIPLES |= {"reembed"}
# `traced(memory)`, `memory.care.adopted(…)`: as in the manual
NO_PARTICIPLES |= {"traced", "adopted"}


def module_paths(room: str) -> list[Path]:
    if room == "base":
        return sorted(SOURCE.glob("*.py"))
    return sorted((SOURCE / room).rglob("*.py"))


def count_code_lines(path: Path) -> int:
    """Lines without blank ones, comments and docstrings."""
    text = path.read_text()
    prose: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        if isinstance(node, kinds) and ast.get_docstring(node):
            docstring = node.body[0]
            prose.update(range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1))
    lines = enumerate(text.splitlines(), 1)
    code = [line.strip() for number, line in lines if number not in prose]
    return sum(bool(line) and line[0] != "#" for line in code)


def test_every_room_keeps_to_its_size() -> None:
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir() and list(path.glob("*.py"))}
    assert rooms | {"base"} == set(CODE_LINES_MAX)
    sizes = {room: sum(map(count_code_lines, module_paths(room))) for room in CODE_LINES_MAX}
    assert not {room: size for room, size in sizes.items() if size > CODE_LINES_MAX[room]}
    assert sum(sizes.values()) > 10_000


def test_the_tests_keep_to_their_size() -> None:
    files = list((ROOT / "tests").rglob("*.py"))
    sizes = Counter({str(path): len(path.read_text().splitlines()) for path in files})
    assert 10_000 < sizes.total() <= TEST_LINES_MAX, sizes.most_common(5)


def find_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The names that are bound somewhere: variables, arguments, loop targets."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg


def find_functions(
    tree: ast.Module,
) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, bool]]:
    """Every function, and whether it is read like an attribute."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}
            yield node, bool(names & {"property", "cached_property", "setter"})


def returns_something(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return node.returns is not None and ast.unparse(node.returns) not in ("None", "NoReturn")


def find_methods(tree: ast.Module, *, of_base: bool) -> Iterator[ast.FunctionDef]:
    """The methods of all classes; `of_base`: of those that have a base."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and (not of_base or node.bases):
            yield from (item for item in node.body if isinstance(item, ast.FunctionDef))


@pytest.mark.parametrize("room", CODE_LINES_MAX)
def test_a_stranger_understands_the_names(room: str) -> None:
    wrong = []
    trees = {path: ast.parse(path.read_text()) for path in module_paths(room)}
    # what a base says of its methods holds for those that carry them out
    explained = {
        method.name
        for tree in trees.values()
        for method in find_methods(tree, of_base=False)
        if ast.get_docstring(method)
    }
    for path, tree in trees.items():
        place = path.relative_to(SOURCE)
        inherited = {m.lineno for m in find_methods(tree, of_base=True) if m.name in explained}
        wrong += [f"{place}:{line} {name}" for line, name in find_names(tree) if name in VAGUE]
        for node, is_attribute in find_functions(tree):
            name = node.name.strip("_")
            last = name.rpartition("_")[2]
            is_participle = PARTICIPLE.search(name) and last not in NO_PARTICIPLES
            is_question = name.startswith(("is_", "has_", "was_", "are_"))
            if name in VAGUE or (
                not is_attribute and not is_question and (is_participle or name.endswith("_of"))
            ):
                wrong.append(f"{place}:{node.lineno} {node.name}: a function is a verb")
            if (
                not node.name.startswith("_")
                and not is_attribute
                and returns_something(node)
                and node.lineno not in inherited
                and not ast.get_docstring(node)
            ):
                wrong.append(f"{place}:{node.lineno} {node.name}: what comes back?")
    assert not wrong, "\n".join(wrong)
