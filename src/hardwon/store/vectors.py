"""Vectors in SQLite: one blob per record, compared exactly. All of a project's are kept in memory once they were asked for, and
only new ones are read after that: a hundred thousand of 256 numbers take 100 MB and ten milliseconds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import apsw

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray


class Vectors:
    """The vectors of one project, as of the last look."""

    def __init__(self, project: str, dimension: int) -> None:
        self._project = project
        self._dimension = dimension
        self._seqs: list[int] = []
        self._matrix: NDArray[numpy.float32] | None = None

    def nearest(self, connection: apsw.Connection, vector: Sequence[float], limit: int) -> list[tuple[int, float]]:
        """Row numbers and cosines of the nearest, best first. A row may be gone by now: whoever joins it finds out."""
        import numpy as np

        self._catch_up(connection)
        if self._matrix is None or not self._seqs:
            return []
        cosines = self._matrix @ np.asarray(vector, dtype=np.float32)
        count = min(limit, len(self._seqs))
        best = np.argpartition(-cosines, count - 1)[:count]
        ordered = sorted(((float(cosines[place]), self._seqs[place]) for place in best), key=lambda pair: (-pair[0], pair[1]))
        return [(seq, cosine) for cosine, seq in ordered]

    def _catch_up(self, connection: apsw.Connection) -> None:
        import numpy as np

        last = self._seqs[-1] if self._seqs else 0
        sql = "SELECT seq, vector FROM record_vector WHERE project_id = ? AND seq > ? ORDER BY seq"
        fresh: list[Any] = connection.execute(sql, (self._project, last)).fetchall()
        if fresh:
            rows = np.frombuffer(b"".join(blob for _, blob in fresh), dtype="<f4").reshape(len(fresh), self._dimension)
            self._seqs += [seq for seq, _ in fresh]
            self._matrix = rows if self._matrix is None else np.concatenate([self._matrix, rows])


def keep(connection: apsw.Connection, project: str, vectors: Iterable[tuple[str, bytes]]) -> None:
    """Keeps the vectors of records that are there, and have none yet or another one."""
    connection.executemany(
        "INSERT INTO record_vector (seq, project_id, vector) SELECT seq, project_id, ?3 FROM record "
        "WHERE project_id = ?1 AND id = ?2 ON CONFLICT (seq) DO UPDATE SET vector = excluded.vector",
        [(project, record_id, blob) for record_id, blob in vectors],
    )


def stamp(connection: apsw.Connection, project: str) -> tuple[str, int] | None:
    """The embedder, and the dimension, of the vectors that are kept."""
    found: tuple[str, int] | None = connection.execute(
        "SELECT name, dimension FROM embedder WHERE project_id = ?", (project,)
    ).get
    return found


def set_stamp(connection: apsw.Connection, project: str, name: str, dimension: int) -> None:
    """Vectors of another embedder go: two embedders' vectors must never be compared."""
    if stamp(connection, project) != (name, dimension):
        connection.execute("DELETE FROM record_vector WHERE project_id = ?", (project,))
        connection.execute("INSERT OR REPLACE INTO embedder VALUES (?, ?, ?)", (project, name, dimension))


def without_vector(connection: apsw.Connection, project: str, limit: int) -> list[str]:
    """Ids of records that have no vector yet, the oldest rows first."""
    sql = (
        "SELECT r.id FROM record r LEFT JOIN record_vector v ON v.seq = r.seq WHERE r.project_id = ? AND v.seq IS NULL "
        "AND r.kind <> 'decision' ORDER BY r.seq LIMIT ?"
    )
    return [record_id for (record_id,) in connection.execute(sql, (project, limit))]
