"""Hardwon, with nothing set; with the option `vectors`, with the same small model as the others."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hardwon import Experience, Memory
from peers.contract import Peer, Record


def experience(record: Record) -> Experience:
    return Experience(
        content=record["text"], **{name: value for name, value in record.items() if name != "text"}
    )


class HardwonMemory(Peer):
    def __init__(self, folder: Path, *, vectors: bool) -> None:
        self.vectors = vectors
        embedder = None
        if vectors:
            from hardwon.outside.embedders import WordLlamaEmbedder

            embedder = WordLlamaEmbedder()
        self.memory = Memory(folder, embedder=embedder)

    def about(self) -> dict[str, Any]:
        return {
            "versions": {name: version(name) for name in ("hardwon", "apsw")},
            "durability": "synced (SQLite, WAL, synchronous FULL)",
        }

    def write_one(self, record: Record) -> None:
        self.memory.add(experience(record))

    def write_bulk(self, records: Sequence[Record]) -> None:
        self.memory.add_many([experience(record) for record in records])
        if self.vectors:  # the others make them before they return
            self.memory.care.wait_for_vectors()

    def recall(self, query: str, k: int) -> list[str]:
        return [str(getattr(hit.record, "content", "")) for hit in self.memory.recall(query, k)]

    def keys(self) -> list[str]:
        return [
            record.extra["key"] for record in self.memory.browse() if isinstance(record, Experience)
        ]

    def close(self) -> None:
        self.memory.close()

    def keep_episode(self, record: Record, episode: dict[str, Any]) -> None:  # noqa: ARG002  # it has a kind for these
        self.memory.record_trajectory(**episode)

    def hand_out(self, query: str, budget_tokens: int) -> str:
        # only here: a process that only recalls must not pay for it
        from replay import words_tokens

        return str(
            self.memory.context(query, budget_tokens=budget_tokens, count_tokens=words_tokens)
        )


def open_peer(folder: Path, options: list[str]) -> Peer:
    return HardwonMemory(folder, vectors="vectors" in options)
