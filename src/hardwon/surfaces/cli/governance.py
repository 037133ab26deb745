"""What may be believed: `audit`, `verify`, `publish`, `archive`, `stale`."""

from typing import Annotated, Any

import typer

from hardwon.memory.results import LifeEvent, Links
from hardwon.records.kinds import AnyRecord
from hardwon.surfaces.cli.base import (
    TRUST,
    By,
    DryRun,
    Json,
    chosen,
    command,
    counted,
    fail,
    progress,
    record_json,
    write,
    write_json,
    write_lines,
)
from hardwon.surfaces.cli.output import QUIET, STRONG, Line, Span, visible

RecordId = Annotated[str, typer.Argument(metavar="ID", help="The id of a record.")]


@command(
    TRUST,
    "hardwon audit 0198c0de-0000-7000-8000-000000000001",
    "hardwon audit 0198c0de-0000-7000-8000-000000000001 --json",
    answers="""`id`, `record` (null where it was forgotten), `life` (each with `id` (of the event, which `undo` takes; null of
    its creation), `kind`, `at`, `by`, `status`, `reason`, `verified_by`, `verification_id`, `replaced_by`, `helped`), `links`
    (`replaced_by`, `replaces`, `contradicts`).""",
    more="""Everything that happened to it comes with its status after each; then what replaced it, what it replaced and
    what contradicts it. Of a forgotten record its tombstone is left.""",
)
def audit(ctx: typer.Context, record_id: RecordId, as_json: Json = False) -> None:
    """Show a record's whole life: who wrote it, what happened to it since, and what it has to do with others."""
    with chosen(ctx).open(to_read=True) as memory:
        life = memory.audit(record_id)
        if not life:
            fail(f"there is no record {record_id}, and never was one: hardwon recall finds ids")
        links, found = memory.links(record_id), memory.get(record_id)
    if as_json:
        record = record_json(found) if found else None
        write_json({"id": record_id, "record": record, "life": list(map(_life_json, life)), "links": _links_json(links)})
    else:
        write_lines([*map(_life_line, life), *_link_lines(links)])


@command(
    TRUST,
    "hardwon verify 0198c0de-0000-7000-8000-000000000001 --by test_runner --verification-id ci-1234",
    answers="`id`, `record`.",
)
def verify(
    ctx: typer.Context,
    record_id: RecordId,
    by: Annotated[str, typer.Option(help="test_runner, human_approval or compiler.")],
    verification_id: Annotated[str | None, typer.Option(help="Which run, approval or build it was.")] = None,
    as_json: Json = False,
) -> None:
    """Vouch for a record: a test, a person or a compiler confirmed it."""
    with chosen(ctx).open(to_read=True) as memory:
        _tell(memory.verify(record_id, by, verification_id), as_json)  # type: ignore[arg-type]  # it says what is allowed


@command(
    TRUST,
    "hardwon publish 0198c0de-0000-7000-8000-000000000001",
    answers="`id`, `record`.",
)
def publish(ctx: typer.Context, record_id: RecordId, by: By = "user", as_json: Json = False) -> None:
    """Mark a verified record as one that proved itself."""
    with chosen(ctx).open(to_read=True) as memory:
        _tell(memory.publish(record_id, by), as_json)


@command(
    TRUST,
    'hardwon archive 0198c0de-0000-7000-8000-000000000001 --reason "the service is gone"',
    answers="`id`, `record`.",
)
def archive(
    ctx: typer.Context,
    record_id: RecordId,
    reason: Annotated[str, typer.Option(help="Why it is no longer true.")],
    by: By = "user",
    as_json: Json = False,
) -> None:
    """Take a record out of recall. It stays readable, and what it taught is taken back."""
    with chosen(ctx).open(to_read=True) as memory:
        _tell(memory.archive(record_id, reason, by), as_json)


@command(
    TRUST,
    "hardwon stale --dry-run",
    "hardwon stale --repo . --json",
    answers="""`checked`, `stale`, `archived`, `restored`, `files_changed`, `dry_run`, `files` (each with `id`, `path`,
    `change`, `now`).""",
    more="""It looks at the files that records are about, in the git checkout that `--repo` lies in: those that changed, and
    those that vanished ([governance.md](governance.md)).""",
)
def stale(
    ctx: typer.Context,
    repo: Annotated[str, typer.Option(metavar="FOLDER", help="A folder inside the git checkout to look at.")] = ".",
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Archive records whose files are no longer what they were, and bring back those whose files are again."""
    with chosen(ctx).open(to_read=True) as memory, progress("looking at files") as told:
        found = memory.check_stale(repo, dry_run, progress=told)
    if as_json:
        files = [{"id": record, **change._asdict()} for record, change in found.files]
        counts = {name: value for name, value in vars(found).items() if name != "files"}
        write_json({**counts, "files": files})
        return
    would = "would be " if dry_run else ""
    lines: list[Line] = [(Span(f"{counted(found.checked, 'record')} checked, {found.stale} stale", STRONG),)]
    lines.append((Span(f"{found.archived} {would}archived, {found.restored} {would}brought back"),))
    for record, change in found.files:
        where = f", now {change.now}" if change.now else ""
        lines.append((Span(f"{record}  ", QUIET), Span(visible(f"{change.path}: {change.change}{where}"))))
    if len(found.files) < found.files_changed:
        lines.append((Span(f"and {found.files_changed - len(found.files)} more", QUIET),))
    write_lines(lines)


def _tell(record: AnyRecord, as_json: bool) -> None:
    if as_json:
        write_json({"id": record.id, "record": record_json(record)})
    else:
        write(f"{record.id} is {record.metadata.validation.status}\n")


def _life_json(happened: LifeEvent) -> dict[str, Any]:
    event = happened.event
    return {
        "id": event.id if event else None,
        "kind": happened.kind,
        "at": happened.at.isoformat(),
        "by": happened.by,
        "status": happened.status,
        "reason": event.reason if event else None,
        "verified_by": event.verified_by if event else None,
        "verification_id": event.verification_id if event else None,
        "replaced_by": event.replaced_by if event else None,
        "helped": event.helped if event else None,
    }


def _links_json(links: Links) -> dict[str, Any]:
    return {"replaced_by": links.replaced_by, "replaces": list(links.replaces), "contradicts": list(links.contradicts)}


def _life_line(happened: LifeEvent) -> Line:
    event = happened.event
    said = [happened.by]
    if event:
        helped = None if event.helped is None else "it helped" if event.helped else "it did not help"
        replaced = f"replaced by {event.replaced_by}" if event.replaced_by else None
        said += filter(None, (event.verified_by, event.verification_id, helped, replaced, event.reason))
    return (
        Span(f"{happened.at:%Y-%m-%d %H:%M:%S}  ", QUIET),
        Span(f"{happened.kind:<11}", STRONG),
        Span(f"{happened.status:<11}"),
        Span(visible(", ".join(said))),
    )


def _link_lines(links: Links) -> list[Line]:
    told = [("replaced by", [links.replaced_by] if links.replaced_by else []), ("replaces", links.replaces)]
    told.append(("contradicts", links.contradicts))
    return [(Span(f"{name}: ", STRONG), Span(visible(", ".join(ids)))) for name, ids in told if ids]
