"""Tokens in the database: what the file of tokens is to a memory in a file. Only whoever runs a
server reaches them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Final

from hardwon import limits
from hardwon.store.postgres.connection import Link, PostgresSession
from hardwon.store.postgres.schema import SCHEMA
from hardwon.store.types import TokenKeep, TokenRow

_COLUMNS: Final = ", ".join(TokenRow._fields)
_LOCK: Final = 0x48574E54


class TokenTable(TokenKeep):
    """The tokens of all memories in one database."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def close(self) -> None:
        """The connections are the store's."""

    def all(self) -> list[TokenRow]:
        with self._link.reading() as session:
            return [
                TokenRow._make(row)
                for row in session.select(f"SELECT {_COLUMNS} FROM token ORDER BY created_us, id")
            ]

    def get(self, token_id: str) -> TokenRow | None:
        with self._link.reading() as session:
            row = session.first(f"SELECT {_COLUMNS} FROM token WHERE id = ?1", (token_id,))
        return TokenRow._make(row) if row else None

    def add(self, token: TokenRow, ended_before_us: int) -> int:
        with self._writing() as session:
            session.run(
                "DELETE FROM token WHERE expires_us < ?1 OR revoked_us < ?1", (ended_before_us,)
            )
            (count,) = session.first("SELECT count(*) FROM token") or (0,)
            if count < limits.TOKENS_MAX:
                marks = ", ".join(f"?{number + 1}" for number in range(len(token)))
                session.run(f"INSERT INTO token ({_COLUMNS}) VALUES ({marks})", token)
                session.witness = "SELECT 1 FROM token WHERE id = ?1", (token.id,)
        return int(count) + 1

    def revoke(self, token_ids: Sequence[str], at_us: int) -> None:
        with self._writing() as session:
            sql = "UPDATE token SET revoked_us = ?1 WHERE id = ANY (?2) AND revoked_us IS NULL"
            if session.run(sql, (at_us, list(token_ids))):
                session.witness = (
                    "SELECT 1 FROM token WHERE id = ANY (?2) AND revoked_us = ?1",
                    (at_us, list(token_ids)),
                )

    def _writing(self) -> AbstractContextManager[PostgresSession]:
        return self._link.writing(SCHEMA, _LOCK, alone=True)
