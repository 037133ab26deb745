"""What a person reads in a terminal of each thing: the map of a memory, its hotspots, what it says
about itself, records, fixes. Commands are shown as they were recorded, and never run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from hardwon import limits
from hardwon.records.kinds import INTAKE, AnyRecord, Decision, Fix, headline
from hardwon.records.kinds import outcome_of as outcome_of_record
from hardwon.search.rank import Hit
from hardwon.surfaces.cli.main import (
    QUIET,
    STRONG,
    Line,
    Look,
    Span,
    aligned,
    one_line,
    table_lines,
    value_lines,
    visible,
)
from hardwon.text.terms import counted as counted

if TYPE_CHECKING:
    from hardwon.learn.fixes import ModelInsights, Pattern, Strategy, TemporalPattern
    from hardwon.learn.odds import Odds
    from hardwon.learn.rules import ScoreHistory
    from hardwon.learn.topology import Branch, Hotspot, Reflection
    from hardwon.memory.ask import Stats
    from hardwon.memory.results import SimilarIssues

# The colour of an outcome, which everything below its folder has too.
STYLES: Final[Mapping[str, str]] = {
    "success": "green",
    "failure": "red",
    "learning": "cyan",
    "interaction": "magenta",
    INTAKE: "yellow",
}


def percent(share: float) -> str:
    """Never 0% or 100% where that is not so."""
    if 0 < share < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def size_text(size_bytes: int) -> str:
    power = min((max(size_bytes, 1).bit_length() - 1) // 10, 4)
    unit = ("B", "KiB", "MiB", "GiB", "TiB")[power]
    return f"{size_bytes / 1024**power:.1f} {unit}" if power else f"{size_bytes} {unit}"


# --- the map ---


def map_lines(
    branch: Branch,
    look: Look,
    *,
    depth: int = limits.TOPOLOGY_DEPTH_MAX,
    min_share: float = 0.0,
    sizes: bool = False,
) -> list[Line]:
    """The tree: a bar, the count and the share of the folder above for every folder. `depth` is how
    many levels are shown; folders below `min_share` are summed up in one line.
    """
    from hardwon.learn.topology import Branch  # the one who asks for a map has loaded it

    bar = min(24, max(0, look.width - 44))

    def row(name: str, of: Branch, style: str, above: int = 0) -> list[Span]:
        share = of.count / above if above else 0.0
        shown = (look.bar(share, bar), percent(share)) if above else ("", "")
        size = [Span(size_text(of.bytes), QUIET)] if sizes else []
        return [
            Span(name, style),
            Span(shown[0], style),
            Span(str(of.count)),
            Span(f"{shown[1]:>4}", QUIET),
            *size,
        ]

    def rows(parent: Branch, twigs: str, style: str, levels: int) -> Iterator[list[Span]]:
        inner = list(parent.branches)
        shown = [each for each in inner if each.count >= min_share * parent.count]
        # largest first, so what is too small comes last
        entries = [(each, style or _style_of(each.name)) for each in shown]
        if rest := inner[len(shown) :]:
            sums = (sum(each.count for each in rest), sum(each.bytes for each in rest))
            entries.append((Branch(f"{look.more} {len(rest)} more", *sums), QUIET))
        direct = parent.count - sum(each.count for each in inner)
        if inner and direct:
            size = parent.bytes - sum(each.bytes for each in inner)
            entries.append((Branch("(directly here)", direct, size), QUIET))
        for number, (each, own) in enumerate(entries if levels else [], 1):
            last = number == len(entries)
            twig = ("|- ", "`- ") if look.ascii_only else ("├─ ", "└─ ")
            yield row(f"{twigs}{twig[last]}{look.visible(each.name)}", each, own, parent.count)
            below = "   " if last else "|  " if look.ascii_only else "│  "
            yield from rows(each, twigs + below, own, levels - 1)

    top = row(look.visible(branch.name), branch, STRONG)
    return aligned([top, *rows(branch, "", "", depth)], look, (2, 3, 4), (1,))


def _style_of(name: str) -> str:
    """That of the outcome which a folder is named after."""
    return STYLES.get(name.partition("=")[2] or name, "")


# --- hotspots, reflection, statistics ---


def hotspot_lines(spots: Sequence[Hotspot], look: Look) -> list[Line]:
    """One hotspot a line: its share of the folder above it, its count, its area."""
    if not spots:
        return [(Span("No folder holds so much of the one above it.", QUIET),)]
    rows = [
        [
            Span(look.bar(spot.share), style),
            Span(f"{percent(spot.share):>4}"),
            Span(str(spot.count)),
            Span(look.visible(spot.area), style),
        ]
        for spot in spots
        for style in [_style_of(spot.path.partition("/")[0])]
    ]
    return aligned(rows, look, (1, 2), (0,))


def reflection_lines(found: Reflection, look: Look) -> list[Line]:
    counts = {**found.by_outcome, **({INTAKE: found.intake} if found.intake else {})}
    newest = [
        [
            Span(f"  {record.metadata.context.timestamp:%Y-%m-%d %H:%M}", QUIET),
            Span(look.visible(name), STYLES.get(name, "")),
            Span(one_line(headline(record), look)),
        ]
        for record in found.recent
        for name in [outcome_of_record(record)]
    ]
    failed, worked = (found.by_outcome.get(name, 0) for name in ("failure", "success"))
    return [
        (Span(f"{found.total} {'memory' if found.total == 1 else 'memories'}", STRONG),),
        *_counted(counts.items(), found.total, look),
        *_section("By tool", _counted(found.by_tool.items(), found.total, look, "")),
        *_section("Failures gather in", _counted(found.hotspots, failed, look, "red")),
        *_section("Successes gather in", _counted(found.strengths, worked, look, "green")),
        *_section("In short", _text_lines(found.insights, look)),
        *_section("Newest", aligned(newest, look, whole=(0,))),
    ]


def _section(title: str, lines: list[Line]) -> list[Line]:
    """What stands under a title; nothing where that is nothing."""
    return [(), (Span(title, STRONG),), *lines] if lines else []


def _text_lines(texts: Iterable[str], look: Look) -> list[Line]:
    return [(Span(f"  {look.visible(text)}"),) for text in texts]


def _counted(
    rows: Iterable[tuple[str, int]], whole: int, look: Look, style: str | None = None
) -> list[Line]:
    """A name, its count, its share and a bar in each line. `style`: None for that of an outcome of
    that name.
    """
    shown = [
        [
            Span(f"  {look.visible(name)}", own),
            Span(str(count)),
            Span(f"{percent(share):>4}"),
            Span(look.bar(share), own),
        ]
        for name, count in rows
        for share in [count / whole if whole else 0.0]
        for own in [STYLES.get(name, "") if style is None else style]
    ]
    return aligned(shown, look, (1, 2), (3,))


def stats_lines(stats: Stats, look: Look) -> list[Line]:
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
    lines: list[Line] = [
        (Span(f"{name:<10}", STRONG), Span(look.visible(value)))
        for name, value in facts.items()
        if value
    ]
    for what in ("kind", "outcome", "tool", "status", "author"):
        rows = sorted(getattr(stats, f"by_{what}").items(), key=lambda row: (-row[1], row[0]))
        shown = rows[: limits.SCREEN_ITEMS]
        lines += _section(f"By {what}", _counted(shown, stats.records, look))
    return lines


# --- records ---


def hit_lines(hits: Sequence[Hit], look: Look) -> list[Line]:
    """Each hit in two lines: what it is, and what it says; a third where files that it is about are
    others by now.
    """
    lines: list[Line] = []
    for hit in hits:
        more = f"{', stale' if hit.stale else ''}, {hit.record.metadata.context.timestamp:%Y-%m-%d}"
        lines += _two_lines(hit.record, f"{hit.score:.2f}", look, more)
        if hit.changed:
            changes = one_line("; ".join(map(str, hit.changed)), look)
            lines.append((Span("  " + look.cut(changes, look.width - 2), STYLES[INTAKE]),))
    return lines or [(Span("Nothing here answers that.", QUIET),)]


def record_lines(records: Sequence[AnyRecord], look: Look) -> list[Line]:
    """Each record in two lines: what it is, and what it says."""
    return [
        line
        for record in records
        for line in _two_lines(record, f"{record.metadata.context.timestamp:%Y-%m-%d %H:%M}", look)
    ]


def _two_lines(record: AnyRecord, start: str, look: Look, more: str = "") -> list[Line]:
    """`more` is said of it beside its status."""
    name = outcome_of_record(record)
    first = (
        Span(start, STRONG),
        Span(f"  {look.visible(name)}" if name else "", STYLES.get(name, "")),
        Span(f"  {record.kind}, {record.metadata.validation.status}{more}, {record.id}", QUIET),
    )
    return [first, (Span("  " + look.cut(one_line(headline(record), look), look.width - 2)),)]


def odds_lines(odds: Odds, look: Look) -> list[Line]:
    """How likely it is, what was seen of exactly that, and what the number rests on."""
    seen = "nothing like that was tried yet"
    if odds.attempts:
        seen = f"{odds.verified} of {odds.attempts} worked, {odds.applied} applied"
    rows = [
        [Span(f"  {each.scope}"), Span(f"{each.verified} of {each.attempts} worked", QUIET)]
        for each in odds.basis
        if each.attempts
    ]
    return [
        (Span(f"p_success {odds.p_success:.2f}  ", STRONG), Span(seen)),
        *_section("From", aligned(rows, look))[1:],
    ]


def scores_lines(scores: ScoreHistory, look: Look) -> list[Line]:
    if not scores.episodes:
        nothing = f"No episode of {look.visible(scores.task_id)} is recorded here."
        return [(Span(nothing, QUIET),)]
    return value_lines(vars(scores), look)


def page_lines(page: Any, how: Look) -> list[Line]:
    lines = record_lines(page.records, how) or [(Span("No records.", QUIET),)]
    if page.next:
        lines.append((Span(f"The newest {len(page.records)}; there are more.", QUIET),))
    return lines


def status_text(record: AnyRecord, _: Look) -> str:
    return f"{record.id} is {record.metadata.validation.status}"


def decision_row(decision: Decision) -> SimpleNamespace:
    about = (decision.target, decision.replacement, decision.text, decision.reason)
    return SimpleNamespace(
        id=decision.id,
        at=decision.metadata.context.timestamp,
        action=decision.action,
        about=" ".join(filter(None, about)),
    )


def undone_text(record: AnyRecord, _: Look) -> str:
    if isinstance(record, Decision):
        return f"undone: {record.action}" + (f" of {record.target}" if record.target else "")
    return f"undone: {record.id} is {record.metadata.validation.status} again"


_CONSOLIDATED: Final = {
    "merged": "merged with one that says nearly the same",
    "contradictions": "contradiction",
    "promoted": "holds for the whole project",
    "retired": "retired",
    "written": "written as a candidate",
}


def consolidated_text(done: Any, _: Look) -> str:
    lines = [f"{counted(len(done.decisions), 'decision')} made"]
    for name, what in _CONSOLIDATED.items():
        lines += [
            f"{each.id}  {what}: {each.text or each.reason or each.target}"
            for each in getattr(done, name)
        ]
    return "\n".join([*lines, *done.notes])


def finding_lines(found: Any, _: Look) -> list[Line]:
    marks = {True: Span("ok   ", "green"), False: Span("BAD  ", "bold red")}
    return [
        (marks[each.ok], Span(f"{each.check}: ", STRONG), Span(visible(each.detail)))
        for each in found.findings
    ]


# --- fixes ---

_STYLE_OF_FIX: Final = {"verified": "green", "applied": "yellow", "failed": "red"}


def outcome_of(fix: Fix) -> str:
    """Applied is one thing, verified to work another; verified without being applied is neither."""
    applied = "verified" if fix.verification_success else "applied"
    return applied if fix.fix_success else "failed"


def fix_lines(fixes: Sequence[Fix], look: Look) -> list[Line]:
    """One attempt a line: when, how it went, on which model, what was wrong, who fixed it."""
    rows = [
        [
            Span(f"{fix.metadata.context.timestamp:%Y-%m-%d %H:%M}", QUIET),
            Span(outcome_of(fix), _STYLE_OF_FIX[outcome_of(fix)]),
            *(
                Span(look.cut(look.visible(name), max(24, look.width // 5)))
                for name in (fix.issue.model, fix.issue.issue_type, fix.fixer_type)
            ),
            Span(one_line(fix.issue.description, look), QUIET),
        ]
        for fix in fixes
    ]
    return aligned(rows, look, whole=(0, 1))


def similar_lines(found: SimilarIssues, look: Look) -> list[Line]:
    rows = [
        SimpleNamespace(
            match=name,
            outcome=outcome_of(fix),
            at=fix.metadata.context.timestamp,
            model=fix.issue.model,
            issue_type=fix.issue.issue_type,
            what_was_done=" ; ".join(fix.fix_commands) or fix.analysis,
        )
        for name, fixes in vars(found).items()
        for fix in fixes
    ]
    columns = ("match", "outcome", "at", "model", "issue_type", "what_was_done")
    return table_lines(rows, columns, look, "Nothing like that was fixed yet.")


def outcome_counts(fixes: Sequence[Fix]) -> str:
    outcomes = [outcome_of(fix) for fix in fixes]
    return ", ".join(f"{outcomes.count(name)} {name}" for name in _STYLE_OF_FIX)


def strategy_lines(strategies: Sequence[Strategy], look: Look) -> list[Line]:
    """Two lines each: how it went, and what it is."""
    return [
        line
        for each in strategies
        for line in (
            (
                Span(
                    f"  worked {each.verified} of {each.attempts}",
                    "green" if each.verified else "red",
                ),
                Span(
                    f"  p_success {each.p_success:.2f}  applied {each.applied}  "
                    f"last {each.last_used:%Y-%m-%d}",
                    QUIET,
                ),
            ),
            (Span("    " + look.cut(_what(each, look), look.width - 4)),),
        )
    ]


def _what(strategy: Strategy, look: Look) -> str:
    return one_line(
        " ; ".join(strategy.fix_commands) or strategy.analysis or "(nothing was said)", look
    )


def successful_lines(by_type: Mapping[str, Sequence[Strategy]], look: Look) -> list[Line]:
    lines = [
        line
        for issue_type, strategies in by_type.items()
        for line in _section(look.visible(issue_type), strategy_lines(strategies, look))
    ]
    return lines[1:] or [(Span("No fix was verified to work yet.", QUIET),)]


def pattern_lines(patterns: Sequence[Pattern], look: Look) -> list[Line]:
    lines: list[Line] = []
    for each in patterns:
        attempts = each.success_count + each.failure_count
        rate = each.success_count / attempts if attempts else 0.0
        best = _what(each.best_fix, look) if each.best_fix else "none worked so far"
        worked = f"  success {each.success_count} of {attempts} ({percent(rate)})"
        rest = f"  applied {each.applied_count}  confidence {each.confidence:.2f}  p_success {each.p_success:.2f}"
        name = look.cut(look.visible(each.name), look.width - 12)
        lines += [
            (Span(name, STRONG), Span(f"  {each.last_seen:%Y-%m-%d}", QUIET)),
            (Span(worked, "green" if rate else "red"), Span(rest)),
            (Span("  best fix: ", QUIET), Span(look.cut(best, look.width - 12))),
        ]
    return lines or [(Span("No issue came up more than once yet.", QUIET),)]


def temporal_lines(patterns: Sequence[TemporalPattern], look: Look) -> list[Line]:
    return [
        line
        for each in patterns
        for line in (
            (Span(look.cut(look.visible(each.name)), STRONG),),
            (
                Span(
                    f"  {each.count} of {each.total}  expected "
                    f"{each.expected_share * each.total:.1f}  p {each.p_value:.2g}",
                    QUIET,
                ),
            ),
        )
    ]


def model_lines(insights: ModelInsights, look: Look) -> list[Line]:
    name, odds = look.visible(insights.model_name), insights.odds
    if not insights.total_tests:
        return [(Span(f"No fix of {name} is recorded here.", QUIET),)]
    facts = (
        f"attempts {insights.total_tests}  applied {odds.applied}  verified {odds.verified}",
        f"success rate {percent(insights.success_rate)}  p_success {odds.p_success:.2f} "
        "({:.2f} to {:.2f})".format(*odds.interval),
    )
    issues = (f"{count:>6}  {issue_type}" for issue_type, count in insights.common_issues)
    return [
        (Span(name, STRONG),),
        *_text_lines(facts, look),
        *_section("Common issues", _text_lines(issues, look)),
        *_section("What helped", strategy_lines(insights.effective_fixes, look)),
        *_section("Compared with other models", _text_lines(insights.performance_notes, look)),
    ]
