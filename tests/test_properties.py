"""Properties that hold for every record and every order of things."""

from __future__ import annotations

import tempfile
from itertools import permutations
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from hardwon import Fact, Memory, Metadata
from hardwon.fields import new_id
from hardwon.govern.lifecycle import effective_validation
from hardwon.model import STATUSES, AnyRecord, Event, Moment, Validation
from hardwon.recall.terms import index_text, query_terms
from hardwon.store.rows import original_of
from strategies import at, records


def unverified(record: AnyRecord) -> AnyRecord:
    validation = record.metadata.validation.altered(status="hypothesis")
    return record.altered(metadata=record.metadata.altered(validation=validation))


@settings(max_examples=60)
@given(st.lists(records, min_size=1, max_size=5, unique_by=lambda record: record.id))
def test_records_survive_write_read_export_and_load(made: list[AnyRecord]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with Memory(root / "one") as one, Memory(root / "two") as two:
            one.add_many(made)
            kept = {record.id: one.get(record.id) for record in made}
            for record in made:
                read = kept[record.id]
                assert read is not None
                assert read.redacted or _without_git(read) == _without_git(record)
            one.export(root / "records.jsonl")
            assert two.load(root / "records.jsonl").added == len(made)
            for record_id, before in kept.items():
                assert before is not None
                assert two.get(record_id) == unverified(before)
            assert one.doctor().ok
            assert two.doctor().ok


def _without_git(record: AnyRecord) -> AnyRecord:
    """A memory opened inside a checkout fills in commit and branch."""
    moment = record.metadata.context.altered(git_commit="", git_branch="")
    return record.altered(metadata=record.metadata.altered(context=moment))


class Plan:
    """What one of several memories did on its own: indexes into shared facts, with the status each event sets."""

    adds = st.lists(st.integers(0, 5), max_size=6)
    events = st.lists(st.tuples(st.integers(0, 5), st.sampled_from([*STATUSES, "imported", "forgotten"])), max_size=5)


FACTS = [
    Fact(
        id=new_id(at(number)),
        content=f"Fact {number}.",
        fact_type="observation",
        metadata=Metadata(project_id="default", context=Moment(timestamp=at(number))),
    )
    for number in range(6)
]


def carry_out(memory: Memory, adds: list[int], events: list[tuple[int, str]], seconds: int) -> None:
    for number in adds:
        if not any(event.kind == "forgotten" for event in memory.audit(FACTS[number].id)):
            memory.add(FACTS[number])
    for offset, (number, what) in enumerate(events):
        record_id, when = FACTS[number].id, at(100 + seconds + offset)
        if what == "forgotten":
            memory.forget(record_id)
        elif memory.get(record_id):
            kind = "imported" if what == "imported" else "status"
            status = None if what == "imported" else what
            with memory._store.write(memory.project) as writer:
                memory._happen(writer, Event(record_id=record_id, kind=kind, at=when, by="x", status=status))


def state(memory: Memory) -> tuple[object, object]:
    store = memory._store
    rows = {row.id: row for row, _ in store.rows("default")}
    tombs = {event.record_id for event in store.events("default") if event.kind == "forgotten"}
    others = {event.id for event in store.events("default") if event.kind != "forgotten"}
    return rows, (tombs, others)


@settings(max_examples=25)
@given(st.lists(st.tuples(Plan.adds, Plan.events), min_size=2, max_size=3))
def test_merge_is_idempotent_and_order_free(plans: list[tuple[list[int], list[tuple[int, str]]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        parts = []
        for number, (adds, events) in enumerate(plans):
            memory = Memory(root / f"part{number}")
            carry_out(memory, adds, events, number * 7)
            parts.append(memory)
        states = []
        for turn, order in enumerate(permutations(parts)):
            with Memory(root / f"whole{turn}") as whole:
                for part in order:
                    whole.merge(part)
                states.append(state(whole))
                for part in order:
                    assert whole.merge(part).added == 0
                assert state(whole) == states[-1]
                assert whole.doctor().ok
        assert all(other == states[0] for other in states)
        first, *rest = parts
        for part in rest:
            first.merge(part)
        assert state(first) == states[0], "merging into a part gives what merging into an empty memory gives"
        for part in parts:
            part.close()


@given(st.permutations(range(6)), st.lists(st.sampled_from(["status", "superseded", "imported"]), min_size=6, max_size=6))
def test_the_status_does_not_depend_on_the_order_of_arrival(order: list[int], kinds: list[str]) -> None:
    record_id = new_id()
    events = [
        Event(record_id=record_id, kind=kind, at=at(number // 2), by="x", status=STATUSES[number % 4])
        for number, kind in enumerate(kinds)
    ]
    expected = effective_validation(Validation(), events)
    assert effective_validation(Validation(), [events[index] for index in order]) == expected


@given(st.text(max_size=300))
def test_terms_are_what_the_index_tokenizer_keeps_whole(text: str) -> None:
    for term in index_text(text).split(" "):
        assert term == "" or all(char.isalnum() or char in "_.-/:@#+$" or not char.isascii() for char in term), term
        assert len(term) <= 128
    assert set(query_terms(text)) <= set(index_text(text).split())
    assert all(original == original.strip() for original in index_text(text).split())


def test_original_of_is_the_inverse_of_row_of() -> None:
    with tempfile.TemporaryDirectory() as folder, Memory(folder) as memory:
        memory.add_many(FACTS)
        assert [original_of(row) for row, _ in memory._store.rows("default")] == [memory.get(fact.id) for fact in FACTS]
