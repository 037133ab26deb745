"""What is said before an attempt: the lessons that fit, sources taking turns, and what similar cases show.

Finding the right records is not the hard part; one of them, written out, would take all the room. So of each case one line
is said: its task and the action that earned most, word for word. What is left goes to short actions that worked, with the
names they showed; every case votes, by how well it matches, for the names it knows to be right. Nothing is said twice, and
nothing here knows what the names are names of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from hardwon import limits
from hardwon.brief.lines import Lesson
from hardwon.text.clean import clean_code, clean_line
from hardwon.text.terms import STOP_WORDS, index_text, query_terms

SHARPNESS: Final = 3.0
"""A case half as good as the best one has an eighth of its say."""

FULL_REWARD_FROM: Final = 0.995
"""With two digits it reads 1.00."""

IN_ACTION, IN_OBSERVATION, IN_FAILED = 1.0, 0.5, 0.05
ASKED_FOR: Final = 3.0  # how much more a name counts that shares a part with the question
EXAMPLES_SHARE: Final = 0.6  # of the room, for those behind the first
EXAMPLE_RELEVANCE_MIN: Final = 0.5  # of the best case's
DIGEST_ACTION_TOKENS_MAX: Final = 30
DIGEST_NAMES_MIN: Final = 3

EXAMPLE: Final = "example"
_NAME: Final = re.compile(r"[^\W\d]\w+")


class Act(NamedTuple):
    """Something done, what came of it, what it earned, and whether it worked."""

    action: str
    observation: str
    earned: float
    worked: bool


@dataclass(frozen=True)
class Case:
    """A record as it is compared: its task, what was done, how well it matches, who says so (None: somebody that others vouch
    for), and the mark under which that is shown. `strategy` is what a fix did."""

    id: str
    task: str
    acts: Sequence[Act]
    relevance: float
    mark: str
    source: str | None
    strategy: str = ""


class Line(NamedTuple):
    """What is said, a line with the code that belongs to it, the records behind it, and its place among the others."""

    text: str
    ids: tuple[str, ...] = ()
    place: int = 0


@dataclass
class Room:
    """What may still be said, and what has been: lines, sentences and strategies, names, and how often each source spoke.
    `alone`: there is one source, which keeps nobody waiting."""

    left: int
    count: Callable[[str], int]
    alone: bool
    known: set[str] = field(default_factory=set)
    lines: list[Line] = field(default_factory=list)
    said: set[str] = field(default_factory=set)
    turns: dict[str, int] = field(default_factory=dict)
    _costs: dict[str, int] = field(default_factory=dict)

    def cost(self, line: str) -> int:
        """Remembered: lines and names are weighed again and again, and a caller's counter may be slow."""
        return self._counted(f"- {line}\n")

    def cost_of_name(self, name: str) -> int:
        return self._counted(" " + name)

    def _counted(self, text: str) -> int:
        if text not in self._costs:
            self._costs[text] = self.count(text)
        return self._costs[text]

    def turn_of(self, source: str | None) -> int:
        """How often it spoke already; who is vouched for, or alone, never waits."""
        return 0 if source is None or self.alone else self.turns.get(source, 0)

    def say(self, line: str, source: str | None, ids: Iterable[str], place: int) -> int:
        cost = self.cost(line)
        self.lines.append(Line(line, tuple(ids), place))
        self.left -= cost
        if source is not None:
            self.turns[source] = self.turns.get(source, 0) + 1
        self.known.update(_names_in(line))
        return cost


def say_by_turns(
    lessons: Sequence[Lesson], first: Collection[Lesson], places: Mapping[str, int], pools: Mapping[str, int], room: Room
) -> None:
    """As many of the lessons as there is room for, each source's first before any one's second. `first` are looked at before
    the others; `places` is how many of a sort are said, `pools` how many tokens those of a pool may have together."""
    free, left = dict(places), dict(pools)
    order = sorted(enumerate(lessons), key=lambda pair: pair[1] not in first)
    turn = 0
    while order:
        waiting = []
        for place, lesson in order:
            if room.turn_of(lesson.only_source) > turn:
                waiting.append((place, lesson))
                continue
            told = {lesson.instead_of, lesson.strategy} - {""}
            line = _fitting(lesson, min(room.left, left.get(lesson.pool, room.left)), room)
            if line and free.get(lesson.sort, 1) > 0 and room.said.isdisjoint(told):
                cost = room.say(line, lesson.only_source, lesson.ids, place)
                room.said |= told
                if lesson.sort in free:
                    free[lesson.sort] -= 1
                if lesson.pool in left:
                    left[lesson.pool] -= cost
        order = waiting
        turn += 1
    room.lines.sort(key=lambda line: line.place)


def _fitting(lesson: Lesson, allowed: int, room: Room) -> str:
    """The lesson's line, or a shorter one, of at most so many tokens; empty where there is none."""
    most = allowed if lesson.tokens_max is None else min(allowed, lesson.tokens_max)
    if room.cost(lesson.line) <= most:
        return lesson.line
    shorter = lesson.shorter(most) if lesson.shorter else ""
    return shorter if shorter and room.cost(shorter) <= allowed else ""


def one_line(text: str) -> str:
    return " ".join(text.split())


def _names_in(text: str) -> dict[str, str]:
    """Names in lower case, with their first spelling."""
    return {name.lower(): name for name in reversed(_NAME.findall(text))}


def _name_weights(query: str, cases: Sequence[Case]) -> dict[str, float]:
    """How much speaks for each name."""
    weights: dict[str, float] = {}
    for case in cases:
        say = (case.relevance / cases[0].relevance) ** SHARPNESS
        for name, worth in _names_of(case.acts).items():
            weights[name] = weights.get(name, 0.0) + say * worth
    asked = {_singular(term) for term in query_terms(query)}
    for name in weights:
        if not asked.isdisjoint(_parts(name)):
            weights[name] *= ASKED_FOR
    return {name: weight for name, weight in weights.items() if name not in STOP_WORDS}


def _names_of(acts: Iterable[Act]) -> dict[str, float]:
    """How much a case speaks for each name. One that an error names beside the action that used it was wrong."""
    worth: dict[str, float] = {}
    blamed: set[str] = set()
    for action, observation, worked in dict.fromkeys((act.action, act.observation, act.worked) for act in acts):
        did, saw = _names_in(action), _names_in(observation)
        if worked:
            worth |= dict.fromkeys(did, IN_ACTION)
            worth |= {name: max(worth.get(name, 0.0), IN_OBSERVATION) for name in saw}
        else:
            blamed |= did.keys() & saw.keys()
            worth |= {name: max(worth.get(name, 0.0), IN_FAILED) for name in did.keys() - saw.keys()}
    return {name: weight for name, weight in worth.items() if weight > IN_FAILED or name not in blamed}


def _parts(name: str) -> set[str]:
    return {_singular(term) for term in index_text(f"{name} {name.replace('_', ' ')}").split()}


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > len("ties"):
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > len("gas") else word


def examples(cases: Sequence[Case]) -> Iterator[Lesson]:
    """The likest tasks with the action that earned most; first those that earned everything there was."""
    like = [case for case in cases if case.acts and case.relevance >= EXAMPLE_RELEVANCE_MIN * cases[0].relevance]
    best = [(case, max(reversed(case.acts), key=lambda act: act.earned)) for case in like]
    for case, act in sorted(best, key=lambda pair: pair[1].earned < FULL_REWARD_FROM):
        action = one_line(act.action)
        if action and act.earned > 0:
            yield Lesson(
                _example(case, act), (case.source,) if case.source else (), not case.source, (case.id,), action, EXAMPLE,
                strategy=case.strategy, pool=EXAMPLE,
            )  # fmt: skip


def _example(case: Case, act: Act) -> str:
    """What earned less than everything is nothing to follow, and says so. A program keeps its lines."""
    earned = "" if act.earned >= FULL_REWARD_FROM else f" did not earn the full reward ({act.earned:.2f} of 1):"
    start = f"{clean_line(case.task, limits.EXAMPLE_TASK_CHARS_MAX)} ->{earned}"
    code = clean_code(act.action, limits.EXAMPLE_CHARS_MAX)
    if len(code) > 1:
        return "\n".join((f"{start} {case.mark}", *code))
    action = clean_line(act.action, limits.CONTEXT_LINE_CHARS_MAX - len(start) - len(case.mark) - len("  "))
    return f"{start} {action} {case.mark}"


def _wanted(ranked: Sequence[str], room: Room) -> set[str]:
    """The names that would fit if nothing else were said."""
    wanted, left = set[str](), room.left
    for name in ranked:
        if name not in room.known:
            left -= room.cost_of_name(name)
            if left < 0:
                break
            wanted.add(name)
    return wanted


class _Step(NamedTuple):
    """A short action that worked, and the names that it used and showed, each as it is spelled."""

    action: str
    did: dict[str, str]
    saw: dict[str, str]
    trust: float
    case: Case


def _short_steps(cases: Sequence[Case], room: Room) -> list[_Step]:
    steps: dict[str, _Step] = {}
    for case in cases:
        trust = (case.relevance / cases[0].relevance) ** SHARPNESS
        for act in case.acts:
            action = one_line(act.action[: limits.DIGEST_CHARS_MAX + 1])
            short = (
                act.worked
                and len(action) <= limits.DIGEST_CHARS_MAX
                and action not in steps
                and len(steps) < limits.DIGESTS_CONSIDERED_MAX
            )
            if short and room.count(action) <= DIGEST_ACTION_TOKENS_MAX:
                steps[action] = _Step(action, _names_in(action), _names_in(act.observation), trust, case)
    return list(steps.values())


def say_digests(query: str, cases: Sequence[Case], room: Room) -> None:
    """Short actions that worked, with the names they showed that are wanted; the most for its length first."""
    if not cases:
        return
    weights = _name_weights(query, cases)
    room.known.update(_names_in(query))
    wanted = _wanted(sorted(weights, key=lambda name: (-weights[name], name)), room)
    steps = _short_steps(cases, room)
    turn = 0
    while steps:
        unsaid = wanted - room.known
        steps = [step for step in steps if len(unsaid & (step.did.keys() | step.saw.keys())) >= DIGEST_NAMES_MIN]
        best: tuple[float, _Step, str] | None = None
        waits = False
        for step in steps:
            new = [step.saw[name] for name in reversed(step.saw) if name in unsaid and name not in step.did]
            line = f"{step.action}: {' '.join(new)} {step.case.mark}" if new else f"{step.action} {step.case.mark}"
            cost = room.cost(line)
            gain = [name for name in step.did if name in unsaid] + [name.lower() for name in new]
            value = step.trust * sum(weights[name] for name in gain) / cost
            if room.turn_of(step.case.source) > turn:
                waits = True
            elif cost <= room.left and (best is None or value > best[0]):
                best = value, step, line
        if best:
            _, said, line = best
            steps.remove(said)
            room.say(line, said.case.source, [said.case.id], len(room.lines))
        elif not waits:
            break
        else:
            turn += 1
