"""What must be true of a memory in a data set before it can be kept. Each check looks at one thing and says what to do.

An entry without an error is one that `Memory.remember(**entry)` takes: the record itself is built for the last check.

`validate`: whether a data set can be kept, and whether it looks like a real one.

`load_dataset`: a data set into a memory, with a report of what was not taken.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic_core import PydanticCustomError

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.memory import Memory, intake
from hardwon.memory.project import batches
from hardwon.memory.record import ENVELOPE_KEYWORDS, metadata_of
from hardwon.records.fields import ABSENT, check_keys, new_id, now, parse_time
from hardwon.records.kinds import OUTCOMES, ROUTES, Experience, Metadata, Moment, Source, safe_summary
from hardwon.store.types import Progress
from hardwon.tree.datasets import realism
from hardwon.tree.datasets.read import Entries, read
from hardwon.tree.datasets.report import DatasetLoaded, Distribution, Fault, Report, Severity, shown
from hardwon.tree.datasets.shares import ERROR_RANGES, OUTCOME_RANGES, TASK_RANGES, TOOL_RANGES, Ranges, is_within

# ---- checks ------------------------------------------------------------

_OWN: Final = frozenset({"content", "outcome", "tool", "summary"})
_ENVELOPE: Final = frozenset(ENVELOPE_KEYWORDS)
_RESERVED: Final = frozenset(Experience.model_fields) - _OWN - _ENVELOPE
_SUMMARY: Final = re.compile(rf"[a-z0-9_-]{{1,{limits.SUMMARY_CHARS_MAX}}}")
_BYTES_MAX: Final = limits.RECORD_BYTES_MAX // 2  # placeholders for secrets may be longer than what they stand for


class Wrong(NamedTuple):
    """A fault of an entry whose place is not known here."""

    field: str
    value: object
    wrong: str
    remedy: str

    def at(self, index: int) -> Fault:
        value = ABSENT if self.value is ABSENT else shown(self.value)
        return Fault(index, self.field, value, self.wrong, self.remedy)


def check(entry: object, at: datetime, author: str | None = None) -> tuple[Experience | None, list[Wrong]]:
    """The record that an entry describes, and everything that is wrong with it: one of the two is empty. `at` is its time, and
    `author` who says it, where it does not tell itself."""
    if not isinstance(entry, Mapping):
        return None, [Wrong("entry", entry, "is not a memory", "give a dictionary with content, outcome and summary")]
    if not all(isinstance(key, str) for key in entry):
        return None, [Wrong("entry", entry, "has a key that is not text", "name every key by a text")]
    envelope = {key: entry[key] for key in ENVELOPE_KEYWORDS if key in entry}
    given = {key: value for key, value in entry.items() if key not in envelope and (value is not None or key in _RESERVED)}
    if author is not None:
        envelope.setdefault("author", author)
    found = [*_content(given), *_route(given), *_summary(given), *_keys(given)]
    try:
        metadata = _metadata(envelope, at)
        return (None, found) if found else (_experience(given, envelope.get("recalled"), metadata), [])
    except InvalidInputError as error:
        refused = [
            Wrong(problem.field, problem.value, "is not allowed", f"give {problem.allowed}") for problem in error.problems
        ]
        return None, found + refused


def _content(given: Mapping[str, Any]) -> Iterator[Wrong]:
    content = given.get("content", ABSENT)
    least, most = limits.DATASET_CONTENT_CHARS_MIN, limits.DATASET_CONTENT_CHARS_MAX
    if content is ABSENT:
        yield Wrong("content", ABSENT, "is required", "say what happened, in a sentence")
    elif not isinstance(content, str):
        yield Wrong("content", content, "is not text", "say what happened, in a sentence")
    elif len(content.strip()) < least:
        yield Wrong("content", content, f"is shorter than {least} characters", "say what happened to what, and why")
    elif len(content) > most:
        yield Wrong("content", content, f"is longer than {most} characters", f"shorten it to {most} characters")
    elif "\0" in content or not _can_be_encoded(content):
        yield Wrong("content", content, "has characters that cannot be kept", "take out NUL characters and lone surrogates")


def _can_be_encoded(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _route(given: Mapping[str, Any]) -> Iterator[Wrong]:
    outcome, tool = given.get("outcome", ABSENT), given.get("tool")
    if not isinstance(outcome, str) or outcome not in OUTCOMES:
        yield Wrong("outcome", outcome, _missing_or_unknown(outcome), f"use one of {', '.join(OUTCOMES)}")
        return
    tools = [name for known, name in ROUTES if known == outcome]
    if tools == [None] and tool is not None:
        yield Wrong("tool", tool, f"does not go with outcome {outcome}", "leave it out")
    elif tools != [None] and (not isinstance(tool, str) or tool not in tools):
        shown_tool = ABSENT if tool is None else tool
        wrong = f"is required with outcome {outcome}" if tool is None else f"does not go with outcome {outcome}"
        yield Wrong("tool", shown_tool, wrong, f"use one of {', '.join(str(name) for name in tools)}")
    route = ROUTES.get((outcome, None if tools == [None] else tool if isinstance(tool, str) else ""))
    if route:
        value = given.get(route[0], ABSENT)
        if value not in route[1]:
            yield Wrong(route[0], value, _missing_or_unknown(value), f"use one of {', '.join(route[1])}")


def _missing_or_unknown(value: object) -> str:
    return "is required" if value is ABSENT else "is not known"


def _summary(given: Mapping[str, Any]) -> Iterator[Wrong]:
    summary = given.get("summary", ABSENT)
    if isinstance(summary, str) and summary is not ABSENT:
        if not _SUMMARY.fullmatch(summary):
            yield Wrong("summary", summary, "is not fit for a file name", f"use {safe_summary(summary)}")
    else:
        wrong = "is required" if summary is ABSENT else "is not text"
        yield Wrong("summary", summary, wrong, "name it in a few lowercase words joined by underscores")


def _keys(given: Mapping[str, Any]) -> Iterator[Wrong]:
    """Keys of the caller's own."""
    own = given.keys() - _OWN
    if len(own) > limits.EXTRA_KEYS_MAX:
        yield Wrong("entry", f"{len(own)} keys", "has too many keys", f"keep at most {limits.EXTRA_KEYS_MAX} of your own")
    for key in sorted(own):
        value = given[key]
        if key in _RESERVED:
            yield Wrong(key, value, "is a name that records use themselves", "rename the key")
            continue
        try:
            check_keys({key: value})
        except PydanticCustomError as error:
            yield Wrong(key[: limits.KEY_CHARS_MAX] or "entry", value, "cannot be kept as JSON", f"give {error.message()}")


def _experience(given: dict[str, Any], recalled: object, metadata: Metadata) -> Experience:
    """The record as `remember` makes it."""
    own = given if recalled is None else given | {"recalled": [str(each) for each in intake.items("recalled", recalled)]}
    record = Experience(id=new_id(metadata.context.timestamp), metadata=metadata, **own)
    size = len(record.to_json_bytes())
    if size > _BYTES_MAX:
        raise InvalidInputError.one("entry", f"{size} bytes", f"at most {_BYTES_MAX} bytes as JSON")
    return record


def _metadata(envelope: Mapping[str, Any], at: datetime) -> Metadata:
    """Files are those of the place that the data set comes from, so they are named and not hashed."""
    stable = {key: value for key, value in envelope.items() if key not in ("timestamp", "related_files", "recalled")}
    plain = stable.keys() <= {"author"} and isinstance(stable.get("author", ""), str)
    whole = _plain(stable.get("author", "agent")) if plain else metadata_of(stable, at, None)
    related = intake.items("related_files", envelope.get("related_files", ()))
    files = [{"path": str(path) if isinstance(path, Path) else path} for path in related]
    checked = Moment.model_validate({"related_files": files}).related_files if files else []
    time = _time(envelope["timestamp"]) if "timestamp" in envelope else at
    return whole.altered(context=whole.context.altered(timestamp=time, related_files=checked))


@lru_cache(64)
def _plain(author: str) -> Metadata:
    """Most entries name an author at most: the same envelope but for its time."""
    return metadata_of({"author": author}, now(), None)


def _time(value: object) -> datetime:
    try:
        return parse_time(value)
    except PydanticCustomError as error:
        raise InvalidInputError.one("timestamp", value, error.message()) from None


# ---- validating ------------------------------------------------------------


class Verdict(NamedTuple):
    """What became of one entry: its record, or None, and what is wrong with it."""

    record: Experience | None
    problems: list[Fault]


def validate(source: Any) -> Report:
    """Checks a data set: a list of dictionaries, or the path of a file that holds one (JSON, JSON Lines, or Python source,
    which is parsed and never run).

    Errors are what keeps a memory from being stored: fields that are missing or unknown, a summary that is no file name or was
    there before, contents of less than 10 or more than 500 characters. Warnings are what makes a data set unlike a real one:
    contents that are too generic, too vague or near-copies of others, and shares out of their ranges.
    """
    entries = read(source)
    problems = [problem for verdict in judge(entries) for problem in verdict.problems]
    shares = distributions(entries.values)
    problems += [_out_of_range(share) for share in shares if share.within is False]
    return Report(len(entries.values), tuple(problems), tuple(shares))


def judge(entries: Entries, author: str | None = None) -> Iterator[Verdict]:
    """Entry by entry. Those that name no time happened one microsecond after the other, the last of them just now."""
    begin = now() - timedelta(microseconds=len(entries.values))
    named: dict[str, int] = {}
    said: dict[str, int] = {}
    for index, entry in enumerate(entries.values):
        if index in entries.unreadable:
            yield Verdict(None, [entries.unreadable[index]])
            continue
        record, wrong = check(entry, begin + timedelta(microseconds=index), author)
        problems = [each.at(index) for each in wrong]
        if isinstance(entry, Mapping):
            at_fault = {problem.field for problem in problems}
            problems += [] if "summary" in at_fault else _same_name(entry.get("summary"), index, named)
            problems += [] if "content" in at_fault else _unlikely(entry.get("content"), index, said)
        sound = all(problem.severity == "warning" for problem in problems)
        line = entries.line(index)
        yield Verdict(record if sound else None, [replace(problem, line=line) for problem in problems])


def _same_name(summary: Any, index: int, named: dict[str, int]) -> list[Fault]:
    if not isinstance(summary, str):
        return []
    first = named.setdefault(summary.strip("_-"), index)  # as it is kept
    if first == index:
        return []
    return [Fault(index, "summary", shown(summary), f"is the summary of memory {first} as well", "give each its own")]


def _unlikely(content: Any, index: int, said: dict[str, int]) -> list[Fault]:
    """Warnings about a content that could be kept."""
    if not isinstance(content, str):
        return []
    problems: list[Fault] = []
    severity: Severity = "warning"
    poor = realism.too_little(content)
    if poor:
        remedy = "name what it was about: the component, the error, the cause, the cure"
        problems.append(Fault(index, "content", shown(content), f"is {poor}", remedy, severity))
    first = said.setdefault(realism.fingerprint(content), index)
    if first != index:
        wrong = f"says the same as memory {first}, but for numbers and small words"
        problems.append(Fault(index, "content", shown(content), wrong, "say what sets it apart, or leave it out", severity))
    return problems


def distributions(values: list[Any]) -> list[Distribution]:
    """The shares of outcomes, tools, error types and task types, each with its target."""
    entries = [value for value in values if isinstance(value, Mapping)]
    outcomes = _count(entries, "outcome")
    tools = _count(entries, "tool")
    errors = _count([entry for entry in entries if entry.get("outcome") == "failure"], "error_type")
    coded = [entry for entry in entries if (entry.get("outcome"), entry.get("tool")) == ("success", "code_interpreter")]
    tasks = _count(coded, "task_type")
    total = len(values)
    return [
        *_shares("outcome", outcomes, total, OUTCOME_RANGES, total),
        *_shares("tool", tools, total, TOOL_RANGES, total),
        *_shares("error_type", errors, sum(errors.values()), ERROR_RANGES, total),
        *_shares("task_type", tasks, sum(tasks.values()), TASK_RANGES, total),
    ]


def _count(entries: list[Mapping[str, Any]], field: str) -> Counter[str]:
    return Counter(value for entry in entries if isinstance(value := entry.get(field), str))


def _shares(field: str, counts: Counter[str], base: int, ranges: Ranges, total: int) -> Iterator[Distribution]:
    for name, target in ranges.items():
        count = counts[name]
        within = is_within(count, base, target) if total >= limits.DATASET_JUDGED_FROM and base else None
        share = round(count / base, 4) if base else 0.0
        yield Distribution(field, name, count, share, target[0] / 100, target[1] / 100, within)


def _out_of_range(share: Distribution) -> Fault:
    least, most = round(100 * share.least), round(100 * share.most)
    wrong = f"is {100 * share.share:.1f} % where {least} to {most} % are realistic"
    remedy = f"have {'more' if share.share < share.least else 'fewer'} of them"
    return Fault(None, share.field, share.name, wrong, remedy, "warning")


# ---- loading ------------------------------------------------------------


def load_dataset(
    memory: Memory, source: Any, *, author: str = "agent", dry_run: bool = False, progress: Progress | None = None
) -> DatasetLoaded:
    """Keeps the memories of a data set (whatever `validate` takes) that have no error, and reports the others.

    `author` is who is said to have recorded those that do not tell; one of its own lets you roll the data set back as a whole.
    Stored a batch at a time, each in one transaction, calling `progress(done, total)` after each. Loading a data set twice
    keeps it twice. `dry_run` tells what would happen and writes nothing.
    """
    author = Source(author=author).author
    entries = read(source)
    total = len(entries.values)
    ids: list[str] = []
    rejected: list[Fault] = []
    warnings: list[Fault] = []
    stored = done = 0
    for verdicts in batches(judge(entries, author), limits.BATCH_ROWS):
        records = [verdict.record for verdict in verdicts if verdict.record]
        for verdict in verdicts:
            (warnings if verdict.record else rejected).extend(verdict.problems)
        if records and not dry_run:
            ids += memory.add_many(records)
        stored += len(records)
        done += len(verdicts)
        if progress:
            progress(done, total)
    return DatasetLoaded(total, stored, tuple(ids), tuple(rejected), tuple(warnings), dry_run)
