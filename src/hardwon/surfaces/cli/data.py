"""Records in files: data sets (`generate`, `validate`, `load`), what other memories and older
stores know (`load`, `merge`, `adopt`), copies (`export`, `backup`, `restore`), and the files of the
tree (`sync`).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final, Literal, TypeVar

import typer

from hardwon import limits
from hardwon.errors import InvalidInputError, on_failure
from hardwon.memory import Memory
from hardwon.memory.places import find_place, memory_exists
from hardwon.memory.results import Merged, StoreKind
from hardwon.outside.locations import is_url
from hardwon.records.reading import is_record
from hardwon.surfaces import adopt as adoption
from hardwon.surfaces.cli.main import (
    DryRun,
    Output,
    Progress,
    Target,
    Yes,
    chosen,
    command,
    fail,
    progress,
    require_consent,
    visible,
    write,
)
from hardwon.surfaces.cli.views import counted, size_text

F = TypeVar("F")
DatasetFormat = Literal["jsonl", "json", "python"]
ExportFormat = Literal["jsonl", "json", "csv", "insights", "analytics"]


Author = Annotated[
    str,
    typer.Option(
        help="Who is said to have recorded what names nobody; rollback can undo a source."
    ),
]


@command(
    "hardwon tree generate 200 --seed 7 --sessions --output memories.jsonl",
    "hardwon --memory agent_brain tree generate small --load",
    words="tree generate",
    answers="""the data set itself where it goes to standard output; otherwise `total`, `output` (the file or null),
    `loaded` (as load prints it, or null).""",
    more="""`--sessions` spreads it over working days, from `--start` on. It goes to standard output, to a new file
    (`--output`), into the memory (`--load`), or to several of them; without `--format` the file's name says how it is
    written.""",
)
def generate(
    ctx: typer.Context,
    size: Annotated[
        str,
        typer.Argument(
            help="small (100), medium (1,000), large (10,000), vast (50,000), or a number."
        ),
    ],
    seed: Annotated[int, typer.Option(min=0, help="The same seed makes the same data set.")] = 0,
    sessions: Annotated[
        bool, typer.Option("--sessions", help="In the order of working days, with times.")
    ] = False,
    start: Annotated[
        str | None, typer.Option(metavar="DATE", help="The first of those days.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to; - is standard output, as without --load.",
        ),
    ] = None,
    form: Annotated[
        DatasetFormat | None,
        typer.Option(
            "--format", help="How to write it.", show_default="by the file's name, else jsonl"
        ),
    ] = None,
    load: Annotated[bool, typer.Option("--load", help="Fill the memory with it.")] = False,
    author: Author = "agent",
    as_json: bool = False,
) -> Output:
    """Make up a data set of memories that looks like an agent's real history."""
    from hardwon.tree import datasets

    # Python refuses to read endless numbers; what is no size, or a longer number, is refused below
    is_number = size.isascii() and size.isdigit() and len(size) <= 18
    memories = datasets.generate(
        int(size) if is_number else size, seed, sessions=sessions, start=start
    )
    printed = output == "-" or (output is None and not load)
    if printed:
        write(_text_of(memories, form or ("json" if as_json else "jsonl")))
    elif output is not None:
        names: dict[str, DatasetFormat] = {".json": "json", ".py": "python", ".jsonl": "jsonl"}
        _write_new(Path(output), _text_of(memories, _format_of(output, form, names)))
    loaded = _load_dataset(ctx, memories, author) if load else None
    if printed:
        raise typer.Exit
    lines = [f"{len(memories)} memories written to {output}"] if output is not None else []
    return Output(
        {"total": len(memories), "output": output, "loaded": loaded and asdict(loaded)},
        "\n".join([*lines, *([str(loaded)] if loaded else [])]),
    )


def _format_of(file: str, form: F | None, known: Mapping[str, F]) -> F:
    """How a file of that name is written, where nobody says."""
    suffix = Path(file).suffix.lower()
    if form is not None:
        return form
    if suffix and suffix not in known:
        raise InvalidInputError.one(
            "file",
            file,
            f"a name that ends in {', '.join(known)}; or --format says how it is written",
        )
    return known[suffix or ".jsonl"]


def _write_new(path: Path, text: str) -> None:
    try:
        file = path.open("x", encoding="utf-8")
    except FileExistsError:
        fail(f"{path} exists already: choose another name, or remove it first")
    with file, on_failure(lambda: path.unlink(missing_ok=True)):
        file.write(text)


def _text_of(memories: Sequence[Mapping[str, Any]], form: DatasetFormat) -> str:
    if form == "json":
        return json.dumps(memories, indent=2) + "\n"
    if form == "jsonl":
        return "".join(json.dumps(memory) + "\n" for memory in memories)
    return "".join(["memories = [\n", *(f"    {memory!r},\n" for memory in memories), "]\n"])


@command(
    "hardwon tree validate memories.jsonl",
    "hardwon tree validate memories.jsonl --json",
    words="tree validate",
    answers="""`ok`, `total`, `errors` and `warnings` (lists of `index`, `field`, `value`, `wrong`, `remedy`, `severity`,
    `line`), `distributions` (a list of `field`, `name`, `count`, `share`, `least`, `most`, `within`).""",
    more="""Errors keep a memory from being stored, and give exit code 1; warnings (too generic, near-copies, unlikely
    shares) do not.""",
)
def validate(
    file: Annotated[
        str,
        typer.Argument(
            help="A data set: JSON, JSON Lines, or Python source, which is parsed and not run."
        ),
    ],
) -> Output:
    """Check a data set; exit code 1 when it has errors."""
    from hardwon.tree import datasets

    report = datasets.validate(file)
    return Output(report.to_dict(), str(report), failed=not report.ok)


@command(
    "hardwon --memory agent_brain load memories.jsonl",
    "hardwon --memory agent_brain load memories.jsonl --dry-run --json",
    answers="""JSON of a data set: `source` ("dataset"), `total`, `stored`, `present` (loaded before), `ids`, `rejected` and
    `warnings` (as the errors of validate), `dry_run`. JSON of records: `source` ("records"), `read`, `added`, `present`,
    `conflicting` (ids kept here with other content), `forgotten`, `dry_run`, `lowered` (how many came with which status
    that is not taken over).""",
    more="""Memories with errors are refused, told, and give exit code 1; the others are kept. `--author` is who is said to
    have recorded those memories of a data set that name nobody; a name of its own lets you roll the data set back.

    Records are one a line or one JSON value, as `export` writes them, with a `kind` and an `id`, or as the
    [metadata schema](migration/metadata-schema.md) does, without: the fields tell the kind, and the id follows from what a
    record says. One that is invalid is an error that names its line, and nothing is kept then. They keep their authors.""",
)
def load(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(help="A data set as for validate, or records.")],
    dry_run: DryRun = False,
    author: Author = "agent",
    strict: Annotated[
        bool, typer.Option("--strict", help="Of records, demand all that the metadata schema does.")
    ] = False,
) -> Output:
    """Take in records that were exported, or a data set. Also the metadata schema's JSON; exit code
    1 when something was refused.
    """
    if not Path(file).is_file():  # told before a memory is made for it
        fail(f"cannot read {file}: there is no such file")
    if not is_record(adoption.first_item(adoption.read_text_file(Path(file)))):
        found = _load_dataset(ctx, file, author, dry_run)
        return Output({"source": "dataset", **asdict(found)}, str(found), bool(found.rejected))
    with Path(file).open("rb") as opened:
        lines_in_file = sum(1 for _ in opened)
    records = chosen(ctx).fill(
        lambda memory, trying, bar: memory.load(file, trying, progress=bar, strict=strict),
        lambda tried: tried.added,
        "loading",
        "what was loaded so far stays; load it again to go on",
        dry_run=dry_run,
        expected=lines_in_file,
    )
    done = "would be added" if records.dry_run else "added"
    lines = [
        f"{records.added} of {records.read} records {done}, {records.present} were here already, "
        f"{records.forgotten} stay forgotten",
        *([records.lowered_text] if records.lowered else []),
        *map(_conflict, records.conflicting),
    ]
    return Output(
        {"source": "records", **asdict(records)}, "\n".join(lines), bool(records.conflicting)
    )


def _conflict(record_id: str) -> str:
    return f"{record_id} is kept here with other content, which stays"


def _load_dataset(ctx: typer.Context, source: Any, author: str, dry_run: bool = False) -> Any:
    from hardwon.tree.datasets import load_dataset

    return chosen(ctx).fill(
        lambda memory, trying, bar: load_dataset(  # nosec B615  # our own, of a file
            memory, source, author=author, progress=bar, dry_run=trying
        ),
        lambda tried: tried.stored,
        "loading",
        "what was loaded so far stays; load it again to go on",
        dry_run=dry_run,
    )


# --- other memories, and older stores ---


@command(
    "hardwon --memory agent_brain merge copy.db",
    "hardwon --project website merge copy.db --json",
    "hardwon --memory agent_brain merge copy.db --check",
    answers="""`other` (the file that was merged, or the database), `added`, `present`, `conflicting` (ids that both keep with
    different content), `forgotten` (records that were forgotten here, and stay so), `events`, `erased` (records that were
    forgotten there, and are gone here now), `pending` (a reader still needs the old log: their bytes go with the next write
    after it), `left` (what was decided there and not taken over, in words), `left_total`, `decision` (undoes the arrival,
    or null), `unknown` (names after `--trust` that nobody there has), `dry_run`, `not_well` (with `--check`: what doctor
    found wrong with this memory or the other, in words; null without).""",
    more="""Of one project: the one that `--project` names, else `default`. The other memory is a stranger: its records arrive
    as hypotheses, `hardwon undo` takes the arrival back, and what was decided there (statuses, decisions, what was
    forgotten) is listed. `--trust all` takes that over too, and then merging twice, or the other way round, gives the same
    memory; `--trust ann` takes over what ann decided, as often as you name somebody. Where both keep an id with different
    content, each keeps its own: that is told, and gives exit code 1. Nothing is added to the other memory; one of an older
    version is brought up to date. A backup stays what its checksum says.

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
    trust: Annotated[
        list[str] | None,
        typer.Option(
            "--trust",
            metavar="all|AUTHOR",
            help="Take over what was decided there too: by everybody, or by this author.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Tell what would come, and change nothing.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Then run doctor on both memories.")
    ] = False,
) -> Output:
    """Bring in what another memory knows. Its records, and what was decided about them if you trust
    it.
    """
    if not memory_exists(other):  # told before a memory is made for it
        fail(
            f"there is no memory at {other}: name the folder, the .db file or the database of "
            f"another one"
        )
    project, done = chosen(ctx).fill(
        lambda memory, trying, bar: (
            memory.project,
            memory.merge(
                other,
                bar,
                trust="all" in (trust or ()) or trust or False,
                dry_run=trying,
            ),
        ),
        lambda tried: _brings(tried[1]),
        "merging",
        "what arrived stays; another merge goes on",
        dry_run=dry_run,
    )
    wrong = _not_well(chosen(ctx), Target(other, project)) if check else None

    text = (
        f"{counted(done.added, 'record')} {'would be ' if dry_run else ''}added, "
        f"{done.present} were here already, {done.forgotten} stay forgotten\n"
        f"{counted(done.events, 'event')} {'would be ' if dry_run else ''}added, "
        f"{counted(done.erased, 'record')} forgotten there and gone here {'then' if dry_run else 'now'}"
    )
    if done.decision:
        text += f"\nthey are hypotheses until somebody here vouches: hardwon undo {done.decision}"
    if done.left:
        more = done.left_total - len(done.left[:_LEFT_SHOWN])
        shown = [*done.left[:_LEFT_SHOWN], *([f"and {more} more"] if more else [])]
        text += "\nnot taken over without --trust:\n  " + "\n  ".join(shown)
    if done.unknown:
        text += f"\nnobody there is called {' or '.join(map(repr, done.unknown))}: see --trust"
    with Target(other, project).open(to_read=True, of_all=True) as there:
        others = [each for each in there.care.projects() if each != project]
    names = ", ".join(others[: limits.SCREEN_ITEMS])
    if not _brings(done):
        text = (
            f"there is nothing in project {project} of the other memory, which has "
            f"{names or 'none'}: --project names another"
        )
    elif others:
        text += f"\nonly project {project} was merged; the other memory also has {names}: --project names one"
    well = ["both memories are well"] if wrong == [] else []
    return Output(
        {"other": find_place(other).location, **asdict(done), "not_well": wrong},
        "\n".join([text, *map(_conflict, done.conflicting), *well]),
        bool(done.conflicting or wrong),
        wrong or (),
    )


_LEFT_SHOWN: Final = 20  # of what is not taken over


def _not_well(this: Target, other: Target) -> list[str]:
    """What doctor finds wrong, on each side. Where nothing was brought, no memory was made, and
    there is none to check.
    """
    wrong: list[str] = []
    # the other was only read, and a backup is not set up to be written to
    for side, place, excused in (("this", this, ""), ("the other", other, "durability")):
        if memory_exists(place.memory):
            with place.open(to_read=True, of_all=True) as memory:
                found = memory.doctor().findings
            wrong += [
                f"{side} memory is not well: {each.check}: {each.detail}"
                for each in found
                if not each.ok and each.check != excused
            ]
    return wrong


def _brings(done: Merged) -> bool:
    return any((done.added, done.present, done.forgotten, done.conflicting, done.events))


@command(
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
    | `metadata-schema` | facts, trajectories, patterns as JSON after that schema ([how](migration/metadata-schema.md)) |
    | `data-set` | whatever `hardwon tree validate` takes ([tree.md](tree.md#data-sets)) |

    Which of them it is, is found out by looking; `--kind` says it where that does not do. The store is only read, and
    nothing in it is believed because it says so: everything lands as a hypothesis of one source, the `--author`, whom
    `hardwon care rollback` can undo. Adopting it again adds what is new since. Exit code 1 when something was rejected. A
    Hardwon memory is merged, and what one exported is loaded: the error says so.""",
)
def adopt(
    ctx: typer.Context,
    path: Annotated[str, typer.Argument(help="An older store: a file or a folder.")],
    kind: Annotated[
        StoreKind | None,
        typer.Option(help="What it is.", show_default="found out by looking"),
    ] = None,
    author: Annotated[
        str | None,
        typer.Option(
            help="The source that it counts as.", show_default="one for each kind of store"
        ),
    ] = None,
    dry_run: DryRun = False,
) -> Output:
    """Take in an older store of any kind. It is only read."""
    what = kind or adoption.kind_of(path)  # told before a memory is made for it
    done = chosen(ctx).fill(
        lambda memory, trying, bar: adoption.adopt(
            path, memory, kind=what, author=author, progress=bar, dry_run=trying
        ),
        lambda tried: tried.added,
        "adopting",
        "what was adopted so far stays; adopt it again to go on",
        dry_run=dry_run,
    )
    return Output({"source": path, **asdict(done)}, str(done), bool(done.rejected))


# --- copies ---


@command(
    "hardwon export records.jsonl",
    "hardwon export fixes.csv --json",
    "hardwon export report.json --format insights",
    busy=("exporting", "no file was written"),
    answers="`file`, `format`, `records` (how many records or fixes it was made from).",
    more="""The file is there whole or not at all. `--format` says what, else the file's name does:

    | format | |
    |---|---|
    | `jsonl` | every record, one JSON object a line; `hardwon load` reads it. For `.jsonl`, `-`, and names without an ending |
    | `json` | the same records as one JSON list; for names that end in `.json` |
    | `csv` | the fixes, one row each with the columns of `fix_history`; for names that end in `.csv` |
    | `insights` | a report of the fixes: statistics, models, knowledge base, trends |
    | `analytics` | numbers of the fixes by day, model, issue type and fixer |

    A file that exists is kept unless `--force` is given; with it, a link stays and the file that it leads to is replaced.
    What is no regular file, and the memory's own files, are never replaced. `csv`, `insights` and `analytics` tell of the
    project `default`, where fix history is kept: where another one is chosen, or found from the git checkout, say `hardwon
    --project default export …`.""",
)
def export(
    memory: Memory,
    bar: Progress,
    file: Annotated[str, typer.Argument(help="Where to; - is standard output.")],
    form: Annotated[
        ExportFormat | None,
        typer.Option(
            "--format",
            help="Of the records: jsonl, json. Of the fixes: csv, insights, analytics.",
            show_default="by the file's name, else jsonl",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the file where there is one.")
    ] = False,
) -> Output:
    """Write the records, or a report of the fixes, to a file."""
    names: dict[str, ExportFormat] = {".json": "json", ".csv": "csv", ".jsonl": "jsonl"}
    wanted = _format_of(file, form, names)
    if file != "-" and not force and Path(file).exists():
        fail(f"{file} exists already: choose another name, or add --force")
    from hardwon.fixes.ai_memory import AIMemory

    with TemporaryDirectory(prefix="hardwon-exporting-") as folder:
        path = Path(folder) / "export" if file == "-" else Path(file)
        if wanted in ("jsonl", "json"):
            count = memory.export(path, wanted, progress=bar)
            what = counted(count, "record")
        else:
            exports: dict[str, Callable[[AIMemory, Path], int | None]] = {
                "csv": AIMemory.export_csv,
                "insights": AIMemory.export_insights,
                "analytics": AIMemory.export_analytics_data,
            }
            written = exports[wanted](AIMemory.on(memory), path)
            count = memory.fixes.totals().attempts if written is None else written
            what = counted(count, "fix", "fixes")
        if file == "-":
            with path.open(encoding="utf-8", newline="") as lines:
                for line in lines:
                    write(line)
            raise typer.Exit
    return Output(
        {"file": str(path), "format": wanted, "records": count},
        f"{what} written to {path} as {wanted}",
    )


@command(
    "hardwon care backup copy.db",
    "hardwon care backup other.db --json",
    words="care backup",
    of_all=True,
    busy=("copying", "no file was written"),
    answers="`file`, `sha256`, `size_bytes`.",
    more="""With all its projects, as of one instant. `FILE.sha256` beside it is for `sha256sum --check`. An existing file
    is kept, and told. `examples/backup.sh` makes such copies from cron and keeps the newest.""",
)
def backup(
    memory: Memory,
    bar: Progress,
    file: Annotated[str, typer.Argument(help="Where to: a file that does not exist yet.")],
) -> Output:
    """Copy the whole memory. Others may use it meanwhile; the copy is verified and gets a checksum
    beside it.
    """
    made = memory.backup(file, progress=bar)
    return Output(
        {"file": str(made.path), "sha256": made.sha256, "size_bytes": made.size_bytes},
        f"{size_text(made.size_bytes)} copied to {made.path}\nsha256 {made.sha256}",
    )


@command(
    "hardwon care restore copy.db --yes",
    "hardwon --memory other care restore copy.db --yes --json",
    words="care restore",
    answers="`file`, `kept` (where the memory that was there is now, or null).",
    more="""Also while others have the memory open. It asks, or takes `--yes`, where there is one already; you are told
    where that is kept.""",
)
def restore(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(help="What backup made.")],
    yes: Yes = False,
    as_json: bool = False,
) -> Output:
    """Put a backup where the memory is. Asks first; the memory that was there is kept beside it."""
    location = chosen(ctx).memory
    if not Path(file).is_file():
        fail(f"there is no backup at {file}")
    # a database is refused, whatever the answer
    if not is_url(location) and chosen(ctx).may_exist():
        require_consent(
            f"Replace the memory {visible(location or 'that is found from here')} by "
            f"{visible(file)}?",
            yes,
            as_json=as_json,
        )
    with progress("restoring") as bar:
        kept = Memory.restore(file, location, progress=bar)
    text = f"{file} is the memory now" + (f"; what was there is kept at {kept}" if kept else "")
    return Output({"file": file, "kept": kept}, text)


# --- the tree ---


@command(
    "hardwon --memory agent_brain tree sync --make-tree",
    "hardwon --memory agent_brain tree sync --json",
    words="tree sync",
    operation="tree.sync",
    more="""Looks at every file and takes in what people added, changed, moved or removed. Every command does so for what it
    needs; this one looks at everything, and tells which files it could not read and left alone. `--make-tree` first gives
    the memory a tree where it has none, with a file for every experience; memory files that lie in the folder already are
    taken in.""",
)
def sync(
    ctx: typer.Context,
    make_tree: Annotated[
        bool, typer.Option("--make-tree", help="First give the memory a tree, if it has none.")
    ] = False,
) -> Output:
    """Bring the files of the tree and the memory in step."""
    with chosen(ctx).open(to_read=not make_tree) as memory:
        if make_tree:
            memory.tree.make()
        elif memory.tree.mirror is None:
            fail(
                f"{memory.location} has no tree of files: hardwon tree sync --make-tree gives it one"
            )
        found = memory.tree.sync()

    left = [f"left alone: {path}: {why}" for path, why in found.left.items()]
    secret = [f"holds a secret, which the memory does not: {path}" for path in found.secrets]
    text = f"{found.added} new, {found.edited} edited, {found.moved} moved, {found.absent} gone"
    return Output(found, text, complaints=left + secret)
