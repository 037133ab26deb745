"""Facts: their names and dates, and what becomes of those that are said again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from clocks import Clock
from engines import ENGINES, Places, wrong_with
from hardwon import Fact, Memory
from hardwon.records.kinds import Entities, Metadata, RelatedFile
from hardwon.records.reading import parse_record
from hardwon.text.sentences import repeats
from processes import Child
from strategies import facts

pytestmark = pytest.mark.engines(*ENGINES)


def fact(content: str, **fields: Any) -> Fact:
    return Fact(content=content, **{"fact_type": "observation", **fields})


def test_names_are_added(memory: Memory) -> None:
    text = "src/io.py is broken: load() raises OSError with pandas==2.1.0."
    named = {"files": ["given.py"], "libraries": ["PANDAS"]}
    kept = memory.record_fact(text, "error", 0.9, named)
    assert kept.findings is None
    more = {"files": ["given.py", "src/io.py"], "functions": ["load"], "error_codes": ["OSError"]}
    assert kept.entities == Entities.model_validate(named | more)
    assert memory.get(kept.id) == kept
    assert [hit.record.id for hit in memory.recall("OSError load")] == [kept.id]
    assert wrong_with(memory) == []


def test_a_fact_that_does_not_stand_alone_is_kept_and_says_so(memory: Memory) -> None:
    kept = memory.record_fact("It fails since the upgrade, which came recently.", "observation")
    assert kept.content == "It fails since the upgrade, which came recently."
    found = ['pronoun "It": name what it stands for', 'relative date "recently": say the date']
    assert kept.findings == found
    assert memory.get(kept.id) == kept


def test_records_added_or_loaded_stay(memory: Memory, tmp_path: Path, place: Places) -> None:
    given = fact("It broke yesterday in a.py.")
    memory.add(given)
    again = fact("It broke yesterday in a.py.")
    memory.add_many([again])
    kept = memory.get(given.id)
    assert isinstance(kept, Fact)
    assert (kept.content, kept.entities, kept.findings) == (given.content, Entities(), None)
    memory.export(tmp_path / "facts.jsonl")
    with Memory(place("other")) as other:
        assert other.load(tmp_path / "facts.jsonl").added == 2
        loaded = other.get(given.id)
        assert isinstance(loaded, Fact)
        assert loaded.content == given.content


def test_secrets_are_gone_before_names_are_found(memory: Memory) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    kept = memory.record_fact(f"The token {token} was printed by deploy.py.", "error")
    assert kept.redacted == ["github-token"]
    assert token not in kept.to_json()
    assert kept.entities.files == ["deploy.py"]
    assert "[REDACTED:github-token]" in kept.content


@given(facts)
def test_json_keeps_what_a_fact_was_and_lacks(record: Fact) -> None:
    assert parse_record(record.to_json()) == record
    assert Fact.model_validate(record.to_agentdb()).content == record.content
    assert "findings" not in record.to_agentdb(), "the metadata schema knows neither"


SAID = "The staging server drops idle clients."
SAYS_THE_SAME = [(SAID, "the staging   server drops idle clients")]
SAYS_THE_SAME += [("The user\u2019s token leaks.", "The user's token leaks")]

SAYS_SOMETHING_ELSE = [
    (SAID, "The staging server does not drop idle clients."),
    ("The pool returns -1 for every closed handle.", "The pool returns 1 for every closed handle."),
    ("word " * 100 + "one", "word " * 100 + "two"), ("Guard it with ready.", "Guard it with !ready."),
    ("The C compiler crashes.", "The C++ compiler crashes."),
    ("The key user.name must be unset.", "The key user.Name must be unset."),
    ("The variable Foo shadows the builtin.", "The variable foo shadows the builtin."),
    ("No, retries are needed.", "No retries are needed."), ("The area is 5 m\u00b2.", "The area is 5 m2."),
    ("The server restarts.", "The server restarts?"),
]  # fmt: skip


@pytest.mark.parametrize(("first", "again"), SAYS_THE_SAME)
def test_what_says_the_same_strengthens_the_first(memory: Memory, first: str, again: str) -> None:
    kept = memory.record_fact(first, "observation", author="ann")
    assert memory.record_fact(again, "observation", author="ben") == kept
    assert memory.stats().records == 1
    life = memory.audit(kept.id)
    assert [(event.kind, event.by) for event in life] == [("created", "ann"), ("repeated", "ben")]
    assert wrong_with(memory) == []


@pytest.mark.parametrize(("first", "again"), SAYS_SOMETHING_ELSE)
def test_what_says_something_else_is_another_fact(memory: Memory, first: str, again: str) -> None:
    kept = memory.record_fact(first, "observation")
    assert memory.record_fact(again, "observation", author="ben").id != kept.id
    assert not repeats(fact(first), fact(again))


def test_a_day_that_is_not_told_is_another_on_another_day(place: Places, clock: Clock) -> None:
    with Memory(place("m"), clock=clock) as memory:
        kept = memory.record_fact("The release is tomorrow.", "observation")
        assert memory.record_fact("The release is tomorrow.", "observation").id == kept.id
        clock.now += timedelta(days=1)
        assert memory.record_fact("The release is tomorrow.", "observation").id != kept.id


def test_other_words_are_kept_with_the_repetition(memory: Memory) -> None:
    first, again = SAYS_THE_SAME[0]
    kept = memory.record_fact(first, "observation")
    memory.record_fact(again, "observation", author="ben")
    memory.record_fact(first, "observation", author="eva")
    assert [event.event.reason for event in memory.audit(kept.id) if event.event] == [again, None]


def helped(memory: Memory, record_id: str) -> int:
    stored = memory._project.store.get(memory.project, record_id)
    assert stored
    return stored.helped


def test_each_other_author_speaks_for_it_once(memory: Memory) -> None:
    kept = memory.record_fact(SAID, "observation", author="ann")
    for author in ("ann", "ben", "ben", "eva"):
        memory.record_fact(SAID, "observation", author=author)
    assert helped(memory, kept.id) == 2
    memory.credit(kept.id, True)
    assert helped(memory, kept.id) == 3
    assert memory.rebuild() == 0
    assert wrong_with(memory) == []


def test_a_fact_that_others_confirm_stands_higher(memory: Memory) -> None:
    one = memory.record_fact("Staging drops idle database clients quickly.", "observation")
    two = memory.record_fact("Staging drops idle websocket clients quickly.", "observation")
    for author in ("ben", "eva", "kim"):
        memory.record_fact(one.content, "observation", author=author)
    hits = memory.recall("staging drops idle clients quickly")
    assert [hit.record.id for hit in hits] == [one.id, two.id]


def test_one_event_tells_a_day_of_one_author(place: Places, clock: Clock) -> None:
    with Memory(place("m"), clock=clock) as memory:
        kept = memory.record_fact(SAID, "observation")
        for _ in range(5):
            memory.record_fact(SAID, "observation")
        assert len(memory.audit(kept.id)) == 2
        clock.now = clock.now.replace(year=clock.now.year + 1)
        memory.record_fact(SAID, "observation")
        assert len(memory.audit(kept.id)) == 3


def test_what_brings_something_new_is_kept(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1")
    same: dict[str, Any] = {"tags": ["net"], "related_files": [tmp_path / "a.py"]}
    same["failure_hash"] = "f"
    first = memory.record_fact(SAID, "observation", **same)
    assert memory.record_fact(SAID, "observation", **same).id == first.id
    assert memory.record_fact(SAID, "observation").id == first.id
    tagged = memory.record_fact(SAID, "observation", tags=["net", "ops"])
    assert tagged.metadata.tags == ["net", "ops"]
    (tmp_path / "a.py").write_text("2")
    changed = memory.record_fact(SAID, "observation", related_files=[tmp_path / "a.py"])
    failed = memory.record_fact(SAID, "observation", failure_hash="g")
    about = memory.record_fact(SAID, "observation", entities={"libraries": ["haproxy"]})
    decided = memory.record_fact(SAID, "decision")
    assert len({first.id, tagged.id, changed.id, failed.id, about.id, decided.id}) == 6
    assert memory.record_fact(SAID, "observation", tags=["ops"]).id == tagged.id


def test_a_fact_that_was_added_without_names_is_known_too(memory: Memory) -> None:
    given = fact("The parser in a.py fails on empty input files.")
    memory.add(given)
    assert memory.record_fact(given.content, "observation", author="ben").id == given.id


def test_archived_and_rolled_back_facts_are_not_strengthened(memory: Memory) -> None:
    wrong = memory.record_fact(SAID, "observation", author="eve")
    memory.archive(wrong.id, "not true")
    second = memory.record_fact(SAID, "observation", author="eve")
    assert second.id != wrong.id
    memory.rollback("eve")
    third = memory.record_fact(SAID, "observation", author="ann")
    assert third.id != second.id
    # what it says counts for nobody
    assert memory.record_fact(SAID, "observation", author="eve").id != third.id
    assert helped(memory, third.id) == 0
    assert wrong_with(memory) == []


def test_projects_are_walls(memory: Memory) -> None:
    first = memory.record_fact(SAID, "observation")
    with Memory(memory.location, project="other") as other:
        assert other.record_fact(SAID, "observation").id != first.id


def test_repetitions_are_merged_and_derived_again(memory: Memory, place: Places) -> None:
    first = memory.record_fact(SAID, "observation", author="ann")
    with Memory(place("other")) as other:
        other.merge(memory, trust=True)
        other.record_fact(SAID, "observation", author="ben")
        memory.record_fact(SAID, "observation", author="eva")
        memory.merge(other, trust=True)
        other.merge(memory, trust=True)
        for each in (memory, other):
            assert helped(each, first.id) == 2
            assert each.rebuild() == 0
            assert wrong_with(each) == []
        ours, theirs = (list(map(str, of.audit(first.id))) for of in (memory, other))
        assert ours == theirs


def test_a_forgotten_fact_can_be_said_anew(memory: Memory) -> None:
    first = memory.record_fact(SAID, "observation")
    memory.record_fact(SAID, "observation", author="ben")
    memory.forget(first.id)
    assert memory.record_fact(SAID, "observation").id != first.id
    assert wrong_with(memory) == []


def test_two_processes_do_not_both_add_it(memory: Memory) -> None:
    def say(author: str, tell: Callable[[str], None]) -> None:
        with Memory(memory.location) as own:
            for number in range(20):
                text = f"Worker {number} drops idle clients at night."
                tell(own.record_fact(text, "observation", author=author).id)

    children = [Child.start(say, name) for name in ("ann", "ben", "eva")]
    for child in children:
        child.wait()
    assert memory.stats().records == 20
    assert wrong_with(memory) == []


def test_repeating_asks_for_no_more_than_the_first_has() -> None:
    file = RelatedFile(path="a.py", hash="1")
    envelope = {"tags": ["a"], "context": {"related_files": [file]}}
    rich = fact("The cache is cold.", metadata=Metadata.model_validate(envelope))
    assert repeats(rich, fact("The cache is cold."))
    assert not repeats(fact("The cache is cold."), rich)
