"""Putting knowledge in order: what says the same, what contradicts, what holds everywhere, what nobody sees any more."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from hardwon.learn.canonical import canonical
from hardwon.learn.lessons import strategy_key
from hardwon.learn.signatures import generate_issue_signature
from hardwon.model import AnyRecord, Decision, Experience, Fix

SAME_FROM: Final = 0.8
"""From this share of common words on (Jaccard) two texts are near-duplicates."""

_WORD: Final = re.compile(r"\w+(?:['\u2019]t\b)?")
_TURNING: Final = frozenset(
    "not no never none nor without avoid dont don't cannot can't isn't doesn't won't unless except instead before after "
    "always only disable enable remove add increase decrease less more".split()
)
"""Words that turn a sentence into its opposite: texts that differ in one of them are not the same."""

_WORDS_MIN: Final = 3  # shorter texts are the same only when they are equal
_LITTLE: Final = frozenset("a an the to of in on at for and or is are was were be it this that with by as".split())


def words_of(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(canonical(text))) - _LITTLE


def say_the_same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Nearly the same words, none of those that differ being a number or one that turns the meaning round."""
    if min(len(one), len(other)) < _WORDS_MIN:
        return one == other and bool(one)
    apart = one ^ other
    return len(one & other) >= SAME_FROM * len(one | other) and not (
        apart & _TURNING or any(any(char.isdigit() for char in word) for word in apart)
    )


def near_duplicates(texts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Pairs of items whose texts say the same, each pair ordered; none that follows from two others."""
    words = {item: words_of(text) for item, text in sorted(texts.items())}
    leader: dict[str, str] = {}
    found = []
    for item in words:
        for other in leader.values():
            if say_the_same(words[item], words[other]):
                found.append((other, item))
                break
        else:
            leader[item] = item
    return found


def opposite_rules(works: Mapping[str, str], avoid: Mapping[str, str]) -> list[tuple[str, str]]:
    """Pairs of items that say the same, one as what works and one as what to avoid; at most one for each of the latter."""
    words = {item: words_of(text) for item, text in sorted(works.items())}
    pairs = []
    for item, text in sorted(avoid.items()):
        said = words_of(text)
        same = item if item in words else next((other for other in words if say_the_same(words[other], said)), None)
        pairs += [(same, item)] if same else []
    return pairs


def merged_items(decisions: Iterable[Decision]) -> dict[str, str]:
    """For every item that was merged, the one that stands for its group: the smallest, so that the order in which merges
    were decided, here or in another memory, makes no difference."""
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


def opposite_outcomes(records: Sequence[AnyRecord], limit: int) -> list[tuple[AnyRecord, AnyRecord]]:
    """Pairs of records (older, newer) that report the same situation with opposite outcomes: experiences of one tool that say
    the same, and fixes of one signature by one strategy. The newest of each side speaks for it."""
    ordered = sorted(records, key=lambda record: (record.at_us, record.id))
    found: list[tuple[AnyRecord, AnyRecord]] = [*_contradicting_fixes(ordered), *_contradicting_experiences(ordered)]
    pairs = [(one, other) if (one.at_us, one.id) < (other.at_us, other.id) else (other, one) for one, other in found]
    return sorted(pairs, key=lambda pair: (-pair[1].at_us, pair[1].id, pair[0].id))[:limit]


def _contradicting_fixes(records: Iterable[AnyRecord]) -> list[tuple[Fix, Fix]]:
    newest: dict[tuple[str, str], dict[bool, Fix]] = {}
    for record in records:
        if isinstance(record, Fix):
            strategy = strategy_key(record)
            if strategy:
                situation = generate_issue_signature(record.issue), strategy
                newest.setdefault(situation, {})[record.succeeded] = record
    return [(both[False], both[True]) for both in newest.values() if len(both) == 2]  # one of each


def _contradicting_experiences(records: Iterable[AnyRecord]) -> list[tuple[Experience, Experience]]:
    outcomes: dict[str, list[tuple[frozenset[str], Experience]]] = {"success": [], "failure": []}
    for record in records:
        if isinstance(record, Experience) and record.outcome in outcomes:
            outcomes[record.outcome].append((words_of(record.content), record))
    pairs = []
    for words, failure in outcomes["failure"]:
        for other_words, success in reversed(outcomes["success"]):
            if failure.tool == success.tool and say_the_same(words, other_words):
                pairs.append((failure, success))
                break
    return pairs
