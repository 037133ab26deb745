"""The server as a process: its socket, its certificate, the signals that end it. uvicorn does the
rest.
"""

from __future__ import annotations

import logging
import os
import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Final

import uvicorn
from starlette.applications import Starlette

from hardwon import limits
from hardwon.errors import PlaceError
from hardwon.surfaces.rest.guard import THREADS

# How long a server that was told to end waits for what it has taken on. Supervisors kill after 30
# to 90 seconds.
SHUTDOWN_S_MAX: Final = 30

# The address of a request with its query, and its headers: every parameter of an operation at its
# longest, in any script, escaped, and what proxies and the cookies of other programs add.
REQUEST_HEAD_BYTES_MAX: Final = 192 * limits.KIB


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens to nobody yet, so that its port is known before anything is said
    of it.
    """
    made: socket.socket | None = None
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # With the protocol named, asyncio sends small answers at once instead of waiting for the
        # last one's receipt.
        made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
    except (OSError, UnicodeError) as error:
        if made is not None:
            made.close()
        reason = error.strerror if isinstance(error, OSError) else "no such name"
        raise PlaceError(
            f"cannot listen at {host}, port {port}: {reason}; choose another --host or --port"
        ) from None
    return made


class Server(uvicorn.Server):
    """Ends with what it has taken on finished, and without an error; a second signal ends it at
    once. `ready` is called when it listens. `certificate`: with its chain, and its key, in PEM.
    """

    def __init__(
        self,
        app: Starlette,
        ready: Callable[[], None],
        certificate: Path | None = None,
        key: Path | None = None,
    ) -> None:
        # what strangers send that is no HTTP is not worth a line
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            loop="asyncio",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=SHUTDOWN_S_MAX,
            limit_concurrency=limits.SERVED_CONNECTIONS_MAX,
            h11_max_incomplete_event_size=REQUEST_HEAD_BYTES_MAX,
            ssl_certfile=certificate,
            ssl_keyfile=key,
        )
        try:
            config.load()
        except (ssl.SSLError, OSError) as error:
            reason = error.strerror or error
            raise PlaceError(f"cannot use {certificate} with the key {key}: {reason}") from None
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Says so, when it listens."""
        await super().startup(sockets)
        self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002  # what it overrides has it
        """Ends at the first signal when all is done, at the second at once."""
        if self.should_exit:
            os._exit(128 + sig)  # whatever is under way is then as if it had never begun
        self.should_exit = True


def run(server: Server, listening: socket.socket) -> None:
    """Serves until a signal ends it."""
    server.run(sockets=[listening])
    for thread in threading.enumerate():
        if thread.name.startswith(THREADS):
            thread.join(2.0)  # its request was given up, and its memory is closed by then
            # it would keep the process; a memory survives that it is cut off, as it does a power
            # cut
            if thread.is_alive():
                os._exit(0)
