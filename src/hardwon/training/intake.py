"""An episode as a caller gave it, taken apart before it enters a training memory.

Values are kept as far as they can be: text is a number where it says one, a lesson may be anything
that has a text. What cannot be kept is named. Secrets leave the texts here, before they are cut:
half a secret would not be recognised.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from itertools import islice
from typing import Any, Final

from pydantic_core import PydanticCustomError, to_json

from hardwon import limits
from hardwon.errors import Problem, ask_foreign
from hardwon.records.fields import check_json
from hardwon.training.shape import CARD_FIELDS, NO_LESSON, TRAINING_TEXT_CHARS_MAX
from hardwon.trust.redact import redact, redact_json

_WRONG: Final = object()
_NO_TEXT: Final = re.compile("[\0\ud800-\udfff]")
_UNKNOWN: Final = "unknown"


class EpisodeInput:
    """An episode as the caller gave it. `log` is what a memory's log has of it, None where it is no
    object; its score is None where nobody knows it. `problems` name what is left out.
    """

    def __init__(self, data: object, timestamp: str = "") -> None:
        self.problems: list[Problem] = []
        self.log: dict[str, Any] | None = None
        fields = self._read_fields("episode_data", data) or {}
        if self.problems:
            return
        task = name_task(fields.get("task_id", _UNKNOWN))
        # a score that is not said is 0; of one that is none, nobody knows
        allowed = "a finite number; its lessons are kept without one"
        self.log = {
            "timestamp": timestamp,
            "task_id": task,
            "score": self._read("score", fields.get("score", 0.0), _read_score, allowed, None),
            "steps": self._read("steps", fields.get("steps", 0), _read_count, "0 or more", 0),
            "summary": self._read_text("trajectory_summary", fields.get("trajectory_summary")),
        }
        self.mistakes, self.successes = (
            self._read_texts(name, fields) for name in ("mistakes", "successes")
        )
        self.cards = list(self._read_cards(fields.get("mistake_cards"), task))

    def _read_texts(self, name: str, fields: Mapping[str, Any]) -> list[str]:
        items = enumerate(self._list_items(name, fields.get(name)))
        return [self._read_text(f"{name}.{at}", item) for at, item in items if item is not None]

    def _read(
        self, field: str, value: Any, read: Callable[[Any], Any], allowed: str, otherwise: Any
    ) -> Any:
        """What `read` makes of the value; where that fails, a problem, and what there is otherwise."""
        result = ask_foreign(lambda: read(value), _WRONG)
        if result is _WRONG:
            self.problems.append(Problem(field, value, allowed))
            return otherwise
        return result

    def _read_fields(self, field: str, value: Any) -> dict[str, Any] | None:
        """What a mapping holds; None where it is no mapping, or cannot be read."""
        allowed = "an object (a mapping) that can be read"
        read: dict[str, Any] | None = self._read(field, value, _read_mapping, allowed, None)
        return read

    def _read_text(self, field: str, value: Any) -> str:
        """What a value says, cut where it is too long; empty where it says nothing."""
        text: str = self._read(field, value, _make_text, "what has a text", "")
        most = TRAINING_TEXT_CHARS_MAX
        if len(text) > most:
            self.problems.append(Problem(field, value, f"{most} characters; the rest is cut off"))
        return _clean_beginning(text, most)

    def _list_items(self, field: str, value: Any) -> list[Any]:
        """The items of a list; of one that fails in the middle, those before; of a single one,
        itself; none of None.
        """
        if value is None:
            return []
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
            return [value]
        items: list[Any] = []
        most = limits.ITEMS_MAX
        read = ask_foreign(lambda: items.extend(islice(value, most + 1)), _WRONG)
        if read is _WRONG or len(items) > most:
            self.problems.append(Problem(field, value, f"a list of at most {most} items"))
        return items[:most]

    def _read_cards(self, value: Any, task: str) -> Iterator[dict[str, Any]]:
        for number, item in enumerate(self._list_items("mistake_cards", value)):
            field = f"mistake_cards.{number}"
            fields = self._read_fields(field, {"lesson": item} if isinstance(item, str) else item)
            if fields is None:
                continue
            known = {name: fields.get(name) for name in CARD_FIELDS}
            card = {name: _make_plain(part) for name, part in known.items() if part is not None}
            # evidence is often a log; no more of it than is kept has to be looked at
            for name in ("evidence", "lesson"):
                if isinstance(card.get(name), str):
                    card[name] = _clean_beginning(card[name], limits.CARD_TEXT_CHARS_MAX)
            for name in [name for name in card if not _is_small_json(card[name])]:
                allowed = f"a JSON value of at most {TRAINING_TEXT_CHARS_MAX} characters"
                self.problems.append(Problem(f"{field}.{name}", card.pop(name), allowed))
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


def name_task(value: object) -> str:
    """The name of a task on one line, as it is recorded and asked for: any value has one."""
    text = redact(ask_foreign(lambda: _make_text(value), ""))[0]
    if not text.isprintable():
        text = "".join(char if char.isprintable() else " " for char in text)
    is_short = len(text) <= limits.NAME_CHARS_MAX
    name = text if is_short and text == text.strip() else " ".join(text.split())
    return name[: limits.NAME_CHARS_MAX].strip() or _UNKNOWN


def _read_score(value: Any) -> float:
    """Whatever is a number: those of numpy and of tensors with one element are none of Python's
    own, and texts may say one. A penalty may be below 0.
    """
    number = math.nan if isinstance(value, bytes | bytearray) else float(_make_plain(value))
    if not math.isfinite(number):
        raise ValueError
    return number + 0.0


def _read_count(value: Any) -> int:
    number = int(float(_make_plain(value)))
    if not 0 <= number <= limits.JSON_INT_ABS_MAX:
        raise ValueError
    return number


def _read_mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError
    return dict(value)


def _make_text(value: object) -> str:
    text = "" if value is None else str(_make_plain(value))
    return _NO_TEXT.sub("\N{REPLACEMENT CHARACTER}", text)


def _make_plain(value: Any) -> Any:
    """Text as Python's own, whatever somebody's subclass makes of it."""
    return str.__str__(value) if isinstance(value, str) else value


def _is_small_json(value: Any) -> bool:
    try:
        check_json(value)
        text = value if isinstance(value, str) else to_json(value)
    except (PydanticCustomError, ValueError):
        return False
    return len(text) <= TRAINING_TEXT_CHARS_MAX


def _clean_beginning(text: str, limit: int) -> str:
    """So many characters of a text without its secrets, which are looked for a good way beyond
    them. A word that is cut there is left out.
    """
    beginning = text[: limit + TRAINING_TEXT_CHARS_MAX]
    if len(beginning) < len(text):
        beginning = beginning.rsplit(None, 1)[0]
    return redact(beginning)[0][:limit]
