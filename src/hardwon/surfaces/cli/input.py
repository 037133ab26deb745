"""What several commands are given alike: the filters, the envelope of a record, JSON, a moment.

Typer reads options from a function's signature. `gathered` puts the same ones into the signatures
of several functions, so that each is written down once.
"""

import inspect
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.surfaces.cli.base import Command

STDIN: Final = "-"

Options = dict[str, Any]
"""What was said of a group of options, by name; what was not is not there."""

Limit = Annotated[int, typer.Option(min=1, max=limits.SHOWN_MAX, help="At most so many.")]
IssueJson = Annotated[
    str | None,
    typer.Option(metavar="JSON", help='An issue, such as {"model": "m", "issue_type": "TIMEOUT"}.'),
]
AsOf = Annotated[str | None, typer.Option(metavar="TIME", help="As it was believed then.")]


def gathered(
    into: str, options: Mapping[str, Any], named: Callable[[Options], Options] = dict
) -> Callable[[Command], Command]:
    """The function's parameter `into` becomes these options, in its place; the function gets those
    that were given.
    """

    def changed(function: Command) -> Command:
        def called(**given: Any) -> None:
            said = {name: given.pop(name) for name in options}
            function(
                **given,
                **{
                    into: named(
                        {name: value for name, value in said.items() if value not in (None, [])}
                    )
                },
            )

        parameters: list[inspect.Parameter] = []
        for each in inspect.signature(function).parameters.values():
            if each.name == into:
                parameters += [_option(name, annotation) for name, annotation in options.items()]
            else:
                parameters.append(each.replace(kind=inspect.Parameter.KEYWORD_ONLY))
        called.__name__, called.__doc__, called.__module__ = (
            function.__name__,
            function.__doc__,
            function.__module__,
        )
        called.__annotations__ = {each.name: each.annotation for each in parameters}
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # inspect looks for it there
        return called

    return changed


def _option(name: str, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
    )


# --- filters ---

_FILTERS: Final[Mapping[str, Any]] = {
    "kind": Annotated[
        str | None, typer.Option(help="experience, fact, trajectory, episode or fix.")
    ],
    "outcome": Annotated[
        str | None, typer.Option(help="success, failure, learning or interaction.")
    ],
    "tool": Annotated[str | None, typer.Option(help="Of experiences with this tool.")],
    "task_id": Annotated[str | None, typer.Option(help="Of this task's episodes.")],
    "model": Annotated[str | None, typer.Option(help="Of this model's fixes.")],
    "issue_type": Annotated[str | None, typer.Option(help="Of fixes of this issue type.")],
    "key": Annotated[
        str | None,
        typer.Option(
            metavar="NAME=VALUE", help="Of experiences with this key, such as error_type=runtime."
        ),
    ],
    "status": Annotated[
        str | None, typer.Option(help="hypothesis, verified, published or archived.")
    ],
    "tag": Annotated[str | None, typer.Option(help="With this tag.")],
    "author": Annotated[str | None, typer.Option(help="By this author.")],
    "since": Annotated[
        str | None,
        typer.Option(metavar="TIME", help="From this time on: a day, or ISO 8601 with a zone."),
    ],
    "until": Annotated[str | None, typer.Option(metavar="TIME", help="Before this time.")],
    "path": Annotated[
        str | None, typer.Option(metavar="GLOB", help="About files whose path matches.")
    ],
}


def filtered(*without: str) -> Callable[[Command], Command]:
    """The parameter `filters` becomes the options that narrow a question, those `without` left
    out.
    """
    return gathered(
        "filters",
        {name: each for name, each in _FILTERS.items() if name not in without},
        _with_times,
    )


def _with_times(filters: Options) -> Options:
    return {
        name: moment(value) if name in ("since", "until") else value
        for name, value in filters.items()
    }


def moment(given: str | None) -> str | None:
    """A day is meant from its beginning, in UTC."""
    return (
        f"{given}T00:00:00Z"
        if given and re.fullmatch(r"\d{4}-\d{2}-\d{2}", given, re.ASCII)
        else given
    )


# --- the envelope ---

enveloped: Final = gathered(
    "envelope",
    {
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
                metavar="ID", help="What was recalled before it was tried; as often as you like."
            ),
        ],
    },
)
"""The parameter `envelope` becomes the options that say where a record comes from."""


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
    said = {name: value for name, value in fields.items() if value is not None}
    return (
        {**(json_object("--issue", given) if given is not None else {}), **said}
        if given is not None or said
        else None
    )


def objects_of(file: str) -> list[Options]:
    """The JSON objects of a file, or of standard input: one, a list of them, or one after the
    other.
    """
    return objects_in(_text_of(file), "standard input" if file == STDIN else file)


def _text_of(file: str) -> str:
    most = limits.RECORDED_JSON_BYTES_MAX
    if file != STDIN:
        with Path(file).open("rb") as opened:
            data = opened.read(most + 1)
    else:
        data = sys.stdin.buffer.read(most + 1) if sys.stdin is not None else b""
    name = "standard input" if file == STDIN else file
    if len(data) > most:
        raise InvalidInputError.one(
            name, f"{len(data)} bytes and more", f"{most} bytes: hardwon load takes in more"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInputError.one(
            name, data[error.start : error.end], f"UTF-8 (byte {error.start} is not)"
        ) from None


def objects_in(text: str, name: str) -> list[Options]:
    found: list[Any] = []
    decoder = json.JSONDecoder(parse_constant=partial(_refuse_constant, name))
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
    return _only_objects(found, name)


def _only_objects(found: Sequence[Any], name: str) -> list[Options]:
    if not found:
        raise InvalidInputError.one(name, "", "at least one JSON object")
    if len(found) > limits.RECORDED_AT_ONCE_MAX:
        allowed = f"{limits.RECORDED_AT_ONCE_MAX} objects: hardwon load takes in more"
        raise InvalidInputError.one(name, f"{len(found)} objects", allowed)
    for each in found:
        if not isinstance(each, dict):
            raise InvalidInputError.one(name, each, "JSON objects")
    return list(found)


def _refuse_constant(name: str, constant: str) -> NoReturn:
    raise InvalidInputError.one(name, constant, "numbers that JSON knows")
