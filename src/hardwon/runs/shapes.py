"""What a run is once it was read. Plain values: the same records give the same run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hardwon.text.failures import Failure
from hardwon.text.programs import Touch

StepKind = Literal["look", "change", "check", "hand-in"]
Outcome = Literal["worked", "failed", "unknown"]
RunOutcome = Literal["solved", "failed", "partial", "unknown"]


@dataclass(frozen=True)
class Step:
    """One thing that was done. `place` is that of the recorded step that it is a part of; `key` is
    the same for the same action, whatever options and variables it has; `tests`: it can do nothing
    but check.
    """

    place: int
    kind: StepKind
    action: str
    key: str
    outcome: Outcome = "unknown"
    output: str = ""
    failure: Failure | None = None
    touches: tuple[Touch, ...] = ()
    reward: float = 0.0
    tests: bool = False


@dataclass(frozen=True)
class Problem:
    """A failure that a check showed first at `opened`, and `shown` times in all. `gone` is the place
    of the first step that no longer showed it, None where there is none. `cure` is what changed in
    between: nothing where it passed by itself. `in_vain` are changes after which it was still there,
    and attempts that failed themselves. `checked`: the check was run again; where it never was, the
    cure is what was done next on the same things, and worked.
    """

    failure: Failure
    check: Step
    opened: int
    gone: int | None = None
    cure: tuple[Step, ...] = ()
    in_vain: tuple[Step, ...] = ()
    shown: int = 1
    checked: bool = True

    @property
    def passed(self) -> bool:
        """Whether it went away although nothing was changed."""
        return self.gone is not None and not self.cure


@dataclass(frozen=True)
class Run:
    """What was tried at a task, from the first step to the last. `lasting` are the steps whose
    effects were there at the end.
    """

    task: str
    steps: tuple[Step, ...]
    outcome: RunOutcome
    problems: tuple[Problem, ...]
    lasting: tuple[Step, ...]
