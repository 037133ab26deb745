"""How tasks went, and what their episodes taught: `memory.episodes`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Final, Unpack

from hardwon.errors import DamagedError
from hardwon.lessons.scores import (
    Comparison,
    Scored,
    ScoreHistory,
    TaskScores,
    add_up_task,
    compare,
    make_history,
)
from hardwon.memory.project import Group
from hardwon.records.fields import check_all, check_text, check_that, is_derived
from hardwon.search.terms import Filters, MoreFilters
from hardwon.store.query import written_in

# Episodes that a comparison of runs reads, the newest: a second of work, and more would not change
# its interval.
COMPARED_EPISODES_MAX: Final = 20_000


class Episodes(Group):
    """How tasks went, and what their episodes taught: `memory.episodes`."""

    def tasks(self, limit: int = 20) -> list[TaskScores]:
        """The tasks with the most episodes: how many, their mean and best score, and whether they
        go better of late.
        """
        known = self._project.knowledge
        check_all(limit=limit)
        tasks = ((task, known.task_episodes(task)) for task in known.list_tasks(limit))
        return [add_up_task(task, known.count_episodes(task), read) for task, read in tasks if read]

    def scores(self, task_id: str) -> ScoreHistory:
        """How the task of this `task_id` went: mean, best, trend, and the newest scores."""
        known, task = self._project.knowledge, check_text("task_id", task_id)
        return make_history(task, known.count_episodes(task), known.task_episodes(task))

    def compare(
        self,
        task_id: str | None = None,
        *,
        tag: str | None = None,
        by_run: bool = False,
        **filters: Unpack[MoreFilters],
    ) -> Comparison:
        """Whether the memory helps, at a `task_id` or at all: scores of episodes that had it
        against scores of those that had not. An episode had it that says what it recalled, be it
        nothing (`recalled=`); or, with a `tag`, that has this one. `by_run`: the
        episodes of a run (`source.id`) count as one, which is right where they learn from one
        another. Filters as in `browse`; of very many episodes the newest are compared.
        """
        asked, *_ = check_all(
            lambda: Filters.of(self._project.name, {**filters, "task_id": task_id}),
            tag=tag,
            by_run=by_run,
        )
        allowed = "episode: nothing else has a score"
        check_that(asked.kind in (None, "episode"), "kind", asked.kind, allowed)
        self._project.listener.before_read()
        scored = list(self._list_scores(asked.copy_with(kind="episode"), tag))
        return compare(scored[::-1], by_run=by_run)

    def _list_scores(self, filters: Filters, tag: str | None) -> Iterator[Scored]:
        """Each with whether it had the memory. Of what was adopted nobody knows what it
        recalled.
        """
        name, most = self._project.name, COMPARED_EPISODES_MAX
        for stored in self._project.store.page(name, filters, None, most, trusted=True):
            with suppress(DamagedError):
                fields = written_in(stored)
                metadata = fields.get("metadata", {})
                had = fields.get("recalled") is not None
                if tag is not None:
                    had = tag in metadata.get("tags", ())
                elif is_derived(fields["id"]):
                    continue
                run = metadata.get("source", {}).get("id", "")
                yield Scored(fields["task_id"], fields["score"], had, run)
