"""What a person reads of small reports: rows under the names of their columns, or one thing as
names and values.

What a person reads of fixes in a terminal. Commands are shown as they were recorded, and never run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Final

from hardwon.surfaces.cli.output import QUIET, STRONG, Line, Look, Span, cells_of, one_line, percent

if TYPE_CHECKING:
    from hardwon.learn.fixes import ModelInsights, Pattern, Strategy
    from hardwon.records.kinds import Fix

# --- terminal tables ---

_BETWEEN: Final = "  "
_CELLS_MIN: Final = 8  # what a column keeps where there is too little room for all
_INDENT: Final = "  "


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
    cells = _widths([titles, *texts], look.width)
    right = [
        all(isinstance(value, int | float | None) for value in column)
        for column in zip(*values, strict=True)
    ]
    return [
        (Span(_row(titles, cells, right, look), STRONG),),
        *((Span(_row(row, cells, right, look)),) for row in texts),
    ]


def _widths(rows: Sequence[Sequence[str]], room: int) -> list[int]:
    cells = [max(map(cells_of, column)) for column in zip(*rows, strict=True)]
    excess = sum(cells) + len(_BETWEEN) * (len(cells) - 1) - room
    while excess > 0 and max(cells) > _CELLS_MIN:
        widest = max(cells)
        others = [width for width in cells if width < widest]
        # one column at a time, down to the next widest
        at_once = min(excess, widest - max([*others, _CELLS_MIN]))
        cells[cells.index(widest)] -= max(1, at_once)
        excess -= max(1, at_once)
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
        inside = [] if isinstance(value, str | bytes) else _inside(value, look, indent + _INDENT)
        text = text_of(value)
        if inside:
            yield (start,)
            yield from inside
        elif "\n" in text:
            yield (start,)
            yield from (
                (Span(f"{indent}{_INDENT}{look.visible(line)}"),) for line in text.splitlines()
            )
        else:
            yield (start, Span(f" {look.visible(text)}"))


def _inside(value: object, look: Look, indent: str) -> list[Line]:
    """The lines of what holds names and values itself, or several that do; none where it fits a
    line.
    """
    if isinstance(value, Mapping):
        return list(_values(value, look, indent))
    if not isinstance(value, list | tuple) or not any(
        isinstance(each, Mapping) or "\n" in text_of(each) for each in value
    ):
        return []
    lines: list[Line] = []
    for number, each in enumerate(value, 1):
        lines += _values({str(number): each}, look, indent)
    return lines


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


# --- terminal fixes ---

VERIFIED: Final = "verified"
APPLIED: Final = "applied"
FAILED: Final = "failed"
_STYLES: Final[Mapping[str, str]] = {VERIFIED: "green", APPLIED: "yellow", FAILED: "red"}
_OUTCOME_CELLS: Final = 8
_NAME_CELLS_MIN: Final = 8
_NAME_CELLS_MAX: Final = 24
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
        said = look.fitted(one_line(fix.issue.description, look), max(0, room))
        lines.append(
            (
                Span(when, QUIET),
                Span(f"{outcome:<{_OUTCOME_CELLS}}", _STYLES[outcome]),
                Span(facts),
                Span(said, QUIET),
            )
        )
    return lines


def _columns(rows: Sequence[Sequence[str]], room: int) -> list[int]:
    """How many cells each column of names gets. Where there is too little room, the widest give
    way.
    """
    cells = [min(_NAME_CELLS_MAX, max(map(cells_of, column))) for column in zip(*rows, strict=True)]
    while sum(cells) + 2 * len(cells) > room and max(cells, default=0) > _NAME_CELLS_MIN:
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
