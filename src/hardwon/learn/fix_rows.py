"""A fix as the tables of fix history show it, and what they count of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.learn.tallies import (
    fix_history_signature,
    level_of_fix,
    recorded_signature,
    strategy_key,
)
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
    counts are left.
    """

    shown: tuple[str | int | float | None, ...] | None
    pattern: str
    signature: str
    model: str
    issue_type: str
    strategy: str
    level: int
    timestamp: str


def entry_of(record: Record) -> FixEntry | None:
    """None for what is no fix."""
    if isinstance(record, Fix):
        signature = document_signature(record)
        at, issue = text_of(record.metadata.context.timestamp), record.issue
        return FixEntry(
            shown=(
                at,
                issue.model,
                issue.issue_type,
                signature,
                issue.description,
                record.fixer_type,
                record.analysis,
                json.dumps(record.fix_commands, ensure_ascii=False),
                int(record.fix_success),
                int(record.verification_success),
                record.execution_time_seconds,
                json.dumps(record.system_info, ensure_ascii=False)
                if record.system_info
                else _NO_SYSTEM_INFO,
                record.notes,
            ),
            pattern=pattern_name(record, signature),
            signature=signature,
            model=issue.model,
            issue_type=issue.issue_type,
            strategy=strategy_key(record),
            level=level_of_fix(record),
            timestamp=at,
        )
    if isinstance(record, Cleaned):
        at = text_of(record.metadata.context.timestamp)
        return FixEntry(
            None,
            record.pattern,
            record.signature,
            record.model,
            record.issue_type,
            record.strategy,
            record.level,
            at,
        )
    return None


def document_signature(fix: Fix) -> str:
    """By the fix-history document's formula; of a fix from an older database the one it had
    there.
    """
    return recorded_signature(fix) or fix_history_signature(fix.issue)


def pattern_name(fix: Fix, signature: str) -> str:
    """For people, and for every signature another."""
    family = fix.issue.model.split(":")[0]
    return f"{fix.issue.issue_type}{f' on {family}' if family else ''} [{signature}]"


def shortened(entry: FixEntry) -> FixEntry:
    """As it is shown when its details were packed away."""
    if entry.shown is None:
        return entry
    row = FixRow(0, *entry.shown)  # type: ignore[arg-type]  # the values are those of a row
    most = limits.COMPRESSED_TEXT_CHARS
    short = row._replace(
        description=row.description[:most],
        claude_analysis=row.claude_analysis[:most],
        fix_commands=row.fix_commands
        if len(row.fix_commands) <= most
        else json.dumps([json.loads(row.fix_commands)[0][:most]]),
        system_info=_NO_SYSTEM_INFO,
        notes=None if row.notes is None else row.notes[:most],
    )
    return entry._replace(shown=tuple(short)[1:])


def summary_of(fix: Fix) -> str:
    """What a fix is still found by when its details were packed away."""
    said = (fix.issue.description, fix.analysis, *fix.fix_commands[:1])
    return "\n".join(
        (
            fix.issue.model,
            fix.issue.issue_type,
            fix.fixer_type,
            *(text[: limits.COMPRESSED_TEXT_CHARS] for text in said),
        )
    )


def strategy_text(commands: list[str], analysis: str) -> str:
    """What was done, on one line: the commands, else the analysis."""
    said = " && ".join(
        " ".join(command.split()) for command in commands if command.strip()
    ) or " ".join(analysis.split())
    return said[: limits.LESSON_CHARS_MAX]


def text_of(at: datetime) -> str:
    """Always as long, and in UTC, so that times sort as text."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")
