"""What earlier runs say of a task: which ways there were, how often each worked, and how the others
failed. Each becomes a line that stands alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import accumulate, islice, product
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.lessons.actions import Level, same_level
from hardwon.lessons.odds import Counts
from hardwon.lessons.teaching import Teaching, make_lost_id, make_way_id
from hardwon.lessons.transfer import hide_values
from hardwon.records.kinds import OUTCOME_UNKNOWN
from hardwon.search.likeness import find_terms
from hardwon.search.question import Question
from hardwon.tell.lines import (
    DONE,
    EXAMPLE_TASK_CHARS_MAX,
    FAILED,
    SEEN,
    Draft,
    disarm_marks,
    make_mark,
    name_sources,
    name_task,
    say_ago,
    word_action,
)
from hardwon.text.clean import CODE_INDENT, CUT, clean_code, shorten
from hardwon.text.failures import shows_error
from hardwon.text.programs import deletes_without_order
from hardwon.text.terms import spelled_alike
from hardwon.text.tokens import cut_to_tokens

_ERROR_CHARS_SHOWN: Final = 100
# What came near at another task is told whole up to this; a longer one is a program that went astray.
_NEARLY_CHARS_MAX: Final = 160
_SAME_TASK_LINES_MAX: Final = 6
_LIKE_FAILURES_MAX: Final = 2
_FILES_SHOWN_MAX: Final = 5
# Of a program that has no room, fewer of its first lines say nothing.
_BEGINNING_LINES_MIN: Final = 3
_TERMS_CHARS_MAX: Final = 400
# Less than that of a line is not worth its room.
_CUT_TOKENS_MIN: Final = 12
# Of the likest task's likeness: less alike ones are not told.
LIKE_FROM: Final = 0.4
# As much like the question is nearly the same task.
NEARLY_THE_SAME: Final = 0.8
# A task that is not the very same is never quite as much like the question.
NOT_THE_SAME: Final = 0.95
# What earned less at another task did not come near.
_NEARLY_FROM: Final = 0.25
# What failed at another task tells half as much as what worked at one.
_FAILED_ELSEWHERE: Final = 0.5
# What failed at a task that is as much like the question, by this share, is not offered.
_DISPUTED_FROM: Final = 0.8
# What it adds to a task's likeness that the action names all of the question.
_NAMED: Final = 0.3
# A reward that reads the same with two digits is the same.
_SAME_REWARD: Final = 0.005


class PastRun(NamedTuple):
    """A run, and how much its task is `alike` to what is asked: 1 where it is the very `same`. `stale`:
    the files that it is about are others by now.
    """

    id: str
    teaching: Teaching
    author: str
    at_us: int
    vouched: bool
    stale: bool
    alike: float
    same: bool


@dataclass
class Way:
    """What was done at a task in the same words: in how many runs, in how many of them it solved the
    task (`worked`), the most that it earned, and of how many more nobody knows whether they solved it
    (`unknown`). `warning` is how it failed since it last worked; `hands_in`: its last action ends
    most runs, whatever their task.
    """

    task: str
    actions: tuple[str, ...]
    runs: list[PastRun] = field(default_factory=list)
    tried: int = 0
    worked: int = 0
    unknown: int = 0
    earned: float = 0.0
    error: str = ""
    warning: str = ""
    hands_in: bool = False
    last_us: int = 0
    worked_last: bool = False

    @cached_property
    def key(self) -> str:
        """The same for the same actions."""
        return "\n".join(map(spelled_alike, self.actions))

    @property
    def is_task(self) -> bool:
        """Whether what was to be done is what was done."""
        return spelled_alike(self.task) in ("", self.key)

    @property
    def only_done(self) -> bool:
        """Whether of no run that did it is it known if that solved its task."""
        return not self.tried and self.unknown > 0

    @property
    def holds(self) -> bool:
        """Whether it worked at least as often as not; or was done, and nobody knows more."""
        return self.worked * 2 >= self.tried > 0 < self.worked or self.only_done

    @property
    def level(self) -> Level:
        """What its last action at its task is counted under."""
        return same_level(self.task, self.actions[-1])

    @property
    def lesson_id(self) -> str:
        """The id of the lesson that it is: a way, or a dead end."""
        if self.holds:
            return make_way_id(self.task, self.actions)
        return make_lost_id(self.task, self.actions[-1])

    def add(self, run: PastRun, solved_from: float) -> None:
        """One more run did it."""
        self.runs.append(run)
        earned = run.teaching.earned
        if earned is None and run.teaching.outcome == "unknown":
            self.unknown += 1
            return
        worked = run.teaching.outcome == "solved" if earned is None else earned >= solved_from
        self.tried += 1
        self.worked += worked
        self.earned = max(self.earned, 1.0 if earned is None and worked else earned or 0.0)
        if run.at_us >= self.last_us:
            self.last_us, self.worked_last = run.at_us, worked
        if not worked:
            self.error = run.teaching.account.error or self.error

    def count(self, counts: Counts) -> None:
        """Takes what was counted of all runs, where that is more than those that were read."""
        tried = round(counts.tried - counts.unknown)
        if len(self.actions) == 1 and tried > self.tried:
            self.tried, self.worked = tried, round(counts.solved)


class Task(NamedTuple):
    """What is known of one task: its ways, those that hold first, the best of each first."""

    alike: float
    same: bool
    ways: list[Way]

    @property
    def best(self) -> Way:
        """The way that comes first."""
        return self.ways[0]


class Wording(NamedTuple):
    """What it takes to put lines into words: what is asked, the time, what a line costs, and whether
    one author alone recorded all of it.
    """

    asked: str
    now_us: int
    cost: Callable[[str], int]
    count: Callable[[str], int]
    alone: bool


def group_runs(runs: Iterable[PastRun], solved_from: float) -> list[Task]:
    """The tasks of the runs, each with its ways."""
    by_task: dict[str, list[PastRun]] = {}
    for run in runs:
        by_task.setdefault(spelled_alike(run.teaching.task) or run.id, []).append(run)
    return [
        Task(max(run.alike for run in those), those[0].same, ways)
        for those in by_task.values()
        if (ways := _find_ways(those, solved_from - _SAME_REWARD))
    ]


def _find_ways(runs: Sequence[PastRun], solved_from: float) -> list[Way]:
    ways: dict[str, Way] = {}
    for run in runs:
        teaching = run.teaching
        earned = teaching.earned
        is_open = earned is None or earned >= solved_from
        actions = teaching.lasting if is_open else ()
        if not actions and teaching.account.attempt.strip():
            actions = (teaching.account.attempt,)
        if actions:
            way = Way(teaching.task, actions)
            ways.setdefault(way.key, way).add(run, solved_from)
    return list(ways.values())


def order_tasks(
    tasks: Sequence[Task], counts: Mapping[Level, Counts], question: Question | None
) -> list[Task]:
    """The tasks, the likest first, with everything that was counted of their ways, the best of these
    first: that an action names what is asked for counts, too.
    """
    ordered = []
    for task in tasks:
        for way in task.ways:
            if counted := counts.get(way.level):
                way.count(counted)
        task.ways.sort(key=_best_first)
        alike = task.alike
        if question and not task.same:
            named = question.share(_find_terms(" ".join(task.best.actions)))
            alike = min(alike + _NAMED * named, NOT_THE_SAME)
        ordered.append(task._replace(alike=alike))
    _put_usual_first([task for task in ordered if not task.same])
    return sorted(ordered, key=lambda task: (not task.same, -task.alike))


def _goodness(way: Way) -> tuple[object, ...]:
    """The least is the best: what holds, by how often, what several did before what one alone does;
    else what earned most. What worked comes before what was only done.
    """
    share, times = way.worked / (way.tried or 1), way.tried + way.unknown
    is_one = len({run.author for run in way.runs}) < 2
    return not way.holds, -share, way.holds and is_one, -way.worked, -way.earned, -times


def _best_first(way: Way) -> tuple[object, ...]:
    """Of equals the shortest."""
    return *_goodness(way), sum(map(len, way.actions))


def _put_usual_first(tasks: Sequence[Task]) -> None:
    """Of ways at a like task that are as good as each other, the one that has most in common with
    what was done at all of them: what is usual there is likelier to help with another.
    """
    equals = [sum(_goodness(way) == _goodness(task.best) for way in task.ways) for task in tasks]
    if max(equals, default=0) < 2:
        return
    usual: dict[str, float] = {}
    for task in tasks:
        for term in _find_terms(task.best.key):
            usual[term] = usual.get(term, 0.0) + task.alike * task.alike

    def weigh_usual(way: Way) -> float:
        """How much it has in common with what was done at all of the tasks."""
        terms = _find_terms(way.key)
        return math.fsum(usual.get(term, 0.0) for term in terms) / math.sqrt(len(terms) or 1)

    for task, count in zip(tasks, equals, strict=True):
        if count > 1:
            place = max(range(count), key=lambda place: weigh_usual(task.ways[place]))
            task.ways.insert(0, task.ways.pop(place))


def _find_terms(text: str) -> frozenset[str]:
    return find_terms(text[:_TERMS_CHARS_MAX])


def say_tasks(tasks: Sequence[Task], wording: Wording) -> Iterator[Draft]:
    """All that is known of the very same task, best first; of each like task what worked, or what
    came nearest, or where nothing is known that worked, what failed again and again. What failed at
    the very task, or at one that is about as much like it, is offered from nowhere; nor is what
    deletes where neither the question nor a failure that it reports speaks of that.
    """
    failed: dict[str, float] = {}
    for task in reversed(tasks):
        failed.update((way.key, task.alike) for way in task.ways if not way.holds)
    near = _keep_near(tasks)
    solved = any(task.best.holds for task in near)
    # what mends a failure may well begin with taking something away
    is_report = "\n" in wording.asked.strip() or shows_error(wording.asked)
    errors = Counter(task.best.error for task in near if task.best.is_task)
    shown = {way.error for task in near if task.same for way in task.ways}
    most = len(shown) + _LIKE_FAILURES_MAX
    for task in near:
        best = task.best
        if task.same:
            drafts = (_say_way(way, task, wording) for way in _keep_telling(task.ways))
            yield from islice(_keep_one_of_each(drafts, task), _SAME_TASK_LINES_MAX)
        elif best.holds:
            disputed = failed.get(best.key, 0.0) >= _DISPUTED_FROM * task.alike
            deletes = deletes_without_order("\n".join(best.actions), wording.asked)
            unsure = best.only_done and task.alike < NEARLY_THE_SAME
            if not (disputed or unsure or (deletes and not is_report)):
                yield _say_way(best, task, wording)
        elif best.earned >= _NEARLY_FROM:
            yield _say_way(best, task, wording)
        else:
            error = best.error if best.is_task else ""
            often = best.tried > 1 and (bool(error) or not solved)
            often = often or (bool(error) and errors[error] > 1)
            if often and (error or best.key) not in shown and len(shown) < most:
                shown.add(error or best.key)
                yield _say_way(best, task, wording)


def _keep_telling(ways: Sequence[Way]) -> list[Way]:
    """Without those that failed, earned nothing and showed nothing, where others tell more."""
    telling = [way for way in ways if way.holds or way.error or way.earned]
    return telling or list(ways)


def _keep_near(tasks: Sequence[Task]) -> list[Task]:
    """Those that are enough like the question to be told of. A task at which all failed, be it the
    likest, hides nothing that worked.
    """
    likest = max((task.alike for task in tasks), default=0.0)
    likest_done = max((task.alike for task in tasks if task.best.holds), default=0.0)
    return [
        task
        for task in tasks
        if task.alike >= LIKE_FROM * (likest_done if task.best.holds else likest)
    ]


def _keep_one_of_each(drafts: Iterable[Draft], task: Task) -> Iterator[Draft]:
    """Of what worked, one line of each unconfirmed source, where there are several."""
    several = len({run.author for way in task.ways for run in way.runs}) > 1
    spoke = set[str]()
    for draft in drafts:
        source = draft.only_source
        if several and draft.kind == DONE and source:
            if source in spoke:
                continue
            spoke.add(source)
        yield draft


def say_failed_once(tasks: Sequence[Task], question: Question, wording: Wording) -> list[Draft]:
    """What failed at the likest task, be it a single time: to be said where nothing else is. Of a run
    that failed in several ways, what is most like the question.
    """
    if not tasks or tasks[0].best.holds:
        return []
    way, run = tasks[0].best, tasks[0].best.runs[-1]
    if met := run.teaching.met:
        nearest = max(reversed(met), key=lambda one: question.share(_find_terms(one.words)))
        if nearest.check:
            way = Way(way.task, (nearest.check,), [run], tried=1, error=nearest.words)
    return [_say_way(way, tasks[0], wording)]


def _say_way(way: Way, task: Task, wording: Wording) -> Draft:
    sources = list(dict.fromkeys(run.author for run in way.runs))
    vouched = sum(run.vouched for run in way.runs)
    who = name_sources(sources, vouched, alone=wording.alone)
    stale = "stale" if all(run.stale for run in way.runs) else ""
    last = say_ago(max(run.at_us for run in way.runs), wording.now_us)
    once = way.tried <= 1
    outcome, error = "", ""
    times = "" if once else f" {way.worked} of {way.tried}"
    parts = [f"worked{times}{'' if once else ', last'} {last}", who, stale]
    brief = [f"worked{times}", who, stale]
    if way.only_done:
        times = "" if way.unknown == 1 else f" {way.unknown} times, last"
        parts[0], brief[0] = f"done{times} {last}, {_NOBODY_KNOWS}", OUTCOME_UNKNOWN
    if way.holds and way.warning:
        outcome = f"{'done' if way.only_done else 'worked'} before, but FAILED since: "
        error = way.warning
    elif not way.holds:
        times = "" if once else f" {way.tried - way.worked} of {way.tried} times"
        in_part = way.earned > 0 and not way.worked
        outcome = f"did not solve it ({way.earned:.2f} of 1)" if in_part else "FAILED"
        outcome += f"{times}: "
        parts[0] = last if once else f"last {last}"
        if way.worked_last:
            parts[0] = f"worked the last time, {last}"
        brief[0] = ""
        error = way.error if task.same or not way.earned else ""
    name = "this task" if task.same else name_task(way.task, wording.asked)
    head = ("" if way.is_task else f"{name} -> ") + outcome
    error = f" -> {shorten(' '.join(error.split()), _ERROR_CHARS_SHOWN)}" if error else ""
    actions = way.actions[:-1] if way.hands_in else way.actions
    if not task.same:
        actions = tuple(hide_values(action, way.task, wording.asked) for action in actions)
    if not way.holds and not task.same:
        line = " ".join(actions[-1].split())
        is_near = way.earned >= _NEARLY_FROM and len(line) <= _NEARLY_CHARS_MAX
        actions = (line if is_near else shorten(line, EXAMPLE_TASK_CHARS_MAX),)
    mark = make_mark(*parts, lesson_id=way.lesson_id)
    return Draft(
        word_action(head, actions, error, mark),
        kind=FAILED if outcome else DONE,
        sources=sources,
        vouched=vouched,
        ids=tuple(run.id for run in way.runs),
        about=frozenset({way.key}),
        relevance=task.alike * (_FAILED_ELSEWHERE if outcome and not task.same else 1),
        why=_explain(way, task),
        shorter=partial(
            _shorten,
            head,
            actions,
            (mark, make_mark(*brief, lesson_id=way.lesson_id), make_mark(*brief)),
            error,
            wording,
            task.same,
            way is task.best,
        ),
    )


_NOBODY_KNOWS: Final = "unknown whether it solved the task"


def _explain(way: Way, task: Task) -> str:
    """Why a line is there, for who asks for an explanation."""
    why = "the very same task" if task.same else f"a task like this one ({task.alike:.2f})"
    how = OUTCOME_UNKNOWN if way.only_done else f"worked {way.worked} of {way.tried}"
    return f"{why}, {how}"


def _shorten(
    head: str,
    actions: Sequence[str],
    marks: tuple[str, str, str],
    error: str,
    wording: Wording,
    same: bool,
    may_cut: bool,
    allowed: int,
) -> str:
    """The line within so many tokens: without what the actions showed, and when; then as much of the
    actions as there is room for, whole actions, lines or words, and a sign that they were cut. ""
    where nothing of use is left. Those at other tasks are not cut: of them, the task is left out.
    """
    mark, brief, least = marks
    if not same:
        like = f"like task -> {head.rpartition(' -> ')[2]}"
        if "did not solve" in head:
            beginning = (shorten(actions[-1], EXAMPLE_TASK_CHARS_MAX),)
            texts = [word_action(begin, beginning, "", brief) for begin in (head, like)]
            return next((text for text in texts if wording.cost(text) <= allowed), "")
        if "FAILED" in head:
            return ""  # of what failed at a task nobody knows which, nothing follows
        head = like
    code = [line for action in actions for line in clean_code(action, limits.ACTION_CHARS_MAX)]
    if len(actions) > 1 and may_cut:
        return _keep_whole_actions(head, actions, brief, wording, allowed)
    if len(code) > 1:
        if not (same and may_cut):
            return ""  # half a program tells nothing
        first, *rows = word_action(head, actions, error, mark).split("\n")
        left = allowed - wording.cost(first) - wording.cost(CODE_INDENT + CUT)
        spent = accumulate(map(wording.cost, rows))
        kept = [row for row, cost in zip(rows, spent, strict=True) if cost <= left]
        return "\n".join((first, *kept, CODE_INDENT + CUT)) if kept else ""
    for shown, less in product((error, ""), (mark, brief, least)):
        bare = word_action(head, actions, shown, less)
        if wording.cost(bare) <= allowed:
            return bare
    left = allowed - wording.cost(f"{head}{CUT} {brief}")
    if left < _CUT_TOKENS_MIN or not same:
        return ""
    line = " ".join(actions[0].split())
    return f"{head}{cut_to_tokens(line, left, wording.count)}{CUT} {brief}"


def _keep_whole_actions(
    head: str, actions: Sequence[str], mark: str, wording: Wording, allowed: int
) -> str:
    """Of several actions as many as there is room for, whole, from the last one back: what is done
    last stands on what was done before. Of those that have no room the first lines are shown.
    """
    left = allowed - wording.cost(word_action(head, ("a", "b"), "", mark))
    codes = [clean_code(disarm_marks(one), limits.ACTION_CHARS_MAX) for one in actions]
    shown: dict[int, list[str]] = {}
    for place in reversed(range(len(actions))):
        cost = sum(map(wording.cost, codes[place]))
        if cost <= left:
            shown[place] = codes[place]
            left -= cost
    for place in reversed(range(len(actions))):
        if place not in shown:
            spent = accumulate(map(wording.cost, [CODE_INDENT + CUT, *codes[place]]))
            lines = [cost for cost in spent if cost <= left][1:]
            if len(lines) >= _BEGINNING_LINES_MIN:
                shown[place] = [*codes[place][: len(lines)], CODE_INDENT + CUT]
                left -= lines[-1]
    if not shown:
        return ""
    if len(shown) < len(actions):
        head += "among others, "
    rows = [row for place in sorted(shown) for row in shown[place]]
    first = word_action(head, ("a", "b"), "", mark).split("\n")[0]
    return "\n".join((first, *rows))


def say_files(tasks: Sequence[Task], wording: Wording) -> Iterator[Draft]:
    """Of each task the files that its runs changed, where its actions do not tell: they say where to
    look.
    """
    for task in _keep_near(tasks):
        runs = [run for way in task.ways for run in way.runs]
        actions = " ".join(action for way in task.ways for action in way.actions)
        files = [name for run in runs for name in run.teaching.account.files]
        names = [name for name in dict.fromkeys(files) if name not in actions]
        if not names:
            continue
        sources = list(dict.fromkeys(run.author for run in runs))
        vouched = sum(run.vouched for run in runs)
        best = task.best
        solved = "not solved" if not best.holds else OUTCOME_UNKNOWN if best.only_done else "solved"
        mark = make_mark(solved, name_sources(sources, vouched, alone=wording.alone))
        name = "this task" if task.same else name_task(best.task, wording.asked)
        changed = ", ".join(names[:_FILES_SHOWN_MAX])
        yield Draft(
            f"{name} -> changed {changed} {mark}",
            kind=SEEN,
            sources=sources,
            vouched=vouched,
            ids=tuple(dict.fromkeys(run.id for run in runs)),
            about=frozenset({f"files: {changed}"}),
            relevance=task.alike,
            why="the files that runs at the task changed",
        )
