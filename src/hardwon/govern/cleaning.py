"""A record without its secrets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from pydantic import BaseModel

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.govern.redaction import names_secret, redact, redact_json
from hardwon.model import Event, Experience, Metadata, Record, safe_summary

R = TypeVar("R", bound=Record)

_KEPT_AS_IT_IS: Final = ("id", "kind", "redacted", "recalled")
_FIXED: Final = frozenset({*_KEPT_AS_IT_IS, "outcome", "fact_type"})  # what these may hold is listed, and no secret
_NAMES: Final = frozenset({"tool", "task_id", "fixer_type", "issue_type", "model"})  # few, and the same again and again
_BETWEEN_FIELDS: Final = "\n\0\n"  # NUL is in no field: whatever matches across it is looked at again field by field


def without_secrets(record: R) -> R:
    """The same record where there is nothing to hide; else one whose secrets are placeholders, and that names their labels."""
    texts: list[str] = []
    suspicious = _collect(record, texts)
    everything = _BETWEEN_FIELDS.join(texts)
    if len(everything) > limits.RECORD_BYTES_MAX:
        raise InvalidInputError.one("record", f"{len(everything)} characters", f"at most {limits.RECORD_BYTES_MAX} bytes")
    if suspicious or redact(everything)[1]:
        return _cleaned(record)
    return record


def clean_event(event: Event) -> Event:
    """An event without secrets in what somebody wrote into it."""
    texts = {"by": event.by, "reason": event.reason, "verification_id": event.verification_id}
    clean = {name: redact(text)[0] for name, text in texts.items() if text}
    return event.altered(**clean) if any(clean[name] is not texts[name] for name in clean) else event


def _collect(model: BaseModel, texts: list[str]) -> bool:
    """Gathers every text of a model; whether a key of a free-form object in it names a secret."""
    extra = model.__pydantic_extra__
    suspicious = _collect_json(extra, texts) if extra else False
    for name, value in model.__dict__.items():
        if type(value) is str:
            if name in _NAMES:
                suspicious |= _looks_secret(value)
            elif name not in _FIXED:
                texts.append(value)
        elif type(value) is Metadata:
            suspicious |= _collect_envelope(value, texts)
        elif value is not None:
            suspicious |= _collect_inner(value, texts)
    return suspicious


def _collect_inner(value: Any, texts: list[str]) -> bool:
    if isinstance(value, BaseModel):
        return _collect(value, texts)
    if isinstance(value, dict):
        return _collect_json(value, texts)
    suspicious = False
    if isinstance(value, list):
        for item in value:
            if type(item) is str:
                texts.append(item)
            elif isinstance(item, BaseModel):
                suspicious |= _collect(item, texts)
    return suspicious


def _collect_envelope(metadata: Metadata, texts: list[str]) -> bool:
    source, moment, validation = metadata.source, metadata.context, metadata.validation
    texts += metadata.tags
    for file in moment.related_files:
        texts += (file.path, file.hash)
    if source.id:
        texts.append(source.id)
    if validation.verification_id or validation.failure_hash:
        texts += (validation.verification_id or "", validation.failure_hash or "")
    return _looks_secret(source.author) or _looks_secret(moment.git_commit) or _looks_secret(moment.git_branch)


class _Known(dict[str, bool]):
    """What was found out about short names. Forgets all of them when it is full, which costs less than to choose."""

    def __init__(self, find_out: Callable[[str], bool]) -> None:
        self._find_out = find_out

    def __missing__(self, name: str) -> bool:
        if len(self) >= _KNOWN_NAMES_MAX:
            self.clear()
        found = self._find_out(name)
        if len(name) <= limits.NAME_CHARS_MAX:
            self[name] = found
        return found


_KNOWN_NAMES_MAX: Final = 4_096
_looks_secret = _Known(lambda name: bool(redact(name)[1])).__getitem__
_names_or_holds_secret = _Known(lambda key: names_secret(key) or bool(redact(key)[1])).__getitem__


def _collect_json(value: Any, texts: list[str]) -> bool:
    if isinstance(value, str):
        texts.append(value)
        return False
    suspicious = False
    if isinstance(value, list):
        for item in value:
            suspicious |= _collect_json(item, texts)
    elif isinstance(value, dict):
        for key, item in value.items():
            suspicious |= _names_or_holds_secret(key)
            if type(item) is str:
                texts.append(item)
            else:
                suspicious |= _collect_json(item, texts)
    return suspicious


def _cleaned(record: R) -> R:
    data = record.model_dump(mode="json", exclude_none=True)
    kept = {name: data.pop(name) for name in _KEPT_AS_IT_IS if name in data}
    project = data["metadata"].pop("project_id")
    if isinstance(record, Experience) and record.summary == _generated_summary(record.content):
        del data["summary"]  # it may hold the beginning of the secret: made anew from the cleaned content
    cleaned, labels = redact_json(data)
    if not labels:
        return record
    assert isinstance(cleaned, dict)  # noqa: S101  # for type checkers: an object stays an object
    cleaned["metadata"] = cleaned["metadata"] | {"project_id": project}
    found = sorted({*labels, *(record.redacted or ())})
    return type(record).model_validate({**cleaned, **kept, "redacted": found})


def _generated_summary(content: str) -> str:
    return safe_summary(content[: limits.SUMMARY_FROM_CONTENT_CHARS])
