"""The `hardwon` command. Each command is one call of `Memory` (of `datasets`, of a door) and prints
what it answers: lines for people, or, with `--json`, one JSON value for programs.
docs/reference/cli.md has the keys and the exit codes.

`base` has what the commands share, and the names of the modules that declare them.
"""

import gc
import logging
import os
import sys
import warnings
from pathlib import Path
from typing import Annotated, Final

import typer

import hardwon
from hardwon.memory.settings import VARIABLES
from hardwon.surfaces.cli.base import FAILED, Given, app, complain, drop_output, write
from hardwon.surfaces.cli.output import visible

_SHELLS: Final = ("bash", "zsh", "fish")
_WRONG_USAGE: Final = 2


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
