"""Older fix histories into a memory: their database, and the knowledge base beside it.

Each row becomes a fix. What has no field of its own, and what had to be changed to fit one, is kept in the fix's `other`:

row_id           the row's id
issue_signature  the row's signature, where it is not the one that the fix has now (it was made with a prompt and a response,
                 which the row does not have)
claude_analysis, ai_analysis   both, where the row had two that differ
columns          columns that the documents do not know
as_it_was        values that could not be read as what their column is for

A row that cannot become a fix is rejected with the reason; none is passed over. Ids are derived from what a row says and whose
it is, so that the same history adds nothing the second time, wherever its file lies. An adoption is one transaction.

Times without a zone are local time of this machine, as `datetime.now().isoformat()` wrote them, but for those that SQLite's own
`datetime()` wrote (a blank between day and time, no microseconds): they are UTC.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pydantic_core import PydanticCustomError, from_json

from hardwon import limits
from hardwon.errors import HardwonError, InvalidInputError, PlaceError
from hardwon.fixes import legacy as legacy_fixes
from hardwon.fixes.legacy import Claimed, FixHistory, LegacyRow
from hardwon.learn.support import FIX_HISTORY
from hardwon.learn.tallies import RECORDED_SIGNATURE, fix_history_signature
from hardwon.memory import Clock, Memory
from hardwon.memory.intake import path as checked_path
from hardwon.outside import files
from hardwon.outside.locks import lock_file
from hardwon.records.fields import check_json, derived_id, from_us, parse_time
from hardwon.records.kinds import Adopted, AnyRecord, Fix, Issue, Metadata, Moment, Source
from hardwon.store.sqlite.log import refuse_foreign_log
from hardwon.store.types import Progress
from hardwon.trust.redact import without_secrets

FILE_NAME: Final = "ai_memory.db"
KNOWLEDGE_BASE_NAME: Final = "knowledge_base.json"

_ANALYSES: Final = ("ai_analysis", "claude_analysis")  # in this order: the newer name first
_COLUMNS: Final = frozenset(
    """id timestamp model_name issue_type issue_signature description fixer_type claude_analysis ai_analysis fix_commands
    fix_success verification_success execution_time_seconds system_info notes""".split()
)
_ENVELOPE_BYTES: Final = 64 * limits.KIB  # what a record's project, labels and the like may add to its size
_FLAGS: Final = {"1": True, "true": True, "1.0": True, "0": False, "false": False, "0.0": False}
_BY_SQLITE: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d(\.\d{1,3})?)?")
_SINCE_1970: Final = re.compile(r"\d{9,13}(\.\d+)?")
_SECONDS: Final = (1e8, 1e11)  # since 1970: from 1973 on, and what is more is no second but a millisecond
_MILLISECONDS: Final = (1e11, 1e14)
_BREAKS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_ROWS_BETWEEN_PROGRESS: Final = 500

RowId = Any
"""Of a row: a whole number, unless somebody made the table by hand."""


# --- the report -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FixAdoption:
    """What an older fix history brought. Every row that was read was added, or was present already, or forgotten here, or is
    among the rejected, each with its id and the reason. `mended`: rows of which something had to be changed, and what."""

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
        told = f"{self.read} read: {self.added} {would}added, {self.present} present already, {len(self.rejected)} rejected"
        lines = [f"{told}, {len(self.mended)} mended"]
        lines += [f"{self.forgotten} were forgotten here and stay so"] if self.forgotten else []
        lines += [_one_line(note) for note in self.notes[: limits.ADOPTION_SHOWN_MAX]]
        lines += _listed("rejected", self.rejected)
        lines += _listed("mended", self.mended)
        return "\n".join(lines)


def _listed(heading: str, rows: list[tuple[RowId, str]]) -> Iterator[str]:
    if rows:
        yield f"{heading}:"
        yield from (f"  row {_one_line(str(row_id))}: {_one_line(what)}" for row_id, what in rows[: limits.ADOPTION_SHOWN_MAX])
        if len(rows) > limits.ADOPTION_SHOWN_MAX:
            yield f"  and {len(rows) - limits.ADOPTION_SHOWN_MAX} more"


def _one_line(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text[: limits.LESSON_CHARS_MAX])


# --- adopting into a memory -------------------------------------------------------------------------------------


def adopt_fix_history(
    path: str | Path,
    memory: Memory,
    *,
    author: str = FIX_HISTORY,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> FixAdoption:
    """Brings an older database into a memory, all of it or, when something goes wrong, nothing. `author` is the source that it
    counts as. The file is only read. Other writers of the memory wait meanwhile."""
    source = checked_path("path", path)
    _check_memory(memory)
    with legacy_fixes.opened(source) as history:
        return _adopt(history, memory, author, dry_run, progress)


def _adopt(
    history: FixHistory, memory: Memory, author: str, dry_run: bool = False, progress: Progress | None = None
) -> FixAdoption:
    reading = _Reading(history, Source(type="agent_execution", author=author), progress)
    aggregates = list(reading.aggregates())
    here = sum(memory.get(record.id) is not None for record in aggregates)
    records: Iterator[AnyRecord] = (record for part in (reading.fixes(), aggregates) for record in part)
    loaded = memory.take_in(records, dry_run, author, at_once=True)
    new = len(aggregates) if dry_run else sum(memory.get(record.id) is not None for record in aggregates)
    new -= here
    return FixAdoption(
        read=reading.read,
        added=max(0, loaded.added - new),
        # What is kept under the id of a row is that row, though another machine may have read its local time differently.
        present=loaded.present + len(loaded.conflicting) - here,
        rejected=reading.rejected,
        mended=reading.mended,
        notes=[*reading.notes(), *_about_aggregates(aggregates, new)],
        dry_run=dry_run,
        forgotten=loaded.forgotten,
    )


def _about_aggregates(records: list[Adopted], new: int) -> Iterator[str]:
    for name in legacy_fixes.AGGREGATE_TABLES:
        rows = sum(len(record.data.get(name, ())) for record in records)
        if rows:
            yield f"{name}: {rows} rows kept as they are" + ("" if new else ", as before")


def adopt_knowledge_base(
    path: str | Path,
    memory: Memory,
    *,
    author: str = FIX_HISTORY,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> FixAdoption:
    """Brings a knowledge base's file into a memory, as one record that keeps all of it. The file is only read. What is wrong
    with it is named by its place."""
    source = checked_path("path", path)
    _check_memory(memory)
    record = _knowledge_record(source, Source(type="agent_execution", author=author))
    if record is None:
        return FixAdoption(1, 0, 0, notes=[f"{source.name} holds nothing yet"], dry_run=dry_run)
    loaded = memory.take_in([record], dry_run, author, progress, at_once=True)
    present = loaded.present + len(loaded.conflicting)
    return FixAdoption(1, loaded.added, present, dry_run=dry_run, forgotten=loaded.forgotten)


def _check_memory(memory: object) -> None:
    if not isinstance(memory, Memory):
        raise InvalidInputError.one("memory", memory, "a Memory, as Memory(path) opens it")


# --- rows become fixes ------------------------------------------------------------------------------------------


class _Reading:
    """One pass over a history."""

    def __init__(self, history: FixHistory, source: Source, progress: Progress | None) -> None:
        self._history, self._source, self._progress = history, source, progress
        self._last_at = from_us(max(0, history.written_us))
        self._total = history.count()
        self._same: dict[str, int] = {}
        self._same_id: object = None
        self._local = 0
        self._cut: dict[str, int] = {}
        self.read = 0
        self.rejected: list[tuple[RowId, str]] = []
        self.mended: list[tuple[RowId, str]] = []

    def fixes(self) -> Iterator[Fix]:
        for row in self._history.rows():
            self.read += 1
            fix = self._fix_of(row)
            if fix:
                yield fix
            if self._progress and (self.read % _ROWS_BETWEEN_PROGRESS == 0 or self.read >= self._total):
                self._progress(self.read, self._total)

    def _fix_of(self, row: LegacyRow) -> Fix | None:
        """The fix, as large as a record may be, or None where the row had to be rejected."""
        record_id = self._id_of(row)
        reason = ""
        for chars in limits.FIX_HISTORY_ROW_CHARS_CUT:
            reader = _RowReader(row, chars, self._last_at)
            try:
                fix = without_secrets(reader.fix(record_id, self._source))
                if len(fix.to_json_bytes()) <= limits.RECORD_BYTES_MAX - _ENVELOPE_BYTES:
                    break
                reason = f"more than {limits.RECORD_BYTES_MAX} bytes"
            except InvalidInputError as error:
                reason = str(error)
        else:
            self.rejected.append((row.get("id"), _one_line(reason)))
            return None
        self._last_at = fix.metadata.context.timestamp
        self._local += reader.is_local
        if reader.mended:
            self.mended.append((row.get("id"), "; ".join(reader.mended)))
        return fix

    def _id_of(self, row: LegacyRow) -> str:
        """Rows that say the same under the same id, in a table without a key, are told apart by their number."""
        said: dict[str, Any] = {
            name: _tagged(value) for name, value in row.items() if value is not None and name not in _ANALYSES
        }
        said["analysis"] = sorted({_tagged(row[name]) for name in _ANALYSES if row.get(name) not in (None, "")})
        content = json.dumps(said, sort_keys=True)
        if row.get("id") != self._same_id:
            self._same, self._same_id = {}, row.get("id")
        number = self._same[content] = self._same.get(content, 0) + 1
        return derived_id(FIX_HISTORY, "row", self._source.author, content, str(number))

    def notes(self) -> Iterator[str]:
        if self._local:
            zone = datetime.now().astimezone().tzname()
            yield f"{self._local} times without a zone were taken as local time of this machine ({zone})"
        yield from (f"{table}: the texts of {number} rows were cut" for table, number in self._cut.items())
        if others := self._history.other_tables():
            yield f"tables that are no part of a fix history were left out: {', '.join(others)}"

    def aggregates(self) -> Iterator[Adopted]:
        """What the history had added up, in as few records as hold it."""
        part: dict[str, list[Any]] = {}
        size = 0
        for name, rows in self._history.aggregates().items():
            for row in rows:
                plain = self._plain_row(name, row)
                length = len(json.dumps(plain))
                if part and size + length > limits.FIX_HISTORY_AGGREGATES_CHARS:
                    yield self._aggregate(part)
                    part, size = {}, 0
                part.setdefault(name, []).append(plain)
                size += length
        if part:
            yield self._aggregate(part)

    def _plain_row(self, table: str, row: LegacyRow) -> dict[str, Any]:
        chars = min(limits.FIX_HISTORY_AGGREGATE_TEXT_CHARS, limits.FIX_HISTORY_AGGREGATES_CHARS // len(row))
        if any(isinstance(value, str | bytes) and len(value) > chars for value in row.values()):
            self._cut[table] = self._cut.get(table, 0) + 1
        return {_without_nul(column): _plain(value, chars) for column, value in row.items()}

    def _aggregate(self, data: dict[str, Any]) -> Adopted:
        return _adopted(data, self._source, from_us(max(0, self._history.written_us)))


def _adopted(data: dict[str, Any], source: Source, at: datetime) -> Adopted:
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
        self.mended = [f"{column}: some characters could not be decoded" for column in row.undecoded]

    def fix(self, record_id: str, source: Source) -> Fix:
        issue = Issue(
            model=self._name("model_name", ""),
            issue_type=self._name("issue_type", "CUSTOM"),
            description=self._text("description"),
        )
        analyses = {name: self._text(name) for name in _ANALYSES}
        told = [text for text in analyses.values() if text.strip()]
        known = {
            "analysis": told[0] if told else "",
            "fix_commands": self._commands(),
            "fix_success": self._flag("fix_success"),
            "verification_success": self._flag("verification_success"),
            "execution_time_seconds": self._seconds(),
            "system_info": self._system_info(),
            "notes": self._text("notes") or None,
            "fixer_type": self._name("fixer_type", "custom"),
        }
        moment = Moment(timestamp=self._time())
        other = self._other(issue, analyses if len(set(told)) > 1 else {})
        metadata = Metadata(source=source, context=moment)
        return Fix(id=record_id, issue=issue, other=other, metadata=metadata, **known)

    def _other(self, issue: Issue, analyses: Mapping[str, str]) -> dict[str, Any]:
        signature = self._text("issue_signature")
        columns = {
            name: self._plain(name, value) for name, value in self._row.items() if name not in _COLUMNS and value is not None
        }
        found: dict[str, Any] = {"row_id": _plain(self._row.get("id"), self._chars_max), **analyses}
        if signature and signature != fix_history_signature(issue):
            found[RECORDED_SIGNATURE] = signature
        if columns:
            found["columns"] = columns
        if self._as_it_was:
            found["as_it_was"] = self._as_it_was
        return found

    def _mend(self, column: str, what: str) -> None:
        """Says what was changed, and keeps what was there."""
        self.mended.append(f"{column}: {what}")
        value = self._row.get(column)
        if value is not None:
            self._as_it_was[column] = _plain(value, self._chars_max)

    def _plain(self, column: str, value: Any) -> Any:
        plain = _plain(value, self._chars_max)
        if isinstance(value, str | bytes) and len(value) > self._chars_max:
            self.mended.append(f"{column}: cut to {self._chars_max} characters")
        return plain

    def _said(self, column: str) -> str:
        """A value as text, whatever its type."""
        value = self._row.get(column)
        if value is None:
            return ""
        if isinstance(value, bytes):
            try:
                text = value.decode()
            except UnicodeDecodeError:
                text = value.decode(errors="replace")
                self._mend(column, "was bytes that are no text")
        else:
            text = value if isinstance(value, str) else str(value)
        return _without_nul(text)

    def _text(self, column: str) -> str:
        text = self._said(column)
        if "\0" in str(self._row.get(column) or ""):
            self.mended.append(f"{column}: NUL characters were replaced")
        return self._cut(column, text)

    def _cut(self, column: str, text: str) -> str:
        if len(text) > self._chars_max:
            self.mended.append(f"{column}: cut from {len(text)} to {self._chars_max} characters")
        return text[: self._chars_max]

    def _name(self, column: str, default: str) -> str:
        said = self._said(column)
        name = " ".join(_BREAKS.sub(" ", said).split()) if _BREAKS.search(said) else said
        if not name.strip():
            if said or (default and self._row.get(column) is None and column in self._row):
                self._mend(column, "was blank")
            return default
        # Its secrets, if any, become placeholders that may be longer than they were.
        most = limits.NAME_CHARS_MAX if self._chars_max == limits.TEXT_CHARS_MAX else limits.NAME_CHARS_MAX // 4
        if name[:most] != said:
            self._mend(column, f"made one line of at most {most} characters")
        return name[:most]

    def _commands(self) -> list[str]:
        said = self._said("fix_commands")
        if not said.strip():
            return []
        parsed = _json(said)
        if isinstance(parsed, str):
            parsed = [parsed]
        if not isinstance(parsed, list):
            self.mended.append("fix_commands: no JSON list; kept as one command")
            return [self._cut("fix_commands", said)]
        if not all(isinstance(command, str) for command in parsed):
            self._mend("fix_commands", "had values that are no text; kept as their JSON")
        texts = [_without_nul(each if isinstance(each, str) else json.dumps(each)) for each in parsed]
        return self._fitting([self._cut("fix_commands", text) for text in texts])

    def _fitting(self, commands: list[str]) -> list[str]:
        left, kept = 2 * self._chars_max, 0
        for command in commands[: limits.ITEMS_MAX]:
            left -= len(command)
            if left < 0:
                break
            kept += 1
        if kept < len(commands):
            self.mended.append(f"fix_commands: the first {kept} of {len(commands)} were kept")
        return commands[:kept]

    def _flag(self, column: str) -> bool:
        value = self._row.get(column)
        if isinstance(value, bytes) and len(value) <= 8:  # numbers of other libraries are kept as their bytes
            number = int.from_bytes(value, "little")
            flag = _FLAGS.get(str(number)) if number < 2 and value else _FLAGS.get(value.decode(errors="replace").lower())
        else:
            flag = None if value is None else _FLAGS.get(str(value).strip().lower())
        if flag is None:
            self._mend(column, f"{'absent' if value is None else 'neither true nor false'}, taken as not successful")
        return bool(flag)

    def _seconds(self) -> float | None:
        value = self._row.get("execution_time_seconds")
        if value is None or value == "":
            return None
        try:
            seconds = float(value.decode() if isinstance(value, bytes) else value)
        except ValueError:  # undecodable bytes included
            seconds = math.nan
        if math.isfinite(seconds) and seconds >= 0:
            return seconds
        self._mend("execution_time_seconds", "no number of seconds; left out")
        return None

    def _system_info(self) -> dict[str, Any]:
        value = self._row.get("system_info")
        if isinstance(value, int | float):
            self.mended.append("system_info: no JSON object; kept under raw")
            return {"raw": _plain(value, self._chars_max)}
        said = self._said("system_info")
        if not said.strip():
            return {}
        parsed = _json(said)
        if isinstance(parsed, dict) and len(said) <= 2 * self._chars_max and _is_sound(parsed):
            return parsed
        self.mended.append("system_info: no JSON object that can be kept as it is; its text is under raw")
        return {"raw": self._cut("system_info", said)}

    def _time(self) -> datetime:
        value = self._row.get("timestamp")
        number = _number_since_1970(value)
        if number is not None:
            self._mend("timestamp", "was a number, taken as time since 1970")
            return number
        text = self._said("timestamp").strip()
        try:
            at = datetime.fromisoformat(text)
            if at.tzinfo is None and _BY_SQLITE.fullmatch(text):
                at = at.replace(tzinfo=UTC)
            elif at.tzinfo is None:
                at = at.astimezone()
                self._as_it_was["timestamp"] = text  # whose local time it was is a guess
                self.is_local = True
            return parse_time(at)
        except (ValueError, OverflowError, OSError, PydanticCustomError):
            self.is_local = False
            self._mend("timestamp", f"not readable, taken as {self._last_at.isoformat()} from what was written before")
            return self._last_at


def _number_since_1970(value: Any) -> datetime | None:
    if isinstance(value, str):
        value = float(value) if _SINCE_1970.fullmatch(value.strip()) else None
    if not isinstance(value, int | float):
        return None
    if _SECONDS[0] <= value < _SECONDS[1]:
        return from_us(int(value * 1_000_000))
    return from_us(int(value * 1_000)) if _MILLISECONDS[0] <= value < _MILLISECONDS[1] else None


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


def _json(text: str) -> Any:
    """What a text says as JSON; None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_sound(value: Any) -> bool:
    try:
        check_json(value)
    except PydanticCustomError:
        return False
    return True


# --- the knowledge base -----------------------------------------------------------------------------------------


def _knowledge_record(path: Path, source: Source) -> Adopted | None:
    """None where it says nothing."""
    try:
        text = files.read_regular(path, limits.KNOWLEDGE_BASE_BYTES_MAX + 1)
        written_at = from_us(max(0, path.stat().st_mtime_ns // 1000))
    except OSError as error:
        raise PlaceError(f"cannot read {path}: {error.strerror or error}") from error
    try:
        knowledge = _knowledge(text)
        said = {name: value for name, value in knowledge.items() if name not in ("version", "last_updated")}
        if not any(said.values()):
            return None
        return _adopted({"knowledge_base": knowledge}, source, written_at)
    except InvalidInputError as error:
        raise InvalidInputError(error.problems, path.name) from None


def _knowledge(text: bytes) -> dict[str, Any]:
    if len(text) > limits.KNOWLEDGE_BASE_BYTES_MAX:
        allowed = f"at most {limits.KNOWLEDGE_BASE_BYTES_MAX} bytes: shorten it in a copy of the file, and adopt that"
        raise InvalidInputError.one("file", f"{len(text)} bytes or more", allowed)
    try:
        knowledge = from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise InvalidInputError.one("file", text[:40], f"a knowledge base as JSON ({error})") from None
    if not isinstance(knowledge, dict):
        raise InvalidInputError.one("file", knowledge, "an object with the keys of a knowledge base")
    _check_shape(knowledge)
    _check_values(knowledge, "")
    size = len(json.dumps(knowledge, ensure_ascii=False).encode())
    if size > limits.RECORD_BYTES_MAX - _ENVELOPE_BYTES:
        largest = max(knowledge, key=lambda name: len(json.dumps(knowledge[name])))
        allowed = f"at most {limits.RECORD_BYTES_MAX} bytes; most of it is {largest!r}: shorten that in a copy and adopt it"
        raise InvalidInputError.one(largest, f"{size} bytes", allowed)
    _check_value(knowledge, "file")
    return knowledge


def _check_shape(knowledge: dict[str, Any]) -> None:
    for name in ("general_patterns", "failure_patterns"):
        if not isinstance(knowledge.get(name, {}), dict | list):
            raise InvalidInputError.one(name, knowledge[name], "an object or a list")
    for name in ("model_specific_tips", "successful_strategies"):
        lists = knowledge.get(name, {})
        if not isinstance(lists, dict):
            raise InvalidInputError.one(name, lists, "an object of lists")
        for key, listed in lists.items():
            if not isinstance(listed, list):
                raise InvalidInputError.one(f"{name}.{key}", listed, "a list")
    for name in ("version", "last_updated"):
        if isinstance(knowledge.get(name), dict | list):
            raise InvalidInputError.one(name, knowledge[name], "text or a number")


def _check_values(value: Any, place: str, depth: int = 1) -> None:
    """Says where the value is that cannot be kept."""
    parts = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
    if depth >= limits.JSON_DEPTH_MAX and parts:
        raise InvalidInputError.one(place, value, f"values nested at most {limits.JSON_DEPTH_MAX} deep")
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
        raise InvalidInputError.one(place[: limits.NAME_CHARS_MAX], value, error.message()) from None


# --- taking the place of an older database ------------------------------------------------------------------------


def adopt_in_place(folder: str | Path, *, clock: Clock | None = None) -> FixAdoption | None:
    """Before a folder's memory is opened: where its file is an older database, a memory that has adopted all of it, and the
    knowledge base beside it, takes its place. The old database is kept aside as `….before-hardwon.db`; the knowledge base is
    left where it is. None where there is nothing to adopt; a file of 0 bytes, which SQLite makes of a name that it only opens,
    is nothing, and goes.

    Whatever happens meanwhile, the file is the old database or the finished memory. Other programs cannot write to it in
    between; those that have it open see what it became. Of several processes that come at once, one does it."""
    home = checked_path("folder", folder)
    target = (home / FILE_NAME).resolve()
    knowledge = home / KNOWLEDGE_BASE_NAME
    if not _has_something(target, knowledge):
        return None
    with lock_file(target):
        _clear_away(target)
        try:
            refuse_foreign_log(target)
            legacy_fixes.remove_empty(target)
            if not files.exists(target):
                return _begin_with(knowledge, target, clock) if knowledge.is_file() else None
            legacy_fixes.play_back(target)
            if legacy_fixes.is_ours(target):
                return None
            with legacy_fixes.claim(target) as history:
                return _take_place(history, knowledge, clock)
        except OSError as error:
            raise files.disk_error(error, target) from error
        finally:
            _clear_away(target)


def _has_something(target: Path, knowledge: Path) -> bool:
    """Looked at without a lock: nearly always there is nothing to do. Where a journal lies beside the file somebody was
    interrupted, and what the file says cannot be believed before it is played back; or it was we, after all was done."""
    if not files.exists(target):
        return knowledge.is_file()
    if not target.is_file():
        raise PlaceError(f"{target} is not a file: choose another place for the memory")
    left = (legacy_fixes.companions(target)[0], _staged(target), _copied(target))
    return any(map(files.exists, left)) or not legacy_fixes.is_ours(target)


def _staged(target: Path) -> Path:
    return target.with_name(f".{target.stem}.adopting.db")


def _copied(target: Path) -> Path:
    return target.with_name(f".{target.stem}.before-hardwon.part")


def _clear_away(target: Path) -> None:
    """What an interrupted run left. Only whoever holds the lock may."""
    for left in (_staged(target), _copied(target)):
        files.remove(left, *legacy_fixes.companions(left))
    unborn = f".{_staged(target).name}."  # the beginnings of a memory that was to be staged
    with suppress(FileNotFoundError):
        files.remove(*(left for left in target.parent.iterdir() if left.name.startswith(unborn) and ".part" in left.name))


def _take_place(history: Claimed, knowledge: Path, clock: Clock | None) -> FixAdoption:
    target = history.path
    staged, copied = _staged(target), _copied(target)
    with closing(Memory(staged, clock=clock)) as memory:
        adopted = _adopt(history, memory, FIX_HISTORY)
        notes = _with_knowledge(knowledge, memory)
    legacy_fixes.refuse_unfinished(staged)
    history.copy_to(copied)
    aside, is_new = _set_aside(copied, target)
    try:
        history.become(staged)
    except BaseException:
        if is_new:
            files.remove(aside)
        raise
    return replace(adopted, notes=[*adopted.notes, *notes, f"the old database is kept as {aside.name}"])


def _set_aside(copied: Path, target: Path) -> tuple[Path, bool]:
    """Gives the copy a name that is free. Where an interrupted run made the same copy already, that one stays."""
    checksum, number = files.sha256_of(copied), 1
    while True:
        aside = target.with_name(f"{target.stem}.before-hardwon{'' if number == 1 else f'-{number}'}.db")
        if aside.is_file() and aside.stat().st_size == copied.stat().st_size and files.sha256_of(aside) == checksum:
            return aside, False
        try:
            files.publish(copied, aside)
            return aside, True
        except FileExistsError:
            number += 1


def _with_knowledge(knowledge: Path, memory: Memory) -> list[str]:
    """A knowledge base that cannot be read must not keep anybody from the memory: it stays where it is."""
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
        legacy_fixes.refuse_unfinished(staged)
        files.sync(staged)
        try:
            files.publish(staged, target)
        except FileExistsError:
            return None  # somebody opened the memory without us
    return FixAdoption(0, 0, 0, notes=notes)
