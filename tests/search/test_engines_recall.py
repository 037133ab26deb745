"""Both engines give the same answers about the same records, and score texts alike."""

from __future__ import annotations

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
from hardwon.store.sqlite.connection import SqliteSession, WordIndex, add_texts, make_marks
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
            memory = opened.enter_context(Memory(location, checkout=False))
            for batch in batches:
                memory.add_many(batch)
            # as the server tidies up by itself, which the tests keep it from
            memory._project.store.shrink()
            both.append(memory)
        yield both


def shared(one: list[str], other: list[str]) -> float:
    """Which share of what either found both did."""
    return len(set(one) & set(other)) / max(len(set(one)), len(set(other)), 1)


def recalled(memory: Memory, question: str) -> list[str]:
    return [hit.record.id for hit in memory.recall(question, k=10)]


def test_recall_finds_the_same(memories: list[Memory]) -> None:
    questions = plausible.questions(QUESTIONS)
    found = [[recalled(memory, question) for memory in memories] for question in questions]
    assert mean(shared(*pair) for pair in found) >= 0.98
    assert sum(len(pair[0]) == 10 for pair in found) > 0.9 * QUESTIONS


def test_what_is_known_exactly_is_found_exactly(memories: list[Memory]) -> None:
    rng = random.Random(3)
    asked = [plausible.error(rng) for _ in range(25)]
    asked += [generate_issue_signature(plausible.issue(rng)) for _ in range(25)]
    found = [[recalled(memory, question) for memory in memories] for question in asked]
    assert sum(bool(sqlite) for sqlite, _ in found) >= 45
    assert [sqlite for sqlite, _ in found] == [postgres for _, postgres in found]


def test_contexts_and_advice_say_the_same(memories: list[Memory]) -> None:
    rng = random.Random(4)
    same_context, same_advice = [], []
    for number, question in enumerate(plausible.questions(15, seed=5)):
        task, issue, error = f"task-{number}", plausible.issue(rng), plausible.error(rng)
        about: Any = {"task_id": task, "issue": issue, "count_tokens": len, "budget_tokens": 4_000}
        contexts = [str(memory.context(question, **about)).splitlines() for memory in memories]
        # Within the fence, whose mark is another one each time: as long, but not as many tokens.
        same_context.append(contexts[0][1:-1] == contexts[1][1:-1])
        about = {"task": question, "error": error, "issue": issue}
        advices = [memory.advise(question, **about) for memory in memories]
        same_advice.append(advices[0] == advices[1])
    assert mean(same_context) >= 0.9
    assert mean(same_advice) >= 0.9


WORDS = ("cache", "token", "src/auth/login.py", "e0382", "retry", "lock", "+caches", "+locked")


SOME = st.lists(st.sampled_from(WORDS), min_size=1, max_size=30)
EACH_ONCE = st.lists(st.sampled_from(WORDS), min_size=1, max_size=len(WORDS), unique=True)


@given(texts=st.lists(SOME, min_size=1, max_size=12), asked=EACH_ONCE)
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
    marks = make_marks("agent", "hypothesis")
    add_texts(session, "default", [(seq, text, marks) for seq, text in enumerate(kept)])
    match = " OR ".join(f'"{term}"' for term in asked)
    sql = (
        f"SELECT t.terms, -i.rank FROM {index.name} i JOIN record_text t ON t.seq = i.rowid "
        f"WHERE {index.name} MATCH ? ORDER BY i.rowid"
    )
    theirs: list[Any] = connection.execute(sql, (match,)).fetchall()
    having = {term: sum(term in text for text in texts) for term in asked}
    known = [term for term in asked if having[term]]
    lengths = sum(len(text) + bm25.MARKS for text in texts)
    frequencies = bm25.Frequencies(len(texts), lengths, having)
    ours = bm25.scores(known, [terms for terms, _ in theirs], frequencies)
    assert list(ours) == pytest.approx([score for _, score in theirs], rel=1e-6)
