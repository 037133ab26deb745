"""A memory, or what it adds up to, in files: `export`, `backup`, `restore`."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from hardwon.memory import Memory
from hardwon.outside.locations import is_url
from hardwon.surfaces.cli.base import (
    CARE,
    DATA_SETS,
    Json,
    Yes,
    chosen,
    command,
    counted,
    fail,
    progress,
    require_consent,
    write_json,
    write_text,
)
from hardwon.surfaces.cli.output import size_text, visible


class ExportFormat(StrEnum):
    """What is written, and how."""

    JSONL = "jsonl"
    JSON = "json"
    CSV = "csv"
    INSIGHTS = "insights"
    ANALYTICS = "analytics"


_OF_RECORDS: Final = (ExportFormat.JSONL, ExportFormat.JSON)
_FORMAT_OF: Final = {".json": ExportFormat.JSON, ".csv": ExportFormat.CSV}


@command(
    DATA_SETS,
    "hardwon export records.jsonl",
    "hardwon export fixes.csv --json",
    "hardwon export report.json --format insights",
    answers="`file`, `format`, `records` (how many records or fixes it was made from).",
    more="""The file is there whole or not at all. `--format` says what, else the file's name does:

    | format | |
    |---|---|
    | `jsonl` | every record, one JSON object a line; `hardwon load` reads it. Also where the name says nothing |
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
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(help="Where to.")],
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
    as_json: Json = False,
) -> None:
    """Write the records, or a report of the fixes, to a file."""
    if file == "-":
        fail(
            "an export goes to a file, which is there whole or not at all: name one (./- is a "
            "name, too)"
        )
    path = Path(file)
    wanted = form or _FORMAT_OF.get(path.suffix.lower(), ExportFormat.JSONL)
    if not force and path.exists():
        fail(f"{path} exists already: choose another name, or add --force")
    with chosen(ctx).open(to_read=True) as memory, progress("exporting") as told:
        count = _exported(memory, path, wanted, told)
    if as_json:
        write_json({"file": str(path), "format": wanted.value, "records": count})
    else:
        write_text(f"{_counted(count, wanted)} written to {path} as {wanted.value}")


def _counted(count: int, form: ExportFormat) -> str:
    return counted(count, "record") if form in _OF_RECORDS else counted(count, "fix", "fixes")


def _exported(
    memory: Memory, path: Path, form: ExportFormat, told: Callable[[int, int], None] | None
) -> int:
    if form is ExportFormat.JSONL:
        return memory.export(path, progress=told)
    if form is ExportFormat.JSON:
        return memory.export(path, "json", progress=told)
    from hardwon.fixes.ai_memory import AIMemory

    history = AIMemory.on(memory)
    if form is ExportFormat.CSV:
        return history.export_csv(path)
    if form is ExportFormat.INSIGHTS:
        history.export_insights(path)
    else:
        history.export_analytics_data(path)
    return memory.fixes.totals().attempts


@command(
    CARE,
    "hardwon backup copy.db",
    "hardwon backup other.db --json",
    answers="`file`, `sha256`, `size_bytes`.",
    more="""With all its projects, as of one instant. `FILE.sha256` beside it is for `sha256sum --check`. An existing file
    is kept, and told. `examples/backup.sh` makes such copies from cron and keeps the newest.""",
)
def backup(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(help="Where to: a file that does not exist yet.")],
    as_json: Json = False,
) -> None:
    """Copy the whole memory. Others may use it meanwhile; the copy is verified and gets a checksum
    beside it.
    """
    with chosen(ctx).open(to_read=True) as memory, progress("copying") as told:
        made = memory.backup(file, progress=told)
    if as_json:
        write_json({"file": str(made.path), "sha256": made.sha256, "size_bytes": made.size_bytes})
    else:
        write_text(f"{size_text(made.size_bytes)} copied to {made.path}\nsha256 {made.sha256}")


@command(
    CARE,
    "hardwon restore copy.db --yes",
    "hardwon --memory other restore copy.db --yes --json",
    answers="`file`, `kept` (where the memory that was there is now, or null).",
    more="""Also while others have the memory open. It asks, or takes `--yes`, where there is one already; you are told
    where that is kept.""",
)
def restore(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(help="What backup made.")],
    yes: Yes = False,
    as_json: Json = False,
) -> None:
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
    with progress("restoring") as told:
        kept = Memory.restore(file, location, progress=told)
    if as_json:
        write_json({"file": file, "kept": None if kept is None else str(kept)})
    else:
        write_text(
            f"{file} is the memory now" + (f"; what was there is kept at {kept}" if kept else "")
        )
