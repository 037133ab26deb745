"""Which of the rules that were laid down hold, and which of them to tell at a moment: before the
command, the file or the task that they speak of, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from hardwon.lessons.lesson import Lesson
from hardwon.records.fields import from_us
from hardwon.runs.shapes import Run
from hardwon.search.likeness import Worth
from hardwon.tell.situation import Line, Situation
from hardwon.tell.standing_rules import (
    Rule,
    asks_for_programs,
    concerns_action,
    contradicts,
    is_about_action,
    is_about_file,
    is_named_in,
    share_with_task,
)
from hardwon.text.clean import clean_line

_RULES_SAID_MAX: Final = 3
_RULE_CHARS_MAX: Final = 400
# A task is what a rule speaks of where it has so much of what the rule says; or, with less of it or
# none, where so many of the runs at the very task, or of two like it at least, did such a thing.
_SURE_SHARE: Final = 0.6
_TASK_SHARE: Final = 0.4
_RUNS_SHARE: Final = 0.5


@dataclass(frozen=True)
class LaidDown:
    """A rule as it was laid down last. `ids` are the records that do; `by_person`: somebody typed it."""

    lesson_id: str
    rule: Rule
    at_us: int
    author: str
    by_person: bool
    ids: tuple[str, ...]


def holds(one: LaidDown, known: Sequence[LaidDown], is_agent: Callable[[str], bool]) -> bool:
    """Whether no later rule takes one back. What a person typed only a person takes back, or another
    author who is no agent.
    """
    return not any(
        later.at_us > one.at_us
        and contradicts(later.rule, one.rule)
        and (later.by_person or not one.by_person or not is_agent(later.author))
        for later in known
    )


def choose_rules(
    known: Sequence[LaidDown], situation: Situation, worth: Worth, runs: Sequence[Sequence[str]]
) -> list[LaidDown]:
    """The rules that speak of what is about to be done: an action, a file, else a task. `runs` is what
    earlier runs at the very task, or at tasks like it, began with. People's come first, then the
    newest; nothing where none does.
    """
    chosen = [one for one in known if _is_about(one.rule, situation, worth, runs)]
    return sorted(chosen, key=lambda one: (not one.by_person, -one.at_us))


def _is_about(
    rule: Rule, situation: Situation, worth: Worth, runs: Sequence[Sequence[str]]
) -> bool:
    if situation.action:
        return is_about_action(rule, situation.action, worth)
    if situation.file:
        return is_about_file(rule, situation.file, worth)
    return _is_about_task(rule, situation.task, worth, runs)


def _is_about_task(rule: Rule, task: str, worth: Worth, runs: Sequence[Sequence[str]]) -> bool:
    share = share_with_task(rule, task, worth)
    if is_named_in(rule, task) or share >= _SURE_SHARE:
        return True
    if not runs:
        return share >= _TASK_SHARE or asks_for_programs(rule, task)
    concerned = [any(concerns_action(rule, action, worth) for action in run) for run in runs]
    return sum(concerned) >= _RUNS_SHARE * len(concerned)


def find_beginning(run: Run) -> list[str]:
    """What a run did until something failed, that too: what the task itself asks for."""
    actions: list[str] = []
    for step in run.steps:
        actions.append(step.action)
        if step.outcome == "failed":
            break
    return actions


def say_rules(rules: Sequence[LaidDown]) -> list[Line]:
    """A line for each of the first few rules."""
    return [_say_rule(one) for one in rules[:_RULES_SAID_MAX]]


def _say_rule(one: LaidDown) -> Line:
    lesson = make_rule_lesson(one)
    text = clean_line(one.rule.text, _RULE_CHARS_MAX)
    return Line(f"Rule here: {text} [{lesson.short_id}]", lesson, one.ids)


def make_rule_lesson(one: LaidDown) -> Lesson:
    """The lesson that a rule is: what it says is its action."""
    return Lesson(
        one.lesson_id,
        "rule",
        "",
        one.rule.text,
        tried=0,
        helped=0,
        p_helps=1.0,
        last=from_us(one.at_us),
        evidence=one.ids,
    )
