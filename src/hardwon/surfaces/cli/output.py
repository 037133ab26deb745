"""What a person reads in a terminal: the map of a memory, its hotspots, what it says about itself.

Everything is drawn as lines of spans, a text and a style each; `shown` makes them a string, with
colours only where it is told to. Whatever came out of a memory passes `visible` first: a folder's
name or a record's text may hold anything, also what a terminal would obey.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from hardwon import limits
from hardwon.errors import InvalidInputError
from hardwon.records.kinds import INTAKE, AnyRecord
from hardwon.search.rank import headline, outcome_of

if TYPE_CHECKING:
    from hardwon.learn.topology import Branch, Hotspot, Reflection
    from hardwon.memory.ask import Stats
    from hardwon.search.rank import Hit

STYLES: Final[Mapping[str, str]] = {
    "success": "green",
    "failure": "red",
    "learning": "cyan",
    "interaction": "magenta",
    INTAKE: "yellow",
}
"""The colour of an outcome, which everything below its folder has too."""

QUIET: Final = "dim"
STRONG: Final = "bold"
_SHARE_CELLS: Final = 4
_SIZE_CELLS: Final = 9
_NAME_CELLS_MIN: Final = 12
_BAR_CELLS_MIN: Final = 6
_BAR_CELLS_MAX: Final = 24
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
    def twigs(self) -> tuple[str, str, str]:
        """Before a folder, before the last one, and before what lies in a folder that is not the
        last.
        """
        return ("|- ", "`- ", "|  ") if self.ascii_only else ("├─ ", "└─ ", "│  ")

    def fitted(self, text: str, cells: int) -> str:
        """Exactly so many cells: filled up, or cut with a sign that it was."""
        taken = cells_of(text)
        if taken > cells:
            text = cut(text, max(0, cells - len(self.more))) + self.more[: max(0, cells)]
            taken = cells_of(text)
        return text + " " * (cells - taken)


def shown(lines: Iterable[Line], colour: bool = False) -> str:
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
    written = []
    for char in text:
        plain = char.isprintable() and (char.isascii() or not ascii_only)
        written.append(char if plain else char.encode("unicode_escape").decode("ascii"))
    return "".join(written)


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
    if text.isascii():
        return text[:cells]
    for place, char in enumerate(text):
        cells -= _cells(char)
        if cells < 0:
            return text[:place]
    return text


# --- the map ---


class _Row(NamedTuple):
    """One line of the map before it is fitted: where it hangs, its name, what it holds, and of how
    much.
    """

    twigs: str
    name: str
    amount: int
    bytes: int
    share: float
    style: str
    bar: bool = True


def map_lines(
    branch: Branch,
    look: Look,
    *,
    depth: int | None = None,
    min_share: float = 0.0,
    sizes: bool = False,
) -> list[Line]:
    """The tree: a bar, the count and the share of the folder above for every folder. `depth` is how
    many levels are shown; folders below `min_share` are summed up in one line.
    """
    if depth is not None and depth < 1:
        raise InvalidInputError.one("depth", depth, "a whole number, 1 or more")
    if not 0 <= min_share <= 1:
        raise InvalidInputError.one("min_share", min_share, "a number from 0 to 1")
    levels = limits.TOPOLOGY_DEPTH_MAX if depth is None else depth
    top = _Row("", look.visible(branch.name), branch.count, branch.bytes, 1.0, STRONG, bar=False)
    rows = [top, *_rows(branch, look, "", "", levels, min_share)]
    count_cells = max(len(str(branch.count)), len("count"))
    fixed = 2 + count_cells + 2 + _SHARE_CELLS + (2 + _SIZE_CELLS if sizes else 0)
    longest = max(cells_of(row.twigs) + cells_of(row.name) for row in rows)
    bar = min(_BAR_CELLS_MAX, max(_BAR_CELLS_MIN, look.width - fixed - longest - 2))
    name = min(longest, look.width - fixed - bar - 2)
    if name < min(longest, _NAME_CELLS_MIN):  # too narrow for both: the name says more than the bar
        bar, name = 0, max(_NAME_CELLS_MIN, min(longest, look.width - fixed))
    return [_map_line(row, look, name, bar, count_cells, sizes) for row in rows]


def _rows(
    parent: Branch, look: Look, above: str, style: str, levels: int, min_share: float
) -> Iterator[_Row]:
    if levels < 1 or not parent.branches:
        return
    shown_ones = [
        inner for inner in parent.branches if _share(inner.count, parent.count) >= min_share
    ]
    rest = parent.branches[len(shown_ones) :]  # largest first, so what is too small comes last
    direct = parent.count - sum(inner.count for inner in parent.branches)
    direct_bytes = parent.bytes - sum(inner.bytes for inner in parent.branches)
    before, last, go_on = look.twigs
    for number, inner in enumerate(shown_ones, 1):
        is_last = number == len(shown_ones) and not rest and not direct
        own = style or STYLES.get(inner.name.partition("=")[2] or inner.name, "")
        share = _share(inner.count, parent.count)
        yield _Row(
            above + (last if is_last else before),
            look.visible(inner.name),
            inner.count,
            inner.bytes,
            share,
            own,
        )
        yield from _rows(
            inner, look, above + ("   " if is_last else go_on), own, levels - 1, min_share
        )
    if rest:
        count, size = sum(inner.count for inner in rest), sum(inner.bytes for inner in rest)
        twig = above + (before if direct else last)
        yield _Row(
            twig, f"{look.more} {len(rest)} more", count, size, _share(count, parent.count), QUIET
        )
    if direct:
        yield _Row(
            above + last,
            "(directly here)",
            direct,
            direct_bytes,
            _share(direct, parent.count),
            QUIET,
        )


def _map_line(row: _Row, look: Look, name: int, bar: int, count_cells: int, sizes: bool) -> Line:
    twigs = cut(row.twigs, name)
    spans = [Span(twigs, QUIET), Span(look.fitted(row.name, name - cells_of(twigs)), row.style)]
    if bar:
        spans.append(Span("  " + (look.bar(row.share, bar) if row.bar else " " * bar), row.style))
    spans.append(Span(f"  {row.amount:>{count_cells}}"))
    spans.append(Span(f"  {percent(row.share) if row.bar else '':>{_SHARE_CELLS}}", QUIET))
    if sizes:
        spans.append(Span(f"  {size_text(row.bytes):>{_SIZE_CELLS}}", QUIET))
    return tuple(spans)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def percent(share: float) -> str:
    """Never 0% or 100% where that is not so."""
    if 0 < share < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def size_text(size_bytes: int) -> str:
    size = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


# --- hotspots, reflection, statistics ---


def hotspot_lines(spots: Sequence[Hotspot], look: Look) -> list[Line]:
    """One hotspot a line: its share of the folder above it, its count, its area."""
    if not spots:
        return [(Span("No folder holds so much of the one above it.", QUIET),)]
    count_cells = max(len(str(spot.count)) for spot in spots)
    lines: list[Line] = []
    for spot in spots:
        first = spot.path.partition("/")[0]
        style = STYLES.get(first.partition("=")[2] or first, "")
        numbers = f"{percent(spot.share):>{_SHARE_CELLS}}  {spot.count:>{count_cells}}  "
        area = look.fitted(
            look.visible(spot.area), max(_NAME_CELLS_MIN, look.width - len(numbers) - 12)
        )
        lines.append(
            (Span(look.bar(spot.share, 10) + "  ", style), Span(numbers), Span(area, style))
        )
    return lines


def reflection_lines(said: Reflection, look: Look) -> list[Line]:
    lines: list[Line] = [
        (Span(f"{said.total} {'memory' if said.total == 1 else 'memories'}", STRONG),)
    ]
    outcomes = [(name, count, STYLES.get(name, "")) for name, count in said.by_outcome.items()]
    if said.intake:
        outcomes.append((INTAKE, said.intake, STYLES[INTAKE]))
    lines += _counted("", outcomes, said.total, look)
    lines += _counted(
        "By tool", [(name, count, "") for name, count in said.by_tool.items()], said.total, look
    )
    failures, successes = said.by_outcome.get("failure", 0), said.by_outcome.get("success", 0)
    lines += _counted(
        "Failures gather in",
        [(area, count, "red") for area, count in said.hotspots],
        failures,
        look,
    )
    lines += _counted(
        "Successes gather in",
        [(area, count, "green") for area, count in said.strengths],
        successes,
        look,
    )
    if said.insights:
        lines += [(), (Span("In short", STRONG),)]
        lines += [(Span(f"  {look.visible(sentence)}"),) for sentence in said.insights]
    if said.recent:
        lines += [(), (Span("Newest", STRONG),)]
        lines += [_record_line(record, look) for record in said.recent]
    return lines


def _counted(
    title: str, rows: Sequence[tuple[str, int, str]], whole: int, look: Look
) -> list[Line]:
    if not rows:
        return []
    count_cells = max(len(str(count)) for _, count, _ in rows)
    fixed = 2 + 2 + count_cells + 2 + _SHARE_CELLS + 2 + 10
    names = [look.visible(name) for name, _, _ in rows]
    cells = max(_NAME_CELLS_MIN, min(max(map(cells_of, names)), look.width - fixed))
    lines: list[Line] = [(), (Span(title, STRONG),)] if title else []
    for name, (_, count, style) in zip(names, rows, strict=True):
        share = _share(count, whole)
        numbers = f"  {count:>{count_cells}}  {percent(share):>{_SHARE_CELLS}}  "
        bar = look.bar(share, 10) if look.width >= fixed + _NAME_CELLS_MIN else ""
        lines.append(
            (Span(f"  {look.fitted(name, cells)}", style), Span(numbers), Span(bar, style))
        )
    return lines


def stats_lines(stats: Stats, look: Look) -> list[Line]:
    facts = [
        ("memory", stats.location),
        ("project", stats.project),
        ("size", size_text(stats.size_bytes)),
        ("records", str(stats.records)),
        ("forgotten", str(stats.forgotten)),
        ("decisions", str(stats.decisions)),
        ("events", str(stats.events)),
    ]
    if stats.first and stats.last:
        facts.append(("from, to", f"{stats.first:%Y-%m-%d %H:%M}, {stats.last:%Y-%m-%d %H:%M} UTC"))
    lines: list[Line] = [
        (Span(f"{name:<10}", STRONG), Span(look.visible(value))) for name, value in facts
    ]
    for title, counts in (
        ("By kind", stats.by_kind),
        ("By outcome", stats.by_outcome),
        ("By tool", stats.by_tool),
        ("By status", stats.by_status),
        ("By author", stats.by_author),
    ):
        rows = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[
            : limits.HOTSPOTS_SHOWN_MAX
        ]
        lines += _counted(
            title,
            [(name, count, STYLES.get(name, "")) for name, count in rows],
            stats.records,
            look,
        )
    return lines


# --- records ---


def hit_lines(hits: Sequence[Hit], look: Look) -> list[Line]:
    """Each hit in two lines: what it is, and what it says; a third where files that it is about are
    others by now.
    """
    if not hits:
        return [(Span("Nothing here answers that.", QUIET),)]
    lines: list[Line] = []
    for hit in hits:
        day = f"{hit.record.metadata.context.timestamp:%Y-%m-%d}"
        lines += _two_lines(
            hit.record, f"{hit.score:.2f}", look, f"{', stale' if hit.stale else ''}, {day}"
        )
        if hit.changed:
            told = "; ".join(map(str, hit.changed))
            lines.append(
                (Span("  " + look.fitted(one_line(told, look), look.width - 2), STYLES[INTAKE]),)
            )
    return lines


def record_lines(records: Sequence[AnyRecord], look: Look) -> list[Line]:
    """Each record in two lines: what it is, and what it says."""
    return [
        line
        for record in records
        for line in _two_lines(record, f"{record.metadata.context.timestamp:%Y-%m-%d %H:%M}", look)
    ]


def _two_lines(record: AnyRecord, start: str, look: Look, more: str = "") -> list[Line]:
    """`more` is said of it beside its status."""
    name = outcome_of(record)
    facts = f"  {record.kind}, {record.metadata.validation.status}{more}, {record.id}"
    first = (
        Span(start, STRONG),
        Span(f"  {look.visible(name)}" if name else "", STYLES.get(name, "")),
        Span(facts, QUIET),
    )
    return [first, (Span("  " + look.fitted(one_line(headline(record), look), look.width - 2)),)]


def _record_line(record: AnyRecord, look: Look) -> Line:
    name = outcome_of(record)
    start = f"  {record.metadata.context.timestamp:%Y-%m-%d %H:%M}  "
    said = look.fitted(
        one_line(headline(record), look), max(_NAME_CELLS_MIN, look.width - len(start) - 13)
    )
    return (
        Span(start, QUIET),
        Span(look.fitted(look.visible(name), 11) + "  ", STYLES.get(name, "")),
        Span(said),
    )
