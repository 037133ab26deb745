"""What is believed, and keeping the memory well: what was decided, what goes and how it comes back,
copies, vectors, and whether all is as it was written.
"""

import os
import shlex
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, get_args

from hardwon import limits
from hardwon.errors import PlaceError
from hardwon.memory import Memory
from hardwon.memory.places import find_place, memory_exists, note
from hardwon.outside.git import IN_INDEX, in_index
from hardwon.outside.locations import DEFAULT_PROJECT, is_url
from hardwon.records.fields import check_that
from hardwon.records.kinds import Action, Decision, Verifier, name_sources
from hardwon.surfaces.cli import views
from hardwon.surfaces.cli.everyday import with_filters
from hardwon.surfaces.cli.main import (
    By,
    DryRun,
    Limit,
    OlderThan,
    RecordId,
    Text,
    Texts,
    Yes,
    add_group,
    arg,
    chosen,
    command,
    make_app,
    opt,
    read_memory,
    whole_id,
    whole_ids,
)
from hardwon.surfaces.cli.output import (
    Progress,
    View,
    fail,
    preview_first,
    progress,
    require_consent,
    show,
)
from hardwon.surfaces.cli.views import Screen, counted, size_text

if TYPE_CHECKING:
    from hardwon.memory.results import Forgotten, LifeEvent
    from hardwon.outside.embedders import Embedder

app = make_app()
care = add_group(app, "care", "What is believed, and keeping the memory well.")
Reason = Annotated[str, opt("Why.")]


# --- one record ---


@command(app, "verify")
def verify(
    record_id: RecordId,
    by: Annotated[
        str, opt("What confirmed it.", metavar="|".join(get_args(Verifier)))
    ] = "human_approval",
    verification_id: Annotated[Text, opt("Which run, approval or build it was.")] = None,
) -> None:
    """Vouch for a record. A test, a person or a compiler showed it to be true.

    \b
    Examples:
      hardwon verify 0198c0de-0000-7000-8000-000000000001 --by test_runner --verification-id ci-1234
    """
    with read_memory() as memory:
        record = memory.verify(whole_id(memory, record_id), by, verification_id)  # type: ignore[arg-type]  # it says what is allowed
    show(record, views.status_text(record))


@command(care, "publish")
def publish(record_id: RecordId, by: By = "user") -> None:
    """Mark a verified record as one that proved itself.

    \b
    Examples:
      hardwon care publish 0198c0de-0000-7000-8000-000000000001
    """
    with read_memory() as memory:
        record = memory.publish(whole_id(memory, record_id), by)
    show(record, views.status_text(record))


@command(care, "archive")
def archive(record_id: RecordId, reason: Reason, by: By = "user") -> None:
    """Take a record out of recall, and say why.

    \b
    Examples:
      hardwon care archive 0198c0de-0000-7000-8000-000000000001 --reason "the service is gone"
    """
    with read_memory() as memory:
        record = memory.archive(whole_id(memory, record_id), reason, by)
    show(record, views.status_text(record))


@command(care, "supersede")
def supersede(
    old_id: Annotated[str, arg("The id of a record.", "OLD", offer="id")],
    new_id: Annotated[str, arg("The record that replaces it.", "NEW", offer="id")],
    reason: Reason,
    by: By = "user",
) -> None:
    """Archive a record in favour of another, which replaces it.

    \b
    Examples:
      hardwon care supersede 0198c0de-0000-7000-8000-000000000001 0198c0de-0000-7000-8000-000000000002 --reason "it moved"
    """
    with read_memory() as memory:
        old, new = whole_ids(memory, (old_id, new_id))
        record = memory.supersede(old, new, reason, by)
    show(record, views.status_text(record))


@command(care, "audit")
def audit(record_id: RecordId) -> None:
    """Show a record's whole life: who wrote it, what happened to it since, and what it has to do
    with others.

    What replaced it, what it replaced and what contradicts it comes last. Of a forgotten record its
    tombstone is left. `undo` takes the ids of its events.

    JSON: `id`, `record` (null where it was forgotten), `life` (what
    [`GET /records/{record_id}/audit`](reference/rest.md#get-recordsrecord_idaudit) gives), `links`.

    \b
    Examples:
      hardwon care audit 0198c0de-0000-7000-8000-000000000001
      hardwon care audit 0198c0de-0000-7000-8000-000000000001 --json
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
    show(answer, "\n".join([*map(write_event, life), *lines]))


def write_event(happened: "LifeEvent") -> str:
    parts: list[str | None] = [happened.by]
    if event := happened.event:
        helped = {None: "", True: "it helped", False: "it did not help"}[event.helped]
        replaced = f"replaced by {event.replaced_by}" if event.replaced_by else ""
        parts += [event.verified_by, event.verification_id, helped, replaced, event.reason]
    about = ", ".join(filter(None, parts))
    return f"{happened.at:%Y-%m-%d %H:%M}  {happened.kind:<11}{happened.status:<11}{about}"


@command(app, "forget")
@with_filters
def forget(
    filters: dict[str, Any],
    ids: Annotated[Texts, arg("Ids of records; or use filters.", "ID...", offer="id")] = None,
    by: By = "user",
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Erase records for good, by their ids or by filters. Shows what would go, then asks; nothing
    brings it back.

    A tombstone without content stays, so that no merge and no load brings them back. `archive` only
    takes a record out of recall, and `cleanup` keeps what it taught.

    \b
    Examples:
      hardwon forget 0198c0de-0000-7000-8000-000000000001 --dry-run
      hardwon forget --author somebody --until 2026-01-01 --yes --json
    """
    with read_memory() as memory:
        wanted, narrowed = whole_ids(memory, ids or ()), filters

        def erase(dry: bool, _: Progress) -> int:
            nonlocal wanted, narrowed
            done = memory.forget(wanted, dry_run=dry, by=by, **narrowed)
            # after a preview: what was shown, and nothing that came since
            wanted, narrowed = done.ids, {}
            unknown = [f"there is no record {one}" for one in done.unknown]
            show(done, view_forgotten(memory, done), complaints=unknown)
            return len(done.ids)

        preview_first(erase, "forgetting", "Forget them for good?", dry_run, yes)


def view_forgotten(memory: Memory, done: "Forgotten") -> View:
    total = counted(len(done.ids), "record")
    if not done.dry_run:
        later = "; their text goes with the next write: somebody still reads what was"
        return f"{total} forgotten{later if done.pending else ''}"
    shown = done.ids[: limits.SCREEN_ITEMS]
    records = [record for record in map(memory.get, shown) if record]
    more = len(done.ids) - len(records)
    last = [*([f"and {more} more"] if more else []), f"{total} would be forgotten"]
    return lambda screen: "\n".join(filter(None, [views.records_text(screen, records), *last]))


# --- decisions ---


@command(app, "undo")
def undo(
    decision_id: Annotated[str, arg("The id of a decision, or of an event.", "ID", offer="id")],
    by: By = "user",
) -> None:
    """Take back a decision. A merge, a rollback, a cleanup, or a status.

    The id is the one that the command printed which decided it; of a status, that of the event in
    `care audit --json`. A cleanup that compact made final cannot be undone.

    \b
    Examples:
      hardwon undo 0198c0de-0000-7000-8000-000000000001
    """
    with read_memory() as memory:
        record = memory.undo(whole_id(memory, decision_id), by)
    text = f"undone: {record.id} is {record.metadata.validation.status} again"
    if isinstance(record, Decision):
        text = f"undone: {record.action}" + (f" of {record.target}" if record.target else "")
    show(record, text)


@command(care, "decisions")
def decisions(
    action: Annotated[Action | None, opt("Only such decisions.")] = None,
    task_id: Annotated[Text, opt("Of this task.", offer="task_id")] = None,
    limit: Limit = 100,
) -> None:
    """What was decided about knowledge and not undone, the newest first.

    `hardwon undo` takes one back by its id.

    \b
    Examples:
      hardwon care decisions
      hardwon care decisions --action merge --task-id easy --limit 50 --json
    """
    with read_memory() as memory:
        decided = memory.care.decisions(action, task_id, limit)
    show(decided, lambda screen: views.decisions_text(screen, decided))


@command(care, "rollback")
def rollback(
    source: Annotated[str, arg("The author whose teaching is to be undone.", offer="author")],
    reason: Reason,
    by: By = "user",
) -> None:
    """Undo what a source taught: nothing that it recorded counts any more.

    A source is an author. Its records stay readable; recall leaves them out unless it is asked for
    that author, and so it stays for what the source records from now on. It prints what to type to
    take it back.

    \b
    Examples:
      hardwon care rollback agent-7 --reason "it reported successes that were none"
    """
    with read_memory() as memory:
        counts = memory.stats().by_author
        records = sum(counts.get(name, 0) for name in name_sources(source))
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


@command(care, "consolidate")
def consolidate(
    llm: Annotated[bool, opt("Also ask the LLM that is set up for rules.", "--llm")] = False,
) -> None:
    """Put knowledge in order. Rules that say nearly the same become one, contradictions are linked,
    what proved itself in several tasks holds for the project, and what nobody has seen for long
    retires.

    It happens by itself after some episodes; this does all of it now ([learning.md](learning.md)).
    Every decision can be undone by its id. `--llm` asks the model that `GROQ_API_KEY`,
    `API_BASE_URL` and `LLM_MODEL` name; where there is none, the rest is done all the same.

    \b
    Examples:
      hardwon care consolidate
      hardwon care consolidate --llm
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


@command(care, "check-stale")
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

    \b
    Examples:
      hardwon care check-stale --dry-run
      hardwon care check-stale --repo . --json
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


@command(care, "cleanup")
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

    \b
    Examples:
      hardwon care cleanup 90 --dry-run
      hardwon care cleanup 30 --keep-successes 365 --yes
    """
    with read_memory() as memory:

        def clean(dry: bool, bar: Progress) -> int:
            done = memory.cleanup(days, dry, successes_days=keep_successes, progress=bar)
            show(done, cleanup_text(asdict(done), days) + undo_hint(memory, done.event_id))
            return done.failed + done.successful

        preview_first(clean, "cleaning up", "Take them out?", dry_run, yes)


def cleanup_text(cleaned: Mapping[str, Any], days: int) -> str:
    """What went, from what a cleanup answered or what fix history makes of it."""
    failed, worked, left = cleaned["failed"], cleaned["successful"], cleaned["left"]
    done = "would be taken out" if cleaned["dry_run"] else "taken out"
    parts = f"{failed} that failed, {worked} that worked; {cleaned['kept']} as old stay"
    rest = f"; {left} more are left for the next run" if left else ""
    fixes = counted(failed + worked, "fix", "fixes")
    return f"{fixes} older than {counted(days, 'day')} {done}: {parts}{rest}"


def undo_hint(memory: Memory, event_id: str | None) -> str:
    """How to take it back, as a line that can be copied."""
    project = [] if memory.project == DEFAULT_PROJECT else ["--project", memory.project]
    line = shlex.join(["hardwon", "--memory", memory.location, *project, "undo", str(event_id)])
    return f"\nto take it back: {line}" if event_id else ""


@command(care, "compact")
def compact(yes: Yes = False) -> None:
    """Give back the room of what was taken out. Asks first: no earlier cleanup can be undone
    afterwards.

    \b
    Examples:
      hardwon care compact --yes
      hardwon care compact --yes --json
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


@command(app, "doctor")
def doctor() -> None:
    """Check that everything is as it was written.

    The exit code is 1 where something is wrong.

    \b
    Examples:
      hardwon doctor
      hardwon doctor --json
    """
    with read_memory() as memory, progress("checking") as bar:
        diagnosis = memory.doctor(progress=bar)

    def draw(screen: Screen) -> str:
        marks = {True: screen.styled("ok   ", "green"), False: screen.styled("BAD  ", "red")}
        return "\n".join(
            f"{marks[one.ok]}{screen.styled(f'{one.check}:', 'bold')} {views.visible(one.detail)}"
            for one in diagnosis.findings
        )

    show(diagnosis, draw, failed=not diagnosis.ok)


@command(care, "rebuild")
def rebuild() -> None:
    """Derive again what is derived, and correct what differs.

    What to do when doctor says so.

    \b
    Examples:
      hardwon care rebuild
      hardwon care rebuild --json
    """
    kept = "what was corrected stays so; rebuild again corrects the rest"
    with read_memory() as memory, progress("deriving", kept) as bar:
        corrected = memory.rebuild(progress=bar)
    text = f"{counted(corrected, 'record')} corrected; all that was counted is counted anew"
    show(corrected, text)


# --- copies, vectors, and a report ---


@command(care, "backup")
def backup(file: Annotated[str, arg("Where to: a file that does not exist yet.")]) -> None:
    """Copy the whole memory. Others may use it meanwhile; the copy is verified and gets a checksum
    beside it.

    With all its projects, as of one instant. `FILE.sha256` beside it is for `sha256sum --check`.
    `examples/backup.sh` makes such copies from cron and keeps the newest.

    JSON: `file`, `sha256`, `size_bytes`.

    \b
    Examples:
      hardwon care backup copy.db
      hardwon care backup other.db --json
    """
    with (
        chosen().open(to_read=True, of_all=True) as memory,
        progress("copying", "no file was written") as bar,
    ):
        made = memory.backup(file, progress=bar)
    answer = {"file": str(made.path), "sha256": made.sha256, "size_bytes": made.size_bytes}
    text = f"{size_text(made.size_bytes)} copied to {made.path}\nsha256 {made.sha256}"
    show(answer, text)


@command(care, "restore")
def restore(file: Annotated[str, arg("What backup made.")], yes: Yes = False) -> None:
    """Put a backup where the memory is. Asks first; the memory that was there is kept beside it.

    Also while others have the memory open.

    JSON: `file`, `kept` (where the memory that was there is now, or null).

    \b
    Examples:
      hardwon care restore copy.db --yes
      hardwon --memory other care restore copy.db --yes --json
    """
    location = chosen().memory
    if not Path(file).is_file():
        fail(f"there is no backup at {file}")
    # a database is refused, whatever the answer
    if not is_url(location) and chosen().may_exist():
        where = location or "that is found from here"
        question = f"Replace the memory {views.visible(where)} by {views.visible(file)}?"
        require_consent(question, yes)
    with progress("restoring") as bar:
        kept = Memory.restore(file, location, progress=bar)
    text = f"{file} is the memory now" + (f"; what was there is kept at {kept}" if kept else "")
    show({"file": file, "kept": kept}, text)


@command(care, "reembed")
def reembed(
    embedder: Annotated[
        Literal["wordllama", "fastembed", "endpoint"], opt("What makes the vectors.")
    ],
    model: Annotated[Text, opt("The model, of fastembed or of an endpoint.")] = None,
    base_url: Annotated[Text, opt("Of an endpoint.", metavar="URL")] = None,
) -> None:
    """Make the vectors that recall by meaning needs.

    Vectors add meaning to text search for programs that open the memory with the same embedder
    ([recall.md](recall.md)). Makes those that are missing; with another embedder than before, all of
    them anew. It can be interrupted, and goes on where it was. `wordllama` has its model in its
    package, `fastembed` downloads one once (`--model` says which), `endpoint` asks the
    OpenAI-compatible server at `--base-url` for `--model`; its key is taken from
    `EMBEDDING_API_KEY`. The others need the extra `embeddings`.

    JSON: `embedder` (the name that its vectors are stamped with), `dimension`, `made` (how many
    vectors).

    \b
    Examples:
      hardwon care reembed --embedder wordllama
      hardwon care reembed --embedder wordllama --json
    """
    from hardwon.outside import embedders

    maker: Embedder
    if embedder == "wordllama":
        maker = embedders.WordLlamaEmbedder()
    elif embedder == "fastembed":
        maker = embedders.FastembedEmbedder(model or embedders.FASTEMBED_MODEL)
    else:
        both = f"{base_url}, {model}"
        check_that(base_url and model, "--base-url, --model", both, "both, for an endpoint")
        key = os.environ.get("EMBEDDING_API_KEY", "")
        maker = embedders.EndpointEmbedder(base_url or "", model or "", key)
    with (
        chosen().open(to_read=True, embedder=maker) as memory,
        progress("embedding", "what was made stays; it goes on where it was") as bar,
    ):
        made = memory.reembed(progress=bar)
    answer = {"embedder": maker.name, "dimension": maker.dimension, "made": made}
    show(answer, f"{counted(made, 'vector')} made by {maker.name}")


# --- a memory that was found ---


@command(app, "trust")
def trust(
    tokens: Annotated[bool, opt("Keep the tokens that came with it, too.", "--tokens")] = False,
) -> None:
    """Use a memory that was found here and not made here.

    A memory that is found, because a `.hardwon` folder lies here or above or a checkout's settings
    name it, may have come with a clone or an archive. One that was neither made nor restored here is
    not used, by hooks without a word to the agent, until this command; also after it was moved, or
    replaced by another file, and where git has it in its index after each change that git brings. A
    memory that is named (`--memory`, `HARDWON_MEMORY`, the user's settings) is used as it is.

    Tokens that came with the memory are revoked: somebody has them. `--tokens` keeps them, where
    they are your own: look at `hardwon tokens list` first.

    JSON: `memory` (its file), `in_index` (whether the repository's index has it), `revoked` (how
    many tokens came with it and were revoked).

    \b
    Examples:
      hardwon trust
      hardwon trust --json
    """
    target = chosen()
    path = find_place(target.memory).path
    if path is None or not memory_exists(target.memory):
        raise PlaceError(f"there is no memory in a file at {find_place(target.memory).location}")
    # opened by its name first: what is no memory is not trusted
    with Memory(path, target.project) as memory:
        note(path)
        came = [one for one in memory.tokens.all() if one.state(memory.care.now()) == "active"]
        for token in () if tokens else came:
            memory.tokens.revoke(token.id)
    tracked = in_index(path.resolve()) is not None
    notes = [f"warning: {IN_INDEX.format(path)}"] if tracked else []
    revoked = 0 if tokens else len(came)
    text = f"trusted: {path}"
    if revoked:
        text += f"; {counted(revoked, 'token')} that came with it revoked, --tokens keeps them"
    answer = {"memory": str(path), "in_index": tracked, "revoked": revoked}
    show(answer, text, complaints=notes)
