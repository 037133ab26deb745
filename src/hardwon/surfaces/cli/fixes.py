"""What the memory knows of fixes: `model`, `recent`, `successful`, `patterns`."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

import typer

from hardwon import limits
from hardwon.learn.fixes import ModelInsights, Pattern, Strategy
from hardwon.memory import Memory
from hardwon.records.kinds import Fix
from hardwon.surfaces.cli import views as terminal_fixes
from hardwon.surfaces.cli.base import FIXES, Json, chosen, command, look, write_json, write_lines
from hardwon.surfaces.cli.input import Limit
from hardwon.surfaces.cli.output import QUIET, Line, Span

RECENT_DAYS: Final = 7
STRATEGIES_LISTED: Final = 5
PATTERNS_LISTED: Final = 20
_FIRST_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)  # no record is older

Name = Annotated[str, typer.Argument(metavar="NAME", help="The model, as its fixes name it.")]
Days = Annotated[int, typer.Argument(metavar="DAYS", min=1, max=limits.DAYS_MAX, help="Of the last so many days.")]
Shown = Annotated[int, typer.Option(min=1, max=limits.SHOWN_MAX, help="At most so many of each issue type.")]
All = Annotated[bool, typer.Option("--all", help="Also issues that came up only once.")]


@command(
    FIXES,
    "hardwon model qwen2.5:7b",
    "hardwon model qwen2.5:7b --json",
    answers="""`model_name`, `total_tests`, `applied`, `verified`, `success_rate` (the plain share of verified),
    `confidence`, `p_success`, `interval`, `common_issues` (a list of `issue_type` and `count`), `effective_fixes`
    (strategies), `performance_notes`, `last_updated` (null where no fix of the model is recorded), `recent_history`
    (fixes).""",
    more="""How its fixes went, its common issues, what helped, how it compares with other models, and the newest attempts.""",
)
def model(ctx: typer.Context, name: Name, as_json: Json = False) -> None:
    """Print what is known of a model: its issues, what helped."""
    with chosen(ctx).open(to_read=True) as memory:
        insights = memory.model_insights(name)
        newest = fixes_of(memory, limit=limits.FIXES_OF_MODEL_LISTED, model=name)
    if as_json:
        write_json(_insights_json(insights) | {"recent_history": [fix_json(fix) for fix in newest]})
    else:
        write_lines(terminal_fixes.model_lines(insights, newest, look()))


@command(
    FIXES,
    "hardwon recent",
    "hardwon recent 30 --limit 20 --json",
    answers="""a list of fixes: `id`, `timestamp`, `model_name`, `issue_type`, `description`, `fixer_type`, `analysis`,
    `fix_commands`, `outcome`, `fix_success`, `verification_success`, `execution_time_seconds`, `notes`.""",
    more="""The newest first, each with its outcome.""",
)
def recent(ctx: typer.Context, days: Days = RECENT_DAYS, limit: Limit = limits.FIXES_LISTED, as_json: Json = False) -> None:
    """List the fixes that were tried in the last days."""
    with chosen(ctx).open(to_read=True) as memory:
        show_recent(memory, days, limit, as_json=as_json)


@command(
    FIXES,
    "hardwon successful",
    "hardwon successful --limit 3 --json",
    answers="a list of `issue_type` and `strategies`.",
    more="""The most frequent type first: how often it worked and how likely it is to work again. What never worked is not
    listed.""",
)
def successful(ctx: typer.Context, limit: Shown = STRATEGIES_LISTED, as_json: Json = False) -> None:
    """List what worked best, by issue type."""
    with chosen(ctx).open(to_read=True) as memory:
        show_successful(memory, limit, as_json=as_json)


@command(
    FIXES,
    "hardwon patterns",
    "hardwon patterns --all --limit 50 --json",
    answers="""a list of `name`, `kind` ("exact", "model" or "type"), `issue_type`, `model` (null for any), `signature`,
    `success_count`, `failure_count`, `applied_count`, `confidence`, `p_success`, `interval`, `last_seen`, `best_fix` (a
    strategy, or null where none worked).""",
    more="""The most frequent first: the same signature, a model and issue type, an issue type on any model; each with its
    best fix.""",
)
def patterns(ctx: typer.Context, limit: Limit = PATTERNS_LISTED, every: All = False, as_json: Json = False) -> None:
    """List the issues that keep coming up, and what fixes them."""
    with chosen(ctx).open(to_read=True) as memory:
        show_patterns(memory, limit, every=every, as_json=as_json)


# --- also for scripts written for memory.sh -----------------------------------------------------------------------------


def show_recent(memory: Memory, days: int, limit: int, *, as_json: bool) -> None:
    found = fixes_of(memory, limit=limit + 1, since=max(memory.now() - timedelta(days=days), _FIRST_TIME))
    shown = found[:limit]
    if as_json:
        write_json([fix_json(fix) for fix in shown])
        return
    when = "last day" if days == 1 else f"last {days} days"
    lines: list[Line] = [*terminal_fixes.fix_lines(shown, look())] if shown else []
    if len(found) > limit:
        lines.append(
            (Span(f"The newest {limit} of the {when}: {terminal_fixes.outcome_counts(shown)}; there are more", QUIET),)
        )
    elif shown:
        lines.append((Span(f"{len(shown)} in the {when}: {terminal_fixes.outcome_counts(shown)}", QUIET),))
    else:
        lines.append((Span(f"No fix was attempted in the {when}.", QUIET),))
    write_lines(lines)


def show_successful(memory: Memory, limit: int, *, as_json: bool) -> None:
    found = memory.best_strategies(limit)
    if as_json:
        write_json(
            [{"issue_type": issue_type, "strategies": list(map(strategy_json, each))} for issue_type, each in found.items()]
        )
    else:
        write_lines(terminal_fixes.successful_lines(found, look()))


def show_patterns(memory: Memory, limit: int, *, every: bool, as_json: bool) -> None:
    found = [each for each in memory.patterns(limit) if every or each.success_count + each.failure_count > 1]
    if as_json:
        write_json([_pattern_json(pattern) for pattern in found])
    else:
        write_lines(terminal_fixes.pattern_lines(found, look()))


def fixes_of(memory: Memory, limit: int, **filters: Any) -> Sequence[Fix]:
    return [record for record in memory.browse(limit, kind="fix", **filters) if isinstance(record, Fix)]


# --- as JSON ------------------------------------------------------------------------------------------------------------


def fix_json(fix: Fix) -> dict[str, Any]:
    return {
        "id": fix.id,
        "timestamp": fix.metadata.context.timestamp.isoformat(),
        "model_name": fix.issue.model,
        "issue_type": fix.issue.issue_type,
        "description": fix.issue.description,
        "fixer_type": fix.fixer_type,
        "analysis": fix.analysis,
        "fix_commands": list(fix.fix_commands),
        "outcome": terminal_fixes.outcome_of(fix),
        "fix_success": fix.fix_success,
        "verification_success": fix.verification_success,
        "execution_time_seconds": fix.execution_time_seconds,
        "notes": fix.notes,
    }


def strategy_json(strategy: Strategy) -> dict[str, Any]:
    return {
        "fix_commands": list(strategy.fix_commands),
        "analysis": strategy.analysis,
        "attempts": strategy.attempts,
        "applied": strategy.applied,
        "verified": strategy.verified,
        "p_success": strategy.p_success,
        "interval": list(strategy.interval),
        "last_used": strategy.last_used.isoformat(),
        "evidence": list(strategy.evidence),
    }


def _pattern_json(pattern: Pattern) -> dict[str, Any]:
    return {
        "name": pattern.name,
        "kind": pattern.kind,
        "issue_type": pattern.issue_type,
        "model": pattern.model,
        "signature": pattern.signature,
        "success_count": pattern.success_count,
        "failure_count": pattern.failure_count,
        "applied_count": pattern.applied_count,
        "confidence": pattern.confidence,
        "p_success": pattern.p_success,
        "interval": list(pattern.interval),
        "last_seen": pattern.last_seen.isoformat(),
        "best_fix": strategy_json(pattern.best_fix) if pattern.best_fix else None,
    }


def _insights_json(insights: ModelInsights) -> dict[str, Any]:
    odds = insights.odds
    return {
        "model_name": insights.model_name,
        "total_tests": insights.total_tests,
        "applied": odds.applied,
        "verified": odds.verified,
        "success_rate": insights.success_rate,
        "confidence": odds.confidence,
        "p_success": odds.p_success,
        "interval": list(odds.interval),
        "common_issues": [{"issue_type": issue_type, "count": count} for issue_type, count in insights.common_issues],
        "effective_fixes": [strategy_json(strategy) for strategy in insights.effective_fixes],
        "performance_notes": list(insights.performance_notes),
        "last_updated": insights.last_updated and insights.last_updated.isoformat(),
    }
