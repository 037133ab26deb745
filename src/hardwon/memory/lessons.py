"""What runs taught, read for a situation. Reads only."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from hardwon.learn.tallies import attempt_key, session_key
from hardwon.lessons.cures import Cure, Evidence, weigh_cures
from hardwon.lessons.lesson import Lesson, make_lesson_id
from hardwon.lessons.teaching import (
    ANY_RUN,
    Met,
    Teaching,
    sort_key,
    teach_together,
)
from hardwon.lessons.transfer import carry_cures
from hardwon.memory.project import Project
from hardwon.records.fields import from_us
from hardwon.records.kinds import AnyRecord, Trajectory
from hardwon.runs.read import read_run
from hardwon.runs.shapes import Run, Step
from hardwon.runs.steps import key_of_action, sort_of_action, without_header
from hardwon.search.terms import Filters
from hardwon.store.query import TeachingRow, readable
from hardwon.tell.failing import Past, say_cures, say_warning
from hardwon.tell.situation import Line, Situation
from hardwon.text.failure_keys import Failure, find_names, read_failure
from hardwon.text.terms import same_action

# The newest times that a failure was met tell enough, each author's by turns.
_TIMES_READ_MAX: Final = 60
_RUN_RECORDS_MAX: Final = 200
_COUNTED_MAX: Final = 1_000


class Lessons:
    """What is known in one project."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._store = project.store
        self._count_habit = cache(self._ask_habit)

    # What is said at a moment.

    def tell_after(self, situation: Situation) -> list[Line]:
        """What made the failure of a situation go away before; nothing where nobody knows."""
        if situation.failure is None:
            return []
        lines = say_cures(self.find_cures(situation.failure.exact), situation)
        return lines or say_cures(self.find_like_cures(situation.failure), situation)

    def tell_before(self, situation: Situation) -> list[Line]:
        """Why the action of a situation failed when it was taken last, and what helped; nothing
        where it did not.
        """
        last = self.find_last_end(situation.action)
        if last is None:
            return []
        step, record = last
        if step.failure is None:
            return []
        met = list(self._find_met("exact", step.failure.exact))
        cures = self._weigh(met, step.failure.exact)
        past = Past(step.failure, _share_passing(met), record.id, record.at_us)
        return say_warning(past, cures, situation)

    # What is known.

    def find_cures(self, exact: str) -> list[Lesson]:
        """What was done about the failure with this exact key, the likeliest to help first; nothing
        where it was never met, or nothing was done.
        """
        return self._weigh(list(self._find_met("exact", exact)), exact)

    def find_like_cures(self, failure: Failure) -> list[Lesson]:
        """What helped against failures that are this one but for names, where the names of the one
        stand in the cure, so that those of the other can be put in their place.
        """
        by_key: dict[str, list[tuple[TeachingRow, Met]]] = {}
        for row, met in self._find_met("family", failure.family):
            if met.exact != failure.exact:
                by_key.setdefault(met.exact, []).append((row, met))
        known = [self._weigh(times, exact)[:1] for exact, times in by_key.items()]
        return carry_cures([cures[0] for cures in known if cures], failure.words)

    def find_last_end(self, action: str) -> tuple[Step, AnyRecord] | None:
        """How an action ended when it was taken last, and the record that tells; None where it never
        was.
        """
        found = self._store.by_key(self._project.name, [attempt_key(action)], Filters(), 1)
        for record in readable(found):
            if isinstance(record, Trajectory):
                last = find_last(read_run(record), action)
                return (last, record) if last else None
        return None

    # How it is found.

    def _weigh(self, met: list[tuple[TeachingRow, Met]], exact: str) -> list[Lesson]:
        if not met:
            return []
        words, check = met[0][1].words, met[0][1].check
        named = find_names(words) - find_names(check)
        evidence = [
            Evidence(one.cure, one.in_vain, row.at_us, row.author, row.record_id, one.checked)
            for row, one in met
        ]
        cures = weigh_cures(
            evidence,
            self._count_habit,
            lambda action: not named.isdisjoint(find_names(action)),
        )
        return [_make_lesson(cure, exact, words) for cure in cures]

    def _find_met(self, sort: str, key: str) -> Iterator[tuple[TeachingRow, Met]]:
        """The times that a failure was met: the record that tells, and what became of it there. Where
        a record leaves it open that is a part of a run, the whole run is read.
        """
        runs_read: set[str] = set()
        for row in self._store.teachings(self._project.name, [f"{sort}:{key}"], _TIMES_READ_MAX):
            teaching = row.teaching
            if teaching.run_id and _leaves_open(teaching, sort, key):
                if teaching.run_id in runs_read:
                    continue
                runs_read.add(teaching.run_id)
                teaching = self._teach_run(row)
            for met in teaching.met:
                if getattr(met, sort) == key:
                    yield row, met

    def _teach_run(self, row: TeachingRow) -> Teaching:
        """What all the records of a run teach together."""
        found = self._store.by_key(
            self._project.name, [session_key(row.teaching.run_id)], Filters(), _RUN_RECORDS_MAX
        )
        parts = [
            part
            for part in readable(found)
            if isinstance(part, Trajectory) and part.said_by == row.author
        ]
        return teach_together(parts) if len(parts) > 1 else row.teaching

    def _ask_habit(self, action: str) -> float:
        """In which share of all runs something of this action's sort is done; 0 where it is of none."""
        sort = sort_of_action(action)
        if not sort:
            return 0.0
        count, project = self._store.count_with_key, self._project.name
        runs = count(project, ANY_RUN, _COUNTED_MAX)
        return count(project, sort_key(sort), _COUNTED_MAX) / max(1, runs)


def find_last(run: Run, action: str) -> Step | None:
    """The last step of a run that was this action; None where none was, or it only looked."""
    same = same_action(action)
    for step in reversed(run.steps):
        if step.kind != "look" and same_action(step.action) == same:
            return step
    return None


def _leaves_open(teaching: Teaching, sort: str, key: str) -> bool:
    return any(met.cure is None and getattr(met, sort) == key for met in teaching.met)


def _share_passing(met: list[tuple[TeachingRow, Met]]) -> float:
    """In which share of the times that it went away a failure did so by itself; 0 where it never
    did.
    """
    gone = [one for _, one in met if one.cure is not None]
    return sum(one.passed for one in gone) / len(gone) if gone else 0.0


def _make_lesson(cure: Cure, exact: str, words: str) -> Lesson:
    return Lesson(
        make_lesson_id("cure", exact, same_action(cure.action)),
        "cure",
        words,
        cure.action,
        cure.tried,
        cure.helped,
        cure.p_helps,
        from_us(cure.last_us),
        cure.evidence,
        cure.sources,
    )


def read_shown_failure(shown: str, action: str = "") -> Failure | None:
    """The failure that an output tells of; None where it tells nothing."""
    return read_failure(without_header(shown), key_of_action(action) if action else "")
