"""Records by themselves: `browse`, `show`, `forget`, `credit`, `supersede`."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated, Final

import typer

from hardwon import limits
from hardwon.memory import Memory
from hardwon.memory.intake import record_id as record_id_of
from hardwon.memory.results import Forgotten
from hardwon.records.kinds import AnyRecord
from hardwon.surfaces.cli.base import (
    CARE,
    RECORDING,
    SEEING,
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
    record_json,
    require_consent,
    write_json,
    write_lines,
    write_text,
)
from hardwon.surfaces.cli.governance import RecordId
from hardwon.surfaces.cli.input import AsOf, Limit, Options, filtered, moment
from hardwon.surfaces.cli.output import QUIET, Line, Span, record_lines
from hardwon.surfaces.cli.views import value_lines

_BROWSED: Final = 20  # records that are listed where nobody says how many: a screen or two

Ids = Annotated[list[str], typer.Argument(metavar="ID", help="Ids of records.")]
MayBeIds = Annotated[list[str] | None, typer.Argument(metavar="ID", help="Ids of records; or use filters.")]


@command(
    SEEING,
    "hardwon browse",
    "hardwon browse --kind experience --outcome failure --since 2026-01-01 --limit 50 --json",
    answers="JSON: a list of records (with `id`, `kind`, `metadata` and what their kind has), the newest first.",
)
@filtered()
def browse(ctx: typer.Context, filters: Options, limit: Limit = _BROWSED, as_json: Json = False) -> None:
    """List records, the newest first. For all of them there is export."""
    with chosen(ctx).open(to_read=True) as memory:
        found = list(memory.browse(limit + 1, **filters))
    shown = found[:limit]
    if as_json:
        write_json([record_json(record) for record in shown])
        return
    lines = record_lines(shown, look()) if shown else [(Span("No record is like that.", QUIET),)]
    if len(found) > limit:
        lines.append((Span(f"The newest {limit}; there are more.", QUIET),))
    write_lines(lines)


@command(
    SEEING,
    "hardwon show 0198c0de-0000-7000-8000-000000000001",
    "hardwon show 0198c0de-0000-7000-8000-000000000001 --json",
    answers="JSON: `record`.",
)
def show(
    ctx: typer.Context,
    record_id: RecordId,
    as_of: AsOf = None,
    as_json: Json = False,
) -> None:
    """Print one record, whole."""
    with chosen(ctx).open(to_read=True) as memory:
        found = memory.get(record_id, moment(as_of))
    if found is None:
        then = "was" if as_of else "is"
        fail(
            f"there {then} no record {record_id}: hardwon browse and hardwon recall find ids, hardwon audit tells of what went"
        )
    if as_json:
        write_json({"record": record_json(found)})
    else:
        shape = record_json(found)
        metadata = shape.pop("metadata")
        write_lines(value_lines({**shape, "metadata": metadata}, look()))  # first what it says, then where it comes from


@command(
    CARE,
    "hardwon forget 0198c0de-0000-7000-8000-000000000001 --dry-run",
    "hardwon forget --author somebody --until 2026-01-01 --yes --json",
    answers="JSON: `ids` (forgotten, or to be), `unknown` (ids that no record has), `dry_run`, `erased` (no file of the "
    "memory holds their text any more), `pending` (somebody still reads what was; the text goes with the next write).",
    more="A tombstone without content stays, so that no merge and no load brings them back. `archive` only takes a record "
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
    """Erase records for good, by their ids or by filters. Shows what would go, then asks; nothing brings it back."""
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
        write_json(asdict(found))
        return
    lines: list[Line] = []
    if found.dry_run:
        records = _still_there(memory, found.ids[: limits.RECORDS_PREVIEWED])
        lines += record_lines(records, look())
        if len(found.ids) > len(records):
            lines.append((Span(f"and {len(found.ids) - len(records)} more", QUIET),))
    done = "would be forgotten" if found.dry_run else "forgotten"
    later = "; their text goes with the next write: somebody still reads what was" if found.pending else ""
    write_lines([*lines, (Span(f"{counted(len(found.ids), 'record')} {done}{later}"),)])
    for record_id in found.unknown:
        complain(f"there is no record {record_id}")


def _still_there(memory: Memory, ids: Iterable[str]) -> list[AnyRecord]:
    return [record for record in map(memory.get, ids) if record]


@command(
    RECORDING,
    "hardwon credit 0198c0de-0000-7000-8000-000000000001 --helped",
    "hardwon credit 0198c0de-0000-7000-8000-000000000001 --did-not-help --by reviewer --json",
    answers="JSON: `credited` (ids), `unknown` (ids that no record has), `helped`.",
)
def credit(
    ctx: typer.Context,
    ids: Ids,
    helped: Annotated[bool, typer.Option("--helped/--did-not-help", help="Whether what they say was of use.")],
    by: By = "user",
    as_json: Json = False,
) -> None:
    """Say that what was recalled helped, or did not: it stands higher, or lower, from now on."""
    with chosen(ctx).open(to_read=True) as memory:
        credited = memory.credit(ids, helped, by)
    unknown = [each for each in ids if record_id_of(each) not in credited]
    if as_json:
        write_json({"credited": credited, "unknown": unknown, "helped": helped})
        return
    write_text(f"{counted(len(credited), 'record')} {'helped' if helped else 'did not help'}")
    for record_id in unknown:
        complain(f"there is no record {record_id}")


@command(
    TRUST,
    "hardwon supersede 0198c0de-0000-7000-8000-000000000001 0198c0de-0000-7000-8000-000000000002 "
    '--reason "the port was changed"',
    answers="JSON: `id`, `replaced_by`, `record` (the old one as it stands now).",
)
def supersede(
    ctx: typer.Context,
    old: Annotated[str, typer.Argument(metavar="OLD", help="The id of the record that is replaced.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The id of the one that replaces it.")],
    reason: Annotated[str, typer.Option(help="Why.")],
    by: By = "user",
    as_json: Json = False,
) -> None:
    """Archive a record in favour of another that replaces it."""
    with chosen(ctx).open(to_read=True) as memory:
        found = memory.supersede(old, new, reason, by)
        replaced_by = memory.links(found.id).replaced_by
    if as_json:
        write_json({"id": found.id, "replaced_by": replaced_by, "record": record_json(found)})
    else:
        write_text(f"{found.id} is {found.metadata.validation.status}, replaced by {replaced_by}")
