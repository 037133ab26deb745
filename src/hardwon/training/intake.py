"""An episode as a caller gave it, taken apart before it enters a training memory.

A score decides whether there is an episode at all. Whatever else is wrong can be left out of it: in
strict mode nothing is, and the caller hears of every problem at once; in lenient mode the rest is
recorded. Secrets leave its texts here, before they are cut: half a secret would not be recognised.
"""

from __future__ import annotations

import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from itertools import islice
from typing import Any, Final

from pydantic_core import PydanticCustomError, to_json

from hardwon import limits
from hardwon.errors import Problem, ask_foreign
from hardwon.records.fields import check_json, check_name
from hardwon.training.shape import CARD_FIELDS, NO_LESSON, make_part
from hardwon.trust.redact import redact, redact_json

_ALLOWED: Final = {
    "task_id": f"text of 1 to {limits.NAME_CHARS_MAX} characters on one line, not blank",
    "score": "a finite number from 0 to 1",
    "steps": "a whole number, 0 or more",
}
_TEXT: Final = (
    f"text of at most {limits.TRAINING_TEXT_CHARS_MAX} characters, without NUL and lone surrogates"
)
_WRONG: Final = object()
_ROUNDING: Final = 1e-9


class EpisodeInput:
    """An episode as the caller gave it. `problems` are all that is wrong with it; `entry` is what can
    be recorded in spite of them, as a memory of just that.
    """

    def __init__(self, data: object, timestamp: str) -> None:
        self.problems: list[Problem] = []
        self._left_out: Counter[str] = Counter()
        fields = self._fields("episode_data", data)
        task = redact(self._read("task_id", fields.get("task_id", "unknown"), _to_task, "unknown"))
        log = {
            "timestamp": timestamp,
            "task_id": task[0],
            "score": self._read("score", fields.get("score", 0.0), _to_score, None),
            "steps": self._read("steps", fields.get("steps", 0), _to_count, 0),
            "summary": self._text("trajectory_summary", fields.get("trajectory_summary", "")) or "",
        }
        mistakes, successes = (
            [
                text
                for number, item in enumerate(self._items(name, fields.get(name, ()), "texts"))
                if (text := self._text(f"{name}.{number}", item)) is not None
            ]
            for name in ("mistakes", "successes")
        )
        cards = list(self._cards(fields.get("mistake_cards", ()), task[0]))
        if "episode_data" in self._left_out:
            self.entry = make_part(None, skipped={"episode_data": 1})
        elif log["score"] is None:
            self.entry = make_part(None, skipped={"score": 1})
        else:
            self.entry = make_part(log, mistakes, successes, cards, dict(self._left_out))

    def _refuse(self, field: str, value: object, allowed: str) -> None:
        self.problems.append(Problem(field, value, allowed))
        self._left_out[field.partition(".")[0]] += 1

    def _read(self, field: str, value: Any, read: Callable[[Any], Any], otherwise: Any) -> Any:
        """What `read` makes of the value; where that fails, a problem, and what there is otherwise."""
        result = ask_foreign(lambda: read(_to_plain(value)), _WRONG)
        if result is not _WRONG:
            return result
        self._refuse(field, value, _ALLOWED[field])
        return otherwise

    def _fields(self, field: str, value: Any) -> dict[str, Any]:
        """What a mapping holds; nothing where it is no mapping, or cannot be read."""
        fields = ask_foreign(lambda: dict(value), None) if isinstance(value, Mapping) else None
        if fields is None:
            self._refuse(field, value, "an object (a mapping) that can be read")
        return fields or {}

    def _text(self, field: str, value: Any) -> str | None:
        """The text, cut where it is too long; None where it is none."""
        value = _to_plain(value)
        if not isinstance(value, str) or re.search("[\0\ud800-\udfff]", value):
            self._refuse(field, value, _TEXT)
            return None
        if len(value) > limits.TRAINING_TEXT_CHARS_MAX:
            self._refuse(field, value, _TEXT)
        return _clean_beginning(value, limits.TRAINING_TEXT_CHARS_MAX)

    def _items(self, field: str, value: Any, what: str) -> list[Any]:
        """The items of a list; of one that fails in the middle, those before."""
        if isinstance(value, str | bytes | bytearray | Mapping) or not isinstance(value, Iterable):
            self._refuse(field, value, f"a list of {what}")
            return []
        items: list[Any] = []
        read = ask_foreign(lambda: items.extend(islice(value, limits.ITEMS_MAX + 1)), _WRONG)
        if read is _WRONG:
            self._refuse(field, value, f"a list of {what} that can be read to its end")
        elif len(items) > limits.ITEMS_MAX:
            self._refuse(field, value, f"at most {limits.ITEMS_MAX} items")
        return items[: limits.ITEMS_MAX]

    def _cards(self, value: Any, task: str) -> Iterator[dict[str, Any]]:
        for number, item in enumerate(self._items("mistake_cards", value, "cards (objects)")):
            field, problems = f"mistake_cards.{number}", len(self.problems)
            fields = self._fields(field, item)
            card = {
                name: _to_plain(fields[name])
                for name in CARD_FIELDS
                if fields.get(name) is not None
            }
            # evidence is often a log; no more of it than is kept has to be looked at
            for name in ("evidence", "lesson"):
                if isinstance(card.get(name), str):
                    card[name] = _clean_beginning(card[name], limits.CARD_TEXT_CHARS_MAX)
            if wrong := next((name for name in card if not _is_small_json(card[name])), None):
                allowed = f"a JSON value of at most {limits.TRAINING_TEXT_CHARS_MAX} characters"
                self._refuse(f"{field}.{wrong}", card[wrong], allowed)
            if len(self.problems) > problems:
                continue
            # a value of the caller's that changes later must not change what was recorded
            card = deepcopy({name: redact_json(part)[0] for name, part in card.items()})
            yield {
                "mistake_type": str(card.get("mistake_type") or "unknown_mistake"),
                "task_id": str(card.get("task_id") or task),
                "worker_id": card.get("worker_id"),
                "bad_decision": card.get("bad_decision"),
                "correct_decision": card.get("correct_decision"),
                "evidence": str(card.get("evidence") or "")[: limits.CARD_TEXT_CHARS_MAX],
                "lesson": str(card.get("lesson") or NO_LESSON)[: limits.CARD_TEXT_CHARS_MAX],
            }


def _to_score(value: Any) -> float:
    """Whatever is a number: those of numpy and of tensors with one element are none of Python's
    own, and texts may say one. A mean may be beyond the end by a rounding error.
    """
    number = math.nan if isinstance(value, bytes | bytearray) else float(value)
    if not -_ROUNDING <= number <= 1 + _ROUNDING:
        raise ValueError
    return min(max(number, 0.0), 1.0) + 0.0


def _to_task(value: Any) -> str:
    if isinstance(value, int | float):  # as the context is asked for it
        value = str(value)
    if not isinstance(value, str) or not value.strip() or len(value) > limits.NAME_CHARS_MAX:
        raise ValueError
    value.encode()
    return str(check_name(value))


def _to_count(value: Any) -> int:
    is_whole = isinstance(value, float) and value.is_integer()
    number = int(value) if is_whole else operator.index(value)
    if not 0 <= number <= limits.JSON_INT_ABS_MAX:
        raise ValueError
    return number


def _to_plain(value: Any) -> Any:
    """Text as Python's own, whatever somebody's subclass makes of it."""
    return str.__str__(value) if isinstance(value, str) else value


def _is_small_json(value: Any) -> bool:
    try:
        check_json(value)
        text = value if isinstance(value, str) else to_json(value)
    except (PydanticCustomError, ValueError):
        return False
    return len(text) <= limits.TRAINING_TEXT_CHARS_MAX


def _clean_beginning(text: str, limit: int) -> str:
    """So many characters of a text without its secrets, which are looked for a good way beyond
    them. A word that is cut there is left out.
    """
    beginning = text[: limit + limits.TRAINING_TEXT_CHARS_MAX]
    if len(beginning) < len(text):
        beginning = beginning.rsplit(None, 1)[0]
    return redact(beginning)[0][:limit]
