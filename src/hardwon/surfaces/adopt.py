"""Older stores of every kind into a memory: what it is, is found out by looking, and the door that
knows it does the work.

The store itself is only read. Adopting it twice adds nothing the second time, but for a data set,
whose memories have no ids.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic_core import from_json

from hardwon import limits
from hardwon.errors import ForeignFileError, InvalidInputError, PlaceError
from hardwon.fixes import adopt as fix_adoption
from hardwon.fixes import legacy as legacy_fixes
from hardwon.fixes.adopt import FixAdoption
from hardwon.memory import Memory
from hardwon.memory.results import Loaded
from hardwon.outside import files
from hardwon.outside.locations import check_path
from hardwon.records.fields import derived_id
from hardwon.records.kinds import AnyRecord, Source, is_record
from hardwon.tree.files import TreeFiles

if TYPE_CHECKING:
    from hardwon.store.types import Progress

_MEMORY_NAMES: Final = ("memory.db", fix_adoption.FILE_NAME)
_TRAINING_KEYS: Final = frozenset(
    {"total_episodes", "episode_log", "task_rules", "score_history", "mistake_cards"}
)
_KNOWLEDGE_KEYS: Final = frozenset(
    {"general_patterns", "failure_patterns", "model_specific_tips", "successful_strategies"}
)
_LOOKED_FOR: Final = (
    "a BTB tree (folders such as outcome=failure), a training memory's JSON, an ai_memory.db of "
    "fix history or its folder, a "
    "knowledge_base.json, or a data set"
)


class StoreKind(StrEnum):
    """What an older store is."""

    TREE = "tree"
    TRAINING_MEMORY = "training-memory"
    FIX_HISTORY = "fix-history"
    KNOWLEDGE_BASE = "knowledge-base"
    DATA_SET = "data-set"


class Remark(NamedTuple):
    """What is to be said about one part of a store: a file, a row, a memory."""

    where: str
    what: str


@dataclass(frozen=True)
class Adoption:
    """What an older store brought. What was read was added, was present already, was forgotten here
    and stays so, or was `rejected` for a reason. `mended`: what had to be changed to fit.
    """

    kind: StoreKind
    read: int
    added: int
    present: int = 0
    forgotten: int = 0
    rejected: list[Remark] = field(default_factory=list)
    mended: list[Remark] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    dry_run: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        remarks = {
            name: [each._asdict() for each in getattr(self, name)]
            for name in ("rejected", "mended")
        }
        return {**asdict(self), **remarks, "kind": self.kind.value}

    def __str__(self) -> str:
        would = "would be " if self.dry_run else ""
        told = f"{self.kind.value}: {self.read} read, {self.added} {would}added, {self.present} present already"
        lines = [f"{told}, {len(self.rejected)} rejected, {len(self.mended)} mended"]
        lines += [f"{self.forgotten} were forgotten here and stay so"] if self.forgotten else []
        lines += self.notes[: limits.ADOPTION_SHOWN_MAX]
        return "\n".join(
            [*lines, *_listed("rejected", self.rejected), *_listed("mended", self.mended)]
        )


def _listed(heading: str, remarks: list[Remark]) -> Iterator[str]:
    for remark in remarks[: limits.ADOPTION_SHOWN_MAX]:
        yield f"{heading}: {remark.where}: {remark.what}"
    if len(remarks) > limits.ADOPTION_SHOWN_MAX:
        yield f"{heading}: and {len(remarks) - limits.ADOPTION_SHOWN_MAX} more"


def adopt(
    path: str | Path,
    memory: Memory,
    *,
    kind: StoreKind | str | None = None,
    author: str | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Adoption:
    """Brings an older store into a memory. `kind` says what it is, where looking would not do;
    `author` is the source that it counts as, else the one that each kind has.
    """
    source = check_path("path", path)
    if author is not None:
        Source(author=author)  # what is wrong with the name is told before anything is read
    what = _checked_kind(kind) if kind is not None else kind_of(source)
    return _BY_KIND[what](source, memory, author, dry_run, progress)


def _checked_kind(given: StoreKind | str) -> StoreKind:
    try:
        return StoreKind(given)
    except ValueError:
        raise InvalidInputError.one("kind", given, f"one of {', '.join(StoreKind)}") from None


# --- what it is ---


def kind_of(given: str | Path) -> StoreKind:
    """What an older store is. Raises where it is none, or is a memory already."""
    path = check_path("path", given)
    if path.is_dir():
        return _kind_of_folder(path)
    if not path.is_file():
        raise PlaceError(f"cannot adopt {path}: there is no such file or folder")
    if legacy_fixes.is_database(path):
        _refuse_memory(path)
        return StoreKind.FIX_HISTORY
    return _kind_of_text(path)


def _kind_of_folder(folder: Path) -> StoreKind:
    for name in _MEMORY_NAMES:
        if (folder / name).is_file():
            _refuse_memory(folder / name)
    if (folder / fix_adoption.FILE_NAME).is_file():
        return StoreKind.FIX_HISTORY
    if (folder / fix_adoption.KNOWLEDGE_BASE_NAME).is_file():
        return StoreKind.KNOWLEDGE_BASE
    if TreeFiles(folder).listed("", look=False).folders:
        return StoreKind.TREE
    raise PlaceError(f"cannot adopt {folder}: it is none of {_LOOKED_FOR}; --kind says what it is")


def _refuse_memory(file: Path) -> None:
    if legacy_fixes.is_ours(file):
        raise ForeignFileError(
            f"{file} is a Hardwon memory already: hardwon merge brings it into another"
        )


def _kind_of_text(file: Path) -> StoreKind:
    if file.suffix.lower() in (".py", ".jsonl", ".ndjson"):
        return _kind_of_lines(file)
    try:
        found = from_json(files.read_regular(file, limits.DATASET_BYTES_MAX + 1))
    except OSError as error:
        raise PlaceError(f"cannot read {file}: {error.strerror or error}") from error
    except (ValueError, RecursionError):
        return _kind_of_lines(file)
    keys: set[str] = set(found) if isinstance(found, dict) else set()
    if keys & _TRAINING_KEYS:
        return StoreKind.TRAINING_MEMORY
    if keys & _KNOWLEDGE_KEYS:
        return StoreKind.KNOWLEDGE_BASE
    _refuse_export(file, found[0] if isinstance(found, list) and found else found)
    return StoreKind.DATA_SET


def _kind_of_lines(file: Path) -> StoreKind:
    try:
        first = files.read_regular(file, limits.RECORD_BYTES_MAX).lstrip().partition(b"\n")[0]
        _refuse_export(file, from_json(first))
    except OSError as error:
        raise PlaceError(f"cannot read {file}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidInputError):
            raise
    return StoreKind.DATA_SET


def _refuse_export(file: Path, found: object) -> None:
    if is_record(found):
        raise InvalidInputError.one(
            "path",
            str(file),
            "an older store; these are records of a memory, which hardwon load "
            "takes in as JSON Lines",
        )


# --- each kind ---


def _adopt_fix_history(
    source: Path, memory: Memory, author: str | None, dry_run: bool, progress: Progress | None
) -> Adoption:
    """A database; of a folder, also the knowledge base beside it."""
    database = source / fix_adoption.FILE_NAME if source.is_dir() else source
    done = _of_fixes(
        StoreKind.FIX_HISTORY,
        fix_adoption.adopt_fix_history(
            database, memory, dry_run=dry_run, progress=progress, **_named(author)
        ),
    )
    knowledge = database.with_name(fix_adoption.KNOWLEDGE_BASE_NAME)
    if not source.is_dir() or not knowledge.is_file():
        return done
    beside = _adopt_knowledge_base(knowledge, memory, author, dry_run, progress)
    note = (
        f"{knowledge.name} {'would be' if dry_run else 'was'} adopted"
        if beside.added
        else f"{knowledge.name} added nothing"
    )
    counts = {
        name: getattr(done, name) + getattr(beside, name)
        for name in ("read", "added", "present", "forgotten")
    }
    return Adoption(
        done.kind,
        **counts,
        rejected=done.rejected,
        mended=done.mended,
        notes=[*done.notes, note],
        dry_run=dry_run,
    )


def _adopt_knowledge_base(
    source: Path, memory: Memory, author: str | None, dry_run: bool, progress: Progress | None
) -> Adoption:
    file = source / fix_adoption.KNOWLEDGE_BASE_NAME if source.is_dir() else source
    done = fix_adoption.adopt_knowledge_base(
        file, memory, dry_run=dry_run, progress=progress, **_named(author)
    )
    return _of_fixes(StoreKind.KNOWLEDGE_BASE, done)


def _named(author: str | None) -> dict[str, str]:
    """Where nobody says whose it is, each kind has a name of its own."""
    return {} if author is None else {"author": author}


def _of_fixes(kind: StoreKind, done: FixAdoption) -> Adoption:
    rejected, mended = (
        [Remark(f"row {row}", what) for row, what in rows] for rows in (done.rejected, done.mended)
    )
    return Adoption(
        kind,
        done.read,
        done.added,
        done.present,
        done.forgotten,
        rejected,
        mended,
        done.notes,
        done.dry_run,
    )


def _adopt_training_memory(
    source: Path, memory: Memory, author: str | None, dry_run: bool, progress: Progress | None
) -> Adoption:
    from hardwon.training.adopt import adopt as adopt_training_memory

    done = adopt_training_memory(
        source, memory, dry_run=dry_run, progress=progress, **_named(author)
    )
    return _of_loaded(StoreKind.TRAINING_MEMORY, done, [])


def _of_loaded(kind: StoreKind, done: Loaded, rejected: list[Remark]) -> Adoption:
    kept = [
        Remark(record_id, "is kept here with other content, which stays")
        for record_id in done.conflicting
    ]
    read = done.read + len(rejected)
    return Adoption(
        kind,
        read,
        done.added,
        done.present,
        done.forgotten,
        [*rejected, *kept],
        dry_run=done.dry_run,
    )


def _adopt_data_set(
    source: Path, memory: Memory, author: str | None, dry_run: bool, progress: Progress | None
) -> Adoption:
    from hardwon.tree import datasets

    done = datasets.load_dataset(  # nosec B615  # our own function, which reads a file of this machine
        memory, source, dry_run=dry_run, progress=progress, **_named(author)
    )
    rejected = [
        Remark(f"memory {fault.index}, {fault.field}", f"{fault.wrong}; {fault.remedy}")
        for fault in done.rejected
    ]
    notes = (
        [f"{len(done.warnings)} warnings, which hardwon validate tells"] if done.warnings else []
    )
    return Adoption(
        StoreKind.DATA_SET, done.total, done.stored, rejected=rejected, notes=notes, dry_run=dry_run
    )


def _adopt_tree(
    source: Path, memory: Memory, author: str | None, dry_run: bool, progress: Progress | None
) -> Adoption:
    """Takes a copy of the memory files in, elsewhere: a tree that is opened gets a database, and
    this one is not to change.
    """
    from hardwon.tree.engine import MemoryEngine

    if not source.is_dir():
        raise PlaceError(f"cannot adopt {source}: a tree is a folder")
    with TemporaryDirectory(prefix="hardwon-adopting-") as copy:
        rejected = _copy_tree(TreeFiles(source), Path(copy))
        with MemoryEngine(copy) as engine:
            left = engine.sync().left
            records = [_by(record, author) for record in engine.memory.browse()]
        done = memory.care.take_in(records, dry_run, author or "user", progress)
    rejected += [Remark(path, reason) for path, reason in left.items()]
    return _of_loaded(StoreKind.TREE, done, rejected)


def _by(record: AnyRecord, author: str | None) -> AnyRecord:
    """Under the name that it is adopted under, where its file names nobody."""
    source = record.metadata.source
    if author is None or source.author != Source().author:
        return record
    named = record.metadata.altered(source=source.altered(author=author))
    return record.altered(id=derived_id("tree", record.id, author), metadata=named)


def _copy_tree(tree: TreeFiles, target: Path) -> list[Remark]:
    """Its memory files, with their times. Returns those that cannot be read."""
    left: list[Remark] = []
    folders = [""]
    while folders:
        folder = folders.pop()
        listing = tree.listed(folder, look=False)
        folders += listing.paths(folder)
        left += [Remark(f"{folder}/{name}", reason) for name, reason in listing.odd.items()]
        for name in listing.files:
            try:
                data, seen = tree.read(folder, name)
            except (OSError, ValueError) as error:
                left.append(Remark(f"{folder}/{name}", str(error)))
                continue
            copy = target / folder / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(data)
            os.utime(copy, ns=(seen.mtime_ns, seen.mtime_ns))
    return left


_BY_KIND: Final[
    dict[StoreKind, Callable[[Path, Memory, str | None, bool, Progress | None], Adoption]]
] = {
    StoreKind.TREE: _adopt_tree,
    StoreKind.TRAINING_MEMORY: _adopt_training_memory,
    StoreKind.FIX_HISTORY: _adopt_fix_history,
    StoreKind.KNOWLEDGE_BASE: _adopt_knowledge_base,
    StoreKind.DATA_SET: _adopt_data_set,
}
