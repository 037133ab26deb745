"""What puts lessons in order: what says the same, what contradicts. Pure functions of texts and
records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hardwon.lessons.issues import generate_issue_signature, strategy_key
from hardwon.records.kinds import AnyRecord, Experience, Fix
from hardwon.text.terms import Words, hash_parts, list_words, say_the_same


def find_near_duplicates(
    texts: Mapping[str, str], apart: Iterable[tuple[str, str]] = ()
) -> list[tuple[str, str]]:
    """Pairs of items whose texts say the same, each pair ordered; none that follows from two
    others. Items that somebody set `apart` stay so, also by way of a third.
    """
    words = {item: list_words(text) for item, text in sorted(texts.items())}
    enemies = {pair for one, other in apart for pair in ((one, other), (other, one))}
    groups: dict[str, list[str]] = {}
    pairs = []
    for item in words:
        for leader, group in groups.items():
            if say_the_same(words[item], words[leader]) and not any(
                (item, member) in enemies for member in group
            ):
                pairs.append((leader, item))
                group.append(item)
                break
        else:
            groups[item] = [item]
    return pairs


def find_opposite_rules(
    works: Mapping[str, str], avoid: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Pairs of items that say the same, one as what works and one as what to avoid; at most one for
    each of the latter.
    """
    words = {item: list_words(text) for item, text in sorted(works.items())}
    pairs = []
    for item, text in sorted(avoid.items()):
        own = list_words(text)
        same = [item] if item in words else [key for key in words if say_the_same(words[key], own)]
        pairs += [(key, item) for key in same[:1]]
    return pairs


def situation_key(record: AnyRecord) -> str:
    """What makes records of opposite outcomes contradict each other: however often it happens, it
    is one contradiction.
    """
    if isinstance(record, Fix):
        return hash_parts("fix", generate_issue_signature(record.issue), strategy_key(record))
    content = record.content if isinstance(record, Experience) else record.id
    return hash_parts("experience", *sorted(list_words(content)))


def find_opposite_outcomes(
    records: Sequence[AnyRecord], limit: int
) -> list[tuple[AnyRecord, AnyRecord]]:
    """Pairs of records (older, newer) that report the same situation with opposite outcomes:
    experiences of one tool that say the same, and fixes of one signature by one strategy. The
    newest of each side speaks for it.
    """
    fixes: dict[str, dict[bool, Fix]] = {}
    outcomes: dict[str, list[tuple[Words, Experience]]] = {"success": [], "failure": []}
    for record in sorted(records, key=_order):
        if isinstance(record, Fix) and strategy_key(record):
            fixes.setdefault(situation_key(record), {})[record.succeeded] = record
        elif isinstance(record, Experience) and record.turned_out_well is not None:
            outcomes[record.outcome].append((list_words(record.content), record))
    pairs: list[list[AnyRecord]] = [[*both.values()] for both in fixes.values() if len(both) == 2]
    for words, failure in outcomes["failure"]:
        for other_words, success in reversed(outcomes["success"]):
            if failure.tool == success.tool and say_the_same(words, other_words):
                pairs.append([failure, success])
                break
    older_first = [(min(pair, key=_order), max(pair, key=_order)) for pair in pairs]
    return sorted(older_first, key=lambda pair: (-pair[1].at_us, pair[1].id, pair[0].id))[:limit]


def _order(record: AnyRecord) -> tuple[int, str]:
    return record.at_us, record.id
