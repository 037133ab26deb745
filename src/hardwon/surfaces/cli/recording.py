"""What is recorded by hand or by a script: an experience in one sentence; facts, episodes, fixes and
trajectories, from options or from JSON.
"""

import json
import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer

from hardwon import limits
from hardwon.errors import InvalidInputError, Problem
from hardwon.records.fields import check_that
from hardwon.records.kinds import AnyRecord, Fact, Kind
from hardwon.records.reading import read_record
from hardwon.surfaces.cli.main import (
    Target,
    add_group,
    arg,
    chosen,
    command,
    opt,
    options_from,
    sign,
    text_options,
)
from hardwon.surfaces.cli.output import show

_STDIN: Final = "-"
_ISSUE: Final = ("model", "issue_type", "description", "error_output")
Text = str | None
Texts = list[str] | None
_AGAIN: Final = "; as often as you like."
# Where a record comes from.
_ENVELOPE: Final = {
    "tags": Annotated[Texts, opt(f"A tag{_AGAIN}", "--tag")],
    "author": Annotated[Text, opt("Who says so.", offer="author")],
    "related_files": Annotated[Texts, opt(f"A file it is about{_AGAIN}", "--file")],
    "recalled": Annotated[
        Texts, opt(f"What was recalled before it was tried{_AGAIN}", metavar="ID", offer="id")
    ],
}
with_envelope = options_from(_ENVELOPE, "envelope")
# What an experience is besides its text; most of it is what an outcome and a tool ask for.
_EXPERIENCE: Final = {
    "outcome": Annotated[
        Text,
        opt(
            "success, failure, learning, interaction, or a word for one of them.",
            offer="success failure learning interaction",
            show_default="what the text tells",
        ),
    ],
    "tool": Annotated[Text, opt("With what it was done.", offer="tool")],
    **text_options(
        summary="It in a few words.",
        task_type="Of a success of code_interpreter: write, debug, refactor, explain.",
        domain="Of a success of web_search: technical, research, general.",
        error_type="Of a failure of code_interpreter: syntax, runtime, logic, timeout.",
        reason="Of a failure of web_search: no_results, blocked, irrelevant.",
        insight_type="Of a learning: pattern, correction, preference, fact.",
        sentiment="Of an interaction: positive, neutral, negative.",
    ),
}


@command(
    "remember",
    'hardwon remember "KeyError id in login.py"',
    'hardwon remember "Users want short answers" --outcome learning --insight-type preference '
    "--tag style",
)
@with_envelope
@options_from(_EXPERIENCE, "named")
def remember(
    content: Annotated[str, arg("What happened; - reads it from standard input.")],
    named: dict[str, Any],
    envelope: dict[str, Any],
    key: Annotated[Texts, opt(f"A key of your own{_AGAIN}", metavar="KEY=VALUE")] = None,
) -> None:
    """Keep an experience. Prints its id, and its file where the memory has a tree.

    A tree of files has folders for the tools and the words that the help names; others are kept
    too.

    JSON: `id`, `path` (its file where the memory has a tree, else null), `record`.
    """
    keys = named | envelope | sign(envelope.get("author"))
    for pair in key or ():
        name, separator, value = pair.partition("=")
        allowed = "a key and its value, such as --key service=auth"
        check_that(separator and name, "--key", pair, allowed)
        check_that(name not in keys, "--key", pair, "keys that are not given otherwise")
        keys[name] = value
    text = sys.stdin.read(limits.TEXT_CHARS_MAX + 1) if content == _STDIN else content
    with chosen().open() as memory:
        record = memory.remember(text, **keys)
    kept = ", ".join(filter(None, (record.outcome, record.tool, *(record.route or ())[1:])))
    notes = [] if "outcome" in named else [f"kept as {kept}; --outcome says otherwise"]
    answer = {"id": record.id, "path": record.path, "record": record}
    line = f"{record.id}  {record.path}" if record.path else record.id
    show(answer, line, complaints=notes)


add_group(
    "record",
    """Keep a fact, an episode, a fix or a trajectory.

    From options, or from JSON: one object, a list of them, or one after the other (JSON Lines), from
    a file with `--from-json FILE`, from standard input with `-`. An object has the keywords of
    `Memory.record_fact` and its like, and those of the envelope. An option holds for every object
    that does not say it itself. All of them are kept in one transaction or, where one is refused,
    none; `load` takes in whole records of any kind, and more of them.
    """,
)

Number = float | None
_FACT: Final = {
    "fact_type": Annotated[
        Text,
        opt("error, solution, observation, decision.", offer="error solution observation decision"),
    ],
    "confidence": Annotated[Number, opt("How sure that is, 0 to 1.")],
    "entities": Annotated[Text, opt("What it names.", metavar="JSON")],
    "restate": Annotated[
        bool | None, opt("Have the LLM write it so that it stands alone.", "--restate")
    ],
}
_EPISODE: Final = {
    "score": Annotated[Number, opt("How well it went, 0 to 1.")],
    "steps": Annotated[int | None, opt("How many steps it took.")],
    **text_options(trajectory_summary="What was done."),
    "mistakes": Annotated[Texts, opt(f"What went wrong{_AGAIN}", "--mistake")],
    "successes": Annotated[Texts, opt(f"What went well{_AGAIN}", "--success")],
    "mistake_cards": Annotated[Texts, opt(f"A mistake{_AGAIN}", "--mistake-card", metavar="JSON")],
}
_FIX: Final = {
    "model": Annotated[Text, opt("The model.", offer="model")],
    "issue_type": Annotated[Text, opt("What sort of issue.", offer="issue_type")],
    **text_options(error_output="What it printed."),
    "issue": Annotated[Text, opt("The issue, with all that it has.", metavar="JSON")],
    "fix_success": Annotated[
        bool | None, opt("Whether it went in.", "--fix-success/--fix-failure")
    ],
    "verification_success": Annotated[
        bool | None, opt("Whether it then worked.", "--verification-success/--verification-failure")
    ],
    **text_options(analysis="Why it should help."),
    "fix_commands": Annotated[Texts, opt(f"What was done{_AGAIN}", "--fix-command")],
    "execution_time_seconds": Annotated[Number, opt("How long it took.")],
    "system_info": Annotated[Text, opt("On which machine, with what.", metavar="JSON")],
    **text_options(notes="What else is to be known.", fixer_type="Who fixed it."),
    "confidence": Annotated[Number, opt("How sure that is, 0 to 1.")],
}
_TRAJECTORY: Final = {
    "steps": Annotated[Texts, opt(f"What was done{_AGAIN}", "--step", metavar="JSON")],
    "final_reward": Annotated[Number, opt("How well it ended.")],
}
_MANY: Final = {
    **_ENVELOPE,
    "from_json": Annotated[
        Text, opt("A file of JSON objects; - is standard input.", metavar="FILE")
    ],
    "strict": Annotated[
        bool | None,
        opt("Of JSON with metadata, demand all that the metadata schema does.", "--strict"),
    ],
}


@command(
    "record fact",
    'hardwon record fact "The staging database listens on port 5433." --fact-type observation '
    "--tag db",
    "hardwon record fact --from-json facts.jsonl --author importer --json",
)
@options_from(_FACT | _MANY, "fields")
def record_fact(
    fields: dict[str, Any], content: Annotated[Text, arg("The sentence; - is JSON.")] = None
) -> None:
    """Keep one sentence that is true. Who says again what is known strengthens it.

    JSON: `ids` and `records`, in the order in which they were given. One that was known already is
    the first that said so.
    """
    _record("fact", content, fields)


@command(
    "record episode",
    'hardwon record episode easy --score 0.4 --mistake "guessed the schema" --success "read the '
    'logs first"',
    "hardwon record episode --from-json episodes.jsonl --tag nightly",
)
@options_from(_EPISODE | _MANY, "fields")
def record_episode(
    fields: dict[str, Any], task_id: Annotated[Text, arg("The task; - is JSON.")] = None
) -> None:
    """Keep one scored attempt at a task.

    JSON: `ids` and `records`, in the order in which they were given.
    """
    _record("episode", task_id, fields)


@command(
    "record fix",
    'hardwon record fix "no answer in 30 s" --model qwen2.5:7b --issue-type TIMEOUT --fix-command '
    '"ollama serve" --fix-success --verification-success',
    "hardwon record fix --from-json fixes.jsonl --json",
)
@options_from(_FIX | _MANY, "fields")
def record_fix(
    fields: dict[str, Any], description: Annotated[Text, arg("The issue; - is JSON.")] = None
) -> None:
    """Keep one attempt to fix an issue: whether it went in, and whether it was then seen to work.

    JSON: `ids` and `records`, in the order in which they were given.
    """
    _record("fix", description, fields)


@command(
    "record trajectory",
    'hardwon record trajectory "make the tests pass" --step \'{"action": "pytest", "observation": '
    '"2 failed", "reward": 0.2}\' --final-reward 0.2',
    "hardwon record trajectory --from-json trajectories.jsonl --json",
)
@options_from(_TRAJECTORY | _MANY, "fields")
def record_trajectory(
    fields: dict[str, Any], task: Annotated[Text, arg("What was to be done; - is JSON.")] = None
) -> None:
    """Keep what was done step by step, and how it ended.

    JSON: `ids` and `records`, in the order in which they were given.
    """
    _record("trajectory", task, fields)


# --- keeping it ---

_FIRST: Final[dict[Kind, str]] = {
    "fact": "content",
    "episode": "task_id",
    "fix": "description",
    "trajectory": "task",
}
_SPELLED: Final = {
    "mistakes": "--mistake",
    "successes": "--success",
    "mistake_cards": "--mistake-card",
    "fix_success": "--fix-success/--fix-failure",
    "verification_success": "--verification-success/--verification-failure",
    "fix_commands": "--fix-command",
    "issue": "--model or --issue-type or DESCRIPTION or --error-output or --issue",
}


def _record(kind: Kind, first: str | None, fields: dict[str, Any]) -> None:
    """Keeps what options and JSON say, and shows it. The text before the options is `-` where JSON
    is read, as with `--from-json -`.
    """
    from_json, strict = fields.pop("from_json", None), fields.pop("strict", False)
    if first == _STDIN:
        if from_json not in (None, _STDIN):
            raise typer.BadParameter(
                f"- is standard input, and {from_json} another file: name one of them"
            )
        from_json, first = _STDIN, None
    options = _read_options(kind, fields | ({_FIRST[kind]: first} if first is not None else {}))
    options |= sign(fields.get("author"))
    objects = _read_file(from_json) if from_json else [{}]
    records: Sequence[AnyRecord]
    notes: list[str] = []
    if any("metadata" in one for one in objects):
        records, notes = _take_in(chosen(), kind, objects, strict)
    else:
        try:
            with chosen().open() as memory:
                records = memory.care.record_many(kind, [options | one for one in objects])
        except InvalidInputError as error:
            if from_json:
                raise
            problems = [_name_option(_FIRST[kind], one) for one in error.problems]
            raise InvalidInputError(problems) from None
    ids = [record.id for record in records]
    notes += [
        f"{record.id} does not stand alone: {finding}"
        for record in records
        if isinstance(record, Fact)
        for finding in record.findings or ()
    ]
    show({"ids": ids, "records": records}, "\n".join(ids), complaints=notes)


def _read_options(kind: Kind, options: dict[str, Any]) -> dict[str, Any]:
    """As a memory takes them: JSON is read, and what is of an issue goes into it."""
    for name in ("entities", "issue", "system_info"):
        if name in options:
            options[name] = read_object(f"--{name.replace('_', '-')}", options[name])
    for name in ("mistake_cards", *(("steps",) if kind == "trajectory" else ())):
        if name in options:
            option = _SPELLED.get(name, "--step")
            options[name] = [read_object(option, text) for text in options[name]]
    if kind == "fix" and (issue := {name: options.pop(name) for name in _ISSUE if name in options}):
        options["issue"] = {**options.get("issue", {}), **issue}
    return options


def _name_option(first: str, problem: Problem) -> Problem:
    """The problem by the name of its option or argument."""
    name, *rest = problem.field.split(".")
    option = _SPELLED.get(name, f"--{name.replace('_', '-')}")
    option = name.upper() if name == first else option
    return Problem(".".join((option, *rest)), problem.value, problem.allowed)


def _take_in(
    target: Target, kind: Kind, objects: Iterable[dict[str, Any]], strict: bool
) -> tuple[list[AnyRecord], list[str]]:
    """Objects that have an envelope are whole records, after the metadata schema. Also what is to
    be told of them.
    """
    records = []
    for number, one in enumerate(objects, 1):
        try:
            record = read_record(one, strict=strict)
            check_that(record.kind == kind, "kind", record.kind, kind)
            records.append(record)
        except InvalidInputError as error:
            raise InvalidInputError(error.problems, f"record {number}") from None
    with target.open() as memory:
        done = memory.care.take_in(records, at_once=True)
        kept = [memory.get(record.id) or record for record in records]
    return kept, list(done.notes)


# --- JSON ---


def read_object(option: str, text: str) -> dict[str, Any]:
    objects = _parse_objects(text, option)
    check_that(len(objects) == 1, option, text, "one JSON object")
    return objects[0]


def _read_file(file: str) -> list[dict[str, Any]]:
    """The JSON objects of a file, or of standard input: one, a list of them, or one after the
    other.
    """
    most = limits.RECORDED_JSON_BYTES_MAX
    name = "standard input" if file == _STDIN else file
    try:
        with nullcontext(sys.stdin.buffer) if file == _STDIN else Path(file).open("rb") as opened:
            data = opened.read(most + 1)
    except OSError as error:
        allowed = f"a file that can be read, or - for standard input ({error.strerror})"
        raise InvalidInputError.one("--from-json", file, allowed) from None
    allowed = f"{most} bytes: hardwon load takes in more"
    check_that(len(data) <= most, name, f"{len(data)} bytes and more", allowed)
    try:
        return _parse_objects(data.decode("utf-8-sig"), name)
    except UnicodeDecodeError as error:
        wrong = data[error.start : error.end]
        raise InvalidInputError.one(name, wrong, f"UTF-8 (byte {error.start} is not)") from None


def _parse_objects(text: str, name: str) -> list[dict[str, Any]]:
    def refuse_constant(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is none of the numbers that JSON knows")

    objects: list[Any] = []
    decoder = json.JSONDecoder(parse_constant=refuse_constant)
    place, blank = 0, re.compile(r"\s*")
    while (place := blank.match(text, place).end()) < len(text):  # type: ignore[union-attr]  # it matches everywhere
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            wrong = text[place : place + 80]
            raise InvalidInputError.one(name, wrong, f"JSON objects ({error})") from None
        objects += value if isinstance(value, list) else [value]
    most = limits.TRANSACTION_RECORDS_MAX
    allowed = f"{most} objects: hardwon load takes in more"
    check_that(objects, name, "", "at least one JSON object")
    check_that(len(objects) <= most, name, f"{len(objects)} objects", allowed)
    for one in objects:
        check_that(isinstance(one, dict), name, one, "JSON objects")
    return objects
