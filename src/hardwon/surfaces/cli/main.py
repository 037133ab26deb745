"""The `hardwon` command: its words, in the sections of the help, and what stands before them. The
modules of the commands are loaded when somebody asks for one.
"""

import gc
import logging
import os
import sys
import warnings
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

import hardwon
from hardwon.errors import HardwonError
from hardwon.surfaces.cli import base as cli
from hardwon.surfaces.cli.views import visible
from hardwon.trust.redact import redact

# Each command with the module that declares it.
SECTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "Every day": {"init": "everyday", "remember": "recording", "record": "recording"}
    | dict.fromkeys(("recall", "context", "advise", "credit"), "everyday")
    | {"run": "agents"},
    "See and decide": dict.fromkeys(("lessons", "why", "right", "wrong"), "lessons")
    | dict.fromkeys(("stats", "browse", "show", "rules"), "everyday")
    | dict.fromkeys(("verify", "forget", "undo", "doctor"), "care")
    | {"config": "everyday"},
    "Bring in and take out": {"demo": "demo", "import": "agents"}
    | dict.fromkeys(("load", "export", "merge", "adopt"), "moving"),
    "More, by what it is about": {"tree": "tree", "care": "care"},
    "For agents and other programs": dict.fromkeys(("hooks", "pause", "resume", "skills"), "agents")
    | {"trust": "care"}
    | dict.fromkeys(("mcp", "serve", "tokens", "postgres"), "servers"),
    "For scripts written for older designs": {"drop-in": "drop_in", "fix-history": "fix_history"},
}
MODULES: Final = {name: module for names in SECTIONS.values() for name, module in names.items()}


@cache
def load_commands(module: str) -> Mapping[str, Any]:
    """The commands that a module declares, by name."""
    return typer.main.get_group(import_module(f"hardwon.surfaces.cli.{module}").app).commands


# What typer raises where a command is called in a wrong way.
_USAGE_ERROR: Final[Any] = typer.BadParameter.__base__


class Commands(TyperGroup):
    """The first words, in their sections; an error becomes one line."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = dict.fromkeys(MODULES)  # type: ignore[assignment]  # for what a typo is near to

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002  # what it overrides has it
        """The command of this name; None where there is none."""
        return load_commands(MODULES[cmd_name])[cmd_name] if cmd_name in MODULES else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """In the help, each with the first sentence of its own."""
        for section, names in SECTIONS.items():
            helps = {name: str(self.get_command(ctx, name).help).split(". ")[0] for name in names}
            rows = [
                (name, text.partition("\n")[0].rstrip(".") + ".") for name, text in helps.items()
            ]
            with formatter.section(section):
                formatter.write_dl(rows, col_max=max(map(len, MODULES)))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """`--memory` and `--project` may stand anywhere, but in a command that is to be run, and
        where a command has projects of its own.
        """
        first = next((word for word in args if word in MODULES), "")
        most = args.index("--") if "--" in args else 0 if first == "run" else len(args)
        ours = ("--memory", *(() if first in ("tokens", "postgres") else ("--project",)))
        for place in range(most):
            if args[place].partition("=")[0] in ours:
                end = place + 1 + ("=" not in args[place])
                # at the very end it has no value, and takes no other word for one
                before = args[:place] if end <= len(args) else []
                args = [*args[place:end], *before, *args[end:]]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Runs the command; what is wrong is one line, and exit code 1. Wrong usage is told without
        secrets that were typed.
        """
        try:
            return super().invoke(ctx)
        except _USAGE_ERROR as error:
            error.message = redact(error.message)[0]
            raise
        except HardwonError as error:
            cli.fail(str(error))
        except OSError as error:
            cli.fail(": ".join(filter(None, (error.filename, error.strerror or str(error)))))


app: Final = typer.Typer(
    name="hardwon",
    cls=Commands,
    help="An experience memory for AI agents: what was tried, how it turned out, and what to do "
    "next time.",
    epilog="\b\n"
    "Exit codes: 0 all is well, 1 an error or invalid data, 2 wrong usage,\n"
    "130 interrupted, 141 the reader of the output left.",
    no_args_is_help=True,
    rich_markup_mode=None,  # its boxes take rich, which takes longer than most commands
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def print_version(wanted: bool) -> None:
    """Ends the command where it is wanted."""
    if wanted:
        cli.write(f"hardwon {hardwon.__version__}\n")
        raise typer.Exit


Version = Annotated[
    bool, cli.opt("Print the version.", "--version", callback=print_version, is_eager=True)
]


@app.callback()
@cli.declare
def global_options(
    *,
    memory: cli.Text = None,
    project: cli.Text = None,
    version: Version = False,  # noqa: ARG001  # its callback answers
) -> None:
    """Before any command.

    Options:
      memory PATH: The memory: a folder, a .db file or postgresql://user@host/database; also
        HARDWON_MEMORY. A password in an address shows in lists of processes: PGPASSWORD, ~/.pgpass
        or ?service=NAME keeps it out. [as hardwon config says: the nearest .hardwon, else the
        user's own]
      project NAME: The project within the memory; also HARDWON_PROJECT. [as hardwon config says]
    """
    cli.Line.memory, cli.Line.project, cli.Line.as_json = memory, project, False


class OneLine(logging.Formatter):
    """What is logged, as a command tells what is wrong."""

    def format(self, record: logging.LogRecord) -> str:
        """The message on one line."""
        return f"hardwon: {visible(' '.join(super().format(record).split()))}"


def main() -> None:
    """The command itself."""
    # what is imported stays; without it the collection at the end takes a tenth of the whole time
    gc.freeze()
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # somebody closed it: `hardwon … >&-`
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115  # as long as the process lives
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # it is no stand-in
    handler = logging.StreamHandler()
    handler.setFormatter(OneLine())
    logging.getLogger("hardwon").addHandler(handler)
    warnings.showwarning = lambda message, *_, **__: cli.complain(f"warning: {message}")
    try:
        app(prog_name="hardwon")
    except OSError as error:  # help and completion are written by typer, and not by us
        cli.complain(f"cannot write the output: {error.strerror or error}")
        sys.exit(cli.FAILED)
    finally:
        try:
            print(end="", flush=True)
        except OSError:
            cli.drop_output()


if __name__ == "__main__":
    main()
