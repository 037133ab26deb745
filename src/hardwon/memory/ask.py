"""What is known comes back: records, hits, contexts, advice, what was learned, and what there is."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any, Unpack
from uuid import UUID

from hardwon import limits
from hardwon.errors import InvalidInputError, LlmError
from hardwon.first_use import lazy
from hardwon.memory.find import Finder, PastView
from hardwon.memory.later import advise, consolidate, context, lessons, results, solutions
from hardwon.memory.project import NO_LLM, Group
from hardwon.records.fields import (
    TIME_US_MAX,
    Tabular,
    check_all,
    check_choice,
    check_inside,
    check_items,
    check_limit,
    check_prose,
    check_share,
    check_text,
    check_that,
    check_whole_number,
    from_us,
    parse_id,
    to_us,
)
from hardwon.records.kinds import (
    RULE_STATES,
    SOLVED_FROM,
    AnyRecord,
    Issue,
    Metadata,
    Step,
    parse_issue,
)
from hardwon.search.rank import Hit
from hardwon.search.terms import FilterKeywords, Filters, no_filters
from hardwon.store.query import read_current, read_original
from hardwon.store.types import Counts
from hardwon.tell.fence import fence_lines, make_fence_mark
from hardwon.tell.situation import Situation
from hardwon.text.clean import CUT
from hardwon.text.tokens import count_tokens
from hardwon.trust.lifecycle import effective_validation

if TYPE_CHECKING:
    from hardwon.lessons.fix_odds import Odds
    from hardwon.lessons.lesson import Lesson
    from hardwon.lessons.rules import Card, Rule
    from hardwon.memory.context import Context
    from hardwon.memory.fix_lessons import ModelInsights, Pattern
    from hardwon.memory.results import Consolidation, LifeEvent, SimilarIssues
    from hardwon.records.kinds import RuleState
    from hardwon.tell.advice import Advice


@dataclass(frozen=True)
class Stats(Counts, Tabular):
    """What there is, and where. Events do not count creations, which are the records themselves."""

    location: str
    project: str
    size_bytes: int

    @property
    def first(self) -> datetime | None:
        """The time of the oldest record; None where there is none."""
        return None if self.first_us is None else from_us(self.first_us)

    @property
    def last(self) -> datetime | None:
        """The time of the newest record; None where there is none."""
        return None if self.last_us is None else from_us(self.last_us)


class Asking(Group):
    """Answers before the next attempt."""

    def get(self, record_id: str | UUID, as_of: datetime | str | None = None) -> AnyRecord | None:
        """The record of that `record_id` as it stands now, or as it stood then; None where there
        is, or was, no such record.
        """
        wanted, then = check_all(lambda: parse_id(record_id), as_of=as_of)
        stored = self._project.store.get(self._project.name, wanted)
        if stored and then:
            stored = PastView(self._project, then).record(stored)
        return read_current(stored) if stored else None

    def audit(self, record_id: str | UUID) -> list[LifeEvent]:
        """The whole life of the record of that `record_id`, oldest first: created, and everything
        that happened to it since. A forgotten record has its tombstone left; an id that was never
        known gives an empty list.
        """
        wanted = parse_id(record_id)
        stored = self._project.store.get(self._project.name, wanted)
        metadata = read_original(stored).metadata if stored else Metadata()
        begun = metadata.context.timestamp, metadata.source.author, metadata.validation.status
        life = [results.LifeEvent("created", *begun)] if stored else []
        events = self._project.store.list_events(self._project.name, wanted)
        for number, event in enumerate(events, 1):
            status = effective_validation(metadata.validation, events[:number]).status
            shown = "" if event.kind == "forgotten" else status
            life.append(results.LifeEvent(event.kind, event.at, event.by, shown, event))
        return life

    def browse(
        self, limit: int | None = None, **filters: Unpack[FilterKeywords]
    ) -> Iterator[AnyRecord]:
        """Records that pass all filters, newest first; without a `limit` all of them."""
        _, asked = check_all(
            lambda: limit is None or check_whole_number("limit", limit, 0, sys.maxsize),
            lambda: Filters.of(self._project.name, {**filters}),
        )
        self._project.listener.before_read()
        records = map(read_current, self._project.pages(asked, limit))
        return records if limit is None else islice(records, limit)

    def recall(
        self,
        query: str,
        k: int = 5,
        *,
        as_of: datetime | str | None = None,
        **filters: Unpack[FilterKeywords],
    ) -> list[Hit]:
        """The `k` records that answer the `query` best, each with its score and why. Archived ones
        only where `status="archived"` asks for them, and a source that was rolled back only where
        `author` does. `as_of` a time: what was believed then, of what was recorded by then and is
        not forgotten.
        """
        project = self._project
        _, _, asked, at = check_all(
            lambda: check_text("query", query),
            lambda: check_whole_number("k", k, 1, limits.SHOWN_MAX),
            lambda: Filters.of(project.name, {**filters}) if filters else no_filters(),
            as_of=as_of,
        )
        project.listener.before_read()
        if at is not None:
            last = from_us(min(to_us(at) + 1, TIME_US_MAX))
            asked = asked.copy_with(until=last if asked.until is None else min(asked.until, last))
            finder = Finder(project, at)
            hits = finder.find(query, k, asked, PastView(project, at))
            return finder.read_hits(hits, marked=False)
        finder = self._finder
        return finder.read_hits(finder.find(query, k, asked))

    def context(
        self,
        query: str | None = None,
        *,
        task_id: str | None = None,
        issue: Issue | Mapping[str, Any] | None = None,
        budget_tokens: int = limits.CONTEXT_TOKENS,
        count_tokens: Callable[[str], int] = count_tokens,
        solved_from: float = SOLVED_FROM,
        explain: bool = False,
    ) -> Context:
        """What matters before the next attempt, ready for a prompt: what was done before at the
        `query` or a task like it and worked, what failed, rules of the `task_id`, known fixes of the
        `issue`, what is known of what is asked, what was seen. Never more than `budget_tokens`,
        counted on the very text. The text is data: it is fenced, and says so. Where there is nothing
        to say it is empty, and `empty_reason` says why. `count_tokens` counts for your own model;
        the default is an estimate, right on average. A reward of `solved_from` or more solved a
        task; what earned less solved it in part, and what earned nothing failed. With `explain`,
        `lines` tells of every line why it is there, and `unsaid` what was not said.
        """

        def count(text: str) -> int:
            """The caller's figure, if it is one."""
            most = limits.JSON_INT_ABS_MAX
            return check_whole_number("count_tokens(text)", count_tokens(text), 0, most)

        most, allowed = limits.CONTEXT_TOKENS_MAX, "a function from text to a number of tokens"
        (given_issue, fixer), budget, solved, *_ = check_all(
            lambda: (None, None) if issue is None else parse_issue(issue),
            lambda: check_whole_number("budget_tokens", budget_tokens, 1, most),
            lambda: check_share("solved_from", solved_from),
            lambda: check_that(callable(count_tokens), "count_tokens", count_tokens, allowed),
            query=query,
            task_id=task_id,
            explain=explain,
        )
        self._project.listener.before_read()
        asked = context.ContextRequest(
            query or "", task_id, given_issue, fixer, budget, count, solved, explain
        )
        with self._project.store.together(self._project.name):
            return context.Recaller(self._project, asked).compose()

    def advise(
        self,
        action: str,
        *,
        task: str | None = None,
        error: str | None = None,
        issue: Issue | Mapping[str, Any] | None = None,
        steps: Sequence[Step | Mapping[str, Any]] = (),
        author: str | None = None,
    ) -> Advice:
        """What is known of an action before it is taken: whether it failed here before, how likely
        it is to work, what worked instead. `task` is what it is for, `error` what is to be got rid
        of, `issue` what is to be fixed, `steps` are those of the current attempt so far, `author` is
        who takes it: for an issue, the fixer.
        """
        _, (given_issue, fixer), so_far, *_ = check_all(
            lambda: check_prose("action", action),
            lambda: (None, None) if issue is None else parse_issue(issue),
            lambda: [
                step
                if isinstance(step, Step)
                else check_inside(f"steps.{place}", Step.model_validate, step)
                for place, step in enumerate(check_items("steps", steps))
            ],
            task=task,
            error=error,
            author=author,
        )
        asked = action, task, error, given_issue, author or fixer
        with self._project.store.together(self._project.name):
            adviser = advise.Adviser(self._project, *asked)
            return adviser.advise(so_far[-limits.STEPS_LEARNED_MAX :])

    @lazy
    def _finder(self) -> Finder:
        return Finder(self._project)

    def stats(self) -> Stats:
        """How much there is, of what, and where."""
        self._project.listener.before_read()
        return Stats(
            **vars(self._project.store.counts(self._project.name)),
            location=self._project.store.location,
            project=self._project.name,
            size_bytes=self._project.store.size_bytes(self._project.name),
        )


def as_data(lines: Iterable[str]) -> str:
    """Lines that others wrote, for a model: fenced, with a mark that nobody can know, and as many
    as one can read.
    """
    cut = [line.replace("\n", " ")[: limits.CONTEXT_LINE_CHARS_MAX] for line in lines]
    ends = accumulate(len(line) + 1 for line in cut)
    kept = sum(end <= limits.TOOL_TEXT_CHARS_MAX for end in ends)
    more = [f"{CUT} {len(cut) - kept} more lines were left out"] if kept < len(cut) else []
    return fence_lines([*cut[:kept], *more], make_fence_mark(int.from_bytes(os.urandom(8))))


def advice_text(advice: Advice) -> str:
    """Advice for a model: the verdict and its numbers are ours, what they rest on is data."""
    often = f", identical failures: {advice.failures}" if advice.failures else ""
    return f"{advice.verdict} (p = {advice.p_success:.2f}{often})\n{as_data([advice.message])}"


class Learned(Group):
    """Tells what was learned, and puts it in order."""

    def odds(
        self,
        issue: Issue | Mapping[str, Any] | None = None,
        *,
        model: str | None = None,
        issue_type: str | None = None,
        fixer: str | None = None,
        tool: str | None = None,
        task: str | None = None,
    ) -> Odds:
        """How likely something is to work, and on what that rests: a fix for an `issue` (its
        `fixer_type` is the fixer, where `fixer` names none), fixes of a `model`, an `issue_type` or
        both, a `tool` at a `task`; with nothing said, all fixes.
        """
        (given_issue, named_fixer), *_ = check_all(
            lambda: (None, None) if issue is None else parse_issue(issue),
            model=model,
            issue_type=issue_type,
            fixer=fixer,
            tool=tool,
            task=task,
        )
        known = self._project.knowledge
        if tool is not None or task is not None:
            others = any(value is not None for value in (issue, model, issue_type, fixer))
            if tool is None or others:
                allowed = "a tool, or a tool and a task, and nothing else beside them"
                raise InvalidInputError.one("tool", tool, allowed)
            return known.tool_odds(tool, " ".join(task.split()) if task else None)
        alone = issue is None or (model is None and issue_type is None)
        check_that(alone, "issue", issue, "an issue, or a model and issue type, not both")
        fixer = named_fixer if fixer is None else fixer
        return known.fix_odds(given_issue, model=model, issue_type=issue_type, fixer=fixer)

    def similar_issues(self, issue: Issue | Mapping[str, Any], limit: int = 5) -> SimilarIssues:
        """Earlier attempts to fix this issue or one like it, successes first."""
        (given_issue, _), most = check_all(lambda: parse_issue(issue), lambda: check_limit(limit))
        return self._project.knowledge.similar_issues(given_issue, most)

    def patterns(self, limit: int = 20) -> list[Pattern]:
        """Issues that came up, by signature, by model and type, and by type; the most frequent
        first.
        """
        with self._project.store.together(self._project.name):
            return self._project.knowledge.patterns(check_limit(limit))

    def model_insights(self, name: str) -> ModelInsights:
        """What is known of the model of this `name`: how its fixes went, its common issues, and
        what helped.
        """
        return self._project.knowledge.model_insights(check_text("name", name))

    def solutions(
        self,
        error: str | None = None,
        limit: int = 10,
        *,
        action: str | None = None,
        task: str | None = None,
    ) -> list[Lesson]:
        """What made this `error` go away, the most likely first, then what helped against one that
        is like it and what was tried in vain; None: what helped against any, the newest first.
        `action` is what it came from, `task` what that was for. Nothing where nothing is known.
        """
        check_all(error=error, limit=limit, action=action, task=task)
        finder = solutions.SolutionFinder(self._project)
        if error is None:
            return finder.list_lessons(limit, "cure")
        failure = lessons.read_shown_failure(error, action or "")
        situation = Situation(task or "", action or "", failure)
        with self._project.store.together(self._project.name):
            return finder.find_solutions(situation)[:limit]

    def rules(
        self, task_id: str | None = None, state: RuleState | None = None, limit: int = 10
    ) -> list[Rule]:
        """What works and what to avoid: for a `task_id`, with what holds for the whole project;
        without one, only the latter. Active rules first, then candidates, then retired ones;
        `state` asks for one of these alone.
        """
        check_all(lambda: check_choice("state", state, RULE_STATES), task_id=task_id, limit=limit)
        return self._project.knowledge.rules(task_id, state, limit)

    def cards(self, task_id: str | None = None, limit: int = 10) -> list[Card]:
        """Mistakes that episodes reported, of a `task_id` or of all. Types take turns, so that none
        crowds out the others.
        """
        check_all(task_id=task_id, limit=limit)
        return self._project.knowledge.cards(task_id, limit)

    def consolidate(self, *, llm: bool = False) -> Consolidation:
        """Has an LLM write down rules, with `llm=True`: the one the memory was opened with, else the one the
        environment names. They are candidates, and each can be undone. All else that episodes teach is
        put in order whenever it is asked for: rules that say nearly the same are one, what holds in
        several tasks holds for the project, what no episode shows any more is retired.
        """
        allowed = "true or false; the model itself is given to Memory(llm=…)"
        check_that(isinstance(llm, bool), "llm", llm, allowed)
        try:
            model = self._project.llm if llm else None
        except LlmError as error:
            return results.Consolidation([], [f"the LLM was of no use: {error}"])
        if model is None:
            return results.Consolidation([], [NO_LLM] if llm else [])
        return consolidate.consolidate(self._project, model)
