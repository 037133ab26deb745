"""What a tool answers in words, beside its structured result: short, and with the ids that the next call may need.

Text that somebody recorded stands between the same fence lines as in a context: it is data, whatever it says.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from typing import Final

from hardwon import limits
from hardwon.learn.patterns import ModelInsights
from hardwon.learn.rules import Rule
from hardwon.model import AnyRecord, Fix
from hardwon.recall.advice import Advice
from hardwon.recall.fence import fenced
from hardwon.recall.headline import headline
from hardwon.recall.hit import Hit
from hardwon.recall.topology import Branch, Hotspot, Reflection
from hardwon.recalling import Context
from hardwon.reports import SimilarIssues
from hardwon.serve.mcp_bounds import bounded_text
from hardwon.serve.terminal import (
    Line,
    Look,
    hit_lines,
    hotspot_lines,
    map_lines,
    one_line,
    reflection_lines,
    shown,
    stats_lines,
)
from hardwon.serve.terminal_fixes import model_lines, outcome_of
from hardwon.stats import Stats

_LOOK: Final = Look(width=limits.TOOL_TEXT_WIDTH)
_MAP_LOOK: Final = Look(width=100)
_EVIDENCE_IDS: Final = 3


def data(lines: Iterable[str]) -> str:
    """Lines that others wrote, fenced; as many as a model can read."""
    cut = (line.replace("\n", " ")[: limits.CONTEXT_LINE_CHARS_MAX] for line in lines)
    return fenced(bounded_text("\n".join(cut)).split("\n"), secrets.token_hex(limits.MARK_BYTES))


def _plain(lines: Sequence[Line]) -> list[str]:
    return [line for line in shown(lines).split("\n") if line.strip()]


def kept(record: AnyRecord) -> str:
    said = f"Kept {record.kind} {record.id} ({record.metadata.validation.status})."
    if record.redacted:
        said += f" Taken out before it was kept: {', '.join(record.redacted)}."
    return said


def decided(record: AnyRecord) -> str:
    return f"{record.kind} {record.id} is now {record.metadata.validation.status}."


def credited(ids: list[str]) -> str:
    return (
        bounded_text(f"Credited {len(ids)}:\n" + "\n".join(ids))
        if ids
        else "Nothing was credited: no record has one of these ids."
    )


def hits(found: Sequence[Hit]) -> str:
    return data(_plain(hit_lines(found, _LOOK))) if found else "Nothing here answers that."


def context(found: Context) -> str:
    return found.text


def advice(found: Advice) -> str:
    return f"{found.verdict} (p = {found.p_success:.2f}): {found.message}"


def similar(found: SimilarIssues) -> str:
    groups = (("the same issue", found.exact), ("this model and issue type", found.model), ("this issue type", found.type))
    lines: list[str] = []
    seen: set[str] = set()
    for title, fixes in groups:
        new = [fix for fix in fixes if fix.id not in seen]
        seen |= {fix.id for fix in new}
        lines += [f"{len(new)} of {title}:"] if new else []
        lines += [f"  {_fix(fix)}" for fix in new]
    return data(lines) if lines else "No such issue was fixed here before."


def _fix(fix: Fix) -> str:
    done = one_line(" ; ".join(fix.fix_commands) or fix.analysis or "(nothing was said)", _LOOK)
    return f"{outcome_of(fix)}, {fix.metadata.context.timestamp:%Y-%m-%d}, {fix.id}: {headline(fix)} | done: {done}"


def insights(found: ModelInsights) -> str:
    lines = model_lines(found, (), _LOOK)
    return data(_plain(lines[:-2])) if found.total_tests else shown(lines).strip()


def rules(found: Sequence[Rule]) -> str:
    if not found:
        return "No rule was learned yet."
    return data(
        f"{rule} ({rule.state}, {rule.trust}, {rule.task_id or 'all tasks'}; {rule.helpful} for, {rule.harmful} against; "
        f"evidence {', '.join(rule.evidence[:_EVIDENCE_IDS]) or 'none'})"
        for rule in found
    )


def reflection(found: Reflection) -> str:
    return data(_plain(reflection_lines(found, _LOOK)))


def topology(found: Branch) -> str:
    return bounded_text(shown(map_lines(found, _MAP_LOOK)).rstrip())


def hotspots(found: Sequence[Hotspot]) -> str:
    lines = hotspot_lines(found, _MAP_LOOK)
    return data(_plain(lines)) if found else shown(lines).strip()


def stats(found: Stats) -> str:
    """Authors and tools are named as they named themselves."""
    return data(_plain(stats_lines(found, _MAP_LOOK)))


def record_lines(records: Iterable[AnyRecord]) -> list[str]:
    return [
        f"{record.kind}, {record.metadata.validation.status}, {record.metadata.context.timestamp:%Y-%m-%d}, "
        f"by {record.metadata.source.author}, {record.id}: {one_line(headline(record), _LOOK)[: limits.TOOL_TEXT_WIDTH]}"
        for record in records
    ]
