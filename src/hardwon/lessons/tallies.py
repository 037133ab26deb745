"""What a record teaches and what it is found by, each kind of record by its own functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from hardwon import limits
from hardwon.lessons.actions import ACTION_LESSONS_MAX, count_actions, judge_steps
from hardwon.lessons.counts import (
    Increment,
    count_credit,
    count_episode,
    count_experience,
    count_fix,
    list_rule_ids,
)
from hardwon.lessons.keys import (
    attempt_key,
    episode_key,
    exact_key,
    find_cleaned_keys,
    find_decision_keys,
    find_experience_keys,
    find_fix_keys,
    key_of_task,
    session_key,
)
from hardwon.lessons.teaching import lesson_key, make_fact_id
from hardwon.records.kinds import Episode, Experience, Fact, Record, Trajectory
from hardwon.text.sentences import fact_key

# What one record teaches in all: of a trajectory, three lessons of each pair, those about actions, and
# those about what was recalled.
LESSONS_AT_ONCE_MAX: Final = 4 * limits.LESSONS_PER_RECORD_MAX + ACTION_LESSONS_MAX


def list_tallies(record: Record) -> tuple[Increment, ...]:
    """Everything the record teaches. What it is worth (its status, its author, its day) is counted
    with it.
    """
    teach = _TEACHERS.get(record.kind)
    return (*(teach(record) if teach else ()), *count_credit(record))


def count_trajectory(trajectory: Trajectory) -> tuple[Increment, ...]:
    """What its actions came to."""
    return tuple(
        Increment(f"act.{counted.what}", counted.which, "", level)
        for counted, level in count_actions(trajectory)
    )


_TEACHERS: Final[Mapping[str, Callable[..., tuple[Increment, ...]]]] = {
    "experience": count_experience,
    "fix": count_fix,
    "cleaned": lambda cleaned: tuple(map(Increment._make, cleaned.lessons)),
    "episode": count_episode,
    "trajectory": count_trajectory,
}


def list_keys(record: Record) -> tuple[str, ...]:
    """What a record can be found by exactly: both signatures of a fix, the hash of every failure in
    it, its session, what a fact says, and the keys of an experience that do not route it.
    """
    own = _OWN_KEYS.get(record.kind)
    keys = set(own(record) if own else ())
    if session := record.metadata.source.id:
        keys.add(session_key(session))
    if failure := record.metadata.validation.failure_hash:
        keys.add(f"failure:{failure}")
    return tuple(sorted(keys))


def _list_trajectory_keys(trajectory: Trajectory) -> Iterator[str]:
    """The failures that it met, what was tried in it, and its task."""
    steps = trajectory.steps[-limits.STEPS_LEARNED_MAX :]
    judged = judge_steps(trajectory.steps)[-limits.STEPS_LEARNED_MAX :]
    families = dict.fromkeys(one.failure.family for one in judged if one.failure)
    yield from [f"failure:{family}" for family in families][: limits.LESSONS_PER_RECORD_MAX]
    tried = dict.fromkeys(attempt_key(step.action) for step in steps)
    yield from list(tried)[-limits.LESSONS_PER_RECORD_MAX :]
    if trajectory.task.strip():
        yield key_of_task(trajectory.task)


def _list_fact_keys(fact: Fact) -> Iterator[str]:
    """What it says, and the lesson that this is."""
    yield fact_key(fact)
    yield lesson_key(make_fact_id(fact.content))


def _list_experience_keys(experience: Experience) -> Iterator[str]:
    """The keys that do not route it, and the lesson that it is."""
    yield from find_experience_keys(experience)
    yield lesson_key(make_fact_id(experience.content))


def _list_episode_keys(episode: Episode) -> Iterator[str]:
    """The tasks that it tells of, its own and those of its cards, and the rules that it reports."""
    cards = episode.mistake_cards[: limits.LESSONS_PER_RECORD_MAX]
    for task in {episode.task_id, *(card.task_id or episode.task_id for card in cards)}:
        yield episode_key(task)
    yield from map(lesson_key, list_rule_ids(episode))


_OWN_KEYS: Final[Mapping[str, Callable[..., Iterable[str]]]] = {
    "fix": find_fix_keys,
    "episode": _list_episode_keys,
    "fact": _list_fact_keys,
    "trajectory": _list_trajectory_keys,
    "decision": find_decision_keys,
    "adopted": lambda adopted: [exact_key("adopted", adopted.origin)],
    "cleaned": find_cleaned_keys,
    "experience": _list_experience_keys,
}
