"""`hardwon serve`: the memory over HTTP. docs/serve.md tells all of it.

Annotations are not postponed here: typer would have to evaluate each of them twice before any
command could start.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final

import typer

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.memory import Memory
from hardwon.outside.locations import is_url
from hardwon.surfaces.cli.base import (
    SERVING,
    Json,
    chosen,
    command,
    complain,
    require_packages,
    write,
)
from hardwon.trust.access import Caller

ANYBODY: Final = Caller("anonymous", "admin")
"""Who everybody is where no token is asked for."""

Host = Annotated[str, typer.Option(help="The address to listen at.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes one that is free.")]
NoAuth = Annotated[
    bool,
    typer.Option(
        "--no-auth", help="Ask for no token. Only where nobody but this machine reaches it."
    ),
]
TlsCert = Annotated[
    Path | None, typer.Option(help="A certificate with its chain, in PEM: serves https.")
]
TlsKey = Annotated[Path | None, typer.Option(help="Its key, in PEM.")]
PlainHttp = Annotated[
    bool,
    typer.Option(
        "--plain-http",
        help="Serve other machines without TLS: whoever is in between reads every token.",
    ),
]
AllowHost = Annotated[
    list[str] | None,
    typer.Option(help="A name that the server also goes by. As often as you like."),
]
AllowOrigin = Annotated[
    list[str] | None, typer.Option(help="An origin whose pages may ask. As often as you like.")
]
Rate = Annotated[float, typer.Option(min=0.1, help="Requests of one caller per second.")]
Btb = Annotated[bool, typer.Option("--btb", help="MCP: also under the tool names of BTB.")]


@command(
    SERVING,
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
    host: Host = "127.0.0.1",
    port: Port = limits.SERVE_PORT,
    no_auth: NoAuth = False,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    plain_http: PlainHttp = False,
    allow_host: AllowHost = None,
    allow_origin: AllowOrigin = None,
    rate: Rate = limits.REQUESTS_PER_S,
    btb: Btb = False,
    as_json: Json = False,
) -> None:
    """Serve the memory over HTTP until a signal ends it. What was accepted is finished first."""
    require_packages(
        "serving", "starlette", "uvicorn", "prometheus_client", "jinja2", "plotly", "mcp"
    )
    from hardwon.surfaces.gate import Gate
    from hardwon.surfaces.rest import server as rest_server
    from hardwon.surfaces.rest.app import build_app
    from hardwon.surfaces.rest.guard import ServerOptions, is_loopback
    from hardwon.surfaces.rest.streams import remove_left_over

    if (tls_cert is None) != (tls_key is None):
        raise InvalidInputError.one(
            "tls_key" if tls_key is None else "tls_cert", None, "both, or neither of them"
        )
    certificate = rest_server.Certificate(tls_cert, tls_key) if tls_cert and tls_key else None
    _check_reach(
        host, is_loopback(host), certificate is not None, no_auth=no_auth, plain_http=plain_http
    )
    location, project = chosen(ctx).memory, chosen(ctx).project
    with (
        Memory(location, project, checkout=False) as memory,
        closing(rest_server.bound(host, port)) as listening,
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
