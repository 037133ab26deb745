"""A training memory's file into the shared memory, and back.

The episodes of its log become records. What the file has only added up (rules, mistakes, cards with
their counts, scores older than the log) is kept as it is, in one record of kind `adopted`: it
suggests, and counts as one source's word. Ids are derived from what is adopted and whose it is, so
that the same file adds nothing the second time, wherever it lies, and nobody takes the place of
another by being first. A file that went on since takes the place of its earlier state.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from hardwon import limits
from hardwon.errors import InvalidInputError, PlaceError
from hardwon.learn.support import TRAINING_MEMORY, LoggedEpisode, TrainingMemory
from hardwon.memory import Memory
from hardwon.memory.results import Loaded
from hardwon.outside import files, own_files
from hardwon.outside.locations import check_path
from hardwon.records.fields import derived_id, from_us, is_derived, parse_time, to_us
from hardwon.records.kinds import Adopted, AnyRecord, Episode, Metadata, Moment, Source
from hardwon.store.types import Progress
from hardwon.training import shape
from hardwon.training.history import scores_of, take_one
from hardwon.training.shape import AgentMemory
from hardwon.trust.redact import redact

# What scores that agree must tell where the logs have no episode in common: less agrees by chance.
# A hundred times the same score tells nothing, for any agent may have had it; five that all differ
# tell this much, and so do ten of two sorts, mixed.
_SAME_BITS_MIN: Final = 9.0
_MOMENT: Final = timedelta(microseconds=1)


def adopt(
    path: str | Path,
    memory: Memory,
    *,
    author: str = TRAINING_MEMORY,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Loaded:
    """Brings a training memory's file into a memory. Nothing in it is believed before records bear
    it out, or somebody verifies it; `author` is the source that it counts as. The file is only
    read. What is wrong with it is named by its place.
    """
    source = check_path("path", path)
    if not isinstance(memory, Memory):
        raise InvalidInputError.one("memory", memory, "a Memory, as Memory(path) opens it")
    adopted, episodes = _records(source, author)
    # Of the same source: nobody's file takes the place of what another one says.
    known = [
        _AdoptedState(record)
        for record in _adopted_in(memory)
        if record.metadata.source.author == adopted.metadata.source.author
    ]
    state = _AdoptedState(adopted)
    fresh = [episode for episode in episodes if not _has_as_own(memory, episode)]
    is_new = memory.get(adopted.id) is None
    replaced = [other.id for other in known if is_new and _is_later(state, other)]
    stale = is_new and not replaced and any(_is_later(other, state) for other in known)
    records: list[AnyRecord] = [*fresh, *([] if stale else [adopted])]
    loaded = memory.care.take_in(records, dry_run, author, progress)
    if not dry_run and memory.get(adopted.id):
        for earlier in replaced:
            memory.supersede(
                earlier, adopted.id, "a later state of the same training memory", author
            )
    passed_over = len(episodes) + 1 - len(records)
    return replace(loaded, read=loaded.read + passed_over, present=loaded.present + passed_over)


def _has_as_own(memory: Memory, episode: Episode) -> bool:
    """Then the file was exported from here."""
    at = episode.metadata.context.timestamp
    return any(
        isinstance(one, Episode) and not is_derived(one.id) and _what(one) == _what(episode)
        for one in memory.browse(
            kind="episode", task_id=episode.task_id, since=at, until=at + _MOMENT
        )
    )


def export_agent_memory(
    memory: Memory, path: str | Path | None = None, *, overwrite: bool = False
) -> AgentMemory:
    """The dict that training memory would have made of a memory's episodes, on top of what was
    adopted; with a `path`, also written there. Archived episodes and sources that were rolled back
    are left out.
    """
    target = None if path is None else check_path("path", path)
    if target and not overwrite and files.exists(target):
        raise PlaceError(f"{target} exists already: choose another name, or say overwrite=True")
    states = [_AdoptedState(each) for each in [*_trusted(memory, _adopted_in(memory))][::-1]]
    episodes = [
        each
        for each in _trusted(memory, memory.browse(kind="episode"))
        if isinstance(each, Episode)
    ][::-1]
    own = [episode for episode in episodes if not is_derived(episode.id)]
    exported = states[0].whole(episodes) if states else shape.empty()
    for state in states[1:]:
        shape.add(exported, state.whole(episodes))
    known = {episode.id for state in states for episode in state.exported_from(own)}
    for episode in own:
        if episode.id not in known:
            shape.add(exported, _memory_of(episode))
    del exported["episode_log"][: -limits.TRAINING_EPISODES_STORED]
    if target:
        target = own_files.target("path", target, memory.location, "memory.json")
        with files.writing_atomically(target) as file:
            file.write(json.dumps(exported, indent=2, ensure_ascii=False).encode())
    return exported


# --- a file becomes records ---


def _records(path: Path, author: str) -> tuple[Adopted, list[Episode]]:
    found, written_us = files.read_object(
        path, limits.TRAINING_FILE_BYTES_MAX, "a training memory", allow_inf_nan=True
    )
    try:
        raw = {name: value for name, value in found.items() if value is not None}
        checked = TrainingMemory.model_validate(raw)
        # no longer than a saved one ever is: what came before is in its counts
        if checked.episode_log:
            raw["episode_log"] = raw["episode_log"][-limits.TRAINING_EPISODES_STORED :]
        source = Source(author=author)
        log = checked.episode_log[-limits.TRAINING_EPISODES_STORED :]
        episodes = list(_episodes(log, source))
        at = max(
            (episode.metadata.context.timestamp for episode in episodes),
            default=from_us(written_us),
        )
        data = _data(raw)
        adopted = Adopted(
            id=derived_id(
                TRAINING_MEMORY, "memory", source.author, json.dumps(data, sort_keys=True)
            ),
            origin=TRAINING_MEMORY,
            data=data,
            metadata=Metadata(source=source, context=Moment(timestamp=at)),
        )
    except InvalidInputError as error:
        raise InvalidInputError(error.problems, path.name) from None
    return adopted, episodes


def _episodes(log: Iterable[LoggedEpisode], source: Source) -> Iterator[Episode]:
    seen: Counter[tuple[str, ...]] = Counter()
    for entry in log:
        summary = redact(entry.summary)[0]  # as it is kept, and comes back when it is exported
        what = (
            source.author,
            str(to_us(entry.timestamp)),
            entry.task_id,
            repr(entry.score),
            str(entry.steps),
            summary,
        )
        seen[what] += 1  # told apart by their number: a coarse clock gives two the same time
        yield Episode(
            id=derived_id(TRAINING_MEMORY, "episode", *what, str(seen[what])),
            task_id=entry.task_id,
            score=entry.score,
            steps=entry.steps,
            trajectory_summary=entry.summary,
            metadata=Metadata(source=source, context=Moment(timestamp=entry.timestamp)),
        )


def _data(raw: dict[str, Any]) -> dict[str, Any]:
    """As it is kept. Scores are one text a task, for there may be very many; the summaries of the
    log are in its episodes.
    """
    rest = deepcopy(raw)
    for task in rest.get("score_history", {}):
        shape.add_scores(rest, task, [])
    log, history = rest.pop("episode_log", []), rest.pop("score_history", {})
    data = {
        "memory": rest,
        "scores": {
            task: " ".join(repr(float(score)) for score in scores)
            for task, scores in history.items()
        },
        "log": [
            {name: value for name, value in entry.items() if name != "summary"} for entry in log
        ],
    }
    size = _bytes(data)
    if size > limits.RECORD_BYTES_MAX - limits.RECORD_BYTES_MAX // 64:  # its envelope needs some
        largest = max(raw, key=lambda name: _bytes(raw[name]))
        allowed = (
            f"at most {limits.RECORD_BYTES_MAX} bytes without the episode log; most of it is "
            f"{largest!r}: shorten its texts, "
            "or keep the newest, in a copy of the file, and adopt that"
        )
        raise InvalidInputError.one(largest, f"{size} bytes", allowed)
    return data


def _bytes(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode())


# --- what is kept becomes a file's dict again ---


# What a log tells of an episode, but for its summary, enough to know it again: when it was
# (microseconds), its task, its score and its steps.
_EpisodeKey = tuple[int, str, float, int]


class _AdoptedState:
    """A training memory as it was when it was adopted."""

    def __init__(self, record: Adopted) -> None:
        self.id = record.id
        self.author = record.metadata.source.author
        data = record.data
        try:
            scores = {
                task: [float(score) for score in text.split()]
                for task, text in data["scores"].items()
            }
            given = {**data["memory"], "score_history": scores, "episode_log": data["log"]}
            TrainingMemory.model_validate(given)
        except (AttributeError, LookupError, TypeError, ValueError):
            given = {}  # a file of records may hold anything
        self.memory: AgentMemory = {**shape.empty(), **deepcopy(given)}
        self.log: list[dict[str, Any]] = self.memory["episode_log"]
        self.total: int = self.memory["total_episodes"]

    def whole(self, episodes: Iterable[Episode]) -> AgentMemory:
        """With the summaries, and without the episodes that the memory has no more. They come
        oldest first.
        """
        summaries: dict[_EpisodeKey, list[str]] = {}
        for episode in episodes:
            if episode.metadata.source.author == self.author or not is_derived(episode.id):
                summaries.setdefault(_what(episode), []).append(episode.trajectory_summary)
        log = [
            {**entry, "summary": found.pop(0)}
            for entry in self.log
            if (found := summaries.get(_logged(entry)))
        ]
        return {**deepcopy(self.memory), "episode_log": log}

    def exported_from(self, own: Sequence[Episode]) -> list[Episode]:
        """Episodes of the memory's own that are in the file already: it was exported from here.
        Those in its log are known by what that says; of older ones it has no more than the scores,
        so one that arrived late is told by its own. Where scores are no longer listed, whatever was
        recorded before the log counts as in it.
        """
        logged = Counter(map(_logged, self.log))
        found = [episode for episode in own if take_one(logged, _what(episode))]
        if not found:
            return []
        until_us, here = max(each.at_us for each in found), {each.id for each in found}
        history, older = self.memory["score_history"], self.memory.get("older_scores", {})
        listed = Counter((task, score) for task, scores in history.items() for score in scores)
        listed.subtract((entry["task_id"], entry["score"]) for entry in self.log)
        unlisted = Counter({task: sums["count"] for task, sums in older.items()})
        earlier = [each for each in own if each.id not in here and each.at_us <= until_us]
        return found + [
            each
            for each in reversed(earlier)
            if take_one(listed, (each.task_id, each.score)) or take_one(unlisted, each.task_id)
        ]


def _is_later(new: _AdoptedState, old: _AdoptedState) -> bool:
    """Whether one is what became of the other: its log has the other's last episode. Where that may
    have left the log, the scores of the older one are those that the newer one begins with, they
    differ enough among themselves to tell agents apart, and lists and counts only grew.
    """
    if old.log and _logged(old.log[-1]) in set(map(_logged, new.log)):
        return True
    if old.log and len(new.log) >= new.total:
        return False
    bits = 0.0
    # what both list of the scores that the older one has, under the same numbers
    for task in old.memory["score_history"]:
        now, before = scores_of(new.memory, task), scores_of(old.memory, task)
        if now.total < before.total or now.parted_from(before) is not None:
            return False
        bits += _bits(before.items[len(before.items) - len(now.common(before)) :])
    for name in ("mistakes", "successes"):
        newer, older = new.memory[name], old.memory[name]
        if len(newer) < limits.TRAINING_LESSONS_MAX and newer[: len(older)] != older:
            return False
    # Rules and cards of the older one are there, as far as the newer one had room for them, seen as
    # often or more.
    seen = {_key_of(card): card.get("seen_count", 1) for card in new.memory["mistake_cards"]}
    unknown = math.inf if len(seen) >= limits.TRAINING_CARDS else 0
    rules_of = new.memory["task_rules"]
    return (
        bits >= _SAME_BITS_MIN
        and all(
            seen.get(_key_of(card), unknown) >= card.get("seen_count", 1)
            for card in old.memory["mistake_cards"]
        )
        and all(
            len(rules_of.get(task, ())) >= limits.TRAINING_RULES_PER_TASK
            or set(rules) <= set(rules_of.get(task, ()))
            for task, rules in old.memory["task_rules"].items()
        )
    )


def _bits(scores: list[float]) -> float:
    """How much it tells that scores are these, in this order, where how often each of them occurs
    is no news; no more than it takes to say where they change.
    """
    changes = sum(one != other for one, other in pairwise(scores))
    bits = sum(count * math.log2(len(scores) / count) for count in Counter(scores).values())
    return min(bits, changes * math.log2(len(scores))) if scores else 0.0


def _key_of(card: dict[str, Any]) -> str:
    """A worker, or a decision, may be whatever JSON can hold."""
    return json.dumps(shape.card_key(card), sort_keys=True)


# --- both ways ---


def _adopted_in(memory: Memory) -> Iterator[Adopted]:
    for record in memory.browse(kind="adopted"):
        if (
            isinstance(record, Adopted)
            and record.origin == TRAINING_MEMORY
            and record.metadata.validation.status != "archived"
        ):
            yield record


def _trusted(memory: Memory, records: Iterable[Any]) -> Iterator[Any]:
    rolled_back = {
        each.target
        for each in memory.care.decisions("rollback", limit=limits.SHOWN_MAX)
        if each.in_effect
    }
    return (
        record
        for record in records
        if record.metadata.validation.status != "archived"
        and record.metadata.source.author not in rolled_back
    )


def _what(record: Episode) -> _EpisodeKey:
    return record.at_us, record.task_id, record.score, record.steps


def _logged(entry: dict[str, Any]) -> _EpisodeKey:
    at_us = to_us(parse_time(entry["timestamp"]))
    return at_us, entry["task_id"], entry["score"], entry.get("steps", 0)


def _memory_of(episode: Episode) -> AgentMemory:
    log = {
        "timestamp": episode.metadata.context.timestamp.isoformat(),
        "task_id": episode.task_id,
        "score": episode.score,
        "steps": episode.steps,
        "summary": episode.trajectory_summary,
    }
    cards = [
        {
            "mistake_type": card.mistake_type,
            "task_id": card.task_id or episode.task_id,
            "worker_id": card.worker_id,
            "bad_decision": card.bad_decision,
            "correct_decision": card.correct_decision,
            "evidence": card.evidence,
            "lesson": card.lesson or shape.NO_LESSON,
        }
        for card in episode.mistake_cards
    ]
    return shape.memory_of_one(log, episode.mistakes, episode.successes, cards)
