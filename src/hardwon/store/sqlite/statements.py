"""How SQLite runs and words the statements that engines share, and the words of a project's records,
indexed by FTS5: a table for each project of a file. So nothing that one project holds shows in what
another one finds, and a small project is searched quickly beside a large one.

The index keeps no texts of its own: it reads them from a view of `record_text`. Three columns are
searched: the terms, the forms of words as they were written, which count less, and the marks, which
count nothing: whose a record is (`@a…`), and whether somebody vouches for it (`@v`) or not (`@u`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import blake2b
from typing import Any, Final

import apsw

from hardwon import limits
from hardwon.records.kinds import VOUCHED_STATUSES
from hardwon.search.rank import FORM_WEIGHT
from hardwon.store.types import Dialect, Session, Values
from hardwon.text.terms import TERM_PUNCTUATION


@dataclass(eq=False)
class SqliteSession(Session):
    """A connection that somebody has borrowed."""

    connection: apsw.Connection

    def begin_anew(self) -> None:
        """Where the disk fails in the middle of a transaction, SQLite takes it back, but FTS5 may
        go on to remember what it was about to write, and would write it with the next one: words of
        records that nobody has. So the connection reads the schema anew, which has FTS5 begin anew.
        It stays open: on a full disk there may be no room to open another.
        """
        try:
            self.run("PRAGMA writable_schema = RESET")
        except apsw.Error:
            self.connection.close()

    def select(self, sql: str, values: Values = ()) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql, values).fetchall()

    def first(self, sql: str, values: Values = ()) -> tuple[Any, ...] | None:
        return self.connection.execute(sql, values).fetchone()

    def run(self, sql: str, values: Values = ()) -> int:
        self.connection.execute(sql, values)
        return self.connection.changes()

    def run_many(self, sql: str, rows: Iterable[Values]) -> None:
        self.connection.executemany(sql, rows)

    def each(self, sql: str, values: Values = ()) -> Iterator[tuple[Any, ...]]:
        yield from self.connection.execute(sql, values)


class SqliteDialect(Dialect):
    """Row numbers are those of the whole file, so they tell the project too."""

    least = "min"
    greatest = "max"
    join = "CROSS JOIN"

    forgotten = (
        "SELECT value FROM json_each(?2) WHERE EXISTS (SELECT 1 FROM event WHERE project_id = ?1 "
        "AND record_id = value AND kind = 'forgotten') "
        "OR EXISTS (SELECT 1 FROM tree_forgotten WHERE project_id = ?1 AND id = value)"
    )
    glob_operator = "GLOB"
    hint = " INDEXED BY {}".format
    within = "{} IN (SELECT value FROM json_each({}))".format
    gathered = "json_group_array({} ORDER BY {})".format
    said = "{}.body ->> '{}'".format
    given = "CASE WHEN json_valid(r.body) THEN r.body ->> {} END".format
    # A CASE, because json_each refuses what is no JSON, and conditions come in any order.
    has_key = (
        "CASE WHEN r.kind = 'experience' AND json_valid(r.body) THEN EXISTS (SELECT 1 FROM "
        "json_each(r.body) AS given WHERE given.key = {} AND CAST(given.value AS TEXT) = {}) "
        "ELSE 0 END"
    ).format

    names_entity = (
        "CASE WHEN json_valid(r.body) THEN EXISTS (SELECT 1 FROM json_tree(r.body, '$.entities') "
        "WHERE type = 'text' AND value = {}) ELSE 0 END"
    )

    def inside(self, *names: str) -> str:
        return f"CASE WHEN json_valid(r.body) THEN r.body ->> '$.{'.'.join(names)}' END"

    def listed(self, values: Iterable[Any]) -> str:
        return json.dumps(list(values))

    def glob(self, pattern: str) -> str:
        return pattern

    def make_fresh_tallies(self, session: Session) -> None:
        session.run("DROP TABLE IF EXISTS temp.fresh")
        for (definition,) in session.select("SELECT sql FROM sqlite_schema WHERE name = 'tally'"):
            session.run(definition.replace("CREATE TABLE tally", "CREATE TABLE temp.fresh", 1))

    def insert_many(
        self,
        session: Session,
        table: str,
        columns: Mapping[str, str],
        rows: Iterable[Values],
        also: str,
    ) -> None:
        session.connection.executemany(_inserting(table, tuple(columns), also), rows)


@cache  # every append says it
def _inserting(table: str, columns: tuple[str, ...], also: str) -> str:
    marks = ", ".join("?" * len(columns))
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}) {also}"


SQLITE: Final = SqliteDialect()

# In the table `state`, of no project: what a transaction drew, in the lower half, and what the one
# before it had drawn.
NUMBER_NAME: Final = "number of the last transaction"
NUMBER_MAX: Final = 2**30 - 1
_EIGHT_BYTES: Final = 2**62  # always so many, so that the row stays where it is on its page


# Draws one, by which `sqlite.log` tells which log is which file's. In a transaction, before it is
# kept, and only once: a second one would follow a number that no file ever had.
DRAW_NUMBER: Final = (
    "INSERT INTO state (project_id, name, value) "
    f"VALUES ('', '{NUMBER_NAME}', {_EIGHT_BYTES} | ((random() & {2**31 - 1}) % {NUMBER_MAX} + 1)) "
    f"ON CONFLICT DO UPDATE SET value = excluded.value | ((value & {NUMBER_MAX}) << 32)"
)
# Another one after every transaction.
LAST_NUMBER: Final = f"SELECT value FROM state WHERE project_id = '' AND name = '{NUMBER_NAME}'"


# --- words ---

_TAKEN_OUT_NAME: Final = "a text was taken out of the index"
_TAKEN_OUT: Final = f"SELECT value FROM state WHERE project_id = ? AND name = '{_TAKEN_OUT_NAME}'"
# By chance, not one more: a file that is restored would come to the same numbers again.
_TAKE_OUT: Final = (
    f"INSERT INTO state (project_id, name, value) VALUES (?, '{_TAKEN_OUT_NAME}', random()) "
    "ON CONFLICT DO UPDATE SET value = excluded.value"
)
_FROM_NEWEST: Final = (
    "SELECT r.seq, r.id, r.project_id, t.terms, t.marks FROM record r "
    "CROSS JOIN record_text t ON t.seq = r.seq WHERE r.seq >= ?1 ORDER BY r.seq LIMIT ?2"
)

NAME: Final = "words_"
VOUCHED: Final = "@v"
_SOURCE: Final = "@a"


def mark_of_source(author: str) -> str:
    return _SOURCE + author.encode(errors="surrogatepass").hex()


@lru_cache(maxsize=1024)
def marks_of(author: str, status: str) -> str:
    return f"{mark_of_source(author)} {VOUCHED if status in VOUCHED_STATUSES else '@u'}"


@lru_cache
def index_name(project: str) -> str:
    """Of its table; that of its vocabulary and its view begin with it. Names of tables are the same
    in capital letters, those of projects are not.
    """
    return NAME + blake2b(project.encode(errors="surrogatepass"), digest_size=8).hexdigest()


class WordIndex:
    """The index of one project, for one session."""

    def __init__(self, session: SqliteSession, project: str) -> None:
        self._session, self.project, self.name = session, project, index_name(project)

    @property
    def exists(self) -> bool:
        # asked of the file, not of the connection, which may not know yet what others made
        sql = "SELECT 1 FROM sqlite_schema WHERE name = ?"
        return self._session.first(sql, (self.name,)) is not None

    def set(self, name: str, value: object) -> None:
        """One of FTS5's settings."""
        self._session.run(
            f"INSERT INTO {self.name} ({self.name}, rank) VALUES (?, ?)", (name, value)
        )

    # --- writing ---

    def make(self) -> None:
        """The view of the project's texts, and the index of them."""
        quoted = self.project.replace("'", "''")
        split = "instr(t.terms || char(10), char(10))"
        self._session.run(
            f"CREATE VIEW {self.name}_texts AS SELECT t.seq, "
            f"substr(t.terms, 1, {split} - 1) AS terms, "
            f"substr(t.terms, {split} + 1) AS forms, t.marks FROM record r JOIN record_text t "
            f"ON t.seq = r.seq WHERE r.project_id = '{quoted}'"
        )
        self._session.run(
            f"CREATE VIRTUAL TABLE {self.name} USING fts5 (terms, forms, marks, "
            f"content = '{self.name}_texts', content_rowid = 'seq', "
            f"tokenize = \"ascii tokenchars '{TERM_PUNCTUATION}'\")"
        )
        self.set("secure-delete", 1)
        self.set("rank", f"bm25(1.0, {FORM_WEIGHT}, 0.0)")

    def remove(self, seq: int) -> None:
        sql = "SELECT terms, marks FROM record_text WHERE seq = ?"
        for terms, marks in self._session.select(sql, (seq,)):
            # what the index says of a text, it must be told to take it back
            self._session.run(
                f"INSERT INTO {self.name} ({self.name}, rowid, terms, forms, marks) "
                "VALUES ('delete', ?, ?, ?, ?)",
                (seq, *terms.partition("\n")[::2], marks),
            )
            self._session.run("DELETE FROM record_text WHERE seq = ?", (seq,))
            self._session.run(_TAKE_OUT, (self.project,))

    def mark(self, seq: int, marks: str) -> None:
        """Where its marks are others by now."""
        sql = "SELECT terms FROM record_text WHERE seq = ? AND marks <> ?"
        for (terms,) in self._session.select(sql, (seq, marks)):
            self.remove(seq)
            add_texts(self._session, self.project, [(seq, terms, marks)])

    def rebuild(self) -> None:
        """The index without a trace of what is no longer in it."""
        self._session.run(f"INSERT INTO {self.name} ({self.name}) VALUES ('rebuild')")
        # A new index is of the older format until something is deleted from it. FTS5 says so in the
        # file, but does not tell the other connections: one that remembers the newer format would
        # write it without saying so, and to whoever opens the file next it would be damaged. A
        # setting, whatever its value, has them all look again.
        self.set("secure-delete", 1)

    def remembers_erased(self) -> bool:
        """FTS5 removes erased terms from its leaves, but keeps some as signposts between leaves.
        Whether there is a signpost to which no living term leads any more.
        """
        vocabulary = self._vocabulary()
        for (signpost,) in self._session.select(f"SELECT term FROM main.{self.name}_idx"):
            # Its first byte names the index; a signpost may end within a character, so it is
            # compared as bytes.
            beginning = bytes(signpost)[1:]
            sql = f"SELECT term FROM {vocabulary} WHERE term >= ? LIMIT 1"
            terms = self._session.select(sql, (beginning.decode(errors="ignore"),))
            if beginning and not any(term.encode().startswith(beginning) for (term,) in terms):
                return True
        return False

    # --- asking ---

    def _vocabulary(self) -> str:
        """Every term with how many records have it (`doc`), for this connection."""
        name = f"temp.{self.name}_terms"
        self._session.run(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS {name} USING fts5vocab ('main', '{self.name}', 'row')"
        )
        return name

    def has(self, term: str) -> bool:
        """Whether any text has it."""
        sql = f"SELECT 1 FROM {self.name} WHERE {self.name} MATCH ? LIMIT 1"
        return self._session.first(sql, (f'"{term}"',)) is not None

    def having(self, term: str) -> int:
        """How many texts have it."""
        sql = f"SELECT doc FROM {self._vocabulary()} WHERE term = ?"
        return self._session.value(sql, (term,)) or 0

    def sources(self) -> dict[str, int]:
        """The marks of all sources, with how many texts each has."""
        sql = f"SELECT term, doc FROM {self._vocabulary()} WHERE term >= ? AND term < ?"
        return dict(self._session.select(sql, (_SOURCE, "@b")))

    def taken_out(self) -> int:
        """Another number after any text was taken out, be it to put in another one."""
        return self._session.value(_TAKEN_OUT, (self.project,)) or 0

    def newest(self) -> tuple[int, str]:
        """The number and the id of the newest record, of whatever project."""
        found = self._session.first("SELECT seq, id FROM record ORDER BY seq DESC LIMIT 1")
        return found or (0, "")

    def added_since(
        self, newest: tuple[int, str], taken_out: int
    ) -> tuple[tuple[int, str], list[tuple[str, str]]] | None:
        """The newest record now, and the terms and marks of each text of this project since that
        one. None where something was taken out since then, or very many came.
        """
        most = limits.COUNTED_ON_RECORDS_MAX
        rows = self._session.select(_FROM_NEWEST, (newest[0], most + 2))
        if not rows or rows[0][:2] != newest or len(rows) > most + 1:
            return None
        if self.taken_out() != taken_out:
            return None
        return rows[-1][:2], [row[3:] for row in rows[1:] if row[2] == self.project]

    def look_again(self) -> None:
        """FTS5 compares what it remembers of its index with what is there now. Only a query has it
        look whether another process changed the index since: without one, a sound index that others
        wrote to seems damaged.
        """
        self._session.select(f"SELECT 1 FROM {self.name} LIMIT 1")


def add_texts(session: SqliteSession, project: str, texts: Sequence[tuple[int, str, str]]) -> None:
    """Numbers of records that have no text yet, with their terms and marks. The project's index is
    made with its first record.
    """
    session.connection.executemany("INSERT INTO record_text VALUES (?, ?, ?)", texts)
    rows = [(seq, *terms.partition("\n")[::2], marks) for seq, terms, marks in texts]
    sql = f"INSERT INTO {index_name(project)} (rowid, terms, forms, marks) VALUES (?, ?, ?, ?)"
    try:
        session.connection.executemany(sql, rows)
    except apsw.SQLError:
        index = WordIndex(session, project)
        if index.exists:
            raise
        index.make()
        session.connection.executemany(sql, rows)


# From one to the next by the index: going through all records takes a second for each million.
PROJECTS: Final = (
    "WITH RECURSIVE next (name) AS (SELECT min(project_id) FROM record UNION ALL "
    "SELECT (SELECT min(project_id) FROM record WHERE project_id > name) FROM next WHERE "
    "name IS NOT NULL) SELECT name FROM next WHERE name IS NOT NULL"
)


def indexes_in(session: SqliteSession) -> list[WordIndex]:
    """Of all projects that have records."""
    return [WordIndex(session, str(project)) for (project,) in session.select(PROJECTS)]
