"""What the memory knows of fixes and of episodes; and `fix-history`, the commands of memory.sh with
the output that scripts written for it read, on the folder AIMemory.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer

from hardwon import limits
from hardwon.errors import NOT_GIVEN, InvalidInputError, PlaceError
from hardwon.memory import Memory
from hardwon.outside.locations import is_url
from hardwon.records.kinds import Fix
from hardwon.surfaces.cli import views
from hardwon.surfaces.cli.care import OlderThan, cleaned_text, preview_first, tell_rest, undo_hint
from hardwon.surfaces.cli.everyday import FILTERS, read_filters
from hardwon.surfaces.cli.main import (
    DryRun,
    Limit,
    Yes,
    add_group,
    arg,
    command,
    opt,
    options_from,
    read_memory,
)
from hardwon.surfaces.cli.output import Line, Progress, fail, json_text, progress, show
from hardwon.surfaces.cli.recording import read_object
from hardwon.surfaces.cli.views import Screen, counted, draw_table, size_text

if TYPE_CHECKING:
    from hardwon.fixes.ai_memory import AIMemory

add_group("fixes", "What was done about issues and errors, and how it went.")
add_group("episodes", "How attempts at tasks went.")

Text = str | None
Days = Annotated[int, arg("Of the last so many days.", "DAYS", min=1, max=limits.DAYS_MAX)]
Listed = Annotated[
    int | None,
    opt(
        "List at most so many.",
        "--limit",
        "-k",
        min=1,
        max=limits.SHOWN_MAX,
        show_default=f"{limits.PAGE_RECORDS} on a terminal, else all",
    ),
]
All = Annotated[bool, opt("Also issues that came up only once.", "--all")]
_RECENT_DAYS: Final = 7
_PATTERNS_LISTED: Final = 20
_ISSUE: Final = {
    "model": Annotated[Text, opt("Of this model.", offer="model")],
    "issue_type": Annotated[Text, opt("Of this issue type.", offer="issue_type")],
    "error_output": Annotated[Text, opt("What it printed.")],
    "issue": Annotated[Text, opt("The issue, with all that it has.", metavar="JSON")],
}
with_issue = options_from(_ISSUE, "about")


def _read_issue(about: dict[str, Any]) -> dict[str, Any]:
    whole = read_object("--issue", about.pop("issue")) if "issue" in about else {}
    return {**whole, **about}


# --- fixes ---


@command(
    "fixes similar",
    'hardwon fixes similar "no answer" --model qwen2.5:7b --issue-type TIMEOUT',
    'hardwon fixes similar --issue \'{"model": "qwen2.5:7b", "issue_type": "TIMEOUT"}\' --json',
)
@with_issue
def similar(
    about: dict[str, Any],
    description: Annotated[Text, arg("The issue, in words.")] = None,
    limit: Limit = 5,
) -> None:
    """List earlier attempts to fix an issue or one like it, those that worked first."""
    issue = _read_issue(about) | ({"description": description} if description else {})
    if not issue:
        allowed = "one or more of --model, --issue-type, --error-output, --issue, DESCRIPTION"
        raise InvalidInputError.one("issue", NOT_GIVEN, allowed)
    with read_memory() as memory:
        fixes = memory.similar_issues(issue, limit)
    show(fixes, lambda screen: views.similar_text(screen, fixes))


@command(
    "fixes solutions",
    "hardwon fixes solutions",
    'hardwon fixes solutions "ModuleNotFoundError: No module named torch" --json',
)
def solutions(
    error: Annotated[Text, arg("The error, as it was seen.")] = None,
    action: Annotated[Text, opt("What it came from.", "--action")] = None,
    task: Annotated[Text, opt("What was to be done.", "--task")] = None,
    limit: Limit = 10,
) -> None:
    """What was done after an error, or after any, in trajectories, what helped most first."""
    with read_memory() as memory:
        solved = memory.solutions(error, limit, action=action, task=task)
    columns = ("short_id", "helped", "tried", "p_helps", "action", "situation")
    nothing = "Nothing was done after that yet."
    show(solved, lambda screen: draw_table(screen, solved, columns, nothing))


@command(
    "fixes odds",
    "hardwon fixes odds --model qwen2.5:7b --issue-type TIMEOUT",
    'hardwon fixes odds --tool code_interpreter --task "parse the dates" --json',
)
@with_issue
def odds(
    about: dict[str, Any],
    fixer: Annotated[Text, opt("By this fixer.")] = None,
    tool: Annotated[Text, opt("Experiences with this tool.", offer="tool")] = None,
    task: Annotated[Text, opt("What it is for.", offer="task_id")] = None,
) -> None:
    """How likely a fix, or a tool at a task, is to work, and on what that rests."""
    named = {name: about.get(name) for name in ("model", "issue_type")}
    whole = read_object("--issue", about["issue"]) if "issue" in about else None
    with read_memory() as memory:
        likely = memory.odds(whole, **named, fixer=fixer, tool=tool, task=task)
    show(likely, lambda screen: views.odds_text(screen, likely))


@command("fixes model", "hardwon fixes model qwen2.5:7b", "hardwon fixes model qwen2.5:7b --json")
def model(name: Annotated[str, arg("The model, as its fixes name it.", offer="model")]) -> None:
    """What is known of a model: how its fixes went, its common issues, and what helped."""
    with read_memory() as memory:
        insights = memory.model_insights(name)
    show(insights, lambda screen: views.model_text(screen, insights))


@command("fixes patterns", "hardwon fixes patterns", "hardwon fixes patterns --all -k 50 --json")
def patterns(limit: Limit = _PATTERNS_LISTED, every: All = False) -> None:
    """List the issues that keep coming up, and what fixes them.

    The most frequent first: the same signature, a model and issue type, an issue type on any model;
    each with its best fix; then the hours and weekdays at which an issue type comes up more often
    than chance explains.
    """
    with read_memory() as memory:
        _show_patterns(memory, limit, every)


def _show_patterns(memory: Memory, limit: int, every: bool) -> None:
    seen = [
        pattern
        for pattern in memory.patterns(limit)
        if every or pattern.success_count + pattern.failure_count > 1
    ]
    times = memory.fixes.temporal_patterns()
    show(seen, lambda screen: views.patterns_text(screen, seen, times))


@command("fixes recent", "hardwon fixes recent", "hardwon fixes recent 30 --limit 20 --json")
def recent(days: Days = _RECENT_DAYS, limit: Listed = None) -> None:
    """List the fixes that were tried in the last days.

    The newest first, each with its outcome; then how many there were in all these days.

    JSON: a list of records of kind `fix`, with `id`, `kind`, `metadata` and what their kind has.
    """
    with read_memory() as memory:
        _show_recent(memory, days, limit)


def _show_recent(memory: Memory, days: int, limit: int | None) -> None:
    # no record is older than 1970
    since = max(memory.care.now() - timedelta(days=days), datetime(1970, 1, 1, tzinfo=UTC))
    fixes = cast("list[Fix]", list(memory.browse(kind="fix", since=since)))
    listed = fixes[: limit or (limits.PAGE_RECORDS if sys.stdout.isatty() else None)]
    when = "last day" if days == 1 else f"last {days} days"
    total = f"{len(fixes)} in the {when}: {views.outcome_counts(fixes)}"
    if len(listed) < len(fixes):
        total += f"; the newest {len(listed)} are listed"
    elif not fixes:
        total = f"No fix was attempted in the {when}."

    def draw(screen: Screen) -> str:
        return "\n".join(filter(None, [views.fixes_text(screen, listed), total]))

    show(fixes[:limit], draw)


@command("fixes stats", "hardwon fixes stats", "hardwon fixes stats --days 90 --json")
def fix_stats(
    days: Annotated[int, opt("Trends of so many days.", min=1, max=limits.FIX_DAYS_MAX)] = 30,
) -> None:
    """Count fixes: in all, by issue type, by model, by fixer, and whether an issue type comes up more
    often than before.

    JSON: `totals`, `types`, `matrix` (by model and issue type), `fixers`, `trends`: what the routes
    of these names give.
    """
    with read_memory() as memory:
        fixes = memory.fixes
        counts: dict[str, Any] = {"totals": fixes.totals(), "types": fixes.types()}
        counts |= {"matrix": fixes.matrix(), "fixers": fixes.fixers(), "trends": fixes.trends(days)}

    def draw(screen: Screen) -> str:
        if not counts["totals"].attempts:
            return screen.styled("No fix was attempted yet.", "dim")
        of_fix = "attempts applied verified"
        tables = (
            ("types", f"issue_type {of_fix}"),
            ("matrix", f"model issue_type {of_fix} p_success"),
            ("fixers", f"fixer {of_fix} p_success interval"),
            ("trends", "issue_type direction attempts earlier later p_value"),
        )
        drawn = [draw_table(screen, [counts["totals"]], f"{of_fix} models issue_types".split())]
        drawn += [
            f"{screen.styled(name.capitalize(), 'bold')}\n{table}"
            for name, columns in tables
            if (table := draw_table(screen, counts[name], columns.split()))
        ]
        return "\n\n".join(drawn)

    show(counts, draw)


@command(
    "fixes strategies",
    "hardwon fixes strategies",
    "hardwon fixes strategies TIMEOUT --limit 3 --json",
)
def strategies(
    issue_type: Annotated[Text, arg("Of this issue type.", offer="issue_type")] = None,
    failed: Annotated[bool, opt("What mostly failed, what failed most first.", "--failed")] = False,
    limit: Limit = 5,
) -> None:
    """What was done about an issue type, the likeliest to succeed first; without one, what succeeded,
    by issue type, the most frequent first.

    JSON: a list of strategies, of which each has `id`, `fix_commands`, `analysis`, `attempts`,
    `applied`, `verified`, `p_success`, `strength`, `last_used`, `evidence`, `sources`, `vouched`,
    `interval`; without an issue type, such a list for each.
    """
    if failed and issue_type is None:
        raise typer.BadParameter("--failed is of an issue type: name one")
    with read_memory() as memory:
        if issue_type is None:
            best = memory.fixes.best_strategies(limit)
            show(best, lambda screen: views.best_text(screen, best))
            return
        ask = memory.fixes.failed_strategies if failed else memory.fixes.strategies
        ways = ask(issue_type, limit)
    nothing = "Nothing was done about that yet."
    if failed:
        nothing = "Nothing that was done about that failed more often than not."
    show(ways, lambda screen: views.strategies_text(screen, ways) or nothing)


@command("fixes compress", "hardwon fixes compress 180 --dry-run", "hardwon fixes compress --yes")
def compress(
    days: OlderThan = limits.COMPRESS_DAYS, dry_run: DryRun = False, yes: Yes = False
) -> None:
    """Pack the details of old fixes. Shows how much that saves, then asks; a summary stays findable,
    nothing that was learned changes, and undo unpacks.
    """
    with read_memory() as memory:

        def pack(dry: bool, bar: Progress) -> int:
            done = memory.fixes.compress(days, dry, progress=bar)
            text = (
                f"{counted(done.records, 'fix', 'fixes')} older than {counted(days, 'day')} "
                f"{'would be ' if dry else ''}compressed, which saves "
                f"{size_text(done.saved_bytes)}{tell_rest(done.left)}"
            )
            show(done, text + undo_hint(memory, done.event_id))
            return done.records

        preview_first(pack, "compressing", "Compress them?", dry_run, yes)


# --- episodes ---


@command("episodes tasks", "hardwon episodes tasks", "hardwon episodes tasks --json")
def tasks(limit: Limit = 20) -> None:
    """List the tasks that were attempted, and how they went."""
    with read_memory() as memory:
        listed = memory.episodes.tasks(limit)
    columns = ("task_id", "episodes", "mean", "best", "change", "first_seen", "last_seen")
    nothing = "No episode is recorded yet."
    show(listed, lambda screen: draw_table(screen, listed, columns, nothing))


@command("episodes scores", "hardwon episodes scores easy", "hardwon episodes scores easy --json")
def scores(task_id: Annotated[str, arg("Of this task.", offer="task_id")]) -> None:
    """How a task went: mean, best, trend, and the newest scores."""
    with read_memory() as memory:
        history = memory.episodes.scores(task_id)
    show(history, lambda screen: views.scores_text(screen, history))


@command(
    "episodes compare",
    "hardwon episodes compare",
    "hardwon episodes compare --task-id easy --with-tag memory --by-run --json",
)
@options_from({name: FILTERS[name] for name in FILTERS if name not in ("kind", "tag")}, "filters")
def compare(
    filters: dict[str, Any],
    with_tag: Annotated[
        Text, opt("Episodes with this tag had the memory; without one, those that recalled.")
    ] = None,
    by_run: Annotated[bool, opt("The episodes of a run count as one.", "--by-run")] = False,
) -> None:
    """Say whether episodes with the memory went better than those without."""
    with read_memory() as memory:
        compared = memory.episodes.compare(tag=with_tag, by_run=by_run, **read_filters(filters))
    show(compared, str(compared))


@command("episodes cards", "hardwon episodes cards easy", "hardwon episodes cards -k 50 --json")
def cards(
    task_id: Annotated[Text, arg("Of this task.", offer="task_id")] = None, limit: Limit = 10
) -> None:
    """List mistakes that were reported, and what to do instead."""
    with read_memory() as memory:
        listed = memory.cards(task_id, limit)
    columns = "mistake_type task_id seen bad_decision correct_decision lesson".split()
    nothing = "No mistake was reported yet."
    show(listed, lambda screen: draw_table(screen, listed, columns, nothing))


# --- for scripts written for memory.sh ---

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


class History:
    """Where the fix history is that a line names."""

    folder = "AIMemory"


def choose_folder(
    ctx: typer.Context,
    memory_dir: Annotated[
        str, opt("The folder of the fix history.", metavar="PATH", envvar="HARDWON_AIMEMORY")
    ] = "AIMemory",
) -> None:
    source = ctx.parent.get_parameter_source("memory") if ctx.parent else None
    is_named = source is not None and source.name == "COMMANDLINE"
    if is_url(memory_dir) or (is_named and is_url(Line.memory)):
        raise PlaceError(
            "these commands work on a folder, not on a database: hardwon --memory "
            "AIMemory/ai_memory.db merge URL copies its fixes there; hardwon fixes patterns, "
            "strategies, recent and model ask the database itself"
        )
    # the environment may name a memory for the other commands
    if is_named:
        raise typer.BadParameter(
            f"fix-history has a folder of its own: use fix-history --memory-dir {Line.memory}"
        )
    History.folder = memory_dir


add_group(
    "fix-history",
    """Run a command of memory.sh. It works on the folder AIMemory and prints what scripts written for
    it read.

    So does `drop_in/memory.sh`, which runs it: on the folder `AIMemory` in the current folder, or on
    the one that `--memory-dir PATH` before the command, or `HARDWON_AIMEMORY`, names, and not on the
    one of `--memory`; a folder that is not there is told and not made.
    """,
    callback=choose_folder,
)


@contextmanager
def _open_history() -> "Iterator[AIMemory]":
    """Who mistypes its name, or stands in another folder, gets no new one."""
    # where there is no such user, it is the name of a folder
    folder = Path(os.path.expanduser(History.folder))  # noqa: PTH111
    if not any((folder / name).exists() for name in ("ai_memory.db", "knowledge_base.json")):
        fail(
            f"there is no fix history at {folder}: go to the folder that has it, or name it with "
            "--memory-dir (or HARDWON_AIMEMORY)"
        )
    from hardwon.fixes.ai_memory import AIMemory  # only these commands wait for it

    with AIMemory(folder) as history:
        yield history


@command(
    "fix-history stats",
    "hardwon fix-history stats",
    "hardwon fix-history --memory-dir AIMemory stats --json",
)
def history_stats() -> None:
    """Print how much was tried, and how much of it worked.

    A heading, then eight lines `  key: value` in a fixed order.

    JSON: `total_fixes_attempted`, `successful_fixes` (applied and verified), `success_rate`,
    `models_encountered`, `issue_types_seen`, `recent_activity_7days`, `knowledge_base_size`,
    `memory_directory`.
    """
    with _open_history() as history:
        counts = history.get_memory_stats()
    lines = [
        f"  {name}: {round(counts[name], 3) if isinstance(counts[name], float) else counts[name]}"
        for name in STATISTICS
    ]
    show(counts, "\n".join(["🧠 Claude Memory Statistics:", *lines]))


@command("fix-history model", "hardwon fix-history model qwen2.5:7b")
def history_model(name: Annotated[str, arg("The model, as its fixes name it.", "NAME")]) -> None:
    """Print what is known of a model, as one JSON object, with or without `--json`.

    JSON: `model_name`, `total_tests`, `success_rate`, `common_issues`, `effective_fixes`,
    `recent_history`, `applied_rate`, `p_success`, `performance_notes`, `last_updated`.
    """
    with _open_history() as history:
        insights = history.get_model_insights(name)
    show(insights, json_text(insights))


@command(
    "fix-history export",
    "hardwon fix-history export",
    "hardwon fix-history export insights.json --json",
)
def history_export(
    file: Annotated[
        Text, arg("Where to.", "FILE", show_default="ai_insights_YYYYmmdd_HHMMSS.json")
    ] = None,
) -> None:
    """Write the whole report to a file. A file of that name is replaced.

    JSON: `file`.
    """
    target = file or f"ai_insights_{datetime.now().astimezone():%Y%m%d_%H%M%S}.json"
    with _open_history() as history:
        history.export_insights(target)
    show({"file": target}, f"Insights exported to {target}")


@command("fix-history recent", "hardwon fix-history recent", "hardwon fix-history recent 30 --json")
def history_recent(days: Days = _RECENT_DAYS, limit: Listed = None) -> None:
    """List the fixes that were tried in the last days.

    JSON: as `hardwon fixes recent` prints it.
    """
    with _open_history() as history:
        _show_recent(history.memory, days, limit)


@command(
    "fix-history successful",
    "hardwon fix-history successful",
    "hardwon fix-history successful --json",
)
def history_successful(limit: Limit = 5) -> None:
    """List what worked best, by issue type.

    JSON: as `hardwon fixes strategies` prints it, without an issue type.
    """
    with _open_history() as history:
        best = history.memory.fixes.best_strategies(limit)
    show(best, lambda screen: views.best_text(screen, best))


@command(
    "fix-history patterns", "hardwon fix-history patterns", "hardwon fix-history patterns --json"
)
def history_patterns(limit: Limit = _PATTERNS_LISTED, every: All = False) -> None:
    """List the issues that keep coming up, and what fixes them.

    JSON: as `hardwon fixes patterns` prints it.
    """
    with _open_history() as history:
        _show_patterns(history.memory, limit, every)


@command(
    "fix-history cleanup", "hardwon fix-history cleanup", "hardwon fix-history cleanup 90 --json"
)
def history_cleanup(days: OlderThan = limits.CLEANUP_DAYS) -> None:
    """Take out old fixes at once. What they taught stays; prints how to take it back.

    JSON: `failed`, `successful`, `kept`, `left`, `dry_run`, `event_ids` (for undo).
    """
    with _open_history() as history, progress("cleaning up"):
        done = history.auto_cleanup(days)
        hints = "".join(undo_hint(history.memory, event_id) for event_id in done["event_ids"])
    show(done, cleaned_text(done, days) + hints)
