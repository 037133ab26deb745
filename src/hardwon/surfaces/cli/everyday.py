"""What is used every day: a memory is made, asked before an attempt, told what helped, and looked
into.
"""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from hardwon import limits
from hardwon.errors import UnknownRecordError
from hardwon.memory import Memory
from hardwon.memory.places import find_place, memory_exists
from hardwon.outside import files
from hardwon.outside.files import repository_root
from hardwon.outside.git import Repository
from hardwon.outside.locations import FOLDER_NAME, is_url, without_password
from hardwon.records.kinds import RuleState, Source, Trajectory
from hardwon.runs.read import read_records
from hardwon.runs.story import outline_run
from hardwon.search.terms import Narrowing
from hardwon.surfaces.cli import base as cli
from hardwon.surfaces.cli import views
from hardwon.surfaces.cli.recording import read_object
from hardwon.surfaces.cli.story import draw_story
from hardwon.text.terms import say_count
from hardwon.trust.redact import redact

if TYPE_CHECKING:
    from hardwon.memory.context import Context

app = cli.make_app()

_RUN_RECORDS_MAX: Final = 200
# What a question may be narrowed by, as options.
FILTERS: Final = {
    name: Annotated[cli.Text, cli.opt(str(field.description))]
    for name, field in Narrowing.model_fields.items()
}


def read_filters(filters: dict[str, Any]) -> dict[str, Any]:
    """As a memory takes them."""
    return {
        name: cli.read_time(value) if name in ("since", "until") else value
        for name, value in filters.items()
    }


Filters = Annotated[dict[str, Any], cli.Shared(FILTERS, read_filters)]
AsOf = Annotated[cli.Text, cli.opt("As it was believed then.", metavar="TIME")]
HowMany = Annotated[int, cli.opt("How many.", "--limit", "-k")]


@cli.command(app, "init")
def init(*, tree: bool = False, agents: bool = False) -> None:
    """Make a memory: .hardwon here, or where --memory says. One that is there stays as it is.

    Every command finds `.hardwon` from the folder it is in, and from all folders below. A
    `.gitignore` in it keeps the memory out of git; with `--tree`, its files are for git and the
    databases are not.

    JSON: `location` (the file of the memory, or its database), `project`, `created` (false: it was
    there before), `tree` (the folder of its files, or null).

    \b
    Examples:
      hardwon init
      hardwon --memory agent_brain init --tree

    Options:
      tree: Give it a tree of files, one for each experience.
      agents: Tell agents of it: a section in AGENTS.md.
    """
    target = cli.find_target()
    with make_memory(target) as (memory, created):
        planted = memory.tree.make() if tree else memory.tree.mirror
        if created and not planted and not target.memory:
            files.hide_from_git(own_folder())
        root = str(planted.root) if planted else None
        place = {"location": memory.location, "project": memory.project}
    if agents:
        from hardwon.surfaces.mcp import clients

        clients.write_agents_section(Path("AGENTS.md"))
    named = {"memory": without_password(target.memory or ""), "project": target.project}
    options = "".join(f" --{name} {shlex.quote(value)}" for name, value in named.items() if value)
    state = "a new memory" if created else "the memory is here already"
    lines = [
        f"{state}: {place['location']}, project {place['project']}",
        *([f"its files: {root}"] if root else []),
        f'to keep something:          hardwon{options} remember "what happened"',
        f"to record what you run:     hardwon{options} run -- COMMAND",
        f'before the next attempt:    hardwon{options} context "what is to be done"',
    ]
    cli.show({**place, "created": created, "tree": root}, "\n".join(lines))


def own_folder() -> Path:
    """Where a memory is made that nobody named: here; at the root of a linked worktree, where all
    worktrees find it.
    """
    here = Path.cwd()
    return (Repository(here).home if repository_root(here) == here else here) / FOLDER_NAME


@contextmanager
def make_memory(target: cli.Target) -> Iterator[tuple[Memory, bool]]:
    """The memory, and whether it is new. A folder that was made for nothing goes again."""
    folder = own_folder()
    makes_folder = not target.memory and not folder.is_dir()
    if makes_folder:
        files.make_folder(folder)
    try:
        created = not memory_exists(target.memory)
        with Memory(target.memory, target.project) as memory:
            yield memory, created
    finally:
        if makes_folder:
            with suppress(OSError):  # something is in it
                folder.rmdir()


@cli.command(app, "config")
def config() -> None:
    """Show every setting, its value, and where that comes from.

    An option counts before the environment (`HARDWON_MEMORY`, `HARDWON_PROJECT`, `HARDWON_AUTHOR`),
    that before the user's file (`~/.config/hardwon/config.toml`, or where the system keeps such
    files): TOML with the keys `memory`, `project` and `author`, who remember, record and run say it
    was.

    JSON: `settings` (a list of `name`, `value`, `origin` (option, environment, user file or default)
    and `where`, which option, variable or file), `location`, `file` (`path` and `exists`).

    \b
    Examples:
      hardwon --memory agent_brain config --json
    """
    settings = cli.read_settings()
    place = find_place(settings.memory.value)
    defaults = {"memory": place.location, "project": place.project, "author": Source().author}
    values = [
        {**one._asdict(), "value": redact(without_password(one.value or defaults[one.name]))[0]}
        for one in settings[:3]
    ]
    # named also where there is none: somebody may want to make it
    file = {"path": str(settings.user_file), "exists": settings.user_file.exists()}
    shown = {
        one["name"]: f"{one['value']}  ({': '.join(filter(None, (one['origin'], one['where'])))})"
        for one in values
    }
    shown["database" if is_url(place.location) else "file"] = place.location
    missing = "" if file["exists"] else ", which does not exist"
    shown["user file"] = f"{file['path']}{missing}"
    answer = {"settings": values, "location": place.location, "file": file}
    cli.show(answer, partial(views.draw_values, shown))


@cli.command(app, "recall")
def recall(query: str, *, filters: Filters, limit: HowMany = 5, as_of: AsOf = None) -> None:
    """Find what answers a question, the best first.

    `--path` is a glob over the related files. A day is meant from its beginning, in UTC.

    \b
    Examples:
      hardwon recall "login fails with KeyError"
      hardwon recall "timeout while uploading" -k 10 --outcome failure --since 2026-01-01

    Options:
      query: What it is about: an error, a task, a few words.
    """
    with cli.read_memory() as memory:
        hits = memory.recall(query, limit, as_of=cli.read_time(as_of), **filters)
    cli.show(hits, partial(views.draw_hits, hits))


@cli.command(app, "context")
def context(
    query: cli.Text = None,
    *,
    task_id: cli.OfTask = None,
    issue: cli.Text = None,
    budget_tokens: int = limits.CONTEXT_TOKENS,
    solved_from: float = 1.0,
    explain: bool = False,
) -> None:
    """Print what matters before the next attempt.

    It prints the text and nothing else, without a line end of its own where that is no terminal.
    Why it is empty, and what --explain has to say, goes to the standard error.

    \b
    Examples:
      hardwon context "login fails with KeyError"
      hardwon context --task-id easy --issue '{"model": "m", "issue_type": "TIMEOUT"}' --budget-tokens 200 --json

    Options:
      query: What it is about: an error, a task, a few words.
      issue JSON: An issue that is to be fixed.
      budget_tokens: The text has at most so many tokens.
      solved_from: What earned less than this did not solve its task.
      explain: Also say why each line is there.
    """
    with cli.read_memory() as memory:
        made = memory.context(
            query,
            task_id=task_id,
            issue=read_object("--issue", issue) if issue else None,
            budget_tokens=budget_tokens,
            solved_from=solved_from,
            explain=explain,
        )
    cli.show(made, partial(write_context, made))


def write_context(made: "Context") -> str:
    """Written as it is, whatever a terminal does with it: a program reads it. Nothing is left to be
    drawn.
    """
    text = str(made)
    cli.write(text + "\n" if text and not text.endswith("\n") and sys.stdout.isatty() else text)
    if not text:
        cli.complain(made.empty_reason)
    for line in made.lines:
        print(f"{line.kind}: {views.cut_line(line.text)} ({line.why})", file=sys.stderr)
    for unsaid in made.unsaid:
        print(f"left out, {unsaid.reason}: {views.cut_line(unsaid.text)}", file=sys.stderr)
    return ""


@cli.command(app, "advise")
def advise(
    action: str,
    *,
    task: cli.Text = None,
    error: cli.Text = None,
    issue: cli.Text = None,
    step: cli.Texts = None,
    author: cli.Text = None,
    fail_if_blocked: bool = False,
) -> None:
    """Say what is known of an action before it is taken.

    \b
    Examples:
      hardwon advise "pip install torch"
      hardwon advise "retry the upload" --task "nightly backup" --error "timed out" --fail-if-blocked --json

    Options:
      action: The very command or change.
      task: What it is for.
      error: The error, as it was seen.
      issue JSON: An issue that is to be fixed.
      step JSON: A step of the current attempt; each so far.
      author: Who takes the action: for an issue, the fixer.
      fail_if_blocked: Exit code 1 where it failed the same way again and again.
    """
    with cli.read_memory() as memory:
        advice = memory.advise(
            action,
            task=task,
            error=error,
            issue=read_object("--issue", issue) if issue else None,
            steps=[read_object("--step", text) for text in step or ()],
            author=author,
        )
    cli.show(advice, str(advice), failed=fail_if_blocked and advice.verdict == "blocked")


Helped = Annotated[bool, cli.opt("Whether what they say was of use.", "--helped/--did-not-help")]


@cli.command(app, "credit")
def credit(ids: cli.RecordIds, *, helped: Helped, by: cli.By = "user") -> None:
    """Say whether what was recalled helped. It stands higher, or lower, from now on.

    Ids that no record has are named on standard error.

    \b
    Examples:
      hardwon credit 0198c0de-0000-7000-8000-000000000001 --helped
      hardwon credit 0198c0de-0000-7000-8000-000000000001 --did-not-help --by reviewer --json
    """
    with cli.read_memory() as memory:
        wanted = cli.whole_ids(memory, ids)
        credited = memory.credit(wanted, helped, by)
    for unknown in (one for one in wanted if one.lower() not in credited):
        cli.complain(f"there is no record {unknown}")
    did = "helped" if helped else "did not help"
    cli.show(credited, f"{say_count(len(credited), 'record')} {did}")


@cli.command(app, "stats")
def stats() -> None:
    """Print how much there is, of what, and where.

    \b
    Examples:
      hardwon stats
      hardwon --memory agent_brain stats --json
    """
    with cli.read_memory() as memory:
        counts = memory.stats()
    cli.show(counts, partial(views.draw_stats, counts))


@cli.command(app, "browse")
def browse(
    *, filters: Filters, limit: HowMany = limits.PAGE_RECORDS, cursor: cli.Text = None
) -> None:
    """List records, the newest first. For all of them there is export.

    \b
    Examples:
      hardwon browse
      hardwon browse --kind experience --outcome failure --since 2026-01-01 --limit 50 --json

    Options:
      cursor: What the page before gave as its next.
    """
    with cli.read_memory() as memory:
        page = memory.care.page(limit, cursor, **filters)

    def draw() -> str:
        """The records, and whether there are more."""
        more = f"\nThe newest {len(page.records)}; there are more." if page.next else ""
        return views.draw_records(page.records) + more or views.dim("No records.")

    cli.show(page, draw)


@cli.command(app, "show")
def show_record(
    record_id: cli.RecordId, *, as_of: AsOf = None, run: bool = False, fields: bool = False
) -> None:
    """Print one record; a run as a story.

    The story has what was wanted, what was looked at, changed and checked, what went wrong and what
    made that go away, what lasted, and how it ended. As JSON it is `run`, beside the record's own
    fields; its `records` are the ids of the whole run's.

    \b
    Examples:
      hardwon show 0198c0de-0000-7000-8000-000000000001
      hardwon show 0198c0de-0000-7000-8000-000000000001 --run
      hardwon show 0198c0de-0000-7000-8000-000000000001 --json

    Options:
      run: The whole run that it is a part of: a session, the commands of one terminal.
      fields: Of a run all fields, and all that was printed.
    """
    with cli.read_memory() as memory:
        record_id = cli.whole_id(memory, record_id)
        record = memory.get(record_id, cli.read_time(as_of))
        if record is None:
            raise UnknownRecordError(
                f"there is no record {record_id} in project {memory.project!r}"
            )
        parts = _find_run(memory, record) if isinstance(record, Trajectory) else []
    if not isinstance(record, Trajectory):
        cli.show(record, partial(views.draw_record, record))
        return
    from hardwon.surfaces.shapes import jsonable  # it takes a while to load

    chosen_parts = parts if run else [record]
    whole = read_records(chosen_parts)
    reward = record.final_reward if chosen_parts == [record] else None
    ids = [part.id for part in parts]
    value = {**jsonable(record), "run": {**outline_run(whole, reward), "records": ids}}
    notes = []
    if len(parts) > 1 and not run:
        notes = [f"a part of a run of {len(parts)} records: hardwon show {record.id} --run"]
    view = (
        partial(views.draw_record, record) if fields else partial(draw_story, whole, chosen_parts)
    )
    cli.show(value, view, complaints=notes)


def _find_run(memory: Memory, record: Trajectory) -> list[Trajectory]:
    """The records of the run that a record is a part of, the oldest first; it alone where it has no
    run's id. Those that others took the place of are left out.
    """
    run_id = record.metadata.source.id
    known = memory.browse(_RUN_RECORDS_MAX, kind="trajectory", source_id=run_id) if run_id else ()
    parts = [
        part
        for part in known
        if isinstance(part, Trajectory) and part.metadata.validation.status != "archived"
    ]
    return parts[::-1] or [record]


@cli.command(app, "rules")
def rules(
    task_id: cli.Text = None, *, state: RuleState | None = None, limit: cli.Limit = 10
) -> None:
    """List what works and what to avoid, by task.

    Without a task: of every task, and what holds for the whole project, those that are active.
    `--state candidate` lists those that wait.

    \b
    Examples:
      hardwon rules easy
      hardwon rules --state candidate --limit 50 --json

    Options:
      task_id TASK: Of this task, and of the whole project.
      state: Only such rules. [active, of a task all]
    """
    with cli.read_memory() as memory:
        tasks = [task_id]
        if not task_id:
            tasks += sorted(task.task_id for task in memory.episodes.tasks(limits.SHOWN_MAX))
            state = state or "active"
        every = [rule for task in tasks for rule in memory.rules(task, state, limit)]
    # what holds for the project is among those of each task
    listed = list({rule.id: rule for rule in every}.values())
    nothing = "No such rule was learned yet."
    columns = ("task_id", "state", "kind", "helpful", "harmful", "text")
    cli.show(listed, partial(views.draw_table, listed, columns, nothing))
