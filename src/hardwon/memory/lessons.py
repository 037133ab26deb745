"""What runs taught, read for a situation. Reads only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial

from hardwon.lessons.cures import Cure, Evidence, weigh_cures
from hardwon.lessons.digest import (
    ANY_RUN,
    Digest,
    Met,
    digest_record,
    digest_together,
    sort_key,
)
from hardwon.lessons.lesson import Lesson, make_lesson_id
from hardwon.learn.tallies import session_key
from hardwon.memory.project import Project
from hardwon.records.fields import from_us
from hardwon.records.kinds import AnyRecord, Trajectory
from hardwon.runs.steps import key_of_action, sort_of_action, without_header
from hardwon.search.terms import Filters
from hardwon.store.query import readable
from hardwon.text.failure_keys import Failure, find_names, read_failure
from hardwon.text.terms import same_action

# The newest times that a failure was met tell enough, each author's by turns.
_TIMES_READ_MAX = 60
_RUN_RECORDS_MAX = 200
_COUNTED_MAX = 1_000


class Lessons:
    """What is known in one project."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._store = project.store
        self._how_common: Callable[[str], float] = cache(self._count_habit)

    def find_cures(self, failure: Failure) -> list[Lesson]:
        """What made this very failure go away, the likeliest first, and what was tried in vain last.
        Nothing where it was never met, or nothing was done about it.
        """
        return self._weigh("exact", failure.exact)

    def find_like_cures(self, failure: Failure) -> list[Lesson]:
        """The same of failures that are this one but for the names in them."""
        return [
            lesson for lesson in self._weigh("family", failure.family) if lesson.exact is False
        ]

    def _weigh(self, sort: str, key: str) -> list[Lesson]:
        met = list(self._times_met(sort, key))
        words = met[0][1].words if met else ""
        evidence = [self._make_evidence(record, one) for record, one in met]
        named = find_names(words) - find_names(met[0][1].check if met else "")
        cures = weigh_cures(
            evidence, self._how_common, lambda action: not named.isdisjoint(find_names(action))
        )
        return [_make_lesson(cure, key, words, exact=sort == "exact") for cure in cures]

    def _make_evidence(self, record: AnyRecord, met: Met) -> Evidence:
        return Evidence(
            met.cure, met.in_vain, record.at_us, record.said_by, record.id, met.checked
        )

    def _times_met(self, sort: str, key: str) -> Iterator[tuple[AnyRecord, Met]]:
        """The records of runs that met a failure, each with what became of it there."""
        found = self._store.by_key(
            self._project.name, [f"{sort}:{key}"], Filters(), _TIMES_READ_MAX, in_turns=True
        )
        runs_read: set[str] = set()
        for record in readable(found):
            digest = digest_record(record)
            run_id = record.metadata.source.id
            if digest and run_id and any(_is_open(met, sort, key) for met in digest.met):
                if run_id in runs_read:
                    continue
                runs_read.add(run_id)
                digest = self._digest_run(record, run_id)
            for met in digest.met if digest else ():
                if getattr(met, sort) == key:
                    yield record, met

    def _digest_run(self, record: AnyRecord, run_id: str) -> Digest | None:
        """What all the records of a run teach together."""
        found = self._store.by_key(
            self._project.name, [session_key(run_id)], Filters(), _RUN_RECORDS_MAX
        )
        parts = [
            part
            for part in readable(found)
            if isinstance(part, Trajectory) and part.said_by == record.said_by
        ]
        return digest_together(parts) if len(parts) > 1 else digest_record(record)

    def _count_habit(self, action: str) -> float:
        """In which share of all runs something of this action's sort is done; 0 where it is of no
        sort.
        """
        sort = sort_of_action(action)
        if not sort:
            return 0.0
        count = partial(self._store.count_with_key, self._project.name, most=_COUNTED_MAX)
        return count(sort_key(sort)) / max(1, count(ANY_RUN))


def _is_open(met: Met, sort: str, key: str) -> bool:
    return met.cure is None and getattr(met, sort) == key


def _make_lesson(cure: Cure, key: str, words: str, *, exact: bool) -> Lesson:
    return Lesson(
        make_lesson_id("cure", key, same_action(cure.action)),
        "cure",
        words,
        cure.action,
        cure.tried,
        cure.helped,
        cure.p_helps,
        from_us(cure.last_us),
        cure.evidence,
        cure.sources,
        exact,
    )


def read_shown_failure(shown: str, action: str = "") -> Failure | None:
    """The failure that an output tells of; None where it tells nothing."""
    printed = without_header(shown)
    return read_failure(printed, key_of_action(action) if action else "")


def likely(lessons: Iterable[Lesson], p_from: float) -> list[Lesson]:
    """Those that are likely enough."""
    return [lesson for lesson in lessons if lesson.p_helps >= p_from]
