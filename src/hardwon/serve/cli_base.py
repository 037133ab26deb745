"""What the commands of `hardwon` share: the table of them, the memory they work on, and how they write, ask and fail.

Everything that goes to standard output passes `write`: a reader that left, or a full disk, ends the command there.

Annotations are not postponed in these modules: typer would have to evaluate each of them twice before any command could start.
"""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple, NoReturn, TextIO

import typer
from typer.core import TyperGroup

from hardwon.errors import HardwonError
from hardwon.memory import Memory
from hardwon.model import Record
from hardwon.serve.terminal import Line, Look, shown, visible

FAILED: Final = 1
READER_LEFT: Final = 141
"""As a shell reports a program that a broken pipe ended."""

WIDTH_MIN: Final = 20
_WIDTH: Final = 80

RECORDING: Final = "Remember and recall"
SEEING: Final = "See what is there"
FIXES: Final = "Fixes"
TRUST: Final = "Trust"
DATA_SETS: Final = "Data sets"
SERVING: Final = "Serve others"
CARE: Final = "Care"
OLDER_SCRIPTS: Final = "For scripts written for memory.sh"
GROUPS: Final = (RECORDING, SEEING, FIXES, TRUST, DATA_SETS, SERVING, CARE, OLDER_SCRIPTS)

_MODULE_OF: Final[Mapping[str, str]] = {
    **dict.fromkeys(("model", "recent", "successful", "patterns"), "cli_fixes"),
    "run": "cli_run",
    **dict.fromkeys(("audit", "verify", "publish", "archive", "stale"), "cli_governance"),
    **dict.fromkeys(("export", "backup", "restore"), "cli_copies"),
    **dict.fromkeys(("doctor", "rebuild", "cleanup", "compress", "undo", "compact"), "cli_care"),
    "fix-history": "cli_fix_history",
    "hooks": "cli_hooks",
    "serve": "cli_serve",
    "tokens": "cli_tokens",
}
"""Commands whose module is imported when somebody asks for one of them."""

Command = Callable[..., None]


class _Declared(NamedTuple):
    app: typer.Typer
    group: str


_declared: Final[dict[str, _Declared]] = {}


class _ByName(Mapping[str, Any]):
    """The commands. Each is built when it is asked for: to build all of them takes longer than most of them run."""

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*_declared, *_MODULE_OF)))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __getitem__(self, name: str) -> Any:
        if name not in _declared and name in _MODULE_OF:
            import_module(f"hardwon.serve.{_MODULE_OF[name]}")
        found = _declared[name]
        built = typer.main.get_command(found.app)
        built.name = name
        built.rich_help_panel = found.group  # type: ignore[attr-defined]  # every command of typer's has it
        return built


class _Commands(TyperGroup):
    """The commands in their groups; an error becomes one line."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = _ByName()  # type: ignore[assignment]  # nothing is added to it later

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


def new_app(**options: Any) -> typer.Typer:
    return typer.Typer(
        no_args_is_help=True,
        rich_markup_mode=None,  # its boxes take rich, which takes longer than most commands
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        **options,
    )


app: Final = new_app(
    name="hardwon",
    cls=_Commands,
    help="An experience memory for AI agents: what was tried, how it turned out, and what to do next time.",
    epilog="\b\n"
    "Exit codes: 0 all is well, 1 an error or invalid data, 2 wrong usage,\n"
    "130 interrupted, 141 the reader of the output left.",
)


def command(group: str, *examples: str, settings: dict[str, Any] | None = None) -> Callable[[Command], Command]:
    """Adds a command under the name of its function; a test runs the examples. `settings` are those of its context."""

    def added(function: Command) -> Command:
        name = function.__name__.rstrip("_")
        single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        single.command(name, epilog=epilog_of(examples), context_settings=settings)(function)
        _declared[name] = _Declared(single, group)
        return function

    return added


def add_app(name: str, group: str, inner: typer.Typer) -> None:
    """Adds commands that have a word of their own before them."""
    _declared[name] = _Declared(inner, group)


def epilog_of(examples: Iterable[str]) -> str:
    return "\b\nExamples:\n" + "\n".join(f"  {example}" for example in examples)


Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Width = Annotated[int | None, typer.Option(min=WIDTH_MIN, help="Columns to draw into.", show_default="the terminal's")]
Ascii = Annotated[bool, typer.Option("--ascii", help="Draw with ASCII characters only.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]


# --- the memory -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chosen:
    """The memory and the project that the command line, or the environment, names."""

    memory: str | None
    project: str | None

    def open(self, *, to_read: bool = False) -> Memory:
        """A command that only reads does not make a memory where somebody mistyped its name."""
        if to_read and not self.may_exist():
            fail(
                f"there is no memory at {self.memory}: check --memory (or HARDWON_MEMORY); hardwon remember makes a new one, "
                "hardwon sync --make-tree takes in a folder of memory files"
            )
        return Memory(self.memory, self.project)

    def may_exist(self) -> bool:
        """False where a name was given and nothing is there."""
        return not self.memory or "://" in self.memory or _is_memory(self.memory)


def _is_memory(location: str) -> bool:
    try:
        path = Path(location).expanduser()
        return path.is_file() or any((path / name).exists() for name in ("memory.db", "ai_memory.db"))
    except (OSError, RuntimeError, ValueError):  # too long, no such user, a zero byte: Memory says it better
        return True


def chosen(ctx: typer.Context) -> Chosen:
    found = ctx.find_object(Chosen)
    assert found is not None  # noqa: S101  # for type checkers: the options before the command set it
    return found


# --- writing, asking, failing -----------------------------------------------------------------------------------------


def record_json(record: Record) -> Any:
    return json.loads(record.to_json())


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
    """ASCII, so that it reaches whatever reads it, and a terminal obeys nothing in it."""
    write(json.dumps(value, indent=2, allow_nan=False) + "\n")


def write(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        # What is left in the buffer would be tried, and complained about, once more when the process ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise typer.Exit(READER_LEFT) from None
        fail(f"cannot write the output: {error.strerror}")


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
    """Goes on only where somebody agrees: `--yes`, or an answer on a terminal. Whoever wants JSON is a program."""
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
    """A bar on standard error while something long goes on; nothing where that is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(title, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)
