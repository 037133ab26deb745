"""The memory for others: `serve` over HTTP (docs/serve.md), `mcp` for MCP clients
(docs/coding-agents.md), and who reaches it: `tokens` through a server, `postgres` as a user of a
database (docs/storage.md).
"""

import json
import shlex
import shutil
import sys
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final, Literal

import typer

from hardwon import errors, limits
from hardwon.errors import FileOnlyError, InvalidInputError
from hardwon.memory import Memory
from hardwon.memory.later import databases
from hardwon.memory.tokens import Token, author_name
from hardwon.outside.locations import DEFAULT_PROJECT, is_url, without_password
from hardwon.records.fields import check_that, now
from hardwon.surfaces.cli import base as cli
from hardwon.surfaces.cli import views
from hardwon.surfaces.mcp import clients as mcp_clients
from hardwon.text.terms import say_count
from hardwon.trust.access import Caller, Scope

app = cli.make_app()
Tools = Literal["few", "all"]
Rate = Annotated[float, cli.opt("Requests of one caller per second.", min=0.1)]
# Who everybody is where no token is asked for.
ANYBODY: Final = Caller("anonymous", "admin")


@cli.command(app, "serve")
def serve(
    *,
    host: str = "127.0.0.1",
    port: cli.Port = limits.SERVE_PORT,
    no_auth: bool = False,
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
    plain_http: bool = False,
    allow_host: cli.Texts = None,
    allow_origin: cli.Texts = None,
    rate: Rate = limits.REQUESTS_PER_S,
    tools: Tools = "few",
    btb: bool = False,
) -> None:
    """Serve the memory over HTTP until a signal ends it. What was accepted is finished first.

    [serve.md](serve.md) tells all of it. It says on standard error where it listens. A second signal
    ends it at once. It needs the extra `serve`.

    JSON: one line, once it listens: `url`.

    \b
    Examples:
      hardwon serve
      hardwon serve --port 0 --json
      hardwon serve --no-auth

    Options:
      host: The address to listen at.
      no_auth: Ask for no token. Only where nobody but this machine reaches it.
      tls_cert: A certificate with its chain, in PEM.
      tls_key: Its key, in PEM.
      plain_http: Without TLS: whoever is in between reads every token.
      allow_host: A name that the server also goes by; as often as you like.
      allow_origin: An origin whose pages may ask; as often as you like.
      tools: MCP: the few tools that an agent needs, or all there are.
      btb: MCP: also under the tool names of BTB.
    """
    cli.require_packages("serving", "starlette", "uvicorn", "prometheus_client", "jinja2", "mcp")
    from hardwon.surfaces.gate import Gate
    from hardwon.surfaces.rest import app as rest
    from hardwon.surfaces.rest import server
    from hardwon.surfaces.rest.options import ServerOptions, is_loopback

    if (tls_cert is None) != (tls_key is None):
        missing = "tls_key" if tls_key is None else "tls_cert"
        raise InvalidInputError.one(missing, None, "both, or neither of them")
    tls = tls_cert is not None
    check_reach(host, is_loopback(host), tls, no_auth=no_auth, plain_http=plain_http)
    with (
        Memory(cli.find_target().memory, cli.find_target().project, checkout=False) as memory,
        closing(server.bind(host, port)) as listening,
        # for what is on its way; TMPDIR says where
        TemporaryDirectory(prefix="hardwon-serving-") as spool,
    ):
        names, origins = tuple(allow_host or ()), tuple(allow_origin or ())
        at = host, listening.getsockname()[1], memory.project, Path(spool), tls
        settings = ServerOptions(*at, names, origins, btb, tools == "all")
        if btb:
            plant_tree(memory)
        open_to = ANYBODY if no_auth else None
        gate = Gate(memory.care.in_project, memory.tokens, open_to=open_to, requests_per_s=rate)
        if not no_auth and not memory.tokens.all():
            cli.complain(
                "there is no token yet, so nobody is let in: hardwon tokens create NAME --scope write makes one"
            )

        def tell_ready() -> None:
            cli.complain(f"serving {settings.url}")
            if cli.Line.as_json:
                cli.write(json.dumps({"url": settings.url}) + "\n")

        made = rest.build_app(gate, settings)
        server.run(server.Server(made, tell_ready, tls_cert, tls_key), listening)


def check_reach(host: str, loopback: bool, tls: bool, *, no_auth: bool, plain_http: bool) -> None:
    """Raises where others would reach what they should not, and warns where they might."""
    alone = f"an address of this machine alone, and not {host}: make tokens instead"
    check_that(loopback or not no_auth, "no_auth", True, alone)
    if no_auth:
        cli.complain(
            "--no-auth: whoever reaches this port, any program of this machine, may read and change everything"
        )
    allowed = "with --tls-cert and --tls-key; behind a proxy that has them, at 127.0.0.1; or with --plain-http"
    check_that(loopback or tls or plain_http, "host", host, allowed)
    if not loopback and not tls:
        cli.complain(
            "--plain-http: whoever is between a caller and this server reads every token, and everything else"
        )


# `mcp_clients.CLIENTS`
ClientName = Literal[
    "claude-code", "claude-desktop", "cursor", "vscode", "windsurf", "gemini-cli", "codex"
]


@cli.add_group(app, "mcp", no_args_is_help=False, invoke_without_command=True)
def mcp(
    ctx: typer.Context,
    *,
    author: cli.Text = None,
    scope: Scope = "write",
    tools: Tools = "few",
    btb: bool = False,
) -> None:
    """Serve the memory to an MCP client, or tell one to start it.

    [coding-agents.md](coding-agents.md) says what a client gets. Without a further word it serves,
    until the client closes its end, or SIGTERM (exit code 0) or SIGINT (130) ends it. It takes the
    extra `mcp`.

    `hardwon mcp install CLIENT` prints what a client needs to start it, with the `--memory`,
    `--project` and options that stand before `install`; with `--write` it goes into the client's file,
    where other entries stay. No password of a database goes there: PGPASSWORD, a password file or a
    service has it. Codex keeps TOML, which is printed and never written.

    \b
    Examples:
      hardwon mcp
      hardwon mcp --scope read --author ci
      hardwon mcp install claude-code --write

    Options:
      author: Who is named in what is recorded. [the client, as it names itself]
      scope: How far the client may go.
      tools: The few tools that an agent needs, or all there are.
      btb: Also under the tool names of BTB.
    """
    if author is not None:
        author = author_name("--author", author)
    if ctx.invoked_subcommand is not None:
        ctx.meta["mcp"] = [
            *(["--author", author] if author else []),
            *(["--scope", scope] if scope != "write" else []),
            *(["--tools", tools] if tools != "few" else []),
            *(["--btb"] if btb else []),
        ]
        return
    cli.require_packages("an MCP server", "mcp", extra="mcp")
    from hardwon.surfaces.mcp.stdio import serve_stdio

    with cli.find_target().open(to_read=scope == "read") as memory:
        if btb and scope != "read":
            plant_tree(memory)
        serve_stdio(memory, author, scope, every=tools == "all", btb=btb)


def plant_tree(memory: Memory) -> None:
    """The names of BTB promise files; in a database, and beside another project's, there are none."""
    with suppress(FileOnlyError, InvalidInputError):
        memory.tree.make()


@cli.command(mcp, "install")
def install(
    ctx: typer.Context,
    client: ClientName,
    *,
    write: bool = False,
    user: bool = False,
    name: str = "hardwon",
) -> None:
    """Print what a client needs to start this memory, or write it into the client's file.

    JSON: `client`, `file`, `command` (its words), `written` (whether the file was changed), `config`
    (what belongs in it).

    \b
    Examples:
      hardwon mcp install claude-code
      hardwon mcp install cursor --write

    Options:
      client CLIENT: The client.
      write: Change the client's file instead of printing it.
      user: For all projects, where the client also has a file in each.
      name NAME: What the client calls the server.
    """
    check_that(name.strip() and name.isprintable(), "name", name, "a text on one line")
    known = mcp_clients.CLIENTS[client]
    path = known.file(user, Path.home(), Path.cwd())
    words = [
        *find_program(shared=not user and known.project is not None),
        *cli.memory_options(),
        "mcp",
        *ctx.meta.get("mcp", []),
    ]
    if write:
        cli.require_packages("an MCP server", "mcp", extra="mcp")
    changed = write and mcp_clients.write(known, path, name, words)
    config = mcp_clients.snippet(known, name, words)
    state = "now" if changed else "already"
    text = f"{name} is {state} in {path}; start {known.title} anew to use it"
    own = known.add and known.add.format(name=shlex.quote(name), command=shlex.join(words))
    ways = [
        f"this belongs in {path}",
        "" if known.is_toml else "--write puts it there",
        f"or run: {own}" if own else "",
    ]
    where = [] if write else ["; ".join(filter(None, ways))]
    answer = {"client": client, "file": str(path), "command": words, "written": changed}
    cli.show({**answer, "config": config}, text if write else config, complaints=where)


def find_program(*, shared: bool) -> list[str]:
    """What starts this program: by its name in a file that others may get, by its place
    otherwise.
    """
    if shared and shutil.which("hardwon"):
        return ["hardwon"]
    beside = Path(sys.executable).with_name("hardwon")
    started = [sys.executable, "-m", "hardwon.surfaces.cli.main"]
    return [str(beside)] if beside.is_file() else started


@cli.add_group(app, "tokens")
def tokens() -> None:
    """Tokens: who may reach the memory through a server.

    [serve.md](serve.md) tells what each scope may do. The name is the author of whatever is written
    with it. A token is printed once, and alone: only its hash is kept.
    """


@cli.command(tokens, "create")
def create_token(
    name: str,
    *,
    scope: Scope = "read",
    project: cli.Texts = None,
    days: float | None = None,
    never_expires: bool = False,
) -> None:
    """Make a token. It is printed once, and kept nowhere.

    JSON: `id`, `name`, `scope`, `projects` (null: all), `created`, `expires` (null: never), `revoked`
    (null: not) and `state` (active, expired or revoked), and the `token` itself.

    \b
    Examples:
      hardwon tokens create ci --scope write --project app
      hardwon tokens create me --json

    Options:
      name: The author of whatever is written with it.
      scope: What it may do.
      project: A project that it reaches; as often as you like. [all]
      days: How long it is valid. [90]
      never_expires: Until it is revoked.
    """
    allowed = "--days or --never-expires, not both"
    check_that(not never_expires or days is None, "days", days, allowed)
    valid = None if never_expires else limits.TOKEN_DAYS if days is None else days
    with cli.find_target().open() as memory:
        made = memory.tokens.create(name, scope, project or None, valid)
    notes = [f"keep it safe: it is not shown again. {describe_token(made.token)}"]
    notes += ["it never expires: hardwon tokens revoke ends it"] if never_expires else []
    answer = {**add_state(made.token), "token": made.secret}
    cli.show(answer, made.secret, complaints=notes)


@cli.command(tokens, "list")
def list_tokens() -> None:
    """List the tokens, and those that ended not long ago. Never the tokens themselves.

    JSON: a list of what `hardwon tokens create` prints, without the `token`: as `hardwon tokens
    create` prints it.

    \b
    Examples:
      hardwon tokens list
      hardwon tokens list --json
    """
    with cli.read_memory() as memory:
        listed = memory.tokens.all()
    lines = (
        "\n".join(map(describe_token, listed)) or "no tokens: hardwon tokens create NAME makes one"
    )
    cli.show(list(map(add_state, listed)), lines)


@cli.command(tokens, "revoke")
def revoke_token(id_or_name: str, *, yes: cli.Yes = False) -> None:
    """End a token at once, or all of one name. Asks first.

    JSON: those that were revoked, as `hardwon tokens create` prints it.

    \b
    Examples:
      hardwon tokens revoke ci --yes

    Options:
      id_or_name: The id of a token, or the name of one or more.
    """
    with cli.read_memory() as memory:
        meant = memory.tokens.find(id_or_name)
        listed = ", ".join(views.visible(describe_token(token)) for token in meant)
        cli.require_consent(f"Revoke {say_count(len(meant), 'token')}: {listed}?", yes)
        ended = memory.tokens.revoke(id_or_name)
    names = "\n".join(f"revoked: {token.name} ({token.id})" for token in ended)
    cli.show(list(map(add_state, ended)), names)


def add_state(token: Token) -> dict[str, Any]:
    """The token as JSON, with whether it is valid."""
    from hardwon.surfaces.shapes import jsonable  # it takes a while to load

    return {**jsonable(token), "state": token.state(now())}


def describe_token(token: Token) -> str:
    """Whose it is, what it may do, and until when."""
    reach = "all projects" if token.projects is None else f"of {', '.join(token.projects)}"
    until = f" until {token.expires:%Y-%m-%d}" if token.expires else ""
    return f"{token.name} ({token.id}): {token.scope}, {reach}, {token.state(now())}{until}"


@cli.add_group(app, "postgres")
def postgres() -> None:
    """Set up a PostgreSQL database, and say who reaches what.

    [storage.md](storage.md) tells all of it. `URL` is `postgresql://user@host/database`; where it is left
    out, and for `grant` and `revoke`, it is the chosen memory's. No password is shown. A reader recalls, a
    writer also records, a governor also decides and takes away; who is granted nothing sees no record.
    These commands need the extra `postgres`.
    """


Url = Annotated[cli.Text, cli.arg("The database.", "URL", show_default="the chosen memory's")]
DatabaseUser = Annotated[str, cli.arg("A database user that exists.", "USER")]
Project = Annotated[cli.Text, cli.opt("The project.", show_default="the chosen one, else default")]
Access = Annotated[Literal["reader", "writer", "governor"], cli.opt("How far it reaches.", "--as")]
ForServer = Annotated[
    bool, cli.opt("Instead of a project: the tokens, for who runs hardwon serve.", "--server")
]


@cli.command(postgres, "init")
def init_postgres(url: Url = None, *, project: cli.Texts = None) -> None:
    """Set a database up for memories: a schema and roles for each project. What is there stays.

    The database user needs CREATEROLE, and CREATE on the database; it becomes a governor of the
    projects. No role that is made can log in. It may be run again, to add a project.

    JSON: `location`, `version` (of the schema), `server` (its version), `projects`, `grants` (a list of
    `user`, `project` and `access`; project null and access "server": the tokens), `vectors` (whether
    pgvector indexes them).

    \b
    Examples:
      hardwon postgres init postgresql://admin@localhost/brain
      hardwon postgres init postgresql://admin@localhost/brain --project shop --project website --json

    Options:
      project: A project to make; as often as you like. [the chosen one, else default]
    """
    names = project or [cli.find_target().project or DEFAULT_PROJECT]
    show_database(databases.initialise(read_url(url), names))


@cli.command(postgres, "grant")
def grant(
    user: DatabaseUser,
    *,
    project: Project = None,
    access: Access = "writer",
    server: ForServer = False,
) -> None:
    """Let a database user reach a project: read it, write to it, or govern it.

    Just so far: a governor who is granted `--as reader` is a reader from then on.

    JSON: `user`, `project` (null: the tokens of a server), `access`.

    \b
    Examples:
      hardwon --memory postgresql://admin@localhost/brain postgres grant anna --project shop
      hardwon --memory postgresql://admin@localhost/brain postgres grant anna --project shop --as governor --json
      hardwon --memory postgresql://admin@localhost/brain postgres grant anna --server
    """
    where = read_project(project, server)
    databases.grant(read_url(None), user, where, access)
    answer = {"user": user, "project": where, "access": "server" if where is None else access}
    cli.show(answer, tell_reach(user, where, access))


@cli.command(postgres, "revoke")
def revoke_access(
    user: DatabaseUser, *, project: Project = None, server: ForServer = False
) -> None:
    """Take back whatever a database user may do with a project. Nothing that it wrote goes.

    JSON: `user`, `project` (null: the tokens of a server), `revoked` (false where it had no access).

    \b
    Examples:
      hardwon --memory postgresql://admin@localhost/brain postgres revoke anna --project shop
      hardwon --memory postgresql://admin@localhost/brain postgres revoke anna --server --json
    """
    where = read_project(project, server)
    revoked = databases.revoke(read_url(None), user, where)
    what = "the tokens of a server" if where is None else f"project {where}"
    text = f"{user} {'no longer reaches' if revoked else 'did not reach'} {what}"
    cli.show({"user": user, "project": where, "revoked": revoked}, text)


@cli.command(postgres, "status")
def database_status(url: Url = None) -> None:
    """Tell what a database is set up for, and who reaches what, as far as its user sees it.

    JSON: as `hardwon postgres init` prints it.

    \b
    Examples:
      hardwon postgres status postgresql://admin@localhost/brain
      hardwon --memory postgresql://admin@localhost/brain postgres status --json
    """
    show_database(databases.describe(read_url(url)))


def read_url(url: cli.Text) -> str:
    """The address of the database that is meant."""
    place = cli.find_target().memory if url is None else url
    if place is None or not is_url(place):
        raise InvalidInputError.one(
            "url",
            without_password(place) if place else errors.NOT_GIVEN,
            "postgresql://user@host/database, after the command or as the chosen memory (--memory)",
        )
    return place


def read_project(project: cli.Text, server: bool) -> cli.Text:
    """The project that is meant; None: the tokens of a server."""
    allowed = "--project or --server, not both"
    check_that(not server or project is None, "project", project, allowed)
    return None if server else project or cli.find_target().project or DEFAULT_PROJECT


def show_database(setup: Any) -> None:
    """Prints what a database is set up for, as names and values."""
    from hardwon.surfaces.shapes import jsonable  # it takes a while to load

    cli.show(setup, lambda: views.draw_values(jsonable(setup)))


def tell_reach(user: str, project: cli.Text, access: str) -> str:
    """What a database user may do."""
    if project is None:
        return f"{user} keeps the tokens of a server"
    return f"{user} is a {access} of project {project}"
