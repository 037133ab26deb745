"""Records from JSON: as Hardwon writes them, and as the metadata schema does, whose facts,
trajectories and patterns name neither a kind nor an id. The kind is told by the fields; the id
follows from what the record says, so that the same record is kept once whichever way it comes. No
I/O.
"""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, Final

from hardwon.errors import InvalidInputError, Problem
from hardwon.records.fields import ABSENT, check_inside, check_that, parse_json
from hardwon.records.kinds import (
    MODEL_OF_KIND,
    TRAVELLING,
    AnyRecord,
    History,
    SolutionPattern,
    find_place,
    with_own_id,
)

_PATTERN: Final = "solution_pattern"
# What tells the kind of a record that does not name it.
_TOLD_BY: Final[Mapping[str, frozenset[str]]] = {
    "experience": frozenset({"content", "outcome"}),
    "fact": frozenset({"content", "fact_type"}),
    "trajectory": frozenset({"steps", "final_reward"}),
    "episode": frozenset({"task_id", "score"}),
    "fix": frozenset({"issue", "fix_success"}),
    _PATTERN: frozenset({"diagnosis_id", "strategy"}),
}
# Those that nothing else looks like; the others are told from older stores by their envelope.
_UNMISTAKABLE: Final = ("fact", "trajectory", _PATTERN)
# what is left of a fix is nothing to hand on
_KINDS: Final = tuple(name for name in MODEL_OF_KIND if name != "cleaned")
_SHA1: Final = re.compile(r"[0-9a-f]{40}", re.IGNORECASE)
_UNKNOWN: Final = "no such field"
_COMMIT: Final = re.compile(r"[0-9a-f]{7,64}", re.IGNORECASE)

# What the metadata schema demands: everything that it does not mark as optional. A name behind that
# of a list is one of each of its items.
_DEMANDED: Final[Mapping[str, str]] = {
    "fact": "content fact_type confidence entities.files entities.functions entities.libraries",
    "trajectory": "steps.action steps.observation steps.reward final_reward",
    _PATTERN: "diagnosis_id strategy success_rate usage_count",
}
_DEMANDED_OF_ALL: Final = (
    "source.type source.id source.author context.timestamp context.git_commit context.git_branch "
    "context.related_files.path context.related_files.hash validation.status tags project_id"
)


def kind_told_by(data: object) -> str | None:
    """The kind that JSON names, or that its fields tell; None where it is no record."""
    if not isinstance(data, Mapping):
        return None
    if "kind" in data:
        return str(data["kind"])
    envelope, parts = data.get("metadata"), {"source", "context", "validation"}
    enveloped = isinstance(envelope, Mapping) and bool(envelope.keys() & parts)
    kinds = (kind for kind, fields in _TOLD_BY.items() if fields <= data.keys())
    kind = next(kinds, None)
    return kind if enveloped or kind in _UNMISTAKABLE else None


def is_record(data: object) -> bool:
    """Whether JSON is meant to be a record, which memories of a data set and of older stores are
    not.
    """
    return kind_told_by(data) is not None


def parse_record(
    json_text: str | bytes, *, strict: bool = False, lenient: bool = False
) -> AnyRecord:
    """A record from one JSON object, as `read_record` does."""
    try:
        data = parse_json(json_text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError.one("record", json_text, f"one JSON object ({error})") from None
    return read_record(data, strict=strict, lenient=lenient)


def read_record(data: object, *, strict: bool = False, lenient: bool = False) -> AnyRecord:
    """A record from JSON that names its kind, or is the metadata schema's own. One without an id
    gets the one that follows from what it says. `strict`: all that the schema demands has to be
    there. `lenient`: what no field is for is kept aside, not refused. What an export tells of its
    life is its `history`.
    """
    kind = kind_told_by(data)
    if not isinstance(data, Mapping) or kind not in (*_KINDS, _PATTERN):
        value = data.get("kind", ABSENT) if isinstance(data, Mapping) else data
        raise InvalidInputError.one(
            "kind",
            value,
            f"an object whose kind is one of {', '.join(_KINDS)}, or that the metadata schema has "
            "(content and fact_type; steps and final_reward; diagnosis_id and strategy)",
        )
    if strict and (missing := _missing(kind, data)):
        demands = "a value: the metadata schema demands it"
        raise InvalidInputError([Problem(field, ABSENT, demands) for field in missing])
    if strict and "kind" not in data:  # ours are told in ISO 8601
        timestamp = data["metadata"]["context"]["timestamp"]
        is_number = isinstance(timestamp, int | float)
        check_that(is_number, "metadata.context.timestamp", timestamp, "a number of milliseconds")
    data, history = _without_history(data)
    try:
        made = _make(kind, data)
    except InvalidInputError as error:
        unknown = [problem.field for problem in error.problems if problem.allowed == _UNKNOWN]
        if not unknown or not lenient:
            raise
        known = deepcopy(dict(data))
        places = [(path, *find_place(known, path)) for path in unknown]
        aside = {path: place.pop(name) for path, place, name in places}
        made = _make(kind, known).copy_with(aside=aside)
    if "kind" not in data or strict:
        _check_hashes(made, strict=strict)
    made = made if "id" in made.model_fields_set or kind == _PATTERN else with_own_id(made)
    if history is None:
        return made
    _check_history(made, history)
    return made.copy_with(history_told=history)


def _make(kind: str, data: Mapping[str, Any]) -> AnyRecord:
    if kind != _PATTERN:
        return MODEL_OF_KIND[kind].model_validate(data)
    plain = {name: value for name, value in data.items() if name != "kind"}
    return SolutionPattern.model_validate(plain).adopt()


def _without_history(data: Mapping[str, Any]) -> tuple[Mapping[str, Any], History | None]:
    """The record alone, and what is told of its life, None where nothing is."""
    envelope = data.get("metadata")
    if not isinstance(envelope, Mapping) or "history" not in envelope:
        return data, None
    history = check_inside("metadata.history", History.model_validate, envelope["history"])
    plain = {name: value for name, value in envelope.items() if name != "history"}
    return {**data, "metadata": plain}, history


def _check_history(record: AnyRecord, history: History) -> None:
    """A file may tell of the record beside it alone, and forgets none."""
    where = "metadata.history.events.{}.{}".format
    problems = [
        Problem(where(number, name), value, allowed)
        for number, event in enumerate(history.events)
        for name, value, allowed, fine in (
            ("kind", event.kind, ", ".join(TRAVELLING), event.kind in TRAVELLING),
            ("record_id", event.record_id, record.id, event.record_id == record.id),
        )
        if not fine
    ]
    if problems:
        raise InvalidInputError(problems)


def _missing(kind: str, data: Mapping[str, Any]) -> list[str]:
    """What the metadata schema demands and is not there, each once. A final reward may be null, as
    `to_agentdb` writes it where nobody knows.
    """
    if "final_reward" in data:
        data = {**data, "final_reward": 0}
    paths = [*_DEMANDED.get(kind, "").split(), *map("metadata.{}".format, _DEMANDED_OF_ALL.split())]
    return list(dict.fromkeys(name for path in paths for name in _absent(data, path.split("."))))


def _absent(data: object, path: list[str], where: str = "") -> Iterator[str]:
    if isinstance(data, list):
        for number, item in enumerate(data):
            yield from _absent(item, path, f"{where}{number}.")
    elif path and isinstance(data, Mapping):
        if data.get(path[0]) is None:
            yield where + path[0]
        else:
            yield from _absent(data[path[0]], path[1:], f"{where}{path[0]}.")


def _check_hashes(record: AnyRecord, *, strict: bool) -> None:
    """What is no hash of a file would take every file for a changed one."""
    moment, field = record.metadata.context, "metadata.context"
    problems = [
        Problem(f"{field}.related_files.{number}.hash", file.hash, _SHA1_ALLOWED)
        for number, file in enumerate(moment.related_files)
        if file.hash and not _SHA1.fullmatch(file.hash)
    ]
    if strict and moment.git_commit and not _COMMIT.fullmatch(moment.git_commit):
        allowed = "the hash of a commit: 7 to 64 hexadecimal digits"
        problems.append(Problem(f"{field}.git_commit", moment.git_commit, allowed))
    if problems:
        raise InvalidInputError(problems)


_SHA1_ALLOWED: Final = "the SHA-1 of the file's content: 40 hexadecimal digits"
