"""What the memory knows of fixes, where a terminal needs more than a table: `similar`, `recent`,
`patterns`.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final, NamedTuple

import typer

from hardwon import limits
from hardwon.memory import Memory
from hardwon.records.kinds import Fix
from hardwon.surfaces.cli import views
from hardwon.surfaces.cli.base import FIXES, Json, chosen, command, look, write_json, write_lines
from hardwon.surfaces.cli.input import IssueJson, Limit, issue_of
from hardwon.surfaces.cli.output import QUIET, Line, Span

RECENT_DAYS: Final = 7
PATTERNS_LISTED: Final = 20
_FIRST_TIME: Final = datetime(1970, 1, 1, tzinfo=UTC)  # no record is older

Days = Annotated[
    int,
    typer.Argument(metavar="DAYS", min=1, max=limits.DAYS_MAX, help="Of the last so many days."),
]
All = Annotated[bool, typer.Option("--all", help="Also issues that came up only once.")]


@command(
    FIXES,
    'hardwon similar --model qwen2.5:7b --issue-type TIMEOUT --description "no answer in 30 s"',
    'hardwon similar --issue \'{"model": "qwen2.5:7b", "issue_type": "TIMEOUT"}\' --json',
    operation="similar_issues",
)
def similar(
    ctx: typer.Context,
    issue: IssueJson = None,
    model: Annotated[str | None, typer.Option(help="The model.")] = None,
    issue_type: Annotated[
        str | None, typer.Option(help="The sort of issue, such as TIMEOUT.")
    ] = None,
    description: Annotated[str | None, typer.Option(help="What is wrong.")] = None,
    error_output: Annotated[str | None, typer.Option(help="What it printed.")] = None,
    limit: Limit = 5,
    as_json: Json = False,
) -> None:
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
    if as_json:
        write_json(found)
    else:
        matches = [_Match.of(name, fix) for name, fixes in vars(found).items() for fix in fixes]
        write_lines(
            views.table_lines(matches, _Match._fields, look(), "Nothing like that was fixed yet.")
        )


class _Match(NamedTuple):
    match: str
    outcome: str
    at: object
    model: str
    issue_type: str
    what_was_done: str

    @classmethod
    def of(cls, match: str, fix: Fix) -> "_Match":
        did = " ; ".join(fix.fix_commands) or fix.analysis
        return cls(
            match,
            views.outcome_of(fix),
            fix.metadata.context.timestamp,
            fix.issue.model,
            fix.issue.issue_type,
            did,
        )


@command(
    FIXES,
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
    as_json: Json = False,
) -> None:
    """List the fixes that were tried in the last days."""
    with chosen(ctx).open(to_read=True) as memory:
        show_recent(memory, days, limit, as_json=as_json)


@command(
    FIXES,
    "hardwon patterns",
    "hardwon patterns --all --limit 50 --json",
    operation="patterns",
    more="""The most frequent first: the same signature, a model and issue type, an issue type on any model; each with its
    best fix.""",
)
def patterns(
    ctx: typer.Context, limit: Limit = PATTERNS_LISTED, every: All = False, as_json: Json = False
) -> None:
    """List the issues that keep coming up, and what fixes them."""
    with chosen(ctx).open(to_read=True) as memory:
        show_patterns(memory, limit, every=every, as_json=as_json)


Shape = Callable[[Any], Any] | None
"""Makes the JSON of each, where that is not what HTTP has of it."""


# --- also for scripts written for memory.sh ---


def show_recent(
    memory: Memory, days: int, limit: int, *, as_json: bool, shape: Shape = None
) -> None:
    since = max(memory.care.now() - timedelta(days=days), _FIRST_TIME)
    found = [
        record
        for record in memory.browse(limit + 1, kind="fix", since=since)
        if isinstance(record, Fix)
    ]
    shown = found[:limit]
    if as_json:
        write_json(list(map(shape, shown)) if shape else shown)
        return
    when = "last day" if days == 1 else f"last {days} days"
    lines: list[Line] = [*views.fix_lines(shown, look())] if shown else []
    if len(found) > limit:
        lines.append(
            (
                Span(
                    f"The newest {limit} of the {when}: {views.outcome_counts(shown)}; there are "
                    f"more",
                    QUIET,
                ),
            )
        )
    elif shown:
        lines.append((Span(f"{len(shown)} in the {when}: {views.outcome_counts(shown)}", QUIET),))
    else:
        lines.append((Span(f"No fix was attempted in the {when}.", QUIET),))
    write_lines(lines)


def show_patterns(
    memory: Memory, limit: int, *, every: bool, as_json: bool, shape: Shape = None
) -> None:
    found = [
        each
        for each in memory.patterns(limit)
        if every or each.success_count + each.failure_count > 1
    ]
    if as_json:
        write_json(list(map(shape, found)) if shape else found)
    else:
        write_lines(views.pattern_lines(found, look()))
