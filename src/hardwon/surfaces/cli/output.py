"""How commands write, ask and fail. Everything that goes to standard output passes `write`: a reader
that left, or a full disk, ends the command there.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, NoReturn

import typer

from hardwon.errors import MissingExtraError, how_to_install
from hardwon.surfaces.cli.views import PIPE_CELLS, Screen, visible

Progress = Callable[[int, int], None]  # how far it is, of how much; 0: nobody knows yet
View = str | Callable[[Screen], str]  # what people read, or what draws it

FAILED: Final = 1
NOTHING_CHANGED: Final = "nothing was changed"


class Line:
    """The command line that is carried out: the memory and the project that it names, and whether
    its answer is for a program.
    """

    memory: str | None = None
    project: str | None = None
    as_json = False


def show(value: Any, view: View, *, failed: bool = False, complaints: Sequence[str] = ()) -> None:
    """Prints an answer: its value as JSON, or what people read. Ends with exit code 1 where it
    `failed`. `complaints`: what people are told beside it, on standard error.
    """
    if Line.as_json:
        write(json_text(value) + "\n")
    else:
        for complaint in complaints:
            complain(complaint)
        # a text may hold what came from a file; what is drawn has been made visible
        is_plain = isinstance(view, str)
        text = (
            "\n".join(map(visible, view.split("\n"))) if isinstance(view, str) else view(screen())
        )
        write(text + "\n" if text or is_plain else "")
    if failed:
        raise typer.Exit(FAILED)


def screen() -> Screen:
    """The terminal, or COLUMNS; what goes elsewhere is not cut."""
    cells = shutil.get_terminal_size((PIPE_CELLS, 0)).columns
    colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Screen(max(20, cells), colour and sys.stdout.isatty())


def json_text(value: object) -> str:
    """What HTTP would answer. ASCII, so that it reaches whatever reads it, and a terminal obeys
    nothing in it.
    """
    # the table of operations takes a while to load
    from hardwon.surfaces.shapes import jsonable

    return json.dumps(jsonable(value), indent=2, allow_nan=False)


def write(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        drop_output()
        if isinstance(error, BrokenPipeError):
            raise typer.Exit(141) from None  # as a shell reports whom a broken pipe ended
        fail(f"cannot write the output: {error.strerror}")


def drop_output() -> None:
    """What is left in the buffer would be tried, and complained about, once more when the process
    ends.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def fail(message: str) -> NoReturn:
    complain(message)
    raise typer.Exit(FAILED) from None


def complain(message: str) -> None:
    with suppress(OSError, ValueError):  # nobody is there to read it
        sys.stderr.write(f"hardwon: {visible(' '.join(message.split()))}\n")
        sys.stderr.flush()


def require_consent(question: str, yes: bool) -> None:
    """Goes on only where somebody agrees: `--yes`, or an answer on a terminal. Whoever wants JSON
    is a program.
    """
    if yes:
        return
    if Line.as_json or sys.stdin is None or not sys.stdin.isatty() or not sys.stderr.isatty():
        fail("nothing was changed: add --yes to do it")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):  # the input ended: the next line would stand beside the question
        sys.stderr.write("\n")
    if answer.strip().lower() not in ("y", "yes"):
        fail(NOTHING_CHANGED)


def preview_first(
    work: Callable[[bool, Progress], int], busy: str, question: str, dry_run: bool, yes: bool
) -> None:
    """Shows what would be done, and does it where somebody agrees. `work` is told whether to change
    nothing and whom to tell how far it is, shows what it did and gives to how many.
    """
    if dry_run or not yes:
        with progress("looking") as bar:
            amount = work(True, bar)
        if dry_run or not amount:
            return
        require_consent(question, yes)
    with progress(busy) as bar:
        work(False, bar)


@contextmanager
def progress(title: str, kept: str = NOTHING_CHANGED) -> Iterator[Progress]:
    """A bar on standard error while something long goes on; nothing where that is not a terminal.
    `kept`: what is told where somebody interrupts it.
    """
    reached, drawn = (0, 0), None

    def tell(done: int, total: int) -> None:
        nonlocal reached, drawn
        reached = done, total
        if sys.stderr.isatty():
            drawn = drawn or start_bar(title)
            drawn.update(drawn.task_ids[0], completed=done, total=total or None)

    try:
        yield tell
    except KeyboardInterrupt:
        done, total = reached
        at = f" at {done:,} of {total:,}" if total else ""
        complain(f"interrupted while {title}{at}: {kept}")
        raise
    finally:
        if drawn:
            drawn.stop()


def start_bar(title: str) -> Any:
    """A bar of rich, which is loaded only where there is something to draw."""
    from rich import progress as bars
    from rich.console import Console

    columns = (bars.TextColumn("{task.description}"), bars.BarColumn(), bars.MofNCompleteColumn())
    drawn = bars.Progress(
        *columns, bars.TimeRemainingColumn(), console=Console(stderr=True), transient=True
    )
    drawn.add_task(title, total=None)
    drawn.start()
    return drawn


def require_packages(what: str, *names: str) -> None:
    """Raises where something of the extra `serve` is missing."""
    from importlib.util import find_spec  # only whoever serves waits for it

    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise MissingExtraError(f"{what} needs {', '.join(missing)}; {how_to_install('serve')}")
