"""What records are found by exactly, beside their words. A key is of the text alone: it never
changes with what else is known.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, Final, Literal

from hardwon import limits
from hardwon.lessons.issues import (
    generate_issue_signature,
    recorded_signature,
    signature_keys,
    strategy_key,
)
from hardwon.lessons.lesson import make_lesson_id
from hardwon.records.kinds import Cleaned, Decision, Experience, Fix, MistakeCard, name_sources
from hardwon.text.failures import failure_hash
from hardwon.text.terms import canonical, hash_parts, same_action, spell

BETWEEN_NAMES: Final = "\n"  # no name contains it
# Where an experience keeps keys of the caller's that a record has a meaning of its own for, such as
# `id`.
OWN_KEYS: Final = "own_keys"
VERDICTS: Final = ("right", "wrong")
_MARKS: Final[Mapping[str, tuple[str, ...]]] = {
    "works": ("[works]", "[consolidated]"),
    "avoid": ("[avoid]", "[consolidated]", "avoid:"),
}


@lru_cache(maxsize=4_096)  # the episodes of a task report the same again and again
def rule_key(text: str, kind: str = "") -> str:
    """The same for texts that say the same. Of something that works, or that is to be avoided, the
    marks under which a memory hands just that out make no difference: a lesson that comes back as
    somebody's own observation is the same lesson.
    """
    words = canonical(text)
    while mark := next((mark for mark in _MARKS.get(kind, ()) if words.startswith(mark)), None):
        words = canonical(words[len(mark) :])
    return hash_parts("rule", words) if words else ""


def card_key(card: MistakeCard, task_id: str) -> str:
    """Cards of the same mistake by the same worker with the same right decision are one card.
    Begins with the type.
    """
    rest = hash_parts(
        "card", card.task_id or task_id, card.worker_id or "", card.correct_decision or ""
    )
    return card.mistake_type + BETWEEN_NAMES + rest


@lru_cache(maxsize=1024)  # what helped against each error of a trajectory is counted under its task
def task_key(task: str, *more: str) -> str:
    """The same for a task that differs in case and spacing only, and whatever else is counted of
    it. All of the task counts: many begin with the same page, and end with what is to be done.
    """
    return hash_parts("task", _canonical_task(task), *more)


# each step of a trajectory asks for that of its task
_canonical_task = lru_cache(maxsize=64)(partial(canonical, chars_max=limits.TEXT_CHARS_MAX))


def episode_key(task_id: str) -> str:
    """The key of episodes that tell of a task."""
    return f"episode:{task_id}"


def make_episode_rule_id(kind: str, item: str) -> str:
    """The id of the lesson that a rule of episodes is: the same at every task."""
    return make_lesson_id("rule", kind, item)


def attempt_key(action: str) -> str:
    """The key of records in which this very action was taken."""
    return f"action:{same_action(action)}"


def key_of_task(task: str) -> str:
    """The key of trajectories at this very task."""
    return f"task:{task_key(task)}"


def session_key(session: str) -> str:
    """The key of records that came from one trace, run or conversation (`source.id`)."""
    return f"session:{session}"


def verdict_key(lesson_id: str) -> str:
    """The key of what people said about a lesson."""
    return f"verdict:{lesson_id}"


def tried_key(signature: str, strategy: str) -> str:
    """The key of fixes that tried a strategy for the very issue that has this signature."""
    return f"tried:{signature}:{strategy}"


def exact_key(what: Literal["strategy", "tidied", "cleaned", "adopted"], which: str) -> str:
    """The key of fixes that tried the same `strategy`; of what one cleanup `tidied` away; of fixes
    that were `cleaned` out of the history, by the signature they had there; of what was `adopted`
    without records from one sort of store.
    """
    return f"{what}:{which}"


def decision_key(decision: Decision) -> str:
    """Two decisions of the same key decide the same."""
    if decision.action in VERDICTS:
        return verdict_key(decision.target)
    if decision.action == "rollback":
        return f"rollback:{decision.target}"
    text = rule_key(decision.text) if decision.action == "rule" else ""
    pair = sorted((decision.target, decision.replacement))
    return f"{decision.action}:{hash_parts(decision.task_id, text, *pair, *decision.tasks)}"


def caller_keys(record: Experience) -> dict[str, Any]:
    """Keys of the caller's own, also those that a record has a meaning of its own for."""
    keys = dict(record.extra)
    own = keys.pop(OWN_KEYS, None)
    return keys | own if isinstance(own, dict) else keys


def given_key(name: str, value: object) -> str:
    """The key of experiences whose caller gave this key with this value, and that no folder of the
    tree tells so.
    """
    text = spell(value)
    if text is None:
        try:
            text = json.dumps(value, sort_keys=True, default=str)
        except (TypeError, ValueError, RecursionError):
            text = repr(type(value))  # no record holds it, so no record is found by it
    return f"given:{hash_parts(name, text)}"


def find_fix_keys(fix: Fix) -> Iterator[str]:
    """Both signatures of a fix, its strategy, the hash of its failure, and its commands."""
    yield from signature_keys(fix.issue)
    if had := recorded_signature(fix):
        yield f"signature:{had}"
    if strategy := strategy_key(fix):
        yield exact_key("strategy", strategy)
        yield tried_key(generate_issue_signature(fix.issue), strategy)
    if fix.issue.error_output and fix.issue.error_output.strip():
        yield f"failure:{failure_hash(fix.issue.error_output)}"
    yield from map(attempt_key, fix.fix_commands[: limits.LESSONS_PER_RECORD_MAX])


def find_cleaned_keys(cleaned: Cleaned) -> Iterator[str]:
    """What a fix that left the history is still found by."""
    yield exact_key("tidied", cleaned.decision)
    yield exact_key("cleaned", cleaned.signature)
    if cleaned.strategy:
        yield exact_key("strategy", cleaned.strategy)
    for scope, signature, strategy, _ in cleaned.lessons:
        if scope == "strategy.signature":
            yield tried_key(signature, strategy)


def find_experience_keys(record: Experience) -> Iterator[str]:
    """The caller's keys of an experience that do not route it."""
    keys = caller_keys(record)
    if record.unrouted or record.own_schema:
        keys |= {"outcome": record.outcome, "tool": record.tool}
    elif record.route:
        del keys[record.route[0]]
    yield from (given_key(name, value) for name, value in keys.items() if value is not None)


def find_decision_keys(decision: Decision) -> list[str]:
    """What a decision decides; of a rollback, the sources that it concerns."""
    if decision.action == "rollback":
        return [f"rollback:{source}" for source in name_sources(decision.target)]
    return [decision_key(decision)]
