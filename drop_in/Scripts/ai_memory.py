"""Put the folder above on the path (PYTHONPATH=drop_in) and `from Scripts.ai_memory import
AIMemory` is Hardwon's.

The functions work on the folder AIMemory, as the class does where nothing else is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
