"""What a fixer is told before the next attempt, in the order in which it matters: how the model did
so far, what worked for this very issue, for its type on the model, for its type anywhere, and what
is not to be repeated. Reads only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from operator import attrgetter
from typing import Final

from hardwon import limits
from hardwon.lessons.adopted import FIX_HISTORY, find_hints
from hardwon.lessons.fixes import RankedStrategy, Tried, concerns
from hardwon.lessons.sources import few_of_each
from hardwon.memory.fix_lessons import FIXES_LISTED_MAX, FixReading, Strategy, word_strategy
from hardwon.memory.tallies import LOOKED_INTO_MAX
from hardwon.records.kinds import VOUCHED_STATUSES, Adopted, Issue
from hardwon.tell.lines import (
    DONE,
    FAILED,
    KNOWN,
    Draft,
    drop_mark_of_command,
    make_mark,
    name_sources,
)
from hardwon.text.clean import clean_line
from hardwon.text.terms import spelled_alike

# Strategies of each sort in the context for a fixer: for this very issue, for its type on its
# model, for its type anywhere, and those that are not to be repeated. A fixer tries one at a time,
# and the likeliest comes first.
FIXES_IN_CONTEXT_MAX: Final = 3

NOT_AGAIN: Final = "failed"
# The sorts of lessons about strategies; of each, FIXES_IN_CONTEXT_MAX are said.
SORTS: Final = ("signature", "model", "type", NOT_AGAIN)
# Times as many as are said: a source may have no room left for its second.
_CONSIDERED: Final = 2
# Notes about a model; one about the issue's own type comes first.
_NOTES_MAX: Final = 1
_COMMON_ISSUES_MAX: Final = 3


def say_fixes(
    known: FixReading, issue: Issue, fixer: str | None, history_tokens_max: int, *, alone: bool
) -> Iterator[Draft]:
    """Nothing where nothing is known. Every strategy is in one line at most. A line about the model
    that has more tokens than it may is cut to its figures.
    """
    # first, for it reads at once what the model's history needs of it
    (worked, failed), most = known.choose_for(issue, fixer), FIXES_IN_CONTEXT_MAX
    if issue.model and (by_type := known.find_issues(issue.model)):
        yield _say_model(known, issue, fixer, by_type, history_tokens_max, alone=alone)
    for sort in SORTS:
        due = failed if sort == NOT_AGAIN else [one for one in worked if one.scope == sort]
        drafts = (
            _say_strategy(ranked, word_strategy(ranked, used), issue, sort, alone=alone)
            for ranked in few_of_each(due, attrgetter("source"), most)
            if (used := known.read_fixes_for(ranked, issue))
            and (ranked.scope == "signature" or concerns(used.record, issue))
        )
        yield from islice(drafts, _CONSIDERED * most)
    brought_in = known.adopted(FIX_HISTORY, LOOKED_INTO_MAX)
    hints = (_say_hint(hint, base) for base in brought_in for hint in find_hints(base, issue))
    yield from islice(hints, most)


def _say_hint(hint: str, record: Adopted) -> Draft:
    """What a knowledge base says that was brought in: one source's word."""
    text = drop_mark_of_command(clean_line(hint, limits.LESSON_CHARS_MAX))
    vouched = int(record.metadata.validation.status in VOUCHED_STATUSES)
    return Draft(
        f"from a knowledge base: {text} {make_mark(name_sources([record.said_by], vouched))}",
        KNOWN,
        (record.said_by,),
        vouched,
        (record.id,),
        frozenset({spelled_alike(text)}),
        "what a knowledge base says of such issues",
        sort=KNOWN,
    )


def _say_model(
    known: FixReading,
    issue: Issue,
    fixer: str | None,
    by_type: Sequence[Tried],
    tokens_max: int,
    *,
    alone: bool,
) -> Draft:
    """How fixes of the model went so far, `by_type` of issue. What a single source came up with, where
    there are several, is not told: what it is called are that source's words alone.
    """
    model = issue.model or ""
    odds = known.fix_odds(model=model, fixer=fixer)
    authors = sorted({author for support in by_type for author in support.by_author})
    heard = [one for one in by_type if len(authors) == 1 or one.only_source is None]
    heard = heard[:FIXES_LISTED_MAX]
    vouched = sum(support.whole.checked for support in by_type)
    name = clean_line(model, limits.NAME_CHARS_MAX)
    attempts = f"{odds.attempts} attempt{'' if odds.attempts == 1 else 's'}"
    counts = f"{name}: {attempts}, {odds.verified} verified, p = {odds.p_success:.2f}"
    common = ", ".join(f"{one.item} ({one.whole.attempts})" for one in heard[:_COMMON_ISSUES_MAX])
    first = f"{issue.issue_type} "
    notes = sorted(known.write_notes(model, heard), key=lambda note: not note.startswith(first))
    details = [
        clean_line(detail, limits.LESSON_CHARS_MAX)
        for detail in (f"common issues: {common}" if common else "", *notes[:_NOTES_MAX])
    ]
    mark = make_mark(name_sources(authors, vouched, alone=alone))
    line = drop_mark_of_command("; ".join(filter(None, (counts, *details))))
    # Several together say nothing that one of them would have to share the room for.
    return Draft(
        f"{line} {mark}".rstrip(),
        KNOWN,
        tuple(authors) if len(authors) == 1 else (),
        vouched,
        why="how fixes of the model went",
        tokens_max=tokens_max,
        shorter=lambda _: f"{counts} {mark}".rstrip(),
    )


def _say_strategy(
    ranked: RankedStrategy, strategy: Strategy, issue: Issue, sort: str, *, alone: bool
) -> Draft:
    """Commands are data: they are shown, and run by nobody here."""
    done = clean_line(strategy.action, limits.LESSON_CHARS_MAX, begins_line=False)
    done = drop_mark_of_command(done)
    who = name_sources(strategy.sources, strategy.vouched, alone=alone)
    failed = strategy.attempts - strategy.verified
    if sort == NOT_AGAIN:
        where = " for this very issue" if ranked.scope == "signature" else ""
        times = f"{strategy.attempts} of {strategy.attempts} times"
        line = f"did not work{where}, {times}; do not repeat: {done} {make_mark(who)}".rstrip()
    else:
        kind, model = (
            clean_line(name, limits.NAME_CHARS_MAX) for name in (issue.issue_type, issue.model)
        )
        about = {"signature": "this very issue", "model": f"{kind} on {model}", "type": kind}[sort]
        yet = "but not for this very issue yet" if ranked.failed_here else ""
        p = f"p = {strategy.p_success:.2f}"
        if failed > strategy.verified:
            about += f", failed {failed} of {strategy.attempts} times"
            mark = make_mark(p, yet, who)
        else:
            times = f"worked {strategy.verified} of {strategy.attempts} times"
            mark = make_mark(times, p, yet, who)
        line = f"{about}: {done} {mark}"
    return Draft(
        line,
        FAILED if failed > strategy.verified else DONE,
        strategy.sources,
        strategy.vouched,
        strategy.evidence,
        frozenset({strategy.id, *_name_actions(strategy.fix_commands)}),
        "what was done about the issue",
        sort=sort,
    )


def _name_actions(commands: Sequence[str]) -> tuple[str, str]:
    """What a fix did, as runs are compared by it: its commands one by one, and in one line."""
    return "\n".join(map(spelled_alike, commands)), spelled_alike(" && ".join(commands))
