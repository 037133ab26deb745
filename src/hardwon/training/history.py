"""A training memory knows what was recorded into it since it was loaded or saved, so that saving
adds just that to whatever others saved meanwhile.

The memory is a plain dict. What it knows beyond its keys hangs on its `episode_log`, a list that
carries a `History`: it goes along with `dict(memory)`, `{**memory}`, `copy.deepcopy` and pickling.
Only JSON leaves it behind: what comes back from there into the process it was made in is known by
its episodes; for the rest there is `adopt`.

Every recorded episode is one object (`RecordedEpisode`) that knows the files it is in. Copies in
one process share it, so that whichever copy is saved first adds it, and no other does. Where a fork
or pickle takes it into another process it is numbered first, and the file tells how far it has the
numbers of this history.

So ordinarily nothing has to be guessed: whoever saves knows which episodes it recorded, and adds
them to what is there. What remains are dicts that do not know where they came from, read from JSON,
say (`adopt`), and what callers changed by hand (`by_hand`).
"""

from __future__ import annotations

import json
import os
import threading
import weakref
from collections import Counter
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final, NamedTuple, TypeVar

from hardwon import limits
from hardwon.outside import files
from hardwon.records.fields import new_id
from hardwon.training.shape import (
    OPTIONAL,
    AgentMemory,
    add,
    add_texts,
    decoded,
    empty,
    encoded,
    find_card,
    keep_best_cards,
    score_total,
    whole,
)

EMPTY = encoded(empty())
_BESIDE = (*OPTIONAL, "last_consolidated_at")
_OWN: Final = frozenset(empty())
_MISSING: Final = object()
T = TypeVar("T")

# Held while a memory is changed, saved, or forked: one for all of them, because copies share what
# they know.
guard = threading.RLock()


@dataclass(eq=False, slots=True, weakref_slot=True)
class RecordedEpisode:
    """One call of `record_episode`, or the sum of many, as a memory of just that. `saved` are the
    files it is in; `number` is its history's name and its own place there, where another process may
    have it too. `copied` tells which copies have it: where it is the same, they have all of these or
    none.
    """

    entry: AgentMemory
    number: tuple[str, int] | None = None
    saved: set[str] = field(default_factory=set)
    copied: tuple[str, ...] = ()


class SavedState(NamedTuple):
    """A state that the memory was in: its content, and how many calls were recorded before it."""

    content: bytes
    total: int
    position: int


class History:
    """What was recorded since the memory was in one of its bases: those it shares with files, and
    the latest of all.
    """

    def __init__(self, content: bytes, total: int, place: str | None = None) -> None:
        self.latest = SavedState(content, total, 0)
        self.bases = {place: self.latest} if place is not None else {}
        self.beside: AgentMemory = {}
        self._recorded: list[RecordedEpisode] = []
        self._inside: weakref.WeakSet[RecordedEpisode] = weakref.WeakSet()
        self._forgotten = 0
        self.name = ""
        _living.add(self)

    def append(self, entry: AgentMemory) -> None:
        """The last thing that is done is to take it: whoever is interrupted can tell by that."""
        if len(self._recorded) >= limits.TRAINING_PENDING_MAX:
            self._shorten()
        self._recorded.append(RecordedEpisode(entry))

    def has_last(self, entry: AgentMemory) -> bool:
        return bool(self._recorded) and self._recorded[-1].entry is entry

    def fill_in(self, memory: AgentMemory) -> None:
        """Shallow copies of a dict share its lists and objects, but not the keys that came later.
        `beside` has them.
        """
        for name in OPTIONAL:
            if memory.get(name) is None and name in self.beside:
                memory[name] = self.beside[name]
        if marks := self.beside.get("shared_episodes"):
            mine = memory["shared_episodes"]
            memory["shared_episodes"] = {
                **mine,
                **{name: max(mark, mine.get(name, 0)) for name, mark in marks.items()},
            }

    def look_at(self, memory: AgentMemory) -> None:
        """Takes note of what `fill_in` gives to others."""
        self.beside.update({name: memory[name] for name in _BESIDE if memory.get(name) is not None})

    def everything(self) -> Iterable[RecordedEpisode]:
        """All that went into the memory, as far as somebody else may have it too."""
        return {*self._inside, *self._recorded}

    def _shorten(self) -> None:
        """Files that were not saved to for so long are looked at like any other when it comes to
        it. What the latest base lacks is needed; the older half of it as a sum.
        """
        self.bases = {
            place: base
            for place, base in self.bases.items()
            if base.position == self.latest.position
        }
        self._forget(self.latest.position)
        half = limits.TRAINING_PENDING_MAX // 2
        if len(self._recorded) > half:
            alike = groupby(
                self._recorded[:half], lambda each: (frozenset(each.saved), each.copied)
            )
            sums = [_sum_of(list(run)) for _, run in alike]
            forgotten = self._forgotten + half - len(sums)
            latest = self.latest._replace(position=forgotten)
            self.__dict__.update(  # in one step
                _recorded=sums + self._recorded[half:],
                _forgotten=forgotten,
                latest=latest,
                bases=dict.fromkeys(self.bases, latest),
            )

    def _forget(self, before: int) -> None:
        count = before - self._forgotten
        self._inside.update(self._recorded[:count])
        self.__dict__.update(_recorded=self._recorded[count:], _forgotten=before)

    def since(self, base: SavedState) -> list[RecordedEpisode]:
        return self._recorded[base.position - self._forgotten :]

    def is_now(self, content: bytes, total: int, place: str) -> None:
        """The memory and the file have this content."""
        self.latest = SavedState(content, total, self._forgotten + len(self._recorded))
        self.bases.pop(place, None)
        self.bases[place] = self.latest
        for oldest in list(self.bases)[: -limits.TRAINING_PLACES_MAX]:
            del self.bases[oldest]
        self._forget(min(base.position for base in self.bases.values()))

    def twin_of(self, copy: AgentMemory) -> History | None:
        """What a copy that went through JSON left behind, where it was made of this memory since
        its latest base: that many episodes, and the last is the same.
        """
        missing, log = copy["total_episodes"] - self.latest.total, copy["episode_log"]
        if missing < 0 or not log:
            return None
        held = self.since(self.latest)
        count, last = 0, log[:0]
        while missing > 0 and count < len(held):
            missing -= held[count].entry["total_episodes"]
            last = held[count].entry["episode_log"][-1:] or last
            count += 1
        if not last and not missing:
            last = decoded(self.latest.content)[0]["episode_log"][-1:]
        if missing or last != log[-1:]:
            return None
        twin = deepcopy(self)
        del twin._recorded[len(self._recorded) - len(held) + count :]
        _mark_apart(held[count:])
        return twin

    def share(self) -> None:
        """Before another process gets a copy."""
        unnumbered = [each for each in self._recorded if each.number is None]
        if unnumbered:
            self.name = self.name or new_id()
            for n, each in enumerate(self._recorded, self._forgotten):
                each.number = each.number or (self.name, n)
            _mark_apart(unnumbered)

    def __deepcopy__(self, _memo: dict[int, Any]) -> History:
        with guard:
            _mark_apart([each for each in self._recorded if not each.copied])
            twin = History.__new__(History)
            twin.__setstate__({**self._state(), "_inside": weakref.WeakSet(self._inside)})
            return twin

    def __getstate__(self) -> dict[str, Any]:
        with guard:
            self.share()
            return self._state()

    def _state(self) -> dict[str, Any]:
        state = {**self.__dict__, "_recorded": list(self._recorded), "bases": dict(self.bases)}
        del state["_inside"]
        return {**state, "beside": deepcopy(self.beside)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._inside = weakref.WeakSet()
        # what the copy records from now on is not what the original records
        self.__dict__.update(state, name="")
        _living.add(self)


def _sum_of(recorded: list[RecordedEpisode]) -> RecordedEpisode:
    """Of what every copy has all or nothing of: where one of them saves the parts, the sum is
    saved, and the other way round.
    """
    if len(recorded) == 1:
        return recorded[0]
    total, saved = empty(), set(recorded[0].saved)
    for each in recorded:
        add(total, each.entry)
        each.saved = saved
    return RecordedEpisode(total, recorded[-1].number, saved, recorded[-1].copied)


def _mark_apart(recorded: Iterable[RecordedEpisode]) -> None:
    """Somebody else has a copy of these, but not of those beside them; or the other way round."""
    mark = new_id()
    for each in recorded:
        each.copied = (*each.copied, mark)


class EpisodeLog(list[dict[str, Any]]):
    """The `episode_log` of a memory that knows where it came from. A list in every other way."""

    __slots__ = ("history",)

    def __init__(self, log: Iterable[dict[str, Any]], history: History) -> None:
        super().__init__(log)
        self.history = history

    def __copy__(self) -> EpisodeLog:
        return EpisodeLog(self, deepcopy(self.history))


def history_of(memory: AgentMemory) -> History:
    """Where the memory left it behind, the one it had if that can be told; else one that begins
    now.
    """
    log = memory["episode_log"]
    if not isinstance(log, EpisodeLog) or not hasattr(log, "history"):
        twins = filter(None, (history.twin_of(memory) for history in list(_living)))
        found = next(twins, None) or History(encoded(memory), memory["total_episodes"])
        log = memory["episode_log"] = EpisodeLog(log, found)
    return log.history


# --- what is saved ---


def plan(
    memory: AgentMemory, place: str, found: bytes | None, rules_max: int
) -> tuple[AgentMemory, bool]:
    """What belongs in a file in which this was found, and whether it holds what others saved.
    Changes nothing.
    """
    history = history_of(memory)
    base = history.bases.get(place)
    start = base or history.latest
    pending = history.since(start)
    mine = dict(memory)
    mine["episode_log"] = memory["episode_log"][-limits.TRAINING_EPISODES_STORED :]
    # A shallow copy of the dict shares its lists, and what was recorded, but not this number.
    mine["total_episodes"] = max(
        mine["total_episodes"],
        start.total + sum(each.entry["total_episodes"] for each in pending),
    )
    history.fill_in(mine)
    latest = max(whole(each.get("last_consolidated_at"), 0) for each in (mine, history.beside))
    if latest > whole(mine.get("last_consolidated_at"), 0):
        mine["last_consolidated_at"] = latest
    if found is None or (base and found == base.content):
        _note_shared(mine, pending)
        return mine, False
    kept, before = (decoded(content)[0] for content in (found, start.content))
    if base is None and start.content != EMPTY:
        kept = adopt(kept, decoded(start.content)[0], rules_max)
    new = _not_there_yet(pending, place, kept, before)
    for into, parts in ((kept, new), (before, pending)):
        for each in parts:
            add(into, each.entry, rules_max)
        del into["episode_log"][: -limits.TRAINING_EPISODES_STORED]
    _note_shared(kept, new)
    merged = by_hand(before, mine, kept)
    rules, merged["global_rules"] = merged["global_rules"], []
    add_texts(merged["global_rules"], rules, 2 * rules_max)
    return merged, True


def _not_there_yet(
    pending: list[RecordedEpisode], place: str, kept: AgentMemory, before: AgentMemory
) -> list[RecordedEpisode]:
    """Those of the pending that the file with what is `kept`, and was there `before`, lacks."""
    # the episodes that this log has and the earlier one has not
    more = Counter(map(as_json, kept["episode_log"]))
    more.subtract(map(as_json, before["episode_log"]))
    shared = kept.get("shared_episodes", {})

    def is_there(each: RecordedEpisode) -> bool:
        if place in each.saved or (each.number and each.number[1] < shared.get(each.number[0], 0)):
            return True
        # Only one that may have come here another way, with a copy or through a file, is looked
        # for: others may well be alike.
        log = each.entry["episode_log"] if each.copied or each.saved else []
        return len(log) == each.entry["total_episodes"] == 1 and take_one(more, as_json(log[0]))

    return [each for each in pending if not is_there(each)]


def _note_shared(memory: AgentMemory, recorded: Iterable[RecordedEpisode]) -> None:
    marks = dict(memory.get("shared_episodes", {}))
    for name, number in (each.number for each in recorded if each.number):
        marks[name] = max(marks.pop(name, 0), number + 1)
    if marks:
        memory["shared_episodes"] = dict(list(marks.items())[-limits.TRAINING_SHARED_MAX :])


def settle(
    memory: AgentMemory, planned: AgentMemory, merged: bool, content: bytes, place: str
) -> None:
    """What was planned is in the file. Doing this twice does no harm."""
    history = history_of(memory)
    for recorded in history.everything():
        recorded.saved.add(place)
    total = planned["total_episodes"]
    if merged:
        # The lists are new. Who shares the old ones keeps what it knows about them.
        earlier, history = history, History(content, total, place)
        history._inside.update(earlier.everything())
        for name in memory.keys() - planned.keys():
            del memory[name]
        memory.update(planned)
        memory["episode_log"] = EpisodeLog(memory["episode_log"], history)
    else:
        memory.update({name: value for name, value in planned.items() if name != "episode_log"})
        del memory["episode_log"][: -limits.TRAINING_EPISODES_STORED]
        history.is_now(content, total, place)
    history.look_at(memory)


# --- forks ---

_living: weakref.WeakSet[History] = weakref.WeakSet()


class _Fork:
    held = False

    def before(self) -> None:
        """The child gets a copy of everything that is not saved yet; and no fork happens in the
        middle of a save, whose lock the child would go on holding.
        """
        self.held = guard.acquire(timeout=limits.FORK_WAIT_S)
        for history in list(_living):
            history.share()

    def after(self) -> None:
        if self.held:
            guard.release()

    def after_in_child(self) -> None:
        for history in list(_living):
            history.name = ""
        self.after()
        # by a thread that the child has not got, in a save that it will never finish
        if not self.held:
            guard._at_fork_reinit()  # type: ignore[attr-defined]
            files.close_locks()


_fork = _Fork()
os.register_at_fork(
    before=_fork.before, after_in_parent=_fork.after, after_in_child=_fork.after_in_child
)


# --- a dict that does not know where it came from ---


def adopt(
    kept: AgentMemory, other: AgentMemory, rules_max: int = limits.TRAINING_RULES_PER_TASK
) -> AgentMemory:
    """What is kept, with what only the other has. Both are lists of episodes of which the newest
    are known one by one, and the scores of many more. Where those agree as far as both go, the
    longer one is simply the later one. Where they do not, or nothing tells, the other's episodes
    that are not kept are added, and of its mistakes, rules and cards what is not there; a card that
    both have was seen as often as the larger of its counts says.
    """
    ours, theirs = (Numbered(each["episode_log"], each["total_episodes"]) for each in (other, kept))
    tasks = {
        task: (scores_of(other, task), scores_of(kept, task))
        for task in {**kept["score_history"], **other["score_history"]}
    }
    pairs = [(ours, theirs), *tasks.values()]
    known = any(one.common(two) for one, two in pairs) or not min(ours.total, theirs.total)
    agree = known and all(one.parted_from(two) is None for one, two in pairs)
    if agree and all(two.total <= one.total for one, two in tasks.values()):
        return other
    earlier = agree and all(one.total <= two.total for one, two in tasks.values())
    part: AgentMemory = {
        **{name: other[name] for name in other.keys() - kept.keys() - set(OPTIONAL)},
        **empty(),
        "task_rules": {
            task: _newer(kept["task_rules"].get(task, []), rules, earlier)
            for task, rules in other["task_rules"].items()
        },
        **{
            name: _newer(kept[name], other[name], earlier)
            for name in ("global_rules", "mistakes", "successes")
        },
    }
    if not earlier:
        part |= _new_episodes(other, ours, theirs, tasks, known)
        cards = kept["mistake_cards"]
        for card in other["mistake_cards"]:
            place = find_card(cards, card)
            if place is None:
                cards.append(card)
                continue
            for name, choose in (
                ("seen_count", max),
                ("last_seen_episode", max),
                ("first_seen_episode", min),
            ):
                cards[place][name] = choose(
                    whole(each.get(name), 0) for each in (cards[place], card)
                )
        keep_best_cards(cards)
    add(kept, part, rules_max)
    return kept


class Numbered:
    """The last ones of all episodes, or of all scores of a task, with their numbers in the order of
    recording: the very last has the number `total` - 1.
    """

    def __init__(self, items: list[Any], total: int) -> None:
        self.items, self.total, self.start = items, total, total - len(items)

    def common(self, other: Numbered) -> range:
        return range(max(self.start, other.start), min(self.total, other.total))

    def parted_from(self, other: Numbered) -> int | None:
        """The first number under which both have one, and not the same."""
        common = self.common(other)
        return next(
            (n for n in common if self.items[n - self.start] != other.items[n - other.start]), None
        )


def scores_of(memory: AgentMemory, task: str) -> Numbered:
    return Numbered(memory["score_history"].get(task, []), score_total(memory, task)[1])


def _new_episodes(
    memory: AgentMemory,
    ours: Numbered,
    theirs: Numbered,
    tasks: dict[str, tuple[Numbered, Numbered]],
    known: bool,
) -> AgentMemory:
    """The log and the scores that are in our memory alone. `tasks` has the scores of each task on
    both sides.
    """
    at = ours.parted_from(theirs)
    first = min(ours.total, theirs.total) if at is None else at
    new = _without(ours.items[max(first - ours.start, 0) :], theirs.items)
    by_task = Counter(str(episode.get("task_id")) for episode in new)
    # The logs tell exactly what is new, unless they part before they begin: then the scores have
    # to.
    start = max(ours.start, theirs.start)
    by_log_alone = at is not None and (at > start or start == 0)
    part: AgentMemory = {"episode_log": new, "total_episodes": 0, "score_history": {}}
    for task, (mine, kept) in tasks.items():
        common_end = min(mine.total, kept.total) if known else 0
        parted = mine.parted_from(kept)
        by_scores = mine.total - (common_end if parted is None else parted)
        count = by_task[task] if by_log_alone else max(by_task[task], by_scores)
        if count:
            part["score_history"][task] = mine.items[-count:]
            part["total_episodes"] += count
        older = count - len(mine.items)
        if older > 0:  # of these only the sum is known, and of a part of them its share
            older_sum = score_total(memory, task)[0] - sum(mine.items)
            share = {"count": older, "sum": older_sum * older / mine.start}
            part.setdefault("older_scores", {})[task] = share
    return part


def _newer(kept: list[Any], other: list[Any], earlier: bool) -> list[Any]:
    """What comes after the last that both have: what comes before it was there once, and had to
    make room. The same holds of everything, where the other is earlier and they have nothing in
    common.
    """
    places = [place for place, text in enumerate(other) if text in kept]
    if not places and kept and earlier:
        return []
    return other[places[-1] + 1 if places else 0 :]


# --- changes made by hand ---


def by_hand(expected: AgentMemory, mine: AgentMemory, kept: AgentMemory) -> AgentMemory:
    """What is kept, with the changes that a caller made to its dict by hand: where it differs from
    what loading and recording made of it. Nobody takes a key of ours away, or episodes: a copy of
    the dict may not have heard of them.
    """
    merged = dict(kept)
    for name in {**expected, **mine}:
        if name == "total_episodes":
            merged[name] = kept[name] + max(whole(mine.get(name), 0) - expected[name], 0)
        elif name == "last_consolidated_at":
            merged[name] = max(whole(memory.get(name), 0) for memory in (mine, kept)) or None
        elif name in mine or not (name in OPTIONAL or name in _OWN):
            merged[name] = _merged(*(each.get(name, _MISSING) for each in (expected, mine, kept)))
    return {name: value for name, value in merged.items() if value is not _MISSING}


def _merged(expected: Any, mine: Any, kept: Any) -> Any:
    if mine is _MISSING or mine == expected:
        return kept if mine is not _MISSING or kept != expected else _MISSING
    if kept is _MISSING or kept == expected:
        return mine
    if isinstance(mine, dict) and isinstance(kept, dict):
        before = expected if isinstance(expected, dict) else {}
        found = {
            name: _merged(*(each.get(name, _MISSING) for each in (before, mine, kept)))
            for name in {**kept, **mine}
        }
        return {name: value for name, value in found.items() if value is not _MISSING}
    if isinstance(mine, list) and isinstance(kept, list):
        earlier = expected if isinstance(expected, list) else []
        return _without(kept, _without(earlier, mine)) + _without(mine, earlier)
    return mine


def _without(items: Iterable[Any], others: Iterable[Any]) -> list[Any]:
    gone = Counter(map(as_json, others))
    return [item for item in items if not take_one(gone, as_json(item))]


def take_one(counts: Counter[T], key: T) -> bool:
    """Whether there was one to take."""
    found = counts[key] > 0
    counts[key] -= found
    return found


def as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
