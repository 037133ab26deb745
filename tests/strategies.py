"""Generated records: every kind, every field, awkward text included."""

from __future__ import annotations

import unicodedata
from datetime import datetime
from typing import Any

from hypothesis import strategies as st

from hardwon.records.fields import from_us
from hardwon.records.kinds import (
    ROUTES,
    STATUSES,
    VERIFIERS,
    Adopted,
    AnyRecord,
    Entities,
    Episode,
    Experience,
    Fact,
    Fix,
    Issue,
    Metadata,
    MistakeCard,
    Moment,
    RelatedFile,
    Source,
    Step,
    Trajectory,
    Validation,
)
from hardwon.trust.lifecycle import MAY_CLAIM_VERIFIED

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=80)
prose = texts.filter(lambda text: bool(text.strip()))
of_names = st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"])
names = st.text(of_names, min_size=1, max_size=20).filter(lambda name: bool(name.strip()))
units = st.floats(0, 1)
times = st.integers(0, 1_700_000_000_000_000).map(from_us)  # past: nothing comes from the future
scalars = st.none() | st.booleans() | st.integers(-(2**62), 2**62) | texts
finite = st.floats(allow_nan=False, allow_infinity=False)
json_values: st.SearchStrategy[Any] = st.recursive(
    scalars | finite,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
json_objects = st.dictionaries(texts, json_values, max_size=3)


def some(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(items, max_size=3)


def claimable(metadata: Metadata) -> Metadata:
    """The same, or a verified one of a source that may say so."""
    validation = metadata.validation
    if validation.status not in ("verified", "published"):
        return metadata
    by = validation.verified_by or "human_approval"
    source = next(source for source, verifier in MAY_CLAIM_VERIFIED.items() if verifier == by)
    proved = validation.copy_with(status="verified", verified_by=by)
    return metadata.copy_with(source=metadata.source.copy_with(type=source), validation=proved)


# an author's name is kept in its plainest form
authors = names.map(lambda name: unicodedata.normalize("NFKC", name))
moments = st.builds(
    Moment,
    timestamp=times,
    git_commit=st.sampled_from(["", "0" * 40]),
    git_branch=st.sampled_from(["", "main"]),
    related_files=some(st.builds(RelatedFile, path=names, hash=st.sampled_from(["", "a" * 40]))),
)
validations = st.builds(
    Validation,
    status=st.sampled_from(STATUSES),
    verified_by=st.none() | st.sampled_from(VERIFIERS),
    verification_id=st.none() | names,
    failure_hash=st.none() | names,
)
metadatas = st.builds(
    Metadata,
    source=st.builds(Source, id=names, author=authors),
    context=moments,
    validation=validations,
    tags=some(names),
    project_id=st.just("default"),
).map(claimable)
ids = st.uuids().map(str)


@st.composite
def experiences(draw: st.DrawFn) -> Experience:
    (outcome, tool), route = draw(st.sampled_from(sorted(ROUTES.items(), key=repr)))
    keys = st.sampled_from(["ticket", "host", "run", "größe"])
    own = draw(st.dictionaries(keys, json_values, max_size=3))
    own = {key: value for key, value in own.items() if value is not None}
    if route:
        own[route[0]] = draw(st.sampled_from(route[1]))
    own |= {"id": draw(ids), "content": draw(prose), "summary": draw(texts)}
    return Experience(outcome=outcome, tool=tool, metadata=draw(metadatas), **own)


told: dict[str, Any] = {"id": ids, "metadata": metadatas}
facts = st.builds(
    Fact,
    **told,
    content=prose,
    fact_type=st.sampled_from(["error", "solution", "observation", "decision"]),
    confidence=units,
    entities=st.builds(
        Entities,
        **dict.fromkeys(("files", "functions", "libraries"), some(names)),
        error_codes=st.none() | some(names),
    ),
    findings=st.none() | some(texts),
)
rewards = st.floats(allow_nan=False, allow_infinity=False, width=32)
steps = some(st.builds(Step, action=texts, observation=texts, reward=rewards))
reward = units | st.none()
trajectories = st.builds(Trajectory, **told, task=texts, steps=steps, final_reward=reward)
decisions = dict.fromkeys(("worker_id", "bad_decision", "correct_decision"), scalars)
card: dict[str, Any] = {"mistake_type": names, "task_id": st.none() | names, **decisions}
cards = st.builds(MistakeCard, **card, evidence=texts, lesson=texts)
episodes = st.builds(
    Episode,
    **told,
    **dict.fromkeys(("mistakes", "successes"), some(texts)),
    task_id=names,
    score=units,
    steps=st.integers(0, 10**6),
    trajectory_summary=texts,
    mistake_cards=some(cards),
)
issue: dict[str, Any] = dict.fromkeys(("model", "issue_type", "host"), names)
issues = st.builds(Issue, **issue, description=texts, error_output=st.none() | texts)
fixes = st.builds(
    Fix,
    **told,
    **dict.fromkeys(("fix_success", "verification_success"), st.booleans()),
    issue=issues,
    analysis=texts,
    fix_commands=some(texts),
    execution_time_seconds=st.none() | st.floats(0, 1e6),
    system_info=json_objects,
    notes=st.none() | texts,
    fixer_type=names,
    confidence=st.none() | units,
)
origins = names | st.just("training_memory")
adopted = st.builds(Adopted, **told, origin=origins, data=json_objects)
recorded = (experiences(), facts, trajectories, episodes, fixes)
records: st.SearchStrategy[AnyRecord] = st.one_of(*recorded)
kept_records: st.SearchStrategy[AnyRecord] = st.one_of(records, adopted)
"""With what a caller does not add, but a memory keeps."""


def at(seconds: int) -> datetime:
    """A moment of the tests' own calendar."""
    return from_us(1_700_000_000_000_000 + seconds * 1_000_000)
