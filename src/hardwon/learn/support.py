"""What speaks for an item: its tallies, added up, and what was adopted and claims it without
records.

Training memory hands over lists of texts and counts: no reader can look up the episodes behind
them. So a claim is one source's word. It counts once, whatever number stands beside it, and
suggests until records of this memory bear it out or somebody verifies what was adopted.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, NamedTuple, TypeVar

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.learn.tallies import LEVELS, MILLIONTHS, Tally, card_key, rule_key
from hardwon.lessons.sources import Votes, age_weight, fair_parts
from hardwon.records.fields import (
    Count,
    Finite,
    Model,
    RequiredName,
    Scalar,
    Text,
    Time,
    Unit,
    check_json,
)
from hardwon.records.kinds import VOUCHED_STATUSES, Adopted, MistakeCard

# How often an adopted card can have been seen: more than any agent was trained for is no count.
_ADOPTED_SEEN_MAX: Final = 1_000_000

N = TypeVar("N", int, float)


@dataclass
class Evidence:
    """Every tally of one item. A record counts once per item, so `records` are distinct ones.
    `claims` are no records, and in none of the counts but `vouched`.
    """

    item: str
    tallies: list[Tally] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)

    def add(self, *tallies: Tally) -> None:
        self.tallies += tallies
        self.keys.update(tally.key for tally in tallies)

    @property
    def records(self) -> int:
        return sum(tally.times for tally in self.tallies)

    @property
    def vouched(self) -> int:
        return sum(claim.vouched for claim in self.claims) + sum(
            tally.vouched for tally in self.tallies
        )

    @property
    def best(self) -> int:
        return max((tally.best for tally in self.tallies), default=0)

    @property
    def authors(self) -> set[str]:
        return {tally.author for tally in self.tallies} | {claim.author for claim in self.claims}

    @property
    def first_day(self) -> int:
        return min(
            (
                *(tally.day for tally in self.tallies),
                *(claim.at_us // limits.DAY_US for claim in self.claims),
            ),
            default=0,
        )

    @property
    def newest(self) -> list[tuple[int, str]]:
        """When each was said last, and by which record."""
        return [
            *((tally.last_us, tally.last_id) for tally in self.tallies),
            *((claim.at_us, claim.record_id) for claim in self.claims),
        ]

    @property
    def levels(self) -> list[int]:
        """How often it was seen at each level."""
        if len(self.tallies) == 1:  # as most have
            return list(self.tallies[0].levels)
        return [
            sum(times) for times in zip(*(tally.levels for tally in self.tallies), strict=True)
        ] or [0] * LEVELS

    @property
    def fair_levels(self) -> list[int]:
        """The same with a fair part of what each author says."""
        if len({tally.author for tally in self.tallies}) < 2:
            return self.levels
        said: dict[str, list[Tally]] = {}
        for tally in self.tallies:
            said.setdefault(tally.author, []).append(tally)
        votes = {
            author: Votes(sum(each.times for each in mine), sum(each.vouched for each in mine))
            for author, mine in said.items()
        }
        parts = fair_parts(votes)
        if min(parts.values(), default=1.0) == 1.0:
            return self.levels
        return [
            round(sum(parts[tally.author] * tally.levels[level] for tally in self.tallies))
            for level in range(LEVELS)
        ]

    @property
    def mean(self) -> float:
        total = sum(tally.total for tally in self.tallies)
        return total / self.records / MILLIONTHS if self.records else 0.0

    @property
    def seen_before(self) -> int:
        """How often it was seen before it was adopted, as whoever counted it says."""
        return sum(self._greatest(lambda claim: claim.seen))

    @property
    def only_claimed(self) -> bool:
        """Whether it was adopted, without a record that says so and without anybody who vouches for
        it.
        """
        return not self.records and not self.vouched

    @property
    def only_source(self) -> str | None:
        """None where there are several, or somebody vouches for it."""
        return next(iter(self.authors)) if len(self.authors) == 1 and not self.vouched else None

    @property
    def claimants(self) -> int:
        """How many say so without records: one that says it in several files is still one."""
        return len({claim.author for claim in self.claims})

    @property
    def last_us(self) -> int:
        return max(self.newest)[0]

    @property
    def newest_ids(self) -> list[str]:
        """The newest records of different days, authors and outcomes; the same ones whatever the
        order of arrival.
        """
        newest = sorted(set(self.newest), reverse=True)
        return [record_id for _, record_id in newest[: limits.EVIDENCE_SHOWN_MAX]]

    @property
    def sample_ids(self) -> list[str]:
        """Whose words are shown: first of records on days with a vouched one, then of the author
        who taught it most, then the newest; what was only claimed comes last. A single newcomer
        never puts other words into what others taught.
        """
        if len(self.tallies) == 1 and not self.claims:
            return [self.tallies[0].last_id]
        taught: dict[str, int] = {}
        for tally in self.tallies:
            taught[tally.author] = taught.get(tally.author, 0) + tally.times
        ordered = sorted(
            self.tallies,
            key=lambda tally: (
                tally.vouched > 0,
                taught[tally.author],
                tally.last_us,
                tally.last_id,
            ),
        )
        records = list(dict.fromkeys(tally.last_id for tally in reversed(ordered)))[
            : limits.EVIDENCE_SHOWN_MAX
        ]
        claimed = sorted(
            self.claims, key=lambda claim: (claim.at_us, claim.record_id), reverse=True
        )
        return [*records, *(claim.record_id for claim in claimed)]

    def weight(self, today: int) -> float:
        """Records, and whoever claims it for one, all counting less as they age."""
        claimed = self._greatest(lambda claim: age_weight(claim.at_us // limits.DAY_US, today))
        recorded = (tally.times * age_weight(tally.day, today) for tally in self.tallies)
        return sum(claimed) + sum(recorded)

    def fair_weight(self, today: int) -> float:
        """The same, where nobody counts for more than a careful colleague beside what somebody
        vouches for.
        """
        said = defaultdict[str, float](float)
        for tally in self.tallies:
            said[tally.author] += (tally.times - tally.vouched) * age_weight(tally.day, today)
        vouched = sum(tally.vouched * age_weight(tally.day, today) for tally in self.tallies)
        claimed = self._greatest(lambda claim: age_weight(claim.at_us // limits.DAY_US, today))
        return (
            sum(claimed) + vouched + sum(min(each, limits.SOURCE_VOTES) for each in said.values())
        )

    def _greatest(self, figure: Callable[[Claim], N]) -> Iterable[N]:
        """Of each who claims it, the greatest figure."""
        return {claim.author: figure(claim) for claim in sorted(self.claims, key=figure)}.values()


def gather(tallies: Iterable[Tally], same: Mapping[str, str] | None = None) -> dict[str, Evidence]:
    """The support of each item. `same` names, for items that were merged, the one that stands for
    all of them.
    """
    supports: dict[str, Evidence] = {}
    for tally in tallies:
        item = same.get(tally.item, tally.item) if same else tally.item
        if item not in supports:
            supports[item] = Evidence(item)
        supports[item].add(tally)
    return supports


# --- what was adopted ---

# The origin of what came from a training memory. Its `data`: `memory`, the file without what
# follows; `scores`, the score histories; `log`, the episode log without its summaries (the episodes
# are records, and may be forgotten).
TRAINING_MEMORY: Final = "training_memory"

# The origin of what came from an older fix history. Its `data` is `knowledge_base`, the file of that
# name.
FIX_HISTORY: Final = "fix history"

_MARKS: Final = (("[WORKS]", "works"), ("[AVOID]", "avoid"))
_CONSOLIDATED: Final = "[CONSOLIDATED]"


# --- what a training memory looks like ---


class LoggedEpisode(Model):
    """An entry of the episode log."""

    model_config = ConfigDict(extra="allow")

    timestamp: Time
    task_id: RequiredName
    score: Unit
    steps: Count = 0
    summary: Text = ""


def _short(value: object) -> object:
    """A name that is too long or has several lines, as one that can be shown: training memory took
    any text.
    """
    if not isinstance(value, str) or (len(value) <= limits.NAME_CHARS_MAX and value.isprintable()):
        return value
    line = "".join(character if character.isprintable() else " " for character in value)
    return " ".join(line.split())[: limits.NAME_CHARS_MAX].strip()


_ShortName = Annotated[RequiredName, BeforeValidator(_short)]
# A list or an object as its JSON: training memory took whatever JSON can hold for a worker or a
# decision.
_PlainValue = Annotated[
    Scalar,
    BeforeValidator(
        lambda value: (
            json.dumps(check_json(value), sort_keys=True, ensure_ascii=False)
            if isinstance(value, list | dict)
            else value
        )
    ),
]


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


class OlderScores(Model):
    """Scores of a task that are no longer listed."""

    count: Count
    sum: Finite


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
    score_history: dict[RequiredName, list[Unit]] = Field(default_factory=dict)
    mistakes: list[Text] = Field(default_factory=list)
    mistake_cards: list[CountedCard] = Field(default_factory=list)
    successes: list[Text] = Field(default_factory=list)
    older_scores: dict[RequiredName, OlderScores] = Field(default_factory=dict)


class AdoptedClaims(NamedTuple):
    """A record that came from a training memory, and the memory that it holds."""

    record: Adopted
    memory: TrainingMemory


def adopted_claims(records: Iterable[Adopted]) -> Iterator[AdoptedClaims]:
    """Those that came from a training memory, as far as they can be read: a file of records may
    hold anything.
    """
    for record in records:
        if record.origin == TRAINING_MEMORY:
            with suppress(InvalidInputError):
                yield AdoptedClaims(
                    record, TrainingMemory.model_validate(record.data.get("memory"))
                )


# --- what it claims ---


class Claim(NamedTuple):
    """One source's word for a rule or a card. `place` grows with how new a rule was, as far as its
    list told; `seen` is the count that stood beside a card.
    """

    record_id: str
    author: str
    at_us: int
    vouched: bool
    place: int
    seen: int


def rules_of(
    adopted: Iterable[AdoptedClaims], task_id: str | None, now_us: int
) -> Iterator[tuple[str, str, Claim]]:
    """Rules of a task, each with its kind (works, avoid or written) and its item; of None, those of
    no task. Nobody says anything after `now_us`.
    """
    for record, memory in adopted:
        places = {
            (kind, rule_key(text, kind)): place
            for place, (kind, text) in enumerate(_rules_said(memory, task_id))
        }
        for (kind, item), place in places.items():
            if item:
                yield kind, item, _claim(record, now_us, place)


def adopted_text(
    memory: TrainingMemory, task_id: str | None, kind: str, items: Iterable[str]
) -> str | None:
    """How it words one of these rules."""
    wanted = set(items)
    said = [
        text
        for about, text in _rules_said(memory, task_id)
        if about == kind and rule_key(text, kind) in wanted
    ]
    return " ".join(said[-1].split())[: limits.LESSON_CHARS_MAX] if said else None


def cards_of(
    adopted: Iterable[AdoptedClaims], task_id: str | None, now_us: int
) -> Iterator[tuple[str, str, Claim]]:
    """Mistake cards of a task, or of all of them, each with its task and its item."""
    for record, memory in adopted:
        for card in memory.mistake_cards[: limits.LESSONS_PER_RECORD_MAX]:
            if task_id in (None, card.task_id):
                claim = _claim(record, now_us, 0, card.seen_count)
                yield card.task_id, card_key(card, card.task_id), claim


def adopted_card(memory: TrainingMemory, item: str) -> MistakeCard | None:
    """How it words this card."""
    cards = memory.mistake_cards[: limits.LESSONS_PER_RECORD_MAX]
    return next((card for card in cards if card_key(card, card.task_id) == item), None)


def _rules_said(memory: TrainingMemory, task_id: str | None) -> list[tuple[str, str]]:
    """What helps most last. Mistakes and successes stand without a task."""
    newest = slice(-limits.LESSONS_PER_RECORD_MAX, None)
    if task_id is not None:
        return [_marked(text) for text in memory.task_rules.get(task_id, [])[newest]]
    return [
        *(_marked(text) for text in memory.global_rules[newest]),
        *(("works", text) for text in memory.successes[newest]),
        *(("avoid", text) for text in memory.mistakes[newest]),
    ]


def _marked(rule: str) -> tuple[str, str]:
    """A rule as training memory writes it, as its kind and what it says. `[HIGH SCORE …]` is no
    more than a text.
    """
    said = rule.removeprefix(_CONSOLIDATED).strip()
    for mark, kind in _MARKS:
        if said.startswith(mark):
            return kind, said.removeprefix(mark).strip()
    return "written", said


def _claim(record: Adopted, now_us: int, place: int, seen: int = 1) -> Claim:
    return Claim(
        record.id,
        record.said_by,
        min(record.at_us, now_us),
        record.metadata.validation.status in VOUCHED_STATUSES,
        place,
        min(seen, _ADOPTED_SEEN_MAX),
    )
