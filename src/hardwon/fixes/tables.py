"""The tables of fix history: `fix_history`, `issue_patterns` and `model_characteristics`, as any
SQLite client can read them.

They show the fixes of the default project that count: not those that are archived, and not those of
a source that was rolled back. They are derived like everything but records and events, in the
transaction that changes those. Fixes that left the history have no row any more and are still
counted. What is counted is sums, so adding and taking back commute; texts (a best fix, effective
fixes) are looked up again where a sum changed.

Anybody else's write is refused by triggers, unless `fix_guard` says that it is ours: it does so
only inside of a transaction.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from itertools import islice
from typing import Any, Final, NamedTuple

import apsw

from hardwon import limits
from hardwon.errors import DamagedError
from hardwon.fixes.reports import FixTotals
from hardwon.fixes.rows import FixEntry, FixRow, did, read_entry, shorten, strategy_text, write_time
from hardwon.lessons.counts import APPLIED, SUCCEEDED, RecordCounts
from hardwon.lessons.fix_odds import ATTEMPTS_OF_FULL_CONFIDENCE
from hardwon.lessons.issues import signature_keys
from hardwon.lessons.keys import exact_key
from hardwon.lessons.sources import share_out
from hardwon.memory.fix_lessons import FIXES_LISTED_MAX
from hardwon.memory.project import batches
from hardwon.memory.tallies import LOOKED_INTO_MAX
from hardwon.outside.locations import DEFAULT_PROJECT
from hardwon.records.fields import check_limit, check_time, from_us
from hardwon.records.kinds import VOUCHED_STATUSES, Decision, Issue, Record
from hardwon.store.base import Kept, Listener, Store
from hardwon.store.query import FIXES, find_packing, plain_body, read_original, rolled_back_authors
from hardwon.store.types import Row, Session, Stored
from hardwon.text.terms import canonical

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
_with_key: Final = (
    "FROM main.record_key k CROSS JOIN main.record r ON r.seq = k.seq "
    f"WHERE k.project_id = '{DEFAULT_PROJECT}' AND {{}} AND NOT {_IS_LEFT_OUT} AND k.key"
).format
_COUNTING_WITH_KEY: Final = _with_key(_COUNTS)
_FIX: Final = f"FROM main.record WHERE project_id = '{DEFAULT_PROJECT}' AND kind = 'fix'"
_FRESH: Final = "temp.fresh_"
_FULL: Final = float(ATTEMPTS_OF_FULL_CONFIDENCE)

# A fix with its row number, which is its id in the tables.
Numbered = tuple[int, FixEntry]
# An issue type, or the key of a strategy; its attempts, and how many of them were verified.
CountedItem = tuple[str, int, int]


_PATTERN_FIGURES: Final = (
    "pattern_name, issue_signature, success_count, failure_count, last_seen, confidence_score"
)
_MODEL_FIGURES: Final = (
    "model_name, total_tests, success_rate, common_issues, last_updated, performance_notes"
)


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
    """The tables of one file, or, to check them, fresh ones beside them."""

    def __init__(self, session: Session, prefix: str = "main.") -> None:
        super().__init__(session)
        self._connection: apsw.Connection = session.connection
        self._run = self._connection.execute
        self._prefix = prefix
        self._words: dict[str, tuple[list[str], str] | None] = {}
        self._sources: dict[str, str | None] = {}

    # --- what happens to records ---

    def on_append(self, added: Sequence[tuple[int, Row]]) -> None:
        self._count(self._counting((seq, row, row.record, row.body) for seq, row in added), 1)
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
        if entries := self._counting([(seq, row, row.record, row.body)]):
            with self._unlock():
                self._hide(entries)
                self._show(entries)

    def on_standing(self, kept: Kept, now: RecordCounts) -> None:
        before = self._counting([(kept.seq, kept.taught, kept.record, kept.body)])
        after = self._counting([(kept.seq, now, kept.record, kept.body)])
        if not before:
            self._count(after, 1)
        elif not after:
            self._count(before, -1)
        if _is_rollback(kept):
            self._follow_rollbacks()

    def on_erase(self, gone: Sequence[Kept]) -> None:
        erased = ((kept.seq, kept.taught, kept.record, kept.body) for kept in gone)
        self._count(self._counting(erased), -1)
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
            for table in (*_COMPARED, "fix_left_out"):
                self._run(f"DELETE FROM {table}")
            for author in self._rolled_back():
                self._run("INSERT INTO fix_left_out VALUES (?)", (author,))
            self._fill()

    # --- keeping them current ---

    def _counting(
        self, counted: Iterable[tuple[int, Row | RecordCounts, Record | None, str]]
    ) -> list[Numbered]:
        """Those of these records (number, what it is kept under, record, body) that are fixes
        and count.
        """
        left_out = self._left_out()
        return [
            (seq, shorten(entry) if find_packing(body) else entry)
            for seq, head, record, body in counted
            if head.status != "archived" and head.author not in left_out
            if record and head.project_id == DEFAULT_PROJECT and (entry := read_entry(record))
        ]

    def _count(self, entries: Sequence[Numbered], sign: int) -> None:
        """Fixes that count from now on (1), or no longer (-1). Their records show it already."""
        if entries:
            with self._unlock():
                if sign > 0:
                    self._show(entries)
                else:
                    self._hide(entries)
                self._add_up(entries, sign)

    @contextmanager
    def _unlock(self) -> Iterator[None]:
        """What fails takes the transaction with it, and the open guard."""
        self._words = {}
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

    def _fill(self) -> None:
        for batch in self._batches(f"NOT {_IS_LEFT_OUT}", ()):
            self._show(batch)
            self._add_up(batch, 1)

    def _batches(self, where: str, values: tuple[Any, ...]) -> Iterator[list[Numbered]]:
        """The fixes of the default project that are not archived and pass a condition."""
        ours = f"project_id = '{DEFAULT_PROJECT}' AND {_COUNTS}"
        rows = self._run(f"SELECT {_STORED} WHERE {ours} AND {where} ORDER BY seq", values)
        return batches(self._entries(rows), limits.BATCH_ROWS)

    def _entries(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[Numbered]:
        for seq, *stored in rows:
            with suppress(DamagedError):  # doctor names it
                if entry := read_entry(read_original(Stored(*stored))):
                    yield seq, shorten(entry) if find_packing(stored[3]) else entry

    # --- rows and sums ---

    def _show(self, entries: Iterable[Numbered]) -> None:
        columns, marks = COLUMNS, ", ".join("?" * len(FixRow._fields))
        if self._has_newer_name():
            columns = f"{COLUMNS}, {NEWER_NAME}"
            marks += f", ?{FixRow._fields.index('claude_analysis') + 1}"
        self._connection.executemany(
            f"INSERT INTO {self._prefix}fix_history ({columns}) VALUES ({marks})",
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
        self._connection.executemany(
            f"DELETE FROM {self._prefix}fix_history WHERE id = ?", [(seq,) for seq, _ in entries]
        )

    def _add_up(self, entries: Sequence[Numbered], sign: int) -> None:
        counted, patterns = f"{self._prefix}fix_count", f"{self._prefix}issue_patterns"
        # summed up first: of a thousand fixes most are of the same few
        sums = defaultdict[tuple[str, str, str], list[int]](lambda: [0, 0, 0])
        seen = defaultdict[tuple[str, str], list[Any]](lambda: [0, 0, ""])
        for _, entry in entries:
            verified = sign * (entry.level == SUCCEEDED)
            for place in _places(entry):
                figures = sums[place]
                figures[0] += sign
                figures[1] += sign * (entry.level >= APPLIED)
                figures[2] += verified
            pattern = seen[entry.pattern, entry.signature]
            pattern[0] += verified
            pattern[1] += sign - verified
            pattern[2] = max(pattern[2], entry.timestamp)
        self._connection.executemany(
            f"INSERT INTO {counted} VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (scope, key, item) DO "
            "UPDATE SET attempts = attempts + excluded.attempts, "
            "applied = applied + excluded.applied, verified = verified + excluded.verified",
            sorted((*place, *figures) for place, figures in sums.items()),
        )
        self._connection.executemany(
            f"INSERT INTO {patterns} (pattern_name, issue_signature, success_count, "
            "failure_count, last_seen, confidence_score) "
            f"VALUES (?1, ?2, ?3, ?4, ?5, min(1.0, (?3 + ?4) / {_FULL})) "
            "ON CONFLICT (pattern_name) DO UPDATE SET "
            "success_count = success_count + excluded.success_count, "
            "failure_count = failure_count + excluded.failure_count, "
            "last_seen = max(last_seen, excluded.last_seen), confidence_score = min(1.0, "
            "(success_count + excluded.success_count + failure_count + excluded.failure_count) / "
            f"{_FULL})",
            sorted((*pattern, *figures) for pattern, figures in seen.items()),
        )
        if sign < 0:
            is_over = "scope = ? AND key = ? AND item = ? AND attempts <= 0"
            self._connection.executemany(f"DELETE FROM {counted} WHERE {is_over}", sums.keys())
            for name, signature in seen:
                self._set_last_time(name, signature)
        best = f"UPDATE {patterns} SET best_fix = ? WHERE pattern_name = ?"
        for name in {name for name, _ in seen}:
            self._run(best, (self._best_fix(name), name))
        newest = dict(sorted((entry.model, entry.timestamp) for _, entry in entries))
        for model, at in newest.items():
            self._characterise(model, at if sign > 0 else None)

    def _set_last_time(self, name: str, signature: str) -> None:
        """Of a pattern of which a fix went; where it was the last one, the pattern goes as well."""
        table = f"{self._prefix}issue_patterns"
        is_over = "pattern_name = ? AND success_count + failure_count <= 0"
        self._run(f"DELETE FROM {table} WHERE {is_over}", (name,))
        if self._connection.changes():
            return
        keys = f"signature:{signature}", exact_key("cleaned", signature)
        newest = f"SELECT r.seq {_COUNTING_WITH_KEY} IN (?, ?) ORDER BY r.at_us DESC"
        numbers = self._run(newest, keys).fetchall()
        whole = f"SELECT {_STORED} WHERE seq = ?"
        entries = self._entries(row for number in numbers for row in self._run(whole, number))
        last = next((entry.timestamp for _, entry in entries if entry.pattern == name), "")
        self._run(f"UPDATE {table} SET last_seen = ? WHERE pattern_name = ?", (last, name))

    # --- what is said about them ---

    def _best_fix(self, pattern: str) -> str | None:
        for strategy, _, verified in self._top("pattern", pattern, LOOKED_INTO_MAX):
            if words := self._find_words(strategy):
                best = {"fix_commands": words[0], "analysis": words[1], "verified": verified}
                return json.dumps(best, ensure_ascii=False)
        return None

    def _characterise(self, model: str, at: str | None) -> None:
        """`at` is when its newest fix was; None where one went, so that it is looked up which is
        the newest.
        """
        table = f"{self._prefix}model_characteristics"
        sums = f"sum(attempts), sum(applied), sum(verified) FROM {self._prefix}fix_count"
        of_model = self._run(f"SELECT {sums} WHERE scope = 'issue' AND key = ?", (model,))
        attempts, applied, verified = of_model.get
        if not attempts:
            self._run(f"DELETE FROM {table} WHERE model_name = ?", (model,))
            return
        issues = json.dumps([issue for issue, _, _ in self._list_issues(model)], ensure_ascii=False)
        helped = self._in_words(self._top("model", model, LOOKED_INTO_MAX))
        fixes = json.dumps([strategy.text for strategy in helped], ensure_ascii=False)
        last_updated = "max(last_updated, ?6)"
        if at is None:
            ours = f"project_id = '{DEFAULT_PROJECT}' AND {_COUNTS} AND NOT {_IS_LEFT_OUT}"
            sql = f"SELECT max(at_us) FROM main.record WHERE model = ? AND {ours}"
            newest_us: int | None = self._run(sql, (model,)).get
            at, last_updated = "" if newest_us is None else write_time(from_us(newest_us)), "?6"
        notes = f"{applied} of {attempts} fixes were applied, {verified} of them verified"
        self._run(
            f"INSERT INTO {table} VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) "
            "ON CONFLICT (model_name) DO UPDATE SET total_tests = ?2, success_rate = ?3, "
            "common_issues = ?4, effective_fixes = ?5, "
            f"last_updated = {last_updated}, performance_notes = ?7",
            (model, attempts, verified / attempts, issues, fixes, at, notes),
        )

    def _top(self, scope: str, key: str, limit: int, *, failed: bool = False) -> list[CountedItem]:
        """Strategies that were verified to work, the most often first; or those that never were, the
        most often tried first. An index has them in this order.
        """
        wanted = "verified > 0 ORDER BY verified DESC, attempts, item"
        if failed:
            wanted = "verified = 0 ORDER BY attempts DESC, item DESC"
        return self._items(scope, key, wanted, limit)

    def _list_issues(self, model: str) -> list[CountedItem]:
        wanted = "true ORDER BY attempts DESC, item"
        return self._items("issue", model, wanted, FIXES_LISTED_MAX)

    def _items(self, scope: str, key: str, wanted: str, limit: int) -> list[CountedItem]:
        selecting = f"SELECT item, attempts, verified FROM {self._prefix}fix_count"
        sql = f"{selecting} WHERE scope = ? AND key = ? AND {wanted} LIMIT ?"
        return self.session.select(sql, (scope, key, limit))

    def _in_words(self, items: Iterable[CountedItem]) -> list[CountedStrategy]:
        worded = (
            CountedStrategy(text, attempts, verified)
            for strategy, attempts, verified in items
            if (words := self._find_words(strategy)) and (text := strategy_text(*words))
        )
        return list(islice(worded, FIXES_LISTED_MAX))

    def _find_words(self, strategy: str) -> tuple[list[str], str] | None:
        """The commands, else the analysis, of the newest fix that did this."""
        if strategy not in self._words:
            newest = f"SELECT r.body {_COUNTING_WITH_KEY} = ? ORDER BY k.seq DESC LIMIT 1"
            body: str | None = self._run(newest, (exact_key("strategy", strategy),)).get
            self._words[strategy] = None
            with suppress(ValueError, KeyError):  # what cannot be read, doctor names
                self._words[strategy] = did(json.loads(plain_body(body))) if body else None
        return self._words[strategy]

    def read_knowledge(self) -> FixKnowledge:
        """Bounded in everything: the most frequent names, and of each the first few."""
        frequent = (
            "SELECT key FROM main.fix_count WHERE scope = ? GROUP BY key "
            f"ORDER BY sum(attempts) DESC, key LIMIT {KNOWN_NAMES_MAX}"
        )
        types, models = (
            [name for (name,) in self._run(frequent, (scope,))] for scope in ("type_of", "issue")
        )
        lists = (("type", types, False), ("type", types, True), ("model", models, False))
        strategies, failures, tips = (
            {name: best for name in names if (best := self._by_turns(scope, name, failed))}
            for scope, names, failed in lists
        )
        patterns = self._run(
            f"SELECT {_PATTERN_FIGURES}, best_fix FROM main.issue_patterns "
            f"ORDER BY success_count + failure_count DESC, pattern_name LIMIT {KNOWN_NAMES_MAX}"
        )
        issues = {name: self._list_issues(name) for name in models}
        return FixKnowledge(strategies, failures, tips, issues, patterns.fetchall())

    def _by_turns(self, scope: str, key: str, failed: bool) -> list[CountedStrategy]:
        """What worked, or what never did, no author having more than its share of the places."""
        sql = (
            f"SELECT count(DISTINCT author) FROM main.tally WHERE project_id = '{DEFAULT_PROJECT}' "
            f"AND scope = ? AND key = ? AND NOT {_IS_LEFT_OUT}"
        )
        authors: int = self._run(sql, (f"fix.{scope}", key)).get
        if authors <= 1:
            return self._in_words(self._top(scope, key, LOOKED_INTO_MAX, failed=failed))
        items = self._top(scope, key, SHARED_OUT_OF_MAX, failed=failed)
        most = FIXES_LISTED_MAX
        shared = share_out(items, lambda item: self._only_source(item[0]), most, authors)
        return self._in_words(shared)

    def _only_source(self, strategy: str) -> str | None:
        """Who alone did this, by the newest fixes that did; None where there are several, or
        somebody vouches for one.
        """
        if strategy not in self._sources:
            sql = f"SELECT r.author, r.status {_COUNTING_WITH_KEY} = ? ORDER BY k.seq DESC LIMIT ?"
            key = exact_key("strategy", strategy)
            rows = self.session.select(sql, (key, SOURCES_FROM_FIXES_MAX))
            authors = {author for author, _ in rows}
            alone = len(authors) == 1 and not any(status in VOUCHED_STATUSES for _, status in rows)
            self._sources[strategy] = authors.pop() if alone else None
        return self._sources[strategy]

    # --- checking ---

    def count_differing(self, project: str) -> int:
        """Texts of a strategy may differ in what makes no other strategy of it."""
        if project != DEFAULT_PROJECT:
            return 0
        fresh = FixTables(self.session, _FRESH)
        for table in _COMPARED:
            self._run(f"DROP TABLE IF EXISTS {_FRESH}{table}").fetchall()
            sql = "SELECT sql FROM main.sqlite_schema WHERE name = ?"
            definition: str = self._run(sql, (table,)).get
            definition = definition.replace(f"TABLE {table}", f"TABLE {_FRESH}{table}", 1)
            self._run(definition.replace(" AUTOINCREMENT", "")).fetchall()
        fresh._fill()
        differing = len(self._left_out() ^ self._rolled_back())
        for table, (columns, worded) in _COMPARED.items():
            kept, made = (f"SELECT {columns} FROM {prefix}{table}" for prefix in ("main.", _FRESH))
            sides: list[set[tuple[Any, ...]]] = []
            for these, those in ((kept, made), (made, kept)):
                rows = self._run(f"SELECT * FROM ({these} EXCEPT {those})").fetchall()
                texts = (canonical(row[-1]) if worded and row[-1] else row[-1] for row in rows)
                sides.append({(*row[:-1], text) for row, text in zip(rows, texts, strict=True)})
            differing += len(sides[0] ^ sides[1])
            self._run(f"DROP TABLE {_FRESH}{table}").fetchall()
        return differing + int(self._run("SELECT open FROM main.fix_guard").fetchall() != [(0,)])


# Where there are commands, the analysis beside them is that of one of those who ran them.
_COMPARED_FIX: Final = (
    "CASE WHEN best_fix ->> '$.fix_commands' = '[]' THEN best_fix "
    "ELSE json_remove(best_fix, '$.analysis') END"
)
# Of each table what must be as the records say, and whether the last column is a text of a strategy.
_COMPARED: Final[dict[str, tuple[str, bool]]] = {
    "fix_history": (COLUMNS, False),
    "issue_patterns": (f"{_PATTERN_FIGURES}, {_COMPARED_FIX}", True),
    "model_characteristics": (f"{_MODEL_FIGURES}, effective_fixes", True),
    "fix_count": ("scope, key, item, attempts, applied, verified", False),
}


def _places(entry: FixEntry) -> Iterator[tuple[str, str, str]]:
    """What a fix is counted under: for its model the issue type; for the type, the model and the
    pattern its strategy.
    """
    yield "issue", entry.model, entry.issue_type
    yield "type_of", entry.issue_type, ""
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

    def record_id(self, fix_id: int) -> str | None:
        """The id of the record behind a number."""
        with self._store.snapshot(DEFAULT_PROJECT) as session:
            row = session.first(f"SELECT id {_FIX} AND seq = ?", (fix_id,))
        return str(row[0]) if row else None

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

    def recent(
        self, since: datetime | str | None = None, limit: int = 100, model: str | None = None
    ) -> list[FixRow]:
        """The newest attempts, all of them or those of one model."""
        limit = check_limit(limit)
        where, at = (
            "timestamp >= ?",
            "" if since is None else write_time(check_time("since", since)),
        )
        values = [at] if model is None else [at, model]
        where += "" if model is None else " AND model_name = ?"
        with self._store.snapshot(DEFAULT_PROJECT) as session:
            return list(_rows(session, where, values, "timestamp DESC", limit))

    def add_newer_name(self) -> None:
        """For a history that had the column: whoever reads it goes on reading."""
        with self._store.write(DEFAULT_PROJECT) as writer:
            writer.session.run(f"ALTER TABLE fix_history ADD COLUMN {NEWER_NAME} TEXT")

    def totals(self, since: datetime | None = None) -> FixTotals:
        """Of the rows that are there, all of them or the newest."""
        with self._store.snapshot(DEFAULT_PROJECT) as session:
            (totals,) = session.select(
                "SELECT count(*), total(fix_success), total(fix_success AND verification_success), "
                "count(DISTINCT model_name), count(DISTINCT issue_type) "
                "FROM main.fix_history WHERE timestamp >= ?",
                ("" if since is None else write_time(since),),
            )
        return FixTotals(*map(int, totals))

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
