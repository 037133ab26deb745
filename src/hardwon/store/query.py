"""What every store that speaks SQL answers in the same words."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final

from hardwon import limits
from hardwon.learn.odds import Share
from hardwon.learn.tallies import Tally
from hardwon.records.kinds import INTERNAL_KINDS, Event
from hardwon.search.terms import Filters
from hardwon.store import knowledge as tallies
from hardwon.store import phrases
from hardwon.store.phrases import ORDINARY, STORED
from hardwon.store.rows import event_of
from hardwon.store.types import (
    Active,
    Bound,
    Counts,
    Cursor,
    Daily,
    DayTotal,
    Dialect,
    Found,
    Routed,
    Session,
    Store,
    Stored,
    Total,
    Values,
)
from hardwon.trust.lifecycle import BY_TREE

_BEHIND_ALL: Final = "\U0010ffff"
"""Stands behind every character that a text may go on with."""


class SqlStore(Store):
    """The readings that engines share. What only one of them can do, or does better, is in its own store."""

    dialect: Dialect

    @abstractmethod
    def _reading(self, project: str) -> AbstractContextManager[Session]:
        """A session that reads one project."""

    @abstractmethod
    def _snapshot(self, project: str) -> AbstractContextManager[Session]:
        """The same, inside one read transaction: everything is seen as of one instant."""

    def _stored(self, project: str, sql: str, values: Values) -> list[Stored]:
        with self._reading(project) as session:
            return [Stored._make(row) for row in session.select(sql, values)]

    # --- records ---

    def get(self, project: str, record_id: str) -> Stored | None:
        with self._reading(project) as session:
            return phrases.stored_of(session, project, record_id)

    def page(self, project: str, filters: Filters, before: Cursor | None, limit: int, *, trusted: bool = False) -> list[Stored]:
        with self._reading(project) as session:
            return phrases.page(session, self.dialect, project, filters, before, limit, only_trusted=trusted)

    def marked(self, project: str, filters: Filters, by: str, status: str, limit: int) -> list[Stored]:
        where, bound = phrases.where(self.dialect, project, filters)
        said = self.dialect.said
        happened = "SELECT 1 FROM event e WHERE e.project_id = r.project_id AND e.record_id = r.id AND e.kind"
        sql = (
            f"SELECT {STORED} FROM record r WHERE {where} AND EXISTS ({happened} = 'status' "
            f"AND {said('e', 'by')} = {bound.add(by)} AND {said('e', 'status')} = {bound.add(status)}) "
            f"AND NOT EXISTS ({happened} = 'imported') ORDER BY r.at_us DESC, r.id DESC LIMIT {bound.add(limit)}"
        )
        return self._stored(project, sql, bound)

    def most_helpful(self, project: str, status: str, limit: int) -> list[tuple[Stored, int, int]]:
        # Those that were credited, and those that attempts name which turned out well; of the latter, those that most do.
        most = limits.HELPFUL_CONSIDERED_MAX
        trusted = phrases.trusted_authors(self.dialect)
        credited = (
            f"SELECT id FROM record WHERE project_id = ?1 AND status = ?2 AND helped > 0 ORDER BY helped DESC LIMIT {most}"
        )
        named = (
            f"SELECT key FROM tally WHERE project_id = ?1 AND scope = 'credit' AND {trusted} "
            f"GROUP BY key ORDER BY sum(level1) DESC LIMIT {most}"
        )
        good, bad = phrases.credited(self.dialect)
        considered = (
            f"SELECT {good} AS good, {bad} AS bad, {STORED} FROM record r WHERE r.project_id = ?1 AND r.status = ?2 "
            f"AND r.id IN (SELECT c.id FROM ({credited}) c UNION SELECT n.key FROM ({named}) n) AND r.{ORDINARY} "
            f"AND r.{trusted}"
        )
        sql = (
            f"SELECT r.good, r.bad, {STORED} FROM ({considered}) r WHERE r.good > 0 "
            "ORDER BY r.good DESC, r.at_us DESC, r.id DESC LIMIT ?3"
        )
        with self._reading(project) as session:
            found = session.select(sql, (project, status, limit))
        return [(Stored(*row), int(good), int(bad)) for good, bad, *row in found]

    def held_as_stale(self, project: str, limit: int) -> list[tuple[Stored, Event]]:
        # What somebody decided later stands above it, and so does that the files are again what they were.
        by = self.dialect.said("l", "by")
        sql = (
            f"SELECT e.body, {STORED} FROM event e {self.dialect.join} record r ON r.project_id = e.project_id "
            f"AND r.id = e.record_id WHERE e.project_id = ?1 AND e.kind = 'stale' AND r.status = 'archived' AND r.{ORDINARY} "
            "AND NOT EXISTS (SELECT 1 FROM event l WHERE l.project_id = e.project_id AND l.record_id = e.record_id "
            f"AND (l.at_us, l.id) > (e.at_us, e.id) AND NOT {phrases.undone(self.dialect, 'l')} "
            f"AND (l.kind IN ('status', 'fresh', 'stale') OR (l.kind = 'superseded' AND {by} <> ?2))) "
            "ORDER BY e.at_us DESC, e.id DESC LIMIT ?3"
        )
        with self._reading(project) as session:
            found = session.select(sql, (project, BY_TREE, limit))
        return [(Stored(*row), event_of(body)) for body, *row in found]

    def newest_of_others(self, project: str, author: str, until_us: int) -> int:
        sql = (
            f"SELECT r.at_us FROM record r WHERE r.project_id = ?1 AND r.{ORDINARY} AND r.author <> ?2 AND r.at_us < ?3 "
            "ORDER BY r.at_us DESC LIMIT 1"
        )
        with self._reading(project) as session:
            found = session.first(sql, (project, author, until_us))
        return int(found[0]) if found else 0

    def events_of(self, project: str, record_id: str) -> list[Event]:
        with self._reading(project) as session:
            return phrases.events_of(session, project, record_id)

    def by_key(self, project: str, keys: Sequence[str], filters: Filters, limit: int) -> list[Found]:
        if not keys:
            return []
        where, bound = phrases.searchable(self.dialect, project, filters)
        # Said one by one, a planner knows how many there are, and plans once for all of them.
        within = f"key IN ({', '.join(map(bound.add, keys))})"
        # From the few rows of the keys to their records, not through all records in the order of time.
        sql = (
            f"SELECT {phrases.found_columns(self.dialect)} FROM (SELECT DISTINCT project_id, seq FROM record_key "
            f"WHERE project_id = ?1 AND {within}) k {self.dialect.join} record r ON {self.dialect.same_row('r', 'k')} "
            f"{self.dialect.join} record_text ON {self.dialect.same_text('k')} WHERE {where} "
            f"ORDER BY r.at_us DESC, r.id DESC LIMIT {bound.add(limit)}"
        )
        with self._reading(project) as session:
            return [phrases.found(row) for row in session.select(sql, bound)]

    def with_files(self, project: str, after_id: str, limit: int) -> list[Stored]:
        sql = (
            f"SELECT {STORED} FROM record r{self.dialect.hint('record_by_id')} WHERE r.project_id = ?1 AND r.id > ?2 "
            f"AND r.{ORDINARY} AND EXISTS (SELECT 1 FROM record_file f WHERE {self.dialect.same_row('f', 'r')}) "
            "ORDER BY r.id LIMIT ?3"
        )
        return self._stored(project, sql, (project, after_id, limit))

    def fixes_before(self, project: str, before_us: int, after: Cursor, limit: int) -> list[Stored]:
        sql = (
            f"SELECT {STORED} FROM record r{self.dialect.hint('record_by_time')} WHERE r.project_id = ?1 AND r.at_us < ?2 "
            "AND (r.at_us, r.id) > (?3, ?4) AND r.kind = 'fix' AND r.status <> 'archived' ORDER BY r.at_us, r.id LIMIT ?5"
        )
        return self._stored(project, sql, (project, before_us, *after, limit))

    def newest_fixes(self, project: str, key: str) -> tuple[str | None, str | None]:
        fixes = (
            f"SELECT r.id FROM record_key k {self.dialect.join} record r ON {self.dialect.same_row('r', 'k')} "
            f"WHERE k.project_id = ?1 AND k.key = ?2 AND r.kind = 'fix' AND {phrases.trusted(self.dialect)}"
        )
        newest_first = "ORDER BY r.at_us DESC, r.id DESC LIMIT 1"
        with self._snapshot(project) as session:
            newest = session.first(f"{fixes} {newest_first}", (project, key))
            worked = newest and session.first(f"{fixes} AND {self.dialect.solved} {newest_first}", (project, key))
        return newest[0] if newest else None, worked[0] if worked else None

    def decisions(
        self, project: str, actions: Sequence[str], task_id: str | None, limit: int, *, undone: bool = False
    ) -> list[Stored]:
        bound = Bound([project, self.dialect.listed(actions), limit])
        of_task = "" if task_id is None else f"AND (r.task_id IS NULL OR r.task_id = {bound.add(task_id)}) "
        sql = (
            f"SELECT {STORED} FROM record r{self.dialect.hint('record_decision')} WHERE r.project_id = ?1 "
            f"AND r.kind = 'decision' AND r.status {'=' if undone else '<>'} 'archived' "
            f"AND (r.outcome = 'rollback' OR r.{phrases.trusted_authors(self.dialect)}) "
            f"AND {self.dialect.within('r.outcome', '?2')} {of_task}ORDER BY r.at_us DESC, r.id DESC LIMIT ?3"
        )
        return self._stored(project, sql, bound)

    def tags(self, project: str, start: str) -> list[str]:
        sql = (
            f"SELECT DISTINCT t.tag FROM record_tag t {self.dialect.join} record r ON {self.dialect.same_row('r', 't')} "
            f"WHERE t.project_id = ?1 AND t.tag >= ?2 AND t.tag < ?3 AND {phrases.trusted(self.dialect)}"
        )
        with self._reading(project) as session:
            return sorted(tag for (tag,) in session.select(sql, (project, start, start + _BEHIND_ALL)))

    def superseded_by(self, project: str, record_id: str) -> list[str]:
        sql = (
            "SELECT e.record_id FROM event e WHERE e.project_id = ?1 AND e.kind = 'superseded' "
            f"AND {self.dialect.said('e', 'replaced_by')} = ?2 AND NOT {phrases.undone(self.dialect, 'e')} "
            "ORDER BY e.at_us, e.id"
        )
        with self._reading(project) as session:
            return list(dict.fromkeys(found for (found,) in session.select(sql, (project, record_id))))

    # --- figures ---

    def counts(self, project: str) -> Counts:
        # One way through all rows, which in a large memory takes its time, instead of one for each figure.
        sql = (
            "SELECT kind, outcome, tool, status, author, count(*), min(at_us), max(at_us) FROM record WHERE project_id = ?1 "
            "GROUP BY 1, 2, 3, 4, 5"
        )
        happened = (
            "SELECT count(*), count(DISTINCT CASE WHEN kind = 'forgotten' THEN record_id END) FROM event WHERE project_id = ?1"
        )
        with self._snapshot(project) as session:
            groups = session.select(sql, (project,))
            events, forgotten = session.first(happened, (project,)) or (0, 0)
        internal = {kind: sum(group[5] for group in groups if group[0] == kind) for kind in INTERNAL_KINDS}
        ordinary = [group for group in groups if group[0] not in internal]
        kinds, outcomes, tools, statuses, authors = (_added_up(ordinary, column) for column in range(5))
        return Counts(
            sum(group[5] for group in ordinary),
            internal["decision"],
            internal["adopted"],
            internal["cleaned"],
            events,
            forgotten,
            kinds,
            outcomes,
            tools,
            statuses,
            authors,
            min((group[6] for group in ordinary), default=None),
            max((group[7] for group in ordinary), default=None),
        )

    def activity(self, project: str, since_day: int, until_day: int) -> list[Active]:
        # The index of counts holds all that is asked for, so no record is read.
        sql = (
            f"SELECT at_us / {limits.DAY_US}, kind, count(*), "
            "count(*) FILTER (WHERE outcome = 'success' AND status <> 'archived'), "
            "count(*) FILTER (WHERE outcome = 'failure' AND status <> 'archived') "
            f"FROM record{self.dialect.hint('record_counted')} "
            f"WHERE project_id = ?1 AND {ORDINARY} AND at_us >= ?2 AND at_us < ?3 GROUP BY 1, 2 ORDER BY 1, 2"
        )
        with self._snapshot(project) as session:
            found = session.select(sql, (project, since_day * limits.DAY_US, until_day * limits.DAY_US))
            judged = tallies.judged_days(session, self.dialect, project, since_day, until_day)
        return [Active(day, kind, count, *judged.get((kind, day), (good, bad))) for day, kind, count, good, bad in found]

    def count(self, project: str, filters: Filters, *, trusted: bool = False) -> int:
        where, bound = phrases.where(self.dialect, project, filters)
        if trusted:
            where += f" AND {phrases.trusted(self.dialect)}"
        with self._reading(project) as session:
            (found,) = session.first(f"SELECT count(*) FROM record r WHERE {where}", bound) or (0,)
        return int(found)

    def routes(self, project: str, keys: Sequence[str]) -> list[Routed]:
        bound = Bound([project])
        given = "".join(f"{self.dialect.given(bound.add(key))}, " for key in keys)
        unrouted = f"({self.dialect.given(bound.add('unrouted'))}) IS NOT NULL"
        sql = (
            f"SELECT r.outcome, r.tool, {given}{unrouted}, count(*), sum(octet_length(r.body)) FROM record r "
            "WHERE r.project_id = ?1 AND r.kind = 'experience' AND r.status <> 'archived' "
            f"GROUP BY {', '.join(str(column) for column in range(1, len(keys) + 4))}"
        )
        found = []
        with self._reading(project) as session:
            for *values, is_unrouted, records, size in session.select(sql, bound):
                pairs = zip(("outcome", "tool", *keys), values, strict=True)
                packet = {name: str(value) for name, value in pairs if value is not None}
                found.append(Routed(packet, bool(is_unrouted), records, size))
        return found

    # --- knowledge ---

    def daily(self, project: str, scope: str, key: str, items_max: int | None = None) -> list[Daily]:
        with self._reading(project) as session:
            return tallies.daily(session, self.dialect, project, scope, key, items_max)

    def newest_taught(self, project: str, scope: str, key: str, item_start: str, limit: int) -> list[tuple[int, str]]:
        with self._reading(project) as session:
            return tallies.newest_taught(session, self.dialect, project, scope, key, item_start, limit)

    def shares(self, project: str, scope: str, key: str, today: int, items_max: int | None = None) -> list[tuple[str, Share]]:
        with self._reading(project) as session:
            return tallies.shares(session, self.dialect, project, scope, key, today, items_max)

    def tallies(self, project: str, scope: str, key: str, items_max: int) -> list[Tally]:
        with self._reading(project) as session:
            return tallies.tallies(session, self.dialect, project, scope, key, items_max)

    def tallies_of_item(self, project: str, scope: str, key: str, item: str) -> list[Tally]:
        with self._reading(project) as session:
            return tallies.tallies_of_item(session, self.dialect, project, scope, key, item)

    def vouched_items(self, project: str) -> set[tuple[str, str]]:
        with self._reading(project) as session:
            return tallies.vouched_items(session, self.dialect, project)

    def most_counted(self, project: str, scope: str, limit: int) -> list[str]:
        with self._reading(project) as session:
            return tallies.most_counted(session, self.dialect, project, scope, limit)

    def totals(self, project: str, scope: str, limit: int, since_day: int | None = None) -> list[Total]:
        with self._reading(project) as session:
            return tallies.totals(session, self.dialect, project, scope, limit, since_day)

    def day_totals(self, project: str, scope: str, keys_max: int, since_day: int) -> list[DayTotal]:
        with self._reading(project) as session:
            return tallies.day_totals(session, self.dialect, project, scope, keys_max, since_day)

    def distinct_keys(self, project: str, scope: str) -> int:
        with self._reading(project) as session:
            return tallies.distinct_keys(session, self.dialect, project, scope)

    def rolled_back(self, project: str) -> set[str]:
        with self._reading(project) as session:
            return tallies.rolled_back_authors(session, self.dialect, project)

    def embedder(self, project: str) -> tuple[str, int] | None:
        with self._reading(project) as session:
            return phrases.embedder_of(session, project)


def _added_up(groups: Iterable[Sequence[Any]], column: int) -> dict[str, int]:
    """How many records there are by the values of a column, of groups that end with their number and times."""
    sums: dict[str, int] = {}
    for group in groups:
        if group[column] is not None:
            sums[group[column]] = sums.get(group[column], 0) + group[5]
    return dict(sorted(sums.items()))
