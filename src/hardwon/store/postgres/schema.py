"""What is in a PostgreSQL database of memories.

The schema `hardwon` has what projects share: `project` (which schema each has), `reachable` (what
of it the user who asks reaches), `token` and `migrated`. Every project has a schema of its own,
with tables and columns named as in SQLite (`store/sqlite/schema.sql`), and these differences:

project_id      is no column: a schema holds one project.
record_text     what a search reads of each text that has a term, in rows as short as can be.
event           what queries ask of its body has columns of its own.
term_count      how many records have a term, as of the last count; how many were counted is in
                `state`.
record_vector   `embedding` is there where the server has pgvector; `vector` is the same in bytes.

Who may do what is a matter of GRANT on whole tables and on functions, to the three roles of a
project. A writer changes no table: it calls functions that refuse what only a governor may say, and
count what follows from what was kept. It inserts a vector, the first embedder and the key of its
request, and no more. Texts compare byte by byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pkgutil import get_data
from typing import Final

from hardwon import limits
from hardwon.lessons.counts import (
    ANONYMOUS_SCOPES,
    KIND_OF_SCOPE,
    LEVELS,
    MILLIONTHS,
    SCORED_SCOPES,
)
from hardwon.records.kinds import VIA_IMPORT, VOUCHED_STATUSES
from hardwon.store.base import adding_tallies

# New entries of the index of terms that wait to be sorted in. A search goes through them for each
# word: with a MiB it took three times as long. PostgreSQL takes no less than 64.
_TERMS_PENDING_KIB: Final = 64

SCHEMA: Final = "hardwon"
OWNER: Final = "hardwon_owner"
# Who runs a server: reaches the tokens.
KEEPER: Final = "hardwon_keeper"

READER, WRITER, GOVERNOR = "reader", "writer", "governor"
# Each may do what those before it may, and more.
ACCESS: Final = (READER, WRITER, GOVERNOR)

# What a writer may say of a record. Everything else decides something, which takes a governor.
ORDINARY_EVENTS: Final = ("imported", "credited", "repeated")
# Records that stand for others, and teach what they say: brought by whoever governs.
STAND_INS: Final = ("adopted", "cleaned")

# What `state` has of the texts whose terms are counted.
TEXTS_COUNTED: Final = "texts whose terms are counted"
WORDS_COUNTED: Final = "words of those texts"
COUNTED_TO: Final = "number of the last of them"
COUNTS: Final = (TEXTS_COUNTED, WORDS_COUNTED, COUNTED_TO)

# That somebody vouches for it.
VOUCHED: Final = f"status IN ({', '.join(map(repr, VOUCHED_STATUSES))})"


# --- the schema of a project ---


def _read_columns(text: str) -> dict[str, str]:
    """Names of columns, with their types, as a statement has them."""
    return dict(column.split(" ", 1) for column in text.split(", "))


RECORD: Final = _read_columns(
    "id text, kind text, at_us bigint, author text, outcome text, tool text, task_id "
    "text, model text, issue_type text, body text, digest bytea, status text, "
    "validation text, teaching text, helped bigint, hindered bigint"
)
EVENT: Final = _read_columns(
    "id text, record_id text, kind text, at_us bigint, body text, said_by text, "
    "said_status text, said_replaced_by text, said_undoes text"
)
# What is kept of a record beside its row, its vector and its events.
DERIVED_TABLES: Final = ("record_text", "record_tag", "record_file", "record_key")

PROJECT_TABLES: Final = (
    "record",
    *DERIVED_TABLES,
    "record_vector",
    "event",
    "tally",
    "state",
    "request",
    "embedder",
    "term_count",
)

# --- statements that are also functions ---


def columns_of(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns.items())


# As they come in JSON, with what is derived of each record. Its `lessons` are lists: scope, key,
# item, level, value.
_GIVEN: Final = columns_of(
    RECORD
    | {"digest": "text", "terms": "text", "often": "text", "length": "integer"}
    | {"tags": "text[]", "files": "text[]", "keys": "text[]", "lessons": "json"}
)
_DERIVED: Final = f"""
texts AS (
    INSERT INTO record_text (seq, length, vouched, terms, often)
    SELECT g.seq, g.length, g.{VOUCHED}, g.terms, g.often FROM added JOIN given g USING (seq)
), tags AS (
    INSERT INTO record_tag (seq, tag)
    SELECT g.seq, t.tag FROM added JOIN given g USING (seq), unnest(g.tags) AS t (tag)
), files AS (
    INSERT INTO record_file (seq, number, path) SELECT g.seq, f.number, f.path
    FROM added JOIN given g USING (seq), unnest(g.files) WITH ORDINALITY AS f (path, number)
), keys AS (
    INSERT INTO record_key (seq, key)
    SELECT g.seq, k.key FROM added JOIN given g USING (seq), unnest(g.keys) AS k (key)
)"""


def insert_records(rows: str) -> str:
    """Inserts the records that are not there yet and were not forgotten, as `added`. Numbers are
    given out in the order in which the rows came; rows are inserted in the order of their ids.
    """
    columns = ", ".join(RECORD)
    values = columns.replace("digest", "decode(digest, 'hex')")
    return f"""
WITH given AS MATERIALIZED (
    SELECT nextval('record_seq_seq') AS seq, u.* FROM json_to_recordset({rows}) AS u ({_GIVEN})
), added AS (
    INSERT INTO record (seq, {columns}) SELECT seq, {values} FROM given g
    WHERE NOT EXISTS (SELECT 1 FROM event e WHERE e.record_id = g.id AND e.kind = 'forgotten')
    ORDER BY id COLLATE "C", seq ON CONFLICT (id) DO NOTHING RETURNING id, seq
), {_DERIVED}"""


def derive_again(rows: str, seq: str) -> str:
    """Inserts what is derived of a record that is there, under this number."""
    return f"""
WITH given AS MATERIALIZED (
    SELECT CAST({seq} AS bigint) AS seq, u.* FROM json_to_recordset({rows}) AS u ({_GIVEN})
), added AS (SELECT id, seq FROM given), {_DERIVED}
SELECT id, seq FROM added"""


# Inserts the events that are not there yet; of a record that was forgotten, only that.
ADD_EVENTS: Final = f"""
INSERT INTO event ({", ".join(EVENT)}) SELECT {", ".join(f"u.{name}" for name in EVENT)}
FROM json_to_recordset(?1::json) AS u ({columns_of(EVENT)})
WHERE u.kind = 'forgotten' OR NOT EXISTS (
    SELECT 1 FROM event e WHERE e.record_id = u.record_id AND e.kind = 'forgotten'
) ON CONFLICT DO NOTHING RETURNING id"""


# --- schema.sql ---


def _quote_each(texts: Iterable[str]) -> str:
    return ", ".join(f"'{text}'" for text in texts)


_LEVELS: Final = [f"level{level}" for level in range(LEVELS)]
_SHARED, _PROJECT, _VECTORS = (get_data(__name__, "schema.sql") or b"").decode().split("\n-- ====")
# What schema.sql names in braces, but for the names of schemas.
_VALUES: Final[dict[str, object]] = {
    "vouched": VOUCHED,
    "via_import": VIA_IMPORT,
    "tables": ", ".join(PROJECT_TABLES),
    "given": _GIVEN,
    "event": columns_of(EVENT),
    "event_columns": ", ".join(EVENT),
    "inserting_records": insert_records("rows"),
    "adding_tallies": adding_tallies("tally", "greatest").replace("project_id, ", ""),
    "levels": ", ".join(_LEVELS),
    "levels_as_columns": ", ".join(f"{name} bigint NOT NULL" for name in _LEVELS),
    "levels_counted": ", ".join(
        f"count(*) FILTER (WHERE level = {level})" for level in range(LEVELS)
    ),
    "level_max": LEVELS - 1,
    "millionths": MILLIONTHS,
    "anonymous_scopes": _quote_each(sorted(ANONYMOUS_SCOPES)),
    "scored_scopes": _quote_each(sorted(SCORED_SCOPES)),
    "when_of_kind": " ".join(
        f"WHEN '{scope}' THEN u.kind = '{kind}'" for scope, kind in KIND_OF_SCOPE.items()
    ),
    "stand_ins": _quote_each(STAND_INS),
    "ordinary_events": _quote_each(ORDINARY_EVENTS),
    "texts_counted": TEXTS_COUNTED,
    "words_counted": WORDS_COUNTED,
    "counted_to": COUNTED_TO,
    "day_us": limits.DAY_US,
    "lessons_at_once_max": limits.LESSONS_AT_ONCE_MAX,
    "record_bytes_max": limits.RECORD_BYTES_MAX,
    "requests_dropped_at_once": limits.REQUESTS_DROPPED_AT_ONCE,
    "requests_remembered_us": limits.REQUESTS_REMEMBERED_DAYS * limits.DAY_US,
    "terms_pending_kib": _TERMS_PENDING_KIB,
    "vector_indexes_max": limits.VECTOR_INDEXES_MAX,
    "votes_of_author_max": limits.VOTES_OF_AUTHOR_MAX,
}
SHARED: Final = _SHARED


def _fill(text: str, **names: str) -> str:
    values = {**_VALUES, **names}
    return re.sub(r"\{(\w+)\}", lambda name: str(values[name[1]]), f"-- {text}")


def project_schema(schema: str, extension: str | None) -> str:
    """Everything in the schema of a project, which is there and on the search path. `extension` is
    where pgvector is.
    """
    as_owner = f'SECURITY DEFINER SET search_path = "{schema}", pg_catalog, pg_temp'
    vectors = with_vectors(schema, extension) if extension else ""
    return _fill(_PROJECT, schema=schema, as_owner=as_owner) + vectors


def with_vectors(schema: str, extension: str) -> str:
    """What is added where the server has pgvector, in the schema `extension`."""
    return _fill(_VECTORS, schema=schema, extension=extension)
