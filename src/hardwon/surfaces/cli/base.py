"""What commands share: how they are declared, what they take, the memory they work on, and how they
print, ask and fail. Each is a typer command that calls `Memory` and hands its answer to `show`:
lines for people or, with `--json`, one JSON value for programs.

Annotations are not postponed in these modules: typer would have to evaluate each of them twice
before any command could start.
"""

import inspect
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, NoReturn

import typer

from hardwon import limits
from hardwon.errors import HardwonError, MissingExtraError, how_to_install
from hardwon.memory import Memory
from hardwon.memory.places import Settings, find_place, is_new_here, memory_exists
from hardwon.outside.files import repository_root
from hardwon.outside.git import IN_INDEX, in_index
from hardwon.outside.locations import without_password
from hardwon.records.fields import check_all, check_that
from hardwon.surfaces.cli.views import unstyle, visible
from hardwon.trust.redact import redact

if TYPE_CHECKING:
    from hardwon.outside.embedders import Embedder

Progress = Callable[[int, int], None]  # how far it is, of how much; 0: nobody knows yet
View = str | Callable[[], str]  # what people read, or what draws it

FAILED: Final = 1
STDIN: Final = "-"
# Characters of an id that tell which is meant: fewer are most often a slip.
_ID_BEGINNING_CHARS_MIN: Final = 4
NOTHING_CHANGED: Final = "nothing was changed"


class Line:
    """The command line that is carried out: the memory and the project that it names, and whether
    its answer is for a program.
    """

    memory: str | None = None
    project: str | None = None
    as_json = False


# How commands are declared.

# What stands under "Options:" at the end of a docstring: a parameter, how its value is shown, what it
# means, and what it is where nobody says.
_MEANING: Final = re.compile(r"(\w+)(?: ([^\s:]+))?: (.*?)(?: \[([^][]+)\])?")
# Parameters whose values a shell offers, with the name under which a memory has them.
_OFFERED: Final = {
    **{name: name for name in ("author", "issue_type", "model", "project", "task_id", "tool")},
    **dict.fromkeys(("ids", "record_id", "old_id", "new_id", "decision_id", "recalled"), "id"),
    "source": "author",
    "task": "task_id",
}


def make_app() -> typer.Typer:
    """What the commands of a module are declared on."""
    return typer.Typer(rich_markup_mode=None)


def add_group(
    app: typer.Typer, name: str, **settings: Any
) -> Callable[[Callable[..., None]], typer.Typer]:
    """Makes a word that stands before other commands of a function: its options, and its help."""

    def add(function: Callable[..., None]) -> typer.Typer:
        """What its commands are declared on."""
        group = typer.Typer(**{"no_args_is_help": True, **settings})
        group.callback()(declare(function))
        app.add_typer(group, name=name)
        return group

    return add


def command(
    group: typer.Typer, name: str, *, prints_json: bool = True, **settings: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a command of a function, with `--json`, which `show` obeys."""

    def add(function: Callable[..., None]) -> Callable[..., None]:
        """The function, as it was."""
        group.command(name, **settings)(declare(function, prints_json))
        return function

    return add


class Shared(NamedTuple):
    """What several commands take: options by name, in place of one parameter, which gets what `read`
    makes of those that somebody gave.
    """

    options: Mapping[str, Any]
    read: Callable[[dict[str, Any]], Any] = dict


def declare(function: Callable[..., None], prints_json: bool = False) -> Callable[..., None]:
    """The function as typer is to see it: parameters before a `*` are arguments, those behind it
    options, and its docstring says what they mean.
    """
    about, _, listed = str(inspect.getdoc(function)).partition("\n\nOptions:\n")
    lines = re.sub(r"\n +", " ", dedent(listed)).splitlines()
    meanings = {match[1]: match.groups()[1:] for match in map(_MEANING.fullmatch, lines) if match}
    parameters, shared = list[inspect.Parameter](), dict[str, Shared]()
    more: dict[str, Any] = {}
    for one in inspect.signature(function).parameters.values():
        shape, (first, *_) = one.annotation, getattr(one.annotation, "__metadata__", (None,))
        if isinstance(first, Shared):
            shared[one.name] = first
            more |= first.options
        elif one.name in meanings:
            shape = _describe(one, *meanings[one.name])
            parameters.append(one.replace(annotation=shape))
        else:
            parameters.append(one)
    more |= {"as_json": Json} if prints_json else {}
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters += [
        inspect.Parameter(name, keyword, default=None, annotation=shape)
        for name, shape in more.items()
    ]
    for one in parameters:
        if one.name in _OFFERED and hasattr(one.annotation, "__metadata__"):
            one.annotation.__metadata__[0].autocompletion = complete(_OFFERED[one.name])

    def run(**values: Any) -> None:
        Line.as_json = bool(values.pop("as_json", False))
        for name, (options, read) in shared.items():
            every = {option: values.pop(option) for option in options}
            values[name] = read(
                {key: value for key, value in every.items() if value not in (None, [])}
            )
        function(**values)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    run.__doc__ = about
    return run


def _describe(
    parameter: inspect.Parameter, metavar: str | None, meaning: str, default: str | None
) -> Any:
    """Its type, with what typer asks for."""
    more: dict[str, Any] = {"show_default": default} if default else {}
    if parameter.kind is not parameter.KEYWORD_ONLY:
        return Annotated[parameter.annotation, arg(meaning, metavar, **more)]
    names = [f"--{parameter.name.replace('_', '-')}"] if parameter.annotation is bool else []
    return Annotated[parameter.annotation, opt(meaning, *names, metavar=metavar, **more)]


# What commands take.


def complete(name: str) -> Callable[[typer.Context, str], list[str]]:
    """A callback that offers what the memory has under this name in its records."""

    def offer(ctx: typer.Context, incomplete: str) -> list[str]:
        """What begins like what was typed; nothing where nobody can tell."""
        options = ctx.find_root().params
        with suppress(HardwonError, OSError):
            settings = Settings.read(
                {name: options.get(name) or None for name in ("memory", "project")}
            )
            if memory_exists(settings.memory.value):
                with Memory(settings.memory.value, settings.project.value) as memory:
                    if name == "project":
                        return list(memory.care.projects())
                    return list(memory.care.values(name, incomplete))  # type: ignore[arg-type]  # a column
        return []

    return offer


def opt(about: str, *names: str, **settings: Any) -> Any:
    """An option."""
    return typer.Option(*names, help=about, **settings)


def arg(about: str, metavar: str | None = None, **settings: Any) -> Any:
    """An argument."""
    return typer.Argument(metavar=metavar, help=about, **settings)


Json = Annotated[bool, opt("Print JSON for programs.", "--json")]
Yes = Annotated[bool, opt("Do it without asking.", "--yes", "-y")]
DryRun = Annotated[bool, opt("Say what would happen and change nothing.", "--dry-run")]
By = Annotated[str, opt("Who says so.")]
Limit = Annotated[int, opt("At most so many.", "--limit", "-k", min=1, max=limits.SHOWN_MAX)]
Days = Annotated[int, arg("Of the last so many days.", "DAYS", min=1, max=limits.DAYS_MAX)]
OlderThan = Annotated[int, arg("Older than so many days.", "DAYS", min=0, max=limits.DAYS_MAX)]
Port = Annotated[int, opt("The port; 0 takes one that is free.", min=0, max=65535)]
Seed = Annotated[int, opt("The same seed makes the same data.", min=0)]
RecordIds = Annotated[list[str], arg("Ids of records.", "ID...")]
RecordId = Annotated[str, arg("The id of a record.", "ID")]
OfTask = Annotated[str | None, opt("Of this task.")]
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
    least = _ID_BEGINNING_CHARS_MIN
    allowed = f"an id, or {least} characters of its beginning"
    check_that(len(beginning) >= least, "id", beginning, allowed)
    ids = memory.care.values("id", beginning, 3)
    check_that(ids, "id", beginning, "an id that hardwon browse prints, or its beginning")
    check_that(len(ids) == 1, "id", beginning, f"more of it: {', '.join(ids)} begin so")
    return ids[0]


def whole_ids(memory: Memory, beginnings: Iterable[str]) -> list[str]:
    """The ids that begin so; all that are wrong are told together."""
    return check_all(*(partial(whole_id, memory, beginning) for beginning in beginnings))


# The memory.


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
            is_folder = Path(str(self.memory)).is_dir()
            tree = ", hardwon tree sync --make-tree takes in a folder of memory files"
            fail(
                f"there is no memory at {self.memory}: check --memory and hardwon config; hardwon "
                f"--memory {self.memory} init makes one{tree if is_folder else ''}"
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


def find_target() -> Target:
    """The memory and the project that this command works on."""
    settings = read_settings()
    return Target(settings.memory.value, settings.project.value)


def read_memory() -> Memory:
    """The chosen memory, which must be there already."""
    return find_target().open(to_read=True)


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
        allowed = "an address without a password, which others would read: PGPASSWORD, ~/.pgpass or ?service=NAME has it"
        check_that(where == memory, "memory", where, allowed)
    else:
        where = str(Path(memory).expanduser().absolute()) if memory else ""
    return [*(["--memory", where] if where else []), *(["--project", project] if project else [])]


def sign(author: str | None) -> dict[str, str]:
    """The author of what is recorded: the one that is named, else the one that the settings do."""
    author = read_settings().author.value if author is None else author
    return {} if author is None else {"author": author}


# How commands print, ask and fail. Everything that goes to standard output passes `write`: a reader
# that left, or a full disk, ends the command there.


def show(value: Any, view: View, *, failed: bool = False, complaints: Sequence[str] = ()) -> None:
    """Prints an answer: its value as JSON, or what people read. Ends with exit code 1 where it
    `failed`. `complaints`: what people are told beside it, on standard error.
    """
    if Line.as_json:
        write(json_text(value) + "\n")
    else:
        for complaint in complaints:
            complain(complaint)
        if isinstance(view, str):  # it may hold what came from a file
            write("\n".join(map(visible, view.split("\n"))) + "\n")
        elif text := view():  # what is drawn has been made visible
            write(f"{text if _has_colours() else unstyle(text)}\n")
    if failed:
        raise typer.Exit(FAILED)


def _has_colours() -> bool:
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return wanted and sys.stdout.isatty()


def json_text(value: object) -> str:
    """What HTTP would answer. ASCII, so that it reaches whatever reads it, and a terminal obeys
    nothing in it.
    """
    # the table of operations takes a while to load
    from hardwon.surfaces.shapes import jsonable

    return json.dumps(jsonable(value), indent=2, allow_nan=False)


def write(text: str) -> None:
    """To standard output."""
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
    """Ends the command with this line."""
    complain(message)
    raise typer.Exit(FAILED) from None


def complain(message: str) -> None:
    """A line on standard error, without secrets that somebody typed."""
    message = redact(message)[0]
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
    reached, bar = (0, 0), None

    def tell(done: int, total: int) -> None:
        nonlocal reached, bar
        reached = done, total
        if sys.stderr.isatty():
            bar = bar or _start_bar(title)
            bar.update(bar.task_ids[0], completed=done, total=total or None)

    try:
        yield tell
    except KeyboardInterrupt:
        done, total = reached
        at = f" at {done:,} of {total:,}" if total else ""
        complain(f"interrupted while {title}{at}: {kept}")
        raise
    finally:
        if bar:
            bar.stop()


def _start_bar(title: str) -> Any:
    """A bar of rich, which is loaded only where there is something to draw."""
    from rich.console import Console
    from rich.progress import Progress as Bars

    bars = Bars(*Bars.get_default_columns(), console=Console(stderr=True), transient=True)
    bars.add_task(title, total=None)
    bars.start()
    return bars


def require_packages(what: str, *names: str, extra: str = "serve") -> None:
    """Raises where something of the extra is missing."""
    from importlib.util import find_spec  # only whoever serves waits for it

    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise MissingExtraError(f"{what} needs {', '.join(missing)}; {how_to_install(extra)}")
