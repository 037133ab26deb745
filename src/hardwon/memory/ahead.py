"""What a task that begins is likely to meet, by what earlier runs at it ran. Reads only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hardwon.lessons.keys import key_of_task
from hardwon.lessons.teaching import sort_key
from hardwon.memory.lessons import LessonFinder
from hardwon.tell.ahead import Ahead, list_sorts, rank_failures, say_ahead
from hardwon.tell.failing import choose_cures
from hardwon.tell.situation import Line, Situation

_TASKS_READ_MAX: Final = 20
_RUNS_READ_MAX: Final = 20
_SORTS_MAX: Final = 8
_FAILURES_MAX: Final = 12


class AheadFinder(LessonFinder):
    """Reads what lies ahead of a run, for one answer."""

    def tell_ahead(self, situation: Situation) -> list[Line]:
        """What runs like the one that begins met, with what made it go away; nothing where no run at
        this task is known, or none met anything that has a cure.
        """
        return say_ahead(self._find_ahead(situation))

    def _find_ahead(self, situation: Situation) -> Iterator[Ahead]:
        if not situation.task.strip():
            return
        name = self._project.name
        rows = self._store.teachings(name, [key_of_task(situation.task)], _TASKS_READ_MAX)
        at_task = [row.teaching for row in rows]
        by_sort = {
            sort: [
                row.teaching
                for row in self._store.teachings(name, [sort_key(sort)], _RUNS_READ_MAX)
            ]
            for sort in list_sorts(at_task)[:_SORTS_MAX]
        }
        for exact, chance in rank_failures(at_task, by_sort)[:_FAILURES_MAX]:
            cures = choose_cures(self.find_cures(exact), situation)
            if cures:
                yield Ahead(cures[0].situation, chance, cures[0])
