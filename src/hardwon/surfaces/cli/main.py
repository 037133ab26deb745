"""The `hardwon` command, and what its commands share: how they are made, what they take, and the
memory they work on. Each is a function that calls `Memory` and hands its answer to `output.show`:
lines for people or, with `--json`, one JSON value for programs. docs/reference/cli.md has them all.

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
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, TypeVar

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
from hardwon.surfaces.cli.output import (
    FAILED,
    Line,
    Progress,
    complain,
    drop_output,
    fail,
    progress,
    write,
)
from hardwon.surfaces.cli.views import visible

if TYPE_CHECKING:
    from hardwon.outside.embedders import Embedder

T = TypeVar("T")
_EXAMPLES: Final = "\b\nExamples:\n"

# Which commands there are, in the sections of the help, each with the module that declares it: it
# is imported when somebody asks for the command. Each word of the third is a group of them.
SECTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "Every day": dict.fromkeys(
        ("init", "remember", "record", "recall", "context", "advise", "run", "credit"), "everyday"
    )
    | {"record": "recording", "remember": "recording", "run": "agents"},
    "See and decide": dict.fromkeys(("stats", "browse", "show", "rules"), "everyday")
    | dict.fromkeys(("verify", "forget", "undo", "doctor"), "care")
    | {"config": "everyday"},
    "Bring in and take out": {"demo": "demo"}
    | dict.fromkeys(("load", "export", "merge", "adopt"), "data")
    | {"import": "agents"},
    "More, by what it is about": dict.fromkeys(("fixes", "episodes"), "designs")
    | {"tree": "tree"}
    | {"care": "care copies"},
    "For agents and other programs": {"hooks": "agents"}
    | dict.fromkeys(("mcp", "serve", "tokens", "postgres"), "servers")
    | {"trust": "copies", "skills": "servers"},
    "For scripts written for older designs": {"drop-in": "drop_in", "fix-history": "designs"},
}
_MODULES: Final = {name: module for names in SECTIONS.values() for name, module in names.items()}

# What builds each command, by its words ("care audit"), of the modules that are imported.
_builders: Final[dict[str, Callable[[], Any]]] = {}


# --- the commands ---


def command(
    words: str, *examples: str, prints_json: bool = True, **settings: Any
) -> Callable[[Callable[..., None]], Any]:
    """Makes a command of a function, under these words, with `--json`. It is built when somebody asks
    for it: to build all of them takes longer than most of them run. A test runs the examples.
    """

    def add(function: Callable[..., None]) -> Callable[..., None]:
        shown = _with_json(function) if prints_json else function
        _builders[words] = partial(_build_command, words, shown, examples, settings)
        return function

    return add


def _with_json(function: Callable[..., None]) -> Callable[..., None]:
    """The function with `--json`, which `output.show` obeys."""

    def run(as_json: bool, **values: Any) -> None:
        Line.as_json = as_json
        function(**values)

    wanted = Annotated[bool, opt("Print JSON for programs.", "--json")]
    parameters = [
        *inspect.signature(function).parameters.values(),
        _parameter("as_json", wanted, False),
    ]
    return _with_parameters(run, parameters, function)


def _parameter(name: str, annotation: Any, default: Any = None) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _with_parameters(
    run: Callable[..., None], parameters: Iterable[inspect.Parameter], like: Callable[..., None]
) -> Callable[..., None]:
    """A function of keywords, as one with these parameters that is documented like another."""
    keywords = [one.replace(kind=one.KEYWORD_ONLY) for one in parameters]
    run.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]  # typer reads it
    run.__annotations__ = {one.name: one.annotation for one in keywords}
    run.__doc__ = like.__doc__
    return run


def add_group(noun: str, about: str, *examples: str, **settings: Any) -> None:
    """A word that stands before other commands: those whose words begin with it."""
    settings = {"no_args_is_help": True, "epilog": _write_examples(examples), **settings}
    _builders[noun] = partial(_build_group, noun, help=about, **settings)


def _build_command(words: str, function: Callable[..., None], examples: Any, settings: Any) -> Any:
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(words.split()[-1], epilog=_write_examples(examples), **settings)(function)
    return typer.main.get_command(app)


def _build_group(noun: str, **settings: Any) -> Any:
    cls = type("Group", (CommandGroup,), {"noun": noun})
    made = typer.main.get_group(
        typer.Typer(
            cls=cls, rich_markup_mode=None, pretty_exceptions_enable=False, **_CONTEXT, **settings
        )
    )
    made.name = noun
    return made


def _write_examples(examples: Iterable[str]) -> str | None:
    lines = "\n".join(f"  {example}" for example in examples)
    return _EXAMPLES + lines if lines else None


_CONTEXT: Final[Any] = {
    "context_settings": {"help_option_names": ["-h", "--help"], "max_content_width": 100}
}


class _Commands(Mapping[str, Any]):
    """The commands behind a word, or the first words, by name; each is built when it is looked up."""

    def __init__(self, noun: str) -> None:
        self._noun = noun

    def __iter__(self) -> Iterator[str]:
        if not self._noun:
            return iter(_MODULES)
        start = f"{self._noun} "
        return (words.removeprefix(start) for words in _builders if words.startswith(start))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __getitem__(self, name: str) -> Any:
        for module in "" if self._noun else _MODULES[name].split():
            import_module(f"hardwon.surfaces.cli.{module}")
        return _builders[f"{self._noun} {name}".strip()]()


class CommandGroup(TyperGroup):
    """Commands that are built when they are asked for."""

    noun = ""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands(self.noun)  # type: ignore[assignment]  # nothing is added to it

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  # what it overrides has it
        return list(self.commands)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        args = [*args[1:], "--help"] if args[:1] == ["help"] else args
        rest: list[str] = super().parse_args(ctx, args)
        return rest


class _AllCommands(CommandGroup):
    """The first words, in their sections; an error becomes one line."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002  # what it overrides has it
        for section, names in SECTIONS.items():
            with formatter.section(section):
                helps = [
                    re.split(r"\.\s", str(self.commands[name].help))[0].rstrip(".") + "."
                    for name in names
                ]
                rows = list(zip(names, helps, strict=True))
                formatter.write_dl(rows, col_max=max(map(len, _MODULES)))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """`--memory` and `--project` may stand anywhere, but in a command that is to be run, and
        where a command has projects of its own.
        """
        words = (
            word
            for before, word in pairwise(["", *args])
            if word[:1] != "-" and (before[:2] != "--" or "=" in before)
        )
        first = next(words, "")
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


app: Final = typer.Typer(
    name="hardwon",
    cls=_AllCommands,
    help="An experience memory for AI agents: what was tried, how it turned out, and what to do "
    "next time.",
    epilog="\b\n"
    "Exit codes: 0 all is well, 1 an error or invalid data, 2 wrong usage,\n"
    "130 interrupted, 141 the reader of the output left.",
    no_args_is_help=True,
    rich_markup_mode=None,  # its boxes take rich, which takes longer than most commands
    pretty_exceptions_enable=False,
    **_CONTEXT,
)

# --- what commands take ---


def complete(*source: str) -> Callable[[typer.Context, str], list[str]]:
    """A callback that offers what the memory has under this name in its records, or the values."""

    def offer(ctx: typer.Context, incomplete: str) -> list[str]:
        options = ctx.find_root().params
        values: Iterable[str] = source
        with suppress(HardwonError, OSError):
            settings = Settings.read(
                {name: options.get(name) or None for name in ("memory", "project")}
            )
            if len(source) == 1 and memory_exists(settings.memory.value):
                place = settings.memory.value, settings.project.value
                with Memory(*place) as memory:
                    care, name = memory.care, source[0]
                    values = (
                        care.projects() if name == "project" else care.values(name, incomplete)  # type: ignore[arg-type]  # commands name columns alone
                    )
        return [value for value in values if value.startswith(incomplete)]

    return offer


def opt(about: str, *names: str, offer: str = "", **settings: Any) -> Any:
    """An option. `offer`: what a shell offers for it, as `complete` takes it."""
    callback = complete(*offer.split()) if offer else None
    return typer.Option(*names, help=about, autocompletion=callback, **settings)


def arg(about: str, metavar: str | None = None, offer: str = "", **settings: Any) -> Any:
    """An argument. `offer` as of `opt`."""
    callback = complete(*offer.split()) if offer else None
    return typer.Argument(metavar=metavar, help=about, autocompletion=callback, **settings)


def text_options(**abouts: str) -> dict[str, Any]:
    """An option that takes a text for each of these names."""
    return {name: Annotated[str | None, opt(about)] for name, about in abouts.items()}


Yes = Annotated[bool, opt("Do it without asking.", "--yes", "-y")]
DryRun = Annotated[bool, opt("Say what would happen and change nothing.", "--dry-run")]
By = Annotated[str, opt("Who says so.")]
Limit = Annotated[int, opt("At most so many.", "--limit", "-k", min=1, max=limits.SHOWN_MAX)]
RecordIds = Annotated[list[str], arg("Ids of records.", "ID...", offer="id")]
RecordId = Annotated[str, arg("The id of a record.", "ID", offer="id")]


def options_from(
    fields: Mapping[str, Any], into: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The function's parameter `into` becomes these options, in its place; the function gets those
    that somebody gave, by name. So what several commands take is written down once.
    """
    options = [_parameter(name, annotation) for name, annotation in fields.items()]

    def change(function: Callable[..., None]) -> Callable[..., None]:
        def run(**values: Any) -> None:
            given = {name: values.pop(name) for name in fields}
            given = {name: value for name, value in given.items() if value not in (None, [])}
            function(**values, **{into: given})

        own = inspect.signature(function).parameters.values()
        parameters = [*(one for one in own if one.name != into), *options]
        return _with_parameters(run, parameters, function)

    return change


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

    def fill(
        self,
        work: Callable[[Memory, bool, Progress], T],
        brings: Callable[[T], object],
        title: str,
        *,
        dry_run: bool = False,
        expected: int = 0,
    ) -> T:
        """What `work` (told whether to change nothing, and whom to tell how far it is) brings in
        from elsewhere. Where there is no memory yet it is tried in a passing one first: what fails,
        or brings nothing, leaves no empty memory behind. `title` and `expected` as of `progress`.
        """
        if dry_run:
            with self.open(to_read=True) as memory, progress(title, expected=expected) as bar:
                return work(memory, True, bar)
        if not memory_exists(self.memory):
            from tempfile import TemporaryDirectory

            project = self.project or find_place(self.memory).project
            with (
                TemporaryDirectory(prefix="hardwon-trying-") as folder,
                Memory(folder, project) as passing,
                progress("checking", expected=expected) as bar,
            ):
                if not brings(work(passing, True, bar)):
                    return work(passing, False, bar)
        kept = "what came in so far stays; do it again to go on"
        with self.open() as memory, progress(title, kept, expected) as bar:
            return work(memory, False, bar)

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
        for setting in list(read_settings())[:2]
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


def whole_id(memory: Memory, beginning: str) -> str:
    """The id that begins so; what is no beginning of one stays as it is."""
    if not re.fullmatch(r"[0-9a-fA-F-]{1,35}", beginning):
        return beginning
    least = limits.ID_BEGINNING_CHARS_MIN
    allowed = f"an id, or {least} characters of its beginning"
    check_that(len(beginning) >= least, "id", beginning, allowed)
    ids = memory.care.values("id", beginning, 3)
    check_that(ids, "id", beginning, "an id that hardwon browse prints, or its beginning")
    check_that(len(ids) == 1, "id", beginning, f"more of it: {', '.join(ids)} begin so")
    return ids[0]


def whole_ids(memory: Memory, beginnings: Iterable[str]) -> list[str]:
    return check_all(*(partial(whole_id, memory, beginning) for beginning in beginnings))


def read_time(value: str | None) -> str | None:
    """A time as a memory takes it: a day is meant from its beginning, in UTC."""
    is_day = value and re.fullmatch(r"\d{4}-\d{2}-\d{2}", value, re.ASCII)
    return f"{value}T00:00:00Z" if is_day else value


# --- the command itself ---


def _print_version(wanted: bool) -> None:
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
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    Line.memory, Line.project, Line.as_json = memory, project, False


class _OneLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return f"hardwon: {visible(' '.join(super().format(record).split()))}"


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
    warnings.showwarning = lambda message, *_, **__: complain(f"warning: {message}")
    # typer's own option takes no shell, and shows what the one that it is called from needs
    if sys.argv[1:-1] == ["--show-completion"]:
        if sys.argv[2] not in ("bash", "zsh", "fish"):
            complain("--show-completion: allowed: bash, zsh, fish, or nothing for this shell's")
            sys.exit(2)
        os.environ["_HARDWON_COMPLETE"] = f"source_{sys.argv[2]}"
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
