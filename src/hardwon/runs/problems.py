"""Which failures a run met, and what made each of them go away."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

from hardwon.runs.lasting import file_name
from hardwon.runs.shapes import Problem, Step
from hardwon.runs.steps import ATTEMPT
from hardwon.text.failures import (
    Failure,
    complains,
    find_names,
    names_any,
    read_failure,
    shows_failure,
)

_SETTING: Final = re.compile(r"(?:^|\s)([A-Za-z_]\w*=\S*)")
_NAME: Final = re.compile(r"[A-Za-z_][\w.+-]{2,}")
_NAMED_CHARS: Final = 600
_NEXT_DEEDS: Final = 4
# A run in which more is broken at once says little about the oldest of it, and would take long.
_OPEN_MAX: Final = 20
# Whoever gave an attempt up does so soon.
_STEPS_AFTER_MAX: Final = 40
_JOINT: Final = re.compile(r"&&|;|\n")
# What a line has only so that less is shown.
_SHORTENING: Final = re.compile(r"\s*(?:2>&1|\|&?\s*(?:tail|head)\b[^|&;]*)")


@dataclass
class _Open:
    """A problem that is still there. `since` is what was changed after it was shown last, at
    `shown_last` if that was not the first time.
    """

    failure: Failure
    check: Step
    since: list[Step] = field(default_factory=list)
    in_vain: list[Step] = field(default_factory=list)
    shown: int = 1
    shown_last: int = -1

    def close(
        self, gone: int | None, cure: Sequence[Step] = (), until: int | None = None
    ) -> Problem:
        """The problem as it ended. `until`: what was done later had nothing to do with it."""
        attempts = [step for step in self.in_vain if until is None or step.place <= until]
        return Problem(
            self.failure,
            self.check,
            self.check.place,
            gone,
            tuple(cure),
            tuple(attempts),
            self.shown,
        )


def find_problems(steps: Sequence[Step], solving: Sequence[Step] = ()) -> list[Problem]:
    """The problems of a run in the order in which they were met; none where nothing failed.
    `solving` is what lasted of a run that solved its task.
    """
    waiting: list[_Open] = []
    left: list[_Open] = []
    closed: list[Problem] = []
    for step in steps:
        if step.kind == "look":
            continue
        own = [problem for problem in waiting if is_same_check(problem.check, step)]
        for problem in own:
            if _shows_again(problem, step):
                continue
            if step.outcome == "unknown" and step.key != problem.check.key:
                continue
            cure = [*problem.since, step] if differs(step, problem.check) else problem.since
            closed.append(problem.close(step.place, cure))
            waiting.remove(problem)
        _take_in(step, waiting, own)
        left += waiting[:-_OPEN_MAX]
        del waiting[:-_OPEN_MAX]
    left += waiting
    problems = [_without_undone(problem, steps) for problem in closed]
    if left:
        names = NamesInRun(steps)
        problems += [_settle_otherwise(problem, steps, names, solving) for problem in left]
    return sorted(problems, key=lambda problem: problem.opened)


def _shows_again(problem: _Open, step: Step) -> bool:
    """Whether a check shows a problem again; then what was done in between was in vain."""
    if step.outcome != "failed" or not shows_failure(step.output, problem.failure, step.failure):
        return False
    problem.in_vain += problem.since
    if differs(step, problem.check):
        problem.in_vain.append(step)
    problem.since = []
    problem.shown += 1
    problem.shown_last = step.place
    return True


def _take_in(step: Step, waiting: list[_Open], own: Sequence[_Open]) -> None:
    """What a step is to the problems that are still there: an attempt that failed, or a change. One
    that failed in a way of its own is a problem itself.
    """
    others = [problem for problem in waiting if problem not in own]
    if step.outcome == "failed":
        if step.kind != "check" or step.key == ATTEMPT:  # else it was no attempt at anything
            for problem in _find_aims(step, others):
                problem.in_vain.append(step)
        known = {problem.failure.exact for problem in waiting if problem in own}
        if step.failure and step.failure.exact not in known:
            waiting.append(_Open(step.failure, step))
    elif not step.tests and step.key != ATTEMPT:
        for problem in others:
            if not is_part(step, problem.check):  # else it was done when that failed, too
                problem.since.append(step)


def _find_aims(step: Step, waiting: Sequence[_Open]) -> Sequence[_Open]:
    """The problems that an attempt was meant for: those that name what it names, else the newest."""
    named = [
        problem for problem in waiting if names_any(find_names(problem.failure.words), step.action)
    ]
    return named or waiting[-1:]


def mark_corrections(steps: Sequence[Step]) -> list[Step]:
    """The steps, of which one that nobody called a failure, or that only looked, is a check that
    failed where its output complains and the next thing done is a correction of it that worked.
    """
    marked = list(steps)
    for at in range(len(steps) - 1):
        step = marked[at]
        if step.outcome == "worked" or (step.outcome == "failed" and step.kind != "look"):
            continue
        if step.kind == "look" and step.key == ATTEMPT:
            continue  # what a query lists may well say "no"
        place = marked[at + 1].place
        next_steps = [
            number for number in range(at + 1, len(marked)) if marked[number].place == place
        ]
        better = [number for number in next_steps if marked[number].outcome == "worked"]
        if not better:
            continue
        last = better[-1]
        # what is rewarded at once where nothing was before is the right way to say it
        is_right_way = marked[last].reward >= 1 > step.reward and step.kind != "look"
        if not is_right_way and not complains(step.output):
            continue
        if is_corrected_by(step, marked[last]):
            failure = step.failure or read_failure(step.output, step.key)
            marked[at] = replace(step, kind="check", outcome="failed", failure=failure)
            if marked[last].kind == "look":
                marked[last] = replace(marked[last], kind="check")
    return marked


def is_corrected_by(step: Step, later: Step) -> bool:
    """Whether a later step is the same in other words, or has all that the step had."""
    if step.action == later.action:
        return False
    if is_same_check(step, later):
        return True
    names = set(_NAME.findall(step.action))
    return bool(names) and names <= set(_NAME.findall(later.action))


class NamesInRun:
    """What the steps of a run are about: the names in what was done and at the end of what it
    printed, but for those that most steps have.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self._done = {id(step): set(_NAME.findall(step.action[:_NAMED_CHARS])) for step in steps}
        counts = Counter(name for names in self._done.values() for name in names)
        usual = max(5, len(steps) // 2)
        self._usual = {name for name, times in counts.items() if times > usual}

    def done_on(self, step: Step) -> set[str]:
        """The names in an action."""
        return self._done[id(step)] - self._usual

    def find_concerns(self, step: Step) -> set[str]:
        """The names in an action and in the last lines of its output."""
        end = step.output[-_NAMED_CHARS:].rstrip().split("\n")[-3:]
        return self.done_on(step) | set(_NAME.findall(" ".join(end)))


def _settle_otherwise(
    problem: _Open, steps: Sequence[Step], names: NamesInRun, solving: Sequence[Step]
) -> Problem:
    """A problem whose check was never run again: what was done next on the same things, and worked,
    may have settled it in another way; else what came after it and solved the task.
    """
    concerned, own = names.find_concerns(problem.check), set(_NAME.findall(problem.check.action))
    last = max(problem.check.place, problem.shown_last)
    following = (
        step for step in islice(steps, _find_place(steps, last), None) if step.kind != "look"
    )
    for step in islice(following, _NEXT_DEEDS):
        last = step.place
        if step.outcome != "worked" or step.tests:
            continue
        same_program = step.key.split("\n")[1:2] == problem.check.key.split("\n")[1:2] != []
        rewrites = any(file_name(touch.name) in own for touch in step.touches)
        if same_program or rewrites or concerned & names.done_on(step):
            return replace(problem.close(step.place, [step], until=last), checked=False)
    shown_last = max(problem.check.place, problem.shown_last)
    after = solving[_find_place(solving, shown_last) :]
    if len(after) == 1:  # of several nobody can tell which
        return replace(problem.close(after[-1].place, after), checked=False)
    return problem.close(None, until=last)


def add_corrections(lasting: Sequence[Step], problems: Sequence[Problem]) -> list[Step]:
    """What lasted, in order, with the checks that passed because they were run in another way: how a
    check has to be run is what its correction leaves.
    """
    corrections = {
        step.key: step
        for problem in problems
        for step in problem.cure[-1:]
        if step.tests and step.place == problem.gone and step.outcome == "worked"
    }
    new = [step for step in corrections.values() if step not in lasting]
    return sorted((*lasting, *new), key=lambda step: step.place)


def _find_place(steps: Sequence[Step], place: int) -> int:
    """Where the steps begin that come after a place; their number where none does."""
    return bisect_right(steps, place, key=lambda step: step.place)


def _without_undone(problem: Problem, steps: Sequence[Step]) -> Problem:
    """The problem as it is where it went away with an attempt that failed in another way, and that
    was given up: what was done instead is the cure, and where nothing was, there is none.
    """
    attempt = next(
        (
            step
            for step in problem.cure
            if step.place == problem.gone
            and step.outcome == "failed"
            and is_same_check(problem.check, step)
        ),
        None,
    )
    if attempt is None:
        return problem
    before = [step for step in problem.cure if step is not attempt]
    begin = _find_place(steps, attempt.place)
    for step in steps[begin : begin + _STEPS_AFTER_MAX]:
        if step.kind == "look":
            continue
        if is_same_check(problem.check, step) or is_same_check(attempt, step):
            if step.outcome == "failed":
                continue
            if differs(step, problem.check) and keeps_settings(attempt, step):
                return problem
            cure = [*before, step] if differs(step, problem.check) else before
            return replace(
                problem, gone=step.place, cure=tuple(cure), in_vain=(*problem.in_vain, attempt)
            )
        if step.outcome != "failed" and not step.tests:
            before.append(step)
    return (
        replace(problem, gone=None, cure=(), in_vain=(*problem.in_vain, *problem.cure))
        if attempt.key == ATTEMPT
        else problem
    )


def keeps_settings(attempt: Step, later: Step) -> bool:
    """Whether a later attempt still has what the earlier one had changed."""
    if attempt.key == ATTEMPT:
        return False
    return attempt.key == later.key and set(settings_in(attempt.action)) <= set(
        settings_in(later.action)
    )


def settings_in(action: str) -> list[str]:
    """The variables that an action sets, each with its value; none where it sets none."""
    return _SETTING.findall(action)


def differs(step: Step, check: Step) -> bool:
    """Whether a check was run in another way than before, and not only shown in another, or without
    what stood before it in its line.
    """
    return not is_part(step, check)


def is_part(step: Step, line: Step) -> bool:
    """Whether a step is all of what a line did, or one of the commands in it."""
    parts = {_plain(line.action), *map(_plain, _JOINT.split(line.action))}
    return _plain(step.action) in parts


def _plain(action: str) -> str:
    return " ".join(_SHORTENING.sub("", action).split())


def is_same_check(check: Step, step: Step) -> bool:
    """Whether a step checks what another one did: it is the same command, or a corrected one."""
    return check.key == step.key or is_corrected(check, step)


def is_corrected(failed: Step, step: Step) -> bool:
    """Whether a step is another attempt at what failed: the same program, asked for the same, on
    half of the same things at least; or the same words but for one that is nearly the same.
    """
    if ATTEMPT in (failed.key, step.key) or failed.key.startswith(("edit\n", "call\n")):
        return False
    folder, *before = failed.key.split("\n")
    other_folder, *after = step.key.split("\n")
    if folder != other_folder or len(before) < 2 or len(after) < 2:
        return False
    if before[:2] == after[:2]:
        shared = len({*before[2:]} & {*after[2:]})
        return 2 * shared >= min(len(before), len(after)) - 2
    return is_misspelled(before, after)


def is_misspelled(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether two lists of words differ in one word, and there in the order or number of a letter
    or two.
    """
    if len(words) != len(others):
        return False
    differing = [(one, other) for one, other in zip(words, others, strict=True) if one != other]
    if len(differing) != 1:
        return False
    one, other = differing[0]
    if abs(len(one) - len(other)) > 1 or min(len(one), len(other)) < 3:
        return False
    start = 0
    while one[start : start + 1] == other[start : start + 1]:  # somewhere they differ
        start += 1
    rest, other_rest = one[start:], other[start:]
    return (
        rest[1:] == other_rest[1:]
        or rest[1:] == other_rest
        or rest == other_rest[1:]
        or (rest[:2] == other_rest[1::-1] and rest[2:] == other_rest[2:])
    )
