"""The tables of fix history, read: for whoever knows them by their integer ids and columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from hardwon import limits
from hardwon.fixes.tables import CountedStrategy, FixTables, Learned, PatternRow
from hardwon.learn.fix_rows import FixRow
from hardwon.learn.tallies import signature_keys
from hardwon.memory.intake import moment, whole_number
from hardwon.outside.locations import DEFAULT_PROJECT
from hardwon.records.kinds import Issue
from hardwon.search.terms import Filters
from hardwon.store.knowledge import SqlStore

__all__ = ["CountedStrategy", "FixHistory", "FixRow", "Learned", "PatternRow"]


class FixHistory:
    """Rows of `fix_history` and what the tables beside it know."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store

    @contextmanager
    def _tables(self) -> Iterator[FixTables]:
        """As of one instant."""
        with self._store.snapshot(DEFAULT_PROJECT) as session:
            yield FixTables(session)

    def id_of(self, record_id: str) -> int | None:
        """The number of a fix; None where there is no such fix."""
        with self._tables() as tables:
            return tables.id_of(record_id)

    def record_id(self, fix_id: int) -> str | None:
        """The id of the record behind a number."""
        with self._tables() as tables:
            return tables.record_id(fix_id)

    def row(self, fix_id: int) -> FixRow | None:
        with self._tables() as tables:
            return tables.row(fix_id)

    def similar(self, issue: Issue, limit: int) -> tuple[list[FixRow], list[FixRow], list[FixRow]]:
        """Earlier attempts at the same issue (by either signature), at issues of the same model and
        type, and of the same type on any model: verified ones first, then applied ones, then the
        newest.
        """
        limit = whole_number("limit", limit, 1, limits.SHOWN_MAX)
        found = self._store.by_key(
            DEFAULT_PROJECT, signature_keys(issue), Filters(), limits.SIMILAR_CONSIDERED_MAX
        )
        with self._tables() as tables:
            numbers = [number for each in found if (number := tables.id_of(each.id)) is not None]
            exact = [row for number in numbers if (row := tables.row(number))]
            exact.sort(
                key=lambda row: (row.fix_success, row.verification_success, row.timestamp),
                reverse=True,
            )
            of_model = tables.best(issue.issue_type, issue.model, limit)
            return exact[:limit], of_model, tables.best(issue.issue_type, None, limit)

    def recent(
        self, since: datetime | str | None = None, limit: int = 100, model: str | None = None
    ) -> list[FixRow]:
        """The newest attempts, all of them or those of one model."""
        limit = whole_number("limit", limit, 1, limits.SHOWN_MAX)
        first = None if since is None else moment("since", since)
        with self._tables() as tables:
            return tables.newest(first, model, limit)

    def all(self) -> Iterator[FixRow]:
        """Every row, oldest first, as of one instant."""
        with self._tables() as tables:
            yield from tables.all()

    def learned(self) -> Learned:
        """What works, and what does not, by issue type and model."""
        with self._tables() as tables:
            return tables.learned()
