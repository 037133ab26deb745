"""What is believed, and keeping the memory well: what was decided, what goes and how it comes back,
copies, vectors, and whether all is as it was written.
"""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args

from hardwon import limits
from hardwon.memory import Memory
from hardwon.outside.locations import DEFAULT_PROJECT
from hardwon.records.kinds import Action, Decision, Verifier, sources_named
from hardwon.surfaces.cli import views
from hardwon.surfaces.cli.everyday import read_filters, with_filters
from hardwon.surfaces.cli.main import (
    By,
    DryRun,
    Limit,
    RecordId,
    Yes,
    add_group,
    arg,
    command,
    opt,
    read_memory,
    read_time,
    whole_id,
    whole_ids,
)
from hardwon.surfaces.cli.output import Progress, View, fail, progress, require_consent, show
from hardwon.surfaces.cli.views import Screen, counted, size_text

if TYPE_CHECKING:
    from hardwon.memory.results import Forgotten, LifeEvent

_ID: Final = "0198c0de-0000-7000-8000-000000000001"
_OTHER_ID: Final = "0198c0de-0000-7000-8000-000000000002"
Reason = Annotated[str, opt("Why.")]

add_group("care", "What is believed, and keeping the memory well.")


# --- one record ---


@command("verify", f"hardwon verify {_ID} --by test_runner --verification-id ci-1234")
def verify(
    record_id: RecordId,
    by: Annotated[
        str, opt("What confirmed it.", metavar="|".join(get_args(Verifier)))
    ] = "human_approval",
    verification_id: Annotated[str | None, opt("Which run, approval or build it was.")] = None,
) -> None:
    """Vouch for a record. A test, a person or a compiler showed it to be true."""
    with read_memory() as memory:
        record = memory.verify(whole_id(memory, record_id), by, verification_id)  # type: ignore[arg-type]  # it says what is allowed
    show(record, views.status_text(record))


@command("care publish", f"hardwon care publish {_ID}")
def publish(record_id: RecordId, by: By = "user") -> None:
    """Mark a verified record as one that proved itself."""
    with read_memory() as memory:
        record = memory.publish(whole_id(memory, record_id), by)
    show(record, views.status_text(record))


@command("care archive", f'hardwon care archive {_ID} --reason "the service is gone"')
def archive(record_id: RecordId, reason: Reason, by: By = "user") -> None:
    """Take a record out of recall, and say why."""
    with read_memory() as memory:
        record = memory.archive(whole_id(memory, record_id), reason, by)
    show(record, views.status_text(record))


@command(
    "care supersede", f'hardwon care supersede {_ID} {_OTHER_ID} --reason "the port was changed"'
)
def supersede(
    old_id: Annotated[str, arg("The id of a record.", "OLD", offer="id")],
    new_id: Annotated[str, arg("The record that replaces it.", "NEW", offer="id")],
    reason: Reason,
    by: By = "user",
) -> None:
    """Archive a record in favour of another, which replaces it."""
    with read_memory() as memory:
        old, new = whole_ids(memory, (old_id, new_id))
        record = memory.supersede(old, new, reason, by)
    show(record, views.status_text(record))


@command("care audit", f"hardwon care audit {_ID}", f"hardwon care audit {_ID} --json")
def audit(record_id: RecordId) -> None:
    """Show a record's whole life: who wrote it, what happened to it since, and what it has to do
    with others.

    What replaced it, what it replaced and what contradicts it comes last. Of a forgotten record its
    tombstone is left. `undo` takes the ids of its events.

    JSON: `id`, `record` (null where it was forgotten), `life` (what
    [`GET /records/{record_id}/audit`](reference/rest.md#get-recordsrecord_idaudit) gives), `links`.
    """
    with read_memory() as memory:
        record_id = whole_id(memory, record_id)
        life = memory.audit(record_id)
        if not life:
            fail(f"there is no record {record_id}, and never was one: hardwon recall finds ids")
        links, record = memory.care.links(record_id), memory.get(record_id)
    related = {
        "replaced by": [links.replaced_by] if links.replaced_by else [],
        "replaces": links.replaces,
        "contradicts": links.contradicts,
    }
    lines = [f"{name}: {', '.join(ids)}" for name, ids in related.items() if ids]
    answer = {"id": record_id, "record": record, "life": life, "links": links}
    show(answer, "\n".join([*map(_write_event, life), *lines]))


def _write_event(happened: "LifeEvent") -> str:
    parts: list[str | None] = [happened.by]
    if event := happened.event:
        helped = {None: "", True: "it helped", False: "it did not help"}[event.helped]
        replaced = f"replaced by {event.replaced_by}" if event.replaced_by else ""
        parts += [event.verified_by, event.verification_id, helped, replaced, event.reason]
    about = ", ".join(filter(None, parts))
    return f"{happened.at:%Y-%m-%d %H:%M}  {happened.kind:<11}{happened.status:<11}{about}"


@command(
    "forget",
    f"hardwon forget {_ID} --dry-run",
    "hardwon forget --author somebody --until 2026-01-01 --yes --json",
)
@with_filters
def forget(
    filters: dict[str, Any],
    ids: Annotated[
        list[str] | None, arg("Ids of records; or use filters.", "ID...", offer="id")
    ] = None,
    by: By = "user",
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Erase records for good, by their ids or by filters. Shows what would go, then asks; nothing
    brings it back.

    A tombstone without content stays, so that no merge and no load brings them back. `archive` only
    takes a record out of recall, and `cleanup` keeps what it taught.
    """
    with read_memory() as memory:
        wanted, narrowed = whole_ids(memory, ids or ()), read_filters(filters)

        def erase(dry: bool, _: Progress) -> int:
            nonlocal wanted, narrowed
            done = memory.forget(wanted, dry_run=dry, by=by, **narrowed)
            # after a preview: what was shown, and nothing that came since
            wanted, narrowed = done.ids, {}
            unknown = [f"there is no record {one}" for one in done.unknown]
            show(done, _view_of_forgotten(memory, done), complaints=unknown)
            return len(done.ids)

        preview_first(erase, "forgetting", "Forget them for good?", dry_run, yes)


def _view_of_forgotten(memory: Memory, done: "Forgotten") -> View:
    total = counted(len(done.ids), "record")
    if not done.dry_run:
        later = "; their text goes with the next write: somebody still reads what was"
        return f"{total} forgotten{later if done.pending else ''}"
    shown = done.ids[: limits.SCREEN_ITEMS]
    records = [record for record in map(memory.get, shown) if record]
    more = len(done.ids) - len(records)
    last = [*([f"and {more} more"] if more else []), f"{total} would be forgotten"]
    return lambda screen: "\n".join(filter(None, [views.records_text(screen, records), *last]))


def preview_first(
    work: Callable[[bool, Progress], int], busy: str, question: str, dry_run: bool, yes: bool
) -> None:
    """Shows what would be done, and does it where somebody agrees. `work` is told whether to change
    nothing and whom to tell how far it is, shows what it did and gives to how many.
    """
    if dry_run or not yes:
        with progress("looking") as bar:
            amount = work(True, bar)
        if dry_run or not amount:
            return
        require_consent(question, yes)
    with progress(busy) as bar:
        work(False, bar)


# --- decisions ---


@command("undo", f"hardwon undo {_ID}")
def undo(
    decision_id: Annotated[str, arg("The id of a decision, or of an event.", "ID", offer="id")],
    by: By = "user",
) -> None:
    """Take back a decision. A merge, a rollback, a cleanup, or a status.

    The id is the one that the command printed which decided it; of a status, that of the event in
    `care audit --json`. A cleanup that compact made final cannot be undone.
    """
    with read_memory() as memory:
        record = memory.undo(whole_id(memory, decision_id), by)
    text = f"undone: {record.id} is {record.metadata.validation.status} again"
    if isinstance(record, Decision):
        text = f"undone: {record.action}" + (f" of {record.target}" if record.target else "")
    show(record, text)


@command(
    "care decisions",
    "hardwon care decisions",
    "hardwon care decisions --action merge --task-id easy --limit 50 --json",
)
def decisions(
    action: Annotated[Action | None, opt("Only such decisions.")] = None,
    task_id: Annotated[str | None, opt("Of this task.", offer="task_id")] = None,
    limit: Limit = 100,
) -> None:
    """What was decided about knowledge and not undone, the newest first.

    `hardwon undo` takes one back by its id.
    """
    with read_memory() as memory:
        decided = memory.care.decisions(action, task_id, limit)
    show(decided, lambda screen: views.decisions_text(screen, decided))


@command(
    "care rollback", 'hardwon care rollback agent-7 --reason "it reported successes that were none"'
)
def rollback(
    source: Annotated[str, arg("The author whose teaching is to be undone.", offer="author")],
    reason: Reason,
    by: By = "user",
) -> None:
    """Undo what a source taught: nothing that it recorded counts any more.

    A source is an author. Its records stay readable; recall leaves them out unless it is asked for
    that author, and so it stays for what the source records from now on. It prints what to type to
    take it back.
    """
    with read_memory() as memory:
        counts = memory.stats().by_author
        records = sum(counts.get(name, 0) for name in sources_named(source))
        decision = memory.rollback(source, reason, by)
        hint = undo_hint(memory, decision.id)
    count = f"no longer count{'s' if records == 1 else ''}"
    show(decision, f"{counted(records, 'record')} by {source} {count}{hint}")


_CONSOLIDATED: Final = {
    "merged": "merged with one that says nearly the same",
    "contradictions": "contradiction",
    "promoted": "holds for the whole project",
    "retired": "retired",
    "written": "written as a candidate",
}


@command("care consolidate", "hardwon care consolidate", "hardwon care consolidate --llm")
def consolidate(
    llm: Annotated[bool, opt("Also ask the LLM that is set up for rules.", "--llm")] = False,
) -> None:
    """Put knowledge in order. Rules that say nearly the same become one, contradictions are linked,
    what proved itself in several tasks holds for the project, and what nobody has seen for long
    retires.

    It happens by itself after some episodes; this does all of it now ([learning.md](learning.md)).
    Every decision can be undone by its id. `--llm` asks the model that `GROQ_API_KEY`,
    `API_BASE_URL` and `LLM_MODEL` name; where there is none, the rest is done all the same.
    """
    kept = "what was decided so far stays; undo takes it back"
    with read_memory() as memory, progress("consolidating", kept):
        done = memory.consolidate(llm=llm)
    lines = [f"{counted(len(done.decisions), 'decision')} made"]
    for name, what in _CONSOLIDATED.items():
        lines += [
            f"{one.id}  {what}: {one.text or one.reason or one.target}"
            for one in getattr(done, name)
        ]
    show(done, "\n".join([*lines, *done.notes]))


@command(
    "care check-stale",
    "hardwon care check-stale --dry-run",
    "hardwon care check-stale --repo . --json",
)
def check_stale(
    repo: Annotated[
        str, opt("A folder inside the git checkout to look at.", metavar="FOLDER")
    ] = ".",
    dry_run: DryRun = False,
) -> None:
    """Archive records whose files are no longer what they were, and bring back those whose files
    are again.

    It looks at the files that records are about: those that changed, and those that vanished
    ([trust.md](trust.md)).

    JSON: `checked`, `stale`, `archived`, `restored`, `files_changed`, `dry_run`, `files` (each with
    `id`, `path`, `change`, `now`).
    """
    with read_memory() as memory, progress("looking at files") as bar:
        done = memory.check_stale(repo, dry_run, progress=bar)
    would = "would be " if dry_run else ""
    lines = [
        f"{counted(done.checked, 'record')} checked, {done.stale} stale",
        f"{done.archived} {would}archived, {done.restored} {would}brought back",
    ]
    for record, change in done.files:
        now = f", now {change.now}" if change.now not in (None, change.path) else ""
        lines.append(f"{record}  {change.path}: {change.change}{now}")
    if len(done.files) < done.files_changed:
        lines.append(f"and {done.files_changed - len(done.files)} more")
    changed = [{"id": record, **change._asdict()} for record, change in done.files]
    show({**vars(done), "files": changed}, "\n".join(lines))


# --- what goes, and comes back ---

OlderThan = Annotated[int, arg("Older than so many days.", "DAYS", min=0, max=limits.DAYS_MAX)]


@command(
    "care cleanup",
    "hardwon care cleanup 90 --dry-run",
    "hardwon care cleanup 30 --keep-successes 365 --yes",
)
def cleanup(
    days: OlderThan = limits.CLEANUP_DAYS,
    keep_successes: Annotated[
        int | None, opt("Keep fixes that worked for so many days.", min=1, max=limits.DAYS_MAX)
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Take out old fixes. Shows what would go, then asks; what they taught stays, and undo brings
    them back.

    Fixes that worked stay longer than those that failed; those of high value stay. Without `--yes`
    `--json` prints the preview, and the exit code is 1 where something would go.
    """
    with read_memory() as memory:

        def clean(dry: bool, bar: Progress) -> int:
            done = memory.cleanup(days, dry, successes_days=keep_successes, progress=bar)
            show(done, cleaned_text(asdict(done), days) + undo_hint(memory, done.event_id))
            return done.failed + done.successful

        preview_first(clean, "cleaning up", "Take them out?", dry_run, yes)


def cleaned_text(cleaned: Mapping[str, Any], days: int) -> str:
    """What went, from what a cleanup answered or what fix history makes of it."""
    failed, worked = cleaned["failed"], cleaned["successful"]
    done = "would be taken out" if cleaned["dry_run"] else "taken out"
    parts = f"{failed} that failed, {worked} that worked; {cleaned['kept']} worth keeping stay"
    return (
        f"{counted(failed + worked, 'fix', 'fixes')} older than {counted(days, 'day')} {done}: "
        f"{parts}{tell_rest(cleaned['left'])}"
    )


def tell_rest(left: int) -> str:
    return f"; {left} more are left for the next run" if left else ""


def undo_hint(memory: Memory, event_id: str | None) -> str:
    """How to take it back, as a line that can be copied."""
    project = [] if memory.project == DEFAULT_PROJECT else ["--project", memory.project]
    line = shlex.join(["hardwon", "--memory", memory.location, *project, "undo", str(event_id)])
    return f"\nto take it back: {line}" if event_id else ""


@command("care compact", "hardwon care compact --yes", "hardwon care compact --yes --json")
def compact(yes: Yes = False) -> None:
    """Give back the room of what was taken out. Asks first: no earlier cleanup can be undone
    afterwards.
    """
    with read_memory() as memory:
        question = "After this no earlier cleanup can be undone. Compact?"
        require_consent(question, yes)
        with progress("compacting") as bar:
            done = memory.compact(progress=bar)
    sizes = f"{size_text(done.before_bytes)} before, {size_text(done.after_bytes)} now"
    gone = f"the texts of {counted(done.purged, 'record')} are gone for good"
    show(done, f"{sizes}; {gone}")


# --- how it is ---


@command("doctor", "hardwon doctor", "hardwon doctor --json")
def doctor() -> None:
    """Check that everything is as it was written.

    The exit code is 1 where something is wrong.
    """
    with read_memory() as memory, progress("checking") as bar:
        diagnosis = memory.doctor(progress=bar)

    def draw(screen: Screen) -> str:
        marks = {True: screen.styled("ok   ", "green"), False: screen.styled("BAD  ", "red")}
        return "\n".join(
            f"{marks[one.ok]}{screen.styled(f'{one.check}:', 'bold')} {screen.visible(one.detail)}"
            for one in diagnosis.findings
        )

    show(diagnosis, draw, failed=not diagnosis.ok)


@command("care rebuild", "hardwon care rebuild", "hardwon care rebuild --json")
def rebuild() -> None:
    """Derive again what is derived, and correct what differs.

    What to do when doctor says so.
    """
    kept = "what was corrected stays so; rebuild again corrects the rest"
    with read_memory() as memory, progress("deriving", kept) as bar:
        corrected = memory.rebuild(progress=bar)
    text = f"{counted(corrected, 'record')} corrected; all that was counted is counted anew"
    show(corrected, text)


@command("care failures", "hardwon care failures", "hardwon care failures --limit 50 --json")
def failures(
    since: Annotated[str | None, opt("From this time on.", metavar="TIME")] = None,
    limit: Limit = 10,
) -> None:
    """What goes wrong, and what made it go away: first what is new, then what came up most."""
    with read_memory() as memory:
        seen = memory.care.failures(read_time(since), limit)
    rows = [{**vars(one), "fix": one.fix and one.fix.action} for one in seen]
    columns = ("seen", "last_seen", "is_new", "authors", "text", "action", "fix")
    nothing = "Nothing went wrong in that time."
    show(seen, lambda screen: views.draw_table(screen, rows, columns, nothing))


@command("care failing-tests", "hardwon care failing-tests", "hardwon care failing-tests --json")
def failing_tests() -> None:
    """The tests that fail, as far as runs were recorded."""
    with read_memory() as memory:
        tests = memory.tests.failing()
    show(tests, "\n".join(tests) or "No test fails, as far as runs were recorded.")
