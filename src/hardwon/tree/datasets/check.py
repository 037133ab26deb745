"""Whether a data set can be kept and looks like a real one (`validate`), and keeping it
(`load_dataset`).

Each check looks at one thing and says what to do. An entry without an error is one that
`Memory.remember(**entry)` takes: the record itself is built for the last check.
"""

from __future__ import annotations

import json
import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Literal

from hardwon import limits
from hardwon.errors import InvalidInputError, on_failure, shown
from hardwon.first_use import lazy
from hardwon.memory import Memory
from hardwon.memory.project import batches
from hardwon.memory.record import ENVELOPE_KEYWORDS, metadata_of
from hardwon.records.fields import ABSENT, check_items, check_that, derived_id, now
from hardwon.records.kinds import (
    OUTCOMES,
    ROUTES,
    Experience,
    Metadata,
    Moment,
    Source,
    safe_summary,
)
from hardwon.store.types import Progress
from hardwon.text.terms import counted
from hardwon.tree.datasets.read import DatasetEntries, read

# The content of a memory in a data set, as the BTB tree's own schema had it. Fewer cannot say what
# happened to what.
DATASET_CONTENT_CHARS_MIN: Final = 10

# The content of a memory in a data set, as the BTB tree's own schema had it: a few sentences, no
# log.
DATASET_CONTENT_CHARS_MAX: Final = 500

# Memories from which on a data set's shares are held against their targets: the smallest size that
# targets were made for.
DATASET_JUDGED_FROM: Final = 50

_log = logging.getLogger("hardwon")

Severity = Literal["error", "warning"]
Range = tuple[int, int]

# How often what should occur, in percent. Outcomes and tools are shares of all memories; error
# types are shares of what the code interpreter failed at, task types of what it did well. Memories
# without a tool (learning, interaction) count in the shares of tools too.
RANGES: Final[Mapping[str, Mapping[str, Range]]] = {
    "outcome": {
        "success": (55, 65),
        "failure": (15, 25),
        "learning": (10, 15),
        "interaction": (5, 10),
    },
    "tool": {
        "code_interpreter": (40, 50),
        "web_search": (15, 20),
        "file_operation": (10, 15),
        "conversation": (5, 10),
    },
    "error_type": {
        "runtime": (35, 45),
        "syntax": (20, 30),
        "logic": (20, 30),
        "timeout": (5, 10),
    },
    "task_type": {
        "debug": (35, 45),
        "write": (25, 35),
        "refactor": (15, 25),
        "explain": (5, 10),
    },
}
_CODED: Final = {"error_type": "failure", "task_type": "success"}

_OWN: Final = frozenset({"content", "outcome", "tool", "summary"})
_RESERVED: Final = frozenset(Experience.model_fields) - _OWN - frozenset(ENVELOPE_KEYWORDS)
_ROUTING: Final = frozenset(route[0] for route in ROUTES.values() if route)
# sessions group what happened on a day
_KNOWN: Final = frozenset((*_OWN, *_ROUTING, *ENVELOPE_KEYWORDS, "session"))
_SUMMARY: Final = re.compile(rf"[a-z0-9_-]{{1,{limits.SUMMARY_CHARS_MAX}}}")
# placeholders for secrets may be longer than what they stand for
_BYTES_MAX: Final = limits.RECORD_BYTES_MAX // 2
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_HEX: Final = re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{7,}\b")
# Of fewer, a content says nothing of its own: "Fixed a bug", "User happy with result".
_WORDS_MIN: Final = 5


def fingerprint(content: str) -> str:
    """The words, whatever their order, case and number, and without any digits: near-copies share
    it.
    """
    lowered = content.lower()
    words = _WORD.findall(_HEX.sub(" ", lowered) if any(map(str.isdigit, lowered)) else lowered)
    return " ".join(sorted(set(words)))


def is_vague(content: str) -> bool:
    """Whether the content says too little. Not all scripts put spaces between words."""
    return content.isascii() and len(_WORD.findall(content)) < _WORDS_MIN


def is_within(count: int, base: int, target: Range) -> bool:
    """Whether the share is in its range, as far as whole numbers can be: 5 to 10 % of 50 are 2 to
    5.
    """
    return target[0] * base // 100 <= count <= -(-target[1] * base // 100)


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with a data set. `index` is the memory's position in the list (None:
    the set as a whole), `line` where it begins in its file, if that is known; `value` is shortened.
    """

    index: int | None
    field: str
    value: str
    wrong: str
    remedy: str
    severity: Severity = "error"
    line: int | None = None

    def __str__(self) -> str:
        where = "data set" if self.index is None else f"memory {self.index}"
        where += f" (line {self.line})" if self.line else ""
        return f"{self.severity}: {where}, {self.field}: {self.value} {self.wrong}; {self.remedy}"


@dataclass(frozen=True)
class Distribution:
    """How often a value occurs. Shares and the range that they should be in (`least`, `most`) run
    from 0 to 1. `within` allows for whole numbers, and is None where the data set is too small for
    shares to say anything.
    """

    field: str
    name: str
    count: int
    share: float
    least: float
    most: float
    within: bool | None


@dataclass(frozen=True)
class Report:
    """What is wrong with a data set. `ok`: nothing but warnings, if anything."""

    total: int
    problems: tuple[Fault, ...]
    distributions: tuple[Distribution, ...]

    @property
    def ok(self) -> bool:
        return not self.errors

    @lazy
    def errors(self) -> tuple[Fault, ...]:
        return tuple(problem for problem in self.problems if problem.severity == "error")

    @lazy
    def warnings(self) -> tuple[Fault, ...]:
        return tuple(problem for problem in self.problems if problem.severity == "warning")

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        return {
            "ok": self.ok,
            "total": self.total,
            "errors": [asdict(problem) for problem in self.errors],
            "warnings": [asdict(problem) for problem in self.warnings],
            "distributions": [asdict(distribution) for distribution in self.distributions],
        }

    def __str__(self) -> str:
        lines = [
            f"{counted(self.total, 'memory', 'memories')}: {counted(len(self.errors), 'error')}, "
            f"{counted(len(self.warnings), 'warning')}"
        ]
        for found in self.distributions:
            verdict = {True: "ok", False: "out of range", None: "not judged"}[found.within]
            target = f"{100 * found.least:.0f}-{100 * found.most:.0f} %"
            lines.append(
                f"  {found.field} {found.name}: {found.count} ({100 * found.share:.1f} %, target "
                f"{target}): {verdict}"
            )
        lines += _listed((*self.errors, *self.warnings))
        return "\n".join(lines)


@dataclass(frozen=True)
class DatasetLoaded:
    """What became of a data set. `stored` of `total` memories were kept (or would be, in a dry run)
    and `present` had been loaded before; `ids` are those of both, none in a dry run. The others were
    refused for what `rejected` names. `warnings` are about memories that were kept.
    """

    total: int
    stored: int
    present: int
    ids: tuple[str, ...]
    rejected: tuple[Fault, ...]
    warnings: tuple[Fault, ...]
    dry_run: bool

    def __str__(self) -> str:
        done = "would be stored" if self.dry_run else "stored"
        refused = self.total - self.stored - self.present
        before = f", {self.present} loaded before" if self.present else ""
        first = (
            f"{self.stored} of {counted(self.total, 'memory', 'memories')} {done}{before}, "
            f"{refused or 'none'} rejected"
        )
        return "\n".join([first, *_listed(self.rejected)])


def _listed(problems: Sequence[Fault]) -> list[str]:
    """The first of them as lines, and how many more there are."""
    left = len(problems) - limits.SCREEN_ITEMS
    lines = list(map(str, problems[: limits.SCREEN_ITEMS]))
    return [*lines, f"… and {left} more"] if left > 0 else lines


def _fault(
    field: str, value: object, wrong: str, remedy: str, severity: Severity = "error"
) -> Fault:
    """One of an entry whose place is not known here."""
    return Fault(None, field, ABSENT if value is ABSENT else shown(value), wrong, remedy, severity)


def validate(source: Any) -> Report:
    """Checks a data set: a list of dictionaries, or the path of a file that holds one (JSON, JSON
    Lines, or a Python list of literals, which is never run).

    Errors are what keeps a memory from being stored: values that are missing or unknown, a summary
    that is no file name or was there before, contents of less than 10 or more than 500 characters;
    and a data set without memories. Warnings are what makes a data set unlike a real one: keys that
    the format does not know, or not for this outcome and tool, a summary that has to be made,
    contents that are too generic, too vague or near-copies of others, and shares out of their
    ranges.
    """
    entries = read(source)
    problems = [problem for _, found in _judge(entries) for problem in found] or _empty(entries)
    total = len(entries.values)
    memories = [value for value in entries.values if isinstance(value, Mapping)]
    shares = []
    for name, ranges in RANGES.items():
        outcome = _CODED.get(name)
        among = (
            each
            for each in memories
            if not outcome
            or (each.get("outcome"), each.get("tool")) == (outcome, "code_interpreter")
        )
        counts = Counter(value for each in among if isinstance(value := each.get(name), str))
        base = counts.total() if outcome else total
        for value, (least, most) in ranges.items():
            count, within = counts[value], None
            share = round(count / base, 4) if base else 0.0
            if base and total >= DATASET_JUDGED_FROM:
                within = is_within(count, base, (least, most))
            shares.append(Distribution(name, value, count, share, least / 100, most / 100, within))
            if within is False:
                wrong = f"is {100 * share:.1f} % where {least} to {most} % are realistic"
                remedy = f"have {'more' if share < least / 100 else 'fewer'} of them"
                problems.append(Fault(None, name, value, wrong, remedy, "warning"))
    return Report(total, tuple(problems), tuple(shares))


def _empty(entries: DatasetEntries) -> list[Fault]:
    remedy = "fill the list, or name the file that holds it"
    return [] if entries.values else [Fault(None, "data set", "[]", "holds no memory", remedy)]


def load_dataset(
    memory: Memory,
    source: Any,
    *,
    author: str = "agent",
    dry_run: bool = False,
    progress: Progress | None = None,
) -> DatasetLoaded:
    """Keeps the memories of a data set (whatever `validate` takes) that have no error, and reports
    the others.

    `author` is who is said to have recorded those that do not tell; one of its own lets you roll
    the data set back as a whole. Stored a batch at a time, each in one transaction, calling
    `progress(done, total)` after each. What was loaded before, or forgotten, is not stored again:
    after an interruption, loading goes on where it stopped. `dry_run` tells what would happen and
    writes nothing.
    """
    author = Source(author=author).author
    entries = read(source)
    total = len(entries.values)
    ids: list[str] = []
    rejected = _empty(entries)
    warnings: list[Fault] = []
    stored = done = 0
    told = "%d of %d memories are stored: load them again to go on from there"
    with on_failure(lambda: _log.warning(told, done, total)):
        for judged in batches(_judge(entries, author), limits.BATCH_ROWS):
            records = [record for record, _ in judged if record]
            for record, problems in judged:
                (warnings if record else rejected).extend(problems)
            new = [record for record in records if not _was_loaded(memory, record.id)]
            if new and not dry_run:
                memory.add_many(new)
            ids += [] if dry_run else [record.id for record in records]
            stored += len(new)
            done += len(judged)
            if progress:
                progress(done, total)
    present = total - stored - len({fault.index for fault in rejected} - {None})
    return DatasetLoaded(
        total, stored, present, tuple(ids), tuple(rejected), tuple(warnings), dry_run
    )


def _was_loaded(memory: Memory, record_id: str) -> bool:
    """Also where it was forgotten since: then it has left nothing but that."""
    store, project = memory._project.store, memory.project
    return bool(store.get(project, record_id) or store.events_of(project, record_id))


def _judge(
    entries: DatasetEntries, author: str | None = None
) -> Iterator[tuple[Experience | None, list[Fault]]]:
    """Entry by entry its record, or None, and what is wrong with it. Those that name no time
    happened one microsecond after the other, the last of them just now. The same entry of the same
    author has the same id, whenever it is loaded; of several that are alike, each by its number.
    """
    begin = now() - timedelta(microseconds=len(entries.values))
    named: dict[str, int] = {}
    contents: dict[str, int] = {}
    times: Counter[str] = Counter()
    for index, entry in enumerate(entries.values):
        if index in entries.unreadable:
            wrong = f"is not valid JSON ({entries.unreadable[index]})"
            record, found = None, [_fault("entry", entry, wrong, "write one JSON object per line")]
        else:
            record, found = check(entry, begin + timedelta(microseconds=index), author)
        if record and author:
            said = json.dumps([author, entry], sort_keys=True, default=str)
            times[said] += 1
            record = record.altered(id=derived_id("data set", said, str(times[said])))
        at_fault = {fault.field for fault in found if fault.severity == "error"}
        texts = {
            name: text
            for name, text in (entry.items() if isinstance(entry, Mapping) else ())
            if isinstance(text, str) and name not in at_fault
        }
        if "summary" in texts:
            first = named.setdefault(texts["summary"].strip("_-"), index)  # as it is kept
            if first != index:
                wrong = f"is the summary of memory {first} as well"
                found.append(_fault("summary", texts["summary"], wrong, "give each its own"))
                record = None
        if "content" in texts:  # what could be kept and should say better
            content = texts["content"]
            if is_vague(content):
                remedy = "name what it was about: the component, the error, the cause, the cure"
                found.append(_fault("content", content, "says too little", remedy, "warning"))
            first = contents.setdefault(fingerprint(content), index)
            if first != index:
                wrong = f"says the same as memory {first}, but for numbers and the order of words"
                remedy = "say what sets it apart, or leave it out"
                found.append(_fault("content", content, wrong, remedy, "warning"))
        line = entries.lines[index] if entries.lines else None
        yield record, [replace(fault, index=index, line=line) for fault in found]


def check(
    entry: object, at: datetime, author: str | None = None
) -> tuple[Experience | None, list[Fault]]:
    """The record that an entry describes, None where there is an error, and everything that is
    wrong with it. `at` is its time, and `author` who says it, where it does not tell itself.
    """
    if not isinstance(entry, Mapping) or not all(isinstance(key, str) for key in entry):
        wrong = "has a key that is not text" if isinstance(entry, Mapping) else "is not a memory"
        remedy = "give a dictionary with content, outcome and summary, every key a text"
        return None, [_fault("entry", entry, wrong, remedy)]
    envelope = {key: entry[key] for key in ENVELOPE_KEYWORDS if key in entry}
    given = {
        key: value
        for key, value in entry.items()
        if key not in envelope and (value is not None or key in _RESERVED)
    }
    if author is not None:
        envelope.setdefault("author", author)
    found = [*_content(given), *_route(given), *_summary(given), *_keys(given)]
    at_fault = {fault.field for fault in found if fault.severity == "error"}
    try:
        metadata = _read_envelope(envelope, given, at)
        kept = {key: value for key, value in given.items() if key not in _RESERVED - {"recalled"}}
        record = Experience(metadata=metadata, **kept)
        size = len(record.to_json_bytes())
        allowed = f"at most {_BYTES_MAX} bytes as JSON"
        check_that(size <= _BYTES_MAX, "entry", f"{size} bytes", allowed)
        return None if at_fault else record, found
    except InvalidInputError as error:
        refused = [
            _fault(problem.field, problem.value, "is not allowed", f"give {problem.allowed}")
            for problem in error.problems
            if problem.field not in at_fault
        ]
        names = {fault.field for fault in refused}
        return None, [fault for fault in found if fault.field not in names] + refused


def _read_envelope(envelope: dict[str, Any], given: dict[str, Any], at: datetime) -> Metadata:
    """The metadata; `recalled`, which is no part of it, goes to what else is given."""
    recalled, related = envelope.pop("recalled", None), envelope.pop("related_files", ())
    metadata = metadata_of(envelope, at, None)
    if recalled is not None:
        given["recalled"] = [str(each) for each in check_items("recalled", recalled)]
    # files of the place that the data set comes from: they are named and not hashed
    paths = [
        {"path": str(path) if isinstance(path, Path) else path}
        for path in check_items("related_files", related)
    ]
    if not paths:
        return metadata
    moment = Moment.model_validate({"related_files": paths})
    context = metadata.context.altered(related_files=moment.related_files)
    return metadata.altered(context=context)


def _content(given: Mapping[str, Any]) -> Iterator[Fault]:
    content = given.get("content", ABSENT)
    least, most = DATASET_CONTENT_CHARS_MIN, DATASET_CONTENT_CHARS_MAX
    if not isinstance(content, str):
        yield _fault("content", content, "is no text", "say what happened, in a sentence")
    elif not least <= len(content.strip()) <= len(content) <= most:
        wrong = f"has less than {least} or more than {most} characters"
        yield _fault("content", content, wrong, "say what happened to what, and why")


def _route(given: Mapping[str, Any]) -> Iterator[Fault]:
    outcome, tool = given.get("outcome", ABSENT), given.get("tool")
    if not isinstance(outcome, str) or outcome not in OUTCOMES:
        wrong = "is required" if outcome is ABSENT else "is not known"
        yield _fault("outcome", outcome, wrong, f"use one of {', '.join(OUTCOMES)}")
        return
    tools = [name for known, name in ROUTES if known == outcome]
    if tools == [None] and tool is not None:
        yield _fault("tool", tool, f"does not go with outcome {outcome}", "leave it out")
        tool = None
    elif not isinstance(tool, str | None) or tool not in tools:
        wrong = "is required with" if tool is None else "does not go with"
        remedy = f"use one of {', '.join(map(str, tools))}"
        value = ABSENT if tool is None else tool
        yield _fault("tool", value, f"{wrong} outcome {outcome}", remedy)
        return
    route = ROUTES.get((outcome, tool))
    value = given.get(route[0], ABSENT) if route else None
    if route and value not in route[1]:
        wrong = "is required" if value is ABSENT else "is not known"
        yield _fault(route[0], value, wrong, f"use one of {', '.join(route[1])}")
    place = f"{outcome} by {tool}" if tool else outcome
    for key in sorted(_ROUTING & given.keys() - {route[0] if route else None}):
        wrong = f"does not go with {place}"
        yield _fault(key, given[key], wrong, "leave it out: it does not route", "warning")


def _summary(given: Mapping[str, Any]) -> Iterator[Fault]:
    summary = given.get("summary", ABSENT)
    if summary is ABSENT:
        made = safe_summary(str(given.get("content", ""))[: limits.SUMMARY_FROM_CONTENT_CHARS])
        yield _fault("summary", ABSENT, "is missing", f"{made} is made of the content", "warning")
    elif not isinstance(summary, str):
        yield _fault("summary", summary, "is not text", "name it in a few lowercase words")
    elif not _SUMMARY.fullmatch(summary):
        wrong = "is not fit for a file name"
        yield _fault("summary", summary, wrong, f"use {safe_summary(summary)}")


def _keys(given: Mapping[str, Any]) -> Iterator[Fault]:
    """Keys of the caller's own. Whether their values can be kept, the record tells."""
    for key in sorted(given.keys() - _KNOWN):
        value = given[key]
        if key in _RESERVED:
            yield _fault(key, value, "is a name that records use themselves", "rename the key")
            continue
        like = get_close_matches(key, _ROUTING | _OWN, 1, 0.7)
        remedy = f"write {like[0]}" if like else "leave it out, or know that it is kept as it is"
        yield _fault(key, value, "is no key of a data set", remedy, "warning")
