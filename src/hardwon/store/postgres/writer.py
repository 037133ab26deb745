"""One write transaction in PostgreSQL.

Several transactions may append to a project at once. What they would wait for each other over is therefore done in one order
by all of them: first their records, by id, and, right before the transaction is kept, the tallies, by their keys. Nothing else
is done in such a transaction; everything else is done alone (`Store.write`).

It acts as the role that may do just what it does: a writer's, until something is decided or deleted, then a governor's.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from pydantic_core import to_json

from hardwon import limits
from hardwon.errors import ForbiddenError
from hardwon.learn.fix_rows import FixEntry, entry_of, shortened, strategy_text
from hardwon.learn.lessons import Taught
from hardwon.model import SOLVED_FROM, VOUCHED_STATUSES, Event
from hardwon.store import tallies
from hardwon.store.contract import Appended, Request, Row
from hardwon.store.fix_tables import did
from hardwon.store.packing import is_packed
from hardwon.store.postgres.link import PostgresSession
from hardwon.store.postgres.schema import GOVERNOR, ORDINARY_EVENTS, SCHEMA
from hardwon.store.postgres.words import IN_BODY_ALONE, ONCE, POSTGRES, as_rows, as_vector, mark_of, rows_with
from hardwon.store.rows import FIX_KINDS, original_of
from hardwon.store.writing import SqlWriter, taught_by

_RECORD: Final = {
    "project_id": "text",
    "id": "text",
    "kind": "text",
    "at_us": "bigint",
    "author": "text",
    "outcome": "text",
    "tool": "text",
    "task_id": "text",
    "model": "text",
    "issue_type": "text",
    "body": "text",
    "digest": "bytea",
    "status": "text",
    "validation": "text",
    "helped": "bigint",
    "hindered": "bigint",
    "good": "boolean",
    "extra": "jsonb",
}
_REWRITTEN: Final = [name for name in _RECORD if name not in ("project_id", "id", "body", "digest")]
_DERIVED: Final[Mapping[str, Mapping[str, str]]] = {
    "record_text": {"project_id": "text", "seq": "bigint", "terms": "text", "length": "integer", "vector": "tsvector"},
    "record_tag": {"project_id": "text", "seq": "bigint", "tag": "text"},
    "record_file": {"project_id": "text", "seq": "bigint", "number": "integer", "path": "text"},
    "record_key": {"project_id": "text", "seq": "bigint", "key": "text"},
    "fix": {
        "project_id": "text",
        "seq": "bigint",
        "at": "text",
        "pattern": "text",
        "signature": "text",
        "model": "text",
        "issue_type": "text",
        "strategy": "text",
        "level": "smallint",
        "did": "text",
        "told": "text",
        "shown": "boolean",
        "description": "text",
        "fixer_type": "text",
        "claude_analysis": "text",
        "fix_commands": "text",
        "fix_success": "boolean",
        "verification_success": "boolean",
        "execution_time_seconds": "double precision",
        "system_info": "text",
        "notes": "text",
    },
}
"""What is kept of a record beside its row."""

TEXTS_COUNTED: Final = "texts whose terms are counted"
WORDS_COUNTED: Final = "words of those texts"
COUNTED_TO: Final = "number of the last of them"
_COUNTS: Final = (TEXTS_COUNTED, WORDS_COUNTED, COUNTED_TO)
_COUNTED: Final = "WITH counted AS (SELECT {} FROM state WHERE project_id = ?1) ".format(
    ", ".join(
        f"CAST(coalesce(max(value) FILTER (WHERE name = ?{number}), 0) AS bigint) AS {name}"
        for number, name in enumerate(("texts", "words", "last"), 2)
    )
)
_GROWN: Final = (
    f"{_COUNTED}, due AS (SELECT last, greatest(1, texts / {limits.TERMS_COUNTED_EVERY}) AS due FROM counted) "
    "SELECT due, "
    "(SELECT count(*) FROM (SELECT 1 FROM record_text t WHERE t.project_id = ?1 AND t.seq > last LIMIT due) AS grown) "
    "FROM due"
)
_UNCOUNTED: Final = (
    f"{_COUNTED} SELECT texts, words, last, count(t.seq), coalesce(sum(t.length), 0), coalesce(max(t.seq), 0) FROM counted "
    "LEFT JOIN record_text t ON t.project_id = ?1 AND t.seq > last GROUP BY 1, 2, 3"
)
"""What is counted, and what came since."""


def _insert_record() -> str:
    columns = ", ".join(_RECORD)
    given = columns.replace("digest", "decode(digest, 'hex')").replace("extra", "extra::jsonb")
    sent = _RECORD | {"digest": "text", "extra": "text"}
    # Numbers are given out in the order in which the rows came; rows are inserted in the order of their ids.
    return (
        f"WITH given AS MATERIALIZED (SELECT nextval('{SCHEMA}.record_seq') AS seq, u.* FROM {rows_with(sent)}) "
        f"INSERT INTO record (seq, {columns}) SELECT seq, {given} FROM given g WHERE NOT EXISTS (SELECT 1 FROM event e "
        "WHERE e.project_id = g.project_id AND e.record_id = g.id AND e.kind = 'forgotten') "
        'ORDER BY id COLLATE "C", seq ON CONFLICT (project_id, id) DO NOTHING RETURNING id, seq'
    )


def _insert_into(table: str, columns: Mapping[str, str]) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) SELECT u.* FROM {rows_with(columns)}"


_INSERT_RECORD: Final = _insert_record()
_INSERT_DERIVED: Final = {table: _insert_into(table, columns) for table, columns in _DERIVED.items()}


class PostgresWriter(SqlWriter):
    """The statements of one transaction."""

    def __init__(
        self, session: PostgresSession, project: str, roles: Mapping[str, str], extension: str | None, unasked: dict[str, int]
    ) -> None:
        """`roles` are those of the project that the URL's user may act as, by how far they reach; `extension` is where
        pgvector is; `unasked` is how many records each project may grow by before it is asked whether its terms are to be
        counted."""
        super().__init__(session, POSTGRES)
        self._session: PostgresSession = session
        self.undos = session.undos
        self._project = project
        self._roles = roles
        self._extension = extension
        self._unasked = unasked
        self._numbers: dict[str, int] = {}
        self._governs = False
        self._taught: list[Taught] = []
        self._grown = 0
        self._terms_taken_back = False
        self._happened = 0

    def may_govern(self, project: str) -> bool:  # noqa: ARG002  # the only one that this transaction is about
        return GOVERNOR in self._roles

    def _govern(self) -> None:
        """From now on this transaction decides or deletes."""
        if self._governs:
            return
        if GOVERNOR not in self._roles:
            raise ForbiddenError(
                f"this database user may record in project {self._project!r} and decide nothing in it: "
                "hardwon postgres grant USER --as governor lets it"
            )
        self._settle()
        self._session.become(self._roles[GOVERNOR])
        self._governs = True

    # --- appending ----------------------------------------------------------------------------------------------

    def append(self, rows: Sequence[Row]) -> Appended:
        result = Appended([], [], [], [])
        if not rows:
            return result
        if any(map(_decides, rows)):
            self._govern()
        given = as_rows(_RECORD, map(_values, rows))
        numbers: dict[str, int] = dict(self._session.select(_INSERT_RECORD, (given,)))
        numbered: list[tuple[int, Row]] = []
        others: list[Row] = []
        for row in rows:
            seq = numbers.pop(row.id, None)
            if seq is None:
                others.append(row)
            else:
                numbered.append((seq, row))
        if others:
            self._tell_apart(others, result)
        if numbered:
            self._insert_derived(numbered)
            self._taught += [taught_by(row) for _, row in numbered if row.lessons]
            self._grown += len(numbered)
            self._numbers.update((row.id, seq) for seq, row in numbered if row.kind == "fix")
            self._session.witness = _WITNESS_RECORD, (numbered[0][1].project_id, numbered[0][1].id)
        result.added.extend(row.id for _, row in numbered)
        return result

    def _tell_apart(self, rows: Sequence[Row], result: Appended) -> None:
        ids = [row.id for row in rows]
        sql = "SELECT id, digest FROM record WHERE project_id = ?1 AND id = ANY (?2)"
        kept = dict(self._session.select(sql, (self._project, ids)))
        sql = "SELECT record_id FROM event WHERE project_id = ?1 AND kind = 'forgotten' AND record_id = ANY (?2)"
        gone = {found for (found,) in self._session.select(sql, (self._project, ids))}
        for row in rows:
            if row.id in gone:
                result.forgotten.append(row.id)
            elif kept.get(row.id) == row.digest:
                result.present.append(row.id)
            else:
                result.conflicting.append(row)

    def _insert_derived(self, numbered: Sequence[tuple[int, Row]]) -> None:
        project = self._project
        derived: dict[str, list[Sequence[Any]]] = {table: [] for table in _DERIVED}
        for seq, row in numbered:
            words = row.terms.split()
            derived["record_text"].append((project, seq, row.terms, len(words), as_vector(project, words)))
            derived["record_tag"] += [(project, seq, tag) for tag in row.tags]
            derived["record_file"] += [(project, seq, number, path) for number, path in enumerate(row.files)]
            derived["record_key"] += [(project, seq, key) for key in row.keys]
            if row.kind in FIX_KINDS:
                derived["fix"].append(_fix_values(project, seq, row))
        with self._session.together():
            for table, rows in derived.items():
                if rows:
                    self._session.run(_INSERT_DERIVED[table], (as_rows(_DERIVED[table], rows),))

    def finish(self) -> None:
        """Right before it is kept."""
        self._settle()
        if self._grown:
            left = self._unasked.get(self._project, 0) - self._grown
            self._unasked[self._project] = left if left > 0 else self._count_terms_when_due()
        if self._terms_taken_back:  # what no text has any more leaves no trace
            self._session.run("DELETE FROM term_count WHERE project_id = ?1 AND documents <= 0", (self._project,))
        if self._grown + self._happened >= limits.POSTGRES_GROWTH_ROWS:
            self._session.run("SELECT follow_growth()")

    def _settle(self) -> None:
        """The tallies are what the records of this transaction add up to."""
        taught, self._taught = self._taught, []
        if taught:
            tallies.add(self._session, self._dialect, taught)

    # --- events and standing ------------------------------------------------------------------------------------

    def add_events(self, project: str, events: Sequence[Event]) -> list[Event]:
        wanted: list[Event] = []
        gone: set[str] = set()
        for event in events:
            if event.kind == "forgotten":
                gone.add(event.record_id)
            elif event.record_id in gone:
                continue
            wanted.append(event)
        if not wanted:
            return []
        # That a record came from elsewhere takes what it claims back: of others' records, only a governor may say so.
        demotes = self.may_govern(project) and any(event.kind == "imported" for event in wanted)
        if demotes or any(event.kind not in ORDINARY_EVENTS for event in wanted):
            self._govern()
        sql = (
            "INSERT INTO event "
            "(project_id, id, record_id, kind, at_us, body, said_by, said_status, said_replaced_by, said_undoes) "
            "SELECT ?1, u.* FROM unnest(?2::text[], ?3::text[], ?4::text[], ?5::bigint[], ?6::text[], ?7::text[], ?8::text[], "
            "?9::text[], ?10::text[]) AS u (id, record_id, kind, at_us, body, said_by, said_status, replaced_by, undoes) "
            "WHERE u.kind = 'forgotten' OR NOT EXISTS (SELECT 1 FROM event e WHERE e.project_id = ?1 "
            "AND e.record_id = u.record_id AND e.kind = 'forgotten') ON CONFLICT DO NOTHING RETURNING id"
        )
        columns = zip(*(_event_values(event) for event in wanted), strict=True)
        added = {found for (found,) in self._session.select(sql, (project, *(list(column) for column in columns)))}
        kept: list[Event] = []
        for event in wanted:
            if event.id in added:
                added.discard(event.id)
                kept.append(event)
        self._happened += len(kept)
        if kept:
            self._session.witness = _WITNESS_EVENT, (project, kept[0].id)
        return kept

    def set_standing(
        self, project: str, record_id: str, status: str, validation: str | None, credited: tuple[int, int]
    ) -> None:
        sql = "SELECT status, validation FROM record WHERE project_id = ?1 AND id = ?2"
        if self._session.first(sql, (project, record_id)) != (status, validation):
            self._govern()
            self._settle()
            super().set_standing(project, record_id, status, validation, credited)
        else:
            sql = "UPDATE record SET helped = ?3, hindered = ?4 WHERE project_id = ?1 AND id = ?2"
            self._session.run(sql, (project, record_id, *credited))

    # --- changing and erasing -----------------------------------------------------------------------------------

    def rewrite(self, row: Row) -> None:
        self._govern()
        seq = self._seq_of(row.project_id, row.id)
        if seq is None:
            return
        given = dict(zip(_RECORD, _values(row), strict=True))
        changes = ", ".join(f"{name} = ?{number}::{_RECORD[name]}" for number, name in enumerate(_REWRITTEN, 3))
        self._session.run(
            f"UPDATE record SET {changes} WHERE project_id = ?1 AND seq = ?2",
            (row.project_id, seq, *(given[name] for name in _REWRITTEN)),
        )
        sql = (
            "SELECT t.length FROM record_text t JOIN state s ON s.project_id = t.project_id AND s.name = ?3 "
            "AND s.value >= t.seq WHERE t.project_id = ?1 AND t.seq = ?2"
        )
        counted = self._session.first(sql, (row.project_id, seq, COUNTED_TO))
        if counted:
            self._add_terms([seq], -1)
        self._drop_derived(row.project_id, seq)
        self._insert_derived([(seq, row)])
        if counted:
            self._add_terms([seq], 1)
            sql = "UPDATE state SET value = value + ?3 WHERE project_id = ?1 AND name = ?2"
            self._session.run(sql, (row.project_id, WORDS_COUNTED, len(row.terms.split()) - counted[0]))

    def replace(self, row: Row) -> None:
        self._govern()
        seq = self._seq_of(row.project_id, row.id)
        if seq is None:
            return
        sql = "UPDATE record SET body = ?3, digest = ?4 WHERE project_id = ?1 AND seq = ?2"
        self._session.run(sql, (row.project_id, seq, row.body, row.digest))
        self.rewrite(row)
        self._drop_vector(row.project_id, seq)  # its text is another

    def _drop_derived(self, project: str, seq: int) -> None:
        with self._session.together():
            for table in _DERIVED:
                self._session.run(f"DELETE FROM {table} WHERE project_id = ?1 AND seq = ?2", (project, seq))

    def _drop_vector(self, project: str, seq: int) -> None:
        self._session.run("DELETE FROM record_vector WHERE project_id = ?1 AND seq = ?2", (project, seq))

    def erase(self, project: str, record_ids: Sequence[str], tombstones: Sequence[Event]) -> int:
        if not record_ids:
            return 0
        self._govern()
        self._settle()
        self._uncount_terms(list(record_ids))
        return super().erase(project, record_ids, tombstones)

    def recount(self, project: str) -> None:
        self._govern()
        self._settle()
        super().recount(project)
        self._count_terms(afresh=True)

    # --- terms --------------------------------------------------------------------------------------------------

    def _count_terms_when_due(self) -> int:
        """How many records have each term is counted when there are a twentieth more records than when it was counted last: a
        term's worth depends on the logarithm of it. One process at a time does it, and nobody waits for it. Returns by how many
        records the project may grow before this is asked again, by a process that is not the only one to write."""
        due, grown = self._session.first(_GROWN, (self._project, *_COUNTS)) or (1, 0)
        if grown < due:
            return int(due - grown) // limits.TERMS_ASKED_SHARE
        if self._is_first_to(_COUNTING_TERMS):
            self._count_terms()
        return 0

    def _count_terms(self, *, afresh: bool = False) -> None:
        if afresh:
            self._session.run("DELETE FROM term_count WHERE project_id = ?1", (self._project,))
            self._set_counted(0, 0, 0)
        texts, words, counted_to, more, longer, last = self._session.first(_UNCOUNTED, (self._project, *_COUNTS)) or (0,) * 6
        if not more:
            return
        with self._session.together():
            self._session.run(
                "INSERT INTO term_count AS c (project_id, term, documents) SELECT ?1, substr(word, ?4), ndoc "
                "FROM ts_stat(format("
                "'SELECT vector FROM hardwon.record_text WHERE project_id = %L AND seq > %s AND seq <= %s', "
                f"?1::text, ?2::bigint, ?3::bigint)) WHERE substr(word, ?4 - 1, 1) = '{ONCE}' ORDER BY 2 "
                "ON CONFLICT (project_id, term) DO UPDATE SET documents = c.documents + excluded.documents",
                (self._project, counted_to, last, _term_from(self._project)),
            )
            self._set_counted(texts + more, words + longer, last)

    def _set_counted(self, *values: int) -> None:
        """How many texts are counted, of how many words, up to which number."""
        for name, value in zip(_COUNTS, values, strict=True):
            self.set_state(self._project, name, value)

    def _add_terms(self, seqs: Sequence[int], times: int) -> None:
        """Counts the terms of these texts so many times more."""
        self._terms_taken_back |= times < 0
        self._session.run(
            "INSERT INTO term_count AS c (project_id, term, documents) SELECT ?1, substr(u.lexeme, ?4), ?3 * count(*) "
            "FROM record_text t, unnest(t.vector) u WHERE t.project_id = ?1 AND t.seq = ANY (?2) "
            f"AND substr(u.lexeme, ?4 - 1, 1) = '{ONCE}' GROUP BY 2 ORDER BY 2 "
            "ON CONFLICT (project_id, term) DO UPDATE SET documents = c.documents + excluded.documents",
            (self._project, list(seqs), times, _term_from(self._project)),
        )

    def _uncount_terms(self, record_ids: Sequence[str]) -> None:
        """Of texts that are about to go."""
        texts, words, counted_to, *_ = self._session.first(_UNCOUNTED, (self._project, *_COUNTS)) or (0, 0, 0)
        sql = (
            "SELECT t.seq, t.length FROM record_text t JOIN record r ON r.project_id = t.project_id AND r.seq = t.seq "
            "WHERE r.project_id = ?1 AND r.id = ANY (?2) AND r.seq <= ?3"
        )
        gone = self._session.select(sql, (self._project, list(record_ids), counted_to))
        if not gone:
            return
        self._add_terms([seq for seq, _ in gone], -1)
        self._set_counted(max(0, texts - len(gone)), max(0, words - sum(length for _, length in gone)), counted_to)

    # --- the rest -----------------------------------------------------------------------------------------------

    def number_of(self, project: str, record_id: str) -> int | None:
        if record_id in self._numbers:  # it was just added
            return self._numbers[record_id]
        found = self._session.first(
            "SELECT seq FROM record WHERE project_id = ?1 AND id = ?2 AND kind = 'fix'", (project, record_id)
        )
        return int(found[0]) if found else None

    def request(self, project: str, key: bytes) -> Request | None:
        # Two that send the same request at once: the second waits here until the first is through.
        self._session.first("SELECT pg_advisory_xact_lock(hashtextextended(encode(?1, 'hex'), ?2))", (key, _SAME_REQUEST))
        return super().request(project, key)

    def _drop_requests(self, kept_since_us: int) -> None:
        # One process at a time, and nobody waits for it: two that drop the same ones could wait for each other.
        if self._is_first_to(_DROPPING_REQUESTS):
            super()._drop_requests(kept_since_us)

    def _is_first_to(self, what: int) -> bool:
        """Whether nobody else does this for the project right now; nobody else begins to before this transaction ends."""
        sql = "SELECT pg_try_advisory_xact_lock(hashtextextended(?1, ?2))"
        return bool((self._session.first(sql, (self._project, what)) or (False,))[0])

    def set_embedder(self, project: str, name: str, dimension: int) -> None:
        if self.embedder(project) == (name, dimension):
            return
        self._session.run("DELETE FROM record_vector WHERE project_id = ?1", (project,))
        self._session.run(
            "INSERT INTO embedder VALUES (?1, ?2, ?3) ON CONFLICT (project_id) DO UPDATE "
            "SET name = excluded.name, dimension = excluded.dimension",
            (project, name, dimension),
        )
        if self._extension and dimension <= limits.VECTOR_INDEX_DIMENSION_MAX:
            self._session.first("SELECT index_vectors(?1::integer)", (dimension,))

    def keep_vectors(self, project: str, vectors_of: Iterable[tuple[str, bytes]]) -> None:
        given = list(vectors_of)
        also, value, change = "", "", ""
        if self._extension:
            also, change = ", embedding", ", embedding = excluded.embedding"
            value = f", u.numbers::{self._extension}.vector"
        sql = (
            f"INSERT INTO record_vector (project_id, seq, vector, dimension{also}) "
            f"SELECT r.project_id, r.seq, u.vector, length(u.vector) / 4{value} "
            "FROM unnest(?2::text[], ?3::bytea[], ?4::text[]) AS u (id, vector, numbers) "
            "JOIN record r ON r.project_id = ?1 AND r.id = u.id ORDER BY r.seq "
            f"ON CONFLICT (project_id, seq) DO UPDATE "
            f"SET vector = excluded.vector, dimension = excluded.dimension{change}"
        )
        numbers = [as_numbers(array("f", blob)) if self._extension else None for _, blob in given]
        self._session.run(sql, (project, [found for found, _ in given], [blob for _, blob in given], numbers))


_WITNESS_RECORD: Final = "SELECT 1 FROM record WHERE project_id = ?1 AND id = ?2"
_WITNESS_EVENT: Final = "SELECT 1 FROM event WHERE project_id = ?1 AND id = ?2"
_COUNTING_TERMS: Final = 1
_SAME_REQUEST: Final = 2
_DROPPING_REQUESTS: Final = 3
"""What advisory locks are about, beside those on whole projects."""


def _term_from(project: str) -> int:
    """Where in an entry of the index its term begins, as `substr` counts."""
    return len(mark_of(project) + ONCE) + 1


def as_numbers(vector: Iterable[float]) -> str:
    """A vector as pgvector reads it."""
    return f"[{','.join(map(repr, map(float, vector)))}]"


def _decides(row: Row) -> bool:
    """Whether a record is believed from the start as only a governor may have it; of what it claims itself, the database makes
    sure."""
    in_effect = row.kind == "decision" and row.status in VOUCHED_STATUSES
    return in_effect or row.status == "published" or row.helped > 0 or row.hindered > 0


def _values(row: Row) -> tuple[Any, ...]:
    good, extra = _beside(row)
    return (*row[:11], row.digest.hex(), *row[12:14], row.helped, row.hindered, good, extra)


def _beside(row: Row) -> tuple[bool | None, str | None]:
    """Whether it turned out well, and, of an experience, what it says under its keys."""
    if row.kind == "experience":
        said = json.loads(row.body)
        keys = {name: as_text(value) for name, value in said.items() if name not in IN_BODY_ALONE and value is not None}
        return {"success": True, "failure": False}.get(row.outcome or ""), json.dumps(keys)
    if row.kind in _JUDGED_KINDS:
        said = json.loads(row.body)
        if row.kind == "fix":
            return bool(said["fix_success"] and said["verification_success"]), None
        return said["score" if row.kind == "episode" else "final_reward"] >= SOLVED_FROM, None
    return None, None


_JUDGED_KINDS: Final = ("fix", "episode", "trajectory")


def as_text(value: Any) -> str:
    """As SQLite has it when it takes a value out of JSON; of numbers with many digits its versions differ."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        whole, e, power = repr(value + 0.0).partition("e")  # there is no -0.0
        return (whole if "." in whole else f"{whole}.0") + e + power
    return to_json(value).decode()


def _event_values(event: Event) -> tuple[Any, ...]:
    said = (event.by, event.status, event.replaced_by, event.undoes)
    return (event.id, event.record_id, event.kind, event.at_us, event.to_json(), *said)


def _fix_values(project: str, seq: int, row: Row) -> tuple[Any, ...]:
    entry = _entry(row)
    done = did(row.body)
    worded = json.dumps({"fix_commands": done[0], "analysis": done[1]}, ensure_ascii=False) if done else None
    told = strategy_text(*done) if done else None
    named = (entry.timestamp, entry.pattern, entry.signature, entry.model, entry.issue_type, entry.strategy, entry.level)
    if entry.shown is None:
        return (project, seq, *named, worded, told, False, *[None] * 9)
    _, _, _, _, description, fixer, analysis, commands, applied, verified, *rest = entry.shown
    return (
        project,
        seq,
        *named,
        worded,
        told,
        True,
        description,
        fixer,
        analysis,
        commands,
        bool(applied),
        bool(verified),
        *rest,
    )


def _entry(row: Row) -> FixEntry:
    """What the views of fix history need. The row has it where SQLite would keep tables of it."""
    if row.fix is not None:
        return row.fix
    entry = entry_of(original_of(row))
    assert entry is not None  # noqa: S101  # for type checkers: only fixes come here
    return shortened(entry) if is_packed(row.body) else entry
