"""Who reaches a memory: `tokens` through a server, `postgres` a database for memories and what its
users may do.
"""

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from hardwon import limits
from hardwon.errors import InvalidInputError, UnknownTokenError
from hardwon.memory.tokens import Token
from hardwon.outside.locations import DEFAULT_PROJECT, is_url, without_password
from hardwon.records.fields import now
from hardwon.surfaces.cli.main import (
    Output,
    Yes,
    add_app,
    chosen,
    complain,
    counted,
    inner_command,
    require_consent,
)
from hardwon.surfaces.cli.output import visible
from hardwon.trust.access import Scope

if TYPE_CHECKING:
    from hardwon.store.postgres.projects import Setup

tokens: Final = add_app(
    "tokens",
    "Tokens: who may reach the memory through a server.",
    more="""A token says who may reach the memory through a server, as whom, how far and until when; [serve.md](serve.md) tells
    what each scope may do. The name is the author of whatever is written with it. `hardwon tokens create` prints the token
    alone on standard output, once: only its hash is kept.""",
)
_ONE: Final = (
    "`id`, `name`, `scope`, `projects` (null: all), `created`, `expires` (null: never), `revoked` "
    "(null: not) and `state` (active, expired or revoked)"
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
    scope: Annotated[Scope, typer.Option(help="What it may do.")] = "read",
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
) -> Output:
    """Make a token. It is printed once, and kept nowhere."""
    if never_expires and days is not None:
        raise InvalidInputError.one("days", days, "--days or --never-expires, not both")
    valid = None if never_expires else limits.TOKEN_DAYS if days is None else days
    with chosen(ctx).open() as memory:
        made = memory.tokens.create(name, scope, project or None, valid)

    def tell() -> str:
        complain(f"keep it safe: it is not shown again. {_described(made.token)}")
        if never_expires:
            complain("it never expires: hardwon tokens revoke ends it")
        return made.secret

    return Output({**_json_of(made.token), "token": made.secret}, tell)


@inner_command(
    tokens,
    "hardwon tokens list",
    "hardwon tokens list --json",
    name="list",
    answers=f"a list of {_ONE}.",
)
def list_(ctx: typer.Context) -> Output:
    """List the tokens, and those that ended not long ago. Never the tokens themselves."""
    with chosen(ctx).open(to_read=True) as memory:
        found = memory.tokens.all()
    listed = "\n".join(map(_described, found))
    return Output(
        list(map(_json_of, found)), listed or "no tokens: hardwon tokens create NAME makes one"
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
    as_json: bool = False,
) -> Output:
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
    names = "\n".join(f"revoked: {each.name} ({each.id})" for each in ended)
    return Output(list(map(_json_of, ended)), names)


def _json_of(token: Token) -> dict[str, Any]:
    from hardwon.surfaces.operations import jsonable

    return {**jsonable(token), "state": token.state(now())}


def _described(token: Token) -> str:
    reach = "all projects"
    if token.projects is not None:
        reach = f"{counted(len(token.projects), 'project')} {', '.join(token.projects)}"
    state = token.state(now())
    life: str = state
    if state != "revoked" and token.expires is None:
        life = "never expires"
    elif state != "revoked":
        life = f"{'expired' if state == 'expired' else 'valid until'} {token.expires:%Y-%m-%d}"
    return f"{token.name} ({token.id}): {token.scope}, {reach}, {life}"


# --- PostgreSQL ---

postgres: Final = add_app(
    "postgres",
    "A PostgreSQL database for memories: set it up, and say who reaches what.",
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
ForServer = Annotated[
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
    more="""It may be run again, to add a project or after an upgrade. It makes what is missing of

    - the schema `hardwon`, with the list of projects and the tokens of a server;
    - roles of the whole server: `hardwon_owner` (has the tables) and `hardwon_keeper` (reaches the tokens);
    - a schema for each project (`hardwon_shop_1a2b3c4d5e6f7a8b`), with tables and three views of fix history, and three
      roles that alone reach it (the same name and `_reader`, `_writer`, `_governor`);
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
) -> Output:
    """Set a database up for memories: a schema and roles for each project. What is there stays,
    and what an older version set up is carried over.

    The database user needs CREATEROLE, and CREATE on the database.
    """
    from hardwon.memory import databases

    names = project or [chosen(ctx).project or DEFAULT_PROJECT]
    made = databases.initialise(_url(ctx, url), names, distribute=distribute)
    ready = f"{counted(len(names), 'project')} ready: {', '.join(names)}"
    return Output(made, f"{ready}\n{_setup(made)}")


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
        Literal["reader", "writer", "governor"], typer.Option("--as", help="How far it reaches.")
    ] = "writer",
    server: ForServer = False,
) -> Output:
    """Let a database user reach a project: read it, write to it, or govern it."""
    from hardwon.memory import databases

    place, who = _url_and_user(ctx, url, user)
    where = _project(ctx, project, server)
    databases.grant(place, who, where, access)
    granted = "server" if where is None else access
    return Output({"user": who, "project": where, "access": granted}, _reach(who, where, access))


@inner_command(
    postgres,
    "hardwon postgres revoke postgresql://admin@localhost/brain anna --project shop",
    "hardwon postgres revoke postgresql://admin@localhost/brain anna --server --json",
    name="revoke",
    answers=f"{_GRANT}, `revoked` (false where it had no access).",
)
def revoke_access(
    ctx: typer.Context,
    url: UrlBeforeUser,
    user: User = None,
    project: Project = None,
    server: ForServer = False,
) -> Output:
    """Take back whatever a database user may do with a project. Nothing that it wrote goes."""
    from hardwon.memory import databases

    place, who = _url_and_user(ctx, url, user)
    where = _project(ctx, project, server)
    revoked = databases.revoke(place, who, where)
    what = "the tokens of a server" if where is None else f"project {where}"
    return Output(
        {"user": who, "project": where, "revoked": revoked},
        f"{who} {'no longer reaches' if revoked else 'did not reach'} {what}",
    )


@inner_command(
    postgres,
    "hardwon postgres status postgresql://admin@localhost/brain",
    "hardwon --memory postgresql://admin@localhost/brain postgres status --json",
    answers=_SETUP,
)
def status(ctx: typer.Context, url: Url = None) -> Output:
    """Tell what a database is set up for, and who reaches what, as far as its user sees it."""
    from hardwon.memory import databases

    found = databases.describe(_url(ctx, url))
    return Output(found, _setup(found))


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


def _setup(found: "Setup") -> str:
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
