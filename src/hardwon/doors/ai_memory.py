"""What `Scripts.ai_memory`, or `ai_memory`, is for scripts that import it or run it: the modules
that `hardwon drop-in install` writes, and those in `drop_in/`, lead here.

The functions work on the folder AIMemory, as the class does where nothing else is said.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from hardwon.fixes import ai_memory
from hardwon.fixes.ai_memory import AIMemory as AIMemory
from hardwon.fixes.ai_memory import CutWarning as CutWarning
from hardwon.fixes.ai_memory import Where
from hardwon.fixes.ai_memory import generate_issue_signature as generate_issue_signature
from hardwon.fixes.knowledge_base import FixHistoryWarning as FixHistoryWarning


def build_context_for_claude(issue_data: Mapping[str, Any]) -> str:
    """See `AIMemory.build_context_for_claude`."""
    with AIMemory() as memory:
        return memory.build_context_for_claude(issue_data)


def export_analytics_data(output_file: Where) -> None:
    """See `AIMemory.export_analytics_data`."""
    with AIMemory() as memory:
        memory.export_analytics_data(output_file)


def import_knowledge_base(source_file: Where) -> dict[str, Any]:
    """See `AIMemory.import_knowledge_base`."""
    with AIMemory() as memory:
        return memory.import_knowledge_base(source_file)


def migrate_legacy_data(legacy_db_path: Where) -> dict[str, Any]:
    """See `AIMemory.migrate_legacy_data`."""
    with AIMemory() as memory:
        return memory.migrate_legacy_data(legacy_db_path)


def auto_cleanup() -> dict[str, Any]:
    """See `AIMemory.auto_cleanup`."""
    with AIMemory() as memory:
        return memory.auto_cleanup()


def compress_historical_data() -> dict[str, Any]:
    """See `AIMemory.compress_historical_data`."""
    with AIMemory() as memory:
        return memory.compress_historical_data()


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
