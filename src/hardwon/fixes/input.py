"""What callers of fix history hand in, as the fields of a `Fix`; and what machine this is, for the
same fix works on one and not on another.

An issue and a fixer's reply come from programs and language models, and nothing that is wrong with
them may lose an attempt: what has no place, or is not what its place is for, is kept under `other`,
bounded, and the rest is recorded. What the caller says himself (whether it was applied, whether it
was verified, how long it took, who did it) must be right.
"""

from __future__ import annotations

import json
import math
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

from hardwon import limits
from hardwon.errors import InvalidInputError, ask_foreign
from hardwon.learn.tallies import RECORDED_SIGNATURE
from hardwon.records.kinds import Fix, Issue
from hardwon.trust.redact import redact

_GPU_SIGNS: Final = (
    "/proc/driver/nvidia",
    "/dev/nvidia0",
    "/dev/nvidiactl",
    "/dev/kfd",
    "/dev/dxg",
)
_VERSION: Final = re.compile(r"\d+(?:\.\d+)+[-+.\w]*")
_ISSUE_NAMES: Final = ("model", "issue_type", "fixer_type")
_ISSUE_TEXTS: Final = (
    "description",
    "error_output",
    "test_prompt",
    "expected_pattern",
    "actual_response",
    "timestamp",
)
_ENVIRONMENT: Final = "test_environment"
_REPLY: Final = "ai_response"
_DEEPEST: Final = limits.JSON_DEPTH_MAX - 4  # of a value inside `other`, which is inside a record
_T = TypeVar("_T")


def system_info() -> dict[str, Any]:
    """`os`, `ram_gb`, `gpu_available`, and `ollama_version` where there is one. Found out once per
    process; what cannot be found out is left out.
    """
    return dict(_collected())


@cache
def _collected() -> dict[str, Any]:
    found: dict[str, Any] = {"os": platform.system() or "unknown"}
    with suppress(AttributeError, OSError, ValueError):
        ram_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if ram_bytes > 0:
            found["ram_gb"] = round(ram_bytes / limits.GIB)
    found["gpu_available"] = (
        platform.machine() == "arm64"
        if platform.system() == "Darwin"
        # by the drivers' own files: asking a driver can take seconds
        else any(Path(sign).exists() for sign in _GPU_SIGNS)
    )
    if program := shutil.which("ollama"):
        with suppress(OSError, subprocess.SubprocessError):
            done = subprocess.run(  # noqa: S603  # nosec B603  # a program of the user's own, without input of anybody's
                [program, "--version"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=limits.OLLAMA_VERSION_TIMEOUT_S,
                check=False,
            )
            # It warns of a server that does not run before it tells the version of the client.
            if versions := _VERSION.findall(done.stdout.decode(errors="replace")):
                found["ollama_version"] = versions[-1][: limits.NAME_CHARS_MAX]
    return found


class FixHistoryWarning(UserWarning):
    """Something of an attempt was not kept as it was given; the attempt itself was."""


class CutWarning(FixHistoryWarning):
    """A text was longer than a record can hold. Its beginning was kept."""


class AttemptInput:
    """One attempt as it can be recorded. `cut` names what was longer than its place; `has_reply` is
    false where the reply was no mapping, and is kept aside as it was; a text, also as the analysis.
    """

    def __init__(self, issue_data: Any, ai_response: Any, notes: Any = None) -> None:
        self._room = limits.FIX_CHARS_MAX
        self._values = 0
        self.cut: list[str] = []
        self._other: dict[str, Any] = {}
        given, reply = readable("issue_data", issue_data), _pairs(ai_response)
        self.has_reply = reply is not None
        if reply is None:
            self._other[_REPLY] = ai_response
            is_text = isinstance(ai_response, str) and ai_response.strip()
            reply = {"analysis": ai_response} if is_text else {}
        # In the order of what they are worth: whoever comes last finds the room taken.
        names = {
            name: self._room_for(name, as_name(given.pop(name)), limits.NAME_CHARS_MAX).strip()
            for name in _ISSUE_NAMES
            if name in given
        }
        texts = {"description": self._text("description", given.pop("description", ""))}
        self.fields: dict[str, Any] = {
            "analysis": self._text("analysis", reply.pop("analysis", "")),
            "fix_commands": self._list("fix_commands", reply.pop("fix_commands", None)),
            "verification_steps": self._list(
                "verification_steps", reply.pop("verification_steps", None)
            )
            or None,
            "expected_outcome": self._text("expected_outcome", reply.pop("expected_outcome", ""))
            or None,
            "notes": None if notes is None else self._text("notes", notes),
        }
        fix_type, confidence = reply.pop("fix_type", None), reply.pop("confidence", None)
        is_name = isinstance(fix_type, str) and len(fix_type) <= limits.NAME_CHARS_MAX
        is_share = _is_plain_number(confidence) and 0 <= confidence <= 1
        self.fields["fix_type"] = (
            as_name(self._keep_if(is_name, "fix_type", fix_type)).strip() or None
        )
        self.fields["confidence"] = self._keep_if(is_share, "confidence", confidence)
        # where the issue names none, this machine is to be described
        environment = given.pop(_ENVIRONMENT, None)
        found = _pairs(environment)
        self._keep_if(found is not None, _ENVIRONMENT, environment)
        self.system_info = self._bounded(_ENVIRONMENT, found or {}) or None
        texts |= {name: self._text(name, given.pop(name)) for name in _ISSUE_TEXTS if name in given}
        own = self._bounded("issue_data", self._own_keys(given))
        self.issue = Issue.model_validate(
            {**own, **texts, **{name: text for name, text in names.items() if text}}
        )
        for name, value in reply.items():
            self._set_aside(name, value)
        kept = self._bounded(_REPLY, self._other)
        if not self.has_reply:
            kept.setdefault(_REPLY, None)  # nothing at all was replied, which is a reply as well
        self.fields["other"] = kept or None

    # --- one field each ---

    def _room_for(self, field: str, text: str, most: int) -> str:
        kept = text[: max(0, min(most, self._room))]
        if len(kept) < len(text):
            self.cut.append(field)
        self._room -= len(kept)
        return kept

    def _text(self, field: str, value: Any) -> str:
        return self._room_for(field, as_text(value), limits.TEXT_CHARS_MAX)

    def _list(self, field: str, value: Any) -> list[str]:
        """A single text is a list of one. Of another list its texts; then the whole of it is kept
        aside as well.
        """
        if value is None or isinstance(value, str):
            return [self._text(field, value)] if (value or "").strip() else []
        given = _some(value)
        if given is None:
            self._set_aside(field, value)
            return []
        texts = [item for item in given if isinstance(item, str)][: limits.ITEMS_MAX]
        if len(texts) < len(given):
            self._set_aside(field, given)
        return [kept for kept in (self._text(field, text) for text in texts) if kept]

    def _own_keys(self, given: dict[str, Any]) -> dict[str, Any]:
        """Keys of the caller's own, as far as an issue may have them."""
        own: dict[str, Any] = {}
        for name, value in given.items():
            fits = 0 < len(name) <= limits.KEY_CHARS_MAX and name.isprintable()
            if fits and len(own) < limits.EXTRA_KEYS_MAX:
                own[name] = value
            else:
                self._set_aside(f"issue.{name}", value)
        return own

    # --- what has no place ---

    def _keep_if(self, fits: bool, name: str, value: Any) -> Any:
        """What fits its place; what does not is kept aside."""
        if not fits and value is not None:
            self._set_aside(name, value)
        return value if fits else None

    def _set_aside(self, name: str, value: Any) -> None:
        key = as_text(name)[: limits.KEY_CHARS_MAX]
        if key == RECORDED_SIGNATURE:
            # under its own name it would be believed: adopted fixes have it there
            key = f"reply.{key}"
        number = 2
        while key in self._other:
            suffix = f" {number}"
            key, number = key[: limits.KEY_CHARS_MAX - len(suffix)] + suffix, number + 1
        self._other[key] = value

    def _bounded(self, field: str, value: dict[str, Any]) -> dict[str, Any]:
        before = self._room
        self._room = given = min(before, limits.FIX_OTHER_CHARS_MAX)
        self._values = limits.FIX_OTHER_VALUES_MAX
        kept: dict[str, Any] = self._json(field, value)
        self._room = before - (given - self._room)
        return kept

    def _json(self, field: str, value: Any, depth: int = 0) -> Any:
        """The value as JSON can hold it, as far as there is room."""
        self._values -= 1
        if value is None or isinstance(value, bool) or _is_plain_number(value):
            return value
        if depth < _DEEPEST and (pairs := _pairs(value)) is not None:
            return {
                self._room_for(field, key, limits.KEY_CHARS_MAX): self._json(
                    field, inner, depth + 1
                )
                for key, inner in self._while_room(field, pairs.items())
            }
        if depth < _DEEPEST and (items := _some(value)) is not None:
            return [self._json(field, inner, depth + 1) for inner in self._while_room(field, items)]
        return self._room_for(field, as_text(value), limits.TEXT_CHARS_MAX)

    def _while_room(self, field: str, items: Iterable[_T]) -> Iterator[_T]:
        for item in items:
            if self._values <= 0 or self._room <= 0:
                self.cut.append(field)
                return
            yield item


def fix_from(
    attempt: AttemptInput,
    fix_success: Any,
    verification_success: Any,
    execution_time: Any,
    fixer_type: Any,
    system_info: Mapping[str, Any],
    **envelope: Any,
) -> Fix:
    """The record. `system_info` describes this machine, for an issue that names no other."""
    return Fix(
        issue=attempt.issue,
        fix_success=flag("fix_success", fix_success),
        verification_success=flag("verification_success", verification_success),
        execution_time_seconds=seconds("execution_time", execution_time),
        fixer_type=fixer("fixer_type", fixer_type),
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
    return issue.altered(**{name: redact(text)[0] for name, text in texts.items() if text})


# --- what the caller says himself ---


def flag(field: str, value: Any) -> bool:
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    raise InvalidInputError.one(field, value, "true or false")


def seconds(field: str, value: Any) -> float | None:
    if value is None:
        return None
    if (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and 0 <= value <= limits.JSON_INT_ABS_MAX
    ):
        return float(value)
    raise InvalidInputError.one(field, value, "a finite number of seconds, 0 or more, or nothing")


def fixer(field: str, value: Any) -> str:
    """Whoever tried it, by any name. It is also the source that the attempt counts as: what only
    looks like another name, for blanks around it or characters that nobody sees, is none of its
    own.
    """
    name = str.__str__(value).strip() if isinstance(value, str) else ""
    if name and name.isprintable() and len(name) <= limits.NAME_CHARS_MAX:
        return name
    allowed = f"text of 1 to {limits.NAME_CHARS_MAX} visible characters on one line, not blank, such as claude or qwen"
    raise InvalidInputError.one(field, value, allowed)


# --- whatever somebody's program gives ---


def readable(field: str, value: Any) -> dict[str, Any]:
    """A mapping as a plain dict with texts for keys, without what is None."""
    found = _pairs(value)
    if found is None:
        raise InvalidInputError.one(field, value, "an object (a mapping) that can be read")
    return found


def _pairs(value: Any) -> dict[str, Any] | None:
    if type(value) is dict:
        return {as_text(key): inner for key, inner in value.items() if inner is not None}
    if not isinstance(value, Mapping):
        return None
    return ask_foreign(
        lambda: {as_text(key): value[key] for key in value if value[key] is not None}, None
    )


def as_text(value: Any) -> str:
    """Text as a record can hold it; of anything else, its JSON or what it says of itself."""
    if value is None:
        return ""
    if isinstance(value, str):
        text = str.__str__(value)
    elif isinstance(value, bytes | bytearray):
        text = bytes(value[: limits.TEXT_CHARS_MAX]).decode(errors="replace")
    else:
        # what is circular, too deep, or has a __str__ that fails, says only what it is
        text = ask_foreign(
            lambda: json.dumps(value, ensure_ascii=False, default=str),
            f"<{type(value).__name__}>",
        )[: limits.TEXT_CHARS_MAX]
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\ufffd").encode(errors="surrogatepass").decode(errors="replace")


def as_name(value: Any) -> str:
    """A name on one line."""
    text = as_text(value)[: limits.TEXT_CHARS_MAX]
    return (
        text
        if text.isprintable()
        else " ".join("".join(char if char.isprintable() else " " for char in text).split())
    )


def _is_plain_number(value: Any) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) <= limits.JSON_INT_ABS_MAX
    return isinstance(value, float) and math.isfinite(value)


def _some(value: Any) -> list[Any] | None:
    """The items of a list, as far as anybody wants them; None of what is none, or cannot be
    read.
    """
    if type(value) is list:
        return value[: limits.ITEMS_MAX + 1]
    if isinstance(value, str | bytes | bytearray | Mapping) or not isinstance(value, Iterable):
        return None
    return ask_foreign(lambda: list(islice(value, limits.ITEMS_MAX + 1)), None)
