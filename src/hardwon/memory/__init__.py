"""`Memory`: the one way in. Each public method is one use; each write is one transaction.

A record going in is validated (`model`), gets its envelope's defaults, is cleaned of secrets
(`govern`), and is appended. A question going in becomes terms and filters (`recall`), the store
finds candidates, and hits come back.

What only some of the methods need is imported in them: a command that runs once would wait for all
of it.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from hardwon.errors import InvalidInputError, PlaceError
from hardwon.memory.ask import Asking
from hardwon.memory.care import Keeping
from hardwon.memory.decide import Deciding
from hardwon.memory.entries import Entries
from hardwon.memory.learned import Learned
from hardwon.memory.project import BY_MEMORY as BY_MEMORY
from hardwon.memory.project import Clock as Clock
from hardwon.memory.record import Envelope, Recording

if TYPE_CHECKING:
    from hardwon.memory.recorders import EpisodeRecorder, TrajectoryRecorder
    from hardwon.memory.results import Merged
    from hardwon.store.types import Progress


class Memory(Entries, Recording, Asking, Learned, Deciding, Keeping):
    """An experience memory: a folder, a `.db` file, a PostgreSQL database (`postgresql://…`), or,
    with nothing said, the one that belongs to the current folder.

    Safe to use from several threads, processes and after a fork. Close it, or use it as a context
    manager.
    """

    def trajectory(self, task: str, **envelope: Unpack[Envelope]) -> TrajectoryRecorder:
        """`with m.trajectory(task) as t: t.step(action, observation, reward)`: recorded whatever
        happens in the block.
        """
        from hardwon.memory.recorders import TrajectoryRecorder

        return TrajectoryRecorder(self, task, envelope)

    def episode(self, task_id: str, **envelope: Unpack[Envelope]) -> EpisodeRecorder:
        """`with m.episode(task_id) as ep: ep.mistake(text); ep.score = 0.4`: recorded whatever
        happens in the block.
        """
        from hardwon.memory.recorders import EpisodeRecorder

        return EpisodeRecorder(self, task_id, envelope)

    def merge(self, other: Memory | str | Path, progress: Progress | None = None) -> Merged:
        """Brings in what another memory of the same project knows: its records, statuses and
        tombstones. Merging twice, or the other way round, gives the same memory. Where both keep an
        id with different content, each keeps its own.
        """
        from hardwon.memory import transfer as moving

        if not isinstance(other, Memory) and not Memory.exists(other):
            raise PlaceError(f"there is no memory at {other}")
        opened = nullcontext(other) if isinstance(other, Memory) else Memory(other, self.project)
        with opened as source:
            if source.project != self.project:
                raise InvalidInputError.one(
                    "other", source.project, f"a memory of project {self.project!r}"
                )
            if source._is_at(self):
                raise InvalidInputError.one(
                    "other", source.location, "another memory than this one"
                )
            return moving.merge(
                source._store, self._store, self.project, progress, self._mirror_within
            )
