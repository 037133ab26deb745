"""The dict that a training memory is: its keys, what an episode adds to them, how older ones are brought
up to date, and its bytes. No I/O: all of it is a function of the dict before and what is added.

Keys: `version`, `total_episodes`, `last_consolidated_at` (the total at that time), `global_rules`,
`task_rules` {task: […]}, `episode_log` (timestamp, task_id, score, steps, summary), `score_history`
{task: […]}, `mistakes`, `mistake_cards`, `successes`.

Lists and objects are changed in place: copies that a caller made one level deep share them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final

from pydantic_core import PydanticSerializationError, to_json

from hardwon import limits
from hardwon.errors import HardwonError, InvalidInputError
from hardwon.records.kinds import MistakeCard
from hardwon.trust.redact import redact_json

# Episodes in the log of a training memory's file, as many as training memory always kept.
MAX_EPISODES_STORED: Final = 100

# Rules of one task in a training memory, the newest, as it always kept them; twice as many hold for
# all tasks.
MAX_RULES_PER_TASK: Final = 10

# Mistake cards of a training memory, those seen most often, as it always kept them.
TRAINING_CARDS: Final = 30

# Mistakes, and likewise successes, of a training memory, the newest. A run of 800 episodes had 11;
# a prompt shows three.
TRAINING_LESSONS_MAX: Final = 1_000

# One text of an episode in a training memory. A prompt shows its first hundred characters; a whole
# log belongs elsewhere.
TRAINING_TEXT_CHARS_MAX: Final = 10_000

AgentMemory = dict[str, Any]

WORKS_FROM: Final = 0.85
AVOID_BELOW: Final = 0.50
NO_LESSON: Final = "Avoid repeating this failure."  # of a card that has none

CARD_FIELDS: Final = tuple(MistakeCard.model_fields)
_ENDS: Final = ("first", "last")
_CARD_COUNTS: Final = {"seen_count": 1, "first_seen_episode": 0, "last_seen_episode": 0}
# Episodes in the log of a memory that is not saved in between: the log is cut when it is saved, and
# a run that never saves must not fill the machine's memory.
UNSAVED_MAX: Final = 1_000


def empty() -> AgentMemory:
    """A memory without an episode."""
    return {
        "version": 1,
        "total_episodes": 0,
        "last_consolidated_at": None,
        "global_rules": [],
        "task_rules": {},
        "episode_log": [],
        "score_history": {},
        "mistakes": [],
        "mistake_cards": [],
        "successes": [],
    }


def make_part(
    log: dict[str, Any],
    mistakes: Iterable[str] = (),
    successes: Iterable[str] = (),
    cards: Iterable[dict[str, Any]] = (),
) -> AgentMemory:
    """What an episode adds, as a memory. One whose score is None leaves its lessons alone."""
    task, score = log["task_id"], log["score"]
    seen = {"seen_count": 1, "first_seen_episode": 1, "last_seen_episode": 1}
    seen_cards = [{**card, **seen} for card in cards]
    part = empty() | {"total_episodes": 1, "mistakes": mistakes, "mistake_cards": seen_cards}
    part["successes"] = successes
    if score is not None:
        rules = make_rules(score, mistakes, successes)
        part |= {"task_rules": {task: rules}, "score_history": {task: [score]}}
        part["episode_log"] = [log]
    return part


def make_rules(score: float, mistakes: Iterable[str], successes: Iterable[str]) -> list[str]:
    """What an episode with this score lays down for its task."""
    works = [f"[WORKS] {success}" for success in successes if score >= WORKS_FROM]
    return works + [f"[AVOID] {mistake}" for mistake in mistakes if score < AVOID_BELOW]


def add(memory: AgentMemory, part: AgentMemory, rules_max: int = MAX_RULES_PER_TASK) -> None:
    """Adds what another memory has come to: as if its episodes were added one by one, but for what
    its bounds cut off, and with its rules for all tasks. `rules_max` are kept of a task, and twice
    as many for all tasks.
    """
    before = memory["total_episodes"]
    for task, scores in part["score_history"].items():
        memory["score_history"][task] = [*memory["score_history"].get(task, []), *scores]
    memory["total_episodes"] += part["total_episodes"]
    memory["episode_log"] += map(dict, part["episode_log"])
    del memory["episode_log"][:-UNSAVED_MAX]
    for name, most in list_bounds(rules_max).items():
        memory[name][:] = unite_texts(memory[name], part[name], most)
    add_cards(memory, part["mistake_cards"], before)
    for task, rules in part["task_rules"].items():
        add_rules(memory, task, rules, rules_max)
    consolidated = [whole(side.get("last_consolidated_at"), 0) for side in (memory, part)]
    if any(consolidated):
        memory["last_consolidated_at"] = sum(consolidated)
    for name in part.keys() - memory.keys():
        memory[name] = part[name]


def add_cards(memory: AgentMemory, cards: Iterable[dict[str, Any]], before: int) -> None:
    """Counts cards, and keeps the best; their episodes come after those `before`."""
    for card in cards:
        if add_card(memory["mistake_cards"], card, before):
            keep_best_cards(memory["mistake_cards"])


def add_rules(memory: AgentMemory, task: str, rules: Iterable[str], rules_max: int) -> None:
    """Adds the rules that are new to those of a task, of which so many are kept."""
    known = memory["task_rules"].get(task, [])
    memory["task_rules"][task] = unite_texts(known, rules, rules_max)


def list_bounds(rules_max: int) -> dict[str, int]:
    """How many of the newest texts stay in each list, where a task keeps so many rules."""
    most = TRAINING_LESSONS_MAX
    return {"mistakes": most, "successes": most, "global_rules": 2 * rules_max}


def unite_texts(texts: list[Any], new: Iterable[Any], most: int) -> list[Any]:
    """The texts with those that are new, each once; so many of the last ones."""
    united = {make_key(text): text for text in texts}
    for text in new:
        if text:
            united.setdefault(make_key(text), text)
    return list(united.values())[-most:]


def make_key(value: Any) -> object:
    """What is the same for equal values, and can be hashed: there may be anything among texts."""
    is_plain = isinstance(value, str | int | float)
    return value if is_plain else (json.dumps(value, sort_keys=True),)


def card_rank(card: dict[str, Any]) -> tuple[int, int]:
    """How often it was seen, and when last: the highest comes first."""
    return whole(card.get("seen_count"), 0), whole(card.get("last_seen_episode"), 0)


def card_key(card: dict[str, Any]) -> tuple[Any, ...]:
    """Cards with the same type, task, worker and right decision are one card."""
    return (
        card.get("mistake_type"),
        card.get("task_id"),
        card.get("worker_id") or "",
        card.get("correct_decision") or "",
    )


def add_card(cards: list[dict[str, Any]], card: dict[str, Any], before: int) -> bool:
    """Counts a card that is known; else adds it, and returns True. Its episodes come after those
    `before`.
    """
    seen = whole(card.get("seen_count"), 1)
    first, last = (before + whole(card.get(f"{which}_seen_episode"), 0) for which in _ENDS)
    for place, known in enumerate(cards):
        if card_key(known) == card_key(card):
            cards[place] = {
                **known,
                "seen_count": whole(known.get("seen_count"), 1) + seen,
                "last_seen_episode": last,
                "evidence": card.get("evidence") or known.get("evidence", ""),
                "lesson": card.get("lesson") or known.get("lesson", NO_LESSON),
            }
            return False
    counts = {"seen_count": seen, "first_seen_episode": first, "last_seen_episode": last}
    cards.append({**card, **counts})
    return True


def keep_best_cards(cards: list[dict[str, Any]]) -> None:
    """Sorts them, and drops those over the bound."""
    cards.sort(key=card_rank, reverse=True)
    del cards[TRAINING_CARDS:]


_BY_TASK: Final = ("task_rules", "score_history")


def hide_secrets(memory: AgentMemory) -> None:
    """Puts placeholders in the place of secrets, in whatever the memory holds: texts, names of tasks,
    what callers put in by hand. Its lists and objects stay the same ones, because copies share them.
    """
    for name, held in list(memory.items()):
        # the name of a task, unlike that of a field, tells nothing of what stands under it
        value = list(held.items()) if name in _BY_TASK else held
        clean: Any
        clean, labels = redact_json(value, name)
        if not labels:
            continue
        if name in _BY_TASK:
            held.clear()
            for task, kept in clean:  # two may have become one, whose names were secrets
                held[task] = [*held.get(task, []), *kept]
        elif isinstance(held, list):
            held[:] = clean
        elif isinstance(held, dict):
            held.clear()
            held.update(clean)
        else:
            memory[name] = clean


def mend(memory: AgentMemory) -> list[str]:
    """Brings a memory of any age up to date, in place: keys that are missing, counts that are text,
    one lesson instead of a list, lists over their bounds. What no training memory can hold is left
    out; returns its places.
    """
    left_out = _fill_in(memory)
    for name in ("task_rules", "score_history"):
        for task in [task for task, held in memory[name].items() if not isinstance(held, list)]:
            del memory[name][task]
            left_out.append(f"{name}.{task}")
    memory["mistake_cards"][:] = map(make_card, memory["mistake_cards"])
    for name in ("episode_log", "mistake_cards"):
        left_out += _drop(name, memory[name], lambda item: isinstance(item, dict))
    log = memory["episode_log"]
    for episode in log:
        episode.update({name: _read_number(episode.get(name, 0)) for name in ("score", "steps")})
    left_out += _drop("episode_log", log, lambda item: _is_finite(item["score"]))
    memory["mistake_cards"][:] = [
        card | {name: whole(card.get(name), least) for name, least in _CARD_COUNTS.items()}
        for card in memory["mistake_cards"]
    ]
    # A copy one level deep shares the scores with its original, but not the number of episodes.
    listed = sum(map(len, memory["score_history"].values()))
    memory["total_episodes"] = max(whole(memory["total_episodes"], 0), listed)
    for task, scores in memory["score_history"].items():
        scores[:] = map(_read_number, scores)
        left_out += _drop(f"score_history.{task}", scores, _is_finite)
    if not isinstance(memory["last_consolidated_at"], int | float):
        memory["last_consolidated_at"] = None
    for name in ("mistakes", "successes"):
        del memory[name][:-TRAINING_LESSONS_MAX]
    return left_out


def _fill_in(memory: AgentMemory) -> list[str]:
    """Gives a memory the keys that it lacks, in the kind that they are of. The names of those whose
    values had to go.
    """
    replaced = []
    for name, fresh in empty().items():
        value = memory.get(name)
        is_other = isinstance(fresh, list | dict) and not isinstance(value, type(fresh))
        if isinstance(fresh, list) and isinstance(value, str):
            memory[name] = [value]
        elif value is None or is_other:
            memory[name] = fresh
            replaced += [] if value is None else [name]
    return replaced


def make_card(card: Any) -> Any:
    """A card that is one text says a lesson; every other one is what it is."""
    if isinstance(card, str):
        lesson = card[: limits.CARD_TEXT_CHARS_MAX]
        return {"mistake_type": "unknown_mistake", "task_id": "unknown", "lesson": lesson}
    return card


def _drop(place: str, items: list[Any], is_sound: Callable[[Any], bool]) -> list[str]:
    """Drops what is not sound from a list, in place. Returns the places."""
    wrong = [f"{place}.{number}" for number, item in enumerate(items) if not is_sound(item)]
    if wrong:
        items[:] = filter(is_sound, items)
    return wrong


def _read_number(value: Any) -> Any:
    """The number that a text says; else the value itself."""
    with suppress(ValueError):
        return float(value) if isinstance(value, str) else value
    return value


def _is_finite(value: object) -> bool:
    """As a float: JSON has whole numbers that are none."""
    try:
        return isinstance(value, int | float) and math.isfinite(value)
    except OverflowError:
        return False


def whole(value: object, otherwise: int) -> int:
    """A count that somebody else may have written."""
    try:
        return int(value)  # type: ignore[call-overload, no-any-return]  # that is the question
    except (TypeError, ValueError, OverflowError):
        return otherwise


class NoTrainingMemoryError(HardwonError):
    """The content of a file is no training memory. The message says why; the file is as it was."""


def encode(memory: AgentMemory) -> bytes:
    """As JSON with two blanks of indentation. All of it is ASCII: programs that read it may not
    expect UTF-8.
    """
    try:
        return to_json(memory, indent=2, ensure_ascii=True, inf_nan_mode="constants")
    except (PydanticSerializationError, UnicodeEncodeError):
        pass
    try:
        # lone surrogates, which a caller may have put in by hand
        return json.dumps(memory, indent=2).encode()
    except (TypeError, ValueError, RecursionError) as error:
        allowed = f"what JSON can hold ({error}); take out what was put in by hand"
        raise InvalidInputError.one("memory", memory, allowed) from None


def decode(content: bytes) -> tuple[AgentMemory, list[str]]:
    """The memory, brought up to date, and the places of what had to be left out. Raises
    `NoTrainingMemoryError` where it is no JSON object.
    """
    if len(content) > limits.TRAINING_FILE_BYTES_MAX:
        raise NoTrainingMemoryError(f"it is larger than {limits.TRAINING_FILE_BYTES_MAX} bytes")
    try:
        memory = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise NoTrainingMemoryError(f"it is not JSON: {error}") from None
    if not isinstance(memory, dict):
        raise NoTrainingMemoryError("it is not one JSON object")
    return memory, mend(memory)
