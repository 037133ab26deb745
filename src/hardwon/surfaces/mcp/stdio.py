"""The MCP server on standard input and output, for one client, which started this process and is
trusted as far as `scope` says.
"""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass
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
_FLUSH_S: Final = 0.2  # for the last answers to get out; nothing tells when a pipe was written to
# How long a server that is told to end waits for what it has begun. A write takes milliseconds.
_SHUTDOWN_S_MAX: Final = 5.0


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
    under_way = _UnderWay()
    server.middleware.append(under_way)
    try:
        anyio.run(_serve, server, under_way, memory)
    except* BrokenPipeError:
        pass  # a client that left without a word is no failure


def make_client_name(name: str) -> str:
    """A client's own name as an author's; `agent` where it has none that could be one."""
    plain = " ".join("".join(char if char.isprintable() else " " for char in name).split())
    try:
        return author_name("client", plain[: limits.NAME_CHARS_MAX])
    except HardwonError:
        return NO_NAME


@dataclass
class _UnderWay:
    """Counts what was begun and has not ended."""

    count: int = 0

    async def __call__(self, ctx: Context, call_next: Any) -> Any:
        self.count += 1
        try:
            return await call_next(ctx)
        finally:
            self.count -= 1


async def _serve(server: Server[Any], under_way: _UnderWay, memory: Memory) -> None:
    async with anyio.create_task_group() as tasks:
        await tasks.start(_end_on_signal, under_way, memory)
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _end_on_signal(
    under_way: _UnderWay,
    memory: Memory,
    *,
    task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Finishes what was begun, then ends the process at once: a thread waits for a line of input
    that may never come.
    """
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for number in signals:
            with anyio.move_on_after(_SHUTDOWN_S_MAX):
                while under_way.count:
                    await anyio.sleep(_FLUSH_S / 10)
                await anyio.sleep(_FLUSH_S)
            memory.close()
            sys.stderr.flush()
            os._exit(INTERRUPTED if number == signal.SIGINT else 0)
