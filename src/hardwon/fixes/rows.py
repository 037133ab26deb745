"""A fix as the tables of fix history show it, and what they count of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import islice
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.lessons.counts import level_of_fix
from hardwon.lessons.issues import document_signature, name_pattern, strategy_key
from hardwon.memory.fix_lessons import FIXES_LISTED_MAX
from hardwon.records.kinds import Cleaned, Fix, Record

_NO_SYSTEM_INFO: Final = "{}"


class FixRow(NamedTuple):
    """The columns of `fix_history`, in their order. Commands and system information are JSON."""

    id: int
    timestamp: str
    model_name: str
    issue_type: str
    issue_signature: str
    description: str
    fixer_type: str
    claude_analysis: str
    fix_commands: str
    fix_success: int
    verification_success: int
    execution_time_seconds: float | None
    system_info: str
    notes: str | None


class FixEntry(NamedTuple):
    """What the tables need of one fix. `shown` is its row but for the id; None where only its
    counts are left. `words` tell what was done: commands as JSON, analysis, and both on one line.
    """

    shown: tuple[str | int | float | None, ...] | None
    pattern: str
    signature: str
    model: str
    issue_type: str
    strategy: str
    level: int
    timestamp: str
    words: tuple[str, str, str]


def read_entry(record: Record) -> FixEntry | None:
    """None for what is no fix."""
    at = write_time(record.metadata.context.timestamp)
    if isinstance(record, Cleaned):
        counted = (record.pattern, record.signature, record.model, record.issue_type)
        return FixEntry(None, *counted, record.strategy, record.level, at, _say(record))
    if not isinstance(record, Fix):
        return None
    issue, signature = record.issue, document_signature(record)
    info = record.system_info
    commands = json.dumps(record.fix_commands, ensure_ascii=False)
    machine = json.dumps(info, ensure_ascii=False) if info else _NO_SYSTEM_INFO
    shown = (
        *(at, issue.model, issue.issue_type, signature, issue.description),
        *(record.fixer_type, record.analysis, commands, int(record.fix_success)),
        *(int(record.verification_success), record.execution_time_seconds, machine, record.notes),
    )
    counted = (name_pattern(record, signature), signature, issue.model, issue.issue_type)
    strategy, level = strategy_key(record), level_of_fix(record)
    return FixEntry(shown, *counted, strategy, level, at, _say(record))


def _say(fix: Fix | Cleaned) -> tuple[str, str, str]:
    """What was done: the first commands as JSON, the analysis, and on one line the commands, else the
    analysis.
    """
    most = limits.LESSON_CHARS_MAX
    folded = (" ".join(command.split())[:most] for command in fix.fix_commands)
    commands = list(islice(filter(None, folded), FIXES_LISTED_MAX))
    analysis = " ".join(fix.analysis.split())[:most]
    line = (" && ".join(commands) or analysis)[:most]
    return json.dumps(commands, ensure_ascii=False), analysis, line


def write_time(at: datetime) -> str:
    """Always as long, and in UTC, so that times sort as text."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")
