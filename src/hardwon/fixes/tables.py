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
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from typing import Any, Final, NamedTuple

import apsw

from hardwon import limits
from hardwon.errors import DamagedError
from hardwon.learn.odds import ATTEMPTS_OF_FULL_CONFIDENCE
from hardwon.learn.tallies import (
    APPLIED,
    SUCCEEDED,
    FixEntry,
    FixRow,
    cleaned_key,
    entry_of,
    same_strategy_key,
    shortened,
    signature_keys,
    strategy_text,
    text_of,
)
from hardwon.outside.locations import DEFAULT_PROJECT
from hardwon.records.fields import check_limit, check_time, from_us
from hardwon.records.kinds import VOUCHED_STATUSES, Decision, Issue, Record
from hardwon.search.terms import Filters
from hardwon.store.base import Kept, Listener, Store
from hardwon.store.query import FIXES, did, is_packed, original_of, rolled_back_authors
from hardwon.store.types import Row, Session, Stored
from hardwon.text.words import canonical

COLUMNS: Final = ", ".join(FixRow._fields)
_COUNTS: Final = f"{FIXES} AND status <> 'archived'"
_IS_LEFT_OUT: Final = "author IN (SELECT author FROM main.fix_left_out)"
_STORED: Final = "seq, id, kind, at_us, body, digest, validation FROM main.record"
_COUNTING_WITH_KEY: Final = (
    "FROM main.record_key k CROSS JOIN main.record r ON r.seq = k.seq "
    f"WHERE k.project_id = '{DEFAULT_PROJECT}' AND {_COUNTS} AND NOT {_IS_LEFT_OUT} AND k.key"
)
_TABLES: Final = ("fix_history", "issue_patterns", "model_characteristics", "fix_count")
_FRESH: Final = "temp.fresh_"
_FULL: Final = float(ATTEMPTS_OF_FULL_CONFIDENCE)

Numbered = tuple[int, FixEntry]
"""A fix with its row number, which is its id in the tables."""
CountedItem = tuple[str, int, int]
"""An issue type, or the key of a strategy; its attempts, and how many of them were verified."""


class PatternRow(NamedTuple):
    """The columns of `issue_patterns` but for the id."""

    pattern_name: str
    issue_signature: str
    success_count: int
    failure_count: int
    best_fix: str | None
    last_seen: str
    confidence_score: float


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
    patterns: list[PatternRow]


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
        fixes = [
            (seq, row.author, row.status, entry)
            for seq, row in added
            if (entry := _entry_of(row.project_id, row.record, row.body))
        ]
        if fixes:
            self._count_in(self._counting(fixes))
            # No fix gets this number, or one below it, from now on: also where this one is not
            # shown.
            number = fixes[-1][:1]
            given = "UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'fix_history'"
            self._run(given, number)
            if not self._connection.changes():
                self._run("INSERT INTO sqlite_sequence VALUES ('fix_history', ?)", number)
        if any(row.kind == "decision" for _, row in added):
            self._follow_rollbacks()

    def on_replace(self, seq: int, row: Row) -> None:
        entry = _entry_of(row.project_id, row.record, row.body)
        if entry and self._counting([(seq, row.author, row.status, entry)]):
            with self._unlocked():
                self._hide([seq])
                self._show([(seq, entry)])

    def on_status(self, kept: Kept, status: str) -> None:
        author, entry = kept.taught.author, _entry_of_kept(kept)
        if entry:
            before, after = (
                self._counting([(kept.seq, author, each, entry)])
                for each in (kept.taught.status, status)
            )
            if not before:
                self._count_in(after)
            elif not after:
                self._count_out(before)
        elif _is_rollback(kept):
            self._follow_rollbacks()

    def on_erase(self, gone: Sequence[Kept]) -> None:
        fixes = [
            (kept.seq, kept.taught.author, kept.taught.status, entry)
            for kept in gone
            if (entry := _entry_of_kept(kept))
        ]
        self._count_out(self._counting(fixes))
        if any(map(_is_rollback, gone)):
            self._follow_rollbacks()

    def rebuild(self, project: str | None) -> None:
        if project not in (None, DEFAULT_PROJECT):
            return
        self._run("DELETE FROM fix_guard")
        self._run("INSERT INTO fix_guard VALUES (0)")
        with self._unlocked():
            for table in (*_TABLES, "fix_left_out"):
                self._run(f"DELETE FROM {table}")
            for author in self._rolled_back():
                self._run("INSERT INTO fix_left_out VALUES (?)", (author,))
            self._fill()

    # --- keeping them current ---

    def _count_in(self, entries: Sequence[Numbered]) -> None:
        """Fixes that count from now on."""
        if entries:
            with self._unlocked():
                self._show(entries)
                self._count(entries, 1)

    def _count_out(self, entries: Sequence[Numbered]) -> None:
        """Fixes that count no longer. Their records show it already."""
        if entries:
            with self._unlocked():
                self._hide(seq for seq, _ in entries)
                self._count(entries, -1)

    @contextmanager
    def _unlocked(self) -> Iterator[None]:
        """What fails takes the transaction with it, and the open guard."""
        self._words = {}
        self._run("UPDATE fix_guard SET open = 1")
        yield
        self._run("UPDATE fix_guard SET open = 0")

    def _counting(self, entries: Iterable[tuple[int, str, str, FixEntry]]) -> list[Numbered]:
        """Those (row number, author, status, entry) that count."""
        left_out = self._left_out()
        return [
            (seq, entry)
            for seq, author, status, entry in entries
            if status != "archived" and author not in left_out
        ]

    def _left_out(self) -> set[str]:
        return {author for (author,) in self._run("SELECT author FROM main.fix_left_out")}

    def _rolled_back(self) -> set[str]:
        return rolled_back_authors(self.session, DEFAULT_PROJECT)

    def _follow_rollbacks(self) -> None:
        """After a rollback, or after one was taken back: the sources that count are others."""
        before, now = self._left_out(), self._rolled_back()
        for author in sorted(now - before):
            self._run("INSERT INTO fix_left_out VALUES (?)", (author,))
            for batch in self._batches("author = ?", (author,)):
                self._count_out(batch)
        for author in sorted(before - now):
            self._run("DELETE FROM fix_left_out WHERE author = ?", (author,))
            for batch in self._batches("author = ?", (author,)):
                self._count_in(batch)

    def _fill(self) -> None:
        for batch in self._batches(f"NOT {_IS_LEFT_OUT}", ()):
            self._show(batch)
            self._count(batch, 1)

    def _batches(self, where: str, values: tuple[Any, ...]) -> Iterator[list[Numbered]]:
        """The fixes of the default project that are not archived and pass a condition."""
        sql = f"SELECT {_STORED} WHERE project_id = '{DEFAULT_PROJECT}' AND {_COUNTS} AND {where} ORDER BY seq"
        found = self._entries(self._run(sql, values))
        while batch := list(islice(found, limits.BATCH_ROWS)):
            yield batch

    def _entries(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[Numbered]:
        for seq, *stored in rows:
            try:
                entry = entry_of(original_of(Stored(*stored)))
            except DamagedError:  # doctor names it
                continue
            if entry:
                yield seq, shortened(entry) if is_packed(stored[3]) else entry

    # --- rows and sums ---

    def _show(self, entries: Iterable[Numbered]) -> None:
        marks = ", ".join("?" * len(FixRow._fields))
        self._connection.executemany(
            f"INSERT INTO {self._prefix}fix_history ({COLUMNS}) VALUES ({marks})",
            [(seq, *entry.shown) for seq, entry in entries if entry.shown is not None],
        )

    def _hide(self, numbers: Iterable[int]) -> None:
        self._connection.executemany(
            f"DELETE FROM {self._prefix}fix_history WHERE id = ?", [(seq,) for seq in numbers]
        )

    def _count(self, entries: Sequence[Numbered], sign: int) -> None:
        sums: dict[tuple[str, str, str], tuple[int, int, int]] = {}
        patterns: dict[tuple[str, str], tuple[int, int, str]] = {}
        models: dict[str, str] = {}
        for _, entry in entries:
            applied, verified = sign * (entry.level >= APPLIED), sign * (entry.level == SUCCEEDED)
            for place in _places(entry):
                before = sums.get(place, (0, 0, 0))
                sums[place] = before[0] + sign, before[1] + applied, before[2] + verified
            named = entry.pattern, entry.signature
            good, bad, last = patterns.get(named, (0, 0, ""))
            last = max(last, entry.timestamp)
            patterns[named] = good + verified, bad + sign - verified, last
            models[entry.model] = max(models.get(entry.model, ""), entry.timestamp)
        self._add_up(sums, patterns)
        if sign < 0:
            for name, signature in sorted(patterns):
                self._set_last_seen(name, signature)
        succeeded = [entry for _, entry in entries if entry.level == SUCCEEDED]
        for name in sorted({entry.pattern for entry in succeeded}):
            self._run(
                f"UPDATE {self._prefix}issue_patterns SET best_fix = ? WHERE pattern_name = ?",
                (self._best_fix(name), name),
            )
        helped = {entry.model for entry in succeeded}
        for model, at in sorted(models.items()):
            self._characterise(model, at, newest=sign < 0, reworded=model in helped)

    def _add_up(
        self,
        sums: dict[tuple[str, str, str], tuple[int, int, int]],
        patterns: dict[tuple[str, str], tuple[int, int, str]],
    ) -> None:
        table = f"{self._prefix}fix_count"
        self._connection.executemany(
            f"INSERT INTO {table} VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (scope, key, item) DO "
            f"UPDATE SET "
            "attempts = attempts + excluded.attempts, applied = applied + excluded.applied, "
            "verified = verified + excluded.verified",
            [(*place, *figures) for place, figures in sorted(sums.items())],
        )
        self._connection.executemany(
            f"DELETE FROM {table} WHERE scope = ? AND key = ? AND item = ? AND attempts <= 0",
            [place for place, (attempts, _, _) in sums.items() if attempts < 0],
        )
        self._connection.executemany(
            f"INSERT INTO {self._prefix}issue_patterns (pattern_name, issue_signature, "
            f"success_count, failure_count, last_seen, confidence_score) "
            f"VALUES (?1, ?2, ?3, ?4, ?5, min(1.0, (?3 + ?4) / {_FULL})) ON CONFLICT "
            f"(pattern_name) DO UPDATE SET "
            "success_count = success_count + excluded.success_count, failure_count = failure_count "
            "+ excluded.failure_count, "
            "last_seen = max(last_seen, excluded.last_seen), confidence_score = min(1.0, "
            f"(success_count + excluded.success_count + failure_count + excluded.failure_count) / "
            f"{_FULL})",
            [(*named, *figures) for named, figures in sorted(patterns.items())],
        )

    def _set_last_seen(self, name: str, signature: str) -> None:
        """Of a pattern of which a fix went; where it was the last one, the pattern goes as well."""
        table = f"{self._prefix}issue_patterns"
        self._run(
            f"DELETE FROM {table} WHERE pattern_name = ? AND success_count + failure_count <= 0",
            (name,),
        )
        if self._connection.changes():
            return
        sql = f"SELECT r.seq {_COUNTING_WITH_KEY} IN (?, ?) ORDER BY r.at_us DESC"
        numbers = self._run(sql, (f"signature:{signature}", cleaned_key(signature))).fetchall()
        whole = f"SELECT {_STORED} WHERE seq = ?"
        found = self._entries(row for number in numbers for row in self._run(whole, number))
        last = next((entry.timestamp for _, entry in found if entry.pattern == name), "")
        self._run(f"UPDATE {table} SET last_seen = ? WHERE pattern_name = ?", (last, name))

    # --- what is said about them ---

    def _best_fix(self, pattern: str) -> str | None:
        for strategy, _, verified in self._top("pattern", pattern, limits.STRATEGIES_WORDED_MAX):
            words = self._words_of(strategy)
            if words:
                commands, analysis = words
                best = {"fix_commands": commands, "analysis": analysis, "verified": verified}
                return json.dumps(best, ensure_ascii=False)
        return None

    def _characterise(self, model: str, at: str, *, newest: bool, reworded: bool) -> None:
        """`newest`: of its fixes one went, so which one is the newest is looked up. `reworded`:
        what helps may be another.
        """
        table = f"{self._prefix}model_characteristics"
        counts = f"FROM {self._prefix}fix_count WHERE scope = 'issue' AND key = ?"
        attempts, applied, verified = self._run(
            f"SELECT sum(attempts), sum(applied), sum(verified) {counts}", (model,)
        ).get
        if not attempts:
            self._run(f"DELETE FROM {table} WHERE model_name = ?", (model,))
            return
        issues = json.dumps([issue for issue, _, _ in self._issues_of(model)], ensure_ascii=False)
        fixes = None
        if reworded:
            helped = self._in_words(self._top("model", model, limits.STRATEGIES_WORDED_MAX))
            fixes = json.dumps([each.text for each in helped], ensure_ascii=False)
        if newest:
            newest_us: int | None = self._run(
                f"SELECT max(at_us) FROM main.record WHERE project_id = '{DEFAULT_PROJECT}' "
                f"AND model = ? AND {_COUNTS} AND NOT {_IS_LEFT_OUT}",
                (model,),
            ).get
            at = "" if newest_us is None else text_of(from_us(newest_us))
        notes = f"{applied} of {attempts} fixes were applied, {verified} of them verified"
        self._run(
            f"INSERT INTO {table} VALUES (?1, ?2, ?3, ?4, coalesce(?5, '[]'), ?6, ?7) ON CONFLICT "
            f"(model_name) DO UPDATE SET "
            "total_tests = ?2, success_rate = ?3, common_issues = ?4, effective_fixes = "
            "coalesce(?5, effective_fixes), "
            f"last_updated = {'?6' if newest else 'max(last_updated, ?6)'}, performance_notes = ?7",
            (model, attempts, verified / attempts, issues, fixes, at, notes),
        )

    def _top(self, scope: str, key: str, limit: int, *, failed: bool = False) -> list[CountedItem]:
        """Strategies that were verified to work, the most often first; or those that never were."""
        which, first = (
            ("verified = 0", "attempts DESC, item")
            if failed
            else ("verified > 0", "verified DESC, attempts, item")
        )
        sql = (
            f"SELECT item, attempts, verified FROM {self._prefix}fix_count "
            f"WHERE scope = ? AND key = ? AND {which} ORDER BY {first} LIMIT ?"
        )
        return self.session.select(sql, (scope, key, limit))

    def _issues_of(self, model: str) -> list[CountedItem]:
        sql = (
            f"SELECT item, attempts, verified FROM {self._prefix}fix_count WHERE scope = 'issue' "
            f"AND key = ? ORDER BY attempts DESC, item LIMIT {limits.FIXES_LISTED_MAX}"
        )
        return self.session.select(sql, (model,))

    def _in_words(self, found: Iterable[CountedItem]) -> list[CountedStrategy]:
        worded: list[CountedStrategy] = []
        for strategy, attempts, verified in found:
            words = self._words_of(strategy)
            text = strategy_text(*words) if words else ""
            if text:
                worded.append(CountedStrategy(text, attempts, verified))
            if len(worded) == limits.FIXES_LISTED_MAX:
                break
        return worded

    def _words_of(self, strategy: str) -> tuple[list[str], str] | None:
        """The commands, else the analysis, of the newest fix that did this."""
        if strategy not in self._words:
            sql = f"SELECT r.body {_COUNTING_WITH_KEY} = ? ORDER BY k.seq DESC LIMIT 1"
            body: str | None = self._run(sql, (same_strategy_key(strategy),)).get
            self._words[strategy] = did(body) if body else None
        return self._words[strategy]

    def learned(self) -> FixKnowledge:
        """Bounded in everything: the most frequent names, and of each the first few."""
        frequent = (
            "SELECT key FROM main.fix_count WHERE scope = ? GROUP BY key "
            f"ORDER BY sum(attempts) DESC, key LIMIT {limits.KNOWN_NAMES_MAX}"
        )
        types, models = (
            [name for (name,) in self._run(frequent, (scope,))] for scope in ("type_of", "issue")
        )
        strategies, failures, tips = (
            {name: found for name in names if (found := self._by_turns(scope, name, failed))}
            for scope, names, failed in (
                ("type", types, False),
                ("type", types, True),
                ("model", models, False),
            )
        )
        patterns = self._run(
            f"SELECT {', '.join(PatternRow._fields)} FROM main.issue_patterns ORDER BY "
            f"success_count + failure_count DESC, pattern_name LIMIT {limits.KNOWN_NAMES_MAX}"
        )
        return FixKnowledge(
            strategies,
            failures,
            tips,
            issues={name: self._issues_of(name) for name in models},
            patterns=[PatternRow(*row) for row in patterns],
        )

    def _by_turns(self, scope: str, key: str, failed: bool) -> list[CountedStrategy]:
        """What worked, or what never did, no author having more than its share of the places."""
        sql = (
            f"SELECT count(DISTINCT author) FROM main.tally WHERE project_id = '{DEFAULT_PROJECT}' "
            f"AND scope = ? AND key = ? AND NOT {_IS_LEFT_OUT}"
        )
        authors: int = self._run(sql, (f"fix.{scope}", key)).get
        if authors <= 1:
            return self._in_words(
                self._top(scope, key, limits.STRATEGIES_WORDED_MAX, failed=failed)
            )
        from hardwon.learn.support import shared_out

        found = self._top(scope, key, limits.SHARED_OUT_OF_MAX, failed=failed)
        return self._in_words(
            shared_out(
                found, lambda each: self._only_source(each[0]), limits.FIXES_LISTED_MAX, authors
            )
        )

    def _only_source(self, strategy: str) -> str | None:
        """Who alone did this, by the newest fixes that did; None where there are several, or
        somebody vouches for one.
        """
        if strategy not in self._sources:
            sql = f"SELECT r.author, r.status {_COUNTING_WITH_KEY} = ? ORDER BY k.seq DESC LIMIT ?"
            found = self.session.select(
                sql, (same_strategy_key(strategy), limits.SOURCES_FROM_FIXES_MAX)
            )
            authors = {author for author, _ in found}
            alone = len(authors) == 1 and not any(status in VOUCHED_STATUSES for _, status in found)
            self._sources[strategy] = authors.pop() if alone else None
        return self._sources[strategy]

    # --- checking ---

    def count_differing(self, project: str) -> int:
        """Texts of a strategy may differ in what makes no other strategy of it."""
        if project != DEFAULT_PROJECT:
            return 0
        fresh = FixTables(self.session, _FRESH)
        for table in _TABLES:
            self._run(f"DROP TABLE IF EXISTS {_FRESH}{table}").fetchall()
            definition: str = self._run(
                "SELECT sql FROM main.sqlite_schema WHERE name = ?", (table,)
            ).get
            copied = definition.replace(f"CREATE TABLE {table}", f"CREATE TABLE {_FRESH}{table}", 1)
            self._run(copied.replace(" AUTOINCREMENT", "")).fetchall()
        fresh._fill()
        differing = sum(self._differing(table) for table in _TABLES)
        rolled_back = self._rolled_back()
        for table in _TABLES:
            self._run(f"DROP TABLE {_FRESH}{table}").fetchall()
        guard = self._run("SELECT open FROM main.fix_guard").fetchall()
        return differing + len(self._left_out() ^ rolled_back) + int(guard != [(0,)])

    def _differing(self, table: str) -> int:
        columns, texts = _COMPARED[table]
        kept, fresh = (f"SELECT {columns} FROM {prefix}{table}" for prefix in ("main.", _FRESH))
        one = self._run(f"SELECT * FROM ({kept} EXCEPT {fresh})").fetchall()
        other = self._run(f"SELECT * FROM ({fresh} EXCEPT {kept})").fetchall()
        if not texts:
            return len(one) + len(other)
        return len(
            {_without_wording(row, texts) for row in one}
            ^ {_without_wording(row, texts) for row in other}
        )


_COMPARED: Final[dict[str, tuple[str, tuple[int, ...]]]] = {
    "fix_history": (COLUMNS, ()),
    "issue_patterns": (", ".join(PatternRow._fields), (PatternRow._fields.index("best_fix"),)),
    "model_characteristics": (
        "model_name, total_tests, success_rate, common_issues, effective_fixes, last_updated, "
        "performance_notes",
        (4,),
    ),
    "fix_count": ("scope, key, item, attempts, applied, verified", ()),
}


def _places(entry: FixEntry) -> Iterator[tuple[str, str, str]]:
    """What a fix is counted under: for its model the issue type, for the type its strategy; and
    where it succeeded, for the model and the pattern its strategy.
    """
    yield "issue", entry.model, entry.issue_type
    yield "type_of", entry.issue_type, ""
    if entry.strategy:
        yield "type", entry.issue_type, entry.strategy
        if entry.level == SUCCEEDED:
            yield "model", entry.model, entry.strategy
            yield "pattern", entry.pattern, entry.strategy


def _without_wording(row: tuple[Any, ...], texts: tuple[int, ...]) -> tuple[Any, ...]:
    return tuple(
        canonical(value) if place in texts and value else value for place, value in enumerate(row)
    )


def _entry_of(project: str, record: Record | None, body: str) -> FixEntry | None:
    """What the tables show of a record; None of what they are not about."""
    entry = entry_of(record) if record and project == DEFAULT_PROJECT else None
    return shortened(entry) if entry and is_packed(body) else entry


def _entry_of_kept(kept: Kept) -> FixEntry | None:
    return _entry_of(kept.taught.project_id, kept.record, kept.body)


def _is_rollback(kept: Kept) -> bool:
    return isinstance(kept.record, Decision) and kept.record.action == "rollback"


class FixHistory:
    """The tables, read: for whoever knows fixes by their integer ids and columns. Each question is
    answered as of one instant.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def id_of(self, record_id: str) -> int | None:
        """The number of a fix; None where there is no such fix."""
        with self._store.snapshot(DEFAULT_PROJECT) as session:
            return _number_of(session, record_id)

    def record_id(self, fix_id: int) -> str | None:
        """The id of the record behind a number."""
        sql = f"SELECT id FROM main.record WHERE project_id = '{DEFAULT_PROJECT}' AND seq = ? AND kind = 'fix'"
        with self._store.snapshot(DEFAULT_PROJECT) as session:
            found = session.first(sql, (fix_id,))
        return str(found[0]) if found else None

    def row(self, fix_id: int) -> FixRow | None:
        with self._store.snapshot(DEFAULT_PROJECT) as session:
            return next(_rows(session, "id = ?", (fix_id,), "id", 1), None)

    def similar(self, issue: Issue, limit: int) -> tuple[list[FixRow], list[FixRow], list[FixRow]]:
        """Earlier attempts at the same issue (by either signature), at issues of the same model and
        type, and of the same type on any model: verified ones first, then applied ones, then the
        newest.
        """
        limit = check_limit(limit)
        found = self._store.by_key(
            DEFAULT_PROJECT, signature_keys(issue), Filters(), limits.SIMILAR_CONSIDERED_MAX
        )
        best = "fix_success DESC, verification_success DESC, timestamp DESC"
        with self._store.snapshot(DEFAULT_PROJECT) as session:
            numbers = [_number_of(session, each.id) for each in found]
            exact = [row for number in numbers for row in _rows(session, "id = ?", (number,))]
            exact.sort(
                key=lambda row: (row.fix_success, row.verification_success, row.timestamp),
                reverse=True,
            )
            on_model, on_any = (
                list(_rows(session, where, values, best, limit))
                for where, values in (
                    ("model_name = ? AND issue_type = ?", (issue.model, issue.issue_type)),
                    ("issue_type = ?", (issue.issue_type,)),
                )
            )
        return exact[:limit], on_model, on_any

    def recent(
        self, since: datetime | str | None = None, limit: int = 100, model: str | None = None
    ) -> list[FixRow]:
        """The newest attempts, all of them or those of one model."""
        limit = check_limit(limit)
        where, values = (
            "timestamp >= ?",
            ["" if since is None else text_of(check_time("since", since))],
        )
        if model is not None:
            where, values = f"{where} AND model_name = ?", [*values, model]
        with self._store.snapshot(DEFAULT_PROJECT) as session:
            return list(_rows(session, where, values, "timestamp DESC", limit))

    def count(self, since: datetime, until: datetime | None) -> int:
        """How many attempts there were from a time to the moment before another."""
        sql = "SELECT count(*) FROM main.fix_history WHERE timestamp >= ? AND timestamp < ?"
        with self._store.snapshot(DEFAULT_PROJECT) as session:
            found = session.first(sql, (text_of(since), text_of(until) if until else "~"))
        return int(found[0]) if found else 0

    def all(self) -> Iterator[FixRow]:
        """Every row, oldest first."""
        with self._store.snapshot(DEFAULT_PROJECT) as session:
            yield from _rows(session)

    def learned(self) -> FixKnowledge:
        """What works, and what does not, by issue type and model."""
        with self._store.snapshot(DEFAULT_PROJECT) as session:
            return FixTables(session).learned()


def _number_of(session: Session, record_id: str) -> int | None:
    sql = f"SELECT seq FROM main.record WHERE project_id = '{DEFAULT_PROJECT}' AND id = ? AND kind = 'fix'"
    found = session.first(sql, (record_id,))
    return int(found[0]) if found else None


def _rows(
    session: Session,
    where: str = "true",
    values: Sequence[Any] = (),
    order: str = "id",
    limit: int = -1,
) -> Iterator[FixRow]:
    sql = f"SELECT {COLUMNS} FROM main.fix_history WHERE {where} ORDER BY {order} LIMIT ?"
    return (FixRow(*row) for row in session.each(sql, (*values, limit)))
