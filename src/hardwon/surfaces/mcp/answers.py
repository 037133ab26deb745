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
from typing import Any, Final, NamedTuple

from hardwon import limits
from hardwon.brief.advice import Advice
from hardwon.brief.fence import fenced
from hardwon.learn.fixes import ModelInsights
from hardwon.learn.rules import Rule
from hardwon.learn.topology import Branch, Hotspot, Reflection
from hardwon.memory.ask import Stats
from hardwon.memory.context import Context
from hardwon.memory.results import SimilarIssues
from hardwon.records.kinds import AnyRecord, Fix
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


class Fitted(NamedTuple):
    """`left_out` says what was cut, and is empty where nothing was."""

    value: Any
    left_out: str


def fit(value: Any, chars_max: int, whole: frozenset[str] = frozenset()) -> Fitted:
    """A JSON value that takes at most about so many characters. `whole`: keys at the top whose
    values stay as they are, and do not count.
    """
    kept = {name: value[name] for name in whole if name in value} if isinstance(value, dict) else {}
    rest = {name: inner for name, inner in value.items() if name not in kept} if kept else value
    if _size(rest) <= chars_max:
        return Fitted(value, "")
    for cut in (_Cut(*bounds) for bounds in limits.RESULT_CUTS):
        shorter = cut.value(rest, 0)
        if _size(shorter) <= chars_max:
            break
    if kept:
        shorter = {name: kept.get(name, shorter.get(name)) for name in value}
    return Fitted(shorter, cut.note())


def _size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


class _Cut:
    def __init__(self, text_chars: int, items: int, levels: int) -> None:
        self._text_chars = text_chars
        self._items = items
        self._levels = levels
        self._texts_cut = 0
        self._items_left_out = 0

    def value(self, given: Any, level: int) -> Any:
        if isinstance(given, str):
            return self._text(given)
        if isinstance(given, list):
            return self._list(given, level)
        if isinstance(given, dict):
            return {
                self._text(name): self._field(name, inner, level + 1)
                for name, inner in self._entries(given)
            }
        return given

    def _text(self, given: str) -> str:
        if len(given) <= self._text_chars:
            return given
        self._texts_cut += 1
        return given[: self._text_chars - 1] + CUT

    def _field(self, name: str, given: Any, level: int) -> Any:
        if name in _CALLERS_OWN and given and self._levels <= 1:
            self._items_left_out += len(given)
            return {}
        return self.value(given, level)

    def _list(self, given: list[Any], level: int) -> list[Any]:
        # A list of plain values may be a pair, which has its length; a list of objects may be
        # empty.
        some = 0 if level > self._levels and given and isinstance(given[0], dict) else self._items
        self._items_left_out += max(0, len(given) - some)
        return [self.value(inner, level + 1) for inner in given[:some]]

    def _entries(self, given: dict[str, Any]) -> list[tuple[str, Any]]:
        entries = list(given.items())
        most = max(self._items, limits.COUNTS_SHOWN_MIN)
        if len(entries) <= most:
            return entries
        self._items_left_out += len(entries) - most
        if not all(isinstance(inner, int | float) for inner in given.values()):
            return entries[:most]  # what every record has stands first, and is less
        return sorted(entries, key=lambda entry: (-entry[1], entry[0]))[:most]

    def note(self) -> str:
        items, texts = self._items_left_out, self._texts_cut
        entries = f"{items} {'entry' if items == 1 else 'entries'}"
        ends = f"the end of {texts} long {'text' if texts == 1 else 'texts'}"
        return " and ".join(part for part, count in ((entries, items), (ends, texts)) if count)


def cut_lines(text: str, chars_max: int = limits.TOOL_TEXT_CHARS_MAX) -> str:
    """Whole lines of it, as many as fit, and how many are missing."""
    if len(text) <= chars_max:
        return text
    lines = text.splitlines()
    kept: list[str] = []
    room = chars_max
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join([*kept, f"{CUT} {len(lines) - len(kept)} more lines were left out"])


# --- mcp text ---

_LOOK: Final = Look(width=limits.TOOL_TEXT_WIDTH)
_MAP_LOOK: Final = Look(width=100)
_EVIDENCE_IDS: Final = 3


def data(lines: Iterable[str]) -> str:
    """Lines that others wrote, fenced; as many as a model can read."""
    cut = (line.replace("\n", " ")[: limits.CONTEXT_LINE_CHARS_MAX] for line in lines)
    return fenced(cut_lines("\n".join(cut)).split("\n"), secrets.token_hex(limits.MARK_BYTES))


def _plain(lines: Sequence[Line]) -> list[str]:
    return [line for line in render(lines).split("\n") if line.strip()]


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
    return data(_plain(hit_lines(found, _LOOK))) if found else "Nothing here answers that."


def context(found: Context) -> str:
    return found.text


def advice(found: Advice) -> str:
    return f"{found.verdict} (p = {found.p_success:.2f}): {found.message}"


def similar(found: SimilarIssues) -> str:
    groups = (
        ("the same issue", found.exact),
        ("this model and issue type", found.model),
        ("this issue type", found.type),
    )
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
    lines = model_lines(found, _LOOK)
    return data(_plain(lines)) if found.total_tests else render(lines).strip()


def rules(found: Sequence[Rule]) -> str:
    if not found:
        return "No rule was learned yet."
    return data(
        f"{rule} ({rule.state}, {rule.trust}, {rule.task_id or 'all tasks'}; {rule.helpful} for, "
        f"{rule.harmful} against; evidence {', '.join(rule.evidence[:_EVIDENCE_IDS]) or 'none'})"
        for rule in found
    )


def reflection(found: Reflection) -> str:
    return data(_plain(reflection_lines(found, _LOOK)))


def topology(found: Branch) -> str:
    return cut_lines(render(map_lines(found, _MAP_LOOK)).rstrip())


def hotspots(found: Sequence[Hotspot]) -> str:
    lines = hotspot_lines(found, _MAP_LOOK)
    return data(_plain(lines)) if found else render(lines).strip()


def stats(found: Stats) -> str:
    """Authors and tools are named as they named themselves."""
    return data(_plain(stats_lines(found, _MAP_LOOK)))


def record_lines(records: Iterable[AnyRecord]) -> list[str]:
    return [
        f"{record.kind}, {record.metadata.validation.status}, "
        f"{record.metadata.context.timestamp:%Y-%m-%d}, "
        f"by {record.metadata.source.author}, {record.id}: "
        f"{one_line(headline(record), _LOOK)[: limits.TOOL_TEXT_WIDTH]}"
        for record in records
    ]
