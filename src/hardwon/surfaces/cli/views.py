"""What a person reads in a terminal of each thing: the map of a memory, its hotspots, what it says
about itself, records, fixes. Commands are shown as they were recorded, and never run.

Everything is drawn as lines of spans, a text and a style each; `render` makes them a string, with
colours only where it is told to. Whatever came out of a memory passes `visible` first: a folder's
name or a record's text may hold anything, also what a terminal would obey.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import accumulate
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.records.kinds import INTAKE, AnyRecord, Decision, Fix
from hardwon.search.rank import Hit, headline
from hardwon.search.rank import outcome_of as outcome_of_record

if TYPE_CHECKING:
    from hardwon.learn.fixes import ModelInsights, Pattern, Strategy
    from hardwon.learn.topology import Branch, Hotspot, Reflection
    from hardwon.memory.ask import Stats

# The colour of an outcome, which everything below its folder has too.
STYLES: Final[Mapping[str, str]] = {
    "success": "green",
    "failure": "red",
    "learning": "cyan",
    "interaction": "magenta",
    INTAKE: "yellow",
}

QUIET: Final = "dim"
STRONG: Final = "bold"
_CONTENT_CHARS: Final = 4_000  # of a text that will be cut to a line: more of it is not looked at


class Span(NamedTuple):
    text: str
    style: str = ""


Line = tuple[Span, ...]


@dataclass(frozen=True)
class Look:
    """How to draw: into how many cells, and whether the terminal shows more than ASCII."""

    width: int = 80
    ascii_only: bool = False

    def visible(self, text: str) -> str:
        return visible(text, self.ascii_only)

    def bar(self, share: float, cells: int) -> str:
        filled = max(1, round(min(share, 1) * cells)) if share > 0 else 0
        full, empty = ("#", ".") if self.ascii_only else ("█", "░")
        return full * filled + empty * (cells - filled)

    @property
    def more(self) -> str:
        return "..." if self.ascii_only else "…"

    @property
    def twigs(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """Before a folder and before what lies in it; the same of the last one."""
        if self.ascii_only:
            return ("|- ", "|  "), ("`- ", "   ")
        return ("├─ ", "│  "), ("└─ ", "   ")

    def fitted(self, text: str, cells: int) -> str:
        """Exactly so many cells: filled up, or cut with a sign that it was."""
        taken = cells_of(text)
        if taken > cells:
            text = cut(text, max(0, cells - len(self.more))) + self.more[: max(0, cells)]
            taken = cells_of(text)
        return text + " " * (cells - taken)


def render(lines: Iterable[Line], colour: bool = False) -> str:
    """The lines as one text."""
    if not colour:
        return "".join("".join(span.text for span in line).rstrip() + "\n" for line in lines)
    # only terminals have colours, and there nobody notices how long rich takes to load
    from rich.color import ColorSystem
    from rich.style import Style

    def painted(span: Span) -> str:
        return (
            Style.parse(span.style).render(span.text, color_system=ColorSystem.STANDARD)
            if span.style
            else span.text
        )

    return "".join("".join(map(painted, line)).rstrip() + "\n" for line in lines)


def visible(text: str, ascii_only: bool = False) -> str:
    """The text on one line, with nothing in it that a terminal would act on: control characters,
    direction marks and what cannot be encoded are written out.
    """
    if text.isprintable() and (text.isascii() or not ascii_only):
        return text
    return "".join(
        char
        if char.isprintable() and (char.isascii() or not ascii_only)
        else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def one_line(text: str, look: Look) -> str:
    """A text in one line: its white space is closed up, the rest made visible."""
    return look.visible(" ".join(text[:_CONTENT_CHARS].split()))


def cells_of(text: str) -> int:
    """How many cells of a terminal a text takes: East Asian characters two, marks on a letter
    none.
    """
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, cells: int) -> str:
    return text[: sum(taken <= cells for taken in accumulate(map(_cells, text)))]


def percent(share: float) -> str:
    """Never 0% or 100% where that is not so."""
    if 0 < share < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def size_text(size_bytes: int) -> str:
    power = min((max(size_bytes, 1).bit_length() - 1) // 10, 4)
    unit = ("B", "KiB", "MiB", "GiB", "TiB")[power]
    return f"{size_bytes / 1024**power:.1f} {unit}" if power else f"{size_bytes} {unit}"


def counted(count: int, one: str, more: str = "") -> str:
    return f"{count} {one if count == 1 else more or one + 's'}"


# --- tables, and names with values ---

_BETWEEN: Final = "  "


def table_lines(
    rows: Sequence[object], columns: Sequence[str], look: Look, nothing: str
) -> list[Line]:
    """The attributes of each row that the columns name. Where there is too little room, the widest
    columns are cut.
    """
    if not rows:
        return [(Span(nothing, QUIET),)]
    values = [[getattr(row, name) for name in columns] for row in rows]
    texts = [[one_line(text_of(value), look) for value in row] for row in values]
    titles = [name.replace("_", " ") for name in columns]
    cells = widths([titles, *texts], look.width)
    right = [
        all(isinstance(value, int | float | None) for value in column)
        for column in zip(*values, strict=True)
    ]
    return [
        (Span(_row(titles, cells, right, look), STRONG),),
        *((Span(_row(row, cells, right, look)),) for row in texts),
    ]


def widths(rows: Sequence[Sequence[str]], room: int, most: int = _CONTENT_CHARS) -> list[int]:
    """How many cells each column gets, at most so many. Where there is too little room, the widest
    give way.
    """
    cells = [min(most, max(map(cells_of, column))) for column in zip(*rows, strict=True)]
    room -= len(_BETWEEN) * (len(cells) - 1)
    while sum(cells) > room and max(cells, default=0) > 8:  # so much each column keeps
        cells[cells.index(max(cells))] -= 1
    return cells


def _row(texts: Sequence[str], cells: Sequence[int], right: Sequence[bool], look: Look) -> str:
    shown = []
    for text, width, to_the_right in zip(texts, cells, right, strict=True):
        fitted = look.fitted(text, width)
        shown.append(
            " " * (width - cells_of(fitted.rstrip())) + fitted.rstrip() if to_the_right else fitted
        )
    return _BETWEEN.join(shown)


def value_lines(values: Mapping[str, object], look: Look) -> list[Line]:
    """`name: value`, what is inside of something indented below its name. What is empty is left
    out.
    """
    return list(_values(values, look, ""))


def _values(values: Mapping[str, object], look: Look, indent: str) -> Iterator[Line]:
    for name, value in values.items():
        if value is None or value in ("", [], {}, ()):
            continue
        start = Span(f"{indent}{look.visible(name)}:", STRONG)
        inside = _inside(value, look, indent + "  ")
        yield (start,) if inside else (start, Span(f" {look.visible(text_of(value))}"))
        yield from inside


def _inside(value: object, look: Look, indent: str) -> list[Line]:
    """The lines of what holds names and values itself, or several that do, or more than one line;
    none where it fits a line.
    """
    if isinstance(value, Mapping):
        return list(_values(value, look, indent))
    if isinstance(value, list | tuple) and any(
        isinstance(each, Mapping) or "\n" in text_of(each) for each in value
    ):
        numbered = {str(number): each for number, each in enumerate(value, 1)}
        return list(_values(numbered, look, indent))
    lines = text_of(value).splitlines() if "\n" in text_of(value) else []
    return [(Span(f"{indent}{look.visible(line)}"),) for line in lines]


def text_of(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.3g}"
        case datetime():
            return f"{value:%Y-%m-%d %H:%M}"
        case date():
            return f"{value:%Y-%m-%d}"
        case list() | tuple():
            return ", ".join(map(text_of, value))
        case _:
            return str(value)


_SHARE_CELLS: Final = 4
_SIZE_CELLS: Final = 9
_NAME_CELLS_MIN: Final = 12


# --- the map ---


class _Row(NamedTuple):
    """One line of the map before it is fitted: where it hangs, its name, what it holds, and of how
    much.
    """

    twigs: str
    name: str
    amount: int
    bytes: int
    style: str
    share: float | None = None


def map_lines(
    branch: Branch,
    look: Look,
    *,
    depth: int | None = None,
    min_share: float = 0.0,
    sizes: bool = False,
) -> list[Line]:
    """The tree: a bar, the count and the share of the folder above for every folder. `depth` is how
    many levels are shown; folders below `min_share` are summed up in one line.
    """
    if depth is not None and depth < 1:
        raise InvalidInputError.one("depth", depth, "a whole number, 1 or more")
    if not 0 <= min_share <= 1:
        raise InvalidInputError.one("min_share", min_share, "a number from 0 to 1")
    levels = limits.TOPOLOGY_DEPTH_MAX if depth is None else depth
    top = _Row("", look.visible(branch.name), branch.count, branch.bytes, STRONG)
    rows = [top, *_rows(branch, look, "", "", levels, min_share)]
    count_cells = max(len(str(branch.count)), len("count"))
    fixed = 2 + count_cells + 2 + _SHARE_CELLS + (2 + _SIZE_CELLS if sizes else 0)
    longest = max(cells_of(row.twigs) + cells_of(row.name) for row in rows)
    bar = min(24, max(6, look.width - fixed - longest - 2))
    name = min(longest, look.width - fixed - bar - 2)
    if name < min(longest, _NAME_CELLS_MIN):  # too narrow for both: the name says more than the bar
        bar, name = 0, max(_NAME_CELLS_MIN, min(longest, look.width - fixed))
    return [_map_line(row, look, name, bar, count_cells, sizes) for row in rows]


def _rows(
    parent: Branch, look: Look, above: str, style: str, levels: int, min_share: float
) -> Iterator[_Row]:
    if levels < 1 or not parent.branches:
        return
    shown = [inner for inner in parent.branches if _share(inner.count, parent.count) >= min_share]
    rest = parent.branches[len(shown) :]  # largest first, so what is too small comes last
    count, size = (
        getattr(parent, name) - sum(getattr(inner, name) for inner in parent.branches)
        for name in ("count", "bytes")
    )
    entries: list[tuple[str, int, int, Branch | None]] = [
        (look.visible(inner.name), inner.count, inner.bytes, inner) for inner in shown
    ]
    if rest:
        name = f"{look.more} {len(rest)} more"
        entries.append(
            (name, sum(each.count for each in rest), sum(each.bytes for each in rest), None)
        )
    if count:
        entries.append(("(directly here)", count, size, None))
    for number, (name, count, size, inner) in enumerate(entries, 1):
        twig, below = look.twigs[number == len(entries)]
        own = (style or _style_of(inner.name)) if inner else QUIET
        yield _Row(above + twig, name, count, size, own, _share(count, parent.count))
        if inner:
            yield from _rows(inner, look, above + below, own, levels - 1, min_share)


def _map_line(row: _Row, look: Look, name: int, bar: int, count_cells: int, sizes: bool) -> Line:
    twigs = cut(row.twigs, name)
    drawn, share = " " * bar, ""
    if row.share is not None:
        drawn, share = look.bar(row.share, bar), percent(row.share)
    return (
        Span(twigs, QUIET),
        Span(look.fitted(row.name, name - cells_of(twigs)), row.style),
        *([Span(f"  {drawn}", row.style)] if bar else []),
        Span(f"  {row.amount:>{count_cells}}"),
        Span(f"  {share:>{_SHARE_CELLS}}", QUIET),
        *([Span(f"  {size_text(row.bytes):>{_SIZE_CELLS}}", QUIET)] if sizes else []),
    )


def _style_of(name: str) -> str:
    """That of the outcome which a folder is named after."""
    return STYLES.get(name.partition("=")[2] or name, "")


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


# --- hotspots, reflection, statistics ---


def hotspot_lines(spots: Sequence[Hotspot], look: Look) -> list[Line]:
    """One hotspot a line: its share of the folder above it, its count, its area."""
    if not spots:
        return [(Span("No folder holds so much of the one above it.", QUIET),)]
    count_cells = max(len(str(spot.count)) for spot in spots)
    lines: list[Line] = []
    for spot in spots:
        style = _style_of(spot.path.partition("/")[0])
        numbers = f"{percent(spot.share):>{_SHARE_CELLS}}  {spot.count:>{count_cells}}  "
        area = look.fitted(
            look.visible(spot.area), max(_NAME_CELLS_MIN, look.width - len(numbers) - 12)
        )
        lines.append(
            (Span(look.bar(spot.share, 10) + "  ", style), Span(numbers), Span(area, style))
        )
    return lines


def reflection_lines(found: Reflection, look: Look) -> list[Line]:
    counts = {**found.by_outcome, **({INTAKE: found.intake} if found.intake else {})}
    return [
        (Span(f"{found.total} {'memory' if found.total == 1 else 'memories'}", STRONG),),
        *_counted(counts.items(), found.total, look),
        *_section("By tool", _counted(found.by_tool.items(), found.total, look, "")),
        *_section(
            "Failures gather in",
            _counted(found.hotspots, found.by_outcome.get("failure", 0), look, "red"),
        ),
        *_section(
            "Successes gather in",
            _counted(found.strengths, found.by_outcome.get("success", 0), look, "green"),
        ),
        *_section("In short", [(Span(f"  {look.visible(each)}"),) for each in found.insights]),
        *_section("Newest", [_record_line(record, look) for record in found.recent]),
    ]


def _section(title: str, lines: list[Line]) -> list[Line]:
    """What stands under a title; nothing where that is nothing."""
    return [(), (Span(title, STRONG),), *lines] if lines else []


def _counted(
    rows: Collection[tuple[str, int]], whole: int, look: Look, style: str | None = None
) -> list[Line]:
    """A name, its count, its share and a bar in each line. `style`: None for that of an outcome of
    that name.
    """
    count_cells = max((len(str(count)) for _, count in rows), default=0)
    fixed = 2 + 2 + count_cells + 2 + _SHARE_CELLS + 2 + 10
    longest = max((cells_of(look.visible(name)) for name, _ in rows), default=0)
    cells = max(_NAME_CELLS_MIN, min(longest, look.width - fixed))
    lines: list[Line] = []
    for name, count in rows:
        share, own = _share(count, whole), STYLES.get(name, "") if style is None else style
        numbers = f"  {count:>{count_cells}}  {percent(share):>{_SHARE_CELLS}}  "
        bar = look.bar(share, 10) if look.width >= fixed + _NAME_CELLS_MIN else ""
        fitted = look.fitted(look.visible(name), cells)
        lines.append((Span(f"  {fitted}", own), Span(numbers), Span(bar, own)))
    return lines


def stats_lines(stats: Stats, look: Look) -> list[Line]:
    facts = [
        ("memory", stats.location),
        ("project", stats.project),
        ("size", size_text(stats.size_bytes)),
        ("records", str(stats.records)),
        ("forgotten", str(stats.forgotten)),
        ("decisions", str(stats.decisions)),
        ("events", str(stats.events)),
    ]
    if stats.unembedded:
        facts.append(("no vector", str(stats.unembedded)))
    if stats.first and stats.last:
        facts.append(("from, to", f"{stats.first:%Y-%m-%d %H:%M}, {stats.last:%Y-%m-%d %H:%M} UTC"))
    lines: list[Line] = [
        (Span(f"{name:<10}", STRONG), Span(look.visible(value))) for name, value in facts
    ]
    for what in ("kind", "outcome", "tool", "status", "author"):
        rows = sorted(getattr(stats, f"by_{what}").items(), key=lambda row: (-row[1], row[0]))
        shown = rows[: limits.HOTSPOTS_SHOWN_MAX]
        lines += _section(f"By {what}", _counted(shown, stats.records, look))
    return lines


# --- records ---


def hit_lines(hits: Sequence[Hit], look: Look) -> list[Line]:
    """Each hit in two lines: what it is, and what it says; a third where files that it is about are
    others by now.
    """
    if not hits:
        return [(Span("Nothing here answers that.", QUIET),)]
    lines: list[Line] = []
    for hit in hits:
        day = f"{hit.record.metadata.context.timestamp:%Y-%m-%d}"
        lines += _two_lines(
            hit.record, f"{hit.score:.2f}", look, f"{', stale' if hit.stale else ''}, {day}"
        )
        if hit.changed:
            changes = "; ".join(map(str, hit.changed))
            lines.append(
                (Span("  " + look.fitted(one_line(changes, look), look.width - 2), STYLES[INTAKE]),)
            )
    return lines


def record_lines(records: Sequence[AnyRecord], look: Look) -> list[Line]:
    """Each record in two lines: what it is, and what it says."""
    return [
        line
        for record in records
        for line in _two_lines(record, f"{record.metadata.context.timestamp:%Y-%m-%d %H:%M}", look)
    ]


def _two_lines(record: AnyRecord, start: str, look: Look, more: str = "") -> list[Line]:
    """`more` is said of it beside its status."""
    name = outcome_of_record(record)
    first = (
        Span(start, STRONG),
        Span(f"  {look.visible(name)}" if name else "", STYLES.get(name, "")),
        Span(f"  {record.kind}, {record.metadata.validation.status}{more}, {record.id}", QUIET),
    )
    return [first, (Span("  " + look.fitted(one_line(headline(record), look), look.width - 2)),)]


def _record_line(record: AnyRecord, look: Look) -> Line:
    name = outcome_of_record(record)
    start = f"  {record.metadata.context.timestamp:%Y-%m-%d %H:%M}  "
    text = look.fitted(
        one_line(headline(record), look), max(_NAME_CELLS_MIN, look.width - len(start) - 13)
    )
    return (
        Span(start, QUIET),
        Span(look.fitted(look.visible(name), 11) + "  ", STYLES.get(name, "")),
        Span(text),
    )


def page_lines(page: Any, how: Look) -> list[Line]:
    lines = record_lines(page.records, how) or [(Span("No record is like that.", QUIET),)]
    if page.next:
        lines.append((Span(f"The newest {len(page.records)}; there are more.", QUIET),))
    return lines


def status_text(record: AnyRecord, _: Look) -> str:
    return f"{record.id} is {record.metadata.validation.status}"


def decision_row(decision: Decision) -> SimpleNamespace:
    about = (decision.target, decision.replacement, decision.text, decision.reason)
    return SimpleNamespace(
        id=decision.id,
        at=decision.metadata.context.timestamp,
        action=decision.action,
        about=" ".join(filter(None, about)),
    )


def undone_text(record: AnyRecord, _: Look) -> str:
    if isinstance(record, Decision):
        return f"undone: {record.action}" + (f" of {record.target}" if record.target else "")
    return f"undone: {record.id} is {record.metadata.validation.status} again"


_CONSOLIDATED: Final = {
    "merged": "merged with one that says nearly the same",
    "contradictions": "contradiction",
    "promoted": "holds for the whole project",
    "retired": "retired",
    "written": "written as a candidate",
}


def consolidated_text(done: Any, _: Look) -> str:
    lines = [f"{counted(len(done.decisions), 'decision')} made"]
    for name, what in _CONSOLIDATED.items():
        lines += [
            f"{each.id}  {what}: {each.text or each.reason or each.target}"
            for each in getattr(done, name)
        ]
    return "\n".join([*lines, *done.notes])


def finding_lines(found: Any, _: Look) -> list[Line]:
    marks = {True: Span("ok   ", "green"), False: Span("BAD  ", "bold red")}
    return [
        (marks[each.ok], Span(f"{each.check}: ", STRONG), Span(visible(each.detail)))
        for each in found.findings
    ]


# --- fixes ---

_STYLE_OF_FIX: Final = {"verified": "green", "applied": "yellow", "failed": "red"}
_OUTCOME_CELLS: Final = 8
_TEXT_CELLS_MIN: Final = 20


def outcome_of(fix: Fix) -> str:
    """Applied is one thing, verified to work another; verified without being applied is neither."""
    applied = "verified" if fix.verification_success else "applied"
    return applied if fix.fix_success else "failed"


def fix_lines(fixes: Sequence[Fix], look: Look) -> list[Line]:
    """One attempt a line: when, how it went, on which model, what was wrong, who fixed it."""
    names = [
        [look.visible(name) for name in (fix.issue.model, fix.issue.issue_type, fix.fixer_type)]
        for fix in fixes
    ]
    fixed = len("2026-01-31 12:00  ") + _OUTCOME_CELLS
    cells = widths(names, look.width - fixed - 4 - _TEXT_CELLS_MIN, 24)
    lines: list[Line] = []
    for fix, row in zip(fixes, names, strict=True):
        outcome = outcome_of(fix)
        when = f"{fix.metadata.context.timestamp:%Y-%m-%d %H:%M}  "
        facts = (
            "".join(f"  {look.fitted(name, width)}" for name, width in zip(row, cells, strict=True))
            + "  "
        )
        room = max(0, look.width - fixed - cells_of(facts))
        lines.append(
            (
                Span(when, QUIET),
                Span(f"{outcome:<{_OUTCOME_CELLS}}", _STYLE_OF_FIX[outcome]),
                Span(facts),
                Span(look.fitted(one_line(fix.issue.description, look), room), QUIET),
            )
        )
    return lines


def outcome_counts(fixes: Sequence[Fix]) -> str:
    outcomes = [outcome_of(fix) for fix in fixes]
    return ", ".join(f"{outcomes.count(name)} {name}" for name in _STYLE_OF_FIX)


def strategy_lines(strategies: Sequence[Strategy], look: Look) -> list[Line]:
    """Two lines each: how it went, and what it is."""
    lines: list[Line] = []
    for strategy in strategies:
        worked = f"  worked {strategy.verified} of {strategy.attempts}"
        rest = f"  p_success {strategy.p_success:.2f}  applied {strategy.applied}  last {strategy.last_used:%Y-%m-%d}"
        lines.append((Span(worked, "green" if strategy.verified else "red"), Span(rest, QUIET)))
        lines.append(
            (
                Span(
                    "    "
                    + look.fitted(_what(strategy, look), max(_TEXT_CELLS_MIN, look.width - 4))
                ),
            )
        )
    return lines


def _what(strategy: Strategy, look: Look) -> str:
    return one_line(
        " ; ".join(strategy.fix_commands) or strategy.analysis or "(nothing was said)", look
    )


def successful_lines(by_type: Mapping[str, Sequence[Strategy]], look: Look) -> list[Line]:
    if not by_type:
        return [(Span("No fix was verified to work yet.", QUIET),)]
    lines: list[Line] = []
    for issue_type, strategies in by_type.items():
        lines += _section(look.visible(issue_type), strategy_lines(strategies, look))
    return lines[1:]


def pattern_lines(patterns: Sequence[Pattern], look: Look) -> list[Line]:
    if not patterns:
        return [(Span("No issue came up more than once yet.", QUIET),)]
    lines: list[Line] = []
    for pattern in patterns:
        attempts = pattern.success_count + pattern.failure_count
        rate = pattern.success_count / attempts if attempts else 0.0
        name = look.visible(pattern.name)
        room = min(cells_of(name), max(_TEXT_CELLS_MIN, look.width - len("  2026-01-31")))
        lines.append(
            (Span(look.fitted(name, room), STRONG), Span(f"  {pattern.last_seen:%Y-%m-%d}", QUIET))
        )
        lines.append(
            (
                Span(
                    f"  success {pattern.success_count} of {attempts} ({percent(rate)})",
                    "green" if rate else "red",
                ),
                Span(f"  applied {pattern.applied_count}  confidence {pattern.confidence:.2f}  "),
                Span(f"p_success {pattern.p_success:.2f}"),
            )
        )
        best = _what(pattern.best_fix, look) if pattern.best_fix else "none worked so far"
        lines.append(
            (
                Span("  best fix: ", QUIET),
                Span(look.fitted(best, max(_TEXT_CELLS_MIN, look.width - 12))),
            )
        )
    return lines


def model_lines(insights: ModelInsights, look: Look) -> list[Line]:
    name = look.visible(insights.model_name)
    if not insights.total_tests:
        return [(Span(f"No fix of {name} is recorded here.", QUIET),)]
    odds = insights.odds
    low, high = odds.interval
    return [
        (Span(name, STRONG),),
        (
            Span(
                f"  attempts {insights.total_tests}  applied {odds.applied}  verified "
                f"{odds.verified}"
            ),
        ),
        (
            Span(
                f"  success rate {percent(insights.success_rate)}  p_success {odds.p_success:.2f} "
                f"({low:.2f} to {high:.2f})"
            ),
        ),
        *_section(
            "Common issues",
            [
                (Span(f"  {count:>6}  {look.visible(issue_type)}"),)
                for issue_type, count in insights.common_issues
            ],
        ),
        *_section("What helped", strategy_lines(insights.effective_fixes, look)),
        *_section(
            "Compared with other models",
            [(Span(f"  {look.visible(note)}"),) for note in insights.performance_notes],
        ),
    ]
