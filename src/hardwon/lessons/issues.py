"""What makes two issues the same, and two fixes the same way of fixing one.
Pure functions of an issue, or of a fix: signatures, the subject, the strategy.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Any, Final

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.records.kinds import Fix, Issue
from hardwon.text.terms import canonical, hash_parts, share_of_words

# Where a fix that was adopted keeps the signature that it had in the older database.
RECORDED_SIGNATURE: Final = "issue_signature"
_SIGNATURE: Final = re.compile(r"[0-9a-f]{16}")
_PROMPT_CHARS: Final = 50
_REMEMBERED_CHARS: Final = 2_000  # of a prompt: a thousand of them take little room
# a few hundred characters more or less are the same answer
_LENGTH_BUCKETS: Final = (0, 32, 128, 512, 2_048, 8_192)
_VARIANT: Final = re.compile(
    r"[-_.](?:v?\d+(?:\.\d+)?[bm]|v\d+(?:\.\d+)*|\d+x\d+b|latest|instruct|chat|preview|base|it|gguf|awq|gptq|fp\d+|bf\d+|int\d+|q\d(?:_\w+)?"
    r"|\d{4}-?\d{2}-?\d{2}|\d{4})$"
)
_DEGREES_OF_WORDS: Final = (0.1, 0.2, 0.4)  # few, some, many words in common


@lru_cache(maxsize=1_024)
def model_family(name: str) -> str:
    """`Qwen/Qwen2.5-7B-Instruct` and `qwen2.5:7b` are both `qwen2.5`: without maker, tag, size,
    date and packaging.
    """
    family = " ".join(name.casefold().split()).rsplit("/", 1)[-1].split(":", 1)[0]
    while shorter := _VARIANT.sub("", family):
        if shorter == family:
            break
        family = shorter
    return family


def generate_issue_signature(issue: Issue | Mapping[str, Any]) -> str:
    """16 hex characters that are the same for the same kind of issue: its type, the model's family,
    how the prompt begins and how long the response was, roughly. Case, white space and missing keys
    make no difference.
    """
    fields = _read_fields(issue)
    prompt, length = _text(fields, "test_prompt"), len(_text(fields, "actual_response").strip())
    bucket = sum(length > bound for bound in _LENGTH_BUCKETS)
    sign = _sign if len(prompt) <= _REMEMBERED_CHARS else _sign.__wrapped__
    return sign(_text(fields, "issue_type"), _text(fields, "model"), prompt, bucket)


# a record's signature is asked for several times, and the same issues come again
@lru_cache(maxsize=1_024)
def _sign(issue_type: str, model: str, prompt: str, bucket: int) -> str:
    beginning = " ".join(canonical(prompt)[:_PROMPT_CHARS].split())
    return hash_parts(
        "issue", canonical(issue_type) or "custom", model_family(model), beginning, bucket
    )


def fix_history_signature(issue: Issue | Mapping[str, Any]) -> str:
    """The signature by the fix-history document's own formula, for data that was written with it.
    It joins the parts with a separator they may contain and takes the exact length, so use it only
    to find what carries it already.
    """
    fields = _read_fields(issue)
    parts = (
        _text(fields, "issue_type"),
        _text(fields, "model").split(":")[0],
        _text(fields, "test_prompt")[:_PROMPT_CHARS],
        str(len(_text(fields, "actual_response"))),
    )
    return hashlib.md5(
        "|".join(parts).encode(errors="surrogatepass"), usedforsecurity=False
    ).hexdigest()[:16]


def _read_fields(issue: Issue | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(issue, Issue):
        return issue.__dict__
    if not isinstance(issue, Mapping):
        raise InvalidInputError.one("issue", issue, "an object (a mapping) or an Issue")
    return issue


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    return "" if value is None else str(value)


def signature_keys(issue: Issue) -> list[str]:
    """The keys of fixes of this very issue: by our signature, and by the fix-history document's. An
    exact match is a match of either.
    """
    return [
        f"signature:{sign(issue)}" for sign in (generate_issue_signature, fix_history_signature)
    ]


def recorded_signature(fix: Fix) -> str | None:
    """The signature of a fix in the older database that it was adopted from, where what was adopted
    no longer tells it; None where there is none.
    """
    had = (fix.other or {}).get(RECORDED_SIGNATURE)
    return had if isinstance(had, str) and _SIGNATURE.fullmatch(had) else None


def document_signature(fix: Fix) -> str:
    """By the fix-history document's formula; of a fix from an older database the one it had
    there.
    """
    return recorded_signature(fix) or fix_history_signature(fix.issue)


def issue_subject(issue: Issue) -> str | None:
    """What the issue is about, whatever went wrong with it: the prompt, else the description. None
    where neither tells.
    """
    read = partial(canonical, chars_max=limits.TEXT_CHARS_MAX)
    about = read(issue.test_prompt or "") or read(issue.description)
    return hash_parts("subject", about) if about else None


def degree_of_words(done: str, issue: Issue) -> str:
    """How much what is done about an issue speaks of what the issue describes; empty where one of
    them says next to nothing.
    """
    shared = share_of_words(done, issue.description)
    return "" if shared is None else str(sum(shared >= least for least in _DEGREES_OF_WORDS))


def strategy_key(fix: Fix) -> str:
    """What was done about the issue: the commands, else the analysis. Empty where the fix tells
    neither.
    """
    commands = [" ".join(command.split()) for command in fix.fix_commands if command.strip()]
    if commands:
        return hash_parts("commands", *commands)
    analysis = canonical(fix.analysis)
    return hash_parts("analysis", analysis) if analysis else ""


def name_pattern(fix: Fix, signature: str) -> str:
    """The pattern that a fix belongs to, for people; for every signature another."""
    family = fix.issue.model.split(":")[0]
    return f"{fix.issue.issue_type}{f' on {family}' if family else ''} [{signature}]"
