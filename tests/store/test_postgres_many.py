"""Many processes, one database: nobody is turned away, nothing is lost or counted twice."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from cases import TORTURE, seed_of_the_run
from engines import own_database, own_login, schemas_of, wrong_with
from hardwon import Memory
from hardwon.errors import ForbiddenError, InvalidInputError
from hardwon.records.kinds import AnyRecord
from hardwon.store.postgres.schema import WRITER
from processes import Child, Tell

PROCESSES, WRITES = (32, 200) if TORTURE else (12, 20)
TASKS = ["triage", "deploy", "review"]
TEXTS = ["Read the log first.", "Guessed.", "Asked the owner.", "Ran the tests."]
OLD_REQUESTS = 3000


@pytest.fixture
def place() -> Iterator[str]:
    with own_database("default") as url:
        yield url


@pytest.fixture
def writer(place: str) -> Iterator[str]:
    """The same place, as a login that may record and decide nothing."""
    with own_login(place, "default", WRITER) as url:
        yield url


def issue(rng: random.Random) -> dict[str, str]:
    model, issue_type = rng.choice(["m:7b", "n:13b"]), rng.choice(["oom", "slow"])
    return {"model": model, "issue_type": issue_type, "description": "it stopped"}


def write(memory: Memory, rng: random.Random, known: list[str], shared: list[str]) -> str | None:
    """Something that many others do too, about the same things; its record, where it makes one."""
    author = rng.choice(["ann", "bob", "eve"])
    text = rng.choice(TEXTS)
    card = {"mistake_type": "early", "task_id": rng.choice(TASKS), "lesson": text}
    applied = rng.random() < 0.7

    def decide() -> None:
        try:
            if rng.random() < 0.5:
                memory.verify(rng.choice(known), "human_approval")
            else:
                memory.archive(rng.choice(known), "old")
        # it was decided before, the other way; or this login decides nothing
        except (InvalidInputError, ForbiddenError):
            assert memory.get(known[-1]) is not None

    def once() -> AnyRecord:
        with memory.care.once(rng.randbytes(16), b"said"):
            return memory.remember(f"{text} {os.getpid()}", "success", "conversation")

    by: dict[str, Any] = {"author": author}
    says: dict[str, Any] = {"mistakes": [text], "successes": [text], "mistake_cards": [card]}
    commands, ids = [f"do {rng.randrange(4)}"], rng.sample(shared, 2)
    ways: list[Callable[[], Any]] = [
        lambda: memory.record_fix(issue(rng), applied, applied, text, commands, **by),
        lambda: memory.record_episode(rng.choice(TASKS), rng.random(), **by, **says),
        lambda: memory.remember(f"{text} {rng.random()}", "success", "conversation"),
        lambda: memory.record_trajectory("triage", [], rng.random(), recalled=ids, **by),
        once,
        lambda: memory.record_fact(text, "observation", **by) and None,
        lambda: memory.credit(rng.choice(shared), rng.random() < 0.8, by=author) and None,
        decide if known else once,
    ]
    (way,) = rng.choices(ways, [25, 20, 20, 10, 6, 8, 7, 4])
    made = way()
    return str(made.id) if made else None


def tallies(url: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        schema = schemas_of(connection)["default"]
        sql = f'SELECT * FROM "{schema}".tally ORDER BY 1, 2, 3, 4, 5'
        return connection.execute(sql.encode()).fetchall()


def deadlocks(url: str) -> int:
    sql = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
    with psycopg.connect(url) as connection:
        ((number,),) = connection.execute(sql.encode()).fetchall()
    return int(number)


def test_many_processes_learn_at_once(place: str, writer: str) -> None:
    """Every other one may record, and decide nothing."""
    seed = seed_of_the_run()
    print(f"seed {seed}")
    with Memory(place, "default") as memory:
        texts = [f"Shared fact {number}: {TEXTS[number % 4]}" for number in range(6)]
        shared = [memory.record_fact(text, "solution").id for text in texts]
    with psycopg.connect(place) as connection:  # so old that everybody wants to clear them away
        requests = f"SELECT int4send(n), '', '[]', n FROM generate_series(1, {OLD_REQUESTS}) n"
        schema = schemas_of(connection)["default"]
        connection.execute(f"INSERT INTO {schema}.request {requests}".encode())

    def work(number: int, tell: Tell) -> None:
        rng = random.Random(seed + number)
        known: list[str] = []
        location = writer if number % 2 else place
        with Memory(location, "default", consolidate_every=50) as memory:
            for _ in range(WRITES):
                made = write(memory, rng, known, shared)
                if made:
                    known.append(made)
                    tell(made)

    started = time.monotonic()
    children = [Child.start(work, number) for number in range(PROCESSES)]
    codes = [child.wait() for child in children]
    assert codes == [0] * PROCESSES, f"seed {seed}: a process met an error (printed above)"
    took = time.monotonic() - started
    acknowledged = [record_id for child in children for record_id in child.acknowledged]
    assert len(set(acknowledged)) == len(acknowledged)
    assert deadlocks(place) == 0, f"seed {seed}"
    with Memory(place, "default") as memory:
        there = {record.id for record in memory.browse()}
        assert there >= set(acknowledged), f"seed {seed}"
        facts = [fact for fact in memory.browse(kind="fact") if fact.id not in shared]
        unheard = [fact.content for fact in facts]  # type: ignore[union-attr]
        assert len(there) == len(acknowledged) + len(shared) + len(unheard)
        assert set(unheard) <= set(TEXTS)
        assert wrong_with(memory) == [], f"seed {seed}"
        counted = tallies(place)
        memory.rebuild()
        assert tallies(place) == counted, f"seed {seed}: an update was lost"
    print(f"{PROCESSES} processes x {WRITES} writes: {len(acknowledged)} records, {took:.1f} s")
