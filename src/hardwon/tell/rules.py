"""Which of the rules that were laid down hold, and which of them to tell at a moment: before the
command, the file or the task that they speak of, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from hardwon.lessons.lesson import Lesson
from hardwon.records.fields import to_us
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


class LaidDown(NamedTuple):
    """A rule as it was laid down last, by whom, and the lesson that it is; `by_person`: somebody typed
    it.
    """

    lesson: Lesson
    rule: Rule
    author: str
    by_person: bool


def holds(one: LaidDown, known: Sequence[LaidDown], is_agent: Callable[[str], bool]) -> bool:
    """Whether no later rule takes one back. What a person typed only a person takes back, or another
    author who is no agent.
    """
    return not any(
        later.lesson.last > one.lesson.last
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
    return sorted(chosen, key=lambda one: (not one.by_person, -to_us(one.lesson.last)))


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
    lines = []
    for one in rules[:_RULES_SAID_MAX]:
        text = clean_line(one.rule.text, _RULE_CHARS_MAX)
        text = f"Rule here: {text} [{one.lesson.short_id}]"
        lines.append(Line(text, one.lesson, one.lesson.evidence))
    return lines
