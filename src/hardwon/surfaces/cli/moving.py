"""What comes in and goes out: records and data sets (`load`), other memories (`merge`), older stores
(`adopt`), and files for others (`export`).
"""

import sys
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from hardwon import limits
from hardwon.memory.places import find_place, memory_exists
from hardwon.memory.results import Merged, StoreKind
from hardwon.records.fields import check_that
from hardwon.records.reading import is_record
from hardwon.surfaces import adopt as adoption
from hardwon.surfaces.cli import base as cli
from hardwon.text.terms import say_count

app = cli.make_app()
_LEFT_SHOWN: Final = 20  # of what is not taken over
_STAYS: Final = "what came in so far stays; do it again to go on"


@cli.command(app, "load")
def load(
    file: str,
    *,
    dry_run: cli.DryRun = False,
    author: str = "agent",
    strict: bool = False,
    trust: bool = False,
) -> None:
    """Take in records that were exported, or a data set. Also the metadata schema's JSON; exit code 1
    when something was refused.

    Memories of a data set with errors are refused, and told; the others are kept. A name of its own
    (`--author`) lets you roll the data set back. Records are one a line or one JSON value, as `export`
    writes them, or as the [metadata schema](migration/metadata-schema.md) does: the fields tell the
    kind, and the id follows from what a record says. One that is invalid is an error that names its
    line, and nothing is kept then; what no field is for is kept beside the others, and what is of
    another project is passed over, and told. They keep their authors.

    What is verified or published there is unverified here until somebody here verifies it; what
    was archived or replaced stays so. `--trust` is for records that you exported yourself: they keep
    the standing that they have in the file, with who verified them, and what was decided about them
    there holds here too.

    JSON of a data set: `source` ("dataset"), `total`, `stored`, `present` (loaded before), `ids`,
    `rejected` and `warnings` (as the errors of validate), `dry_run`. JSON of records: `source`
    ("records"), `read`, `added`, `present`, `conflicting` (ids kept here with other content),
    `forgotten`, `dry_run`, `lowered` (how many came with which status that is not taken over),
    `retired` (how many are archived here now because they are there), `events` (how much of what was
    decided about records there is taken over, with `--trust`), `aside` (how many values no field is
    for), `elsewhere` (how many records of which other projects were passed over),
    `believed` (how many keep which status, with `--trust`).

    \b
    Examples:
      hardwon --memory agent_brain load memories.jsonl
      hardwon --memory agent_brain load memories.jsonl --dry-run --json

    Options:
      file: A data set, or records; - reads standard input.
      author: Who recorded what names nobody; rollback can undo a source.
      strict: Of records, demand all that the metadata schema does.
      trust: Records keep the standing that the file gives them.
    """
    if file == "-":
        with TemporaryDirectory(prefix="hardwon-loading-") as folder:
            path = Path(folder) / "standard input"
            path.write_bytes(sys.stdin.buffer.read())
            load_file(path, dry_run, author, strict, trust)
    elif not Path(file).is_file():  # told before a memory is made for it
        cli.fail(f"cannot read {file}: there is no such file")
    else:
        load_file(Path(file), dry_run, author, strict, trust)


def load_file(path: Path, dry_run: bool, author: str, strict: bool, trust: bool) -> None:
    if not is_record(adoption.first_item(adoption.read_text_file(path))):
        check_that(not trust, "--trust", trust, "for records alone: a data set has no statuses")
        made = load_dataset(str(path), author, dry_run)
        answer = {"source": "dataset", **asdict(made)}
        cli.show(answer, str(made), failed=bool(made.rejected))
        return
    with cli.find_target().open(to_read=dry_run) as memory, cli.progress("loading", _STAYS) as bar:
        records = memory.load(path, dry_run, progress=bar, strict=strict, trust=trust)
    would = "would be " if dry_run else ""
    lines = [
        f"{records.added} of {records.read} records {would}added, {records.present} were here "
        f"already, {records.forgotten} stay forgotten",
        *records.notes,
    ]
    if records.lowered:
        lines.append("if they are your own: --trust keeps the standing that they have")
    if records.events:
        lines.append(f"{say_count(records.events, 'event')} {would}added")
    lines += map(tell_conflict, records.conflicting)
    answer = {"source": "records", **asdict(records)}
    cli.show(answer, "\n".join(lines), failed=bool(records.conflicting))


def load_dataset(source: Any, author: str, dry_run: bool = False) -> Any:
    """What became of the memories of a data set."""
    from hardwon.tree import datasets

    with cli.find_target().open(to_read=dry_run) as memory, cli.progress("loading", _STAYS) as bar:
        return datasets.load_dataset(  # nosec B615  # our own, of a file
            memory, source, author=author, progress=bar, dry_run=dry_run
        )


def tell_conflict(record_id: str) -> str:
    """What is said of an id that both keep."""
    return f"{record_id} is kept here with other content, which stays"


@cli.command(app, "export")
def export(file: str, *, force: bool = False, schema: bool = False) -> None:
    """Write the records to a file.

    The file is there whole or not at all, with one record a line, which `hardwon load` reads. Reports
    of fixes are what `hardwon fix-history export` and [AIMemory](fixes.md) write.

    JSON: `file`, `records` (how many).

    \b
    Examples:
      hardwon export records.jsonl
      hardwon export july.jsonl --json
      hardwon export agentdb.jsonl --schema

    Options:
      file: Where to; - is standard output.
      force: Replace the file where there is one.
      schema: As the metadata schema writes them.
    """
    if file != "-" and not force and Path(file).exists():
        cli.fail(f"{file} exists already: choose another name, or add --force")
    with (
        cli.read_memory() as memory,
        cli.progress("exporting", "no file was written") as bar,
        TemporaryDirectory(prefix="hardwon-exporting-") as folder,
    ):
        path = Path(folder) / "export" if file == "-" else Path(file)
        count = memory.export(path, progress=bar, as_schema=schema)
        if file == "-":
            with path.open(encoding="utf-8", newline="") as lines:
                for line in lines:
                    cli.write(line)
            return
    answer = {"file": str(path), "records": count}
    cli.show(answer, f"{say_count(count, 'record')} written to {path}")


@cli.command(app, "merge")
def merge(other: str, *, trust: bool = False, dry_run: cli.DryRun = False) -> None:
    """Bring in what another memory knows. Its records, and what was decided about them if you trust
    it.

    Of one project: the one that `--project` names, else `default`. The other memory is a stranger:
    its records arrive as hypotheses, or archived where they are that there; `hardwon undo` takes the
    arrival back, and what else was decided there is listed. `--trust` takes that over too, and
    then merging twice, or the other way round, gives the same memory. Where both keep an id with different content, each
    keeps its own: that is told, and gives exit code 1.
    Nothing is added to the other memory; a backup stays what its checksum says.

    Either of the two may be a database. A merge that was interrupted goes on when it is done again.

    JSON: `other` (the file that was merged, or the database), `read` (how many it has), `added`,
    `present`, `conflicting` (ids that both keep with different content), `forgotten` (records that
    were forgotten here, and stay so), `events`, `erased` (records that were forgotten there, and
    are gone here now), `pending` (a reader still needs the old log), `left` (what was decided there
    and not taken over, in words),
    `left_total`, `decision` (undoes the arrival, or null), `dry_run`, `lowered` (how many came with
    which status that is not taken over), `retired` (how many are archived here now because they are
    there), `aside`, `elsewhere` and `believed` (as when records are
    loaded).

    \b
    Examples:
      hardwon --memory agent_brain merge copy.db
      hardwon --project website merge copy.db --json
      hardwon --memory agent_brain merge copy.db --trust

    Options:
      other: Another memory: a folder, a .db file, a backup for instance, or a database.
      trust: Take over what was decided there too.
    """
    if not memory_exists(other):  # told before a memory is made for it
        cli.fail(
            f"there is no memory at {other}: name the folder, the .db file or the database of another one"
        )
    with cli.find_target().open(to_read=dry_run) as memory, cli.progress("merging", _STAYS) as bar:
        project = memory.project
        done = memory.merge(other, bar, trust=trust, dry_run=dry_run)
    answer = {"other": find_place(other).location, **asdict(done)}
    lines = [*tell_merge(done, other, project), *map(tell_conflict, done.conflicting)]
    cli.show(answer, "\n".join(lines), failed=bool(done.conflicting))


def tell_merge(done: Merged, other: str, project: str) -> list[str]:
    """What came, and what of the other memory did not."""
    with cli.Target(other, project).open(to_read=True, of_all=True) as there:
        others = [name for name in there.care.projects() if name != project]
    names = ", ".join(others[: limits.SCREEN_ITEMS])
    only = (
        f"only project {project} was merged"
        if done.added + done.present + done.events
        else (f"there is nothing in project {project} of the other memory")
    )
    would = "would be " if done.dry_run else ""
    lines = [
        f"{say_count(done.added, 'record')} and {say_count(done.events, 'event')} {would}added, {done.present} were here "
        f"already, {done.forgotten} stay forgotten, {done.erased} {would}forgotten as they are there"
    ]
    if done.decision:
        lines.append(
            f"they are unverified until somebody verifies them; to take them out again: hardwon undo {done.decision}"
        )
    lines += done.notes
    if shown := done.left[:_LEFT_SHOWN]:
        more = done.left_total - len(shown)
        lines += ["not taken over without --trust:", *(f"  {left}" for left in shown)]
        lines += [f"  and {more} more"] if more else []
    if others:
        lines.append(f"{only}; the other memory also has {names}: --project names one")
    return lines


@cli.command(app, "adopt")
def adopt(
    path: str,
    *,
    kind: StoreKind | None = None,
    author: cli.Text = None,
    dry_run: cli.DryRun = False,
) -> None:
    """Take in an older store of any kind. It is only read.

    A folder of BTB memories (`tree`), what a training loop saves (`training-memory`), an
    `ai_memory.db` or its folder (`fix-history`), or a `knowledge_base.json` (`knowledge-base`).
    Nothing in it is believed because it says so: everything lands as a hypothesis of one source, the
    `--author`, whom `hardwon care rollback` can undo. Adopting it again adds what is new since. Exit
    code 1 when something was rejected. A Hardwon memory is merged, and records and data sets are
    loaded: the error says so.

    JSON: `source` (its path), `kind`, `read`, `added`, `present`, `forgotten` (here, and they stay
    so), `rejected` and `mended` (lists of `where` and `what`), `notes` (in words), `dry_run`.

    \b
    Examples:
      hardwon adopt old/ai_memory.db --dry-run
      hardwon --memory agent_brain adopt old/ai_memory.db --author old-fixer --json

    Options:
      path: An older store: a file or a folder.
      kind: What it is. [found out by looking]
      author: The source that it counts as. [one for each kind of store]
    """
    what = kind or adoption.find_kind(path)  # told before a memory is made for it
    with cli.find_target().open(to_read=dry_run) as memory, cli.progress("adopting", _STAYS) as bar:
        done = adoption.adopt(path, memory, kind=what, author=author, progress=bar, dry_run=dry_run)
    cli.show({"source": path, **asdict(done)}, str(done), failed=bool(done.rejected))
