"""Chroma as its guide for one machine has it: a persistent client, a collection, documents with
their vectors.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ["ANONYMIZED_TELEMETRY"] = "False"

import chromadb  # type: ignore[import-not-found, unused-ignore]

from peers.contract import Peer, Record
from peers.wordings import Wordings


class ChromaCollection(Peer):
    def __init__(self, folder: Path) -> None:
        self.wordings = Wordings()
        self.client: Any = chromadb.PersistentClient(path=str(folder))
        self.collection: Any = self.client.get_or_create_collection(
            "memory", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )
        self.batch: int = self.client.get_max_batch_size()
        with closing(sqlite3.connect(folder / "chroma.sqlite3")) as beside:
            (self.journal,) = beside.execute("PRAGMA journal_mode").fetchone()

    def about(self) -> dict[str, Any]:
        return {
            "versions": {name: version(name) for name in ("chromadb", "wordllama")},
            "durability": f"synced (SQLite, journal {self.journal}); the vector index follows from "
            f"a log in it",
        }

    def write_one(self, record: Record) -> None:
        self.write_bulk([record])

    def write_bulk(self, records: Sequence[Record]) -> None:
        for start in range(0, len(records), self.batch):
            some = records[start : start + self.batch]
            texts = [record["text"] for record in some]
            abouts = [
                {name: value for name, value in record.items() if name not in ("key", "text")}
                for record in some
            ]
            self.collection.add(
                ids=[record["key"] for record in some],
                documents=texts,
                embeddings=self.wordings.embed(texts),
                metadatas=[about or None for about in abouts],
            )

    def recall(self, query: str, k: int) -> list[str]:
        found = self.collection.query(
            query_embeddings=self.wordings.embed([query]), n_results=k, include=["documents"]
        )
        return list(found["documents"][0])

    def keys(self) -> list[str]:
        return list(self.collection.get(include=[])["ids"])

    def close(self) -> None:
        self.client.close()


def open_peer(folder: Path, options: list[str]) -> Peer:  # noqa: ARG001  # it has none
    return ChromaCollection(folder)
