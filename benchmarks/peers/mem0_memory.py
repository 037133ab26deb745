"""mem0 without an LLM (`infer=False`), with the vector store that it takes when told nothing, kept
in a folder.

Its embedder is the class for LangChain's embeddings, so that the same model in this process can
serve. Its keyword search wants a model that it would download, and is off.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from tempfile import gettempdir
from typing import Any

os.environ["MEM0_TELEMETRY"] = "False"
os.environ["MEM0_DIR"] = str(Path(gettempdir()) / "mem0-settings")

from langchain.embeddings.base import Embeddings  # type: ignore[import-not-found, unused-ignore]
from mem0 import Memory  # type: ignore[import-not-found, unused-ignore]

from peers.contract import Peer, Record
from peers.wordings import DIMENSION, Wordings

USER = "bench"
EVERYTHING = 10_000_000


class LangChainWordings(Embeddings):  # type: ignore[misc, unused-ignore]
    def __init__(self) -> None:
        self.wordings = Wordings()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.wordings.embed(texts)

    def embed_query(self, text: str) -> list[float]:
        return self.wordings.embed([text])[0]


class Mem0Memory(Peer):
    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        places = {"collection_name": "memory", "path": str(folder / "qdrant"), "on_disk": True}
        self.memory: Any = Memory.from_config(
            {
                "vector_store": {
                    "provider": "qdrant",
                    "config": places | {"embedding_model_dims": DIMENSION},
                },
                "embedder": {"provider": "langchain", "config": {"model": LangChainWordings()}},
                "llm": {"provider": "openai", "config": {"api_key": "never asked"}},
                "history_db_path": str(folder / "history.db"),
            }
        )

    def about(self) -> dict[str, Any]:
        return {
            "versions": {
                name: version(name)
                for name in ("mem0ai", "qdrant-client", "langchain", "wordllama")
            },
            "durability": "synced (SQLite with its defaults: the vector store's file, then the "
            "history)",
        }

    def write_one(self, record: Record) -> None:
        about = {name: value for name, value in record.items() if name != "text"}
        self.memory.add(
            [{"role": "user", "content": record["text"]}], user_id=USER, metadata=about, infer=False
        )

    def write_bulk(self, records: Sequence[Record]) -> None:
        """There is no call that takes many with metadata of their own; of a list of messages it
        makes single writes too.
        """
        for record in records:
            self.write_one(record)

    def recall(self, query: str, k: int) -> list[str]:
        return [
            found["memory"]
            for found in self.memory.search(query, filters={"user_id": USER}, top_k=k)["results"]
        ]

    def keys(self) -> list[str]:
        kept = self.memory.get_all(filters={"user_id": USER}, top_k=EVERYTHING)["results"]
        return [found["metadata"]["key"] for found in kept]

    def close(self) -> None:
        self.memory.close()
        self.memory.vector_store.client.close()


def open_peer(folder: Path, options: list[str]) -> Peer:  # noqa: ARG001  # it has none
    return Mem0Memory(folder)
