"""What the memory knows of fixes, of episodes, and of where experiences lie: the map of a memory, the
files of its tree, and data sets. And `fix-history`, the commands of memory.sh with the output that
scripts written for it read, on the folder AIMemory.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer

from hardwon import limits
from hardwon.errors import NOT_GIVEN, InvalidInputError, PlaceError
from hardwon.outside.locations import is_url
from hardwon.records.kinds import Fix
from hardwon.surfaces.cli import views
from hardwon.surfaces.cli.care import cleanup_text, undo_hint
from hardwon.surfaces.cli.main import (
    Days,
    Limit,
    OlderThan,
    Text,
    add_group,
    arg,
    chosen,
    command,
    make_app,
    opt,
    read_memory,
    read_time,
)
from hardwon.surfaces.cli.output import Line, fail, json_text, progress, show, write
from hardwon.surfaces.cli.recording import read_object
from hardwon.surfaces.cli.views import Screen, draw_table
from hardwon.tree.topology import TOPOLOGY_DEPTH_MAX

if TYPE_CHECKING:
    from hardwon.fixes.ai_memory import AIMemory

app = make_app()
fixes = add_group(app, "fixes", "What was done about issues and errors, and how it went.")
episodes = add_group(app, "episodes", "How attempts at tasks went.")
tree = add_group(app, "tree", "Where experiences lie: map, files and data sets.")
PATTERNS_SHOWN = 20
All = Annotated[bool, opt("Also issues that came up only once.", "--all")]


# --- fixes ---


@command(fixes, "similar")
def similar(
    description: Annotated[Text, arg("The issue, in words.")] = None,
    model: Annotated[Text, opt("Of this model.", offer="model")] = None,
    issue_type: Annotated[Text, opt("Of this issue type.", offer="issue_type")] = None,
    error_output: Annotated[Text, opt("What it printed.")] = None,
    issue: Annotated[Text, opt("The issue, with all that it has.", metavar="JSON")] = None,
    limit: Limit = 5,
) -> None:
    """List earlier attempts to fix an issue or one like it, those that worked first.

    \b
    Examples:
      hardwon fixes similar "no answer" --model qwen2.5:7b --issue-type TIMEOUT
      hardwon fixes similar --issue '{"model": "qwen2.5:7b", "issue_type": "TIMEOUT"}' --json
    """
    named = {
        "model": model,
        "issue_type": issue_type,
        "error_output": error_output,
        "description": description,
    }
    about = read_object("--issue", issue) if issue else {}
    about |= {name: value for name, value in named.items() if value}
    if not about:
        allowed = "one or more of --model, --issue-type, --error-output, --issue, DESCRIPTION"
        raise InvalidInputError.one("issue", NOT_GIVEN, allowed)
    with read_memory() as memory:
        attempts = memory.similar_issues(about, limit)
    show(attempts, lambda screen: views.similar_text(screen, attempts))


@command(fixes, "model")
def model(name: Annotated[str, arg("The model, as its fixes name it.", offer="model")]) -> None:
    """What is known of a model: how its fixes went, its common issues, and what helped.

    \b
    Examples:
      hardwon fixes model qwen2.5:7b
      hardwon fixes model qwen2.5:7b --json
    """
    from hardwon.surfaces.shapes import jsonable  # it takes a while to load

    with read_memory() as memory:
        insights = memory.model_insights(name)
    show(insights, lambda screen: views.values_text(screen, jsonable(insights)))


@command(fixes, "patterns")
def patterns(limit: Limit = PATTERNS_SHOWN, every: All = False) -> None:
    """List the issues that keep coming up, and what fixes them.

    The most frequent first: the same signature, a model and issue type, an issue type on any model;
    each with its best fix; then the hours and weekdays at which an issue type comes up more often
    than chance explains.

    \b
    Examples:
      hardwon fixes patterns
      hardwon fixes patterns --all -k 50 --json
    """
    with read_memory() as memory:
        show_patterns(memory, limit, every)


def show_patterns(memory: Any, limit: int, every: bool) -> None:
    seen = [
        pattern
        for pattern in memory.patterns(limit)
        if every or pattern.success_count + pattern.failure_count > 1
    ]
    times = memory.fixes.temporal_patterns()
    show(seen, lambda screen: views.patterns_text(screen, seen, times))


@command(fixes, "strategies")
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

    \b
    Examples:
      hardwon fixes strategies
      hardwon fixes strategies TIMEOUT --limit 3 --json
    """
    if failed and issue_type is None:
        raise typer.BadParameter("--failed is of an issue type: name one")
    with read_memory() as memory:
        if issue_type is None:
            show_best(memory, limit)
            return
        ask = memory.fixes.failed_strategies if failed else memory.fixes.strategies
        ways = ask(issue_type, limit)
    nothing = "Nothing was done about that yet."
    if failed:
        nothing = "Nothing that was done about that failed more often than not."
    show(ways, lambda screen: views.strategies_text(screen, {issue_type: ways}, nothing))


def show_best(memory: Any, limit: int) -> None:
    best = memory.fixes.best_strategies(limit)
    nothing = "No fix was verified to work yet."
    show(best, lambda screen: views.strategies_text(screen, best, nothing))


# --- episodes ---


@command(episodes, "tasks")
def tasks(limit: Limit = 20) -> None:
    """List the tasks that were attempted, and how they went.

    \b
    Examples:
      hardwon episodes tasks
      hardwon episodes tasks --json
    """
    with read_memory() as memory:
        listed = memory.episodes.tasks(limit)
    columns = ("task_id", "episodes", "mean", "best", "change", "first_seen", "last_seen")
    nothing = "No episode is recorded yet."
    show(listed, lambda screen: draw_table(screen, listed, columns, nothing))


@command(episodes, "compare")
def compare(
    task_id: Annotated[Text, opt("Of this task.", offer="task_id")] = None,
    since: Annotated[Text, opt("From this time on.", metavar="TIME")] = None,
    until: Annotated[Text, opt("Before this time.", metavar="TIME")] = None,
    with_tag: Annotated[
        Text, opt("Episodes with this tag had the memory; without one, those that recalled.")
    ] = None,
    by_run: Annotated[bool, opt("The episodes of a run count as one.", "--by-run")] = False,
) -> None:
    """Say whether episodes with the memory went better than those without.

    \b
    Examples:
      hardwon episodes compare
      hardwon episodes compare --task-id easy --with-tag memory --by-run --json
    """
    with read_memory() as memory:
        compared = memory.episodes.compare(
            tag=with_tag,
            by_run=by_run,
            task_id=task_id,
            since=read_time(since),
            until=read_time(until),
        )
    show(compared, str(compared))


@command(episodes, "cards")
def cards(
    task_id: Annotated[Text, arg("Of this task.", offer="task_id")] = None, limit: Limit = 10
) -> None:
    """List mistakes that were reported, and what to do instead.

    \b
    Examples:
      hardwon episodes cards easy
      hardwon episodes cards -k 50 --json
    """
    with read_memory() as memory:
        listed = memory.cards(task_id, limit)
    columns = ("mistake_type", "task_id", "seen", "bad_decision", "correct_decision", "lesson")
    nothing = "No mistake was reported yet."
    show(listed, lambda screen: draw_table(screen, listed, columns, nothing))


# --- the tree ---


@command(tree, "map")
def show_map(
    depth: Annotated[int, opt("Levels to show.", min=1, show_default="all")] = TOPOLOGY_DEPTH_MAX,
) -> None:
    """Draw the tree: what lies where, as bars, counts and shares.

    `--json` prints the whole tree, whatever the options say.

    \b
    Examples:
      hardwon tree map
      hardwon tree map --depth 2
    """
    with read_memory() as memory:
        branch = memory.topology()
    show(branch, lambda screen: views.map_text(screen, branch, depth))


@command(tree, "reflect")
def reflect() -> None:
    """Say what works, where things fail, and how sure that is.

    Nothing is concluded from fewer than ten attempts.

    \b
    Examples:
      hardwon tree reflect
      hardwon tree reflect --json
    """
    with read_memory() as memory:
        seen = memory.reflect()
    show(seen, lambda screen: views.reflection_text(screen, seen))


@command(tree, "sync")
def sync(
    make_tree: Annotated[
        bool, opt("First give the memory a tree, if it has none.", "--make-tree")
    ] = False,
) -> None:
    """Bring the files of the tree and the memory in step.

    Looks at every file and takes in what people added, changed, moved or removed. Every command does
    so for what it needs; this one tells which files it could not read and left alone.

    \b
    Examples:
      hardwon --memory agent_brain tree sync --make-tree
      hardwon --memory agent_brain tree sync --json
    """
    with chosen().open(to_read=not make_tree) as memory:
        if make_tree:
            memory.tree.make()
        elif memory.tree.mirror is None:
            fail(
                f"{memory.location} has no tree of files: hardwon tree sync --make-tree gives it one"
            )
        done = memory.tree.sync()
    notes = [f"left alone: {path}: {why}" for path, why in done.left.items()]
    notes += [f"holds a secret, which the memory does not: {path}" for path in done.secrets]
    text = f"{done.added} new, {done.edited} edited, {done.moved} moved, {done.absent} gone"
    show(done, text, complaints=notes)


# --- data sets ---


@command(tree, "generate", prints_json=False)
def generate(
    size: Annotated[
        str, arg("small (100), medium (1,000), large (10,000), vast (50,000), or a number.")
    ],
    seed: Annotated[int, opt("The same seed makes the same data set.", min=0)] = 0,
) -> None:
    """Make up a data set of memories that looks like an agent's real history, as JSON Lines.

    \b
    Examples:
      hardwon tree generate 200 --seed 7 > memories.jsonl
      hardwon tree generate small | hardwon --memory agent_brain load -
    """
    from hardwon.tree import datasets

    # Python refuses to read endless numbers; what is no size, or a longer number, is refused below
    is_number = size.isascii() and size.isdigit() and len(size) <= 18
    wanted = int(size) if is_number else size
    for memory in datasets.generate(wanted, seed):
        write(json.dumps(memory) + "\n")


@command(tree, "validate")
def validate(file: Annotated[str, arg("A data set: JSON or JSON Lines.")]) -> None:
    """Check a data set; exit code 1 when it has errors.

    Errors keep a memory from being stored; warnings (too generic, near-copies, unlikely shares) do
    not.

    JSON: `ok`, `total`, `errors` and `warnings` (lists of `index`, `field`, `value`, `wrong`,
    `remedy`, `severity`, `line`), `distributions` (a list of `field`, `name`, `count`, `share`,
    `least`, `most`, `within`).

    \b
    Examples:
      hardwon tree validate memories.jsonl
      hardwon tree validate memories.jsonl --json
    """
    from hardwon.tree import datasets

    report = datasets.validate(file)
    show(report.to_dict(), str(report), failed=not report.ok)


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
    is_named = False


def choose_folder(
    ctx: typer.Context,
    memory_dir: Annotated[
        str, opt("The folder of the fix history.", metavar="PATH", envvar="HARDWON_AIMEMORY")
    ] = "AIMemory",
) -> None:
    source = ctx.parent.get_parameter_source("memory") if ctx.parent else None
    # the environment may name a memory for the other commands
    is_named = source is not None and source.name == "COMMANDLINE"
    if is_url(memory_dir) or (is_named and is_url(Line.memory)):
        raise PlaceError(
            "these commands work on a folder, not on a database: hardwon merge brings a folder into "
            "one, and hardwon fixes asks it"
        )
    if is_named:
        raise typer.BadParameter(
            f"fix-history has a folder of its own, not {Line.memory}: --memory-dir names it"
        )
    History.folder = memory_dir
    asked = ctx.get_parameter_source("memory_dir")
    History.is_named = asked is not None and asked.name != "DEFAULT"


history_group = add_group(
    app,
    "fix-history",
    """Run a command of memory.sh. It works on the folder AIMemory and prints what scripts written for
    it read.

    So does `drop_in/memory.sh`, which runs it: on the folder `AIMemory` in the current folder, or on
    the one that `--memory-dir PATH` before the command, or `HARDWON_AIMEMORY`, names, and not on the
    one of `--memory`; a folder that is not there is told and not made.
    """,
    callback=choose_folder,
)


def has_history(folder: str | Path) -> bool:
    return any((Path(folder) / name).exists() for name in ("ai_memory.db", "knowledge_base.json"))


@contextmanager
def open_history() -> "Iterator[AIMemory]":
    """Who mistypes its name, or stands in another folder, gets no new one."""
    # where there is no such user, it is the name of a folder
    folder = Path(os.path.expanduser(History.folder))  # noqa: PTH111
    if not has_history(folder):
        fail(
            f"there is no fix history at {folder}: go to the folder that has it, or name it with "
            "--memory-dir (or HARDWON_AIMEMORY)"
        )
    from hardwon.fixes.ai_memory import AIMemory  # only these commands wait for it

    with AIMemory(folder) as history:
        yield history


@command(history_group, "stats")
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
    show(counts, "\n".join(["🧠 Claude Memory Statistics:", *lines]))


@command(history_group, "model")
def history_model(name: Annotated[str, arg("The model, as its fixes name it.", "NAME")]) -> None:
    """Print what is known of a model, as one JSON object, with or without `--json`.

    JSON: `model_name`, `total_tests`, `success_rate`, `common_issues`, `effective_fixes`,
    `recent_history`, `applied_rate`, `p_success`, `performance_notes`, `last_updated`.

    \b
    Examples:
      hardwon fix-history model qwen2.5:7b
    """
    with open_history() as history:
        insights = history.get_model_insights(name)
    show(insights, json_text(insights))


@command(history_group, "export")
def history_export(
    file: Annotated[
        Text, arg("Where to.", "FILE", show_default="ai_insights_YYYYmmdd_HHMMSS.json")
    ] = None,
) -> None:
    """Write the whole report to a file. A file of that name is replaced.

    JSON: `file`.

    \b
    Examples:
      hardwon fix-history export
      hardwon fix-history export insights.json --json
    """
    target = file or f"ai_insights_{datetime.now().astimezone():%Y%m%d_%H%M%S}.json"
    with open_history() as history:
        history.export_insights(target)
    show({"file": target}, f"Insights exported to {target}")


@command(history_group, "recent")
def history_recent(days: Days = 7, limit: Limit = limits.SHOWN_MAX) -> None:
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
    listed = fixes[:limit]
    when = "last day" if days == 1 else f"last {days} days"
    outcomes = [views.fix_outcome(fix) for fix in fixes]
    counts = [f"{outcomes.count(name)} {name}" for name in ("verified", "applied", "failed")]
    total = f"{len(fixes)} in the {when}: {', '.join(counts)}"
    if len(listed) < len(fixes):
        total += f"; the newest {len(listed)} are listed"
    elif not fixes:
        total = f"No fix was attempted in the {when}."

    def draw(screen: Screen) -> str:
        return "\n".join(filter(None, [views.fixes_text(screen, listed), total]))

    show(listed, draw)


@command(history_group, "successful")
def history_successful(limit: Limit = 5) -> None:
    """List what worked best, by issue type.

    JSON: as `hardwon fixes strategies` prints it, without an issue type.

    \b
    Examples:
      hardwon fix-history successful
      hardwon fix-history successful --json
    """
    with open_history() as history:
        show_best(history.memory, limit)


@command(history_group, "patterns")
def history_patterns(limit: Limit = PATTERNS_SHOWN, every: All = False) -> None:
    """List the issues that keep coming up, and what fixes them.

    JSON: as `hardwon fixes patterns` prints it.

    \b
    Examples:
      hardwon fix-history patterns
      hardwon fix-history patterns --json
    """
    with open_history() as history:
        show_patterns(history.memory, limit, every)


@command(history_group, "cleanup")
def history_cleanup(days: OlderThan = limits.CLEANUP_DAYS) -> None:
    """Take out old fixes at once, but for those of value by themselves: what somebody vouches for, what
    helped, and the last of each pattern. What they taught stays; prints how to take it back.

    JSON: `failed`, `successful`, `kept`, `left`, `dry_run`, `event_ids` (for undo).

    \b
    Examples:
      hardwon fix-history cleanup
      hardwon fix-history cleanup 90 --json
    """
    with open_history() as history, progress("cleaning up"):
        done = history.auto_cleanup(days, successes_days=days)
        hints = "".join(undo_hint(history.memory, event_id) for event_id in done["event_ids"])
    show(done, cleanup_text(done, days) + hints)


@command(history_group, "help", prints_json=False, hidden=True)
def history_help(ctx: typer.Context) -> None:
    """What `memory.sh help` prints."""
    if ctx.parent:
        write(ctx.parent.get_help() + "\n")
