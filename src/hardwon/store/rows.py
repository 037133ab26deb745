"""Records as rows and back. Everything a row holds beside the body is derived here, so `doctor` can derive it again.

Bodies of records packed away: compressed, and still the same record to whoever reads it.

A packed body is a JSON object as well. Beside the packed text it has what SQL asks of a body without reading the record, and
the decision that packed it.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any, Final

from hardwon import limits
from hardwon.errors import DamagedError, InvalidInputError
from hardwon.learn.fix_rows import entry_of, shortened, summary_of
from hardwon.learn.tallies import has_keys, keys_of, tallies_of, tidied_key
from hardwon.outside.locations import DEFAULT_PROJECT
from hardwon.records.kinds import (
    MODEL_OF_KIND,
    AnyRecord,
    Cleaned,
    Decision,
    Episode,
    Event,
    Experience,
    Fix,
    Record,
    Validation,
)
from hardwon.search.terms import searchable_text
from hardwon.store.types import Row, Stored
from hardwon.text.terms import index_text

# ---- rows ------------------------------------------------------------

FIX_KINDS: Final = ("fix", "cleaned")
"""A fix, and what is left of one that left the history."""


def digest_of(body: bytes) -> bytes:
    """Tells a damaged body from a sound one. Not a signature: whoever can write the file can write a digest."""
    return blake2b(body, digest_size=8).digest()


def row_of(record: Record, effective: Validation | None = None, credited: tuple[int, int] = (0, 0)) -> Row:
    """The row of a record whose events add up to `effective` (None: it has no events) and to these credits."""
    try:
        body = record.to_json_bytes()
    except ValueError as error:  # something put into the record after it was checked
        raise InvalidInputError.one("record", record.id, f"values that JSON can hold ({error})") from None
    if len(body) > limits.RECORD_BYTES_MAX and not isinstance(record, Cleaned):  # it holds one that was small enough
        raise InvalidInputError.one("record", f"{len(body)} bytes", f"at most {limits.RECORD_BYTES_MAX} bytes")
    outcome: str | None = None
    tool = task_id = model = issue_type = None
    if isinstance(record, Experience):
        if not record.unrouted:
            outcome, tool = record.outcome, record.tool
        task_id = record.extra.get("task_id")
    elif isinstance(record, Episode):
        task_id = record.task_id
    elif isinstance(record, Decision):
        outcome, task_id = record.action, record.task_id  # a decision is looked up by what it does
    elif isinstance(record, Fix):
        model, issue_type = record.issue.model, record.issue.issue_type
    elif isinstance(record, Cleaned):
        model, issue_type = record.model, record.issue_type
    metadata = record.metadata
    envelope = metadata.validation
    return Row(
        metadata.project_id,
        record.id,
        record.kind,
        record.at_us,
        metadata.source.author,
        outcome,
        tool,
        task_id if isinstance(task_id, str) else None,
        model,
        issue_type,
        body.decode(),
        digest_of(body),
        (effective or envelope).status,
        effective.to_json() if effective and effective != envelope else None,
        index_text(searchable_text(record)),
        tuple(sorted(set(metadata.tags))) if metadata.tags else (),
        tuple(sorted({file.path for file in metadata.context.related_files})) if metadata.context.related_files else (),
        keys_of(record) if has_keys(record) else (),
        *credited,
        tallies_of(record),
        entry_of(record) if record.kind in FIX_KINDS and metadata.project_id == DEFAULT_PROJECT else None,
    )


def packed_row(row: Row, fix: Fix, decision_id: str) -> Row:
    """The row of a fix whose details are packed away: found by its summary, and shown shortened."""
    return row._replace(
        body=packed_body(row.body, decision_id),
        terms=index_text(summary_of(fix)),
        keys=tuple(sorted({*row.keys, tidied_key(decision_id)})),
        fix=row.fix and shortened(row.fix),
    )


def kept_row(stored: Stored | Row, record: AnyRecord, effective: Validation | None, credited: tuple[int, int]) -> Row:
    """The row that a record is kept in. Another version may write the same record as other JSON: what was written stays, and
    what was packed stays packed."""
    row = row_of(record, effective, credited)._replace(body=sound_body(stored), digest=stored.digest)
    if is_packed(stored.body) and isinstance(record, Fix):
        return packed_row(row, record, packed_by(stored.body))._replace(body=stored.body)
    return row


def sound_body(stored: Stored | Row) -> str:
    """The body, if it is what was written."""
    try:
        body = plain_body(stored.body)
    except (ValueError, KeyError):
        raise _damaged(stored) from None
    if digest_of(body.encode()) != stored.digest:
        raise _damaged(stored)
    return body


def is_whole(body: str, digest: bytes) -> bool:
    """Whether a body, packed or not, is what was written."""
    try:
        return digest_of(plain_body(body).encode()) == digest
    except (ValueError, KeyError):
        return False


def event_of(body: str) -> Event:
    """An event from the JSON that is kept of it."""
    try:
        return Event.model_validate_json(body)
    except InvalidInputError as error:
        raise DamagedError(
            f"an event is not what was written ({error}): the file was damaged on disk. Run doctor to see how much is "
            "affected, and restore a backup"
        ) from None


def untrue_events(rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    """Of rows of events (id, record_id, kind, at_us, body), the ids of those whose columns say something else than the body."""
    for event_id, record_id, kind, at_us, body in rows:
        try:
            event = event_of(body)
        except DamagedError:
            yield event_id
            continue
        if (event.id, event.record_id, event.kind, event.at_us) != (event_id, record_id, kind, at_us):
            yield event_id


def restored(stored: Stored) -> Stored | None:
    """As it was before it was packed away, or left the history; itself where it never was. None: it is gone for good."""
    if stored.kind != "cleaned":
        return stored._replace(body=sound_body(stored))
    record = original_of(stored)
    if not isinstance(record, Cleaned) or record.packed is None:
        return None
    try:
        body = unpack(record.packed)
    except ValueError:
        raise _damaged(stored) from None
    return stored._replace(kind="fix", body=body, digest=digest_of(body.encode()))


def original_of(stored: Stored | Row) -> AnyRecord:
    """The record as it was appended, whatever happened to it since."""
    if stored.kind not in MODEL_OF_KIND:
        raise _damaged(stored)
    try:
        record = MODEL_OF_KIND[stored.kind].model_validate_json(sound_body(stored))
    except InvalidInputError as error:
        raise DamagedError(f"record {stored.id} cannot be read by this version: {error}") from None
    if record.id != stored.id:  # a damaged index leads to another, sound record
        raise _damaged(stored)
    return record


def record_of(stored: Stored) -> AnyRecord:
    """The record as a reader sees it now."""
    record = original_of(stored)
    if stored.validation is None:
        return record
    try:
        validation = Validation.model_validate_json(stored.validation)
    except InvalidInputError:
        raise _damaged(stored) from None
    return record.altered(metadata=record.metadata.altered(validation=validation))


def written_in(stored: Stored) -> dict[str, Any]:
    """What a record says, as it was written: for whoever wants little of very many, and need not check again what was checked
    when it was recorded."""
    try:
        said: dict[str, Any] = json.loads(sound_body(stored))
        if said["id"] == stored.id:
            return said
    except (ValueError, KeyError, TypeError):
        pass
    raise _damaged(stored)


def _damaged(stored: Stored | Row) -> DamagedError:
    return DamagedError(
        f"record {stored.id} is not what was written: the file was damaged on disk. "
        "Run doctor to see how much is affected, and restore a backup"
    )


# ---- packing ------------------------------------------------------------

# What bodies of fixes have in common. Every packed body needs it to be read again: it is never changed, only replaced by
# another under a new mark.
_COMMON: Final = (
    b'"source":{"type":"agent_execution","id":"","author":""},"context":{"timestamp":"2026-01-01T00:00:00.000000Z",'
    b'"git_commit":"","git_branch":"","related_files":[]},"validation":{"status":"hypothesis"},"tags":[],"project_id":"default"},'
    b'"issue":{"model":"qwen2.5:7b","issue_type":"UNEXPECTED_RESPONSE","issue_type":"MODEL_NOT_AVAILABLE","issue_type":"TIMEOUT",'
    b'"description":"","error_output":"","test_prompt":"","expected_pattern":"","actual_response":"","test_environment":{}},'
    b'"analysis":"","fix_commands":["ollama pull systemctl restart ollama"],"fix_success":true,"verification_success":false,'
    b'"execution_time_seconds":1.0,"system_info":{"os":"Linux","ram_gb":16,"gpu_available":true,"ollama_version":"0.1.17"},'
    b'"notes":"","fixer_type":"claude","confidence":0.85}{"kind":"fix","id":"01'
)
_MARK: Final = "1:"
_BEGINNING: Final = '{"packed":"'
_ASKED_FOR: Final = ("fix_success", "verification_success")


def pack(text: str) -> str:
    packer = zlib.compressobj(9, zdict=_COMMON)
    return _MARK + b64encode(packer.compress(text.encode()) + packer.flush()).decode()


def unpack(packed: str) -> str:
    """ValueError where it is not what was packed. A few bytes can stand for many: no more is unpacked than a record can be."""
    if not packed.startswith(_MARK):
        raise ValueError("packed by a newer version")
    unpacker = zlib.decompressobj(zdict=_COMMON)
    try:
        text = unpacker.decompress(b64decode(packed[len(_MARK) :], validate=True), limits.BODY_BYTES_MAX)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if not unpacker.eof:
        raise ValueError("its end is missing, or it is larger than any record")
    return text.decode()


def packed_body(body: str, decision_id: str) -> str:
    given = json.loads(body)
    asked_for = {name: given[name] for name in _ASKED_FOR if name in given}
    return json.dumps({"packed": pack(body), "decision": decision_id, **asked_for}, separators=(",", ":"))


def is_packed(body: str) -> bool:
    """No record's own JSON begins like this."""
    return body.startswith(_BEGINNING)


def plain_body(body: str) -> str:
    """The body as it was written, packed or not."""
    return unpack(json.loads(body)["packed"]) if is_packed(body) else body


def packed_by(body: str) -> str:
    """The decision that packed it."""
    return str(json.loads(body)["decision"])
