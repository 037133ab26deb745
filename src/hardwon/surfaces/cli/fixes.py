"""What the memory knows of fixes, where a terminal needs more than a table: `similar`, `recent`,
`patterns`; and `fix-history`, the commands of memory.sh with the output that scripts written for it
read, which work on the folder AIMemory, through the same door as its Python class.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Final, cast

import typer

from hardwon import limits
from hardwon.errors import PlaceError
from hardwon.fixes.ai_memory import AIMemory
from hardwon.learn.fixes import Pattern, Strategy
from hardwon.memory import Memory
from hardwon.outside.locations import is_url
from hardwon.records.kinds import Fix
from hardwon.surfaces.cli import views
from hardwon.surfaces.cli.care import OlderThan, cleaned_text, undo_hint
from hardwon.surfaces.cli.main import (
    Limit,
    Output,
    add_group,
    chosen,
    command,
    fail,
    json_text,
    look,
    progress,
)
from hardwon.surfaces.cli.output import QUIET, Span, table_lines
from hardwon.surfaces.cli.record import issue_of

RECENT_DAYS: Final = 7
PATTERNS_LISTED: Final = 20
_FIRST_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)  # no record is older

Days = Annotated[
    int,
    typer.Argument(metavar="DAYS", min=1, max=limits.DAYS_MAX, help="Of the last so many days."),
]
All = Annotated[bool, typer.Option("--all", help="Also issues that came up only once.")]


@command(
    'hardwon similar --model qwen2.5:7b --issue-type TIMEOUT --description "no answer in 30 s"',
    'hardwon similar --issue \'{"model": "qwen2.5:7b", "issue_type": "TIMEOUT"}\' --json',
    operation="similar_issues",
)
def similar(
    ctx: typer.Context,
    issue: Annotated[
        str | None,
        typer.Option(
            metavar="JSON", help='An issue, such as {"model": "m", "issue_type": "TIMEOUT"}.'
        ),
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model.")] = None,
    issue_type: Annotated[
        str | None, typer.Option(help="The sort of issue, such as TIMEOUT.")
    ] = None,
    description: Annotated[str | None, typer.Option(help="What is wrong.")] = None,
    error_output: Annotated[str | None, typer.Option(help="What it printed.")] = None,
    limit: Limit = 5,
) -> Output:
    """List earlier attempts to fix an issue or one like it, those that worked first."""
    about = issue_of(
        issue,
        model=model,
        issue_type=issue_type,
        description=description,
        error_output=error_output,
    )
    if about is None:
        raise typer.BadParameter(
            "say what the issue is: --issue-type, --model, --description, --error-output or --issue"
        )
    with chosen(ctx).open(to_read=True) as memory:
        found = memory.similar_issues(about, limit)
    matches = [
        SimpleNamespace(
            match=name,
            outcome=views.outcome_of(fix),
            at=fix.metadata.context.timestamp,
            model=fix.issue.model,
            issue_type=fix.issue.issue_type,
            what_was_done=" ; ".join(fix.fix_commands) or fix.analysis,
        )
        for name, fixes in vars(found).items()
        for fix in fixes
    ]
    columns = ("match", "outcome", "at", "model", "issue_type", "what_was_done")
    return Output(found, table_lines(matches, columns, look(), "Nothing like that was fixed yet."))


@command(
    "hardwon recent",
    "hardwon recent 30 --limit 20 --json",
    answers="a list of records of kind `fix`, with `id`, `kind`, `metadata` and what their kind "
    "has.",
    more="""The newest first, each with its outcome.""",
)
def recent(
    ctx: typer.Context,
    days: Days = RECENT_DAYS,
    limit: Limit = limits.FIXES_LISTED,
) -> Output:
    """List the fixes that were tried in the last days."""
    with chosen(ctx).open(to_read=True) as memory:
        return _recent(memory, days, limit)


@command(
    "hardwon patterns",
    "hardwon patterns --all --limit 50 --json",
    operation="patterns",
    more="""The most frequent first: the same signature, a model and issue type, an issue type on any model; each with its
    best fix.""",
)
def patterns(ctx: typer.Context, limit: Limit = PATTERNS_LISTED, every: All = False) -> Output:
    """List the issues that keep coming up, and what fixes them."""
    with chosen(ctx).open(to_read=True) as memory:
        return _patterns(memory, limit, every=every)


def _recent(memory: Memory, days: int, limit: int) -> Output:
    since = max(memory.care.now() - timedelta(days=days), _FIRST_TIME)
    found = list(memory.browse(limit + 1, kind="fix", since=since))
    fixes = cast("list[Fix]", found[:limit])
    when = "last day" if days == 1 else f"last {days} days"
    total = f"{len(fixes)} in the {when}: {views.outcome_counts(fixes)}"
    if len(found) > limit:
        total = f"The newest {limit} of the {when}: {views.outcome_counts(fixes)}; there are more"
    elif not fixes:
        total = f"No fix was attempted in the {when}."
    return Output(fixes, [*views.fix_lines(fixes, look()), (Span(total, QUIET),)])


def _patterns(memory: Memory, limit: int, *, every: bool) -> Output:
    found = [
        each
        for each in memory.patterns(limit)
        if every or each.success_count + each.failure_count > 1
    ]
    return Output(found, views.pattern_lines(found, look()))


# --- for scripts written for memory.sh ---

FOLDER: Final = "AIMemory"
HEADING: Final = "🧠 Claude Memory Statistics:"
# In this order, and nothing else between them: scripts take them by their place.
STATISTICS: Final = (
    "total_fixes_attempted",
    "successful_fixes",
    "success_rate",
    "models_encountered",
    "issue_types_seen",
    "recent_activity_7days",
    "knowledge_base_size",
    "memory_directory",
)


def folder_option(
    ctx: typer.Context,
    memory_dir: Annotated[
        str,
        typer.Option(
            envvar="HARDWON_AIMEMORY",
            show_envvar=True,
            metavar="PATH",
            help="The folder of the fix history.",
        ),
    ] = FOLDER,
) -> None:
    source = ctx.parent.get_parameter_source("memory") if ctx.parent else None
    if is_url(memory_dir) or (
        source is not None and source.name == "COMMANDLINE" and is_url(ctx.obj.memory)
    ):
        raise PlaceError(
            "these commands work on a folder, not on a database: hardwon --memory "
            "AIMemory/ai_memory.db merge URL copies its "
            "fixes there; hardwon patterns, successful, recent and model ask the database itself"
        )
    # the environment may name a memory for the other commands
    if source is not None and source.name == "COMMANDLINE":
        raise typer.BadParameter(
            f"fix-history has a folder of its own: use fix-history --memory-dir {ctx.obj.memory}"
        )
    ctx.obj = memory_dir


add_group(
    "fix-history",
    "Run a command of memory.sh. It works on the folder AIMemory and prints what scripts "
    "written for it read.",
    """`hardwon fix-history COMMAND` has the commands of fix history's `memory.sh` with the output that scripts written
    for it read; so has `drop_in/memory.sh`, which runs it. It works on the folder `AIMemory` in the current folder, or on
    the one that `--memory-dir PATH` before the command, or `HARDWON_AIMEMORY`, names, and not on the one of `--memory`; a
    folder that is not there is told and not made. Every command takes `--json`. No command, or an unknown one: how to use
    it, and exit code 2.""",
    callback=folder_option,
)


@contextmanager
def _opened(ctx: typer.Context) -> Iterator[AIMemory]:
    """Who mistypes its name, or stands in another folder, gets no new one."""
    # where there is no such user, it is the name of a folder
    folder = Path(os.path.expanduser(ctx.obj))  # noqa: PTH111
    if not any((folder / name).exists() for name in ("ai_memory.db", "knowledge_base.json")):
        fail(
            f"there is no fix history at {folder}: go to the folder that has it, or name it with "
            f"--memory-dir "
            "(or HARDWON_AIMEMORY)"
        )
    with AIMemory(folder) as history:
        yield history


@command(
    "hardwon fix-history stats",
    "hardwon fix-history --memory-dir AIMemory stats --json",
    words="fix-history stats",
    answers="""`total_fixes_attempted`, `successful_fixes` (applied and verified), `success_rate`, `models_encountered`,
    `issue_types_seen`, `recent_activity_7days`, `knowledge_base_size`, `memory_directory`.""",
    more="A heading, then eight lines `  key: value` in a fixed order.",
)
def stats(ctx: typer.Context) -> Output:
    """Print how much was tried, and how much of it worked."""
    with _opened(ctx) as history:
        found = history.get_memory_stats()
    lines = [
        f"  {name}: {round(found[name], 3) if isinstance(found[name], float) else found[name]}"
        for name in STATISTICS
    ]
    return Output(found, "\n".join([HEADING, *lines]))


@command(
    "hardwon fix-history model qwen2.5:7b",
    words="fix-history model",
    answers="""`model_name`, `total_tests`, `success_rate`, `common_issues`, `effective_fixes`, `recent_history`,
    `applied_rate`, `p_success`, `performance_notes`, `last_updated`.""",
    more="One JSON object, with or without `--json`.",
)
def model(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The model, as its fixes name it.")],
) -> Output:
    """Print what is known of a model, as JSON."""
    with _opened(ctx) as history:
        found = history.get_model_insights(name)
    return Output(found, json_text(found))


@command(
    "hardwon fix-history export",
    "hardwon fix-history export insights.json --json",
    words="fix-history export",
    answers="`file`.",
    more="Writes the insights report, without a name as `ai_insights_YYYYmmdd_HHMMSS.json`; "
    "replaces a file of that name.",
)
def export(
    ctx: typer.Context,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE", help="Where to.", show_default="ai_insights_YYYYmmdd_HHMMSS.json"
        ),
    ] = None,
) -> Output:
    """Write the whole report to a file. A file of that name is replaced."""
    target = file or f"ai_insights_{datetime.now().astimezone():%Y%m%d_%H%M%S}.json"
    with _opened(ctx) as history:
        history.export_insights(target)
    return Output({"file": target}, f"Insights exported to {target}")


@command(
    "hardwon fix-history recent",
    "hardwon fix-history recent 30 --json",
    words="fix-history recent",
    answers="""a list of fixes: `id`, `timestamp`, `model_name`, `issue_type`, `description`, `fixer_type`, `analysis`,
    `fix_commands`, `outcome` ("verified", "applied" or "failed"), `fix_success`, `verification_success`,
    `execution_time_seconds`, `notes`.""",
    more="As `hardwon recent`.",
)
def recent_fixes(
    ctx: typer.Context, days: Days = RECENT_DAYS, limit: Limit = limits.FIXES_LISTED
) -> Output:
    """List the fixes that were tried in the last days."""
    with _opened(ctx) as history:
        found = _recent(history.memory, days, limit)
    return found._replace(value=list(map(_fix_json, found.value)))


@command(
    "hardwon fix-history successful",
    "hardwon fix-history successful --json",
    words="fix-history successful",
    answers="""a list of `issue_type` and `strategies` (each `fix_commands`, `analysis`, `attempts`, `applied`, `verified`,
    `p_success`, `interval`, `last_used`, `evidence`).""",
    more="As `hardwon fixes best-strategies`.",
)
def successful(
    ctx: typer.Context,
    limit: Annotated[
        int, typer.Option(min=1, max=limits.SHOWN_MAX, help="At most so many of each issue type.")
    ] = 5,
) -> Output:
    """List what worked best, by issue type."""
    with _opened(ctx) as history:
        found = history.memory.fixes.best_strategies(limit)
    by_type = [
        {"issue_type": name, "strategies": list(map(_strategy_json, each))}
        for name, each in found.items()
    ]
    return Output(by_type, views.successful_lines(found, look()))


@command(
    "hardwon fix-history patterns",
    "hardwon fix-history patterns --json",
    words="fix-history patterns",
    answers="""a list of `name`, `kind`, `issue_type`, `model` (null for any), `signature`, `success_count`, `failure_count`,
    `applied_count`, `confidence`, `p_success`, `interval`, `last_seen`, `best_fix` (a strategy, or null).""",
    more="As `hardwon patterns`.",
)
def patterns_of_issues(
    ctx: typer.Context, limit: Limit = PATTERNS_LISTED, every: All = False
) -> Output:
    """List the issues that keep coming up, and what fixes them."""
    with _opened(ctx) as history:
        found = _patterns(history.memory, limit, every=every)
    return found._replace(value=list(map(_pattern_json, found.value)))


@command(
    "hardwon fix-history cleanup",
    "hardwon fix-history cleanup 90 --json",
    words="fix-history cleanup",
    answers="`failed`, `successful`, `kept`, `left`, `dry_run`, `event_ids` (for undo).",
    more="""As `hardwon cleanup`, but at once and without asking; tells how many went and stayed, and how to take it back.""",
)
def cleanup(ctx: typer.Context, days: OlderThan = limits.CLEANUP_DAYS) -> Output:
    """Take out old fixes at once. What they taught stays; prints how to take it back."""
    with _opened(ctx) as history, progress("cleaning up"):
        done = history.auto_cleanup(days)
        hints = "".join(undo_hint(history.memory, event_id) for event_id in done["event_ids"])
    return Output(done, cleaned_text(done, days) + hints)


# --- the JSON of these commands, as scripts know it ---


def _fix_json(fix: Fix) -> dict[str, Any]:
    return {
        "id": fix.id,
        "timestamp": fix.metadata.context.timestamp.isoformat(),
        "model_name": fix.issue.model,
        "issue_type": fix.issue.issue_type,
        "description": fix.issue.description,
        "fixer_type": fix.fixer_type,
        "analysis": fix.analysis,
        "fix_commands": list(fix.fix_commands),
        "outcome": views.outcome_of(fix),
        "fix_success": fix.fix_success,
        "verification_success": fix.verification_success,
        "execution_time_seconds": fix.execution_time_seconds,
        "notes": fix.notes,
    }


def _strategy_json(strategy: Strategy) -> dict[str, Any]:
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
        "best_fix": _strategy_json(pattern.best_fix) if pattern.best_fix else None,
    }
