"""What runs taught, read for a situation. Reads only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import cache, cached_property, partial
from itertools import chain
from typing import Final

from hardwon.errors import UnknownLessonError
from hardwon.lessons.cures import Cure, Evidence, weigh_cures
from hardwon.lessons.keys import VERDICTS, attempt_key, key_of_task, session_key, verdict_key
from hardwon.lessons.laying_down import find_rule_text
from hardwon.lessons.lesson import Lesson, LessonKind, Verdict, make_lesson_id
from hardwon.lessons.teaching import (
    ANY_RUN,
    NO_TEACHING,
    Met,
    Teaching,
    lesson_key,
    make_fact_id,
    make_lost_id,
    make_rule_id,
    make_way_id,
    sort_key,
    teach_together,
)
from hardwon.lessons.transfer import carry_cures, carry_over
from hardwon.memory.laid_down import RuleFinder
from hardwon.memory.project import Project
from hardwon.memory.tallies import keep_kind
from hardwon.records.fields import check_that, from_us, to_us
from hardwon.records.kinds import (
    VOUCHED_STATUSES,
    AnyRecord,
    Decision,
    Experience,
    Fact,
    Trajectory,
)
from hardwon.runs.read import read_run
from hardwon.runs.shapes import Run, Step
from hardwon.runs.steps import key_of_action, sort_of_action
from hardwon.search.likeness import find_terms, likeness
from hardwon.search.question import Question
from hardwon.search.terms import Filters
from hardwon.store.query import TeachingRow, readable
from hardwon.store.types import Found, Stored
from hardwon.tell.ahead import Ahead, list_sorts, rank_failures, say_ahead
from hardwon.tell.failing import Past, choose_cures, say_cures, say_warning
from hardwon.tell.situation import NO_SITUATION, Line, Situation
from hardwon.text.failures import Failure, find_names, names_any, read_failure
from hardwon.text.outcomes import strip_ending
from hardwon.text.terms import same_action

# The newest times that a failure was met tell enough, each author's by turns.
_TIMES_READ_MAX: Final = 60
_RUN_RECORDS_MAX: Final = 200
_TASKS_LISTED_MAX: Final = 20
# What is usual shows in the newest runs.
_COUNTED_MAX: Final = 2_000
# Of one who works alone the newest times are among those that were recorded last.
_LAST_RECORDED_MAX: Final = 200
# Of fewer runs nobody can tell what is usual.
_FEW_RUNS: Final = 20
_VERDICTS_MAX: Final = 200
_SHOWN_RUNS_MAX: Final = 10
# Failures whose words have so much in common are alike.
ALIKE_FROM: Final = 0.5
_LIKE_READ_MAX: Final = 20
LIKE_FAILURES_MAX: Final = 8
# A failure without names that commands of so many sorts show says little.
_MANY_SORTS: Final = 4
# How likely what a person calls right is to help.
_PERSONS_WORD: Final = 0.98
_PLACES: Final[dict[Verdict, int]] = {"right": 0, "": 1, "wrong": 2}
# Runs at a task that begins, and of each of so many sorts of commands, that are read for what lies ahead.
_RUNS_AHEAD_MAX: Final = 20
_SORTS_AHEAD_MAX: Final = 8
_FAILURES_AHEAD_MAX: Final = 12

# The times that a failure was met: the record that tells, and what became of it there.
Times = list[tuple[TeachingRow, Met]]


class LessonFinder:
    """Reads what is known in one project, for one answer."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._store = project.store
        self._counts: dict[str, int] = {}
        self._teachings: dict[tuple[str, ...], list[TeachingRow]] = {}
        self.find_met = cache(self._ask_met)
        self._like: dict[str, list[tuple[TeachingRow, Met, float]]] = {}

    # What is said at a moment.

    def tell_after(self, situation: Situation) -> list[Line]:
        """What made the failure of a situation go away before; nothing where nobody knows."""
        if situation.failure is None:
            return []
        lines = say_cures(self.find_cures(situation.failure.exact, situation), situation)
        return lines or say_cures(self.find_like_cures(situation.failure), situation)

    def tell_before(self, situation: Situation) -> list[Line]:
        """Why the action of a situation failed when it was taken last, and what helped; nothing
        where it did not.
        """
        if (last := self.find_last_end(situation.action)) is None:
            return []
        step, record = last
        if step.failure is None:
            return []
        met = self.find_met("exact", step.failure.exact)
        cures = without_wrong(self.weigh(met, step.failure.exact))
        past = Past(step.failure, share_passing(met), record.id, record.at_us)
        return say_warning(past, cures, situation)

    def tell_ahead(self, situation: Situation) -> list[Line]:
        """What runs like the one that begins met, with what made it go away; nothing where no run at
        this task is known, or none met anything that has a cure.
        """
        return say_ahead(self._find_ahead(situation))

    def _find_ahead(self, situation: Situation) -> Iterator[Ahead]:
        def read(key: str) -> list[Teaching]:
            """What the newest runs with this key taught."""
            rows = self.read_teachings([key], _RUNS_AHEAD_MAX)
            return [row.teaching for row in rows]

        at_task = read(key_of_task(situation.task)) if situation.task.strip() else []
        sorts = list_sorts(at_task)[:_SORTS_AHEAD_MAX]
        by_sort = {sort: read(sort_key(sort)) for sort in sorts}
        for exact, chance in rank_failures(at_task, by_sort)[:_FAILURES_AHEAD_MAX]:
            if cures := choose_cures(self.find_cures(exact), situation):
                yield Ahead(cures[0].situation, chance, cures[0])

    @cached_property
    def acts_alone(self) -> bool:
        """Whether a single source ever took any action here."""
        return self._store.has_one_source(self._project.name, "act.all")

    @cached_property
    def _is_judged(self) -> bool:
        """Whether anybody called any lesson right or wrong here."""
        return bool(self._store.decisions(self._project.name, VERDICTS, None, 1))

    @cached_property
    def rules(self) -> RuleFinder:
        """What was laid down here."""
        return RuleFinder(self._project, self.find_verdicts)

    # What is known.

    def find_cures(self, exact: str, situation: Situation = NO_SITUATION) -> list[Lesson]:
        """What was done about the failure with this exact key, the likeliest to help first; nothing
        where it was never met, or nothing was done.
        """
        met = _keep_tied(self.find_met("exact", exact), situation)
        return without_wrong(self.weigh(met, exact))

    def find_like_cures(self, failure: Failure) -> list[Lesson]:
        """What helped against failures that are this one but for names, where the names of the one
        stand in the cure, so that those of the other can be put in their place.
        """
        cured = group_by_failure((row, met) for row, met, _ in self.find_like(failure))
        best: list[Lesson] = []
        for exact, times in cured.items():
            actions = {action for _, met in times for action in met.cure or ()}
            if any(carry_over(action, times[0][1].words, failure.words) for action in actions):
                best += without_wrong(self.weigh(times, exact))[:1]
        return carry_cures(best, failure.words, len(cured))

    def find_like(
        self, failure: Failure, alike_from: float = ALIKE_FROM
    ) -> list[tuple[TeachingRow, Met, float]]:
        """The times that failures were met that are of the family of this one, or worded much like
        it, and how alike they are: of the likest failures, the likest first.
        """
        alike = [one for one in self._search_like(failure) if one[2] >= alike_from]
        alike.sort(key=lambda one: -one[2])
        likest = list(dict.fromkeys(met.exact for _, met, _ in alike))[:LIKE_FAILURES_MAX]
        return [one for one in alike if one[1].exact in likest]

    def _search_like(self, failure: Failure) -> list[tuple[TeachingRow, Met, float]]:
        """All that share anything, of which several answers need a part."""
        if failure.exact in self._like:
            return self._like[failure.exact]
        family = self.find_met("family", failure.family)
        alike = [(row, met, 1.0) for row, met in family if met.exact != failure.exact]
        known = {row.record_id for row, _ in family}
        terms = find_terms(failure.words)
        project = self._project.name
        worth = self._store.frequencies(project, list(terms)).worth
        hits = self._store.search(project, list(terms), Filters(), _LIKE_READ_MAX)
        ids = [hit.id for hit, _ in hits if hit.id not in known]
        for row in self._store.teachings_by_id(project, ids):
            alike += [
                (row, met, likeness(terms, find_terms(met.words), worth))
                for met in row.teaching.met
                if met.exact != failure.exact
            ]
        self._like[failure.exact] = alike
        return alike

    def find_lesson(self, beginning: str) -> Lesson:
        """The lesson whose id begins so. `UnknownLessonError` where there is none, or several."""
        allowed = "the beginning of an id, as lessons lists them"
        check_that(beginning.strip(), "lesson_id", beginning, allowed)
        keys = self._store.keys_beginning(self._project.name, lesson_key(beginning), 2)
        # what only several records together teach has no key of its own
        rows = self.read_teachings(keys or [ANY_RUN], _TIMES_READ_MAX)
        lessons: dict[str, Lesson] = {}
        for row in rows:
            known = *self._read_lessons(row.teaching), *self._read_task_lessons(row.teaching)
            lessons |= {one.id: one for one in known if one.id.startswith(beginning)}
        ids = (key.partition(":")[2] for key in keys)
        lessons |= {one.id: one for one in self._project.knowledge.find_rules(ids)}
        if not lessons:
            lessons = self._read_facts(keys, beginning)
        if len(lessons) != 1:
            raise UnknownLessonError(beginning, several=len(lessons) > 1)
        return next(iter(lessons.values()))

    def _read_facts(self, keys: Sequence[str], beginning: str) -> dict[str, Lesson]:
        """The sentences that somebody wrote down with these keys, by their ids."""
        hits = self._store.by_key(self._project.name, keys, Filters(), _TIMES_READ_MAX)
        records = [one for one in readable(hits) if isinstance(one, Experience | Fact)]
        facts: dict[str, Lesson] = {}
        for record in records:
            lesson = make_fact_lesson(record)
            if lesson.id.startswith(beginning):
                known = facts.get(lesson.id)
                facts[lesson.id] = replace(
                    known or lesson, evidence=(*(known.evidence if known else ()), record.id)
                )
        return {one.id: one for one in self._heed_verdicts(list(facts.values()))}

    def find_evidence(self, lesson: Lesson) -> list[TeachingRow]:
        """The newest records that taught a lesson."""
        ids = list(lesson.evidence[:_SHOWN_RUNS_MAX])
        rows = self._store.teachings_by_id(self._project.name, ids)
        if rows or lesson.kind not in ("fact", "rule"):
            return rows
        return [
            TeachingRow(one.id, one.said_by, one.at_us, one.metadata.validation.status, NO_TEACHING)
            for one in readable(self._store.get_many(self._project.name, ids))
        ]

    def list_lessons(
        self, limit: int, kind: LessonKind | None = None, about: str = ""
    ) -> list[Lesson]:
        """What runs taught and what was laid down, each lesson once, the newest first; `about` some
        words: those that have half of them or more, the likest first.
        """
        terms = find_terms(about)
        counted = self._store.frequencies(self._project.name, list(terms))
        question = Question(terms, counted.having, counted.texts)
        listed: dict[str, tuple[float, Lesson]] = {}
        known: Iterable[Lesson] = () if kind == "fact" else self._read_newest(terms)
        if kind == "rule":
            known = chain(known, self._list_task_rules(limit))
        if kind == "fact" or terms:
            known = chain(known, self._list_facts(terms))
        for lesson in known:
            own = find_terms(f"{lesson.situation}\n{lesson.action}")
            share = question.share(own) if about else 1.0
            if share >= ALIKE_FROM and kind in (None, lesson.kind):
                listed.setdefault(lesson.id, (round(share, 2), lesson))
            if len(listed) >= limit and not about:
                break
        lessons = sorted(listed.values(), key=lambda pair: (-pair[0], -to_us(pair[1].last)))
        return [lesson for _, lesson in lessons[:limit]]

    def _read_newest(self, terms: Set[str]) -> Iterator[Lesson]:
        """The lessons of the newest runs, or of those that are found by some terms, that say something
        and that nobody called wrong.
        """
        yield from self.rules.list_rules()
        project, tasks = self._project.name, set[str]()
        if terms:
            hits = self._store.search(project, list(terms), Filters(), _TIMES_READ_MAX)
            rows = self._store.teachings_by_id(project, [hit.id for hit, _ in hits])
        else:
            rows = self.read_teachings([ANY_RUN], _TIMES_READ_MAX)
        for row in rows:
            lessons = without_wrong(self._read_lessons(row.teaching))
            cured = {lesson.situation for lesson in lessons if lesson.helped}
            if row.teaching.task not in tasks:
                tasks.add(row.teaching.task)
                lessons += without_wrong(self._read_task_lessons(row.teaching))
            for lesson in lessons:
                says_more = same_action(lesson.action) != same_action(lesson.situation)
                is_open = lesson.kind == "dead end" and lesson.situation not in cured
                if lesson.kind == "rule" or (says_more and (lesson.helped or is_open)):
                    yield lesson

    def _list_task_rules(self, limit: int) -> Iterator[Lesson]:
        """The rules that episodes bear out, of the tasks with the most episodes."""
        knowledge = self._project.knowledge
        for task in knowledge.list_tasks(_TASKS_LISTED_MAX):
            yield from (rule.as_lesson() for rule in knowledge.rules(task, "active", limit))

    def _list_facts(self, terms: Set[str]) -> list[Lesson]:
        """The newest facts, or what is written down with some terms, that nobody called wrong."""
        project, filters = self._project.name, Filters(kind="fact")
        written: Iterable[Stored | Found] = ()
        if terms:
            hits = self._store.search(project, list(terms), Filters(), _TIMES_READ_MAX)
            written = [hit for hit, _ in hits if hit.kind in ("fact", "experience")]
        else:
            written = self._store.page(project, filters, None, _TIMES_READ_MAX, trusted=True)
        facts = [
            make_fact_lesson(record)
            for record in readable(written)
            if isinstance(record, Experience | Fact) and not find_rule_text(record)
        ]
        return without_wrong(self._heed_verdicts(facts))

    def _read_lessons(self, teaching: Teaching) -> Iterator[Lesson]:
        """The lessons that a run was evidence of, each with all the evidence there is; the rule that a
        record lays down, if it is not called wrong.
        """
        if teaching.rule:
            yield from self.rules.find_rule(make_rule_id(teaching.rule))
        for exact in dict.fromkeys(met.exact for met in teaching.met):
            yield from self.weigh(self.find_met("exact", exact), exact)

    def _read_task_lessons(self, teaching: Teaching) -> list[Lesson]:
        """What runs at the same task say of what this one did: the ways there were, what did not solve
        it, and which commands failed, each with all the evidence there is.
        """
        rows = self.read_teachings([key_of_task(teaching.task)], _TIMES_READ_MAX)
        lessons: dict[str, Lesson] = {}
        for row in rows:
            for lesson in list_task_lessons(row):
                known = lessons.get(lesson.id)
                lessons[lesson.id] = add_evidence(known, lesson) if known else lesson
        return self._heed_verdicts(list(lessons.values()))

    def find_last_end(self, action: str) -> tuple[Step, AnyRecord] | None:
        """How an action ended when it was taken last, and the record that tells; None where it never
        was.
        """
        hits = self._store.by_key(self._project.name, [attempt_key(action)], Filters(), 1)
        for record in keep_kind(Trajectory, hits):
            last = find_last(read_run(record), action)
            return (last, record) if last else None
        return None

    # How it is found.

    def weigh(self, met: Times, exact: str) -> list[Lesson]:
        """What was done about a failure, by the times that it was met, the likeliest to help first."""
        if not met:
            return []
        words, check = met[0][1].words, met[0][1].check
        named = find_names(words) - find_names(check) or find_names(words)
        evidence = []
        for row, one in met:
            is_vouched, whose = row.status in VOUCHED_STATUSES, (row.author, row.record_id)
            evidence.append(
                Evidence(one.cure, one.in_vain, row.at_us, *whose, one.checked, is_vouched)
            )

        is_about = cache(partial(names_any, named))
        how_common = self._find_common(met, exact, is_about).__getitem__
        cures = weigh_cures(evidence, how_common, is_about, alone=self.acts_alone)
        lessons = [_make_lesson(cure, exact, words) for cure in cures]
        if self.acts_alone or not any(one.sources > 1 and one.helped for one in lessons):
            # who alone says so matters where several say something else
            lessons = [replace(lesson, by="") for lesson in lessons]
        return self._heed_verdicts(lessons)

    def _find_common(
        self, met: Times, exact: str, is_about: Callable[[str], bool]
    ) -> dict[str, float]:
        """Of each change that is not about the failure, in which share of the runs that did not meet it
        the like of it is done.
        """
        times = Counter(action for _, one in met for action in set(one.cure or ()))
        sorts = {action: sort_of_action(action) for action in times if not is_about(action)}
        if not any(sorts.values()):
            return dict.fromkeys(sorts, 0.0)
        keys = {action: sort_key(sort) for action, sort in sorts.items() if sort}
        meets = f"exact:{exact}"
        counts = self.count_runs([ANY_RUN, meets, *keys.values()])
        meeting = max(len(met), counts[meets])
        others = max(_FEW_RUNS, counts[ANY_RUN] - meeting)
        common = dict.fromkeys(sorts, 0.0)
        for action, key in keys.items():
            expected = times[action] / len(met) * meeting
            common[action] = max(0, counts[key] - expected) / others
        return common

    def _heed_verdicts(self, lessons: list[Lesson]) -> list[Lesson]:
        """The lessons with what people said of them, those first that they called right, those last
        that they called wrong.
        """
        verdicts = self.find_verdicts([lesson.id for lesson in lessons])
        if not verdicts:
            return lessons
        judged = [judge_lesson(lesson, verdicts.get(lesson.id, "")) for lesson in lessons]
        return sorted(judged, key=lambda lesson: _PLACES[lesson.verdict])

    def find_verdicts(self, lesson_ids: Sequence[str]) -> dict[str, Verdict]:
        """What people said of these lessons. Between people, wrong stands until it is withdrawn."""
        if not lesson_ids or not self._is_judged:
            return {}
        name, keys = self._project.name, list(map(verdict_key, lesson_ids))
        hits = self._store.by_key(name, keys, Filters(kind="decision"), _VERDICTS_MAX)
        verdicts: dict[str, Verdict] = {}
        for decision in keep_kind(Decision, hits):
            if decision.in_effect and decision.action == "wrong":
                verdicts[decision.target] = "wrong"
            elif decision.in_effect and decision.action == "right":
                verdicts.setdefault(decision.target, "right")
        return verdicts

    def _ask_met(self, sort: str, key: str) -> Times:
        """The times that a failure was met: the record that tells, and what became of it there. Where
        a record leaves it open that is a part of a run, the whole run is read.
        """
        times: Times = []
        runs_read: set[str] = set()
        for row in self.read_teachings([f"{sort}:{key}"], _TIMES_READ_MAX):
            teaching = row.teaching
            if teaching.run_id and _leaves_open(teaching, sort, key):
                if teaching.run_id in runs_read:
                    continue
                runs_read.add(teaching.run_id)
                teaching = self._teach_run(row)
            times += [(row, met) for met in teaching.met if getattr(met, sort) == key]
        return times

    def _teach_run(self, row: TeachingRow) -> Teaching:
        """What all the records of a run teach together."""
        keys = [session_key(row.teaching.run_id)]
        hits = self._store.by_key(self._project.name, keys, Filters(), _RUN_RECORDS_MAX)
        parts = [part for part in keep_kind(Trajectory, hits) if part.said_by == row.author]
        return teach_together(parts) if len(parts) > 1 else row.teaching

    def count_runs(self, keys: Iterable[str]) -> Mapping[str, int]:
        """How many of the newest runs have each of these keys."""
        counts = self._counts
        if unknown := [key for key in keys if key not in counts]:
            counts.update(dict.fromkeys(unknown, 0))
            counts |= self._store.count_with_keys(self._project.name, unknown, self._floor)
        return counts

    @cached_property
    def _floor(self) -> int:
        """The number after which the runs lie in which is counted what is usual."""
        return self._store.find_floor(self._project.name, ANY_RUN, _COUNTED_MAX)

    def read_teachings(self, keys: Sequence[str], most: int) -> list[TeachingRow]:
        """The newest records with these keys, each author's by turns. Where there is but one author,
        older ones need not be looked at.
        """
        asked = (*keys, str(most))
        if asked not in self._teachings:
            among = _LAST_RECORDED_MAX if self.acts_alone else None
            rows = self._store.teachings(self._project.name, keys, most, among)
            self._teachings[asked] = rows
        return self._teachings[asked]


def group_by_failure(times: Iterable[tuple[TeachingRow, Met]]) -> dict[str, Times]:
    """The times that failures were met by their exact keys, of those that anything made go away."""
    by_failure: dict[str, Times] = {}
    for row, met in times:
        by_failure.setdefault(met.exact, []).append((row, met))
    return {
        exact: those for exact, those in by_failure.items() if any(met.cure for _, met in those)
    }


def make_fact_lesson(record: Experience | Fact) -> Lesson:
    """The lesson that a sentence is which somebody wrote down: what it says is its action."""
    last = record.metadata.context.timestamp
    lesson_id = make_fact_id(record.content)
    return Lesson(lesson_id, "fact", "", record.content, 0, 0, 1.0, last, (record.id,))


def list_task_lessons(row: TeachingRow) -> Iterator[Lesson]:
    """What one run says of its task and of its commands; nothing of one that only lays something down."""
    teaching, last, evidence = row.teaching, from_us(row.at_us), (row.record_id,)
    if teaching.lasting and teaching.outcome in ("solved", "unknown"):
        way_id = make_way_id(teaching.task, teaching.lasting)
        actions = "\n".join(teaching.lasting)
        solved = int(teaching.outcome == "solved")
        yield Lesson(way_id, "way", teaching.task, actions, 1, solved, 0.5, last, evidence)
    elif attempt := teaching.account.attempt:
        lost_id = make_lost_id(teaching.task, attempt)
        yield Lesson(lost_id, "dead end", teaching.task, attempt, 1, 0, 0.0, last, evidence)
    for met in teaching.met:
        dead_id = make_lesson_id("dead end", met.exact, same_action(met.check))
        yield Lesson(dead_id, "dead end", met.words, met.check, 1, 0, 0.0, last, evidence)


def add_evidence(lesson: Lesson, other: Lesson) -> Lesson:
    """A lesson with the evidence of another run for it."""
    tried, helped = lesson.tried + other.tried, lesson.helped + other.helped
    return replace(
        lesson,
        tried=tried,
        helped=helped,
        p_helps=(helped + 1) / (tried + 2),
        last=max(lesson.last, other.last),
        evidence=tuple(dict.fromkeys((*lesson.evidence, *other.evidence))),
    )


def judge_lesson(lesson: Lesson, verdict: Verdict) -> Lesson:
    """The lesson as a person's word has it; as it is where nobody said anything."""
    if verdict == "right":
        return replace(lesson, verdict=verdict, p_helps=_PERSONS_WORD)
    if verdict == "wrong":
        return replace(lesson, verdict=verdict, p_helps=0.0)
    return lesson


def without_wrong(lessons: Iterable[Lesson]) -> list[Lesson]:
    """Those that nobody called wrong."""
    return [lesson for lesson in lessons if lesson.verdict != "wrong"]


def find_last(run: Run, action: str) -> Step | None:
    """The last step of a run that was this action; None where none was, or it only looked."""
    same = same_action(action)
    for step in reversed(run.steps):
        if step.kind != "look" and same_action(step.action) == same:
            return step
    return None


def _keep_tied(met: Times, situation: Situation) -> Times:
    """The times that a failure was met. Where its words name nothing, and what shows it is of many
    sorts, they say little ("timed out"): then those alone that are of the same task, or were shown
    by the same sort of command.
    """
    if not (situation.action or situation.task) or not met or find_names(met[0][1].words):
        return met
    if len({sort_of_action(one.check) for _, one in met}) < _MANY_SORTS:
        return met
    task, sort = same_action(situation.task), sort_of_action(situation.action)
    return [
        (row, one)
        for row, one in met
        if same_action(row.teaching.task) == task or sort_of_action(one.check) == sort != ""
    ]


def _leaves_open(teaching: Teaching, sort: str, key: str) -> bool:
    return any(met.cure is None and getattr(met, sort) == key for met in teaching.met)


def share_passing(met: Times) -> float:
    """In which share of the times that it went away a failure did so by itself; 0 where it never
    did.
    """
    gone = [one for _, one in met if one.cure is not None]
    return sum(one.passed for one in gone) / len(gone) if gone else 0.0


def _make_lesson(cure: Cure, exact: str, words: str) -> Lesson:
    lesson_id = make_lesson_id("cure", exact, same_action(cure.action))
    counts = cure.tried, cure.helped, cure.p_helps, from_us(cure.last_us)
    sources = len(cure.sources)
    by = next(iter(cure.sources)) if sources == 1 else ""
    return Lesson(lesson_id, "cure", words, cure.action, *counts, cure.evidence, sources, by=by)


def read_shown_failure(shown: str, action: str = "") -> Failure | None:
    """The failure that an output tells of; None where it tells nothing."""
    return read_failure(strip_ending(shown), key_of_action(action) if action else "")
