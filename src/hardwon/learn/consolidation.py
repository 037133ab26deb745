"""Putting knowledge in order: what says the same, what contradicts, what holds everywhere, what nobody sees any more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hardwon.learn.canonical import key_of
from hardwon.learn.lessons import strategy_key
from hardwon.learn.signatures import generate_issue_signature
from hardwon.learn.wording import Words, say_the_same, words_of
from hardwon.model import AnyRecord, Decision, Experience, Fix


def near_duplicates(texts: Mapping[str, str], apart: Iterable[tuple[str, str]] = ()) -> list[tuple[str, str]]:
    """Pairs of items whose texts say the same, each pair ordered; none that follows from two others. Items that somebody
    told `apart` stay so, also by way of a third."""
    words = {item: words_of(text) for item, text in sorted(texts.items())}
    enemies = {pair for one, other in apart for pair in ((one, other), (other, one))}
    groups: dict[str, list[str]] = {}
    found = []
    for item in words:
        for leader, group in groups.items():
            if say_the_same(words[item], words[leader]) and not any((item, member) in enemies for member in group):
                found.append((leader, item))
                group.append(item)
                break
        else:
            groups[item] = [item]
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


def situation_of(record: AnyRecord) -> str:
    """What makes records of opposite outcomes contradict each other: however often it happens, it is one contradiction."""
    if isinstance(record, Fix):
        return key_of("fix", generate_issue_signature(record.issue), strategy_key(record))
    content = record.content if isinstance(record, Experience) else record.id
    return key_of("experience", *sorted(words_of(content)))


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
    outcomes: dict[str, list[tuple[Words, Experience]]] = {"success": [], "failure": []}
    for record in records:
        if isinstance(record, Experience) and record.turned_out_well is not None:
            outcomes[record.outcome].append((words_of(record.content), record))
    pairs = []
    for words, failure in outcomes["failure"]:
        for other_words, success in reversed(outcomes["success"]):
            if failure.tool == success.tool and say_the_same(words, other_words):
                pairs.append((failure, success))
                break
    return pairs
