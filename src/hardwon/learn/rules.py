"""Rules, mistake cards and score histories: what episodes teach about a task, and what was adopted
about it. And what puts them in order: what says the same, what contradicts, what holds everywhere.

Whether the memory helps is told by scores of attempts that had it against scores of attempts that
had not (`compare`). Tasks differ in how hard they are, so the difference is taken within each task
and the tasks are averaged, each weighing as much as its episodes can tell. With a single task that
is Welch's interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple

from hardwon import limits
from hardwon.learn import odds as beta
from hardwon.learn.support import Evidence
from hardwon.learn.tallies import (
    BETWEEN_NAMES,
    MILLIONTHS,
    card_key,
    generate_issue_signature,
    level_of_score,
    rule_key,
    strategy_key,
)
from hardwon.lessons.chance import at_least, quantile
from hardwon.lessons.sources import by_turns
from hardwon.records.fields import Tabular, from_us
from hardwon.records.kinds import (
    BAD_SCORE_BELOW,
    GOOD_SCORE,
    AnyRecord,
    Decision,
    Episode,
    Experience,
    Fix,
    MistakeCard,
    Status,
)
from hardwon.records.kinds import RuleState as RuleState
from hardwon.text.terms import Words, key_of, say_the_same, words_of

# Scores of a task, with the memory and without, in one answer, the newest: as many points as a plot
# has pixels.
CURVE_SCORES_MAX: Final = 1_000

# Episodes of a task before its own quarters say what is good and what is bad there; before, the
# fixed thresholds do.
_RELATIVE_EPISODES_MIN: Final = 8

RuleKind = Literal["works", "avoid", "written"]

HIGH_LEVEL: Final = level_of_score(GOOD_SCORE)
LOW_LEVEL: Final = level_of_score(BAD_SCORE_BELOW)

_QUARTER: Final = 0.25
# a share of good episodes this unlikely by chance speaks for a rule, however small it is
_CHANCE_MAX: Final = 0.05
_SPOKE_ENOUGH: Final = 2 * limits.PROOFS_MIN  # episodes for and against a rule, to retire it
_MARKS: Final[Mapping[str, str]] = {"works": "[WORKS] ", "avoid": "[AVOID] ", "written": ""}
STATE_ORDER: Final[Mapping[str, int]] = {"active": 0, "candidate": 1, "retired": 2}


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
        shown = (
            "state",
            "kind",
            "task_id",
            "text",
            "helpful",
            "harmful",
            "mean_score",
            "last_seen",
        )
        return {name: getattr(self, name) for name in shown}

    def __repr__(self) -> str:
        return f"<Rule {self.state}, {self.kind}: {self.text[: limits.REPR_CHARS_MAX]}>"

    def __str__(self) -> str:
        return _MARKS[self.kind] + self.text


# --- what counts as good and bad ---


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
    def of(cls, levels: Sequence[int]) -> Thresholds:
        """From the number of the task's episodes at each level of score."""
        episodes = sum(levels)
        good_from, bad_below = HIGH_LEVEL, LOW_LEVEL
        if episodes >= _RELATIVE_EPISODES_MIN:
            upper = len(levels) - 1 - _quarter(levels[::-1])
            lower = _quarter(levels)
            if lower < upper:
                good_from = min(good_from, upper)
                bad_below = min(max(bad_below, lower + 1), good_from)
        good, bad = sum(levels[good_from:]), sum(levels[:bad_below])
        return cls(episodes, good_from, bad_below, good / max(episodes, 1), bad / max(episodes, 1))

    def good(self, levels: Sequence[int]) -> int:
        return sum(levels[self.good_from :])

    def bad(self, levels: Sequence[int]) -> int:
        return sum(levels[: self.bad_below])


def _quarter(levels: Sequence[int]) -> int:
    """The level at which a quarter of the episodes is reached, from the beginning."""
    reached, wanted = 0, _QUARTER * sum(levels)
    for level, count in enumerate(levels):
        reached += count
        if reached >= wanted:
            return level
    return len(levels) - 1


# --- rules ---


@dataclass(frozen=True)
class Weighed:
    """A rule before its text is looked up. `backers` are the authors, and `vouched` the least
    number of vouched episodes, that speak for it: an episode that speaks against a rule does not
    vouch for it.
    """

    kind: RuleKind
    task_id: str | None
    support: Evidence
    helpful: int
    harmful: int
    state: RuleState
    spoke: beta.Share
    today: int
    backers: frozenset[str]
    vouched: int

    @cached_property
    def order(self) -> tuple[int, float, int, bool, int, str]:
        strength = beta.usual_share(self.spoke) * self.support.weight(self.today)
        return STATE_ORDER[self.state], -strength, *self.newest_first

    @property
    def is_new(self) -> bool:
        """Whether too few episodes spoke to tell whether it holds. Where enough did, and it is
        still a candidate, it does not make much of a difference.
        """
        return self.state == "candidate" and self.helpful + self.harmful < _SPOKE_ENOUGH

    @property
    def newest_first(self) -> tuple[int, bool, int, str]:
        """By when a record said so last; where none did, a claim."""
        support = self.support
        last_us = max((tally.last_us for tally in support.tallies), default=support.last_us)
        place = max((claim.place for claim in support.claims), default=0)
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
    weighed = []
    for support in supports:
        levels = support.levels
        good, bad = thresholds.good(levels), thresholds.bad(levels)
        helpful, harmful = (good, bad) if kind == "works" else (bad, good)
        claimed = bool(support.claims)
        if not helpful and not claimed:
            continue
        fair = support.fair_levels
        fair_good, fair_bad = thresholds.good(fair), thresholds.bad(fair)
        fair_for, fair_against = (fair_good, fair_bad) if kind == "works" else (fair_bad, fair_good)
        speaks, denies = thresholds.good, thresholds.bad
        if kind != "works":
            speaks, denies = denies, speaks
        vouched_for, vouched_against = _vouched(support, speaks), _vouched(support, denies)
        if vouched_for >= limits.PROOFS_MIN:
            # what nobody vouches for does not outweigh what somebody does
            fair_against = min(fair_against, max(vouched_against, vouched_for - 1))
        usual = thresholds.good_share if kind == "works" else thresholds.bad_share
        # one more that speaks for it, here as there: or its own word would be beyond chance
        if claimed:
            usual = (usual * thresholds.episodes + 1) / (thresholds.episodes + 1)
        state = rule_state(fair_for + claimed, fair_against, usual)
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
        spoke = beta.Share.plain(fair_for + fair_against, fair_for)
        weighed.append(
            Weighed(
                kind,
                task_id,
                support,
                helpful,
                harmful,
                state,
                spoke,
                today,
                backers=frozenset(
                    tally.author for tally in support.tallies if speaks(tally.levels)
                ),
                vouched=vouched_for,
            )
        )
    return weighed


def _vouched(support: Evidence, speaks: Callable[[Sequence[int]], int]) -> int:
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
    active = [each for each in supports if each.state == "active"]
    authors = {author for each in active for author in each.backers}
    return (
        len({each.task_id for each in active}) >= limits.PROOFS_MIN
        and len(authors) >= limits.PROOFS_MIN
        and sum(each.vouched for each in active) > 0
    )


def project_rule(supports: Sequence[Weighed], text: str) -> Rule:
    """One rule from what several tasks say. Only for lessons that hold for the project."""
    active = [each for each in supports if each.state == "active"]
    whole = Evidence(active[0].support.item)
    for each in active:
        whole.add(*each.support.tallies)
    helpful, harmful = sum(each.helpful for each in active), sum(each.harmful for each in active)
    return rule_from(
        replace(active[0], support=whole, task_id=None, helpful=helpful, harmful=harmful), text
    )


def rule_from(weighed: Weighed, text: str) -> Rule:
    support = weighed.support
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
        first_seen=_date(support.first_day),
        last_seen=from_us(support.last_us),
        evidence=tuple(support.newest_ids),
        adopted=support.claimants,
        trust="verified"
        if support.vouched >= support.records > 0 and not support.claimants
        else "hypothesis",
    )


def written_rule(decision: Decision, *, tainted: bool, trust: Status) -> Rule:
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
        evidence=tuple(decision.evidence[-limits.EVIDENCE_SHOWN_MAX :]),
        trust=trust,
    )


def rule_text(episode: Episode, kind: str, items: Iterable[str]) -> str | None:
    """How the episode words one of these lessons."""
    wanted = set(items)
    for text in episode.successes if kind == "works" else episode.mistakes:
        if rule_key(text, kind) in wanted:
            return " ".join(text.split())[: limits.LESSON_CHARS_MAX]
    return None


def _date(day: int) -> date:
    return date(1970, 1, 1) + timedelta(days=day)


# --- cards ---


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


def card_from(support: Evidence, task_id: str, said: MistakeCard) -> Card:
    return Card(
        id=support.item,
        mistake_type=said.mistake_type,
        task_id=task_id,
        worker_id=said.worker_id,
        bad_decision=said.bad_decision,
        correct_decision=said.correct_decision,
        evidence=said.evidence,
        lesson=said.lesson,
        seen_count=support.records,
        sources=tuple(sorted(support.authors)),
        mean_score=support.mean if support.records else None,
        first_seen=_date(support.first_day),
        last_seen=from_us(support.last_us),
        records=tuple(support.newest_ids),
        vouched=support.vouched,
        adopted_count=support.seen_before,
    )


def card_in(episode: Episode, items: Iterable[str]) -> MistakeCard | None:
    """How the episode words one of these cards; the last word counts."""
    wanted = set(items)
    found = [card for card in episode.mistake_cards if card_key(card, episode.task_id) in wanted]
    return found[-1] if found else None


def ranked_cards(cards: Iterable[Evidence], today: int) -> list[Evidence]:
    """By how often they were seen of late, the types taking turns: however often one type comes up,
    the best card of every other type stands before its second. Of several sources none counts for
    more than a careful colleague, and they take turns as well. Cards that were only adopted come
    last, whatever they say of themselves.
    """
    cards = list(cards)
    several = len({author for card in cards for author in card.authors}) > 1

    def order(card: Evidence) -> tuple[float, int, int, str]:
        weight = card.fair_weight(today) if several else card.weight(today)
        return -weight, -card.last_us, -card.seen_before, card.item

    best_first = sorted(cards, key=order)
    ranked: list[Evidence] = []
    for claimed in (False, True):
        group = (card for card in best_first if card.only_claimed is claimed)
        of_types = by_turns(group, lambda card: card.item.partition(BETWEEN_NAMES)[0])
        ranked += by_turns(of_types, lambda card: card.only_source)
    return ranked


# --- scores ---


@dataclass(frozen=True)
class ScoreHistory(Tabular):
    """How a task went. `trend` is how much better the newer half of `recent` (oldest first) is than
    the older half; `direction` says `flat` where the scores' own noise explains it.
    """

    task_id: str
    episodes: int
    mean: float | None
    best: float | None
    trend: float
    direction: Literal["rising", "falling", "flat"]
    recent: tuple[float, ...]


@dataclass(frozen=True)
class TaskScores(Tabular):
    """How a task went, as far as counts tell: `change` is how much better its episodes of the later
    days were than those of the earlier ones, both halves of the days with an episode; None where
    there is only one such day.
    """

    task_id: str
    episodes: int
    mean: float
    best: float
    change: float | None
    first_seen: date
    last_seen: datetime


def task_scores(task_id: str, support: Evidence) -> TaskScores:
    return TaskScores(
        task_id,
        support.records,
        support.mean,
        support.best / MILLIONTHS,
        _change(support),
        _date(support.first_day),
        from_us(support.last_us),
    )


def _change(support: Evidence) -> float | None:
    days = sorted({tally.day for tally in support.tallies})
    half = len(days) // 2
    if not half:
        return None
    later = [tally for tally in support.tallies if tally.day >= days[-half]]
    earlier = [tally for tally in support.tallies if tally.day <= days[half - 1]]
    return Evidence(support.item, later).mean - Evidence(support.item, earlier).mean


def score_history(task_id: str, support: Evidence, recent: Sequence[float]) -> ScoreHistory:
    half = len(recent) // 2
    trend = noise = 0.0
    if half > 1:  # two scores make the smallest half that has a spread
        older, newer = recent[:half], recent[-half:]
        trend = _mean(newer) - _mean(older)
        noise = math.sqrt((_spread(older) + _spread(newer)) / half)  # its standard error
    direction: Literal["rising", "falling", "flat"] = "flat"
    if abs(trend) > 2 * noise:
        direction = "rising" if trend > 0 else "falling"
    return ScoreHistory(
        task_id,
        support.records,
        support.mean if support.records else None,
        support.best / MILLIONTHS if support.records else None,
        trend,
        direction,
        tuple(recent),
    )


# --- with and without the memory ---

_SURE: Final = 0.95
_NORMAL: Final = 1.959963984540054  # what Student's distribution comes to
_DEGREES_MAX: Final = 1e6
# Of dealing the scores out to both sides: each of fewer comes about by chance more than once in 20,
# two-sided.
_WAYS_MIN: Final = 40


class Scored(NamedTuple):
    """One episode as it is compared: whether it had the memory, and the run it belongs to (empty:
    none).
    """

    task_id: str
    score: float
    on: bool
    run: str = ""


class Arm(NamedTuple):
    """One side of a comparison: how many episodes, and their mean score (None: there are none)."""

    episodes: int
    mean: float | None

    def __str__(self) -> str:
        if self.mean is None:
            return "no episodes"
        return f"mean {self.mean:.3f} of {self.episodes} episode{'s' if self.episodes > 1 else ''}"


class Curve(NamedTuple):
    """The scores of a task in the order of time: with the memory, and without."""

    on: tuple[float, ...]
    off: tuple[float, ...]


@dataclass(frozen=True)
class Comparison(Tabular):
    """Episodes that had the memory (`on`) against those that had not (`off`). `difference` is how
    much better a task went with it, and lies in `interval` with 95 % confidence; None where no task
    has two scores on either side. It need not be the difference of the two means: those also tell
    which side had the easier tasks. `curves` has the newest scores of each task.
    """

    on: Arm
    off: Arm
    difference: float | None
    interval: tuple[float, float] | None
    curves: Mapping[str, Curve] = field(default_factory=dict)

    @property
    def helps(self) -> bool:
        """Whether attempts with the memory went better, beyond what chance explains."""
        return self.interval is not None and self.interval[0] > 0

    def as_row(self) -> dict[str, Any]:
        """For a line of a data frame."""
        low, high = self.interval or (None, None)
        return {
            "with_memory": str(self.on),
            "without": str(self.off),
            "difference": self.difference,
            "low": low,
            "high": high,
        }

    def __repr__(self) -> str:
        return f"<Comparison {self}>"

    def __str__(self) -> str:
        arms = [f"{name} memory: {arm}" for name, arm in (("with", self.on), ("without", self.off))]
        if self.difference is None or self.interval is None:
            return "; ".join([*arms, "too few to compare"])
        low, high = self.interval
        return "; ".join(
            [*arms, f"difference {self.difference:+.3f}, 95 % interval {low:+.3f} to {high:+.3f}"]
        )


def compare(scored: Sequence[Scored], *, by_run: bool = False) -> Comparison:
    """From scores in the order of time. `by_run`: a run counts as one observation, its mean."""
    curves = observed = _by_task(scored)
    if by_run:
        runs: dict[tuple[str, bool, str], list[float]] = {}
        for number, each in enumerate(scored):
            # no run's name has a \n
            runs.setdefault((each.task_id, each.on, each.run or f"\n{number}"), []).append(
                each.score
            )
        observed = _by_task(
            Scored(task, _mean(scores), on, run) for (task, on, run), scores in runs.items()
        )
    gained, interval = difference(observed[task] for task in sorted(observed)) or (None, None)
    most = sorted(curves, key=lambda task: (-len(curves[task][0]) - len(curves[task][1]), task))[
        : limits.TASKS_CONSIDERED_MAX
    ]
    newest = CURVE_SCORES_MAX
    return Comparison(
        _arm(each.score for each in scored if each.on),
        _arm(each.score for each in scored if not each.on),
        gained,
        interval,
        {
            task: Curve(tuple(curves[task][0][-newest:]), tuple(curves[task][1][-newest:]))
            for task in most
        },
    )


def _arm(scores: Iterable[float]) -> Arm:
    listed = list(scores)
    return Arm(len(listed), _mean(listed) if listed else None)


def _by_task(scored: Iterable[Scored]) -> dict[str, tuple[list[float], list[float]]]:
    """The scores of each task with the memory, and without."""
    tasks: dict[str, tuple[list[float], list[float]]] = {}
    for each in scored:
        tasks.setdefault(each.task_id, ([], []))[not each.on].append(each.score)
    return tasks


def difference(
    tasks: Iterable[tuple[Sequence[float], Sequence[float]]],
) -> tuple[float, tuple[float, float]] | None:
    """How much higher the first scores of each pair are than the second, on average over the tasks,
    and the interval around it. Tasks without two scores on both sides tell nothing about the noise,
    and are left out.

    The spread of a few scores says little of the noise: where chance alone deals out any split of
    them too often, the interval is no narrower than what holds for whatever scores from 0 to 1; and
    where all are alike, no narrower than outcomes allow that so many attempts may well not have
    met.
    """
    pairs = [(one, other) for one, other in tasks if len(one) > 1 and len(other) > 1]
    if not pairs:
        return None
    weights = [len(one) * len(other) / (len(one) + len(other)) for one, other in pairs]
    total = math.fsum(weights)
    gained, variance, degrees, fewness, unseen, ways = 0.0, 0.0, 0.0, 0.0, 0.0, 1
    for (one, other), weight in zip(pairs, weights, strict=True):
        share = weight / total
        gained += share * (_mean(one) - _mean(other))
        spreads = _spread(one), _spread(other)
        for scores, spread in zip((one, other), spreads, strict=True):
            # a side that is all alike is not beyond all noise
            part = share * share * (spread or max(spreads)) / len(scores)
            variance += part
            degrees += part * part / (len(scores) - 1)
            fewness += share * share / len(scores)
            unseen += share * (1 - (1 - _SURE) ** (1 / len(scores)))
        ways *= math.comb(len(one) + len(other), len(one)) if ways < _WAYS_MIN else 1
    # Hoeffding: all that is known is that scores are from 0 to 1
    bounded = math.sqrt(math.log(2 / (1 - _SURE)) / 2 * fewness)
    if variance <= 0 or degrees <= 0:  # all alike, or so nearly that no number tells them apart
        reach = min(unseen, bounded)
    else:
        reach = student(variance * variance / degrees) * math.sqrt(variance)
    if ways < _WAYS_MIN:
        reach = max(reach, bounded)
    return gained, (max(gained - reach, -1.0), min(gained + reach, 1.0))


def student(degrees: float) -> float:
    """How many standard errors around a mean hold the truth with 95 % confidence (Student's
    distribution, two-sided).
    """
    if degrees > _DEGREES_MAX:
        return _NORMAL
    x = quantile(degrees / 2, 0.5, 1 - _SURE)
    return math.sqrt(degrees * (1 - x) / x)


def _mean(scores: Sequence[float]) -> float:
    return math.fsum(scores) / len(scores)


def _spread(scores: Sequence[float]) -> float:
    mean = _mean(scores)
    return math.fsum((score - mean) ** 2 for score in scores) / (len(scores) - 1)


# --- consolidation ---


def near_duplicates(
    texts: Mapping[str, str], apart: Iterable[tuple[str, str]] = ()
) -> list[tuple[str, str]]:
    """Pairs of items whose texts say the same, each pair ordered; none that follows from two
    others. Items that somebody set `apart` stay so, also by way of a third.
    """
    words = {item: words_of(text) for item, text in sorted(texts.items())}
    enemies = {pair for one, other in apart for pair in ((one, other), (other, one))}
    groups: dict[str, list[str]] = {}
    found = []
    for item in words:
        for leader, group in groups.items():
            if say_the_same(words[item], words[leader]) and not any(
                (item, member) in enemies for member in group
            ):
                found.append((leader, item))
                group.append(item)
                break
        else:
            groups[item] = [item]
    return found


def opposite_rules(works: Mapping[str, str], avoid: Mapping[str, str]) -> list[tuple[str, str]]:
    """Pairs of items that say the same, one as what works and one as what to avoid; at most one for
    each of the latter.
    """
    words = {item: words_of(text) for item, text in sorted(works.items())}
    pairs = []
    for item, text in sorted(avoid.items()):
        said = words_of(text)
        same = [item] if item in words else [key for key in words if say_the_same(words[key], said)]
        pairs += [(each, item) for each in same[:1]]
    return pairs


def merged_items(decisions: Iterable[Decision]) -> dict[str, str]:
    """For every item that was merged, the one that stands for its group: the smallest, so that the
    order in which merges were decided, here or in another memory, makes no difference.
    """
    parent: dict[str, str] = {}

    def root(item: str) -> str:
        while parent.setdefault(item, item) != item:
            item = parent[item]
        return item

    for decision in decisions:
        if decision.action == "merge":
            one, other = sorted((root(decision.target), root(decision.replacement)))
            parent[other] = one
    return {item: root(item) for item in list(parent)}


def situation_of(record: AnyRecord) -> str:
    """What makes records of opposite outcomes contradict each other: however often it happens, it
    is one contradiction.
    """
    if isinstance(record, Fix):
        return key_of("fix", generate_issue_signature(record.issue), strategy_key(record))
    content = record.content if isinstance(record, Experience) else record.id
    return key_of("experience", *sorted(words_of(content)))


def opposite_outcomes(
    records: Sequence[AnyRecord], limit: int
) -> list[tuple[AnyRecord, AnyRecord]]:
    """Pairs of records (older, newer) that report the same situation with opposite outcomes:
    experiences of one tool that say the same, and fixes of one signature by one strategy. The
    newest of each side speaks for it.
    """
    fixes: dict[str, dict[bool, Fix]] = {}
    outcomes: dict[str, list[tuple[Words, Experience]]] = {"success": [], "failure": []}
    for record in sorted(records, key=lambda record: (record.at_us, record.id)):
        if isinstance(record, Fix) and strategy_key(record):
            fixes.setdefault(situation_of(record), {})[record.succeeded] = record
        elif isinstance(record, Experience) and record.turned_out_well is not None:
            outcomes[record.outcome].append((words_of(record.content), record))
    pairs: list[tuple[AnyRecord, AnyRecord]] = [
        (both[False], both[True]) for both in fixes.values() if len(both) == 2
    ]
    for words, failure in outcomes["failure"]:
        for other_words, success in reversed(outcomes["success"]):
            if failure.tool == success.tool and say_the_same(words, other_words):
                pairs.append((failure, success))
                break
    older_first = [
        (one, other) if (one.at_us, one.id) < (other.at_us, other.id) else (other, one)
        for one, other in pairs
    ]
    return sorted(older_first, key=lambda pair: (-pair[1].at_us, pair[1].id, pair[0].id))[:limit]
