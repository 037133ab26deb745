"""The pages of docs/reference are what the generator makes, and say everything."""

from __future__ import annotations

import inspect
import os
import re
import shutil
import sqlite3
import sys
from contextlib import closing
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import hardwon
from cases import each
from hardwon import Memory, limits
from hardwon.memory.project import Noun
from hardwon.memory.record import ENVELOPE_KEYWORDS
from hardwon.search.terms import Filters
from hardwon.surfaces.operations import OPERATIONS
from short import run_program
from test_house import ROOMS

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "reference"
SOURCE = Path(hardwon.__file__).parent
NOUNS = [name for name, found in vars(Memory).items() if isinstance(found, Noun)]
METHODS = [name for name in dir(Memory) if not name.startswith("_") and name not in NOUNS]
for noun in NOUNS:
    names = dir(getattr(Memory, noun))
    METHODS += [f"{noun}.{name}" for name in names if not name.startswith("_")]
TOLD_ONCE = {*ENVELOPE_KEYWORDS, *Filters.model_fields, "self", "cls", "envelope", "filters"}
TOLD_ONCE |= {"as_of", "by", "dry_run", "limit", "progress", "issue"}
"""Arguments that the page explains for all methods that take them."""


@cache
def page(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def section(name: str, heading: str) -> str:
    """What stands under a heading of the third level, up to the next of any."""
    under = rf"^### {re.escape(heading)}\n(.*?)(?=^##|\Z)"
    found = re.search(under, page(name), re.MULTILINE | re.DOTALL)
    assert found, f"{name} has nothing about {heading}"
    return found[1]


def generated(into: Path, **environment: str) -> dict[str, str]:
    """What `make docs` writes in a copy of the folder, by page."""
    copy = into / "docs"
    shutil.copytree(ROOT / "docs", copy, ignore=shutil.ignore_patterns("images", "__pycache__"))
    before = pages_in(copy)
    # what is written by hand stays there
    for name in before.keys() - {"architecture.md", "security.md"}:
        (copy / name).write_text("")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    run_program(sys.executable, copy / "generate.py", env=env)
    return {name: text for name, text in pages_in(copy).items() if text}


def pages_in(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.md")}


def test_generated_pages_are_what_the_generator_writes_on_every_machine(tmp_path: Path) -> None:
    there, mark = pages_in(ROOT / "docs"), "<!-- Made by docs/generate.py"
    claiming = {name: text for name, text in there.items() if mark in text}
    other = {
        "HARDWON_MEMORY": "/elsewhere", "HARDWON_PROJECT": "other", "HOME": "/nowhere", "LANG": "C", "PYTHONUTF8": "1",
    }  # fmt: skip
    made = generated(tmp_path, **other, COLUMNS="20", TERM="dumb")
    assert made == claiming, "run make docs"


def function_of(name: str) -> Any:
    noun, _, own_name = name.rpartition(".")
    found = inspect.getattr_static(getattr(Memory, noun) if noun else Memory, own_name)
    if isinstance(found, cached_property):
        return found.func
    return getattr(found, "fget", None) or getattr(found, "__func__", found)


@each("name", [name for name in hardwon.__all__ if name not in ("Memory", "Client")])
def test_a_public_name_is_told_with_its_docstring(name: str) -> None:
    told = section("python.md", name)
    found = getattr(hardwon, name)
    if found.__name__ != name:
        assert f"[`{found.__name__}`]" in told
    else:
        assert first_sentence(found) in told


def first_sentence(found: Any) -> str:
    """As pages show it, in one line; one that a dataclass makes does not count."""
    told = " ".join((inspect.getdoc(found) or "").split("\n\n")[0].split())
    assert told, f"{found} has no docstring"
    assert not told.startswith(f"{found.__name__}("), f"{found} has no docstring of its own"
    return told


@each("name", METHODS)
def test_a_method_is_told_with_all_of_its_arguments(name: str) -> None:
    told = section("python.md", f"Memory.{name}")
    function = function_of(name)
    assert first_sentence(function) in told
    for argument in inspect.signature(function).parameters.keys() - TOLD_ONCE:
        assert re.search(rf"^.*\b{argument}\b", told, re.MULTILINE)
        described = re.search(rf"\b{argument}\b", inspect.getdoc(function) or "")
        assert described, f"{name} does not say what {argument} is"


@each("name", OPERATIONS)
def test_an_operation_is_told_with_its_fields(name: str) -> None:
    operation = OPERATIONS[name]
    told = section("rest.md", f"`{operation.method} {operation.path}`")
    assert told.strip().startswith(f"`{name}`. {operation.description.split('. ')[0]}")
    shared = told.count("the fields of [the ")
    before = page("rest.md").partition("\n## Recording\n")[0]
    for field in operation.takes.model_fields:
        row = re.compile(rf"^\| `{field}` \|", re.MULTILINE)
        assert row.search(told) or (shared and row.search(before)), field
    assert not re.search(r"^\| `\w+` \|.*\| +\|$", told, re.MULTILINE), "a field without a meaning"


def test_every_variable_that_the_program_reads_is_told() -> None:
    read = set()
    for path in [*SOURCE.parent.rglob("*.py"), *(ROOT / "drop_in").rglob("*")]:
        if path.is_file() and path.suffix in (".py", ".sh"):
            text = path.read_text()
            read |= set(re.findall(r"\bHARDWON_[A-Z]+\b", text))
            read |= set(re.findall(r"environ(?:\.get\(|\[)\"([A-Z_]+)\"", text))
    read -= {"TERM", "PYTEST_PLUGINS", "COMP_WORDS", "COMP_CWORD"}  # of shells and of pytest
    read -= {"_HARDWON_COMPLETE"}
    assert {"HARDWON_MEMORY", "GROQ_API_KEY", "NO_COLOR"} <= read
    assert {name for name in read if f"`{name}`" not in page("settings.md")} == set()


def test_every_limit_is_told_with_its_reason() -> None:
    names = {name for name in vars(limits) if name.isupper()} - {"KIB", "MIB", "GIB", "DAY_US"}
    row = re.compile(r"^\| `([A-Z_0-9]+)` \| (.+ \| .+) \|$", re.MULTILINE)
    told = dict(row.findall(page("limits.md")))
    assert set(told) == names
    assert told["MEMORY_BYTES_MAX"].startswith("64 GiB | One SQLite memory.")
    assert told["TEXT_CHARS_MAX"].startswith("200,000 | One text field.")


def test_every_table_of_the_database_is_told(tmp_path: Path) -> None:
    with Memory(tmp_path) as memory:
        location = memory.location
    with closing(sqlite3.connect(location)) as database:
        listed = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        named = {name for (name,) in listed}
    # of FTS5 and SQLite itself
    tables = {name for name in named if not name.startswith(("record_text_", "sqlite_"))}
    assert len(tables) > 15
    assert {name for name in tables if f"`{name}`" not in page("formats.md")} == set()


def test_every_module_is_told_in_its_room() -> None:
    told: dict[str, set[str]] = {}
    modules = page("../architecture.md").partition("\n## Every module\n")[2]
    for room in re.split(r"^### ", modules, flags=re.MULTILINE)[1:]:
        told[room.splitlines()[0]] = set(re.findall(r"^\| `(\w+)` \| \S", room, re.MULTILINE))
    assert told.pop("Values") == ROOMS[0]
    packages = {path.parent for path in SOURCE.rglob("__init__.py")} - {SOURCE}
    there = {package: {path.stem for path in package.glob("[!_]*.py")} for package in packages}
    assert told == {str(each.relative_to(SOURCE)): names for each, names in there.items()}
    drawing = page("../architecture.md").partition("```text\n")[2].partition("```")[0]
    assert all(re.search(rf"\b{room}\b", drawing) for layer in ROOMS for room in layer)
