"""The modules that only some uses of a memory need, imported when they are first used: a command
that runs once would wait for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hardwon.first_use import Later

__all__ = [
    "cleanup",
    "consolidate",
    "databases",
    "embedders",
    "embedding",
    "figures",
    "knowledge",
    "llm",
    "results",
    "staleness",
    "times",
    "tokens",
    "transfer",
]

if TYPE_CHECKING:
    from hardwon.memory import (
        cleanup,
        consolidate,
        databases,
        embedding,
        figures,
        knowledge,
        results,
        staleness,
        tokens,
        transfer,
    )
    from hardwon.outside import embedders, llm
    from hardwon.search import times
else:
    cleanup, consolidate, embedding, figures, knowledge, results, staleness, tokens, transfer = (
        Later(f"hardwon.memory.{name}")
        for name in (
            "cleanup consolidate embedding figures knowledge results staleness tokens transfer"
        ).split()
    )
    databases, embedders = Later("hardwon.memory.databases"), Later("hardwon.outside.embedders")
    llm = Later("hardwon.outside.llm")
    times = Later("hardwon.search.times")
