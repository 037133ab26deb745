"""What a person reads of fixes in a terminal. Commands are shown as they were recorded, and never run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from hardwon.learn.patterns import ModelInsights, Pattern, Strategy
from hardwon.model import Fix
from hardwon.serve.terminal import QUIET, STRONG, Line, Look, Span, cells_of, one_line, percent

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
    names = [[look.visible(name) for name in (fix.issue.model, fix.issue.issue_type, fix.fixer_type)] for fix in fixes]
    cells = _columns(names, look.width - _WHEN_CELLS - _OUTCOME_CELLS - 2 - _TEXT_CELLS_MIN)
    lines: list[Line] = []
    for fix, row in zip(fixes, names, strict=True):
        outcome = outcome_of(fix)
        when = f"{fix.metadata.context.timestamp:%Y-%m-%d %H:%M}  "
        facts = "".join(f"  {look.fitted(name, width)}" for name, width in zip(row, cells, strict=True)) + "  "
        room = look.width - _WHEN_CELLS - _OUTCOME_CELLS - cells_of(facts)
        said = look.fitted(one_line(fix.issue.description, look), max(0, room))
        lines.append(
            (Span(when, QUIET), Span(f"{outcome:<{_OUTCOME_CELLS}}", _STYLES[outcome]), Span(facts), Span(said, QUIET))
        )
    return lines


def _columns(rows: Sequence[Sequence[str]], room: int) -> list[int]:
    """How many cells each column of names gets. Where there is too little room, the widest give way."""
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
        lines.append((Span("    " + look.fitted(_what(strategy, look), max(_TEXT_CELLS_MIN, look.width - 4))),))
    return lines


def _what(strategy: Strategy, look: Look) -> str:
    return one_line(" ; ".join(strategy.fix_commands) or strategy.analysis or "(nothing was said)", look)


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
                Span(f"  success {pattern.success_count} of {attempts} ({percent(rate)})", "green" if rate else "red"),
                Span(f"  applied {pattern.applied_count}  confidence {pattern.confidence:.2f}  "),
                Span(f"p_success {pattern.p_success:.2f}"),
            )
        )
        best = _what(pattern.best_fix, look) if pattern.best_fix else "none worked so far"
        lines.append((Span("  best fix: ", QUIET), Span(look.fitted(best, max(_TEXT_CELLS_MIN, look.width - 12)))))
    return lines


def model_lines(insights: ModelInsights, recent: Sequence[Fix], look: Look) -> list[Line]:
    name = look.visible(insights.model_name)
    if not insights.total_tests:
        return [(Span(f"No fix of {name} is recorded here.", QUIET),)]
    odds = insights.odds
    low, high = odds.interval
    lines: list[Line] = [
        (Span(name, STRONG),),
        (Span(f"  attempts {insights.total_tests}  applied {odds.applied}  verified {odds.verified}"),),
        (Span(f"  success rate {percent(insights.success_rate)}  p_success {odds.p_success:.2f} ({low:.2f} to {high:.2f})"),),
    ]
    lines += [(), (Span("Common issues", STRONG),)]
    lines += [(Span(f"  {count:>6}  {look.visible(issue_type)}"),) for issue_type, count in insights.common_issues]
    if insights.effective_fixes:
        lines += [(), (Span("What helped", STRONG),), *strategy_lines(insights.effective_fixes, look)]
    if insights.performance_notes:
        lines += [(), (Span("Compared with other models", STRONG),)]
        lines += [(Span(f"  {look.visible(note)}"),) for note in insights.performance_notes]
    return [*lines, (), (Span("Newest", STRONG),), *fix_lines(recent, look)]
