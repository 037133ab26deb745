"""Commands that are one operation each. What such a command takes, its bounds and its help are
those of the operation; `--json` prints what HTTP answers. A row of the table has the rest: its
examples, and what a terminal shows.
"""

import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from functools import partial
from inspect import Parameter
from types import NoneType, SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from hardwon import limits
from hardwon.records.fields import Model
from hardwon.records.kinds import AnyRecord
from hardwon.surfaces.cli import views
from hardwon.surfaces.cli.main import (
    MODULE_OF,
    WIDTH_MIN,
    Output,
    build_command,
    builders,
    chosen,
    look,
    parameter,
    progress,
    with_parameters,
    write,
)
from hardwon.surfaces.cli.output import (
    Line,
    Look,
    counted,
    table_lines,
    value_lines,
)
from hardwon.surfaces.cli.record import json_object, moment
from hardwon.surfaces.operations import OPERATIONS, Operation, jsonable
from hardwon.text.clean import clean_line
from hardwon.trust.access import Caller

if TYPE_CHECKING:
    from hardwon.memory.context import Context

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


_SIZE: Final = (
    parameter(
        "width",
        Annotated[
            int | None,
            typer.Option(
                min=WIDTH_MIN, help="Columns to draw into.", show_default="the terminal's"
            ),
        ],
        None,
    ),
    parameter(
        "ascii_only",
        Annotated[bool, typer.Option("--ascii", help="Draw with ASCII characters only.")],
        False,
    ),
)
_OF_THE_MAP: Final = (
    parameter(
        "depth",
        Annotated[int | None, typer.Option(min=1, help="Levels to show.", show_default="all")],
        None,
    ),
    parameter(
        "min_share",
        Annotated[
            float,
            typer.Option(
                min=0, max=1, help="Sum up folders with less than this share of the one above them."
            ),
        ],
        0.0,
    ),
    parameter(
        "sizes",
        Annotated[bool, typer.Option("--sizes", help="Show how large the files are.")],
        False,
    ),
)
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
        drawing=(*_OF_THE_MAP, *_SIZE),
        help="Draw the tree: what lies where, as bars, counts and shares.",
        answers="That is the whole tree, whatever the options say.",
        more="""A bar, the count and the share of the folder above for every folder; those with less than `--min-share` of the
        one above them are summed up in one line.""",
    ),
    "tree hotspots": CommandRow(
        ("hardwon tree hotspots", "hardwon tree hotspots --share 0.5 --limit 10 --json"),
        views.hotspot_lines,
        drawing=_SIZE,
        help="List the folders in which most has gathered.",
        more="""Folders that hold at least `--share` of the nearest folder above them that holds more, the largest first.
        Folders that hold nothing but one another count as one place.""",
    ),
    "reflect": CommandRow(
        ("hardwon reflect", "hardwon reflect --json"),
        views.reflection_lines,
        drawing=_SIZE,
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
    width: int | None = None,
    ascii_only: bool = False,
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
    return Output(found, partial(row.show, found, look(width, ascii_only), **drawing), failed)


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


builders.update(
    (words, partial(_build, words)) for words, module in MODULE_OF.items() if module == "derived"
)
