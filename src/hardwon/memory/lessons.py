"""What runs taught, read for a situation. Reads only."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Final

from hardwon.learn.tallies import attempt_key, session_key
from hardwon.lessons.cures import Cure, Evidence, weigh_cures
from hardwon.lessons.digest import (
    ANY_RUN,
    Digest,
    Met,
    Tried,
    digest_record,
    digest_together,
    sort_key,
)
from hardwon.lessons.lesson import Lesson, make_lesson_id
from hardwon.lessons.transfer import carry_cures
from hardwon.memory.project import Project
from hardwon.records.fields import from_us
from hardwon.records.kinds import AnyRecord, Trajectory
from hardwon.runs.steps import key_of_action, sort_of_action, without_header
from hardwon.search.terms import Filters
from hardwon.store.query import readable
from hardwon.tell.failing import say_cures, say_warning
from hardwon.tell.situation import Line, Situation
from hardwon.text.failure_keys import Failure, find_names, read_failure
from hardwon.text.terms import same_action

# The newest times that a failure was met tell enough, each author's by turns.
_TIMES_READ_MAX: Final = 60
_RUN_RECORDS_MAX: Final = 200
_COUNTED_MAX: Final = 1_000


class Lessons:
    """What is known in one project."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._store = project.store
        self._count_habit = cache(self._ask_habit)

    # What is said at a moment.

    def tell_after(self, situation: Situation) -> list[Line]:
        """What made the failure of a situation go away before; nothing where nobody knows."""
        if situation.failure is None:
            return []
        lines = say_cures(self.find_cures(situation.failure.exact), situation)
        return lines or say_cures(self.find_like_cures(situation.failure), situation)

    def tell_before(self, situation: Situation) -> list[Line]:
        """Why the action of a situation failed when it was taken last, and what helped; nothing
        where it did not.
        """
        last = self.find_last_end(situation.action)
        if last is None:
            return []
        tried, record = last
        cures, passing = [], 0.0
        if tried.exact:
            met = list(self._find_met("exact", tried.exact))
            cures = self._weigh(met, tried.exact)
            passing = _share_passing(met)
        return say_warning(tried, cures, passing, situation, record.id, record.at_us)

    # What is known.

    def find_cures(self, exact: str) -> list[Lesson]:
        """What was done about the failure with this exact key, the likeliest to help first; nothing
        where it was never met, or nothing was done.
        """
        return self._weigh(list(self._find_met("exact", exact)), exact)

    def find_like_cures(self, failure: Failure) -> list[Lesson]:
        """What helped against failures that are this one but for names, where the names of the one
        stand in the cure, so that those of the other can be put in their place.
        """
        by_key: dict[str, list[tuple[AnyRecord, Met]]] = {}
        for record, met in self._find_met("family", failure.family):
            if met.exact != failure.exact:
                by_key.setdefault(met.exact, []).append((record, met))
        known = [self._weigh(times, exact)[:1] for exact, times in by_key.items()]
        return carry_cures([cures[0] for cures in known if cures], failure.words)

    def find_last_end(self, action: str) -> tuple[Tried, AnyRecord] | None:
        """How an action ended when it was taken last, and the record that tells; None where it never
        was.
        """
        same = same_action(action)
        found = self._store.by_key(self._project.name, [attempt_key(action)], Filters(), 1)
        for record in readable(found):
            digest = digest_record(record)
            for tried in reversed(digest.tried if digest else ()):
                if same_action(tried.action) == same:
                    return tried, record
        return None

    # How it is found.

    def _weigh(self, met: list[tuple[AnyRecord, Met]], exact: str) -> list[Lesson]:
        if not met:
            return []
        words, check = met[0][1].words, met[0][1].check
        named = find_names(words) - find_names(check)
        evidence = [
            Evidence(one.cure, one.in_vain, record.at_us, record.said_by, record.id, one.checked)
            for record, one in met
        ]
        cures = weigh_cures(
            evidence,
            self._count_habit,
            lambda action: not named.isdisjoint(find_names(action)),
        )
        return [_make_lesson(cure, exact, words) for cure in cures]

    def _find_met(self, sort: str, key: str) -> Iterator[tuple[AnyRecord, Met]]:
        """The times that a failure was met: the record that tells, and what became of it there. Where
        a record leaves it open that is a part of a run, the whole run is read.
        """
        found = self._store.by_key(
            self._project.name, [f"{sort}:{key}"], Filters(), _TIMES_READ_MAX, in_turns=True
        )
        runs_read: set[str] = set()
        for record in readable(found):
            digest = digest_record(record)
            run_id = record.metadata.source.id
            if digest and run_id and _leaves_open(digest, sort, key):
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

    def _ask_habit(self, action: str) -> float:
        """In which share of all runs something of this action's sort is done; 0 where it is of none."""
        sort = sort_of_action(action)
        if not sort:
            return 0.0
        count, project = self._store.count_with_key, self._project.name
        runs = count(project, ANY_RUN, _COUNTED_MAX)
        return count(project, sort_key(sort), _COUNTED_MAX) / max(1, runs)


def _leaves_open(digest: Digest, sort: str, key: str) -> bool:
    return any(met.cure is None and getattr(met, sort) == key for met in digest.met)


def _share_passing(met: list[tuple[AnyRecord, Met]]) -> float:
    """In which share of the times that it went away a failure did so by itself; 0 where it never
    did.
    """
    gone = [one for _, one in met if one.cure is not None]
    return sum(one.passed for one in gone) / len(gone) if gone else 0.0


def _make_lesson(cure: Cure, exact: str, words: str) -> Lesson:
    return Lesson(
        make_lesson_id("cure", exact, same_action(cure.action)),
        "cure",
        words,
        cure.action,
        cure.tried,
        cure.helped,
        cure.p_helps,
        from_us(cure.last_us),
        cure.evidence,
        cure.sources,
    )


def read_shown_failure(shown: str, action: str = "") -> Failure | None:
    """The failure that an output tells of; None where it tells nothing."""
    return read_failure(without_header(shown), key_of_action(action) if action else "")
