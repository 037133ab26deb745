"""What a person reads in a terminal: records, the map of a memory, fixes, and plain tables. A view
is a text, with the codes of colours in it. Commands are shown as they were recorded, and never run.

Whatever came out of a memory passes `visible` first: it may hold what a terminal would obey.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from io import StringIO
from typing import TYPE_CHECKING, Any, Final

import typer

from hardwon import limits
from hardwon.records import kinds
from hardwon.tree.topology import TOPOLOGY_DEPTH_MAX

if TYPE_CHECKING:
    from hardwon.memory.ask import Stats
    from hardwon.search.rank import Hit
    from hardwon.tree.topology import Branch

PIPE_CELLS: Final = 100_000  # more than any text that is shown in a line has
_CELLS_MIN: Final = 20
_BAR_CELLS: Final = 12
_SHARE_CELLS: Final = 30  # what stands behind the name of a share
# The colour of a word that says how something went.
STYLES: Final[Mapping[str, str]] = {
    "success": "green",
    "failure": "red",
    "learning": "cyan",
    "interaction": "magenta",
    "partial": "yellow",
    "verified": "green",
    "applied": "yellow",
    "failed": "red",
    kinds.INTAKE: "yellow",
}

# Texts.


def visible(text: str) -> str:
    """The text on one line, with nothing in it that a terminal would act on: control characters and
    direction marks are written out.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def style(text: str, look: str) -> str:
    """The text in a colour, bold or dim; as it is where it has no look."""
    if not (text and look):
        return text
    colour = look if look not in ("bold", "dim") else None
    return typer.style(text, fg=colour, bold=look == "bold" or None, dim=look == "dim" or None)


def unstyle(text: str) -> str:
    """The text without colours."""
    return re.sub(r"\x1b\[[\d;]*m", "", text)


bold: Final = partial(style, look="bold")
dim: Final = partial(style, look="dim")


def count_cells() -> int:
    """How wide the terminal is, or what COLUMNS says; what goes elsewhere is not cut."""
    return max(_CELLS_MIN, shutil.get_terminal_size((PIPE_CELLS, 0)).columns)


def cut_line(text: str, less: int = 0) -> str:
    """The text on one line that leaves so many cells free, with a sign where it was cut."""
    cells = max(4, count_cells() - less)
    line = visible(" ".join(text[: 8 * cells].split()))
    if line.isascii() and len(line) <= cells:
        return line
    from rich.cells import cell_len, set_cell_size

    return line if cell_len(line) <= cells else set_cell_size(line, cells - 1) + "…"


def percent(share: float) -> str:
    """Never 0% or 100% where that is not so."""
    if 0 < share < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def size_text(size_bytes: int) -> str:
    """Bytes, in the unit that people would choose."""
    power = min((max(size_bytes, 1).bit_length() - 1) // 10, 4)
    unit = ("B", "KiB", "MiB", "GiB", "TiB")[power]
    return f"{size_bytes / 1024**power:.1f} {unit}" if power else f"{size_bytes} {unit}"


def text_value(value: object) -> str:
    """A value as a person reads it; empty for None."""
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
            return ", ".join(map(text_value, value))
        case Mapping():
            return ", ".join(f"{name} {text_value(inner)}" for name, inner in value.items())
        case _:
            return str(value)


# Tables, and names with values.


def draw_table(rows: Sequence[Any], columns: Iterable[str], nothing: str = "") -> str:
    """A table of these attributes of the rows, or of what is inside of them ("issue.model");
    `nothing` where there are no rows.
    """
    if not rows:
        return dim(nothing)
    # whoever draws no table does not wait for it
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    texts = []
    for name in columns:
        values = [read_attribute(row, name) for row in rows]
        cells = [cut_line(text_value(value)) for value in values]
        texts.append([Text(text, style=STYLES.get(text, "")) for text in cells])
        is_number = all(isinstance(value, int | float | None) for value in values)
        title = Text(name.rpartition(".")[2].replace("_", " "), style="bold")
        # words that are short, names and ids are not broken
        whole = is_number or name in ("id", "name") or max(map(len, cells)) <= 20
        justify: Any = "right" if is_number else "left"
        overflow: Any = "ellipsis" if name == "name" else "fold"
        table.add_column(title, justify=justify, no_wrap=whole, overflow=overflow)
    for row in zip(*texts, strict=True):
        table.add_row(*row)
    drawn = StringIO()
    console = Console(file=drawn, width=count_cells(), color_system="standard", force_terminal=True)
    console.print(table)
    return "\n".join(line.rstrip() for line in drawn.getvalue().splitlines())


def read_attribute(row: Any, path: str) -> Any:
    """What is there; None where there is nothing."""
    for name in path.split("."):
        row = row.get(name) if isinstance(row, Mapping) else getattr(row, name, None)
    return row


def draw_values(values: Mapping[str, Any], indent: str = "") -> str:
    """Names and values, what is inside of them below them; what is empty is left out."""
    lines = []
    for name, value in values.items():
        if is_empty(value):
            continue
        title = indent + bold(f"{visible(name)}:")
        if isinstance(value, list | tuple) and any(
            isinstance(inner, Mapping) or "\n" in text_value(inner) for inner in value
        ):
            value = {str(number): inner for number, inner in enumerate(value, 1)}
        text = "" if isinstance(value, Mapping) else text_value(value)
        if isinstance(value, Mapping):
            lines += [title, draw_values(value, indent + "  ")]
        elif "\n" in text:
            lines += [title, *(f"{indent}  {visible(line)}" for line in text.splitlines())]
        else:
            lines.append(f"{title} {visible(text)}")
    return "\n".join(lines)


def is_empty(value: object) -> bool:
    """Whether nothing is in it, however deep."""
    if isinstance(value, Mapping):
        return all(map(is_empty, value.values()))
    return value is None or value in ("", [], ())


def draw_sections(texts: Mapping[str, str], nothing: str = "") -> str:
    """Each of these texts under its title; `nothing` where there is none."""
    parts = [
        f"{bold(visible(title.replace('_', ' ')))}\n{text}" for title, text in texts.items() if text
    ]
    return "\n\n".join(parts) or dim(nothing)


# The memory and its tree.


def draw_stats(stats: Stats) -> str:
    """How much there is, then how much of each kind, outcome and so on."""
    between = f"{stats.first:%Y-%m-%d %H:%M}, {stats.last:%Y-%m-%d %H:%M} UTC" if stats.last else ""
    facts = {
        "memory": stats.location,
        "project": stats.project,
        "size": size_text(stats.size_bytes),
        "records": stats.records,
        "forgotten": stats.forgotten,
        "decisions": stats.decisions,
        "events": stats.events,
        "no vector": stats.unembedded or None,
        "from, to": between,
    }
    tables = {}
    for what in ("kind", "outcome", "tool", "status", "author"):
        counts = sorted(getattr(stats, f"by_{what}").items(), key=lambda row: (-row[1], row[0]))
        rows = [(name, count, stats.records) for name, count in counts[: limits.SCREEN_ITEMS]]
        tables[f"By {what}"] = draw_shares(rows)
    return "\n\n".join(filter(None, [draw_values(facts), draw_sections(tables)]))


def draw_shares(rows: Sequence[tuple[str, int, int]]) -> str:
    """In each line a name, its count, which share of the whole that is, and that as a bar; of a
    whole of 0 only the count.
    """
    names = [cut_line(name, _SHARE_CELLS) for name, *_ in rows]
    widest = max(map(len, names), default=0)
    digits = max((len(str(count)) for _, count, _ in rows), default=0)
    lines = []
    for name, (plain, count, whole) in zip(names, rows, strict=True):
        line = f"{name:<{widest}}  {count:>{digits}}"
        if whole:
            share = count / whole
            full = max(1, round(share * _BAR_CELLS)) if share > 0 else 0
            line += f"  {percent(share):>4}  {'█' * full}{'░' * (_BAR_CELLS - full)}"
        lines.append(style(line, STYLES.get(plain, "")))
    return "\n".join(lines)


def draw_map(branch: Branch, depth: int = TOPOLOGY_DEPTH_MAX) -> str:
    """The tree: the count of every folder and its share of the one above, down to so many levels."""
    return draw_shares([(branch.name, branch.count, 0), *_list_branches(branch, "", depth)])


def _list_branches(parent: Branch, indent: str, levels: int) -> Iterator[tuple[str, int, int]]:
    for branch in parent.branches if levels else ():
        yield f"{indent}├─ {branch.name}", branch.count, parent.count
        yield from _list_branches(branch, f"{indent}│ ", levels - 1)
    beside = parent.count - sum(branch.count for branch in parent.branches)
    if levels and parent.branches and beside:
        yield f"{indent}└─ … the rest", beside, parent.count


# Records.


def draw_hits(hits: Sequence[Hit]) -> str:
    """Each hit in two lines: what it is, and what it says; a third where files that it is about are
    others by now.
    """
    lines: list[str] = []
    for hit in hits:
        more = f"{', stale' if hit.stale else ''}, {hit.record.metadata.context.timestamp:%Y-%m-%d}"
        lines += _draw_record(hit.record, f"{hit.score:.2f}", more)
        if hit.changed:
            lines.append("  " + style(cut_line("; ".join(map(str, hit.changed)), 2), "yellow"))
    return "\n".join(lines) or dim("Nothing here answers that.")


def draw_records(records: Iterable[kinds.AnyRecord]) -> str:
    """Each record in two lines: what it is, and what it says."""
    lines: list[str] = []
    for record in records:
        lines += _draw_record(record, f"{record.metadata.context.timestamp:%Y-%m-%d %H:%M}")
    return "\n".join(lines)


def _draw_record(record: kinds.AnyRecord, start: str, more: str = "") -> tuple[str, str]:
    """`more` is told of it beside its status."""
    name = kinds.judge_record(record)
    outcome = style(f"  {visible(name)}" if name else "", STYLES.get(name, ""))
    about = f"  {record.kind}, {record.metadata.validation.status}{more}, {record.id}"
    return bold(start) + outcome + dim(about), "  " + cut_line(kinds.headline(record), 2)


def draw_record(record: kinds.AnyRecord) -> str:
    """All of a record: first what it says, then where it comes from."""
    from hardwon.surfaces.shapes import jsonable  # it takes a while to load

    shape = jsonable(record)
    if record.kind == "trajectory":
        shape.setdefault("final_reward", kinds.REWARD_UNKNOWN)
    shape["metadata"] = shape.pop("metadata")
    return draw_values(shape)


def draw_decisions(decisions: Sequence[kinds.Decision]) -> str:
    """A table of them."""
    columns = ("id", "metadata.context.timestamp", "action", "target", "replacement", "text")
    return draw_table(decisions, (*columns, "reason"), "Nothing was decided yet.")


def judge_fix(fix: kinds.Fix) -> str:
    """Applied is one thing, verified to work another; verified without being applied is neither."""
    applied = "verified" if fix.verification_success else "applied"
    return applied if fix.fix_success else "failed"
