"""What to say when something failed, and before something is done that failed when it was done last.

Of what nobody knows nothing is said: a wrong line costs more than three right ones gain.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from hardwon.lessons.lesson import Lesson, make_lesson_id
from hardwon.records.fields import from_us, to_us
from hardwon.records.kinds import Step as Recorded
from hardwon.runs.lasting import file_name
from hardwon.runs.steps import ATTEMPT, read_steps
from hardwon.tell.advice import Change
from hardwon.tell.lines import DONE, Draft, make_mark, name_sources, say_ago, word_action
from hardwon.tell.situation import Line, Situation
from hardwon.text.clean import clean_action, clean_line
from hardwon.text.failures import Failure, find_names
from hardwon.text.programs import destroys
from hardwon.text.terms import same_action, spelled_alike

# A cure is said where it is likelier than not to be the one; what may destroy something, only where
# that was seen more than once.
_SAY_FROM: Final = 0.6
_SAY_DESTROYING_FROM: Final = 0.75
_CURES_MAX: Final = 3
# What was done in this run counts as an attempt at the cause where it is this likely to be a cure.
_TOUCHES_FROM: Final = 0.3
# A failure that went by itself in half of the cases is no reason to warn.
_PASSING_FROM: Final = 0.5
_WORDS_CHARS_MAX: Final = 200


def choose_cures(cures: Iterable[Lesson], situation: Situation) -> list[Lesson]:
    """The cures that are worth saying, the likeliest first; nothing where none is likely."""
    asked = same_action(situation.action)
    chosen = [
        cure
        for cure in cures
        if cure.helped and cure.p_helps >= _SAY_FROM and same_action(cure.action) != asked
    ]
    return [cure for cure in chosen if not destroys(cure.action) or _is_sure(cure)][:_CURES_MAX]


def _is_sure(cure: Lesson) -> bool:
    return cure.exact and cure.p_helps >= _SAY_DESTROYING_FROM


def say_cures(cures: Iterable[Lesson], situation: Situation) -> list[Line]:
    """A line for each cure that is worth saying."""
    return [_say_cure(cure) for cure in choose_cures(cures, situation)]


def _say_cure(cure: Lesson) -> Line:
    if cure.exact:
        begin = "This error went away here before by"
    else:
        words = clean_line(cure.situation, _WORDS_CHARS_MAX)
        begin = f"A like error ({words}) went away here before by"
    action = clean_action(cure.action)
    who = f", {name_sources([cure.by], 0)}" if cure.by else ""
    text = f"{begin}: {action} (helped {cure.helped} of {cure.tried}{who}) [{cure.short_id}]"
    return Line(text, cure, cure.evidence)


def draft_cures(cures: Iterable[Lesson], *, alone: bool, now_us: int) -> list[Draft]:
    """The same for a context, in which a program keeps its lines."""
    drafts = []
    for cure in cures:
        words = f"a like error ({clean_line(cure.situation, _WORDS_CHARS_MAX)})"
        head = f"{'this error' if cure.exact else words} went away by: "
        counts = f"helped {cure.helped} of {cure.tried}" if cure.tried else ""
        last = say_ago(to_us(cure.last), now_us)
        who = "" if alone or cure.sources < 2 else f"{cure.sources} sources"
        who = name_sources([cure.by], 0) if cure.by else who
        mark = make_mark(counts, last, who, lesson_id=cure.id)
        drafts.append(
            Draft(
                word_action(head, (cure.action,), "", mark),
                kind=DONE,
                ids=cure.evidence,
                about=frozenset({spelled_alike(cure.action)}),
                why="it made the failure go away",
                sort="cure",
            )
        )
    return drafts


@dataclass(frozen=True)
class Past:
    """How an action failed when it was taken last, in which share of the times that went by itself,
    and which record tells.
    """

    failure: Failure
    passing: float
    record_id: str
    at_us: int


def say_warning(past: Past, cures: Sequence[Lesson], situation: Situation) -> list[Line]:
    """Before an action that failed when it was taken last: why it did, and what cured it. Nothing
    where the failure passes by itself, or where this run did something about it.
    """
    if past.passing >= _PASSING_FROM:
        return []
    done = {same_action(action) for action in situation.done}
    if same_action(situation.action) in done:
        return []  # this run knows how it ended
    if any(same_action(cure.action) in done for cure in cures if cure.p_helps >= _TOUCHES_FROM):
        return []
    words = past.failure.words
    lesson = Lesson(
        make_lesson_id("dead end", past.failure.exact, same_action(situation.action)),
        "dead end",
        words,
        situation.action,
        tried=1,
        helped=0,
        p_helps=0.0,
        last=from_us(past.at_us),
        evidence=(past.record_id,),
    )
    shown = clean_line(words, _WORDS_CHARS_MAX)
    text = f"It failed here when it last ran: {shown} [{lesson.short_id}]"
    return [Line(text, lesson, (past.record_id,)), *say_cures(cures, situation)[:1]]


def find_change(
    failure: Failure,
    action: str,
    steps: Sequence[Recorded],
    since: int | None,
    cures: Iterable[Lesson],
) -> Change:
    """How far the steps of a run changed things since an action failed: the cause, where one is a cure
    of the failure, or where the run saw it fail itself, at the place `since`, and one touches what the
    failure or the action names. What a run does before it tries the action for the first time, the
    runs did before that it failed in.
    """
    changes = [
        step
        for step in read_steps(steps)
        if (since is None or step.place > since)
        and step.kind not in ("look", "hand-in")
        and step.key != ATTEMPT
        and step.outcome != "failed"
        and same_action(step.action) != same_action(action)
    ]
    helpful = {same_action(cure.action) for cure in cures if cure.p_helps >= _TOUCHES_FROM}
    if any(same_action(step.action) in helpful for step in changes):
        return "the cause"
    if since is None or not changes:
        return "nothing"
    named = find_names(failure.words)
    for step in changes:
        files = {file_name(touch.name) for touch in step.touches}
        if any(name in action for name in files) or named & find_names(step.action):
            return "the cause"
    return "something"
