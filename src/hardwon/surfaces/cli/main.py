"""The `hardwon` command. Each command is one call of `Memory` (of `datasets`, of a door) and prints
what it answers: lines for people, or, with `--json`, one JSON value for programs.
docs/reference/cli.md has the keys and the exit codes.

`cli_base` has what the commands share, and the names of those in other modules.
"""

import gc
import json
import logging
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

import hardwon
from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.memory.settings import VARIABLES
from hardwon.surfaces.cli import output as terminal
from hardwon.surfaces.cli.base import (
    CARE,
    DATA_SETS,
    FAILED,
    RECORDING,
    SEEING,
    Ascii,
    DryRun,
    Given,
    Json,
    Width,
    app,
    chosen,
    command,
    complain,
    drop_output,
    fail,
    look,
    progress,
    signed,
    write,
    write_json,
    write_lines,
    write_text,
)
from hardwon.surfaces.cli.input import AsOf, Options, enveloped, filtered, moment
from hardwon.surfaces.cli.output import visible

if TYPE_CHECKING:
    from hardwon.memory import Memory
    from hardwon.memory.results import Loaded
    from hardwon.tree.datasets import DatasetLoaded

_SHELLS: Final = ("bash", "zsh", "fish")
_WRONG_USAGE: Final = 2
_SIZE_DIGITS_MAX: Final = 18  # of a number that may be meant; Python refuses to read endless ones


def _print_version(wanted: bool) -> None:
    if wanted:
        write(f"hardwon {hardwon.__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    ctx: typer.Context,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help=f"The memory: a folder, a .db file or postgresql://user@host/database; also "
            f"{VARIABLES['memory']}. A "
            "password in an address shows in lists of processes: PGPASSWORD, ~/.pgpass or "
            "?service=NAME keeps it out.",
            show_default="as hardwon config says: the nearest .hardwon, else the user's own",
        ),
    ] = None,
    project: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"The project within the memory; also {VARIABLES['project']}.",
            show_default="as hardwon config says",
        ),
    ] = None,
    version: Annotated[  # noqa: ARG001  # its callback answers
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    ctx.obj = Given(memory, project)


# --- remember and recall ---


@command(
    RECORDING,
    'hardwon remember "KeyError id in login.py" --outcome failure --tool code_interpreter '
    "--error-type runtime",
    'hardwon remember "Users want short answers" --outcome learning --insight-type preference '
    "--tag style",
    answers="`id`, `path` (its file where the memory has a tree, else null), `record`.",
    more="""The key that an outcome and tool require has an option of its own: `--task-type`, `--domain`, `--error-type`,
    `--reason`, `--insight-type`, `--sentiment`. `--key KEY=VALUE` adds one of yours. `--summary`, `--tag`, `--author` and
    `--file` (a file it is about) fill in the rest; `--key`, `--tag` and `--file` may be given more than once. The full list
    of pairs is in [records.md](records.md); `--outcome` and `--tool` are its first two columns.""",
)
@enveloped
def remember(
    ctx: typer.Context,
    content: Annotated[str, typer.Argument(help="What happened; - reads it from standard input.")],
    outcome: Annotated[str, typer.Option(help="success, failure, learning or interaction.")],
    tool: Annotated[str | None, typer.Option(help="The tool that was used.")] = None,
    summary: Annotated[
        str | None, typer.Option(help="A few words for its file name.", show_default="made from it")
    ] = None,
    task_type: Annotated[str | None, typer.Option(help="Of a success of code_interpreter.")] = None,
    domain: Annotated[str | None, typer.Option(help="Of a success of web_search.")] = None,
    error_type: Annotated[
        str | None, typer.Option(help="Of a failure of code_interpreter.")
    ] = None,
    reason: Annotated[str | None, typer.Option(help="Of a failure of web_search.")] = None,
    insight_type: Annotated[str | None, typer.Option(help="Of a learning.")] = None,
    sentiment: Annotated[str | None, typer.Option(help="Of an interaction.")] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="A key of your own; as often as you like."),
    ] = None,
    *,
    envelope: Options,
    as_json: Json = False,
) -> None:
    """Keep an experience. Prints its id, and its file where the memory has a tree."""
    routing = {
        "task_type": task_type,
        "domain": domain,
        "error_type": error_type,
        "reason": reason,
        "insight_type": insight_type,
        "sentiment": sentiment,
    }
    keys = {name: value for name, value in routing.items() if value is not None} | signed(
        ctx, envelope
    )
    for name, value in map(_key_and_value, key or ()):
        if name in keys:
            raise InvalidInputError.one(
                "--key", f"{name}={value}", "keys that are not given otherwise"
            )
        keys[name] = value
    said = sys.stdin.read(limits.TEXT_CHARS_MAX + 1) if content == "-" else content
    with chosen(ctx).open() as memory:
        record = memory.remember(said, outcome, tool, summary, **keys)
    if as_json:
        write_json({"id": record.id, "path": record.path, "record": record})
    else:
        write(f"{record.id}  {visible(record.path)}\n" if record.path else f"{record.id}\n")


@command(
    RECORDING,
    'hardwon recall "login fails with KeyError"',
    'hardwon recall "timeout while uploading" -k 10 --outcome failure --since 2026-01-01',
    operation="recall",
    more="""A day given to `--since`, `--until` or `--as-of` is meant from its beginning, in UTC. `--path` is a glob over
    the related files. `--as-of` answers what was believed then.""",
)
@filtered()
def recall(
    ctx: typer.Context,
    query: Annotated[str, typer.Argument(help="What it is about.")],
    k: Annotated[int, typer.Option("-k", min=1, max=limits.RECALL_K_MAX, help="How many.")] = 5,
    *,
    filters: Options,
    as_of: AsOf = None,
    as_json: Json = False,
) -> None:
    """Find what answers a question, the best first."""
    with chosen(ctx).open(to_read=True) as memory:
        hits = memory.recall(query, k, as_of=moment(as_of), **filters)
    if as_json:
        write_json(hits)
    else:
        write_lines(terminal.hit_lines(hits, look()))


# --- see what is there ---


@command(
    SEEING,
    "hardwon stats",
    "hardwon --memory agent_brain stats --json",
    operation="stats",
)
def stats(ctx: typer.Context, as_json: Json = False) -> None:
    """Print how much there is, of what, and where."""
    with chosen(ctx).open(to_read=True) as memory:
        found = memory.stats()
    if as_json:
        write_json(found)
    else:
        write_lines(terminal.stats_lines(found, look()))


@command(
    SEEING,
    "hardwon map",
    "hardwon map --depth 2 --min-share 0.05 --sizes",
    operation="topology",
    answers="That is the whole tree, whatever the options say.",
    more="""A bar, the count and the share of the folder above for every folder; those with less than `--min-share` of the
    one above them are summed up in one line.""",
)
def map_(
    ctx: typer.Context,
    depth: Annotated[
        int | None, typer.Option(min=1, help="Levels to show.", show_default="all")
    ] = None,
    min_share: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Sum up folders with less than this share of the one above them."
        ),
    ] = 0.0,
    sizes: Annotated[bool, typer.Option("--sizes", help="Show how large the files are.")] = False,
    width: Width = None,
    ascii_only: Ascii = False,
    as_json: Json = False,
) -> None:
    """Draw the tree: what lies where, as bars, counts and shares."""
    with chosen(ctx).open(to_read=True) as memory:
        found = memory.topology()
    if as_json:
        write_json(found)
    else:
        write_lines(
            terminal.map_lines(
                found, look(width, ascii_only), depth=depth, min_share=min_share, sizes=sizes
            )
        )


@command(
    SEEING,
    "hardwon hotspots",
    "hardwon hotspots --share 0.5 --limit 10 --json",
    operation="tree.hotspots",
    more="""Folders that hold at least `--share` of the nearest folder above them that holds more, the largest first.
    Folders that hold nothing but one another count as one place.""",
)
def hotspots(
    ctx: typer.Context,
    share: Annotated[
        float, typer.Option(help="At least this share of the folder above, up to 1.")
    ] = limits.HOTSPOT_SHARE,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = limits.HOTSPOTS_SHOWN_MAX,
    width: Width = None,
    ascii_only: Ascii = False,
    as_json: Json = False,
) -> None:
    """List the folders in which most has gathered."""
    with chosen(ctx).open(to_read=True) as memory:
        found = memory.tree.hotspots(share, limit)
    if as_json:
        write_json(found)
    else:
        write_lines(terminal.hotspot_lines(found, look(width, ascii_only)))


@command(
    SEEING,
    "hardwon reflect",
    "hardwon reflect --json",
    operation="reflect",
    more="""How often things work, where failures and successes gather, how much could not be routed, and what that comes to
    in a few sentences. Nothing is concluded from fewer than ten attempts.""",
)
def reflect(
    ctx: typer.Context, width: Width = None, ascii_only: Ascii = False, as_json: Json = False
) -> None:
    """Say what works, where things fail, and how sure that is."""
    with chosen(ctx).open(to_read=True) as memory:
        said = memory.reflect()
    if as_json:
        write_json(said)
    else:
        write_lines(terminal.reflection_lines(said, look(width, ascii_only)))


# --- data sets ---


class Format(StrEnum):
    """How a data set is written."""

    JSONL = "jsonl"
    JSON = "json"
    PYTHON = "python"


_FORMAT_OF: Final = {".json": Format.JSON, ".py": Format.PYTHON}
Author = Annotated[
    str,
    typer.Option(
        help="Who is said to have recorded what names nobody; rollback can undo a source."
    ),
]


@command(
    DATA_SETS,
    "hardwon generate 200 --seed 7 --sessions --output memories.jsonl",
    "hardwon --memory agent_brain generate small --load",
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
        Format | None,
        typer.Option(
            "--format", help="How to write it.", show_default="by the file's name, else jsonl"
        ),
    ] = None,
    load: Annotated[bool, typer.Option("--load", help="Fill the memory with it.")] = False,
    author: Author = "agent",
    as_json: Json = False,
) -> None:
    """Make up a data set of memories that looks like an agent's real history."""
    from hardwon.tree import datasets

    memories = datasets.generate(_size(size), seed, sessions=sessions, start=start)
    printed = output == "-" or (output is None and not load)
    if printed:
        write("".join(_written(memories, form or (Format.JSON if as_json else Format.JSONL))))
    elif output is not None:
        _write_file(
            Path(output),
            _written(memories, form or _FORMAT_OF.get(Path(output).suffix.lower(), Format.JSONL)),
        )
    loaded = _load_dataset(ctx, memories, author) if load else None
    if printed:
        return
    if as_json:
        write_json(
            {"total": len(memories), "output": output, "loaded": loaded and loaded.to_dict()}
        )
        return
    if output is not None:
        write(f"{len(memories)} memories written to {visible(output)}\n")
    if loaded:
        write_text(str(loaded))


@command(
    DATA_SETS,
    "hardwon validate memories.jsonl",
    "hardwon validate memories.jsonl --json",
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
    as_json: Json = False,
) -> None:
    """Check a data set; exit code 1 when it has errors."""
    from hardwon.tree import datasets

    report = datasets.validate(file)
    if as_json:
        write_json(report.to_dict())
    else:
        write_text(str(report))
    if not report.ok:
        raise typer.Exit(FAILED)


@command(
    DATA_SETS,
    "hardwon --memory agent_brain load memories.jsonl",
    "hardwon --memory agent_brain load memories.jsonl --dry-run --json",
    answers="""JSON of a data set: `source` ("dataset"), `total`, `stored`, `ids`, `rejected` and `warnings` (as the errors
    of validate), `dry_run`. JSON of records: `source` ("records"), `read`, `added`, `present`, `conflicting` (ids kept here
    with other content), `forgotten`, `dry_run`.""",
    more="""Memories with errors are refused, told, and give exit code 1; the others are kept. `--author` is who is said to
    have recorded those memories of a data set that name nobody; a name of its own lets you roll the data set back.

    Records are one a line, each with its `kind` and `id`, as `export` writes them; one that is invalid, or has no id, is an
    error that names its line, and nothing is kept then. They keep their authors.""",
)
def load(
    ctx: typer.Context,
    file: Annotated[
        str, typer.Argument(help="A data set as for validate, or records that a memory exported.")
    ],
    dry_run: DryRun = False,
    author: Author = "agent",
    as_json: Json = False,
) -> None:
    """Take in a data set, or what another memory exported. Exit code 1 when something was
    refused.
    """
    if _holds_records(Path(file)):
        with progress("loading") as told:
            records = chosen(ctx).fill(
                lambda memory, trying: memory.load(file, trying, progress=told),
                lambda tried: tried.added,
                dry_run=dry_run,
            )
        if as_json:
            write_json({"source": "records", **asdict(records)})
        else:
            write_text(_loaded_text(records))
        refused = bool(records.conflicting)
    else:
        found = _load_dataset(ctx, file, author, dry_run)
        if as_json:
            write_json({"source": "dataset", **found.to_dict()})
        else:
            write_text(str(found))
        refused = bool(found.rejected)
    if refused:
        raise typer.Exit(FAILED)


def _size(given: str) -> int | str:
    return (
        int(given)
        if given.isascii() and given.isdigit() and len(given) <= _SIZE_DIGITS_MAX
        else given
    )


def _written(memories: Sequence[Mapping[str, Any]], form: Format) -> Iterator[str]:
    if form is Format.JSONL:
        yield from (json.dumps(memory) + "\n" for memory in memories)
    elif form is Format.JSON:
        yield json.dumps(memories, indent=2) + "\n"
    else:
        yield "memories = [\n"
        yield from (f"    {memory!r},\n" for memory in memories)
        yield "]\n"


def _write_file(path: Path, texts: Iterable[str]) -> None:
    try:
        file = path.open("x", encoding="utf-8")
    except FileExistsError:
        fail(f"{path} exists already: choose another name, or remove it first")
    try:
        with file:
            file.writelines(texts)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _load_dataset(
    ctx: typer.Context, source: Any, author: str, dry_run: bool = False
) -> "DatasetLoaded":
    from hardwon.tree import datasets

    with progress("loading") as told:

        def loaded(memory: "Memory", trying: bool) -> "DatasetLoaded":
            return datasets.load_dataset(  # nosec B615  # our own function, which reads a file of this machine
                memory, source, author=author, dry_run=trying, progress=told
            )

        return chosen(ctx).fill(loaded, lambda tried: tried.stored, dry_run=dry_run)


def _holds_records(path: Path) -> bool:
    """Whether the file has records, as `export` writes them, and is no data set."""
    from hardwon.records.kinds import is_record

    if not path.is_file():  # told before a memory is made for it
        fail(f"cannot read {path}: there is no such file")
    with path.open("rb") as file:
        first = next(
            (
                line
                for line in iter(lambda: file.readline(limits.RECORD_BYTES_MAX), b"")
                if line.strip()
            ),
            b"",
        )
    try:
        return is_record(json.loads(first))
    except (ValueError, RecursionError):
        return False


def _loaded_text(loaded: "Loaded") -> str:
    done = "would be added" if loaded.dry_run else "added"
    lines = [
        f"{loaded.added} of {loaded.read} records {done}, {loaded.present} were here already, "
        f"{loaded.forgotten} stay forgotten"
    ]
    lines += [
        f"{record_id} is kept here with other content, which stays"
        for record_id in loaded.conflicting
    ]
    return "\n".join(lines)


# --- care ---


@command(
    CARE,
    "hardwon --memory agent_brain sync --make-tree",
    "hardwon --memory agent_brain sync --json",
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
    as_json: Json = False,
) -> None:
    """Bring the files of the tree and the memory in step."""
    with chosen(ctx).open(to_read=not make_tree) as memory:
        if make_tree:
            memory.tree.make()
        elif memory.tree.mirror is None:
            fail(f"{memory.location} has no tree of files: hardwon sync --make-tree gives it one")
        found = memory.tree.sync()
    if as_json:
        write_json(found)
        return
    write(f"{found.added} new, {found.edited} edited, {found.moved} moved, {found.absent} gone\n")
    for path, why in found.left.items():
        complain(f"left alone: {path}: {why}")
    for path in found.secrets:
        complain(f"holds a secret, which the memory does not: {path}")


# --- what they are given ---


def _key_and_value(given: str) -> tuple[str, str]:
    name, separator, value = given.partition("=")
    if not separator or not name:
        raise InvalidInputError.one(
            "--key", given, "a key and its value, such as --key service=auth"
        )
    return name, value


class _OneLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return f"hardwon: {visible(' '.join(super().format(record).split()))}"


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    complain(f"warning: {message}")


def main() -> None:
    """The command itself."""
    # what is imported stays; without it the collection at the end takes a tenth of the whole time
    gc.freeze()
    if sys.stdout is not None:
        # Without a buffer (PYTHONUNBUFFERED) Python does not notice when only a part was written.
        number, encoding = sys.stdout.fileno(), sys.stdout.encoding
        sys.stdout = open(number, "w", encoding=encoding, errors="backslashreplace", closefd=False)  # noqa: SIM115
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # somebody closed it: `hardwon … >&-`
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115  # as long as the process lives
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine())
    logging.getLogger("hardwon").addHandler(handler)
    warnings.showwarning = _show_warning
    _show_completion_of_a_named_shell()
    try:
        app(prog_name="hardwon")
    except OSError as error:  # help and completion are written by typer, and not by us
        complain(f"cannot write the output: {error.strerror or error}")
        sys.exit(FAILED)
    finally:
        _end_output()


def _end_output() -> None:
    try:
        sys.stdout.flush()
    except OSError:
        drop_output()


def _show_completion_of_a_named_shell() -> None:
    """`--show-completion zsh`: typer's own option takes no shell, and shows what the one that it is
    called from needs.
    """
    if len(sys.argv) == 3 and sys.argv[1] == "--show-completion":
        shell = sys.argv[2]
        if shell not in _SHELLS:
            complain(
                f"--show-completion: {shell!r} is not allowed; allowed: {', '.join(_SHELLS)}, or "
                f"nothing for this shell's"
            )
            sys.exit(_WRONG_USAGE)
        os.environ["_HARDWON_COMPLETE"] = f"source_{shell}"


if __name__ == "__main__":
    main()
