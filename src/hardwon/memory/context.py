"""Before the next attempt: what is known of a situation, found, put into lines, and chosen for a
prompt. Reads only.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import groupby, islice, zip_longest
from typing import Any, Final, NamedTuple

from hardwon import limits
from hardwon.lessons.actions import Level
from hardwon.lessons.attempts import find_standing, list_actions, read_attempts
from hardwon.lessons.counts import OUR_FENCE
from hardwon.lessons.keys import attempt_key, key_of_task
from hardwon.lessons.lesson import Lesson
from hardwon.lessons.teaching import ANY_RUN, Teaching, name_lesson
from hardwon.memory.find import CANDIDATES, Finder
from hardwon.memory.fixer_lines import FIXES_IN_CONTEXT_MAX, NOT_AGAIN, SORTS, say_fixes
from hardwon.memory.lessons import read_shown_failure
from hardwon.memory.project import Project
from hardwon.memory.rules import NEW_RULES_IN_CONTEXT_MAX
from hardwon.memory.solutions import RUNS_AT_TASK_MAX, SolutionFinder
from hardwon.memory.staleness import is_stale
from hardwon.records.fields import Tabular, to_us
from hardwon.records.kinds import SOLVED_FROM, VOUCHED_STATUSES, Episode, Experience, Fact, Issue
from hardwon.search.question import ALIKE_OF_ONE_FROM, ALIKE_REPORT_FROM, Question
from hardwon.search.rank import Hit, Ranked
from hardwon.search.terms import no_filters
from hardwon.store.query import TeachingRow, readable
from hardwon.store.types import Found
from hardwon.tell.choose import Budget, choose_lines
from hardwon.tell.episodes import say_card, say_episode, say_rule, say_scores
from hardwon.tell.failing import draft_cures
from hardwon.tell.fence import fence_line, frame_lines
from hardwon.tell.fence import make_fence_mark as fence_mark
from hardwon.tell.findings import say_findings
from hardwon.tell.lines import DONE, FAILED, HEADINGS, KNOWN, Draft
from hardwon.tell.sentences import Known, say_texts, weigh_text
from hardwon.tell.situation import Situation
from hardwon.tell.tasks import (
    NEARLY_THE_SAME,
    NOT_THE_SAME,
    PastRun,
    Task,
    Way,
    Wording,
    group_runs,
    order_tasks,
    say_failed_once,
    say_files,
    say_tasks,
)
from hardwon.text.clean import clean_line
from hardwon.text.failures import Failure, find_names, read_failure, shows_error
from hardwon.text.terms import index_text, spelled_alike

# Of a context's tokens, for the whole line about a model; where it would take more, only its
# figures are told.
_HISTORY_SHARE_MAX: Final = 0.2
# Of a context's tokens, for what nothing has borne out yet, where similar cases have something to
# say as well.
_UNPROVEN_SHARE_MAX: Final = 0.3
# Of the budget, for what one record says in words.
_SENTENCE_SHARE: Final = 0.3
# For so many tokens of a large budget one more sentence is said of what is known.
_TOKENS_PER_KNOWN: Final = 60
# Mistake cards and rules in a context, as many as training memory showed.
_CARDS_MAX: Final = 3
RULES_IN_CONTEXT_MAX: Final = 5
# Fewer lines are read at a glance, and need no headings; from this budget on they may have them.
_PAGE_LINES_MIN: Final = 8
_PAGE_TOKENS: Final = 2_000
# Below this a context has room for a line or two, and the fence around it says no more than it must.
_SHORT_TOKENS: Final = 100
_TELLING_CHARS: Final = 16
# A task that is that long is the same where a question holds it among other words.
_TELLING_TASK_CHARS: Final = 30
_READ_MIN: Final = 20  # and one more for every hundred tokens
# Of the question's words that the best has: runs that have less are not read.
_READ_FROM: Final = 0.3
_RUNS_LOOKED_THROUGH_MAX: Final = 30
_SENTENCES_MAX: Final = 12
_COMPARED_CHARS_MAX: Final = 600
# How much a run is like a question that reports the very failure that it met.
_SAME_FAILURE: Final = 0.8
# What so many runs did, and most of all, is how one hands in.
_ENDING_RUNS_MIN: Final = 5
_MOST_RUNS: Final = 0.5
_COUNTED_MAX: Final = 40
# Whoever reads a context takes one of the first.
_OFFERED_CHECKED: Final = 8
_ATTEMPTS_CHECKED: Final = 24
_CURES_MAX: Final = 3
_BREAKS_MAX: Final = 8
# What helped against a failure that is only like the one at hand is told from here on.
_LIKELY_FROM: Final = 0.3
_LIKE_FIRST: Final = 2  # what worked at like tasks, before what was seen
_FILE_LINES_MAX: Final = 4
_LIKE_TASKS_MAX: Final = 2  # of which rules are told
_RULES_OF_LIKE_MAX: Final = 3
_SAID_SHARE: Final = 0.7  # of a rule's words: what has more of them says nothing new
_UNPROVEN: Final = "unproven"


@dataclass(frozen=True)
class Context(Tabular):
    """What to put into a prompt: `str(context)` is the text, `tokens` its length as counted, `hits`
    the records behind its lines, `evidence` the ids of those behind its rules and fixes. `sources`
    has the ids behind each line of the text. An empty one says why in `empty_reason`. Where an
    explanation was asked for, `lines` tells of each line why it is there, and `unsaid` what was
    not said and why.
    """

    text: str
    tokens: int
    hits: tuple[Hit, ...]
    evidence: tuple[str, ...] = ()
    sources: tuple[tuple[str, ...], ...] = ()
    empty_reason: str = ""
    lines: tuple[SaidLine, ...] = ()
    unsaid: tuple[LeftOut, ...] = ()

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        empty = f": {self.empty_reason}" if self.empty_reason else ""
        return f"<Context of {self.tokens} tokens, {len(self.hits)} hits{empty}>"

    def as_row(self) -> dict[str, Any]:
        """For a line of a data frame."""
        return {
            "tokens": self.tokens,
            "hits": len(self.hits),
            "text": self.text or self.empty_reason,
        }

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text or self.empty_reason)}</pre>"

    @property
    def ids(self) -> list[str]:
        """Of the hits, for `credit` and `recalled=`."""
        return [hit.record.id for hit in self.hits]


@dataclass(frozen=True)
class SaidLine:
    """A line of a context: what it says, of which kind it is, why it is there, and the ids of the
    records behind it.
    """

    text: str
    kind: str
    why: str
    ids: tuple[str, ...]


@dataclass(frozen=True)
class LeftOut:
    """A line that a context did not say, and why not."""

    text: str
    kind: str
    reason: str


@dataclass(frozen=True)
class ContextRequest:
    """What is asked before an attempt. `mark` is that of the fence; a reward of `solved_from` or
    more solved a task.
    """

    query: str
    task_id: str | None
    issue: Issue | None
    fixer: str | None
    budget: int
    count: Callable[[str], int]
    solved_from: float = SOLVED_FROM
    explain: bool = False
    mark: str = field(default_factory=lambda: fence_mark(secrets.randbits(64)))

    @property
    def asked(self) -> str:
        """All that is asked about, in words."""
        issue = self.issue
        words = (self.query, issue.description, issue.error_output) if issue else (self.query,)
        return " ".join(filter(None, words))

    @property
    def is_report(self) -> bool:
        """Whether it tells what was done and what came of it."""
        return "\n" in self.asked.strip()

    @property
    def is_short(self) -> bool:
        """Whether there is room for a line or two."""
        return self.budget < _SHORT_TOKENS

    def frame(self, lines: Sequence[str]) -> str:
        """The lines as one fenced text."""
        return frame_lines(lines, self.mark, short=self.is_short)


class _Material(NamedTuple):
    """What a context is made of: the tasks that are like the one at hand, the runs at them, what was
    written down, and what cured the failure that is asked about.
    """

    question: Question | None = None
    tasks: Sequence[Task] = ()
    runs: Sequence[PastRun] = ()
    known: Sequence[Known] = ()
    hits: Sequence[Hit] = ()
    cures: Sequence[Lesson] = ()
    alone: bool = True


# The records that were found, with how much of a question's words each has.
Covered = Sequence[tuple[tuple[Ranked[Found], Found], float]]


class Recaller(Finder):
    """Everything that is told before an attempt, of one project and for one request."""

    def __init__(self, project: Project, request: ContextRequest) -> None:
        super().__init__(project)
        self._known = project.knowledge
        self._lessons = SolutionFinder(project)
        self._request = request

    def compose(self) -> Context:
        """The lines for a situation, chosen and fenced."""
        request = self._request
        material = self._gather() if request.asked.strip() else _Material()
        scopes = [("fix", request.issue), ("episode", request.task_id)]
        alone = material.alone and all(
            self._known.has_one_source(scope) for scope, asked in scopes if asked is not None
        )
        material = material._replace(alone=alone)
        budget = Budget(request.budget - request.count(request.frame([])), request.count)
        rules = list(self._say_rules(alone=alone))
        places = dict.fromkeys(SORTS, FIXES_IN_CONTEXT_MAX)
        # of what is known, in sentences
        places[KNOWN] = max(RULES_IN_CONTEXT_MAX, request.budget // _TOKENS_PER_KNOWN)
        unproven: list[Draft] = []
        if request.task_id is not None:
            active = sum(draft.sort == "rule" for draft in rules)
            new = max(NEW_RULES_IN_CONTEXT_MAX, RULES_IN_CONTEXT_MAX - active)
            # How many lessons of each sort are shown of what is not borne out yet.
            places |= {"new rule": new, "new card": _CARDS_MAX}
            unproven = self._say_unproven(request.task_id, places, alone=alone)
        drafts, first = self._order(material, budget, rules, unproven)
        is_alone = not (material.runs or material.known)
        pools = {} if is_alone else {_UNPROVEN: int(_UNPROVEN_SHARE_MAX * request.budget)}
        chosen = choose_lines(drafts, first, places, pools, budget)
        context = self._compose(chosen, material)
        if not context.text:
            context = replace(context, empty_reason=self._explain_empty(drafts))
        if not request.explain:
            return context
        left_out = (LeftOut(draft.text, draft.kind, reason) for draft, reason in budget.left_out)
        return replace(context, unsaid=tuple(left_out))

    # What is found.

    def _gather(self) -> _Material:
        """What there is about the question, the likest first."""
        asked, is_report = self._request.asked, self._request.is_report
        # in one language: a word that is looked for by the stems of all would seem to be several
        terms = list(dict.fromkeys(index_text(asked).split()))[: limits.QUERY_TERMS_MAX]
        counted = self._store.frequencies(self._project, terms)
        question = Question(terms, counted.having, counted.texts)
        pairs = self.find(asked, CANDIDATES, no_filters(), also=question.telling, spare=0)
        covered = [(pair, question.cover(pair[1].having)) for pair in pairs]
        floor = ALIKE_REPORT_FROM if is_report else question.alike_from
        runs = self._read_runs(question, covered)
        hits, known = self._read_sentences(question, covered)
        best = max([*(run.alike for run in runs), *(one.relevance for one in known)], default=0.0)
        cures = self._find_cures(runs)
        if best < floor and not cures:
            return _Material(question)
        # Whoever wrote down a sentence said little: beside what is about the question, a word of it
        # tells.
        of_sentences = floor if is_report else ALIKE_OF_ONE_FROM
        known = [one for one in known if best >= floor and one.relevance >= of_sentences]
        runs = [run for run in runs if run.alike >= floor]
        # of what is about as relevant, what was said last may amend what was said before
        known.sort(key=lambda one: (one.stale, -round(one.relevance, 1), -one.record.at_us))
        authors = {one.author for _, one in pairs} | {run.author for run in runs}
        tasks = self._read_tasks(runs, question)
        alone = len(authors) < 2 and self._lessons.acts_alone
        return _Material(question, tasks, runs, known, hits, cures, alone)

    def _read_runs(self, question: Question, covered: Covered) -> list[PastRun]:
        """The runs at the very task, and those that were found, as far as they are about the question."""
        request = self._request
        shares = {one.id: share for (_, one), share in covered}
        least = max(shares.values(), default=0.0) * _READ_FROM
        most = min(CANDIDATES, _READ_MIN + request.budget // 100)
        ids = [
            one.id
            for (ranked, one), share in covered
            if one.kind in ("trajectory", "fix") and (share >= least or "exact" in ranked.why)
        ]
        rows = self._store.teachings_by_id(self._project, ids[:most])
        asked = spelled_alike(request.asked)
        tasks = {spelled_alike(row.teaching.task): row.teaching.task for row in rows}
        same = {task for task in tasks if task and _holds_task(asked, task)}
        keys = [key_of_task(tasks[task]) for task in sorted(same)]
        keys = keys or [key_of_task(part) for part in _list_parts(request.asked)]
        rows = [*self._lessons.read_teachings(keys, RUNS_AT_TASK_MAX), *rows]
        runs: dict[str, PastRun] = {}
        failure = None
        if request.is_report:
            action, output = _split_report(request.asked)
            failure = read_shown_failure(output, action)
        stale = self._find_stale(rows)
        for row in rows:
            teaching = row.teaching
            if row.record_id in runs or not (teaching.lasting or teaching.account.attempt):
                continue
            task = spelled_alike(teaching.task)
            alike = self._weigh_run(teaching, question, failure)
            if not request.is_report:
                alike = max(alike, shares.get(row.record_id, 0.0))
            is_same = task in same or _holds_task(asked, task)
            # the same command may have failed in another way
            if is_same and request.is_report and not alike and task in _list_actions(row):
                continue
            runs[row.record_id] = PastRun(
                row.record_id,
                teaching,
                row.author,
                row.at_us,
                row.status in VOUCHED_STATUSES,
                row.record_id in stale,
                1.0 if is_same else min(alike, NOT_THE_SAME),
                is_same,
            )
        return sorted(runs.values(), key=lambda run: (-run.alike, -run.at_us, run.id))

    def _weigh_run(self, teaching: Teaching, question: Question, failure: Failure | None) -> float:
        """How much a run is like the question: its task, or the very failure that is reported. The
        same command may fail in another way, and be no task.
        """
        task = teaching.task[:_COMPARED_CHARS_MAX]
        is_same = failure and any(met.exact == failure.exact for met in teaching.met)
        likeness = _SAME_FAILURE if is_same else 0.0
        if self._request.is_report and teaching.met and "\n" not in task.strip():
            return likeness
        return max(likeness, question.alike_to(task))

    def _find_stale(self, rows: Iterable[TeachingRow]) -> set[str]:
        """Those of the runs whose files are others by now."""
        if not self._changes_of:
            return set()
        ids = [row.record_id for row in rows if row.teaching.cites_files]
        records = readable(self._store.get_many(self._project, ids))
        return {record.id for record in records if is_stale(self._changes_of(record))}

    def _read_sentences(
        self, question: Question, covered: Covered
    ) -> tuple[list[Hit], list[Known]]:
        """The facts, experiences and episodes that were found, those first that have most of the
        question, with how much each is about it.
        """
        kinds = ("experience", "fact", "episode")
        written = [one for one in covered if one[0][1].kind in kinds]
        shares = {one.id: share for (_, one), share in written}
        half = _SENTENCES_MAX // 2
        best = [*written[:half], *sorted(written[half:], key=lambda one: -one[1])]
        hits = self.read_hits([pair for pair, _ in best[:_SENTENCES_MAX]])
        lesson_ids = {
            hit.record.id: name_lesson(hit.record)
            for hit in hits
            if isinstance(hit.record, Experience | Fact)
        }
        verdicts = self._lessons.find_verdicts(list(lesson_ids.values()))
        known = []
        for hit in hits:
            record, passage = hit.record, ""
            lesson_id = lesson_ids.get(record.id, "")
            if verdicts.get(lesson_id) == "wrong":
                continue
            if self._request.is_short:
                lesson_id = ""  # the words matter more
            if isinstance(record, Experience | Fact):
                relevance, passage = weigh_text(record.content, question)
            else:
                relevance = max(map(question.alike_to, _list_texts(record)), default=0.0)
            if not self._request.is_report:
                relevance = max(relevance, shares[record.id])
            relevance = min(relevance, NOT_THE_SAME)
            known.append(Known(record, relevance, hit.stale, passage, lesson_id))
        return hits, known

    def _read_tasks(self, runs: Sequence[PastRun], question: Question) -> list[Task]:
        """The tasks of the runs, with what was counted of each way, what advice would warn of, and
        without what people called wrong.
        """
        solved_from = self._request.solved_from
        tasks = group_runs(runs, solved_from)
        levels = [way.level for task in tasks for way in task.ways if len(way.actions) == 1]
        counts: dict[Level, Any] = {}
        if levels and solved_from == SOLVED_FROM:
            counts = self._store.outcomes(self._project, levels[:_COUNTED_MAX], None)
        tasks = order_tasks(tasks, counts, question)
        ways = [way for task in tasks for way in task.ways]
        verdicts = self._lessons.find_verdicts([way.lesson_id for way in ways])
        tasks = [
            task._replace(ways=kept)
            for task in tasks
            if (kept := [way for way in task.ways if verdicts.get(way.lesson_id) != "wrong"])
        ]
        for task in tasks:
            self._find_hand_in(task.best)
        self._warn([task.best for task in tasks if task.best.holds][:_OFFERED_CHECKED])
        return tasks

    def _find_hand_in(self, way: Way) -> None:
        """Notes of a way of several actions whether its last one ends most runs, whatever their task."""
        if len(way.actions) > 1:
            ending = attempt_key(way.actions[-1])
            counts = self._lessons.count_runs([ANY_RUN, ending])
            way.hands_in = counts[ending] >= max(_ENDING_RUNS_MIN, _MOST_RUNS * counts[ANY_RUN])

    def _warn(self, ways: Sequence[Way]) -> None:
        """Notes of each way how it failed since it last worked, which is what advice warns of."""
        by_action = {spelled_alike(way.actions[0]): way for way in ways if len(way.actions) == 1}
        if not by_action:
            return
        keys = [attempt_key(way.actions[0]) for way in by_action.values()]
        most = max(_ATTEMPTS_CHECKED, len(keys))
        hits = self._store.by_key(self._project, keys, no_filters(), most, in_turns=True)
        since = min((way.last_us if way.worked_last else 0) for way in by_action.values())
        if all(one.at_us <= since and one.status not in VOUCHED_STATUSES for one in hits):
            return  # nothing was done since that could speak against them
        acts = [(record, list_actions(record)) for record in readable(hits)]
        for action, way in by_action.items():
            attempts = [
                attempt
                for record, actions in acts
                if action in actions
                for attempt in read_attempts(record, way.actions[0], None)
            ]
            if standing := find_standing(attempts):
                way.warning = standing[-1].words

    def _find_cures(self, runs: Sequence[PastRun]) -> list[Lesson]:
        """What made the failure go away that is asked about, or that the newest run at this very task
        ended with; nothing where none is.
        """
        task = next((run.teaching.task for run in runs if run.same), "")
        words = self._request.asked.replace(task, "").strip()
        action, output = _split_report(words)
        failure = None
        if self._request.is_report or shows_error(words):
            failure = read_shown_failure(output, action)
        is_asked = failure is not None
        if failure is None:
            action, failure = "", _find_failure(runs, words)
        if failure is None:
            return []
        # what is asked beside the failure is a task that nobody knows yet
        about = (
            task or action or (words if len(words) > len(failure.words) + _TELLING_CHARS else "")
        )
        cures = [
            replace(one, exact=one.exact or (not action and _say_the_same(one, failure)))
            for one in self._lessons.find_solutions(Situation(about, action, failure))
            if one.helped and one.kind == "cure"
        ]
        is_shown = is_asked or failure.words.strip().lower() in words.lower()
        if not is_shown and not find_names(failure.words):
            # what made it go away at another task says nothing
            here = {run.id for run in runs if run.same}
            cures = [one for one in cures if not here.isdisjoint(one.evidence)]
        likely = [one for one in cures if one.exact or (is_asked and one.p_helps >= _LIKELY_FROM)]
        return likely[:_CURES_MAX]

    # What is said.

    def _order(
        self, material: _Material, budget: Budget, rules: Sequence[Draft], unproven: Sequence[Draft]
    ) -> tuple[list[Draft], list[Draft]]:
        """All that may be said, in the order of what helps most; and what is said first of all."""
        request, tasks, alone = self._request, material.tasks, material.alone
        wording = Wording(request.asked, to_us(self._now()), budget.cost, request.count, alone)
        banned = frozenset().union(*(draft.about for draft in rules if draft.sort == NOT_AGAIN))
        # what failed at the very task is no cure for it
        lost = {way.key for task in tasks if task.same for way in task.ways if not way.holds}
        cures = [one for one in material.cures if spelled_alike(one.action) not in lost]
        settled = draft_cures(cures, alone=alone, now_us=wording.now_us)
        done = [draft for draft in say_tasks(tasks, wording) if banned.isdisjoint(draft.about)]
        same = [draft for draft in done if draft.relevance == 1]
        like = [draft for draft in done if draft.relevance != 1]
        like.sort(key=_by_relevance)
        like_first = [draft for draft in like if draft.kind == DONE][:_LIKE_FIRST]
        tokens_max = int(request.budget * _SENTENCE_SHARE)
        sentences = say_texts(material.known, tokens_max, budget, alone=alone)
        known = list(islice(sentences, _SENTENCES_MAX))
        findings = None
        if material.question and material.runs:
            findings = say_findings(
                material.runs[:_RUNS_LOOKED_THROUGH_MAX],
                material.question,
                budget.cost,
                alone=alone,
            )
        # what solved the very task is worth more than what settled a failure, and that than failures
        solved = int(bool(same) and same[0].kind == DONE)
        done_first = [*same[:solved], *settled, *same[solved:]]
        first = [*rules, *done_first] if request.issue else [*done_first, *rules]
        files = islice(say_files(tasks, wording), _FILE_LINES_MAX)
        about = sorted((*like_first, *known), key=_by_relevance)
        drafts = [*first, *unproven, *files, *about]
        drafts += [findings] if findings else []
        drafts += [draft for draft in like if draft not in like_first]
        drafts += self._say_rules_of_like(material, drafts)
        if not drafts and material.question:
            drafts = say_failed_once(tasks, material.question, wording)
        # Rules do not crowd out what was said last, nor what worked what did not, nor failures what
        # worked at nearly the same task.
        all_failed = bool(same) and all(draft.kind == FAILED for draft in same)
        nearly = [
            draft
            for draft in like_first[:1]
            if all_failed and (draft.relevance or 0) >= NEARLY_THE_SAME
        ]
        warnings = [draft for draft in rules if draft.sort == NOT_AGAIN]
        must = (*unproven[:1], *warnings[:1], *nearly)
        return drafts, [one for one in must if budget.cost(one.text) <= budget.left // 2]

    def _say_rules(self, *, alone: bool) -> Iterator[Draft]:
        """Rules of the task, how its episodes went, and what was done about the issue."""
        request = self._request
        if request.task_id is not None:
            for rule in self._known.rules(request.task_id, "active", RULES_IN_CONTEXT_MAX):
                yield say_rule(rule, alone=alone)
            if scores := self._known.own_scores(request.task_id):
                yield say_scores(request.task_id, scores)
        if request.issue:
            tokens_max = int(_HISTORY_SHARE_MAX * request.budget)
            yield from say_fixes(self._known, request.issue, request.fixer, tokens_max, alone=alone)

    def _say_rules_of_like(self, material: _Material, drafts: Sequence[Draft]) -> Iterator[Draft]:
        """Rules of the tasks whose episodes are about the question, where they say more than what is
        said already.
        """
        records = (one.record for one in material.known)
        tasks = dict.fromkeys(one.task_id for one in records if isinstance(one, Episode))
        tasks.pop(self._request.task_id or "", None)
        if not tasks:
            return
        words_said = set(index_text(" ".join(draft.text for draft in drafts)).split())
        for task in islice(tasks, _LIKE_TASKS_MAX):
            for rule in self._known.rules(task, "active", _RULES_OF_LIKE_MAX):
                words = set(index_text(rule.text).split())
                if rule.task_id and len(words & words_said) <= _SAID_SHARE * len(words):
                    draft = say_rule(rule, alone=material.alone)
                    name = clean_line(task, limits.NAME_CHARS_MAX)
                    why = "a rule of a task like this one"
                    yield draft._replace(text=f"{name}: {draft.text}", why=why)

    def _say_unproven(self, task_id: str, places: Mapping[str, int], *, alone: bool) -> list[Draft]:
        """What was said of the task and is not borne out yet: the newest rules and the mistake
        cards, which take turns, and the last episode; before them where it has something to say
        that they have not. So a lesson is in the very next context after the episode that taught
        it. What was only adopted comes last.
        """
        new = self._known.new_rules(task_id, places["new rule"])
        cards = self._known.cards_to_show(task_id, places["new card"])
        drafts: list[Draft] = []
        for rule, card in zip_longest(new, cards):
            drafts += [say_rule(rule, alone=alone)] if rule else []
            drafts += [say_card(card, alone=alone)] if card else []
        drafts.sort(key=lambda draft: draft.only_claimed)
        episode = self._known.last_episode(task_id)
        if episode:
            unsaid = self._known.list_doubtful(episode, new[: places["new rule"]])
            text = "; ".join(unsaid) or episode.trajectory_summary
            if text and OUR_FENCE not in text:
                stale = is_stale(self._changes_of(episode) if self._changes_of else ())
                borne_out = sum(not draft.only_claimed for draft in drafts)
                place = len(drafts) if stale else 0 if unsaid else borne_out
                drafts.insert(place, say_episode(episode, text, stale=stale, alone=alone))
        return [draft._replace(sort=f"new {draft.sort}", pool=_UNPROVEN) for draft in drafts]

    def _explain_empty(self, drafts: Sequence[Draft]) -> str:
        """Why nothing is said."""
        request = self._request
        if drafts:
            return f"the budget of {request.budget} tokens is too small for any line"
        if not request.asked.strip() and request.task_id is None and request.issue is None:
            return "nothing was asked: a query, a task_id or an issue says what about"
        if not self._store.counts(self._project).records:
            return "nothing is recorded yet"
        return "nothing that is recorded is about this"

    def _compose(self, chosen: Sequence[Draft], material: _Material) -> Context:
        """The text, counted as it is handed out; lines go from the end until it fits. Its hits are
        what is behind the lines.
        """
        request, kept = self._request, list(chosen)
        is_page = request.budget >= _PAGE_TOKENS and len(kept) >= _PAGE_LINES_MIN
        if is_page:
            kept.sort(key=lambda draft: list(HEADINGS).index(draft.kind))
        text, tokens, sources = "", 0, list[tuple[str, ...]]()
        while kept:
            rows: list[tuple[str, tuple[str, ...]]] = []
            for kind, together in groupby(kept, lambda draft: draft.kind):
                rows += [(f"  {HEADINGS[kind]}", ())] if is_page else []
                rows += [(row, draft.ids) for draft in together for row in draft.text.split("\n")]
            fenced = [(line, ids) for row, ids in rows if (line := fence_line(row, request.mark))]
            text = request.frame([line for line, _ in fenced])
            tokens = request.count(text)
            if tokens <= request.budget:
                sources = [(), (), *(ids for _, ids in fenced), ()]
                break
            kept.pop()
        else:
            return Context("", 0, (), ())
        behind = dict.fromkeys(record_id for draft in kept for record_id in draft.ids)
        runs = {run.id: run.stale for run in material.runs if run.id in behind}
        records = {one.id: one for one in readable(self._store.get_many(self._project, [*runs]))}
        hits = [
            Hit(records[run_id], 0.0, {}, stale, ())
            for run_id, stale in runs.items()
            if run_id in records
        ]
        hits += [hit for hit in material.hits if hit.record.id in behind]
        explained = kept if request.explain else ()
        return Context(
            text,
            tokens,
            tuple(hits),
            tuple(sorted(behind.keys() - {hit.record.id for hit in hits})),
            tuple(sources),
            lines=tuple(SaidLine(one.text, one.kind, one.why, one.ids) for one in explained),
        )


def _by_relevance(draft: Draft) -> float:
    return -(draft.relevance or 0.0)


def _find_failure(runs: Sequence[PastRun], words: str) -> Failure | None:
    """The failure of a run that a question speaks of, or else the last one of the newest run at the
    very task, where that did not solve it. None where there is neither.
    """
    asked = words.strip().lower()
    for run in runs:
        for met in run.teaching.met:
            shown = met.words.strip().lower()
            if min(len(asked), len(shown)) >= _TELLING_CHARS and (asked in shown or shown in asked):
                return Failure(met.exact, met.family, met.words, met.tells)
    newest = max((run for run in runs if run.same), key=lambda run: run.at_us, default=None)
    if newest and newest.teaching.outcome == "failed" and newest.teaching.met:
        met = newest.teaching.met[-1]
        return Failure(met.exact, met.family, met.words, met.tells)
    return None


def _say_the_same(cure: Lesson, failure: Failure) -> bool:
    """Whether a cure is of a failure in these very words, where they are enough to tell it: which
    command showed it decides where somebody names one.
    """
    words = failure.words.strip()
    return len(words) >= _TELLING_CHARS and cure.situation.strip() == words


def _split_report(text: str) -> tuple[str, str]:
    """A command, and what it showed below it; "" for the command where a text begins with what was
    shown.
    """
    action, _, output = text.strip().partition("\n")
    failure = read_failure(text) if output.strip() else None
    if failure is None or failure.words.partition("\n")[0] in action:
        return "", text
    return action, output


def _list_parts(text: str) -> list[str]:
    """All of a text, and what stands before and after each of its first and last line breaks: one of
    them may be the task.
    """
    lines = text.strip().split("\n")
    breaks = range(1, len(lines))
    places = sorted({*breaks[:_BREAKS_MAX], *breaks[-_BREAKS_MAX:]})
    parts = [text]
    for place in places:
        parts += ["\n".join(lines[:place]), "\n".join(lines[place:])]
    return list(dict.fromkeys(parts))


def _holds_task(asked: str, task: str) -> bool:
    """Whether a question is a task, or holds it among other words."""
    return task == asked or (len(task) >= _TELLING_TASK_CHARS and task in asked)


def _list_actions(row: TeachingRow) -> set[str]:
    """What a run did, as far as it is told, as it is compared."""
    teaching = row.teaching
    checks = (met.check for met in teaching.met)
    return set(map(spelled_alike, (*teaching.lasting, teaching.account.attempt, *checks)))


def _list_texts(record: object) -> Iterator[str]:
    """What a question may be about, of an episode."""
    if isinstance(record, Episode):
        yield f"{record.task_id} {record.trajectory_summary[:_COMPARED_CHARS_MAX]}"
        for text in (*record.mistakes[:5], *record.successes[:5]):
            yield text[:_COMPARED_CHARS_MAX]
