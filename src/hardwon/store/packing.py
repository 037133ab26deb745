"""Bodies of records packed away: compressed, and still the same record to whoever reads it.

A packed body is a JSON object as well. Beside the packed text it has what SQL asks of a body without reading the record, and
the decision that packed it.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from typing import Final

from hardwon import limits

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
