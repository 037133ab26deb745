"""What other memories and older stores know, brought into this one: `merge`, `adopt`."""

from dataclasses import asdict
from typing import Annotated

import typer

from hardwon.memory import Memory
from hardwon.memory.project import memory_exists, place_of
from hardwon.memory.results import Merged
from hardwon.surfaces.adopt import StoreKind
from hardwon.surfaces.cli.base import (
    DATA_SETS,
    FAILED,
    Chosen,
    DryRun,
    Json,
    chosen,
    command,
    complain,
    counted,
    fail,
    progress,
    write_json,
    write_text,
)


@command(
    DATA_SETS,
    "hardwon --memory agent_brain merge copy.db",
    "hardwon --project website merge copy.db --json",
    "hardwon --memory agent_brain merge copy.db --check",
    answers="""`other` (the file that was merged, or the database), `added`, `present`, `conflicting` (ids that both keep with
    different content), `forgotten` (records that were forgotten here, and stay so), `events`, `erased` (records that were
    forgotten there, and are gone here now), `pending` (a reader still needs the old log: their bytes go with the next write
    after it), `not_well` (with `--check`: what doctor found wrong with this memory or the other, in words; null without).""",
    more="""Of one project: the one that `--project` names, else `default`. Records come with their statuses and everything
    that happened to them; merging twice, or the other way round, gives the same memory. Where both keep an id with
    different content, each keeps its own: that is told, and gives exit code 1. Nothing is added to the other memory; one of
    an older version is brought up to date. A backup stays what its checksum says.

    Either of the two may be a database: `hardwon --memory URL merge brain.db` brings a file into it, and
    `hardwon --memory brain.db merge URL` copies a project of it into a file. A merge goes batch by batch; one that was
    interrupted goes on when it is done again. `--check` then runs doctor on both, and gives exit code 1 where one of
    them is not well.""",
)
def merge(
    ctx: typer.Context,
    other: Annotated[
        str,
        typer.Argument(
            help="Another memory: a folder, a .db file, a backup for instance, or a database."
        ),
    ],
    check: Annotated[
        bool, typer.Option("--check", help="Then run doctor on both memories.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Bring in what another memory knows: records, statuses, and what was forgotten there."""
    if not memory_exists(other):  # told before a memory is made for it
        fail(
            f"there is no memory at {other}: name the folder, the .db file or the database of "
            f"another one"
        )
    with progress("merging") as told:
        project, done = chosen(ctx).fill(
            lambda memory, _: (memory.project, memory.merge(other, progress=told)), _brings
        )
    wrong = _not_well(chosen(ctx), Chosen(other, project)) if check else None
    if as_json:
        write_json({"other": place_of(other), **asdict(done), "not_well": wrong})
    else:
        write_text(_merged_text(done, project))
        if wrong == []:
            write_text("both memories are well")
        for said in wrong or ():
            complain(said)
    if done.conflicting or wrong:
        raise typer.Exit(FAILED)


def _not_well(this: Chosen, other: Chosen) -> list[str]:
    """What doctor finds wrong, on each side. Where nothing was brought, no memory was made, and
    there is none to check.
    """
    wrong: list[str] = []
    for side, place in (("this memory", this), ("the other memory", other)):
        if not memory_exists(place.memory):
            continue
        with place.open(to_read=True) as memory:
            found = [each for each in memory.doctor().findings if not each.ok]
        if place is other:  # it was only read, and a backup is not set up to be written to
            found = [each for each in found if each.check != "durability"]
        wrong += [f"{side} is not well: {each.check}: {each.detail}" for each in found]
    return wrong


def _brings(named: tuple[str, Merged]) -> bool:
    done = named[1]
    return any((done.added, done.present, done.forgotten, done.conflicting, done.events))


def _merged_text(done: Merged, project: str) -> str:
    if not _brings((project, done)):
        return f"there is nothing in project {project} of the other memory: --project names another"
    lines = [
        f"{counted(done.added, 'record')} added, {done.present} were here already, "
        f"{done.forgotten} stay forgotten",
        f"{counted(done.events, 'event')} added, {counted(done.erased, 'record')} forgotten there "
        f"and gone here now",
    ]
    lines += [
        f"{record_id} is kept here with other content, which stays"
        for record_id in done.conflicting
    ]
    return "\n".join(lines)


@command(
    DATA_SETS,
    "hardwon adopt old/ai_memory.db --dry-run",
    "hardwon --memory agent_brain adopt memories.jsonl --kind data-set --author made-up --json",
    answers="""`source` (its path), `kind`, `read`, `added`, `present`, `forgotten` (here, and they stay so), `rejected` and
    `mended` (lists of `where` and `what`), `notes` (in words), `dry_run`.""",
    more="""| kind | what it is |
    |---|---|
    | `tree` | a folder of BTB memories: `outcome=failure/tool=…/….json` ([tree.md](tree.md)) |
    | `training-memory` | the JSON that a training loop saves: `agent_memory.json` ([episodes.md](episodes.md)) |
    | `fix-history` | an `ai_memory.db` of any shape, or its folder with the knowledge base in it ([fixes.md](fixes.md)) |
    | `knowledge-base` | a `knowledge_base.json` |
    | `data-set` | whatever `hardwon validate` takes ([tree.md](tree.md#data-sets)) |

    Which of them it is, is found out by looking; `--kind` says it where that does not do. The store is only read, and
    nothing in it is believed because it says so: everything lands as a hypothesis of one source, the `--author`, whom
    `hardwon rollback` can undo. Adopting it again adds what is new since, except for a data set, whose memories are then
    kept twice. Exit code 1 when something was rejected. A Hardwon memory is merged, and what one exported is loaded: the
    error says so.""",
)
def adopt(
    ctx: typer.Context,
    path: Annotated[str, typer.Argument(help="An older store: a file or a folder.")],
    kind: Annotated[
        StoreKind | None, typer.Option(help="What it is.", show_default="found out by looking")
    ] = None,
    author: Annotated[
        str | None,
        typer.Option(
            help="The source that it counts as.", show_default="one for each kind of store"
        ),
    ] = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Take in an older store of any kind. It is only read."""
    from hardwon.surfaces import adopt as adoption

    what = kind or adoption.kind_of(path)  # told before a memory is made for it
    with progress("adopting") as told:

        def taken_in(memory: Memory, trying: bool) -> adoption.Adoption:
            return adoption.adopt(
                path, memory, kind=what, author=author, dry_run=trying, progress=told
            )

        done = chosen(ctx).fill(taken_in, lambda tried: tried.added, dry_run=dry_run)
    if as_json:
        write_json({"source": path, **done.to_dict()})
    else:
        write_text(str(done))
    if done.rejected:
        raise typer.Exit(FAILED)
