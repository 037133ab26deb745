"""What a person reads of small reports: rows under the names of their columns, or one thing as names and values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Final

from hardwon.serve.terminal import QUIET, STRONG, Line, Look, Span, cells_of, one_line

_BETWEEN: Final = "  "
_CELLS_MIN: Final = 8  # what a column keeps where there is too little room for all
_INDENT: Final = "  "


def table_lines(rows: Sequence[object], columns: Sequence[str], look: Look, nothing: str) -> list[Line]:
    """The attributes of each row that the columns name. Where there is too little room, the widest columns are cut."""
    if not rows:
        return [(Span(nothing, QUIET),)]
    values = [[getattr(row, name) for name in columns] for row in rows]
    texts = [[one_line(text_of(value), look) for value in row] for row in values]
    titles = [name.replace("_", " ") for name in columns]
    cells = _widths([titles, *texts], look.width)
    right = [all(isinstance(value, int | float | None) for value in column) for column in zip(*values, strict=True)]
    return [(Span(_row(titles, cells, right, look), STRONG),), *((Span(_row(row, cells, right, look)),) for row in texts)]


def _widths(rows: Sequence[Sequence[str]], room: int) -> list[int]:
    cells = [max(map(cells_of, column)) for column in zip(*rows, strict=True)]
    excess = sum(cells) + len(_BETWEEN) * (len(cells) - 1) - room
    while excess > 0 and max(cells) > _CELLS_MIN:
        widest = max(cells)
        others = [width for width in cells if width < widest]
        at_once = min(excess, widest - max([*others, _CELLS_MIN]))  # one column at a time, down to the next widest
        cells[cells.index(widest)] -= max(1, at_once)
        excess -= max(1, at_once)
    return cells


def _row(texts: Sequence[str], cells: Sequence[int], right: Sequence[bool], look: Look) -> str:
    shown = []
    for text, width, to_the_right in zip(texts, cells, right, strict=True):
        fitted = look.fitted(text, width)
        shown.append(" " * (width - cells_of(fitted.rstrip())) + fitted.rstrip() if to_the_right else fitted)
    return _BETWEEN.join(shown)


def value_lines(values: Mapping[str, object], look: Look) -> list[Line]:
    """`name: value`, what is inside of something indented below its name. What is empty is left out."""
    return list(_values(values, look, ""))


def _values(values: Mapping[str, object], look: Look, indent: str) -> Iterator[Line]:
    for name, value in values.items():
        if value is None or value in ("", [], {}, ()):
            continue
        start = Span(f"{indent}{look.visible(name)}:", STRONG)
        inside = [] if isinstance(value, str | bytes) else _inside(value, look, indent + _INDENT)
        text = text_of(value)
        if inside:
            yield (start,)
            yield from inside
        elif "\n" in text:
            yield (start,)
            yield from ((Span(f"{indent}{_INDENT}{look.visible(line)}"),) for line in text.splitlines())
        else:
            yield (start, Span(f" {look.visible(text)}"))


def _inside(value: object, look: Look, indent: str) -> list[Line]:
    """The lines of what holds names and values itself, or several that do; none where it fits a line."""
    if isinstance(value, Mapping):
        return list(_values(value, look, indent))
    if not isinstance(value, list | tuple) or not any(isinstance(each, Mapping) or "\n" in text_of(each) for each in value):
        return []
    lines: list[Line] = []
    for number, each in enumerate(value, 1):
        lines += _values({str(number): each}, look, indent)
    return lines


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
