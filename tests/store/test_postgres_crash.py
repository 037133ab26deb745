"""The server dies, and whoever writes to it does not notice, or is told what is certain."""

from __future__ import annotations

import contextlib
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
from engines import read_schema, schemas_of
from hardwon import Memory
from hardwon.errors import UnreachableError
from hardwon.store.postgres import projects as setup
from hardwon.store.postgres.connection import Link
from hardwon.store.postgres.schema import PROJECT_TABLES
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
    with Memory(url, PROJECT, consolidate_every=20) as memory:
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
    with Memory(url, PROJECT, consolidate_every=0) as memory, Memory(other_place, PROJECT) as other:
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
    "consolidate": lambda memory, _, __: memory.consolidate(),
    "merge": lambda memory, other, _: memory.merge(other, trust=True),
}
AT_TABLES = """forget record_text, forget event, forget tally, verify event, consolidate record_key,
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
        if what in ("merge", "consolidate", "forget"):
            DONE[what](memory, other, ids)
            assert dump(url) == once
        assert memory.doctor().ok
        if what == "forget":
            assert memory.get(ids["gone"]) is None
        elif what == "verify":
            assert [event.kind for event in memory.audit(ids["fact"])].count("status") == 1
