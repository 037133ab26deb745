"""What earlier runs have to say: what was done and worked, what failed and what helped after it, and
what an action showed. Each is a sentence that stands alone; nothing here knows what it is about.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from itertools import accumulate, islice
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.brief.lines import CURE, DONE, FAILED, SEEN, Line, ago, sources_mark
from hardwon.brief.shown import (
    edits_of,
    files_touched,
    is_talk,
    names_shown,
    only_hands_in,
    only_shows,
    telling_line,
    without_thoughts,
)
from hardwon.records.kinds import OUTCOME_UNKNOWN
from hardwon.text.clean import CODE_INDENT, CUT, clean_code, clean_line, shortened
from hardwon.text.failures import shows_error
from hardwon.text.programs import deletes_unasked, only_tests
from hardwon.text.relevance import Question
from hardwon.text.terms import FORM, Remembered, index_text, spelled_alike
from hardwon.text.tokens import cut_to_tokens

# Files that a line of a context names, of those that were changed and of those that were opened.
_FILES_SHOWN_MAX: Final = 5

# Names that one action showed: a wide table.
_SEEN_NAMES_MAX: Final = 30

# An action that is told with what it showed: a longer one is a program.
_SEEN_ACTION_CHARS_MAX: Final = 60

# How much of an action is looked at for the names it uses.
_DIGEST_CHARS_MAX: Final = 400

# An error as a context tells it: enough to know it again.
_ERROR_CHARS_SHOWN: Final = 100

# Steps between a failure and what then worked that are told with it.
_WAY_STEPS_MAX: Final = 4

# Like tasks of which a context tells only that they failed.
_LIKE_FAILURES_MAX: Final = 2

# Lines of a program that failed: enough to know it again.
_FAILED_LINES_MAX: Final = 8

# What came near at a similar task, told whole where there is room: a longer command is a program that
# went astray.
_NEARLY_CHARS_MAX: Final = 160

# Different things that were tried at the very same task, as a context tells them: whoever needs more
# looks at the records.
_SAME_TASK_LINES_MAX: Final = 6

# The action that helped with a similar task: a function of a hundred lines. The budget is mostly
# smaller.
_EXAMPLE_CHARS_MAX: Final = 4_000

# A run half as much like the question as the best one has a quarter of its say in what was seen.
SHARPNESS: Final = 2.0
# Of the best one's relevance: less alike tasks are not told.
LIKE_FROM: Final = 0.4
# What earned less at another task did not come near.
NEARLY_FROM: Final = 0.25
# What failed at another task tells half as much as what worked at one.
FAILED_ELSEWHERE: Final = 0.5
# Of a task's relevance: what failed at one that is as much like the question is not offered.
DISPUTED_FROM: Final = 0.8
# What it adds that the action at another task names all of the question.
NAMED: Final = 0.3
# As much like the question is nearly the same task.
NEARLY_THE_SAME: Final = 0.8
# A task that is not the very same is never quite as relevant.
NOT_THE_SAME: Final = 0.95
# A reward that reads the same with two digits is the same.
SAME_REWARD: Final = 0.005


class Done(NamedTuple):
    """Something done, what came of it, what it earned, and whether it worked."""

    action: str
    observation: str
    earned: float
    worked: bool


class Case(NamedTuple):
    """A run as it is told: its task, what was done, how much of it is about the question (1: the
    very same task), how much its task is like it, when, and who says so. `strategy` is what a fix
    did. `unknown`: nobody knows whether it solved its task; what it earned is then as if it had.
    `lasting`: what was there at the end of a run that did not fail.
    """

    id: str
    task: str
    steps: Sequence[Done]
    relevance: float
    alike: float
    same: bool
    at_us: int = 0
    author: str = ""
    vouched: bool = False
    stale: bool = False
    strategy: str = ""
    unknown: bool = False
    lasting: tuple[str, ...] = ()


def one_line(text: str) -> str:
    return " ".join(text.split())


# The same for the same task or action, but for case and spacing.
folded = spelled_alike


@dataclass
class Attempt:
    """What was tried at one task in the same words, over all runs: how often, how often it worked,
    and the most it earned; and in how many runs more it was done of which nobody knows whether that
    solved their task (`unknown`). Several actions are to be done one after the other.
    `failed_here`: the runs that the question found mostly failed, whatever became of the others.
    `partly`: there are more runs than were read. `worked_last`: the newest of those read, at
    `last_us`, worked.
    """

    task: str
    actions: tuple[str, ...]
    worked: int = 0
    tried: int = 0
    earned: float = 0.0
    observation: str = ""
    cases: list[Case] = field(default_factory=list)
    failed_here: bool = False
    partly: bool = False
    last_us: int = 0
    worked_last: bool = False
    unknown: int = 0

    @cached_property
    def key(self) -> str:
        return "\n".join(map(folded, self.actions))

    @property
    def is_command(self) -> bool:
        """What was to be done is what was done."""
        return folded(self.task) in ("", self.key)

    @property
    def holds(self) -> bool:
        """It worked at least as often as not, and so did the runs that the question found; or it was
        done, and nobody knows more.
        """
        worked = self.worked * 2 >= self.tried > 0 < self.worked
        return not self.failed_here and (worked or self.only_done)

    @property
    def only_done(self) -> bool:
        """Of no run that did it is it known whether that solved its task."""
        return not self.tried and self.unknown > 0

    @cached_property
    def error(self) -> str:
        """How it failed, in a few words."""
        return shortened(one_line(telling_line(self.observation)), _ERROR_CHARS_SHOWN)

    def add(self, case: Case, earned: float, observation: str, *, worked: bool) -> None:
        """One more run did it. Where nobody knows how that ended, what `worked` was done."""
        self.cases.append(case)
        if worked and case.unknown:
            self.unknown += 1
            return
        self.tried += 1
        self.worked += worked
        self.earned = self.earned if case.unknown else max(self.earned, earned)
        if case.at_us >= self.last_us:
            self.last_us, self.worked_last = case.at_us, worked
        if not worked:
            self.observation = observation or self.observation


class Told(NamedTuple):
    """What is known of one task: its attempts, those that hold first, the best of each first."""

    relevance: float
    same: bool
    attempts: list[Attempt]


def told_of(cases: Iterable[Case], solved_from: float, question: Question | None) -> list[Told]:
    """The tasks of the runs, the most alike first: that an action names what is asked for counts,
    too.
    """
    by_task: dict[str, list[Case]] = {}
    for case in cases:
        if case.steps and any(step.action.strip() for step in case.steps):
            by_task.setdefault(folded(case.task) or case.id, []).append(case)
    told = []
    for runs in by_task.values():
        attempts = sorted(_attempts(runs, solved_from - SAME_REWARD), key=best_first)
        alike, same = max(case.alike for case in runs), runs[0].same
        if question and not same:
            named = question.share(_terms(" ".join(attempts[0].actions)))
            alike = min(alike + NAMED * named, NOT_THE_SAME)
        told.append(Told(alike, same, attempts))
    _put_usual_first([each for each in told if not each.same])
    return sorted(told, key=lambda each: (not each.same, -each.relevance))


def _put_usual_first(told: Sequence[Told]) -> None:
    """Of attempts at a like task that are as good as each other, the one that has most in common
    with what was done at all of them: what is usual there is likelier to help with another.
    """
    equals = []
    for each in told:
        best = _goodness(each.attempts[0]) if len(each.attempts) > 1 else ()
        equals.append(sum(_goodness(one) == best for one in each.attempts))
    if max(equals, default=0) < 2:
        return
    usual = Counter[str]()
    for each in told:
        say = each.relevance**SHARPNESS
        for term in _terms(each.attempts[0].key):
            usual[term] += say

    def is_usual(attempt: Attempt) -> float:
        terms = _terms(attempt.key)
        return math.fsum(usual[term] for term in terms) / math.sqrt(len(terms) or 1)

    for (*_, attempts), count in zip(told, equals, strict=True):
        if count > 1:
            place = max(range(count), key=lambda place: is_usual(attempts[place]))
            attempts.insert(0, attempts.pop(place))


def _goodness(attempt: Attempt) -> tuple[object, ...]:
    """The least is the best: what holds, by how often; else what earned most. What worked comes
    before what was only done.
    """
    share, times = attempt.worked / (attempt.tried or 1), attempt.tried + attempt.unknown
    return not attempt.holds, -share, -attempt.worked, -attempt.earned, -times


def best_first(attempt: Attempt) -> tuple[object, ...]:
    """Of equals the shortest."""
    return *_goodness(attempt), sum(map(len, attempt.actions))


def _attempts(runs: Sequence[Case], solved_from: float) -> list[Attempt]:
    found: dict[str, Attempt] = {}
    for case in runs:
        place, earned, won = _outcome(case.steps, solved_from)
        if case.unknown:
            won = won and case.steps[place].worked
        actions: tuple[str, ...] = (case.steps[place].action,)
        if won:
            actions = case.lasting or _way_to(case.steps, place)
        attempt = Attempt(case.task, actions)
        observation = "" if case.steps[place].worked else case.steps[place].observation
        found.setdefault(attempt.key, attempt).add(case, earned, observation, worked=won)
    if len(runs) > 1:  # what one run ended with may have failed on the way in others
        for case in runs:
            best: dict[str, Done] = {}
            for step in case.steps:
                key = folded(step.action)
                if key in found and (key not in best or step.earned > best[key].earned):
                    best[key] = step
            for key, step in best.items():
                if case not in found[key].cases:
                    won = step.worked if case.unknown else step.earned >= solved_from
                    found[key].add(case, step.earned, step.observation, worked=won)
    return list(found.values())


def _outcome(steps: Sequence[Done], solved_from: float) -> tuple[int, float, bool]:
    """Which step the run stands for, what it earned, and whether that solved the task: the last of
    those that earned most, or where that only hands in what was done, the last that did something;
    where none earned anything, the last that failed, of what was done rather than said.
    """
    places = [place for place, step in enumerate(steps) if step.action.strip()]
    best = max(reversed(places), key=lambda place: steps[place].earned)
    if steps[best].earned > 0:
        return _telling_place(steps, best), steps[best].earned, steps[best].earned >= solved_from
    failed = [place for place in places if not steps[place].worked]
    done = [place for place in failed if not is_talk(steps[place].action)]
    return (done or failed or places)[-1], 0.0, False


def telling_action(steps: Sequence[Done], place: int) -> str:
    """Of a run that a step solved, what tells most of how: the last edit, or else what was done."""
    place = _telling_place(steps, place)
    edits = _edits(steps[: place + 1])
    done = [action for action in _way_to(steps, place) if not only_tests(action)]
    return steps[edits[-1]].action if edits else (done or [steps[place].action])[-1]


def _edits(steps: Sequence[Done]) -> list[int]:
    edits = edits_of([(step.action, step.observation) for step in steps])
    return [place for place in edits if steps[place].worked]


def _telling_place(steps: Sequence[Done], place: int) -> int:
    """Of a step that only hands in what was done, the last before it that did something."""
    return (
        max(_deeds(steps[:place]), default=place) if only_hands_in(steps[place].action) else place
    )


def _deeds(steps: Sequence[Done]) -> list[int]:
    """The places of the steps that did something: they neither looked, nor tidied up."""
    return [
        place
        for place, (action, _, _, worked) in enumerate(steps)
        if worked
        and action.strip()
        and not (only_hands_in(action) or only_shows(action) or deletes_unasked(action, ""))
    ]


def _way_to(steps: Sequence[Done], place: int) -> tuple[str, ...]:
    """The action that won, after the files that were edited; where the very same had failed before,
    also what was done in between: that is what made the difference. Tests that passed at once tell
    nothing of how: before them stands what was done.
    """
    if not place:
        return (steps[0].action,)
    key = folded(steps[place].action)
    failed = (at for at in range(place) if not steps[at].worked and folded(steps[at].action) == key)
    between = range(max(failed, default=place) + 1, place)
    helped = {at for at in between if steps[at].worked and steps[at].action.strip()}
    way = (helped | {*_edits(steps[: place + 1])}) - {place}
    if not way and only_tests(steps[place].action):
        way = {at for at in _deeds(steps[:place]) if not only_tests(steps[at].action)}
    last = sorted(way)[-_WAY_STEPS_MAX:]
    return (*dict.fromkeys(steps[at].action for at in last), steps[place].action)


# --- what was done, and what failed ---


class Wording(NamedTuple):
    """What it takes to put lines into words: the question, the time, what a line costs, and the
    actions that advice would warn of, each with the error that it failed with since.
    """

    asked: str
    now_us: int
    cost: Callable[[str], int]
    count: Callable[[str], int]
    warned: Mapping[str, str]


def _near(told: Sequence[Told]) -> list[Told]:
    """Those that are enough like the question to be told of. A task at which all failed, be it the
    likest, hides nothing that worked.
    """
    likest = max((each.relevance for each in told), default=0.0)
    likest_done = max((each.relevance for each in told if each.attempts[0].holds), default=0.0)
    return [
        each
        for each in told
        if each.relevance >= LIKE_FROM * (likest_done if each.attempts[0].holds else likest)
    ]


def lines_of(told: Sequence[Told], wording: Wording) -> Iterator[Line]:
    """All that is known of the very same task, best first; of each like task what worked, or what
    came nearest, or where nothing is known that worked, what failed again and again; of one that is
    nearly the same also what was done, though nobody knows what that came to; of commands
    that were run by themselves each failure that came again, whatever else worked. What failed at
    the very task, or at one that is about as much like it, is offered from nowhere; nor is what
    deletes where neither the question nor a failure that it reports speaks of that.
    """
    failed: dict[str, float] = {}
    for each in reversed(told):
        failed.update(
            (attempt.key, each.relevance) for attempt in each.attempts if not attempt.holds
        )
    to_tell = _near(told)
    solved = any(each.attempts[0].holds for each in to_tell)
    # what mends a failure may well begin with taking something away
    of_failure = "\n" in wording.asked.strip() or shows_error(wording.asked)
    errors = Counter(one.attempts[0].error for one in to_tell if one.attempts[0].is_command)
    said = {attempt.error for each in to_tell if each.same for attempt in each.attempts}
    most = len(said) + _LIKE_FAILURES_MAX
    for each in to_tell:
        if each.same:
            # what was only said tells nothing beside what was done, nor beside what worked elsewhere
            done = [one for one in each.attempts if one.holds or not is_talk(one.actions[-1])]
            telling = done or ([] if solved else each.attempts)
            lines = (_line_of(attempt, each, wording) for attempt in telling)
            yield from islice(_one_of_each(lines, told), _SAME_TASK_LINES_MAX)
            continue
        best = each.attempts[0]
        disputed = failed.get(best.key, 0.0) >= DISPUTED_FROM * each.relevance
        if best.only_done and each.relevance < NEARLY_THE_SAME:
            continue
        if best.holds and (
            disputed or (not of_failure and deletes_unasked("\n".join(best.actions), wording.asked))
        ):
            continue
        if best.holds or best.earned >= NEARLY_FROM:
            yield _line_of(best, each, wording)
            continue
        error = best.error if best.is_command else ""
        often = best.tried > 1 or errors[error] > 1 if error else best.tried > 1 and not solved
        if often and (error or best.key) not in said and len(said) < most:
            said.add(error or best.key)
            yield _line_of(best, each, wording)


def failed_once(told: Sequence[Told], question: Question, wording: Wording) -> list[Line]:
    """What failed at the likest task, be it a single time: to be said where nothing else is. Of a run
    that failed in several ways, what is most like the question.
    """
    if not told or told[0].attempts[0].holds:
        return []
    attempt = told[0].attempts[0]
    failed = [step for step in attempt.cases[-1].steps if step.action.strip() and not step.worked]
    if failed:
        step = max(reversed(failed), key=lambda one: question.share(_terms(one.observation)))
        attempt = Attempt(attempt.task, (step.action,))
        attempt.add(told[0].attempts[0].cases[-1], 0.0, step.observation, worked=False)
    return [_line_of(attempt, told[0], wording)]


def _one_of_each(lines: Iterable[Line], told: Sequence[Told]) -> Iterator[Line]:
    """Of what worked, one line of each unconfirmed source, where there are several."""
    attempts = (attempt for each in told for attempt in each.attempts)
    several = len({case.author for attempt in attempts for case in attempt.cases}) > 1
    spoke = set[str | None]()
    for line in lines:
        if several and line.kind == DONE and line.only_source:
            if line.only_source in spoke:
                continue
            spoke.add(line.only_source)
        yield line


_NOBODY_KNOWS: Final = "nobody knows whether it solved the task"


def _line_of(attempt: Attempt, told: Told, wording: Wording) -> Line:
    cases = attempt.cases
    last = ago(max(case.at_us for case in cases), wording.now_us)
    sources = list(dict.fromkeys(case.author for case in cases))
    vouched = sum(case.vouched for case in cases)
    who = sources_mark(sources, vouched) + (", stale" if all(case.stale for case in cases) else "")
    task = "this task" if told.same else _task_shown(attempt.task, wording.asked)
    once, actions = attempt.tried <= 1, tuple(map(without_thoughts, attempt.actions))
    warned = wording.warned.get(attempt.key, "") if attempt.holds else ""
    error = warned
    runs = f"the {attempt.tried} looked at" if attempt.partly else str(attempt.tried)
    times = "" if once else f" {attempt.worked} of {runs}"
    outcome, mark = "", f"[worked{times}{'' if once else ', last'} {last}, {who}]"
    brief = f"[worked{times}, {who}]"
    if attempt.only_done:
        times = "" if attempt.unknown == 1 else f" {attempt.unknown} times, last"
        mark, brief = f"[done{times} {last}, {_NOBODY_KNOWS}, {who}]", f"[{OUTCOME_UNKNOWN}, {who}]"
    if warned:
        outcome = f"{'done' if attempt.only_done else 'worked'} before, but FAILED since: "
    elif not attempt.holds:
        partly = attempt.earned > 0 and not attempt.worked
        times = "" if once else f" {attempt.tried - attempt.worked} of {runs} times"
        then = "worked the last time, " if attempt.worked_last else "" if once else "last "
        ended = f"SOLVED IN PART ({attempt.earned:.2f})" if partly else "FAILED"
        outcome, mark = f"{ended}{times}: ", f"[{then}{last}, {who}]"
        brief = f"[{who}]"
        error = attempt.error if told.same or not attempt.earned else ""
    head = ("" if attempt.is_command else f"{task} -> ") + outcome
    shown = f" -> {error}" if error else ""
    whole = ""
    if outcome and not warned and (not told.same or is_talk(actions[-1])):
        tried, nearly = one_line(actions[-1]), attempt.earned >= NEARLY_FROM
        if nearly and len(tried) <= _NEARLY_CHARS_MAX and not is_talk(tried):
            whole = _worded(head, (tried,), shown, mark)
        actions = (shortened(tried, limits.EXAMPLE_TASK_CHARS_MAX),)  # its beginning will do
    why = "the very same task" if told.same else f"a task like this one ({told.relevance:.2f})"
    return Line(
        _worded(head, actions, shown, mark),
        kind=FAILED if outcome else DONE,
        sources=sources,
        vouched=vouched,
        ids=tuple(case.id for case in cases),
        about=frozenset({attempt.key, *(case.strategy for case in cases if case.strategy)}),
        relevance=told.relevance * (FAILED_ELSEWHERE if outcome and not told.same else 1),
        why=f"{why}, {OUTCOME_UNKNOWN}"
        if attempt.only_done
        else f"{why}, worked {attempt.worked} of {attempt.tried}",
        shorter=partial(_cut, head, actions, shown, mark, brief, wording, told.same),
        whole=whole,
    )


def _task_shown(task: str, asked: str) -> str:
    """The beginning of a task; its end where it begins like the question."""
    task, most = one_line(task), limits.EXAMPLE_TASK_CHARS_MAX
    if len(task) <= most or not folded(asked).startswith(folded(task[: most // 2])):
        return shortened(task, most)
    end = task[-most:]
    return CUT + (end.partition(" ")[2] or end)


def after_line(failed: Attempt, worked: Attempt, wording: Wording) -> Line:
    """What worked after the same failure, to stand right under it."""
    tried = shortened(one_line(failed.actions[-1]), limits.EXAMPLE_TASK_CHARS_MAX)
    line = _line_of(worked, Told(1.0, True, [worked]), wording)
    did = "was done" if worked.only_done else "worked"
    head = f'after "{tried}" failed like that, this {did} -> '
    mark = line.text.split("\n")[0].rpartition("[")[2]
    return line._replace(
        text=_worded(head, worked.actions, "", f"[{mark}"),
        kind=FAILED,
        sort=CURE,
        why="it worked after the same failure",
        shorter=None,
    )


def _worded(head: str, actions: Sequence[str], shown: str, mark: str) -> str:
    """A program keeps its lines, and several actions stand one under the other."""
    code = [line for action in actions for line in clean_code(action, _EXAMPLE_CHARS_MAX)]
    if "FAILED" in head and len(code) > _FAILED_LINES_MAX:
        code = [*code[:_FAILED_LINES_MAX], CODE_INDENT + CUT]
    if len(code) > 1:
        together = "one after the other" if len(actions) > 1 else ""
        begin = head.rstrip(" :") if shown else head.rstrip()
        first = " ".join(filter(None, (begin, together, shown.strip(), mark)))
        return "\n".join((first, *code))
    room = limits.CONTEXT_LINE_CHARS_MAX - len(head) - len(shown) - len(mark) - 1
    return f"{head}{clean_line(actions[0], room)}{shown} {mark}"


# Less than that of a line is not worth its room.
_CUT_TOKENS_MIN: Final = 12


def _cut(
    head: str,
    actions: Sequence[str],
    shown: str,
    mark: str,
    brief: str,
    wording: Wording,
    same: bool,
    allowed: int,
) -> str:
    """Without what they showed, and when; then as much of the actions as there is room for, whole
    lines or words, and a sign that they were cut. Those at other tasks are not cut: of them, the
    task is left out.
    """
    if not same:
        if "FAILED" in head:
            return ""  # of what failed at a task nobody knows which, nothing follows
        head = f"like task -> {head.rpartition(' -> ')[2]}"
    code = [line for action in actions for line in clean_code(action, _EXAMPLE_CHARS_MAX)]
    if len(code) > 1 and not same:
        # of several steps the beginnings tell what was done; half a program tells nothing
        steps = [shortened(one_line(action), _DIGEST_CHARS_MAX // 4) for action in actions]
        return _worded(head, steps, "", brief) if len(steps) > 1 else ""
    if len(code) > 1:
        first, *rows = _worded(head, actions, shown, mark).split("\n")
        left = allowed - wording.cost(first) - wording.cost(CODE_INDENT + CUT)
        spent = accumulate(map(wording.cost, rows))
        kept = [row for row, cost in zip(rows, spent, strict=True) if cost <= left]
        return "\n".join((first, *kept, CODE_INDENT + CUT)) if kept else ""
    for less in (mark, brief):
        bare = _worded(head, actions, "", less)
        if wording.cost(bare) <= allowed:
            return bare
    left = allowed - wording.cost(f"{head}{CUT} {brief}")
    if left < _CUT_TOKENS_MIN or not same:
        return ""
    return f"{head}{cut_to_tokens(one_line(actions[0]), left, wording.count)}{CUT} {brief}"


# --- what was seen ---


def file_lines(told: Sequence[Told], asked: str) -> Iterator[Line]:
    """Of each task the files that runs changed, and those that they looked at: where the last action
    tells nothing, they tell where to look.
    """
    likest = max((each.relevance for each in told), default=0.0)
    for each in (one for one in told if one.relevance >= LIKE_FROM * likest):
        cases = [case for attempt in each.attempts for case in attempt.cases]
        steps = ((step.action, step.observation) for case in cases for step in case.steps)
        told_already = " ".join(action for attempt in each.attempts for action in attempt.actions)
        parts = [
            f"{did} {', '.join(untold[:_FILES_SHOWN_MAX])}"
            for did, paths in zip(("changed", "opened"), files_touched(steps), strict=True)
            if (untold := [path for path in paths if path not in told_already])
        ]
        if not parts:
            continue
        task = "this task" if each.same else _task_shown(each.attempts[0].task, asked)
        sources = list(dict.fromkeys(case.author for case in cases))
        vouched = sum(case.vouched for case in cases)
        best = each.attempts[0]
        solved = "not solved" if not best.holds else OUTCOME_UNKNOWN if best.only_done else "solved"
        text = f"{task} -> {'; '.join(parts)} [{solved}, {sources_mark(sources, vouched)}]"
        yield Line(
            text,
            kind=SEEN,
            sources=sources,
            vouched=vouched,
            ids=tuple(dict.fromkeys(case.id for case in cases)),
            about=frozenset({f"files: {'; '.join(parts)}"}),
            relevance=each.relevance,
            why="the files that runs at the task had open",
        )


class _Seen(NamedTuple):
    """A short action that worked, and the names that it showed; its terms, and theirs; how much it
    has to do with the question.
    """

    action: str
    names: tuple[str, ...]
    case: Case
    does: frozenset[str]
    shows: frozenset[str]
    worth: float = 0.0


def seen_line(cases: Sequence[Case], question: Question, cost: Callable[[str], int]) -> Line | None:
    """What runs looked at, as one item: short actions with the names they showed, one under the
    other, as many as there is room for. Those come first that show most of what is asked for, and of
    what was used in runs like this one. A list of which no name was ever used is data.
    """
    rows = _rows(cases, question)
    if not rows:
        return None
    marks = [_mark(row.case) for row in rows]
    alike = len(set(marks)) == 1
    head = f"seen before [{marks[0]}]:" if alike else "seen before:"
    texts = [
        f"  {row.action} -> {_listed(row.names)}" + ("" if alike else f" [{mark}]")
        for row, mark in zip(rows, marks, strict=True)
    ]

    def shorter(allowed: int) -> str:
        allowed -= cost(head)
        kept = []
        for text in texts:
            if (price := cost(text)) <= allowed:
                allowed -= price
                kept.append(text)
        return "\n".join([head, *kept]) if kept else ""

    sources = list(dict.fromkeys(row.case.author for row in rows))
    return Line(
        "\n".join([head, *texts]),
        kind=SEEN,
        sources=sources,
        vouched=sum(row.case.vouched for row in rows),
        ids=tuple(dict.fromkeys(row.case.id for row in rows)),
        relevance=max(row.case.relevance for row in rows),
        why="what runs like this one looked at",
        shorter=shorter,
    )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SEEN_NAMES_MAX])
    return shown if len(names) <= _SEEN_NAMES_MAX else f"{shown}, {CUT}"


def _mark(case: Case) -> str:
    return sources_mark((case.author,), case.vouched) + (", stale" if case.stale else "")


def _looked_at(
    cases: Sequence[Case], say: Mapping[str, float]
) -> tuple[list[_Seen], dict[str, float]]:
    """What runs looked at, and by how much say of the runs a term was used."""
    steps = [(case, step) for case in cases for step in case.steps if step.worked]
    shown = [_names_of(step.action[:_DIGEST_CHARS_MAX], step.observation) for _, step in steps]
    if not any(shown):
        return [], {}
    seen: dict[tuple[str, ...], _Seen] = {}
    used_by: dict[str, set[str]] = {}
    for (case, step), names in zip(steps, shown, strict=True):
        action, does, shows = _look(step.action[:_DIGEST_CHARS_MAX], names)
        if not names:
            used_by.setdefault(case.id, set()).update(does)
        elif names not in seen:
            seen[names] = _Seen(action, names, case, does, shows)
    used: dict[str, float] = {}
    for case_id, terms in used_by.items():
        for term in terms:
            used[term] = used.get(term, 0.0) + say[case_id]
    return list(seen.values()), used


@lru_cache(maxsize=2_048)  # agents look at the same again and again
def _names_of(action: str, observation: str) -> tuple[str, ...]:
    """The names that a short action showed."""
    short = len(one_line(action)) <= _SEEN_ACTION_CHARS_MAX
    return tuple(dict.fromkeys(names_shown(observation))) if short else ()


@lru_cache(maxsize=2_048)  # likewise
def _look(action: str, names: tuple[str, ...]) -> tuple[str, frozenset[str], frozenset[str]]:
    """An action in one line; its terms, and those of the names that it showed."""
    action = one_line(action)
    done = action if names else _QUOTED.sub(" ", action)  # what stands in quotes is data
    return action, _terms(done.partition(" ")[2]), _terms(" ".join(names))


def _rows(cases: Sequence[Case], question: Question) -> list[_Seen]:
    likest = max((case.relevance for case in cases), default=0.0)
    if not likest:
        return []  # nothing that was looked at is like this
    say = {case.id: (case.relevance / likest) ** SHARPNESS for case in cases}
    seen, used = _looked_at(cases, say)
    waiting = [each for each in seen if _is_used(each.names, used.keys(), question.worth.keys())]
    # what many lists were asked for with tells nothing
    lists = Counter(term for each in waiting for term in each.does)
    runs = sum(say.values())
    for place, each in enumerate(waiting):
        use = max((used.get(term, 0.0) / lists[term] for term in each.does), default=0.0)
        worth = question.share(each.does | each.shows) + USED * use / runs
        waiting[place] = each._replace(worth=worth)
    said, listed = set[str](), dict[str, float]()
    rows: list[_Seen] = []
    while waiting:
        worths = [
            (BASE + (1 - BASE) * say[each.case.id])
            * math.sqrt(len(each.shows - said) / len(each.shows))
            * (
                each.worth
                + LISTED * max((listed.get(term, 0.0) for term in each.does), default=0.0)
            )
            for each in waiting
        ]
        place = max(range(len(waiting)), key=worths.__getitem__)
        if worths[place] <= WORTH_FROM:
            break
        rows.append(waiting.pop(place))
        said |= rows[-1].shows
        for name in rows[-1].names:
            for term in _as_term(name):
                listed[term] = max(listed.get(term, 0.0), rows[-1].worth)
    return rows


def _is_used(names: Sequence[str], used: Set[str], asked: Set[str]) -> bool:
    """Whether enough of the names are used or asked for: of one that is made of several words, a
    question says one.
    """

    def is_known(name: str) -> bool:
        words = _as_term(name)
        parts = words | _terms(name) if "_" in name else words
        return not (words.isdisjoint(used) and parts.isdisjoint(asked))

    return sum(map(is_known, names)) * _NAMES_PER_USED >= len(names)


def _as_term(name: str) -> frozenset[str]:
    """The name as it is, and where it is a word, in whatever form."""
    return _terms(name) | {name.casefold()} if name.isalpha() else frozenset({name.casefold()})


_NAMES_PER_USED: Final = 8
_QUOTED: Final = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"")
# What a list is worth that the least alike run looked at, against one of the likest.
BASE: Final = 0.3
# Lists that are worth less have nothing to do with the question.
WORTH_FROM: Final = 0.07
# What it is worth that all runs like this one used what was looked at, against that the question
# names all of it.
USED: Final = 0.5
# Of what a list is worth, what those are that tell of the things it names.
LISTED: Final = 0.8


@lru_cache(maxsize=512)  # what was done is compared with one question after the other
def _find_terms(text: str) -> frozenset[str]:
    return frozenset(term for term in index_text(text).split() if term[0] != FORM)


_terms = Remembered[str, frozenset[str]](
    _find_terms, lambda text, _: len(text) <= _DIGEST_CHARS_MAX
).__getitem__
