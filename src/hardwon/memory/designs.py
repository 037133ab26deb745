"""What a memory knows of the designs that are built on it: the tables that they keep beside the
records, which the store calls in the transaction that changes a record, and what hangs on a memory.
All of it is imported when it is first needed.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final, Generic, TypeVar, overload

from hardwon.store.base import DESIGNS, Design

if TYPE_CHECKING:
    from hardwon.memory import Memory
    from hardwon.memory.project import Project

DESIGNS.append(Design(frozenset({"fix", "cleaned", "decision"}), "hardwon.fixes.tables:FixTables"))

MIRROR: Final = "hardwon.tree.mirror:Mirror"
ROUTER: Final = "hardwon.tree.routing:Coherence"


class Group:
    """Some of the uses of a memory: those that hang on a noun, such as `memory.fixes`, and those
    that `Memory` has itself.
    """

    def __init__(self, project: Project) -> None:
        self._project = project


G = TypeVar("G", bound=Group)


class Noun(Generic[G]):
    """Where a group hangs on `Memory`; "module:class" is imported when it is first asked for."""

    def __init__(self, where: str) -> None:
        self._where = where

    @overload
    def __get__(self, memory: None, owner: type) -> type[G]: ...

    @overload
    def __get__(self, memory: Memory, owner: type) -> G: ...

    def __get__(self, memory: Memory | None, owner: type) -> type[G] | G:
        group: type[G] = resolve_name(self._where)
        return group if memory is None else group(memory._project)
