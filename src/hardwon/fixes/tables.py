"""The tables of fix history: `fix_history`, `issue_patterns` and `model_characteristics`, as any
SQLite client can read them.

They show the fixes of the default project that count: not those that are archived, and not those of
a source that was rolled back. They are derived like everything but records and events, in the
transaction that changes those. Fixes that left the history have no row any more and are still
counted. What is counted is sums (`fix_count`), so adding and taking back commute; beside them are
the words of each strategy (`fix_strategy`). Views of the schema put rows of patterns and models
together from both.

Anybody else's write is refused by triggers, unless `fix_guard` says that it is ours: it does so
only inside of a transaction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import chain
from typing import Any, Final, NamedTuple

import apsw

from hardwon import limits
from hardwon.errors import DamagedError
from hardwon.fixes.reports import FixTotals
from hardwon.fixes.rows import FixEntry, FixRow, read_entry, write_time
from hardwon.lessons.counts import APPLIED, SUCCEEDED, RecordCounts
from hardwon.lessons.issues import signature_keys
from hardwon.lessons.keys import exact_key
from hardwon.lessons.sources import share_out
from hardwon.memory.fix_lessons import FIXES_LISTED_MAX
from hardwon.memory.project import batches
from hardwon.memory.tallies import LOOKED_INTO_MAX
from hardwon.outside.locations import DEFAULT_PROJECT
from hardwon.records.fields import check_limit
from hardwon.records.kinds import VOUCHED_STATUSES, Decision, Issue, Record
from hardwon.store.base import Kept, Listener, Store
from hardwon.store.query import FIXES, read_original, rolled_back_authors
from hardwon.store.types import Row, Session, Stored

# Strategies, the best first, among which room is shared out between their authors. Who fills all of
# them hides the others, and still gets no more than its share.
SHARED_OUT_OF_MAX: Final = 300

# Issue types, models and patterns in the knowledge base, and models in an export of insights: those
# met most often. Both are read whole.
KNOWN_NAMES_MAX: Final = 100

# The newest fixes by which it is known who used a strategy: one of another author shows soon, and
# thousands may be of one.
SOURCES_FROM_FIXES_MAX: Final = 50

COLUMNS: Final = ", ".join(FixRow._fields)
NEWER_NAME: Final = "ai_analysis"  # what later programs of fix history call `claude_analysis`

_COUNTS: Final = f"{FIXES} AND status <> 'archived'"
_IS_LEFT_OUT: Final = "author IN (SELECT author FROM main.fix_left_out)"
_STORED: Final = "seq, id, kind, at_us, body, digest, validation FROM main.record"
_OURS: Final = f"project_id = '{DEFAULT_PROJECT}' AND {_COUNTS}"
_DOING: Final = (
    "FROM main.record_key k CROSS JOIN main.record r ON r.seq = k.seq "
    f"WHERE k.project_id = '{DEFAULT_PROJECT}' AND {_COUNTS} AND NOT {_IS_LEFT_OUT} AND k.key = ?"
)
_PATTERN: Final = "issue_signature success_count failure_count confidence_score best_fix".split()
_MODEL: Final = "total_tests success_rate common_issues effective_fixes performance_notes".split()
# Of the tables that are put together from sums, by a view of the schema: what of a fix a row is about,
# the key, what else is there, and the column that has the time of the newest.
_SUMMARIES: Final = {
    "issue_patterns": ("pattern", "pattern_name", _PATTERN, "last_seen"),
    "model_characteristics": ("model", "model_name", _MODEL, "last_updated"),
}

# A fix with its row number, which is its id in the tables.
Numbered = tuple[int, FixEntry]
# An issue type, or the key of a strategy; its attempts, how many of them were verified, and what was
# done in words.
CountedItem = tuple[str, int, int, str]

# What was verified to work, the most often first; what never was, the most often tried first; whatever
# there is, the most frequent first. An index has them in this order.
_BEST: Final = "verified > 0 ORDER BY verified DESC, attempts, item"
_NEVER: Final = "verified = 0 ORDER BY attempts DESC, item DESC"
_FREQUENT: Final = "true ORDER BY attempts DESC, item"


class CountedStrategy(NamedTuple):
    """Something that was done about an issue, on one line; how often it was tried, and verified to
    work.
    """

    text: str
    attempts: int
    verified: int


class FixKnowledge(NamedTuple):
    """What the tables know, the most successful, or most frequent, first: by issue type what worked
    and what never did, by model what worked and its issues (type, attempts, verified), and the
    patterns.
    """

    strategies: dict[str, list[CountedStrategy]]
    failures: dict[str, list[CountedStrategy]]
    tips: dict[str, list[CountedStrategy]]
    issues: dict[str, list[CountedItem]]
    patterns: list[tuple[Any, ...]]


class FixTables(Listener):
    """The tables of one file."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._connection: apsw.Connection = session.connection
        self._run = self._connection.execute
        self._sources: dict[str, str | None] = {}

    # --- what happens to records ---

    def on_append(self, added: Sequence[tuple[int, Row]]) -> None:
        self._count(self._counting((seq, row, row.record) for seq, row in added), 1)
        ours = ((seq, row) for seq, row in added if row.project_id == DEFAULT_PROJECT)
        if numbers := [seq for seq, row in ours if row.kind in ("fix", "cleaned")]:
            # No fix gets this number, or one below it, from now on: also where this one is not
            # shown.
            sql = "UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'fix_history'"
            self._run(sql, numbers[-1:])
            if not self._connection.changes():
                self._run("INSERT INTO sqlite_sequence VALUES ('fix_history', ?)", numbers[-1:])
        if any(row.kind == "decision" for _, row in added):
            self._follow_rollbacks()

    def on_replace(self, seq: int, row: Row) -> None:
        if entries := self._counting([(seq, row, row.record)]):
            with self._unlock():
                self._hide(entries)
                self._show(entries)
                self._word(entries)

    def on_standing(self, kept: Kept, now: RecordCounts) -> None:
        before = self._counting([kept])
        after = self._counting([(kept.seq, now, kept.record)])
        if not before:
            self._count(after, 1)
        elif not after:
            self._count(before, -1)
        if _is_rollback(kept):
            self._follow_rollbacks()

    def on_erase(self, gone: Sequence[Kept]) -> None:
        self._count(self._counting(gone), -1)
        if any(map(_is_rollback, gone)):
            self._follow_rollbacks()

    def rebuild(self, project: str | None) -> None:
        """Fills the tables anew from the records of the default project, whose they are; nothing is
        done for another one. None: all projects.
        """
        if project not in (None, DEFAULT_PROJECT):
            return
        self._run("DELETE FROM fix_guard")
        self._run("INSERT INTO fix_guard VALUES (0)")
        with self._unlock():
            for table in ("fix_history", "fix_count", "fix_strategy", "fix_left_out", *_SUMMARIES):
                self._run(f"DELETE FROM {table}")
            for author in self._rolled_back():
                self._run("INSERT INTO fix_left_out VALUES (?)", (author,))
            for batch in self._batches(f"NOT {_IS_LEFT_OUT}", ()):
                self._show(batch)
                self._word(batch)
                self._add_up(batch, 1)
            for table, (_, key, columns, newest) in _SUMMARIES.items():
                whole = ", ".join((key, *columns, newest))
                self._run(f"INSERT INTO {table} ({whole}) SELECT {whole} FROM {table}_now")

    # --- keeping them current ---

    def _counting(
        self, counted: Iterable[tuple[int, Row | RecordCounts, Record | None]]
    ) -> list[Numbered]:
        """Those of these records (number, what it is kept under, record) that are fixes
        and count.
        """
        left_out = self._left_out()
        return [
            (seq, entry)
            for seq, head, record in counted
            if head.status != "archived" and head.author not in left_out
            if record and head.project_id == DEFAULT_PROJECT and (entry := read_entry(record))
        ]

    def _count(self, entries: Sequence[Numbered], sign: int) -> None:
        """Fixes that count from now on (1), or no longer (-1). Their records show it already."""
        if not entries:
            return
        with self._unlock():
            self._add_up(entries, sign)
            changed: list[str] = []
            if sign > 0:
                self._show(entries)
                self._word(entries)
            else:
                self._hide(entries)
                changed = self._word_anew(entries)
            for table, (part, *_) in _SUMMARIES.items():
                newest: dict[str, str | None] = {}
                newest.update(
                    sorted((getattr(entry, part), entry.timestamp) for _, entry in entries)
                )
                if sign < 0:  # with those that had the words of what went
                    having = "SELECT key FROM fix_count WHERE scope = ? AND item = ?"
                    others = (self.session.column(having, (part, one)) for one in changed)
                    newest = dict.fromkeys([*newest, *chain(*others)])
                self._sum_up(table, newest)

    @contextmanager
    def _unlock(self) -> Iterator[None]:
        """What fails takes the transaction with it, and the open guard."""
        self._run("UPDATE fix_guard SET open = 1")
        yield
        self._run("UPDATE fix_guard SET open = 0")

    def _left_out(self) -> set[str]:
        return {author for (author,) in self._run("SELECT author FROM main.fix_left_out")}

    def _rolled_back(self) -> set[str]:
        return rolled_back_authors(self.session, DEFAULT_PROJECT)

    def _follow_rollbacks(self) -> None:
        """After a rollback, or after one was taken back: the sources that count are others."""
        before, now = self._left_out(), self._rolled_back()
        for author in sorted(before ^ now):
            if author in now:
                self._run("INSERT INTO fix_left_out VALUES (?)", (author,))
            else:
                self._run("DELETE FROM fix_left_out WHERE author = ?", (author,))
            for batch in self._batches("author = ?", (author,)):
                self._count(batch, -1 if author in now else 1)

    def _batches(self, where: str, values: tuple[Any, ...]) -> Iterator[list[Numbered]]:
        """The fixes of the default project that are not archived and pass a condition."""
        rows = self._run(f"SELECT {_STORED} WHERE {_OURS} AND {where} ORDER BY seq", values)
        return batches(self._entries(rows), limits.BATCH_ROWS)

    def _entries(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[Numbered]:
        for seq, *stored in rows:
            with suppress(DamagedError):  # doctor names it
                if entry := read_entry(read_original(Stored(*stored))):
                    yield seq, entry

    # --- rows and sums ---

    def _show(self, entries: Iterable[Numbered], prefix: str = "main.") -> None:
        columns, marks = COLUMNS, ", ".join("?" * len(FixRow._fields))
        if self._has_newer_name():
            columns = f"{COLUMNS}, {NEWER_NAME}"
            marks += f", ?{FixRow._fields.index('claude_analysis') + 1}"
        self._connection.executemany(
            f"INSERT INTO {prefix}fix_history ({columns}) VALUES ({marks})",
            [(seq, *entry.shown) for seq, entry in entries if entry.shown is not None],
        )

    def _has_newer_name(self) -> bool:
        """Asked of the connection, as of the last statement that it ran: the file itself takes
        fifty times as long to ask.
        """
        with suppress(apsw.SQLError):
            return bool(self._connection.column_metadata("main", "fix_history", NEWER_NAME))
        return False

    def _hide(self, entries: Iterable[Numbered]) -> None:
        numbers = [(seq,) for seq, _ in entries]
        self._connection.executemany("DELETE FROM fix_history WHERE id = ?", numbers)

    def _add_up(self, entries: Sequence[Numbered], sign: int, prefix: str = "main.") -> None:
        # summed up first: of a thousand fixes most are of the same few
        sums = defaultdict[tuple[str, str, str], list[int]](lambda: [0, 0, 0])
        for _, entry in entries:
            for place in _places(entry):
                figures = sums[place]
                figures[0] += sign
                figures[1] += sign * (entry.level >= APPLIED)
                figures[2] += sign * (entry.level == SUCCEEDED)
        self._connection.executemany(
            f"INSERT INTO {prefix}fix_count VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO "
            "UPDATE SET attempts = attempts + excluded.attempts, "
            "applied = applied + excluded.applied, verified = verified + excluded.verified",
            sorted((*place, *figures) for place, figures in sums.items()),
        )
        if sign < 0:
            is_over = "scope = ? AND key = ? AND item = ? AND attempts <= 0"
            self._connection.executemany(f"DELETE FROM fix_count WHERE {is_over}", sums.keys())

    def _word(self, entries: Iterable[Numbered]) -> None:
        """Strategies in the words of the newest fix that followed them."""
        self._connection.executemany(
            "INSERT INTO fix_strategy VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
            "seq = excluded.seq, fix_commands = excluded.fix_commands, "
            "analysis = excluded.analysis, words = excluded.words WHERE excluded.seq >= seq",
            [(entry.strategy, seq, *entry.words) for seq, entry in entries if entry.strategy],
        )

    def _word_anew(self, gone: Iterable[Numbered]) -> list[str]:
        """Those that were in the words of fixes that are gone, in the words of the newest one that
        is left. Returns them.
        """
        taken = "DELETE FROM fix_strategy WHERE strategy = ? AND seq = ?"
        changed = [
            entry.strategy for seq, entry in gone if self.session.run(taken, (entry.strategy, seq))
        ]
        newest = f"SELECT r.seq {_DOING} ORDER BY k.seq DESC LIMIT 1"
        whole = f"SELECT {_STORED} WHERE seq = ?"
        for strategy in changed:
            for seq in self._run(newest, (exact_key("strategy", strategy),)).fetchall():
                self._word(self._entries(self._run(whole, seq).fetchall()))
        return changed

    def _sum_up(self, table: str, newest: Mapping[str, str | None]) -> None:
        """Rows of a table that is put together from sums, by their names, each with when its newest
        fix was; None where one went, and that is looked up.
        """
        _, key, columns, at = _SUMMARIES[table]
        listed = ", ".join(columns)
        renewed = ", ".join(f"{column} = excluded.{column}" for column in columns)
        for name, time in newest.items():
            if time is None:
                self._run(f"DELETE FROM {table} WHERE {key} = ?", (name,))
            last, values = (at, (name,)) if time is None else ("?2", (name, time))
            self._run(
                f"INSERT INTO {table} ({key}, {listed}, {at}) SELECT {key}, {listed}, {last} "
                f"FROM {table}_now WHERE {key} = ?1 ON CONFLICT ({key}) DO UPDATE SET {renewed}, "
                f"{at} = max({at}, excluded.{at})",
                values,
            )

    # --- what is said about them ---

    def _list(self, scope: str, key: str, wanted: str, most: int) -> list[CountedItem]:
        sql = (
            "SELECT item, attempts, verified, coalesce(words, '') FROM main.fix_count LEFT JOIN "
            f"main.fix_strategy ON strategy = item WHERE scope = ? AND key = ? AND {wanted} LIMIT ?"
        )
        return self.session.select(sql, (scope, key, most))

    def read_knowledge(self) -> FixKnowledge:
        """Bounded in everything: the most frequent names, and of each the first few."""
        frequent = (
            "SELECT key FROM main.fix_count WHERE scope = ? GROUP BY key "
            f"ORDER BY sum(attempts) DESC, key LIMIT {KNOWN_NAMES_MAX}"
        )
        types, models = (self.session.column(frequent, (scope,)) for scope in ("type_of", "issue"))
        strategies, failures, tips = (
            {name: best for name in names if (best := self._list_by_turns(scope, name, wanted))}
            for scope, names, wanted in (
                ("type", types, _BEST),
                ("type", types, _NEVER),
                ("model", models, _BEST),
            )
        )
        patterns = self._run(
            "SELECT pattern_name, issue_signature, success_count, failure_count, last_seen, "
            "confidence_score, best_fix FROM main.issue_patterns "
            f"ORDER BY success_count + failure_count DESC, pattern_name LIMIT {KNOWN_NAMES_MAX}"
        )
        issues = {name: self._list("issue", name, _FREQUENT, FIXES_LISTED_MAX) for name in models}
        return FixKnowledge(strategies, failures, tips, issues, patterns.fetchall())

    def _list_by_turns(self, scope: str, key: str, wanted: str) -> list[CountedStrategy]:
        """What worked, or what never did, no author having more than its share of the places."""
        sql = (
            f"SELECT count(DISTINCT author) FROM main.tally WHERE project_id = '{DEFAULT_PROJECT}' "
            f"AND scope = ? AND key = ? AND NOT {_IS_LEFT_OUT}"
        )
        authors: int = self._run(sql, (f"fix.{scope}", key)).get
        looked_into = SHARED_OUT_OF_MAX if authors > 1 else LOOKED_INTO_MAX
        items, most = self._list(scope, key, wanted, looked_into), FIXES_LISTED_MAX
        if authors > 1:
            items = [*share_out(items, lambda item: self._only_source(item[0]), most, authors)]
        return [CountedStrategy(words, *figures) for _, *figures, words in items if words][:most]

    def _only_source(self, strategy: str) -> str | None:
        """Who alone did this, by the newest fixes that did; None where there are several, or
        somebody vouches for one.
        """
        if strategy not in self._sources:
            sql = f"SELECT r.author, r.status {_DOING} ORDER BY k.seq DESC LIMIT ?"
            key = exact_key("strategy", strategy)
            rows = self.session.select(sql, (key, SOURCES_FROM_FIXES_MAX))
            authors = {author for author, _ in rows}
            alone = len(authors) == 1 and not any(status in VOUCHED_STATUSES for _, status in rows)
            self._sources[strategy] = authors.pop() if alone else None
        return self._sources[strategy]

    # --- checking ---

    def count_differing(self, project: str) -> int:
        """How many rows are not what the records say; words of a strategy may be any of those who
        followed it.
        """
        if project != DEFAULT_PROJECT:
            return 0
        for table in ("fix_history", "fix_count"):
            self._run(f"DROP TABLE IF EXISTS {_FRESH}{table}").fetchall()
            self._run(f"CREATE TABLE {_FRESH}{table} AS SELECT * FROM main.{table} LIMIT 0")
        self._run(f"CREATE UNIQUE INDEX {_FRESH}place ON fresh_fix_count (scope, key, item)")
        for batch in self._batches(f"NOT {_IS_LEFT_OUT}", ()):
            self._show(batch, _FRESH)
            self._add_up(batch, 1, _FRESH)
        differing = len(self._left_out() ^ self._rolled_back())
        for kept, made in _COMPARED:
            for one, other in ((kept, made), (made, kept)):
                differing += len(self._run(f"SELECT {one} EXCEPT SELECT {other}").fetchall())
        return differing + int(self._run("SELECT open FROM main.fix_guard").fetchall() != [(0,)])


_FRESH: Final = "temp.fresh_"
_SUMS: Final = "scope, key, item, attempts, applied, verified"
_PATTERNS: Final = (
    "pattern_name, success_count, failure_count, last_seen, best_fix ->> '$.verified'"
)
_MODELS: Final = "model_name, total_tests, success_rate, common_issues, last_updated"
# What must be the same: what is kept, and what follows from the records.
_COMPARED: Final = (
    (f"{COLUMNS} FROM main.fix_history", f"{COLUMNS} FROM {_FRESH}fix_history"),
    (f"{_SUMS} FROM main.fix_count", f"{_SUMS} FROM {_FRESH}fix_count"),
    (f"{_PATTERNS} FROM main.issue_patterns", f"{_PATTERNS} FROM main.issue_patterns_now"),
    (
        f"{_MODELS} FROM main.model_characteristics",
        f"{_MODELS} FROM main.model_characteristics_now",
    ),
    ("item FROM main.fix_count WHERE scope = 'type'", "strategy FROM main.fix_strategy"),
)


def _places(entry: FixEntry) -> Iterator[tuple[str, str, str]]:
    """What a fix is counted under: for its model the issue type; for the type, the model and the
    pattern its strategy.
    """
    yield "issue", entry.model, entry.issue_type
    yield "type_of", entry.issue_type, ""
    yield "pattern_of", entry.pattern, entry.signature
    if entry.strategy:
        yield "type", entry.issue_type, entry.strategy
        yield "model", entry.model, entry.strategy
        yield "pattern", entry.pattern, entry.strategy


def _is_rollback(kept: Kept) -> bool:
    return isinstance(kept.record, Decision) and kept.record.action == "rollback"


class FixHistory:
    """The tables, read: for whoever knows fixes by their integer ids and columns. Each question is
    answered as of one instant.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def row(self, fix_id: int) -> FixRow | None:
        """The fix with this number; None where there is none."""
        with self._store.snapshot(DEFAULT_PROJECT) as session:
            return next(_rows(session, "id = ?", (fix_id,)), None)

    def similar(self, issue: Issue, limit: int) -> tuple[list[FixRow], list[FixRow], list[FixRow]]:
        """Earlier attempts at the same issue (by either signature), at issues of the same model and
        type, and of the same type on any model: verified ones first, then applied ones, then the
        newest.
        """
        limit = check_limit(limit)
        key = f"SELECT seq FROM main.record_key WHERE project_id = '{DEFAULT_PROJECT}' AND key = ?"
        of_type = (issue.issue_type,)
        questions: list[tuple[str, Sequence[str]]] = [
            (f"id IN ({key} UNION ALL {key})", signature_keys(issue)),
            ("model_name = ? AND issue_type = ?", (issue.model, *of_type)),
            ("issue_type = ?", of_type),
        ]
        best = "fix_success DESC, verification_success DESC, timestamp DESC, id DESC"
        with self._store.snapshot(DEFAULT_PROJECT) as session:
            exact, model, of_any = (
                list(_rows(session, where, values, best, limit)) for where, values in questions
            )
        return exact, model, of_any

    def recent(self, model: str, limit: int) -> list[FixRow]:
        """The newest attempts on a model."""
        of_model = "model_name = ?", (model,), "timestamp DESC", limit
        with self._store.snapshot(DEFAULT_PROJECT) as session:
            return list(_rows(session, *of_model))

    def add_newer_name(self) -> None:
        """For a history that had the column: whoever reads it goes on reading."""
        with self._store.write(DEFAULT_PROJECT) as writer:
            writer.session.run(f"ALTER TABLE fix_history ADD COLUMN {NEWER_NAME} TEXT")

    def totals(self) -> FixTotals:
        """Of the rows that are there; models and issue types are those that were ever met."""
        rows = "(SELECT count(*) FROM main.fix_history WHERE {})".format
        counted = [rows("true"), rows("fix_success = 1")]
        counted += [rows("fix_success = 1 AND verification_success = 1")]
        counted += ["(SELECT count(*) FROM main.model_characteristics)"]
        counted += ["(SELECT count(*) FROM main.fix_count WHERE scope = 'type_of')"]
        with self._store.snapshot(DEFAULT_PROJECT) as session:
            return FixTotals(*session.select(f"SELECT {', '.join(counted)}")[0])

    def count_since(self, at: datetime) -> int:
        """How many rows are that new."""
        sql = "SELECT count(*) FROM main.fix_history WHERE timestamp >= ?"
        with self._store.snapshot(DEFAULT_PROJECT) as session:
            return int(session.value(sql, (write_time(at),)))

    def all(self) -> Iterator[FixRow]:
        """Every row, oldest first."""
        with self._store.snapshot(DEFAULT_PROJECT) as session:
            yield from _rows(session)

    def read_knowledge(self) -> FixKnowledge:
        """What works, and what does not, by issue type and model."""
        with self._store.snapshot(DEFAULT_PROJECT) as session:
            return FixTables(session).read_knowledge()


def _rows(
    session: Session, where: str = "true", values: Any = (), order: str = "id", limit: int = -1
) -> Iterator[FixRow]:
    sql = f"SELECT {COLUMNS} FROM main.fix_history WHERE {where} ORDER BY {order} LIMIT ?"
    return (FixRow(*row) for row in session.stream(sql, (*values, limit)))
