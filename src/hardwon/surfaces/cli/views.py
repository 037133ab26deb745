"""What a person reads in a terminal: records, the map of a memory, fixes, and plain tables. A view
is a text, drawn for a screen. Commands are shown as they were recorded, and never run.

Whatever came out of a memory passes `visible` first: it may hold what a terminal would obey.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from hardwon import limits
from hardwon.records.kinds import (
    INTAKE,
    REWARD_UNKNOWN,
    AnyRecord,
    Decision,
    Fix,
    headline,
    judge_record,
)
from hardwon.text.terms import counted as counted
from hardwon.tree.topology import TOPOLOGY_DEPTH_MAX

if TYPE_CHECKING:
    from hardwon.fixes.reports import TemporalPattern
    from hardwon.memory.ask import Stats
    from hardwon.memory.fix_lessons import Pattern, Strategy
    from hardwon.memory.results import SimilarIssues
    from hardwon.search.rank import Hit
    from hardwon.tree.topology import Branch, Reflection

PIPE_CELLS: Final = 100_000  # more than any text that is shown in a line has
_CODES: Final = {
    "bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "magenta": 35, "cyan": 36,
}  # fmt: skip
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
    INTAKE: "yellow",
}


# --- drawing ---


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


class Screen(NamedTuple):
    """What is drawn on: how many cells wide, with colours or without."""

    width: int = 80
    colour: bool = False

    def styled(self, text: str, style: str) -> str:
        """The text in a colour or a weight, where there are colours."""
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self.colour and style and text else text

    def line(self, text: str, cells: int = 0) -> str:
        """The text on one line of at most so many cells; 0: of the whole width."""
        return cut(visible(" ".join(text[: 8 * self.width].split())), cells or self.width)


def cut(text: str, cells: int) -> str:
    """At most so many cells, with a sign that it was cut."""
    room = max(4, cells)
    if count_cells(text) <= room:
        return text
    from rich.cells import set_cell_size

    return set_cell_size(text, room - 1) + "…"


def draw_bar(share: float, cells: int = 10) -> str:
    full = max(1, round(min(share, 1) * cells)) if share > 0 else 0
    return "█" * full + "░" * (cells - full)


def count_cells(text: str) -> int:
    """How many cells of a terminal the text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def pad(texts: Iterable[str]) -> list[str]:
    """The texts as a column: all as wide as the widest."""
    column = list(texts)
    widest = max(map(count_cells, column), default=0)
    return [text + " " * (widest - count_cells(text)) for text in column]


def draw_table(
    screen: Screen, rows: Sequence[Any], columns: Iterable[str], nothing: str = ""
) -> str:
    """A table of these attributes of the rows, or of what is inside of them ("issue.model");
    `nothing` where there are no rows.
    """
    if not rows:
        return screen.styled(nothing, "dim")
    # whoever draws no table does not wait for it
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    texts = []
    for name in columns:
        values = [read_attribute(row, name) for row in rows]
        shown = [screen.line(text_value(value)) for value in values]
        texts.append([Text(text, style=STYLES.get(text, "")) for text in shown])
        is_number = all(isinstance(value, int | float | None) for value in values)
        title = Text(name.rpartition(".")[2].replace("_", " "), style="bold")
        justify: Any = "right" if is_number else "left"
        # words that are short, and ids, are not broken
        whole = name == "id" or max(map(len, shown)) <= 20
        table.add_column(title, justify=justify, no_wrap=is_number or whole, overflow="fold")
    for cells in zip(*texts, strict=True):
        table.add_row(*cells)
    colours: Any = "standard" if screen.colour else None
    console = Console(
        width=screen.width, color_system=colours, force_terminal=screen.colour, _environ={}
    )
    with console.capture() as drawn:
        console.print(table)
    return "\n".join(line.rstrip() for line in drawn.get().splitlines())


def read_attribute(row: Any, path: str) -> Any:
    """What is found there; None where there is nothing."""
    for name in path.split("."):
        row = row.get(name) if isinstance(row, Mapping) else getattr(row, name, None)
    return row


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


def values_text(screen: Screen, values: Mapping[str, Any], indent: str = "") -> str:
    """Names and values, what is inside of them below them; what is empty is left out."""
    lines = []
    for name, value in values.items():
        if is_empty(value):
            continue
        title = indent + screen.styled(f"{visible(name)}:", "bold")
        if isinstance(value, list | tuple) and any(
            isinstance(inner, Mapping) or "\n" in text_value(inner) for inner in value
        ):
            value = {str(number): inner for number, inner in enumerate(value, 1)}
        text = "" if isinstance(value, Mapping) else text_value(value)
        if isinstance(value, Mapping):
            lines += [title, values_text(screen, value, indent + "  ")]
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


def percent(share: float) -> str:
    """Never 0% or 100% where that is not so."""
    if 0 < share < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def size_text(size_bytes: int) -> str:
    power = min((max(size_bytes, 1).bit_length() - 1) // 10, 4)
    unit = ("B", "KiB", "MiB", "GiB", "TiB")[power]
    return f"{size_bytes / 1024**power:.1f} {unit}" if power else f"{size_bytes} {unit}"


# --- the memory and its tree ---


def stats_text(screen: Screen, stats: Stats) -> str:
    between = f"{stats.first:%Y-%m-%d %H:%M}, {stats.last:%Y-%m-%d %H:%M} UTC" if stats.last else ""
    facts = {
        "memory": stats.location,
        "project": stats.project,
        "size": size_text(stats.size_bytes),
        "records": str(stats.records),
        "forgotten": str(stats.forgotten),
        "decisions": str(stats.decisions),
        "events": str(stats.events),
        "no vector": str(stats.unembedded or ""),
        "from, to": between,
    }
    lines = [
        screen.styled(f"{name:<10}", "bold") + visible(value)
        for name, value in facts.items()
        if value
    ]
    for what in ("kind", "outcome", "tool", "status", "author"):
        rows = sorted(getattr(stats, f"by_{what}").items(), key=lambda row: (-row[1], row[0]))
        if rows:
            lines += ["", screen.styled(f"By {what}", "bold")]
            lines += draw_counts(screen, rows[: limits.SCREEN_ITEMS], stats.records)
    return "\n".join(lines)


def draw_counts(screen: Screen, rows: Sequence[tuple[str, int]], whole: int) -> Iterator[str]:
    """A name, its count, its share and a bar in each line, in the colour of an outcome."""
    names = pad(visible(name) for name, _ in rows)
    for name, (plain, number) in zip(names, rows, strict=True):
        share = number / whole if whole else 0.0
        line = f"{name}  {number:>{len(str(whole))}}  {percent(share):>4}  {draw_bar(share)}"
        yield "  " + screen.styled(line, STYLES.get(plain, ""))


def map_text(screen: Screen, branch: Branch, depth: int = TOPOLOGY_DEPTH_MAX) -> str:
    """The tree: a bar, the count and the share of the folder above for every folder, down to as
    many levels.
    """
    rows = [(visible(branch.name), branch.count, 0), *_map_rows(branch, "", depth)]
    room = screen.width - 44
    bars = min(24, max(0, room))
    names = pad(cut(name, max(8, room)) for name, *_ in rows)
    lines = []
    for name, (_, count, above) in zip(names, rows, strict=True):
        share = count / above if above else 0.0
        bar = draw_bar(share, bars) if above else " " * bars
        line = f"{name}  {bar}  {count:>{len(str(branch.count))}}"
        lines.append(f"{line}  {percent(share):>4}" if above else line.rstrip())
    return "\n".join(lines)


def _map_rows(parent: Branch, indent: str, levels: int) -> Iterator[tuple[str, int, int]]:
    """Of what lies below: its name behind its twig, its count, and that of the folder above."""
    for branch in parent.branches if levels else ():
        yield f"{indent}├─ {visible(branch.name)}", branch.count, parent.count
        yield from _map_rows(branch, f"{indent}│  ", levels - 1)
    beside = parent.count - sum(branch.count for branch in parent.branches)
    if levels and parent.branches and beside:
        yield f"{indent}└─ … the rest", beside, parent.count


def reflection_text(screen: Screen, seen: Reflection) -> str:
    """What is known as names and values, then the newest records."""
    values = {
        "memories": seen.total,
        "by outcome": {**seen.by_outcome, INTAKE: seen.intake or None},
        "by tool": seen.by_tool,
        "failures gather in": dict(seen.hotspots),
        "successes gather in": dict(seen.strengths),
        "in short": "\n".join(seen.insights) + "\n" if seen.insights else None,
    }
    newest = records_text(screen, seen.recent)
    title = screen.styled("newest:", "bold")
    return "\n".join([values_text(screen, values), *([title, newest] if newest else [])])


# --- records ---


def hits_text(screen: Screen, hits: Sequence[Hit]) -> str:
    """Each hit in two lines: what it is, and what it says; a third where files that it is about are
    others by now.
    """
    lines: list[str] = []
    for hit in hits:
        more = f"{', stale' if hit.stale else ''}, {hit.record.metadata.context.timestamp:%Y-%m-%d}"
        lines += _record_lines(screen, hit.record, f"{hit.score:.2f}", more)
        if hit.changed:
            changes = screen.line("; ".join(map(str, hit.changed)), screen.width - 2)
            lines.append("  " + screen.styled(changes, "yellow"))
    return "\n".join(lines) or screen.styled("Nothing here answers that.", "dim")


def records_text(screen: Screen, records: Iterable[AnyRecord]) -> str:
    """Each record in two lines: what it is, and what it says."""
    lines: list[str] = []
    for record in records:
        at = f"{record.metadata.context.timestamp:%Y-%m-%d %H:%M}"
        lines += _record_lines(screen, record, at)
    return "\n".join(lines)


def _record_lines(screen: Screen, record: AnyRecord, start: str, more: str = "") -> tuple[str, str]:
    """`more` is told of it beside its status."""
    name = judge_record(record)
    shown = screen.styled(f"  {visible(name)}" if name else "", STYLES.get(name, ""))
    about = f"  {record.kind}, {record.metadata.validation.status}{more}, {record.id}"
    return (
        screen.styled(start, "bold") + shown + screen.styled(about, "dim"),
        "  " + screen.line(headline(record), screen.width - 2),
    )


def record_text(screen: Screen, record: AnyRecord) -> str:
    """All of a record: first what it says, then where it comes from."""
    from hardwon.surfaces.shapes import jsonable  # it takes a while to load

    shape = jsonable(record)
    if record.kind == "trajectory":
        shape.setdefault("final_reward", REWARD_UNKNOWN)
    shape["metadata"] = shape.pop("metadata")
    return values_text(screen, shape)


def status_text(record: AnyRecord) -> str:
    return f"{record.id} is {record.metadata.validation.status}"


def decisions_text(screen: Screen, decisions: Sequence[Decision]) -> str:
    columns = ("id", "metadata.context.timestamp", "action", "target", "replacement", "text")
    return draw_table(screen, decisions, (*columns, "reason"), "Nothing was decided yet.")


# --- fixes ---

_DONE: Final = ("fix_commands", "analysis")


def fix_outcome(fix: Fix) -> str:
    """Applied is one thing, verified to work another; verified without being applied is neither."""
    applied = "verified" if fix.verification_success else "applied"
    return applied if fix.fix_success else "failed"


def fixes_text(screen: Screen, fixes: Sequence[Fix]) -> str:
    rows = [{"fix": fix, "outcome": fix_outcome(fix)} for fix in fixes]
    about = ("issue.model", "issue.issue_type", "fixer_type", "issue.description", *_DONE)
    columns = ("fix.metadata.context.timestamp", "outcome", *(f"fix.{name}" for name in about))
    return draw_table(screen, rows, columns)


def similar_text(screen: Screen, similar: SimilarIssues) -> str:
    tables = {name: fixes_text(screen, fixes) for name, fixes in vars(similar).items()}
    return draw_sections(screen, tables, "Nothing like that was fixed yet.")


def strategies_text(
    screen: Screen, by_type: Mapping[str, Sequence[Strategy]], nothing: str = ""
) -> str:
    """What was done about each issue type, and how it went."""
    columns = ("attempts", "applied", "verified", "p_success", "last_used", *_DONE)
    tables = {name: draw_table(screen, ways, columns) for name, ways in by_type.items()}
    return draw_sections(screen, tables, nothing)


def patterns_text(
    screen: Screen, patterns: Sequence[Pattern], times: Sequence[TemporalPattern]
) -> str:
    """The issues that keep coming up, then the times at which some do."""
    counts = ("success_count", "failure_count", "applied_count", "p_success", "last_seen")
    columns = ("name", *counts, "best_fix.fix_commands", "best_fix.analysis")
    nothing = "No issue came up more than once yet."
    parts = [draw_table(screen, patterns, columns, nothing)]
    if times:
        parts.append(draw_table(screen, times, ("name", "count", "total", "p_value")))
    return "\n\n".join(parts)


def draw_sections(screen: Screen, texts: Mapping[str, str], nothing: str = "") -> str:
    """Each of these texts under its title; `nothing` where there is none."""
    parts = [
        f"{screen.styled(visible(title.replace('_', ' ')), 'bold')}\n{text}"
        for title, text in texts.items()
        if text
    ]
    return "\n\n".join(parts) or screen.styled(nothing, "dim")
