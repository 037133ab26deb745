"""Training memory: a dict that lessons of past episodes are kept in, one JSON file that it is saved
to, and the text that the next prompt begins with.

`training.memory` is this module for scripts that import it: `hardwon drop-in install` writes a module
that leads here, and `drop_in/` has one. Keys, arithmetic and text are those of the training memory they
know; what differs is that nothing gets lost, and that what cannot be kept of an episode or a file is
named in a warning: a training run must not die of it. The dict and its bytes are `shape`, what may
enter it `intake`, saving next to others `merge`, and the way into the shared memory and back `adoption`.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from hardwon import limits
from hardwon.errors import FullError, HardwonError, InvalidInputError, PlaceError, on_failure
from hardwon.lessons import prompts
from hardwon.memory import Clock as Clock
from hardwon.memory.consolidate import ask_for_rules
from hardwon.outside import files
from hardwon.outside.files import LockedFile, lock_file
from hardwon.outside.llm import ChatModel
from hardwon.outside.locations import check_path
from hardwon.records.fields import check_all, from_us, now
from hardwon.records.kinds import Episode, Metadata, Moment
from hardwon.text.clean import clean_line
from hardwon.training import shape
from hardwon.training.adoption import adopt as adopt
from hardwon.training.adoption import export_agent_memory as export_agent_memory
from hardwon.training.adoption import tell_lessons
from hardwon.training.intake import EpisodeInput, name_task
from hardwon.training.merge import EpisodeLog, find_base, merge, replace_content, settle
from hardwon.training.shape import AgentMemory, NoTrainingMemoryError, decode, encode
from hardwon.trust.redact import redact

logger = logging.getLogger(__name__)

DEFAULT_PATH: Final = str(Path("outputs", "agent_memory.json"))
# These three are the caller's to change.
MAX_EPISODES_STORED = shape.MAX_EPISODES_STORED
MAX_RULES_PER_TASK = shape.MAX_RULES_PER_TASK
CONSOLIDATION_EVERY = 20

_NAMED_MAX: Final = 5  # places that a warning names
# what goes wrong where a caller's dict is no training memory
_ODD: Final = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
_KEYS: Final = shape.empty().keys() - {"last_consolidated_at"}
_EMPTY: Final = encode(shape.empty())
Where = str | os.PathLike[str]

# Held while a memory is changed or saved: one for all of them, because copies share their lists. A
# process is not forked meanwhile, or the child would wait for ever for a thread it has not got.
_guard = threading.RLock()
_release = _guard.release
os.register_at_fork(before=_guard.acquire, after_in_parent=_release, after_in_child=_release)


class TrainingMemoryWarning(UserWarning):
    """Something of a training memory is not as it should be, and the run goes on."""


class SkippedWarning(TrainingMemoryWarning):
    """A part of an episode or of a file could not be kept. The message names it."""


class KeptAsideWarning(TrainingMemoryWarning):
    """A file could not be read as a training memory. It was kept under another name, which the
    message tells.
    """


class ConsolidationWarning(TrainingMemoryWarning):
    """A language model was of no use; the rules were found without it."""


_empty_memory = shape.empty


def new_agent_memory() -> AgentMemory:
    """A fresh memory. No file is looked at; saved over one that exists, it takes its place."""
    return {**shape.empty(), "episode_log": EpisodeLog([], {})}


def load_agent_memory(path: Where = DEFAULT_PATH) -> AgentMemory:
    """The memory that is kept in the file, or a fresh one where there is none.

    What the file says and no training memory can hold is left out, with a warning that names it. A
    file that is no JSON object is kept aside under a new name, with a warning, and the memory starts
    fresh. One that cannot be opened at all is a warning, and saving there will raise.
    """
    place = _check_place(path)
    try:
        try:
            return _decode(files.read_current(place), place)
        except NoTrainingMemoryError:
            with _guard, lock_file(place) as held:
                # somebody else may have been faster, and saved a good one
                return _decode(_read_sound(held), place)
    except PlaceError as error:
        _warn(TrainingMemoryWarning, f"{error}. The memory starts fresh and cannot be saved there")
        return _decode(None, place)


def save_agent_memory(memory: AgentMemory, path: Where = DEFAULT_PATH) -> None:
    """Saves the memory. When this returns, it is on disk; when it raises, the file is as it was, the
    memory still has everything, and the next save tries again.

    Where the memory was loaded from this file, or saved there before, what others saved since is
    kept: what was recorded and changed in hand is added to it, and the memory is brought up to date
    in place. Any other memory takes the file's place. `MAX_RULES_PER_TASK` rules are kept of a task.
    """
    place = _check_place(path)
    with _using(memory):
        _mend(memory, fully=True)
        shape.hide_secrets(memory)
        with lock_file(place) as held:
            base = find_base(memory, str(place))
            current = _read_sound(held, base)
            saved = {**memory, "episode_log": memory["episode_log"][-MAX_EPISODES_STORED:]}
            if base is not None and current is not None and current != base:
                others = decode(current)[0]
                bounds = (MAX_RULES_PER_TASK, MAX_EPISODES_STORED)
                saved = merge(decode(base)[0], memory, others, *bounds)
                shape.hide_secrets(saved)  # of what others saved meanwhile
            content = encode(saved)
            if len(content) > limits.TRAINING_FILE_BYTES_MAX:
                much = f"{len(content)} bytes, more than the {limits.TRAINING_FILE_BYTES_MAX}"
                raise FullError(
                    f"the training memory would be {much} that {place} may have; the file is as it "
                    "was: take out what was put in by hand, or begin another file"
                )

            def settle_after_writing() -> None:
                if held.read() == content:
                    settle(memory, saved, content, str(place))

            # Interrupted or refused in between: whether the file has it decides whether the next
            # save adds it.
            with on_failure(settle_after_writing):
                held.write(content)
                settle(memory, saved, content, str(place))
    logger.debug("Saved training memory to %s", place)


def _check_place(path: Where) -> Path:
    place = Path(os.path.realpath(check_path("path", path)))
    # it would be kept aside as no training memory
    files.refuse_database("path", place, "agent_memory.json")
    return place


def _decode(content: bytes | None, place: Path) -> AgentMemory:
    """The memory that a file holds, as one that belongs to it; a fresh one where there is none."""
    memory, left_out = (shape.empty(), list[str]()) if content is None else decode(content)
    shape.hide_secrets(memory)  # an earlier version, or somebody else, may have saved them
    _tell_left_out(str(place), left_out)
    counts = memory["total_episodes"], len(memory["global_rules"])
    logger.info("Loaded %d episodes, %d global rules", *counts)
    memory["episode_log"] = EpisodeLog(memory["episode_log"], {str(place): content or _EMPTY})
    return memory


def _tell_left_out(where: str, places: Sequence[str]) -> None:
    if places:
        shown = ", ".join(places[:_NAMED_MAX]) + (" and others" if places[_NAMED_MAX:] else "")
        _warn(SkippedWarning, f"{where}: left out, for no training memory can hold it: {shown}")


def _read_sound(held: LockedFile, known: bytes | None = None) -> bytes | None:
    """What the file holds; None where there is none. One that is no training memory is moved aside
    first, so that nothing overwrites it. `known`: this can be read.
    """
    content = held.read()
    if content is None or content == known:
        return content
    try:
        decode(content)
        return content
    except NoTrainingMemoryError as error:
        aside = held.set_aside()
        _warn(
            KeptAsideWarning,
            f"{held.path} could not be read as a training memory: {error}. It was kept as {aside.name} in the same "
            "folder and the memory starts fresh. To have it back: repair that file, or take a backup, and give it "
            "the old name while no run uses it",
        )
        return None


def _mend(memory: Any, *, fully: bool = False) -> None:
    """A dict that callers made or changed by hand gets what it lacks. Before each episode of a memory
    that was loaded, a glance is enough; what is saved must be what can be loaded.
    """
    is_loaded = isinstance(memory, dict) and isinstance(memory.get("episode_log"), EpisodeLog)
    if fully or not is_loaded or any(memory.get(name) is None for name in _KEYS):
        _tell_left_out("the memory", shape.mend(memory))


@contextmanager
def _using(memory: Any) -> Iterator[None]:
    """Alone with a memory. What callers put into it by hand fails where it is used: they are told."""
    with _guard:
        try:
            yield
        except HardwonError:
            raise
        except _ODD as error:
            allowed = f"a training memory, as new_agent_memory() makes it ({error!r})"
            raise InvalidInputError.one("memory", memory, allowed) from error


def _copy(memory: Any) -> AgentMemory:
    """Another that has all that the memory may lack: reading changes nothing."""
    copied = dict(memory.items())
    for name, value in copied.items():
        if isinstance(value, list | dict) and not isinstance(value, EpisodeLog):
            copied[name] = value.copy()
    _mend(copied)
    return copied


def _warn(category: type[TrainingMemoryWarning], message: str) -> None:
    """At the line of whoever called us, however deep we are."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__") == __name__:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def record_episode(
    memory: AgentMemory, episode_data: dict[str, Any], *, clock: Clock = now
) -> AgentMemory:
    """Records a completed episode into the memory, and returns the memory.

    `episode_data`: task_id, score, steps, trajectory_summary, mistakes, successes, mistake_cards;
    all may be absent. What of it cannot be kept is left out, with a warning that names it; where
    that is the score, its lessons are kept.
    """
    episode = EpisodeInput(episode_data, clock().isoformat())
    with _using(memory):
        _mend(memory)
        # what an episode changes are these lists and objects, and none inside of them
        before = {
            name: value.copy() if isinstance(value, list | dict) else value
            for name, value in memory.items()
        }
        # it is added whole or not at all
        with on_failure(partial(replace_content, memory, before)):
            if log := episode.log:
                task, score = log["task_id"], log["score"]
                part = shape.make_part(log, episode.mistakes, episode.successes)
                shape.add(memory, {**part, "task_rules": {}}, MAX_RULES_PER_TASK)
                for card in episode.cards:
                    _record_mistake_card(memory, card, task)
                lessons = {"mistakes": episode.mistakes, "successes": episode.successes}
                if score is not None:
                    _update_rules_from_episode(memory, task, score, lessons)
    if episode.problems:
        _warn(SkippedWarning, "left out of an episode: " + "; ".join(map(str, episode.problems)))
    return memory


def _record_mistake_card(memory: AgentMemory, card: Any, task_id: str) -> None:
    """Counts a mistake card of the last episode."""
    cards = EpisodeInput({"task_id": task_id, "mistake_cards": [card]}).cards
    part = shape.make_part({"task_id": task_id, "score": None}, cards=cards)
    shape.add_cards(memory, part["mistake_cards"], memory["total_episodes"] - 1)


def _update_rules_from_episode(
    memory: AgentMemory, task_id: str, score: float, episode_data: dict[str, Any]
) -> None:
    """Adds what an episode with this score lays down to the rules of its task."""
    lessons = (episode_data.get(name) or () for name in ("mistakes", "successes"))
    rules = shape.make_rules(score, *lessons)
    shape.add_rules(memory, task_id, rules, MAX_RULES_PER_TASK)


def build_memory_context(
    memory: AgentMemory, task_id: Any = None, max_rules: int = 5, max_recent: int = 3
) -> str:
    """What the memory has to say before the next episode, for the top of a system prompt; empty
    where it has nothing. A task may be a number; any number of items may be asked for.

    Each item is one line, whatever an episode said: line breaks, control, bidirectional and
    invisible characters are folded, so that no text makes a heading or an item of its own.
    HARDWON_LESSONS=1 in the environment: it is what lessons of these episodes say instead.
    """
    task = "" if task_id is None else str(task_id)
    if os.environ.get("HARDWON_LESSONS") == "1":
        with _using(memory):
            return tell_lessons(_copy(memory), name_task(task) if task else None)
    rules_max, recent_max = (
        max(0, min(int(number), limits.SHOWN_MAX)) for number in (max_rules, max_recent)
    )
    with _using(memory):
        memory = _copy(memory)
        if task and task not in memory["score_history"]:
            task = name_task(task)
        rules = memory["task_rules"].get(task, []) if task else []
        same = [one for one in memory["episode_log"] if task and one.get("task_id") == task]
        sections = {
            f"Rules for {task}:": _last(rules, rules_max),
            "General rules (all tasks):": _last(memory["global_rules"], rules_max),
            "Mistakes to avoid:": [f"AVOID: {mistake}" for mistake in memory["mistakes"][-3:]],
            "Structured mistake cards:": [
                f"[{card.get('mistake_type', 'mistake')}, seen {shape.whole(card.get('seen_count'), 1)}x] "
                f"{card.get('lesson', '')} Evidence: {card.get('evidence', '')}"
                for card in _best_cards(memory, 3)
            ],
            f"Recent {task} episodes:": [
                f"Score {episode.get('score', 0.0):.2f} in {episode.get('steps', 0)} steps: "
                f"{str(episode.get('summary', ''))[:100]}"
                for episode in _last(same, recent_max)
            ],
        }
        lines = ["## MEMORY FROM PAST EPISODES"]
        for heading, items in sections.items():
            lines += ["\n" + _one_line(heading)] if items else []
            lines += [f"  - {_one_line(str(item))}" for item in items]
        if task and (scores := memory["score_history"].get(task)):
            mean, count = sum(scores) / len(scores), len(scores)
            text = f"Your mean score on {task}: {mean:.2f} (over {count} episodes)"
            lines.append("\n" + _one_line(text))
    return "\n".join(lines) if len(lines) > 1 else ""


def _best_cards(memory: AgentMemory, most: int) -> list[dict[str, Any]]:
    return sorted(memory["mistake_cards"], key=shape.card_rank, reverse=True)[:most]


def _last(items: list[Any], count: int) -> list[Any]:
    return items[-count:] if count else []


def _one_line(text: str) -> str:
    """The text itself where there is nothing to fold but blanks."""
    cleaned = clean_line(text, limits.CONTEXT_LINE_CHARS_MAX)
    return text if text.isprintable() and cleaned == " ".join(text.split()) else cleaned


def maybe_consolidate_memory(
    memory: AgentMemory, api_key: str | None = None, path: Where = DEFAULT_PATH
) -> AgentMemory:
    """Every `CONSOLIDATION_EVERY` episodes, finds rules for all tasks and saves the memory; otherwise
    does nothing. With a key (`api_key`, or GROQ_API_KEY) a model is asked for them; without one, or
    when it is of no use, they are the summaries of episodes with high scores.
    """
    check_all(api_key=api_key)
    with _using(memory):
        _mend(memory)
        total = memory["total_episodes"]
        if total - (memory["last_consolidated_at"] or 0) < CONSOLIDATION_EVERY:
            return memory
    key = (api_key or os.environ.get("GROQ_API_KEY", "")).strip()
    memory = _llm_consolidate(memory, key) if key else _heuristic_consolidate(memory)
    memory["last_consolidated_at"] = total
    save_agent_memory(memory, path)
    return memory


def _heuristic_consolidate(memory: AgentMemory) -> AgentMemory:
    """Summaries of episodes with high scores become rules for all tasks."""
    with _using(memory):
        rules = [
            f"[HIGH SCORE {episode['score']:.2f}] {str(episode['summary'])[:120]}"
            for episode in memory["episode_log"]
            if episode.get("score", 0.0) >= shape.WORKS_FROM and episode.get("summary")
        ]
        return _add_rules(memory, rules)


def _llm_consolidate(memory: AgentMemory, api_key: str) -> AgentMemory:
    """A model's rules from the last episodes, for all tasks; without it where it is of no use."""
    with _using(memory):
        log = [dict(episode) for episode in memory["episode_log"]]
    episodes = []
    for number, logged in enumerate(log):
        with suppress(HardwonError):  # one that no record can hold
            episode = Episode(
                task_id=logged.get("task_id", "unknown"),
                score=min(max(float(logged.get("score", 0.0)), 0.0), 1.0),
                trajectory_summary=redact(str(logged.get("summary", "")))[0],
                # in the order of the log
                metadata=Metadata(context=Moment(timestamp=from_us(number))),
            )
            episodes.append(episode)
    try:  # it takes its time: others may record meanwhile
        model = ChatModel.from_environment({**os.environ, "GROQ_API_KEY": api_key})
        if model is None or not episodes:
            return _heuristic_consolidate(memory)
        rules = ask_for_rules(model, prompts.pick_episodes(episodes), prompts.pick_good_rules)
    except HardwonError as error:
        text = f"the LLM was of no use, the rules were found without it: {error}"
        _warn(ConsolidationWarning, text)
        return _heuristic_consolidate(memory)
    with _using(memory):
        return _add_rules(memory, [f"[CONSOLIDATED] {rule}" for rule in rules])


def _add_rules(memory: AgentMemory, rules: list[str]) -> AgentMemory:
    most = 2 * MAX_RULES_PER_TASK
    memory["global_rules"][:] = shape.unite_texts(memory["global_rules"], rules, most)
    logger.info("Consolidation: %d global rules", len(memory["global_rules"]))
    return memory


def memory_summary(memory: AgentMemory) -> dict[str, Any]:
    """What the memory holds, in numbers."""
    with _using(memory):
        memory = _copy(memory)
        shown = {"mistake_type": None, "task_id": None, "seen_count": 0}
        histories = memory["score_history"].items()
        return {
            "total_episodes": memory["total_episodes"],
            "global_rules": len(memory["global_rules"]),
            "task_rules": {task: len(rules) for task, rules in memory["task_rules"].items()},
            "mistakes_stored": len(memory["mistakes"]),
            "mistake_cards_stored": len(memory["mistake_cards"]),
            "top_mistake_cards": [
                {name: card.get(name, otherwise) for name, otherwise in shown.items()}
                for card in _best_cards(memory, 5)
            ],
            "scores_by_task": {
                task: round(sum(scores) / len(scores), 3) for task, scores in histories if scores
            },
        }
