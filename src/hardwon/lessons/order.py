"""Which texts say the same in nearly the same words, and which records report the same situation with
opposite outcomes. Pure functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from hardwon.lessons.issues import generate_issue_signature, strategy_key
from hardwon.records.kinds import AnyRecord, Experience, Fix
from hardwon.text.terms import list_words, say_the_same


def find_near_duplicates(texts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Pairs of items whose texts say the same, each with the one that stands for its group first, the
    smallest of all.
    """
    words = {item: list_words(text) for item, text in sorted(texts.items())}
    leaders: list[str] = []
    pairs = []
    for item in words:
        same = next((one for one in leaders if say_the_same(words[item], words[one])), None)
        if same is None:
            leaders.append(item)
        else:
            pairs.append((same, item))
    return pairs


def find_opposite(record: AnyRecord, others: Iterable[AnyRecord]) -> Iterator[AnyRecord]:
    """Those that report the same situation as a record with the opposite outcome: experiences of one tool
    that say the same, and fixes of one signature by one strategy.
    """
    well = record.turned_out_well
    for other in others if well is not None else ():
        if other.turned_out_well is not (not well):
            continue
        if isinstance(record, Fix) and isinstance(other, Fix):
            same = _key_of_fix(record) == _key_of_fix(other)
        elif isinstance(record, Experience) and isinstance(other, Experience):
            same = record.tool == other.tool and say_the_same(
                list_words(record.content), list_words(other.content)
            )
        else:
            same = False
        if same:
            yield other


def _key_of_fix(fix: Fix) -> tuple[str, str]:
    return generate_issue_signature(fix.issue), strategy_key(fix)
