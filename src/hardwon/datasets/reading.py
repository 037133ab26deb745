"""Where a data set comes from: a list, or a file as JSON, as JSON Lines or as Python source."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

from pydantic_core import from_json

from hardwon import intake, limits
from hardwon.datasets import literal
from hardwon.datasets.report import Fault, shown
from hardwon.errors import InvalidInputError, PlaceError, Problem
from hardwon.store import files

_LINES: Final = (".jsonl", ".ndjson")
_PYTHON: Final = (".py",)
_JSON_ALLOWED: Final = "a list of memories, an object with a list under memories, or one memory a line"


@dataclass(frozen=True)
class Entries:
    """What a source holds, before it is checked. `lines` are where the entries begin, as far as that is known; `unreadable` are
    entries that could not even be read."""

    values: list[Any]
    lines: list[int] = field(default_factory=list)
    unreadable: dict[int, Fault] = field(default_factory=dict)

    def line(self, index: int) -> int | None:
        return self.lines[index] if self.lines else None


def read(source: Any) -> Entries:
    """The entries of a list, or of the file at a path (a text is a path)."""
    if not isinstance(source, str | os.PathLike):
        values = intake.items("source", source)
        return Entries(_bounded(values, ""))
    path = intake.path("source", os.fspath(source))
    text = _text_of(path)
    try:
        if path.suffix.lower() in _LINES:
            return _json_lines(text)
        if path.suffix.lower() in _PYTHON or not text.lstrip().startswith(("[", "{")):
            return _python(text)
        return _json(text) if path.suffix.lower() == ".json" else _json_or_python(text)
    except InvalidInputError as error:
        where = f"{path.name}, {error.where}" if error.where else path.name
        raise InvalidInputError(error.problems, where) from None


def _text_of(path: Path) -> str:
    try:
        data = files.read_regular(path, limits.DATASET_BYTES_MAX + 1)
    except PlaceError:
        raise PlaceError(f"cannot read {path}: it is not a file; name a file, or give the list itself") from None
    except OSError as error:
        raise PlaceError(f"cannot read {path}: {error.strerror or error}") from error
    if len(data) > limits.DATASET_BYTES_MAX:
        _refuse("more bytes", f"at most {limits.DATASET_BYTES_MAX} bytes; divide it into several files", path.name)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        _refuse(f"byte {data[error.start]:#04x}", "text as UTF-8", f"{path.name}, line {line}")


def _json_or_python(text: str) -> Entries:
    """Where the name does not tell: what is not JSON has single quotes, comments or True in it."""
    try:
        return _json(text)
    except _NotJsonError:
        return _python(text)


class _NotJsonError(InvalidInputError):
    """Not even the beginning of something else."""


def _json(text: str) -> Entries:
    try:
        data = from_json(text, allow_inf_nan=False)
    except ValueError as error:
        if _is_json(text.lstrip().partition("\n")[0]):
            return _json_lines(text)
        place = re.search(r"line (\d+)", str(error))
        problem = Problem("data set", _beginning(text), f"valid JSON ({error})")
        raise _NotJsonError([problem], f"line {place[1] if place else 1}") from None
    if isinstance(data, dict):
        if "memories" not in data and ("content" in data or "outcome" in data):
            return Entries([data])  # a single line of JSON Lines
        data = data.get("memories")
    if not isinstance(data, list):
        _refuse(_beginning(text), _JSON_ALLOWED)
    return Entries(_bounded(data, ""))


def _is_json(line: str) -> bool:
    try:
        return isinstance(from_json(line), dict)
    except ValueError:
        return False


def _json_lines(text: str) -> Entries:
    """Line by line: one that cannot be read is reported, and the others are read all the same."""
    found = Entries([])
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = from_json(line, allow_inf_nan=False)
        except ValueError as error:
            index, why = len(found.values), re.sub(r" at line 1 ", " at ", str(error))
            remedy = "write one JSON object per line"
            found.unreadable[index] = Fault(index, "entry", shown(line), f"is not valid JSON ({why})", remedy, line=number)
            value = None
        found.values.append(value)
        found.lines.append(number)
        _bounded(found.values, f"line {number}")
    return found


def _python(text: str) -> Entries:
    if len(text) > limits.DATASET_LITERAL_BYTES_MAX:
        most = f"at most {limits.DATASET_LITERAL_BYTES_MAX} characters of Python; save the list with json.dump instead"
        _refuse(f"{len(text)} characters", most)
    items = literal.read(text)
    return Entries([item.value for item in items], [item.line for item in items])


def _bounded(values: list[Any], where: str) -> list[Any]:
    if len(values) > limits.DATASET_MEMORIES_MAX:
        _refuse(f"{len(values)} memories", f"at most {limits.DATASET_MEMORIES_MAX} memories; divide it", where)
    return values


def _beginning(text: str) -> str:
    return text[:200]


def _refuse(what: str, allowed: str, where: str = "") -> NoReturn:
    raise InvalidInputError([Problem("data set", what, allowed)], where)
