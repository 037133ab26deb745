"""What is believed, and keeping the memory well: what was decided, what goes and how it comes back,
copies, vectors, and whether all is as it was written.
"""

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from hardwon import limits
from hardwon.capture.agent_settings import try_hooks
from hardwon.errors import PlaceError
from hardwon.memory import Memory
from hardwon.memory.places import find_place, memory_exists, note
from hardwon.outside.files import repository_root
from hardwon.outside.git import IN_INDEX, in_index
from hardwon.outside.locations import DEFAULT_PROJECT, is_url
from hardwon.records.fields import check_that
from hardwon.records.kinds import Action, AnyRecord, Decision, Verifier, name_sources
from hardwon.surfaces.cli import base as cli
from hardwon.surfaces.cli import views
from hardwon.surfaces.cli.everyday import Filters
from hardwon.text.terms import say_count

if TYPE_CHECKING:
    from hardwon.memory.results import Forgotten, LifeEvent
    from hardwon.outside.embedders import Embedder

app = cli.make_app()


@cli.add_group(app, "care")
def care() -> None:
    """What is believed, and keeping the memory well."""


Reason = Annotated[str, cli.opt("Why.")]


def show_status(change: Callable[..., AnyRecord], *ids: str) -> None:
    """Changes how far a record is believed, and tells it. `change` gets the memory and whole ids."""
    with cli.read_memory() as memory:
        record = change(memory, *cli.whole_ids(memory, ids))
    cli.show(record, f"{record.id} is {record.metadata.validation.status}")


@cli.command(app, "verify")
def verify(
    record_id: cli.RecordId,
    *,
    by: Verifier = "human_approval",
    verification_id: cli.Text = None,
) -> None:
    """Mark a record as verified. A test, a person or a compiler showed it to be true.

    \b
    Examples:
      hardwon verify 0198c0de-0000-7000-8000-000000000001 --by test_runner --verification-id ci-1234

    Options:
      by: What confirmed it.
      verification_id: Which run, approval or build it was.
    """
    show_status(lambda memory, whole: memory.verify(whole, by, verification_id), record_id)


@cli.command(care, "publish")
def publish(record_id: cli.RecordId, *, by: cli.By = "user") -> None:
    """Mark a verified record as one that proved itself.

    \b
    Examples:
      hardwon care publish 0198c0de-0000-7000-8000-000000000001
    """
    show_status(lambda memory, whole: memory.publish(whole, by), record_id)


@cli.command(care, "archive")
def archive(record_id: cli.RecordId, *, reason: Reason, by: cli.By = "user") -> None:
    """Take a record out of recall, and say why.

    \b
    Examples:
      hardwon care archive 0198c0de-0000-7000-8000-000000000001 --reason "the service is gone"
    """
    show_status(lambda memory, whole: memory.archive(whole, reason, by), record_id)


@cli.command(care, "supersede")
def supersede(old_id: str, new_id: str, *, reason: Reason, by: cli.By = "user") -> None:
    """Archive a record in favour of another, which replaces it.

    \b
    Examples:
      hardwon care supersede 0198c0de-0000-7000-8000-000000000001 0198c0de-0000-7000-8000-000000000002 --reason "it moved"

    Options:
      old_id OLD: The id of a record.
      new_id NEW: The record that replaces it.
    """
    show_status(lambda memory, old, new: memory.supersede(old, new, reason, by), old_id, new_id)


@cli.command(care, "audit")
def audit(record_id: cli.RecordId) -> None:
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
    with cli.read_memory() as memory:
        record_id = cli.whole_id(memory, record_id)
        life = memory.audit(record_id)
        if not life:
            cli.fail(f"there is no record {record_id}, and never was one: hardwon recall finds ids")
        links, record = memory.care.links(record_id), memory.get(record_id)
    related = {
        "replaced by": [links.replaced_by] if links.replaced_by else [],
        "replaces": links.replaces,
        "contradicts": links.contradicts,
    }
    lines = [f"{name}: {', '.join(ids)}" for name, ids in related.items() if ids]
    answer = {"id": record_id, "record": record, "life": life, "links": links}
    cli.show(answer, "\n".join([*map(write_event, life), *lines]))


def write_event(happened: "LifeEvent") -> str:
    """When it happened, what it was, and who said so and why."""
    parts: list[str | None] = [happened.by]
    if event := happened.event:
        helped = {None: "", True: "it helped", False: "it did not help"}[event.helped]
        replaced = f"replaced by {event.replaced_by}" if event.replaced_by else ""
        parts += [event.verified_by, event.verification_id, helped, replaced, event.reason]
    about = ", ".join(filter(None, parts))
    return f"{happened.at:%Y-%m-%d %H:%M}  {happened.kind:<11}{happened.status:<11}{about}"


@cli.command(app, "forget")
def forget(
    ids: cli.Texts = None,
    *,
    filters: Filters,
    by: cli.By = "user",
    dry_run: cli.DryRun = False,
    yes: cli.Yes = False,
) -> None:
    """Erase records for good, by their ids or by filters. Shows what would go, then asks; nothing
    brings it back.

    A tombstone without content stays, so that no merge and no load brings them back. `archive` only
    takes a record out of recall, and `cleanup` keeps what it taught.

    \b
    Examples:
      hardwon forget 0198c0de-0000-7000-8000-000000000001 --dry-run
      hardwon forget --author somebody --until 2026-01-01 --yes --json

    Options:
      ids ID...: Ids of records; or use filters.
    """
    with cli.read_memory() as memory:
        wanted, narrowed = cli.whole_ids(memory, ids or ()), filters

        def erase(dry: bool, _: cli.Progress) -> int:
            """How many records it is about."""
            nonlocal wanted, narrowed
            done = memory.forget(wanted, dry_run=dry, by=by, **narrowed)
            # after a preview: what was shown, and nothing that came since
            wanted, narrowed = done.ids, {}
            unknown = [f"there is no record {one}" for one in done.unknown]
            cli.show(done, view_forgotten(memory, done), complaints=unknown)
            return len(done.ids)

        cli.preview_first(erase, "forgetting", "Forget them for good?", dry_run, yes)


def view_forgotten(memory: Memory, done: "Forgotten") -> cli.View:
    """What is gone, or would be."""
    total = say_count(len(done.ids), "record")
    if not done.dry_run:
        later = "; their text goes with the next write: somebody still reads what was"
        return f"{total} forgotten{later if done.pending else ''}"
    records = [record for record in map(memory.get, done.ids[: limits.SCREEN_ITEMS]) if record]
    more = len(done.ids) - len(records)
    last = [*([f"and {more} more"] if more else []), f"{total} would be forgotten"]
    return lambda: "\n".join(filter(None, [views.draw_records(records), *last]))


@cli.command(app, "undo")
def undo(decision_id: str, *, by: cli.By = "user") -> None:
    """Take back a decision. A rollback, a cleanup, a verdict, or a status.

    The id is the one that the command printed which decided it; of a status, that of the event in
    `care audit --json`. A cleanup that compact made final cannot be undone.

    \b
    Examples:
      hardwon undo 0198c0de-0000-7000-8000-000000000001

    Options:
      decision_id ID: The id of a decision, or of an event.
    """
    with cli.read_memory() as memory:
        record = memory.undo(cli.whole_id(memory, decision_id), by)
    text = f"undone: {record.id} is {record.metadata.validation.status} again"
    if isinstance(record, Decision):
        text = f"undone: {record.action}" + (f" of {record.target}" if record.target else "")
    cli.show(record, text)


@cli.command(care, "decisions")
def decisions(
    *, action: Action | None = None, task_id: cli.OfTask = None, limit: cli.Limit = 100
) -> None:
    """What was decided about knowledge and not undone, the newest first.

    `hardwon undo` takes one back by its id.

    \b
    Examples:
      hardwon care decisions
      hardwon care decisions --action rollback --limit 50 --json

    Options:
      action: Only such decisions.
    """
    with cli.read_memory() as memory:
        decided = memory.care.decisions(action, task_id, limit)
    cli.show(decided, partial(views.draw_decisions, decided))


@cli.command(care, "rollback")
def rollback(source: str, *, reason: Reason, by: cli.By = "user") -> None:
    """Undo what a source taught: nothing that it recorded counts any more.

    A source is an author. Its records stay readable; recall leaves them out unless it is asked for
    that author, and so it stays for what the source records from now on. It prints what to type to
    take it back.

    \b
    Examples:
      hardwon care rollback agent-7 --reason "it reported successes that were none"

    Options:
      source: The author whose teaching is to be undone.
    """
    with cli.read_memory() as memory:
        counts = memory.stats().by_author
        records = sum(counts.get(name, 0) for name in name_sources(source))
        decision = memory.rollback(source, reason, by)
        hint = undo_hint(memory, decision.id)
    count = f"no longer count{'s' if records == 1 else ''}"
    cli.show(decision, f"{say_count(records, 'record')} by {source} {count}{hint}")


@cli.command(care, "consolidate")
def consolidate(*, llm: bool = False) -> None:
    """Have a language model write down rules. It is asked with `--llm`: the one that `GROQ_API_KEY`,
    `API_BASE_URL` and `LLM_MODEL` name.

    Its rules are candidates, and each can be undone by its id. All else that episodes teach is put in
    order whenever it is asked for ([learning.md](learning.md)).

    \b
    Examples:
      hardwon care consolidate --llm

    Options:
      llm: Ask the LLM that is set up for rules.
    """
    with cli.read_memory() as memory, cli.progress("asking for rules"):
        done = memory.consolidate(llm=llm)
    lines = [f"{say_count(len(done.written), 'rule')} written"]
    lines += [f"{one.id}  {one.text}" for one in done.written]
    cli.show(done, "\n".join([*lines, *done.notes]))


@cli.command(care, "check-stale")
def check_stale(*, repo: str = ".", dry_run: cli.DryRun = False) -> None:
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

    Options:
      repo FOLDER: A folder inside the git checkout to look at.
    """
    with cli.read_memory() as memory, cli.progress("looking at files") as bar:
        done = memory.check_stale(repo, dry_run, progress=bar)
    would = "would be " if dry_run else ""
    files = [{"id": record, **change._asdict()} for record, change in done.files]
    text = (
        f"{say_count(done.checked, 'record')} checked, {done.stale} stale; {done.archived} {would}"
        f"archived, {done.restored} {would}brought back; {done.files_changed} changes of files"
    )
    cli.show(
        {**vars(done), "files": files},
        lambda: "\n".join([text, views.draw_table(files, ("id", "path", "change", "now"))]).strip(),
    )


@cli.command(care, "cleanup")
def cleanup(
    days: cli.OlderThan = limits.CLEANUP_DAYS,
    *,
    keep_successes: int | None = None,
    dry_run: cli.DryRun = False,
    yes: cli.Yes = False,
) -> None:
    """Take out old fixes. Shows what would go, then asks; what they taught stays, and undo brings
    them back.

    Fixes that worked stay longer than those that failed; those of high value stay. Without `--yes`
    `--json` prints the preview, and the exit code is 1 where something would go.

    \b
    Examples:
      hardwon care cleanup 90 --dry-run
      hardwon care cleanup 30 --keep-successes 365 --yes

    Options:
      keep_successes: Keep fixes that worked for so many days.
    """
    with cli.read_memory() as memory:

        def clean(dry: bool, bar: cli.Progress) -> int:
            """How many fixes it is about."""
            done = memory.cleanup(days, dry, successes_days=keep_successes, progress=bar)
            cli.show(done, cleanup_text(asdict(done), days) + undo_hint(memory, done.event_id))
            return done.failed + done.successful

        cli.preview_first(clean, "cleaning up", "Take them out?", dry_run, yes)


def cleanup_text(cleaned: Mapping[str, Any], days: int) -> str:
    """What went, from what a cleanup answered or what fix history makes of it."""
    failed, worked, left = cleaned["failed"], cleaned["successful"], cleaned["left"]
    done = "would be taken out" if cleaned["dry_run"] else "taken out"
    parts = f"{failed} that failed, {worked} that worked; {cleaned['kept']} as old stay"
    rest = f"; {left} more are left for the next run" if left else ""
    fixes = say_count(failed + worked, "fix", "fixes")
    return f"{fixes} older than {say_count(days, 'day')} {done}: {parts}{rest}"


def undo_hint(memory: Memory, event_id: str | None) -> str:
    """How to take it back, as a line that can be copied."""
    project = [] if memory.project == DEFAULT_PROJECT else ["--project", memory.project]
    line = shlex.join(["hardwon", "--memory", memory.location, *project, "undo", str(event_id)])
    return f"\nto take it back: {line}" if event_id else ""


@cli.command(care, "compact")
def compact(*, yes: cli.Yes = False) -> None:
    """Give back the room of what was taken out. Asks first: no earlier cleanup can be undone
    afterwards.

    \b
    Examples:
      hardwon care compact --yes
      hardwon care compact --yes --json
    """
    with cli.read_memory() as memory:
        question = "After this no earlier cleanup can be undone. Compact?"
        cli.require_consent(question, yes)
        with cli.progress("compacting") as bar:
            done = memory.compact(progress=bar)
    sizes = f"{views.size_text(done.before_bytes)} before, {views.size_text(done.after_bytes)} now"
    gone = f"the texts of {say_count(done.purged, 'record')} are gone for good"
    cli.show(done, f"{sizes}; {gone}")


@cli.command(app, "doctor")
def doctor() -> None:
    """Check that everything is as it was written, and that hooks start.

    The exit code is 1 where something is wrong.

    \b
    Examples:
      hardwon doctor
      hardwon doctor --json
    """
    with cli.read_memory() as memory, cli.progress("checking") as bar:
        diagnosis = memory.doctor(progress=bar)
    diagnosis.findings.extend(try_hooks(repository_root(Path.cwd()) or Path.cwd()))

    def draw() -> str:
        """A line for each check."""
        marks = {True: views.style("ok   ", "green"), False: views.style("BAD  ", "red")}
        return "\n".join(
            f"{marks[one.ok]}{views.bold(f'{one.check}:')} {views.visible(one.detail)}"
            for one in diagnosis.findings
        )

    cli.show(diagnosis, draw, failed=not diagnosis.ok)


@cli.command(care, "rebuild")
def rebuild() -> None:
    """Derive again what is derived, and correct what differs.

    What to do when doctor says so.

    \b
    Examples:
      hardwon care rebuild
      hardwon care rebuild --json
    """
    kept = "what was corrected stays so; rebuild again corrects the rest"
    with cli.read_memory() as memory, cli.progress("deriving", kept) as bar:
        corrected = memory.rebuild(progress=bar)
    text = f"{say_count(corrected, 'record')} corrected; all that was counted is counted anew"
    cli.show(corrected, text)


@cli.command(care, "backup")
def backup(file: str) -> None:
    """Copy the whole memory. Others may use it meanwhile; the copy is verified and gets a checksum
    beside it.

    With all its projects, as of one instant. `FILE.sha256` beside it is for `sha256sum --check`.
    `examples/backup.sh` makes such copies from cron and keeps the newest.

    JSON: `file`, `sha256`, `size_bytes`.

    \b
    Examples:
      hardwon care backup copy.db
      hardwon care backup other.db --json

    Options:
      file: Where to: a file that does not exist yet.
    """
    with (
        cli.find_target().open(to_read=True, of_all=True) as memory,
        cli.progress("copying", "no file was written") as bar,
    ):
        made = memory.backup(file, progress=bar)
    answer = {"file": str(made.path), "sha256": made.sha256, "size_bytes": made.size_bytes}
    text = f"{views.size_text(made.size_bytes)} copied to {made.path}\nsha256 {made.sha256}"
    cli.show(answer, text)


@cli.command(care, "restore")
def restore(file: str, *, yes: cli.Yes = False) -> None:
    """Put a backup where the memory is. Asks first; the memory that was there is kept beside it.

    Also while others have the memory open.

    JSON: `file`, `kept` (where the memory that was there is now, or null).

    \b
    Examples:
      hardwon care restore copy.db --yes
      hardwon --memory other care restore copy.db --yes --json

    Options:
      file: What backup made.
    """
    location = cli.find_target().memory
    if not Path(file).is_file():
        cli.fail(f"there is no backup at {file}")
    # a database is refused, whatever the answer
    if not is_url(location) and cli.find_target().may_exist():
        where = location or "that is found from here"
        question = f"Replace the memory {views.visible(where)} by {views.visible(file)}?"
        cli.require_consent(question, yes)
    with cli.progress("restoring") as bar:
        kept = Memory.restore(file, location, progress=bar)
    text = f"{file} is the memory now" + (f"; what was there is kept at {kept}" if kept else "")
    cli.show({"file": file, "kept": kept}, text)


ModelName = Annotated[cli.Text, cli.opt("The model, of fastembed or of an endpoint.", "--model")]


@cli.command(care, "reembed")
def make_vectors(
    *,
    embedder: Literal["wordllama", "fastembed", "endpoint"],
    model_name: ModelName = None,
    base_url: cli.Text = None,
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

    Options:
      embedder: What makes the vectors.
      base_url URL: Of an endpoint.
    """
    from hardwon.outside import embedders

    maker: Embedder
    if embedder == "wordllama":
        maker = embedders.WordLlamaEmbedder()
    elif embedder == "fastembed":
        maker = embedders.FastembedEmbedder(model_name or embedders.FASTEMBED_MODEL)
    else:
        both = f"{base_url}, {model_name}"
        check_that(base_url and model_name, "--base-url, --model", both, "both, for an endpoint")
        key = os.environ.get("EMBEDDING_API_KEY", "")
        maker = embedders.EndpointEmbedder(base_url or "", model_name or "", key)
    with (
        cli.find_target().open(to_read=True, embedder=maker) as memory,
        cli.progress("embedding", "what was made stays; it goes on where it was") as bar,
    ):
        made = memory.reembed(progress=bar)
    answer = {"embedder": maker.name, "dimension": maker.dimension, "made": made}
    cli.show(answer, f"{say_count(made, 'vector')} made by {maker.name}")


@cli.command(app, "trust")
def trust(*, tokens: bool = False) -> None:
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

    Options:
      tokens: Keep the tokens that came with it, too.
    """
    target = cli.find_target()
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
        text += f"; {say_count(revoked, 'token')} that came with it revoked, --tokens keeps them"
    answer = {"memory": str(path), "in_index": tracked, "revoked": revoked}
    cli.show(answer, text, complaints=notes)
