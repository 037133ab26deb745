"""What an episode may say before it enters a training memory. No I/O.

A score decides whether there is an episode at all. Whatever else is wrong can be left out of it: in strict mode nothing is,
and the caller hears of every problem at once; in lenient mode the rest is recorded.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any, Final

from pydantic_core import PydanticCustomError, to_json

from hardwon import limits
from hardwon.doors.episode_dict import NO_LESSON, Entry
from hardwon.errors import InvalidInputError, Problem
from hardwon.fields import check_json, check_name

_SCORE: Final = "a finite number from 0 to 1"
_NAME: Final = f"text of 1 to {limits.NAME_CHARS_MAX} characters on one line, not blank"
_TEXT: Final = f"text of at most {limits.TRAINING_TEXT_CHARS_MAX} characters, without NUL and lone surrogates"
_FIELDS: Final = ("task_id", "score", "steps", "trajectory_summary", "mistakes", "successes", "mistake_cards")
_CARD_FIELDS: Final = (
    "mistake_type",
    "task_id",
    "worker_id",
    "bad_decision",
    "correct_decision",
    "evidence",
    "lesson",
)


class Checked:
    """An episode as the caller gave it, taken apart. `problems` are all that was found; `entry` is what can be recorded
    in spite of them."""

    def __init__(self, data: object, timestamp: str) -> None:
        self.problems: list[Problem] = []
        self._left_out: Counter[str] = Counter()
        self.entry = self._entry(data, timestamp)

    def raise_if_wrong(self) -> None:
        if self.problems:
            raise InvalidInputError(self.problems)

    def _entry(self, data: object, timestamp: str) -> Entry:
        if not isinstance(data, Mapping):
            self._wrong("episode_data", data, "an object (a mapping) with task_id, score, …")
            return Entry(None, skipped=tuple(self._left_out.items()))
        try:
            data = {name: data[name] for name in _FIELDS if name in data}
        except Exception:  # noqa: BLE001  # a foreign mapping fails in any way it likes
            self._wrong("episode_data", data, "an object (a mapping) that can be read")
            return Entry(None, skipped=tuple(self._left_out.items()))
        score = self._score(data.get("score", 0.0))
        task = self._task(data.get("task_id", "unknown"))
        log = {
            "timestamp": timestamp,
            "task_id": task,
            "score": score,
            "steps": self._steps(data.get("steps", 0)),
            "summary": self._text("trajectory_summary", data.get("trajectory_summary", ""), ""),
        }
        mistakes, successes = (self._texts(name, data.get(name, ())) for name in ("mistakes", "successes"))
        cards = tuple(self._cards(data.get("mistake_cards", ()), task))
        if score is None:
            return Entry(None, skipped=(("score", 1),))
        return Entry(log, mistakes, successes, cards, tuple(self._left_out.items()))

    def _wrong(self, field: str, value: object, allowed: str) -> None:
        self.problems.append(Problem(field, value, allowed))
        self._left_out[field.partition(".")[0]] += 1

    # --- one field each ---------------------------------------------------------------------------------------------------

    def _score(self, value: Any) -> float | None:
        """Whatever is a number: those of numpy and of tensors with one element are none of Python's own."""
        try:
            number = math.nan if isinstance(value, str | bytes | bytearray) else float(value)
        except Exception:  # noqa: BLE001  # a foreign __float__ fails in any way it likes
            number = math.nan
        if not 0 <= number <= 1:
            self._wrong("score", value, _SCORE)
            return None
        return number + 0.0

    def _task(self, value: Any) -> str:
        try:
            value = _plain(value)
            if isinstance(value, str) and value.strip() and len(value) <= limits.NAME_CHARS_MAX:
                value.encode()
                return str(check_name(value))
        except (PydanticCustomError, UnicodeEncodeError):
            pass
        self._wrong("task_id", value, _NAME)
        return "unknown"

    def _steps(self, value: Any) -> int:
        try:
            number = int(value) if isinstance(value, float) and value.is_integer() else operator.index(value)
        except Exception:  # noqa: BLE001  # a foreign __index__ fails in any way it likes
            number = -1
        if not 0 <= number <= limits.JSON_INT_ABS_MAX:
            self._wrong("steps", value, "a whole number, 0 or more")
            return 0
        return number

    def _text(self, field: str, value: Any, otherwise: str | None) -> Any:
        """The text; cut, where it is only too long."""
        value = _plain(value)
        if isinstance(value, str):
            try:
                value.encode()
                if "\0" not in value:
                    if len(value) > limits.TRAINING_TEXT_CHARS_MAX:
                        self._wrong(field, value, _TEXT)
                    return str(value[: limits.TRAINING_TEXT_CHARS_MAX])
            except UnicodeEncodeError:
                pass
        self._wrong(field, value, _TEXT)
        return otherwise

    def _items(self, field: str, value: Any, of: str) -> list[Any]:
        if isinstance(value, str | bytes | bytearray | Mapping) or not isinstance(value, Iterable):
            self._wrong(field, value, f"a list of {of}")
            return []
        items: list[Any] = []
        try:
            for item in value:
                if len(items) == limits.ITEMS_MAX:
                    self._wrong(field, value, f"at most {limits.ITEMS_MAX} items")
                    break
                items.append(item)
        except Exception:  # noqa: BLE001  # a foreign iterator fails in any way it likes
            self._wrong(field, value, f"a list of {of} that can be read to its end")
        return items

    def _texts(self, field: str, value: Any) -> tuple[str, ...]:
        found = [self._text(f"{field}.{n}", item, None) for n, item in enumerate(self._items(field, value, "texts"))]
        return tuple(text for text in found if text is not None)

    def _cards(self, value: Any, task: str) -> Iterable[dict[str, Any]]:
        for number, card in enumerate(self._items("mistake_cards", value, "cards (objects)")):
            field = f"mistake_cards.{number}"
            if not isinstance(card, Mapping):
                self._wrong(field, card, "an object with mistake_type, lesson, …")
                continue
            try:
                said = {name: _cut(name, _plain(card[name])) for name in _CARD_FIELDS if card.get(name) is not None}
            except Exception:  # noqa: BLE001  # a foreign mapping fails in any way it likes
                self._wrong(field, card, "an object that can be read")
                continue
            wrong = next((name for name in said if not _is_small_json(said[name])), None)
            if wrong is not None:
                allowed = f"a JSON value of at most {limits.TRAINING_TEXT_CHARS_MAX} characters"
                self._wrong(f"{field}.{wrong}", said[wrong], allowed)
                continue
            said = deepcopy(said)  # a value of the caller's that changes later must not change what was recorded
            yield {
                "mistake_type": str(said.get("mistake_type") or "unknown_mistake"),
                "task_id": str(said.get("task_id") or task),
                "worker_id": said.get("worker_id"),
                "bad_decision": said.get("bad_decision"),
                "correct_decision": said.get("correct_decision"),
                "evidence": str(said.get("evidence") or "")[: limits.CARD_TEXT_CHARS_MAX],
                "lesson": str(said.get("lesson") or NO_LESSON)[: limits.CARD_TEXT_CHARS_MAX],
            }


def _plain(value: Any) -> Any:
    """Text as Python's own, whatever somebody's subclass makes of it."""
    return str.__str__(value) if isinstance(value, str) else value


def _cut(name: str, value: Any) -> Any:
    """Evidence is often a log; no more of it than is kept has to be looked at."""
    return value[: limits.CARD_TEXT_CHARS_MAX] if name in ("evidence", "lesson") and isinstance(value, str) else value


def _is_small_json(value: Any) -> bool:
    try:
        check_json(value)
        return len(value if isinstance(value, str) else to_json(value)) <= limits.TRAINING_TEXT_CHARS_MAX
    except (PydanticCustomError, ValueError):
        return False
