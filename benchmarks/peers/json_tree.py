"""What one writes in an afternoon: a JSON file for each record, and a search that reads them
all.
"""

from __future__ import annotations

import heapq
import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from peers.contract import Peer, Record


def words_of(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


class JsonTree(Peer):
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def about(self) -> dict[str, Any]:
        return {
            "versions": {},
            "durability": "one by one: synced, then renamed into place; in bulk: neither, as most "
            "scripts do it",
        }

    def _path(self, record: Record) -> Path:
        """In 256 folders by the end of the key: nobody wants a million names in one."""
        folder = self.folder / f"{sum(record['key'].encode()) * 31 % 256:02x}"
        folder.mkdir(exist_ok=True)
        return folder / f"{record['key']}.json"

    def write_one(self, record: Record) -> None:
        path = self._path(record)
        draft = path.with_suffix(".draft")
        with draft.open("w") as file:
            json.dump(record, file)
            file.flush()
            os.fsync(file.fileno())
        draft.rename(path)

    def write_bulk(self, records: Sequence[Record]) -> None:
        for record in records:
            self._path(record).write_text(json.dumps(record))

    def _records(self) -> Iterator[Record]:
        for folder in os.scandir(self.folder):
            for entry in os.scandir(folder.path):
                if entry.name.endswith(".json"):
                    with open(entry.path) as file:  # noqa: PTH123  # a Path for each of a million files costs more than reading it
                        yield json.load(file)

    def recall(self, query: str, k: int) -> list[str]:
        asked = words_of(query)
        texts = (record["text"] for record in self._records())
        return heapq.nlargest(k, texts, key=lambda text: len(asked & words_of(text)))

    def keys(self) -> list[str]:
        return [record["key"] for record in self._records()]

    def close(self) -> None:
        pass


def open_peer(folder: Path, options: list[str]) -> Peer:  # noqa: ARG001  # it has none
    return JsonTree(folder)
