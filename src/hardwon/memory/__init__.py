"""`Memory`: the one way in. Each public method is one use; each write is one transaction.

A record going in is validated (`model`), gets its envelope's defaults, is cleaned of secrets
(`govern`), and is appended. A question going in becomes terms and filters (`recall`), the store
finds candidates, and hits come back.

What only some of the methods need is imported in them: a command that runs once would wait for all
of it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import nullcontext
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Unpack

from hardwon.errors import InvalidInputError, PlaceError
from hardwon.memory.ask import Asking
from hardwon.memory.care import Keeping
from hardwon.memory.decide import Deciding
from hardwon.memory.designs import Noun
from hardwon.memory.learned import Learned
from hardwon.memory.project import BY_MEMORY as BY_MEMORY
from hardwon.memory.project import Clock as Clock
from hardwon.memory.project import memory_exists
from hardwon.memory.record import Envelope, Recording

if TYPE_CHECKING:
    from hardwon.capture.tests import Tests
    from hardwon.fixes.reports import Fixes
    from hardwon.memory.care import Care
    from hardwon.memory.entries import Entries
    from hardwon.memory.episodes import Episodes
    from hardwon.memory.recorders import EpisodeRecorder, TrajectoryRecorder
    from hardwon.memory.results import Merged
    from hardwon.store.types import Progress
    from hardwon.tree.mirror import MemoryTree

RENAMED: Final[Mapping[str, str]] = {
    "keep": "record",
    **{name: f"fixes.{name}" for name in ("temporal_patterns", "strategies", "failed_strategies")},
    **{name: f"fixes.{name}" for name in ("best_strategies", "fixers", "compress")},
    **{f"fix_{name}": f"fixes.{name}" for name in ("totals", "days", "types", "matrix", "trends")},
    "fixes_since": "fixes.count",
    "fix_history": "fixes.history",
    **{name: f"care.{name}" for name in ("activity", "helpful", "change_mark", "decisions")},
    **{name: f"care.{name}" for name in ("adopted", "links", "page", "projects", "take_in")},
    **{name: f"care.{name}" for name in ("keep_many", "record_many", "in_project", "once", "now")},
    "stale_records": "care.stale",
    **{name: f"episodes.{name}" for name in ("tasks", "scores", "compare", "candidate_rules")},
    "put_entries": "entries.put",
    "append_entries": "entries.append",
    "entry_names": "entries.names",
    "record_tests": "tests.record",
    "publish_tested": "tests.publish",
    "failing_tests": "tests.failing",
    "make_tree": "tree.make",
    "sync": "tree.sync",
    "hotspots": "tree.hotspots",
}
"""Names that `Memory` had up to 0.11, which go on working for a while, and what each is now."""


def renamed(owner: object, name: str) -> Any:
    """What an old name of `Memory` stands for, with a warning."""
    if name not in RENAMED:
        raise AttributeError(f"{type(owner).__name__!r} object has no attribute {name!r}")
    warnings.warn(f"{name} is called {RENAMED[name]} now", DeprecationWarning, stacklevel=3)
    return attrgetter(RENAMED[name])(owner)


class Memory(Recording, Asking, Learned, Deciding, Keeping):
    """An experience memory: a folder, a `.db` file, a PostgreSQL database (`postgresql://…`), or,
    with nothing said, the one that belongs to the current folder.

    Safe to use from several threads, processes and after a fork. Close it, or use it as a context
    manager.
    """

    fixes: Noun[Fixes] = Noun("hardwon.fixes.reports:Fixes")
    episodes: Noun[Episodes] = Noun("hardwon.memory.episodes:Episodes")
    entries: Noun[Entries] = Noun("hardwon.memory.entries:Entries")
    tests: Noun[Tests] = Noun("hardwon.capture.tests:Tests")
    tree: Noun[MemoryTree] = Noun("hardwon.tree.mirror:MemoryTree")
    care: Noun[Care] = Noun("hardwon.memory.care:Care")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return renamed(self, name)

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

        if not isinstance(other, Memory) and not memory_exists(other):
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
