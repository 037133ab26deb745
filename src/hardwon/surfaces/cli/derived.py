"""Commands that are one operation each. What such a command takes, its bounds and its help are
those of the operation; `--json` prints what HTTP answers. A row of the table has the rest: its
examples, and what a terminal shows.
"""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from types import NoneType
from typing import Annotated, Any, Final, Literal, NamedTuple, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from hardwon.records.fields import Model
from hardwon.records.kinds import AnyRecord, Decision
from hardwon.surfaces.cli import output, views
from hardwon.surfaces.cli.base import (
    CARE,
    FAILED,
    FIXES,
    LEARNED,
    RECORDING,
    SEEING,
    TRUST,
    Json,
    chosen,
    counted,
    declare,
    look,
    progress,
    write,
    write_json,
    write_lines,
    write_text,
)
from hardwon.surfaces.cli.input import json_object, moment
from hardwon.surfaces.cli.output import QUIET, STRONG, Line, Look, Span, visible
from hardwon.surfaces.operations import OPERATIONS, Operation, jsonable
from hardwon.trust.access import Caller

Show = Callable[[Any], None]


class CommandRow(NamedTuple):
    """`show` writes an answer for people. `positional`: fields that are given without a name.
    `spelled`: options that are called otherwise than their fields, "" those that are not there.
    `help`: where the operation's own first sentence speaks to a program. `busy`: what is done
    meanwhile, where that may take long. `fails`: whether an answer ends the command with exit code
    1, `fails_if` the option that asks for that, if it has to be asked for.
    """

    group: str
    examples: tuple[str, ...]
    show: Show
    positional: tuple[str, ...] = ()
    spelled: Mapping[str, str] = {}
    help: str = ""
    more: str = ""
    busy: str = ""
    fails: Callable[[Any], bool] | None = None
    fails_if: tuple[str, str] | None = None


# --- what a terminal shows ---


def _table(nothing: str, *columns: str, row: Callable[[Any], object] | None = None) -> Show:
    """These columns of each item, or of what `row` makes of it."""

    def show(found: Sequence[Any]) -> None:
        write_lines(
            views.table_lines(list(map(row, found)) if row else found, columns, look(), nothing)
        )

    return show


def _drawn(lines: Callable[[Any, Look], list[Line]]) -> Show:
    return lambda found: write_lines(lines(found, look()))


def _values(found: Any) -> None:
    write_lines(views.value_lines(jsonable(found), look()))


def _words(found: object) -> None:
    write_text(str(found))


def _context(found: object) -> None:
    text = str(found)
    write(text + "\n" if text and not text.endswith("\n") and sys.stdout.isatty() else text)


def _record(found: AnyRecord) -> None:
    """First what it says, then where it comes from."""
    shape = jsonable(found)
    metadata = shape.pop("metadata")
    write_lines(views.value_lines({**shape, "metadata": metadata}, look()))


def _records(page: Any) -> None:
    lines = output.record_lines(page.records, look()) or [(Span("No record is like that.", QUIET),)]
    if page.next:
        lines.append((Span(f"The newest {len(page.records)}; there are more.", QUIET),))
    write_lines(lines)


def _status(record: AnyRecord) -> None:
    write(f"{record.id} is {record.metadata.validation.status}\n")


class _Decided(NamedTuple):
    id: str
    at: object
    action: str
    about: str

    @classmethod
    def of(cls, decision: Decision) -> "_Decided":
        about = " ".join(
            filter(None, (decision.target, decision.replacement, decision.text, decision.reason))
        )
        return cls(decision.id, decision.metadata.context.timestamp, decision.action, about)


def _undone(record: AnyRecord) -> None:
    if isinstance(record, Decision):
        write_text(f"undone: {record.action}" + (f" of {record.target}" if record.target else ""))
    else:
        write_text(f"undone: {record.id} is {record.metadata.validation.status} again")


_CONSOLIDATED: Final = {
    "merged": "merged with one that says nearly the same",
    "contradictions": "contradiction",
    "promoted": "holds for the whole project",
    "retired": "retired",
    "written": "written as a candidate",
}


def _consolidated(done: Any) -> None:
    lines = [f"{counted(len(done.decisions), 'decision')} made"]
    for name, what in _CONSOLIDATED.items():
        lines += [
            f"{each.id}  {what}: {each.text or each.reason or each.target}"
            for each in getattr(done, name)
        ]
    write_text("\n".join([*lines, *done.notes]))


def _findings(found: Any) -> None:
    marks = {True: Span("ok   ", "green"), False: Span("BAD  ", "bold red")}
    write_lines(
        (marks[each.ok], Span(f"{each.check}: ", STRONG), Span(visible(each.detail)))
        for each in found.findings
    )


_ID: Final = "0198c0de-0000-7000-8000-000000000001"

ROWS: Final[Mapping[str, CommandRow]] = {
    "context": CommandRow(
        RECORDING,
        (
            'hardwon context "login fails with KeyError"',
            'hardwon context --task-id easy --issue \'{"model": "m", "issue_type": "TIMEOUT"}\' '
            "--budget-tokens 200 --json",
        ),
        _context,
        ("query",),
        more="It prints the text and nothing else, without a line end of its own where that is no "
        "terminal.",
    ),
    "advise": CommandRow(
        RECORDING,
        (
            'hardwon advise "pip install torch"',
            'hardwon advise "retry the upload" --task "nightly backup" --error "timed out" '
            "--fail-if-blocked --json",
        ),
        _words,
        ("action",),
        more="The exit code is 0 whatever the verdict; with `--fail-if-blocked` it is 1 where the "
        "verdict is blocked.",
        fails=lambda advice: bool(advice.verdict == "blocked"),
        fails_if=("--fail-if-blocked", "Exit code 1 where it failed the same way again and again."),
    ),
    "browse": CommandRow(
        SEEING,
        (
            "hardwon browse",
            "hardwon browse --kind experience --outcome failure --since 2026-01-01 --limit 50 "
            "--json",
        ),
        _records,
        help="List records, the newest first. For all of them there is export.",
    ),
    "show": CommandRow(
        SEEING,
        (f"hardwon show {_ID}", f"hardwon show {_ID} --json"),
        _record,
        ("record_id",),
        help="Print one record, whole.",
    ),
    "rules": CommandRow(
        LEARNED,
        ("hardwon rules --task-id easy", "hardwon rules --state active --limit 50 --json"),
        _table(
            "No rule was learned yet.", "state", "kind", "helpful", "harmful", "task_id", "text"
        ),
    ),
    "cards": CommandRow(
        LEARNED,
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
    "scores": CommandRow(
        LEARNED,
        ("hardwon scores easy", "hardwon scores easy --json"),
        _values,
        ("task_id",),
        help="How a task went: mean, best, trend, and the newest scores.",
    ),
    "compare": CommandRow(
        LEARNED,
        ("hardwon compare", "hardwon compare --task-id easy --with-tag memory --by-run --json"),
        _words,
        spelled={"kind": "", "tag": "--with-tag"},
    ),
    "solutions": CommandRow(
        LEARNED,
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
    "decisions": CommandRow(
        LEARNED,
        ("hardwon decisions", "hardwon decisions --action merge --task-id easy --limit 50 --json"),
        _table("Nothing was decided yet.", *_Decided._fields, row=_Decided.of),
        more="`hardwon undo` takes one back by its id.",
    ),
    "consolidate": CommandRow(
        LEARNED,
        ("hardwon consolidate", "hardwon consolidate --llm"),
        _consolidated,
        more="""It happens by itself after some episodes; this does all of it now ([learning.md](learning.md)). Every
        decision can be undone by its id. `--llm` asks the model that `GROQ_API_KEY`, `API_BASE_URL` and `LLM_MODEL` name;
        where there is none, or it is of no use, the rest is done all the same, and a note says so.""",
        busy="consolidating",
    ),
    "odds": CommandRow(
        FIXES,
        (
            "hardwon odds --model qwen2.5:7b --issue-type TIMEOUT",
            'hardwon odds --tool code_interpreter --task "parse the dates" --json',
        ),
        _values,
        help="How likely a fix, or a tool at a task, is to work, and on what that rests.",
    ),
    "strategies": CommandRow(
        FIXES,
        ("hardwon strategies TIMEOUT", "hardwon strategies TIMEOUT --limit 3 --json"),
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
    "successful": CommandRow(
        FIXES,
        ("hardwon successful", "hardwon successful --limit 3 --json"),
        _drawn(views.successful_lines),
        more="What never worked is not listed.",
    ),
    "trends": CommandRow(
        FIXES,
        ("hardwon trends", "hardwon trends --days 90 --json"),
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
        FIXES,
        ("hardwon model qwen2.5:7b", "hardwon model qwen2.5:7b --json"),
        _drawn(views.model_lines),
        ("name",),
    ),
    "matrix": CommandRow(
        FIXES,
        ("hardwon matrix", "hardwon matrix --json"),
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
    "fixers": CommandRow(
        FIXES,
        ("hardwon fixers", "hardwon fixers --json"),
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
        TRUST,
        (f"hardwon verify {_ID} --by test_runner --verification-id ci-1234",),
        _status,
        ("record_id",),
    ),
    "publish": CommandRow(TRUST, (f"hardwon publish {_ID}",), _status, ("record_id",)),
    "archive": CommandRow(
        TRUST, (f'hardwon archive {_ID} --reason "the service is gone"',), _status, ("record_id",)
    ),
    "supersede": CommandRow(
        TRUST,
        (
            f'hardwon supersede {_ID} 0198c0de-0000-7000-8000-000000000002 --reason "the port was '
            f'changed"',
        ),
        _status,
        ("old_id", "new_id"),
    ),
    "doctor": CommandRow(
        CARE,
        ("hardwon doctor", "hardwon doctor --json"),
        _findings,
        more="The exit code is 1 where something is wrong.",
        busy="checking",
        fails=lambda found: not found.ok,
    ),
    "undo": CommandRow(
        CARE,
        (f"hardwon undo {_ID}",),
        _undone,
        ("decision_id",),
        more="""The id is the one that the command printed which decided it; of a status, that of the event in `audit --json`. A
        cleanup that compact made final cannot be undone.""",
    ),
    "rebuild": CommandRow(
        CARE,
        ("hardwon rebuild", "hardwon rebuild --json"),
        lambda corrected: write(
            f"{counted(corrected, 'record')} corrected; all that was counted is counted anew\n"
        ),
        more="What to do when doctor says so.",
        busy="deriving",
    ),
}


# --- what a command takes ---


def declare_row(name: str) -> None:
    """Adds the command of that name."""
    row = ROWS[name]
    operation = next(each for each in OPERATIONS.values() if each.command == name)
    fields = {
        field: info
        for field, info in operation.takes.model_fields.items()
        if row.spelled.get(field, field)
    }
    parameters = [
        _parameter("ctx", typer.Context),
        *(_option(field, info, row) for field, info in fields.items()),
    ]
    if operation.signs == "by":
        parameters.append(
            _parameter("signer", Annotated[str, typer.Option("--by", help="Who says so.")], "user")
        )
    if row.fails_if:
        option, meaning = row.fails_if
        parameters.append(
            _parameter("fails_if", Annotated[bool, typer.Option(option, help=meaning)], False)
        )
    parameters.append(_parameter("as_json", Json, False))

    def run(**given: Any) -> None:
        _run(operation, row, **given)

    run.__name__ = name
    run.__doc__ = (
        row.help or operation.description.replace("`", "").partition(". ")[0].rstrip(".") + "."
    )
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # inspect looks for it there
    declare(name, row.group, run, row.examples, more=row.more, operation=operation.name)


def _run(
    operation: Operation,
    row: CommandRow,
    *,
    ctx: typer.Context,
    as_json: bool,
    signer: str = "",
    fails_if: bool = True,
    **given: Any,
) -> None:
    fields = operation.takes.model_fields
    said = {
        name: _meant(name, value, fields[name])
        for name, value in given.items()
        if value not in (None, [])
    }
    with (
        chosen(ctx).open(to_read=True) as memory,
        progress(row.busy) if row.busy else nullcontext(),
    ):
        found = operation.do(memory, operation.takes.model_validate(said), Caller(signer, "admin"))
    if as_json:
        write_json(found)
    else:
        row.show(found)
    if row.fails and fails_if and row.fails(found):
        raise typer.Exit(FAILED)


def _parameter(
    name: str, annotation: Any, default: Any = inspect.Parameter.empty
) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _option(name: str, info: FieldInfo, row: CommandRow) -> inspect.Parameter:
    """A field as a shell gives it."""
    base, many = _base_of(info.annotation)
    bounds = {
        each: getattr(bound, each)
        for bound in info.metadata
        for each in ("ge", "le")
        if hasattr(bound, each)
    }
    how: dict[str, Any] = {
        "help": info.description,
        "min": bounds.get("ge"),
        "max": bounds.get("le"),
    }
    if base is datetime:
        how |= {
            "metavar": "TIME",
            "help": f"{str(info.description).rstrip('.')}; a day is meant from its beginning, in "
            f"UTC.",
        }
    elif issubclass(base, Model):
        how["metavar"] = "JSON"
    if many:
        how["help"] = f"{str(info.description).rstrip('.')}; as often as you like."
    default = inspect.Parameter.empty if info.is_required() else None if many else info.default
    if name in row.positional:
        spelled = typer.Argument(**how, metavar="ID" if name == "record_id" else None)
    else:
        spelled = typer.Option(row.spelled.get(name, f"--{name.replace('_', '-')}"), **how)
    kind: Any = base if base in (bool, int, float) else str
    kind = list[kind] if many else kind
    return _parameter(name, Annotated[kind | None if default is None else kind, spelled], default)


def _meant(name: str, given: Any, info: FieldInfo) -> Any:
    base, many = _base_of(info.annotation)
    if base is datetime:
        return moment(given)
    if issubclass(base, Model):
        return (
            [json_object(f"--{name}", each) for each in given]
            if many
            else json_object(f"--{name}", given)
        )
    return given


def _base_of(annotation: Any) -> tuple[type, bool]:
    """What it is at heart, and whether there may be several."""
    arguments = [each for each in get_args(annotation) if each is not NoneType]
    if isinstance(annotation, type) and not arguments:
        return annotation, False
    if get_origin(annotation) is list:
        return _base_of(arguments[0])[0], True
    return (
        (type(arguments[0]), False) if get_origin(annotation) is Literal else _base_of(arguments[0])
    )
