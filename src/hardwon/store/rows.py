"""Records as rows and back. Everything a row holds beside the body is derived here, so `doctor` can derive it again."""

from __future__ import annotations

from hashlib import blake2b

from hardwon import limits
from hardwon.errors import DamagedError, InvalidInputError
from hardwon.learn.lessons import has_keys, keys_of, lessons_of
from hardwon.model import MODEL_OF_KIND, AnyRecord, Decision, Episode, Experience, Fix, Record, Validation
from hardwon.recall.searchable import searchable_text
from hardwon.recall.terms import index_text
from hardwon.store.contract import Row, Stored


def digest_of(body: bytes) -> bytes:
    """Tells a damaged body from a sound one. Not a signature: whoever can write the file can write a digest."""
    return blake2b(body, digest_size=8).digest()


def row_of(record: Record, effective: Validation | None = None, credited: tuple[int, int] = (0, 0)) -> Row:
    """The row of a record whose events add up to `effective` (None: it has no events) and to these credits."""
    try:
        body = record.to_json_bytes()
    except ValueError as error:  # something put into the record after it was checked
        raise InvalidInputError.one("record", record.id, f"values that JSON can hold ({error})") from None
    if len(body) > limits.RECORD_BYTES_MAX:
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
        lessons_of(record),
    )


def sound_body(stored: Stored | Row) -> str:
    """The body, if it is what was written."""
    if digest_of(stored.body.encode()) != stored.digest:
        raise _damaged(stored)
    return stored.body


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


def _damaged(stored: Stored | Row) -> DamagedError:
    return DamagedError(
        f"record {stored.id} is not what was written: the file was damaged on disk. "
        "Run doctor to see how much is affected, and restore a backup"
    )
