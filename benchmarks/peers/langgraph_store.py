"""LangGraph's SQLite store, as `from_conn_string` opens it; with the option `vectors`, with its
index for search by meaning.

The index is an extension of SQLite. Many builds of Python refuse to load any; there the sqlite3 of
the package pysqlite3 stands in, for both variants.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any

if not hasattr(sqlite3.Connection, "enable_load_extension"):
    import pysqlite3  # type: ignore[import-not-found, unused-ignore]

    sys.modules["sqlite3"] = pysqlite3

from langgraph.store.base import PutOp
from langgraph.store.sqlite import SqliteStore  # type: ignore[import-not-found, unused-ignore]

from peers.contract import CannotError, Peer, Record
from peers.wordings import DIMENSION, Wordings

NAMESPACE = ("memory",)
BATCH = 1_000
"""A batch is one statement, and SQLite takes 32,766 values in one."""
PAGE = 10_000


class LangGraphStore(Peer):
    def __init__(self, folder: Path, *, vectors: bool) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.vectors = vectors
        # Its base class calls them fields; this store looks for text_fields, and else embeds the
        # whole record as JSON.
        fields = {"fields": ["text"], "text_fields": ["text"]}
        index = {"dims": DIMENSION, "embed": Wordings().embed, **fields} if vectors else None
        self.open = ExitStack()
        self.store: Any = self.open.enter_context(
            SqliteStore.from_conn_string(str(folder / "store.db"), index=index)
        )
        self.store.setup()

    def about(self) -> dict[str, Any]:
        (journal,) = self.store.conn.execute("PRAGMA journal_mode").fetchone()
        (synchronous,) = self.store.conn.execute("PRAGMA synchronous").fetchone()
        names = ["langgraph-checkpoint-sqlite", "langgraph-checkpoint"] + [
            "sqlite-vec",
            "wordllama",
        ] * self.vectors
        return {
            "versions": {name: version(name) for name in names}
            | {"SQLite": sys.modules["sqlite3"].sqlite_version},
            "durability": f"synced (SQLite, journal {journal}, synchronous "
            f"{('OFF', 'NORMAL', 'FULL', 'EXTRA')[synchronous]})",
        }

    def write_one(self, record: Record) -> None:
        self.store.put(NAMESPACE, record["key"], record)

    def write_bulk(self, records: Sequence[Record]) -> None:
        for start in range(0, len(records), BATCH):
            self.store.batch(
                [
                    PutOp(NAMESPACE, record["key"], record)
                    for record in records[start : start + BATCH]
                ]
            )

    def recall(self, query: str, k: int) -> list[str]:
        if not self.vectors:
            raise CannotError("without an index it takes no notice of the question")
        return [item.value["text"] for item in self.store.search(NAMESPACE, query=query, limit=k)]

    def keys(self) -> list[str]:
        found: list[str] = []
        while page := self.store.search(NAMESPACE, limit=PAGE, offset=len(found)):
            found += [item.key for item in page]
        return found

    def close(self) -> None:
        self.open.close()


def open_peer(folder: Path, options: list[str]) -> Peer:
    return LangGraphStore(folder, vectors="vectors" in options)
