"""Two versions of one training memory become one. No I/O.

Ordinarily nothing has to be guessed: whoever saves knows which episodes it recorded, and adds them to what is there. Here is
what remains: dicts that do not know where they came from (read from JSON, say), and what callers changed by hand.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from hardwon import limits
from hardwon.doors.episode_dict import (
    OPTIONAL,
    AgentMemory,
    add_older,
    add_scores,
    empty,
    find_card,
    keep_best_cards,
    score_total,
    whole,
)

_MISSING: Final = object()


# --- a dict that does not know where it came from -----------------------------------------------------------------------


def adopt(kept: AgentMemory, other: AgentMemory) -> AgentMemory:
    """What is kept, with what only the other has. Both are lists of episodes of which the newest are known one by one, and
    the scores of many more. Where those agree as far as both go, the longer one is simply the later one. Where they do not,
    or nothing tells, the other's episodes that are not kept are added, and of its mistakes, rules and cards what is not
    there; a card that both have was seen as often as the larger of its counts says."""
    ours, theirs = _Told(other), _Told(kept)
    at, tasks = (
        ours.parted_from(theirs),
        [_Scores(kept, other, task) for task in {**kept["score_history"], **other["score_history"]}],
    )
    told = bool(ours.common(theirs)) or any(task.common for task in tasks) or not min(ours.total, theirs.total)
    agree = told and at is None and all(task.parted is None for task in tasks)
    if agree and all(task.kept_count <= task.other_count for task in tasks):
        return other
    earlier = agree and all(task.other_count <= task.kept_count for task in tasks)
    if not earlier:
        _add_episodes(kept, ours, theirs, at, tasks, told)
        _add_cards(kept["mistake_cards"], other["mistake_cards"])
    _add_newer(kept["global_rules"], other["global_rules"], limits.TRAINING_GLOBAL_RULES, earlier)
    for task, rules in other["task_rules"].items():
        _add_newer(kept["task_rules"].setdefault(task, []), rules, limits.TRAINING_RULES_PER_TASK, earlier)
    for name in ("mistakes", "successes"):
        _add_newer(kept[name], other[name], limits.TRAINING_LESSONS_MAX, earlier)
    for name in other.keys() - kept.keys() - set(OPTIONAL):
        kept[name] = other[name]
    return kept


class _Told:
    """The episodes of a log with their numbers: the last has the number `total` - 1."""

    def __init__(self, memory: AgentMemory) -> None:
        self.log: list[dict[str, Any]] = memory["episode_log"]
        self.total: int = memory["total_episodes"]
        self.start = self.total - len(self.log)

    def common(self, other: _Told) -> range:
        return range(max(self.start, other.start), min(self.total, other.total))

    def parted_from(self, other: _Told) -> int | None:
        """The first number under which both have an episode, and not the same one."""
        common = self.common(other)
        return next((n for n in common if self.log[n - self.start] != other.log[n - other.start]), None)


class _Scores:
    """The scores of one task on both sides, with their numbers in the order of recording."""

    def __init__(self, kept: AgentMemory, other: AgentMemory, task: str) -> None:
        self.task = task
        self.kept_count, self.other_count = score_total(kept, task)[1], score_total(other, task)[1]
        self.scores: list[float] = other["score_history"].get(task, [])
        known = kept["score_history"].get(task, [])
        start, known_start = self.other_count - len(self.scores), self.kept_count - len(known)
        self.common = range(max(start, known_start), min(self.kept_count, self.other_count))
        self.parted = next((n for n in self.common if self.scores[n - start] != known[n - known_start]), None)
        self.older_sum = score_total(other, task)[0] - sum(self.scores)

    def new(self, told: bool) -> int:
        if self.parted is not None:
            return self.other_count - self.parted
        return max(self.other_count - self.kept_count, 0) if told else self.other_count

    def add_to(self, kept: AgentMemory, count: int) -> None:
        older = count - len(self.scores)
        if older > 0:  # of these only the sum is known, and of a part of them its share
            add_older(kept, self.task, older, [self.older_sum * older / (self.other_count - len(self.scores))])
        if count:
            add_scores(kept, self.task, self.scores[-count:])
            kept["total_episodes"] += count


def _add_episodes(kept: AgentMemory, ours: _Told, theirs: _Told, at: int | None, tasks: Iterable[_Scores], told: bool) -> None:
    first = min(ours.total, theirs.total) if at is None else at
    new = _without(ours.log[max(first - ours.start, 0) :], theirs.log)
    by_task = Counter(str(episode.get("task_id")) for episode in new)
    # The logs tell exactly what is new, unless they part before they begin: then the scores have to.
    start = max(ours.start, theirs.start)
    by_log_alone = at is not None and (at > start or start == 0)
    for task in tasks:
        task.add_to(kept, by_task[task.task] if by_log_alone else max(by_task[task.task], task.new(told)))
    kept["episode_log"] += new


def _add_cards(kept: list[dict[str, Any]], other: list[dict[str, Any]]) -> None:
    for card in other:
        place = find_card(kept, card)
        if place is None:
            kept.append(card)
            continue
        same = kept[place]
        for name, choose in (("seen_count", max), ("last_seen_episode", max), ("first_seen_episode", min)):
            same[name] = choose(whole(same.get(name), 0), whole(card.get(name), 0))
    keep_best_cards(kept)


def _add_newer(kept: list[Any], other: list[Any], most: int, earlier: bool) -> None:
    """What comes after the last that both have: what comes before it was there once, and had to make room. The same holds of
    everything, where the other is earlier and they have nothing in common."""
    places = [place for place, text in enumerate(other) if text in kept]
    if places or not kept or not earlier:
        kept += other[places[-1] + 1 if places else 0 :]
        del kept[:-most]


# --- changes made by hand -----------------------------------------------------------------------------------------------


def by_hand(expected: AgentMemory, mine: AgentMemory, kept: AgentMemory) -> AgentMemory:
    """What is kept, with the changes that a caller made to its dict by hand: where it differs from what loading and
    recording made of it. Nobody takes a key of ours away, or episodes: a copy of the dict may not have heard of them."""
    merged = dict(kept)
    for name in {**expected, **mine}:
        if name == "total_episodes":
            merged[name] = kept[name] + max(whole(mine.get(name), 0) - expected[name], 0)
        elif name == "last_consolidated_at":
            merged[name] = max(whole(memory.get(name), 0) for memory in (mine, kept)) or None
        elif name in mine or not (name in OPTIONAL or name in _OWN):
            value = _merged(expected.get(name, _MISSING), mine.get(name, _MISSING), kept.get(name, _MISSING))
            if value is _MISSING:
                merged.pop(name, None)
            else:
                merged[name] = value
    merged["global_rules"] = merged["global_rules"][-limits.TRAINING_GLOBAL_RULES :]
    return merged


_OWN: Final = frozenset(empty())


def _merged(expected: Any, mine: Any, kept: Any) -> Any:
    if mine is _MISSING or mine == expected:
        return kept if mine is not _MISSING or kept != expected else _MISSING
    if kept is _MISSING or kept == expected:
        return mine
    if isinstance(mine, dict) and isinstance(kept, dict):
        before = expected if isinstance(expected, dict) else {}
        found = {
            name: _merged(before.get(name, _MISSING), mine.get(name, _MISSING), kept.get(name, _MISSING))
            for name in {**kept, **mine}
        }
        return {name: value for name, value in found.items() if value is not _MISSING}
    if isinstance(mine, list) and isinstance(kept, list):
        earlier = expected if isinstance(expected, list) else []
        return _without(kept, _without(earlier, mine)) + _without(mine, earlier)
    return mine


def _without(items: Iterable[Any], others: Iterable[Any]) -> list[Any]:
    gone = Counter(map(as_json, others))
    left = []
    for item in items:
        if gone[as_json(item)]:
            gone[as_json(item)] -= 1
        else:
            left.append(item)
    return left


def as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
