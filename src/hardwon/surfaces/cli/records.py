"""Records by themselves, where more is to be done than to show one: `forget`, `credit`, `audit`,
`stale`.
"""

from typing import Annotated

import typer

from hardwon import limits
from hardwon.memory import Memory
from hardwon.memory.intake import record_id as record_id_of
from hardwon.memory.results import Forgotten, LifeEvent
from hardwon.surfaces.cli.base import (
    CARE,
    RECORDING,
    TRUST,
    By,
    DryRun,
    Json,
    Yes,
    chosen,
    command,
    complain,
    counted,
    fail,
    look,
    progress,
    require_consent,
    write_json,
    write_lines,
    write_text,
)
from hardwon.surfaces.cli.input import Options, filtered
from hardwon.surfaces.cli.output import QUIET, STRONG, Line, Span, record_lines, visible

MayBeIds = Annotated[
    list[str] | None, typer.Argument(metavar="ID", help="Ids of records; or use filters.")
]


@command(
    CARE,
    "hardwon forget 0198c0de-0000-7000-8000-000000000001 --dry-run",
    "hardwon forget --author somebody --until 2026-01-01 --yes --json",
    operation="forget",
    more="A tombstone without content stays, so that no merge and no load brings them back. "
    "`archive` only takes a record "
    "out of recall, and `cleanup` keeps what it taught.",
)
@filtered()
def forget(
    ctx: typer.Context,
    ids: MayBeIds = None,
    *,
    filters: Options,
    by: By = "user",
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Erase records for good, by their ids or by filters. Shows what would go, then asks; nothing
    brings it back.
    """
    with chosen(ctx).open(to_read=True) as memory:
        if dry_run or not yes:
            preview = memory.forget(ids or (), dry_run=True, **filters)
            _tell_forgotten(memory, preview, as_json)
            if dry_run or not preview.ids:
                return
            require_consent("Forget them for good?", yes, as_json=as_json)
            ids, filters = preview.ids, {}  # what was shown, and nothing that came since
        _tell_forgotten(memory, memory.forget(ids or (), by=by, **filters), as_json)


def _tell_forgotten(memory: Memory, found: Forgotten, as_json: bool) -> None:
    if as_json:
        write_json(found)
        return
    lines: list[Line] = []
    if found.dry_run:
        records = [
            record for record in map(memory.get, found.ids[: limits.RECORDS_PREVIEWED]) if record
        ]
        lines += record_lines(records, look())
        if len(found.ids) > len(records):
            lines.append((Span(f"and {len(found.ids) - len(records)} more", QUIET),))
    done = "would be forgotten" if found.dry_run else "forgotten"
    later = (
        "; their text goes with the next write: somebody still reads what was"
        if found.pending
        else ""
    )
    write_lines([*lines, (Span(f"{counted(len(found.ids), 'record')} {done}{later}"),)])
    for record_id in found.unknown:
        complain(f"there is no record {record_id}")


@command(
    RECORDING,
    "hardwon credit 0198c0de-0000-7000-8000-000000000001 --helped",
    "hardwon credit 0198c0de-0000-7000-8000-000000000001 --did-not-help --by reviewer --json",
    operation="credit",
    answers="Ids that no record has are named on standard error.",
)
def credit(
    ctx: typer.Context,
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="Ids of records.")],
    helped: Annotated[
        bool, typer.Option("--helped/--did-not-help", help="Whether what they say was of use.")
    ],
    by: By = "user",
    as_json: Json = False,
) -> None:
    """Say that what was recalled helped, or did not: it stands higher, or lower, from now on."""
    with chosen(ctx).open(to_read=True) as memory:
        credited = memory.credit(ids, helped, by)
    if as_json:
        write_json(credited)
    else:
        write_text(f"{counted(len(credited), 'record')} {'helped' if helped else 'did not help'}")
    for unknown in (each for each in ids if record_id_of(each) not in credited):
        complain(f"there is no record {unknown}")


@command(
    TRUST,
    "hardwon audit 0198c0de-0000-7000-8000-000000000001",
    "hardwon audit 0198c0de-0000-7000-8000-000000000001 --json",
    answers="""`id`, `record` (null where it was forgotten), `life` (what
    [`GET /records/{record_id}/audit`](reference/rest.md#get-recordsrecord_idaudit) gives; `undo` takes the ids of its
    events), `links`.""",
    more="""Everything that happened to it comes with its status after each; then what replaced it, what it replaced and
    what contradicts it. Of a forgotten record its tombstone is left.""",
)
def audit(
    ctx: typer.Context,
    record_id: Annotated[str, typer.Argument(metavar="ID", help="The id of a record.")],
    as_json: Json = False,
) -> None:
    """Show a record's whole life: who wrote it, what happened to it since, and what it has to do
    with others.
    """
    with chosen(ctx).open(to_read=True) as memory:
        life = memory.audit(record_id)
        if not life:
            fail(f"there is no record {record_id}, and never was one: hardwon recall finds ids")
        links, found = memory.care.links(record_id), memory.get(record_id)
    if as_json:
        write_json({"id": record_id, "record": found, "life": life, "links": links})
        return
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
    write_lines([*map(_life_line, life), *lines])


def _life_line(happened: LifeEvent) -> Line:
    event = happened.event
    said = [happened.by]
    if event:
        helped = (
            None if event.helped is None else "it helped" if event.helped else "it did not help"
        )
        replaced = f"replaced by {event.replaced_by}" if event.replaced_by else None
        said += filter(
            None, (event.verified_by, event.verification_id, helped, replaced, event.reason)
        )
    return (
        Span(f"{happened.at:%Y-%m-%d %H:%M:%S}  ", QUIET),
        Span(f"{happened.kind:<11}", STRONG),
        Span(f"{happened.status:<11}"),
        Span(visible(", ".join(said))),
    )


@command(
    TRUST,
    "hardwon stale --dry-run",
    "hardwon stale --repo . --json",
    answers="""`checked`, `stale`, `archived`, `restored`, `files_changed`, `dry_run`, `files` (each with `id`, `path`,
    `change`, `now`).""",
    more="""It looks at the files that records are about, in the git checkout that `--repo` lies in: those that changed, and
    those that vanished ([trust.md](trust.md)).""",
)
def stale(
    ctx: typer.Context,
    repo: Annotated[
        str, typer.Option(metavar="FOLDER", help="A folder inside the git checkout to look at.")
    ] = ".",
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Archive records whose files are no longer what they were, and bring back those whose files
    are again.
    """
    with chosen(ctx).open(to_read=True) as memory, progress("looking at files") as told:
        found = memory.check_stale(repo, dry_run, progress=told)
    if as_json:
        files = [{"id": record, **change._asdict()} for record, change in found.files]
        write_json({**vars(found), "files": files})
        return
    would = "would be " if dry_run else ""
    lines: list[Line] = [
        (Span(f"{counted(found.checked, 'record')} checked, {found.stale} stale", STRONG),)
    ]
    lines.append((Span(f"{found.archived} {would}archived, {found.restored} {would}brought back"),))
    for record, change in found.files:
        where = f", now {change.now}" if change.now else ""
        lines.append(
            (Span(f"{record}  ", QUIET), Span(visible(f"{change.path}: {change.change}{where}")))
        )
    if len(found.files) < found.files_changed:
        lines.append((Span(f"and {found.files_changed - len(found.files)} more", QUIET),))
    write_lines(lines)
