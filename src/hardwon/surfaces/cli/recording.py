"""What is recorded by hand or by a script: an experience in one sentence; facts, episodes, fixes and
trajectories, from options or from JSON.
"""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.records.fields import check_that, read_json
from hardwon.records.kinds import Fact, Kind
from hardwon.surfaces.cli.main import (
    Text,
    Texts,
    add_group,
    arg,
    chosen,
    command,
    make_app,
    opt,
    sign,
    with_options,
)
from hardwon.surfaces.cli.output import show

app = make_app()
STDIN: Final = "-"
AGAIN: Final = "; as often as you like."
OUTCOMES: Final = ("success", "failure", "learning", "interaction")
# Where a record comes from.
ENVELOPE: Final = {
    "tags": Annotated[Texts, opt(f"A tag{AGAIN}", "--tag")],
    "author": Annotated[Text, opt("Who says so.", offer="author")],
    "related_files": Annotated[Texts, opt(f"A file it is about{AGAIN}", "--file")],
    "recalled": Annotated[
        Texts, opt(f"What was recalled before it was tried{AGAIN}", metavar="ID", offer="id")
    ],
}


# What an experience is besides its text; most of it is what an outcome and a tool ask for.
EXPERIENCE: Final = {
    "outcome": Annotated[
        Text,
        typer.Option(
            help=f"{', '.join(OUTCOMES)}, or a word for one of them.",
            autocompletion=lambda: OUTCOMES,
            show_default="what the text tells",
        ),
    ],
    "tool": Annotated[Text, opt("With what it was done.", offer="tool")],
    **{
        name: Annotated[Text, opt(about)]
        for name, about in {
            "summary": "It in a few words.",
            "task_type": "Of a success of code_interpreter: write, debug, refactor, explain.",
            "domain": "Of a success of web_search: technical, research, general.",
            "error_type": "Of a failure of code_interpreter: syntax, runtime, logic, timeout.",
            "reason": "Of a failure of web_search: no_results, blocked, irrelevant.",
            "insight_type": "Of a learning: pattern, correction, preference, fact.",
            "sentiment": "Of an interaction: positive, neutral, negative.",
        }.items()
    },
}


@command(app, "remember")
@with_options("named", EXPERIENCE | ENVELOPE)
def remember(
    content: Annotated[str, arg("What happened; - reads it from standard input.")],
    named: dict[str, Any],
    key: Annotated[Texts, opt(f"A key of your own{AGAIN}", metavar="KEY=VALUE")] = None,
) -> None:
    """Keep an experience. Prints its id, and its file where the memory has a tree.

    A tree of files has folders for the tools and the words that the help names; others are kept
    too.

    JSON: `id`, `path` (its file where the memory has a tree, else null), `record`.

    \b
    Examples:
      hardwon remember "KeyError id in login.py"
      hardwon remember "Users want short answers" --outcome learning --insight-type preference --tag style
    """
    keys = named | sign(named.get("author"))
    for pair in key or ():
        name, separator, value = pair.partition("=")
        allowed = "a key and its value, such as --key service=auth"
        check_that(separator and name, "--key", pair, allowed)
        check_that(name not in keys, "--key", pair, "keys that are not given otherwise")
        keys[name] = value
    text = sys.stdin.read(limits.TEXT_CHARS_MAX + 1) if content == STDIN else content
    with chosen().open() as memory:
        record = memory.remember(text, **keys)
    kept = ", ".join(filter(None, (record.outcome, record.tool, *(record.route or ())[1:])))
    notes = [] if "outcome" in named else [f"kept as {kept}; --outcome says otherwise"]
    answer = {"id": record.id, "path": record.path, "record": record}
    line = f"{record.id}  {record.path}" if record.path else record.id
    show(answer, line, complaints=notes)


group = add_group(
    app,
    "record",
    """Keep a fact, an episode, a fix or a trajectory.

    From options, or from JSON: one object, a list of them, or one a line, from
    a file with `--from-json FILE`, from standard input with `-`. An object has the keywords of
    `Memory.record_fact` and its like, and those of the envelope; options are the most usual of them.
    An option holds for every object that does not say it itself. All of them are kept in one
    transaction or, where one is refused, none; `load` takes in whole records of any kind, and more of
    them.
    """,
)
Number = float | None
FromJson = Annotated[Text, opt("A file of JSON objects; - is standard input.", metavar="FILE")]
MANY: Final = {**ENVELOPE, "from_json": FromJson}


@command(group, "fact")
@with_options("fields", MANY)
def record_fact(
    fields: dict[str, Any],
    content: Annotated[Text, arg("The sentence; - is JSON.")] = None,
    fact_type: Annotated[Text, opt("error, solution, observation, decision.")] = None,
    confidence: Annotated[Number, opt("How sure that is, 0 to 1.")] = None,
) -> None:
    """Keep one sentence that is true. Who says again what is known strengthens it.

    JSON: `ids` and `records`, in the order in which they were given. One that was known already is
    the first that said so.

    \b
    Examples:
      hardwon record fact "The staging database listens on port 5433." --fact-type observation --tag db
      hardwon record fact --from-json facts.jsonl --author importer --json
    """
    record_all("fact", content, fields, fact_type=fact_type, confidence=confidence)


@command(group, "episode")
@with_options("fields", MANY)
def record_episode(
    fields: dict[str, Any],
    task_id: Annotated[Text, arg("The task; - is JSON.")] = None,
    score: Annotated[Number, opt("How well it went, 0 to 1.")] = None,
    steps: Annotated[int | None, opt("How many steps it took.")] = None,
    trajectory_summary: Annotated[Text, opt("What was done.")] = None,
    mistakes: Annotated[Texts, opt(f"What went wrong{AGAIN}", "--mistake")] = None,
    successes: Annotated[Texts, opt(f"What went well{AGAIN}", "--success")] = None,
) -> None:
    """Keep one scored attempt at a task.

    JSON: `ids` and `records`, in the order in which they were given.

    \b
    Examples:
      hardwon record episode easy --score 0.4 --mistake "guessed the schema" --success "read the logs first"
      hardwon record episode --from-json episodes.jsonl --tag nightly
    """
    record_all(
        "episode",
        task_id,
        fields,
        score=score,
        steps=steps,
        trajectory_summary=trajectory_summary,
        mistakes=mistakes,
        successes=successes,
    )


@command(group, "fix")
@with_options("fields", MANY)
def record_fix(
    fields: dict[str, Any],
    description: Annotated[Text, arg("The issue; - is JSON.")] = None,
    model: Annotated[Text, opt("The model.", offer="model")] = None,
    issue_type: Annotated[Text, opt("What sort of issue.", offer="issue_type")] = None,
    error_output: Annotated[Text, opt("What it printed.")] = None,
    fix_success: Annotated[
        bool | None, opt("Whether it went in.", "--fix-success/--fix-failure")
    ] = None,
    verification_success: Annotated[
        bool | None, opt("Whether it then worked.", "--verification-success/--verification-failure")
    ] = None,
    analysis: Annotated[Text, opt("Why it should help.")] = None,
    fix_commands: Annotated[Texts, opt(f"What was done{AGAIN}", "--fix-command")] = None,
    fixer_type: Annotated[Text, opt("Who fixed it.")] = None,
) -> None:
    """Keep one attempt to fix an issue: whether it went in, and whether it was then seen to work.

    JSON: `ids` and `records`, in the order in which they were given.

    \b
    Examples:
      hardwon record fix "no answer" --issue-type TIMEOUT --fix-command "ollama serve" --fix-success --verification-success
      hardwon record fix --from-json fixes.jsonl --json
    """
    about = {"model": model, "issue_type": issue_type, "error_output": error_output}
    if description != STDIN:
        about["description"] = description
    issue = {name: value for name, value in about.items() if value is not None}
    record_all(
        "fix",
        STDIN if description == STDIN else None,
        fields,
        issue=issue or None,
        fix_success=fix_success,
        verification_success=verification_success,
        analysis=analysis,
        fix_commands=fix_commands,
        fixer_type=fixer_type,
    )


@command(group, "trajectory")
@with_options("fields", MANY)
def record_trajectory(
    fields: dict[str, Any],
    task: Annotated[Text, arg("What was to be done; - is JSON.")] = None,
    steps: Annotated[Texts, opt(f"What was done{AGAIN}", "--step", metavar="JSON")] = None,
    final_reward: Annotated[Number, opt("How well it ended.")] = None,
) -> None:
    """Keep what was done step by step, and how it ended.

    JSON: `ids` and `records`, in the order in which they were given.

    \b
    Examples:
      hardwon record trajectory "make the tests pass" --step '{"action": "pytest", "ok": false}' --final-reward 0.2
      hardwon record trajectory --from-json trajectories.jsonl --json
    """
    read = [read_object("--step", step) for step in steps or ()]
    record_all("trajectory", task, fields, steps=read or None, final_reward=final_reward)


# --- keeping it ---

_FIRST: Final[dict[Kind, str]] = {"fact": "content", "episode": "task_id", "trajectory": "task"}


def record_all(kind: Kind, first: str | None, fields: dict[str, Any], **own: Any) -> None:
    """Keeps what options and JSON say, and shows it. The argument `first` is `-` where JSON is read
    from standard input, as with `--from-json -`.
    """
    from_json = fields.pop("from_json", None)
    if first == STDIN:
        if from_json not in (None, STDIN):
            raise typer.BadParameter(
                f"- is standard input, and {from_json} another file: name one of them"
            )
        from_json, first = STDIN, None
    if first is not None:
        own[_FIRST[kind]] = first
    options = {name: value for name, value in own.items() if value is not None}
    options |= fields | sign(fields.get("author"))
    objects = read_objects(from_json) if from_json else [{}]
    with chosen().open() as memory:
        records = memory.care.record_many(kind, [options | one for one in objects])
    ids = [record.id for record in records]
    notes = [
        f"{record.id} does not stand alone: {finding}"
        for record in records
        if isinstance(record, Fact)
        for finding in record.findings or ()
    ]
    show({"ids": ids, "records": records}, "\n".join(ids), complaints=notes)


# --- JSON ---


def read_object(option: str, text: str) -> dict[str, Any]:
    objects = parse_objects(text, option)
    check_that(len(objects) == 1, option, text, "one JSON object")
    return objects[0]


def read_objects(file: str) -> list[dict[str, Any]]:
    """The JSON objects of a file, or of standard input."""
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
        return parse_objects(data.decode("utf-8-sig"), name)
    except UnicodeDecodeError as error:
        wrong = data[error.start : error.end]
        raise InvalidInputError.one(name, wrong, f"UTF-8 (byte {error.start} is not)") from None


def parse_objects(text: str, name: str) -> list[dict[str, Any]]:
    """One object, a list of them, or one a line."""
    whole = read_json(text)
    objects = whole if isinstance(whole, list) else [whole]
    if whole is None:
        objects = [read_json(line, line) for line in text.splitlines() if line.strip()]
    most = limits.TRANSACTION_RECORDS_MAX
    check_that(objects, name, "", "at least one JSON object")
    allowed = f"{most} objects: hardwon load takes in more"
    check_that(len(objects) <= most, name, f"{len(objects)} objects", allowed)
    for one in objects:
        check_that(isinstance(one, dict), name, one, "JSON objects: one, a list, or one a line")
    return objects
