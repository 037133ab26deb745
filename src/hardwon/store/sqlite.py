"""A memory in one SQLite file that several processes share.

WAL with synchronous FULL: a commit returns when the disk has it. Writers take their turn with BEGIN IMMEDIATE, which never
fails half-way the way a read that turns into a write does. `secure_delete`, FTS5's `secure-delete` and an emptied log
make erased text unreadable. Opening, creating, backing up and restoring files is in `sqlite_file.py`.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple

import apsw

from hardwon import limits
from hardwon.errors import BusyError, DamagedError, InvalidInputError, NearlyFullWarning
from hardwon.fields import to_us
from hardwon.govern.lifecycle import BY_TREE
from hardwon.learn.confidence import Share
from hardwon.learn.fix_rows import FixEntry, entry_of, shortened
from hardwon.learn.lessons import Tally, Taught, lessons_of
from hardwon.model import INTERNAL_KINDS, SOLVED_FROM, Decision, Event
from hardwon.recall.filters import Filters
from hardwon.store import presence, tallies, vectors
from hardwon.store.contract import (
    Active,
    Appended,
    Counts,
    Cursor,
    Daily,
    DayTotal,
    Finding,
    Found,
    Progress,
    Request,
    Routed,
    Row,
    Store,
    Stored,
    Total,
    Writer,
)
from hardwon.store.fix_tables import FixTables
from hardwon.store.migrations import SCHEMA_VERSION
from hardwon.store.packing import is_packed
from hardwon.store.place import DEFAULT_PROJECT
from hardwon.store.pool import Pool
from hardwon.store.rows import original_of
from hardwon.store.sqlite_file import (
    back_up,
    be_patient,
    check_whole_file,
    connect,
    create_if_missing,
    expected_schema,
    inspect_before_opening,
    is_sound,
    migrate,
    schema_of,
    storage_errors,
)
from hardwon.store.tree_index import TreeIndex

WAL_FIXED_IN: Final = (3, 51, 3)
_ERASURE_WAIT_MS: Final = 250  # a reader that takes longer is reported as pending instead of waited for

_WRITES_BETWEEN_SIZE_CHECKS: Final = 64
_RELAXED: Final = "the index has words of what was packed away"

_STORED: Final = "r.id, r.kind, r.at_us, r.body, r.digest, r.validation, r.helped, r.hindered"


def _votes(level: str) -> str:
    """How many attempts that recalled a record turned out so; an author has three votes, one that was rolled back none."""
    trusted = tallies.TRUSTED_AUTHORS.replace("?1", "r.project_id")  # this stands before the statement's parameters
    return (
        f"(SELECT coalesce(sum(min(votes, {limits.VOTES_OF_AUTHOR_MAX})), 0) FROM (SELECT sum({level}) AS votes FROM tally t "
        f"WHERE t.project_id = r.project_id AND t.scope = 'credit' AND t.key = r.id AND t.{trusted} GROUP BY t.author))"
    )


_SOLVED: Final = (
    "CASE WHEN r.kind = 'experience' THEN CASE r.outcome WHEN 'success' THEN 1 WHEN 'failure' THEN 0 END "
    "WHEN json_valid(r.body) THEN CASE r.kind "
    "WHEN 'fix' THEN (r.body ->> '$.fix_success') AND (r.body ->> '$.verification_success') "
    f"WHEN 'episode' THEN (r.body ->> '$.score') >= {SOLVED_FROM} "
    f"WHEN 'trajectory' THEN (r.body ->> '$.final_reward') >= {SOLVED_FROM} END END"
)
_SESSION: Final = "(SELECT substr(key, 9) FROM record_key s WHERE s.seq = r.seq AND s.key >= 'session:' AND s.key < 'session;')"


def _columns_of_found(helped: str, hindered: str) -> str:
    return f"{_STORED}, r.author, r.status, {_SOLVED}, record_text.terms, {_SESSION}, {helped}, {hindered}"


_FOUND: Final = _columns_of_found("r.helped", "r.hindered")
_FOUND_WITH_VOTES: Final = _columns_of_found(f"r.helped + {_votes('level1')}", f"r.hindered + {_votes('level0')}")
_ROW: Final = "project_id, id, kind, at_us, author, outcome, tool, task_id, model, issue_type, body, digest, status, validation"
_ROW_FIELDS: Final = 14
_NEAREST_SPARE: Final = 5  # so many times as many as are wanted, in case some are archived or gone
_FIRST_SPARE: Final = 5
_FIRST_MIN: Final = 100
_VOCABULARY: Final = "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab ('main', 'record_text', 'row')"
_TRUSTED: Final = f"r.status <> 'archived' AND r.{tallies.TRUSTED_AUTHORS}"
_FACTS: Final = (
    f"SELECT {_STORED} FROM record_key k CROSS JOIN record r ON r.seq = k.seq WHERE k.project_id = ?1 AND k.key = ?2 "
    f"AND r.kind = 'fact' AND {_TRUSTED} ORDER BY k.seq LIMIT ?3"
)
_DERIVED: Final = [
    "kind",
    "at_us",
    "author",
    "outcome",
    "tool",
    "task_id",
    "model",
    "issue_type",
    "status",
    "validation",
    "helped",
    "hindered",
]


def _undone(event: str) -> str:
    """Whether somebody took it back."""
    return (
        f"EXISTS (SELECT 1 FROM event u WHERE u.project_id = {event}.project_id AND u.record_id = {event}.record_id "
        f"AND u.kind = 'undone' AND u.body ->> 'undoes' = {event}.id)"
    )


class SqliteStore(Store):
    """Everything the contract promises, on one file."""

    def __init__(self, path: Path, *, bytes_max: int = limits.MEMORY_BYTES_MAX, busy_timeout_ms: int | None = None) -> None:
        self._path = path
        self._bytes_max = bytes_max
        self._warned = False
        self._writes = 0
        self._erasure_pending = False
        self._frequency: tuple[int, dict[str, int]] = (0, {})
        self._vectors: dict[str, tuple[tuple[str, int], vectors.Vectors]] = {}
        if not create_if_missing(path):
            inspect_before_opening(path, busy_timeout_ms)
        self._pool = Pool(
            str(path),
            lambda: connect(path, bytes_max, busy_timeout_ms),
            is_sound=is_sound,
            close=apsw.Connection.close,
            rest=apsw.Connection.release_memory,
            connections_max=limits.CONNECTIONS_MAX,
        )
        with self._reading() as connection:
            self._has_log = connection.pragma("journal_mode") == "wal"
            self._presence = presence.hold(path) if self._has_log else None
            if connection.pragma("user_version") < SCHEMA_VERSION:
                migrate(connection)
            self._warn_when_nearly_full(connection)

    @property
    def location(self) -> str:
        return str(self._path)

    @contextmanager
    def _reading(self) -> Iterator[apsw.Connection]:
        with storage_errors(self._path), self._pool.connection() as connection:
            yield connection

    @contextmanager
    def _snapshot(self) -> Iterator[apsw.Connection]:
        """A connection inside one read transaction: everything is seen as of one instant."""
        with self._reading() as connection:
            connection.execute("BEGIN")
            yield connection  # giving it back ends the transaction

    def write(self) -> AbstractContextManager[Writer]:
        return _WriteTransaction(self)

    def _begin_log(self, connection: apsw.Connection) -> None:
        """Of a backup that was opened as it is: it stays one file, byte for byte, until somebody writes to it."""
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        self._presence = presence.hold(self._path)
        self._has_log = True

    def _warn_when_nearly_full(self, connection: apsw.Connection) -> None:
        self._writes += 1
        if self._warned or self._writes % _WRITES_BETWEEN_SIZE_CHECKS != 1:
            return
        used = connection.pragma("page_count") * connection.pragma("page_size")
        if used >= self._bytes_max * limits.MEMORY_WARN_SHARE:
            self._warned = True
            warnings.warn(
                f"the memory at {self._path} takes {used} of at most {self._bytes_max} bytes. Forget what is no longer "
                "needed, or move to PostgreSQL, before writing is refused",
                NearlyFullWarning,
                stacklevel=4,
            )

    # --- reading ---

    def get(self, project: str, record_id: str) -> Stored | None:
        with self._reading() as connection:
            return _get(connection, project, record_id)

    def page(self, project: str, filters: Filters, before: Cursor | None, limit: int, *, trusted: bool = False) -> list[Stored]:
        # The end of the time is left out where the cursor lies before it: SQLite would enter the index there, every time.
        is_past_it = before is not None and filters.until is not None and before.at_us < to_us(filters.until)
        where, values = _where(project, filters.altered(until=None) if is_past_it else filters)
        if trusted:
            where += f" AND {_TRUSTED}"
        if before:
            where += " AND (r.at_us, r.id) < (?, ?)"
            values += before
        sql = f"SELECT {_STORED} FROM record r WHERE {where} ORDER BY r.at_us DESC, r.id DESC LIMIT ?"
        with self._reading() as connection:
            return [Stored(*row) for row in connection.execute(sql, (*values, limit))]

    def marked(self, project: str, filters: Filters, by: str, status: str, limit: int) -> list[Stored]:
        where, values = _where(project, filters)
        happened = "SELECT 1 FROM event e WHERE e.project_id = r.project_id AND e.record_id = r.id AND e.kind"
        sql = (
            f"SELECT {_STORED} FROM record r WHERE {where} AND EXISTS ({happened} = 'status' AND e.body ->> 'by' = ? "
            f"AND e.body ->> 'status' = ?) AND NOT EXISTS ({happened} = 'imported') ORDER BY r.at_us DESC, r.id DESC LIMIT ?"
        )
        with self._reading() as connection:
            return [Stored(*row) for row in connection.execute(sql, (*values, by, status, limit))]

    def most_helpful(self, project: str, status: str, limit: int) -> list[tuple[Stored, int, int]]:
        # Those that were credited, and those that attempts name which turned out well; of the latter, those that most do.
        most = limits.HELPFUL_CONSIDERED_MAX
        credited = (
            f"SELECT id FROM record WHERE project_id = ?1 AND status = ?2 AND helped > 0 ORDER BY helped DESC LIMIT {most}"
        )
        named = (
            f"SELECT key FROM tally WHERE project_id = ?1 AND scope = 'credit' AND {tallies.TRUSTED_AUTHORS} "
            f"GROUP BY key ORDER BY sum(level1) DESC LIMIT {most}"
        )
        good, bad = f"r.helped + {_votes('level1')}", f"r.hindered + {_votes('level0')}"
        sql = (
            f"SELECT {good} AS good, {bad}, {_STORED} FROM record r WHERE r.project_id = ?1 AND r.status = ?2 AND good > 0 "
            f"AND r.id IN (SELECT * FROM ({credited}) UNION SELECT * FROM ({named})) AND r.{tallies.ORDINARY} "
            f"AND r.{tallies.TRUSTED_AUTHORS} ORDER BY good DESC, r.at_us DESC, r.id DESC LIMIT ?3"
        )
        with self._reading() as connection:
            return [
                (Stored(*row), int(good), int(bad)) for good, bad, *row in connection.execute(sql, (project, status, limit))
            ]

    def held_as_stale(self, project: str, limit: int) -> list[tuple[Stored, Event]]:
        # What somebody decided later stands above it, and so does that the files are again what they were.
        sql = (
            f"SELECT e.body, {_STORED} FROM event e CROSS JOIN record r ON r.project_id = e.project_id AND r.id = e.record_id "
            f"WHERE e.project_id = ?1 AND e.kind = 'stale' AND r.status = 'archived' AND r.{tallies.ORDINARY} AND NOT EXISTS ("
            "SELECT 1 FROM event l WHERE l.project_id = e.project_id AND l.record_id = e.record_id "
            f"AND (l.at_us, l.id) > (e.at_us, e.id) AND NOT {_undone('l')} AND (l.kind IN ('status', 'fresh', 'stale') "
            "OR (l.kind = 'superseded' AND l.body ->> 'by' <> ?2))) ORDER BY e.at_us DESC, e.id DESC LIMIT ?3"
        )
        with self._reading() as connection:
            found = connection.execute(sql, (project, BY_TREE, limit))
            return [(Stored(*row), Event.model_validate_json(body)) for body, *row in found]

    def newest_of_others(self, project: str, author: str, until_us: int) -> int:
        sql = (
            f"SELECT r.at_us FROM record r WHERE r.project_id = ? AND r.{tallies.ORDINARY} AND r.author <> ? AND r.at_us < ? "
            "ORDER BY r.at_us DESC LIMIT 1"
        )
        with self._reading() as connection:
            found = connection.execute(sql, (project, author, until_us)).fetchone()
            return int(found[0]) if found else 0

    def last_arrived(self, project: str, limit: int) -> list[Stored]:
        sql = (
            f"SELECT {_STORED} FROM record r WHERE r.project_id = ?1 AND r.{tallies.ORDINARY} AND {_TRUSTED} "
            f"AND r.seq > (SELECT max(seq) FROM record) - {limits.ARRIVALS_LOOKED_THROUGH_MAX} ORDER BY r.seq DESC LIMIT ?2"
        )
        with self._reading() as connection:
            return [Stored(*row) for row in connection.execute(sql, (project, limit))]

    def search(self, project: str, terms: Sequence[str], filters: Filters, limit: int) -> list[tuple[Found, float]]:
        if not terms:
            return []
        where, values = self._searchable(project, filters)
        where, match, most, first = _numbered(where), len(values) + 1, len(values) + 2, len(values) + 3
        scored = f"SELECT rowid AS seq, -bm25(record_text) AS score FROM record_text WHERE record_text MATCH ?{match}"
        # The best by their words alone, which nearly always pass; only where too few do, all that match are asked.
        sources = [f"{scored} ORDER BY bm25(record_text), rowid DESC LIMIT ?{first}", scored]
        with self._reading() as connection:
            columns = self._found_columns(connection, project)
            few = connection.execute("SELECT coalesce(max(seq), 0) FROM record").get < limits.FIRST_BY_WORDS_FROM_RECORDS
            for chosen in dict.fromkeys((self._rare_enough(connection, terms), tuple(terms))):  # all of them, if need be
                words = " OR ".join(f'"{term}"' for term in chosen)
                for source in sources[few:]:
                    # MATERIALIZED: or else the planner would go through all records and ask each for its words. Only of the
                    # best is more read than what they are chosen by.
                    sql = (
                        f"WITH b AS MATERIALIZED ({source}), best AS MATERIALIZED (SELECT b.seq, b.score FROM b "
                        f"CROSS JOIN record r ON r.seq = b.seq WHERE {where} "
                        f"ORDER BY b.score DESC, r.at_us DESC, r.id DESC LIMIT ?{most}) "
                        f"SELECT {columns}, best.score FROM best CROSS JOIN record r ON r.seq = best.seq "
                        "CROSS JOIN record_text ON record_text.rowid = best.seq "
                        "ORDER BY best.score DESC, r.at_us DESC, r.id DESC"
                    )
                    given = (*values, words, limit, max(_FIRST_MIN, _FIRST_SPARE * limit))
                    rows: list[Any] = connection.execute(sql, given[: most if source == scored else first]).fetchall()
                    if len(rows) >= limit:
                        break
                if rows:
                    return [(_found(row[:-1]), row[-1]) for row in rows]
        return []

    def _found_columns(self, connection: apsw.Connection, project: str) -> str:
        """What is read of a hit; who voted for it only where anybody ever did."""
        sql = "SELECT EXISTS (SELECT 1 FROM tally WHERE project_id = ? AND scope = 'credit')"
        return _FOUND_WITH_VOTES if connection.execute(sql, (project,)).get else _FOUND

    def _searchable(self, project: str, filters: Filters) -> tuple[str, list[Any]]:
        where, values = _where(project, filters)
        if filters.any_standing:
            return where, values
        if filters.status is None:
            where += " AND r.status <> 'archived'"
        if filters.author is None:
            where += f" AND r.{tallies.TRUSTED_AUTHORS}"
        return where, values

    def _rare_enough(self, connection: apsw.Connection, terms: Sequence[str]) -> tuple[str, ...]:
        """Without terms that a tenth of all records have: they cost the most and tell the least. How many have a term is
        remembered until the memory has grown, or shrunk, by a tenth."""
        total: int = connection.execute("SELECT coalesce(max(seq), 0) FROM record").get
        if total < limits.PRUNED_FROM_RECORDS or len(terms) <= 1:
            return tuple(terms)
        counted_at, frequency = self._frequency  # one assignment: other threads look things up too
        if not 0.9 * total <= counted_at <= 1.1 * total or len(frequency) > limits.TERMS_REMEMBERED_MAX:
            frequency = {}
            self._frequency = total, frequency
        unknown = [term for term in terms if term not in frequency]
        if unknown:
            connection.execute(_VOCABULARY).fetchall()
            for term in unknown:
                found = connection.execute("SELECT doc FROM temp.vocabulary WHERE term = ?", (term,)).get
                frequency[term] = found or 0
        known = [term for term in terms if frequency.get(term)]
        rare = [term for term in known if frequency[term] <= limits.FREQUENT_SHARE * total]
        return tuple(rare or sorted(known, key=lambda term: (frequency[term], term))[:1] or terms)

    def stream(self, project: str) -> Generator[Stored]:
        sql = f"SELECT {_STORED} FROM record r WHERE r.project_id = ? ORDER BY r.at_us, r.id"
        with self._snapshot() as connection:
            for row in connection.execute(sql, (project,)):
                yield Stored(*row)

    def rows(self, project: str) -> Generator[tuple[Row, list[Event]]]:
        sql = (
            f"SELECT {', '.join('r.' + name for name in _ROW.split(', '))}, t.terms, r.helped, r.hindered, "
            "(SELECT json_group_array(tag ORDER BY tag) FROM record_tag WHERE seq = r.seq), "
            "(SELECT json_group_array(path ORDER BY path) FROM record_file WHERE seq = r.seq), "
            "(SELECT json_group_array(key ORDER BY key) FROM record_key WHERE seq = r.seq), "
            "(SELECT json_group_array(json(body)) FROM event WHERE project_id = r.project_id AND record_id = r.id) "
            "FROM record r LEFT JOIN record_text t ON t.rowid = r.seq WHERE r.project_id = ? ORDER BY r.at_us, r.id"
        )
        with self._snapshot() as connection:
            for row in connection.execute(sql, (project,)):
                kept, (found, helped, hindered, *names, events) = row[:_ROW_FIELDS], row[_ROW_FIELDS:]
                tags, files, keys = (tuple(json.loads(listed)) for listed in names)
                full = Row._make((*kept, found or "", tags, files, keys, helped, hindered, (), None))
                yield full, [Event.model_validate(event) for event in json.loads(events)]

    def events(self, project: str) -> Generator[Event]:
        with self._snapshot() as connection:
            for (body,) in connection.execute("SELECT body FROM event WHERE project_id = ? ORDER BY at_us, id", (project,)):
                yield Event.model_validate_json(body)

    def events_of(self, project: str, record_id: str) -> list[Event]:
        with self._reading() as connection:
            return _events_of(connection, project, record_id)

    def projects(self) -> list[str]:
        # From one to the next by the index: going through all records takes a second for each million.
        sql = (
            "WITH RECURSIVE next (name) AS (SELECT min(project_id) FROM record UNION ALL "
            "SELECT (SELECT min(project_id) FROM record WHERE project_id > name) FROM next WHERE name IS NOT NULL) "
            "SELECT name FROM next WHERE name IS NOT NULL"
        )
        with self._reading() as connection:
            return [str(name) for (name,) in connection.execute(sql)]

    def counts(self, project: str) -> Counts:
        # One way through all rows, which in a large memory takes its time, instead of one for each figure.
        sql = (
            "SELECT kind, outcome, tool, status, author, count(*), min(at_us), max(at_us) FROM record WHERE project_id = ? "
            "GROUP BY 1, 2, 3, 4, 5"
        )
        with self._snapshot() as connection:
            groups: list[Any] = connection.execute(sql, (project,)).fetchall()
            events, forgotten = connection.execute(
                "SELECT count(*), count(DISTINCT iif(kind = 'forgotten', record_id, NULL)) FROM event WHERE project_id = ?",
                (project,),
            ).get
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
            f"SELECT at_us / {limits.DAY_US}, kind, count(*), sum(outcome = 'success' AND status <> 'archived'), "
            "sum(outcome = 'failure' AND status <> 'archived') FROM record INDEXED BY record_counted "
            f"WHERE project_id = ? AND {tallies.ORDINARY} AND at_us >= ? AND at_us < ? GROUP BY 1, 2 ORDER BY 1, 2"
        )
        with self._snapshot() as connection:
            found: list[Any] = connection.execute(
                sql, (project, since_day * limits.DAY_US, until_day * limits.DAY_US)
            ).fetchall()
            judged = tallies.judged_days(connection, project, since_day, until_day)
        return [
            Active(day, kind, count, *judged.get((kind, day), (good or 0, bad or 0))) for day, kind, count, good, bad in found
        ]

    def change_mark(self, project: str) -> tuple[int, int]:
        sql = (
            "SELECT coalesce((SELECT max(seq) FROM record), 0), "
            "coalesce((SELECT max(at_us) FROM event WHERE project_id = ?), 0)"
        )
        with self._reading() as connection:
            records, events = connection.execute(sql, (project,)).get
        return int(records), int(events)

    def count(self, project: str, filters: Filters, *, trusted: bool = False) -> int:
        where, values = _where(project, filters)
        if trusted:
            where += f" AND {_TRUSTED}"
        only_time = Filters(kind="fix", since=filters.since, until=filters.until)
        with self._reading() as connection:
            if trusted and project == DEFAULT_PROJECT and filters == only_time:  # an index has just these
                return FixTables(connection).count(filters.since, filters.until)
            found: int = connection.execute(f"SELECT count(*) FROM record r WHERE {where}", tuple(values)).get
        return found

    def routes(self, project: str, keys: Sequence[str]) -> list[Routed]:
        given = ", ".join(f"r.body ->> ?{number}" for number in range(2, len(keys) + 2))
        sql = (
            f"SELECT r.outcome, r.tool, {given}, r.body ->> '$.unrouted' IS NOT NULL, count(*), sum(octet_length(r.body)) "
            "FROM record r WHERE r.project_id = ?1 AND r.kind = 'experience' AND r.status <> 'archived' AND json_valid(r.body) "
            f"GROUP BY {', '.join(str(column) for column in range(1, len(keys) + 4))}"
        )
        found = []
        with self._reading() as connection:
            for *values, unrouted, records, size in connection.execute(sql, (project, *(f"$.{key}" for key in keys))):
                pairs = zip(("outcome", "tool", *keys), values, strict=True)
                packet = {name: str(value) for name, value in pairs if value is not None}
                found.append(Routed(packet, bool(unrouted), records, size))
        return found

    # --- knowledge ---

    def daily(self, project: str, scope: str, key: str, items_max: int | None = None) -> list[Daily]:
        with self._reading() as connection:
            return tallies.daily(connection, project, scope, key, items_max)

    def newest_taught(self, project: str, scope: str, key: str, item_start: str, limit: int) -> list[tuple[int, str]]:
        with self._reading() as connection:
            return tallies.newest_taught(connection, project, scope, key, item_start, limit)

    def shares(self, project: str, scope: str, key: str, today: int, items_max: int | None = None) -> list[tuple[str, Share]]:
        with self._reading() as connection:
            return tallies.shares(connection, project, scope, key, today, items_max)

    def tallies(self, project: str, scope: str, key: str, items_max: int) -> list[Tally]:
        with self._reading() as connection:
            return tallies.tallies(connection, project, scope, key, items_max)

    def tallies_of_item(self, project: str, scope: str, key: str, item: str) -> list[Tally]:
        with self._reading() as connection:
            return tallies.tallies_of_item(connection, project, scope, key, item)

    def vouched_items(self, project: str) -> set[tuple[str, str]]:
        with self._reading() as connection:
            return tallies.vouched_items(connection, project)

    def most_counted(self, project: str, scope: str, limit: int) -> list[str]:
        with self._reading() as connection:
            return tallies.most_counted(connection, project, scope, limit)

    def totals(self, project: str, scope: str, limit: int, since_day: int | None = None) -> list[Total]:
        with self._reading() as connection:
            return tallies.totals(connection, project, scope, limit, since_day)

    def day_totals(self, project: str, scope: str, keys_max: int, since_day: int) -> list[DayTotal]:
        with self._reading() as connection:
            return tallies.day_totals(connection, project, scope, keys_max, since_day)

    def distinct_keys(self, project: str, scope: str) -> int:
        with self._reading() as connection:
            return tallies.distinct_keys(connection, project, scope)

    def embedder(self, project: str) -> tuple[str, int] | None:
        with self._reading() as connection:
            return vectors.stamp(connection, project)

    def nearest(self, project: str, vector: Sequence[float], filters: Filters, limit: int) -> list[tuple[Found, float]]:
        with self._reading() as connection:
            kept = vectors.stamp(connection, project)
            if kept is None:
                return []
            known = self._vectors.get(project)
            if known is None or known[0] != kept:
                known = self._vectors[project] = kept, vectors.Vectors(project, kept[1])
            wanted = limit * _NEAREST_SPARE if filters == Filters() else None
            best = known[1].nearest(connection, vector, wanted)
            cosines = dict(best)
            where, values = self._searchable(project, filters)
            # NOT INDEXED: by the row numbers, not through all records of the project.
            sql = (
                f"SELECT {_FOUND_WITH_VOTES}, r.seq FROM record r NOT INDEXED JOIN record_text ON record_text.rowid = r.seq "
                f"JOIN record_vector v ON v.seq = r.seq WHERE {where} AND r.seq IN (SELECT value FROM json_each(?))"
            )
            rows: list[Any] = connection.execute(sql, (*values, json.dumps(list(cosines)))).fetchall()
        found = [(_found(row[:-1]), cosines[row[-1]]) for row in rows]
        return sorted(found, key=lambda pair: (-pair[1], pair[0].id))[:limit]

    def without_vector(self, project: str, limit: int) -> list[Stored]:
        with self._reading() as connection:
            ids = vectors.without_vector(connection, project, limit)
            return [stored for stored in (_get(connection, project, each) for each in ids) if stored]

    def by_key(self, project: str, keys: Sequence[str], filters: Filters, limit: int) -> list[Found]:
        where, values = self._searchable(project, filters)
        # CROSS JOIN: from the few rows of the keys to their records, not through all records in the order of time.
        sql = (
            f"SELECT {_FOUND_WITH_VOTES} FROM (SELECT DISTINCT seq FROM record_key WHERE project_id = ?1 "
            f"AND key IN (SELECT value FROM json_each(?{len(values) + 1}))) k CROSS JOIN record r ON r.seq = k.seq "
            f"CROSS JOIN record_text ON record_text.rowid = k.seq WHERE {_numbered(where)} "
            f"ORDER BY r.at_us DESC, r.id DESC LIMIT ?{len(values) + 2}"
        )
        with self._reading() as connection:
            return [_found(row) for row in connection.execute(sql, (*values, json.dumps(list(keys)), limit))]

    def with_files(self, project: str, after_id: str, limit: int) -> list[Stored]:
        sql = (
            f"SELECT {_STORED} FROM record r INDEXED BY record_by_id WHERE r.project_id = ? AND r.id > ? "
            f"AND r.{tallies.ORDINARY} AND EXISTS (SELECT 1 FROM record_file f WHERE f.seq = r.seq) ORDER BY r.id LIMIT ?"
        )
        with self._reading() as connection:
            return [Stored(*row) for row in connection.execute(sql, (project, after_id, limit))]

    def fixes_before(self, project: str, before_us: int, after: Cursor, limit: int) -> list[Stored]:
        sql = (
            f"SELECT {_STORED} FROM record r INDEXED BY record_by_time WHERE r.project_id = ? AND r.at_us < ? "
            "AND (r.at_us, r.id) > (?, ?) AND r.kind = 'fix' AND r.status <> 'archived' ORDER BY r.at_us, r.id LIMIT ?"
        )
        with self._reading() as connection:
            return [Stored(*row) for row in connection.execute(sql, (project, before_us, *after, limit))]

    def newest_fixes(self, project: str, key: str) -> tuple[str | None, str | None]:
        sql = (
            f"SELECT r.id, {_SOLVED} FROM record_key k CROSS JOIN record r ON r.seq = k.seq WHERE k.project_id = ?1 "
            f"AND k.key = ?2 AND r.kind = 'fix' AND {_TRUSTED} ORDER BY r.at_us DESC, r.id DESC"
        )
        newest: str | None = None
        with self._reading() as connection:
            for record_id, solved in connection.execute(sql, (project, key)):
                newest = newest or record_id
                if solved:
                    return newest, record_id
        return newest, None

    def decisions(
        self, project: str, actions: Sequence[str], task_id: str | None, limit: int, *, undone: bool = False
    ) -> list[Stored]:
        sql = (
            f"SELECT {_STORED} FROM record r INDEXED BY record_decision WHERE r.project_id = ?1 AND r.kind = 'decision' "
            f"AND r.status {'=' if undone else '<>'} 'archived' AND (r.outcome = 'rollback' OR r.{tallies.TRUSTED_AUTHORS}) "
            "AND r.outcome IN (SELECT value FROM json_each(?2)) AND (?3 IS NULL OR r.task_id IS NULL OR r.task_id = ?3) "
            "ORDER BY r.at_us DESC, r.id DESC LIMIT ?4"
        )
        with self._reading() as connection:
            found = connection.execute(sql, (project, json.dumps(list(actions)), task_id, limit))
            return [Stored(*row) for row in found]

    def superseded_by(self, project: str, record_id: str) -> list[str]:
        sql = (
            "SELECT DISTINCT e.record_id FROM event e WHERE e.project_id = ? AND e.kind = 'superseded' "
            f"AND e.body ->> '$.replaced_by' = ? AND NOT {_undone('e')} ORDER BY e.at_us, e.id"
        )
        with self._reading() as connection:
            return [found for (found,) in connection.execute(sql, (project, record_id))]

    def rolled_back(self, project: str) -> set[str]:
        with self._reading() as connection:
            return tallies.rolled_back(connection, project)

    def untrue_tallies(self, project: str) -> int:
        with self._snapshot() as connection:
            differing = tallies.count_differing(connection, project)
            return differing + (FixTables(connection).count_differing() if project == DEFAULT_PROJECT else 0)

    @contextmanager
    def fix_tables(self) -> Iterator[FixTables]:
        """The tables of fix history, to read as of one instant."""
        with self._snapshot() as connection:
            yield FixTables(connection)

    # --- the tree ---

    @contextmanager
    def tree(self, project: str) -> Iterator[TreeIndex]:
        """What is known of the tree of files beside this file, to read."""
        with self._reading() as connection:
            yield TreeIndex(connection, project)

    # --- the file ---

    def size_bytes(self) -> int:
        log = self._path.with_name(self._path.name + "-wal")
        with self._reading() as connection:
            pages: int = connection.pragma("page_count") * connection.pragma("page_size")
        return pages + (log.stat().st_size if log.exists() else 0)

    def finish_erasure(self) -> bool:
        with self._reading() as connection:
            connection.set_busy_timeout(_ERASURE_WAIT_MS)
            try:
                busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").get
            finally:
                be_patient(connection)
        self._erasure_pending = bool(busy)
        return not busy

    def shrink(self) -> None:
        with self.write() as writer:
            if isinstance(writer, SqliteWriter) and writer.state("", _RELAXED):
                writer.rebuild_index()
        with self._reading() as connection:
            connection.execute("VACUUM").fetchall()
        self.finish_erasure()

    def backup(self, target: Path, progress: Progress | None) -> str:
        return back_up(self._path, target, progress)

    def check(self) -> Iterator[Finding]:
        version = apsw.sqlite_lib_version()
        fixed = tuple(int(part) for part in version.split(".")) >= WAL_FIXED_IN
        wanted = ".".join(map(str, WAL_FIXED_IN))
        yield Finding("sqlite", fixed, f"SQLite {version}; {wanted} or newer cannot corrupt a log checkpointed twice")
        with self._snapshot() as connection:
            settings = {name: connection.pragma(name) for name in ("journal_mode", "synchronous", "secure_delete")}
            durable = settings == {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1}
            yield Finding("durability", durable, ", ".join(f"{name} {value}" for name, value in settings.items()))
            same = schema_of(connection) == expected_schema()
            yield Finding("schema", same, f"version {connection.pragma('user_version')} of {SCHEMA_VERSION}")
            damage = check_whole_file(connection)
            yield Finding("integrity", not damage, "; ".join(damage[:5]) or "every page and index is sound")
            if not damage:
                strays = sum(connection.execute(sql).get for sql in _STRAYS)
                yield Finding("side tables", strays == 0, f"{strays} rows that belong to no record")
                misfits = connection.execute(vectors.MISFITS).get
                yield Finding("vectors", misfits == 0, f"{misfits} that are not of the embedder they are kept for")
                wrong = list(_untrue_events(connection))
                yield Finding("events", not wrong, f"{len(wrong)} that do not say what their columns say")
        used = self.size_bytes()
        roomy = used < self._bytes_max * limits.MEMORY_WARN_SHARE
        yield Finding("size", roomy, f"{used} of at most {self._bytes_max} bytes")
        mode = self._path.stat().st_mode & 0o777
        yield Finding("permissions", mode & 0o077 == 0, f"{mode:o}; 600 keeps other users of the machine out")

    def close(self) -> None:
        held, self._presence = self._presence, None
        with storage_errors(self._path), presence.changing():
            descriptor = presence.release(held)
            self._pool.close()
            if descriptor is not None and self._pool.is_empty:  # else some thread has a connection, and its locks, still
                os.close(descriptor)


class _WriteTransaction:
    """`write()` of a store. A class, because every write passes through it and nested generators cost more.

    An interrupt (KeyboardInterrupt) can come between any two steps, also while leaving. So what was taken is given back by
    whoever gets there first: `__enter__` when it fails, `__exit__`, or `__del__`.
    """

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._errors = storage_errors(store._path)
        self._turn = store._pool.write_turn
        self._connection: apsw.Connection | None = None
        self._writer: SqliteWriter | None = None
        self._open = False

    def __enter__(self) -> Writer:
        self._open = True
        try:
            # Threads of this process queue on a lock, which wakes at once; processes try again and again.
            if not self._turn.acquire(timeout=limits.BUSY_TIMEOUT_MS / 1000):
                raise BusyError(f"another thread of this process was writing to {self._store._path} for too long; try again")
            with self._errors:
                self._connection = self._store._pool.borrow()
                if not self._store._has_log:
                    self._store._begin_log(self._connection)
                self._connection.execute("BEGIN IMMEDIATE")
            self._writer = SqliteWriter(self._connection)
            return self._writer
        except BaseException:
            self._leave()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self._connection is not None  # noqa: S101  # for type checkers: it was entered
        kept = False
        try:
            with self._errors:
                if error is None:
                    if self._writer:
                        self._writer.finish()
                    self._connection.execute("COMMIT")
                    kept = True
                    self._store._warn_when_nearly_full(self._connection)
                elif isinstance(error, apsw.Error | UnicodeDecodeError):
                    raise error
        finally:
            try:
                if not kept and self._writer and self._writer.undos:
                    self._undo()
            finally:
                self._leave()
        if error is None and self._store._erasure_pending:
            self._store.finish_erasure()

    def _undo(self) -> None:
        if self._connection is not None and self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        for undo in self._writer.undos if self._writer else ():
            with suppress(OSError):
                undo()

    def _leave(self) -> None:
        connection, self._connection = self._connection, None
        try:
            if connection is not None:
                self._store._pool.give_back(connection)
        finally:
            if self._turn._is_owned():  # type: ignore[attr-defined]  # the one way to ask; in CPython since RLock exists
                self._turn.release()
            self._open = False

    def __del__(self) -> None:
        if self._open:
            self._leave()


class _Kept(NamedTuple):
    """A record as what is derived from it needs it."""

    seq: int
    taught: Taught
    fix: FixEntry | None
    is_rollback: bool


class SqliteWriter(Writer):
    """The statements of one transaction."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._fix_tables = FixTables(connection)
        self._relaxed = False
        self.undos: list[Callable[[], object]] = []

    def on_failure(self, undo: Callable[[], object]) -> None:
        self.undos.append(undo)

    def append(self, rows: Sequence[Row]) -> Appended:
        result = Appended([], [], [], [])
        first, something_forgotten = self._connection.execute(
            # The number of a fix is its id in the tables of fix history, and no id is given out twice.
            "SELECT max(coalesce(max(seq), 0), coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'fix_history'), 0)) + 1, "
            "EXISTS (SELECT 1 FROM event INDEXED BY event_forgotten WHERE kind = 'forgotten') "
            "OR EXISTS (SELECT 1 FROM tree_forgotten) FROM record"
        ).get
        if something_forgotten:
            rows = self._not_forgotten(rows, result)
        before = self._connection.total_changes()
        self._connection.executemany(
            f"INSERT INTO record (seq, {_ROW}) VALUES (?{', ?' * _ROW_FIELDS}) ON CONFLICT (project_id, id) DO NOTHING",
            [(seq, *row[:_ROW_FIELDS]) for seq, row in enumerate(rows, first)],
        )
        numbered = list(enumerate(rows, first))
        if self._connection.total_changes() - before < len(rows):  # some id was there already, or twice among these
            numbered = self._inserted(numbered, result)
        self._connection.executemany(
            "INSERT INTO record_text (rowid, terms) VALUES (?, ?)", [(seq, row.terms) for seq, row in numbered]
        )
        self._insert_names([(seq, row) for seq, row in numbered if row.tags or row.files or row.keys])
        tallies.add(self._connection, [_taught(row) for _, row in numbered if row.lessons])
        self._show_fixes([(seq, row.author, row.status, row.fix) for seq, row in numbered if row.fix])
        if any(row.kind == "decision" for _, row in numbered):
            self._fix_tables.follow_rollbacks()
        result.added.extend([row.id for _, row in numbered])
        return result

    def _show_fixes(self, fixes: Sequence[tuple[int, str, str, FixEntry]]) -> None:
        if fixes:
            self._fix_tables.add(self._fix_tables.counting(fixes))
            self._fix_tables.number_given(fixes[-1][0])

    def _not_forgotten(self, rows: Sequence[Row], result: Appended) -> Sequence[Row]:
        gone = (
            "SELECT EXISTS (SELECT 1 FROM event WHERE project_id = ?1 AND record_id = ?2 AND kind = 'forgotten') "
            "OR EXISTS (SELECT 1 FROM tree_forgotten WHERE project_id = ?1 AND id = ?2)"
        )
        flags = [self._connection.execute(gone, (row.project_id, row.id)).get for row in rows]
        result.forgotten.extend(row.id for row, flag in zip(rows, flags, strict=True) if flag)
        return [row for row, flag in zip(rows, flags, strict=True) if not flag]

    def _inserted(self, numbered: Sequence[tuple[int, Row]], result: Appended) -> list[tuple[int, Row]]:
        """Those that are new; the others are told apart in the result."""
        inserted = []
        for seq, row in numbered:
            sql = "SELECT seq, digest FROM record WHERE project_id = ? AND id = ?"
            kept_seq, digest = self._connection.execute(sql, (row.project_id, row.id)).get
            if kept_seq == seq:
                inserted.append((seq, row))
            else:
                if digest == row.digest:
                    result.present.append(row.id)
                else:
                    result.conflicting.append(row)
        return inserted

    def _insert_names(self, rows: Sequence[tuple[int, Row]]) -> None:
        for seq, row in rows:
            for tag in row.tags:
                self._connection.execute("INSERT INTO record_tag VALUES (?, ?, ?)", (seq, tag, row.project_id))
            for path in row.files:
                self._connection.execute("INSERT INTO record_file VALUES (?, ?, ?)", (seq, path, row.project_id))
        keys = [(seq, key, row.project_id) for seq, row in rows for key in row.keys]
        if keys:
            self._connection.executemany("INSERT INTO record_key VALUES (?, ?, ?)", keys)

    def add_events(self, project: str, events: Sequence[Event]) -> list[Event]:
        added = []
        for event in events:
            self._connection.execute(
                "INSERT INTO event (project_id, id, record_id, kind, at_us, body) SELECT ?1, ?2, ?3, ?4, ?5, ?6 "
                "WHERE ?4 = 'forgotten' OR NOT EXISTS "
                "(SELECT 1 FROM event WHERE project_id = ?1 AND record_id = ?3 AND kind = 'forgotten') "
                "ON CONFLICT DO NOTHING",
                (project, event.id, event.record_id, event.kind, event.at_us, event.to_json()),
            )
            if self._connection.changes():
                added.append(event)
        return added

    def get(self, project: str, record_id: str) -> Stored | None:
        return _get(self._connection, project, record_id)

    def events_of(self, project: str, record_id: str) -> list[Event]:
        return _events_of(self._connection, project, record_id)

    def event(self, project: str, event_id: str) -> Event | None:
        found = self._connection.execute("SELECT body FROM event WHERE project_id = ? AND id = ?", (project, event_id)).get
        return Event.model_validate_json(found) if found is not None else None

    def votes(self, project: str, record_id: str, besides: str) -> tuple[int, int]:
        sql = (
            f"SELECT coalesce(sum(min(good, {limits.VOTES_OF_AUTHOR_MAX})), 0), "
            f"coalesce(sum(min(bad, {limits.VOTES_OF_AUTHOR_MAX})), 0) FROM ("
            "SELECT sum(level1) AS good, sum(level0) AS bad FROM tally WHERE project_id = ?1 AND scope = 'credit' AND key = ?2 "
            f"AND author <> ?3 AND {tallies.TRUSTED_AUTHORS} GROUP BY author)"
        )
        good, bad = self._connection.execute(sql, (project, record_id, besides)).get
        return good, bad

    def set_standing(
        self, project: str, record_id: str, status: str, validation: str | None, credited: tuple[int, int]
    ) -> None:
        kept = self._kept(project, record_id)
        self._connection.execute(
            "UPDATE record SET status = ?, validation = ?, helped = ?, hindered = ? WHERE project_id = ? AND id = ?",
            (status, validation, *credited, project, record_id),
        )
        if kept and kept.taught.status != status:
            if kept.taught.lessons:
                tallies.change_status(self._connection, kept.taught, status)
            self._follow_in_fix_tables(kept, status)

    def _follow_in_fix_tables(self, kept: _Kept, status: str) -> None:
        """A record has another status."""
        before, author = kept.taught.status, kept.taught.author
        if kept.fix:
            counted, counts = (self._fix_tables.counting([(kept.seq, author, each, kept.fix)]) for each in (before, status))
            if bool(counted) != bool(counts):
                self._fix_tables.add(counts)
                self._fix_tables.take_out([] if counts else counted)
        elif kept.is_rollback:
            self._fix_tables.follow_rollbacks()

    def _kept(self, project: str, record_id: str) -> _Kept | None:
        sql = f"SELECT r.seq, r.author, r.status, {_STORED} FROM record r WHERE r.project_id = ? AND r.id = ?"
        row = self._connection.execute(sql, (project, record_id)).get
        if row is None:
            return None
        seq, author, status, *stored = row
        kept = Stored(*stored)
        record = original_of(kept)
        entry = entry_of(record) if project == DEFAULT_PROJECT else None
        return _Kept(
            seq,
            Taught(project, author, record.at_us, record.id, status, lessons_of(record)),
            shortened(entry) if entry and is_packed(kept.body) else entry,
            isinstance(record, Decision) and record.action == "rollback",
        )

    def rewrite(self, row: Row) -> None:
        run = self._connection.execute
        seq = run("SELECT seq FROM record WHERE project_id = ? AND id = ?", (row.project_id, row.id)).get
        if seq is None:
            return
        derived = [getattr(row, name) for name in _DERIVED]
        run(f"UPDATE record SET {', '.join(name + ' = ?' for name in _DERIVED)} WHERE seq = ?", (*derived, seq))
        self._drop_derived(seq)
        run("INSERT INTO record_text (rowid, terms) VALUES (?, ?)", (seq, row.terms))
        self._insert_names([(seq, row)])

    def replace(self, row: Row) -> None:
        self._relax_index()
        self._connection.execute(
            "UPDATE record SET body = ?, digest = ? WHERE project_id = ? AND id = ?",
            (row.body, row.digest, row.project_id, row.id),
        )
        self.rewrite(row)
        seq = self._connection.execute("SELECT seq FROM record WHERE project_id = ? AND id = ?", (row.project_id, row.id)).get
        vectors.drop(self._connection, row.project_id, seq)  # its text is another
        if row.fix:
            for number, entry in self._fix_tables.counting([(seq, row.author, row.status, row.fix)]):
                self._fix_tables.change(number, entry)

    def _drop_derived(self, seq: int) -> None:
        run = self._connection.execute
        run("DELETE FROM record_text WHERE rowid = ?", (seq,))
        run("DELETE FROM record_tag WHERE seq = ?", (seq,))
        run("DELETE FROM record_file WHERE seq = ?", (seq,))
        run("DELETE FROM record_key WHERE seq = ?", (seq,))

    def erase(self, project: str, record_ids: Sequence[str], tombstones: Sequence[Event]) -> int:
        run = self._connection.execute
        erased = 0
        gone: list[_Kept] = []
        for record_id in record_ids:
            key = (project, record_id)
            seq = run("SELECT seq FROM record WHERE project_id = ? AND id = ?", key).get
            if seq is not None:
                kept = self._kept_if_readable(project, record_id)
                self._drop_derived(seq)
                vectors.drop(self._connection, project, seq)
                run("DELETE FROM record WHERE seq = ?", (seq,))
                erased += 1
                gone += [kept] if kept else []
            run("DELETE FROM event WHERE project_id = ? AND record_id = ? AND kind <> 'forgotten'", key)
        tallies.take_back(self._connection, [kept.taught for kept in gone])
        fixes = [(kept.seq, kept.taught.author, kept.taught.status, kept.fix) for kept in gone if kept.fix]
        self._fix_tables.take_out(self._fix_tables.counting(fixes) if fixes else [])
        if any(kept.is_rollback for kept in gone):
            self._fix_tables.follow_rollbacks()
        self.add_events(project, tombstones)
        if erased and (self.state("", _RELAXED) or self._index_remembers()):
            self.rebuild_index()
        return erased

    def rebuild_index(self) -> None:
        """The search index without a trace of what is no longer in it."""
        self._connection.execute("INSERT INTO record_text (record_text) VALUES ('rebuild')")
        self.set_state("", _RELAXED, 0)

    def _relax_index(self) -> None:
        """To take words out of the index for good costs a hundred times as much as to mark them as gone. What is packed away
        stays in the file anyway; where something is erased later, the whole index is made anew."""
        if not self._relaxed:
            self._relaxed = True
            self._connection.execute("INSERT INTO record_text (record_text, rank) VALUES ('secure-delete', 0)")
            self.set_state("", _RELAXED, 1)

    def finish(self) -> None:
        """Before it is kept."""
        if self._relaxed:
            self._connection.execute("INSERT INTO record_text (record_text, rank) VALUES ('secure-delete', 1)")

    def _kept_if_readable(self, project: str, record_id: str) -> _Kept | None:
        try:
            return self._kept(project, record_id)
        except DamagedError:  # it must still be possible to forget it; doctor finds what it taught, and rebuild corrects it
            return None

    def embedder(self, project: str) -> tuple[str, int] | None:
        return vectors.stamp(self._connection, project)

    def set_embedder(self, project: str, name: str, dimension: int) -> None:
        vectors.set_stamp(self._connection, project, name, dimension)

    def keep_vectors(self, project: str, vectors_of: Iterable[tuple[str, bytes]]) -> None:
        vectors.keep(self._connection, project, vectors_of)

    def recount(self, project: str) -> None:
        tallies.recount(self._connection, project)
        if project == DEFAULT_PROJECT:
            self._fix_tables.refill()

    def known_keys(self, project: str, keys: Iterable[str], statuses: Sequence[str]) -> set[str]:
        sql = (
            "SELECT DISTINCT k.key FROM record_key k JOIN record r ON r.seq = k.seq WHERE k.project_id = ?1 "
            "AND k.key IN (SELECT value FROM json_each(?2)) AND r.status IN (SELECT value FROM json_each(?3))"
        )
        found = self._connection.execute(sql, (project, json.dumps(list(keys)), json.dumps(list(statuses))))
        return {key for (key,) in found}

    def number_of(self, project: str, record_id: str) -> int | None:
        return self._fix_tables.id_of(record_id) if project == DEFAULT_PROJECT else None

    def with_key(self, project: str, key: str) -> list[Stored]:
        sql = (
            f"SELECT {_STORED} FROM record_key k CROSS JOIN record r ON r.seq = k.seq WHERE k.project_id = ? AND k.key = ? "
            "ORDER BY k.seq"
        )
        return [Stored(*row) for row in self._connection.execute(sql, (project, key))]

    def facts_with_key(self, project: str, key: str, limit: int) -> list[Stored]:
        return [Stored(*row) for row in self._connection.execute(_FACTS, (project, key, limit))]

    def is_rolled_back(self, project: str, author: str) -> bool:
        return author in tallies.rolled_back(self._connection, project)

    def cleaned(self, project: str, after_id: str, limit: int) -> list[Stored]:
        sql = f"SELECT {_STORED} FROM record r WHERE r.project_id = ? AND r.id > ? AND r.kind = 'cleaned' ORDER BY r.id LIMIT ?"
        return [Stored(*row) for row in self._connection.execute(sql, (project, after_id, limit))]

    def state(self, project: str, name: str) -> int:
        value: int | None = self._connection.execute(
            "SELECT value FROM state WHERE project_id = ? AND name = ?", (project, name)
        ).get
        return value or 0

    def set_state(self, project: str, name: str, value: int) -> None:
        sql = "INSERT INTO state VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
        self._connection.execute(sql, (project, name, value))

    def request(self, project: str, key: bytes) -> Request | None:
        sql = "SELECT said, ids FROM request WHERE project_id = ? AND key = ?"
        row = self._connection.execute(sql, (project, key)).fetchone()
        return Request(row[0], json.loads(row[1])) if row else None

    def keep_request(self, project: str, key: bytes, request: Request, at_us: int, kept_since_us: int) -> None:
        self._connection.execute(
            "DELETE FROM request WHERE (project_id, key) IN "
            f"(SELECT project_id, key FROM request WHERE at_us < ? LIMIT {limits.REQUESTS_DROPPED_AT_ONCE})",
            (kept_since_us,),
        )
        self._connection.execute(
            "INSERT INTO request VALUES (?, ?, ?, ?, ?)", (project, key, request.said, json.dumps(request.ids), at_us)
        )

    def tree(self, project: str) -> TreeIndex:
        """What is known of the tree of files beside this file, as part of this transaction."""
        return TreeIndex(self._connection, project)

    def _index_remembers(self) -> bool:
        """FTS5 removes erased terms from its leaves, but keeps some as signposts between leaves. Whether there is a signpost
        to which no living term leads any more."""
        run = self._connection.execute
        run("CREATE VIRTUAL TABLE IF NOT EXISTS temp.living USING fts5vocab ('main', 'record_text', 'row')")
        for (signpost,) in run("SELECT term FROM main.record_text_idx"):
            # Its first byte names the index; a signpost may end within a character, so it is compared as bytes.
            beginning = bytes(signpost)[1:]
            lower = beginning.decode(errors="ignore")
            terms = run("SELECT term FROM temp.living WHERE term >= ? LIMIT 1", (lower,))
            if beginning and not any(term.encode().startswith(beginning) for (term,) in terms):
                return True
        return False


def _added_up(groups: Iterable[Sequence[Any]], column: int) -> dict[str, int]:
    """How many records there are by the values of a column, of groups that end with their number and times."""
    sums: dict[str, int] = {}
    for group in groups:
        if group[column] is not None:
            sums[group[column]] = sums.get(group[column], 0) + group[5]
    return dict(sorted(sums.items()))


def _numbered(where: str) -> str:
    """Conditions whose parameters are numbered, for a statement in which others come before them."""
    number = count(1)
    return re.sub(r"\?(?!\d)", lambda _: f"?{next(number)}", where)


def _found(row: Sequence[Any]) -> Found:
    *stored, author, status, good, terms, session, helped, hindered = row
    worked = None if good is None else bool(good)
    return Found(Stored._make(stored), author, status, worked, terms, session or "", helped, hindered)


def _taught(row: Row) -> Taught:
    return Taught(row.project_id, row.author, row.at_us, row.id, row.status, row.lessons)


def _get(connection: apsw.Connection, project: str, record_id: str) -> Stored | None:
    sql = f"SELECT {_STORED} FROM record r WHERE r.project_id = ? AND r.id = ?"
    row = connection.execute(sql, (project, record_id)).get
    if row and row[0] != record_id:
        raise apsw.CorruptError(f"the index leads from {record_id} to another record")
    return Stored(*row) if row else None


def _events_of(connection: apsw.Connection, project: str, record_id: str) -> list[Event]:
    sql = "SELECT body FROM event WHERE project_id = ? AND record_id = ? ORDER BY at_us, id"
    return [Event.model_validate_json(body) for (body,) in connection.execute(sql, (project, record_id))]


_STRAYS: Final = (
    "SELECT count(*) FROM record_text WHERE rowid NOT IN (SELECT seq FROM record)",
    "SELECT count(*) FROM record_tag WHERE seq NOT IN (SELECT seq FROM record)",
    "SELECT count(*) FROM record_file WHERE seq NOT IN (SELECT seq FROM record)",
    "SELECT count(*) FROM record_key WHERE seq NOT IN (SELECT seq FROM record)",
    "SELECT count(*) FROM record_vector WHERE seq NOT IN (SELECT seq FROM record)",
    "SELECT count(*) FROM record r JOIN event e ON e.project_id = r.project_id AND e.record_id = r.id "
    "WHERE e.kind = 'forgotten'",
)


def _untrue_events(connection: apsw.Connection) -> Iterator[str]:
    for event_id, record_id, kind, at_us, body in connection.execute("SELECT id, record_id, kind, at_us, body FROM event"):
        try:
            event = Event.model_validate_json(body)
        except InvalidInputError:
            yield event_id
            continue
        if (event.id, event.record_id, event.kind, event.at_us) != (event_id, record_id, kind, at_us):
            yield event_id


_EQUAL_COLUMNS: Final = ("kind", "outcome", "tool", "task_id", "model", "issue_type", "status", "author")


_HAS_KEY: Final = (
    "CASE WHEN r.kind = 'experience' AND json_valid(r.body) THEN EXISTS "
    "(SELECT 1 FROM json_each(r.body) AS given WHERE given.key = ? AND CAST(given.value AS TEXT) = ?) ELSE 0 END"
)
"""A CASE, because json_each refuses what is no JSON, and conditions come in any order."""


def _where(project: str, filters: Filters) -> tuple[str, list[Any]]:
    """Conditions from our own constants; what the caller gave is bound, never written into the statement."""
    conditions = ["r.project_id = ?"]
    values: list[Any] = [project]
    if filters.kind is None:
        conditions.append(f"r.{tallies.ORDINARY}")
    for column in _EQUAL_COLUMNS:
        value = getattr(filters, column)
        if value is not None:
            conditions.append(f"r.{column} = ?")
            values.append(value)
    if filters.key is not None:
        conditions.append(_HAS_KEY)
        values += filters.key.split("=", 1)
    if filters.since is not None:
        conditions.append("r.at_us >= ?")
        values.append(to_us(filters.since))
    if filters.until is not None:
        conditions.append("r.at_us < ?")
        values.append(to_us(filters.until))
    if filters.tag is not None:
        conditions.append("r.seq IN (SELECT seq FROM record_tag WHERE project_id = ? AND tag = ?)")
        values += [project, filters.tag]
    if filters.path is not None:
        conditions.append("r.seq IN (SELECT seq FROM record_file WHERE project_id = ? AND path GLOB ?)")
        values += [project, filters.path.replace("[!", "[^")]
    return " AND ".join(conditions), values
