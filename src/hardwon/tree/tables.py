"""What the database knows of the tree of files that mirrors a project's experiences.

A file is known by its folder and name, the record it mirrors and the digest of what it said, and has a state:

DUE       its record is kept; the file is still to be written
IN_STEP   the file is written and says what the record says
GOING     its record was archived or forgotten; the file is still to be removed, or is removed but not for sure
PAST      a file that mirrored the record once, and that is gone, was moved, or said it in other words

A record has at most one file that is not past. `mtime_ns` and `size` tell whether somebody touched a file since. `at_us` is the
record's time, so that finding need not ask the record. The row number of a forgotten record is negative.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from operator import itemgetter
from typing import Any, Final, NamedTuple

import apsw

from hardwon.store.types import Session, Stored

DUE, IN_STEP, GOING, PAST = range(4)
NOTHING_THERE: Final = -(2**63)

_STORED: Final = "r.id, r.kind, r.at_us, r.body, r.digest, r.validation"
_FILE: Final = "f.folder, f.name, f.seq, f.state, f.mtime_ns, f.size, f.digest"
_LIVE: Final = f"f.state IN ({DUE}, {IN_STEP})"
_BY_FOLDER: Final = "tree_folder d CROSS JOIN tree_file f ON f.folder = d.id"
_SAME: Final = "folder = ? AND name = ? AND seq = ? AND digest = ?"
_THAT_FILE_AGAIN: Final = "ON CONFLICT DO UPDATE SET state = excluded.state, mtime_ns = excluded.mtime_ns, size = excluded.size"
_FIND: Final = (
    f"SELECT {_FILE}, '', f.at_us FROM json_each(:folders) j CROSS JOIN tree_file f ON "
    f"f.folder = j.value WHERE {_LIVE}"
)
_FIND_BY_KEYS: Final = (
    f"SELECT {_FILE}, '', f.at_us FROM (SELECT seq FROM record_key WHERE project_id = :project AND "
    "key IN (SELECT value FROM json_each(:keys)) GROUP BY seq HAVING count(*) = :count) k "
    "CROSS JOIN tree_file f ON f.seq = k.seq "
    f"WHERE f.folder IN (SELECT value FROM json_each(:folders)) AND {_LIVE}"
)
_BY_TIME: Final = itemgetter(8, 2)  # its record's time, then when it came in


class File(NamedTuple):
    """One file as it is known, with the id and the time of the record it mirrors, where they were
    asked for: a forgotten record has no id.
    """

    folder: int
    name: str
    seq: int
    state: int
    mtime_ns: int
    size: int
    digest: bytes
    record_id: str = ""
    at_us: int = 0

    @property
    def key(self) -> tuple[int, bytes]:
        """The record, and what the file says."""
        return self.seq, self.digest


class Seen(NamedTuple):
    """What tells whether a file was touched."""

    mtime_ns: int
    size: int


class FileContent(NamedTuple):
    """A file and what it says: as it was read, or is to be written for a record that is kept.
    `seen`: how it looks, where it is there.
    """

    folder: str
    name: str
    data: bytes
    record_id: str = ""
    seen: Seen = Seen(NOTHING_THERE, 0)

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.name}"

    @property
    def digest(self) -> bytes:
        return digest_of_file(self.data)


def digest_of_file(data: bytes) -> bytes:
    """What tells whether a file says the same."""
    return blake2b(data, digest_size=16).digest()


class Tree(NamedTuple):
    """The tree's own id, the schema it is routed by as JSON (empty: the standard one), and the
    machine's start in which files were written that may not be on disk; empty where all of them are.
    """

    id: str
    routes: str
    boot: str


class TreeIndex:
    """The rows of one project's tree, on a session that somebody else lends and whose transaction
    somebody else owns.
    """

    def __init__(self, session: Session, project: str) -> None:
        connection: apsw.Connection = session.connection  # only a local file has a tree beside it
        self._run = connection.execute
        self._run_many = connection.executemany
        self._project = project

    def tree(self) -> Tree:
        """The tree that the project has."""
        sql = "SELECT id, routes, boot FROM tree WHERE project_id = ?"
        return Tree(*self._run(sql, (self._project,)).get)

    def plant_tree(self, tree: Tree) -> None:
        """From now on the project has a tree. One that it had already stays as it is."""
        sql = "INSERT INTO tree VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
        self._run(sql, (self._project, *tree))

    def set_boot(self, boot: str) -> None:
        self._run("UPDATE tree SET boot = ? WHERE project_id = ?", (boot, self._project))

    def other_project(self) -> str | None:
        """Another project of the same file that has a tree: two cannot share one folder."""
        sql = "SELECT project_id FROM tree WHERE project_id <> ? LIMIT 1"
        other: str | None = self._run(sql, (self._project,)).get
        return other

    def folders(self) -> dict[int, str]:
        """The paths of all folders by their numbers. The root's path is empty."""
        sql = "SELECT id, path FROM tree_folder WHERE project_id = ?"
        rows: list[Any] = self._run(sql, (self._project,)).fetchall()
        return dict(rows)

    def counts(self) -> list[tuple[str, int, int]]:
        """Path, number of files and their bytes, of every folder that holds any."""
        sql = (
            f"SELECT d.path, count(*), sum(f.size) FROM {_BY_FOLDER} "
            f"WHERE d.project_id = ? AND {_LIVE} GROUP BY d.id"
        )
        return [(path, files, size) for path, files, size in self._run(sql, (self._project,))]

    def folder_id(self, path: str) -> int:
        """The folder's number; one that is new gets one."""
        row, known = (self._project, path), "WHERE project_id = ? AND path = ?"
        number: int | None = self._run(f"SELECT id FROM tree_folder {known}", row).get
        if number is None:
            new = "INSERT INTO tree_folder (project_id, path) VALUES (?, ?) RETURNING id"
            number = self._run(new, row).get
        return number

    def list_looks(self, folder: int) -> tuple[dict[str, tuple[int, int]], set[str]]:
        """Time and size of a folder's files that are there, as far as is known, by their names; and
        the names of those on their way in or out: another process is at it, or died over it.
        """
        sql = f"SELECT name, state, mtime_ns, size FROM tree_file WHERE folder = ? AND state <> {PAST}"
        rows: list[Any] = self._run(sql, (folder,)).fetchall()
        there = {name: (at, size) for name, state, at, size in rows if state == IN_STEP}
        return there, {name for name, state, _, _ in rows if state != IN_STEP}

    def at(self, folder: str, name: str) -> list[File]:
        """All that is known of one path, past files included."""
        sql = (
            f"SELECT {_FILE}, coalesce(r.id, '') FROM {_BY_FOLDER} LEFT JOIN record r ON "
            "r.seq = f.seq WHERE d.project_id = ? AND d.path = ? AND f.name = ?"
        )
        return [File(*row) for row in self._run(sql, (self._project, folder, name))]

    def has_file(self, record_id: str) -> bool:
        """Whether a file mirrors a record now."""
        return any(file.state in (DUE, IN_STEP) for _, file in self.find_files([record_id]))

    def find_files(self, record_ids: Iterable[str]) -> list[tuple[str, File]]:
        """Every file, past ones included, that mirrors or mirrored these records, with its folder's
        path.
        """
        rows = self._run(
            f"SELECT d.path, {_FILE}, r.id FROM json_each(?2) j CROSS JOIN record r ON "
            f"r.project_id = ?1 AND r.id = j.value "
            # every state, because the index of records begins with it
            f"CROSS JOIN tree_file f ON f.seq = r.seq AND f.state IN ({DUE}, {IN_STEP}, {GOING}, "
            f"{PAST}) CROSS JOIN tree_folder d ON d.id = f.folder",
            (self._project, json.dumps(list(record_ids))),
        )
        return [(row[0], File(*row[1:])) for row in rows]

    def earlier_versions(self, record_ids: Sequence[str]) -> list[str]:
        """Records that files said before somebody edited or moved them, and these records took
        their place.
        """
        sql = (
            "WITH RECURSIVE edit AS MATERIALIZED (SELECT record_id AS old, body ->> "
            "'$.replaced_by' AS new FROM event "
            "WHERE project_id = ?1 AND kind = 'superseded' AND body ->> '$.by' = 'tree'), "
            "version (id) AS (SELECT value FROM json_each(?2) UNION SELECT e.old FROM version v "
            "JOIN edit e ON e.new = v.id) "
            "SELECT v.id FROM version v JOIN record r ON r.project_id = ?1 AND r.id = v.id "
            "WHERE v.id NOT IN (SELECT value FROM json_each(?2))"
        )
        rows = self._run(sql, (self._project, json.dumps(record_ids)))
        return [record_id for (record_id,) in rows]

    def find_bare(self, limit: int) -> list[Stored]:
        """Experiences that no file mirrors: from before there was a tree, or back from the
        archive.
        """
        sql = (
            f"SELECT {_STORED} FROM record r WHERE r.project_id = ? AND r.kind = 'experience' AND "
            f"r.status <> 'archived' "
            f"AND NOT EXISTS (SELECT 1 FROM tree_file f WHERE f.seq = r.seq "
            f"AND f.state IN ({DUE}, {IN_STEP}, {GOING})) LIMIT ?"
        )
        return [Stored(*row) for row in self._run(sql, (self._project, limit))]

    def plant(self, files: Sequence[FileContent]) -> None:
        """Adds files to the tree, due where they are not written yet. One that mirrored the record
        before, and said the same, is that file again.
        """
        ids = {path: self.folder_id(path) for path in {file.folder for file in files}}
        for file in files:
            self._add(
                ids[file.folder], file, "id = ?6 AND project_id = ?7", file.record_id, self._project
            )

    def _add(self, folder: int, file: FileContent, of_record: str, *values: object) -> None:
        """The file of the record that the condition names."""
        sql = (
            "INSERT INTO tree_file (folder, name, seq, state, mtime_ns, size, digest, at_us) "
            f"SELECT ?1, ?2, seq, iif(?3 = {NOTHING_THERE}, {DUE}, {IN_STEP}), ?3, ?4, ?5, at_us "
            f"FROM record WHERE {of_record} {_THAT_FILE_AGAIN}"
        )
        about = (folder, file.name, file.seen.mtime_ns, len(file.data), file.digest)
        self._run(sql, (*about, *values))

    def move(self, file: File, to: FileContent) -> None:
        """The record's file is this one, looks and says so; another one, and what it said before,
        are past.
        """
        self.make_past(file)
        self._add(self.folder_id(to.folder), to, "seq = ?6", file.seq)

    def make_past(self, file: File) -> None:
        self._run(f"UPDATE tree_file SET state = {PAST} WHERE {_SAME}", (*file[:3], file.digest))

    def make_due(self, file: File) -> None:
        """It is to be written anew."""
        self._run(f"UPDATE tree_file SET state = {DUE} WHERE {_SAME}", (*file[:3], file.digest))

    def due(self, limit: int) -> list[tuple[str, File, Stored | None]]:
        """Files that are to be removed (without a record) or to be written (with it), each with its
        folder's path; those to be removed first.
        """
        sql = (
            f"SELECT d.path, {_FILE}, {_STORED} FROM tree_file f INDEXED BY tree_file_by_state "
            "CROSS JOIN tree_folder d ON d.id = f.folder LEFT JOIN record r ON r.seq = f.seq "
            f"WHERE f.state IN ({DUE}, {GOING}) AND d.project_id = ? ORDER BY f.state = {DUE} LIMIT ?"
        )
        due = []
        for row in self._run(sql, (self._project, limit)):
            file = File._make((*row[1:8], row[8] or "", 0))
            is_written = file.record_id and file.state == DUE
            due.append((row[0], file, Stored(*row[8:]) if is_written else None))
        return due

    def note_removal(self, files: Sequence[File]) -> None:
        """Files that were going and are gone for sure."""
        keys = [(*file[:3], file.digest) for file in files]
        self._run_many(f"DELETE FROM tree_file WHERE {_SAME} AND state = {GOING} AND seq < 0", keys)
        sql = f"UPDATE tree_file SET state = {PAST} WHERE {_SAME} AND state = {GOING}"
        self._run_many(sql, keys)

    def written_files(self) -> list[tuple[str, File]]:
        """All files that are in step, each with its folder's path."""
        of_project = f"WHERE d.project_id = ? AND f.state = {IN_STEP}"
        rows = self._run(
            f"SELECT d.path, {_FILE}, '' FROM {_BY_FOLDER} {of_project}", (self._project,)
        )
        return [(row[0], File(*row[1:])) for row in rows]

    def find(self, wanted: Mapping[tuple[str, ...], Sequence[int]]) -> list[File]:
        """Files and the records they mirror, newest first: what has all of the exact keys and is in
        one of the folders that stand beside them.
        """
        rows: list[Any] = []
        for keys, folders in wanted.items():
            values: dict[str, Any] = {"project": self._project, "folders": json.dumps(folders)}
            values |= {"keys": json.dumps(keys), "count": len(set(keys))}
            rows += self._run(_FIND_BY_KEYS if keys else _FIND, values).fetchall()
        rows.sort(key=_BY_TIME, reverse=True)
        return list(map(File._make, rows))

    def records(self, seqs: Sequence[int]) -> list[tuple[int, Stored]]:
        """The records of these row numbers, with the numbers."""
        sql = f"SELECT r.seq, {_STORED} FROM json_each(?) j CROSS JOIN record r ON r.seq = j.value"
        return [(row[0], Stored(*row[1:])) for row in self._run(sql, (json.dumps(seqs),))]

    def keep_forgotten(self, ids: Iterable[str]) -> None:
        sql = "INSERT INTO tree_forgotten VALUES (?, ?) ON CONFLICT DO NOTHING"
        self._run_many(sql, [(self._project, record_id) for record_id in ids])
