"""The page of lessons: what was learned here, newest or strongest first, with a button that calls
each true or false; and the rules and mistakes that episodes teach.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from hardwon.errors import InvalidInputError, UnknownLessonError
from hardwon.lessons.lesson import Lesson
from hardwon.surfaces.gate import Ask
from hardwon.surfaces.web.overview import is_empty
from hardwon.surfaces.web.pages import Form, PageRequest, WebPage

ORDERS: Final[Mapping[str, str]] = {"newest": "Newest first", "strongest": "Strongest first"}
_LESSONS_SHOWN: Final = 50
_RULES_SHOWN: Final = 25
_CARDS_SHOWN: Final = 12
_TASKS_READ: Final = 5


def view_lessons(ask: Ask, request: PageRequest) -> WebPage:
    """What is known: about a failure, of a task, or all of it."""
    if is_empty(ask):
        return WebPage("empty.html", "What was learned?", {"about": "lessons"})
    about, task_id = (request.query.get(name, "").strip() for name in ("about", "task_id"))
    order = request.choose("order", ORDERS)
    lessons: list[Lesson] = ask("lessons", about=about or None, limit=_LESSONS_SHOWN)
    if order == "strongest":
        lessons.sort(key=lambda lesson: (lesson.verdict != "right", -lesson.p_helps))
    judged: Lesson | None = None
    if lesson_id := request.query.get("judged"):
        with suppress(UnknownLessonError):
            judged = ask("why", lesson_id=lesson_id).lesson
    tasks = (
        [task_id]
        if task_id
        else [task.task_id for task in ask("episodes.tasks", limit=_TASKS_READ)]
    )
    rules = {
        rule.id: rule
        for task in tasks or [None]
        for rule in ask("rules", task_id=task, state="active", limit=_RULES_SHOWN)
    }
    context = {
        "about": about,
        "task_id": task_id,
        "lessons": lessons,
        "order": order,
        "orders": ORDERS,
        "judged": judged,
        "may_decide": ask.may("govern"),
        "rules": list(rules.values())[:_RULES_SHOWN],
        "cards": ask("cards", task_id=task_id or None, limit=_CARDS_SHOWN),
    }
    return WebPage("lessons.html", "What was learned?", context)


def judge_lesson(ask: Ask, request: PageRequest, form: Form) -> str:
    """Calls the lesson true or false, as the form says; returns the page's own address."""
    verdict, lesson_id = form.get("verdict", ""), form.get("id", "")
    if verdict not in ("right", "wrong"):
        raise InvalidInputError.one("verdict", verdict, "right, wrong")
    lesson: Lesson = ask(verdict, lesson_id=lesson_id)
    return request.here(judged=lesson.id)
