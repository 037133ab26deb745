"""Training memory: a dict that lessons of past episodes are kept in, one JSON file that it is saved
to, and the text that the next prompt begins with.

`training.memory` is this module for scripts that import it: `hardwon drop-in install` writes a module
that leads here, and `drop_in/` has one. Keys, arithmetic and text are those of the training memory they
know; what differs is that nothing gets lost, and that what is wrong with an episode is a warning and
left out, unless `lenient=False` says that it raises: a training run must not die of it. The dict and
its bytes are `shape`, what may enter it `intake`, saving next to others `merge`, and the way into the
shared memory and back `adoption`.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from inspect import signature
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
from hardwon.lessons import prompts
from hardwon.memory import Clock as Clock
from hardwon.memory.consolidate import ask_for_rules
from hardwon.outside import files
from hardwon.outside.files import LockedFile, lock_file
from hardwon.outside.llm import ChatModel, Llm
from hardwon.outside.locations import check_path
from hardwon.records.fields import check_all, from_us, now
from hardwon.records.kinds import Episode, Metadata, Moment
from hardwon.text.clean import clean_line
from hardwon.training import shape
from hardwon.training.adoption import adopt as adopt
from hardwon.training.adoption import export_agent_memory as export_agent_memory
from hardwon.training.intake import EpisodeInput
from hardwon.training.merge import EpisodeLog, find_base, merge, replace_content, settle
from hardwon.training.shape import (
    AgentMemory,
    NoTrainingMemoryError,
    card_rank,
    decode,
    encode,
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

_KEYS: Final = shape.empty().keys() - {"last_consolidated_at"}
_EMPTY: Final = encode(shape.empty())
_OF_CONTENT: Final = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
Where = str | os.PathLike[str]

# Held while a memory is changed or saved: one for all of them, because copies share their lists. A
# process is not forked meanwhile, or the child would wait for ever for a thread it has not got.
_guard = threading.RLock()
os.register_at_fork(
    before=_guard.acquire, after_in_parent=_guard.release, after_in_child=_guard.release
)


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
    """A fresh memory. No file is looked at; saved over one that exists, it takes its place."""
    return {**shape.empty(), "episode_log": EpisodeLog([], {})}


def load_agent_memory(path: Where = DEFAULT_PATH, *, lenient: bool = True) -> AgentMemory:
    """The memory that is kept in the file, or a fresh one where there is none.

    A file that is no training memory is kept aside under a new name, with a warning, and the memory
    starts fresh. One that cannot be opened at all is a warning, and saving there will raise; without
    `lenient` this raises `PlaceError`.
    """
    place = _place(path)
    try:
        try:
            return _decode(files.read_replaced(place), place)
        except NoTrainingMemoryError:
            with _guard, lock_file(place) as held:
                # somebody else may have been faster, and saved a good one
                return _decode(_read_sound(held), place)
    except PlaceError as error:
        if not lenient:
            raise
        _warn(TrainingMemoryWarning, f"{error}. The memory starts fresh and cannot be saved there")
        return _decode(None, place)


def save_agent_memory(memory: AgentMemory, path: Where = DEFAULT_PATH) -> None:
    """Saves the memory. When this returns, it is on disk; when it raises, the file is as it was, the
    memory still has everything, and the next save tries again.

    Where the memory was loaded from this file, or saved there before, what others saved since is
    kept: what was recorded and changed in hand is added to it, and the memory is brought up to date
    in place. Any other memory takes the file's place. `MAX_RULES_PER_TASK` rules are kept of a task.
    """
    place = _place(path)
    with _guard, _using(memory):
        _check_memory(memory, fully=True)
        shape.hide_secrets(memory)
        with lock_file(place) as held:
            base = find_base(memory, str(place))
            current = _read_sound(held, base)
            saved = {**memory, "episode_log": memory["episode_log"][-MAX_EPISODES_STORED:]}
            if base is not None and current is not None and current != base:
                saved = merge(decode(base)[0], memory, decode(current)[0], MAX_RULES_PER_TASK)
                shape.hide_secrets(saved)  # of what others saved meanwhile
            content = encode(saved)
            if len(content) > limits.TRAINING_FILE_BYTES_MAX:
                raise FullError(
                    f"the training memory would be {len(content)} bytes, more than the "
                    f"{limits.TRAINING_FILE_BYTES_MAX} that {place} may have; the file is as it "
                    "was: take out what was put in by hand, or begin another file"
                )

            def settle_if_written() -> None:
                if held.read() == content:
                    settle(memory, saved, content, str(place))

            # Interrupted or refused in between: whether the file has it decides whether the next
            # save adds it.
            with on_failure(settle_if_written):
                held.write(content)
                settle(memory, saved, content, str(place))
    logger.debug("Saved training memory to %s", place)


def _place(path: Where) -> Path:
    place = Path(os.path.realpath(check_path("path", path)))
    # it would be kept aside as no training memory
    files.refuse_database("path", place, "agent_memory.json")
    return place


def _decode(content: bytes | None, place: Path) -> AgentMemory:
    """The memory that a file holds, as one that belongs to it; a fresh one where there is none."""
    memory, dropped = (shape.empty(), 0) if content is None else decode(content)
    shape.hide_secrets(memory)  # an earlier version, or somebody else, may have saved them
    if dropped:
        _warn(
            TrainingMemoryWarning,
            f"{place}: {dropped} scores are not finite numbers and were left out",
        )
    logger.info(
        "Loaded %d episodes, %d global rules", memory["total_episodes"], len(memory["global_rules"])
    )
    memory["episode_log"] = EpisodeLog(memory["episode_log"], {str(place): content or _EMPTY})
    return memory


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
            f"{held.path} could not be read as a training memory: {error}. It was kept as "
            f"{aside.name} in the same folder and "
            "the memory starts fresh. To have it back: repair that file, or take a backup, and "
            "give it the old name while no run uses it",
        )
        return None


def _check_memory(memory: Any, *, fully: bool = False) -> None:
    """A dict that callers made or changed by hand gets what it lacks; one that is no training
    memory is refused. Before each episode of a memory that was loaded, a glance is enough; what is
    saved must be what can be loaded.
    """
    is_loaded = isinstance(memory, dict) and isinstance(memory.get("episode_log"), EpisodeLog)
    if fully or not is_loaded or any(memory.get(name) is None for name in _KEYS):
        if problem := shape.find_problem(memory):
            raise _refusal(memory, problem)
        shape.upgrade(memory)


@contextmanager
def _using(memory: Any) -> Iterator[None]:
    """What callers put into a memory by hand fails where it is used: they are told of that."""
    try:
        yield
    except HardwonError:
        raise
    except _OF_CONTENT as error:
        raise _refusal(memory, shape.find_problem(memory) or repr(error)) from error


def _refusal(memory: Any, problem: str) -> InvalidInputError:
    return InvalidInputError.one(
        "memory", memory, f"a training memory, as new_agent_memory() makes it ({problem})"
    )


def _fill_in(memory: Any) -> AgentMemory:
    """Another that has all that the memory may lack: reading changes nothing."""
    if problem := shape.find_problem(memory):
        raise _refusal(memory, problem)
    return {**shape.empty(), **{name: value for name, value in memory.items() if value is not None}}


def _warn(category: type[TrainingMemoryWarning], message: str) -> None:
    """At the line of whoever called us, however deep we are."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__") == __name__:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


# --- an episode ---


def record_episode(
    memory: AgentMemory,
    episode_data: dict[str, Any],
    *,
    lenient: bool = True,
    clock: Clock | None = None,
) -> AgentMemory:
    """Records a completed episode into the memory, and returns the memory.

    `episode_data`: task_id, score (0 to 1), steps, trajectory_summary, mistakes, successes,
    mistake_cards; all may be absent. What is wrong with it is a warning: the wrong part is left out
    (without a score, all of it) and counted under `memory["skipped"]`. Without `lenient` it raises
    `InvalidInputError` and nothing is changed.
    """
    checked = EpisodeInput(episode_data, (clock or now)().isoformat())
    if checked.problems and not lenient:
        raise InvalidInputError(checked.problems)
    with _guard, _using(memory):
        _check_memory(memory)
        # what an episode changes are these lists and objects, and none inside of them
        before = {
            name: value.copy() if isinstance(value, list | dict) else value
            for name, value in memory.items()
        }
        # it is added whole or not at all
        with on_failure(partial(replace_content, memory, before)):
            shape.add(memory, checked.entry, MAX_RULES_PER_TASK)
    if checked.problems:
        _warn(SkippedWarning, "left out of an episode: " + "; ".join(map(str, checked.problems)))
    return memory


# --- the text for the next prompt ---


def build_memory_context(
    memory: AgentMemory, task_id: Any = None, max_rules: int = 5, max_recent: int = 3
) -> str:
    """What the memory has to say before the next episode, for the top of a system prompt; empty
    where it has nothing. A task may be a number; any number of items may be asked for.

    Each item is one line, whatever an episode said: line breaks, control, bidirectional and
    invisible characters are folded, so that no text makes a heading or an item of its own.
    """
    task_id = None if task_id is None else str(task_id)
    rules_max, recent_max = (
        max(0, min(int(number), limits.SHOWN_MAX)) for number in (max_rules, max_recent)
    )
    with _guard, _using(memory):
        memory = _fill_in(memory)
        lines = ["## MEMORY FROM PAST EPISODES"]
        if task_id:
            lines += _section(
                f"Rules for {task_id}:", _last(memory["task_rules"].get(task_id, []), rules_max)
            )
        lines += _section("General rules (all tasks):", _last(memory["global_rules"], rules_max))
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
            recent = [
                f"Score {episode.get('score', 0.0):.2f} in {episode.get('steps', 0)} steps: "
                f"{str(episode.get('summary', ''))[:100]}"
                for episode in memory["episode_log"]
                if episode.get("task_id") == task_id
            ]
            lines += _section(f"Recent {task_id} episodes:", _last(recent, recent_max))
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
) -> AgentMemory:
    """Every `CONSOLIDATION_EVERY` episodes, finds rules for all tasks and
    saves the memory; otherwise does nothing.

    With a model (`llm`, or the one that `api_key` or GROQ_API_KEY is for) the rules are its own,
    read from the last episodes; a function of a prompt, or of a system and a user message, is a
    model. Without one, or when it is of no use, they are the summaries of
    episodes with high scores.
    """
    check_all(api_key=api_key)
    with _guard, _using(memory):
        _check_memory(memory)
        total = memory["total_episodes"]
        if total - (memory["last_consolidated_at"] or 0) < CONSOLIDATION_EVERY:
            return memory
        episodes = [dict(episode) for episode in memory["episode_log"]]
    rules = _rules_of_model(episodes, api_key, llm)  # takes its time: others may record meanwhile
    with _guard, _using(memory):
        if rules is None:
            rules = [
                f"[HIGH SCORE {episode['score']:.2f}] {str(episode['summary'])[:120]}"
                for episode in memory["episode_log"]
                if episode.get("score", 0.0) >= shape.WORKS_FROM and episode.get("summary")
            ]
        most = 2 * MAX_RULES_PER_TASK
        memory["global_rules"][:] = shape.unite_texts(memory["global_rules"], rules, most)
        memory["last_consolidated_at"] = total
        logger.info("Consolidation: %d global rules", len(memory["global_rules"]))
    save_agent_memory(memory, path)
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
        rules = ask_for_rules(model, prompts.pick_episodes(shown), prompts.pick_good_rules)
        return [f"[CONSOLIDATED] {rule}" for rule in rules]
    except (LlmError, InvalidInputError) as error:
        _warn(
            ConsolidationWarning, f"the LLM was of no use, the rules were found without it: {error}"
        )
        return None


# --- in numbers ---


def memory_summary(memory: AgentMemory) -> dict[str, Any]:
    """What the memory holds, in numbers."""
    with _guard, _using(memory):
        memory = _fill_in(memory)
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
