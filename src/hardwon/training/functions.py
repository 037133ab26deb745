"""Training memory: a dict that lessons of past episodes are kept in, one JSON file that it is saved
to, and the text that the next prompt begins with.

Scripts that say `from training.memory import …` keep working (see `drop_in/training/memory.py`).
Keys, arithmetic and text are those of the training memory they know; what differs is that nothing
gets lost. The dict and its bytes are `shape`, saving next to others is `history`; into the shared
memory and back is `adopt`.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, Final

from hardwon import limits
from hardwon.errors import FullError, HardwonError, InvalidInputError, LlmError, PlaceError
from hardwon.learn import prompts as distil
from hardwon.memory import Clock as Clock
from hardwon.memory.consolidate import ask_for_rules
from hardwon.outside import own_files
from hardwon.outside.llm import ChatModel, Llm
from hardwon.outside.locations import check_path
from hardwon.outside.locks import LockedFile, lock_file, read
from hardwon.records.fields import check_texts, check_whole_number, from_us, now
from hardwon.records.kinds import Episode, Metadata, Moment
from hardwon.text.clean import clean_line
from hardwon.training import shape
from hardwon.training.adopt import adopt as adopt
from hardwon.training.adopt import export_agent_memory as export_agent_memory
from hardwon.training.history import (
    EMPTY,
    EpisodeLog,
    History,
    guard,
    history_of,
    plan,
    settle,
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
MAX_RULES_PER_TASK: Final = limits.TRAINING_RULES_PER_TASK
CONSOLIDATION_EVERY: Final = limits.CONSOLIDATE_EVERY_EPISODES

_KEYS: Final = shape.empty().keys() - {"last_consolidated_at"}
_OF_CONTENT: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
Where = str | os.PathLike[str]


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
            return _loaded(read(place), place)
        except NoTrainingMemoryError:
            with guard, lock_file(place) as held:
                # somebody else may have been faster, and saved a good one
                return _loaded(_current(held), place)
    except PlaceError as error:
        if not lenient:
            raise
        _warn(TrainingMemoryWarning, f"{error}. The memory starts fresh and cannot be saved there")
        return new_agent_memory()


def save_agent_memory(memory: AgentMemory, path: Where = DEFAULT_PATH) -> None:
    """Saves what was recorded. When this returns, it is on disk; when it raises, the file is as it
    was, the memory still has everything, and the next save tries again.

    What is in the file now is kept: the episodes recorded into this memory since it was loaded or
    saved are added to it, and the memory is brought up to date in place.
    """
    place = _place(path)
    with guard, _using(memory):
        _check_memory(memory, fully=True)
        with lock_file(place) as held:
            base = history_of(memory).bases.get(str(place))
            planned, merged = plan(
                memory, str(place), _current(held, base.content if base else None)
            )
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

            with ExitStack() as on_failure:
                # Interrupted or refused in between: whether the file has it decides whether the
                # next save adds it.
                on_failure.callback(settle_if_written)
                held.write(content)
                settle(memory, planned, merged, content, str(place))
                on_failure.pop_all()
    logger.debug("Saved training memory to %s", place)


def _place(path: Where) -> Path:
    place = Path(os.path.realpath(check_path("path", path)))
    # it would be kept aside as no training memory
    own_files.refuse_database("path", place, "agent_memory.json")
    return place


def _with_history(memory: AgentMemory, history: History) -> AgentMemory:
    memory["episode_log"] = EpisodeLog(memory["episode_log"], history)
    return memory


def _loaded(content: bytes | None, place: Path) -> AgentMemory:
    if content is None:
        logger.info("No training memory at %s, starting fresh", place)
        return _with_history(shape.empty(), History(EMPTY, 0, str(place)))
    memory, dropped = decoded(content)
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
    warnings.warn(message, category, stacklevel=3)


# --- an episode ---


def record_episode(
    memory: AgentMemory,
    episode_data: dict[str, Any],
    *,
    lenient: bool = False,
    clock: Clock | None = None,
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
            shape.add(memory, checked.entry)
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
    check_texts(task_id=task_id)
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
    llm: Llm | None = None,
) -> AgentMemory:
    """Every `CONSOLIDATION_EVERY` episodes, finds rules for all tasks and saves the memory;
    otherwise does nothing.

    With a model (`llm`, or the one that `api_key` or GROQ_API_KEY is for) the rules are its own,
    read from the last episodes. Without one, or when it is of no use, they are the summaries of
    episodes with high scores.
    """
    check_texts(api_key=api_key)
    with guard, _using(memory):
        _check_memory(memory)
        total = memory["total_episodes"]
        if total - (memory["last_consolidated_at"] or 0) < CONSOLIDATION_EVERY:
            return memory
        episodes = [dict(episode) for episode in memory["episode_log"]]
    rules = _rules_of_model(episodes, api_key, llm)  # takes its time: others may record meanwhile
    with guard, _using(memory):
        if rules is None:
            rules = shape.high_score_rules(memory)
        shape.add_global_rules(memory, rules)
        memory["last_consolidated_at"] = total
        history_of(memory).look_at(memory)
        logger.info("Consolidation: %d global rules", len(memory["global_rules"]))
    save_agent_memory(memory, path)
    return memory


def _rules_of_model(
    episodes: list[dict[str, Any]], api_key: str | None, llm: Llm | None
) -> list[str] | None:
    """Rules in a model's words; None where there is no model, or it is of no use."""
    try:
        key = api_key or os.environ.get("GROQ_API_KEY", "")
        model = llm
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
        return [f"[CONSOLIDATED] {rule}" for rule in ask_for_rules(model, distil.fitting(shown))]
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
