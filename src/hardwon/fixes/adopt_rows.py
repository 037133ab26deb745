"""Rows of older fix histories become fixes.

What has no field of its own, and what had to be changed to fit one, is kept in the fix's `other`:

row_id           the row's id
issue_signature  the row's signature, where it is not the one that the fix has now (it was made with a prompt and a response,
                 which the row does not have)
claude_analysis, ai_analysis   both, where the row had two that differ
columns          columns that the documents do not know
as_it_was        values that could not be read as what their column is for

A row that cannot become a fix is rejected with the reason; none is passed over. Ids are derived from what a row says and whose
it is.

Times without a zone are local time of this machine, as `datetime.now().isoformat()` wrote them, but for those that SQLite's own
`datetime()` wrote (a blank between day and time, no microseconds): they are UTC.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any, Final

from pydantic_core import PydanticCustomError

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.fixes.input import seconds
from hardwon.fixes.legacy import LegacyDatabase, LegacyRow
from hardwon.learn.support import FIX_HISTORY
from hardwon.learn.tallies import RECORDED_SIGNATURE, fix_history_signature
from hardwon.records.fields import check_json, derived_id, from_us, parse_time, read_json
from hardwon.records.kinds import Adopted, Fix, Issue, Metadata, Moment, Source
from hardwon.store.types import Progress
from hardwon.trust.redact import without_secrets

_ANALYSES: Final = ("ai_analysis", "claude_analysis")  # in this order: the newer name first
_COLUMNS: Final = frozenset(
    """id timestamp model_name issue_type issue_signature description fixer_type claude_analysis ai_analysis fix_commands
    fix_success verification_success execution_time_seconds system_info notes""".split()
)
# what a record's project, labels and the like may add to its size
_ENVELOPE_BYTES: Final = 64 * limits.KIB
_FLAGS: Final = {"1": True, "true": True, "1.0": True, "0": False, "false": False, "0.0": False}
_BY_SQLITE: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d(\.\d{1,3})?)?")
_SINCE_1970: Final = re.compile(r"\d{9,13}(\.\d+)?")
# since 1970: from 1973 on, and what is more is no second but a millisecond
_SECONDS: Final = (1e8, 1e11)
_MILLISECONDS: Final = (1e11, 1e14)
_BREAKS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_ROWS_BETWEEN_PROGRESS: Final = 500

RowId = Any  # a whole number, unless somebody made the table by hand


def one_line(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text[: limits.LESSON_CHARS_MAX])


def fits_in_a_record(size: int) -> bool:
    return size <= limits.RECORD_BYTES_MAX - _ENVELOPE_BYTES


class HistoryReader:
    """One pass over a history."""

    def __init__(self, history: LegacyDatabase, source: Source, progress: Progress | None) -> None:
        self._history, self._source, self._progress = history, source, progress
        self._last_at = from_us(max(0, history.written_us))
        self._total = history.count()
        self._same: Counter[str] = Counter()
        self._same_id: object = None
        self._local = 0
        self._cut: Counter[str] = Counter()
        self.read = 0
        self.rejected: list[tuple[RowId, str]] = []
        self.mended: list[tuple[RowId, str]] = []

    def fixes(self) -> Iterator[Fix]:
        for row in self._history.rows():
            self.read += 1
            if fix := self._fix_of(row):
                yield fix
            if self._progress and (
                self.read % _ROWS_BETWEEN_PROGRESS == 0 or self.read >= self._total
            ):
                self._progress(self.read, self._total)

    def _fix_of(self, row: LegacyRow) -> Fix | None:
        """The fix, as large as a record may be, or None where the row had to be rejected."""
        record_id = self._id_of(row)
        reason = ""
        for chars in limits.FIX_HISTORY_ROW_CHARS_CUT:
            reader = _RowReader(row, chars, self._last_at)
            try:
                fix = without_secrets(reader.fix(record_id, self._source))
                if fits_in_a_record(len(fix.to_json_bytes())):
                    break
                reason = f"more than {limits.RECORD_BYTES_MAX} bytes"
            except InvalidInputError as error:
                reason = str(error)
        else:
            self.rejected.append((row.get("id"), one_line(reason)))
            return None
        self._last_at = fix.metadata.context.timestamp
        self._local += reader.is_local
        if reader.mended:
            self.mended.append((row.get("id"), "; ".join(reader.mended)))
        return fix

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
        self._same[content] += 1
        return derived_id(
            FIX_HISTORY, "row", self._source.author, content, str(self._same[content])
        )

    def notes(self) -> Iterator[str]:
        if self._local:
            zone = datetime.now().astimezone().tzname()
            yield f"{self._local} times without a zone were taken as local time of this machine ({zone})"
        yield from (
            f"{table}: the texts of {number} rows were cut"
            for table, number in self._cut.items()
            if number
        )
        if others := self._history.other_tables():
            yield f"tables that are no part of a fix history were left out: {', '.join(others)}"

    def aggregates(self) -> Iterator[Adopted]:
        """What the history had added up, in as few records as hold it."""
        part: dict[str, list[Any]] = {}
        size, at = 0, from_us(max(0, self._history.written_us))
        for name, rows in self._history.aggregates().items():
            for row in rows:
                chars = min(
                    limits.FIX_HISTORY_AGGREGATE_TEXT_CHARS,
                    limits.FIX_HISTORY_AGGREGATES_CHARS // len(row),
                )
                self._cut[name] += any(
                    isinstance(value, str | bytes) and len(value) > chars for value in row.values()
                )
                plain = {
                    _without_nul(column): _plain(value, chars) for column, value in row.items()
                }
                length = len(json.dumps(plain))
                if part and size + length > limits.FIX_HISTORY_AGGREGATES_CHARS:
                    yield added_up(part, self._source, at)
                    part, size = {}, 0
                part.setdefault(name, []).append(plain)
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
        found = {
            RECORDED_SIGNATURE: "" if signature == fix_history_signature(issue) else signature,
            "columns": {
                name: self._plain(name, value)
                for name, value in self._row.items()
                if name not in _COLUMNS and value is not None
            },
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

    def _plain(self, column: str, value: Any) -> Any:
        if isinstance(value, str | bytes) and len(value) > self._chars_max:
            self.mended.append(f"{column}: cut to {self._chars_max} characters")
        return _plain(value, self._chars_max)

    def _text_in(self, column: str) -> str:
        """A value as text, whatever its type."""
        value = self._row.get(column)
        text = "" if value is None else str(value)
        if isinstance(value, bytes):
            text = value.decode(errors="replace")
            if text.encode() != value:
                self._mend(column, "was bytes that are no text")
        return _without_nul(text)

    def _text(self, column: str) -> str:
        text = self._text_in(column)
        if "\0" in str(self._row.get(column) or ""):
            self.mended.append(f"{column}: NUL characters were replaced")
        return self._cut(column, text)

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
        lengths = accumulate(map(len, commands[: limits.ITEMS_MAX]))
        kept = sum(length <= 2 * self._chars_max for length in lengths)
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
        try:
            text = value.decode() if isinstance(value, bytes) else value
            return seconds("execution_time_seconds", float(text))
        except ValueError:  # undecodable bytes included
            self._mend("execution_time_seconds", "no number of seconds; left out")
            return None

    def _system_info(self) -> dict[str, Any]:
        value = self._row.get("system_info")
        if isinstance(value, int | float):
            self.mended.append("system_info: no JSON object; kept under raw")
            return {"raw": _plain(value, self._chars_max)}
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
            if at.tzinfo is None and _BY_SQLITE.fullmatch(text):
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
