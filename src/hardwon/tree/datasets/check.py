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
from importlib.resources import files
from typing import Any, Final, Literal, NamedTuple

from hardwon import limits
from hardwon.errors import InvalidInputError, on_failure, show_value
from hardwon.first_use import lazy
from hardwon.memory import Memory
from hardwon.memory.project import batches
from hardwon.memory.record import ENVELOPE_KEYWORDS, make_metadata
from hardwon.records.fields import ABSENT, check_that, derived_id, now
from hardwon.records.kinds import (
    ROUTES,
    SUMMARY_FROM_CONTENT_CHARS,
    Experience,
    Source,
    safe_summary,
)
from hardwon.store.types import Progress
from hardwon.text.terms import say_count
from hardwon.tree.datasets.read import DatasetEntries, read
from hardwon.tree.routing import Coherence

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
SHARES: Final = json.loads((files(__package__) / "shares.json").read_text("utf-8"))
RANGES: Final[Mapping[str, Mapping[str, Range]]] = SHARES["ranges"]

_ROUTER: Final = Coherence()
_OWN: Final = frozenset({"content", "outcome", "tool", "summary"})
# those that a line of a data set can say by itself
_ENVELOPE: Final = frozenset(ENVELOPE_KEYWORDS) - {"related_files", "recalled"}
_RESERVED: Final = (frozenset(Experience.model_fields) | set(ENVELOPE_KEYWORDS)) - _OWN - _ENVELOPE
_ROUTING: Final = frozenset(route[0] for route in ROUTES.values() if route)
# sessions group what happened on a day
_KNOWN: Final = _OWN | _ROUTING | _ENVELOPE | {"session"}
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
    from 0 to 1. `within` is None where nobody can say: the data set is too small for shares to say
    anything, or no whole number of memories is in the range.
    """

    field: str
    name: str
    count: int
    share: float
    least: float
    most: float
    within: bool | None

    def __str__(self) -> str:
        verdict = {True: "ok", False: "out of range", None: "too few to be judged"}[self.within]
        target = f"{100 * self.least:.0f}-{100 * self.most:.0f} %"
        share = f"{100 * self.share:.1f} %, target {target}"
        return f"  {self.field} {self.name}: {self.count} ({share}): {verdict}"


class MemorySort(NamedTuple):
    """What shares are counted by: the outcome, the tool, and the key and value that route it."""

    outcome: str | None
    tool: str | None = None
    key: str | None = None
    value: str | None = None


def measure_shares(sorts: Mapping[MemorySort, int]) -> list[Distribution]:
    """How often each value of `RANGES` occurs among so many memories of each sort."""
    total = sum(sorts.values())
    shares = []
    for name, ranges in RANGES.items():
        counts: Counter[str | None] = Counter()
        for sort, number in sorts.items():
            if name in ("outcome", "tool"):
                counts[getattr(sort, name)] += number
            elif sort.key == name:
                counts[sort.value] += number
        base = total if name in ("outcome", "tool") else counts.total()
        for value, (least, most) in ranges.items():
            count, within = counts[value], None
            can_be = -(-least * base // 100) <= most * base // 100
            if base and can_be and total >= DATASET_JUDGED_FROM:
                within = least * base <= 100 * count <= most * base
            share = round(count / base, 4) if base else 0.0
            shares.append(Distribution(name, value, count, share, least / 100, most / 100, within))
    return shares


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
        """Those that keep a memory from being stored."""
        return tuple(fault for fault in self.problems if fault.severity == "error")

    @lazy
    def warnings(self) -> tuple[Fault, ...]:
        """Those that make the data set unlike a real one."""
        return tuple(fault for fault in self.problems if fault.severity == "warning")

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
        total, errors = say_count(self.total, "memory", "memories"), len(self.errors)
        first = f"{total}: {say_count(errors, 'error')}, {say_count(len(self.warnings), 'warning')}"
        problems = _list_first((*self.errors, *self.warnings))
        return "\n".join([first, *map(str, self.distributions), *problems])


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
        done += f", {self.present} loaded before" if self.present else ""
        refused = (self.total - self.stored - self.present) or "none"
        of_all = say_count(self.total, "memory", "memories")
        first = f"{self.stored} of {of_all} {done}, {refused} rejected"
        return "\n".join([first, *_list_first(self.rejected)])


def _list_first(problems: Sequence[Fault]) -> list[str]:
    """The first of them as lines, and how many more there are."""
    left = len(problems) - limits.SCREEN_ITEMS
    lines = list(map(str, problems[: limits.SCREEN_ITEMS]))
    return [*lines, f"… and {left} more"] if left > 0 else lines


def _fault(
    field: str, value: object, wrong: str, remedy: str, severity: Severity = "error"
) -> Fault:
    """One of an entry whose place is not known here."""
    text = ABSENT if value is ABSENT else show_value(value)
    return Fault(None, field, text, wrong, remedy, severity)


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
    problems = [problem for _, faults in _judge(entries) for problem in faults]
    sorts = Counter(_sort(entry) for entry in entries.values if isinstance(entry, Mapping))
    total, shares = len(entries.values), measure_shares(sorts)
    for share in shares:
        if share.within is False:
            usual = f"{100 * share.least:.0f} to {100 * share.most:.0f} %"
            wrong = f"is {100 * share.share:.1f} % where {usual} are realistic"
            remedy = f"have {'more' if share.share < share.least else 'fewer'} of them"
            problems.append(Fault(None, share.field, share.name, wrong, remedy, "warning"))
    return Report(total, tuple(problems), tuple(shares))


def _sort(entry: Mapping[Any, Any]) -> MemorySort:
    """What an entry counts as. Values that are no text count as none."""
    texts = {name: value for name, value in entry.items() if isinstance(value, str)}
    outcome, tool = texts.get("outcome"), texts.get("tool")
    key, _ = ROUTES.get((outcome or "", tool)) or (None, ())
    return MemorySort(outcome, tool, key, texts.get(key))


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
    rejected: list[Fault] = []
    warnings: list[Fault] = []
    stored = done = 0
    unfinished = "%d of %d memories are stored: load them again to go on from there"
    with on_failure(lambda: _log.warning(unfinished, done, total)):
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
            if progress and total:
                progress(done, total)
    present = total - stored - len({fault.index for fault in rejected} - {None})
    lists = tuple(ids), tuple(rejected), tuple(warnings)
    return DatasetLoaded(total, stored, present, *lists, dry_run)


def _was_loaded(memory: Memory, record_id: str) -> bool:
    """Also where it was forgotten since: then it has left nothing but that."""
    store, project = memory._project.store, memory.project
    return bool(store.get(project, record_id) or store.list_events(project, record_id))


def _judge(
    entries: DatasetEntries, author: str | None = None
) -> Iterator[tuple[Experience | None, list[Fault]]]:
    """Entry by entry its record, or None, and what is wrong with it. Those that name no time
    happened one microsecond after the other, the last of them just now. The same entry of the same
    author has the same id, whenever it is loaded; of several that are alike, each by its number.
    """
    begin = now() - timedelta(microseconds=len(entries.values))
    summaries: dict[str, int] = {}
    contents: dict[str, int] = {}
    times: Counter[str] = Counter()
    if not entries.values:
        remedy = "fill the list, or name the file that holds it"
        yield None, [_fault("data set", [], "holds no memory", remedy)]
    for index, entry in enumerate(entries.values):
        record, faults = check(entry, begin + timedelta(microseconds=index), author)
        if index in entries.unreadable:
            remedy = "write one JSON object per line, each key once"
            record, faults = None, [_fault("entry", entry, entries.unreadable[index], remedy)]
        if record and author:
            text = json.dumps([author, entry], sort_keys=True, default=str)
            times[text] += 1
            record = record.copy_with(id=derived_id("data set", text, str(times[text])))
        at_fault = {fault.field for fault in faults if fault.severity == "error"}
        sound = {} if "entry" in at_fault else {name: entry.get(name) for name in _OWN - at_fault}
        summary, content = sound.get("summary"), sound.get("content")
        if isinstance(summary, str):
            first = summaries.setdefault(summary.strip("_-"), index)  # as it is kept
            if first != index:
                wrong = f"is the summary of memory {first} as well"
                faults.append(_fault("summary", summary, wrong, "give each its own"))
                record = None
        if isinstance(content, str):  # what could be kept and should say better
            # not all scripts put spaces between words
            if content.isascii() and len(_WORD.findall(content)) < _WORDS_MIN:
                remedy = "name what it was about: the component, the error, the cause, the cure"
                faults.append(_fault("content", content, "says too little", remedy, "warning"))
            first = contents.setdefault(fingerprint(content), index)
            if first != index:
                wrong = f"says the same as memory {first}, but for numbers and the order of words"
                remedy = "say what sets it apart, or leave it out"
                faults.append(_fault("content", content, wrong, remedy, "warning"))
        line = entries.lines[index] if entries.lines else None
        yield record, [replace(fault, index=index, line=line) for fault in faults]


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
    envelope = {"author": author} if author is not None else {}
    envelope |= {key: entry[key] for key in _ENVELOPE if key in entry}
    rest = ((key, value) for key, value in entry.items() if key not in envelope)
    keys = {key: value for key, value in rest if value is not None or key in _RESERVED}
    faults = list(_find_faults(keys))
    at_fault = {fault.field for fault in faults if fault.severity == "error"}
    try:
        own = {key: value for key, value in keys.items() if key not in _RESERVED}
        record = Experience(metadata=make_metadata(envelope, at, None), **own)
        size = len(record.to_json_bytes())
        allowed = f"at most {_BYTES_MAX} bytes as JSON"
        check_that(size <= _BYTES_MAX, "entry", f"{size} bytes", allowed)
        return None if at_fault else record, faults
    except InvalidInputError as error:
        unnamed = (problem for problem in error.problems if problem.field not in at_fault)
        refused = [
            _fault(problem.field, problem.value, "is not allowed", f"give {problem.allowed}")
            for problem in unnamed
        ]
        names = {fault.field for fault in refused}
        return None, [fault for fault in faults if fault.field not in names] + refused


def _find_faults(keys: Mapping[str, Any]) -> Iterator[Fault]:
    """What is wrong with an entry, but for the values of keys of its own: the record tells."""
    content, summary = (keys.get(name, ABSENT) for name in ("content", "summary"))
    least, most = DATASET_CONTENT_CHARS_MIN, DATASET_CONTENT_CHARS_MAX
    if not isinstance(content, str):
        yield _fault("content", content, "is no text", "say what happened, in a sentence")
    elif not least <= len(content.strip()) <= len(content) <= most:
        wrong = f"has less than {least} or more than {most} characters"
        yield _fault("content", content, wrong, "say what happened to what, and why")
    yield from _find_route_faults(keys)
    if summary is ABSENT:
        made = safe_summary(str(keys.get("content", ""))[:SUMMARY_FROM_CONTENT_CHARS])
        yield _fault("summary", ABSENT, "is missing", f"{made} is made of the content", "warning")
    elif not isinstance(summary, str):
        yield _fault("summary", summary, "is not text", "name it in a few lowercase words")
    elif not _SUMMARY.fullmatch(summary) and safe_summary(summary) != summary:
        wrong = "is not fit for a file name"
        yield _fault("summary", summary, wrong, f"use {safe_summary(summary)}")
    elif len(summary) == limits.SUMMARY_CHARS_MAX:
        wrong = f"is not under {limits.SUMMARY_CHARS_MAX} characters"
        yield _fault("summary", summary, wrong, "say it in fewer words", "warning")
    for key in sorted(keys.keys() - _KNOWN):
        if key in _RESERVED:
            yield _fault(key, keys[key], "is a name that records use themselves", "rename the key")
            continue
        like = get_close_matches(key, _ROUTING | _OWN, 1, 0.7)
        remedy = f"write {like[0]}" if like else "leave it out, or know that it is kept as it is"
        yield _fault(key, keys[key], "is no key of a data set", remedy, "warning")


def _find_route_faults(keys: Mapping[str, Any]) -> Iterator[Fault]:
    """Whether it has a folder in the standard tree, and what else looks as if it routed it."""
    problem = _ROUTER.route(keys).problem
    if problem:
        wrong = "is required" if problem.value is ABSENT else "is not known"
        yield _fault(problem.field, problem.value, wrong, f"use {problem.allowed}")
    if not problem or problem.field not in ("outcome", "tool"):
        outcome, tool = keys["outcome"], keys.get("tool")
        tool = None if (outcome, None) in ROUTES else tool
        used = {*(ROUTES[outcome, tool] or ())[:1], "tool" if tool else ""}
        for key in sorted((_ROUTING | {"tool"}) & keys.keys() - used):
            wrong = f"does not go with {outcome}" + (f" by {tool}" if tool else "")
            yield _fault(key, keys[key], wrong, "leave it out: it does not route", "warning")
