"""What episodes add up to: `memory.episodes`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hardwon.errors import InvalidInputError
from hardwon.memory.designs import Group
from hardwon.records.fields import (
    check_flag,
    check_limit,
    check_text,
    check_texts,
)
from hardwon.search.terms import Filters

if TYPE_CHECKING:
    from hardwon.learn.compare import Comparison
    from hardwon.learn.rules import Rule, ScoreHistory, TaskScores


class Episodes(Group):
    """How tasks went, and what their episodes taught: `memory.episodes`."""

    def tasks(self, limit: int = 20) -> list[TaskScores]:
        """The tasks with the most episodes: how many, their mean and best score, and whether they
        go better of late.
        """
        return self._project.knowledge.tasks(check_limit(limit))

    def scores(self, task_id: str) -> ScoreHistory:
        """How the task of this `task_id` went: mean, best, trend, and the newest scores."""
        return self._project.knowledge.scores(check_text("task_id", task_id))

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
        check_texts(task_id=task_id, tag=tag)
        check_flag("by_run", by_run)
        asked = Filters.of(self._project.name, {**filters, "task_id": task_id})
        if asked.kind not in (None, "episode"):
            raise InvalidInputError.one("kind", asked.kind, "episode: nothing else has a score")
        from hardwon.learn.compare import compare

        return compare(
            self._project.knowledge.scored(asked.altered(kind="episode"), tag), by_run=by_run
        )

    def candidate_rules(self, limit: int = 20) -> list[Rule]:
        """Rules that wait to be borne out, or to be verified: of the whole project, and of the
        tasks that were tried most. Those that an LLM wrote down come first, then those that most
        episodes speak for.
        """
        return self._project.knowledge.candidate_rules(check_limit(limit))
