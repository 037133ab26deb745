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

metadatas = st.builds(
    lambda author, minutes, status, failure: claimable(
        Metadata(
            project_id="default",
            source=Source(author=author),
            context=Moment(timestamp=at(0) + timedelta(minutes=minutes)),
            validation=Validation(status=status, failure_hash=failure),
        )
    ),
    st.sampled_from(["ann", "bob", "eve"]),
    st.integers(0, 4 * 24 * 60),
    st.sampled_from(["hypothesis", "hypothesis", "verified", "published", "archived"]),
    st.sampled_from([None, None, "f00d"]),
)


def _identified(kind: type[Any], metadata: Metadata, **own: Any) -> Any:
    return kind(id=new_id(metadata.context.timestamp), metadata=metadata, **own)


def of(kind: type[Any], **own: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(
        lambda metadata, fields: _identified(kind, metadata, **fields),
        metadatas,
        st.fixed_dictionaries(own),
    )


scores = st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.499999, 0.5, 0.7, 0.85, 0.9, 1.0])
texts = st.lists(st.sampled_from(TEXTS), max_size=3)
cards = st.builds(
    MistakeCard,
    mistake_type=st.sampled_from(["early", "late"]),
    task_id=st.none() | st.sampled_from(TASKS),
    worker_id=st.none() | st.integers(0, 1),
    lesson=st.sampled_from(TEXTS),
)
episodes = of(
    Episode,
    task_id=st.sampled_from(TASKS),
    score=scores,
    mistakes=texts,
    successes=texts,
    mistake_cards=st.lists(cards, max_size=2),
)
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
trajectories = of(
    Trajectory,
    task=st.sampled_from(TASKS),
    steps=st.lists(steps, max_size=4),
    final_reward=st.sampled_from([0.0, 1.0, None]),
)
by_code = {"content": st.sampled_from(TEXTS), "tool": st.just("code_interpreter")}
experiences = st.one_of(
    of(
        Experience,
        **by_code,
        outcome=st.just("success"),
        task_type=st.sampled_from(["debug", "write"]),
    ),
    of(Experience, **by_code, outcome=st.just("failure"), error_type=st.just("logic")),
)
rules = [f"{mark}{text}" for mark in ("[WORKS] ", "[AVOID] ", "") for text in TEXTS]
old_cards = st.fixed_dictionaries(
    {
        "mistake_type": st.sampled_from(["early", "late"]),
        "task_id": st.sampled_from(TASKS),
        "lesson": st.sampled_from(TEXTS),
        "seen_count": st.integers(1, 700),
    }
)
old_memories = st.fixed_dictionaries(
    {
        "task_rules": st.dictionaries(st.sampled_from(TASKS), st.lists(st.sampled_from(rules))),
        "mistakes": texts,
        "successes": texts,
        "mistake_cards": st.lists(old_cards, max_size=2),
    }
)
data = st.fixed_dictionaries({"memory": old_memories})
adopted = of(Adopted, origin=st.just("training_memory"), data=data)
recorded = (episodes, fixes, trajectories, experiences, adopted)
records: st.SearchStrategy[AnyRecord] = st.one_of(*recorded)
logs = st.lists(records, min_size=1, max_size=14)


def knowledge_of(memory: Memory) -> list[tuple[Any, ...]]:
    """Every tally, and every exact key with its record's id, in one order."""
    with memory._project.store.read(memory.project) as session:
        tallies = session.select("SELECT * FROM tally ORDER BY 1, 2, 3, 4, 5, 6")
        keys = session.select(
            "SELECT r.id, k.key FROM record_key k JOIN record r ON r.seq = k.seq ORDER BY 1, 2"
        )
    return [*tallies, *keys]
