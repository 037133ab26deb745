"""What was laid down in a project, read for a situation. Reads only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Final

from hardwon.lessons.keys import key_of_task
from hardwon.lessons.lesson import Lesson, Verdict
from hardwon.lessons.teaching import ANY_RULE, lesson_key, make_rule_id
from hardwon.memory.project import Project
from hardwon.memory.tallies import keep_kind
from hardwon.records.fields import from_us
from hardwon.records.kinds import VIA_IMPORT, VOUCHED_STATUSES, Trajectory
from hardwon.runs.read import read_run
from hardwon.search.likeness import Worth, find_terms, likeness
from hardwon.search.terms import Filters
from hardwon.store.query import TeachingRow
from hardwon.tell.rules import (
    LaidDown,
    choose_rules,
    find_beginning,
    holds,
    say_rules,
)
from hardwon.tell.situation import Line, Situation
from hardwon.tell.standing_rules import read_rule
from hardwon.text.terms import query_terms

# The newest ones: people lay down dozens.
_RULES_READ_MAX: Final = 200
_TASKS_READ_MAX: Final = 10
# Tasks that have so much in common are alike; one run proves nothing of another task.
_LIKE_FROM: Final = 0.5
_LIKE_MIN: Final = 2


class RuleFinder:
    """Reads what was laid down in one project, for one answer."""

    def __init__(
        self, project: Project, find_verdicts: Callable[[Sequence[str]], dict[str, Verdict]]
    ) -> None:
        self._name = project.name
        self._store = project.store
        self._find_verdicts = find_verdicts

    def tell_rules(self, situation: Situation) -> list[Line]:
        """The rules that speak of what is about to be done; nothing where none does."""
        if not self.known:
            return []
        runs: list[list[str]] = []
        is_task = not (situation.action or situation.file)
        terms = {term for one in self.known for term in one.rule.terms}
        terms |= find_terms(situation.task) if is_task else set()
        worth = self._store.frequencies(self._name, list(terms)).worth
        if is_task:
            runs = self._find_beginnings(situation.task, worth)
        chosen = choose_rules(self.known, situation, worth, runs)
        return say_rules(self._keep_valid(chosen))

    def list_rules(self) -> list[Lesson]:
        """The rules that hold, the newest first."""
        return [one.lesson for one in self._keep_valid(self.known)]

    def _keep_valid(self, rules: Iterable[LaidDown]) -> list[LaidDown]:
        """Those that hold."""
        return [one for one in rules if holds(one, self.known, self._is_agent)]

    def find_rule(self, lesson_id: str) -> list[Lesson]:
        """The rule with this id, whatever people say of it; nothing where there is none."""
        rows = self._store.teachings(self._name, [lesson_key(lesson_id)], _RULES_READ_MAX)
        verdict = self._find_verdicts([lesson_id]).get(lesson_id, "")
        return [_lay_down(rows, verdict).lesson] if rows else []

    @property
    def record_ids(self) -> set[str]:
        """The records that lay something down, whether it still holds or not."""
        return {record_id for one in self.known for record_id in one.lesson.evidence}

    @cached_property
    def known(self) -> list[LaidDown]:
        """What was laid down and not called wrong, the newest first, each once. What comes from
        elsewhere is a stranger's word, until somebody here vouches for it.
        """
        rows: dict[str, list[TeachingRow]] = {}
        for row in self._store.teachings(self._name, [ANY_RULE], _RULES_READ_MAX):
            if not row.author.endswith(VIA_IMPORT) or row.status in VOUCHED_STATUSES:
                rows.setdefault(make_rule_id(row.teaching.rule), []).append(row)
        verdicts = self._find_verdicts(list(rows))
        known = (_lay_down(times, verdicts.get(name, "")) for name, times in rows.items())
        return [one for one in known if one.lesson.verdict != "wrong"]

    def _is_agent(self, author: str) -> bool:
        """Whether somebody recorded a run here."""
        filters = Filters(kind="trajectory", author=author)
        return bool(self._store.page(self._name, filters, None, 1))

    def _find_beginnings(self, task: str, worth: Worth) -> list[list[str]]:
        """What the runs at the very task began with; where there are none, those at tasks that are
        worded much like it, if they are several.
        """
        rows = self._store.teachings(self._name, [key_of_task(task)], _TASKS_READ_MAX)
        if same := self._read_beginnings(rows):
            return same
        terms = find_terms(task)
        filters = Filters(kind="trajectory")
        hits = self._store.search(self._name, query_terms(task), filters, _TASKS_READ_MAX)
        rows = self._store.teachings_by_id(self._name, [hit.id for hit, _ in hits])

        def is_like(row: TeachingRow) -> bool:
            """Whether it was done at a task that is worded much like this one."""
            return likeness(terms, find_terms(row.teaching.task), worth) >= _LIKE_FROM

        like = self._read_beginnings(list(filter(is_like, rows)))
        return like if len(like) >= _LIKE_MIN else []

    def _read_beginnings(self, rows: Sequence[TeachingRow]) -> list[list[str]]:
        records = self._store.get_many(self._name, [row.record_id for row in rows])
        runs = keep_kind(Trajectory, records)
        return [find_beginning(read_run(run)) for run in runs if run.steps]


def _lay_down(times: Sequence[TeachingRow], verdict: Verdict) -> LaidDown:
    """A rule as it was laid down last, by what laid it down, the newest first, and what people say of it."""
    last, ids = times[0], tuple(row.record_id for row in times)
    text, by_person = last.teaching.rule, any(row.teaching.by_person for row in times)
    counts = 0, 0, 1.0, from_us(last.at_us)
    lesson = Lesson(make_rule_id(text), "rule", "", text, *counts, ids, verdict=verdict)
    return LaidDown(lesson, read_rule(text), last.author, by_person)
