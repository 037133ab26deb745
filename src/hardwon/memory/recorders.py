"""Recording while something happens, whatever happens."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self

from hardwon import limits
from hardwon.errors import InvalidInputError, ask_foreign
from hardwon.learn.actions import worked
from hardwon.memory.record import Envelope, cut, metadata_of
from hardwon.outside.locations import check_path
from hardwon.records.fields import check_items
from hardwon.records.kinds import Episode, Issue, MistakeCard, Step, Trajectory
from hardwon.trust.redact import redact, redact_json

if TYPE_CHECKING:
    from hardwon.memory import Memory
    from hardwon.memory.context import Context


class _Recorder(ABC):
    """Records when its `with` block ends, whatever happens in it."""

    def __init__(self, memory: Memory, envelope: Envelope) -> None:
        self.steps: list[Step] = []
        self._memory = memory
        self._envelope = envelope

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._record(error)
        except Exception as failure:
            if error is None:
                raise
            # The caller's own error is the news; whatever failed here must not hide it. One of the
            # caller's own making may take no notes.
            note = f"Hardwon could not record this {self._what}: {failure}"
            ask_foreign(partial(error.add_note, note), None)

    _what: ClassVar[str]

    @abstractmethod
    def _record(self, error: BaseException | None) -> None:
        """Keeps what was collected; `error` is what ended the block, if one did."""


class TrajectoryRecorder(_Recorder):
    """Collects steps inside a `with` block and records them when it ends.

    A block that ends well counts as solved (final reward 1.0) unless `final_reward` says otherwise,
    or its last step shows an error that nobody gave a reward for; one that raises counts as failed
    (0.0), with the error as its last observation. `record` is what was kept.
    """

    _what = "trajectory"

    def __init__(self, memory: Memory, task: str, envelope: Envelope) -> None:
        super().__init__(memory, envelope)
        self.task = task
        self.final_reward: float | None = None
        self.record: Trajectory | None = None

    def step(
        self, action: str, observation: str = "", reward: float = 0.0, ok: bool | None = None
    ) -> None:
        """One step was taken: what was done, what came of it, and what that was worth."""
        self.steps.append(Step(action=action, observation=observation, reward=reward, ok=ok))

    def _record(self, error: BaseException | None) -> None:
        reward = float(_ended_well(self.steps)) if self.final_reward is None else self.final_reward
        if error is not None:
            reward = 0.0
            self.step("(the attempt raised an error)", _told(error))
        self.record = self._memory.record_trajectory(
            self.task, self.steps, reward, **self._envelope
        )


def _ended_well(steps: list[Step]) -> bool:
    return not steps or steps[-1].reward > 0 or worked(steps[-1])


class EpisodeRecorder(_Recorder):
    """Collects what happens in one attempt at a task inside a `with` block and records it when the
    block ends.

    A block that ends well counts as solved (score 1.0) unless `score` says otherwise. One that
    raises counts with the score it has by then, else as failed (0.0), and the error is one of its
    mistakes; `sys.exit(0)` and the end of a generator are no errors. Without a `summary` the
    actions of the steps make one. `record` is what was kept. What is not allowed is refused where
    it is said, not when the block ends.
    """

    _what = "episode"

    def __init__(self, memory: Memory, task_id: str, envelope: Envelope) -> None:
        super().__init__(memory, _checked_envelope(envelope))
        recalled = envelope.get("recalled")
        if recalled is not None:
            recalled = check_items("recalled", getattr(recalled, "ids", recalled))
        began = Episode(task_id=task_id, score=0.0, recalled=recalled)
        self.task_id = began.task_id
        self.mistakes: list[str] = []
        self.successes: list[str] = []
        self.cards: list[MistakeCard] = []
        self.record: Episode | None = None
        self._score: float | None = None
        self._summary = ""
        self._entered = False
        self._recalled = began.recalled

    @property
    def score(self) -> float | None:
        """From 0 to 1; None until it is set."""
        return self._score

    @score.setter
    def score(self, score: float) -> None:
        self._score = self._checked(score=score).score

    @property
    def summary(self) -> str:
        """What happened, in a sentence or two."""
        return self._summary

    @summary.setter
    def summary(self, summary: str) -> None:
        self._summary = self._checked(trajectory_summary=summary).trajectory_summary

    def step(
        self, action: str = "", observation: str = "", reward: float = 0.0, ok: bool | None = None
    ) -> None:
        """One step was taken. An episode counts its steps; `Memory.trajectory` keeps what was done
        and seen in each.
        """
        self.steps.append(Step(action=action, observation=observation, reward=reward, ok=ok))

    def mistake(self, text: str) -> None:
        """Something that went wrong, as a lesson."""
        self.mistakes += self._checked(mistakes=[text]).mistakes

    def success(self, text: str) -> None:
        """Something that worked, as a lesson."""
        self.successes += self._checked(successes=[text]).successes

    def card(self, mistake_type: str = "unknown_mistake", **fields: Any) -> None:
        """A mistake with the decision that would have been right: `worker_id`, `bad_decision`,
        `correct_decision`, `evidence`, `lesson`, and `task_id` where it is not this one.
        """
        # before evidence and lesson are cut
        card, _ = redact_json({"mistake_type": mistake_type, **fields})
        self.cards.append(MistakeCard.model_validate(card))

    def context(
        self,
        query: str | None = None,
        *,
        issue: Issue | Mapping[str, Any] | None = None,
        budget_tokens: int = limits.CONTEXT_TOKENS,
        count_tokens: Callable[[str], int] | None = None,
        solved_from: float = 1.0,
        explain: bool = False,
    ) -> Context:
        """What the memory has to say before the attempt, as `Memory.context` does. The episode
        names what it was shown, so that its score tells whether that helped, and `Memory.compare`
        knows that it had the memory.
        """
        counting: dict[str, Any] = {} if count_tokens is None else {"count_tokens": count_tokens}
        found = self._memory.context(
            query,
            task_id=self.task_id,
            issue=issue,
            budget_tokens=budget_tokens,
            solved_from=solved_from,
            explain=explain,
            **counting,
        )
        self._recalled = list(dict.fromkeys([*(self._recalled or ()), *found.ids]))[
            : limits.ITEMS_MAX
        ]
        return found

    def __enter__(self) -> Self:
        if self._entered:
            raise InvalidInputError.one(
                "episode", self.task_id, "one block for each memory.episode(…): begin another one"
            )
        self._entered = True
        return self

    def _checked(self, **fields: Any) -> Episode:
        return Episode(**{"task_id": self.task_id, "score": 0.0, **fields})

    def _record(self, error: BaseException | None) -> None:
        # left on purpose: by `sys.exit()` without an error, or because nobody asks its generator on
        on_purpose = isinstance(error, GeneratorExit) or (
            isinstance(error, SystemExit) and error.code in (None, 0)
        )
        failed = error is not None and not on_purpose
        if error is not None and failed:
            self.mistakes.append(_told(error))
        envelope = self._envelope.copy()
        envelope["recalled"] = self._recalled
        done = cut(
            "; ".join(filter(None, (step.action for step in self.steps))), limits.LESSON_CHARS_MAX
        )
        # characters for a quarter of the record, as of a trajectory
        each = limits.RECORD_BYTES_MAX // 8 // 4
        self.record = self._memory.record_episode(
            self.task_id,
            float(not failed) if self._score is None else self._score,
            len(self.steps),
            cut(self._summary or done, each),
            _fitting_texts(self.mistakes, each),
            _fitting_texts(self.successes, each),
            self.cards[-limits.CARDS_PER_EPISODE_MAX :],
            **envelope,
        )


def _checked_envelope(given: Envelope) -> Envelope:
    """The envelope, if it is allowed. Related files are read when the block ends: it may be what
    writes them.
    """
    envelope = given.copy()
    if "tags" in envelope:
        envelope["tags"] = check_items("tags", envelope["tags"])
    if "related_files" in envelope:
        envelope["related_files"] = check_items("related_files", envelope["related_files"])
    for each in envelope.get("related_files", ()):
        check_path("related_files", each)
    metadata_of(
        {name: value for name, value in envelope.items() if name != "related_files"},
        datetime.now(UTC),
        None,
    )
    return envelope


def _fitting_texts(texts: list[str], room: int) -> list[str]:
    """As many texts, the newest, and as much of each, as fit."""
    texts = texts[-limits.ITEMS_MAX :]
    if sum(map(len, texts)) <= room:
        return texts
    return [cut(text, room // len(texts)) for text in texts]


def _told(error: BaseException) -> str:
    name = type(error).__name__
    told = ask_foreign(lambda: f"{name}: {error}", name)
    told = told.replace("\0", "").encode(errors="replace").decode()
    # in this order: half a secret would not be recognised
    return redact(told)[0][: limits.TEXT_CHARS_MAX]
