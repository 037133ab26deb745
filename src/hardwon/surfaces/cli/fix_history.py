"""The commands of memory.sh, with the output that scripts written for it read, on the folder
AIMemory.
"""

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer

from hardwon import limits
from hardwon.errors import PlaceError
from hardwon.outside.locations import is_url
from hardwon.records.kinds import Fix
from hardwon.surfaces.cli import base as cli
from hardwon.surfaces.cli import views
from hardwon.surfaces.cli.care import cleanup_text, undo_hint

if TYPE_CHECKING:
    from hardwon.fixes.ai_memory import AIMemory

app = cli.make_app()


_WHAT_WAS_DONE: Final = ("fix_commands", "analysis")
# In this order, and nothing else between them: scripts take them by their place.
STATISTICS: Final = (
    "total_fixes_attempted successful_fixes success_rate models_encountered issue_types_seen "
    "recent_activity_7days knowledge_base_size memory_directory"
).split()


class History:
    """Where the fix history is that a line names."""

    folder = "AIMemory"
    is_named = False


MemoryFolder = Annotated[
    cli.Text,
    cli.opt(
        "The folder of the fix history.",
        metavar="PATH",
        envvar="HARDWON_AIMEMORY",
        show_default="AIMemory",
    ),
]


@cli.add_group(app, "fix-history")
def history_group(*, memory_dir: MemoryFolder = None) -> None:
    """Run a command of memory.sh. It works on the folder AIMemory and prints what scripts written for
    it read.

    So does `drop_in/memory.sh`, which runs it: on the folder `AIMemory` in the current folder, or on
    the one that `--memory-dir PATH` before the command, or `HARDWON_AIMEMORY`, names, and not on the
    one of `--memory`; a folder that is not there is told and not made.
    """
    if is_url(memory_dir) or is_url(cli.Line.memory):
        raise PlaceError(
            "these commands work on a folder, not on a database: hardwon merge brings a folder into one"
        )
    if cli.Line.memory:
        raise typer.BadParameter(
            f"fix-history has a folder of its own, not {cli.Line.memory}: --memory-dir names it"
        )
    History.folder, History.is_named = memory_dir or "AIMemory", memory_dir is not None


def has_history(folder: str | Path) -> bool:
    """Whether somebody kept a history there."""
    return any((Path(folder) / name).exists() for name in ("ai_memory.db", "knowledge_base.json"))


@contextmanager
def open_history() -> "Iterator[AIMemory]":
    """Who mistypes its name, or stands in another folder, gets no new one."""
    # where there is no such user, it is the name of a folder
    folder = Path(os.path.expanduser(History.folder))  # noqa: PTH111
    if not has_history(folder):
        cli.fail(
            f"there is no fix history at {folder}: go to the folder that has it, or name it with "
            "--memory-dir (or HARDWON_AIMEMORY)"
        )
    from hardwon.fixes.ai_memory import AIMemory  # only these commands wait for it

    with AIMemory(folder) as history:
        yield history


@cli.command(history_group, "stats")
def history_stats() -> None:
    """Print how much was tried, and how much of it worked: zeros in a project that has no fix history.

    A heading, then eight lines `  key: value` in a fixed order.

    JSON: `total_fixes_attempted`, `successful_fixes` (applied and verified), `success_rate`,
    `models_encountered`, `issue_types_seen`, `recent_activity_7days`, `knowledge_base_size`,
    `memory_directory`.

    \b
    Examples:
      hardwon fix-history stats
      hardwon fix-history --memory-dir AIMemory stats --json
    """
    if not has_history(History.folder) and not History.is_named:
        counts: dict[str, Any] = dict.fromkeys(STATISTICS, 0)
        counts["memory_directory"] = History.folder
    else:
        with open_history() as history:
            counts = history.get_memory_stats()
    lines = [
        f"  {name}: {round(counts[name], 3) if isinstance(counts[name], float) else counts[name]}"
        for name in STATISTICS
    ]
    cli.show(counts, "\n".join(["🧠 Claude Memory Statistics:", *lines]))


@cli.command(history_group, "model")
def history_model(name: str) -> None:
    """Print what is known of a model, as one JSON object, with or without `--json`.

    JSON: `model_name`, `total_tests`, `success_rate`, `common_issues`, `effective_fixes`,
    `recent_history`, `applied_rate`, `p_success`, `performance_notes`, `last_updated`.

    \b
    Examples:
      hardwon fix-history model qwen2.5:7b

    Options:
      name NAME: The model, as its fixes name it.
    """
    with open_history() as history:
        insights = history.get_model_insights(name)
    cli.show(insights, cli.json_text(insights))


@cli.command(history_group, "export")
def history_export(file: cli.Text = None) -> None:
    """Write all that is known to a file, from which `restore` brings it back. A file of that name is
    replaced.

    JSON: `file`.

    \b
    Examples:
      hardwon fix-history export
      hardwon fix-history export insights.json --json

    Options:
      file FILE: Where to. [ai_insights_YYYYmmdd_HHMMSS.json]
    """
    target = file or f"ai_insights_{datetime.now().astimezone():%Y%m%d_%H%M%S}.json"
    with open_history() as history:
        history.export_insights(target)
    cli.show({"file": target}, f"Insights exported to {target}")


@cli.command(history_group, "restore")
def history_restore(file: Annotated[str, cli.arg("What `export` wrote.", "FILE")]) -> None:
    """Bring back what `export` wrote, into the folder's history. What is there stays.

    JSON: `read`, `added`, `present` and what else `load` counts.

    \b
    Examples:
      hardwon fix-history restore insights.json
    """
    from hardwon.fixes.ai_memory import AIMemory

    with AIMemory(History.folder) as history, cli.progress("restoring"):
        done = history.import_insights(file)
    cli.show(done, f"{done['added']} of {done['read']} records restored")


@cli.command(history_group, "recent")
def history_recent(days: cli.Days = 7, *, limit: cli.Limit = limits.SHOWN_MAX) -> None:
    """List the fixes that were tried in the last days.

    The newest first, each with its outcome; then how many there were in all these days.

    JSON: a list of records of kind `fix`, with `id`, `kind`, `metadata` and what their kind has.

    \b
    Examples:
      hardwon fix-history recent
      hardwon fix-history recent 30 --json
    """
    with open_history() as history:
        # no record is older than 1970
        earliest = datetime(1970, 1, 1, tzinfo=UTC)
        since = max(history.memory.care.now() - timedelta(days=days), earliest)
        fixes = cast("list[Fix]", list(history.memory.browse(kind="fix", since=since)))
        # of whole days, in which those count that left the history
        counted = history.memory.fixes.days(min(days, limits.FIX_DAYS_MAX))
    listed = fixes[:limit]
    when = "last day" if days == 1 else f"last {days} days"
    outcomes = [views.judge_fix(fix) for fix in fixes]
    counts = [f"{outcomes.count(name)} {name}" for name in ("verified", "applied", "failed")]
    total = f"{len(fixes)} in the {when}: {', '.join(counts)}"
    if len(listed) < len(fixes):
        total += f"; the newest {len(listed)} are listed"
    if (ever := sum(day.attempts for day in counted)) > len(fixes):
        worked = sum(day.verified for day in counted)
        total += f"; with those that were cleaned up, {worked} of {ever} were verified"

    rows = [{"fix": fix, "outcome": views.judge_fix(fix)} for fix in listed]
    about = ("issue.model", "issue.issue_type", "fixer_type", "issue.description", *_WHAT_WAS_DONE)
    columns = ("fix.metadata.context.timestamp", "outcome", *(f"fix.{name}" for name in about))

    def draw() -> str:
        """What people read."""
        return "\n".join(filter(None, [views.draw_table(rows, columns), total]))

    cli.show(listed, draw)


@cli.command(history_group, "successful")
def history_successful(*, limit: cli.Limit = 5) -> None:
    """List what worked best, by issue type.

    JSON: by issue type a list of strategies, of which each has `id`, `fix_commands`, `analysis`,
    `attempts`, `applied`, `verified`, `p_success`, `strength`, `last_used`, `evidence`, `sources`
    and `vouched`.

    \b
    Examples:
      hardwon fix-history successful
      hardwon fix-history successful --json
    """
    with open_history() as history:
        best = history.memory.fixes.best_strategies(limit)
    columns = ("attempts", "applied", "verified", "p_success", "last_used", *_WHAT_WAS_DONE)

    def draw() -> str:
        """What people read."""
        tables = {name: views.draw_table(ways, columns) for name, ways in best.items()}
        return views.draw_sections(tables, "No fix was verified to work yet.")

    cli.show(best, draw)


@cli.command(history_group, "patterns")
def history_patterns(*, limit: cli.Limit = 20, all: bool = False) -> None:  # noqa: A002
    """List the issues that keep coming up, and what fixes them.

    The most frequent first: the same signature, a model and issue type, an issue type on any model;
    each with its best fix; then the hours and weekdays at which an issue type comes up more often
    than chance explains.

    JSON: a list of patterns, of which each has `name`, `kind`, `issue_type`, `model`, `signature`,
    `success_count`, `failure_count`, `applied_count`, `p_success`, `strength`, `last_seen`,
    `best_fix`.

    \b
    Examples:
      hardwon fix-history patterns
      hardwon fix-history patterns --all --json

    Options:
      all: Also issues that came up only once.
    """
    with open_history() as history:
        seen = [
            pattern
            for pattern in history.memory.patterns(limit)
            if all or pattern.success_count + pattern.failure_count > 1
        ]
        times = history.memory.fixes.temporal_patterns()
    counts = ("success_count", "failure_count", "applied_count", "p_success", "last_seen")
    columns = ("name", *counts, "best_fix.fix_commands", "best_fix.analysis")

    def draw() -> str:
        """What people read."""
        nothing = "No issue came up more than once yet."
        of_times = views.draw_table(times, ("name", "count", "total", "p_value"))
        return "\n\n".join(filter(None, [views.draw_table(seen, columns, nothing), of_times]))

    cli.show(seen, draw)


@cli.command(history_group, "cleanup")
def history_cleanup(days: cli.OlderThan = limits.CLEANUP_DAYS) -> None:
    """Take out fixes by their age at once, but for those that somebody verified. What they taught
    stays, and rates count them as before; prints how to take it back, and how to give the room back.

    JSON: `failed`, `successful`, `kept`, `left`, `dry_run`, `event_ids` (for undo).

    \b
    Examples:
      hardwon fix-history cleanup
      hardwon fix-history cleanup 90 --json
    """
    with open_history() as history, cli.progress("cleaning up"):
        done = history.auto_cleanup(days, by_age=True)
        hints = "".join(undo_hint(history.memory, event_id) for event_id in done["event_ids"])
        if hints:
            compact = ["hardwon", "--memory", history.memory.location, "care", "compact"]
            hints += f"\nto give the room back, for good: {shlex.join(compact)}"
    cli.show(done, cleanup_text(done, days) + hints)


@cli.command(history_group, "help", prints_json=False, hidden=True)
def history_help(ctx: typer.Context) -> None:
    """What `memory.sh help` prints."""
    if ctx.parent:
        cli.write(ctx.parent.get_help() + "\n")
