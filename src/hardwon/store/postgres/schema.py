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
from collections.abc import Iterable
from pkgutil import get_data
from typing import Final

from hardwon import limits
from hardwon.lessons import counts, tallies
from hardwon.records.kinds import VIA_IMPORT, VOUCHED_STATUSES
from hardwon.store.base import REQUESTS_DROPPED_AT_ONCE, adding_tallies

# New entries of the index of terms that wait to be sorted in. A search goes through them for each
# word: with a MiB it took three times as long. PostgreSQL takes no less than 64.
TERMS_PENDING_KIB: Final = 64
# How many records have each term is counted again when there are a twentieth more of them.
TERMS_COUNTED_EVERY: Final = 20

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


# What is kept of a record beside its row, its vector and its events.
DERIVED_TABLES: Final = ("record_text", "record_tag", "record_file", "record_key")

_OTHER_TABLES: Final = "record record_vector event tally state request embedder term_count".split()
PROJECT_TABLES: Final = (*DERIVED_TABLES, *_OTHER_TABLES)


# Indexes of vectors in one database, each for one length. A team uses one embedder, or two while it
# changes; every writer may have one made, and nobody should have a thousand made.
VECTOR_INDEXES_MAX: Final = 8


def _quote_each(texts: Iterable[str]) -> str:
    return ", ".join(f"'{text}'" for text in texts)


SHARED, _PROJECT, _VECTORS = (get_data(__name__, "schema.sql") or b"").decode().split("\n-- ====")
# What schema.sql names in braces, beside names of schemas and, in capitals, what this module and
# `limits` have.
_VALUES: Final[dict[str, object]] = {
    "tables": ", ".join(PROJECT_TABLES),
    "adding_tallies": adding_tallies("tally").replace("project_id, ", ""),
    "VIA_IMPORT": VIA_IMPORT,
    "REQUESTS_DROPPED_AT_ONCE": REQUESTS_DROPPED_AT_ONCE,
    "LESSONS_AT_ONCE_MAX": tallies.LESSONS_AT_ONCE_MAX,
    "level_max": counts.LEVELS - 1,
    "when_of_kind": " ".join(
        f"WHEN '{scope}' THEN u.kind = '{kind}'" for scope, kind in counts.KIND_OF_SCOPE.items()
    ),
    "stand_ins": _quote_each(STAND_INS),
    "ordinary_events": _quote_each(ORDINARY_EVENTS),
}


def _fill(text: str, **names: str) -> str:
    values = {**vars(limits), **globals(), **_VALUES, **names}
    return re.sub(r"\{(\w+)\}", lambda name: str(values[name[1]]), f"-- {text}")


def project_schema(schema: str, extension: str | None) -> str:
    """Everything in the schema of a project, which is there and on the search path. `extension` is
    where pgvector is.
    """
    here = f'SET search_path = "{schema}", pg_catalog, pg_temp'
    vectors = with_vectors(schema, extension) if extension else ""
    return _fill(_PROJECT, schema=schema, here=here, as_owner=f"SECURITY DEFINER {here}") + vectors


def with_vectors(schema: str, extension: str) -> str:
    """What is added where the server has pgvector, in the schema `extension`."""
    return _fill(_VECTORS, schema=schema, extension=extension)
