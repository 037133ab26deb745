"""Where experiences lie: the map of a memory, the files of its tree, and data sets."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from hardwon import limits
from hardwon.errors import InvalidInputError, on_failure
from hardwon.surfaces.cli import views
from hardwon.surfaces.cli.main import Limit, add_group, arg, chosen, command, opt, read_memory
from hardwon.surfaces.cli.output import Line, fail, show, write

F = TypeVar("F")
DatasetFormat = Literal["jsonl", "json", "python"]
Author = Annotated[str, opt("Who recorded what names nobody; rollback can undo a source.")]

add_group("tree", "Where experiences lie: map, files and data sets.")


@command("tree map", "hardwon tree map", "hardwon tree map --depth 2 --min-share 0.05 --sizes")
def map_(
    depth: Annotated[
        int, opt("Levels to show.", min=1, show_default="all")
    ] = limits.TOPOLOGY_DEPTH_MAX,
    min_share: Annotated[
        float, opt("Sum up folders with less than this share of the one above.", min=0, max=1)
    ] = 0.0,
    sizes: Annotated[bool, opt("Show how large the files are.", "--sizes")] = False,
) -> None:
    """Draw the tree: what lies where, as bars, counts and shares.

    `--json` prints the whole tree, whatever the options say.
    """
    with read_memory() as memory:
        branch = memory.topology()
    show(branch, lambda screen: views.map_text(screen, branch, depth, min_share, sizes))


@command(
    "tree hotspots", "hardwon tree hotspots", "hardwon tree hotspots --share 0.5 --limit 10 --json"
)
def hotspots(
    share: Annotated[float, opt("At least this share of what lies above.")] = limits.HOTSPOT_SHARE,
    limit: Limit = 20,
    tool: Annotated[str | None, opt("Of this tool.", offer="tool")] = None,
) -> None:
    """List the folders in which most has gathered.

    The largest first. Folders that hold nothing but one another count as one place.
    """
    with read_memory() as memory:
        spots = memory.tree.hotspots(share, limit, tool)
    show(spots, lambda screen: views.hotspots_text(screen, spots))


@command("tree reflect", "hardwon tree reflect", "hardwon tree reflect --json")
def reflect() -> None:
    """Say what works, where things fail, and how sure that is.

    Nothing is concluded from fewer than ten attempts.
    """
    with read_memory() as memory:
        seen = memory.reflect()
    show(seen, lambda screen: views.reflection_text(screen, seen))


@command(
    "tree sync",
    "hardwon --memory agent_brain tree sync --make-tree",
    "hardwon --memory agent_brain tree sync --json",
)
def sync(
    make_tree: Annotated[
        bool, opt("First give the memory a tree, if it has none.", "--make-tree")
    ] = False,
) -> None:
    """Bring the files of the tree and the memory in step.

    Looks at every file and takes in what people added, changed, moved or removed. Every command does
    so for what it needs; this one tells which files it could not read and left alone.
    """
    with chosen().open(to_read=not make_tree) as memory:
        if make_tree:
            memory.tree.make()
        elif memory.tree.mirror is None:
            fail(
                f"{memory.location} has no tree of files: hardwon tree sync --make-tree gives it one"
            )
        done = memory.tree.sync()
    notes = [f"left alone: {path}: {why}" for path, why in done.left.items()]
    notes += [f"holds a secret, which the memory does not: {path}" for path in done.secrets]
    text = f"{done.added} new, {done.edited} edited, {done.moved} moved, {done.absent} gone"
    show(done, text, complaints=notes)


# --- data sets ---


@command(
    "tree generate",
    "hardwon tree generate 200 --seed 7 --sessions --output memories.jsonl",
    "hardwon --memory agent_brain tree generate small --load",
)
def generate(
    size: Annotated[
        str, arg("small (100), medium (1,000), large (10,000), vast (50,000), or a number.")
    ],
    seed: Annotated[int, opt("The same seed makes the same data set.", min=0)] = 0,
    sessions: Annotated[
        bool, opt("In the order of working days, with times.", "--sessions")
    ] = False,
    start: Annotated[str | None, opt("The first of those days.", metavar="DATE")] = None,
    output: Annotated[
        str | None,
        opt("Where to; - is standard output, as without --load.", "--output", "-o", metavar="FILE"),
    ] = None,
    form: Annotated[
        DatasetFormat | None,
        opt("How to write it.", "--format", show_default="by the file's name, else jsonl"),
    ] = None,
    load: Annotated[bool, opt("Fill the memory with it.", "--load")] = False,
    author: Author = "agent",
) -> None:
    """Make up a data set of memories that looks like an agent's real history.

    It goes to standard output, to a new file (`--output`), into the memory (`--load`), or to several
    of them.

    JSON: the data set itself where it goes to standard output; otherwise `total`, `output` (the file
    or null), `loaded` (as `hardwon load` prints it, or null).
    """
    from hardwon.tree import datasets

    # Python refuses to read endless numbers; what is no size, or a longer number, is refused below
    is_number = size.isascii() and size.isdigit() and len(size) <= 18
    wanted = int(size) if is_number else size
    memories = datasets.generate(wanted, seed, sessions=sessions, start=start)
    printed = output == "-" or (output is None and not load)
    if printed:
        write(_write_dataset(memories, form or ("json" if Line.as_json else "jsonl")))
    elif output is not None:
        names: dict[str, DatasetFormat] = {".json": "json", ".py": "python", ".jsonl": "jsonl"}
        text = _write_dataset(memories, file_format(output, form, names))
        _write_new(Path(output), text)
    loaded = load_dataset(memories, author) if load else None
    if printed:
        return
    lines = [f"{len(memories)} memories written to {output}"] if output is not None else []
    answer = {"total": len(memories), "output": output, "loaded": loaded and asdict(loaded)}
    show(answer, "\n".join([*lines, *([str(loaded)] if loaded else [])]))


def file_format(file: str, form: F | None, known: Mapping[str, F]) -> F:
    """How a file of that name is written, where nobody says."""
    suffix = Path(file).suffix.lower()
    if form is not None:
        return form
    if suffix and suffix not in known:
        allowed = f"a name that ends in {', '.join(known)}; or --format says how it is written"
        raise InvalidInputError.one("file", file, allowed)
    return known[suffix or ".jsonl"]


def _write_new(path: Path, text: str) -> None:
    try:
        file = path.open("x", encoding="utf-8")
    except FileExistsError:
        fail(f"{path} exists already: choose another name, or remove it first")
    with file, on_failure(lambda: path.unlink(missing_ok=True)):
        file.write(text)


def _write_dataset(memories: Sequence[Mapping[str, Any]], form: DatasetFormat) -> str:
    if form == "json":
        return json.dumps(memories, indent=2) + "\n"
    if form == "jsonl":
        return "".join(json.dumps(memory) + "\n" for memory in memories)
    return "".join(["memories = [\n", *(f"    {memory!r},\n" for memory in memories), "]\n"])


@command(
    "tree validate",
    "hardwon tree validate memories.jsonl",
    "hardwon tree validate memories.jsonl --json",
)
def validate(
    file: Annotated[
        str, arg("A data set: JSON, JSON Lines, or Python source, which is parsed and not run.")
    ],
) -> None:
    """Check a data set; exit code 1 when it has errors.

    Errors keep a memory from being stored; warnings (too generic, near-copies, unlikely shares) do
    not.

    JSON: `ok`, `total`, `errors` and `warnings` (lists of `index`, `field`, `value`, `wrong`,
    `remedy`, `severity`, `line`), `distributions` (a list of `field`, `name`, `count`, `share`,
    `least`, `most`, `within`).
    """
    from hardwon.tree import datasets

    report = datasets.validate(file)
    show(report.to_dict(), str(report), failed=not report.ok)


def load_dataset(source: Any, author: str, dry_run: bool = False) -> Any:
    """What became of the memories of a data set."""
    from hardwon.tree import datasets

    return chosen().fill(
        lambda memory, trying, bar: datasets.load_dataset(  # nosec B615  # our own, of a file
            memory, source, author=author, progress=bar, dry_run=trying
        ),
        lambda tried: tried.stored,
        "loading",
        dry_run=dry_run,
    )
