"""Vectors are made in the background: nobody waits for them, and none is lost."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from engines import ENGINES, Places, wrong_with
from hardwon import Experience, Memory
from hardwon.errors import InvalidInputError
from hardwon.outside.embedders import EMBED_BATCH_TEXTS, CallableEmbedder
from processes import Child, Tell
from short import run_program

pytestmark = pytest.mark.engines(*ENGINES)

THREAD = "hardwon-embedding"


def lengths(texts: Sequence[str]) -> list[list[float]]:
    return [[1.0, float(len(text))] for text in texts]


class Slow(CallableEmbedder):
    """Embeds when it is let."""

    def __init__(self) -> None:
        super().__init__(self._when_let, "slow", 2)
        self.may = threading.Event()

    def _when_let(self, texts: list[str]) -> list[list[float]]:
        assert self.may.wait(60)
        return lengths(texts)


@pytest.fixture
def slow() -> Iterator[Slow]:
    embedder = Slow()
    yield embedder
    embedder.may.set()


def quick(name: str = "slow") -> CallableEmbedder:
    return CallableEmbedder(lengths, name, 2)


def embedding_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == THREAD]


def remember(memory: Memory, text: str) -> Experience:
    return memory.remember(text, "success", "file_operation")


def test_recording_does_not_wait_and_words_find_it_at_once(place: Places, slow: Slow) -> None:
    with Memory(place("m"), embedder=slow) as memory:
        kept = remember(memory, "the puppy barks")
        facts = memory.record_fact("The server drops idle clients.", "observation")
        assert memory.get(kept.id) == kept
        assert memory.stats().unembedded == 2
        assert "2 records wait for their vectors" in str(memory.doctor())
        assert memory.care.wait_for_vectors(0.05) == 2, "the time is up"
        with Memory(place("m")) as plain:
            assert [hit.record.id for hit in plain.recall("puppy")] == [kept.id]
            assert plain.recall("idle clients")[0].record.id == facts.id
        slow.may.set()
        assert memory.recall("puppy")[0].record.id == kept.id
        assert memory.care.wait_for_vectors() == 0
        assert memory.stats().unembedded == 0
        assert "wait for their vectors" not in str(memory.doctor())
        assert memory.recall("puppy")[0].why["vector"] > 0
        assert memory.reembed() == 0
        assert wrong_with(memory) == []


def test_closing_waits_a_while(place: Places, slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardwon.memory.embedding.EMBED_CLOSE_WAIT_S", 0.2)
    memory = Memory(place("m"), embedder=slow)
    for number in range(3):
        remember(memory, f"number {number}")
    begun = time.monotonic()
    memory.close()
    assert time.monotonic() - begun < 60
    slow.may.set()
    with Memory(place("m")) as plain:
        assert plain.stats().unembedded == 3
        assert plain.stats().records == 3
    with Memory(place("m"), embedder=quick()) as memory:
        remember(memory, "one more")
        assert memory.care.wait_for_vectors() == 0
        assert len(memory.recall("something else", k=10)) == 4
    with Memory(place("m"), embedder=quick()) as memory:
        remember(memory, "the last")  # closing waits for it
    with Memory(place("m")) as plain:
        assert plain.stats().unembedded == 0


@pytest.mark.engines("sqlite")
def test_a_process_that_ends_without_closing_leaves_none_behind(tmp_path: Path) -> None:
    program = f"""
import sys, time
from hardwon import Memory
from hardwon.outside.embedders import CallableEmbedder
def embed(texts):
    time.sleep(0.3)
    return [[1.0, 2.0] for _ in texts]
memory = Memory(sys.argv[1], embedder=CallableEmbedder(embed, "slow", 2))
for number in range({EMBED_BATCH_TEXTS + 3}):
    memory.remember(f"number {{number}}", "success", "file_operation")
"""
    run_program(sys.executable, "-c", program, tmp_path / "m")
    with Memory(tmp_path / "m") as plain:
        assert plain.stats().records == EMBED_BATCH_TEXTS + 3
        assert plain.stats().unembedded == 0
    assert not list(tmp_path.rglob("*-wal"))


@pytest.mark.engines("sqlite")
def test_without_an_embedder_there_is_no_thread_and_nothing_of_it_is_loaded(tmp_path: Path) -> None:
    program = """
import sys, threading
import hardwon
from hardwon import Memory
with Memory(sys.argv[1]) as memory:
    memory.remember("a text", "success", "file_operation")
    memory.recall("text")
    memory.stats()
    assert threading.active_count() == 1, threading.enumerate()
loaded = {"numpy", "hardwon.memory.embedding", "hardwon.outside.embedders"} & sys.modules.keys()
assert not loaded, loaded
"""
    run_program(sys.executable, "-c", program, tmp_path / "m")


def test_the_thread_ends_with_its_work(place: Places) -> None:
    with Memory(place("m"), embedder=quick()) as memory:
        assert embedding_threads() == []
        for number in range(40):
            remember(memory, f"number {number}")
        assert len(embedding_threads()) <= 1
        twice = remember(memory, "recorded, and found in the store at the same time")
        memory._project.embed([twice, twice])
        assert memory.care.wait_for_vectors() == 0
        assert memory.care.wait_for_vectors() == 0
        deadline = time.monotonic() + 60
        while embedding_threads() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert embedding_threads() == []
    with Memory(place("m")) as plain, pytest.raises(InvalidInputError, match="embedder"):
        plain.care.wait_for_vectors()


def test_more_than_can_wait_in_memory(place: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardwon.memory.embedding.EMBED_WAITING_MAX", 20)
    with Memory(place("m"), embedder=quick()) as memory, Memory(place("other")) as other:
        remember(memory, "the first")
        for number in range(95):
            remember(other, f"number {number}")
        memory.add_many(list(other.browse()))
        assert memory.care.wait_for_vectors() == 0
        assert memory.stats().records == 96


def test_a_refused_text_hinders_no_other(place: Places, caplog: pytest.LogCaptureFixture) -> None:
    def picky(texts: Sequence[str]) -> list[list[float]]:
        if any("poison" in text for text in texts):
            raise ValueError("I do not like that")
        return lengths(texts)

    with (
        Memory(place("m"), embedder=CallableEmbedder(picky, "picky", 2)) as memory,
        Memory(place("other")) as other,
        caplog.at_level(logging.WARNING),
    ):
        for text in ("one", "poison", "two", "three"):
            remember(other, text)
        memory.add_many(list(other.browse()))
        assert memory.care.wait_for_vectors() == 1
        remember(memory, "four")
        assert memory.care.wait_for_vectors() == 1
        assert "I do not like that" in caplog.text
    with Memory(place("m")) as plain:
        assert "poison" in plain.recall("poison")[0].record.to_json()


def test_an_embedder_that_is_down_is_asked_again_when_it_is_up(place: Places) -> None:
    down = True

    def sometimes(texts: Sequence[str]) -> list[list[float]]:
        if down:
            raise ConnectionError("down")
        return lengths(texts)

    with Memory(place("m"), embedder=CallableEmbedder(sometimes, "shaky", 2)) as memory:
        for number in range(5):
            remember(memory, f"number {number}")
        memory.care.wait_for_vectors()
        assert memory.stats().records == 5
        down = False
        remember(memory, "it is up")
        assert memory.care.wait_for_vectors() == 0
        assert len(memory.recall("whatever", k=10)) == 6


def test_what_is_forgotten_before_its_turn_gets_none(place: Places, slow: Slow) -> None:
    with Memory(place("m"), embedder=slow) as memory:
        gone = remember(memory, "the secret of the puppy")
        kept = remember(memory, "the loaf burns")
        memory.forget(gone.id)
        slow.may.set()
        assert memory.care.wait_for_vectors() == 0
        assert [hit.record.id for hit in memory.recall("whatever")] == [kept.id]
        assert wrong_with(memory) == []


def test_both_sides_of_a_fork_embed(place: Places) -> None:
    def busy(texts: Sequence[str]) -> list[list[float]]:
        time.sleep(0.005)
        return lengths(texts)

    with Memory(place("m"), embedder=CallableEmbedder(busy, "busy", 2)) as memory:
        remember(memory, "before")

        def work(tell: Tell) -> None:
            for number in range(5):
                tell(remember(memory, f"child {os.getpid()}, {number}").id)
            memory.care.wait_for_vectors(60)  # those of the others may still wait

        children = []
        for number in range(6):
            remember(memory, f"parent {number}")
            children.append(Child.start(work))
        assert [child.wait() for child in children] == [0] * 6
        assert memory.care.wait_for_vectors(60) == 0
        assert memory.stats().records == 37
        assert len(memory.recall("whatever", k=50)) == 37
        assert wrong_with(memory) == []


def test_an_embedder_that_forks_goes_on(place: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardwon.store.pool.FORK_WAIT_S", 60.0)

    def forks(texts: Sequence[str]) -> list[list[float]]:
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        return lengths(texts)

    with Memory(place("m"), embedder=CallableEmbedder(forks, "forks", 2)) as memory:
        begun = time.monotonic()
        remember(memory, "x")
        assert memory.care.wait_for_vectors() == 0
        assert time.monotonic() - begun < 50, "a busy machine, and no waiting"
