"""The `hardwon` command, and what its commands share: how they are declared, what they take, and the
memory they work on. Each is a typer command that calls `Memory` and hands its answer to
`output.show`: lines for people or, with `--json`, one JSON value for programs.

Annotations are not postponed in these modules: typer would have to evaluate each of them twice
before any command could start.
"""

import gc
import inspect
import logging
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import typer
from typer.core import TyperGroup

import hardwon
from hardwon import limits
from hardwon.errors import HardwonError
from hardwon.memory import Memory
from hardwon.memory.places import VARIABLES, Settings, find_place, is_new_here, memory_exists
from hardwon.outside.files import repository_root
from hardwon.outside.git import IN_INDEX, in_index
from hardwon.outside.locations import without_password
from hardwon.records.fields import check_all, check_that
from hardwon.surfaces.cli.output import FAILED, Line, complain, drop_output, fail, write
from hardwon.surfaces.cli.views import visible

if TYPE_CHECKING:
    from hardwon.outside.embedders import Embedder

# Characters of an id that tell which is meant, where no other begins so: fewer are most often a slip.
ID_BEGINNING_CHARS_MIN: Final = 4

# Which commands there are, in the sections of the help, each with the module that declares it: it
# is imported when somebody asks for the command.
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
    "More, by what it is about": dict.fromkeys(("fixes", "episodes", "tree"), "designs")
    | {"care": "care"},
    "For agents and other programs": {"hooks": "agents", "skills": "agents", "trust": "care"}
    | dict.fromkeys(("mcp", "serve", "tokens", "postgres"), "servers"),
    "For scripts written for older designs": {"drop-in": "drop_in", "fix-history": "designs"},
}
MODULES: Final = {name: module for names in SECTIONS.values() for name, module in names.items()}


# --- how commands are declared ---


def command(
    group: typer.Typer, name: str, *, prints_json: bool = True, **settings: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a command of a function, with `--json`, which `output.show` obeys."""

    def add(function: Callable[..., None]) -> Callable[..., None]:
        def run(as_json: bool, **values: Any) -> None:
            Line.as_json = as_json
            function(**values)

        if prints_json:
            add_parameters(run, function, {"as_json": Json}, default=False)
        group.command(name, **settings)(run if prints_json else function)
        return function

    return add


def with_options(
    into: str, options: Mapping[str, Any], take: Callable[[dict[str, Any]], Any] = dict
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """These options in place of the function's parameter `into`, which gets what `take` makes of
    those that somebody gave, by name. So what several commands take is written down once.
    """

    def add(function: Callable[..., None]) -> Callable[..., None]:
        def run(**values: Any) -> None:
            all_values = {name: values.pop(name) for name in options}
            named = {name: value for name, value in all_values.items() if value not in (None, [])}
            function(**values, **{into: take(named)})

        return add_parameters(run, function, options, without=into)

    return add


def add_parameters(
    run: Callable[..., None],
    function: Callable[..., None],
    options: Mapping[str, Any],
    *,
    default: Any = None,
    without: str = "",
) -> Callable[..., None]:
    """`run` as typer is to see it: with the parameters of the function, and these."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    own = inspect.signature(function).parameters.values()
    parameters = [one.replace(kind=keyword) for one in own if one.name != without]
    parameters += [
        inspect.Parameter(name, keyword, default=default, annotation=annotation)
        for name, annotation in options.items()
    ]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # typer reads it
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    run.__doc__ = function.__doc__
    return run


@cache
def load_commands(module: str) -> Mapping[str, Any]:
    """The commands that a module declares, by name."""
    return typer.main.get_group(import_module(f"hardwon.surfaces.cli.{module}").app).commands


class Commands(TyperGroup):
    """The first words, in their sections; an error becomes one line."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = dict.fromkeys(MODULES)  # type: ignore[assignment]  # for what a typo is near to

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002  # what it overrides has it
        return load_commands(MODULES[cmd_name])[cmd_name] if cmd_name in MODULES else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:
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
        try:
            return super().invoke(ctx)
        except HardwonError as error:
            fail(str(error))
        except OSError as error:
            fail(": ".join(filter(None, (error.filename, error.strerror or str(error)))))


def make_app() -> typer.Typer:
    """What the commands of a module are declared on."""
    return typer.Typer(rich_markup_mode=None)


def add_group(app: typer.Typer, name: str, about: str, **settings: Any) -> typer.Typer:
    """A word that stands before other commands."""
    group = typer.Typer(help=about, **{"no_args_is_help": True, **settings})
    app.add_typer(group, name=name)
    return group


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


# --- what commands take ---


def complete(name: str) -> Callable[[typer.Context, str], list[str]]:
    """A callback that offers what the memory has under this name in its records."""

    def offer(ctx: typer.Context, incomplete: str) -> list[str]:
        options = ctx.find_root().params
        with suppress(HardwonError, OSError):
            named = {name: options.get(name) or None for name in ("memory", "project")}
            settings = Settings.read(named)
            if memory_exists(settings.memory.value):
                place = settings.memory.value, settings.project.value
                with Memory(*place) as memory:
                    if name == "project":
                        return list(memory.care.projects())
                    return list(memory.care.values(name, incomplete))  # type: ignore[arg-type]  # a column
        return []

    return offer


def opt(about: str, *names: str, offer: str = "", **settings: Any) -> Any:
    """An option. `offer`: what a shell offers for it, as `complete` takes it."""
    callback = complete(offer) if offer else None
    return typer.Option(*names, help=about, autocompletion=callback, **settings)


def arg(about: str, metavar: str | None = None, offer: str = "", **settings: Any) -> Any:
    """An argument. `offer` as of `opt`."""
    callback = complete(offer) if offer else None
    return typer.Argument(metavar=metavar, help=about, autocompletion=callback, **settings)


Json = Annotated[bool, opt("Print JSON for programs.", "--json")]
Yes = Annotated[bool, opt("Do it without asking.", "--yes", "-y")]
DryRun = Annotated[bool, opt("Say what would happen and change nothing.", "--dry-run")]
By = Annotated[str, opt("Who says so.")]
Limit = Annotated[int, opt("At most so many.", "--limit", "-k", min=1, max=limits.SHOWN_MAX)]
Days = Annotated[int, arg("Of the last so many days.", "DAYS", min=1, max=limits.DAYS_MAX)]
OlderThan = Annotated[int, arg("Older than so many days.", "DAYS", min=0, max=limits.DAYS_MAX)]
RecordIds = Annotated[list[str], arg("Ids of records.", "ID...", offer="id")]
RecordId = Annotated[str, arg("The id of a record.", "ID", offer="id")]
Text = str | None
Texts = list[str] | None


def read_time(value: str | None) -> str | None:
    """A time as a memory takes it: a day is meant from its beginning, in UTC."""
    is_day = value and re.fullmatch(r"\d{4}-\d{2}-\d{2}", value, re.ASCII)
    return f"{value}T00:00:00Z" if is_day else value


def whole_id(memory: Memory, beginning: str) -> str:
    """The id that begins so; what is no beginning of one stays as it is."""
    if not re.fullmatch(r"[0-9a-fA-F-]{1,35}", beginning):
        return beginning
    least = ID_BEGINNING_CHARS_MIN
    allowed = f"an id, or {least} characters of its beginning"
    check_that(len(beginning) >= least, "id", beginning, allowed)
    ids = memory.care.values("id", beginning, 3)
    check_that(ids, "id", beginning, "an id that hardwon browse prints, or its beginning")
    check_that(len(ids) == 1, "id", beginning, f"more of it: {', '.join(ids)} begin so")
    return ids[0]


def whole_ids(memory: Memory, beginnings: Iterable[str]) -> list[str]:
    return check_all(*(partial(whole_id, memory, beginning) for beginning in beginnings))


# --- the memory ---


class Target(NamedTuple):
    """A memory and a project in it: as the options name them, or as the settings do."""

    memory: str | None
    project: str | None

    def open(
        self, *, to_read: bool = False, of_all: bool = False, embedder: "Embedder | None" = None
    ) -> Memory:
        """A command that only reads does not make a memory where somebody mistyped its name. `of_all`:
        it concerns all projects, and an empty one is not worth a word.
        """
        if to_read and not self.may_exist():
            also = ""
            if Path(str(self.memory)).is_dir():
                also = ", hardwon tree sync --make-tree takes in a folder of memory files"
            fail(
                f"there is no memory at {self.memory}: check --memory and hardwon config; hardwon "
                f"--memory {self.memory} init makes one{also}"
            )
        memory = Memory(self.memory, self.project, embedder=embedder)
        file = None if "://" in memory.location else Path(memory.location).resolve()
        # outside a checkout there is no index to read
        if file and repository_root(file.parent) and in_index(file):
            complain(f"warning: {IN_INDEX.format(memory.location)}")
        # whoever records may well begin a project, and says so
        asks = not of_all and (to_read if self.project else self.memory)
        if asks and (there := memory.elsewhere):
            complain(
                f"nothing is in the project {memory.project} of this memory, which has "
                f"{', '.join(there[: limits.SCREEN_ITEMS])}: --project names one"
            )
        if self.memory is None and is_new_here(find_place(None)):
            complain(
                f"no memory is here or above: this is your own, {memory.location}, project "
                f"{memory.project}; hardwon init makes one here"
            )
        return memory

    def may_exist(self) -> bool:
        """False where a name was given and nothing is there."""
        if not self.memory or "://" in self.memory:
            return True
        try:
            return memory_exists(self.memory) or Path(self.memory).expanduser().is_file()
        except (HardwonError, OSError):  # too long, no such user: Memory says it better
            return True


def chosen() -> Target:
    settings = read_settings()
    return Target(settings.memory.value, settings.project.value)


def read_memory() -> Memory:
    """The chosen memory, which must be there already."""
    return chosen().open(to_read=True)


def read_settings() -> Settings:
    """Read when a command needs them: what is wrong with a file must not keep anybody from the
    others.
    """
    return Settings.read({"memory": Line.memory, "project": Line.project})


def memory_options() -> list[str]:
    """The memory and project that something is installed for, where somebody names them. Files of
    settings it reads itself. Raises where a password would be written down with them.
    """
    memory, project = (
        setting.value if setting.origin in ("option", "environment") else None
        for setting in read_settings()[:2]
    )
    if memory and "://" in memory:
        where = without_password(memory)
        allowed = (
            "an address without a password, which others would read: PGPASSWORD, ~/.pgpass or "
            "?service=NAME has it"
        )
        check_that(where == memory, "memory", where, allowed)
    else:
        where = str(Path(memory).expanduser().absolute()) if memory else ""
    return [*(["--memory", where] if where else []), *(["--project", project] if project else [])]


def sign(author: str | None) -> dict[str, str]:
    """The author of what is recorded: the one that is named, else the one that the settings do."""
    author = read_settings().author.value if author is None else author
    return {} if author is None else {"author": author}


# --- the command itself ---


def print_version(wanted: bool) -> None:
    if wanted:
        write(f"hardwon {hardwon.__version__}\n")
        raise typer.Exit


@app.callback()
def global_options(
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help=f"The memory: a folder, a .db file or postgresql://user@host/database; also "
            f"{VARIABLES['memory']}. A password in an address shows in lists of processes: "
            "PGPASSWORD, ~/.pgpass or ?service=NAME keeps it out.",
            show_default="as hardwon config says: the nearest .hardwon, else the user's own",
        ),
    ] = None,
    project: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"The project within the memory; also {VARIABLES['project']}.",
            show_default="as hardwon config says",
            autocompletion=complete("project"),
        ),
    ] = None,
    version: Annotated[  # noqa: ARG001  # its callback answers
        bool,
        typer.Option("--version", callback=print_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    Line.memory, Line.project, Line.as_json = memory, project, False


class OneLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
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
    warnings.showwarning = lambda message, *_, **__: complain(f"warning: {message}")
    try:
        app(prog_name="hardwon")
    except OSError as error:  # help and completion are written by typer, and not by us
        complain(f"cannot write the output: {error.strerror or error}")
        sys.exit(FAILED)
    finally:
        try:
            print(end="", flush=True)
        except OSError:
            drop_output()


if __name__ == "__main__":
    # the modules of the commands declare them in the module of that name
    from hardwon.surfaces.cli.main import main as run

    run()
