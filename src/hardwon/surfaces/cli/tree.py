"""Where experiences lie: the map of a memory, the files of its tree, and data sets."""

import json
from functools import partial
from typing import Annotated

from hardwon.surfaces.cli import base as cli
from hardwon.surfaces.cli import views
from hardwon.tree.topology import TOPOLOGY_DEPTH_MAX

app = cli.make_app()


@cli.add_group(app, "tree")
def tree() -> None:
    """Where experiences lie: map, files and data sets."""


Depth = Annotated[int, cli.opt("Levels to show.", min=1, show_default="all")]


@cli.command(tree, "map")
def show_map(*, depth: Depth = TOPOLOGY_DEPTH_MAX) -> None:
    """Draw the tree: what lies where, as bars, counts and shares.

    `--json` prints the whole tree, whatever the options say.

    \b
    Examples:
      hardwon tree map
      hardwon tree map --depth 2
    """
    with cli.read_memory() as memory:
        branch = memory.topology()
    cli.show(branch, partial(views.draw_map, branch, depth))


@cli.command(tree, "sync")
def sync(*, make_tree: bool = False) -> None:
    """Bring the files of the tree and the memory in step.

    Looks at every file and takes in what people added, changed, moved or removed. Every command does
    so for what it needs; this one tells which files it could not read and left alone.

    \b
    Examples:
      hardwon --memory agent_brain tree sync --make-tree
      hardwon --memory agent_brain tree sync --json

    Options:
      make_tree: First give the memory a tree, if it has none.
    """
    with cli.find_target().open(to_read=not make_tree) as memory:
        if make_tree:
            memory.tree.make()
        elif memory.tree.mirror is None:
            cli.fail(
                f"{memory.location} has no tree of files: hardwon tree sync --make-tree gives it one"
            )
        done = memory.tree.sync()
    notes = [f"left alone: {path}: {why}" for path, why in done.left.items()]
    notes += [f"holds a secret, which the memory does not: {path}" for path in done.secrets]
    text = f"{done.added} new, {done.edited} edited, {done.moved} moved, {done.absent} gone"
    cli.show(done, text, complaints=notes)


@cli.command(tree, "generate", prints_json=False)
def generate(size: str, *, seed: cli.Seed = 0) -> None:
    """Make up a data set of memories that looks like an agent's real history, as JSON Lines.

    \b
    Examples:
      hardwon tree generate 200 --seed 7 > memories.jsonl
      hardwon tree generate small | hardwon --memory agent_brain load -

    Options:
      size: small (100), medium (1,000), large (10,000), vast (50,000), or a number.
    """
    from hardwon.tree import datasets

    # Python refuses to read endless numbers; what is no size, or a longer number, is refused below
    is_number = size.isascii() and size.isdigit() and len(size) <= 18
    wanted = int(size) if is_number else size
    for memory in datasets.generate(wanted, seed):
        cli.write(json.dumps(memory) + "\n")


@cli.command(tree, "validate")
def validate(file: str) -> None:
    """Check a data set; exit code 1 when it has errors.

    Errors keep a memory from being stored; warnings (too generic, near-copies, unlikely shares) do
    not.

    JSON: `ok`, `total`, `errors` and `warnings` (lists of `index`, `field`, `value`, `wrong`,
    `remedy`, `severity`, `line`), `distributions` (a list of `field`, `name`, `count`, `share`,
    `least`, `most`, `within`).

    \b
    Examples:
      hardwon tree validate memories.jsonl
      hardwon tree validate memories.jsonl --json

    Options:
      file: A data set: JSON or JSON Lines.
    """
    from hardwon.tree import datasets

    report = datasets.validate(file)
    cli.show(report.to_dict(), str(report), failed=not report.ok)
