"""Tokens are kept beside the memory, in a file of their own: a backup of the memory does not hold
them, and restoring one brings no revoked token back. Never a token itself, only its digest.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import apsw

from hardwon.errors import ForeignFileError
from hardwon.store.sqlite.connection import SqliteSession, storage_errors
from hardwon.store.sqlite.file import connect, create_if_missing
from hardwon.store.types import TokenKeep, TokenRow

_APPLICATION_ID: Final = 0x48574E54  # "HWNT"
_SCHEMA: Final = f"""
PRAGMA application_id = {_APPLICATION_ID};
CREATE TABLE token (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    digest BLOB NOT NULL,
    scope TEXT NOT NULL,
    projects TEXT,
    created_us INTEGER NOT NULL,
    expires_us INTEGER,
    revoked_us INTEGER
) STRICT, WITHOUT ROWID;
"""


class TokenFile(TokenKeep):
    """The tokens of one memory. The file is made with the first of them."""

    def __init__(self, memory_file: Path) -> None:
        self._path = memory_file.with_suffix(".tokens.db")
        self._lock = threading.Lock()
        self._connection: apsw.Connection | None = None

    def close(self) -> None:
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    def add(self, token: TokenRow, ended_before_us: int) -> int:
        create_if_missing(
            self._path, lambda new: new.execute(f"BEGIN; {_SCHEMA} COMMIT").fetchall()
        )
        return super().add(token, ended_before_us)

    @contextmanager
    def _transaction(self, *, writing: bool = False) -> Iterator[SqliteSession]:  # noqa: ARG002  # both are a savepoint
        """On the connection, which one thread uses at a time. Where there is no file yet, it is as
        if there were an empty one.
        """
        with self._lock, storage_errors(self._path):
            if self._connection is None and self._path.exists():
                self._open()
            connection = self._connection or apsw.Connection(":memory:")
            if self._connection is None:
                connection.execute(_SCHEMA).fetchall()
            with connection:
                yield SqliteSession(connection)

    def _open(self) -> None:
        connection = connect(self._path)
        # There is no log: a commit takes its journal's name away. Were that not synced, a power cut
        # would bring the journal back, and with it the token that was revoked.
        connection.execute("PRAGMA synchronous = EXTRA").fetchall()
        if connection.pragma("application_id") != _APPLICATION_ID:
            connection.close()
            raise ForeignFileError(
                f"{self._path} does not hold tokens: move it elsewhere, its name is taken"
            )
        self._connection = connection
