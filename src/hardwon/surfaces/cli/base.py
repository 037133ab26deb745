"""What the commands of `hardwon` share: the table of them, the memory they work on, and how they
write, ask and fail.

Everything that goes to standard output passes `write`: a reader that left, or a full disk, ends the
command there.

Annotations are not postponed in these modules: typer would have to evaluate each of them twice
before any command could start.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Final,
    NamedTuple,
    NoReturn,
    TextIO,
    TypeVar,
)

import typer
from typer.core import TyperCommand, TyperGroup

from hardwon.errors import HardwonError, InvalidInputError, MissingExtraError
from hardwon.memory import Memory
from hardwon.memory.project import memory_exists, project_of
from hardwon.memory.settings import Settings
from hardwon.outside.locations import without_password
from hardwon.surfaces.cli.output import Line, Look, shown, visible

if TYPE_CHECKING:
    from hardwon.outside.embedders import Embedder

T = TypeVar("T")

FAILED: Final = 1
READER_LEFT: Final = 141
"""As a shell reports a program that a broken pipe ended."""

WIDTH_MIN: Final = 20
_WIDTH: Final = 80

RECORDING: Final = "Remember and recall"
SEEING: Final = "See what is there"
LEARNED: Final = "What it learned"
FIXES: Final = "Fixes"
TRUST: Final = "Trust"
DATA_SETS: Final = "Bring in and take out"
SERVING: Final = "For agents and other programs"
CARE: Final = "Care"
OLDER_SCRIPTS: Final = "For scripts written for memory.sh"
GROUPS: Final = (RECORDING, SEEING, LEARNED, FIXES, TRUST, DATA_SETS, SERVING, CARE, OLDER_SCRIPTS)

_MODULE_OF: Final[Mapping[str, str]] = {
    "init": "init",
    "record": "record",
    **dict.fromkeys(("forget", "credit", "audit", "stale"), "records"),
    **dict.fromkeys(("similar", "recent", "patterns"), "fixes"),
    "run": "run",
    **dict.fromkeys(("export", "backup", "restore"), "copies"),
    **dict.fromkeys(("cleanup", "compress", "compact", "rollback", "reembed"), "care"),
    "fix-history": "fix_history",
    "hooks": "hooks",
    "demo": "demo",
    "report": "report",
    "serve": "serve",
    "tokens": "tokens",
    "postgres": "postgres",
    "config": "settings",
    **dict.fromkeys(("merge", "adopt"), "moving"),
    "mcp": "mcp",
}
"""Commands whose module is imported when somebody asks for one of them. Those that are in no module
are operations: `derived` makes them.
"""

_ORDER: Final = (
    *("init", "remember", "record", "recall", "context", "advise", "run", "credit"),
    *("stats", "browse", "show", "map", "hotspots", "reflect", "report"),
    *("rules", "cards", "solutions", "scores", "compare", "decisions", "consolidate"),
    *(
        "similar",
        "odds",
        "strategies",
        "successful",
        "patterns",
        "recent",
        "trends",
        "model",
        "matrix",
        "fixers",
    ),
    *("verify", "publish", "archive", "supersede", "stale", "rollback", "audit"),
    *("demo", "generate", "validate", "load", "export", "adopt", "merge"),
    *("hooks", "mcp", "serve", "tokens", "postgres"),
    *("config", "doctor", "backup", "restore", "forget", "cleanup", "compress", "undo", "compact"),
    *("rebuild", "reembed", "sync", "fix-history"),
)
"""As the help lists them, in their groups: what is used together stands together. A test knows when
one is missing.
"""

Command = Callable[..., None]
EXAMPLES: Final = "\b\nExamples:\n"
"""What the examples of a command stand under."""


class _Declared(NamedTuple):
    app: typer.Typer
    group: str
    more: str = ""


_declared: Final[dict[str, _Declared]] = {}


class _ByName(Mapping[str, Any]):
    """The commands. Each is built when it is asked for: to build all of them takes longer than most
    of them run.
    """

    def __iter__(self) -> Iterator[str]:
        """In one order, whichever modules were imported so far."""
        return iter(_ORDER)

    def __len__(self) -> int:
        return len(_ORDER)

    def __getitem__(self, name: str) -> Any:
        if name not in _declared and name in _MODULE_OF:
            import_module(f"hardwon.surfaces.cli.{_MODULE_OF[name]}")
        elif name not in _declared and name in _ORDER:
            import_module("hardwon.surfaces.cli.derived").declare_row(name)
        found = _declared[name]
        built = typer.main.get_command(found.app)
        built.name = name
        built.rich_help_panel = found.group  # type: ignore[attr-defined]  # every command of typer's has it
        if found.more:
            built.more = found.more  # type: ignore[attr-defined]  # of commands that have a word before them
        return built


def _sparing_the_absent(parameters: list[Any]) -> list[Any]:
    """Parameters that take nothing for nothing. Typer would make a validator for each of them
    first, also for those that nobody gave, and the first of all takes a tenth of the time of a
    short command.
    """
    for parameter in parameters:
        if parameter.nargs == 1 and not parameter.multiple and not parameter.required:
            parameter.process_value = partial(_value_or_nothing, parameter)
    return parameters


def _value_or_nothing(parameter: Any, ctx: Any, value: Any) -> Any:
    if value is not None:
        return type(parameter).process_value(parameter, ctx, value)
    return parameter.callback(ctx, parameter, None) if parameter.callback else None


class _Commands(TyperGroup):
    """The commands in their groups; an error becomes one line."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _sparing_the_absent(super().get_params(ctx))

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = _ByName()  # type: ignore[assignment]  # nothing is added to it later

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  # what it overrides has it
        """The names alone: completing one of them must not build all."""
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002  # what it overrides has it
        groups: dict[str, list[tuple[str, str]]] = {name: [] for name in GROUPS}
        widest = max(map(len, self.commands))
        for name, command in self.commands.items():
            short = command.get_short_help_str(formatter.width - widest - 6)
            groups[command.rich_help_panel].append((name, short))  # type: ignore[attr-defined]
        for group, rows in groups.items():
            with formatter.section(group):
                formatter.write_dl(rows, col_max=widest)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except HardwonError as error:
            fail(str(error))
        except OSError as error:
            about = f"{error.filename}: " if error.filename else ""
            fail(f"{about}{error.strerror or error}")


def new_app(*, no_args_is_help: bool = True, **options: Any) -> typer.Typer:
    return typer.Typer(
        no_args_is_help=no_args_is_help,
        rich_markup_mode=None,  # its boxes take rich, which takes longer than most commands
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        **options,
    )


app: Final = new_app(
    name="hardwon",
    cls=_Commands,
    help="An experience memory for AI agents: what was tried, how it turned out, and what to do "
    "next time.",
    epilog="\b\n"
    "Exit codes: 0 all is well, 1 an error or invalid data, 2 wrong usage,\n"
    "130 interrupted, 141 the reader of the output left.",
)


def command(
    group: str, *examples: str, settings: dict[str, Any] | None = None, **docs: str
) -> Callable[[Command], Command]:
    """Adds a command under the name of its function; a test runs the examples. `settings` are those
    of its context, `docs` the attributes of a `DocumentedCommand`.
    """

    def added(function: Command) -> Command:
        declare(function.__name__.rstrip("_"), group, function, examples, settings, **docs)
        return function

    return added


def declare(
    name: str,
    group: str,
    function: Command,
    examples: Iterable[str],
    settings: dict[str, Any] | None = None,
    **docs: str,
) -> None:
    """`command`, for a function of another name."""
    single = typer.Typer(
        add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
    )
    single.command(
        name, cls=_documented(**docs), epilog=epilog_of(examples), context_settings=settings
    )(function)
    _declared[name] = _Declared(single, group)


def add_app(name: str, group: str, inner: typer.Typer, more: str = "") -> None:
    """Adds commands that have a word of their own before them; `inner_command` declares them."""
    _declared[name] = _Declared(inner, group, more)


def inner_command(
    inner: typer.Typer,
    *examples: str,
    name: str | None = None,
    answers: str = "",
    more: str = "",
    hidden: bool = False,
) -> Callable[[Command], Command]:
    """`command`, for one that has a word before it."""
    return inner.command(
        name, cls=_documented(answers=answers, more=more), epilog=epilog_of(examples), hidden=hidden
    )


class DocumentedCommand(TyperCommand):
    """A command, and what docs/reference/cli.md says of it beyond its help, in Markdown:
    `operation`, whose answer `--json` prints as HTTP does; `answers`, what it prints else, with
    every key; and `more`.
    """

    answers: ClassVar[str] = ""
    more: ClassVar[str] = ""
    operation: ClassVar[str] = ""

    def get_params(self, ctx: Any) -> list[Any]:
        return _sparing_the_absent(super().get_params(ctx))


def _documented(**docs: str) -> type[DocumentedCommand]:
    return type("DocumentedCommand", (DocumentedCommand,), docs)


def epilog_of(examples: Iterable[str]) -> str:
    return EXAMPLES + "\n".join(f"  {example}" for example in examples)


Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Width = Annotated[
    int | None,
    typer.Option(min=WIDTH_MIN, help="Columns to draw into.", show_default="the terminal's"),
]
Ascii = Annotated[bool, typer.Option("--ascii", help="Draw with ASCII characters only.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would happen and change nothing.")
]
By = Annotated[str, typer.Option(help="Who says so.")]


# --- the memory ---


@dataclass(frozen=True)
class Given:
    """What the options before the command say."""

    memory: str | None
    project: str | None

    @cached_property
    def settings(self) -> Settings:
        """Read when a command needs them: what is wrong with a file must not keep anybody from the
        others.
        """
        return Settings.read({"memory": self.memory, "project": self.project})


@dataclass(frozen=True)
class Chosen:
    """The memory and the project that the settings name."""

    memory: str | None
    project: str | None

    def open(self, *, to_read: bool = False, embedder: "Embedder | None" = None) -> Memory:
        """A command that only reads does not make a memory where somebody mistyped its name."""
        if to_read and not self.may_exist():
            fail(
                f"there is no memory at {self.memory}: check --memory and hardwon config; hardwon "
                f"init makes a new one, "
                "hardwon sync --make-tree takes in a folder of memory files"
            )
        return Memory(self.memory, self.project, embedder=embedder)

    def fill(
        self,
        work: Callable[[Memory, bool], T],
        brings: Callable[[T], object],
        *,
        dry_run: bool = False,
    ) -> T:
        """What `work` (its second argument: a dry run) brings in from elsewhere. Where there is no
        memory yet it is tried in a passing one first: what fails, or brings nothing, leaves no
        empty memory behind.
        """
        if dry_run:
            with self.open(to_read=True) as memory:
                return work(memory, True)
        if not memory_exists(self.memory):
            from tempfile import TemporaryDirectory

            project = self.project or project_of(self.memory)
            with (
                TemporaryDirectory(prefix="hardwon-trying-") as folder,
                Memory(folder, project) as passing,
            ):
                if not brings(work(passing, True)):
                    return work(passing, False)
        with self.open() as memory:
            return work(memory, False)

    def may_exist(self) -> bool:
        """False where a name was given and nothing is there."""
        return not self.memory or "://" in self.memory or _is_memory(self.memory)


def _is_memory(location: str) -> bool:
    try:
        path = Path(location).expanduser()
        return path.is_file() or any(
            (path / name).exists() for name in ("memory.db", "ai_memory.db")
        )
    except (
        OSError,
        RuntimeError,
        ValueError,
    ):  # too long, no such user, a zero byte: Memory says it better
        return True


def chosen(ctx: typer.Context) -> Chosen:
    settings = settings_of(ctx)
    return Chosen(settings.memory.value, settings.project.value)


def memory_options(ctx: typer.Context) -> list[str]:
    """The memory and project that something is installed for, where somebody names them. Files of
    settings it reads itself. Raises where a password would be written down with them.
    """
    memory, project = (
        each.value if each.origin in ("option", "environment") else None
        for each in list(settings_of(ctx))[:2]
    )
    if memory and "://" in memory:
        where = without_password(memory)
        if where != memory:
            allowed = "an address without a password, which others would read: PGPASSWORD, ~/.pgpass or ?service=NAME has it"
            raise InvalidInputError.one("memory", where, allowed)
    else:
        where = str(Path(memory).expanduser().absolute()) if memory else ""
    return [*(["--memory", where] if where else []), *(["--project", project] if project else [])]


def author_of(ctx: typer.Context, given: str | None) -> str | None:
    """Who writes: as the command's own option says, else as the settings do."""
    return settings_of(ctx).author.value if given is None else given


def signed(ctx: typer.Context, envelope: Mapping[str, Any]) -> dict[str, Any]:
    """An envelope with its author: the one that it names, else the one that the settings do."""
    author = author_of(ctx, envelope.get("author"))
    return {**envelope, "author": author} if author is not None else dict(envelope)


def settings_of(ctx: typer.Context) -> Settings:
    found = ctx.find_object(Given)
    assert found is not None  # noqa: S101  # for type checkers: the options before the command set it
    return found.settings


# --- writing, asking, failing ---


def look(width: int | None = None, ascii_only: bool = False) -> Look:
    columns = width or max(WIDTH_MIN, shutil.get_terminal_size((_WIDTH, 24)).columns)
    can_draw = (getattr(sys.stdout, "encoding", "") or "").lower().startswith("utf")
    return Look(columns, ascii_only or not can_draw)


def _wants_colour(stream: TextIO) -> bool:
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def write_lines(lines: Iterable[Line]) -> None:
    write(shown(lines, _wants_colour(sys.stdout)))


def write_text(text: str) -> None:
    """Lines that may hold what came from a file."""
    ascii_only = look().ascii_only
    write("".join(visible(line, ascii_only) + "\n" for line in text.split("\n")))


def write_json(value: object) -> None:
    """What HTTP would answer. ASCII, so that it reaches whatever reads it, and a terminal obeys
    nothing in it.
    """
    # the table of operations takes a while to load
    from hardwon.surfaces.operations import jsonable

    write(json.dumps(jsonable(value), indent=2, allow_nan=False) + "\n")


def write(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        drop_output()
        if isinstance(error, BrokenPipeError):
            raise typer.Exit(READER_LEFT) from None
        fail(f"cannot write the output: {error.strerror}")


def drop_output() -> None:
    """What is left in the buffer would be tried, and complained about, once more when the process
    ends.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def require_packages(what: str, *names: str) -> None:
    """Raises where something of the extra `serve` is missing."""
    from importlib.util import find_spec  # only whoever serves waits for it

    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise MissingExtraError(f"{what} needs {', '.join(missing)}: pip install 'hardwon[serve]'")


def counted(count: int, one: str, more: str = "") -> str:
    return f"{count} {one if count == 1 else more or one + 's'}"


def fail(message: str) -> NoReturn:
    complain(message)
    raise typer.Exit(FAILED) from None


def complain(message: str) -> None:
    sys.stderr.write(f"hardwon: {visible(' '.join(message.split()))}\n")


def can_ask() -> bool:
    """Whether somebody sits there who reads a question and can answer it."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def require_consent(question: str, yes: bool, *, as_json: bool = False) -> None:
    """Goes on only where somebody agrees: `--yes`, or an answer on a terminal. Whoever wants JSON
    is a program.
    """
    if yes:
        return
    if as_json or not can_ask():
        fail("nothing was changed: add --yes to do it")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):  # the input ended: the next line would stand beside the question
        sys.stderr.write("\n")
    if answer.strip().lower() not in ("y", "yes"):
        fail("nothing was changed")


@contextmanager
def progress(title: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on standard error while something long goes on; nothing where that is not a
    terminal.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(title, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)
