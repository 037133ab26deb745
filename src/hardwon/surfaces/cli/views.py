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

if TYPE_CHECKING:
    from hardwon.learn.fixes import ModelInsights, Pattern, Strategy, TemporalPattern
    from hardwon.learn.odds import Odds
    from hardwon.learn.rules import ScoreHistory
    from hardwon.learn.topology import Branch, Hotspot, Reflection
    from hardwon.memory.ask import Stats
    from hardwon.memory.results import SimilarIssues
    from hardwon.search.rank import Hit

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


class Screen(NamedTuple):
    """What is drawn on: how many cells wide, in ASCII alone or not, with colours or without."""

    width: int = 80
    ascii_only: bool = False
    colour: bool = False

    def styled(self, text: str, style: str) -> str:
        """The text in a colour or a weight, where there are colours."""
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self.colour and style and text else text

    def visible(self, text: str) -> str:
        return visible(text, self.ascii_only)

    def line(self, text: str, cells: int = 0) -> str:
        """The text on one line of at most so many cells; 0: of the whole width."""
        return self.cut(self.visible(" ".join(text[: 8 * self.width].split())), cells or self.width)

    def cut(self, text: str, cells: int) -> str:
        """At most so many cells, with a sign that it was cut."""
        room = max(4, cells)
        if count_cells(text) <= room:
            return text
        from rich.cells import set_cell_size

        more = "..." if self.ascii_only else "…"
        return set_cell_size(text, room - len(more)) + more

    def bar(self, share: float, cells: int = 10) -> str:
        full = max(1, round(min(share, 1) * cells)) if share > 0 else 0
        block, empty = ("#", ".") if self.ascii_only else ("█", "░")
        return block * full + empty * (cells - full)


def count_cells(text: str) -> int:
    """How many cells of a terminal the text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def pad(texts: Iterable[str], to_the_right: bool = False) -> list[str]:
    """The texts as a column: all as wide as the widest."""
    column = list(texts)
    widest = max(map(count_cells, column), default=0)
    blanks = [" " * (widest - count_cells(text)) for text in column]
    if to_the_right:
        return [blank + text for blank, text in zip(blanks, column, strict=True)]
    return [text + blank for blank, text in zip(blanks, column, strict=True)]


def draw_table(
    screen: Screen,
    rows: Sequence[Any],
    columns: Iterable[str],
    nothing: str = "",
    head: bool = True,
) -> str:
    """A table of these attributes of the rows; `nothing` where there are no rows."""
    if not rows:
        return screen.styled(nothing, "dim")
    # whoever draws no table does not wait for it
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=head)
    texts = []
    for name in columns:
        values = [row[name] if isinstance(row, Mapping) else getattr(row, name) for row in rows]
        shown = [screen.line(text_value(value)) for value in values]
        texts.append([Text(text, style=STYLES.get(text, "")) for text in shown])
        is_number = all(isinstance(value, int | float | None) for value in values)
        is_short = is_number or max(map(len, shown)) <= 20 or name == "id"
        table.add_column(
            Text(name.replace("_", " "), style="bold"),
            justify="right" if is_number else "left",
            no_wrap=is_short,
            min_width=max(map(len, shown)) if name == "id" else None,
            overflow="fold",
        )
    for cells in zip(*texts, strict=True):
        table.add_row(*cells)
    console = Console(
        width=screen.width,
        color_system="standard" if screen.colour else None,
        force_terminal=screen.colour,
        no_color=not screen.colour,
        legacy_windows=False,
        _environ={},
    )
    with console.capture() as drawn:
        console.print(table)
    return "\n".join(line.rstrip() for line in drawn.get().splitlines())


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


def values_text(screen: Screen, values: Mapping[str, Any]) -> str:
    """Names and values, what is inside of them below them; what is empty is left out."""
    return "\n".join(_value_lines(screen, values, ""))


def _value_lines(screen: Screen, values: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, value in values.items():
        if _is_empty(value):
            continue
        title = indent + screen.styled(f"{screen.visible(name)}:", "bold")
        text = "" if isinstance(value, Mapping) else text_value(value)
        if isinstance(value, list | tuple) and any(
            isinstance(inner, Mapping) or "\n" in text_value(inner) for inner in value
        ):
            value = {str(number): inner for number, inner in enumerate(value, 1)}
        if isinstance(value, Mapping):
            yield from (title, *_value_lines(screen, value, indent + "  "))
        elif "\n" in text:
            yield title
            yield from (f"{indent}  {screen.visible(line)}" for line in text.splitlines())
        else:
            yield f"{title} {screen.visible(text)}"


def _is_empty(value: object) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_empty, value.values()))
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


# --- the tree ---


def map_text(
    screen: Screen,
    branch: Branch,
    depth: int = limits.TOPOLOGY_DEPTH_MAX,
    min_share: float = 0.0,
    sizes: bool = False,
) -> str:
    """The tree: a bar, the count and the share of the folder above for every folder. `depth` is how
    many levels are shown; folders below `min_share` are summed up in one line.
    """
    rows = [(screen.visible(branch.name), "bold", branch.count, 0, branch.bytes)]
    rows += _map_rows(screen, branch, "", "", depth, min_share)
    room, bars = max(8, screen.width - 44), min(24, max(0, screen.width - 44))
    names = pad(screen.cut(row[0], room) for row in rows)
    counts = pad((str(row[2]) for row in rows), to_the_right=True)
    lines = []
    for name, count, (_, style, number, above, size) in zip(names, counts, rows, strict=True):
        share = number / above if above else 0.0
        bar = screen.bar(share, bars) if above else " " * bars
        line = f"{screen.styled(name, style)}  {screen.styled(bar, style)}  {count}"
        line += f"  {percent(share) if above else '':>4}" + (
            f"  {size_text(size)}" if sizes else ""
        )
        lines.append(line.rstrip())
    return "\n".join(lines)


def _map_rows(
    screen: Screen, parent: Branch, twigs: str, style: str, levels: int, min_share: float
) -> Iterator[tuple[str, str, int, int, int]]:
    """Of what lies below: its name behind its twig, its style, its count, that of the folder above,
    and its bytes.
    """
    if not levels:
        return
    inner = list(parent.branches)
    large = [branch for branch in inner if branch.count >= min_share * parent.count]
    rest = inner[len(large) :]  # largest first, so what is too small comes last
    entries: list[tuple[str, str, int, int, Branch | None]] = [
        (branch.name, style or _folder_style(branch.name), branch.count, branch.bytes, branch)
        for branch in large
    ]
    if rest:
        more = "..." if screen.ascii_only else "…"
        count, size = sum(small.count for small in rest), sum(small.bytes for small in rest)
        entries.append((f"{more} {len(rest)} more", "dim", count, size, None))
    direct = parent.count - sum(branch.count for branch in inner)
    if inner and direct:
        size = parent.bytes - sum(branch.bytes for branch in inner)
        entries.append(("(directly here)", "dim", direct, size, None))
    for number, (name, own, count, size, branch) in enumerate(entries, 1):
        last = number == len(entries)
        twig = ("|- ", "`- ") if screen.ascii_only else ("├─ ", "└─ ")
        yield f"{twigs}{twig[last]}{screen.visible(name)}", own, count, parent.count, size
        if branch:
            below = "   " if last else "|  " if screen.ascii_only else "│  "
            yield from _map_rows(screen, branch, twigs + below, own, levels - 1, min_share)


def _folder_style(name: str) -> str:
    """The colour of the outcome that a folder is named after."""
    return STYLES.get(name.partition("=")[2] or name, "")


def hotspots_text(screen: Screen, spots: Sequence[Hotspot]) -> str:
    """One hotspot a line: its share of the folder above it, its count, its area."""
    counts = pad((str(spot.count) for spot in spots), to_the_right=True)
    lines = []
    for spot, count in zip(spots, counts, strict=True):
        style = _folder_style(spot.path.partition("/")[0])
        bar, area = screen.bar(spot.share), screen.visible(spot.area)
        line = f"{screen.styled(bar, style)}  {percent(spot.share):>4}  {count}"
        lines.append(f"{line}  {screen.styled(area, style)}")
    return "\n".join(lines) or screen.styled("No folder holds so much of the one above it.", "dim")


def reflection_text(screen: Screen, seen: Reflection) -> str:
    counts = {**seen.by_outcome, **({INTAKE: seen.intake} if seen.intake else {})}
    newest = [
        (f"{record.metadata.context.timestamp:%Y-%m-%d %H:%M}", judge_record(record), record)
        for record in seen.recent
    ]
    names = pad(name for _, name, _ in newest)
    shown = [
        f"  {at}  {screen.styled(name, STYLES.get(name.strip(), ''))}  {screen.line(headline(record), screen.width - 33)}"
        for (at, _, record), name in zip(newest, names, strict=True)
    ]
    failed, worked = (seen.by_outcome.get(name, 0) for name in ("failure", "success"))
    parts = [
        screen.styled(f"{seen.total} {'memory' if seen.total == 1 else 'memories'}", "bold"),
        *_count_lines(screen, counts.items(), seen.total),
        *_section(screen, "By tool", _count_lines(screen, seen.by_tool.items(), seen.total, "")),
        *_section(screen, "Failures gather in", _count_lines(screen, seen.hotspots, failed, "red")),
        *_section(
            screen, "Successes gather in", _count_lines(screen, seen.strengths, worked, "green")
        ),
        *_section(screen, "In short", [f"  {screen.visible(text)}" for text in seen.insights]),
        *_section(screen, "Newest", shown),
    ]
    return "\n".join(parts)


def _section(screen: Screen, title: str, lines: Sequence[str]) -> list[str]:
    """What stands under a title; nothing where that is nothing."""
    return ["", screen.styled(title, "bold"), *lines] if lines else []


def _count_lines(
    screen: Screen, rows: Iterable[tuple[str, int]], whole: int, style: str | None = None
) -> list[str]:
    """A name, its count, its share and a bar in each line. `style`: None for that of an outcome of
    that name.
    """
    rows = list(rows)
    names = pad(screen.visible(name) for name, _ in rows)
    counts = pad((str(count) for _, count in rows), to_the_right=True)
    lines = []
    for name, count, (plain, number) in zip(names, counts, rows, strict=True):
        own = STYLES.get(plain, "") if style is None else style
        share = number / whole if whole else 0.0
        bar = screen.styled(screen.bar(share), own)
        lines.append(f"  {screen.styled(name, own)}  {count}  {percent(share):>4}  {bar}")
    return lines


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
        screen.styled(f"{name:<10}", "bold") + screen.visible(value)
        for name, value in facts.items()
        if value
    ]
    for what in ("kind", "outcome", "tool", "status", "author"):
        rows = sorted(getattr(stats, f"by_{what}").items(), key=lambda row: (-row[1], row[0]))
        shown = _count_lines(screen, rows[: limits.SCREEN_ITEMS], stats.records)
        lines += _section(screen, f"By {what}", shown)
    return "\n".join(lines)


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
    return "\n".join(
        line
        for record in records
        for line in _record_lines(
            screen, record, f"{record.metadata.context.timestamp:%Y-%m-%d %H:%M}"
        )
    )


def _record_lines(screen: Screen, record: AnyRecord, start: str, more: str = "") -> tuple[str, str]:
    """`more` is told of it beside its status."""
    name = judge_record(record)
    shown = screen.styled(f"  {screen.visible(name)}" if name else "", STYLES.get(name, ""))
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


def odds_text(screen: Screen, odds: Odds) -> str:
    """How likely it is, what was seen of exactly that, and what the number rests on."""
    seen = "nothing like that was tried yet"
    if odds.attempts:
        seen = f"{odds.verified} of {odds.attempts} worked, {odds.applied} applied"
    counts = [basis for basis in odds.basis if basis.attempts]
    scopes = pad(screen.visible(basis.scope) for basis in counts)
    lines = [
        f"  {scope}  " + screen.styled(f"{basis.verified} of {basis.attempts} worked", "dim")
        for scope, basis in zip(scopes, counts, strict=True)
    ]
    first = screen.styled(f"p_success {odds.p_success:.2f}  ", "bold") + seen
    return "\n".join([first, *_section(screen, "From", lines)[1:]])


def scores_text(screen: Screen, scores: ScoreHistory) -> str:
    if scores.episodes:
        return values_text(screen, vars(scores))
    return screen.styled(f"No episode of {screen.visible(scores.task_id)} is recorded here.", "dim")


def decisions_text(screen: Screen, decisions: Iterable[Decision]) -> str:
    rows = [
        {
            "id": decision.id,
            "at": decision.metadata.context.timestamp,
            "action": decision.action,
            "about": " ".join(
                filter(
                    None, (decision.target, decision.replacement, decision.text, decision.reason)
                )
            ),
        }
        for decision in decisions
    ]
    return draw_table(screen, rows, ("id", "at", "action", "about"), "Nothing was decided yet.")


# --- fixes ---


def fix_outcome(fix: Fix) -> str:
    """Applied is one thing, verified to work another; verified without being applied is neither."""
    applied = "verified" if fix.verification_success else "applied"
    return applied if fix.fix_success else "failed"


def fixes_text(screen: Screen, fixes: Sequence[Fix]) -> str:
    """One attempt a row: when, how it went, on which model, what was wrong, who fixed it."""
    rows = [
        {
            "at": fix.metadata.context.timestamp,
            "outcome": fix_outcome(fix),
            "model": fix.issue.model,
            "issue_type": fix.issue.issue_type,
            "fixer": fix.fixer_type,
            "description": fix.issue.description,
        }
        for fix in fixes
    ]
    return draw_table(screen, rows, rows[0] if rows else (), head=False)


def similar_text(screen: Screen, similar: SimilarIssues) -> str:
    rows = [
        {
            "match": name,
            "outcome": fix_outcome(fix),
            "at": fix.metadata.context.timestamp,
            "model": fix.issue.model,
            "issue_type": fix.issue.issue_type,
            "what_was_done": " ; ".join(fix.fix_commands) or fix.analysis,
        }
        for name, fixes in vars(similar).items()
        for fix in fixes
    ]
    nothing = "Nothing like that was fixed yet."
    return draw_table(screen, rows, rows[0] if rows else (), nothing)


def outcome_counts(fixes: Sequence[Fix]) -> str:
    outcomes = [fix_outcome(fix) for fix in fixes]
    return ", ".join(f"{outcomes.count(name)} {name}" for name in ("verified", "applied", "failed"))


def strategies_text(screen: Screen, strategies: Iterable[Strategy]) -> str:
    """Two lines each: how it went, and what it is."""
    lines = []
    for strategy in strategies:
        worked = f"  worked {strategy.verified} of {strategy.attempts}"
        rest = f"  p_success {strategy.p_success:.2f}  applied {strategy.applied}"
        rest += f"  last {strategy.last_used:%Y-%m-%d}"
        style = "green" if strategy.verified else "red"
        lines += [screen.styled(worked, style) + screen.styled(rest, "dim")]
        lines += ["    " + screen.line(_strategy_line(strategy), screen.width - 4)]
    return "\n".join(lines)


def _strategy_line(strategy: Strategy) -> str:
    return " ; ".join(strategy.fix_commands) or strategy.analysis or "(nothing was said)"


def best_text(screen: Screen, by_type: Mapping[str, Sequence[Strategy]]) -> str:
    parts = [
        f"{screen.styled(screen.visible(name), 'bold')}\n{strategies_text(screen, strategies)}"
        for name, strategies in by_type.items()
    ]
    return "\n\n".join(parts) or screen.styled("No fix was verified to work yet.", "dim")


def patterns_text(
    screen: Screen, patterns: Sequence[Pattern], times: Iterable[TemporalPattern]
) -> str:
    lines = []
    for pattern in patterns:
        attempts = pattern.success_count + pattern.failure_count
        rate = pattern.success_count / attempts if attempts else 0.0
        best = _strategy_line(pattern.best_fix) if pattern.best_fix else "none worked so far"
        worked = f"  success {pattern.success_count} of {attempts} ({percent(rate)})"
        rest = f"  applied {pattern.applied_count}  confidence {pattern.confidence:.2f}"
        name = screen.line(pattern.name, screen.width - 12)
        lines += [
            screen.styled(name, "bold") + screen.styled(f"  {pattern.last_seen:%Y-%m-%d}", "dim"),
            screen.styled(worked, "green" if rate else "red")
            + f"{rest}  p_success {pattern.p_success:.2f}",
            screen.styled("  best fix: ", "dim") + screen.line(best, screen.width - 12),
        ]
    lines = lines or [screen.styled("No issue came up more than once yet.", "dim")]
    for time in times:
        count = f"  {time.count} of {time.total}  expected {time.expected_share * time.total:.1f}"
        lines += [screen.styled(screen.line(time.name), "bold")]
        lines += [screen.styled(f"{count}  p {time.p_value:.2g}", "dim")]
    return "\n".join(lines)


def model_text(screen: Screen, insights: ModelInsights) -> str:
    name, odds = screen.visible(insights.model_name), insights.odds
    if not insights.total_tests:
        return screen.styled(f"No fix of {name} is recorded here.", "dim")
    low, high = odds.interval
    issues = [f"  {count:>6}  {screen.visible(kind)}" for kind, count in insights.common_issues]
    helped = strategies_text(screen, insights.effective_fixes)
    notes = [f"  {screen.visible(note)}" for note in insights.performance_notes]
    return "\n".join(
        [
            screen.styled(name, "bold"),
            f"  attempts {insights.total_tests}  applied {odds.applied}  verified {odds.verified}",
            f"  success rate {percent(insights.success_rate)}  "
            f"p_success {odds.p_success:.2f} ({low:.2f} to {high:.2f})",
            *_section(screen, "Common issues", issues),
            *_section(screen, "What helped", [helped] if helped else []),
            *_section(screen, "Compared with other models", notes),
        ]
    )
