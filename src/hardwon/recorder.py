"""Recording while something happens, whatever happens."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from hardwon import limits
from hardwon.errors import HardwonError
from hardwon.govern.redaction import redact
from hardwon.model import Step, Trajectory

if TYPE_CHECKING:
    from hardwon.intake import Envelope
    from hardwon.memory import Memory


class TrajectoryRecorder:
    """Collects steps inside a `with` block and records them when it ends.

    A block that ends well counts as solved (final reward 1.0) unless `final_reward` says otherwise; one that raises counts as
    failed (0.0), with the error as its last observation. `record` is what was kept.
    """

    def __init__(self, memory: Memory, task: str, envelope: Envelope) -> None:
        self.task = task
        self.steps: list[Step] = []
        self.final_reward: float | None = None
        self.record: Trajectory | None = None
        self._memory = memory
        self._envelope = envelope

    def step(self, action: str, observation: str = "", reward: float = 0.0) -> None:
        self.steps.append(Step(action=action, observation=observation, reward=reward))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            reward = 1.0 if self.final_reward is None else self.final_reward
            self._record(reward)
            return
        self.step("(the attempt raised an error)", _told(error))
        try:
            self._record(0.0)
        except HardwonError as failure:
            # The caller's own error is the news; that it could not be recorded must not hide it.
            error.add_note(f"Hardwon could not record this trajectory: {failure}")

    def _record(self, final_reward: float) -> None:
        self.record = self._memory.record_trajectory(self.task, _fitting(self.steps), final_reward, **self._envelope)


def _told(error: BaseException) -> str:
    try:
        told = f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001  # a foreign __str__ may fail in any way
        told = type(error).__name__
    told = told.replace("\0", "").encode(errors="replace").decode()
    return redact(told)[0][: limits.TEXT_CHARS_MAX]  # in this order: half a secret would not be recognised


def _fitting(steps: list[Step]) -> list[Step]:
    """As many steps, and as much of each, as one record can hold: of too many the middle is left out."""
    if len(steps) > limits.STEPS_MAX:
        half = limits.STEPS_MAX // 2
        steps = [*steps[:half], *steps[-half:]]
    room = limits.RECORD_BYTES_MAX // 8  # characters; one takes up to six bytes as JSON, and the envelope needs some
    if sum(len(step.action) + len(step.observation) for step in steps) <= room:
        return steps
    each = room // (2 * len(steps))
    return [step.altered(action=_cut(step.action, each), observation=_cut(step.observation, each)) for step in steps]


def _cut(text: str, chars: int) -> str:
    return text if len(text) <= chars else redact(text)[0][:chars]
