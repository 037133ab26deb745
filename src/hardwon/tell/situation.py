"""What is known at the moment when somebody asks, and what is answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from hardwon.lessons.lesson import Lesson
from hardwon.text.failures import Failure


@dataclass(frozen=True)
class Situation:
    """The `task` at hand, the `action` about to be taken, or that just failed with this `failure`, or
    the `file` about to be edited, and what was `done` in this run before, in order.
    """

    task: str = ""
    action: str = ""
    failure: Failure | None = None
    done: tuple[str, ...] = ()
    file: str = ""


# When nothing is known of the moment.
NO_SITUATION: Final = Situation()


@dataclass(frozen=True)
class Line:
    """One thing to say. It stands alone; `lesson` is what it says, `ids` are the records behind it."""

    text: str
    lesson: Lesson
    ids: tuple[str, ...] = ()


class Aside(NamedTuple):
    """Something to say that is no lesson, such as a line of a context."""

    text: str
