"""`hardwon demo`: a memory to look at.

Annotations are not postponed here: typer would have to evaluate each of them twice before any
command could start.
"""

import json
from typing import Annotated, Final

import typer

from hardwon import limits
from hardwon.errors import ConflictError
from hardwon.memory import Memory
from hardwon.outside.locations import without_password
from hardwon.surfaces.cli.base import DATA_SETS, Given, Json, command, counted, write, write_text

FOLDER: Final = "hardwon-demo"
_SEVERAL: Final = {"fix": "fixes", "trajectory": "trajectories"}


@command(
    DATA_SETS,
    "hardwon demo",
    "hardwon --memory demo_brain demo --seed 7",
    answers="`memory` (where it is), `records` (how many of each kind).",
    more=f"""It goes into the memory that `--memory` names, which must be empty or new; without one, into `{FOLDER}` here.
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
    as_json: Json = False,
) -> None:
    """Make a memory to look at: two months of records of every kind, by several authors."""
    from hardwon.tree.datasets.demo import fill

    given: Given = ctx.obj
    location = given.memory or FOLDER
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
    if as_json:
        write(json.dumps({"memory": place, "records": records}) + "\n")
    else:
        told = ", ".join(
            counted(count, kind, _SEVERAL.get(kind, "")) for kind, count in records.items()
        )
        write_text(f"made {shown}: {told}\nto look at it: {look}")
    if serve:
        from hardwon.surfaces.cli.serve import serve as serve_it

        ctx.obj = Given(location, given.project)
        serve_it(ctx, port=port, no_auth=True)
