"""Older fix histories into a memory: their database, row by row, and the knowledge base beside it.

An adoption is one transaction; where a memory takes the place of the older database, it is made in
parts beside it, and whoever interrupts that goes on from there. Ids are derived from what is adopted
and whose it is, so that the same history adds nothing the second time, wherever its file lies. A row
that cannot become a fix is rejected with the reason; none is passed over. What the older history had
added up of its own, patterns and notes on models, is kept as a knowledge base.

A row is read as `attempts` reads what a fixer hands in. What has no field of its own, and what had
to be changed to fit one, is kept in the fix's `other`:

row_id           the row's id
issue_signature  the row's signature, where it is not the one that the fix has now (it was made with a prompt and a response,
                 which the row does not have)
claude_analysis, ai_analysis   both, where the row had two that differ
columns          columns that the documents do not know
as_it_was        values that could not be read as what their column is for

Times without a zone are local time of this machine, as `datetime.now().isoformat()` wrote them, but for those that SQLite's own
`datetime()` wrote (a blank between day and time, no microseconds): they are UTC.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, Final, Literal

from pydantic_core import PydanticCustomError

from hardwon import limits
from hardwon.errors import InvalidInputError, PlaceError, StorageError, on_failure
from hardwon.fixes import legacy
from hardwon.fixes.attempts import FIX_OTHER_CHARS_MAX, AttemptInput, as_name, as_text, fix_from
from hardwon.fixes.knowledge_base import KNOWLEDGE_BASE_NAME as KNOWLEDGE_BASE_NAME
from hardwon.fixes.knowledge_base import check, knowledge_record, shape_knowledge
from hardwon.fixes.legacy import FIX_HISTORY_ROW_BYTES_MAX, LegacyDatabase, LegacyRow
from hardwon.fixes.rows import FixRow
from hardwon.fixes.tables import NEWER_NAME
from hardwon.lessons.adopted import FIX_HISTORY
from hardwon.lessons.issues import RECORDED_SIGNATURE, fix_history_signature
from hardwon.memory import Clock, Memory
from hardwon.memory.project import batches
from hardwon.memory.results import Adoption, Remark, one_line
from hardwon.outside import files
from hardwon.outside.files import lock_file
from hardwon.outside.locations import check_path
from hardwon.records.fields import check_that, derived_id, from_us, parse_time, read_json
from hardwon.records.kinds import AnyRecord, Fix, Metadata, Moment, Source
from hardwon.store.sqlite.presence import refuse_foreign_log
from hardwon.store.types import Progress

# Rows of an older fix history, which are adopted in one transaction: one a minute for two years.
FIX_HISTORY_ROWS_MAX: Final = 1_000_000

# A knowledge base's file. It becomes one record; indentation makes half of the file at most.
KNOWLEDGE_BASE_BYTES_MAX: Final = 2 * limits.RECORD_BYTES_MAX

FILE_NAME: Final = "ai_memory.db"
_ANALYSES: Final = (NEWER_NAME, "claude_analysis")  # in this order: the newer name first
_COLUMNS: Final = frozenset((*FixRow._fields, NEWER_NAME))
_FLAGS: Final = {"1": True, "true": True, "1.0": True, "0": False, "false": False, "0.0": False}

# what SQLite's own `datetime()` writes
_SQLITE_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d(\.\d{1,3})?)?")


# In the state of a memory that is to take an older one's place: which database it was begun for, and
# how many of its rows were looked at.
_BEGUN: Final = "adoption begun"
_ROWS_TAKEN: Final = "rows taken"

# --- the report ---


@dataclass(frozen=True)
class AdoptedInPlace(Adoption):
    """`kept_as`: where the old database is, if a memory took its place."""

    kept_as: str = ""


# --- adopting into a memory ---


def adopt_fix_history(
    path: str | Path,
    memory: Memory,
    *,
    author: str = FIX_HISTORY,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Adoption:
    """Brings an older database into a memory, all of it or, when something goes wrong, nothing.
    `author` is the source that it counts as. The file is only read. Other writers of the memory
    wait meanwhile.
    """
    source = check_path("path", path)
    check_memory(memory)
    with legacy.open_database(source) as history:
        reader = HistoryReader(history, author, progress)
        adoption = _take_in("fix-history", reader.fixes(), memory, author, dry_run)
        return _report(reader, memory, adoption)


def _adopt_in_parts(reader: HistoryReader, memory: Memory) -> Adoption:
    """Into a memory of its own, which has so much of it when this is interrupted."""
    adoption = Adoption("fix-history", 0, memory.fixes.totals().attempts)
    for part in batches(reader.fixes(), limits.BATCH_ROWS):
        taken = _take_in("fix-history", part, memory, FIX_HISTORY, False)
        adoption = replace(taken, added=adoption.added + taken.added)
        with memory._project.store.write("") as writer:
            writer.set_state("", _ROWS_TAKEN, reader.read)
    return _report(reader, memory, adoption)


def _report(reader: HistoryReader, memory: Memory, adoption: Adoption) -> Adoption:
    """The same with what the reader has to say; also takes in what the history had added up."""
    notes = [*reader.notes()]
    if knowledge := reader.knowledge:
        record = knowledge_record(knowledge, reader.source, reader.last_at)
        _take_in("knowledge-base", [record], memory, reader.source.author, adoption.dry_run)
        listed = ", ".join(f"{len(value)} of {name}" for name, value in knowledge.items())
        notes.append(f"kept in the knowledge base: {listed}")
    rejected, mended = reader.rejected, reader.mended
    return replace(adoption, read=reader.read, rejected=rejected, mended=mended, notes=notes)


def _take_in(
    what: Literal["fix-history", "knowledge-base"],
    records: Iterable[AnyRecord],
    memory: Memory,
    author: str,
    dry_run: bool,
    progress: Progress | None = None,
) -> Adoption:
    own = author == FIX_HISTORY
    loaded = memory.care.take_in(records, dry_run, author, progress, at_once=True, own=own)
    return Adoption(
        what,
        read=1,
        added=loaded.added,
        # What is kept under the id of a row is that row, though another machine may have read its
        # local time differently.
        present=loaded.present + len(loaded.conflicting),
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
) -> Adoption:
    """Brings a knowledge base's file into a memory, as one record that keeps all of it. The file is
    only read. What is wrong with it is named by its place.
    """
    source = check_path("path", path)
    check_memory(memory)
    knowledge, written_us = files.read_object(source, KNOWLEDGE_BASE_BYTES_MAX, "a knowledge base")
    try:
        check(shape_knowledge(knowledge))
    except InvalidInputError as error:
        raise InvalidInputError(error.problems, source.name) from None
    if not any(knowledge[name] for name in knowledge.keys() - {"version", "last_updated"}):
        nothing = [f"{source.name} holds nothing yet"]
        return Adoption("knowledge-base", 1, 0, notes=nothing, dry_run=dry_run)
    said_by = Source(type="agent_execution", author=author)
    record = knowledge_record(knowledge, said_by, from_us(written_us))
    return _take_in("knowledge-base", [record], memory, author, dry_run, progress)


def check_memory(memory: object) -> None:
    check_that(isinstance(memory, Memory), "memory", memory, "a Memory, as Memory(path) opens it")


# --- taking the place of an older database ---


def adopt_in_place(
    folder: str | Path, *, clock: Clock | None = None, progress: Progress | None = None
) -> AdoptedInPlace | None:
    """Before a folder's memory is opened: where its file is an older database, a memory that has
    adopted all of it takes its place. The old database is kept aside as `….before-hardwon.db`. None
    where there is nothing to adopt; a file of 0 bytes, which SQLite makes of a name that it only
    opens, is nothing, and goes.

    Whatever happens meanwhile, the file is the old database or the finished memory; whoever was
    killed or interrupted goes on where he was. Other programs cannot write to it in between; those
    that have it open see what it became. Of several processes that come at once, one does it.
    """
    target = (check_path("folder", folder) / FILE_NAME).resolve()
    if not files.exists(target):
        return None
    if not target.is_file():
        raise PlaceError(f"{target} is not a file: choose another place for the memory")
    # Looked at without a lock: nearly always there is nothing to do. Where a journal lies beside
    # the file somebody was interrupted, and what the file says cannot be believed before it is
    # played back; or it was we, after all was done.
    left = (legacy.companions(target)[0], _place_staging(target), _place_copy(target))
    if not any(map(files.exists, left)) and legacy.is_ours(target):
        return None
    with lock_file(target):
        try:
            adopted = _adopt_alone(target, clock, progress or _show_progress)
        except Exception:  # who was interrupted goes on with what is there
            _clear_away(target)
            raise
        _clear_away(target)
        return adopted


def _adopt_alone(target: Path, clock: Clock | None, progress: Progress) -> AdoptedInPlace | None:
    _clear_away(target, but_for=_place_staging(target))
    with files.disk_errors(target):
        refuse_foreign_log(target)
        legacy.remove_empty(target)
        if not files.exists(target):
            return None
        legacy.play_back(target)
        if legacy.is_ours(target):
            return None
        with legacy.claim(target) as history:
            return _take_place(history, clock, progress)


def _show_progress(done: int, total: int) -> None:
    """On a terminal, a line that says how far it is."""
    if sys.stderr.isatty():
        end = "\n" if done >= total else ""
        text = f"\radopting an older fix history: {done:,} of {total:,}{end}"
        print(text, end="", file=sys.stderr, flush=True)


def _place_staging(target: Path) -> Path:
    return target.with_name(f".{target.stem}.adopting.db")


def _place_copy(target: Path) -> Path:
    return target.with_name(f".{target.stem}.before-hardwon.part")


def _clear_away(target: Path, but_for: Path | None = None) -> None:
    """What an interrupted run left. Only whoever holds the lock may."""
    for left in (_place_staging(target), _place_copy(target)):
        if left != but_for:
            files.remove(left, *legacy.companions(left))
    # the beginnings of a memory that was to be staged
    files.remove(*target.parent.glob(f".{_place_staging(target).name}.*.part*"))


def _take_place(
    history: legacy.ClaimedDatabase, clock: Clock | None, progress: Progress
) -> AdoptedInPlace:
    target = history.path
    staged, copied = _place_staging(target), _place_copy(target)
    memory, rows_taken = _open_staging(staged, history.identity, clock)
    with closing(memory):
        if history.has_column(NEWER_NAME) and not rows_taken:
            memory.fixes.history.add_newer_name()
        reader = HistoryReader(history, FIX_HISTORY, progress, rows_taken)
        adopted = _adopt_in_parts(reader, memory)
    legacy.refuse_open_log(staged)
    history.copy_to(copied)
    aside, is_new = _set_aside(copied, target)
    with on_failure(lambda: files.remove(aside) if is_new else None):
        history.become(staged)
    notes = [*adopted.notes, f"the old database is kept as {aside.name}"]
    return AdoptedInPlace(**{**vars(adopted), "notes": notes, "kept_as": aside.name})


def _open_staging(staged: Path, identity: int, clock: Clock | None) -> tuple[Memory, int]:
    """The memory that is to take the place of this database, and how many of its rows an interrupted
    run has looked at. What was begun for another one, or cannot be opened, is begun anew.
    """
    for _ in range(2):
        with suppress(StorageError):
            memory = Memory(staged, clock=clock)
            with on_failure(memory.close), memory._project.store.write("") as writer:
                begun_for, rows_taken = (writer.state("", name) for name in (_BEGUN, _ROWS_TAKEN))
                if begun_for in (0, identity):
                    writer.set_state("", _BEGUN, identity)
                    return memory, rows_taken
            memory.close()
        files.remove(staged, *legacy.companions(staged))
    return Memory(staged, clock=clock), 0


def _set_aside(copied: Path, target: Path) -> tuple[Path, bool]:
    """Gives the copy a name that is free. Where an interrupted run made the same copy already, that
    one stays.
    """
    checksum = files.compute_sha256(copied)
    for number in count(1):
        suffix = "" if number == 1 else f"-{number}"
        aside = target.with_name(f"{target.stem}.before-hardwon{suffix}.db")
        if aside.is_file() and files.compute_sha256(aside) == checksum:
            return aside, False
        with suppress(FileExistsError):
            files.publish(copied, aside)
            return aside, True
    raise AssertionError  # for type checkers: there is always one more number


# --- a row becomes a fix ---


class HistoryReader:
    """One pass over a history. `rejected` are rows that cannot become a fix, `mended` what had to be
    changed in others.
    """

    def __init__(
        self,
        history: LegacyDatabase,
        author: str,
        progress: Progress | None = None,
        rows_taken: int = 0,
    ) -> None:
        self.source = Source(type="agent_execution", author=author)
        self._history, self._progress = history, progress
        self.last_at = from_us(max(0, history.written_us))
        self._total = history.count()
        allowed = f"at most {FIX_HISTORY_ROWS_MAX}: adopt it in parts"
        check_that(self._total <= FIX_HISTORY_ROWS_MAX, "rows", self._total, allowed)
        self._same: Counter[bytes] = Counter()
        self._same_id: object = None
        self._local = 0
        self.read = self._rows_taken = rows_taken
        self.rejected: list[Remark] = []
        self.mended: list[Remark] = []

    def fixes(self) -> Iterator[Fix]:
        """Every row that can become a fix, by id, after those that were taken before."""
        for row in self._history.rows(self._rows_taken):
            self.read += 1
            try:
                yield self._read_row(row)
            except InvalidInputError as error:
                self._tell(self.rejected, row, one_line(str(error)))
            if self._progress and (self.read % 500 == 0 or self.read >= self._total):
                self._progress(self.read, self._total)

    def _read_row(self, row: LegacyRow) -> Fix:
        most = FIX_HISTORY_ROW_BYTES_MAX
        check_that(not row.too_large, "row", f"{row.too_large} bytes", f"at most {most} bytes")
        reader = _RowReader(row, self.last_at)
        fix = reader.fix(self._make_id(row), self.source)
        self.last_at = fix.metadata.context.timestamp
        self._local += reader.is_local
        if reader.mended:
            self._tell(self.mended, row, "; ".join(reader.mended))
        return fix

    def _tell(self, list_: list[Remark], row: LegacyRow, what: str) -> None:
        """Of very many rows that are alike, the last are only numbered: the list stays small."""
        long = len(list_) >= limits.REPORTED_MAX
        list_.append(Remark(one_line(f"row {row.get('id')}"), "as others above" if long else what))

    def _make_id(self, row: LegacyRow) -> str:
        """Rows that say the same under the same id, in a table without a key, are told apart by
        their number.
        """
        tagged = {name: _tag_value(value) for name, value in row.items() if value is not None}
        analyses = {tagged.pop(name, "") for name in _ANALYSES} - {"", _tag_value("")}
        content = json.dumps({**tagged, "analysis": sorted(analyses)}, sort_keys=True)
        if row.get("id") != self._same_id:
            self._same, self._same_id = Counter(), row.get("id")
        digest = sha256(content.encode()).digest()
        self._same[digest] += 1
        return derived_id(FIX_HISTORY, "row", self.source.author, content, str(self._same[digest]))

    @property
    def knowledge(self) -> dict[str, Any]:
        """What the history had added up of its own, as a knowledge base; empty where it had
        nothing, or too much to keep.
        """
        knowledge = self._history.read_knowledge()
        with suppress(InvalidInputError):
            check(knowledge)
            return knowledge
        return {}

    def notes(self) -> Iterator[str]:
        """What is to be told of the whole."""
        if self._rows_taken:
            yield f"{self._rows_taken} rows were looked at before it was interrupted"
        if self._local:
            zone = datetime.now().astimezone().tzname()
            yield f"{self._local} times without a zone were taken as local time of this machine ({zone})"
        if others := self._history.other_tables():
            yield f"other tables were left out: {', '.join(others)}"


class _RowReader:
    """One row, read as a fix. `mended` is what did not fit."""

    def __init__(self, row: LegacyRow, last_at: datetime) -> None:
        self._row, self._last_at = row, last_at
        self._as_it_was: dict[str, Any] = {}
        self.is_local = False
        undecoded = "{}: some characters could not be decoded"
        self.mended = list(map(undecoded.format, row.undecoded))

    def fix(self, record_id: str, source: Source) -> Fix:
        """The row as a fix."""
        issue = {
            "model": self._name("model_name"),
            "issue_type": self._name("issue_type"),
            "description": self._text("description"),
            "test_environment": self._system_info(),
        }
        analyses = {name: self._text(name) for name in _ANALYSES}
        texts = [text for text in analyses.values() if text.strip()]
        notes = self._text("notes") or None
        signature = self._text("issue_signature")[: limits.NAME_CHARS_MAX]
        reply = {"analysis": texts[0] if texts else "", "fix_commands": self._commands()}
        fix_success, verified = self._flag("fix_success"), self._flag("verification_success")
        seconds, at = self._seconds(), self._time()
        fixer = self._name("fixer_type")[: limits.NAME_CHARS_MAX].strip() or "custom"
        others = ((name, value) for name, value in self._row.items() if name not in _COLUMNS)
        columns = {name: _plain(value) for name, value in others if value is not None}
        # `as_it_was` last of all, because it tells what the others had to change
        aside = {"columns": columns, "as_it_was": self._as_it_was}
        reply |= analyses if len(set(texts)) > 1 else {}
        reply |= {name: value for name, value in aside.items() if value}
        attempt = AttemptInput(issue, reply, notes)
        if attempt.cut:
            self.mended.append(f"cut: {', '.join(dict.fromkeys(attempt.cut))}")
        kept = {"row_id": _plain(self._row.get("id"))}
        if signature and signature != fix_history_signature(attempt.issue):
            kept[RECORDED_SIGNATURE] = signature
        attempt.fields["other"] = {**(attempt.fields["other"] or {}), **kept}
        metadata = Metadata(source=source, context=Moment(timestamp=at))
        done = (fix_success, verified, seconds, fixer)
        return fix_from(attempt, *done, {}, id=record_id, metadata=metadata)

    def _mend(self, column: str, what: str) -> None:
        """Says what was changed, and keeps what was there."""
        self.mended.append(f"{column}: {what}")
        if (value := self._row.get(column)) is not None:
            self._as_it_was[column] = _plain(value)

    def _text(self, column: str) -> str:
        """A value as text, whatever its type."""
        value = self._row.get(column)
        text = as_text(value)
        if value is not None and text != str(value):
            self._mend(column, "was not all text")
        return text

    def _name(self, column: str) -> str:
        text = self._text(column)
        name = as_name(text)
        if name != text or len(name) > limits.NAME_CHARS_MAX:
            self._mend(column, "was no name on one line")
        return name

    def _commands(self) -> Any:
        text = self._text("fix_commands")
        parsed = read_json(text) if text.strip() else []
        if isinstance(parsed, str | list):
            return parsed
        self.mended.append("fix_commands: no JSON list; kept as one command")
        return text

    def _flag(self, column: str) -> bool:
        value = self._row.get(column)
        # numbers of other libraries are kept as their bytes
        if isinstance(value, bytes) and 0 < len(value) <= 8:
            number = int.from_bytes(value, "little")
            value = number if number < 2 else value.decode(errors="replace")
        flag = _FLAGS.get(str(value).strip().lower())
        if flag is None:
            self._mend(column, "neither true nor false, taken as not successful")
        return bool(flag)

    def _seconds(self) -> float | None:
        value = self._row.get("execution_time_seconds")
        if value is None or value == "":
            return None
        with suppress(ValueError):  # undecodable bytes included
            number = float(value.decode() if isinstance(value, bytes) else value)
            if 0 <= number <= limits.JSON_INT_ABS_MAX:
                return number
        self._mend("execution_time_seconds", "no number of seconds; left out")
        return None

    def _system_info(self) -> dict[str, Any]:
        text = self._text("system_info")
        parsed = read_json(text) if text.strip() else {}
        if isinstance(parsed, dict):
            return parsed
        self.mended.append("system_info: no JSON object; its text is under raw")
        return {"raw": text}

    def _time(self) -> datetime:
        number = _number_since_1970(self._row.get("timestamp"))
        if number is not None:
            self._mend("timestamp", "was a number, taken as time since 1970")
            return number
        text = as_text(self._row.get("timestamp")).strip()
        try:
            at = datetime.fromisoformat(text)
            if at.tzinfo is None and _SQLITE_TIME.fullmatch(text):
                at = at.replace(tzinfo=UTC)
            elif at.tzinfo is None:
                at = at.astimezone()
                self._as_it_was["timestamp"] = text  # whose local time it was is a guess
                self.is_local = True
            return parse_time(at)
        except (ValueError, OverflowError, OSError, PydanticCustomError):
            self.is_local = False
            taken = f"taken as {self._last_at.isoformat()} from what was written before"
            self._mend("timestamp", f"not readable, {taken}")
            return self._last_at


def _number_since_1970(value: Any) -> datetime | None:
    if isinstance(value, str):
        value = float(value) if re.fullmatch(r"\d{9,13}(\.\d+)?", value.strip()) else None
    # from 1973 on; what is more than 1e11 is no second but a millisecond
    if not isinstance(value, int | float) or not 1e8 <= value < 1e14:
        return None
    return from_us(int(value * (1_000_000 if value < 1e11 else 1_000)))


def _tag_value(value: Any) -> str:
    return f"{type(value).__name__}:{value.hex() if isinstance(value, bytes) else value}"


def _plain(value: Any) -> Any:
    """As JSON can hold it: bytes as hexadecimal digits, what no number can say as text."""
    if isinstance(value, bytes):
        return {"hex": value[:FIX_OTHER_CHARS_MAX].hex()}
    is_number = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    return value if is_number or value is None else as_text(value)
