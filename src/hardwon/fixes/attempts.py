"""What a fixer hands in becomes a fix.

An issue and a fixer's reply come from programs and language models, and nothing that is wrong with
them may lose an attempt: what has no place, or is not what its place is for, is kept under `other`,
bounded, and the rest is recorded. What the caller says himself (whether it was applied, whether it
was verified, how long it took, who did it) must be right.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import count
from typing import Any, Final

from pydantic_core import PydanticCustomError

from hardwon import limits
from hardwon.errors import InvalidInputError, ask_foreign
from hardwon.lessons.issues import RECORDED_SIGNATURE
from hardwon.records.fields import check_json, check_that
from hardwon.records.kinds import Fix, Issue
from hardwon.trust.redact import redact

# What a fixer's reply said beside the keys that have a place. A model that goes on and on must not
# fill the memory.
FIX_OTHER_CHARS_MAX: Final = 20_000

# Values, all levels together, in what a reply said beside.
FIX_OTHER_VALUES_MAX: Final = 1_000

_ISSUE_NAMES: Final = ("model", "issue_type", "fixer_type")
_ISSUE_TEXTS: Final = tuple(
    "description error_output test_prompt expected_pattern actual_response timestamp".split()
)
_ENVIRONMENT: Final = "test_environment"
_REPLY: Final = "ai_response"


class AttemptInput:
    """One attempt as it can be recorded. `cut` names what was longer than its place; `has_reply` is
    false where the reply was no mapping, and is kept aside as it was; a text, also as the analysis.
    """

    def __init__(self, issue_data: Any, ai_response: Any, notes: Any = None) -> None:
        self._room = limits.FIX_CHARS_MAX
        self.cut: list[str] = []
        self._other: dict[str, Any] = {}
        issue, reply = readable("issue_data", issue_data), _pairs(ai_response)
        self.has_reply = reply is not None
        if reply is None:
            self._other[_REPLY] = ai_response
            is_said = isinstance(ai_response, str) and ai_response.strip()
            reply = {"analysis": ai_response} if is_said else {}
        # In the order of what they are worth: whoever comes last finds the room taken.
        names: dict[str, Any] = {
            name: self._fit(name, as_name(issue.pop(name)), limits.NAME_CHARS_MAX).strip()
            for name in _ISSUE_NAMES
            if name in issue
        }
        described = self._take_text("description", issue)
        self.fields: dict[str, Any] = {
            "analysis": self._take_text("analysis", reply),
            "fix_commands": self._list("fix_commands", reply),
            "verification_steps": self._list("verification_steps", reply) or None,
            "expected_outcome": self._take_text("expected_outcome", reply) or None,
            "notes": None if notes is None else self._text("notes", notes),
        }
        fix_type: Any = reply.get("fix_type")
        confidence: Any = reply.get("confidence")
        if isinstance(fix_type, str) and len(fix_type) <= limits.NAME_CHARS_MAX:
            self.fields["fix_type"] = as_name(reply.pop("fix_type")).strip() or None
        if type(confidence) in (int, float) and 0 <= confidence <= 1:
            self.fields["confidence"] = reply.pop("confidence")
        texts = {name: self._take_text(name, issue) for name in _ISSUE_TEXTS if name in issue}
        # where the issue names no machine, this one is to be described
        environment = issue.pop(_ENVIRONMENT, None)
        machine = self._as_json(_ENVIRONMENT, environment, FIX_OTHER_CHARS_MAX)
        self.system_info = machine if isinstance(machine, dict) and machine else None
        if environment and not self.system_info:
            self._set_aside(_ENVIRONMENT, environment)
        # keys of the caller's own, as far as an issue may have them
        fit = [key for key in issue if 0 < len(key) <= limits.KEY_CHARS_MAX and key.isprintable()]
        own = {key: issue.pop(key) for key in fit[: limits.EXTRA_KEYS_MAX]}
        for name, value in issue.items():
            self._set_aside(f"issue.{name}", value)
        known = {name: text for name, text in names.items() if text}
        known |= {**texts, "description": described}
        self.issue = Issue.model_validate({**self._bound_values("issue_data", own), **known})
        for name, value in reply.items():
            self._set_aside(name, value)
        self.fields["other"] = self._bound_values(_REPLY, self._other) or None

    def _fit(self, field: str, text: str, most: int) -> str:
        """As much of the text as there is room for."""
        kept = text[: max(0, min(most, self._room))]
        if len(kept) < len(text):
            self.cut.append(field)
        self._room -= len(kept)
        return kept

    def _text(self, field: str, value: Any) -> str:
        return self._fit(field, as_text(value), limits.TEXT_CHARS_MAX)

    def _take_text(self, field: str, fields: dict[str, Any]) -> str:
        return self._text(field, fields.pop(field, ""))

    def _list(self, field: str, reply: dict[str, Any]) -> list[str]:
        """A single text is a list of one. Of another list its texts; then the whole of it is kept
        aside as well.
        """
        value = reply.pop(field, None)
        if isinstance(value, str):
            value = [value] if value.strip() else []
        items = list(value) if isinstance(value, list | tuple) else []
        texts = [item for item in items if isinstance(item, str)][: limits.ITEMS_MAX]
        if value is not None and (not isinstance(value, list | tuple) or len(texts) < len(items)):
            self._set_aside(field, value)
        return [kept for kept in (self._text(field, text) for text in texts) if kept]

    def _set_aside(self, name: str, value: Any) -> None:
        """Keeps what has no place, under a name that is not taken."""
        key = as_text(name)[: limits.KEY_CHARS_MAX]
        if key == RECORDED_SIGNATURE:
            # under its own name it would be believed: adopted fixes have it there
            key = f"reply.{key}"
        suffixes = (f" {number}" for number in count(2))
        while key in self._other:
            suffix = next(suffixes)
            key = key[: limits.KEY_CHARS_MAX - len(suffix)] + suffix
        self._other[key] = value

    def _bound_values(self, field: str, values: dict[str, Any]) -> dict[str, Any]:
        """As many of the values as there is room for."""
        room = whole = max(0, min(self._room, FIX_OTHER_CHARS_MAX))
        bounded: dict[str, Any] = {}
        for key, value in list(values.items())[:FIX_OTHER_VALUES_MAX]:
            bounded[key] = self._as_json(field, value, room)
            room -= len(key) + len(json.dumps(bounded[key], ensure_ascii=False))
            if room <= 0:
                break
        if len(bounded) < len(values):
            self.cut.append(field)
        self._room -= whole - max(0, room)
        return bounded

    def _as_json(self, field: str, value: Any, most: int) -> Any:
        """The value as JSON can hold it; the beginning of its text where it is too large, or too
        deep.
        """
        if value is None:
            return None
        text = as_text(value)
        try:
            plain = text if isinstance(value, str) else json.loads(text)
            if len(text) <= most:
                check_json([[[[plain]]]])  # it lies as deep in a record
                return plain
        except (ValueError, RecursionError, PydanticCustomError):
            pass
        if len(text) > most:
            self.cut.append(field)
        return text[:most]


def fix_from(
    attempt: AttemptInput,
    fix_success: Any,
    verification_success: Any,
    execution_time: Any,
    fixer_type: Any,
    system_info: Mapping[str, Any],
    **envelope: Any,
) -> Fix:
    """The record. `system_info` describes this machine, for an issue that names no other. A time that
    is none is kept aside as it was.
    """
    seconds = check_seconds("execution_time", execution_time)
    if seconds is None and execution_time is not None:
        aside = {"execution_time": as_text(plain_number(execution_time))}
        attempt.fields["other"] = {**(attempt.fields["other"] or {}), **aside}
    return Fix(
        issue=attempt.issue,
        fix_success=check_success("fix_success", fix_success),
        verification_success=check_success("verification_success", verification_success),
        execution_time_seconds=seconds,
        fixer_type=check_fixer("fixer_type", fixer_type),
        system_info=dict(system_info) if attempt.system_info is None else attempt.system_info,
        **attempt.fields,
        **envelope,
    )


def issue_from(issue_data: Any) -> Issue:
    """An issue that is asked about, as it would be recorded: without its secrets, for so they are
    kept.
    """
    issue = AttemptInput(issue_data, {}).issue
    texts = {name: getattr(issue, name) for name in ("model", "issue_type", *_ISSUE_TEXTS)}
    return issue.copy_with(**{name: redact(text)[0] for name, text in texts.items() if text})


def check_success(field: str, value: Any) -> bool:
    """True or false, which may be written 1 or 0, and be another library's."""
    plain = plain_number(value)
    if isinstance(plain, int) and plain in (0, 1):
        return bool(plain)
    raise InvalidInputError.one(field, value, "true or false")


def check_seconds(field: str, value: Any) -> float | None:
    """How long something took; None where nobody says, or the number is no duration."""
    plain = plain_number(value)
    if plain is None:
        return None
    if type(plain) not in (int, float):
        raise InvalidInputError.one(field, value, "a number of seconds, 0 or more, or nothing")
    return float(plain) if 0 <= plain <= limits.JSON_INT_ABS_MAX else None


def plain_number(value: Any) -> Any:
    """The number of Python's own that one of numpy's or its like stands for; else the value."""
    item = getattr(value, "item", None)
    return ask_foreign(item, value) if callable(item) else value


def check_fixer(field: str, value: Any) -> str:
    """Whoever tried it, by any name. It is also the source that the attempt counts as: what only
    looks like another name, for blanks around it or characters that nobody sees, is none of its
    own.
    """
    name = str.__str__(value).strip() if isinstance(value, str) else ""
    most = limits.NAME_CHARS_MAX
    allowed = f"text of 1 to {most} visible characters on one line, not blank, such as claude"
    check_that(name and name.isprintable() and len(name) <= most, field, value, allowed)
    return name


def readable(field: str, value: Any) -> dict[str, Any]:
    """A mapping as a plain dict with texts for keys, without what is None."""
    pairs = _pairs(value)
    check_that(pairs is not None, field, value, "an object (a mapping) that can be read")
    return pairs or {}


def _pairs(value: Any) -> dict[str, Any] | None:
    """The same; None of what is no mapping, or cannot be read."""
    if not isinstance(value, Mapping):
        return None
    pairs = ((key, value[key]) for key in value)
    return ask_foreign(lambda: {as_text(key): one for key, one in pairs if one is not None}, None)


def as_text(value: Any) -> str:
    """Text as a record can hold it; of anything else, its JSON or what it says of itself."""
    if value is None:
        return ""
    if isinstance(value, str):
        text = str.__str__(value)
    elif isinstance(value, bytes | bytearray):
        text = value.decode(errors="replace")
    else:
        # what is circular, too deep, or has a __str__ that fails, says only what it is
        text = ask_foreign(
            lambda: json.dumps(value, ensure_ascii=False, default=str), f"<{type(value).__name__}>"
        )
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\ufffd").encode(errors="surrogatepass").decode(errors="replace")


def as_name(value: Any) -> str:
    """A name on one line."""
    text = as_text(value)[: limits.TEXT_CHARS_MAX]
    if text.isprintable():
        return text
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
