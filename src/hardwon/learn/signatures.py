"""What makes two issues the same issue."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from hardwon.errors import InvalidInputError
from hardwon.learn.canonical import canonical, key_of
from hardwon.model import Issue

_PROMPT_CHARS: Final = 50
_REMEMBERED_CHARS: Final = 2_000  # of a prompt: a thousand of them take little room
_LENGTH_BUCKETS: Final = (0, 32, 128, 512, 2_048, 8_192)  # a few hundred characters more or less are the same answer
_VARIANT: Final = re.compile(
    r"[-_.](?:v?\d+(?:\.\d+)?[bm]|v\d+(?:\.\d+)*|\d+x\d+b|latest|instruct|chat|preview|base|it|gguf|awq|gptq|fp\d+|bf\d+|int\d+|q\d(?:_\w+)?"
    r"|\d{4}-?\d{2}-?\d{2}|\d{4})$"
)


@lru_cache(maxsize=1_024)
def model_family(name: str) -> str:
    """`Qwen/Qwen2.5-7B-Instruct` and `qwen2.5:7b` are both `qwen2.5`: without maker, tag, size, date and packaging."""
    family = " ".join(name.casefold().split()).rsplit("/", 1)[-1].split(":", 1)[0]
    while shorter := _VARIANT.sub("", family):
        if shorter == family:
            break
        family = shorter
    return family


def generate_issue_signature(issue: Issue | Mapping[str, Any]) -> str:
    """16 hex characters that are the same for the same kind of issue: its type, the model's family, how the prompt begins
    and how long the response was, roughly. Case, white space and missing keys make no difference."""
    given = _fields(issue)
    prompt, length = _text(given, "test_prompt"), len(_text(given, "actual_response").strip())
    bucket = sum(length > bound for bound in _LENGTH_BUCKETS)
    sign = _signed if len(prompt) <= _REMEMBERED_CHARS else _signed.__wrapped__
    return sign(_text(given, "issue_type"), _text(given, "model"), prompt, bucket)


@lru_cache(maxsize=1_024)  # a record's signature is asked for several times, and the same issues come again
def _signed(issue_type: str, model: str, prompt: str, bucket: int) -> str:
    beginning = " ".join(canonical(prompt)[:_PROMPT_CHARS].split())
    return key_of("issue", canonical(issue_type) or "custom", model_family(model), beginning, bucket)


def fix_history_signature(issue: Issue | Mapping[str, Any]) -> str:
    """The signature by the fix-history document's own formula, for data that was written with it. It joins the parts with a
    separator they may contain and takes the exact length, so use it only to find what carries it already."""
    given = _fields(issue)
    parts = (
        _text(given, "issue_type"),
        _text(given, "model").split(":")[0],
        _text(given, "test_prompt")[:_PROMPT_CHARS],
        str(len(_text(given, "actual_response"))),
    )
    joined = "|".join(parts).encode(errors="surrogatepass")
    return hashlib.md5(joined, usedforsecurity=False).hexdigest()[:16]


def issue_subject(issue: Issue) -> str | None:
    """What the issue is about, whatever went wrong with it: the prompt, else the description. None where neither tells."""
    about = canonical(issue.test_prompt or "") or canonical(issue.description)
    return key_of("subject", about) if about else None


def _fields(issue: Issue | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(issue, Issue):
        return issue.__dict__
    if not isinstance(issue, Mapping):
        raise InvalidInputError.one("issue", issue, "an object (a mapping) or an Issue")
    return issue


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    return "" if value is None else str(value)
