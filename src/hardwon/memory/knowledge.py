"""What the memory knows, put together from the store's tallies and decisions by `learn`. Texts are
looked up last, and only for what is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.learn.actions import (
    ANY_FAILURE,
    judge_steps,
    pairs_of,
)
from hardwon.learn.fixes import Solution, rank_solutions
from hardwon.lessons.actions import Level
from hardwon.lessons.fixes import RankedStrategy
from hardwon.lessons.odds import Counts
from hardwon.memory.fix_lessons import FixReading
from hardwon.memory.project import Project
from hardwon.records.fields import from_us
from hardwon.records.kinds import AnyRecord, Trajectory
from hardwon.text.clean import clean_action
from hardwon.text.outcomes import describe_failure

# Actions that were taken after an error and are weighed, those that helped most often: a common error
# has thousands, most of which helped nobody.
_SOLUTIONS_CONSIDERED_MAX: Final = 100


class Knowledge(FixReading):
    """Everything that can be asked of one project. Made anew for every question."""

    def __init__(self, project: Project) -> None:
        super().__init__(project)
        self._acts_alone: bool | None = None  # whether a single source ever took any action

    def counts(self, keys: Sequence[Level]) -> dict[Level, Counts]:
        """The same, however long ago it was."""
        return self._store.counts_of_actions(self.project, keys)

    # --- diagnoses and solutions ---

    def tried(self, places: Sequence[tuple[str, str]], most: int) -> Iterator[list[RankedStrategy]]:
        """What was done after each error, given by scope and key, the likeliest to help first."""
        for tried in self._store.tried(self.project, places, _SOLUTIONS_CONSIDERED_MAX):
            if tried[0] and self._acts_alone is None:
                self._acts_alone = self._has_one_source("act.all")
            yield rank_solutions(*tried, self.today, most, alone=bool(self._acts_alone))

    def solution(self, ranked: RankedStrategy, said: PairWords) -> Solution:
        """In these words."""
        support = ranked.support
        return Solution(
            diagnosis=said.diagnosis,
            failure_hash=said.failure_hash,
            action=said.action,
            after=said.after,
            tried=ranked.share.attempts,
            helped=ranked.share.verified,
            p_helped=ranked.p_success,
            last_tried=from_us(support.last_us),
            evidence=tuple(support.newest_ids),
            vouched=support.vouched,
        )

    def words_of(self, ranked: RankedStrategy, diagnosis: str = ANY_FAILURE) -> PairWords | None:
        """Those of one of the trajectories that taught it."""
        support = ranked.support
        words = (self._words_of_pair(each, diagnosis, support.item) for each in support.sample_ids)
        return next(filter(None, words), None)

    def _words_of_pair(self, record_id: str, diagnosis: str, action: str) -> PairWords | None:
        """The same errors are met again and again: what the same body says of one is kept."""
        self.read_ahead([record_id])
        stored = self._stored.get(record_id)
        key = (stored.digest if stored else b"", diagnosis, action)
        said = _said_of_pairs.get(key)
        if not said and (record := self.record(record_id)):
            said = _words_of_pair(diagnosis, action, record)
            if said:
                if len(_said_of_pairs) >= limits.MADE_ONCE_MAX:
                    _said_of_pairs.clear()
                _said_of_pairs[key] = said
        return said


class PairWords(NamedTuple):
    """What the error was, its hash, what was done, and what had been."""

    diagnosis: str
    failure_hash: str
    action: str
    after: str


_said_of_pairs: Final[dict[tuple[bytes, str, str], PairWords]] = {}


def _words_of_pair(diagnosis: str, action: str, record: AnyRecord) -> PairWords | None:
    """In the words of one trajectory."""
    if isinstance(record, Trajectory):
        for pair, number in pairs_of(record):
            if pair.action == action and diagnosis in (ANY_FAILURE, pair.diagnosis):
                met = zip(record.steps[:number], judge_steps(record.steps), strict=False)
                failed = [step for step, was in met if was.failure == pair.diagnosis][-1]
                near = failed is record.steps[number - 1] or not diagnosis
                return PairWords(
                    describe_failure(failed.observation),
                    pair.diagnosis,
                    clean_action(record.steps[number].action),
                    clean_action(failed.action) if near else "",
                )
    return None
