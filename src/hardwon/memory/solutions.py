"""What helps against a failure, what solved a task, and whether a run did something about a failure:
one answer for `solutions` and for what advice offers. Reads only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from hardwon.lessons.attempts import Attempt, find_own_place
from hardwon.lessons.keys import key_of_task
from hardwon.lessons.lesson import Lesson
from hardwon.lessons.teaching import make_way_id
from hardwon.memory.lessons import (
    ALIKE_FROM,
    LIKE_FAILURES_MAX,
    LessonFinder,
    Times,
    group_by_failure,
    share_passing,
    without_wrong,
)
from hardwon.records.fields import from_us
from hardwon.records.kinds import Step
from hardwon.runs.steps import sort_of_action
from hardwon.search.likeness import find_terms
from hardwon.search.terms import Filters
from hardwon.store.query import TeachingRow
from hardwon.tell.advice import Change
from hardwon.tell.failing import find_change
from hardwon.tell.fit import find_names_at_hand, is_attempt, is_fit, is_same_program, is_tied
from hardwon.tell.situation import Situation
from hardwon.text.failures import find_names
from hardwon.text.terms import same_action

RUNS_AT_TASK_MAX: Final = 60
_OTHER_READ_MAX: Final = 24
_WAY_STEPS_MAX: Final = 3
# An agent tries the first two or three.
_FEW: Final = 3
# What had so small a part in a failure's going away is told as tried in vain.
_LIKELY_FROM: Final = 0.04
_LITTLE_ALIKE_FROM: Final = 0.25
_NEAR_READ_MAX: Final = 8
# What commands of so many sorts show says little ("timed out").
_MANY_SORTS: Final = 4
# A name that a third of all records have is no tie.
_RARE_FROM: Final = 1.1


class SolutionFinder(LessonFinder):
    """Reads what helps in a situation, for one answer."""

    def find_solutions(self, situation: Situation) -> list[Lesson]:
        """What helped against the failure of a situation, where it was nearest to it first: at the same
        task and command, at the task, anywhere; then against failures that are like it; then what was
        tried in vain. Of another task only what is tied to this one. Nothing where nothing is known.
        """
        failure = situation.failure
        if failure is None:
            return []
        rows = self._read_task(situation.task)
        at_task = [(row, met) for row in rows for met in row.teaching.met]
        here = {row.record_id for row in rows}
        known = self.find_met("exact", failure.exact)
        exact = [(row, met) for row, met in at_task if met.exact == failure.exact]
        elsewhere = [(row, met) for row, met in known if row.record_id not in here]
        nearest = self._weigh_by_command(exact, situation)
        lessons = list(_keep_helpful(nearest))
        if len(lessons) < _FEW:
            like = [(row, met) for row, met in at_task if met.family == failure.family]
            like = [(row, met) for row, met in like if met.exact != failure.exact]
            lessons += _keep_helpful(self._weigh_like(group_by_failure(like)))
        if find_names(failure.words):
            lessons += [one for one in self.weigh(elsewhere, failure.exact) if one.helped]
        else:
            lessons += self._find_tied(elsewhere, situation)
        if not any(lesson.helped for lesson in lessons):
            lessons += self.find_like_cures(failure)
            lessons += self._find_tied_cures(situation)
        if len(lessons) < _FEW:
            other = [(row, met) for row, met in at_task if met.family != failure.family]
            lessons += self._find_tied(other[:_OTHER_READ_MAX], situation, 1.0)
            lessons += self._heed_verdicts(_find_ways(rows))
        if len(lessons) < _FEW and is_attempt(situation):
            lessons += self._find_near(situation)
        in_vain = [lesson for lesson in nearest if lesson not in lessons]
        if not situation.task and not situation.action:
            in_vain = [one for one in self.weigh(known, failure.exact) if not one.helped]
        solutions: dict[str, Lesson] = {}
        for lesson in without_wrong([*lessons, *in_vain]):
            if is_fit(lesson, situation):
                solutions.setdefault(same_action(lesson.action), lesson)
        return list(solutions.values())

    def _read_task(self, task: str) -> list[TeachingRow]:
        """The newest runs at this very task."""
        if not task.strip():
            return []
        return self.read_teachings([key_of_task(task)], RUNS_AT_TASK_MAX)

    def _weigh_by_command(self, times: Times, situation: Situation) -> list[Lesson]:
        """What was done about one failure, those times first that the same sort of command showed it."""
        sort = sort_of_action(situation.action)
        same = [(row, met) for row, met in times if sort_of_action(met.check) == sort]
        other = [(row, met) for row, met in times if sort_of_action(met.check) != sort]
        exact = situation.failure.exact if situation.failure else ""
        return [*self.weigh(same, exact), *self.weigh(other, exact)]

    def _weigh_like(self, cured: Mapping[str, Times], likeness: float = 1.0) -> list[Lesson]:
        """What was done about the first of several failures that are like the one at hand, the likeliest
        to help first.
        """
        lessons = [
            replace(lesson, exact=False, p_helps=lesson.p_helps * likeness)
            for exact, those in islice(cured.items(), LIKE_FAILURES_MAX)
            for lesson in self.weigh(those, exact)
        ]
        return sorted(lessons, key=lambda lesson: -lesson.p_helps)

    def _find_tied(
        self, times: Times, situation: Situation, likeness: float | None = None
    ) -> list[Lesson]:
        """What helped at those times, as far as it is tied to the situation: by what it names, or because
        the same program showed the failure, if that is not one that all sorts of commands show. The
        failures are like the one at hand, or this very one where no likeness is told.
        """
        at_hand = list(find_names_at_hand(situation))
        worth = self._store.frequencies(self._project.name, at_hand).worth
        named = {name for name in at_hand if worth(name) >= _RARE_FROM}
        is_common = len({sort_of_action(met.check) for _, met in times}) >= _MANY_SORTS
        if is_common and situation.task and not situation.action:
            return []  # of another task it says nothing
        asked = same_action(situation.action)
        same = {
            row.record_id
            for row, met in times
            if same_action(met.check) == asked
            or (not is_common and is_same_program(met.check, situation.action))
        }
        # what cannot be tied need not be weighed
        near = {
            exact: those
            for exact, those in group_by_failure(times).items()
            if any(row.record_id in same for row, _ in those)
            or any(is_tied(step, situation, named) for _, met in those for step in met.cure or ())
        }
        if likeness is None:
            lessons = [
                lesson for exact, those in near.items() for lesson in self.weigh(those, exact)
            ]
        else:
            lessons = self._weigh_like(near, likeness)
        return [
            lesson
            for lesson in lessons
            if lesson.helped
            and (not same.isdisjoint(lesson.evidence) or is_tied(lesson.action, situation, named))
        ]

    def _find_tied_cures(self, situation: Situation) -> list[Lesson]:
        """What helped against failures of the same family, or worded like this one, that are tied to
        the situation; the likest first. What the same program showed need not be so much like it.
        """
        failure = situation.failure
        if failure is None:
            return []
        by_likeness: dict[float, Times] = {}
        for row, met, like in self.find_like(failure, _LITTLE_ALIKE_FROM):
            is_near = is_same_program(met.check, situation.action) or is_attempt(situation)
            if like >= ALIKE_FROM or is_near:
                by_likeness.setdefault(like, []).append((row, met))
        lessons = [
            lesson
            for like, times in by_likeness.items()
            for lesson in self._find_tied(times, situation, like)
        ]
        return sorted(lessons, key=lambda lesson: -lesson.p_helps)

    def _find_near(self, situation: Situation) -> list[Lesson]:
        """What corrected attempts that are worded much like the one that failed, the likest first."""
        words = situation.failure.words if situation.failure else ""
        terms = list(find_terms(f"{situation.action}\n{words}"))
        hits = self._store.search(self._project.name, terms, Filters(), _NEAR_READ_MAX)
        rows = self._store.teachings_by_id(self._project.name, [hit.id for hit, _ in hits])
        by_id = {row.record_id: row for row in rows}
        lessons: list[Lesson] = []
        for hit, _ in hits:
            if row := by_id.get(hit.id):
                lessons += self._weigh_like(
                    group_by_failure((row, met) for met in row.teaching.met)
                )
        return [lesson for lesson in lessons if lesson.helped][:_FEW]

    def find_ways(self, task: str) -> list[Lesson]:
        """What lasted of the newest runs that solved this very task; nothing where none did."""
        return without_wrong(self._heed_verdicts(_find_ways(self._read_task(task))))

    def find_change(
        self, failures: Sequence[Attempt], action: str, steps: Sequence[Step]
    ) -> tuple[Change, float]:
        """How far this run changed things since an action failed, and in which share of times what it
        failed by went away by itself.
        """
        last = failures[-1] if failures else None
        if last is None or last.shown is None:
            return "nothing", 0.0
        met = self.find_met("exact", last.shown.exact)
        cures = without_wrong(self.weigh(met, last.shown.exact))
        since = find_own_place(last) if not last.record_id else None
        return find_change(last.shown, action, steps, since, cures), share_passing(met)


def _keep_helpful(lessons: Iterable[Lesson]) -> Iterator[Lesson]:
    """What may have helped."""
    return (lesson for lesson in lessons if lesson.helped or lesson.p_helps >= _LIKELY_FROM)


def _find_ways(rows: Iterable[TeachingRow]) -> list[Lesson]:
    """A way for each run that solved its task, its last lasting steps together; each once, and first
    what several authors did.
    """
    ways: dict[str, Lesson] = {}
    authors: dict[str, set[str]] = {}
    for row in rows:
        teaching = row.teaching
        if teaching.outcome == "solved" and teaching.lasting:
            action = "\n".join(teaching.lasting[-_WAY_STEPS_MAX:])
            last = from_us(row.at_us)
            way_id = make_way_id(teaching.task, teaching.lasting)
            lesson = Lesson(way_id, "way", teaching.task, action, 0, 0, 1.0, last, (row.record_id,))
            ways.setdefault(same_action(action), lesson)
            authors.setdefault(same_action(action), set()).add(row.author)
    return sorted(ways.values(), key=lambda way: len(authors[same_action(way.action)]) < 2)
