"""Older fix histories into a memory: their database, row by row, and the knowledge base beside it.

An adoption is one transaction. Ids are derived from what is adopted and whose it is, so that the
same history adds nothing the second time, wherever its file lies. A row that cannot become a fix is
rejected with the reason; none is passed over.

What has no field of its own, and what had to be changed to fit one, is kept in the fix's `other`:

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
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from itertools import accumulate, chain, count
from pathlib import Path
from typing import Any, Final

from pydantic_core import PydanticCustomError

from hardwon import limits
from hardwon.errors import HardwonError, InvalidInputError, PlaceError, on_failure
from hardwon.fixes import legacy
from hardwon.fixes.legacy import ClaimedDatabase, LegacyDatabase, LegacyRow
from hardwon.fixes.tables import NEWER_NAME
from hardwon.learn.support import FIX_HISTORY
from hardwon.learn.tallies import RECORDED_SIGNATURE, fix_history_signature
from hardwon.memory import Clock, Memory
from hardwon.memory.results import Adoption, Remark, one_line
from hardwon.outside import files
from hardwon.outside.files import lock_file
from hardwon.outside.locations import check_path
from hardwon.records.fields import (
    check_json,
    check_that,
    derived_id,
    from_us,
    parse_time,
    read_json,
)
from hardwon.records.kinds import Adopted, AnyRecord, Fix, Issue, Metadata, Moment, Source
from hardwon.store.sqlite.presence import refuse_foreign_log
from hardwon.store.types import Progress
from hardwon.trust.redact import without_secrets

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

_ANALYSES: Final = (NEWER_NAME, "claude_analysis")  # in this order: the newer name first
_COLUMNS: Final = frozenset(
    """id timestamp model_name issue_type issue_signature description fixer_type claude_analysis ai_analysis fix_commands
    fix_success verification_success execution_time_seconds system_info notes""".split()
)
# without what a record's project, labels and the like may add to its size
_BYTES_MAX: Final = limits.RECORD_BYTES_MAX - 64 * limits.KIB
_FLAGS: Final = {"1": True, "true": True, "1.0": True, "0": False, "false": False, "0.0": False}

_BREAKS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


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
    with legacy.opened(source) as history:
        return _adopt(history, memory, author, dry_run, progress)


def _adopt(
    history: LegacyDatabase,
    memory: Memory,
    author: str,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Adoption:
    reading = HistoryReader(history, Source(type="agent_execution", author=author), progress)
    # read twice, rather than kept meanwhile: there may be any number of them
    aggregates = [record.id for record in reading.aggregates()]
    here = sum(memory.get(record_id) is not None for record_id in aggregates)
    records: Iterator[AnyRecord] = chain(reading.fixes(), reading.aggregates())
    loaded = memory.care.take_in(records, dry_run, author, at_once=True)
    new = sum(dry_run or memory.get(record_id) is not None for record_id in aggregates) - here
    return Adoption(
        "fix-history",
        read=reading.read,
        added=max(0, loaded.added - new),
        # What is kept under the id of a row is that row, though another machine may have read its
        # local time differently.
        present=loaded.present + len(loaded.conflicting) - here,
        rejected=reading.rejected,
        mended=reading.mended,
        notes=[
            *reading.notes(),
            *[
                f"{name}: {rows} rows kept as they are" + ("" if new else ", as before")
                for name, rows in reading.kept.items()
            ],
        ],
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
    knowledge, written_us = files.read_object(
        source, limits.KNOWLEDGE_BASE_BYTES_MAX, "a knowledge base"
    )
    try:
        _check_knowledge(knowledge)
        if not any(knowledge[name] for name in knowledge.keys() - {"version", "last_updated"}):
            nothing = [f"{source.name} holds nothing yet"]
            return Adoption("knowledge-base", 1, 0, notes=nothing, dry_run=dry_run)
        whose = Source(type="agent_execution", author=author)
        record = added_up({"knowledge_base": knowledge}, whose, from_us(written_us))
    except InvalidInputError as error:
        raise InvalidInputError(error.problems, source.name) from None
    loaded = memory.care.take_in([record], dry_run, author, progress, at_once=True)
    return Adoption(
        "knowledge-base",
        read=1,
        added=loaded.added,
        present=loaded.present + len(loaded.conflicting),
        dry_run=dry_run,
        forgotten=loaded.forgotten,
    )


def check_memory(memory: object) -> None:
    check_that(isinstance(memory, Memory), "memory", memory, "a Memory, as Memory(path) opens it")


# --- the knowledge base ---


def _check_knowledge(knowledge: dict[str, Any]) -> None:
    for name, kinds, allowed in _SHAPE:
        if not isinstance(knowledge.get(name), kinds) and name in knowledge:
            raise InvalidInputError.one(name, knowledge[name], allowed)
        for key, items in (knowledge.get(name, {}) if allowed == _OF_LISTS else {}).items():
            if not isinstance(items, list):
                raise InvalidInputError.one(f"{name}.{key}", items, "a list")
    _check_values(knowledge, "")
    size = len(json.dumps(knowledge, ensure_ascii=False).encode())
    if size > _BYTES_MAX:
        largest = max(knowledge, key=lambda name: len(json.dumps(knowledge[name])))
        allowed = f"at most {limits.RECORD_BYTES_MAX} bytes; most of it is {largest!r}: shorten that in a copy and adopt it"
        raise InvalidInputError.one(largest, f"{size} bytes", allowed)
    _check_value(knowledge, "file")


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


def adopt_in_place(folder: str | Path, *, clock: Clock | None = None) -> AdoptedInPlace | None:
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
    # Looked at without a lock: nearly always there is nothing to do. Where a journal lies beside
    # the file somebody was interrupted, and what the file says cannot be believed before it is
    # played back; or it was we, after all was done.
    is_there = files.exists(target)
    if is_there and not target.is_file():
        raise PlaceError(f"{target} is not a file: choose another place for the memory")
    left = (legacy.companions(target)[0], _staged(target), _copied(target))
    is_done = is_there and not any(map(files.exists, left)) and legacy.is_ours(target)
    if is_done or not (is_there or knowledge.is_file()):
        return None
    with lock_file(target):
        _clear_away(target)
        try:
            with files.disk_errors(target):
                refuse_foreign_log(target)
                legacy.remove_empty(target)
                if not files.exists(target):
                    return _begin_with(knowledge, target, clock) if knowledge.is_file() else None
                legacy.play_back(target)
                if legacy.is_ours(target):
                    return None
                with legacy.claim(target) as history:
                    return _take_place(history, knowledge, clock)
        finally:
            _clear_away(target)


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


def _take_place(history: ClaimedDatabase, knowledge: Path, clock: Clock | None) -> AdoptedInPlace:
    target = history.path
    staged, copied = _staged(target), _copied(target)
    with closing(Memory(staged, clock=clock)) as memory:
        if history.has_column(NEWER_NAME):
            memory.fixes.history.add_newer_name()
        adopted = _adopt(history, memory, FIX_HISTORY)
        notes = _with_knowledge(knowledge, memory)
    legacy.refuse_unfinished(staged)
    history.copy_to(copied)
    aside, is_new = _set_aside(copied, target)
    with on_failure(lambda: files.remove(aside) if is_new else None):
        history.become(staged)
    kept = f"the old database is kept as {aside.name}"
    notes = [*adopted.notes, kept, *notes]
    return AdoptedInPlace(**{**vars(adopted), "notes": notes, "kept_as": aside.name})


def _set_aside(copied: Path, target: Path) -> tuple[Path, bool]:
    """Gives the copy a name that is free. Where an interrupted run made the same copy already, that
    one stays.
    """
    checksum = files.sha256_of(copied)
    for number in count(1):
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
    raise AssertionError  # for type checkers: there is always one more number


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


def _begin_with(knowledge: Path, target: Path, clock: Clock | None) -> AdoptedInPlace | None:
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
    return AdoptedInPlace("fix-history", 0, 0, notes=notes)


# --- a row becomes a fix ---


class HistoryReader:
    """One pass over a history."""

    def __init__(self, history: LegacyDatabase, source: Source, progress: Progress | None) -> None:
        self._history, self._source, self._progress = history, source, progress
        self._last_at = from_us(max(0, history.written_us))
        self._total = history.count()
        check_that(
            self._total <= limits.FIX_HISTORY_ROWS_MAX,
            "rows",
            self._total,
            f"at most {limits.FIX_HISTORY_ROWS_MAX}: adopt it in parts",
        )
        self._same: Counter[bytes] = Counter()
        self._same_id: object = None
        self._local = 0
        self._cut: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()
        self.kept: Counter[str] = Counter()
        self.read = 0
        self.rejected: list[Remark] = []
        self.mended: list[Remark] = []

    def fixes(self) -> Iterator[Fix]:
        for row in self._history.rows():
            self.read += 1
            if fix := self._fix_of(row):
                yield fix
            if self._progress and (self.read % 500 == 0 or self.read >= self._total):
                self._progress(self.read, self._total)

    def _fix_of(self, row: LegacyRow) -> Fix | None:
        """The fix, as large as a record may be, or None where the row had to be rejected."""
        if row.too_large:
            self._tell(
                self.rejected, row, f"{row.too_large} bytes: more than a row of a fix history has"
            )
            return None
        record_id = self._id_of(row)
        reason = ""
        for chars in limits.FIX_HISTORY_ROW_CHARS_CUT:
            reader = _RowReader(row, chars, self._last_at)
            try:
                fix = without_secrets(reader.fix(record_id, self._source))
                if len(fix.to_json_bytes()) <= _BYTES_MAX:
                    break
                reason = f"more than {limits.RECORD_BYTES_MAX} bytes"
            except InvalidInputError as error:
                reason = str(error)
        else:
            self._tell(self.rejected, row, one_line(reason))
            return None
        self._last_at = fix.metadata.context.timestamp
        self._local += reader.is_local
        if reader.mended:
            self._tell(self.mended, row, "; ".join(reader.mended))
        return fix

    def _tell(self, list_: list[Remark], row: LegacyRow, what: str) -> None:
        """Of very many rows that are alike, the last are only numbered: the list stays small."""
        long = len(list_) >= limits.REPORTED_MAX
        list_.append(Remark(one_line(f"row {row.get('id')}"), "as others above" if long else what))

    def _id_of(self, row: LegacyRow) -> str:
        """Rows that say the same under the same id, in a table without a key, are told apart by
        their number.
        """
        values: dict[str, Any] = {
            name: _tagged(value)
            for name, value in row.items()
            if value is not None and name not in _ANALYSES
        }
        values["analysis"] = sorted(
            {_tagged(row[name]) for name in _ANALYSES if row.get(name) not in (None, "")}
        )
        content = json.dumps(values, sort_keys=True)
        if row.get("id") != self._same_id:
            self._same, self._same_id = Counter(), row.get("id")
        digest = sha256(content.encode()).digest()
        self._same[digest] += 1
        return derived_id(FIX_HISTORY, "row", self._source.author, content, str(self._same[digest]))

    def notes(self) -> Iterator[str]:
        if self._local:
            zone = datetime.now().astimezone().tzname()
            yield f"{self._local} times without a zone were taken as local time of this machine ({zone})"
        yield from (
            f"{table}: the texts of {number} rows were cut"
            for table, number in self._cut.items()
            if number
        )
        yield from (
            f"{table}: {number} rows were too large and were left out"
            for table, number in self._left_out.items()
        )
        if others := self._history.other_tables():
            yield f"tables that are no part of a fix history were left out: {', '.join(others)}"

    def aggregates(self) -> Iterator[Adopted]:
        """What the history had added up, in as few records as hold it."""
        part: dict[str, list[Any]] = {}
        size, at = 0, from_us(max(0, self._history.written_us))
        for counted in (self._cut, self._left_out, self.kept):
            counted.clear()
        for name, row in self._history.aggregates():
            if row.too_large:
                self._left_out[name] += 1
                continue
            chars = min(
                limits.FIX_HISTORY_AGGREGATE_TEXT_CHARS,
                limits.FIX_HISTORY_AGGREGATES_CHARS // len(row),
            )
            self._cut[name] += any(
                isinstance(value, str | bytes) and len(value) > chars for value in row.values()
            )
            plain = {_without_nul(column): _plain(value, chars) for column, value in row.items()}
            length = len(json.dumps(plain))
            if part and size + length > limits.FIX_HISTORY_AGGREGATES_CHARS:
                yield added_up(part, self._source, at)
                part, size = {}, 0
            part.setdefault(name, []).append(plain)
            self.kept[name] += 1
            size += length
        if part:
            yield added_up(part, self._source, at)


def added_up(data: dict[str, Any], source: Source, at: datetime) -> Adopted:
    return Adopted(
        id=derived_id(FIX_HISTORY, "added up", source.author, json.dumps(data, sort_keys=True)),
        origin=FIX_HISTORY,
        data=data,
        metadata=Metadata(source=source, context=Moment(timestamp=at)),
    )


class _RowReader:
    """One row, read as a fix. `mended` is what did not fit."""

    def __init__(self, row: LegacyRow, chars_max: int, last_at: datetime) -> None:
        self._row, self._chars_max, self._last_at = row, chars_max, last_at
        self._as_it_was: dict[str, Any] = {}
        self.is_local = False
        self.mended = [
            f"{column}: some characters could not be decoded" for column in row.undecoded
        ]

    def fix(self, record_id: str, source: Source) -> Fix:
        issue = Issue(
            model=self._name("model_name", ""),
            issue_type=self._name("issue_type", "CUSTOM"),
            description=self._text("description"),
        )
        analyses = {name: self._text(name) for name in _ANALYSES}
        texts = [text for text in analyses.values() if text.strip()]
        return Fix(
            id=record_id,
            issue=issue,
            analysis=texts[0] if texts else "",
            fix_commands=self._commands(),
            fix_success=self._flag("fix_success"),
            verification_success=self._flag("verification_success"),
            execution_time_seconds=self._seconds(),
            system_info=self._system_info(),
            notes=self._text("notes") or None,
            fixer_type=self._name("fixer_type", "custom"),
            metadata=Metadata(source=source, context=Moment(timestamp=self._time())),
            # last of all, because it tells what the others had to change
            other=self._other(issue, analyses if len(set(texts)) > 1 else {}),
        )

    def _other(self, issue: Issue, analyses: Mapping[str, str]) -> dict[str, Any]:
        signature = self._text("issue_signature")
        columns = {
            name: value
            for name, value in self._row.items()
            if name not in _COLUMNS and value is not None
        }
        self.mended += [
            f"{name}: cut to {self._chars_max} characters"
            for name, value in columns.items()
            if isinstance(value, str | bytes) and len(value) > self._chars_max
        ]
        found = {
            RECORDED_SIGNATURE: "" if signature == fix_history_signature(issue) else signature,
            "columns": {name: _plain(value, self._chars_max) for name, value in columns.items()},
            "as_it_was": self._as_it_was,
        }
        return {
            "row_id": _plain(self._row.get("id"), self._chars_max),
            **analyses,
            **{name: value for name, value in found.items() if value},
        }

    def _mend(self, column: str, what: str) -> None:
        """Says what was changed, and keeps what was there."""
        self.mended.append(f"{column}: {what}")
        value = self._row.get(column)
        if value is not None:
            self._as_it_was[column] = _plain(value, self._chars_max)

    def _text_in(self, column: str) -> str:
        """A value as text, whatever its type."""
        value = "" if self._row.get(column) is None else self._row[column]
        text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
        if isinstance(value, bytes) and text.encode() != value:
            self._mend(column, "was bytes that are no text")
        if "\0" in text:
            self.mended.append(f"{column}: NUL characters were replaced")
        return _without_nul(text)

    def _text(self, column: str) -> str:
        return self._cut(column, self._text_in(column))

    def _cut(self, column: str, text: str) -> str:
        if len(text) > self._chars_max:
            self.mended.append(f"{column}: cut from {len(text)} to {self._chars_max} characters")
        return text[: self._chars_max]

    def _name(self, column: str, default: str) -> str:
        text = self._text_in(column)
        name = " ".join(_BREAKS.sub(" ", text).split()) if _BREAKS.search(text) else text
        if not name.strip():
            if text or (default and self._row.get(column) is None and column in self._row):
                self._mend(column, "was blank")
            return default
        # Its secrets, if any, become placeholders that may be longer than they were.
        most = (
            limits.NAME_CHARS_MAX
            if self._chars_max == limits.TEXT_CHARS_MAX
            else limits.NAME_CHARS_MAX // 4
        )
        if name[:most] != text:
            self._mend(column, f"made one line of at most {most} characters")
        return name[:most]

    def _commands(self) -> list[str]:
        text = self._text_in("fix_commands")
        parsed = read_json(text) if text.strip() else []
        if isinstance(parsed, str):
            parsed = [parsed]
        if not isinstance(parsed, list):
            self.mended.append("fix_commands: no JSON list; kept as one command")
            return [self._cut("fix_commands", text)]
        if not all(isinstance(command, str) for command in parsed):
            self._mend("fix_commands", "had values that are no text; kept as their JSON")
        texts = (each if isinstance(each, str) else json.dumps(each) for each in parsed)
        commands = [self._cut("fix_commands", _without_nul(text)) for text in texts]
        kept = sum(
            length <= 2 * self._chars_max
            for length in accumulate(map(len, commands[: limits.ITEMS_MAX]))
        )
        if kept < len(commands):
            self.mended.append(f"fix_commands: the first {kept} of {len(commands)} were kept")
        return commands[:kept]

    def _flag(self, column: str) -> bool:
        given = value = self._row.get(column)
        # numbers of other libraries are kept as their bytes
        if isinstance(value, bytes) and 0 < len(value) <= 8:
            number = int.from_bytes(value, "little")
            value = number if number < 2 else value.decode(errors="replace")
        flag = _FLAGS.get(str(value).strip().lower())
        if flag is None:
            self._mend(
                column,
                f"{'absent' if given is None else 'neither true nor false'}, taken as not "
                f"successful",
            )
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
        text = self._text_in("system_info")
        if not text.strip():
            return {}
        parsed = read_json(text)
        if isinstance(parsed, dict) and len(text) <= 2 * self._chars_max:
            with suppress(PydanticCustomError):
                check_json(parsed)
                return parsed
        self.mended.append(
            "system_info: no JSON object that can be kept as it is; its text is under raw"
        )
        return {"raw": self._cut("system_info", text)}

    def _time(self) -> datetime:
        number = _number_since_1970(self._row.get("timestamp"))
        if number is not None:
            self._mend("timestamp", "was a number, taken as time since 1970")
            return number
        text = self._text_in("timestamp").strip()
        try:
            at = datetime.fromisoformat(text)
            if at.tzinfo is None and re.fullmatch(
                r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d(\.\d{1,3})?)?", text
            ):
                at = at.replace(tzinfo=UTC)
            elif at.tzinfo is None:
                at = at.astimezone()
                self._as_it_was["timestamp"] = text  # whose local time it was is a guess
                self.is_local = True
            return parse_time(at)
        except (ValueError, OverflowError, OSError, PydanticCustomError):
            self.is_local = False
            self._mend(
                "timestamp",
                f"not readable, taken as {self._last_at.isoformat()} from what was written before",
            )
            return self._last_at


def _number_since_1970(value: Any) -> datetime | None:
    if isinstance(value, str):
        value = float(value) if re.fullmatch(r"\d{9,13}(\.\d+)?", value.strip()) else None
    # from 1973 on; what is more than 1e11 is no second but a millisecond
    if not isinstance(value, int | float) or not 1e8 <= value < 1e14:
        return None
    return from_us(int(value * (1_000_000 if value < 1e11 else 1_000)))


def _without_nul(text: str) -> str:
    """Also without lone surrogates, which escapes in JSON may have made."""
    return text.replace("\0", "\ufffd").encode(errors="replace").decode()


def _tagged(value: Any) -> str:
    return f"{type(value).__name__}:{value.hex() if isinstance(value, bytes) else value}"


def _plain(value: Any, chars_max: int) -> Any:
    """As JSON can hold it: bytes as hexadecimal digits, what no number can say as text."""
    if isinstance(value, bytes):
        return {"hex": value[: chars_max // 2].hex()}
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return _without_nul(value)[:chars_max] if isinstance(value, str) else value
