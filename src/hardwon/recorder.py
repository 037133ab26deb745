"""Recording while something happens, whatever happens."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from hardwon import limits
from hardwon.errors import HardwonError
from hardwon.model import Step, Trajectory

if TYPE_CHECKING:
    from hardwon.memory import Envelope, Memory


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
            self.record = self._memory.record_trajectory(self.task, self.steps, reward, **self._envelope)
            return
        told = f"{type(error).__name__}: {error}".replace("\0", "").encode(errors="replace").decode()
        self.step("(the attempt raised an error)", told[: limits.TEXT_CHARS_MAX])
        try:
            self.record = self._memory.record_trajectory(self.task, self.steps, 0.0, **self._envelope)
        except HardwonError as failure:
            # The caller's own error is the news; that it could not be recorded must not hide it.
            error.add_note(f"Hardwon could not record this trajectory: {failure}")
