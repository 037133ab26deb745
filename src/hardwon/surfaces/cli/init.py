"""Where a memory is: `init` makes one, `demo` one to look at, `config` shows the settings and where
each comes from.
"""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from hardwon import limits
from hardwon.errors import ConflictError
from hardwon.memory import Memory
from hardwon.memory.project import memory_exists, place_of, project_of
from hardwon.outside import files
from hardwon.outside.locations import FOLDER_NAME, is_url, without_password
from hardwon.records.kinds import Source
from hardwon.surfaces.cli.main import (
    GlobalOptions,
    Output,
    Target,
    chosen,
    command,
    counted,
    settings_of,
)
from hardwon.surfaces.cli.output import QUIET, STRONG, Line, Span, visible
from hardwon.trust.redact import redact

DEMO_FOLDER: Final = "hardwon-demo"


@command(
    "hardwon init",
    "hardwon --memory agent_brain init --tree",
    answers="JSON: `location` (the file of the memory, or its database), `project`, `created` "
    "(false: it was there before), `tree` (the folder of its files, or null).",
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
) -> Output:
    """Make a memory: .hardwon in this folder, or where --memory says. One that is there stays as it
    is.
    """
    named = chosen(ctx)
    with _opened(named) as (memory, created):
        planted = memory.tree.make() if tree else memory.tree.mirror
        if created and not planted and not named.memory:
            files.hide_from_git(Path(FOLDER_NAME))
        root = str(planted.root) if planted else None
        place = {"location": memory.location, "project": memory.project}
    options = f" --memory {shlex.quote(without_password(named.memory))}" if named.memory else ""
    options += f" --project {shlex.quote(named.project)}" if named.project else ""
    state = "a new memory" if created else "the memory is here already"
    lines = [
        f"{state}: {place['location']}, project {place['project']}",
        *([f"its files: {root}"] if root else []),
        f'to keep something:          hardwon{options} remember "what happened" --outcome failure '
        "--tool code_interpreter --error-type runtime",
        f'to find it again:           hardwon{options} recall "what it is about"',
        f"to record what you run:     hardwon{options} run -- COMMAND",
        f'before the next attempt:    hardwon{options} context "what is to be done"',
    ]
    return Output({**place, "created": created, "tree": root}, "\n".join(lines))


@contextmanager
def _opened(named: Target) -> Iterator[tuple[Memory, bool]]:
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


@command(
    "hardwon demo",
    "hardwon --memory demo_brain demo --seed 7",
    answers="`memory` (where it is), `records` (how many of each kind).",
    more=f"""It goes into the memory that `--memory` names, which must be empty or new; without one, into `{DEMO_FOLDER}` here.
    The same seed makes the same history, which ends now. `--serve` then shows it: no token is asked for, and nobody but this
    machine reaches it.""",
)
def demo(
    ctx: typer.Context,
    seed: Annotated[int, typer.Option(min=0, help="The same seed makes the same history.")] = 0,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve it then, at an address of this machine alone.")
    ] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Where to; 0 takes one that is free.")
    ] = limits.SERVE_PORT,
    as_json: bool = False,
) -> Output:
    """Make a memory to look at: two months of records of every kind, by several authors."""
    from hardwon.tree.datasets.demo import fill

    given: GlobalOptions = ctx.obj
    location = given.memory or DEMO_FOLDER
    shown = without_password(location)
    look = f"hardwon --memory {shown} serve --no-auth"
    with Memory(location, given.project, checkout=False) as memory:
        if memory.stats().total:
            raise ConflictError(
                f"{shown} has records already: name a new folder with --memory, or look at it: "
                f"{look}"
            )
        records = fill(memory, seed)
        place = memory.location
    several = {"fix": "fixes", "trajectory": "trajectories"}
    made = ", ".join(counted(count, kind, several.get(kind, "")) for kind, count in records.items())
    answer = Output(
        {"memory": place, "records": records}, f"made {shown}: {made}\nto look at it: {look}"
    )
    if not serve:
        return answer
    from hardwon.surfaces.cli.serve import serve as serve_it

    answer.print(as_json)
    ctx.obj = GlobalOptions(location, given.project)
    serve_it(ctx, port=port, no_auth=True)
    raise typer.Exit


@command(
    "hardwon config",
    "hardwon --memory agent_brain config --json",
    answers="""`settings` (a list of `name`, `value`, `origin` (option, environment, project file, user file or default) and
    `where`, which option, variable or file; null for a default), `location` (the memory's file, or its database),
    `files` (a list of `origin`, `path` and `exists`), `ignored` (what the project's file may not set here, in words).""",
    more="""An option counts before the environment (`HARDWON_MEMORY`, `HARDWON_PROJECT`, `HARDWON_AUTHOR`), that before the
    project's file (the nearest `.hardwon/config.toml` upward), that before the user's (`~/.config/hardwon/config.toml`, or
    where the system keeps such files). Both are TOML with the keys `memory`, `project` and `author`; the author is who
    remember, record and run say it was. In the user's file, `memory` is a path from the root or from a home folder, or the
    `postgresql://…` of a database.

    A project's file comes with a checkout, which may be somebody else's, so it speaks for that checkout alone: it may name
    a memory inside the folder that `.hardwon` lies in (relative to that folder, links followed) and no other, and its
    `project` and `author` are ignored where the memory in use lies elsewhere. A file with another key, with anything but
    texts, or that is no TOML is an error that names the file; passwords in addresses are not shown.""",
)
def config(ctx: typer.Context) -> Output:
    """Show every setting, its value, and where that comes from."""
    found = settings_of(ctx)
    location = place_of(found.memory.value)
    defaults = {
        "memory": location,
        "project": project_of(found.memory.value),
        "author": Source().author,
    }
    settings: list[dict[str, Any]] = [
        {
            **each._asdict(),
            "value": _without_secrets(defaults[each.name] if each.value is None else each.value),
        }
        for each in found
    ]
    project_file = str(found.project_file) if found.project_file else None
    # the user's is named also where there is none: somebody may want to make it
    paths: list[dict[str, Any]] = [
        {"origin": "project file", "path": project_file, "exists": project_file is not None},
        {"origin": "user file", "path": str(found.user_file), "exists": found.user_file.exists()},
    ]
    lines: list[Line] = [
        (
            Span(f"{each['name']:<9}", STRONG),
            Span(visible(each["value"])),
            Span(
                f"  ({each['origin']}: {visible(each['where'])})"
                if each["where"]
                else f"  ({each['origin']})",
                QUIET,
            ),
        )
        for each in settings
    ]
    where = "in the database " if is_url(location) else "in the file "
    lines.append((Span(where, QUIET), Span(visible(location))))
    for file in paths:
        missing = ", which does not exist" if file["path"] and not file["exists"] else ""
        path = Span(visible(str(file["path"] or "none here")))
        lines.append((Span(f"{file['origin']}: ", QUIET), path, Span(missing, QUIET)))
    lines += [(Span("ignored: ", STRONG), Span(visible(each))) for each in found.ignored]
    value = {
        "settings": settings,
        "location": location,
        "files": paths,
        "ignored": list(found.ignored),
    }
    return Output(value, lines)


def _without_secrets(value: str) -> str:
    return redact(without_password(value))[0]
