"""What a person reads in a terminal of each thing: the map of a memory, its hotspots, what it says
about itself, records, fixes. Commands are shown as they were recorded, and never run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.records.kinds import INTAKE, AnyRecord
from hardwon.search.rank import headline
from hardwon.search.rank import outcome_of as outcome_of_record
from hardwon.surfaces.cli.output import (
    QUIET,
    STRONG,
    STYLES,
    Line,
    Look,
    Span,
    cells_of,
    cut,
    one_line,
    percent,
    size_text,
)

if TYPE_CHECKING:
    from hardwon.learn.fixes import ModelInsights, Pattern, Strategy
    from hardwon.learn.topology import Branch, Hotspot, Reflection
    from hardwon.memory.ask import Stats
    from hardwon.records.kinds import Fix
    from hardwon.search.rank import Hit

_SHARE_CELLS: Final = 4
_SIZE_CELLS: Final = 9
_NAME_CELLS_MIN: Final = 12
_BAR_CELLS_MIN: Final = 6
_BAR_CELLS_MAX: Final = 24


# --- the map ---


class _Row(NamedTuple):
    """One line of the map before it is fitted: where it hangs, its name, what it holds, and of how
    much.
    """

    twigs: str
    name: str
    amount: int
    bytes: int
    share: float
    style: str
    bar: bool = True


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
    top = _Row("", look.visible(branch.name), branch.count, branch.bytes, 1.0, STRONG, bar=False)
    rows = [top, *_rows(branch, look, "", "", levels, min_share)]
    count_cells = max(len(str(branch.count)), len("count"))
    fixed = 2 + count_cells + 2 + _SHARE_CELLS + (2 + _SIZE_CELLS if sizes else 0)
    longest = max(cells_of(row.twigs) + cells_of(row.name) for row in rows)
    bar = min(_BAR_CELLS_MAX, max(_BAR_CELLS_MIN, look.width - fixed - longest - 2))
    name = min(longest, look.width - fixed - bar - 2)
    if name < min(longest, _NAME_CELLS_MIN):  # too narrow for both: the name says more than the bar
        bar, name = 0, max(_NAME_CELLS_MIN, min(longest, look.width - fixed))
    return [_map_line(row, look, name, bar, count_cells, sizes) for row in rows]


def _rows(
    parent: Branch, look: Look, above: str, style: str, levels: int, min_share: float
) -> Iterator[_Row]:
    if levels < 1 or not parent.branches:
        return
    shown_ones = [
        inner for inner in parent.branches if _share(inner.count, parent.count) >= min_share
    ]
    rest = parent.branches[len(shown_ones) :]  # largest first, so what is too small comes last
    direct = parent.count - sum(inner.count for inner in parent.branches)
    direct_bytes = parent.bytes - sum(inner.bytes for inner in parent.branches)
    before, last, go_on = look.twigs
    for number, inner in enumerate(shown_ones, 1):
        is_last = number == len(shown_ones) and not rest and not direct
        own = style or STYLES.get(inner.name.partition("=")[2] or inner.name, "")
        share = _share(inner.count, parent.count)
        yield _Row(
            above + (last if is_last else before),
            look.visible(inner.name),
            inner.count,
            inner.bytes,
            share,
            own,
        )
        yield from _rows(
            inner, look, above + ("   " if is_last else go_on), own, levels - 1, min_share
        )
    if rest:
        count, size = sum(inner.count for inner in rest), sum(inner.bytes for inner in rest)
        twig = above + (before if direct else last)
        yield _Row(
            twig, f"{look.more} {len(rest)} more", count, size, _share(count, parent.count), QUIET
        )
    if direct:
        yield _Row(
            above + last,
            "(directly here)",
            direct,
            direct_bytes,
            _share(direct, parent.count),
            QUIET,
        )


def _map_line(row: _Row, look: Look, name: int, bar: int, count_cells: int, sizes: bool) -> Line:
    twigs = cut(row.twigs, name)
    spans = [Span(twigs, QUIET), Span(look.fitted(row.name, name - cells_of(twigs)), row.style)]
    if bar:
        spans.append(Span("  " + (look.bar(row.share, bar) if row.bar else " " * bar), row.style))
    spans.append(Span(f"  {row.amount:>{count_cells}}"))
    spans.append(Span(f"  {percent(row.share) if row.bar else '':>{_SHARE_CELLS}}", QUIET))
    if sizes:
        spans.append(Span(f"  {size_text(row.bytes):>{_SIZE_CELLS}}", QUIET))
    return tuple(spans)


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
        first = spot.path.partition("/")[0]
        style = STYLES.get(first.partition("=")[2] or first, "")
        numbers = f"{percent(spot.share):>{_SHARE_CELLS}}  {spot.count:>{count_cells}}  "
        area = look.fitted(
            look.visible(spot.area), max(_NAME_CELLS_MIN, look.width - len(numbers) - 12)
        )
        lines.append(
            (Span(look.bar(spot.share, 10) + "  ", style), Span(numbers), Span(area, style))
        )
    return lines


def reflection_lines(found: Reflection, look: Look) -> list[Line]:
    lines: list[Line] = [
        (Span(f"{found.total} {'memory' if found.total == 1 else 'memories'}", STRONG),)
    ]
    outcomes = [(name, count, STYLES.get(name, "")) for name, count in found.by_outcome.items()]
    if found.intake:
        outcomes.append((INTAKE, found.intake, STYLES[INTAKE]))
    lines += _counted("", outcomes, found.total, look)
    lines += _counted(
        "By tool", [(name, count, "") for name, count in found.by_tool.items()], found.total, look
    )
    failures, successes = found.by_outcome.get("failure", 0), found.by_outcome.get("success", 0)
    lines += _counted(
        "Failures gather in",
        [(area, count, "red") for area, count in found.hotspots],
        failures,
        look,
    )
    lines += _counted(
        "Successes gather in",
        [(area, count, "green") for area, count in found.strengths],
        successes,
        look,
    )
    if found.insights:
        lines += [(), (Span("In short", STRONG),)]
        lines += [(Span(f"  {look.visible(sentence)}"),) for sentence in found.insights]
    if found.recent:
        lines += [(), (Span("Newest", STRONG),)]
        lines += [_record_line(record, look) for record in found.recent]
    return lines


def _counted(
    title: str, rows: Sequence[tuple[str, int, str]], whole: int, look: Look
) -> list[Line]:
    if not rows:
        return []
    count_cells = max(len(str(count)) for _, count, _ in rows)
    fixed = 2 + 2 + count_cells + 2 + _SHARE_CELLS + 2 + 10
    names = [look.visible(name) for name, _, _ in rows]
    cells = max(_NAME_CELLS_MIN, min(max(map(cells_of, names)), look.width - fixed))
    lines: list[Line] = [(), (Span(title, STRONG),)] if title else []
    for name, (_, count, style) in zip(names, rows, strict=True):
        share = _share(count, whole)
        numbers = f"  {count:>{count_cells}}  {percent(share):>{_SHARE_CELLS}}  "
        bar = look.bar(share, 10) if look.width >= fixed + _NAME_CELLS_MIN else ""
        lines.append(
            (Span(f"  {look.fitted(name, cells)}", style), Span(numbers), Span(bar, style))
        )
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
    if stats.first and stats.last:
        facts.append(("from, to", f"{stats.first:%Y-%m-%d %H:%M}, {stats.last:%Y-%m-%d %H:%M} UTC"))
    lines: list[Line] = [
        (Span(f"{name:<10}", STRONG), Span(look.visible(value))) for name, value in facts
    ]
    for title, counts in (
        ("By kind", stats.by_kind),
        ("By outcome", stats.by_outcome),
        ("By tool", stats.by_tool),
        ("By status", stats.by_status),
        ("By author", stats.by_author),
    ):
        rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[
            : limits.HOTSPOTS_SHOWN_MAX
        ]
        lines += _counted(
            title,
            [(name, count, STYLES.get(name, "")) for name, count in rows],
            stats.records,
            look,
        )
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
    facts = f"  {record.kind}, {record.metadata.validation.status}{more}, {record.id}"
    first = (
        Span(start, STRONG),
        Span(f"  {look.visible(name)}" if name else "", STYLES.get(name, "")),
        Span(facts, QUIET),
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


# --- fixes ---

VERIFIED: Final = "verified"
APPLIED: Final = "applied"
FAILED: Final = "failed"
_STYLE_OF_FIX: Final[Mapping[str, str]] = {VERIFIED: "green", APPLIED: "yellow", FAILED: "red"}
_OUTCOME_CELLS: Final = 8
_FIX_NAME_CELLS_MIN: Final = 8
_FIX_NAME_CELLS_MAX: Final = 24
_TEXT_CELLS_MIN: Final = 20
_WHEN_CELLS: Final = 18
_DAY_CELLS: Final = 12


def outcome_of(fix: Fix) -> str:
    """Applied is one thing, verified to work another; verified without being applied is neither."""
    if not fix.fix_success:
        return FAILED
    return VERIFIED if fix.verification_success else APPLIED


def fix_lines(fixes: Sequence[Fix], look: Look) -> list[Line]:
    """One attempt a line: when, how it went, on which model, what was wrong, who fixed it."""
    names = [
        [look.visible(name) for name in (fix.issue.model, fix.issue.issue_type, fix.fixer_type)]
        for fix in fixes
    ]
    cells = _columns(names, look.width - _WHEN_CELLS - _OUTCOME_CELLS - 2 - _TEXT_CELLS_MIN)
    lines: list[Line] = []
    for fix, row in zip(fixes, names, strict=True):
        outcome = outcome_of(fix)
        when = f"{fix.metadata.context.timestamp:%Y-%m-%d %H:%M}  "
        facts = (
            "".join(f"  {look.fitted(name, width)}" for name, width in zip(row, cells, strict=True))
            + "  "
        )
        room = look.width - _WHEN_CELLS - _OUTCOME_CELLS - cells_of(facts)
        text = look.fitted(one_line(fix.issue.description, look), max(0, room))
        lines.append(
            (
                Span(when, QUIET),
                Span(f"{outcome:<{_OUTCOME_CELLS}}", _STYLE_OF_FIX[outcome]),
                Span(facts),
                Span(text, QUIET),
            )
        )
    return lines


def _columns(rows: Sequence[Sequence[str]], room: int) -> list[int]:
    """How many cells each column of names gets. Where there is too little room, the widest give
    way.
    """
    cells = [
        min(_FIX_NAME_CELLS_MAX, max(map(cells_of, column))) for column in zip(*rows, strict=True)
    ]
    while sum(cells) + 2 * len(cells) > room and max(cells, default=0) > _FIX_NAME_CELLS_MIN:
        cells[cells.index(max(cells))] -= 1
    return cells


def outcome_counts(fixes: Sequence[Fix]) -> str:
    outcomes = [outcome_of(fix) for fix in fixes]
    return ", ".join(f"{outcomes.count(name)} {name}" for name in (VERIFIED, APPLIED, FAILED))


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
        lines += [(), (Span(look.visible(issue_type), STRONG),), *strategy_lines(strategies, look)]
    return lines[1:]


def pattern_lines(patterns: Sequence[Pattern], look: Look) -> list[Line]:
    if not patterns:
        return [(Span("No issue came up more than once yet.", QUIET),)]
    lines: list[Line] = []
    for pattern in patterns:
        attempts = pattern.success_count + pattern.failure_count
        rate = pattern.success_count / attempts if attempts else 0.0
        name = look.visible(pattern.name)
        room = max(_TEXT_CELLS_MIN, look.width - _DAY_CELLS)
        name = name if cells_of(name) <= room else look.fitted(name, room)
        lines.append((Span(name, STRONG), Span(f"  {pattern.last_seen:%Y-%m-%d}", QUIET)))
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
    lines: list[Line] = [
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
    ]
    lines += [(), (Span("Common issues", STRONG),)]
    lines += [
        (Span(f"  {count:>6}  {look.visible(issue_type)}"),)
        for issue_type, count in insights.common_issues
    ]
    if insights.effective_fixes:
        lines += [
            (),
            (Span("What helped", STRONG),),
            *strategy_lines(insights.effective_fixes, look),
        ]
    if insights.performance_notes:
        lines += [(), (Span("Compared with other models", STRONG),)]
        lines += [(Span(f"  {look.visible(note)}"),) for note in insights.performance_notes]
    return lines
