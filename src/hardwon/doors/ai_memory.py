"""What `Scripts.ai_memory`, or `ai_memory`, is for scripts that import it or run it: the modules
that `hardwon drop-in install` writes, and those in `drop_in/`, lead here.

The functions work on the folder AIMemory, as the class does where nothing else is said.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from hardwon.fixes import ai_memory
from hardwon.fixes.ai_memory import AIMemory as AIMemory
from hardwon.fixes.ai_memory import CutWarning as CutWarning
from hardwon.fixes.ai_memory import generate_issue_signature as generate_issue_signature
from hardwon.fixes.knowledge_base import FixHistoryWarning as FixHistoryWarning

P = ParamSpec("P")
R = TypeVar("R")


def _of_the_usual(method: Callable[Concatenate[AIMemory, P], R]) -> Callable[P, R]:
    """The method of a memory that is opened for it."""

    @wraps(method)
    def call(*args: P.args, **named: P.kwargs) -> R:
        with AIMemory() as memory:
            return method(memory, *args, **named)

    return call


build_context_for_claude = _of_the_usual(AIMemory.build_context_for_claude)
export_analytics_data = _of_the_usual(AIMemory.export_analytics_data)
import_knowledge_base = _of_the_usual(AIMemory.import_knowledge_base)
migrate_legacy_data = _of_the_usual(AIMemory.migrate_legacy_data)
auto_cleanup = _of_the_usual(AIMemory.auto_cleanup)
compress_historical_data = _of_the_usual(AIMemory.compress_historical_data)


def stand_in(name: str, file: str | None = None) -> None:
    """Makes the module that calls it this one: `name` and `file` are its `__name__` and, where it
    lies in a project, its `__file__`. Where it is run, its commands are those of memory.sh.
    """
    if file:
        ai_memory.look_beside(file)
    if name != "__main__":
        sys.modules[name] = sys.modules[__name__]
        return
    from hardwon.surfaces.cli.main import main

    place = ai_memory.usual_place()
    if len(sys.argv) > 1 and not place.exists():
        AIMemory(place).close()  # which says so
    sys.argv[:1] = ["hardwon", "fix-history", "--memory-dir", str(place)]
    try:
        main()
    except SystemExit as ended:
        sys.exit(1 if ended.code == 2 else ended.code)  # wrong usage was 1 here
