"""Writes the pages of docs/reference that say what the code says: `make docs`.

Each page is a function that gives its text. What is said of a name is the name's own: its docstring, its signature, its JSON
Schema, its bounds. Here is only what concerns many of them. Nothing depends on the machine. docs/generate_cli.py does the
same for the command line.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import dataclasses
import inspect
import json
import re
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import hardwon
from hardwon import errors, feedback, limits, model, recalling, recorder, reports, stats
from hardwon.fields import Model
from hardwon.intake import Envelope
from hardwon.learn import compare, confidence, fix_reports, patterns, rules
from hardwon.memory import Memory
from hardwon.memory.asking import Asking
from hardwon.memory.core import Core
from hardwon.memory.deciding import Deciding
from hardwon.memory.keeping import Keeping
from hardwon.memory.learned import Learned
from hardwon.memory.recording import Recording
from hardwon.recall import advice, hit, topology
from hardwon.recall.filters import Filters
from hardwon.serve import arguments, settings
from hardwon.serve.operations import HERE_ALONE, OPERATIONS
from hardwon.store import contract

FOLDER: Final = Path(__file__).parent / "reference"
Schema = Mapping[str, Any]

MADE: Final = "<!-- Made by docs/generate_reference.py from the code itself: `make docs` writes it anew. -->"


# --- what all pages share ---------------------------------------------------------------------------------------------


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    columns = list(head)
    lines = [columns, ["---"] * len(columns), *(list(row) for row in rows)]
    return "\n".join(f"| {' | '.join(_in_cell(cell) for cell in line)} |" for line in lines) + "\n"


def _in_cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split()))


def code(text: object) -> str:
    return f"`{text}`"


def listed(words: Iterable[str], last: str = "or") -> str:
    *before, end = words
    return f"{', '.join(before)} {last} {end}" if before else end


def number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def allowed(schema: Schema, link: Callable[[str], str] = code) -> str:
    """What a JSON Schema takes, in words. `link` says how a definition that it names is shown."""
    if "$ref" in schema:
        return link(schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return listed(map(code, schema["enum"]))
    if "const" in schema:
        return code(schema["const"])
    choices = [choice for choice in schema.get("anyOf", ()) if choice.get("type") != "null"]
    if choices:
        formats = [choice.get("format") for choice in choices]
        if "date-time" in formats:
            return "a time with a zone (ISO 8601), or milliseconds since 1970"
        return listed(dict.fromkeys(allowed(choice, link) for choice in choices))
    return _plainly(schema, link)


def _plainly(schema: Schema, link: Callable[[str], str]) -> str:
    kind = schema.get("type")
    if kind == "string":
        if schema.get("format") == "uuid":
            return "an id (UUID)"
        known = schema.get("examples", ())
        if len(known) > 1:
            return f"text, such as {listed(map(code, known))}"
        return f"text, at most {number(schema['maxLength'])} characters" if "maxLength" in schema else "text"
    if kind in ("integer", "number"):
        return f"{'whole number' if kind == 'integer' else 'number'}{_range(schema)}"
    if kind == "boolean":
        return "true or false"
    if kind == "array":
        most = f" (at most {number(schema['maxItems'])})" if "maxItems" in schema else ""
        return f"list{most} of {allowed(schema.get('items', {}), link)}"
    inner = schema.get("additionalProperties")
    return f"object of {allowed(inner, link)}" if isinstance(inner, dict) else "object" if kind else "any JSON value"


def _range(schema: Schema) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f" from {number(low)} to {number(high)}"
    return "" if low is None else f", {number(low)} or more"


def default_of(schema: Schema, required: bool) -> str:
    if required:
        return "required"
    value = schema.get("default", {"made": "when it is needed"})
    if value is None:
        return "none"
    if value in ("", [], {}):
        return "empty"
    return "its own" if isinstance(value, dict) else code(json.dumps(value, ensure_ascii=False))


def fields_table(
    properties: Mapping[str, Schema], required: Iterable[str], link: Callable[[str], str], about: Mapping[str, str]
) -> str:
    rows = [
        (
            code(name),
            allowed(schema, link),
            default_of(schema, name in required),
            about.get(name) or schema.get("description", ""),
        )
        for name, schema in properties.items()
    ]
    return table(("field", "what it takes", "default", ""), rows)


def prose(text: str | None) -> str:
    """A docstring as paragraphs; lines that are a word and its meaning, in columns, become a list."""
    parts = []
    for paragraph in inspect.cleandoc(text or "").split("\n\n"):
        columns = [re.fullmatch(r"(\w+) {2,}(.+)", line) for line in paragraph.splitlines()]
        if all(columns):
            parts.append("\n".join(f"- {code(found[1])}: {found[2]}" for found in columns if found))
        else:
            parts.append(" ".join(paragraph.split()))
    return "\n\n".join(parts)


# --- Python -----------------------------------------------------------------------------------------------------------

GROUPS: Final[Mapping[str, tuple[type, str]]] = {
    "Recording": (Recording, "What was tried and found goes in. Each call is one transaction, and is on disk when it returns."),
    "Asking": (Asking, "Before the next attempt: records, hits, contexts, advice, and what there is."),
    "What was learned": (Learned, "Knowledge with its evidence, worked out from counts when it is asked for."),
    "Deciding": (Deciding, "What may be believed. Every decision is an event or a record of its own, with who made it."),
    "Keeping": (Keeping, "Looking after a memory: room, copies, health, files beside it."),
    "The memory itself": (Core, "Where it is, and closing it. The attribute `project` is the project that it works in."),
}
_IN_ANOTHER_GROUP: Final = {"trajectory": "Recording", "episode": "Recording", "merge": "Keeping"}
RECORDS: Final = ("Experience", "Fact", "Trajectory", "Step", "Episode", "MistakeCard", "Fix", "Issue", "Entities", "Decision")
ENVELOPE: Final = ("Metadata", "Source")
ALIASES: Final = ("AgentDBMetadata", "AtomicFact", "ReasoningTrajectory")
OTHERS: Final = ("SolutionPattern",)
FUNCTIONS: Final = ("failure_hash", "generate_issue_signature", "fix_history_signature", "step_credit", "json_schema")
OUTSIDE: Final = ("ChatModel", "WordLlamaEmbedder", "FastembedEmbedder", "EndpointEmbedder", "CallableEmbedder")
_ANSWERS_OF: Final = (reports, stats, recalling, recorder, feedback, hit, advice, topology, rules, patterns, fix_reports)
_MORE_ANSWERS_OF: Final = (compare, confidence, contract)
_SAYS_IT_ALREADY: Final[Mapping[str, type[arguments.Arguments]]] = {
    "Experience": arguments.Remember,
    "Fact": arguments.RecordFact,
    "Trajectory": arguments.RecordTrajectory,
    "Episode": arguments.RecordEpisode,
    "Fix": arguments.RecordFix,
}
"""Where the meaning of a record's fields is told to callers elsewhere."""

EVERY_RECORD: Final = {
    "kind": "Which of the records it is.",
    "id": "A UUIDv7: sorts by time. Made where none is given.",
    "redacted": "The labels of secrets that were taken out.",
    "recalled": "Ids of what was recalled before it was tried.",
    "metadata": "The envelope.",
}
MEANING: Final[Mapping[str, Mapping[str, str]]] = {  # of fields that do not say it themselves
    "Experience": {
        "unrouted": "Why no route took it, where that is so.",
        "own_schema": "It was routed by a schema of your own.",
    },
    "Fact": {
        "original": "The sentence as it was given, where the memory changed it.",
        "findings": "What keeps it from standing alone.",
    },
    "Step": {"action": "What was done.", "observation": "What came of it.", "reward": "What that was worth."},
    "MistakeCard": {
        "mistake_type": "What sort of mistake.",
        "task_id": "Its task, where it is not the episode's.",
        "worker_id": "Whom it concerned.",
        "bad_decision": "What was decided.",
        "correct_decision": "What would have been right.",
        "evidence": "What shows it; longer texts are cut.",
        "lesson": "What to do next time; longer texts are cut.",
    },
    "Fix": {
        "execution_time_seconds": "How long it took.",
        "notes": "Anything else, in words.",
        "fix_type": "What sort of fix, as the fixer calls it.",
        "confidence": "How sure the fixer was.",
        "verification_steps": "How it was to be verified.",
        "expected_outcome": "What the fixer expected.",
        "other": "What else the fixer's reply, or an older row, had to say.",
    },
    "Issue": {
        "model": "The model whose output is wrong.",
        "issue_type": "What sort of issue. Any name; these are common.",
        "description": "What is wrong, in words.",
        "error_output": "What was printed.",
        "test_prompt": "What the model was asked.",
        "expected_pattern": "What was to come back.",
        "actual_response": "What came back.",
        "timestamp": "When it was noticed, as its reporter wrote it.",
        "test_environment": "The machine that it was noticed on.",
    },
    "Entities": {
        "files": "Files that it names.",
        "functions": "Functions that it names.",
        "libraries": "Libraries that it names.",
        "error_codes": "Error codes that it names.",
    },
    "Decision": {
        "action": "What was decided.",
        "task_id": "The task that it concerns; none: the whole project.",
        "target": "The lesson, or source, that it is about.",
        "replacement": "The lesson that takes its place.",
        "text": "A rule that was written down.",
        "tasks": "Tasks that a lesson was learned in.",
        "evidence": "Ids of the records that it rests on.",
        "reason": "Why, in words.",
    },
    "Metadata": {
        "source": "Where it came from.",
        "context": "`timestamp`, `git_commit`, `git_branch`, and `related_files` with the SHA-1 of each.",
        "validation": "`status`, `verified_by`, `verification_id`, `failure_hash`.",
        "tags": "Words to filter by.",
        "project_id": "The project; a memory fills in its own.",
    },
    "Source": {
        "type": "What sort of source.",
        "id": "A session or run: what is of one session is found together.",
        "author": "Who says so. Support, influence and rollback are counted by it.",
    },
    "RecordFix": {
        "execution_time_seconds": "How long it took.",
        "notes": "Anything else, in words.",
        "confidence": "How sure the fixer was.",
    },
    "GetOdds": {
        "model": "Fixes of this model.",
        "issue_type": "Fixes of this issue type.",
        "fixer": "Fixes by this fixer.",
        "tool": "Experiences with this tool.",
        "task": "The task, beside a tool.",
    },
    "RelatedFile": {
        "path": "From the root of the checkout.",
        "hash": "The SHA-1 of its content; empty: there is no such file.",
    },
    "SolutionPattern": {
        "diagnosis_id": "What was diagnosed.",
        "strategy": "What was done.",
        "success_rate": "The share that worked.",
        "usage_count": "How often it was used.",
        "metadata": "The envelope.",
    },
}
WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    name: typing.get_args(found)
    for module in (model, rules, patterns, fix_reports, advice)
    for name, found in vars(module).items()
    if typing.get_origin(found) is typing.Literal
}
"""Types that are one of a few words, by name."""

KEYWORDS: Final = {
    "author": "who says so; the source that support and rollback are counted by",
    "source": '`{"type": …, "id": …}`: what sort of source, and the session or run',
    "timestamp": "when it happened, with a zone; now where nobody says",
    "tags": "words to filter by",
    "related_files": "paths of files that it is about; they are hashed now",
    "git_commit": "the commit it happened at; the checkout's own where nobody says",
    "git_branch": "the branch, likewise",
    "failure_hash": "the hash of how something failed (`failure_hash(text)`)",
    "recalled": "the context, or the ids, that were shown before the attempt: its outcome credits them",
}
ARGUMENTS_OF_MANY: Final = {
    "as_of": "a time: the answer that was right then",
    "by": "who decides or asks, as it will stand in the audit",
    "dry_run": "say what would happen, and change nothing",
    "limit": f"how many at most, from 1 to {limits.SHOWN_MAX:,}",
    "progress": "`progress(done, total)` is called now and then",
    "issue": "an [`Issue`](#issue), or a dict with its fields; a `fixer_type` in it names the fixer",
}
WORTH_KNOWING: Final = (
    "TEXT_CHARS_MAX",
    "NAME_CHARS_MAX",
    "RECORD_BYTES_MAX",
    "EXTRA_KEYS_MAX",
    "ITEMS_MAX",
    "STEPS_MAX",
    "INDEXED_CHARS_MAX",
    "QUERY_TERMS_MAX",
    "RECALL_K_MAX",
    "SHOWN_MAX",
    "CONTEXT_TOKENS",
    "CONTEXT_TOKENS_MAX",
    "BUSY_TIMEOUT_MS",
    "MEMORY_BYTES_MAX",
    "LESSONS_PER_RECORD_MAX",
)
PYTHON_BEGINS: Final = """\
# Python

{made}

```python
from hardwon import Memory

with Memory("agent_brain") as memory:
    kept = memory.remember("KeyError 'id' in login.py", "failure", "code_interpreter", error_type="runtime")
    assert memory.recall("login KeyError")[0].record.id == kept.id
```

Everything here is imported from `hardwon`; what methods give back is described under [Answers](#answers). Code written for
older designs imports from [`hardwon.doors`](../migration/btb-tree.md), data sets come from
[`hardwon.datasets`](../datasets.md). Names that are not on this page may change without notice.

A wrong argument is an [`InvalidInputError`](#errors) that names the field, what was given and what is allowed; nothing was
changed then. Every method may also raise a [`StorageError`](#errors).
"""


def python_page() -> str:
    return "\n".join(
        [
            PYTHON_BEGINS.format(made=MADE),
            *_memory_section(),
            *_records_section(),
            *_answers_section(),
            *_functions_section(),
            *_outside_section(),
            *_client_section(),
            *_errors_section(),
            *_limits_worth_knowing(),
        ]
    )


def methods_of(group: str) -> list[str]:
    """The public names of `Memory` in this group, in the order of the source."""
    own = [name for name in vars(GROUPS[group][0]) if not name.startswith("_")]
    return own + [name for name, place in _IN_ANOTHER_GROUP.items() if place == group]


def _memory_section() -> Iterator[str]:
    yield f"## Memory\n\n{_signature('Memory', Core.__init__)}\n{prose(Memory.__doc__)}\n\n{prose(Core.__init__.__doc__)}\n"
    yield "### Keywords that many methods take\n"
    yield "`remember` and every `record_…` take the envelope's as `**envelope`:\n"
    yield table(("keyword", ""), ((code(name), KEYWORDS[name]) for name in Envelope.__annotations__))
    yield "What asks for records takes `**filters`. All that are given must hold:\n"
    told = {name: field.description or "" for name, field in arguments.Filtered.model_fields.items()}
    schema = Filters.model_json_schema()["properties"]
    rows = ((code(name), allowed(schema[name]), meaning) for name, meaning in told.items())
    yield table(("filter", "what it takes", ""), rows)
    yield "And several of them:\n"
    yield table(("argument", ""), ((code(name), meaning) for name, meaning in ARGUMENTS_OF_MANY.items()))
    for group, (_, about) in GROUPS.items():
        yield f"## {group}\n\n{about}\n"
        yield from (_member(Memory, name) for name in methods_of(group))


def _member(owner: type, name: str) -> str:
    found = inspect.getattr_static(owner, name)
    heading = f"### {owner.__name__}.{name}\n\n"
    if isinstance(found, property):
        return f"{heading}{_fence(f'{name}: {_annotation(found.fget)}')}\n{prose(found.fget.__doc__)}\n"
    function = getattr(found, "__func__", found)
    mark = "@classmethod\n" if isinstance(found, classmethod) else ""
    told = [prose(inspect.getdoc(function)), _choices(function), _gives(function)]
    return f"{heading}{_signature(name, function, mark)}\n" + "\n\n".join(filter(None, told)) + "\n"


def _gives(function: Any) -> str:
    """Links to what an answer is described by."""
    named = [name for name in re.findall(r"\w+", _annotation(function)) if name in _documented()]
    return f"Gives {listed((_to(name) for name in dict.fromkeys(named)), 'and')}." if named else ""


def _choices(function: Any) -> str:
    """What the names of sets of words stand for that its arguments take."""
    written = " ".join(str(each.annotation) for each in inspect.signature(function).parameters.values())
    named = [name for name in dict.fromkeys(re.findall(r"\w+", written)) if name in WORDS]
    return " ".join(f"{code(name)} is {listed(map(code, WORDS[name]))}." for name in named)


def _to(name: str) -> str:
    """A link to a class of this page, where it is on it."""
    return f"[{code(name)}](#{name.lower()})" if name in _documented() else code(name)


def _documented() -> set[str]:
    return {*RECORDS, *ENVELOPE, *answers()}


def _annotation(function: Any) -> str:
    return _spelled(function.__annotations__.get("return", ""))


def _spelled(annotation: Any) -> str:
    """A type as a reader knows it. `R` stands for any of the records, the same at both places."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\bR\b", "AnyRecord", text)


def _fence(text: str) -> str:
    return f"```text\n{text}\n```\n"


def _signature(name: str, function: Any, mark: str = "") -> str:
    given = inspect.signature(function)
    params = [_parameter(each) for each in given.parameters.values() if each.name not in ("self", "cls")]
    keyword_only = [each for each in given.parameters.values() if each.kind is inspect.Parameter.KEYWORD_ONLY]
    if keyword_only:
        params.insert([each.split(":")[0] for each in params].index(keyword_only[0].name), "*")
    arrow = "" if function.__name__ == "__init__" else f" -> {_annotation(function)}"
    line = f"{name}({', '.join(params)}){arrow}"
    if len(line) > 110:
        line = f"{name}(\n" + "".join(f"    {each},\n" for each in params) + f"){arrow}"
    return _fence(mark + line)


def _parameter(given: inspect.Parameter) -> str:
    if given.kind is inspect.Parameter.VAR_KEYWORD:
        return f"**{given.name}"
    kind = _spelled(given.annotation)
    if given.default is inspect.Parameter.empty:
        return f"{given.name}: {kind}"
    default = given.default.__name__ if callable(given.default) else repr(given.default)
    return f"{given.name}: {kind} = {default}"


def _records_section() -> Iterator[str]:
    yield "## Records\n\n[records.md](../records.md) tells what they are for; `AnyRecord` is any of them. Every record has:\n"
    every = hardwon.Fact.model_json_schema()["properties"] | {"kind": {"enum": list(WORDS["Kind"])}}
    yield fields_table({name: every[name] for name in EVERY_RECORD}, ("kind",), _to, EVERY_RECORD)
    methods = ("to_json", "to_json_bytes", "to_agentdb", "turned_out_well")
    yield "and\n\n" + table(
        ("also", ""), ((code(name), prose(inspect.getdoc(getattr(hardwon.Fact, name)))) for name in methods)
    )
    for name in (*RECORDS, *ENVELOPE, *OTHERS):
        yield from _record(name)
    for name in ALIASES:
        own = getattr(hardwon, name).__name__
        yield f"### {name}\n\n[`{own}`](#{own.lower()}) under the name that it has in the metadata schema: the same class.\n"


def _record(name: str) -> Iterator[str]:
    model: type[Model] = getattr(hardwon, name)
    schema = model.model_json_schema()
    said = _SAYS_IT_ALREADY.get(name)
    about = {each: field.description or "" for each, field in said.model_fields.items()} if said else {}
    of_all = EVERY_RECORD if name in _SAYS_IT_ALREADY or name == "Decision" else {}
    own = {each: inner for each, inner in schema["properties"].items() if each not in of_all}
    yield f"### {name}\n\n{prose(model.__doc__)}\n"
    yield fields_table(own, schema.get("required", ()), _to, {**about, **MEANING.get(name, {})})
    more = [each for each in vars(model) if isinstance(vars(model)[each], property) and vars(model)[each].__doc__]
    if more:
        yield table(("property", ""), ((code(each), prose(vars(model)[each].__doc__)) for each in more))


def answers() -> dict[str, type]:
    """The classes that methods of `Memory` give, and those inside of them, by name."""
    modules = (*_ANSWERS_OF, *_MORE_ANSWERS_OF)
    known = {name: found for each in modules for name, found in vars(each).items() if _is_answer(found, each)}
    wanted: dict[str, type] = {}
    texts = [_annotation(getattr(each, "fget", getattr(each, "__func__", each))) for each in _members_of(Memory)]
    while texts:
        for name in re.findall(r"\w+", texts.pop()):
            if name in known and name not in wanted:
                wanted[name] = known[name]
                texts += [str(kind) for _, kind in _fields_of(known[name])]
    return dict(sorted(wanted.items()))


def _members_of(owner: type) -> Iterator[Any]:
    for name in dir(owner):
        found = inspect.getattr_static(owner, name)
        if not name.startswith("_") and (isinstance(found, property | classmethod) or inspect.isfunction(found)):
            yield found


def _is_answer(found: object, module: object) -> bool:
    if not inspect.isclass(found) or found.__module__ != getattr(module, "__name__", ""):
        return False
    return dataclasses.is_dataclass(found) or hasattr(found, "_fields") or found.__name__.endswith("Recorder")


def _fields_of(kind: type) -> list[tuple[str, Any]]:
    if dataclasses.is_dataclass(kind):
        return [(each.name, each.type) for each in dataclasses.fields(kind)]
    return list(kind.__annotations__.items()) if hasattr(kind, "_fields") else []


def _answers_section() -> Iterator[str]:
    yield "## Answers\n\nWhat methods give that is no record. Over HTTP it is an object with the same fields.\n"
    for name, kind in answers().items():
        yield f"### {name}\n\n{prose(kind.__doc__)}\n"
        if rows := [(code(field), _typed(written)) for field, written in _fields_of(kind)]:
            yield table(("field", ""), rows)
        more = [each for each in vars(kind) if not each.startswith("_") and _told(vars(kind)[each])]
        if more:
            yield table(("also", ""), ((code(_called(kind, each)), prose(_told(vars(kind)[each]))) for each in more))


def _typed(written: Any) -> str:
    plain = getattr(written, "__forward_arg__", written)
    text = plain if isinstance(plain, str) else inspect.formatannotation(plain)
    names = list(dict.fromkeys(re.findall(r"\w+", text)))
    more = [_to(name) for name in names if name in _documented()]
    more += [listed(map(code, WORDS[name])) for name in names if name in WORDS]
    return f"{code(text)}: {', '.join(more)}" if more else code(text)


def _told(found: Any) -> str:
    callable_ = inspect.isfunction(found) or isinstance(found, property) or hasattr(found, "attrname")
    return (inspect.getdoc(found) or "") if callable_ else ""


def _called(kind: type, name: str) -> str:
    found = vars(kind)[name]
    if not inspect.isfunction(found):
        return name
    params = [each for each in inspect.signature(found).parameters.values() if each.name != "self"]
    return f"{name}({', '.join(str(each).split(':')[0] for each in params)})"


def _functions_section() -> Iterator[str]:
    yield "## Functions\n"
    for name in FUNCTIONS:
        yield f"### {name}\n\n{_signature(name, getattr(hardwon, name))}\n{prose(getattr(hardwon, name).__doc__)}\n"


def _outside_section() -> Iterator[str]:
    yield "## Models and embedders\n\nBoth are optional: everything works without.\n"
    for name in OUTSIDE:
        kind = getattr(hardwon, name)
        yield f"### {name}\n\n{_signature(name, kind.__init__)}\n{prose(kind.__doc__)}\n"
        yield table(
            ("method", ""), ((code(_called_on(kind, each)), prose(inspect.getdoc(getattr(kind, each)))) for each in _own(kind))
        )


def _own(kind: type) -> list[str]:
    return [
        name
        for name, found in vars(kind).items()
        if not name.startswith("_") and (callable(found) or hasattr(found, "__func__"))
    ]


def _called_on(kind: type, name: str) -> str:
    params = inspect.signature(getattr(kind, name)).parameters.values()
    return f"{name}({', '.join(each.name for each in params if each.name != 'self')})"


def _client_section() -> Iterator[str]:
    kind = hardwon.Client
    yield f"## Client\n\n{_signature('Client', kind.__init__)}\n{prose(kind.__doc__)}\n\n{prose(kind.__init__.__doc__)}\n"
    yield "It has the methods of `Memory`, with the same arguments and answers, but for what is of one machine:\n"
    missing = [name for name in HERE_ALONE if not hasattr(kind, name)]
    yield table(("not there", "what it is, or does"), ((code(name), HERE_ALONE[name]) for name in missing))


def error_classes() -> list[type[BaseException]]:
    return [found for found in vars(errors).values() if inspect.isclass(found) and issubclass(found, Exception)]


def _errors_section() -> Iterator[str]:
    yield "## Errors\n\nFrom `hardwon.errors`. `except hardwon.HardwonError` catches all of them.\n"
    yield "### HardwonError\n\n" + prose(hardwon.HardwonError.__doc__) + "\n"
    rows = (
        (code(each.__name__), ", ".join(code(base.__name__) for base in each.__bases__), prose(each.__doc__))
        for each in error_classes()
        if each is not hardwon.HardwonError
    )
    yield table(("error", "is a", ""), rows)


def _limits_worth_knowing() -> Iterator[str]:
    yield "## Limits worth knowing\n\n[limits.md](limits.md) has all of them.\n"
    known = {name: (value, reason) for _, bounds in limits_by_section() for name, value, reason in bounds}
    yield table(("limit", "", "why"), ((code(name), known[name][0], known[name][1]) for name in WORTH_KNOWING))


# --- HTTP -------------------------------------------------------------------------------------------------------------

REST_BEGINS: Final = """\
# HTTP

{made}

What `hardwon serve` offers, from its own OpenAPI document (`GET /api/v1/openapi.json`). [serve.md](../serve.md) tells how to
start it, who may do what, and how requests are sent again. Every request but `GET /healthz` carries a token:

```text
Authorization: Bearer hwt_…
Content-Type: application/json
```

From [Recording](#recording) on, addresses are about one project and stand behind `/api/v1/projects/{{project}}`, where a `/` in
its name is written `%2F`. A GET takes its fields in the query, a POST as one JSON object; a field in braces stands in the
address. A field that is not listed is refused. The name before a description is that of the same method in
[Python](python.md).
"""
SCOPES: Final = {
    "write": ("Recording", "A token with the scope `write`."),
    "read": ("Asking", "A token with the scope `read`."),
    "govern": ("Deciding", "A token with the scope `govern`."),
    "admin": ("Looking after it", "A token with the scope `admin`."),
}
_SHARED: Final[Mapping[str, type[arguments.Arguments]]] = {"envelope": arguments.Enveloped, "filters": arguments.Filtered}


def rest_page() -> str:
    from hardwon.serve.rest_openapi import document

    told = document()
    everywhere = _failing_everywhere(told)
    parts = [REST_BEGINS.format(made=MADE), "## The server\n"]
    for path, methods in told["paths"].items():
        for method, operation in methods.items():
            if operation["tags"] == ["server"]:
                parts.append(f"- `{method.upper()} {path}`: {operation['summary']}")
    parts += ["", *_shared_fields(), *_problems(told, everywhere)]
    for scope, (title, about) in SCOPES.items():
        parts.append(f"## {title}\n\n{about}\n")
        for path, methods in told["paths"].items():
            for method, operation in methods.items():
                if operation.get("x-scope") == scope:
                    parts += _address(method.upper(), path, operation, everywhere)
    parts += _definitions(told)
    return "\n".join(parts)


def _failing_everywhere(told: Schema) -> set[str]:
    """The statuses that every address of a project can answer with."""
    listed_ = [set(each["responses"]) for methods in told["paths"].values() for each in methods.values() if "x-scope" in each]
    return set.intersection(*listed_) - {"200"}


def _shared_fields() -> Iterator[str]:
    yield "## Fields that many take\n"
    for name, takes in _SHARED.items():
        schema = takes.model_json_schema()
        yield f"### The {name}\n\n{prose(takes.__doc__)}\n"
        yield fields_table(schema["properties"], schema.get("required", ()), _to_definition, {})


def _problems(told: Schema, everywhere: set[str]) -> Iterator[str]:
    yield "## What goes wrong\n"
    yield "Answers are `application/problem+json`: `type` (`urn:hardwon:problem:` and the name), `title`, `status`, `detail`,"
    yield "and of invalid input `errors`, each with `field`, `value` and `allowed`. Every address may answer those that are"
    yield "marked.\n"
    rows = []
    for name, response in told["components"]["responses"].items():
        status = response["content"]["application/problem+json"]["example"]["status"]
        rows.append((str(status), code(name), response["description"], "yes" if str(status) in everywhere else ""))
    yield table(("status", "name", "", "everywhere"), sorted(rows))


def _address(method: str, path: str, operation: Schema, everywhere: set[str]) -> Iterator[str]:
    name = operation["operationId"]
    short = path.removeprefix("/api/v1/projects/{project}")
    yield f"### `{method} {short}`\n\n{code(name)}. {operation['description'].partition(chr(10))[0]}\n"
    if OPERATIONS[name].whole:
        yield "The token must reach all projects.\n"
    body = operation.get("requestBody", {}).get("content", {})
    schema = body.get("application/json", {}).get("schema", {})
    properties = dict(schema.get("properties", {}))
    required = list(schema.get("required", ()))
    for parameter in operation["parameters"]:
        if parameter["name"] not in ("project", "Idempotency-Key"):
            properties[parameter["name"]] = {**parameter["schema"], "description": parameter.get("description", "")}
            required += [parameter["name"]] if parameter["required"] else []
    yield from _takes(OPERATIONS[name].takes, properties, required, _to_definition)
    if "application/x-ndjson" in body:
        yield "The body is one record a line, as `export` gives them (`Content-Type: application/x-ndjson`).\n"
    if example := body.get("application/json", {}).get("example"):
        yield f"```json\n{json.dumps(example, indent=2, ensure_ascii=False)}\n```\n"
    fails = _codes(set(operation["responses"]) - everywhere - {"200"})
    yield f"Gives {_answer(operation)}.{_once(operation)} Also fails with {fails}.\n"


def _takes(
    takes: type[arguments.Arguments], properties: dict[str, Schema], required: list[str], link: Callable[[str], str]
) -> Iterator[str]:
    """What is its own, what every record or question has left to where that is told."""
    shared = [name for name, base in _SHARED.items() if issubclass(takes, base)]
    told_there = {field for name in shared for field in _SHARED[name].model_fields}
    own = {name: schema for name, schema in properties.items() if name not in told_there}
    if own:
        ordered = dict(sorted(own.items(), key=lambda item: item[0] not in required))
        yield fields_table(ordered, required, link, MEANING.get(takes.__name__, {}))
    for name in shared:
        yield f"{'And' if own else 'Takes'} the fields of [the {name}](#the-{name}).\n"
    if not own and not shared:
        yield "Takes nothing.\n"


def _once(operation: Schema) -> str:
    keyed = any(parameter["name"] == "Idempotency-Key" for parameter in operation["parameters"])
    return " Takes an `Idempotency-Key`." if keyed else ""


def _codes(statuses: set[str]) -> str:
    return listed(sorted(statuses), "and") if statuses else "nothing else"


def _answer(operation: Schema) -> str:
    (kind, content), *_ = operation["responses"]["200"]["content"].items()
    if kind != "application/json":
        return f"{operation['responses']['200']['description'].lower().rstrip('.')} ({code(kind)})"
    return allowed(content["schema"], _to_definition)


def _to_definition(name: str) -> str:
    return f"[{code(name)}](#{name.lower()})"


def _definitions(told: Schema) -> Iterator[str]:
    yield "## Objects\n\nAn answer has all of its fields; of a record, optional ones that are absent are left out.\n"
    for name, schema in sorted(told["components"]["schemas"].items()):
        if "properties" in schema:
            yield f"### {name}\n\n{prose(schema.get('description'))}\n"
            about = {**(EVERY_RECORD if "metadata" in schema["properties"] else {}), **MEANING.get(name, {})}
            yield fields_table(schema["properties"], schema.get("required", ()), _to_definition, about)


# --- MCP --------------------------------------------------------------------------------------------------------------

MCP_BEGINS: Final = """\
# MCP

{made}

What a client of `hardwon mcp`, or of `/mcp` on a server, is told: tools, resources and prompts, from the server's own lists.
[mcp.md](../mcp.md) tells how to set it up and how far a client may go. Tools beyond its scope are not listed to it.

The server introduces itself with these words:

> {instructions}
"""
HINTS: Final = {
    "read_only_hint": "reads only",
    "destructive_hint": "takes away",
    "idempotent_hint": "doing it twice does no harm",
    "open_world_hint": "may ask the language model that the operator set up",
}


def mcp_page() -> str:
    return asyncio.run(_mcp_page())


async def _mcp_page() -> str:
    """As a client hears it: of a server that is asked everything and has no memory."""
    from mcp import Client

    from hardwon.govern.access import Caller
    from hardwon.serve.gate import Gate
    from hardwon.serve.mcp_btb import BTB_TOOLS
    from hardwon.serve.mcp_server import INSTRUCTIONS, make_server
    from hardwon.serve.mcp_tools import TOOLS
    from hardwon.serve.mcp_views import Visitor

    visitor = Visitor(Gate(lambda _: typing.cast("Memory", None), None), Caller("reader", "admin"), "default")
    scopes: dict[str, str] = {name: tool.operation.scope for name, tool in TOOLS.items()}
    scopes |= {name: tool.scope for name, tool in BTB_TOOLS.items()}
    async with Client(make_server(lambda _: visitor, btb=True)) as client:
        tools = (await client.list_tools()).tools
        resources = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
        prompts = (await client.list_prompts()).prompts
    addresses = [(str(each.uri), each.description or "") for each in resources]
    addresses += [(each.uri_template, each.description or "") for each in templates]
    parts = [MCP_BEGINS.format(made=MADE, instructions=INSTRUCTIONS), "## Tools\n", *_shared_arguments()]
    parts += [line for tool in tools if tool.name in TOOLS for line in _tool(tool, scopes[tool.name])]
    parts += [
        "## Resources\n",
        table(("address", ""), ((code(uri), about) for uri, about in addresses if uri.startswith("hardwon"))),
    ]
    parts += ["## Prompts\n", table(("prompt", "takes", ""), (_prompt(each) for each in prompts))]
    parts += [
        "## The names of the BTB server\n\nWith `hardwon mcp --btb`, or `hardwon serve --btb`, these are there as well.\n"
    ]
    parts += [line for tool in tools if tool.name in BTB_TOOLS for line in _tool(tool, scopes[tool.name])]
    parts += [table(("address", ""), ((code(uri), about) for uri, about in addresses if uri.startswith("btb")))]
    return "\n".join(parts)


def _shared_arguments() -> Iterator[str]:
    for name, takes in _SHARED.items():
        schema = takes.model_json_schema()
        which = "that record" if name == "envelope" else "that search"
        yield f"### The {name}\n\nTools {which} also take these.\n"
        yield fields_table(schema["properties"], (), _to_object, {})


def _to_object(name: str) -> str:
    return f"[{code(name)}](rest.md#{name.lower()})"


def _tool(tool: Any, scope: str) -> Iterator[str]:
    yield f"### {tool.name}\n\n{tool.title} (scope `{scope}`). {tool.description}\n"
    schema = tool.input_schema
    takes = next((each.takes for each in OPERATIONS.values() if each.tool == tool.name), arguments.Nothing)
    yield from _takes(takes, dict(schema.get("properties", {})), list(schema.get("required", ())), _to_object)
    hints = [said for hint, said in HINTS.items() if getattr(tool.annotations, hint)]
    gives = [name for name in tool.output_schema.get("properties", {}) if name != "left_out"]
    answer = f"Comes back with {listed(map(code, gives), 'and')}. " if gives else ""
    yield f"{answer}Hints: {', '.join(hints) if hints else 'it writes, and doing it twice is kept twice'}.\n"


def _prompt(prompt: Any) -> tuple[str, str, str]:
    takes = ", ".join(f"{code(each.name)} ({each.description.rstrip('.')})" for each in prompt.arguments or ())
    return code(prompt.name), takes or "nothing", prompt.description


# --- settings ---------------------------------------------------------------------------------------------------------

SETTINGS_BEGIN: Final = """\
# Settings

{made}

Three settings say which memory a command works on and who writes. An option counts before the environment, that before the
project's file, that before the user's file, and with nothing said it is as `Memory()` finds it. `hardwon config` shows each
with where it comes from. The library itself reads none of them: `Memory(location, project)` is told by its caller.
"""
SETTING_IS: Final = {
    "memory": (
        "the nearest `.hardwon` folder upward, else the user's data folder",
        "The memory: a folder, a `.db` file or `postgresql://…`.",
    ),
    "project": (
        "the checkout's name where the memory was found, `default` where it was named",
        "The project within the memory.",
    ),
    "author": ("`agent`", "Who `remember`, `record` and `run` say it was."),
}
SETTINGS_FILES: Final = """\
## Files

The user's is `~/.config/hardwon/config.toml`, or where the system keeps such files. It may say all three; its `memory` is a
path from the root (`/…`) or from a home folder (`~/…`), or a database.

The project's is the nearest `.hardwon/config.toml` upward. Its `memory` lies inside the folder that `.hardwon` lies in, links
followed; its `project` and `author` count only where the memory in use lies there too.

Both are TOML, UTF-8, at most {bytes} bytes, with no other keys:

```toml
memory = "~/agent_brain"
project = "website"
author = "anna"
```

A file that says anything else is an error that names it. A checkout may be somebody else's, so its file never names a memory
elsewhere or a database.

## Other variables
"""
VARIABLES: Final = {
    "HARDWON_AIMEMORY": "the folder of `hardwon fix-history` and `memory.sh`",
    "HARDWON_PYTEST": "`1`: the pytest plugin records ([feedback.md](../feedback.md))",
    "HARDWON_RUN": "set by `hardwon run` for what it runs, so that one run inside another is known; not yours to set",
    "GROQ_API_KEY": "the key of the language model, where one is asked for ([learning.md](../learning.md))",
    "API_BASE_URL": "its endpoint; Groq's where nobody says",
    "LLM_MODEL": "its name",
    "EMBEDDING_API_KEY": "the key of an embedding endpoint that `hardwon reembed` names",
    "NO_COLOR": "anything: no colours",
    "PGPASSWORD": "and libpq's other variables, for a memory in PostgreSQL",
}


def settings_page() -> str:
    rows = []
    for name in settings.NAMES:
        default, about = SETTING_IS[name]
        most = limits.PATH_CHARS_MAX if name == "memory" else limits.NAME_CHARS_MAX
        takes = f"text, one line, at most {most:,} characters"
        rows.append((code(name), code(f"--{name}"), code(settings.VARIABLES[name]), default, takes, about))
    head = ("setting and file key", "option", "variable", "default", "what it takes", "")
    files = SETTINGS_FILES.format(bytes=number(limits.SETTINGS_BYTES_MAX))
    others = table(("variable", ""), ((code(name), about) for name, about in VARIABLES.items()))
    return "\n".join([SETTINGS_BEGIN.format(made=MADE), table(head, rows), files, others])


# --- limits -----------------------------------------------------------------------------------------------------------

LIMITS_BEGIN: Final = """\
# Limits

{made}

Every bound of the program, with its reason, from `hardwon.limits`. They are constants: changing one in a running program is
not supported. What goes over a bound is refused with an error that says so, or cut and told.
"""


def limits_page() -> str:
    parts = [LIMITS_BEGIN.format(made=MADE)]
    for title, bounds in limits_by_section():
        parts.append(f"## {title[0].upper()}{title[1:]}\n")
        parts.append(table(("limit", "", "why"), ((code(name), value, reason) for name, value, reason in bounds)))
    return "\n".join(parts)


def limits_by_section() -> list[tuple[str, list[tuple[str, str, str]]]]:
    """The sections of limits.py in their order, each with its bounds, their values in words, and their reasons."""
    text = Path(limits.__file__).read_text(encoding="utf-8")
    titles = {n: found[1] for n, line in enumerate(text.splitlines(), 1) if (found := re.match(r"# --- (.+?) -+$", line))}
    sections: dict[str, list[tuple[str, str, str]]] = {title: [] for title in titles.values()}
    body = ast.parse(text).body
    for bound, reason in pairwise(body):
        if isinstance(bound, ast.AnnAssign) and isinstance(bound.target, ast.Name) and isinstance(reason, ast.Expr):
            title = [name for line, name in titles.items() if line < bound.lineno][-1]
            name = bound.target.id
            told = " ".join(str(ast.literal_eval(reason.value)).split())
            sections[title].append((name, _amount(name, getattr(limits, name)), told))
    return [(title, bounds) for title, bounds in sections.items() if bounds]


def _amount(name: str, value: Any) -> str:
    """A bound as somebody reads it: bytes in the largest unit that divides them."""
    if isinstance(value, tuple):
        return ", ".join(_amount("", each) for each in value)
    if "BYTES" in name and isinstance(value, int):
        for unit, size in (("GiB", limits.GIB), ("MiB", limits.MIB), ("KiB", limits.KIB)):
            if value >= size and value % size == 0:
                return f"{value // size:,} {unit}"
    return number(value)


# --- the house --------------------------------------------------------------------------------------------------------

ARCHITECTURE: Final = Path(__file__).parent / "architecture.md"
VALUES: Final = ("errors", "fields", "limits", "locations", "model", "routing")
ROOMS: Final = (
    ("Values", "", VALUES),
    ("learn", "learn", None),
    ("recall", "recall", None),
    ("govern", "govern", None),
    ("outside", "outside", None),
    ("store", "store", None),
    ("store/postgres", "store/postgres", None),
    ("memory", "memory", None),
    ("Beside memory, a noun each", "", None),
    ("datasets", "datasets", None),
    ("doors", "doors", None),
    ("serve", "serve", None),
    ("serve/web", "serve/web", None),
)
"""Each room with its folder, and its modules where they are not all that no other room has."""


def architecture_page() -> str:
    """What is written by hand stays; behind the mark stands every module with the first sentence of its docstring."""
    parts = [f"{ARCHITECTURE.read_text(encoding='utf-8').partition(MADE)[0]}{MADE}\n"]
    told: set[Path] = set()
    for title, room, named in ROOMS:
        folder = Path(hardwon.__file__).parent / room
        found = sorted(path for path in folder.glob("*.py") if path not in told and path.stem != "__init__")
        modules = [path for path in found if named is None or path.stem in named]
        told.update(modules)
        about = _first_sentence(folder / "__init__.py") + "\n\n" if room else ""
        parts.append(
            f"### {title}\n\n{about}{table(('module', ''), ((code(path.stem), _first_sentence(path)) for path in modules))}"
        )
    return "\n".join(parts)


def _first_sentence(path: Path) -> str:
    told = " ".join((ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")[0].split())
    return re.split(r"(?<=[^.]\.) (?=[A-Z`])", told)[0]


PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "python.md": python_page,
    "rest.md": rest_page,
    "mcp.md": mcp_page,
    "settings.md": settings_page,
    "limits.md": limits_page,
    "../architecture.md": architecture_page,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--print", metavar="PAGE", choices=PAGES, help="print one page instead of writing all of them")
    asked = parser.parse_args().print
    if asked:
        print(PAGES[asked](), end="")
        return
    FOLDER.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
