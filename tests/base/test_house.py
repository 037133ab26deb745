"""The house rules that a machine can check: imports, SQL, public names, what loads."""

from __future__ import annotations

import ast
import re
import sys
from itertools import pairwise
from pathlib import Path

import hardwon
from short import run_program

SOURCE = Path(hardwon.__file__).parent
ROOT = SOURCE.parent.parent
ROOMS = [
    {"limits", "errors", "first_use"}, {"records"}, {"text"}, {"runs"}, {"search"}, {"lessons"},
    {"trust"}, {"tell"}, {"outside"}, {"store"}, {"memory"},
    {"tree", "training", "fixes", "capture", "adapters"}, {"surfaces"},
]  # fmt: skip
"""An import points up this list; rooms of one line do not know each other."""

LEVEL = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}
READS_OLDER = {"fixes/legacy.py"}
"""SQL outside of the store: of databases that others wrote."""


def modules_imported_by(path: Path) -> set[str]:
    """The modules that one imports at run time (what is only for type checkers does not count)."""
    tree = ast.parse(path.read_text())
    tested = [node for node in ast.walk(tree) if isinstance(node, ast.If)]
    for_types = [node for node in tested if ast.unparse(node.test).endswith("TYPE_CHECKING")]
    typed = [node for node in for_types if "not" not in ast.unparse(node.test)]
    skipped = {id(inner) for node in typed for inner in ast.walk(node)}
    names: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            if node.module in ("hardwon", "hardwon.store"):
                names |= {f"{node.module}.{alias.name}" for alias in node.names}
            else:
                names.add(node.module)
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


def rooms_imported_by(path: Path) -> set[str]:
    return {name.split(".")[1] for name in modules_imported_by(path) if name.startswith("hardwon.")}


def test_imports_point_one_way() -> None:
    looking_down = set()
    checked = 0
    for path in SOURCE.rglob("*.py"):
        place = path.relative_to(SOURCE)
        room = place.parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        for other in rooms_imported_by(path):
            assert other in LEVEL, f"{place} imports {other}, which has no place in the house"
            if LEVEL[other] > LEVEL[room] or (LEVEL[other] == LEVEL[room] and other != room):
                looking_down.add((place.as_posix(), other))
            checked += 1
    assert not looking_down
    assert checked > 40


def test_surfaces_do_not_know_where_records_are_kept() -> None:
    for path in (SOURCE / "surfaces").rglob("*.py"):
        assert "store" not in rooms_imported_by(path), path


def test_sql_lives_in_the_store_and_in_tables_of_designs() -> None:
    words = r"SELECT .+ FROM|INSERT INTO|DELETE FROM|UPDATE \w+ SET|CREATE TABLE|PRAGMA "
    statement = re.compile(rf"\b({words})\b")
    for path in SOURCE.rglob("*.py"):
        found = statement.search(path.read_text())
        place = path.relative_to(SOURCE)
        may = place.parts[0] == "store" or place.name == "tables.py"
        may = may or place.as_posix() in READS_OLDER
        assert not found or may, f"{place}: {found and found.group()}"


def test_pure_rooms_do_no_input_or_output() -> None:
    forbidden = {"apsw", "sqlite3", "subprocess", "socket", "time", "pathlib", "random", "secrets"}
    pure = "records text runs search lessons tell trust".split()
    for room in pure:
        for path in (SOURCE / room).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                assert not forbidden & {name.split(".")[0] for name in names}, path
                # where a new id is drawn
                assert "os" not in names or path == SOURCE / "records/fields.py"


def test_all_lists_the_public_names() -> None:
    names = [name for name in vars(hardwon) if not name.startswith("_")]
    visible = [name for name in names if not isinstance(getattr(hardwon, name), type(sys))]
    assert hardwon.__all__ == sorted({*visible, *hardwon._LATER})
    assert not set(visible) & set(hardwon._LATER)  # which are imported when somebody asks for them
    assert set(hardwon.__all__) <= set(dir(hardwon))
    assert all(getattr(hardwon, name).__doc__ for name in hardwon.__all__)


def test_importing_loads_nothing_heavy() -> None:
    code = "import sys; from hardwon import Memory; print(' '.join(sys.modules))"
    loaded = run_program(sys.executable, "-c", code).stdout.split()
    heavy = "numpy fastapi uvicorn mcp psycopg rich typer httpx sqlite3 asyncio"
    assert not set(heavy.split()) & set(loaded)
    assert not [name for name in loaded if name.startswith("hardwon.store.postgres")]
    assert "hardwon.memory" in loaded


def test_a_short_command_loads_only_what_it_needs(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()  # a checkout does not have more of it loaded
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/main\n")
    with hardwon.Memory(tmp_path) as memory:
        memory.remember("the parser fails", "failure", "unknown")
    code = (
        "import atexit, gc, sys; from hardwon_cli import run;"
        "atexit.register(lambda: print(gc.isenabled(), *sys.modules, file=sys.stderr)); run()"
    )
    command = (sys.executable, "-c", code, "--memory", tmp_path, "stats")
    done = run_program(*command, cwd=tmp_path)
    assert "records: 1\n" in done.stdout
    collects, *loaded = done.stderr.split()
    assert collects == "True", "garbage is collected again once everything is imported"
    later = "context knowledge consolidate transfer results staleness"
    needless = {"hardwon.outside.llm", *(f"hardwon.memory.{name}" for name in later.split())}
    assert not (needless | {"rich", "asyncio"}) & set(loaded)


def test_every_bound_has_its_unit_and_its_reason() -> None:
    text = (SOURCE / "limits.py").read_text()
    reasons = {
        bound[1]
        for above, line in pairwise(text.splitlines())
        if above.startswith("# ")
        and not above.startswith("# ---")
        and (bound := re.match(r"(\w+): Final = ", line))
    }
    bounds = (node.target for node in ast.parse(text).body if isinstance(node, ast.AnnAssign))
    named = {bound.id for bound in bounds if isinstance(bound, ast.Name)}
    named -= {"KIB", "MIB", "GIB", "DAY_US"}
    assert named == reasons
    assert len(named) > 20


def test_the_project_speaks_of_itself_alone() -> None:
    listed = run_program("git", "ls-files", "-co", "--exclude-standard", cwd=ROOT)
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.suffix in (".py", ".md", ".toml", ".lock", "") and path.is_file():
            text = path.read_text(errors="replace")
            assert not re.search(r"\bseed 00[0-4]\b|step \d+ of 11", text, re.IGNORECASE), name
            # only CI knows where the documents are
            assert name == ".ci/run" or not re.search("[s]hared/seeds", text), name
            if path.suffix == ".lock":
                assert "://" not in text, f"{name} names a registry"
