"""Commands that are one operation each. What such a command takes, its bounds and its help are
those of the operation; `--json` prints what HTTP answers. A row of the table has the rest: its
examples, and what a terminal shows.

Written by hand are `hardwon remember`, and `hardwon record`: facts, episodes, fixes and
trajectories, from options or from JSON.
"""

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from functools import partial
from inspect import Parameter, signature
from pathlib import Path
from types import NoneType, SimpleNamespace
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    NamedTuple,
    NoReturn,
    get_args,
    get_origin,
)

import typer
from pydantic.fields import FieldInfo

from hardwon import limits
from hardwon.errors import NOT_GIVEN, InvalidInputError, Problem
from hardwon.memory import Memory
from hardwon.records.fields import Model, check_all, check_that
from hardwon.records.kinds import AnyRecord, Fact, Issue, Kind, headline
from hardwon.records.reading import read_record
from hardwon.surfaces.cli import views
from hardwon.surfaces.cli.commands import MODULE_OF
from hardwon.surfaces.cli.complete import KEPT
from hardwon.surfaces.cli.main import (
    Line,
    Look,
    Options,
    Output,
    add_group,
    build_command,
    builders,
    chosen,
    command,
    complain,
    completer,
    gathered,
    look,
    parameter,
    progress,
    signed,
    table_lines,
    value_lines,
    with_parameters,
    write,
)
from hardwon.surfaces.cli.views import counted
from hardwon.surfaces.operations import (
    ISSUE_FIELDS,
    OPERATIONS,
    Enveloped,
    Operation,
    Remember,
    jsonable,
)
from hardwon.text.clean import clean_line
from hardwon.trust.access import Caller

if TYPE_CHECKING:
    from hardwon.memory.context import Context
    from hardwon.memory.results import Loaded

STDIN: Final = "-"
_NAMED: Final = "_named"
_IDS: Final = {"record_id": "ID", "old_id": "OLD", "new_id": "NEW", "decision_id": "ID"}
# Of an experience, what `remember` asks for otherwise.
_REMEMBERED: Final = ("content", "keys", *Enveloped.model_fields)

# --- what is given as text ---


def moment(given: str | None) -> str | None:
    """A day is meant from its beginning, in UTC."""
    is_day = given and re.fullmatch(r"\d{4}-\d{2}-\d{2}", given, re.ASCII)
    return f"{given}T00:00:00Z" if is_day else given


def whole_id(memory: Memory, given: str) -> str:
    """The id that begins so; what is no beginning of one stays as it is."""
    if not re.fullmatch(r"[0-9a-fA-F-]{1,35}", given):
        return given
    least = limits.ID_BEGINNING_CHARS_MIN
    check_that(len(given) >= least, "id", given, f"an id, or {least} characters of its beginning")
    found = memory.care.values("id", given, 3)
    check_that(found, "id", given, "an id that hardwon browse prints, or its beginning")
    check_that(len(found) == 1, "id", given, f"more of it: {', '.join(found)} begin so")
    return found[0]


def whole_ids(memory: Memory, given: Iterable[str]) -> list[str]:
    return check_all(*(partial(whole_id, memory, each) for each in given))


def json_object(option: str, given: str) -> Options:
    found = objects_in(given, option)
    check_that(len(found) == 1, option, given, "one JSON object")
    return found[0]


def objects_of(file: str) -> list[Options]:
    """The JSON objects of a file, or of standard input: one, a list of them, or one after the
    other.
    """
    most = limits.RECORDED_JSON_BYTES_MAX
    name = "standard input" if file == STDIN else file
    try:
        with nullcontext(sys.stdin.buffer) if file == STDIN else Path(file).open("rb") as opened:
            data = opened.read(most + 1)
    except OSError as error:
        allowed = f"a file that can be read, or - for standard input ({error.strerror})"
        raise InvalidInputError.one("--from-json", file, allowed) from None
    allowed = f"{most} bytes: hardwon load takes in more"
    check_that(len(data) <= most, name, f"{len(data)} bytes and more", allowed)
    try:
        return objects_in(data.decode("utf-8-sig"), name)
    except UnicodeDecodeError as error:
        raise InvalidInputError.one(
            name, data[error.start : error.end], f"UTF-8 (byte {error.start} is not)"
        ) from None


def objects_in(text: str, name: str) -> list[Options]:
    def refuse_constant(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is none of the numbers that JSON knows")

    found: list[Any] = []
    decoder = json.JSONDecoder(parse_constant=refuse_constant)
    place, blank = 0, re.compile(r"\s*")
    while (place := blank.match(text, place).end()) < len(text):  # type: ignore[union-attr]  # it matches everywhere
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            raise InvalidInputError.one(
                name, text[place : place + 80], f"JSON objects ({error})"
            ) from None
        found += value if isinstance(value, list) else [value]
    most = limits.TRANSACTION_RECORDS_MAX
    allowed = f"{most} objects: hardwon load takes in more"
    check_that(found, name, "", "at least one JSON object")
    check_that(len(found) <= most, name, f"{len(found)} objects", allowed)
    for each in found:
        check_that(isinstance(each, dict), name, each, "JSON objects")
    return found


# --- fields as options ---


def options_of(
    takes: type[Model],
    positional: Iterable[str] = (),
    spelled: Mapping[str, str] = {},
    optional: bool = False,
) -> list[Parameter]:
    """The fields as a shell gives them; those of an issue also one by one. `optional`: none of them
    has to be given.
    """
    of_issue = ISSUE_FIELDS if "issue" in takes.model_fields else ()
    spread = {name: Issue.model_fields[name] for name in of_issue if name not in takes.model_fields}
    return [
        _option(name, info, name in positional, spelled.get(name, ""), optional or name in spread)
        for name, info in {**spread, **takes.model_fields}.items()
        if spelled.get(name, name)
    ]


def _option(
    name: str, info: FieldInfo, is_positional: bool, spelling: str, optional: bool
) -> Parameter:
    base, many, allowed = _base_of(info.annotation)
    least, most = (
        next((getattr(bound, each) for bound in info.metadata if hasattr(bound, each)), None)
        for each in ("ge", "le")
    )
    about = str(info.description).rstrip(".")
    if allowed and not any(each in about for each in allowed):
        about += f": {', '.join(allowed)}"
    if many:
        about += "; as often as you like"
    elif base is datetime:
        about += "; a day is meant from its beginning, in UTC"
    elif least is not None:  # checked by the operation, with all else that is given
        about += f", {least} to {most}" if most is not None else f", {least} or more"
    how: dict[str, Any] = {
        "help": f"{about}.",
        "metavar": _IDS.get(name) or {datetime: "TIME", dict: "JSON"}.get(base),
    }
    default = None if many or optional or info.is_required() else info.default
    if info.is_required() and not optional and base is not dict:
        default = Parameter.empty
    usual = ["--limit", "-k"] if name in ("limit", "k") else [f"--{name.replace('_', '-')}"]
    source = "record_id" if name in _IDS else name
    if allowed or source in KEPT:
        how["autocompletion"] = completer(allowed or source)
    option = (
        typer.Argument(**how)
        if is_positional
        else typer.Option(*([spelling] if spelling else usual), **how)
    )
    kind: Any = base if base in (bool, int, float) else str
    kind = list[kind] if many else kind
    return parameter(name, Annotated[kind | None if default is None else kind, option], default)


def _as_option(name: str) -> Parameter:
    """What stands before the options, as one of them: sister commands take it so."""
    option = typer.Option(f"--{name.replace('_', '-')}", hidden=True)
    return parameter(name + _NAMED, Annotated[str | None, option], None)


def given_fields(takes: type[Model], given: Mapping[str, Any]) -> dict[str, Any]:
    """What was given, as the fields mean it. What is of an issue goes into it."""
    said = {
        name.removesuffix(_NAMED): value for name, value in given.items() if value not in (None, [])
    }
    found: dict[str, Any] = {}
    for name, value in said.items():
        info = takes.model_fields.get(name)
        base, many, _ = _base_of(info.annotation) if info else (str, False, ())
        if base is dict:
            objects = [json_object(f"--{name}", each) for each in (value if many else [value])]
            found[name] = objects if many else objects[0]
        else:
            found[name] = moment(value) if base is datetime else value
    issue = {
        name: found.pop(name)
        for name in ISSUE_FIELDS
        if name in found and name not in takes.model_fields
    }
    return found | {"issue": found.get("issue", {}) | issue} if issue else found


def _base_of(annotation: Any) -> tuple[type, bool, tuple[str, ...]]:
    """What it is at heart (a `dict`, where it is a whole object), whether there may be several, and
    which texts are allowed.
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return type(arguments[0]), False, arguments
    if origin is dict or (isinstance(annotation, type) and issubclass(annotation, Model)):
        return dict, False, ()
    if not arguments:
        return annotation, False, ()
    base, many, allowed = _base_of(next(each for each in arguments if each is not NoneType))
    return base, many or origin is list, allowed


# --- what is recorded ---

# Where a record comes from.
_ENVELOPE: Final = [
    parameter(name, annotation, None)
    for name, annotation in {
        "tags": Annotated[
            list[str] | None, typer.Option("--tag", help="A tag; as often as you like.")
        ],
        "author": Annotated[
            str | None, typer.Option(help="Who says so.", autocompletion=completer("author"))
        ],
        "related_files": Annotated[
            list[str] | None,
            typer.Option("--file", help="A file it is about; as often as you like."),
        ],
        "recalled": Annotated[
            list[str] | None,
            typer.Option(
                metavar="ID",
                help="What was recalled before it was tried; as often as you like.",
                autocompletion=completer("record_id"),
            ),
        ],
    }.items()
]


@command(
    'hardwon remember "KeyError id in login.py"',
    'hardwon remember "Users want short answers" --outcome learning --insight-type preference '
    "--tag style",
    answers="`id`, `path` (its file where the memory has a tree, else null), `record`.",
    more="""The outcome is success, failure, learning or interaction, or a word for one of them (ok, failed, …). Without
    one it is what the text tells, and that is said. `--tool` takes any name, and so do `--task-type`, `--domain`,
    `--error-type`, `--reason`, `--insight-type` and `--sentiment`; a tree of files has folders for those in
    [records.md](records.md). `--key KEY=VALUE` adds a key of yours; it, `--tag` and `--file` may be given more than once.""",
)
@gathered("envelope", _ENVELOPE)
@gathered("routing", options_of(Remember, (), dict.fromkeys(_REMEMBERED, "")))
def remember(
    ctx: typer.Context,
    content: Annotated[str, typer.Argument(help="What happened; - reads it from standard input.")],
    *,
    routing: Options,
    key: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="A key of your own; as often as you like."),
    ] = None,
    envelope: Options,
) -> Output:
    """Keep an experience. Prints its id, and its file where the memory has a tree."""
    keys = {**routing, **signed(ctx, envelope)}
    for each in key or ():
        name, separator, value = each.partition("=")
        allowed = "a key and its value, such as --key service=auth"
        check_that(separator and name, "--key", each, allowed)
        check_that(name not in keys, "--key", each, "keys that are not given otherwise")
        keys[name] = value
    text = sys.stdin.read(limits.TEXT_CHARS_MAX + 1) if content == STDIN else content
    with chosen(ctx).open() as memory:
        record = memory.remember(text, **keys)
    guessed = ", ".join(filter(None, (record.outcome, record.tool, *(record.route or ())[1:])))
    return Output(
        {"id": record.id, "path": record.path, "record": record},
        f"{record.id}  {record.path}" if record.path else record.id,
        complaints=() if "outcome" in routing else [f"kept as {guessed}; --outcome says otherwise"],
    )


add_group(
    "record",
    "Keep a fact, an episode, a fix or a trajectory.",
    """The JSON is one object, a list of them, or one after the other (JSON Lines): from a file with `--from-json FILE`,
    from standard input with `-`. An object has the keywords of `Memory.record_fact` and its like (see
    [records.md](records.md)), and those of the envelope: `author`, `source`, `timestamp`, `tags`, `related_files`,
    `git_commit`, `git_branch`, `failure_hash`, `recalled`. An option holds for every object that does not say it itself. All
    of them are kept in one transaction or, where one is refused, none; `load` takes in whole records, and more of them.
    Objects with a `metadata` are whole ones too, after the [metadata schema](migration/metadata-schema.md): they keep what
    they say, and come in as hypotheses; `hardwon record --from-json FILE` takes them whatever their kind.""",
    usual={"--from-json": "any"},
)


class Recorded(NamedTuple):
    """How a kind is recorded: `first` is the field that stands before the options; `spelled` as in
    a `CommandRow`.
    """

    help: str
    first: str
    examples: tuple[str, ...]
    spelled: Mapping[str, str] = {}
    answers: str = ""


RECORDED: Final[Mapping[Kind, Recorded]] = {
    "fact": Recorded(
        "Keep one sentence that is true. Who says again what is known strengthens it.",
        "content",
        (
            'hardwon record fact "The staging database listens on port 5433." --fact-type '
            "observation --tag db",
            "hardwon record fact --from-json facts.jsonl --author importer --json",
        ),
        answers=" One that was known already is the first that said so.",
    ),
    "episode": Recorded(
        "Keep one scored attempt at a task.",
        "task_id",
        (
            'hardwon record episode easy --score 0.4 --mistake "guessed the schema" --success "read '
            'the logs first"',
            "hardwon record episode --from-json episodes.jsonl --tag nightly",
        ),
        {"mistakes": "--mistake", "successes": "--success", "mistake_cards": "--mistake-card"},
    ),
    "fix": Recorded(
        "Keep one attempt to fix an issue: whether it went in, and whether it was then seen to work.",
        "description",
        (
            'hardwon record fix "no answer in 30 s" --model qwen2.5:7b --issue-type TIMEOUT '
            '--fix-command "ollama serve" --fix-success --verification-success',
            "hardwon record fix --from-json fixes.jsonl --json",
        ),
        {
            "fix_success": "--fix-success/--fix-failure",
            "verification_success": "--verification-success/--verification-failure",
            "fix_commands": "--fix-command",
        },
    ),
    "trajectory": Recorded(
        "Keep what was done step by step, and how it ended.",
        "task",
        (
            'hardwon record trajectory "make the tests pass" --step \'{"action": "pytest", '
            '"observation": "2 failed", "reward": 0.2}\' --final-reward 0.2',
            "hardwon record trajectory --from-json trajectories.jsonl --json",
        ),
        {"steps": "--step"},
    ),
}


_FROM_JSON: Final = typer.Option(
    metavar="FILE", help="A file of JSON objects; - is standard input."
)
_Strict = Annotated[
    bool,
    typer.Option(
        "--strict", help="Of JSON with metadata, demand all that the metadata schema does."
    ),
]


@command(
    "hardwon record --from-json agentdb.jsonl",
    words="record any",
    answers="JSON: `ids` and `records`, in the order in which they were given.",
)
def record_any(
    ctx: typer.Context,
    from_json: Annotated[str, _FROM_JSON],
    *,
    strict: _Strict = False,
) -> Output:
    """Keep whole records of any kind, after the metadata schema: their fields tell which."""
    with chosen(ctx).open() as memory:
        return _tell(*_take_in(memory, None, objects_of(from_json), strict=strict))


def _build_recorded(kind: Kind) -> Any:
    row, takes = RECORDED[kind], OPERATIONS[f"record_{kind}"].takes
    spelled = {**dict.fromkeys(Enveloped.model_fields, ""), **row.spelled}
    parameters = [
        parameter("ctx", typer.Context),
        *options_of(takes, (row.first,), spelled, optional=True),
        _as_option(row.first),
        *_ENVELOPE,
        parameter("from_json", Annotated[str | None, _FROM_JSON], None),
        parameter("strict", _Strict, False),
    ]
    run = with_parameters(partial(_record, kind, takes, row.first), parameters)
    run.__name__, run.__doc__ = kind, row.help
    answers = "JSON: `ids` and `records`, in the order in which they were given."
    return build_command(f"record {kind}", run, row.examples, answers=answers + row.answers)


def _record(
    kind: Kind,
    takes: type[Model],
    first: str,
    *,
    ctx: typer.Context,
    from_json: str | None,
    strict: bool,
    **given: Any,
) -> Output:
    """The text before the options is `-` where JSON is read, as with `--from-json -`."""
    if given[first] == STDIN:
        if from_json not in (None, STDIN):
            raise typer.BadParameter(
                f"- is standard input, and {from_json} another file: name one of them"
            )
        from_json, given[first] = STDIN, None
    envelope = {each.name: given.pop(each.name) for each in _ENVELOPE}
    options = given_fields(takes, given)
    options |= signed(ctx, {name: value for name, value in envelope.items() if value})
    objects = objects_of(from_json) if from_json else [{}]
    with chosen(ctx).open() as memory:
        if any("metadata" in each for each in objects):
            return _tell(*_take_in(memory, kind, objects, strict=strict))
        try:
            return _tell(memory.care.record_many(kind, [options | each for each in objects]))
        except InvalidInputError as error:
            if from_json:
                raise
            raise InvalidInputError([_as_typed(kind, each) for each in error.problems]) from None


def _as_typed(kind: Kind, problem: Problem) -> Problem:
    """By the name of its option or argument."""
    row, (name, *rest) = RECORDED[kind], problem.field.split(".")
    typed = row.spelled.get(name) or f"--{name.replace('_', '-')}"
    if name == row.first:
        typed = name.upper()
    elif name == "issue":
        typed = " or ".join((*(f"--{each.replace('_', '-')}" for each in ISSUE_FIELDS), typed))
    return Problem(".".join((typed, *rest)), problem.value, problem.allowed)


def _tell(kept: Sequence[AnyRecord], done: "Loaded | None" = None) -> Output:
    """The ids, and what is to be said of them."""
    ids = [each.id for each in kept]
    lowered = [done.lowered_text] if done and done.lowered else []
    notes = [
        f"{each.id} does not stand alone: {finding}"
        for each in kept
        if isinstance(each, Fact)
        for finding in each.findings or ()
    ]
    return Output({"ids": ids, "records": kept}, "\n".join(ids), complaints=[*lowered, *notes])


def _take_in(
    memory: Memory, kind: Kind | None, objects: Sequence[Options], *, strict: bool
) -> "tuple[list[AnyRecord], Loaded]":
    """Objects that have an envelope are whole records, after the metadata schema."""
    records: list[AnyRecord] = []
    for number, each in enumerate(objects, 1):
        try:
            record = read_record(each, strict=strict)
            check_that(kind in (None, record.kind), "kind", record.kind, str(kind))
            records.append(record)
        except InvalidInputError as error:
            raise InvalidInputError(error.problems, f"record {number}") from None
    done = memory.care.take_in(records, at_once=True)
    return [memory.get(each.id) or each for each in records], done


Show = Callable[..., str | Iterable[Line]]


def plain_lines(found: Any, how: Look) -> list[Line] | str:
    """Names and values; what has no names as it is."""
    shape = jsonable(found)
    return value_lines(shape, how) if isinstance(shape, dict) else str(shape)


class CommandRow(NamedTuple):
    """`show` says an answer to people, given how to draw. `positional`: fields that are given
    without a name, else those that are required. `spelled`: options that are called otherwise
    than their fields, "" those that are not there. `drawing`: options for `show` alone. `help`:
    where the operation's own first sentence speaks to a program. `busy`: what is done meanwhile,
    where that may take long, `kept` what is left of it where it is interrupted. `fails`: whether
    an answer ends the command with exit code 1, `fails_if` the option that asks for that, if it
    has to be asked for.
    """

    examples: tuple[str, ...] = ()
    show: Show = plain_lines
    positional: tuple[str, ...] | None = None
    spelled: Mapping[str, str] = {}
    drawing: tuple[Parameter, ...] = ()
    help: str = ""
    answers: str = ""
    more: str = ""
    busy: str = ""
    kept: str = "nothing was changed"
    fails: Callable[[Any], bool] | None = None
    fails_if: tuple[str, str] | None = None


# --- what a terminal shows ---


def _table(nothing: str, *columns: str, row: Callable[[Any], object] | None = None) -> Show:
    """These columns of each item, or of what `row` makes of it."""

    def show(found: Sequence[Any], how: Look) -> list[Line]:
        return table_lines(list(map(row, found)) if row else found, columns, how, nothing)

    return show


def _context(found: "Context", _: Look) -> list[Line]:
    """Written as it is, whatever a terminal does with it: a program reads it."""
    text = str(found)
    write(text + "\n" if text and not text.endswith("\n") and sys.stdout.isatty() else text)
    if not text:
        complain(found.empty_reason)
    if found.lines or found.unsaid:
        print(*explained(found), sep="\n", file=sys.stderr)
    return []


def explained(found: "Context") -> list[str]:
    """Of each line of a context why it is there, and of each that is not why not."""
    begin = partial(clean_line, limit=limits.EXAMPLE_TASK_CHARS_MAX)
    return [
        *(f"{line.kind}: {begin(line.text)} ({line.why})" for line in found.lines),
        *(f"left out, {each.reason}: {begin(each.text)}" for each in found.unsaid),
    ]


def whole_record_lines(found: AnyRecord, how: Look) -> list[Line]:
    """First what it says, then where it comes from."""
    shape = jsonable(found)
    shape["metadata"] = shape.pop("metadata")
    return value_lines(shape, how)


def _links(found: Any, how: Look) -> list[Line] | str:
    shown = value_lines(vars(found), how)
    return shown or "Nothing replaced it, it replaced nothing, and nothing contradicts it."


def _by_day(found: Iterable[Any], how: Look) -> list[Line]:
    rows = [SimpleNamespace(name=each.name, **vars(day)) for each in found for day in each.days]
    return table_lines(rows, ("name", "day", "good", "bad"), how, _NOTHING_THEN)


def _failure_row(found: Any) -> SimpleNamespace:
    return SimpleNamespace(**{**vars(found), "fix": found.fix and found.fix.action})


def _with_record(found: Any) -> SimpleNamespace:
    """Of something about a record, that one's id and what it is about beside the rest."""
    return SimpleNamespace(**vars(found), id=found.record.id, text=headline(found.record))


_NO_FIX: Final = "No fix was attempted yet."
_NOTHING_THEN: Final = "Nothing was tried in that time."
_COUNTED: Final = ("attempts", "applied", "verified")
_STRATEGY: Final = ("p_success", "verified", "attempts", "last_used", "fix_commands", "analysis")
_ID: Final = "0198c0de-0000-7000-8000-000000000001"

ROWS: Final[Mapping[str, CommandRow]] = {
    "context": CommandRow(
        (
            'hardwon context "login fails with KeyError"',
            'hardwon context --task-id easy --issue \'{"model": "m", "issue_type": "TIMEOUT"}\' '
            "--budget-tokens 200 --json",
        ),
        _context,
        ("query",),
        help="Print what matters before the next attempt.",
        more="It prints the text and nothing else, without a line end of its own where that is no "
        "terminal. Why it is empty, and what --explain has to say, goes to the standard error.",
    ),
    "advise": CommandRow(
        (
            'hardwon advise "pip install torch"',
            'hardwon advise "retry the upload" --task "nightly backup" --error "timed out" '
            "--fail-if-blocked --json",
        ),
        lambda found, _: str(found),
        ("action",),
        help="Say what is known of an action before it is taken.",
        more="The exit code is 0 whatever the verdict; with `--fail-if-blocked` it is 1 where the "
        "verdict is blocked.",
        fails=lambda advice: bool(advice.verdict == "blocked"),
        fails_if=("--fail-if-blocked", "Exit code 1 where it failed the same way again and again."),
    ),
    "recall": CommandRow(
        (
            'hardwon recall "login fails with KeyError"',
            'hardwon recall "timeout while uploading" -k 10 --outcome failure --since 2026-01-01',
        ),
        views.hit_lines,
        ("query",),
        help="Find what answers a question, the best first.",
        more="`--path` is a glob over the related files. `--as-of` answers what was believed then.",
    ),
    "stats": CommandRow(
        ("hardwon stats", "hardwon --memory agent_brain stats --json"),
        views.stats_lines,
        help="Print how much there is, of what, and where.",
    ),
    "tree map": CommandRow(
        ("hardwon tree map", "hardwon tree map --depth 2 --min-share 0.05 --sizes"),
        views.map_lines,
        drawing=(
            parameter(
                "depth",
                Annotated[
                    int,
                    typer.Option(min=1, help="Levels to show.", show_default="all"),
                ],
                limits.TOPOLOGY_DEPTH_MAX,
            ),
            parameter(
                "min_share",
                Annotated[
                    float,
                    typer.Option(
                        min=0,
                        max=1,
                        help="Sum up folders with less than this share of the one above them.",
                    ),
                ],
                0.0,
            ),
            parameter(
                "sizes",
                Annotated[bool, typer.Option("--sizes", help="Show how large the files are.")],
                False,
            ),
        ),
        help="Draw the tree: what lies where, as bars, counts and shares.",
        answers="That is the whole tree, whatever the options say.",
        more="""A bar, the count and the share of the folder above for every folder; those with less than `--min-share` of the
        one above them are summed up in one line.""",
    ),
    "tree hotspots": CommandRow(
        ("hardwon tree hotspots", "hardwon tree hotspots --share 0.5 --limit 10 --json"),
        views.hotspot_lines,
        help="List the folders in which most has gathered.",
        more="""Folders that hold at least `--share` of the nearest folder above them that holds more, the largest first.
        Folders that hold nothing but one another count as one place.""",
    ),
    "tree reflect": CommandRow(
        ("hardwon tree reflect", "hardwon tree reflect --json"),
        views.reflection_lines,
        help="Say what works, where things fail, and how sure that is.",
        more="""How often things work, where failures and successes gather, how much could not be routed, and what that comes to
        in a few sentences. Nothing is concluded from fewer than ten attempts.""",
    ),
    "browse": CommandRow(
        (
            "hardwon browse",
            "hardwon browse --kind experience --outcome failure --since 2026-01-01 --limit 50 "
            "--json",
        ),
        views.page_lines,
        help="List records, the newest first. For all of them there is export.",
    ),
    "show": CommandRow(
        (f"hardwon show {_ID}", f"hardwon show {_ID} --json"),
        whole_record_lines,
        ("record_id",),
        help="Print one record, whole.",
    ),
    "episodes cards": CommandRow(
        ("hardwon episodes cards easy", "hardwon episodes cards --limit 50 --json"),
        _table(
            "No mistake was reported yet.",
            "mistake_type",
            "task_id",
            "seen",
            "bad_decision",
            "correct_decision",
            "lesson",
        ),
        ("task_id",),
    ),
    "episodes scores": CommandRow(
        ("hardwon episodes scores easy", "hardwon episodes scores easy --json"),
        views.scores_lines,
        help="How a task went: mean, best, trend, and the newest scores.",
    ),
    "episodes tasks": CommandRow(
        show=_table(
            "No episode is recorded yet.",
            *("task_id", "episodes", "mean", "best", "change", "first_seen", "last_seen"),
        )
    ),
    "episodes candidate-rules": CommandRow(
        show=_table("No rule waits.", "task_id", "kind", "helpful", "harmful", "text")
    ),
    "episodes compare": CommandRow(
        (
            "hardwon episodes compare",
            "hardwon episodes compare --task-id easy --with-tag memory --by-run --json",
        ),
        lambda found, _: str(found),
        spelled={"kind": "", "tag": "--with-tag"},
    ),
    "fixes solutions": CommandRow(
        (
            "hardwon fixes solutions",
            'hardwon fixes solutions "ModuleNotFoundError: No module named torch" --json',
        ),
        _table(
            "Nothing was done after that yet.", "helped", "tried", "p_helped", "action", "diagnosis"
        ),
        ("error",),
        help="What was done after an error, or after any, in trajectories, what helped most first.",
    ),
    "skills list": CommandRow(
        ("hardwon skills list", "hardwon skills list --unverified --json"),
        _table("Nothing has proved itself yet.", "name", "description"),
    ),
    "care decisions": CommandRow(
        (
            "hardwon care decisions",
            "hardwon care decisions --action merge --task-id easy --limit 50 --json",
        ),
        _table("Nothing was decided yet.", "id", "at", "action", "about", row=views.decision_row),
        more="`hardwon undo` takes one back by its id.",
        help="What was decided about knowledge and not undone, the newest first.",
    ),
    "care activity": CommandRow(
        show=_table("Nothing was recorded in that time.", "day", "kind", "records", "good", "bad"),
        help="What was recorded day by day, by kind, and how it turned out.",
    ),
    "care failures": CommandRow(
        show=_table(
            "Nothing went wrong in that time.",
            *("seen", "last_seen", "is_new", "authors", "text", "action", "fix"),
            row=_failure_row,
        ),
        help="What goes wrong, and what made it go away: first what is new, then what came up most.",
    ),
    "care progress": CommandRow(
        show=_by_day,
        help="Whether it gets better: what went well and badly, day by day.",
    ),
    "care areas": CommandRow(
        show=_table(_NOTHING_THEN, "tool", "area", "good", "bad"),
        help="How often each tool worked and failed, and in which area.",
    ),
    "care helpful": CommandRow(
        show=_table(
            "Nothing that was recalled was said to help yet.",
            *("helped", "hindered", "id", "text"),
            row=_with_record,
        ),
        help="What helped most often when it was recalled.",
    ),
    "care stale": CommandRow(
        show=_table(
            "No record is archived because its files changed.",
            *("since", "by", "reason", "id", "text"),
            row=_with_record,
        ),
        help="What check-stale archived, the last one first.",
    ),
    "care links": CommandRow(
        show=_links,
        help="What replaced a record, what it replaced, and what contradicts it.",
    ),
    "care adopted": CommandRow(
        show=lambda found, how: views.record_lines(found, how) or "Nothing was adopted from there.",
        help="What was adopted without records, and still counts.",
    ),
    "care failing-tests": CommandRow(
        show=lambda found, _: "\n".join(found) or "No test fails, as far as runs were recorded."
    ),
    "care consolidate": CommandRow(
        ("hardwon care consolidate", "hardwon care consolidate --llm"),
        views.consolidated_text,
        help="Put knowledge in order. Rules that say nearly the same become one, contradictions are "
        "linked, what proved itself in several tasks holds for the project, and what nobody has "
        "seen for long retires.",
        more="""It happens by itself after some episodes; this does all of it now ([learning.md](learning.md)). Every
        decision can be undone by its id. `--llm` asks the model that `GROQ_API_KEY`, `API_BASE_URL` and `LLM_MODEL` name;
        where there is none, or it is of no use, the rest is done all the same, and a note says so.""",
        busy="consolidating",
        kept="what was decided so far stays; undo takes it back",
    ),
    "fixes similar": CommandRow(
        (
            'hardwon fixes similar "no answer" --model qwen2.5:7b --issue-type TIMEOUT',
            'hardwon fixes similar --issue \'{"model": "qwen2.5:7b", "issue_type": "TIMEOUT"}\' '
            "--json",
        ),
        views.similar_lines,
        ("description",),
        help="List earlier attempts to fix an issue or one like it, those that worked first.",
    ),
    "fixes odds": CommandRow(
        (
            "hardwon fixes odds --model qwen2.5:7b --issue-type TIMEOUT",
            'hardwon fixes odds --tool code_interpreter --task "parse the dates" --json',
        ),
        views.odds_lines,
        ("description",),
        help="How likely a fix, or a tool at a task, is to work, and on what that rests.",
    ),
    "fixes strategies": CommandRow(
        ("hardwon fixes strategies TIMEOUT", "hardwon fixes strategies TIMEOUT --limit 3 --json"),
        _table("Nothing was done about that yet.", *_STRATEGY),
        help="What was done about an issue type, the likeliest to succeed first.",
    ),
    "fixes failed-strategies": CommandRow(
        show=_table("Nothing that was done about that failed more often than not.", *_STRATEGY),
        help="What was done about an issue type and mostly failed, what failed most first.",
    ),
    "fixes temporal-patterns": CommandRow(
        show=lambda found, how: (
            views.temporal_lines(found, how) or "No issue keeps to certain hours or weekdays."
        )
    ),
    "fixes count": CommandRow(help="How many attempts to fix something there were since a time."),
    "fixes days": CommandRow(
        show=_table(_NO_FIX, "day", *_COUNTED),
        help="How many attempts to fix something there were, day by day.",
    ),
    "fixes types": CommandRow(
        show=_table(_NO_FIX, "issue_type", *_COUNTED),
        help="How attempts at every issue type turned out, what failed most often first.",
    ),
    "fixes best-strategies": CommandRow(
        ("hardwon fixes best-strategies", "hardwon fixes best-strategies --limit 3 --json"),
        views.successful_lines,
        more="What never worked is not listed.",
        help="What succeeded, by issue type: the most frequent type first.",
    ),
    "fixes trends": CommandRow(
        ("hardwon fixes trends", "hardwon fixes trends --days 90 --json"),
        _table(
            "No fix was attempted in that time.",
            "issue_type",
            "direction",
            "attempts",
            "earlier",
            "later",
            "p_value",
        ),
    ),
    "fixes model": CommandRow(
        ("hardwon fixes model qwen2.5:7b", "hardwon fixes model qwen2.5:7b --json"),
        views.model_lines,
        ("name",),
        help="What is known of a model: how its fixes went, its common issues, and what helped.",
    ),
    "fixes matrix": CommandRow(
        ("hardwon fixes matrix", "hardwon fixes matrix --json"),
        _table(_NO_FIX, "model", "issue_type", *_COUNTED, "p_success"),
    ),
    "fixes fixers": CommandRow(
        ("hardwon fixes fixers", "hardwon fixes fixers --json"),
        _table(_NO_FIX, "fixer", *_COUNTED, "p_success", "interval"),
    ),
    "verify": CommandRow(
        (f"hardwon verify {_ID} --by test_runner --verification-id ci-1234",),
        views.status_text,
        ("record_id",),
        help="Vouch for a record. A test, a person or a compiler showed it to be true.",
    ),
    "care publish": CommandRow(
        (f"hardwon care publish {_ID}",),
        views.status_text,
        help="Mark a verified record as one that proved itself.",
    ),
    "care archive": CommandRow(
        (f'hardwon care archive {_ID} --reason "the service is gone"',),
        views.status_text,
        ("record_id",),
        help="Take a record out of recall, and say why.",
    ),
    "care supersede": CommandRow(
        (
            f'hardwon care supersede {_ID} 0198c0de-0000-7000-8000-000000000002 --reason "the port was '
            f'changed"',
        ),
        views.status_text,
        ("old_id", "new_id"),
        help="Archive a record in favour of another, which replaces it.",
    ),
    "doctor": CommandRow(
        ("hardwon doctor", "hardwon doctor --json"),
        views.finding_lines,
        help="Check that everything is as it was written.",
        more="The exit code is 1 where something is wrong.",
        busy="checking",
        fails=lambda found: not found.ok,
    ),
    "undo": CommandRow(
        (f"hardwon undo {_ID}",),
        views.undone_text,
        ("decision_id",),
        help="Take back a decision. A merge, a rollback, a cleanup, or a status.",
        more="""The id is the one that the command printed which decided it; of a status, that of the event in `care audit
        --json`. A cleanup that compact made final cannot be undone.""",
    ),
    "care rebuild": CommandRow(
        ("hardwon care rebuild", "hardwon care rebuild --json"),
        lambda corrected, _: (
            f"{counted(corrected, 'record')} corrected; all that was counted is counted anew"
        ),
        help="Derive again what is derived, and correct what differs.",
        more="What to do when doctor says so.",
        busy="deriving",
        kept="what was corrected stays so; rebuild again corrects the rest",
    ),
}


# --- what a command takes ---


def _build(words: str) -> Any:
    """The command of an operation."""
    row = ROWS.get(words, CommandRow())
    operation = next(each for each in OPERATIONS.values() if each.command == words)
    fields = operation.takes.model_fields
    required = [name for name, info in fields.items() if info.is_required()]
    positional = required if row.positional is None else row.positional
    parameters = [
        parameter("ctx", typer.Context),
        *options_of(operation.takes, positional, row.spelled),
        *row.drawing,
    ]
    parameters += [_as_option(name) for name in positional if name not in required]
    if operation.signs == "by":
        by = typer.Option("--by", help="Who says so.")
        parameters.append(parameter("signer", Annotated[str, by], "user"))
    if row.fails_if:
        asked = typer.Option(row.fails_if[0], help=row.fails_if[1])
        parameters.append(parameter("fails_if", Annotated[bool, asked], False))
    run = with_parameters(partial(_run, operation, row), parameters)
    run.__name__ = words
    run.__doc__ = (
        row.help or operation.description.replace("`", "").partition(". ")[0].rstrip(".") + "."
    )
    given = "".join(f" {shlex.quote(str((fields[name].examples or [''])[0]))}" for name in required)
    examples = row.examples or (f"hardwon {words}{given}", f"hardwon {words}{given} --json")
    return build_command(
        words, run, examples, answers=row.answers, more=row.more, operation=operation.name
    )


def _run(
    operation: Operation,
    row: CommandRow,
    *,
    ctx: typer.Context,
    signer: str = "",
    fails_if: bool = True,
    **given: Any,
) -> Output:
    drawing = {each.name: given.pop(each.name) for each in row.drawing}
    takes = operation.takes
    with (
        chosen(ctx).open(to_read=True) as memory,
        progress(row.busy, row.kept) if row.busy else nullcontext() as bar,
    ):
        fields = given_fields(takes, given)

        def complete(name: str) -> None:
            given, fields[name] = fields[name], _ID  # what is wrong with it is told once
            fields[name] = whole_id(memory, given)

        def check() -> Any:
            # to make the first validator takes a tenth of the time of a short command
            needed = fields or any(info.is_required() for info in takes.model_fields.values())
            return takes.model_validate(fields) if needed else takes.model_construct()

        if operation.name == "similar_issues" and not fields.get("issue"):
            options = (f"--{name.replace('_', '-')}" for name in (*ISSUE_FIELDS, "issue"))
            raise InvalidInputError.one("issue", NOT_GIVEN, f"one or more of {', '.join(options)}")
        ids = (partial(complete, name) for name in _IDS if name in fields)
        *_, arguments = check_all(*ids, check)
        tells = bar and "progress" in signature(operation.method_of(Memory)).parameters
        more = {"progress": bar} if tells else {}
        found = operation.do(memory, arguments, Caller(signer, "admin"), **more)
    failed = bool(row.fails and fails_if and row.fails(found))
    return Output(found, partial(row.show, found, look(), **drawing), failed)


for _words, _module in MODULE_OF.items():
    if _module == "derived":
        builders.setdefault(_words, partial(_build, _words))
for _kind in RECORDED:
    builders[f"record {_kind}"] = partial(_build_recorded, _kind)
