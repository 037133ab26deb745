"""How commands write, ask and fail. Everything that goes to standard output passes `write`: a reader
that left, or a full disk, ends the command there.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
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
        is_plain, drawn = isinstance(view, str), screen()
        text = view if isinstance(view, str) else view(drawn)
        if is_plain:  # it may hold what came from a file
            text = "\n".join(map(drawn.visible, text.split("\n")))
        write(text + "\n" if text or is_plain else "")
    if failed:
        raise typer.Exit(FAILED)


def screen() -> Screen:
    """The terminal, or COLUMNS; what goes elsewhere is not cut."""
    cells = shutil.get_terminal_size((PIPE_CELLS, 0)).columns
    can_draw = (getattr(sys.stdout, "encoding", "") or "").lower().startswith("utf")
    colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Screen(max(20, cells), not can_draw, colour and sys.stdout.isatty())


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


@contextmanager
def progress(title: str, kept: str = NOTHING_CHANGED, expected: int = 0) -> Iterator[Progress]:
    """A bar on standard error while something long goes on; nothing where that is not a terminal.
    `kept`: what is told where somebody interrupts it. Before the total is known, things are only
    looked at; `expected`: how many, most likely.
    """
    reached = (0, 0)
    try:
        with _draw_bar(title, expected) if sys.stderr.isatty() else nullcontext() as bar:

            def tell(done: int, total: int) -> None:
                nonlocal reached
                reached = done, total
                if bar:
                    bar(done, total)

            yield tell
    except KeyboardInterrupt:
        done, total = reached
        at = f" at {done:,} of {total:,}" if total else ""
        kept = NOTHING_CHANGED if done and not total else kept
        complain(f"interrupted while {title}{at}: {kept}")
        raise


@contextmanager
def _draw_bar(title: str, expected: int) -> Iterator[Progress]:
    from rich import progress as bars
    from rich.console import Console

    with bars.Progress(
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as drawn:
        task = drawn.add_task(title, total=None)

        def tell(done: int, total: int) -> None:
            likely = max(done, expected) if expected else None
            about = "checking" if done and not total else title
            if about != drawn.tasks[task].description:
                drawn.reset(task, description=about)  # how fast it was says nothing of the rest
            drawn.update(task, completed=done, total=total or likely)

        yield tell


def require_packages(what: str, *names: str) -> None:
    """Raises where something of the extra `serve` is missing."""
    from importlib.util import find_spec  # only whoever serves waits for it

    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise MissingExtraError(f"{what} needs {', '.join(missing)}; {how_to_install('serve')}")
