"""What was adopted without records, and what it claims.

Training memory hands over lists of texts and counts: nobody can look up the episodes behind them. So a claim is one source's
word. It counts once, whatever number stands beside it, and suggests until records of this memory bear it out or somebody
verifies what was adopted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Final, NamedTuple

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.fields import Count, Finite, Model, RequiredName, Scalar, Text, Time, Unit, check_json
from hardwon.learn.lessons import card_key, rule_key
from hardwon.model import VOUCHED_STATUSES, Adopted, MistakeCard

TRAINING_MEMORY: Final = "training_memory"
"""The origin of what came from a training memory. Its `data`: `memory`, the file without what follows; `scores`, the score
histories; `log`, the episode log without its summaries (the episodes are records, and may be forgotten)."""

FIX_HISTORY: Final = "fix history"
"""The origin of what came from an older fix history. Its `data` is either `knowledge_base`, the file of that name, or what the
database had added up: `issue_patterns` and `model_characteristics`, lists of rows."""

_MARKS: Final = (("[WORKS]", "works"), ("[AVOID]", "avoid"))
_CONSOLIDATED: Final = "[CONSOLIDATED]"


# --- what a training memory looks like --------------------------------------------------------------------------


class LoggedEpisode(Model):
    """An entry of the episode log."""

    model_config = ConfigDict(extra="allow")

    timestamp: Time
    task_id: RequiredName
    score: Unit
    steps: Count = 0
    summary: Text = ""


def _short(value: object) -> object:
    """A name that is too long or has several lines, as one that can be shown: training memory took any text."""
    if not isinstance(value, str) or (len(value) <= limits.NAME_CHARS_MAX and value.isprintable()):
        return value
    line = "".join(character if character.isprintable() else " " for character in value)
    return " ".join(line.split())[: limits.NAME_CHARS_MAX].strip()


def _plain(value: object) -> object:
    """A list or an object as its JSON: training memory took whatever JSON can hold for a worker or a decision."""
    return json.dumps(check_json(value), sort_keys=True, ensure_ascii=False) if isinstance(value, list | dict) else value


_ShortName = Annotated[RequiredName, BeforeValidator(_short)]
_PlainValue = Annotated[Scalar, BeforeValidator(_plain)]


class CountedCard(MistakeCard):
    """A mistake card with how often it was seen, and in which episodes first and last. As it is read: the file's own words are
    kept as they are."""

    model_config = ConfigDict(extra="allow")

    mistake_type: _ShortName = "unknown_mistake"
    task_id: _ShortName
    worker_id: _PlainValue = None
    bad_decision: _PlainValue = None
    correct_decision: _PlainValue = None
    seen_count: Count = 1
    first_seen_episode: Count = 0
    last_seen_episode: Count = 0


class OlderScores(Model):
    """Scores of a task that are no longer listed."""

    count: Count
    sum: Finite


class TrainingMemory(Model):
    """A training memory's file, as far as its shape matters; keys that it has beside these are allowed."""

    model_config = ConfigDict(extra="allow")

    version: Annotated[Any, AfterValidator(check_json)] = 1
    total_episodes: Count = 0
    last_consolidated_at: Scalar = None
    global_rules: list[Text] = Field(default_factory=list)
    task_rules: dict[RequiredName, list[Text]] = Field(default_factory=dict)
    episode_log: list[LoggedEpisode] = Field(default_factory=list)
    score_history: dict[RequiredName, list[Unit]] = Field(default_factory=dict)
    mistakes: list[Text] = Field(default_factory=list)
    mistake_cards: list[CountedCard] = Field(default_factory=list)
    successes: list[Text] = Field(default_factory=list)
    older_scores: dict[RequiredName, OlderScores] = Field(default_factory=dict)


class Told(NamedTuple):
    """A record that came from a training memory, and what it says."""

    record: Adopted
    memory: TrainingMemory


def told_by(records: Iterable[Adopted]) -> Iterator[Told]:
    """Those that came from a training memory, as far as they can be read: a file of records may hold anything."""
    for record in records:
        if record.origin == TRAINING_MEMORY:
            try:
                yield Told(record, TrainingMemory.model_validate(record.data.get("memory")))
            except InvalidInputError:
                continue


# --- what it claims ---------------------------------------------------------------------------------------------


class Claim(NamedTuple):
    """One source's word for a rule or a card. `place` grows with how new a rule was, as far as its list told; `seen` is the
    count that stood beside a card."""

    record_id: str
    author: str
    at_us: int
    vouched: bool
    place: int
    seen: int


class ClaimedRule(NamedTuple):
    kind: str  # works, avoid or written
    item: str
    claim: Claim


class ClaimedCard(NamedTuple):
    task_id: str
    item: str
    claim: Claim


def rules_of(told: Iterable[Told], task_id: str | None, now_us: int) -> Iterator[ClaimedRule]:
    """Rules of a task; of None, those of no task. Nobody says anything after `now_us`."""
    for record, memory in told:
        places = {(kind, rule_key(text, kind)): place for place, (kind, text) in enumerate(_rules_said(memory, task_id))}
        for (kind, item), place in places.items():
            if item:
                yield ClaimedRule(kind, item, _claim(record, now_us, place))


def adopted_text(memory: TrainingMemory, task_id: str | None, kind: str, items: Iterable[str]) -> str | None:
    """How it words one of these rules."""
    wanted = set(items)
    said = [text for about, text in _rules_said(memory, task_id) if about == kind and rule_key(text, kind) in wanted]
    return " ".join(said[-1].split())[: limits.LESSON_CHARS_MAX] if said else None


def cards_of(told: Iterable[Told], task_id: str | None, now_us: int) -> Iterator[ClaimedCard]:
    """Mistake cards of a task, or of all of them."""
    for record, memory in told:
        for card in _cards_said(memory):
            if task_id in (None, card.task_id):
                yield ClaimedCard(card.task_id, card_key(card, card.task_id), _claim(record, now_us, 0, card.seen_count))


def adopted_card(memory: TrainingMemory, item: str) -> MistakeCard | None:
    """How it words this card."""
    return next((card for card in _cards_said(memory) if card_key(card, card.task_id) == item), None)


def _rules_said(memory: TrainingMemory, task_id: str | None) -> list[tuple[str, str]]:
    """What helps most last. Mistakes and successes stand without a task."""
    if task_id is not None:
        return [_marked(text) for text in _newest(memory.task_rules.get(task_id, ()))]
    return [
        *(_marked(text) for text in _newest(memory.global_rules)),
        *(("works", text) for text in _newest(memory.successes)),
        *(("avoid", text) for text in _newest(memory.mistakes)),
    ]


def _cards_said(memory: TrainingMemory) -> Sequence[CountedCard]:
    return memory.mistake_cards[: limits.LESSONS_PER_RECORD_MAX]


def _newest(texts: Sequence[str]) -> Sequence[str]:
    return texts[-limits.LESSONS_PER_RECORD_MAX :]


def _marked(rule: str) -> tuple[str, str]:
    """A rule as training memory writes it, as its kind and what it says. `[HIGH SCORE …]` is no more than a text."""
    said = rule.removeprefix(_CONSOLIDATED).strip()
    for mark, kind in _MARKS:
        if said.startswith(mark):
            return kind, said.removeprefix(mark).strip()
    return "written", said


def _claim(record: Adopted, now_us: int, place: int, seen: int = 1) -> Claim:
    metadata = record.metadata
    vouched = metadata.validation.status in VOUCHED_STATUSES
    return Claim(
        record.id, metadata.source.author, min(record.at_us, now_us), vouched, place, min(seen, limits.ADOPTED_SEEN_MAX)
    )
