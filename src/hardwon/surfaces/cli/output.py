"""What a person reads in a terminal: the map of a memory, its hotspots, what it says about itself.

Everything is drawn as lines of spans, a text and a style each; `render` makes them a string, with
colours only where it is told to. Whatever came out of a memory passes `visible` first: a folder's
name or a record's text may hold anything, also what a terminal would obey.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import accumulate
from typing import Final, NamedTuple

from hardwon.records.kinds import INTAKE

# The colour of an outcome, which everything below its folder has too.
STYLES: Final[Mapping[str, str]] = {
    "success": "green",
    "failure": "red",
    "learning": "cyan",
    "interaction": "magenta",
    INTAKE: "yellow",
}

QUIET: Final = "dim"
STRONG: Final = "bold"
_CONTENT_CHARS: Final = 4_000  # of a text that will be cut to a line: more of it is not looked at


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

    def bar(self, share: float, cells: int) -> str:
        filled = max(1, round(min(share, 1) * cells)) if share > 0 else 0
        full, empty = ("#", ".") if self.ascii_only else ("█", "░")
        return full * filled + empty * (cells - filled)

    @property
    def more(self) -> str:
        return "..." if self.ascii_only else "…"

    @property
    def twigs(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """Before a folder and before what lies in it; the same of the last one."""
        if self.ascii_only:
            return ("|- ", "|  "), ("`- ", "   ")
        return ("├─ ", "│  "), ("└─ ", "   ")

    def fitted(self, text: str, cells: int) -> str:
        """Exactly so many cells: filled up, or cut with a sign that it was."""
        taken = cells_of(text)
        if taken > cells:
            text = cut(text, max(0, cells - len(self.more))) + self.more[: max(0, cells)]
            taken = cells_of(text)
        return text + " " * (cells - taken)


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
    return look.visible(" ".join(text[:_CONTENT_CHARS].split()))


def cells_of(text: str) -> int:
    """How many cells of a terminal a text takes: East Asian characters two, marks on a letter
    none.
    """
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, cells: int) -> str:
    return text[: sum(taken <= cells for taken in accumulate(map(_cells, text)))]


def percent(share: float) -> str:
    """Never 0% or 100% where that is not so."""
    if 0 < share < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def size_text(size_bytes: int) -> str:
    power = min((max(size_bytes, 1).bit_length() - 1) // 10, 4)
    unit = ("B", "KiB", "MiB", "GiB", "TiB")[power]
    return f"{size_bytes / 1024**power:.1f} {unit}" if power else f"{size_bytes} {unit}"


def counted(count: int, one: str, more: str = "") -> str:
    return f"{count} {one if count == 1 else more or one + 's'}"


# --- tables, and names with values ---

_BETWEEN: Final = "  "
_CELLS_MIN: Final = 8  # what a column keeps where there is too little room for all
_INDENT: Final = "  "


def table_lines(
    rows: Sequence[object], columns: Sequence[str], look: Look, nothing: str
) -> list[Line]:
    """The attributes of each row that the columns name. Where there is too little room, the widest
    columns are cut.
    """
    if not rows:
        return [(Span(nothing, QUIET),)]
    values = [[getattr(row, name) for name in columns] for row in rows]
    texts = [[one_line(text_of(value), look) for value in row] for row in values]
    titles = [name.replace("_", " ") for name in columns]
    cells = widths([titles, *texts], look.width)
    right = [
        all(isinstance(value, int | float | None) for value in column)
        for column in zip(*values, strict=True)
    ]
    return [
        (Span(_row(titles, cells, right, look), STRONG),),
        *((Span(_row(row, cells, right, look)),) for row in texts),
    ]


def widths(rows: Sequence[Sequence[str]], room: int, most: int = _CONTENT_CHARS) -> list[int]:
    """How many cells each column gets, at most so many. Where there is too little room, the widest
    give way.
    """
    cells = [min(most, max(map(cells_of, column))) for column in zip(*rows, strict=True)]
    room -= len(_BETWEEN) * (len(cells) - 1)
    while sum(cells) > room and max(cells, default=0) > _CELLS_MIN:
        cells[cells.index(max(cells))] -= 1
    return cells


def _row(texts: Sequence[str], cells: Sequence[int], right: Sequence[bool], look: Look) -> str:
    shown = []
    for text, width, to_the_right in zip(texts, cells, right, strict=True):
        fitted = look.fitted(text, width)
        shown.append(
            " " * (width - cells_of(fitted.rstrip())) + fitted.rstrip() if to_the_right else fitted
        )
    return _BETWEEN.join(shown)


def value_lines(values: Mapping[str, object], look: Look) -> list[Line]:
    """`name: value`, what is inside of something indented below its name. What is empty is left
    out.
    """
    return list(_values(values, look, ""))


def _values(values: Mapping[str, object], look: Look, indent: str) -> Iterator[Line]:
    for name, value in values.items():
        if value is None or value in ("", [], {}, ()):
            continue
        start = Span(f"{indent}{look.visible(name)}:", STRONG)
        inside = _inside(value, look, indent + _INDENT)
        yield (start,) if inside else (start, Span(f" {look.visible(text_of(value))}"))
        yield from inside


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
        case _:
            return str(value)
