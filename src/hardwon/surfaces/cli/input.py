"""What several commands are given alike: the envelope of a record, JSON, a moment.

Typer reads options from a function's signature. `gathered` puts the same ones into the signatures
of several functions, so that each is written down once.
"""

import inspect
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.surfaces.cli.main import Function, parameter, with_parameters

STDIN: Final = "-"

Options = dict[str, Any]
"""What was given of a group of options, by name; what was not is not there."""

Limit = Annotated[int, typer.Option(min=1, max=limits.SHOWN_MAX, help="At most so many.")]


def gathered(into: str, options: Sequence[inspect.Parameter]) -> Callable[[Function], Function]:
    """The function's parameter `into` becomes these options, in its place; the function gets those
    that were given.
    """

    def change(function: Function) -> Function:
        def run(**given: Any) -> Any:
            found = {each.name: given.pop(each.name) for each in options}
            given[into] = {name: value for name, value in found.items() if value not in (None, [])}
            return function(**given)

        parameters: list[inspect.Parameter] = []
        for each in inspect.signature(function).parameters.values():
            parameters += options if each.name == into else [each]
        return with_parameters(run, parameters, function)

    return change


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
"""The parameter `envelope` becomes the options that say where a record comes from."""


def moment(given: str | None) -> str | None:
    """A day is meant from its beginning, in UTC."""
    is_day = given and re.fullmatch(r"\d{4}-\d{2}-\d{2}", given, re.ASCII)
    return f"{given}T00:00:00Z" if is_day else given


# --- JSON ---


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
    if file == STDIN:
        data = sys.stdin.buffer.read(most + 1) if sys.stdin is not None else b""
    else:
        with Path(file).open("rb") as opened:
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
        raise InvalidInputError.one(name, constant, "numbers that JSON knows")

    found: list[Any] = []
    decoder = json.JSONDecoder(parse_constant=refuse_constant)
    place, blank = 0, re.compile(r"\s*")
    while (place := blank.match(text, place).end()) < len(text):  # type: ignore[union-attr]  # it matches everywhere
        try:
            value, place = decoder.raw_decode(text, place)
        except InvalidInputError:
            raise
        except (ValueError, RecursionError) as error:
            raise InvalidInputError.one(
                name, text[place : place + 80], f"JSON objects ({error})"
            ) from None
        found += value if isinstance(value, list) else [value]
    if not found:
        raise InvalidInputError.one(name, "", "at least one JSON object")
    if len(found) > limits.RECORDED_AT_ONCE_MAX:
        allowed = f"{limits.RECORDED_AT_ONCE_MAX} objects: hardwon load takes in more"
        raise InvalidInputError.one(name, f"{len(found)} objects", allowed)
    for each in found:
        if not isinstance(each, dict):
            raise InvalidInputError.one(name, each, "JSON objects")
    return found
