"""What the records add up to."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from hardwon import limits
from hardwon.errors import InvalidInputError, LlmError
from hardwon.memory import intake
from hardwon.memory.project import NO_LLM, Core
from hardwon.records.kinds import ACTIONS, Action, Adopted, Decision, Issue
from hardwon.search.terms import Filters

if TYPE_CHECKING:
    from hardwon.fixes.reports import (
        FixCell,
        FixDay,
        FixerRecord,
        FixTotals,
        IssueTrend,
        IssueTypeRecord,
    )
    from hardwon.learn.compare import Comparison
    from hardwon.learn.fixes import ModelInsights, Pattern, Solution, Strategy, TemporalPattern
    from hardwon.learn.odds import Odds
    from hardwon.learn.rules import Card, Rule, RuleState, ScoreHistory, TaskScores
    from hardwon.memory.results import Consolidation, SimilarIssues
    from hardwon.outside.llm import Llm


class Learned(Core):
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
        for name, value in (
            ("model", model),
            ("issue_type", issue_type),
            ("fixer", fixer),
            ("tool", tool),
            ("task", task),
        ):
            intake.optional_text(name, value)
        if tool is not None or task is not None:
            others = (issue, model, issue_type, fixer)
            if tool is None or any(other is not None for other in others):
                raise InvalidInputError.one(
                    "tool", tool, "a tool, or a tool and a task, and nothing else beside them"
                )
            return self._known.tool_odds(tool, " ".join(task.split()) if task else None)
        if issue is None:
            return self._known.fix_odds(None, model, issue_type, fixer)
        if model is not None or issue_type is not None:
            raise InvalidInputError.one(
                "issue", issue, "an issue, or a model and issue type, not both"
            )
        given, named_fixer = intake.issue(issue)
        return self._known.fix_odds(given, None, None, named_fixer if fixer is None else fixer)

    def similar_issues(self, issue: Issue | Mapping[str, Any], limit: int = 5) -> SimilarIssues:
        """Earlier attempts to fix this issue or one like it, successes first."""
        return self._known.similar_issues(intake.issue(issue)[0], _limit(limit))

    def patterns(self, limit: int = 20) -> list[Pattern]:
        """Issues that came up, by signature, by model and type, and by type; the most frequent
        first.
        """
        return self._known.patterns(_limit(limit))

    def temporal_patterns(self) -> list[TemporalPattern]:
        """Hours and weekdays at which an issue type comes up more often than chance explains; the
        least likely first.
        """
        return self._known.temporal_patterns()

    def strategies(self, issue_type: str, limit: int = 10) -> list[Strategy]:
        """What was done about an `issue_type`, the likeliest to succeed first."""
        usual = self.odds(issue_type=intake.text("issue_type", issue_type)).p_success
        return self._known.strategies("type", issue_type, usual, _limit(limit))

    def failed_strategies(self, issue_type: str, limit: int = 10) -> list[Strategy]:
        """What was done about an `issue_type` and failed more often than it succeeded, what failed
        most first.
        """
        usual = self.odds(issue_type=intake.text("issue_type", issue_type)).p_success
        return self._known.failed_strategies(issue_type, usual, _limit(limit))

    def best_strategies(self, limit: int = 5) -> dict[str, list[Strategy]]:
        """What succeeded, by issue type: the most frequent type first, and of each, up to `limit`,
        the likeliest to succeed again.
        """
        return self._known.best_strategies(_limit(limit))

    def model_insights(self, name: str) -> ModelInsights:
        """What is known of the model of this `name`: how its fixes went, its common issues, and
        what helped.
        """
        return self._known.model_insights(intake.text("name", name))

    def fix_totals(self) -> FixTotals:
        """How many attempts to fix something there were, how they turned out, on how many models
        and issue types.
        """
        return self._known.fix_totals()

    def fix_days(self, days: int = limits.FIX_DAYS) -> list[FixDay]:
        """Attempts per day (UTC): every day from the first with an attempt, among the last `days`
        with today, up to today.
        """
        return self._known.fix_days(intake.whole_number("days", days, 1, limits.FIX_DAYS_MAX))

    def fix_types(self, days: int | None = None) -> list[IssueTypeRecord]:
        """How attempts at every issue type turned out, in the last `days` (None: ever); what failed
        most often first.
        """
        asked = None if days is None else intake.whole_number("days", days, 1, limits.FIX_DAYS_MAX)
        return self._known.fix_types(asked)

    def fix_matrix(self) -> list[FixCell]:
        """Attempts by model and issue type, and how likely the next one is to succeed; the most
        frequent first.
        """
        return self._known.fix_matrix()

    def fix_trends(self, days: int = limits.FIX_DAYS) -> list[IssueTrend]:
        """Which issue types come up more often, or less often, than at the beginning of the last
        `days`; the surest first.
        """
        return self._known.fix_trends(intake.whole_number("days", days, 1, limits.FIX_DAYS_MAX))

    def fixers(self) -> list[FixerRecord]:
        """How every fixer did, and how likely its next attempt is to succeed; the busiest first."""
        return self._known.fixers()

    def fixes_since(self, since: datetime | str | int) -> int:
        """How many attempts to fix something there were from the exact time `since` on."""
        asked = Filters.of(self.project, {"since": since}).since
        if asked is None:
            raise InvalidInputError.one("since", since, "a time")
        return self._known.fixes_since(asked)

    def solutions(self, error: str | None = None, limit: int = 10) -> list[Solution]:
        """What was done after an error (None: after any) in trajectories, what helped most
        first.
        """
        intake.optional_text("error", error)
        return self._known.solutions(error, _limit(limit))

    def rules(
        self, task_id: str | None = None, state: RuleState | None = None, limit: int = 10
    ) -> list[Rule]:
        """What works and what to avoid: for a `task_id`, with what holds for the whole project;
        without one, only the latter. Active rules first, then candidates, then retired ones;
        `state` asks for one of these alone.
        """
        intake.optional_text("task_id", task_id)
        if state not in (None, "candidate", "active", "retired"):
            raise InvalidInputError.one("state", state, "candidate, active or retired")
        return self._known.rules(task_id, state, _limit(limit))

    def candidate_rules(self, limit: int = 20) -> list[Rule]:
        """Rules that wait to be borne out, or to be verified: of the whole project, and of the
        tasks that were tried most. Those that an LLM wrote down come first, then those that most
        episodes speak for.
        """
        return self._known.candidate_rules(_limit(limit))

    def cards(self, task_id: str | None = None, limit: int = 10) -> list[Card]:
        """Mistakes that episodes reported, of a `task_id` or of all. Types take turns, so that none
        crowds out the others.
        """
        intake.optional_text("task_id", task_id)
        return self._known.cards(task_id, _limit(limit))

    def tasks(self, limit: int = 20) -> list[TaskScores]:
        """The tasks with the most episodes: how many, their mean and best score, and whether they
        go better of late.
        """
        return self._known.tasks(_limit(limit))

    def scores(self, task_id: str) -> ScoreHistory:
        """How the task of this `task_id` went: mean, best, trend, and the newest scores."""
        return self._known.scores(intake.text("task_id", task_id))

    def compare(
        self,
        task_id: str | None = None,
        *,
        tag: str | None = None,
        by_run: bool = False,
        **filters: Any,
    ) -> Comparison:
        """Whether the memory helps, at a `task_id` or at all: scores of episodes that had it
        against scores of those that had not. An episode had it that says what it recalled, be it
        nothing (`recalled=`, or `ep.context()`); or, with a `tag`, that has this one. `by_run`: the
        episodes of a run (`source.id`) count as one, which is right where they learn from one
        another. Filters as in `browse`; of very many episodes the newest are compared.
        """
        for name, value in (("task_id", task_id), ("tag", tag)):
            intake.optional_text(name, value)
        if not isinstance(by_run, bool):
            raise InvalidInputError.one("by_run", by_run, "true or false")
        asked = Filters.of(self.project, {**filters, "task_id": task_id})
        if asked.kind not in (None, "episode"):
            raise InvalidInputError.one("kind", asked.kind, "episode: nothing else has a score")
        from hardwon.learn.compare import compare

        return compare(self._known.scored(asked.altered(kind="episode"), tag), by_run=by_run)

    def decisions(
        self, action: Action | None = None, task_id: str | None = None, limit: int = 100
    ) -> list[Decision]:
        """What was decided about knowledge and not undone, newest first; `action` asks for one
        sort. Of a `task_id`: with what concerns the whole project.
        """
        intake.optional_text("task_id", task_id)
        if action is not None and action not in ACTIONS:
            raise InvalidInputError.one("action", action, f"one of {', '.join(ACTIONS)}")
        return self._known.decisions(ACTIONS if action is None else (action,), task_id)[
            : _limit(limit)
        ]

    def adopted(self, origin: str, limit: int = 100) -> list[Adopted]:
        """What was adopted from one sort of store (`origin`), without records, and still counts;
        the newest first.
        """
        return self._known.adopted(intake.text("origin", origin), _limit(limit))

    def failing_tests(self) -> list[str]:
        """The tests that failed when they last ran, as far as runs were recorded."""
        from hardwon.capture import tests as feedback

        found = feedback.results(self._store, self.project, self.now())
        return sorted(name for name, result in found.items() if result.failure)

    def consolidate(self, *, llm: bool = False) -> Consolidation:
        """Puts knowledge in order: near-duplicate rules become one, contradictions are linked, what
        proved itself in several tasks holds for the project, what nobody has seen for long retires.
        `llm=True` also asks the LLM (the one the memory was opened with, else the one the
        environment names) for rules; they are candidates. Every decision can be undone.
        """
        from hardwon.memory import consolidate as consolidating

        if not isinstance(llm, bool):
            raise InvalidInputError.one(
                "llm", llm, "true or false; the model itself is given to Memory(llm=…)"
            )
        model, notes = self._configured_llm() if llm else (None, [])
        return consolidating.consolidate(
            self._store, self.project, self._known, self._prepare, self.now(), model, notes
        )

    def _configured_llm(self) -> tuple[Llm | None, list[str]]:
        try:
            found = self._find_llm()
        except LlmError as error:
            return None, [f"the LLM was of no use, the rest was done without it: {error}"]
        return found, [] if found else [NO_LLM]


def _limit(limit: int) -> int:
    return intake.whole_number("limit", limit, 1, limits.SHOWN_MAX)
