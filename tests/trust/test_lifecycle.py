"""A record's life, held against a model that knows nothing but the rules."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from cases import examples
from engines import ENGINES, Places, memories, wrong_with
from hardwon import Fact, Memory, Metadata, Source
from hardwon.errors import InvalidInputError
from hardwon.records.kinds import STATUSES, VERIFIERS, AnyRecord, Validation
from hardwon.trust.lifecycle import MAY_CLAIM_VERIFIED, NEXT_STATUSES
from short import need, succeed
from strategies import at

pytestmark = pytest.mark.engines(*ENGINES)

WHO = st.sampled_from(["ann", "bob", "eve"])
SOURCES = ["user_interaction", "agent_execution", "test_result", "file_analysis"]


@dataclass
class Known:
    """What the model knows of a record."""

    status: str
    author: str
    helped: int = 0
    hindered: int = 0
    replaced_by: str | None = None
    confirmed: bool = False
    votes: dict[str, list[int]] = field(default_factory=dict)


class Lifecycle(RuleBasedStateMachine):
    engine = "sqlite"
    records = Bundle("records")
    moments = Bundle("moments")

    def __init__(self) -> None:
        super().__init__()
        self._until_torn_down = ExitStack()
        self._now = at(0)
        opened = memories(self.engine, 1, clock=self._tick)
        (self.memory,) = self._until_torn_down.enter_context(opened)
        self.model: dict[str, Known] = {}

    def teardown(self) -> None:
        with self._until_torn_down:
            assert wrong_with(self.memory) == []

    def _tick(self) -> datetime:
        self._now += timedelta(seconds=1)
        return self._now

    def _publish_if_due(self, record: str) -> None:
        known = self.model[record]
        others = [votes for who, votes in known.votes.items() if who != known.author]
        helped = [min(votes[0], 3) for votes in others if votes[0]]
        hindered = sum(min(votes[1], 3) for votes in others)
        proven = len(helped) > 1 and sum(helped) >= 3 and sum(helped) > hindered
        if known.status == "verified" and known.confirmed and proven:
            known.status = "published"

    @rule(
        target=records,
        source=st.sampled_from(SOURCES),
        status=st.sampled_from(STATUSES),
        verifier=st.none() | st.sampled_from(VERIFIERS),
        author=st.sampled_from(["ann", "bob"]),
    )
    def add(self, source: Any, status: Any, verifier: Any, author: str) -> Any:
        metadata = Metadata(
            source=Source(type=source, author=author),
            context={"timestamp": self._tick()},
            validation=Validation(status=status, verified_by=verifier),
        )
        text = f"The cache of host{len(self.model)} is stale"
        fact = Fact(content=text, fact_type="observation", metadata=metadata)
        knows = verifier is not None and MAY_CLAIM_VERIFIED.get(source) == verifier
        if status not in ("hypothesis", "archived") and not (status == "verified" and knows):
            with pytest.raises(InvalidInputError, match=r"metadata\.validation\.status"):
                self.memory.add(fact)
            assert self.memory.get(fact.id) is None
            return multiple()
        self.memory.add(fact)
        self.model[fact.id] = Known(status, author)
        return fact.id

    @rule(record=records, to=st.sampled_from(STATUSES), by=st.sampled_from(VERIFIERS))
    def change(self, record: str, to: Any, by: Any) -> None:
        known = self.model[record]
        if to == "hypothesis":
            return
        act: Callable[[], AnyRecord] = {
            "verified": lambda: self.memory.verify(record, by, "run 7"),
            "published": lambda: self.memory.publish(record),
            "archived": lambda: self.memory.archive(record, "wrong"),
        }[to]
        if to not in NEXT_STATUSES[known.status]:  # type: ignore[index]
            with pytest.raises(InvalidInputError, match="status"):
                act()
            return
        changed = act()
        known.status = to
        assert changed.metadata.validation.status == to
        if to == "verified":
            known.confirmed = True
            assert changed.metadata.validation.verified_by == by

    @rule(record=records, helped=st.booleans(), by=WHO)
    def credit(self, record: str, helped: bool, by: str) -> None:
        self.memory.credit(record, helped, by)
        known = self.model[record]
        known.votes.setdefault(by, [0, 0])[0 if helped else 1] += 1
        self._publish_if_due(record)

    @rule(record=records, reward=st.sampled_from([0.0, 1.0]), by=WHO)
    def attempt(self, record: str, reward: float, by: str) -> None:
        """An attempt that says what it recalled is a vote for it."""
        self.memory.record_trajectory("t", [], reward, recalled=[record], author=by)
        self.model[record].votes.setdefault(by, [0, 0])[0 if reward else 1] += 1
        if reward:
            self._publish_if_due(record)

    @rule(old=records, new=records)
    def supersede(self, old: str, new: str) -> None:
        if old == new or self.model[new].status == "archived":
            with pytest.raises(InvalidInputError, match="new_id"):
                self.memory.supersede(old, new, "better")
            return
        self.memory.supersede(old, new, "better")
        self.model[old].status = "archived"
        self.model[old].replaced_by = new

    @rule(record=consumes(records))
    def forget(self, record: str) -> None:
        self.memory.forget(record)
        assert self.memory.get(record) is None
        assert self.memory.get(record, as_of=self._now) is None
        del self.model[record]

    @rule(target=moments)
    def look_back_to(self) -> Any:
        moment = self._now, {record: known.status for record, known in self.model.items()}
        self._tick()
        return moment

    @rule(moment=moments)
    def look_back(self, moment: tuple[datetime, dict[str, str]]) -> None:
        when, statuses = moment
        then = {record: self.memory.get(record, as_of=when) for record in self.model}
        for record, found in then.items():
            assert (found.metadata.validation.status if found else None) == statuses.get(record)
        known = {record: statuses.get(record, "archived") for record in self.model}
        hits = self.memory.recall("stale cache", 100, as_of=when, kind="fact")
        believed = {record for record, status in known.items() if status != "archived"}
        assert {hit.record.id for hit in hits} == believed

    @invariant()
    def statuses_are_what_the_rules_say(self) -> None:
        for record, known in self.model.items():
            found = need(self.memory.get(record))
            assert found.metadata.validation.status == known.status
            assert self.memory.care.links(record).replaced_by == known.replaced_by
            life = self.memory.audit(record)
            assert life[0].kind == "created"
            assert life[-1].status == known.status

    @invariant()
    def recall_gives_what_is_not_archived(self) -> None:
        alive = {record for record, known in self.model.items() if known.status != "archived"}
        hits = self.memory.recall("stale cache", 100, kind="fact")
        assert {hit.record.id for hit in hits} == alive


class LifecycleInPostgres(Lifecycle):
    engine = "postgres"


TestLifecycleInPostgres = LifecycleInPostgres.TestCase
TestLifecycle = Lifecycle.TestCase
steps = settings(stateful_step_count=30)
TestLifecycleInPostgres.settings = settings(steps, max_examples=examples(10))
TestLifecycle.settings = settings(steps, max_examples=examples(40))


def test_all_that_proved_itself_is_published_at_once(memory: Memory) -> None:
    ids = [memory.record_fact(f"Port {port} is open.", "observation").id for port in (80, 81)]
    for record_id in ids:
        memory.verify(record_id, "human_approval")
        for _ in range(3):
            memory.credit(record_id, True, by="ann")
    memory.credit(ids, True, by="bob")
    assert {memory.audit(one)[-1].status for one in ids} == {"published"}


def test_a_published_record_says_why(memory: Memory) -> None:
    fact = memory.record_fact("The build needs Node 20.", "observation")
    memory.verify(fact.id, "test_runner", "ci-12")
    for _ in range(5):
        memory.credit(fact.id, True)
    assert memory.audit(fact.id)[-1].status == "verified", "one source publishes nothing"
    memory.credit(fact.id, True, by="bob")
    last = memory.audit(fact.id)[-1]
    assert (last.status, last.by) == ("published", "hardwon")
    assert last.event is not None
    assert last.event.reason == "credited 4 times by 2 sources"


def test_a_rule_is_believed_as_far_as_its_least_believed_episode(memory: Memory) -> None:
    first, second = (succeed(memory, "Read the log", author=who) for who in ("ann", "bob"))

    def trust() -> list[str]:
        return [rule.trust for rule in memory.rules("t")]

    assert trust() == ["hypothesis"]
    memory.verify(first.id, "test_runner")
    assert trust() == ["hypothesis"]
    memory.verify(second.id, "test_runner")
    assert trust() == ["verified"]
    memory.publish(first.id)
    memory.publish(second.id)
    assert trust() == ["published"]


def test_a_record_that_came_later_was_not_believed_then(tmp_path: Path, place: Places) -> None:
    with Memory(place("one"), clock=lambda: at(100)) as memory:
        fact = memory.record_fact("Redis listens on 6380.", "observation", timestamp=at(10))
        memory.export(tmp_path / "all.jsonl")
        assert memory.get(fact.id, as_of=at(20)) is not None
        assert memory.get(fact.id, as_of=at(5)) is None
    with Memory(place("other"), clock=lambda: at(50)) as other:
        other.load(tmp_path / "all.jsonl")
        assert other.get(fact.id, as_of=at(20)) is None
        assert other.get(fact.id, as_of=at(60)) is not None
        assert other.recall("redis", as_of=at(20)) == []


def test_a_source_that_was_rolled_back_later_was_believed_then(place: Places) -> None:
    moments = iter(at(second) for second in range(1000))
    with Memory(place("brain"), clock=lambda: next(moments)) as memory:
        memory.record_fact("Redis listens on 6380.", "observation", author="eve")
        before = next(moments)
        decision = memory.rollback("eve")
        during = next(moments)
        memory.undo(decision.id)
        times = (before, during, next(moments))
        assert [len(memory.recall("redis", as_of=when)) for when in times] == [1, 0, 1]


@pytest.mark.parametrize("when", ["yesterday", "2026-01-01T00:00:00", -1.5, object()])
def test_times_without_a_meaning_are_refused(memory: Memory, when: Any) -> None:
    with pytest.raises(InvalidInputError, match="as_of"):
        memory.recall("x", as_of=when)
    with pytest.raises(InvalidInputError, match="filters"):
        memory.recall("x", any_standing=True)  # type: ignore[call-arg]
