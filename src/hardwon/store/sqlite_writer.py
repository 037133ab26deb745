"""One write transaction on a SQLite file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import apsw

from hardwon.learn.fix_rows import FixEntry, entry_of, shortened
from hardwon.locations import DEFAULT_PROJECT
from hardwon.model import Decision, Event
from hardwon.store import tallies, vectors
from hardwon.store.contract import Appended, Row
from hardwon.store.fix_tables import FixTables
from hardwon.store.packing import is_packed
from hardwon.store.sqlite_sql import MAKE_VOCABULARY, SQLITE, SqliteSession, draw_number
from hardwon.store.tree_index import TreeIndex
from hardwon.store.writing import ROW, ROW_FIELDS, Kept, SqlWriter, taught_by

_RELAXED: Final = "the index has words of what was packed away"


class SqliteWriter(SqlWriter):
    """What only SQLite does so: full text, fix tables, the tree of files. Rows are added on the bare connection, because every
    record passes there."""

    def __init__(self, connection: apsw.Connection) -> None:
        super().__init__(SqliteSession(connection), SQLITE)
        self._connection = connection
        self._fix_tables = FixTables(connection)
        self._relaxed = False
        self._before = connection.total_changes()

    def may_govern(self, project: str) -> bool:  # noqa: ARG002  # whoever may write to the file may do everything
        return True

    def append(self, rows: Sequence[Row]) -> Appended:
        result = Appended([], [], [], [])
        first, something_forgotten = self._connection.execute(
            # The number of a fix is its id in the tables of fix history, and no id is given out twice.
            "SELECT max(coalesce(max(seq), 0), coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'fix_history'), 0)) + 1, "
            "EXISTS (SELECT 1 FROM event INDEXED BY event_forgotten WHERE kind = 'forgotten') "
            "OR EXISTS (SELECT 1 FROM tree_forgotten) FROM record"
        ).get
        if something_forgotten:
            rows = self._not_forgotten(rows, result)
        before = self._connection.total_changes()
        self._connection.executemany(
            f"INSERT INTO record (seq, {ROW}) VALUES (?{', ?' * ROW_FIELDS}) ON CONFLICT (project_id, id) DO NOTHING",
            [(seq, *row[:ROW_FIELDS]) for seq, row in enumerate(rows, first)],
        )
        numbered = list(enumerate(rows, first))
        if self._connection.total_changes() - before < len(rows):  # some id was there already, or twice among these
            numbered = self._inserted(numbered, result)
        self._connection.executemany(
            "INSERT INTO record_text (rowid, terms) VALUES (?, ?)", [(seq, row.terms) for seq, row in numbered]
        )
        self._insert_names([(seq, row) for seq, row in numbered if row.tags or row.files or row.keys])
        tallies.add(self._session, self._dialect, [taught_by(row) for _, row in numbered if row.lessons])
        self._show_fixes([(seq, row.author, row.status, row.fix) for seq, row in numbered if row.fix])
        if any(row.kind == "decision" for _, row in numbered):
            self._fix_tables.follow_rollbacks()
        result.added.extend([row.id for _, row in numbered])
        return result

    def _show_fixes(self, fixes: Sequence[tuple[int, str, str, FixEntry]]) -> None:
        if fixes:
            self._fix_tables.add(self._fix_tables.counting(fixes))
            self._fix_tables.number_given(fixes[-1][0])

    def _not_forgotten(self, rows: Sequence[Row], result: Appended) -> Sequence[Row]:
        gone = (
            "SELECT EXISTS (SELECT 1 FROM event WHERE project_id = ?1 AND record_id = ?2 AND kind = 'forgotten') "
            "OR EXISTS (SELECT 1 FROM tree_forgotten WHERE project_id = ?1 AND id = ?2)"
        )
        flags = [self._connection.execute(gone, (row.project_id, row.id)).get for row in rows]
        result.forgotten.extend(row.id for row, flag in zip(rows, flags, strict=True) if flag)
        return [row for row, flag in zip(rows, flags, strict=True) if not flag]

    def _inserted(self, numbered: Sequence[tuple[int, Row]], result: Appended) -> list[tuple[int, Row]]:
        """Those that are new; the others are told apart in the result."""
        inserted = []
        for seq, row in numbered:
            sql = "SELECT seq, digest FROM record WHERE project_id = ? AND id = ?"
            kept_seq, digest = self._connection.execute(sql, (row.project_id, row.id)).get
            if kept_seq == seq:
                inserted.append((seq, row))
            else:
                if digest == row.digest:
                    result.present.append(row.id)
                else:
                    result.conflicting.append(row)
        return inserted

    def _insert_names(self, rows: Sequence[tuple[int, Row]]) -> None:
        for seq, row in rows:
            for tag in row.tags:
                self._connection.execute("INSERT INTO record_tag VALUES (?, ?, ?)", (seq, tag, row.project_id))
            for path in row.files:
                self._connection.execute("INSERT INTO record_file VALUES (?, ?, ?)", (seq, path, row.project_id))
        keys = [(seq, key, row.project_id) for seq, row in rows for key in row.keys]
        if keys:
            self._connection.executemany("INSERT INTO record_key VALUES (?, ?, ?)", keys)

    def _status_changed(self, kept: Kept, status: str) -> None:
        before, author, fix = kept.taught.status, kept.taught.author, _fix_of(kept)
        if fix:
            counted, counts = (self._fix_tables.counting([(kept.seq, author, each, fix)]) for each in (before, status))
            if bool(counted) != bool(counts):
                self._fix_tables.add(counts)
                self._fix_tables.take_out([] if counts else counted)
        elif _is_rollback(kept):
            self._fix_tables.follow_rollbacks()

    def _were_erased(self, gone: Sequence[Kept]) -> None:
        fixes = [(kept.seq, kept.taught.author, kept.taught.status, fix) for kept in gone if (fix := _fix_of(kept))]
        self._fix_tables.take_out(self._fix_tables.counting(fixes) if fixes else [])
        if any(map(_is_rollback, gone)):
            self._fix_tables.follow_rollbacks()

    def rewrite(self, row: Row) -> None:
        seq = self._seq_of(row.project_id, row.id)
        if seq is not None:
            self._rewrite(seq, row)

    def _rewrite(self, seq: int, row: Row) -> None:
        self._rewrite_columns(seq, row)
        self._drop_derived(row.project_id, seq)
        self._connection.execute("INSERT INTO record_text (rowid, terms) VALUES (?, ?)", (seq, row.terms))
        self._insert_names([(seq, row)])

    def replace(self, row: Row) -> None:
        seq = self._seq_of(row.project_id, row.id)
        if seq is None:
            return
        self._relax_index()
        self._connection.execute("UPDATE record SET body = ?, digest = ? WHERE seq = ?", (row.body, row.digest, seq))
        self._rewrite(seq, row)
        self._drop_vector(row.project_id, seq)  # its text is another
        if row.fix:
            for number, entry in self._fix_tables.counting([(seq, row.author, row.status, row.fix)]):
                self._fix_tables.change(number, entry)

    def _drop_derived(self, project: str, seq: int) -> None:  # noqa: ARG002  # its number tells the project too
        run = self._connection.execute
        run("DELETE FROM record_text WHERE rowid = ?", (seq,))
        run("DELETE FROM record_tag WHERE seq = ?", (seq,))
        run("DELETE FROM record_file WHERE seq = ?", (seq,))
        run("DELETE FROM record_key WHERE seq = ?", (seq,))

    def _drop_vector(self, project: str, seq: int) -> None:
        vectors.drop(self._session, project, seq)

    def erase(self, project: str, record_ids: Sequence[str], tombstones: Sequence[Event]) -> int:
        erased = super().erase(project, record_ids, tombstones)
        if erased and not self.clean_index() and self._index_remembers():
            self._rebuild_index()
        return erased

    def clean_index(self) -> bool:
        """Makes the search index anew where it has words of what was packed away; whether it had."""
        relaxed = bool(self.state("", _RELAXED))
        if relaxed:
            self._rebuild_index()
        return relaxed

    def _rebuild_index(self) -> None:
        """The search index without a trace of what is no longer in it."""
        self._connection.execute("INSERT INTO record_text (record_text) VALUES ('rebuild')")
        # A new index is of the older format until something is deleted from it. FTS5 says so in the file, but does not tell the
        # other connections: one that remembers the newer format would write it without saying so, and to whoever opens the file
        # next it would be damaged. A setting, whatever its value, has them all look again.
        self._connection.execute("INSERT INTO record_text (record_text, rank) VALUES ('secure-delete', 1)")
        self.set_state("", _RELAXED, 0)

    def _relax_index(self) -> None:
        """To take words out of the index for good costs a hundred times as much as to mark them as gone. What is packed away
        stays in the file anyway; where something is erased later, the whole index is made anew."""
        if not self._relaxed:
            self._relaxed = True
            self._connection.execute("INSERT INTO record_text (record_text, rank) VALUES ('secure-delete', 0)")
            self.set_state("", _RELAXED, 1)

    def finish(self) -> None:
        """Before it is kept."""
        if self._relaxed:
            self._connection.execute("INSERT INTO record_text (record_text, rank) VALUES ('secure-delete', 1)")
        if self._connection.total_changes() != self._before:
            self.draw_number()

    def draw_number(self) -> None:
        """By which the log is known that this transaction, and whatever changes the file after it, is written to."""
        draw_number(self._connection)

    def set_embedder(self, project: str, name: str, dimension: int) -> None:
        vectors.set_embedder(self._session, project, name, dimension)

    def keep_vectors(self, project: str, vectors_of: Iterable[tuple[str, bytes]]) -> None:
        vectors.keep(self._session, project, vectors_of)

    def recount(self, project: str) -> None:
        super().recount(project)
        if project == DEFAULT_PROJECT:
            self._fix_tables.refill()

    def number_of(self, project: str, record_id: str) -> int | None:
        return self._fix_tables.id_of(record_id) if project == DEFAULT_PROJECT else None

    def tree(self, project: str) -> TreeIndex:
        """What is known of the tree of files beside this file, as part of this transaction."""
        return TreeIndex(self._connection, project)

    def _index_remembers(self) -> bool:
        """FTS5 removes erased terms from its leaves, but keeps some as signposts between leaves. Whether there is a signpost
        to which no living term leads any more."""
        run = self._connection.execute
        run(MAKE_VOCABULARY)
        for (signpost,) in run("SELECT term FROM main.record_text_idx"):
            # Its first byte names the index; a signpost may end within a character, so it is compared as bytes.
            beginning = bytes(signpost)[1:]
            lower = beginning.decode(errors="ignore")
            terms = run("SELECT term FROM temp.vocabulary WHERE term >= ? LIMIT 1", (lower,))
            if beginning and not any(term.encode().startswith(beginning) for (term,) in terms):
                return True
        return False


def _fix_of(kept: Kept) -> FixEntry | None:
    """What the tables of fix history show of a record, as it is now."""
    entry = entry_of(kept.record) if kept.taught.project_id == DEFAULT_PROJECT else None
    return shortened(entry) if entry and is_packed(kept.body) else entry


def _is_rollback(kept: Kept) -> bool:
    return isinstance(kept.record, Decision) and kept.record.action == "rollback"
