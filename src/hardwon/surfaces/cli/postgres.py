"""`hardwon postgres`: a database for memories, and who reaches what in it.

Annotations are not postponed here: typer would have to evaluate each of them twice before any
command could start.
"""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import typer

from hardwon.errors import InvalidInputError
from hardwon.outside.locations import DEFAULT_PROJECT, is_url, without_password
from hardwon.surfaces.cli.base import (
    SERVING,
    Json,
    add_app,
    chosen,
    counted,
    inner_command,
    new_app,
    write_json,
    write_text,
)

if TYPE_CHECKING:
    from hardwon.store.postgres.projects import Setup


class AccessName(StrEnum):
    """How far a database user reaches a project; each includes those before it."""

    READER = "reader"
    WRITER = "writer"
    GOVERNOR = "governor"


postgres: Final = new_app(
    name="postgres",
    help="A PostgreSQL database for memories: set it up, and say who reaches what.",
    add_completion=False,
)
add_app(
    "postgres",
    SERVING,
    postgres,
    more="""[storage.md](storage.md) tells all of it. `URL` is `postgresql://user@host/database`; it may be left out where
    `--memory`, or a setting, names a database. No password is shown. These commands need `pip install 'hardwon[postgres]'`.

    | a database user may, as | |
    |---|---|
    | `reader` | recall, and everything else that only reads |
    | `writer` | also record, and credit what helped |
    | `governor` | also decide and take away: verify, publish, archive, forget, clean up, rebuild, merge |

    A user who is granted nothing sees no record. Each project is a world of its own: the database itself keeps them apart.""",
)

Url = Annotated[
    str | None,
    typer.Argument(metavar="URL", help="The database.", show_default="the chosen memory's"),
]
UrlBeforeUser = Annotated[
    str, typer.Argument(metavar="URL", help="The database; may be left out as above.")
]
User = Annotated[
    str | None,
    typer.Argument(metavar="USER", help="A database user that exists.", show_default=False),
]
Project = Annotated[
    str | None, typer.Option(help="The project.", show_default="the chosen one, else default")
]
Server = Annotated[
    bool,
    typer.Option("--server", help="Instead of a project: the tokens, for who runs hardwon serve."),
]
_SETUP: Final = """`location`, `version` (of the schema), `server` (its version), `projects`, `grants` (a list of `user`,
    `project` and `access`; project null and access "server": the tokens), `vectors` (whether pgvector indexes them)."""
_GRANT: Final = "`user`, `project` (null: the tokens of a server)"


@inner_command(
    postgres,
    "hardwon postgres init postgresql://admin@localhost/brain",
    "hardwon postgres init postgresql://admin@localhost/brain --project shop --project website "
    "--json",
    answers=_SETUP,
    more="""It may be run again, to add a project or after an upgrade. In one transaction it makes what is missing of

    - the schema `hardwon`, with tables, indexes and three views of fix history;
    - roles of the whole server: `hardwon_owner` (has the tables), `hardwon_keeper` (reaches the tokens), `hardwon_reader`,
      `hardwon_writer` and `hardwon_governor` (what each may do with a table);
    - three roles for each project (`hardwon_shop_1a2b3c4d_reader` …), and policies that let a role see its project alone;
    - the extension pgvector, where the server has it and the user may add it. Without it, vectors are compared one by one.

    No role can log in. The user of `URL` becomes a governor of the projects. Make the database first (`createdb brain`).
    PostgreSQL 15 or newer.""",
)
def init(
    ctx: typer.Context,
    url: Url = None,
    project: Annotated[
        list[str] | None,
        typer.Option(
            help="A project to make. As often as you like.",
            show_default="the chosen one, else default",
        ),
    ] = None,
    distribute: Annotated[
        bool,
        typer.Option(
            "--distribute",
            help="Refused: projects cannot be spread over several machines by Citus yet.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Set a database up for memories: the schema `hardwon`, roles and policies. What is there
    stays.

    The database user needs CREATEROLE, and CREATE on the database.
    """
    from hardwon.memory import databases

    names = project or [chosen(ctx).project or DEFAULT_PROJECT]
    made = databases.initialise(_url(ctx, url), names, distribute=distribute)
    if as_json:
        write_json(made)
    else:
        write_text(
            f"{counted(len(names), 'project')} ready: {', '.join(names)}\n{_described(made)}"
        )


@inner_command(
    postgres,
    "hardwon postgres grant postgresql://admin@localhost/brain anna --project shop",
    "hardwon --memory postgresql://admin@localhost/brain postgres grant anna --project shop --as "
    "governor --json",
    "hardwon postgres grant postgresql://admin@localhost/brain anna --server",
    answers=f"{_GRANT}, `access`.",
    more="""Just so far: a governor who is granted `--as reader` is a reader from then on. The user is one of the server's own
    (`CREATE ROLE anna LOGIN`).""",
)
def grant(
    ctx: typer.Context,
    url: UrlBeforeUser,
    user: User = None,
    project: Project = None,
    access: Annotated[
        AccessName, typer.Option("--as", help="How far it reaches.")
    ] = AccessName.WRITER,
    server: Server = False,
    as_json: Json = False,
) -> None:
    """Let a database user reach a project: read it, write to it, or govern it."""
    from hardwon.memory import databases

    place, who = _url_and_user(ctx, url, user)
    where = _project(ctx, project, server)
    databases.grant(place, who, where, access.value)
    if as_json:
        write_json(
            {"user": who, "project": where, "access": "server" if where is None else access.value}
        )
    else:
        write_text(_reach(who, where, access.value))


@inner_command(
    postgres,
    "hardwon postgres revoke postgresql://admin@localhost/brain anna --project shop",
    "hardwon postgres revoke postgresql://admin@localhost/brain anna --server --json",
    answers=f"{_GRANT}, `revoked` (false where it had no access).",
)
def revoke(
    ctx: typer.Context,
    url: UrlBeforeUser,
    user: User = None,
    project: Project = None,
    server: Server = False,
    as_json: Json = False,
) -> None:
    """Take back whatever a database user may do with a project. Nothing that it wrote goes."""
    from hardwon.memory import databases

    place, who = _url_and_user(ctx, url, user)
    where = _project(ctx, project, server)
    revoked = databases.revoke(place, who, where)
    if as_json:
        write_json({"user": who, "project": where, "revoked": revoked})
        return
    what = "the tokens of a server" if where is None else f"project {where}"
    write_text(f"{who} {'no longer reaches' if revoked else 'did not reach'} {what}")


@inner_command(
    postgres,
    "hardwon postgres status postgresql://admin@localhost/brain",
    "hardwon --memory postgresql://admin@localhost/brain postgres status --json",
    answers=_SETUP,
)
def status(ctx: typer.Context, url: Url = None, as_json: Json = False) -> None:
    """Tell what a database is set up for, and who reaches what, as far as its user sees it."""
    from hardwon.memory import databases

    found = databases.describe(_url(ctx, url))
    if as_json:
        write_json(found)
    else:
        write_text(_described(found))


def _url(ctx: typer.Context, given: str | None) -> str:
    found = chosen(ctx).memory if given is None else given
    if found is None or not is_url(found):
        allowed = (
            "postgresql://user@host/database, after the command or as the chosen memory (--memory)"
        )
        raise InvalidInputError.one("url", found and without_password(found), allowed)
    return found


def _url_and_user(ctx: typer.Context, first: str, second: str | None) -> tuple[str, str]:
    """Where one of them is given it is the user."""
    given, user = (None, first) if second is None else (first, second)
    if given is None and is_url(user):
        raise InvalidInputError.one("user", None, "the name of a database user after the address")
    return _url(ctx, given), user


def _project(ctx: typer.Context, given: str | None, server: bool) -> str | None:
    if server and given is not None:
        raise InvalidInputError.one("project", given, "--project or --server, not both")
    return None if server else given or chosen(ctx).project or DEFAULT_PROJECT


def _described(found: "Setup") -> str:
    lines = [
        f"{found.location}: PostgreSQL {found.server}, schema hardwon of version {found.version}",
        "vectors are indexed by pgvector"
        if found.vectors
        else "no pgvector: vectors are compared one by one",
        f"projects: {', '.join(found.projects) or 'none'}",
        *(_reach(each.user, each.project, each.access) for each in found.grants),
    ]
    return "\n".join(lines)


def _reach(user: str, project: str | None, access: str) -> str:
    return (
        f"{user} keeps the tokens of a server"
        if project is None
        else f"{user} is a {access} of project {project}"
    )
