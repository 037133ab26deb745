"""What runs taught, listed and explained, and what people say of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from hardwon.lessons.keys import verdict_key
from hardwon.lessons.lesson import Lesson, LessonKind
from hardwon.memory.later import lessons
from hardwon.memory.project import Change, Group
from hardwon.records.fields import Tabular, check_all, check_choice, check_text
from hardwon.records.kinds import Decision
from hardwon.store.query import TeachingRow, read_current


@dataclass(frozen=True)
class WhyLesson(Tabular):
    """A lesson and the newest runs that it was learned from."""

    lesson: Lesson
    runs: tuple[TeachingRow, ...]


class KnowingLessons(Group):
    """What runs taught, with what people say of it."""

    def lessons(
        self, kind: LessonKind | None = None, about: str | None = None, limit: int = 20
    ) -> list[Lesson]:
        """What is known here, newest first, of one `kind` or of all: ways that solved a task, cures of
        failures, dead ends, rules. `about` a failure, in the words of its output: what is known to
        cure it, the likeliest first; about anything else: what has these words. Nothing where nothing is.
        """
        check_all(
            lambda: check_choice("kind", kind, get_args(LessonKind)), about=about, limit=limit
        )
        finder = lessons.LessonFinder(self._project)
        failure = lessons.read_shown_failure(about) if about else None
        with self._project.store.together(self._project.name):
            if failure and failure.tells and kind in (None, "cure"):
                return finder.find_cures(failure.exact)[:limit]
            return finder.list_lessons(limit, kind, about or "")

    def why(self, lesson_id: str) -> WhyLesson:
        """The lesson whose id begins with `lesson_id`, with the runs behind it. `UnknownLessonError`
        where there is none, or more than one.
        """
        finder = lessons.LessonFinder(self._project)
        lesson = finder.find_lesson(check_text("lesson_id", lesson_id))
        return WhyLesson(lesson, tuple(finder.find_evidence(lesson)))

    def right(self, lesson_id: str, reason: str | None = None, by: str = "user") -> Lesson:
        """The lesson whose id begins with `lesson_id` is true, for this `reason`: it is told before
        what was only counted, whatever the counts. Takes back what the same person called wrong.
        """
        return self._judge("right", lesson_id, reason, by)

    def wrong(self, lesson_id: str, reason: str | None = None, by: str = "user") -> Lesson:
        """The lesson whose id begins with `lesson_id` is false, for this `reason`: nothing tells it
        again, whatever the counts. `right`, by whoever said so, or `undo` of the decision takes it back.
        """
        return self._judge("wrong", lesson_id, reason, by)

    def _judge(
        self, verdict: Literal["right", "wrong"], lesson_id: str, reason: str | None, by: str
    ) -> Lesson:
        check_all(lambda: check_text("lesson_id", lesson_id), by=by)
        project = self._project
        finder = lessons.LessonFinder(project)
        lesson = finder.find_lesson(lesson_id)
        what = {"target": lesson.id, "text": f"{lesson.situation} -> {lesson.action}"}
        decision = project.decision(verdict, by, **what, reason=reason or "")

        def work(change: Change) -> None:
            key = verdict_key(lesson.id)
            for stored in change.writer.with_key(project.name, key):
                before = read_current(stored)
                if isinstance(before, Decision) and before.in_effect and before.said_by == by:
                    change.happen(before.id, "status", by, status="archived", reason=verdict)
            change.decide(decision)

        project.carry_out(work)
        return lessons.judge_lesson(lesson, verdict)
