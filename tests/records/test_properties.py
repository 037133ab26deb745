"""Properties that hold for every record and every order of things."""

from __future__ import annotations

import tempfile
from itertools import permutations
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engines import holds_in_every_engine, memories, wrong_with
from hardwon import Fact, Memory, Metadata
from hardwon.records.fields import new_id
from hardwon.records.kinds import STATUSES, AnyRecord, Event, Moment
from hardwon.text.terms import index_text, query_terms
from hardwon.trust.lifecycle import judge_arrival
from strategies import at, records


def unverified(record: AnyRecord) -> AnyRecord:
    validation = judge_arrival(record.metadata.validation, record.metadata.validation.status)
    return record.copy_with(metadata=record.metadata.copy_with(validation=validation))


@holds_in_every_engine(
    60, st.lists(records, min_size=1, max_size=5, unique_by=lambda record: record.id)
)
def test_records_survive_write_read_export_and_load(engine: str, made: list[AnyRecord]) -> None:
    with tempfile.TemporaryDirectory() as folder, memories(engine, 2) as (one, two):
        exported = Path(folder) / "records.jsonl"
        one.add_many(made)
        kept = {record.id: one.get(record.id) for record in made}
        for record in made:
            read = kept[record.id]
            assert read is not None
            assert read.redacted or _without_git(read) == _without_git(record)
        one.export(exported)
        assert two.load(exported).added == len(made)
        for record_id, before in kept.items():
            assert before is not None
            assert two.get(record_id) == unverified(before)
        assert wrong_with(one) == []
        assert wrong_with(two) == []


def _without_git(record: AnyRecord) -> AnyRecord:
    """A memory opened inside a checkout fills in commit and branch."""
    moment = record.metadata.context.copy_with(git_commit="", git_branch="")
    return record.copy_with(metadata=record.metadata.copy_with(context=moment))


Plans = list[tuple[list[int], list[tuple[int, str]]]]


class Plan:
    """What one of several memories did: indexes into shared facts, and what each event sets."""

    adds = st.lists(st.integers(0, 5), max_size=6)
    events = st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from([*STATUSES, "imported", "forgotten"])),
        max_size=5,
    )


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
            event = Event(record_id=record_id, kind=kind, at=when, by="x", status=status)
            with memory._project.write() as change:
                change.add_event(event)


def state(memory: Memory) -> tuple[object, object]:
    store = memory._project.store
    rows = {row.id: row for row, _ in store.rows("default")}
    tombs = {event.record_id for event in store.events("default") if event.kind == "forgotten"}
    others = {event.id for event in store.events("default") if event.kind != "forgotten"}
    return rows, (tombs, others)


@holds_in_every_engine(25, st.lists(st.tuples(Plan.adds, Plan.events), min_size=2, max_size=3))
def test_merge_is_idempotent_and_order_free(engine: str, plans: Plans) -> None:
    with memories(engine, len(plans)) as parts:
        for number, (part, (adds, events)) in enumerate(zip(parts, plans, strict=True)):
            carry_out(part, adds, events, number * 7)
        states = []
        for order in permutations(parts):
            with memories(engine, 1) as (whole,):
                for part in order:
                    whole.merge(part, trust=True)
                states.append(state(whole))
                for part in order:
                    assert whole.merge(part, trust=True).added == 0
                assert state(whole) == states[-1]
                assert wrong_with(whole) == []
        assert all(other == states[0] for other in states)
        first, *rest = parts
        for part in rest:
            first.merge(part, trust=True)
        # merging into a part gives what merging into an empty memory gives
        assert state(first) == states[0]


def standings(memory: Memory) -> dict[str, tuple[str, str]]:
    kept = [*memory.browse(), *memory.browse(status="archived")]
    return {each.id: (each.metadata.validation.status, each.said_by) for each in kept}


@holds_in_every_engine(15, st.lists(st.tuples(Plan.adds, Plan.events), min_size=2, max_size=3))
def test_files_that_are_loaded_in_any_order_agree(engine: str, plans: Plans) -> None:
    with tempfile.TemporaryDirectory() as folder, memories(engine, len(plans)) as parts:
        files = [Path(folder) / f"{number}.jsonl" for number in range(len(parts))]
        for number, (part, (adds, events)) in enumerate(zip(parts, plans, strict=True)):
            carry_out(part, adds, [each for each in events if each[1] != "forgotten"], number * 7)
            part.export(files[number])
        believed, strange = list[Any](), list[Any]()
        for order in permutations(files):
            with memories(engine, 2) as (owner, stranger):
                for file in order:
                    owner.load(file, trust=True)
                    stranger.load(file)
                believed.append(standings(owner))
                strange.append(standings(stranger))
                for file in order:
                    assert owner.load(file, trust=True).retired == stranger.load(file).retired == 0
                assert (standings(owner), standings(stranger)) == (believed[-1], strange[-1])
                assert wrong_with(owner) == wrong_with(stranger) == []
        assert all(each == believed[0] for each in believed)
        assert all(each == strange[0] for each in strange)
        for record_id, (status, _) in strange[0].items():
            there = [standings(part).get(record_id, ("", ""))[0] for part in parts]
            assert (status == "archived") == ("archived" in there)
        with memories(engine, 1) as (copy,):
            copy.load(files[0], trust=True)
            assert standings(copy) == standings(parts[0]), "an owner's own is what it was"


@given(st.text(max_size=300))
def test_terms_are_what_the_index_tokenizer_keeps_whole(text: str) -> None:
    for term in index_text(text).replace("\n", " ").split(" "):
        assert term == "" or all(
            char.isalnum() or char in "_.-/:@#+$" or not char.isascii() for char in term
        ), term
        assert len(term) <= 128
    held = set(index_text(text).split())
    assert not held or held & set(query_terms(text)), "a text is found by itself"
    assert all(original == original.strip() for original in index_text(text).split())
