"""What fix history tells, as plain dicts, lists and numbers that JSON can hold, and as files."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path as FilePath
from typing import Any, Final

from hardwon import intake, limits
from hardwon.doors.fix_adoption import FILE_NAME, KNOWLEDGE_BASE_NAME
from hardwon.fix_history import FixRow
from hardwon.learn.fix_reports import FixCell, FixDay, FixerRecord, IssueTrend
from hardwon.learn.patterns import ModelInsights, Strategy
from hardwon.recall.fence import clean_line
from hardwon.reports import CleanedUp, Compressed
from hardwon.store import files, own_files

_OWN: Final = (KNOWLEDGE_BASE_NAME, FILE_NAME.removesuffix(".db") + ".")
"""How the names begin of what a memory keeps in its folder, those that are hidden behind a dot as well."""


def row(found: FixRow) -> dict[str, Any]:
    """An attempt under the names of the table's columns, with its JSON read; and under two more: `ai_analysis`, as newer
    databases call it, and `successful`, for what was applied and verified."""
    told: dict[str, Any] = found._asdict()
    applied, verified = bool(found.fix_success), bool(found.verification_success)
    told.update(
        fix_commands=_read(found.fix_commands, []),
        fix_success=applied,
        verification_success=verified,
        system_info=_read(found.system_info, {}),
    )
    return {**told, "ai_analysis": found.claude_analysis, "successful": applied and verified}


def _read(text: str, otherwise: Any) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return otherwise


def rate(part: int, whole: int) -> float:
    return round(part / whole, 3) if whole else 0.0


def _counted(attempts: int, applied: int, verified: int) -> dict[str, Any]:
    return {
        "total_attempts": attempts,
        "applied": applied,
        "successful": verified,
        "applied_rate": rate(applied, attempts),
        "success_rate": rate(verified, attempts),
    }


def model_insights(insights: ModelInsights, recent: Sequence[FixRow]) -> dict[str, Any]:
    odds = insights.odds
    return {
        "model_name": insights.model_name,
        "total_tests": insights.total_tests,
        "success_rate": round(insights.success_rate, 3),
        "common_issues": [clean_line(name, limits.NAME_CHARS_MAX) for name, _ in insights.common_issues][
            : limits.INSIGHTS_ITEMS_MAX
        ],
        "effective_fixes": [_strategy(each) for each in insights.effective_fixes][: limits.INSIGHTS_ITEMS_MAX],
        "recent_history": [row(each) for each in recent],
        "applied_rate": rate(odds.applied, odds.attempts) if insights.total_tests else 0.0,
        "p_success": round(odds.p_success, 3),
        "performance_notes": list(insights.performance_notes),
        "last_updated": insights.last_updated.isoformat() if insights.last_updated else None,
    }


def _strategy(strategy: Strategy) -> str:
    return clean_line(" && ".join(strategy.fix_commands) or strategy.analysis, limits.KNOWLEDGE_TEXT_CHARS_MAX)


def day(found: FixDay) -> dict[str, Any]:
    return {"date": found.day.isoformat(), **_counted(found.attempts, found.applied, found.verified)}


def matrix(cells: Iterable[FixCell]) -> dict[str, dict[str, Any]]:
    told: dict[str, dict[str, Any]] = {}
    for cell in cells:
        figures = {**_counted(cell.attempts, cell.applied, cell.verified), "p_success": round(cell.p_success, 3)}
        told.setdefault(cell.model, {})[cell.issue_type] = figures
    return told


def trend(found: IssueTrend) -> dict[str, Any]:
    applied, verified = (sum(getattr(each, name) for each in found.days) for name in ("applied", "verified"))
    return {
        **_counted(found.attempts, applied, verified),
        "direction": found.direction,
        "earlier": found.earlier,
        "later": found.later,
        "p_value": round(found.p_value, 6),
        "test": found.test,
        "days": {each.day.isoformat(): each.attempts for each in found.days if each.attempts},
    }


def fixer(found: FixerRecord) -> dict[str, Any]:
    return {
        **_counted(found.attempts, found.applied, found.verified),
        "p_success": round(found.p_success, 3),
        "interval": [round(bound, 3) for bound in found.interval],
    }


def report(found: Any) -> dict[str, Any]:
    """What a larger operation answered. Whatever an older database had for an id is told as well."""
    told: dict[str, Any] = json.loads(json.dumps(asdict(found), default=str))
    return told


def in_turns(run: Callable[[], CleanedUp | Compressed], added_up: Sequence[str]) -> dict[str, Any]:
    """One takes only so many, so that nobody waits for long: all of them, one after the other."""
    told = asdict(run())
    events = [told.pop("event_id")]
    worked = any(told[name] for name in added_up)
    while told["left"] and worked and not told["dry_run"]:
        more = asdict(run())
        events.append(more["event_id"])
        worked = any(more[name] for name in added_up)
        told.update({name: told[name] + more[name] for name in added_up})
        told.update({name: more[name] for name in told if name not in added_up})
    return {**told, "event_ids": [event for event in events if event]}


# --- files ----------------------------------------------------------------------------------------------------------------


def path(field: str, given: str | os.PathLike[str]) -> FilePath:
    return intake.path(field, os.fspath(given) if isinstance(given, os.PathLike) else given)


def write_json(target: FilePath, told: Any) -> None:
    content = json.dumps(told, indent=2, ensure_ascii=False, default=str).encode()
    with files.writing_atomically(target) as file:
        file.write(content)


def write_csv(target: FilePath, rows: Iterator[FixRow]) -> int:
    count = 0
    with files.writing_atomically(target) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text)
        writer.writerow(FixRow._fields)
        for found in rows:
            writer.writerow(found)
            count += 1
        text.flush()
        text.detach()
    return count


def target_beside(memory_dir: FilePath, database: FilePath, output_file: str | os.PathLike[str]) -> FilePath:
    """Where an export goes: any file but a database and what a memory keeps beside its own, and in its folder: the database may
    be a link to elsewhere."""
    field, given, such_as = "output_file", path("output_file", output_file), "insights.json"
    own_files.refuse(field, given, memory_dir / FILE_NAME, such_as, also=_OWN)
    return own_files.target(field, given, database, such_as, also=_OWN)
