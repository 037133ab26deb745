"""Vectors in SQLite: one blob per record, found through three sieves, each finer and dearer than the
one before.

A code stands for each vector: on which side of some hundred planes it lies, one bit each. The planes
are random but always the same, so that codes tell as much of vectors whose numbers are all positive,
or few, as of others. All codes of a project are kept in memory once they were asked for, and after
that only new ones are read.

1. Every code against the question's code. The share of bits that differ is the angle between the
   vectors, with an error that is known.
2. The bits of those that may be near enough against the numbers of the question, which tells the
   cosine, with half the error.
3. The vectors of those that may be near enough still, read from the file: exactly. What is gone from
   the file is never found, whatever a process still keeps in memory.

What may be near enough follows from the first few that are compared exactly: few are read where the
nearest stand out, as they do for real texts, and many where everything is about equally near.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from hashlib import shake_256
from itertools import islice
from typing import Any, Final, NamedTuple

import apsw

from hardwon import limits
from hardwon.errors import DamagedError
from hardwon.first_use import Later
from hardwon.store.types import Session

np: Any = Later("numpy")
COSINE_MIN: Final = 0.05  # less than that has nothing to do with the question

_NUMBER_BYTES: Final = 4
_WORD_BYTES: Final = 8  # codes are compared in words of 64 bits
_BLOCK_ROWS: Final = 65_536  # codes compared at once: what that takes fits into a processor's cache
_CODED_ROWS: Final = 1_000  # vectors whose codes are made at once, likewise
_DEVIATIONS: Final = 2.0  # of the errors that are made up for: 97 of 100 are smaller
# The mean size of a normal number: what a bit, which has none, stands for.
_SCALE: Final = math.sqrt(2 / math.pi)
_SPARE: Final = 5  # and half of what is wanted, in case some do not pass the filters
_TURNS: Final = 2  # after one, vectors of few numbers still lie in few directions


class Block(NamedTuple):
    """Row numbers, and codes as words: one row for each word, one column for each code."""

    seqs: Any
    words: Any

    def at(self, places: Any) -> Block:
        return Block(self.seqs[places], self.words[:, places])


class _Kept(NamedTuple):
    """What is kept in memory. Never changed, only replaced: threads read it without a lock, which a
    fork could leave behind locked.
    """

    generation: int
    last: int  # the number of the last code in the blocks
    blocks: tuple[Block, ...]


class Codes:
    """The codes of one project's vectors, as of the last look. Beyond `VECTOR_CODES_KEPT_BYTES` they
    are not kept, but read again for each question.
    """

    def __init__(self, project: str, dimension: int) -> None:
        self._project = project
        self._dimension = dimension
        self._kept = _Kept(-1, 0, ())

    @property
    def kept_bytes(self) -> int:
        return _bytes_of(self._kept)

    def nearest(
        self,
        connection: apsw.Connection,
        vector: Sequence[float],
        limit: int,
        among: Sequence[int] | None = None,
    ) -> list[tuple[int, float]]:
        """Row numbers and cosines of the nearest, best first: as many as are wanted, and some more.
        `among`: of these alone. The connection is in a transaction: everything is of one moment.
        """
        asked = np.asarray(vector, dtype=np.float32)
        blocks, apart, turned = self._sifted(connection, asked, among)
        if not len(apart) or not asked.any():
            return []
        bits = len(turned)
        within = np.cumsum(
            np.bincount(apart, minlength=bits + 1)
        )  # how many differ in so many bits
        border, last = (
            int(np.searchsorted(within, min(count, len(apart))))
            for count in (limits.VECTOR_CODES_SIFTED_MIN, limits.VECTOR_CODES_SIFTED_MAX)
        )
        seqs, cosines = _estimated(blocks, np.flatnonzero(apart <= border), turned)
        wanted = limit + limit // 2 + _SPARE
        first = np.argsort(-cosines)[: max(limits.VECTORS_COMPARED_MIN, 2 * wanted)]
        found = self._compared(connection, seqs[first], asked)
        # The least of those that would be given: what may be nearer than that is looked at too.
        least = min(1.0, max(-1.0, sorted(found.values())[-min(wanted, len(found))]))
        angle = math.acos(least) / math.pi
        error = _DEVIATIONS * math.sqrt(bits * angle * (1 - angle))
        more = (apart > border) & (apart <= min(last, bits * angle + error))
        if more.any():
            others, theirs = _estimated(blocks, np.flatnonzero(more), turned)
            seqs, cosines = np.concatenate([seqs, others]), np.concatenate([cosines, theirs])
        # Smaller where the bits are all there is, and not a sample of them.
        spread = math.pi / 2 - bits / _size_of(self._dimension)
        error = _DEVIATIONS * math.sqrt(spread * (1 - least * least) / bits)
        rest = np.flatnonzero((cosines >= least - error) & ~np.isin(seqs, list(found)))
        rest = rest[np.argsort(-cosines[rest])[: limits.VECTORS_COMPARED_MAX]]
        found |= self._compared(connection, seqs[rest], asked)
        return sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))

    def _sifted(
        self, connection: apsw.Connection, asked: Any, among: Sequence[int] | None
    ) -> tuple[list[Block], Any, Any]:
        """Codes; in how many bits each differs from the question's; the numbers of the question that
        bits are compared with.
        """
        turned = _turned(asked[None, :])[0]
        code = np.packbits(turned >= 0).view(np.uint64)
        inside = None if among is None else np.asarray(among, dtype=np.int64)
        blocks: list[Block] = []
        apart = [np.zeros(0, dtype=np.uint16)]

        def sift(block: Block, most: int | None = None) -> None:
            if inside is not None:
                block = block.at(np.flatnonzero(np.isin(block.seqs, inside)))
            bits = _bits_apart(block.words, code)
            if most and len(bits) > most:
                best = np.sort(np.argpartition(bits, most - 1)[:most])
                block, bits = block.at(best), bits[best]
            blocks.append(block)
            apart.append(bits)

        kept = self._kept = self._current(connection)  # one assignment: other threads read it too
        for block in kept.blocks:
            sift(block)
        for _, block in self._read(connection, kept.last):  # what there is no room for
            sift(block, limits.VECTOR_CODES_SIFTED_MIN)
        return blocks, np.concatenate(apart), turned

    def _compared(self, connection: apsw.Connection, seqs: Any, asked: Any) -> dict[int, float]:
        """Exact cosines by row numbers, as far as they are in the file."""
        sql = "SELECT seq, vector FROM record_vector WHERE seq IN (SELECT value FROM json_each(?))"
        wanted = f"[{','.join(map(str, np.sort(seqs).tolist()))}]"
        rows: list[Any] = connection.execute(sql, (wanted,)).fetchall()
        if any(len(blob) != _NUMBER_BYTES * self._dimension for _, blob in rows):
            raise _misfit()
        joined = b"".join([blob for _, blob in rows])
        matrix = np.frombuffer(joined, dtype="<f4").reshape(len(rows), self._dimension)
        return dict(zip([seq for seq, _ in rows], cosines_of(matrix, asked).tolist(), strict=True))

    def _current(self, connection: apsw.Connection) -> _Kept:
        """What is in the file, as far as there is room for it. Codes that were only added are read
        on; where any went, all are read anew.
        """
        sql = "SELECT value FROM state WHERE project_id = ? AND name = ?"
        generation = connection.execute(sql, (self._project, _GENERATION)).get or 0
        kept = self._kept
        if kept.generation != generation:
            kept = _Kept(generation, 0, ())
        for last, block in self._read(connection, kept.last):
            if _bytes_of(kept) + block.seqs.nbytes + block.words.nbytes > limits.VECTOR_CODES_BYTES:
                break
            *others, newest = kept.blocks or (None,)
            if newest and len(newest.seqs) + len(block.seqs) <= _BLOCK_ROWS:
                blocks = (*others, _joined([newest, block]))
            else:
                blocks = (*kept.blocks, block)
            kept = _Kept(generation, last, blocks)
        return kept

    def _read(self, connection: apsw.Connection, last: int) -> Iterator[tuple[int, Block]]:
        """The codes after a number, with the number of the last in each block."""
        sql = (
            "SELECT number, seq, code FROM record_vector WHERE project_id = ? AND number > ? "
            f"ORDER BY number LIMIT {_BLOCK_ROWS}"
        )
        size = _bits_of(self._dimension) // 8
        while True:
            rows: list[Any] = connection.execute(sql, (self._project, last)).fetchall()
            if not rows:
                return
            last = rows[-1][0]
            if any(len(code) != size for _, _, code in rows):
                raise _misfit()
            words = np.frombuffer(b"".join([code for _, _, code in rows]), dtype=np.uint64)
            yield (
                last,
                Block(
                    np.array([seq for _, seq, _ in rows], dtype=np.int64),
                    np.ascontiguousarray(words.reshape(len(rows), size // _WORD_BYTES).T),
                ),
            )


def _bytes_of(kept: _Kept) -> int:
    return sum(block.seqs.nbytes + block.words.nbytes for block in kept.blocks)


def _joined(blocks: Sequence[Block]) -> Block:
    return Block(
        np.concatenate([block.seqs for block in blocks]),
        np.concatenate([block.words for block in blocks], axis=1),
    )


def _bits_apart(words: Any, code: Any) -> Any:
    """In how many bits each code differs from this one."""
    apart = np.zeros(words.shape[1], dtype=np.uint16)
    # Made once: to get new memory for each word takes as long as to count.
    different, counted = np.empty_like(words[0]), np.empty(len(apart), dtype=np.uint8)
    for mine, its in zip(words, code, strict=True):
        np.bitwise_xor(mine, its, out=different)
        np.bitwise_count(different, out=counted)
        apart += counted
    return apart


def _estimated(blocks: Sequence[Block], places: Any, turned: Any) -> tuple[Any, Any]:
    """Row numbers of the codes at these places, counted through all blocks, and what their bits tell
    of the cosines. Of too many that are equally near, the newest.
    """
    places = places[-limits.VECTOR_CODES_SIFTED_MAX :]
    ends = np.cumsum([len(block.seqs) for block in blocks])
    parts = np.split(places, np.searchsorted(places, ends[:-1]))
    seqs, words = _joined(
        [
            block.at(part - (end - len(block.seqs)))
            for block, part, end in zip(blocks, parts, ends, strict=True)
        ]
    )
    bits = np.unpackbits(np.ascontiguousarray(words.T).view(np.uint8), axis=1)
    # each bit stands for 1 or -1
    sums = 2 * cosines_of(bits.astype(np.float32), turned) - turned.sum()
    return seqs, sums / (_SCALE * math.sqrt(len(turned)) * np.linalg.norm(turned))


def cosines_of(matrix: Any, vector: Sequence[float]) -> Any:
    """Of every row with the vector, all of length 1."""
    # Not `@`: that shares the work among threads, and on a busy machine waits for them fifty times
    # as long as this takes.
    return np.einsum("ij,j->i", matrix, np.asarray(vector, dtype=np.float32))


def _misfit() -> DamagedError:
    return DamagedError(
        "a vector is not as long as those of its embedder: run doctor, and reembed to make them "
        "anew"
    )


# --- codes ---


def _bits_of(dimension: int) -> int:
    """A vector of few numbers gets more bits than it has numbers: or else too many are alike."""
    return (
        limits.VECTOR_CODE_BITS
        if dimension <= limits.VECTOR_CODE_BITS
        else 2 * limits.VECTOR_CODE_BITS
    )


def _size_of(dimension: int) -> int:
    """Numbers of a vector that is turned: a power of two."""
    return max(_bits_of(dimension), 1 << (dimension - 1).bit_length())


@cache
def _signs(size: int) -> Any:
    """Random, and the same for ever: codes are kept in files."""
    drawn = np.frombuffer(shake_256(b"hardwon").digest(_TURNS * size // 8), dtype=np.uint8)
    return np.unpackbits(drawn).reshape(_TURNS, size).astype(np.float32) * 2 - 1


def _turned(vectors: Any) -> Any:
    """Rows of as many numbers as a code has bits: the vectors in a space that is turned at random,
    by Hadamard's transform (which needs no matrix) of numbers whose signs are shuffled.
    """
    count, dimension = vectors.shape
    size = _size_of(dimension)
    turned = np.zeros((size, count), dtype=np.float32)
    turned[:dimension] = vectors.T
    for signs in _signs(size):
        turned *= signs[:, None]
        width = 1
        while width < size:
            pairs = turned.reshape(-1, 2, width, count)
            total = pairs[:, 0] + pairs[:, 1]
            np.subtract(pairs[:, 0], pairs[:, 1], out=pairs[:, 1])
            pairs[:, 0] = total
            width *= 2
    return turned[: _bits_of(dimension)].T


def _codes_of(blobs: Sequence[bytes]) -> list[bytes]:
    rows = np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(blobs), -1)
    return [code.tobytes() for code in np.packbits(_turned(rows) >= 0, axis=1)]


# --- what is kept in the file ---

_GENERATION: Final = "generation of vectors"


def next_generation(session: Session, project: str) -> None:
    """Whoever keeps codes in memory must read them anew."""
    session.run(
        "INSERT INTO state VALUES (?1, ?2, 1) ON CONFLICT DO UPDATE SET value = value + 1",
        (project, _GENERATION),
    )


def keep(session: Session, project: str, vectors: Iterable[tuple[str, bytes]]) -> None:
    """Keeps the vectors of records that are there, and have none yet or another one. Each gets a
    number of its own, so that whoever keeps codes in memory finds what is new, however old the
    record is.
    """
    given = iter(vectors)
    while some := list(islice(given, _CODED_ROWS)):
        others = [
            session.run(
                "DELETE FROM record_vector WHERE seq = (SELECT seq FROM record WHERE "
                "project_id = ?1 AND id = ?2) AND vector <> ?3",
                (project, record_id, blob),
            )
            for record_id, blob in some
        ]
        if any(others):
            next_generation(session, project)
        session.run_many(
            "INSERT INTO record_vector (seq, project_id, vector, number, code) "
            f"SELECT seq, project_id, ?3, {_NEXT_NUMBER}, ?4 FROM record "
            "WHERE project_id = ?1 AND id = ?2 ON CONFLICT (seq) DO NOTHING",
            [
                (project, record_id, blob, code)
                for (record_id, blob), code in zip(
                    some, _codes_of([b for _, b in some]), strict=True
                )
            ],
        )


_NEXT_NUMBER: Final = (
    "(SELECT coalesce(max(number), 0) + 1 FROM record_vector WHERE project_id = ?1)"
)
_WITHOUT_CODE: Final = "FROM record_vector WHERE project_id = ?1 AND number IS NULL LIMIT ?2"


def lacks_codes(session: Session, project: str) -> bool:
    """Whether there are vectors that a version before 0.12 kept."""
    return session.first(f"SELECT 1 {_WITHOUT_CODE}", (project, 1)) is not None


def add_codes(session: Session, project: str) -> None:
    """To some of the vectors that have none."""
    rows = session.select(f"SELECT seq, vector {_WITHOUT_CODE}", (project, _CODED_ROWS))
    session.run_many(
        f"UPDATE record_vector SET number = {_NEXT_NUMBER}, code = ?3 WHERE seq = ?2",
        [
            (project, seq, code)
            for (seq, _), code in zip(rows, _codes_of([blob for _, blob in rows]), strict=True)
        ],
    )
