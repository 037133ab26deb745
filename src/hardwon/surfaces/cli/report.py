"""`hardwon report`: the dashboard's views as one file.

Annotations are not postponed here: typer would have to evaluate each of them twice before any
command could start.
"""

from contextlib import closing
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from hardwon.memory import Memory, intake
from hardwon.surfaces.cli.base import (
    SEEING,
    Json,
    Yes,
    chosen,
    command,
    require_consent,
    require_packages,
    write_json,
    write_text,
)
from hardwon.surfaces.cli.output import size_text, visible
from hardwon.trust.access import Caller

if TYPE_CHECKING:
    from hardwon.surfaces.web.report import HtmlReport


class TimeRange(StrEnum):
    """As the dashboard has them."""

    WEEK = "7d"
    MONTH = "30d"
    QUARTER = "90d"
    ALL = "all"


@command(
    SEEING,
    "hardwon report report.html",
    "hardwon report report.html --range all --yes --json",
    answers="`file`, `size_bytes`, `parts` (the titles of the views in it).",
    more="""What `hardwon serve` shows, of one project and one time: overview, map, fixes, episodes, and the lists that wait for
    a decision. The file opens in a browser without a network and without a server, and can be sent to others: it holds
    what it shows as text, and its policy (CSP) lets no script run but those that it brings. It has some five megabytes, nearly
    all of it the script that draws the charts. Where the file exists it asks, or takes `--yes`. It needs `pip install
    'hardwon[serve]'`.""",
)
def report(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(help="Where to, such as report.html.")],
    time_range: Annotated[
        TimeRange, typer.Option("--range", help="Of how long.")
    ] = TimeRange.MONTH,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Write what the dashboard shows as one HTML file that opens anywhere."""
    require_packages("a report", "starlette", "jinja2", "plotly")
    path = intake.path("file", file)
    from hardwon.outside import files, own_files

    with chosen(ctx).open(to_read=True) as memory:
        replaced = own_files.target("file", path, memory.location, "report.html")
        if path.exists():
            require_consent(f"Replace {visible(str(path))}?", yes, as_json=as_json)
        made = _made(memory, time_range.value)
    with files.writing_atomically(replaced) as target:
        target.write(made.content)
    if as_json:
        write_json({"file": str(path), "size_bytes": len(made.content), "parts": made.parts})
    else:
        write_text(f"{size_text(len(made.content))} written to {path}: open it in a browser")


def _made(memory: Memory, time_range: str) -> "HtmlReport":
    from hardwon.surfaces.gate import Gate
    from hardwon.surfaces.web import report as web
    from hardwon.surfaces.web.pages import Ask

    reader = Caller("report", "read")
    with closing(Gate(memory.care.in_project, None, open_to=reader)) as gate:
        return web.report(Ask(gate, reader, memory.project), time_range)
