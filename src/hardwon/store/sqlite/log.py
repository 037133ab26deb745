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
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from struct import Struct, unpack
from typing import BinaryIO, Final, NamedTuple
from urllib.parse import quote

import apsw

from hardwon.errors import T
from hardwon.store.sqlite.connection import (
    NUMBER_MAX,
    NUMBER_NAME,
    check_whole_file,
)
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
_INDEX_LEAF: Final = 0x0A
_INDEX_INNER: Final = 0x02
_LEVELS_MAX: Final = 20  # of a tree of pages, which SQLite lets have no more
# How a row begins of three columns: no text, a text of this length, eight bytes of a number.
_RECORD: Final = bytes((4, 13, 13 + 2 * len(NUMBER_NAME), 6)) + NUMBER_NAME.encode()
_LOCK_PAGE_AT: Final = 0x40000000  # SQLite's locks are there, and nothing is ever written


class Number(NamedTuple):
    """What a transaction drew, and what the one before it had drawn; 0 where that had none."""

    own: int
    before: int


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
    elif log.numbers and not log.fits(number_in_file(path), since):
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


def number_in_file(path: Path) -> int:
    """0 where it has none, or where that cannot be read."""
    sql = "SELECT value FROM state WHERE project_id = '' AND name = ?"
    value = _ask_file_alone(path, lambda each: each.execute(sql, (NUMBER_NAME,)).get, None)
    return number_from(value).own if isinstance(value, int) else 0


def number_from(value: int) -> Number:
    """What a transaction keeps in the table `state`, taken apart."""
    return Number(value & NUMBER_MAX, value >> 32 & NUMBER_MAX)


def is_backup(header: bytes) -> bool:
    """Whether a file that begins so is a memory in the mode of one that has no log."""
    return header[18:20] == _ROLLBACK_MODE and header[68:72] == _OUR_ID


class Kept(NamedTuple):
    """The number in a file, and where it is."""

    number: int
    at: int


def read_number(descriptor: int, root: int) -> Kept | None:
    """The number in an open file, in whose page `root` the table `state` begins; 0 where there is
    none, or none that can be read just now. None where it is no memory in the mode of a file that
    has a log.
    """
    header = os.pread(descriptor, HEADER_BYTES, 0)
    in_use = header.startswith(_MAGIC) and header[18:20] == _LOG_MODE
    if not in_use or header[68:72] != _OUR_ID:
        return None
    page_bytes = int.from_bytes(header[16:18], "big")
    page = b""
    for _ in range(_LEVELS_MAX if root else 0):
        page = os.pread(descriptor, page_bytes, (root - 1) * page_bytes)
        if len(page) < page_bytes or page[0] != _INDEX_INNER:
            break
        at = int.from_bytes(page[12:14], "big")  # where the first entry has the page before it
        root = int.from_bytes(page[at : at + 4], "big")
    is_leaf = len(page) == page_bytes and page[0] == _INDEX_LEAF
    at = _find_number(page) if is_leaf else 0
    if not at:
        return Kept(0, 0)
    at += 4  # the lower half is its own
    return Kept(int.from_bytes(page[at : at + 4], "big"), (root - 1) * page_bytes + at)


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

    def states(self, since: int = 0) -> list[int]:
        """The numbers that the file may have, the oldest first: that of the transaction before those
        that are here, and theirs; those from `since` on, where that is one of them. None where no
        number is here.
        """
        if not self.numbers:
            return []
        states = [self.numbers[0].before, *(number.own for number in self.numbers)]
        return states[-1 - states[::-1].index(since) :] if since in states else states

    def fits(self, own: int, since: int = 0) -> bool:
        """Whether the file may have this number: none, one of `states`, or torn apart of two."""
        allowed = [each.to_bytes(4, "big") for each in set(self.states(since))]
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


def _number_in(page: bytes) -> Number | None:
    at = _find_number(page)
    return number_from(int.from_bytes(page[at : at + 8], "big")) if at else None


def _find_number(page: bytes) -> int:
    """Where the number is, where this page of an index has it; else 0. Its row is the first of its
    table: the first on its page.
    """
    at = int.from_bytes(page[8:10], "big") + 1  # behind the length, which is one byte
    value_at = at + len(_RECORD)
    is_there = int.from_bytes(page[3:5], "big") and page[at:value_at] == _RECORD
    return value_at if is_there else 0
