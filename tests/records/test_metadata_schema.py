"""The metadata schema's own JSON, by every door, with the ids, statuses and times it has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from command_line import answered, at_once, keys_of, keys_told_of, refused
from hardwon import Memory, SolutionPattern
from hardwon.errors import InvalidInputError
from hardwon.records.reading import read_record
from hardwon.surfaces.gate import Ask, Gate
from hardwon.surfaces.mcp.server import make_server
from hardwon.trust.access import Caller
from mcp_calls import run, text_of
from serving import served
from short import need

METADATA: dict[str, Any] = {
    "source": {"type": "agent_execution", "id": "trace-81", "author": "claude-code"},
    "context": {
        "timestamp": 1741943700123, "git_commit": "9f2c1e7", "git_branch": "main",
        "related_files": [{"path": "auth.ts", "hash": "da39a3ee5e6b4b0d3255bfef95601890afd80709"}],
    },
    "validation": {
        "status": "published", "verified_by": "test_runner", "verification_id": "run-512", "failure_hash": "c0ffee",
    },
    "tags": ["auth"],
    "project_id": "default",
}  # fmt: skip
FACT: dict[str, Any] = {
    "content": "The Agent fixed the 'null pointer exception' in 'auth.ts' by adding a check.", "fact_type": "solution",
    "confidence": 0.9, "entities": {"files": ["auth.ts"], "functions": ["login"], "libraries": []},
    "metadata": METADATA,
}  # fmt: skip
TRAJECTORY: dict[str, Any] = {
    "steps": [{"action": "npm test", "observation": "TypeError: user is null", "reward": 0.0}],
    "final_reward": 0.0,
    "metadata": {**METADATA, "validation": {"status": "hypothesis"}},
}
PATTERN: dict[str, Any] = {
    "diagnosis_id": "null-user", "strategy": "check the user before its role", "success_rate": 0.75, "usage_count": 4,
    "metadata": {**METADATA, "validation": {"status": "verified"}},
}  # fmt: skip
ALL = (FACT, TRAJECTORY, PATTERN)


def with_context(given: dict[str, Any], **changes: Any) -> dict[str, Any]:
    context = {**given["metadata"]["context"], **changes}
    return {**given, "metadata": {**given["metadata"], "context": context}}


@pytest.mark.parametrize(
    "text",
    [json.dumps(ALL), "\n".join(map(json.dumps, ALL)), json.dumps(ALL, indent=2)],
    ids=["list", "lines", "pretty"],
)
@pytest.mark.usefixtures("own_folder")
def test_a_file_of_it_is_loaded_as_it_stands(text: str) -> None:
    Path("old.json").write_text(text)
    Memory("brain").close()
    would = at_once("load", "old.json", "--dry-run").stdout.splitlines()
    assert would[0].startswith("3 of 3 records would be added")
    assert would[1].startswith("came as 1 published, 1 verified: unverified here until")
    done = answered("load", "old.json")
    assert keys_of(done) <= keys_told_of("load")
    assert (done["added"], done["lowered"]) == (3, {"published": 1, "verified": 1})
    again = answered("load", "old.json")
    assert (again["added"], again["present"], again["lowered"]) == (0, 3, {})
    with Memory("brain") as memory:
        (fact,) = memory.browse(kind="fact")
        validation = fact.metadata.validation
        assert (validation.status, validation.verified_by) == ("hypothesis", None)
        assert (validation.verification_id, validation.failure_hash) == (None, "c0ffee")
        arrival = need(memory.audit(fact.id)[-1].event)
        assert (arrival.kind, arrival.verified_by) == ("imported", "test_runner")
        assert arrival.verification_id == "run-512"
        memory.verify(fact.id, "human_approval")
        assert memory.doctor().ok
        assert memory.rebuild() == 0


@pytest.mark.usefixtures("own_folder")
def test_every_door_takes_it_and_the_same_fact_is_one() -> None:
    Path("facts.json").write_text(json.dumps([FACT, FACT]))
    done = answered("load", "facts.json", "--strict")
    assert (done["read"], done["added"], done["lowered"]) == (2, 1, {"published": 1})
    again = at_once("load", "-", "--json", stdin=Path("facts.json").read_text())
    assert json.loads(again.stdout)["present"] == 2
    assert "load and add" in refused("record", "fact", "--from-json", "facts.json")
    assert "hardwon load" in refused("adopt", "facts.json")
    with Memory("brain") as memory:
        (fact,) = memory.browse()
        assert fact.metadata.source.author == "claude-code"
        later = with_context(FACT, timestamp=1741943799000)
        other = with_context(TRAJECTORY, timestamp=1741943799000)
        new = memory.care.take_in(map(read_record, (later, TRAJECTORY, other)))
        assert (new.added, new.present) == (2, 1), "a fact is as true later; an attempt is another"


def test_programs_and_agents_send_it_as_it_stands(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        client = server.client("write", **{"Idempotency-Key": "once"})
        sent = [client.post(server.at("/records"), json={"record": FACT}).json() for _ in range(2)]
        assert sent[0] == sent[1]
        many = server.client("write").post(server.at("/records/batch"), json={"records": ALL})
        assert many.json()[0] == sent[0]
        given = "".join(json.dumps(each) + "\n" for each in ALL)
        lines = {"Content-Type": "application/x-ndjson"}
        loaded = server.client().post(server.at("/import"), content=given, headers=lines)
        assert loaded.json()["lowered"] == {"published": 1, "verified": 1}, "of another author"
        without = json.dumps({**FACT, "metadata": {"tags": []}})
        at = server.at("/import?strict=true")
        strict = server.client().post(at, content=without, headers=lines)
        assert strict.status_code == 422
        assert "metadata.source" in strict.text

    async def send() -> str:
        gate = Gate(lambda project: Memory(tmp_path / "brain", project), None)
        ask = Ask(gate, Caller("tester", "write"), "default")
        async with Client(make_server(lambda _: ask, every=True)) as client:
            told = text_of(await client.call_tool("add", {"record": FACT}))
        gate.close()
        return told

    assert sent[0] in run(send)
    with Memory(tmp_path / "brain") as memory:
        assert len(list(memory.browse(kind="fact", author="tester"))) == 1


def test_what_no_field_is_for_goes_round_and_other_projects_are_passed_over(tmp_path: Path) -> None:
    envelope = {**METADATA, "validation": {"status": "hypothesis"}, "team": {"name": "core"}}
    more = {"metadata": {**envelope, "context": {**METADATA["context"], "host.name": "ci-7"}}}
    step = {**TRAJECTORY["steps"][0], "seconds": 3}
    sent = [
        {**FACT, **more, "upvotes": 7},
        {**TRAJECTORY, **more, "steps": [step]},
        {**PATTERN, **more, "notes": ["AKIA" + "Q3EGRVKLM2NPQRST", None]},
    ]
    other = {**FACT, "metadata": {**envelope, "project_id": "shop"}}
    old, back = tmp_path / "old.json", tmp_path / "back.jsonl"
    old.write_text(json.dumps([*sent, other]))
    with Memory(tmp_path / "brain") as memory:
        loaded = memory.load(old)
        assert (loaded.added, loaded.aside, loaded.elsewhere) == (3, 9, {"shop": 1})
        aside, shop = loaded.notes
        assert "kept as they are: 9" in aside
        assert "hardwon --project shop load" in shop
        assert memory.load(old).present == 3
        assert memory.export(back, as_schema=True) == 3
        sent[2]["notes"][0] = "[REDACTED:aws-key-id]"
        written = [json.loads(line) for line in back.read_text().splitlines()]
        assert all(line in sent for line in written)
        old.write_text(json.dumps([other]))
        with pytest.raises(InvalidInputError, match="'shop' is not allowed"):
            memory.load(old)
    with Memory(tmp_path / "elsewhere") as memory:
        assert memory.load(back).added == 3


def test_what_it_wrote_goes_back_in(memory: Memory) -> None:
    memory.care.take_in(map(read_record, ALL))
    patterns = memory.care.adopted("metadata schema")
    kept = [*memory.browse(), *patterns]
    assert len(kept) == 3
    back = [read_record(json.loads(json.dumps(each.to_agentdb()))) for each in kept]
    assert [each.id for each in back] == [each.id for each in kept]
    metadata = {**METADATA, "validation": {"status": "hypothesis"}}
    assert patterns[0].to_agentdb() == {**PATTERN, "metadata": metadata}
    pattern = SolutionPattern.model_validate(PATTERN).adopt()
    assert memory.care.take_in([pattern]).present == 1
    fix = memory.record_fix({"issue_type": "TIMEOUT"}, True, True)
    episode = memory.record_episode("parse", 0.5)
    learned = memory.remember("Use UTC", "learning", insight_type="fact")
    for record in (fix, episode, learned):
        assert type(read_record(record.to_agentdb())) is type(record)


@pytest.mark.parametrize("given", ALL, ids=["fact", "trajectory", "pattern"])
def test_strict_demands_all_that_the_schema_demands(given: dict[str, Any]) -> None:
    read_record(given, strict=True)
    for part, name in [
        *((None, name) for name in given),
        *((of, name) for of in ("source", "context") for name in METADATA[of]),
        *(("validation", "status"), ("", "tags"), ("", "project_id")),
    ]:
        less = json.loads(json.dumps(given))
        envelope = less["metadata"]
        holder = less if part is None else envelope[part] if part else envelope
        del holder[name]
        if name in ("fact_type", "content", "steps", "final_reward", "diagnosis_id", "strategy"):
            kinds = {"content": "fact", "steps": "trajectory"}
            less["kind"] = kinds.get(next(iter(given)), "solution_pattern")
        with pytest.raises(InvalidInputError) as caught:
            read_record(less, strict=True)
        assert any(name in problem.field for problem in caught.value.problems), name
        assert "the metadata schema demands it" in str(caught.value)


@pytest.mark.parametrize(
    "given", [1741943700, 1741943700.0, 1741943700000, 1741943700000.0, 1741943700000.4]
)
def test_seconds_and_float_milliseconds_are_recognised(given: float) -> None:
    when = read_record(with_context(FACT, timestamp=given)).metadata.context.timestamp
    assert when.isoformat(timespec="milliseconds") == "2025-03-14T09:15:00.000+00:00"


def test_strict_takes_what_was_written_and_nothing_else_for_a_number(memory: Memory) -> None:
    step = {"action": "make", "observation": "ok", "reward": 1}
    fact = memory.record_fact("The parser fails on empty input.", "observation")
    for record in (fact, memory.record_trajectory("make it pass", [step])):
        data = json.loads(json.dumps(record.to_agentdb()))
        assert read_record(data, strict=True).to_agentdb() == record.to_agentdb()
    with pytest.raises(InvalidInputError, match="a number of milliseconds"):
        read_record(with_context(FACT, timestamp="2025-03-14T09:15:00Z"), strict=True)


def test_a_key_that_is_there_twice_is_refused(tmp_path: Path, memory: Memory) -> None:
    (tmp_path / "twice.jsonl").write_text(json.dumps(FACT)[:-1] + ', "content": "Another."}')
    with pytest.raises(InvalidInputError, match="a key is there twice"):
        memory.load(tmp_path / "twice.jsonl")


def test_hashes_are_checked() -> None:
    odd = with_context(FACT, related_files=[{"path": "auth.ts", "hash": "deadbeef"}])
    with pytest.raises(InvalidInputError, match="the SHA-1 of the file's content") as caught:
        read_record(odd)
    assert caught.value.field == "metadata.context.related_files.0.hash"
    unknown = with_context(FACT, git_commit="unknown")
    assert read_record(unknown).metadata.context.git_commit == "unknown"
    with pytest.raises(InvalidInputError, match="7 to 64 hexadecimal digits"):
        read_record(unknown, strict=True)
