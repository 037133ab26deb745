"""Rules and mistake cards: what episodes teach about a task, and what was adopted about it. Pure
functions of counts, decisions, and the words of records.
What holds: a rule needs several episodes, and where others were at the task, several sources.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any, Final, Literal

from hardwon import limits
from hardwon.lessons.chance import at_least
from hardwon.lessons.counts import level_of_score
from hardwon.lessons.evidence import EVIDENCE_SHOWN_MAX, Evidence
from hardwon.lessons.keys import BETWEEN_NAMES, card_key, rule_key
from hardwon.lessons.sources import by_turns
from hardwon.records.fields import Tabular, from_us
from hardwon.records.kinds import (
    BAD_SCORE_BELOW,
    GOOD_SCORE,
    REPR_CHARS_MAX,
    Decision,
    Episode,
    MistakeCard,
    RuleState,
    Status,
)

RuleKind = Literal["works", "avoid", "written"]
STATE_ORDER: Final[Mapping[str, int]] = {"active": 0, "candidate": 1, "retired": 2}
_MARKS: Final[Mapping[str, str]] = {"works": "[WORKS] ", "avoid": "[AVOID] ", "written": ""}

HIGH_LEVEL: Final = level_of_score(GOOD_SCORE)
LOW_LEVEL: Final = level_of_score(BAD_SCORE_BELOW)

# Episodes of a task before its own quarters say what is good and what is bad there; before, the
# fixed thresholds do.
_RELATIVE_EPISODES_MIN: Final = 8
_QUARTER: Final = 0.25
# A share of good episodes this unlikely by chance speaks for a rule, however small it is.
_CHANCE_MAX: Final = 0.05
_SPOKE_ENOUGH: Final = 2 * limits.PROOFS_MIN  # episodes for and against a rule, to retire it


@dataclass(frozen=True)
class Rule(Tabular):
    """Something to do or to avoid. `helpful` and `harmful` are the episodes that speak for it and
    against it: with something that works, those that ended well and badly; with something to avoid,
    the other way round. `task_id` None: it holds for the whole project. `sources` are the authors
    of its episodes, and of what was `adopted` and says so without episodes. `trust` is how far the
    least believed of its episodes is believed.
    """

    id: str
    kind: RuleKind
    text: str
    task_id: str | None
    state: RuleState
    episodes: int
    sources: tuple[str, ...]
    tasks: tuple[str, ...]
    helpful: int
    harmful: int
    vouched: int
    mean_score: float | None
    first_seen: date
    last_seen: datetime
    evidence: tuple[str, ...]
    adopted: int = 0
    trust: Status = "hypothesis"

    def as_row(self) -> dict[str, Any]:
        """For a line of a data frame."""
        shown = "state kind task_id text helpful harmful mean_score last_seen"
        return {name: getattr(self, name) for name in shown.split()}

    def __repr__(self) -> str:
        return f"<Rule {self.state}, {self.kind}: {self.text[:REPR_CHARS_MAX]}>"

    def __str__(self) -> str:
        return _MARKS[self.kind] + self.text


@dataclass(frozen=True)
class Thresholds:
    """Levels from which on an episode of a task is good, and up to which it is bad. Once the task
    has some history, its own best and worst quarters count as well, so that a weak agent learns
    from the best it can do, and one that is never bad from the worst it does below 0.85.
    """

    episodes: int = 0
    good_from: int = HIGH_LEVEL
    bad_below: int = LOW_LEVEL
    good_share: float = 0.0
    bad_share: float = 0.0
    sources: int = 1  # how many authors were at the task

    @classmethod
    def read(cls, levels: Sequence[int]) -> Thresholds:
        """From the number of the task's episodes at each level of score."""
        episodes = sum(levels)
        good_from, bad_below = HIGH_LEVEL, LOW_LEVEL
        if episodes >= _RELATIVE_EPISODES_MIN:
            upper = len(levels) - 1 - _find_quarter(levels[::-1])
            lower = _find_quarter(levels)
            if lower < upper:
                good_from = min(good_from, upper)
                bad_below = min(max(bad_below, lower + 1), good_from)
        good, bad = sum(levels[good_from:]), sum(levels[:bad_below])
        return cls(episodes, good_from, bad_below, good / max(episodes, 1), bad / max(episodes, 1))

    def good(self, levels: Sequence[int]) -> int:
        """How many episodes were good."""
        return sum(levels[self.good_from :])

    def bad(self, levels: Sequence[int]) -> int:
        """How many episodes were bad."""
        return sum(levels[: self.bad_below])


def _find_quarter(levels: Sequence[int]) -> int:
    """The level at which a quarter of the episodes is reached, from the beginning."""
    reached, wanted = 0, _QUARTER * sum(levels)
    for level, count in enumerate(levels):
        reached += count
        if reached >= wanted:
            return level
    return len(levels) - 1


@dataclass(frozen=True)
class Weighed:
    """A rule before its text is looked up. `backers` are the authors, and `vouched` the least
    number of vouched episodes, that speak for it: an episode that speaks against a rule does not
    vouch for it. `strength` is how well, and how lately, it was borne out.
    """

    kind: RuleKind
    task_id: str | None
    support: Evidence
    helpful: int
    harmful: int
    state: RuleState
    strength: float
    backers: frozenset[str]
    vouched: int

    @property
    def order(self) -> tuple[int, float, int, bool, int, str]:
        return STATE_ORDER[self.state], -self.strength, *self.newest_first

    @property
    def is_new(self) -> bool:
        """Whether too few episodes spoke to tell whether it holds. Where enough did, and it is
        still a candidate, it does not make much of a difference.
        """
        return self.state == "candidate" and self.helpful + self.harmful < _SPOKE_ENOUGH

    @property
    def newest_first(self) -> tuple[int, bool, int, str]:
        """By when a record reported it last; where none did, a claim."""
        support = self.support
        last_us = max((tally.last_us for tally in support.tallies), default=support.last_us)
        place = max((claim.best for claim in support.claims), default=0)
        return -last_us, self.task_id is None, -place, support.item


def weigh(
    kind: RuleKind,
    task_id: str | None,
    supports: Iterable[Evidence],
    thresholds: Thresholds,
    retired_on: Mapping[str, int],
    today: int,
) -> list[Weighed]:
    """Every lesson of a task that at least one episode speaks for, or that was adopted: that counts
    as one more, and as enough where somebody vouches for it. `retired_on`: the day on which
    consolidation retired an item; evidence of a later day brings it back.
    """
    speaks, denies, usual = thresholds.good, thresholds.bad, thresholds.good_share
    if kind != "works":
        speaks, denies, usual = denies, speaks, thresholds.bad_share
    weighed = []
    for support in supports:
        levels, fair = support.levels, support.fair_levels
        helpful, harmful = speaks(levels), denies(levels)
        claimed = bool(support.claims)
        if not helpful and not claimed:
            continue
        fair_for, fair_against = speaks(fair), denies(fair)
        vouched = _count_vouchers(support, speaks)
        if vouched >= limits.PROOFS_MIN:
            # what nobody vouches for does not outweigh what somebody does
            vouched_against = _count_vouchers(support, denies)
            fair_against = min(fair_against, max(vouched_against, vouched - 1))
        # one more that speaks for it, here as there: or its own word would be beyond chance
        episodes = thresholds.episodes
        share = (usual * episodes + 1) / (episodes + 1) if claimed else usual
        state = rule_state(fair_for + claimed, fair_against, share)
        if state == "active" and thresholds.sources > 1 and support.only_source:
            state = "candidate"  # others were at the task, too, and nobody else says so
        if (
            state == "candidate"
            and harmful <= helpful + claimed
            and any(claim.vouched for claim in support.claims)
        ):
            state = "active"
        if retired_on.get(support.item, -1) >= support.last_us // limits.DAY_US:
            state = "retired"
        borne_out = (fair_for + 1) / (fair_for + fair_against + 2)
        backers = frozenset(tally.author for tally in support.tallies if speaks(tally.levels))
        strength = borne_out * support.weight(today)
        weighed.append(
            Weighed(kind, task_id, support, helpful, harmful, state, strength, backers, vouched)
        )
    return weighed


def _count_vouchers(support: Evidence, speaks: Callable[[Sequence[int]], int]) -> int:
    """Of the episodes that speak so, the least number that somebody vouches for."""
    return sum(
        max(0, tally.vouched - (tally.times - speaks(tally.levels))) for tally in support.tallies
    )


def rule_state(helpful: int, harmful: int, usual_share: float) -> RuleState:
    """Active once enough episodes speak for it and either most of those that say anything do, or
    more do than chance allows where the usual share is `usual_share`. Retired when enough spoke and
    it turned out to make no difference.
    """
    spoke, enough = helpful + harmful, helpful >= limits.PROOFS_MIN
    if enough and helpful > harmful:
        return "active"
    if not enough and (spoke < _SPOKE_ENOUGH or helpful >= harmful):
        return "candidate"
    unlikely = at_least(helpful, spoke, min(max(usual_share, 0.01), 0.99)) < _CHANCE_MAX
    if enough and unlikely:
        return "active"
    retired = spoke >= _SPOKE_ENOUGH and helpful < harmful and not unlikely
    return "retired" if retired else "candidate"


def holds_for_project(supports: Sequence[Weighed]) -> bool:
    """Whether a lesson learned in several tasks may be shown in others: active in enough of them,
    from enough distinct sources, and somebody vouched for an episode that shows it. Reports that
    nobody checked never get that far.
    """
    active = [weighed for weighed in supports if weighed.state == "active"]
    authors = {author for weighed in active for author in weighed.backers}
    return (
        len({weighed.task_id for weighed in active}) >= limits.PROOFS_MIN
        and len(authors) >= limits.PROOFS_MIN
        and sum(weighed.vouched for weighed in active) > 0
    )


def make_project_rule(supports: Sequence[Weighed], text: str) -> Rule:
    """One rule from what several tasks say. Only for lessons that hold for the project."""
    active = [weighed for weighed in supports if weighed.state == "active"]
    whole = Evidence(active[0].support.item)
    for weighed in active:
        whole.add(*weighed.support.tallies)
    helpful = sum(weighed.helpful for weighed in active)
    harmful = sum(weighed.harmful for weighed in active)
    joined = replace(active[0], support=whole, task_id=None, helpful=helpful, harmful=harmful)
    return make_rule(joined, text)


def make_rule(weighed: Weighed, text: str) -> Rule:
    """The rule in these words."""
    support = weighed.support
    all_vouched = support.vouched >= support.records > 0 and not support.claims
    return Rule(
        id=support.item,
        kind=weighed.kind,
        text=text,
        task_id=weighed.task_id,
        state=weighed.state,
        episodes=support.records,
        sources=tuple(sorted(support.authors)),
        tasks=tuple(sorted(support.keys)),
        helpful=weighed.helpful,
        harmful=weighed.harmful,
        vouched=support.vouched,
        mean_score=support.mean if support.records else None,
        first_seen=make_date(support.first_day),
        last_seen=from_us(support.last_us),
        evidence=tuple(support.newest_ids),
        adopted=support.claimants,
        trust="verified" if all_vouched else "hypothesis",
    )


def make_written_rule(decision: Decision, *, tainted: bool, trust: Status) -> Rule:
    """A rule that an LLM wrote down: a candidate until it is verified, and as long as some of the
    episodes it was read from do not count any more (`tainted`).
    """
    at = decision.metadata.context.timestamp
    trusted = decision.in_effect and not tainted
    return Rule(
        id=decision.id,
        kind="written",
        text=decision.text,
        task_id=decision.task_id,
        state="active" if trusted else "candidate",
        episodes=len(decision.evidence),
        sources=(decision.said_by,),
        tasks=(decision.task_id,) if decision.task_id else (),
        helpful=0,
        harmful=0,
        vouched=int(trusted),
        mean_score=None,
        first_seen=at.date(),
        last_seen=at,
        evidence=tuple(decision.evidence[-EVIDENCE_SHOWN_MAX:]),
        trust=trust,
    )


def word_rule(episode: Episode, kind: str, items: Iterable[str]) -> str | None:
    """How the episode words one of these lessons; None where it has none of them."""
    wanted = set(items)
    for text in episode.successes if kind == "works" else episode.mistakes:
        if rule_key(text, kind) in wanted:
            return " ".join(text.split())[: limits.LESSON_CHARS_MAX]
    return None


def merge_items(decisions: Iterable[Decision]) -> dict[str, str]:
    """For every item that was merged, the one that stands for its group: the smallest, so that the
    order in which merges were decided, here or in another memory, makes no difference.
    """
    parent: dict[str, str] = {}

    def find_root(item: str) -> str:
        """The item that stands for the group."""
        while parent.setdefault(item, item) != item:
            item = parent[item]
        return item

    for decision in decisions:
        if decision.action == "merge":
            one, other = sorted((find_root(decision.target), find_root(decision.replacement)))
            parent[other] = one
    return {item: find_root(item) for item in list(parent)}


def make_date(day: int) -> date:
    """The date of a day since 1970."""
    return date(1970, 1, 1) + timedelta(days=day)


@dataclass(frozen=True)
class Card(Tabular):
    """A mistake that episodes reported, with the decision that would have been right, as the newest
    of them words it. `seen_count` counts episodes; `adopted_count` is what training memory had
    counted, where the card was adopted.
    """

    id: str
    mistake_type: str
    task_id: str
    worker_id: Any
    bad_decision: Any
    correct_decision: Any
    evidence: str
    lesson: str
    seen_count: int
    sources: tuple[str, ...]
    mean_score: float | None
    first_seen: date
    last_seen: datetime
    records: tuple[str, ...]
    vouched: int = 0
    adopted_count: int = 0

    @property
    def seen(self) -> str:
        """How often, for a reader: in episodes that are here, and what was adopted."""
        if not self.adopted_count:
            return str(self.seen_count)
        return f"{f'{self.seen_count} + ' if self.seen_count else ''}{self.adopted_count} (adopted)"


def make_card(support: Evidence, words: MistakeCard) -> Card:
    """The card in these words."""
    return Card(
        id=support.item,
        mistake_type=words.mistake_type,
        task_id=next(iter(support.keys)),
        worker_id=words.worker_id,
        bad_decision=words.bad_decision,
        correct_decision=words.correct_decision,
        evidence=words.evidence,
        lesson=words.lesson,
        seen_count=support.records,
        sources=tuple(sorted(support.authors)),
        mean_score=support.mean if support.records else None,
        first_seen=make_date(support.first_day),
        last_seen=from_us(support.last_us),
        records=tuple(support.newest_ids),
        vouched=support.vouched,
        adopted_count=support.seen_before,
    )


def word_card(episode: Episode, item: str) -> MistakeCard | None:
    """How the episode words a card, the last time; None where it has no such card."""
    cards = (card for card in reversed(episode.mistake_cards))
    return next((card for card in cards if card_key(card, episode.task_id) == item), None)


def rank_cards(cards: Iterable[Evidence], today: int) -> list[Evidence]:
    """By how often they were seen of late, the types taking turns: however often one type comes up,
    the best card of every other type stands before its second. Of several sources none counts for
    more than a careful colleague, and they take turns as well. Cards that were only adopted come
    last, whatever they say of themselves.
    """
    cards = list(cards)
    several = len({author for card in cards for author in card.authors}) > 1
    best_first = sorted(cards, key=lambda card: _order_card(card, today, fairly=several))
    ranked: list[Evidence] = []
    for claimed in (False, True):
        group = (card for card in best_first if card.only_claimed is claimed)
        by_type = by_turns(group, lambda card: card.item.partition(BETWEEN_NAMES)[0])
        ranked += by_turns(by_type, lambda card: card.only_source)
    return ranked


def _order_card(card: Evidence, today: int, *, fairly: bool) -> tuple[float, int, int, str]:
    weight = card.fair_weight(today) if fairly else card.weight(today)
    return -weight, -card.last_us, -card.seen_before, card.item
