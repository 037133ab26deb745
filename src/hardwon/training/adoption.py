"""A training memory's file comes into the shared memory (`adopt`), and one is made of what is there
(`export_agent_memory`).

The episodes of its log become records. What the file has only added up (rules, mistakes, cards with
their counts, scores older than the log) is kept as it is, in one record of kind `adopted`: it
suggests, and counts as one source's word. Ids are derived from what is adopted and whose it is, so
that the same file adds nothing the second time, wherever it lies, and nobody takes the place of
another by being first. A file that went on since takes the place of its earlier state.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, cast

from hardwon import limits
from hardwon.errors import InvalidInputError, PlaceError
from hardwon.lessons.adopted import TRAINING_MEMORY, LoggedEpisode, TrainingMemory
from hardwon.memory import Memory
from hardwon.memory.results import Loaded
from hardwon.outside import files
from hardwon.outside.locations import check_path
from hardwon.records.fields import check_that, derived_id, from_us, is_derived, parse_time, to_us
from hardwon.records.kinds import Adopted, AnyRecord, Episode, Metadata, Moment, Source
from hardwon.search.terms import Filters
from hardwon.store.query import readable
from hardwon.store.types import Progress
from hardwon.training import shape
from hardwon.training.merge import take_one
from hardwon.training.shape import MAX_EPISODES_STORED, AgentMemory
from hardwon.trust.redact import redact

# Where the logs have no episode in common, so many scores must differ to tell agents apart: any agent
# may have had the same one a hundred times.
_DIFFERING_SCORES_MIN: Final = 5
_MOMENT: Final = timedelta(microseconds=1)
# What a log tells of an episode, but for its summary, enough to know it again: when it was
# (microseconds), its task, its score and its steps.
_EpisodeKey = tuple[int, str, float, int]


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
    check_that(isinstance(memory, Memory), "memory", memory, "a Memory, as Memory(path) opens it")
    adopted, episodes = _read_records(source, author)
    state = _AdoptedState(adopted)
    # Of the same source: nobody's file takes the place of what another one says.
    is_known = memory.get(adopted.id) is not None
    states = [] if is_known else map(_AdoptedState, _find_adoptions(memory))
    known = [other for other in states if other.author == state.author]
    replaced = [other.id for other in known if _is_later(state, other)]
    is_stale = not replaced and any(_is_later(other, state) for other in known)
    records: list[AnyRecord] = [one for one in episodes if not _is_export(memory, one)]
    records += [] if is_stale else [adopted]
    loaded = memory.care.take_in(records, dry_run, author, progress)
    if not dry_run and memory.get(adopted.id):
        for earlier in replaced:
            reason = "a later state of the same training memory"
            memory.supersede(earlier, adopted.id, reason, author)
    passed_over = len(episodes) + 1 - len(records)
    return replace(loaded, read=loaded.read + passed_over, present=loaded.present + passed_over)


def tell_lessons(memory: AgentMemory, task: str | None = None) -> str:
    """What lessons of a training memory's episodes say before the next one, of a task or of all;
    empty where there are none.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder, "memory.json")
        path.write_bytes(shape.encode(memory))
        adopted, episodes = _read_records(path, TRAINING_MEMORY)
        with Memory(Path(folder, "lessons.db")) as lessons:
            lessons.care.take_in([*episodes, adopted], own=True)
            return str(lessons.context(task_id=task) if task else lessons.context())


def _is_export(memory: Memory, episode: Episode) -> bool:
    """Whether an episode of a file is the memory's own: then the file was exported from here."""
    at, task = episode.metadata.context.timestamp, episode.task_id
    same_moment = memory.browse(kind="episode", task_id=task, since=at, until=at + _MOMENT)
    return any(
        isinstance(own, Episode) and not is_derived(own.id) and _key(own) == _key(episode)
        for own in same_moment
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
    states = [_AdoptedState(record) for record in [*_find_adoptions(memory, trusted=True)][::-1]]
    kept = readable(memory._project.pages(Filters(kind="episode"), trusted=True))
    episodes = [episode for episode in kept if isinstance(episode, Episode)][::-1]
    own = [episode for episode in episodes if not is_derived(episode.id)]
    exported = states[0].restore(episodes) if states else shape.empty()
    for state in states[1:]:
        shape.add(exported, state.restore(episodes))
    known = {episode.id for state in states for episode in state.find_exports(own)}
    for episode in own:
        if episode.id not in known:
            shape.add(exported, _make_part(episode))
    del exported["episode_log"][:-MAX_EPISODES_STORED]
    shape.hide_secrets(exported)
    if target:
        target = files.target("path", target, memory.location, "memory.json")
        with files.writing_atomically(target) as file:
            file.write(json.dumps(exported, indent=2, ensure_ascii=False).encode())
    return exported


def _read_records(path: Path, author: str) -> tuple[Adopted, list[Episode]]:
    """What a file becomes: the record of all that it has added up, and the episodes of its log."""
    what, most = "a training memory", limits.TRAINING_FILE_BYTES_MAX
    content, written_us = files.read_object(path, most, what, allow_inf_nan=True)
    try:
        raw = {name: value for name, value in content.items() if value is not None}
        log = TrainingMemory.model_validate(raw).episode_log
        # no longer than a saved one ever is: what came before is in its counts
        newest = slice(-MAX_EPISODES_STORED, None)
        if log:
            raw["episode_log"] = raw["episode_log"][newest]
        source = Source(author=author)
        episodes = list(_make_episodes(log[newest], source))
        times = [episode.metadata.context.timestamp for episode in episodes]
        moment = Moment(timestamp=max(times, default=from_us(written_us)))
        data, metadata = _pack(raw), Metadata(source=source, context=moment)
        as_text = json.dumps(data, sort_keys=True)
        adopted_id = derived_id(TRAINING_MEMORY, "memory", source.author, as_text)
        adopted = Adopted(id=adopted_id, origin=TRAINING_MEMORY, data=data, metadata=metadata)
    except InvalidInputError as error:
        raise InvalidInputError(error.problems, path.name) from None
    return adopted, episodes


def _make_episodes(log: Iterable[LoggedEpisode], source: Source) -> Iterator[Episode]:
    seen: Counter[tuple[str, ...]] = Counter()
    for entry in log:
        summary = redact(entry.summary)[0]  # as it is kept, and comes back when it is exported
        at_us, score, steps = str(to_us(entry.timestamp)), repr(entry.score), str(entry.steps)
        what = (source.author, at_us, entry.task_id, score, steps, summary)
        seen[what] += 1  # told apart by their number: a coarse clock gives two the same time
        yield Episode(
            id=derived_id(TRAINING_MEMORY, "episode", *what, str(seen[what])),
            task_id=entry.task_id,
            score=_clamp(entry.score),
            steps=entry.steps,
            trajectory_summary=entry.summary,
            metadata=Metadata(source=source, context=Moment(timestamp=entry.timestamp)),
        )


def _pack(raw: dict[str, Any]) -> dict[str, Any]:
    """A file's dict as it is kept. Scores are one text a task, for there may be very many; the
    summaries of the log are in its episodes.
    """
    rest = deepcopy(raw)
    log, history = rest.pop("episode_log", []), rest.pop("score_history", {})
    scores = {task: " ".join(repr(float(one)) for one in some) for task, some in history.items()}
    for entry in log:
        entry.pop("summary", None)
    data = {"memory": rest, "scores": scores, "log": log}
    size = _count_bytes(data)
    if size > limits.RECORD_BYTES_MAX - limits.RECORD_BYTES_MAX // 64:  # its envelope needs some
        largest = max(raw, key=lambda name: _count_bytes(raw[name]))
        allowed = (
            f"at most {limits.RECORD_BYTES_MAX} bytes without the episode log; most of it is {largest!r}: shorten "
            "its texts, or keep the newest, in a copy of the file, and adopt that"
        )
        raise InvalidInputError.one(largest, f"{size} bytes", allowed)
    return data


def _count_bytes(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode())


class _AdoptedState:
    """A training memory as it was when it was adopted. `memory` is its dict, but for the summaries of
    the log.
    """

    def __init__(self, record: Adopted) -> None:
        self.id = record.id
        self.author = record.metadata.source.author
        data = record.data
        try:
            scores = {task: list(map(float, text.split())) for task, text in data["scores"].items()}
            unpacked = {**data["memory"], "score_history": scores, "episode_log": data["log"]}
            TrainingMemory.model_validate(unpacked)
        except (AttributeError, LookupError, TypeError, ValueError):
            unpacked = {}  # a file of records may hold anything
        self.memory: AgentMemory = {**shape.empty(), **deepcopy(unpacked)}
        self.log: list[dict[str, Any]] = self.memory["episode_log"]

    def restore(self, episodes: Iterable[Episode]) -> AgentMemory:
        """The dict with the summaries, and without the episodes that are not in the memory any more.
        They come oldest first.
        """
        summaries: dict[_EpisodeKey, list[str]] = {}
        for episode in episodes:
            if episode.metadata.source.author == self.author or not is_derived(episode.id):
                summaries.setdefault(_key(episode), []).append(episode.trajectory_summary)
        log = [
            {**entry, "summary": left.pop(0)}
            for entry in self.log
            if (left := summaries.get(_logged_key(entry)))
        ]
        return {**deepcopy(self.memory), "episode_log": log}

    def find_exports(self, own: Sequence[Episode]) -> list[Episode]:
        """Episodes of the memory's own that are in the file already, because it was exported from
        here: up to the last of those that are in its log.
        """
        logged = Counter(map(_logged_key, self.log))
        exported = [episode.at_us for episode in own if take_one(logged, _key(episode))]
        until_us = max(exported, default=-1)
        return [episode for episode in own if episode.at_us <= until_us]


def _is_later(new: _AdoptedState, old: _AdoptedState) -> bool:
    """Whether one is what became of the other: its log has the other's last episode. Where that may
    have left the log, the scores of the older one are those that the newer one begins with, and
    differ enough among themselves to tell agents apart.
    """
    if old.log and _logged_key(old.log[-1]) in map(_logged_key, new.log):
        return True
    if old.log and len(new.log) >= new.memory["total_episodes"]:
        return False
    history = new.memory["score_history"]
    known = old.memory["score_history"]
    return sum(len(set(scores)) for scores in known.values()) >= _DIFFERING_SCORES_MIN and all(
        history.get(task, [])[: len(scores)] == scores for task, scores in known.items()
    )


def _find_adoptions(memory: Memory, *, trusted: bool = False) -> Iterator[Adopted]:
    """Training memories that were adopted; `trusted`: of no source that was rolled back."""
    for record in readable(memory._project.pages(Filters(kind="adopted"), trusted=trusted)):
        is_ours = isinstance(record, Adopted) and record.origin == TRAINING_MEMORY
        if is_ours and record.metadata.validation.status != "archived":
            yield cast("Adopted", record)


def _key(record: Episode) -> _EpisodeKey:
    return record.at_us, record.task_id, record.score, record.steps


def _logged_key(entry: dict[str, Any]) -> _EpisodeKey:
    at_us = to_us(parse_time(entry["timestamp"]))
    return at_us, entry["task_id"], _clamp(entry["score"]), entry.get("steps", 0)


def _clamp(score: float) -> float:
    """A training memory takes penalties and scores of any scale; a record's are from 0 to 1."""
    return min(max(score, 0.0), 1.0)


def _make_part(episode: Episode) -> AgentMemory:
    """What training memory would have made of an episode."""
    log = {
        "timestamp": episode.metadata.context.timestamp.isoformat(),
        **episode.model_dump(include={"task_id", "score", "steps"}),
        "summary": episode.trajectory_summary,
    }
    usual = {"task_id": episode.task_id, "lesson": shape.NO_LESSON}
    cards = [
        {name: value or usual.get(name, value) for name, value in card.model_dump().items()}
        for card in episode.mistake_cards
    ]
    return shape.make_part(log, episode.mistakes, episode.successes, cards)
