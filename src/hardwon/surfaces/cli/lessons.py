"""What was learned here, why, and what a person says of it."""

from functools import partial
from typing import Annotated

from hardwon.lessons.lesson import Lesson
from hardwon.memory.knowing import WhyLesson
from hardwon.records.fields import from_us
from hardwon.surfaces.cli import base as cli
from hardwon.surfaces.cli import views

app = cli.make_app()

LessonId = Annotated[str, cli.arg("The lesson's id, or its beginning.", "ID")]
Because = Annotated[cli.Text, cli.opt("Why.")]


@cli.command(app, "lessons")
def lessons(
    about: cli.Text = cli.arg("A failure, in the words of its output.", default=None),
    limit: cli.Limit = 20,
) -> None:
    """List what was learned here: what made failures go away, newest first.

    About a failure: what is known of that one, the likeliest to help first.

    \b
    Examples:
      hardwon lessons
      hardwon lessons "KeyError: 'DATABASE_URL'"
      hardwon lessons --json
    """
    with cli.read_memory() as memory:
        known = memory.lessons(about, limit)
    rows = [
        {
            "id": lesson.short_id,
            "lesson": _say_lesson(lesson),
            "helped": f"{lesson.helped} of {lesson.tried}",
            "last": lesson.last,
            "verdict": lesson.verdict,
        }
        for lesson in known
    ]
    nothing = "Nothing was learned about that yet." if about else "Nothing was learned here yet."
    columns = ("id", "lesson", "helped", "last", "verdict")
    cli.show(known, partial(views.draw_table, rows, columns, nothing))


@cli.command(app, "why")
def why(lesson_id: LessonId) -> None:
    """Tell where a lesson comes from: the runs behind it.

    \b
    Examples:
      hardwon why k3f9a
      hardwon why k3f9a --json
    """
    with cli.read_memory() as memory:
        reasons = memory.why(lesson_id)
    cli.show(reasons, "\n".join(_explain(reasons)))


@cli.command(app, "right")
def right(lesson_id: LessonId, because: Because = None, by: cli.By = "user") -> None:
    """Say that a lesson is true: it is told first, whatever was counted.

    \b
    Examples:
      hardwon right k3f9a
    """
    with cli.read_memory() as memory:
        lesson = memory.right(lesson_id, because, by)
    cli.show(lesson, f"True: {_say_lesson(lesson)}")


@cli.command(app, "wrong")
def wrong(lesson_id: LessonId, because: Because = None, by: cli.By = "user") -> None:
    """Say that a lesson is false: nothing tells it again. `hardwon right` takes that back.

    \b
    Examples:
      hardwon wrong k3f9a --because "it only hid the error"
    """
    with cli.read_memory() as memory:
        lesson = memory.wrong(lesson_id, because, by)
    cli.show(lesson, f"Never told again: {_say_lesson(lesson)}")


def _say_lesson(lesson: Lesson) -> str:
    parts = (lesson.situation, lesson.action)
    return views.cut_line(" -> ".join(part for part in parts if part))


def _explain(reasons: WhyLesson) -> list[str]:
    lesson = reasons.lesson
    verdict = f", {lesson.verdict} by a person" if lesson.verdict else ""
    return [
        f"{lesson.id}  {_say_lesson(lesson)}",
        f"helped {lesson.helped} of {lesson.tried}, p = {lesson.p_helps:.2f}{verdict}",
        *(
            f"  {run.record_id}  {from_us(run.at_us):%Y-%m-%d %H:%M}  {run.author}  {run.teaching.task}"
            for run in reasons.runs
        ),
    ]
