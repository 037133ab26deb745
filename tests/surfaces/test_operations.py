"""The table of operations is whole: what `Memory` offers is in it or is told why not."""

from __future__ import annotations

import inspect
import json
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import hardwon
from command_line import COMMANDS
from engines import ENGINES, Places
from generating.here_alone import HERE_ALONE
from hardwon import Client, Memory, limits
from hardwon.errors import (
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    RepeatedError,
    TooManyRequestsError,
)
from hardwon.memory.project import Noun
from hardwon.surfaces import arguments
from hardwon.surfaces.gate import Gate
from hardwon.surfaces.operations import OPERATIONS, Operation
from hardwon.surfaces.shapes import json_bytes, jsonable, make_schema, parse
from hardwon.trust.access import SCOPES, Caller

pytestmark = pytest.mark.engines(*ENGINES)

ALL = list(OPERATIONS.values())
NAMES = list(OPERATIONS)
GROUPS = {name for name, found in vars(Memory).items() if isinstance(found, Noun)}
FLAT = {name for name in dir(Memory) if not name.startswith("_")} - GROUPS
GROUPED = ((group, name) for group in GROUPS for name in dir(getattr(Memory, group)))
PUBLIC = FLAT | {f"{group}.{name}" for group, name in GROUPED if not name.startswith("_")}

NOT_SENT = {"self", "author", "by", "progress", "count_tokens"}
"""Keywords of `Memory` that do not go over a wire: the token says who asks."""

OTHERWISE: dict[str, set[str]] = {
    "credit": {"context_or_ids"},
    "forget": {"ids_or_filters"},
    "export": {"path"},
    "load": {"path"},
    "backup": {"path"},
}
"""Keywords that callers elsewhere say in another way."""


def test_the_commands_of_operations_are_there() -> None:
    assert {each.command for each in ALL} - {None} <= set(COMMANDS)


def test_everything_that_a_memory_offers_is_declared_or_has_a_reason() -> None:
    assert PUBLIC - OPERATIONS.keys() == HERE_ALONE.keys()
    assert not OPERATIONS.keys() & HERE_ALONE.keys()
    assert OPERATIONS.keys() <= PUBLIC
    assert all(len(reason) > 15 for reason in HERE_ALONE.values())


@pytest.mark.parametrize("operation", ALL, ids=NAMES)
def test_an_operation_takes_what_the_method_takes(operation: Operation) -> None:
    parameters = inspect.signature(operation.find_method(Memory)).parameters
    open_kind = inspect.Parameter.VAR_KEYWORD
    named = {name for name, one in parameters.items() if one.kind is not open_kind}
    open_ended = len(named) < len(parameters)
    taken = set(operation.takes.model_fields)
    missing = named - NOT_SENT - OTHERWISE.get(operation.name, set()) - taken
    if operation.name == "verify":
        assert "by" in taken  # what confirmed it; who says so is the author
    assert not missing
    assert open_ended or taken <= named | {"ids"}


@pytest.mark.parametrize("operation", ALL, ids=NAMES)
def test_an_operation_is_described_with_examples(operation: Operation) -> None:
    assert len(operation.description) > 20
    schema = operation.takes.model_json_schema()
    for name in schema.get("required", ()):
        assert schema["properties"][name].get("examples"), f"{operation.name}.{name} has no example"
    assert operation.scope in SCOPES
    assert set(operation.in_path) == set(re.findall(r"\{(.+?)\}", operation.path))


def test_no_two_operations_share_an_address_or_a_name() -> None:
    assert len({(each.method, each.path) for each in ALL}) == len(ALL)
    tools = [each.tool for each in ALL if each.tool]
    assert len(set(tools)) == len(tools)


def test_reading_is_what_needs_no_more_than_reading() -> None:
    for operation in ALL:
        reads = operation.scope == "read" or operation.name in ("doctor", "backup")
        assert operation.reads == reads, operation.name
        assert operation.method == "POST" or reads, f"{operation.name} changes something by a GET"
        assert not (operation.again and reads)


def test_a_caller_cannot_say_who_it_is() -> None:
    for operation in ALL:
        fields = set(operation.takes.model_fields)
        # a filter, and who would take the action that is asked about
        if operation.name not in ("recall", "care.page", "episodes.compare", "forget", "advise"):
            assert "author" not in fields, operation.name
        assert "by" not in fields or operation.name == "verify"
        assert not {"project", "project_id"} & fields


NOT_OF_A_CLIENT = {
    *("export", "load", "backup"),  # files, which go by HTTP itself
    *("tokens", "merge", "restore", "check_stale", "fixes.history", "tree.make", "tree.mirror"),
    *("tests.record", "tests.publish", "skills.export"),
    "care.wait_for_vectors",
    *(
        "care.once", "care.now", "care.values", "care.take_in", "care.in_project",
        "care.record_many",
    ),
    *("entries.put", "entries.append", "entries.list", "entries.names", "elsewhere"),
}  # fmt: skip


def test_the_client_has_the_methods_of_a_memory(tmp_path: Path) -> None:
    with Client("http://127.0.0.1:1") as client, Memory(tmp_path) as memory:
        for name in sorted(PUBLIC - NOT_OF_A_CLIENT):
            found, original = (attrgetter(name)(each) for each in (client, memory))
            if callable(original):
                both = (found, original)
                ours, theirs = (list(inspect.signature(one).parameters) for one in both)
                assert ours == theirs, name
                assert found.__doc__, name
        for name in NOT_OF_A_CLIENT:
            with pytest.raises(AttributeError):
                attrgetter(name)(client)


@pytest.fixture
def full(tmp_path: Path) -> Memory:
    memory = Memory(tmp_path / "brain", checkout=False)
    issue = {"model": "m", "issue_type": "TIMEOUT", "description": "slow"}
    failed = memory.remember("upload failed", "failure", tool="unknown", tags=["x"], author="a")
    memory.remember("upload works in parts", "learning", insight_type="fact", author="b")
    for works in (True, False, True):
        memory.record_fix(issue, works, works, fix_commands=["raise the timeout"], author="a")
    told: dict[str, Any] = {"mistakes": ["forgot zones"], "successes": ["looked first"]}
    for score in (0.2, 0.9):
        memory.record_episode("t", score, recalled=[failed.id], **told)
    memory.record_trajectory("t", [{"action": "a", "observation": "Error: x", "reward": 0.1}], 0.9)
    mended = [
        {"action": "make test", "observation": "KeyError: 'id'", "ok": False},
        {"action": "make migrate", "ok": True},
        {"action": "make test", "ok": True},
    ]
    memory.record_trajectory("t", mended)
    memory.record_fact("Uploads over 2 GB fail in src/upload.py.", "error")
    memory.rollback("nobody")
    return memory


SAID: dict[str, dict[str, Any]] = {
    "recall": {"query": "upload failed"}, "context": {"query": "upload failed", "task_id": "t"},
    "advise": {"action": "raise the timeout"},
    "similar_issues": {"issue": {"model": "m", "issue_type": "TIMEOUT", "description": "slow"}},
    "fixes.strategies": {"issue_type": "TIMEOUT"},
    "fixes.failed_strategies": {"issue_type": "TIMEOUT"}, "model_insights": {"name": "m"},
    "episodes.scores": {"task_id": "t"}, "care.adopted": {"origin": "x"},
}  # fmt: skip


@pytest.mark.parametrize("name", [each.name for each in ALL if each.reads and not each.streams])
def test_an_answer_comes_back_from_json_and_fits_its_schema(full: Memory, name: str) -> None:
    operation = OPERATIONS[name]
    newest = next(iter(full.browse(kind="experience")))
    ids = {"record_id": newest.id, "lesson_id": full.lessons()[0].id}
    said = {key: ids[key] for key in operation.in_path} or SAID.get(name, {})
    answer = operation.do(full, operation.takes.model_validate(said), Caller("me", "admin"))
    wire = json.loads(json_bytes(answer))
    assert parse(operation.gives, wire) == answer
    checker = jsonschema.FormatChecker()
    jsonschema.validate(wire, make_schema(operation.gives), format_checker=checker)


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(TypeError, match="nothing that goes over a wire"):
        jsonable(object())
    with pytest.raises(InvalidInputError):
        parse(list[int], ["x"])


def _gate(folder: Path, **options: Any) -> tuple[Gate, Memory]:
    memory = Memory(folder / "brain")

    def open_memory(project: str) -> Memory:
        return Memory(folder / "brain", project, checkout=False)

    return Gate(open_memory, memory.tokens, **options), memory


@pytest.mark.parametrize("name", ["author", "content", "source", "timestamp", "keys"])
def test_a_key_of_ones_own_is_nothing_that_a_record_has(tmp_path: Path, name: str) -> None:
    gate, _ = _gate(tmp_path)
    keys = {name: "somebody else"}
    said = arguments.Remember(content="it works", outcome="success", tool="conversation", keys=keys)
    with pytest.raises(InvalidInputError, match=f"keys.{name}"):
        gate.perform(Caller("ci", "write"), "remember", "alpha", said)


CLAIMS = [{"status": "verified", "verified_by": "test_runner"}, {"status": "archived"}]
CLAIMS += [{"verified_by": "human_approval"}, {"verification_id": "build 7"}]


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_writer_does_not_decide_what_is_believed(tmp_path: Path, claim: dict[str, str]) -> None:
    gate, _ = _gate(tmp_path)
    whole: Any = {"kind": "fact", "content": "The port is 80.", "fact_type": "observation"}
    whole["metadata"] = {"source": {"type": "test_result"}, "validation": claim}
    with pytest.raises(InvalidInputError, match="scope govern may claim more"):
        gate.perform(Caller("ci", "write"), "add", "alpha", arguments.Add(record=whole))
    assert gate.perform(Caller("ci", "write"), "stats", "alpha", arguments.Nothing()).records == 0
    assert gate.perform(Caller("lead", "govern"), "add", "alpha", arguments.Add(record=whole))


@pytest.mark.parametrize("kind", ["decision", "adopted", "cleaned", "nonsense", None, 7])
def test_only_what_was_tried_is_added(tmp_path: Path, kind: Any) -> None:
    gate, _ = _gate(tmp_path)
    with pytest.raises(InvalidInputError):
        gate.perform(Caller("boss", "admin"), "add", "alpha", arguments.Add(record={"kind": kind}))


def test_projects_beyond_reach_are_not_even_named(tmp_path: Path) -> None:
    gate, _ = _gate(tmp_path)
    for project in ("alpha", "beta"):
        said = arguments.Remember(content="x", outcome="learning", insight_type="fact")
        gate.perform(Caller("ci", "write"), "remember", project, said)
    assert gate.projects(Caller("ci", "read"), "alpha") == ["alpha", "beta"]
    assert gate.projects(Caller("ci", "read", ("beta", "gamma")), "beta") == ["beta"]
    with pytest.raises(ForbiddenError, match="does not reach project 'alpha'"):
        gate.perform(Caller("ci", "admin", ("beta",)), "stats", "alpha", arguments.Nothing())


def test_who_asks_too_often_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: at)
    door, memory = _gate(tmp_path, requests_per_s=2.0)
    _, secret = memory.tokens.create("ci")
    _, other = memory.tokens.create("other")
    for _ in range(4):  # two seconds' worth
        door.admit(secret)
    with pytest.raises(TooManyRequestsError) as told:
        door.admit(secret)
    assert told.value.wait_s == pytest.approx(0.5)
    assert door.admit(other).name == "other"
    at += 0.5
    assert door.admit(secret).name == "ci"


def test_memories_nobody_uses_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardwon.surfaces.gate.MEMORIES_OPEN_MAX", 2)
    opened: dict[str, Memory] = {}

    def open_memory(project: str) -> Memory:
        opened[project] = Memory(tmp_path / "brain", project, checkout=False)
        return opened[project]

    door = Gate(open_memory, None, open_to=Caller("me", "admin"))
    with door.memory(Caller("me", "admin"), OPERATIONS["export"], "a"):
        for project in ("b", "c", "d"):
            door.perform(Caller("me", "admin"), "stats", project, arguments.Nothing())
        assert opened["a"].stats().records == 0  # it is in use
        for project in ("b", "c"):
            with pytest.raises(hardwon.HardwonError, match="closed"):
                opened[project].stats()
    assert door.perform(Caller("me", "admin"), "stats", "b", arguments.Nothing()).records == 0
    door.close()


ME = Caller("me", "admin")


@pytest.fixture
def gate(place: Places) -> Iterator[Gate]:
    brain = place("brain")
    opened = Gate(lambda project: Memory(brain, project, checkout=False), None, open_to=ME)
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
