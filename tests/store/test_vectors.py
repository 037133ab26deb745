"""Meaning beside words: vectors are kept with their records, compared exactly, and never mixed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engines import ENGINES, Places, go_past, wrong_with
from hardwon import Fact, Memory, Metadata, Source
from hardwon.errors import DamagedError, EmbeddingError
from hardwon.outside.embedders import CallableEmbedder
from hardwon.search.terms import Filters

pytestmark = pytest.mark.engines(*ENGINES)

TOPICS = ["dog puppy hound", "car auto vehicle", "bread loaf bun"]


def by_topic(texts: Sequence[str]) -> list[list[float]]:
    """Texts of one topic lie close together, whatever their words."""
    return [
        [float(sum(word in text.lower() for word in topic.split())) + 0.01 for topic in TOPICS]
        for text in texts
    ]


def topics(name: str = "topics") -> CallableEmbedder:
    return CallableEmbedder(by_topic, name, len(TOPICS))


def fill(memory: Memory) -> dict[str, str]:
    texts = ("the puppy barks", "an auto stalls", "a loaf burns")
    ids = {text: memory.remember(text, "success", "file_operation").id for text in texts}
    if memory._project.embedder:
        memory.care.wait_for_vectors()
    return ids


def test_what_means_the_same_is_found_without_a_common_word(place: Places) -> None:
    with Memory(place("brain"), embedder=topics()) as memory:
        ids = fill(memory)
        best = memory.recall("hound", k=1)[0]
        assert best.record.id == ids["the puppy barks"]
        assert best.why["vector"] > 0.2
        assert best.score == pytest.approx(sum(best.why.values()))
        assert memory.recall("vehicle", k=1)[0].record.id == ids["an auto stalls"]
        assert memory.recall("bun", k=1)[0].record.id == ids["a loaf burns"]
        assert not memory.context("bun").lines, "nearness alone is no reason to tell a line"
        assert [hit.record.id for hit in memory.recall("hound", outcome="failure")] == []
        memory.forget(ids["the puppy barks"])
        assert ids["the puppy barks"] not in [hit.record.id for hit in memory.recall("hound")]
        memory.archive(ids["an auto stalls"], "old")
        assert ids["an auto stalls"] not in [hit.record.id for hit in memory.recall("vehicle")]
        assert wrong_with(memory) == []
    with Memory(place("brain")) as memory:
        assert memory.recall("hound") == [], "without an embedder there are only words"


def test_another_embedder_is_refused_until_reembed(place: Places) -> None:
    with Memory(place("brain"), embedder=topics()) as memory:
        fill(memory)
    with Memory(place("brain"), embedder=topics("newer")) as memory:
        with pytest.raises(EmbeddingError, match="reembed"):
            memory.recall("hound")
        with pytest.raises(EmbeddingError, match="reembed"):
            memory.remember("x", "success", "file_operation")
        assert memory.stats().records == 3, "nothing was changed"
        seen: list[tuple[int, int]] = []
        assert memory.reembed(lambda done, total: seen.append((done, total))) == 3
        assert seen[-1] == (3, 3)
        assert memory.recall("hound", k=1)[0].why["vector"] > 0.2
        assert memory.reembed() == 0, "nothing is missing"


@pytest.mark.engines("sqlite")
def test_vectors_belong_to_a_project_and_survive_a_backup(tmp_path: Path, place: Places) -> None:
    with (
        Memory(place("m.db"), "one", embedder=topics()) as one,
        Memory(place("m.db"), "two", embedder=topics()) as two,
    ):
        fill(one)
        assert two.recall("hound") == []
        one.backup(tmp_path / "backup.db")
    with Memory(place("backup.db"), "one", embedder=topics()) as copy:
        assert copy.recall("hound", k=1)[0].why["vector"] > 0.2


def test_bulk_writes_have_vectors_too(place: Places) -> None:
    with Memory(place("a"), embedder=topics()) as memory, Memory(place("b")) as plain:
        fill(plain)
        memory.add_many(list(plain.browse()))
        assert memory.care.wait_for_vectors() == 0
        assert memory.recall("hound", k=1)[0].why["vector"] > 0.2
        plain.remember("the hound returns", "success", "file_operation")
        memory.merge(plain, trust=True)
        assert memory.reembed() == 1, "what came by merge has none yet"


def test_a_row_number_that_is_used_again_is_not_mixed_up(place: Places) -> None:
    with Memory(place("brain"), embedder=topics()) as memory:
        ids = fill(memory)
        assert memory.recall("bun", k=1)[0].record.id == ids["a loaf burns"]
        memory.forget(ids["a loaf burns"])
        hound = memory.remember("a second hound", "success", "file_operation")
        memory.care.wait_for_vectors()
        near = [hit for hit in memory.recall("puppy") if hit.why.get("vector", 0) > 0.2]
        assert {hit.record.id for hit in near} == {ids["the puppy barks"], hound.id}
        assert memory.recall("bun") == []


def test_two_who_reembed_do_not_mix(place: Places) -> None:
    with (
        Memory(place("brain"), embedder=topics()) as memory,
        Memory(place("brain"), embedder=topics("other")) as other,
    ):
        fill(memory)

        def meanwhile(_: int, __: int) -> None:
            other.reembed()

        memory.remember("one more hound", "success", "file_operation")
        memory.care.wait_for_vectors()
        assert other.reembed() == 4
        with pytest.raises(EmbeddingError, match="reembed"):
            memory.remember("too late", "success", "file_operation")
        assert other.recall("hound", k=1)[0].why["vector"] > 0.2
        assert memory.reembed(meanwhile) == 4
        assert wrong_with(other) == []


def test_a_flood_of_the_words_leaves_places_to_what_means_the_same(place: Places) -> None:
    with Memory(place("brain"), embedder=topics()) as memory:
        for author in ("ann", "ben", "cho", "dee"):
            memory.record_fact(f"{author} let the puppy out", "solution", author=author)
        for number in range(25):
            memory.record_fact(f"hound hound: run evil {number}", "solution", author="eve")
        memory.care.wait_for_vectors()
        authors = [hit.author for hit in memory.recall("hound", k=5)]
        assert sorted(authors) == ["ann", "ben", "cho", "dee", "eve"]


def keep(memory: Memory, vectors: Any, authors: Sequence[str] = ("ann",)) -> list[str]:
    """Records with these vectors; their ids."""
    facts = []
    for place in range(len(vectors)):
        metadata = Metadata(source=Source(author=authors[place % len(authors)]))
        facts.append(Fact(content=f"Fact {place}.", fact_type="observation", metadata=metadata))
    ids = memory.add_many(facts)
    with memory._project.store.write("default") as writer:
        writer.set_embedder("default", "made up", vectors.shape[1])
        writer.keep_vectors("default", zip(ids, (row.tobytes() for row in vectors), strict=True))
    return ids


def make_unit(rows: Any) -> Any:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def nearest(memory: Memory, vector: Any, limit: int = 10, author: str | None = None) -> list[str]:
    hits = memory._project.store.nearest("default", vector.tolist(), Filters(author=author), limit)
    return [hit.id for hit, _ in hits]


@pytest.mark.engines("sqlite")
@pytest.mark.parametrize("kept_bytes", [0, 2**26], ids=["read each time", "kept in memory"])
def test_nearest_is_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept_bytes: int) -> None:
    monkeypatch.setattr("hardwon.store.sqlite.engine._VECTORS_KEPT_BYTES", kept_bytes)
    monkeypatch.setattr("hardwon.store.vectors._CHUNK_ROWS", 400)
    vectors = make_unit(np.abs(np.random.default_rng(4).normal(size=(1_500, 32))))
    authors = ("ann", *(["bob"] * 99))
    with Memory(tmp_path) as memory:
        ids = keep(memory, vectors, authors)
        by_ann = np.arange(0, len(vectors), len(authors))
        for vector in vectors[:5]:
            for among, author in ((np.arange(len(vectors)), None), (by_ann, "ann")):
                order = np.argsort(-(vectors[among] @ vector), kind="stable")[:10]
                best = [ids[place] for place in among[order]]
                assert nearest(memory, vector, author=author) == best
        memory.rollback("bob", "not to be trusted", by="me")
        assert set(nearest(memory, vectors[7], 20)) == {ids[place] for place in by_ann}


@pytest.mark.engines("sqlite")
def test_what_others_write_and_forget_is_seen_at_once(tmp_path: Path) -> None:
    vectors = make_unit(np.random.default_rng(6).normal(size=(30, 64)))
    with Memory(tmp_path) as memory, Memory(tmp_path) as other:
        ids = keep(memory, vectors[:20])
        assert nearest(other, vectors[3])[0] == ids[3]
        ids += keep(memory, vectors[20:])
        assert nearest(other, vectors[25])[0] == ids[25]
        memory.forget(ids[3])
        for opened in (memory, other):
            assert ids[3] not in nearest(opened, vectors[3])
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("memory.db*"))
    assert vectors[4].tobytes() in written
    assert vectors[3].tobytes() not in written


@pytest.mark.engines("sqlite")
def test_a_vector_that_does_not_fit_is_damage(tmp_path: Path) -> None:
    vectors = make_unit(np.random.default_rng(11).normal(size=(20, 8)))
    with Memory(tmp_path) as memory:
        keep(memory, vectors)
        go_past(memory, "UPDATE record_vector SET vector = x'00' WHERE seq = 5")
        with pytest.raises(DamagedError, match="reembed"):
            nearest(memory, vectors[0])
        assert "vectors" in [finding.check for finding in wrong_with(memory)]
