"""`hardwon init`: a memory for this folder."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer

from hardwon.memory import Memory
from hardwon.memory.project import memory_exists
from hardwon.outside import files
from hardwon.outside.locations import FOLDER_NAME, without_password
from hardwon.surfaces.cli.base import (
    RECORDING,
    Chosen,
    Json,
    chosen,
    command,
    write_json,
    write_text,
)
from hardwon.surfaces.cli.care import quoted


@command(
    RECORDING,
    "hardwon init",
    "hardwon --memory agent_brain init --tree",
    answers="JSON: `location` (the file of the memory, or its database), `project`, `created` "
    "(false: it was there before), "
    "`tree` (the folder of its files, or null).",
    more="Every command finds `.hardwon` from the folder it is in, and from all folders below. A "
    "`.gitignore` in it keeps the "
    "memory out of git; with `--tree`, its files are for git and the databases are not.",
)
def init(
    ctx: typer.Context,
    tree: Annotated[
        bool,
        typer.Option(
            "--tree", help="Give it a tree of files, one for each experience, to read and to edit."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Make a memory: .hardwon in this folder, or where --memory says. One that is there stays as it
    is.
    """
    named = chosen(ctx)
    with _opened(named) as (memory, created):
        planted = memory.tree.make() if tree else memory.tree.mirror
        if created and not planted and not named.memory:
            files.hide_from_git(Path(FOLDER_NAME))
        root = str(planted.root) if planted else None
        if as_json:
            write_json(
                {
                    "location": memory.location,
                    "project": memory.project,
                    "created": created,
                    "tree": root,
                }
            )
        else:
            write_text(_told(memory, named, root, created))


@contextmanager
def _opened(named: Chosen) -> Iterator[tuple[Memory, bool]]:
    """The memory, and whether it is new. A folder that was made for nothing goes again."""
    folder = None if named.memory else Path(FOLDER_NAME)
    new_folder = folder is not None and not folder.is_dir()
    if folder and new_folder:
        files.make_folder(folder)
    try:
        created = not memory_exists(named.memory)
        with Memory(named.memory, named.project) as memory:
            yield memory, created
    except BaseException:
        if folder and new_folder:
            with suppress(OSError):  # something is in it
                folder.rmdir()
        raise


def _told(memory: Memory, named: Chosen, root: str | None, created: bool) -> str:
    options = f" --memory {quoted(without_password(named.memory))}" if named.memory else ""
    options += f" --project {quoted(named.project)}" if named.project else ""
    lines = [
        f"{'a new memory' if created else 'the memory is here already'}: {memory.location}, "
        f"project {memory.project}"
    ]
    if root:
        lines.append(f"its files: {root}")
    return "\n".join(
        [
            *lines,
            "to keep something:          "
            f'hardwon{options} remember "what happened" --outcome failure --tool code_interpreter '
            f"--error-type runtime",
            f'to find it again:           hardwon{options} recall "what it is about"',
            f"to record what you run:     hardwon{options} run -- COMMAND",
            f'before the next attempt:    hardwon{options} context "what is to be done"',
        ]
    )
