"""`hardwon tokens`: who may reach the memory through a server.

Annotations are not postponed here: typer would have to evaluate each of them twice before any
command could start.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, Final

import typer

from hardwon import limits
from hardwon.errors import InvalidInputError, UnknownTokenError
from hardwon.memory.tokens import Token
from hardwon.records.fields import now
from hardwon.surfaces.cli.base import (
    SERVING,
    Json,
    Yes,
    add_app,
    chosen,
    complain,
    counted,
    inner_command,
    new_app,
    require_consent,
    write,
    write_json,
    write_text,
)
from hardwon.surfaces.cli.output import visible


class ScopeName(StrEnum):
    """How far a token reaches; each includes those before it."""

    READ = "read"
    WRITE = "write"
    GOVERN = "govern"
    ADMIN = "admin"


tokens: Final = new_app(
    name="tokens", help="Tokens: who may reach the memory through a server.", add_completion=False
)
add_app(
    "tokens",
    SERVING,
    tokens,
    more="""A token says who may reach the memory through a server, as whom, how far and until when; [serve.md](serve.md) tells
    what each scope may do. The name is the author of whatever is written with it. `hardwon tokens create` prints the token
    alone on standard output, once: only its hash is kept.""",
)
_ONE: Final = (
    "`id`, `name`, `scope`, `projects` (null: all), `created`, `expires` (null: never), `revoked` "
    "(null: not) and `state` "
    "(active, expired or revoked)"
)


@inner_command(
    tokens,
    "hardwon tokens create ci --scope write --project app",
    "hardwon tokens create me --json",
    answers=f"""{_ONE}, and the `token` itself.""",
)
def create(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="The author of whatever is written with it.")],
    scope: Annotated[ScopeName, typer.Option(help="What it may do.")] = ScopeName.READ,
    project: Annotated[
        list[str] | None,
        typer.Option(help="A project that it reaches. As often as you like.", show_default="all"),
    ] = None,
    days: Annotated[
        float | None,
        typer.Option(help="How long it is valid.", show_default=str(limits.TOKEN_DAYS)),
    ] = None,
    never_expires: Annotated[
        bool, typer.Option("--never-expires", help="Until it is revoked.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Make a token. It is printed once, and kept nowhere."""
    if never_expires and days is not None:
        raise InvalidInputError.one("days", days, "--days or --never-expires, not both")
    valid = None if never_expires else limits.TOKEN_DAYS if days is None else days
    with chosen(ctx).open() as memory:
        made = memory.tokens.create(name, scope.value, project or None, valid)
    if as_json:
        write_json({**_told(made.token), "token": made.secret})
        return
    complain(f"keep it safe: it is not shown again. {_described(made.token)}")
    if never_expires:
        complain("it never expires: hardwon tokens revoke ends it")
    write(made.secret + "\n")


@inner_command(
    tokens,
    "hardwon tokens list",
    "hardwon tokens list --json",
    name="list",
    answers=f"a list of {_ONE}.",
)
def list_(ctx: typer.Context, as_json: Json = False) -> None:
    """List the tokens, and those that ended not long ago. Never the tokens themselves."""
    with chosen(ctx).open(to_read=True) as memory:
        found = memory.tokens.all()
    if as_json:
        write_json([_told(token) for token in found])
        return
    write_text(
        "\n".join(map(_described, found))
        if found
        else "no tokens: hardwon tokens create NAME makes one"
    )


@inner_command(
    tokens,
    "hardwon tokens revoke ci --yes",
    answers=f"a list of those that were revoked, each {_ONE}.",
)
def revoke(
    ctx: typer.Context,
    id_or_name: Annotated[
        str, typer.Argument(help="The id of a token, or the name of one or more.")
    ],
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """End a token at once, or all of one name. Asks first."""
    with chosen(ctx).open(to_read=True) as memory:
        meant = [
            each
            for each in memory.tokens.all()
            if id_or_name in (each.id, each.name) and each.revoked is None
        ]
        if not meant:
            raise UnknownTokenError(
                f"there is no token {id_or_name!r} to revoke: hardwon tokens list shows those "
                f"there are"
            )
        listed = ", ".join(visible(_described(each)) for each in meant)
        require_consent(f"Revoke {counted(len(meant), 'token')}: {listed}?", yes, as_json=as_json)
        ended = memory.tokens.revoke(id_or_name)
    if as_json:
        write_json([_told(token) for token in ended])
    else:
        write_text("\n".join(f"revoked: {each.name} ({each.id})" for each in ended))


def _told(token: Token) -> dict[str, Any]:
    from hardwon.surfaces.operations import jsonable

    told: dict[str, Any] = jsonable(token)
    return {**told, "state": token.state(now())}


def _described(token: Token) -> str:
    return f"{token.name} ({token.id}): {token.scope}, {_reach(token.projects)}, {_life(token)}"


def _reach(projects: Sequence[str] | None) -> str:
    return (
        "all projects"
        if projects is None
        else counted(len(projects), "project") + " " + ", ".join(projects)
    )


def _life(token: Token) -> str:
    state = token.state(now())
    if state == "revoked":
        return "revoked"
    if token.expires is None:
        return "never expires"
    return f"{'expired' if state == 'expired' else 'valid until'} {token.expires:%Y-%m-%d}"
