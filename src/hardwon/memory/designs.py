"""What a memory knows of the designs that are built on it: the tables that they keep beside the
records, which the store calls in the transaction that changes a record, and what hangs on a memory.
All of it is imported when it is first needed.
"""

from __future__ import annotations

from typing import Final

from hardwon.store.base import DESIGNS, Design, load

DESIGNS.append(Design(frozenset({"fix", "cleaned", "decision"}), "hardwon.fixes.tables:FixTables"))

FIX_HISTORY: Final = "hardwon.fixes.tables:FixHistory"
MAKE_TREE: Final = "hardwon.tree.mirror:make_tree"
MIRROR: Final = "hardwon.tree.mirror:Mirror"

__all__ = ["FIX_HISTORY", "MAKE_TREE", "MIRROR", "load"]
