"""How statements that every engine shares are run, and worded where the engines differ.

Shared statements are written once, in `reading.py`, `writing.py` and `tallies.py`. They stay within what SQLite and PostgreSQL
both understand and ask a Dialect for the rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Values = Sequence[Any]


class Session(ABC):
    """One connection, inside or outside of a transaction. The parameters of a statement are numbered: ?1, ?2 …"""

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
        """The same statement for many rows."""

    def each(self, sql: str, values: Values = ()) -> Iterator[tuple[Any, ...]]:
        """The rows one after the other, other statements of this session in between: for results that may be larger than
        what should be held at once. An engine that reads on as it is asked says how."""
        yield from self.select(sql, values)


class Dialect(ABC):
    """The words of one engine."""

    least: str
    greatest: str
    """The smallest, and the largest, of several values in one row."""
    join: str
    """A join of what stands before it with what stands after it, in that order where the engine can be told so."""
    solved: str
    """Whether the record `r` turned out well; NULL where that is no question."""

    @abstractmethod
    def hint(self, index: str) -> str:
        """After the name of a table: the index to go by, where the engine can be told so."""

    @abstractmethod
    def within(self, value: str, parameter: str) -> str:
        """Whether a value is one of those in a parameter, which were `listed`."""

    @abstractmethod
    def listed(self, values: Iterable[Any]) -> Any:
        """Several values as one parameter."""

    @abstractmethod
    def same_row(self, one: str, other: str) -> str:
        """Whether rows of two tables, by their aliases, belong to the same record. Both tables have its number and project."""

    @abstractmethod
    def same_text(self, row: str) -> str:
        """Whether a row of `record_text` belongs to the same record as another row, by its alias."""

    @abstractmethod
    def said(self, event: str, name: str) -> str:
        """What an event says under a name: `by`, `status`, `replaced_by` or `undoes`."""

    @abstractmethod
    def given(self, name: str) -> str:
        """What the experience `r` says under a key, a parameter, as text; NULL where it says nothing, or cannot be read."""

    @abstractmethod
    def has_key(self, name: str, value: str) -> str:
        """Whether the record `r` is an experience with this key and this value of it, both parameters."""

    @abstractmethod
    def matches_glob(self, path: str, parameter: str) -> str:
        """Whether a path matches a parameter, which is a `glob`."""

    @abstractmethod
    def glob(self, pattern: str) -> str:
        """A pattern of paths, with `*` (which also crosses folders), `?`, `[…]` and `[^…]`, as a parameter."""

    @abstractmethod
    def make_fresh_tallies(self, session: Session) -> None:
        """Makes an empty table `fresh` like `tally`, for this session alone; one that was left over goes."""

    @abstractmethod
    def insert_many(self, session: Session, table: str, columns: Mapping[str, str], rows: Iterable[Values], also: str) -> None:
        """Inserts rows in their order. `columns` have their types; `also` ends the statement: what to do about a conflict."""


class Bound(list[Any]):
    """The values of a statement that is put together, in the order of their numbers."""

    def add(self, value: Any) -> str:
        """The parameter that stands for a value."""
        self.append(value)
        return f"?{len(self)}"
