"""What is recorded by hand or by a script: an experience in one sentence; facts, episodes, fixes and
trajectories, in words or from JSON.
"""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.records.fields import check_that, read_json
from hardwon.records.kinds import ROUTING_KEYS, Fact, Kind
from hardwon.surfaces.cli import base as cli

app = cli.make_app()
AGAIN: Final = "; as often as you like."
OUTCOMES: Final = ("success", "failure", "learning", "interaction")
# Where a record comes from.
ENVELOPE: Final = {
    "tags": Annotated[cli.Texts, cli.opt(f"A tag{AGAIN}", "--tag")],
    "author": Annotated[cli.Text, cli.opt("Who says so.")],
    "related_files": Annotated[cli.Texts, cli.opt(f"A file it is about{AGAIN}", "--file")],
    "recalled": Annotated[
        cli.Texts, cli.opt(f"What was recalled before it was tried{AGAIN}", metavar="ID")
    ],
}


# What an experience is besides its text; most of it is what an outcome and a tool ask for.
EXPERIENCE: Final = {
    "outcome": Annotated[
        cli.Text,
        typer.Option(
            help=f"{', '.join(OUTCOMES)}, or a word for one of them.",
            autocompletion=lambda: OUTCOMES,
            show_default="what the text tells",
        ),
    ],
    "tool": Annotated[cli.Text, cli.opt("With what it was done.")],
    "summary": Annotated[cli.Text, cli.opt("It in a few words.")],
    **{name: Annotated[cli.Text, cli.opt(about)] for name, about in ROUTING_KEYS.items()},
}


Named = Annotated[dict[str, Any], cli.Shared(EXPERIENCE | ENVELOPE)]
Fields = Annotated[dict[str, Any], cli.Shared(ENVELOPE)]


@cli.command(app, "remember")
def remember(content: str, *, named: Named, key: cli.Texts = None) -> None:
    """Keep an experience. Prints its id, and its file where the memory has a tree.

    A tree of files has folders for the tools and the words that the help names; others are kept
    too.

    JSON: `id`, `path` (its file where the memory has a tree, else null), `record`.

    \b
    Examples:
      hardwon remember "KeyError id in login.py"
      hardwon remember "Users want short answers" --outcome learning --insight-type preference --tag style

    Options:
      content: What happened; - reads it from standard input.
      key KEY=VALUE: A key of your own; as often as you like.
    """
    keys = named | cli.sign(named.get("author"))
    for pair in key or ():
        name, separator, value = pair.partition("=")
        allowed = "a key and its value, such as --key service=auth"
        check_that(separator and name, "--key", pair, allowed)
        check_that(name not in keys, "--key", pair, "keys that are not given otherwise")
        keys[name] = value
    text = sys.stdin.read(limits.TEXT_CHARS_MAX + 1) if content == cli.STDIN else content
    with cli.find_target().open() as memory:
        record = memory.remember(text, **keys)
    kept = ", ".join(filter(None, (record.outcome, record.tool, *(record.route or ())[1:])))
    notes = [] if "outcome" in named else [f"kept as {kept}; --outcome says otherwise"]
    answer = {"id": record.id, "path": record.path, "record": record}
    line = f"{record.id}  {record.path}" if record.path else record.id
    cli.show(answer, line, complaints=notes)


@cli.add_group(app, "record")
def group() -> None:
    """Keep a fact, an episode, a fix or a trajectory.

    From JSON: one object, a list of them, or one a line, in a file or on standard input. An object has
    the keywords of `Memory.record_fact` and its like, and those of the envelope; an option holds for
    every object that does not say it itself. All of them are kept in one transaction or, where one is
    refused, none; `load` takes in whole records of any kind, and more of them. A fact can be said in
    so many words.
    """


File = Annotated[str, cli.arg("A file of JSON objects; - is standard input.", "FILE")]


@cli.command(group, "fact")
def record_fact(
    content: cli.Text = None,
    *,
    fields: Fields,
    fact_type: cli.Text = None,
    confidence: float | None = None,
    from_json: cli.Text = None,
) -> None:
    """Keep one sentence that is true. Who says again what is known strengthens it.

    JSON: `ids` and `records`, in the order in which they were given. One that was known already is
    the first that said so.

    \b
    Examples:
      hardwon record fact "The staging database listens on port 5433." --fact-type observation --tag db
      hardwon record fact --from-json facts.jsonl --author importer --json

    Options:
      content: The sentence. [JSON is read]
      fact_type: error, solution, observation, decision.
      confidence: How sure that is, 0 to 1.
      from_json FILE: Of these JSON objects.
    """
    named = {"content": content, "fact_type": fact_type, "confidence": confidence}
    fields |= {name: value for name, value in named.items() if value is not None}
    record_all("fact", fields, read_objects(from_json) if from_json else [{}])


@cli.command(group, "episode")
def record_episode(file: File = cli.STDIN, *, fields: Fields) -> None:
    """Keep scored attempts at tasks.

    An object has `task_id` and `score` (0 to 1), and may have `steps`, `trajectory_summary`,
    `mistakes`, `successes` and `mistake_cards`.

    JSON: `ids` and `records`, in the order in which they were given.

    \b
    Examples:
      hardwon record episode episodes.jsonl
      hardwon record episode episodes.jsonl --tag nightly
    """
    record_all("episode", fields, read_objects(file))


@cli.command(group, "fix")
def record_fix(file: File = cli.STDIN, *, fields: Fields) -> None:
    """Keep attempts to fix an issue: whether each went in, and whether it was then seen to work.

    An object has `issue` (with `model`, `issue_type`, `description`, `error_output`), `fix_success`
    and `verification_success`, and may have `analysis`, `fix_commands`, `fixer_type` and `notes`.

    JSON: `ids` and `records`, in the order in which they were given.

    \b
    Examples:
      hardwon record fix fixes.jsonl
      hardwon record fix fixes.jsonl --author qwen --json
    """
    record_all("fix", fields, read_objects(file))


@cli.command(group, "trajectory")
def record_trajectory(file: File = cli.STDIN, *, fields: Fields) -> None:
    """Keep what was done step by step, and how it ended.

    An object has `task` and `steps` (each with `action`, `observation`, and `ok` or `reward`), and may
    have `final_reward`.

    JSON: `ids` and `records`, in the order in which they were given.

    \b
    Examples:
      hardwon record trajectory trajectories.jsonl
      hardwon record trajectory trajectories.jsonl --author importer --json
    """
    record_all("trajectory", fields, read_objects(file))


def record_all(kind: Kind, fields: dict[str, Any], objects: list[dict[str, Any]]) -> None:
    """Keeps what options and JSON say, and shows it."""
    options = fields | cli.sign(fields.get("author"))
    with cli.find_target().open() as memory:
        records = memory.care.record_many(kind, [options | one for one in objects])
    ids = [record.id for record in records]
    notes = [
        f"{record.id} does not stand alone: {finding}"
        for record in records
        if isinstance(record, Fact)
        for finding in record.findings or ()
    ]
    cli.show({"ids": ids, "records": records}, "\n".join(ids), complaints=notes)


def read_object(option: str, text: str) -> dict[str, Any]:
    """The one JSON object that an option has."""
    objects = parse_objects(text, option)
    check_that(len(objects) == 1, option, text, "one JSON object")
    return objects[0]


def read_objects(file: str) -> list[dict[str, Any]]:
    """The JSON objects of a file, or of standard input."""
    most = limits.RECORDED_JSON_BYTES_MAX
    name = "standard input" if file == cli.STDIN else file
    with nullcontext(sys.stdin.buffer) if file == cli.STDIN else Path(file).open("rb") as opened:
        data = opened.read(most + 1)
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
