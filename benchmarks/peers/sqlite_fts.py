"""Python's own sqlite3 with an FTS5 table, as one finds it in tutorials: WAL, bm25, the words of
the question joined by OR.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peers.contract import Peer, Record

BUSY_SECONDS = 30.0
SCHEMA = """
    CREATE TABLE IF NOT EXISTS record (number INTEGER PRIMARY KEY, key TEXT UNIQUE, text TEXT, about TEXT);
    CREATE VIRTUAL TABLE IF NOT EXISTS record_text USING fts5 (text, content = 'record', content_rowid = 'number');
    CREATE TRIGGER IF NOT EXISTS record_in AFTER INSERT ON record BEGIN
        INSERT INTO record_text (rowid, text) VALUES (new.number, new.text);
    END;
"""


def row(record: Record) -> tuple[str, str, str]:
    about = {name: value for name, value in record.items() if name not in ("key", "text")}
    return record["key"], record["text"], json.dumps(about)


class SqliteFts(Peer):
    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.connection = sqlite3.connect(folder / "memory.db", timeout=BUSY_SECONDS)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.executescript(SCHEMA)

    def about(self) -> dict[str, Any]:
        (synchronous,) = self.connection.execute("PRAGMA synchronous").fetchone()
        return {
            "versions": {"SQLite of Python": sqlite3.sqlite_version},
            "durability": f"synced (SQLite, WAL, synchronous "
            f"{('OFF', 'NORMAL', 'FULL', 'EXTRA')[synchronous]})",
        }

    def write_one(self, record: Record) -> None:
        self.write_bulk([record])

    def write_bulk(self, records: Sequence[Record]) -> None:
        with self.connection:
            self.connection.executemany(
                "INSERT INTO record (key, text, about) VALUES (?, ?, ?)", map(row, records)
            )

    def recall(self, query: str, k: int) -> list[str]:
        match = " OR ".join(
            f'"{word}"' for word in dict.fromkeys(re.findall(r"\w+", query.lower()))
        )
        sql = (
            "SELECT record.text FROM record_text JOIN record ON record.number = record_text.rowid "
            "WHERE record_text MATCH ? ORDER BY rank LIMIT ?"
        )
        return [text for (text,) in self.connection.execute(sql, (match, k))] if match else []

    def keys(self) -> list[str]:
        return [key for (key,) in self.connection.execute("SELECT key FROM record")]

    def close(self) -> None:
        self.connection.close()


def open_peer(folder: Path, options: list[str]) -> Peer:  # noqa: ARG001  # it has none
    return SqliteFts(folder)
