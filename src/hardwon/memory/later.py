"""The modules that only some uses of a memory need, imported when they are first used: a command
that runs once would wait for all of them.
"""

# mypy: implicit-reexport
# ruff: noqa: F401
from __future__ import annotations

from typing import TYPE_CHECKING

from hardwon.first_use import Later

if TYPE_CHECKING:
    from hardwon.memory import (
        advise,
        cleanup,
        consolidate,
        context,
        databases,
        embedding,
        figures,
        fix_lessons,
        lessons,
        results,
        solutions,
        staleness,
        tokens,
        transfer,
    )
    from hardwon.outside import embedders, llm
    from hardwon.search import times
else:
    _IN_MEMORY = (
        "advise cleanup consolidate context databases embedding figures fix_lessons lessons results "
        "solutions staleness tokens transfer"
    )
    globals().update({name: Later(f"hardwon.memory.{name}") for name in _IN_MEMORY.split()})
    embedders, llm = Later("hardwon.outside.embedders"), Later("hardwon.outside.llm")
    times = Later("hardwon.search.times")
