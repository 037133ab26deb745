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
- Each transaction of ours draws a number, and keeps it in the first page with what the transaction
  before it had drawn. So the file's number is the one before the first in the log, or one in the
  log.

The last two say nothing where the log has every page of the database: then it does not matter what
the file has (a restore writes such a log, with the numbers of the backup). Nor where the file is
not sound without the log: then it was being folded in. A copy of just the state in which the log was begun is no
other file: its log is replayed, and the memory is what it was last.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from struct import Struct, unpack
from typing import BinaryIO, Final
from urllib.parse import quote

import apsw

from hardwon.errors import T
from hardwon.store.sqlite.connection import check_whole_file, drawn_before, drawn_in
from hardwon.store.sqlite.schema import APPLICATION_ID

ASIDE: Final = ".foreign-"  # in the name of a log that was moved aside, before the time

HEADER_BYTES: Final = 100
_MAGIC: Final = b"SQLite format 3\0"
_ROLLBACK_MODE: Final = b"\x01\x01"
_LOG_MODE: Final = b"\x02\x02"
_OUR_ID: Final = APPLICATION_ID.to_bytes(4, "big")
_LOG_HEADER: Final = Struct(">8I")
_FRAME_HEADER: Final = Struct(">6I")
_LOG_MAGIC: Final = 0x377F0682  # the last bit tells the order of the bytes that are summed up
_NUMBER_AT: Final = slice(60, 64)  # the `user_version` of SQLite
_LOCK_PAGE_AT: Final = 0x40000000  # SQLite's locks are there, and nothing is ever written


def find_foreign_sign(path: Path, header: bytes, log: Path, since: int = 0) -> str | None:
    """What tells for certain that the log is not the file's; None where nothing does. `since`: the
    number that the file had when somebody looked last, so that an earlier one is a sign as well.
    """
    if len(header) < HEADER_BYTES or not header.startswith(_MAGIC):
        return None
    seen = Log.read(log, checked=False)  # more than is valid may be seen so: then more is allowed
    if seen is None or not _sign(path, header, seen, since):
        return None
    valid = Log.read(log, checked=True)
    # else SQLite replays nothing
    return _sign(path, header, valid, since) if valid and valid.pages else None


def _sign(path: Path, header: bytes, log: Log, since: int) -> str | None:
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
    elif log.numbers and not log.fits(number_in(header), since):
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


def number_in(header: bytes) -> int:
    """The number in a file that begins so."""
    return int.from_bytes(header[_NUMBER_AT], "big")


def is_backup(header: bytes) -> bool:
    """Whether a file that begins so is a memory in the mode of one that has no log."""
    return header[18:20] == _ROLLBACK_MODE and header[68:72] == _OUR_ID


def read_number(descriptor: int) -> int | None:
    """The number in an open file; None where it is no memory in the mode of a file that has a log."""
    header = os.pread(descriptor, HEADER_BYTES, 0)
    in_use = header.startswith(_MAGIC) and header[18:20] == _LOG_MODE
    return number_in(header) if in_use and header[68:72] == _OUR_ID else None


def has_number(descriptor: int, number: int) -> bool:
    """Whether an open file has this number where a memory has its own."""
    return os.pread(descriptor, 4, _NUMBER_AT.start) == number.to_bytes(4, "big")


@dataclass
class Log:
    """What a log says of the database that it belongs to. Where it is `checked`, only what SQLite
    would replay.
    """

    page_bytes: int
    pages: set[int] = field(default_factory=set)
    page_count: int = 0
    changes: list[int] = field(default_factory=list)
    application_ids: set[int] = field(default_factory=set)
    numbers: list[int] = field(default_factory=list)

    @property
    def is_ours(self) -> bool:
        return self.application_ids == {APPLICATION_ID}

    @property
    def is_whole(self) -> bool:
        """Whether every page of the database is in it."""
        there = sum(
            number <= self.page_count
            for number in self.pages | {_LOCK_PAGE_AT // self.page_bytes + 1}
        )
        return 0 < self.page_count <= there

    def fits(self, number: int, since: int = 0) -> bool:
        """Whether the file may have this number: one of those that are here, or of the transaction
        before them. Where that of `since` is here, none before it.
        """
        if since in self.numbers:
            return number in self.numbers[self.numbers.index(since) :]
        return number in self.numbers or drawn_in(number) == drawn_before(self.numbers[0])

    def add(self, number: int, page_count: int, page: bytes) -> None:
        self.pages.add(number)
        self.page_count = page_count or self.page_count
        if number == 1:
            self.changes.append(int.from_bytes(page[24:28], "big"))
            self.application_ids.add(int.from_bytes(page[68:72], "big"))
            self.numbers.append(number_in(page))

    @staticmethod
    def read_start(path: Path) -> bytes:
        """What is another one whenever the log is begun anew; nothing where there is no log."""
        try:
            with path.open("rb") as file:
                return file.read(_LOG_HEADER.size)
        except OSError:
            return b""

    @classmethod
    def read(cls, path: Path, *, checked: bool) -> Log | None:
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
