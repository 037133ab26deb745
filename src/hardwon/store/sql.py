"""How statements that both engines share are run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

Values = Sequence[Any]


class Session(ABC):
    """One connection. Statements have numbered parameters: ?1, ?2 … (bare ? are numbered in their order)."""

    @abstractmethod
    def select(self, sql: str, values: Values = ()) -> list[tuple[Any, ...]]:
        """All rows."""

    @abstractmethod
    def first(self, sql: str, values: Values = ()) -> tuple[Any, ...] | None:
        """The first row, None where there is none."""

    @abstractmethod
    def run(self, sql: str, values: Values = ()) -> int:
        """How many rows it changed."""

    @abstractmethod
    def run_many(self, sql: str, rows: Iterable[Values]) -> None:
        """The same statement for each of the rows."""
