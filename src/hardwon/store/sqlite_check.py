"""What a SQLite file can say about its own health."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import apsw

from hardwon.store.contract import Finding
from hardwon.store.migrations import SCHEMA_VERSION
from hardwon.store.rows import untrue_events
from hardwon.store.sqlite_file import check_whole_file, expected_schema, schema_of

WAL_FIXED_IN: Final = (3, 51, 3)
_STRAYS: Final = (
    "SELECT count(*) FROM record_text WHERE rowid NOT IN (SELECT seq FROM record)",
    "SELECT count(*) FROM record_tag WHERE seq NOT IN (SELECT seq FROM record)",
    "SELECT count(*) FROM record_file WHERE seq NOT IN (SELECT seq FROM record)",
    "SELECT count(*) FROM record_key WHERE seq NOT IN (SELECT seq FROM record)",
    "SELECT count(*) FROM record_vector WHERE seq NOT IN (SELECT seq FROM record)",
    "SELECT count(*) FROM record r JOIN event e ON e.project_id = r.project_id AND e.record_id = r.id "
    "WHERE e.kind = 'forgotten'",
)
_MISFITS: Final = (
    "SELECT count(*) FROM record_vector v LEFT JOIN embedder e ON e.project_id = v.project_id "
    "WHERE e.dimension IS NULL OR length(v.vector) <> 4 * e.dimension"
)


def check_library() -> Finding:
    """Whether this SQLite keeps what it is given."""
    version = apsw.sqlite_lib_version()
    fixed = tuple(int(part) for part in version.split(".")) >= WAL_FIXED_IN
    wanted = ".".join(map(str, WAL_FIXED_IN))
    return Finding("sqlite", fixed, f"SQLite {version}; {wanted} or newer cannot corrupt a log checkpointed twice")


def check_contents(connection: apsw.Connection) -> Iterator[Finding]:
    """What is in the file, inside of one read transaction."""
    settings = {name: connection.pragma(name) for name in ("journal_mode", "synchronous", "secure_delete")}
    # A backup has no log until somebody writes to it.
    durable = settings["journal_mode"] in ("wal", "delete") and (settings["synchronous"], settings["secure_delete"]) == (2, 1)
    yield Finding("durability", durable, ", ".join(f"{name} {value}" for name, value in settings.items()))
    same = schema_of(connection) == expected_schema()
    yield Finding("schema", same, f"version {connection.pragma('user_version')} of {SCHEMA_VERSION}")
    try:
        damage = check_whole_file(connection)
    except apsw.IOError as error:
        damage = [f"the disk does not read it ({error})"]
    yield Finding("integrity", not damage, "; ".join(damage[:5]) or "every page and index is sound")
    if not damage:
        strays = sum(connection.execute(sql).get for sql in _STRAYS)
        yield Finding("side tables", strays == 0, f"{strays} rows that belong to no record")
        misfits = connection.execute(_MISFITS).get
        yield Finding("vectors", misfits == 0, f"{misfits} that are not of the embedder they are kept for")
        wrong = list(untrue_events(connection.execute("SELECT id, record_id, kind, at_us, body FROM event")))
        yield Finding("events", not wrong, f"{len(wrong)} that do not say what their columns say")
