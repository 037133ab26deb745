"""The content of a training memory's file, as bytes and as the dict."""

from __future__ import annotations

import json

from pydantic_core import PydanticSerializationError, from_json, to_json

from hardwon import limits
from hardwon.errors import HardwonError, InvalidInputError
from hardwon.training.shape import AgentMemory, problem_of, upgrade


class NoTrainingMemoryError(HardwonError):
    """The content of a file is no training memory. The message says why; the file is as it was."""


def encoded(memory: AgentMemory) -> bytes:
    """As JSON with two blanks of indentation. All of it is ASCII: programs that read it may not
    expect UTF-8.
    """
    try:
        return to_json(memory, indent=2, ensure_ascii=True, inf_nan_mode="constants")
    except (PydanticSerializationError, UnicodeEncodeError):
        pass
    try:
        # lone surrogates, which a caller may have put in by hand
        return json.dumps(memory, indent=2).encode()
    except (TypeError, ValueError, RecursionError) as error:
        allowed = f"what JSON can hold ({error}); take out what was put in by hand"
        raise InvalidInputError.one("memory", memory, allowed) from None


def decoded(content: bytes) -> tuple[AgentMemory, int]:
    """The memory, brought up to date, and how many scores were dropped for that. Raises
    `NoTrainingMemoryError`.
    """
    if len(content) > limits.TRAINING_FILE_BYTES_MAX:
        raise NoTrainingMemoryError(f"it is larger than {limits.TRAINING_FILE_BYTES_MAX} bytes")
    try:
        data = from_json(content)
    except ValueError:
        try:
            data = json.loads(content)  # other encodings, byte-order marks, lone surrogates
        except (ValueError, RecursionError) as error:
            why = (
                "its values are nested too deeply"
                if isinstance(error, RecursionError)
                else str(error)
            )
            raise NoTrainingMemoryError(f"it is not JSON: {why}") from None
    if problem := problem_of(data):
        raise NoTrainingMemoryError(problem)
    return data, upgrade(data)
