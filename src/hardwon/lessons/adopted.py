"""What was adopted from a training memory, and claims rules and mistake cards without records.

Training memory hands over lists of texts and counts: no reader can look up the episodes behind
them. So a claim is one source's word. It counts once, whatever number stands beside it, and
suggests until records of this memory bear it out or somebody verifies what was adopted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.records.fields import (
    Count,
    Finite,
    Model,
    RequiredName,
    Scalar,
    Text,
    Time,
    check_json,
)
from hardwon.records.kinds import OWN_HISTORY, Adopted, Issue, MistakeCard

# The origin of what came from a training memory. Its `data`: `memory`, the file without what
# follows; `scores`, the score histories; `log`, the episode log without its summaries (the episodes
# are records, and may be forgotten).
TRAINING_MEMORY: Final = "training_memory"

# The origin of what came from an older fix history. Its `data` is either `knowledge_base`, the file
# of that name, or what the database had added up: `issue_patterns` and `model_characteristics`,
# lists of rows.
FIX_HISTORY: Final = OWN_HISTORY

# How often an adopted card can have been seen: more than any agent was trained for is no count.
ADOPTED_SEEN_MAX: Final = 1_000_000

_MARKS: Final = (("[WORKS]", "works"), ("[AVOID]", "avoid"))
_CONSOLIDATED: Final = "[CONSOLIDATED]"


class LoggedEpisode(Model):
    """An entry of the episode log."""

    model_config = ConfigDict(extra="allow")

    timestamp: Time
    task_id: RequiredName
    score: Finite
    steps: Count = 0
    summary: Text = ""


def _shorten(value: object) -> object:
    """A name that is too long or has several lines, as one that can be shown: training memory took
    any text.
    """
    if not isinstance(value, str) or (len(value) <= limits.NAME_CHARS_MAX and value.isprintable()):
        return value
    line = "".join(character if character.isprintable() else " " for character in value)
    return " ".join(line.split())[: limits.NAME_CHARS_MAX].strip()


def _flatten(value: object) -> object:
    """A list or an object as its JSON: training memory took whatever JSON can hold for a worker or a
    decision.
    """
    if isinstance(value, list | dict):
        return json.dumps(check_json(value), sort_keys=True, ensure_ascii=False)
    return value


_ShortName = Annotated[RequiredName, BeforeValidator(_shorten)]
_PlainValue = Annotated[Scalar, BeforeValidator(_flatten)]


class CountedCard(MistakeCard):
    """A mistake card with how often it was seen, and in which episodes first and last. As it is
    read: the file's own words are kept as they are.
    """

    model_config = ConfigDict(extra="allow")

    mistake_type: _ShortName = "unknown_mistake"
    task_id: _ShortName
    worker_id: _PlainValue = None
    bad_decision: _PlainValue = None
    correct_decision: _PlainValue = None
    seen_count: Count = 1
    first_seen_episode: Count = 0
    last_seen_episode: Count = 0


class TrainingMemory(Model):
    """A training memory's file, as far as its shape matters; keys that it has beside these are
    allowed.
    """

    model_config = ConfigDict(extra="allow")

    version: Annotated[Any, AfterValidator(check_json)] = 1
    total_episodes: Count = 0
    last_consolidated_at: Scalar = None
    global_rules: list[Text] = Field(default_factory=list)
    task_rules: dict[RequiredName, list[Text]] = Field(default_factory=dict)
    episode_log: list[LoggedEpisode] = Field(default_factory=list)
    score_history: dict[RequiredName, list[Finite]] = Field(default_factory=dict)
    mistakes: list[Text] = Field(default_factory=list)
    mistake_cards: list[CountedCard] = Field(default_factory=list)
    successes: list[Text] = Field(default_factory=list)

    def list_rules(self, task_id: str = "") -> list[tuple[str, str]]:
        """The rules of a task, or of none, each with its kind (works, avoid or written), the newest
        last. Mistakes and successes stand without a task.
        """
        newest = slice(-limits.LESSONS_PER_RECORD_MAX, None)
        if task_id:
            return [_read_mark(text) for text in self.task_rules.get(task_id, [])[newest]]
        return [
            *(_read_mark(text) for text in self.global_rules[newest]),
            *(("works", text) for text in self.successes[newest]),
            *(("avoid", text) for text in self.mistakes[newest]),
        ]

    def list_cards(self) -> list[CountedCard]:
        """The mistake cards that count."""
        return self.mistake_cards[: limits.LESSONS_PER_RECORD_MAX]


def read_training_memory(record: Adopted) -> TrainingMemory | None:
    """The training memory that a record holds; None where it holds another thing, or cannot be read:
    a file of records may hold anything.
    """
    if record.origin != TRAINING_MEMORY:
        return None
    try:
        return TrainingMemory.model_validate(record.data.get("memory"))
    except InvalidInputError:
        return None


def _read_mark(rule: str) -> tuple[str, str]:
    """A rule as training memory writes it, as its kind and what it says. `[HIGH SCORE …]` is no
    more than a text.
    """
    text = rule.removeprefix(_CONSOLIDATED).strip()
    for mark, kind in _MARKS:
        if text.startswith(mark):
            return kind, text.removeprefix(mark).strip()
    return "written", text


_TIPS, _WORKED, _FAILED = "model_specific_tips", "successful_strategies", "failure_patterns"


def find_hints(record: Adopted, issue: Issue) -> Iterator[str]:
    """What a knowledge base of fix history that a record holds says of an issue: what worked for its
    type, of its model, and what failed; nothing where the record holds another thing.
    """
    knowledge = record.data.get("knowledge_base") if record.origin == FIX_HISTORY else None
    if not isinstance(knowledge, dict):
        return
    for section, name, words in (
        (_WORKED, issue.issue_type, "{}: {}"),
        (_TIPS, issue.model, "{}: {}"),
        (_FAILED, issue.issue_type, "{}, did not work: {}"),
    ):
        by_name = knowledge.get(section)
        hints = by_name.get(name, by_name.get(_ANY)) if isinstance(by_name, dict) else by_name
        for hint in hints if isinstance(hints, list) else [hints]:
            if isinstance(hint, str) and hint.strip():
                yield words.format(name, hint)


_ANY: Final = "any"  # of no certain issue type or model
