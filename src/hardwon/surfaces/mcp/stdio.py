"""The MCP server on standard input and output, for one client, which started this process and is
trusted as far as `scope` says.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any, Final

import anyio
import anyio.abc
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server

from hardwon import limits
from hardwon.errors import HardwonError
from hardwon.memory import Memory
from hardwon.memory.tokens import author_name
from hardwon.surfaces.gate import Ask, Gate
from hardwon.surfaces.mcp.server import Context, make_server
from hardwon.trust.access import Caller, Scope

# The author of what a client records that does not say who it is.
NO_NAME: Final = "agent"
INTERRUPTED: Final = 130
# For what was begun to end, and the last answers to get out: a write takes milliseconds, and nothing
# tells when a pipe was written to.
_FLUSH_S: Final = 0.5


def serve_stdio(
    memory: Memory, author: str | None, scope: Scope, *, every: bool = False, btb: bool = False
) -> None:
    """Serves until the client closes its end, or a signal says so. `author`: who is named in what
    is recorded; where nobody is given, the client by the name it introduces itself with.
    """
    gate = Gate(lambda _: memory, None)

    def who(context: Context) -> Ask:
        """The client, by its own name where it was given none."""
        client = context.session.client_params
        name = author or make_client_name(client.client_info.name if client else "")
        return Ask(gate, Caller(name, scope), memory.project)

    server = make_server(who, every=every, btb=btb)
    try:
        anyio.run(_serve, server, memory)
    except* BrokenPipeError:
        pass  # a client that left without a word is no failure


def make_client_name(name: str) -> str:
    """A client's own name as an author's; `agent` where it has none that could be one."""
    plain = " ".join("".join(char if char.isprintable() else " " for char in name).split())
    try:
        return author_name("client", plain[: limits.NAME_CHARS_MAX])
    except HardwonError:
        return NO_NAME


async def _serve(server: Server[Any], memory: Memory) -> None:
    async with anyio.create_task_group() as tasks:
        await tasks.start(_end_on_signal, memory)
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _end_on_signal(
    memory: Memory, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
) -> None:
    """Gives what was begun a moment, then ends the process: a thread waits for a line of input that
    may never come. A write that takes longer is kept or not, never half.
    """
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for number in signals:
            await anyio.sleep(_FLUSH_S)
            memory.close()
            sys.stderr.flush()
            os._exit(INTERRUPTED if number == signal.SIGINT else 0)
