"""Rules and mistake cards: what the episodes at a task report, weighed against how they ended, and
what was adopted about it. Pure functions of records.
What holds: a rule needs several episodes, and where others were at the task, several sources.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cached_property
from statistics import fmean
from typing import Any, Final, Literal, NamedTuple

from hardwon import limits
from hardwon.lessons.adopted import ADOPTED_SEEN_MAX, TrainingMemory
from hardwon.lessons.chance import at_least
from hardwon.lessons.counts import (
    cut_rule,
    find_reported_rules,
)
from hardwon.lessons.keys import card_key, make_episode_rule_id, rule_key
from hardwon.lessons.lesson import EVIDENCE_SHOWN_MAX, Lesson
from hardwon.lessons.order import find_near_duplicates
from hardwon.lessons.sources import Votes, age_weight, by_turns, fair_parts
from hardwon.records.fields import Tabular, from_us
from hardwon.records.kinds import (
    BAD_SCORE_BELOW,
    GOOD_SCORE,
    OWN_HISTORY,
    REPR_CHARS_MAX,
    STATUSES,
    VOUCHED_STATUSES,
    Adopted,
    Decision,
    Episode,
    Record,
    RuleState,
    Status,
)

RuleKind = Literal["works", "avoid", "written"]
STATE_ORDER: Final[Mapping[str, int]] = {"active": 0, "candidate": 1, "retired": 2}
_MARKS: Final[Mapping[str, str]] = {"works": "[WORKS] ", "avoid": "[AVOID] ", "written": ""}

# Levels of a score are twentieths: 0.50 and 0.85, the thresholds of training memory, begin one
# each.
_LEVELS: Final = 20


def level_of_score(score: float) -> int:
    """The twentieth that a score lies in; the best one has 1, too."""
    return min(round(score * 1_000_000) * _LEVELS // 1_000_000, _LEVELS - 1)


HIGH_LEVEL: Final = level_of_score(GOOD_SCORE)
LOW_LEVEL: Final = level_of_score(BAD_SCORE_BELOW)

# Episodes of a task before its own quarters say what is good and what is bad there; before, the
# fixed thresholds do.
_RELATIVE_EPISODES_MIN: Final = 8
_QUARTER: Final = 0.25
# A share of good episodes this unlikely by chance speaks for a rule, however small it is.
_CHANCE_MAX: Final = 0.05
_SPOKE_ENOUGH: Final = 2 * limits.PROOFS_MIN  # episodes for and against a rule, to retire it
# Rules of one task that are compared with one another for near-duplicates, the newest: the time
# grows with their square.
_COMPARED_MAX: Final = 100


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

    def as_lesson(self) -> Lesson:
        """The same as a lesson of its task."""
        tried, p = self.helpful + self.harmful, _share(self.helpful, self.harmful)
        counts = tried, self.helpful, p, self.last_seen, self.evidence, len(self.sources)
        return Lesson(self.id, "rule", self.task_id or "", str(self), *counts)

    @property
    def only_source(self) -> str | None:
        """Who alone says so; None where several do, or somebody vouches for it."""
        return self.sources[0] if len(self.sources) == 1 and not self.vouched else None

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
    def read(cls, scores: Sequence[float], sources: int = 1) -> Thresholds:
        """From the scores of the task's episodes, by so many sources."""
        levels, episodes = [0] * _LEVELS, len(scores)
        for score in scores:
            levels[level_of_score(score)] += 1
        good_from, bad_below = HIGH_LEVEL, LOW_LEVEL
        if episodes >= _RELATIVE_EPISODES_MIN:
            upper = len(levels) - 1 - _find_quarter(levels[::-1])
            lower = _find_quarter(levels)
            if lower < upper:
                good_from = min(good_from, upper)
                bad_below = min(max(bad_below, lower + 1), good_from)
        good, bad = sum(levels[good_from:]), sum(levels[:bad_below])
        most = max(episodes, 1)
        return cls(episodes, good_from, bad_below, good / most, bad / most, sources)

    def is_good(self, level: int) -> bool:
        """Whether an episode of this level ended well."""
        return level >= self.good_from

    def is_bad(self, level: int) -> bool:
        """Whether it ended badly."""
        return level < self.bad_below


def _find_quarter(levels: Sequence[int]) -> int:
    """The level at which a quarter of the episodes is reached, from the beginning."""
    reached, wanted = 0, _QUARTER * sum(levels)
    for level, count in enumerate(levels):
        reached += count
        if reached >= wanted:
            return level
    return len(levels) - 1


class Report(NamedTuple):
    """What one record says, a text or a mistake card, and whose word it is: an episode with its `score`,
    or a training memory that was adopted and claims it without episodes. `place` is where a claim stood
    in its list, or how often a card was seen there.
    """

    at_us: int
    record_id: str
    source: str
    status: Status
    words: Any
    score: float | None = None
    place: int = 0

    @property
    def is_vouched(self) -> bool:
        return self.status in VOUCHED_STATUSES


def _report(record: Record, words: Any, score: float | None = None, place: int = 0) -> Report:
    status = record.metadata.validation.status
    return Report(record.at_us, record.id, record.said_by, status, words, score, place)


class Support:
    """All that speaks for a rule or a card: the episodes that report it, and who claims it without
    episodes, each the newest first.
    """

    def __init__(self, item: str, reports: Iterable[Report]) -> None:
        self.item = item
        newest = sorted(reports, key=_order, reverse=True)
        self.episodes = [one for one in newest if one.score is not None]
        self.claims = [one for one in newest if one.score is None]
        self.reports = [*self.episodes, *self.claims]
        self.scores = [one.score for one in self.episodes if one.score is not None]
        self.levels = list(map(level_of_score, self.scores))
        self.authors = {one.source for one in newest}
        self.vouched = sum(one.is_vouched for one in newest)
        # When an episode reported it last; where none did, when it was claimed.
        self.last_us = self.reports[0].at_us

    @property
    def only_source(self) -> str | None:
        """None where there are several, or somebody vouches for it, or it is the owner's history."""
        if len(self.authors) != 1 or self.vouched or OWN_HISTORY in self.authors:
            return None
        return next(iter(self.authors))

    @property
    def only_claimed(self) -> bool:
        """Whether it was adopted, without an episode that reports it and without anybody who vouches
        for it.
        """
        return not self.episodes and not self.vouched

    @property
    def seen_before(self) -> int:
        """How often it was seen before it was adopted, as whoever counted it reports."""
        seen: dict[str, int] = {}
        for claim in self.claims:
            seen[claim.source] = max(claim.place, seen.get(claim.source, 0))
        return sum(seen.values())

    @property
    def evidence(self) -> tuple[str, ...]:
        """The newest records of different days and authors."""
        newest: dict[tuple[int, str], str] = {}
        for one in self.reports:
            newest.setdefault((one.at_us // limits.DAY_US, one.source), one.record_id)
        return tuple(newest.values())[:EVIDENCE_SHOWN_MAX]

    @cached_property
    def words(self) -> Any:
        """Those of an episode that somebody vouches for, else of the author who taught it most, else the
        newest. A single newcomer never puts other words into what others taught.
        """
        taught = Counter(one.source for one in self.episodes)
        of_many = self.episodes or self.claims
        best = max(of_many, key=lambda one: (one.is_vouched, taught[one.source], *_order(one)))
        return best.words

    def describe(self) -> dict[str, Any]:
        """What rules and cards tell of it alike."""
        return {
            "sources": tuple(sorted(self.authors)),
            "mean_score": fmean(self.scores) if self.scores else None,
            "first_seen": from_us(min(one.at_us for one in self.reports)).date(),
            "last_seen": from_us(self.last_us),
            "vouched": self.vouched,
        }

    def list_saying(self, speaks: Callable[[int], bool]) -> list[Report]:
        """The episodes with a level that speaks so."""
        pairs = zip(self.episodes, self.levels, strict=True)
        return [one for one, level in pairs if speaks(level)]

    @cached_property
    def _parts(self) -> dict[str, float]:
        """The part of each author's episodes that counts."""
        reported = Counter(one.source for one in self.episodes)
        vouched = Counter(one.source for one in self.episodes if one.is_vouched)
        return fair_parts({name: Votes(reported[name], vouched[name]) for name in reported})

    def count(self, speaks: Callable[[int], bool]) -> tuple[int, int, int]:
        """How many episodes speak so, with a fair part of what each author reports, and how many of them
        somebody vouches for.
        """
        saying = self.list_saying(speaks)
        fair = sum(self._parts[one.source] for one in saying)
        return len(saying), round(fair), sum(one.is_vouched for one in saying)

    def weigh(self, today: int, *, fairly: bool) -> float:
        """Its episodes, and whoever claims it for one, all counting less as they age; `fairly`: what
        nobody vouches for counts, of each author, no more than a careful colleague's word.
        """
        claimed, unchecked = dict[str, float](), defaultdict[str, float](float)
        whole = 0.0
        for claim in reversed(self.claims):
            claimed[claim.source] = age_weight(claim.at_us // limits.DAY_US, today)
        for one in self.episodes:
            weight = age_weight(one.at_us // limits.DAY_US, today)
            if fairly and not one.is_vouched:
                unchecked[one.source] += weight
            else:
                whole += weight
        fair = (min(weight, limits.SOURCE_VOTES) for weight in unchecked.values())
        return whole + sum(claimed.values()) + sum(fair)


def _order(report: Report) -> tuple[int, str]:
    return report.at_us, report.record_id


def _share(for_it: float, against: float) -> float:
    return (for_it + 1) / (for_it + against + 2)


# What was adopted, with the record that keeps it.
Memories = Sequence[tuple[Adopted, TrainingMemory]]
# The reports of each item, by record: an episode that says something twice is one.
_ByItem = dict[str, dict[str, Report]]


def gather_rules(
    kind: RuleKind, task_id: str | None, episodes: Iterable[Episode], memories: Memories
) -> list[Support]:
    """What speaks for each rule of a kind: of the episodes of a task, and of what was adopted about it
    (`task_id` None: about no task in particular). Those that say nearly the same are one.
    """
    by_item: _ByItem = defaultdict(dict)
    for episode in episodes:
        for item, text in find_reported_rules(episode, kind).items():
            by_item[item][episode.id] = _report(episode, text, episode.score)
    for record, memory in memories:
        for place, (about, text) in enumerate(memory.list_rules(task_id or "")):
            if about == kind and (item := rule_key(text, kind)):
                by_item[item][record.id] = _report(record, cut_rule(text), place=place)
    newest = {item: max(reports.values(), key=_order) for item, reports in by_item.items()}
    last_first = sorted(newest, key=lambda item: _order(newest[item]), reverse=True)
    texts = {item: newest[item].words for item in last_first[:_COMPARED_MAX]}
    for item, same in find_near_duplicates(texts):
        by_item[item] = by_item.pop(same) | by_item[item]
    return [Support(item, reports.values()) for item, reports in by_item.items()]


class Weighed(NamedTuple):
    """A rule with what speaks for it. `backers` are the authors of the episodes that do; somebody vouches
    for so many of these. `strength` is how well, and how lately, it was borne out.
    """

    rule: Rule
    support: Support
    strength: float
    backers: frozenset[str]
    vouched: int

    @property
    def order(self) -> tuple[int, float, int, bool, int, str]:
        return STATE_ORDER[self.rule.state], -self.strength, *self.newest_first

    @property
    def newest_first(self) -> tuple[int, bool, int, str]:
        """By when a record reported it last; where none did, a claim."""
        support = self.support
        place = max((claim.place for claim in support.claims), default=0)
        return -support.last_us, self.rule.task_id is None, -place, support.item

    @property
    def is_new(self) -> bool:
        """Whether too few episodes spoke to tell whether it holds. Where enough did, and it is
        still a candidate, it does not make much of a difference.
        """
        rule = self.rule
        return rule.state == "candidate" and rule.helpful + rule.harmful < _SPOKE_ENOUGH


def weigh_rules(
    kind: RuleKind,
    task_id: str | None,
    supports: Iterable[Support],
    thresholds: Thresholds,
    today: int,
    last_us: int = 0,
) -> list[Weighed]:
    """Every rule of a task that at least one episode speaks for, or that was adopted: that counts as one
    more, and as enough where somebody vouches for it. `last_us` is when the task was done last: what no
    episode showed for long before that is retired.
    """
    speaks, denies, usual = thresholds.is_good, thresholds.is_bad, thresholds.good_share
    if kind != "works":
        speaks, denies, usual = denies, speaks, thresholds.bad_share
    weighed = []
    for support in supports:
        helpful, fair_for, vouched = support.count(speaks)
        harmful, fair_against, vouched_against = support.count(denies)
        claimed = bool(support.claims)
        if not helpful and not claimed:
            continue
        if vouched >= limits.PROOFS_MIN:
            # what nobody vouches for does not outweigh what somebody does
            fair_against = min(fair_against, max(vouched_against, vouched - 1))
        # one more that speaks for it, here as there: or its own word would be beyond chance
        share = (usual * thresholds.episodes + claimed) / max(1, thresholds.episodes + claimed)
        state = rule_state(fair_for + claimed, fair_against, share)
        if state == "active" and thresholds.sources > 1 and support.only_source:
            state = "candidate"  # others were at the task, too, and nobody else says so
        believed = any(claim.is_vouched for claim in support.claims)
        if state == "candidate" and harmful <= helpful + claimed and believed:
            state = "active"
        if support.episodes and last_us - support.last_us > limits.RULE_UNUSED_DAYS * limits.DAY_US:
            state = "retired"
        fairly = thresholds.sources > 1
        weighed.append(
            Weighed(
                _make_rule(kind, task_id, support, helpful, harmful, state),
                support,
                _share(fair_for, fair_against) * support.weigh(today, fairly=fairly),
                frozenset(one.source for one in support.list_saying(speaks)),
                vouched,
            )
        )
    return weighed


def _make_rule(
    kind: RuleKind,
    task_id: str | None,
    support: Support,
    helpful: int,
    harmful: int,
    state: RuleState,
) -> Rule:
    return Rule(
        id=make_episode_rule_id(kind, support.item),
        kind=kind,
        text=support.words,
        task_id=task_id,
        state=state,
        episodes=len(support.episodes),
        tasks=(task_id,) if task_id else (),
        helpful=helpful,
        harmful=harmful,
        evidence=support.evidence,
        adopted=len({claim.source for claim in support.claims}),
        trust=min((one.status for one in support.reports), key=STATUSES.index),
        **support.describe(),
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


def join_tasks(rules: Sequence[Weighed]) -> Rule | None:
    """What several tasks say of one rule, as a rule of the whole project: where it is active in enough of
    them, from enough distinct sources, and somebody vouched for an episode that shows it. Reports that
    nobody checked never get that far: None.
    """
    active = [weighed for weighed in rules if weighed.rule.state == "active"]
    authors = {author for weighed in active for author in weighed.backers}
    proven = min(len(active), len(authors)) >= limits.PROOFS_MIN
    if not proven or not sum(weighed.vouched for weighed in active):
        return None
    reports = [report for weighed in active for report in weighed.support.episodes]
    whole = Support(active[0].support.item, reports)
    helpful = sum(weighed.rule.helpful for weighed in active)
    harmful = sum(weighed.rule.harmful for weighed in active)
    rule = _make_rule(active[0].rule.kind, None, whole, helpful, harmful, "active")
    return replace(rule, tasks=tuple(sorted({str(one.rule.task_id) for one in active})))


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


def gather_cards(
    task_id: str | None, episodes: Iterable[Episode], memories: Memories
) -> list[Support]:
    """What speaks for each mistake card of a task (None: of any). What an episode of another task
    reported counts where somebody vouches for it, or several sources say so.
    """
    own: _ByItem = defaultdict(dict)
    foreign: _ByItem = defaultdict(dict)
    for episode in episodes:
        for card in reversed(episode.mistake_cards[: limits.LESSONS_PER_RECORD_MAX]):
            about = card.task_id or episode.task_id
            if task_id in (None, about):
                reports = (own if about == episode.task_id else foreign)[card_key(card, about)]
                words = card.copy_with(task_id=about)
                reports.setdefault(episode.id, _report(episode, words, episode.score))
    for item, reports in foreign.items():
        support = Support(item, reports.values())
        if support.vouched or len(support.authors) >= limits.PROOFS_MIN:
            own[item] |= reports
    for record, memory in memories:
        for card in memory.list_cards():
            if task_id in (None, card.task_id):
                seen = min(card.seen_count, ADOPTED_SEEN_MAX)
                own[card_key(card, card.task_id or "")][record.id] = _report(
                    record, card, place=seen
                )
    return [Support(item, reports.values()) for item, reports in own.items()]


def rank_cards(supports: Sequence[Support], today: int) -> list[Support]:
    """By how often they were seen of late, the types taking turns: however often one type comes up,
    the best card of every other type stands before its second. Of several sources none counts for
    more than a careful colleague, and they take turns as well. Cards that were only adopted come
    last, whatever they say of themselves.
    """
    several = len({author for support in supports for author in support.authors}) > 1

    def order(support: Support) -> tuple[float, int, int, str]:
        """The best first."""
        weight = support.weigh(today, fairly=several)
        return -weight, -support.last_us, -support.seen_before, support.item

    best_first = sorted(supports, key=order)
    ranked: list[Support] = []
    for claimed in (False, True):
        group = [support for support in best_first if support.only_claimed is claimed]
        by_type = by_turns(group, lambda support: support.words.mistake_type)
        ranked += by_turns(by_type, lambda support: support.only_source)
    return ranked


def make_card(support: Support) -> Card:
    """The card in the words that go before others."""
    words = support.words
    return Card(
        id=support.item,
        mistake_type=words.mistake_type,
        task_id=words.task_id or "",
        worker_id=words.worker_id,
        bad_decision=words.bad_decision,
        correct_decision=words.correct_decision,
        evidence=words.evidence,
        lesson=words.lesson,
        seen_count=len(support.episodes),
        records=support.evidence,
        adopted_count=support.seen_before,
        **support.describe(),
    )
