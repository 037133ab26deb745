"""What a store has to do to stand in the side by side. Every store is driven by these few calls, in
a process of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

Record = dict[str, Any]
"""`key` and `text`, and what else is known about the text: each store keeps it where such things go
in that store.
"""

HANDED_OUT = 10


class CannotError(Exception):
    """This store has no such thing. The message says why, in words for the page."""


class Peer(ABC):
    """A store that is open. A write that returns is acknowledged."""

    @abstractmethod
    def about(self) -> dict[str, Any]:
        """`versions`, a mapping of packages, and `durability`, what an acknowledged write has
        behind it.
        """

    @abstractmethod
    def write_one(self, record: Record) -> None: ...

    @abstractmethod
    def write_bulk(self, records: Sequence[Record]) -> None: ...

    @abstractmethod
    def recall(self, query: str, k: int) -> list[str]:
        """The texts that answer best, the best one first."""

    @abstractmethod
    def keys(self) -> list[str]:
        """The keys of everything that is kept."""

    @abstractmethod
    def close(self) -> None: ...

    def keep_episode(self, record: Record, episode: dict[str, Any]) -> None:  # noqa: ARG002  # for those who keep more
        """An attempt with its steps. Where there is no such kind of record its text is what is
        kept.
        """
        self.write_one(record)

    def hand_out(self, query: str, budget_tokens: int) -> str:  # noqa: ARG002  # the caller cuts
        """What goes into a prompt: the best texts one after the other, unless the store has
        something of its own.
        """
        return " ".join(self.recall(query, HANDED_OUT))
