"""What the records add up to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hardwon.errors import InvalidInputError, LlmError
from hardwon.memory.project import NO_LLM, Uses
from hardwon.records.fields import check_limit, check_text, check_texts
from hardwon.records.kinds import Issue, parse_issue

if TYPE_CHECKING:
    from hardwon.learn.fixes import ModelInsights, Pattern, Solution
    from hardwon.learn.odds import Odds
    from hardwon.learn.rules import Card, Rule, RuleState
    from hardwon.memory.results import Consolidation, SimilarIssues


class Learned(Uses):
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
        check_texts(model=model, issue_type=issue_type, fixer=fixer, tool=tool, task=task)
        if tool is not None or task is not None:
            others = (issue, model, issue_type, fixer)
            if tool is None or any(other is not None for other in others):
                raise InvalidInputError.one(
                    "tool", tool, "a tool, or a tool and a task, and nothing else beside them"
                )
            return self._project.knowledge.tool_odds(tool, " ".join(task.split()) if task else None)
        if issue is None:
            return self._project.knowledge.fix_odds(None, model, issue_type, fixer)
        if model is not None or issue_type is not None:
            raise InvalidInputError.one(
                "issue", issue, "an issue, or a model and issue type, not both"
            )
        given, named_fixer = parse_issue(issue)
        return self._project.knowledge.fix_odds(
            given, None, None, named_fixer if fixer is None else fixer
        )

    def similar_issues(self, issue: Issue | Mapping[str, Any], limit: int = 5) -> SimilarIssues:
        """Earlier attempts to fix this issue or one like it, successes first."""
        return self._project.knowledge.similar_issues(parse_issue(issue)[0], check_limit(limit))

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

    def solutions(self, error: str | None = None, limit: int = 10) -> list[Solution]:
        """What was done after an error (None: after any) in trajectories, what helped most
        first.
        """
        check_texts(error=error)
        return self._project.knowledge.solutions(error, check_limit(limit))

    def rules(
        self, task_id: str | None = None, state: RuleState | None = None, limit: int = 10
    ) -> list[Rule]:
        """What works and what to avoid: for a `task_id`, with what holds for the whole project;
        without one, only the latter. Active rules first, then candidates, then retired ones;
        `state` asks for one of these alone.
        """
        check_texts(task_id=task_id)
        if state not in (None, "candidate", "active", "retired"):
            raise InvalidInputError.one("state", state, "candidate, active or retired")
        return self._project.knowledge.rules(task_id, state, check_limit(limit))

    def cards(self, task_id: str | None = None, limit: int = 10) -> list[Card]:
        """Mistakes that episodes reported, of a `task_id` or of all. Types take turns, so that none
        crowds out the others.
        """
        check_texts(task_id=task_id)
        return self._project.knowledge.cards(task_id, check_limit(limit))

    def consolidate(self, *, llm: bool = False) -> Consolidation:
        """Puts knowledge in order: near-duplicate rules become one, contradictions are linked, what
        proved itself in several tasks holds for the project, what nobody has seen for long retires.
        `llm=True` also asks the LLM (the one the memory was opened with, else the one the
        environment names) for rules; they are candidates. Every decision can be undone.
        """
        from hardwon.memory import consolidate

        if not isinstance(llm, bool):
            raise InvalidInputError.one(
                "llm", llm, "true or false; the model itself is given to Memory(llm=…)"
            )
        if not llm:
            return consolidate.consolidate(self._project, None)
        try:
            model = self._project.llm
        except LlmError as error:
            notes = [f"the LLM was of no use, the rest was done without it: {error}"]
            return consolidate.consolidate(self._project, None, notes)
        return consolidate.consolidate(self._project, model, [] if model else [NO_LLM])
