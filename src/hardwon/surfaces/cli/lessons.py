"""What was learned here, why, and what a person says of it."""

from typing import Annotated

from hardwon.lessons.lesson import Lesson
from hardwon.memory.knowing import WhyLesson
from hardwon.records.fields import from_us
from hardwon.surfaces.cli.main import By, Limit, arg, command, make_app, opt, read_memory
from hardwon.surfaces.cli.output import show
from hardwon.surfaces.cli.views import Screen, draw_table, text_value

app = make_app()

Text = str | None
LessonId = Annotated[str, arg("The lesson's id, or its beginning.", "ID")]
Because = Annotated[Text, opt("Why.")]


@command(app, "lessons")
def lessons(
    about: Annotated[Text, arg("A failure, in the words of its output.")] = None,
    limit: Limit = 20,
) -> None:
    """List what was learned here: what made failures go away, newest first.

    About a failure: what is known of that one, the likeliest to help first.

    \b
    Examples:
      hardwon lessons
      hardwon lessons "KeyError: 'DATABASE_URL'"
      hardwon lessons --json
    """
    with read_memory() as memory:
        known = memory.lessons(about, limit)
    nothing = "Nothing was learned about that yet." if about else "Nothing was learned here yet."
    show(known, lambda screen: _draw_lessons(screen, known, nothing))


@command(app, "why")
def why(lesson_id: LessonId) -> None:
    """Tell where a lesson comes from: the runs behind it.

    \b
    Examples:
      hardwon why k3f9a
      hardwon why k3f9a --json
    """
    with read_memory() as memory:
        reasons = memory.why(lesson_id)
    show(reasons, lambda screen: _draw_reasons(screen, reasons))


@command(app, "right")
def right(lesson_id: LessonId, because: Because = None, by: By = "user") -> None:
    """Say that a lesson is true: it is told first, whatever was counted.

    \b
    Examples:
      hardwon right k3f9a
    """
    with read_memory() as memory:
        lesson = memory.right(lesson_id, because, by)
    show(lesson, lambda screen: f"True: {_say_lesson(screen, lesson)}")


@command(app, "wrong")
def wrong(lesson_id: LessonId, because: Because = None, by: By = "user") -> None:
    """Say that a lesson is false: nothing tells it again. `hardwon right` takes that back.

    \b
    Examples:
      hardwon wrong k3f9a --because "it only hid the error"
    """
    with read_memory() as memory:
        lesson = memory.wrong(lesson_id, because, by)
    show(lesson, lambda screen: f"Never told again: {_say_lesson(screen, lesson)}")


def _draw_lessons(screen: Screen, known: list[Lesson], nothing: str) -> str:
    rows = [
        {
            "id": lesson.short_id,
            "lesson": _say_lesson(screen, lesson),
            "helped": f"{lesson.helped} of {lesson.tried}",
            "last": text_value(lesson.last),
            "said": lesson.verdict,
        }
        for lesson in known
    ]
    return draw_table(screen, rows, ("id", "lesson", "helped", "last", "said"), nothing)


def _say_lesson(screen: Screen, lesson: Lesson) -> str:
    parts = (lesson.situation, lesson.action)
    return screen.line(" -> ".join(part for part in parts if part))


def _draw_reasons(screen: Screen, reasons: WhyLesson) -> str:
    lesson = reasons.lesson
    lines = [
        f"{lesson.id}  {_say_lesson(screen, lesson)}",
        f"helped {lesson.helped} of {lesson.tried}, p = {lesson.p_helps:.2f}"
        + (f", {lesson.verdict} by a person" if lesson.verdict else ""),
    ]
    lines += [
        f"  {row.record_id}  {text_value(from_us(row.at_us))}  {screen.line(row.author)}  "
        f"{screen.line(row.teaching.task)}"
        for row in reasons.runs
    ]
    return "\n".join(lines)
