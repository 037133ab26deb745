"""By whatever name a user writes a file, no file of a memory's own is replaced."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from hardwon import Memory
from hardwon.errors import InvalidInputError
from hardwon.fixes.ai_memory import AIMemory
from hardwon.training.functions import export_agent_memory, load_agent_memory
from hardwon.tree.engine import MemoryEngine

Aliases = Callable[[Path, Path], Path]


def through_a_link(own: Path, aside: Path) -> Path:
    (aside / "out.json").symlink_to(own)
    return aside / "out.json"


def through_two_links(own: Path, aside: Path) -> Path:
    (aside / "first").symlink_to(own)
    (aside / "out.json").symlink_to("first")
    return aside / "out.json"


def as_a_second_name(own: Path, aside: Path) -> Path:
    os.link(own, aside / "out.json")
    return aside / "out.json"


def as_a_second_name_beside(own: Path, _: Path) -> Path:
    os.link(own, own.with_name("out.json"))
    return own.with_name("out.json")


def through_a_linked_folder(own: Path, aside: Path) -> Path:
    (aside / "folder").symlink_to(own.parent)
    return aside / "folder" / own.name


def by_the_way_round(own: Path, aside: Path) -> Path:
    return aside / os.path.relpath(own, aside)


def by_a_relative_name(own: Path, _: Path) -> Path:
    return Path(os.path.relpath(own))


WAYS: list[Aliases] = [through_a_link, through_two_links, through_a_linked_folder]
WAYS += [as_a_second_name, as_a_second_name_beside, by_the_way_round, by_a_relative_name]


def state_of(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): path.read_bytes() for path in files if not path.name.endswith("-shm")}


def ids_of(functions: list[Aliases]) -> list[str]:
    return [function.__name__ for function in functions]


@pytest.fixture
def aside(tmp_path: Path) -> Path:
    (tmp_path / "aside").mkdir()
    return tmp_path / "aside"


WRITERS: dict[str, Callable[[Memory, Path], Any]] = {
    "export": lambda memory, target: memory.export(target),
    "of training": lambda memory, target: export_agent_memory(memory, target, overwrite=True),
    "insights": lambda memory, target: AIMemory.on(memory).export_insights(target),
}


@pytest.mark.parametrize("way", WAYS, ids=ids_of(WAYS))
@pytest.mark.parametrize("writer", WRITERS)
def test_the_database_stays(tmp_path: Path, aside: Path, writer: str, way: Aliases) -> None:
    with Memory(tmp_path / "brain") as memory:
        kept = memory.record_fact("Port 80 is open.", "observation")
        target = way(Path(memory.location), aside)
        before = state_of(tmp_path)
        refused = r"(?s)(path|file|output_file).*(memory's own|no database has), such as"
        with pytest.raises(InvalidInputError, match=refused):
            WRITERS[writer](memory, target)
        assert state_of(tmp_path) == before
        assert target.is_symlink() == way.__name__.endswith(("_link", "_links"))
    with Memory(tmp_path / "brain") as memory:
        assert memory.get(kept.id) == kept


KEPT = ("memory.db-wal", "memory.tokens.db", "memory.db.before-restore-1")
OF_THE_TREE = (".hardwon-tree", "a file of the tree")
# A second name of a file of the tree is another name only: to replace it leaves the tree as it is.
OTHER_WAYS = [way for way in WAYS if "second_name" not in way.__name__]


@pytest.mark.parametrize(("own", "way"), [*product(KEPT, WAYS), *product(OF_THE_TREE, OTHER_WAYS)])
def test_all_else_of_a_memory_stays(tmp_path: Path, aside: Path, own: str, way: Aliases) -> None:
    with MemoryEngine(tmp_path / "brain") as engine:
        keys = {"tool": "code_interpreter", "task_type": "debug", "summary": "lock"}
        engine.remember(content="It needs a lock", outcome="success", **keys)
        engine.memory.tokens.create("a", scope="read")
        home = Path(engine.memory.location).parent
        (home / "memory.db.before-restore-1").write_bytes(b"kept")
        path = (home.parent if own == ".hardwon-tree" else home) / own
        if own == OF_THE_TREE[1]:
            path = next((tmp_path / "brain").rglob("*_lock_*.json"))
        target = way(path, aside)
        before = path.read_bytes()
        with pytest.raises(InvalidInputError, match=r"memory's own|no database has"):
            engine.memory.export(target)
        assert path.read_bytes() == before


def test_a_backup_and_its_checksum_replace_nothing(tmp_path: Path, aside: Path) -> None:
    with Memory(tmp_path / "brain") as memory:
        memory.record_fact("Port 80 is open.", "observation")
        (aside / "copy.db.sha256").symlink_to(memory.location)
        (aside / "new.db").symlink_to(tmp_path / "brain" / "memory.tokens.db")
        before = state_of(tmp_path)
        tokens = tmp_path / "brain" / "memory.tokens.db"
        for target in (aside / "copy.db", aside / "new.db", tokens):
            with pytest.raises(InvalidInputError, match="memory's own, such as copy.db"):
                memory.backup(target)
        assert state_of(tmp_path) == before
        assert memory.backup(aside / "whole.db").size_bytes > 0


def test_a_training_memory_does_not_put_a_database_aside(tmp_path: Path, aside: Path) -> None:
    with Memory(tmp_path / "brain") as memory:
        memory.record_fact("Port 80 is open.", "observation")
        target = through_a_link(Path(memory.location), aside)
        before = state_of(tmp_path)
        with pytest.raises(InvalidInputError, match="no database has"):
            load_agent_memory(target)
        assert state_of(tmp_path) == before


@pytest.mark.parametrize("writer", WRITERS)
def test_a_file_is_replaced_through_a_link(tmp_path: Path, aside: Path, writer: str) -> None:
    with Memory(tmp_path / "brain") as memory:
        memory.record_fact("Port 80 is open.", "observation")
        (tmp_path / "real.json").write_text("old")
        link = through_a_link(tmp_path / "real.json", aside)
        WRITERS[writer](memory, link)
        assert link.is_symlink()
        assert (tmp_path / "real.json").read_text() != "old"


@pytest.mark.parametrize(
    "name", ["memory.jsonl", "export.json", "memory.db.jsonl", "exports/records.json"]
)
def test_other_files_beside_the_memory_may_be_written(tmp_path: Path, name: str) -> None:
    with Memory(tmp_path) as memory:
        memory.record_fact("Port 80 is open.", "observation")
        for _ in range(2):
            assert memory.export(tmp_path / name) == 1
        assert len((tmp_path / name).read_text().splitlines()) == 1
