"""What a fixer is told before the next attempt, in the order in which it matters: how the model did so far, what worked for
this very issue, for its type on the model, for its type anywhere, and what is not to be repeated. Reads only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from hardwon import limits
from hardwon.knowledge import Knowledge, few_of_each
from hardwon.learn.choosing import Choice
from hardwon.learn.patterns import ModelHistory, Strategy
from hardwon.model import Issue
from hardwon.recall.fence import clean_line
from hardwon.recall.lesson import Lesson, command_without_mark, sources_mark

NOT_AGAIN: Final = "failed"
SORTS: Final = ("signature", "model", "type", NOT_AGAIN)
"""The sorts of lessons about strategies; of each, FIXES_IN_CONTEXT_MAX are said."""

_CONSIDERED: Final = 2  # times as many as are said: a source may have no room left for its second


def fixer_lessons(known: Knowledge, issue: Issue, fixer: str | None, history_tokens_max: int) -> Iterator[Lesson]:
    """Nothing where nothing is known. Every strategy is in one lesson at most. A line about the model that has more tokens
    than it may is cut to its figures."""
    history = known.model_history(issue.model, fixer) if issue.model else None
    if history:
        yield _of_model(history, issue.issue_type, history_tokens_max)
    found = known.choices_for(issue, fixer)
    for sort in SORTS[:-1]:
        for choice, strategy in _worded(known, (each for each in found.worked if each.scope == sort)):
            yield _of_worked(choice, strategy, issue)
    for choice, strategy in _worded(known, found.failed):
        yield _of_failed(choice, strategy)


def _worded(known: Knowledge, choices: Iterable[Choice]) -> Iterator[tuple[Choice, Strategy]]:
    most = limits.FIXES_IN_CONTEXT_MAX
    allowed = few_of_each(choices, lambda choice: choice.ranked.support.only_source, most)
    found = ((choice, known.worded_strategy(choice.ranked)) for choice in allowed)
    yield from islice(((choice, strategy) for choice, strategy in found if strategy), _CONSIDERED * most)


def _of_model(history: ModelHistory, issue_type: str, tokens_max: int) -> Lesson:
    name = clean_line(history.model_name, limits.NAME_CHARS_MAX)
    counts = f"{name}: {_times(history.attempts, 'attempt')}, {history.verified} verified, p = {history.p_success:.2f}"
    common = ", ".join(f"{issue} ({count})" for issue, count in history.issues[: limits.ISSUES_IN_CONTEXT_MAX])
    own = sorted(history.notes, key=lambda note: not note.startswith(f"{issue_type} "))[: limits.NOTES_IN_CONTEXT_MAX]
    details = [clean_line(each, limits.LESSON_CHARS_MAX) for each in (f"common issues: {common}" if common else "", *own)]
    mark = f"[{sources_mark(history.sources, history.vouched)}]"
    line = command_without_mark("; ".join(filter(None, (counts, *details))))
    # Several together say nothing that one of them would have to share the room for.
    sources = history.sources if len(history.sources) == 1 else ()
    return Lesson(f"{line} {mark}", sources, history.vouched, tokens_max=tokens_max, shorter=lambda _: f"{counts} {mark}")


def _of_worked(choice: Choice, strategy: Strategy, issue: Issue) -> Lesson:
    kind, model = (clean_line(name, limits.NAME_CHARS_MAX) for name in (issue.issue_type, issue.model))
    about = {"signature": "this very issue", "model": f"{kind} on {model}", "type": kind}[choice.scope]
    went = f"worked {strategy.verified} of {strategy.attempts} times, p = {strategy.p_success:.2f}"
    if choice.failed_here:
        went += ", but not for this very issue yet"
    return _of_strategy(f"{about}: {_done(strategy)} [{went}, {_mark(strategy)}]", strategy, choice.scope)


def _of_failed(choice: Choice, strategy: Strategy) -> Lesson:
    where = " for this very issue" if choice.scope == "signature" else ""
    warning = f"did not work{where}, {strategy.attempts} of {strategy.attempts} times; do not repeat"
    return _of_strategy(f"{warning}: {_done(strategy)} [{_mark(strategy)}]", strategy, NOT_AGAIN)


def _of_strategy(line: str, strategy: Strategy, sort: str) -> Lesson:
    return Lesson(line, strategy.sources, strategy.vouched, strategy.evidence, sort=sort, strategy=strategy.id)


def _done(strategy: Strategy) -> str:
    """Commands are data: they are shown, and run by nobody here."""
    return command_without_mark(clean_line(" && ".join(strategy.fix_commands) or strategy.analysis, limits.LESSON_CHARS_MAX))


def _mark(strategy: Strategy) -> str:
    return sources_mark(strategy.sources, strategy.vouched)


def _times(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
