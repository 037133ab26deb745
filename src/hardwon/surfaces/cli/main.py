"""The `hardwon` command, and what its commands share: how they are built, the memory they work on,
and how they draw, write, ask and fail. Each command is one call of `Memory` (of `datasets`, of a design)
and gives an `Output`, which is printed here: lines for people, or, with `--json`, one JSON value
for programs. docs/reference/cli.md has the keys and the exit codes.

Whatever people read is drawn as lines of spans, a text and a style each; `render` makes them a
string, with colours only where it is told to. What came out of a memory passes `visible` first: a
folder's name or a record's text may hold anything, also what a terminal would obey. Everything that
goes to standard output passes `write`: a reader that left, or a full disk, ends the command there.

Annotations are not postponed in these modules: typer would have to evaluate each of them twice
before any command could start.
"""

import gc
import inspect
import json
import logging
import os
import re
import shutil
import sys
import unicodedata
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from importlib import import_module
from itertools import accumulate, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, NoReturn, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

import hardwon
from hardwon import limits
from hardwon.errors import HardwonError, InvalidInputError, MissingExtraError
from hardwon.memory import Memory
from hardwon.memory.places import VARIABLES, Settings, find_place, is_new_here, memory_exists
from hardwon.outside.files import repository_root
from hardwon.outside.git import IN_INDEX, in_index
from hardwon.outside.locations import without_password
from hardwon.surfaces.cli.commands import ALIASES, COMMANDS, MODULE_OF, NOUNS
from hardwon.surfaces.cli.complete import find_values

if TYPE_CHECKING:
    from hardwon.outside.embedders import Embedder

T = TypeVar("T")
Progress = Callable[[int, int], None]  # how far it is, of how much; 0: nobody knows yet

FAILED: Final = 1
_SHELLS: Final = ("bash", "zsh", "fish")
WIDTH_MIN: Final = 20
PIPE_CELLS: Final = 100_000  # more than any text that is shown in a line has

# What the examples of a command stand under.
EXAMPLES: Final = "\b\nExamples:\n"

Function = Callable[..., Any]
Opener = Callable[[typer.Context], AbstractContextManager[Any]]


# --- drawing ---

# A time as JSON has it.
_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d(\.\d+)?Z", re.ASCII)
QUIET: Final = "dim"
STRONG: Final = "bold"


class Span(NamedTuple):
    text: str
    style: str = ""


Line = tuple[Span, ...]


@dataclass(frozen=True)
class Look:
    """How to draw: into how many cells, and whether the terminal shows more than ASCII."""

    width: int = 80
    ascii_only: bool = False

    def visible(self, text: str) -> str:
        return visible(text, self.ascii_only)

    def bar(self, share: float, cells: int = 10) -> str:
        filled = max(1, round(min(share, 1) * cells)) if share > 0 else 0
        full, empty = ("#", ".") if self.ascii_only else ("█", "░")
        return full * filled + empty * (cells - filled)

    @property
    def more(self) -> str:
        return "..." if self.ascii_only else "…"

    def cut(self, text: str, cells: int | None = None) -> str:
        """At most so many cells, with a sign that it was cut."""
        most = max(0, self.width if cells is None else cells)
        if cells_of(text) <= most:
            return text
        room = max(0, most - len(self.more))
        return (
            text[: sum(taken <= room for taken in accumulate(map(_cells, text)))] + self.more[:most]
        )

    def fitted(self, text: str, cells: int, to_the_right: bool = False) -> str:
        """Exactly so many cells: filled up, or cut."""
        text = self.cut(text, cells)
        blank = " " * (cells - cells_of(text))
        return blank + text if to_the_right else text + blank


def render(lines: Iterable[Line], colour: bool = False) -> str:
    """The lines as one text."""
    if not colour:
        return "".join("".join(span.text for span in line).rstrip() + "\n" for line in lines)
    # only terminals have colours, and there nobody notices how long rich takes to load
    from rich.color import ColorSystem
    from rich.style import Style

    def painted(span: Span) -> str:
        return (
            Style.parse(span.style).render(span.text, color_system=ColorSystem.STANDARD)
            if span.style
            else span.text
        )

    return "".join("".join(map(painted, line)).rstrip() + "\n" for line in lines)


def visible(text: str, ascii_only: bool = False) -> str:
    """The text on one line, with nothing in it that a terminal would act on: control characters,
    direction marks and what cannot be encoded are written out.
    """
    if text.isprintable() and (text.isascii() or not ascii_only):
        return text
    return "".join(
        char
        if char.isprintable() and (char.isascii() or not ascii_only)
        else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def one_line(text: str, look: Look) -> str:
    """A text in one line: its white space is closed up, the rest made visible."""
    return look.visible(" ".join(text[: 8 * look.width].split()))


def cells_of(text: str) -> int:
    """How many cells of a terminal a text takes: East Asian characters two, marks on a letter
    none.
    """
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def aligned(
    rows: Sequence[Sequence[Span]],
    look: Look,
    right: Collection[int] = (),
    whole: Collection[int] = (),
) -> list[Line]:
    """Columns beside one another; those of `right` end in one line. Where there is too little room,
    the widest are cut, but neither those nor the `whole` ones.
    """
    cells = [max(cells_of(span.text) for span in column) for column in zip(*rows, strict=True)]
    most = min(sum(cells), look.width - 2 * (len(cells) - 1))
    able = [number for number in range(len(cells)) if number not in (*right, *whole)]
    while sum(cells) > most and able:
        widest = max(able, key=cells.__getitem__)
        if cells[widest] <= 8:  # so much each column keeps
            break
        cells[widest] -= 1
    return [
        tuple(
            Span(look.fitted(span.text, width, number in right) + "  ", span.style)
            for number, (span, width) in enumerate(zip(row, cells, strict=True))
        )
        for row in rows
    ]


def table_lines(
    rows: Sequence[object], columns: Sequence[str], look: Look, nothing: str
) -> list[Line]:
    """The attributes of each row that the columns name."""
    if not rows:
        return [(Span(nothing, QUIET),)]
    values = [[getattr(row, name) for name in columns] for row in rows]
    numbers = [
        number
        for number, column in enumerate(zip(*values, strict=True))
        if all(isinstance(value, int | float | None) for value in column)
    ]
    titles = [Span(name.replace("_", " "), STRONG) for name in columns]
    texts = [[Span(one_line(text_of(value), look)) for value in row] for row in values]
    return aligned([titles, *texts], look, numbers)


def value_lines(values: Mapping[str, object], look: Look) -> list[Line]:
    """`name: value`, what is inside of something indented below its name. What is empty is left
    out.
    """
    return list(_values(values, look, ""))


def _values(values: Mapping[str, object], look: Look, indent: str) -> Iterator[Line]:
    for name, value in values.items():
        if _is_empty(value):
            continue
        start = Span(f"{indent}{look.visible(name)}:", STRONG)
        inside = _inside(value, look, indent + "  ")
        yield (start,) if inside else (start, Span(f" {look.visible(text_of(value))}"))
        yield from inside


def _is_empty(value: object) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_empty, value.values()))
    return value is None or value in ("", [], ())


def _inside(value: object, look: Look, indent: str) -> list[Line]:
    """The lines of what holds names and values itself, or several that do, or more than one line;
    none where it fits a line.
    """
    if isinstance(value, Mapping):
        return list(_values(value, look, indent))
    if isinstance(value, list | tuple) and any(
        isinstance(each, Mapping) or "\n" in text_of(each) for each in value
    ):
        numbered = {str(number): each for number, each in enumerate(value, 1)}
        return list(_values(numbered, look, indent))
    lines = text_of(value).splitlines() if "\n" in text_of(value) else []
    return [(Span(f"{indent}{look.visible(line)}"),) for line in lines]


def text_of(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.3g}"
        case datetime():
            return f"{value:%Y-%m-%d %H:%M}"
        case date():
            return f"{value:%Y-%m-%d}"
        case list() | tuple():
            return ", ".join(map(text_of, value))
        case Mapping():
            return ", ".join(f"{name} {text_of(inner)}" for name, inner in value.items())
        case str() if time := _TIME.fullmatch(value):
            return f"{time[1]} {time[2]}"
        case _:
            return str(value)


# --- the commands ---


class Output(NamedTuple):
    """What a command answers: as `--json` prints it, for people as text or as lines (or what makes
    them), and whether the exit code is 1 because of it. `complaints`: what people are told beside
    it, on standard error.
    """

    value: Any
    text: str | Iterable[Line] | Callable[[], str | Iterable[Line]]
    failed: bool = False
    complaints: Iterable[str] = ()

    def print(self, as_json: bool) -> None:
        if as_json:
            write(json_text(self.value) + "\n")
        else:
            for complaint in self.complaints:
                complain(complaint)
            text = self.text() if callable(self.text) else self.text
            write_text(text) if isinstance(text, str) else write_lines(text)
        if self.failed:
            raise typer.Exit(FAILED)


# What builds each command, by its words, of the modules that are imported.
builders: Final[dict[str, Callable[[], Any]]] = {}


class _ByName(Mapping[str, Any]):
    """Commands, by the word that follows the noun. Each is built when it is asked for: to build all
    of them takes longer than most of them run.
    """

    def __init__(self, noun: str) -> None:
        self._noun = noun

    def __iter__(self) -> Iterator[str]:
        top = (name for names in COMMANDS.values() for name in names)
        return iter(NOUNS[self._noun]) if self._noun else top

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __getitem__(self, name: str) -> Any:
        words = f"{self._noun} {name}" if self._noun else ALIASES.get(name, name)
        if MODULE_OF[words]:
            import_module(f"hardwon.surfaces.cli.{MODULE_OF[words]}")
        built = builders[words]()
        built.name = name
        return built


class _Documented:
    """A command, and what docs/reference/cli.md says of it beyond its help, in Markdown:
    `operation`, whose answer `--json` prints as HTTP does; `answers`, what it prints else, with
    every key; and `more`.
    """

    answers = more = operation = ""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """What is wrong with any parameter is told with what is wrong with the others."""
        wrong: list[str] = []
        for each in self.get_params(ctx):
            each.handle_parse_result = partial(_handle, each, wrong)
        takes_more, ctx.allow_extra_args = ctx.allow_extra_args, True
        rest: list[str] = super().parse_args(ctx, args)  # type: ignore[misc]  # of the command's class
        if rest and not takes_more:
            wrong.append(f"Too much is given: {' '.join(rest)}. A text of several words is quoted.")
        if wrong and not ctx.resilient_parsing:
            ctx.fail(" ".join(wrong))
        return rest

    def get_params(self, ctx: Any) -> list[Any]:
        """Typer would make a validator for every parameter first, also for texts and for those that
        nobody gave, and the first of all takes a tenth of the time of a short command.
        """
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]  # of the command's class
        for each in parameters:
            each.display_type = partial(_kind_of, each)
            if each.param_type_name == "argument":
                each.metavar = each.metavar or each.name.upper()
            if each.nargs == 1 and not each.multiple and not each.required:
                each.process_value = partial(_process_value, each)
        return parameters

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        pieces: list[str] = super().collect_usage_pieces(ctx)  # type: ignore[misc]  # as above
        return [re.sub("[{}]", "", piece) for piece in pieces]

    def get_short_help_str(self, limit: int = 0) -> str:  # noqa: ARG002  # what it overrides has it
        """Its first sentence, whole: it goes on in the next line where there is no room."""
        return re.split(r"\.\s", str(self.help))[0].rstrip(".") + "."  # type: ignore[attr-defined]  # as above


def _kind_of(parameter: Any, ctx: Any) -> str:
    """What an option takes, as most programs say it: TEXT, and not `<str>`."""
    if parameter.param_type_name == "argument":
        return ""
    kind = type(parameter).display_type(parameter, ctx).strip("<>")
    if kind.startswith(("int", "float")):
        return "NUMBER"
    return "TEXT" if "str" in kind else kind


def _handle(parameter: Any, wrong: list[str], ctx: Any, *given: Any) -> Any:
    try:
        return type(parameter).handle_parse_result(parameter, ctx, *given)
    except typer.BadParameter as error:
        told = " ".join(error.format_message().replace("Value error, ", "").split())
        wrong.append(told.rstrip(".") + ".")
        return None, given[-1]


def _process_value(parameter: Any, ctx: Any, value: Any) -> Any:
    is_text = parameter.type_descriptor.annotation is str and isinstance(value, str)
    if value is not None and not is_text:
        return type(parameter).process_value(parameter, ctx, value)
    return parameter.callback(ctx, parameter, value) if parameter.callback else value


class _CommandGroup(_Documented, TyperGroup):
    noun = ""
    usual: Mapping[str, str] = {}

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = _ByName(self.noun)  # type: ignore[assignment]  # nothing is added to it

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  # what it overrides has it
        """The names alone: completing one of them must not build all."""
        return list(self.commands)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Options that stand where a command would may tell which is meant; `help` is `--help`."""
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        if args and args[0][:1] == "-":
            told = (self.usual.get(each.partition("=")[0]) for each in args)
            args = [*islice(filter(None, told), 1), *args]
        rest: list[str] = super().parse_args(ctx, args)
        return rest


class _Commands(_CommandGroup):
    """The commands in their sections; an error becomes one line."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002  # what it overrides has it
        widest = max(map(len, self.commands))
        for section, names in COMMANDS.items():
            with formatter.section(section):
                helps = (self.commands[name].get_short_help_str() for name in names)
                formatter.write_dl(list(zip(names, helps, strict=True)), col_max=widest)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        found = super().resolve_command(ctx, args)
        if args[0] in ALIASES and not ctx.resilient_parsing:
            complain(f"{args[0]} is called {ALIASES[args[0]]} now")
        return found

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """`--memory` and `--project` may stand anywhere, but in a command that is to be run, and
        where a command has projects of its own.
        """
        words = (
            one
            for before, one in pairwise(["", *args])
            if one[:1] != "-" and (before[:2] != "--" or "=" in before)
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


def _new_app(cls: type, **options: Any) -> typer.Typer:
    return typer.Typer(
        cls=cls,
        rich_markup_mode=None,  # its boxes take rich, which takes longer than most commands
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        **{"no_args_is_help": True, **options},
    )


def add_group(
    noun: str,
    about: str,
    more: str = "",
    usual: Mapping[str, str] = {},
    **options: Any,
) -> None:
    """A word that stands before other commands: `NOUNS` has those. `usual`: which of them an option
    means that stands alone.
    """

    def build() -> TyperGroup:
        cls = type("Group", (_CommandGroup,), {"noun": noun, "more": more, "usual": usual})
        return typer.main.get_group(_new_app(cls, help=about, **options))

    builders[noun] = build


for _noun, _about in {
    "fixes": "What was done about issues and errors, and how it went.",
    "episodes": "How attempts at tasks went.",
    "skills": "What has proved itself, as Agent Skills.",
    "tree": "Where experiences lie: map, files and data sets.",
    "care": "What is believed, and keeping the memory well.",
}.items():
    add_group(_noun, _about)

app: Final = _new_app(
    _Commands,
    name="hardwon",
    help="An experience memory for AI agents: what was tried, how it turned out, and what to do "
    "next time.",
    epilog="\b\n"
    "Exit codes: 0 all is well, 1 an error or invalid data, 2 wrong usage,\n"
    "130 interrupted, 141 the reader of the output left.",
)


def command(*examples: str, words: str = "", **how: Any) -> Callable[[Function], Function]:
    """Adds a command under the name of its function, or these words; a test runs the examples.
    `how` as in `build_command`.
    """

    def add(function: Function) -> Function:
        name = words or function.__name__.rstrip("_")
        builders[name] = partial(build_command, name, function, examples, **how)
        return function

    return add


def build_command(
    words: str,
    function: Function,
    examples: Iterable[str],
    settings: dict[str, Any] | None = None,
    hidden: bool = False,
    of_all: bool = False,
    busy: tuple[str, str] = ("", ""),
    opens: Mapping[str, Opener] = {},
    **docs: str,
) -> Any:
    """`settings` are those of its context, `docs` the attributes of a `_Documented`. A
    function that takes a `memory` gets it opened to read, `of_all` as in `Target.open`; one that
    takes a `bar` is about what `busy` says, and what is kept where it is interrupted. `opens`: what
    else is opened for it, by the name of its parameter.
    """
    single = typer.Typer(
        add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
    )
    single.command(
        words,
        cls=type("Command", (_Documented, TyperCommand), docs),
        epilog=epilog_of(examples),
        context_settings=settings,
        hidden=hidden,
    )(
        _print_output_of(
            function,
            {
                "ctx": nullcontext,
                "memory": lambda ctx: chosen(ctx).open(to_read=True, of_all=of_all),
                "bar": lambda _: progress(busy[0], busy[1] or NOTHING_CHANGED),
                **opens,
            },
        )
    )
    return typer.main.get_command(single)


def _print_output_of(function: Function, opens: Mapping[str, Opener]) -> Function:
    """The function, with `--json`, where it gives an answer; and with what is opened for it."""
    signature = inspect.signature(function)
    if signature.return_annotation is not Output:
        return function
    takes = dict(signature.parameters)
    wanted = {name: opens[name] for name in takes if name in opens}

    def run(ctx: typer.Context, as_json: bool, **given: Any) -> None:
        given |= {"as_json": as_json} if "as_json" in takes else {}
        with ExitStack() as opened:
            own = {name: opened.enter_context(enter(ctx)) for name, enter in wanted.items()}
            answer = function(**given, **own)
        answer.print(as_json)

    asked = {name: each for name, each in takes.items() if name not in wanted}
    asked |= {"ctx": parameter("ctx", typer.Context), "as_json": parameter("as_json", Json, False)}
    return with_parameters(run, asked.values(), function)


def with_parameters(
    run: Function, parameters: Iterable[inspect.Parameter], like: Function | None = None
) -> Function:
    """A function of keywords, as one with these parameters, in the name of another."""
    keywords = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    run.__annotations__ = {each.name: each.annotation for each in keywords}
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # inspect looks for it there
        keywords, return_annotation=Output
    )
    if like is not None:
        run.__name__, run.__doc__, run.__module__ = like.__name__, like.__doc__, like.__module__
    return run


def parameter(
    name: str, annotation: Any, default: Any = inspect.Parameter.empty
) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def epilog_of(examples: Iterable[str]) -> str:
    return EXAMPLES + "\n".join(f"  {example}" for example in examples)


# What was given of a group of options, by name; what was not is not there.
Options = dict[str, Any]


def gathered(into: str, options: Iterable[inspect.Parameter]) -> Callable[[Function], Function]:
    """The function's parameter `into` becomes these options, in its place; the function gets those
    that were given. So what several functions take is written down once.
    """
    several = {each.name: each for each in options}

    def change(function: Function) -> Function:
        def run(**given: Any) -> Any:
            found = {name: given.pop(name) for name in several}
            given[into] = {name: value for name, value in found.items() if value not in (None, [])}
            return function(**given)

        parameters: dict[str, inspect.Parameter] = {}
        for each in inspect.signature(function).parameters.values():
            parameters |= several if each.name == into else {each.name: each}
        return with_parameters(run, parameters.values(), function)

    return change


Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would happen and change nothing.")
]
By = Annotated[str, typer.Option(help="Who says so.")]
Limit = Annotated[
    int, typer.Option("--limit", "-k", min=1, max=limits.SHOWN_MAX, help="At most so many.")
]


# --- the memory ---


def _show_upgrade(done: int, total: int) -> None:
    if sys.stderr.isatty():
        end = "\n" if done >= total else ""
        sys.stderr.write(f"\rhardwon: backup before the upgrade, {done} of {total} pages{end}")


class Target(NamedTuple):
    """A memory and a project in it: as the options before the command name them, or as the settings
    do.
    """

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
        memory = Memory(self.memory, self.project, embedder=embedder, progress=_show_upgrade)
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
        kept: str,
        *,
        dry_run: bool = False,
        expected: int = 0,
    ) -> T:
        """What `work` (told whether to change nothing, and whom to tell how far it is) brings in
        from elsewhere. Where there is no memory yet it is tried in a passing one first: what fails,
        or brings nothing, leaves no empty memory behind. `title`, `kept` and `expected` as of `progress`.
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
        with self.open() as memory, progress(title, kept, expected) as bar:
            return work(memory, False, bar)

    def may_exist(self) -> bool:
        """False where a name was given and nothing is there."""
        if not self.memory or "://" in self.memory:
            return True
        try:
            return memory_exists(self.memory) or Path(self.memory).expanduser().is_file()
        except (
            HardwonError,
            OSError,
        ):  # too long, no such user, a zero byte: Memory says it better
            return True


def chosen(ctx: typer.Context) -> Target:
    settings = settings_of(ctx)
    return Target(settings.memory.value, settings.project.value)


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
            raise InvalidInputError.one(
                "memory",
                where,
                "an address without a password, which others would read: PGPASSWORD, ~/.pgpass or "
                "?service=NAME has it",
            )
    else:
        where = str(Path(memory).expanduser().absolute()) if memory else ""
    return [*(["--memory", where] if where else []), *(["--project", project] if project else [])]


def signed(ctx: typer.Context, envelope: Mapping[str, Any]) -> dict[str, Any]:
    """An envelope with its author: the one that it names, else the one that the settings do."""
    author = envelope.get("author", settings_of(ctx).author.value)
    return {**envelope, "author": author} if author is not None else dict(envelope)


def settings_of(ctx: typer.Context) -> Settings:
    """Read when a command needs them: what is wrong with a file must not keep anybody from the
    others.
    """
    return Settings.read(ctx.find_root().obj._asdict())


# --- what a shell offers ---


def completer(source: str | Sequence[str]) -> Callable[[typer.Context, str], list[str]]:
    """What a shell offers: the values that are allowed, or those of a name of `complete.KEPT`."""

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        given = ctx.find_root().params
        return find_values(source, given.get("memory"), given.get("project"), incomplete)

    complete.source = source  # type: ignore[attr-defined]  # docs/generate.py reads it
    return complete


# --- the command itself ---


def _print_version(wanted: bool) -> None:
    if wanted:
        write(f"hardwon {hardwon.__version__}\n")
        raise typer.Exit


@app.callback()
def global_options(
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
            autocompletion=completer("project"),
        ),
    ] = None,
    version: Annotated[  # noqa: ARG001  # its callback answers
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    ctx.obj = Target(memory, project)


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
    # `--show-completion zsh`: typer's own option takes no shell, and shows what the one that it is
    # called from needs
    if len(sys.argv) == 3 and sys.argv[1] == "--show-completion":
        if sys.argv[2] not in _SHELLS:
            complain(
                f"--show-completion: {sys.argv[2]!r} is not allowed; allowed: {', '.join(_SHELLS)}, "
                f"or nothing for this shell's"
            )
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


# --- writing, asking, failing ---


def look() -> Look:
    """Into the terminal, or COLUMNS; what goes elsewhere is not cut."""
    cells = shutil.get_terminal_size((PIPE_CELLS, 0)).columns
    can_draw = (getattr(sys.stdout, "encoding", "") or "").lower().startswith("utf")
    return Look(max(WIDTH_MIN, cells), not can_draw)


def write_lines(lines: Iterable[Line]) -> None:
    colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    write(render(lines, colour and sys.stdout.isatty()))


def write_text(text: str) -> None:
    """Lines that may hold what came from a file."""
    ascii_only = look().ascii_only
    write("".join(visible(line, ascii_only) + "\n" for line in text.split("\n")))


def json_text(value: object) -> str:
    """What HTTP would answer. ASCII, so that it reaches whatever reads it, and a terminal obeys
    nothing in it.
    """
    # the table of operations takes a while to load
    from hardwon.surfaces.operations import jsonable

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


def require_packages(what: str, *names: str) -> None:
    """Raises where something of the extra `serve` is missing."""
    from importlib.util import find_spec  # only whoever serves waits for it

    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise MissingExtraError(f"{what} needs {', '.join(missing)}: pip install 'hardwon[serve]'")


def fail(message: str) -> NoReturn:
    complain(message)
    raise typer.Exit(FAILED) from None


def complain(message: str) -> None:
    with suppress(OSError, ValueError):  # nobody is there to read it
        sys.stderr.write(f"hardwon: {visible(' '.join(message.split()))}\n")
        sys.stderr.flush()


def require_consent(question: str, yes: bool, *, as_json: bool = False) -> None:
    """Goes on only where somebody agrees: `--yes`, or an answer on a terminal. Whoever wants JSON
    is a program.
    """
    if yes:
        return
    if as_json or sys.stdin is None or not sys.stdin.isatty() or not sys.stderr.isatty():
        fail("nothing was changed: add --yes to do it")
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):  # the input ended: the next line would stand beside the question
        sys.stderr.write("\n")
    if answer.strip().lower() not in ("y", "yes"):
        fail("nothing was changed")


NOTHING_CHANGED: Final = "nothing was changed"


@contextmanager
def progress(title: str, kept: str = NOTHING_CHANGED, expected: int = 0) -> Iterator[Progress]:
    """A bar on standard error while something long goes on; nothing where that is not a terminal.
    `kept`: what is said where somebody interrupts it. Before the total is known, things are only
    looked at; `expected`: how many, most likely.
    """
    far = {"done": 0, "total": 0}
    try:
        with _bar(title, expected) if sys.stderr.isatty() else nullcontext() as bar:

            def tell(done: int, total: int) -> None:
                far.update(done=done, total=total)
                if bar:
                    bar(done, total)

            yield tell
    except KeyboardInterrupt:
        reached = f" at {far['done']:,} of {far['total']:,}" if far["total"] else ""
        only_looked = far["done"] and not far["total"]
        complain(f"interrupted while {title}{reached}: {NOTHING_CHANGED if only_looked else kept}")
        raise


@contextmanager
def _bar(title: str, expected: int) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bars:
        task = bars.add_task(title, total=None)

        def tell(done: int, total: int) -> None:
            likely = max(done, expected) if expected else None
            about = "checking" if done and not total else title
            if about != bars.tasks[task].description:
                bars.reset(task, description=about)  # how fast it was says nothing of the rest
            bars.update(task, completed=done, total=total or likely)

        yield tell


if __name__ == "__main__":
    # the modules of the commands declare them in the module of that name
    from hardwon.surfaces.cli.main import main as run

    run()
