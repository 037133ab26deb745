"""What is too long for a model to read is cut: long texts, long lists, deep trees; and it is said
what was left out.

What a tool answers in words, beside its structured result: short, and with the ids that the next
call may need.

Text that somebody recorded stands between the same fence lines as in a context: it is data,
whatever it says.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

from hardwon import limits
from hardwon.brief.advice import Advice
from hardwon.brief.fence import fenced, mark_of
from hardwon.learn.fixes import ModelInsights
from hardwon.learn.rules import Rule
from hardwon.learn.topology import Branch, Hotspot, Reflection
from hardwon.memory.ask import Stats
from hardwon.memory.results import SimilarIssues
from hardwon.records.kinds import AnyRecord
from hardwon.search.rank import Hit, headline
from hardwon.surfaces.cli.output import Line, Look, one_line, render
from hardwon.surfaces.cli.views import (
    hit_lines,
    hotspot_lines,
    map_lines,
    model_lines,
    outcome_of,
    reflection_lines,
    stats_lines,
)
from hardwon.text.clean import CUT

# --- mcp bounds ---

# Fields of records that hold whatever JSON their author liked, as deep as they liked: at last,
# nothing of it is shown.
_CALLERS_OWN: Final = frozenset({"system_info", "other", "data"})


def fit(value: Any, chars_max: int, whole: frozenset[str] = frozenset()) -> tuple[Any, str]:
    """A JSON value that takes at most about so many characters, and what was cut; the latter is
    empty where nothing was. `whole`: keys at the top whose values stay as they are, and do not
    count.
    """
    kept = {name: value[name] for name in whole if name in value} if isinstance(value, dict) else {}
    rest = {name: inner for name, inner in value.items() if name not in kept} if kept else value
    if _size(rest) <= chars_max:
        return value, ""
    for cut in (_Cut(*bounds) for bounds in limits.RESULT_CUTS):
        shorter = cut.value(rest, 0)
        if _size(shorter) <= chars_max:
            break
    if kept:
        shorter = {name: kept.get(name, shorter.get(name)) for name in value}
    return shorter, cut.note()


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


@dataclass
class _Cut:
    """Bounds of texts, lists and depth, and what was cut to keep them."""

    text_chars: int
    items: int
    levels: int
    texts_cut: int = 0
    items_left_out: int = 0

    def value(self, given: Any, level: int) -> Any:
        if isinstance(given, str) and len(given) > self.text_chars:
            self.texts_cut += 1
            return given[: self.text_chars - 1] + CUT
        if isinstance(given, list):
            # A list of plain values may be a pair, which has its length; a list of objects may be
            # empty.
            objects = bool(given) and isinstance(given[0], dict)
            some = 0 if level > self.levels and objects else self.items
            self.items_left_out += max(0, len(given) - some)
            return [self.value(inner, level + 1) for inner in given[:some]]
        if isinstance(given, dict):
            return {
                self.value(name, level): self._field(name, inner, level + 1)
                for name, inner in self._entries(given)
            }
        return given

    def _field(self, name: str, given: Any, level: int) -> Any:
        if name in _CALLERS_OWN and given and self.levels <= 1:
            self.items_left_out += len(given)
            return {}
        return self.value(given, level)

    def _entries(self, given: dict[str, Any]) -> list[tuple[str, Any]]:
        entries = list(given.items())
        most = max(self.items, limits.COUNTS_SHOWN_MIN)
        self.items_left_out += max(0, len(entries) - most)
        # What every record has stands first, and is less; of counts, the largest stay.
        counts = all(isinstance(inner, int | float) for inner in given.values())
        if counts and len(entries) > most:
            entries.sort(key=lambda entry: (-entry[1], entry[0]))
        return entries[:most]

    def note(self) -> str:
        items, texts = self.items_left_out, self.texts_cut
        entries = f"{items} {'entry' if items == 1 else 'entries'}"
        ends = f"the end of {texts} long {'text' if texts == 1 else 'texts'}"
        return " and ".join(part for part, count in ((entries, items), (ends, texts)) if count)


def cut_lines(text: str, chars_max: int = limits.TOOL_TEXT_CHARS_MAX) -> str:
    """Whole lines of it, as many as fit, and how many are missing."""
    if len(text) <= chars_max:
        return text
    lines = text.splitlines()
    kept = sum(end <= chars_max for end in accumulate(len(line) + 1 for line in lines))
    return "\n".join([*lines[:kept], f"{CUT} {len(lines) - kept} more lines were left out"])


# --- mcp text ---

_LOOK: Final = Look(width=limits.TOOL_TEXT_WIDTH)
_MAP_LOOK: Final = Look(width=100)
_EVIDENCE_IDS: Final = 3


def data(lines: Iterable[str]) -> str:
    """Lines that others wrote, fenced; as many as a model can read."""
    cut = (line.replace("\n", " ")[: limits.CONTEXT_LINE_CHARS_MAX] for line in lines)
    return fenced(cut_lines("\n".join(cut)).split("\n"), mark_of(secrets.randbits(64)))


def _shown(lines: Sequence[Line], known: object = True) -> str:
    """Lines as a terminal has them; fenced, unless nothing is known that others wrote."""
    text = render(lines)
    return data(line for line in text.split("\n") if line.strip()) if known else text.strip()


def confirm_kept(record: AnyRecord) -> str:
    names = ", ".join(record.redacted or ())
    redacted = f" Taken out before it was kept: {names}." if names else ""
    return f"Kept {record.kind} {record.id} ({record.metadata.validation.status}).{redacted}"


def confirm_decided(record: AnyRecord) -> str:
    return f"{record.kind} {record.id} is now {record.metadata.validation.status}."


def confirm_credited(ids: list[str]) -> str:
    return (
        cut_lines(f"Credited {len(ids)}:\n" + "\n".join(ids))
        if ids
        else "Nothing was credited: no record has one of these ids."
    )


def hits(found: Sequence[Hit]) -> str:
    return _shown(hit_lines(found, _LOOK)) if found else "Nothing here answers that."


def advice(found: Advice) -> str:
    return f"{found.verdict} (p = {found.p_success:.2f}): {found.message}"


def similar(found: SimilarIssues) -> str:
    lines: list[str] = []
    seen: set[str] = set()
    for title, fixes in (
        ("the same issue", found.exact),
        ("this model and issue type", found.model),
        ("this issue type", found.type),
    ):
        new = [fix for fix in fixes if fix.id not in seen]
        seen |= {fix.id for fix in new}
        lines += [f"{len(new)} of {title}:"] if new else []
        for fix in new:
            commands = " ; ".join(fix.fix_commands)
            done = one_line(commands or fix.analysis or "(nothing was said)", _LOOK)
            day = f"{fix.metadata.context.timestamp:%Y-%m-%d}"
            lines.append(f"  {outcome_of(fix)}, {day}, {fix.id}: {headline(fix)} | done: {done}")
    return data(lines) if lines else "No such issue was fixed here before."


def insights(found: ModelInsights) -> str:
    return _shown(model_lines(found, _LOOK), found.total_tests)


def rules(found: Sequence[Rule]) -> str:
    lines = [
        f"{rule} ({rule.state}, {rule.trust}, {rule.task_id or 'all tasks'}; {rule.helpful} for, "
        f"{rule.harmful} against; evidence {', '.join(rule.evidence[:_EVIDENCE_IDS]) or 'none'})"
        for rule in found
    ]
    return data(lines) if lines else "No rule was learned yet."


def reflection(found: Reflection) -> str:
    return _shown(reflection_lines(found, _LOOK))


def topology(found: Branch) -> str:
    return cut_lines(render(map_lines(found, _MAP_LOOK)).rstrip())


def hotspots(found: Sequence[Hotspot]) -> str:
    return _shown(hotspot_lines(found, _MAP_LOOK), found)


def stats(found: Stats) -> str:
    """Authors and tools are named as they named themselves."""
    return _shown(stats_lines(found, _MAP_LOOK))


def record_lines(records: Iterable[AnyRecord]) -> list[str]:
    return [
        f"{record.kind}, {record.metadata.validation.status}, "
        f"{record.metadata.context.timestamp:%Y-%m-%d}, "
        f"by {record.metadata.source.author}, {record.id}: "
        f"{one_line(headline(record), _LOOK)[: limits.TOOL_TEXT_WIDTH]}"
        for record in records
    ]
