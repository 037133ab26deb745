"""Older stores of every kind into a memory: what it is, is found out by looking, and the design
that knows it does the work.

The store itself is only read. Adopting it twice adds nothing the second time.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from hardwon import limits
from hardwon.errors import ForeignFileError, InvalidInputError, PlaceError
from hardwon.fixes import adopt as fix_adoption
from hardwon.fixes import legacy as legacy_fixes
from hardwon.memory import Memory
from hardwon.memory.places import find_place
from hardwon.memory.results import Adoption, Loaded, Remark, StoreKind
from hardwon.outside import files
from hardwon.outside.files import SUFFIX
from hardwon.outside.locations import check_path
from hardwon.records.fields import check_that, derived_id, read_json
from hardwon.records.kinds import AnyRecord, Source
from hardwon.tree.files import TreeFiles

if TYPE_CHECKING:
    from hardwon.store.types import Progress

_TRAINING_KEYS: Final = frozenset(
    {"total_episodes", "episode_log", "task_rules", "score_history", "mistake_cards"}
)
_KNOWLEDGE_KEYS: Final = frozenset(
    {"general_patterns", "failure_patterns", "model_specific_tips", "successful_strategies"}
)


def adopt(
    path: str | Path,
    memory: Memory,
    *,
    kind: StoreKind | None = None,
    author: str | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Adoption:
    """Brings an older store into a memory. `kind` says what it is, where looking would not do;
    `author` is the source that it counts as, else the one that each kind has.
    """
    source = check_path("path", path)
    check_that(
        kind is None or kind in _ADOPTED_BY, "kind", kind, f"one of {', '.join(_ADOPTED_BY)}"
    )
    how: dict[str, Any] = {"dry_run": dry_run, "progress": progress}
    if author is not None:
        # what is wrong with the name is told before anything is read
        how["author"] = Source(author=author).author
    return _ADOPTED_BY[kind or find_kind(source)](source, memory, **how)


def find_kind(place: str | Path) -> StoreKind:
    """What an older store is. Raises where it is none, or is a memory already."""
    path = check_path("path", place)
    is_folder = path.is_dir()
    if not is_folder and not path.is_file():
        raise PlaceError(f"cannot adopt {path}: there is no such file or folder")
    if not is_folder and not legacy_fixes.read_header(path):
        return _read_kind(path)
    file = find_place(path).path
    if file and file.is_file() and legacy_fixes.is_ours(file):
        raise ForeignFileError(
            f"{file} is a Hardwon memory already: hardwon merge brings it into another"
        )
    if not is_folder or (path / fix_adoption.FILE_NAME).is_file():
        return "fix-history"
    if (path / fix_adoption.KNOWLEDGE_BASE_NAME).is_file():
        return "knowledge-base"
    if TreeFiles(path).list_folder("").folders:
        return "tree"
    raise PlaceError(
        f"cannot adopt {path}: it is none of a BTB tree (folders such as outcome=failure), a training memory's JSON, "
        "an ai_memory.db of fix history or its folder, or a knowledge_base.json; --kind says what it is"
    )


def _read_kind(file: Path) -> StoreKind:
    first = first_item(read_text_file(file))
    if isinstance(first, dict) and first.keys() & _TRAINING_KEYS:
        return "training-memory"
    if isinstance(first, dict) and first.keys() & _KNOWLEDGE_KEYS:
        return "knowledge-base"
    raise InvalidInputError.one(
        "path", str(file), "an older store; records and data sets are what hardwon load takes in"
    )


def read_text_file(file: Path) -> bytes:
    """As much of it as tells what it is: of lines the first, of one JSON value all of it."""
    of_lines = file.suffix.lower() in (".py", ".jsonl", ".ndjson")
    with files.disk_errors(file, "read"):
        return files.read_regular(
            file, limits.RECORD_BYTES_MAX if of_lines else limits.DATASET_BYTES_MAX + 1
        )


def first_item(data: bytes) -> object:
    """The first value of JSON Lines, or of a list, or the one value that it is; None where it is no
    JSON.
    """
    line = data[: limits.RECORD_BYTES_MAX].lstrip().partition(b"\n")[0]
    value = read_json(line, None)
    value = read_json(data, None) if value is None else value
    return value[0] if isinstance(value, list) and value else value


def adopt_fix_history(source: Path, memory: Memory, **how: Any) -> Adoption:
    """A database; of a folder, also the knowledge base beside it."""
    database = source / fix_adoption.FILE_NAME if source.is_dir() else source
    done = fix_adoption.adopt_fix_history(database, memory, **how)
    knowledge = database.with_name(fix_adoption.KNOWLEDGE_BASE_NAME)
    if not source.is_dir() or not knowledge.is_file():
        return done
    beside = _adopt_knowledge_base(knowledge, memory, **how)
    adopted = "would be adopted" if done.dry_run else "was adopted"
    note = f"{knowledge.name} {adopted if beside.added else 'added nothing'}"
    sums = {
        name: getattr(done, name) + getattr(beside, name)
        for name in ("read", "added", "present", "forgotten")
    }
    return replace(done, **sums, notes=[*done.notes, note])


def _adopt_knowledge_base(source: Path, memory: Memory, **how: Any) -> Adoption:
    file = source / fix_adoption.KNOWLEDGE_BASE_NAME if source.is_dir() else source
    return fix_adoption.adopt_knowledge_base(file, memory, **how)


def adopt_training_memory(source: Path, memory: Memory, **how: Any) -> Adoption:
    """What a training loop saved."""
    from hardwon.training import functions as training

    return _make_adoption("training-memory", training.adopt(source, memory, **how), [])


def _make_adoption(kind: StoreKind, done: Loaded, rejected: list[Remark]) -> Adoption:
    rejected += [
        Remark(record_id, "is kept here with other content, which stays")
        for record_id in done.conflicting
    ]
    counts = (done.read + len(rejected), done.added, done.present, done.forgotten)
    return Adoption(kind, *counts, rejected, notes=done.notes, dry_run=done.dry_run)


def adopt_tree(
    source: Path,
    memory: Memory,
    *,
    dry_run: bool,
    progress: Progress | None,
    author: str | None = None,
) -> Adoption:
    """Takes a copy of the memory files in, elsewhere: a tree that is opened gets a database, and
    this one is not to change.
    """
    from hardwon.tree.engine import MemoryEngine

    if not source.is_dir():
        raise PlaceError(f"cannot adopt {source}: a tree is a folder")
    with TemporaryDirectory(prefix="hardwon-adopting-") as copy:
        rejected = _copy_tree(source, copy)
        with MemoryEngine(copy) as engine:
            left = engine.sync().left
            records = [_by(record, author) for record in engine.memory.browse()]
        done = memory.care.take_in(records, dry_run, author or "user", progress)
    rejected += [Remark(path, reason) for path, reason in left.items()]
    return _make_adoption("tree", done, rejected)


def _by(record: AnyRecord, author: str | None) -> AnyRecord:
    """Under the name that it is adopted under, where its file names nobody."""
    source = record.metadata.source
    if author is None or source.author != Source().author:
        return record
    named = record.metadata.copy_with(source=source.copy_with(author=author))
    return record.copy_with(id=derived_id("tree", record.id, author), metadata=named)


def _copy_tree(source: Path, target: str) -> list[Remark]:
    """Its memory files, with their times. Returns those that cannot be read."""

    def leave_out(folder: str, names: list[str]) -> list[str]:
        """What is no memory file, nor a folder that may hold some."""
        wanted = {name for name in names if name.endswith(SUFFIX) or Path(folder, name).is_dir()}
        return [name for name in names if name.startswith(".") or name not in wanted]

    try:
        shutil.copytree(source, target, symlinks=True, ignore=leave_out, dirs_exist_ok=True)
    except shutil.Error as error:
        return [Remark(os.path.relpath(path, source), why) for path, _, why in error.args[0]]
    return []


_ADOPTED_BY: Final[Mapping[str, Callable[..., Adoption]]] = {
    "tree": adopt_tree,
    "training-memory": adopt_training_memory,
    "fix-history": adopt_fix_history,
    "knowledge-base": _adopt_knowledge_base,
}
