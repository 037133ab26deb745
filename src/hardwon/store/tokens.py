"""Tokens are kept beside the memory, in a file of their own: a backup of the memory does not hold
them, and restoring one brings no revoked token back. Never a token itself, only its digest.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import apsw

from hardwon import limits
from hardwon.errors import ForeignFileError
from hardwon.outside import files
from hardwon.store.sqlite.file import connect
from hardwon.store.sqlite.session import storage_errors
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

    def all(self) -> list[TokenRow]:
        with self._open() as connection:
            if connection is None:
                return []
            return [
                TokenRow(*row)
                for row in connection.execute("SELECT * FROM token ORDER BY created_us, id")
            ]

    def get(self, token_id: str) -> TokenRow | None:
        with self._open() as connection:
            if connection is None:
                return None
            row = connection.execute("SELECT * FROM token WHERE id = ?", (token_id,)).fetchone()
            return TokenRow(*row) if row else None

    def add(self, token: TokenRow, ended_before_us: int) -> int:
        self._create_if_missing()
        with self._open() as connection:
            assert connection is not None  # noqa: S101  # for type checkers: the file was just made
            with connection:
                connection.execute(
                    "DELETE FROM token WHERE expires_us < ?1 OR revoked_us < ?1", (ended_before_us,)
                )
                count: int = connection.execute("SELECT count(*) FROM token").get
                if count < limits.TOKENS_MAX:
                    connection.execute(
                        f"INSERT INTO token VALUES (?{', ?' * (len(token) - 1)})", token
                    )
            return count + 1

    def revoke(self, token_ids: Sequence[str], at_us: int) -> None:
        with self._open() as connection:
            if connection is not None:
                with connection:
                    connection.executemany(
                        "UPDATE token SET revoked_us = ? WHERE id = ? AND revoked_us IS NULL",
                        [(at_us, token_id) for token_id in token_ids],
                    )

    @contextmanager
    def _open(self) -> Iterator[apsw.Connection | None]:
        """The connection, which one thread uses at a time; None where there is no file yet."""
        with self._lock, storage_errors(self._path):
            if self._connection is None and self._path.exists():
                self._connection = connect(self._path)
                # There is no log: a commit takes its journal's name away. Were that not synced, a
                # power cut would bring the journal back, and with it the token that was revoked.
                self._connection.execute("PRAGMA synchronous = EXTRA").fetchall()
                if self._connection.pragma("application_id") != _APPLICATION_ID:
                    self._connection.close()
                    self._connection = None
                    raise ForeignFileError(
                        f"{self._path} does not hold tokens: move it elsewhere, its name is taken"
                    )
            yield self._connection

    def _create_if_missing(self) -> None:
        temporary = files.temporary_beside(self._path)
        try:
            if self._path.exists():
                return
            files.create(temporary).close()
            try:
                with storage_errors(self._path), closing(connect(temporary)) as connection:
                    connection.execute(f"BEGIN; {_SCHEMA} COMMIT").fetchall()
                files.publish(temporary, self._path)
            except FileExistsError:
                return  # another process was first, and its file is as good as ours
            finally:
                files.remove(temporary)
        except OSError as error:
            raise files.disk_error(error, self._path) from error
