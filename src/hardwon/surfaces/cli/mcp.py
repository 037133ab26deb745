"""`hardwon mcp`: the memory for MCP clients. docs/coding-agents.md says what they get.

Annotations are not postponed here: typer would have to evaluate each of them twice before any
command could start.
"""

import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from hardwon.errors import InvalidInputError, MissingExtraError
from hardwon.memory.tokens import author_name
from hardwon.surfaces.cli.base import (
    SERVING,
    Json,
    add_app,
    chosen,
    complain,
    epilog_of,
    inner_command,
    memory_options,
    new_app,
    write_json,
    write_text,
)
from hardwon.surfaces.cli.tokens import ScopeName
from hardwon.surfaces.mcp import clients as mcp_clients
from hardwon.trust.access import SCOPES


class ClientName(StrEnum):
    """`mcp_clients.CLIENTS`."""

    CLAUDE_CODE = "claude-code"
    CLAUDE_DESKTOP = "claude-desktop"
    CURSOR = "cursor"
    VSCODE = "vscode"
    WINDSURF = "windsurf"
    GEMINI_CLI = "gemini-cli"
    CODEX = "codex"


Author = Annotated[
    str | None,
    typer.Option(
        help="Who is named in what is recorded.", show_default="the client, as it introduces itself"
    ),
]
Allowed = Annotated[ScopeName, typer.Option(help="How far the client may go.")]
Btb = Annotated[bool, typer.Option("--btb", help="Also the tool names of the BTB memory server.")]
Which = Annotated[
    ClientName, typer.Argument(help=f"The client: {', '.join(ClientName)}.", show_default=False)
]
Write = Annotated[
    bool, typer.Option("--write", help="Change the client's file instead of printing it.")
]
User = Annotated[
    bool, typer.Option("--user", help="For all projects, where the client also has a file in each.")
]
Name = Annotated[str, typer.Option(help="What the client calls the server.", metavar="NAME")]

mcp: Final = new_app(
    name="mcp",
    help="Serve the memory to an MCP client over standard input and output; or tell a client to "
    "start it.",
    epilog=epilog_of(
        [
            "hardwon mcp",
            "hardwon mcp --scope read --author ci",
            "hardwon mcp install claude-code --write",
        ]
    ),
    no_args_is_help=False,
    invoke_without_command=True,
    add_completion=False,
)
add_app(
    "mcp",
    SERVING,
    mcp,
    more="""[coding-agents.md](coding-agents.md) says what a client gets.
    Without a further word it serves, until the client closes its end, or
    SIGTERM (exit code 0) or SIGINT (130) ends it. It takes `pip install 'hardwon[mcp]'`.

    `hardwon mcp install CLIENT` prints what a client needs to start it, with the `--memory`, `--project` and options that
    stand before `install`. With `--write` it goes into the client's file: other entries stay, a file that is not plain JSON
    is left alone, and the file is replaced whole or not at all. The file is the project's where the client has one there;
    `--user` means the user's own. Codex keeps TOML, which is printed and never written. The address of a database is refused
    with a password in it: `PGPASSWORD`, a password file (`~/.pgpass`) or a service keeps that out of the client's file.""",
)


@mcp.callback()
def _serve(
    ctx: typer.Context, author: Author = None, scope: Allowed = ScopeName.WRITE, btb: Btb = False
) -> None:
    if author is not None:
        author = author_name("--author", author)
    if ctx.invoked_subcommand is not None:
        ctx.meta["mcp"] = _options(author, scope, btb)
        return
    try:
        from hardwon.surfaces.mcp.stdio import serve_stdio
    except ImportError as error:
        raise MissingExtraError(
            f"the MCP SDK cannot be imported ({error}); install it with: pip install 'hardwon[mcp]'"
        ) from None
    with chosen(ctx).open(to_read=scope == ScopeName.READ) as memory:
        serve_stdio(memory, author, next(each for each in SCOPES if each == scope), btb=btb)


def _options(author: str | None, scope: str, btb: bool) -> list[str]:
    return [
        *(["--author", author] if author else []),
        *(["--scope", str(scope)] if scope != "write" else []),
        *(["--btb"] if btb else []),
    ]


@inner_command(
    mcp,
    "hardwon mcp install claude-code",
    "hardwon mcp install cursor --write",
    answers="""`client`, `file`, `command` (its words), `written` (whether the file was changed), `config` (what belongs in
    it).""",
)
def install(
    ctx: typer.Context,
    client: Which,
    save: Write = False,
    user: User = False,
    name: Name = "hardwon",
    as_json: Json = False,
) -> None:
    """Print what a client needs to start this memory, or write it into the client's file. No
    password of a database goes there: PGPASSWORD, a password file or a service has it.
    """
    if not name.strip() or not name.isprintable():
        raise InvalidInputError.one("name", name, "a text on one line")
    known = mcp_clients.CLIENTS[client]
    path = known.file(user, Path.home(), Path.cwd())
    command = [
        *_program(shared=not user and known.project is not None),
        *memory_options(ctx),
        "mcp",
        *ctx.meta.get("mcp", []),
    ]
    changed = save and mcp_clients.write(known, path, name, command)
    if as_json:
        told = {"client": str(client), "file": str(path), "command": command, "written": changed}
        write_json({**told, "config": mcp_clients.snippet(known, name, command)})
    elif save:
        write_text(
            f"{name} is {'now' if changed else 'already'} in {path}; start {known.title} anew to "
            f"use it"
        )
    else:
        write_text(mcp_clients.snippet(known, name, command))
        own = mcp_clients.own_command(known, name, command)
        ways = [
            *([] if known.is_toml else ["--write puts it there"]),
            *([f"or run: {own}"] if own else []),
        ]
        complain("; ".join([f"this belongs in {path}", *ways]))


@inner_command(
    mcp,
    "hardwon mcp remove cursor --write",
    answers="`client`, `file`, `removed` (whether the file was changed).",
)
def remove(
    client: Which,
    save: Write = False,
    user: User = False,
    name: Name = "hardwon",
    as_json: Json = False,
) -> None:
    """Take it out of a client's file again; without --write, say where it would be."""
    known = mcp_clients.CLIENTS[client]
    path = known.file(user, Path.home(), Path.cwd())
    changed = save and mcp_clients.take_out(known, path, name)
    if as_json:
        write_json({"client": str(client), "file": str(path), "removed": changed})
    elif save:
        write_text(f"{name} is {'no longer' if changed else 'not'} in {path}")
    else:
        write_text(f"{name} would be taken out of {path}: add --write")


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
