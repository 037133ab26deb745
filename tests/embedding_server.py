"""An embeddings endpoint on this machine that answers as a test tells it to."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from llm_server import FakeLlm

PATH = "/v1/embeddings"
TEXTS_MAX = 32


def vector_of(text: str, dimension: int) -> list[float]:
    """The same for the same text, and never zero."""
    return [1.0 + (len(text) * (place + 1) + sum(text.encode())) % 97 for place in range(dimension)]


def item(index: object, embedding: object) -> dict[str, object]:
    return {"object": "embedding", "index": index, "embedding": embedding}


class FakeEmbeddings(FakeLlm):
    """Like FakeLlm; until told otherwise it answers with vectors, the last text's first."""

    def __init__(self, *, dimension: int = 4) -> None:
        self.dimension = dimension
        super().__init__()
        self.answer(self._vectors)

    def _vectors(self, texts: list[str]) -> list[dict[str, object]]:
        made = [item(at, vector_of(text, self.dimension)) for at, text in enumerate(texts)]
        return made[::-1]

    @property
    def inputs(self) -> list[list[str]]:
        return [asked.body["input"] for asked in self.asked]

    def answer(self, list_items: Callable[[list[str]], Any], *, indent: int | None = None) -> None:
        """With `data` made from the texts that were sent."""

        def behave(handler: Any) -> None:
            if problem := self._problem():
                handler.refuse(*problem)
                return
            body = self.asked[-1].body
            reply = {"object": "list", "model": body["model"], "data": list_items(body["input"])}
            reply["usage"] = {"total_tokens": 1}
            handler.send(200, json.dumps(reply, indent=indent).encode(), {})

        self.behaviour = behave

    def _problem(self) -> tuple[int, str] | None:
        """What a real endpoint would have against the last request."""
        asked = self.asked[-1]
        if (asked.method, asked.path) != ("POST", PATH):
            return 404, "unknown address"
        texts = asked.body["input"]
        said = [isinstance(text, str) and text.strip() for text in texts]
        if not (asked.body["model"] and said and all(said)):
            return 400, "'$.input' is invalid"
        return (413, "batch size too large") if len(texts) > TEXTS_MAX else None
