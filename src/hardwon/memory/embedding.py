"""Vectors are made in the background: whoever records does not wait for a model.

A record is kept without one; a thread embeds what came in, some at a time, and ends when nothing is
left: where nothing is recorded, no thread runs. What it did not come to before the process ended has
no vector in the store. That is the whole queue: whoever uses the memory next makes up for it, or
`reembed` does.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from hardwon.errors import ClosedError, EmbeddingError, ForbiddenError
from hardwon.outside.embedders import EMBED_BATCH_TEXTS, Embedder, as_vectors
from hardwon.records.kinds import Record
from hardwon.store.pool import FORK_WAIT_S
from hardwon.store.query import readable
from hardwon.text.terms import searchable_text

if TYPE_CHECKING:
    from hardwon.memory.project import Project

# Records that wait in memory for their vectors, some kilobytes each; more are read from the store
# again when it is their turn.
EMBED_WAITING_MAX: Final = 2_000

# How long a memory that is closed, or a process that ends, waits for the vectors of what was just
# recorded. What is left after that has its vectors made when the memory is used next.
EMBED_CLOSE_WAIT_S: Final = 5.0

# After an embedder refused so many texts in a row, the others are not tried: an endpoint that is down
# takes its whole timeout for each.
_EMBED_REFUSED_MAX: Final = 3

_log = logging.getLogger("hardwon")


class Embedding:
    """The vectors of one open memory that are still to be made. It does not refer to the memory: only
    its thread does, as long as it runs.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._waiting: deque[Record] = deque()
        # Whether the store may have records without a vector that are not among these: at first, of
        # processes that ended too early.
        self._look = True
        self._closed = False
        self._refused = set[str]()  # ids that the embedder refused: not again by this process
        self.begin_anew()
        _ALL.add(self)

    def begin_anew(self) -> None:
        """In a child that was forked: the thread, and what it was about to do, are the parent's."""
        self._thread: threading.Thread | None = None
        self._turn = threading.Lock()
        self.model = threading.RLock()  # a model may fork
        self._waiting.clear()

    def add(self, project: Project, records: Sequence[Record] = ()) -> None:
        """These were recorded, or nothing was and the memory is used. More than can wait are looked
        up in the store when it is their turn.
        """
        with self._turn:
            if len(self._waiting) + len(records) > EMBED_WAITING_MAX:
                self._look = True
            else:
                self._waiting.extend(records)
            if self._closed or self._thread or not (self._waiting or self._look):
                return
            run = partial(self._run, project)
            thread = threading.Thread(target=run, name="hardwon-embedding", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the process ends, or has too many: it waits in the store
                self._look = True
            else:
                self._thread = thread

    def wait(self, timeout_s: float | None = None) -> None:
        """Until there is nothing left to do, or the time is up."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while thread := self._thread:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                return
            thread.join(left)

    def leave(self) -> None:
        """What is left is the caller's, who looks it up in the store."""
        with self._turn:
            self._waiting.clear()
            self._look = False
        self.wait()

    def close(self, timeout_s: float) -> None:
        """Ends it, after what is left, as far as there is time for it."""
        self.wait(timeout_s)
        self._closed = True

    def _run(self, project: Project) -> None:
        try:
            while batch := self._next(project):
                self._embed(project, batch)
        except ClosedError:
            pass
        except ForbiddenError as error:  # they are for somebody to make who may write
            _log.debug("no vectors are made: %s", error)
        except Exception as error:  # noqa: BLE001  # the edge of a thread
            _log.warning("kept without vectors, which are made later, or by reembed(): %s", error)
        finally:
            with self._turn:
                if self._thread is threading.current_thread():
                    # Something went wrong: what is left waits in the store until more is recorded.
                    self._thread = None
                    self._waiting.clear()
                    self._look = True

    def _next(self, project: Project) -> list[Record]:
        """What is to be embedded now. Where that is nothing, the thread has ended for everybody."""
        while True:
            with self._turn:
                number = min(len(self._waiting), EMBED_BATCH_TEXTS)
                taken = [self._waiting.popleft() for _ in range(number)]
                # what was just recorded may have been found in the store as well
                batch = list({record.id: record for record in taken}.values())
                if self._closed or not (batch or self._look):
                    self._thread = None
                    return []
                if batch:
                    return batch
                self._look = False
            missing = self._missing(project)
            with self._turn:
                self._waiting.extend(missing)
                self._look = self._look or bool(missing)

    def _missing(self, project: Project) -> list[Record]:
        if not project.store.count_without_vector(project.name):
            return []
        size = EMBED_WAITING_MAX // 2 + len(self._refused)
        records = readable(project.store.without_vector(project.name, size))
        return [record for record in records if record.id not in self._refused]

    def _embed(self, project: Project, batch: Sequence[Record]) -> None:
        project.check_embedder()
        try:
            made = self.make_vectors(batch)
        except EmbeddingError as error:
            made = self._one_by_one(batch, error)
        with project.write() as change:
            change.keep_vectors(made)

    def make_vectors(self, records: Sequence[Record]) -> list[tuple[str, bytes]]:
        """The records' ids and vectors, as a store keeps them."""
        with self.model:
            rows = as_vectors(self.embedder, [searchable_text(record) for record in records])
        vectors = (row.astype("<f4").tobytes() for row in rows)
        return [(record.id, vector) for record, vector in zip(records, vectors, strict=True)]

    def _one_by_one(
        self, batch: Sequence[Record], reason: EmbeddingError
    ) -> list[tuple[str, bytes]]:
        """One text that an embedder refuses must not keep the others from it. Where it refuses the
        first few, it is at fault itself.
        """
        made: list[tuple[str, bytes]] = []
        refused: list[str] = []
        for record in batch if len(batch) > 1 else ():
            try:
                made += self.make_vectors([record])
            except EmbeddingError:
                refused.append(record.id)
                if not made and len(refused) == _EMBED_REFUSED_MAX:
                    break
        if not made:
            raise reason
        self._refused.update(refused)
        _log.warning("kept without vectors, which reembed() will add: %s", reason)
        return made


_ALL: Final[weakref.WeakSet[Embedding]] = weakref.WeakSet()
_paused: list[Embedding] = []


def _before_fork() -> None:
    """A model may have locks of its own, which would stay locked in the child: so it rests."""
    wait_s = FORK_WAIT_S
    _paused.extend(embedding for embedding in list(_ALL) if embedding.model.acquire(timeout=wait_s))


def _after_in_parent() -> None:
    while _paused:
        _paused.pop().model.release()


def _after_in_child() -> None:
    _paused.clear()
    for embedding in list(_ALL):
        embedding.begin_anew()


def _at_exit() -> None:
    """Of memories that nobody closed."""
    deadline = time.monotonic() + EMBED_CLOSE_WAIT_S
    for embedding in list(_ALL):
        embedding.close(max(0.0, deadline - time.monotonic()))


os.register_at_fork(
    before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child
)
atexit.register(_at_exit)
