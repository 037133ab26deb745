"""Whether the log beside a SQLite file is that file's.

SQLite replays whatever log lies beside a file. Where somebody copies another database over a
memory, or an older state of the same one, the log of what was there before stays, and would be
replayed into it: it ends malformed, or as something else. So whoever opens a file first looks at
the log before SQLite does. A log that is certainly another's is moved aside and kept. What is in
doubt is the file's own: a log that was refused by mistake would hold what was acknowledged.

A log is begun when the file has everything that was written before, and from then on only folding
in that log changes the file. So it fits the state in which it was begun, and that state with any of
the log's pages folded in. Certain signs of another's:

- The file is not in the mode in which a file has a log. SQLite folds a log in before it leaves that
  mode, and syncs the mode
  before it begins a log. `backup` makes such files, and older designs had their databases in that
  mode.
- Its pages are of another size, or its first page says that it is another program's.
- The first page counts its changes. Whoever writes that page writes the count that it had, or one
  more. So the file's count is
  one less than the first in the log, or lies between the first and the last.
- Each transaction of ours draws a number, and keeps it in the table `state` with the number of the
  transaction before it. So
  the file's number is the one before the first in the log, or one in the log.

The last two say nothing where the log has every page of the database: then it does not matter what
the file has (a restore writes such a log, with the numbers of the backup). Nor where the file is
not sound without the log: then it was being folded in. When the power goes just then, the disk may
have torn the number apart: some of its bytes are one's, the rest another's.

Logs of older versions have no numbers. A copy of just the state in which the log was begun is no
other file: its log is replayed, and the memory is what it was last.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from struct import Struct, unpack
from typing import BinaryIO, Final, NamedTuple
from urllib.parse import quote

import apsw

from hardwon.errors import ForeignLogWarning, T
from hardwon.outside import files
from hardwon.store.sqlite.connection import (
    NUMBER_MAX,
    NUMBER_NAME,
    alone,
    check_whole_file,
    log_of,
    size_of,
)
from hardwon.store.sqlite.migrations import APPLICATION_ID

ASIDE: Final = ".foreign-"  # in the name of a log that was moved aside, before the time

_HEADER_BYTES: Final = 100
_MAGIC: Final = b"SQLite format 3\0"
_ROLLBACK_MODE: Final = b"\x01\x01"
_LOG_HEADER: Final = Struct(">8I")
_FRAME_HEADER: Final = Struct(">6I")
_LOG_MAGIC: Final = 0x377F0682  # the last bit tells the order of the bytes that are summed up
_INDEX_LEAF: Final = 0x0A
# How a row begins of three columns: no text, a text of this length, eight bytes of a number.
_RECORD: Final = bytes((4, 13, 13 + 2 * len(NUMBER_NAME), 6)) + NUMBER_NAME.encode()
_LOCK_PAGE_AT: Final = 0x40000000  # SQLite's locks are there, and nothing is ever written


class Number(NamedTuple):
    """What a transaction drew, and what the one before it had drawn; 0 where that had none."""

    own: int
    before: int


def refuse_foreign_log(path: Path) -> None:
    """Moves a log that lies beside the file and is another's aside, and warns. While somebody has
    the file open, the log is the file's.
    """
    log = log_of(path)
    if not size_of(log):
        return
    with alone(path) as descriptor:
        if descriptor is None or not size_of(log):
            return
        sign = _foreign(path, os.pread(descriptor, _HEADER_BYTES, 0), log)
        if sign is None:
            return
        aside = log.with_name(f"{log.name}{ASIDE}{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}")
        with files.disk_errors(aside):
            log.rename(aside)
            files.sync(log.parent)
    warnings.warn(
        f"beside {path} lay a log that is not this file's ({sign}): the file was copied over a "
        f"memory that was not closed. The log was not replayed, the memory is what is in the file; "
        f"the log is kept as {aside.name}",
        ForeignLogWarning,
        stacklevel=5,
    )


def _foreign(path: Path, header: bytes, log: Path) -> str | None:
    """What tells for certain that the log is not the file's."""
    if len(header) < _HEADER_BYTES or not header.startswith(_MAGIC):
        return None
    seen = _Log.read(log, checked=False)  # more than is valid may be seen so: then more is allowed
    if seen is None or not _sign(path, header, seen):
        return None
    valid = _Log.read(log, checked=True)
    # else SQLite replays nothing
    return _sign(path, header, valid) if valid and valid.pages else None


def _sign(path: Path, header: bytes, log: _Log) -> str | None:
    page_bytes, changes, application_id = (
        int.from_bytes(header[at : at + size], "big") for at, size in ((16, 2), (24, 4), (68, 4))
    )
    ours = application_id == APPLICATION_ID
    if header[18:20] == _ROLLBACK_MODE and (ours or log.is_ours):
        return "the file is a copy that has no log"
    if not ours:
        return None
    if log.page_bytes != (65536 if page_bytes == 1 else page_bytes):
        return "its pages are of another size"
    if log.application_ids - {APPLICATION_ID}:
        return "it is another program's"
    if log.is_whole:
        return None
    sign = None
    if log.changes and not log.changes[0] - 1 <= changes <= log.changes[-1]:
        sign = "it was begun on another state of the file, by the changes that both count"
    elif log.numbers and not log.fits(_number_in_file(path)):
        sign = "it was begun on another state of the file, by the transactions that both name"
    # The whole file is looked at only where something is wrong: it takes long.
    is_sound = sign and _ask_file_alone(path, lambda each: not check_whole_file(each), False)
    return sign if is_sound else None


def _ask_file_alone(path: Path, ask: Callable[[apsw.Connection], T], otherwise: T) -> T:
    """Of the file without its log. Nobody else has it open."""
    uri = f"file:{quote(str(path))}?immutable=1"
    try:
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        with closing(apsw.Connection(uri, flags=flags)) as connection:
            return ask(connection)
    except (apsw.Error, UnicodeDecodeError):
        return otherwise


def _number_in_file(path: Path) -> int:
    """0 where it has none, or where that cannot be read."""
    sql = "SELECT value FROM state WHERE project_id = '' AND name = ?"
    value = _ask_file_alone(path, lambda each: each.execute(sql, (NUMBER_NAME,)).get, None)
    return _number(value).own if isinstance(value, int) else 0


def _number(value: int) -> Number:
    return Number(value & NUMBER_MAX, value >> 32 & NUMBER_MAX)


@dataclass
class _Log:
    """What a log says of the database that it belongs to. Where it is `checked`, only what SQLite
    would replay.
    """

    page_bytes: int
    pages: set[int] = field(default_factory=set)
    page_count: int = 0
    changes: list[int] = field(default_factory=list)
    application_ids: set[int] = field(default_factory=set)
    numbers: list[Number] = field(default_factory=list)

    @property
    def is_ours(self) -> bool:
        return bool(self.numbers) or self.application_ids == {APPLICATION_ID}

    @property
    def is_whole(self) -> bool:
        """Whether every page of the database is in it."""
        there = sum(
            number <= self.page_count
            for number in self.pages | {_LOCK_PAGE_AT // self.page_bytes + 1}
        )
        return 0 < self.page_count <= there

    def fits(self, own: int) -> bool:
        """Whether the file may have this number: none, that of one here or of the one before them
        all, or torn apart of two.
        """
        allowed = [
            each.to_bytes(4, "big")
            for each in {self.numbers[0].before, *(number.own for number in self.numbers)}
        ]
        found = own.to_bytes(4, "big")
        return not own or any(
            any(each.startswith(found[:at]) for each in allowed)
            and any(each.endswith(found[at:]) for each in allowed)
            for at in (1, 2, 3)
        )

    def add(self, number: int, page_count: int, page: bytes) -> None:
        self.pages.add(number)
        self.page_count = page_count or self.page_count
        if number == 1:
            self.changes.append(int.from_bytes(page[24:28], "big"))
            self.application_ids.add(int.from_bytes(page[68:72], "big"))
        elif page[0] == _INDEX_LEAF and (drawn := _number_in(page)):
            self.numbers.append(drawn)

    @classmethod
    def read(cls, path: Path, *, checked: bool) -> _Log | None:
        """None where it is no log, or of none of its transactions anything is left."""
        try:
            with path.open("rb") as file:
                start = file.read(_LOG_HEADER.size)
                if len(start) < _LOG_HEADER.size:
                    return None
                magic, _, page_bytes, _, *salts, sum_1, sum_2 = _LOG_HEADER.unpack(start)
                big = bool(magic & 1)
                sums = _sums((0, 0), start[:24], big)
                ours = magic & ~1 == _LOG_MAGIC and sums == (sum_1, sum_2)
                if not ours or not 512 <= page_bytes <= 65536:
                    return None

                def frames() -> Iterator[tuple[int, int, bytes]]:
                    file.seek(_LOG_HEADER.size)
                    return _frames(file, page_bytes, salts, sums if checked else None, big)

                found, count = cls(page_bytes), None
                if checked:  # up to where the last transaction ends
                    ends = [at for at, frame in enumerate(frames(), 1) if frame[1]]
                    count = ends[-1] if ends else 0
                for frame in islice(frames(), count):
                    found.add(*frame)
        except OSError:
            return None
        return found if found.pages else None


def _frames(
    file: BinaryIO, page_bytes: int, salts: list[int], sums: tuple[int, int] | None, big: bool
) -> Iterator[tuple[int, int, bytes]]:
    """The number of each page, how many the database has if a transaction ends there, and the page,
    as long as they are of this log. `sums`: what has been summed up before them, where they are to
    be checked.
    """
    size = _FRAME_HEADER.size + page_bytes
    while len(frame := file.read(size)) == size:
        number, page_count, *salt, sum_1, sum_2 = _FRAME_HEADER.unpack_from(frame)
        page = frame[_FRAME_HEADER.size :]
        if not number or salt != salts:
            return
        if sums:
            sums = _sums(_sums(sums, frame[:8], big), page, big)
            if sums != (sum_1, sum_2):
                return
        yield number, page_count, page


def _sums(before: tuple[int, int], data: bytes, big: bool) -> tuple[int, int]:
    """SQLite's, over pairs of words of four bytes."""
    first, second = before
    words = iter(unpack(f"{'>' if big else '<'}{len(data) // 4}I", data))
    for one, other in zip(words, words, strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second


def _number_in(page: bytes) -> Number | None:
    """The number, where this page of an index has it. Its row is the first of its table: the first
    on its page.
    """
    at = int.from_bytes(page[8:10], "big") + 1  # behind the length, which is one byte
    value_at = at + len(_RECORD)
    if not int.from_bytes(page[3:5], "big") or page[at:value_at] != _RECORD:
        return None
    return _number(int.from_bytes(page[value_at : value_at + 8], "big"))
