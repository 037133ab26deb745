"""Generated logs of experience in which the same situations come up again and again."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import strategies as st

from hardwon import (
    Episode,
    Experience,
    Fix,
    Issue,
    Memory,
    Metadata,
    MistakeCard,
    Source,
    Step,
    Trajectory,
)
from hardwon.records.fields import new_id
from hardwon.records.kinds import Adopted, AnyRecord, Moment, Validation
from strategies import at, claimable

TASKS = ["triage", "deploy"]
TEXTS = ["Read the log first.", "read the  log first", "Guessed.", "Asked the owner"]
ERRORS = ["TypeError: unsupported operand type(s) for +: 'int' and 'str'", "all good"]
ERRORS += ["bash: foo: command not found"]

moments = st.integers(0, 4 * 24 * 60).map(lambda minutes: at(0) + timedelta(minutes=minutes))
statuses = st.sampled_from(["hypothesis", "hypothesis", "verified", "published", "archived"])
hashes = st.sampled_from([None, None, "f00d"])
metadatas = st.builds(
    Metadata,
    project_id=st.just("default"),
    source=st.builds(Source, author=st.sampled_from(["ann", "bob", "eve"])),
    context=st.builds(Moment, timestamp=moments),
    validation=st.builds(Validation, status=statuses, failure_hash=hashes),
).map(claimable)


def of(kind: type[Any], **own: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    def made(metadata: Metadata, fields: dict[str, Any]) -> Any:
        return kind(id=new_id(metadata.context.timestamp), metadata=metadata, **fields)

    return st.builds(made, metadatas, st.fixed_dictionaries(own))


scores = st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.499999, 0.5, 0.7, 0.85, 0.9, 1.0])
texts = st.lists(st.sampled_from(TEXTS), max_size=3)
tasks = st.sampled_from(TASKS)
card: Any = {"mistake_type": st.sampled_from(["early", "late"]), "lesson": st.sampled_from(TEXTS)}
whose: Any = {"task_id": st.none() | tasks, "worker_id": st.none() | st.integers(0, 1)}
cards = st.lists(st.builds(MistakeCard, **card, **whose), max_size=2)
listed = {"mistakes": texts, "successes": texts}
episodes = of(Episode, task_id=tasks, score=scores, **listed, mistake_cards=cards)
issues = st.builds(
    Issue,
    model=st.sampled_from(["qwen2.5:7b", "llama"]),
    issue_type=st.sampled_from(["TIMEOUT", "ERROR"]),
    test_prompt=st.none() | st.sampled_from(["Say hi", "say  HI"]),
    error_output=st.none() | st.sampled_from(ERRORS),
)
fixes = of(
    Fix,
    issue=issues,
    fix_success=st.booleans(),
    verification_success=st.booleans(),
    fix_commands=st.lists(st.sampled_from(["sleep 1", "ollama pull x"]), max_size=2),
    analysis=st.sampled_from(["", "slow"]),
    fixer_type=st.sampled_from(["claude", "qwen"]),
)
steps = st.builds(
    Step,
    action=st.sampled_from(["pytest", "edit a", "edit b"]),
    observation=st.sampled_from(ERRORS),
    reward=st.sampled_from([0.0, 1.0, -1.0]),
)
rewards = st.sampled_from([0.0, 1.0, None])
trajectories = of(Trajectory, task=tasks, steps=st.lists(steps, max_size=4), final_reward=rewards)
by_code = {"content": st.sampled_from(TEXTS), "tool": st.just("code_interpreter")}
worked = {"outcome": st.just("success"), "task_type": st.sampled_from(["debug", "write"])}
failed = {"outcome": st.just("failure"), "error_type": st.just("logic")}
experiences = of(Experience, **by_code, **worked) | of(Experience, **by_code, **failed)
rules = [f"{mark}{text}" for mark in ("[WORKS] ", "[AVOID] ", "") for text in TEXTS]
seen = {"task_id": tasks, "seen_count": st.integers(1, 700)}
old_cards = st.lists(st.fixed_dictionaries(card | seen), max_size=2)
old_rules = st.dictionaries(tasks, st.lists(st.sampled_from(rules)))
old = listed | {"task_rules": old_rules, "mistake_cards": old_cards}
old_memories = st.fixed_dictionaries(old)
data = st.fixed_dictionaries({"memory": old_memories})
adopted = of(Adopted, origin=st.just("training_memory"), data=data)
recorded = (episodes, fixes, trajectories, experiences, adopted)
records: st.SearchStrategy[AnyRecord] = st.one_of(*recorded)
logs = st.lists(records, min_size=1, max_size=14)


def knowledge_of(memory: Memory) -> list[tuple[Any, ...]]:
    """Every tally, and every exact key with its record's id, in one order."""
    with memory._project.store.read(memory.project) as session:
        tallies = session.select("SELECT * FROM tally ORDER BY 1, 2, 3, 4, 5, 6")
        of_records = "record_key k JOIN record r ON r.seq = k.seq"
        keys = session.select(f"SELECT r.id, k.key FROM {of_records} ORDER BY 1, 2")
    return [*tallies, *keys]
