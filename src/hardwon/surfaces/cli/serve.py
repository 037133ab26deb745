"""The memory for others: `serve` over HTTP (docs/serve.md tells all of it), `mcp` for MCP clients
(docs/coding-agents.md says what they get), `report` as one file of the dashboard's views.
"""

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final, Literal, get_args

import typer

from hardwon import limits
from hardwon.errors import InvalidInputError, MissingExtraError
from hardwon.memory import Memory
from hardwon.memory.tokens import author_name
from hardwon.outside.locations import check_path, is_url
from hardwon.surfaces.cli.main import (
    Json,
    Output,
    Yes,
    add_group,
    chosen,
    command,
    complain,
    epilog_of,
    memory_options,
    require_consent,
    require_packages,
    write,
)
from hardwon.surfaces.cli.views import size_text, visible
from hardwon.surfaces.mcp import clients as mcp_clients
from hardwon.trust.access import Caller, Scope

# Who everybody is where no token is asked for.
ANYBODY: Final = Caller("anonymous", "admin")


@command(
    "hardwon serve",
    "hardwon serve --port 0 --json",
    "hardwon serve --no-auth",
    answers="one line, once it listens: `url`.",
    more="""[serve.md](serve.md) tells all of it. It says on standard error where it listens, and runs until SIGTERM or SIGINT
    ends it: it then takes no more requests, finishes those it has, and ends with exit code 0. A second signal ends it at
    once. It needs `pip install 'hardwon[serve]'`.""",
)
def serve(
    ctx: typer.Context,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port; 0 takes one that is free.")
    ] = limits.SERVE_PORT,
    no_auth: Annotated[
        bool,
        typer.Option(
            "--no-auth", help="Ask for no token. Only where nobody but this machine reaches it."
        ),
    ] = False,
    tls_cert: Annotated[
        Path | None, typer.Option(help="A certificate with its chain, in PEM: serves https.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its key, in PEM.")] = None,
    plain_http: Annotated[
        bool,
        typer.Option(
            "--plain-http",
            help="Serve other machines without TLS: whoever is in between reads every token.",
        ),
    ] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="A name that the server also goes by. As often as you like."),
    ] = None,
    allow_origin: Annotated[
        list[str] | None, typer.Option(help="An origin whose pages may ask. As often as you like.")
    ] = None,
    rate: Annotated[
        float, typer.Option(min=0.1, help="Requests of one caller per second.")
    ] = limits.REQUESTS_PER_S,
    btb: Annotated[
        bool, typer.Option("--btb", help="MCP: also under the tool names of BTB.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Serve the memory over HTTP until a signal ends it. What was accepted is finished first."""
    require_packages(
        "serving", "starlette", "uvicorn", "prometheus_client", "jinja2", "plotly", "mcp"
    )
    from hardwon.surfaces.gate import Gate
    from hardwon.surfaces.rest import server as rest_server
    from hardwon.surfaces.rest.app import build_app, remove_left_over
    from hardwon.surfaces.rest.guard import ServerOptions, is_loopback

    if (tls_cert is None) != (tls_key is None):
        missing = "tls_key" if tls_key is None else "tls_cert"
        raise InvalidInputError.one(missing, None, "both, or neither of them")
    certificate = rest_server.Certificate(tls_cert, tls_key) if tls_cert and tls_key else None
    _check_reach(
        host, is_loopback(host), certificate is not None, no_auth=no_auth, plain_http=plain_http
    )
    with (
        Memory(chosen(ctx).memory, chosen(ctx).project, checkout=False) as memory,
        closing(rest_server.bind(host, port)) as listening,
        _spool(memory.location) as spool,
    ):
        settings = ServerOptions(
            host,
            listening.getsockname()[1],
            memory.project,
            spool,
            certificate is not None,
            tuple(allow_host or ()),
            tuple(allow_origin or ()),
            btb,
        )
        gate = Gate(
            memory.care.in_project,
            memory.tokens,
            open_to=ANYBODY if no_auth else None,
            requests_per_s=rate,
        )
        remove_left_over(settings.spool)
        if not no_auth and not memory.tokens.all():
            complain(
                "there is no token yet, so nobody is let in: hardwon tokens create NAME --scope "
                "write makes one"
            )

        def ready() -> None:
            sys.stderr.write(f"hardwon: serving {settings.url}\n")
            sys.stderr.flush()
            if as_json:
                write(json.dumps({"url": settings.url}) + "\n")

        rest_server.run(
            rest_server.server_of(build_app(gate, settings), certificate, ready), listening
        )


@contextmanager
def _spool(location: str) -> Iterator[Path]:
    """A folder for what is on its way: beside the memory's file, and of a database one of our
    own.
    """
    if not is_url(location):
        yield Path(location).parent
        return
    with TemporaryDirectory(prefix="hardwon-serving-") as folder:
        yield Path(folder)


def _check_reach(host: str, loopback: bool, tls: bool, *, no_auth: bool, plain_http: bool) -> None:
    if no_auth and not loopback:
        raise InvalidInputError.one(
            "no_auth",
            True,
            f"an address of this machine alone, and not {host}: make tokens instead",
        )
    if no_auth:
        complain(
            "--no-auth: whoever reaches this port, any program of this machine, may read and "
            "change everything"
        )
    if not loopback and not tls and not plain_http:
        allowed = "with --tls-cert and --tls-key; behind a proxy that has them, at 127.0.0.1; or with --plain-http"
        raise InvalidInputError.one("host", host, allowed)
    if not loopback and not tls:
        complain(
            "--plain-http: whoever is between a caller and this server reads every token, and "
            "everything else"
        )


# --- MCP ---

# `mcp_clients.CLIENTS`.
ClientName = Literal[
    "claude-code", "claude-desktop", "cursor", "vscode", "windsurf", "gemini-cli", "codex"
]

Which = Annotated[
    ClientName,
    typer.Argument(help=f"The client: {', '.join(get_args(ClientName))}.", show_default=False),
]
Write = Annotated[
    bool, typer.Option("--write", help="Change the client's file instead of printing it.")
]
User = Annotated[
    bool, typer.Option("--user", help="For all projects, where the client also has a file in each.")
]
Name = Annotated[str, typer.Option(help="What the client calls the server.", metavar="NAME")]


def serve_mcp(
    ctx: typer.Context,
    author: Annotated[
        str | None,
        typer.Option(
            help="Who is named in what is recorded.",
            show_default="the client, as it introduces itself",
        ),
    ] = None,
    scope: Annotated[Scope, typer.Option(help="How far the client may go.")] = "write",
    btb: Annotated[
        bool, typer.Option("--btb", help="Also the tool names of the BTB memory server.")
    ] = False,
) -> None:
    if author is not None:
        author = author_name("--author", author)
    if ctx.invoked_subcommand is not None:
        ctx.meta["mcp"] = [
            *(["--author", author] if author else []),
            *(["--scope", scope] if scope != "write" else []),
            *(["--btb"] if btb else []),
        ]
        return
    try:
        from hardwon.surfaces.mcp.server import serve_stdio
    except ImportError as error:
        raise MissingExtraError(
            f"the MCP SDK cannot be imported ({error}); install it with: pip install 'hardwon[mcp]'"
        ) from None
    with chosen(ctx).open(to_read=scope == "read") as memory:
        serve_stdio(memory, author, scope, btb=btb)


add_group(
    "mcp",
    "Serve the memory to an MCP client over standard input and output; or tell a client to "
    "start it.",
    """[coding-agents.md](coding-agents.md) says what a client gets.
    Without a further word it serves, until the client closes its end, or
    SIGTERM (exit code 0) or SIGINT (130) ends it. It takes `pip install 'hardwon[mcp]'`.

    `hardwon mcp install CLIENT` prints what a client needs to start it, with the `--memory`, `--project` and options that
    stand before `install`. With `--write` it goes into the client's file: other entries stay, a file that is not plain JSON
    is left alone, and the file is replaced whole or not at all. The file is the project's where the client has one there;
    `--user` means the user's own. Codex keeps TOML, which is printed and never written. The address of a database is refused
    with a password in it: `PGPASSWORD`, a password file (`~/.pgpass`) or a service keeps that out of the client's file.""",
    epilog=epilog_of(
        [
            "hardwon mcp",
            "hardwon mcp --scope read --author ci",
            "hardwon mcp install claude-code --write",
        ]
    ),
    no_args_is_help=False,
    invoke_without_command=True,
    callback=serve_mcp,
)


@command(
    "hardwon mcp install claude-code",
    "hardwon mcp install cursor --write",
    words="mcp install",
    answers="""`client`, `file`, `command` (its words), `written` (whether the file was changed), `config` (what belongs in
    it).""",
)
def install(
    ctx: typer.Context,
    client: Which,
    save: Write = False,
    user: User = False,
    name: Name = "hardwon",
) -> Output:
    """Print what a client needs to start this memory, or write it into the client's file. No
    password of a database goes there: PGPASSWORD, a password file or a service has it.
    """
    if not name.strip() or not name.isprintable():
        raise InvalidInputError.one("name", name, "a text on one line")
    known = mcp_clients.CLIENTS[client]
    path = known.file(user, Path.home(), Path.cwd())
    words = [
        *_program(shared=not user and known.project is not None),
        *memory_options(ctx),
        "mcp",
        *ctx.meta.get("mcp", []),
    ]
    changed = save and mcp_clients.write(known, path, name, words)
    config = mcp_clients.snippet(known, name, words)
    value = {"client": client, "file": str(path), "command": words, "written": changed}
    state = "now" if changed else "already"
    text = f"{name} is {state} in {path}; start {known.title} anew to use it"

    own = mcp_clients.own_command(known, name, words)
    ways = [
        f"this belongs in {path}",
        "" if known.is_toml else "--write puts it there",
        f"or run: {own}" if own else "",
    ]
    where = [] if save else ["; ".join(filter(None, ways))]
    return Output({**value, "config": config}, text if save else config, complaints=where)


@command(
    "hardwon mcp remove cursor --write",
    words="mcp remove",
    answers="`client`, `file`, `removed` (whether the file was changed).",
)
def remove(
    client: Which,
    save: Write = False,
    user: User = False,
    name: Name = "hardwon",
) -> Output:
    """Take it out of a client's file again; without --write, say where it would be."""
    known = mcp_clients.CLIENTS[client]
    path = known.file(user, Path.home(), Path.cwd())
    changed = save and mcp_clients.take_out(known, path, name)
    text = f"{name} would be taken out of {path}: add --write"
    if save:
        text = f"{name} is {'no longer' if changed else 'not'} in {path}"
    return Output({"client": client, "file": str(path), "removed": changed}, text)


def _program(*, shared: bool) -> list[str]:
    """What starts this program: by its name in a file that others may get, by its place
    otherwise.
    """
    if shared and shutil.which("hardwon"):
        return ["hardwon"]
    beside = Path(sys.executable).with_name("hardwon")
    return (
        [str(beside)] if beside.is_file() else [sys.executable, "-m", "hardwon.surfaces.cli.main"]
    )


# --- the report ---

# As the dashboard has them.
TimeRange = Literal["7d", "30d", "90d", "all"]


@command(
    "hardwon report report.html",
    "hardwon report report.html --range all --yes --json",
    answers="`file`, `size_bytes`, `parts` (the titles of the views in it).",
    more="""What `hardwon serve` shows, of one project and one time: overview, map, fixes, episodes, and the lists that wait for
    a decision. The file opens in a browser without a network and without a server, and can be sent to others: it holds
    what it shows as text, and its policy (CSP) lets no script run but those that it brings. It has some five megabytes, nearly
    all of it the script that draws the charts. Where the file exists it asks, or takes `--yes`. It needs `pip install
    'hardwon[serve]'`.""",
)
def report(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(help="Where to, such as report.html.")],
    time_range: Annotated[TimeRange, typer.Option("--range", help="Of how long.")] = "30d",
    yes: Yes = False,
    as_json: bool = False,
) -> Output:
    """Write what the dashboard shows as one HTML file that opens anywhere."""
    require_packages("a report", "starlette", "jinja2", "plotly")
    path = check_path("file", file)
    from hardwon.outside import files, own_files
    from hardwon.surfaces.gate import Ask, Gate
    from hardwon.surfaces.web import site as web

    reader = Caller("report", "read")
    with chosen(ctx).open(to_read=True) as memory:
        replaced = own_files.target("file", path, memory.location, "report.html")
        if path.exists():
            require_consent(f"Replace {visible(str(path))}?", yes, as_json=as_json)
        with closing(Gate(memory.care.in_project, None, open_to=reader)) as gate:
            made = web.report(Ask(gate, reader, memory.project), time_range)
    with files.writing_atomically(replaced) as target:
        target.write(made)
    size = len(made)
    return Output(
        {"file": str(path), "size_bytes": size, "parts": [part.title for part in web.parts()]},
        f"{size_text(size)} written to {path}: open it in a browser",
    )
