"""Which of the candidates answer a question best, and why.

A score is the sum of named parts, so that whoever wonders can look. The text's match counts most;
what else is known of a record moves it by a little: whether it has the question's words side by
side, whether it is the very failure that is asked about, what was said right before or after it in
its session, whether the question names who says so, how it turned out, who stands behind it, how old
it is, whether it helped those who were shown it before.

Sources take turns: each one's best stands before any one's second, as long as they are about as
relevant. How relevant a record is for that is the share of the question's words that it has, however
often: a text that is stuffed with them is no more relevant than one that has each of them once. Of
what a vector finds only the nearest is relevant: near is a matter of degree, and everything is near.

How well a text answers a question by its words is Okapi BM25. SQLite's full-text search computes it
itself. PostgreSQL's own ranking knows nothing of how rare a word is, so its candidates are scored
here, from how often each has a word, how many texts have it, and how long texts are. Then both
engines order the same texts the same.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, Generic, NamedTuple, TypeVar

from hardwon import limits
from hardwon.records.fields import Tabular
from hardwon.records.kinds import (
    REPR_CHARS_MAX,
    VOUCHED_STATUSES,
    AnyRecord,
    StaleFile,
    headline,
    judge_record,
)
from hardwon.text.clean import clean_line
from hardwon.text.terms import FORM, Remembered, index_text

# Texts that a search may look at before it leaves out terms that very many records have: so few
# cost little.
SEARCHED_TEXTS: Final = 500
# Of several terms, those after the rarest that so many texts have together only cost time.
_SEARCHED_TEXTS_MAX: Final = 10_000

# A term that more than this share of all records have is frequent.
_FREQUENT_SHARE: Final = 0.1

TEXT: Final = 1.0
EXACT: Final = 0.5
NEIGHBOUR: Final = 0.5
# That the question names the author: it asks what he said or did.
AUTHOR: Final = 0.3
VECTOR: Final = 0.3
# The cosine from which on something is near.
NEAR: Final = 0.4
OUTCOME: Final = 0.05
TRUST: Final[Mapping[str, float]] = {
    "published": 0.15,
    "verified": 0.1,
    "hypothesis": 0.0,
    "archived": -0.2,
}
AGE: Final = 0.1
USEFUL: Final = 0.2
REPEATS: Final = -0.3
STALE: Final = -0.2

PHRASE: Final = 0.4
TIME: Final = 0.3
NEIGHBOUR_MAX: Final = 0.5
# What a hit is worth to what was said right after it (often the answer), and right before it.
AFTER: Final = 1.0
BEFORE: Final = 0.6
# Terms of a text, from which on it speaks for itself: a longer one gains less from its neighbours.
SHORT: Final = 15
# Of the best one's relevance: who is less relevant displaces nobody.
RELEVANT_FROM: Final = 0.6


@dataclass(slots=True)
class Candidate:
    """A record that may answer, with what the store knows of it. `good`: whether it turned out
    well, None where that is no question; `terms`: those it is found by, for telling two that say
    the same. What the question makes of it: `text`, how well its words answer; `exact`: it has the
    very key that is asked for; `neighbour`: the text scores of hits of the same session, the less
    the farther away they are; `vector`: the cosine, where there is an embedder; `in_time`: it is of
    the time that the question names; `having`: the terms of the question that it has.
    """

    id: str
    at_us: int
    author: str
    status: str
    good: bool | None
    terms: str
    helped: int
    hindered: int
    text: float = field(init=False, default=0.0)
    exact: bool = field(init=False, default=False)
    neighbour: float = field(init=False, default=0.0)
    vector: float = field(init=False, default=0.0)
    in_time: bool = field(init=False, default=False)
    having: frozenset[str] = field(init=False, default=frozenset())


C = TypeVar("C", bound=Candidate)


class Ranked(NamedTuple, Generic[C]):
    """A candidate with its score, the sum of the parts in `why`."""

    candidate: C
    why: dict[str, float]
    score: float

    def add_part(self, part: str, by: float) -> Ranked[C]:
        """The same candidate with another part in its score."""
        why = {**self.why, part: by}
        return Ranked(self.candidate, why, math.fsum(why.values()))


def rank(
    candidates: Iterable[C],
    k: int,
    today: int,
    terms: Sequence[str] = (),
    *,
    about_error: bool,
    also: Iterable[str] = (),
) -> list[Ranked[C]]:
    """The best `k` for a question of these terms, the score of each explained. `also` are terms of
    which it is told whether a candidate has them.
    """
    pool = list(candidates)
    asked = [term for term in terms if not term.startswith(FORM)]
    best_text = max((candidate.text for candidate in pool), default=0.0) or 1.0
    # How near each is by its vector, from 0 to 1 for the nearest: what a cosine means depends on who
    # made the vectors. Less where even the nearest is far away.
    low = share = 0.0
    if cosines := [candidate.vector for candidate in pool if candidate.vector > 0]:
        high = max(cosines)
        low = min(*cosines, high / 2)
        share = min(1.0, high / NEAR) / (high - low)
    each_once = frozenset(asked)
    telling = each_once.union(also)
    following = {one: (other, f" {one} {other} ") for one, other in pairwise([*asked, ""])}
    ranked, shares = [], {}
    for candidate in pool:
        nearness = (candidate.vector - low) * share if candidate.vector > 0 else 0.0
        why = _parts(candidate, best_text, nearness, today, about_error)
        words = candidate.terms.partition("\n")[0]  # without their forms
        distinct_words = _words_in(words) if len(words) >= _LONG_CHARS else words.split()
        candidate.having = telling.intersection(distinct_words)
        having = each_once & candidate.having
        if candidate.text and len(having) > 1:
            framed = f" {words} "
            beside = 0
            for one in having:
                other, pair = following[one]
                beside += other in having and pair in framed
            if beside:
                why["phrase"] = PHRASE * beside / (len(asked) - 1)
        if (name := _name[candidate.author]) in each_once:
            having |= {name}
            if candidate.text or candidate.neighbour:
                why["author"] = AUTHOR
        shares[candidate.id] = len(having) / len(asked) if asked else 0.0
        ranked.append(Ranked(candidate, why, math.fsum(why.values())))
    # what a better hit says is worth less when it is said again
    if len({candidate.terms for candidate in pool}) < len(pool):
        ranked.sort(key=_order)
        best = {hit.candidate.terms: hit for hit in reversed(ranked)}
        ranked = [
            hit if best[hit.candidate.terms] is hit else hit.add_part("repeats", REPEATS)
            for hit in ranked
        ]
    return _take_turns(ranked, shares, k)


@lru_cache(maxsize=1_024)  # the same records are found by one question after the other
def _words_in(text: str) -> tuple[str, ...]:
    """Each once, and kept once, however many texts have it."""
    return tuple(set(map(sys.intern, text.split())))


# To take a shorter text apart again costs less than to remember it.
_LONG_CHARS: Final = 400


def lower_stale(ranked: Sequence[Ranked[C]], stale: Collection[str]) -> list[Ranked[C]]:
    """The same hits, those whose files changed a little lower. Turns are taken anew: or else a
    place that becomes free would go to a source that has one already.
    """
    moved = []
    for hit in ranked:
        why = {part: by for part, by in hit.why.items() if part != _WAITS}
        if hit.candidate.id in stale:
            why["stale"] = STALE
        moved.append(Ranked(hit.candidate, why, math.fsum(why.values())))
    return _take_turns(moved, {}, len(moved))


def _parts(
    candidate: Candidate, best_text: float, nearness: float, today: int, about_error: bool
) -> dict[str, float]:
    age_days = max(0, today - candidate.at_us // limits.DAY_US)
    why = {
        "text": TEXT * candidate.text / best_text,
        "age": AGE * 0.5 ** (age_days / limits.HALF_LIFE_DAYS),
    }
    if candidate.exact:
        why["exact"] = EXACT
    if candidate.neighbour:
        words = candidate.terms.partition("\n")[0]  # without their forms
        short = min(1.0, SHORT / (words.count(" ") + 1))
        beside = NEIGHBOUR * short * short * candidate.neighbour / best_text
        why["neighbour"] = min(beside, NEIGHBOUR_MAX)
    if candidate.in_time:
        why["time"] = TIME
    if nearness:
        why["vector"] = VECTOR * nearness
    if candidate.good or (candidate.good is False and about_error):
        why["outcome"] = OUTCOME
    if TRUST[candidate.status]:
        why["trust"] = TRUST[candidate.status]
    if candidate.helped or candidate.hindered:
        credited = candidate.helped + candidate.hindered
        why["useful"] = USEFUL * (candidate.helped - candidate.hindered) / (credited + 2)
    return why


def relevance(candidate: Candidate, asked: Sequence[str]) -> float:
    """How much a record is about a question, from 0 to 1: the share of its words that the record or
    its author's name has, however often.
    """
    text = f" {_name[candidate.author]} {candidate.terms} ".replace("\n", " ")
    share = sum(f" {term} " in text for term in asked) / len(asked) if asked else 0.0
    return max(share, candidate.vector, float(candidate.exact))


# What an author is called by: the first word of the name. One word alone, or else whoever has a name
# of many would be relevant to everything.
_name: Final = Remembered[str, str](lambda author: next(iter(index_text(author).split()), ""))


def _order(hit: Ranked[Any]) -> tuple[float, int, str]:
    return -hit.score, -hit.candidate.at_us, hit.candidate.id


def _take_turns(ranked: list[Ranked[C]], shares: Mapping[str, float], k: int) -> list[Ranked[C]]:
    """The best `k` in order, but each source's best before any source's second, among those that are about as
    relevant, by the `shares` of the question's words that they have. What somebody vouches for waits
    for nobody. The scores follow the order: the part `influence` says how much waiting costs.
    """
    ranked.sort(key=_order)
    candidates = [hit.candidate for hit in ranked]
    if len({None if hit.status in VOUCHED_STATUSES else hit.author for hit in candidates}) < 2:
        return ranked[:k]
    relevances = [
        1.0
        if hit.candidate.exact or hit.why.get("vector", 0.0) >= _NEAREST * VECTOR
        else shares.get(hit.candidate.id, 0.0)
        for hit in ranked
    ]
    floor = RELEVANT_FROM * max(relevances)
    turn_of: Counter[str] = Counter()
    waiting: list[tuple[int, int, Ranked[C]]] = []
    for place, (hit, relevant) in enumerate(zip(ranked, relevances, strict=True)):
        turn = 0
        if hit.candidate.status not in VOUCHED_STATUSES:
            turn = turn_of[hit.candidate.author]
            turn_of[hit.candidate.author] += 1
        waiting.append((turn if relevant >= floor else len(ranked), place, hit))
    waiting.sort(key=lambda wait: wait[:2])
    ordered: list[Ranked[C]] = []
    for _, _, hit in waiting[:k]:
        if ordered and hit.score >= ordered[-1].score:
            hit = hit.add_part(_WAITS, ordered[-1].score - hit.score - _STEP)
        ordered.append(hit)
    return ordered


_WAITS: Final = "influence"
_NEAREST: Final = 0.9  # of how near the nearest is
_STEP: Final = 1e-6  # keeps the order of those that have to wait

# --- Okapi BM25 ---

# How soon a word that is repeated stops counting more.
K1: Final = 1.2

# How far a text is made to answer for its length.
B: Final = 0.75

# How often a text seems to have the very form of a word, each time that it has it: little beside the
# stem, which it has as well.
FORM_WEIGHT: Final = 0.1

# Words that each text has beside those it is found by: SQLite keeps marks of it among them.
MARKS: Final = 2

# a word that more than half of all texts have still tells two texts apart that have nothing else
_WORTH_MIN: Final = 1e-6


@dataclass(frozen=True)
class Frequencies:
    """Of the texts that are searched: how many there are, how many words they have together, and in
    how many of them each of the words that are asked for occurs. A word that nobody has counted yet
    is new, and so rare.
    """

    texts: int
    words: int
    having: Mapping[str, int]

    @property
    def usual_length(self) -> float:
        return self.words / self.texts if self.texts and self.words else 1.0

    def worth(self, term: str) -> float:
        """What it is worth to have this word: the rarer, the more."""
        having = max(1, self.having.get(term, 0))
        return max(math.log((max(self.texts, having) - having + 0.5) / (having + 0.5)), _WORTH_MIN)


def weigh_term(term: str) -> float:
    """How much each time counts that a text has a term."""
    return FORM_WEIGHT if term.startswith(FORM) else 1.0


def rare_enough(having: Mapping[str, int], texts: int) -> tuple[str, ...]:
    """Of terms with how many texts have them, those that a search looks for: not the ones that very
    many have, which cost the most and tell the least. The rarer ones of them stay as long as the
    search stays small.
    """
    chosen, entries = [], 0
    for term, count in sorted(having.items(), key=lambda entry: entry[1]):
        is_rare = count <= _FREQUENT_SHARE * texts and entries + count <= _SEARCHED_TEXTS_MAX
        if is_rare or entries + count <= SEARCHED_TEXTS or not entries:
            chosen.append(term)
        entries += count
    return tuple(term for term in having if term in chosen)


def scores(terms: Sequence[str], texts: Sequence[str], frequencies: Frequencies) -> list[float]:
    """Of each text, given as its terms with spaces between."""
    worth = {term: frequencies.worth(term) for term in dict.fromkeys(terms)}
    weight = {term: weigh_term(term) for term in worth}
    usual = frequencies.usual_length
    text_scores = []
    for text in texts:
        words = text.split()
        slowness = K1 * (1 - B + B * (len(words) + MARKS) / usual)
        times: dict[str, float] = {}
        for word in filter(worth.__contains__, words):
            times[word] = times.get(word, 0.0) + weight[word]
        score = 0.0
        for term in filter(times.__contains__, worth):  # in one order, whatever the text's is
            score += worth[term] * times[term] * (K1 + 1) / (times[term] + slowness)
        text_scores.append(score)
    return text_scores


# --- what recall hands back ---


@dataclass(frozen=True)
class Hit(Tabular):
    """A record that answers a query. `score` is the sum of the named parts in `why`; higher is
    better. `stale`: a file that it is about is no longer what it was; `changed` tells which, and
    also of files that only got another name. `str(hit)` is one line, of whatever kind the record
    is: the score, how it turned out (else its kind), and what it is about.
    """

    record: AnyRecord
    score: float
    why: dict[str, float] = field(default_factory=dict)
    stale: bool = False
    changed: tuple[StaleFile, ...] = ()

    @property
    def text(self) -> str:
        """What the record says, of whatever kind it is."""
        return headline(self.record)

    @property
    def outcome(self) -> str:
        """How it turned out; empty where that is no question."""
        return judge_record(self.record)

    @property
    def kind(self) -> str:
        return self.record.kind

    @property
    def when(self) -> datetime:
        return self.record.metadata.context.timestamp

    @property
    def author(self) -> str:
        return self.record.said_by

    def as_row(self) -> dict[str, Any]:
        """For a line of a data frame."""
        return {"score": self.score, **self.record.as_row(), "stale": self.stale}

    def __str__(self) -> str:
        stale = ", stale" if self.stale else ""
        line = f"{self.score:.2f} {self.outcome or self.kind}{stale}: {self.text}"
        return clean_line(line, limits.CONTEXT_LINE_CHARS_MAX)

    def __repr__(self) -> str:
        return f"<Hit {clean_line(str(self), REPR_CHARS_MAX)}>"
