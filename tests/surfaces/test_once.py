"""What is asked for under an idempotency key is carried out once: twice in a row, at the same time,
and after a crash.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from engines import ENGINES, Places
from hardwon import Memory, limits
from hardwon.errors import ConflictError, RepeatedError, UnknownRecordError
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
    made = {
        gate.perform(Caller(name, "write"), "remember", "default", said, "k").id
        for name in ("a", "b")
    }
    assert len(made) == 2


def test_every_operation_with_a_key_answers_the_same_again(gate: Gate) -> None:
    record, other = learned(gate, None), learned(gate, None, "Never retry.")
    issue = {"model": "m", "issue_type": "TIMEOUT", "description": "slow"}
    whole = {"kind": "fact", "content": "The queue is empty at night.", "fact_type": "observation"}
    decision = asked(gate, "rollback", None, source="nobody")
    said: dict[str, dict[str, Any]] = {
        "remember": {"content": "x", "outcome": "learning", "insight_type": "fact"},
        "record_fact": {"content": "The port is 80.", "fact_type": "observation"},
        "record_trajectory": {
            "task": "t",
            "steps": [{"action": "a", "observation": "o", "reward": 0.5}],
            "final_reward": 1.0,
        },
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
    first = asked(gate, "record_fact", None, content="The port is 80.", fact_type="observation")
    events = asked(gate, "stats", None).events
    answers = [
        asked(gate, "record_fact", "k", content="The port is 80.", fact_type="observation").id
        for _ in range(3)
    ]
    assert answers == [first.id] * 3
    assert asked(gate, "stats", None).events == events + 1


def test_an_answer_that_was_forgotten_since_is_told(gate: Gate) -> None:
    record = learned(gate, "k")
    asked(gate, "forget", None, ids=[record.id])
    with pytest.raises(UnknownRecordError, match="forgotten since"):
        learned(gate, "k")
    assert records(gate) == 0


def test_at_the_same_time_it_is_carried_out_once(gate: Gate) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda number: learned(gate, f"key {number % 10}").id, range(80)))
    assert len(made) == records(gate) == 10


def test_keys_are_forgotten_after_a_while(place: Places) -> None:
    at = datetime(2026, 11, 15, tzinfo=UTC)
    with Memory(place("brain"), clock=lambda: at) as memory:
        for number in range(3):
            with memory.care.once(b"%d" % number, b"said"):
                memory.remember("x", "learning", insight_type="fact")
        at += timedelta(days=limits.REQUESTS_REMEMBERED_DAYS, seconds=1)
        with memory.care.once(b"new", b"said"):
            memory.remember("x", "learning", insight_type="fact")
        with memory.care.once(b"0", b"said"):
            assert memory.remember("x", "learning", insight_type="fact")
        with pytest.raises(RepeatedError), memory.care.once(b"new", b"said"):
            memory.remember("x", "learning", insight_type="fact")


def test_after_the_block_nothing_is_under_a_key(place: Places) -> None:
    with Memory(place("brain")) as memory:
        with memory.care.once(b"k", b"said"):
            pass
        memory.remember("x", "learning", insight_type="fact")
        with memory.care.once(b"k", b"said"):
            first = memory.remember("y", "learning", insight_type="fact")
            second = memory.remember("z", "learning", insight_type="fact")
        with pytest.raises(RepeatedError) as before, memory.care.once(b"k", b"other"):
            memory.remember("y", "learning", insight_type="fact")
        assert (before.value.said, before.value.ids) == (b"said", [first.id])
        assert memory.get(second.id)


def test_whoever_is_killed_in_between_can_be_asked_again(place: Places) -> None:
    """A process carries out requests until it is killed; another one is asked all of them again."""
    code = textwrap.dedent("""
        import sys
        from hardwon import Memory
        memory = Memory(sys.argv[1])
        for number in range(100_000):
            with memory.care.once(b"%d" % number, b"said"):
                memory.remember(f"number {number}", "learning", insight_type="fact")
            print(number, flush=True)
    """)
    worker = subprocess.Popen(
        [sys.executable, "-c", code, place("brain")], stdout=subprocess.PIPE, text=True
    )
    assert worker.stdout
    acknowledged = [int(worker.stdout.readline()) for _ in range(25)]
    os.kill(worker.pid, signal.SIGKILL)
    acknowledged += [int(line) for line in worker.stdout.read().split()]
    worker.stdout.close()
    worker.wait()
    repeated = 0
    with Memory(place("brain")) as memory:
        for number in range(len(acknowledged) + 5):
            try:
                with memory.care.once(b"%d" % number, b"said"):
                    memory.remember(f"number {number}", "learning", insight_type="fact")
            except RepeatedError as before:
                repeated += 1
                kept = memory.get(before.ids[0])
                assert kept
                assert kept.content == f"number {number}"  # type: ignore[union-attr]
        assert memory.stats().records == len(acknowledged) + 5
    assert len(acknowledged) <= repeated <= len(acknowledged) + 1
