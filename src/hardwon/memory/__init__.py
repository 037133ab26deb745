"""`Memory`: the one way in. Each public method is one use; each write is one transaction.

A record going in is validated (`records`), gets its envelope's defaults, is cleaned of secrets
(`trust`), and is appended. A question going in becomes terms and filters (`search`), the store
finds candidates, and hits come back.

What only some of the methods need is imported in them: a command that runs once would wait for all
of it.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from hardwon.errors import PlaceError
from hardwon.memory.ask import Asking, Learned
from hardwon.memory.care import Care, Keeping
from hardwon.memory.decide import Deciding
from hardwon.memory.knowing import KnowingLessons
from hardwon.memory.later import transfer
from hardwon.memory.places import memory_exists
from hardwon.memory.project import Clock as Clock
from hardwon.memory.project import Noun, Opened
from hardwon.memory.record import Entries, Envelope, Recording, TrajectoryRecorder
from hardwon.records.fields import check_all, check_that

if TYPE_CHECKING:
    from hardwon.capture.tests import Tests
    from hardwon.fixes.reports import Fixes
    from hardwon.memory.episodes import Episodes
    from hardwon.memory.results import Merged
    from hardwon.memory.skills import Skills
    from hardwon.store.types import Progress
    from hardwon.tree.mirror import MemoryTree
    from hardwon.tree.topology import Branch, Reflection


class Memory(Opened, Recording, Asking, Learned, KnowingLessons, Deciding, Keeping):
    """An experience memory: a folder, a `.db` file, a PostgreSQL database (`postgresql://…`), or,
    with nothing said, the one that belongs to the current folder.

    Safe to use from several threads, processes and after a fork. Close it, or use it as a context
    manager.
    """

    fixes: Noun[Fixes] = Noun("hardwon.fixes.reports:Fixes")
    episodes: Noun[Episodes] = Noun("hardwon.memory.episodes:Episodes")
    entries: Noun[Entries] = Noun("hardwon.memory.record:Entries")
    tests: Noun[Tests] = Noun("hardwon.capture.tests:Tests")
    tree: Noun[MemoryTree] = Noun("hardwon.tree.mirror:MemoryTree")
    care: Noun[Care] = Noun("hardwon.memory.care:Care")
    skills: Noun[Skills] = Noun("hardwon.memory.skills:Skills")

    def trajectory(self, task: str, **envelope: Unpack[Envelope]) -> TrajectoryRecorder:
        """`with m.trajectory(task) as t: t.step(action, observation, reward)`: recorded whatever
        happens in the block.
        """
        return TrajectoryRecorder(self, task, envelope)

    def topology(self) -> Branch:
        """What lies where: experiences by outcome, tool and the key that the two require; with a
        tree, its folders.
        """
        return self.tree._find_branches()

    def reflect(self) -> Reflection:
        """What the experiences add up to: totals, where failures and successes pile up, and
        sentences about them.
        """
        return self.tree._reflect()

    def merge(
        self,
        other: Memory | str | Path,
        progress: Progress | None = None,
        *,
        trust: bool = False,
        by: str = "user",
        dry_run: bool = False,
    ) -> Merged:
        """Brings in what another memory of the same project knows. It is a stranger: its records
        arrive as hypotheses, or archived, where they were retired there, and `undo` of the arrival
        takes them back; what else was decided there (statuses, decisions, tombstones) is told of in
        `left`, and taken over only with `trust`. Of memories that trust each other, merging twice,
        or the other way round, gives the same memory. Where both keep an id with different content,
        each keeps its own.
        """
        check_all(by=by, dry_run=dry_run, trust=trust)
        if not isinstance(other, Memory) and not memory_exists(other):
            raise PlaceError(f"there is no memory at {other}")
        opened = nullcontext(other) if isinstance(other, Memory) else Memory(other, self.project)
        with opened as source:
            allowed = f"a memory of project {self.project!r}"
            check_that(source.project == self.project, "other", source.project, allowed)
            mine, its = self._project.place.path, source._project.place.path
            # by whatever name
            same = mine.samefile(its) if mine and its else self.location == source.location
            check_that(not same, "other", source.location, "another memory than this one")
            return transfer.merge(
                source._project.store, self._project, trust, by, dry_run=dry_run, progress=progress
            )
