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
ERRORS = [
    "TypeError: unsupported operand type(s) for +: 'int' and 'str'",
    "bash: foo: command not found",
    "all good",
]

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
fixes = of(
    Fix,
    issue=st.builds(
        Issue,
        model=st.sampled_from(["qwen2.5:7b", "llama"]),
        issue_type=st.sampled_from(["TIMEOUT", "ERROR"]),
        test_prompt=st.none() | st.sampled_from(["Say hi", "say  HI"]),
        error_output=st.none() | st.sampled_from(ERRORS),
    ),
    fix_success=st.booleans(),
    verification_success=st.booleans(),
    fix_commands=st.lists(st.sampled_from(["sleep 1", "ollama pull x"]), max_size=2),
    analysis=st.sampled_from(["", "slow"]),
    fixer_type=st.sampled_from(["claude", "qwen"]),
)
trajectories = of(
    Trajectory,
    task=st.sampled_from(TASKS),
    steps=st.lists(
        st.builds(
            Step,
            action=st.sampled_from(["pytest", "edit a", "edit b"]),
            observation=st.sampled_from(ERRORS),
            reward=st.sampled_from([0.0, 1.0, -1.0]),
        ),
        max_size=4,
    ),
    final_reward=st.sampled_from([0.0, 1.0, None]),
)
experiences = st.one_of(
    of(
        Experience,
        content=st.sampled_from(TEXTS),
        outcome=st.just("success"),
        tool=st.just("code_interpreter"),
        task_type=st.sampled_from(["debug", "write"]),
    ),
    of(
        Experience,
        content=st.sampled_from(TEXTS),
        outcome=st.just("failure"),
        tool=st.just("code_interpreter"),
        error_type=st.just("logic"),
    ),
)
adopted = of(
    Adopted,
    origin=st.just("training_memory"),
    data=st.fixed_dictionaries(
        {
            "memory": st.fixed_dictionaries(
                {
                    "task_rules": st.dictionaries(
                        st.sampled_from(TASKS),
                        st.lists(
                            st.sampled_from(
                                [
                                    f"{mark}{text}"
                                    for mark in ("[WORKS] ", "[AVOID] ", "")
                                    for text in TEXTS
                                ]
                            )
                        ),
                    ),
                    "mistakes": texts,
                    "successes": texts,
                    "mistake_cards": st.lists(
                        st.fixed_dictionaries(
                            {
                                "mistake_type": st.sampled_from(["early", "late"]),
                                "task_id": st.sampled_from(TASKS),
                                "lesson": st.sampled_from(TEXTS),
                                "seen_count": st.integers(1, 700),
                            }
                        ),
                        max_size=2,
                    ),
                }
            )
        }
    ),
)
records: st.SearchStrategy[AnyRecord] = st.one_of(
    episodes, fixes, trajectories, experiences, adopted
)
logs = st.lists(records, min_size=1, max_size=14)


def knowledge_of(memory: Memory) -> list[tuple[Any, ...]]:
    """Every tally, and every exact key with its record's id, in one order."""
    with memory._project.store.read(memory.project) as session:
        tallies = session.select("SELECT * FROM tally ORDER BY 1, 2, 3, 4, 5, 6")
        keys = session.select(
            "SELECT r.id, k.key FROM record_key k JOIN record r ON r.seq = k.seq ORDER BY 1, 2"
        )
    return [*tallies, *keys]
