"""Training memory: a dict that lessons of past episodes are kept in, one JSON file that it is saved
to, and the text that the next prompt begins with.

Scripts that say `from training.memory import …` keep working (see `drop_in/training/memory.py`).
Keys, arithmetic and text are those of the training memory they know; what differs is that nothing
gets lost. The dict and its bytes are `shape`, saving next to others is `history`.

`adopt` takes a training memory's file into the shared memory, and `export_agent_memory` makes one of
it. The episodes of its log become records. What the file has only added up (rules, mistakes, cards
with their counts, scores older than the log) is kept as it is, in one record of kind `adopted`: it
suggests, and counts as one source's word. Ids are derived from what is adopted and whose it is, so
that the same file adds nothing the second time, wherever it lies, and nobody takes the place of
another by being first. A file that went on since takes the place of its earlier state.
"""

from __future__ import annotations

import json
import logging
import math
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from inspect import signature
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

from hardwon import limits
from hardwon.errors import (
    FullError,
    HardwonError,
    InvalidInputError,
    LlmError,
    PlaceError,
    on_failure,
)
from hardwon.learn import prompts as distil
from hardwon.learn.support import TRAINING_MEMORY, LoggedEpisode, TrainingMemory
from hardwon.memory import Clock as Clock
from hardwon.memory import Memory
from hardwon.memory.consolidate import ask_for_rules
from hardwon.memory.results import Loaded
from hardwon.outside import files
from hardwon.outside.files import LockedFile, lock_file
from hardwon.outside.llm import ChatModel, Llm
from hardwon.outside.locations import check_path
from hardwon.records.fields import (
    check_all,
    check_that,
    check_whole_number,
    derived_id,
    from_us,
    is_derived,
    now,
    parse_time,
    to_us,
)
from hardwon.records.kinds import (
    Adopted,
    AnyRecord,
    Episode,
    Metadata,
    Moment,
    Source,
)
from hardwon.search.terms import Filters
from hardwon.store.query import readable
from hardwon.store.types import Progress
from hardwon.text.clean import clean_line
from hardwon.training import shape
from hardwon.training.history import (
    EMPTY,
    EpisodeLog,
    History,
    guard,
    history_of,
    plan,
    scores_of,
    settle,
    take_one,
)
from hardwon.training.shape import (
    AgentMemory,
    EpisodeInput,
    NoTrainingMemoryError,
    card_rank,
    decoded,
    encoded,
    score_total,
    whole,
)
from hardwon.trust.redact import redact

logger = logging.getLogger(__name__)

DEFAULT_PATH: Final = str(Path("outputs", "agent_memory.json"))
MAX_EPISODES_STORED: Final = limits.TRAINING_EPISODES_STORED
# These two are the caller's to change.
MAX_RULES_PER_TASK = limits.TRAINING_RULES_PER_TASK
CONSOLIDATION_EVERY = limits.CONSOLIDATE_EVERY_EPISODES

# whose frames a warning does not point at
_OURS: Final = (__name__, "hardwon.training.drop_in")
_KEYS: Final = shape.empty().keys() - {"last_consolidated_at"}
_OF_CONTENT: Final = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
Where = str | os.PathLike[str]

# What scores that agree must tell where the logs have no episode in common: less agrees by chance.
# A hundred times the same score tells nothing, for any agent may have had it; five that all differ
# tell this much, and so do ten of two sorts, mixed.
_SAME_BITS_MIN: Final = 9.0
_MOMENT: Final = timedelta(microseconds=1)


class TrainingMemoryWarning(UserWarning):
    """Something of a training memory is not as it should be, and the run goes on."""


class SkippedWarning(TrainingMemoryWarning):
    """A part of an episode, or all of it, was left out. `memory["skipped"]` counts them by
    field.
    """


class KeptAsideWarning(TrainingMemoryWarning):
    """A file could not be read as a training memory. It was kept under another name, which the
    message tells.
    """


class ConsolidationWarning(TrainingMemoryWarning):
    """A language model was of no use; the rules were found without it."""


# --- loading and saving ---


def new_agent_memory() -> AgentMemory:
    """A fresh memory. No file is looked at. Saved over one that exists, it adds to it what was
    recorded.
    """
    return _with_history(shape.empty(), History(EMPTY, 0))


def load_agent_memory(path: Where = DEFAULT_PATH, *, lenient: bool = False) -> AgentMemory:
    """The memory that is kept in the file, or a fresh one where there is none.

    A file that is no training memory is kept aside under a new name, with a warning, and the memory
    starts fresh. One that cannot be opened at all raises `PlaceError`; in lenient mode it warns,
    and saving there will raise.
    """
    place = _place(path)
    try:
        try:
            return _loaded(files.read_replaced(place), place)
        except NoTrainingMemoryError:
            with guard, lock_file(place) as held:
                # somebody else may have been faster, and saved a good one
                return _loaded(_current(held), place)
    except PlaceError as error:
        if not lenient:
            raise
        _warn(TrainingMemoryWarning, f"{error}. The memory starts fresh and cannot be saved there")
        return new_agent_memory()


def save_agent_memory(
    memory: AgentMemory, path: Where = DEFAULT_PATH, *, rules_max: int | None = None
) -> None:
    """Saves what was recorded. When this returns, it is on disk; when it raises, the file is as it
    was, the memory still has everything, and the next save tries again.

    What is in the file now is kept: the episodes recorded into this memory since it was loaded or
    saved are added to it, and the memory is brought up to date in place. `rules_max` are kept of a
    task (None: `MAX_RULES_PER_TASK`).
    """
    place = _place(path)
    with guard, _using(memory):
        _check_memory(memory, fully=True)
        shape.hide_secrets(memory)
        with lock_file(place) as held:
            base = history_of(memory).bases.get(str(place))
            planned, merged = plan(
                memory,
                str(place),
                _current(held, base.content if base else None),
                rules_max or MAX_RULES_PER_TASK,
            )
            if merged:
                shape.hide_secrets(planned)  # of what others saved meanwhile
            content = encoded(planned)
            if len(content) > limits.TRAINING_FILE_BYTES_MAX:
                raise FullError(
                    f"the training memory would be {len(content)} bytes, more than the "
                    f"{limits.TRAINING_FILE_BYTES_MAX} that "
                    f"{place} may have; the file is as it was: take out what was put in by hand, "
                    f"or begin another file"
                )

            def settle_if_written() -> None:
                if held.read() == content:
                    settle(memory, planned, merged, content, str(place))

            # Interrupted or refused in between: whether the file has it decides whether the next
            # save adds it.
            with on_failure(settle_if_written):
                held.write(content)
                settle(memory, planned, merged, content, str(place))
    logger.debug("Saved training memory to %s", place)


def _place(path: Where) -> Path:
    place = Path(os.path.realpath(check_path("path", path)))
    # it would be kept aside as no training memory
    files.refuse_database("path", place, "agent_memory.json")
    return place


def _with_history(memory: AgentMemory, history: History) -> AgentMemory:
    memory["episode_log"] = EpisodeLog(memory["episode_log"], history)
    return memory


def _loaded(content: bytes | None, place: Path) -> AgentMemory:
    if content is None:
        logger.info("No training memory at %s, starting fresh", place)
        return _with_history(shape.empty(), History(EMPTY, 0, str(place)))
    memory, dropped = decoded(content)
    shape.hide_secrets(memory)  # an earlier version, or somebody else, may have saved them
    if dropped:
        _warn(
            TrainingMemoryWarning,
            f"{place}: {dropped} scores are not finite numbers and were left out",
        )
    logger.info(
        "Loaded %d episodes, %d global rules", memory["total_episodes"], len(memory["global_rules"])
    )
    return _with_history(memory, History(content, memory["total_episodes"], str(place)))


def _current(held: LockedFile, known: bytes | None = None) -> bytes | None:
    """What the file holds. Where that cannot be read it is moved aside first, so that nothing
    overwrites it.
    """
    content = held.read()
    if content is None or content == known:
        return content
    try:
        decoded(content)
        return content
    except NoTrainingMemoryError as error:
        aside = held.set_aside()
        _warn(
            KeptAsideWarning,
            f"{held.path} could not be read as a training memory: {error}. It was kept as "
            f"{aside.name} in the same folder and "
            "the memory starts fresh. To have it back: repair that file, or take a backup, and "
            "give it the old name while no run uses it",
        )
        return None


def _check_memory(memory: Any, *, fully: bool = False) -> None:
    """A dict that callers made or changed by hand gets what it lacks; one that is no training
    memory is refused. Whose log is ours was made by us, and one look is enough before each episode;
    what is saved must be what can be loaded.
    """
    ours = isinstance(memory, dict) and isinstance(memory.get("episode_log"), EpisodeLog)
    if problem := shape.shape_problem(memory) if ours and not fully else shape.problem_of(memory):
        raise _no_memory(memory, problem)
    if (
        not ours
        or any(memory.get(name) is None for name in _KEYS)
        or any(memory.get(name, ()) is None for name in shape.OPTIONAL)
    ):
        shape.upgrade(memory)


@contextmanager
def _using(memory: Any) -> Iterator[None]:
    """What callers put into a memory by hand fails where it is used: they are told of that."""
    try:
        yield
    except HardwonError:
        raise
    except _OF_CONTENT as error:
        raise _no_memory(memory, shape.problem_of(memory) or repr(error)) from error


def _no_memory(memory: Any, problem: str) -> InvalidInputError:
    return InvalidInputError.one(
        "memory", memory, f"a training memory, as new_agent_memory() makes it ({problem})"
    )


def _readable(memory: Any) -> AgentMemory:
    """Another that has all that the memory may lack: reading changes nothing."""
    if problem := shape.shape_problem(memory):
        raise _no_memory(memory, problem)
    return {**shape.empty(), **{name: value for name, value in memory.items() if value is not None}}


def _warn(category: type[TrainingMemoryWarning], message: str) -> None:
    """At the line of whoever called us, however deep we are."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "") in _OURS:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


# --- an episode ---


def record_episode(
    memory: AgentMemory,
    episode_data: dict[str, Any],
    *,
    lenient: bool = False,
    clock: Clock | None = None,
    rules_max: int | None = None,
) -> AgentMemory:
    """Records a completed episode into the memory, and returns the memory.

    `episode_data`: task_id, score (0 to 1), steps, trajectory_summary, mistakes, successes,
    mistake_cards; all may be absent. What is wrong with it raises `InvalidInputError` and nothing
    is changed. In lenient mode it is a warning: the wrong part is left out (without a score, all of
    it) and counted under `memory["skipped"]`.
    """
    checked = EpisodeInput(episode_data, (clock or now)().isoformat())
    if checked.problems and not lenient:
        raise InvalidInputError(checked.problems)
    with guard, _using(memory):
        _check_memory(memory)
        history = history_of(memory)
        history.fill_in(memory)
        before = shape.snapshot(memory)
        try:
            shape.add(memory, checked.entry, rules_max or MAX_RULES_PER_TASK)
            history.look_at(memory)
            history.append(checked.entry)
        finally:
            if not history.has_last(checked.entry):  # it is added whole or not at all
                shape.restore(memory, before)
    if checked.problems:
        _warn(SkippedWarning, "left out of an episode: " + "; ".join(map(str, checked.problems)))
    return memory


# --- the text for the next prompt ---


def build_memory_context(
    memory: AgentMemory, task_id: str | None = None, max_rules: int = 5, max_recent: int = 3
) -> str:
    """What the memory has to say before the next episode, for the top of a system prompt; empty
    where it has nothing.

    Each item is one line, whatever an episode said: line breaks, control, bidirectional and
    invisible characters are folded, so that no text makes a heading or an item of its own.
    """
    check_all(task_id=task_id)
    check_whole_number("max_rules", max_rules, 0, limits.SHOWN_MAX)
    check_whole_number("max_recent", max_recent, 0, limits.SHOWN_MAX)
    with guard, _using(memory):
        memory = _readable(memory)
        lines = ["## MEMORY FROM PAST EPISODES"]
        if task_id:
            lines += _section(
                f"Rules for {task_id}:", _last(memory["task_rules"].get(task_id, []), max_rules)
            )
        lines += _section("General rules (all tasks):", _last(memory["global_rules"], max_rules))
        lines += _section(
            "Mistakes to avoid:", [f"AVOID: {mistake}" for mistake in memory["mistakes"][-3:]]
        )
        lines += _section(
            "Structured mistake cards:",
            [
                f"[{card.get('mistake_type', 'mistake')}, seen "
                f"{whole(card.get('seen_count'), 1)}x] "
                f"{card.get('lesson', '')} Evidence: {card.get('evidence', '')}"
                for card in _best_cards(memory, 3)
            ],
        )
        if task_id:
            own = (
                each for each in reversed(memory["episode_log"]) if each.get("task_id") == task_id
            )
            recent = [
                f"Score {episode.get('score', 0.0):.2f} in {episode.get('steps', 0)} steps: "
                f"{str(episode.get('summary', ''))[:100]}"
                for episode in islice(own, max_recent)
            ]
            lines += _section(f"Recent {task_id} episodes:", reversed(recent))
            total, count = score_total(memory, task_id)
            if count:
                mean = f"Your mean score on {task_id}: {total / count:.2f} (over {count} episodes)"
                lines.append("\n" + _one_line(mean))
    return "\n".join(lines) if len(lines) > 1 else ""


def _best_cards(memory: AgentMemory, most: int) -> list[dict[str, Any]]:
    return sorted(memory["mistake_cards"], key=card_rank, reverse=True)[:most]


def _last(items: list[Any], count: int) -> list[Any]:
    return items[-count:] if count else []


def _section(heading: str, items: Any) -> list[str]:
    shown = [f"  - {_one_line(str(item))}" for item in items]
    return ["\n" + _one_line(heading), *shown] if shown else []


def _one_line(text: str) -> str:
    """The text itself where there is nothing to fold but blanks."""
    cleaned = clean_line(text, limits.CONTEXT_LINE_CHARS_MAX)
    return text if text.isprintable() and cleaned == " ".join(text.split()) else cleaned


# --- consolidation ---


def maybe_consolidate_memory(
    memory: AgentMemory,
    api_key: str | None = None,
    path: Where = DEFAULT_PATH,
    *,
    llm: Llm | Callable[..., str] | None = None,
    every: int | None = None,
    rules_max: int | None = None,
) -> AgentMemory:
    """Every so many episodes (`every`, or `CONSOLIDATION_EVERY`), finds rules for all tasks and
    saves the memory; otherwise does nothing.

    With a model (`llm`, or the one that `api_key` or GROQ_API_KEY is for) the rules are its own,
    read from the last episodes; a function of a prompt, or of a system and a user message, is a
    model. Without one, or when it is of no use, they are the summaries of
    episodes with high scores.
    """
    check_all(api_key=api_key)
    with guard, _using(memory):
        _check_memory(memory)
        total = memory["total_episodes"]
        if total - (memory["last_consolidated_at"] or 0) < (every or CONSOLIDATION_EVERY):
            return memory
        episodes = [dict(episode) for episode in memory["episode_log"]]
    rules = _rules_of_model(episodes, api_key, llm)  # takes its time: others may record meanwhile
    with guard, _using(memory):
        if rules is None:
            rules = [
                f"[HIGH SCORE {episode['score']:.2f}] {str(episode['summary'])[:120]}"
                for episode in memory["episode_log"]
                if episode.get("score", 0.0) >= shape.WORKS_FROM and episode.get("summary")
            ]
        together: list[Any] = []
        most = 2 * (rules_max or MAX_RULES_PER_TASK)
        shape.add_texts(together, [*memory["global_rules"], *rules], most)
        memory["global_rules"][:] = together
        memory["last_consolidated_at"] = total
        history_of(memory).look_at(memory)
        logger.info("Consolidation: %d global rules", len(memory["global_rules"]))
    save_agent_memory(memory, path, rules_max=rules_max)
    return memory


class _FunctionModel(NamedTuple):
    """A function as a model."""

    ask: Callable[..., str]

    def complete(self, system: str, user: str) -> str:
        takes_both = len(signature(self.ask).parameters) > 1
        return self.ask(system, user) if takes_both else self.ask(f"{system}\n\n{user}")


def _rules_of_model(
    episodes: list[dict[str, Any]], api_key: str | None, llm: Llm | Callable[..., str] | None
) -> list[str] | None:
    """Rules in a model's words; None where there is no model, or it is of no use."""
    try:
        key = api_key or os.environ.get("GROQ_API_KEY", "")
        model = llm if llm is None or hasattr(llm, "complete") else _FunctionModel(llm)
        if model is None and key.strip():
            model = ChatModel.from_environment({**os.environ, "GROQ_API_KEY": key})
        shown = []
        for number, logged in enumerate(episodes):
            with suppress(HardwonError):  # one that no record can hold
                shown.append(
                    Episode(
                        task_id=logged.get("task_id", "unknown"),
                        score=logged.get("score", 0.0),
                        trajectory_summary=redact(str(logged.get("summary", "")))[0],
                        # in the order of the log
                        metadata=Metadata(context=Moment(timestamp=from_us(number))),
                    )
                )
        if model is None or not shown:
            return None
        rules = ask_for_rules(model, distil.fitting(shown), distil.good_rules_from)
        return [f"[CONSOLIDATED] {rule}" for rule in rules]
    except (LlmError, InvalidInputError) as error:
        _warn(
            ConsolidationWarning, f"the LLM was of no use, the rules were found without it: {error}"
        )
        return None


# --- in numbers ---


def memory_summary(memory: AgentMemory) -> dict[str, Any]:
    """What the memory holds, in numbers."""
    with guard, _using(memory):
        memory = _readable(memory)
        totals = {task: score_total(memory, task) for task in memory["score_history"]}
        return {
            "total_episodes": memory["total_episodes"],
            "global_rules": len(memory["global_rules"]),
            "task_rules": {task: len(rules) for task, rules in memory["task_rules"].items()},
            "mistakes_stored": len(memory["mistakes"]),
            "mistake_cards_stored": len(memory["mistake_cards"]),
            "top_mistake_cards": [
                {
                    "mistake_type": card.get("mistake_type"),
                    "task_id": card.get("task_id"),
                    "seen_count": card.get("seen_count", 0),
                }
                for card in _best_cards(memory, 5)
            ],
            "scores_by_task": {
                task: round(total / count, 3) for task, (total, count) in totals.items() if count
            },
        }


# --- into the shared memory, and back ---


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
    states = [_AdoptedState(each) for each in [*_adopted_in(memory, trusted=True)][::-1]]
    kept = readable(memory._project.pages(Filters(kind="episode"), trusted=True))
    episodes = [each for each in kept if isinstance(each, Episode)][::-1]
    own = [episode for episode in episodes if not is_derived(episode.id)]
    exported = states[0].whole(episodes) if states else shape.empty()
    for state in states[1:]:
        shape.add(exported, state.whole(episodes))
    known = {episode.id for state in states for episode in state.exported_from(own)}
    for episode in own:
        if episode.id not in known:
            shape.add(exported, _memory_of(episode))
    del exported["episode_log"][: -limits.TRAINING_EPISODES_STORED]
    shape.hide_secrets(exported)
    if target:
        target = files.target("path", target, memory.location, "memory.json")
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
        episodes = list(_episodes(checked.episode_log[-limits.TRAINING_EPISODES_STORED :], source))
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
        raise InvalidInputError.one(
            largest,
            f"{size} bytes",
            f"at most {limits.RECORD_BYTES_MAX} bytes without the episode log; most of it is "
            f"{largest!r}: shorten its texts, "
            "or keep the newest, in a copy of the file, and adopt that",
        )
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
        # How much it tells that they are these, in this order, where how often each of them occurs
        # is no news; no more than it takes to say where they change.
        scores = before.items[len(before.items) - len(now.common(before)) :]
        changes = sum(one != other for one, other in pairwise(scores))
        told = sum(count * math.log2(len(scores) / count) for count in Counter(scores).values())
        bits += min(told, changes * math.log2(len(scores) or 1))
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


def _key_of(card: dict[str, Any]) -> str:
    """A worker, or a decision, may be whatever JSON can hold."""
    return json.dumps(shape.card_key(card), sort_keys=True)


# --- both ways ---


def _adopted_in(memory: Memory, *, trusted: bool = False) -> Iterator[Adopted]:
    """Training memories that were adopted; `trusted`: of no source that was rolled back."""
    for record in readable(memory._project.pages(Filters(kind="adopted"), trusted=trusted)):
        if (
            isinstance(record, Adopted)
            and record.origin == TRAINING_MEMORY
            and record.metadata.validation.status != "archived"
        ):
            yield record


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
