"""Older fix histories into a memory: their database (row by row, see `adopt_rows`), and the
knowledge base beside it.

An adoption is one transaction. Ids are derived from what is adopted and whose it is, so that the
same history adds nothing the second time, wherever its file lies.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

from pydantic_core import PydanticCustomError

from hardwon import limits
from hardwon.errors import HardwonError, InvalidInputError, PlaceError
from hardwon.fixes import legacy
from hardwon.fixes.adopt_rows import HistoryReader, RowId, added_up, fits_in_a_record, one_line
from hardwon.fixes.legacy import ClaimedDatabase, LegacyDatabase
from hardwon.learn.support import FIX_HISTORY
from hardwon.memory import Clock, Memory
from hardwon.outside import files
from hardwon.outside.locations import check_path
from hardwon.outside.locks import lock_file
from hardwon.records.fields import check_json, from_us
from hardwon.records.kinds import Adopted, AnyRecord, Source
from hardwon.store.sqlite.log import refuse_foreign_log
from hardwon.store.types import Progress

FILE_NAME: Final = "ai_memory.db"
KNOWLEDGE_BASE_NAME: Final = "knowledge_base.json"
_OF_LISTS: Final = "an object of lists"
_SHAPE: Final = (
    ("general_patterns", dict | list, "an object or a list"),
    ("failure_patterns", dict | list, "an object or a list"),
    ("model_specific_tips", dict, _OF_LISTS),
    ("successful_strategies", dict, _OF_LISTS),
    ("version", str | int | float | None, "text or a number"),
    ("last_updated", str | int | float | None, "text or a number"),
)


# --- the report ---


@dataclass(frozen=True)
class FixAdoption:
    """What an older fix history brought. Every row that was read was added, or was present already,
    or forgotten here, or is among the rejected, each with its id and the reason. `mended`: rows of
    which something had to be changed, and what.
    """

    read: int
    added: int
    present: int
    rejected: list[tuple[RowId, str]] = field(default_factory=list)
    mended: list[tuple[RowId, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    dry_run: bool = False
    forgotten: int = 0

    def __str__(self) -> str:
        would = "would be " if self.dry_run else ""
        lines = [
            f"{self.read} read: {self.added} {would}added, {self.present} present already, "
            f"{len(self.rejected)} rejected, {len(self.mended)} mended"
        ]
        lines += [f"{self.forgotten} were forgotten here and stay so"] if self.forgotten else []
        lines += [one_line(note) for note in self.notes[: limits.PROBLEMS_SHOWN_MAX]]
        for heading, rows in (("rejected", self.rejected), ("mended", self.mended)):
            lines += [f"{heading}:"] if rows else []
            shown = rows[: limits.PROBLEMS_SHOWN_MAX]
            lines += [f"  row {one_line(str(row_id))}: {one_line(what)}" for row_id, what in shown]
            lines += [f"  and {len(rows) - len(shown)} more"] if len(rows) > len(shown) else []
        return "\n".join(lines)


# --- adopting into a memory ---


def adopt_fix_history(
    path: str | Path,
    memory: Memory,
    *,
    author: str = FIX_HISTORY,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> FixAdoption:
    """Brings an older database into a memory, all of it or, when something goes wrong, nothing.
    `author` is the source that it counts as. The file is only read. Other writers of the memory
    wait meanwhile.
    """
    source = check_path("path", path)
    check_memory(memory)
    with legacy.opened(source) as history:
        return _adopt(history, memory, author, dry_run, progress)


def _adopt(
    history: LegacyDatabase,
    memory: Memory,
    author: str,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> FixAdoption:
    reading = HistoryReader(history, Source(type="agent_execution", author=author), progress)
    aggregates = list(reading.aggregates())
    here = sum(memory.get(record.id) is not None for record in aggregates)
    records: Iterator[AnyRecord] = chain(reading.fixes(), aggregates)
    loaded = memory.care.take_in(records, dry_run, author, at_once=True)
    new = sum(dry_run or memory.get(record.id) is not None for record in aggregates) - here
    kept_rows = (
        (name, sum(len(record.data.get(name, ())) for record in aggregates))
        for name in legacy.AGGREGATE_TABLES
    )
    about_aggregates = [
        f"{name}: {rows} rows kept as they are" + ("" if new else ", as before")
        for name, rows in kept_rows
        if rows
    ]
    return FixAdoption(
        read=reading.read,
        added=max(0, loaded.added - new),
        # What is kept under the id of a row is that row, though another machine may have read its
        # local time differently.
        present=loaded.present + len(loaded.conflicting) - here,
        rejected=reading.rejected,
        mended=reading.mended,
        notes=[*reading.notes(), *about_aggregates],
        dry_run=dry_run,
        forgotten=loaded.forgotten,
    )


def adopt_knowledge_base(
    path: str | Path,
    memory: Memory,
    *,
    author: str = FIX_HISTORY,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> FixAdoption:
    """Brings a knowledge base's file into a memory, as one record that keeps all of it. The file is
    only read. What is wrong with it is named by its place.
    """
    source = check_path("path", path)
    check_memory(memory)
    record = _knowledge_record(source, Source(type="agent_execution", author=author))
    if record is None:
        return FixAdoption(1, 0, 0, notes=[f"{source.name} holds nothing yet"], dry_run=dry_run)
    loaded = memory.care.take_in([record], dry_run, author, progress, at_once=True)
    return FixAdoption(
        read=1,
        added=loaded.added,
        present=loaded.present + len(loaded.conflicting),
        dry_run=dry_run,
        forgotten=loaded.forgotten,
    )


def check_memory(memory: object) -> None:
    if not isinstance(memory, Memory):
        raise InvalidInputError.one("memory", memory, "a Memory, as Memory(path) opens it")


# --- the knowledge base ---


def _knowledge_record(path: Path, source: Source) -> Adopted | None:
    """None where it says nothing."""
    knowledge, written_us = files.read_object(
        path, limits.KNOWLEDGE_BASE_BYTES_MAX, "a knowledge base"
    )
    try:
        for name, kinds, allowed in _SHAPE:
            if not isinstance(knowledge.get(name), kinds) and name in knowledge:
                raise InvalidInputError.one(name, knowledge[name], allowed)
            listed = knowledge.get(name, {}) if allowed == _OF_LISTS else {}
            for key, items in listed.items():
                if not isinstance(items, list):
                    raise InvalidInputError.one(f"{name}.{key}", items, "a list")
        _check_values(knowledge, "")
        size = len(json.dumps(knowledge, ensure_ascii=False).encode())
        if not fits_in_a_record(size):
            largest = max(knowledge, key=lambda name: len(json.dumps(knowledge[name])))
            allowed = f"at most {limits.RECORD_BYTES_MAX} bytes; most of it is {largest!r}: shorten that in a copy and adopt it"
            raise InvalidInputError.one(largest, f"{size} bytes", allowed)
        _check_value(knowledge, "file")
        if any(knowledge[name] for name in knowledge.keys() - {"version", "last_updated"}):
            return added_up({"knowledge_base": knowledge}, source, from_us(written_us))
        return None
    except InvalidInputError as error:
        raise InvalidInputError(error.problems, path.name) from None


def _check_values(value: Any, place: str, depth: int = 1) -> None:
    """Says where the value is that cannot be kept."""
    parts = list(
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    if depth >= limits.JSON_DEPTH_MAX and parts:
        raise InvalidInputError.one(
            place, value, f"values nested at most {limits.JSON_DEPTH_MAX} deep"
        )
    for key, part in parts:
        inner = f"{place}.{key}" if place else str(key)
        _check_value(key, inner)
        _check_values(part, inner, depth + 1)
    if not parts:
        _check_value(value, place)


def _check_value(value: Any, place: str) -> None:
    try:
        check_json([value])
    except PydanticCustomError as error:
        raise InvalidInputError.one(
            place[: limits.NAME_CHARS_MAX], value, error.message()
        ) from None


# --- taking the place of an older database ---


def adopt_in_place(folder: str | Path, *, clock: Clock | None = None) -> FixAdoption | None:
    """Before a folder's memory is opened: where its file is an older database, a memory that has
    adopted all of it, and the knowledge base beside it, takes its place. The old database is kept
    aside as `….before-hardwon.db`; the knowledge base is left where it is. None where there is
    nothing to adopt; a file of 0 bytes, which SQLite makes of a name that it only opens, is
    nothing, and goes.

    Whatever happens meanwhile, the file is the old database or the finished memory. Other programs
    cannot write to it in between; those that have it open see what it became. Of several processes
    that come at once, one does it.
    """
    home = check_path("folder", folder)
    target = (home / FILE_NAME).resolve()
    knowledge = home / KNOWLEDGE_BASE_NAME
    if not _has_something(target, knowledge):
        return None
    with lock_file(target):
        _clear_away(target)
        try:
            refuse_foreign_log(target)
            legacy.remove_empty(target)
            if not files.exists(target):
                return _begin_with(knowledge, target, clock) if knowledge.is_file() else None
            legacy.play_back(target)
            if legacy.is_ours(target):
                return None
            with legacy.claim(target) as history:
                return _take_place(history, knowledge, clock)
        except OSError as error:
            raise files.disk_error(error, target) from error
        finally:
            _clear_away(target)


def _has_something(target: Path, knowledge: Path) -> bool:
    """Looked at without a lock: nearly always there is nothing to do. Where a journal lies beside
    the file somebody was interrupted, and what the file says cannot be believed before it is played
    back; or it was we, after all was done.
    """
    if not files.exists(target):
        return knowledge.is_file()
    if not target.is_file():
        raise PlaceError(f"{target} is not a file: choose another place for the memory")
    left = (legacy.companions(target)[0], _staged(target), _copied(target))
    return any(map(files.exists, left)) or not legacy.is_ours(target)


def _staged(target: Path) -> Path:
    return target.with_name(f".{target.stem}.adopting.db")


def _copied(target: Path) -> Path:
    return target.with_name(f".{target.stem}.before-hardwon.part")


def _clear_away(target: Path) -> None:
    """What an interrupted run left. Only whoever holds the lock may."""
    for left in (_staged(target), _copied(target)):
        files.remove(left, *legacy.companions(left))
    unborn = f".{_staged(target).name}."  # the beginnings of a memory that was to be staged
    with suppress(FileNotFoundError):
        files.remove(
            *(
                left
                for left in target.parent.iterdir()
                if left.name.startswith(unborn) and ".part" in left.name
            )
        )


def _take_place(history: ClaimedDatabase, knowledge: Path, clock: Clock | None) -> FixAdoption:
    target = history.path
    staged, copied = _staged(target), _copied(target)
    with closing(Memory(staged, clock=clock)) as memory:
        adopted = _adopt(history, memory, FIX_HISTORY)
        notes = _with_knowledge(knowledge, memory)
    legacy.refuse_unfinished(staged)
    history.copy_to(copied)
    aside, is_new = _set_aside(copied, target)
    with ExitStack() as on_failure:
        if is_new:
            on_failure.callback(files.remove, aside)
        history.become(staged)
        on_failure.pop_all()
    return replace(
        adopted, notes=[*adopted.notes, *notes, f"the old database is kept as {aside.name}"]
    )


def _set_aside(copied: Path, target: Path) -> tuple[Path, bool]:
    """Gives the copy a name that is free. Where an interrupted run made the same copy already, that
    one stays.
    """
    checksum, number = files.sha256_of(copied), 1
    while True:
        aside = target.with_name(
            f"{target.stem}.before-hardwon{'' if number == 1 else f'-{number}'}.db"
        )
        if (
            aside.is_file()
            and aside.stat().st_size == copied.stat().st_size
            and files.sha256_of(aside) == checksum
        ):
            return aside, False
        with suppress(FileExistsError):
            files.publish(copied, aside)
            return aside, True
        number += 1


def _with_knowledge(knowledge: Path, memory: Memory) -> list[str]:
    """A knowledge base that cannot be read must not keep anybody from the memory: it stays where it
    is.
    """
    if not files.exists(knowledge):
        return []
    try:
        adopted = adopt_knowledge_base(knowledge, memory)
    except HardwonError as error:
        return [f"{knowledge.name} was not adopted and was left as it is: {error}"]
    return [f"{knowledge.name} was adopted"] if adopted.added else adopted.notes


def _begin_with(knowledge: Path, target: Path, clock: Clock | None) -> FixAdoption | None:
    """There is no database, only a knowledge base: the memory begins with that."""
    staged = _staged(target)
    with closing(Memory(staged, clock=clock)) as memory:
        notes = _with_knowledge(knowledge, memory)
        found = memory.stats().adopted
    if found:
        legacy.refuse_unfinished(staged)
        files.sync(staged)
        try:
            files.publish(staged, target)
        except FileExistsError:
            return None  # somebody opened the memory without us
    return FixAdoption(0, 0, 0, notes=notes)
