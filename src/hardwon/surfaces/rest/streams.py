"""Records and whole memories on their way: by way of a file, so that a slow reader holds up no
writer, and a large one no memory. The file has no name any more while it is sent. What a server
that is killed leaves of one that is still made, the next removes.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from hardwon import limits
from hardwon.surfaces.arguments import Load
from hardwon.surfaces.gate import Gate
from hardwon.surfaces.operations import OPERATIONS, json_bytes
from hardwon.surfaces.rest.guard import BODY, BUSY, RefusedError, ServerOptions, Workers
from hardwon.trust.access import Caller

NDJSON: Final = "application/x-ndjson"
DATABASE: Final = "application/vnd.sqlite3"
_PREFIX: Final = ".hardwon-serving-"
CHECKSUM: Final = "Hardwon-SHA256"


class Streams:
    """Counts those that are under way, in the server's own thread."""

    def __init__(self) -> None:
        self._under_way = 0

    @contextmanager
    def one_more(self) -> Iterator[ExitStack]:
        """Until the block is left; or longer, for whoever takes over what is to be done at the end
        (`pop_all`).
        """
        if self._under_way >= limits.STREAMS_AT_ONCE_MAX:
            said = "too many exports, imports and backups are under way: try again"
            raise RefusedError(BUSY, said, {"Retry-After": str(limits.RETRY_AFTER_S)})
        self._under_way += 1
        with ExitStack() as at_the_end:
            at_the_end.callback(self._ended)
            yield at_the_end

    def _ended(self) -> None:
        self._under_way -= 1


class FileAnswer(Response):
    """A file, read piece by piece. `at_the_end` is closed with it."""

    def __init__(
        self,
        file: BinaryIO,
        size_bytes: int,
        media_type: str,
        headers: dict[str, str],
        workers: Workers,
    ) -> None:
        super().__init__(
            None, media_type=media_type, headers={**headers, "Content-Length": str(size_bytes)}
        )
        self._file = file
        self._workers = workers
        self.at_the_end = ExitStack()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  # what it overrides has them
        with self.at_the_end, self._file:
            await send(
                {
                    "type": "http.response.start",
                    "status": self.status_code,
                    "headers": self.raw_headers,
                }
            )
            while piece := await self._workers.run(self._file.read, limits.SENT_AT_ONCE_BYTES):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})


def export(
    gate: Gate, settings: ServerOptions, workers: Workers, caller: Caller, project: str
) -> FileAnswer:
    """Every record of a project, one a line."""
    with _folder(settings) as folder, gate.memory(caller, OPERATIONS["export"], project) as memory:
        target = folder / "records.jsonl"
        memory.export(target)
        return _sent(target, NDJSON, {}, workers)


def backup(
    gate: Gate, settings: ServerOptions, workers: Workers, caller: Caller, project: str
) -> FileAnswer:
    """The memory's whole file, whatever its projects."""
    with _folder(settings) as folder, gate.memory(caller, OPERATIONS["backup"], project) as memory:
        target = folder / "memory.db"
        made = memory.backup(target)
        headers = {CHECKSUM: made.sha256, "Content-Disposition": 'attachment; filename="memory.db"'}
        return _sent(target, DATABASE, headers, workers)


async def take_in(
    gate: Gate,
    settings: ServerOptions,
    workers: Workers,
    request: Request,
    project: str,
    said: Load,
) -> bytes:
    """Loads a body of records, one a line, once all of it is here."""
    request.scope[BODY].allow(limits.IMPORT_BYTES_MAX)
    folder = _folder(settings)
    target = (await workers.run(folder.__enter__)) / "body"
    try:
        with target.open("wb") as file:
            async for piece in request.stream():
                await workers.run(file.write, piece)
        caller: Caller = request.state.caller
        return await workers.run(_load, gate, caller, project, target, said)
    finally:
        await workers.run(folder.__exit__, None, None, None)


def _load(gate: Gate, caller: Caller, project: str, file: Path, said: Load) -> bytes:
    with gate.memory(caller, OPERATIONS["load"], project) as memory:
        return json_bytes(memory.load(file, said.dry_run, by=caller.name))


def _sent(path: Path, media_type: str, headers: dict[str, Any], workers: Workers) -> FileAnswer:
    return FileAnswer(path.open("rb"), path.stat().st_size, media_type, headers, workers)


@contextmanager
def _folder(settings: ServerOptions) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=settings.spool) as made:
        yield Path(made)


def remove_left_over(spool: Path) -> None:
    """What a server left that was killed while it took something in. Another may be at work beside
    us: no request of one takes so long.
    """
    since = time.time() - limits.SPOOLED_S_MAX
    for folder in spool.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if folder.is_dir() and not folder.is_symlink() and folder.stat().st_mtime < since:
                shutil.rmtree(folder, ignore_errors=True)
