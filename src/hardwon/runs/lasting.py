"""What of a run was still there at its end: of changes to the same thing the last one, without what
was undone or written only to find something out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from hardwon.runs.shapes import RunOutcome, Step
from hardwon.runs.steps import ATTEMPT
from hardwon.text.programs import only_shows

# What files are called that somebody writes to find something out.
_SCRATCH: Final = re.compile(
    r"(?i)(?:^|[/_.-])(?:tests?|check|verif\w*|validat\w*|debug|demo|inspect|repro\w*|scratch)(?:[_-]\w*)?\.\w+$"
)


def find_lasting(
    steps: Sequence[Step], task: str = "", outcome: RunOutcome = "solved"
) -> list[Step]:
    """The steps that lasted, in order. Where one of several that worked earned the full reward, it
    is what lasted, and where nothing was changed, the last attempt that worked is; of a run that
    was solved, the last look. Nothing where there is neither.
    """
    worked = [step for step in steps if step.outcome == "worked"]
    earning = [step for step in worked if step.reward >= 1]
    doing = [step for step in earning if not step.tests and step.kind != "hand-in"]
    if doing and len(earning) < len(worked):
        return [doing[-1]]
    return (
        _find_changes(steps, task)
        or [step for step in worked if step.kind == "check" and step.key == ATTEMPT][-1:]
        or (worked[-1:] if outcome == "solved" else [])
    )


def _find_changes(steps: Sequence[Step], task: str) -> list[Step]:
    """The changes that lasted, looked for from the end: what comes later decides."""
    own = _find_own_files(steps)
    scratch = list_own_scratch(steps, task)
    later = _Later()
    lasting: list[Step] = []
    for step in reversed(steps):
        if step.kind == "look" or step.outcome == "failed" or step.action in later.actions:
            continue
        is_change = not step.tests and step.kind != "hand-in" and step.key != ATTEMPT
        is_for_nothing = _tidies(step, own) or _only_runs(step, scratch)
        if is_change and not is_for_nothing and not _is_void(step, later, task):
            lasting.append(step)
        later.add(step)
    return lasting[::-1]


class _Later:
    """What was done after a step: the actions, the files that were written whole or removed, and
    the lines that may have run a file.
    """

    def __init__(self) -> None:
        self.actions: set[str] = set()
        self.overwritten: set[str] = set()
        self.removed: set[str] = set()
        self.lines: list[str] = []

    def add(self, step: Step) -> None:
        self.actions.add(step.action)
        self.removed.update(file_name(touch.name) for touch in step.touches if touch.removes)
        self.overwritten.update(file_name(touch.name) for touch in step.touches if touch.whole)
        if not any(touch.removes or touch.whole for touch in step.touches):
            self.lines.append(step.action)

    def uses(self, name: str) -> bool:
        """Whether a file was named by something that neither writes nor removes files."""
        return any(name in line for line in self.lines)


def _is_void(step: Step, later: _Later, task: str) -> bool:
    """Whether nothing of a change was left at the end, or it was only for finding something out."""
    written = [file_name(touch.name) for touch in step.touches if not touch.removes]
    if not written:
        return False
    if all(name in later.overwritten for name in written):
        return True
    if all(name in later.removed and not later.uses(name) for name in written):
        return True
    only_writes = step.key.startswith("edit\n") or only_shows(step.key.split("\n")[1])
    return only_writes and all(_SCRATCH.search(name) and name not in task for name in written)


def _tidies(step: Step, own: set[str]) -> bool:
    """Whether a step does nothing but remove files that the run wrote itself."""
    removed = [file_name(touch.name) for touch in step.touches if touch.removes]
    return 0 < len(removed) == len(step.touches) and own.issuperset(removed)


def _only_runs(step: Step, scratch: set[str]) -> bool:
    """Whether a step does nothing but run what was written to find something out."""
    if any(touch.whole or file_name(touch.name) not in scratch for touch in step.touches):
        return False
    return not scratch.isdisjoint(re.split(r"[\s/]+", step.action))


def list_own_scratch(steps: Sequence[Step], task: str) -> set[str]:
    """The names of the files that a run wrote to find something out, and those that it removed."""
    own = _find_own_files(steps)
    return {name for name in own if _SCRATCH.search(name) and name not in task}


def _find_own_files(steps: Sequence[Step]) -> set[str]:
    """The names of the files that a run wrote: to remove one of those leaves nothing behind."""
    return {file_name(touch.name) for step in steps for touch in step.touches if not touch.removes}


def file_name(path: str) -> str:
    """The name by which later commands mean a file: the last part of its path."""
    return path.rstrip("/").rpartition("/")[2]
