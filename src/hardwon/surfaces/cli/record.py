"""`hardwon remember`, and `hardwon record`: facts, episodes, fixes and trajectories, from options or
from JSON.
"""

import json
import re
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.records.kinds import Fact, Kind
from hardwon.surfaces.cli.main import (
    Options,
    Output,
    add_group,
    chosen,
    command,
    gathered,
    parameter,
    signed,
)

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
        parameter(name, Annotated[str | None, typer.Option(help=meaning)], None)
        for name, meaning in {
            "task_type": "Of a success of code_interpreter.",
            "domain": "Of a success of web_search.",
            "error_type": "Of a failure of code_interpreter.",
            "reason": "Of a failure of web_search.",
            "insight_type": "Of a learning.",
            "sentiment": "Of an interaction.",
        }.items()
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
