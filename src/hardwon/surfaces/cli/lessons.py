"""What was learned here, why, and what a person says of it."""

import os
import shlex
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import Annotated

from hardwon.errors import InvalidInputError
from hardwon.lessons.lesson import Lesson, LessonKind
from hardwon.memory.knowing import WhyLesson
from hardwon.records.fields import check_choice, from_us
from hardwon.surfaces.cli import base as cli
from hardwon.surfaces.cli import views

app = cli.make_app()

LessonId = Annotated[str, cli.arg("The lesson's id, or its beginning.", "ID")]
_EDIT = "edit"
_KEEP = "keep"
_HEADING = """\
# What was learned here. Put `right` or `wrong` in the place of `keep`, save and close.
# Lines that you leave alone or take away change nothing."""
Because = Annotated[cli.Text, cli.opt("Why.")]


@cli.command(app, "lessons")
def lessons(
    about: cli.Text = None, *, kind: LessonKind | None = None, limit: cli.Limit = 20
) -> None:
    """List what was learned here, newest first.

    About a failure: what is known to cure it, the likeliest first. About some words: what has
    them. `hardwon lessons edit` opens the list in your editor, to call lessons right or wrong.

    \b
    Examples:
      hardwon lessons
      hardwon lessons "KeyError: 'DATABASE_URL'"
      hardwon lessons deploy --kind way
      hardwon lessons --json

    Options:
      about: A failure, in the words of its output, or some words.
      kind: Of one kind alone.
    """
    if about == _EDIT:
        _edit_lessons(kind, limit)
        return
    with cli.read_memory() as memory:
        known = memory.lessons(kind, about, limit)
    rows = [
        {
            "id": lesson.short_id,
            "kind": lesson.kind,
            "lesson": _say_lesson(lesson),
            "helped": f"{lesson.helped} of {lesson.tried}" if lesson.tried else "",
            "last": lesson.last,
            "verdict": lesson.verdict,
        }
        for lesson in known
    ]
    nothing = "Nothing was learned about that yet." if about else "Nothing was learned here yet."
    columns = ("id", "kind", "lesson", "helped", "last", "verdict")
    cli.show(known, partial(views.draw_table, rows, columns, nothing))


def _edit_lessons(kind: LessonKind | None, limit: int) -> None:
    """Opens the list in the editor of whoever types; what is called right or wrong there is so."""
    with cli.read_memory() as memory:
        known = memory.lessons(kind, None, limit)
        if not known:
            cli.show([], "Nothing was learned here yet.")
            return
        lines = [
            f"{lesson.verdict or _KEEP:<5}  {lesson.short_id}  {_say_lesson(lesson)}"
            for lesson in known
        ]
        edited = _edit_text("\n".join((_HEADING, *lines, "")))
        verdicts = _read_verdicts(edited, {lesson.short_id: lesson for lesson in known})
        for lesson, verdict in verdicts:
            (memory.right if verdict == "right" else memory.wrong)(lesson.id)
    cli.show(
        [{"id": lesson.id, "verdict": verdict} for lesson, verdict in verdicts],
        "\n".join(f"{verdict}: {_say_lesson(lesson)}" for lesson, verdict in verdicts)
        or "Nothing was changed.",
    )


def _edit_text(text: str) -> str:
    """The text as somebody leaves it in the editor of their own."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "lessons.txt")
        path.write_text(text, encoding="utf-8")
        try:
            subprocess.run([*shlex.split(editor), str(path)], check=True)  # noqa: S603  # nosec B603  # the user's own editor
        except (OSError, ValueError, subprocess.CalledProcessError):
            allowed = "an editor that can be started, and ends without an error"
            raise InvalidInputError.one("EDITOR", editor, allowed) from None
        return path.read_text(encoding="utf-8")


def _read_verdicts(edited: str, known: dict[str, Lesson]) -> list[tuple[Lesson, str]]:
    """What a person now calls right or wrong, and did not before."""
    verdicts = []
    for line in edited.splitlines():
        word, _, rest = line.strip().partition(" ")
        if not word or word.startswith("#"):
            continue
        check_choice("verdict", word, (_KEEP, "right", "wrong"))
        lesson_id = rest.split()[0] if rest.split() else ""
        check_choice("id", lesson_id, tuple(known))
        if word not in (_KEEP, known[lesson_id].verdict):
            verdicts.append((known[lesson_id], word))
    return verdicts


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
def right(lesson_id: LessonId, *, because: Because = None, by: cli.By = "user") -> None:
    """Say that a lesson is true: it is told first, whatever was counted.

    \b
    Examples:
      hardwon right k3f9a
    """
    with cli.read_memory() as memory:
        lesson = memory.right(lesson_id, because, by)
    cli.show(lesson, f"True: {_say_lesson(lesson)}")


@cli.command(app, "wrong")
def wrong(lesson_id: LessonId, *, because: Because = None, by: cli.By = "user") -> None:
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
    counts = f"helped {lesson.helped} of {lesson.tried}, p = {lesson.p_helps:.2f}"
    if lesson.kind in ("rule", "fact"):
        counts = "written down"
    return [
        f"{lesson.id}  {_say_lesson(lesson)}",
        f"{counts}{verdict}",
        *(
            f"  {run.record_id}  {from_us(run.at_us):%Y-%m-%d %H:%M}  {run.author}  {run.teaching.task}"
            for run in reasons.runs
        ),
    ]
