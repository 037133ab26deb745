"""Both engines give the same answers about the same records, and score texts alike."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from contextlib import ExitStack
from statistics import mean
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plausible
from cases import TORTURE
from engines import ENGINES, a_location
from hardwon import Memory
from hardwon.lessons.issues import generate_issue_signature
from hardwon.search import rank as bm25
from hardwon.store.sqlite.connection import SqliteSession, WordIndex, add_texts, marks_of
from hardwon.text.terms import FORM

RECORDS, QUESTIONS = (10_000, 200) if TORTURE else (2_500, 60)
BATCH = 2_500


@pytest.fixture(scope="module")
def memories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Memory]]:
    """The same records in a memory of each engine."""
    folder = tmp_path_factory.mktemp("engines")
    batches = [list(plausible.records(BATCH, first=first)) for first in range(0, RECORDS, BATCH)]
    with ExitStack() as opened:
        both = []
        for engine in ENGINES:
            location = opened.enter_context(a_location(engine, folder))
            memory = opened.enter_context(Memory(location, consolidate_every=0, checkout=False))
            for batch in batches:
                memory.add_many(batch)
            # as the server tidies up by itself, which the tests keep it from
            memory._project.store.shrink()
            both.append(memory)
        yield both


def shared(one: list[str], other: list[str]) -> float:
    """Which share of what either found both did."""
    return len(set(one) & set(other)) / max(len(set(one)), len(set(other)), 1)


def test_recall_finds_the_same(memories: list[Memory]) -> None:
    found = [
        [[hit.record.id for hit in memory.recall(question, k=10)] for memory in memories]
        for question in plausible.questions(QUESTIONS)
    ]
    assert mean(shared(*pair) for pair in found) >= 0.98
    assert sum(len(pair[0]) == 10 for pair in found) > 0.9 * QUESTIONS


def test_what_is_known_exactly_is_found_exactly(memories: list[Memory]) -> None:
    rng = random.Random(3)
    asked = [plausible.error(rng) for _ in range(25)] + [
        generate_issue_signature(plausible.issue(rng)) for _ in range(25)
    ]
    found = [
        [[hit.record.id for hit in memory.recall(question, k=10)] for memory in memories]
        for question in asked
    ]
    assert sum(bool(sqlite) for sqlite, _ in found) >= 45
    assert [sqlite for sqlite, _ in found] == [postgres for _, postgres in found]


def test_contexts_and_advice_say_the_same(memories: list[Memory]) -> None:
    rng = random.Random(4)
    same_context, same_advice = [], []
    for number, question in enumerate(plausible.questions(15, seed=5)):
        task, issue, error = f"task-{number}", plausible.issue(rng), plausible.error(rng)
        contexts = [
            memory.context(
                question, task_id=task, issue=issue, count_tokens=len, budget_tokens=4_000
            )
            for memory in memories
        ]
        # Within the fence, whose mark is another one each time: as long, but not as many tokens.
        same_context.append(
            len({tuple(str(context).splitlines()[1:-1]) for context in contexts}) == 1
        )
        advices = [
            memory.advise(question, task=question, error=error, issue=issue) for memory in memories
        ]
        same_advice.append(advices[0] == advices[1])
    assert mean(same_context) >= 0.9
    assert mean(same_advice) >= 0.9


WORDS = ("cache", "token", "src/auth/login.py", "e0382", "retry", "lock", "+caches", "+locked")


@given(
    texts=st.lists(
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=30), min_size=1, max_size=12
    ),
    asked=st.lists(st.sampled_from(WORDS), min_size=1, max_size=len(WORDS), unique=True),
)
def test_texts_are_scored_as_sqlite_scores_them(texts: list[list[str]], asked: list[str]) -> None:
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE TABLE record (seq INTEGER PRIMARY KEY, project_id TEXT)")
    connection.execute("CREATE TABLE record_text (seq INTEGER PRIMARY KEY, terms, marks)")
    session = SqliteSession(connection)
    index = WordIndex(session, "default")
    kept = [
        "\n".join(
            " ".join(word for word in text if word.startswith(FORM) == form)
            for form in (False, True)
        )
        for text in texts
    ]
    marks = marks_of("agent", "hypothesis")
    add_texts(session, "default", [(seq, text, marks) for seq, text in enumerate(kept)])
    match = " OR ".join(f'"{term}"' for term in asked)
    sql = (
        f"SELECT t.terms, -i.rank FROM {index.name} i JOIN record_text t ON t.seq = i.rowid "
        f"WHERE {index.name} MATCH ? ORDER BY i.rowid"
    )
    theirs: list[Any] = connection.execute(sql, (match,)).fetchall()
    having = {term: sum(term in text for text in texts) for term in asked}
    known = [term for term in asked if having[term]]
    frequencies = bm25.Frequencies(
        len(texts), sum(len(text) + bm25.MARKS for text in texts), having
    )
    ours = bm25.scores(known, [terms for terms, _ in theirs], frequencies)
    assert all(
        math.isclose(one, score, rel_tol=1e-6) for one, (_, score) in zip(ours, theirs, strict=True)
    )
