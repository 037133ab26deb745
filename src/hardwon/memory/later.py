"""The modules that only some uses of a memory need, imported when they are first used: a command
that runs once would wait for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hardwon.first_use import Later

__all__ = [
    "advise",
    "cleanup",
    "consolidate",
    "context",
    "databases",
    "embedders",
    "embedding",
    "figures",
    "knowledge",
    "lessons",
    "llm",
    "results",
    "staleness",
    "times",
    "tokens",
    "transfer",
]

if TYPE_CHECKING:
    from hardwon.memory import (
        advise,
        cleanup,
        consolidate,
        context,
        databases,
        embedding,
        figures,
        knowledge,
        lessons,
        results,
        staleness,
        tokens,
        transfer,
    )
    from hardwon.outside import embedders, llm
    from hardwon.search import times
else:
    advise, cleanup, consolidate, context, databases, embedding, figures, knowledge, lessons = (
        Later(f"hardwon.memory.{name}")
        for name in (
            "advise cleanup consolidate context databases embedding figures knowledge lessons".split()
        )
    )
    results, staleness, tokens, transfer = (
        Later(f"hardwon.memory.{name}") for name in "results staleness tokens transfer".split()
    )
    embedders, llm = Later("hardwon.outside.embedders"), Later("hardwon.outside.llm")
    times = Later("hardwon.search.times")
