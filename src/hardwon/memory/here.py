"""Which records were made in this checkout while a test of it failed: all that a test may vouch for.

A store cannot tell. Whoever may write to it, through a server, from a file or from another machine,
writes what looks the same. So the ids are noted outside of it, in a file of the user's own that is
there only while a test fails.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from hardwon import limits
from hardwon.errors import PlaceError
from hardwon.outside.files import FILE_MODE, make_folder, user_folder

# Ids of what was recorded here since a test failed: some 28,000. Beyond that nothing is noted until
# the tests fail again.
_ATTEMPTS_NOTED_BYTES_MAX: Final = limits.MIB

_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


class RecordedHere:
    """The ids of what was recorded in one checkout, with one memory, since a test failed there. What
    cannot be written or read is not noted: then no test vouches for it.
    """

    def __init__(self, location: str, project: str, checkout: Path) -> None:
        named = "\0".join((location, project, str(checkout))).encode(errors="surrogateescape")
        self._path = user_folder("data") / "attempts" / f"{sha256(named).hexdigest()[:32]}.ids"

    def begin(self) -> None:
        """A test fails: from now on what is recorded is noted."""
        with suppress(OSError, PlaceError):
            make_folder(self._path.parent)
            handle = os.open(self._path, _FLAGS | os.O_CREAT, FILE_MODE)
            with os.fdopen(handle, "rb") as file:
                if os.fstat(file.fileno()).st_size >= _ATTEMPTS_NOTED_BYTES_MAX:
                    os.ftruncate(file.fileno(), 0)

    def add(self, record_ids: Iterable[str]) -> None:
        """Notes that these were recorded, if a test fails."""
        with suppress(OSError):
            handle = os.open(self._path, _FLAGS)
            with os.fdopen(handle, "rb") as file:
                if os.fstat(file.fileno()).st_size < _ATTEMPTS_NOTED_BYTES_MAX:
                    # a line that was cut off does not spoil the next one
                    os.write(file.fileno(), "\n".join(("", *record_ids)).encode())

    def ids(self) -> set[str]:
        """Those that were noted; none where no test failed."""
        try:
            with os.fdopen(os.open(self._path, _FLAGS), "rb") as file:
                noted = file.read(2 * _ATTEMPTS_NOTED_BYTES_MAX)
        except OSError:
            return set()
        return set(noted.decode(errors="replace").split())

    def end(self) -> None:
        """No test fails any more: what was noted is forgotten."""
        with suppress(OSError):
            self._path.unlink()
