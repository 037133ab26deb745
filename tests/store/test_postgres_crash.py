"""The server dies and its writers are told what is certain; many processes, one database."""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from cases import TORTURE, seed_of_the_run
from engines import own_database, own_login, read_schema, schemas_of, wrong_with
from hardwon import Memory
from hardwon.errors import ForbiddenError, InvalidInputError, UnreachableError
from hardwon.records.kinds import AnyRecord
from hardwon.store.postgres import projects as setup
from hardwon.store.postgres.connection import Link
from hardwon.store.postgres.schema import PROJECT_TABLES, WRITER
from postgres_server import Server
from processes import Child, Tell

KILLS, WRITERS = (40, 8) if TORTURE else (5, 6)
PROJECT = "default"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server(careful=True)
    made.run("CREATE DATABASE memory")
    link = Link(made.url_of("memory"))
    setup.initialise(link, [PROJECT, "survivors"])
    link.close()
    yield made
    made.remove()


@pytest.fixture
def url(server: Server) -> str:
    place = server.url_of("memory")
    with connected(place) as connection:
        for schema in schemas_of(connection).values():
            for table in PROJECT_TABLES:
                connection.execute(f"DELETE FROM {schema}.{table}".encode())
    return place


def connected(url: str) -> psycopg.Connection[Any]:
    """When the server is through with starting over."""
    deadline = time.monotonic() + 120
    while True:
        try:
            return psycopg.connect(url, autocommit=True)
        except psycopg.OperationalError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def write_until_told(url: str, writer: int, stop: Path, tell: Tell) -> None:
    """Every write succeeds; one that was told of changed nothing, and is done again."""
    with Memory(url, PROJECT) as memory:
        number = 0
        while not stop.exists():
            with contextlib.suppress(UnreachableError):
                tell(write_one(memory, writer, number))
                number += 1


def write_one(memory: Memory, writer: int, number: int) -> str:
    said = f"writer {writer} number {number}"
    kind = number % 5
    if kind == 0:
        issue = {"model": "m", "issue_type": f"type {writer % 2}", "description": said}
        return memory.record_fix(issue, True, True, "the same", ["use less"]).id
    if kind == 1:
        return memory.record_episode("task", 0.9, trajectory_summary=said, mistakes=["Guessed."]).id
    if kind == 2:
        with memory.care.once(said.encode(), b"said"):
            return memory.remember(said, "success", "conversation").id
    return memory.record_fact(said, "observation").id


def said_of(record: Any) -> str:
    if record.kind == "fix":
        return str(record.issue.description)
    return str(record.trajectory_summary if record.kind == "episode" else record.content)


def kill_one(server: Server, rng: random.Random) -> None:
    with contextlib.suppress(psycopg.OperationalError):  # it may be starting over just now
        found = server.run("SELECT pid FROM pg_stat_activity WHERE application_name = 'hardwon'")
        if found:
            with contextlib.suppress(ProcessLookupError):
                server.kill_backend(int(str(rng.choice(found)[0])))


def test_nothing_is_lost_or_twice_after_kills(server: Server, url: str, tmp_path: Path) -> None:
    seed = seed_of_the_run()
    rng = random.Random(seed)
    print(f"seed {seed}")
    stop = tmp_path / "stop"
    children = [Child.start(write_until_told, url, writer, stop) for writer in range(WRITERS)]
    told = 0
    for turn in range(KILLS):
        before, deadline = told, time.monotonic() + 120
        while told < before + 5 * WRITERS and time.monotonic() < deadline:  # they all came back
            for child in children:
                child.listen()
            told = sum(len(child.acknowledged) for child in children)
            time.sleep(0.02)
        assert told > before, f"seed {seed}: nobody came back after kill {turn}"
        time.sleep(rng.uniform(0, 0.2))
        if turn % 2:
            server.kill()
            time.sleep(rng.uniform(0.5, 2.0))
            server.start()
        else:
            kill_one(server, rng)
    stop.touch()
    codes = [child.wait() for child in children]
    assert codes == [0] * WRITERS, f"seed {seed}: a writer met an error (printed above)"
    acknowledged = [record_id for child in children for record_id in child.acknowledged]
    with Memory(url, PROJECT) as memory:
        there = list(memory.browse())
        assert {record.id for record in there} == set(acknowledged), f"seed {seed}"
        times = Counter(map(said_of, there))
        assert set(times.values()) == {1}, f"seed {seed}: written twice"
        diagnosis = memory.doctor()
        assert diagnosis.ok, f"seed {seed}: {diagnosis}"
    print(f"{KILLS} kills, {len(acknowledged)} records acknowledged, none lost, none twice")


def dump(url: str) -> dict[str, list[Any]]:
    """All but numbers of rows and times of events."""
    with connected(url) as connection:
        asked = {
            "record": "SELECT id, kind, status, validation, body FROM record",
            "event": "SELECT record_id, kind, said_by, said_status FROM event",
            "tally": "SELECT * FROM tally",
            "text": "SELECT terms FROM record_text",
            "terms": "SELECT term, documents FROM term_count",
        }
        path = f"SET search_path = {schemas_of(connection)[PROJECT]}"
        connection.execute(path.encode())
        return {
            name: sorted(connection.execute(sql.encode()).fetchall(), key=repr)
            for name, sql in asked.items()
        }


def kill_whoever_waits(server: Server, url: str, table: str, began: threading.Event) -> None:
    """Holds a table until the other one wants it too, and kills the server's process of that."""
    with contextlib.suppress(psycopg.OperationalError), psycopg.connect(url) as holding:
        schema = read_schema(url, PROJECT)
        holding.execute(f"LOCK TABLE {schema}.{table} IN ACCESS EXCLUSIVE MODE".encode())
        began.set()
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            sql = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'hardwon'"
            found = holding.execute(sql.encode()).fetchall()
            if found:
                server.kill_backend(found[0][0])
                return
            holding.execute("SELECT pg_stat_clear_snapshot(), pg_sleep(0.01)")


def filled(url: str, folder: Path) -> dict[str, str]:
    other_place = folder / "other.db"
    with Memory(url, PROJECT) as memory, Memory(other_place, PROJECT) as other:
        facts = [memory.record_fact(f"fact {number}", "solution").id for number in range(4)]
        says: Any = {"successes": ["Read the log."], "mistakes": ["Guessed."]}
        made = [
            memory.record_episode(f"task{number % 2}", 0.95, author=f"a{number % 3}", **says)
            for number in range(12)
        ]
        memory.verify(made[0].id, "test_runner", "ci-7")  # so that there is something to promote
        for number in range(3):
            other.record_episode("another", 0.9, successes=["Asked."], author=f"b{number}")
        other.verify(other.record_fact("elsewhere", "solution").id, "human_approval")
        other.forget(other.record_fact("gone", "solution").id)
    return {"fact": facts[0], "gone": made[1].id}  # an episode: what it taught goes with it


DONE: dict[str, Callable[[Memory, Memory, dict[str, str]], Any]] = {
    "forget": lambda memory, _, ids: memory.forget(ids["gone"]),
    "verify": lambda memory, _, ids: memory.verify(ids["fact"], "human_approval"),
    "merge": lambda memory, other, _: memory.merge(other, trust=True),
}
AT_TABLES = """forget record_text, forget event, forget tally, verify event,
    merge tally, merge record"""


@pytest.mark.parametrize(("what", "table"), [pair.split() for pair in AT_TABLES.split(",")])
def test_all_or_nothing(server: Server, url: str, tmp_path: Path, what: str, table: str) -> None:
    ids = filled(url, tmp_path)
    began = threading.Event()
    with Memory(url, PROJECT) as memory, Memory(tmp_path / "other.db", PROJECT) as other:
        before = dump(url)
        killer = threading.Thread(target=kill_whoever_waits, args=(server, url, table, began))
        killer.start()
        began.wait()
        try:
            DONE[what](memory, other, ids)
        except UnreachableError:  # a reading that comes before the write is not done again
            if what != "merge":  # which is done batch by batch
                assert dump(url) == before
            DONE[what](memory, other, ids)
        finally:
            killer.join()
        once = dump(url)
        assert once != before
        if what in ("merge", "forget"):
            DONE[what](memory, other, ids)
            assert dump(url) == once
        assert memory.doctor().ok
        if what == "forget":
            assert memory.get(ids["gone"]) is None
        elif what == "verify":
            assert [event.kind for event in memory.audit(ids["fact"])].count("status") == 1


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
        with Memory(location, "default") as memory:
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
