"""What the memory knows, in small reports: rules and cards, scores and odds, what was done about issues and how that went."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, NamedTuple

import typer

from hardwon import limits
from hardwon.learn.odds import Odds
from hardwon.memory.results import SimilarIssues
from hardwon.records.kinds import Decision, Fix
from hardwon.surfaces.cli.base import FIXES, LEARNED, Json, chosen, command, look, plain, write_json, write_lines, write_text
from hardwon.surfaces.cli.fixes import fix_json, strategy_json
from hardwon.surfaces.cli.input import IssueJson, Limit, Options, TaskId, filtered, issue_of
from hardwon.surfaces.cli.views import outcome_of, table_lines, value_lines

_LISTED: Final = 10
_SIMILAR: Final = 5

OfDays = Annotated[int, typer.Option(min=1, max=limits.FIX_DAYS_MAX, help="Of the last so many days.")]


def _tell(found: Sequence[object], columns: Sequence[str], nothing: str, *, as_json: bool, shape: Any = plain) -> None:
    """A list: the named columns of it for people, all of it for programs."""
    if as_json:
        write_json(list(map(shape, found)))
    else:
        write_lines(table_lines(found, columns, look(), nothing))


# --- of tasks -----------------------------------------------------------------------------------------------------------


@command(
    LEARNED,
    "hardwon rules --task-id easy",
    "hardwon rules --state active --limit 50 --json",
    answers="JSON: a list of `id`, `kind` (works, avoid or written), `text`, `task_id` (null: of the whole project), `state` "
    "(candidate, active or retired), `episodes`, `sources`, `tasks`, `helpful` and `harmful` (episodes for and against it), "
    "`vouched`, `mean_score`, `first_seen`, `last_seen`, `evidence` (ids), `adopted`, `trust`.",
)
def rules(
    ctx: typer.Context,
    task_id: TaskId = None,
    state: Annotated[str | None, typer.Option(help="candidate, active or retired.")] = None,
    limit: Limit = _LISTED,
    as_json: Json = False,
) -> None:
    """List what works and what to avoid: of a task, with what holds for the whole project."""
    with chosen(ctx).open(to_read=True) as memory:
        found = memory.rules(task_id, state, limit)  # type: ignore[arg-type]  # it says what is allowed
    columns = ("state", "kind", "helpful", "harmful", "task_id", "text")
    _tell(found, columns, "No rule was learned yet.", as_json=as_json)


@command(
    LEARNED,
    "hardwon cards --task-id easy",
    "hardwon cards --limit 50 --json",
    answers="JSON: a list of `id`, `mistake_type`, `task_id`, `worker_id`, `bad_decision`, `correct_decision`, "
    "`evidence`, `lesson`, `seen_count` (episodes), `sources`, `mean_score`, `first_seen`, `last_seen`, `records` "
    "(ids), `vouched`, `adopted_count` (how often training memory had seen a card that was adopted).",
)
def cards(ctx: typer.Context, task_id: TaskId = None, limit: Limit = _LISTED, as_json: Json = False) -> None:
    """List mistakes that episodes reported, with what would have been right."""
    with chosen(ctx).open(to_read=True) as memory:
        found = memory.cards(task_id, limit)
    columns = ("mistake_type", "task_id", "seen", "bad_decision", "correct_decision", "lesson")
    _tell(found, columns, "No mistake was reported yet.", as_json=as_json)


@command(
    LEARNED,
    "hardwon scores easy",
    "hardwon scores easy --json",
    answers="JSON: `task_id`, `episodes`, `mean` and `best` (null where there are none), `trend` (how much better the "
    "newer half of `recent` is), `direction` (rising, falling or flat), `recent` (the newest scores, oldest first).",
)
def scores(
    ctx: typer.Context, task_id: Annotated[str, typer.Argument(metavar="TASK_ID", help="The task.")], as_json: Json = False
) -> None:
    """Print how a task went: mean, best, trend, and the newest scores."""
    with chosen(ctx).open(to_read=True) as memory:
        found = plain(memory.scores(task_id))
    if as_json:
        write_json(found)
    else:
        write_lines(value_lines(found, look()))


@command(
    LEARNED,
    "hardwon compare",
    "hardwon compare --task-id easy --with-tag memory --by-run --json",
    answers="JSON: `on` and `off` (each `episodes` and `mean`), `difference` and `interval` (null where there is too little to "
    "compare), `helps` (whether more than chance speaks for it), `curves` (of each task, the newest scores `on` and `off`).",
)
@filtered("kind", "tag")
def compare(
    ctx: typer.Context,
    filters: Options,
    with_tag: Annotated[
        str | None,
        typer.Option(metavar="TAG", help="Episodes with this tag had the memory.", show_default="those that recalled"),
    ] = None,
    by_run: Annotated[bool, typer.Option("--by-run", help="The episodes of a run count as one.")] = False,
    as_json: Json = False,
) -> None:
    """Say whether the memory helps: episodes that had it against those that had not."""
    with chosen(ctx).open(to_read=True) as memory:
        found = memory.compare(tag=with_tag, by_run=by_run, **filters)
    if as_json:
        write_json({**plain(found), "helps": found.helps})
    else:
        write_text(str(found))


@command(
    LEARNED,
    "hardwon solutions",
    'hardwon solutions "ModuleNotFoundError: No module named torch" --json',
    answers="JSON: a list of `diagnosis`, `failure_hash`, `action`, `tried`, `helped`, `p_helped`, `last_tried`, "
    "`evidence` (ids).",
)
def solutions(
    ctx: typer.Context,
    error: Annotated[str | None, typer.Argument(help="What went wrong.", show_default="anything")] = None,
    limit: Limit = _LISTED,
    as_json: Json = False,
) -> None:
    """List what was done after an error in trajectories, what helped most first."""
    with chosen(ctx).open(to_read=True) as memory:
        found = memory.solutions(error, limit)
    columns = ("helped", "tried", "p_helped", "action", "diagnosis")
    _tell(found, columns, "Nothing was done after that yet.", as_json=as_json)


@command(
    LEARNED,
    "hardwon decisions",
    "hardwon decisions --action merge --task-id easy --limit 50 --json",
    answers="JSON: a list of records of kind decision: `id`, `kind`, `action`, `task_id`, `target`, `replacement`, "
    "`text`, `tasks`, `evidence`, `reason`, `metadata`.",
)
def decisions(
    ctx: typer.Context,
    action: Annotated[
        str | None, typer.Option(help="rule, merge, promote, retire, contradiction, rollback, cleanup or compress.")
    ] = None,
    task_id: TaskId = None,
    limit: Limit = _LISTED,
    as_json: Json = False,
) -> None:
    """List what was decided about knowledge and not undone, the newest first. Undo takes one back by its id."""
    with chosen(ctx).open(to_read=True) as memory:
        found = memory.decisions(action, task_id, limit)  # type: ignore[arg-type]  # it says what is allowed
    if as_json:
        write_json(list(map(plain, found)))
    else:
        write_lines(table_lines(list(map(_Decided.of, found)), _Decided._fields, look(), "Nothing was decided yet."))


class _Decided(NamedTuple):
    id: str
    at: object
    action: str
    about: str

    @classmethod
    def of(cls, decision: Decision) -> "_Decided":
        about = " ".join(filter(None, (decision.target, decision.replacement, decision.text, decision.reason)))
        return cls(decision.id, decision.metadata.context.timestamp, decision.action, about)


# --- of fixes -----------------------------------------------------------------------------------------------------------

Model = Annotated[str | None, typer.Option(help="The model.")]
IssueType = Annotated[str | None, typer.Option(help="The sort of issue, such as TIMEOUT.")]


@command(
    FIXES,
    "hardwon odds --model qwen2.5:7b --issue-type TIMEOUT",
    'hardwon odds --tool code_interpreter --task "parse the dates" --json',
    answers="JSON: `attempts`, `applied` and `verified` (of what was asked for), `p_success`, `interval`, `confidence`, "
    "`basis` (what went into it, the most general first: `scope`, `attempts`, `verified`).",
)
def odds(
    ctx: typer.Context,
    issue: IssueJson = None,
    model: Model = None,
    issue_type: IssueType = None,
    fixer: Annotated[str | None, typer.Option(help="Who fixes it.")] = None,
    tool: Annotated[str | None, typer.Option(help="A tool instead of a fix.")] = None,
    task: Annotated[str | None, typer.Option(help="The tool at this task.")] = None,
    as_json: Json = False,
) -> None:
    """Say how likely a fix, or a tool at a task, is to work, and on what that rests."""
    about = issue_of(issue)
    with chosen(ctx).open(to_read=True) as memory:
        found = _odds_json(memory.odds(about, model=model, issue_type=issue_type, fixer=fixer, tool=tool, task=task))
    if as_json:
        write_json(found)
    else:
        write_lines(value_lines(found, look()))


def _odds_json(odds: Odds) -> dict[str, Any]:
    return {
        "attempts": odds.attempts,
        "applied": odds.applied,
        "verified": odds.verified,
        "p_success": odds.p_success,
        "interval": list(odds.interval),
        "confidence": odds.confidence,
        "basis": plain(odds.basis),
    }


@command(
    FIXES,
    'hardwon similar --model qwen2.5:7b --issue-type TIMEOUT --description "no answer in 30 s"',
    'hardwon similar --issue \'{"model": "qwen2.5:7b", "issue_type": "TIMEOUT"}\' --json',
    answers="JSON: `exact` (the same issue), `model` (its type on its model) and `type` (its type on any model), each a "
    "list of fixes.",
)
def similar(
    ctx: typer.Context,
    issue: IssueJson = None,
    model: Model = None,
    issue_type: IssueType = None,
    description: Annotated[str | None, typer.Option(help="What is wrong.")] = None,
    error_output: Annotated[str | None, typer.Option(help="What it printed.")] = None,
    limit: Limit = _SIMILAR,
    as_json: Json = False,
) -> None:
    """List earlier attempts to fix an issue or one like it, those that worked first."""
    about = issue_of(issue, model=model, issue_type=issue_type, description=description, error_output=error_output)
    if about is None:
        raise typer.BadParameter("say what the issue is: --issue-type, --model, --description, --error-output or --issue")
    with chosen(ctx).open(to_read=True) as memory:
        found = memory.similar_issues(about, limit)
    if as_json:
        write_json({name: list(map(fix_json, fixes)) for name, fixes in vars(found).items()})
    else:
        write_lines(table_lines(_matches(found), _Match._fields, look(), "Nothing like that was fixed yet."))


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
        return cls(match, outcome_of(fix), fix.metadata.context.timestamp, fix.issue.model, fix.issue.issue_type, did)


def _matches(found: SimilarIssues) -> list[_Match]:
    return [_Match.of(name, fix) for name, fixes in vars(found).items() for fix in fixes]


@command(
    FIXES,
    "hardwon strategies TIMEOUT",
    "hardwon strategies TIMEOUT --limit 3 --json",
    answers="JSON: a list of strategies: `fix_commands`, `analysis`, `attempts`, `applied`, `verified`, `p_success`, "
    "`interval`, `last_used`, `evidence`.",
)
def strategies(
    ctx: typer.Context,
    issue_type: Annotated[str, typer.Argument(metavar="ISSUE_TYPE", help="The sort of issue, such as TIMEOUT.")],
    limit: Limit = _LISTED,
    as_json: Json = False,
) -> None:
    """List what was done about an issue type, the likeliest to work first."""
    with chosen(ctx).open(to_read=True) as memory:
        found = memory.strategies(issue_type, limit)
    columns = ("p_success", "verified", "attempts", "last_used", "fix_commands", "analysis")
    _tell(found, columns, "Nothing was done about that yet.", as_json=as_json, shape=strategy_json)


@command(
    FIXES,
    "hardwon fixers",
    "hardwon fixers --json",
    answers="JSON: a list of `fixer`, `attempts`, `applied`, `verified`, `p_success`, `interval`.",
)
def fixers(ctx: typer.Context, as_json: Json = False) -> None:
    """List how every fixer did, the busiest first."""
    with chosen(ctx).open(to_read=True) as memory:
        found = memory.fixers()
    columns = ("fixer", "attempts", "applied", "verified", "p_success", "interval")
    _tell(found, columns, "Nobody fixed anything yet.", as_json=as_json)


@command(
    FIXES,
    "hardwon trends",
    "hardwon trends --days 90 --json",
    answers="JSON: a list of `issue_type`, `days` (a list of `day`, `attempts`, `applied`, `verified`), `attempts`, "
    "`earlier` and `later` (attempts in the first and in the second half), `direction` (rising, falling or steady), "
    "`p_value`, `test`.",
)
def trends(ctx: typer.Context, days: OfDays = limits.FIX_DAYS, as_json: Json = False) -> None:
    """List which issue types come up more often, or less often, than before."""
    with chosen(ctx).open(to_read=True) as memory:
        found = memory.fix_trends(days)
    columns = ("issue_type", "direction", "attempts", "earlier", "later", "p_value")
    _tell(found, columns, "No fix was attempted in that time.", as_json=as_json)


@command(
    FIXES,
    "hardwon matrix",
    "hardwon matrix --json",
    answers="JSON: a list of `model`, `issue_type`, `attempts`, `applied`, `verified`, `p_success`.",
)
def matrix(ctx: typer.Context, as_json: Json = False) -> None:
    """List how fixes went by model and issue type, the most frequent first."""
    with chosen(ctx).open(to_read=True) as memory:
        found = memory.fix_matrix()
    columns = ("model", "issue_type", "attempts", "applied", "verified", "p_success")
    _tell(found, columns, "No fix was attempted yet.", as_json=as_json)
