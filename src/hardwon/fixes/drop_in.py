"""What `Scripts.ai_memory`, or `ai_memory`, is for scripts that import it: the modules that
`hardwon drop-in install` writes, and those in `drop_in/`, lead here.

The functions work on the usual folder, as the class does where nobody names one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from hardwon.fixes.ai_memory import AIMemory as AIMemory
from hardwon.fixes.ai_memory import CutWarning as CutWarning
from hardwon.fixes.ai_memory import generate_issue_signature as generate_issue_signature
from hardwon.fixes.ai_memory import look_beside
from hardwon.fixes.ai_memory import usual_place as usual_place
from hardwon.fixes.knowledge_base import FixHistoryWarning as FixHistoryWarning

P = ParamSpec("P")
R = TypeVar("R")


def open_for(method: Callable[Concatenate[AIMemory, P], R]) -> Callable[P, R]:
    """The method as a function, which opens the usual memory for each call."""

    @wraps(method)
    def call(*args: P.args, **named: P.kwargs) -> R:
        """What the method returns."""
        with AIMemory() as memory:
            return method(memory, *args, **named)

    return call


build_context_for_claude = open_for(AIMemory.build_context_for_claude)
export_analytics_data = open_for(AIMemory.export_analytics_data)
import_knowledge_base = open_for(AIMemory.import_knowledge_base)
migrate_legacy_data = open_for(AIMemory.migrate_legacy_data)
auto_cleanup = open_for(AIMemory.auto_cleanup)
compress_historical_data = open_for(AIMemory.compress_historical_data)


def stand_in(name: str, file: str | None = None) -> None:
    """Makes the module that calls it this one: `name` and `file` are its `__name__` and, where it
    lies in a project, its `__file__`. Where it is run, `hardwon_cli.run_fix_history` does the work.
    """
    if file:
        look_beside(file)
    if name != "__main__":
        sys.modules[name] = sys.modules[__name__]


def make_usual_folder() -> Path:
    """The folder of the memory that a script works on; it is made where there is none."""
    folder = usual_place()
    if not folder.exists():
        AIMemory(folder).close()  # which says so
    return folder
