"""Records in and out as JSON Lines: one record a line, in UTF-8; and out as one JSON list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from hardwon import limits
from hardwon.errors import InvalidInputError, PlaceError
from hardwon.outside import files
from hardwon.records.fields import ABSENT
from hardwon.records.kinds import AnyRecord, parse_record
from hardwon.store.query import record_of, sound_body
from hardwon.store.types import Progress, Stored

_ID_ALLOWED: Final = (
    "a UUID, so that loading the file again adds nothing; Memory.add_many takes records without one"
)
_LINE_BYTES_MAX: Final = 2 * limits.RECORD_BYTES_MAX  # other programs escape what we write plainly


def write(
    path: Path,
    records: Iterable[Stored],
    total: int,
    progress: Progress | None = None,
    *,
    as_list: bool = False,
) -> int:
    """Writes the file whole or not at all; returns how many records it holds."""
    before, between, after = (b"[\n", b",\n", b"\n]\n") if as_list else (b"", b"\n", b"\n")
    done = 0
    with files.writing_atomically(path) as file:
        file.write(before)
        for stored in records:
            if done:
                file.write(between)
            file.write(line_of(stored).encode())
            done += 1
            if progress and done % limits.BATCH_ROWS == 0:
                progress(done, max(total, done))
        if done or as_list:
            file.write(after)
    return done


def line_of(stored: Stored) -> str:
    """The record as a reader sees it. A body whose record had no events since is that already."""
    if stored.validation is None:
        return sound_body(stored)
    return record_of(stored).to_json()


def read(path: Path) -> Iterator[AnyRecord]:
    """Every record of the file; blank lines are passed over. A line that is invalid, or has no id,
    raises and names itself.
    """
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(_LINE_BYTES_MAX + 1):
                number += 1
                where = f"{path.name}, line {number}"
                if len(line) > _LINE_BYTES_MAX:
                    allowed = f"lines of at most {_LINE_BYTES_MAX} bytes"
                    raise InvalidInputError(
                        InvalidInputError.one("line", f"{len(line)} bytes", allowed).problems, where
                    )
                if line.strip():
                    try:
                        yield _with_its_id(parse_record(line))
                    except InvalidInputError as error:
                        raise InvalidInputError(error.problems, where) from None
    except OSError as error:
        raise PlaceError(f"cannot read {path}: {error.strerror or error}") from error


def _with_its_id(record: AnyRecord) -> AnyRecord:
    if "id" not in record.model_fields_set:  # it was just made, and would be another one next time
        raise InvalidInputError.one("id", ABSENT, _ID_ALLOWED)
    return record
