"""Whether the log beside a SQLite file is that file's.

SQLite replays whatever log lies beside a file. Where somebody copies another database over a
memory, or an older state of the same one, the log of what was there before stays, and would be
replayed into it: it ends malformed, or as something else. So the log is looked at before SQLite
opens the file. What is in doubt is the file's own: a log that was refused by mistake would hold
what was acknowledged.

A log is begun when the file has everything that was written before, and from then on only folding
in that log changes the file. Certain signs of another's log:

- The file is not in the mode in which a file has a log: SQLite folds the log in before it leaves
  that mode. `backup` makes such files.
- Its pages are of another size, or its first page says that it is another program's.
- Each of our transactions draws a number, and keeps it in the first page with what the transaction
  before it had drawn. So the file's number is the one before the first in the log, or one in the
  log. That says nothing where the log has every page of the database (a restore writes such a log,
  with the numbers of the backup), nor where the file is not sound without the log: then the power
  went, or a process was killed, while it was being folded in.
"""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from struct import Struct
from typing import Final
from urllib.parse import quote

import apsw

from hardwon.store.sqlite import connection as database
from hardwon.store.sqlite.connection import APPLICATION_ID, find_log

ASIDE: Final = ".foreign-"  # in the name of a log that was moved aside, before the time

HEADER_BYTES: Final = 100
_MAGIC: Final = b"SQLite format 3\0"
_ROLLBACK_MODE: Final = b"\x01\x01"
_OUR_ID: Final = APPLICATION_ID.to_bytes(4, "big")
_LOG_HEADER: Final = Struct(">8I")
_FRAME_HEADER: Final = Struct(">6I")
_LOG_MAGIC: Final = 0x377F0682  # the last bit tells the order of the bytes that are summed up
COPY: Final = "the file is a copy that has no log"


@dataclass
class Log:
    """What a log says of the database that it belongs to."""

    start: bytes  # another one whenever the log is begun anew
    page_bytes: int
    page_count: int = 0
    pages: set[int] = field(default_factory=set)
    application_ids: set[int] = field(default_factory=set)
    numbers: list[int] = field(default_factory=list)  # of transactions
    frames: list[int] = field(default_factory=list)  # which have them

    @classmethod
    def read(cls, path: Path) -> Log | None:
        """None where there is no log, or no whole transaction in it. More than SQLite would replay
        may be read: then the file may have more numbers.
        """
        try:
            with path.open("rb") as file:
                start = file.read(_LOG_HEADER.size)
                if len(start) < _LOG_HEADER.size:
                    return None
                magic, _, page_bytes, _, *salts, _, _ = _LOG_HEADER.unpack(start)
                if magic & ~1 != _LOG_MAGIC or not 512 <= page_bytes <= 65536:
                    return None
                log = cls(start, page_bytes)
                size, at = _FRAME_HEADER.size + page_bytes, 1
                while len(frame := file.read(size)) == size:
                    page, page_count, *frame_salts, _, _ = _FRAME_HEADER.unpack_from(frame)
                    if frame_salts != salts:
                        break
                    content = frame[_FRAME_HEADER.size :]
                    log.pages.add(page)
                    log.page_count = page_count or log.page_count
                    if page == 1 and content.startswith(_MAGIC):  # else a power cut has torn it
                        log.application_ids.add(int.from_bytes(content[68:72], "big"))
                        log.numbers.append(number_in(content))
                        log.frames.append(at)
                    at += 1
        except OSError:
            return None
        return log if log.page_count else None

    @property
    def is_whole(self) -> bool:
        """Whether every page of the database is in it, but for the one where SQLite's locks are."""
        return len(self.pages) >= self.page_count - (self.page_count > 2**30 // self.page_bytes)

    def fits(self, number: int, folded: int = 0) -> bool:
        """Whether the file may have this number. `folded`: so many frames of the log are certainly
        in the file.
        """
        if newest := sum(frame <= folded for frame in self.frames):
            return number in self.numbers[newest - 1 :]
        if not self.numbers or number in self.numbers:
            return True
        return database.drawn_in(number) == database.drawn_before(self.numbers[0])


def find_foreign_sign(path: Path, descriptor: int, folded: int = 0) -> str:
    """What tells for certain that the log beside an open file is not the file's; empty where
    nothing does. `folded`: so many frames of the log were in the file before this was asked.
    Others may write, fold in and begin the log anew meanwhile: then nothing is certain.
    """
    start = _read_start(find_log(path))
    header = os.pread(descriptor, HEADER_BYTES, 0)
    log = Log.read(find_log(path))
    if log is None or log.start != start or not header.startswith(_MAGIC):
        return ""
    is_ours, sign = header[68:72] == _OUR_ID, ""
    page_bytes = int.from_bytes(header[16:18], "big")
    if header[18:20] == _ROLLBACK_MODE and (is_ours or APPLICATION_ID in log.application_ids):
        sign = COPY
    elif is_ours and log.page_bytes != (65536 if page_bytes == 1 else page_bytes):
        sign = "its pages are of another size"
    elif is_ours and log.application_ids - {APPLICATION_ID}:
        sign = "it is another program's"
    elif is_ours and not log.is_whole and not log.fits(number_in(header), folded):
        # The whole file is looked at only where something is wrong: it takes long.
        sign = "it was begun on another state of the file" if _is_sound_alone(path) else ""
    return sign if _read_start(find_log(path)) == start else ""


def is_backup(header: bytes) -> bool:
    """Whether a file that begins so is a memory in the mode of one that has no log."""
    return header[18:20] == _ROLLBACK_MODE and header[68:72] == _OUR_ID


def _read_start(log: Path) -> bytes:
    """Nothing where there is no log."""
    try:
        with log.open("rb") as file:
            return file.read(_LOG_HEADER.size)
    except OSError:
        return b""


def number_in(header: bytes) -> int:
    """The number in a file that begins so: its `user_version`, as SQLite calls it."""
    return int.from_bytes(header[60:64], "big")


def _is_sound_alone(path: Path) -> bool:
    """Whether the file is sound without its log."""
    uri = f"file:{quote(str(path))}?immutable=1"
    try:
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        with closing(apsw.Connection(uri, flags)) as connection:
            return not database.check_whole_file(connection)
    except (apsw.Error, UnicodeDecodeError):
        return False
