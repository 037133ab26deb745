"""Whether a data set can be kept and looks like a real one (`validate`), and keeping it
(`load_dataset`).

A data set is a list, or a file of JSON, JSON Lines or Python source, of which nothing is run.

Each check looks at one thing and says what to do. An entry without an error is one that
`Memory.remember(**entry)` takes: the record itself is built for the last check.
"""

from __future__ import annotations

import ast
import os
import re
import reprlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal, NoReturn

from pydantic_core import PydanticCustomError, from_json

from hardwon import limits
from hardwon.errors import (
    VALUE_CHARS_SHOWN,
    InvalidInputError,
    PlaceError,
    Problem,
    ask_foreign,
)
from hardwon.first_use import lazy
from hardwon.memory import Memory
from hardwon.memory.project import batches
from hardwon.memory.record import ENVELOPE_KEYWORDS, metadata_of
from hardwon.outside import files
from hardwon.outside.locations import check_path
from hardwon.records.fields import ABSENT, check_items, check_keys, new_id, now
from hardwon.records.kinds import (
    OUTCOMES,
    ROUTES,
    Experience,
    Moment,
    Source,
    safe_summary,
)
from hardwon.store.types import Progress

Severity = Literal["error", "warning"]
Range = tuple[int, int]
Ranges = Mapping[str, Range]

# How often what should occur, in percent. Outcomes and tools are shares of all memories; error
# types are shares of the failures that name one, task types of what the code interpreter did well.
# Memories without a tool (learning, interaction) count in the shares of tools too.
OUTCOME_RANGES: Final[Ranges] = {
    "success": (55, 65),
    "failure": (15, 25),
    "learning": (10, 15),
    "interaction": (5, 10),
}
TOOL_RANGES: Final[Ranges] = {
    "code_interpreter": (40, 50),
    "web_search": (15, 20),
    "file_operation": (10, 15),
    "conversation": (5, 10),
}
ERROR_RANGES: Final[Ranges] = {
    "runtime": (35, 45),
    "syntax": (20, 30),
    "logic": (20, 30),
    "timeout": (5, 10),
}
TASK_RANGES: Final[Ranges] = {
    "debug": (35, 45),
    "write": (25, 35),
    "refactor": (15, 25),
    "explain": (5, 10),
}

_OWN: Final = frozenset({"content", "outcome", "tool", "summary"})
_RESERVED: Final = frozenset(Experience.model_fields) - _OWN - frozenset(ENVELOPE_KEYWORDS)
_SUMMARY: Final = re.compile(rf"[a-z0-9_-]{{1,{limits.SUMMARY_CHARS_MAX}}}")
# placeholders for secrets may be longer than what they stand for
_BYTES_MAX: Final = limits.RECORD_BYTES_MAX // 2

_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_HEX: Final = re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{7,}\b")
_VAGUE_WORDS_MAX: Final = 3

_STOP: Final = frozenset(
    """an the and or but of in on at to for from by with without about as is was are were be been being it its this that these
    those some any more most other another into over after before when while so than then there here has have had not no
    very just also which who our my your his her their me us him them we you he she they""".split()
)
_VAGUE_DEEDS: Final = frozenset(
    """made make making looked look looking talked talk talking worked work working did do doing done tried try trying checked
    check checking handled handle handling changed change changing updated update updating went used got""".split()
)
_GENERIC: Final = _VAGUE_DEEDS | frozenset(
    """fixed fix fixing resolved resolve solved solve debugged debug debugging implemented implement implementing added add
    adding created create wrote write writing built build refactored refactor found find finding searched search learned
    learn learning learnt observed observe noticed notice discovered discover explained explain improved improve completed
    complete finished successfully success successful failed fail failure error errors runtime syntax logic timeout
    exception bug bugs issue issues problem problems feature features improvement improvements enhancement change changes
    thing things something anything everything stuff code codebase module modules function functions method class component
    file files system project task tasks item items topic topics docs documentation research result results output outputs
    pattern patterns insight insights lesson fact facts information info data user users customer happy glad pleased
    satisfied frustrated confused unhappy angry annoyed good bad great nice better well new old big small various several
    many few lot lots misc general test tests case example memory memories occurred happened encountered unexpected
    experience step steps number no nr id""".split()
)


def fingerprint(content: str) -> str:
    """The words that carry meaning, whatever their order, case and number, and without any digits:
    near-copies share it.
    """
    lowered = content.lower()
    words = _WORD.findall(_HEX.sub(" ", lowered) if any(map(str.isdigit, lowered)) else lowered)
    return " ".join(sorted(set(words) - _STOP))


def too_little(content: str) -> str | None:
    """Why the content says too little, or None."""
    words = _WORD.findall(content.lower())
    meant = set(words) - _STOP
    specific = meant - _GENERIC
    if not specific:
        return "too vague" if meant & _VAGUE_DEEDS else "too generic"
    # not all scripts put spaces between words
    if len(specific) == 1 and len(words) <= _VAGUE_WORDS_MAX and content.isascii():
        return "too vague"
    return None


def is_within(count: int, base: int, target: Range) -> bool:
    """Whether the share is in its range, as far as whole numbers can be: 5 to 10 % of 50 are 2 to
    5.
    """
    return target[0] * base // 100 <= count <= -(-target[1] * base // 100)


_short: Final = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = VALUE_CHARS_SHOWN - 2
_short.maxlevel = 3


def shown(value: object) -> str:
    """A value as a report shows it: short, on one line, whatever it is."""
    text = ask_foreign(lambda: _short.repr(value), f"<{type(value).__name__}>")
    text = "".join(char if char.isprintable() else " " for char in text)
    return text if len(text) <= VALUE_CHARS_SHOWN else text[: VALUE_CHARS_SHOWN - 1] + "…"


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
        counted = f"{_many(len(self.errors), 'error')}, {_many(len(self.warnings), 'warning')}"
        lines = [f"{_many(self.total, 'memory', 'memories')}: {counted}"]
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
    """What became of a data set. `stored` of `total` memories were kept, with these `ids` (or would
    be, in a dry run, which has none); the others were refused for what `rejected` names. `warnings`
    are about memories that were kept.
    """

    total: int
    stored: int
    ids: tuple[str, ...]
    rejected: tuple[Fault, ...]
    warnings: tuple[Fault, ...]
    dry_run: bool

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        return asdict(self)

    def __str__(self) -> str:
        done = "would be stored" if self.dry_run else "stored"
        refused = (
            f"{self.total - self.stored} rejected" if self.total > self.stored else "none rejected"
        )
        first = f"{self.stored} of {_many(self.total, 'memory', 'memories')} {done}, {refused}"
        return "\n".join([first, *_listed(self.rejected)])


def _listed(problems: tuple[Fault, ...]) -> list[str]:
    """The first of them as lines, and how many more there are."""
    lines = [str(problem) for problem in problems[: limits.PROBLEMS_SHOWN_MAX]]
    left = len(problems) - len(lines)
    return [*lines, f"… and {left} more"] if left else lines


def _many(count: int, one: str, more: str = "") -> str:
    return f"{count} {one if count == 1 else more or one + 's'}"


def _fault(
    field: str, value: object, wrong: str, remedy: str, severity: Severity = "error"
) -> Fault:
    """One of an entry whose place is not known here."""
    return Fault(None, field, ABSENT if value is ABSENT else shown(value), wrong, remedy, severity)


def validate(source: Any) -> Report:
    """Checks a data set: a list of dictionaries, or the path of a file that holds one (JSON, JSON
    Lines, or Python source, which is parsed and never run).

    Errors are what keeps a memory from being stored: fields that are missing or unknown, a summary
    that is no file name or was there before, contents of less than 10 or more than 500 characters.
    Warnings are what makes a data set unlike a real one: contents that are too generic, too vague
    or near-copies of others, and shares out of their ranges.
    """
    entries = read(source)
    problems = [problem for _record, problems in _judge(entries) for problem in problems]
    total = len(entries.values)
    memories = [value for value in entries.values if isinstance(value, Mapping)]
    failures = [each for each in memories if each.get("outcome") == "failure"]
    coded = [
        each
        for each in memories
        if (each.get("outcome"), each.get("tool")) == ("success", "code_interpreter")
    ]
    shares = []
    for name, among, ranges in (
        ("outcome", memories, OUTCOME_RANGES),
        ("tool", memories, TOOL_RANGES),
        ("error_type", failures, ERROR_RANGES),
        ("task_type", coded, TASK_RANGES),
    ):
        counts = Counter(value for each in among if isinstance(value := each.get(name), str))
        base = total if among is memories else counts.total()
        for value, (least, most) in ranges.items():
            count, within = counts[value], None
            share = round(count / base, 4) if base else 0.0
            if base and total >= limits.DATASET_JUDGED_FROM:
                within = is_within(count, base, (least, most))
            shares.append(Distribution(name, value, count, share, least / 100, most / 100, within))
            if within is False:
                wrong = f"is {100 * share:.1f} % where {least} to {most} % are realistic"
                remedy = f"have {'more' if share < least / 100 else 'fewer'} of them"
                problems.append(Fault(None, name, value, wrong, remedy, "warning"))
    return Report(total, tuple(problems), tuple(shares))


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
    `progress(done, total)` after each. Loading a data set twice keeps it twice. `dry_run` tells
    what would happen and writes nothing.
    """
    author = Source(author=author).author
    entries = read(source)
    total = len(entries.values)
    ids: list[str] = []
    rejected: list[Fault] = []
    warnings: list[Fault] = []
    stored = done = 0
    for judged in batches(_judge(entries, author), limits.BATCH_ROWS):
        records = [record for record, _problems in judged if record]
        for record, problems in judged:
            (warnings if record else rejected).extend(problems)
        if records and not dry_run:
            ids += memory.add_many(records)
        stored += len(records)
        done += len(judged)
        if progress:
            progress(done, total)
    return DatasetLoaded(total, stored, tuple(ids), tuple(rejected), tuple(warnings), dry_run)


def _judge(
    entries: DatasetEntries, author: str | None = None
) -> Iterator[tuple[Experience | None, list[Fault]]]:
    """Entry by entry its record, or None, and what is wrong with it. Those that name no time
    happened one microsecond after the other, the last of them just now.
    """
    begin = now() - timedelta(microseconds=len(entries.values))
    named: dict[str, int] = {}
    contents: dict[str, int] = {}
    for index, entry in enumerate(entries.values):
        if index in entries.unreadable:
            wrong = f"is not valid JSON ({entries.unreadable[index]})"
            record, found = None, [_fault("entry", entry, wrong, "write one JSON object per line")]
        else:
            record, found = check(entry, begin + timedelta(microseconds=index), author)
        at_fault = {error.field for error in found}
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
            if poor := too_little(content):
                remedy = "name what it was about: the component, the error, the cause, the cure"
                found.append(_fault("content", content, f"is {poor}", remedy, "warning"))
            first = contents.setdefault(fingerprint(content), index)
            if first != index:
                wrong = f"says the same as memory {first}, but for numbers and small words"
                remedy = "say what sets it apart, or leave it out"
                found.append(_fault("content", content, wrong, remedy, "warning"))
        line = entries.lines[index] if entries.lines else None
        yield record, [replace(fault, index=index, line=line) for fault in found]


def check(
    entry: object, at: datetime, author: str | None = None
) -> tuple[Experience | None, list[Fault]]:
    """The record that an entry describes, and everything that is wrong with it: one of the two is
    empty. `at` is its time, and `author` who says it, where it does not tell itself.
    """
    if not isinstance(entry, Mapping):
        remedy = "give a dictionary with content, outcome and summary"
        return None, [_fault("entry", entry, "is not a memory", remedy)]
    if not all(isinstance(key, str) for key in entry):
        remedy = "name every key by a text"
        return None, [_fault("entry", entry, "has a key that is not text", remedy)]
    envelope = {key: entry[key] for key in ENVELOPE_KEYWORDS if key in entry}
    given = {
        key: value
        for key, value in entry.items()
        if key not in envelope and (value is not None or key in _RESERVED)
    }
    if author is not None:
        envelope.setdefault("author", author)
    found = [*_content(given), *_route(given), *_summary(given), *_keys(given)]
    try:
        recalled, related = envelope.pop("recalled", None), envelope.pop("related_files", ())
        metadata = metadata_of(envelope, at, None)
        # files of the place that the data set comes from: they are named and not hashed
        paths = [
            {"path": str(path) if isinstance(path, Path) else path}
            for path in check_items("related_files", related)
        ]
        if paths:
            moment = Moment.model_validate({"related_files": paths})
            context = metadata.context.altered(related_files=moment.related_files)
            metadata = metadata.altered(context=context)
        if found:
            return None, found
        if recalled is not None:
            given["recalled"] = [str(each) for each in check_items("recalled", recalled)]
        record = Experience(id=new_id(metadata.context.timestamp), metadata=metadata, **given)
        size = len(record.to_json_bytes())
        if size > _BYTES_MAX:
            raise InvalidInputError.one(
                "entry", f"{size} bytes", f"at most {_BYTES_MAX} bytes as JSON"
            )
        return record, []
    except InvalidInputError as error:
        refused = [
            _fault(problem.field, problem.value, "is not allowed", f"give {problem.allowed}")
            for problem in error.problems
        ]
        return None, found + refused


_Case = tuple[bool, str, str]  # whether it is so, what is wrong then, and the remedy


def _first_fault(field: str, value: object, *cases: _Case) -> list[Fault]:
    return [_fault(field, value, *case[1:]) for case in cases if case[0]][:1]


def _content(given: Mapping[str, Any]) -> list[Fault]:
    content = given.get("content", ABSENT)
    text = content if isinstance(content, str) else ""
    least, most = limits.DATASET_CONTENT_CHARS_MIN, limits.DATASET_CONTENT_CHARS_MAX
    unfit = "has characters that cannot be kept", "take out NUL characters and lone surrogates"
    short = f"is shorter than {least} characters", "say what happened to what, and why"
    long = f"is longer than {most} characters", f"shorten it to {most} characters"
    return _first_fault(
        "content",
        content,
        (content is ABSENT, "is required", "say what happened, in a sentence"),
        (not isinstance(content, str), "is not text", "say what happened, in a sentence"),
        (len(text.strip()) < least, *short),
        (len(text) > most, *long),
        (re.search("[\0\ud800-\udfff]", text) is not None, *unfit),
    )


def _route(given: Mapping[str, Any]) -> Iterator[Fault]:
    outcome, tool = given.get("outcome", ABSENT), given.get("tool")
    if not isinstance(outcome, str) or outcome not in OUTCOMES:
        yield _fault(
            "outcome", outcome, _missing_or_unknown(outcome), f"use one of {', '.join(OUTCOMES)}"
        )
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
        yield _fault(
            route[0], value, _missing_or_unknown(value), f"use one of {', '.join(route[1])}"
        )


def _missing_or_unknown(value: object) -> str:
    return "is required" if value is ABSENT else "is not known"


def _summary(given: Mapping[str, Any]) -> list[Fault]:
    summary = given.get("summary", ABSENT)
    text = summary if isinstance(summary, str) else ""
    remedy = "name it in a few lowercase words joined by underscores"
    unfit = "is not fit for a file name", f"use {safe_summary(text)}"
    return _first_fault(
        "summary",
        summary,
        (summary is ABSENT, "is required", remedy),
        (not isinstance(summary, str), "is not text", remedy),
        (_SUMMARY.fullmatch(text) is None, *unfit),
    )


def _keys(given: Mapping[str, Any]) -> Iterator[Fault]:
    """Keys of the caller's own."""
    own = given.keys() - _OWN
    if len(own) > limits.EXTRA_KEYS_MAX:
        yield _fault(
            "entry",
            f"{len(own)} keys",
            "has too many keys",
            f"keep at most {limits.EXTRA_KEYS_MAX} of your own",
        )
    for key in sorted(own):
        value = given[key]
        if key in _RESERVED:
            yield _fault(key, value, "is a name that records use themselves", "rename the key")
            continue
        try:
            check_keys({key: value})
        except PydanticCustomError as error:
            yield _fault(
                key[: limits.KEY_CHARS_MAX] or "entry",
                value,
                "cannot be kept as JSON",
                f"give {error.message()}",
            )


# --- reading ---

_NAME: Final = "memories"
_ALLOWED: Final = (
    "lists of dictionaries written out: text, numbers, True, False, None, lists, dictionaries"
)
_RUN_IT: Final = "run the script yourself and save its list with json.dump"
_REMEDY_OF: Final = {
    "Call": f"a list without calls; {_RUN_IT}",
    "ListComp": f"a list without comprehensions; {_RUN_IT}",
    "GeneratorExp": f"a list without comprehensions; {_RUN_IT}",
    "For": f"a list without loops; {_RUN_IT}",
    "JoinedStr": "text without placeholders; write each text out",
}
_TOO_DEEP: Final = (
    f"values nested at most {limits.JSON_DEPTH_MAX} deep, and lists that are not put together from "
    f"thousands of others"
)
_Item = tuple[object, int]  # a value of the list, and the line it begins on
_DEPTH_MAX: Final = limits.JSON_DEPTH_MAX + 4
_SHOWN_CHARS: Final = 200


@dataclass(frozen=True)
class DatasetEntries:
    """What a source holds, before it is checked. `lines` are where the entries begin, as far as
    that is known; `unreadable` are those that could not even be read, with the reason, and their
    values the lines as they are.
    """

    values: list[Any]
    lines: list[int] = field(default_factory=list)
    unreadable: dict[int, str] = field(default_factory=dict)


def read(source: Any) -> DatasetEntries:
    """The entries of a list, or of the file at a path (a text is a path)."""
    if not isinstance(source, str | os.PathLike):
        values = check_items("source", source)
        _check_count(len(values), "")
        return DatasetEntries(values)
    path = check_path("source", os.fspath(source))
    text = _text_of(path)
    try:
        suffix = path.suffix.lower()
        if suffix in (".jsonl", ".ndjson"):
            return _json_lines(text)
        if suffix != ".py" and text.lstrip().startswith(("[", "{")):
            try:
                return _json(text)
            except _NotJsonError:  # where the name does not tell, it may be Python: single quotes, comments or True are no JSON
                if suffix == ".json":
                    raise
        return _python(text)
    except InvalidInputError as error:
        where = f"{path.name}, {error.where}" if error.where else path.name
        raise InvalidInputError(error.problems, where) from None


def _text_of(path: Path) -> str:
    try:
        data = files.read_regular(path, limits.DATASET_BYTES_MAX + 1)
    except PlaceError:
        raise PlaceError(
            f"cannot read {path}: it is not a file; name a file, or give the list itself"
        ) from None
    except OSError as error:
        raise PlaceError(f"cannot read {path}: {error.strerror or error}") from error
    if len(data) > limits.DATASET_BYTES_MAX:
        _refuse(
            "more bytes",
            f"at most {limits.DATASET_BYTES_MAX} bytes; divide it into several files",
            path.name,
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        _refuse(f"byte {data[error.start]:#04x}", "text as UTF-8", f"{path.name}, line {line}")


class _NotJsonError(InvalidInputError):
    """Not even the beginning of something else."""


def _json(text: str) -> DatasetEntries:
    try:
        data = from_json(text, allow_inf_nan=False)
    except ValueError as error:
        with suppress(ValueError):
            if isinstance(from_json(text.lstrip().partition("\n")[0]), dict):
                return _json_lines(text)
        place = re.search(r"line (\d+)", str(error))
        problem = Problem("data set", text[:_SHOWN_CHARS], f"valid JSON ({error})")
        raise _NotJsonError([problem], f"line {place[1] if place else 1}") from None
    if isinstance(data, dict):
        if "memories" not in data and ("content" in data or "outcome" in data):
            return DatasetEntries([data])  # a single line of JSON Lines
        data = data.get("memories")
    if not isinstance(data, list):
        allowed = "a list of memories, an object with a list under memories, or one memory a line"
        _refuse(text[:_SHOWN_CHARS], allowed)
    _check_count(len(data), "")
    return DatasetEntries(data)


def _json_lines(text: str) -> DatasetEntries:
    """Line by line: one that cannot be read is reported, and the others are read all the same."""
    found = DatasetEntries([])
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = from_json(line, allow_inf_nan=False)
        except ValueError as error:
            found.unreadable[len(found.values)] = str(error).replace(" at line 1 ", " at ")
            value = line
        found.values.append(value)
        found.lines.append(number)
        _check_count(len(found.values), f"line {number}")
    return found


def _python(text: str) -> DatasetEntries:
    """The data set in a Python source. InvalidInputError names the line of what cannot be read."""
    if len(text) > limits.DATASET_LITERAL_BYTES_MAX:
        most = f"at most {limits.DATASET_LITERAL_BYTES_MAX} characters of Python; save the list with json.dump instead"
        _refuse(f"{len(text)} characters", most)
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        _refuse(
            error.msg,
            "valid Python: a list of dictionaries, or its assignment to memories",
            f"line {error.lineno or 1}",
        )
    except (RecursionError, MemoryError):  # how the parser says that its stack is full
        _refuse("nested too deeply", _TOO_DEEP, "line 1")
    except ValueError as error:
        _refuse(str(error), "plain text", "line 1")
    names: dict[str, list[_Item]] = {}
    last = ""
    for statement in tree.body:
        last = _follow(statement, names) or last
    if not names:
        _refuse("no list", "a list of dictionaries, or its assignment to memories", "line 1")
    items = names.get(_NAME, names[last])
    return DatasetEntries([value for value, _line in items], [line for _value, line in items])


def _follow(statement: ast.stmt, names: dict[str, list[_Item]]) -> str | None:
    """Notes the list that a statement assigns, and returns its name. A list by itself is the data
    set.
    """
    value = getattr(statement, "value", None)
    # nothing is run, so nothing is imported; a constant is a docstring, or a setting
    if isinstance(statement, ast.Pass | ast.Import | ast.ImportFrom) or isinstance(
        value, ast.Constant
    ):
        return None
    before: list[_Item] = []
    match statement:
        case ast.Expr():
            name = _NAME
        case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
            name = _name_of(target)
        case ast.AugAssign(target=target, op=ast.Add()):
            name = _name_of(target)
            before = names.get(name, [])
        case _:
            _refuse_node(statement)
    if value is None:
        return None  # a name with a type and nothing else
    items = [*before, *_items(value, names)]
    # doubling a list by its own name takes a few lines only
    _check_count(len(items), f"line {statement.lineno}")
    names[name] = items
    return name


def _name_of(target: ast.expr) -> str:
    return target.id if isinstance(target, ast.Name) else _refuse_node(target)


def _items(node: ast.expr, names: dict[str, list[_Item]]) -> list[_Item]:
    """The items of a list, of a name that holds one, or of several put together."""
    items: list[_Item] = []
    waiting = [node]
    while waiting:  # a chain of a thousand + is a tree a thousand deep
        part = waiting.pop()
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add):
            waiting += [part.right, part.left]
        elif isinstance(part, ast.List | ast.Tuple):
            items += [(_value(element), element.lineno) for element in part.elts]
        elif isinstance(part, ast.Name) and part.id in names:
            items += names[part.id]
        else:
            _refuse_node(part)
        _check_count(len(items), f"line {part.lineno}")
    return items


def _value(node: ast.expr, depth: int = 0) -> object:
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | None):
        return node.value
    if depth > _DEPTH_MAX:
        _refuse("nested too deeply", _TOO_DEEP, f"line {node.lineno}")
    if isinstance(node, ast.Dict):
        keys: list[Any] = node.keys
        for key in keys:  # one that is no text is refused where memories are checked
            if not (
                isinstance(key, ast.Constant) and isinstance(key.value, str | int | float | None)
            ):
                _refuse(
                    ast.dump(key)[:40] if key else "**",
                    "dictionaries whose keys are text",
                    f"line {node.lineno}",
                )
        return {
            key.value: _value(value, depth + 1)
            for key, value in zip(keys, node.values, strict=True)
        }
    # JSON knows only lists, and so would json.dumps write it
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(element, depth + 1) for element in node.elts]
    if (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub | ast.UAdd)
        and isinstance(node.operand, ast.Constant)
    ):
        number = node.operand.value
        if isinstance(number, int | float) and not isinstance(number, bool):
            return -number if isinstance(node.op, ast.USub) else number
    return _refuse_node(node)


def _check_count(count: int, where: str) -> None:
    if count > limits.DATASET_MEMORIES_MAX:
        _refuse(
            f"{count} memories", f"at most {limits.DATASET_MEMORIES_MAX} memories; divide it", where
        )


def _refuse_node(node: ast.AST) -> NoReturn:
    kind = type(node).__name__
    _refuse(kind, _REMEDY_OF.get(kind, _ALLOWED), f"line {getattr(node, 'lineno', 1)}")


def _refuse(what: str, allowed: str, where: str = "") -> NoReturn:
    raise InvalidInputError([Problem("data set", what, allowed)], where)
