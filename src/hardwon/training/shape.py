"""The dict that a training memory is: its keys, what an episode adds to them, and how older ones are brought up to date.

Keys: `version`, `total_episodes`, `last_consolidated_at` (the total at that time), `global_rules`, `task_rules` {task: […]},
`episode_log` (timestamp, task_id, score, steps, summary), `score_history` {task: […]}, `mistakes`, `mistake_cards`,
`successes`. Three more appear only where there is something to say:

`older_scores`     {task: {"count", "sum"}}: scores that went over the bound of `score_history`
`skipped`          {field: how many}: what was left out of episodes in lenient mode
`shared_episodes`  {history: how far it is in here}: of episodes that a fork or pickle took along unsaved

No I/O. All of it is a function of the dict before and the episode, so that an episode can be added again to another dict.
Lists and objects inside the values are replaced rather than changed: copies that a caller made one level deep share them.

`EpisodeInput` checks an episode before it enters a memory. A score decides whether there is an episode at all. Whatever else is
wrong can be left out of it: in strict mode nothing is, and the caller hears of every problem at once; in lenient mode the rest
is recorded. Secrets leave its texts here, before they are cut: half a secret would not be recognised. What came another way
(an older file, a caller's hand) `hide_secrets` cleans before it is written.
"""

from __future__ import annotations

import json
import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from itertools import chain, islice
from typing import Any, Final

from pydantic_core import PydanticCustomError, PydanticSerializationError, from_json, to_json

from hardwon import limits
from hardwon.errors import HardwonError, InvalidInputError, Problem, ask_foreign
from hardwon.records.fields import check_json, check_name
from hardwon.trust.redact import redact, redact_json

AgentMemory = dict[str, Any]

WORKS_FROM: Final = 0.85
AVOID_BELOW: Final = 0.50
NO_LESSON: Final = "Avoid repeating this failure."  # of a card that has none

OPTIONAL: Final = ("older_scores", "skipped", "shared_episodes")
_LISTS: Final = ("global_rules", "episode_log", "mistakes", "mistake_cards", "successes")
_OBJECTS: Final = ("task_rules", "score_history", *OPTIONAL)

_NAME: Final = f"text of 1 to {limits.NAME_CHARS_MAX} characters on one line, not blank"
_TEXT: Final = (
    f"text of at most {limits.TRAINING_TEXT_CHARS_MAX} characters, without NUL and lone surrogates"
)
_WRONG: Final = object()
_ROUNDING: Final = 1e-9
_FIELDS: Final = (
    "task_id",
    "score",
    "steps",
    "trajectory_summary",
    "mistakes",
    "successes",
    "mistake_cards",
)
_CARD_FIELDS: Final = (
    "mistake_type",
    "task_id",
    "worker_id",
    "bad_decision",
    "correct_decision",
    "evidence",
    "lesson",
)


def empty() -> AgentMemory:
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


# --- an episode is added ---


def memory_of_one(
    log: dict[str, Any] | None,
    mistakes: Iterable[str] = (),
    successes: Iterable[str] = (),
    cards: Iterable[dict[str, Any]] = (),
    skipped: dict[str, int] | None = None,
) -> AgentMemory:
    """What one call of `record_episode` adds, as a memory: an episode (or none, where all of it was
    left out) and what was left out.
    """
    part = empty()
    if skipped:
        part["skipped"] = skipped
    if log is not None:
        task, score = log["task_id"], log["score"]
        works = [f"[WORKS] {success}" for success in successes if score >= WORKS_FROM]
        avoid = [f"[AVOID] {mistake}" for mistake in mistakes if score < AVOID_BELOW]
        part |= {
            "total_episodes": 1,
            "task_rules": {task: works + avoid},
            "episode_log": [log],
            "score_history": {task: [score]},
            "mistakes": mistakes,
            "mistake_cards": [
                {**card, "seen_count": 1, "first_seen_episode": 1, "last_seen_episode": 1}
                for card in cards
            ],
            "successes": successes,
        }
    return part


def snapshot(memory: AgentMemory) -> AgentMemory:
    """What an episode changes, as it is before."""
    kept: AgentMemory = {
        name: memory[name].copy() for name in (*_LISTS, *_OBJECTS) if name in memory
    }
    return {**kept, "total_episodes": memory["total_episodes"]}


def restore(memory: AgentMemory, before: AgentMemory) -> None:
    """In place: copies that a caller made one level deep share the lists and objects."""
    for name in _LISTS:
        memory[name][:] = before[name]
    for name in _OBJECTS:
        if name in before:
            memory[name].clear()
            memory[name].update(before[name])
        else:
            memory.pop(name, None)
    memory["total_episodes"] = before["total_episodes"]


def add(
    memory: AgentMemory, part: AgentMemory, rules_max: int = limits.TRAINING_RULES_PER_TASK
) -> None:
    """Adds what another memory has come to: as if its episodes were added one by one, but for what
    its bounds cut off, and with its rules for all tasks. `rules_max` are kept of a task, and twice
    as many for all tasks.
    """
    before = memory["total_episodes"]
    for field, count in part.get("skipped", {}).items():
        skipped = memory.setdefault("skipped", {})
        skipped[field] = skipped.get(field, 0) + count
    for task, scores in part["score_history"].items():
        add_scores(memory, task, scores)
        if older := part.get("older_scores", {}).get(task):
            add_older(memory, task, older["count"], [older["sum"]])
    memory["total_episodes"] += part["total_episodes"]
    memory["episode_log"] += map(dict, part["episode_log"])
    del memory["episode_log"][: -limits.TRAINING_EPISODES_UNSAVED_MAX]
    for name in ("mistakes", "successes"):
        add_texts(memory[name], part[name], limits.TRAINING_LESSONS_MAX)
    add_texts(memory["global_rules"], part["global_rules"], 2 * rules_max)
    for card in part["mistake_cards"]:
        if _add_card(memory["mistake_cards"], card, before):
            keep_best_cards(memory["mistake_cards"])
    for task, rules in part["task_rules"].items():
        known = list(memory["task_rules"].get(task, []))
        add_texts(known, rules, rules_max)
        memory["task_rules"][task] = known
        _bound_tasks(memory, task)
    numbers = [each.get("last_consolidated_at") for each in (memory, part)]
    if any(numbers):
        memory["last_consolidated_at"] = sum(
            number for number in numbers if isinstance(number, int | float)
        )
    for name in part.keys() - memory.keys():
        memory[name] = part[name]


def add_texts(texts: list[Any], new: Iterable[str], most: int) -> None:
    for text in new:  # no set: somebody else may have put in what cannot be hashed
        if text and text not in texts:
            texts.append(text)
    del texts[:-most]


def add_scores(memory: AgentMemory, task: str, new: list[float]) -> None:
    scores = [*memory["score_history"].get(task, []), *new]
    memory["score_history"][task] = scores[-limits.TRAINING_SCORES_MAX :]
    if dropped := scores[: -limits.TRAINING_SCORES_MAX]:
        add_older(memory, task, len(dropped), dropped)


def add_older(memory: AgentMemory, task: str, count: int, scores: Iterable[float]) -> None:
    sums = memory.setdefault("older_scores", {})
    known = sums.get(task, {"count": 0, "sum": 0.0})
    sums[task] = {"count": known["count"] + count, "sum": sum(scores, known["sum"])}


def score_total(memory: AgentMemory, task: str) -> tuple[float, int]:
    """Sum and number of all scores of a task. The sum is the very one that adding all of them in
    turn gives.
    """
    scores = memory["score_history"].get(task, [])
    older = memory.get("older_scores", {}).get(task) or {"count": 0, "sum": 0.0}
    return sum(scores, older["sum"]), older["count"] + len(scores)


def card_rank(card: dict[str, Any]) -> tuple[int, int]:
    return whole(card.get("seen_count"), 0), whole(card.get("last_seen_episode"), 0)


def card_key(card: dict[str, Any]) -> tuple[Any, ...]:
    """Cards with the same are one card."""
    return (
        card.get("mistake_type"),
        card.get("task_id"),
        card.get("worker_id") or "",
        card.get("correct_decision") or "",
    )


def find_card(cards: list[dict[str, Any]], card: dict[str, Any]) -> int | None:
    """Where the same card is."""
    key = card_key(card)
    return next((place for place, known in enumerate(cards) if card_key(known) == key), None)


def _add_card(cards: list[dict[str, Any]], card: dict[str, Any], before: int) -> bool:
    """Counts a card that is known by its type, task, worker and right decision; else adds it, and
    says so. Its episodes come after those `before`.
    """
    seen = whole(card.get("seen_count"), 1)
    first, last = (
        before + whole(card.get(name), 0) for name in ("first_seen_episode", "last_seen_episode")
    )
    place = find_card(cards, card)
    if place is None:
        cards.append(
            {**card, "seen_count": seen, "first_seen_episode": first, "last_seen_episode": last}
        )
        return True
    known = cards[place]
    cards[place] = {
        **known,
        "seen_count": whole(known.get("seen_count"), 1) + seen,
        "last_seen_episode": last,
        "evidence": card.get("evidence") or known.get("evidence", ""),
        "lesson": card.get("lesson") or known.get("lesson", NO_LESSON),
    }
    return False


def keep_best_cards(cards: list[dict[str, Any]]) -> None:
    cards.sort(key=card_rank, reverse=True)
    del cards[limits.TRAINING_CARDS :]


def _bound_tasks(memory: AgentMemory, task: str) -> None:
    """Over the bound, the task that came first of those without a recent episode makes room. Only a
    memory with that many tasks pays for the look.
    """
    history, rules = memory["score_history"], memory["task_rules"]
    if max(len(history), len(rules)) <= limits.TRAINING_TASKS_MAX:
        return
    logged = [
        episode.get("task_id")
        for episode in memory["episode_log"][-limits.TRAINING_EPISODES_STORED :]
    ]
    recent = {task, *(name for name in logged if isinstance(name, str))}
    for known in [name for name in dict.fromkeys([*history, *rules]) if name not in recent]:
        if max(len(history), len(rules)) <= limits.TRAINING_TASKS_MAX:
            return
        for per_task in (history, rules, memory.get("older_scores", {})):
            per_task.pop(known, None)


# --- without secrets ---

_BY_TASK: Final = ("task_rules", "score_history", "older_scores")
_NO_TEXTS: Final = frozenset({"skipped", "shared_episodes"})


def hide_secrets(memory: AgentMemory) -> None:
    """Puts placeholders in the place of secrets, in whatever the memory holds: texts, names of tasks,
    what callers put in by hand. Its lists and objects stay the same ones, because copies share them.
    """
    for name in memory.keys() - _NO_TEXTS:
        held = memory[name]
        # the name of a task, unlike that of a field, tells nothing of what stands under it
        value = list(held.items()) if name in _BY_TASK else held
        clean: Any
        clean, labels = redact_json(value, name)
        if not labels:
            continue
        if name in _BY_TASK:
            held.clear()
            for task, kept in clean:
                _add_to_task(memory, name, task, kept)
        elif isinstance(held, list):
            held[:] = clean
        elif isinstance(held, dict):
            held.clear()
            held.update(clean)
        else:
            memory[name] = clean


def _add_to_task(memory: AgentMemory, name: str, task: str, kept: Any) -> None:
    """Two tasks may have become one, whose names were secrets."""
    if name == "older_scores":
        add_older(memory, task, kept["count"], [kept["sum"]])
    else:
        memory[name][task] = [*memory[name].get(task, []), *kept]


def clean_beginning(text: str, limit: int) -> str:
    """So many characters of a text without its secrets, which are looked for a good way beyond
    them. A word that is cut there is left out.
    """
    looked_at = text[: limit + limits.TRAINING_TEXT_CHARS_MAX]
    if len(looked_at) < len(text):
        looked_at = looked_at.rsplit(None, 1)[0]
    return redact(looked_at)[0][:limit]


# --- what was there before ---


def shape_problem(data: object) -> str:
    """Why this is no training memory, at a glance: what a key holds, not what that holds. Empty
    where it is one.
    """
    if not isinstance(data, dict):
        return "it is not a JSON object"
    for names, kind, what in ((_LISTS, list, "a list"), (_OBJECTS, dict, "an object")):
        for name in names:
            if not isinstance(data.get(name), kind | None):
                return f"{name} is not {what}"
    total = data.get("total_episodes")
    return "" if total is None or _is_count(total) else "total_episodes is not a count"


def problem_of(data: Any) -> str:
    """Why this is no training memory; empty where it is one, of whatever age."""
    if problem := shape_problem(data):
        return problem
    for name, fits, what in _PARTS:
        values = data.get(name) or ()
        if not all(map(fits, values.values() if isinstance(values, dict) else values)):
            return f"{name} holds something other than {what}"
    logged = (episode.get("score", 0.0) for episode in data.get("episode_log") or ())
    scores = chain(logged, *(data.get("score_history") or {}).values())
    return (
        "" if all(isinstance(score, int | float) for score in scores) else "a score is not a number"
    )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and value >= 0


def _is_finite(value: object) -> bool:
    """As a float: JSON has whole numbers that are none."""
    try:
        return isinstance(value, int | float) and math.isfinite(value)
    except OverflowError:
        return False


# what the keys hold, beyond being lists and objects
_PARTS: Final[tuple[tuple[str, Callable[[object], bool], str], ...]] = (
    ("task_rules", lambda part: isinstance(part, list), "lists"),
    ("score_history", lambda part: isinstance(part, list), "lists"),
    ("episode_log", lambda part: isinstance(part, dict), "objects"),
    ("mistake_cards", lambda part: isinstance(part, dict), "objects"),
    (
        "older_scores",
        lambda part: (
            isinstance(part, dict) and _is_count(part.get("count")) and _is_finite(part.get("sum"))
        ),
        "counts and sums",
    ),
    ("skipped", _is_count, "counts"),
    ("shared_episodes", _is_count, "counts"),
)


def upgrade(memory: AgentMemory) -> int:
    """Brings a memory without a problem up to date, in place: keys that are missing, a time of
    consolidation as text, cards without counts, lists over their bounds. Returns how many scores
    were dropped because they are not finite.
    """
    known = sum(len(scores) for scores in (memory.get("score_history") or {}).values())
    for name, value in empty().items():
        if memory.get(name) is None:
            memory[name] = value
    for name in [name for name in OPTIONAL if memory.get(name, ()) is None]:
        del memory[name]
    if known and not memory["total_episodes"]:
        memory["total_episodes"] = known
    if not isinstance(memory["last_consolidated_at"], int | float):
        memory["last_consolidated_at"] = None
    for card in memory["mistake_cards"]:
        for name, least in (
            ("seen_count", 1),
            ("first_seen_episode", 0),
            ("last_seen_episode", 0),
        ):
            card[name] = whole(card.get(name), least)
    dropped = 0
    for task, scores in memory["score_history"].items():
        finite = [score for score in scores if _is_finite(score)]
        dropped += len(scores) - len(finite)
        scores[:] = finite
        add_scores(memory, task, [])
    log = memory["episode_log"]
    log[:] = [episode for episode in log if _is_finite(episode.get("score", 0.0))]
    for name in ("mistakes", "successes"):
        del memory[name][: -limits.TRAINING_LESSONS_MAX]
    return dropped


def whole(value: object, otherwise: int) -> int:
    """A count that somebody else may have written."""
    try:
        return int(value)  # type: ignore[call-overload, no-any-return]  # that is the question
    except (TypeError, ValueError, OverflowError):
        return otherwise


# --- as bytes ---


class NoTrainingMemoryError(HardwonError):
    """The content of a file is no training memory. The message says why; the file is as it was."""


def encoded(memory: AgentMemory) -> bytes:
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


def decoded(content: bytes) -> tuple[AgentMemory, int]:
    """The memory, brought up to date, and how many scores were dropped for that. Raises
    `NoTrainingMemoryError`.
    """
    if len(content) > limits.TRAINING_FILE_BYTES_MAX:
        raise NoTrainingMemoryError(f"it is larger than {limits.TRAINING_FILE_BYTES_MAX} bytes")
    try:
        data = from_json(content)
    except ValueError:
        try:
            data = json.loads(content)  # other encodings, byte-order marks, lone surrogates
        except RecursionError:
            raise NoTrainingMemoryError(
                "it is not JSON: its values are nested too deeply"
            ) from None
        except ValueError as error:
            raise NoTrainingMemoryError(f"it is not JSON: {error}") from None
    if problem := problem_of(data):
        raise NoTrainingMemoryError(problem)
    return data, upgrade(data)


# --- what may enter it ---


class EpisodeInput:
    """An episode as the caller gave it, taken apart. `problems` are all that was found; `entry` is
    what can be recorded in spite of them.
    """

    def __init__(self, data: object, timestamp: str) -> None:
        self.problems: list[Problem] = []
        self._left_out: Counter[str] = Counter()
        found = self._fields(
            "episode_data", data, _FIELDS, "an object (a mapping)", "task_id, score, …"
        )
        if found is None:
            self.entry = memory_of_one(None, skipped=dict(self._left_out))
            return
        task = self._read(
            "task_id", _plain(found.get("task_id", "unknown")), _task_of, _NAME, "unknown"
        )
        task = redact(task)[0]
        log = {
            "timestamp": timestamp,
            "task_id": task,
            "score": self._read(
                "score", found.get("score", 0.0), _score_of, "a finite number from 0 to 1", None
            ),
            "steps": self._read(
                "steps", found.get("steps", 0), _count_of, "a whole number, 0 or more", 0
            ),
            "summary": self._text("trajectory_summary", found.get("trajectory_summary", ""), ""),
        }
        mistakes, successes = (
            [
                text
                for n, item in enumerate(self._items(name, found.get(name, ()), "texts"))
                if (text := self._text(f"{name}.{n}", item, None)) is not None
            ]
            for name in ("mistakes", "successes")
        )
        cards = list(self._cards(found.get("mistake_cards", ()), task))
        self.entry = (
            memory_of_one(None, skipped={"score": 1})
            if log["score"] is None
            else memory_of_one(log, mistakes, successes, cards, dict(self._left_out))
        )

    def _wrong(self, field: str, value: object, allowed: str) -> None:
        self.problems.append(Problem(field, value, allowed))
        self._left_out[field.partition(".")[0]] += 1

    def _read(
        self, field: str, value: Any, read: Callable[[Any], Any], allowed: str, otherwise: Any
    ) -> Any:
        found = ask_foreign(lambda: read(value), _WRONG)
        if found is not _WRONG:
            return found
        self._wrong(field, value, allowed)
        return otherwise

    def _fields(
        self, field: str, value: Any, names: tuple[str, ...], what: str, such_as: str
    ) -> dict[str, Any] | None:
        """Those that a mapping has."""
        if not isinstance(value, Mapping):
            self._wrong(field, value, f"{what} with {such_as}")
            return None
        found: dict[str, Any] | None = self._read(
            field,
            value,
            lambda given: {name: given[name] for name in names if name in given},
            f"{what} that can be read",
            None,
        )
        return found

    def _text(self, field: str, value: Any, otherwise: str | None) -> Any:
        """The text; cut, where it is only too long."""
        value = _plain(value)
        if not isinstance(value, str) or re.search("[\0\ud800-\udfff]", value):
            self._wrong(field, value, _TEXT)
            return otherwise
        if len(value) > limits.TRAINING_TEXT_CHARS_MAX:
            self._wrong(field, value, _TEXT)
        return clean_beginning(value, limits.TRAINING_TEXT_CHARS_MAX)

    def _items(self, field: str, value: Any, of: str) -> list[Any]:
        if isinstance(value, str | bytes | bytearray | Mapping) or not isinstance(value, Iterable):
            self._wrong(field, value, f"a list of {of}")
            return []
        items: list[Any] = []

        def read() -> bool:
            items.extend(islice(value, limits.ITEMS_MAX + 1))
            return True

        if not ask_foreign(read, False):  # what a foreign iterator gave before it failed counts
            self._wrong(field, value, f"a list of {of} that can be read to its end")
        elif len(items) > limits.ITEMS_MAX:
            self._wrong(field, value, f"at most {limits.ITEMS_MAX} items")
        return items[: limits.ITEMS_MAX]

    def _cards(self, value: Any, task: str) -> Iterable[dict[str, Any]]:
        for number, card in enumerate(self._items("mistake_cards", value, "cards (objects)")):
            field = f"mistake_cards.{number}"
            found = self._fields(field, card, _CARD_FIELDS, "an object", "mistake_type, lesson, …")
            if found is None:
                continue
            given = {name: _plain(part) for name, part in found.items() if part is not None}
            # evidence is often a log; no more of it than is kept has to be looked at
            for name in ("evidence", "lesson"):
                if isinstance(given.get(name), str):
                    given[name] = clean_beginning(given[name], limits.CARD_TEXT_CHARS_MAX)
            if wrong := [name for name in given if not _is_small_json(given[name])]:
                allowed = f"a JSON value of at most {limits.TRAINING_TEXT_CHARS_MAX} characters"
                self._wrong(f"{field}.{wrong[0]}", given[wrong[0]], allowed)
                continue
            # a value of the caller's that changes later must not change what was recorded
            given = deepcopy({name: redact_json(part)[0] for name, part in given.items()})
            yield {
                "mistake_type": str(given.get("mistake_type") or "unknown_mistake"),
                "task_id": str(given.get("task_id") or task),
                "worker_id": given.get("worker_id"),
                "bad_decision": given.get("bad_decision"),
                "correct_decision": given.get("correct_decision"),
                "evidence": str(given.get("evidence") or "")[: limits.CARD_TEXT_CHARS_MAX],
                "lesson": str(given.get("lesson") or NO_LESSON)[: limits.CARD_TEXT_CHARS_MAX],
            }


def _score_of(value: Any) -> float:
    """Whatever is a number: those of numpy and of tensors with one element are none of Python's
    own, and texts may say one. A mean may be beyond the end by a rounding error.
    """
    number = math.nan if isinstance(value, bytes | bytearray) else float(value)
    if not -_ROUNDING <= number <= 1 + _ROUNDING:
        raise ValueError
    return min(max(number, 0.0), 1.0) + 0.0


def _task_of(value: Any) -> str:
    if isinstance(value, int | float):  # as the context is asked for it
        value = str(value)
    if not isinstance(value, str) or not value.strip() or len(value) > limits.NAME_CHARS_MAX:
        raise ValueError
    value.encode()
    return str(check_name(value))


def _count_of(value: Any) -> int:
    number = (
        int(value) if isinstance(value, float) and value.is_integer() else operator.index(value)
    )
    if not 0 <= number <= limits.JSON_INT_ABS_MAX:
        raise ValueError
    return number


def _plain(value: Any) -> Any:
    """Text as Python's own, whatever somebody's subclass makes of it."""
    return str.__str__(value) if isinstance(value, str) else value


def _is_small_json(value: Any) -> bool:
    try:
        check_json(value)
        return (
            len(value if isinstance(value, str) else to_json(value))
            <= limits.TRAINING_TEXT_CHARS_MAX
        )
    except (PydanticCustomError, ValueError):
        return False
