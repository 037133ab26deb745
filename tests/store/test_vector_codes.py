"""The codes by which the nearest vectors are found in a file: near enough to the truth whatever the
vectors are, in step with the file whoever writes, and gone with their vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from hardwon import Fact, Memory, Metadata, MiniLmEmbedder, Source, WordLlamaEmbedder, limits
from hardwon.errors import DamagedError
from hardwon.outside.embedders import CallableEmbedder, Embedder, as_vectors
from hardwon.search.terms import Filters
from hardwon.store.sqlite.file import make_memory
from hardwon.store.sqlite.search import Codes, _codes_of
from processes import Child

ROOT = Path(__file__).resolve().parents[2]
ASKED = 20
TEN = 10


def keep(memory: Memory, vectors: Any, *, authors: tuple[str, ...] = ("ann",)) -> list[str]:
    """Records with these vectors; their ids."""
    ids = memory.add_many(
        [
            Fact(
                content=f"Fact {place}.",
                fact_type="observation",
                metadata=Metadata(source=Source(author=authors[place % len(authors)])),
            )
            for place in range(len(vectors))
        ]
    )
    keep_again(memory, ids, vectors)
    return ids


def keep_again(memory: Memory, ids: list[str], vectors: Any) -> None:
    with memory._project.store.write("default") as writer:
        writer.set_embedder("default", "made up", vectors.shape[1])
        writer.keep_vectors("default", zip(ids, (row.tobytes() for row in vectors), strict=True))


def unit(rows: Any) -> Any:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def nearest(memory: Memory, vector: Any, limit: int = TEN, **filters: str) -> list[str]:
    found = memory._project.store.nearest("default", vector.tolist(), Filters(**filters), limit)
    return [each.id for each, _ in found]


def share_found(found: Callable[[Any], list[int]], vectors: Any, asked: Any) -> float:
    """How many of the ten nearest of each that is asked for are found, by their places; those as near
    as the tenth are as good.
    """
    right = 0
    for vector in asked:
        cosines = vectors @ vector
        least = np.sort(cosines)[-TEN] - 1e-6
        right += sum(cosines[place] >= least for place in found(vector)[:TEN])
    return right / TEN / len(asked)


def in_memory(memory: Memory, ids: list[str]) -> Callable[[Any], list[int]]:
    place_of = {name: place for place, name in enumerate(ids)}
    return lambda vector: [place_of[name] for name in nearest(memory, vector)]


def alone(path: Path, vectors: Any) -> Callable[[Any], list[int]]:
    """Codes and vectors in a file, without records, which take longer to keep."""
    connection = apsw.Connection(str(path))
    make_memory(connection)
    blobs = [row.tobytes() for row in vectors]
    codes = [
        code
        for start in range(0, len(blobs), 500)
        for code in _codes_of(blobs[start : start + 500])
    ]
    with connection:
        connection.executemany(
            "INSERT INTO record_vector VALUES (?1, 'default', ?2, ?1, ?3)",
            [(seq, *each) for seq, each in enumerate(zip(blobs, codes, strict=True))],
        )
    kept = Codes("default", vectors.shape[1])
    return lambda vector: [seq for seq, _ in kept.nearest(connection, vector.tolist(), TEN)]


def codes_of(memory: Memory) -> Codes:
    store: Any = memory._project.store
    codes: Codes = store._codes["default"][1]
    return codes


def kept_seqs(memory: Memory) -> list[int]:
    return [int(seq) for block in codes_of(memory)._kept.blocks for seq in block.seqs]


def paragraphs() -> Iterator[str]:
    """Of this project's own pages."""
    for path in sorted((*ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/*.py"))):
        for block in path.read_text().split("\n\n"):
            text = " ".join(block.split())
            if 40 <= len(text) <= 400:
                yield text


def between(real: Any, count: int) -> Any:
    """Further vectors, each between two real ones."""
    rng = np.random.default_rng(1)
    one, other = (real[rng.integers(len(real), size=count)] for _ in range(2))
    noise = rng.normal(0, 0.3 / real.shape[1] ** 0.5, (count, real.shape[1]))
    share = rng.random((count, 1))
    return np.concatenate([real, unit(share * one + (1 - share) * other + noise)])


# Of few texts, with thousands between them, most are about as near as the tenth.
@pytest.mark.parametrize(
    ("model", "texts", "least"), [(WordLlamaEmbedder, 4_000, 0.99), (MiniLmEmbedder, 60, 0.97)]
)
def test_of_real_embeddings_nearly_all_of_the_ten_nearest_are_found(
    tmp_path: Path, model: type[Embedder], texts: int, least: float
) -> None:
    real = as_vectors(model(), list(dict.fromkeys(islice(paragraphs(), texts))))
    asked, rest = real[:ASKED], between(real[ASKED:], 8_000)
    assert share_found(alone(tmp_path / "m.db", rest), rest, asked) >= least


MADE_UP: dict[str, Callable[[np.random.Generator], Any]] = {
    "all positive, as counted words are": lambda rng: rng.poisson(0.1, (8_000, 300)) + 0.001,
    "three numbers": lambda rng: rng.normal(size=(8_000, 3)),
    "one number": lambda rng: rng.normal(size=(3_000, 1)),
    "a long way from the middle": lambda rng: rng.normal(size=(8_000, 100)) + 2,
    "one number that counts": lambda rng: (
        rng.normal(size=(8_000, 64)) * np.array([20.0, *([1.0] * 63)])
    ),
    "more numbers than bits": lambda rng: rng.normal(size=(2_000, 700)),
    "most numbers, as much alike as those of texts": lambda rng: (
        rng.normal(size=(300, 40)) @ rng.normal(size=(40, limits.EMBED_DIMENSION_MAX))
    ),
    "all the same": lambda _: np.ones((3_000, 16)),
}


@pytest.mark.parametrize("kind", MADE_UP)
def test_whatever_the_vectors_are(tmp_path: Path, kind: str) -> None:
    rng = np.random.default_rng(3)
    vectors = unit(MADE_UP[kind](rng))
    near = vectors[rng.integers(len(vectors), size=ASKED)]
    asked = unit(near + rng.normal(0, 0.5 / vectors.shape[1] ** 0.5, near.shape))
    assert share_found(alone(tmp_path / "m.db", vectors), vectors, asked) >= 0.99


def test_a_filter_that_few_pass_gives_as_many_as_there_are(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    vectors = np.abs(unit(rng.normal(size=(1_500, 32))))
    authors = ("ann", *(["bob"] * 99))
    with Memory(tmp_path) as memory:
        ids = keep(memory, vectors, authors=authors)
        for vector in vectors[:5]:
            by_ann = np.arange(0, len(vectors), len(authors))
            best = by_ann[np.argsort(-(vectors[by_ann] @ vector), kind="stable")][:TEN]
            assert nearest(memory, vector, author="ann") == [ids[place] for place in best]
        memory.rollback("bob", "not to be trusted", by="me")
        assert set(nearest(memory, vectors[7], 20)) == {ids[place] for place in by_ann}


def test_only_what_is_new_is_read_however_old_its_record_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = unit(np.random.default_rng(5).normal(size=(50, 8)))
    read: list[int] = []
    current = Codes._read

    def counted(codes: Codes, connection: apsw.Connection, last: int) -> Iterator[Any]:
        for end, block in current(codes, connection, last):
            read.append(len(block.seqs))
            yield end, block

    with Memory(tmp_path) as memory, Memory(tmp_path) as other:
        ids = keep(memory, vectors)
        with memory._project.store.write("default") as writer:
            writer.session.run("DELETE FROM record_vector WHERE seq < 4")
        monkeypatch.setattr(Codes, "_read", counted)
        assert nearest(other, vectors[10])[0] == ids[10]
        assert read == [47]
        nearest(other, vectors[11])
        assert read == [47], "nothing is read that is known"
        keep_again(memory, ids[:3], vectors[:3])
        assert nearest(other, vectors[1])[0] == ids[1]
        assert read == [47, 3]
        keep_again(memory, ids, vectors)
        nearest(other, vectors[1])
        assert read == [47, 3], "the same vector again is nothing new"
        keep_again(memory, ids[:1], -vectors[:1])
        assert nearest(other, -vectors[0])[0] == ids[0]
        assert sorted(kept_seqs(other)) == list(range(1, 51))


def test_a_code_goes_with_its_vector(tmp_path: Path) -> None:
    vectors = unit(np.random.default_rng(6).normal(size=(30, 64)))
    with Memory(tmp_path) as memory, Memory(tmp_path) as other:
        ids = keep(memory, vectors)
        for each in (memory, other):
            assert nearest(each, vectors[3])[0] == ids[3]
        sql = "SELECT seq, code FROM record_vector ORDER BY number"
        with closing(apsw.Connection(memory.location)) as connection:
            codes = [(seq, bytes(code)) for seq, code in connection.execute(sql)]
        memory.forget(ids[3])
        for each in (memory, other):
            assert ids[3] not in nearest(each, vectors[3])
            assert codes[3][0] not in kept_seqs(each)
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("memory.db*"))
    assert codes[4][1] in written, "codes are found in the file"
    assert codes[3][1] not in written
    assert vectors[3].tobytes() not in written


def test_there_is_a_bound_to_the_memory_they_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hardwon.store.sqlite.search._BLOCK_ROWS", 100)
    vectors = unit(np.random.default_rng(7).normal(size=(750, 24)))
    with Memory(tmp_path) as memory:
        ids = keep(memory, vectors)
        assert share_found(in_memory(memory, ids), vectors, vectors[:ASKED]) == 1
        assert len(kept_seqs(memory)) == len(vectors)
    monkeypatch.setattr(limits, "VECTOR_CODES_BYTES", 300 * (limits.VECTOR_CODE_BITS // 8 + 8))
    with Memory(tmp_path) as memory:
        assert share_found(in_memory(memory, ids), vectors, vectors[:ASKED]) == 1
        assert len(kept_seqs(memory)) == 300
        more = unit(np.random.default_rng(8).normal(size=(5, 24)))
        added = keep(memory, more)
        assert [nearest(memory, vector)[0] for vector in more] == added
        assert codes_of(memory).kept_bytes <= limits.VECTOR_CODES_BYTES


def test_those_of_other_projects_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = unit(np.random.default_rng(9).normal(size=(40, 8)))
    with Memory(tmp_path) as memory:
        store = memory._project.store
        keep(memory, vectors)
        with store.write("other") as writer:
            writer.set_embedder("other", "made up", 8)
        for project in ("other", "default", "other"):
            store.nearest(project, vectors[0].tolist(), Filters(), 1)
        assert set(store._codes) == {"other", "default"}  # type: ignore[attr-defined]
        monkeypatch.setattr(limits, "VECTOR_CODES_BYTES", 1_000)
        store.nearest("other", vectors[0].tolist(), Filters(), 1)
        assert set(store._codes) == {"other"}  # type: ignore[attr-defined]


def test_vectors_of_an_older_version_get_their_codes(tmp_path: Path) -> None:
    vectors = unit(np.random.default_rng(10).normal(size=(1_200, 16)))
    with Memory(tmp_path) as memory:
        ids = keep(memory, vectors)
        with memory._project.store.write("default") as writer:
            writer.session.run("UPDATE record_vector SET number = NULL, code = NULL")
    with Memory(tmp_path) as memory:
        assert share_found(in_memory(memory, ids), vectors, vectors[:ASKED]) == 1
        assert memory.doctor().ok
        with closing(apsw.Connection(memory.location)) as connection:
            sql = "SELECT count(DISTINCT number), count(code) FROM record_vector"
            assert connection.execute(sql).get == (1_200, 1_200)


def test_a_code_or_vector_that_does_not_fit_is_damage(tmp_path: Path) -> None:
    vectors = unit(np.random.default_rng(11).normal(size=(20, 8)))
    with Memory(tmp_path) as memory:
        keep(memory, vectors)
        for change in ("code = x'00'", "vector = x'00'"):
            with Memory(tmp_path) as other, memory._project.store.write("default") as writer:
                writer.session.run("SAVEPOINT before")
                writer.session.run(f"UPDATE record_vector SET {change} WHERE seq = 5")
                codes = Codes("default", 8)
                with pytest.raises(DamagedError, match="reembed"):
                    codes.nearest(writer.session.connection, vectors[0].tolist(), 20)
                writer.session.run("ROLLBACK TO before")
                assert other.stats().records == 20


def test_several_processes_that_write_at_once(tmp_path: Path) -> None:
    def embed(texts: list[str]) -> Any:
        rows = [np.random.default_rng(abs(hash(text))).normal(size=24) for text in texts]
        return np.array(rows)

    def open_one() -> Memory:
        return Memory(tmp_path, embedder=CallableEmbedder(embed, "by hash", 24))

    def work(tell: Any) -> None:
        with open_one() as mine:
            for number in range(12):
                tell(mine.remember(f"{number} by {id(tell)}", "success", "file_operation").id)
                mine.recall("anything")

    with open_one() as memory:
        children = [Child.start(work) for _ in range(4)]
        kept = [
            memory.remember(f"mine {number}", "success", "file_operation").id
            for number in range(12)
        ]
        assert [child.wait() for child in children] == [0] * 4
        assert memory.care.wait_for_vectors() == 0
        told = [name for child in children for name in child.acknowledged]
        vector = embed(["x"])[0]
        # All of them are compared, and those that point the other way left out.
        found = {*nearest(memory, vector, 60), *nearest(memory, -vector, 60)}
        assert found <= {*kept, *told}
        assert sorted(kept_seqs(memory)) == list(range(1, 61))
        assert memory.doctor().ok
