"""What a fixer is told before the next attempt, in the order in which it matters: how the model did
so far, what worked for this very issue, for its type on the model, for its type anywhere, and what
is not to be repeated. Reads only.

Before the next attempt: what is found, what fits into a prompt, and what to say about an action.
Reads only.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import chain, groupby, islice, zip_longest
from typing import Any, Final, NamedTuple

from hardwon import limits
from hardwon.brief.advice import standing_failures
from hardwon.brief.cases import (
    NEARLY_THE_SAME,
    NOT_THE_SAME,
    Attempt,
    Case,
    Done,
    Told,
    Wording,
    after_line,
    best_first,
    failed_once,
    file_lines,
    folded,
    lines_of,
    seen_line,
    told_of,
)
from hardwon.brief.compose import Budget, add_by_turns
from hardwon.brief.fence import fenced_line, framed
from hardwon.brief.fence import mark_of as fence_mark
from hardwon.brief.lines import (
    CURE,
    DONE,
    FAILED,
    HEADINGS,
    KNOWN,
    RULE,
    Line,
    command_without_mark,
    sources_mark,
    without_mark,
)
from hardwon.learn.actions import FULL_REWARD, error_in, worked
from hardwon.lessons.actions import same_level
from hardwon.lessons.counts import OUR_FENCE
from hardwon.lessons.fixes import Choice, concerns
from hardwon.lessons.issues import strategy_key
from hardwon.lessons.keys import attempt_key
from hardwon.lessons.rules import Card, Rule
from hardwon.lessons.sources import few_of_each
from hardwon.memory.find import CANDIDATES, Finder
from hardwon.memory.fix_lessons import ModelHistory, Strategy, word_strategy
from hardwon.memory.knowledge import Knowledge
from hardwon.memory.older_advice import (
    Adviser,
    attempts_in,
    failed_runs,
    ran_next,
    unvouched_source,
)
from hardwon.memory.project import Project
from hardwon.records.fields import Tabular, to_us
from hardwon.records.kinds import (
    SOLVED_FROM,
    VOUCHED_STATUSES,
    Adopted,
    AnyRecord,
    Episode,
    Experience,
    Fact,
    Fix,
    Issue,
    Step,
    Trajectory,
)
from hardwon.runs.read import read_run
from hardwon.search.rank import Hit, Ranked
from hardwon.search.terms import no_filters
from hardwon.store.query import readable
from hardwon.store.types import Found
from hardwon.text.clean import CODE_INDENT, CUT, clean_line
from hardwon.text.likeness import alike_actions, is_telling
from hardwon.text.programs import deletes_unasked
from hardwon.text.relevance import ALIKE_OF_ONE_FROM, ALIKE_REPORT_FROM, Question, terms_in
from hardwon.text.terms import index_text
from hardwon.text.tokens import cut_to_tokens

# Of a context's tokens, for the whole line about a model; where it would take more, only its
# figures are told.
_HISTORY_SHARE_MAX: Final = 0.2

# Notes about a model in that line; one about the issue's own type comes first. Each takes as much
# room as the rest of it.
_NOTES_IN_CONTEXT_MAX: Final = 1

# Common issues of a model in the context for a fixer: its first line is one line.
_ISSUES_IN_CONTEXT_MAX: Final = 3

# Of a context's tokens, for what nothing has borne out yet, where similar cases have something to
# say as well.
_UNPROVEN_SHARE_MAX: Final = 0.3

# Mistake cards in a context, as many as training memory showed.
_CARDS_IN_CONTEXT_MAX: Final = 3

# How much of a text is compared with a question: what it is about stands in its beginning.
_COMPARED_CHARS_MAX: Final = 600

# Actions of a similar case that a context is made from, the last ones: a run may have thousands,
# and whoever asks waits.
_CASE_ACTS_MAX: Final = 100

# Fewer lines are read at a glance, and need no headings.
_PAGE_LINES_MIN: Final = 8

# From this budget on a context may be a page with headings.
_PAGE_CONTEXT_TOKENS: Final = 2_000

# Below this a context has room for a line or two, and the fence around it says no more than it must.
_SHORT_CONTEXT_TOKENS: Final = 100

# Rules, fixes, and sentences of each sort that a context begins with. As many as training memory
# showed.
RULES_IN_CONTEXT_MAX: Final = 5

# --- fixing ---

NOT_AGAIN: Final = "failed"
# The sorts of lessons about strategies; of each, FIXES_IN_CONTEXT_MAX are said.
SORTS: Final = ("signature", "model", "type", NOT_AGAIN)

_CONSIDERED: Final = 2  # times as many as are said: a source may have no room left for its second


def fixer_lessons(
    known: Knowledge, issue: Issue, fixer: str | None, history_tokens_max: int
) -> Iterator[Line]:
    """Nothing where nothing is known. Every strategy is in one lesson at most. A line about the
    model that has more tokens than it may is cut to its figures.
    """
    # first, for it reads at once what the model's history needs of it
    found, most = known.choices_for(issue, fixer), limits.FIXES_IN_CONTEXT_MAX
    history = known.model_history(issue.model, fixer) if issue.model else None
    if history:
        yield _of_model(history, issue.issue_type, history_tokens_max)
    for sort in SORTS:
        choices = [each for each in found.worked if each.scope == sort]
        allowed = few_of_each(
            found.failed if sort == NOT_AGAIN else choices,
            lambda choice: choice.ranked.support.only_source,
            most,
        )
        records = ((choice, known.read_strategy(choice.ranked)) for choice in allowed)
        lines = (
            _of_strategy(choice, word_strategy(choice.ranked, record), issue, sort)
            for choice, record in records
            if record and (choice.scope == "signature" or concerns(record, issue))
        )
        yield from islice(lines, _CONSIDERED * most)
    for hint, record in islice(known.hints_for(issue), most):
        yield _say_hint(hint, record)


def _say_hint(hint: str, record: Adopted) -> Line:
    """What a knowledge base says that was brought in: one source's word."""
    text = command_without_mark(clean_line(hint, limits.LESSON_CHARS_MAX))
    vouched = int(record.metadata.validation.status in VOUCHED_STATUSES)
    return Line(
        f"from a knowledge base: {text} [{sources_mark([record.said_by], vouched)}]",
        KNOWN,
        (record.said_by,),
        vouched,
        (record.id,),
        frozenset({folded(text)}),
        "what a knowledge base says of such issues",
        sort=KNOWN,
    )


def _of_model(history: ModelHistory, issue_type: str, tokens_max: int) -> Line:
    name = clean_line(history.model_name, limits.NAME_CHARS_MAX)
    attempts = "attempt" if history.attempts == 1 else "attempts"
    counts = f"{name}: {history.attempts} {attempts}, {history.verified} verified, p = {history.p_success:.2f}"
    common = ", ".join(
        f"{issue} ({count})" for issue, count in history.issues[:_ISSUES_IN_CONTEXT_MAX]
    )
    own = sorted(history.notes, key=lambda note: not note.startswith(f"{issue_type} "))[
        :_NOTES_IN_CONTEXT_MAX
    ]
    details = [
        clean_line(each, limits.LESSON_CHARS_MAX)
        for each in (f"common issues: {common}" if common else "", *own)
    ]
    mark = f"[{sources_mark(history.sources, history.vouched)}]"
    line = command_without_mark("; ".join(filter(None, (counts, *details))))
    # Several together say nothing that one of them would have to share the room for.
    sources = history.sources if len(history.sources) == 1 else ()
    return Line(
        f"{line} {mark}",
        KNOWN,
        sources,
        history.vouched,
        why="how fixes of the model went",
        tokens_max=tokens_max,
        shorter=lambda _: f"{counts} {mark}",
    )


def _of_strategy(choice: Choice, strategy: Strategy, issue: Issue, sort: str) -> Line:
    """Commands are data: they are shown, and run by nobody here."""
    done = " && ".join(strategy.fix_commands) or strategy.analysis
    done = command_without_mark(clean_line(done, limits.LESSON_CHARS_MAX, begins_line=False))
    mark = sources_mark(strategy.sources, strategy.vouched)
    failed = strategy.attempts - strategy.verified
    if sort == NOT_AGAIN:
        where = " for this very issue" if choice.scope == "signature" else ""
        times = f"{strategy.attempts} of {strategy.attempts} times"
        line = f"did not work{where}, {times}; do not repeat: {done} [{mark}]"
    else:
        kind, model = (
            clean_line(name, limits.NAME_CHARS_MAX) for name in (issue.issue_type, issue.model)
        )
        about = {"signature": "this very issue", "model": f"{kind} on {model}", "type": kind}[sort]
        yet = ", but not for this very issue yet" if choice.failed_here else ""
        p = f"p = {strategy.p_success:.2f}"
        if failed > strategy.verified:
            line = (
                f"{about}, failed {failed} of {strategy.attempts} times: {done} [{p}{yet}, {mark}]"
            )
        else:
            went = f"worked {strategy.verified} of {strategy.attempts} times, {p}{yet}"
            line = f"{about}: {done} [{went}, {mark}]"
    return Line(
        line,
        FAILED if failed > strategy.verified else DONE,
        strategy.sources,
        strategy.vouched,
        strategy.evidence,
        frozenset({strategy.id}),
        "what was done about the issue",
        sort=sort,
    )


# --- recalling ---


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


class _Weighed(NamedTuple):
    """A hit, how much of it is about the question, and how much its task is like it: 1 where it is
    the very same.
    """

    hit: Hit
    relevance: float
    alike: float
    same: bool


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
        issue = self.issue
        words = (self.query, issue.description, issue.error_output) if issue else (self.query,)
        return " ".join(filter(None, words))

    def framed(self, lines: Sequence[str]) -> str:
        return framed(lines, self.mark, short=self.budget < _SHORT_CONTEXT_TOKENS)


class _Material(NamedTuple):
    """What a context is made of."""

    request: ContextRequest
    question: Question | None
    weighed: Sequence[_Weighed]
    cases: Sequence[Case]
    told: Sequence[Told]
    lessons: Sequence[Line]
    unproven: Sequence[Line]


class Recaller(Finder):
    """Everything that is asked before an attempt, of one project."""

    def __init__(self, project: Project) -> None:
        self._adviser = Adviser(project)
        self._known = self._adviser.known
        super().__init__(project)

    # --- context ---

    def context(self, request: ContextRequest) -> Context:
        asked, budget = request.asked, request.budget
        question, weighed, more = (
            self._weighed(asked, budget) if asked.strip() else (None, [], False)
        )
        lessons = list(
            self._lessons(
                request.task_id,
                request.issue,
                request.fixer,
                int(_HISTORY_SHARE_MAX * budget),
            )
        )
        places = dict.fromkeys(SORTS, limits.FIXES_IN_CONTEXT_MAX)
        places[KNOWN] = _known_max(budget)
        unproven: list[Line] = []
        if request.task_id is not None:
            active = len(self._known.rules(request.task_id, "active", RULES_IN_CONTEXT_MAX))
            new = max(limits.NEW_RULES_IN_CONTEXT_MAX, RULES_IN_CONTEXT_MAX - active)
            # How many lessons of each sort are shown of what is not borne out yet.
            places |= {"new rule": new, "new card": _CARDS_IN_CONTEXT_MAX}
            unproven = self._unproven(request.task_id, places)
        pools = {_UNPROVEN: int(_UNPROVEN_SHARE_MAX * budget)} if weighed else {}
        banned = frozenset().union(*(each.about for each in lessons if each.sort == NOT_AGAIN))
        cases = [case for case in map(_case, weighed) if case.strategy not in banned]
        told = told_of(cases, request.solved_from, question)
        if more:
            self._count_unread(told, request.solved_from)
        material = _Material(request, question, weighed, cases, told, lessons, unproven)
        left, now_us = budget - request.count(request.framed([])), to_us(self._now())
        checked: dict[str, str] = {}
        # what is said is looked into, and where advice would warn of it, said otherwise
        while True:
            room = Budget(left, request.count)
            warned = {key: how for key, how in checked.items() if how}
            wording = Wording(asked, now_us, room.cost, request.count, warned)
            spoken, first = self._spoken(material, wording, room)
            said = add_by_turns(spoken, first, places, pools, room)
            found = self._warned(said, material, checked)
            checked |= found
            if not any(found.values()):
                break
        context = _within(said, [each.hit for each in weighed], request)
        if not context.text:
            context = replace(context, empty_reason=self._why_empty(request, spoken))
        if not request.explain:
            return context
        left_out = (LeftOut(line.text, line.kind, reason) for line, reason in room.left_out)
        return replace(context, unsaid=tuple(left_out))

    def _spoken(
        self, material: _Material, wording: Wording, room: Budget
    ) -> tuple[list[Line], list[Line]]:
        """All that may be said, in the order of what helps most; and what is said first of all."""
        request, question, weighed, cases, told, lessons, unproven = material
        settled = list(islice(self._settled(weighed, told, wording), _SETTLED_MAX))
        cured = {each for line in settled for each in line.ids}
        done = [
            line
            for line in lines_of(told, wording)
            if line.relevance == 1 or cured.isdisjoint(line.ids)
        ]
        same = done[: sum(line.relevance == 1 for line in done)]
        like = sorted(done[len(same) :], key=lambda line: -(line.relevance or 0.0))
        like_first = [line for line in like if line.kind == DONE][:_LIKE_FIRST]
        told_first = same or ([] if like_first else like)
        if told_first and told_first[0].kind == FAILED:
            best = (each.attempts[0] for each in told)
            failed = next((one for one in best if one.key in told_first[0].about), None)
            after = self._after(failed, request.solved_from, wording) if failed else ()
            told_first[1:1] = after
        tokens_max = int(request.budget * _SENTENCE_SHARE)
        known = list(islice(_sentences(weighed, tokens_max, room), _SENTENCES_MAX))
        seen = seen_line(cases, question, room.cost) if question and cases else None
        # what solved the very task is worth more than what settled a failure, and that than failures
        solved = int(bool(same) and same[0].kind == DONE)
        done_first = [*same[:solved], *settled, *same[solved:]]
        first_known = [*lessons, *done_first] if request.issue else [*done_first, *lessons]
        files = list(islice(file_lines(told, wording.asked), _FILE_LINES_MAX))
        about = sorted((*like_first, *known), key=lambda line: -(line.relevance or 0.0))
        spoken = [*first_known, *unproven, *files, *about, *([seen] if seen else ())]
        spoken += [line for line in like if line not in like_first]
        spoken += self._rules_of_like(weighed, request.task_id, spoken)
        if not spoken and question:
            spoken = failed_once(told, question, wording)
        # Rules do not crowd out what was said last, nor what worked what did not, nor failures what
        # worked at nearly the same task.
        all_failed = bool(same) and all(line.kind == FAILED for line in same)
        nearly = [
            line
            for line in like_first[:1]
            if all_failed and (line.relevance or 0) >= NEARLY_THE_SAME
        ]
        warnings = [lesson for lesson in lessons if lesson.sort == NOT_AGAIN]
        first = [
            each
            for each in (*unproven[:1], *warnings[:1], *nearly)
            if room.cost(each.text) <= room.left // 2
        ]
        return spoken, first

    def _why_empty(self, request: ContextRequest, spoken: Sequence[Line]) -> str:
        if spoken:
            return f"the budget of {request.budget} tokens is too small for any line"
        if not request.asked.strip() and request.task_id is None and request.issue is None:
            return "nothing was asked: a query, a task_id or an issue says what about"
        if not self._store.counts(self._project).records:
            return "nothing is recorded yet"
        return "nothing that is recorded is about this"

    def _weighed(self, asked: str, budget: int) -> tuple[Question, list[_Weighed], bool]:
        """What is found and is about the question, best first: only what may be is read; and whether
        there may be more.
        """
        # in one language: a word that is looked for by the stems of all would seem to be several
        terms = list(dict.fromkeys(index_text(asked).split()))[: limits.QUERY_TERMS_MAX]
        counted = self._store.frequencies(self._project, terms)
        question = Question(terms, counted.having, counted.texts)
        most = min(CANDIDATES, _CANDIDATES_MIN + budget // 100)
        found = self.find(asked, CANDIDATES, no_filters(), also=question.telling, spare=0)
        covered = {each.id: question.covered(each.having) for _, each in found}
        found_by = {each.id: each.terms for _, each in found}
        key, report = folded(asked), "\n" in asked.strip()
        weighed = []
        for hit in self.read_hits(_worth_reading(found, covered, most, budget)):
            alike = min(_relevance(hit, found_by[hit.record.id], question, report), NOT_THE_SAME)
            same = _is_task(hit.record, key, at_all_alike=alike > 0)
            alike = 1.0 if same else alike
            relevance = alike if report else max(covered[hit.record.id], alike)
            weighed.append(_Weighed(hit, relevance, alike, same))
        floor = ALIKE_REPORT_FROM if report else question.alike_from
        if not any(each.relevance >= floor for each in weighed):
            return question, [], False
        # What is about something else is not told because something else is about this. Whoever wrote
        # down a sentence said little: beside what is about the question, a word of it tells.
        of_sentences = floor if report else ALIKE_OF_ONE_FROM
        weighed = [
            each
            for each in weighed
            if each.relevance >= (of_sentences if _is_sentence(each.hit.record) else floor)
        ]
        weighed.sort(key=lambda each: (each.hit.stale, -each.relevance))
        return question, weighed, len(found) >= most

    def _count_unread(self, told: Sequence[Told], solved_from: float) -> None:
        """Of what was tried more often than was read, all of it counts: a search finds those first
        that say little, and these are seldom the ones that failed. Nobody counted what several
        actions came to, nor what solves a task in another sense: of these it is said that not all
        were read.
        """
        offered = [
            (same_level(attempt.task, attempt.actions[-1]), each, attempt)
            for each in told[:_OFFERED_CHECKED]
            for attempt in each.attempts[:_OFFERED_CHECKED]
        ]
        counted = self._known.counts([key for key, *_ in offered]) if offered else {}
        for key, each, attempt in offered:
            all_of_it = counted.get(key)
            tried = round(all_of_it.tried - all_of_it.unknown) if all_of_it else 0
            if all_of_it is None or tried <= attempt.tried:
                continue
            attempt.partly = solved_from != 1 or len(attempt.actions) > 1
            if not attempt.partly:
                attempt.failed_here = not attempt.holds  # what is asked about is how it fails
                attempt.tried, attempt.worked = tried, round(all_of_it.solved)
                each.attempts.sort(key=best_first)

    def _warned(
        self, said: Sequence[Line], material: _Material, checked: Mapping[str, str]
    ) -> dict[str, str]:
        """Of what is said to have worked, and was not checked yet, by its key: how it failed since it
        last worked, which is what advice warns of; empty where it did not.
        """
        weighed = {each.hit.record.id: each.hit.record for each in material.weighed}
        known = self._known.read | weighed
        best = {each.attempts[0].key: each.attempts[0] for each in material.told}
        offered: dict[str, Attempt] = {}
        for line in said:
            for key in line.about - checked.keys():
                if line.sort == CURE:
                    helped_us = max(
                        (known[each].at_us for each in line.ids if each in known), default=0
                    )
                    offered[key] = Attempt("", (key,), last_us=helped_us, worked_last=True)
                elif line.kind == DONE and key in best and len(best[key].actions) == 1:
                    offered[key] = best[key]
        keys = [attempt_key(each.actions[0]) for each in offered.values()]
        most = max(_ATTEMPTS_CHECKED, len(keys))
        found = self._store.by_key(self._project, keys, no_filters(), most, in_turns=True)
        unread = [each for each in found if each.id not in known]
        # what was before they last worked, and nobody vouches for, stands against none of them
        last = (each.last_us if each.worked_last else 0 for each in offered.values())
        since = min(last, default=0)
        if all(each.at_us < since and each.status not in VOUCHED_STATUSES for each in unread):
            unread = []
        records = [known[each.id] for each in found if each.id in known] + list(readable(unread))
        acts, warned = [(record, _actions_of(record)) for record in records], {}
        for key, attempt in offered.items():
            having = [record for record, actions in acts if key in actions]
            attempts = (attempts_in(record, attempt.actions[0], None) for record in having)
            failures = standing_failures([*chain.from_iterable(attempts)])
            warned[key] = failures[-1].said if failures else ""
        return warned

    def _settled(
        self, weighed: Sequence[_Weighed], told: Sequence[Told], wording: Wording
    ) -> Iterator[Line]:
        """What made the failure go away that the question tells of, where it tells of one; not what
        failed at the very task, or would be warned of.
        """
        attempts = (attempt for each in told if each.same for attempt in each.attempts)
        failed = {*wording.warned, *(each.key for each in attempts if not each.holds)}
        runs = (each.hit.record for each in weighed if isinstance(each.hit.record, Trajectory))
        task = next((each.attempts[0].task for each in told if each.same), None)
        asked = wording.asked
        for cure in self._adviser.cures(asked, task, runs) if asked.strip() else ():
            action = cure.action.replace(f"\n{CODE_INDENT}", "\n").strip()
            records = self._records(cure.evidence)
            cases = [_case_of(each) for each in records if _settles(each, cure.after, action)]
            helped = Attempt("", (action,), cure.helped, cure.tried, cases=cases)
            again = action.split() == cure.after.split()
            unfit = again or helped.key in failed or deletes_unasked(action, asked)
            if cases and cure.after and not unfit:
                yield after_line(Attempt("", (cure.after,)), helped, wording)

    def _records(self, ids: Sequence[str]) -> list[AnyRecord]:
        self._known.read_ahead(ids)
        return [record for record in map(self._known.record, ids) if record]

    def _after(self, failed: Attempt, solved_from: float, wording: Wording) -> Iterator[Line]:
        """What worked after the same failure, wherever that was. A failure that comes again and again
        has many causes; then, and of commands that were run by themselves, what was run next.
        """
        failure = error_in(failed.observation)
        if not failure:
            return
        found = self._store.by_key(
            self._project,
            [f"failure:{failure}"],
            no_filters(),
            _SAME_FAILURES_MAX,
            all_or_none=True,
        )
        for told in told_of(map(_case_of, readable(found)), solved_from, None):
            best = told.attempts[0]
            if best.holds and best.key not in (failed.key, *wording.warned):
                yield after_line(failed, best, wording)
                return
        runs = failed_runs(self._store, self._project, failure)
        for helped in ran_next(self._store, self._project, runs)[:1]:
            cases = [_case_of(record) for record in self._records(helped.evidence)]
            counts = helped.helped, helped.tried
            next_one = Attempt("", (helped.action,), *counts, cases=cases)
            if cases and next_one.holds and next_one.key not in (failed.key, *wording.warned):
                yield after_line(failed, next_one, wording)

    def _lessons(
        self, task_id: str | None, issue: Issue | None, fixer: str | None, history_tokens_max: int
    ) -> Iterator[Line]:
        """Rules of the task, how its episodes went, and what was done about the issue."""
        if task_id is not None:
            yield from map(_of_rule, self._known.rules(task_id, "active", RULES_IN_CONTEXT_MAX))
            scores = self._known.own_scores(task_id)
            if scores.mean is not None and scores.best is not None:
                name = clean_line(task_id, limits.NAME_CHARS_MAX)
                line = f"mean score on {name}: {scores.mean:.2f}, best {scores.best:.2f} [{_episodes(scores.episodes)}]"
                yield Line(line, why="how the task went")
        if issue:
            yield from fixer_lessons(self._known, issue, fixer, history_tokens_max)

    def _rules_of_like(
        self, weighed: Sequence[_Weighed], task_id: str | None, spoken: Sequence[Line]
    ) -> Iterator[Line]:
        """Rules of the tasks whose episodes are about the question, where they say more than what is
        said already.
        """
        records = (each.hit.record for each in weighed)
        tasks = dict.fromkeys(each.task_id for each in records if isinstance(each, Episode))
        said = set(index_text(" ".join(line.text for line in spoken)).split()) if tasks else set()
        for task in islice((task for task in tasks if task != task_id), _LIKE_TASKS_MAX):
            for rule in self._known.rules(task, "active", _RULES_OF_LIKE_MAX):
                words = set(index_text(rule.text).split())
                if rule.task_id and len(words & said) <= _SAID_SHARE * len(words):
                    line = _of_rule(rule)
                    name = clean_line(task, limits.NAME_CHARS_MAX)
                    yield line._replace(
                        text=f"{name}: {line.text}", why="a rule of a task like this one"
                    )

    def _unproven(self, task_id: str, places: Mapping[str, int]) -> list[Line]:
        """What was said of the task and is not borne out yet: the newest rules and the mistake
        cards, which take turns, and the last episode; before them where it has something to say
        that they have not. So a lesson is in the very next context after the episode that taught
        it. What was only adopted comes last.
        """
        new = self._known.new_rules(task_id, places["new rule"])
        cards = self._known.cards_to_show(task_id, places["new card"])
        turns = zip_longest(map(_of_rule, new), map(_of_card, cards))
        lines = sorted(
            (line for turn in turns for line in turn if line), key=lambda line: line.only_claimed
        )
        episode = self._known.last_episode(task_id)
        if episode:
            unsaid = self._known.unjudged(episode, new[: places["new rule"]])
            said = "; ".join(unsaid) or episode.trajectory_summary
            if said and OUR_FENCE not in said:
                changes = self._changes_of(episode) if self._changes_of else ()
                stale = any(change.stale for change in changes)
                borne_out = sum(not line.only_claimed for line in lines)
                place = len(lines) if stale else 0 if unsaid else borne_out
                lines.insert(place, _of_episode(episode, said, stale))
        return [line._replace(sort=f"new {line.sort}", pool=_UNPROVEN) for line in lines]


_CANDIDATES_MIN: Final = 20  # and one more for every hundred tokens
# Of the question's words that the best has: runs that have less are not read.
READ_FROM: Final = {"trajectory": 0.3, "fix": 0.3}
_OFFERED_CHECKED: Final = 8  # whoever reads a context takes one of the first
_ATTEMPTS_CHECKED: Final = 24  # the newest tell
_SAME_FAILURES_MAX: Final = 8
_SETTLED_MAX: Final = 2  # of what made the failure go away that a question tells of
# For so many tokens of a large budget one more sentence is said of what is known.
_TOKENS_PER_KNOWN: Final = 60
_FILE_LINES_MAX: Final = 4
_LIKE_FIRST: Final = 2  # what worked at like tasks, before what was seen
_SENTENCE_SHARE: Final = 0.3  # of the budget, for what one record says
# Considered, as sources take turns; half of them where there are runs to tell of.
_SENTENCES_MAX: Final = 12
_KNOWN_SPARE: Final = 2  # considered beyond those that are said: one may say the same as another
_SENTENCE_TOKENS_MIN: Final = 12  # less than that of it says nothing
_UNPROVEN: Final = "unproven"
_LIKE_TASKS_MAX: Final = 2  # of which rules are told
_RULES_OF_LIKE_MAX: Final = 3
_SAID_SHARE: Final = 0.7  # of a rule's words: what has more of them says nothing new


def _worth_reading(
    found: Sequence[tuple[Ranked[Found], Found]],
    covered: Mapping[str, float],
    most: int,
    budget: int,
) -> list[tuple[Ranked[Found], Found]]:
    """Of what was found, in its order: the best half of it, in which sources take turns, and of the
    others those that have most of the question; without runs that have little of it, and without
    more sentences than can be said.
    """

    def most_asked_first(pair: tuple[Ranked[Found], Found]) -> tuple[bool, float]:
        return "exact" not in pair[0].why, -covered[pair[1].id]

    half = most // 2
    chosen = [*found[:half], *sorted(found[half:], key=most_asked_first)[: most - half]]
    sentences = [pair for pair in chosen if pair[1].kind not in READ_FROM]
    runs, said = len(chosen) - len(sentences), _SENTENCES_MAX
    if len({each.author for _, each in sentences}) < 2:  # who speaks alone takes no turns
        sentences.sort(key=most_asked_first)
        said = min(said, _known_max(budget) + _KNOWN_SPARE)
    unsaid = sentences[max(_SENTENCES_MAX // 2, said - runs) :]
    kept = {each.id for _, each in chosen}.difference(each.id for _, each in unsaid)
    best = max(covered.values(), default=0.0)
    return [
        (ranked, each)
        for ranked, each in found
        if each.id in kept
        and (covered[each.id] >= best * READ_FROM.get(each.kind, 0.0) or "exact" in ranked.why)
    ]


def _known_max(budget: int) -> int:
    """How many sentences are said of what is known."""
    return max(RULES_IN_CONTEXT_MAX, budget // _TOKENS_PER_KNOWN)


def _of_rule(rule: Rule) -> Line:
    mark = f"[{_support(rule.episodes, rule.adopted)}, {sources_mark(rule.sources, rule.vouched)}]"
    line = f"{without_mark(clean_line(str(rule), limits.LESSON_CHARS_MAX))} {mark}"
    return Line(
        line,
        RULE,
        rule.sources,
        rule.vouched,
        rule.evidence,
        frozenset({folded(rule.text)}),
        "a rule of the task",
        sort="rule",
        only_claimed=bool(rule.adopted and not rule.episodes and not rule.vouched),
    )


def _of_card(card: Card) -> Line:
    said = f"{card.mistake_type}: {card.lesson}" + (
        f" Evidence: {card.evidence}" if card.evidence else ""
    )
    mark = f"[{_support(card.seen_count, 0, card.adopted_count)}, {sources_mark(card.sources, card.vouched)}]"
    line = f"{without_mark(clean_line(said, limits.LESSON_CHARS_MAX))} {mark}"
    return Line(
        line,
        RULE,
        card.sources,
        card.vouched,
        card.records,
        frozenset({folded(f"{card.mistake_type}: {card.lesson}")}),
        "a mistake at the task",
        sort="card",
        only_claimed=not card.seen_count and not card.vouched,
    )


def _of_episode(episode: Episode, said: str, stale: bool) -> Line:
    said = without_mark(clean_line(said, limits.LESSON_CHARS_MAX))
    line = f"last episode, score {episode.score:.2f}: {said} {mark_of(episode, stale)}"
    return Line(
        line,
        RULE,
        (episode.said_by,),
        int(unvouched_source(episode) is None),
        (episode.id,),
        frozenset({folded(_told(episode))}),
        "the last episode of the task",
    )


def _episodes(count: int) -> str:
    return "1 episode" if count == 1 else f"{count} episodes"


def _support(episodes: int, adopted: int, seen_before: int = 0) -> str:
    """What it rests on: episodes that are here, that it was adopted, and how often it was seen
    before that.
    """
    told = [_episodes(episodes)] if episodes or not (adopted or seen_before) else []
    told += ["adopted"] if adopted else []
    times = "once" if seen_before == 1 else f"{seen_before} times"
    return ", ".join([*told, *([f"seen {times} in training memory"] if seen_before else [])])


def mark_of(record: AnyRecord, stale: bool = False) -> str:
    """Who says so, whether anybody stands behind it, and whether the files that it is about are
    others by now.
    """
    return (
        f"[{sources_mark([record.said_by], unvouched_source(record) is None)}"
        f"{', stale' if stale else ''}]"
    )


def _actions_of(record: AnyRecord) -> set[str]:
    """As they are compared."""
    match record:
        case Trajectory():
            return {folded(step.action) for step in record.steps}
        case Fix():
            return set(map(folded, record.fix_commands))
        case Experience():
            return {folded(record.content)}
    return set()


def _acts(record: AnyRecord) -> list[Done]:
    if isinstance(record, Trajectory):
        steps, reward = record.steps[-_CASE_ACTS_MAX:], record.final_reward
        if reward is None:  # as if it had solved its task: `Case.unknown` says more
            reward = FULL_REWARD
        return [
            Done(
                step.action[: limits.ACTION_CHARS_MAX],
                step.observation[: limits.ACTION_CHARS_MAX],
                earned,
                worked(step),
            )
            for step, earned in zip(steps, _earned(steps, reward), strict=True)
        ]
    if isinstance(record, Fix) and record.fix_commands:
        return [
            Done(
                " && ".join(record.fix_commands)[: limits.ACTION_CHARS_MAX],
                record.analysis[: limits.ACTION_CHARS_MAX],
                float(record.succeeded),
                record.succeeded,
            )
        ]
    return []


def _earned(steps: Sequence[Step], final_reward: float) -> list[float]:
    """What the run earned, shared out: to the step that was worth most all of it, to others in
    proportion; where nobody said what a step was worth, to the last one.
    """
    most = max((step.reward for step in steps), default=0.0)
    if most > 0:
        return [final_reward * max(step.reward / most, 0.0) for step in steps]
    return [0.0] * (len(steps) - 1) + [final_reward * (step.reward == 0) for step in steps[-1:]]


def _settles(record: AnyRecord, failed: str, helped: str) -> bool:
    """Whether what a run did after an action had failed made a difference: it is that action in other
    words, somebody says that it was worth something, the run came to something, or the action
    worked in the end.
    """
    if not isinstance(record, Trajectory) or (record.final_reward or 0) > 0:
        return True
    if alike_actions(failed, helped) >= _IN_OTHER_WORDS:
        return True
    steps = [(folded(step.action), step) for step in record.steps]
    ended = [worked(step) for action, step in steps if action == folded(failed)][-1:]
    return any(ended) or any(step.reward > 0 for action, step in steps if action == folded(helped))


# Of the names of two actions, what they have in common where one is the other with something mended.
_IN_OTHER_WORDS: Final = 0.5


def _case_of(record: AnyRecord) -> Case:
    return _case(_Weighed(Hit(record, 0.0), 0.0, 0.0, False))


def _case(weighed: _Weighed) -> Case:
    record = weighed.hit.record
    if not isinstance(record, Trajectory | Fix):  # nothing was done: nobody asks when, and by whom
        return Case(record.id, "", (), *weighed[1:])
    return Case(
        record.id,
        _task_of(record),
        _acts(record),
        weighed.relevance,
        weighed.alike,
        weighed.same,
        record.at_us,
        record.said_by,
        unvouched_source(record) is None,
        weighed.hit.stale,
        strategy_key(record) if isinstance(record, Fix) else "",
        isinstance(record, Trajectory) and record.final_reward is None,
        _what_lasted(record) if isinstance(record, Trajectory) else (),
    )


def _what_lasted(record: Trajectory) -> tuple[str, ...]:
    """The actions of a run of several steps whose effects were there at its end; none of one that
    did not solve its task, as far as that is known.
    """
    reward = record.final_reward
    if len(record.steps) < 2 or (reward is not None and reward < FULL_REWARD):
        return ()
    actions = (step.action[: limits.ACTION_CHARS_MAX] for step in read_run(record).lasting)
    return tuple(dict.fromkeys(actions))


# A task that is that long is the same where a question holds it among other words.
_TELLING_TASK_CHARS: Final = 30
# What the very failure that is asked about is worth, whatever else was said.
_SAME_FAILURE: Final = 0.8
# Failed steps of a run that a question is compared with.
_FAILURES_COMPARED: Final = 2


def _is_task(record: AnyRecord, asked: str, *, at_all_alike: bool) -> bool:
    """A command is not the task where it failed in a way that is not at all alike."""
    task = folded(_task_of(record))
    same = task == asked or (len(task) >= _TELLING_TASK_CHARS and task in asked)
    return bool(task) and same and (at_all_alike or task not in _actions_of(record))


def _task_of(record: AnyRecord) -> str:
    if isinstance(record, Trajectory):
        return record.task
    return record.issue.description if isinstance(record, Fix) else ""


def _relevance(hit: Hit, terms: str, question: Question, report: bool) -> float:
    """How much a record, found by these terms, is like a question, by whatever of it is. A `report`
    tells what was done and what came of it. That its vector is the nearest, or that it was said right
    after the best hit, says nothing: some record always is, however far away.
    """
    why, record = hit.why, hit.record
    same_failure = _SAME_FAILURE * ("exact" in why)
    # a sentence has hardly other words than those it is found by
    if _is_sentence(record) and len(terms) <= _COMPARED_CHARS_MAX:
        return max(same_failure, question.alike_by({*terms.partition("\n")[0].split()}))
    return max([same_failure, *map(question.alike_to, _about(record, question, report))])


def _is_sentence(record: AnyRecord) -> bool:
    return isinstance(record, Experience | Fact)


def _about(record: AnyRecord, question: Question, report: bool) -> Iterator[str]:
    """What a question may be about, of a record. The same command may fail in another way: so a
    report is compared with what came of it, unless that has nothing to do with it but the words of
    the command.
    """
    chars = _COMPARED_CHARS_MAX
    match record:
        case Trajectory():
            failed = [step for step in record.steps if step.reward <= 0] if report else []
            if not failed or "\n" in record.task.strip():
                yield record.task[:chars]
            for step in failed[:_FAILURES_COMPARED]:
                shown, did = step.observation[:chars], step.action[:chars]
                told = terms_in(shown) - terms_in(did)
                if told and not question.share(told):
                    continue
                yield f"{record.task[:chars]} {did} {shown}"
                if is_telling(shown):
                    yield shown
        case Fix():
            issue = record.issue
            yield f"{issue.issue_type} {issue.description[:chars]} {(issue.error_output or '')[:chars]}"
        case Episode():
            yield f"{record.task_id} {record.trajectory_summary[:chars]}"
            yield from (said[:chars] for said in (*record.mistakes[:5], *record.successes[:5]))
        case Experience() | Fact():
            yield record.content[:chars]


def _sentences(weighed: Sequence[_Weighed], tokens_max: int, room: Budget) -> Iterator[Line]:
    """Hits that are a sentence: experiences, facts and episodes, and how it turned out."""
    for each in weighed:
        record, about = each.hit.record, set[str]()
        if isinstance(record, Experience | Fact):
            what = record.outcome if isinstance(record, Experience) else record.fact_type
            content = clean_line(record.content, limits.LESSON_CHARS_MAX)
        elif isinstance(record, Episode):
            what, content = f"score {record.score:.2f}", _told(record)
            about = {*map(folded, record.successes[:2]), *map(folded, record.mistakes[:2])}
        else:
            continue
        if content:
            about.add(folded(content))
            yield _of_sentence(what, content, about, each, tokens_max, room)


def _of_sentence(
    what: str, content: str, about: set[str], each: _Weighed, tokens_max: int, room: Budget
) -> Line:
    """As much of it as one record may take."""
    record = each.hit.record
    source, mark = unvouched_source(record), mark_of(record, each.hit.stale)

    def shorter(allowed: int) -> str:
        rest = allowed - room.cost(f"{what}: {CUT} {mark}")
        short = cut_to_tokens(content, rest, room.count) if rest >= _SENTENCE_TOKENS_MIN else ""
        return f"{what}: {short}{CUT} {mark}" if short else ""

    return Line(
        f"{what}: {content} {mark}",
        KNOWN,
        (source,) if source else (),
        not source,
        (record.id,),
        frozenset(about),
        f"about what is asked ({each.relevance:.2f})",
        each.relevance,
        KNOWN,
        tokens_max=tokens_max,
        shorter=shorter,
    )


def _told(episode: Episode) -> str:
    said = episode.trajectory_summary, *episode.successes[:2], *episode.mistakes[:2]
    return clean_line("; ".join(filter(None, said)), limits.LESSON_CHARS_MAX)


def _within(lines: Sequence[Line], hits: Sequence[Hit], request: ContextRequest) -> Context:
    """The text, counted as it is handed out; lines go from the end until it fits. Its hits are what
    is behind the lines.
    """
    kept = list(lines)
    page = request.budget >= _PAGE_CONTEXT_TOKENS and len(kept) >= _PAGE_LINES_MIN
    if page:
        kept.sort(key=lambda line: list(HEADINGS).index(line.kind))
    while kept:
        rows: list[tuple[str, tuple[str, ...]]] = []
        for kind, together in groupby(kept, lambda line: line.kind):
            rows += [(f"  {HEADINGS[kind]}", ())] if page else []
            rows += [(row, line.ids) for line in together for row in line.text.split("\n")]
        fenced = [(line, ids) for row, ids in rows if (line := fenced_line(row, request.mark))]
        text = request.framed([line for line, _ in fenced])
        tokens = request.count(text)
        if tokens <= request.budget:
            behind = {each for line in kept for each in line.ids}
            shown = tuple(hit for hit in hits if hit.record.id in behind)
            explained = kept if request.explain else ()
            return Context(
                text,
                tokens,
                shown,
                tuple(sorted(behind.difference(hit.record.id for hit in shown))),
                ((), (), *(ids for _, ids in fenced), ()),
                lines=tuple(
                    SaidLine(each.text, each.kind, each.why, each.ids) for each in explained
                ),
            )
        kept.pop()
    return Context("", 0, (), ())
