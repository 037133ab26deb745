"""Saving next to others: what is saved is a three-way merge of the file as it was when the memory was
loaded or last saved (`before`), the memory in hand (`mine`), and what others made of the file since
(`theirs`). Pure; the file and its lock are with `functions`.

What the file was like before hangs on the memory's `episode_log`, a list of a class of its own. It
goes along with `dict(memory)`, with a fork, and to another process through `multiprocessing`. Every
other copy (deepcopy, JSON, a pickle in a file) is kept for later, and stands for itself: saving it
makes the file what the copy is.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from copy import deepcopy
from multiprocessing.reduction import ForkingPickler
from typing import Any, Final, SupportsIndex, TypeVar

from hardwon.training import shape
from hardwon.training.shape import AgentMemory, make_key, unite_texts

# What is added up, rather than taken from one side.
_ADDED_UP: Final = ("total_episodes", "last_consolidated_at", "mistake_cards")
# Files that one memory is saved to in turn: whoever has more of them makes copies.
_PLACES_MAX: Final = 4
_MISSING: Final = object()
T = TypeVar("T")


class EpisodeLog(list[dict[str, Any]]):
    """The `episode_log` of a memory that was loaded or saved. `bases` are the bytes of the files
    that the memory belongs to, as they were then, by their places. A list in every other way.
    """

    def __init__(self, log: Iterable[dict[str, Any]], bases: dict[str, bytes]) -> None:
        super().__init__(log)
        self.bases = bases

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        """A copy is a list like any other."""
        return list, (list(self),)


# Whoever sends a memory to a process at work means the same memory, not a copy for later.
ForkingPickler.register(EpisodeLog, lambda log: (EpisodeLog, (list(log), log.bases)))


def find_base(memory: AgentMemory, place: str) -> bytes | None:
    """What the file held when the memory was loaded from there or last saved there; None where it
    never was.
    """
    log = memory["episode_log"]
    return log.bases.get(place) if isinstance(log, EpisodeLog) else None


def settle(memory: AgentMemory, saved: AgentMemory, content: bytes, place: str) -> None:
    """The file holds `content`, which is `saved`: so does the memory. Doing this twice does no harm."""
    replace_content(memory, saved)
    if not isinstance(memory["episode_log"], EpisodeLog):
        memory["episode_log"] = EpisodeLog(memory["episode_log"], {})
    bases = memory["episode_log"].bases
    bases.pop(place, None)
    bases[place] = content
    for oldest in list(bases)[:-_PLACES_MAX]:
        del bases[oldest]


def replace_content(memory: AgentMemory, content: AgentMemory) -> None:
    """Makes one dict what the other is, in place: copies that a caller made one level deep share its
    lists.
    """
    for name in memory.keys() - content.keys():
        del memory[name]
    for name, value in content.items():
        held = memory.get(name)
        if isinstance(held, list) and isinstance(value, list):
            held[:] = value
        elif isinstance(held, dict) and isinstance(value, dict) and held is not value:
            held.clear()
            held.update(value)
        else:
            memory[name] = value


def merge(
    before: AgentMemory, mine: AgentMemory, theirs: AgentMemory, rules_max: int, episodes_max: int
) -> AgentMemory:
    """What others made of the memory, with what was recorded and changed in hand. None of the three
    is changed.
    """
    plain = [
        {name: value for name, value in memory.items() if name not in _ADDED_UP}
        for memory in (before, mine, theirs)
    ]
    merged: AgentMemory = {**shape.empty(), **deepcopy(_merge_values(*plain))}
    merged |= {name: deepcopy(theirs[name]) for name in _ADDED_UP if name in theirs}
    for name, most in shape.list_bounds(rules_max).items():
        merged[name] = unite_texts([], merged[name], most)
    for task, rules in merged["task_rules"].items():
        merged["task_rules"][task] = unite_texts([], rules, rules_max)
    del merged["episode_log"][:-episodes_max]
    merged["total_episodes"] += max(mine["total_episodes"] - before["total_episodes"], 0)
    if mine.get("last_consolidated_at") != before.get("last_consolidated_at"):
        latest = max(
            shape.whole(memory.get("last_consolidated_at"), 0) for memory in (mine, theirs)
        )
        merged["last_consolidated_at"] = latest or None
    merged["mistake_cards"] = _merge_cards(before, mine, theirs)
    return merged


def _merge_values(before: Any, mine: Any, theirs: Any) -> Any:
    """The changes of both. Where they exclude each other, mine counts; `_MISSING` is nothing."""
    if mine is _MISSING or mine == before:
        return theirs if mine is not _MISSING or theirs != before else _MISSING
    if theirs == before:
        return mine
    if isinstance(mine, dict) and isinstance(theirs, dict):
        earlier = before if isinstance(before, dict) else {}
        values = {
            name: _merge_values(*(side.get(name, _MISSING) for side in (earlier, mine, theirs)))
            for name in {**theirs, **mine}
        }
        return {name: value for name, value in values.items() if value is not _MISSING}
    if isinstance(mine, list) and (isinstance(theirs, list) or theirs is _MISSING):
        known = before if isinstance(before, list) else []
        kept = _subtract(theirs, _subtract(known, mine)) if isinstance(theirs, list) else []
        return kept + _subtract(mine, known)
    return mine


def _merge_cards(
    before: AgentMemory, mine: AgentMemory, theirs: AgentMemory
) -> list[dict[str, Any]]:
    """The cards of both, each seen as often as both saw it since."""
    changed = _subtract(mine["mistake_cards"], before["mistake_cards"])
    keys = [shape.card_key(card) for card in mine["mistake_cards"]]
    taken_out = [card for card in before["mistake_cards"] if shape.card_key(card) not in keys]
    cards = _subtract(theirs["mistake_cards"], taken_out)
    earlier = {json.dumps(shape.card_key(card)): card for card in before["mistake_cards"]}
    is_new = False
    for card in changed:
        known: dict[str, Any] = earlier.get(json.dumps(shape.card_key(card)), {})
        seen = shape.whole(card.get("seen_count"), 1) - shape.whole(known.get("seen_count"), 0)
        since = {"seen_count": seen}
        for name in ("first_seen_episode", "last_seen_episode"):
            since[name] = shape.whole(card.get(name), 0) - before["total_episodes"]
        is_new |= shape.add_card(cards, {**card, **since}, theirs["total_episodes"])
    if is_new:
        shape.keep_best_cards(cards)
    return cards


def _subtract(items: Iterable[Any], others: Iterable[Any]) -> list[Any]:
    """The items without as many of each as the others have."""
    counts = Counter(map(make_key, others))
    return [item for item in items if not take_one(counts, make_key(item))]


def take_one(counts: Counter[T], key: T) -> bool:
    """Takes one away; False where there was none."""
    is_there = counts[key] > 0
    counts[key] -= is_there
    return is_there
