"""One write transaction in PostgreSQL.

Several transactions may append to a project at once. What they would wait for each other over is
therefore done in one order by all of them: first their records, by id, and, right before the
transaction is kept, the tallies, by their keys. Nothing else is done in such a transaction;
everything else is done alone (`Store.write`).

It acts as the role that may do just what it does: a writer's, until something is decided or
deleted, then a governor's.

A memory in a PostgreSQL database that many machines share.

Every transaction acts as a role that reaches one project and may do no more than it has to, whoever
the URL's user is: readings as a reader, writes as a writer (`writer.py`). What a role reaches is
decided by the database (`schema.py`).
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

from pydantic_core import to_json

from hardwon import limits
from hardwon.errors import FileOnlyError, ForbiddenError, StorageError
from hardwon.learn.fix_rows import FixEntry, FixRow, entry_of, shortened, strategy_text
from hardwon.learn.tallies import RecordCounts
from hardwon.records.kinds import SOLVED_FROM, VOUCHED_STATUSES, Event
from hardwon.search import rank as bm25
from hardwon.search.terms import Filters
from hardwon.store.base import ROW, ROW_FIELDS, SqlWriter, add_tallies, count_differing, taught_by
from hardwon.store.knowledge import SqlStore
from hardwon.store.places import COPIES
from hardwon.store.postgres import projects as setup
from hardwon.store.postgres.connection import CutOffError, Link, PostgresSession
from hardwon.store.postgres.schema import (
    GOVERNOR,
    ORDINARY_EVENTS,
    OWNER,
    PROJECT_TABLES,
    READER,
    SCHEMA,
    SCHEMA_VERSION,
    VIEWS,
    WRITER,
)
from hardwon.store.postgres.search import (
    IN_BODY_ALONE,
    ONCE,
    POSTGRES,
    as_queries,
    as_rows,
    as_vector,
    mark_of,
    rows_with,
)
from hardwon.store.postgres.tokens import TokenTable
from hardwon.store.query import (
    EVENTS,
    FIX_KINDS,
    FIXES,
    ORDINARY,
    STORED,
    STREAM,
    did,
    embedder_of,
    event_of,
    found_columns,
    found_of,
    is_packed,
    is_whole,
    original_of,
    search_condition_of,
    trusted_record,
    untrue_events,
)
from hardwon.store.sqlite.search import COSINE_MIN, cosines_of
from hardwon.store.types import (
    Appended,
    Finding,
    Found,
    Progress,
    Request,
    Row,
    Store,
    Stored,
    TokenKeep,
    Writer,
)

# --- writer ---

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
    "record_text": {
        "project_id": "text",
        "seq": "bigint",
        "terms": "text",
        "length": "integer",
        "vector": "tsvector",
    },
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
    f"{_COUNTED}, due AS (SELECT last, greatest(1, texts / {limits.TERMS_COUNTED_EVERY}) AS due "
    f"FROM counted) "
    "SELECT due, "
    "(SELECT count(*) FROM (SELECT 1 FROM record_text t WHERE t.project_id = ?1 AND t.seq > last "
    "LIMIT due) AS grown) "
    "FROM due"
)
_UNCOUNTED: Final = (
    f"{_COUNTED} SELECT texts, words, last, count(t.seq), coalesce(sum(t.length), 0), "
    f"coalesce(max(t.seq), 0) FROM counted "
    "LEFT JOIN record_text t ON t.project_id = ?1 AND t.seq > last GROUP BY 1, 2, 3"
)
"""What is counted, and what came since."""


def _insert_record() -> str:
    columns = ", ".join(_RECORD)
    given = columns.replace("digest", "decode(digest, 'hex')").replace("extra", "extra::jsonb")
    sent = _RECORD | {"digest": "text", "extra": "text"}
    # Numbers are given out in the order in which the rows came; rows are inserted in the order of
    # their ids.
    return (
        f"WITH given AS MATERIALIZED (SELECT nextval('{SCHEMA}.record_seq') AS seq, u.* FROM "
        f"{rows_with(sent)}) "
        f"INSERT INTO record (seq, {columns}) SELECT seq, {given} FROM given g WHERE NOT EXISTS "
        f"(SELECT 1 FROM event e "
        "WHERE e.project_id = g.project_id AND e.record_id = g.id AND e.kind = 'forgotten') "
        'ORDER BY id COLLATE "C", seq ON CONFLICT (project_id, id) DO NOTHING RETURNING id, seq'
    )


def _insert_into(table: str, columns: Mapping[str, str]) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) SELECT u.* FROM {rows_with(columns)}"


_INSERT_RECORD: Final = _insert_record()
_INSERT_DERIVED: Final = {
    table: _insert_into(table, columns) for table, columns in _DERIVED.items()
}


class PostgresWriter(SqlWriter):
    """The statements of one transaction."""

    def __init__(
        self,
        session: PostgresSession,
        project: str,
        roles: Mapping[str, str],
        extension: str | None,
        unasked: dict[str, int],
    ) -> None:
        """`roles` are those of the project that the URL's user may act as, by how far they reach;
        `extension` is where pgvector is; `unasked` is how many records each project may grow by
        before it is asked whether its terms are to be counted.
        """
        super().__init__(session, POSTGRES)
        self.session: PostgresSession = session
        self.undos = session.undos
        self._project = project
        self._roles = roles
        self._extension = extension
        self._unasked = unasked
        self._numbers: dict[str, int] = {}
        self._governs = False
        self._taught: list[RecordCounts] = []
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
                f"this database user may record in project {self._project!r} and decide nothing in "
                f"it: "
                "hardwon postgres grant USER --as governor lets it"
            )
        self._settle()
        self.session.become(self._roles[GOVERNOR])
        self._governs = True

    # --- appending ---

    def append(self, rows: Sequence[Row]) -> Appended:
        result = Appended([], [], [], [])
        if not rows:
            return result
        if any(map(_decides, rows)):
            self._govern()
        given = as_rows(_RECORD, map(_values, rows))
        numbers: dict[str, int] = dict(self.session.select(_INSERT_RECORD, (given,)))
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
            self._taught += taught_by(row for _, row in numbered)
            self._grown += len(numbered)
            self._numbers.update((row.id, seq) for seq, row in numbered if row.kind == "fix")
            self.session.witness = _WITNESS_RECORD, (numbered[0][1].project_id, numbered[0][1].id)
        result.added.extend(row.id for _, row in numbered)
        return result

    def _tell_apart(self, rows: Sequence[Row], result: Appended) -> None:
        ids = [row.id for row in rows]
        sql = "SELECT id, digest FROM record WHERE project_id = ?1 AND id = ANY (?2)"
        kept = dict(self.session.select(sql, (self._project, ids)))
        sql = "SELECT record_id FROM event WHERE project_id = ?1 AND kind = 'forgotten' AND record_id = ANY (?2)"
        gone = {found for (found,) in self.session.select(sql, (self._project, ids))}
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
            derived["record_text"].append(
                (project, seq, row.terms, len(words), as_vector(project, words))
            )
            derived["record_tag"] += [(project, seq, tag) for tag in row.tags]
            derived["record_file"] += [
                (project, seq, number, path) for number, path in enumerate(row.files)
            ]
            derived["record_key"] += [(project, seq, key) for key in row.keys]
            if row.kind in FIX_KINDS:
                derived["fix"].append(_fix_values(project, seq, row))
        with self.session.together():
            for table, rows in derived.items():
                if rows:
                    self.session.run(_INSERT_DERIVED[table], (as_rows(_DERIVED[table], rows),))

    def finish(self) -> None:
        """Right before it is kept."""
        self._settle()
        if self._grown:
            left = self._unasked.get(self._project, 0) - self._grown
            self._unasked[self._project] = left if left > 0 else self._count_terms_when_due()
        if self._terms_taken_back:  # what no text has any more leaves no trace
            self.session.run(
                "DELETE FROM term_count WHERE project_id = ?1 AND documents <= 0", (self._project,)
            )
        if self._grown + self._happened >= limits.POSTGRES_GROWTH_ROWS:
            self.session.run("SELECT follow_growth()")

    def _settle(self) -> None:
        """The tallies are what the records of this transaction add up to."""
        taught, self._taught = self._taught, []
        if taught:
            add_tallies(self.session, self._dialect, taught)

    # --- events and standing ---

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
        # That a record came from elsewhere takes what it claims back: of others' records, only a
        # governor may say so.
        demotes = self.may_govern(project) and any(event.kind == "imported" for event in wanted)
        if demotes or any(event.kind not in ORDINARY_EVENTS for event in wanted):
            self._govern()
        sql = (
            "INSERT INTO event "
            "(project_id, id, record_id, kind, at_us, body, said_by, said_status, "
            "said_replaced_by, said_undoes) "
            "SELECT ?1, u.* FROM unnest(?2::text[], ?3::text[], ?4::text[], ?5::bigint[], "
            "?6::text[], ?7::text[], ?8::text[], "
            "?9::text[], ?10::text[]) AS u (id, record_id, kind, at_us, body, said_by, "
            "said_status, replaced_by, undoes) "
            "WHERE u.kind = 'forgotten' OR NOT EXISTS (SELECT 1 FROM event e WHERE e.project_id = "
            "?1 "
            "AND e.record_id = u.record_id AND e.kind = 'forgotten') ON CONFLICT DO NOTHING "
            "RETURNING id"
        )
        columns = zip(*(_event_values(event) for event in wanted), strict=True)
        added = {
            found
            for (found,) in self.session.select(
                sql, (project, *(list(column) for column in columns))
            )
        }
        kept: list[Event] = []
        for event in wanted:
            if event.id in added:
                added.discard(event.id)
                kept.append(event)
        self._happened += len(kept)
        if kept:
            self.session.witness = _WITNESS_EVENT, (project, kept[0].id)
        return kept

    def set_standing(
        self,
        project: str,
        record_id: str,
        status: str,
        validation: str | None,
        credited: tuple[int, int],
    ) -> None:
        sql = "SELECT status, validation FROM record WHERE project_id = ?1 AND id = ?2"
        if self.session.first(sql, (project, record_id)) != (status, validation):
            self._govern()
            self._settle()
            super().set_standing(project, record_id, status, validation, credited)
        else:
            sql = "UPDATE record SET helped = ?3, hindered = ?4 WHERE project_id = ?1 AND id = ?2"
            self.session.run(sql, (project, record_id, *credited))

    # --- changing and erasing ---

    def rewrite(self, row: Row) -> None:
        self._govern()
        seq = self._seq_of(row.project_id, row.id)
        if seq is None:
            return
        given = dict(zip(_RECORD, _values(row), strict=True))
        changes = ", ".join(
            f"{name} = ?{number}::{_RECORD[name]}" for number, name in enumerate(_REWRITTEN, 3)
        )
        self.session.run(
            f"UPDATE record SET {changes} WHERE project_id = ?1 AND seq = ?2",
            (row.project_id, seq, *(given[name] for name in _REWRITTEN)),
        )
        sql = (
            "SELECT t.length FROM record_text t JOIN state s ON s.project_id = t.project_id AND "
            "s.name = ?3 "
            "AND s.value >= t.seq WHERE t.project_id = ?1 AND t.seq = ?2"
        )
        counted = self.session.first(sql, (row.project_id, seq, COUNTED_TO))
        if counted:
            self._add_terms([seq], -1)
        self._drop_derived(row.project_id, seq)
        self._insert_derived([(seq, row)])
        if counted:
            self._add_terms([seq], 1)
            sql = "UPDATE state SET value = value + ?3 WHERE project_id = ?1 AND name = ?2"
            self.session.run(
                sql, (row.project_id, WORDS_COUNTED, len(row.terms.split()) - counted[0])
            )

    def replace(self, row: Row) -> None:
        self._govern()
        seq = self._seq_of(row.project_id, row.id)
        if seq is None:
            return
        sql = "UPDATE record SET body = ?3, digest = ?4 WHERE project_id = ?1 AND seq = ?2"
        self.session.run(sql, (row.project_id, seq, row.body, row.digest))
        self.rewrite(row)
        self._drop_vector(row.project_id, seq)  # its text is another

    def _drop_derived(self, project: str, seq: int) -> None:
        with self.session.together():
            for table in _DERIVED:
                self.session.run(
                    f"DELETE FROM {table} WHERE project_id = ?1 AND seq = ?2", (project, seq)
                )

    def _drop_vector(self, project: str, seq: int) -> None:
        self.session.run(
            "DELETE FROM record_vector WHERE project_id = ?1 AND seq = ?2", (project, seq)
        )

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

    # --- terms ---

    def _count_terms_when_due(self) -> int:
        """How many records have each term is counted when there are a twentieth more records than
        when it was counted last: a term's worth depends on the logarithm of it. One process at a
        time does it, and nobody waits for it. Returns by how many records the project may grow
        before this is asked again, by a process that is not the only one to write.
        """
        due, grown = self.session.first(_GROWN, (self._project, *_COUNTS)) or (1, 0)
        if grown < due:
            return int(due - grown) // limits.TERMS_ASKED_SHARE
        if self._is_first_to(_COUNTING_TERMS):
            self._count_terms()
        return 0

    def _count_terms(self, *, afresh: bool = False) -> None:
        if afresh:
            self.session.run("DELETE FROM term_count WHERE project_id = ?1", (self._project,))
            self._set_counted(0, 0, 0)
        texts, words, counted_to, more, longer, last = (
            self.session.first(_UNCOUNTED, (self._project, *_COUNTS)) or (0,) * 6
        )
        if not more:
            return
        with self.session.together():
            self.session.run(
                "INSERT INTO term_count AS c (project_id, term, documents) SELECT ?1, substr(word, "
                "?4), ndoc "
                "FROM ts_stat(format("
                "'SELECT vector FROM hardwon.record_text WHERE project_id = %L AND seq > %s AND "
                "seq <= %s', "
                f"?1::text, ?2::bigint, ?3::bigint)) WHERE substr(word, ?4 - 1, 1) = '{ONCE}' "
                f"ORDER BY 2 "
                "ON CONFLICT (project_id, term) DO UPDATE SET documents = c.documents + "
                "excluded.documents",
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
        self.session.run(
            "INSERT INTO term_count AS c (project_id, term, documents) SELECT ?1, substr(u.lexeme, "
            "?4), ?3 * count(*) "
            "FROM record_text t, unnest(t.vector) u WHERE t.project_id = ?1 AND t.seq = ANY (?2) "
            f"AND substr(u.lexeme, ?4 - 1, 1) = '{ONCE}' GROUP BY 2 ORDER BY 2 "
            "ON CONFLICT (project_id, term) DO UPDATE SET documents = c.documents + "
            "excluded.documents",
            (self._project, list(seqs), times, _term_from(self._project)),
        )

    def _uncount_terms(self, record_ids: Sequence[str]) -> None:
        """Of texts that are about to go."""
        texts, words, counted_to, *_ = self.session.first(
            _UNCOUNTED, (self._project, *_COUNTS)
        ) or (0, 0, 0)
        sql = (
            "SELECT t.seq, t.length FROM record_text t JOIN record r ON r.project_id = "
            "t.project_id AND r.seq = t.seq "
            "WHERE r.project_id = ?1 AND r.id = ANY (?2) AND r.seq <= ?3"
        )
        gone = self.session.select(sql, (self._project, list(record_ids), counted_to))
        if not gone:
            return
        self._add_terms([seq for seq, _ in gone], -1)
        self._set_counted(
            max(0, texts - len(gone)), max(0, words - sum(length for _, length in gone)), counted_to
        )

    # --- the rest ---

    def number_of(self, project: str, record_id: str) -> int | None:
        if record_id in self._numbers:  # it was just added
            return self._numbers[record_id]
        found = self.session.first(
            "SELECT seq FROM record WHERE project_id = ?1 AND id = ?2 AND kind = 'fix'",
            (project, record_id),
        )
        return int(found[0]) if found else None

    def request(self, project: str, key: bytes) -> Request | None:
        # Two that send the same request at once: the second waits here until the first is through.
        self.session.first(
            "SELECT pg_advisory_xact_lock(hashtextextended(encode(?1, 'hex'), ?2))",
            (key, _SAME_REQUEST),
        )
        return super().request(project, key)

    def _drop_requests(self, kept_since_us: int) -> None:
        # One process at a time, and nobody waits for it: two that drop the same ones could wait for
        # each other.
        if self._is_first_to(_DROPPING_REQUESTS):
            super()._drop_requests(kept_since_us)

    def _is_first_to(self, what: int) -> bool:
        """Whether nobody else does this for the project right now; nobody else begins to before
        this transaction ends.
        """
        sql = "SELECT pg_try_advisory_xact_lock(hashtextextended(?1, ?2))"
        return bool((self.session.first(sql, (self._project, what)) or (False,))[0])

    def set_embedder(self, project: str, name: str, dimension: int) -> None:
        if self.embedder(project) == (name, dimension):
            return
        self.session.run("DELETE FROM record_vector WHERE project_id = ?1", (project,))
        self.session.run(
            "INSERT INTO embedder VALUES (?1, ?2, ?3) ON CONFLICT (project_id) DO UPDATE "
            "SET name = excluded.name, dimension = excluded.dimension",
            (project, name, dimension),
        )
        if self._extension and dimension <= limits.VECTOR_INDEX_DIMENSION_MAX:
            self.session.first("SELECT index_vectors(?1::integer)", (dimension,))

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
        self.session.run(
            sql, (project, [found for found, _ in given], [blob for _, blob in given], numbers)
        )


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
    """Whether a record is believed from the start as only a governor may have it; of what it claims
    itself, the database makes sure.
    """
    in_effect = row.kind == "decision" and row.status in VOUCHED_STATUSES
    return in_effect or row.status == "published" or row.helped > 0 or row.hindered > 0


def _values(row: Row) -> tuple[Any, ...]:
    good, extra = _beside(row)
    beside = {"digest": row.digest.hex(), "good": good, "extra": extra}
    return tuple(beside[name] if name in beside else getattr(row, name) for name in _RECORD)


def _beside(row: Row) -> tuple[bool | None, str | None]:
    """Whether it turned out well, and, of an experience, what it says under its keys."""
    if row.kind == "experience":
        said = json.loads(row.body)
        keys = {
            name: as_text(value)
            for name, value in said.items()
            if name not in IN_BODY_ALONE and value is not None
        }
        return {"success": True, "failure": False}.get(row.outcome or ""), json.dumps(keys)
    if row.kind in _JUDGED_KINDS:
        said = json.loads(row.body)
        if row.kind == "fix":
            return bool(said["fix_success"] and said["verification_success"]), None
        return said["score" if row.kind == "episode" else "final_reward"] >= SOLVED_FROM, None
    return None, None


_JUDGED_KINDS: Final = ("fix", "episode", "trajectory")


def as_text(value: Any) -> str:
    """As SQLite has it when it takes a value out of JSON; of numbers with many digits its versions
    differ.
    """
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
    values: dict[str, Any] = {
        "project_id": project,
        "seq": seq,
        "at": entry.timestamp,
        "pattern": entry.pattern,
        "signature": entry.signature,
        "model": entry.model,
        "issue_type": entry.issue_type,
        "strategy": entry.strategy,
        "level": entry.level,
        "did": json.dumps({"fix_commands": done[0], "analysis": done[1]}, ensure_ascii=False)
        if done
        else None,
        "told": strategy_text(*done) if done else None,
        "shown": entry.shown is not None,
    }
    if entry.shown is not None:
        shown = FixRow(seq, *entry.shown)  # type: ignore[arg-type]  # the values are those of a row
        flags = {
            name: bool(getattr(shown, name)) for name in ("fix_success", "verification_success")
        }
        values = {**shown._asdict(), **values, **flags}
    return tuple(values.get(name) for name in _DERIVED["fix"])


def _entry(row: Row) -> FixEntry:
    """What the views of fix history need."""
    entry = entry_of(row.record or original_of(row))
    assert entry is not None  # noqa: S101  # for type checkers: only fixes come here
    return shortened(entry) if is_packed(row.body) else entry


# --- store ---

P = ParamSpec("P")
T = TypeVar("T")
_FIRST_SPARE: Final = 5
_FIRST_MIN: Final = 200
# so many times as many as are wanted: the server's score takes more than four of a word for four
_RESCORED: Final = 2

# Terms are marked with their project, so the index of terms finds those of the project alone. The
# planner does not know that, and reads all entries of the project in the primary key beside, once
# for each term: in the largest project from the sixth prepared call on, when it plans for one of
# average size, in others from the first. Where an entry costs a page (usual: 1/200) it leaves that,
# but for projects so small that it does not matter. Plans made anew each time would mend the
# largest alone.
_SEARCHING: Final = {"cpu_index_tuple_cost": 1}


class PostgresStore(SqlStore):
    """Everything the contract promises, on one database."""

    dialect = POSTGRES

    def __init__(self, url: str, *, busy_timeout_ms: int | None = None) -> None:
        self._link = Link(url, busy_timeout_ms)
        self._roles: dict[str, dict[str, str]] = {}
        self._unasked: dict[str, int] = {}
        try:
            self._extension = self._look_around()
        except BaseException:
            self._link.close()
            raise

    def _look_around(self) -> str | None:
        """Where pgvector is, once the schema is known to be of this version."""
        with self._link.reading(None) as session:
            version = setup.version_of(session)
            if version > SCHEMA_VERSION:
                raise setup.newer(version)
        if version < SCHEMA_VERSION:
            setup.bring_up_to_date(self._link)
        with self._link.reading(None) as session:
            return setup.extension_schema(session) if setup.has_vectors(session) else None

    @property
    def location(self) -> str:
        return self._link.location

    def _roles_of(self, project: str) -> Mapping[str, str]:
        """The roles for a project that the URL's user may act as."""
        known = self._roles.get(project)
        if known is None:
            sql = (
                f"SELECT level, role FROM {SCHEMA}.granted WHERE project_id = ?1 AND "
                f"pg_has_role(session_user, role, 'MEMBER')"
            )
            with self._link.reading(None) as session:
                known = {str(level): str(role) for level, role in session.select(sql, (project,))}
                (user,) = session.first("SELECT session_user::text") or ("",)
            if READER not in known:
                raise ForbiddenError(
                    f"the database user {user} does not reach project {project!r} in "
                    f"{self.location}: `hardwon postgres init "
                    "URL --project NAME` makes a project, `hardwon postgres grant URL USER "
                    "--project NAME` lets a user reach it"
                )
            self._roles[project] = known
        return known

    def read(self, project: str) -> AbstractContextManager[PostgresSession]:
        return self._link.reading(self._roles_of(project)[READER])

    def snapshot(self, project: str) -> AbstractContextManager[PostgresSession]:
        return self._link.snapshot(self._roles_of(project)[READER])

    @contextmanager
    def write(self, project: str, *, alone: bool = True) -> Iterator[Writer]:
        roles = self._roles_of(project)
        if WRITER not in roles:
            raise ForbiddenError(
                f"this database user may read project {project!r} in {self.location} and write "
                f"nothing: `hardwon postgres "
                "grant URL USER --project NAME --as writer` lets it"
            )
        with self._link.writing(roles[WRITER], _lock_of(project), alone) as session:
            writer = PostgresWriter(session, project, roles, self._extension, self._unasked)
            session.finish = writer.finish
            yield writer

    # --- reading ---

    def last_arrived(self, project: str, limit: int) -> list[Stored]:
        sql = (
            f"SELECT {STORED} FROM record r WHERE r.project_id = ?1 AND r.{ORDINARY} AND "
            f"{trusted_record(POSTGRES)} "
            f"AND r.seq > (SELECT max(seq) FROM record WHERE project_id = ?1) - "
            f"{limits.ARRIVALS_LOOKED_THROUGH_MAX} "
            "ORDER BY r.seq DESC LIMIT ?2"
        )
        return self._stored(project, sql, (project, limit))

    def search(
        self, project: str, terms: Sequence[str], filters: Filters, limit: int
    ) -> list[tuple[Found, float]]:
        wanted = tuple(dict.fromkeys(terms))
        if not wanted:
            return []
        with self._link.reading(self._roles_of(project)[READER], _SEARCHING) as session:
            frequencies = _frequencies(session, project, wanted)
            # all of them, if need be
            for chosen in dict.fromkeys((_rare_enough(wanted, frequencies), wanted)):
                # The best by their words alone, which nearly always pass; only where too few do,
                # all that match are asked.
                for most in (max(_FIRST_MIN, _FIRST_SPARE * limit), None):
                    rows, matched = _matching(
                        session, project, chosen, frequencies, filters, limit, most
                    )
                    if len(rows) >= limit or most is None or matched < most:
                        break
                if rows:
                    break
        scores = bm25.scores(chosen, [found.terms for found in rows], frequencies)
        scored = sorted(
            zip(rows, scores, strict=True),
            key=lambda pair: (pair[1], pair[0].stored.at_us, pair[0].id),
            reverse=True,
        )
        return scored[:limit]

    def stream(self, project: str) -> Generator[Stored]:
        with self.snapshot(project) as session:
            for row in session.stream(STREAM, (project,)):
                yield Stored._make(row)

    def rows(self, project: str) -> Generator[tuple[Row, list[Event]]]:
        same = POSTGRES.same_row
        sql = (
            f"SELECT {', '.join('r.' + name for name in ROW.split(', '))}, t.terms, r.helped, "
            f"r.hindered, "
            f"ARRAY(SELECT g.tag FROM record_tag g WHERE {same('g', 'r')} ORDER BY g.tag), "
            f"ARRAY(SELECT f.path FROM record_file f WHERE {same('f', 'r')} ORDER BY f.path), "
            f"ARRAY(SELECT k.key FROM record_key k WHERE {same('k', 'r')} ORDER BY k.key), "
            "ARRAY(SELECT e.body FROM event e WHERE e.project_id = r.project_id AND e.record_id = "
            "r.id ORDER BY e.at_us, e.id) "
            f"FROM record r LEFT JOIN record_text t ON {same('t', 'r')} WHERE r.project_id = ?1 "
            f"ORDER BY r.at_us, r.id"
        )
        with self.snapshot(project) as session:
            for row in session.stream(sql, (project,)):
                kept, (terms, helped, hindered, tags, files, keys, events) = (
                    row[:ROW_FIELDS],
                    row[ROW_FIELDS:],
                )
                names = (tuple(tags), tuple(files), tuple(keys))
                full = Row._make((*kept, terms or "", *names, helped, hindered, (), None))
                yield full, [event_of(event) for event in events]

    def events(self, project: str) -> Generator[Event]:
        with self.snapshot(project) as session:
            for (body,) in session.stream(EVENTS, (project,)):
                yield event_of(body)

    def projects(self) -> list[str]:
        sql = f"SELECT DISTINCT project_id FROM {SCHEMA}.granted WHERE pg_has_role(session_user, role, 'MEMBER') ORDER BY 1"
        with self._link.reading(None) as session:
            reached = [str(project) for (project,) in session.select(sql)]
        return [project for project in reached if self._has_records(project)]

    def _has_records(self, project: str) -> bool:
        with self.read(project) as session:
            return (
                session.first("SELECT 1 FROM record WHERE project_id = ?1 LIMIT 1", (project,))
                is not None
            )

    def change_mark(self, project: str) -> tuple[int, int]:
        sql = (
            "SELECT coalesce((SELECT max(seq) FROM record WHERE project_id = ?1), 0), "
            "coalesce((SELECT max(at_us) FROM event WHERE project_id = ?1), 0)"
        )
        with self.read(project) as session:
            records, events = session.first(sql, (project,)) or (0, 0)
        return int(records), int(events)

    # --- vectors ---

    def nearest(
        self, project: str, vector: Sequence[float], filters: Filters, limit: int
    ) -> list[tuple[Found, float]]:
        with self.read(project) as session:
            kept = embedder_of(session, project)
            if kept is None:
                return []
            find = self._by_index if self._extension else _one_by_one
            cosines = find(session, project, vector, kept[1], filters, limit)
            sql = (
                f"SELECT {found_columns(POSTGRES)}, r.seq FROM record r JOIN record_text ON "
                f"{POSTGRES.same_text('r')} "
                "WHERE r.project_id = ?1 AND r.seq = ANY (?2)"
            )
            rows = session.select(sql, (project, list(cosines)))
        found = [(found_of(row[:-1]), cosines[row[-1]]) for row in rows]
        return sorted(found, key=lambda pair: (-pair[1], pair[0].id))

    def _by_index(
        self,
        session: PostgresSession,
        project: str,
        vector: Sequence[float],
        dimension: int,
        filters: Filters,
        limit: int,
    ) -> dict[int, float]:
        where, bound = search_condition_of(POSTGRES, project, filters)
        ours = f"{self._extension}.vector({dimension:d})"
        asked = bound.add(as_numbers(vector))
        # Without this a filter would be asked only of the first few that the index finds.
        session.run(
            f"SET LOCAL hnsw.iterative_scan = strict_order; SET LOCAL hnsw.ef_search = "
            f"{max(_EF_SEARCH, 2 * limit)}"
        )
        sql = (
            f"SELECT v.seq, (v.embedding::{ours}) OPERATOR({self._extension}.<=>) {asked}::{ours} "
            f"AS away "
            f"FROM record_vector v JOIN record r ON {POSTGRES.same_row('r', 'v')} WHERE {where} "
            f"AND v.project_id = ?1 "
            f"AND v.dimension = {dimension:d} ORDER BY away LIMIT {bound.add(limit)}"
        )
        return {
            seq: 1.0 - away for seq, away in session.select(sql, bound) if 1.0 - away > COSINE_MIN
        }

    def without_vector(self, project: str, limit: int) -> list[Stored]:
        sql = (
            f"SELECT {STORED} FROM record r WHERE r.project_id = ?1 AND r.{ORDINARY} AND NOT "
            f"EXISTS "
            f"(SELECT 1 FROM record_vector v WHERE {POSTGRES.same_row('v', 'r')}) ORDER BY r.seq "
            f"LIMIT ?2"
        )
        return self._stored(project, sql, (project, limit))

    # --- the database ---

    def tokens(self) -> TokenKeep:
        return TokenTable(self._link)

    def untrue_tallies(self, project: str) -> int:
        # What is counted afresh lies in a table of this transaction alone, which nobody keeps.
        with self._link.scratch(self._roles_of(project)[READER]) as session:
            return count_differing(session, POSTGRES, project) + _untrue_fixes(session, project)

    def size_bytes(self) -> int:
        sql = (
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c JOIN "
            "pg_namespace n "
            "ON n.oid = c.relnamespace WHERE n.nspname = ?1 AND c.relkind = 'r'"
        )
        with self._link.reading(None) as session:
            (size,) = session.first(sql, (SCHEMA,)) or (0,)
        return int(size)

    def finish_erasure(self) -> bool:
        """Vacuums, where the URL's user may: rows that are gone lie in the tables until then. The
        server's log, and copies of it, are not ours to erase.
        """
        try:
            return self._vacuum("SKIP_LOCKED")
        except (
            StorageError
        ):  # what was erased is gone all the same, and its bytes go with the next vacuum of anybody
            return False

    def shrink(self) -> None:
        self._vacuum("ANALYZE")

    def _vacuum(self, how: str) -> bool:
        with self._link.reading(None) as session:
            owns = setup.owns_database(session)
        if owns:
            tables = ", ".join(f"{SCHEMA}.{table}" for table in PROJECT_TABLES)
            self._link.maintain(OWNER, f"VACUUM ({how}) {tables}")
        return owns

    def backup(self, target: Path, progress: Progress | None) -> str:  # noqa: ARG002  # nothing is done
        raise FileOnlyError(f"this memory is a database: {COPIES}")

    def check(self, project: str) -> Iterator[Finding]:
        roles = self._roles_of(project)
        with self._link.reading(None) as session:
            server = _setting(session, "server_version")
            yield Finding(
                "postgresql",
                True,
                f"PostgreSQL {server}; {'pgvector' if self._extension else 'no pgvector'}",
            )
            settings = {
                name: _setting(session, name)
                for name in ("fsync", "synchronous_commit", "full_page_writes")
            }
            durable = settings["fsync"] == "on" and settings["full_page_writes"] == "on"
            durable = durable and settings["synchronous_commit"] != "off"
            yield Finding(
                "durability",
                durable,
                ", ".join(f"{name} {value}" for name, value in settings.items()),
            )
            yield _encryption(session)
            version, missing = setup.version_of(session), _missing(session)
            told = f"version {version} of {SCHEMA_VERSION}" + (
                f"; missing: {', '.join(missing)}" if missing else ""
            )
            yield Finding("schema", version == SCHEMA_VERSION and not missing, told)
            yield _isolation(session, list(roles.values()))
        with self.snapshot(project) as session:
            damaged = [
                record_id
                for record_id, body, digest in session.stream(
                    "SELECT id, body, digest FROM record WHERE project_id = ?1", (project,)
                )
                if not is_whole(body, digest)
            ]
            yield Finding(
                "integrity",
                not damaged,
                "; ".join(damaged[:5]) or "every record is what was written",
            )
            strays = sum((session.first(sql, (project,)) or (0,))[0] for sql in _STRAYS)
            yield Finding("side tables", strays == 0, f"{strays} rows that belong to no record")
            (misfits,) = session.first(_MISFITS, (project,)) or (0,)
            yield Finding(
                "vectors", misfits == 0, f"{misfits} that are not of the embedder they are kept for"
            )
            wrong = list(untrue_events(session.stream(_EVENTS, (project,))))
            yield Finding(
                "events", not wrong, f"{len(wrong)} that do not say what their columns say"
            )

    def close(self) -> None:
        self._link.close()


_EF_SEARCH: Final = 100


def _asked_again(reading: Callable[P, T]) -> Callable[P, T]:
    """A reading that a lost connection cut off is done once more: by then another connection is
    there, or the error says for how long none could be had.
    """

    @wraps(reading)
    def asked(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return reading(*args, **kwargs)
        except CutOffError:
            return reading(*args, **kwargs)

    return asked


_NOT_ASKED_AGAIN: Final = frozenset(
    {
        "location",
        "write",
        "stream",
        "rows",
        "events",
        "check",
        "tokens",
        "backup",
        "finish_erasure",
        "shrink",
        "close",
    }
)
for _name in Store.__abstractmethods__ - _NOT_ASKED_AGAIN:
    setattr(PostgresStore, _name, _asked_again(getattr(PostgresStore, _name)))


def _lock_of(project: str) -> int:
    """What the advisory lock of a project is called. Two projects that share one only wait for each
    other.
    """
    return int.from_bytes(blake2b(project.encode(), digest_size=8).digest(), signed=True)


# --- searching ---


def _frequencies(session: PostgresSession, project: str, terms: Sequence[str]) -> bm25.Frequencies:
    """How many texts there are, and have each term, as of the last count."""
    sql = (
        "SELECT name, value FROM state WHERE project_id = ?1 AND name = ANY (?2) "
        "UNION ALL SELECT 'term ' || term, documents FROM term_count WHERE project_id = ?1 AND "
        "term = ANY (?3)"
    )
    known = dict(session.select(sql, (project, [TEXTS_COUNTED, WORDS_COUNTED], list(terms))))
    having = {term: known.get(f"term {term}", 0) for term in terms}
    return bm25.Frequencies(known.get(TEXTS_COUNTED, 0), known.get(WORDS_COUNTED, 0), having)


def _rare_enough(terms: tuple[str, ...], frequencies: bm25.Frequencies) -> tuple[str, ...]:
    """Without terms that a tenth of all records have: they cost the most and tell the least."""
    if frequencies.texts < limits.PRUNED_FROM_RECORDS or len(terms) <= 1:
        return terms
    rare = [
        term
        for term in terms
        if frequencies.having[term] <= limits.FREQUENT_SHARE * frequencies.texts
    ]
    if any(frequencies.having[term] for term in rare):
        return tuple(rare)
    known = [term for term in terms if frequencies.having[term]]
    return (*rare, *sorted(known, key=lambda term: (frequencies.having[term], term))[:1])


def _affordable(terms: Sequence[str], frequencies: bm25.Frequencies) -> list[str]:
    """The rarest of them, as many as a search may go through all entries of, and at least one."""
    entries = 0
    chosen: list[str] = []
    for term in sorted(terms, key=lambda term: (frequencies.having[term], term)):
        entries += frequencies.having[term]
        if chosen and entries > limits.TERM_ENTRIES_MAX:
            break
        chosen.append(term)
    return chosen


def _matching(
    session: PostgresSession,
    project: str,
    terms: Sequence[str],
    frequencies: bm25.Frequencies,
    filters: Filters,
    limit: int,
    most: int | None,
) -> tuple[list[Found], int]:
    """The best records that pass the filters, and how many were looked at."""
    where, bound = search_condition_of(POSTGRES, project, filters)
    queries = as_queries(project, _affordable(terms, frequencies))
    asked = (
        bound.add([query for _, query, _ in queries]),
        bound.add([float(times) for _, _, times in queries]),
        bound.add([frequencies.worth(term) for term, _, _ in queries]),
        bound.add(frequencies.usual_length),
        bound.add(most),
    )
    # OFFSET 0: each is looked up by its number. The planner would go through all records, thinking
    # that many are found.
    sql = (
        "WITH b AS MATERIALIZED (SELECT seq, score FROM matching(?1, {}::text[]::tsquery[], "
        "{}::float8[], {}::float8[], "
        "{}::float8, {}::bigint))".format(*asked)
        + ", best AS MATERIALIZED (SELECT b.seq FROM b CROSS JOIN LATERAL (SELECT r.at_us, r.id FROM record r "
        f"WHERE {where} AND r.seq = b.seq OFFSET 0) r ORDER BY b.score DESC, r.at_us DESC, r.id "
        f"DESC "
        f"LIMIT {bound.add(_RESCORED * limit)}) SELECT {found_columns(POSTGRES)}, (SELECT count(*) "
        f"FROM b) FROM best "
        "CROSS JOIN LATERAL (SELECT * FROM record WHERE project_id = ?1 AND seq = best.seq OFFSET "
        "0) r "
        "CROSS JOIN LATERAL (SELECT terms FROM record_text WHERE project_id = ?1 AND seq = "
        "best.seq OFFSET 0) record_text"
    )
    rows = session.select(sql, bound)
    return [found_of(row[:-1]) for row in rows], rows[0][-1] if rows else (most or 0)


def _one_by_one(
    session: PostgresSession,
    project: str,
    vector: Sequence[float],
    dimension: int,
    filters: Filters,
    limit: int,
) -> dict[int, float]:
    """Without pgvector: the newest that pass the filters are compared here."""
    import numpy as np

    where, bound = search_condition_of(POSTGRES, project, filters)
    sql = (
        f"SELECT v.seq, v.vector FROM record r JOIN record_vector v ON "
        f"{POSTGRES.same_row('v', 'r')} WHERE {where} "
        f"AND v.dimension = {dimension:d} ORDER BY r.at_us DESC, r.id DESC LIMIT "
        f"{limits.VECTORS_COMPARED_MAX}"
    )
    rows = session.select(sql, bound)
    if not rows:
        return {}
    matrix = np.frombuffer(b"".join(blob for _, blob in rows), dtype="<f4").reshape(
        len(rows), dimension
    )
    cosines = cosines_of(matrix, vector)
    best = np.argsort(-cosines, kind="stable")[:limit]
    return {rows[place][0]: float(cosines[place]) for place in best if cosines[place] > COSINE_MIN}


# --- checking ---

_STRAYS: Final = (
    *(
        f"SELECT count(*) FROM {table} s WHERE s.project_id = ?1 AND NOT EXISTS "
        f"(SELECT 1 FROM record r WHERE {POSTGRES.same_row('r', 's')})"
        for table in (
            "record_text",
            "record_tag",
            "record_file",
            "record_key",
            "record_vector",
            "fix",
        )
    ),
    "SELECT count(*) FROM record r JOIN event e ON e.project_id = r.project_id AND e.record_id = "
    "r.id "
    "WHERE r.project_id = ?1 AND e.kind = 'forgotten'",
)
_MISFITS: Final = (
    "SELECT count(*) FROM record_vector v LEFT JOIN embedder e ON e.project_id = v.project_id "
    "WHERE v.project_id = ?1 AND (e.dimension IS NULL OR length(v.vector) <> 4 * e.dimension)"
)
_EVENTS: Final = "SELECT id, record_id, kind, at_us, body FROM event WHERE project_id = ?1"


def _setting(session: PostgresSession, name: str) -> str:
    (value,) = session.first("SELECT current_setting(?1)", (name,)) or ("",)
    return str(value)


def _encryption(session: PostgresSession) -> Finding:
    found = session.first(
        "SELECT s.ssl, s.version, a.client_addr IS NULL OR a.client_addr << '127.0.0.0/8' OR "
        "a.client_addr = '::1' "
        "FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) WHERE pid = pg_backend_pid()"
    )
    encrypted, version, local = found or (False, None, False)
    told = (
        f"TLS ({version})"
        if encrypted
        else "none, and none needed on this machine"
        if local
        else "none: add sslmode=verify-full"
    )
    return Finding("encryption", bool(encrypted or local), told)


def _missing(session: PostgresSession) -> list[str]:
    """Tables and views that should be there."""
    wanted = [*PROJECT_TABLES, "granted", "token", *VIEWS]
    sql = "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ?1"
    there = {str(name) for (name,) in session.select(sql, (SCHEMA,))}
    return [name for name in wanted if name not in there]


def _isolation(session: PostgresSession, roles: Sequence[str]) -> Finding:
    """Whether the database keeps projects apart: policies in force, and roles that they hold
    for.
    """
    open_tables = session.select(
        "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE "
        "n.nspname = ?1 "
        "AND c.relname = ANY (?2) AND NOT (c.relrowsecurity AND c.relforcerowsecurity) ORDER BY 1",
        (SCHEMA, [*PROJECT_TABLES, "granted", "token"]),
    )
    mighty = session.select(
        "SELECT rolname FROM pg_roles WHERE rolname = ANY (?1) AND (rolsuper OR rolbypassrls OR "
        "rolcanlogin)",
        (list(roles),),
    )
    wrong = [str(name) for (name,) in (*open_tables, *mighty)]
    return Finding(
        "isolation",
        not wrong,
        f"not in force for: {', '.join(wrong)}" if wrong else "policies are forced on every table",
    )


def _untrue_fixes(session: PostgresSession, project: str) -> int:
    """Fixes that the views do not show as they should."""
    sql = (
        f"SELECT count(*) FROM record r LEFT JOIN fix f ON {POSTGRES.same_row('f', 'r')} WHERE "
        f"r.project_id = ?1 "
        f"AND r.{FIXES} AND (f.seq IS NULL OR f.model IS DISTINCT FROM r.model "
        "OR f.issue_type IS DISTINCT FROM r.issue_type)"
    )
    (untrue,) = session.first(sql, (project,)) or (0,)
    return int(untrue)
