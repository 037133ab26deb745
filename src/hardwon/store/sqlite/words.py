"""The words of a project's records, indexed by FTS5: a table for each project of a file. So nothing
that one project holds shows in what another one finds, and a small project is searched quickly
beside a large one.

The index keeps no texts of its own: it reads them from a view of `record_text`. Three columns are
searched: the terms, the forms of words as they were written, which count less, and the marks, which
count nothing: whose a record is (`@a…`), and whether somebody vouches for it (`@v`) or not (`@u`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final

import apsw

from hardwon.records.kinds import VOUCHED_STATUSES
from hardwon.search.rank import FORM_WEIGHT
from hardwon.store.types import Row
from hardwon.text.terms import TERM_PUNCTUATION

NAME: Final = "words_"
VOUCHED: Final = "@v"
_UNVOUCHED: Final = "@u"
_SOURCE: Final = "@a"
_AFTER_SOURCES: Final = "@b"


def mark_of_source(author: str) -> str:
    return _SOURCE + author.encode(errors="surrogatepass").hex()


def marks_of(author: str, status: str) -> str:
    return f"{mark_of_source(author)} {VOUCHED if status in VOUCHED_STATUSES else _UNVOUCHED}"


@lru_cache
def index_name(project: str) -> str:
    """Of its table; that of its vocabulary and its view begin with it. Names of tables are the same
    in capital letters, those of projects are not.
    """
    return NAME + blake2b(project.encode(errors="surrogatepass"), digest_size=8).hexdigest()


class WordIndex:
    """The index of one project, for one connection. It is made with the project's first record."""

    def __init__(self, connection: apsw.Connection, project: str) -> None:
        self.connection = connection
        self.project = project
        self.name = index_name(project)

    @property
    def exists(self) -> bool:
        # asked of the file, not of the connection, which may not know yet what others made
        sql = "SELECT 1 FROM sqlite_schema WHERE name = ?"
        return self.connection.execute(sql, (self.name,)).get is not None

    def make(self) -> None:
        for statement in definitions(self.project):
            self.connection.execute(statement)
        self.delete_securely(1)
        self._set("rank", f"bm25(1.0, {FORM_WEIGHT}, 0.0)")

    def _set(self, name: str, value: object) -> None:
        self.connection.execute(
            f"INSERT INTO {self.name} ({self.name}, rank) VALUES (?, ?)", (name, value)
        )

    def delete_securely(self, value: int) -> None:
        self._set("secure-delete", value)

    # --- writing ---

    def add(self, rows: Iterable[tuple[int, Row]]) -> None:
        """The texts of rows, under their numbers."""
        self.add_texts((seq, row.terms, marks_of(row.author, row.status)) for seq, row in rows)

    def add_texts(self, texts: Iterable[tuple[int, str, str]]) -> None:
        """Numbers that have no text yet, with their terms and marks."""
        if not self.exists:
            self.make()
        kept = list(texts)
        self.connection.executemany("INSERT INTO record_text VALUES (?, ?, ?)", kept)
        self.connection.executemany(
            f"INSERT INTO {self.name} (rowid, terms, forms, marks) VALUES (?, ?, ?, ?)",
            [(seq, *_columns(terms), marks) for seq, terms, marks in kept],
        )

    def remove(self, seq: int) -> None:
        self._unindex(seq)
        self.connection.execute("DELETE FROM record_text WHERE seq = ?", (seq,))

    def mark(self, seq: int, marks: str) -> None:
        """Where its marks are others by now."""
        sql = "SELECT terms FROM record_text WHERE seq = ? AND marks <> ?"
        for (terms,) in self.select(sql, (seq, marks)):
            self._unindex(seq)
            self.connection.execute("UPDATE record_text SET marks = ? WHERE seq = ?", (marks, seq))
            self.connection.execute(
                f"INSERT INTO {self.name} (rowid, terms, forms, marks) VALUES (?, ?, ?, ?)",
                (seq, *_columns(terms), marks),
            )

    def _unindex(self, seq: int) -> None:
        """What the index says of a text, it must be told to take it back."""
        sql = "SELECT terms, marks FROM record_text WHERE seq = ?"
        for terms, marks in self.select(sql, (seq,)):
            self.connection.execute(
                f"INSERT INTO {self.name} ({self.name}, rowid, terms, forms, marks) "
                "VALUES ('delete', ?, ?, ?, ?)",
                (seq, *_columns(terms), marks),
            )

    def rebuild(self) -> None:
        """The index without a trace of what is no longer in it."""
        self.connection.execute(f"INSERT INTO {self.name} ({self.name}) VALUES ('rebuild')")
        # A new index is of the older format until something is deleted from it. FTS5 says so in the
        # file, but does not tell the other connections: one that remembers the newer format would
        # write it without saying so, and to whoever opens the file next it would be damaged. A
        # setting, whatever its value, has them all look again.
        self.delete_securely(1)

    def remembers_erased(self) -> bool:
        """FTS5 removes erased terms from its leaves, but keeps some as signposts between leaves.
        Whether there is a signpost to which no living term leads any more.
        """
        run = self.connection.execute
        vocabulary = self._vocabulary()
        for (signpost,) in run(f"SELECT term FROM main.{self.name}_idx"):
            # Its first byte names the index; a signpost may end within a character, so it is
            # compared as bytes.
            beginning = bytes(signpost)[1:]
            lower = beginning.decode(errors="ignore")
            terms = run(f"SELECT term FROM {vocabulary} WHERE term >= ? LIMIT 1", (lower,))
            if beginning and not any(term.encode().startswith(beginning) for (term,) in terms):
                return True
        return False

    # --- asking ---

    def _vocabulary(self) -> str:
        """Every term with how many records have it (`doc`), for this connection."""
        name = f"temp.{self.name}_terms"
        self.connection.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS {name} USING fts5vocab ('main', '{self.name}', 'row')"
        ).fetchall()
        return name

    def has(self, term: str) -> bool:
        """Whether any text has it."""
        sql = f"SELECT 1 FROM {self.name} WHERE {self.name} MATCH ? LIMIT 1"
        return bool(self.select(sql, (f'"{term}"',)))

    def having(self, term: str) -> int:
        """How many texts have it."""
        sql = f"SELECT doc FROM {self._vocabulary()} WHERE term = ?"
        return self.connection.execute(sql, (term,)).get or 0

    def sources(self) -> dict[str, int]:
        """The marks of all sources, with how many texts each has."""
        sql = f"SELECT term, doc FROM {self._vocabulary()} WHERE term >= ? AND term < ?"
        found: list[Any] = self.connection.execute(sql, (_SOURCE, _AFTER_SOURCES)).fetchall()
        return dict(found)

    def select(self, sql: str, values: Sequence[Any]) -> list[Any]:
        return self.connection.execute(sql, values).fetchall()

    def look_again(self) -> None:
        """FTS5 compares what it remembers of its index with what is there now. Only a query has it
        look whether another process changed the index since: without one, a sound index that others
        wrote to seems damaged.
        """
        self.connection.execute(f"SELECT 1 FROM {self.name} LIMIT 1").fetchall()


def _columns(terms: str) -> tuple[str, str]:
    words, _, forms = terms.partition("\n")
    return words, forms


def definitions(project: str) -> tuple[str, str]:
    """What makes the view of a project's texts, and the index of them."""
    name = index_name(project)
    quoted = project.replace("'", "''")
    split = "instr(t.terms || char(10), char(10))"
    return (
        f"CREATE VIEW {name}_texts AS SELECT t.seq, substr(t.terms, 1, {split} - 1) AS terms, "
        f"substr(t.terms, {split} + 1) AS forms, t.marks FROM record r JOIN record_text t "
        f"ON t.seq = r.seq WHERE r.project_id = '{quoted}'",
        f"CREATE VIRTUAL TABLE {name} USING fts5 (terms, forms, marks, content = '{name}_texts', "
        f"content_rowid = 'seq', tokenize = \"ascii tokenchars '{TERM_PUNCTUATION}'\")",
    )


# From one to the next by the index: going through all records takes a second for each million.
PROJECTS: Final = (
    "WITH RECURSIVE next (name) AS (SELECT min(project_id) FROM record UNION ALL "
    "SELECT (SELECT min(project_id) FROM record WHERE project_id > name) FROM next WHERE "
    "name IS NOT NULL) SELECT name FROM next WHERE name IS NOT NULL"
)


def indexes_in(connection: apsw.Connection) -> list[WordIndex]:
    """Of all projects that have records."""
    projects = [str(project) for (project,) in connection.execute(PROJECTS)]
    return [WordIndex(connection, project) for project in projects]
