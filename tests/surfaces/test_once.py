"""What is asked for under an idempotency key is carried out once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from engines import ENGINES, Places
from hardwon import Memory, limits
from hardwon.errors import ConflictError, RepeatedError
from hardwon.surfaces import arguments
from hardwon.surfaces.gate import Gate
from hardwon.surfaces.operations import OPERATIONS
from hardwon.trust.access import Caller

pytestmark = pytest.mark.engines(*ENGINES)
ME = Caller("me", "admin")


@pytest.fixture
def gate(place: Places) -> Iterator[Gate]:
    opened = Gate(lambda project: Memory(place("brain"), project, checkout=False), None, open_to=ME)
    yield opened
    opened.close()


def asked(gate: Gate, name: str, key: str | None, **said: Any) -> Any:
    return gate.perform(ME, name, "default", OPERATIONS[name].takes.model_validate(said), key)


def learned(gate: Gate, key: str | None, content: str = "Retry after a minute.") -> Any:
    return asked(gate, "remember", key, content=content, outcome="learning", insight_type="fact")


def records(gate: Gate) -> int:
    return int(asked(gate, "stats", None).records)


def test_the_second_time_the_first_answer_comes_back(gate: Gate) -> None:
    first, second = learned(gate, "k"), learned(gate, "k")
    assert first == second
    assert records(gate) == 1
    assert learned(gate, "other").id != first.id
    assert learned(gate, None).id != first.id
    assert records(gate) == 3


def test_a_key_is_for_one_request(gate: Gate) -> None:
    learned(gate, "k")
    with pytest.raises(ConflictError, match="under a key of its own"):
        learned(gate, "k", "Something else.")
    with pytest.raises(ConflictError):
        asked(gate, "record_fact", "k", content="Retry after a minute.", fact_type="solution")
    assert records(gate) == 1


def test_keys_of_two_callers_are_two_keys(gate: Gate) -> None:
    said = arguments.Remember(content="x", outcome="learning", insight_type="fact")
    callers = (Caller("a", "write"), Caller("b", "write"))
    made = {gate.perform(caller, "remember", "default", said, "k").id for caller in callers}
    assert len(made) == 2


def test_every_operation_with_a_key_answers_the_same_again(gate: Gate) -> None:
    record, other = learned(gate, None), learned(gate, None, "Never retry.")
    issue = {"model": "m", "issue_type": "TIMEOUT", "description": "slow"}
    whole = {"kind": "fact", "content": "The queue is empty at night.", "fact_type": "observation"}
    decision = asked(gate, "rollback", None, source="nobody")
    steps = [{"action": "a", "observation": "o", "reward": 0.5}]
    said: dict[str, dict[str, Any]] = {
        "remember": {"content": "x", "outcome": "learning", "insight_type": "fact"},
        "record_fact": {"content": "The port is 80.", "fact_type": "observation"},
        "record_trajectory": {"task": "t", "steps": steps, "final_reward": 1.0},
        "record_episode": {"task_id": "t", "score": 0.5},
        "record_fix": {"issue": issue, "fix_success": True, "verification_success": True},
        "add": {"record": whole},
        "add_many": {"records": [whole, whole]},
        "credit": {"ids": [record.id, other.id], "outcome": True},
        "verify": {"record_id": record.id, "by": "compiler"},
        "publish": {"record_id": record.id},
        "archive": {"record_id": record.id, "reason": "gone"},
        "supersede": {"old_id": record.id, "new_id": other.id, "reason": "better"},
        "rollback": {"source": "somebody"},
        "undo": {"decision_id": decision.id},
    }
    assert set(said) == {name for name, operation in OPERATIONS.items() if operation.again}
    for name, arguments_ in said.items():
        key = f"key of {name}"
        first = asked(gate, name, key, **arguments_)
        before = (records(gate), asked(gate, "stats", None).events)
        assert asked(gate, name, key, **arguments_) == first, name
        assert (records(gate), asked(gate, "stats", None).events) == before, name


def test_a_fact_that_is_said_again_is_strengthened_once(gate: Gate) -> None:
    fact = {"content": "The port is 80.", "fact_type": "observation"}
    first = asked(gate, "record_fact", None, **fact)
    events = asked(gate, "stats", None).events
    answers = [asked(gate, "record_fact", "k", **fact).id for _ in range(3)]
    assert answers == [first.id] * 3
    assert asked(gate, "stats", None).events == events + 1


def test_at_the_same_time_it_is_carried_out_once(gate: Gate) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda number: learned(gate, f"key {number % 10}").id, range(80)))
    assert len(made) == records(gate) == 10


def test_keys_are_forgotten_after_a_while(place: Places) -> None:
    days = limits.REQUESTS_REMEMBERED_DAYS
    # a server goes by its own clock
    at = datetime.now(UTC) - timedelta(days=days, hours=1)
    with Memory(place("brain"), clock=lambda: at) as memory:
        for number in range(3):
            with memory.care.once(b"%d" % number, b"said"):
                memory.remember("x", "learning", insight_type="fact")
        at += timedelta(days=days, seconds=1)
        with memory.care.once(b"new", b"said"):
            memory.remember("x", "learning", insight_type="fact")
        with memory.care.once(b"0", b"said"):
            assert memory.remember("x", "learning", insight_type="fact")
        with pytest.raises(RepeatedError), memory.care.once(b"new", b"said"):
            memory.remember("x", "learning", insight_type="fact")
