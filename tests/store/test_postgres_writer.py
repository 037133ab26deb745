"""A login that may only record does by SQL what a token of the scope `write` may, no more."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

import plausible
from engines import own_database, own_login, read_schema, wrong_with
from hardwon import Episode, Fact, Memory, Metadata, Trajectory
from hardwon.errors import ForbiddenError
from hardwon.lessons.tallies import LESSONS_AT_ONCE_MAX
from hardwon.limits import VOTES_OF_AUTHOR_MAX
from hardwon.records.fields import new_id
from hardwon.records.kinds import AnyRecord, Event, Source, Validation
from hardwon.search.terms import Filters
from hardwon.store.base import build_row
from hardwon.store.postgres.engine import event_columns, row_columns
from hardwon.store.postgres.schema import WRITER

PROJECT = "default"
VIA_IMPORT = " via import"
Json = dict[str, Any]


@pytest.fixture
def owner() -> Iterator[str]:
    """The URL of a memory, as whoever set it up."""
    with own_database(PROJECT) as url:
        yield url


@pytest.fixture
def writer(owner: str) -> Iterator[str]:
    """The same, as a login that may record."""
    with own_login(owner, PROJECT, WRITER) as url:
        yield url


def connected(url: str) -> psycopg.Connection[Any]:
    """In the schema of the project."""
    path = f"-c search_path={read_schema(url.replace(url.split('@')[0], 'postgresql://postgres'), PROJECT)}"
    return psycopg.connect(url, options=path)


def call(connection: psycopg.Connection[Any], name: str, *rows: Json) -> list[Any]:
    return connection.execute(f"SELECT * FROM {name}(%s)".encode(), [json.dumps(rows)]).fetchall()


def refused(connection: psycopg.Connection[Any], sql: str, *values: Any) -> bool:
    try:
        with connection.transaction():
            connection.execute(sql.encode(), values)
    except psycopg.errors.InsufficientPrivilege:
        return True
    return False


def refused_rows(connection: psycopg.Connection[Any], name: str, *rows: Json) -> bool:
    return refused(connection, f"SELECT * FROM {name}(%s)", json.dumps(rows))


def of(author: str, **validation: Any) -> Metadata:
    stands = Validation(**validation)
    return Metadata(project_id=PROJECT, source=Source(author=author), validation=stands)


def a_fact(author: str = "mallory", **validation: Any) -> Fact:
    text = f"A fact of {secrets.token_hex(4)}."
    return Fact(id=new_id(), content=text, fact_type="error", metadata=of(author, **validation))


def given(record: AnyRecord, **claims: Any) -> Json:
    return {**row_columns(build_row(record), lessons=True), **claims}


def credited(record_id: str, by: str, helped: bool = True) -> Json:
    return event_columns(Event(record_id=record_id, kind="credited", by=by, helped=helped))


def votes(owner: str, record_id: str) -> tuple[int, int]:
    with connected(owner) as connection:
        sql = "SELECT helped, hindered FROM record WHERE id = %s"
        ((helped, hindered),) = connection.execute(sql, [record_id]).fetchall()
    return int(helped), int(hindered)


def tally(owner: str, scope: str) -> list[tuple[Any, ...]]:
    levels = "level0 + level1 + level2"
    sql = f"SELECT key, item, author, vouched, {levels} FROM tally WHERE scope = %s"
    with connected(owner) as connection:
        return sorted(connection.execute(sql.encode(), [scope]).fetchall())


def test_what_claims_to_come_from_elsewhere_says_that_it_arrived(owner: str, writer: str) -> None:
    """Without it, the record is what it says of itself as soon as anybody looks at its events."""
    record = a_fact(status="verified", verified_by="human_approval")
    claims = {"status": "hypothesis", "validation": json.dumps({"status": "hypothesis"})}
    row = given(record, author="mallory" + VIA_IMPORT, **claims)
    arrival = event_columns(Event(record_id=record.id, kind="imported", by="mallory"))
    with connected(writer) as connection:
        call(connection, "add_records", row)
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="came from elsewhere"):
            connection.commit()
        call(connection, "add_records", row)
        call(connection, "add_events", arrival)
    with Memory(owner, PROJECT) as memory:
        memory.credit(record.id, True, by="ann")
        memory.rebuild()
        kept = memory.get(record.id)
        assert kept is not None
        assert kept.metadata.validation.status == "hypothesis"


def test_nothing_happens_later_than_it_arrives(writer: str) -> None:
    later = datetime.now(UTC) + timedelta(days=365)
    record = a_fact()
    moment = record.metadata.context.copy_with(timestamp=later)
    future = record.copy_with(metadata=record.metadata.copy_with(context=moment))
    at_us = build_row(record).at_us
    with connected(writer) as connection:
        assert refused_rows(connection, "add_records", given(future))
        assert refused_rows(connection, "add_records", given(future, at_us=at_us))
        assert call(connection, "add_records", given(record))
        vote = Event(record_id=record.id, kind="credited", by="m", helped=True, at=later)
        assert refused_rows(connection, "add_events", event_columns(vote))
        assert refused_rows(connection, "add_events", event_columns(vote) | {"at_us": at_us})


def test_a_record_teaches_what_its_kind_does_and_once(owner: str, writer: str) -> None:
    recalled = new_id()
    episode = Episode(id=new_id(), task_id="triage", score=1.0, metadata=of("mallory"))
    says: Json = {"task": "t", "steps": [], "final_reward": 1.0, "recalled": [recalled]}
    run = Trajectory(id=new_id(), metadata=of("mallory"), **says)
    once = ["episode", "triage", "Guess.", 0]
    with connected(writer) as connection:
        assert refused(connection, "INSERT INTO tally SELECT * FROM tally")
        for record, lessons in (
            (episode, [["tool", "pytest", "", 2]]),  # taught by experiences
            (episode, [["strategy.type", "oom", "x", 2]]),  # by fixes
            (episode, [["invented", "x", "", 0]]),
            (episode, [["episode", "triage", "Guess.", 6]]),
            (episode, [["episode", "triage", "Guess.", -1]]),
            (run, [["credit", "b", "", 1]]),  # it was not recalled
            (episode, [["episode", "triage", str(n), 0] for n in range(LESSONS_AT_ONCE_MAX + 1)]),
        ):
            assert refused_rows(connection, "add_records", given(record, lessons=lessons)), lessons
        honest = given(episode, lessons=[once] * 1000)
        for _ in range(3):
            call(connection, "add_records", honest, honest)
        call(connection, "add_records", given(run, lessons=[["credit", recalled, "", 1]] * 1000))
        connection.commit()
        call(connection, "add_records", honest)
    assert tally(owner, "episode") == [("triage", "Guess.", "mallory", 0, 1)]
    assert tally(owner, "credit") == [(recalled, "", "mallory", 0, 1)]


def test_what_does_not_follow_from_a_record_is_seen_and_corrected(owner: str, writer: str) -> None:
    episode = Episode(id=new_id(), task_id="triage", score=0.0, metadata=of("mallory"))
    forged: Json = {"lessons": [["episode", "deploy", "", 0]]}
    forged |= {"terms": "java build", "keys": ["failure:x"]}
    with connected(writer) as connection:
        call(connection, "add_records", given(episode, **forged))
    assert "deploy" in [task for task, *_ in tally(owner, "episode")]
    with Memory(owner, PROJECT) as memory:
        assert memory.recall("java build")
        assert wrong_with(memory) != []
        memory.rebuild()
        assert wrong_with(memory) == []
        assert memory.recall("java build") == []
    assert [task for task, *_ in tally(owner, "episode")] == ["", "triage"]


def test_a_login_has_as_many_votes_about_a_record_as_a_token(owner: str, writer: str) -> None:
    with Memory(owner, PROJECT) as memory:
        theirs = memory.record_fact("The build needs Java 17.", "solution", author="ann")
    names = [f"mallory-{number}" for number in range(200)]
    odd = Event(record_id=theirs.id, kind="credited", by="odd", helped=True)
    with connected(writer) as connection:
        with pytest.raises(psycopg.errors.UndefinedFunction), connection.transaction():
            connection.execute("SELECT credit(%s, 1000000, 0)", [theirs.id])
        call(connection, "add_events", *(credited(theirs.id, "mallory") for _ in range(500)))
        call(connection, "add_events", *(credited(theirs.id, name) for name in names))
        for name in names[:20]:
            call(connection, "add_events", credited(theirs.id, name, helped=False))
            repeated = Event(record_id=theirs.id, kind="repeated", by=name)
            call(connection, "add_events", event_columns(repeated))
            again = Event(record_id=theirs.id, kind="repeated", by=f"x{name}")
            call(connection, "add_events", event_columns(again))
        for spelled in ('"yes"', '"TRUE"', "1", "null"):
            body = odd.to_json().replace('"helped":true', f'"helped":{spelled}')
            assert body != odd.to_json()
            row = event_columns(odd) | {"body": body}
            assert refused_rows(connection, "add_events", row), spelled
        for claim in ({"record_id": new_id()}, {"id": new_id()}, {"kind": "repeated"}):
            assert refused_rows(connection, "add_events", event_columns(odd) | claim), claim
        connection.execute("SELECT credit(%s)", [theirs.id])
    most = VOTES_OF_AUTHOR_MAX
    assert votes(owner, theirs.id) == (most + 1, most)  # and once for saying the same
    with Memory(owner, PROJECT) as memory:
        memory.credit(theirs.id, True, by="bob")
        assert votes(owner, theirs.id) == (most + 2, most)
        memory.rebuild()
        assert votes(owner, theirs.id) == (most + 2, most)
        assert wrong_with(memory) == []


def test_votes_that_are_given_at_once_are_no_more(owner: str, writer: str) -> None:
    with Memory(owner, PROJECT) as memory:
        theirs = memory.record_fact("The build needs Java 17.", "solution", author="ann")

    def vote(number: int) -> None:
        with connected(writer) as connection:
            call(connection, "add_events", credited(theirs.id, f"mallory-{number}"))
            connection.execute("SELECT pg_sleep(0.05)")
            connection.execute("SELECT credit(%s)", [theirs.id])

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(vote, range(24)))
    assert votes(owner, theirs.id) == (VOTES_OF_AUTHOR_MAX, 0)


def test_a_vector_is_of_a_record_that_is_there_and_has_none(owner: str, writer: str) -> None:
    with Memory(owner, PROJECT) as memory:
        theirs = memory.record_fact("The build needs Java 17.", "solution", author="ann")
        with memory._project.store.write(PROJECT) as opened:
            opened.set_embedder(PROJECT, "e", 2)
            opened.keep_vectors(PROJECT, [(theirs.id, bytes(8))])
    schema = read_schema(owner, PROJECT)
    into = f"INSERT INTO {schema}.record_vector (seq, vector, dimension)"
    insert = f"{into} VALUES (%s, '\\x01', 2) ON CONFLICT"
    with connected(writer) as connection:
        # a table of their own, that is looked at first
        numbers = "SELECT generate_series(1, 99)::bigint AS seq"
        connection.execute(f"CREATE TEMP TABLE record AS {numbers}".encode())
        connection.execute(f"SET search_path = pg_temp, {schema}".encode())
        for seq in range(1, 20):
            connection.execute(f"{insert} DO NOTHING".encode(), [seq])
        connection.commit()
        update = f"{insert} (seq) DO UPDATE SET vector = excluded.vector"
        assert refused(connection, update, 1)
    with connected(owner) as connection:
        assert connection.execute("SELECT vector FROM record_vector").fetchall() == [(bytes(8),)]
    failing = pytest.raises(ForbiddenError, match="--as governor")
    with Memory(writer, PROJECT) as memory, failing, memory._project.store.write(PROJECT) as opened:
        opened.set_embedder(PROJECT, "mine", 3)


def test_counted_terms_and_asked_requests_are_nobodys_to_change(owner: str, writer: str) -> None:
    with Memory(owner, PROJECT) as memory:
        with memory.care.once(b"key", b"said"):
            memory.record_fact("The build needs Java 17.", "solution")
        before = memory._project.store.frequencies(PROJECT, ["java"])
    with connected(writer) as connection:
        for name in ("texts whose terms are counted", "words of those texts"):
            connection.execute("SELECT set_state(%s, 1000000000)", [name])
        for _ in range(3):
            connection.execute("SELECT count_terms()")
        connection.execute("SELECT drop_requests()")
    with Memory(owner, PROJECT) as memory:
        after = memory._project.store.frequencies(PROJECT, ["java"])
        assert (after.texts, after.having) == (1, {"java": 1}) == (before.texts, before.having)
    with connected(owner) as connection:
        assert connection.execute("SELECT count(*) FROM request").fetchall() == [(1,)]


def believed_by_nobody(records: Sequence[AnyRecord]) -> list[AnyRecord]:
    plain = [record.metadata.copy_with(validation=Validation()) for record in records]
    return [record.copy_with(metadata=one) for record, one in zip(records, plain, strict=True)]


def test_what_a_writer_records_counts_as_it_does_for_a_governor(owner: str, writer: str) -> None:
    records = believed_by_nobody(list(plausible.records(300, project=PROJECT)))
    with Memory(writer, PROJECT) as memory:
        memory.add_many(records[:250])
        for record in records[250:]:
            memory.add(record)
        memory.remember("pip needs a newer setuptools", "success", "code_interpreter")
        fact = memory.record_fact("The build needs Java 17.", "solution", author="ann")
        memory.record_fact("The build needs Java 17.", "solution", author="bob")
        memory.record_episode("triage", 1.0, successes=["Read the log first."])
        issue = {"model": "m:7b", "issue_type": "oom", "description": "it stopped"}
        memory.record_fix(issue, True, True, "smaller", ["ulimit -v 1000"])
        memory.record_trajectory("triage", [], 1.0, recalled=[fact.id], author="eve")
        assert memory.credit([fact.id, records[0].id], True, by="bob") == [fact.id, records[0].id]
        memory.care.take_in([Fact(content="From elsewhere.", fact_type="error")])
        with memory.care.once(b"key", b"said"):
            memory.record_fact("Said once.", "solution")
        assert memory.recall("Java build")
        assert str(memory.context("Java build"))
        assert memory.advise("ulimit -v 1000")
        with memory._project.store.write(PROJECT) as opened:
            opened.set_embedder(PROJECT, "e", 2)
            opened.keep_vectors(PROJECT, [(fact.id, bytes(8))])
    assert votes(owner, fact.id) == (2, 0)  # as bob said, who said the same, too
    with Memory(owner, PROJECT) as memory:
        assert memory._project.store.untrue_tallies(PROJECT) == 0
        assert wrong_with(memory) == []
        assert memory._project.store.count(PROJECT, Filters()) == 307
        scopes = ("act.word", "episode", "strategy.type", "credit")
        counts = [tally(owner, scope) for scope in scopes]
        assert all(counts)
        memory.rebuild()
        assert [tally(owner, scope) for scope in scopes] == counts
        assert votes(owner, fact.id) == (2, 0)
