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
from inspect import Parameter
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
from hardwon.errors import InvalidInputError
from hardwon.records.fields import Model
from hardwon.records.kinds import ROUTES, AnyRecord, Fact, Kind
from hardwon.surfaces.cli import views
from hardwon.surfaces.cli.main import (
    MODULE_OF,
    Options,
    Output,
    add_group,
    build_command,
    builders,
    chosen,
    command,
    gathered,
    look,
    parameter,
    progress,
    signed,
    with_parameters,
    write,
)
from hardwon.surfaces.cli.views import (
    Line,
    Look,
    counted,
    table_lines,
    value_lines,
)
from hardwon.surfaces.operations import OPERATIONS, Operation, Remember, jsonable
from hardwon.text.clean import clean_line
from hardwon.trust.access import Caller

if TYPE_CHECKING:
    from hardwon.memory.context import Context

STDIN: Final = "-"

# The parameter `envelope` becomes the options that say where a record comes from.
enveloped: Final = gathered(
    "envelope",
    [
        parameter(name, annotation, None)
        for name, annotation in {
            "tags": Annotated[
                list[str] | None, typer.Option("--tag", help="A tag; as often as you like.")
            ],
            "author": Annotated[str | None, typer.Option(help="Who says so.")],
            "related_files": Annotated[
                list[str] | None,
                typer.Option("--file", help="A file it is about; as often as you like."),
            ],
            "recalled": Annotated[
                list[str] | None,
                typer.Option(
                    metavar="ID",
                    help="What was recalled before it was tried; as often as you like.",
                ),
            ],
        }.items()
    ],
)


@command(
    'hardwon remember "KeyError id in login.py" --outcome failure --tool code_interpreter '
    "--error-type runtime",
    'hardwon remember "Users want short answers" --outcome learning --insight-type preference '
    "--tag style",
    answers="`id`, `path` (its file where the memory has a tree, else null), `record`.",
    more="""The key that an outcome and tool require has an option of its own: `--task-type`, `--domain`, `--error-type`,
    `--reason`, `--insight-type`, `--sentiment`. `--key KEY=VALUE` adds one of yours. `--summary`, `--tag`, `--author` and
    `--file` (a file it is about) fill in the rest; `--key`, `--tag` and `--file` may be given more than once. The full list
    of pairs is in [records.md](records.md); `--outcome` and `--tool` are its first two columns.""",
)
@enveloped
@gathered(
    "routing",
    [
        parameter(
            route[0],
            Annotated[str | None, typer.Option(help=Remember.model_fields[route[0]].description)],
            None,
        )
        for route in ROUTES.values()
        if route
    ],
)
def remember(
    ctx: typer.Context,
    content: Annotated[str, typer.Argument(help="What happened; - reads it from standard input.")],
    outcome: Annotated[str, typer.Option(help="success, failure, learning or interaction.")],
    tool: Annotated[str | None, typer.Option(help="The tool that was used.")] = None,
    summary: Annotated[
        str | None, typer.Option(help="A few words for its file name.", show_default="made from it")
    ] = None,
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
        if not separator or not name:
            raise InvalidInputError.one(
                "--key", each, "a key and its value, such as --key service=auth"
            )
        if name in keys:
            raise InvalidInputError.one("--key", each, "keys that are not given otherwise")
        keys[name] = value
    text = sys.stdin.read(limits.TEXT_CHARS_MAX + 1) if content == STDIN else content
    with chosen(ctx).open() as memory:
        record = memory.remember(text, outcome, tool, summary, **keys)
    return Output(
        {"id": record.id, "path": record.path, "record": record},
        f"{record.id}  {record.path}" if record.path else record.id,
    )


add_group(
    "record",
    "Keep a fact, an episode, a fix or a trajectory, from options or from JSON.",
    """The JSON is one object, a list of them, or one after the other (JSON Lines): from a file with `--from-json FILE`,
    from standard input with `-`. An object has the keywords of `Memory.record_fact` and its like (see
    [records.md](records.md)), and those of the envelope: `author`, `source`, `timestamp`, `tags`, `related_files`,
    `git_commit`, `git_branch`, `failure_hash`, `recalled`. An option holds for every object that does not say it itself. All
    of them are kept in one transaction or, where one is refused, none; `load` takes in whole records, and more of them.""",
)

_ANSWERS: Final = "JSON: `ids` and `records`, in the order in which they were given."

FromJson = Annotated[
    str | None, typer.Option(metavar="FILE", help="A file of JSON objects; - is standard input.")
]


@command(
    'hardwon record fact "The staging database listens on port 5433." --fact-type observation '
    "--tag db",
    "hardwon record fact --from-json facts.jsonl --author importer --json",
    words="record fact",
    answers=f"{_ANSWERS} One that was known already is the first that said so.",
)
@enveloped
def fact(
    ctx: typer.Context,
    content: Annotated[
        str | None,
        typer.Argument(help="One self-contained sentence; - reads JSON from standard input."),
    ] = None,
    fact_type: Annotated[
        str | None, typer.Option(help="error, solution, observation or decision.")
    ] = None,
    confidence: Annotated[
        float | None, typer.Option(help="How sure you are, from 0 to 1.", show_default="0.5")
    ] = None,
    restate: Annotated[
        bool, typer.Option("--restate", help="Have the LLM write it anew, if it can.")
    ] = False,
    *,
    envelope: Options,
    from_json: FromJson = None,
) -> Output:
    """Keep one sentence that is true. Who says again what is known strengthens it."""
    own = {
        "content": _text(content),
        "fact_type": fact_type,
        "confidence": confidence,
        "restate": restate or None,
    }
    return _record(ctx, "fact", own | envelope, content, from_json)


@command(
    'hardwon record episode easy --score 0.4 --mistake "guessed the schema" --success "read the '
    'logs first"',
    "hardwon record episode --from-json episodes.jsonl --tag nightly",
    words="record episode",
    answers=_ANSWERS,
)
@enveloped
def episode(
    ctx: typer.Context,
    task_id: Annotated[
        str | None, typer.Argument(help="The task; - reads JSON from standard input.")
    ] = None,
    score: Annotated[float | None, typer.Option(help="How it ended, from 0 to 1.")] = None,
    steps: Annotated[int | None, typer.Option(help="How many steps it took.")] = None,
    trajectory_summary: Annotated[
        str | None, typer.Option("--trajectory-summary", help="What was done, in short.")
    ] = None,
    mistakes: Annotated[
        list[str] | None, typer.Option("--mistake", help="What went wrong; as often as you like.")
    ] = None,
    successes: Annotated[
        list[str] | None, typer.Option("--success", help="What went well; as often as you like.")
    ] = None,
    mistake_cards: Annotated[
        list[str] | None,
        typer.Option(
            "--mistake-card",
            metavar="JSON",
            help="A mistake and what would have been right; as often as you like.",
        ),
    ] = None,
    *,
    envelope: Options,
    from_json: FromJson = None,
) -> Output:
    """Keep one scored attempt at a task."""
    own = {
        "task_id": _text(task_id),
        "score": score,
        "steps": steps,
        "trajectory_summary": trajectory_summary,
        "mistakes": mistakes,
        "successes": successes,
        "mistake_cards": [json_object("--mistake-card", each) for each in mistake_cards or ()],
    }
    return _record(ctx, "episode", own | envelope, task_id, from_json)


@command(
    'hardwon record fix "no answer in 30 s" --model qwen2.5:7b --issue-type TIMEOUT --fix-command '
    '"ollama serve" '
    "--fix-success --verification-success",
    "hardwon record fix --from-json fixes.jsonl --json",
    words="record fix",
    answers=_ANSWERS,
)
@enveloped
def fix(
    ctx: typer.Context,
    description: Annotated[
        str | None, typer.Argument(help="What was wrong; - reads JSON from standard input.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model that had the issue.")] = None,
    issue_type: Annotated[
        str | None, typer.Option(help="The sort of issue, such as TIMEOUT.", show_default="CUSTOM")
    ] = None,
    error_output: Annotated[str | None, typer.Option(help="What it printed.")] = None,
    issue: Annotated[
        str | None, typer.Option(metavar="JSON", help="The whole issue instead.")
    ] = None,
    fix_success: Annotated[
        bool | None, typer.Option("--fix-success/--fix-failure", help="Whether the fix went in.")
    ] = None,
    verification_success: Annotated[
        bool | None,
        typer.Option(
            "--verification-success/--verification-failure", help="Whether it was seen to work."
        ),
    ] = None,
    analysis: Annotated[str | None, typer.Option(help="Why it was wrong.")] = None,
    fix_commands: Annotated[
        list[str] | None,
        typer.Option(
            "--fix-command", help="What was run; as often as you like. It is kept, never run."
        ),
    ] = None,
    fixer_type: Annotated[
        str | None, typer.Option(help="Who fixed it.", show_default="claude")
    ] = None,
    execution_time_seconds: Annotated[float | None, typer.Option(help="How long it took.")] = None,
    confidence: Annotated[
        float | None, typer.Option(help="How sure the fixer was, from 0 to 1.")
    ] = None,
    notes: Annotated[str | None, typer.Option(help="What else there is to say.")] = None,
    *,
    envelope: Options,
    from_json: FromJson = None,
) -> Output:
    """Keep one attempt to fix an issue: whether it went in, and whether it was then seen to
    work.
    """
    own = {
        "issue": issue_of(
            issue,
            model=model,
            issue_type=issue_type,
            description=_text(description),
            error_output=error_output,
        ),
        "fix_success": fix_success,
        "verification_success": verification_success,
        "analysis": analysis,
        "fix_commands": fix_commands,
        "fixer_type": fixer_type,
        "execution_time_seconds": execution_time_seconds,
        "confidence": confidence,
        "notes": notes,
    }
    return _record(ctx, "fix", own | envelope, description, from_json)


@command(
    'hardwon record trajectory "make the tests pass" --step \'{"action": "pytest", "observation": '
    '"2 failed", "reward": 0.2}\' '
    "--final-reward 0.2",
    "hardwon record trajectory --from-json trajectories.jsonl --json",
    words="record trajectory",
    answers=_ANSWERS,
)
@enveloped
def trajectory(
    ctx: typer.Context,
    task: Annotated[
        str | None, typer.Argument(help="What it was for; - reads JSON from standard input.")
    ] = None,
    steps: Annotated[
        list[str] | None,
        typer.Option(
            "--step",
            metavar="JSON",
            help="action, observation and reward of a step; as often as there were.",
        ),
    ] = None,
    final_reward: Annotated[
        float | None, typer.Option(help="How it ended, from 0 (not solved) to 1.")
    ] = None,
    *,
    envelope: Options,
    from_json: FromJson = None,
) -> Output:
    """Keep what was done step by step, and how it ended."""
    own = {
        "task": _text(task),
        "steps": [json_object("--step", each) for each in steps or ()],
        "final_reward": final_reward,
    }
    return _record(ctx, "trajectory", own | envelope, task, from_json)


def _text(argument: str | None) -> str | None:
    return None if argument == STDIN else argument


def _record(
    ctx: typer.Context, kind: Kind, given: Options, argument: str | None, from_json: str | None
) -> Output:
    """`argument` is the text before the options: where it is `-`, JSON is read, as with
    `--from-json -`.
    """
    if argument == STDIN and from_json not in (None, STDIN):
        raise typer.BadParameter(
            f"- is standard input, and {from_json} another file: name one of them"
        )
    options = signed(ctx, {name: value for name, value in given.items() if value not in (None, [])})
    file = STDIN if argument == STDIN else from_json
    objects = [options] if file is None else [options | each for each in objects_of(file)]
    with chosen(ctx).open() as memory:
        kept = memory.care.record_many(kind, objects)
    ids = [each.id for each in kept]
    notes = (
        f"{each.id} does not stand alone: {finding}"
        for each in kept
        if isinstance(each, Fact)
        for finding in each.findings or ()
    )
    return Output({"ids": ids, "records": kept}, "\n".join(ids), complaints=notes)


# --- what is given as text ---


def moment(given: str | None) -> str | None:
    """A day is meant from its beginning, in UTC."""
    is_day = given and re.fullmatch(r"\d{4}-\d{2}-\d{2}", given, re.ASCII)
    return f"{given}T00:00:00Z" if is_day else given


def json_object(option: str, given: str) -> Options:
    found = objects_in(given, option)
    if len(found) != 1:
        raise InvalidInputError.one(option, given, "one JSON object")
    return found[0]


def issue_of(given: str | None, **fields: str | None) -> Options | None:
    """The issue that options describe, in JSON or field by field; None where none of them was
    given.
    """
    issue = {} if given is None else json_object("--issue", given)
    issue |= {name: value for name, value in fields.items() if value is not None}
    return issue or ({} if given is not None else None)


def objects_of(file: str) -> list[Options]:
    """The JSON objects of a file, or of standard input: one, a list of them, or one after the
    other.
    """
    most = limits.RECORDED_JSON_BYTES_MAX
    name = "standard input" if file == STDIN else file
    with nullcontext(sys.stdin.buffer) if file == STDIN else Path(file).open("rb") as opened:
        data = opened.read(most + 1)
    if len(data) > most:
        raise InvalidInputError.one(
            name, f"{len(data)} bytes and more", f"{most} bytes: hardwon load takes in more"
        )
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
    if not found:
        raise InvalidInputError.one(name, "", "at least one JSON object")
    if len(found) > limits.RECORDED_AT_ONCE_MAX:
        raise InvalidInputError.one(
            name,
            f"{len(found)} objects",
            f"{limits.RECORDED_AT_ONCE_MAX} objects: hardwon load takes in more",
        )
    if odd := [each for each in found if not isinstance(each, dict)]:
        raise InvalidInputError.one(name, odd[0], "JSON objects")
    return found


Show = Callable[..., str | Iterable[Line]]


def plain_lines(found: Any, how: Look) -> list[Line]:
    """Items as a table of all that they have, anything else as names and values."""
    shapes = jsonable(found if isinstance(found, list) else [found])
    rows = [each if isinstance(each, dict) else {"found": each} for each in shapes]
    if not isinstance(found, list):
        return value_lines(rows[0], how)
    short = [
        SimpleNamespace(**{name: _in_short(value) for name, value in row.items()}) for row in rows
    ]
    return table_lines(short, list(rows[0]) if rows else [], how, "None.")


def _in_short(value: Any) -> Any:
    """Of a record, its id and what it is about."""
    if isinstance(value, dict) and {"id", "kind"} <= value.keys():
        return f"{value['id']}  {value.get('content') or value.get('task_id') or value['kind']}"
    return value


class CommandRow(NamedTuple):
    """`show` says an answer to people, given how to draw. `positional`: fields that are given
    without a name, else those that are required. `spelled`: options that are called otherwise
    than their fields, "" those that are not there. `drawing`: options for `show` alone. `help`:
    where the operation's own first sentence speaks to a program. `busy`: what is done meanwhile,
    where that may take long. `fails`: whether an answer ends the command with exit code 1,
    `fails_if` the option that asks for that, if it has to be asked for.
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
        more="It prints the text and nothing else, without a line end of its own where that is no "
        "terminal. What --explain has to say goes to the standard error.",
    ),
    "advise": CommandRow(
        (
            'hardwon advise "pip install torch"',
            'hardwon advise "retry the upload" --task "nightly backup" --error "timed out" '
            "--fail-if-blocked --json",
        ),
        lambda found, _: str(found),
        ("action",),
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
        {"k": "-k"},
        help="Find what answers a question, the best first.",
        more="`--path` is a glob over the related files. `--as-of` answers what was believed then.",
    ),
    "stats": CommandRow(
        ("hardwon stats", "hardwon --memory agent_brain stats --json"),
        views.stats_lines,
        help="Print how much there is, of what, and where.",
    ),
    "map": CommandRow(
        ("hardwon map", "hardwon map --depth 2 --min-share 0.05 --sizes"),
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
    "reflect": CommandRow(
        ("hardwon reflect", "hardwon reflect --json"),
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
    "rules": CommandRow(
        ("hardwon rules --task-id easy", "hardwon rules --state active --limit 50 --json"),
        _table(
            "No rule was learned yet.", "state", "kind", "helpful", "harmful", "task_id", "text"
        ),
    ),
    "cards": CommandRow(
        ("hardwon cards --task-id easy", "hardwon cards --limit 50 --json"),
        _table(
            "No mistake was reported yet.",
            "mistake_type",
            "task_id",
            "seen",
            "bad_decision",
            "correct_decision",
            "lesson",
        ),
    ),
    "episodes scores": CommandRow(
        ("hardwon episodes scores easy", "hardwon episodes scores easy --json"),
        plain_lines,
        ("task_id",),
        help="How a task went: mean, best, trend, and the newest scores.",
    ),
    "episodes compare": CommandRow(
        (
            "hardwon episodes compare",
            "hardwon episodes compare --task-id easy --with-tag memory --by-run --json",
        ),
        lambda found, _: str(found),
        spelled={"kind": "", "tag": "--with-tag"},
    ),
    "solutions": CommandRow(
        (
            "hardwon solutions",
            'hardwon solutions "ModuleNotFoundError: No module named torch" --json',
        ),
        _table(
            "Nothing was done after that yet.", "helped", "tried", "p_helped", "action", "diagnosis"
        ),
        ("error",),
        help="What was done after an error, or after any, in trajectories, what helped most first.",
    ),
    "care decisions": CommandRow(
        (
            "hardwon care decisions",
            "hardwon care decisions --action merge --task-id easy --limit 50 --json",
        ),
        _table("Nothing was decided yet.", "id", "at", "action", "about", row=views.decision_row),
        more="`hardwon undo` takes one back by its id.",
    ),
    "consolidate": CommandRow(
        ("hardwon consolidate", "hardwon consolidate --llm"),
        views.consolidated_text,
        more="""It happens by itself after some episodes; this does all of it now ([learning.md](learning.md)). Every
        decision can be undone by its id. `--llm` asks the model that `GROQ_API_KEY`, `API_BASE_URL` and `LLM_MODEL` name;
        where there is none, or it is of no use, the rest is done all the same, and a note says so.""",
        busy="consolidating",
    ),
    "odds": CommandRow(
        (
            "hardwon odds --model qwen2.5:7b --issue-type TIMEOUT",
            'hardwon odds --tool code_interpreter --task "parse the dates" --json',
        ),
        plain_lines,
        help="How likely a fix, or a tool at a task, is to work, and on what that rests.",
    ),
    "fixes strategies": CommandRow(
        ("hardwon fixes strategies TIMEOUT", "hardwon fixes strategies TIMEOUT --limit 3 --json"),
        _table(
            "Nothing was done about that yet.",
            "p_success",
            "verified",
            "attempts",
            "last_used",
            "fix_commands",
            "analysis",
        ),
        ("issue_type",),
    ),
    "fixes best-strategies": CommandRow(
        ("hardwon fixes best-strategies", "hardwon fixes best-strategies --limit 3 --json"),
        views.successful_lines,
        more="What never worked is not listed.",
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
    "model": CommandRow(
        ("hardwon model qwen2.5:7b", "hardwon model qwen2.5:7b --json"),
        views.model_lines,
        ("name",),
    ),
    "fixes matrix": CommandRow(
        ("hardwon fixes matrix", "hardwon fixes matrix --json"),
        _table(
            "No fix was attempted yet.",
            "model",
            "issue_type",
            "attempts",
            "applied",
            "verified",
            "p_success",
        ),
    ),
    "fixes fixers": CommandRow(
        ("hardwon fixes fixers", "hardwon fixes fixers --json"),
        _table(
            "Nobody fixed anything yet.",
            "fixer",
            "attempts",
            "applied",
            "verified",
            "p_success",
            "interval",
        ),
    ),
    "verify": CommandRow(
        (f"hardwon verify {_ID} --by test_runner --verification-id ci-1234",),
        views.status_text,
        ("record_id",),
    ),
    "publish": CommandRow((f"hardwon publish {_ID}",), views.status_text, ("record_id",)),
    "archive": CommandRow(
        (f'hardwon archive {_ID} --reason "the service is gone"',),
        views.status_text,
        ("record_id",),
    ),
    "supersede": CommandRow(
        (
            f'hardwon supersede {_ID} 0198c0de-0000-7000-8000-000000000002 --reason "the port was '
            f'changed"',
        ),
        views.status_text,
        ("old_id", "new_id"),
    ),
    "doctor": CommandRow(
        ("hardwon doctor", "hardwon doctor --json"),
        views.finding_lines,
        more="The exit code is 1 where something is wrong.",
        busy="checking",
        fails=lambda found: not found.ok,
    ),
    "undo": CommandRow(
        (f"hardwon undo {_ID}",),
        views.undone_text,
        ("decision_id",),
        more="""The id is the one that the command printed which decided it; of a status, that of the event in `audit --json`. A
        cleanup that compact made final cannot be undone.""",
    ),
    "rebuild": CommandRow(
        ("hardwon rebuild", "hardwon rebuild --json"),
        lambda corrected, _: (
            f"{counted(corrected, 'record')} corrected; all that was counted is counted anew"
        ),
        more="What to do when doctor says so.",
        busy="deriving",
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
    drawing = {each.name: given.pop(each.name) for each in row.drawing if each.name in given}
    takes = operation.takes
    with (
        chosen(ctx).open(to_read=True) as memory,
        progress(row.busy) if row.busy else nullcontext(),
    ):
        fields = given_fields(takes, given)
        # to make the first validator takes a tenth of the time of a short command
        arguments = takes.model_validate(fields) if fields else takes.model_construct()
        found = operation.do(memory, arguments, Caller(signer, "admin"))
    failed = bool(row.fails and fails_if and row.fails(found))
    return Output(found, partial(row.show, found, look(), **drawing), failed)


def options_of(
    takes: type[Model], positional: Iterable[str] = (), spelled: Mapping[str, str] = {}
) -> list[Parameter]:
    """The fields as a shell gives them."""
    return [
        _option(name, info, name in positional, spelled.get(name, f"--{name.replace('_', '-')}"))
        for name, info in takes.model_fields.items()
        if spelled.get(name, name)
    ]


def _option(name: str, info: FieldInfo, is_positional: bool, spelling: str) -> Parameter:
    base, many = _base_of(info.annotation)
    least, most = (
        next((getattr(bound, each) for bound in info.metadata if hasattr(bound, each)), None)
        for each in ("ge", "le")
    )
    about = str(info.description).rstrip(".")
    how: dict[str, Any] = {"help": f"{about}.", "min": least, "max": most}
    if base is datetime:
        how |= {"metavar": "TIME", "help": f"{about}; a day is meant from its beginning, in UTC."}
    elif issubclass(base, Model):
        how["metavar"] = "JSON"
    elif is_positional and name == "record_id":
        how["metavar"] = "ID"
    if many:
        how["help"] = f"{about}; as often as you like."
    default = Parameter.empty if info.is_required() else None if many else info.default
    option = typer.Argument(**how) if is_positional else typer.Option(spelling, **how)
    kind: Any = base if base in (bool, int, float) else str
    kind = list[kind] if many else kind
    return parameter(name, Annotated[kind | None if default is None else kind, option], default)


def given_fields(takes: type[Model], given: Mapping[str, Any]) -> dict[str, Any]:
    """What was given, as the fields mean it."""
    return {
        name: _meaning(name, value, takes.model_fields[name])
        for name, value in given.items()
        if value not in (None, [])
    }


def _meaning(name: str, given: Any, info: FieldInfo) -> Any:
    base, many = _base_of(info.annotation)
    if issubclass(base, Model):
        objects = [json_object(f"--{name}", each) for each in (given if many else [given])]
        return objects if many else objects[0]
    return moment(given) if base is datetime else given


def _base_of(annotation: Any) -> tuple[type, bool]:
    """What it is at heart, and whether there may be several."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return type(arguments[0]), False
    if not arguments:
        return annotation, False
    base, many = _base_of(next(each for each in arguments if each is not NoneType))
    return base, many or origin is list


for _words, _module in MODULE_OF.items():
    if _module == "derived":
        builders.setdefault(_words, partial(_build, _words))
