"""Vectors in SQLite: one blob per record, compared exactly. All of a project's are kept in memory
once they were asked for, and only new ones are read after that: a hundred thousand of 256 numbers
take 100 MB and ten milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Any, Final

import apsw

from hardwon.errors import DamagedError
from hardwon.store.query import embedder_of
from hardwon.store.types import Session


class Vectors:
    """The vectors of one project, as of the last look."""

    def __init__(self, project: str, dimension: int) -> None:
        self._project = project
        self._dimension = dimension
        self._turn = Lock()
        self._generation = -1
        self._kept: tuple[list[int], Any] = ([], None)

    def nearest(
        self, connection: apsw.Connection, vector: Sequence[float], limit: int | None
    ) -> list[tuple[int, float]]:
        """Row numbers and cosines of the nearest that point the same way at all, best first; None:
        of all of them.
        """
        import numpy as np

        with self._turn:
            seqs, matrix = self._kept = self._current(connection)
        if not seqs:
            return []
        cosines = cosines_of(matrix, vector)
        count = len(seqs) if limit is None else min(limit, len(seqs))
        best = np.argpartition(-cosines, count - 1)[:count]
        pairs = [
            (float(cosines[place]), seqs[place]) for place in best if cosines[place] > COSINE_MIN
        ]
        return [
            (seq, cosine) for cosine, seq in sorted(pairs, key=lambda pair: (-pair[0], pair[1]))
        ]

    def _current(self, connection: apsw.Connection) -> tuple[list[int], Any]:
        """What is kept in the file. Rows that were only added are read on; anything else is read
        anew.
        """
        import numpy as np

        sql = "SELECT count(*), coalesce(max(seq), 0) FROM record_vector WHERE project_id = ?"
        count, last = connection.execute(sql, (self._project,)).get
        generation = _generation(connection, self._project)
        seqs, matrix = self._kept if generation == self._generation else ([], None)
        self._generation = generation
        if count < len(seqs) or (seqs and last < seqs[-1]):
            seqs, matrix = [], None
        if len(seqs) == count:
            return seqs, matrix
        sql = "SELECT seq, vector FROM record_vector WHERE project_id = ? AND seq > ? ORDER BY seq"
        fresh: list[Any] = connection.execute(
            sql, (self._project, seqs[-1] if seqs else 0)
        ).fetchall()
        # one came late, for a record that is older than the last
        if len(seqs) + len(fresh) != count:
            fresh = connection.execute(sql, (self._project, 0)).fetchall()
            seqs, matrix = [], None
        if any(len(blob) != _NUMBER_BYTES * self._dimension for _, blob in fresh):
            raise DamagedError(
                "a vector is not as long as those of its embedder: run doctor, and reembed to make "
                "them anew"
            )
        rows = np.frombuffer(b"".join(blob for _, blob in fresh), dtype="<f4").reshape(
            len(fresh), self._dimension
        )
        return [*seqs, *(seq for seq, _ in fresh)], rows if matrix is None else np.concatenate(
            [matrix, rows]
        )


_NUMBER_BYTES: Final = 4


def cosines_of(matrix: Any, vector: Sequence[float]) -> Any:
    """Of every row with the vector, all of length 1."""
    import numpy as np

    # Not `@`: that shares the work among threads, and on a busy machine waits for them fifty times
    # as long as this takes.
    return np.einsum("ij,j->i", matrix, np.asarray(vector, dtype=np.float32))


COSINE_MIN: Final = 0.05  # less than that has nothing to do with the question

_GENERATION: Final = "generation of vectors"


def _generation(connection: apsw.Connection, project: str) -> int:
    sql = "SELECT value FROM state WHERE project_id = ? AND name = ?"
    value: int | None = connection.execute(sql, (project, _GENERATION)).get
    return value or 0


def _next_generation(session: Session, project: str) -> None:
    """Whoever keeps vectors in memory must read them anew."""
    session.run(
        "INSERT INTO state VALUES (?1, ?2, 1) ON CONFLICT DO UPDATE SET value = value + 1",
        (project, _GENERATION),
    )


def drop(session: Session, project: str, seq: int) -> None:
    """Removes the vector of a record that goes; its row number may be another's next."""
    if session.run("DELETE FROM record_vector WHERE seq = ?1", (seq,)):
        _next_generation(session, project)


def keep(session: Session, project: str, vectors: Iterable[tuple[str, bytes]]) -> None:
    """Keeps the vectors of records that are there, and have none yet or another one."""
    session.run_many(
        "INSERT INTO record_vector (seq, project_id, vector) SELECT seq, project_id, ?3 FROM "
        "record "
        "WHERE project_id = ?1 AND id = ?2 ON CONFLICT (seq) DO UPDATE SET vector = excluded.vector",
        [(project, record_id, blob) for record_id, blob in vectors],
    )


def set_embedder(session: Session, project: str, name: str, dimension: int) -> None:
    """Vectors of another embedder go: two embedders' vectors must never be compared."""
    if embedder_of(session, project) != (name, dimension):
        session.run("DELETE FROM record_vector WHERE project_id = ?1", (project,))
        _next_generation(session, project)
        session.run(
            "INSERT OR REPLACE INTO embedder VALUES (?1, ?2, ?3)", (project, name, dimension)
        )
